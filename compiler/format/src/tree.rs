//! Tokens to brackets and their elements.
//!
//! An *element* is what stands between two spaces: an atom or a bracket, with what is glued to it, `~(0 1)f{int | 3}`. All
//! are in tables, by number; a tree of boxes would have to be walked by recursion. Widths are counted in characters.

use crate::forms::{Form, Indent, Place, Rule, State};
use crate::read::{flat, move_comments};
use remc_syntax::token::Bracket;
use std::ops::Range;

/// More arguments than these, if all are short, fill lines rather than get one each.
const MANY: u32 = 6;
const SHORT: u32 = 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Open(Bracket),
    Close,
    Bar,
    /// `~`, `#;`
    Prefix,
    Atom,
    End,
}

/// A token, or some text that is left as it is.
#[derive(Clone, Debug)]
pub(crate) struct Tok {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    pub width: u32,
    /// The comments before it, a range of [`Tree::comments`].
    pub comments: Range<u32>,
    /// Line ends directly before it, 2 for more.
    pub breaks: u8,
    /// Where it is in the text: from 0, in characters.
    pub line: u32,
    pub column: u32,
    /// The element that it begins.
    pub elem: Option<u32>,
    /// Of a bracket: its list.
    pub list: u32,
    /// It is a number.
    pub number: bool,
    /// Line ends are in it.
    pub lines: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub start: u32,
    pub end: u32,
    pub width: u32,
    /// Up to the end of the line.
    pub line_comment: bool,
    /// Line ends directly before it, 2 for more.
    pub breaks: u8,
    pub line: u32,
    pub column: u32,
    pub lines: bool,
    /// It goes on with the comment at the end of the line before, below which it begins.
    pub continues: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Elem {
    pub first: u32,
    /// The token behind it.
    pub end: u32,
    pub rule: Rule,
    /// On one line.
    pub width: u32,
    /// Up to the first place where a line can be broken inside.
    pub head: u32,
    /// Of the longest line, if all lines are broken that can be.
    least: u32,
    /// It takes several lines whatever the width.
    pub multi: bool,
    /// It is one atom.
    pub atom: bool,
    /// The element behind it in its list.
    pub next: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub state: State,
    pub square: bool,
    pub open: u32,
    /// The closing bracket; the end of the tokens where there is none.
    pub close: u32,
    pub first: Option<u32>,
    pub last: Option<u32>,
    pub elems: u32,
    pub width: u32,
    head: u32,
    least: u32,
    /// … of its arguments.
    pub least_argument: u32,
    pub multi: bool,
    /// Elements fill lines rather than get one each.
    pub fills: bool,
    /// The author has hung the arguments two columns in, below a function of a long name.
    pub hung: bool,
}

#[derive(Default)]
pub(crate) struct Tree<'t> {
    pub text: &'t str,
    /// The first line end that is in no token and no comment is `\r\n`.
    pub crlf: bool,
    pub toks: Vec<Tok>,
    pub comments: Vec<Comment>,
    pub elems: Vec<Elem>,
    pub lists: Vec<List>,
    /// By token: how many closing brackets follow one another from there on.
    pub closers: Vec<u32>,
}

impl<'t> Tree<'t> {
    pub fn text_of(&self, tok: &Tok) -> &'t str {
        self.text.get(tok.start as usize..tok.end as usize).unwrap_or_default()
    }

    pub fn comments_of(&self, tok: &Tok) -> &[Comment] {
        self.comments.get(tok.comments.start as usize..tok.comments.end as usize).unwrap_or(&[])
    }

    /// The elements of a list, in order.
    pub fn elems_of(&self, list: &List) -> impl Iterator<Item = &Elem> {
        std::iter::successors(list.first.map(|e| &self.elems[e as usize]), |e| {
            e.next.map(|n| &self.elems[n as usize])
        })
    }

    /// Whether the author broke the line before a token.
    pub fn is_broken(&self, tok: &Tok) -> bool {
        tok.breaks > 0 || self.comments_of(tok).iter().any(|c| c.breaks > 0 || c.line_comment || c.lines)
    }

    /// Whether a line ends before a token, wherever it stands.
    fn is_cut(&self, tok: &Tok) -> bool {
        self.comments_of(tok).iter().any(|c| c.line_comment || c.lines)
    }
}

/// Reads a text whose brackets match. What is in `kept`, ranges of bytes in order that begin and end with tokens, is one
/// atom each.
pub(crate) fn tree<'t>(text: &'t str, kept: &[Range<u32>]) -> Tree<'t> {
    let (mut tree, names) = flat(text, kept);
    move_comments(&mut tree);
    tree.closers = vec![0; tree.toks.len() + 1];
    for t in (0..tree.toks.len()).rev() {
        if tree.toks[t].kind == Kind::Close && tree.toks[t].comments.is_empty() {
            tree.closers[t] = 1 + tree.closers[t + 1];
        }
    }
    let closes = partners(&tree.toks);
    Builder { tree, names, open: vec![], closes }.run()
}

/// By opening bracket: the token that closes it.
fn partners(toks: &[Tok]) -> Vec<u32> {
    let mut out = vec![toks.len() as u32; toks.len()];
    let mut open = vec![];
    for (t, tok) in toks.iter().enumerate() {
        match tok.kind {
            Kind::Open(_) => open.push(t),
            Kind::Close => {
                if let Some(from) = open.pop() {
                    out[from] = t as u32;
                }
            }
            _ => {}
        }
    }
    out
}

/// Brackets and elements.
struct Builder<'t> {
    tree: Tree<'t>,
    names: Vec<Option<remc_base::Name>>,
    open: Vec<Open>,
    /// The bracket that closes a bracket.
    closes: Vec<u32>,
}

/// A bracket whose end has not been met.
struct Open {
    list: u32,
    /// The element that it is part of, in the list around it.
    elem: u32,
    /// What follows belongs to the last element: it was a `~`, its ranks or a `#;`.
    glue: bool,
    /// Data still to come that a `#;` has made comments.
    commented: u32,
    /// The width of the last element's beginning is known.
    head_done: bool,
    bar_first: bool,
    /// The author has broken the line before a part that stands behind the one before it.
    joins: bool,
}

impl<'t> Builder<'t> {
    fn run(mut self) -> Tree<'t> {
        self.push(Form::Top, 0, false, 0);
        for t in 0..self.tree.toks.len() as u32 {
            match self.tree.toks[t as usize].kind {
                Kind::End => {
                    let cut = self.tree.is_broken(&self.tree.toks[t as usize]);
                    self.mark(cut);
                }
                // One that opens nothing is in what is kept as it is.
                Kind::Close if self.open.len() > 1 => self.close(t),
                kind => self.part(t, kind),
            }
        }
        // Where the text ends within brackets.
        let end = self.tree.toks.len() as u32;
        while self.open.len() > 1 {
            self.close(end);
        }
        self.finish(end);
        self.tree
    }

    fn push(&mut self, form: Form, open: u32, square: bool, elem: u32) {
        let list = self.tree.lists.len() as u32;
        self.tree.lists.push(List {
            state: State::new(form),
            square,
            open,
            close: open,
            first: None,
            last: None,
            elems: 0,
            width: if form == Form::Top { 0 } else { 2 },
            head: 1,
            least: 1,
            least_argument: 0,
            multi: false,
            fills: false,
            hung: false,
        });
        self.open.push(Open {
            list,
            elem,
            glue: false,
            commented: 0,
            head_done: false,
            bar_first: false,
            joins: false,
        });
    }

    /// The innermost list takes several lines.
    fn mark(&mut self, multi: bool) {
        if multi && let Some(open) = self.open.last() {
            self.tree.lists[open.list as usize].multi = true;
        }
    }

    /// A token that closes nothing.
    fn part(&mut self, t: u32, kind: Kind) {
        let Some(open) = self.open.last_mut() else { return };
        let tok = &self.tree.toks[t as usize];
        let before = t.checked_sub(1).map(|b| &self.tree.toks[b as usize]);
        let touches = before.is_some_and(|b| b.end == tok.start && !matches!(b.kind, Kind::Open(_)));
        let braces = matches!(kind, Kind::Open(Bracket::Curly))
            && touches
            && before.is_some_and(|b| b.kind != Kind::Bar);
        let glued = open.glue || braces && self.tree.lists[open.list as usize].last.is_some();
        let datum_comment = kind == Kind::Prefix && self.tree.text_of(tok) == "#;";
        if datum_comment {
            open.commented += 1;
        }
        if glued {
            let cut = self.tree.is_cut(tok);
            self.mark(cut);
            let width = self.count_comments(t);
            if let Some(e) = self.open.last().and_then(|o| self.tree.lists[o.list as usize].last) {
                self.tree.elems[e as usize].width += width;
                self.tree.elems[e as usize].multi |= cut;
            }
        } else {
            self.begin(t, kind);
        }
        let Some(open) = self.open.last_mut() else { return };
        let was_ranks = t.checked_sub(1).is_some_and(|b| {
            let b = &self.tree.toks[b as usize];
            b.kind == Kind::Prefix && self.tree.text_of(b) == "~"
        });
        open.glue = kind == Kind::Prefix;
        let list = &mut self.tree.lists[open.list as usize];
        let Some(e) = list.last else { return };
        let tok = &self.tree.toks[t as usize];
        let elem = &mut self.tree.elems[e as usize];
        elem.end = t + 1;
        elem.atom &= elem.first == t && kind == Kind::Atom;
        elem.multi |= tok.lines;
        list.multi |= tok.lines;
        if let Kind::Open(bracket) = kind {
            let (form, square) = match bracket {
                Bracket::Curly => (Form::Braces, false),
                _ if was_ranks => (Form::Ranks, bracket == Bracket::Square),
                _ => {
                    let square = bracket == Bracket::Square;
                    let form = list.state.inner(square);
                    // `(box e)` has no witnesses.
                    let alone = form == Form::Witnesses && self.is_last(t);
                    (if alone { Form::Expr } else { form }, square)
                }
            };
            self.tree.toks[t as usize].list = self.tree.lists.len() as u32;
            self.push(form, t, square, e);
            return;
        }
        elem.width += tok.width;
        elem.least += tok.width;
        if !open.head_done {
            elem.head += tok.width;
        }
        list.width += tok.width;
    }

    /// Whether a bracket is the last part of what it stands in.
    fn is_last(&self, open: u32) -> bool {
        let behind = self.closes[open as usize] as usize + 1;
        self.tree.toks.get(behind).is_none_or(|t| matches!(t.kind, Kind::Close | Kind::End))
    }

    /// Whether names in parentheses come behind the part that begins here, and at least one part behind them, as in
    /// `(unbox … e (x i …) body)`.
    fn is_named(&self, t: u32) -> bool {
        let kind = |t: u32| self.tree.toks.get(t as usize).map(|t| t.kind);
        let open = |t: u32| matches!(kind(t), Some(Kind::Open(Bracket::Round)));
        let behind = if matches!(kind(t), Some(Kind::Open(_))) { self.closes[t as usize] + 1 } else { t + 1 };
        let define = |t: u32| open(t) && self.name(t + 1).is_some_and(|n| n == "define");
        if define(t) || define(behind) || !open(behind) || self.is_last(behind) {
            return false;
        }
        let mut names = behind + 1..self.closes[behind as usize];
        !names.is_empty() && names.all(|t| self.name(t).is_some())
    }

    fn name(&self, t: u32) -> Option<&str> {
        self.names.get(t as usize)?.as_ref().map(remc_base::Name::as_str)
    }

    /// The comments before a token, as if they were on its line. Gives their width.
    fn count_comments(&mut self, t: u32) -> u32 {
        let tok = &self.tree.toks[t as usize];
        let width: u32 = self.tree.comments_of(tok).iter().map(|c| c.width + 1).sum();
        if let Some(open) = self.open.last() {
            self.tree.lists[open.list as usize].width += width;
        }
        width
    }

    fn begin(&mut self, t: u32, kind: Kind) {
        self.count_comments(t);
        let more = self.open.last().is_some_and(|open| {
            open.commented == 0 && self.tree.lists[open.list as usize].state.may_open() && self.is_named(t)
        });
        let Some(open) = self.open.last_mut() else { return };
        let tok = &self.tree.toks[t as usize];
        let list = &mut self.tree.lists[open.list as usize];
        if more {
            list.state.opens_more();
        }
        let commented = open.commented > 0;
        if commented {
            open.commented -= 1;
        }
        let name = self.names[t as usize].as_ref().map(remc_base::Name::as_str);
        let opens = matches!(kind, Kind::Open(_) | Kind::Prefix);
        let first = list.first.is_none();
        let rule = if kind == Kind::Bar {
            Rule { place: Place::Same, counts: false, ..list.state.next(None, false, true) }
        } else {
            list.state.next(name, opens, commented)
        };
        open.head_done = false;
        open.bar_first = first && kind == Kind::Bar;
        if !first || kind == Kind::Bar {
            list.width += 1;
        }
        let e = self.tree.elems.len() as u32;
        match list.last {
            Some(last) => self.tree.elems[last as usize].next = Some(e),
            None => list.first = Some(e),
        }
        list.last = Some(e);
        list.elems += 1;
        self.tree.elems.push(Elem {
            first: t,
            end: t + 1,
            rule,
            width: 0,
            head: 0,
            least: 0,
            multi: false,
            atom: true,
            next: None,
        });
        let cut = match rule.place {
            Place::First => self.tree.is_cut(tok),
            Place::Same => {
                open.joins |= rule.counts && self.tree.is_broken(tok);
                self.tree.is_cut(tok)
            }
            Place::May(_) | Place::Must(_) => self.tree.is_broken(tok),
        };
        self.tree.toks[t as usize].elem = Some(e);
        self.mark(cut);
    }

    fn close(&mut self, t: u32) {
        if let Some(tok) = self.tree.toks.get(t as usize) {
            let comments = self.tree.comments_of(tok);
            let cut = comments.iter().any(|c| c.breaks > 0 || c.line_comment || c.lines);
            self.mark(cut);
            self.count_comments(t);
        }
        self.finish(t);
        let Some(open) = self.open.pop() else { return };
        if let Some(tok) = self.tree.toks.get_mut(t as usize) {
            tok.list = open.list;
        }
        let list = &mut self.tree.lists[open.list as usize];
        // `{|}`
        list.width -= u32::from(open.bar_first && list.elems == 1);
        let (width, head, least, multi, form) =
            (list.width, list.head, list.least, list.multi, list.state.form);
        let Some(outer) = self.open.last_mut() else { return };
        let around = &mut self.tree.lists[outer.list as usize];
        around.width += width;
        around.multi |= multi;
        let elem = &mut self.tree.elems[open.elem as usize];
        elem.end = (t + 1).min(self.tree.toks.len() as u32);
        elem.width += width;
        elem.multi |= multi;
        elem.atom = false;
        if matches!(form, Form::Ranks | Form::Braces) {
            elem.least += width;
        } else {
            elem.least += least;
        }
        if !outer.head_done {
            if form == Form::Ranks {
                elem.head += width;
            } else {
                elem.head += head;
                outer.head_done = true;
            }
        }
        outer.glue = form == Form::Ranks;
    }

    /// What is known of a list when all its elements are.
    fn finish(&mut self, close: u32) {
        let Some(open) = self.open.last() else { return };
        let list = &self.tree.lists[open.list as usize];
        let (mut least, mut least_argument, mut atoms, mut hung) = (0, 0, true, None);
        let (mut short, mut parts) = (list.elems > MANY, false);
        let function = list.first.map_or(0, |e| self.tree.elems[e as usize].width);
        for (i, e) in self.tree.elems_of(list).enumerate() {
            let at = match e.rule.place {
                Place::First => 1,
                Place::Same => 2 + function,
                Place::May(Indent::Open(n) | Indent::Argument(n))
                | Place::Must(Indent::Open(n) | Indent::Argument(n)) => u32::from(n),
            };
            least = least.max(at + e.least + 1);
            parts |= matches!(e.rule.place, Place::Must(_)) && e.rule.counts;
            if i > 0 {
                least_argument = least_argument.max(e.least + 1);
                atoms &= e.atom;
                short &= e.width <= SHORT;
                let tok = &self.tree.toks[e.first as usize];
                if i > 1 && hung.is_none() && self.tree.is_broken(tok) && e.rule.counts {
                    let from = &self.tree.toks[list.open as usize];
                    hung = Some(tok.line > from.line && tok.column == from.column + 2);
                }
            }
        }
        let first = list.first.map(|e| &self.tree.elems[e as usize]);
        let names = first.is_some_and(|e| e.atom && self.names[e.first as usize].is_some());
        // The function's name is long, and its first argument is beside it.
        let second = first.and_then(|e| e.next).map(|e| &self.tree.elems[e as usize]);
        let beside = |e: &Elem| e.rule.counts && !self.tree.is_broken(&self.tree.toks[e.first as usize]);
        let long = function > 6 && first.is_some_and(|e| !e.multi) && second.is_some_and(beside);
        let fills = match list.state.form {
            Form::Data => atoms || names,
            Form::Bindings | Form::ValueBindings | Form::Witnesses => false,
            Form::Call(_) => atoms || short,
            Form::Array => atoms,
            _ => false,
        };
        let head = 1 + first.map_or(0, |e| e.head);
        let data = list.state.form == Form::Data;
        let fills = fills && (!data || first.is_none_or(|e| e.atom));
        let joins = open.joins;
        let hung = hung == Some(true) && long && list.state.form == Form::Call(2);
        let list = &mut self.tree.lists[open.list as usize];
        list.close = close;
        list.least = least;
        list.least_argument = least_argument;
        list.fills = fills;
        list.head = head;
        list.hung = hung;
        // A line that was broken where none may be was meant to be: the form stays on several lines, which its other
        // parts give it.
        list.multi |= joins && parts;
    }
}

//! One pass over the tokens that breaks lines where the rules say.

use crate::WIDTH;
use crate::columns::{self, Aligned, Found};
use crate::forms::{Form, Indent, Place, Stays};
use crate::lines::{Lines, Trailing};
use crate::tree::{Comment, Elem, Kind, List, Tok, Tree};

/// Below a function whose name is as wide as this, arguments that get a line each are hung.
const FAR: usize = 24;

/// Lays a text out.
pub(crate) fn layout<'t>(tree: &Tree<'t>) -> Lines<'t> {
    let lines = Lines::new(tree.crlf, tree.text.starts_with('\u{feff}'));
    let aligned = Aligned::of(tree.toks.len());
    let mut layout = Layout { tree, lines, frames: vec![], flat_to: 0, aligned, begins: None };
    layout.run();
    layout.lines
}

/// A bracket that is open.
struct Frame {
    list: u32,
    column: usize,
    /// Of the first argument.
    argument: Option<usize>,
    /// Each part gets a line.
    spreads: bool,
    /// There is no room for arguments beside the function.
    falls: bool,
    /// Line breaks are those of a table of numbers.
    table: bool,
    /// What the author has filled lines with does not fit: lines are filled anew.
    refills: bool,
    /// Something stands in it.
    begun: bool,
    /// The line on which the last part begins.
    line: usize,
    /// Where a line begins that the last part does.
    indent: usize,
}

struct Layout<'a, 't> {
    tree: &'a Tree<'t>,
    lines: Lines<'t>,
    frames: Vec<Frame>,
    /// Up to this token all is on one line.
    flat_to: usize,
    aligned: Aligned,
    /// The token that the line begins with.
    begins: Option<usize>,
}

impl<'t> Layout<'_, 't> {
    fn run(&mut self) {
        let tree = self.tree;
        self.frames.push(Frame {
            list: 0,
            column: 0,
            argument: None,
            spreads: false,
            falls: false,
            table: false,
            refills: false,
            begun: false,
            line: 0,
            indent: 0,
        });
        for (t, tok) in tree.toks.iter().enumerate() {
            match tok.kind {
                Kind::End => {
                    self.before(t, tok, None);
                }
                Kind::Close if self.frames.len() > 1 => self.close(t, tok),
                _ => self.part(t, tok),
            }
            if self.frames.len() == 1
                && tree.lists[0].last.is_some()
                && tree.toks.get(t + 1).is_none_or(|next| next.elem.is_some() || next.kind == Kind::End)
                && tok.kind != Kind::End
            {
                self.lines.mark();
            }
        }
    }

    fn part(&mut self, t: usize, tok: &Tok) {
        let elem = tok.elem.map(|e| &self.tree.elems[e as usize]);
        self.before(t, tok, elem);
        if self.lines.is_blank() {
            self.begins = Some(t);
        }
        self.lines.push(self.tree.text_of(tok), tok.width);
        if matches!(tok.kind, Kind::Open(_)) {
            self.open(t, tok);
        }
    }

    /// Comments, spaces and line ends before a token.
    fn before(&mut self, t: usize, tok: &Tok, elem: Option<&Elem>) {
        let tree = self.tree;
        let Some(frame) = self.frames.last() else { return };
        let list = &tree.lists[frame.list as usize];
        let flat = t < self.flat_to;
        let indent = match elem {
            Some(e) => self.indent(frame, list, e.rule.place),
            None if tok.kind == Kind::End => 0,
            None => frame.indent,
        };
        let breakable = elem.is_some_and(|e| matches!(e.rule.place, Place::May(_) | Place::Must(_)));
        let (begun, table, refills) = (frame.begun, frame.table, frame.refills);
        // What is glued stands behind what it belongs to, which has begun.
        let mut space = match elem {
            Some(_) => begun || tok.kind == Kind::Bar,
            None => tok.kind == Kind::End && begun,
        };
        if tok.kind == Kind::Bar && list.elems == 1 {
            space = false;
        }
        let (mut broken, mut ended) = (false, false);
        let comments = tree.comments_of(tok);
        for c in comments {
            let own = ended || (breakable || tok.kind == Kind::End) && c.breaks > 0 && !flat;
            self.comment(c, own, ended, indent, begun || ended || broken, space);
            broken |= own || c.line_comment;
            ended = c.line_comment;
            space = true;
        }
        if tok.kind == Kind::End {
            return;
        }
        let blank = tok.breaks > 1 && (begun || !comments.is_empty());
        let breaks = match elem {
            _ if flat => false,
            _ if ended => true,
            Some(e) if table && breakable => self.aligned.breaks(t) && !matches!(e.rule.place, Place::Same),
            Some(e) => {
                breakable && tok.breaks > u8::from(refills && !e.rule.leads) && !self.lines.is_empty()
                    || !broken && self.breaks(e, indent, space)
            }
            None => false,
        };
        if breaks {
            self.lines.begin(indent, blank);
        } else if space && !self.lines.is_fresh() {
            self.lines.space(1);
        }
        if self.aligned.pad(t) > 0 {
            self.lines.space(self.aligned.pad(t));
        }
        let (line, column) = (self.lines.number(), self.lines.column());
        if let (Some(e), Some(frame)) = (elem, self.frames.last_mut()) {
            frame.begun = true;
            frame.line = line;
            frame.indent = indent;
            if e.rule.leads {
                frame.argument = Some(column);
            }
        }
    }

    /// One comment. `own`: on a line of its own; `ended`: the one before reaches to the end of its line.
    fn comment(&mut self, c: &Comment, own: bool, ended: bool, indent: usize, blank: bool, space: bool) {
        let text = &self.tree.text[c.start as usize..c.end as usize];
        if c.line_comment {
            if c.breaks == 0 && !ended && !self.lines.is_fresh() {
                let whole =
                    self.begins.is_some_and(|t| t < self.tree.toks.len() && self.begins_line(t, c.line));
                self.lines.trail(Trailing { text, column: c.column, stays: whole });
            } else if let Some(above) = self.lines.trailing().filter(|_| c.continues) {
                self.lines.begin(0, false);
                self.lines.trail(Trailing { text, ..above });
            } else {
                self.lines.begin(indent, blank && c.breaks > 1);
                self.lines.push(text, c.width);
            }
        } else {
            if own {
                self.lines.begin(indent, blank && c.breaks > 1);
            } else if space && !self.lines.is_fresh() {
                self.lines.space(1);
            }
            self.lines.push(text, c.width);
        }
    }

    /// Whether a line of the text begins with a token.
    fn begins_line(&self, t: usize, line: u32) -> bool {
        let before = t.checked_sub(1).map(|b| &self.tree.toks[b]);
        let tok = &self.tree.toks[t];
        tok.line == line
            && before.is_none_or(|b| b.line < line)
            && self.tree.comments_of(tok).iter().all(|c| c.line < line)
    }

    /// Where a line begins that such a part begins.
    fn indent(&self, frame: &Frame, list: &List, place: Place) -> usize {
        let at = |indent: Indent| match indent {
            Indent::Open(n) => frame.column + usize::from(n),
            Indent::Argument(_) if list.hung && !frame.falls => frame.column + 2,
            Indent::Argument(n) => frame.argument.unwrap_or(frame.column + usize::from(n)),
        };
        match place {
            Place::First => frame.column + 1,
            // After a comment alone.
            Place::Same => at(list.state.rest()),
            Place::May(indent) | Place::Must(indent) => at(indent),
        }
    }

    /// Whether the line breaks before an element whose author did not break it.
    fn breaks(&self, e: &Elem, indent: usize, space: bool) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        match e.rule.place {
            Place::First | Place::Same => false,
            Place::Must(_) => true,
            Place::May(_) => {
                let behind_lines = frame.begun && self.lines.number() > frame.line;
                let bindings = matches!(
                    self.tree.lists[frame.list as usize].state.form,
                    Form::Bindings | Form::ValueBindings
                );
                behind_lines
                    || bindings && e.multi
                    || frame.spreads && (e.rule.spreads || frame.falls)
                    || if e.rule.leads && e.rule.counts { frame.falls } else { self.moves(e, indent, space) }
            }
        }
    }

    /// Whether an element does not fit where it is, and does better on a line of its own.
    fn moves(&self, e: &Elem, indent: usize, space: bool) -> bool {
        let column = self.lines.column() + usize::from(space);
        // A type goes with its colon.
        let with = e.next.filter(|_| e.rule.colon).map(|n| &self.tree.elems[n as usize]);
        let (width, end) = with.map_or((e.width, e.end), |ty| (e.width + 1 + ty.width, ty.end));
        let multi = e.multi || with.is_some_and(|ty| ty.multi);
        let width = width as usize + self.tree.closers[end as usize] as usize;
        if !multi && column + width <= WIDTH || indent >= column {
            return false;
        }
        let starts = column + e.head as usize <= WIDTH;
        let first = &self.tree.toks[e.first as usize];
        let body = matches!(first.kind, Kind::Open(_))
            && self.tree.lists[first.list as usize].state.form.has_body()
            && e.rule.stays == Stays::Long;
        if multi {
            body || !starts
        } else if body {
            true
        } else {
            match e.rule.stays {
                Stays::No => true,
                Stays::Long => indent + width <= WIDTH || !starts,
                Stays::Always => !starts,
            }
        }
    }

    fn open(&mut self, t: usize, tok: &Tok) {
        let tree = self.tree;
        let list = &tree.lists[tok.list as usize];
        let column = self.lines.column() - 1;
        let closers = tree.closers.get(list.close as usize + 1).copied().unwrap_or(0);
        let fits = !list.multi && column + (list.width + closers) as usize <= WIDTH;
        let mut frame = Frame {
            list: tok.list,
            column,
            argument: None,
            spreads: !list.multi && !list.fills,
            falls: false,
            table: false,
            refills: false,
            begun: false,
            line: self.lines.number(),
            indent: column + 1,
        };
        if t < self.flat_to {
        } else if fits {
            self.flat_to = list.close as usize + 1;
        } else {
            if matches!(list.state.form, Form::Call(_) | Form::Head | Form::Fields | Form::Arrow | Form::Cond)
                && let Some(first) = list.first
            {
                let beside = 2 + tree.elems[first as usize].width as usize;
                let room = column + beside + list.least_argument as usize <= WIDTH;
                frame.falls = list.elems > 1 && (!room || frame.spreads && beside > FAR);
            }
            let found = columns::align(tree, list, column, frame.spreads, &mut self.aligned);
            frame.table = found == Found::Table;
            frame.refills = found == Found::Nothing && self.refills(list, column, frame.falls);
        }
        self.frames.push(frame);
    }

    /// Whether the author has filled lines with the parts of a list, and one does not fit. They are filled if none but
    /// the last is much shorter than the longest.
    fn refills(&self, list: &List, column: usize, falls: bool) -> bool {
        let tree = self.tree;
        let (Some(first), true) = (list.first.map(|e| &tree.elems[e as usize]), list.multi) else {
            return false;
        };
        let is_broken = |e: &Elem| tree.is_broken(&tree.toks[e.first as usize]);
        let (skipped, indent) = match list.state.form {
            Form::Data | Form::Bindings => (0, column + 1),
            Form::Call(h) if falls || first.next.is_some_and(|e| is_broken(&tree.elems[e as usize])) => {
                (1, column + usize::from(h))
            }
            Form::Call(_) if list.hung => return false,
            Form::Call(_) => (1, column + 2 + first.width as usize),
            _ => return false,
        };
        let closers = tree.closers.get(list.close as usize).copied().unwrap_or(0) as usize;
        let (mut at, mut on_line, mut overflows) = (indent, 0, false);
        let (mut shortest, mut longest) = (usize::MAX, 0);
        for (i, e) in tree.elems_of(list).enumerate().skip(skipped) {
            let width = e.width as usize + if e.next.is_none() { closers } else { 0 };
            if e.multi || !e.rule.counts || indent + width > WIDTH {
                return false;
            }
            if i > skipped && is_broken(e) {
                shortest = shortest.min(at - indent);
                (at, on_line) = (indent, 0);
            }
            at += usize::from(on_line > 0) + width;
            on_line += 1;
            longest = longest.max(at - indent);
            overflows |= on_line > 1 && at > WIDTH;
        }
        overflows && shortest >= longest / 4 * 3
    }

    fn close(&mut self, t: usize, tok: &Tok) {
        let tree = self.tree;
        let Some(frame) = self.frames.last() else { return };
        let list = &tree.lists[frame.list as usize];
        let flat = t < self.flat_to;
        let at = match list.state.rest() {
            Indent::Open(n) => frame.column + usize::from(n),
            Indent::Argument(_) if list.hung && !frame.falls => frame.column + 2,
            Indent::Argument(n) => frame.argument.unwrap_or(frame.column + usize::from(n)),
        };
        let mut space = frame.begun;
        let mut ended = false;
        for c in tree.comments_of(tok) {
            let own = ended || c.breaks > 0 && !flat;
            self.comment(c, own, ended, at, space, space);
            ended = c.line_comment;
            space = true;
        }
        if ended {
            self.lines.begin(at, false);
        }
        self.lines.push(tree.text_of(tok), tok.width);
        self.frames.pop();
    }
}

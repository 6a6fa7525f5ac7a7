//! The rules: where each part of each form may stand.
//!
//! A form is known by its keyword, or by what it is to the form around it: `(x 1)` is a binding inside the brackets after
//! `let`, an application elsewhere. Rules say of each part, by its number, whether a line may or must be broken before it
//! and where that line begins. Parts that a `#;` has made comments have no number; neither has `: τ`.

/// What a bracket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The text.
    Top,
    /// `( … )` whose first part will tell.
    Expr,
    /// `[ … ]`, parameters, names: elements one column in.
    Data,
    /// `((x e) …)`: a line for each where they do not fit on one.
    Bindings,
    /// `(((x …) e) …)` of `let-values`
    ValueBindings,
    /// `((i index) …)` of `box`
    Witnesses,
    /// `{ … | … }`
    Braces,
    /// The `(r …)` of a rerank.
    Ranks,
    /// A binding whose first part will tell: a name, or the head of a function.
    Binding,
    /// `(x e)`, a field, a row of `boxes`: one column in.
    Pair,
    /// `(c e …)` of `cond`
    Clause,
    /// `((f p …) e …)` among bindings
    Function,
    /// `(f p …)` in a definition
    Head,
    /// `(f x …)`, and forms that look like it. The column of arguments below `f`.
    Call(u8),
    /// `(record (l e) …)`, `(with r (l e) …)`: a call whose arguments are pairs.
    Fields,
    /// `(→ (τ …) τ)`
    Arrow,
    If,
    Cond,
    /// `define`, `entry`, `primitive`, whose second part will tell.
    Define,
    /// `(define x e)`, `(define-type T τ)`
    Constant,
    /// A keyword, what names the form, and a body.
    Body(Kind),
    Array,
    Box,
    Boxes,
    Loop,
}

impl Form {
    /// A form that is read from its first line on: keyword, names, then what it is about.
    pub fn has_body(self) -> bool {
        matches!(self, Form::Body(_) | Form::Loop | Form::Cond | Form::If)
    }
}

/// What stands between the keyword and the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `(f p …)`
    Head,
    /// `(p …)`
    Names,
    Bindings,
    ValueBindings,
    /// `[d e]`
    Pair,
    /// `e (x i …) …`
    Unbox,
}

/// Where a line begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Indent {
    /// So many columns behind the opening bracket.
    Open(u8),
    /// Below the first argument; so many columns behind the bracket where there is none yet.
    Argument(u8),
}

/// Where a part may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Behind the opening bracket.
    First,
    /// Behind the part before.
    Same,
    /// There, or on a line of its own.
    May(Indent),
    /// On a line of its own, unless all of the form is on one.
    Must(Indent),
}

/// What a part does that does not fit behind the one before, and may move to a line of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stays {
    /// It moves.
    No,
    /// It moves if it then fits on one line, or has a body; otherwise it is broken where it is.
    Long,
    /// It is broken where it is.
    Always,
}

/// A rule for one part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub place: Place,
    /// What a part that does not fit does.
    pub stays: Stays,
    /// The first argument: others align with it.
    pub leads: bool,
    /// It gets a line of its own where the form does not fit on one.
    pub spreads: bool,
    /// The `:` before a type, which goes where it does.
    pub colon: bool,
    /// It has a number.
    pub counts: bool,
}

const SAME: Rule =
    Rule { place: Place::Same, stays: Stays::No, leads: false, spreads: false, colon: false, counts: true };

impl Rule {
    fn may(indent: Indent) -> Rule {
        Rule { place: Place::May(indent), ..SAME }
    }

    fn must(indent: Indent) -> Rule {
        Rule { place: Place::Must(indent), ..SAME }
    }

    fn stays(self, stays: Stays) -> Rule {
        Rule { stays, ..self }
    }

    fn leads(self) -> Rule {
        Rule { leads: true, ..self }
    }

    fn spreads(self) -> Rule {
        Rule { spreads: true, ..self }
    }
}

/// What is known of a bracket while its parts are met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub form: Form,
    /// How many parts with numbers there were.
    pub count: u32,
    /// The part before was the `:` of a type.
    after_colon: bool,
    /// The parts after `do`.
    done: Option<u32>,
    /// Of an `unbox`: how many parts are its keyword, boxes and their names.
    opened: u32,
}

impl State {
    pub fn new(form: Form) -> State {
        State { form, count: 0, after_colon: false, done: None, opened: 3 }
    }

    /// Whether the next part may be boxes beside others, if names and a body come behind it.
    pub fn may_open(&self) -> bool {
        self.form == Form::Body(Kind::Unbox) && self.count == self.opened
    }

    /// The next part is boxes beside others.
    pub fn opens_more(&mut self) {
        self.opened += 2;
    }

    /// The rule for the next part, which begins with `name` or, if it is in brackets, does not.
    pub fn next(&mut self, name: Option<&str>, opens: bool, commented: bool) -> Rule {
        if commented {
            let indent = self.rest();
            let first = self.count == 0 && self.form != Form::Top;
            let place = if first { Place::First } else { Place::May(indent) };
            return Rule { place, counts: false, ..SAME };
        }
        if self.after_colon {
            self.after_colon = false;
            return Rule { counts: false, ..SAME };
        }
        let types = match self.form {
            Form::Body(Kind::Head | Kind::Names) | Form::Constant => self.count == 2,
            Form::Function | Form::Pair => self.count == 1,
            _ => false,
        };
        if types && name == Some(":") {
            self.after_colon = true;
            let indent = Indent::Open(if self.form == Form::Pair { 1 } else { 2 });
            return Rule { colon: true, counts: false, ..Rule::may(indent) };
        }
        let i = self.count;
        self.count += 1;
        self.learn(i, name, opens);
        self.rule(i, name)
    }

    /// What the first two parts tell of the form.
    fn learn(&mut self, i: u32, name: Option<&str>, opens: bool) {
        self.form = match (self.form, i) {
            (Form::Expr, 0) => match name {
                Some(keyword) => of_keyword(keyword),
                None => Form::Call(if opens { 1 } else { 2 }),
            },
            (Form::Binding, 0) => {
                if opens {
                    Form::Function
                } else {
                    Form::Pair
                }
            }
            (Form::Define, 1) => {
                if opens {
                    Form::Body(Kind::Head)
                } else {
                    Form::Constant
                }
            }
            (form, _) => form,
        };
    }

    fn rule(&mut self, i: u32, name: Option<&str>) -> Rule {
        use Indent::*;
        if self.form == Form::Top {
            return Rule::may(Open(0));
        }
        if i == 0 {
            return Rule { place: Place::First, ..SAME };
        }
        match self.form {
            Form::Data | Form::Bindings | Form::ValueBindings | Form::Witnesses => {
                Rule::may(Open(1)).spreads()
            }
            Form::Braces | Form::Ranks => Rule::may(Open(1)),
            Form::Pair | Form::Binding => Rule::may(Open(1)).stays(Stays::Always),
            Form::Clause => Rule::may(Open(1)).stays(Stays::Long),
            Form::Function => Rule::must(Open(2)),
            Form::Head if i == 1 => Rule::may(Open(2)).leads(),
            Form::Head => Rule::may(Argument(2)),
            Form::If if i == 1 => SAME.leads(),
            Form::If => Rule::must(Argument(4)),
            Form::Cond if i == 1 => Rule::may(Open(2)).leads(),
            Form::Cond => Rule::must(Argument(2)),
            Form::Constant if i > 1 => Rule::may(Open(2)).stays(Stays::Long),
            Form::Define | Form::Constant => SAME,
            // Boxes below the first ones, their names behind them.
            Form::Body(Kind::Unbox) if i % 2 == 1 && (3..self.opened).contains(&i) => Rule::may(Open(7)),
            Form::Body(Kind::Unbox) if i == 2 => Rule::may(Open(4)),
            Form::Body(Kind::Unbox) if i < self.opened => SAME,
            Form::Body(_) if i > 1 => Rule::must(Open(2)),
            Form::Body(_) => SAME,
            Form::Array if i == 2 => Rule::must(Open(2)).spreads(),
            // `(box ((n 3)) [int n]`, and below it what is in the box.
            Form::Box if i == 2 => Rule::may(Open(2)),
            Form::Array | Form::Box if i > 1 => Rule::may(Open(2)).spreads(),
            Form::Array | Form::Box => SAME,
            Form::Boxes if i > 3 => Rule::must(Open(2)),
            Form::Boxes if i > 1 => Rule::may(Open(2)),
            Form::Boxes => SAME,
            Form::Loop => self.of_loop(name),
            Form::Call(h) if i == 1 => Rule::may(Open(h)).leads(),
            Form::Call(h) => Rule::may(Argument(h)).spreads(),
            Form::Fields | Form::Arrow if i == 1 => Rule::may(Open(2)).leads(),
            Form::Fields | Form::Arrow | Form::Expr | Form::Top => Rule::may(Argument(2)).spreads(),
        }
    }

    /// `(loop (…) while c do e …)`
    fn of_loop(&mut self, name: Option<&str>) -> Rule {
        match (&mut self.done, name) {
            (None, Some("while")) => Rule::must(Indent::Open(1)),
            (None, Some("do")) => {
                self.done = Some(0);
                Rule::must(Indent::Open(1))
            }
            (None, _) => SAME,
            (Some(n), _) => {
                *n += 1;
                if *n == 1 { SAME.leads() } else { Rule::must(Indent::Argument(4)) }
            }
        }
    }

    /// Where a line begins that comes next, whatever it holds: a closing bracket after a comment, something commented.
    pub fn rest(&self) -> Indent {
        use Indent::*;
        match self.form {
            Form::Top => Open(0),
            Form::Data
            | Form::Bindings
            | Form::ValueBindings
            | Form::Witnesses
            | Form::Braces
            | Form::Ranks
            | Form::Pair
            | Form::Clause
            | Form::Binding => Open(1),
            Form::Call(h) => Argument(h),
            Form::If => Argument(4),
            Form::Loop => match self.done {
                Some(_) => Argument(4),
                None => Open(1),
            },
            Form::Head | Form::Cond | Form::Fields | Form::Arrow => Argument(2),
            Form::Expr
            | Form::Function
            | Form::Define
            | Form::Constant
            | Form::Body(_)
            | Form::Array
            | Form::Box
            | Form::Boxes => Open(2),
        }
    }

    /// What a bracket is that begins the part met last.
    pub fn inner(&self, square: bool) -> Form {
        let i = self.count.saturating_sub(1);
        match (self.form, i) {
            (Form::Body(Kind::Head), 1) | (Form::Function, 0) => Form::Head,
            (Form::Body(Kind::Names) | Form::Arrow | Form::Boxes, 1) => Form::Data,
            (Form::Body(Kind::Unbox), i) if i > 0 && i.is_multiple_of(2) && i < self.opened => Form::Data,
            (Form::Body(Kind::Bindings) | Form::Loop, 1) => Form::Bindings,
            (Form::Body(Kind::ValueBindings), 1) => Form::ValueBindings,
            (Form::Body(Kind::Pair), 1) => Form::Pair,
            (Form::Box, 1) => Form::Witnesses,
            (Form::Bindings, _) => Form::Binding,
            (Form::ValueBindings | Form::Witnesses, _) => Form::Pair,
            // `((x …) e)`, `((index …) e)`: what names it is in brackets.
            (Form::Pair, 0) => Form::Data,
            (Form::Cond, 1..) => Form::Clause,
            (Form::Fields, 1..) | (Form::Boxes, 4..) => Form::Pair,
            // Parameters and names.
            (Form::Head, _) => Form::Data,
            _ if square => Form::Data,
            _ => Form::Expr,
        }
    }
}

fn of_keyword(keyword: &str) -> Form {
    match keyword {
        "define" | "entry" | "primitive" => Form::Define,
        "define-type" => Form::Constant,
        "λ" | "Tλ" | "Iλ" | "∀" | "Π" | "Σ" => Form::Body(Kind::Names),
        "let" | "let*" => Form::Body(Kind::Bindings),
        "let-values" => Form::Body(Kind::ValueBindings),
        "lift" | "lift-int" => Form::Body(Kind::Pair),
        "unbox" => Form::Body(Kind::Unbox),
        "if" => Form::If,
        "cond" => Form::Cond,
        "loop" => Form::Loop,
        "array" | "frame" => Form::Array,
        "box" => Form::Box,
        "boxes" => Form::Boxes,
        "record" | "with" | "Record" => Form::Fields,
        "→" => Form::Arrow,
        _ => Form::Call(2),
    }
}

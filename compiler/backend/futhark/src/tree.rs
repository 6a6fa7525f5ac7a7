//! Expressions of Futhark as trees, and their layout as lines that people read.
//!
//! A tree knows nothing of Mono: it is what is printed, but for parentheses and line breaks. Those are put here,
//! once: parentheses by the precedence of Futhark's operators (and a few more, where a reader would have to know
//! that table by heart), line breaks where an expression does not fit into [`WIDTH`] columns.
//!
//! ```text
//! let total = reduce (+) 0.0 (map2 (*) xs ys)        fits
//!
//! let smoothed =                                     does not: every argument has a line of its own
//!   map2
//!     (\i x ->
//!       …)
//!     (iota n)
//!     xs
//! ```

/// Columns of a line, where breaking it can keep to them.
const WIDTH: usize = 100;

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Tree {
    /// A name, a literal that is not negative, a section such as `(+)`.
    Name(String),
    /// `-x` or `!x`.
    Unary(char, Box<Tree>),
    Call(String, Vec<Tree>),
    Infix(&'static str, Box<Tree>, Box<Tree>),
    If(Box<Tree>, Box<Tree>, Box<Tree>),
    /// Parameters as they are written.
    Lambda(Vec<String>, Box<Tree>),
    Block(Vec<Line>, Box<Tree>),
    Loop {
        pattern: String,
        start: Box<Tree>,
        form: Form,
        body: Box<Tree>,
    },
    Index(Box<Tree>, Vec<Place>),
    Tuple(Vec<Tree>),
    Array(Vec<Tree>),
    /// `x :> t`.
    Coerce(Box<Tree>, String),
    /// `x with [i] = y`.
    With(Box<Tree>, Vec<Tree>, Box<Tree>),
    /// What is to be said of an expression, on lines above it.
    Noted(Vec<String>, Box<Tree>),
}

/// A `let` of a block, with the comments above it.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    pub comments: Vec<String>,
    pub pattern: String,
    pub value: Tree,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    For(String, Box<Tree>),
    While(Box<Tree>),
}

/// A place in brackets: an index, or a slice from a place to another.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    At(Tree),
    Slice(Tree, Tree),
}

/// How tightly a form holds its parts together; an operand of a tighter one stands in parentheses.
type Tightness = u8;

const OPEN: Tightness = 0;
const CALL: Tightness = 10;
const ATOM: Tightness = 11;

/// The level of an operator, and whether a chain of its level needs no parentheses.
fn level(op: &str) -> (Tightness, bool) {
    match op {
        "||" => (1, true),
        "&&" => (2, true),
        "==" | "!=" | "<" | "<=" | ">" | ">=" => (3, false),
        "&" | "|" | "^" => (4, false),
        "<<" | ">>" => (5, false),
        "+" | "-" | "++" => (6, true),
        "*" | "/" | "%" => (7, true),
        _ => (8, false),
    }
}

impl Tree {
    pub fn name(text: impl Into<String>) -> Tree {
        Tree::Name(text.into())
    }

    pub fn call(function: impl Into<String>, args: Vec<Tree>) -> Tree {
        Tree::Call(function.into(), args)
    }

    pub fn infix(op: &'static str, a: Tree, b: Tree) -> Tree {
        Tree::Infix(op, Box::new(a), Box::new(b))
    }

    pub fn unary(op: char, a: Tree) -> Tree {
        Tree::Unary(op, Box::new(a))
    }

    pub fn choice(c: Tree, a: Tree, b: Tree) -> Tree {
        Tree::If(Box::new(c), Box::new(a), Box::new(b))
    }

    pub fn lambda(params: Vec<String>, body: Tree) -> Tree {
        Tree::Lambda(params, Box::new(body))
    }

    pub fn coerce(self, ty: String) -> Tree {
        Tree::Coerce(Box::new(self), ty)
    }

    /// An element or cell; of a cell, one at further places.
    pub fn at(self, places: Vec<Place>) -> Tree {
        match (self, places) {
            (array, places) if places.is_empty() => array,
            (Tree::Index(array, mut first), mut more) if first.iter().all(|p| matches!(p, Place::At(_))) => {
                first.append(&mut more);
                Tree::Index(array, first)
            }
            (array, places) => Tree::Index(Box::new(array), places),
        }
    }

    /// One value, or a tuple of several.
    pub fn tuple(mut parts: Vec<Tree>) -> Tree {
        match parts.len() {
            1 => parts.remove(0),
            _ => Tree::Tuple(parts),
        }
    }

    /// The expression behind these lines.
    pub fn block(lines: Vec<Line>, result: Tree) -> Tree {
        if lines.is_empty() {
            return result;
        }
        // `let x = e in x` is `e`.
        if let (Some(last), Tree::Name(name)) = (lines.last(), &result)
            && last.pattern == *name
        {
            let mut lines = lines;
            let Some(last) = lines.pop() else { return result };
            let value = match last.comments.is_empty() {
                true => last.value,
                false => Tree::Noted(last.comments, Box::new(last.value)),
            };
            return Tree::block(lines, value);
        }
        match result {
            Tree::Block(more, result) => Tree::Block(lines.into_iter().chain(more).collect(), result),
            result => Tree::Block(lines, Box::new(result)),
        }
    }

    /// Whether it is a name or literal, which costs nothing to say twice.
    pub fn is_name(&self) -> bool {
        matches!(self, Tree::Name(_)) || matches!(self, Tree::Unary('-', x) if matches!(**x, Tree::Name(_)))
    }

    /// How many parts it has; more than `most` count as `most`.
    pub fn weight(&self, most: usize) -> usize {
        let mut open = vec![self];
        let mut count = 0;
        while let Some(t) = open.pop() {
            count += 1;
            if count >= most {
                return most;
            }
            match t {
                Tree::Name(_) => {}
                Tree::Unary(_, a) | Tree::Coerce(a, _) | Tree::Lambda(_, a) | Tree::Noted(_, a) => {
                    open.push(a);
                }
                Tree::Call(_, all) | Tree::Tuple(all) | Tree::Array(all) => open.extend(all),
                Tree::Infix(_, a, b) => open.extend([&**a, &**b]),
                Tree::If(a, b, c) => open.extend([&**a, &**b, &**c]),
                Tree::Index(a, places) => {
                    open.push(a);
                    for p in places {
                        match p {
                            Place::At(x) => open.push(x),
                            Place::Slice(x, y) => open.extend([x, y]),
                        }
                    }
                }
                Tree::With(a, at, b) => open.extend([&**a, &**b].into_iter().chain(at)),
                Tree::Block(..) | Tree::Loop { .. } => return most,
            }
        }
        count
    }

    fn tightness(&self) -> Tightness {
        match self {
            Tree::Name(_) | Tree::Index(..) | Tree::Tuple(_) | Tree::Array(_) => ATOM,
            Tree::Call(_, args) if args.is_empty() => ATOM,
            Tree::Call(..) => CALL,
            Tree::Infix(op, ..) => level(op).0,
            // A unary operator is in parentheses wherever it is a part of something.
            _ => OPEN,
        }
    }

    /// How tight the body of a function is: a coercion after an arrow would have to be read twice.
    fn under_arrow(body: &Tree) -> Tightness {
        if matches!(body, Tree::Coerce(..)) { 1 } else { OPEN }
    }

    /// How tight the parts of an operator have to be.
    fn operands(op: &str) -> (Tightness, Tightness) {
        match level(op) {
            // Who knows whether a shift or an `or` of bits comes first?
            (4 | 5 | 8, _) => (CALL, CALL),
            (own, true) => (own, own + 1),
            (own, false) => (own + 1, own + 1),
        }
    }
}

/// The text of an expression that begins at column `column` of a line whose block is indented by `indent`.
pub fn layout(tree: &Tree, column: usize, indent: usize) -> String {
    let mut w = Layout { out: String::new(), column };
    w.tree(tree, OPEN, indent);
    w.out
}

struct Layout {
    out: String,
    column: usize,
}

impl Layout {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(at) => self.column = text.len() - at - 1,
            None => self.column += text.chars().count(),
        }
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    /// An expression as a part that has to be this tight.
    fn tree(&mut self, t: &Tree, wanted: Tightness, indent: usize) {
        let parens = t.tightness() < wanted;
        let mut flat = String::new();
        let room = WIDTH.saturating_sub(self.column + 2 * usize::from(parens));
        if (Flat { out: &mut flat, room }).tree(t, wanted).is_some() {
            return self.text(&flat);
        }
        if parens {
            self.text("(");
            let inside = if matches!(t, Tree::Block(..) | Tree::Noted(..)) { self.column } else { indent };
            self.broken(t, inside);
            self.text(")");
        } else {
            self.broken(t, indent);
        }
    }

    /// An expression behind a word on what is left of the line, if they fit there with a ` do`, else on lines of
    /// their own.
    fn beside_or_below(&mut self, word: &str, t: &Tree, wanted: Tightness, indent: usize) {
        let mut flat = String::new();
        let room = WIDTH.saturating_sub(self.column + " do".len() + 1 + word.len());
        if (Flat { out: &mut flat, room }).tree(t, wanted).is_some() {
            self.text(&format!(" {word}{flat}"));
        } else {
            self.line(indent);
            self.text(word);
            self.tree(t, wanted, indent + word.len());
        }
    }

    fn list(&mut self, open: &str, parts: &[Tree], close: &str) {
        let column = self.column;
        self.text(open);
        for (k, part) in parts.iter().enumerate() {
            if k > 0 {
                self.line(column);
                self.text(", ");
            }
            self.tree(part, OPEN, column + 2);
        }
        self.text(close);
    }

    /// Numbers and other short parts: as many on a line as there is room for.
    fn filled(&mut self, parts: &[Tree]) {
        self.text("[");
        let column = self.column;
        for (k, part) in parts.iter().enumerate() {
            if k > 0 {
                self.text(",");
                let mut flat = String::new();
                let room = (WIDTH - 2).saturating_sub(self.column);
                match (Flat { out: &mut flat, room }).tree(part, OPEN) {
                    Some(()) => self.text(" "),
                    None => self.line(column),
                }
            }
            self.tree(part, OPEN, column);
        }
        self.text("]");
    }

    /// An expression that is on more than one line.
    fn broken(&mut self, t: &Tree, indent: usize) {
        match t {
            Tree::Name(text) => self.text(text),
            Tree::Unary(op, a) => {
                self.text(&op.to_string());
                self.tree(a, ATOM, indent);
            }
            Tree::Call(f, args) => {
                self.text(f);
                for a in args {
                    self.line(indent + 2);
                    self.tree(a, ATOM, indent + 2);
                }
            }
            Tree::Infix(op, a, b) => {
                let (left, right) = Tree::operands(op);
                self.tree(a, left, indent);
                self.line(indent);
                self.text(&format!("{op} "));
                self.tree(b, right, indent + op.len() + 1);
            }
            Tree::If(c, a, b) => {
                self.text("if ");
                self.tree(c, 1, indent + 3);
                self.line(indent);
                self.text("then ");
                self.tree(a, 1, indent + 5);
                self.line(indent);
                self.text("else ");
                let chain = matches!(**b, Tree::If(..));
                self.tree(b, if chain { OPEN } else { 1 }, if chain { indent } else { indent + 5 });
            }
            Tree::Lambda(params, body) => {
                self.text(&format!("\\{} ->", params.join(" ")));
                self.line(indent + 2);
                self.tree(body, Tree::under_arrow(body), indent + 2);
            }
            Tree::Block(lines, result) => self.block(lines, result, indent),
            Tree::Loop { pattern, start, form, body } => {
                self.text(&format!("loop {pattern} ="));
                self.beside_or_below("", start, OPEN, indent + 4);
                match form {
                    Form::For(i, n) => self.beside_or_below(&format!("for {i} < "), n, 6, indent + 4),
                    Form::While(c) => self.beside_or_below("while ", c, 1, indent + 4),
                }
                self.text(" do");
                self.line(indent + 2);
                self.tree(body, OPEN, indent + 2);
            }
            Tree::Index(array, places) => {
                self.tree(array, ATOM, indent);
                self.text("[");
                for (k, p) in places.iter().enumerate() {
                    if k > 0 {
                        self.text(", ");
                    }
                    match p {
                        Place::At(x) => self.tree(x, 1, indent + 2),
                        Place::Slice(x, y) => {
                            self.tree(x, 1, indent + 2);
                            self.text(":");
                            self.tree(y, 1, indent + 2);
                        }
                    }
                }
                self.text("]");
            }
            Tree::Noted(notes, a) => {
                self.notes(notes, indent);
                self.tree(a, OPEN, indent);
            }
            Tree::Tuple(parts) => self.list("( ", parts, ")"),
            Tree::Array(parts) if parts.iter().all(|p| p.weight(6) < 6) => self.filled(parts),
            Tree::Array(parts) => self.list("[ ", parts, "]"),
            Tree::Coerce(a, ty) => {
                self.tree(a, 1, indent);
                self.line(indent);
                self.text(&format!(":> {ty}"));
            }
            Tree::With(a, at, b) => {
                self.tree(a, ATOM, indent);
                self.text(" with [");
                for (k, x) in at.iter().enumerate() {
                    if k > 0 {
                        self.text(", ");
                    }
                    self.tree(x, 1, indent + 2);
                }
                self.text("] =");
                self.line(indent + 2);
                self.tree(b, 1, indent + 2);
            }
        }
    }

    fn notes(&mut self, notes: &[String], indent: usize) {
        for note in notes {
            self.text(&format!("-- {note}"));
            self.line(indent);
        }
    }

    fn block(&mut self, lines: &[Line], result: &Tree, indent: usize) {
        for (k, l) in lines.iter().enumerate() {
            if k > 0 {
                self.line(indent);
            }
            self.notes(&l.comments, indent);
            self.text(&format!("let {} =", l.pattern));
            let mut flat = String::new();
            let room = WIDTH.saturating_sub(self.column + 1);
            // These have a first line that says what they are.
            let hangs = matches!(l.value, Tree::Loop { .. } | Tree::If(..)) && self.column + 40 < WIDTH;
            if (Flat { out: &mut flat, room }).tree(&l.value, OPEN).is_some() {
                self.text(" ");
                self.text(&flat);
            } else if hangs && matches!(l.value, Tree::Loop { .. }) {
                self.text(" ");
                self.tree(&l.value, OPEN, indent);
            } else {
                self.line(indent + 2);
                self.tree(&l.value, OPEN, indent + 2);
            }
        }
        self.line(indent);
        let result = match result {
            Tree::Noted(notes, result) => {
                self.notes(notes, indent);
                result
            }
            result => result,
        };
        self.text("in ");
        self.tree(result, OPEN, indent + 3);
    }
}

/// An expression on what is left of a line, if there is room.
struct Flat<'o> {
    out: &'o mut String,
    room: usize,
}

impl Flat<'_> {
    fn text(&mut self, text: &str) -> Option<()> {
        self.room = self.room.checked_sub(text.chars().count())?;
        self.out.push_str(text);
        Some(())
    }

    fn separated(&mut self, parts: &[Tree], wanted: Tightness) -> Option<()> {
        for (k, p) in parts.iter().enumerate() {
            if k > 0 {
                self.text(", ")?;
            }
            self.tree(p, wanted)?;
        }
        Some(())
    }

    fn tree(&mut self, t: &Tree, wanted: Tightness) -> Option<()> {
        if t.tightness() < wanted {
            self.text("(")?;
            self.tree(t, OPEN)?;
            return self.text(")");
        }
        match t {
            Tree::Name(text) => self.text(text),
            Tree::Unary(op, a) => {
                self.text(&op.to_string())?;
                self.tree(a, ATOM)
            }
            Tree::Call(f, args) => {
                self.text(f)?;
                for a in args {
                    self.text(" ")?;
                    self.tree(a, ATOM)?;
                }
                Some(())
            }
            Tree::Infix(op, a, b) => {
                let (left, right) = Tree::operands(op);
                self.tree(a, left)?;
                self.text(&format!(" {op} "))?;
                self.tree(b, right)
            }
            Tree::If(c, a, b) => {
                self.text("if ")?;
                self.tree(c, 1)?;
                self.text(" then ")?;
                self.tree(a, 1)?;
                self.text(" else ")?;
                self.tree(b, if matches!(**b, Tree::If(..)) { OPEN } else { 1 })
            }
            Tree::Lambda(params, body) => {
                self.text(&format!("\\{} -> ", params.join(" ")))?;
                self.tree(body, Tree::under_arrow(body))
            }
            Tree::Block(..) | Tree::Loop { .. } | Tree::Noted(..) => None,
            Tree::Index(array, places) => {
                self.tree(array, ATOM)?;
                self.text("[")?;
                for (k, p) in places.iter().enumerate() {
                    if k > 0 {
                        self.text(", ")?;
                    }
                    match p {
                        Place::At(x) => self.tree(x, 1)?,
                        Place::Slice(x, y) => {
                            self.tree(x, 1)?;
                            self.text(":")?;
                            self.tree(y, 1)?;
                        }
                    }
                }
                self.text("]")
            }
            Tree::Tuple(parts) => {
                self.text("(")?;
                self.separated(parts, OPEN)?;
                self.text(")")
            }
            Tree::Array(parts) => {
                self.text("[")?;
                self.separated(parts, OPEN)?;
                self.text("]")
            }
            Tree::Coerce(a, ty) => {
                self.tree(a, 1)?;
                self.text(&format!(" :> {ty}"))
            }
            Tree::With(a, at, b) => {
                self.tree(a, ATOM)?;
                self.text(" with [")?;
                self.separated(at, 1)?;
                self.text("] = ")?;
                self.tree(b, 1)
            }
        }
    }
}

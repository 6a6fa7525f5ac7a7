//! Documents: s-expressions before their line breaks are known, and how they are broken.
//!
//! A list that fits in what is left of the line stays on it. One that does not keeps its first parts
//! (the keyword, the name, the parameters) on the line and puts the others below, indented; a long
//! array of scalars is filled line by line.

/// The width of a line, in characters.
const WIDTH: usize = 100;
/// Lines are indented no further than this, so that deep programs stay linear in size.
const MAX_INDENT: usize = 48;

#[derive(Clone, Debug)]
pub enum Doc {
    Text(String),
    List(List),
}

#[derive(Clone, Debug)]
pub struct List {
    /// `(`, `[`, `f{`, or nothing, of parts that belong together.
    open: String,
    close: &'static str,
    items: Vec<Doc>,
    style: Style,
    /// In characters, on one line.
    width: usize,
}

/// How a list that does not fit is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// The first parts stay on the line, as many as are given here; each other has a line of its own.
    Head(usize),
    /// Each part has a line of its own, the first beside the bracket.
    Column,
    /// As many parts on each line as fit.
    Fill,
}

pub fn text(s: impl Into<String>) -> Doc {
    Doc::Text(s.into())
}

fn list(open: impl Into<String>, close: &'static str, style: Style, items: Vec<Doc>) -> Doc {
    let open = open.into();
    let spaces = items.len().saturating_sub(1);
    let width = open.chars().count() + close.len() + spaces + items.iter().map(Doc::width).sum::<usize>();
    Doc::List(List { open, close, items, style, width })
}

/// `(a b …)`, the first `head` parts together.
pub fn parens(head: usize, items: Vec<Doc>) -> Doc {
    list("(", ")", Style::Head(head), items)
}

/// `(a b …)`, each part below the one before.
pub fn column(items: Vec<Doc>) -> Doc {
    list("(", ")", Style::Column, items)
}

/// `a b …`, which are not parted.
pub fn together(items: Vec<Doc>) -> Doc {
    list("", "", Style::Head(usize::MAX), items)
}

/// `[a b …]`
pub fn brackets(style: Style, items: Vec<Doc>) -> Doc {
    list("[", "]", style, items)
}

/// `head{a … | b …}`
pub fn braces(head: &str, before: Vec<Doc>, after: Vec<Doc>) -> Doc {
    let mut items = before;
    items.push(text("|"));
    items.extend(after);
    list(format!("{head}{{"), "}", Style::Fill, items)
}

impl Doc {
    fn width(&self) -> usize {
        match self {
            Doc::Text(s) => s.chars().count(),
            Doc::List(l) => l.width,
        }
    }

    /// The text, without a line end.
    pub fn render(&self) -> String {
        let mut w = Writer { out: String::new(), column: 0 };
        w.doc(self, 0, 0);
        w.out
    }
}

struct Writer {
    out: String,
    /// Characters in the current line.
    column: usize,
}

impl Writer {
    fn put(&mut self, s: &str) {
        self.out.push_str(s);
        self.column += s.chars().count();
    }

    fn line(&mut self, indent: usize) {
        let indent = indent.min(MAX_INDENT);
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    fn fits(&self, doc: &Doc, closing: usize) -> bool {
        self.column + doc.width() + closing <= WIDTH
    }

    fn flat(&mut self, doc: &Doc) {
        match doc {
            Doc::Text(s) => self.put(s),
            Doc::List(l) => {
                self.put(&l.open);
                for (i, item) in l.items.iter().enumerate() {
                    if i > 0 {
                        self.put(" ");
                    }
                    self.flat(item);
                }
                self.put(l.close);
            }
        }
    }

    /// `closing`: how many brackets must fit on the same line after it. `indent`: of the line that the
    /// enclosing list begins on.
    fn doc(&mut self, doc: &Doc, indent: usize, closing: usize) {
        let l = match doc {
            Doc::List(l) if !self.fits(doc, closing) => l,
            _ => return self.flat(doc),
        };
        let start = self.column;
        self.put(&l.open);
        // Parts line up after the bracket, unless that is too far to the right.
        let aligned = if start + l.open.chars().count() <= MAX_INDENT { self.column } else { indent + 2 };
        let below = match l.style {
            Style::Head(_) if start <= MAX_INDENT => start + 2,
            Style::Head(_) => indent + 2,
            Style::Column | Style::Fill => aligned,
        };
        for (i, item) in l.items.iter().enumerate() {
            let closing = if i + 1 == l.items.len() { closing + l.close.len() } else { 0 };
            let too_wide = self.column + 1 + item.width() + closing > WIDTH;
            let (breaks, at) = match l.style {
                _ if i == 0 => (false, below),
                // A type or a list of names that does not fit stands out from the body below it.
                Style::Head(n) if i < n => {
                    (i > 1 && too_wide && below + 2 + item.width() + closing <= WIDTH, below + 2)
                }
                Style::Head(_) | Style::Column => (true, below),
                Style::Fill => (too_wide, below),
            };
            if breaks {
                self.line(at);
            } else if i > 0 {
                self.put(" ");
            }
            self.doc(item, below, closing);
        }
        self.put(l.close);
    }
}

//! The lines of the result, and the comments at their ends.
//!
//! Comments at the ends of lines begin in the column in which they began, if there is room: two spaces behind the longest
//! of the lines whose comments began in one column, with no empty line between. Otherwise, and where the line before a
//! comment has become another, that is where they begin.

/// Between code and the comment behind it.
const GAP: usize = 2;

/// A line without its end. What has line ends of its own, a string or a comment, is part of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line<'t> {
    pub text: String,
    /// The width of what stands behind the last line end in it.
    width: usize,
    trailing: Option<Trailing<'t>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Trailing<'t> {
    pub text: &'t str,
    /// In which column it began.
    pub column: u32,
    /// It ends the line that it ended.
    pub stays: bool,
}

/// Where something ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Mark {
    line: usize,
    byte: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Lines<'t> {
    done: Vec<Line<'t>>,
    line: Line<'t>,
    /// Line ends so far, those within strings too.
    ends: usize,
    /// The ends of the forms at the top.
    pub marks: Vec<Mark>,
    crlf: bool,
    bom: bool,
}

impl<'t> Lines<'t> {
    /// `crlf`: how lines end; `bom`: the text begins with a byte order mark.
    pub fn new(crlf: bool, bom: bool) -> Lines<'t> {
        Lines { crlf, bom, ..Lines::default() }
    }

    /// How many characters the line has so far.
    pub fn column(&self) -> usize {
        self.line.width
    }

    /// The number of the line.
    pub fn number(&self) -> usize {
        self.ends
    }

    /// Nothing has been written at all.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.line.text.is_empty() && self.line.trailing.is_none()
    }

    /// Nothing is on the line.
    pub fn is_fresh(&self) -> bool {
        self.line.text.is_empty()
    }

    /// Nothing but spaces is on the line.
    pub fn is_blank(&self) -> bool {
        self.line.text.len() == self.line.width && self.line.text.bytes().all(|b| b == b' ')
    }

    /// Begins a line, behind an empty one if `blank`.
    pub fn begin(&mut self, indent: usize, blank: bool) {
        if !self.is_empty() {
            self.done.push(std::mem::take(&mut self.line));
            self.ends += 1;
            if blank {
                self.done.push(Line::default());
                self.ends += 1;
            }
        }
        self.space(indent);
    }

    pub fn space(&mut self, n: usize) {
        self.line.text.extend(std::iter::repeat_n(' ', n));
        self.line.width += n;
    }

    pub fn push(&mut self, text: &str, width: u32) {
        self.line.text.push_str(text);
        match text.rfind('\n') {
            None => self.line.width += width as usize,
            Some(last) => {
                self.line.width = text[last + 1..].chars().count();
                self.ends += text.bytes().filter(|b| *b == b'\n').count();
            }
        }
    }

    /// A comment behind the line, which ends it.
    pub fn trail(&mut self, comment: Trailing<'t>) {
        self.line.trailing = Some(comment);
    }

    /// The comment behind the line.
    pub fn trailing(&self) -> Option<Trailing<'t>> {
        self.line.trailing
    }

    /// A form at the top ends here.
    pub fn mark(&mut self) {
        self.marks.push(Mark { line: self.done.len(), byte: self.line.text.len() });
    }

    pub fn join(self) -> String {
        self.join_marked().0
    }

    /// The text, and where in it the marks are.
    pub fn join_marked(mut self) -> (String, Vec<usize>) {
        if !self.is_empty() {
            self.done.push(std::mem::take(&mut self.line));
        }
        let columns = columns(&self.done);
        let mut out = String::new();
        if self.bom {
            out.push('\u{feff}');
        }
        let mut marks = self.marks.iter().peekable();
        let mut at = Vec::with_capacity(self.marks.len());
        for (i, (line, column)) in self.done.iter().zip(columns).enumerate() {
            while let Some(mark) = marks.next_if(|m| m.line == i) {
                at.push(out.len() + mark.byte);
            }
            out.push_str(&line.text);
            if let Some(trailing) = &line.trailing {
                out.extend(std::iter::repeat_n(' ', column - line.width));
                out.push_str(trailing.text);
            }
            out.push_str(if self.crlf { "\r\n" } else { "\n" });
        }
        (out, at)
    }
}

/// For each line, the column of the comment behind it.
fn columns(lines: &[Line<'_>]) -> Vec<usize> {
    let mut columns = vec![0; lines.len()];
    let mut group: Vec<usize> = vec![];
    let mut align = |group: &mut Vec<usize>| {
        let least = |i: &usize| {
            let trailing = lines[*i].trailing.filter(|t| t.stays).map_or(0, |t| t.column as usize);
            trailing.max(lines[*i].width + GAP)
        };
        let column = group.iter().map(least).max().unwrap_or(0);
        for i in group.drain(..) {
            columns[i] = column;
        }
    };
    for (i, line) in lines.iter().enumerate() {
        let first = group.first().and_then(|i| lines[*i].trailing);
        match line.trailing {
            Some(t) => {
                if first.is_some_and(|first| first.column != t.column) {
                    align(&mut group);
                }
                group.push(i);
            }
            None if line.text.is_empty() => align(&mut group),
            None => {}
        }
    }
    align(&mut group);
    columns
}

//! Text cut into tokens, as mutation needs it.
//!
//! The cut is crude on purpose and independent of the reader, which is what is being tested: brackets,
//! strings, comments, and runs of anything else. Joining the tokens gives the text back up to white
//! space; whether a token touched the one before it is kept, as `f{…}` is not `f {…}`.

use std::ops::Range;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub text: String,
    /// No white space before it.
    pub glued: bool,
}

impl Token {
    pub fn new(text: impl Into<String>) -> Token {
        Token { text: text.into(), glued: false }
    }

    pub fn opens(&self) -> bool {
        matches!(self.text.as_str(), "(" | "[" | "{")
    }

    pub fn closes(&self) -> bool {
        matches!(self.text.as_str(), ")" | "]" | "}")
    }
}

pub fn split(text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = vec![];
    let mut rest = text;
    let mut glued = false;
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
            glued = false;
            continue;
        }
        let len = match c {
            '(' | ')' | '[' | ']' | '{' | '}' | '~' => 1,
            ';' => rest.find('\n').unwrap_or(rest.len()),
            '"' => string_length(rest),
            _ if rest.starts_with("#\\") => {
                // The character itself may be a delimiter.
                let first = rest[2..].chars().next().map_or(0, char::len_utf8);
                2 + first + run_length(&rest[2 + first..])
            }
            _ => run_length(rest).max(c.len_utf8()),
        };
        let (token, tail) = rest.split_at(len);
        // A comment keeps the line end that ends it.
        let text = if c == ';' { format!("{token}\n") } else { token.to_owned() };
        out.push(Token { text, glued });
        rest = tail;
        glued = true;
    }
    out
}

fn string_length(s: &str) -> usize {
    let mut escaped = false;
    for (i, c) in s.char_indices().skip(1) {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return i + 1,
            _ => escaped = false,
        }
    }
    s.len()
}

fn run_length(s: &str) -> usize {
    s.find(|c: char| c.is_whitespace() || "()[]{}\";".contains(c)).unwrap_or(s.len())
}

pub fn join(tokens: &[Token]) -> String {
    let mut out = String::new();
    for (i, t) in tokens.iter().enumerate() {
        if i > 0 && !t.glued {
            out.push(' ');
        }
        out.push_str(&t.text);
    }
    out
}

/// The s-expressions: each atom, and each bracket with what it holds. Brackets without a partner are
/// none.
pub fn groups(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut out = vec![];
    let mut open = vec![];
    for (i, t) in tokens.iter().enumerate() {
        if t.opens() {
            open.push(i);
        } else if t.closes() {
            if let Some(start) = open.pop() {
                out.push(start..i + 1);
            }
        } else {
            out.push(i..i + 1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_gives_the_text_back() {
        for text in ["(f{int | [] 3} \"a ; b\" [1 2]) ; end\n", "~(0 1)+ #\\( #\\space (x)", "\"open", "a;b"]
        {
            let tokens = split(text);
            let again = split(&join(&tokens));
            assert_eq!(tokens, again, "{text}");
        }
        assert_eq!(join(&split("(f{int | [] 3}  [1 2])")), "(f{int | [] 3} [1 2])");
        assert_eq!(split("#\\( x")[0].text, "#\\(");
    }

    #[test]
    fn groups_are_the_expressions() {
        let tokens = split("(a [b]) )");
        assert_eq!(groups(&tokens), [1..2, 3..4, 2..5, 0..6]);
    }
}

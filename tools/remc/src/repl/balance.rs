//! Whether what was typed is whole: a form goes on in the next line as long as brackets or a comment are open.

use remc_syntax::token::{Bracket, TokenKind, TriviaKind};

/// Whether more lines are awaited behind these, of which the last has no end. What can no longer become right is whole: its
/// error is said at once. Comments alone are those of what comes next, until there is an empty line.
pub fn is_open(text: &str) -> bool {
    let read = remc_syntax::tokens(text);
    let mut open: Vec<Bracket> = Vec::new();
    let mut last = None;
    for token in &read.tokens {
        match &token.kind {
            TokenKind::Open(bracket) => open.push(*bracket),
            TokenKind::Close(bracket) if open.pop() != Some(*bracket) => return false,
            TokenKind::End => break,
            _ => {}
        }
        last = Some(&token.kind);
    }
    let comment = read.trivia.last().filter(|t| t.kind == TriviaKind::BlockComment);
    let unended =
        comment.is_some_and(|t| t.end as usize == text.len() && !is_ended(&text[t.start as usize..]));
    let line = text.rsplit('\n').next().unwrap_or_default();
    let above = last.is_none() && !line.trim().is_empty();
    // What `#;` leaves out has not come yet.
    !open.is_empty() || unended || above || last == Some(&TokenKind::DatumComment)
}

/// Whether a block comment is closed as often as it is opened.
fn is_ended(comment: &str) -> bool {
    let mut depth = 0i64;
    let mut rest = comment;
    while let Some(at) = rest.find(['#', '|']) {
        let here = &rest[at..];
        let (step, length) = match () {
            () if here.starts_with("#|") => (1, 2),
            () if here.starts_with("|#") => (-1, 2),
            () => (0, 1),
        };
        depth += step;
        rest = &here[length..];
    }
    depth <= 0
}

#[cfg(test)]
mod tests {
    use super::is_open;

    #[test]
    fn whole_and_open() {
        for whole in [
            "",
            " ",
            "5",
            "(+ 1 2)",
            "(f]",
            ")",
            "[1 2] ; (",
            "\"a(\"",
            "#\\( 1",
            "#| ( |# 1",
            "\"a",
            "#; (a) 2",
            "; a\n",
        ] {
            assert!(!is_open(whole), "{whole}");
        }
        for open in [
            "(", "(+ 1", "[1 [2]", "f{int |", "(\"a)", "#| a", "#| #| |#", "1 #;", "(f ; )", "; a",
            "; a\n; b", "(f\n\n",
        ] {
            assert!(is_open(open), "{open}");
        }
    }
}

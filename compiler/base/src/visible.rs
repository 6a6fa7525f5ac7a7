//! Text that comes from elsewhere, made safe to show: a file's name, a string of a program, a member of an archive.
//!
//! A terminal acts on control characters, and marks of direction make a text read otherwise than it is. Where such
//! text stands in a message they are escaped, so that what is shown is what is there.

use std::borrow::Cow;

/// Whether a character cannot be seen, and changes what is seen around it: a control character, a mark of
/// direction, an end of a line, or one of those that a reader takes for nothing. What joins letters (U+200C, U+200D) is
/// part of how words are written.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text on one line, with `\n`, `\t`, `\r` and `\u{1b}` for what would not be seen.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// … on as many lines as it has.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |c: char| is_hidden(c) && !kept(c);
    if !text.contains(is_escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => out.push(c),
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c => out.extend(c.escape_unicode()),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_not_be_seen() {
        assert!(matches!(visible("a b λ 宽 \\ \"x\" می\u{200c}خواهم"), Cow::Borrowed(_)));
        assert_eq!(visible("a\n\tb\r\u{1b}[31m\u{9b}K"), "a\\n\\tb\\r\\u{1b}[31m\\u{9b}K");
        assert_eq!(
            visible("x\u{202e}vc.y\u{200e}\u{61c}\u{2066}"),
            "x\\u{202e}vc.y\\u{200e}\\u{61c}\\u{2066}"
        );
        assert_eq!(visible_lines("one\ntwo\u{7f}\r\n"), "one\ntwo\\u{7f}\\r\n");
    }
}

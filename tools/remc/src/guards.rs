//! Guards that guard nothing: `and`, `or` and `select` compute all of their arguments, whatever the first one says.
//!
//! Who comes from a language where `and` stops at the first `#f` writes `(and (< i n) (= 0 (index-item xs i)))`, and the
//! program stops at the index. So where it stops behind the first argument of such a call, the help says what guards.

/// The help for a stop at this byte of a text, if it is an argument of `and`, `or` or `select` behind the first one.
pub fn help(text: &str, at: usize) -> Option<&'static str> {
    let calls = around(text, at)?;
    calls.iter().rev().find_map(|(head, before)| match (*head, *before > 0) {
        ("and", true) => {
            Some("`and` computes all that it is given: `(if a b #f)` computes `b` only where `a` is true")
        }
        ("or", true) => {
            Some("`or` computes all that it is given: `(if a #t b)` computes `b` only where `a` is false")
        }
        ("select", true) => Some("`select` computes both values: `(if c x y)` only the one that is chosen"),
        _ => None,
    })
}

/// The calls around a byte, from the outermost in: what each begins with, and how many arguments are complete before it.
fn around(text: &str, at: usize) -> Option<Vec<(&str, usize)>> {
    let bytes = text.as_bytes();
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut k = 0;
    while k < at {
        let rest = text.get(k..)?;
        let length = match bytes[k] {
            b';' => rest.find('\n').unwrap_or(rest.len()),
            b'#' if rest.starts_with("#|") => block(rest),
            b'"' => {
                if let Some(last) = open.last_mut() {
                    last.1 += 1;
                }
                string(rest)
            }
            b'(' | b'[' | b'{' => {
                open.push(("", 0));
                1
            }
            b')' | b']' | b'}' => {
                open.pop();
                if let Some(last) = open.last_mut() {
                    last.1 += 1;
                }
                1
            }
            c if c.is_ascii_whitespace() => 1,
            _ => {
                let length = word(rest);
                if let Some(last) = open.last_mut() {
                    match last {
                        (head @ "", 0) => *head = &rest[..length],
                        (_, before) => *before += 1,
                    }
                }
                length
            }
        };
        k += length.max(1);
    }
    Some(open)
}

/// How long the comment `#| … |#` is that a text begins with; there may be others in it.
fn block(text: &str) -> usize {
    let (mut depth, mut k) = (0usize, 0);
    while let Some(rest) = text.get(k..).filter(|rest| !rest.is_empty()) {
        match &rest.as_bytes()[..rest.len().min(2)] {
            b"#|" => (depth, k) = (depth + 1, k + 2),
            b"|#" => {
                (depth, k) = (depth - 1, k + 2);
                if depth == 0 {
                    return k;
                }
            }
            _ => k += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    text.len()
}

/// How long the string is that a text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(k, _)| k + 1)
}

/// How long the word is that a text begins with; a character as `#\(` is one.
fn word(text: &str) -> usize {
    let character = |rest: &str| 2 + rest.chars().next().map_or(0, char::len_utf8);
    let from = text.strip_prefix("#\\").map_or(0, character);
    let ends = |c: char| c.is_whitespace() || "()[]{}\";".contains(c);
    text[from..].find(ends).map_or(text.len(), |k| from + k)
}

#[cfg(test)]
mod tests {
    use super::help;

    /// The help at the first `!`.
    fn at_mark(text: &str) -> Option<&'static str> {
        help(text, text.find('!').expect("a mark"))
    }

    #[test]
    fn what_is_behind_a_guard_is_computed_all_the_same() {
        for text in ["(and a !)", "(and (< i n) (= 0 (f xs !)))", "(or #\\( (g !))", "(f (select \")\" 1 !))"]
        {
            assert!(at_mark(text).is_some(), "{text}");
        }
        assert!(at_mark("(or a !)").is_some_and(|h| h.contains("(if a #t b)")));
    }

    #[test]
    fn the_first_argument_and_what_is_around_guard_nothing() {
        for text in [
            "(and (f !) b)",
            "(f a !)",
            "(and a b) (f !)",
            "(if a ! b) ; (and a",
            "(and ; (or a\n !)",
            "#| (and a |# (f !)",
        ] {
            assert_eq!(at_mark(text), None, "{text}");
        }
    }
}

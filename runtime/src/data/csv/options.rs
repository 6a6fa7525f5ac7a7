//! What is said of a table after its file's name: `FILE.csv:header:sep=;:na=NA`.
//!
//! ```text
//! options = option (":" option)*
//! option  = header | noheader | sep=C | decimal=C | comment=C | skip=N | na=TEXT | columns=NAME,…
//! ```
//!
//! `C` is one character, or a word for one. A text with a colon or a comma in it stands in double quotes.

/// How a table is written, and what of it is wanted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Whether the first line names the columns; where it is not said, the line itself decides.
    pub header: Option<bool>,
    pub separator: Option<Separator>,
    /// What stands for the point in numbers.
    pub decimal: Option<u8>,
    /// The rest of a line from there on is no data.
    pub comment: Option<u8>,
    /// How many lines to leave out at the beginning.
    pub skip: u64,
    /// What stands for a number that is missing.
    pub missing: Vec<String>,
    /// Which columns, in which order; all, if none.
    pub columns: Vec<String>,
    /// How many lines were before these, for messages.
    pub before: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separator {
    Byte(u8),
    /// One or more blanks.
    Blanks,
}

/// The options, for a message.
pub const ALL: &str = "header, noheader, sep=;, decimal=,, comment=#, skip=2, na=NA, columns=low,high";

/// The names of those that have a value.
const VALUED: [&str; 6] = ["sep", "decimal", "comment", "skip", "na", "columns"];

/// Whether a text begins as options do.
pub fn are_meant(text: &str) -> bool {
    let name = text.split([':', '=']).next().unwrap_or_default();
    matches!(name, "header" | "noheader") && !text[name.len()..].starts_with('=')
        || VALUED.contains(&name) && text[name.len()..].starts_with('=')
}

/// Reads the options. The error says what is wrong with one.
pub fn parse(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = Some(text);
    let mut seen: Vec<&str> = Vec::new();
    while let Some(text) = rest {
        let (option, after) = first(text)?;
        rest = after;
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let topic = if name == "noheader" { "header" } else { name };
        if topic != "na" && seen.contains(&topic) {
            return Err(format!("`:{topic}` is said twice"));
        }
        seen.push(topic);
        match (name, value) {
            ("header", None) => options.header = Some(true),
            ("noheader", None) => options.header = Some(false),
            ("sep", Some(c)) => options.separator = Some(separator(c)?),
            ("decimal", Some(c)) => {
                options.decimal = match c {
                    "." | "," => Some(c.as_bytes()[0]),
                    _ => return Err(format!("`:decimal={c}`: a decimal point is `.` or `,`")),
                }
            }
            ("comment", Some(c)) => {
                options.comment = match c.as_bytes() {
                    [b] if b.is_ascii_punctuation() && !b"\"-+.".contains(b) => Some(*b),
                    _ => return Err(format!("`:comment={c}`: write one sign, as in `:comment=#`")),
                }
            }
            ("skip", Some(n)) => {
                options.skip = n
                    .parse()
                    .map_err(|_| format!("`:skip={n}`: write how many lines to leave out, as in `:skip=2`"))?
            }
            ("na", Some(text)) => options.missing.push(unquoted(text).trim().to_owned()),
            ("columns", Some(list)) => options.columns = columns(list)?,
            _ if VALUED.contains(&name) => return Err(format!("`:{name}` wants a value: `:{name}=…`")),
            _ => return Err(format!("`:{option}` is no option of a table")),
        }
    }
    let comma = Separator::Byte(b',');
    if options.decimal == Some(b',') && options.separator.unwrap_or(comma) == comma {
        return Err("`:decimal=,` where the comma separates fields: say what does, as in `:sep=;`".into());
    }
    if let (Some(c), Some(Separator::Byte(s))) = (options.comment, options.separator)
        && c == s
    {
        return Err(format!("`{}` cannot both separate fields and begin a comment", c as char));
    }
    Ok(options)
}

/// The first option, and the text behind the colon after it. A colon in quotes, or one that is a value itself, is not
/// that colon.
fn first(text: &str) -> Result<(&str, Option<&str>), String> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ':' if !quoted => {
                let alone = ["sep=", "comment="].contains(&&text[..at]);
                if !(alone && (text.len() == at + 1 || text[at + 1..].starts_with(':'))) {
                    return Ok((&text[..at], Some(&text[at + 1..])));
                }
            }
            _ => {}
        }
    }
    // A quote that is a value itself is refused as such.
    match quoted && !["sep=\"", "comment=\""].contains(&text) {
        true => Err(format!("`{text}`: a quote is not closed")),
        false => Ok((text, None)),
    }
}

fn separator(text: &str) -> Result<Separator, String> {
    let wrong = || {
        Err(format!(
            "`:sep={text}`: write one character that no number has, as in `:sep=;`, or tab, space, comma, semicolon, \
             colon or bar"
        ))
    };
    Ok(match text {
        "space" | "spaces" | " " => Separator::Blanks,
        "tab" | "\\t" => Separator::Byte(b'\t'),
        "comma" => Separator::Byte(b','),
        "semicolon" => Separator::Byte(b';'),
        "colon" => Separator::Byte(b':'),
        "bar" | "pipe" => Separator::Byte(b'|'),
        _ => match text.as_bytes() {
            [b] if (b.is_ascii_punctuation() || *b == b'\t') && !b"\"-+.".contains(b) => Separator::Byte(*b),
            _ => return wrong(),
        },
    })
}

/// Names or numbers of columns, separated by commas; `2-4` are three of them.
fn columns(list: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted || at == list.len() => {
                let name = unquoted(list[start..at].trim());
                if name.is_empty() {
                    return Err(format!(
                        "`:columns={list}`: write names or numbers of columns, as in `:columns=low,high` or `:columns=2,3`"
                    ));
                }
                all.push(name.to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    Ok(all)
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_options() {
        let all = parse("header:sep=;:decimal=,:comment=#:skip=2:na=NA:na=n/a:columns=low,high").unwrap();
        let expected = Options {
            header: Some(true),
            separator: Some(Separator::Byte(b';')),
            decimal: Some(b','),
            comment: Some(b'#'),
            skip: 2,
            missing: vec!["NA".into(), "n/a".into()],
            columns: vec!["low".into(), "high".into()],
            before: 0,
        };
        assert_eq!(all, expected);
        assert_eq!(parse("noheader").unwrap().header, Some(false));
        let separator = |text: &str| parse(text).map(|o| o.separator);
        assert_eq!(separator("sep=space:skip=1"), Ok(Some(Separator::Blanks)));
        assert_eq!(separator("sep= "), Ok(Some(Separator::Blanks)));
        assert_eq!(separator("sep=\\t"), Ok(Some(Separator::Byte(b'\t'))));
        assert_eq!(separator("sep=::header"), Ok(Some(Separator::Byte(b':'))));
        assert_eq!(separator("sep=:"), Ok(Some(Separator::Byte(b':'))));
        let columns = parse("columns=\"a, b\",2-4,\"c:d\":na=\"12:30\"").unwrap();
        assert_eq!(columns.columns, ["a, b", "2-4", "c:d"]);
        assert_eq!(columns.missing, ["12:30"]);
        // The empty field is missing.
        assert_eq!(parse("na=").unwrap().missing, [""]);
    }

    #[test]
    fn wrong_options() {
        for (text, says) in [
            ("header:noheader", "`:header` is said twice"),
            ("header:heder", "`:heder` is no option of a table"),
            ("header=yes", "`:header=yes` is no option of a table"),
            ("sep=ab", "`:sep=ab`: write one character that no number has"),
            ("sep=e", "`:sep=e`: write one"),
            ("sep=.", "`:sep=.`: write one"),
            ("sep=\"", "`:sep=\"`: write one"),
            ("sep", "`:sep` wants a value: `:sep=…`"),
            ("sep=,:decimal=,", "`:decimal=,` where the comma separates fields"),
            ("decimal=,", "`:decimal=,` where the comma separates fields"),
            ("sep=;:decimal=;", "a decimal point is `.` or `,`"),
            ("sep=;:comment=;", "`;` cannot both separate fields and begin a comment"),
            ("skip=-1", "write how many lines to leave out"),
            ("columns=", "write names or numbers of columns"),
            ("columns=a,,b", "write names or numbers of columns"),
            ("columns=\"a:b", "a quote is not closed"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.contains(says), "{text}: {found}");
        }
        assert!(
            are_meant("header") && are_meant("na=") && are_meant("skip=2:header") && are_meant("header:x")
        );
        assert!(!are_meant("xs") && !are_meant("skip") && !are_meant("f32[_]") && !are_meant("header=1"));
    }
}

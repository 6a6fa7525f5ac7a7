//! One field: what it is read as, and what to say where it is not that.

use super::super::Help;
use super::options::{Options, Separator};
use half::f16;
use remc_base::{BaseTy, Scalar};

/// What often stands where a number is missing.
const MISSING: [&str; 14] =
    ["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing", "*"];

/// A field as a scalar of this type; the error says what it is instead.
pub fn scalar(field: &[u8], ty: BaseTy, options: &Options) -> Result<Scalar, String> {
    let field = field.trim_ascii();
    let is_no = |remedy: &str| Err(format!("`{}` is not of type {ty}{remedy}", shown(field)));
    let Ok(text) = std::str::from_utf8(field) else { return is_no("") };
    if options.missing.iter().any(|m| m == text) {
        return match Scalar::from_float(ty, f64::NAN) {
            Some(nan) => Ok(nan),
            None => Err(format!(
                "{} stands for a missing number, and {ty} has no value for that, as floats have nan",
                if text.is_empty() { "the empty field".to_owned() } else { format!("`{}`", shown(field)) }
            )),
        };
    }
    if field.is_empty() {
        return Err(format!("the field is empty, and each has to hold a value of type {ty}"));
    }
    if ty == BaseTy::Bool {
        return boolean(field).map_or_else(|| is_no(": write true or false"), |b| Ok(Scalar::Bool(b)));
    }
    if let Some((least, greatest)) = ty.integer_range() {
        return match text.parse::<i128>() {
            Ok(n) if (least..=greatest).contains(&n) => {
                Scalar::from_integer(ty, n).map_or_else(|| is_no(""), Ok)
            }
            Ok(_) => Err(format!("`{text}` does not fit {ty}, which holds {least} to {greatest}")),
            Err(_) => is_no(""),
        };
    }
    let pointed;
    let text = if options.decimal == Some(b',') && text.contains([',', '.']) {
        // With a comma for the point, a point is none.
        pointed = text.replace('.', "?").replace(',', ".");
        pointed.as_str()
    } else {
        text
    };
    let parsed = match ty {
        BaseTy::F16 => text.parse().map(|x: f64| Scalar::F16(f16::from_f64(x))),
        BaseTy::F32 => text.parse().map(Scalar::F32),
        _ => text.parse().map(Scalar::F64),
    };
    match parsed {
        // `inf` and `infinity` are numbers; what only becomes infinite is past all of them.
        Ok(s) if s.as_float().is_some_and(f64::is_infinite) && !text.to_ascii_lowercase().contains('n') => {
            Err(format!("`{text}` is past the largest {ty}"))
        }
        Ok(s) => Ok(s),
        Err(_) => is_no(""),
    }
}

fn boolean(field: &[u8]) -> Option<bool> {
    match field.to_ascii_lowercase().as_slice() {
        b"true" | b"#t" | b"1" => Some(true),
        b"false" | b"#f" | b"0" => Some(false),
        _ => None,
    }
}

/// Whether a field can name a column: it begins with a letter, and is no number, truth value, date or time, nor what
/// stands for a missing number.
pub fn names(field: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(field) else { return false };
    let lower = text.to_lowercase();
    let word = text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    word && !MISSING.contains(&lower.as_str())
        && !matches!(lower.as_str(), "true" | "false")
        && text.parse::<f64>().is_err()
        && !is_date(&lower)
}

/// Whether a text begins with the name of a month or day, short or long, and goes on in numbers, or is a time behind a
/// `t`: `jan 5`, `mon, 12:30`, `sept-2020`, `t12:30`.
fn is_date(lower: &str) -> bool {
    const NAMES: [&str; 19] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let digits = |rest: &str| rest.contains(|c: char| c.is_ascii_digit());
    let numbers = |c: char| c.is_ascii_digit() || c.is_whitespace() || "-/.,:".contains(c);
    let (word, rest) = lower.split_at(lower.find(|c: char| !c.is_alphabetic()).unwrap_or(lower.len()));
    let named = word.len() > 2
        && NAMES.iter().any(|n| n.starts_with(word))
        && !rest.starts_with(|c: char| c.is_ascii_digit());
    (named || word == "t" && rest.contains(':')) && digits(rest) && rest.chars().all(numbers)
}

/// What a field's surroundings are, for what may help.
#[derive(Clone, Copy)]
pub struct Around<'o> {
    pub options: &'o Options,
    pub separator: Separator,
    /// Whether it is all that its line holds.
    pub alone: bool,
    /// Whether no line before it was data, and whether it was a header.
    pub first: bool,
    pub headed: bool,
}

/// What may help where a field is not of this type.
pub fn help(field: &[u8], ty: BaseTy, around: Around<'_>) -> Vec<Help> {
    let field = field.trim_ascii();
    let text = String::from_utf8_lossy(field);
    let lower = text.to_lowercase();
    let Around { options, separator, .. } = around;
    if around.first
        && (lower.starts_with("<!doctype") || lower.starts_with("<html") || lower.starts_with("<?xml"))
    {
        return vec![Help::Say("it is a page of the web, or XML, and no table".into())];
    }
    if options.comment.is_none() && field.first().is_some_and(|b| b"#%".contains(b)) {
        let sign = field[0] as char;
        return vec![Help::option(format!("comment={sign}"), format!("where `{sign}` begins a comment"))];
    }
    if around.alone
        && let Some(found) = separated(&text, ty, separator)
    {
        return vec![found];
    }
    let is_float = Scalar::from_float(ty, 0.0).is_some();
    if is_float && options.decimal.is_none() && is_number_with_comma(&text) {
        let option = match separator {
            Separator::Byte(b',') => "sep=;:decimal=,",
            _ => "decimal=,",
        };
        return vec![Help::option(option, "where a comma stands for the decimal point")];
    }
    if MISSING.contains(&lower.as_str()) {
        return match is_float {
            true => vec![Help::option(
                format!("na={text}"),
                "where that is a missing number, which is read as nan",
            )],
            false => vec![Help::Say(format!(
                "a missing number is nan in a table of floats; {ty} has no value for it"
            ))],
        };
    }
    if around.first && !around.headed && options.header.is_none() {
        return doubt();
    }
    match names(field) {
        true => vec![Help::Say(
            "`:columns=` takes some of the columns; records take texts too, as in `[(Record (name (Σ (k) [char k])) (low float)) n]`"
                .into(),
        )],
        false => Vec::new(),
    }
}

/// What decides whether a first line is a header.
pub fn doubt() -> Vec<Help> {
    vec![
        Help::option("header", "where the first line names the columns"),
        Help::option("noheader", "where it is data"),
    ]
}

/// The separator that makes several fields of a line that was read as one.
pub fn separated(text: &str, ty: BaseTy, now: Separator) -> Option<Help> {
    let values = |parts: &[&str], options: &Options| {
        parts.iter().all(|p| scalar(p.as_bytes(), ty, options).is_ok())
            || parts.iter().all(|p| names(p.trim().as_bytes()))
    };
    let all = [
        (Separator::Byte(b'\t'), "sep=tab", "tabs separate"),
        (Separator::Byte(b';'), "sep=;", "`;` separates"),
        (Separator::Byte(b'|'), "sep=|", "`|` separates"),
        (Separator::Byte(b','), "sep=comma", "`,` separates"),
        (Separator::Blanks, "sep=space", "spaces separate"),
        (Separator::Byte(b':'), "sep=colon", "`:` separates"),
    ];
    for (separator, option, what) in all {
        let parts: Vec<&str> = match separator {
            Separator::Byte(b) => text.split(b as char).collect(),
            Separator::Blanks => text.split_whitespace().collect(),
        };
        if separator == now || parts.len() < 2 {
            continue;
        }
        let points = Options::default();
        let commas = Options { decimal: Some(b','), ..Options::default() };
        if values(&parts, &points) {
            // Two times and the like are no two numbers.
            if separator == Separator::Byte(b':') && parts.len() < 4 {
                continue;
            }
            return Some(Help::option(option, format!("where {what} the fields")));
        }
        if separator != Separator::Byte(b',') && values(&parts, &commas) {
            let option = format!("{option}:decimal=,");
            return Some(Help::option(
                option,
                format!("where {what} the fields and a comma is the decimal point"),
            ));
        }
    }
    None
}

/// `2,5` and `-0,25`, but not `1,234,567`.
fn is_number_with_comma(text: &str) -> bool {
    text.matches(',').count() == 1 && text.replace(',', ".").parse::<f64>().is_ok()
}

/// A field for a message: short, and without what a terminal would act on.
pub fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let mut out: String = text.chars().take(30).flat_map(char::escape_debug).collect();
    if text.chars().count() > 30 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_name_a_column() {
        for name in [
            "x",
            "low",
            "Temp (C)",
            "λ",
            "x1",
            "day",
            "jan",
            "may",
            "e5x",
            "_id",
            "Monday",
            "true_value",
            "nanotubes",
            "may5",
            "t1",
        ] {
            assert!(names(name.as_bytes()), "{name}");
        }
        for other in [
            "",
            "5",
            "0x10",
            "12:30",
            "2020-01-01",
            "NA",
            "N/A",
            "nan",
            "null",
            "None",
            "inf",
            "Infinity",
            "true",
            "FALSE",
            "#t",
            "5 %",
            "-",
            "?",
            "<!DOCTYPE html>",
            "\"",
            "1,234",
            "Jan 5",
            "jan-2020",
            "Mon, 12:30",
            "Sept. 3",
            "September 2020",
            "T12:30",
            "# x",
            "$5",
        ] {
            assert!(!names(other.as_bytes()), "{other}");
        }
        assert!(!names(b"a\xff"));
    }

    #[test]
    fn scalars() {
        let read = |text: &str, ty, options: &Options| scalar(text.as_bytes(), ty, options);
        let plain = Options::default();
        assert_eq!(read(" 7 ", BaseTy::F32, &plain), Ok(Scalar::F32(7.0)));
        assert_eq!(read("-inf", BaseTy::F64, &plain), Ok(Scalar::F64(f64::NEG_INFINITY)));
        let commas =
            Options { decimal: Some(b','), missing: vec!["NA".into(), String::new()], ..Options::default() };
        assert_eq!(read("-2,5", BaseTy::F64, &commas), Ok(Scalar::F64(-2.5)));
        assert_eq!(read("2.5", BaseTy::F64, &commas), Err("`2.5` is not of type float".into()));
        assert!(read("1.234,5", BaseTy::F64, &commas).is_err());
        assert!(matches!(read("NA", BaseTy::F64, &commas), Ok(Scalar::F64(x)) if x.is_nan()));
        assert!(matches!(read("", BaseTy::F16, &commas), Ok(Scalar::F16(x)) if x.is_nan()));
        assert_eq!(
            read("NA", BaseTy::I64, &commas),
            Err("`NA` stands for a missing number, and int has no value for that, as floats have nan".into())
        );
        assert_eq!(read("na", BaseTy::F64, &commas), Err("`na` is not of type float".into()));
    }
}

//! Literals: what a run of characters means as a number, a character, or an escape in a string.

use crate::ast::{FloatBits, Suffix};
use crate::codes;
use remc_base::{BaseTy, Code, Scalar};
use unicode_normalization::UnicodeNormalization;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Int { value: i128, suffix: Suffix },
    Float { value: FloatBits, suffix: Suffix },
}

/// What is wrong with a literal; the position is the caller's.
#[derive(Clone, PartialEq, Debug)]
pub struct LiteralError {
    pub code: Code,
    pub message: String,
    pub label: String,
    pub help: String,
}

type Result<T> = std::result::Result<T, LiteralError>;

/// Reads a run of non-delimiters as a number; `None` if it is an identifier.
///
/// Identifiers may begin with a digit (`1+`, `2d-conv`), so what looks like a number that went wrong
/// (`1.2.3`, `0xg`, `7i33`) is told apart from them.
pub fn number(run: &str) -> Option<Result<Number>> {
    match run {
        "inf" | "+inf" => return Some(Ok(float(f64::INFINITY, None))),
        "-inf" => return Some(Ok(float(f64::NEG_INFINITY, None))),
        "nan" => return Some(Ok(float(f64::NAN, None))),
        _ => {}
    }
    let (negative, rest) = match run.as_bytes().first()? {
        b'-' => (true, &run[1..]),
        b'+' => (false, &run[1..]),
        _ => (false, run),
    };
    let mut start = rest.bytes();
    match start.next()? {
        b'0'..=b'9' => {}
        b'.' if start.next().is_some_and(|b| b.is_ascii_digit()) => {}
        _ => return None,
    }
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = rest.strip_prefix(prefix) {
            return Some(radix_integer(run, negative, digits, radix));
        }
    }
    let spelled = Spelled::split(rest);
    let suffix = match spelled.suffix {
        "" => None,
        s => match numeric_suffix(s) {
            Some(ty) => Some(ty),
            None if spelled.looks_wrong(rest) => return Some(Err(misspelt(run))),
            None => return None,
        },
    };
    if [spelled.whole, spelled.fraction.unwrap_or(""), spelled.exponent.unwrap_or("")]
        .iter()
        .any(|part| !underscores_fit(part))
    {
        return Some(Err(misspelt(run)));
    }
    let is_float = spelled.fraction.is_some() || spelled.exponent.is_some();
    if !is_float && suffix.is_none_or(|ty| ty.is_integer()) {
        return Some(integer(run, negative, spelled.whole, 10, suffix));
    }
    if let Some(ty) = suffix.filter(|ty| ty.is_integer()) {
        return Some(Err(LiteralError {
            code: codes::BAD_NUMBER,
            message: format!("`{run}` has a point or an exponent, and the suffix of an integer type"),
            label: format!("not a number of type `{ty}`"),
            help: "use a float suffix (`f16`, `f32`, `f64`), or write the integer without point and exponent"
                .into(),
        }));
    }
    let mut text: String = run[..run.len() - spelled.suffix.len()].replace('_', "");
    if text.starts_with('+') {
        text.remove(0);
    }
    Some(decimal(run, &text, suffix))
}

/// A decimal number cut into its parts; `suffix` is whatever is left.
struct Spelled<'a> {
    whole: &'a str,
    fraction: Option<&'a str>,
    exponent: Option<&'a str>,
    suffix: &'a str,
}

impl<'a> Spelled<'a> {
    fn split(text: &'a str) -> Spelled<'a> {
        let digits = |s: &str| s.bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count();
        let (whole, mut rest) = text.split_at(digits(text));
        let mut fraction = None;
        if let Some(after) = rest.strip_prefix('.') {
            let (f, r) = after.split_at(digits(after));
            fraction = Some(f);
            rest = r;
        }
        let mut exponent = None;
        if let Some(after) = rest.strip_prefix(['e', 'E']) {
            let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
            let n = digits(unsigned);
            if n > 0 {
                exponent = Some(&unsigned[..n]);
                rest = &unsigned[n..];
            }
        }
        Spelled { whole, fraction, exponent, suffix: rest }
    }

    /// Whether this, which is no number, was meant to be one.
    fn looks_wrong(&self, text: &str) -> bool {
        if self.fraction.is_some() || self.exponent.is_some() {
            return true;
        }
        let s = self.suffix;
        let type_like =
            s.starts_with(['i', 'u', 'f']) && s[1..].bytes().all(|b| b.is_ascii_digit()) || s == "L";
        let numeric = text.bytes().all(|b| b.is_ascii_digit() || b"_.eE+-/".contains(&b));
        type_like || numeric && !matches!(s, "+" | "-" | "*" | "/")
    }
}

fn underscores_fit(digits: &str) -> bool {
    !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__")
}

fn numeric_suffix(s: &str) -> Option<BaseTy> {
    match s {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "f16" | "f32" | "f64" => {
            BaseTy::from_name(s)
        }
        _ => None,
    }
}

fn float(x: f64, suffix: Suffix) -> Number {
    Number::Float { value: FloatBits::new(x), suffix }
}

fn misspelt(run: &str) -> LiteralError {
    let infix = run[1..].find(['+', '-', '/']).map(|i| i + 1).filter(|i| {
        let (a, b) = (&run[..*i], &run[i + 1..]);
        b.starts_with(|c: char| c.is_ascii_digit()) && matches!(number(a), Some(Ok(_)))
    });
    let help = match infix {
        Some(i) => {
            format!("an operator comes first: `({} {} {})`", &run[i..i + 1], &run[..i], &run[i + 1..])
        }
        None => "numbers look like `42`, `-7`, `1_000_000`, `0x1f`, `1.5`, `6.02e23`, with an optional type \
                 as in `42i32`, `7u8`, `1.5f32`"
            .into(),
    };
    LiteralError {
        code: codes::BAD_NUMBER,
        message: format!("`{}` is not a number", shorten(run)),
        label: "begins like a number, but does not go on like one".into(),
        help,
    }
}

fn out_of_range(run: &str, range: &str, help: impl Into<String>) -> LiteralError {
    LiteralError {
        code: codes::NUMBER_RANGE,
        message: format!("`{}` is out of range", shorten(run)),
        label: range.into(),
        help: help.into(),
    }
}

/// Long literals are cut in messages.
fn shorten(run: &str) -> String {
    match run.char_indices().nth(40) {
        Some((i, _)) => format!("{}…", &run[..i]),
        None => run.into(),
    }
}

fn radix_integer(run: &str, negative: bool, digits: &str, radix: u32) -> Result<Number> {
    let cut = digits.find(['i', 'u']).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(cut);
    let suffix = match suffix {
        "" => None,
        s => Some(numeric_suffix(s).ok_or_else(|| misspelt(run))?),
    };
    let fits = digits.chars().all(|c| c == '_' || c.is_digit(radix));
    if digits.is_empty() || !fits || !underscores_fit(digits) {
        return Err(misspelt(run));
    }
    integer(run, negative, digits, radix, suffix)
}

fn integer(run: &str, negative: bool, digits: &str, radix: u32, suffix: Suffix) -> Result<Number> {
    let mut magnitude: Option<i128> = Some(0);
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        magnitude =
            magnitude.and_then(|m| m.checked_mul(radix.into())).and_then(|m| m.checked_add(digit.into()));
    }
    let value = magnitude.map(|m| if negative { -m } else { m });
    let (low, high) = match suffix.and_then(BaseTy::integer_range) {
        Some(range) => range,
        None => (i64::MIN.into(), u64::MAX.into()),
    };
    match value {
        Some(value) if (low..=high).contains(&value) => Ok(Number::Int { value, suffix }),
        _ => Err(match suffix {
            Some(ty) => out_of_range(
                run,
                &format!("`{ty}` goes from {low} to {high}"),
                "use a wider type, or a float such as `1e20`",
            ),
            None => out_of_range(
                run,
                &format!("integers go from {low} to {high}"),
                "write a float, such as `1e20`, if it need not be exact",
            ),
        }),
    }
}

fn decimal(run: &str, text: &str, suffix: Suffix) -> Result<Number> {
    // Rounded once, to the type itself; `f16` has no parser and is rounded from the nearest `f64`.
    let value = match suffix {
        Some(BaseTy::F32) => text.parse::<f32>().map(f64::from),
        Some(BaseTy::F16) => text
            .parse::<f64>()
            .map(|x| Scalar::from_float(BaseTy::F16, x).and_then(Scalar::as_float).unwrap_or(x)),
        _ => text.parse::<f64>(),
    };
    match value {
        Ok(x) if x.is_infinite() => Err(out_of_range(
            run,
            &format!("greater than any finite `{}`", suffix.unwrap_or(BaseTy::F64)),
            "write `inf` or `-inf` for infinity",
        )),
        Ok(x) => Ok(float(x, suffix)),
        Err(_) => Err(misspelt(run)),
    }
}

const CHAR_NAMES: [(&str, char); 12] = [
    ("space", ' '),
    ("newline", '\n'),
    ("tab", '\t'),
    ("return", '\r'),
    ("nul", '\0'),
    ("null", '\0'),
    ("linefeed", '\n'),
    ("alarm", '\u{7}'),
    ("backspace", '\u{8}'),
    ("delete", '\u{7f}'),
    ("escape", '\u{1b}'),
    ("page", '\u{c}'),
];

/// What follows `#\`: one character, a name, or `x` and hexadecimal digits.
pub fn character(run: &str) -> Result<char> {
    fn single(s: &str) -> Option<char> {
        let mut chars = s.chars();
        chars.next().filter(|_| chars.next().is_none())
    }
    // A letter with a combining accent is the one character that it composes to.
    if let Some(c) = single(run).or_else(|| single(&run.chars().take(8).nfc().collect::<String>())) {
        return Ok(c);
    }
    if let Some((_, c)) = CHAR_NAMES.iter().find(|(name, _)| *name == run) {
        return Ok(*c);
    }
    if let Some(c) = run.strip_prefix(['x', 'u']).and_then(code_point) {
        return Ok(c);
    }
    Err(LiteralError {
        code: codes::BAD_ESCAPE,
        message: format!("`#\\{}` is not a character", shorten(run)),
        label: if run.is_empty() { "a character must follow".into() } else { "no such character".into() },
        help: "write one character, `#\\a`, a name, `#\\space`, `#\\newline`, `#\\tab`, `#\\nul`, or a code \
               point, `#\\x3bb`"
            .into(),
    })
}

/// The character of a code point in hexadecimal.
pub fn code_point(hex: &str) -> Option<char> {
    if hex.is_empty() || hex.len() > 8 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(hex, 16).ok().and_then(char::from_u32)
}

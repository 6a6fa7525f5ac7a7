//! Numbers of values, as pictures need them.

use remc_base::value::Data;
use remc_base::{Atom, Value};

/// The elements as numbers, `#f` and `#t` being 0 and 1; `None` of what has no numbers.
pub fn numbers(value: &Value) -> Option<Vec<f64>> {
    Some(match &value.data {
        Data::Bool(v) => v.iter().map(|b| f64::from(u8::from(*b))).collect(),
        Data::I8(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::I16(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::I32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::I64(v) => v.iter().map(|x| *x as f64).collect(),
        Data::U8(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::U16(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::U32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::U64(v) => v.iter().map(|x| *x as f64).collect(),
        Data::F16(v) => v.iter().map(|x| x.to_f64()).collect(),
        Data::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::F64(v) => v.clone(),
        Data::Char(_) | Data::Box(_) | Data::Tuple(_) | Data::Function(_) => return None,
    })
}

/// Whether the elements are whole by their type.
pub fn are_whole(value: &Value) -> bool {
    !matches!(value.data, Data::F16(_) | Data::F32(_) | Data::F64(_))
}

/// A scalar box's contents, as often as there is one.
pub fn opened(value: &Value) -> Value {
    let mut value = value.clone();
    while value.shape.is_empty()
        && let Some(Atom::Box(inner)) = value.data.get(0)
    {
        value = inner.value.clone();
    }
    value
}

/// Texts: the rows of a matrix of characters, or an array of boxes of them.
pub fn texts(value: &Value) -> Option<Vec<String>> {
    let trimmed = |text: String| text.trim_end().to_owned();
    match (&value.data, value.shape.as_slice()) {
        (Data::Char(chars), [n, m]) => {
            Some((0..*n).map(|i| trimmed(chars[i * m..(i + 1) * m].iter().collect())).collect())
        }
        (Data::Char(chars), [_]) => Some(chars.iter().map(char::to_string).collect()),
        (Data::Box(boxes), [_]) => boxes
            .iter()
            .map(|b| match (&b.value.data, b.value.shape.as_slice()) {
                (Data::Char(chars), [_]) => Some(trimmed(chars.iter().collect())),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// The least and the greatest of the finite numbers.
pub fn range(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.into_iter().filter(|x| x.is_finite()).fold(None, |range, x| match range {
        None => Some((x, x)),
        Some((low, high)) => Some((f64::min(low, x), f64::max(high, x))),
    })
}

/// `1 234 567`, as people read counts.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        // A thin space would be lost in some fonts.
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// `[3 4]`
pub fn shape(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(" "))
}

//! Raw numbers: a file of nothing but elements, whose type and shape the command line says.
//!
//! `samples.raw:f32[1000,3]` is 1000 rows of 3 numbers of type `f32`, in row-major order, little-endian. One
//! size may be `_`: as many as the file holds. `f32[]` is a single number.

use super::elements::{self, ElementsError, Layout};
use super::source::Source;
use super::{DataError, fit};
use remc_base::{ArrTy, AtomTy, BaseTy, Value};
use std::io::{self, Read, Write};

/// A stated type and shape; `None` is the size that the file decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawType {
    ty: BaseTy,
    dims: Vec<Option<usize>>,
}

/// Reads `f32[1000,3]`. The error says what is wrong with it.
pub fn parse(text: &str) -> Result<RawType, String> {
    let text = text.trim();
    let Some((name, dims)) = text.split_once('[').and_then(|(n, d)| Some((n.trim(), d.strip_suffix(']')?)))
    else {
        return Err(format!("`{text}` is no type with a shape"));
    };
    let ty = match BaseTy::from_name(name) {
        Some(BaseTy::Char) => return Err("characters are not read as raw bytes".into()),
        Some(ty) => ty,
        None => return Err(format!("`{name}` is no type of numbers")),
    };
    let mut sizes = Vec::new();
    for dim in dims.split([',', ' ']).map(str::trim).filter(|d| !d.is_empty()) {
        sizes.push(match dim {
            "_" => None,
            n => Some(n.parse().map_err(|_| format!("`{n}` is no size"))?),
        });
    }
    if sizes.iter().filter(|d| d.is_none()).count() > 1 {
        return Err("only one size can be `_`".into());
    }
    Ok(RawType { ty, dims: sizes })
}

impl RawType {
    /// How many bytes an array without an open size takes.
    fn whole_bytes(&self) -> Option<u64> {
        let dims: Option<Vec<usize>> = self.dims.iter().copied().collect();
        Some(elements::bytes(self.ty, &dims?)? as u64)
    }

    /// As the items of a stream: their type and dims, and how many there are, if that is known of a file of `len` bytes,
    /// or of a pipe, which has none.
    pub fn items(&self, len: Option<u64>) -> Result<(BaseTy, Vec<usize>, Option<u64>), String> {
        let Some((first, item)) = self.dims.split_first() else {
            return Err(format!("{self} is a single number, and no stream of items"));
        };
        if let Some(len) = len {
            let shape = self.shape(len)?;
            return Ok((self.ty, shape[1..].to_vec(), Some(shape[0] as u64)));
        }
        let Some(item) = item.iter().copied().collect::<Option<Vec<usize>>>() else {
            return Err(format!(
                "the items of {self} are of an open size: `_` is the first size of a stream"
            ));
        };
        if first.is_none() && item.contains(&0) {
            return Err(format!("the items of {self} take no bytes, so nobody knows how many there are"));
        }
        Ok((self.ty, item, first.map(|n| n as u64)))
    }

    /// The shape of a file of `len` bytes, or the bytes that are wanted and found.
    fn shape(&self, len: u64) -> Result<Vec<usize>, String> {
        let width = self.ty.bits() as usize / 8;
        let known: Vec<usize> = self.dims.iter().flatten().copied().collect();
        let Some(known_bytes) = elements::bytes(self.ty, &known) else {
            return Err(format!("{self} is larger than any file"));
        };
        let found = format!("it has {len} byte{}", if len == 1 { "" } else { "s" });
        if !self.dims.contains(&None) {
            return match known_bytes as u64 == len {
                true => Ok(known),
                false => {
                    let count = known_bytes / width;
                    Err(format!("{found}, and {self} takes {known_bytes} ({count} × {width})"))
                }
            };
        }
        let open = match known_bytes as u64 {
            0 if len == 0 => 0,
            0 => return Err(format!("{found}, and {self} takes none, whatever `_` is")),
            n if len.is_multiple_of(n) => len / n,
            n => return Err(format!("{found}, which is no multiple of the {n} that each step of `_` takes")),
        };
        let open = usize::try_from(open).map_err(|_| format!("{found}, too many for this computer"))?;
        Ok(self.dims.iter().map(|d| d.unwrap_or(open)).collect())
    }
}

impl std::fmt::Display for RawType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> =
            self.dims.iter().map(|d| d.map_or("_".to_owned(), |n| n.to_string())).collect();
        write!(f, "{}[{}]", self.ty.name(), dims.join(","))
    }
}

/// The numbers of a file.
pub fn read(source: &mut Source<'_>, raw: &RawType, wanted: &ArrTy) -> Result<Value, DataError> {
    let layout = Layout { ty: raw.ty, big_endian: false, sure: true };
    let mut room = source.budget().room();
    let failed = |e| match e {
        ElementsError::Ended(n) => {
            DataError::Unreadable(format!("it has become shorter, {n} bytes, meanwhile"))
        }
        ElementsError::TooMuch(e) => DataError::TooMuch(e),
        e => DataError::Unreadable(e.to_string()),
    };
    let (shape, data) = match source.len() {
        Some(len) => {
            let shape = raw.shape(len).map_err(DataError::Raw)?;
            let count = shape.iter().product();
            (shape, elements::read(layout, count, source, &mut room).map_err(failed)?)
        }
        // A pipe, which is read to its end, or as far as it may go.
        None => {
            let most = raw.whole_bytes().map_or(u64::MAX, |n| n.saturating_add(1));
            let (data, over) =
                elements::read_all(layout, &mut source.take(most), &mut room).map_err(failed)?;
            let len = (data.len() * (raw.ty.bits() as usize / 8) + over) as u64;
            if raw.whole_bytes().is_some_and(|n| len > n) {
                return Err(DataError::Raw(format!("it has more than the {} bytes of {raw}", len - 1)));
            }
            (raw.shape(len).map_err(DataError::Raw)?, data)
        }
    };
    room.keep();
    let value = Value { atom: AtomTy::Base(raw.ty), shape, data };
    fit(value, raw.ty.name(), wanted, || {
        format!("if these bytes are of the wanted type, say so after the file's name instead of `{raw}`")
    })
}

/// The elements alone.
pub fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    elements::write(&value.data, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str, len: u64) -> Result<Vec<usize>, String> {
        parse(text)?.shape(len)
    }

    #[test]
    fn types_with_shapes() {
        assert_eq!(shape("f32[1000,3]", 12_000), Ok(vec![1000, 3]));
        assert_eq!(shape(" int [ 2 3 ] ", 48), Ok(vec![2, 3]));
        assert_eq!(shape("u8[]", 1), Ok(vec![]));
        assert_eq!(shape("f64[_, 2]", 64), Ok(vec![4, 2]));
        assert_eq!(shape("f64[_]", 0), Ok(vec![0]));
        assert_eq!(shape("f64[0,_]", 0), Ok(vec![0, 0]));
    }

    #[test]
    fn sizes_that_do_not_fit() {
        let says = |text: &str, len| shape(text, len).unwrap_err();
        assert_eq!(says("f32[1000,3]", 11), "it has 11 bytes, and f32[1000,3] takes 12000 (3000 × 4)");
        assert_eq!(says("u8[]", 0), "it has 0 bytes, and u8[] takes 1 (1 × 1)");
        assert_eq!(
            says("f32[_,3]", 13),
            "it has 13 bytes, which is no multiple of the 12 that each step of `_` takes"
        );
        assert_eq!(says("f32[_,0]", 1), "it has 1 byte, and f32[_,0] takes none, whatever `_` is");
        assert_eq!(
            says("f32[99999999999,99999999999]", 1),
            "f32[99999999999,99999999999] is larger than any file"
        );
        assert_eq!(says("f32[_,_]", 1), "only one size can be `_`");
        assert_eq!(says("f32[-1]", 1), "`-1` is no size");
        assert_eq!(says("f33[1]", 1), "`f33` is no type of numbers");
        assert_eq!(says("char[1]", 1), "characters are not read as raw bytes");
        assert_eq!(says("f32", 1), "`f32` is no type with a shape");
        assert_eq!(says("f32[1", 1), "`f32[1` is no type with a shape");
    }
}

//! Literals that are nested brackets of numbers or truth values, read as their bytes come: without a tree.
//!
//! `[[1 2] [3 4]]` is read here, and so are comments in it. All else — strings, boxes, types, names, suffixes, empty
//! or uneven brackets, numbers that do not fit — is left to [`crate::literal`], which reads everything and says what is
//! wrong. Where both read a text they read it as the same value.

use crate::budget::{Room, TooMuch};
use remc_base::value::Data;
use remc_base::{Atom, AtomTy, BaseTy, Scalar, Value};

/// Deeper brackets are left to the reader, which bounds them.
const DEEPEST: usize = 64;
/// No number of a person has more digits than these.
const LONGEST: usize = 64;

/// The value of a text; `None` if it is not of this kind. The memory is taken from `room`.
pub fn read(
    mut bytes: impl FnMut() -> Option<u8>,
    atom: &AtomTy,
    room: &mut Room<'_>,
) -> Option<Result<Value, TooMuch>> {
    let AtomTy::Base(ty) = *atom else { return None };
    if ty == BaseTy::Char {
        return None;
    }
    let mut nest = Nest::default();
    let mut data = Data::of_base(ty, 0);
    let mut word: Vec<u8> = Vec::with_capacity(LONGEST);
    loop {
        let byte = bytes();
        let ends = byte.is_none_or(|b| b.is_ascii_whitespace() || b"[];".contains(&b));
        if !ends {
            if word.len() == LONGEST {
                return None;
            }
            word.extend(byte);
            continue;
        }
        if !word.is_empty() {
            let scalar = scalar(&word, ty)?;
            word.clear();
            if let Err(e) = room.grow_data(&mut data, 1) {
                return Some(Err(e));
            }
            (nest.item(0)? && data.push(Atom::Scalar(scalar))).then_some(())?;
        }
        match byte {
            Some(b'[') => nest.open()?,
            Some(b']') => nest.close()?,
            Some(b';') => while bytes().is_some_and(|b| b != b'\n') {},
            Some(_) => {}
            None => break,
        }
    }
    let shape = nest.shape()?;
    Some(Ok(Value { atom: atom.clone(), shape, data }))
}

/// The brackets that are open, and what is known of the lengths of all.
#[derive(Default)]
struct Nest {
    /// Of the brackets that are open, from the outermost in, how many items have been.
    open: Vec<usize>,
    /// The lengths of brackets, by their depth, once one of them is closed.
    lengths: Vec<Option<usize>>,
    /// How deep the numbers are.
    depth: Option<usize>,
    done: bool,
}

impl Nest {
    fn open(&mut self) -> Option<()> {
        (!self.done && self.open.len() < DEEPEST).then_some(())?;
        self.open.push(0);
        if self.lengths.len() < self.open.len() {
            self.lengths.push(None);
        }
        Some(())
    }

    /// An item of the innermost bracket: a number, or a bracket that is `below` brackets deep.
    fn item(&mut self, below: usize) -> Option<bool> {
        let depth = self.open.len() + below;
        (!self.done && *self.depth.get_or_insert(depth) == depth).then_some(())?;
        match self.open.last_mut() {
            Some(n) => *n += 1,
            None => self.done = true,
        }
        Some(true)
    }

    fn close(&mut self) -> Option<()> {
        let n = self.open.pop()?;
        let length = self.lengths.get_mut(self.open.len())?;
        // What is empty says nothing of the axes in it.
        (n > 0 && *length.get_or_insert(n) == n).then_some(())?;
        let below = self.depth? - self.open.len();
        self.item(below).map(|_| ())
    }

    fn shape(self) -> Option<Vec<usize>> {
        let whole = self.done && self.open.is_empty() && self.depth == Some(self.lengths.len());
        if whole { self.lengths.into_iter().collect() } else { None }
    }
}

/// A number without a suffix, or a truth value, that is of the type.
fn scalar(word: &[u8], ty: BaseTy) -> Option<Scalar> {
    match (word, ty) {
        (b"#t", BaseTy::Bool) => return Some(Scalar::Bool(true)),
        (b"#f", BaseTy::Bool) => return Some(Scalar::Bool(false)),
        (_, BaseTy::Bool) => return None,
        _ => {}
    }
    let text = std::str::from_utf8(word).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if all(digits) {
        let value: i128 = text.parse().ok()?;
        if let Some((least, greatest)) = ty.integer_range() {
            (least..=greatest).contains(&value).then_some(())?;
        }
        return Scalar::from_integer(ty, value).filter(|s| s.as_float().is_none_or(f64::is_finite));
    }
    let (mantissa, exponent) = digits.split_once(['e', 'E']).map_or((digits, None), |(m, e)| (m, Some(e)));
    let (whole, part) = mantissa.split_once('.').map_or((mantissa, None), |(w, p)| (w, Some(p)));
    let right = all(whole)
        && part.is_none_or(all)
        && exponent.is_none_or(|e| all(e.strip_prefix(['-', '+']).unwrap_or(e)));
    let value: f64 = right.then(|| text.parse().ok())??;
    Scalar::from_float(ty, value).filter(|s| s.as_float().is_some_and(f64::is_finite))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::literal;
    use remc_base::{ArrTy, Dim, IVar, Shape};

    fn read_text(text: &str, ty: BaseTy) -> Option<Value> {
        let budget = Budget::new(1 << 20);
        let mut bytes = text.bytes();
        read(|| bytes.next(), &AtomTy::Base(ty), &mut budget.room()).map(Result::unwrap)
    }

    /// What is read here is what the reader of all literals reads.
    #[test]
    fn as_the_reader_reads() {
        let texts = [
            "1",
            "-7",
            "[1 2]",
            "[[1 2] [3 4]]",
            "[[[1]] [[2]]]",
            " [ 1\n2 ; so\n 3]",
            "[1.5 -2e3 0.1]",
            "[1e-7 1E5]",
            "[300]",
            "[-1]",
            "[1 2.5]",
            "#t",
            "[#t #f]",
            "[16777217 9007199254740993]",
            "[1e39]",
            "[1e400]",
            "[0.1]",
            "[65520 70000]",
            "[1_000]",
            "[]",
            "[[] []]",
            "[[1] [2 3]]",
            "[1 [2]]",
            "[[1] 2]",
            "1 2",
            "[1] [2]",
            "[1",
            "1]",
            "[1u8]",
            "[inf]",
            "[nan]",
            "[x]",
            "[+1]",
            "[.5]",
            "[5.]",
            "[1.]",
            "[0x10]",
            "[--1]",
            "[-]",
            "[1(2)]",
            "[007]",
            "[1e]",
            "[1.5.2]",
            "",
            ";",
            "[18446744073709551615]",
            "[\"a\"]",
            "[1,2]",
            "[1'2]",
        ];
        let mut read_here = 0;
        for ty in BaseTy::ALL {
            for text in texts {
                let Some(found) = read_text(text, ty) else { continue };
                read_here += 1;
                let dims = (0..found.rank()).map(|k| Dim::rigid(IVar::dim(k as u32, "n")));
                let wanted = ArrTy::new(AtomTy::Base(ty), Shape::of_dims(dims));
                assert_eq!(literal::read_tree(text, &wanted), Ok(found), "{text} as {ty}");
            }
        }
        assert!(read_here > 100, "{read_here}");
        assert_eq!(read_text("[[1 2] [3 4]]", BaseTy::F32).unwrap().shape, [2, 2]);
    }

    #[test]
    fn memory_is_asked_for() {
        let budget = Budget::new(1000);
        let mut n = 0;
        let mut endless = || {
            n += 1;
            Some(b"[7 "[if n == 1 { 0 } else { 1 + n % 2 }])
        };
        let read = read(&mut endless, &AtomTy::INT, &mut budget.room());
        assert!(matches!(read, Some(Err(TooMuch { .. }))));
    }
}

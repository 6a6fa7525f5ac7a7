//! Hostile data files, in this process: no panic, a value or a message, and memory within the limit.
//!
//! A right file of some format, with the value that it holds, is changed, cut short, repeated, or given headers that
//! claim other sizes, and is read as one of several types with a small budget. What is read may be any value of the
//! wanted type; where nothing was changed, it is the one that was written.

use super::Broken;
use crate::rng::Rng;
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Dim, IVar, Name, Scalar, Shape, Value};
use remc_runtime::allocator;
use remc_runtime::budget::Budget;
use remc_runtime::data::source::{Meter, Source};
use remc_runtime::data::{self, DataError, Format, Place, output};
use remc_runtime::text::{self, Style};
use std::path::Path;

/// What reading may take in all, in bytes.
const BUDGET: u64 = 1 << 20;
/// … beside what it asks for: the headers and buffers of readers, and texts of messages.
const WORK: u64 = 8 << 20;

/// The formats that are read, with the names of their files.
const FORMATS: [(Format, &str); 11] = [
    (Format::Npy, "x.npy"),
    (Format::Npz, "x.npz"),
    (Format::Arrow, "x.arrow"),
    (Format::ArrowStream, "x.arrows"),
    (Format::Csv, "x.csv"),
    (Format::Tsv, "x.tsv"),
    (Format::Remora, "x.rd"),
    (Format::Futhark, "x.in"),
    (Format::Raw, "x.raw:f32[_]"),
    (Format::Raw, "x.raw:i64[3,_]"),
    (Format::Raw, "x:text"),
];

/// What may be said after the name of a table.
const OPTIONS: [&str; 10] = [
    ":header",
    ":noheader",
    ":sep=;",
    ":sep=space",
    ":decimal=,:sep=;",
    ":comment=#",
    ":skip=3",
    ":na=NA",
    ":columns=2,1",
    ":columns=a:header",
];

/// Numbers that headers lie with.
const LIES: [u64; 8] = [0, 1, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX];

/// Makes a file and reads it.
pub fn case(rng: &mut Rng, _: &Path) -> Result<&'static str, Broken> {
    let (format, name) = *rng.pick(&FORMATS).unwrap_or(&FORMATS[0]);
    let value = value(rng);
    let mut bytes = Vec::new();
    let written = output::refusal(&value, format).is_none();
    if written {
        // Writing to a vector does not fail.
        let _ = output::write(&value, format, Style::default(), &mut bytes);
    }
    let right = bytes.clone();
    for _ in 0..rng.below(4) {
        change(rng, &mut bytes);
    }
    let mut name = name.to_owned();
    if matches!(format, Format::Csv | Format::Tsv) {
        for _ in 0..rng.below(3) {
            name.push_str(rng.pick(&OPTIONS).copied().unwrap_or_default());
        }
    }
    let plain = !name.contains(':');
    let wanted = if rng.one_in(3) { other_type(rng) } else { type_of(&value) };
    let found = read(&name, &bytes, &wanted);
    let shown = || [name.as_bytes(), b"\n", &bytes[..bytes.len().min(1 << 16)]].concat();
    let broken = |why: String| Err(Broken { why, shown: shown() });
    let (read, peak) = found;
    // The trees of literals are the process's to limit, which has a limit where it is `remc`.
    if peak > BUDGET + WORK && !name.ends_with(".rd") {
        return broken(format!("{name}: reading {} bytes took {peak} bytes of memory", bytes.len()));
    }
    match read {
        Ok(read) => {
            if !sound(&read) || read.atom != wanted.atom {
                return broken(format!(
                    "{name}: a value of shape {:?} with {} atoms",
                    read.shape,
                    read.data.len()
                ));
            }
            let same =
                written && bytes == right && plain && wanted == type_of(&value) && !value.data.is_empty();
            if same && text::print(&read) != text::print(&value) {
                return broken(format!("{name}: {} is read as {}", text::print(&value), text::print(&read)));
            }
            Ok("value")
        }
        Err(DataError::TooMuch(_)) => Ok("no room"),
        Err(e) => match said(&e) {
            text if text.is_empty() || text.len() > 1 << 16 => {
                broken(format!("{name}: a message of {} bytes", text.len()))
            }
            _ => Ok("message"),
        },
    }
}

/// Reads the bytes of a file; with the most memory that was in use beside what was before.
fn read(name: &str, bytes: &[u8], wanted: &ArrTy) -> (Result<Value, DataError>, u64) {
    let (path, selector) = match name.split_once(':') {
        Some((path, selector)) => (path, Some(selector.to_owned())),
        None => (name, None),
    };
    let place = Place { path: path.into(), selector };
    let (meter, budget) = (Meter::default(), Budget::new(BUDGET));
    let mut source = Source::of_bytes(bytes.to_vec(), &meter, &budget);
    allocator::peak();
    let before = allocator::live();
    let read = data::read_source(&mut source, &place, "x", wanted);
    (read, allocator::peak().saturating_sub(before))
}

/// Whether there are as many atoms as the shape says.
fn sound(value: &Value) -> bool {
    let all: Option<usize> = value.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    let parts = match &value.data {
        Data::Box(all) => all.iter().all(|b| sound(&b.value)),
        Data::Tuple(all) => all.iter().all(|t| t.iter().all(sound)),
        _ => true,
    };
    parts && (all == Some(value.data.len()) || value.shape.contains(&0) && value.data.is_empty())
}

/// What is wrong, in words.
fn said(e: &DataError) -> String {
    match e {
        DataError::Unreadable(text) | DataError::Selector(text) | DataError::Raw(text) => text.clone(),
        DataError::Table { what, .. } => what.clone(),
        DataError::Mismatch { found, .. } => found.clone(),
        // The text of a literal is the file's own.
        DataError::Literal(_, e) => format!("{e:?}").chars().take(1000).collect(),
        e => format!("{e:?}"),
    }
}

fn value(rng: &mut Rng) -> Value {
    let ty = BaseTy::ALL[rng.below(BaseTy::ALL.len())];
    let shape: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(6)).collect();
    let count = shape.iter().product();
    let scalars: Vec<Scalar> = (0..count).map(|_| scalar(rng, ty)).collect();
    Value::of_scalars(ty, shape, scalars)
}

fn scalar(rng: &mut Rng, ty: BaseTy) -> Scalar {
    let n = rng.range(0, 100);
    let made = match ty {
        BaseTy::Bool => Some(Scalar::Bool(n % 2 == 0)),
        BaseTy::Char => Some(Scalar::Char(char::from(b'a' + (n % 26) as u8))),
        ty => Scalar::from_integer(ty, n.into()),
    };
    made.unwrap_or(Scalar::Bool(false))
}

fn of_rank(atom: AtomTy, rank: usize) -> ArrTy {
    let dims = (0..rank).map(|k| Dim::rigid(IVar::dim(k as u32, "n")));
    ArrTy::new(atom, Shape::of_dims(dims))
}

fn type_of(value: &Value) -> ArrTy {
    of_rank(value.atom.clone(), value.rank())
}

/// Another type: of other numbers, of texts, or of records.
fn other_type(rng: &mut Rng) -> ArrTy {
    let base = |rng: &mut Rng| AtomTy::Base(BaseTy::ALL[rng.below(BaseTy::ALL.len())]);
    let k = IVar::dim(9, "k");
    let chars = ArrTy::new(AtomTy::CHAR, Shape::of_dims([Dim::rigid(k.clone())]));
    let texts = AtomTy::sigma(vec![k], chars);
    match rng.below(4) {
        0 => of_rank(texts, rng.below(3)),
        1 => {
            let fields = ["a", "b"].map(|l| (Some(Name::new(l)), ArrTy::scalar(base(rng))));
            of_rank(AtomTy::tuple(fields.to_vec()), rng.below(2))
        }
        2 => {
            let fields = vec![(None, ArrTy::scalar(texts)), (None, ArrTy::scalar(base(rng)))];
            of_rank(AtomTy::tuple(fields), rng.below(2))
        }
        _ => of_rank(base(rng), rng.below(4)),
    }
}

/// Changes the bytes of a file in one place, or its length.
fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const TEXTS: [&str; 14] =
        ["\n", ",", "\"", "#", "NA", ";", "1e999", "a,b\n", "\r", "[", "(boxes ", "\u{feff}", "<html>", "\0"];
    let at = rng.below(bytes.len() + 1);
    match rng.below(9) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(..at)),
        2 if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
        3 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        // A number of 1, 2, 4 or 8 bytes that says something else.
        4 | 5 => {
            let lie = rng.pick(&LIES).copied().unwrap_or(0).to_le_bytes();
            let width = 1 << rng.below(4);
            let end = (at + width).min(bytes.len());
            bytes[at..end].copy_from_slice(&lie[..end - at]);
        }
        6 => {
            let text = rng.pick(&TEXTS).copied().unwrap_or_default();
            bytes.splice(at..at, text.bytes());
        }
        // A digit becomes many: sizes in NumPy's headers and numbers in texts.
        7 => {
            if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                let many = "9".repeat(rng.below(25));
                bytes.splice(at + digit..at + digit, many.bytes());
            }
        }
        _ => {
            let part = bytes[at..].to_vec();
            let times = if rng.one_in(50) { 3000 } else { rng.below(20) };
            bytes.extend(part.repeat(times.min((4 << 20) / part.len().max(1))));
        }
    }
}

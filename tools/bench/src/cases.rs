//! The rows of the table.
//!
//! A row names a program of ours, a C kernel and a NumPy kernel that compute the same, their inputs, and the
//! least that any of them must do: bytes to read, bytes to read and write, or operations.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dtype {
    F32,
    F64,
    I64,
    U8,
}

impl Dtype {
    pub fn bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F64 | Dtype::I64 => 8,
            Dtype::U8 => 1,
        }
    }

    /// The name in an `.npy` header.
    pub fn descr(self) -> &'static str {
        match self {
            Dtype::F32 => "<f4",
            Dtype::F64 => "<f8",
            Dtype::I64 => "<i8",
            Dtype::U8 => "|u1",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::I64 => "i64",
            Dtype::U8 => "u8",
        })
    }
}

/// A type of atoms and the sizes of the axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
}

impl Array {
    pub fn new(dtype: Dtype, shape: &[usize]) -> Array {
        Array { dtype, shape: shape.to_vec() }
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn bytes(&self) -> usize {
        self.len() * self.dtype.bytes()
    }
}

#[derive(Clone, Debug)]
pub enum Source {
    /// Floats in [-1, 1), or integers in [-1000, 1000), drawn with this seed.
    Random(u64),
    /// A file of `examples/data`.
    Example(&'static str),
    /// Whoever made the row has written it.
    Written,
}

#[derive(Clone, Debug)]
pub enum Input {
    Array { name: &'static str, array: Array, source: Source },
    Scalar { name: &'static str, value: i64 },
}

/// The least that must be done, which says what share of the machine's best a time is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Floor {
    /// Bytes read from memory.
    Read(usize),
    /// Bytes read and written, together.
    Copy(usize),
    /// Floating-point operations.
    Flop(f64, Dtype),
    /// Nothing that a single number says.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Case {
    /// What `--only` names.
    pub key: String,
    pub title: &'static str,
    pub size: String,
    /// A program as [`crate::places::program`] finds it.
    pub program: &'static str,
    /// A kernel as [`crate::places::kernel`] finds it.
    pub c: &'static str,
    /// A kernel of `peers/numpy_peer.py`.
    pub numpy: Option<&'static str>,
    pub inputs: Vec<Input>,
    pub output: Array,
    /// What the C kernel takes as `sizes`.
    pub sizes: Vec<i64>,
    pub floor: Floor,
}

fn random(name: &'static str, dtype: Dtype, shape: &[usize], seed: u64) -> Input {
    Input::Array { name, array: Array::new(dtype, shape), source: Source::Random(seed) }
}

fn example(name: &'static str, dtype: Dtype, shape: &[usize], file: &'static str) -> Input {
    Input::Array { name, array: Array::new(dtype, shape), source: Source::Example(file) }
}

/// A row whose names are all `key`.
fn case(key: &'static str, title: &'static str, size: String, inputs: Vec<Input>, output: Array) -> Case {
    Case {
        key: key.into(),
        title,
        size,
        program: key,
        c: key,
        numpy: Some(key),
        inputs,
        output,
        sizes: Vec::new(),
        floor: Floor::Unknown,
    }
}

/// All rows, in the order of the table.
pub fn cases(small: bool) -> Vec<Case> {
    use Dtype::{F32, F64, I64};
    let mut all = Vec::new();

    let power = if small { 16 } else { 26 };
    let n = 1usize << power;
    let vector = |name, seed| random(name, F32, &[n], seed);
    let scalar = |dtype| Array::new(dtype, &[]);
    let size = format!("2^{power} f32");
    all.push(Case {
        sizes: vec![n as i64],
        floor: Floor::Read(4 * n),
        ..case("sum", "sum", size.clone(), vec![vector("xs", 1)], scalar(F32))
    });
    all.push(Case {
        sizes: vec![n as i64],
        floor: Floor::Read(8 * n),
        ..case("dot", "dot", size.clone(), vec![vector("xs", 1), vector("ys", 2)], scalar(F32))
    });
    all.push(Case {
        sizes: vec![n as i64],
        floor: Floor::Read(4 * n),
        ..case(
            "mean-variance",
            "mean and variance",
            size.clone(),
            vec![vector("xs", 1)],
            Array::new(F32, &[2]),
        )
    });

    let (total, skews) = if small { (12, [1, 3, 6, 9, 11]) } else { (24, [2, 6, 12, 18, 22]) };
    for (key, title) in [("row-sums", "row sums"), ("column-sums", "column sums")] {
        for a in skews {
            let (rows, columns) = (1usize << a, 1usize << (total - a));
            let results = if key == "row-sums" { rows } else { columns };
            let m = random("m", F32, &[rows, columns], 3);
            let size = format!("2^{a} × 2^{} f32", total - a);
            all.push(Case {
                key: format!("{key}/{a}"),
                sizes: vec![rows as i64, columns as i64],
                floor: Floor::Read(4 * rows * columns),
                ..case(key, title, size, vec![m], Array::new(F32, &[results]))
            });
        }
    }

    let side = if small { 256 } else { 4096 };
    all.push(Case {
        sizes: vec![side as i64; 2],
        floor: Floor::Copy(8 * side * side),
        ..case(
            "transpose",
            "transpose",
            format!("{side} × {side} f32"),
            vec![random("m", F32, &[side, side], 3)],
            Array::new(F32, &[side, side]),
        )
    });

    let side = if small { 128 } else { 1024 };
    for (key, title, c) in [
        ("matmul", "matrix product, C with register tiles", "matmul"),
        ("matmul-plain", "matrix product, C as plain loops", "matmul-plain"),
    ] {
        let matrix = |name, seed| random(name, F32, &[side, side], seed);
        all.push(Case {
            program: "matmul",
            c,
            numpy: Some("matmul"),
            sizes: vec![side as i64; 3],
            floor: Floor::Flop(2.0 * (side as f64).powi(3), F32),
            ..case(
                key,
                title,
                format!("{side}³ f32"),
                vec![matrix("a", 4), matrix("b", 5)],
                Array::new(F32, &[side, side]),
            )
        });
    }

    for (key, dtype) in [("iscan", F32), ("iscan-int", I64)] {
        all.push(Case {
            numpy: Some("iscan"),
            sizes: vec![n as i64],
            floor: Floor::Copy(2 * dtype.bytes() * n),
            ..case(
                key,
                "prefix sums",
                format!("2^{power} {dtype}"),
                vec![random("xs", dtype, &[n], 1)],
                Array::new(dtype, &[n]),
            )
        });
    }

    let count = if small { 1_000_000 } else { 100_000_000 };
    all.push(Case {
        sizes: vec![count],
        ..case(
            "iota-xor",
            "exclusive or of 3 i",
            format!("10^{} i64", if small { 6 } else { 8 }),
            vec![Input::Scalar { name: "n", value: count }],
            scalar(I64),
        )
    });

    let bodies = if small { 256 } else { 4096 };
    for (key, dtype) in [("n-body", F32), ("n-body-f64", F64)] {
        all.push(Case {
            numpy: Some("n-body"),
            sizes: vec![bodies as i64],
            floor: Floor::Flop(20.0 * (bodies as f64).powi(2), dtype),
            ..case(
                key,
                "n-body, accelerations",
                format!("{bodies} bodies {dtype}"),
                vec![random("positions", dtype, &[bodies, 3], 6), random("masses", dtype, &[bodies], 7)],
                Array::new(dtype, &[bodies, 3]),
            )
        });
    }

    let (known, unknown, pixels) = (1500, 297, 64);
    all.push(Case {
        sizes: vec![known as i64, unknown as i64, pixels as i64],
        // A difference, a square and a sum for each pixel of each pair.
        floor: Floor::Flop(3.0 * (known * unknown * pixels) as f64, F32),
        ..case(
            "digits",
            "digits",
            format!("{known} known, {unknown} unknown"),
            vec![
                example("train-images", F32, &[known, pixels], "digits-train-images.npy"),
                example("train-labels", I64, &[known], "digits-train-labels.npy"),
                example("test-images", F32, &[unknown, pixels], "digits-test-images.npy"),
                example("test-labels", I64, &[unknown], "digits-test-labels.npy"),
            ],
            scalar(F64),
        )
    });
    all
}

/// The rows that `only` names, all if it names none; an error for a name that fits no row.
pub fn chosen(small: bool, only: &[String]) -> Result<Vec<Case>, String> {
    named(cases(small), |case| &case.key, only)
}

/// Those whose keys `only` names, or the first part of whose keys; all if it names none.
pub fn named<T>(all: Vec<T>, key: impl Fn(&T) -> &str, only: &[String]) -> Result<Vec<T>, String> {
    let fits = |item: &T, name: &str| {
        key(item).strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(name) = only.iter().find(|name| !all.iter().any(|item| fits(item, name))) {
        let keys: Vec<&str> = all.iter().map(&key).collect();
        return Err(format!("there is no row `{name}`; the rows are {}", keys.join(", ")));
    }
    Ok(all.into_iter().filter(|item| only.is_empty() || only.iter().any(|name| fits(item, name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places;

    #[test]
    fn every_row_has_its_files() {
        let kernels = std::fs::read_to_string(places::sources().join("peers/numpy_peer.py")).unwrap();
        for small in [false, true] {
            for case in cases(small) {
                assert!(places::program(case.program).is_file(), "{}", case.key);
                let c = places::kernel(case.c);
                assert!(c.is_file(), "{}", c.display());
                let numpy = case.numpy.unwrap();
                assert!(kernels.contains(&format!("@kernel(\"{numpy}\")")), "{numpy}");
            }
        }
    }

    #[test]
    fn keys_differ_and_choose() {
        let all = cases(false);
        for (i, case) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.key != case.key), "{}", case.key);
        }
        let keys = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|&s| s.into()).collect();
            chosen(false, &only).map(|cases| cases.len())
        };
        assert_eq!(keys(&[]), Ok(all.len()));
        assert_eq!(keys(&["sum"]), Ok(1));
        assert_eq!(keys(&["row-sums", "dot"]), Ok(6));
        assert_eq!(keys(&["row-sums/22"]), Ok(1));
        assert!(keys(&["row"]).is_err());
    }
}

//! Lengths of rows, and programs over such rows.

use crate::cases::{Array, Dtype};
use crate::data;
use std::io;
use std::path::{Path, PathBuf};

/// How the lengths of rows are spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// All have the same.
    Equal,
    /// Each element is in row r, in an order that is shuffled, with a likelihood of nearly 1/r.
    Zipf,
    /// That in the middle has all elements but for 0 to 3 in each other.
    Giant,
    /// A row has n elements, at least 1, with a likelihood of nearly n^-1.5, as Zipf's law with this exponent has it, up
    /// to a length at which there are about as many elements as there should be.
    Power,
}

/// Numbers of rows and of elements; a giant comes with other elements than these, so that it has just as many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    pub rows: usize,
    pub elements: usize,
}

impl Sizes {
    pub const FULL: Sizes = Sizes { rows: 1 << 20, elements: 1 << 24 };
    pub const SMALL: Sizes = Sizes { rows: 1 << 8, elements: 1 << 12 };
}

const SEED: u64 = 7;

/// A random number below `n`.
pub fn below(n: usize, i: usize, stream: u64) -> usize {
    ((u128::from(data::splitmix(SEED + stream, i as u64)) * n as u128) >> 64) as usize
}

impl Rows {
    pub fn name(self) -> &'static str {
        match self {
            Rows::Equal => "equal",
            Rows::Zipf => "Zipf",
            Rows::Giant => "giant",
            Rows::Power => "Zipf 1.5",
        }
    }

    /// The length of each row.
    pub fn lengths(self, sizes: Sizes) -> Vec<i64> {
        let Sizes { rows, elements } = sizes;
        match self {
            Rows::Equal => vec![(elements / rows) as i64; rows],
            Rows::Giant => {
                let mut lengths: Vec<i64> = (0..rows).map(|i| below(4, i, 0) as i64).collect();
                lengths[rows / 2] = elements as i64;
                lengths
            }
            Rows::Zipf => {
                let mut lengths = vec![0; rows];
                for i in 0..elements {
                    // Each factor of two in the rank is as likely as any other.
                    let u = data::splitmix(SEED, i as u64) as f64 / 2f64.powi(64);
                    let rank = ((rows as f64).powf(u) as usize).min(rows) - 1;
                    // An odd factor shuffles the ranks, whose number is a power of two.
                    lengths[rank.wrapping_mul(0x9e37_79b1) % rows] += 1;
                }
                lengths
            }
            Rows::Power => {
                // At least n elements are as likely as 1 / √n, but for those that are too long. If rows may be as long
                // as s², their mean is s - 0.46 - 0.46 / (s - 1), nearly.
                let mean = elements as f64 / rows as f64;
                let least = 1.0 / (mean + 0.46 + 0.46 / mean);
                let length = |i: usize| {
                    let u = least + (1.0 - least) * (data::splitmix(SEED, i as u64) as f64 / 2f64.powi(64));
                    u.powi(-2).floor() as i64
                };
                (0..rows).map(length).collect()
            }
        }
    }
}

/// The type of the elements that are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Float {
    F32,
    F64,
}

impl Float {
    pub fn dtype(self) -> Dtype {
        match self {
            Float::F32 => Dtype::F32,
            Float::F64 => Dtype::F64,
        }
    }
}

/// One side of a pair: a program and its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// `segment-sums` over rows of such floats.
    Segments(Rows, Float),
    /// `sum` over as many elements as such rows have.
    Dense(Rows, Float),
    /// `sparse-product` with such rows of `f32`.
    Product(Rows),
}

/// The arrays that a side takes, by their names, and what it must give.
pub struct Data {
    pub ints: Vec<(&'static str, Vec<i64>)>,
    /// Written as `float` says.
    pub floats: Vec<(&'static str, Vec<f32>)>,
    pub float: Float,
    pub wanted: Vec<f64>,
}

impl Side {
    pub fn program(self) -> &'static str {
        match self {
            Side::Segments(_, Float::F32) => "segment-sums",
            Side::Segments(_, Float::F64) => "segment-sums-f64",
            Side::Dense(_, Float::F32) => "sum",
            Side::Dense(_, Float::F64) => "sum-f64",
            Side::Product(_) => "sparse-product",
        }
    }

    pub fn float(self) -> Float {
        match self {
            Side::Segments(_, float) | Side::Dense(_, float) => float,
            Side::Product(_) => Float::F32,
        }
    }

    /// What the folder of its data is called: both sides of a sum have the same elements.
    pub fn folder(self, sizes: Sizes) -> String {
        let what = match (self, self.float()) {
            (Side::Product(_), _) => "product",
            (_, Float::F32) => "sums",
            (_, Float::F64) => "sums-f64",
        };
        format!("{what}-{}-{}", self.rows().name(), sizes.elements)
    }

    pub fn rows(self) -> Rows {
        match self {
            Side::Segments(rows, _) | Side::Dense(rows, _) | Side::Product(rows) => rows,
        }
    }

    /// Makes the data. Floats are multiples of 1/8 in [-1, 1).
    pub fn data(self, sizes: Sizes) -> Data {
        let lengths = self.rows().lengths(sizes);
        let total = lengths.iter().sum::<i64>() as usize;
        let floats = |n: usize, stream: u64| -> Vec<f32> {
            (0..n).map(|i| below(16, i, stream) as f32 / 8.0 - 1.0).collect()
        };
        let by_row = |item: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mut at = 0..;
            lengths.iter().map(|n| at.by_ref().take(*n as usize).map(item).sum()).collect()
        };
        let (xs, float) = (floats(total, 1), self.float());
        match self {
            Side::Dense(..) => {
                let wanted = vec![xs.iter().copied().map(f64::from).sum()];
                Data { ints: vec![], floats: vec![("xs", xs)], float, wanted }
            }
            Side::Segments(..) => {
                let wanted = by_row(&|i| f64::from(xs[i]));
                Data { ints: vec![("lengths", lengths)], floats: vec![("xs", xs)], float, wanted }
            }
            Side::Product(_) => {
                let x = floats(sizes.rows, 2);
                let columns: Vec<i64> = (0..total).map(|i| below(sizes.rows, i, 3) as i64).collect();
                let wanted = by_row(&|i| f64::from(xs[i]) * f64::from(x[columns[i] as usize]));
                let ints = vec![("lengths", lengths), ("columns", columns)];
                Data { ints, floats: vec![("weights", xs), ("x", x)], float, wanted }
            }
        }
    }
}

impl Data {
    /// Writes the arrays into a folder; what `--input` is to be given for each.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<String>> {
        std::fs::create_dir_all(folder)?;
        let mut inputs = Vec::new();
        let mut put = |name: &str, dtype: Dtype, len: usize, atoms: &[u8]| {
            let path: PathBuf = folder.join(format!("{name}.npy"));
            inputs.push(format!("{name}={}", path.display()));
            data::write(&path, &Array::new(dtype, &[len]), atoms)
        };
        for (name, xs) in &self.ints {
            put(name, Dtype::I64, xs.len(), &xs.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        for (name, xs) in &self.floats {
            let bytes: Vec<u8> = match self.float {
                Float::F32 => xs.iter().flat_map(|x| x.to_le_bytes()).collect(),
                Float::F64 => xs.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect(),
            };
            put(name, self.float.dtype(), xs.len(), &bytes)?;
        }
        Ok(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_add_up_and_are_spread_as_they_say() {
        for sizes in [Sizes::SMALL, Sizes { rows: 1 << 12, elements: 1 << 16 }] {
            for rows in [Rows::Equal, Rows::Zipf] {
                let lengths = rows.lengths(sizes);
                assert_eq!(lengths.len(), sizes.rows);
                assert_eq!(lengths.iter().sum::<i64>() as usize, sizes.elements);
            }
            let zipf = Rows::Zipf.lengths(sizes);
            let empty = zipf.iter().filter(|n| **n == 0).count();
            assert!(empty > 0 && empty < sizes.rows / 2, "{empty} of {}", sizes.rows);
            // The first rank has its part of a harmonic series.
            let most = *zipf.iter().max().unwrap() as f64 / sizes.elements as f64;
            let part = 2f64.ln() / (sizes.rows as f64).ln();
            assert!((most / part - 1.0).abs() < 0.1, "{most} where {part} is right");

            let power = Rows::Power.lengths(sizes);
            let (total, mean) = (power.iter().sum::<i64>() as f64, sizes.elements / sizes.rows);
            assert!((0.5..2.0).contains(&(total / sizes.elements as f64)), "{total}");
            assert!(power.iter().all(|n| (1..=2 * (mean * mean) as i64).contains(n)));
            // P(n ≥ 2) is √½, of all lengths.
            let short = power.iter().filter(|n| **n == 1).count() as f64 / sizes.rows as f64;
            assert!((0.2..0.4).contains(&short), "{short}");

            let giant = Rows::Giant.lengths(sizes);
            assert_eq!(giant.iter().filter(|n| **n > 3).collect::<Vec<_>>(), [&(sizes.elements as i64)]);
        }
    }

    #[test]
    fn sums_of_segments_make_up_the_whole() {
        for rows in [Rows::Equal, Rows::Zipf, Rows::Giant] {
            let sum = |side: Side| side.data(Sizes::SMALL).wanted.iter().sum::<f64>();
            let (ragged, dense) = (Side::Segments(rows, Float::F64), Side::Dense(rows, Float::F64));
            assert!((sum(ragged) - sum(dense)).abs() < 1e-9);
            assert_eq!(ragged.folder(Sizes::SMALL), dense.folder(Sizes::SMALL));
        }
    }
}

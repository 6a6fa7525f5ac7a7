//! Programs over rows that should cost what their items cost: reading and writing them, or computing them, whatever
//! lengths the rows have.
//!
//! Softmax of rows belongs here too; it is among those of [`super::unseen`].

use super::reference;
use super::subjects::{Data, Ragged, Subject, coarse, floats, ints, subject, vector};
use crate::cases::{Array, Dtype};

macro_rules! rows {
    ($($line:tt)*) => { subject!("rows", $($line)*) };
}

/// The list: numbers of rows, and of items in them, about.
pub(super) const ALL: &[Subject] = &[
    rows!("layer-norm" / "zipf", "rows normalised", Power of 2^16, 2^24, layer_norm),
    rows!("layer-norm" / "equal", "rows normalised", Equal of 2^17, 2^24, layer_norm),
    rows!("layer-norm" / "giant", "rows normalised", Giant of 2^20, 2^23, layer_norm),
    rows!("z-scores" / "zipf", "standard scores of rows", Power of 2^16, 2^23, z_scores),
    rows!("z-scores" / "equal", "standard scores of rows", Equal of 2^17, 2^23, z_scores),
    rows!("z-scores" / "giant", "standard scores of rows", Giant of 2^20, 2^23, z_scores),
    rows!("iota-sums" / "zipf", "sums of numbers below n", Power of 2^16, 2^24, iota_sums),
    rows!("iota-sums" / "equal", "sums of numbers below n", Equal of 2^18, 2^24, iota_sums),
    rows!("iota-sums" / "giant", "sums of numbers below n", Giant of 2^20, 2^23, iota_sums),
    rows!("sine-sums" / "zipf", "sums of sines", Power of 2^16, 2^23, sine_sums),
    rows!("sine-sums" / "equal", "sums of sines", Equal of 2^18, 2^23, sine_sums),
    rows!("sine-sums" / "giant", "sums of sines", Giant of 2^20, 2^23, sine_sums),
    rows!("harmonics" / "zipf", "parts of the harmonic series", Power of 2^16, 2^24, harmonics),
    rows!("harmonics" / "equal", "parts of the harmonic series", Equal of 2^18, 2^24, harmonics),
    rows!("harmonics" / "giant", "parts of the harmonic series", Giant of 2^20, 2^23, harmonics),
    // If all numbers were equal, it would be one number.
    rows!("divisor-rows" / "zipf", "numbers of divisors", Power of 2^16, 2^22, divisor_rows),
    rows!("divisor-rows" / "giant", "numbers of divisors", Giant of 2^20, 2^22, divisor_rows),
    rows!("csr" / "zipf", "sparse matrix by vector", Power of 2^18, 2^23, csr),
    rows!("csr" / "equal", "sparse matrix by vector", Equal of 2^19, 2^23, csr),
    rows!("csr" / "giant", "sparse matrix by vector", Giant of 2^20, 2^23, csr),
    rows!("sort-rows" / "zipf", "rows sorted", Power of 2^16, 2^23, sort_rows),
    rows!("sort-rows" / "equal", "rows sorted", Equal of 2^17, 2^23, sort_rows),
    rows!("sort-rows" / "giant", "rows sorted", Giant of 2^20, 2^23, sort_rows),
    rows!("top-10" / "zipf", "ten greatest of rows", Power of 2^16, 2^23, top_10),
    rows!("top-10" / "equal", "ten greatest of rows", Equal of 2^17, 2^23, top_10),
    rows!("top-10" / "giant", "ten greatest of rows", Giant of 2^20, 2^23, top_10),
    rows!("ragged-sums" / "zipf", "sums of rows", Power of 2^20, 2^24, ragged_sums),
    rows!("ragged-sums" / "equal", "sums of rows", Equal of 2^20, 2^24, ragged_sums),
    rows!("ragged-sums" / "giant", "sums of rows", Giant of 2^20, 2^24, ragged_sums),
    rows!("ragged-sums-f64" / "zipf", "sums of rows", Power of 2^20, 2^23, ragged_sums_f64),
    rows!("ragged-sums-f64" / "equal", "sums of rows", Equal of 2^19, 2^23, ragged_sums_f64),
    rows!("ragged-sums-f64" / "giant", "sums of rows", Giant of 2^20, 2^23, ragged_sums_f64),
    rows!("ragged-scans" / "zipf", "running sums of rows", Power of 2^18, 2^24, ragged_scans),
    rows!("ragged-scans" / "equal", "running sums of rows", Equal of 2^18, 2^24, ragged_scans),
    rows!("ragged-scans" / "giant", "running sums of rows", Giant of 2^20, 2^24, ragged_scans),
    rows!("ragged-scans-f64" / "zipf", "running sums of rows", Power of 2^17, 2^23, ragged_scans_f64),
    rows!("ragged-scans-f64" / "equal", "running sums of rows", Equal of 2^17, 2^23, ragged_scans_f64),
    rows!("ragged-scans-f64" / "giant", "running sums of rows", Giant of 2^20, 2^23, ragged_scans_f64),
    rows!("argmin-rows" / "zipf", "places of least items", Power of 2^18, 2^24, argmin_rows),
    rows!("argmin-rows" / "equal", "places of least items", Equal of 2^18, 2^24, argmin_rows),
    rows!("argmin-rows" / "giant", "places of least items", Giant of 2^20, 2^23, argmin_rows),
];

fn layer_norm(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 31);
    let of = |row: &[f64]| reference::normal(row, |variance| (variance + 1e-5).sqrt());
    rows.data(("xs", Dtype::F32, xs), Dtype::F32, (0.0, 1e-4), of)
}

fn z_scores(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 32);
    let of = |row: &[f64]| reference::normal(row, |variance| variance.sqrt().max(1e-12));
    rows.data(("xs", Dtype::F64, xs), Dtype::F64, (0.0, 1e-8), of)
}

/// What is computed from the length of each row, and from a number of its own where there is such an input.
fn computed(
    rows: &Ragged,
    lengths: &'static str,
    own: Option<(&'static str, Vec<f64>)>,
    result: Dtype,
    tolerance: (f64, f64),
    of: impl Fn(usize, f64) -> f64,
) -> Data {
    let number = |r: usize| own.as_ref().map_or(0.0, |(_, xs)| xs[r]);
    let wanted = rows.lengths.iter().enumerate().map(|(r, n)| of(*n as usize, number(r))).collect();
    let mut inputs = vec![vector(lengths, Dtype::I64, rows.lengths.clone())];
    inputs.extend(own.map(|(name, xs)| vector(name, Dtype::F64, xs)));
    let output = Array::new(result, &[rows.rows()]);
    Data { computed: Some(rows.items()), ..Data::new(inputs, output, wanted, tolerance) }
}

fn iota_sums(rows: &Ragged) -> Data {
    computed(rows, "lengths", None, Dtype::I64, (0.0, 0.0), |n, _| (0..n).sum::<usize>() as f64)
}

fn sine_sums(rows: &Ragged) -> Data {
    let own = Some(("steps", floats(rows.rows(), 33)));
    computed(rows, "lengths", own, Dtype::F64, (0.0, 1e-8), reference::sines)
}

fn harmonics(rows: &Ragged) -> Data {
    let starts = floats(rows.rows(), 34).into_iter().map(|x| x + 1.5).collect();
    let own = Some(("starts", starts));
    computed(rows, "lengths", own, Dtype::F64, (1e-11, 0.0), reference::harmonic)
}

fn divisor_rows(rows: &Ragged) -> Data {
    computed(rows, "numbers", None, Dtype::I64, (0.0, 0.0), |n, _| reference::divisors(n))
}

fn csr(rows: &Ragged) -> Data {
    let (n, width) = (rows.items(), rows.rows());
    let (columns, weights, x) = (ints(n, width, 35), coarse(n, 36), coarse(width, 37));
    let mut starts = vec![0.0];
    for length in &rows.lengths {
        starts.push(starts[starts.len() - 1] + length);
    }
    let term = |i: usize| weights[i] * x[columns[i] as usize];
    let row = |ends: &[f64]| (ends[0] as usize..ends[1] as usize).map(term).sum();
    let wanted = starts.windows(2).map(row).collect();
    let inputs = vec![
        vector("starts", Dtype::I64, starts),
        vector("columns", Dtype::I64, columns),
        vector("weights", Dtype::F32, weights),
        vector("x", Dtype::F32, x),
    ];
    Data::new(inputs, Array::new(Dtype::F32, &[width]), wanted, (0.0, 0.0))
}

fn sort_rows(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 38);
    rows.data(("xs", Dtype::F32, xs), Dtype::F32, (0.0, 0.0), reference::sorted)
}

fn top_10(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 39);
    rows.data(("xs", Dtype::F32, xs), Dtype::F32, (0.0, 0.0), |row| reference::greatest(row, 10))
}

fn sums(rows: &Ragged, dtype: Dtype) -> Data {
    let xs = coarse(rows.items(), 40);
    rows.data(("xs", dtype, xs), dtype, (0.0, 0.0), |row| [row.iter().sum()])
}

fn ragged_sums(rows: &Ragged) -> Data {
    sums(rows, Dtype::F32)
}

fn ragged_sums_f64(rows: &Ragged) -> Data {
    sums(rows, Dtype::F64)
}

fn scans(rows: &Ragged, dtype: Dtype) -> Data {
    let xs = coarse(rows.items(), 41);
    rows.data(("xs", dtype, xs), dtype, (0.0, 0.0), reference::running_sums)
}

fn ragged_scans(rows: &Ragged) -> Data {
    scans(rows, Dtype::F32)
}

fn ragged_scans_f64(rows: &Ragged) -> Data {
    scans(rows, Dtype::F64)
}

fn argmin_rows(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 42);
    rows.data(("xs", Dtype::F32, xs), Dtype::I64, (0.0, 0.0), |row| [reference::least_at(row)])
}

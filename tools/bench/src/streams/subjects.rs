//! The lines, and their files.

use crate::data::splitmix;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A program and what it is run on.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    pub key: &'static str,
    pub title: &'static str,
    /// The entry's parameters in the order of the C program's arguments.
    pub inputs: &'static [(&'static str, What)],
    /// What is said to `remc run` beside its inputs.
    pub options: &'static [&'static str],
}

/// What a parameter is given.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A number, and another one for small runs.
    Number(u64, u64),
    /// Numbers by themselves, which C takes as so many arguments.
    Numbers(&'static [u32]),
    /// A file, in a form that remc is told.
    File(Data, &'static str),
}

/// What is in a file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Data {
    /// `f64` in [-1, 1).
    Floats,
    /// The lengths of a sparse matrix' rows, its columns and weights, and a vector: 75 items in a row, more or less.
    Rows,
    Columns,
    Weights,
    Vector,
    /// A signal, where windows of it begin, and how long they are: 64 to 4,096 samples.
    Signal,
    Starts,
    Lengths,
    /// Words of lower-case letters, one in a line.
    Words,
    /// The rank of each page at first, and pairs of pages: those that are pointed to follow a power law.
    Ranks,
    Links,
}

pub const ALL: &[Subject] = &[
    Subject {
        key: "scan-squares",
        title: "a sum over a scan of 10^9 numbers",
        inputs: &[("n", What::Number(1_000_000_000, 1_000_000))],
        options: &[],
    },
    Subject {
        key: "file-sums",
        title: "three sums over a file of 800 MB, in 200 MB",
        inputs: &[("xs", What::File(Data::Floats, ":f64[_]"))],
        options: &["--memory-limit", "200M"],
    },
    Subject {
        key: "sparse-product",
        title: "a sparse matrix by a vector, 30 M items",
        inputs: &[
            ("lengths", What::File(Data::Rows, ":i64[_]")),
            ("columns", What::File(Data::Columns, ":i64[_]")),
            ("weights", What::File(Data::Weights, ":f32[_]")),
            ("x", What::File(Data::Vector, ":f32[_]")),
        ],
        options: &[],
    },
    Subject {
        key: "windows",
        title: "100,000 windows of an audio signal",
        inputs: &[
            ("signal", What::File(Data::Signal, ":f32[_]")),
            ("starts", What::File(Data::Starts, ":i64[_]")),
            ("lengths", What::File(Data::Lengths, ":i64[_]")),
        ],
        options: &[],
    },
    Subject {
        key: "md5-search",
        title: "MD5 of 14 M words",
        inputs: &[
            ("words", What::File(Data::Words, ":text")),
            ("wanted", What::Numbers(&[2_555_380_112, 2_958_021_180, 2_101_319_382, 1_920_983_336])),
        ],
        options: &[],
    },
    Subject {
        key: "page-rank",
        title: "PageRank, 5.7 M pages and 130 M links, in 260 MB",
        inputs: &[
            ("rank", What::File(Data::Ranks, ":f64[_]")),
            ("rounds", What::Number(3, 2)),
            ("links", What::File(Data::Links, ":i32[_,2]")),
        ],
        options: &["--memory-limit", "260M"],
    },
];

/// By how much less there is in small runs.
const SMALL: u64 = 1000;
const ROWS: u64 = 400_000;
const SAMPLES: u64 = 1 << 24;
const WINDOWS: u64 = 100_000;
const PAGES: u64 = 5_700_000;

/// The length of a row of the sparse matrix: uniform on 50 to 100.
fn row(i: u64) -> u64 {
    50 + splitmix(1, i) % 51
}

/// A fraction in [0, 1).
fn fraction(seed: u64, i: u64) -> f64 {
    (splitmix(seed, i) >> 11) as f64 / (1u64 << 53) as f64
}

impl Data {
    /// The file, written if it is not there yet.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(self, folder: &Path, small: bool) -> io::Result<PathBuf> {
        let path = folder.join(format!("{self:?}").to_lowercase());
        if path.is_file() {
            return Ok(path);
        }
        fs::create_dir_all(folder)?;
        // Under another name until it is whole: an interrupted run must not leave a short file.
        let partial = path.with_extension(format!("partial-{}", std::process::id()));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
        self.write(if small { SMALL } else { 1 }, &mut out)?;
        out.flush()?;
        fs::rename(&partial, &path)?;
        Ok(path)
    }

    fn write(self, less: u64, out: &mut impl Write) -> io::Result<()> {
        let (rows, samples, windows, pages) = (ROWS / less, SAMPLES / less, WINDOWS / less, PAGES / less);
        // A sample that the longest window may begin with.
        let last = samples.saturating_sub(4096).max(1);
        match self {
            Data::Floats => (0..100_000_000 / less)
                .try_for_each(|i| out.write_all(&(fraction(2, i) * 2.0 - 1.0).to_le_bytes())),
            Data::Rows => (0..rows).try_for_each(|i| out.write_all(&row(i).to_le_bytes())),
            Data::Columns => (0..rows).try_for_each(|i| {
                // Near the diagonal, as in the matrices of solvers.
                (0..row(i)).try_for_each(|j| {
                    let near = i + splitmix(3 + i, j) % 4000;
                    out.write_all(&near.saturating_sub(2000).min(rows - 1).to_le_bytes())
                })
            }),
            Data::Weights => {
                let all: u64 = (0..rows).map(row).sum();
                (0..all).try_for_each(|i| out.write_all(&(fraction(4, i) as f32).to_le_bytes()))
            }
            Data::Vector => (0..rows).try_for_each(|i| out.write_all(&(fraction(5, i) as f32).to_le_bytes())),
            Data::Signal => {
                (0..samples).try_for_each(|i| out.write_all(&(fraction(6, i) as f32 - 0.5).to_le_bytes()))
            }
            Data::Starts => {
                (0..windows).try_for_each(|i| out.write_all(&(i * last / windows.max(1)).to_le_bytes()))
            }
            Data::Lengths => (0..windows).try_for_each(|i| {
                let length = 64.0 * (fraction(7, i) * 6.0).exp2();
                out.write_all(&(length as u64).min(samples - last).to_le_bytes())
            }),
            Data::Words => (0..14_000_000 / less).try_for_each(|i| {
                let letters = 4 + splitmix(8, i) % 9;
                let word: Vec<u8> = (0..letters).map(|k| b'a' + (splitmix(9 + i, k) % 26) as u8).collect();
                out.write_all(&word)?;
                out.write_all(if i % 1_000_000 == 7 { b"\nabc\n" } else { b"\n" })
            }),
            Data::Ranks => (0..pages).try_for_each(|_| out.write_all(&(1.0 / pages as f64).to_le_bytes())),
            Data::Links => (0..130_000_000 / less).try_for_each(|i| {
                let from = splitmix(10, i) % pages;
                let rank = (pages as f64 * fraction(11, i).powi(3)) as u64;
                // Pages that many point to are anywhere.
                let to = rank.wrapping_mul(2_654_435_761) % pages;
                out.write_all(&(from as u32).to_le_bytes())?;
                out.write_all(&(to as u32).to_le_bytes())
            }),
        }
    }
}

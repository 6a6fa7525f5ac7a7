//! The programs, and what each runs on.

use super::reference::{self, by_row};
use crate::cases::{Array, Case, Dtype, Floor, Input, Source, named};
use crate::data::{self, Given, atoms, splitmix};
use crate::ragged::rows::{Rows, Sizes, below};
use std::io;
use std::path::Path;

/// A program on rows of such lengths.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// `PROGRAM/LENGTHS`, which `--only` names.
    pub key: &'static str,
    /// The name in the table.
    pub title: &'static str,
    /// Of `unseen/`: `NAME.remora` and `NAME.c`.
    pub program: &'static str,
    rows: Rows,
    sizes: Sizes,
    data: fn(&Ragged) -> Data,
}

/// What a program is given, and what it must give.
pub struct Data {
    pub inputs: Vec<(&'static str, Array, Vec<f64>)>,
    pub output: Array,
    pub wanted: Vec<f64>,
    /// A result may differ by so much of itself, and by so much.
    pub relative: f64,
    pub absolute: f64,
}

/// Sizes at which everything works within seconds, if `small`.
fn scaled(sizes: Sizes, small: bool) -> Sizes {
    let by = if small { 12 } else { 0 };
    Sizes { rows: sizes.rows >> by, elements: sizes.elements >> by }
}

macro_rules! subject {
    ($name:literal / $lengths:literal, $title:literal, $rows:ident of 2 ^ $r:literal, 2 ^ $e:literal, $data:ident) => {
        Subject {
            key: concat!($name, "/", $lengths),
            title: $title,
            program: concat!("unseen/", $name),
            rows: Rows::$rows,
            sizes: Sizes { rows: 1 << $r, elements: 1 << $e },
            data: $data,
        }
    };
}

/// The list: numbers of rows, and of items in them, about.
const ALL: [Subject; 19] = [
    subject!("softmax" / "zipf", "softmax of rows", Power of 2^16, 2^24, softmax),
    subject!("softmax" / "equal", "softmax of rows", Equal of 2^17, 2^24, softmax),
    subject!("softmax" / "giant", "softmax of rows", Giant of 2^20, 2^23, softmax),
    subject!("top-k" / "zipf", "three greatest of rows", Power of 2^16, 2^23, top_k),
    subject!("top-k" / "equal", "three greatest of rows", Equal of 2^18, 2^23, top_k),
    subject!("moving-average" / "zipf", "moving averages of rows", Power of 2^16, 2^24, moving_average),
    subject!("moving-average" / "giant", "moving averages of rows", Giant of 2^20, 2^23, moving_average),
    subject!("drawdown" / "zipf", "sums of rows below their peaks", Power of 2^16, 2^23, drawdown),
    subject!("drawdown" / "giant", "sums of rows below their peaks", Giant of 2^20, 2^23, drawdown),
    subject!("smooth-rows" / "zipf", "rows smoothed 20 times", Power of 2^16, 2^22, smooth_rows),
    subject!("smooth-rows" / "equal", "rows smoothed 20 times", Equal of 2^18, 2^22, smooth_rows),
    subject!("close-pairs" / "zipf", "close pairs within rows", Power of 2^15, 2^20, close_pairs),
    subject!("group-entropy" / "zipf", "entropy of groups", Power of 2^16, 2^23, group_entropy),
    subject!("group-entropy" / "giant", "entropy of groups", Giant of 2^20, 2^23, group_entropy),
    subject!("sparse-by-dense" / "zipf", "sparse times dense matrix", Power of 2^17, 2^22, sparse_by_dense),
    subject!("edit-distance" / "zipf", "edit distances of words", Power of 2^16, 2^20, edit_distance),
    subject!("longest-word" / "zipf", "longest words of lines", Power of 2^17, 2^23, longest_word),
    subject!("nearest-centre" / "equal", "nearest of 16 centres", Equal of 2^20, 2^23, nearest_centre),
    subject!("solve-rows" / "equal", "systems of 8 equations", Equal of 2^17, 2^23, solve_rows),
];

/// The list, or those that `only` names.
///
/// # Errors
/// A name that nothing has.
pub fn chosen(only: &[String]) -> Result<Vec<Subject>, String> {
    named(ALL.to_vec(), |s| s.key, only)
}

impl Subject {
    pub fn data(&self, small: bool) -> Data {
        let sizes = scaled(self.sizes, small);
        // A row without items has no greatest one.
        let lengths = self.rows.lengths(sizes).into_iter().map(|n| n.max(1) as f64).collect();
        (self.data)(&Ragged { lengths })
    }

    /// The row of the bench that it is with this data.
    pub fn case(&self, data: &Data) -> Case {
        let inputs = data.inputs.iter().map(|(name, array, _)| Input::Array {
            name,
            array: array.clone(),
            source: Source::Written,
        });
        let shapes = data.inputs.iter().map(|(_, array, _)| array).chain([&data.output]);
        Case {
            key: self.key.into(),
            title: self.title,
            size: self.size(data),
            program: self.program,
            c: self.program,
            numpy: None,
            inputs: inputs.collect(),
            output: data.output.clone(),
            sizes: shapes.flat_map(|array| &array.shape).map(|n| *n as i64).collect(),
            floor: Floor::Unknown,
        }
    }

    /// The data in a few words.
    fn size(&self, data: &Data) -> String {
        let most = data.inputs.iter().max_by_key(|(_, array, _)| array.len());
        let (items, dtype) = most.map_or((0, Dtype::F64), |(_, array, _)| (array.len(), array.dtype));
        let rows = data.inputs.iter().find(|(name, ..)| name.contains("lengths"));
        let rows = rows.map_or(data.output.shape[0], |(_, array, _)| array.len());
        format!("{}: {} rows, {} {dtype}", self.rows.name(), count(rows), count(items))
    }
}

/// A number of things, as a power of two or to three digits.
fn count(n: usize) -> String {
    match n {
        _ if n.is_power_of_two() => format!("2^{}", n.ilog2()),
        1_000_000.. => format!("{:.1} · 10^6", n as f64 / 1e6),
        _ => n.to_string(),
    }
}

impl Data {
    /// Writes the inputs into a folder; where they are.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<(&'static str, Given)>> {
        std::fs::create_dir_all(folder)?;
        let file = |(name, array, numbers): &(&'static str, Array, Vec<f64>)| {
            let path = folder.join(format!("{name}.npy"));
            data::write(&path, array, &atoms(array.dtype, numbers.iter().copied()))?;
            Ok((*name, Given::File(path)))
        };
        self.inputs.iter().map(file).collect()
    }

    /// Whether these are the numbers that are wanted; the first that is not.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, got: impl IntoIterator<Item = f64>) -> Result<(), String> {
        let got: Vec<f64> = got.into_iter().collect();
        if got.len() != self.wanted.len() {
            return Err(format!("wrong: {} numbers, where {} are right", got.len(), self.wanted.len()));
        }
        for (i, (got, wanted)) in got.iter().zip(&self.wanted).enumerate() {
            let near = (got - wanted).abs() <= self.relative * wanted.abs() + self.absolute;
            if !near {
                return Err(format!("wrong: {got} at {i}, where {wanted} is right"));
            }
        }
        Ok(())
    }
}

/// The lengths of rows, and what fills them.
struct Ragged {
    lengths: Vec<f64>,
}

fn vector(name: &'static str, dtype: Dtype, xs: Vec<f64>) -> (&'static str, Array, Vec<f64>) {
    (name, Array::new(dtype, &[xs.len()]), xs)
}

/// Multiples of 2^-23 in [-1, 1), all of which an `f32` can be.
fn floats(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|i| (splitmix(seed, i) >> 40) as f64 / (1u64 << 23) as f64 - 1.0).collect()
}

fn ints(n: usize, below_what: usize, seed: u64) -> Vec<f64> {
    (0..n).map(|i| below(below_what, i, seed) as f64).collect()
}

impl Ragged {
    fn items(&self) -> usize {
        self.lengths.iter().sum::<f64>() as usize
    }

    fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Vectors of items and of lengths go in, the results of each row come out.
    fn data<T: IntoIterator<Item = f64>>(
        &self,
        (name, dtype, xs): (&'static str, Dtype, Vec<f64>),
        result: Dtype,
        (relative, absolute): (f64, f64),
        of: impl Fn(&[f64]) -> T,
    ) -> Data {
        let wanted = by_row(&xs, &self.lengths, of);
        let inputs = vec![vector(name, dtype, xs), vector("lengths", Dtype::I64, self.lengths.clone())];
        Data { inputs, output: Array::new(result, &[wanted.len()]), wanted, relative, absolute }
    }
}

fn softmax(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 11).into_iter().map(|x| 4.0 * x).collect();
    rows.data(("xs", Dtype::F32, xs), Dtype::F32, (1e-5, 0.0), reference::softmax)
}

fn top_k(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 12);
    rows.data(("xs", Dtype::F32, xs), Dtype::F32, (0.0, 0.0), |row| reference::greatest(row, 3))
}

fn moving_average(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 13);
    rows.data(("xs", Dtype::F32, xs), Dtype::F32, (0.0, 1e-6), |row| reference::averages(row, 2))
}

fn drawdown(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 14);
    rows.data(("xs", Dtype::F64, xs), Dtype::F64, (0.0, 1e-7), reference::drawdowns)
}

fn smooth_rows(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 15);
    rows.data(("xs", Dtype::F64, xs), Dtype::F64, (0.0, 1e-12), |row| reference::smoothed(row, 20))
}

fn close_pairs(rows: &Ragged) -> Data {
    let xs = floats(rows.items(), 16);
    rows.data(("xs", Dtype::F64, xs), Dtype::I64, (0.0, 0.0), |row| [reference::close_pairs(row, 0.01)])
}

fn group_entropy(rows: &Ragged) -> Data {
    // Symbols that are far from equally likely.
    let symbols = floats(rows.items(), 17).into_iter().map(|x| (16.0 * x * x).floor()).collect();
    rows.data(("symbols", Dtype::I64, symbols), Dtype::F64, (0.0, 1e-9), |row| [reference::entropy(row, 16)])
}

fn sparse_by_dense(rows: &Ragged) -> Data {
    let (n, height, width) = (rows.items(), rows.rows(), 8);
    let (weights, m) = (floats(n, 18), floats(height * width, 19));
    let columns = ints(n, height, 20);
    let mut at = 0;
    let row = |length: &f64| {
        let from = at;
        at += *length as usize;
        reference::combination(&weights[from..at], &columns[from..at], &m, width)
    };
    let wanted = rows.lengths.iter().flat_map(row).collect();
    let inputs = vec![
        vector("lengths", Dtype::I64, rows.lengths.clone()),
        vector("columns", Dtype::I64, columns),
        vector("weights", Dtype::F32, weights),
        ("m", Array::new(Dtype::F32, &[height, width]), m),
    ];
    // A sum of as many products as the longest row has items.
    let output = Array::new(Dtype::F32, &[height, width]);
    Data { inputs, output, wanted, relative: 1e-5, absolute: 1e-4 }
}

fn edit_distance(rows: &Ragged) -> Data {
    // The other word has the length of the next pair's first one.
    let mut others = rows.lengths.clone();
    others.rotate_left(1);
    let n = rows.items();
    let (a, b) = (ints(n, 4, 21), ints(n, 4, 22));
    let (mut rest, mut other_rest) = (a.as_slice(), b.as_slice());
    let pair = |(n, m): (&f64, &f64)| {
        let (word, after) = rest.split_at(*n as usize);
        let (other, other_after) = other_rest.split_at(*m as usize);
        (rest, other_rest) = (after, other_after);
        reference::edit_distance(word, other)
    };
    let wanted = rows.lengths.iter().zip(&others).map(pair).collect();
    let inputs = vec![
        vector("letters", Dtype::U8, a),
        vector("lengths", Dtype::I64, rows.lengths.clone()),
        vector("other-letters", Dtype::U8, b),
        vector("other-lengths", Dtype::I64, others),
    ];
    let output = Array::new(Dtype::I64, &[rows.rows()]);
    Data { inputs, output, wanted, relative: 0.0, absolute: 0.0 }
}

fn longest_word(rows: &Ragged) -> Data {
    // One character in six is a space, the last of a line a line feed.
    let mut text = ints(rows.items(), 31, 23);
    text.iter_mut().for_each(|c| *c = if *c < 26.0 { 97.0 + *c } else { 32.0 });
    let mut end = 0;
    for length in &rows.lengths {
        end += *length as usize;
        text[end - 1] = 10.0;
    }
    let wanted = by_row(&text, &rows.lengths, |line| [reference::longest_word(line)]);
    let output = Array::new(Dtype::I64, &[rows.rows()]);
    Data { inputs: vec![vector("text", Dtype::U8, text)], output, wanted, relative: 0.0, absolute: 0.0 }
}

fn nearest_centre(rows: &Ragged) -> Data {
    let (n, d, k) = (rows.rows(), 8, 16);
    // Multiples of 1/16, whose distances are exact: what is nearest is no matter of rounding.
    let coarse = |n, seed| -> Vec<f64> { ints(n, 32, seed).into_iter().map(|x| x / 16.0 - 1.0).collect() };
    let (points, centres) = (coarse(n * d, 24), coarse(k * d, 25));
    let wanted = points.chunks(d).map(|point| reference::nearest(point, &centres)).collect();
    let inputs = vec![
        ("points", Array::new(Dtype::F32, &[n, d]), points),
        ("centres", Array::new(Dtype::F32, &[k, d]), centres),
    ];
    Data { inputs, output: Array::new(Dtype::I64, &[n]), wanted, relative: 0.0, absolute: 0.0 }
}

fn solve_rows(rows: &Ragged) -> Data {
    let (n, d) = (rows.rows(), 8);
    let (mut a, b) = (floats(n * d * d, 26), floats(n * d, 27));
    for system in a.chunks_mut(d * d) {
        (0..d).for_each(|i| system[i * d + i] += d as f64);
    }
    let wanted = a.chunks(d * d).zip(b.chunks(d)).flat_map(|(a, b)| reference::solution(a, b)).collect();
    let inputs =
        vec![("a", Array::new(Dtype::F64, &[n, d, d]), a), ("b", Array::new(Dtype::F64, &[n, d]), b)];
    Data { inputs, output: Array::new(Dtype::F64, &[n, d]), wanted, relative: 0.0, absolute: 1e-12 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places;

    #[test]
    fn twelve_programs_have_their_files() {
        let mut programs: Vec<&str> = ALL.iter().map(|s| s.program).collect();
        programs.dedup();
        assert_eq!(programs.len(), 12);
        for s in ALL {
            assert!(s.key.starts_with(s.program.trim_start_matches("unseen/")), "{}", s.key);
            assert!(places::program(s.program).is_file() && places::kernel(s.program).is_file(), "{}", s.key);
        }
        assert_eq!(chosen(&["softmax".into()]).unwrap().len(), 3);
        assert!(chosen(&["sum".into()]).unwrap_err().contains("softmax/zipf, "));
    }

    #[test]
    fn wrong_numbers_are_told_from_right_ones() {
        let data = chosen(&["softmax/zipf".into()]).unwrap()[0].data(true);
        assert_eq!(data.check(data.wanted.iter().map(|x| x * (1.0 + 1e-6))), Ok(()));
        let told = data.check(data.wanted.iter().map(|x| x * (1.0 + 1e-4))).unwrap_err();
        assert!(told.starts_with("wrong: ") && told.contains(" at 0, where "), "{told}");
        assert!(data.check(data.wanted.iter().map(|_| f64::NAN)).is_err());
        assert!(data.check([]).unwrap_err().contains("0 numbers"));
    }

    #[test]
    fn counts_of_things() {
        assert_eq!([count(1 << 20), count(1_500_000), count(77)], ["2^20", "1.5 · 10^6", "77"]);
    }
}

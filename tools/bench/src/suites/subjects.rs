//! What a line of a suite is: a program, and what it runs on.

use super::reference::by_row;
use crate::cases::{Array, Case, Dtype, Floor, Input, Source};
use crate::data::{self, atoms, splitmix};
use crate::ragged::rows::{Rows, Sizes, below};
use std::io;
use std::path::Path;

/// A program on rows of such lengths, or on whole arrays.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// `PROGRAM/LENGTHS`, or `PROGRAM` where there are no rows of several lengths; `--only` names it.
    pub key: &'static str,
    /// The name in the table.
    pub title: &'static str,
    /// `FOLDER/NAME`, the Remora and the C of which lie beside each other.
    pub program: &'static str,
    pub(super) given: Given,
}

/// What a program runs on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// Rows of such lengths.
    Rows(Rows, Sizes, fn(&Ragged) -> Data),
    /// Arrays whose sizes follow from a number, which is the second one if all is to be small.
    Arrays([usize; 2], fn(usize) -> Data),
}

/// What a program is given, and what it must give.
pub struct Data {
    pub inputs: Vec<(&'static str, Array, Vec<f64>)>,
    pub output: Array,
    pub wanted: Vec<f64>,
    /// A result may differ by so much of itself, and by so much.
    pub relative: f64,
    pub absolute: f64,
    /// How many items rows have that are in no input, as the program computes them.
    pub computed: Option<usize>,
}

/// Sizes at which everything works within seconds, if `small`.
fn scaled(sizes: Sizes, small: bool) -> Sizes {
    let by = if small { 12 } else { 0 };
    Sizes { rows: sizes.rows >> by, elements: sizes.elements >> by }
}

/// A line: folder, name, kind of lengths, title, those lengths, numbers of rows and items, and what makes its data. Or
/// without lengths: folder, name, title, a number that all sizes follow from and the one for small sizes, and what makes
/// the data.
macro_rules! subject {
    (
        $folder:literal,
        $name:literal / $lengths:literal, $title:literal, $rows:ident of 2 ^ $r:literal, 2 ^ $e:literal, $data:ident
    ) => {
        $crate::suites::subjects::Subject {
            key: concat!($name, "/", $lengths),
            title: $title,
            program: concat!($folder, "/", $name),
            given: $crate::suites::subjects::Given::Rows(
                $crate::ragged::rows::Rows::$rows,
                $crate::ragged::rows::Sizes { rows: 1 << $r, elements: 1 << $e },
                $data,
            ),
        }
    };
    ($folder:literal, $name:literal, $title:literal, $full:literal or $small:literal, $data:ident) => {
        $crate::suites::subjects::Subject {
            key: $name,
            title: $title,
            program: concat!($folder, "/", $name),
            given: $crate::suites::subjects::Given::Arrays([$full, $small], $data),
        }
    };
}
pub(super) use subject;

impl Subject {
    pub fn data(&self, small: bool) -> Data {
        match self.given {
            Given::Rows(rows, sizes, data) => {
                let sizes = scaled(sizes, small);
                // A row without items has no greatest one.
                let lengths = rows.lengths(sizes).into_iter().map(|n| n.max(1) as f64).collect();
                data(&Ragged { lengths })
            }
            Given::Arrays(sizes, data) => data(sizes[usize::from(small)]),
        }
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
        let shape = match (self.given, most) {
            (Given::Arrays(..), Some((_, array, _))) => array.shape.iter().map(|n| count(*n)).collect(),
            _ => vec![count(items)],
        };
        let items = match data.computed {
            Some(n) => format!("{} computed", count(n)),
            None => format!("{} {dtype}", shape.join(" × ")),
        };
        let Given::Rows(rows, ..) = self.given else { return items };
        let lengths = data.inputs.iter().find(|(name, ..)| name.contains("lengths"));
        let number = lengths.map_or(data.output.shape[0], |(_, array, _)| array.len());
        format!("{}: {} rows, {items}", rows.name(), count(number))
    }
}

/// A number of things, as a power of two if it is a large one, or to three digits.
fn count(n: usize) -> String {
    match n {
        1024.. if n.is_power_of_two() => format!("2^{}", n.ilog2()),
        1_000_000.. => format!("{:.1} · 10^6", n as f64 / 1e6),
        _ => n.to_string(),
    }
}

impl Data {
    /// With a tolerance, relative and absolute.
    pub(super) fn new(
        inputs: Vec<(&'static str, Array, Vec<f64>)>,
        output: Array,
        wanted: Vec<f64>,
        (relative, absolute): (f64, f64),
    ) -> Data {
        Data { inputs, output, wanted, relative, absolute, computed: None }
    }

    /// Writes the inputs into a folder; where they are.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<(&'static str, data::Given)>> {
        std::fs::create_dir_all(folder)?;
        let file = |(name, array, numbers): &(&'static str, Array, Vec<f64>)| {
            let path = folder.join(format!("{name}.npy"));
            data::write(&path, array, &atoms(array.dtype, numbers.iter().copied()))?;
            Ok((*name, data::Given::File(path)))
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

/// The lengths of rows.
pub(super) struct Ragged {
    pub(super) lengths: Vec<f64>,
}

pub(super) fn vector(name: &'static str, dtype: Dtype, xs: Vec<f64>) -> (&'static str, Array, Vec<f64>) {
    (name, Array::new(dtype, &[xs.len()]), xs)
}

/// Multiples of 2^-23 in [-1, 1), all of which an `f32` can be.
pub(super) fn floats(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|i| (splitmix(seed, i) >> 40) as f64 / (1u64 << 23) as f64 - 1.0).collect()
}

/// Multiples of 1/16 in [-1, 1), whose sums and products by two are exact in an `f32`, in any order.
pub(super) fn coarse(n: usize, seed: u64) -> Vec<f64> {
    ints(n, 32, seed).into_iter().map(|x| x / 16.0 - 1.0).collect()
}

pub(super) fn ints(n: usize, below_what: usize, seed: u64) -> Vec<f64> {
    (0..n).map(|i| below(below_what, i, seed) as f64).collect()
}

impl Ragged {
    pub(super) fn items(&self) -> usize {
        self.lengths.iter().sum::<f64>() as usize
    }

    pub(super) fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Vectors of items and of lengths go in, the results of each row come out.
    pub(super) fn data<T: IntoIterator<Item = f64>>(
        &self,
        (name, dtype, xs): (&'static str, Dtype, Vec<f64>),
        result: Dtype,
        tolerance: (f64, f64),
        of: impl Fn(&[f64]) -> T,
    ) -> Data {
        let wanted = by_row(&xs, &self.lengths, of);
        let inputs = vec![vector(name, dtype, xs), vector("lengths", Dtype::I64, self.lengths.clone())];
        Data::new(inputs, Array::new(result, &[wanted.len()]), wanted, tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::UNSEEN;

    #[test]
    fn wrong_numbers_are_told_from_right_ones() {
        let data = UNSEEN.chosen(&["softmax/zipf".into()]).unwrap()[0].data(true);
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

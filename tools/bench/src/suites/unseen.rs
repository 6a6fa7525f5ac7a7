//! Programs that no pass of the compiler was written for.
//!
//! They are what somebody writes who knows the book and nothing of the compiler, and say what an array programmer
//! gets who does not know what is fast; so a program that turns out slow stays as it is.

use super::reference::{self, by_row};
use super::subjects::{Data, Ragged, Subject, coarse, floats, ints, subject, vector};
use crate::cases::{Array, Dtype};

macro_rules! unseen {
    ($($line:tt)*) => { subject!("unseen", $($line)*) };
}

/// The list: numbers of rows, and of items in them, about.
pub(super) const ALL: &[Subject] = &[
    unseen!("softmax" / "zipf", "softmax of rows", Power of 2^16, 2^24, softmax),
    unseen!("softmax" / "equal", "softmax of rows", Equal of 2^17, 2^24, softmax),
    unseen!("softmax" / "giant", "softmax of rows", Giant of 2^20, 2^23, softmax),
    unseen!("top-k" / "zipf", "three greatest of rows", Power of 2^16, 2^23, top_k),
    unseen!("top-k" / "equal", "three greatest of rows", Equal of 2^18, 2^23, top_k),
    unseen!("moving-average" / "zipf", "moving averages of rows", Power of 2^16, 2^24, moving_average),
    unseen!("moving-average" / "giant", "moving averages of rows", Giant of 2^20, 2^23, moving_average),
    unseen!("drawdown" / "zipf", "sums of rows below their peaks", Power of 2^16, 2^23, drawdown),
    unseen!("drawdown" / "giant", "sums of rows below their peaks", Giant of 2^20, 2^23, drawdown),
    unseen!("smooth-rows" / "zipf", "rows smoothed 20 times", Power of 2^16, 2^22, smooth_rows),
    unseen!("smooth-rows" / "equal", "rows smoothed 20 times", Equal of 2^18, 2^22, smooth_rows),
    unseen!("close-pairs" / "zipf", "close pairs within rows", Power of 2^15, 2^20, close_pairs),
    unseen!("group-entropy" / "zipf", "entropy of groups", Power of 2^16, 2^23, group_entropy),
    unseen!("group-entropy" / "giant", "entropy of groups", Giant of 2^20, 2^23, group_entropy),
    unseen!("sparse-by-dense" / "zipf", "sparse times dense matrix", Power of 2^17, 2^22, sparse_by_dense),
    unseen!("edit-distance" / "zipf", "edit distances of words", Power of 2^16, 2^20, edit_distance),
    unseen!("longest-word" / "zipf", "longest words of lines", Power of 2^17, 2^23, longest_word),
    unseen!("nearest-centre" / "equal", "nearest of 16 centres", Equal of 2^20, 2^23, nearest_centre),
    unseen!("solve-rows" / "equal", "systems of 8 equations", Equal of 2^17, 2^23, solve_rows),
];

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
    Data::new(inputs, output, wanted, (1e-5, 1e-4))
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
    Data::new(inputs, output, wanted, (0.0, 0.0))
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
    Data::new(vec![vector("text", Dtype::U8, text)], output, wanted, (0.0, 0.0))
}

fn nearest_centre(rows: &Ragged) -> Data {
    let (n, d, k) = (rows.rows(), 8, 16);
    // Their distances are exact: what is nearest is no matter of rounding.
    let (points, centres) = (coarse(n * d, 24), coarse(k * d, 25));
    let wanted = points.chunks(d).map(|point| reference::nearest(point, &centres)).collect();
    let inputs = vec![
        ("points", Array::new(Dtype::F32, &[n, d]), points),
        ("centres", Array::new(Dtype::F32, &[k, d]), centres),
    ];
    Data::new(inputs, Array::new(Dtype::I64, &[n]), wanted, (0.0, 0.0))
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
    Data::new(inputs, Array::new(Dtype::F64, &[n, d]), wanted, (0.0, 1e-12))
}

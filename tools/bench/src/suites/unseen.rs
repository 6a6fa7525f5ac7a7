//! Programs that no pass of the compiler was written for.
//!
//! They are what somebody writes who knows the book and nothing of the compiler, and say what an array programmer
//! gets who does not know what is fast; so a program that turns out slow stays as it is.

use super::reference::{self, by_row};
use super::subjects::{Data, Ragged, Subject, coarse, floats, ints, subject, vector};
use super::whole;
use crate::cases::{Array, Dtype};

macro_rules! unseen {
    ($($line:tt)*) => { subject!("unseen", $($line)*) };
}

/// The list: numbers of rows, and of items in them, about. Then programs over whole arrays, with a number that their
/// sizes follow from, at full size and at small.
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
    unseen!("above-mean" / "zipf", "items above the mean of rows", Power of 2^16, 2^22, above_mean),
    unseen!("above-mean" / "giant", "items above the mean of rows", Giant of 2^20, 2^22, above_mean),
    unseen!("distinct" / "zipf", "what is different in rows", Power of 2^16, 2^21, distinct),
    unseen!("nearest-centre" / "equal", "nearest of 16 centres", Equal of 2^20, 2^23, nearest_centre),
    unseen!("solve-rows" / "equal", "systems of 8 equations", Equal of 2^17, 2^23, solve_rows),
    unseen!("logistic", "gradient of a logistic regression", 0x4_0000 or 50, logistic),
    unseen!("k-means", "one step of k-means", 0x8_0000 or 200, k_means),
    unseen!("inverses", "inverses of 4 × 4 matrices", 0x8_0000 or 21, inverses),
    unseen!("box-means", "means of boxes of 16 × 16", 2048 or 21, box_means),
    unseen!("cholesky", "Cholesky's decomposition", 640 or 70, cholesky),
    unseen!("local-alignment", "score of a local alignment", 4096 or 50, local_alignment),
    unseen!("run-lengths", "runs decoded and corrected", 0x20_0000 or 100, run_lengths),
    unseen!("rotate", "image turned, interpolated", 1536 or 21, rotate),
    unseen!("equalise", "histogram equalised", 4096 or 21, equalise),
    unseen!("best-match", "row maxima of a product", 2048 or 21, best_match),
    unseen!("primes", "number of primes", 10_000_000 or 1000, primes),
    unseen!("shortest-paths", "shortest paths of all pairs", 512 or 70, shortest_paths),
    unseen!("escape-times", "escape times of points", 768 or 21, escape_times),
    unseen!("running-median", "medians of five", 0x40_0000 or 100, running_median),
    unseen!("nearest-five", "five nearest of 4096 points", 4096 or 40, nearest_five),
    unseen!("lookups", "searches in sorted keys", 0x10_0000 or 200, lookups),
    unseen!("clipped-blur", "weighted 5 × 5 of an image, by pixel", 2048 or 21, clipped_blur),
    unseen!("life", "game of life, 50 generations", 1024 or 21, life),
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

fn above_mean(rows: &Ragged) -> Data {
    // Whole numbers: in whatever order they are added up, the mean is the same.
    let xs = ints(rows.items(), 1 << 20, 23);
    rows.data(("xs", Dtype::F64, xs), Dtype::F64, (0.0, 0.0), reference::above_mean)
}

fn distinct(rows: &Ragged) -> Data {
    let xs = ints(rows.items(), 40, 24);
    rows.data(("xs", Dtype::I64, xs), Dtype::I64, (0.0, 0.0), reference::distinct)
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

fn logistic(n: usize) -> Data {
    let d = 32;
    let (points, weights) = (floats(n * d, 51), floats(d, 52));
    let labels = ints(n, 2, 53);
    let wanted = whole::gradient(&points, &labels, &weights);
    let inputs = vec![
        ("points", Array::new(Dtype::F64, &[n, d]), points),
        vector("labels", Dtype::F64, labels),
        vector("weights", Dtype::F64, weights),
    ];
    Data::new(inputs, Array::new(Dtype::F64, &[d]), wanted, (0.0, 1e-12))
}

fn k_means(n: usize) -> Data {
    let (d, k) = (8, 64);
    // Distances and sums are exact: what is nearest is no matter of rounding.
    let (points, centres) = (coarse(n * d, 54), coarse(k * d, 55));
    let wanted = whole::k_means(&points, &centres, d);
    let inputs = vec![
        ("points", Array::new(Dtype::F64, &[n, d]), points),
        ("centres", Array::new(Dtype::F64, &[k, d]), centres),
    ];
    Data::new(inputs, Array::new(Dtype::F64, &[k, d]), wanted, (0.0, 1e-14))
}

fn inverses(n: usize) -> Data {
    let mut a = floats(n * 16, 56);
    for matrix in a.chunks_mut(16) {
        (0..4).for_each(|i| matrix[i * 5] += 4.0);
    }
    let wanted = a.chunks(16).flat_map(|matrix| whole::inverse(matrix, 4)).collect();
    let array = Array::new(Dtype::F64, &[n, 4, 4]);
    Data::new(vec![("a", array.clone(), a)], array, wanted, (0.0, 1e-12))
}

fn box_means(n: usize) -> Data {
    let (h, w, side) = (n, n + 5, 16);
    let image = floats(h * w, 57);
    let wanted = whole::box_means(&image, w, side);
    let inputs = vec![("image", Array::new(Dtype::F64, &[h, w]), image)];
    // Of sums of all pixels a few are left.
    Data::new(inputs, Array::new(Dtype::F64, &[h + 1 - side, w + 1 - side]), wanted, (0.0, 1e-10))
}

fn cholesky(n: usize) -> Data {
    let mut a = floats(n * n, 58);
    for i in 0..n {
        a[i * n + i] += n as f64;
        (0..i).for_each(|j| a[i * n + j] = a[j * n + i]);
    }
    let wanted = whole::cholesky(&a, n);
    let array = Array::new(Dtype::F64, &[n, n]);
    Data::new(vec![("a", array.clone(), a)], array, wanted, (0.0, 1e-12))
}

fn local_alignment(n: usize) -> Data {
    // The other sequence has the same parts in another order, and one letter in four is drawn anew.
    let (a, other, kept) = (ints(n, 4, 59), ints(n, 4, 60), ints(n, 4, 61));
    let b: Vec<f64> = (0..n).map(|i| if kept[i] > 0.0 { a[(i + n / 3) % n] } else { other[i] }).collect();
    let wanted = vec![whole::local_alignment(&a, &b)];
    let inputs = vec![vector("a", Dtype::U8, a), vector("b", Dtype::U8, b)];
    Data::new(inputs, Array::new(Dtype::I64, &[]), wanted, (0.0, 0.0))
}

fn run_lengths(n: usize) -> Data {
    let levels: Vec<f64> = floats(n, 62).into_iter().map(f64::abs).collect();
    let counts = ints(n, 16, 63);
    let decoded = levels.iter().zip(&counts).flat_map(|(x, count)| vec![x.powf(1.0 / 2.2); *count as usize]);
    let wanted: Vec<f64> = decoded.collect();
    let output = Array::new(Dtype::F32, &[wanted.len()]);
    let inputs = vec![vector("levels", Dtype::F32, levels), vector("counts", Dtype::I64, counts)];
    Data::new(inputs, output, wanted, (1e-5, 0.0))
}

fn rotate(n: usize) -> Data {
    let (h, w) = (n, n / 3 * 4);
    let image = floats(h * w, 64);
    let wanted = whole::rotated(&image, w, 0.5);
    let array = Array::new(Dtype::F64, &[h, w]);
    Data::new(vec![("image", array.clone(), image)], array, wanted, (0.0, 1e-10))
}

fn equalise(n: usize) -> Data {
    // Dark pixels are more frequent than bright ones.
    let image: Vec<f64> = floats(n * n, 65).into_iter().map(|x| (256.0 * x * x).min(255.0).floor()).collect();
    let wanted = whole::equalised(&image);
    let array = Array::new(Dtype::U8, &[n, n]);
    Data::new(vec![("image", array.clone(), image)], array, wanted, (0.0, 0.0))
}

fn best_match(n: usize) -> Data {
    let (m, d) = (n, 128);
    let (queries, keys) = (coarse(n * d, 66), coarse(m * d, 67));
    let wanted = queries.chunks(d).map(|query| whole::best_match(query, &keys)).collect();
    let inputs = vec![
        ("queries", Array::new(Dtype::F32, &[n, d]), queries),
        ("keys", Array::new(Dtype::F32, &[m, d]), keys),
    ];
    Data::new(inputs, Array::new(Dtype::F32, &[n]), wanted, (0.0, 0.0))
}

fn primes(limit: usize) -> Data {
    let inputs = vec![("limit", Array::new(Dtype::I64, &[]), vec![limit as f64])];
    let wanted = vec![whole::primes(limit)];
    let data = Data::new(inputs, Array::new(Dtype::I64, &[]), wanted, (0.0, 0.0));
    Data { computed: Some(limit), ..data }
}

fn shortest_paths(n: usize) -> Data {
    // About eight edges from each node, and one that makes a circle of all.
    let (lengths, there) = (floats(n * n, 68), ints(n * n, n, 69));
    let edge = |(i, j): (usize, usize)| match (j + n - i) % n {
        0 => 0.0,
        1 => 1.0,
        _ if there[i * n + j] < 8.0 => lengths[i * n + j].abs(),
        _ => f64::INFINITY,
    };
    let edges: Vec<f64> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(edge).collect();
    let wanted = whole::shortest_paths(&edges, n);
    let array = Array::new(Dtype::F64, &[n, n]);
    Data::new(vec![("edges", array.clone(), edges)], array, wanted, (0.0, 0.0))
}

fn escape_times(n: usize) -> Data {
    let (w, h) = (n / 3 * 4, n);
    let between = |n: usize, from: f64, to: f64| -> Vec<f64> {
        (0..n).map(|k| from + (to - from) * k as f64 / n as f64).collect()
    };
    let (re, im) = (between(w, -2.25, 0.75), between(h, -1.125, 1.125));
    let wanted = im.iter().flat_map(|y| re.iter().map(|x| whole::escape_time(*x, *y))).collect();
    let inputs = vec![vector("re", Dtype::F64, re), vector("im", Dtype::F64, im)];
    Data::new(inputs, Array::new(Dtype::I64, &[h, w]), wanted, (0.0, 0.0))
}

fn running_median(n: usize) -> Data {
    let xs = floats(n + 4, 70);
    let wanted = xs.windows(5).map(whole::median).collect();
    Data::new(vec![vector("xs", Dtype::F64, xs)], Array::new(Dtype::F64, &[n]), wanted, (0.0, 0.0))
}

fn nearest_five(n: usize) -> Data {
    let (queries, points) = (floats(n * 3, 71), floats(n * 3, 72));
    let wanted = queries.chunks(3).flat_map(|query| whole::nearest_five(query, &points)).collect();
    let inputs = vec![
        ("queries", Array::new(Dtype::F64, &[n, 3]), queries),
        ("points", Array::new(Dtype::F64, &[n, 3]), points),
    ];
    Data::new(inputs, Array::new(Dtype::I64, &[n, 5]), wanted, (0.0, 0.0))
}

fn lookups(n: usize) -> Data {
    let most = 1 << 40;
    let (mut keys, queries, xs) = (ints(n, most, 73), ints(n, most, 74), floats(n, 75));
    keys.sort_by(f64::total_cmp);
    // Each query has a key that is not less.
    keys[n - 1] = most as f64;
    let wanted = vec![queries.iter().map(|q| xs[keys.partition_point(|k| k < q)]).sum()];
    let inputs = vec![
        vector("keys", Dtype::I64, keys),
        vector("xs", Dtype::F64, xs),
        vector("queries", Dtype::I64, queries),
    ];
    Data::new(inputs, Array::new(Dtype::F64, &[]), wanted, (0.0, 1e-9))
}

fn clipped_blur(n: usize) -> Data {
    let (image, weights) = (floats(n * n, 76), floats(25, 77));
    let wanted = whole::clipped_blur(&image, n, &weights);
    let array = Array::new(Dtype::F32, &[n, n]);
    let inputs = vec![("image", array.clone(), image), ("weights", Array::new(Dtype::F32, &[5, 5]), weights)];
    Data::new(inputs, array, wanted, (1e-5, 1e-5))
}

fn life(n: usize) -> Data {
    let board = ints(n * n, 2, 78);
    let wanted = whole::life(&board, n, 50);
    let array = Array::new(Dtype::U8, &[n, n]);
    Data::new(vec![("board", array.clone(), board)], array, wanted, (0.0, 0.0))
}

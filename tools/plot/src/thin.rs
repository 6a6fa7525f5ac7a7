//! Fewer points than there are, with the same picture.
//!
//! A line through millions of points covers, in each column of pixels, what is between the least and the greatest
//! number there. So of each column the first point, the least, the greatest and the last are kept, in their order;
//! lines through these cover the same pixels.

use std::collections::HashSet;

/// A polyline of finite points whose x's do not descend, thinned to columns of that width.
pub fn line(points: &[(f64, f64)], column: f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    let mut rest = points;
    while let Some((x, _)) = rest.first() {
        let here = (x / column).floor();
        let end = rest.iter().position(|(x, _)| (x / column).floor() != here).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if run.len() <= 4 {
            kept.extend_from_slice(run);
            continue;
        }
        let by = |better: fn(f64, f64) -> bool| {
            let pick = |best: usize, i: usize| if better(run[i].1, run[best].1) { i } else { best };
            (1..run.len()).fold(0, pick)
        };
        let mut picked = [0, by(|a, b| a < b), by(|a, b| a > b), run.len() - 1];
        picked.sort_unstable();
        for (k, i) in picked.into_iter().enumerate() {
            if k == 0 || picked[k - 1] != i {
                kept.push(run[i]);
            }
        }
    }
    kept
}

/// Points that others do not cover: one for each square of that size.
pub fn dots(points: &[(f64, f64)], square: f64) -> Vec<(f64, f64)> {
    let mut taken = HashSet::new();
    let cell = |x: f64| (x / square).round() as i64;
    points.iter().copied().filter(|(x, y)| taken.insert((cell(*x), cell(*y)))).collect()
}

/// At most so many numbers: of neighbours, the one that is farthest from 0.
pub fn bars(values: &[f64], most: usize) -> Vec<f64> {
    let each = values.len().div_ceil(most.max(1)).max(1);
    let farthest = |run: &[f64]| {
        run.iter()
            .copied()
            .filter(|x| x.is_finite())
            .fold(f64::NAN, |far, x| if far.is_nan() || x.abs() > far.abs() { x } else { far })
    };
    values.chunks(each).map(farthest).collect()
}

/// A grid of at most so many rows and columns: the means of blocks, and how many rows and columns a block has.
pub fn grid(cells: &[f64], (rows, columns): (usize, usize), most: usize) -> (Vec<f64>, usize, usize, usize) {
    let each = rows.max(columns).div_ceil(most).max(1);
    if each == 1 {
        return (cells.to_vec(), rows, columns, 1);
    }
    let (down, across) = (rows.div_ceil(each), columns.div_ceil(each));
    let mut sums = vec![(0.0, 0u32); down * across];
    for (i, x) in cells.iter().enumerate().filter(|(_, x)| x.is_finite()) {
        let (sum, n) = &mut sums[i / columns / each * across + i % columns / each];
        *n += 1;
        // The mean so far: a sum might be no number.
        *sum += x / f64::from(*n) - *sum / f64::from(*n);
    }
    let means = sums.into_iter().map(|(mean, n)| if n == 0 { f64::NAN } else { mean });
    (means.collect(), down, across, each)
}

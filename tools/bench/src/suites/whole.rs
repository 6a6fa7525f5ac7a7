//! What the programs over whole arrays must give, in double precision, by the loops that their definitions are.

use super::reference::nearest;

/// The gradient of a logistic regression: the mean of points, each times what its prediction has too much.
pub fn gradient(points: &[f64], labels: &[f64], weights: &[f64]) -> Vec<f64> {
    let d = weights.len();
    let mut sums = vec![0.0; d];
    for (point, label) in points.chunks(d).zip(labels) {
        let at: f64 = point.iter().zip(weights).map(|(x, w)| x * w).sum();
        let error = 1.0 / (1.0 + (-at).exp()) - label;
        sums.iter_mut().zip(point).for_each(|(sum, x)| *sum += error * x);
    }
    sums.into_iter().map(|sum| sum / labels.len() as f64).collect()
}

/// The means of the points that are nearest to each centre, or the centre where there are none.
pub fn k_means(points: &[f64], centres: &[f64], d: usize) -> Vec<f64> {
    let mut sums = vec![0.0; centres.len()];
    let mut counts = vec![0.0; centres.len() / d];
    for point in points.chunks(d) {
        let owner = nearest(point, centres) as usize;
        counts[owner] += 1.0;
        sums[owner * d..][..d].iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
    }
    let mean = |(i, sum): (usize, f64)| if counts[i / d] > 0.0 { sum / counts[i / d] } else { centres[i] };
    sums.into_iter().enumerate().map(mean).collect()
}

/// The inverse of an n × n matrix, with the greatest pivots.
pub fn inverse(a: &[f64], n: usize) -> Vec<f64> {
    let unit = |i: usize| (0..n).map(move |j| if i == j { 1.0 } else { 0.0 });
    let mut rows: Vec<Vec<f64>> =
        a.chunks(n).enumerate().map(|(i, row)| row.iter().copied().chain(unit(i)).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| rows[*i][k].abs().total_cmp(&rows[*j][k].abs())).unwrap_or(k);
        rows.swap(k, pivot);
        let factor = 1.0 / rows[k][k];
        rows[k].iter_mut().for_each(|x| *x *= factor);
        let from = rows[k].clone();
        for i in (0..n).filter(|i| *i != k) {
            let factor = rows[i][k];
            rows[i].iter_mut().zip(&from).for_each(|(x, p)| *x -= factor * p);
        }
    }
    rows.into_iter().flat_map(|row| row.into_iter().skip(n)).collect()
}

/// The mean of each square of so many pixels of an image of width `w`, pixel by pixel: first along the rows.
pub fn box_means(image: &[f64], w: usize, side: usize) -> Vec<f64> {
    let along: Vec<f64> =
        image.chunks(w).flat_map(|row| row.windows(side)).map(|pixels| pixels.iter().sum()).collect();
    let (w, h) = (w + 1 - side, image.len() / w);
    let mean = |at: usize| (0..side).map(|i| along[at + i * w]).sum::<f64>() / (side * side) as f64;
    (0..(h + 1 - side) * w).map(mean).collect()
}

/// The lower triangle whose product with its transpose is a matrix.
pub fn cholesky(a: &[f64], n: usize) -> Vec<f64> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let products: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let left = a[i * n + j] - products;
            l[i * n + j] = if i == j { left.sqrt() } else { left / l[j * n + j] };
        }
    }
    l
}

/// The best score of parts of two sequences: 2 for equal letters, -1 for different ones and for gaps.
pub fn local_alignment(a: &[f64], b: &[f64]) -> f64 {
    let mut above = vec![0i64; b.len() + 1];
    let mut best = 0;
    for letter in a {
        let mut row = vec![0];
        for (j, other) in b.iter().enumerate() {
            let pair = above[j] + if letter == other { 2 } else { -1 };
            row.push(pair.max(above[j + 1] - 1).max(row[j] - 1).max(0));
        }
        best = row.iter().copied().fold(best, i64::max);
        above = row;
    }
    best as f64
}

/// An image of width `w` turned by an angle about its middle, with 0 beyond its ends.
pub fn rotated(image: &[f64], w: usize, angle: f64) -> Vec<f64> {
    let h = image.len() / w;
    let pixel = |i: f64, j: f64| {
        let inside = i >= 0.0 && i < h as f64 && j >= 0.0 && j < w as f64;
        if inside { image[i as usize * w + j as usize] } else { 0.0 }
    };
    let (middle_y, middle_x) = ((h - 1) as f64 / 2.0, (w - 1) as f64 / 2.0);
    let value = |at: usize| {
        let (y, x) = ((at / w) as f64 - middle_y, (at % w) as f64 - middle_x);
        let from_y = middle_y + (angle.cos() * y - angle.sin() * x);
        let from_x = middle_x + (angle.sin() * y + angle.cos() * x);
        let (i, j) = (from_y.floor(), from_x.floor());
        let (down, right) = (from_y - i, from_x - j);
        let row = |i: f64| (1.0 - right) * pixel(i, j) + right * pixel(i, j + 1.0);
        (1.0 - down) * row(i) + down * row(i + 1.0)
    };
    (0..h * w).map(value).collect()
}

/// Each level of 256 becomes the share of items that are not greater, from 0 to 255.
pub fn equalised(levels: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.0; 256];
    levels.iter().for_each(|x| counts[*x as usize] += 1.0);
    let sums = super::reference::running_sums(&counts);
    let new: Vec<f64> = sums.iter().map(|sum| (255.0 * (sum / sums[255])).round_ties_even()).collect();
    levels.iter().map(|x| new[*x as usize]).collect()
}

/// The greatest product of a row with any of others.
pub fn best_match(query: &[f64], keys: &[f64]) -> f64 {
    let product = |key: &[f64]| query.iter().zip(key).map(|(x, y)| x * y).sum::<f64>();
    keys.chunks(query.len()).map(product).fold(f64::NEG_INFINITY, f64::max)
}

/// How many primes there are below a number.
pub fn primes(limit: usize) -> f64 {
    let mut composite = vec![false; limit];
    for p in (2..limit).take_while(|p| p * p < limit) {
        if !composite[p] {
            (p * p..limit).step_by(p).for_each(|i| composite[i] = true);
        }
    }
    composite.iter().skip(2).filter(|c| !**c).count() as f64
}

/// The lengths of the shortest paths between n nodes.
pub fn shortest_paths(edges: &[f64], n: usize) -> Vec<f64> {
    let mut paths = edges.to_vec();
    for k in 0..n {
        let from_k = paths[k * n..][..n].to_vec();
        for row in paths.chunks_mut(n) {
            let to_k = row[k];
            row.iter_mut().zip(&from_k).for_each(|(x, y)| *x = x.min(to_k + y));
        }
    }
    paths
}

/// How many steps `z = z^2 + c` takes from 0 to leave the circle of radius 2, at most 200.
pub fn escape_time(re: f64, im: f64) -> f64 {
    let (mut x, mut y, mut steps) = (0.0, 0.0, 0);
    while steps < 200 && x * x + y * y <= 4.0 {
        (x, y) = (re + (x * x - y * y), im + 2.0 * (x * y));
        steps += 1;
    }
    f64::from(steps)
}

pub fn median(items: &[f64]) -> f64 {
    let mut sorted = items.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[items.len() / 2]
}

/// The places of the five points that are nearest to one, the nearest first.
pub fn nearest_five(query: &[f64], points: &[f64]) -> Vec<f64> {
    let distance = |p: &[f64]| p.iter().zip(query).map(|(a, b)| (b - a) * (b - a)).sum::<f64>();
    let mut all: Vec<(f64, usize)> = points.chunks(3).map(distance).zip(0..).collect();
    all.select_nth_unstable_by(5, |a, b| a.0.total_cmp(&b.0));
    all.truncate(5);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, place)| place as f64).collect()
}

/// The weighted sums of the 5 × 5 pixels around each of an image of width `w`, whose border is repeated beyond it.
pub fn clipped_blur(image: &[f64], w: usize, weights: &[f64]) -> Vec<f64> {
    let h = image.len() / w;
    let clipped = |i: usize, by: usize, n: usize| (i + by).saturating_sub(2).min(n - 1);
    let value = |at: usize| {
        let pixel = |(k, weight): (usize, &f64)| {
            weight * image[clipped(at / w, k / 5, h) * w + clipped(at % w, k % 5, w)]
        };
        weights.iter().enumerate().map(pixel).sum()
    };
    (0..h * w).map(value).collect()
}

/// A board of `n` by `n` cells whose edges meet, after some generations of the game of life.
pub fn life(board: &[f64], n: usize, generations: usize) -> Vec<f64> {
    let mut board = board.to_vec();
    for _ in 0..generations {
        let cell = |at: usize| {
            let (i, j) = (at / n + n - 1, at % n + n - 1);
            let around: f64 = (0..9).map(|k| board[(i + k / 3) % n * n + (j + k % 3) % n]).sum();
            f64::from(u8::from(around == 3.0 || around == 4.0 && board[at] == 1.0))
        };
        board = (0..n * n).map(cell).collect();
    }
    board
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    /// Values that are worked out by hand.
    #[test]
    fn small_cases() {
        let near = |a: &[f64], b: &[f64]| {
            assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
        };
        // Both are predicted with 1/2.
        near(&gradient(&[1.0, 0.0, 2.0, 4.0], &[0.0, 1.0], &[0.0, 0.0]), &[-0.25, -1.0]);
        near(&k_means(&[0.0, 1.0, 5.0, 9.0], &[8.0, 1.0, 99.0], 1), &[7.0, 0.5, 99.0]);
        near(&inverse(&[0.0, 2.0, 4.0, 0.0], 2), &[0.0, 0.25, 0.5, 0.0]);
        near(&box_means(&[1.0, 2.0, 3.0, 5.0, 6.0, 7.0], 3, 2), &[3.5, 4.5]);
        near(&cholesky(&[4.0, 2.0, 2.0, 10.0], 2), &[2.0, 0.0, 1.0, 3.0]);
        let letters = |word: &str| word.bytes().map(f64::from).collect::<Vec<f64>>();
        // GTT-AC and GTTGAC.
        assert_eq!(local_alignment(&letters("GGTTGACTA"), &letters("TGTTACGG")), 9.0);
        near(&rotated(&[1.0, 2.0, 3.0, 4.0], 2, FRAC_PI_2), &[3.0, 1.0, 4.0, 2.0]);
        assert_eq!(equalised(&[7.0, 9.0, 7.0, 200.0]), [128.0, 191.0, 128.0, 255.0]);
        assert_eq!(best_match(&[1.0, 2.0], &[3.0, 0.0, 1.0, 2.0]), 5.0);
        assert_eq!([2, 3, 30, 1000].map(primes), [0.0, 1.0, 10.0, 168.0]);
        let inf = f64::INFINITY;
        let edges = [0.0, 1.0, inf, inf, 0.0, 1.0, 5.0, inf, 0.0];
        assert_eq!(shortest_paths(&edges, 3), [0.0, 1.0, 2.0, 6.0, 0.0, 1.0, 5.0, 6.0, 0.0]);
        assert_eq!([escape_time(0.0, 0.0), escape_time(2.0, 0.0), escape_time(3.0, 0.0)], [200.0, 2.0, 1.0]);
        assert_eq!(median(&[3.0, 1.0, 2.0, 9.0, 0.0]), 2.0);
        let line: Vec<f64> = (0..7).flat_map(|x| [f64::from(x), 0.0, 0.0]).collect();
        assert_eq!(nearest_five(&[4.2, 0.0, 0.0], &line), [4.0, 5.0, 3.0, 6.0, 2.0]);
        let ramp: Vec<f64> = (0..25).map(f64::from).collect();
        // Of one pixel all around are itself; of two the left one has three columns, the right one two.
        assert_eq!(clipped_blur(&[2.0], 1, &[1.0; 25]), [50.0]);
        assert_eq!(clipped_blur(&[1.0, 0.0], 2, &ramp)[0], 165.0);
        let blinker =
            |cells: [usize; 3]| (0..25).map(|k| f64::from(u8::from(cells.contains(&k)))).collect::<Vec<_>>();
        assert_eq!(life(&blinker([7, 12, 17]), 5, 1), blinker([11, 12, 13]));
    }
}

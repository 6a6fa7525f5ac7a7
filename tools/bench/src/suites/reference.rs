//! What the programs must give, in double precision, by the loops that their definitions are.

/// Calls a function of each row, and puts the results one after the other.
pub fn by_row<T>(xs: &[f64], lengths: &[f64], of: impl Fn(&[f64]) -> T) -> Vec<f64>
where
    T: IntoIterator<Item = f64>,
{
    let mut rest = xs;
    let mut results = Vec::new();
    for length in lengths {
        let (row, after) = rest.split_at(*length as usize);
        results.extend(of(row));
        rest = after;
    }
    results
}

pub fn softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

pub fn greatest(row: &[f64], count: usize) -> Vec<f64> {
    let mut sorted = row.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.truncate(count);
    sorted
}

pub fn above_mean(row: &[f64]) -> Vec<f64> {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    row.iter().copied().filter(|x| *x > mean).collect()
}

pub fn distinct(row: &[f64]) -> Vec<f64> {
    let mut all = sorted(row);
    all.dedup();
    all
}

pub fn sorted(row: &[f64]) -> Vec<f64> {
    let mut sorted = row.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A row less its mean, by what a function makes of its variance.
pub fn normal(row: &[f64], scale: impl Fn(f64) -> f64) -> Vec<f64> {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
    row.iter().map(|x| (x - mean) / scale(variance)).collect()
}

pub fn running_sums(row: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let next = |x: &f64| {
        sum += x;
        sum
    };
    row.iter().map(next).collect()
}

/// The sum of the sines of the first multiples of a step, 0 being one of them.
pub fn sines(count: usize, step: f64) -> f64 {
    (0..count).map(|j| (step * j as f64).sin()).sum()
}

/// So many terms of the harmonic series, from 1 / a on.
pub fn harmonic(count: usize, a: f64) -> f64 {
    (0..count).map(|j| 1.0 / (a + j as f64)).sum()
}

/// How many divisors a number has.
pub fn divisors(n: usize) -> f64 {
    (1..=n).filter(|d| n.is_multiple_of(*d)).count() as f64
}

/// The first place of the least item.
pub fn least_at(row: &[f64]) -> f64 {
    let least = row.iter().copied().fold(f64::INFINITY, f64::min);
    row.iter().position(|x| *x == least).map_or(f64::NAN, |i| i as f64)
}

/// The item at a place that may be beyond the ends, which go on there.
fn clamped(row: &[f64], at: i64) -> f64 {
    row[at.clamp(0, row.len() as i64 - 1) as usize]
}

/// The mean of each item and so many neighbours on either side.
pub fn averages(row: &[f64], beside: i64) -> Vec<f64> {
    let mean = |i| (i - beside..=i + beside).map(|j| clamped(row, j)).sum::<f64>() / (2 * beside + 1) as f64;
    (0..row.len() as i64).map(mean).collect()
}

pub fn smoothed(row: &[f64], steps: usize) -> Vec<f64> {
    (0..steps).fold(row.to_vec(), |row, _| averages(&row, 1))
}

pub fn drawdowns(row: &[f64]) -> Vec<f64> {
    let (mut sum, mut most) = (0.0, f64::NEG_INFINITY);
    row.iter()
        .map(|x| {
            sum += x;
            most = f64::max(most, sum);
            most - sum
        })
        .collect()
}

pub fn close_pairs(row: &[f64], nearer_than: f64) -> f64 {
    let behind =
        |(i, x): (usize, &f64)| row[i + 1..].iter().filter(|y| (x - **y).abs() < nearer_than).count();
    row.iter().enumerate().map(behind).sum::<usize>() as f64
}

pub fn entropy(symbols: &[f64], count: usize) -> f64 {
    let mut counts = vec![0.0; count];
    symbols.iter().for_each(|s| counts[*s as usize] += 1.0);
    let shares = counts.iter().map(|c| c / symbols.len() as f64).filter(|p| *p > 0.0);
    -shares.map(|p: f64| p * p.log2()).sum::<f64>()
}

/// A sparse row times a matrix, of whose rows the items of the sparse row are weights.
pub fn combination(weights: &[f64], columns: &[f64], m: &[f64], width: usize) -> Vec<f64> {
    let of_column = |j| {
        let terms = weights.iter().zip(columns);
        terms.map(|(w, c)| w * m[*c as usize * width + j]).sum()
    };
    (0..width).map(of_column).collect()
}

pub fn edit_distance(a: &[f64], b: &[f64]) -> f64 {
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let changed = above[j] + usize::from(letter != other);
            row.push(changed.min(above[j + 1] + 1).min(row[j] + 1));
        }
        above = row;
    }
    above[b.len()] as f64
}

/// How long the longest run of letters from a to z is.
pub fn longest_word(line: &[f64]) -> f64 {
    let letter = |c: &f64| (97.0..=122.0).contains(c);
    line.split(|c| !letter(c)).map(<[f64]>::len).max().unwrap_or(0) as f64
}

pub fn nearest(point: &[f64], centres: &[f64]) -> f64 {
    let distance = |centre: &[f64]| point.iter().zip(centre).map(|(p, c)| (p - c).powi(2)).sum::<f64>();
    let distances: Vec<f64> = centres.chunks(point.len()).map(distance).collect();
    // The first of those that are as near as any.
    let least = (0..distances.len()).min_by(|i, j| distances[*i].total_cmp(&distances[*j]));
    least.map_or(f64::NAN, |i| i as f64)
}

/// The solution of a system of equations, with the greatest pivots.
pub fn solution(a: &[f64], b: &[f64]) -> Vec<f64> {
    let d = b.len();
    let mut rows: Vec<Vec<f64>> = a.chunks(d).zip(b).map(|(row, y)| [row, &[*y]].concat()).collect();
    for k in 0..d {
        let pivot = (k..d).max_by(|i, j| rows[*i][k].abs().total_cmp(&rows[*j][k].abs())).unwrap_or(k);
        rows.swap(k, pivot);
        for i in (0..d).filter(|i| *i != k) {
            let factor = rows[i][k] / rows[k][k];
            let from = rows[k].clone();
            rows[i].iter_mut().zip(from).for_each(|(x, p)| *x -= factor * p);
        }
    }
    (0..d).map(|k| rows[k][d] / rows[k][k]).collect()
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
        near(&by_row(&[1.0, 2.0, 3.0], &[2.0, 0.0, 1.0], |row| [row.iter().sum()]), &[3.0, 0.0, 3.0]);
        near(&softmax(&[0.0, 3f64.ln()]), &[0.25, 0.75]);
        near(&greatest(&[1.0, 5.0, 2.0, 5.0], 3), &[5.0, 5.0, 2.0]);
        near(&greatest(&[1.0], 3), &[1.0]);
        near(&sorted(&[3.0, -1.0, 2.0]), &[-1.0, 2.0, 3.0]);
        near(&normal(&[1.0, 5.0, 3.0, 3.0], f64::sqrt), &[-(2f64.sqrt()), 2f64.sqrt(), 0.0, 0.0]);
        near(&running_sums(&[2.0, 10.0, 5.0]), &[2.0, 12.0, 17.0]);
        near(&[sines(4, FRAC_PI_2), sines(0, 1.0)], &[0.0, 0.0]);
        near(&[sines(3, FRAC_PI_2), harmonic(3, 2.0)], &[1.0, 13.0 / 12.0]);
        assert_eq!([1, 6, 7, 12].map(divisors), [1.0, 4.0, 2.0, 6.0]);
        assert_eq!(least_at(&[3.0, 1.0, 2.0, 1.0]), 1.0);
        near(&averages(&[1.0, 2.0, 3.0, 9.0], 2), &[1.6, 3.2, 4.8, 6.4]);
        near(&smoothed(&[0.0, 3.0, 0.0], 2), &[1.0, 1.0, 1.0]);
        near(&drawdowns(&[1.0, -3.0, 4.0]), &[0.0, 3.0, 0.0]);
        assert_eq!(close_pairs(&[1.0, 3.0, 1.5, 2.0], 1.0), 2.0);
        assert_eq!(entropy(&[0.0, 1.0, 1.0, 0.0], 4), 1.0);
        near(&combination(&[2.0, 3.0], &[1.0, 0.0], &[1.0, 10.0, 100.0, 1000.0], 2), &[203.0, 2030.0]);
        let letters = |word: &str| word.bytes().map(f64::from).collect::<Vec<f64>>();
        assert_eq!(edit_distance(&letters("kitten"), &letters("sitting")), 3.0);
        assert_eq!(longest_word(&letters("to be, perhaps.\n")), 7.0);
        assert_eq!(nearest(&[1.0, 1.0], &[5.0, 5.0, 0.0, 1.0, 1.0, 0.0]), 1.0);
        near(&solution(&[2.0, 1.0, 1.0, 3.0], &[3.0, 4.0]), &[1.0, 1.0]);
    }
}

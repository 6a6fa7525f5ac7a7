//! How often numbers are in equal ranges.

use crate::numbers::range;

/// The edges of the ranges, one more than there are, and the counts. The numbers must have a finite one among them.
///
/// The width is that of Freedman and Diaconis, 2 · IQR / ∛n; whole numbers that are few have a range each.
pub fn histogram(numbers: &[f64], whole: bool) -> (Vec<f64>, Vec<f64>) {
    const MOST: f64 = 60.0;
    let mut sorted: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = range(sorted.iter().copied()).unwrap_or((0.0, 1.0));
    let n = sorted.len();
    let length = high - low;
    let (first, width, bins) = if length == 0.0 || !length.is_finite() {
        let width = if whole { 1.0 } else { (low.abs() * 0.1).max(0.1) };
        match length == 0.0 {
            true => (low - width / 2.0, width, 1),
            // So far apart that their distance is no number.
            false => (low, high / 20.0 - low / 20.0, 20),
        }
    } else if whole && length < MOST {
        (low - 0.5, 1.0, length as usize + 1)
    } else {
        let quartile = |q: f64| sorted[((n - 1) as f64 * q).round() as usize];
        let spread = quartile(0.75) - quartile(0.25);
        let ideal = 2.0 * spread / (n as f64).cbrt();
        let bins = if ideal > 0.0 { (length / ideal).ceil() } else { (n as f64).sqrt().ceil() };
        let bins = bins.clamp(1.0, MOST);
        match whole {
            // A range of whole numbers has as many of them as the next.
            true => {
                let width = ((length + 1.0) / bins).ceil();
                (low - 0.5, width, ((length + 1.0) / width).ceil() as usize)
            }
            false => (low, length / bins, bins as usize),
        }
    };
    let mut counts = vec![0.0; bins];
    for x in &sorted {
        let at = (x / width - first / width).floor().clamp(0.0, (bins - 1) as f64);
        counts[at as usize] += 1.0;
    }
    let edge = |i: usize| match length.is_finite() {
        true => first + width * i as f64,
        false => low * (1.0 - i as f64 / bins as f64) + high * (i as f64 / bins as f64),
    };
    ((0..=bins).map(edge).collect(), counts)
}

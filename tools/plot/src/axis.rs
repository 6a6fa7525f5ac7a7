//! Axes: which numbers they span, and where their ticks are.

use crate::numbers::range;

/// A range of numbers, and the part of the picture that it is.
#[derive(Clone, Debug)]
pub struct Axis {
    pub low: f64,
    pub high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis over the finite ones of some numbers, from and to places in the picture.
    pub fn new(numbers: impl IntoIterator<Item = f64>, (from, to): (f64, f64)) -> Axis {
        let (low, high) = range(numbers).unwrap_or((0.0, 1.0));
        let (low, high) = match low == high {
            false => (low, high),
            // A constant is in the middle.
            true if low == 0.0 => (-1.0, 1.0),
            true => (low - low.abs() * 0.1, low + low.abs() * 0.1),
        };
        let limit = |x: f64| x.clamp(f64::MIN, f64::MAX);
        Axis { low: limit(low), high: limit(high), from, to }
    }

    /// With as much room at both ends as a part of its length.
    pub fn padded(mut self, part: f64) -> Axis {
        let room = (self.high * part - self.low * part).max(0.0);
        self.low = (self.low - room).max(f64::MIN);
        self.high = (self.high + room).min(f64::MAX);
        self
    }

    /// The same numbers at another place.
    pub fn between(mut self, (from, to): (f64, f64)) -> Axis {
        (self.from, self.to) = (from, to);
        self
    }

    /// Where a number is.
    pub fn at(&self, x: f64) -> f64 {
        self.from + part(x, (self.low, self.high)) * (self.to - self.from)
    }

    /// Some five to eight round numbers of the axis, `most` at most, and whole if that is asked.
    pub fn ticks(&self, most: usize, whole: bool) -> Vec<f64> {
        let most = most.max(1);
        let rough = self.high / most as f64 - self.low / most as f64;
        // As it is written: a power that is computed may be off by a bit.
        let power: f64 = format!("1e{}", rough.log10().floor()).parse().unwrap_or(0.0);
        let mut step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * power)
            .find(|step| *step >= rough * 0.999_999)
            .unwrap_or(rough);
        if whole {
            step = step.max(1.0).round();
        }
        if !step.is_finite() || step <= 0.0 {
            return vec![self.low, self.high];
        }
        let first = (self.low / step).ceil();
        (0..=most + 1)
            .map(|i| (first + i as f64) * step)
            .take_while(|x| x.is_finite() && *x <= self.high + step * 1e-9)
            // −0 is no number that people write.
            .map(|x| if x == 0.0 { 0.0 } else { x })
            .collect()
    }

    /// The ticks with what is written at them.
    pub fn labels(&self, most: usize, whole: bool) -> Vec<(f64, String)> {
        let ticks = self.ticks(most, whole);
        let texts = labels(&ticks);
        ticks.into_iter().zip(texts).collect()
    }
}

/// Where a number is between two others: 0 at the lower one, 1 at the higher one.
pub fn part(x: f64, (low, high): (f64, f64)) -> f64 {
    // The whole length of an axis may be no number: then its half is one.
    let (x, low, high) = match (high - low).is_finite() {
        true => (x, low, high),
        false => (x / 2.0, low / 2.0, high / 2.0),
    };
    if high > low { (x - low) / (high - low) } else { 0.5 }
}

/// Numbers at equal distances, all with as many digits as tell them apart.
fn labels(ticks: &[f64]) -> Vec<String> {
    let step = ticks.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    let largest = ticks.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if largest != 0.0 && !(1e-3..1e6).contains(&largest) {
        // As many digits as the steps need below the largest.
        let digits = match step.is_finite() && step > 0.0 {
            true => (largest.log10().floor() - step.log10().floor()).clamp(0.0, 15.0) as usize,
            false => 2,
        };
        return ticks.iter().map(|x| exponent(*x, digits)).collect();
    }
    let digits = match step.is_finite() && step > 0.0 {
        true => (-(step * 1.000_001).log10().floor()).clamp(0.0, 12.0) as usize,
        false => 3,
    };
    ticks.iter().map(|x| minus(format!("{x:.digits$}"))).collect()
}

/// `2.5e6`
fn exponent(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{x:.digits$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    minus(format!("{mantissa}e{power}"))
}

/// A number as it is said in a sentence or at a bar: of few digits.
pub fn said(x: f64) -> String {
    if x == x.trunc() && x.abs() < 1e7 {
        return minus(format!("{x:.0}"));
    }
    if !(1e-4..1e7).contains(&x.abs()) {
        return exponent(x, 3);
    }
    let digits = (3.0 - x.abs().log10().floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{x:.digits$}");
    minus(match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    })
}

/// With a minus sign that is as wide as a plus.
fn minus(text: String) -> String {
    if text.chars().all(|c| matches!(c, '-' | '0' | '.')) {
        return text.replace('-', "");
    }
    text.replace('-', "−")
}

//! Axes of charts: where a value lies, and which are written beside it. An axis whose values span decades is logarithmic.

/// Values from `low` to `high` along a line from `from` to `to`, in the units of a drawing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    pub is_log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// What is beyond this is no size of anything: a number that is never reached.
pub const FAR: f64 = 1e15;
/// The part of an axis that is left free at its ends.
const FREE: f64 = 0.06;

impl Axis {
    /// An axis for some values. A linear one begins at 0 if `zero`.
    pub fn new(values: impl IntoIterator<Item = f64>, zero: bool, (from, to): (f64, f64)) -> Axis {
        let all: Vec<f64> = values.into_iter().filter(|x| *x > 0.0 && *x < FAR).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let (low, high) = if all.is_empty() { (1.0, 2.0) } else { (low, high) };
        if high / low >= 10.0 {
            let free = (high / low).powf(FREE);
            return Axis { is_log: true, low: low / free, high: high * free, from, to };
        }
        let free = FREE * if zero { high } else { (high - low).max(0.2 * high) };
        let low = if zero { 0.0 } else { (low - free).max(0.0) };
        Axis { is_log: false, low, high: high + free, from, to }
    }

    /// Where a value lies; what is beyond an end lies at that end.
    pub fn at(&self, x: f64) -> f64 {
        let part = match self.is_log {
            true => (x.max(1e-300) / self.low).ln() / (self.high / self.low).ln(),
            false => (x - self.low) / (self.high - self.low),
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The values that are written beside it; whole ones, if `whole`.
    pub fn ticks(&self, whole: bool) -> Vec<f64> {
        let inside = |x: &f64| *x >= self.low && *x <= self.high;
        if self.is_log {
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            let decades = (first..=last).map(|k| 10f64.powi(k)).filter(inside).count();
            let parts: &[f64] = match decades {
                0..=2 => &[1.0, 2.0, 5.0],
                3..=4 => &[1.0, 3.0],
                _ => &[1.0],
            };
            let step = decades.div_ceil(8).max(1) as i32;
            let decades = (first..=last).filter(|k| k.rem_euclid(step) == 0);
            let all = decades.flat_map(|k| parts.iter().map(move |p| p * 10f64.powi(k)));
            return all.filter(inside).filter(|x| !whole || *x >= 1.0).collect();
        }
        let raw = (self.high - self.low) / 5.0;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= raw);
        let step = step.unwrap_or(raw).max(if whole { 1.0 } else { 0.0 });
        let first = (self.low / step).ceil() as i64;
        (0..12).map(|k| (first + k) as f64 * step).filter(inside).collect()
    }
}

/// A number with three digits at most, and no zeros behind.
fn short(x: f64) -> String {
    let digits = (2 - x.abs().max(1e-9).log10().floor() as i32).clamp(0, 3) as usize;
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A time beside an axis.
pub fn of_time(s: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    match units.into_iter().find(|(unit, _)| s >= 0.9999 * unit) {
        Some((unit, name)) => format!("{} {name}", short(s / unit)),
        None => "0".to_owned(),
    }
}

/// A size beside an axis: `200`, `3k`, `20M`.
pub fn of_size(n: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| n >= 0.9999 * unit && n >= 9999.5) {
        Some((unit, name)) => format!("{}{name}", short(n / unit)),
        None => short(n),
    }
}

/// A ratio beside an axis.
pub fn of_ratio(x: f64) -> String {
    format!("{}×", short(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_logarithmic_where_values_span_decades() {
        let axis = Axis::new([3e-6, 2e-3], false, (0.0, 100.0));
        assert!(axis.is_log && axis.at(3e-6) > 0.0 && axis.at(2e-3) < 100.0);
        assert!((axis.at((3e-6f64 * 2e-3).sqrt()) - 50.0).abs() < 1e-9);
        let ticks: Vec<String> = axis.ticks(false).into_iter().map(of_time).collect();
        assert_eq!(ticks, ["3 µs", "10 µs", "30 µs", "100 µs", "300 µs", "1 ms", "3 ms"][..ticks.len()]);
        let axis = Axis::new([0.3, 0.8], true, (0.0, 100.0));
        assert!(!axis.is_log && axis.at(0.0) == 0.0 && axis.at(9.0) == 100.0);
        assert_eq!(
            axis.ticks(false).into_iter().map(of_time).collect::<Vec<_>>(),
            ["0", "200 ms", "400 ms", "600 ms", "800 ms"]
        );
        // A value that no size reaches is at the end, and does not stretch the axis.
        let axis = Axis::new([4.0, i64::MAX as f64], false, (0.0, 100.0));
        assert_eq!(axis.at(i64::MAX as f64), 100.0);
        assert!(axis.ticks(true).iter().all(|x| x.fract() == 0.0));
    }

    #[test]
    fn numbers_beside_axes_are_short() {
        assert_eq!([2e-9, 1e-6, 0.5, 30.0].map(of_time), ["2 ns", "1 µs", "500 ms", "30 s"]);
        assert_eq!([7.0, 2000.0, 20000.0, 3e6, 2.0 * 1e9].map(of_size), ["7", "2000", "20k", "3M", "2G"]);
        assert_eq!([1.0, 1.25, 10.0].map(of_ratio), ["1×", "1.25×", "10×"]);
    }
}

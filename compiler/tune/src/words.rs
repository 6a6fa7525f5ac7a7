//! How times, sizes and values are called, on the terminal, in the file and in the report.

use crate::measured::{On, Tried};
use remc_flat::flatten::{ALWAYS, NEVER, Threshold};

/// Seconds, in a unit that leaves few digits before the point.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A number's value: of a threshold that every size reaches, or none, a word.
pub fn number_of(name: &str, value: i64) -> String {
    match (value, Threshold::of_name(name)) {
        (ALWAYS, Some(_)) => "always".to_owned(),
        (NEVER, Some(_)) => "never".to_owned(),
        _ => value.to_string(),
    }
}

/// The sizes that were compared: `size 10`, `400 sizes from 1 to 400`. Nothing of a field of a schedule.
pub fn sizes(on: &On) -> String {
    match on.sizes.as_slice() {
        [one] => format!("size {one}"),
        [first, .., last] => format!("{} sizes from {first} to {last}", on.count),
        [] => String::new(),
    }
}

/// A value that was tried, by the sizes that it tells apart.
pub fn at(on: &On, tried: &Tried) -> String {
    match on.sizes.as_slice() {
        [one] if tried.at <= *one => format!("≤ {one}"),
        [.., last] if tried.at > *last => "more".to_owned(),
        _ => tried.at.to_string(),
    }
}

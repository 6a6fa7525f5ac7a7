//! Data sets that a folder describes: `datasets.toml`.
//!
//! ```toml
//! [small]
//! m = { shape = [10, 20] }                                             # from 0 to 1, evenly
//! at = { shape = [100], low = 0, high = 10, seed = 3 }
//! lengths = { shape = [1000], distribution = "zipf", exponent = 1.1, high = 5000 }
//! k = 3                                                                # a number, or a Remora literal as a string
//! ```
//!
//! A table is a data set, a key of it a parameter, whose element type is the entry's. The numbers depend on the seed, the
//! name of the parameter and their places alone (splitmix64; Steele, Lea, Flood 2014), so that they are the same
//! everywhere.

use crate::codes;
use crate::report::{Outcome, fail, usage};
use remc_base::ops::cast;
use remc_base::{AtomTy, BaseTy, Name, Scalar, Value};
use remc_runtime::budget::Budget;
use remc_typed::ir::EntrySignature;
use std::path::Path;
use toml_edit::{Document, Item, TableLike};

/// The name of the file in a folder of data sets.
pub const FILE: &str = "datasets.toml";

/// A data set that is described: its name, and for each parameter a literal or how to make it.
pub struct Described {
    pub label: String,
    pub inputs: Vec<(String, Given)>,
}

pub enum Given {
    Literal(String),
    Made(Recipe),
}

/// How to make an array.
pub struct Recipe {
    shape: Vec<usize>,
    numbers: Numbers,
    seed: u64,
}

/// Where numbers come from.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Numbers {
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    /// From 1 to `high`, the k-th with a chance of about k to the power of minus `exponent`.
    Zipf {
        exponent: f64,
        high: f64,
    },
    /// `low`, but for the first, which is `high`.
    Giant {
        low: f64,
        high: f64,
    },
    Constant(f64),
}

/// What a `datasets.toml` describes for an entry, in its order.
pub fn described(path: &Path, sig: &EntrySignature) -> Outcome<Vec<Described>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) => {
            let why = remc_driver::session::describe_read(&e);
            return fail(usage(codes::TUNE, format!("cannot read `{}`: {why}", path.display())));
        }
    };
    let wrong = |at: Option<std::ops::Range<usize>>, what: String| {
        let line = at.map(|s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|n| format!(", line {n}")).unwrap_or_default();
        let d = usage(codes::TUNE, format!("`{}`{line}: {what}", path.display()));
        d.help("a data set is a table, and in it each parameter a literal, or how to make it: xs = { shape = [100, 4] }")
    };
    let document = match Document::parse(text.as_str()) {
        Ok(document) => document,
        Err(e) => return fail(wrong(e.span(), e.message().trim().to_owned())),
    };
    let names: Vec<&str> = sig.params.iter().map(|(name, _)| name.as_str()).collect();
    let mut all = Vec::new();
    for (label, item) in document.iter() {
        let Some(table) = item.as_table_like() else {
            return fail(wrong(item.span(), format!("`{label}` is no table")));
        };
        if let Some((other, item)) = table.iter().find(|(name, _)| !names.contains(name)) {
            let known = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            return fail(wrong(item.span(), format!("the entry has no parameter `{other}`, it has {known}")));
        }
        let mut inputs = Vec::new();
        for name in &names {
            let Some(item) = table.get(name) else {
                return fail(wrong(item.span(), format!("`{label}` does not say what `{name}` is")));
            };
            match given(item) {
                Ok(given) => inputs.push(((*name).to_owned(), given)),
                Err(what) => return fail(wrong(item.span(), format!("`{name}`: {what}"))),
            }
        }
        all.push(Described { label: label.to_owned(), inputs });
    }
    Ok(all)
}

fn given(item: &Item) -> Result<Given, String> {
    if let Some(text) = item.as_str() {
        return Ok(Given::Literal(text.to_owned()));
    }
    if item.as_integer().is_some() || item.as_float().is_some() {
        return Ok(Given::Literal(item.to_string().trim().to_owned()));
    }
    match item.as_table_like() {
        Some(table) => recipe(table).map(Given::Made),
        None => {
            Err("a number, a literal as a string, or a table such as { shape = [100, 4] } is wanted".into())
        }
    }
}

const KEYS: [&str; 8] = ["shape", "distribution", "low", "high", "mean", "deviation", "exponent", "seed"];

fn recipe(table: &dyn TableLike) -> Result<Recipe, String> {
    if let Some((other, _)) = table.iter().find(|(key, _)| !KEYS.contains(key)) {
        return Err(format!("`{other}` is none of {}", KEYS.join(", ")));
    }
    let dims = table.get("shape").and_then(Item::as_array).ok_or("it has no `shape`, such as [100, 4]")?;
    let dim = |v: &toml_edit::Value| v.as_integer().and_then(|n| usize::try_from(n).ok());
    let shape: Option<Vec<usize>> = dims.iter().map(dim).collect();
    let shape = shape.ok_or("a size in `shape` is no whole number from 0 on")?;
    let number = |key: &str, default: f64| match table.get(key) {
        None => Ok(default),
        Some(item) => {
            let value = item.as_float().or(item.as_integer().map(|n| n as f64));
            value.filter(|x| x.is_finite()).ok_or(format!("`{key}` is no number"))
        }
    };
    let named = match table.get("distribution") {
        None => "uniform",
        Some(item) => item.as_str().ok_or("`distribution` is no string")?,
    };
    let numbers = match named {
        "uniform" => Numbers::Uniform { low: number("low", 0.0)?, high: number("high", 1.0)? },
        "normal" => Numbers::Normal { mean: number("mean", 0.0)?, deviation: number("deviation", 1.0)? },
        "zipf" => {
            Numbers::Zipf { exponent: number("exponent", 1.0)?, high: number("high", 1000.0)?.max(1.0) }
        }
        "giant" => Numbers::Giant { low: number("low", 1.0)?, high: number("high", 1000.0)? },
        "constant" => Numbers::Constant(number("low", 1.0)?),
        other => {
            return Err(format!(
                "`{other}` is no distribution: there are uniform, normal, zipf, giant and constant"
            ));
        }
    };
    let seed = match table.get("seed") {
        None => 0,
        Some(item) => item.as_integer().ok_or("`seed` is no whole number")? as u64,
    };
    Ok(Recipe { shape, numbers, seed })
}

/// Makes an array of a parameter's type.
pub fn make(recipe: &Recipe, set: &str, name: &Name, atom: &AtomTy, budget: &Budget) -> Outcome<Value> {
    let wrong = |code, what: String| usage(code, format!("`{name}` of the data set `{set}`: {what}"));
    let AtomTy::Base(base) = atom else {
        return fail(
            wrong(codes::TUNE, format!("arrays of numbers are made, and it is of {atom}"))
                .help("give it as a literal, or the data set as files"),
        );
    };
    let count = recipe.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).unwrap_or(usize::MAX);
    let mut room = budget.room();
    if let Err(why) = room.take((count as u64).saturating_mul(u64::from(base.bits() / 8))) {
        return fail(wrong(codes::INPUT_TOO_LARGE, why.to_string()));
    }
    room.keep();
    let stream = name.as_str().bytes().fold(recipe.seed, |s, b| splitmix(s, u64::from(b)));
    let scalars = (0..count).map(|i| element(recipe.numbers, stream, i as u64, *base));
    Ok(Value::of_scalars(*base, recipe.shape.clone(), scalars))
}

fn element(numbers: Numbers, stream: u64, i: u64, base: BaseTy) -> Scalar {
    // From 0 to 1, neither of which it is.
    let chance = |k: u64| ((splitmix(stream, 2 * i + k) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let x = match numbers {
        Numbers::Uniform { low, high } => low + (high - low) * chance(0),
        // Box and Muller.
        Numbers::Normal { mean, deviation } => {
            let (r, turn) = ((-2.0 * chance(0).ln()).sqrt(), std::f64::consts::TAU * chance(1));
            mean + deviation * r * turn.cos()
        }
        // The inverse of the distribution of a density x^-s from 1 to high + 1.
        Numbers::Zipf { exponent: s, high } => {
            let (u, end) = (chance(0), high + 1.0);
            let x = if (s - 1.0).abs() < 1e-9 {
                end.powf(u)
            } else {
                ((end.powf(1.0 - s) - 1.0) * u + 1.0).powf(1.0 / (1.0 - s))
            };
            x.floor().clamp(1.0, high)
        }
        Numbers::Giant { low, high } => {
            if i == 0 {
                high
            } else {
                low
            }
        }
        Numbers::Constant(x) => x,
    };
    match base {
        BaseTy::Bool => Scalar::Bool(x >= 0.5),
        BaseTy::Char => Scalar::Char(char::from_u32(x.clamp(32.0, 126.0) as u32).unwrap_or('a')),
        base => {
            let x = if matches!(base, BaseTy::F16 | BaseTy::F32 | BaseTy::F64) { x } else { x.floor() };
            cast(Scalar::F64(x), base).unwrap_or(remc_base::ops::zero(base))
        }
    }
}

/// The i-th number of a stream.
fn splitmix(stream: u64, i: u64) -> u64 {
    let mut z = stream.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str, base: BaseTy) -> Vec<f64> {
        let document = Document::parse(text).unwrap();
        let Ok(Given::Made(recipe)) = given(document.get("xs").unwrap()) else { panic!("{text}") };
        let value = make(&recipe, "a", &Name::new("xs"), &AtomTy::Base(base), &Budget::new(1 << 30)).unwrap();
        let float = |a| match a {
            remc_base::value::Atom::Scalar(s) => match cast(s, BaseTy::F64) {
                Ok(Scalar::F64(x)) => x,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        value.data.iter().map(float).collect()
    }

    #[test]
    fn distributions_are_what_they_are_called() {
        let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
        let uniform = numbers("xs = { shape = [40, 50], low = 2, high = 4 }", BaseTy::F64);
        assert!(uniform.iter().all(|x| (2.0..4.0).contains(x)) && (mean(&uniform) - 3.0).abs() < 0.05);
        let ints = numbers("xs = { shape = [2000], high = 10 }", BaseTy::I64);
        assert!((0..10).all(|k| ints.iter().filter(|x| **x == f64::from(k)).count() > 120), "{ints:?}");
        let normal =
            numbers("xs = { shape = [4000], distribution = 'normal', mean = 1, deviation = 2 }", BaseTy::F32);
        let spread = normal.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>() / 4000.0;
        assert!(
            (mean(&normal) - 1.0).abs() < 0.15 && (spread - 4.0).abs() < 0.4,
            "{} {spread}",
            mean(&normal)
        );
        let zipf = numbers("xs = { shape = [4000], distribution = 'zipf', high = 500 }", BaseTy::I32);
        let ones = zipf.iter().filter(|x| **x == 1.0).count();
        let twos = zipf.iter().filter(|x| **x == 2.0).count();
        assert!(zipf.iter().all(|x| (1.0..=500.0).contains(x)) && ones > twos && twos > 100, "{ones} {twos}");
        assert_eq!(
            numbers("xs = { shape = [3], distribution = 'giant', high = 9 }", BaseTy::U8),
            [9.0, 1.0, 1.0]
        );
        assert!(numbers("xs = { shape = [2, 0] }", BaseTy::F64).is_empty());
        let other = numbers("xs = { shape = [40, 50], low = 2, high = 4, seed = 1 }", BaseTy::F64);
        assert_ne!(uniform, other);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong = |text: &str| {
            let document = Document::parse(text).unwrap();
            given(document.get("xs").unwrap()).map(|_| ()).unwrap_err()
        };
        assert_eq!(wrong("xs = { high = 2 }"), "it has no `shape`, such as [100, 4]");
        assert_eq!(wrong("xs = { shape = [-2] }"), "a size in `shape` is no whole number from 0 on");
        assert_eq!(wrong("xs = { shape = [2], low = 'a' }"), "`low` is no number");
        assert!(wrong("xs = { shape = [2], hihg = 1 }").starts_with("`hihg` is none of shape, "));
        assert!(
            wrong("xs = { shape = [2], distribution = 'even' }").starts_with("`even` is no distribution")
        );
        assert!(wrong("xs = [1]").starts_with("a number, a literal as a string"));
    }
}

//! Whether two devices' values are the same, as far as the language says.

use super::program::{Program, Tolerance};
use super::run::Made;
use remc_base::{Atom, Scalar, Value};
use remc_llvm::ulp_distance;

/// Where they differ, and how.
pub fn differ(program: &Program, expected: &Made, found: &Made) -> Option<String> {
    match (expected, found) {
        (Ok(a), Ok(b)) => values(program, a, b),
        (Err(a), Err(b)) if a == b => None,
        // The same check, perhaps of other values.
        (Err(a), Err(b)) if program.several && (a.code, &a.at) == (b.code, &b.at) => None,
        // Two checks of one operator, which fail in two cells: `split` of one cell has a length below zero, in another
        // the lengths have another sum.
        (Err(a), Err(b))
            if program.several && a.at == b.at && operator(&a.message) == operator(&b.message) =>
        {
            None
        }
        (Err(a), Err(b)) => Some(format!("another stop: {b:?}\nand not {a:?}")),
        (Ok(_), Err(b)) => Some(format!("it stops: {b:?}")),
        (Err(a), Ok(_)) => Some(format!("it does not stop: {a:?}")),
    }
}

/// The operator that a stop's message begins with.
fn operator(message: &str) -> Option<&str> {
    message.split_once(": ").map(|(operator, _)| operator)
}

fn values(program: &Program, a: &Value, b: &Value) -> Option<String> {
    if let [one] = program.outputs.as_slice() {
        return value(a, b, one.tolerance);
    }
    let (Some(Atom::Tuple(a)), Some(Atom::Tuple(b))) = (a.data.get(0), b.data.get(0)) else {
        return Some("no tuple".into());
    };
    let outputs = program.outputs.iter().enumerate();
    outputs
        .zip(a.iter().zip(b.iter()))
        .find_map(|((i, output), (a, b))| value(a, b, output.tolerance).map(|d| format!("result {i}: {d}")))
}

/// Bits, but for the payload of a NaN.
pub fn same(a: &Made, b: &Made) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => value(a, b, Tolerance::Exact).is_none(),
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

fn value(a: &Value, b: &Value, tolerance: Tolerance) -> Option<String> {
    if a.atom != b.atom || a.shape != b.shape {
        return Some(format!("{} of shape {:?}, not {} of {:?}", b.atom, b.shape, a.atom, a.shape));
    }
    a.atoms().zip(b.atoms()).enumerate().find_map(|(i, (x, y))| {
        let told = atom(&x, &y, tolerance)?;
        Some(format!("element {i}: {told}"))
    })
}

fn atom(x: &Atom, y: &Atom, tolerance: Tolerance) -> Option<String> {
    match (x, y) {
        (Atom::Scalar(x), Atom::Scalar(y)) => {
            (!close(*x, *y, tolerance)).then(|| format!("{y:?}, not {x:?}"))
        }
        (Atom::Box(x), Atom::Box(y)) if x.indices == y.indices => value(&x.value, &y.value, tolerance),
        (Atom::Box(x), Atom::Box(y)) => Some(format!("{:?}, not {:?}", y.indices, x.indices)),
        (Atom::Tuple(x), Atom::Tuple(y)) => x.iter().zip(y.iter()).find_map(|(x, y)| value(x, y, tolerance)),
        _ => Some("another kind of atom".into()),
    }
}

fn close(x: Scalar, y: Scalar, tolerance: Tolerance) -> bool {
    match tolerance {
        Tolerance::Exact => ulp_distance(x, y) == Some(0),
        Tolerance::Ulps(n) => ulp_distance(x, y).is_some_and(|d| d <= n),
        Tolerance::Absolute(bound) => match (x.as_float(), y.as_float()) {
            (Some(x), Some(y)) => (x - y).abs() <= bound || (x.is_nan() && y.is_nan()) || x == y,
            _ => x == y,
        },
    }
}

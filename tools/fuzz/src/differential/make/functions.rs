//! Functions that leave the map, branch or loop in which what they mention is computed.

use super::scalars::is_number;
use super::{Form, Maker};
use crate::differential::term::{Info, Term, Ty};

/// For arrays of numbers, and numbers.
pub const LEAVES: &[Form] = &[applied];

/// Functions made of one array, applied to another of its shape.
fn applied(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if !is_number(ty.atom) {
        return None;
    }
    let t = ty.atom.name();
    let adder = format!("(λ ([x {t}]) (λ ([y {t}]) (- (* x x) y)))");
    let other = format!("(λ ([x {t}]) (λ ([y {t}]) (+ y x)))");
    let several = format!("(λ ([x {t}] [c {t}]) (if (> x c) (λ ([y {t}]) (- y x)) (λ ([y {t}]) (* y c))))");
    let several_of = format!("({several} xs ys)");
    // A row of a size of its own: of integers that no size can be huge.
    let row = format!(
        "(λ ([x {t}]) (unbox (iota1 (cast int (% x 4))) (row k) (λ ([y {t}]) (+ y (* x (cast {t} (sum row)))))))"
    );
    let of = [adder.as_str(), other.as_str(), row.as_str()];
    let one = of[m.rng.below(if ty.atom.is_integer() { 3 } else { 2 })];
    let two = of[m.rng.below(if ty.atom.is_integer() { 3 } else { 2 })];
    let fs = match m.rng.below(9) {
        0 | 1 => format!("({one} xs)"),
        2 => several_of,
        3 => format!(
            "((λ ([x {t}]) (iterate 3 (λ ([f (→ ({t}) {t})]) (let ((k (f x))) (λ ([y {t}]) (- y k)))) ({one} x))) xs)"
        ),
        4 => format!(
            "((λ ([x {t}]) (iterate 3 (λ ([f (→ ({t}) {t})]) (if (> (f x) x) f ({one} (f x)))) ({two} x))) xs)"
        ),
        5 if ty.rank() == 1 => format!(
            "(fold (λ ([x {t}] [f (→ ({t}) {t})]) (if (> x (f x)) f ({one} (f x)))) (λ ([y {t}]) (- y 1)) xs)"
        ),
        6 if ty.rank() > 0 => format!("(if (> (length xs) 2) ({one} xs) ({two} ys))"),
        7 if ty.rank() > 0 => format!("(reverse ({one} xs))"),
        8 if ty.rank() == 1 => {
            format!("(tail (trace (λ ([x {t}] [f (→ ({t}) {t})]) ({one} (f x))) add1 xs))")
        }
        _ => format!("({one} xs)"),
    };
    let parts = vec![m.expr(ty), m.expr(ty)];
    let info = if ty.atom.is_float() { Info::ANY } else { Info::of(ty.atom) };
    Some(Term::call(ty.clone(), info, &format!("(λ ([xs all] [ys all]) ({fs} ys))"), parts))
}

//! Which operands a text has of those that a program has.

use remc_mono::ir::{Atom, Body, Exp};

/// Every operand that is printed: not the values that a check reports.
pub fn each_use(b: &Body, f: &mut impl FnMut(Atom)) {
    for s in &b.stmts {
        match &s.exp {
            Exp::Check { cond, .. } => f(*cond),
            e => e.for_each_operand(f),
        }
        for inner in s.exp.bodies() {
            each_use(inner, f);
        }
    }
    b.results.iter().for_each(|a| f(*a));
}

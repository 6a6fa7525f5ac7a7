//! Neutral elements: which starts of a reduction change nothing, and which an operator has.
//!
//! Futhark's `reduce` and `scan` may combine their neutral element with anything, any number of times. For an
//! operator of the table it is known. For another one it is tried: the operator is evaluated with the start on one
//! side and a symbol on the other, and has to give the symbol, on both sides.

use remc_base::ops::{self, ScalarOp};
use remc_base::{BaseTy, Scalar};
use remc_mono::ir::*;
use rustc_hash::FxHashMap;

/// The neutral element of a reduction by one operator of the table.
pub fn of(op: &Combine, bases: &[BaseTy]) -> Option<Scalar> {
    match (op.component_ops()?.as_slice(), bases) {
        ([one], [ty]) => ops::neutral(*one, *ty),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Symbol {
    Known(Scalar),
    /// The other operand, or a component of it.
    Other(usize),
    Unknown,
}

/// Whether the start of a combination is neutral. `definition` says how a variable is computed.
pub fn is_neutral<'p>(op: &'p Combine, definition: &dyn Fn(Var) -> Option<&'p Exp>) -> bool {
    let Some(start) = &op.start else { return false };
    let constants: Option<Vec<Scalar>> = start.iter().map(|a| constant(*a, definition)).collect();
    let Some(constants) = constants else { return false };
    let count = start.len();
    let Some((accs, elems)) = op.lambda.params.split_at_checked(count) else { return false };
    [(accs, elems), (elems, accs)].into_iter().all(|(known, other)| {
        let mut env = FxHashMap::default();
        for ((k, v), (c, w)) in known.iter().enumerate().zip(constants.iter().zip(other)) {
            env.insert(*v, Symbol::Known(*c));
            env.insert(*w, Symbol::Other(k));
        }
        let results = evaluate(&op.lambda.body, &mut env);
        results.iter().enumerate().all(|(k, r)| *r == Symbol::Other(k))
    })
}

/// The value of a scalar, or of every element of an array.
fn constant<'p>(a: Atom, definition: &dyn Fn(Var) -> Option<&'p Exp>) -> Option<Scalar> {
    match a {
        Atom::Const(c) => Some(c),
        Atom::Var(v) => match definition(v)? {
            Exp::Map { body, .. } if body.stmts.is_empty() => match body.results.as_slice() {
                [Atom::Const(c)] => Some(*c),
                _ => None,
            },
            Exp::View { view: View::Replicate { .. } | View::Reshape { .. }, array } => {
                constant(Atom::Var(*array), definition)
            }
            _ => None,
        },
    }
}

fn evaluate(body: &Body, env: &mut FxHashMap<Var, Symbol>) -> Vec<Symbol> {
    for s in &body.stmts {
        let values: Vec<Symbol> = match &s.exp {
            Exp::Atom(a) => vec![symbol(*a, env)],
            Exp::Op(op, args) => {
                let args: Vec<Symbol> = args.iter().map(|a| symbol(*a, env)).collect();
                vec![apply(*op, &args)]
            }
            // The start is the same everywhere, and the other operand is read where the result is written.
            Exp::Index { array, at } if at.iter().all(|a| a.as_var().is_some()) => {
                vec![symbol(Atom::Var(*array), env)]
            }
            Exp::Map { axes, body } if reads_in_place(axes, body) => evaluate(body, env),
            Exp::If { cond, then, otherwise } => match symbol(*cond, env) {
                Symbol::Known(Scalar::Bool(c)) => evaluate(if c { then } else { otherwise }, env),
                _ => {
                    let (a, b) = (evaluate(then, env), evaluate(otherwise, env));
                    a.into_iter().zip(b).map(|(a, b)| if a == b { a } else { Symbol::Unknown }).collect()
                }
            },
            _ => vec![Symbol::Unknown; s.pat.len()],
        };
        for (v, value) in s.pat.iter().zip(values) {
            env.insert(*v, value);
        }
    }
    body.results.iter().map(|a| symbol(*a, env)).collect()
}

/// Whether a map reads arrays at its own indices alone.
fn reads_in_place(axes: &[Axis], body: &Body) -> bool {
    let own: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    body.stmts.iter().all(|s| match &s.exp {
        Exp::Index { at, .. } => *at == own,
        e => e.bodies().is_empty() && !e.can_stop(),
    })
}

fn symbol(a: Atom, env: &FxHashMap<Var, Symbol>) -> Symbol {
    match a {
        Atom::Const(c) => Symbol::Known(c),
        Atom::Var(v) => env.get(&v).copied().unwrap_or(Symbol::Unknown),
    }
}

fn apply(op: ScalarOp, args: &[Symbol]) -> Symbol {
    use Symbol::{Known, Unknown};
    let known: Option<Vec<Scalar>> = args
        .iter()
        .map(|a| match a {
            Known(c) => Some(*c),
            _ => None,
        })
        .collect();
    if let Some(known) = known {
        return ops::apply(op, &known).map_or(Unknown, Known);
    }
    let unit = |c: Scalar| {
        // A sum that has begun with 0.0 is a sum from 0.0, whichever zero that is.
        let zero = op == ScalarOp::Add && c.as_float() == Some(0.0);
        zero || ops::neutral(op, c.ty()) == Some(c)
    };
    match (op, args) {
        (ScalarOp::Select, [Known(Scalar::Bool(c)), a, b]) => {
            if *c {
                *a
            } else {
                *b
            }
        }
        (ScalarOp::Select, [_, a, b]) if a == b => *a,
        (ScalarOp::And, [Known(Scalar::Bool(false)), _] | [_, Known(Scalar::Bool(false))]) => {
            Known(Scalar::Bool(false))
        }
        (ScalarOp::Or, [Known(Scalar::Bool(true)), _] | [_, Known(Scalar::Bool(true))]) => {
            Known(Scalar::Bool(true))
        }
        (_, [Known(c), x] | [x, Known(c)]) if unit(*c) => *x,
        _ => Unknown,
    }
}

//! If-conversion: of two values that are quickly computed, both are, and one is chosen.
//!
//! ```text
//! (let (%r) (map ((%i %n))                           (let (%r) (map ((%i %n))
//!   (let (%x) (index %xs %i))                          (let (%x) (index %xs %i))
//!   (let (%c) (op < %x 0.5))                           (let (%c) (op < %x 0.5))
//!   (let (%y) (if %c                                   (let (%s) (op * %x %x))
//!     (then (give 0.0))                                (let (%t) (op + %s 1.0))
//!     (else (let (%s) (op * %x %x))                    (let (%y) (op select %c 0.0 %t))
//!           (let (%t) (op + %s 1.0)) (give %t))))      (give %y)))
//!   (give %y)))
//! ```
//!
//! What differs from element to element is taken apart where elements run in lanes of a vector, and a branch that is
//! guessed wrong costs more than a few operators. So this is done in what runs in parallel, but for loops whose rounds
//! differ, which lanes do not share anyway. What is moved cannot stop the program and reads no array: what an index
//! is inside of only a branch may know. Operators that no vector has, and more than [`MOST`] of the others, stay where
//! they are.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::pass::PassInfo;
use remc_base::{BaseTy, Class};

pub const PASS: PassInfo = PassInfo {
    name: "choose",
    from: "mono",
    to: "mono",
    summary: "computes both of two quick values, and chooses",
};

/// The most work in both branches, in operators as quick as a sum.
const MOST: u32 = 40;

pub fn choose(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    walk(p, &mut body, false);
    p.body = body;
}

/// Converts what is in a body; `parallel` says whether the body itself is run for each element.
fn walk(p: &Program, body: &mut Body, parallel: bool) {
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for mut s in std::mem::take(&mut body.stmts) {
        let inside = match &s.exp {
            Exp::While { .. } => false,
            Exp::If { .. } | Exp::For { .. } => parallel,
            _ => true,
        };
        for b in s.exp.bodies_mut() {
            walk(p, b, inside);
        }
        match s.exp {
            Exp::If { cond, then, otherwise } if parallel && is_quick(p, &s.pat, &then, &otherwise) => {
                stmts.extend(then.stmts);
                stmts.extend(otherwise.stmts);
                for ((v, a), b) in s.pat.into_iter().zip(then.results).zip(otherwise.results) {
                    let exp = Exp::Op(ScalarOp::Select, vec![cond, a, b]);
                    stmts.push(Stmt { pat: vec![v], exp, prov: s.prov });
                }
            }
            exp => stmts.push(Stmt { exp, ..s }),
        }
    }
    body.stmts = stmts;
}

/// Whether both branches give numbers, and are quick.
fn is_quick(p: &Program, pat: &[Var], then: &Body, otherwise: &Body) -> bool {
    let scalars = pat.iter().all(|v| p.ty(*v).is_scalar());
    let mut stmts = then.stmts.iter().chain(&otherwise.stmts);
    let work = stmts.try_fold(0u32, |sum, s| Some(sum + work(p, s)?));
    scalars && work.is_some_and(|w| w <= MOST)
}

/// How much work a statement is; `None` if it may not be done where it was not.
fn work(p: &Program, s: &Stmt) -> Option<u32> {
    use ScalarOp as O;
    let base = |a: &Atom| match a {
        Atom::Var(v) => p.ty(*v).base,
        Atom::Const(c) => c.ty(),
    };
    let is_int = |a: &Atom| base(a).is_in(Class::Int);
    match &s.exp {
        // A float may be no number of the type.
        Exp::Cast(_, a) => (base(a) == BaseTy::Bool || is_int(a)).then_some(1),
        Exp::Op(op, args) => match op {
            O::Add | O::Sub | O::Mul | O::Min2 | O::Max2 | O::Negate | O::Abs | O::Sign => Some(1),
            O::Eq | O::Ne | O::Lt | O::Le | O::Gt | O::Ge | O::CharEq | O::CharLt => Some(1),
            O::And | O::Or | O::Xor | O::Not | O::BitAnd | O::BitOr | O::BitXor | O::Select => Some(1),
            O::Div | O::Sqrt | O::Floor | O::Ceiling | O::Round | O::Truncate => {
                (!args.iter().any(is_int)).then_some(4)
            }
            O::Exp | O::Log => Some(12),
            O::Sin | O::Cos | O::Tan | O::Tanh => Some(20),
            _ => None,
        },
        _ => None,
    }
}

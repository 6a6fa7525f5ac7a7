//! What evaluating statements once costs, as far as fusion wants to know.
//!
//! *Trivial* work may be repeated freely: a handful of index arithmetic, reads, constants, casts,
//! comparisons and selections. *Cheap* work is scalar, and may be repeated a few times. *Heavy* work is
//! scalar too, but of functions that cost as much as tens of additions. *Nested* work iterates.
//! A read at an index that was read itself (a gather) is not trivial: it waits for memory twice.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashSet;

/// At most so many units are trivial.
const TRIVIAL_UNITS: u32 = 10;
/// At most so many units are repeated.
pub(super) const REPEATED_UNITS: u32 = 48;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::opt) struct Cost {
    /// A unit is an addition or a read.
    pub units: u32,
    pub arithmetic: bool,
    pub heavy: bool,
    pub nested: bool,
}

impl Cost {
    pub fn is_trivial(self) -> bool {
        !self.arithmetic && self.is_scalar() && self.units <= TRIVIAL_UNITS
    }

    pub fn is_scalar(self) -> bool {
        !self.heavy && !self.nested
    }

    fn and(self, other: Cost) -> Cost {
        Cost {
            units: self.units.saturating_add(other.units),
            arithmetic: self.arithmetic || other.arithmetic,
            heavy: self.heavy || other.heavy,
            nested: self.nested || other.nested,
        }
    }
}

/// The cost of evaluating all of these once.
pub(in crate::opt) fn stmts<'a>(p: &Program, stmts: impl IntoIterator<Item = &'a Stmt>) -> Cost {
    let mut loaded = FxHashSet::default();
    stmts.into_iter().fold(Cost::default(), |sum, s| sum.and(stmt(p, s, &mut loaded)))
}

/// `loaded` holds the variables whose value depends on a read.
fn stmt(p: &Program, s: &Stmt, loaded: &mut FxHashSet<Var>) -> Cost {
    let from_memory = |a: &Atom| a.as_var().is_some_and(|v| loaded.contains(&v));
    let trivial = |units| Cost { units, ..Cost::default() };
    let arithmetic = |units| Cost { units, arithmetic: true, ..Cost::default() };
    let nested = Cost { nested: true, ..Cost::default() };
    let mut taints = false;
    let cost = match &s.exp {
        Exp::Atom(_) => trivial(0),
        Exp::Cast(_, a) => {
            taints = from_memory(a);
            trivial(1)
        }
        Exp::Op(op, args) => {
            taints = args.iter().any(from_memory);
            operator(p, *op, args)
        }
        Exp::Index { at, .. } => {
            taints = true;
            if at.iter().any(from_memory) { arithmetic(2) } else { trivial(1) }
        }
        Exp::Literal { elems, .. } => arithmetic(u32::try_from(elems.len()).unwrap_or(u32::MAX)),
        Exp::If { then, otherwise, .. } if s.pat.iter().all(|v| p.ty(*v).is_scalar()) => {
            taints = true;
            let branch = |b: &Body, loaded: &mut FxHashSet<Var>| {
                b.stmts.iter().fold(Cost::default(), |sum, s| sum.and(stmt(p, s, loaded)))
            };
            trivial(1).and(branch(then, loaded)).and(branch(otherwise, loaded))
        }
        Exp::Check { .. } => trivial(1),
        // Its reads will be reads of the array at other indices.
        Exp::View { view: View::Reshape { .. } | View::Append { .. }, .. } => arithmetic(4),
        Exp::View { .. } => trivial(2),
        _ => nested,
    };
    if taints {
        loaded.extend(&s.pat);
    }
    cost
}

fn operator(p: &Program, op: ScalarOp, args: &[Atom]) -> Cost {
    use ScalarOp::*;
    let float = args.first().is_some_and(|a| p.atom_ty(*a).base.is_float());
    let (units, arithmetic, heavy) = match op {
        Eq | Ne | Lt | Le | Gt | Ge | CharEq | CharLt | And | Or | Xor | Not | Select => (1, false, false),
        CharToInt | IntToChar | IntToFloat | FloatToInt | IntToBool | BoolToInt => (1, false, false),
        BitAnd | BitOr | BitXor | BitNot | Shl | Shr | Popcount => (1, false, false),
        Add | Sub | Mul | Min2 | Max2 | Negate | Abs | Sign => (1, float, false),
        Quotient | Modulo if !float => (2, false, false),
        Div | Quotient | Modulo | Sqrt => (6, true, false),
        Floor | Ceiling | Round | Truncate => (1, float, false),
        _ => (20, true, true),
    };
    Cost { units, arithmetic, heavy, nested: false }
}

/// The statements of a body that the `k`th result needs, by position: those that bind what it reads, in
/// order. Checks are not among them.
pub(in crate::opt) fn slice(body: &Body, k: usize) -> Vec<usize> {
    let mut live: FxHashSet<Var> = body.results.get(k).and_then(|a| a.as_var()).into_iter().collect();
    let mut needed = Vec::new();
    for (n, s) in body.stmts.iter().enumerate().rev() {
        if s.pat.iter().any(|v| live.contains(v)) {
            needed.push(n);
            s.exp.for_each_operand(&mut |a| live.extend(a.as_var()));
            for b in s.exp.bodies() {
                b.for_each_use(&mut |a| live.extend(a.as_var()));
            }
        }
    }
    needed.reverse();
    needed
}

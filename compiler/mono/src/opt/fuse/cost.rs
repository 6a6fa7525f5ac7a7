//! What evaluating statements once costs, as far as fusion wants to know.
//!
//! *Trivial* work may be repeated freely: a handful of index arithmetic, reads, constants, casts,
//! comparisons and selections. *Cheap* work is scalar, and may be repeated a few times. *Heavy* work is
//! scalar too, but of functions that cost as much as tens of additions. *Nested* work iterates.
//! A read at an index that was read itself (a gather) is not trivial: it waits for memory twice. Nor is a division of whole
//! numbers that were read, unless it gives an index: no processor does several at once. Most of those of indices lowering
//! makes additions. A read on a condition, as of a padded array, is trivial where an element is read a few times: edges of an
//! axis can be told from the rest, but not in a loop over all that lies around each element.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashSet;

/// At most so many units are trivial.
const TRIVIAL_UNITS: u32 = 10;
/// At most so many units are repeated.
pub(super) const REPEATED_UNITS: u32 = 48;

/// The most [`weight`] of a body that fusion, vertical or horizontal, makes. What a pass over memory costs
/// is little beside so much work; and compilers of machine code take more than n log n for one function.
pub(in crate::opt) const HEAVIEST: usize = 2048;

/// The machine code of a statement without the bodies in it, in additions.
fn weight(p: &Program, s: &Stmt) -> usize {
    match &s.exp {
        Exp::Check { .. } => 16,
        Exp::Op(op, args) if operator(p, *op, args).heavy => 16,
        _ => 1,
    }
}

/// The [`weight`] of a body, with those in it.
pub(in crate::opt) fn body_weight(p: &Program, body: &Body) -> usize {
    let mut sum = 0;
    body.for_each_stmt(&mut |s| sum += weight(p, s));
    sum
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::opt) struct Cost {
    /// A unit is an addition or a read.
    pub units: u32,
    pub arithmetic: bool,
    pub heavy: bool,
    pub nested: bool,
    /// On a condition it reads, or does not.
    pub chooses: bool,
    /// Reads of arrays.
    pub reads: u32,
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
            chooses: self.chooses || other.chooses,
            reads: self.reads.saturating_add(other.reads),
        }
    }
}

/// The cost of evaluating once those statements of a body that are chosen.
pub(in crate::opt) fn stmts(p: &Program, body: &Body, chosen: impl Fn(&Stmt) -> bool) -> Cost {
    stmts_with(p, body.stmts.iter().filter(|s| chosen(s)), &places(body), &|_| None)
}

/// The cost of evaluating statements once in whose body these are [`places`]. A read of an array costs what `element` says: it
/// will be computed in that place.
pub(super) fn stmts_with<'a>(
    p: &Program,
    stmts: impl IntoIterator<Item = &'a Stmt>,
    places: &FxHashSet<Var>,
    element: &dyn Fn(&Exp) -> Option<Cost>,
) -> Cost {
    Weigher { p, element, loaded: FxHashSet::default(), places }.stmts(stmts)
}

/// The variables of a body that are indices, or that these are made of.
pub(super) fn places(body: &Body) -> FxHashSet<Var> {
    let mut places = FxHashSet::default();
    indices(body.stmts.iter().rev(), &mut places);
    places
}

/// Adds the variables that are indices, or that these are made of, to those of what comes after; the last statement first.
fn indices<'a>(stmts: impl IntoIterator<Item = &'a Stmt>, places: &mut FxHashSet<Var>) {
    for s in stmts {
        s.exp.bodies().into_iter().rev().for_each(|b| indices(b.stmts.iter().rev(), places));
        match &s.exp {
            Exp::Index { at, .. } => places.extend(at.iter().filter_map(|a| a.as_var())),
            Exp::Op(..) | Exp::Cast(..) | Exp::Atom(_) if s.pat.iter().any(|v| places.contains(v)) => {
                s.exp.for_each_operand(&mut |a| places.extend(a.as_var()));
            }
            _ => {}
        }
    }
}

struct Weigher<'a> {
    p: &'a Program,
    element: &'a dyn Fn(&Exp) -> Option<Cost>,
    /// The variables whose value depends on a read.
    loaded: FxHashSet<Var>,
    places: &'a FxHashSet<Var>,
}

impl Weigher<'_> {
    fn stmts<'s>(&mut self, stmts: impl IntoIterator<Item = &'s Stmt>) -> Cost {
        stmts.into_iter().fold(Cost::default(), |sum, s| sum.and(self.stmt(s)))
    }

    fn stmt(&mut self, s: &Stmt) -> Cost {
        let (p, loaded) = (self.p, &self.loaded);
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
                let cost = operator(p, *op, args);
                let divides = matches!(op, ScalarOp::Quotient | ScalarOp::Modulo)
                    && !args.get(1).is_some_and(is_power_of_two)
                    && !s.pat.iter().any(|v| self.places.contains(v));
                if divides && taints { division() } else { cost }
            }
            Exp::Index { at, .. } => {
                taints = true;
                if let Some(cost) = (self.element)(&s.exp) {
                    cost
                } else if at.iter().any(from_memory) {
                    Cost { reads: 1, ..arithmetic(2) }
                } else {
                    Cost { reads: 1, ..trivial(1) }
                }
            }
            Exp::Literal { elems, .. } => arithmetic(u32::try_from(elems.len()).unwrap_or(u32::MAX)),
            Exp::If { then, otherwise, .. } if s.pat.iter().all(|v| p.ty(*v).is_scalar()) => {
                taints = true;
                let reads = |b: &Body| b.stmts.iter().any(|s| matches!(s.exp, Exp::Index { .. }));
                let one = Cost { chooses: reads(then) != reads(otherwise), ..trivial(1) };
                one.and(self.stmts(&then.stmts)).and(self.stmts(&otherwise.stmts))
            }
            Exp::Check { .. } => trivial(1),
            // Its reads will be reads of the array at other indices.
            Exp::View { view: View::Reshape { .. } | View::Append { .. }, .. } => arithmetic(4),
            Exp::View { .. } => trivial(2),
            _ => nested,
        };
        if taints {
            self.loaded.extend(&s.pat);
        }
        cost
    }
}

fn is_power_of_two(a: &Atom) -> bool {
    a.as_int().is_some_and(|n| n > 0 && n & (n - 1) == 0)
}

/// Of numbers that are no indices.
fn division() -> Cost {
    Cost { units: 8, arithmetic: true, ..Cost::default() }
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
    Cost { units, arithmetic, heavy, ..Cost::default() }
}

/// Which statements of a body the `k`th result needs: those that bind what it reads. Checks are not
/// among them.
pub(super) fn slice(body: &Body, k: usize) -> Vec<bool> {
    let mut live: FxHashSet<Var> = body.results.get(k).and_then(|a| a.as_var()).into_iter().collect();
    let mut needed = vec![false; body.stmts.len()];
    for (s, needed) in body.stmts.iter().zip(&mut needed).rev() {
        if s.pat.iter().any(|v| live.contains(v)) {
            *needed = true;
            s.exp.for_each_operand(&mut |a| live.extend(a.as_var()));
            for b in s.exp.bodies() {
                b.for_each_use(&mut |a| live.extend(a.as_var()));
            }
        }
    }
    needed
}

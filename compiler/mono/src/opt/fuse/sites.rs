//! Where each map's elements are read, and how often an element is read there.
//!
//! Between the body that binds `%xs` and a read `(index %xs a …)` lies a path of iterations. If each of
//! them is *covered* by the index, that is, if different iterations read different elements, then the
//! read happens at most once for each element:
//!
//! | index | covers |
//! | --- | --- |
//! | `i` | i |
//! | `i + c`, `c - i`, `i * c` | i, for `c` the same in all iterations |
//! | `i * m + j` with `j < m` | i and j |
//! | `i quotient m`, `i % m` together | i |
//! | `(i + c) % n` with `i < n` | i |
//! | `max2 c (min2 d i)`, a choice between such | i, but for the items at the ends |
//!
//! Each iteration left out multiplies the number of reads by its size.

use super::cost;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashMap;

/// A read `(index x a …)` of a variable that a map binds.
#[derive(Debug)]
pub(super) struct Site {
    /// The body it stands in.
    pub body: usize,
    /// The indices on the map's axes; a cell of the elements may be read with more.
    pub at: Vec<Atom>,
    /// There are fewer indices than axes.
    partial: bool,
    /// At most so many reads of one element; `None` if nothing bounds them.
    pub times: Option<u64>,
    /// No element is read twice, not even at the ends of an axis. Only where `times` is 1.
    pub strict: bool,
    /// Every element is read, once, on no condition, whatever happens.
    pub exact: bool,
    /// Neighbours in memory are not read by neighbours: each reads one of several, as for means of two by two.
    pub strided: bool,
}

#[derive(Debug, Default)]
pub(super) struct Uses {
    pub sites: Vec<Site>,
    /// How often the variable is used as a whole.
    pub whole: usize,
    /// Whether an element is the size of a row that is reduced.
    pub sizes: bool,
}

/// The uses of every variable that a map binds, and the [`cost::body_weight`] of each body, by number.
pub(super) fn uses(p: &Program) -> (FxHashMap<Var, Uses>, Vec<usize>) {
    let mut w = Walk {
        p,
        frames: Vec::new(),
        weights: Vec::new(),
        level: FxHashMap::default(),
        defs: FxHashMap::default(),
        maps: FxHashMap::default(),
        uses: FxHashMap::default(),
    };
    w.body(&p.body);
    for uses in w.uses.values_mut() {
        uses.settle();
    }
    (w.uses, w.weights)
}

impl Uses {
    /// A cell that is read with fewer indices than there are axes is used as a whole (else its reads
    /// would be reads of the array). To make it where it is used is worth while only if that is instead
    /// of making the array; otherwise the array is needed.
    fn settle(&mut self) {
        let instead = self.whole == 0 && self.sites.len() == 1 && self.sites[0].times == Some(1);
        if !instead {
            let before = self.sites.len();
            self.sites.retain(|s| !s.partial);
            self.whole += before - self.sites.len();
        }
    }
}

/// How deep index arithmetic is looked into.
const FUEL: usize = 8;
/// Items of an axis that no vector is made of.
const SHORT: i64 = 8;

/// What surrounds a body.
enum Frame {
    Iterations(Vec<Axis>),
    Condition,
    /// An iteration without an index that could cover it.
    Repeated,
}

struct Walk<'a> {
    p: &'a Program,
    frames: Vec<Frame>,
    /// Of each body so far, those inside it included.
    weights: Vec<usize>,
    /// How many frames surround the binder of a variable.
    level: FxHashMap<Var, usize>,
    defs: FxHashMap<Var, &'a Exp>,
    /// The axes of the map that binds a variable.
    maps: FxHashMap<Var, &'a [Axis]>,
    uses: FxHashMap<Var, Uses>,
}

/// The iterations of the path that a number covers.
enum Cover {
    /// It is the same in all of them.
    Invariant,
    Covers {
        axes: Vec<Axis>,
        strict: bool,
    },
    Unknown,
}

impl<'a> Walk<'a> {
    fn body(&mut self, body: &'a Body) {
        let this = self.weights.len();
        self.weights.push(cost::body_weight(self.p, body));
        for s in &body.stmts {
            self.stmt(s, this);
        }
        body.results.iter().for_each(|a| self.whole(*a));
    }

    fn whole(&mut self, a: Atom) {
        if let Atom::Var(v) = a
            && let Some(uses) = self.uses.get_mut(&v)
        {
            uses.whole += 1;
        }
    }

    fn inside(&mut self, frame: Frame, binders: impl IntoIterator<Item = Var>, body: &'a Body) {
        self.frames.push(frame);
        let depth = self.frames.len();
        self.level.extend(binders.into_iter().map(|v| (v, depth)));
        self.body(body);
        self.frames.pop();
    }

    fn stmt(&mut self, s: &'a Stmt, this: usize) {
        match &s.exp {
            Exp::Index { array, at } if self.uses.contains_key(array) => {
                let site = self.site(*array, at, this);
                if let (Some(site), Some(uses)) = (site, self.uses.get_mut(array)) {
                    uses.sites.push(site);
                }
            }
            e => e.for_each_operand(&mut |a| self.whole(a)),
        }
        match &s.exp {
            Exp::If { then, otherwise, .. } => {
                self.inside(Frame::Condition, [], then);
                self.inside(Frame::Condition, [], otherwise);
            }
            Exp::For { axis, state, body } => {
                let binders: Vec<Var> = state.iter().map(|x| x.0).chain([axis.var]).collect();
                self.inside(Frame::Iterations(vec![*axis]), binders, body);
            }
            Exp::While { state, cond, body } => {
                let binders: Vec<Var> = state.iter().map(|x| x.0).collect();
                self.inside(Frame::Repeated, binders.clone(), cond);
                self.inside(Frame::Repeated, binders, body);
            }
            Exp::Map { axes, body } => {
                self.inside(Frame::Iterations(axes.clone()), axes.iter().map(|x| x.var), body);
                for v in &s.pat {
                    self.maps.insert(*v, axes);
                    self.uses.insert(*v, Uses::default());
                }
            }
            Exp::Reduce { axis, body, op } | Exp::Scan { axis, body, op, .. } => {
                if op.assoc && matches!(s.exp, Exp::Reduce { .. }) {
                    self.size(axis.size, FUEL);
                }
                self.inside(Frame::Iterations(vec![*axis]), [axis.var], body);
                self.inside(Frame::Repeated, op.lambda.params.iter().copied(), &op.lambda.body);
            }
            Exp::Scatter { axis, body, combine, .. } => {
                self.inside(Frame::Iterations(vec![*axis]), [axis.var], body);
                if let Some(l) = combine {
                    self.inside(Frame::Repeated, l.params.iter().copied(), &l.body);
                }
            }
            Exp::Filter { axis, body } | Exp::Grade { axis, body, .. } | Exp::Join { axis, body, .. } => {
                self.inside(Frame::Iterations(vec![*axis]), [axis.var], body);
            }
            _ => {}
        }
        let depth = self.frames.len();
        for v in &s.pat {
            self.level.insert(*v, depth);
            self.defs.insert(*v, &s.exp);
        }
    }

    /// Notes where the size of a row comes from.
    fn size(&mut self, a: Atom, fuel: usize) {
        let exp = a.as_var().and_then(|v| self.defs.get(&v).copied());
        match (exp, fuel.checked_sub(1)) {
            (Some(Exp::Index { array, .. }), _) => {
                if let Some(uses) = self.uses.get_mut(array) {
                    uses.sizes = true;
                }
            }
            (Some(Exp::Atom(b)), Some(fuel)) => self.size(*b, fuel),
            (Some(Exp::Op(_, args)), Some(fuel)) => args.iter().for_each(|b| self.size(*b, fuel)),
            _ => {}
        }
    }

    fn site(&self, array: Var, at: &[Atom], body: usize) -> Option<Site> {
        let depth = *self.level.get(&array)?;
        let axes = *self.maps.get(&array)?;
        let path = self.frames.get(depth..)?;
        let iterations: Vec<Axis> = path
            .iter()
            .flat_map(|f| match f {
                Frame::Iterations(axes) => axes.as_slice(),
                _ => &[],
            })
            .copied()
            .collect();
        let repeated = path.iter().any(|f| matches!(f, Frame::Repeated));
        let conditional = path.iter().any(|f| matches!(f, Frame::Condition));

        let at_axes = &at[..at.len().min(axes.len())];
        let mut covered: Vec<Var> = Vec::new();
        let mut strict = true;
        let mut cover = |c: Cover| {
            if let Cover::Covers { axes, strict: s } = c
                && axes.iter().any(|x| !covered.contains(&x.var))
            {
                strict &= s;
                covered.extend(axes.iter().map(|x| x.var));
            }
        };
        at_axes.iter().for_each(|a| cover(self.cover(*a, depth, FUEL)));
        for a in at_axes {
            for b in at_axes {
                cover(self.cover_by_parts(*a, *b, depth));
            }
        }
        let missing = iterations.iter().filter(|x| !covered.contains(&x.var));
        let times = missing
            .map(|x| x.size.as_int().and_then(|n| u64::try_from(n).ok()))
            .try_fold(1, |product: u64, n| product.checked_mul(n?))
            .filter(|_| !repeated);
        let exact = !repeated
            && !conditional
            && at.len() >= axes.len()
            && iterations.len() == axes.len()
            && axes
                .iter()
                .zip(at)
                .all(|(x, a)| iterations.iter().any(|i| Atom::Var(i.var) == *a && i.size == x.size))
            && iterations.iter().all(|i| at_axes.contains(&Atom::Var(i.var)));
        let strict = strict && times == Some(1);
        let partial = at.len() < axes.len();
        let strided = !partial && at_axes.last().is_some_and(|a| self.is_strided(*a, FUEL));
        Some(Site { body, at: at_axes.to_vec(), partial, times, strict, exact, strided })
    }

    /// What `a` covers of the iterations inside the first `depth` frames.
    fn cover(&self, a: Atom, depth: usize, fuel: usize) -> Cover {
        let Atom::Var(v) = a else { return Cover::Invariant };
        // A parameter of the program has no level.
        if self.level.get(&v).is_none_or(|l| *l <= depth) {
            return Cover::Invariant;
        }
        if let Some(axis) = self.axis(v) {
            return Cover::Covers { axes: vec![axis], strict: true };
        }
        let (Some(exp), Some(fuel)) = (self.defs.get(&v), fuel.checked_sub(1)) else { return Cover::Unknown };
        let (op, args) = match exp {
            Exp::Atom(a) => return self.cover(*a, depth, fuel),
            Exp::Op(op, args) => (*op, args.as_slice()),
            Exp::Index { .. } | Exp::Cast(..) => {
                let mut all = true;
                exp.for_each_operand(&mut |a| all &= matches!(self.cover(a, depth, fuel), Cover::Invariant));
                return if all { Cover::Invariant } else { Cover::Unknown };
            }
            _ => return Cover::Unknown,
        };
        let covers = args.iter().map(|a| self.cover(*a, depth, fuel)).collect();
        self.cover_operator(op, args, covers)
    }

    /// Whether an index goes in steps along an axis that is not short.
    fn is_strided(&self, a: Atom, fuel: usize) -> bool {
        let def = a.as_var().and_then(|v| self.defs.get(&v).copied());
        let (Some(Exp::Op(op, args)), Some(fuel)) = (def, fuel.checked_sub(1)) else { return false };
        match (op, &args[..]) {
            (ScalarOp::Mul, [a, n] | [n, a]) if n.as_int().is_some_and(|n| n > 1 && n <= SHORT) => {
                self.is_along(*a, fuel)
            }
            (ScalarOp::Add | ScalarOp::Sub | ScalarOp::Modulo, [a, b]) => {
                self.is_strided(*a, fuel) || self.is_strided(*b, fuel)
            }
            _ => false,
        }
    }

    /// Whether a number goes up with an index along such an axis.
    fn is_along(&self, a: Atom, fuel: usize) -> bool {
        let Some(v) = a.as_var() else { return false };
        if let Some(axis) = self.axis(v) {
            return axis.size.as_int().is_none_or(|n| n > SHORT);
        }
        match (self.defs.get(&v), fuel.checked_sub(1)) {
            (Some(Exp::Op(ScalarOp::Add | ScalarOp::Sub, args)), Some(fuel)) => {
                args.iter().any(|a| self.is_along(*a, fuel))
            }
            _ => false,
        }
    }

    /// What the result of an operator covers, whose operands cover `covers`.
    fn cover_operator(&self, op: ScalarOp, args: &[Atom], covers: Vec<Cover>) -> Cover {
        use Cover::*;
        use ScalarOp::*;
        if covers.iter().all(|c| matches!(c, Invariant)) {
            return Invariant;
        }
        match (op, covers.as_slice()) {
            (
                Add | Sub | Mul,
                [Covers { axes, strict }, Invariant] | [Invariant, Covers { axes, strict }],
            ) => Covers { axes: axes.clone(), strict: *strict },
            (Min2 | Max2, [Covers { axes, .. }, Invariant] | [Invariant, Covers { axes, .. }]) => {
                Covers { axes: axes.clone(), strict: false }
            }
            (Modulo, [Covers { axes, strict }, Invariant]) if axes.len() == 1 && axes[0].size == args[1] => {
                Covers { axes: axes.clone(), strict: *strict }
            }
            (Select, [_, Covers { axes: a, .. }, Covers { axes: b, .. }]) if a == b => {
                Covers { axes: a.clone(), strict: false }
            }
            (Add, [Covers { axes: a, .. }, Covers { axes: b, .. }]) => {
                // The digits of a number: the low one is below what the high one is a multiple of, so
                // that this is not 0.
                let apart = a.iter().all(|x| b.iter().all(|y| x.var != y.var));
                let digits = |low: &[Axis], high: Atom| match low {
                    [j] if apart => self.is_multiple(high, j.size),
                    _ => false,
                };
                let axes = a.iter().chain(b).copied().collect();
                match (digits(b, args[0]), digits(a, args[1])) {
                    (false, false) => Unknown,
                    _ => Covers { axes, strict: a.len() + b.len() == 2 },
                }
            }
            _ => Unknown,
        }
    }

    /// What `a` and `b` cover together as quotient and remainder of one number.
    fn cover_by_parts(&self, a: Atom, b: Atom, depth: usize) -> Cover {
        let parts = |a: Atom| match self.defs.get(&a.as_var()?)? {
            Exp::Op(op, args) => Some((*op, *args.first()?, *args.get(1)?)),
            _ => None,
        };
        match (parts(a), parts(b)) {
            (Some((ScalarOp::Quotient, x, m)), Some((ScalarOp::Modulo, y, n))) if x == y && m == n => {
                match self.cover(m, depth, FUEL) {
                    Cover::Invariant => self.cover(x, depth, FUEL),
                    _ => Cover::Unknown,
                }
            }
            _ => Cover::Unknown,
        }
    }

    /// Whether `a` is a multiple of `size`.
    fn is_multiple(&self, a: Atom, size: Atom) -> bool {
        let def = a.as_var().and_then(|v| self.defs.get(&v));
        matches!(def, Some(Exp::Op(ScalarOp::Mul, args)) if args.contains(&size))
    }

    fn axis(&self, v: Var) -> Option<Axis> {
        self.frames.iter().rev().find_map(|f| match f {
            Frame::Iterations(axes) => axes.iter().find(|x| x.var == v).copied(),
            _ => None,
        })
    }
}

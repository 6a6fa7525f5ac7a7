//! Simplification: what can be said of a statement by looking at it and at the definitions of its operands.
//!
//! ```text
//! before                                         after
//! (let (%a) (op * %n 1))
//! (let (%b) (op + %a 2))                         (let (%b) (op + %n 2))
//! (let (%c) (op - %b 1))                         (let (%c) (op + %n 1))
//! (let (%r) (map ((%i %n))                       (let (%r) (map ((%i %n) (%j %m))
//!   (let (%x) (index %xss %i))                     (let (%z) (index %xss %i %j))
//!   (let (%s) (map ((%j %m))                       (let (%w) (op + %z 1))
//!     (let (%z) (index %x %j)) …                   (give %w)))
//! ```
//!
//! - copies and constants are propagated, operators of constants folded ([`ops`]); sums and differences of
//!   sizes are gathered; comparisons are decided by what is known of sizes ([`Facts`]);
//! - an `if` of a constant is its branch; results that are the same in both branches leave the `if`; what
//!   is chosen between scalars is a `select`;
//! - a loop of no iterations or one is no loop; state that never changes is no state ([`loops`]);
//! - maps directly in maps are one map of more axes; a map that gives the elements of an array in order is
//!   that array; an index of a cell is an index of the array ([`arrays`]);
//! - a `check` that holds is gone, and after a `check` (or within a branch) its condition is known.
//!
//! One walk from the first statement to the last: definitions precede uses, so that each operand has been
//! simplified when its use is met. What simplifies only after that waits for the next round.

mod arrays;
mod loops;
mod ops;

pub(super) use loops::identical;

use super::facts::{Facts, Mark};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::pass::PassInfo;
use remc_base::{BaseTy, Prov, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub const PASS: PassInfo = PassInfo {
    name: "simplify",
    from: "mono",
    to: "mono",
    summary: "folds constants, propagates copies, merges perfect nests",
};

pub fn simplify(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    let facts = Facts::new(p);
    let mut sizes = FxHashSet::default();
    body.for_each_stmt(&mut |s| sizes.extend(s.exp.axes().iter().filter_map(|axis| axis.size.as_var())));
    let mut s = Simplifier {
        p,
        facts,
        sizes,
        replaced: FxHashMap::default(),
        defs: FxHashMap::default(),
        depth: 0,
        level: FxHashMap::default(),
    };
    body = s.body(body);
    p.body = body;
}

struct Simplifier<'p> {
    p: &'p mut Program,
    facts: Facts,
    /// The sizes of the program's axes.
    sizes: FxHashSet<Var>,
    /// Variables whose statements are gone, and what to write in their place.
    replaced: FxHashMap<Var, Atom>,
    /// Definitions that others look into: those without bodies.
    defs: FxHashMap<Var, Rc<Exp>>,
    /// How many scopes there are around, and those of variables that are bound in one.
    depth: usize,
    level: FxHashMap<Var, usize>,
}

/// What becomes of a statement.
enum Outcome {
    Keep(Exp),
    /// Its variables are these atoms.
    Atoms(Vec<Atom>),
    /// It binds nothing and does nothing.
    Gone,
}

/// Where statements go, and what the statement at hand is.
struct Place<'a> {
    out: &'a mut Vec<Stmt>,
    prov: Prov,
    pat: &'a mut Vec<Var>,
}

impl Simplifier<'_> {
    /// What to write for an atom.
    fn resolve(&self, mut a: Atom) -> Atom {
        loop {
            a = self.facts.root(a);
            match a.as_var().and_then(|v| self.replaced.get(&v)) {
                Some(b) => a = *b,
                None => return a,
            }
        }
    }

    fn replace(&mut self, v: Var, with: Atom) {
        let with = self.resolve(with);
        if with != Atom::Var(v) {
            self.replaced.insert(v, with);
        }
    }

    fn retype(&mut self, v: Var) {
        if self.p.vars[v].ty.dims.is_empty() {
            return;
        }
        let mut dims = std::mem::take(&mut self.p.vars[v].ty.dims);
        for d in &mut dims {
            *d = self.resolve(*d);
        }
        self.p.vars[v].ty.dims = dims;
    }

    /// Whether a size that is another than this is of the innermost scope: who is outside of that knows only the other one.
    fn is_own_size(&self, a: Atom, known: Atom) -> bool {
        let level = |a: Atom| a.as_var().and_then(|v| self.level.get(&v).copied()).unwrap_or(0);
        a != known && level(a) == self.depth && level(known) < self.depth
    }

    /// A body in a scope of its own; `facts` first says what is known in it.
    fn scope(&mut self, body: Body, facts: impl FnOnce(&mut Facts)) -> Body {
        let mark: Mark = self.facts.mark();
        facts(&mut self.facts);
        self.depth += 1;
        let body = self.body(body);
        self.depth -= 1;
        self.facts.rollback(mark);
        body
    }

    fn body(&mut self, body: Body) -> Body {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        let results = self.inline(body, &mut stmts);
        Body { stmts, results }
    }

    /// The statements of a body in the place of the statement that it was in.
    fn inline(&mut self, body: Body, out: &mut Vec<Stmt>) -> Vec<Atom> {
        for s in body.stmts {
            self.stmt(s, out);
        }
        body.results.iter().map(|a| self.resolve(*a)).collect()
    }

    fn stmt(&mut self, s: Stmt, out: &mut Vec<Stmt>) {
        let Stmt { mut pat, exp, prov } = s;
        let mut exp = self.replicated_scalar(exp);
        exp.for_each_operand_mut(&mut |a| *a = self.resolve(*a));
        for v in exp.inner_binders().into_iter().chain(pat.iter().copied()) {
            self.retype(v);
        }
        let mut place = Place { out, prov, pat: &mut pat };
        match self.exp(exp, &mut place) {
            Outcome::Gone => {}
            Outcome::Atoms(atoms) => {
                for (v, a) in pat.iter().zip(atoms) {
                    self.bind(*v, a, prov, out);
                }
            }
            Outcome::Keep(exp) => self.push(Stmt { pat, exp, prov }, out),
        }
    }

    /// Makes a variable an atom: by writing that in its place, unless it is a size and the atom negative.
    ///
    /// Whatever has a negative size is behind a check that fails whenever it would be made; the size stays a variable,
    /// bound to what no pass takes for a copy.
    fn bind(&mut self, v: Var, a: Atom, prov: Prov, out: &mut Vec<Stmt>) {
        if a.as_int().is_some_and(|n| n < 0) && self.is_size(v) {
            let exp = Exp::Op(ScalarOp::Add, vec![Atom::int(0), a]);
            out.push(Stmt { pat: vec![v], exp, prov });
        } else {
            self.replace(v, a);
        }
    }

    /// Whether axes have the variable as their size, or arrays as a dim.
    fn is_size(&self, v: Var) -> bool {
        self.sizes.contains(&v) || self.p.vars.iter().any(|(_, info)| info.ty.dims.contains(&Atom::Var(v)))
    }

    /// A scalar for each element is a map that gives it. A view is of a variable, and what is known of the
    /// scalar may be that it is a constant.
    fn replicated_scalar(&mut self, exp: Exp) -> Exp {
        match exp {
            Exp::View { view: View::Replicate { dims }, array } if self.p.ty(array).is_scalar() => {
                let axis = |size| Axis { var: self.p.fresh("i", Ty::int()), size };
                let axes = dims.into_iter().map(axis).collect();
                Exp::Map { axes, body: Body { stmts: Vec::new(), results: vec![Atom::Var(array)] } }
            }
            exp => exp,
        }
    }

    /// Adds a statement that is simple already.
    fn push(&mut self, s: Stmt, out: &mut Vec<Stmt>) {
        // Their dims may be variables of the same statement that are gone.
        s.pat.iter().for_each(|v| self.retype(*v));
        self.facts.bind(self.p, &s);
        if self.depth > 0 {
            self.level.extend(s.pat.iter().map(|v| (*v, self.depth)));
        }
        if let (
            [v],
            Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. } | Exp::Literal { .. } | Exp::View { .. },
        ) = (&s.pat[..], &s.exp)
        {
            self.defs.insert(*v, Rc::new(s.exp.clone()));
        }
        out.push(s);
    }

    fn def(&self, a: Atom) -> Option<&Exp> {
        self.defs.get(&a.as_var()?).map(|e| &**e)
    }

    fn exp(&mut self, exp: Exp, place: &mut Place<'_>) -> Outcome {
        match exp {
            Exp::Atom(a) => Outcome::Atoms(vec![a]),
            Exp::Op(op, args) => match self.op(op, args) {
                ops::Simple::Atom(a) => Outcome::Atoms(vec![a]),
                ops::Simple::Op(op, args) => Outcome::Keep(Exp::Op(op, args)),
            },
            Exp::Cast(to, a) => match a {
                Atom::Const(c) => match remc_base::ops::cast(c, to) {
                    Ok(c) => Outcome::Atoms(vec![Atom::Const(c)]),
                    Err(_) => Outcome::Keep(Exp::Cast(to, a)),
                },
                Atom::Var(v) if self.p.ty(v).base == to => Outcome::Atoms(vec![a]),
                Atom::Var(_) => Outcome::Keep(Exp::Cast(to, a)),
            },
            Exp::Literal { dims, elems } => match elems[..] {
                [a] if dims.is_empty() => Outcome::Atoms(vec![a]),
                _ => Outcome::Keep(Exp::Literal { dims, elems }),
            },
            Exp::Index { array, at } => self.index(array, at),
            Exp::View { view, array } => self.view(view, array, place),
            Exp::If { cond, then, otherwise } => self.branch(cond, then, otherwise, place),
            Exp::For { axis, state, body } => self.for_loop(axis, state, body, place),
            Exp::While { state, cond, body } => self.while_loop(state, cond, body, place),
            Exp::Map { axes, body } => self.map(axes, body, place),
            Exp::Reduce { axis, body, op } => self.reduce(axis, body, op, place),
            Exp::Scan { kind, axis, body, op } => self.scan(kind, axis, body, op),
            Exp::Scatter { dests, axis, body, combine } => {
                if axis.size.as_int() == Some(0) {
                    return Outcome::Atoms(dests.into_iter().map(Atom::Var).collect());
                }
                let body = self.scope(body, |f| f.axis(&axis));
                let combine = combine.map(|l| self.lambda(l));
                Outcome::Keep(Exp::Scatter { dests, axis, body, combine })
            }
            Exp::Filter { axis, body } => {
                let body = self.scope(body, |f| f.axis(&axis));
                Outcome::Keep(Exp::Filter { axis, body })
            }
            Exp::Grade { axis, body, gives } => {
                let body = self.scope(body, |f| f.axis(&axis));
                Outcome::Keep(Exp::Grade { axis, body, gives })
            }
            Exp::Join { axis, regular, body } => {
                let body = self.scope(body, |f| f.axis(&axis));
                Outcome::Keep(Exp::Join { axis, regular, body })
            }
            Exp::Check { trap, cond, values } => match cond {
                Atom::Const(Scalar::Bool(true)) => Outcome::Gone,
                _ => Outcome::Keep(Exp::Check { trap, cond, values }),
            },
            Exp::Pull { .. } | Exp::Push { .. } => Outcome::Keep(exp),
        }
    }

    fn lambda(&mut self, l: Lambda) -> Lambda {
        Lambda { params: l.params, body: self.scope(l.body, |_| {}) }
    }

    fn branch(&mut self, cond: Atom, then: Body, otherwise: Body, place: &mut Place<'_>) -> Outcome {
        let (cond, then, otherwise) = match (cond, self.def(cond)) {
            (Atom::Const(c), _) => {
                let chosen = if c == Scalar::Bool(true) { then } else { otherwise };
                return Outcome::Atoms(self.inline(chosen, place.out));
            }
            (_, Some(Exp::Op(ScalarOp::Not, args))) => (args[0], otherwise, then),
            _ => (cond, then, otherwise),
        };
        let mut then = self.scope(then, |f| f.assume(cond, true));
        let mut otherwise = self.scope(otherwise, |f| f.assume(cond, false));
        let no_stmts = then.stmts.is_empty() && otherwise.stmts.is_empty();
        let mut kept = Vec::new();
        for k in 0..place.pat.len() {
            let (v, a, b) = (place.pat[k], then.results[k], otherwise.results[k]);
            if identical(a, b) {
                // Bound outside: binders are unique.
                self.bind(v, a, place.prov, place.out);
            } else if no_stmts && self.p.ty(v).is_scalar() {
                self.emit_op(v, ScalarOp::Select, vec![cond, a, b], place.prov, place.out);
            } else {
                kept.push(k);
            }
        }
        if kept.is_empty() && !then.can_stop() && !otherwise.can_stop() {
            return Outcome::Gone;
        }
        keep_slots(place.pat, &kept);
        keep_slots(&mut then.results, &kept);
        keep_slots(&mut otherwise.results, &kept);
        Outcome::Keep(Exp::If { cond, then, otherwise })
    }

    /// `v` as an operator's result, simplified.
    fn emit_op(&mut self, v: Var, op: ScalarOp, args: Vec<Atom>, prov: Prov, out: &mut Vec<Stmt>) {
        match self.op(op, args) {
            ops::Simple::Atom(a) => self.bind(v, a, prov, out),
            ops::Simple::Op(op, args) => self.push(Stmt { pat: vec![v], exp: Exp::Op(op, args), prov }, out),
        }
    }

    fn base(&self, a: Atom) -> BaseTy {
        match a {
            Atom::Var(v) => self.p.ty(v).base,
            Atom::Const(c) => c.ty(),
        }
    }
}

/// Only the items at these positions, which ascend.
pub(super) fn keep_slots<T: Clone>(items: &mut Vec<T>, kept: &[usize]) {
    if kept.len() < items.len() {
        *items = kept.iter().map(|k| items[*k].clone()).collect();
    }
}

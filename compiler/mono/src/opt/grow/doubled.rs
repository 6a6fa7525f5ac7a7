//! Arrays that nobody can count beforehand: a queue, a stack, a list of what was found on the way. Their room doubles when it
//! is full.
//!
//! ```text
//! (let (%k %n %q)                             (let (… %n %q %go %need)
//!   (while ((%i 0) (%m 1) (%s %start))          (while ((%j 0) (%l 1) (%t %start) (%on true) (%some 0))
//!     (cond … %c)                                 (cond %on)
//!     …                                           %most = 2 %l + 1024 + 2 %some, a room for %most items with those of %t
//!     (let (%p) (view (append %x) %s))    ⟶       (while ((%i %j) (%m %l) (%r %room) (%ok true) (%d 0))
//!     (give %i' %m' %p)))                           (cond … (and %c %ok))
//!                                                   … %more, what the round appends at most
//!                                                   (if (<= (+ %m %more) %most)
//!                                                     … the round, its items written into %r … (give %i' %m' %w true 0)
//!                                                     (give %i %m %r false %more)))
//!                                                 the items that there are, as an array; goes on unless %ok))
//! ```
//!
//! A round that might not fit is not begun: what it appends at most is known before it changes anything, from the sizes of what
//! is appended, and from how many rounds the loops in it have. So all that is left to do between two doublings is a loop that
//! changes items of arrays. Each doubling has as many items more than before as it copies, so `n` items cost the time of `n`.
//! Arrays of one loop get rooms of as many elements, as many as the longest of them needs.
//!
//! Where what a round appends at most is the same in each round, the condition of the inner loop asks whether it fits.

use super::chain::{Grown, definitions};
use super::room::{Fill, Heads, Wanted};
use super::{FEW, all_grown, has_channels};
use crate::ir::*;
use crate::walk::{Copier, retype};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// Elements for which an array has room at least, beside those it needs.
const LEAST: i64 = 1024;

/// A number of rounds that no loop is done with. Sums and products with it do not wrap.
const ENDLESS: i64 = 1 << 56;

/// What a loop becomes in which arrays grow, or shrink.
pub(super) fn doubled(p: &mut Program, s: &Stmt) -> Option<Vec<Stmt>> {
    let all = bounded(p, s)?;
    let mut fill = Fill { p, out: Vec::new(), prov: s.prov };
    let s = as_while(&mut fill, s.clone());
    let inside: FxHashSet<Var> = s.exp.inner_binders().into_iter().chain(bodies_bind(&s)).collect();
    let sizes = |b: &Bound| b.sizes().into_iter().any(|v| inside.contains(&v));
    if all.iter().any(|(_, b)| sizes(b)) { by_round(fill, s, all) } else { steadily(fill, s, all) }
}

/// The states that grow by what can be told before a round, and by how much.
fn bounded(p: &Program, s: &Stmt) -> Option<Vec<(Grown, Bound)>> {
    let (Exp::For { body, .. } | Exp::While { body, .. }) = &s.exp else { return None };
    let all = all_grown(p, s);
    if all.is_empty() || has_channels(body) {
        return None;
    }
    let growth = Growth::new(p, body);
    let all: Vec<(Grown, Bound)> = all
        .into_iter()
        .filter_map(|g| {
            let bound = growth.of(&g, *body.results.get(g.slot)?, true)?;
            Some((g, bound))
        })
        .collect();
    (!all.is_empty()).then_some(all)
}

fn bodies_bind(s: &Stmt) -> Vec<Var> {
    s.exp.bodies().into_iter().flat_map(Body::binders).collect()
}

/// A loop over an axis as one with a condition.
fn as_while(fill: &mut Fill<'_>, mut s: Stmt) -> Stmt {
    let Exp::For { axis, mut state, mut body } = s.exp else { return s };
    let (below, next) = (fill.p.fresh("t", Ty::scalar(BaseTy::Bool)), fill.p.fresh("t", Ty::int()));
    let stmt = |v, op, args| Stmt { pat: vec![v], exp: Exp::Op(op, args), prov: s.prov };
    let cond = Body {
        stmts: vec![stmt(below, ScalarOp::Lt, vec![axis.var.into(), axis.size])],
        results: vec![below.into()],
    };
    body.stmts.push(stmt(next, ScalarOp::Add, vec![axis.var.into(), Atom::int(1)]));
    body.results.push(next.into());
    state.push((axis.var, Atom::int(0)));
    s.pat.push(fill.p.fresh("rounds", Ty::int()));
    s.exp = Exp::While { state, cond, body };
    s
}

/// How many items a round appends at most: the sum of these.
#[derive(Default)]
struct Bound {
    known: i64,
    terms: Vec<Term>,
}

enum Term {
    Size(Var),
    /// So many in each round of a loop whose number goes up from one number to another.
    Rounds {
        from: Atom,
        to: Atom,
        each: i64,
    },
}

/// Terms of a bound up to which it does not wrap.
const TERMS: usize = 4;

impl Bound {
    fn known(n: i64) -> Bound {
        Bound { known: n, terms: Vec::new() }
    }

    fn and(mut self, other: Bound) -> Option<Bound> {
        self.known += other.known;
        self.terms.extend(other.terms);
        (self.known <= ENDLESS && self.terms.len() <= TERMS).then_some(self)
    }

    fn or(self, other: Bound) -> Option<Bound> {
        let known = self.known.max(other.known);
        Bound { known: 0, ..self }.and(Bound { known, ..other })
    }

    /// The variables that it is made of.
    fn sizes(&self) -> Vec<Var> {
        let vars = |t: &Term| match t {
            Term::Size(v) => vec![*v],
            Term::Rounds { from, to, .. } => [from, to].into_iter().filter_map(|a| a.as_var()).collect(),
        };
        self.terms.iter().flat_map(vars).collect()
    }

    /// Its number. What is out of all proportion is less than it is, and still more than there is memory for.
    fn number(&self, fill: &mut Fill<'_>) -> Atom {
        let (most, least) = (Atom::int(ENDLESS), Atom::int(-ENDLESS));
        let mut sum = Atom::int(self.known);
        for t in &self.terms {
            let n = match *t {
                Term::Size(v) => fill.op(ScalarOp::Min2, v.into(), most),
                Term::Rounds { from, to, each } => {
                    let from = fill.op(ScalarOp::Max2, from, least);
                    let to = fill.op(ScalarOp::Min2, to, most);
                    let rounds = fill.op(ScalarOp::Sub, to, from);
                    let rounds = fill.op(ScalarOp::Max2, rounds, Atom::int(0));
                    fill.op(ScalarOp::Mul, rounds, Atom::int(each))
                }
            };
            sum = fill.op(ScalarOp::Add, sum, n);
        }
        sum
    }
}

/// Finds bounds.
struct Growth<'b> {
    p: &'b Program,
    defs: FxHashMap<Var, (&'b Stmt, usize)>,
    /// What is bound within statements of the round: nobody knows it before the round.
    hidden: FxHashSet<Var>,
}

impl<'b> Growth<'b> {
    fn new(p: &'b Program, body: &'b Body) -> Growth<'b> {
        let hidden = body.stmts.iter().flat_map(|s| {
            let inside = s.exp.bodies().into_iter().flat_map(Body::binders);
            s.exp.inner_binders().into_iter().chain(inside)
        });
        Growth { p, defs: definitions(body), hidden: hidden.collect() }
    }

    /// By how much a variable of a chain is longer than the state, or the array with which it begins again, at most. What
    /// happens on a condition counts only if it is `sure` to be little.
    fn of(&self, g: &Grown, a: Atom, sure: bool) -> Option<Bound> {
        let v = a.as_var()?;
        let Some((s, slot)) = self.defs.get(&v).copied() else {
            return Some(Bound::known(self.p.ty(v).dims.first()?.as_int().unwrap_or(0)));
        };
        match &s.exp {
            Exp::Atom(a) => self.of(g, *a, sure),
            Exp::View { view: View::Append { with }, array } if g.joined.get(with) == Some(array) => {
                self.of(g, (*array).into(), sure)?.and(self.of(g, (*with).into(), sure)?)
            }
            Exp::View { view: View::Append { with }, array } => {
                let (of, more) = if g.chain.contains(array) { (*array, *with) } else { (*with, *array) };
                self.of(g, of.into(), sure)?.and(self.items(more, sure)?)
            }
            Exp::View { view: View::Slice { .. }, array } => self.of(g, (*array).into(), sure),
            Exp::Scatter { dests, .. } => self.of(g, (*dests.get(slot)?).into(), sure),
            Exp::If { then, otherwise, .. } => {
                let then = self.of(g, *then.results.get(slot)?, false)?;
                then.or(self.of(g, *otherwise.results.get(slot)?, false)?)
            }
            Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
                let each = self.of(g, *body.results.get(slot)?, false)?;
                let before = self.of(g, state.get(slot)?.1, sure)?;
                before.and(self.rounds(&s.exp, each)?)
            }
            // With that it begins again.
            _ => Some(Bound::known(self.p.ty(v).dims.first()?.as_int()?)),
        }
    }

    /// How many items an array has.
    fn items(&self, array: Var, sure: bool) -> Option<Bound> {
        let n = *self.p.ty(array).dims.first()?;
        let Some(v) = n.as_var() else { return n.as_int().map(Bound::known) };
        if let Some((Stmt { exp: Exp::Filter { axis, .. }, .. }, _)) = self.defs.get(&v)
            && let Some(n) = axis.size.as_int().filter(|n| *n <= FEW)
        {
            return Some(Bound::known(n));
        }
        let term = sure && !self.hidden.contains(&v);
        term.then(|| Bound { known: 0, terms: vec![Term::Size(v)] })
    }

    /// The same of all rounds of a loop.
    fn rounds(&self, exp: &Exp, each: Bound) -> Option<Bound> {
        if !each.terms.is_empty() || each.known > FEW {
            return None;
        }
        if each.known == 0 {
            return Some(each);
        }
        let (from, to) = match exp {
            Exp::For { axis, .. } => (Atom::int(0), axis.size),
            Exp::While { state, cond, body } => counter(state, cond, body)?,
            _ => return None,
        };
        let seen = |a: Atom| a.as_var().is_none_or(|v| !self.hidden.contains(&v));
        let term = Term::Rounds { from, to, each: each.known };
        (seen(from) && seen(to)).then(|| Bound { known: 0, terms: vec![term] })
    }
}

/// From where to where a state counts one by one, or faster, on which a loop goes on.
fn counter(state: &[(Var, Atom)], cond: &Body, body: &Body) -> Option<(Atom, Atom)> {
    let defined =
        |b: &Body, a: Atom| b.stmts.iter().find(|s| s.pat.iter().any(|v| a == (*v).into())).cloned();
    let Exp::Op(op, args) = defined(cond, *cond.results.first()?)?.exp else { return None };
    let (counted, to) = match (op, &args[..]) {
        (ScalarOp::And, both) => {
            // It goes on no longer than one of two conditions holds.
            let part = |a: Atom| Body { results: vec![a], ..cond.clone() };
            return both.iter().find_map(|a| counter(state, &part(*a), body));
        }
        (ScalarOp::Lt, [k, n]) | (ScalarOp::Gt, [n, k]) => (*k, *n),
        _ => return None,
    };
    let k = state.iter().position(|(v, _)| counted == (*v).into())?;
    let changes =
        state.iter().any(|(v, _)| to == (*v).into()) || cond.binders().iter().any(|v| to == (*v).into());
    let Exp::Op(ScalarOp::Add, args) = defined(body, *body.results.get(k)?)?.exp else { return None };
    let up = args[0] == counted && args[1].as_int().is_some_and(|n| n >= 1);
    (up && !changes).then_some((state[k].1, to))
}

/// The loop of rounds that append as much at most as the others.
fn steadily(mut fill: Fill<'_>, s: Stmt, all: Vec<(Grown, Bound)>) -> Option<Vec<Stmt>> {
    let Exp::While { state, cond, body } = s.exp else { return None };
    let need: Vec<Atom> = all.iter().map(|(_, b)| b.number(&mut fill)).collect();
    let before = std::mem::take(&mut fill.out);
    let outer = Outer::new(&mut fill, &state);
    let most = outer.room(&mut fill, &all, &need);
    let inside = Fitting::new(&mut fill, &state, &all, (&need, &most), &cond.results);
    let mut asked = cond.clone();
    asked.stmts.extend(inside.stmts);
    asked.results = vec![inside.fits];
    let ends = copies(fill.p, &old(&state));
    let inner = Stmt {
        pat: ends.clone(),
        exp: Exp::While { state: outer.begins(&state), cond: asked, body },
        prov: s.prov,
    };
    rooms(&mut fill, inner, &all, &most, &inside.places)?;
    let with: Vec<(Var, Atom)> = old(&state).into_iter().zip(ends.iter().map(|v| Atom::Var(*v))).collect();
    let go = Copier::instance(fill.p, &cond, &with);
    fill.out.extend(go.stmts);
    let results = ends.into_iter().map(Atom::Var).chain(go.results).collect();
    outer.around(fill, before, (s.pat, &state), results, &[])
}

/// The loop of rounds each of which says how much it appends at most.
fn by_round(mut fill: Fill<'_>, s: Stmt, all: Vec<(Grown, Bound)>) -> Option<Vec<Stmt>> {
    let Exp::While { state, mut cond, body } = s.exp else { return None };
    let (first, rest) = begun(fill.p, body, &all)?;
    let before = std::mem::take(&mut fill.out);
    let (some, ok, more) =
        (fill.p.fresh("some", Ty::int()), truth(fill.p, "ok"), fill.p.fresh("need", Ty::int()));
    let outer = Outer::new(&mut fill, &state);
    let most = outer.room(&mut fill, &all, &vec![some.into(); all.len()]);
    // The round, if there is room for it.
    let made = std::mem::replace(&mut fill.out, first);
    let need: Vec<Atom> = all.iter().map(|(_, b)| b.number(&mut fill)).collect();
    let inside = Fitting::new(&mut fill, &state, &all, (&need, &most), &[]);
    fill.out.extend(inside.stmts);
    let greatest = need.iter().copied().reduce(|a, b| fill.op(ScalarOp::Max2, a, b))?;
    let stays: Vec<Atom> = state.iter().map(|(v, _)| Atom::Var(*v)).collect();
    let end = |mut b: Body, ok: bool, more: Atom| {
        b.results.extend([Atom::Const(Scalar::Bool(ok)), more]);
        b
    };
    let then = end(rest, true, Atom::int(0));
    let otherwise = end(Body { stmts: Vec::new(), results: stays }, false, greatest);
    let mut next = copies(fill.p, &old(&state));
    next.extend([truth(fill.p, "ok"), fill.p.fresh("need", Ty::int())]);
    let results = next.iter().map(|v| Atom::Var(*v)).collect();
    fill.push(next, Exp::If { cond: inside.fits, then, otherwise });
    let body = Body { stmts: std::mem::replace(&mut fill.out, made), results };
    // The loop of rounds that fit.
    let on = truth(fill.p, "on");
    cond.stmts.push(Stmt {
        pat: vec![on],
        exp: Exp::Op(ScalarOp::And, vec![cond.results[0], ok.into()]),
        prov: s.prov,
    });
    cond.results = vec![on.into()];
    let mut ends = copies(fill.p, &old(&state));
    ends.extend([truth(fill.p, "ok"), fill.p.fresh("need", Ty::int())]);
    let mut begins = outer.begins(&state);
    begins.extend([(ok, Atom::Const(Scalar::Bool(true))), (more, Atom::int(0))]);
    let inner = Stmt { pat: ends.clone(), exp: Exp::While { state: begins, cond, body }, prov: s.prov };
    rooms(&mut fill, inner, &all, &most, &inside.places)?;
    let go = truth(fill.p, "go");
    let fitted = ends[state.len()];
    fill.push(vec![go], Exp::Op(ScalarOp::Not, vec![fitted.into()]));
    let mut results: Vec<Atom> = ends.iter().map(|v| Atom::Var(*v)).collect();
    results[state.len()] = go.into();
    outer.around(fill, before, (s.pat, &state), results, &[some])
}

fn truth(p: &mut Program, name: &str) -> Var {
    p.fresh(name, Ty::scalar(BaseTy::Bool))
}

fn old(state: &[(Var, Atom)]) -> Vec<Var> {
    state.iter().map(|(v, _)| *v).collect()
}

/// Variables of the types of these, whose dims are among them.
fn copies(p: &mut Program, vars: &[Var]) -> Vec<Var> {
    let new: Vec<Var> = vars.iter().map(|v| p.vars.push(p.vars[*v].clone())).collect();
    let with = vars.iter().copied().zip(new.iter().map(|v| Atom::Var(*v))).collect();
    retype(p, &new, &with);
    new
}

/// The loop around: in each of its rounds there is room for more.
struct Outer {
    state: Vec<Var>,
}

impl Outer {
    fn new(fill: &mut Fill<'_>, state: &[(Var, Atom)]) -> Outer {
        Outer { state: copies(fill.p, &old(state)) }
    }

    /// For how many items of each array there is room, where a round needs so many more. All rooms have about as many
    /// elements, so that none is full, and all are copied, long before the others.
    fn room(&self, fill: &mut Fill<'_>, all: &[(Grown, Bound)], need: &[Atom]) -> Vec<Atom> {
        let item = |fill: &mut Fill<'_>, g: &Grown| {
            let dims = fill.p.ty(self.state[g.slot]).dims[1..].to_vec();
            let n = dims.into_iter().fold(Atom::int(1), |n, d| fill.op(ScalarOp::Mul, n, d));
            if n.as_int().is_some_and(|n| n > 0) { n } else { fill.op(ScalarOp::Max2, n, Atom::int(1)) }
        };
        let items: Vec<Atom> = all.iter().map(|(g, _)| item(fill, g)).collect();
        let elements = |(g, item): (&Grown, &Atom)| (Atom::Var(self.state[g.size]), *item);
        let sizes: Vec<(Atom, Atom)> = all.iter().map(|(g, _)| g).zip(&items).map(elements).collect();
        let mut longest = Atom::int(0);
        for (n, item) in sizes {
            let n = fill.op(ScalarOp::Mul, n, item);
            longest = if longest == Atom::int(0) { n } else { fill.op(ScalarOp::Max2, longest, n) };
        }
        let twice = fill.op(ScalarOp::Mul, longest, Atom::int(2));
        let most = fill.op(ScalarOp::Add, twice, Atom::int(LEAST));
        let room = |(item, need): (Atom, &Atom)| {
            let most = if item == Atom::int(1) { most } else { fill.op(ScalarOp::Quotient, most, item) };
            let need = fill.op(ScalarOp::Mul, *need, Atom::int(2));
            fill.op(ScalarOp::Add, most, need)
        };
        items.into_iter().zip(need).map(room).collect()
    }

    /// With what the loop inside begins.
    fn begins(&self, state: &[(Var, Atom)]) -> Vec<(Var, Atom)> {
        state.iter().zip(&self.state).map(|((v, _), outer)| (*v, Atom::Var(*outer))).collect()
    }

    /// The whole. `results` are the next states, whether it goes on, and those of these variables, which begin with 0.
    fn around(
        self,
        mut fill: Fill<'_>,
        before: Vec<Stmt>,
        (mut pat, state): (Vec<Var>, &[(Var, Atom)]),
        results: Vec<Atom>,
        more: &[Var],
    ) -> Option<Vec<Stmt>> {
        let go = truth(fill.p, "go");
        let body = Body { stmts: std::mem::replace(&mut fill.out, before), results };
        let mut states: Vec<(Var, Atom)> =
            self.state.into_iter().zip(state.iter().map(|(_, a)| *a)).collect();
        states.push((go, Atom::Const(Scalar::Bool(true))));
        states.extend(more.iter().map(|v| (*v, Atom::int(0))));
        pat.push(truth(fill.p, "go"));
        pat.extend(more.iter().map(|_| fill.p.fresh("need", Ty::int())));
        let cond = Body { stmts: Vec::new(), results: vec![go.into()] };
        fill.push(pat, Exp::While { state: states, cond, body });
        Some(fill.out)
    }
}

/// Whether a round fits.
struct Fitting {
    stmts: Vec<Stmt>,
    fits: Atom,
    /// Numbers of items that are to be places in the room of an array.
    places: Vec<(Var, Var)>,
}

impl Fitting {
    /// Where arrays need so many items more in rooms for so many, and these conditions hold.
    fn new(
        fill: &mut Fill<'_>,
        state: &[(Var, Atom)],
        all: &[(Grown, Bound)],
        (need, most): (&[Atom], &[Atom]),
        also: &[Atom],
    ) -> Fitting {
        let before = std::mem::take(&mut fill.out);
        let (mut fits, mut places) = (also.to_vec(), Vec::new());
        let number = |fill: &mut Fill<'_>, op, a, b| {
            let v = fill.p.fresh("place", Ty::int());
            fill.push(vec![v], Exp::Op(op, vec![a, b]));
            v
        };
        for (((g, _), need), most) in all.iter().zip(need).zip(most) {
            let (array, size) = (state[g.slot].0, state[g.size].0);
            let end = number(fill, ScalarOp::Add, size.into(), *need);
            fits.push(fill.op(ScalarOp::Le, end.into(), *most));
            if g.does.moves() {
                places.push((end, array));
            }
            if g.does.front {
                let start = number(fill, ScalarOp::Sub, Atom::int(0), *need);
                fits.push(fill.op(ScalarOp::Ge, start.into(), Atom::int(0)));
                places.push((start, array));
            }
        }
        let fits = fits.into_iter().reduce(|a, b| fill.op(ScalarOp::And, a, b));
        let fits = fits.unwrap_or(Atom::Const(Scalar::Bool(true)));
        Fitting { stmts: std::mem::replace(&mut fill.out, before), fits, places }
    }
}

/// Adds the loop inside, whose arrays have rooms for so many.
fn rooms(
    fill: &mut Fill<'_>,
    inner: Stmt,
    all: &[(Grown, Bound)],
    most: &[Atom],
    places: &[(Var, Var)],
) -> Option<()> {
    let found = all_grown(fill.p, &inner);
    let wanted: Vec<Wanted<'_>> = all
        .iter()
        .zip(most)
        .filter_map(|((g, _), most)| Some((found.iter().find(|f| f.slot == g.slot)?, *most)))
        .map(|(grown, most)| {
            let heads = match (grown.does.moves(), grown.does.front) {
                (false, _) => Heads::First,
                (true, false) => Heads::Moving,
                (true, true) => Heads::Middle(most),
            };
            Wanted { grown, most, heads, places, partly: true }
        })
        .collect();
    (wanted.len() == all.len()).then(|| fill.rooms(inner, &wanted))
}

/// The statements of a round that say how much it appends, and the rest of it. All that could stop the program before them is
/// among them; nothing that changes an array.
fn begun(p: &Program, body: Body, all: &[(Grown, Bound)]) -> Option<(Vec<Stmt>, Body)> {
    let mut needed: FxHashSet<Var> = all.iter().flat_map(|(_, b)| b.sizes()).collect();
    let mut first = vec![false; body.stmts.len()];
    let mut any = false;
    for (k, s) in body.stmts.iter().enumerate().rev() {
        if !(s.pat.iter().any(|v| needed.contains(v)) || any && s.exp.can_stop()) {
            continue;
        }
        let makes = s.pat.iter().any(|v| !p.ty(*v).is_scalar());
        let changes = match s.exp {
            Exp::View { ref view, .. } => matches!(view, View::Append { .. }),
            _ => matches!(s.exp, Exp::Scatter { .. } | Exp::If { .. } | Exp::For { .. } | Exp::While { .. }),
        };
        if makes && changes {
            return None;
        }
        (first[k], any) = (true, true);
        needed.extend(s.pat.iter().flat_map(|v| &p.ty(*v).dims).filter_map(|d| d.as_var()));
        s.exp.for_each_mention(&mut |a| needed.extend(a.as_var()));
    }
    let (mut begun, mut rest) = (Vec::new(), Vec::new());
    for (s, first) in body.stmts.into_iter().zip(first) {
        if first { begun.push(s) } else { rest.push(s) }
    }
    Some((begun, Body { stmts: rest, ..body }))
}

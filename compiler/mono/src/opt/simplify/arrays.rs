//! Maps, indices and views.
//!
//! ```text
//! (map ((%i %n)) (let (%x) (index %xs %i)) (give %x))            %xs, of n items
//! (map ((%i %n)) (let (%r) (map ((%j %m)) b)) (give %r))         (map ((%i %n) (%j %m)) b)
//! (let (%r) (index %xss %i)) … (index %r %j)                     (index %xss %i %j)
//! (map ((%i %n)) (if %c (index %xss %i) %ys))                    (map ((%i %n) (%j %m)) (if %c (index %xss %i %j) (index %ys %j)))
//! (view (reshape (%n %m)) %xss), of n × m already                %xss
//! ```

use super::super::hoist::is_cheap;
use super::{Outcome, Place, Simplifier, identical, keep_slots};
use crate::ir::*;
use remc_base::Prov;
use rustc_hash::FxHashSet;

/// Whether the elements of a literal are all the same is asked of literals up to this length.
const MOST_COMPARED: usize = 64;

impl Simplifier<'_> {
    pub(super) fn index(&mut self, mut array: Var, mut at: Vec<Atom>) -> Outcome {
        loop {
            if at.is_empty() {
                return Outcome::Atoms(vec![Atom::Var(array)]);
            }
            match self.def(Atom::Var(array)) {
                Some(Exp::Index { array: outer, at: first }) => {
                    at = first.iter().chain(&at).copied().collect();
                    array = *outer;
                }
                Some(Exp::Literal { dims, elems }) if dims.len() == at.len() => {
                    let known = row_major(dims, &at).and_then(|i| elems.get(i).copied());
                    let uniform = || {
                        let first = *elems.first().filter(|_| elems.len() <= MOST_COMPARED)?;
                        elems.iter().all(|x| identical(*x, first)).then_some(first)
                    };
                    return match known.or_else(uniform) {
                        Some(e) => Outcome::Atoms(vec![self.resolve(e)]),
                        None => Outcome::Keep(Exp::Index { array, at }),
                    };
                }
                _ => return Outcome::Keep(Exp::Index { array, at }),
            }
        }
    }

    pub(super) fn map(&mut self, axes: Vec<Axis>, body: Body, place: &mut Place<'_>) -> Outcome {
        if axes.is_empty() {
            return Outcome::Atoms(self.inline(body, place.out));
        }
        for axis in &axes {
            if axis.size.as_int() == Some(1) {
                self.replace(axis.var, Atom::int(0));
            }
        }
        let mut body = self.scope(body, |f| axes.iter().for_each(|a| f.axis(a)));
        self.drop_elements_in_order(&axes, &mut body, place);
        if place.pat.is_empty() && !body.can_stop() {
            return Outcome::Gone;
        }
        self.merge_nest(axes, body)
    }

    /// Results that are the elements, or the cells, of an array in their order.
    fn drop_elements_in_order(&mut self, axes: &[Axis], body: &mut Body, place: &mut Place<'_>) {
        let candidates: Vec<Option<(Var, Vec<Atom>)>> =
            body.results.iter().map(|r| self.elements_in_order(axes, *r)).collect();
        if candidates.iter().all(Option::is_none) {
            return;
        }
        let inside: FxHashSet<Var> =
            body.stmts.iter().flat_map(|s| s.pat.iter().copied()).chain(axes.iter().map(|a| a.var)).collect();
        let mut kept = Vec::new();
        for (k, candidate) in candidates.into_iter().enumerate() {
            match candidate {
                Some((array, at))
                    if !inside.contains(&array)
                        && at.iter().all(|a| a.as_var().is_none_or(|v| !inside.contains(&v))) =>
                {
                    if at.is_empty() {
                        self.replace(place.pat[k], Atom::Var(array));
                    } else {
                        let exp = Exp::Index { array, at };
                        self.push(Stmt { pat: vec![place.pat[k]], exp, prov: place.prov }, place.out);
                    }
                }
                _ => kept.push(k),
            }
        }
        keep_slots(place.pat, &kept);
        keep_slots(&mut body.results, &kept);
    }

    /// The array, and the indices of the cell of it, that a map with this result gives.
    fn elements_in_order(&self, axes: &[Axis], result: Atom) -> Option<(Var, Vec<Atom>)> {
        let Some(Exp::Index { array, at }) = self.def(result) else { return None };
        let (first, last) = at.split_at(at.len().checked_sub(axes.len())?);
        let dims = &self.p.ty(*array).dims;
        let in_order = last
            .iter()
            .zip(axes)
            .all(|(a, x)| *a == Atom::Var(x.var) || x.size.as_int() == Some(1) && a.as_int() == Some(0));
        let whole = axes.iter().zip(dims.get(first.len()..)?).all(|(x, d)| self.facts.same(x.size, *d));
        // The cell is there even if the map is empty.
        let there = first.iter().zip(dims).all(|(a, d)| self.facts.in_bounds(*a, *d));
        (in_order && whole && there).then(|| (*array, first.to_vec()))
    }

    /// Whether an `if` gives arrays of one shape that are there, or cells of such.
    fn chooses_cells(&self, pat: &[Var], exp: &Exp) -> bool {
        let (Exp::If { .. }, Some(first)) = (exp, pat.first()) else { return false };
        let dims = |v: &Var| &self.p.ty(*v).dims;
        let one = pat.iter().all(|v| dims(v) == dims(first) && !dims(v).is_empty());
        one && exp.bodies().into_iter().all(|b| {
            let cell = |s: &Stmt| matches!(s.exp, Exp::Index { .. }) && !self.p.ty(s.pat[0]).is_scalar();
            b.stmts.iter().all(cell)
        })
    }

    /// A branch that gives arrays, for one element of these.
    fn elements_of(&mut self, mut branch: Body, at: &[Atom], prov: Prov) -> Body {
        for r in &mut branch.results {
            let Some(array) = r.as_var() else { continue };
            let x = self.p.fresh("x", Ty::scalar(self.p.ty(array).base));
            branch.stmts.push(Stmt { pat: vec![x], exp: Exp::Index { array, at: at.to_vec() }, prov });
            *r = Atom::Var(x);
        }
        branch
    }

    /// A map that only gives what another map gives is one map of the axes of both. Scalars that the
    /// inner map needs of the outer are computed for each element then, if they cost little.
    fn merge_nest(&mut self, mut axes: Vec<Axis>, mut body: Body) -> Outcome {
        let Some((Stmt { pat, exp, .. }, before)) = body.stmts.split_last() else {
            return Outcome::Keep(Exp::Map { axes, body });
        };
        let inner: Vec<Axis> = match exp {
            Exp::Map { axes, .. } => axes.clone(),
            // A cell is copied into the map's array: element by element. So is one of two.
            exp if matches!(exp, Exp::Index { .. }) || self.chooses_cells(pat, exp) => {
                let dims = self.p.ty(pat[0]).dims.clone();
                dims.into_iter().map(|size| Axis { var: self.p.fresh("i", Ty::int()), size }).collect()
            }
            _ => return Outcome::Keep(Exp::Map { axes, body }),
        };
        let gives_inner = pat.len() == body.results.len()
            && pat.iter().zip(&body.results).all(|(v, r)| *r == Atom::Var(*v));
        let cheap = is_cheap(before) && before.iter().flat_map(|s| &s.pat).all(|v| self.p.ty(*v).is_scalar());
        // Outside, the sizes of the inner axes have to be known.
        let inside = axes.iter().map(|a| a.var).chain(before.iter().flat_map(|s| s.pat.iter().copied()));
        let inside: FxHashSet<Var> = inside.collect();
        let regular = inner.iter().all(|i| i.size.as_var().is_none_or(|v| !inside.contains(&v)));
        if gives_inner
            && cheap
            && regular
            && !inner.is_empty()
            && let Some(s) = body.stmts.pop()
        {
            match s.exp {
                Exp::Map { body: innermost, .. } => {
                    body.stmts.extend(innermost.stmts);
                    body.results = innermost.results;
                }
                Exp::If { cond, then, otherwise } => {
                    let element = |v: &Var| self.p.fresh("x", Ty::scalar(self.p.ty(*v).base));
                    let xs: Vec<Var> = s.pat.iter().map(element).collect();
                    let at: Vec<Atom> = inner.iter().map(|a| Atom::Var(a.var)).collect();
                    let [then, otherwise] = [then, otherwise].map(|b| self.elements_of(b, &at, s.prov));
                    body.results = xs.iter().map(|x| Atom::Var(*x)).collect();
                    let exp = Exp::If { cond, then, otherwise };
                    body.stmts.push(Stmt { pat: xs, exp, prov: s.prov });
                }
                Exp::Index { array, mut at } => {
                    at.extend(inner.iter().map(|a| Atom::Var(a.var)));
                    let x = self.p.fresh("x", Ty::scalar(self.p.ty(array).base));
                    body.stmts.push(Stmt { pat: vec![x], exp: Exp::Index { array, at }, prov: s.prov });
                    body.results = vec![Atom::Var(x)];
                }
                _ => {}
            }
            axes.extend(inner);
        }
        Outcome::Keep(Exp::Map { axes, body })
    }

    pub(super) fn view(&mut self, view: View, array: Var, place: &mut Place<'_>) -> Outcome {
        let from = &self.p.ty(array).dims;
        let to = &self.p.ty(place.pat[0]).dims;
        // A vector of the elements of a vector: the two sizes are one from here on.
        if let (View::Reshape { .. }, [m], [n]) = (&view, &from[..], &to[..]) {
            self.facts.same_size(*m, *n);
        }
        let same = self.facts.same_dims(from, to);
        let zero = |a: &Atom| a.as_int() == Some(0);
        let own = from.iter().zip(to).any(|(m, n)| self.is_own_size(*m, *n));
        let is_copy = match &view {
            View::Reshape { .. } | View::Cycle { .. } => same && !own,
            View::Permute { perm } => perm.iter().enumerate().all(|(k, p)| k == *p),
            View::Reverse => from.first().and_then(|d| d.as_int()).is_some_and(|n| n <= 1),
            View::Rotate { amounts } => amounts.iter().all(zero),
            View::Append { with } => self.p.ty(*with).dims.first().is_some_and(zero),
            View::Slice { start, .. } | View::Wrap { start, .. } => same && start.iter().all(zero),
            View::Replicate { dims } => dims.is_empty(),
        };
        if is_copy {
            return Outcome::Atoms(vec![Atom::Var(array)]);
        }
        if let View::Append { with } = view
            && from.first().is_some_and(zero)
        {
            return Outcome::Atoms(vec![Atom::Var(with)]);
        }
        // The same elements in row-major order: a literal of other dims. Behind a check that is sure to fail these may
        // be of another number of elements.
        if let View::Reshape { dims } = &view
            && let Some(Exp::Literal { elems, .. }) = self.def(Atom::Var(array))
            && elements(dims) == Some(elems.len())
        {
            let elems = elems.clone();
            return Outcome::Keep(Exp::Literal { dims: dims.clone(), elems });
        }
        Outcome::Keep(Exp::View { view, array })
    }
}

/// The position of constant indices in constant dims.
fn row_major(dims: &[Atom], at: &[Atom]) -> Option<usize> {
    let mut i = 0usize;
    for (d, a) in dims.iter().zip(at) {
        let (d, a) = (usize::try_from(d.as_int()?).ok()?, usize::try_from(a.as_int()?).ok()?);
        if a >= d {
            return None;
        }
        i = i.checked_mul(d)?.checked_add(a)?;
    }
    Some(i)
}

#[cfg(test)]
mod tests {
    use super::super::super::shorthand::{after, program, shape};
    use super::super::simplify;
    use crate::ir::Exp;
    use crate::opt::dce::dce;

    /// An index that is the sum of two is within an axis whose size is the sum of theirs, whoever says so.
    #[test]
    fn sums_of_sizes() {
        let windows = |long: &str, check: &str| {
            format!(
                "(let ((%t int)) (op + %k {long})) (let ((%same bool)) (op = {check})) (let () (check (index 1 1) %same %t %n))
                 (let ((%more int)) (op + %k 1))
                 (let ((%ys float %more 5)) (map ((%i %more) (%j 5))
                   (let ((%at int)) (op + %i %j)) (let ((%in bool)) (op < %at %n)) (let () (check (index 1 1) %in %at %n))
                   (let ((%x float)) (index %xs %at)) (give %x)))
                 (give %ys)"
            )
        };
        let checks = |long: &str, check: &str| {
            let p = program("(%k int) (%n int) (%xs float %n) (%zs float %k)", 1, &windows(long, check));
            shape(&after(p, &[simplify, simplify, dce]))
        };
        assert_eq!(checks("5", "%n %t"), "check map2");
        assert_eq!(checks("5", "%t %n"), "check map2");
        assert_eq!(checks("4", "%n %t"), "check map2(check)");
    }

    /// The vector with a size that is counted is the vector, and a map over it has the vector's own size.
    #[test]
    fn a_vector_has_one_size() {
        let body = "(let ((%m int)) (reduce (%i %n) (give 1)
              (assoc ((%a int) (%b int)) (start 0) (let ((%s int)) (op + %a %b)) (give %s))))
            (let ((%ys float %m)) (view (reshape %m) %xs))
            (let ((%zs float %m)) (map ((%j %m)) (let ((%y float)) (index %ys %j)) (let ((%z float)) (op * %y %y)) (give %z)))
            (give %zs)";
        let p = after(program("(%n int) (%xs float %n)", 1, body), &[simplify, simplify, dce]);
        assert_eq!(shape(&p), "map1");
        let Some(Exp::Map { axes, .. }) = p.body.stmts.last().map(|s| &s.exp) else { panic!("{p:?}") };
        assert_eq!(axes[0].size.as_var(), p.params.first().copied());
    }
}

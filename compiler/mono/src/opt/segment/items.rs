//! Items that make arrays are made by a map.
//!
//! What reduces, scans, filters, scatters or sorts items whose computation needs an array of a size of its own would
//! compute them one after the other. So it would where all items of a row share the size, but other rows have another.
//! A map of them is distributed, and what is left reads what it gives:
//!
//! ```text
//! (let (%s) (reduce i k                          (let (%a) (map ((i k))
//!   (let (%n) (index %ns i))                       (let (%n) (index %ns i))
//!   (let (%ys) (scan … j %n …))                    (let (%ys) (scan … j %n …))
//!   (let (%y) (reduce j %n …)) (give %y)    ⟶      (let (%y) (reduce j %n …)) (give %y)))
//!   …))                                          (let (%s) (reduce i k (let (%b) (index %a i)) (give %b) …))
//! ```

use super::{Distributor, always_stops};
use crate::ir::*;
use rustc_hash::FxHashSet;

impl Distributor<'_> {
    /// The body with such items made by maps, in all that is inside of it.
    pub(super) fn items_apart(&mut self, body: Body) -> Body {
        self.apart(body, None)
    }

    /// The same of a body in iterations in any order, if there is `inside`: what the outermost of them binds. A size
    /// among that may be another for each iteration.
    fn apart(&mut self, body: Body, inside: Option<&FxHashSet<Var>>) -> Body {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut s in body.stmts {
            let outermost = inside.is_none() && !is_of_host(&s.exp) && !s.exp.bodies().is_empty();
            let own = outermost.then(|| bound_in(&s));
            let around = inside.or(own.as_ref());
            for b in s.exp.bodies_mut() {
                *b = self.apart(std::mem::take(b), around);
            }
            stmts.extend(around.and_then(|around| self.made_by_map(&mut s, around)));
            stmts.push(s);
        }
        Body { stmts, results: body.results }
    }

    /// Takes the items of an operator out of it: the map that makes them, if there is to be one.
    fn made_by_map(&mut self, s: &mut Stmt, inside: &FxHashSet<Var>) -> Option<Stmt> {
        let (axis, body) = match &s.exp {
            Exp::Reduce { axis, body, .. }
            | Exp::Scan { axis, body, .. }
            | Exp::Filter { axis, body }
            | Exp::Grade { axis, body, .. }
            | Exp::Scatter { axis, body, .. } => (*axis, body),
            _ => return None,
        };
        if always_stops(body) || !self.is_irregular_in(body, inside) {
            return None;
        }
        let made: Vec<Var> = body.results.iter().filter_map(|a| a.as_var()).collect();
        if made.is_empty() || made.iter().any(|v| self.has_dims_of(*v, inside)) {
            return None;
        }
        let i = self.int("i");
        let (mut arrays, mut reads) = (Vec::new(), Vec::new());
        let mut results = Vec::with_capacity(body.results.len());
        for a in &body.results {
            let Atom::Var(v) = a else {
                results.push(*a);
                continue;
            };
            let (name, ty) = (self.p.vars[*v].name.clone(), self.p.ty(*v).clone());
            let array = self.p.fresh(name.as_str(), ty.over(&[axis.size]));
            let read = self.p.fresh(name.as_str(), ty);
            let exp = Exp::Index { array, at: vec![i.into()] };
            reads.push(Stmt { pat: vec![read], exp, prov: s.prov });
            arrays.push(array);
            results.push(read.into());
        }
        let rest = Body { stmts: reads, results };
        let (Exp::Reduce { axis: of, body, .. }
        | Exp::Scan { axis: of, body, .. }
        | Exp::Filter { axis: of, body }
        | Exp::Grade { axis: of, body, .. }
        | Exp::Scatter { axis: of, body, .. }) = &mut s.exp
        else {
            return None;
        };
        let stmts = std::mem::replace(body, rest).stmts;
        of.var = i;
        let results = made.into_iter().map(Atom::Var).collect();
        let exp = Exp::Map { axes: vec![axis], body: Body { stmts, results } };
        Some(Stmt { pat: arrays, exp, prov: s.prov })
    }
}

/// Whether the host goes through the bodies in order: what is bound there is the same for all that runs in any order.
fn is_of_host(exp: &Exp) -> bool {
    matches!(exp, Exp::If { .. } | Exp::For { .. } | Exp::While { .. })
}

/// All that the bodies of a statement bind, and what is bound around them.
fn bound_in(s: &Stmt) -> FxHashSet<Var> {
    let inner = s.exp.bodies().into_iter().flat_map(|b| b.binders());
    s.exp.inner_binders().into_iter().chain(inner).collect()
}

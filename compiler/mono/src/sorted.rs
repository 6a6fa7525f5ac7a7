//! Who reads by an order what the order was made of.
//!
//! ```text
//! (let (%order) (grade (%i %n) (let (%k) (index %xs %i)) (give %k)))      (let (%sorted) (sort (%i %n) … (give %k)))
//! (let (%ys) (map ((%j %n))                                            ⟶  (let (%ys) (map ((%j %n))
//!   (let (%o) (index %order %j))                                            (let (%y) (index %sorted %j))
//!   (let (%y) (index %xs %o)) (give %y)))                                   (give %y)))
//! ```
//!
//! Who reads the place of an order and makes of it what the order was made by has the key of the item that is there. Where
//! all who read an order do so, the keys are sorted and the order is not made: half of what is moved, or less, and no read at
//! a random place for each item.

use crate::ir::*;
use rustc_hash::FxHashMap;

/// Sorts keys in the place of orders, in a body and those inside it: of such axes and keys as `wanted` says.
pub fn sorts(p: &mut Program, body: &mut Body, wanted: &dyn Fn(&Program, &Axis, &Body) -> bool) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| sorts(p, b, wanted));
    }
    for k in 0..body.stmts.len() {
        let Some(s) = body.stmts.get(k) else { break };
        let (Exp::Grade { axis, body: keys, gives: Gives::Places }, [order]) = (&s.exp, &s.pat[..]) else {
            continue;
        };
        let Some(ty) = key_ty(p, keys).filter(|_| wanted(p, axis, keys)) else { continue };
        let sorted = Var(p.vars.len() as u32);
        let reader = Reader { order: *order, axis: *axis, keys, sorted };
        let mut rest = Body { stmts: body.stmts[k + 1..].to_vec(), results: body.results.clone() };
        reader.of_body(&mut rest);
        let mut other = false;
        rest.for_each_use(&mut |a| other |= a == Atom::Var(*order));
        if other {
            continue;
        }
        body.stmts[k].pat = vec![p.fresh("sorted", ty.over(&[axis.size]))];
        if let Exp::Grade { gives, .. } = &mut body.stmts[k].exp {
            *gives = Gives::Keys;
        }
        body.stmts.truncate(k + 1);
        body.stmts.extend(rest.stmts);
    }
}

/// The type of the one key, if it is a scalar that no check makes.
pub fn key_ty(p: &Program, keys: &Body) -> Option<Ty> {
    let [key] = keys.results[..] else { return None };
    let ty = p.atom_ty(key);
    (ty.is_scalar() && !keys.can_stop()).then_some(ty)
}

/// Who may read what is sorted in the place of an order.
pub struct Reader<'k> {
    pub order: Var,
    /// The axis of the items, and the key of one.
    pub axis: Axis,
    pub keys: &'k Body,
    /// The keys in their order.
    pub sorted: Var,
}

impl Reader<'_> {
    /// Has the statements of a body, and of those inside it, read what is sorted where that is the same.
    pub fn of_body(&self, body: &mut Body) {
        for s in &mut body.stmts {
            s.exp.bodies_mut().into_iter().for_each(|b| self.of_body(b));
        }
        let read = self.of_stmts(&mut body.stmts);
        for k in read.into_iter().rev() {
            let mut used = false;
            let made = body.stmts[k].pat.clone();
            body.for_each_use(&mut |a| used |= a.as_var().is_some_and(|v| made.contains(&v)));
            if !used {
                body.stmts.remove(k);
            }
        }
    }

    /// Has those of some statements read what is sorted who find the key of the item at a place. Which statements may not be
    /// needed any more, in their order.
    pub fn of_stmts(&self, stmts: &mut [Stmt]) -> Vec<usize> {
        let mut idle = Vec::new();
        for k in 0..stmts.len() {
            let (Exp::Index { array, at }, [place]) = (&stmts[k].exp, &stmts[k].pat[..]) else {
                continue;
            };
            if *array != self.order {
                continue;
            }
            let (at, mut made) = (at.clone(), FxHashMap::default());
            made.insert(self.axis.var, Atom::Var(*place));
            let mut chain = vec![k];
            for key in &self.keys.stmts {
                let mut want = Body { stmts: vec![key.clone()], results: Vec::new() };
                want.substitute(&made);
                let same = |t: &usize| stmts[*t].exp == want.stmts[0].exp;
                let Some(t) = (k + 1..stmts.len()).find(same) else { break };
                made.extend(key.pat.iter().zip(&stmts[t].pat).map(|(v, w)| (*v, Atom::Var(*w))));
                chain.push(t);
            }
            let key = self.keys.results[0].as_var().and_then(|v| made.get(&v)).copied();
            if let Some(t) = chain.iter().copied().find(|t| key == stmts[*t].pat.first().map(|v| (*v).into()))
                && t > k
            {
                stmts[t].exp = Exp::Index { array: self.sorted, at };
                chain.retain(|c| *c != t);
            }
            idle.extend(chain);
        }
        idle.sort_unstable();
        idle.dedup();
        idle
    }
}

//! A sort of which the items themselves are wanted moves them alone.
//!
//! ```text
//! (let (%order) (grade (i %n) (leaf (let (%k) (index %xs i)) (give %k))))
//! (let (%ys) (seg-map grid ((j %n)) (leaf        ⟶    (let (%ys) (sort (i %n) (leaf … (give %k))))
//!   (let (%o) (index %order j))
//!   (let (%y) (index %xs %o)) (give %y))))
//! ```
//!
//! Who reads the place of an order and makes of it what the order was made by has the key of the item that is there. Where
//! all who read an order do so, the keys are sorted and the order is not made: half of what is moved, or less, and no read at
//! a random place for each item. A map that gives no more than those is the sort itself.
//! So it is where but some places are read, which are selected: by the thread that has a row
//! (`remc_kernel::lower::select`), or by all ([`super::first`]).

use crate::ir::*;
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// Looks through the statements of a body of the host, of those inside it, and of their leaves.
pub(super) fn sorts(table: &mut mono::Program, body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| sorts(table, b));
        s.exp.leaves_mut().into_iter().for_each(|b| sorts_in_leaf(table, b));
    }
    for k in 0..body.stmts.len() {
        let Some(s) = body.stmts.get(k) else { break };
        let (Exp::Grade { axis, body: keys, gives: Gives::Places }, [order]) = (&s.exp, &s.pat[..]) else {
            continue;
        };
        let Some(ty) = key_ty(table, keys) else { continue };
        let (axis, keys, order) = (*axis, keys.clone(), *order);
        let rest = Body { stmts: body.stmts[k + 1..].to_vec(), results: body.results.clone() };
        let with = |sorted: Var| {
            let mut rest = rest.clone();
            Reader { order, axis, keys: &keys, sorted }.of_host(&mut rest);
            (!mentions(&rest, order)).then_some(rest)
        };
        // The variable that is next.
        let mut sorted = Var(table.vars.len() as u32);
        let Some(mut rest) = with(sorted) else { continue };
        // A map that is all of what is sorted gives the sort its name.
        if let Some(at) = rest.stmts.iter().position(|s| is_copy(table, s, sorted, axis.size)) {
            sorted = rest.stmts[at].pat[0];
            if let Some(renamed) = with(sorted) {
                rest = renamed;
                rest.stmts.remove(at);
            }
        } else {
            sorted = table.fresh("sorted", ty.over(&[axis.size]));
        }
        body.stmts[k].pat = vec![sorted];
        if let Exp::Grade { gives, .. } = &mut body.stmts[k].exp {
            *gives = Gives::Keys;
        }
        body.stmts.truncate(k + 1);
        body.stmts.extend(rest.stmts);
    }
}

fn sorts_in_leaf(table: &mut mono::Program, body: &mut mono::Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| sorts_in_leaf(table, b));
    }
    for k in 0..body.stmts.len() {
        let Some(s) = body.stmts.get(k) else { break };
        let (mono::Exp::Grade { axis, body: keys, gives: Gives::Places }, [order]) = (&s.exp, &s.pat[..])
        else {
            continue;
        };
        let Some(ty) = key_ty(table, keys) else { continue };
        let sorted = Var(table.vars.len() as u32);
        let reader = Reader { order: *order, axis: *axis, keys, sorted };
        let mut rest = mono::Body { stmts: body.stmts[k + 1..].to_vec(), results: body.results.clone() };
        reader.of_leaf(&mut rest);
        let mut other = false;
        rest.for_each_use(&mut |a| other |= a == Atom::Var(*order));
        if other {
            continue;
        }
        body.stmts[k].pat = vec![table.fresh("sorted", ty.over(&[axis.size]))];
        if let mono::Exp::Grade { gives, .. } = &mut body.stmts[k].exp {
            *gives = Gives::Keys;
        }
        body.stmts.truncate(k + 1);
        body.stmts.extend(rest.stmts);
    }
}

/// The type of the one key, if it is a scalar that no check makes.
fn key_ty(table: &mono::Program, keys: &mono::Body) -> Option<Ty> {
    let [key] = keys.results[..] else { return None };
    let ty = table.atom_ty(key);
    (ty.is_scalar() && !keys.can_stop()).then_some(ty)
}

fn mentions(body: &Body, v: Var) -> bool {
    let mut found = false;
    body.for_each_use(&mut |a| found |= a == Atom::Var(v));
    found
}

/// Whether a statement is a map that gives the elements of a vector of this size, each at its place, and no more.
fn is_copy(table: &mono::Program, s: &Stmt, of: Var, size: Atom) -> bool {
    let Exp::Seg(Seg { space, kind: SegKind::Map, body, .. }) = &s.exp else { return false };
    let ([axis], [made], [read], [result]) = (&space[..], &s.pat[..], &body.stmts[..], &body.results[..])
    else {
        return false;
    };
    let whole =
        matches!(&read.exp, mono::Exp::Index { array, at } if *array == of && at[..] == [axis.var.into()]);
    let same = axis.size == size && table.vars[*made].ty.dims[..] == [size];
    whole && same && read.pat.first().map(|v| Atom::Var(*v)) == Some(*result)
}

/// Who may read what is sorted in the place of an order.
struct Reader<'k> {
    order: Var,
    axis: Axis,
    keys: &'k mono::Body,
    sorted: Var,
}

impl Reader<'_> {
    fn of_host(&self, body: &mut Body) {
        for s in &mut body.stmts {
            s.exp.bodies_mut().into_iter().for_each(|b| self.of_host(b));
            for leaf in s.exp.leaves_mut() {
                self.of_leaf(leaf);
            }
        }
        // What the host reads one by one, under its place in the body.
        let mut at = Vec::new();
        let mut stmts = Vec::new();
        for (k, s) in body.stmts.iter().enumerate() {
            if let Exp::Host(exp) = &s.exp {
                at.push(k);
                stmts.push(mono::Stmt { pat: s.pat.clone(), exp: exp.clone(), prov: s.prov });
            }
        }
        let read = self.of_stmts(&mut stmts);
        for (s, k) in stmts.iter().zip(&at) {
            body.stmts[*k].exp = Exp::Host(s.exp.clone());
        }
        for k in read.into_iter().rev().map(|k| at[k]) {
            let made = body.stmts[k].pat.clone();
            if !made.iter().any(|v| mentions(body, *v)) {
                body.stmts.remove(k);
            }
        }
    }

    /// The same of a leaf.
    fn of_leaf(&self, body: &mut mono::Body) {
        for s in &mut body.stmts {
            s.exp.bodies_mut().into_iter().for_each(|b| self.of_leaf(b));
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
    fn of_stmts(&self, stmts: &mut [mono::Stmt]) -> Vec<usize> {
        let mut idle = Vec::new();
        for k in 0..stmts.len() {
            let (mono::Exp::Index { array, at }, [place]) = (&stmts[k].exp, &stmts[k].pat[..]) else {
                continue;
            };
            if *array != self.order {
                continue;
            }
            let (at, mut made) = (at.clone(), FxHashMap::default());
            made.insert(self.axis.var, Atom::Var(*place));
            let mut chain = vec![k];
            for key in &self.keys.stmts {
                let mut want = mono::Body { stmts: vec![key.clone()], results: Vec::new() };
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
                stmts[t].exp = mono::Exp::Index { array: self.sorted, at };
                chain.retain(|c| *c != t);
            }
            idle.extend(chain);
        }
        idle.sort_unstable();
        idle.dedup();
        idle
    }
}

//! A sort of which the items themselves are wanted moves them alone.
//!
//! ```text
//! (let (%order) (grade (i %n) (leaf (let (%k) (index %xs i)) (give %k))))
//! (let (%ys) (seg-map grid ((j %n)) (leaf        ⟶    (let (%ys) (sort (i %n) (leaf … (give %k))))
//!   (let (%o) (index %order j))
//!   (let (%y) (index %xs %o)) (give %y))))
//! ```
//!
//! As in a body ([`remc_mono::sorted`]), and between what the host does. A map that gives no more than what is sorted is the
//! sort itself.
//! So it is where but some places are read, which are selected: by the thread that has a row
//! (`remc_kernel::lower::select`), or by all ([`super::first`]).

use crate::ir::*;
use remc_mono::ir as mono;
use remc_mono::sorted::{Reader, key_ty};

/// Looks through the statements of a body of the host, of those inside it, and of their leaves.
pub(super) fn sorts(table: &mut mono::Program, body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| sorts(table, b));
        for leaf in s.exp.leaves_mut() {
            slices(table, leaf);
            remc_mono::sorted::sorts(table, leaf, &|_, _, _| true);
        }
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
            read(&Reader { order, axis, keys: &keys, sorted }, &mut rest);
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

/// Makes maps of the first parts of orders: so it is seen that no other places are read.
fn slices(table: &mut mono::Program, body: &mut mono::Body) {
    let mut orders = Vec::new();
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| slices(table, b));
        match (&s.exp, &s.pat[..]) {
            (mono::Exp::Grade { gives: Gives::Places, .. }, [order]) => orders.push(*order),
            (mono::Exp::View { view: mono::View::Slice { start, dims }, array }, [_])
                if orders.contains(array) && start[..] == [Atom::int(0)] =>
            {
                let axis = Axis { var: table.fresh("i", Ty::int()), size: dims[0] };
                let place = table.fresh("order", Ty::int());
                let exp = mono::Exp::Index { array: *array, at: vec![axis.var.into()] };
                let read = mono::Stmt { pat: vec![place], exp, prov: s.prov };
                let body = mono::Body { stmts: vec![read], results: vec![place.into()] };
                s.exp = mono::Exp::Map { axes: vec![axis], body };
            }
            _ => {}
        }
    }
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

/// Has what the host does, and the leaves of its operators, read what is sorted in the place of an order.
fn read(reader: &Reader<'_>, body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| read(reader, b));
        s.exp.leaves_mut().into_iter().for_each(|leaf| reader.of_body(leaf));
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
    let read = reader.of_stmts(&mut stmts);
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

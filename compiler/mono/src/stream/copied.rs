//! A statement along a stream over a piece: the same statement, over the items that are there.
//!
//! ```text
//! (map ((%i %n)) … (index %x %i) … %i …)       (map ((%k %c)) (let (%i) (op + %at %k)) … (index %part %k) … %i …)
//! ```
//!
//! Where it reads an array along the stream, the index of an item is its place in the piece; elsewhere its place in the
//! stream.

use super::emit::Emit;
use super::fold::Piece;
use crate::ir::*;
use crate::walk::Copier;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashSet;

/// Emits a definition over a piece: `places` are its own axes that are streamed, and `short` the axis of a slice that leaves
/// items out, and how many first ones.
pub(super) fn copied(
    e: &mut Emit<'_>,
    piece: &mut Piece,
    def: &Stmt,
    places: &[(usize, usize)],
    short: Option<(usize, i64)>,
) {
    let mut s = def.clone();
    let mut with = match (places.first().copied(), short) {
        (Some((_, axis)), _) | (None, Some((axis, _))) => piece.with(axis),
        (None, None) => piece.with.clone(),
    };
    // A slice of a shorter axis begins where that does.
    if let (Some((axis, first)), Exp::View { view: View::Slice { start, .. }, .. }) = (&short, &mut s.exp)
        && let Exp::View { array, .. } = &def.exp
        && let Some(a) = piece.along.get(array)
        && let Some((_, off)) = piece.windows.get(axis).into_iter().flatten().find(|(of, _)| a.axis == *of)
    {
        start[0] = e.op("first", ScalarOp::Add, &[*off, Atom::int(*first)]);
    }
    let mut before = Vec::new();
    for (n, axis) in places {
        let index = s.exp.axes()[*n].var;
        let Some((at, _)) = piece.at.get(axis).copied() else { continue };
        // In the body the index is the place in the piece where that reads an array along the stream.
        let (item, place) = (e.p.fresh("i", Ty::int()), e.p.fresh("at", Ty::int()));
        for b in s.exp.bodies_mut() {
            let (local, own) = piece.local(e, b, index, *axis);
            *b = local;
            with.insert(own, place.into());
        }
        let sum = Exp::Op(ScalarOp::Add, vec![at, place.into()]);
        before.push(Stmt { pat: vec![item], exp: sum, prov: def.prov });
        with.insert(index, item.into());
        set_axis(&mut s.exp, *n, place);
    }
    let mut c = Copier { program: e.p, with };
    let mut operand = |a: &mut Atom| *a = c.atom(*a);
    s.exp.for_each_operand_mut(&mut operand);
    // The places in the piece are new already.
    let own: FxHashSet<Var> = before
        .iter()
        .filter_map(|s| match &s.exp {
            Exp::Op(_, args) => args[1].as_var(),
            _ => None,
        })
        .collect();
    for v in s.exp.inner_binders_mut() {
        if !own.contains(v) {
            let mut info = c.program.vars[*v].clone();
            for d in &mut info.ty.dims {
                *d = c.atom(*d);
            }
            let new = c.program.vars.push(info);
            c.with.insert(*v, new.into());
            *v = new;
        }
    }
    for (k, b) in s.exp.bodies_mut().into_iter().enumerate() {
        *b = c.body(b);
        // The first body is that of the items.
        if k == 0 {
            b.stmts.splice(0..0, before.drain(..));
        }
    }
    for v in &mut s.pat {
        let mut info = c.program.vars[*v].clone();
        for d in &mut info.ty.dims {
            *d = c.atom(*d);
        }
        let new = c.program.vars.push(info);
        c.with.insert(*v, new.into());
        piece.with.insert(*v, new.into());
        *v = new;
    }
    e.stmts.push(s);
}

fn set_axis(exp: &mut Exp, n: usize, var: Var) {
    match exp {
        Exp::Map { axes, .. } => axes[n].var = var,
        Exp::Reduce { axis, .. }
        | Exp::Scan { axis, .. }
        | Exp::Filter { axis, .. }
        | Exp::Join { axis, .. }
        | Exp::Grade { axis, .. }
        | Exp::Scatter { axis, .. }
        | Exp::For { axis, .. } => axis.var = var,
        _ => {}
    }
}

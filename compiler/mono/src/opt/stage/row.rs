//! A round that changes rows of an array changes them where they are.
//!
//! ```text
//! (let (%b) (map ((%i %n))                            (let (%pivot) (map ((%j %m)) … (index %a %k %j) …))
//!   (let (%row) (index %a %i))                        (let (%b) (scatter (%q %n) (%a)
//!   (let (%c) (op > %i %k))                             (let (%i) (op + %q 0))
//!   (let (%r) (if %c                             ⟶      (let (%row) (index %a %i)) …
//!     (then … (index %a %k %j) … (give %new))           (let (%r) (if %c
//!     (else (give %row))))                                (then … (index %pivot %j) … (give %new))
//!   (give %r)))                                           (else (give %row))))
//!                                                       (give %i %r)))
//! ```
//!
//! Rows that stay as they are need not be copied then, and of rows of which a few elements are overwritten, as two columns of a
//! rotation are, nothing else. What is read of other rows is read first, where that is a row, a column or an element; each
//! row has to be read before it is changed ([`OwnRow`]). So this is done where the array is a round's own, and nothing
//! mentions it afterwards.

use super::renew::{Made, Thin};
use crate::ir::*;
use crate::run::OwnRow;
use remc_base::ops::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// The statements that a map becomes which changes rows of one of these arrays, none of which is mentioned afterwards.
pub(super) fn changed(
    p: &mut Program,
    s: &Stmt,
    dying: &FxHashSet<Var>,
    below: &[Axis],
) -> Option<Vec<Stmt>> {
    let (Exp::Map { axes, body }, [y]) = (&s.exp, &s.pat[..]) else { return None };
    let ([axis], [_]) = (&axes[..], &body.results[..]) else { return None };
    let own = Atom::Var(axis.var);
    let array = body.stmts.iter().find_map(|s| match &s.exp {
        Exp::Index { array, at } if at[..] == [own] && dying.contains(array) => Some(*array),
        _ => None,
    })?;
    if p.ty(array) != p.ty(*y) {
        return None;
    }
    let bound: FxHashSet<Var> = body.binders().into_iter().chain([axis.var]).collect();
    let others = Others { rank: p.ty(array).rank(), array, axis: *axis, bound };
    let mut made = Made { p, out: Vec::new(), prov: s.prov, below };
    let mut body = body.clone();
    let mut rows = FxHashMap::default();
    others.read_first(&mut made, &mut body, &mut vec![*axis], &mut rows)?;
    body.substitute(&rows);
    let all = body.binders();
    read_through(&mut body, array, own);
    written_last(made.p, &mut body, &all.into_iter().collect());
    if OwnRow::changed_by(&made.p.vars, &body, own) != Some(array) {
        return None;
    }
    let q = Axis { var: made.p.fresh("q", Ty::int()), size: axis.size };
    let place = Exp::Op(ScalarOp::Add, vec![q.var.into(), Atom::int(0)]);
    body.stmts.insert(0, Stmt { pat: vec![axis.var], exp: place, prov: s.prov });
    body.results.insert(0, own);
    let exp = Exp::Scatter { dests: vec![array], axis: q, body, combine: None };
    made.out.push(Stmt { pat: vec![*y], exp, prov: s.prov });
    Some(made.out)
}

/// What a map over rows of an array reads of other rows than its own.
struct Others {
    array: Var,
    rank: usize,
    axis: Axis,
    /// What the map binds.
    bound: FxHashSet<Var>,
}

impl Others {
    fn is_outside(&self, a: Atom) -> bool {
        a.as_var().is_none_or(|v| !self.bound.contains(&v))
    }

    /// Has a body, which these axes are around, read that from arrays of their own, made before; whole rows are `rows`
    /// then. `None` if that cannot be.
    fn read_first(
        &self,
        made: &mut Made<'_>,
        body: &mut Body,
        around: &mut Vec<Axis>,
        rows: &mut FxHashMap<Var, Atom>,
    ) -> Option<()> {
        let mut kept = Vec::with_capacity(body.stmts.len());
        for mut s in std::mem::take(&mut body.stmts) {
            let axes = s.exp.axes().to_vec();
            around.extend(&axes);
            let done =
                s.exp.bodies_mut().into_iter().try_for_each(|b| self.read_first(made, b, around, rows));
            around.truncate(around.len() - axes.len());
            done?;
            match &s.exp {
                Exp::Index { array, at } if *array == self.array && at[0] != self.axis.var.into() => {
                    match at.len() == self.rank {
                        true => s.exp = self.element(made, at, around)?,
                        false => {
                            let row = self.row(made, at, s.pat[0])?;
                            rows.insert(s.pat[0], row.into());
                            continue;
                        }
                    }
                }
                _ => {}
            }
            kept.push(s);
        }
        body.stmts = kept;
        Some(())
    }

    /// An element of another row: one of a row or a column that is read first.
    fn element(&self, made: &mut Made<'_>, at: &[Atom], around: &[Axis]) -> Option<Exp> {
        let along: Vec<Axis> = around.iter().filter(|x| at.contains(&x.var.into())).copied().collect();
        let known = |a: &Atom| self.is_outside(*a) || along.iter().any(|x| *a == x.var.into());
        let sizes = along.iter().all(|x| self.is_outside(x.size));
        (along.len() < self.rank && sizes && at.iter().all(known)).then(|| {
            let (_, exp) = made.read_first(&along, self.array, Thin { at: 0, index: at.to_vec() });
            exp
        })
    }

    /// Another row, or part of it, as an array of its own.
    fn row(&self, made: &mut Made<'_>, at: &[Atom], like: Var) -> Option<Var> {
        let ty = made.p.ty(like).clone();
        if !at.iter().all(|a| self.is_outside(*a)) {
            return None;
        }
        let axes: Vec<Axis> =
            ty.dims.iter().map(|n| Axis { var: made.p.fresh("i", Ty::int()), size: *n }).collect();
        let at = at.iter().copied().chain(axes.iter().map(|a| a.var.into())).collect();
        Some(made.line(self.array, axes, at, ty.base))
    }
}

/// Has what reads an element of the own row read it from that, once it has a name.
fn read_through(body: &mut Body, array: Var, own: Atom) {
    let of_row = |s: &Stmt| match &s.exp {
        Exp::Index { array: a, at } if *a == array && at[..] == [own] => s.pat.first().copied(),
        _ => None,
    };
    let Some((k, row)) = body.stmts.iter().enumerate().find_map(|(k, s)| Some((k, of_row(s)?))) else {
        return;
    };
    for s in &mut body.stmts[k + 1..] {
        let read = |s: &mut Stmt| {
            if let Exp::Index { array: a, at } = &mut s.exp
                && *a == array
                && at.len() > 1
                && at[0] == own
            {
                *a = row;
                at.remove(0);
            }
        };
        read(s);
        s.exp.bodies_mut().into_iter().for_each(|b| for_each_stmt_mut(b, &read));
    }
}

fn for_each_stmt_mut(body: &mut Body, f: &impl Fn(&mut Stmt)) {
    for s in &mut body.stmts {
        f(s);
        s.exp.bodies_mut().into_iter().for_each(|b| for_each_stmt_mut(b, f));
    }
}

/// Computes what a scatter at the end of a body, or of a branch at its end, writes of the row that it changes, before it does.
fn written_last(p: &mut Program, body: &mut Body, bound: &FxHashSet<Var>) {
    let Some(mut last) = body.stmts.pop() else { return };
    match &mut last.exp {
        Exp::If { then, otherwise, .. } => {
            written_last(p, then, bound);
            written_last(p, otherwise, bound);
        }
        Exp::Scatter { dests, .. } => {
            let dying = dests.iter().copied().collect();
            body.stmts.extend(super::staged(p, &mut last, &dying, Some(bound)));
        }
        _ => {}
    }
    body.stmts.push(last);
}

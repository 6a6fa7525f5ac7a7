//! Rows that turn out to be of one size, where a row waits for itself.
//!
//! ```text
//! (let (%most %least) (seg-red grid () (i k) … (give %n %n) max2 min2))
//! (if (op and (op = %most %least) (op < %most 262144))
//!   (then (let (%all k %most) (seg-map grid ((i k)) (leaf … (for (t 20) ((%row …)) …) … (give %row))))
//!         (let (%data) (view (reshape %total) %all)) …)
//!   (else (let (%data) (rows (i k) …)) …))
//! ```
//!
//! A processor has no lanes for a row whose every step waits for the one before, but several such rows wait no longer than
//! one. For that they must be of one size, which nobody promises of rows that may have sizes of their own, but which often
//! is so. Then they are those of an array, whose size the host knows, and the kernel's strips take them.

use super::Rows;
use crate::flatten::{F, Flattener, host::Stmts, seg};
use crate::ir;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir::*;

/// Whether a row has loops of which each round waits for the one before.
pub(super) fn waits(body: &Body) -> bool {
    let mut waits = false;
    body.for_each_stmt(&mut |s| {
        waits |= match &s.exp {
            Exp::For { .. } => true,
            Exp::Reduce { op, .. } | Exp::Scan { op, .. } => op.component_ops().is_none(),
            _ => false,
        };
    });
    waits
}

/// The sizes of rows, if those are the same for all.
pub(super) struct Equal {
    /// Whether they are.
    pub cond: Atom,
    sizes: Vec<Atom>,
}

impl Rows {
    /// Asks whether each size is the same for all rows, and none of them is `long`.
    pub(super) fn equal(&self, f: &mut Flattener, long: i64, out: &mut Vec<ir::Stmt>) -> F<Equal> {
        let both = [(ScalarOp::Max2, "most", 0), (ScalarOp::Min2, "least", i64::MAX)];
        let ops: Vec<_> = both.into_iter().cycle().take(2 * self.own.sizes.len()).collect();
        let twice = |made: &mut Stmts<'_>, i: Var| {
            self.sizes(made, i).1.into_iter().flat_map(|n| [n, n]).collect::<Vec<_>>()
        };
        let found = self.over_all(f, &ops, twice, out)?;
        let mut made = Stmts::new(f, self.prov);
        let mut cond: Option<Atom> = None;
        for pair in found.chunks(2) {
            let (most, least) = (pair[0], pair[1]);
            let same = made.op_of("c", BaseTy::Bool, ScalarOp::Eq, &[most, least]);
            let short = made.op_of("c", BaseTy::Bool, ScalarOp::Lt, &[most, Atom::int(long)]);
            for c in [same, short] {
                cond = Some(match cond {
                    Some(others) => made.op_of("c", BaseTy::Bool, ScalarOp::And, &[others, c]),
                    None => c,
                });
            }
        }
        let sizes = found.iter().step_by(2).copied().collect();
        let stmts = made.take();
        f.stmts(&stmts, out)?;
        Ok(Equal { cond: cond.unwrap_or(Atom::Const(remc_base::Scalar::Bool(false))), sizes })
    }

    /// All rows as those of an array, of these sizes; what `all` are like.
    pub(super) fn of_one_size(&self, f: &mut Flattener, equal: &Equal, all: &[Var]) -> F<ir::Body> {
        let i = f.p.fresh("i", Ty::int());
        let row = self.with_sizes(f, i, &equal.sizes);
        let arrays: Vec<Var> = row
            .results
            .iter()
            .map(|r| {
                let ty = f.p.atom_ty(*r).over(&[self.axis.size]);
                f.p.fresh("rows", ty)
            })
            .collect();
        let axis = Axis { var: i, size: self.axis.size };
        let map = seg(vec![axis], ir::SegKind::Map, row);
        let mut stmts = vec![ir::Stmt { pat: arrays.clone(), exp: map, prov: self.prov }];
        let mut results: Vec<Atom> = arrays[..self.regular].iter().map(|v| Atom::Var(*v)).collect();
        let mut made = Stmts::new(f, self.prov);
        for (array, v) in arrays.iter().zip(all).skip(self.regular) {
            let flat = made.like(*v);
            let dims = made.f.p.ty(flat).dims.clone();
            made.push(vec![flat], Exp::View { view: View::Reshape { dims }, array: *array });
            results.push(flat.into());
        }
        let views = made.take();
        f.stmts(&views, &mut stmts)?;
        Ok(ir::Body { stmts, results })
    }
}

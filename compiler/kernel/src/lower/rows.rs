//! Rows that the blocks of a GPU reduce, one each.
//!
//! ```text
//! (serial-map ((%g %long)) (let %i (index %which %g)) … (let %n (index %lengths %i)) (let %s (seg-red grid () (%j %n) …)) (give %s))
//!
//! (if (op >= %long 64)
//!   (then (launch k0 …))            (kernel "long-rows" (grid (%g %long)) (threads %t 256) … (for seq %j (share %t 256 0 %n %n) …)
//!                                     (collective 256 …) (if (op = %t 0) (store %sums (%g) %all)))
//!   (else … row after row, each with all of the device …))
//! ```
//!
//! What a row needs to know is the same for all threads of its block, so that all of them compute it.

use super::build::Emit;
use super::leaf::Leaf;
use super::plan::Plan;
use super::{L, Place, wrong};
use crate::ir::*;
use remc_flat::ir as flat;
use remc_mono::ir as mono;

impl Plan {
    /// Whether one block can run a body of the plan: it computes numbers, and reduces to numbers what needs no memory.
    pub fn is_of_block(&self, body: &flat::Body) -> bool {
        body.stmts.iter().any(|s| matches!(s.exp, flat::Exp::Seg(_))) && self.computes_numbers(body)
    }

    fn computes_numbers(&self, body: &flat::Body) -> bool {
        let scalar = |v: &mono::Var| self.flat.vars[*v].ty.is_scalar();
        let number = |e: &mono::Exp| {
            use mono::Exp::{Atom, Cast, Index, Op};
            matches!(e, Atom(_) | Op(..) | Cast(..) | Index { .. })
        };
        let reduces = |seg: &flat::Seg| {
            let mut plain = true;
            seg.body.for_each_stmt(&mut |s| plain &= s.pat.iter().all(scalar));
            plain
                && seg.space.is_empty()
                && matches!(&seg.kind, flat::SegKind::Red { op, .. } if self.combines_numbers(op))
        };
        body.results.iter().all(|a| a.as_var().is_none_or(|v| scalar(&v)))
            && body.stmts.iter().all(|s| {
                s.pat.iter().all(scalar)
                    && match &s.exp {
                        flat::Exp::Host(e) => number(e),
                        flat::Exp::Seg(seg) => reduces(seg),
                        flat::Exp::If { then, otherwise, .. } => {
                            self.computes_numbers(then) && self.computes_numbers(otherwise)
                        }
                        _ => false,
                    }
            })
    }

    fn combines_numbers(&self, op: &mono::Combine) -> bool {
        let mut plain = op.lambda.params.iter().all(|v| self.flat.vars[*v].ty.is_scalar());
        op.lambda
            .body
            .for_each_stmt(&mut |s| plain &= s.pat.iter().all(|v| self.flat.vars[*v].ty.is_scalar()));
        plain && op.assoc
    }

    /// A block for each iteration.
    pub fn rows_of_blocks(&mut self, axis: mono::Axis, body: &flat::Body, outs: &[Place]) -> L<()> {
        let n = self.atom(axis.size)?;
        self.kernel("long-rows", |l| {
            let outs = l.import_all(outs);
            let thread = l.threads_of_block();
            let g = l.grid_axis("g", n);
            l.set(axis.var, g);
            let results = l.body_of_block(thread, body)?;
            l.by_one(thread, |l| {
                outs.iter().zip(results).for_each(|(to, x)| l.store(to, &[g], x));
                Ok(())
            })
        })
    }
}

impl Leaf<'_> {
    fn body_of_block(&mut self, thread: Atom, body: &flat::Body) -> L<Vec<Atom>> {
        for s in &body.stmts {
            self.prov = s.prov;
            self.stmt_of_block(thread, s)?;
        }
        self.atoms(&body.results)
    }

    fn stmt_of_block(&mut self, thread: Atom, s: &flat::Stmt) -> L<()> {
        match &s.exp {
            flat::Exp::Host(exp) => {
                let stmt = mono::Stmt { pat: s.pat.clone(), exp: exp.clone(), prov: s.prov };
                let results = s.pat.iter().map(|v| mono::Atom::Var(*v)).collect();
                let values = self.scalars(&mono::Body { stmts: vec![stmt], results })?;
                s.pat.iter().zip(values).for_each(|(v, x)| self.set(*v, x));
                Ok(())
            }
            flat::Exp::Seg(flat::Seg { kind: flat::SegKind::Red { axis, op }, body, .. }) => {
                self.reduce_by_group(thread, &s.pat, *axis, body, op)
            }
            flat::Exp::If { cond, then, otherwise } => {
                // All threads have the same answer.
                let cond = self.atom(*cond)?;
                let values = self.choose(
                    cond,
                    |l| l.body_of_block(thread, then),
                    |l| l.body_of_block(thread, otherwise),
                )?;
                s.pat.iter().zip(values).for_each(|(v, x)| self.set(*v, x));
                Ok(())
            }
            _ => wrong("a statement that no block runs"),
        }
    }
}

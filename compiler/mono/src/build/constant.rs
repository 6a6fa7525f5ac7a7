//! Definitions that do not stop the program, since they have not when they were tried.
//!
//! ```text
//! (define k (histogram 64 …))                      (let (%k) …)
//! (fold (λ (x acc) … (index-item k x) …) …)  ⟶     (reduce … (let (%y) (index %k %x)) …)
//! ```
//!
//! A definition is computed when it is first used. Where that is in a loop, it is computed before the loop if it cannot stop the
//! program, and else in each round: nobody knows whether a round uses it. But it takes no input, so that whether it stops can
//! be found out, if that is no long work.

use super::Build;
use crate::eval::run_within;
use crate::ir::*;
use crate::opt::{cse::cse, dce::dce, fuse::fuse, simplify::simplify, views::views};
use rustc_hash::FxHashSet;

/// The steps for which a definition is tried: part of a second.
const STEPS: usize = 1 << 22;

impl Build<'_> {
    /// Whether statements that are made of no input end without a stop. They have no checks then.
    pub fn is_constant(&self, made: &mut Vec<Stmt>) -> bool {
        let Some(before) = self.scopes.first() else { return false };
        let mut wanted: FxHashSet<Var> = FxHashSet::default();
        let mut stmts: Vec<Stmt> = Vec::new();
        let known = before.stmts.iter().map(|s| (s, false));
        for (s, own) in known.chain(made.iter().map(|s| (s, true))).rev() {
            if !own && !s.pat.iter().any(|v| wanted.contains(v)) {
                continue;
            }
            let inside = s.exp.bodies().into_iter().flat_map(Body::binders);
            let bound = s.pat.iter().copied().chain(s.exp.inner_binders()).chain(inside);
            wanted.extend(bound.flat_map(|v| &self.program.ty(v).dims).filter_map(|d| d.as_var()));
            s.exp.for_each_mention(&mut |a| wanted.extend(a.as_var()));
            stmts.push(s.clone());
        }
        stmts.reverse();
        let body = Body { stmts, results: Vec::new() };
        let output = Output::Tuple { frame: Vec::new(), fields: Vec::new() };
        let mut program = Program {
            params: Vec::new(),
            inputs: Vec::new(),
            channels: Vec::new(),
            body,
            output,
            ..self.program.clone()
        };
        // What no check asks for is left out, and arrays that are only read.
        for pass in [simplify, views, cse, dce, fuse, simplify, dce] {
            pass(&mut program);
        }
        // What comes out another way on another device, a check may ask for: floats are rounded, and items grouped.
        let mut same = true;
        program.body.for_each_stmt(&mut |s| {
            let inside = s.exp.bodies().into_iter().flat_map(Body::binders);
            let mut bound = s.pat.iter().copied().chain(s.exp.inner_binders()).chain(inside);
            same &= !bound.any(|v| program.ty(v).base.is_float());
            if let Exp::Reduce { op, .. } | Exp::Scan { op, .. } = &s.exp {
                same &= !op.assoc || op.is_commutative();
            }
        });
        let constant = same && run_within(&program, STEPS).is_ok();
        if constant {
            Body::drop_checks(made);
        }
        constant
    }
}

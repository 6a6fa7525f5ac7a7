//! Elements that are large are looked for where a tile's sum is.
//!
//! ```text
//! (let (%ss) (seg-scan full () (i k)         … as tiles, of which %sums …
//!   (let (%n) (index %ns %i))
//!   (check (negative-length) (op >= %n 0))
//!   (check (too-large …) (op <= %n 2^40))
//!   (give %n)))
//! (let (%m %long) (filter (i k)              (let (%dense %which) (filter (b nb)
//!   (let (%n) (index %ns %i))                  (let (%sum) (index %sums %b))
//!   (let (%c) (op >= %n 262144))       ⟶      (let (%c) (op >= %sum 262144))
//!   (give %c %i)))                             (give %c %b)))
//!                                            (let (%places) (host (op * %dense 128)))
//!                                            (let (%m %long) (filter (g %places)
//!                                              (let (%i) …)    the place of %g in its tile, at most the last
//!                                              (let (%n) (index %ns %i))
//!                                              (let (%c) (op >= %n 262144))
//!                                              (give (and inside %c) %i)))
//! ```
//!
//! Which rows are so long that they run apart (`balance`) asks for the length of each, and these have just been added
//! up tile by tile. None is negative, and none so large that a sum could be past 63 bits: both have been checked on
//! the way. So a tile has a long one only if its sum is as large. Those tiles are few, unless rows are long on
//! average; the lengths of all others are not read again.
//!
//! Only a filter that does nothing but find long rows is taken: others may stop, which would then depend on the sums,
//! or have more to do than to look once more at what is past the end.

use super::{Flattener, Host, Tiled};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, LONGEST};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

impl Tiled {
    /// The filter `s` as two, if it finds the elements of the scan that are large: of tiles by their sums, and in those.
    pub(super) fn in_dense_tiles(&self, f: &mut Flattener, s: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::Filters(parts) = &s.exp else { return None };
        let [Filter { axis, body, .. }] = parts.as_slice() else { return None };
        let ([sums], true) = (self.sums.as_slice(), axis.size == self.scan.axis.size) else { return None };
        let least = Atom::int(f.thresholds.row_long);
        if !self.finds_large(axis.var, body, least) {
            return None;
        }
        let mut made = Host::new(f, s.prov);
        let b = made.leaf.int("b");
        let sum = made.leaf.int("sum");
        made.leaf.push(vec![sum], mono::Exp::Index { array: *sums, at: vec![b.into()] });
        let cond = made.leaf.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[sum.into(), least]);
        let tile = mono::Body { stmts: made.leaf.take(), results: vec![cond, b.into()] };
        let dense = made.leaf.int("dense");
        let which = made.leaf.vector("which", dense.into());
        let tiles = Filter { axis: Axis { var: b, size: self.count }, body: tile, prov: s.prov };
        made.push(vec![dense, which], Exp::Filters(vec![tiles]));

        let every = Atom::int(self.every);
        let places = made.op("places", ScalarOp::Mul, dense.into(), every);
        let (g, tile) = (made.leaf.int("g"), made.leaf.int("tile"));
        let nth = made.inside("nth", ScalarOp::Quotient, g.into(), every);
        made.leaf.push(vec![tile], mono::Exp::Index { array: which, at: vec![nth] });
        let first = made.inside("first", ScalarOp::Mul, nth, every);
        let place = made.inside("place", ScalarOp::Sub, g.into(), first);
        let from = made.inside("from", ScalarOp::Mul, tile.into(), every);
        let i = made.inside("i", ScalarOp::Add, from, place);
        // The last tile may be shorter than the others.
        let inside = made.leaf.op_of("c", BaseTy::Bool, ScalarOp::Lt, &[i, axis.size]);
        let last = made.inside("last", ScalarOp::Sub, axis.size, Atom::int(1));
        let i = made.inside("i", ScalarOp::Min2, i, last);
        let own = made.leaf.instance(body, &[(axis.var, i)]);
        let mut results = made.leaf.splice(own);
        if let Some(cond) = results.first_mut() {
            *cond = made.leaf.op_of("c", BaseTy::Bool, ScalarOp::And, &[inside, *cond]);
        }
        let body = mono::Body { stmts: made.leaf.take(), results };
        let elements = Filter { axis: Axis { var: g, size: places }, body, prov: s.prov };
        made.push(s.pat.clone(), Exp::Filters(vec![elements]));
        Some(made.stmts)
    }

    /// Whether a filter finds the elements of the scan that are at least as large, which are sizes that are added up.
    fn finds_large(&self, here: Var, body: &mono::Body, least: Atom) -> bool {
        let only_looks = body.stmts.iter().all(|s| {
            use mono::Exp::{Atom, Cast, Index, Op};
            matches!(s.exp, Atom(_) | Op(..) | Cast(..) | Index { .. })
        });
        let ([cond, place], [element]) = (body.results.as_slice(), self.scan.leaf.results.as_slice()) else {
            return false;
        };
        if !only_looks || *place != here.into() || self.scan.op.component_ops() != Some(vec![ScalarOp::Add]) {
            return false;
        }
        let mut known = Numbered::default();
        known.learn(&self.scan.leaf.stmts);
        let element = known.name(*element);
        let checked = |op: ScalarOp, limit: i64| {
            self.scan.leaf.stmts.iter().any(|s| match &s.exp {
                mono::Exp::Check { cond, .. } => known.made(*cond) == Some((op, element, Atom::int(limit))),
                _ => false,
            })
        };
        if !checked(ScalarOp::Ge, 0) || !checked(ScalarOp::Le, LONGEST) {
            return false;
        }
        known.names.insert(here, self.scan.axis.var.into());
        known.learn(&body.stmts);
        known.made(*cond) == Some((ScalarOp::Ge, element, least))
    }
}

/// What straight-line statements bind, where those that are the same have one name.
#[derive(Default)]
struct Numbered {
    names: FxHashMap<Var, Atom>,
    exps: Vec<(mono::Exp, Var)>,
}

impl Numbered {
    fn name(&self, a: Atom) -> Atom {
        a.as_var().and_then(|v| self.names.get(&v).copied()).unwrap_or(a)
    }

    fn learn(&mut self, stmts: &[mono::Stmt]) {
        for s in stmts {
            let [v] = s.pat.as_slice() else { continue };
            let mut exp = s.exp.clone();
            exp.for_each_operand_mut(&mut |a| *a = self.name(*a));
            match self.exps.iter().find(|(e, _)| *e == exp) {
                Some((_, first)) => drop(self.names.insert(*v, (*first).into())),
                None => self.exps.push((exp, *v)),
            }
        }
    }

    /// The operator of two operands whose value this is.
    fn made(&self, a: Atom) -> Option<(ScalarOp, Atom, Atom)> {
        let v = self.name(a).as_var()?;
        let (exp, _) = self.exps.iter().find(|(_, own)| *own == v)?;
        match exp {
            mono::Exp::Op(op, args) => match args.as_slice() {
                [a, b] => Some((*op, *a, *b)),
                _ => None,
            },
            _ => None,
        }
    }
}

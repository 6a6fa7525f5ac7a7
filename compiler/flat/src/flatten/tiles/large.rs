//! Elements that are large are looked for where a tile's sum is.
//!
//! ```text
//! (let (%m %long) (filter (i k)              (let (%t %which) (filter (b nb)
//!   (let (%n) (index %ns %i))                  (let (%sum) (index %sums %b))
//!   (let (%c) (op >= %n 262144))       ⟶      (let (%c) (op >= %sum 262144)) (give %c %b)))
//!   (give %c %i)))                           (let (%places) (host (op * %t 128)))
//!                                            (let (%m %long) (filter (g %places)
//!                                              … %i is the place of %g in its tile …
//!                                              (let (%n) (index %ns %i)) (let (%c) (op >= %n 262144)) …
//!                                              (give (and (< %i %k) %c) %i)))
//! ```
//!
//! Which rows are so long that they run apart (`balance`) asks for the length of each, and these have just been added
//! up tile by tile. None is negative, which has been checked on the way: so a tile has a long one only if its sum is
//! as large. Those tiles are few, unless rows are long on average; the lengths of all others are not read again. (A
//! sum is exact: where lengths add up past 63 bits, their rows are in no memory.)

use super::{Host, Tiled};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

impl Tiled {
    /// The filter `s`, in two, if it asks for elements of the scan from some size on.
    pub(super) fn large(&self, made: &mut Host<'_>, s: &Stmt) -> bool {
        let Exp::Filter { axis, body } = &s.exp else { return false };
        let ([sums], true) = (self.sums.as_slice(), axis.size == self.scan.axis.size) else { return false };
        let Some(least) = self.asks_for_large(axis.var, body) else { return false };

        let b = made.leaf.int("b");
        let sum = made.leaf.int("sum");
        made.leaf.push(vec![sum], mono::Exp::Index { array: *sums, at: vec![b.into()] });
        let cond = made.leaf.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[sum.into(), least]);
        let tile = mono::Body { stmts: made.leaf.take(), results: vec![cond, b.into()] };
        let tiles = made.leaf.int("tiles");
        let which = made.leaf.vector("which", tiles.into());
        made.push(vec![tiles, which], Exp::Filter { axis: Axis { var: b, size: self.count }, body: tile });

        let every = Atom::int(self.every);
        let places = made.op("places", ScalarOp::Mul, tiles.into(), every);
        let (g, tile) = (made.leaf.int("g"), made.leaf.int("tile"));
        let nth = made.inside("t", ScalarOp::Quotient, g.into(), every);
        made.leaf.push(vec![tile], mono::Exp::Index { array: which, at: vec![nth] });
        let first = made.inside("t", ScalarOp::Mul, nth, every);
        let place = made.inside("t", ScalarOp::Sub, g.into(), first);
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
        made.push(s.pat.clone(), Exp::Filter { axis: Axis { var: g, size: places }, body });
        true
    }

    /// From what size on a filter's body keeps elements of the scan, where these are sizes that are added up.
    fn asks_for_large(&self, here: Var, body: &mono::Body) -> Option<Atom> {
        if self.scan.op.component_ops()?.as_slice() != [ScalarOp::Add] {
            return None;
        }
        let mut known = Numbered::default();
        known.learn(&self.scan.leaf.stmts);
        let element = known.name(*self.scan.leaf.results.first()?);
        let zero = Atom::int(0);
        let checked = |s: &mono::Stmt| match &s.exp {
            mono::Exp::Check { cond, .. } => known.made(*cond) == Some((ScalarOp::Ge, element, zero)),
            _ => false,
        };
        if !self.scan.leaf.stmts.iter().any(checked) {
            return None;
        }
        known.names.insert(here, self.scan.axis.var.into());
        known.learn(&body.stmts);
        match known.made(*body.results.first()?)? {
            (ScalarOp::Ge, x, least @ Atom::Const(_)) if x == element => Some(least),
            _ => None,
        }
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

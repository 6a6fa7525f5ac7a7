//! Branches inside an iteration.

use super::ops::constant;
use super::{Distributor, Level, Lifted, Ragged};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashSet;

impl Distributor<'_> {
    /// A branch whose bodies make arrays of sizes of their own: the iterations that take one are a map of
    /// their own, and so are those that take the other.
    ///
    /// ```text
    /// taken   [#t #f #t]       place in its branch  [0 0 1]
    /// ```
    pub(super) fn branch(
        &mut self,
        level: &mut Level,
        s: &Stmt,
        cond: Atom,
        then: &Body,
        otherwise: &Body,
        inside: &FxHashSet<Var>,
    ) {
        if constant(cond).is_some() {
            return self.alone(level, s, inside);
        }
        let n = level.count;
        let taken = self.over_points(level, &Body { stmts: Vec::new(), results: vec![cond] })[0];
        let ones = self.ints("one", n, |this, i| {
            let yes = this.read(taken, i);
            let one = this.int("one");
            this.push(vec![one], Exp::Cast(BaseTy::I64, yes));
            one.into()
        });
        let before = self.running(ScanKind::Exclusive, ScalarOp::Add, n, n, ones, "before");
        let place = self.ints("place", n, |this, i| {
            let yes = this.read(taken, i);
            let k = this.read(before, i);
            let other = this.op(ScalarOp::Sub, i, k);
            let place = this.int("place");
            this.push(vec![place], Exp::Op(ScalarOp::Select, vec![yes, k, other]));
            place.into()
        });
        let ragged: Vec<bool> = s.pat.iter().map(|v| self.has_dims_of(*v, inside)).collect();
        let a = self.side(level, s, then, taken, true, &ragged);
        let b = self.side(level, s, otherwise, taken, false, &ragged);
        for (k, v) in s.pat.iter().enumerate() {
            let ty = self.p.ty(*v).clone();
            match (&a[k], &b[k]) {
                (Lifted::Ragged(a), Lifted::Ragged(b)) => {
                    let (first, second) = (self.p.ty(a.data).dims[0], self.p.ty(b.data).dims[0]);
                    let total = self.op(ScalarOp::Add, first, second);
                    let data = self.p.fresh("data", Ty { base: ty.base, dims: vec![total] });
                    self.push(vec![data], Exp::View { view: View::Append { with: b.data }, array: a.data });
                    let starts = self.merged(n, taken, place, &Ty::int(), a.starts, b.starts, Some(first));
                    let r = Ragged { data, starts, is_compact: false };
                    level.lifted.insert(*v, Lifted::Ragged(r));
                }
                (Lifted::Regular(a), Lifted::Regular(b)) => {
                    let array = self.merged(n, taken, place, &ty, *a, *b, None);
                    level.lifted.insert(*v, Lifted::Regular(array));
                }
                _ => {}
            }
        }
    }

    /// What one branch gives to the iterations that take it.
    fn side(
        &mut self,
        level: &Level,
        s: &Stmt,
        body: &Body,
        taken: Var,
        yes: bool,
        ragged: &[bool],
    ) -> Vec<Lifted> {
        let i = self.int("i");
        let keep = self.body_of(|this| {
            let t = this.read(taken, i.into());
            let keep = match yes {
                true => t,
                false => {
                    let no = this.p.fresh("no", Ty::scalar(BaseTy::Bool));
                    this.push(vec![no], Exp::Op(ScalarOp::Not, vec![t]));
                    no.into()
                }
            };
            vec![keep, i.into()]
        });
        let count = self.int("count");
        let which = self.p.fresh("which", Ty { base: BaseTy::I64, dims: vec![count.into()] });
        let axis = Axis { var: i, size: level.count };
        self.push(vec![count, which], Exp::Filter { axis, body: keep });

        let k = self.int("i");
        let order: Vec<usize> = (0..ragged.len())
            .filter(|j| !ragged[*j])
            .chain((0..ragged.len()).filter(|j| ragged[*j]))
            .collect();
        let inner = self.body_of(|this| {
            let it = this.read(which, k.into());
            let (stmts, copy) = this.at(level, it, body, &[]);
            this.out.extend(stmts);
            // A constant or an array from outside is bound here: its size is this branch's.
            order.iter().map(|j| copy.results[*j]).collect()
        });
        let mut pat = Vec::new();
        let mut made: Vec<Option<Lifted>> = vec![None; ragged.len()];
        let mut regular = 0;
        for j in &order {
            let ty = self.p.ty(s.pat[*j]).clone();
            if ragged[*j] {
                let total = self.int("total");
                let starts = self.p.fresh("starts", Ty { base: BaseTy::I64, dims: vec![count.into()] });
                let data = self.p.fresh("data", Ty { base: ty.base, dims: vec![total.into()] });
                pat.extend([total, starts, data]);
                made[*j] = Some(Lifted::Ragged(Ragged { data, starts, is_compact: true }));
            } else {
                regular += 1;
                let v = self.p.fresh("a", ty.over(&[count.into()]));
                pat.push(v);
                made[*j] = Some(Lifted::Regular(v));
            }
        }
        let axis = Axis { var: k, size: count.into() };
        let exp = if regular == ragged.len() {
            Exp::Map { axes: vec![axis], body: inner }
        } else {
            Exp::Join { axis, regular, body: inner }
        };
        self.stmt(Stmt { pat, exp, prov: self.prov });
        made.into_iter().flatten().collect()
    }

    /// The values of all iterations, from those of the two branches; the second's counted from `by` on.
    #[expect(clippy::too_many_arguments, reason = "two branches, and how they go together")]
    fn merged(&mut self, n: Atom, taken: Var, place: Var, ty: &Ty, a: Var, b: Var, by: Option<Atom>) -> Var {
        let i = self.int("i");
        let body = self.body_of(|this| {
            let yes = this.read(taken, i.into());
            let at = this.read(place, i.into());
            let then = this.body_of(|this| vec![this.read(a, at)]);
            let otherwise = this.body_of(|this| {
                let x = this.read(b, at);
                vec![by.map_or(x, |by| this.op(ScalarOp::Add, x, by))]
            });
            let r = this.p.fresh("r", ty.clone());
            this.push(vec![r], Exp::If { cond: yes, then, otherwise });
            vec![r.into()]
        });
        let all = self.p.fresh("a", ty.over(&[n]));
        self.push(vec![all], Exp::Map { axes: vec![Axis { var: i, size: n }], body });
        all
    }
}

//! The item before each item of a stream: an exclusive scan that combines nothing.
//!
//! ```text
//! (let (%y) (view (append %xs) %first))              %first: one item
//! (let (%b) (view (slice 0 %n) %y))            ⟶     (let (%b) (scan exclusive (%i %n) (index %xs %i) (%acc %x) %x from %first0))
//! (let (%d) (map ((%i %n))                           (let (%d) (map ((%i %n))
//!   (let (%j) (op + %i 1))                             …
//!   … (index %y %i) … (index %y %j) …))                … (index %b %i) … (index %xs %i) …))
//! ```
//!
//! `(- xs (butlast (append [0] xs)))`, `(diff (append [0] xs))`.

use super::append::reads;
use super::emit::Emit;
use super::*;
use remc_base::ops::ScalarOp;

impl Streamer<'_> {
    /// A statement along the second of two arrays that are one after the other as `array`, which reads that at each item's
    /// own place or the next one. `None` of any other, and where the first array has not one item.
    pub fn behind(&mut self, s: &Stmt, array: Var) -> Option<Vec<Stmt>> {
        let [first, second] = self.halves(array)?;
        let (one, own) = (&self.p.vars[first].ty, self.p.vars[second].ty.clone());
        let size = *own.dims.first()?;
        let along = self.streamed(size)?;
        if one.dims.first() != Some(&Atom::int(1)) || self.t.along.contains_key(&first) {
            return None;
        }
        let cell = own.cell(1);
        let mut e = Emit::new(self.p, s.prov);
        let start = e.at(first.into(), &[Atom::int(0)]);
        let [acc, x, item, i] = ["acc", "x", "x", "i"]
            .map(|name| e.p.fresh(name, if name == "i" { Ty::int() } else { cell.clone() }));
        let lambda =
            Lambda { params: vec![acc, x], body: Body { stmts: Vec::new(), results: vec![x.into()] } };
        let op = Combine { lambda, start: Some(vec![start]), assoc: true, alone: false };
        let read =
            Stmt { pat: vec![item], exp: Exp::Index { array: second, at: vec![i.into()] }, prov: s.prov };
        let body = Body { stmts: vec![read], results: vec![item.into()] };
        let before = e.p.fresh("before", own);
        let axis = Axis { var: i, size };
        e.push(vec![before], Exp::Scan { kind: ScanKind::Exclusive, axis, body, op });
        let mut parts = e.stmts;
        let mut s = s.clone();
        match &mut s.exp {
            Exp::View { view: View::Slice { start, dims }, .. }
                if start.len() == 1 && start[0] == Atom::int(0) && self.streamed(dims[0]) == Some(along) =>
            {
                s.exp = Exp::Atom(before.into());
            }
            exp => {
                let own = exp.axes().iter().find(|a| self.streamed(a.size) == Some(along))?.var;
                let mut next = FxHashSet::default();
                exp.bodies().into_iter().for_each(|b| {
                    b.for_each_stmt(&mut |s| {
                        let sum = |args: &[Atom]| args.contains(&own.into()) && args.contains(&Atom::int(1));
                        if matches!(&s.exp, Exp::Op(ScalarOp::Add, args) if sum(args)) {
                            next.extend(s.pat.first().copied());
                        }
                    });
                });
                let mut fine = true;
                for b in exp.bodies_mut() {
                    reads(b, &mut |read, at| {
                        if *read != array {
                            return;
                        }
                        match at.first() {
                            Some(i) if *i == Atom::Var(own) => *read = before,
                            Some(Atom::Var(i)) if next.contains(i) => (*read, at[0]) = (second, own.into()),
                            _ => fine = false,
                        }
                    });
                }
                fine.then_some(())?;
            }
        }
        // What reads it in another way is no such statement.
        (!s.exp.mentions(|v| v == array)).then_some(())?;
        parts.push(s);
        Some(parts)
    }
}

//! Full scans along a stream: they have one prefix more than there are items.
//!
//! ```text
//! (let (%p) (scan full (%i %n) … %x … + from 0))    ⟶    the exclusive prefixes, which go along the stream
//! (let (%t) (index %p %n))                          ⟶    the reduction
//! (give %p)                                         ⟶    the prefixes are pushed in the loop, the reduction after it
//! ```

use super::emit::Emit;
use super::levels::Levels;
use super::*;
use crate::walk::Copier;
use remc_base::ops::ScalarOp;

impl Streamer<'_> {
    /// A full scan along a stream as an exclusive one, whose last prefix is read as what it is: the reduction. Where that
    /// sums up how many elements each item has, it is how many there are.
    pub fn without_full(&mut self, mut s: Stmt) -> Stmt {
        let is_along = self.is_along(&s) || !self.mentions_whole(&s);
        if let Exp::Scan { kind: kind @ ScanKind::Full, axis, .. } = &mut s.exp
            && self.streamed(axis.size).is_some()
            && is_along
        {
            *kind = ScanKind::Exclusive;
            let size = axis.size;
            for v in &s.pat {
                self.p.vars[*v].ty.dims.first_mut().into_iter().for_each(|d| *d = size);
            }
            for (k, v) in s.pat.iter().enumerate() {
                self.full.insert(*v, (s.clone(), k));
            }
            return s;
        }
        let Exp::Index { array, at } = &s.exp else { return s };
        let Some((scan, k)) = self.full.get(array).cloned() else { return s };
        let Exp::Scan { axis, body, op, .. } = &scan.exp else { return s };
        let is_last = at.first().is_some_and(|n| self.streamed(*n) == self.streamed(axis.size));
        if !is_last || at.len() != 1 {
            return s;
        }
        let summed = match (&body.stmts[..], &body.results[..]) {
            ([Stmt { pat, exp: Exp::Index { array, at }, .. }], [r])
                if at[..] == [axis.var.into()] && pat.first().map(|v| Atom::Var(*v)) == Some(*r) =>
            {
                self.lengths.get(array).copied()
            }
            _ => None,
        };
        let is_sum = op.component_ops().is_some_and(|ops| ops == [ScalarOp::Add])
            && op.start.as_deref() == Some(&[Atom::int(0)]);
        if let Some(of) = summed.filter(|_| is_sum) {
            self.t.axis_of.insert(s.pat[0], of);
            self.aliases.push((s.pat[0], of));
            s.exp = Exp::Atom(self.t.axes[of].size.into());
            return s;
        }
        let named = s.pat[0];
        let mut e = Emit::new(self.p, s.prov);
        let mut pat = e.fresh_like(&scan.pat, &[]);
        for v in &pat {
            e.p.vars[*v].ty.dims.remove(0);
        }
        pat[k] = named;
        let whole = Exp::Reduce { axis: *axis, body: body.clone(), op: op.clone() };
        let mut c = Copier::new(e.p);
        let one = c.body(&Body {
            stmts: vec![Stmt { pat: Vec::new(), exp: whole, prov: s.prov }],
            results: Vec::new(),
        });
        if let Some(whole) = one.stmts.into_iter().next() {
            s.exp = whole.exp;
        }
        s.pat = pat;
        s
    }

    /// Pushes the last prefix after the others, those of the array `prefixes`, have gone to a channel; how many they are.
    pub fn last_prefix(&mut self, prefixes: Var, channel: usize, l: &mut Levels) -> S<Atom> {
        let Some(axis) = self.t.along.get(&prefixes).map(|a| a.axis) else { return Ok(Atom::int(0)) };
        let (size, one) = (Atom::Var(self.t.axes[axis].size), Atom::int(1));
        let cell = self.p.vars[prefixes].ty.cell(1);
        let mut e = self.emit();
        let last = e.let_("last", cell.clone(), Exp::Index { array: prefixes, at: vec![size] });
        let axes = vec![Axis { var: e.p.fresh("i", Ty::int()), size: one }];
        let only = Exp::Map { axes, body: Body { stmts: Vec::new(), results: vec![last] } };
        let single = e.p.fresh("last", cell.over(&[one]));
        e.push(vec![single], only);
        e.push(Vec::new(), Exp::Push { channel, arrays: vec![single] });
        let many = e.op("prefixes", ScalarOp::Add, &[size, one]);
        for s in std::mem::take(&mut e.stmts) {
            let s = self.without_full(s);
            self.place(s, l)?;
        }
        Ok(many)
    }
}

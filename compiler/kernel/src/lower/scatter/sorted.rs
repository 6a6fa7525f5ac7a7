//! Items of a scatter in the order of their places, for a GPU: what those of one place come to is a scan that begins anew
//! with each place.
//!
//! ```text
//! places of the items, sorted with their numbers ([`super::super::merge`])
//! (seg-scan inclusive (%j %n) (give %differs %value) (assoc (or) (if %differs %value (op %before %value))))
//! (kernel "scatter" … a thread for each place: the last item of it, by bisection)
//! ```

use super::super::build::Emit;
use super::super::leaf::Leaf;
use super::super::merge::Sorted;
use super::super::plan::Plan;
use super::super::scan::Scan;
use super::super::{Bound, L, Place, wrong};
use super::Scatter;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

impl Plan {
    /// Items by their places, in order; what those of one place combine to; and for each place what it becomes.
    pub(super) fn scatter_sorted(&mut self, s: &Scatter<'_>, outs: &[Place]) -> L<()> {
        let n = self.atom(s.axis.size)?;
        let keys = self.fresh("places", mono::Ty::int().over(&[s.axis.size]));
        self.seg_map(&[keys], &[s.axis], &s.places())?;
        let keys = self.place(keys)?;
        let sorted = self.sorted_by_threads(std::slice::from_ref(&keys), n)?;
        let scanned = self.combined_by_threads(s, &sorted, n)?;
        let Some(first) = s.dests.first() else { return wrong("a scatter to nowhere") };
        let rows =
            mono::Axis { var: self.fresh("d", mono::Ty::int()), size: self.flat.vars[*first].ty.dims[0] };
        self.each_point("scatter", &[rows], |l, at| {
            let outs = l.import_all(outs);
            let [keys, order] = [&sorted.keys[0], &sorted.order].map(|p| l.import_place(p));
            let half = l.outer(sorted.half);
            let [keys, order] = [keys, order].map(|p| p.cell(&[half]));
            let n = l.outer(n);
            let to = at[0];
            let after = l.int(ScalarOp::Add, to, Atom::int(1))?;
            let end = l.first_at_least(&keys, n, after)?;
            let last = l.int(ScalarOp::Sub, end, Atom::int(1))?;
            let combine = match (s.combine, &scanned) {
                (None, _) => None,
                (Some(c), None) => {
                    let start = l.first_at_least(&keys, n, to)?;
                    return l.each(How::Seq, "j", Range::Upto { from: start, to: end }, |l, j| {
                        let i = l.load(&order, &[j])?;
                        l.set(s.axis.var, i);
                        let values = l.body(s.body)?;
                        l.write_item(to, &values[1..], s.dests, s.body, Some(c), &outs)
                    });
                }
                (Some(c), Some(scanned)) => Some((c, l.import_all(scanned))),
            };
            // Whether there is an item for this place.
            let some = l.int(ScalarOp::Ge, last, Atom::int(0))?;
            let no = Atom::Const(Scalar::Bool(false));
            let found = l.choose(
                some,
                |l| {
                    let key = l.load(&keys, &[last])?;
                    Ok(vec![l.int(ScalarOp::Eq, key, to)?])
                },
                |_| Ok(vec![no]),
            )?;
            l.blocks.open();
            match combine {
                None => {
                    let i = l.load(&order, &[last])?;
                    l.set(s.axis.var, i);
                    let values = l.body(s.body)?;
                    for ((value, a), out) in values.iter().zip(&s.body.results).skip(1).zip(&outs) {
                        match (value, a) {
                            (Bound::Scalar(x), _) => l.store(out, &[to], *x),
                            (_, mono::Atom::Var(v)) => l.copy_value(*v, value, &out.cell(&[to]))?,
                            _ => return wrong("a constant array"),
                        }
                    }
                }
                Some((c, scanned)) => {
                    let news = scanned.iter().map(|p| l.load(p, &[last])).collect::<L<Vec<_>>>()?;
                    let olds = outs.iter().map(|o| l.load(o, &[to])).collect::<L<Vec<_>>>()?;
                    for (v, x) in c.params.iter().zip(olds.into_iter().chain(news)) {
                        l.set(*v, x);
                    }
                    let values = l.scalars(&c.body)?;
                    outs.iter().zip(values).for_each(|(out, x)| l.store(out, &[to], x));
                }
            }
            let then = l.blocks.close();
            l.emit(StmtKind::If { cond: found[0], then, otherwise: Vec::new(), results: Vec::new() });
            Ok(())
        })
    }

    /// For each of the sorted items what it and those before it of the same place combine to, if that are numbers: a scan
    /// that begins anew with each place.
    fn combined_by_threads(&mut self, s: &Scatter<'_>, sorted: &Sorted, n: Atom) -> L<Option<Vec<Place>>> {
        let Some(c) = s.combine.filter(|c| {
            let scalar = |v: &mono::Var| self.flat.vars[*v].ty.is_scalar();
            let bases = |v: &mono::Var| self.flat.vars[*v].ty.base;
            let (olds, news) = c.params.split_at(s.dests.len());
            c.params.iter().all(scalar) && olds.iter().zip(news).all(|(a, b)| bases(a) == bases(b))
        }) else {
            return Ok(None);
        };
        let prov = self.prov;
        let size = s.axis.size;
        // What goes along with an item, in the order of the places.
        let values: Vec<mono::Var> = s.body.results[1..]
            .iter()
            .map(|a| {
                let base = match a {
                    mono::Atom::Var(v) => self.flat.vars[*v].ty.base,
                    mono::Atom::Const(c) => c.ty(),
                };
                self.fresh("value", mono::Ty::scalar(base).over(&[size]))
            })
            .collect();
        let places = values.iter().map(|v| self.alloc_for(*v)).collect::<L<Vec<_>>>()?;
        let starts = self.fresh("starts", mono::Ty::scalar(BaseTy::Bool).over(&[size]));
        let start = self.alloc_for(starts)?;
        self.each_thread("values", (n, None), |l, j| {
            let (places, start) = (l.import_all(&places), l.import_place(&start));
            let [keys, order] = [&sorted.keys[0], &sorted.order].map(|p| l.import_place(p));
            let half = l.outer(sorted.half);
            let [keys, order] = [keys, order].map(|p| p.cell(&[half]));
            let i = l.load(&order, &[j])?;
            l.set(s.axis.var, i);
            let found = l.scalars(s.body)?;
            places.iter().zip(&found[1..]).for_each(|(to, x)| l.store(to, &[j], *x));
            let before = l.int(ScalarOp::Sub, j, Atom::int(1))?;
            let before = l.int(ScalarOp::Max2, before, Atom::int(0))?;
            let [mine, other] = [j, before].map(|j| l.load(&keys, &[j]));
            let differs = l.int(ScalarOp::Ne, mine?, other?)?;
            l.store(&start, &[j], differs);
            Ok(())
        })?;
        values.iter().zip(&places).for_each(|(v, p)| self.set(*v, Bound::Array(p.clone())));
        self.set(starts, Bound::Array(start));
        // The operator, with a flag that says where what is before does not count.
        let count = values.len();
        let mut params = vec![self.fresh("f", mono::Ty::scalar(BaseTy::Bool))];
        let copy = |p: &mut Plan, v: mono::Var| {
            let ty = p.flat.vars[v].ty.clone();
            p.fresh("x", ty)
        };
        let olds: Vec<mono::Var> = c.params[..count].iter().map(|v| copy(self, *v)).collect();
        params.extend(&olds);
        let anew = self.fresh("g", mono::Ty::scalar(BaseTy::Bool));
        params.push(anew);
        let news: Vec<mono::Var> = c.params[count..].iter().map(|v| copy(self, *v)).collect();
        params.extend(&news);
        let any = self.fresh("h", mono::Ty::scalar(BaseTy::Bool));
        let mut stmts = vec![mono::Stmt {
            pat: vec![any],
            exp: mono::Exp::Op(ScalarOp::Or, vec![params[0].into(), anew.into()]),
            prov,
        }];
        let mut inner = c.body.clone();
        let with: FxHashMap<mono::Var, mono::Atom> =
            c.params.iter().copied().zip(olds.iter().chain(&news).map(|v| (*v).into())).collect();
        inner.substitute(&with);
        let results: Vec<mono::Var> = news.iter().map(|v| copy(self, *v)).collect();
        let kept = mono::Body { stmts: Vec::new(), results: news.iter().map(|v| (*v).into()).collect() };
        stmts.push(mono::Stmt {
            pat: results.clone(),
            exp: mono::Exp::If { cond: anew.into(), then: kept, otherwise: inner },
            prov,
        });
        let body =
            mono::Body { stmts, results: std::iter::once(any).chain(results).map(mono::Atom::Var).collect() };
        let lambda = mono::Lambda { params, body };
        let op = mono::Combine { lambda, start: None, assoc: true, alone: false };
        let index = self.fresh("j", mono::Ty::int());
        let mut leaf = mono::Body::default();
        for (v, base) in std::iter::once((starts, BaseTy::Bool))
            .chain(values.iter().map(|v| (*v, self.flat.vars[*v].ty.base)))
            .collect::<Vec<_>>()
        {
            let x = self.fresh("x", mono::Ty::scalar(base));
            let exp = mono::Exp::Index { array: v, at: vec![index.into()] };
            leaf.stmts.push(mono::Stmt { pat: vec![x], exp, prov });
            leaf.results.push(x.into());
        }
        let outs: Vec<mono::Var> = leaf
            .results
            .iter()
            .filter_map(|a| a.as_var())
            .collect::<Vec<_>>()
            .into_iter()
            .map(|v| {
                let ty = self.flat.vars[v].ty.over(&[size]);
                self.fresh("combined", ty)
            })
            .collect();
        let scan = Scan { index, kind: mono::ScanKind::Inclusive, op: &op, leaf: &leaf, epilogue: None };
        self.seg_scan(&outs, &[], size, scan, &[])?;
        outs[1..].iter().map(|v| self.place(*v)).collect::<L<Vec<_>>>().map(Some)
    }
}

impl Leaf<'_> {
    /// The first of `n` ascending numbers that is at least `least`, or `n`.
    fn first_at_least(&mut self, keys: &Place, n: Atom, least: Atom) -> L<Atom> {
        let found = self.repeat(
            &[Atom::int(0), n],
            |l, s| l.int(ScalarOp::Lt, s[0], s[1]),
            |l, s| {
                let sum = l.int(ScalarOp::Add, s[0], s[1])?;
                let half = l.int(ScalarOp::Quotient, sum, Atom::int(2))?;
                let x = l.load(keys, &[half])?;
                let below = l.int(ScalarOp::Lt, x, least)?;
                let next = l.int(ScalarOp::Add, half, Atom::int(1))?;
                Ok(vec![
                    l.op(ScalarOp::Select, &[below, next, s[0]])?,
                    l.op(ScalarOp::Select, &[below, s[1], half])?,
                ])
            },
        )?;
        Ok(found[0])
    }
}

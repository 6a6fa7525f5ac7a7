//! Arrays of boxes from vectors that are cut into parts (`split`), and back (`concat`).
//!
//! ```text
//! (split [7 8 4 5 6] [2 3])  ⟷  witness n [2 3]   starts [0 2]   data [7 8 4 5 6]
//! ```
//!
//! The data are those of the vector, which nobody copies.

use super::{Part, Ragged, WitnessArrays};
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Body, Combine, Exp, Lambda, ScanKind, Ty};
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// The running sums, or maxima, of a vector of ints, `size` many.
    pub fn scan_ints(
        &mut self,
        name: &str,
        n: Atom,
        op: ScalarOp,
        kind: ScanKind,
        size: Atom,
        xs: Atom,
    ) -> R<Atom> {
        let axes = self.open_axes(&[n]);
        let x = self.index(xs, &[Atom::Var(axes[0].var)])?;
        let body = Body { stmts: self.close().stmts, results: vec![x] };
        let params = vec![self.fresh("acc", Ty::int()), self.fresh("x", Ty::int())];
        self.open();
        let sum = self.op(op, &[Atom::Var(params[0]), Atom::Var(params[1])])?;
        let lambda = Lambda { params, body: Body { stmts: self.close().stmts, results: vec![sum] } };
        let op = Combine { lambda, start: Some(vec![Atom::int(0)]), assoc: true, alone: false };
        let ty = Ty { base: BaseTy::I64, dims: vec![size] };
        self.bind(name, ty, Exp::Scan { kind, axis: axes[0], body, op })
    }

    /// The items of an array, of which the first `axes` axes are one of the frame, as the contents of `k`
    /// boxes that start at the given items.
    pub fn cut_into_boxes(&mut self, v: &Val<'a>, axes: usize, starts: Atom, k: Atom) -> R<Part<'a>> {
        let scaled = |b: &mut Self, dims: &[Atom]| {
            let item = b.product(dims)?;
            if item == Atom::int(1) {
                return Ok(starts);
            }
            b.tabulate("starts", BaseTy::I64, &[k], Vec::new(), |b, at| {
                let start = b.index(starts, at)?;
                b.op(ScalarOp::Mul, &[start, item])
            })
        };
        let dims = self.dims_of(v);
        let Some(rest) = dims.get(axes..) else { return bug("a vector of no axis") };
        Ok(match v {
            Val::Base(a) => {
                let count = self.product(&dims)?;
                let data = self.shaped(*a, &[count])?;
                Part::Base { data, starts: scaled(self, rest)? }
            }
            Val::Tuple { fields, .. } => {
                let parts = fields.iter().map(|f| self.cut_into_boxes(f, axes, starts, k));
                Part::Tuple(parts.collect::<R<Vec<_>>>()?)
            }
            Val::Fns { table, fields, .. } => {
                let parts = fields.iter().map(|f| self.cut_into_boxes(f, axes, starts, k));
                Part::Fns { table: table.clone(), fields: parts.collect::<R<Vec<_>>>()? }
            }
            Val::Box(_) => return bug("one box as a vector"),
            Val::Boxes { ty, .. } => {
                let r = Val::Ragged(Rc::new(self.ragged(v, ty)?));
                self.cut_into_boxes(&r, axes, starts, k)?
            }
            Val::Ragged(r) => {
                let starts = scaled(self, rest)?;
                let count = self.product(&dims)?;
                let line = vec![count];
                let inner = self.reframed(r, line.clone(), &mut |b, a| b.shaped(a, &line))?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
        })
    }

    /// All contents of boxes that are one after the other, as one array of items of the type `item`; and
    /// how many items there are.
    pub fn whole_contents(&mut self, r: &Ragged<'a>, item: &ArrTy) -> R<(Dim, Val<'a>)> {
        let [WitnessArrays::Dim(lengths)] = r.witnesses[..] else { return bug("boxes of other indices") };
        let [k] = r.frame[..] else { return bug("boxes in other frames") };
        let more = self.dim_of(k).add(&Dim::constant(1));
        let more = self.size(&more)?;
        let sums = self.scan_ints("start", k, ScalarOp::Add, ScanKind::Full, more, lengths)?;
        let n = self.index(sums, &[k])?;
        if let Atom::Var(v) = n {
            self.natural.insert(v);
        }
        let n = self.dim_of(n);
        let ty = item.lifted(&Shape::of_dims([n.clone()]));
        let whole = self.contents_from_start(&r.contents, &ty, &[])?;
        Ok((n, whole))
    }

    fn contents_from_start(&mut self, p: &Part<'a>, ty: &ArrTy, outer: &[Atom]) -> R<Val<'a>> {
        let own = self.sizes_of_type(&ty.shape)?;
        let dims: Vec<Atom> = outer.iter().copied().chain(own).collect();
        Ok(match (p, &ty.atom) {
            (Part::Base { data, .. }, _) => Val::Base(self.shaped(*data, &dims)?),
            (Part::Tuple(parts), AtomTy::Tuple(q)) => {
                let fields = parts.iter().zip(&q.fields);
                let fields = fields.map(|(p, (_, t))| self.contents_from_start(p, t, &dims));
                let fields = fields.collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: dims, fields: fields.into() }
            }
            (Part::Boxes { inner, .. }, _) => {
                let r = self.reframed(inner, dims.clone(), &mut |b, a| b.shaped(a, &dims))?;
                Val::Ragged(Rc::new(r))
            }
            (Part::Fns { table, fields: parts }, _) => {
                let types = table.types();
                let fields = parts.iter().zip(&types).map(|(p, t)| self.contents_from_start(p, t, &dims));
                let fields = fields.collect::<R<Vec<_>>>()?;
                Val::Fns { dims, table: table.clone(), fields: fields.into() }
            }
            _ => return bug(format!("contents that are not of type {ty}")),
        })
    }
}

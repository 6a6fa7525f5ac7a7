//! Arrays of values: their cells, other arrangements of them, and their collection in a frame.

use crate::build::val::{Fun, Val};
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::zero;
use remc_base::*;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// The dims of the whole array.
    pub fn dims_of(&self, v: &Val<'a>) -> Vec<Atom> {
        match v {
            Val::Base(a) => self.dims_of_atom(*a),
            Val::Tuple { frame, .. } => frame.clone(),
            Val::Box(_) => Vec::new(),
            Val::Boxes { dims, .. } => dims.iter().map(|n| Atom::int(*n as i64)).collect(),
            Val::Ragged(r) => r.frame.clone(),
            Val::Fns { dims, .. } => dims.clone(),
        }
    }

    /// The cell at the given indices, which are in bounds.
    pub fn cell(&mut self, v: &Val<'a>, at: &[Atom]) -> R<Val<'a>> {
        if at.is_empty() {
            return Ok(v.clone());
        }
        Ok(match v {
            Val::Base(a) => Val::Base(self.index(*a, at)?),
            Val::Tuple { frame, fields } if at.len() <= frame.len() => {
                let fields = fields.iter().map(|f| self.cell(f, at)).collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: frame[at.len()..].to_vec(), fields: fields.into() }
            }
            Val::Fns { dims, table, fields } if at.len() <= dims.len() => {
                let fields = fields.iter().map(|f| self.cell(f, at)).collect::<R<Vec<_>>>()?;
                Val::Fns { dims: dims[at.len()..].to_vec(), table: table.clone(), fields: fields.into() }
            }
            Val::Ragged(r) => return self.ragged_cell(r, at),
            Val::Boxes { dims, ty, elems } => {
                let constant: Option<Vec<usize>> =
                    at.iter().map(|a| a.as_int().and_then(|i| usize::try_from(i).ok())).collect();
                match constant {
                    Some(at) if at.len() <= dims.len() && at.iter().zip(dims).all(|(i, n)| i < n) => {
                        let size: usize = dims[at.len()..].iter().product();
                        let start = at.iter().zip(dims).fold(0, |p, (i, n)| p * n + i) * size;
                        if at.len() == dims.len() {
                            elems[start].clone()
                        } else {
                            let elems = Rc::from(&elems[start..start + size]);
                            Val::Boxes { dims: dims[at.len()..].to_vec(), ty: ty.clone(), elems }
                        }
                    }
                    _ => {
                        let r = self.ragged(v, ty)?;
                        return self.ragged_cell(&r, at);
                    }
                }
            }
            _ => return bug("a cell of more axes than there are"),
        })
    }

    /// Another arrangement of the leading `k` axes, which become `frame`. `view` makes it.
    pub fn rearrange(
        &mut self,
        v: &Val<'a>,
        k: usize,
        frame: &[Atom],
        view: &mut dyn FnMut(&Ty) -> View,
    ) -> R<Val<'a>> {
        let mut leaf = |this: &mut Self, a: Atom| {
            let old = match a {
                Atom::Var(v) => this.program.ty(v).clone(),
                Atom::Const(c) => Ty::scalar(c.ty()),
            };
            if old.rank() < k {
                return bug("an arrangement of more axes than there are");
            }
            let ty = old.cell(k).over(frame);
            let a = match a {
                Atom::Var(_) => a,
                // A constant that is replicated is a literal first.
                Atom::Const(_) => this.bind("c", old.clone(), Exp::Atom(a))?,
            };
            this.view(view(&old), a, ty)
        };
        let outer = |own: &[Atom]| -> Vec<Atom> {
            frame.iter().chain(own.get(k..).unwrap_or_default()).copied().collect()
        };
        Ok(match v {
            Val::Base(a) => Val::Base(leaf(self, *a)?),
            Val::Tuple { frame: own, fields } => {
                let own = outer(own);
                let fields =
                    fields.iter().map(|f| self.rearrange(f, k, frame, view)).collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: own, fields: fields.into() }
            }
            Val::Fns { dims, table, fields } => {
                let dims = outer(dims);
                let fields =
                    fields.iter().map(|f| self.rearrange(f, k, frame, view)).collect::<R<Vec<_>>>()?;
                Val::Fns { dims, table: table.clone(), fields: fields.into() }
            }
            Val::Box(_) | Val::Boxes { .. } | Val::Ragged(_) => {
                let ty = match v {
                    Val::Box(b) => &b.ty,
                    Val::Boxes { ty, .. } => ty,
                    Val::Ragged(r) => &r.ty,
                    _ => return bug("boxes that are none"),
                };
                let r = self.ragged(v, ty)?;
                let frame = outer(&r.frame);
                Val::Ragged(Rc::new(self.reframed(&r, frame, &mut leaf)?))
            }
        })
    }

    /// The value at every position of new leading axes.
    pub fn replicate(&mut self, v: &Val<'a>, axes: &[Atom]) -> R<Val<'a>> {
        if axes.is_empty() {
            return Ok(v.clone());
        }
        if let Val::Boxes { .. } | Val::Box(_) = v
            && let Some(n) = static_sizes(axes)
            && n.iter().product::<usize>() <= MOST_UNROLLED
        {
            let own = self.dims_of(v);
            let (ty, one): (_, Vec<Val>) = match v {
                Val::Boxes { ty, elems, .. } => (ty.clone(), elems.to_vec()),
                Val::Box(b) => (b.ty.clone(), vec![v.clone()]),
                _ => return bug("boxes that are none"),
            };
            let dims = n.iter().copied().chain(static_sizes(&own).unwrap_or_default()).collect();
            let elems = (0..n.iter().product::<usize>()).flat_map(|_| one.iter().cloned()).collect();
            return Ok(Val::Boxes { dims, ty, elems });
        }
        if let Val::Base(a @ Atom::Const(c)) = v {
            return Ok(Val::Base(self.tabulate("c", c.ty(), axes, Vec::new(), |_, _| Ok(*a))?));
        }
        self.rearrange(v, 0, axes, &mut |_| View::Replicate { dims: axes.to_vec() })
    }

    /// The elements of a frame of constant dims, each of the closed type `ty`.
    pub fn collect(&mut self, name: &str, dims: &[usize], elems: Vec<Val<'a>>, ty: &ArrTy) -> R<Val<'a>> {
        let atoms: Vec<Atom> = dims.iter().map(|n| Atom::int(*n as i64)).collect();
        let Some(first) = elems.first() else {
            let ty = ty.lifted(&Shape::of_sizes(dims));
            return self.empty(&ty);
        };
        if dims.is_empty() {
            return Ok(first.clone());
        }
        match first {
            Val::Base(_) => {
                let parts = elems
                    .iter()
                    .map(|v| if let Val::Base(a) = v { Ok(*a) } else { bug("elements of different types") })
                    .collect::<R<Vec<_>>>()?;
                Ok(Val::Base(self.collect_base(name, &atoms, parts)?))
            }
            Val::Tuple { frame, fields } => {
                let AtomTy::Tuple(q) = &ty.atom else { return bug("a tuple of another type") };
                let whole: Vec<Atom> = atoms.iter().chain(frame).copied().collect();
                let mut out = Vec::with_capacity(fields.len());
                for (i, (_, t)) in q.fields.iter().enumerate() {
                    let column = elems
                        .iter()
                        .map(|v| match v {
                            Val::Tuple { fields, .. } if i < fields.len() => Ok(fields[i].clone()),
                            _ => bug("elements of different types"),
                        })
                        .collect::<R<Vec<_>>>()?;
                    out.push(self.collect(name, dims, column, &t.lifted(&ty.shape))?);
                }
                Ok(Val::Tuple { frame: whole, fields: out.into() })
            }
            Val::Box(_) => Ok(Val::Boxes { dims: dims.to_vec(), ty: ty.atom.clone(), elems: elems.into() }),
            Val::Boxes { .. } | Val::Ragged(_) => {
                let own = elems.iter().map(|v| match v {
                    Val::Boxes { dims, elems, .. } => Some((dims, elems)),
                    _ => None,
                });
                if let Some(parts) = own.collect::<Option<Vec<_>>>() {
                    let dims = dims.iter().chain(parts[0].0).copied().collect();
                    let all = parts.iter().flat_map(|(_, e)| e.iter().cloned()).collect();
                    return Ok(Val::Boxes { dims, ty: ty.atom.clone(), elems: all });
                }
                let whole: Vec<Atom> = atoms.iter().chain(&self.dims_of(first)).copied().collect();
                Ok(Val::Ragged(Rc::new(self.collect_ragged(elems, &ty.atom, whole)?)))
            }
            Val::Fns { .. } => {
                let elems = self.with_one_table(elems)?;
                let Some(Val::Fns { dims: own, table, fields }) = elems.first() else {
                    return bug("elements of different types");
                };
                let whole: Vec<Atom> = atoms.iter().chain(own).copied().collect();
                let types = table.types();
                let mut out = Vec::with_capacity(fields.len());
                for (i, t) in types.iter().enumerate() {
                    let column = elems
                        .iter()
                        .map(|v| match v {
                            Val::Fns { fields, .. } if i < fields.len() => Ok(fields[i].clone()),
                            _ => bug("elements of different types"),
                        })
                        .collect::<R<Vec<_>>>()?;
                    out.push(self.collect("f", dims, column, &t.lifted(&ty.shape))?);
                }
                Ok(Val::Fns { dims: whole, table: table.clone(), fields: out.into() })
            }
        }
    }

    fn collect_base(&mut self, name: &str, dims: &[Atom], parts: Vec<Atom>) -> R<Atom> {
        let base = self.base_of(parts[0]);
        let cell = self.dims_of_atom(parts[0]);
        let whole: Vec<Atom> = dims.iter().chain(&cell).copied().collect();
        if cell.is_empty() {
            return self.literal(name, base, whole, parts);
        }
        // Rows of literals are one literal.
        let rows: Option<Vec<Atom>> = parts
            .iter()
            .map(|a| self.literals.get(&a.as_var()?).map(|e| e.to_vec()))
            .collect::<Option<Vec<_>>>()
            .map(|rows| rows.concat());
        if let Some(elems) = rows
            && static_sizes(&whole).is_some_and(|n| n.iter().product::<usize>() == elems.len())
        {
            return self.literal(name, base, whole, elems);
        }
        let item: Vec<Atom> = [Atom::int(1)].into_iter().chain(cell.iter().copied()).collect();
        let count = parts.len();
        let mut all: Option<Atom> = None;
        for (i, part) in parts.into_iter().enumerate() {
            let ty = Ty { base, dims: item.clone() };
            let row = self.view(View::Reshape { dims: item.clone() }, part, ty)?;
            all = Some(match (all, row) {
                (None, row) => row,
                (Some(before), Atom::Var(with)) => {
                    let ty = Ty { base, dims: cell.clone() }.over(&[Atom::int(i as i64 + 1)]);
                    self.view(View::Append { with }, before, ty)?
                }
                _ => return bug("a row that is no array"),
            });
        }
        let Some(all) = all else { return bug("nothing to collect") };
        if dims == [Atom::int(count as i64)] {
            return Ok(all);
        }
        self.view(View::Reshape { dims: whole.clone() }, all, Ty { base, dims: whole })
    }

    /// An array of a closed type of which some dim is 0, or of which no element is ever looked at.
    pub fn empty(&mut self, ty: &ArrTy) -> R<Val<'a>> {
        let dims = self.sizes_of_type(&ty.shape)?;
        Ok(match &ty.atom {
            AtomTy::Base(b) => {
                if dims.contains(&Atom::int(0)) {
                    return Ok(Val::Base(self.literal("empty", *b, dims, Vec::new())?));
                }
                let zero = Atom::Const(zero(*b));
                Val::Base(self.tabulate("empty", *b, &dims, Vec::new(), |_, _| Ok(zero))?)
            }
            AtomTy::Tuple(q) => {
                let fields =
                    q.fields.iter().map(|(_, t)| self.empty(&t.lifted(&ty.shape))).collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: dims, fields: fields.into() }
            }
            AtomTy::Sigma(q) if dims.is_empty() => {
                let mut subst = Subst::new();
                let mut witnesses = Vec::new();
                for p in &q.params {
                    let w = match p.sort {
                        Sort::Dim => Index::Dim(Dim::zero()),
                        Sort::Shape => Index::Shape(Shape::of_sizes(&[0])),
                    };
                    subst.bind_index(p, w.clone());
                    witnesses.push(w);
                }
                let contents = self.empty(&subst.arr(&q.body))?;
                Val::boxed(ty.atom.clone(), witnesses, contents)
            }
            AtomTy::Sigma(_) => {
                match static_sizes(&dims) {
                    Some(n) if n.contains(&0) => {
                        Val::Boxes { dims: n, ty: ty.atom.clone(), elems: Rc::from([]) }
                    }
                    // No element is ever looked at.
                    _ => {
                        let one = self.empty(&ArrTy::scalar(ty.atom.clone()))?;
                        self.replicate(&one, &dims)?
                    }
                }
            }
            _ => Val::functions(Fun::None, dims),
        })
    }
}

/// Maps over frames of more positions are not unrolled.
pub(crate) const MOST_UNROLLED: usize = 64;

/// The sizes, if all are constants.
pub(crate) fn static_sizes(dims: &[Atom]) -> Option<Vec<usize>> {
    dims.iter().map(|d| d.as_int().and_then(|n| usize::try_from(n).ok())).collect()
}

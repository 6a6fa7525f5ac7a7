//! Arrays of functions of different tables, with one table.
//!
//! ```text
//! {(λ (y) (+ x y)), x: 3}    {*}    {(λ (y) (+ x y)), x: %5}
//!   ⟶  one table: 0 = (λ (y) (+ _ y)), 1 = *        fields  (0, 3)   (1, 0)   (0, %5)
//! ```
//!
//! Functions of one skeleton share a code, whose holes are where they differ. The holes of a code that a function
//! is not are filled with zeros and empty arrays, which nobody looks at.

use super::{Merged, leaves::Leaf};
use crate::build::env::{ivar, var_of};
use crate::build::ragged::{Part, Ragged};
use crate::build::val::{Code, Fun, Table, Val};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Var};
use crate::limits::BuildError;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

/// How the functions of one table are those of another.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Of each code: the code of the other table that it is an instance of, and what fills the holes of that.
    to: Vec<(usize, Vec<Leaf>)>,
}

/// A table, and how the functions of one that is given are functions of it.
pub(crate) type Retabled<'a> = (Rc<Table<'a>>, Plan);

impl<'a> Build<'a> {
    /// The table that has the functions of all of these, and how they are in it.
    pub fn one_table(&mut self, tables: &[Rc<Table<'a>>]) -> R<(Rc<Table<'a>>, Vec<Plan>)> {
        struct Group<'a> {
            members: Vec<Code<'a>>,
            merged: Merged<'a>,
        }
        let mut groups: Vec<Group> = Vec::new();
        // For each table, for each code: the group, and the place in it.
        let mut places: Vec<Vec<(usize, usize)>> = Vec::with_capacity(tables.len());
        let real = |c: &Code| !matches!(c.fun, Fun::None);
        let some = tables.iter().any(|t| t.codes.iter().any(real));
        for t in tables {
            let mut own = Vec::with_capacity(t.codes.len());
            'codes: for c in &t.codes {
                if some && !real(c) {
                    // It is nowhere: any will do.
                    own.push((usize::MAX, 0));
                    continue;
                }
                for (g, group) in groups.iter_mut().enumerate() {
                    if let Some(k) = group.members.iter().position(|m| same(m, c)) {
                        own.push((g, k));
                        continue 'codes;
                    }
                    if let Some(Merged { code, fillings }) = self.merged(&[&group.merged.code, c], None)? {
                        let [before, mine] = <[_; 2]>::try_from(fillings).map_err(|_| two_fillings())?;
                        self.refill(&mut group.merged, &before);
                        group.merged.code = code;
                        group.merged.fillings.push(mine);
                        own.push((g, group.members.len()));
                        group.members.push(c.clone());
                        continue 'codes;
                    }
                }
                own.push((groups.len(), 0));
                let Some(merged) = self.merged(&[c], None)? else {
                    return bug("a function that is not like itself");
                };
                groups.push(Group { members: vec![c.clone()], merged });
            }
            places.push(own);
        }
        let table = Rc::new(Table { codes: groups.iter().map(|g| g.merged.code.clone()).collect() });
        let plans = places.into_iter().map(|own| {
            let to = own.into_iter().map(|(g, k)| match groups.get(g) {
                Some(group) => (g, group.merged.fillings[k].clone()),
                None => (usize::MAX, Vec::new()),
            });
            Plan { to: to.collect() }
        });
        let plans = plans.collect();
        Ok((table, plans))
    }

    /// What fills the holes of a code that is about to take the place of another one: `before` says what fills them
    /// in that one.
    fn refill(&self, of: &mut Merged<'a>, before: &[Leaf]) {
        let Some(holes) = of.code.holes.clone() else {
            of.fillings.iter_mut().for_each(|f| *f = before.to_vec());
            return;
        };
        let own = |l: &Leaf, k: usize| match l {
            Leaf::Atom(a) | Leaf::Size(a) => *a == Atom::Var(holes.all[k].var),
            Leaf::Dim(d) => *d == Dim::rigid(ivar(holes.all[k].var)),
        };
        if before.len() == holes.all.len() && before.iter().enumerate().all(|(k, l)| own(l, k)) {
            return;
        }
        for filling in &mut of.fillings {
            let of_hole = |v: Var| holes.all.iter().position(|h| h.var == v).and_then(|k| filling.get(k));
            let size = |l: &Leaf| match l {
                Leaf::Atom(a) | Leaf::Size(a) => self.dim_of(*a),
                Leaf::Dim(d) => d.clone(),
            };
            let filled = before.iter().map(|l| match l {
                Leaf::Atom(a) | Leaf::Size(a) => a.as_var().and_then(of_hole).unwrap_or(l).clone(),
                Leaf::Dim(d) => Leaf::Dim(d.substitute(&mut |v| of_hole(var_of(v)?).map(size))),
            });
            *filling = filled.collect();
        }
    }

    /// Whether the functions of `from` are as they are in `to`.
    pub fn is_same(&self, from: &Table<'a>, to: &Table<'a>, plan: &Plan) -> bool {
        let own = |c: &Code, leaves: &[Leaf]| match &c.holes {
            None => leaves.is_empty(),
            Some(h) => {
                h.all.len() == leaves.len()
                    && h.all.iter().zip(leaves).all(|(h, l)| match l {
                        Leaf::Atom(a) | Leaf::Size(a) => *a == Atom::Var(h.var),
                        Leaf::Dim(d) => *d == Dim::rigid(ivar(h.var)),
                    })
            }
        };
        let sizes = |c: &Code| c.holes.as_ref().map_or(0, |h| h.witnesses());
        from.codes.len() == to.codes.len()
            && plan.to.iter().enumerate().all(|(k, (to_code, leaves))| {
                *to_code == k && own(&from.codes[k], leaves) && sizes(&from.codes[k]) == sizes(&to.codes[k])
            })
    }

    /// Functions with another table.
    fn functions_as(
        &mut self,
        (dims, from, fields): (&[Atom], &Rc<Table<'a>>, &Rc<[Val<'a>]>),
        (into, plan): &Retabled<'a>,
    ) -> R<Val<'a>> {
        if self.is_same(from, into, plan) {
            return Ok(Val::Fns { dims: dims.to_vec(), table: into.clone(), fields: fields.clone() });
        }
        let mut out = Vec::new();
        if into.tagged() {
            let tags = match fields.first() {
                Some(Val::Base(a)) if from.tagged() => Some(*a),
                _ => None,
            };
            out.push(Val::Base(self.tags_as(dims, tags, plan)?));
        }
        if into.codes.iter().all(|c| c.holes.is_none()) {
            return Ok(Val::Fns { dims: dims.to_vec(), table: into.clone(), fields: out.into() });
        }
        let types: Vec<ArrTy> = into.types().split_off(out.len());
        let ty = ArrTy::scalar(AtomTy::tuple(types.into_iter().map(|t| (None, t)).collect()));
        let old = Val::Tuple { frame: dims.to_vec(), fields: fields.clone() };
        let made = self.map("f", dims, &ty, |b, at| {
            let Val::Tuple { fields, .. } = b.cell(&old, at)? else { return bug("no tuple") };
            let mut out = Vec::new();
            for (k, c) in into.codes.iter().enumerate() {
                if c.holes.is_some() {
                    let those: Vec<usize> = (0..from.codes.len()).filter(|j| plan.to[*j].0 == k).collect();
                    out.push(b.filled_from(&those, (from, &fields), (c, plan))?);
                }
            }
            Ok(Val::tuple(out))
        })?;
        let Val::Tuple { fields: made, .. } = made else { return bug("functions without fields") };
        out.extend(made.iter().cloned());
        Ok(Val::Fns { dims: dims.to_vec(), table: into.clone(), fields: out.into() })
    }

    fn tags_as(&mut self, dims: &[Atom], tags: Option<Atom>, plan: &Plan) -> R<Atom> {
        let to: Vec<i64> =
            plan.to.iter().map(|(k, _)| if *k == usize::MAX { 0 } else { *k as i64 }).collect();
        let by = to[0];
        let moved = to.iter().enumerate().all(|(k, t)| *t == k as i64 + by);
        match tags {
            Some(t) if moved && by == 0 => Ok(t),
            Some(t) => self.tabulate("f", BaseTy::I64, dims, Vec::new(), |b, at| {
                let t = b.index(t, at)?;
                if moved {
                    return b.op(ScalarOp::Add, &[t, Atom::int(by)]);
                }
                let n = Atom::int(to.len() as i64);
                let all = to.iter().map(|t| Atom::int(*t)).collect();
                let all = b.literal("f", BaseTy::I64, vec![n], all)?;
                b.index(all, &[t])
            }),
            None => self.tabulate("f", BaseTy::I64, dims, Vec::new(), |_, _| Ok(Atom::int(by))),
        }
    }

    /// What fills the holes of a code in one function, which may be of several codes that are instances of it.
    fn filled_from(
        &mut self,
        those: &[usize],
        (from, fields): (&Table<'a>, &[Val<'a>]),
        (code, plan): (&Code<'a>, &Plan),
    ) -> R<Val<'a>> {
        let Some(holes) = &code.holes else { return bug("a code without holes is filled") };
        let ty = ArrTy::scalar(holes.ty.clone());
        let Some((one, rest)) = those.split_first() else { return self.empty(&ty) };
        let fill = |b: &mut Self| {
            let field = from.field_of(*one).and_then(|f| fields.get(f));
            let with = b.filling(from.codes[*one].holes.as_deref(), field)?;
            b.packed(holes, &plan.to[*one].1, &with)
        };
        if rest.is_empty() {
            return fill(self);
        }
        let Some(Val::Base(tag)) = fields.first() else { return bug("functions without tags") };
        let cond = self.op(ScalarOp::Eq, &[*tag, Atom::int(*one as i64)])?;
        self.choose(cond, &ty, fill, |b| b.filled_from(rest, (from, fields), (code, plan)))
    }

    // ---- whole values ---------------------------------------------------------------------------------

    /// The value with other tables: one for each that [`tables_of`] gives, in its order.
    pub fn retabled(&mut self, v: &Val<'a>, plans: &mut std::slice::Iter<'_, Retabled<'a>>) -> R<Val<'a>> {
        Ok(match v {
            Val::Base(_) => v.clone(),
            Val::Tuple { frame, fields } => {
                let fields = fields.iter().map(|f| self.retabled(f, plans)).collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: frame.clone(), fields: fields.into() }
            }
            Val::Box(b) => {
                let contents = self.retabled(&b.contents, plans)?;
                Val::boxed(b.ty.clone(), b.witnesses.clone(), contents)
            }
            Val::Boxes { .. } => return bug("boxes that are not stored flat"),
            Val::Ragged(r) => {
                let mut count = 0;
                let mut same = true;
                let mut peek = plans.clone();
                r.tables(&mut |t| {
                    count += 1;
                    same &= peek.next().is_some_and(|(into, plan)| self.is_same(t, into, plan));
                });
                let here = plans.as_slice().get(..count).unwrap_or_default();
                (0..count).for_each(|_| {
                    plans.next();
                });
                if count == 0 {
                    return Ok(v.clone());
                }
                if same {
                    return Ok(Val::Ragged(Rc::new(with_tables(r, &mut here.iter()))));
                }
                let (frame, ty) = (r.frame.clone(), ArrTy::scalar(r.ty.clone()));
                let made = self.map("a", &frame, &ty, |b, at| {
                    let cell = b.ragged_cell(r, at)?;
                    b.retabled(&cell, &mut here.iter())
                })?;
                // Opened and made again, they have the tables that their contents have.
                made
            }
            Val::Fns { dims, table, fields } => match plans.next() {
                Some(plan) => self.functions_as((dims, table, fields), plan)?,
                None => return bug("functions without a plan"),
            },
        })
    }

    /// Values of one type, so that the functions at one place of all have one table. Arrays of boxes in them are
    /// stored flat.
    pub fn with_one_table(&mut self, all: Vec<Val<'a>>) -> R<Vec<Val<'a>>> {
        let tables: Vec<Vec<Rc<Table>>> = all.iter().map(tables_of).collect();
        let Some(first) = tables.first() else { return Ok(all) };
        let differ = |k: usize| tables.iter().any(|t| t.get(k).is_none_or(|t| !Rc::ptr_eq(t, &first[k])));
        if !(0..first.len()).any(differ) {
            return Ok(all);
        }
        let mut plans: Vec<Vec<Retabled>> = all.iter().map(|_| Vec::new()).collect();
        for k in 0..first.len() {
            let Some(column) = tables.iter().map(|t| t.get(k).cloned()).collect::<Option<Vec<_>>>() else {
                return bug("values of one type with different functions in them");
            };
            let (table, all) = self.one_table(&column)?;
            plans.iter_mut().zip(all).for_each(|(plans, p)| plans.push((table.clone(), p)));
        }
        all.iter().zip(plans).map(|(v, p)| self.retabled(v, &mut p.iter())).collect()
    }
}

fn two_fillings() -> Box<BuildError> {
    Box::new(BuildError::Bug("two codes without two fillings".into()))
}

fn same(a: &Code, b: &Code) -> bool {
    let fun = match (&a.fun, &b.fun) {
        (Fun::Op(a), Fun::Op(b)) => a == b,
        (Fun::Prim(a), Fun::Prim(b)) => a == b,
        (Fun::Closure(a), Fun::Closure(b)) => Rc::ptr_eq(a, b),
        (Fun::Restored(a), Fun::Restored(b)) => Rc::ptr_eq(a, b),
        (Fun::None, Fun::None) => true,
        _ => false,
    };
    fun && match (&a.holes, &b.holes) {
        (None, None) => true,
        (Some(a), Some(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

/// The tables of the functions in a value, from left to right.
pub(crate) fn tables_of<'a>(v: &Val<'a>) -> Vec<Rc<Table<'a>>> {
    let mut out = Vec::new();
    collect(v, &mut out);
    out
}

fn collect<'a>(v: &Val<'a>, out: &mut Vec<Rc<Table<'a>>>) {
    match v {
        Val::Base(_) => {}
        Val::Tuple { fields, .. } => fields.iter().for_each(|f| collect(f, out)),
        Val::Box(b) => collect(&b.contents, out),
        // Stored flat before they meet others.
        Val::Boxes { .. } => {}
        Val::Ragged(r) => r.tables(&mut |t| out.push(t.clone())),
        Val::Fns { table, .. } => out.push(table.clone()),
    }
}

fn with_tables<'a>(r: &Ragged<'a>, plans: &mut std::slice::Iter<'_, Retabled<'a>>) -> Ragged<'a> {
    let contents = part_with_tables(&r.contents, plans);
    Ragged { frame: r.frame.clone(), ty: r.ty.clone(), witnesses: r.witnesses.clone(), contents }
}

fn part_with_tables<'a>(p: &Part<'a>, plans: &mut std::slice::Iter<'_, Retabled<'a>>) -> Part<'a> {
    match p {
        Part::Base { .. } => p.clone(),
        Part::Tuple(parts) => Part::Tuple(parts.iter().map(|p| part_with_tables(p, plans)).collect()),
        Part::Box(r) => Part::Box(Rc::new(with_tables(r, plans))),
        Part::Boxes { starts, inner } => {
            Part::Boxes { starts: *starts, inner: Rc::new(with_tables(inner, plans)) }
        }
        Part::Fns { table, fields } => {
            let table = plans.next().map_or_else(|| table.clone(), |(t, _)| t.clone());
            Part::Fns { table, fields: fields.clone() }
        }
    }
}

//! Functions as values, without functions as values in Mono: defunctionalisation.
//!
//! A function is static: each place that applies one knows which λ it is, or which few it may be. What differs
//! from one function to the next, and from one run to the next, is data: a *tag* that says which of the few it
//! is, and what *fills the holes* of each, the values that it mentions.
//!
//! ```text
//! (λ (y) (+ x y)), x known here             one code; nothing is data
//! (map i n … (λ (y) (+ xᵢ y)))              one code, whose hole is an int:  fields  xs
//! (if c (λ (y) (+ x y)) *)                  two codes, one with a hole:      fields  tag, x
//! (map i n … (λ (y) (sum (+ y vᵢ))))        vᵢ of a size of its own: the holes are filled by a box
//! ```
//!
//! So an array of functions is a table of codes and arrays beside it ([`Val::Fns`]); whatever can be done with
//! an array of tuples, or of boxes, can be done with it, by the same rules. Holes are made only where they are
//! needed: a function that is applied where it is made mentions its variables directly.
//!
//! | module | |
//! | --- | --- |
//! | this one | functions with their holes filled; functions that leave a body |
//! | `leaves` | what a function mentions |
//! | `merge` | arrays of different functions in one |
//! | `rounds` | functions in the state of a loop |

pub(crate) mod leaves;
mod merge;
mod rounds;

use crate::build::emit::Scope;
use crate::build::env::{ivar, var_of};
use crate::build::val::{Code, Fun, Hole, Holes, Table, Val};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Ty, Var};
use leaves::{Leaf, Token, Walk};
use remc_base::ids::Id;
use remc_base::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(crate) use merge::tables_of;
pub(crate) use rounds::Round;

/// A function without its leaves; and these.
pub(super) struct Taken {
    tokens: Vec<Token>,
    leaves: Vec<Leaf>,
    /// How many functions are inside of each other.
    depth: usize,
}

/// A code of which others are instances, and what fills its holes in each: leaves of that one.
pub(super) struct Merged<'a> {
    pub code: Code<'a>,
    pub fillings: Vec<Vec<Leaf>>,
}

/// A hole that is being made.
struct NewHole {
    hole: Hole,
    base: BaseTy,
    /// Over variables of holes, and what is in scope.
    dims: Vec<Dim>,
    fillings: Vec<Leaf>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Int(Vec<Dim>),
    Other(Vec<(BaseTy, bool, i64)>),
}

impl<'a> Build<'a> {
    pub(super) fn taken(&mut self, f: &Fun<'a>) -> R<Taken> {
        let mut leaves = Vec::new();
        let mut push = |l: Leaf| {
            leaves.push(l.clone());
            l
        };
        let mut walk = Walk::new(&self.program, (&mut self.mentioned, &mut self.opaque), &mut push);
        walk.fun(f);
        let (tokens, depth) = (walk.tokens, walk.deepest);
        // Closures that share closures are seen once for each use.
        self.grow(tokens.len())?;
        Ok(Taken { tokens, leaves, depth })
    }

    /// The same function with other leaves, in order.
    fn with_leaves(&mut self, f: &Fun<'a>, leaves: Vec<Leaf>) -> Fun<'a> {
        let mut next = leaves.into_iter();
        let mut take = |old: Leaf| next.next().unwrap_or(old);
        Walk::new(&self.program, (&mut self.mentioned, &mut self.opaque), &mut take).fun(f)
    }

    /// The code of which all of these are instances; none if they differ in more than leaves. With `first`,
    /// whatever has a number from there on is a hole.
    pub(super) fn merged(&mut self, codes: &[&Code<'a>], first: Option<usize>) -> R<Option<Merged<'a>>> {
        let Some(one) = codes.first() else { return bug("a code of no codes") };
        let all = codes.iter().map(|c| self.taken(&c.fun)).collect::<R<Vec<_>>>()?;
        if all.iter().any(|t| t.tokens != all[0].tokens || t.leaves.len() != all[0].leaves.len()) {
            return Ok(None);
        }
        let mut making = Making { codes, first, holes: Vec::new(), known: FxHashMap::default() };
        let mut leaves = Vec::with_capacity(all[0].leaves.len());
        for k in 0..all[0].leaves.len() {
            let column: Vec<Leaf> = all.iter().map(|t| t.leaves[k].clone()).collect();
            match self.leaf_of(&mut making, &column)? {
                Some(l) => leaves.push(l),
                None => return Ok(None),
            }
        }
        let fun = self.with_leaves(&one.fun, leaves);
        let holes = making.holes;
        if holes.is_empty() {
            let fillings = codes.iter().map(|_| Vec::new()).collect();
            return Ok(Some(Merged { code: Code { fun, holes: None }, fillings }));
        }
        let is_size = |h: &NewHole| {
            let of = |d: &Dim| d.vars().any(|v| var_of(v) == Some(h.hole.var));
            holes.iter().any(|other| other.dims.iter().any(of))
        };
        let (sizes, rest): (Vec<&NewHole>, Vec<&NewHole>) = holes.iter().partition(|h| is_size(h));
        let mut subst = Subst::new();
        let mut params = Vec::with_capacity(sizes.len());
        for h in &sizes {
            self.next_type += 1;
            let p = IVar::dim(self.next_type, "n");
            subst.bind_dim(&ivar(h.hole.var), Dim::rigid(p.clone()));
            params.push(p);
        }
        let fields = rest.iter().map(|h| {
            (None, subst.arr(&ArrTy::new(AtomTy::Base(h.base), Shape::of_dims(h.dims.iter().cloned()))))
        });
        let body = AtomTy::tuple(fields.collect());
        let ty = if params.is_empty() { body } else { AtomTy::sigma(params, ArrTy::scalar(body)) };
        let ordered: Vec<&NewHole> = sizes.into_iter().chain(rest).collect();
        let fillings =
            (0..codes.len()).map(|k| ordered.iter().map(|h| h.fillings[k].clone()).collect()).collect();
        let all = ordered.iter().map(|h| h.hole).collect();
        Ok(Some(Merged { code: Code { fun, holes: Some(Rc::new(Holes { all, ty })) }, fillings }))
    }

    /// What takes the place of the leaves that the codes have at one place; none if there is nothing.
    fn leaf_of(&mut self, m: &mut Making<'_, 'a>, column: &[Leaf]) -> R<Option<Leaf>> {
        let outside = |v: &Var| {
            m.first.is_none_or(|first| v.index() < first)
                && !m
                    .codes
                    .iter()
                    .any(|c| c.holes.as_ref().is_some_and(|h| h.all.iter().any(|h| h.var == *v)))
        };
        let kept = match &column[0] {
            Leaf::Atom(a) | Leaf::Size(a) => a.as_var().is_none_or(|v| outside(&v)),
            Leaf::Dim(d) => d.vars().filter_map(var_of).all(|v| outside(&v)),
        };
        if kept && column.iter().all(|l| same_leaf(l, &column[0])) {
            return Ok(Some(column[0].clone()));
        }
        let int = |l: &Leaf| match l {
            Leaf::Atom(_) => None,
            Leaf::Size(a) => Some(self.dim_of(*a)),
            Leaf::Dim(d) => Some(d.clone()),
        };
        if let Some(dims) = column.iter().map(int).collect::<Option<Vec<_>>>() {
            // What is a size in one function and another in the next may be a number of axes: two codes.
            if column.len() > 1 && dims.iter().any(|d| d.as_constant().is_some()) {
                return Ok(None);
            }
            let v = self.int_hole(m, dims, column);
            return Ok(Some(match column[0] {
                Leaf::Dim(_) => Leaf::Dim(Dim::rigid(ivar(v))),
                _ => Leaf::Size(v.into()),
            }));
        }
        let mut atoms = Vec::with_capacity(column.len());
        for l in column {
            let Leaf::Atom(a) = l else { return bug("leaves of different kinds") };
            atoms.push(*a);
        }
        let base = self.base_of(atoms[0]);
        let rank = self.dims_of_atom(atoms[0]).len();
        if base == BaseTy::I64 && rank == 0 {
            let dims = atoms.iter().map(|a| self.dim_of(*a)).collect();
            return Ok(Some(Leaf::Atom(self.int_hole(m, dims, column).into())));
        }
        let key = atoms.iter().map(|a| match a {
            Atom::Var(v) => (base, true, v.index() as i64),
            Atom::Const(c) => (base, false, c.to_bits64()),
        });
        let key = Key::Other(key.collect());
        if let Some(at) = m.known.get(&key) {
            return Ok(Some(Leaf::Atom(m.holes[*at].hole.var.into())));
        }
        // Its sizes may be holes too.
        let mut own = Vec::with_capacity(atoms.len());
        for (a, c) in atoms.iter().zip(m.codes) {
            let holes = c.holes.as_ref().and_then(|h| h.dims_of(a.as_var()?));
            own.push(match holes {
                Some(dims) => dims,
                None => self.dims_of_atom(*a).into_iter().map(|n| self.dim_of(n)).collect(),
            });
        }
        let mut dims = Vec::with_capacity(rank);
        for k in 0..rank {
            let column = own.iter().map(|dims| dims.get(k).cloned().map(Leaf::Dim));
            let Some(column) = column.collect::<Option<Vec<_>>>() else {
                return bug("what fills a hole has different numbers of axes");
            };
            match self.leaf_of(m, &column)? {
                Some(Leaf::Dim(d)) => dims.push(d),
                _ => return Ok(None),
            }
        }
        let ty = Ty { base, dims: self.dims_of_atom(atoms[0]) };
        let hole = Hole { var: self.fresh("hole", ty), natural: false, chosen: false };
        m.known.insert(key, m.holes.len());
        m.holes.push(NewHole { hole, base, dims, fillings: column.to_vec() });
        Ok(Some(Leaf::Atom(hole.var.into())))
    }

    fn int_hole(&mut self, m: &mut Making<'_, 'a>, dims: Vec<Dim>, column: &[Leaf]) -> Var {
        let own = |k: usize, v: &DimVar| {
            let v = var_of(v)?;
            m.codes[k].holes.as_ref()?.all.iter().find(|h| h.var == v).copied()
        };
        let natural = dims.iter().enumerate().all(|(k, d)| match d.as_var().and_then(|v| own(k, v)) {
            Some(hole) => hole.natural,
            None => self.never_negative(d),
        });
        let chosen = dims.iter().enumerate().any(|(k, d)| {
            d.vars().any(|v| {
                own(k, v).is_some_and(|h| h.chosen) || var_of(v).is_some_and(|v| self.chosen.contains(&v))
            })
        });
        let key = Key::Int(dims);
        if let Some(at) = m.known.get(&key) {
            return m.holes[*at].hole.var;
        }
        let hole = Hole { var: self.fresh("hole", Ty::int()), natural, chosen };
        m.known.insert(key, m.holes.len());
        m.holes.push(NewHole { hole, base: BaseTy::I64, dims: Vec::new(), fillings: column.to_vec() });
        hole.var
    }

    // ---- holes filled ---------------------------------------------------------------------------------

    /// What fills the holes of a code in one function, in their order.
    fn filled(&mut self, holes: &Holes, v: &Val<'a>) -> R<Vec<Atom>> {
        let mut out = Vec::with_capacity(holes.all.len());
        let contents = match v {
            Val::Box(b) => {
                for w in &b.witnesses {
                    let Index::Dim(d) = w else { return bug("a hole that is a shape") };
                    out.push(self.size(d)?);
                }
                &b.contents
            }
            other => other,
        };
        let Val::Tuple { fields, .. } = contents else { return bug("holes that are filled by no tuple") };
        for f in fields.iter() {
            let Val::Base(a) = f else { return bug("a hole that is filled by no array") };
            out.push(*a);
        }
        if out.len() != holes.all.len() { bug("as many fillings as there are holes") } else { Ok(out) }
    }

    /// What the variables of holes stand for in one function.
    fn filling(&mut self, holes: Option<&Holes>, v: Option<&Val<'a>>) -> R<FxHashMap<Var, (Atom, Dim)>> {
        let (Some(holes), Some(v)) = (holes, v) else { return Ok(FxHashMap::default()) };
        let atoms = self.filled(holes, v)?;
        for (h, a) in holes.all.iter().zip(&atoms) {
            if let Atom::Var(v) = a {
                h.natural.then(|| self.natural.insert(*v));
                h.chosen.then(|| self.chosen.insert(*v));
            }
        }
        Ok(holes.all.iter().zip(atoms).map(|(h, a)| (h.var, (a, self.dim_of(a)))).collect())
    }

    /// The function of a code, with its holes filled; `fields` are those of one function.
    pub fn instantiated(&mut self, table: &Table<'a>, code: usize, fields: &[Val<'a>]) -> R<Fun<'a>> {
        let c = &table.codes[code];
        let Some(field) = table.field_of(code) else { return Ok(c.fun.clone()) };
        let with = self.filling(c.holes.as_deref(), fields.get(field))?;
        let mut fill = |l: Leaf| filled_leaf(&with, l);
        Ok(Walk::new(&self.program, (&mut self.mentioned, &mut self.opaque), &mut fill).fun(&c.fun))
    }

    /// What fills the holes `into`, given as leaves of a function whose own holes are filled.
    fn packed(&mut self, into: &Holes, leaves: &[Leaf], with: &FxHashMap<Var, (Atom, Dim)>) -> R<Val<'a>> {
        let mut atoms = Vec::with_capacity(leaves.len());
        for l in leaves {
            atoms.push(match filled_leaf(with, l.clone()) {
                Leaf::Atom(a) | Leaf::Size(a) => a,
                Leaf::Dim(d) => self.size(&d)?,
            });
        }
        let rest = atoms.split_off(into.witnesses());
        let witnesses: Vec<Index> = atoms.into_iter().map(|a| Index::Dim(self.dim_of(a))).collect();
        let fields = Val::tuple(rest.into_iter().map(Val::Base).collect());
        Ok(match witnesses.is_empty() {
            true => fields,
            false => Val::boxed(into.ty.clone(), witnesses, fields),
        })
    }

    // ---- functions that leave a body ------------------------------------------------------------------

    /// A value that leaves a body: what its functions mention of it, variables with numbers from `first` on,
    /// is data from here on.
    pub fn leave(&mut self, v: Val<'a>, first: usize) -> R<Val<'a>> {
        Ok(match &v {
            Val::Base(_) => v,
            Val::Tuple { frame, fields } => {
                let fields = fields.iter().map(|f| self.leave(f.clone(), first)).collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: frame.clone(), fields: fields.into() }
            }
            Val::Box(b) => {
                let contents = self.leave(b.contents.clone(), first)?;
                Val::boxed(b.ty.clone(), b.witnesses.clone(), contents)
            }
            Val::Boxes { dims, ty, elems } => {
                let elems = elems.iter().map(|f| self.leave(f.clone(), first)).collect::<R<Vec<_>>>()?;
                Val::Boxes { dims: dims.clone(), ty: ty.clone(), elems: elems.into() }
            }
            Val::Ragged(r) => {
                let mut tables = Vec::new();
                r.tables(&mut |t| tables.push(t.clone()));
                let mut any = false;
                for t in tables {
                    any |= self.table_mentions(&t, first)?;
                }
                if !any {
                    return Ok(v);
                }
                let (frame, ty, r) = (r.frame.clone(), ArrTy::scalar(r.ty.clone()), r.clone());
                self.map("a", &frame, &ty, |b, at| {
                    let cell = b.ragged_cell(&r, at)?;
                    b.leave(cell, first)
                })?
            }
            Val::Fns { dims, table, fields } => {
                if !self.table_mentions(table, first)? {
                    return Ok(v);
                }
                let mut all = Vec::with_capacity(table.codes.len());
                for c in &table.codes {
                    let Some(m) = self.merged(&[c], Some(first))? else {
                        return bug("a function that is not like itself");
                    };
                    all.push(m);
                }
                let into = Table { codes: all.iter().map(|m| m.code.clone()).collect() };
                let ty = ArrTy::scalar(AtomTy::tuple(into.types().into_iter().map(|t| (None, t)).collect()));
                let old = Val::Tuple { frame: dims.clone(), fields: fields.clone() };
                let made = self.map("f", dims, &ty, |b, at| {
                    let Val::Tuple { fields, .. } = b.cell(&old, at)? else { return bug("no tuple") };
                    let mut out: Vec<Val> =
                        fields.iter().take(usize::from(table.tagged())).cloned().collect();
                    for (k, m) in all.iter().enumerate() {
                        let Some(holes) = &m.code.holes else { continue };
                        let field = table.field_of(k).and_then(|f| fields.get(f));
                        let with = b.filling(table.codes[k].holes.as_deref(), field)?;
                        out.push(b.packed(holes, &m.fillings[0], &with)?);
                    }
                    Ok(Val::tuple(out))
                })?;
                let Val::Tuple { fields, .. } = made else { return bug("functions without fields") };
                Val::Fns { dims: dims.clone(), table: Rc::new(into), fields }
            }
        })
    }

    fn table_mentions(&mut self, table: &Table<'a>, first: usize) -> R<bool> {
        for c in &table.codes {
            let own = |v: Var| c.holes.as_ref().is_some_and(|h| h.all.iter().any(|h| h.var == v));
            let new = |v: Var| v.index() >= first && !own(v);
            let inner = self.taken(&c.fun)?.leaves.iter().any(|l| match l {
                Leaf::Atom(a) | Leaf::Size(a) => a.as_var().is_some_and(new),
                Leaf::Dim(d) => d.vars().filter_map(var_of).any(new),
            });
            let Some(holes) = &c.holes else {
                if inner {
                    return Ok(true);
                }
                continue;
            };
            let mut sizes = false;
            let mut see = |l: Leaf| {
                if let Leaf::Dim(d) = &l {
                    sizes |= d.vars().filter_map(var_of).any(new);
                }
                l
            };
            Walk::new(&self.program, (&mut self.mentioned, &mut self.opaque), &mut see).ty(&holes.ty);
            if inner || sizes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs `f` at the end of a body that was closed.
    pub fn within<T>(&mut self, scope: &mut Scope<'a>, f: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        self.reopen(std::mem::take(scope));
        let result = f(self);
        *scope = self.close();
        result
    }
}

/// The holes that are being made for some codes.
struct Making<'m, 'a> {
    codes: &'m [&'m Code<'a>],
    first: Option<usize>,
    holes: Vec<NewHole>,
    known: FxHashMap<Key, usize>,
}

fn same_leaf(a: &Leaf, b: &Leaf) -> bool {
    match (a, b) {
        (Leaf::Dim(a), Leaf::Dim(b)) => a == b,
        (Leaf::Atom(a), Leaf::Atom(b)) | (Leaf::Size(a), Leaf::Size(b)) => match (a, b) {
            (Atom::Const(a), Atom::Const(b)) => a.ty() == b.ty() && a.to_bits64() == b.to_bits64(),
            _ => a == b,
        },
        _ => false,
    }
}

fn filled_leaf(with: &FxHashMap<Var, (Atom, Dim)>, l: Leaf) -> Leaf {
    let atom = |a: Atom| a.as_var().and_then(|v| with.get(&v)).map_or(a, |(a, _)| *a);
    match l {
        Leaf::Atom(a) => Leaf::Atom(atom(a)),
        Leaf::Size(a) => Leaf::Size(atom(a)),
        Leaf::Dim(d) => Leaf::Dim(d.substitute(&mut |v| with.get(&var_of(v)?).map(|(_, d)| d.clone()))),
    }
}

impl Holes {
    /// The type of the hole whose variable is `v`, if it is one of these: its sizes as the variables of holes
    /// and what is in scope where the function is.
    pub fn dims_of(&self, v: Var) -> Option<Vec<Dim>> {
        let at = self.all.iter().position(|h| h.var == v)?;
        let (params, body) = match &self.ty {
            AtomTy::Sigma(q) => (&q.params[..], &q.body.atom),
            other => (&[][..], other),
        };
        let (AtomTy::Tuple(q), Some(field)) = (body, at.checked_sub(params.len())) else {
            return Some(Vec::new());
        };
        let mut subst = Subst::new();
        params.iter().zip(self.all.iter()).for_each(|(p, h)| subst.bind_dim(p, Dim::rigid(ivar(h.var))));
        Some(q.fields.get(field).and_then(|(_, t)| subst.shape(&t.shape).dims()).unwrap_or_default())
    }
}

//! What a leaf has while it is lowered: operands, memory, and the kernel that it becomes part of.
//!
//! An array that a leaf makes needs memory: the destination of the leaf's result if that is what it becomes, a few
//! elements of stack if its size is a small constant, else a part of a scratch buffer that the plan allocates before the
//! launch, one part per worker. So nothing is ever allocated in a kernel. That is why sizes made inside must be sizes
//! that the plan can compute too ([`Leaf::plan_size`]).
//!
//! A cell of an array is a [`Place`], a buffer with some indices given: reading it copies nothing.

use super::build::{Blocks, Emit, KernelBuilder};
use super::group::Room;
use super::plan::Plan;
use super::select::Selected;
use super::{Bound, Env, L, Place, schedule, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::Prov;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

impl Plan {
    /// A kernel whose statements `body` emits; launched.
    pub fn kernel(&mut self, name: &str, body: impl FnOnce(&mut Leaf) -> L<()>) -> L<()> {
        let prov = self.prov;
        let of = (self.site.clone(), self.schedule);
        let mut k = KernelBuilder::new(&mut self.out, name, prov, of);
        let mut leaf = Leaf::new(self, &mut k, prov);
        body(&mut leaf)?;
        let body = leaf.blocks.close();
        let shared = leaf.kernel.shared.iter();
        let shared = shared.map(|buffer| Stmt { kind: StmtKind::Alloc { buffer: *buffer }, prov });
        let stmts = shared.chain(body).collect();
        let (kernel, args) = k.finish(&mut self.out, stmts);
        self.emit(StmtKind::Launch { kernel, args });
        Ok(())
    }
}

/// How the innermost loops of a leaf may run; see [`super::schedule`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Inner {
    Serial,
    /// Reductions, maps and copies whose bodies allow it run in lanes.
    Lanes,
    /// The threads of a group, of which this one has that number, share them out ([`super::group`]).
    Group(Atom),
}

/// The lanes of a strip under way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Strip {
    /// The number of this one.
    pub lane: Atom,
    /// How many there are, as the plan knows it.
    pub width: Atom,
}

/// A body under way, and what it owns ([`super::in_place`]).
#[derive(Default)]
pub(crate) struct Scope {
    pub owned: FxHashSet<mono::Var>,
    /// The statement that mentions a variable last; the body's results count as one more. Only of bodies in which an
    /// array can be taken.
    pub last: Option<FxHashMap<mono::Var, usize>>,
    pub now: usize,
}

/// A kernel under construction: the values and the memory of a point.
pub(crate) struct Leaf<'l> {
    pub plan: &'l mut Plan,
    pub kernel: &'l mut KernelBuilder,
    pub blocks: Blocks,
    pub env: Env,
    pub inner: Inner,
    /// Where points run side by side, which of them this is.
    pub strip: Option<Strip>,
    pub prov: Prov,
    /// Where the arrays that variables are bound to are to be made.
    pub dests: FxHashMap<Var, Place>,
    /// The bodies under way, the innermost last.
    pub scopes: Vec<Scope>,
    /// How sizes made here are made, for the plan to make them too.
    pub sizes: FxHashMap<Var, mono::Exp>,
    /// Upper bounds of numbers that only the leaf knows, none of them negative: of the items that a `filter` keeps, and
    /// of an iteration.
    pub bounds: FxHashMap<Var, mono::Atom>,
    /// Where a group has room for its arrays.
    pub rooms: Vec<Room>,
    /// Where groups have the points of a space: the number of this one, and how many there are, as the plan knows it.
    pub points: Option<(Atom, Atom)>,
    /// Orders of which only some places are read.
    pub selected: FxHashMap<mono::Var, Selected>,
}

impl Emit for Leaf<'_> {
    fn program(&mut self) -> &mut Program {
        &mut self.plan.out
    }
    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
    fn prov(&self) -> Prov {
        self.prov
    }
    fn number(&self, field: Field) -> i64 {
        self.plan.number(field)
    }
    fn grain(&self) -> i64 {
        self.plan.grain()
    }
}

impl<'l> Leaf<'l> {
    pub fn new(plan: &'l mut Plan, kernel: &'l mut KernelBuilder, prov: Prov) -> Leaf<'l> {
        let mut blocks = Blocks::default();
        blocks.open();
        Leaf {
            plan,
            kernel,
            blocks,
            env: Env::default(),
            inner: Inner::Serial,
            strip: None,
            prov,
            dests: FxHashMap::default(),
            scopes: Vec::new(),
            sizes: FxHashMap::default(),
            bounds: FxHashMap::default(),
            rooms: Vec::new(),
            points: None,
            selected: FxHashMap::default(),
        }
    }

    // ---- operands ----

    pub fn bound(&mut self, v: mono::Var) -> L<Bound> {
        if let Some(b) = self.env.get(&v) {
            return Ok(b.clone());
        }
        let outer = self.plan.bound(v)?;
        Ok(match outer {
            Bound::Scalar(a) => Bound::Scalar(self.kernel.import_atom(&mut self.plan.out, a)),
            Bound::Array(p) => Bound::Array(self.kernel.import_place(&mut self.plan.out, &p)),
        })
    }

    pub fn atom(&mut self, a: mono::Atom) -> L<Atom> {
        match a {
            mono::Atom::Const(_) => Ok(a),
            mono::Atom::Var(v) => match self.bound(v)? {
                Bound::Scalar(a) => Ok(a),
                Bound::Array(_) => wrong("an array where a scalar is wanted"),
            },
        }
    }

    pub fn atoms(&mut self, atoms: &[mono::Atom]) -> L<Vec<Atom>> {
        atoms.iter().map(|a| self.atom(*a)).collect()
    }

    pub fn place(&mut self, v: mono::Var) -> L<Place> {
        match self.bound(v)? {
            Bound::Array(p) => Ok(p),
            Bound::Scalar(_) => wrong("a scalar where an array is wanted"),
        }
    }

    pub fn value(&mut self, a: mono::Atom) -> L<Bound> {
        match a {
            mono::Atom::Const(_) => Ok(Bound::Scalar(a)),
            mono::Atom::Var(v) => self.bound(v),
        }
    }

    pub fn dims(&mut self, v: mono::Var) -> L<Vec<Atom>> {
        let dims = self.plan.flat.vars[v].ty.dims.clone();
        self.atoms(&dims)
    }

    pub fn set(&mut self, v: mono::Var, a: Atom) {
        self.env.insert(v, Bound::Scalar(a));
    }

    // ---- memory ----

    /// A size, or an upper bound of it, as an atom of the plan.
    pub fn plan_size(&mut self, a: mono::Atom) -> L<Atom> {
        let mono::Atom::Var(v) = a else { return Ok(a) };
        if let Ok(Bound::Scalar(outer)) = self.plan.bound(v) {
            return Ok(outer);
        }
        if let Some(bound) = self.bounds.get(&v).copied() {
            return self.plan_size(bound);
        }
        match self.sizes.get(&v).cloned() {
            Some(mono::Exp::Atom(a)) => self.plan_size(a),
            // What is taken off is no negative number, but need not be that many.
            Some(mono::Exp::Op(ScalarOp::Sub, args)) if self.is_bounded_count(args[1]) => {
                self.plan_size(args[0])
            }
            // The lesser of two is bounded by the one that is known.
            Some(mono::Exp::Op(ScalarOp::Min2, args)) if !args.iter().all(|a| self.is_plan_size(*a)) => {
                let known = args.iter().find(|a| self.is_plan_size(**a));
                known.map_or_else(
                    || wrong("the lesser of two sizes of which none is known"),
                    |a| self.plan_size(*a),
                )
            }
            Some(mono::Exp::Op(op, args)) => {
                let args = args.iter().map(|a| self.plan_size(*a)).collect::<L<Vec<_>>>()?;
                self.plan.op(op, &args)
            }
            _ => wrong(format!("the size {} is not known before the launch", self.plan.flat.vars[v].name)),
        }
    }

    /// Whether [`Leaf::plan_size`] knows a size, or a bound of it.
    fn is_plan_size(&self, a: mono::Atom) -> bool {
        let mono::Atom::Var(v) = a else { return true };
        if matches!(self.plan.bound(v), Ok(Bound::Scalar(_))) || self.bounds.contains_key(&v) {
            return true;
        }
        match self.sizes.get(&v) {
            Some(mono::Exp::Atom(a)) => self.is_plan_size(*a),
            Some(mono::Exp::Op(ScalarOp::Min2, args)) => args.iter().any(|a| self.is_plan_size(*a)),
            Some(mono::Exp::Op(_, args)) => args.iter().all(|a| self.is_plan_size(*a)),
            _ => false,
        }
    }

    /// Whether this is the number of an iteration or of some items, of which an upper bound is known.
    fn is_bounded_count(&self, a: mono::Atom) -> bool {
        let Some(v) = a.as_var() else { return false };
        match self.sizes.get(&v) {
            Some(mono::Exp::Atom(a)) => self.is_bounded_count(*a),
            _ => self.bounds.contains_key(&v),
        }
    }

    /// Memory for an array that `v` is bound to.
    pub fn memory(&mut self, v: mono::Var) -> L<Place> {
        if let Some(p) = self.dests.remove(&v) {
            return Ok(p);
        }
        self.scratch(v)
    }

    /// The dims of an array, as atoms of the plan.
    pub fn plan_dims(&mut self, v: mono::Var) -> L<Vec<Atom>> {
        let dims = self.plan.flat.vars[v].ty.dims.clone();
        let dim = |d: &mono::Atom| {
            // The check that it is no negative number may stand in the leaf itself.
            let n = self.plan_size(*d)?;
            self.plan.op(ScalarOp::Max2, &[n, Atom::int(0)])
        };
        dims.iter().map(dim).collect()
    }

    /// Memory for an array of the type of `v`, whatever its destination.
    pub fn scratch(&mut self, v: mono::Var) -> L<Place> {
        if self.of_group().is_some() {
            return self.room(v);
        }
        let info = self.plan.flat.vars[v].clone();
        let dims = self.plan_dims(v)?;
        if schedule::few_elements(&dims, self.number(Field::Private)).is_some() {
            let ty = BufferTy { base: info.ty.base, dims, space: Space::Private };
            let buffer = self.plan.out.buffer(info.name.as_str(), ty);
            self.emit(StmtKind::Alloc { buffer });
            return Ok(Place::whole(buffer));
        }
        self.part(info.name.as_str(), info.ty.base, &dims)
    }

    /// Copies an array of these dims.
    pub fn copy(&mut self, dims: &[Atom], from: &Place, to: &Place) -> L<()> {
        if from == to {
            return Ok(());
        }
        let (from, to) = (from.clone(), to.clone());
        if let (Some(thread), Some((n, rest))) = (self.of_group(), dims.split_first()) {
            return self.shared_out("i", *n, thread, |l, i| {
                let (from, to) = (from.cell(&[i]), to.cell(&[i]));
                l.copy(rest, &from, &to)
            });
        }
        let bytes = self.plan.out.buffer_ty(to.buffer).map_or(1, |b| b.base.bits() / 8);
        let how = match (self.inner, dims.last()) {
            (Inner::Lanes, Some(n)) if schedule::fills_lanes(*n, self.number(Field::Private)) => {
                How::Lanes(schedule::lanes(bytes, 1))
            }
            _ => How::Seq,
        };
        self.each_of_last(dims, how, &mut |l, at| {
            let x = l.load(&from, at)?;
            l.store(&to, at, x);
            Ok(())
        })
    }

    pub fn copy_value(&mut self, ty_of: mono::Var, from: &Bound, to: &Place) -> L<()> {
        match from {
            Bound::Scalar(a) => self.put(to, &[], *a),
            // It is there already.
            Bound::Array(p) if p == to => Ok(()),
            Bound::Array(p) => {
                let dims = self.dims(ty_of)?;
                self.copy(&dims, p, to)
            }
        }
    }

    // ---- lanes ----

    /// In how many lanes straight-line code may run along its own variable, if at all; see [`schedule::Shape::in_lanes`].
    pub fn lanes_of_body(&self, body: &mono::Body, var: mono::Var) -> Option<u32> {
        self.plan.shape(body, var).in_lanes(|f| self.number(f))
    }

    /// The same of a reduction; see [`schedule::Shape::reduced_in_lanes`].
    pub fn lanes_of_reduction(&self, body: &mono::Body, var: mono::Var) -> Option<u32> {
        self.plan.shape(body, var).reduced_in_lanes(|f| self.number(f))
    }

    /// In how many lanes the points of a map inside a leaf may run along its last axis, if at all. What a leaf makes is one
    /// after the other in memory, as the results of a kernel are.
    pub fn lanes_of_map(&self, body: &mono::Body, var: mono::Var) -> Option<u32> {
        let s = self.plan.shape(body, var);
        s.pays().then(|| s.lanes_of_points(|f| self.number(f)))
    }
}

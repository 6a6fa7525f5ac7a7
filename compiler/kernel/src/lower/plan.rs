//! The host body of Flat becomes the plan.
//!
//! **Ownership.** A buffer belongs to the block of the plan that allocated or received it. What a block
//! hands on (the next state of a loop, the value of a branch, a result of the program) has to be its own:
//! an array that is, and that nothing mentions any more, is moved; any other (a parameter, a cell, what
//! is used again) is copied first. [`crate::memory`] then frees what was not handed on, after its last
//! use.

use super::build::{Blocks, Emit};
use super::scatter::Scatter;
use super::{Bound, Env, L, Place, wrong};
use crate::ir::*;
use crate::schedule::{Field, Fields, Schedule, Schedules};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, IdVec, Name, Prov};
use remc_flat::appends::Homes;
use remc_flat::ir as flat;
use remc_flat::sites::sites;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The variables of Flat, and those made while lowering.
pub(crate) struct Source {
    pub vars: IdVec<mono::Var, mono::VarInfo>,
}

pub(crate) struct Plan {
    pub flat: Source,
    pub out: Program,
    pub blocks: Blocks,
    pub prov: Prov,
    /// Whether a block has threads, as on a GPU.
    pub threads: bool,
    schedules: Schedules,
    /// The name of the operator that is lowered, and its schedule.
    pub site: Name,
    pub schedule: Schedule,
    sites: FxHashMap<mono::Var, Name>,
    /// The fields that were read, by operator.
    used: RefCell<BTreeMap<Name, Fields>>,
    /// How many workers there are, where something depends on it.
    workers: Option<Var>,
    env: Env,
    /// The names of each buffer in Flat, by which its last use is found.
    names: FxHashMap<Var, Vec<mono::Var>>,
    /// The buffer that an alias is another name of.
    roots: FxHashMap<Var, Var>,
    /// The buffers that are rows of another one, and so begin anywhere.
    pub slices: FxHashSet<Var>,
    pub(super) scopes: Vec<Scope>,
    params: Vec<mono::Var>,
    /// The parameters that are lengths of axes of others.
    sizes: FxHashSet<mono::Var>,
    /// The numbers of the host that are others with a constant added.
    sums: FxHashMap<mono::Var, (mono::Atom, i64)>,
}

/// The number, and the constant that is added to it, that an operator gives, if it is that.
pub(crate) fn sum_of(op: ScalarOp, args: &[mono::Atom]) -> Option<(mono::Atom, i64)> {
    let (a, k) = match (op, args) {
        (ScalarOp::Add, [a, k]) if k.as_int().is_some() => (*a, k.as_int()?),
        (ScalarOp::Add, [k, a]) => (*a, k.as_int()?),
        (ScalarOp::Sub, [a, k]) => (*a, k.as_int()?.checked_neg()?),
        _ => return None,
    };
    Some((a, k))
}

/// The appends of a body.
#[derive(Default)]
pub(super) struct Appends {
    /// What has no memory yet.
    pub homes: Homes,
    /// The memory of results, from their first part until their append.
    pub wholes: FxHashMap<mono::Var, Place>,
    /// Sizes that have been computed before their turn.
    pub sizes: FxHashSet<mono::Var>,
}

/// A block of the plan: what it owns, and where its body stands.
#[derive(Default)]
pub(super) struct Scope {
    owned: FxHashSet<Var>,
    last_use: FxHashMap<mono::Var, usize>,
    now: usize,
    pub appends: Appends,
}

impl Emit for Plan {
    fn program(&mut self) -> &mut Program {
        &mut self.out
    }
    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
    fn prov(&self) -> Prov {
        self.prov
    }
    fn number(&self, field: Field) -> i64 {
        self.used.borrow_mut().entry(self.site.clone()).or_default().insert(field);
        self.schedule[field]
    }
    fn grain(&self) -> i64 {
        self.number(if self.threads { Field::ThreadGrain } else { Field::Grain })
    }
}

impl Plan {
    pub fn new(p: &flat::Program, threads: bool, schedules: Schedules) -> Plan {
        let mut blocks = Blocks::default();
        blocks.open();
        let out = Program {
            name: p.name.clone(),
            provs: p.provs.clone(),
            vars: IdVec::new(),
            params: Vec::new(),
            inputs: p.inputs.clone(),
            channels: p.channels.clone(),
            output: p.output.clone(),
            kernels: IdVec::new(),
            plan: Vec::new(),
            results: Vec::new(),
        };
        Plan {
            flat: Source { vars: p.vars.clone() },
            out,
            blocks,
            prov: Prov(0),
            threads,
            site: Name::new(""),
            schedule: schedules.all,
            schedules,
            sites: sites(p),
            used: RefCell::default(),
            workers: None,
            env: Env::default(),
            names: FxHashMap::default(),
            roots: FxHashMap::default(),
            slices: FxHashSet::default(),
            scopes: Vec::new(),
            sums: FxHashMap::default(),
            params: p.params.clone(),
            sizes: p.input_sizes(),
        }
    }

    pub fn params(&mut self) -> L<()> {
        for v in self.params.clone() {
            let info = self.flat.vars[v].clone();
            let var = if info.ty.is_scalar() {
                let var = self.out.scalar(info.name.as_str(), info.ty.base);
                self.env.insert(v, Bound::Scalar(Atom::Var(var)));
                var
            } else {
                let ty = self.buffer_ty(v, Space::Global)?;
                let var = self.out.buffer(info.name.as_str(), ty);
                self.env.insert(v, Bound::Array(Place::whole(var)));
                var
            };
            self.out.params.push(var);
        }
        self.inputs()
    }

    pub fn finish(mut self, results: Vec<Atom>) -> (Program, BTreeMap<Name, Fields>) {
        self.out.plan = self.blocks.close();
        if let (Some(var), Some(first)) = (self.workers, self.out.plan.first()) {
            let kind = StmtKind::Let { var, exp: Exp::Workers };
            self.out.plan.insert(0, Stmt { kind, prov: first.prov });
        }
        self.out.results = results;
        let mut used = self.used.into_inner();
        // What is about no operator alone has no name to be set by.
        used.remove(&Name::new(""));
        (self.out, used)
    }

    // ---- operands ----

    pub fn bound(&self, v: mono::Var) -> L<Bound> {
        match self.env.get(&v) {
            Some(b) => Ok(b.clone()),
            None => wrong(format!("{} is not in scope", self.flat.vars[v].name)),
        }
    }

    pub fn set(&mut self, v: mono::Var, b: Bound) {
        if let Bound::Array(p) = &b {
            let root = self.root(p.buffer);
            self.names.entry(root).or_default().push(v);
        }
        self.env.insert(v, b);
    }

    pub fn root(&self, buffer: Var) -> Var {
        self.roots.get(&buffer).copied().unwrap_or(buffer)
    }

    pub fn atom(&self, a: mono::Atom) -> L<Atom> {
        match a {
            mono::Atom::Const(_) => Ok(a),
            mono::Atom::Var(v) => match self.bound(v)? {
                Bound::Scalar(a) => Ok(a),
                Bound::Array(_) => wrong("an array where a scalar is wanted"),
            },
        }
    }

    pub fn atoms(&self, atoms: &[mono::Atom]) -> L<Vec<Atom>> {
        atoms.iter().map(|a| self.atom(*a)).collect()
    }

    pub fn place(&self, v: mono::Var) -> L<Place> {
        match self.bound(v)? {
            Bound::Array(p) => Ok(p),
            Bound::Scalar(_) => wrong("a scalar where an array is wanted"),
        }
    }

    pub fn dims(&self, v: mono::Var) -> L<Vec<Atom>> {
        self.atoms(&self.flat.vars[v].ty.dims)
    }

    pub fn buffer_ty(&self, v: mono::Var, space: Space) -> L<BufferTy> {
        Ok(BufferTy { base: self.flat.vars[v].ty.base, dims: self.dims(v)?, space })
    }

    // ---- memory ----

    /// A buffer of the type of `v` to write it to: rows of another one where `v` has a home there, else new and
    /// owned by the innermost block.
    pub fn alloc_for(&mut self, v: mono::Var) -> L<Place> {
        if let Some(place) = self.at_home(v)? {
            return Ok(place);
        }
        let ty = self.buffer_ty(v, Space::Global)?;
        let name = self.flat.vars[v].name.clone();
        Ok(Place::whole(self.alloc(name.as_str(), ty)))
    }

    pub fn alloc(&mut self, name: &str, ty: BufferTy) -> Var {
        let buffer = self.out.buffer(name, ty);
        self.emit(StmtKind::Alloc { buffer });
        self.own_new(buffer);
        buffer
    }

    /// The same memory with the type of `v`.
    pub fn alias(&mut self, v: mono::Var, of: Var) -> L<Place> {
        let ty = self.buffer_ty(v, Space::Global)?;
        let buffer = self.out.buffer(self.flat.vars[v].name.clone().as_str(), ty);
        self.emit(StmtKind::Alias { buffer, of });
        self.is_of(buffer, of);
        Ok(Place::whole(buffer))
    }

    /// `buffer` is another name for memory of `of`.
    pub fn is_of(&mut self, buffer: Var, of: Var) {
        let root = self.root(of);
        self.roots.insert(buffer, root);
    }

    /// Whether a variable is a size of the program's inputs, and so never negative.
    pub fn is_size(&self, v: mono::Var) -> bool {
        self.sizes.contains(&v)
    }

    fn own_new(&mut self, buffer: Var) {
        if let Some(s) = self.scopes.last_mut() {
            s.owned.insert(buffer);
        }
    }

    /// A part of memory for each worker.
    pub fn scratch(&mut self, name: &str, base: BaseTy, dims: &[Atom]) -> L<Var> {
        let workers = match self.workers {
            Some(v) => v,
            None => self.out.scalar("workers", BaseTy::I64),
        };
        self.workers = Some(workers);
        let dims = std::iter::once(Atom::Var(workers)).chain(dims.iter().copied()).collect();
        Ok(self.alloc(name, BufferTy { base, dims, space: Space::Scratch }))
    }

    /// The memory that a leaf's arrays from outside are in.
    pub fn roots_of(&self, b: &mono::Body) -> FxHashSet<Var> {
        let mut roots = FxHashSet::default();
        b.for_each_use(&mut |a| {
            if let mono::Atom::Var(v) = a
                && let Some(Bound::Array(p)) = self.env.get(&v)
            {
                roots.insert(self.root(p.buffer));
            }
        });
        roots
    }

    /// A buffer for an array that is the innermost block's to hand on or write to: its own if nothing uses
    /// that later and it is not in `moved`, else a copy.
    pub fn owned(&mut self, a: mono::Atom, moved: &mut FxHashSet<Var>) -> L<Atom> {
        let mono::Atom::Var(v) = a else { return Ok(a) };
        let place = match self.bound(v)? {
            Bound::Scalar(a) => return Ok(a),
            Bound::Array(p) => p,
        };
        let Some(scope) = self.scopes.last() else { return wrong("no block") };
        let root = self.root(place.buffer);
        let whole = place.prefix.is_empty()
            && !self.slices.contains(&place.buffer)
            && self.out.buffer_ty(place.buffer).is_some_and(|t| t.space == Space::Global);
        if whole && scope.owned.contains(&root) && !moved.contains(&root) && !self.is_used_later(scope, root)
        {
            moved.insert(root);
            return Ok(Atom::Var(place.buffer));
        }
        let copy = self.alloc_for(v)?;
        self.copy(v, &copy)?;
        moved.insert(copy.buffer);
        Ok(Atom::Var(copy.buffer))
    }

    /// The buffers of the innermost block that nothing uses after the statement that stands there now.
    fn dying(&self) -> Vec<Var> {
        let Some(scope) = self.scopes.last() else { return Vec::new() };
        let mut dying: Vec<Var> =
            scope.owned.iter().copied().filter(|b| !self.is_used_later(scope, *b)).collect();
        dying.sort_unstable();
        dying
    }

    fn is_used_later(&self, scope: &Scope, buffer: Var) -> bool {
        let names = self.names.get(&buffer).map(Vec::as_slice).unwrap_or_default();
        names.iter().any(|n| scope.last_use.get(n).is_some_and(|at| *at > scope.now))
    }

    /// Copies the array `v` to a place, by a kernel.
    pub fn copy(&mut self, v: mono::Var, to: &Place) -> L<()> {
        let dims = self.flat.vars[v].ty.dims.clone();
        let axes: Vec<mono::Axis> = dims
            .iter()
            .map(|size| mono::Axis { var: self.fresh("i", mono::Ty::int()), size: *size })
            .collect();
        let base = self.flat.vars[v].ty.base;
        let x = self.fresh("x", mono::Ty::scalar(base));
        let at = axes.iter().map(|a| mono::Atom::Var(a.var)).collect();
        let read = mono::Stmt { pat: vec![x], exp: mono::Exp::Index { array: v, at }, prov: self.prov };
        let leaf = mono::Body { stmts: vec![read], results: vec![mono::Atom::Var(x)] };
        self.fill("copy", std::slice::from_ref(to), &axes, &leaf)
    }

    /// A variable of Flat that the program itself does not have.
    pub fn fresh(&mut self, name: &str, ty: mono::Ty) -> mono::Var {
        self.flat.vars.push(mono::VarInfo { name: remc_base::Name::new(name), ty })
    }

    /// A number as another one, of which nothing is known here, and a constant; a constant alone has no other.
    pub fn as_sum(&self, mut a: mono::Atom) -> (Option<mono::Var>, i64) {
        let mut constant = 0i64;
        while let Some(v) = a.as_var() {
            let Some((b, k)) = self.sums.get(&v) else { return (Some(v), constant) };
            constant = constant.wrapping_add(*k);
            a = *b;
        }
        (None, constant.wrapping_add(a.as_int().unwrap_or_default()))
    }

    // ---- bodies ----

    pub fn program_body(&mut self, b: &flat::Body) -> L<Vec<Atom>> {
        self.enter(b, []);
        let results = self.handed_on(b)?;
        self.scopes.pop();
        Ok(results)
    }

    /// Begins a body, whose block owns these buffers.
    fn enter(&mut self, b: &flat::Body, owned: impl IntoIterator<Item = Var>) {
        let appends = self.appends(b);
        let owned = owned.into_iter().collect();
        self.scopes.push(Scope { owned, last_use: last_uses(b), now: 0, appends });
    }

    fn stmts(&mut self, b: &flat::Body) -> L<()> {
        let mut done = FxHashSet::default();
        for (k, s) in b.stmts.iter().enumerate() {
            self.now(k);
            if done.contains(&k) || self.is_done(s) {
                continue;
            }
            if let flat::Exp::Grade { axis, body, gives } = &s.exp
                && let Some(at) = self.few_places(b, k)
            {
                self.prov = s.prov;
                self.at_site(s.pat.first(), |p| p.grade_at(&s.pat, *axis, body, *gives, &at))?;
                continue;
            }
            match self.one_pass(b, k) {
                Some(rows) => done.extend(self.one_pass_kernel(&rows)?),
                None => self.stmt(s)?,
            }
        }
        Ok(())
    }

    /// The statements of a body, and its results as things that its block owns.
    fn handed_on(&mut self, b: &flat::Body) -> L<Vec<Atom>> {
        self.stmts(b)?;
        self.now(b.stmts.len());
        let mut moved = FxHashSet::default();
        b.results.iter().map(|a| self.owned(*a, &mut moved)).collect()
    }

    fn now(&mut self, k: usize) {
        if let Some(s) = self.scopes.last_mut() {
            s.now = k;
        }
    }

    /// A block of the plan of its own for a body.
    fn block(&mut self, b: &flat::Body, owned: impl IntoIterator<Item = Var>) -> L<(Vec<Stmt>, Vec<Atom>)> {
        self.blocks.open();
        self.enter(b, owned);
        let results = self.handed_on(b)?;
        self.scopes.pop();
        Ok((self.blocks.close(), results))
    }

    /// Runs `lower` for the operator that binds `v` first, if it is one, else for none: the numbers are its own meanwhile.
    pub fn at_site<T>(&mut self, v: Option<&mono::Var>, lower: impl FnOnce(&mut Self) -> L<T>) -> L<T> {
        let site = v.and_then(|v| self.sites.get(v)).cloned().unwrap_or_else(|| Name::new(""));
        let around = (std::mem::replace(&mut self.site, site), self.schedule);
        self.schedule = self.schedules.of(&self.site);
        let done = lower(self);
        (self.site, self.schedule) = around;
        done
    }

    pub fn stmt(&mut self, s: &flat::Stmt) -> L<()> {
        self.prov = s.prov;
        self.at_site(s.pat.first(), |p| p.stmt_of(s))
    }

    fn stmt_of(&mut self, s: &flat::Stmt) -> L<()> {
        match &s.exp {
            flat::Exp::Host(e) => self.host(&s.pat, e),
            flat::Exp::If { cond, then, otherwise } => {
                let cond = self.atom(*cond)?;
                self.branches(&s.pat, cond, then, otherwise)
            }
            flat::Exp::Branch { guard, then, otherwise } => {
                let cond = self.holds(guard)?;
                self.branches(&s.pat, cond, then, otherwise)
            }
            flat::Exp::For { axis, state, body } => {
                let to = self.atom(axis.size)?;
                let var = self.out.scalar(self.flat.vars[axis.var].name.clone().as_str(), BaseTy::I64);
                self.set(axis.var, Bound::Scalar(Atom::Var(var)));
                let carried = self.states(&s.pat, state, &[body])?;
                let owned: Vec<Var> = carried.iter().map(|c| c.param).collect();
                let (body, next) = self.block(body, owned)?;
                let range = super::build::upto(to);
                let loop_ = StmtKind::For { how: How::Seq, var, range, carried: carried.clone(), body, next };
                self.emit(loop_);
                self.bind_results(&s.pat, carried.iter().map(|c| c.result))
            }
            flat::Exp::While { state, cond, body } => {
                let carried = self.states(&s.pat, state, &[cond, body])?;
                self.blocks.open();
                self.enter(cond, []);
                self.stmts(cond)?;
                let test = match cond.results.as_slice() {
                    [a] => self.atom(*a)?,
                    _ => return wrong("a loop without a condition"),
                };
                self.scopes.pop();
                let cond = self.blocks.close();
                let owned: Vec<Var> = carried.iter().map(|c| c.param).collect();
                let (body, next) = self.block(body, owned)?;
                self.emit(StmtKind::While { carried: carried.clone(), cond, test, body, next });
                self.bind_results(&s.pat, carried.iter().map(|c| c.result))
            }
            flat::Exp::SerialMap { axes, body } => self.serial_map(&s.pat, axes, body),
            flat::Exp::Seg(seg) => self.seg(&s.pat, seg),
            flat::Exp::Scatter { dests, axis, body, combine } => {
                let scatter = Scatter { dests, axis: *axis, body, combine: combine.as_ref() };
                self.scatter(&s.pat, scatter)
            }
            flat::Exp::Filters(parts) => self.filters(&s.pat, parts),
            flat::Exp::Grade { axis, body, gives } => self.grade(&s.pat, *axis, body, *gives),
            flat::Exp::Rows(rows) => match &rows.of {
                None => self.ragged_rows(&s.pat, rows.axis, rows.regular, &rows.starts, &rows.body),
                Some(points) => self.rows_of_groups(&s.pat, rows, points),
            },
        }
    }

    /// Whether one of the guard's tests holds.
    fn holds(&mut self, guard: &flat::Guard) -> L<Atom> {
        let mut any = None;
        for t in &guard.tests {
            let size = self.atom(t.size)?;
            let one = self.bind("wide", BaseTy::Bool, Exp::Test(Test { size, ..t.clone() }));
            any = Some(match any {
                None => one,
                Some(before) => self.int(ScalarOp::Or, before, one)?,
            });
        }
        any.map_or_else(|| wrong("a guard without tests"), Ok)
    }

    fn branches(
        &mut self,
        pat: &[mono::Var],
        cond: Atom,
        then: &flat::Body,
        otherwise: &flat::Body,
    ) -> L<()> {
        // What nothing uses after the branches is theirs: they may write to it, and hand it on.
        let dying = self.dying();
        let (then, yes) = self.block(then, dying.iter().copied())?;
        let (otherwise, no) = self.block(otherwise, dying.iter().copied())?;
        let mut results = Vec::new();
        for ((v, a), b) in pat.iter().zip(yes).zip(no) {
            let var = self.like(*v)?;
            results.push(Choice { var, then: a, otherwise: b });
        }
        let vars: Vec<Var> = results.iter().map(|c| c.var).collect();
        self.emit(StmtKind::If { cond, then, otherwise, results });
        self.bind_results(pat, vars)
    }

    /// A variable of the type that `v` has, whose dims may be results bound at the same time.
    pub(super) fn like(&mut self, v: mono::Var) -> L<Var> {
        let info = self.flat.vars[v].clone();
        if info.ty.is_scalar() {
            let var = self.out.scalar(info.name.as_str(), info.ty.base);
            self.env.insert(v, Bound::Scalar(Atom::Var(var)));
            return Ok(var);
        }
        let ty = self.buffer_ty(v, Space::Global)?;
        let var = self.out.buffer(info.name.as_str(), ty);
        Ok(var)
    }

    pub(super) fn bind_results(&mut self, pat: &[mono::Var], vars: impl IntoIterator<Item = Var>) -> L<()> {
        for (v, var) in pat.iter().zip(vars) {
            if self.flat.vars[*v].ty.is_scalar() {
                self.set(*v, Bound::Scalar(Atom::Var(var)));
            } else {
                self.own_new(var);
                self.set(*v, Bound::Array(Place::whole(var)));
            }
        }
        Ok(())
    }

    /// The states of a loop: what it carries, buffers among them, scalars first bound.
    fn states(
        &mut self,
        pat: &[mono::Var],
        state: &[(mono::Var, mono::Atom)],
        bodies: &[&flat::Body],
    ) -> L<Vec<Carried>> {
        // What the loop itself reads again is not its state's to overwrite.
        let mut moved = FxHashSet::default();
        for b in bodies {
            b.for_each_use(&mut |a| {
                if let mono::Atom::Var(v) = a
                    && let Some(Bound::Array(p)) = self.env.get(&v)
                {
                    moved.insert(self.root(p.buffer));
                }
            });
        }
        let mut carried = Vec::new();
        // Dims of array states may be scalar states.
        let mut scalars = FxHashMap::default();
        for (v, (param, _)) in pat.iter().zip(state) {
            if self.flat.vars[*v].ty.is_scalar() {
                scalars.insert(*param, (self.like(*param)?, self.like(*v)?));
            }
        }
        for (v, (param, init)) in pat.iter().zip(state) {
            let init = self.owned(*init, &mut moved)?;
            let (p, result) = match scalars.get(param) {
                Some(both) => *both,
                None => (self.like(*param)?, self.like(*v)?),
            };
            if let Atom::Var(b) = init
                && self.out.buffer_ty(b).is_some()
                && let Some(s) = self.scopes.last_mut()
            {
                s.owned.remove(&b);
            }
            carried.push(Carried { param: p, result, init, combine: None });
        }
        for (c, (param, _)) in carried.iter().zip(state) {
            if !self.flat.vars[*param].ty.is_scalar() {
                self.set(*param, Bound::Array(Place::whole(c.param)));
            }
        }
        Ok(carried)
    }

    /// Statements that compute or arrange without a loop of their own.
    fn host(&mut self, pat: &[mono::Var], e: &mono::Exp) -> L<()> {
        use mono::Exp as E;
        let one = || match pat {
            [v] => Ok(*v),
            _ => wrong("a pattern of another length"),
        };
        match e {
            E::Atom(a) => {
                let value = match a {
                    mono::Atom::Var(v) => self.bound(*v)?,
                    mono::Atom::Const(_) => Bound::Scalar(*a),
                };
                self.set(one()?, value);
            }
            E::Op(op, args) => {
                self.sums.extend(sum_of(*op, args).map(|sum| (pat[0], sum)));
                let args = self.atoms(args)?;
                let a = self.op(*op, &args)?;
                self.set(one()?, Bound::Scalar(a));
            }
            E::Cast(ty, a) => {
                let a = self.atom(*a)?;
                let x = self.bind("x", *ty, Exp::Cast(*ty, a));
                self.set(one()?, Bound::Scalar(x));
            }
            E::Index { array, at } => {
                let v = one()?;
                let (p, at) = (self.place(*array)?, self.atoms(at)?);
                let value = if self.flat.vars[v].ty.is_scalar() {
                    Bound::Scalar(self.load(&p, &at)?)
                } else {
                    Bound::Array(p.cell(&at))
                };
                self.set(v, value);
            }
            E::Check { trap, cond, values } => {
                let (cond, values) = (self.atom(*cond)?, self.atoms(values)?);
                self.check(trap, cond, &values);
            }
            E::View { view: mono::View::Reshape { .. }, array } => {
                let v = one()?;
                let place = match self.bound(*array)? {
                    Bound::Array(place) => place,
                    Bound::Scalar(_) => return self.view_kernel(v, e),
                };
                if place.prefix.is_empty() {
                    let alias = self.alias(v, place.buffer)?;
                    self.set(v, Bound::Array(alias));
                } else {
                    self.view_kernel(v, e)?;
                }
            }
            E::View { view: mono::View::Append { with }, array } => self.append(one()?, *array, *with)?,
            E::Pull { channel, at, take, .. } => self.pull(pat, *channel, *at, *take)?,
            E::Push { channel, arrays } => self.push(*channel, arrays)?,
            E::View { .. } | E::Literal { .. } => self.view_kernel(one()?, e)?,
            _ => return wrong("a statement with a body on the host"),
        }
        Ok(())
    }

    /// An array that one statement makes, by a kernel of one block.
    fn view_kernel(&mut self, v: mono::Var, e: &mono::Exp) -> L<()> {
        if let mono::Exp::View { view, array } = e
            && !self.flat.vars[*array].ty.is_scalar()
        {
            return self.view_copy(v, view, *array);
        }
        let out = self.alloc_for(v)?;
        let stmt = mono::Stmt { pat: vec![v], exp: e.clone(), prov: self.prov };
        let leaf = mono::Body { stmts: vec![stmt], results: vec![mono::Atom::Var(v)] };
        self.fill("make", std::slice::from_ref(&out), &[], &leaf)?;
        self.set(v, Bound::Array(out));
        Ok(())
    }

    fn serial_map(&mut self, pat: &[mono::Var], axes: &[mono::Axis], body: &flat::Body) -> L<()> {
        let mut outs = Vec::new();
        for v in pat {
            let place = self.alloc_for(*v)?;
            outs.push(place);
        }
        let all = |p: &mut Plan| p.serial_loops(axes, body, &outs, &mut Vec::new());
        match axes {
            [axis] if self.threads && self.is_of_block(body) => {
                // The numbers are those of the first reduction, as the rows have no name.
                let first = body.stmts.iter().find(|s| matches!(s.exp, flat::Exp::Seg(_)));
                let n = self.atom(axis.size)?;
                let (least, block) = self.at_site(first.and_then(|s| s.pat.first()), |p| {
                    let least = p.size(Field::RowBlocks);
                    p.blocks.open();
                    p.rows_of_blocks(*axis, body, &outs)?;
                    Ok((least, p.blocks.close()))
                })?;
                let cond = self.int(ScalarOp::Ge, n, least)?;
                self.blocks.open();
                all(self)?;
                let otherwise = self.blocks.close();
                self.emit(StmtKind::If { cond, then: block, otherwise, results: Vec::new() });
            }
            _ => all(self)?,
        }
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    fn serial_loops(
        &mut self,
        axes: &[mono::Axis],
        body: &flat::Body,
        outs: &[Place],
        at: &mut Vec<Atom>,
    ) -> L<()> {
        if let [axis, rest @ ..] = axes {
            let n = self.atom(axis.size)?;
            return self.each(How::Seq, "i", super::build::upto(n), |p, i| {
                p.set(axis.var, Bound::Scalar(i));
                at.push(i);
                let done = p.serial_loops(rest, body, outs, at);
                at.pop();
                done
            });
        }
        self.enter(body, []);
        self.stmts(body)?;
        for (r, out) in body.results.iter().zip(outs) {
            let to = out.cell(at);
            match r {
                mono::Atom::Var(v) if !self.flat.vars[*v].ty.is_scalar() => self.copy(*v, &to)?,
                scalar => {
                    let leaf = mono::Body { stmts: Vec::new(), results: vec![*scalar] };
                    self.fill("store", std::slice::from_ref(&to), &[], &leaf)?;
                }
            }
        }
        self.scopes.pop();
        Ok(())
    }
}

/// The statement of a body that mentions a variable last; its results count as one more.
fn last_uses(b: &flat::Body) -> FxHashMap<mono::Var, usize> {
    let mut last = FxHashMap::default();
    for (k, s) in b.stmts.iter().enumerate() {
        s.exp.for_each_use(&mut |a| {
            if let mono::Atom::Var(v) = a {
                last.insert(v, k);
            }
        });
    }
    for a in &b.results {
        if let mono::Atom::Var(v) = a {
            last.insert(*v, b.stmts.len());
        }
    }
    last
}

//! The constraint solver: existentials, unification, postponed constraints.
//!
//! Equations are solved when they determine an existential and are postponed otherwise; a postponed
//! equation is tried again whenever something was solved ([`Solver::settle`]). What is still open at
//! the end of an application or definition is decided by the rules of [`super::decide`].
//!
//! - Dims: `p = q` is solved for an existential that occurs linearly with a coefficient that divides
//!   the rest. Where there is a choice, the solution that cannot be negative is taken, so `?n = ?d + 1`
//!   makes `?n` positive instead of making `?d` a difference; not for an existential from outside the
//!   current branch, whose check stays local.
//!   A size that a person named stands for any: it is solved by another existential plus a constant alone, which has
//!   its role from then on. The size of a parameter is not solved to 0 because it cancels, as in `n = 2n`.
//! - Shapes, and the longest of several frames: [`shapes`].
//! - Depth: every binder whose variable may be hidden has a depth, and an existential is never solved
//!   by a variable that is bound deeper than itself.
//!
//! Source: the bidirectional algorithm of Slepak's thesis (chapter 8), with integer polynomials in
//! place of sums and classes added.

mod shapes;

use crate::scheme::Part;
use remc_base::*;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// What an existential stands for.
#[derive(Clone, Debug)]
pub enum Solution {
    Atom(AtomTy),
    Dim(Dim),
    Shape(Shape),
}

#[derive(Clone, Debug)]
pub enum MetaKind {
    /// `class`: the types it may be. `default`: what a literal becomes if nothing decides.
    Atom {
        class: Option<Class>,
        default: Option<BaseTy>,
    },
    Dim,
    Shape {
        /// The shape of a parameter without annotation: it takes the least rank its uses allow.
        bare: bool,
        /// A primitive's item padding: it takes the rest of an array.
        pad: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Meta {
    pub kind: MetaKind,
    pub depth: u32,
    pub branch: u32,
    pub origin: NodeId,
    pub name: Option<Name>,
    /// Of a bare shape: it is that of what an unknown function gives, and stays open unless its uses ask for a
    /// rank.
    pub result: bool,
    /// Of a shape that a parameter's annotation leaves to the arguments, `all` or by a name: no rule gives it a rank.
    pub whole: bool,
    /// Of a dim or shape: whose it is.
    pub role: Role,
    /// Of an atom type: it is that of a variable.
    pub of_variable: bool,
    /// Replaced by an equal one when it is looked up: see [`Solver::zonk_dim`].
    pub(super) solution: RefCell<Option<Solution>>,
    /// When this last changed, by [`Solver::clock`].
    changed: u64,
}

/// What an unknown size or shape is that of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Of anything: whatever an equation says.
    Any,
    /// Of a parameter.
    Parameter,
    /// Of a parameter of a definition that is polymorphic in it by name: any.
    Named,
}

impl Meta {
    pub fn is_solved(&self) -> bool {
        self.solution.borrow().is_some()
    }
}

/// Why two things cannot be equal.
#[derive(Clone, Debug)]
pub enum Mismatch {
    Atoms(AtomTy, AtomTy),
    Shapes(Shape, Shape),
    Dims(Dim, Dim),
    /// A type outside the class it has to be in.
    Class(AtomTy, Class),
    /// A dim that would have to be negative.
    Negative(Dim),
    /// A hidden index in a place outside its scope.
    Escape(IVar),
    Infinite,
    /// A component that a type does not have.
    NoPart(AtomTy, Part),
}

#[derive(Clone, Debug)]
pub enum Constraint {
    Dims(Dim, Dim),
    Shapes(Shape, Shape),
    /// `(Quot a) = u`
    Quot(AtomTy, AtomTy),
    /// `result` is the longest of `frames`, all of which are its prefixes.
    Join {
        frames: Vec<Shape>,
        result: Shape,
    },
    /// `tuple` has the part, which has the type.
    Part {
        tuple: AtomTy,
        part: Part,
        ty: Arc<ArrTy>,
    },
}

/// A postponed constraint and the node to blame.
#[derive(Clone, Debug)]
pub struct Pending {
    pub constraint: Constraint,
    pub node: NodeId,
    /// What an equation of shapes waits for: the existentials that were open in it when it was tried last, and when that
    /// was. Until one of them changes it would be stuck again.
    waits: Option<(Vec<MetaId>, u64)>,
}

pub enum Step {
    Done,
    Stuck,
}

pub(super) type Unify = Result<(), Mismatch>;

#[derive(Clone, Default)]
pub struct Solver {
    pub metas: Vec<Meta>,
    /// Those of atom types and of shapes that may be open: each is looked through many times.
    open_atoms: Vec<MetaId>,
    open_shapes: Vec<MetaId>,
    pub pending: Vec<Pending>,
    pub depth: u32,
    pub branch: u32,
    /// The node blamed for constraints that are postponed now.
    pub node: Option<NodeId>,
    next_id: u32,
    next_var: u32,
    /// Depth of rigid index variables; those without are bound at depth 0.
    pub(super) ivar_depth: FxHashMap<u32, u32>,
    /// Depth of rigid type variables that a Tλ inside a definition binds.
    pub tvar_depth: FxHashMap<u32, u32>,
    /// Declared classes of rigid type variables.
    pub tvar_class: FxHashMap<u32, Option<Class>>,
    progress: bool,
    /// How often an existential has changed.
    clock: u64,
}

impl Solver {
    pub fn fresh_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub fn fresh_var(&mut self) -> VarId {
        self.next_var += 1;
        VarId(self.next_var - 1)
    }

    /// A new rigid index variable, hidden outside the given depth.
    pub fn fresh_ivar(&mut self, sort: Sort, name: &str, depth: u32) -> IVar {
        let id = self.fresh_id();
        self.ivar_depth.insert(id, depth);
        IVar { id, sort, natural: true, name: Name::new(name) }
    }

    fn new_meta(&mut self, kind: MetaKind, origin: NodeId, name: Option<Name>) -> MetaId {
        let (depth, branch, solution) = (self.depth, self.branch, RefCell::default());
        let m = MetaId(self.metas.len() as u32);
        match kind {
            MetaKind::Atom { .. } => self.open_atoms.push(m),
            MetaKind::Shape { .. } => self.open_shapes.push(m),
            MetaKind::Dim => {}
        }
        let (result, whole, of_variable, role) = (false, false, false, Role::Any);
        self.metas.push(Meta {
            kind,
            depth,
            branch,
            origin,
            name,
            result,
            whole,
            role,
            of_variable,
            solution,
            changed: self.clock,
        });
        m
    }

    /// The atom types that are open, in the order in which they were made.
    pub(super) fn open_atoms(&mut self) -> Vec<MetaId> {
        let metas = &self.metas;
        self.open_atoms.retain(|m| !metas[m.0 as usize].is_solved());
        self.open_atoms.clone()
    }

    /// The shapes that are open, in the same order.
    pub(super) fn open_shapes(&mut self) -> Vec<MetaId> {
        let metas = &self.metas;
        self.open_shapes.retain(|m| !metas[m.0 as usize].is_solved());
        self.open_shapes.clone()
    }

    pub fn fresh_atom(&mut self, class: Option<Class>, origin: NodeId) -> AtomTy {
        AtomTy::Meta(self.new_meta(MetaKind::Atom { class, default: None }, origin, None))
    }

    pub fn fresh_number(&mut self, class: Class, default: BaseTy, origin: NodeId) -> AtomTy {
        let kind = MetaKind::Atom { class: Some(class), default: Some(default) };
        AtomTy::Meta(self.new_meta(kind, origin, None))
    }

    pub fn fresh_dim(&mut self, origin: NodeId, name: Option<Name>) -> Dim {
        Dim::meta(self.new_meta(MetaKind::Dim, origin, name))
    }

    /// The size of a parameter.
    pub fn fresh_size(&mut self, role: Role, origin: NodeId, name: Option<Name>) -> Dim {
        let m = self.new_meta(MetaKind::Dim, origin, name);
        self.meta_mut(m).role = role;
        Dim::meta(m)
    }

    pub fn fresh_shape(&mut self, bare: bool, pad: bool, origin: NodeId, name: Option<Name>) -> Shape {
        Shape::meta(self.new_meta(MetaKind::Shape { bare, pad }, origin, name))
    }

    /// The shape of what a function gives that is a parameter itself.
    pub fn fresh_result_shape(&mut self, origin: NodeId) -> Shape {
        let m = self.new_meta(MetaKind::Shape { bare: true, pad: false }, origin, None);
        self.meta_mut(m).result = true;
        Shape::meta(m)
    }

    /// The shape of a parameter that is written to have any rank.
    pub fn fresh_whole_shape(&mut self, role: Role, origin: NodeId, name: Name) -> Shape {
        let m = self.new_meta(MetaKind::Shape { bare: false, pad: false }, origin, Some(name));
        self.meta_mut(m).whole = true;
        self.meta_mut(m).role = role;
        Shape::meta(m)
    }

    pub fn meta(&self, m: MetaId) -> &Meta {
        &self.metas[m.0 as usize]
    }

    pub(super) fn meta_mut(&mut self, m: MetaId) -> &mut Meta {
        self.clock += 1;
        let meta = &mut self.metas[m.0 as usize];
        meta.changed = self.clock;
        meta
    }

    // ---- classes ---------------------------------------------------------------------------------

    /// The class that every instance of the type is in, as far as it is known.
    pub fn class_of(&self, t: &AtomTy) -> Option<Class> {
        match t {
            AtomTy::Var(v) => self.tvar_class.get(&v.id).copied().flatten(),
            AtomTy::Meta(m) => match &self.meta(*m).kind {
                MetaKind::Atom { class, .. } => *class,
                _ => None,
            },
            AtomTy::Quot(_) => Some(Class::Frac),
            _ => None,
        }
    }

    /// Requires `t` to be in the class.
    pub fn require(&mut self, t: &AtomTy, class: Class) -> Unify {
        let t = self.zonk_atom(t);
        match &t {
            AtomTy::Base(b) if b.is_in(class) => Ok(()),
            AtomTy::Meta(m) => {
                let MetaKind::Atom { class: have, default } = &mut self.meta_mut(*m).kind else {
                    return Ok(());
                };
                match have.map_or(Some(class), |h| h.meet(class)) {
                    Some(c) => {
                        if default.is_some_and(|d| !d.is_in(c)) {
                            // An integer literal where a fraction is wanted: `1` is `1.0`.
                            *default = Some(BaseTy::F64);
                        }
                        *have = Some(c);
                        self.progress = true;
                        Ok(())
                    }
                    None => Err(Mismatch::Class(t, class)),
                }
            }
            _ if self.class_of(&t).is_some_and(|c| c.implies(class)) => Ok(()),
            // Tuples and boxes are ordered by their parts.
            AtomTy::Tuple(q) if class == Class::Ord => {
                q.fields.iter().try_for_each(|(_, field)| self.require(&field.atom, class))
            }
            AtomTy::Sigma(q) if class == Class::Ord => self.require(&q.body.atom, class),
            _ => Err(Mismatch::Class(t, class)),
        }
    }

    // ---- solving -----------------------------------------------------------------------------------

    fn solve(&mut self, m: MetaId, s: Solution) {
        debug_assert!(!self.meta(m).is_solved());
        self.meta_mut(m).solution = RefCell::new(Some(s));
        self.progress = true;
    }

    /// Solves an existential by decree (a default, or a variable it is generalised to).
    pub fn decide(&mut self, m: MetaId, s: Solution) {
        self.solve(m, s);
    }

    /// A shape of so many unknown sizes.
    pub fn decide_rank(&mut self, m: MetaId, rank: usize) {
        let (origin, depth) = (self.meta(m).origin, self.meta(m).depth);
        let dims: Vec<MetaId> = (0..rank).map(|_| self.new_meta(MetaKind::Dim, origin, None)).collect();
        for d in &dims {
            let dim = self.meta_mut(*d);
            dim.depth = dim.depth.min(depth);
            dim.role = Role::Parameter;
        }
        self.solve(m, Solution::Shape(Shape::of_dims(dims.into_iter().map(Dim::meta))));
    }

    pub(super) fn postpone(&mut self, constraint: Constraint) {
        let node = self.node.unwrap_or(NodeId(0));
        self.pending.push(Pending { constraint, node, waits: None });
    }

    pub fn unify(&mut self, a: &ArrTy, b: &ArrTy) -> Unify {
        self.unify_atom(&a.atom, &b.atom)?;
        self.unify_shape(&a.shape, &b.shape)
    }

    pub fn unify_atom(&mut self, a: &AtomTy, b: &AtomTy) -> Unify {
        let (a, b) = (self.zonk_atom(a), self.zonk_atom(b));
        if a == b {
            return Ok(());
        }
        match (&a, &b) {
            (AtomTy::Meta(m), AtomTy::Meta(n)) => {
                let (MetaKind::Atom { class: c, default: d }, MetaKind::Atom { class: e, default: f }) =
                    (self.meta(*m).kind.clone(), self.meta(*n).kind.clone())
                else {
                    return Err(Mismatch::Atoms(a, b));
                };
                let class = match (c, e) {
                    (Some(c), Some(e)) => Some(c.meet(e).ok_or(Mismatch::Class(a.clone(), e))?),
                    (c, e) => c.or(e),
                };
                let default = match (d, f) {
                    (Some(BaseTy::F64), _) | (_, Some(BaseTy::F64)) => Some(BaseTy::F64),
                    // That of a literal past `int`'s range.
                    (Some(BaseTy::U64), _) | (_, Some(BaseTy::U64)) => Some(BaseTy::U64),
                    (d, f) => d.or(f),
                };
                let default =
                    default.map(|d| if class.is_some_and(|c| !d.is_in(c)) { BaseTy::F64 } else { d });
                let depth = self.meta(*m).depth.min(self.meta(*n).depth);
                // The older one stays, so that chains of solutions stay short.
                let (root, other) = if m.0 < n.0 { (*m, *n) } else { (*n, *m) };
                let of_variable = self.meta(*m).of_variable || self.meta(*n).of_variable;
                self.meta_mut(root).of_variable = of_variable;
                self.meta_mut(root).kind = MetaKind::Atom { class, default };
                self.meta_mut(root).depth = depth;
                self.solve(other, Solution::Atom(AtomTy::Meta(root)));
                Ok(())
            }
            (AtomTy::Quot(q), other) | (other, AtomTy::Quot(q)) => {
                if let AtomTy::Quot(r) = other
                    && !matches!((&**q, &**r), (AtomTy::Var(_), AtomTy::Var(_)))
                {
                    self.postpone(Constraint::Quot((**q).clone(), other.clone()));
                    return Ok(());
                }
                self.require(other, Class::Frac)?;
                if **q == *other {
                    return Ok(());
                }
                if let AtomTy::Meta(m) = other
                    && !mentions_atom(q, *m)
                {
                    let depth = self.meta(*m).depth;
                    self.sink_atom(q, depth)?;
                    self.solve(*m, Solution::Atom(AtomTy::Quot(q.clone())));
                    return Ok(());
                }
                if matches!(**q, AtomTy::Meta(_)) {
                    self.postpone(Constraint::Quot((**q).clone(), other.clone()));
                    return Ok(());
                }
                Err(Mismatch::Atoms(a, b))
            }
            (AtomTy::Meta(m), other) | (other, AtomTy::Meta(m)) => {
                if mentions_atom(other, *m) {
                    return Err(Mismatch::Infinite);
                }
                if let MetaKind::Atom { class: Some(c), .. } = self.meta(*m).kind {
                    self.require(other, c).map_err(|e| match e {
                        Mismatch::Class(t, c) => Mismatch::Class(t, c),
                        e => e,
                    })?;
                }
                let depth = self.meta(*m).depth;
                self.sink_atom(other, depth)?;
                self.solve(*m, Solution::Atom(other.clone()));
                Ok(())
            }
            (AtomTy::Fn(f), AtomTy::Fn(g)) if f.params.len() == g.params.len() => {
                for (p, q) in f.params.iter().zip(&g.params) {
                    self.unify(p, q)?;
                }
                self.unify(&f.ret, &g.ret)
            }
            (AtomTy::Tuple(f), AtomTy::Tuple(g))
                if f.fields.len() == g.fields.len()
                    && f.fields.iter().zip(&g.fields).all(|(x, y)| x.0 == y.0) =>
            {
                for (p, q) in f.fields.iter().zip(&g.fields) {
                    self.unify(&p.1, &q.1)?;
                }
                Ok(())
            }
            (AtomTy::Sigma(f), AtomTy::Sigma(g)) if same_sorts(&f.params, &g.params) => {
                self.unify_under(&f.params, &f.body, &g.params, &g.body)
            }
            (AtomTy::Pi(f), AtomTy::Pi(g)) if same_sorts(&f.params, &g.params) => {
                self.unify_under(&f.params, &f.body, &g.params, &g.body)
            }
            (AtomTy::Forall(f), AtomTy::Forall(g))
                if f.params.len() == g.params.len()
                    && f.params
                        .iter()
                        .zip(&g.params)
                        .all(|(p, q)| p.class == q.class && p.shape.is_some() == q.shape.is_some()) =>
            {
                let mut s = Subst::new();
                for (p, q) in f.params.iter().zip(&g.params) {
                    s.bind_type(&q.var, AtomTy::Var(p.var.clone()));
                    if let (Some(x), Some(y)) = (&p.shape, &q.shape) {
                        s.bind_shape(y, Shape::rigid(x.clone()));
                    }
                }
                let body = s.arr(&g.body);
                self.unify(&f.body, &body)
            }
            _ => Err(Mismatch::Atoms(a, b)),
        }
    }

    /// Bodies under binders: the bound variables become one that no existential outside may mention.
    fn unify_under(&mut self, f: &[IVar], f_body: &ArrTy, g: &[IVar], g_body: &ArrTy) -> Unify {
        let (mut sf, mut sg) = (Subst::new(), Subst::new());
        for (p, q) in f.iter().zip(g) {
            let v = self.fresh_ivar(p.sort, p.name.as_str(), u32::MAX);
            sf.bind_index(p, v.clone().into());
            sg.bind_index(q, v.into());
        }
        self.unify(&sf.arr(f_body), &sg.arr(g_body))
    }

    pub fn unify_dim(&mut self, p: &Dim, q: &Dim) -> Unify {
        match self.step_dim(p, q)? {
            Step::Done => Ok(()),
            Step::Stuck => {
                self.postpone(Constraint::Dims(p.clone(), q.clone()));
                Ok(())
            }
        }
    }

    fn step_dim(&mut self, p: &Dim, q: &Dim) -> Result<Step, Mismatch> {
        let (p, q) = (self.zonk_dim(p), self.zonk_dim(q));
        let diff = p.sub(&q);
        if let Some(c) = diff.as_constant() {
            return if c == 0 { Ok(Step::Done) } else { Err(Mismatch::Dims(p, q)) };
        }
        if divides_not(&diff) {
            return Err(Mismatch::Dims(p, q));
        }
        // What cancels leaves nothing, where neither side says so.
        let cancels = p.as_constant().is_none() && q.as_constant().is_none();
        let (mut escape, mut refused) = (None, false);
        let mut best: Option<(MetaId, Dim, u32)> = None;
        for (mono, c) in diff.terms() {
            let [v] = mono.as_slice() else { continue };
            let rest: Vec<_> = diff.terms().iter().filter(|(m, _)| m != mono).cloned().collect();
            let linear = rest.iter().all(|(m, _)| !m.contains(v));
            if !linear || rest.iter().any(|(_, d)| d % c != 0) {
                continue;
            }
            let solution = Dim::from_terms(rest.into_iter().map(|(m, d)| (m, -(d / c))));
            match v {
                DimVar::Meta(m) => {
                    if let Some(n) = solution.as_constant()
                        && n < 0
                    {
                        return Err(Mismatch::Negative(solution));
                    }
                    if !self.may_be(*m, &solution, cancels) {
                        refused = true;
                        continue;
                    }
                    let depth = self.meta(*m).depth;
                    if let Some(v) = self.escaping(&solution, depth) {
                        escape = Some(v);
                        continue;
                    }
                    // Lower is better: no obligation, then an existential of this branch.
                    let outer = self.meta(*m).branch < self.branch
                        && solution.vars().any(|v| match v {
                            DimVar::Meta(n) => self.meta(*n).branch >= self.branch,
                            _ => false,
                        });
                    let cost = u32::from(!solution.is_never_negative()) + 2 * u32::from(outer);
                    if best.as_ref().is_none_or(|b| cost < b.2) {
                        best = Some((*m, solution, cost));
                    }
                }
                DimVar::RankOf(ShapeVar::Meta(m)) => {
                    let Some(r) = solution.as_constant() else { continue };
                    if !(0..=64).contains(&r) {
                        return Err(Mismatch::Negative(solution));
                    }
                    self.decide_rank(*m, r as usize);
                    return Ok(Step::Done);
                }
                _ => {}
            }
        }
        if let Some((m, solution, _)) = best {
            let depth = self.meta(m).depth;
            self.sink_dim(&solution, depth)?;
            if let Some((n, _)) = plus_constant(&solution) {
                let role = self.meta(m).role;
                self.meta_mut(n).role = self.meta(n).role.max(role);
            }
            self.solve(m, Solution::Dim(solution));
            return Ok(Step::Done);
        }
        if let Some(v) = escape {
            return Err(Mismatch::Escape(v));
        }
        let open = diff.vars().any(|v| match v {
            DimVar::Meta(m) => !refused || self.meta(*m).role == Role::Any,
            DimVar::RankOf(ShapeVar::Meta(_)) | DimVar::SizeOf(ShapeVar::Meta(_)) => true,
            _ => false,
        });
        if open { Ok(Step::Stuck) } else { Err(Mismatch::Dims(p, q)) }
    }

    /// Whether a shape, or a size, is one that a person named.
    pub fn is_named(&self, m: MetaId) -> bool {
        self.meta(m).role == Role::Named
    }

    /// Whether the role of an unknown size allows this solution. `cancels`: neither side of the equation is a number.
    fn may_be(&self, m: MetaId, solution: &Dim, cancels: bool) -> bool {
        match self.meta(m).role {
            Role::Any => true,
            Role::Parameter => !cancels || solution.as_constant() != Some(0),
            // An equal size that nobody named takes the name.
            Role::Named => plus_constant(solution).is_some_and(|(n, c)| c > 0 && !self.is_named(n)),
        }
    }

    fn step_quot(&mut self, a: &AtomTy, u: &AtomTy) -> Result<Step, Mismatch> {
        let q = self.zonk_atom(&AtomTy::Quot(Arc::new(a.clone())));
        let u = self.zonk_atom(u);
        if q == u {
            return Ok(Step::Done);
        }
        match (&q, &u) {
            (AtomTy::Quot(inner), other) if matches!(**inner, AtomTy::Meta(_)) => match other {
                AtomTy::Meta(_) => self.unify_atom(&q, other).map(|()| Step::Done),
                _ => Ok(Step::Stuck),
            },
            (other, AtomTy::Quot(inner)) if matches!(**inner, AtomTy::Meta(_)) => match other {
                AtomTy::Meta(_) => self.unify_atom(&u, other).map(|()| Step::Done),
                _ => Ok(Step::Stuck),
            },
            _ => self.unify_atom(&q, &u).map(|()| Step::Done),
        }
    }

    /// Whether nothing has changed that an equation waits for.
    fn is_waiting(&self, p: &Pending) -> bool {
        p.waits.as_ref().is_some_and(|(metas, tried)| metas.iter().all(|m| self.meta(*m).changed <= *tried))
    }

    /// What an equation of shapes that is stuck waits for. Whether another one is stuck depends on more: the branch.
    fn waits(&self, c: &Constraint) -> Option<(Vec<MetaId>, u64)> {
        let mut metas = Vec::new();
        let mut add = |s: &Shape| super::metas::metas_of_shape(&self.zonk_shape(s), &mut metas);
        match c {
            Constraint::Join { frames, result } => frames.iter().chain([result]).for_each(add),
            Constraint::Shapes(a, b) => [a, b].into_iter().for_each(&mut add),
            _ => return None,
        }
        Some((metas, self.clock))
    }

    /// Tries the postponed constraints again until nothing changes. The first failure is returned
    /// with the node to blame; the constraint that failed is dropped.
    pub fn settle(&mut self) -> Result<(), (NodeId, Mismatch)> {
        loop {
            self.progress = false;
            let pending = std::mem::take(&mut self.pending);
            let mut failed = None;
            for mut p in pending {
                if failed.is_some() || self.is_waiting(&p) {
                    self.pending.push(p);
                    continue;
                }
                let saved = self.node.replace(p.node);
                let step = match &p.constraint {
                    Constraint::Dims(a, b) => self.step_dim(a, b),
                    Constraint::Shapes(a, b) => self.step_shape(a, b),
                    Constraint::Quot(a, b) => self.step_quot(a, b),
                    Constraint::Join { frames, result } => self.step_join(frames, result),
                    part @ Constraint::Part { .. } => self.step_part(part),
                };
                self.node = saved;
                match step {
                    Ok(Step::Done) => self.progress = true,
                    Ok(Step::Stuck) => {
                        p.waits = self.waits(&p.constraint);
                        self.pending.push(p);
                    }
                    Err(e) => failed = Some((p.node, e)),
                }
            }
            if let Some(failed) = failed {
                return Err(failed);
            }
            if !self.progress || self.pending.is_empty() {
                return Ok(());
            }
        }
    }
}

/// A dim that is an existential and so much more.
fn plus_constant(d: &Dim) -> Option<(MetaId, i128)> {
    let mut vars = d.terms().iter().filter(|(mono, _)| !mono.is_empty());
    match (vars.next(), vars.next()) {
        (Some((mono, 1)), None) => match mono.as_slice() {
            [DimVar::Meta(m)] => Some((*m, d.constant_term())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the sum is 0 for no integers at all: all its terms are multiples of a number that its
/// constant is no multiple of, as in `2n - 3`.
pub(super) fn divides_not(d: &Dim) -> bool {
    let gcd = |mut a: u128, mut b: u128| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let terms = d.terms().iter().filter(|(m, _)| !m.is_empty());
    let common = terms.fold(0, |g, (_, c)| gcd(g, c.unsigned_abs()));
    common != 0 && !d.constant_term().unsigned_abs().is_multiple_of(common)
}

pub fn same_sorts(a: &[IVar], b: &[IVar]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.sort == y.sort)
}

fn mentions_atom(t: &AtomTy, m: MetaId) -> bool {
    match t {
        AtomTy::Base(_) | AtomTy::Var(_) => false,
        AtomTy::Meta(n) => *n == m,
        AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).any(|p| mentions_atom(&p.atom, m)),
        AtomTy::Forall(q) => mentions_atom(&q.body.atom, m),
        AtomTy::Pi(q) => mentions_atom(&q.body.atom, m),
        AtomTy::Sigma(q) => mentions_atom(&q.body.atom, m),
        AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| mentions_atom(&t.atom, m)),
        AtomTy::Quot(q) => mentions_atom(q, m),
    }
}

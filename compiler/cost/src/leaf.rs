//! What one operator does: its operations, and the elements that it reads of arrays that other steps made.
//!
//! A leaf is walked once, each statement with how often it runs. Of a read it matters which loops its
//! indices depend on:
//!
//! ```text
//! for i < n, j < m, k < p:  a[i, k]     n·p elements: the loop over j finds them again, nearby
//!                           b[j + 1]    m elements
//!                           c[i + j]    a window that moves: all of c's axis at most
//!                           d[s[i] + k] runs of p elements, one for each i
//!                           e[x[i, k]]  a gather: one element each time, wherever it may be
//! ```
//!
//! Arrays that the leaf makes for itself are in fast memory, or close to it: they are no traffic.

use crate::formula::{Formula, Symbol};
use crate::scope::{Count, Loops, Scope, base_of};
use remc_base::Prov;
use remc_flat::ir::{Atom, Axis, Combine, Lambda, Var};
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// Operations on scalars.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Operations {
    /// With a float among operands and result, conversions left out.
    pub float: Formula,
    /// All others: integers, booleans, conversions.
    pub other: Formula,
}

/// How the elements of an array are found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// At places that follow from the indices of loops; each element is counted once.
    Regular,
    /// Rows of neighbours, each beginning at a place that is computed.
    Runs,
    /// One by one, at computed places; counted each time.
    Gather,
}

/// An array that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    pub array: Var,
    pub elements: Formula,
    /// Of an element.
    pub bytes: u32,
    pub access: Access,
    /// The number of elements is this, and not just at most this.
    pub exact: bool,
    /// It is read inside loops that its indices do not depend on: each element several times.
    pub again: bool,
    /// A processor transposes it first, where these are as many as [`remc_flat::across`] says: the rows of points, and the
    /// points of each.
    pub transposed: Option<[Formula; 2]>,
    pub prov: Prov,
}

/// A loop inside the leaf, which one thread runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Inner {
    pub kind: InnerKind,
    /// `None` for a `while`.
    pub size: Option<Formula>,
    /// The bytes of the arrays that it makes for the thread alone.
    pub own: Formula,
    pub prov: Prov,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InnerKind {
    Map,
    Reduce,
    Scan,
    Loop,
    While,
    Other,
}

/// What the walk over one operator has found.
#[derive(Clone, Default)]
pub struct Found {
    pub operations: Operations,
    /// Operations depend on conditions, and those of the dearer branch are counted.
    pub at_most: bool,
    reads: Vec<Place>,
    /// How many rounds of loops one thread makes, one after the other, those inside of others counted as often as they run.
    pub depth: Formula,
    pub inner: Vec<Inner>,
    /// Where the statements come from, in order.
    pub provs: Vec<Prov>,
}

/// One read in the text.
#[derive(Clone)]
struct Place {
    array: Var,
    at: Vec<Formula>,
    read: Read,
}

/// A walk over the leaf of one operator.
pub struct Walk<'s, 'p> {
    pub scope: &'s mut Scope<'p>,
    /// Arrays made inside.
    local: FxHashSet<Var>,
    /// Cells: of which array, at which indices.
    cells: FxHashMap<Var, (Var, Vec<Atom>)>,
    pub found: Found,
    prov: Prov,
    /// What the body at hand hands on.
    given: Vec<Atom>,
}

impl<'s, 'p> Walk<'s, 'p> {
    /// `cells` are those that the host knows.
    pub fn new(
        scope: &'s mut Scope<'p>,
        cells: FxHashMap<Var, (Var, Vec<Atom>)>,
        prov: Prov,
    ) -> Walk<'s, 'p> {
        Walk { scope, local: FxHashSet::default(), cells, found: Found::default(), prov, given: Vec::new() }
    }

    /// A body, and what it hands on.
    pub fn body(&mut self, b: &mono::Body, at: &Count) {
        let given = std::mem::replace(&mut self.given, b.results.clone());
        b.stmts.iter().for_each(|s| self.stmt(s, at));
        self.given = given;
        self.take(&b.results, at);
    }

    /// Arrays that are handed on, or looked at from outside a body, are read as a whole.
    pub fn take(&mut self, results: &[Atom], at: &Count) {
        for v in results.iter().filter_map(|a| a.as_var()) {
            if !self.scope.p.vars[v].ty.is_scalar() {
                self.read(v, &[], at);
            }
        }
    }

    /// Along an axis: the elements, then their combination.
    pub fn fold(
        &mut self,
        axis: &Axis,
        body: &mono::Body,
        op: &Combine,
        epilogue: Option<&Lambda>,
        at: &Count,
    ) {
        let inside = self.scope.enter(at, axis);
        self.body(body, &inside);
        let mut deps = self.results(body);
        deps.extend(self.scope.deps(op.start.iter().flatten().copied()));
        deps.insert(axis.var);
        self.take(op.start.as_deref().unwrap_or_default(), at);
        // Without a start, the first element is combined with nothing.
        let mut combined = inside.clone();
        if op.start.is_none() {
            combined.runs = &inside.runs - &at.runs;
        }
        self.apply(&op.lambda, &deps, &combined);
        if let Some(Lambda { params, body }) = epilogue {
            for (k, v) in params.iter().enumerate() {
                match k {
                    0 => self.scope.bind_scalar(*v, &mono::Exp::Atom(Atom::Var(axis.var))),
                    _ => self.made(*v, &deps, &[]),
                }
            }
            self.body(body, &inside);
        }
    }

    /// A function of values of its own.
    pub fn apply(&mut self, f: &Lambda, deps: &Loops, at: &Count) {
        for v in &f.params {
            self.made(*v, deps, &[]);
        }
        self.body(&f.body, at);
    }

    /// The loops that what a body gives depends on.
    pub fn results(&self, b: &mono::Body) -> Loops {
        self.scope.deps(b.results.iter().copied())
    }

    /// Binds what is made here; `closed` are the loops that have ended.
    fn made(&mut self, v: Var, deps: &Loops, closed: &[Var]) {
        if !self.scope.p.vars[v].ty.is_scalar() {
            self.local.insert(v);
        }
        self.scope.bind_result(v, deps.clone(), closed);
    }

    fn made_all(&mut self, pat: &[Var], deps: &Loops, closed: &[Var]) {
        pat.iter().for_each(|v| self.made(*v, deps, closed));
    }

    fn inner(&mut self, kind: InnerKind, size: Option<Formula>, s: &mono::Stmt) {
        let mut own = Formula::zero();
        // What is handed on at once is made where it is wanted.
        for v in s.pat.iter().filter(|v| !self.given.contains(&Atom::Var(**v))) {
            let ty = &self.scope.p.vars[*v].ty;
            if !ty.is_scalar() {
                let bytes = Formula::from(i128::from(ty.base.bits() / 8));
                own = &own + &(&self.scope.product(&ty.dims) * &bytes);
            }
        }
        self.found.inner.push(Inner { kind, size, own, prov: s.prov });
    }

    fn stmt(&mut self, s: &mono::Stmt, at: &Count) {
        use mono::Exp as E;
        let outer = std::mem::replace(&mut self.prov, s.prov);
        let (rounds, before) = (self.rounds(&s.exp), std::mem::take(&mut self.found.depth));
        if !matches!(s.exp, E::Atom(_) | E::Check { .. }) {
            self.found.provs.push(s.prov);
        }
        match &s.exp {
            E::Check { .. } | E::Pull { .. } | E::Push { .. } => {}
            E::Atom(a) => match (a, s.pat.as_slice()) {
                (Atom::Var(x), [v]) if !self.scope.p.vars[*v].ty.is_scalar() => {
                    self.cells.insert(*v, (*x, Vec::new()));
                }
                (_, [v]) => self.scope.bind_scalar(*v, &s.exp),
                _ => {}
            },
            E::Op(_, args) => {
                let is_float = |a: Atom| base_of(self.scope.p, a).is_float();
                let float = args.iter().chain(&s.pat.first().map(|v| Atom::Var(*v))).any(|a| is_float(*a));
                self.operation(float, at);
                s.pat.iter().for_each(|v| self.scope.bind_scalar(*v, &s.exp));
            }
            E::Cast(..) => {
                self.operation(false, at);
                s.pat.iter().for_each(|v| self.scope.bind_scalar(*v, &s.exp));
            }
            E::Literal { elems, .. } => {
                let deps = self.scope.deps(elems.iter().copied());
                self.made_all(&s.pat, &deps, &[]);
            }
            E::Index { array, at: place } => {
                let [v] = s.pat.as_slice() else { return };
                if self.scope.p.vars[*v].ty.is_scalar() {
                    let mut deps = self.scope.deps(place.iter().copied());
                    deps.extend(self.deps_of_array(*array));
                    self.read(*array, place, at);
                    self.scope.bind(*v, deps);
                } else {
                    self.cells.insert(*v, (*array, place.clone()));
                }
            }
            E::If { cond, then, otherwise } => self.choice(&s.pat, *cond, then, otherwise, at),
            E::For { axis, state, body } => {
                let size = self.scope.int(axis.size);
                self.inner(InnerKind::Loop, Some(size), s);
                let inside = self.scope.enter(at, axis);
                self.state(state, axis.var, at);
                self.body(body, &inside);
                let mut deps = self.results(body);
                deps.extend(self.scope.deps(state.iter().map(|s| s.1)));
                deps.extend(self.scope.deps([axis.size]));
                self.made_all(&s.pat, &deps, &[axis.var]);
            }
            E::While { state, cond, body } => {
                self.inner(InnerKind::While, None, s);
                let Some((first, _)) = state.first() else { return };
                let inside = self.scope.enter_while(at, *first);
                self.state(state, *first, at);
                let mut asked = inside.clone();
                asked.runs = &inside.runs + &at.runs;
                self.body(cond, &asked);
                self.body(body, &inside);
                let mut deps = self.results(body);
                deps.extend(self.results(cond));
                deps.extend(self.scope.deps(state.iter().map(|s| s.1)));
                self.made_all(&s.pat, &deps, &[*first]);
            }
            E::Map { axes, body } => {
                let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
                let size = self.scope.product(&sizes);
                self.inner(InnerKind::Map, Some(size), s);
                let inside = self.scope.enter_all(at, axes);
                self.body(body, &inside);
                let closed: Vec<Var> = axes.iter().map(|a| a.var).collect();
                let mut deps = self.results(body);
                deps.extend(self.scope.deps(sizes));
                self.made_all(&s.pat, &deps, &closed);
            }
            E::Reduce { axis, body, op } | E::Scan { axis, body, op, .. } => {
                let kind = match &s.exp {
                    E::Reduce { .. } => InnerKind::Reduce,
                    _ => InnerKind::Scan,
                };
                let size = self.scope.int(axis.size);
                self.inner(kind, Some(size), s);
                self.fold(axis, body, op, None, at);
                let mut deps = self.results(body);
                deps.extend(self.results(&op.lambda.body));
                deps.extend(self.scope.deps(op.start.iter().flatten().copied()));
                deps.extend(self.scope.deps([axis.size]));
                self.made_all(&s.pat, &deps, &[axis.var]);
            }
            E::Scatter { dests, axis, body, combine } => {
                let size = self.scope.int(axis.size);
                self.inner(InnerKind::Other, Some(size), s);
                dests.iter().for_each(|d| self.read(*d, &[], at));
                let deps = self.scatter(axis, body, combine.as_ref(), at);
                self.made_all(&s.pat, &deps, &[axis.var]);
            }
            E::Filter { axis, body } | E::Grade { axis, body, .. } | E::Join { axis, body, .. } => {
                let size = self.scope.int(axis.size);
                self.inner(InnerKind::Other, Some(size), s);
                let inside = self.scope.enter(at, axis);
                self.body(body, &inside);
                let mut deps = self.results(body);
                deps.extend(self.scope.deps([axis.size]));
                self.made_all(&s.pat, &deps, &[axis.var]);
            }
            E::View { view, array } => {
                self.read(*array, &[], at);
                if let mono::View::Append { with } = view {
                    self.read(*with, &[], at);
                }
                let mut deps = self.scope.deps(view.operands());
                deps.extend(self.deps_of_array(*array));
                self.made_all(&s.pat, &deps, &[]);
            }
        }
        let inside = std::mem::replace(&mut self.found.depth, before);
        let all = rounds.map_or(inside.clone(), |n| &n * &(&inside + &Formula::one()));
        self.found.depth = &self.found.depth + &all;
        self.prov = outer;
    }

    /// How often a loop goes round.
    fn rounds(&self, e: &mono::Exp) -> Option<Formula> {
        match e {
            mono::Exp::While { state, .. } => {
                state.first().map(|(first, _)| Formula::symbol(Symbol::Rounds(*first)))
            }
            e => match e.axes() {
                [] => None,
                axes => Some(self.scope.product(&axes.iter().map(|a| a.size).collect::<Vec<_>>())),
            },
        }
    }

    /// Values into places that are computed.
    pub fn scatter(&mut self, axis: &Axis, body: &mono::Body, combine: Option<&Lambda>, at: &Count) -> Loops {
        let inside = self.scope.enter(at, axis);
        self.body(body, &inside);
        let mut deps = self.results(body);
        deps.insert(axis.var);
        if let Some(f) = combine {
            // What is written nowhere is not combined.
            self.found.at_most = true;
            self.apply(f, &deps, &inside.if_taken());
        }
        deps
    }

    fn operation(&mut self, float: bool, at: &Count) {
        let o = &mut self.found.operations;
        let to = if float { &mut o.float } else { &mut o.other };
        *to = &*to + &at.runs;
    }

    fn state(&mut self, state: &[(Var, Atom)], around: Var, at: &Count) {
        for (v, start) in state {
            self.take(&[*start], at);
            let mut deps = self.scope.deps([*start]);
            deps.insert(around);
            self.made(*v, &deps, &[]);
        }
    }

    /// Of two branches one is run; the dearer counts.
    fn choice(&mut self, pat: &[Var], cond: Atom, then: &mono::Body, otherwise: &mono::Body, at: &Count) {
        let inside = at.if_taken();
        let before = std::mem::take(&mut self.found.operations);
        self.body(then, &inside);
        let a = std::mem::take(&mut self.found.operations);
        let depth = std::mem::take(&mut self.found.depth);
        self.body(otherwise, &inside);
        let b = std::mem::replace(&mut self.found.operations, before);
        self.found.depth = self.found.depth.most(&depth);
        self.found.at_most |= a != b;
        let o = &mut self.found.operations;
        o.float = &o.float + &a.float.most(&b.float);
        o.other = &o.other + &a.other.most(&b.other);
        let mut deps = self.results(then);
        deps.extend(self.results(otherwise));
        deps.extend(self.scope.deps([cond]));
        self.made_all(pat, &deps, &[]);
    }

    // ---- reads ----

    /// The array that a cell is part of, and where in it.
    fn root(&self, array: Var, at: &[Atom]) -> (Var, Vec<Atom>) {
        let (mut array, mut at) = (array, at.to_vec());
        while let Some((of, first)) = self.cells.get(&array) {
            array = *of;
            at = first.iter().chain(&at).copied().collect();
        }
        (array, at)
    }

    fn deps_of_array(&self, array: Var) -> Loops {
        let (root, at) = self.root(array, &[]);
        let mut deps = self.scope.deps(at);
        deps.extend(self.scope.deps_of(root));
        deps
    }

    /// An element, or all of a cell.
    pub fn read(&mut self, array: Var, place: &[Atom], at: &Count) {
        let (array, place) = self.root(array, place);
        if self.local.contains(&array) || self.scope.p.vars[array].ty.is_scalar() {
            return;
        }
        let dims = self.scope.p.vars[array].ty.dims.clone();
        let cell = self.scope.product(dims.get(place.len()..).unwrap_or_default());
        let mut indices = self.scope.ints(&place);
        let (elements, access, exact, loops) = self.found_at(&indices, &dims, at);
        indices.resize(dims.len(), Formula::symbol(Symbol::Value(array)));
        let read = Read {
            array,
            elements: &elements * &cell,
            bytes: self.scope.p.vars[array].ty.base.bits() / 8,
            access,
            exact: exact && !at.conditional,
            again: at.all().iter().any(|l| !loops.contains(l)),
            transposed: None,
            prov: self.prov,
        };
        let old = self.found.reads.iter_mut().find(|p| p.array == array && p.at == indices);
        match old {
            Some(old) => {
                let exact = old.read.exact || read.exact;
                if old.read.elements.is_at_most(&read.elements) {
                    old.read = read;
                }
                old.read.exact = exact;
            }
            None => self.found.reads.push(Place { array, at: indices, read }),
        }
    }

    /// How many elements these indices find as the loops run, how, whether exactly, and in which loops they change.
    fn found_at(&self, at: &[Formula], dims: &[Atom], count: &Count) -> (Formula, Access, bool, Loops) {
        let mut loops = Loops::new();
        let (mut bare, mut computed, mut exact) = (Loops::new(), false, true);
        let mut windows = Formula::one();
        let mut windowed = Loops::new();
        for (f, dim) in at.iter().zip(dims) {
            loops.extend(self.scope.deps_of_formula(f));
            let mut own = Loops::new();
            for s in f.symbols() {
                let Symbol::Value(v) = s else { continue };
                if count.is_index(v) {
                    computed |= f.linear_in(s).is_none();
                    own.insert(v);
                } else {
                    computed |= !self.scope.deps_of(v).is_empty();
                }
            }
            if own.len() > 1 && !self.is_radix(f, &own, count) {
                windows = &windows * &self.scope.int(*dim);
                windowed.extend(own);
            } else {
                bare.extend(own);
            }
        }
        let (ways, just) = self.scope.ways(count, &loops);
        if computed {
            // Neighbours, if the innermost index moves by one and nothing else of it is computed from it.
            let last = at.last().is_some_and(|f| {
                bare.iter().any(|v| {
                    let parts = f.linear_in(Symbol::Value(*v));
                    parts.is_some_and(|(slope, rest)| {
                        slope.constant() == Some(1) && !self.scope.deps_of_formula(&rest).contains(v)
                    })
                })
            });
            let access = if last || at.len() < dims.len() { Access::Runs } else { Access::Gather };
            return (ways, access, false, loops);
        }
        exact &= just;
        if !windowed.is_empty() {
            let rest: Loops = bare.difference(&windowed).copied().collect();
            let (ways, _) = self.scope.ways(count, &rest);
            return (&ways * &windows, Access::Regular, false, loops);
        }
        (ways, Access::Regular, exact, loops)
    }

    /// Whether an index of several loops is another place for each of their indices: `i·m + j` with `j < m`.
    fn is_radix(&self, f: &Formula, own: &Loops, count: &Count) -> bool {
        let mut left = own.clone();
        let mut step = Formula::one();
        while !left.is_empty() {
            let next = left
                .iter()
                .copied()
                .find(|v| f.linear_in(Symbol::Value(*v)).is_some_and(|(slope, _)| slope == step));
            let Some(v) = next else { return false };
            let Some(size) = self.scope.regular_size(count, v) else { return false };
            step = &step * &size;
            left.remove(&v);
        }
        true
    }
}

impl Found {
    /// The arrays read, each once.
    pub fn reads(&self, scope: &Scope<'_>) -> Vec<Read> {
        let mut out: Vec<Read> = Vec::new();
        for (k, p) in self.reads.iter().enumerate() {
            if out.iter().any(|r| r.array == p.array) {
                continue;
            }
            let size = scope.product(&scope.p.vars[p.array].ty.dims);
            let others = || self.reads[k + 1..].iter().filter(|q| q.array == p.array);
            let same: Vec<&Place> = std::iter::once(p).chain(others()).collect();
            let mut all = p.read.clone();
            for q in &same[1..] {
                all.elements = &all.elements + &q.read.elements;
                all.access = all.access.max(q.read.access);
                all.again |= q.read.again;
            }
            let apart = same.iter().enumerate().all(|(k, a)| same[k + 1..].iter().all(|b| a.is_apart(b)));
            all.exact = apart && same.iter().all(|q| q.read.exact);
            if same.iter().any(|q| q.read.exact && q.read.elements == size) {
                // The other places are among these.
                (all.elements, all.exact, all.access) = (size, true, Access::Regular);
            } else if all.access == Access::Regular && !all.exact {
                let sum_is_less = same.len() > 1 && all.elements.is_at_most(&size);
                let one_is_less = same.len() == 1 && !size.is_at_most(&all.elements);
                if !(sum_is_less || one_is_less) {
                    all.elements = size;
                }
            }
            out.push(all);
        }
        out
    }
}

impl Place {
    /// Whether no element is at both places: they are in different rows.
    fn is_apart(&self, other: &Place) -> bool {
        let constants = self.at.iter().zip(&other.at).map(|(a, b)| (a.constant(), b.constant()));
        constants.into_iter().any(|(a, b)| a.is_some() && b.is_some() && a != b)
    }
}

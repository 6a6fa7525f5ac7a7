//! Where the plan frees its buffers: after their last use.
//!
//! ```text
//! (alloc %xs) (launch k0 (%xs)) (alloc %ys) (launch k1 (%xs %ys)) (free %xs)
//! ```
//!
//! A buffer belongs to the block that allocates it, receives it as a carried value, or is given it by an
//! `if` or loop. Where it is handed on (as the first or next state of a loop, the value of a branch, a
//! result) it is not freed; where one branch of an `if` does, the other frees it. The runtime keeps freed
//! memory for the next buffer of that size, so that a loop that allocates in every iteration uses the same
//! memory again and again.

use crate::ir::*;
use remc_base::Prov;
use rustc_hash::{FxHashMap, FxHashSet};

/// Adds the `free`s to a plan that has none.
pub fn insert_frees(p: &mut Program) {
    let mut plan = std::mem::take(&mut p.plan);
    let results: Vec<Atom> = p.results.clone();
    let is_buffer: FxHashSet<Var> =
        p.vars.iter().filter(|(_, i)| matches!(i.ty, Ty::Buffer(_))).map(|(v, _)| v).collect();
    let mut roots = FxHashMap::default();
    aliases(&plan, &mut roots);
    let prov = plan.first().map_or(Prov(0), |s| s.prov);
    let f = Frees { is_buffer, roots, prov };
    f.block(&mut plan, &[], &results);
    p.plan = plan;
}

struct Frees {
    is_buffer: FxHashSet<Var>,
    roots: FxHashMap<Var, Var>,
    /// Of what has no statement to follow.
    prov: Prov,
}

fn aliases(block: &[Stmt], roots: &mut FxHashMap<Var, Var>) {
    for s in block {
        if let StmtKind::Alias { buffer, of } | StmtKind::Slice { buffer, of, .. } = &s.kind {
            let root = roots.get(of).copied().unwrap_or(*of);
            roots.insert(*buffer, root);
        }
        for b in s.kind.blocks() {
            aliases(b, roots);
        }
    }
}

impl Frees {
    fn root(&self, v: Var) -> Var {
        self.roots.get(&v).copied().unwrap_or(v)
    }

    /// `received` are the buffers that the block is given; `gives` are the atoms that it hands on.
    fn block(&self, block: &mut Vec<Stmt>, received: &[Var], gives: &[Atom]) {
        let mut owned: FxHashMap<Var, usize> = received.iter().map(|v| (*v, 0)).collect();
        let mut last: FxHashMap<Var, usize> = FxHashMap::default();
        let mut moved: FxHashSet<Var> =
            gives.iter().filter_map(|a| a.as_var()).map(|v| self.root(v)).collect();
        for (k, s) in block.iter_mut().enumerate() {
            match &mut s.kind {
                StmtKind::Alloc { buffer } => {
                    owned.insert(*buffer, k);
                }
                StmtKind::Pull { buffers, .. } => owned.extend(buffers.iter().map(|b| (*b, k))),
                StmtKind::For { carried, body, next, .. } => {
                    self.loop_(carried, body, next, k, &mut owned, &mut moved);
                }
                StmtKind::While { carried, cond, body, next, .. } => {
                    self.block(cond, &[], &[]);
                    self.loop_(carried, body, next, k, &mut owned, &mut moved);
                }
                StmtKind::If { then, otherwise, results, .. } => {
                    let (a, b): (Vec<_>, Vec<_>) = results.iter().map(|c| (c.then, c.otherwise)).unzip();
                    // What one branch hands on is the other's to free.
                    let mut handed_on = FxHashSet::default();
                    self.hands_on(then, &a, &mut handed_on);
                    self.hands_on(otherwise, &b, &mut handed_on);
                    let mut given: Vec<Var> =
                        handed_on.into_iter().filter(|v| owned.contains_key(v)).collect();
                    given.sort_unstable();
                    self.block(then, &given, &a);
                    self.block(otherwise, &given, &b);
                    moved.extend(given);
                    for c in results {
                        if self.is_buffer.contains(&c.var) {
                            owned.insert(c.var, k);
                        }
                    }
                }
                _ => {}
            }
            mentions(&s.kind, &mut |v| {
                last.insert(self.root(v), k);
            });
        }
        let mut frees: Vec<(usize, Var)> = owned
            .iter()
            .filter(|(v, _)| !moved.contains(v))
            .map(|(v, made)| (last.get(v).copied().unwrap_or(*made).max(*made), *v))
            .collect();
        frees.sort_by_key(|(at, v)| (*at, v.0));
        let free = |buffer, prov| Stmt { kind: StmtKind::Free { buffer }, prov };
        let mut stmts = Vec::with_capacity(block.len() + frees.len());
        let mut frees = frees.into_iter().peekable();
        for (k, s) in block.drain(..).enumerate() {
            let prov = s.prov;
            stmts.push(s);
            while let Some((_, buffer)) = frees.next_if(|(at, _)| *at <= k) {
                stmts.push(free(buffer, prov));
            }
        }
        // Those that an empty block is given.
        stmts.extend(frees.map(|(_, buffer)| free(buffer, self.prov)));
        *block = stmts;
    }

    /// The buffers that a block hands on, its own among them.
    fn hands_on(&self, block: &[Stmt], gives: &[Atom], all: &mut FxHashSet<Var>) {
        all.extend(gives.iter().filter_map(|a| a.as_var()).map(|v| self.root(v)));
        for s in block {
            match &s.kind {
                StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => {
                    all.extend(carried.iter().filter_map(|c| c.init.as_var()).map(|v| self.root(v)));
                }
                StmtKind::If { then, otherwise, results, .. } => {
                    let (a, b): (Vec<_>, Vec<_>) = results.iter().map(|c| (c.then, c.otherwise)).unzip();
                    self.hands_on(then, &a, all);
                    self.hands_on(otherwise, &b, all);
                }
                _ => {}
            }
        }
    }

    fn loop_(
        &self,
        carried: &[Carried],
        body: &mut Vec<Stmt>,
        next: &[Atom],
        k: usize,
        owned: &mut FxHashMap<Var, usize>,
        moved: &mut FxHashSet<Var>,
    ) {
        let received: Vec<Var> =
            carried.iter().map(|c| c.param).filter(|v| self.is_buffer.contains(v)).collect();
        self.block(body, &received, next);
        for c in carried {
            if self.is_buffer.contains(&c.result) {
                owned.insert(c.result, k);
                if let Atom::Var(v) = c.init {
                    moved.insert(self.root(v));
                }
            }
        }
    }
}

/// The parameters of kernels that launches of a plan give slices of buffers.
pub fn given_slices(p: &Program) -> FxHashSet<Var> {
    let (mut slices, mut given) = (FxHashSet::default(), FxHashSet::default());
    find_slices(p, &p.plan, &mut slices, &mut given);
    given
}

fn find_slices(p: &Program, block: &[Stmt], slices: &mut FxHashSet<Var>, given: &mut FxHashSet<Var>) {
    for s in block {
        match &s.kind {
            StmtKind::Slice { buffer, .. } => {
                slices.insert(*buffer);
            }
            StmtKind::Alias { buffer, of } if slices.contains(of) => {
                slices.insert(*buffer);
            }
            StmtKind::Launch { kernel, args } => {
                let params = p.kernels.get(*kernel).map_or(&[][..], |k| &k.params);
                let pairs = params.iter().zip(args);
                given.extend(
                    pairs.filter(|(_, a)| a.as_var().is_some_and(|v| slices.contains(&v))).map(|(v, _)| *v),
                );
            }
            kind => kind.blocks().into_iter().for_each(|b| find_slices(p, b, slices, given)),
        }
    }
}

/// Every variable that a statement mentions, inside it too.
pub fn mentions(s: &StmtKind, f: &mut dyn FnMut(Var)) {
    let mut atom = |a: &Atom| {
        if let Atom::Var(v) = a {
            f(*v);
        }
    };
    match s {
        StmtKind::Let { exp, .. } => match exp {
            Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => atom(a),
            Exp::Op(_, args) => args.iter().for_each(atom),
            Exp::Load { buffer, at } => {
                at.iter().for_each(&mut atom);
                f(*buffer);
            }
            Exp::Test(t) => atom(&t.size),
            Exp::Workers => {}
        },
        StmtKind::Store { buffer, at, value } | StmtKind::Update { buffer, at, value, .. } => {
            at.iter().for_each(&mut atom);
            atom(value);
            f(*buffer);
        }
        StmtKind::For { range, carried, next, .. } => {
            range.atoms().iter().for_each(&mut atom);
            carried.iter().for_each(|c| atom(&c.init));
            next.iter().for_each(&mut atom);
        }
        StmtKind::While { carried, test, next, .. } => {
            carried.iter().for_each(|c| atom(&c.init));
            atom(test);
            next.iter().for_each(&mut atom);
        }
        StmtKind::If { cond, results, .. } => {
            atom(cond);
            for c in results {
                atom(&c.then);
                atom(&c.otherwise);
            }
        }
        StmtKind::Chain { state, at, links, next, .. } => {
            at.iter().chain(next).for_each(&mut atom);
            for l in links {
                atom(&l.init);
                atom(&l.item);
            }
            links.iter().flat_map(Link::memory).for_each(&mut *f);
            f(*state);
        }
        StmtKind::Points { index, dims, .. } => {
            atom(index);
            dims.iter().for_each(&mut atom);
        }
        StmtKind::Barrier => {}
        StmtKind::Collective { count, joined, next, .. } => {
            atom(count);
            joined.iter().for_each(|j| atom(&j.item));
            next.iter().for_each(&mut atom);
        }
        StmtKind::Check { cond, values, .. } => {
            atom(cond);
            values.iter().for_each(&mut atom);
        }
        StmtKind::Alloc { buffer } | StmtKind::Free { buffer } => f(*buffer),
        StmtKind::Alias { buffer, of } => {
            f(*buffer);
            f(*of);
        }
        StmtKind::Slice { buffer, of, first } => {
            atom(first);
            f(*buffer);
            f(*of);
        }
        StmtKind::Launch { args, .. } => args.iter().for_each(&mut atom),
        StmtKind::Sort { keys, out, at, .. } => {
            at.iter().for_each(&mut atom);
            keys.iter().for_each(|k| f(*k));
            f(*out);
        }
        StmtKind::Pull { at, take, buffers, .. } => {
            atom(at);
            take.operand().iter().for_each(&mut atom);
            buffers.iter().for_each(|b| f(*b));
        }
        StmtKind::Push { buffers, .. } => buffers.iter().for_each(|b| f(*b)),
    }
    for b in s.blocks() {
        for inner in b {
            mentions(&inner.kind, f);
        }
    }
}

/// The buffers that statements load from.
pub fn read(block: &[Stmt]) -> FxHashSet<Var> {
    let mut found = FxHashSet::default();
    let mut todo: Vec<&[Stmt]> = vec![block];
    while let Some(b) = todo.pop() {
        for s in b {
            match &s.kind {
                StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } | StmtKind::Update { buffer, .. } => {
                    found.insert(*buffer);
                }
                StmtKind::Chain { state, links, .. } => {
                    found.extend(links.iter().flat_map(Link::memory).chain([*state]));
                }
                _ => {}
            }
            todo.extend(s.kind.blocks().into_iter().map(Vec::as_slice));
        }
    }
    found
}

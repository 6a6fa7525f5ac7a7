//! Loops in lanes and scans: what they carry is reduced or scanned, and all lanes take the same way, or nearly always
//! ([`crate::uniformity`]) in a loop that carries nothing, or may take different ones, and leave loops one by one
//! ([`crate::predicate`]).
//!
//! Each lane has a carried value of its own, of which the last ones are combined at the end. So nobody
//! but the operator may see it: its parameter is mentioned in the one statement that makes the next
//! value, and that one as the next value alone. Then the other operand cannot depend on it.
//! In a scan everybody may see it but what the other operand is made of ([`crate::scan`]).
//!
//! What differs between lanes is found by following data from the loop's variable: through operators,
//! loads at an index that differs, and values that inner loops carry. A load at an index that is the same
//! for all lanes gives them the same value, since no lane writes where another reads ([`crate::race`]);
//! only memory that each lane has for itself may differ at any index.

use super::{Result, Rule, Verifier};
use crate::ir::*;
use crate::memory::mentions;
use crate::predicate::can_predicate;
use crate::scan;
use rustc_hash::{FxHashMap, FxHashSet};

impl<'p> Verifier<'p> {
    /// The rules of a loop in lanes whose statements are checked already.
    pub(super) fn lanes(&mut self, var: Var, carried: &[Carried], body: &'p [Stmt], next: &[Atom]) -> Result {
        self.reductions(carried, body, next)?;
        self.alike(var, carried, body)
    }

    /// The same of a scan.
    pub(super) fn scan(&mut self, var: Var, carried: &[Carried], body: &'p [Stmt], next: &[Atom]) -> Result {
        for c in carried {
            let ty = self.p.scalar_ty(Atom::Var(c.param));
            let neutral = c.combine.zip(ty).and_then(|(op, ty)| neutral(op, ty));
            self.ensure(neutral.is_some(), Rule::Scan, || {
                format!("{} has no operator to scan with", self.name(c.param))
            })?;
        }
        if let Err(k) = scan::phases(carried, body, next)
            && let (Some(c), Some(next)) = (carried.get(k), next.get(k))
        {
            let (next, param) = (self.text(*next), self.name(c.param));
            return self.broken(
                Rule::Scan,
                format!("{next} is not made by its operator of {param} and of something independent"),
            );
        }
        self.alike(var, carried, body)
    }

    /// Whether all lanes take the same way.
    fn alike(&mut self, var: Var, carried: &[Carried], body: &'p [Stmt]) -> Result {
        let mut varying = Varying::default();
        varying.vars.insert(var);
        varying.vars.extend(carried.iter().map(|c| c.param));
        // What differs only grows.
        loop {
            let before = varying.vars.len() + varying.own.len();
            varying.block(body);
            if varying.vars.len() + varying.own.len() == before {
                break;
            }
        }
        // Lanes that disagree run one by one, which what is carried in lanes cannot.
        let branches = match carried {
            [] => crate::uniformity::uniformity(self.p, var, carried, body).branches,
            _ => FxHashSet::default(),
        };
        self.invariant(body, &varying, &branches)
    }

    fn reductions(&self, carried: &[Carried], body: &'p [Stmt], next: &[Atom]) -> Result {
        if carried.is_empty() {
            return Ok(());
        }
        let mut count: FxHashMap<Var, usize> = FxHashMap::default();
        for s in body {
            mentions(&s.kind, &mut |v| *count.entry(v).or_default() += 1);
        }
        for a in next.iter().filter_map(|a| a.as_var()) {
            *count.entry(a).or_default() += 1;
        }
        let once = |v: Var| count.get(&v) == Some(&1);
        for (c, next) in carried.iter().zip(next) {
            let name = || self.name(c.param);
            let param = Atom::Var(c.param);
            let neutral = c.combine.zip(self.p.scalar_ty(param)).and_then(|(op, ty)| neutral(op, ty));
            let Some(op) = c.combine.filter(|_| neutral.is_some()) else {
                return self.broken(Rule::Combine, format!("{} has no operator that combines lanes", name()));
            };
            self.ensure(once(c.param), Rule::Combine, || format!("{} is mentioned elsewhere", name()))?;
            if *next == param {
                continue;
            }
            let made = body.iter().any(|s| match &s.kind {
                StmtKind::Let { var, exp: Exp::Op(o, args) } => {
                    Atom::Var(*var) == *next && *o == op && args.contains(&param) && once(*var)
                }
                _ => false,
            });
            self.ensure(made, Rule::Combine, || {
                format!(
                    "{} is not `{op}` of {} and something else, or not only that",
                    self.text(*next),
                    name()
                )
            })?;
        }
        Ok(())
    }

    /// Whether the threads of a block do together what they must: no condition or bound around it differs
    /// between them, and what a block hands on is the same for all.
    pub(super) fn threads_alike(&mut self, thread: Var, body: &'p [Stmt]) -> Result {
        let mut varying = Varying::default();
        varying.vars.insert(thread);
        loop {
            let before = varying.vars.len() + varying.own.len();
            varying.block(body);
            if varying.vars.len() + varying.own.len() == before {
                break;
            }
        }
        self.uniform(body, &varying)
    }

    fn uniform(&mut self, block: &'p [Stmt], varying: &Varying) -> Result {
        for s in block {
            self.prov = Some(s.prov);
            let tested: Vec<Atom> = match &s.kind {
                StmtKind::For { range, .. } => range.atoms(),
                StmtKind::While { test: cond, .. } | StmtKind::If { cond, .. } => vec![*cond],
                StmtKind::Chain { links, .. } => links.iter().flat_map(|l| [l.init, l.item]).collect(),
                _ => Vec::new(),
            };
            let meets = matches!(s.kind, StmtKind::Chain { .. })
                || s.kind.blocks().into_iter().flatten().any(|s| meets(&s.kind));
            if meets && let Some(a) = tested.into_iter().find(|a| varying.has(*a)) {
                return self.broken(Rule::Uniform, format!("{} differs between threads", self.text(a)));
            }
            for b in s.kind.blocks() {
                self.uniform(b, varying)?;
            }
        }
        Ok(())
    }

    fn invariant(&mut self, block: &'p [Stmt], varying: &Varying, branches: &FxHashSet<Var>) -> Result {
        let outer = self.prov;
        for s in block {
            self.prov = Some(s.prov);
            let apart = || s.kind.blocks().into_iter().all(|b| can_predicate(b));
            let tested: Vec<Atom> = match &s.kind {
                StmtKind::If { cond: Atom::Var(c), .. } if branches.contains(c) => Vec::new(),
                StmtKind::For { range: Range::Upto { .. }, .. }
                | StmtKind::While { .. }
                | StmtKind::If { .. }
                    if apart() =>
                {
                    Vec::new()
                }
                StmtKind::For { range, .. } => range.atoms(),
                StmtKind::While { test: cond, .. } | StmtKind::If { cond, .. } => vec![*cond],
                _ => Vec::new(),
            };
            if let Some(a) = tested.into_iter().find(|a| varying.has(*a)) {
                return self.broken(Rule::Invariant, format!("{} differs between lanes", self.text(a)));
            }
            for b in s.kind.blocks() {
                self.invariant(b, varying, branches)?;
            }
        }
        self.prov = outer;
        Ok(())
    }
}

/// Whether the threads of a block meet in a statement, or inside of it.
fn meets(s: &StmtKind) -> bool {
    matches!(s, StmtKind::Barrier | StmtKind::Collective { .. } | StmtKind::Chain { .. })
        || s.blocks().into_iter().flatten().any(|s| meets(&s.kind))
}

/// What is known to differ between lanes, or threads.
#[derive(Default)]
struct Varying {
    vars: FxHashSet<Var>,
    /// Buffers that each lane has for itself.
    own: FxHashSet<Var>,
}

impl Varying {
    fn has(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.vars.contains(&v))
    }

    fn set(&mut self, v: Var, varies: bool) {
        if varies {
            self.vars.insert(v);
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        for s in block {
            match &s.kind {
                StmtKind::Let { var, exp } => {
                    let varies = match exp {
                        Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => self.has(*a),
                        Exp::Op(_, args) => args.iter().any(|a| self.has(*a)),
                        Exp::Load { buffer, at } => {
                            self.own.contains(buffer) || at.iter().any(|a| self.has(*a))
                        }
                        Exp::Workers | Exp::Test(_) => false,
                    };
                    self.set(*var, varies);
                }
                StmtKind::Alloc { buffer } => {
                    self.own.insert(*buffer);
                }
                StmtKind::For { var, range, carried, body, next, .. } => {
                    let differs = range.atoms().iter().any(|a| self.has(*a));
                    self.set(*var, differs);
                    self.block(body);
                    self.carried(carried, next, differs);
                }
                StmtKind::While { carried, cond, test, body, next } => {
                    self.block(cond);
                    self.block(body);
                    self.carried(carried, next, self.has(*test));
                }
                StmtKind::Points { vars, index, .. } => {
                    vars.iter().for_each(|v| self.set(*v, self.has(*index)));
                }
                StmtKind::Collective { joined, body, .. } => {
                    self.vars.extend(joined.iter().flat_map(|j| [Some(j.x), Some(j.y), j.before]).flatten());
                    self.block(body);
                }
                StmtKind::Chain { body, .. } => self.block(body),
                StmtKind::If { cond, then, otherwise, results } => {
                    self.block(then);
                    self.block(otherwise);
                    for c in results {
                        self.set(c.var, self.has(*cond) || self.has(c.then) || self.has(c.otherwise));
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether another number of iterations makes them differ, too.
    fn carried(&mut self, carried: &[Carried], next: &[Atom], differs: bool) {
        for (c, next) in carried.iter().zip(next) {
            let varies = differs || self.has(c.init) || self.has(*next);
            self.set(c.param, varies);
            self.set(c.result, varies);
        }
    }
}

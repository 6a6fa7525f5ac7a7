//! The plan's buffers: each is freed or handed on once, and not used after.
//!
//! Ownership is linear. The block that allocates a buffer owns it, or that is given it: as the parameter
//! of a loop, as the result of a loop or an `if`. It ends when the buffer is freed or handed on, as a
//! first or next value of a loop, as the value of a branch, as a result of the program. The program's
//! parameters are borrowed: they are only read. An `alias` is a second name; who hands it on, hands on
//! the buffer. A `slice` is a name for some of its rows, and cannot stand for it.
//!
//! ```text
//! (alloc %xs) (launch k0 (%n %xs)) (free %xs) (give 0)
//! (alloc %xs) (free %xs) (launch k0 (%n %xs))      Rule::Gone
//! (alloc %xs) (give 0)                             Rule::Leak
//! (if %c (then (free %xs)) (else) ())              Rule::Alike
//! ```

use super::{Broken, Result, Rule};
use crate::ir::*;
use crate::{print, race};
use remc_base::Prov;
use remc_base::ids::Id;
use rustc_hash::{FxHashMap, FxHashSet};

/// Checks the plan, whose scopes and types are right.
pub(super) fn check(p: &Program) -> Result {
    let borrowed = p.params.iter().filter(|v| p.buffer_ty(**v).is_some());
    let mut o = Owner {
        p,
        written: race::written(p),
        states: borrowed.map(|v| (*v, State::Borrowed)).collect(),
        roots: FxHashMap::default(),
        slices: FxHashSet::default(),
        prov: None,
    };
    o.block(&p.plan, &p.results, &[])
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Owned,
    Borrowed,
    /// Freed or handed on.
    Gone,
}

struct Owner<'p> {
    p: &'p Program,
    /// The parameters that each kernel writes.
    written: Vec<FxHashSet<Var>>,
    /// The buffers in scope, by the name that owns them.
    states: FxHashMap<Var, State>,
    /// What an alias is another name of.
    roots: FxHashMap<Var, Var>,
    slices: FxHashSet<Var>,
    prov: Option<Prov>,
}

impl<'p> Owner<'p> {
    fn broken<T>(&self, rule: Rule, message: impl Into<String>) -> Result<T> {
        Err(Broken { rule, kernel: None, prov: self.prov, message: message.into() })
    }

    fn name(&self, v: Var) -> String {
        format!("`{}`", print::var(self.p, v))
    }

    fn is_buffer(&self, v: Var) -> bool {
        self.p.buffer_ty(v).is_some()
    }

    fn root(&self, v: Var) -> Var {
        self.roots.get(&v).copied().unwrap_or(v)
    }

    /// The owner of a buffer that is still there.
    fn used(&self, v: Var) -> Result<(Var, State)> {
        let root = self.root(v);
        match self.states.get(&root) {
            Some(State::Gone) | None => {
                self.broken(Rule::Gone, format!("{} is used after it is freed or handed on", self.name(v)))
            }
            Some(state) => Ok((root, *state)),
        }
    }

    fn write(&self, v: Var) -> Result {
        match self.used(v)?.1 {
            State::Borrowed => {
                self.broken(Rule::Written, format!("the parameter {} is written", self.name(v)))
            }
            _ => Ok(()),
        }
    }

    fn whole(&self, v: Var) -> Result {
        match self.slices.contains(&v) {
            true => self.broken(Rule::Slice, format!("{} is rows of another buffer", self.name(v))),
            false => Ok(()),
        }
    }

    fn end(&mut self, v: Var) -> Result {
        self.whole(v)?;
        let (root, state) = self.used(v)?;
        if state == State::Borrowed {
            return self.broken(Rule::Borrowed, format!("{} is a parameter's memory", self.name(v)));
        }
        self.states.insert(root, State::Gone);
        Ok(())
    }

    fn hand_on(&mut self, atoms: impl IntoIterator<Item = Atom>) -> Result {
        for v in atoms.into_iter().filter_map(Atom::as_var) {
            if self.is_buffer(v) {
                self.end(v)?;
            }
        }
        Ok(())
    }

    fn own(&mut self, vars: impl IntoIterator<Item = Var>) {
        for v in vars {
            if self.is_buffer(v) {
                self.states.insert(v, State::Owned);
            }
        }
    }

    /// A block that is given `received`, and hands on `gives`. Then nothing of its own is left.
    fn block(&mut self, block: &'p [Stmt], gives: &[Atom], received: &[Var]) -> Result {
        let outside: FxHashSet<Var> = self.states.keys().copied().collect();
        let around = self.prov;
        self.own(received.iter().copied());
        for s in block {
            self.prov = Some(s.prov);
            self.stmt(&s.kind)?;
        }
        self.prov = around;
        self.hand_on(gives.iter().copied())?;
        let mut own: Vec<(Var, State)> =
            self.states.iter().filter(|(v, _)| !outside.contains(v)).map(|(v, s)| (*v, *s)).collect();
        own.sort_by_key(|(v, _)| *v);
        for (v, state) in own {
            if state == State::Owned {
                return self.broken(Rule::Leak, format!("{} is neither freed nor handed on", self.name(v)));
            }
            self.states.remove(&v);
        }
        Ok(())
    }

    /// A block that runs any number of times, and so may not change what is outside.
    fn repeated(&mut self, block: &'p [Stmt], gives: &[Atom], received: &[Var]) -> Result {
        let before = self.states.clone();
        self.block(block, gives, received)?;
        self.same(&before, Rule::Loop, "is freed or handed on in a loop that does not own it")
    }

    fn same(&self, before: &FxHashMap<Var, State>, rule: Rule, message: &str) -> Result {
        let changed = before.iter().filter(|(v, s)| self.states.get(v) != Some(s)).map(|(v, _)| *v).min();
        changed.map_or(Ok(()), |v| self.broken(rule, format!("{} {message}", self.name(v))))
    }

    fn stmt(&mut self, s: &'p StmtKind) -> Result {
        match s {
            StmtKind::Let { exp, .. } => match exp {
                Exp::Load { buffer, .. } => self.used(*buffer).map(|_| ()),
                Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Bits(_) | Exp::Workers | Exp::Test(_) => {
                    Ok(())
                }
            },
            StmtKind::Store { buffer, .. } | StmtKind::Update { buffer, .. } => self.write(*buffer),
            // No plan has what only threads do.
            StmtKind::Check { .. }
            | StmtKind::Chain { .. }
            | StmtKind::Points { .. }
            | StmtKind::Barrier
            | StmtKind::Collective { .. } => Ok(()),
            StmtKind::For { carried, body, next, .. } => {
                self.hand_on(carried.iter().map(|c| c.init))?;
                let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
                self.repeated(body, next, &params)?;
                self.own(carried.iter().map(|c| c.result));
                Ok(())
            }
            StmtKind::While { carried, cond, body, next, .. } => {
                self.hand_on(carried.iter().map(|c| c.init))?;
                let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
                // The condition only looks at what the loop carries, which is there as long as it runs.
                let before = self.states.clone();
                self.own(params.iter().copied());
                self.repeated(cond, &[], &[])?;
                self.states = before;
                self.repeated(body, next, &params)?;
                self.own(carried.iter().map(|c| c.result));
                Ok(())
            }
            StmtKind::If { then, otherwise, results, .. } => {
                let before = self.states.clone();
                let (yes, no): (Vec<_>, Vec<_>) = results.iter().map(|c| (c.then, c.otherwise)).unzip();
                self.block(then, &yes, &[])?;
                let after = std::mem::replace(&mut self.states, before);
                self.block(otherwise, &no, &[])?;
                self.same(&after, Rule::Alike, "is freed or handed on in one branch and not in the other")?;
                self.own(results.iter().map(|c| c.var));
                Ok(())
            }
            StmtKind::Alloc { buffer } => {
                self.own([*buffer]);
                Ok(())
            }
            StmtKind::Free { buffer } => {
                if self.roots.contains_key(buffer) {
                    return self.broken(Rule::Free, format!("{} is an alias", self.name(*buffer)));
                }
                self.end(*buffer)
            }
            StmtKind::Alias { buffer, of } => {
                let (root, _) = self.used(*of)?;
                self.roots.insert(*buffer, root);
                if self.slices.contains(of) {
                    self.slices.insert(*buffer);
                }
                Ok(())
            }
            StmtKind::Slice { buffer, of, .. } => {
                let (root, _) = self.used(*of)?;
                self.roots.insert(*buffer, root);
                self.slices.insert(*buffer);
                Ok(())
            }
            StmtKind::Launch { kernel, args } => self.launch(*kernel, args),
            StmtKind::Sort { keys, out, .. } => {
                for k in keys {
                    self.whole(*k)?;
                    self.used(*k)?;
                }
                self.whole(*out)?;
                self.write(*out)
            }
            StmtKind::Pull { buffers, .. } => {
                self.own(buffers.iter().copied());
                Ok(())
            }
            StmtKind::Push { buffers, .. } => {
                for b in buffers {
                    self.whole(*b)?;
                    self.used(*b)?;
                }
                Ok(())
            }
        }
    }

    fn launch(&self, id: KernelId, args: &[Atom]) -> Result {
        let Some(kernel) = self.p.kernels.get(id) else { return Ok(()) };
        for (param, a) in kernel.params.iter().zip(args) {
            let Some(v) = a.as_var().filter(|v| self.is_buffer(*v)) else { continue };
            match self.written.get(id.index()).is_some_and(|w| w.contains(param)) {
                true => self.write(v)?,
                false => self.used(v).map(|_| ())?,
            }
        }
        self.one_name(id, kernel, args)
    }

    fn one_name(&self, id: KernelId, kernel: &Kernel, args: &[Atom]) -> Result {
        let buffers = || args.iter().enumerate().filter_map(|(k, a)| Some((k, a.as_var()?)));
        let whole = |v: &Var| self.is_buffer(*v) && !self.slices.contains(v);
        for (k, v) in buffers().filter(|(_, v)| whole(v)) {
            let written =
                self.written.get(id.index()).zip(kernel.params.get(k)).is_some_and(|(w, p)| w.contains(p));
            let same = |(j, u): &(usize, Var)| *j != k && whole(u) && self.root(*u) == self.root(v);
            if let Some((_, u)) = buffers().find(same).filter(|_| written) {
                let (v, u) = (self.name(v), self.name(u));
                return self
                    .broken(Rule::OneName, format!("a kernel writes {v}, and is given it as {u} too"));
            }
        }
        Ok(())
    }
}

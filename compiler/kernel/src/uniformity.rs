//! Uniformity that is tested at run time: conditions on which the lanes of a vector mostly agree.
//!
//! What reads its neighbours does something else at the edges of its array, and nearly every vector is far from those:
//!
//! ```text
//! t = i + 1        c = t ≥ n        j = select c (t - n) t        a rotated array: j grows by one but for one place
//! t = i - 1        j = max2 t 0                                   the first item once more: by one from i = 1 on
//! c = i < 1        if c then … else xs[i - 1]                     something else at the first place
//! ```
//!
//! An index like `t` grows by one from lane to lane. So a comparison of it with what all lanes share says the same until it
//! gets there, or starts again from the least integer: a vector in which it says one thing may choose, or branch, for all of
//! its lanes at once, and `j` grows by one there. Whoever runs a loop in lanes finds here what has to be asked first; a
//! vector whose lanes disagree runs some other way.

use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// What has to be known of the lanes of a vector before a body runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Uniformity {
    /// The statements that compute it: they may run for the first lane alone, before all others.
    pub slice: Vec<Stmt>,
    /// The comparisons on which lanes have to agree.
    pub conds: FxHashSet<Var>,
    /// Of each comparison the operand that grows by one from lane to lane.
    pub grows: FxHashMap<Var, Atom>,
    /// The smaller or larger of two indices, and the operand that it has to be, which grows by one from lane to lane.
    pub clamps: FxHashMap<Var, Atom>,
    /// The conditions of branches that are made of such comparisons.
    pub branches: FxHashSet<Var>,
    /// Whether one of those depends on what only the body may load: then lanes cannot be asked first.
    pub is_late: bool,
}

impl Uniformity {
    /// Whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.conds.is_empty() && self.clamps.is_empty()
    }
}

/// What has to be asked of the lanes of a loop over `var` with this body. What it carries is each lane's own.
pub fn uniformity(p: &Program, var: Var, carried: &[Carried], body: &[Stmt]) -> Uniformity {
    let mut f = Find {
        p,
        varying: carried.iter().map(|c| c.param).chain([var]).collect(),
        linear: FxHashSet::from_iter([var]),
        late: FxHashSet::default(),
        of: FxHashMap::default(),
        made: FxHashMap::default(),
        indices: Vec::new(),
        uniformity: Uniformity::default(),
    };
    f.block(body, true);
    f.finish()
}

struct Find<'p> {
    p: &'p Program,
    varying: FxHashSet<Var>,
    /// What grows by one from lane to lane, at least where lanes agree.
    linear: FxHashSet<Var>,
    /// What is made of elements that a check, or a branch, has to come before.
    late: FxHashSet<Var>,
    /// The comparisons that a condition is made of.
    of: FxHashMap<Var, Vec<Var>>,
    /// What an index that grows is made of: the index before it, and a condition that chooses. What is compared.
    made: FxHashMap<Var, (Vec<Atom>, Option<Var>)>,
    /// Indices of elements that are read or written.
    indices: Vec<Var>,
    uniformity: Uniformity,
}

impl Find<'_> {
    fn varies(&self, a: &Atom) -> bool {
        a.as_var().is_some_and(|v| self.varying.contains(&v))
    }

    fn grows(&self, a: &Atom) -> bool {
        a.as_var().is_some_and(|v| self.linear.contains(&v))
    }

    fn conds(&self, a: &Atom) -> Option<Vec<Var>> {
        a.as_var().and_then(|v| self.of.get(&v).cloned())
    }

    /// `always`: whether all that came before runs, whatever the data, so that a load may come first.
    fn block(&mut self, body: &[Stmt], mut always: bool) {
        for s in body {
            match &s.kind {
                StmtKind::Let { var, exp } => self.let_(*var, exp, s, always),
                StmtKind::Store { at, .. } | StmtKind::Update { at, .. } => {
                    self.indices.extend(at.iter().filter_map(|a| a.as_var()));
                }
                StmtKind::If { cond, then, otherwise, results } => {
                    if self.varies(cond)
                        && let Some(of) = self.conds(cond)
                    {
                        self.uniformity.conds.extend(of);
                        self.uniformity.branches.extend(cond.as_var());
                    }
                    self.block(then, false);
                    self.block(otherwise, false);
                    self.varying.extend(results.iter().map(|c| c.var));
                }
                StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => {
                    self.varying.extend(carried.iter().map(|c| c.result));
                    s.kind.blocks().into_iter().for_each(|b| self.elements(b));
                    always = false;
                }
                _ => always = false,
            }
        }
    }

    /// The indices of the elements that a loop inside reads or writes.
    fn elements(&mut self, body: &[Stmt]) {
        for s in body {
            match &s.kind {
                StmtKind::Let { exp: Exp::Load { at, .. }, .. }
                | StmtKind::Store { at, .. }
                | StmtKind::Update { at, .. } => {
                    self.indices.extend(at.iter().filter_map(|a| a.as_var()));
                }
                kind => kind.blocks().into_iter().for_each(|b| self.elements(b)),
            }
        }
    }

    fn let_(&mut self, var: Var, exp: &Exp, s: &Stmt, always: bool) {
        let varies = match exp {
            Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => self.varies(a),
            Exp::Op(_, args) => args.iter().any(|a| self.varies(a)),
            Exp::Load { at, .. } => {
                self.indices.extend(at.iter().filter_map(|a| a.as_var()));
                at.iter().any(|a| self.varies(a))
            }
            Exp::Workers | Exp::Test(_) => true,
        };
        let late = |a: &Atom| a.as_var().is_some_and(|v| self.late.contains(&v));
        let late = match exp {
            Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => late(a),
            Exp::Op(_, args) => args.iter().any(late),
            Exp::Load { at, .. } => !always || at.iter().any(late),
            Exp::Workers | Exp::Test(_) => false,
        };
        if late {
            self.late.insert(var);
        }
        if varies {
            self.varying.insert(var);
            let Exp::Op(op, args) = exp else { return };
            if !self.op(var, *op, args) {
                return;
            }
        }
        if !late {
            self.uniformity.slice.push(s.clone());
        }
    }

    /// Notes an operator if it is about indices that grow; whether it is.
    fn op(&mut self, var: Var, op: ScalarOp, args: &[Atom]) -> bool {
        use ScalarOp::{Add, And, Ge, Gt, Le, Lt, Max2, Min2, Not, Or, Select, Sub};
        let one = |a: &Atom, b: &Atom| self.grows(a) && !self.varies(b);
        let (grows, of) = match (op, args) {
            (Add | Max2 | Min2, [a, b]) if one(a, b) || one(b, a) => {
                let grows = if one(a, b) { a } else { b };
                if op != Add {
                    self.uniformity.clamps.insert(var, *grows);
                }
                (Some((vec![*grows], None)), None)
            }
            (Sub, [a, b]) if one(a, b) => (Some((vec![*a], None)), None),
            (Select, [c, a, b])
                if self.grows(a) && self.grows(b) && (self.conds(c).is_some() || !self.varies(c)) =>
            {
                (Some((vec![*a, *b], c.as_var())), None)
            }
            (Lt | Le | Gt | Ge, [a, b]) if one(a, b) || one(b, a) => {
                self.uniformity.grows.insert(var, if one(a, b) { *a } else { *b });
                (None, Some(vec![var]))
            }
            (Not, [a]) => (None, self.conds(a)),
            (And | Or, [a, b]) => {
                let part = |a: &Atom| if self.varies(a) { self.conds(a) } else { Some(Vec::new()) };
                (None, part(a).zip(part(b)).map(|(a, b)| [a, b].concat()))
            }
            _ => (None, None),
        };
        if let Some(made) = grows.filter(|_| self.p.scalar_ty(Atom::Var(var)) == Some(BaseTy::I64)) {
            self.linear.insert(var);
            self.made.insert(var, made);
            return true;
        }
        self.uniformity.clamps.remove(&var);
        let Some(of) = of else { return false };
        if of == [var] {
            self.made.insert(var, (args.to_vec(), None));
        }
        self.of.insert(var, of);
        true
    }

    /// Keeps what indices and branches are made of.
    fn finish(mut self) -> Uniformity {
        let mut needed = FxHashSet::default();
        let mut todo = self.indices;
        todo.extend(&self.uniformity.conds);
        while let Some(v) = todo.pop() {
            if !needed.insert(v) {
                continue;
            }
            let Some((from, cond)) = self.made.get(&v) else { continue };
            let conds = cond.iter().filter_map(|c| self.of.get(c)).flatten();
            todo.extend(from.iter().filter_map(|a| a.as_var()).chain(conds.clone().copied()));
            self.uniformity.conds.extend(conds);
        }
        let parts = self.uniformity.branches.iter().filter_map(|b| self.of.get(b)).flatten();
        self.uniformity.is_late = parts.into_iter().any(|c| self.late.contains(c));
        self.uniformity.conds.retain(|c| !self.late.contains(c));
        self.uniformity.grows.retain(|c, _| self.uniformity.conds.contains(c));
        self.uniformity.clamps.retain(|v, _| needed.contains(v) && !self.late.contains(v));
        self.uniformity
    }
}

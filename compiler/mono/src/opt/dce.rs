//! Dead code: what nobody uses is not computed.
//!
//! ```text
//! (let (%a %b) (map ((%i %n))                    (let (%b) (map ((%i %n))
//!   (let (%x) (index %xs %i))
//!   (let (%y) (op * %i 2))                         (let (%y) (op * %i 2))
//!   (give %x %y)))                                 (give %y)))
//! (let (%c) (op + %n 1))
//! (give %b)                                      (give %b)
//! ```
//!
//! Statements with several results have *slots*: the n-th result with what makes it, in each body, and
//! the loop variables or parameters that belong to it. A slot lives if its result is used or, in a loop or
//! an operator, if another living part reads its variables; the others are removed.
//!
//! Liveness starts from the results of the program and from the checks, with the statements around them,
//! and is followed from each variable to its definition by a worklist: each statement is looked at once.
//! The dims of a living variable live.

use super::simplify::keep_slots;
use crate::ir::*;
use remc_base::IdVec;
use remc_base::ids::Id;
use remc_base::pass::PassInfo;

pub const PASS: PassInfo =
    PassInfo { name: "dce", from: "mono", to: "mono", summary: "removes what nobody uses" };

pub fn dce(p: &mut Program) {
    let live = {
        let mut live = Live {
            p,
            stmts: Vec::new(),
            origins: vec![Origin::Outside; p.vars.len()],
            live: IdVec::new(),
            live_stmts: Vec::new(),
            live_slots: Vec::new(),
            queue: Vec::new(),
        };
        p.vars.iter().for_each(|_| {
            live.live.push(false);
        });
        live.enter(&p.body);
        live.effects(&p.body, &mut 0);
        p.body.results.iter().for_each(|a| live.atom(*a));
        live.run();
        (live.live_stmts, live.live_slots)
    };
    let mut body = std::mem::take(&mut p.body);
    sweep(&mut body, &live, &mut 0);
    p.body = body;
}

/// Where a variable comes from.
#[derive(Clone, Copy)]
enum Origin {
    Outside,
    /// A result, a loop variable or a parameter: of a slot of a statement.
    Slot(usize, usize),
    /// An index variable.
    Stmt(usize),
}

struct Live<'p> {
    p: &'p Program,
    /// Every statement, the outer before those inside it.
    stmts: Vec<&'p Stmt>,
    origins: Vec<Origin>,
    live: IdVec<Var, bool>,
    live_stmts: Vec<bool>,
    live_slots: Vec<Vec<bool>>,
    queue: Vec<Var>,
}

impl<'p> Live<'p> {
    /// Numbers the statements, and notes where variables come from.
    fn enter(&mut self, body: &'p Body) {
        for s in &body.stmts {
            let id = self.stmts.len();
            self.stmts.push(s);
            self.live_stmts.push(false);
            self.live_slots.push(vec![false; s.pat.len()]);
            for (k, v) in s.pat.iter().enumerate() {
                self.origins[v.index()] = Origin::Slot(id, k);
            }
            for v in s.exp.inner_binders() {
                self.origins[v.index()] = Origin::Stmt(id);
            }
            for (k, v) in slot_vars(s) {
                self.origins[v.index()] = Origin::Slot(id, k);
            }
            for b in s.exp.bodies() {
                self.enter(b);
            }
        }
    }

    /// Marks the checks and what is around them.
    fn effects(&mut self, body: &'p Body, next: &mut usize) -> bool {
        let mut any = false;
        for s in &body.stmts {
            let id = *next;
            *next += 1;
            let mut stops = matches!(s.exp, Exp::Check { .. } | Exp::Pull { .. } | Exp::Push { .. });
            for b in s.exp.bodies() {
                stops |= self.effects(b, next);
            }
            if stops {
                self.stmt(id);
            }
            // An operator that can stop is run on all that it is an operator of.
            let operator = match &s.exp {
                Exp::Reduce { op, .. } | Exp::Scan { op, .. } => Some(&op.lambda),
                Exp::Scatter { combine, .. } => combine.as_ref(),
                _ => None,
            };
            if operator.is_some_and(|l| l.body.can_stop()) {
                (0..s.pat.len()).for_each(|k| self.slot(id, k));
                self.elements(s);
            }
            any |= stops;
        }
        any
    }

    /// The elements of a serial reduction without accumulators, which is here for its operator's checks.
    fn elements(&mut self, s: &'p Stmt) {
        if let Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } = &s.exp
            && s.pat.is_empty()
        {
            self.atoms(&body.results);
            let p = self.p;
            op.lambda.params.iter().for_each(|v| self.atoms(&p.ty(*v).dims));
        }
    }

    fn atom(&mut self, a: Atom) {
        if let Atom::Var(v) = a
            && !self.live[v]
        {
            self.live[v] = true;
            self.queue.push(v);
        }
    }

    fn atoms<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) {
        atoms.into_iter().for_each(|a| self.atom(*a));
    }

    fn run(&mut self) {
        while let Some(v) = self.queue.pop() {
            let p = self.p;
            self.atoms(&p.ty(v).dims);
            match self.origins[v.index()] {
                Origin::Outside => {}
                Origin::Stmt(id) => self.stmt(id),
                Origin::Slot(id, k) => {
                    self.stmt(id);
                    self.slot(id, k);
                }
            }
        }
    }

    /// What a living statement needs whichever results of it live.
    fn stmt(&mut self, id: usize) {
        if std::mem::replace(&mut self.live_stmts[id], true) {
            return;
        }
        let exp = &self.stmts[id].exp;
        match exp {
            Exp::If { cond, .. } => self.atom(*cond),
            Exp::For { axis, .. }
            | Exp::Reduce { axis, .. }
            | Exp::Scan { axis, .. }
            | Exp::Grade { axis, .. }
            | Exp::Join { axis, .. } => self.atom(axis.size),
            Exp::While { cond, .. } => self.atoms(&cond.results),
            Exp::Map { axes, .. } => axes.iter().for_each(|a| self.atom(a.size)),
            Exp::Scatter { axis, body, .. } | Exp::Filter { axis, body } => {
                self.atom(axis.size);
                self.atoms(body.results.first());
            }
            _ => exp.for_each_operand(&mut |a| self.atom(a)),
        }
        match exp {
            // The number of items kept is the dim of the rest.
            Exp::Filter { .. } => self.slot(id, 0),
            // All of its results stay, also where it is here for its checks.
            Exp::Grade { body, .. } => {
                self.atoms(&body.results);
                (0..self.stmts[id].pat.len()).for_each(|k| self.slot(id, k));
            }
            _ => {}
        }
    }

    /// What makes a living result.
    fn slot(&mut self, id: usize, k: usize) {
        if std::mem::replace(&mut self.live_slots[id][k], true) {
            return;
        }
        let s = self.stmts[id];
        // The variable stays bound, whoever uses it.
        self.atoms(&self.p.ty(s.pat[k]).dims);
        match &s.exp {
            Exp::If { then, otherwise, .. } => {
                self.atoms([&then.results[k], &otherwise.results[k]]);
            }
            Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
                self.atoms([&state[k].1, &body.results[k]]);
                self.atoms(&self.p.ty(state[k].0).dims);
            }
            Exp::Map { body, .. } => self.atom(body.results[k]),
            // A serial one may have other elements than accumulators: all live, or none.
            Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. }
                if op.lambda.params.len() != 2 * s.pat.len() =>
            {
                self.atoms(&body.results);
                self.atoms(&op.lambda.body.results);
                self.atoms(op.start.iter().flatten());
                for v in &op.lambda.params {
                    self.atoms(&self.p.ty(*v).dims);
                }
                (0..s.pat.len()).for_each(|k| self.slot(id, k));
            }
            Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } => {
                self.atoms([&body.results[k], &op.lambda.body.results[k]]);
                self.atoms(op.start.iter().filter_map(|s| s.get(k)));
                let n = body.results.len();
                for v in [op.lambda.params[k], op.lambda.params[n + k]] {
                    self.atoms(&self.p.ty(v).dims);
                }
            }
            Exp::Scatter { dests, body, combine, .. } => {
                self.atom(Atom::Var(dests[k]));
                self.atom(body.results[k + 1]);
                for l in combine.iter() {
                    self.atom(l.body.results[k]);
                    for v in [l.params[k], l.params[dests.len() + k]] {
                        self.atoms(&self.p.ty(v).dims);
                    }
                }
            }
            Exp::Filter { body, .. } => self.atom(body.results[k]),
            Exp::Join { regular, body, .. } if k < *regular => self.atom(body.results[k]),
            // Three results for one: how many elements there are, where each point's begin, and all of them.
            Exp::Join { regular, body, .. } => {
                let row = (k - regular) / JOINED;
                self.atom(body.results[regular + row]);
                (0..JOINED).for_each(|part| self.slot(id, regular + JOINED * row + part));
            }
            _ => {}
        }
    }
}

/// How many results a join has for each that is of a size of its own.
const JOINED: usize = 3;

/// The loop variables and parameters that belong to slots.
fn slot_vars(s: &Stmt) -> Vec<(usize, Var)> {
    match &s.exp {
        Exp::For { state, .. } | Exp::While { state, .. } => {
            state.iter().enumerate().map(|(k, s)| (k, s.0)).collect()
        }
        Exp::Reduce { op: Combine { lambda, .. }, .. }
        | Exp::Scan { op: Combine { lambda, .. }, .. }
        | Exp::Scatter { combine: Some(lambda), .. } => {
            let n = s.pat.len();
            let slot = |k: usize| if lambda.params.len() == 2 * n { k % n } else { 0 };
            let params = lambda.params.iter().enumerate().filter(|_| n > 0);
            params.map(|(k, v)| (slot(k), *v)).collect()
        }
        _ => Vec::new(),
    }
}

/// Removes what does not live; statements are met in the order of their numbers.
fn sweep(body: &mut Body, live: &(Vec<bool>, Vec<Vec<bool>>), next: &mut usize) {
    let stmts = std::mem::take(&mut body.stmts);
    body.stmts.reserve(stmts.len());
    for mut s in stmts {
        let id = *next;
        *next += 1;
        if !live.0[id] {
            *next += count(&s.exp);
            continue;
        }
        s.exp.bodies_mut().into_iter().for_each(|b| sweep(b, live, next));
        let kept: Vec<usize> = (0..s.pat.len()).filter(|k| live.1[id][*k]).collect();
        if kept.len() < s.pat.len() {
            keep(&mut s, &kept);
        }
        body.stmts.push(s);
    }
}

/// The number of statements inside.
fn count(exp: &Exp) -> usize {
    let mut n = 0;
    exp.bodies().into_iter().for_each(|b| b.for_each_stmt(&mut |_| n += 1));
    n
}

fn keep(s: &mut Stmt, kept: &[usize]) {
    let all = s.pat.len();
    // The parameters of an operator: accumulators, then elements.
    let pairs: Vec<usize> = kept.iter().copied().chain(kept.iter().map(|k| k + all)).collect();
    if kept.is_empty()
        && let Exp::Reduce { axis, body, .. } | Exp::Scan { axis, body, .. } | Exp::Scatter { axis, body, .. } =
            &mut s.exp
    {
        // It is here for the checks in its body alone.
        let body = Body { stmts: std::mem::take(&mut body.stmts), results: Vec::new() };
        s.exp = Exp::Map { axes: vec![*axis], body };
        s.pat.clear();
        return;
    }
    let tail: Vec<usize> = std::iter::once(0).chain(kept.iter().map(|k| k + 1)).collect();
    match &mut s.exp {
        Exp::If { then, otherwise, .. } => {
            keep_slots(&mut then.results, kept);
            keep_slots(&mut otherwise.results, kept);
        }
        Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
            keep_slots(state, kept);
            keep_slots(&mut body.results, kept);
        }
        Exp::Map { body, .. } | Exp::Filter { body, .. } => keep_slots(&mut body.results, kept),
        Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } => {
            keep_slots(&mut body.results, kept);
            keep_slots(&mut op.lambda.params, &pairs);
            keep_slots(&mut op.lambda.body.results, kept);
            if let Some(start) = &mut op.start {
                keep_slots(start, kept);
            }
        }
        Exp::Scatter { dests, body, combine, .. } => {
            keep_slots(dests, kept);
            keep_slots(&mut body.results, &tail);
            if let Some(l) = combine {
                keep_slots(&mut l.params, &pairs);
                keep_slots(&mut l.body.results, kept);
            }
        }
        Exp::Join { axis, regular, body } => {
            let own = kept.iter().filter(|k| **k < *regular).count();
            let rows = kept[own..].iter().step_by(JOINED).map(|k| *regular + (k - *regular) / JOINED);
            let results: Vec<usize> = kept[..own].iter().copied().chain(rows).collect();
            keep_slots(&mut body.results, &results);
            *regular = own;
            if results.len() == own {
                let body = Body { stmts: std::mem::take(&mut body.stmts), results: body.results.clone() };
                s.exp = Exp::Map { axes: vec![*axis], body };
            }
        }
        // Its results are all or none, and none means that the statement is here for its checks.
        _ => return,
    }
    keep_slots(&mut s.pat, kept);
}

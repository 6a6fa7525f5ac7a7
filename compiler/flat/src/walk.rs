//! Walking Flat, and its parts that are Mono's.

use crate::ir::*;
use remc_mono::ir as mono;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

impl Exp {
    /// The bodies of the host inside, in order of evaluation.
    pub fn bodies(&self) -> Vec<&Body> {
        match self {
            Exp::If { then, otherwise, .. } | Exp::Branch { then, otherwise, .. } => vec![then, otherwise],
            Exp::For { body, .. } | Exp::SerialMap { body, .. } => vec![body],
            Exp::While { cond, body, .. } => vec![cond, body],
            _ => Vec::new(),
        }
    }
}

impl Exp {
    /// As [`Exp::bodies`].
    pub fn bodies_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Exp::If { then, otherwise, .. } | Exp::Branch { then, otherwise, .. } => vec![then, otherwise],
            Exp::For { body, .. } | Exp::SerialMap { body, .. } => vec![body],
            Exp::While { cond, body, .. } => vec![cond, body],
            _ => Vec::new(),
        }
    }

    /// Every operand, those of bodies inside among them.
    pub fn for_each_use(&self, f: &mut dyn FnMut(Atom)) {
        for b in self.leaves() {
            b.for_each_use(&mut |a| f(a));
        }
        for b in self.bodies() {
            b.for_each_use(f);
        }
        self.for_each_operand(f);
    }

    /// Those outside of its bodies and leaves: what a loop starts from, sizes, conditions.
    pub fn for_each_operand(&self, f: &mut dyn FnMut(Atom)) {
        let state = |state: &[(Var, Atom)], f: &mut dyn FnMut(Atom)| state.iter().for_each(|(_, a)| f(*a));
        match self {
            Exp::Host(e) => e.for_each_operand(&mut |a| f(a)),
            Exp::If { cond, .. } => f(*cond),
            Exp::Branch { guard, .. } => guard.tests.iter().for_each(|t| f(t.size)),
            Exp::For { axis, state: s, .. } => {
                f(axis.size);
                state(s, f);
            }
            Exp::While { state: s, .. } => state(s, f),
            Exp::SerialMap { axes, .. } => axes.iter().for_each(|a| f(a.size)),
            Exp::Seg(s) => {
                s.space.iter().for_each(|a| f(a.size));
                if let SegKind::Red { axis, op } | SegKind::Scan { axis, op, .. } = &s.kind {
                    f(axis.size);
                    op.start.iter().flatten().for_each(|a| f(*a));
                }
                if let SegKind::Scan { known: Some(known), .. } = &s.kind {
                    f(known.every);
                    known.before.iter().for_each(|v| f(Atom::Var(*v)));
                }
            }
            Exp::Scatter { dests, axis, .. } => {
                f(axis.size);
                dests.iter().for_each(|d| f(Atom::Var(*d)));
            }
            Exp::Rows(rows) => {
                f(rows.axis.size);
                rows.arrays().for_each(|v| f(Atom::Var(v)));
                rows.scratch.iter().for_each(|s| f(s.total));
            }
            Exp::Filters(parts) => parts.iter().for_each(|part| f(part.axis.size)),
            Exp::Grade { axis, .. } => f(axis.size),
        }
    }

    /// The bodies of Mono inside, those of operators too.
    pub fn leaves(&self) -> Vec<&mono::Body> {
        match self {
            Exp::Seg(s) => {
                let mut all = vec![&s.body];
                if let SegKind::Red { op, .. } | SegKind::Scan { op, .. } = &s.kind {
                    all.push(&op.lambda.body);
                }
                if let SegKind::Scan { epilogue: Some(l), .. } = &s.kind {
                    all.push(&l.body);
                }
                all
            }
            Exp::Scatter { body, combine, .. } => {
                std::iter::once(body).chain(combine.as_ref().map(|l| &l.body)).collect()
            }
            Exp::Filters(parts) => parts.iter().map(|part| &part.body).collect(),
            Exp::Grade { body, .. } | Exp::Rows(Rows { body, .. }) => vec![body],
            _ => Vec::new(),
        }
    }
}

impl Exp {
    /// As [`Exp::leaves`].
    pub fn leaves_mut(&mut self) -> Vec<&mut mono::Body> {
        match self {
            Exp::Seg(s) => {
                let mut all = vec![&mut s.body];
                match &mut s.kind {
                    SegKind::Red { op, .. } => all.push(&mut op.lambda.body),
                    SegKind::Scan { op, epilogue, .. } => {
                        all.push(&mut op.lambda.body);
                        all.extend(epilogue.iter_mut().map(|l| &mut l.body));
                    }
                    SegKind::Map => {}
                }
                all
            }
            Exp::Scatter { body, combine, .. } => {
                std::iter::once(body).chain(combine.as_mut().map(|l| &mut l.body)).collect()
            }
            Exp::Filters(parts) => parts.iter_mut().map(|part| &mut part.body).collect(),
            Exp::Grade { body, .. } | Exp::Rows(Rows { body, .. }) => vec![body],
            _ => Vec::new(),
        }
    }
}

impl Body {
    /// Every operand of its statements, and its results.
    pub fn for_each_use(&self, f: &mut dyn FnMut(Atom)) {
        self.stmts.iter().for_each(|s| s.exp.for_each_use(f));
        self.results.iter().for_each(|a| f(*a));
    }

    /// Every statement of the host, the outer before those inside it.
    pub fn for_each_stmt<'a>(&'a self, f: &mut impl FnMut(&'a Stmt)) {
        for s in &self.stmts {
            f(s);
            for b in s.exp.bodies() {
                b.for_each_stmt(f);
            }
        }
    }
}

impl Rows {
    /// The arrays that it mentions outside of its leaf.
    pub fn arrays(&self) -> impl Iterator<Item = Var> + '_ {
        let of = self.of.iter().flat_map(|p| std::iter::once(p.which).chain(p.into.iter().copied()));
        of.chain(self.starts.iter().copied()).chain(self.scratch.iter().map(|s| s.starts))
    }
}

impl Body {
    /// How many statements there are, those of the leaves counted.
    pub fn count(&self) -> usize {
        let mut n = 0;
        self.for_each_stmt(&mut |s| {
            n += 1 + s.exp.leaves().into_iter().map(mono::Body::count).sum::<usize>()
        });
        n
    }
}

impl Program {
    /// The parameters that are sizes of its inputs, and so never negative.
    pub fn input_sizes(&self) -> FxHashSet<Var> {
        let inputs: FxHashSet<Var> = self.inputs.iter().flat_map(mono::Input::vars).collect();
        self.params.iter().copied().filter(|v| !inputs.contains(v)).collect()
    }

    /// How many of each form there are that is more than O(1), versions counted apart; a `seg-map` over
    /// the empty space counts as `point`, several filters of the same points as one `partition`.
    ///
    /// ```text
    /// branch 1, seg-map 1, seg-red 1
    /// ```
    pub fn structure(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.body.for_each_stmt(&mut |s| {
            let form = match &s.exp {
                Exp::Host(mono::Exp::View { .. }) => "view",
                Exp::Host(mono::Exp::Pull { .. }) => "pull",
                Exp::Host(mono::Exp::Push { .. }) => "push",
                Exp::Host(_) => return,
                Exp::If { .. } => "if",
                Exp::For { .. } => "for",
                Exp::While { .. } => "while",
                Exp::SerialMap { .. } => "serial-map",
                Exp::Scatter { .. } => "scatter",
                Exp::Filters(parts) if parts.len() > 1 => "partition",
                Exp::Filters(_) => "filter",
                Exp::Grade { gives, .. } => gives.word(),
                Exp::Rows(_) => "rows",
                Exp::Branch { .. } => "branch",
                Exp::Seg(seg) => match (&seg.kind, seg.space.is_empty()) {
                    (SegKind::Map, true) => "point",
                    (SegKind::Map, false) => "seg-map",
                    (SegKind::Red { .. }, _) => "seg-red",
                    (SegKind::Scan { .. }, _) => "seg-scan",
                },
            };
            *counts.entry(form).or_default() += 1;
        });
        let counts: Vec<_> = counts.iter().map(|(form, n)| format!("{form} {n}")).collect();
        counts.join(", ")
    }

    /// A program of Mono without a body, which has all else in common with this one.
    pub fn table(&self) -> mono::Program {
        mono::Program {
            name: self.name.clone(),
            provs: self.provs.clone(),
            vars: self.vars.clone(),
            params: self.params.clone(),
            inputs: self.inputs.clone(),
            channels: self.channels.clone(),
            body: mono::Body::default(),
            output: self.output.clone(),
        }
    }

    /// The program that has all but the body in common with one of Mono.
    pub fn of_table(table: mono::Program, body: Body) -> Program {
        let mono::Program { name, provs, vars, params, inputs, channels, output, .. } = table;
        Program { name, provs, vars, params, inputs, channels, body, output }
    }
}

//! The verifier of Flat.
//!
//! What the two have in common is Mono's to check: of the program of the same meaning ([`crate::meaning`])
//! all of its rules must hold. Beside these stand the rules of what Mono does not know.

use crate::by_size;
use crate::ir::*;
use crate::legal::{Illegal, group_points, legal_group, legal_leaf, legal_row};
use crate::meaning::to_mono;
use crate::sites::sites;
use remc_base::{BaseTy, Name, Prov};
use remc_mono::ir as mono;
use remc_mono::verify as common;
use rustc_hash::FxHashMap;
use std::fmt;

/// What must hold of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// A rule of Mono.
    Common(common::Rule),
    /// What the host does by itself has no bodies.
    Host,
    /// A leaf does not sort, but for that of rows, and that by scalars.
    Sort,
    /// A leaf makes no array of a size that is only known inside.
    Size,
    /// Who is launched inside of an operator is no wider than it; the host launches the grid alone.
    Level,
    /// A reduction or scan over a space is associative and its accumulators are scalars, and λ and start do
    /// not depend on the point.
    Operator,
    /// An epilogue takes the place and the prefixes, gives scalars, and is of a scan with as many prefixes as points.
    Epilogue,
    /// Prefixes that are known are those at so many places, at least one, of an exclusive scan over the empty space with
    /// an epilogue: a vector for each accumulator.
    Known,
    /// Filters that are one have as many points, and none of them needs what another one keeps.
    Parts,
    /// Rows of sizes of their own have a vector each, which is as long as it may be, and a start for each point.
    Rows,
    /// How the axes of a result follow one another in memory says of each where it is, once, and not that all are in order.
    Axes,
    /// A guard has tests; the value that a test compares with is not negative, a threshold has one name and one value. One
    /// that chooses between settings of an operator has the name of what it chooses.
    Guard,
}

/// A program that breaks a rule: a mistake of the compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    pub rule: Rule,
    /// The statement's, unless it is the program itself that is wrong.
    pub prov: Option<Prov>,
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule {:?} of Flat is broken", self.rule)?;
        if let Some(p) = self.prov {
            write!(f, " at {p:?}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Broken {}

type Result<T = ()> = std::result::Result<T, Broken>;

/// Checks a program against all rules.
///
/// # Errors
/// A rule that is broken.
pub fn verify(p: &Program) -> Result {
    let mut v = Verifier { p, prov: None, thresholds: Vec::new(), sites: sites(p) };
    v.body(&p.body)?;
    common::verify(&to_mono(p, &mut |_| None)).map_err(|b| Broken {
        rule: Rule::Common(b.rule),
        prov: b.prov,
        message: b.message,
    })
}

struct Verifier<'p> {
    p: &'p Program,
    prov: Option<Prov>,
    thresholds: Vec<&'p Test>,
    sites: FxHashMap<Var, Name>,
}

impl<'p> Verifier<'p> {
    fn broken<T>(&self, rule: Rule, message: impl Into<String>) -> Result<T> {
        Err(Broken { rule, prov: self.prov, message: message.into() })
    }

    fn body(&mut self, b: &'p Body) -> Result {
        for s in &b.stmts {
            self.prov = Some(s.prov);
            self.exp(&s.pat, &s.exp)?;
            for b in s.exp.bodies() {
                self.body(b)?;
            }
        }
        Ok(())
    }

    fn exp(&mut self, pat: &[Var], e: &'p Exp) -> Result {
        match e {
            Exp::Host(e) if !e.bodies().is_empty() => {
                self.broken(Rule::Host, "an expression with bodies is left to the host")
            }
            Exp::Seg(seg) => {
                self.orders(pat, seg)?;
                self.seg(seg)
            }
            Exp::Scatter { axis, body, combine, .. } => {
                self.leaf(&[axis.var], body)?;
                combine.iter().try_for_each(|l| self.leaf(&l.params, &l.body))
            }
            Exp::Filters(parts) => {
                if parts.is_empty() || parts.iter().any(|part| part.axis.size != parts[0].axis.size) {
                    return self.broken(Rule::Parts, "filters of no or of several numbers of points");
                }
                for Filter { axis, body, .. } in parts {
                    self.leaf(&[axis.var], body)?;
                    let mut own = false;
                    body.for_each_use(&mut |a| own |= a.as_var().is_some_and(|v| pat.contains(&v)));
                    if own {
                        return self.broken(Rule::Parts, "a filter needs what another one keeps");
                    }
                }
                Ok(())
            }
            Exp::Grade { axis, body, .. } => self.leaf(&[axis.var], body),
            Exp::Rows(rows) => self.rows(pat, rows),
            Exp::Branch { guard, then, otherwise } => {
                self.guard(guard)?;
                self.by_size(guard, then, otherwise)
            }
            _ => Ok(()),
        }
    }

    /// The vectors are as many as there are results that are not regular, and each has its starts. What some points give
    /// goes into arrays like those that are bound. What is not done by one task is a group's.
    fn rows(&self, pat: &[Var], rows: &Rows) -> Result {
        let Rows { level, axis, of, regular, starts, scratch, body } = rows;
        let ty = |v: &Var| self.p.vars.get(*v).map(|info| &info.ty);
        let given = body.results.len().checked_sub(scratch.len());
        let counts = given == Some(pat.len()) && pat.len() == regular + starts.len();
        let of_rows = |v: &Var| {
            ty(v).is_some_and(|t| t.base == BaseTy::I64 && t.rank() == 1)
                && (of.is_some() || ty(v).is_some_and(|t| t.dims == [axis.size]))
        };
        let vectors = pat.iter().skip(*regular).all(|v| ty(v).is_some_and(|t| t.rank() == 1));
        if !counts || !vectors || !starts.iter().all(of_rows) || !scratch.iter().all(|s| of_rows(&s.starts)) {
            return self.broken(Rule::Rows, "rows without a vector, or without their starts");
        }
        if let Some(Points { which, into }) = of {
            let named = ty(which).is_some_and(|t| t.base == BaseTy::I64 && t.dims == [axis.size]);
            let like = into.len() == pat.len() && into.iter().zip(pat).all(|(a, b)| ty(a) == ty(b));
            if !named || !like {
                return self.broken(Rule::Rows, "some points, without their numbers or what the others gave");
            }
        }
        match (level, of) {
            (Level::Grid, None) if scratch.is_empty() => {
                self.legal(legal_row(&self.p.vars, &[axis.var], body))
            }
            (Level::Warp | Level::Block, Some(_)) => {
                let sizes: Vec<Var> = body.results[pat.len()..].iter().filter_map(|a| a.as_var()).collect();
                match sizes.len() == scratch.len() && legal_group(&self.p.vars, &sizes, pat.len(), body) {
                    true => Ok(()),
                    false => self.broken(Rule::Rows, "a row that no group can do"),
                }
            }
            _ => self.broken(Rule::Rows, "all points are tasks, and some are groups'"),
        }
    }

    fn guard(&mut self, guard: &'p Guard) -> Result {
        if guard.tests.is_empty() {
            return self.broken(Rule::Guard, "a guard without tests");
        }
        for test in &guard.tests {
            if test.value < 0 {
                return self.broken(Rule::Guard, format!("no size is below {}", test.value));
            }
            match self.thresholds.iter().find(|t| t.threshold == test.threshold) {
                Some(other) if other.value != test.value => {
                    let (a, b) = (other.value, test.value);
                    return self.broken(Rule::Guard, format!("{} is {a} and {b}", test.threshold));
                }
                Some(_) => {}
                None => self.thresholds.push(test),
            }
        }
        Ok(())
    }

    /// A version of an operator is the operator that the threshold names.
    fn by_size(&self, guard: &Guard, then: &Body, otherwise: &Body) -> Result {
        let entry = self.p.name.as_str();
        let named = |guard: &Guard| {
            guard.tests.iter().find_map(|t| {
                by_size::parse(entry, t.threshold.as_str())
                    .map(|of| (of.site.to_owned(), of.size.to_owned(), of.version))
            })
        };
        let Some((site, size, version)) = named(guard) else { return Ok(()) };
        let is = |b: &Body, name: &str| match b.stmts.as_slice() {
            [s] => s.pat.first().and_then(|v| self.sites.get(v)).is_some_and(|own| own.as_str() == name),
            _ => false,
        };
        let others = match otherwise.stmts.as_slice() {
            [Stmt { exp: Exp::Branch { guard, .. }, .. }] => {
                named(guard).is_some_and(|of| (of.0 == site && of.1 == size) && of.2 < version)
            }
            _ => is(otherwise, &site),
        };
        let name = by_size::version(&site, version);
        if guard.tests.len() > 1 || !others || !is(then, &name) {
            return self.broken(
                Rule::Guard,
                format!("what a size chooses between are not {name} and what it is a version of"),
            );
        }
        Ok(())
    }

    fn leaf(&self, binders: &[Var], body: &mono::Body) -> Result {
        self.legal(legal_leaf(&self.p.vars, binders, &[body]))
    }

    fn legal(&self, found: std::result::Result<(), Illegal>) -> Result {
        match found {
            Ok(()) => Ok(()),
            Err(why @ (Illegal::Grade | Illegal::Join | Illegal::Channel)) => {
                self.broken(Rule::Sort, format!("{why} inside a leaf"))
            }
            Err(why @ Illegal::Size(_)) => self.broken(Rule::Size, format!("a leaf makes {why}")),
        }
    }

    fn orders(&self, pat: &[Var], seg: &Seg) -> Result {
        let Seg { orders, kind, .. } = seg;
        let rank = |v: &Var| self.p.vars.get(*v).map_or(0, |info| info.ty.rank());
        let arrangement = |(v, order): (&Var, &Vec<usize>)| {
            let mut axes = order.clone();
            axes.sort_unstable();
            order.is_empty() || axes != *order && axes.into_iter().eq(0..rank(v))
        };
        let none = orders.iter().all(Vec::is_empty) || matches!(kind, SegKind::Red { .. });
        if !orders.is_empty() && (none || orders.len() != pat.len()) {
            return self.broken(Rule::Axes, "orders of no results, or not of each");
        }
        if !pat.iter().zip(orders).all(arrangement) {
            return self.broken(Rule::Axes, "this is no other order of the axes");
        }
        Ok(())
    }

    fn seg(&self, seg: &Seg) -> Result {
        let mut binders: Vec<Var> = seg.space.iter().map(|a| a.var).collect();
        match (seg.level, &seg.kind) {
            (Level::Grid, _) => {}
            (Level::Block, SegKind::Map) => {
                if group_points(&self.p.vars, &binders, &seg.body).is_none() {
                    return self.broken(Rule::Level, "a point that no group can do");
                }
            }
            (level, _) => return self.broken(Rule::Level, format!("the host launches a {level:?}")),
        }
        let (SegKind::Red { axis, op } | SegKind::Scan { axis, op, .. }) = &seg.kind else {
            return self.leaf(&binders, &seg.body);
        };
        let free = op.lambda.body.free_vars().into_iter().filter(|v| !op.lambda.params.contains(v));
        let start = op.start.iter().flatten().filter_map(|a| a.as_var());
        binders.push(axis.var);
        if free.chain(start).any(|v| binders.contains(&v)) {
            return self.broken(Rule::Operator, "the operator depends on the point");
        }
        let scalar = |v: &Var| self.p.vars.get(*v).is_some_and(|info| info.ty.is_scalar());
        if !op.assoc || !op.lambda.params.iter().all(scalar) {
            return self.broken(Rule::Operator, "the operator is not associative, or not of scalars");
        }
        self.leaf(&op.lambda.params, &op.lambda.body)?;
        self.leaf(&binders, &seg.body)?;
        if let SegKind::Scan { kind, epilogue, known: Some(known), .. } = &seg.kind {
            let (accs, n) = (&op.lambda.params, op.lambda.body.results.len());
            let of_acc = |(acc, v): (&Var, &Var)| match (self.p.vars.get(*acc), self.p.vars.get(*v)) {
                (Some(acc), Some(v)) => v.ty.rank() == 1 && v.ty.base == acc.ty.base,
                _ => false,
            };
            let each = known.before.len() == n && accs.iter().zip(&known.before).all(of_acc);
            let alone = *kind == ScanKind::Exclusive && seg.space.is_empty() && epilogue.is_some();
            if !alone || !each || known.every.as_int().is_some_and(|n| n < 1) {
                return self.broken(Rule::Known, "known prefixes of another kind than the scan's");
            }
        }
        let SegKind::Scan { kind, epilogue: Some(epilogue), .. } = &seg.kind else { return Ok(()) };
        if *kind == ScanKind::Full {
            return self.broken(Rule::Epilogue, "a full scan has one prefix more than points");
        }
        if epilogue.params.len() != op.lambda.body.results.len() + 1 {
            return self.broken(Rule::Epilogue, "an epilogue takes a place and the prefixes there");
        }
        if !epilogue.body.results.iter().all(|a| a.as_var().is_none_or(|v| scalar(&v))) {
            return self.broken(Rule::Epilogue, "an epilogue that gives arrays");
        }
        binders.extend(&epilogue.params);
        self.leaf(&binders, &epilogue.body)
    }
}

//! Mono → Flat: which loops run in parallel, and which on the host, in what order.
//!
//! ```text
//! (let (%c) (map ((i n) (j m))                (let (%par) (op * %n %m))
//!   (let (%s) (reduce l k … +))               (let (%c) (branch (>= %par "par.outer" 512)
//!   (give %s)))                                 (let (%c1) (seg-map grid ((i n) (j m)) (reduce l k … +)))
//!                                               (give %c1)
//!                                               (let (%c2) (seg-red grid ((i n) (j m)) (l k) … +))
//!                                               (give %c2)))
//! ```
//!
//! The host keeps what is O(1) and the control flow around parallel work. Every operator at the top becomes a
//! segmented one; what is nested inside it either stays in its leaf, to run serially, or is distributed over the
//! space around it (`distribute`), or both, as versions of which the sizes choose one; products of matrices that all
//! points share are (`shared`). On a GPU a nest of several operators along rows is also a block's for each row (`groups`).
//! Work along ragged rows is balanced by their lengths: the very long ones run apart (`balance`), and rows that are made are
//! a task each (`ragged`). A serial loop is distributed: what its iterations do without waiting for each other becomes a loop
//! before it (`fission`). A serial combination of
//! arrays may be rounds that run in parallel (`rounds`). At the end maps of a scan's prefixes become part of the scan
//! (`epilogue`), and maps for checks alone part of what runs over the same points next (`checks`); a scan that only
//! rows start from is stored in part (`tiles`), and filters of the same points are one (`partition`). An order of which few
//! places are read is a selection (`first`), and of one that is read for the items themselves those are sorted (`sorted`).
//! An array that is made and read along other than its last axis lies in memory that way (`layout`).
//! A loop that only changes items of the arrays that it carries, in place, is one thread's (`sequential`). Each threshold gets a name
//! (`names`). Nothing is refused: work that no leaf may do (see [`crate::legal`]) runs on the host, one iteration after the
//! other (`host`).
//!
//! Incremental flattening: Henriksen, Thorøe, Henglein, Oancea, *Incremental Flattening for Nested Data
//! Parallelism*, PPoPP 2019.

mod balance;
mod checks;
mod distribute;
mod distribution;
mod epilogue;
mod first;
mod fission;
mod groups;
mod host;
mod interchange;
mod layout;
mod loops;
mod names;
mod partition;
mod ragged;
mod rounds;
mod sequential;
mod shared;
mod sorted;
mod split;
mod thresholds;
mod tiles;

use crate::ir::*;
use crate::legal::{has_growing_arrays, legal_leaf};
use distribution::{Nest, points_of};
use remc_base::pass::PassInfo;
use remc_base::{Name, Prov};
use remc_mono::ir as mono;
use remc_mono::run::Run;
use remc_mono::walk::Copier;
use rustc_hash::FxHashMap;
use split::Split;
pub use thresholds::{ALWAYS, NEVER, Threshold, Thresholds};

pub const PASS: PassInfo = PassInfo {
    name: "flatten",
    from: "mono",
    to: "flat",
    summary: "chooses what runs in parallel, in versions guarded by sizes",
};

/// What cannot be: a mistake of the compiler, since Mono's verifier has accepted the program.
#[derive(Clone, PartialEq, Debug)]
pub struct FlattenError(pub String);

pub(crate) type F<T> = Result<T, FlattenError>;

pub(crate) fn wrong<T>(message: impl Into<String>) -> F<T> {
    Err(FlattenError(message.into()))
}

/// Arrays and iterations of up to this many elements, if it is a constant, are not worth a launch.
const SMALL: i64 = 32;
/// A body of more statements is worth running in parallel where what it feeds is serial.
const TRIVIAL: usize = 16;
/// So many elements of arrays may the host read one by one.
const HOST_READS: usize = 4;
/// The most versions of one nest.
const MOST_VERSIONS: usize = 4;
/// The most versions of the nests of a program, beyond one of each.
const MOST_IN_ALL: usize = 16;

/// Flattens a program for a processor.
///
/// # Errors
/// An invariant of Mono is broken.
pub fn flatten(p: &mono::Program) -> Result<Program, FlattenError> {
    flatten_with(p, &Thresholds::CPU)
}

/// Flattens a program.
///
/// # Errors
/// An invariant of Mono is broken.
pub fn flatten_with(p: &mono::Program, thresholds: &Thresholds) -> Result<Program, FlattenError> {
    let table = mono::Program { body: mono::Body::default(), ..p.clone() };
    let mut f = Flattener {
        p: table,
        thresholds: *thresholds,
        versions: 0,
        nest_versions: 0,
        kept: kept(&p.body),
        few: Vec::new(),
        ends: Vec::new(),
    };
    let mut body = f.body(&p.body)?;
    epilogue::epilogues(&mut f.p, &mut body);
    checks::checks(&mut body);
    if let Some(every) = thresholds.row_tile {
        tiles::tiles(&mut f, &mut body, every.max(1));
    }
    partition::partitions(&f.p, &mut body);
    sorted::sorts(&mut f.p, &mut body);
    layout::layouts(&mut f.p, &mut body);
    let mut flat = Program::of_table(f.p, body);
    names::names(&mut flat);
    Ok(flat)
}

struct Flattener {
    /// The program without its body: the table of variables.
    p: mono::Program,
    thresholds: Thresholds,
    /// How many versions there are beyond one of each nest: in all, and of the nest at hand.
    versions: usize,
    nest_versions: usize,
    /// Of the numbers of items that filters keep: how many there are at most, where that is a constant.
    kept: FxHashMap<Var, i64>,
    /// The spaces, by their sizes, around whose loops the host goes: those were too small to keep them inside.
    few: Vec<Vec<Atom>>,
    /// Vectors of lengths in scope, and where what has these lengths begins and ends.
    ends: Vec<ragged::Ends>,
}

impl Flattener {
    fn body(&mut self, b: &mono::Body) -> F<Body> {
        let (mut stmts, known) = (Vec::new(), self.ends.len());
        let selections = first::selections(self, b);
        let b = selections.as_ref().map_or(b, |of| &of.body);
        for (k, s) in b.stmts.iter().enumerate() {
            stmts.extend(selections.iter().flat_map(|of| of.before.get(&k)).flatten().cloned());
            self.nest_versions = 0;
            self.stmt(s, &mut stmts)?;
            self.ends.extend(ragged::Ends::of(s));
        }
        self.ends.truncate(known);
        Ok(Body { stmts, results: b.results.clone() })
    }

    fn stmts(&mut self, stmts: &[mono::Stmt], out: &mut Vec<Stmt>) -> F<()> {
        stmts.iter().try_for_each(|s| self.stmt(s, out))
    }

    fn stmt(&mut self, s: &mono::Stmt, out: &mut Vec<Stmt>) -> F<()> {
        use mono::Exp as E;
        let exp = match &s.exp {
            E::Atom(_)
            | E::Op(..)
            | E::Cast(..)
            | E::Literal { .. }
            | E::Index { .. }
            | E::View { .. }
            | E::Check { .. }
            | E::Pull { .. }
            | E::Push { .. } => Exp::Host(s.exp.clone()),
            E::If { .. } | E::For { .. } | E::While { .. } if self.stays_serial(s) => self.point(s),
            E::If { cond, then, otherwise } => {
                Exp::If { cond: *cond, then: self.body(then)?, otherwise: self.body(otherwise)? }
            }
            E::For { axis, state, body } => {
                if let Some(stmts) = fission::fission(self, s, *axis, state, body) {
                    return self.stmts(&stmts, out);
                }
                if rounds::looped(self, s, out)? {
                    return Ok(());
                }
                self.host_loop(s)?
            }
            E::While { .. } => {
                if rounds::looped(self, s, out)? {
                    return Ok(());
                }
                self.host_loop(s)?
            }
            E::Map { axes, body } => return self.map(&s.pat, axes, body, s.prov, out),
            E::Reduce { axis, body, op } => {
                return self.fold(s, Fold { axis: *axis, body, op, scan: None }, out);
            }
            E::Scan { kind, axis, body, op } => {
                return self.fold(s, Fold { axis: *axis, body, op, scan: Some(*kind) }, out);
            }
            E::Scatter { dests, axis, body, combine } => {
                return self.scatter(s, dests, *axis, body, combine.as_ref(), out);
            }
            E::Filter { axis, body } => {
                let (axis, body) = self.leaf_or_stored(*axis, body, self.kept_types(s, body), s.prov, out)?;
                Exp::Filters(vec![Filter { axis, body, prov: s.prov }])
            }
            E::Grade { axis, body, gives } => {
                let (axis, body) = self.leaf_or_stored(*axis, body, self.types(body), s.prov, out)?;
                Exp::Grade { axis, body, gives: *gives }
            }
            E::Join { axis, regular, body } => {
                if ragged::rows(self, &s.pat, (*axis, *regular, body), s.prov, out)? {
                    return Ok(());
                }
                let stmts = host::join_as_loop(self, s, *axis, *regular, body)?;
                return self.stmts(&stmts, out);
            }
        };
        out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
        Ok(())
    }

    /// A loop of the host, whose rounds run in parallel.
    fn host_loop(&mut self, s: &mono::Stmt) -> F<Exp> {
        match &s.exp {
            mono::Exp::For { axis, state, body } => {
                Ok(Exp::For { axis: *axis, state: state.clone(), body: self.body(body)? })
            }
            mono::Exp::While { state, cond, body } => {
                Ok(Exp::While { state: state.clone(), cond: self.body(cond)?, body: self.body(body)? })
            }
            _ => wrong("a loop that is none"),
        }
    }

    // ---- what runs where ----

    /// Whether a conditional or loop of the host is better off as one thread's work.
    fn stays_serial(&self, s: &mono::Stmt) -> bool {
        let one = mono::Body { stmts: vec![s.clone()], results: Vec::new() };
        if self.is_wide(&one) && !self.is_sequential_loop(s) || !self.is_leaf(&[], &[&one]) {
            return false;
        }
        let (mut loops, mut reads) = (false, 0);
        one.for_each_stmt(&mut |s| match s.exp {
            mono::Exp::Index { .. } => reads += 1,
            mono::Exp::If { .. } => {}
            _ => loops |= !s.exp.bodies().is_empty(),
        });
        loops || reads > HOST_READS
    }

    /// Whether the product of sizes is small, by what is known of them: constants, and how many items filters keep at most.
    fn is_few(&self, sizes: &[Atom]) -> bool {
        let bound = |a: &Atom| a.as_var().and_then(|v| self.kept.get(&v)).map_or(*a, |n| Atom::int(*n));
        is_small(&sizes.iter().map(bound).collect::<Vec<_>>())
    }

    fn is_leaf(&self, binders: &[Var], bodies: &[&mono::Body]) -> bool {
        legal_leaf(&self.p.vars, binders, bodies).is_ok()
    }

    /// Whether a body makes arrays, or iterates in any order, beyond what is surely small.
    fn is_wide(&self, b: &mono::Body) -> bool {
        let mut wide = false;
        b.for_each_stmt(&mut |s| {
            use mono::Exp as E;
            wide |= match &s.exp {
                E::Index { .. } | E::Atom(_) => false,
                E::Reduce { axis, .. } | E::Filter { axis, .. } | E::Grade { axis, .. } => {
                    !self.is_few(&[axis.size])
                }
                E::Scan { axis, .. } | E::Scatter { axis, .. } if !self.is_few(&[axis.size]) => true,
                _ => s.pat.iter().any(|v| !self.is_few(&self.p.vars[*v].ty.dims)),
            }
        });
        wide
    }

    /// Whether a body does more than read and compute a few scalars.
    fn is_trivial(&self, b: &mono::Body) -> bool {
        let (mut count, mut loops) = (0, false);
        b.for_each_stmt(&mut |s| {
            count += 1;
            loops |= !matches!(s.exp, mono::Exp::If { .. }) && !s.exp.bodies().is_empty();
        });
        count <= TRIVIAL && !loops
    }

    /// A statement as the work of one thread.
    fn point(&mut self, s: &mono::Stmt) -> Exp {
        let results = s.pat.iter().map(|v| Atom::Var(*v)).collect();
        let body = self.copy(&mono::Body { stmts: vec![s.clone()], results });
        seg(Vec::new(), SegKind::Map, body)
    }

    // ---- maps ----

    fn map(
        &mut self,
        pat: &[Var],
        axes: &[Axis],
        body: &mono::Body,
        prov: Prov,
        out: &mut Vec<Stmt>,
    ) -> F<()> {
        let binders: Vec<Var> = axes.iter().map(|a| a.var).collect();
        let leaf = self.is_leaf(&binders, &[body]);
        if let ([axis], false) = (axes, leaf)
            && ragged::rows(self, pat, (*axis, pat.len(), body), prov, out)?
        {
            return Ok(());
        }
        let split = split::split(self, axes, body, !leaf);
        let split = match split {
            Some(split) if leaf && groups::pay(self, &Nest { pat, axes, body, prov }, &split) => {
                return groups::versions(self, &Nest { pat, axes, body, prov }, split, out);
            }
            split => split,
        };
        let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
        let version = self.choose(&sizes, leaf, split.as_ref());
        let nest = |pat| Nest { pat, axes, body, prov };
        let exp = match (version, split) {
            (Version::Inner, Some(split)) => return distribute::distribute(self, nest(pat), split, out),
            (Version::Both, Some(split)) => {
                let size = points_of(self, &split.counted(&sizes), prov, out);
                let mut tests = vec![self.enough(size, split.threshold(), split.columns)];
                if split.threshold() == Threshold::ParLoop {
                    tests.extend(interchange::small(self, &sizes, &split.widest, body, prov, out));
                }
                let then = self.alone(&nest(pat));
                let inner = self.like(pat);
                let mut otherwise = Vec::new();
                distribute::distribute(self, nest(&inner), split, &mut otherwise)?;
                let results = inner.into_iter().map(Atom::Var).collect();
                let guard = Guard { tests };
                Exp::Branch { guard, then, otherwise: Body { stmts: otherwise, results } }
            }
            _ if leaf => {
                if self.versions < MOST_IN_ALL
                    && self.thresholds.row_long < NEVER
                    && let Some(rows) = balance::rows(self, axes, body)
                {
                    self.versions += 1;
                    return balance::apart(self, pat, axes, body, &rows, prov, out);
                }
                match self.alone_or_together(&sizes, &binders, body) {
                    Version::Outer => seg(axes.to_vec(), SegKind::Map, body.clone()),
                    Version::Inner => Exp::SerialMap { axes: axes.to_vec(), body: self.body(body)? },
                    Version::Both => self.map_of_loops(&nest(pat), out)?,
                }
            }
            _ => Exp::SerialMap { axes: axes.to_vec(), body: self.body(body)? },
        };
        out.push(Stmt { pat: pat.to_vec(), exp, prov });
        Ok(())
    }

    /// Which versions of a nest to have; `split` says whether and how it can be distributed.
    fn choose(&mut self, sizes: &[Atom], leaf: bool, split: Option<&Split>) -> Version {
        let Some(split) = split else { return Version::Outer };
        let points = constant_product(&split.counted(sizes));
        let least = self.thresholds.of(split.threshold(), split.columns);
        // Whether the iterations of a loop are known to be large enough.
        let all = constant_product(&[sizes, &split.widest].concat());
        let worth = match self.thresholds.par_inner {
            _ if split.threshold() != Threshold::ParLoop => Some(true),
            ALWAYS => Some(true),
            NEVER => Some(false),
            least => all.map(|n| n >= least),
        };
        match () {
            _ if split.merges || !leaf => Version::Inner,
            _ if least <= ALWAYS || points.is_some_and(|n| n >= least) => Version::Outer,
            _ if least == NEVER || self.few.iter().any(|s| s == sizes) => Version::Inner,
            _ if worth == Some(false) => Version::Outer,
            _ if points.is_some() && worth == Some(true) => Version::Inner,
            _ if self.versions >= MOST_IN_ALL || self.nest_versions + 1 >= MOST_VERSIONS => {
                if split.product.is_some() { Version::Inner } else { Version::Outer }
            }
            _ => {
                self.versions += 1;
                self.nest_versions += 1;
                Version::Both
            }
        }
    }

    /// Whether the points of a map that cannot be distributed have a thread each, or come one after the other with all
    /// threads for what is inside. That is worth it for few points in whose loops arrays grow: what makes those of an
    /// iteration is parallel.
    fn alone_or_together(&mut self, sizes: &[Atom], binders: &[Var], body: &mono::Body) -> Version {
        let least = self.thresholds.par_loop;
        match constant_product(sizes) {
            _ if !has_growing_arrays(&self.p.vars, binders, body) => Version::Outer,
            _ if least <= ALWAYS => Version::Outer,
            _ if least == NEVER => Version::Inner,
            Some(n) if n >= least => Version::Outer,
            Some(_) => Version::Inner,
            None if self.versions >= MOST_IN_ALL || self.nest_versions + 1 >= MOST_VERSIONS => Version::Outer,
            None => {
                self.versions += 1;
                self.nest_versions += 1;
                Version::Both
            }
        }
    }

    /// A copy of a map whose points have a thread each: the version for many points.
    fn alone(&mut self, nest: &Nest<'_>) -> Body {
        let outer = self.like(nest.pat);
        let whole = mono::Exp::Map { axes: nest.axes.to_vec(), body: nest.body.clone() };
        let copy = self.copy(&one(outer, whole, nest.prov));
        let mut stmts = Vec::new();
        for s in copy.stmts {
            if let mono::Exp::Map { axes, body } = s.exp {
                stmts.push(Stmt { pat: s.pat, exp: seg(axes, SegKind::Map, body), prov: s.prov });
            }
        }
        Body { stmts, results: copy.results }
    }

    /// A map in both versions of [`Flattener::alone_or_together`].
    fn map_of_loops(&mut self, nest: &Nest<'_>, out: &mut Vec<Stmt>) -> F<Exp> {
        let sizes: Vec<Atom> = nest.axes.iter().map(|a| a.size).collect();
        let size = points_of(self, &sizes, nest.prov, out);
        let guard = Guard { tests: vec![self.test(size, Compare::AtLeast, Threshold::ParLoop)] };
        let then = self.alone(nest);
        let pat = self.like(nest.pat);
        let results = pat.iter().map(|v| Atom::Var(*v)).collect();
        let exp = Exp::SerialMap { axes: nest.axes.to_vec(), body: self.body(nest.body)? };
        let otherwise = Body { stmts: vec![Stmt { pat, exp, prov: nest.prov }], results };
        Ok(Exp::Branch { guard, then, otherwise })
    }

    /// Whether there are so many points that each is serial.
    fn enough(&self, size: Atom, threshold: Threshold, columns: bool) -> Test {
        let value = self.thresholds.of(threshold, columns);
        Test { value, ..self.test(size, Compare::AtLeast, threshold) }
    }

    fn test(&self, size: Atom, compare: Compare, threshold: Threshold) -> Test {
        let value = self.thresholds.value(threshold);
        Test { size, compare, threshold: Name::new(threshold.name()), value }
    }

    // ---- reductions and scans ----

    fn fold(&mut self, s: &mono::Stmt, fold: Fold<'_>, out: &mut Vec<Stmt>) -> F<()> {
        let Fold { axis, body, op, scan } = fold;
        let lambda = &op.lambda;
        let accs = &lambda.params[..s.pat.len().min(lambda.params.len())];
        let scalars = accs.iter().all(|v| self.p.vars[*v].ty.is_scalar());
        let leaf = self.is_leaf(&[axis.var], &[body]);
        let op_leaf = self.is_leaf(&lambda.params, &[&lambda.body]);
        let parallel = op.assoc && scalars && op_leaf;
        if !leaf || !parallel && !self.is_trivial(body) {
            let tys = lambda.params[accs.len()..].iter().map(|v| self.p.vars[*v].ty.clone()).collect();
            let (axis, body) = self.stored(axis, body, tys, s.prov, out)?;
            let exp = Fold { axis, body: &body, op, scan }.exp();
            return self.stmt(&mono::Stmt { exp, ..s.clone() }, out);
        }
        if parallel && let Some(split) = split::split(self, &[axis], body, false) {
            let version = match self.choose(&[axis.size], true, Some(&split)) {
                Version::Both => Some(self.like(&s.pat)),
                Version::Inner => None,
                Version::Outer => return self.fold_leaf(s, fold, out),
            };
            return self.fold_versions(s, &fold, split, version, out);
        }
        if parallel {
            return self.fold_leaf(s, fold, out);
        }
        if op_leaf {
            return rounds::rounds(self, s, fold, accs, out);
        }
        let stmts = host::fold_as_loop(self, s, &fold)?;
        self.stmts(&stmts, out)
    }

    /// All of it over the axis, each element by one thread.
    fn fold_leaf(&mut self, s: &mono::Stmt, fold: Fold<'_>, out: &mut Vec<Stmt>) -> F<()> {
        let exp = fold.seg();
        out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
        Ok(())
    }

    /// The elements first, in parallel within each, and then what combines them. With variables for the
    /// results of the other version, both, to be chosen by the axis.
    fn fold_versions(
        &mut self,
        s: &mono::Stmt,
        fold: &Fold<'_>,
        split: Split,
        outer: Option<Vec<Var>>,
        out: &mut Vec<Stmt>,
    ) -> F<()> {
        let Fold { axis, body, op, scan } = *fold;
        let inner = if outer.is_some() { self.like(&s.pat) } else { s.pat.clone() };
        let mut stmts = Vec::new();
        let tys = self.types(body);
        let (arrays, read_axis, reads) = self.reads(axis, tys, s.prov);
        let nest = Nest { pat: &arrays, axes: &[axis], body, prov: s.prov };
        let (threshold, columns, counted) = (split.threshold(), split.columns, split.counted(&[axis.size]));
        distribute::distribute(self, nest, split, &mut stmts)?;
        let whole = Fold { axis: read_axis, body: &reads, op, scan };
        let exp = match &outer {
            None => whole.seg(),
            // The other version has the operator as it is.
            Some(_) => self.copied_fold(whole.exp())?,
        };
        stmts.push(Stmt { pat: inner.clone(), exp, prov: s.prov });
        let Some(outer) = outer else {
            out.extend(stmts);
            return Ok(());
        };
        let first = Stmt { pat: outer.clone(), exp: Fold { axis, body, op, scan }.seg(), prov: s.prov };
        let give = |vars: Vec<Var>| vars.into_iter().map(Atom::Var).collect();
        let then = Body { stmts: vec![first], results: give(outer) };
        let otherwise = Body { stmts, results: give(inner) };
        let size = points_of(self, &counted, s.prov, out);
        let guard = Guard { tests: vec![self.enough(size, threshold, columns)] };
        let exp = Exp::Branch { guard, then, otherwise };
        out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
        Ok(())
    }

    fn copied_fold(&mut self, exp: mono::Exp) -> F<Exp> {
        let copy = self.copy(&mono::Body {
            stmts: vec![mono::Stmt { pat: Vec::new(), exp, prov: Prov(0) }],
            results: Vec::new(),
        });
        match copy.stmts.first().map(|s| &s.exp) {
            Some(mono::Exp::Reduce { axis, body, op }) => {
                Ok(Fold { axis: *axis, body, op, scan: None }.seg())
            }
            Some(mono::Exp::Scan { kind, axis, body, op }) => {
                Ok(Fold { axis: *axis, body, op, scan: Some(*kind) }.seg())
            }
            _ => wrong("a copy of another form"),
        }
    }

    // ---- scatter, filter, grade ----

    fn scatter(
        &mut self,
        s: &mono::Stmt,
        dests: &[Var],
        axis: Axis,
        body: &mono::Body,
        combine: Option<&Lambda>,
        out: &mut Vec<Stmt>,
    ) -> F<()> {
        let legal = combine.is_none_or(|l| self.is_leaf(&l.params, &[&l.body]));
        if !legal {
            let stmts = host::scatter_as_loop(self, s, dests, axis, body, combine)?;
            return self.stmts(&stmts, out);
        }
        let cells = dests.iter().map(|d| self.p.vars[*d].ty.cell(1));
        let tys = std::iter::once(Ty::int()).chain(cells).collect();
        // Writes to one item stay in order, so that all are made serially.
        let run = Run::of(&self.p.vars, dests, axis, body).filter(|_| combine.is_none());
        // Where each element is made of the one whose place it takes, all are written in parallel.
        let in_place = run.is_some_and(|run| run.reads_own_places(dests))
            && body.free_vars().iter().any(|v| dests.contains(v));
        let plain = in_place || self.is_trivial(body);
        let (axis, body) = if plain && self.is_leaf(&[axis.var], &[body]) {
            (axis, body.clone())
        } else {
            self.stored(axis, body, tys, s.prov, out)?
        };
        let exp = Exp::Scatter { dests: dests.to_vec(), axis, body, combine: combine.cloned() };
        out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
        Ok(())
    }

    fn leaf_or_stored(
        &mut self,
        axis: Axis,
        body: &mono::Body,
        tys: Vec<Ty>,
        prov: Prov,
        out: &mut Vec<Stmt>,
    ) -> F<(Axis, mono::Body)> {
        if self.is_leaf(&[axis.var], &[body]) {
            return Ok((axis, body.clone()));
        }
        self.stored(axis, body, tys, prov, out)
    }

    fn types(&self, body: &mono::Body) -> Vec<Ty> {
        body.results.iter().map(|a| self.p.atom_ty(*a)).collect()
    }

    fn kept_types(&self, s: &mono::Stmt, body: &mono::Body) -> Vec<Ty> {
        let flag = body.results.iter().take(1).map(|a| self.p.atom_ty(*a));
        flag.chain(s.pat.iter().skip(1).map(|v| self.p.vars[*v].ty.cell(1))).collect()
    }

    /// Makes the elements that `body` gives, of types `tys`, by a map of their own; what is left reads
    /// them.
    fn stored(
        &mut self,
        axis: Axis,
        body: &mono::Body,
        tys: Vec<Ty>,
        prov: Prov,
        out: &mut Vec<Stmt>,
    ) -> F<(Axis, mono::Body)> {
        let (arrays, read_axis, reads) = self.reads(axis, tys, prov);
        self.map(&arrays, &[axis], body, prov, out)?;
        Ok((read_axis, reads))
    }

    /// Arrays of elements of these types, and the body that reads an element of each.
    fn reads(&mut self, axis: Axis, tys: Vec<Ty>, prov: Prov) -> (Vec<Var>, Axis, mono::Body) {
        let i = self.p.fresh(self.name(axis.var), Ty::int());
        let mut reads = mono::Body::default();
        let mut arrays = Vec::new();
        for ty in tys {
            let array = self.p.fresh("xs", ty.over(&[axis.size]));
            let x = self.p.fresh("x", ty);
            let exp = mono::Exp::Index { array, at: vec![Atom::Var(i)] };
            reads.stmts.push(mono::Stmt { pat: vec![x], exp, prov });
            reads.results.push(Atom::Var(x));
            arrays.push(array);
        }
        (arrays, Axis { var: i, size: axis.size }, reads)
    }

    // ---- copies ----

    fn name(&self, v: Var) -> String {
        self.p.vars[v].name.to_string()
    }

    /// Fresh variables like these.
    fn like(&mut self, vars: &[Var]) -> Vec<Var> {
        vars.iter().map(|v| self.p.vars.push(self.p.vars[*v].clone())).collect()
    }

    fn copy(&mut self, b: &mono::Body) -> mono::Body {
        Copier::new(&mut self.p).body(b)
    }
}

/// The versions that a nest has.
enum Version {
    /// Its outermost axes in parallel.
    Outer,
    /// What is inside it too.
    Inner,
    Both,
}

/// A reduction, or a scan if it has a kind.
#[derive(Clone, Copy)]
struct Fold<'b> {
    axis: Axis,
    body: &'b mono::Body,
    op: &'b Combine,
    scan: Option<ScanKind>,
}

impl Fold<'_> {
    fn exp(self) -> mono::Exp {
        let Fold { axis, body, op, scan } = self;
        let (body, op) = (body.clone(), op.clone());
        match scan {
            None => mono::Exp::Reduce { axis, body, op },
            Some(kind) => mono::Exp::Scan { kind, axis, body, op },
        }
    }

    /// As an operator over the empty space.
    fn seg(self) -> Exp {
        let Fold { axis, body, op, scan } = self;
        let op = op.clone();
        let kind = match scan {
            None => SegKind::Red { axis, op },
            Some(kind) => SegKind::Scan { axis, kind, op, epilogue: None, known: None },
        };
        seg(Vec::new(), kind, body.clone())
    }
}

/// A body that binds and gives what an expression gives.
fn one(pat: Vec<Var>, exp: mono::Exp, prov: Prov) -> mono::Body {
    let results = pat.iter().map(|v| Atom::Var(*v)).collect();
    mono::Body { stmts: vec![mono::Stmt { pat, exp, prov }], results }
}

fn seg(space: Vec<Axis>, kind: SegKind, body: mono::Body) -> Exp {
    Exp::Seg(Seg { level: Level::Grid, space, kind, orders: Vec::new(), body })
}

/// How many items filters keep at most, where that is a constant.
fn kept(body: &mono::Body) -> FxHashMap<Var, i64> {
    let mut kept = FxHashMap::default();
    body.for_each_stmt(&mut |s| {
        if let mono::Exp::Filter { axis, .. } = &s.exp
            && let Some(n) = axis.size.as_int().or_else(|| kept.get(&axis.size.as_var()?).copied())
        {
            kept.insert(s.pat[0], n);
        }
    });
    kept
}

/// Whether the product of sizes is known to be small.
fn is_small(sizes: &[Atom]) -> bool {
    constant_product(sizes).is_some_and(|n| n <= SMALL)
}

/// The product of sizes that are constants.
fn constant_product(sizes: &[Atom]) -> Option<i64> {
    sizes.iter().try_fold(1i64, |n, a| Some(n.saturating_mul(a.as_int()?)))
}

//! Several settings of one operator's schedule, of which a size chooses: its statement in versions of their own.
//!
//! ```text
//! (let (%c n m) (seg-map grid ((%i n) (%j m)) …))                        the operator "f:1"
//!
//! (let (%c n m) (branch (>= n "main/by.size/f:1@2/axis.1" 128)
//!                 (then (let (%a n m) (seg-map grid …)) (give %a))       "f:1@2", with numbers of its own
//!                 (else (let (%b n m) (seg-map grid …)) (give %b))))     "f:1", as before
//! ```
//!
//! What is best for a product of 32 × 4096 × 32 need not be for one of 512 × 512 × 512, and a schedule is fixed where the
//! program is compiled. So an operator may have up to [`MOST`] versions, each with the numbers of its own name; the first
//! is for the smallest sizes. There are as many as there are thresholds of the kind `by.size`: whoever gives one a value, a
//! person or the tuner's file, makes the version. From then on it is a threshold like those of [`crate::flatten`], and its
//! value may be changed when the program runs.
//!
//! ```text
//! main/by.size/f:1@2/axis.1        the entry, the kind, the operator and which version of it, and which of its sizes
//! ```
//!
//! The sizes of an operator are those of the axes that it runs along, its space's first ([`sizes`]). A version is a copy:
//! it gives the same values, and where floats are combined, in the order that its own numbers say.

use crate::flatten::Threshold;
use crate::ir::*;
use crate::sites::{has_kernels, sites};
use remc_base::ops::ScalarOp;
use remc_base::{Name, Prov};
use remc_mono::ir as mono;
use remc_mono::walk::Copier;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The most versions of an operator.
pub const MOST: usize = 4;
/// The most axes of an operator that have names.
const MOST_AXES: usize = 8;

/// Why operators cannot have these versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// A threshold's name that is of no operator of the program, or of no size of it.
    Unknown(String),
    /// The versions of this operator cannot be together, and why.
    Versions(Name, String),
}

/// Which version of which operator a threshold is of, and the size that it is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Of<'n> {
    /// `f:1`.
    pub site: &'n str,
    /// From 2 on.
    pub version: usize,
    /// `axis.1`.
    pub size: &'n str,
}

/// Gives operators versions: those of the thresholds of the kind `by.size` among these values.
///
/// # Errors
/// A name that is none, or versions that cannot be together; then nothing is changed.
pub fn by_size(p: &mut Program, values: &Named) -> Result<(), Wrong> {
    let all = wanted(p, values)?;
    if all.is_empty() {
        return Ok(());
    }
    let mut body = std::mem::take(&mut p.body);
    let mut table = p.table();
    split(&mut body, &mut table, p.name.as_str(), &all);
    *p = Program::of_table(table, body);
    Ok(())
}

/// The name of a threshold: from which size on this version of an operator runs.
pub fn name(entry: &str, of: Of<'_>) -> String {
    format!("{entry}/{}/{}@{}/{}", Threshold::BySize.name(), of.site, of.version, of.size)
}

/// What a threshold's name says, if it is of this kind.
pub fn parse<'n>(entry: &str, name: &'n str) -> Option<Of<'n>> {
    let rest = name.strip_prefix(entry)?.strip_prefix('/')?;
    let rest = rest.strip_prefix(Threshold::BySize.name())?.strip_prefix('/')?;
    let (version, size) = rest.rsplit_once('/')?;
    let (site, version) = apart(version)?;
    Some(Of { site, version, size })
}

/// The name of a version of an operator: `f:1@2`, and that of the operator itself for the first.
pub fn version(site: &str, version: usize) -> String {
    if version < 2 { site.to_owned() } else { format!("{site}@{version}") }
}

/// The operator and which version of it a name is of: `f:1@2`. `None` of an operator that is no version.
pub fn apart(name: &str) -> Option<(&str, usize)> {
    let (site, version) = name.rsplit_once('@')?;
    version.parse().ok().filter(|n| *n >= 2 && version.starts_with(|c: char| c != '+')).map(|n| (site, n))
}

/// A size of an operator: its name, and what it is the product of.
#[derive(Clone, PartialEq, Debug)]
pub struct Size {
    pub name: String,
    pub factors: Vec<Atom>,
}

/// The sizes of each operator of a program that versions can be chosen by: `axis.1` and so on are the sizes of the axes of
/// its space, of its reduction or scan, and of the loops in a point, as far as they are known outside, each size once;
/// `points` is the product of the space, and `all` that of all.
pub fn sizes(p: &Program) -> BTreeMap<Name, Vec<Size>> {
    let names = sites(p);
    let mut found = BTreeMap::new();
    p.body.for_each_stmt(&mut |s| {
        if let Some(site) = s.pat.first().and_then(|v| names.get(v)) {
            found.insert(site.clone(), sizes_of(p, s));
        }
    });
    found
}

fn sizes_of(p: &Program, s: &Stmt) -> Vec<Size> {
    let mut space: Vec<Atom> = Vec::new();
    let mut rest: Vec<Atom> = Vec::new();
    match &s.exp {
        Exp::Seg(seg) => {
            space.extend(seg.space.iter().map(|a| a.size));
            if let SegKind::Red { axis, .. } | SegKind::Scan { axis, .. } = &seg.kind {
                rest.push(axis.size);
            }
        }
        Exp::Scatter { axis, .. } | Exp::Grade { axis, .. } | Exp::Rows(Rows { axis, .. }) => {
            space.push(axis.size);
        }
        Exp::Filters(parts) => space.extend(parts.first().map(|part| part.axis.size)),
        Exp::Host(_) => space.extend(s.pat.first().into_iter().flat_map(|v| p.vars[*v].ty.dims.clone())),
        _ => {}
    }
    let leaves = s.exp.leaves();
    let inside: FxHashSet<Var> = leaves.iter().flat_map(|b| b.binders()).chain(binders(&s.exp)).collect();
    for leaf in leaves {
        leaf.for_each_stmt(&mut |s| rest.extend(s.exp.axes().iter().map(|a| a.size)));
    }
    rest.retain(|a| a.as_var().is_none_or(|v| !inside.contains(&v)));
    let mut axes: Vec<Atom> = Vec::new();
    for size in space.iter().chain(&rest) {
        if !axes.contains(size) && axes.len() < MOST_AXES {
            axes.push(*size);
        }
    }
    let one = |(k, size): (usize, &Atom)| Size { name: format!("axis.{}", k + 1), factors: vec![*size] };
    let mut all: Vec<Size> = axes.iter().enumerate().map(one).collect();
    let whole: Vec<Atom> = space.iter().chain(&rest).copied().take(MOST_AXES).collect();
    for (name, factors) in [("points", space), ("all", whole)] {
        if factors.len() > 1 && all.iter().all(|s| s.factors != factors) {
            all.push(Size { name: name.into(), factors });
        }
    }
    all
}

/// The variables that an operator binds itself, those of its leaves not among them.
fn binders(e: &Exp) -> Vec<Var> {
    match e {
        Exp::Seg(seg) => {
            let mut all: Vec<Var> = seg.space.iter().map(|a| a.var).collect();
            if let SegKind::Red { axis, op } | SegKind::Scan { axis, op, .. } = &seg.kind {
                all.push(axis.var);
                all.extend(&op.lambda.params);
            }
            if let SegKind::Scan { epilogue: Some(l), .. } = &seg.kind {
                all.extend(&l.params);
            }
            all
        }
        Exp::Scatter { axis, combine, .. } => {
            std::iter::once(axis.var).chain(combine.iter().flat_map(|l| l.params.iter().copied())).collect()
        }
        Exp::Filters(parts) => parts.iter().map(|part| part.axis.var).collect(),
        Exp::Grade { axis, .. } | Exp::Rows(Rows { axis, .. }) => vec![axis.var],
        _ => Vec::new(),
    }
}

/// The versions of one operator.
struct Versions {
    site: Name,
    size: Size,
    /// From which size on the second runs, the third, …
    from: Vec<i64>,
}

/// The operators that get versions, by the first variable that each binds.
fn wanted(p: &Program, values: &Named) -> Result<FxHashMap<Var, Versions>, Wrong> {
    let kind = |name: &str| Threshold::of_name(name) == Some(Threshold::BySize);
    let mut by_site: BTreeMap<&str, BTreeMap<usize, (&str, i64)>> = BTreeMap::new();
    for (name, value) in values.iter().filter(|(name, _)| kind(name)) {
        let Some(of) = parse(p.name.as_str(), name) else {
            return Err(Wrong::Unknown(name.clone()));
        };
        let other = by_site.entry(of.site).or_default().insert(of.version, (of.size, *value));
        if let Some((size, _)) = other {
            let why = format!("version {} is chosen by two sizes, `{size}` and `{}`", of.version, of.size);
            return Err(Wrong::Versions(Name::new(of.site), why));
        }
    }
    if by_site.is_empty() {
        return Ok(FxHashMap::default());
    }
    let (names, sizes) = (sites(p), sizes(p));
    let mut all = FxHashMap::default();
    for (site, versions) in by_site {
        let unknown = || {
            let (version, (size, _)) = versions.iter().next().map_or((2, ("", 0)), |(v, of)| (*v, *of));
            Err(Wrong::Unknown(name(p.name.as_str(), Of { site, version, size })))
        };
        let own = names.iter().find(|(_, s)| s.as_str() == site);
        let Some((var, site)) = own.map(|(v, s)| (*v, s.clone())) else { return unknown() };
        let wrong = |why: String| Err(Wrong::Versions(site.clone(), why));
        let most = versions.keys().last().copied().unwrap_or(0);
        if most > MOST {
            return wrong(format!("there is a version {most}, and there may be {MOST} at most"));
        }
        if let Some(gap) = (2..most).find(|k| !versions.contains_key(k)) {
            return wrong(format!("there is a version {most}, and no version {gap}"));
        }
        let named: Vec<&str> = versions.values().map(|(size, _)| *size).collect();
        if let Some(other) = named.iter().find(|size| **size != named[0]) {
            return wrong(format!("its versions are chosen by two sizes, `{}` and `{other}`", named[0]));
        }
        let Some(size) = sizes.get(&site).into_iter().flatten().find(|s| s.name == named[0]) else {
            return unknown();
        };
        let from = versions.values().map(|(_, value)| *value).collect();
        all.insert(var, Versions { site, size: size.clone(), from });
    }
    Ok(all)
}

fn split(b: &mut Body, table: &mut mono::Program, entry: &str, all: &FxHashMap<Var, Versions>) {
    let mut stmts = Vec::with_capacity(b.stmts.len());
    for mut s in std::mem::take(&mut b.stmts) {
        s.exp.bodies_mut().into_iter().for_each(|b| split(b, table, entry, all));
        match s.pat.first().and_then(|v| all.get(v)).filter(|_| has_kernels(&s.exp)) {
            Some(versions) => apart_by(s, versions, table, entry, &mut stmts),
            None => stmts.push(s),
        }
    }
    b.stmts = stmts;
}

/// An operator in versions, the last around the others.
fn apart_by(s: Stmt, of: &Versions, table: &mut mono::Program, entry: &str, out: &mut Vec<Stmt>) {
    let size = product(&of.size.factors, table, s.prov, out);
    let mut body = Copy::of(&s, table);
    for (k, value) in of.from.iter().enumerate() {
        let named = Of { site: of.site.as_str(), version: k + 2, size: &of.size.name };
        let threshold = Name::new(name(entry, named));
        let test = Test { size, compare: Compare::AtLeast, threshold, value: *value };
        let then = Copy::of(&s, table);
        let exp = Exp::Branch { guard: Guard { tests: vec![test] }, then, otherwise: body };
        let pat = if k + 1 == of.from.len() { s.pat.clone() } else { Copy::pattern(&s.pat, table) };
        let results = pat.iter().map(|v| Atom::Var(*v)).collect();
        body = Body { stmts: vec![Stmt { pat, exp, prov: s.prov }], results };
    }
    out.extend(body.stmts);
}

fn product(factors: &[Atom], table: &mut mono::Program, prov: Prov, out: &mut Vec<Stmt>) -> Atom {
    let mut product = factors.first().copied().unwrap_or(Atom::int(1));
    for f in factors.iter().skip(1) {
        let v = table.fresh("size", Ty::int());
        let exp = Exp::Host(mono::Exp::Op(ScalarOp::Mul, vec![product, *f]));
        out.push(Stmt { pat: vec![v], exp, prov });
        product = Atom::Var(v);
    }
    product
}

/// A copy of a statement, with variables of its own.
struct Copy<'p> {
    table: &'p mut mono::Program,
    with: Vec<(Var, Atom)>,
}

impl Copy<'_> {
    /// A body that is a copy of this statement.
    fn of(s: &Stmt, table: &mut mono::Program) -> Body {
        let pat = Copy::pattern(&s.pat, table);
        let exp = Copy { table, with: Vec::new() }.exp(&s.exp);
        let results = pat.iter().map(|v| Atom::Var(*v)).collect();
        Body { stmts: vec![Stmt { pat, exp, prov: s.prov }], results }
    }

    /// Variables like these, whose types may mention each other.
    fn pattern(pat: &[Var], table: &mut mono::Program) -> Vec<Var> {
        Copy { table, with: Vec::new() }.vars(pat)
    }

    fn exp(&mut self, e: &Exp) -> Exp {
        match e {
            Exp::Seg(seg) => {
                let space = seg.space.iter().map(|a| self.axis(a)).collect();
                let kind = match &seg.kind {
                    SegKind::Map => SegKind::Map,
                    SegKind::Red { axis, op } => SegKind::Red { axis: self.axis(axis), op: self.combine(op) },
                    SegKind::Scan { axis, kind, op, epilogue, known } => SegKind::Scan {
                        axis: self.axis(axis),
                        kind: *kind,
                        op: self.combine(op),
                        epilogue: epilogue.as_ref().map(|l| self.lambda(l)),
                        known: known.clone(),
                    },
                };
                let orders = seg.orders.clone();
                Exp::Seg(Seg { level: seg.level, space, kind, orders, body: self.body(&seg.body) })
            }
            Exp::Scatter { dests, axis, body, combine } => Exp::Scatter {
                dests: dests.clone(),
                axis: self.axis(axis),
                body: self.body(body),
                combine: combine.as_ref().map(|l| self.lambda(l)),
            },
            Exp::Filters(parts) => {
                let part =
                    |f: &Filter| Filter { axis: self.axis(&f.axis), body: self.body(&f.body), prov: f.prov };
                Exp::Filters(parts.iter().map(part).collect())
            }
            Exp::Grade { axis, body, gives } => {
                Exp::Grade { axis: self.axis(axis), body: self.body(body), gives: *gives }
            }
            Exp::Rows(rows) => {
                Exp::Rows(Rows { axis: self.axis(&rows.axis), body: self.body(&rows.body), ..rows.clone() })
            }
            other => other.clone(),
        }
    }

    fn vars(&mut self, all: &[Var]) -> Vec<Var> {
        let new: Vec<Var> = all.iter().map(|v| self.table.vars.push(self.table.vars[*v].clone())).collect();
        self.with.extend(all.iter().copied().zip(new.iter().map(|v| Atom::Var(*v))));
        for v in &new {
            for d in &mut self.table.vars[*v].ty.dims {
                if let Some((_, new)) = self.with.iter().find(|(old, _)| d.as_var() == Some(*old)) {
                    *d = *new;
                }
            }
        }
        new
    }

    fn axis(&mut self, a: &Axis) -> Axis {
        Axis { var: self.vars(&[a.var])[0], size: a.size }
    }

    fn body(&mut self, b: &mono::Body) -> mono::Body {
        Copier::instance(self.table, b, &self.with)
    }

    fn lambda(&mut self, l: &Lambda) -> Lambda {
        Lambda { params: self.vars(&l.params), body: self.body(&l.body) }
    }

    fn combine(&mut self, op: &Combine) -> Combine {
        Combine { lambda: self.lambda(&op.lambda), ..op.clone() }
    }
}

//! A scan that only the points of maps start from is not stored.
//!
//! ```text
//! (let (%ss) (seg-scan grid full () (i k) lengths +))     (let (%sums) (seg-map grid ((b nb)) … (reduce …)))
//! (let (%all) (host (index %ss %k)))                      (let (%before) (seg-map grid () … (scan full (b nb) …)))
//! (check (split) … %all …)                           ⟶    (let (%all) (host (index %before %nb)))
//! (let (%ys) (seg-map grid ((i k))                        (check (split) … %all …)
//!   (let (%s) (index %ss i)) … (give %y)))                (let (%ys) (seg-scan grid exclusive () (i k) lengths +
//!                                                           (epilogue (i %s) … (give %y)) (known 128 (%before))))
//! ```
//!
//! Rows of an array of boxes begin where the lengths before them add up to. That sum has to be known before a row is
//! read, since it is checked: so the lengths are gone through twice (on a processor mostly while a cache has them, see
//! `remc_kernel::lower::one_pass`). But of the starts only every so many need memory: a map goes through the points of such a tile one after the other and adds up the lengths as it
//! goes. A start that is wanted by itself, such as that of a row so long that it is reduced apart, is the sum of what
//! is before it in its tile, and of the tiles before that. Which rows are so long is looked for where a tile's sum is
//! large ([`large`]).
//!
//! The prefixes have to be exact, whatever the order of the operations, and their elements cheap to make again:
//! integers, by straight-line code. If anything else reads them they are stored as before.

mod large;

use super::{Flattener, host::Stmts};
use crate::ir::*;
use remc_base::ops::{ScalarOp, neutral};
use remc_base::{BaseTy, Prov};
use remc_mono::ir as mono;
use remc_mono::walk::Copier;
use rustc_hash::FxHashSet;

/// The most statements of an element that is made again.
const CHEAP: usize = 8;

/// Takes the scans of the host apart that need not be stored; of their prefixes every so many are.
pub(super) fn tiles(f: &mut Flattener, body: &mut Body, every: i64) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| tiles(f, b, every));
    }
    let mut k = 0;
    while k < body.stmts.len() {
        let later = Readers { stmts: &body.stmts[k + 1..], results: &body.results };
        if let Some(scan) = Scanned::of(&f.p, &body.stmts[k])
            && later.start_only(&f.p, &scan)
        {
            let tiled = Tiled::of(f, scan, every);
            let readers = body.stmts.split_off(k + 1);
            body.stmts.truncate(k);
            body.stmts.extend(tiled.made.iter().cloned());
            k = body.stmts.len();
            body.stmts.extend(tiled.readers(f, readers));
        } else {
            k += 1;
        }
    }
}

/// A scan that may be done in tiles.
struct Scanned {
    pat: Vec<Var>,
    axis: Axis,
    kind: ScanKind,
    op: Combine,
    /// What the operator starts from that changes nothing.
    neutral: Vec<Atom>,
    leaf: mono::Body,
    prov: Prov,
}

impl Scanned {
    fn of(table: &mono::Program, s: &Stmt) -> Option<Scanned> {
        let Exp::Seg(Seg { space, kind, body: leaf, .. }) = &s.exp else { return None };
        let SegKind::Scan { axis, kind, op, epilogue: None, known: None } = kind else { return None };
        op.start.as_ref()?;
        let tys = s.pat.iter().map(|v| table.vars[*v].ty.base);
        let with_neutral = |(op, ty)| Some(Atom::Const(neutral(op, ty)?));
        let neutral: Vec<Atom> =
            op.component_ops()?.into_iter().zip(tys).map(with_neutral).collect::<Option<_>>()?;
        let simple = |s: &mono::Stmt| {
            s.pat.iter().all(|v| table.vars[*v].ty.is_scalar())
                && matches!(
                    s.exp,
                    mono::Exp::Atom(_)
                        | mono::Exp::Op(..)
                        | mono::Exp::Cast(..)
                        | mono::Exp::Index { .. }
                        | mono::Exp::Check { .. }
                )
        };
        let exact = s.pat.iter().all(|v| {
            let ty = &table.vars[*v].ty;
            ty.rank() == 1 && !ty.base.is_float()
        });
        let cheap = leaf.stmts.len() <= CHEAP && leaf.stmts.iter().all(simple);
        let fits = space.is_empty() && *kind != ScanKind::Inclusive && axis.size.as_var().is_some();
        (exact && cheap && fits).then(|| Scanned {
            pat: s.pat.clone(),
            axis: *axis,
            kind: *kind,
            op: op.clone(),
            neutral,
            leaf: leaf.clone(),
            prov: s.prov,
        })
    }

    fn gives(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.pat.contains(&v))
    }

    fn place_of(&self, array: Var) -> Option<usize> {
        self.pat.iter().position(|v| *v == array)
    }

    /// Fresh variables, one for each accumulator.
    fn scalars(&self, table: &mut mono::Program, name: &str) -> Vec<Var> {
        let cells = self.pat.iter().map(|v| table.vars[*v].ty.cell(1)).collect::<Vec<_>>();
        cells.into_iter().map(|ty| table.fresh(name, ty)).collect()
    }

    /// The same for vectors of them.
    fn vectors(&self, table: &mut mono::Program, name: &str, size: Atom) -> Vec<Var> {
        let cells = self.pat.iter().map(|v| table.vars[*v].ty.cell(1)).collect::<Vec<_>>();
        cells.into_iter().map(|ty| table.fresh(name, ty.over(&[size]))).collect()
    }

    /// The operator for a part of the elements.
    fn operator_of_part(&self, table: &mut mono::Program) -> Combine {
        Combine { start: Some(self.neutral.clone()), ..combine(table, &self.op) }
    }

    /// An element without its checks, which have been made, and what only they ask for.
    fn element(&self) -> mono::Body {
        let mut wanted: FxHashSet<Var> = self.leaf.results.iter().filter_map(|a| a.as_var()).collect();
        let mut stmts = Vec::new();
        for s in self.leaf.stmts.iter().rev() {
            if s.pat.iter().any(|v| wanted.contains(v)) {
                s.exp.for_each_operand(&mut |a| wanted.extend(a.as_var()));
                stmts.push(s.clone());
            }
        }
        stmts.reverse();
        mono::Body { stmts, results: self.leaf.results.clone() }
    }

    /// What the places of each of `count` tiles come to, each of which has `every` places.
    fn sums(&self, made: &mut Host<'_>, count: Atom, every: i64) -> Vec<Var> {
        let (b, j) = (made.leaf.int("b"), made.leaf.int("j"));
        let from = made.inside("from", ScalarOp::Mul, b.into(), Atom::int(every));
        let rest = made.inside("rest", ScalarOp::Sub, self.axis.size, from);
        let size = made.inside("size", ScalarOp::Min2, rest, Atom::int(every));
        let sizes = made.leaf.take();
        let i = made.inside("i", ScalarOp::Add, j.into(), from);
        let body = made.leaf.instance(&self.leaf, &[(self.axis.var, i)]);
        let results = made.leaf.splice(body);
        let body = mono::Body { stmts: made.leaf.take(), results };
        let own = self.scalars(made.table(), "sum");
        let op = self.operator_of_part(made.table());
        made.leaf.push(own.clone(), mono::Exp::Reduce { axis: Axis { var: j, size }, body, op });
        let stmts = sizes.into_iter().chain(made.leaf.take()).collect();
        let leaf = mono::Body { stmts, results: own.into_iter().map(Atom::Var).collect() };
        let sums = self.vectors(made.table(), "sums", count);
        made.push(sums.clone(), super::seg(vec![Axis { var: b, size: count }], SegKind::Map, leaf));
        sums
    }

    /// Whether a statement is a map that goes through the places of the scan, makes no arrays on its way, and reads the
    /// prefixes where it is.
    fn is_row(&self, table: &mono::Program, s: &Stmt) -> bool {
        let Exp::Seg(Seg { space, kind: SegKind::Map, body, .. }) = &s.exp else { return false };
        let [axis] = space.as_slice() else { return false };
        let vectors = s.pat.iter().all(|v| table.vars[*v].ty.rank() == 1);
        let scalars = body.binders().iter().all(|v| table.vars[*v].ty.is_scalar());
        let fits = vectors && scalars && !s.pat.is_empty();
        axis.size == self.axis.size && fits && self.reads_own(body, axis.var)
    }

    fn reads_own(&self, body: &mono::Body, here: Var) -> bool {
        let mut own = !body.results.iter().any(|a| self.gives(*a));
        for s in &body.stmts {
            match &s.exp {
                mono::Exp::Index { array, at } if self.gives((*array).into()) => {
                    own &= *at == [Atom::Var(here)];
                }
                e => e.for_each_operand(&mut |a| own &= !self.gives(a)),
            }
            own &= s.exp.bodies().into_iter().all(|b| self.reads_own(b, here));
        }
        own
    }
}

/// What comes after a scan.
struct Readers<'b> {
    stmts: &'b [Stmt],
    results: &'b [Atom],
}

impl<'b> Readers<'b> {
    fn of(body: &'b Body) -> Readers<'b> {
        Readers { stmts: &body.stmts, results: &body.results }
    }

    /// Whether a scan's prefixes are read by maps at their own places, and else one by one.
    fn start_only(&self, table: &mono::Program, scan: &Scanned) -> bool {
        let mut rows = 0;
        let alone = self.look(table, scan, true, &mut rows);
        alone && rows > 0
    }

    /// The same of what is in a body; `few` says whether one prefix may be read there, which is a reduction.
    fn look(&self, table: &mono::Program, scan: &Scanned, few: bool, rows: &mut usize) -> bool {
        let of = |s: &Stmt, rows: &mut usize| {
            if let Exp::Host(mono::Exp::Index { array, at }) = &s.exp
                && scan.gives((*array).into())
            {
                return at.len() == 1 && (few || at[0] == scan.axis.size);
            }
            // In a loop that has as many iterations as there are prefixes, or may have, that would be many.
            let few = few
                && match &s.exp {
                    Exp::For { .. } | Exp::While { .. } => false,
                    Exp::SerialMap { axes, .. } => axes.iter().all(|a| a.size != scan.axis.size),
                    _ => true,
                };
            if scan.is_row(table, s) {
                let mut read = false;
                s.exp.for_each_use(&mut |a| read |= scan.gives(a));
                *rows += usize::from(read);
                return true;
            }
            let mut own = true;
            s.exp.leaves().into_iter().for_each(|b| b.for_each_use(&mut |a| own &= !scan.gives(a)));
            s.exp.for_each_operand(&mut |a| own &= !scan.gives(a));
            own && s.exp.bodies().into_iter().all(|b| Readers::of(b).look(table, scan, few, rows))
        };
        self.stmts.iter().all(|s| of(s, rows)) && !self.results.iter().any(|a| scan.gives(*a))
    }
}

/// A scan of which every so many prefixes are stored.
struct Tiled {
    scan: Scanned,
    /// How many places a tile has, and how many tiles there are.
    every: i64,
    count: Atom,
    /// What each tile comes to, and what all before it do.
    sums: Vec<Var>,
    before: Vec<Var>,
    /// What makes them.
    made: Vec<Stmt>,
}

impl Tiled {
    fn of(f: &mut Flattener, scan: Scanned, every: i64) -> Tiled {
        let mut made = Host::new(f, scan.prov);
        let up = made.op("n", ScalarOp::Add, scan.axis.size, Atom::int(every - 1));
        let count = made.op("tiles", ScalarOp::Quotient, up, Atom::int(every));
        let more = made.op("n", ScalarOp::Add, count, Atom::int(1));
        let sums = scan.sums(&mut made, count, every);

        // What is before each tile, and in all of them.
        let before = scan.vectors(made.table(), "before", more);
        let inside = scan.vectors(made.table(), "before", more);
        let own = scan.scalars(made.table(), "sum");
        let b = made.leaf.int("b");
        for (v, array) in own.iter().zip(&sums) {
            made.leaf.push(vec![*v], mono::Exp::Index { array: *array, at: vec![b.into()] });
        }
        let results = own.into_iter().map(Atom::Var).collect();
        let body = mono::Body { stmts: made.leaf.take(), results };
        let op = combine(made.table(), &scan.op);
        let exp = mono::Exp::Scan { kind: ScanKind::Full, axis: Axis { var: b, size: count }, body, op };
        let leaf = super::one(inside, exp, scan.prov);
        made.push(before.clone(), super::seg(Vec::new(), SegKind::Map, leaf));
        Tiled { made: made.stmts, scan, every, count, sums, before }
    }

    /// The statements that read the prefixes, with what they read instead.
    fn readers(&self, f: &mut Flattener, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::new();
        for mut s in stmts {
            for b in s.exp.bodies_mut() {
                b.stmts = self.readers(f, std::mem::take(&mut b.stmts));
            }
            match s.exp {
                Exp::Host(mono::Exp::Index { array, ref at }) => {
                    match (self.scan.place_of(array), at.as_slice()) {
                        (Some(which), [i]) => self.read(f, which, *i, &s, &mut out),
                        _ => out.push(s),
                    }
                }
                Exp::Seg(seg) => {
                    let mut read = false;
                    seg.body.for_each_use(&mut |a| read |= self.scan.gives(a));
                    let exp = Exp::Seg(if read { self.row(&mut f.p, seg) } else { seg });
                    out.push(Stmt { exp, ..s });
                }
                Exp::Filters(_) => match self.in_dense_tiles(f, &s) {
                    Some(made) => out.extend(made),
                    None => out.push(s),
                },
                _ => out.push(s),
            }
        }
        out
    }

    /// A map over the places of the scan as its epilogue.
    fn row(&self, table: &mut mono::Program, seg: Seg) -> Seg {
        let Some(here) = seg.space.first().map(|a| a.var) else { return seg };
        let prefixes = self.scan.scalars(table, "start");
        let params = std::iter::once(here).chain(prefixes.iter().copied()).collect();
        let mut body = seg.body;
        self.use_prefixes(&mut body, &prefixes);
        let i = table.fresh("i", Ty::int());
        let leaf = Copier::instance(table, &self.scan.element(), &[(self.scan.axis.var, i.into())]);
        let kind = SegKind::Scan {
            axis: Axis { var: i, size: self.scan.axis.size },
            kind: ScanKind::Exclusive,
            op: combine(table, &self.scan.op),
            epilogue: Some(Lambda { params, body }),
            known: Some(Known { every: Atom::int(self.every), before: self.before.clone() }),
        };
        Seg { level: seg.level, space: Vec::new(), kind, orders: Vec::new(), body: leaf }
    }

    fn use_prefixes(&self, body: &mut mono::Body, prefixes: &[Var]) {
        for s in &mut body.stmts {
            if let mono::Exp::Index { array, .. } = &s.exp
                && let Some(v) = self.scan.place_of(*array).and_then(|k| prefixes.get(k))
            {
                s.exp = mono::Exp::Atom((*v).into());
            }
            s.exp.bodies_mut().into_iter().for_each(|b| self.use_prefixes(b, prefixes));
        }
    }

    /// One prefix: what is before its tile, and what is before it there.
    fn read(&self, f: &mut Flattener, which: usize, at: Atom, s: &Stmt, out: &mut Vec<Stmt>) {
        let (scan, every) = (&self.scan, Atom::int(self.every));
        let mut made = Host::new(f, s.prov);
        let load = |array: Var, at: Atom| Exp::Host(mono::Exp::Index { array, at: vec![at] });
        if scan.kind == ScanKind::Full && at == scan.axis.size {
            made.push(s.pat.clone(), load(self.before[which], self.count));
            out.extend(made.stmts);
            return;
        }
        let tile = made.op("tile", ScalarOp::Quotient, at, every);
        let from = made.op("from", ScalarOp::Mul, tile, every);
        let size = made.op("rest", ScalarOp::Sub, at, from);
        let before = scan.scalars(made.table(), "before");
        for (x, array) in before.iter().zip(&self.before) {
            made.push(vec![*x], load(*array, tile));
        }
        let j = made.leaf.int("j");
        let i = made.inside("i", ScalarOp::Add, j.into(), from);
        let body = made.leaf.instance(&scan.element(), &[(scan.axis.var, i)]);
        let results = made.leaf.splice(body);
        let body = mono::Body { stmts: made.leaf.take(), results };
        let op = scan.operator_of_part(made.table());
        let inside = scan.scalars(made.table(), "inside");
        let kind = SegKind::Red { axis: Axis { var: j, size }, op };
        made.push(inside.clone(), super::seg(Vec::new(), kind, body));
        let operands = before.into_iter().chain(inside).map(Atom::Var);
        let args: Vec<(Var, Atom)> = scan.op.lambda.params.iter().copied().zip(operands).collect();
        let sum = made.leaf.instance(&scan.op.lambda.body, &args);
        sum.stmts.into_iter().for_each(|t| made.push(t.pat, Exp::Host(t.exp)));
        if let Some(result) = sum.results.get(which) {
            made.push(s.pat.clone(), Exp::Host(mono::Exp::Atom(*result)));
        }
        out.extend(made.stmts);
    }
}

/// A copy of an operator, with variables of its own.
fn combine(table: &mut mono::Program, op: &Combine) -> Combine {
    let params: Vec<Var> = op.lambda.params.iter().map(|v| table.vars.push(table.vars[*v].clone())).collect();
    let args: Vec<(Var, Atom)> =
        op.lambda.params.iter().copied().zip(params.iter().map(|v| Atom::Var(*v))).collect();
    let body = Copier::instance(table, &op.lambda.body, &args);
    Combine { lambda: Lambda { params, body }, ..op.clone() }
}

/// Statements of the host under construction, and those of a leaf.
struct Host<'f> {
    leaf: Stmts<'f>,
    prov: Prov,
    stmts: Vec<Stmt>,
}

impl<'f> Host<'f> {
    fn new(f: &'f mut Flattener, prov: Prov) -> Host<'f> {
        Host { leaf: Stmts::new(f, prov), prov, stmts: Vec::new() }
    }

    fn table(&mut self) -> &mut mono::Program {
        &mut self.leaf.f.p
    }

    fn push(&mut self, pat: Vec<Var>, exp: Exp) {
        self.stmts.push(Stmt { pat, exp, prov: self.prov });
    }

    fn op(&mut self, name: &str, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        let v = self.leaf.int(name);
        self.push(vec![v], Exp::Host(mono::Exp::Op(op, vec![a, b])));
        v.into()
    }

    /// The same in the leaf.
    fn inside(&mut self, name: &str, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        self.leaf.op_of(name, BaseTy::I64, op, &[a, b])
    }
}

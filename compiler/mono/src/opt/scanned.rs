//! What goes through the values of a serial scan goes along with it, value by value.
//!
//! ```text
//! (let (%m %t) (scan full (%i %n)                     (let (%last %s) (reduce (%i %n)
//!   (let (%x) (index %xs %i)) (give %x)                 (let (%x) (index %xs %i)) (let (%w) (index %ws %i)) (give %x %w)
//!   (serial ((%a) (%y)) (start %z)                      (serial ((%a) (%b) (%y) (%v)) (start %z 0.0)
//!     … (give %next))))                            ⟶      … %next …
//! (let (%s) (reduce (%j %n)                               (let (%e) (op * %next %v))
//!   (let (%k) (op + %j 1)) (let (%v) (index %m %k))       (let (%c) (op + %b %e))
//!   (let (%w) (index %ws %j))                             (give %next %c))))
//!   (let (%e) (op * %v %w)) (give %e)
//!   (assoc ((%b) (%d)) (start 0.0)
//!     (let (%c) (op + %b %d)) (give %c))))
//! ```
//!
//! A moving average of a moving average, and the sum of what one gives, are one loop then, and the array between is gone: it
//! would be written and read in each row, and a row of a few thousand items leaves no room in the nearest cache for several.
//! That is loop fusion, where the first loop is in order anyway. The value that a reduction or scan reads is the one before
//! an item of the full scan, or the one after it; a reduction over all `n + 1` of them takes the start first. The last value
//! is what the scan's accumulator comes to.
//!
//! Not so where anything else reads the values, but for a scan of the same kind, which keeps them; where either can stop; and
//! where functions are computed of the values, exponentials and the like, which would run in lanes by themselves.

#[cfg(test)]
mod tests;

use super::fuse::tidy;
use crate::ir::*;
use crate::walk::Copier;
use remc_base::Prov;
use remc_base::ops::{ScalarOp, is_transcendental};
use remc_base::pass::PassInfo;
use rustc_hash::FxHashSet;

pub const PASS: PassInfo = PassInfo {
    name: "scanned",
    from: "mono",
    to: "mono",
    summary: "makes one loop of a serial scan and what goes through its values",
};

pub fn scanned(p: &mut Program) {
    if crate::stream::streams(p) {
        return;
    }
    let mut body = std::mem::take(&mut p.body);
    let before = body.clone();
    in_body(p, &mut body);
    let changed = body != before;
    p.body = body;
    if changed {
        tidy::tidy(p);
    }
}

fn in_body(p: &mut Program, body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| in_body(p, b));
    }
    let mut k = 0;
    while k < body.stmts.len() {
        first_values(body, k);
        last_values_late(body, k);
        match (k + 1..body.stmts.len()).find_map(|j| Some((j, joined(p, body, k, j)?))) {
            Some((j, made)) => {
                // The scan goes to what reads it, and is looked at again there.
                let end = j + made.len();
                body.stmts.splice(j..=j, made);
                let scan = body.stmts.remove(k);
                last_values(body, &scan, end - 2);
            }
            None => k += 1,
        }
    }
}

/// A serial scan of scalars that has all that a loop needs.
struct Scan<'b> {
    values: &'b [Var],
    full: bool,
    axis: Axis,
    body: &'b Body,
    lambda: &'b Lambda,
    start: &'b [Atom],
}

impl Scan<'_> {
    fn of(s: &Stmt) -> Option<Scan<'_>> {
        let Exp::Scan { kind, axis, body, op: Combine { lambda, start: Some(start), assoc: false, .. } } =
            &s.exp
        else {
            return None;
        };
        let full = match kind {
            ScanKind::Full => true,
            ScanKind::Inclusive => false,
            ScanKind::Exclusive => return None,
        };
        Some(Scan { values: &s.pat, full, axis: *axis, body, lambda, start })
    }

    /// Which value it is that a statement reads, if it is one.
    fn read<'s>(&self, s: &'s Stmt) -> Option<(usize, &'s [Atom])> {
        let Exp::Index { array, at } = &s.exp else { return None };
        Some((self.values.iter().position(|v| v == array)?, at))
    }

    /// Whether a statement reads the last value, behind all items.
    fn is_last(&self, s: &Stmt) -> bool {
        self.full && self.read(s).is_some_and(|(_, at)| *at == [self.axis.size])
    }
}

/// The first value of a full scan is what it starts from.
fn first_values(body: &mut Body, k: usize) {
    let (before, after) = body.stmts.split_at_mut(k + 1);
    let Some(scan) = Scan::of(&before[k]).filter(|scan| scan.full) else { return };
    let mut todo: Vec<&mut Stmt> = after.iter_mut().collect();
    while let Some(s) = todo.pop() {
        if let Some((value, [at])) = scan.read(s)
            && at.as_int() == Some(0)
        {
            s.exp = Exp::Atom(scan.start[value]);
        }
        todo.extend(s.exp.bodies_mut().into_iter().flat_map(|b| &mut b.stmts));
    }
}

/// The last value of a full scan is read just before it is used.
fn last_values_late(body: &mut Body, k: usize) {
    let Some(scan) = Scan::of(&body.stmts[k]) else { return };
    let reads: Vec<bool> = body.stmts.iter().map(|s| scan.is_last(s)).collect();
    let mut read: Vec<Stmt> = Vec::new();
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for (s, is_read) in std::mem::take(&mut body.stmts).into_iter().zip(reads) {
        if is_read {
            read.push(s);
            continue;
        }
        let (used, others): (Vec<Stmt>, _) =
            read.into_iter().partition(|r| s.exp.mentions(|v| r.pat.contains(&v)));
        stmts.extend(used);
        read = others;
        stmts.push(s);
    }
    stmts.extend(read);
    body.stmts = stmts;
}

/// It is what the scan's accumulator comes to in the reduction, statement `at`, that goes along with the scan.
fn last_values(body: &mut Body, scan: &Stmt, at: usize) {
    let (before, after) = body.stmts.split_at_mut(at + 1);
    let (Some(scan), Some(Stmt { pat, exp: Exp::Reduce { .. }, .. })) = (Scan::of(scan), before.last())
    else {
        return;
    };
    for s in after {
        if scan.is_last(s)
            && let Some((value, _)) = scan.read(s)
        {
            s.exp = Exp::Atom(pat[value].into());
        }
    }
}

/// When a value is read: before the scan's item of this number, after it; or all of them are gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Before,
    After,
    All,
}

/// What goes through a scan's values, taken apart.
struct Follower {
    /// For each statement of its elements whether it depends on the values.
    depends: Vec<bool>,
    /// The statements that read values: which value, and when.
    reads: Vec<(usize, usize, When)>,
}

/// What statements `k`, a scan, and `j`, which goes through its values, become.
fn joined(p: &mut Program, body: &Body, k: usize, j: usize) -> Option<Vec<Stmt>> {
    let scan = Scan::of(&body.stmts[k])?;
    let s = &body.stmts[j];
    let (axis, elements, op, kind) = match &s.exp {
        Exp::Reduce { axis, body, op } => (*axis, body, op, None),
        Exp::Scan { kind, axis, body, op } if !op.assoc => (*axis, body, op, Some(*kind)),
        _ => return None,
    };
    let start = op.start.as_ref()?;
    let mentioned = |e: &Exp| e.mentions(|v| scan.values.contains(&v));
    let scalars = |vars: &[Var]| vars.iter().all(|v| p.ty(*v).is_scalar());
    let between = &body.stmts[k + 1..j];
    let stops = scan.body.can_stop() || scan.lambda.body.can_stop() || s.exp.can_stop();
    if !mentioned(&s.exp)
        || stops
        || between.iter().any(|s| mentioned(&s.exp))
        || !scalars(&scan.lambda.params)
        || !scalars(&op.lambda.params)
        || op.lambda.body.free_vars().iter().any(|v| scan.values.contains(v))
    {
        return None;
    }
    // The last value is there when a reduction that goes along is done.
    let is_last = |s: &Stmt| kind.is_none() && scan.is_last(s);
    let elsewhere = body.stmts[j + 1..].iter().any(|s| mentioned(&s.exp) && !is_last(s))
        || body.results.iter().any(|a| a.as_var().is_some_and(|v| scan.values.contains(&v)));
    let follower = follower(p, &scan, axis, elements)?;
    let all = follower.reads.iter().any(|r| r.2 == When::All);
    let same = kind == Some(if scan.full { ScanKind::Full } else { ScanKind::Inclusive });
    if elsewhere && !same || all && kind.is_some() {
        return None;
    }
    let (scan, op) = (
        (scan.values.to_vec(), scan.axis, scan.body.clone(), scan.lambda.clone(), scan.start.to_vec()),
        (op.clone(), start.clone(), elements.clone()),
    );
    let mut made = Made { p, prov: s.prov, out: Vec::new() };
    Some(made.join(scan, (axis, op, &follower), (kind, all, same), &s.pat))
}

/// How the elements of what goes over `axis` read the scan's values, if that can go along with the scan.
fn follower(p: &Program, scan: &Scan<'_>, axis: Axis, elements: &Body) -> Option<Follower> {
    let index = Atom::Var(axis.var);
    let whole = scan.values.first().and_then(|v| p.ty(*v).dims.first()).copied();
    let one_more = |a: &Atom| {
        elements.stmts.iter().any(|s| {
            matches!(&s.exp, Exp::Op(ScalarOp::Add, args) if args[..] == [index, Atom::int(1)])
                && s.pat.first().map(|v| Atom::Var(*v)) == Some(*a)
        })
    };
    let when = |at: &[Atom]| match at {
        [a] if axis.size == scan.axis.size && *a == index => {
            Some(if scan.full { When::Before } else { When::After })
        }
        [a] if axis.size == scan.axis.size && scan.full && one_more(a) => Some(When::After),
        [a] if scan.full && Some(axis.size) == whole && *a == index => Some(When::All),
        _ => None,
    };
    let mut later: FxHashSet<Var> = FxHashSet::default();
    let (mut depends, mut reads) = (Vec::new(), Vec::new());
    for (k, s) in elements.stmts.iter().enumerate() {
        if let Some((value, at)) = scan.read(s) {
            reads.push((k, value, when(at)?));
            later.extend(&s.pat);
            depends.push(true);
            continue;
        }
        let on_values = s.exp.mentions(|v| later.contains(&v));
        let scalars = s.pat.iter().all(|v| p.ty(*v).is_scalar());
        if s.exp.mentions(|v| scan.values.contains(&v)) || !scalars {
            return None;
        }
        if on_values {
            let plain = match &s.exp {
                Exp::Op(op, _) => !is_transcendental(*op),
                Exp::Cast(..) | Exp::Atom(_) | Exp::Index { .. } => true,
                _ => false,
            };
            if !plain {
                return None;
            }
            later.extend(&s.pat);
        }
        depends.push(on_values);
    }
    Some(Follower { depends, reads })
}

type Parts = (Vec<Var>, Axis, Body, Lambda, Vec<Atom>);

struct Made<'p> {
    p: &'p mut Program,
    prov: Prov,
    out: Vec<Stmt>,
}

impl Made<'_> {
    fn op(&mut self, name: &str, op: ScalarOp, args: Vec<Atom>) -> (Var, Stmt) {
        let v = self.p.fresh(name, Ty::int());
        (v, Stmt { pat: vec![v], exp: Exp::Op(op, args), prov: self.prov })
    }

    /// The statements of both in one loop; of a reduction that goes through all values, what it makes of the first is before it.
    fn join(
        &mut self,
        (values, axis, mut body, lambda, start): Parts,
        (of, (op, mut begin, elements), follower): (Axis, (Combine, Vec<Atom>, Body), &Follower),
        (kind, all, same): (Option<ScanKind>, bool, bool),
        pat: &[Var],
    ) -> Vec<Stmt> {
        let (states, items) = lambda.params.split_at(start.len());
        let (accs, elems) = op.lambda.params.split_at(begin.len());
        if all {
            begin = self.first(of, &elements, follower, &start, (&op.lambda, accs, elems, &begin));
        }
        // What does not depend on the values is computed with the scan's items, and handed over where it is needed.
        let mut index = Atom::Var(axis.var);
        if all {
            let (v, s) = self.op("i", ScalarOp::Add, vec![index, Atom::int(1)]);
            body.stmts.push(s);
            index = v.into();
        }
        let mut apart = Body { stmts: Vec::new(), results: Vec::new() };
        let mut inner: Vec<Stmt> = Vec::new();
        for (s, depends) in elements.stmts.iter().zip(&follower.depends) {
            if *depends { inner.push(s.clone()) } else { apart.stmts.push(s.clone()) }
        }
        let known: FxHashSet<Var> =
            apart.stmts.iter().flat_map(|s| s.pat.iter().copied()).chain([of.var]).collect();
        let mut wanted: Vec<Var> = Vec::new();
        let mut want = |a: Atom| {
            if let Atom::Var(v) = a
                && known.contains(&v)
                && !wanted.contains(&v)
            {
                wanted.push(v);
            }
        };
        for (k, s) in elements.stmts.iter().enumerate().filter(|(k, _)| follower.depends[*k]) {
            if follower.reads.iter().all(|r| r.0 != k) {
                s.exp.for_each_operand(&mut want);
            }
        }
        elements.results.iter().for_each(|a| want(*a));
        apart.results = wanted.iter().map(|v| Atom::Var(*v)).collect();
        let apart = Copier::instance(self.p, &apart, &[(of.var, index)]);
        body.stmts.extend(apart.stmts);
        body.results.extend(apart.results);
        let handed: Vec<Var> = wanted
            .iter()
            .map(|v| {
                let info = self.p.vars[*v].clone();
                self.p.fresh(info.name.as_str(), info.ty)
            })
            .collect();
        // The operator: the scan's, the elements that its values make, and what is done with these.
        let mut stmts = lambda.body.stmts.clone();
        for (k, value, when) in &follower.reads {
            let at = elements.stmts[..=*k].iter().zip(&follower.depends).filter(|(_, d)| **d).count() - 1;
            let now = match when {
                When::Before => states[*value].into(),
                When::After | When::All => lambda.body.results[*value],
            };
            inner[at].exp = Exp::Atom(now);
        }
        let with: Vec<(Var, Atom)> = wanted.iter().copied().zip(handed.iter().map(|v| (*v).into())).collect();
        let inner =
            Copier::instance(self.p, &Body { stmts: inner, results: elements.results.clone() }, &with);
        stmts.extend(inner.stmts);
        let with: Vec<(Var, Atom)> = elems.iter().copied().zip(inner.results).collect();
        let done = Copier::instance(self.p, &op.lambda.body, &with);
        stmts.extend(done.stmts);
        let results = lambda.body.results.iter().copied().chain(done.results).collect();
        let params = [states, accs, items, &handed].concat();
        let lambda = Lambda { params, body: Body { stmts, results } };
        let start = start.into_iter().chain(begin).collect();
        let op = Combine { lambda, start: Some(start), assoc: false, alone: false };
        let bound: Vec<Var> = match kind {
            Some(_) if same => values,
            Some(_) => {
                let dims = self.p.ty(pat[0]).dims.clone();
                let like = |this: &mut Self, v: &Var| {
                    let base = this.p.ty(*v).base;
                    this.p.fresh("value", Ty { base, dims: dims.clone() })
                };
                values.iter().map(|v| like(self, v)).collect()
            }
            None => values.iter().map(|v| self.p.fresh("last", Ty::scalar(self.p.ty(*v).base))).collect(),
        };
        let exp = match kind {
            Some(kind) => Exp::Scan { kind, axis, body, op },
            None => Exp::Reduce { axis, body, op },
        };
        let pat = bound.into_iter().chain(pat.iter().copied()).collect();
        self.out.push(Stmt { pat, exp, prov: self.prov });
        std::mem::take(&mut self.out)
    }

    /// What a reduction through all values makes of the first one, which the scan starts from.
    fn first(
        &mut self,
        of: Axis,
        elements: &Body,
        follower: &Follower,
        start: &[Atom],
        (lambda, accs, elems, begin): (&Lambda, &[Var], &[Var], &[Atom]),
    ) -> Vec<Atom> {
        let mut elements = elements.clone();
        for (k, value, _) in &follower.reads {
            elements.stmts[*k].exp = Exp::Atom(start[*value]);
        }
        let elements = Copier::instance(self.p, &elements, &[(of.var, Atom::int(0))]);
        let with: Vec<(Var, Atom)> = (accs.iter().copied().zip(begin.iter().copied()))
            .chain(elems.iter().copied().zip(elements.results))
            .collect();
        let first = Copier::instance(self.p, &lambda.body, &with);
        self.out.extend(elements.stmts);
        self.out.extend(first.stmts);
        first.results
    }
}

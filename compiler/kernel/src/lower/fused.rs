//! Scans of a row, and maps of what they give, in one loop.
//!
//! ```text
//! (let (%b) (scan (%i %n) (index %xs %i) +))      (for (scan 8) %i (upto 0 %n) ((%sum 0 +))
//! (let (%d) (map ((%k %n))                   ⟶      (let %s (op + %sum (load %xs %i)))
//!   (op * (index %b %k) 2)))                         (store %d (%i) (op * %s 2)) …)
//! ```
//!
//! A scan in lanes has the map that follows as its epilogue, and what only that reads of it is never stored. One that lanes cannot do
//! waits for each of its elements; so do others after it, along the same axis, and all are one loop, which waits for their
//! operators alone:
//!
//! ```text
//! (let (%b) (scan (%i %n) (index %xs %i) f))      (for seq %i (upto 0 %n) ((%x …) (%y …))
//! (let (%p) (scan (%j %n) (index %b %j) g))         (let %u (f %x (load %xs %i)))
//! (let (%d) (map ((%k %n))                   ⟶      (let %v (g %y %u))
//!   (op - (index %p %k) (index %b %k))))             (store %d (%i) (op - %v %u))
//!                                                    (next %u %v))
//! ```
//!
//! Where lanes can do each of several scans, each in lanes is the faster: measured, of sums of sums of floats, by half.
//!
//! Each of them reads of the others what it is at. Of those only one may stop the program: what comes first is the same.

use super::build::{Emit, upto};
use super::leaf::{Inner, Leaf};
use super::scan::Scan;
use super::schedule::lane_ops;
use super::{Bound, L, Place};
use crate::ir::*;
use remc_base::BaseTy;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// A scan or map of a group.
struct Member<'b> {
    pat: &'b [mono::Var],
    index: mono::Var,
    /// What it does at an element, without the reads of what others make there.
    body: mono::Body,
    /// Those reads: what is bound, and to which array's element.
    reads: Vec<(mono::Var, mono::Var)>,
    scan: Option<(&'b mono::Combine, mono::ScanKind)>,
}

/// The scans and maps from statement `k` on that may be one loop.
fn group<'b>(l: &Leaf<'_>, b: &'b mono::Body, k: usize) -> Option<Vec<Member<'b>>> {
    let mut members: Vec<Member<'b>> = Vec::new();
    let mut size = None;
    let mut stops = 0;
    for s in &b.stmts[k..] {
        let (axis, body, scan) = match &s.exp {
            mono::Exp::Scan { kind, axis, body, op } if *kind != mono::ScanKind::Full => {
                (*axis, body, Some((op, *kind)))
            }
            mono::Exp::Map { axes, body } if axes.len() == 1 => (axes[0], body, None),
            _ => break,
        };
        stops += usize::from(s.exp.can_stop());
        let vars = &l.plan.flat.vars;
        let scalar = |v: &mono::Var| vars[*v].ty.is_scalar();
        let plain = is_plain(body, &scalar)
            && body.results.iter().filter_map(|a| a.as_var()).all(|v| scalar(&v))
            && scan.is_none_or(|(op, _)| op.lambda.params.iter().all(scalar) && start(l, op).is_some());
        if !plain || stops > 1 || *size.get_or_insert(axis.size) != axis.size {
            break;
        }
        let made: FxHashSet<mono::Var> = members.iter().flat_map(|m| m.pat.iter().copied()).collect();
        let (mut reads, mut rest) = (Vec::new(), Vec::new());
        for s in &body.stmts {
            match (&s.exp, s.pat.as_slice()) {
                (mono::Exp::Index { array, at }, [x])
                    if made.contains(array) && at[..] == [axis.var.into()] =>
                {
                    reads.push((*x, *array));
                }
                _ => rest.push(s.clone()),
            }
        }
        let body = mono::Body { stmts: rest, results: body.results.clone() };
        let mut others = made.iter().any(|v| size == Some((*v).into()));
        let mut mention = |a: mono::Atom| others |= a.as_var().is_some_and(|v| made.contains(&v));
        body.for_each_use(&mut mention);
        if let Some((op, _)) = scan {
            op.lambda.body.for_each_use(&mut mention);
            op.start.iter().flatten().for_each(|a| mention(*a));
        }
        if others {
            break;
        }
        members.push(Member { pat: &s.pat, index: axis.var, body, reads, scan });
    }
    // What reads nothing of the others, at the end, has a loop of its own.
    while members.last().is_some_and(|m| m.reads.is_empty()) {
        members.pop();
    }
    (members.len() > 1).then_some(members)
}

/// Whether a body computes scalars, without loops.
fn is_plain(body: &mono::Body, scalar: &dyn Fn(&mono::Var) -> bool) -> bool {
    body.stmts.iter().all(|s| {
        let straight = s.exp.bodies().is_empty() || matches!(s.exp, mono::Exp::If { .. });
        straight && s.pat.iter().all(scalar) && s.exp.bodies().into_iter().all(|b| is_plain(b, scalar))
    })
}

impl Member<'_> {
    fn runs_in_lanes(&self, l: &Leaf<'_>) -> bool {
        self.scan.is_some_and(|(op, kind)| {
            let scan = Scan { index: self.index, kind, op, leaf: &self.body, epilogue: None };
            l.scan_lanes(&scan).is_some()
        })
    }
}

/// What a scan starts from.
fn start(l: &Leaf<'_>, op: &mono::Combine) -> Option<Vec<mono::Atom>> {
    if let Some(start) = &op.start {
        return Some(start.clone());
    }
    let count = op.lambda.body.results.len();
    let tys: Vec<BaseTy> = op.lambda.params[..count].iter().map(|v| l.plan.flat.vars[*v].ty.base).collect();
    Some(lane_ops(op, &tys)?.into_iter().map(|(_, neutral)| mono::Atom::Const(neutral)).collect())
}

impl Leaf<'_> {
    /// Does a scan, statement `k`, together with what follows it along the same axis; how many statements that were.
    pub fn scans_in_one(&mut self, b: &mono::Body, k: usize) -> L<usize> {
        // A group combines what its threads have of one scan at a time.
        if !matches!(b.stmts[k].exp, mono::Exp::Scan { .. }) || self.of_group().is_some() {
            return Ok(0);
        }
        let Some(mut members) = group(self, b, k) else { return Ok(0) };
        let (mono::Exp::Scan { axis, .. }, prov) = (&b.stmts[k].exp, b.stmts[k].prov) else { return Ok(0) };
        let in_lanes = self.inner == Inner::Lanes && members[0].runs_in_lanes(self);
        // Of branches in single numbers a processor guesses each. And a short row that is stored one by one at its end is not
        // there when the next round loads vectors of it.
        let branches = |m: &Member<'_>| m.body.stmts.iter().any(|s| !s.exp.bodies().is_empty());
        let long = self.plan.atom(axis.size).is_ok();
        if !(in_lanes && long) && members.iter().any(branches) {
            return Ok(0);
        }
        if in_lanes {
            members.truncate(2);
        }
        let end = k + members.len();
        let mut later: FxHashSet<mono::Var> = b.results.iter().filter_map(|a| a.as_var()).collect();
        let rest = mono::Body { stmts: b.stmts[end..].to_vec(), results: Vec::new() };
        rest.for_each_use(&mut |a| later.extend(a.as_var()));
        let around = std::mem::replace(&mut self.prov, prov);
        let done = match in_lanes {
            true => self.scan_with_epilogue(axis, &members, &later),
            false => self.all_in_one(axis, &members, &later).map(|()| true),
        };
        self.prov = around;
        Ok(if done? { end - k } else { 0 })
    }

    /// A scan in lanes with the map that follows it as its epilogue, if that may be; whether it is done. What the scan gives
    /// is stored beside, where something else reads it.
    fn scan_with_epilogue(
        &mut self,
        axis: &mono::Axis,
        members: &[Member<'_>],
        later: &FxHashSet<mono::Var>,
    ) -> L<bool> {
        let [first, map] = members else { return Ok(false) };
        let (Some((op, kind)), None) = (first.scan, map.scan) else { return Ok(false) };
        let values: Vec<mono::Var> = first
            .pat
            .iter()
            .map(|v| {
                let base = self.plan.flat.vars[*v].ty.base;
                self.plan.fresh("x", mono::Ty::scalar(base))
            })
            .collect();
        let mut body = map.body.clone();
        let mut reads = Vec::new();
        for (x, array) in &map.reads {
            let Some(value) = first.pat.iter().zip(&values).find(|(v, _)| *v == array).map(|(_, x)| *x)
            else {
                return Ok(false);
            };
            reads.push((*x, mono::Atom::Var(value)));
        }
        body.substitute(&reads.into_iter().collect());
        let kept = first.pat.iter().zip(&values).filter(|(v, _)| later.contains(v));
        let (kept, prefixes): (Vec<mono::Var>, Vec<mono::Atom>) =
            kept.map(|(v, x)| (*v, mono::Atom::Var(*x))).unzip();
        body.results.extend(prefixes);
        let made: Vec<mono::Var> = map.pat.iter().copied().chain(kept).collect();
        let params = std::iter::once(map.index).chain(values).collect();
        let epilogue = mono::Lambda { params, body };
        let scan = Scan { index: first.index, kind, op, leaf: &first.body, epilogue: Some(&epilogue) };
        let Some((width, ops)) = self.scan_lanes(&scan) else { return Ok(false) };
        let Some(start) = start(self, op) else { return Ok(false) };
        let n = self.atom(axis.size)?;
        let outs = made.iter().map(|v| self.memory(*v)).collect::<L<Vec<_>>>()?;
        let start = self.atoms(&start)?;
        let init: Vec<_> = start.into_iter().zip(ops).map(|(a, (op, _))| (a, Some(op))).collect();
        self.scan_loop(How::Scan(width), upto(n), &init, scan, &[], &outs)?;
        self.env.extend(made.into_iter().zip(outs.into_iter().map(Bound::Array)));
        Ok(true)
    }

    /// A group of scans and maps in one loop.
    fn all_in_one(
        &mut self,
        axis: &mono::Axis,
        members: &[Member<'_>],
        later: &FxHashSet<mono::Var>,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let mut places: FxHashMap<mono::Var, Place> = FxHashMap::default();
        for v in members.iter().flat_map(|m| m.pat).filter(|v| later.contains(v)) {
            let to = self.memory(*v)?;
            places.insert(*v, to);
        }
        let mut init = Vec::new();
        for (op, _) in members.iter().filter_map(|m| m.scan) {
            let start = start(self, op).unwrap_or_default();
            init.extend(self.atoms(&start)?.into_iter().map(|a| (a, None)));
        }
        self.carry(How::Seq, upto(n), &init, |l, i, state| {
            let mut next = Vec::new();
            let mut here: FxHashMap<mono::Var, Atom> = FxHashMap::default();
            for m in members {
                l.set(m.index, i);
                for (x, array) in &m.reads {
                    if let Some(a) = here.get(array) {
                        l.set(*x, *a);
                    }
                }
                let values = match m.scan {
                    None => l.scalars(&m.body)?,
                    Some((op, kind)) => {
                        let accs = &state[next.len()..next.len() + op.lambda.body.results.len()];
                        let elems = l.scalars(&m.body)?.into_iter().map(Bound::Scalar).collect();
                        let combined = l.combine(op, accs, elems)?;
                        next.extend(combined.iter().copied());
                        if kind == mono::ScanKind::Inclusive { combined } else { accs.to_vec() }
                    }
                };
                for (v, value) in m.pat.iter().zip(values) {
                    if let Some(to) = places.get(v) {
                        l.store(to, &[i], value);
                    }
                    here.insert(*v, value);
                }
            }
            Ok(next)
        })?;
        self.env.extend(places.into_iter().map(|(v, to)| (v, Bound::Array(to))));
        Ok(())
    }
}

//! A map of the prefixes of a scan becomes the scan's epilogue: the prefixes are not stored.
//!
//! ```text
//! (let (%ps) (seg-scan grid inclusive () (i n) xs λ))     (let (%ys) (seg-scan grid inclusive () (i n) xs λ
//! (let (%ys) (seg-map grid ((j n))                          (epilogue (%j %p)
//!   (let (%p) (index %ps %j))                                 (let (%y) (op * %p 2.0))
//!   (let (%y) (op * %p 2.0))                                  (give %y))))
//!   (give %y)))
//! ```
//!
//! A scan that cannot stop first goes down to what reads it, past what it is not needed for, such as the sum that
//! its prefixes are divided by. Then the map goes up to the scan. So it may neither stop, since what stands between the two would stop the program
//! first, nor read what is bound there; and it reads of the scan's results the element at its own point alone. Each
//! of its points is straight-line code, which runs in lanes or in the threads of a block as storing a prefix does.
//! Several maps may become one epilogue, and what one of them gives may be read by the next. Prefixes that something
//! else reads are results still.
//!
//! This is a matter of kernels, not of values: what can be computed with less before or after a scan has been put
//! together in Mono.

use crate::ir::*;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// Makes the epilogues of all scans of the host.
pub(super) fn epilogues(table: &mut mono::Program, body: &mut Body) {
    merge(table, body);
    let mut read = FxHashSet::default();
    body.for_each_use(&mut |a| read.extend(a.as_var()));
    drop_unread(body, &read);
}

fn merge(table: &mut mono::Program, body: &mut Body) {
    sink(body);
    let mut bound: FxHashMap<Var, usize> = FxHashMap::default();
    let mut readers: FxHashMap<Var, Vec<usize>> = FxHashMap::default();
    for (k, s) in body.stmts.iter_mut().enumerate() {
        for b in s.exp.bodies_mut() {
            merge(table, b);
        }
        bound.extend(s.pat.iter().map(|v| (*v, k)));
        s.exp.for_each_use(&mut |a| {
            if let Some(v) = a.as_var().filter(|v| bound.contains_key(v)) {
                let all = readers.entry(v).or_default();
                if all.last() != Some(&k) {
                    all.push(k);
                }
            }
        });
    }
    let mut gone: FxHashSet<usize> = FxHashSet::default();
    for k in 0..body.stmts.len() {
        let mut maps = body.stmts[k].pat.iter().filter_map(|v| readers.get(v)).flatten();
        if !maps.any(|t| matches!(&body.stmts[*t].exp, Exp::Seg(Seg { kind: SegKind::Map, .. }))) {
            continue;
        }
        let Some(mut scan) = Merged::of(table, &body.stmts[k]) else { continue };
        let mut open: Vec<Var> = body.stmts[k].pat.clone();
        while let Some(v) = open.pop() {
            for t in readers.get(&v).into_iter().flatten() {
                let earlier = |u: Var| bound.get(&u).is_none_or(|at| *at < k);
                if !gone.contains(t) && scan.take(table, &body.stmts[*t], earlier) {
                    gone.insert(*t);
                    open.extend(&body.stmts[*t].pat);
                }
            }
        }
        scan.put(&mut body.stmts[k]);
    }
    let mut k = 0..;
    body.stmts.retain(|_| k.next().is_some_and(|k| !gone.contains(&k)));
}

/// Moves each scan that cannot stop to where it is read first.
fn sink(body: &mut Body) {
    let is_scan = |s: &Stmt| matches!(&s.exp, Exp::Seg(Seg { kind: SegKind::Scan { .. }, .. }));
    let mut scans: FxHashMap<Var, usize> = FxHashMap::default();
    let mut to: Vec<usize> = (0..body.stmts.len()).collect();
    for (t, s) in body.stmts.iter().enumerate() {
        s.exp.for_each_use(&mut |a| {
            if let Some(k) = a.as_var().and_then(|v| scans.remove(&v))
                && to[k] == k
            {
                to[k] = t;
            }
        });
        // What may write into an array is not passed: the scan may have to read it first.
        if !matches!(s.exp, Exp::Host(_) | Exp::Seg(_)) {
            scans.clear();
        }
        if is_scan(s) && !s.exp.leaves().into_iter().any(mono::Body::can_stop) {
            scans.extend(s.pat.iter().map(|v| (*v, t)));
        }
    }
    let mut order: Vec<usize> = (0..to.len()).collect();
    // What sinks comes before the statement that reads it.
    order.sort_by_key(|k| (to[*k], to[*k] == *k, *k));
    let mut stmts: Vec<Option<Stmt>> = std::mem::take(&mut body.stmts).into_iter().map(Some).collect();
    body.stmts = order.into_iter().filter_map(|k| stmts[k].take()).collect();
}

/// A scan, with the maps that go into its epilogue.
struct Merged {
    space: Vec<Axis>,
    axis: Axis,
    /// The place on the axis, and the prefixes there.
    params: Vec<Var>,
    stmts: Vec<mono::Stmt>,
    /// What it gives at a point, by the array of these: its prefixes first.
    elements: Vec<(Var, Atom)>,
}

impl Merged {
    fn of(table: &mut mono::Program, s: &Stmt) -> Option<Merged> {
        let Exp::Seg(Seg { space, kind: SegKind::Scan { axis, kind, epilogue: None, .. }, .. }) = &s.exp
        else {
            return None;
        };
        if *kind == ScanKind::Full {
            return None;
        }
        let mut params = vec![table.fresh("i", Ty::int())];
        for v in &s.pat {
            let VarInfo { name, ty } = table.vars[*v].clone();
            params.push(table.fresh(name.as_str(), Ty::scalar(ty.base)));
        }
        let elements = s.pat.iter().copied().zip(params[1..].iter().map(|v| Atom::Var(*v))).collect();
        Some(Merged { space: space.clone(), axis: *axis, params, stmts: Vec::new(), elements })
    }

    /// Takes a map in, if it can be; `earlier` says what is bound before the scan.
    fn take(&mut self, table: &mono::Program, s: &Stmt, earlier: impl Fn(Var) -> bool) -> bool {
        let Exp::Seg(Seg { level: Level::Grid, space, kind: SegKind::Map, body, .. }) = &s.exp else {
            return false;
        };
        let own = || self.space.iter().chain([&self.axis]);
        if space.len() != self.space.len() + 1 || own().zip(space).any(|(a, b)| a.size != b.size) {
            return false;
        }
        let scalar = |v: &Var| table.vars[*v].ty.is_scalar();
        let point: Vec<Atom> = space.iter().map(|a| Atom::Var(a.var)).collect();
        let mine: FxHashSet<Var> = body.binders().into_iter().chain(space.iter().map(|a| a.var)).collect();
        let element = |array: Var| self.elements.iter().find(|(v, _)| *v == array).map(|(_, a)| *a);
        let known = |a: &Atom| a.as_var().is_none_or(|v| mine.contains(&v) || earlier(v));
        let fits = |s: &mono::Stmt| match &s.exp {
            mono::Exp::Index { array, at } if element(*array).is_some() => *at == point,
            mono::Exp::Index { array, at } => known(&Atom::Var(*array)) && at.iter().all(known),
            mono::Exp::Atom(a) | mono::Exp::Cast(_, a) => known(a),
            mono::Exp::Op(_, args) => args.iter().all(known),
            _ => false,
        };
        let simple = body.stmts.iter().all(|s| s.pat.iter().all(scalar) && fits(s));
        if !simple || !body.results.iter().all(|a| known(a) && a.as_var().is_none_or(|v| scalar(&v))) {
            return false;
        }
        let place = self.space.iter().map(|a| a.var).chain(self.params.first().copied());
        let point_here = place.map(Atom::Var);
        let renamed: FxHashMap<Var, Atom> = space.iter().map(|a| a.var).zip(point_here).collect();
        let mut body = body.clone();
        for s in &mut body.stmts {
            if let mono::Exp::Index { array, .. } = &s.exp
                && let Some(a) = element(*array)
            {
                s.exp = mono::Exp::Atom(a);
            }
        }
        body.substitute(&renamed);
        self.stmts.extend(body.stmts);
        self.elements.extend(s.pat.iter().copied().zip(body.results));
        true
    }

    fn put(self, s: &mut Stmt) {
        if self.elements.len() == s.pat.len() {
            return;
        }
        if let Exp::Seg(Seg { kind: SegKind::Scan { epilogue, .. }, .. }) = &mut s.exp {
            let (pat, results): (Vec<Var>, Vec<Atom>) = self.elements.into_iter().unzip();
            s.pat = pat;
            let body = mono::Body { stmts: self.stmts, results };
            *epilogue = Some(Lambda { params: self.params, body });
        }
    }
}

/// Takes what nothing reads out of the results of epilogues.
fn drop_unread(body: &mut Body, read: &FxHashSet<Var>) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| drop_unread(b, read));
        if let Exp::Seg(Seg { kind: SegKind::Scan { epilogue: Some(l), .. }, .. }) = &mut s.exp {
            let kept = |v: &Var| read.contains(v);
            let mut of = s.pat.iter().map(kept).collect::<Vec<_>>().into_iter();
            l.body.results.retain(|_| of.next().unwrap_or(true));
            s.pat.retain(kept);
        }
    }
}

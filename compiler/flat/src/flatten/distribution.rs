//! A map that is being taken apart: what has been stored for later pieces, and what a piece needs of those before it.

use super::split::Kind;
use super::{F, Flattener, constant_product, seg, wrong};
use crate::ir::*;
use remc_base::Prov;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;
use remc_mono::walk::Copier;
use rustc_hash::{FxHashMap, FxHashSet};

/// A map, to be replaced by statements of the host that bind `pat`.
pub(super) struct Nest<'b> {
    pub pat: &'b [Var],
    pub axes: &'b [Axis],
    pub body: &'b mono::Body,
    pub prov: Prov,
}

/// The pieces of a map so far.
pub(super) struct Distribution<'b, 'f> {
    pub f: &'f mut Flattener,
    pub nest: Nest<'b>,
    pub kinds: Vec<Kind>,
    /// What the body's sizes are outside.
    with: FxHashMap<Var, Atom>,
    /// The arrays over the space that hold a variable's values.
    pub stored: FxHashMap<Var, Var>,
    /// Of the variables to be stored those whose arrays are the map's own results.
    targets: FxHashMap<Var, Var>,
    pub out: &'f mut Vec<Stmt>,
}

impl<'b, 'f> Distribution<'b, 'f> {
    /// Of a map nothing of which has been made yet.
    pub fn new(
        f: &'f mut Flattener,
        nest: Nest<'b>,
        kinds: Vec<Kind>,
        out: &'f mut Vec<Stmt>,
    ) -> Distribution<'b, 'f> {
        let (with, stored, targets) = Default::default();
        Distribution { f, nest, kinds, with, stored, targets, out }
    }

    /// Computes these sizes of the body on the host.
    pub fn hoist(&mut self, sizes: &[Var]) {
        let body = self.nest.body;
        for s in body.stmts.iter().filter(|s| s.pat.iter().any(|v| sizes.contains(v))) {
            let with = self.with.clone();
            let one = mono::Body { stmts: vec![s.clone()], results: vec![Atom::Var(s.pat[0])] };
            let mut copier = Copier { program: &mut self.f.p, with };
            let mut copy = copier.body(&one);
            self.with.insert(s.pat[0], copy.results[0]);
            self.out.extend(copy.stmts.drain(..).map(|s| Stmt {
                pat: s.pat,
                exp: Exp::Host(s.exp),
                prov: s.prov,
            }));
        }
    }

    /// The results that pieces store as they go; the others, with the variables they are for.
    pub fn name_results(&mut self) -> Vec<(Var, Atom)> {
        let body = self.nest.body;
        let made = body.stmts.iter().zip(&self.kinds).filter(|(_, k)| **k != Kind::Cheap);
        let made: FxHashSet<Var> = made.flat_map(|(s, _)| s.pat.clone()).collect();
        let mut rest = Vec::new();
        for (v, a) in self.nest.pat.iter().zip(&body.results) {
            match a {
                Atom::Var(x) if made.contains(x) && !self.targets.contains_key(x) => {
                    self.targets.insert(*x, *v);
                }
                _ => rest.push((*v, *a)),
            }
        }
        rest
    }

    fn sizes(&self) -> Vec<Atom> {
        self.nest.axes.iter().map(|a| a.size).collect()
    }

    /// A fresh array over the space, for values of the type of a variable.
    pub fn over_space(&mut self, v: Var) -> Var {
        let mut ty = self.f.p.ty(v).over(&self.sizes());
        for d in &mut ty.dims {
            *d = self.outside(*d);
        }
        let name = self.f.name(v);
        self.f.p.fresh(name, ty)
    }

    /// What a size is outside of the map.
    pub fn outside(&self, size: Atom) -> Atom {
        size.as_var().and_then(|v| self.with.get(&v).copied()).unwrap_or(size)
    }

    /// The array over the space for the values of a variable.
    pub fn store(&mut self, v: Var) -> Var {
        let array = match self.targets.get(&v) {
            Some(array) => *array,
            None => self.over_space(v),
        };
        self.stored.insert(v, array);
        array
    }

    /// What the statements use, the dims of their binders among it.
    pub fn uses(&self, s: &mono::Stmt) -> FxHashSet<Var> {
        let mut uses: FxHashSet<Var> = FxHashSet::default();
        let one = mono::Body { stmts: vec![s.clone()], results: Vec::new() };
        one.for_each_use(&mut |a| uses.extend(a.as_var()));
        for v in one.binders() {
            uses.extend(self.f.p.ty(v).dims.iter().filter_map(|d| d.as_var()));
        }
        uses
    }

    /// The statements before number `end` that give the variables wanted, those of `points` among them:
    /// what is cheap is done again, what has been stored is read.
    pub fn needed(
        &self,
        end: usize,
        points: std::ops::Range<usize>,
        mut wanted: FxHashSet<Var>,
    ) -> F<Vec<mono::Stmt>> {
        let at: Vec<Atom> = self.nest.axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut found = Vec::new();
        for (k, s) in self.nest.body.stmts[..end].iter().enumerate().rev() {
            if self.kinds[k] == Kind::Point && points.contains(&k) {
                let needed = s.exp.can_stop() || s.pat.iter().any(|v| wanted.contains(v));
                if needed {
                    wanted.extend(self.uses(s));
                    found.push(s.clone());
                }
                continue;
            }
            let used: Vec<Var> = s.pat.iter().copied().filter(|v| wanted.contains(v)).collect();
            for v in used {
                if self.with.contains_key(&v) {
                    continue;
                }
                if self.kinds[k] == Kind::Cheap {
                    wanted.extend(self.uses(s));
                    found.push(s.clone());
                } else if let Some(array) = self.stored.get(&v) {
                    wanted.extend(self.f.p.ty(v).dims.iter().filter_map(|d| d.as_var()));
                    let exp = mono::Exp::Index { array: *array, at: at.clone() };
                    found.push(mono::Stmt { pat: vec![v], exp, prov: s.prov });
                } else {
                    return wrong(format!("{} is not stored", self.f.name(v)));
                }
            }
        }
        found.reverse();
        Ok(found)
    }

    /// What statements from number `from` on need of those before, directly or through what is cheap.
    fn live(&self, from: usize) -> FxHashSet<Var> {
        let mut live: FxHashSet<Var> = self.nest.body.results.iter().filter_map(|a| a.as_var()).collect();
        for (k, s) in self.nest.body.stmts.iter().enumerate().rev() {
            let counts = match self.kinds[k] {
                Kind::Cheap => s.pat.iter().any(|v| live.contains(v)),
                _ => k >= from,
            };
            if counts {
                live.extend(self.uses(s));
            }
        }
        live
    }

    /// The expression over the space, whose inner binders are copies.
    pub fn copy(&mut self, stmts: Vec<mono::Stmt>, results: Vec<Atom>) -> F<(Vec<Axis>, mono::Body)> {
        let exp = mono::Exp::Map { axes: self.nest.axes.to_vec(), body: mono::Body { stmts, results } };
        let whole = mono::Stmt { pat: Vec::new(), exp, prov: self.nest.prov };
        let whole = mono::Body { stmts: vec![whole], results: Vec::new() };
        let mut copier = Copier { program: &mut self.f.p, with: self.with.clone() };
        match copier.body(&whole).stmts.pop().map(|s| s.exp) {
            Some(mono::Exp::Map { axes, body }) => Ok((axes, body)),
            _ => wrong("a copy of another form"),
        }
    }

    /// The serial statements of a range, as one `seg-map`, which gives `rest` too.
    pub fn points(&mut self, range: std::ops::Range<usize>, rest: &[(Var, Atom)]) -> F<()> {
        let live = self.live(range.end);
        let mut wanted: FxHashSet<Var> = rest.iter().filter_map(|(_, a)| a.as_var()).collect();
        let (mut pat, mut results) = (Vec::new(), Vec::new());
        let mut stops = false;
        let body = self.nest.body;
        for k in range.clone().filter(|k| self.kinds[*k] == Kind::Point).collect::<Vec<_>>() {
            let s = &body.stmts[k];
            stops |= s.exp.can_stop();
            for v in s.pat.iter().filter(|v| live.contains(v)) {
                wanted.insert(*v);
                results.push(Atom::Var(*v));
                pat.push(self.store(*v));
            }
        }
        pat.extend(rest.iter().map(|(v, _)| *v));
        results.extend(rest.iter().map(|(_, a)| *a));
        if pat.is_empty() && !stops {
            return Ok(());
        }
        let stmts = self.needed(range.end, range, wanted)?;
        let (space, body) = self.copy(stmts, results)?;
        self.out.push(Stmt { pat, exp: seg(space, SegKind::Map, body), prov: self.nest.prov });
        Ok(())
    }

    /// An operator over the space and its own axes.
    pub fn parallel(&mut self, k: usize) -> F<()> {
        let s = &self.nest.body.stmts[k];
        let mut stmts = self.needed(k, 0..0, self.uses(s))?;
        stmts.push(mono::Stmt { pat: Vec::new(), exp: s.exp.clone(), prov: s.prov });
        let (mut axes, mut prefix) = self.copy(stmts, Vec::new())?;
        let Some(last) = prefix.stmts.pop() else { return wrong("a copy of another form") };
        let pat: Vec<Var> = s.pat.iter().map(|v| self.store(*v)).collect();
        let all = |mut prefix: mono::Body, body: mono::Body| {
            prefix.stmts.extend(body.stmts);
            mono::Body { stmts: prefix.stmts, results: body.results }
        };
        let exp = match last.exp {
            mono::Exp::Map { axes: inner, body } => {
                axes.extend(inner);
                let body = all(prefix, body);
                return self.f.map(&pat, &axes, &body, s.prov, self.out);
            }
            mono::Exp::Reduce { axis, body, op } => seg(axes, SegKind::Red { axis, op }, all(prefix, body)),
            mono::Exp::Scan { kind, axis, body, op } => {
                seg(axes, SegKind::Scan { axis, kind, op, epilogue: None, known: None }, all(prefix, body))
            }
            _ => return wrong("a piece of another form"),
        };
        self.out.push(Stmt { pat, exp, prov: s.prov });
        Ok(())
    }
}

/// The product of the sizes, computed by the host.
pub(super) fn points_of(f: &mut Flattener, sizes: &[Atom], prov: Prov, out: &mut Vec<Stmt>) -> Atom {
    if let Some(n) = constant_product(sizes) {
        return Atom::int(n);
    }
    let mut product = Atom::int(1);
    for size in sizes {
        if product == Atom::int(1) {
            product = *size;
        } else if *size != Atom::int(1) {
            let v = f.p.fresh("par", Ty::int());
            let exp = Exp::Host(mono::Exp::Op(ScalarOp::Mul, vec![product, *size]));
            out.push(Stmt { pat: vec![v], exp, prov });
            product = Atom::Var(v);
        }
    }
    product
}

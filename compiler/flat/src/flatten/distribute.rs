//! Distribution of a map over its body: each piece becomes an operator over the map's space, and what one
//! piece makes for a later one is stored, an array over the space.
//!
//! ```text
//! (map ((i n))                                 (let (%ss) (seg-red grid ((i n)) (j m) … +))
//!   (let (%s) (reduce j m … +))                (let (%ts) (seg-map grid ((i n))
//!   (let (%t) (op / %s %m))                      (let (%s) (index %ss i)) (let (%t) (op / %s %m)) (give %t)))
//!   (let (%ys) (map ((j m)) … %t …))           (let (%ys) (seg-map grid ((i n) (j m))
//!   (give %ys))                                  (let (%t) (index %ts i)) …))
//! ```
//!
//! A few scalar operators are done again by each reader rather than stored. A size that does not depend on
//! the point is computed by the host, once. Checks keep their place: what stands before a piece has run at
//! every point before the piece starts.

use super::{F, Flattener, Threshold, constant_product, interchange, is_small, seg, shared, wrong};
use crate::ir::*;
use remc_base::Prov;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;
use remc_mono::walk::Copier;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many operators and reads may each reader do again.
const RECOMPUTED: usize = 8;

/// What becomes of a statement of the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Each reader does it again.
    Cheap,
    /// Done serially at each point, together with its neighbours.
    Point,
    /// An operator of its own, over the space and its axes.
    Parallel,
    /// A loop of the host, around the map of what it does at each point.
    Loop,
}

impl Kind {
    /// Whether the statement becomes statements of its own, apart from its neighbours.
    fn is_apart(self) -> bool {
        matches!(self, Kind::Parallel | Kind::Loop)
    }
}

/// How a map is distributed.
pub(super) struct Split {
    kinds: Vec<Kind>,
    /// The sizes that the host computes, in order.
    hoisted: Vec<Var>,
    /// Nothing is stored: the map and the one inside it become one.
    pub merges: bool,
    /// A loop changes places with the map.
    pub loops: bool,
    /// The sizes of the piece that has the most axes of its own, in an iteration of such a loop if there is one.
    pub widest: Vec<Atom>,
    /// The sizes, known outside, of the largest of the products of what all points share (`shared`), if there is one.
    pub product: Option<Vec<Atom>>,
}

impl Split {
    /// What is compared with sizes, to choose between the map as it is and its pieces.
    pub fn threshold(&self) -> Threshold {
        match self.product {
            Some(_) => Threshold::ParStored,
            None if self.loops => Threshold::ParLoop,
            None => Threshold::ParOuter,
        }
    }

    /// The sizes that count for that, of a space of these `sizes`.
    pub fn counted(&self, sizes: &[Atom]) -> Vec<Atom> {
        sizes.iter().chain(self.product.iter().flatten()).copied().collect()
    }
}

/// How the map of these axes can be distributed, if that gains anything: more to do in parallel, or, where
/// `must`, any pieces that are not the whole.
pub(super) fn split(f: &Flattener, axes: &[Axis], body: &mono::Body, must: bool) -> Option<Split> {
    let mut inside: FxHashSet<Var> = body.binders().into_iter().collect();
    inside.extend(axes.iter().map(|a| a.var));
    let outside = |a: &Atom| a.as_var().is_none_or(|v| !inside.contains(&v));
    let mut costs: FxHashMap<Var, usize> = FxHashMap::default();
    let mut sizes: FxHashSet<Var> = FxHashSet::default();
    let mut kinds = Vec::new();
    let (mut widest, mut in_loops) = (Vec::new(), Vec::new());
    let mut product: Option<Vec<Atom>> = None;
    for (k, s) in body.stmts.iter().enumerate() {
        let is_size = |a: &Atom| outside(a) || a.as_var().is_some_and(|v| sizes.contains(&v));
        if let (mono::Exp::Op(_, args), [v]) = (&s.exp, s.pat.as_slice())
            && args.iter().all(is_size)
        {
            sizes.insert(*v);
        }
        let is_size = |a: &Atom| outside(a) || a.as_var().is_some_and(|v| sizes.contains(&v));
        let storable = s.pat.iter().all(|v| f.p.ty(*v).dims.iter().all(is_size));
        let cost = recomputing(s, &costs);
        let looped = || interchange::widest(f, axes, &body.stmts[..k], s, &is_size, must);
        let kind = match cost {
            Some(cost) if cost <= RECOMPUTED || !storable => {
                costs.extend(s.pat.iter().map(|v| (*v, cost)));
                Kind::Cheap
            }
            _ if storable && is_parallel(f, s, &outside, &is_size, must) => {
                wider(&mut widest, sizes_of(&s.exp));
                if let Some(sizes) = shared::product(s, &outside) {
                    wider(product.get_or_insert_default(), sizes.into_iter().filter(outside).collect());
                }
                Kind::Parallel
            }
            _ => match looped().filter(|_| storable) {
                Some(sizes) => {
                    wider(&mut in_loops, sizes);
                    Kind::Loop
                }
                None => Kind::Point,
            },
        };
        kinds.push(kind);
    }
    if !kinds.iter().any(|k| k.is_apart()) {
        return None;
    }
    // What stays serial is legal, and what another piece reads has a size to be stored with.
    let of = |kind: Kind| body.stmts.iter().zip(&kinds).filter(move |(_, k)| **k == kind).map(|(s, _)| s);
    let serial = body.stmts.iter().zip(&kinds).filter(|(_, k)| !k.is_apart());
    let apart = body.stmts.iter().zip(&kinds).filter(|(_, k)| k.is_apart()).map(|(s, _)| s);
    let serial = mono::Body { stmts: serial.map(|(s, _)| s.clone()).collect(), results: Vec::new() };
    let binders: Vec<Var> = axes.iter().map(|a| a.var).chain(apart.flat_map(|s| s.pat.clone())).collect();
    if !f.is_leaf(&binders, &[&serial]) {
        return None;
    }
    let is_size = |a: &Atom| outside(a) || a.as_var().is_some_and(|v| sizes.contains(&v));
    let unstorable = of(Kind::Point).flat_map(|s| &s.pat).any(|v| !f.p.ty(*v).dims.iter().all(is_size));
    if unstorable {
        return None;
    }
    let merges = !kinds.iter().any(|k| matches!(k, Kind::Point | Kind::Loop))
        && of(Kind::Parallel).count() == 1
        && of(Kind::Parallel).all(|s| matches!(s.exp, mono::Exp::Map { .. }) && same(&s.pat, &body.results));
    let hoisted = hoisted(f, body, &kinds, &sizes);
    let loops = kinds.contains(&Kind::Loop);
    let widest = if loops { in_loops } else { widest };
    Some(Split { kinds, hoisted, merges, loops, widest, product })
}

/// The sizes of an operator's own axes.
fn sizes_of(e: &mono::Exp) -> Vec<Atom> {
    match e {
        mono::Exp::Map { axes, .. } => axes.iter().map(|a| a.size).collect(),
        mono::Exp::Reduce { axis, .. } | mono::Exp::Scan { axis, .. } => vec![axis.size],
        _ => Vec::new(),
    }
}

fn wider(widest: &mut Vec<Atom>, other: Vec<Atom>) {
    if other.len() > widest.len() {
        *widest = other;
    }
}

/// Whether a body gives just these variables.
fn same(pat: &[Var], results: &[Atom]) -> bool {
    pat.len() == results.len() && pat.iter().zip(results).all(|(v, a)| *a == Atom::Var(*v))
}

/// The number of operators that making these values again takes, where that is all there is to it.
fn recomputing(s: &mono::Stmt, costs: &FxHashMap<Var, usize>) -> Option<usize> {
    use ScalarOp as O;
    let own = match &s.exp {
        mono::Exp::Atom(_) => 0,
        mono::Exp::Cast(..) | mono::Exp::Index { .. } => 1,
        mono::Exp::Op(op, _) => match op {
            O::Expt
            | O::Exp
            | O::Log
            | O::Log2
            | O::Sin
            | O::Cos
            | O::Tan
            | O::Asin
            | O::Acos
            | O::Atan
            | O::Atan2
            | O::Sinh
            | O::Cosh
            | O::Tanh
            | O::Gcd => return None,
            _ => 1,
        },
        _ => return None,
    };
    let mut cost = own;
    s.exp.for_each_operand(&mut |a| cost += a.as_var().and_then(|v| costs.get(&v)).copied().unwrap_or(0));
    Some(cost)
}

/// Whether the statement may become an operator over the space and its own axes, and should.
fn is_parallel(
    f: &Flattener,
    s: &mono::Stmt,
    outside: &impl Fn(&Atom) -> bool,
    is_size: &impl Fn(&Atom) -> bool,
    must: bool,
) -> bool {
    match &s.exp {
        mono::Exp::Map { axes, body } => {
            let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
            let worth = !is_small(&sizes) || f.is_wide(body);
            let legal = f.is_leaf(&axes.iter().map(|a| a.var).collect::<Vec<_>>(), &[body]);
            sizes.iter().all(is_size) && (worth || must && !legal)
        }
        mono::Exp::Reduce { axis, body, op } | mono::Exp::Scan { axis, body, op, .. } => {
            let lambda = &op.lambda;
            let own: FxHashSet<Var> = lambda.params.iter().copied().collect();
            let free = lambda.body.free_vars();
            op.assoc
                && !is_small(&[axis.size])
                && is_size(&axis.size)
                && op.start.iter().flatten().all(outside)
                && free.iter().all(|v| own.contains(v) || outside(&Atom::Var(*v)))
                && lambda.params.iter().all(|v| f.p.ty(*v).is_scalar())
                && f.is_leaf(&lambda.params, &[&lambda.body])
                && f.is_leaf(&[axis.var], &[body])
                && makes_sizes_of(f, body, is_size)
        }
        _ => false,
    }
}

/// Whether the arrays that a body makes are of sizes bound in it, or of such that `is_size` holds of: what it makes for
/// each item has its memory from outside of the space as well.
fn makes_sizes_of(f: &Flattener, body: &mono::Body, is_size: &impl Fn(&Atom) -> bool) -> bool {
    let own: FxHashSet<Var> = body.binders().into_iter().collect();
    let mut known = true;
    body.for_each_stmt(&mut |s| {
        let mut dims = s.pat.iter().filter(|_| s.exp.makes_arrays()).flat_map(|v| &f.p.ty(*v).dims);
        known &= dims.all(|d| d.as_var().is_some_and(|v| own.contains(&v)) || is_size(d));
    });
    known
}

/// Those of the sizes that pieces need to be known outside, and what they are made of.
fn hoisted(f: &Flattener, body: &mono::Body, kinds: &[Kind], sizes: &FxHashSet<Var>) -> Vec<Var> {
    let mut wanted: FxHashSet<Var> = FxHashSet::default();
    let mut want = |a: Atom| wanted.extend(a.as_var().filter(|v| sizes.contains(v)));
    for (s, kind) in body.stmts.iter().zip(kinds) {
        if *kind != Kind::Cheap {
            s.pat.iter().flat_map(|v| &f.p.ty(*v).dims).for_each(|d| want(*d));
        }
        match &s.exp {
            mono::Exp::Map { axes, .. } => axes.iter().for_each(|a| want(a.size)),
            mono::Exp::Reduce { axis, .. } | mono::Exp::Scan { axis, .. } => want(axis.size),
            mono::Exp::For { axis, .. } => want(axis.size),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for s in body.stmts.iter().rev() {
        if let [v] = s.pat.as_slice()
            && wanted.contains(v)
        {
            found.push(*v);
            s.exp.for_each_operand(&mut |a| wanted.extend(a.as_var().filter(|v| sizes.contains(v))));
        }
    }
    found.reverse();
    found
}

/// A map, to be replaced by statements of the host that bind `pat`.
pub(super) struct Nest<'b> {
    pub pat: &'b [Var],
    pub axes: &'b [Axis],
    pub body: &'b mono::Body,
    pub prov: Prov,
}

/// Replaces the map by its pieces.
pub(super) fn distribute(f: &mut Flattener, nest: Nest<'_>, split: Split, out: &mut Vec<Stmt>) -> F<()> {
    let mut d = Distribution {
        f,
        kinds: split.kinds,
        with: FxHashMap::default(),
        stored: FxHashMap::default(),
        targets: FxHashMap::default(),
        out,
        nest,
    };
    d.hoist(&split.hoisted);
    let rest = d.name_results();
    let mut start = 0;
    for k in 0..d.nest.body.stmts.len() {
        if d.kinds[k].is_apart() {
            d.points(start..k, &[])?;
            match d.kinds[k] {
                Kind::Loop => interchange::looped(&mut d, k)?,
                _ => d.parallel(k)?,
            }
            start = k + 1;
        }
    }
    d.points(start..d.nest.body.stmts.len(), &rest)
}

pub(super) struct Distribution<'b, 'f> {
    pub f: &'f mut Flattener,
    pub nest: Nest<'b>,
    kinds: Vec<Kind>,
    /// What the body's sizes are outside.
    with: FxHashMap<Var, Atom>,
    /// The arrays over the space that hold a variable's values.
    pub stored: FxHashMap<Var, Var>,
    /// Of the variables to be stored those whose arrays are the map's own results.
    targets: FxHashMap<Var, Var>,
    pub out: &'f mut Vec<Stmt>,
}

impl Distribution<'_, '_> {
    fn hoist(&mut self, sizes: &[Var]) {
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
    fn name_results(&mut self) -> Vec<(Var, Atom)> {
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
    fn points(&mut self, range: std::ops::Range<usize>, rest: &[(Var, Atom)]) -> F<()> {
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
    fn parallel(&mut self, k: usize) -> F<()> {
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

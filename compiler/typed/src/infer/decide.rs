//! Shapes that no equation decides, decided by rule.
//!
//! Rules, in order: of an equation whose one side is known, unknown cell shapes are nothing and the item padding is
//! the rest; a parameter without annotation takes the least rank that its uses allow, which is found by trying
//! ([`Checker::fitting_ranks`]); the frames of whole arguments that meet are one. Where several ranks fit and none is
//! the least, or a rank would have to be chosen for a parameter that is written to have any, the program has to say
//! which is meant (E0309): no rule takes one.

use super::solver::{Constraint, MetaKind, Pending, Solution};
use super::*;

use std::cell::LazyCell;
use std::collections::BTreeSet;

/// The highest rank that is tried.
pub(super) const MOST_RANK: usize = 3;

/// Of so many parameters all ranks are tried with all; of more, the same for all, and one for each of the first alone.
const MOST_TOGETHER: usize = 3;
const MOST_ALONE: usize = 8;

/// Ranks of parameters, one way for all of them to fit.
pub(super) type Ranks = Vec<(MetaId, usize)>;

/// What a rule makes of a postponed constraint.
enum Decision {
    /// The shape of an existential.
    Shape(MetaId, Shape),
    /// As many unknown sizes for each.
    Ranks(Ranks),
    Equal(Shape, Shape, NodeId),
    /// These all fit, and none is less than all others. Another constraint may still decide it.
    Ambiguous(NodeId, Vec<Ranks>),
}

impl Checker<'_> {
    /// The existentials among the items of a shape.
    pub(super) fn unsolved_in(&self, s: &Shape) -> Vec<MetaId> {
        self.s
            .zonk_shape(s)
            .items()
            .iter()
            .filter_map(|i| match i {
                ShapeItem::Var(ShapeVar::Meta(m)) => Some(*m),
                _ => None,
            })
            .collect()
    }

    /// The same, and those in its dims.
    fn metas_in(&self, s: &Shape) -> Vec<MetaId> {
        let mut found = Vec::new();
        super::generalise::metas_of_shape(&self.s.zonk_shape(s), &mut found);
        found
    }

    /// Decides shape equations with one known side, for existentials at least this deep: the shapes of
    /// parameters without annotation first, then other cells, are empty; padding takes the rest. So does a shape
    /// whose rank is a parameter's length: `(λ ([m 2] [at 1]) (index m at))` takes a number for each axis.
    pub(super) fn decide_pads(&mut self, depth: u32) -> Check<()> {
        while let Some(decision) = self.pending_pads(depth) {
            self.take(decision)?;
            self.settle_or_report()?;
        }
        Ok(())
    }

    fn pending_pads(&self, depth: u32) -> Option<Decision> {
        self.s.pending.iter().find_map(|p| {
            let Constraint::Shapes(a, b) = &p.constraint else { return None };
            let (x, y) = (self.unsolved_in(a), self.unsolved_in(b));
            let open = match (x.is_empty(), y.is_empty()) {
                (true, false) => y,
                (false, true) => x,
                _ => return None,
            };
            if open.iter().any(|m| self.s.meta(*m).depth < depth) {
                return None;
            }
            match self.ranks_of(&open, depth, p.node) {
                Some(Decision::Ambiguous(..)) => None,
                Some(ranks) => Some(ranks),
                None if let Some(ranks) = self.ranks_of_indices(&open, depth) => Some(ranks),
                None => {
                    let order = |m: &MetaId| match self.s.meta(*m).kind {
                        MetaKind::Shape { bare: true, .. } => 0,
                        MetaKind::Shape { pad: false, .. } if self.is_rank_of_parameter(*m) => 2,
                        MetaKind::Shape { pad: false, .. } => 1,
                        _ => 3,
                    };
                    open.iter().copied().filter(|m| !self.s.is_named(*m)).min_by_key(order).map(nothing)
                }
            }
        })
    }

    /// Whether the length of a variable is the rank of an existential, or has to be the rank of another one, too: as where two
    /// arrays are turned by the same amounts.
    fn is_rank_of_parameter(&self, m: MetaId) -> bool {
        let rank = |v: &DimVar| *v == DimVar::RankOf(ShapeVar::Meta(m));
        let equal = |p: &Pending| match &p.constraint {
            Constraint::Dims(a, b) => {
                let (a, b) = (self.s.zonk_dim(a), self.s.zonk_dim(b));
                let of_any = |d: &Dim| d.vars().any(|v| matches!(v, DimVar::RankOf(_)));
                a.vars().chain(b.vars()).any(rank) && of_any(&a) && of_any(&b)
            }
            _ => false,
        };
        self.locals.iter().any(|l| self.has_rank(&l.local.ty.shape, m)) || self.s.pending.iter().any(equal)
    }

    /// Whether a dim of a shape is the rank of an existential.
    fn has_rank(&self, shape: &Shape, m: MetaId) -> bool {
        let rank = |v: &DimVar| *v == DimVar::RankOf(ShapeVar::Meta(m));
        let shape = self.s.zonk_shape(shape);
        shape.items().iter().any(|i| matches!(i, ShapeItem::Dim(d) if d.vars().any(rank)))
    }

    /// The ranks of the parameters without annotation in an array whose length is the rank of one of these: what `k` is
    /// in `(index xs [k])` says how many axes of `xs` that takes.
    fn ranks_of_indices(&self, open: &[MetaId], depth: u32) -> Option<Decision> {
        self.s.pending.iter().find_map(|p| {
            let Constraint::Shapes(a, b) = &p.constraint else { return None };
            if !open.iter().any(|m| self.has_rank(a, *m) || self.has_rank(b, *m)) {
                return None;
            }
            let mut bare = [self.unsolved_in(a), self.unsolved_in(b)].concat();
            bare.retain(|m| self.is_bare_meta(*m));
            self.ranks_of(&bare, depth, p.node)
        })
    }

    /// A parameter without annotation whose frame meets a hidden index is a scalar: with any longer frame
    /// the index would leave its scope.
    pub(super) fn decide_bare_beside(&mut self, hidden: &[IVar]) -> Check<()> {
        for p in self.s.pending.clone() {
            let Constraint::Join { frames, .. } = &p.constraint else { continue };
            let frames: Vec<Shape> = frames.iter().map(|f| self.s.zonk_shape(f)).collect();
            let meets = |f: &Shape| {
                let ty = ArrTy::new(AtomTy::INT, f.clone());
                hidden.iter().any(|v| super::open::mentions(&ty, v))
            };
            if !frames.iter().any(meets) {
                continue;
            }
            let bare: Vec<MetaId> =
                frames.iter().filter(|f| self.is_bare(f)).flat_map(|f| self.unsolved_in(f)).collect();
            for m in bare {
                self.take(nothing(m))?;
            }
        }
        self.settle_or_report()
    }

    /// Decides everything that is stuck among existentials deeper than `depth`.
    pub(super) fn decide_stuck(&mut self, depth: u32) -> Check<()> {
        loop {
            self.settle_or_report()?;
            self.decide_pads(depth)?;
            let (mut chosen, mut ambiguous): (_, Option<(NodeId, Vec<Ranks>)>) = (None, None);
            for p in &self.s.pending {
                // What is tied to parameters that are open already is open for the same reason.
                if let Some((node, ranks)) = &mut ambiguous
                    && self.unsolved_shapes(p).iter().any(|m| ranks[0].iter().any(|(n, _)| n == m))
                {
                    *node = p.node;
                    continue;
                }
                let decision = match &p.constraint {
                    Constraint::Join { frames, result } => self.of_join(frames, result, depth, p.node),
                    Constraint::Shapes(a, b) => self.of_shapes(a, b, depth, p.node),
                    _ => None,
                };
                match decision {
                    Some(Decision::Ambiguous(node, ranks)) => ambiguous = Some((node, ranks)),
                    None => {}
                    decision => {
                        chosen = decision;
                        break;
                    }
                }
            }
            match chosen.or_else(|| self.pad_between_pads(depth).map(nothing)) {
                Some(decision) => {
                    if !self.take(decision)? {
                        return Ok(());
                    }
                }
                None => match ambiguous {
                    Some((node, ranks)) => return self.ambiguous_rank(node, &ranks),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Whether a decision changes anything. An equation that is itself stuck does not: it is left to be reported.
    fn take(&mut self, decision: Decision) -> Check<bool> {
        let numbers = match &decision {
            Decision::Shape(m, shape) if shape.is_scalar() => vec![(*m, 0)],
            Decision::Ranks(ranks) => ranks.clone(),
            _ => Vec::new(),
        };
        if let Some((node, ranks)) = self.other_ranks(&numbers) {
            return self.ambiguous_rank(node, &ranks);
        }
        match decision {
            Decision::Shape(m, _) if self.s.meta(m).is_solved() => return Ok(false),
            Decision::Shape(m, shape) => self.s.decide(m, Solution::Shape(shape)),
            Decision::Ranks(ranks) => {
                for (m, rank) in ranks {
                    if !self.s.meta(m).is_solved() {
                        self.s.decide_rank(m, rank);
                    }
                }
            }
            Decision::Equal(a, b, node) => {
                self.s.node = Some(node);
                if let Err(e) = self.s.unify_shape(&a, &b) {
                    return self.mismatch(e, node);
                }
                return Ok(self.s.zonk_shape(&a) == self.s.zonk_shape(&b));
            }
            Decision::Ambiguous(..) => return Ok(false),
        }
        Ok(true)
    }

    /// What frames that join decide.
    fn of_join(&self, frames: &[Shape], result: &Shape, depth: u32, node: NodeId) -> Option<Decision> {
        let open: Vec<MetaId> = frames.iter().flat_map(|f| self.unsolved_in(f)).collect();
        let deep = |m: &MetaId| self.s.meta(*m).depth >= depth;
        let mut bare: Vec<MetaId> =
            open.iter().copied().filter(|m| self.is_bare_meta(*m) && deep(m)).collect();
        bare.sort_unstable();
        bare.dedup();
        let beside = |f: &Shape| {
            let f = self.s.zonk_shape(f);
            f.items().len() > 1 && self.unsolved_in(&f).iter().any(|m| bare.contains(m))
        };
        let several = open.iter().any(|m| *m != open[0]);
        if !bare.is_empty()
            && (several || frames.iter().any(beside))
            && let Some(ranks) = self.ranks_of(&bare, depth, node)
        {
            return Some(ranks);
        }
        let certain = frames.iter().map(|f| self.s.zonk_shape(f).least_rank()).max().unwrap_or(0);
        let wanted = self.s.zonk_shape(result).least_rank();
        if wanted > certain && !bare.is_empty() {
            // Some frame has to be longer than it is known to be.
            if let [one] = bare.as_slice() {
                return Some(Decision::Shape(*one, self.s.zonk_shape(result)));
            }
            // By more than is tried: each alone may be, or all.
            let longer =
                |k: usize| bare.iter().enumerate().map(move |(i, m)| (*m, if i == k { wanted } else { 0 }));
            let mut ranks: Vec<Ranks> = vec![bare.iter().map(|m| (*m, wanted)).collect()];
            ranks.extend((0..bare.len()).map(|k| longer(k).collect()));
            return Some(Decision::Ambiguous(node, ranks));
        }
        if let Some(m) = bare.first() {
            return Some(nothing(*m));
        }
        // A parameter of an enclosing function whose frame meets one of this function has the least rank: only then
        // is the shape that they join to this function's own.
        let outer = open.iter().find(|m| self.is_bare_meta(**m));
        let meets = frames.iter().any(|f| self.metas_in(f).iter().any(deep));
        if let Some(m) = outer
            && (meets || self.unsolved_in(result).iter().any(deep))
        {
            return Some(nothing(*m));
        }
        // What is left of a parameter's items, as in `(sum xs)`, meets an array: the least rank leaves nothing.
        let closed = |f: &&Shape| self.unsolved_in(f).is_empty();
        let variables = LazyCell::new(|| self.shapes_of_variables());
        let left = |m: &&MetaId| deep(m) && !variables.contains(*m);
        if wanted <= certain
            && frames.iter().filter(closed).any(|f| !self.s.zonk_shape(f).is_scalar())
            && let Some(m) = open.iter().find(left)
        {
            return Some(nothing(*m));
        }
        // Whole arguments (`all`) that meet have one shape.
        let first = open.iter().find(|m| deep(m))?;
        let mut whole: Vec<Shape> = Vec::new();
        for f in frames.iter().map(|f| self.s.zonk_shape(f)) {
            if !f.is_scalar() && !whole.contains(&f) {
                whole.push(f);
            }
        }
        let plain = |f: &Shape| f.items().len() == 1 || self.unsolved_in(f).is_empty();
        let [a, b, ..] = whole.as_slice() else { return Some(nothing(*first)) };
        // What is known does not say that a parameter of any rank has just this one.
        let known = |f: &Shape| self.unsolved_in(f).is_empty();
        let any_rank = |f: &Shape| self.unsolved_in(f).iter().any(|m| self.s.meta(*m).whole);
        if (known(a) && any_rank(b) || known(b) && any_rank(a))
            && let Some(ranks) = self.ranks_of(&open, depth, node)
        {
            return Some(ranks);
        }
        if plain(a) && plain(b) || self.are_alike(a, b) {
            return Some(Decision::Equal(a.clone(), b.clone(), node));
        }
        if let Some(ranks) = self.ranks_of(&open, depth, node) {
            return Some(ranks);
        }
        // What is left of several parameters' items: the least rank leaves nothing of any.
        let none: Ranks = open.iter().filter(|m| deep(m)).map(|m| (*m, 0)).collect();
        if self.fits(&none) { Some(Decision::Ranks(none)) } else { Some(nothing(*first)) }
    }

    /// Whether shapes are of parameters that are written to have any rank, of which as many items were used.
    fn are_alike(&self, a: &Shape, b: &Shape) -> bool {
        let rest = |s: &Shape| match s.items().split_last() {
            Some((ShapeItem::Var(ShapeVar::Meta(m)), dims)) if self.s.meta(*m).whole => Some(dims.len()),
            _ => None,
        };
        a.least_rank() + 1 == a.items().len()
            && b.least_rank() + 1 == b.items().len()
            && rest(a).is_some()
            && rest(a) == rest(b)
    }

    /// What an equation of shapes decides.
    fn of_shapes(&self, a: &Shape, b: &Shape, depth: u32, node: NodeId) -> Option<Decision> {
        let all = [self.unsolved_in(a), self.unsolved_in(b)].concat();
        if let Some(ranks) = self.ranks_of(&all, depth, node) {
            return Some(ranks);
        }
        // The side that is certain to be longer is so without more; the other has to grow.
        let longer = |s: &Shape| std::cmp::Reverse(self.s.zonk_shape(s).least_rank());
        let mut sides = [a, b];
        sides.sort_by_key(|s| longer(s));
        let differ = longer(sides[0]) != longer(sides[1]);
        let one = usize::from(differ && !self.deep_in(sides[0], depth).is_empty());
        let open: Vec<_> = sides[..2 - one].iter().flat_map(|s| self.unsolved_in(s)).collect();
        let deep = |m: &&MetaId| self.s.meta(**m).depth >= depth;
        let bare = open.iter().find(|m| self.is_bare_meta(**m) && deep(m));
        let other = open
            .iter()
            .filter(|m| !self.s.is_named(**m))
            .find(|m| matches!(self.s.meta(**m).kind, MetaKind::Shape { pad: false, .. }) && deep(m));
        bare.or(other).copied().map(nothing)
    }

    /// The ranks that parameters among these existentials have to have: of one that is written to have any rank, the
    /// only one that fits, and of one without annotation, the least. Nothing if there are none, or no ranks that are
    /// tried fit.
    fn ranks_of(&self, open: &[MetaId], depth: u32, node: NodeId) -> Option<Decision> {
        let deep = |m: &MetaId| self.s.meta(*m).depth >= depth;
        let variables = LazyCell::new(|| self.shapes_of_variables());
        let of_parameter =
            |m: &MetaId| self.s.meta(*m).whole || deep(m) && (self.is_bare_meta(*m) || variables.contains(m));
        let mut params = self.together(open);
        params.retain(of_parameter);
        if !params.iter().any(deep) {
            return None;
        }
        // With the least rank of all others, those of any rank may stay what they are.
        let (whole, bare): (Vec<MetaId>, Vec<MetaId>) = params.iter().partition(|m| self.s.meta(**m).whole);
        let none: Ranks = bare.iter().map(|m| (*m, 0)).collect();
        if !bare.is_empty()
            && let Some(s) = self.with_ranks(&none)
            && whole.iter().all(|m| s.zonk_shape(&Shape::meta(*m)).dims().is_none())
        {
            return Some(Decision::Ranks(none));
        }
        let fits = self.fitting_ranks(&params);
        let first = fits.first()?;
        let open = |i: usize| self.s.meta(params[i]).whole && fits.iter().any(|f| f[i] != first[i]);
        if (0..params.len()).any(open) {
            return Some(Decision::Ambiguous(node, fits));
        }
        let below = |a: &Ranks, b: &Ranks| a != b && a.iter().zip(b).all(|(x, y)| x.1 <= y.1);
        let least: Vec<Ranks> = fits.iter().filter(|f| !fits.iter().any(|g| below(g, f))).cloned().collect();
        match <[Ranks; 1]>::try_from(least) {
            Ok([ranks]) => Some(Decision::Ranks(ranks)),
            Err(mut least) => {
                // What is meant most often is that all of them are as long.
                let most = |i: usize| least.iter().map(|ranks| ranks[i].1).max().unwrap_or(0);
                let all: Ranks = params.iter().enumerate().map(|(i, m)| (*m, most(i))).collect();
                if self.fits(&all) {
                    least.insert(0, all);
                }
                Some(Decision::Ambiguous(node, least))
            }
        }
    }

    /// These existentials and all that postponed equations tie to them, one by another.
    fn together(&self, open: &[MetaId]) -> Vec<MetaId> {
        let tied: Vec<Vec<MetaId>> = self.s.pending.iter().map(|p| self.unsolved_shapes(p)).collect();
        let mut equations: FxHashMap<MetaId, Vec<usize>> = FxHashMap::default();
        for (k, metas) in tied.iter().enumerate() {
            metas.iter().for_each(|m| equations.entry(*m).or_default().push(k));
        }
        let (mut found, mut next) = (BTreeSet::new(), open.to_vec());
        while let Some(m) = next.pop() {
            if found.insert(m) {
                next.extend(equations.remove(&m).into_iter().flatten().flat_map(|k| &tied[k]));
            }
        }
        found.into_iter().collect()
    }

    /// The ranks up to [`MOST_RANK`] of these existentials with which every equation still may hold, the least first.
    fn fitting_ranks(&self, params: &[MetaId]) -> Vec<Ranks> {
        let mut all: Vec<Ranks> = vec![Vec::new()];
        if params.len() <= MOST_TOGETHER {
            for m in params {
                let longer = |ranks: Ranks| (0..=MOST_RANK).map(move |r| [&ranks[..], &[(*m, r)]].concat());
                all = all.into_iter().flat_map(longer).collect();
            }
        } else {
            let of = |rank: &dyn Fn(usize) -> usize| {
                params.iter().enumerate().map(|(i, m)| (*m, rank(i))).collect()
            };
            let alone = (0..MOST_ALONE.min(params.len())).flat_map(|k| (1..=MOST_RANK).map(move |r| (k, r)));
            all = (0..=MOST_RANK).map(|r| of(&|_| r)).collect();
            all.extend(alone.map(|(k, r)| of(&|i| if i == k { r } else { 0 })));
        }
        all.sort_by_key(|ranks| ranks.iter().map(|(_, r)| r).sum::<usize>());
        all.retain(|ranks| self.fits(ranks));
        all
    }

    /// Whether every equation still may hold with these ranks.
    fn fits(&self, ranks: &Ranks) -> bool {
        self.with_ranks(ranks).is_some()
    }

    /// What follows if these ranks are decided, unless an equation cannot hold then.
    pub(super) fn with_ranks(&self, ranks: &Ranks) -> Option<Solver> {
        let mut s = self.s.clone();
        for (m, r) in ranks {
            if !s.meta(*m).is_solved() {
                s.decide_rank(*m, *r);
            }
        }
        s.settle().is_ok().then_some(s)
    }

    /// The shapes that are open in a postponed equation.
    fn unsolved_shapes(&self, p: &Pending) -> Vec<MetaId> {
        let all =
            |shapes: &mut dyn Iterator<Item = &Shape>| shapes.flat_map(|s| self.unsolved_in(s)).collect();
        match &p.constraint {
            Constraint::Join { frames, result } => all(&mut frames.iter().chain([result])),
            Constraint::Shapes(a, b) => all(&mut [a, b].into_iter()),
            _ => Vec::new(),
        }
    }

    /// Whether a part of a shape is still to be decided: it is that of a parameter without annotation, or what frames
    /// join to.
    pub(super) fn is_undecided(&self, s: &Shape) -> bool {
        let pending = |m: &MetaId| self.s.pending.iter().any(|p| self.unsolved_shapes(p).contains(m));
        self.unsolved_in(s).iter().any(|m| self.is_bare_meta(*m) || pending(m))
    }

    fn is_bare_meta(&self, m: MetaId) -> bool {
        matches!(self.s.meta(m).kind, MetaKind::Shape { bare: true, .. })
    }

    /// The existentials of a shape that are at least this deep, but for padding.
    fn deep_in(&self, s: &Shape, depth: u32) -> Vec<MetaId> {
        let mut found = self.unsolved_in(s);
        found.retain(|m| {
            let meta = self.s.meta(*m);
            meta.depth >= depth && matches!(meta.kind, MetaKind::Shape { pad: false, .. })
        });
        found
    }

    /// The existentials that are the shape of a variable, and not of a part of one.
    fn shapes_of_variables(&self) -> FxHashSet<MetaId> {
        let whole = |l: &LocalVar| match self.s.zonk_shape(&l.local.ty.shape).items() {
            [ShapeItem::Var(ShapeVar::Meta(m))] => Some(*m),
            _ => None,
        };
        self.locals.iter().filter_map(whole).collect()
    }

    /// Of an equation of shapes in which padding alone is open, the padding that is to be empty. Generalised, the
    /// equation would hold of none: in `(reduce + (iscan/zero + x [x x]))` the padding of `iscan/zero` is the shape
    /// of `x`, and `[@p 2 @p]` has to be `[?n @q]`.
    fn pad_between_pads(&self, depth: u32) -> Option<MetaId> {
        self.s.pending.iter().find_map(|p| {
            let Constraint::Shapes(a, b) = &p.constraint else { return None };
            let open: Vec<MetaId> = self.unsolved_in(a).into_iter().chain(self.unsolved_in(b)).collect();
            if let Some(Decision::Ambiguous(..)) = self.ranks_of(&open, depth, p.node) {
                return None;
            }
            let times = |m: &MetaId| open.iter().filter(|n| *n == m).count();
            let deep = open.iter().copied().filter(|m| self.s.meta(*m).depth >= depth);
            // What stands there more than once is the longer for it; of those that do as often, the first.
            deep.min_by_key(|m| std::cmp::Reverse(times(m)))
        })
    }

    /// Parameters without annotation whose rank nothing decided are scalars; so is what unknown functions give,
    /// unless it may stay open.
    fn decide_bare(&mut self, depth: u32, results: bool) -> Check<()> {
        for m in self.s.open_shapes() {
            let meta = self.s.meta(m);
            if !meta.is_solved()
                && meta.depth >= depth
                && matches!(meta.kind, MetaKind::Shape { bare: true, .. })
                && (results || !meta.result)
            {
                self.take(nothing(m))?;
            }
        }
        self.settle_or_report()
    }

    /// A type whose quotient is a known float type is taken to be that type, and types that have one quotient to be
    /// one: in `(+ (sqrt a) (sqrt b))` what `a` and `b` are numbers of.
    fn decide_quotients(&mut self, depth: u32) -> Check<()> {
        let pending = self.s.pending.clone();
        for p in pending {
            let Constraint::Quot(a, u) = p.constraint else { continue };
            let a = self.s.zonk_atom(&a);
            let u = self.s.zonk_atom(&u);
            if !self.is_deep_number(&a, depth) {
                continue;
            }
            match (&a, &u) {
                (AtomTy::Meta(m), AtomTy::Base(_))
                    if !matches!(self.s.meta(*m).kind, MetaKind::Atom { class: Some(Class::Int), .. }) =>
                {
                    self.s.decide(*m, Solution::Atom(u));
                }
                (_, AtomTy::Quot(other)) if self.is_deep_number(other, depth) => {
                    self.s.node = Some(p.node);
                    if let Err(e) = self.s.unify_atom(&a, other) {
                        return self.mismatch(e, p.node);
                    }
                }
                _ => {}
            }
        }
        self.settle_or_report()
    }

    /// Whether a type is an existential that is at least so deep, or a variable.
    fn is_deep_number(&self, t: &AtomTy, depth: u32) -> bool {
        match t {
            AtomTy::Meta(m) => self.s.meta(*m).depth >= depth,
            t => matches!(t, AtomTy::Var(_)),
        }
    }

    /// Everything at least as deep as `depth` that rules decide.
    pub(super) fn decide_all(&mut self, depth: u32) -> Check<()> {
        self.decide_but_results(depth)?;
        self.decide_bare(depth, true)?;
        self.decide_stuck(depth)
    }

    /// The same before a function is generalised, over the shapes of what unknown functions give, too.
    pub(super) fn decide_but_results(&mut self, depth: u32) -> Check<()> {
        self.decide_stuck(depth)?;
        self.decide_bare(depth, false)?;
        self.decide_quotients(depth)?;
        self.decide_stuck(depth)
    }
}

/// The decision that an existential is the shape of a scalar.
fn nothing(m: MetaId) -> Decision {
    Decision::Shape(m, Shape::scalar())
}

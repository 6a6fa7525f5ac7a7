//! Equations of shapes, and the longest of several frames.
//!
//! - Of two shapes equal ends are stripped, then `?@s` alone on one side is solved. A shape that a person named stands
//!   for any.
//! - A **join** is the longest of frames that are all its prefixes: the principal frame. Where two have a certain item at
//!   one place it is the same, whichever is the longer; which that is may stay open.

use super::{Constraint, Meta, MetaKind, Mismatch, Solution, Solver, Step, Unify};
use remc_base::*;

impl Solver {
    pub fn unify_shape(&mut self, a: &Shape, b: &Shape) -> Unify {
        match self.step_shape(a, b)? {
            Step::Done => Ok(()),
            Step::Stuck => {
                self.postpone(Constraint::Shapes(a.clone(), b.clone()));
                Ok(())
            }
        }
    }

    pub(super) fn step_shape(&mut self, a: &Shape, b: &Shape) -> Result<Step, Mismatch> {
        let whole = (self.zonk_shape(a), self.zonk_shape(b));
        let mismatch = |s: &Self| Mismatch::Shapes(s.zonk_shape(&whole.0), s.zonk_shape(&whole.1));
        let (mut x, mut y) = (whole.0.0.as_slice(), whole.1.0.as_slice());
        // Strip equal ends.
        loop {
            match (x.split_first(), y.split_first()) {
                (Some((ShapeItem::Dim(p), xs)), Some((ShapeItem::Dim(q), ys))) => {
                    self.unify_dim(p, q).map_err(|e| self.dim_in_shape(e, mismatch(self)))?;
                    (x, y) = (xs, ys);
                }
                (Some((p, xs)), Some((q, ys))) if p == q => (x, y) = (xs, ys),
                _ => break,
            }
        }
        loop {
            match (x.split_last(), y.split_last()) {
                (Some((ShapeItem::Dim(p), xs)), Some((ShapeItem::Dim(q), ys))) => {
                    self.unify_dim(p, q).map_err(|e| self.dim_in_shape(e, mismatch(self)))?;
                    (x, y) = (xs, ys);
                }
                (Some((p, xs)), Some((q, ys))) if p == q => (x, y) = (xs, ys),
                _ => break,
            }
        }
        let is_meta = |i: &ShapeItem| matches!(i, ShapeItem::Var(ShapeVar::Meta(_)));
        // The dims at the ends may have decided what stands between them: a rank is one of a shape.
        let decided =
            |i: &ShapeItem| matches!(i, ShapeItem::Var(ShapeVar::Meta(m)) if self.meta(*m).is_solved());
        if x.iter().chain(y).any(decided) {
            return self.step_shape(&Shape(x.to_vec()), &Shape(y.to_vec()));
        }
        match (x, y) {
            ([], []) => Ok(Step::Done),
            ([], rest) | (rest, []) => {
                let named =
                    |i: &ShapeItem| matches!(i, ShapeItem::Var(ShapeVar::Meta(m)) if self.is_named(*m));
                if !rest.iter().all(is_meta) || rest.iter().any(named) {
                    return Err(mismatch(self));
                }
                for item in rest {
                    if let ShapeItem::Var(ShapeVar::Meta(m)) = item
                        && !self.meta(*m).is_solved()
                    {
                        self.solve(*m, Solution::Shape(Shape::scalar()));
                    }
                }
                Ok(Step::Done)
            }
            ([ShapeItem::Var(ShapeVar::Meta(m))], [ShapeItem::Var(ShapeVar::Meta(n))]) => {
                if self.is_named(*m) && self.is_named(*n) {
                    return Err(mismatch(self));
                }
                let role = self.meta(*m).role.max(self.meta(*n).role);
                let (MetaKind::Shape { bare: b1, pad: p1 }, MetaKind::Shape { bare: b2, pad: p2 }) =
                    (self.meta(*m).kind.clone(), self.meta(*n).kind.clone())
                else {
                    return Err(mismatch(self));
                };
                let depth = self.meta(*m).depth.min(self.meta(*n).depth);
                let branch = self.meta(*m).branch.min(self.meta(*n).branch);
                let name = self.meta(*n).name.clone().or(self.meta(*m).name.clone());
                let result = (self.meta(*m).result || !b1) && (self.meta(*n).result || !b2);
                // What an operator pads with takes the rest, whatever else it meets; what any shape is written for has
                // any, and what has to equal it, too.
                let pad = p1 || p2;
                let whole = self.meta(*m).whole || self.meta(*n).whole;
                let target = self.meta_mut(*n);
                target.kind = MetaKind::Shape { bare: (b1 || b2) && !pad && !whole, pad };
                target.whole = whole;
                target.role = role;
                target.depth = depth;
                target.branch = branch;
                target.name = name;
                target.result = result;
                self.solve(*m, Solution::Shape(Shape::meta(*n)));
                Ok(Step::Done)
            }
            ([ShapeItem::Var(ShapeVar::Meta(m))], other) | (other, [ShapeItem::Var(ShapeVar::Meta(m))]) => {
                let solution = Shape(other.to_vec());
                if self.is_named(*m) {
                    let open = other
                        .iter()
                        .all(|i| matches!(i, ShapeItem::Var(ShapeVar::Meta(n)) if !self.is_named(*n)));
                    return if open && !other.is_empty() { Ok(Step::Stuck) } else { Err(mismatch(self)) };
                }
                if other.iter().any(|i| matches!(i, ShapeItem::Var(ShapeVar::Meta(n)) if n == m)) {
                    // m = … m …: what stands beside it is empty.
                    let beside: Vec<_> = other
                        .iter()
                        .filter(|i| !matches!(i, ShapeItem::Var(ShapeVar::Meta(n)) if n == m))
                        .cloned()
                        .collect();
                    return self.step_shape(&Shape(beside), &Shape::scalar());
                }
                if solution.0.iter().any(|i| match i {
                    ShapeItem::Dim(d) => d.vars().any(|v| {
                        matches!(v, DimVar::RankOf(ShapeVar::Meta(n)) | DimVar::SizeOf(ShapeVar::Meta(n)) if n == m)
                    }),
                    _ => false,
                }) {
                    return Ok(Step::Stuck);
                }
                let Meta { depth, whole, .. } = *self.meta(*m);
                let (solution, equal) = self.within(solution, depth);
                self.sink_shape(&solution, depth)?;
                // What is left of a shape that may be any is any, too.
                for item in solution.items() {
                    if let (true, ShapeItem::Var(ShapeVar::Meta(rest))) = (whole, item) {
                        self.meta_mut(*rest).whole = true;
                    }
                }
                self.solve(*m, Solution::Shape(solution));
                for (p, q) in equal {
                    self.unify_dim(&p, &q).map_err(|e| self.dim_in_shape(e, mismatch(self)))?;
                }
                Ok(Step::Done)
            }
            _ => {
                let blocked = |a: Option<&ShapeItem>, b: Option<&ShapeItem>| matches!((a, b), (Some(p), Some(q)) if !is_meta(p) && !is_meta(q));
                if blocked(x.first(), y.first()) || blocked(x.last(), y.last()) {
                    return Err(mismatch(self));
                }
                // A side of known rank that is too short for the certain dims of the other.
                let known = |s: &[ShapeItem]| s.iter().all(|i| matches!(i, ShapeItem::Dim(_)));
                let certain = |s: &[ShapeItem]| s.iter().filter(|i| !is_meta(i)).count();
                if (known(x) && certain(y) > x.len()) || (known(y) && certain(x) > y.len()) {
                    return Err(mismatch(self));
                }
                Ok(Step::Stuck)
            }
        }
    }

    /// The shape with unknown dims for those that mention what is bound deeper, and what each has to equal: in
    /// `(λ (xs k) (take1 xs k))` the size of `xs` is a number `?n` from outside, and not `k` and some more.
    fn within(&mut self, shape: Shape, depth: u32) -> (Shape, Vec<(Dim, Dim)>) {
        let mut equal = Vec::new();
        let items = shape.0.into_iter().map(|item| match item {
            ShapeItem::Dim(d) if self.escaping(&d, depth).is_some() => {
                let unknown = self.fresh_dim(self.node.unwrap_or(NodeId(0)), None);
                equal.push((unknown.clone(), d));
                ShapeItem::Dim(unknown)
            }
            item => item,
        });
        (Shape(items.collect()), equal)
    }

    /// A mismatch of single dims is shown as the mismatch of the shapes that hold them.
    fn dim_in_shape(&self, e: Mismatch, whole: Mismatch) -> Mismatch {
        match e {
            Mismatch::Dims(..) => whole,
            e => e,
        }
    }

    /// `result` becomes the longest of the frames.
    pub fn join(&mut self, frames: Vec<Shape>, result: Shape) -> Unify {
        match self.step_join(&frames, &result)? {
            Step::Done => Ok(()),
            Step::Stuck => {
                self.postpone(Constraint::Join { frames, result });
                Ok(())
            }
        }
    }

    pub(super) fn step_join(&mut self, frames: &[Shape], result: &Shape) -> Result<Step, Mismatch> {
        let mut open: Vec<Shape> = Vec::new();
        for f in frames {
            let f = self.zonk_shape(f);
            if !f.is_scalar() && !open.contains(&f) {
                open.push(f);
            }
        }
        let is_meta = |i: &ShapeItem| matches!(i, ShapeItem::Var(ShapeVar::Meta(_)));
        // Where two frames both have a certain item, it is the same.
        let certain = |f: &Shape| f.0.iter().take_while(|i| !is_meta(i)).count();
        let Some(longest) = open.iter().max_by_key(|f| (certain(f), f.0.len())).cloned() else {
            self.unify_shape(result, &Shape::scalar())?;
            return Ok(Step::Done);
        };
        for f in &open {
            for (p, q) in f.0.iter().take(certain(f)).zip(longest.0.iter().take(certain(&longest))) {
                let fits = match (p, q) {
                    (ShapeItem::Dim(p), ShapeItem::Dim(q)) => self.unify_dim(p, q),
                    (p, q) if p == q => Ok(()),
                    _ => Err(Mismatch::Infinite),
                };
                if let Err(e) = fits {
                    return Err(match e {
                        Mismatch::Dims(..) | Mismatch::Infinite => {
                            Mismatch::Shapes(self.zonk_shape(f), self.zonk_shape(&longest))
                        }
                        e => e,
                    });
                }
            }
        }
        let longest = self.zonk_shape(&longest);
        let settled = open
            .iter()
            .map(|f| self.zonk_shape(f))
            .all(|f| f == longest || (certain(&f) == f.0.len() && f.0.len() <= certain(&longest)));
        if settled {
            self.unify_shape(result, &longest)?;
            Ok(Step::Done)
        } else {
            Ok(Step::Stuck)
        }
    }
}

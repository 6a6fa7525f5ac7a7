//! Schedules for a GPU that go through shared memory: transpositions and contractions.
//!
//! A leaf that moves elements from `(j, i)` to `(i, j)` reads along one axis and writes along the other. A
//! block does it for a square: its threads read neighbours along the one, leave them in shared memory, and
//! after a barrier write neighbours along the other.
//!
//! A contraction is a leaf with one reduction inside whose elements are made of what depends on the row and
//! the reduced axis, and of what depends on the column and that axis, as of a matrix product:
//!
//! ```text
//! (seg-map ((i n) (j m)) (reduce (k l) (give (* a[i, k] b[k, j])) +))
//! ```
//!
//! A block makes a square of `contract.side` rows and columns, a thread `contract.each` of each. In steps of
//! `contract.depth` along the reduced axis, all bring in what the square needs of both, and each combines its own.
//! So an element is read from memory once for each block, and from shared memory once for `contract.each` uses.
//! The combinations are made in the order of the axis, as they would be one by one.

use super::build::{Emit, upto};
use super::leaf::Leaf;
use super::plan::Plan;
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::{ScalarOp, zero};
use remc_mono::ir as mono;
use rustc_hash::FxHashSet;

/// Shared memory that every block can have, in bytes.
const SHARED_OF_BLOCK: i64 = 48 << 10;

/// A leaf that is a contraction.
pub(crate) struct Contraction<'m> {
    /// The reduced axis, what is combined, and by what, from what start.
    axis: mono::Axis,
    body: &'m mono::Body,
    op: &'m mono::Combine,
    start: mono::Atom,
    sum: mono::Var,
    /// What the leaf makes of the sum.
    after: &'m [mono::Stmt],
    /// The elements that depend on the row, and those that depend on the column.
    rows: Vec<&'m mono::Stmt>,
    columns: Vec<&'m mono::Stmt>,
}

/// What the statements of a body depend on.
struct Needs<'m> {
    body: &'m mono::Body,
}

impl<'m> Needs<'m> {
    fn maker(&self, v: mono::Var) -> Option<&'m mono::Stmt> {
        self.body.stmts.iter().find(|s| s.pat.contains(&v))
    }

    /// The variables of which an expression is made in the end, those from outside the body.
    fn roots(&self, exp: &mono::Exp, into: &mut FxHashSet<mono::Var>) {
        for v in operands(exp) {
            match self.maker(v) {
                Some(s) => self.roots(&s.exp, into),
                None => _ = into.insert(v),
            }
        }
    }

    /// The statements that make a value, in order, up to those in `given`.
    fn slice(&self, results: &[mono::Atom], given: &[mono::Var]) -> Vec<mono::Stmt> {
        let mut wanted: FxHashSet<mono::Var> = results.iter().filter_map(|a| a.as_var()).collect();
        let mut out = Vec::new();
        for s in self.body.stmts.iter().rev() {
            if s.pat.iter().any(|v| wanted.contains(v) && !given.contains(v)) {
                wanted.extend(operands(&s.exp));
                out.push(s.clone());
            }
        }
        out.reverse();
        out
    }
}

/// The scalars that an expression without bodies mentions.
fn operands(exp: &mono::Exp) -> Vec<mono::Var> {
    let atoms = match exp {
        mono::Exp::Atom(a) | mono::Exp::Cast(_, a) => vec![*a],
        mono::Exp::Op(_, args) => args.clone(),
        mono::Exp::Index { at, .. } => at.clone(),
        _ => Vec::new(),
    };
    atoms.into_iter().filter_map(mono::Atom::as_var).collect()
}

fn is_scalar_code(stmts: &[mono::Stmt], tys: &dyn Fn(mono::Var) -> mono::Ty) -> bool {
    stmts.iter().all(|s| {
        matches!(
            s.exp,
            mono::Exp::Atom(_) | mono::Exp::Op(..) | mono::Exp::Cast(..) | mono::Exp::Index { .. }
        ) && s.pat.iter().all(|v| tys(*v).is_scalar())
    })
}

/// The contraction that a leaf is, over the last two axes of its space.
pub(crate) fn contraction<'m>(
    space: &[mono::Axis],
    leaf: &'m mono::Body,
    tys: &dyn Fn(mono::Var) -> mono::Ty,
) -> Option<Contraction<'m>> {
    let [.., row, column] = space else { return None };
    let (first, after) = leaf.stmts.split_first()?;
    let mono::Exp::Reduce { axis, body, op } = &first.exp else { return None };
    let (&[sum], &[start], [_]) = (first.pat.as_slice(), op.start.as_deref()?, body.results.as_slice())
    else {
        return None;
    };
    let plain = is_scalar_code(&body.stmts, tys)
        && is_scalar_code(after, tys)
        && is_scalar_code(&op.lambda.body.stmts, tys)
        && tys(sum).is_scalar()
        && start.as_var().is_none_or(|v| tys(v).is_scalar());
    if !plain {
        return None;
    }
    let needs = Needs { body };
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for s in body.stmts.iter().filter(|s| matches!(s.exp, mono::Exp::Index { .. })) {
        let mut roots = FxHashSet::default();
        needs.roots(&s.exp, &mut roots);
        match (roots.contains(&row.var), roots.contains(&column.var)) {
            (true, true) => return None,
            (true, false) => rows.push(s),
            (false, true) => columns.push(s),
            (false, false) => {}
        }
    }
    let found = !rows.is_empty() && !columns.is_empty() && rows.len() + columns.len() <= 4;
    found.then_some(Contraction { axis: *axis, body, op, start, sum, after, rows, columns })
}

/// Elements in shared memory, by the reduced axis and then the row or column.
struct Staged<'m> {
    stmt: &'m mono::Stmt,
    shared: Place,
}

/// The part of a contraction that a block makes, in rows and columns, and that a thread does; and how much of the reduced
/// axis at a time.
#[derive(Clone, Copy)]
struct Part {
    side: i64,
    each: i64,
    depth: i64,
}

impl Part {
    /// A thread for each of its squares.
    fn threads(self) -> i64 {
        (self.side / self.each) * (self.side / self.each)
    }

    /// Elements between rows in shared memory: a few more than a row has, so that columns lie in several banks.
    fn pitch(self) -> i64 {
        self.side + 4
    }
}

impl Plan {
    pub fn tys(&self) -> impl Fn(mono::Var) -> mono::Ty + '_ {
        |v| self.flat.vars[v].ty.clone()
    }

    /// Moves elements in squares.
    pub fn transpose_by_threads(
        &mut self,
        name: &str,
        outs: &[Place],
        [row, column]: [mono::Axis; 2],
        leaf: &mono::Body,
    ) -> L<()> {
        let (n, m) = (self.atom(row.size)?, self.atom(column.size)?);
        let (square, threads) = (self.number(Field::Square), self.number(Field::Threads));
        let (down, across) = (self.tiles(n, Atom::int(square))?, self.tiles(m, Atom::int(square))?);
        self.kernel(name, |l| {
            let outs = l.import_all(outs);
            let thread = l.threads(threads as u32);
            let (r, c) = (l.grid_axis("r", down), l.grid_axis("c", across));
            let (n, m) = (l.outer(n), l.outer(m));
            let dims = vec![Atom::int(square), Atom::int(square + 1)];
            let mut parts = Vec::new();
            for a in &leaf.results {
                let base = match a {
                    mono::Atom::Var(v) => l.plan.flat.vars[*v].ty.base,
                    mono::Atom::Const(c) => c.ty(),
                };
                parts.push(l.shared(base, dims.clone()));
            }
            // A warp is a row of the square, of 32 threads.
            let [y, x] = l.pair(thread, [threads / square, square], ["y", "x"]);
            let ways = [(y, Atom::int(threads / square)), (x, Atom::int(square))];
            let side = Atom::int(square);
            let share = |(thread, threads): (Atom, Atom), index: Atom, limit: Atom| Range::Share {
                thread,
                threads,
                index,
                size: side,
                limit,
            };
            let zero = Atom::int(0);
            l.each(How::Seq, "jj", share(ways[0], zero, side), |l, jj| {
                l.each(How::Seq, "ii", share(ways[1], zero, side), |l, ii| {
                    let (i, j) = (l.in_tile(r, square, ii)?, l.in_tile(c, square, jj)?);
                    let inside = l.inside(&[(i, n), (j, m)])?;
                    l.blocks.open();
                    l.set(row.var, i);
                    l.set(column.var, j);
                    let values = l.scalars(leaf)?;
                    parts.iter().zip(values).for_each(|(to, v)| l.store(to, &[jj, ii], v));
                    let then = l.blocks.close();
                    l.emit(StmtKind::If { cond: inside, then, otherwise: Vec::new(), results: Vec::new() });
                    Ok(())
                })
            })?;
            l.emit(StmtKind::Barrier);
            l.each(How::Seq, "i", share(ways[0], r, n), |l, i| {
                l.each(How::Seq, "j", share(ways[1], c, m), |l, j| {
                    let (ii, jj) = (l.of_tile(i, r, square)?, l.of_tile(j, c, square)?);
                    for (from, to) in parts.iter().zip(&outs) {
                        let v = l.load(from, &[jj, ii])?;
                        l.store(to, &[i, j], v);
                    }
                    Ok(())
                })
            })
        })
    }

    /// Whether shared memory has room for a square of each of a leaf's results.
    pub fn squares_fit(&self, leaf: &mono::Body) -> bool {
        let base = |a: &mono::Atom| match a {
            mono::Atom::Var(v) => self.flat.vars[*v].ty.base,
            mono::Atom::Const(c) => c.ty(),
        };
        let bytes: i64 = leaf.results.iter().map(|a| i64::from(base(a).bits() / 8)).sum();
        let square = self.number(Field::Square);
        square * (square + 1) * bytes <= self.number(Field::Shared)
    }

    /// The part of a contraction that a block makes.
    fn part(&self) -> Part {
        let [side, each, depth] = [Field::Side, Field::Each, Field::Depth].map(|f| self.number(f));
        Part { side, each, depth }
    }

    /// Whether shared memory has room for what a block brings in of a contraction.
    pub fn contraction_fits(&self, c: &Contraction) -> bool {
        let base = |v: &mono::Var| self.flat.vars[*v].ty.base;
        let staged = c.rows.iter().chain(&c.columns).flat_map(|s| &s.pat);
        let bytes: i64 = staged.map(|v| i64::from(base(v).bits().max(8) / 8)).sum();
        let part = self.part();
        part.depth * part.pitch() * bytes <= SHARED_OF_BLOCK
    }

    /// Whether there are rows and columns enough for squares.
    pub fn is_worth_squares(&mut self, space: &[mono::Axis]) -> L<Atom> {
        let [.., row, column] = space else { return wrong("no rows and columns") };
        let (n, m) = (self.atom(row.size)?, self.atom(column.size)?);
        let least = self.int(ScalarOp::Min2, n, m)?;
        self.int(ScalarOp::Ge, least, self.size(Field::Worth))
    }

    pub fn contract_by_threads(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        c: &Contraction,
        leaf: &mono::Body,
    ) -> L<()> {
        let [outer @ .., row, column] = space else { return wrong("no rows and columns") };
        let (n, m, depth) = (self.atom(row.size)?, self.atom(column.size)?, self.atom(c.axis.size)?);
        let part = self.part();
        let Part { side, each, depth: step, .. } = part;
        let (down, across) = (self.tiles(n, Atom::int(side))?, self.tiles(m, Atom::int(side))?);
        // Rows and columns of a thread are tiles, too: how many there are.
        let (row_tiles, column_tiles) = (self.tiles(n, Atom::int(each))?, self.tiles(m, Atom::int(each))?);
        let steps = self.tiles(depth, Atom::int(step))?;
        self.kernel(name, |l| {
            let outs = l.import_all(outs);
            let thread = l.threads(part.threads() as u32);
            let mut at = Vec::new();
            for a in outer {
                let size = l.plan.atom(a.size)?;
                let i = l.grid_axis("i", size);
                l.set(a.var, i);
                at.push(i);
            }
            let (r, q) = (l.grid_axis("r", down), l.grid_axis("c", across));
            let (n, m, depth, steps) = (l.outer(n), l.outer(m), l.outer(depth), l.outer(steps));
            let (row_tiles, column_tiles) = (l.outer(row_tiles), l.outer(column_tiles));
            let rows = l.staging(&c.rows, part);
            let columns = l.staging(&c.columns, part);
            let squares = side / each;
            let [y, x] = l.pair(thread, [squares, squares], ["y", "x"]);
            let start = l.atom(c.start)?;
            let combine = c.op.component_ops().and_then(|ops| ops.first().copied());
            let init = vec![(start, combine); (each * each) as usize];
            let sums = l.carry(How::Seq, upto(steps), &init, |l, k, sums| {
                l.stage(thread, (c, part), &rows, (row.var, r, n), k, depth)?;
                l.stage(thread, (c, part), &columns, (column.var, q, m), k, depth)?;
                l.emit(StmtKind::Barrier);
                let done = l.int(ScalarOp::Mul, k, Atom::int(step))?;
                let left = l.int(ScalarOp::Sub, depth, done)?;
                let here = l.int(ScalarOp::Min2, left, Atom::int(step))?;
                let init: Vec<_> = sums.iter().map(|s| (*s, combine)).collect();
                let next = l.carry(How::Seq, upto(here), &init, |l, kk, sums| {
                    let k = l.int(ScalarOp::Add, done, kk)?;
                    l.set(c.axis.var, k);
                    l.combine_square((c, part), &rows, &columns, kk, [y, x], sums)
                })?;
                l.emit(StmtKind::Barrier);
                Ok(next)
            })?;
            let count = Atom::int(squares);
            let share =
                |thread, index, limit| Range::Share { thread, threads: count, index, size: count, limit };
            l.each(How::Seq, "ri", share(y, r, row_tiles), |l, ri| {
                l.each(How::Seq, "ci", share(x, q, column_tiles), |l, ci| {
                    for (k, sum) in sums.iter().enumerate() {
                        let (u, v) = (Atom::int(k as i64 / each), Atom::int(k as i64 % each));
                        let (i, j) = (l.in_tile(ri, each, u)?, l.in_tile(ci, each, v)?);
                        let inside = l.inside(&[(i, n), (j, m)])?;
                        l.blocks.open();
                        l.set(row.var, i);
                        l.set(column.var, j);
                        l.env.insert(c.sum, Bound::Scalar(*sum));
                        let after = mono::Body { stmts: c.after.to_vec(), results: leaf.results.clone() };
                        let values = l.scalars(&after)?;
                        let there: Vec<Atom> = at.iter().copied().chain([i, j]).collect();
                        outs.iter().zip(values).for_each(|(to, v)| l.store(to, &there, v));
                        let then = l.blocks.close();
                        l.emit(StmtKind::If {
                            cond: inside,
                            then,
                            otherwise: Vec::new(),
                            results: Vec::new(),
                        });
                    }
                    Ok(())
                })
            })
        })
    }
}

impl Leaf<'_> {
    pub fn shared(&mut self, base: remc_base::BaseTy, dims: Vec<Atom>) -> Place {
        let ty = BufferTy { base, dims, space: Space::Shared };
        let buffer = self.program().buffer("part", ty);
        self.emit(StmtKind::Alloc { buffer });
        Place::whole(buffer)
    }

    /// A thread's number as two.
    fn pair(&mut self, thread: Atom, dims: [i64; 2], names: [&str; 2]) -> [Atom; 2] {
        let vars = names.map(|n| self.program().scalar(n, remc_base::BaseTy::I64));
        let dims = dims.map(Atom::int).to_vec();
        self.emit(StmtKind::Points { vars: vars.to_vec(), index: thread, dims });
        vars.map(Atom::Var)
    }

    /// Number `k` of tile `b`.
    fn in_tile(&mut self, b: Atom, size: i64, k: Atom) -> L<Atom> {
        let base = self.int(ScalarOp::Mul, b, Atom::int(size))?;
        self.int(ScalarOp::Add, base, k)
    }

    /// Which number of tile `b` an index is.
    fn of_tile(&mut self, i: Atom, b: Atom, size: i64) -> L<Atom> {
        let base = self.int(ScalarOp::Mul, b, Atom::int(size))?;
        self.int(ScalarOp::Sub, i, base)
    }

    /// Whether each index is below its limit.
    fn inside(&mut self, all: &[(Atom, Atom)]) -> L<Atom> {
        let mut inside = Atom::Const(remc_base::Scalar::Bool(true));
        for (k, (i, n)) in all.iter().enumerate() {
            let below = self.int(ScalarOp::Lt, *i, *n)?;
            inside = if k == 0 { below } else { self.op(ScalarOp::And, &[inside, below])? };
        }
        Ok(inside)
    }

    fn staging<'m>(&mut self, stmts: &[&'m mono::Stmt], part: Part) -> Vec<Staged<'m>> {
        let mut all = Vec::new();
        for stmt in stmts {
            for v in &stmt.pat {
                let base = self.plan.flat.vars[*v].ty.base;
                let shared = self.shared(base, vec![Atom::int(part.depth), Atom::int(part.pitch())]);
                all.push(Staged { stmt, shared });
            }
        }
        all
    }

    /// Brings in what a square needs of one side, for one step: neighbouring threads read along the side
    /// or along the reduced axis, whichever lies side by side in memory.
    fn stage(
        &mut self,
        thread: Atom,
        (c, part): (&Contraction, Part),
        staged: &[Staged],
        (side, tile, limit): (mono::Var, Atom, Atom),
        step: Atom,
        depth: Atom,
    ) -> L<()> {
        for s in staged {
            let mono::Exp::Index { at, .. } = &s.stmt.exp else { return wrong("no element") };
            let along_depth = at.last() == Some(&mono::Atom::Var(c.axis.var));
            let Part { side: rows, depth: steps, .. } = part;
            let dims = if along_depth { [rows, steps] } else { [steps, rows] };
            let size = Atom::int(rows * steps);
            let threads = Atom::int(part.threads());
            let range = Range::Share { thread, threads, index: Atom::int(0), size, limit: size };
            self.each(How::Seq, "p", range, |l, p| {
                let [a, b] = l.pair(p, dims, ["a", "b"]);
                let (kk, ii) = if along_depth { (b, a) } else { (a, b) };
                let (k, i) = (l.in_tile(step, steps, kk)?, l.in_tile(tile, rows, ii)?);
                let inside = l.inside(&[(k, depth), (i, limit)])?;
                let base = l.plan.flat.vars[s.stmt.pat[0]].ty.base;
                let result = mono::Atom::Var(s.stmt.pat[0]);
                let stmts = Needs { body: c.body }.slice(&[result], &[]);
                let values = l.choose(
                    inside,
                    |l| {
                        l.set(c.axis.var, k);
                        l.set(side, i);
                        l.scalars(&mono::Body { stmts, results: vec![result] })
                    },
                    // What is past the end is combined with nothing that is stored.
                    |_| Ok(vec![Atom::Const(zero(base))]),
                )?;
                values.into_iter().for_each(|v| l.store(&s.shared, &[kk, ii], v));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// A thread's square, one element of the reduced axis further.
    fn combine_square(
        &mut self,
        (c, part): (&Contraction, Part),
        rows: &[Staged],
        columns: &[Staged],
        kk: Atom,
        [y, x]: [Atom; 2],
        sums: &[Atom],
    ) -> L<Vec<Atom>> {
        let mut loaded = Vec::new();
        for (side, staged) in [(y, rows), (x, columns)] {
            let mut all = Vec::new();
            for u in 0..part.each {
                let at = self.in_tile(side, part.each, Atom::int(u))?;
                let values = staged.iter().map(|s| self.load(&s.shared, &[kk, at])).collect::<L<Vec<_>>>()?;
                all.push(values);
            }
            loaded.push(all);
        }
        let given: Vec<mono::Var> = rows.iter().chain(columns).flat_map(|s| s.stmt.pat.clone()).collect();
        let stmts = Needs { body: c.body }.slice(&c.body.results, &given);
        let element = mono::Body { stmts, results: c.body.results.clone() };
        let mut next = Vec::new();
        for (k, sum) in sums.iter().enumerate() {
            let (u, v) = (k as i64 / part.each, k as i64 % part.each);
            let values = loaded[0][u as usize].iter().chain(&loaded[1][v as usize]);
            for (var, value) in given.iter().zip(values) {
                self.env.insert(*var, Bound::Scalar(*value));
            }
            let elems = self.body(&element)?;
            next.extend(self.combine(c.op, &[*sum], elems)?);
        }
        Ok(next)
    }
}

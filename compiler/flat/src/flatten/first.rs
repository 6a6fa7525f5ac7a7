//! The first few of an order, or the last few, without the order: tournament-style selection.
//!
//! ```text
//! (let (%order) (grade (i %n) … (give %k)))       (let (%few) (rows grid (t %tiles) 1 () (leaf
//! (let (%ys) (map ((j %m))                          (let (%o) (grade (i %size) … of item t · 2^14 + i …))
//!   (let (%p) (index %order j)) …))            ⟶     (map ((r %m)) … (index %o r) …) …)))
//!                                                 (let (%best) (rows grid (z 1) 1 () (leaf
//!                                                   (let (%o) (grade (q (* %tiles %m)) … of what %few has …))
//!                                                   (map ((r %m)) … (index %o r) …) …)))
//!                                                 (let (%ys) (map ((j %m)) (let (%p) (index %best 0 j)) …))
//! ```
//!
//! Where so few places of an order are read that it is known how many at most, each tile of the items gives as many, and
//! what the tiles have given is asked once more. A thread that reads but the first places of an order that it makes selects
//! (`remc_kernel::lower::select`), so all items are read once, and nothing is sorted. Tiles are in the order of their
//! items, and so is what each gives of equal items, hence the sort of both is stable as the whole one is.
//!
//! Read from the end, the last place first, tiles give their last items, and what they have given is arranged forwards.
//!
//! That is for processors: on a GPU no thread sorts.

use super::{Flattener, host::Stmts};
use crate::ir;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Prov};
use remc_mono::ir::*;
use remc_mono::opt::RowsAre;
use rustc_hash::FxHashMap;

/// Items of a tile.
const TILE: i64 = 1 << 14;
/// At most so many are selected: as many as a thread keeps in memory while it reads a row (`row.selected`).
const MOST: i64 = 16;

/// An order of which few places are read.
struct Few {
    /// The statement that makes it, and the one that reads it.
    at: [usize; 2],
    /// How many places are read.
    count: Atom,
    /// Whether from the end.
    last: bool,
}

/// A body without the orders of which few places are read.
pub(super) struct Selections {
    pub body: Body,
    /// What selects, by the number of the statement of the new body that reads it: right before that, where its checks have
    /// been made and its size is there.
    pub before: FxHashMap<usize, Vec<ir::Stmt>>,
}

/// The same of a body; `None` if it has no such orders.
pub(super) fn selections(f: &mut Flattener, b: &Body) -> Option<Selections> {
    if f.thresholds.rows() != RowsAre::Tasks {
        return None;
    }
    let all: Vec<Few> = (0..b.stmts.len()).filter_map(|k| few(f, b, k)).collect();
    if all.is_empty() {
        return None;
    }
    let mut body = b.clone();
    let mut before: FxHashMap<usize, Vec<ir::Stmt>> = FxHashMap::default();
    for few in &all {
        let s = &b.stmts[few.at[0]];
        let (Exp::Grade { axis, body: keys, gives: Gives::Places }, [order]) = (&s.exp, &s.pat[..]) else {
            continue;
        };
        let (stmts, best) = select(f, few, *axis, keys, s.prov);
        // Each order that is gone is one statement less.
        let gone = all.iter().filter(|other| other.at[0] < few.at[1]).count();
        before.entry(few.at[1] - gone).or_default().extend(stmts);
        let exp = &mut body.stmts[few.at[1]].exp;
        let Some(over) = exp.axes().first().copied() else { continue };
        for s in exp.bodies_mut().into_iter().take(1).flat_map(|elements| &mut elements.stmts) {
            if matches!(s.exp, Exp::Index { array, .. } if array == *order) {
                s.exp = Exp::Index { array: best, at: vec![Atom::int(0), over.var.into()] };
            }
        }
    }
    let mut k = 0;
    body.stmts.retain(|_| {
        k += 1;
        !all.iter().any(|few| few.at[0] == k - 1)
    });
    Some(Selections { body, before })
}

/// The one axis of an operator, and what makes its elements.
fn elements(exp: &Exp) -> Option<(Axis, &Body)> {
    let [axis] = exp.axes() else { return None };
    // An order that another one is made of may be gone itself.
    let sorts = matches!(exp, Exp::Grade { .. });
    Some((*axis, *exp.bodies().first().filter(|_| !sorts)?))
}

/// Whether a statement makes an order that one operator over few points reads, each point at its own place.
fn few(f: &Flattener, b: &Body, k: usize) -> Option<Few> {
    let s = &b.stmts[k];
    let (Exp::Grade { axis, body: keys, gives: Gives::Places }, [order]) = (&s.exp, &s.pat[..]) else {
        return None;
    };
    let scalars = keys.results.iter().all(|a| f.p.atom_ty(*a).is_scalar());
    if !scalars || keys.can_stop() || !f.is_leaf(&[axis.var], &[keys]) {
        return None;
    }
    let mentions = |b: &Body| {
        let mut n = 0;
        b.for_each_use(&mut |a| n += usize::from(a == (*order).into()));
        n
    };
    let whole = mentions(b);
    let reads = |s: &Stmt| elements(&s.exp).is_some_and(|(_, body)| mentions(body) == whole);
    let at = b.stmts.iter().position(reads).filter(|at| *at > k)?;
    let (over, body) = elements(&b.stmts[at].exp)?;
    let made = |a: Atom| b.stmts[..at].iter().find(|s| s.pat.first().copied() == a.as_var()).map(|s| &s.exp);
    let most = match (over.size.as_int(), over.size.as_var().and_then(|v| made(v.into()))) {
        (Some(n), _) => n,
        (None, Some(Exp::Op(ScalarOp::Min2, args))) => args.iter().find_map(|a| a.as_int())?,
        _ => return None,
    };
    // The last place, of which a point's number is taken off.
    let is_last = |a: Atom| match made(a) {
        Some(Exp::Op(ScalarOp::Add, args)) => args[..] == [axis.size, Atom::int(-1)],
        Some(Exp::Op(ScalarOp::Sub, args)) => args[..] == [axis.size, Atom::int(1)],
        _ => false,
    };
    let mut from_end = Vec::new();
    let (mut found, mut read) = (None, 0);
    for s in &body.stmts {
        match &s.exp {
            Exp::Op(ScalarOp::Sub, args) if args[1] == over.var.into() && is_last(args[0]) => {
                from_end.extend(s.pat.iter().map(|v| Atom::Var(*v)));
            }
            Exp::Index { array, at } if array == order => {
                let last = from_end.contains(&at[0]);
                if !last && at[0] != over.var.into() || found.is_some_and(|l| l != last) {
                    return None;
                }
                found = Some(last);
                read += 1;
            }
            _ => {}
        }
    }
    let last = found.filter(|_| read == whole && (0..=MOST).contains(&most))?;
    Some(Few { at: [k, at], count: over.size, last })
}

/// The items of a stretch that come first, or last: a statement for their order, and their numbers.
struct Stretch {
    size: Atom,
    count: Atom,
    last: bool,
}

impl Stretch {
    /// Binds the numbers of its items in the order that `keys` of an item give; what `place` makes of each.
    fn select(
        &self,
        made: &mut Stmts<'_>,
        keys: impl FnOnce(&mut Stmts<'_>, Atom) -> Vec<Atom>,
        place: impl FnOnce(&mut Stmts<'_>, Atom) -> Atom,
    ) -> Atom {
        let i = made.int("i");
        let body = made.aside(|made| {
            let results = keys(made, i.into());
            Body { stmts: made.take(), results }
        });
        let order = made.vector("order", self.size);
        made.push(
            vec![order],
            Exp::Grade { axis: Axis { var: i, size: self.size }, body, gives: Gives::Places },
        );
        let end = made.op(ScalarOp::Add, self.size, Atom::int(-1));
        let r = made.int("r");
        let body = made.aside(|made| {
            let at = if self.last { made.op(ScalarOp::Sub, end, r.into()) } else { r.into() };
            let item = made.element(order, vec![at]);
            let results = vec![place(made, item)];
            Body { stmts: made.take(), results }
        });
        let row = made.vector("row", self.count);
        made.push(vec![row], Exp::Map { axes: vec![Axis { var: r, size: self.count }], body });
        row.into()
    }
}

/// The statements that select, and what they bind: an array of one row of numbers of items.
fn select(f: &mut Flattener, few: &Few, axis: Axis, keys: &Body, prov: Prov) -> (Vec<ir::Stmt>, Var) {
    let mut made = Stmts::new(f, prov);
    let tile = Atom::int(TILE);
    let tiles = made.op(ScalarOp::Quotient, axis.size, tile);
    let tiles = made.op(ScalarOp::Max2, tiles, Atom::int(1));
    let last_tile = made.op(ScalarOp::Add, tiles, Atom::int(-1));
    let all = made.op(ScalarOp::Mul, tiles, few.count);
    let hosts = made.take();
    let mut out = Vec::new();
    out.extend(hosts.into_iter().map(|s| ir::Stmt { pat: s.pat, exp: ir::Exp::Host(s.exp), prov }));

    // Each tile's, the last of which has what is left over, too.
    let t = made.int("t");
    let leaf = made.aside(|made| {
        let start = made.op(ScalarOp::Mul, t.into(), tile);
        let rest = made.op(ScalarOp::Sub, axis.size, start);
        let is_last = made.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[t.into(), last_tile]);
        let size = made.op_of("n", BaseTy::I64, ScalarOp::Select, &[is_last, rest, tile]);
        let size = made.op(ScalarOp::Min2, size, Atom::int(2 * TILE));
        let stretch = Stretch { size, count: few.count, last: few.last };
        let row = stretch.select(
            made,
            |made, i| {
                let item = made.op(ScalarOp::Add, start, i);
                let copy = made.instance(keys, &[(axis.var, item)]);
                made.splice(copy)
            },
            |made, item| made.op(ScalarOp::Add, start, item),
        );
        Body { stmts: made.take(), results: vec![row] }
    });
    let of_tiles = made.f.p.fresh("few", Ty::int().over(&[tiles, few.count]));
    out.push(rows(of_tiles, Axis { var: t, size: tiles }, leaf, prov));

    // Those of all tiles.
    let z = made.int("z");
    let leaf = made.aside(|made| {
        let stretch = Stretch { size: all, count: few.count, last: few.last };
        let given = |made: &mut Stmts<'_>, q: Atom| {
            let tile = made.op(ScalarOp::Quotient, q, few.count);
            let mut r = made.op(ScalarOp::Modulo, q, few.count);
            if few.last {
                let end = made.op(ScalarOp::Add, few.count, Atom::int(-1));
                r = made.op(ScalarOp::Sub, end, r);
            }
            made.element(of_tiles, vec![tile, r])
        };
        let row = stretch.select(
            made,
            |made, q| {
                let item = given(made, q);
                let copy = made.instance(keys, &[(axis.var, item)]);
                made.splice(copy)
            },
            given,
        );
        Body { stmts: made.take(), results: vec![row] }
    });
    let best = made.f.p.fresh("best", Ty::int().over(&[Atom::int(1), few.count]));
    out.push(rows(best, Axis { var: z, size: Atom::int(1) }, leaf, prov));
    (out, best)
}

fn rows(v: Var, axis: Axis, body: Body, prov: Prov) -> ir::Stmt {
    let (level, of, starts, scratch) = (ir::Level::Grid, None, Vec::new(), Vec::new());
    let exp = ir::Exp::Rows(ir::Rows { level, axis, of, regular: 1, starts, scratch, body });
    ir::Stmt { pat: vec![v], exp, prov }
}

//! What a leaf may be: work that one thread does without asking the host for memory.
//!
//! An array that a leaf makes has its memory allocated before the launch. So each of its dims must be a
//! size that is known there: a constant, a variable in scope outside of the leaf, or scalar operators over
//! such, which the host computes too; or at least bounded by such a size, as the number of items that a
//! `filter` keeps is by its axis, the number of an iteration by how many there are, and `(op min2 n m)` by `m`.
//!
//! No leaf sorts, but that of a row ([`legal_row`]).
//!
//! ```text
//! (seg-map grid ((i n)) (let (%m) (op + %n 1)) (let (%ys) (map ((j %m)) …)) …)       legal
//! (seg-map grid ((i n)) (for (t %n) … (let (%m) (op + %t 1)) (let (%ys) (map ((j %m)) …)) …))     legal
//! (seg-map grid ((i n)) (let (%m) (index %ns i)) (let (%ys) (map ((j %m)) …)) …)     %m known only inside
//! ```

mod group;

use crate::ir::{Atom, Axis, Body, Combine, Exp, Stmt, Var, VarInfo};
use remc_base::IdVec;
use remc_base::ops::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

pub use group::{group_points, group_reduces, group_sizes, legal_group};

/// Why a body is no leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Illegal {
    /// It sorts.
    Grade,
    /// It joins arrays.
    Join,
    /// It reads or writes a stream.
    Channel,
    /// It makes an array, bound to this variable, of a size that is only known inside.
    Size(Var),
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Illegal::Grade => f.write_str("a sort"),
            Illegal::Join => f.write_str("a join"),
            Illegal::Channel => f.write_str("what a stream has next"),
            Illegal::Size(v) => write!(f, "the array {v:?}, of a size that is only known inside"),
        }
    }
}

/// Whether the bodies are leaves of an operator that binds `binders` around them; operators of a
/// reduction count as bodies.
///
/// # Errors
/// What is in the way.
pub fn legal_leaf(vars: &IdVec<Var, VarInfo>, binders: &[Var], bodies: &[&Body]) -> Result<(), Illegal> {
    let mut sizes = Sizes::inside(binders, bodies);
    bodies.iter().try_for_each(|b| check(vars, &mut sizes, b))
}

/// The same of the body of a row that one thread does on its own ([`own_sizes`]), which may sort.
///
/// # Errors
/// What is in the way.
pub fn legal_row(vars: &IdVec<Var, VarInfo>, binders: &[Var], body: &Body) -> Result<(), Illegal> {
    check(vars, &mut Sizes::of_row(binders, body), body)
}

/// Whether a body sorts.
pub fn sorts(body: &Body) -> bool {
    let mut sorts = false;
    body.for_each_stmt(&mut |s| sorts |= matches!(s.exp, Exp::Grade { .. }));
    sorts
}

/// Whether the body of an operator is a leaf although it makes arrays of other sizes in each iteration of a loop.
pub fn has_growing_arrays(vars: &IdVec<Var, VarInfo>, binders: &[Var], body: &Body) -> bool {
    let mut sizes = Sizes { growing: false, ..Sizes::inside(binders, &[body]) };
    check(vars, &mut sizes, body).is_err() && legal_leaf(vars, binders, &[body]).is_ok()
}

/// The sizes that each point of a map has for itself.
pub struct OwnSizes {
    /// Those that the dims of arrays are made of, and the first of each row that is given. Were each known to be bounded,
    /// the body were a leaf.
    pub sizes: Vec<Var>,
    /// The scalars that they are computed from, and they, without any of the point's other work.
    pub slice: Vec<Stmt>,
    /// Of each row that is given: the most items that it may have, where their number is known only when it is made.
    pub rooms: Vec<Option<Most>>,
}

/// An upper bound of a size, made of sizes that are known before.
#[derive(Clone, PartialEq, Debug)]
pub enum Most {
    Size(Atom),
    /// Of bounds, by an operator that is monotone.
    Op(ScalarOp, Vec<Most>),
}

/// The sizes that a body has for itself at each point of an axis, if with upper bounds of them it were a leaf; of its
/// results after the first `regular`, arrays, the dims but the first have to be known outside, and the first one bounded by
/// such sizes, as the number of items that a filter keeps is. None if it has no such sizes.
pub fn own_sizes(vars: &IdVec<Var, VarInfo>, axis: &Axis, regular: usize, body: &Body) -> Option<OwnSizes> {
    // Behind a check that fails sizes mean nothing, so that it has to stay where it is. If it is never done, the rows are
    // flattened all the same.
    if body.contains_failing_check() {
        return None;
    }
    let mut own: Vec<Var> = Vec::new();
    let dims = |v: Var| vars.get(v).map(|info| info.ty.dims.as_slice()).unwrap_or_default();
    // Each round bounds more sizes.
    loop {
        let mut sizes = Sizes::of_row(&[axis.var], body);
        sizes.found.extend(own.iter().map(|v| (*v, Size::Bounded)));
        match check(vars, &mut sizes, body) {
            Ok(()) => break,
            Err(Illegal::Size(v)) => {
                let before = own.len();
                for d in dims(v).iter().filter(|d| sizes.of(**d).is_none()).filter_map(|d| d.as_var()) {
                    bounds(vars, &sizes, body, d, &mut own)?;
                }
                if own.len() == before {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
    // Of each size there may be as many elements as a row may have: two of them multiplied are no task's memory.
    let is_own = |d: &Atom| d.as_var().is_some_and(|v| own.contains(&v));
    let mut fits = true;
    body.for_each_stmt(&mut |s| {
        let makes = !matches!(s.exp, Exp::View { .. });
        fits &= !makes || s.pat.iter().all(|v| dims(*v).iter().filter(|d| is_own(d)).count() < 2);
    });
    if !fits {
        return None;
    }
    let (given, sizes) = (body.results.get(regular..)?, Sizes::inside(&[axis.var], &[body]));
    let mut rooms = Vec::new();
    for r in given {
        let (first, rest) = dims(r.as_var()?).split_first()?;
        if rest.iter().any(|d| sizes.of(*d).is_none()) {
            return None;
        }
        let most = most(vars, &sizes, &[body], *first, &mut own)?;
        let room = Some(most).filter(|m| *m != Most::Size(*first));
        if room.as_ref().is_some_and(|m| !m.is_of_row(body)) {
            return None;
        }
        rooms.push(room);
    }
    // A row that sorts is one task whatever its size.
    if own.is_empty() {
        let mut sizes: Vec<Var> = Vec::new();
        body.for_each_stmt(&mut |s| {
            if let Exp::Grade { axis, .. } = &s.exp {
                sizes.extend(axis.size.as_var());
            }
        });
        let inside: FxHashSet<Var> = body.binders().into_iter().chain([axis.var]).collect();
        let known = sizes.iter().all(|v| !inside.contains(v));
        return (known && sorts(body)).then_some(OwnSizes { sizes, slice: Vec::new(), rooms });
    }
    let mut wanted: FxHashSet<Var> = FxHashSet::default();
    own.retain(|v| wanted.insert(*v));
    let slice = slice(vars, &body.stmts, wanted)?;
    Some(OwnSizes { sizes: own, slice, rooms })
}

/// A constant up to which a row may have room for as many items, beside those that it has.
const FEW: i64 = 64;

impl Most {
    /// Whether room for so many items in each row is no more than there are items in rows, but for a factor and some: the
    /// bound is made of lengths of rows, numbers that are stored for each. Of all else a row may keep far less than it could,
    /// as of a vector of which each row keeps what is near it.
    fn is_of_row(&self, row: &Body) -> bool {
        match self {
            Most::Size(size) => is_length(row, *size),
            Most::Op(ScalarOp::Min2, args) => args.iter().any(|m| m.is_of_row(row)),
            Most::Op(_, args) => args.iter().all(|m| m.is_of_row(row)),
        }
    }

    /// Whether two branches have bounds of the same sizes, if both are of any: another size may be one of a branch that is
    /// never taken, however great it is.
    fn is_like(&self, other: &Most) -> bool {
        let (mut a, mut b) = (FxHashSet::default(), FxHashSet::default());
        self.sizes(&mut a);
        other.sizes(&mut b);
        a.is_empty() || b.is_empty() || a == b
    }

    fn sizes(&self, all: &mut FxHashSet<Var>) {
        match self {
            Most::Size(size) => all.extend(size.as_var()),
            Most::Op(_, args) => args.iter().for_each(|m| m.sizes(all)),
        }
    }
}

/// Whether a size is a number that is stored for each row, or a sum of such and of small constants.
fn is_length(row: &Body, size: Atom) -> bool {
    let Some(v) = size.as_var() else { return size.as_int().is_some_and(|n| n.abs() <= FEW) };
    row.stmts.iter().find(|s| s.pat[..] == [v]).is_some_and(|s| match &s.exp {
        Exp::Index { .. } => true,
        Exp::Atom(a) => is_length(row, *a),
        Exp::Op(ScalarOp::Min2, args) => args.iter().any(|a| is_length(row, *a)),
        Exp::Op(ScalarOp::Add | ScalarOp::Sub | ScalarOp::Max2 | ScalarOp::Quotient, args) => {
            args.iter().all(|a| is_length(row, *a))
        }
        _ => false,
    })
}

/// The most that a size can be: itself, where it is known outside or straight-line code computes it, of which it is one more
/// of the point's own sizes then. It is bound in the last of these bodies, each of which is in the one before, or around it.
fn most(
    vars: &IdVec<Var, VarInfo>,
    sizes: &Sizes,
    bodies: &[&Body],
    size: Atom,
    own: &mut Vec<Var>,
) -> Option<Most> {
    let Some(v) = size.as_var().filter(|_| sizes.of(size).is_none()) else { return Some(Most::Size(size)) };
    if own.contains(&v) {
        return Some(Most::Size(size));
    }
    let row = bodies.first()?;
    if slice(vars, &row.stmts, FxHashSet::from_iter([v])).is_some() {
        own.push(v);
        return Some(Most::Size(size));
    }
    let makes = |s: &&Stmt| s.pat.contains(&v);
    let (depth, s) = (1..=bodies.len()).find_map(|n| Some((n, bodies[n - 1].stmts.iter().find(makes)?)))?;
    let bodies = &bodies[..depth];
    let mut of = |a: Atom| most(vars, sizes, bodies, a, own);
    let mut greatest =
        |op, args: &[Atom]| Some(Most::Op(op, args.iter().map(|a| of(*a)).collect::<Option<_>>()?));
    let at = s.pat.iter().position(|x| *x == v)?;
    match &s.exp {
        Exp::Filter { axis, .. } if at == 0 => of(axis.size),
        Exp::Atom(a) => of(*a),
        Exp::Op(op @ (ScalarOp::Add | ScalarOp::Max2 | ScalarOp::Min2), args) => greatest(*op, args),
        // One of the two.
        Exp::Op(ScalarOp::Select, args) => greatest(ScalarOp::Max2, &args[1..]),
        Exp::If { then, otherwise, .. } => {
            let mut given = |b: &Body| most(vars, sizes, &[bodies, &[b]].concat(), *b.results.get(at)?, own);
            let (a, b) = (given(then)?, given(otherwise)?);
            a.is_like(&b).then(|| Most::Op(ScalarOp::Max2, vec![a, b]))
        }
        Exp::Op(ScalarOp::Sub, args) if args[1].as_int().is_some() => {
            Some(Most::Op(ScalarOp::Sub, vec![of(args[0])?, Most::Size(args[1])]))
        }
        _ => None,
    }
}

/// The sizes that bound one of which nothing is known outside: itself, if straight-line code computes it; else, of the
/// number of items that a filter keeps, its axis, of what an operator makes of sizes these, and of what is one of two both.
/// None if one is neither.
fn bounds(
    vars: &IdVec<Var, VarInfo>,
    sizes: &Sizes,
    body: &Body,
    size: Var,
    own: &mut Vec<Var>,
) -> Option<()> {
    if own.contains(&size) {
        return Some(());
    }
    if slice(vars, &body.stmts, FxHashSet::from_iter([size])).is_some() {
        own.push(size);
        return Some(());
    }
    let mut of = None;
    body.for_each_stmt(&mut |s| {
        let Some(at) = s.pat.iter().position(|v| *v == size) else { return };
        of = match &s.exp {
            Exp::Filter { axis, .. } if at == 0 => Some(vec![axis.size]),
            Exp::Atom(a) => Some(vec![*a]),
            Exp::Op(_, args) => Some(args.clone()),
            Exp::If { then, otherwise, .. } => {
                Some([then, otherwise].into_iter().filter_map(|b| b.results.get(at)).copied().collect())
            }
            _ => None,
        };
    });
    let of = of?;
    let unknown = of.into_iter().filter(|a| sizes.of(*a).is_none());
    unknown.filter_map(Atom::as_var).try_for_each(|v| bounds(vars, sizes, body, v, own))
}

/// The statements that these scalars are computed by, if that is straight-line code.
fn slice(vars: &IdVec<Var, VarInfo>, stmts: &[Stmt], mut wanted: FxHashSet<Var>) -> Option<Vec<Stmt>> {
    let mut slice = Vec::new();
    let asked = wanted.clone();
    for s in stmts.iter().rev().filter(|_| !asked.is_empty()) {
        if !s.pat.iter().any(|v| wanted.contains(v)) {
            continue;
        }
        if !is_straight_line(vars, s) {
            return None;
        }
        s.exp.for_each_operand(&mut |a| wanted.extend(a.as_var()));
        s.exp.bodies().into_iter().for_each(|b| wanted.extend(b.free_vars()));
        slice.push(s.clone());
    }
    slice.reverse();
    let made = |v: &Var| slice.iter().any(|s: &Stmt| s.pat.contains(v));
    asked.iter().all(made).then_some(slice)
}

/// Whether a statement computes scalars of scalars and elements, in a branch of two perhaps, or checks them.
pub fn is_straight_line(vars: &IdVec<Var, VarInfo>, s: &Stmt) -> bool {
    let scalar = s.pat.iter().all(|v| vars.get(*v).is_some_and(|info| info.ty.is_scalar()));
    let plain = match &s.exp {
        Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. } | Exp::Check { .. } => true,
        Exp::If { then, otherwise, .. } => {
            // Which of the checks in a branch come before others nobody could tell apart from it.
            let plain = |b: &Body| b.stmts.iter().all(|s| !s.exp.can_stop() && is_straight_line(vars, s));
            plain(then) && plain(otherwise)
        }
        _ => false,
    };
    scalar && plain
}

/// What is known outside of a size made inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Its value.
    Known,
    /// An upper bound.
    Bounded,
}

/// What is known outside of the scalars bound in a piece of a program.
pub struct Sizes {
    inside: FxHashSet<Var>,
    found: FxHashMap<Var, Size>,
    /// Those of them that are never negative: numbers of items and iterations.
    counts: FxHashSet<Var>,
    /// Whether the number of an iteration counts as bounded.
    growing: bool,
    /// Whether items may be sorted by scalars.
    sorts: bool,
}

impl Sizes {
    /// Those of the bodies and of `binders` around them; nothing is known yet of what they bind.
    pub fn inside(binders: &[Var], bodies: &[&Body]) -> Sizes {
        let all = bodies.iter().flat_map(|b| b.binders()).chain(binders.iter().copied());
        Sizes {
            inside: all.collect(),
            found: FxHashMap::default(),
            counts: FxHashSet::default(),
            growing: true,
            sorts: false,
        }
    }

    fn of_row(binders: &[Var], body: &Body) -> Sizes {
        Sizes { sorts: true, ..Sizes::inside(binders, &[body]) }
    }

    pub fn of(&self, a: Atom) -> Option<Size> {
        match a {
            Atom::Var(v) if self.inside.contains(&v) => self.found.get(&v).copied(),
            _ => Some(Size::Known),
        }
    }

    /// Learns from a statement, but not from those inside it.
    pub fn learn(&mut self, s: &Stmt) {
        let size = match &s.exp {
            Exp::Atom(a) => self.of(*a),
            Exp::Op(op, args) => self.of_op(*op, args),
            Exp::Filter { axis, .. } => self.of(axis.size).map(|_| Size::Bounded),
            _ => None,
        };
        if let (Some(size), Some(v)) = (size, s.pat.first()) {
            self.found.insert(*v, size);
            match &s.exp {
                Exp::Filter { .. } => _ = self.counts.insert(*v),
                Exp::Atom(a) => self.same(*v, *a),
                _ => {}
            }
        }
    }

    /// Learns what a choice gives, when what both branches give is known. A size from outside may be one of a branch that is
    /// never taken, and far greater than the other: so that is no bound, if it is no small constant.
    fn chosen(&mut self, s: &Stmt, then: &Body, otherwise: &Body) {
        let bounded = |a: &Atom| match a.as_int() {
            Some(n) => (0..=FEW).contains(&n),
            None => self.of(*a) == Some(Size::Bounded),
        };
        let given = s.pat.iter().zip(then.results.iter().zip(&otherwise.results));
        let given: Vec<Var> = given.filter(|(_, (a, b))| bounded(a) && bounded(b)).map(|(v, _)| *v).collect();
        self.found.extend(given.into_iter().map(|v| (v, Size::Bounded)));
    }

    /// Learns what is known before the bodies of a statement: which iteration it is, of how many.
    fn enter(&mut self, s: &Stmt) {
        for axis in s.exp.axes().iter().filter(|_| self.growing) {
            if self.of(axis.size).is_some() {
                self.found.insert(axis.var, Size::Bounded);
                self.counts.insert(axis.var);
            }
        }
    }

    /// Learns what a serial combination is given: the elements, one after the other.
    fn given(&mut self, body: &Body, op: &Combine) {
        if op.assoc {
            return;
        }
        for (v, a) in op.elements(body) {
            if let Some(size) = self.of(a) {
                self.found.insert(v, size);
                self.same(v, a);
            }
        }
    }

    fn same(&mut self, v: Var, a: Atom) {
        if a.as_var().is_some_and(|a| self.counts.contains(&a)) {
            self.counts.insert(v);
        }
    }

    /// The operator of upper bounds is an upper bound only where the operator is monotone.
    fn of_op(&self, op: ScalarOp, args: &[Atom]) -> Option<Size> {
        // The lesser of two is bounded by either.
        if op == ScalarOp::Min2 && args.iter().any(|a| self.of(*a) == Some(Size::Known)) {
            let all = args.iter().all(|a| self.of(*a) == Some(Size::Known));
            return Some(if all { Size::Known } else { Size::Bounded });
        }
        let sizes: Vec<Size> = args.iter().map(|a| self.of(*a)).collect::<Option<_>>()?;
        if sizes.iter().all(|s| *s == Size::Known) {
            return Some(Size::Known);
        }
        let monotone = match (op, sizes.as_slice()) {
            (ScalarOp::Add | ScalarOp::Min2 | ScalarOp::Max2, _) => true,
            (ScalarOp::Sub, [_, Size::Known]) => true,
            (ScalarOp::Sub, [_, _]) => args[1].as_var().is_some_and(|v| self.counts.contains(&v)),
            (ScalarOp::Quotient, [_, Size::Known]) => args[1].as_int().is_some_and(|n| n > 0),
            (ScalarOp::Mul, [a, b]) => {
                let scale = if *a == Size::Known { args[0] } else { args[1] };
                a != b && scale.as_int().is_some_and(|n| n >= 0)
            }
            _ => false,
        };
        monotone.then_some(Size::Bounded)
    }
}

fn check(vars: &IdVec<Var, VarInfo>, sizes: &mut Sizes, body: &Body) -> Result<(), Illegal> {
    for s in &body.stmts {
        if let Exp::Grade { body, .. } = &s.exp {
            let scalar = |a: &Atom| a.as_var().is_none_or(|v| vars.get(v).is_some_and(|i| i.ty.is_scalar()));
            if !sizes.sorts || !body.results.iter().all(scalar) {
                return Err(Illegal::Grade);
            }
        }
        if matches!(s.exp, Exp::Join { .. }) {
            return Err(Illegal::Join);
        }
        if matches!(s.exp, Exp::Pull { .. } | Exp::Push { .. }) {
            return Err(Illegal::Channel);
        }
        sizes.learn(s);
        if let Exp::If { then, otherwise, .. } = &s.exp {
            check(vars, sizes, then)?;
            check(vars, sizes, otherwise)?;
            sizes.chosen(s, then, otherwise);
        }
        for v in s.pat.iter().filter(|_| s.exp.makes_arrays()) {
            let dims = vars.get(*v).map(|info| info.ty.dims.as_slice()).unwrap_or_default();
            if dims.iter().any(|d| sizes.of(*d).is_none()) {
                return Err(Illegal::Size(*v));
            }
        }
        sizes.enter(s);
        if matches!(s.exp, Exp::If { .. }) {
            continue;
        }
        if let Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } = &s.exp {
            check(vars, sizes, body)?;
            sizes.given(body, op);
            check(vars, sizes, &op.lambda.body)?;
            continue;
        }
        for b in s.exp.bodies() {
            check(vars, sizes, b)?;
        }
    }
    Ok(())
}

//! Order: of items of any type, and given by a function.
//!
//! Items without boxes are sorted by their elements, the keys of Mono's `grade`. Texts, vectors of characters in boxes, are
//! sorted by several characters at a time, as one number, and those that agree in them by the next ones ([`texts`]). All
//! others, and those of which a function says how they are ordered, are merged: a loop over rows of 1, 2, 4, … positions, in each of whose rounds
//! all pairs of rows become one. A round works on strips of the result, side by side. Where a strip begins in both
//! rows is found by halving (Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path", 2012), so that a round compares
//! little more often than there are items, and the sort n log n times.
//!
//! ```text
//! (grade/by f xs)  ⟶  (while ((w 1) (order 0 1 2 …)) (< w n)
//!                       lefts  = (map ((c strips)) … how much of the first row comes before strip c …)
//!                       passed = (map ((c strips)) (scan (o 32) … how much of it then comes before place o …))
//!                       (give (* 2 w) (map ((o n)) (index order … what passed on from place o …))))
//! ```

use super::Call;
use crate::build::emit::{FALSE, TRUE};
use crate::build::opaque::is_known;
use crate::build::val::{Boxed, Val};
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;

const BOOL: ArrTy = ArrTy { atom: AtomTy::BOOL, shape: Shape(Vec::new()) };
const INT: ArrTy = ArrTy { atom: AtomTy::INT, shape: Shape(Vec::new()) };

pub(super) fn grade<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (n, item_ty) = (c.count(b, 0)?, c.array(0, &[c.shape(1)?])?);
    let xs = c.arg(0)?;
    if is_text(&item_ty) {
        return texts(b, n, xs);
    }
    if !has_keys(&item_ty) {
        return merge_sort(b, n, &mut |b, x, y| {
            let (x, y) = (b.cell(xs, &[x])?, b.cell(xs, &[y])?);
            let order = compare(b, (&y, &item_ty), (&x, &item_ty))?;
            b.op(ScalarOp::Ge, &[order, Atom::int(0)])
        });
    }
    let axes = b.open_axes(&[n]);
    let item = b.cell(xs, &[Atom::Var(axes[0].var)])?;
    let mut results = b.atoms(&item)?;
    for a in &mut results {
        if b.base_of(*a) != BaseTy::Bool {
            continue;
        }
        let (flags, dims) = (*a, b.dims_of_atom(*a));
        *a = b.tabulate("key", BaseTy::I64, &dims, Vec::new(), |b, at| {
            let flag = b.index(flags, at)?;
            b.op(ScalarOp::BoolToInt, &[flag])
        })?;
    }
    let body = Body { stmts: b.close().stmts, results };
    let ty = Ty { base: BaseTy::I64, dims: vec![n] };
    Ok(Val::Base(b.bind("order", ty, Exp::Grade { axis: axes[0], body, gives: Gives::Places })?))
}

/// Whether the first different element of two items decides, field after field.
fn has_keys(item: &ArrTy) -> bool {
    match &item.atom {
        AtomTy::Base(_) => true,
        AtomTy::Tuple(q) => item.shape.is_scalar() && q.fields.iter().all(|(_, t)| has_keys(t)),
        _ => false,
    }
}

/// Whether an item is a box that hides the length of a vector of characters, and nothing else.
fn is_text(item: &ArrTy) -> bool {
    let AtomTy::Sigma(q) = &item.atom else { return false };
    let hides = |p: &IVar| match Index::from(p.clone()) {
        Index::Dim(d) => q.body.shape == Shape::of_dims([d]),
        Index::Shape(_) => false,
    };
    item.shape.is_scalar() && q.body.atom == AtomTy::CHAR && matches!(&q.params[..], [p] if hides(p))
}

pub(super) fn grade_by<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (n, before, xs) = (c.count(b, 1)?, c.arg(0)?, c.arg(1)?);
    merge_sort(b, n, &mut |b, x, y| {
        let (x, y) = (b.cell(xs, &[x])?, b.cell(xs, &[y])?);
        let first = b.call(before, vec![x.clone(), y.clone()], &BOOL)?;
        let Val::Base(first) = first else { return bug("an order that gives no bool") };
        // One that says of equal items that each goes before the other keeps them in their order, too.
        choose(
            b,
            first,
            &BOOL,
            |_| Ok(TRUE),
            |b| match b.call(before, vec![y.clone(), x.clone()], &BOOL)? {
                Val::Base(second) => b.op(ScalarOp::Not, &[second]),
                _ => bug("an order that gives no bool"),
            },
        )
    })
}

pub(super) fn before<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let ty = c.array(0, &[c.shape(0)?])?;
    if let (Val::Base(x), Val::Base(y), true) = (c.arg(0)?, c.arg(1)?, ty.shape.is_scalar()) {
        return Ok(Val::Base(less(b, *x, *y)?));
    }
    let order = compare(b, (c.arg(0)?, &ty), (c.arg(1)?, &ty))?;
    Ok(Val::Base(b.op(ScalarOp::Lt, &[order, Atom::int(0)])?))
}

/// One of two scalars of the type `ty`.
fn choose<'a>(
    b: &mut Build<'a>,
    cond: Atom,
    ty: &ArrTy,
    then: impl FnOnce(&mut Build<'a>) -> R<Atom>,
    otherwise: impl FnOnce(&mut Build<'a>) -> R<Atom>,
) -> R<Atom> {
    match b.choose(cond, ty, |b| then(b).map(Val::Base), |b| otherwise(b).map(Val::Base))? {
        Val::Base(a) => Ok(a),
        _ => bug("a scalar that is none"),
    }
}

// ---- texts -----------------------------------------------------------------------------------------------

/// The positions of texts in their order, by as many characters at a time as are a number: from the first on, which is the
/// radix sort that begins at the most significant digit (Sedgewick, *Algorithms in C++*, part 10), each round of which sorts all.
///
/// ```text
/// bits = those of the greatest character and one more, so that the end of a text goes before it
/// (while ((k 0) (order 0 1 2 …) (group 0 0 0 …)) …
///   chunk = (map ((o n)) the characters of text order[o] from k on, ⌊63 / bits⌋ of them, as a number)
///   (grade chunk), then by group; and where a place's group and chunk differ from those before it, a group begins
///   … as long as texts of one group have more characters)
/// ```
fn texts<'a>(b: &mut Build<'a>, n: Atom, xs: &Val<'a>) -> R<Val<'a>> {
    let whole = Ty { base: BaseTy::I64, dims: vec![n] };
    let ints = |b: &mut Build<'a>, name: &str, f: &mut dyn FnMut(&mut Build<'a>, Atom) -> R<Atom>| {
        b.tabulate(name, BaseTy::I64, &[n], Vec::new(), |b, at| f(b, at[0]))
    };
    // The greatest character and one more.
    let longest = ints(b, "greatest", &mut |b, i| {
        let (chars, length) = text(b, xs, i)?;
        let [most] = b.each(length, [Atom::int(0)], |b, j, [most]| {
            let code = code(b, chars, j)?;
            Ok([b.op(ScalarOp::Max2, &[most, code])?])
        })?;
        Ok(most)
    })?;
    let most = greatest(b, n, longest)?;
    let [bits, _] = until(
        b,
        [Atom::int(1), most],
        |b, [_, left]| b.op(ScalarOp::Gt, &[left, Atom::int(1)]),
        |b, [bits, left]| {
            let half = b.op(ScalarOp::Quotient, &[left, Atom::int(2)])?;
            Ok([b.op(ScalarOp::Add, &[bits, Atom::int(1)])?, half])
        },
    )?;
    let per = b.op(ScalarOp::Quotient, &[Atom::int(63), bits])?;
    b.natural.extend(per.as_var());
    let scale = b.op(ScalarOp::Shl, &[Atom::int(1), bits])?;

    let start = ints(b, "order", &mut |_, i| Ok(i))?;
    let groups = ints(b, "group", &mut |_, _| Ok(Atom::int(0)))?;
    let some = b.op(ScalarOp::Gt, &[n, Atom::int(1)])?;
    let names = |b: &mut Build<'a>| {
        let (k, goes_on) = (b.fresh("k", Ty::int()), b.fresh("goes_on", Ty::scalar(BaseTy::Bool)));
        [k, goes_on, b.fresh("order", whole.clone()), b.fresh("group", whole.clone())]
    };
    let state = names(b);
    let [k, goes_on, order, group] = state.map(Atom::Var);
    b.open();
    let chunk = ints(b, "chunk", &mut |b, o| {
        let at = b.index(order, &[o])?;
        let (chars, length) = text(b, xs, at)?;
        let [_, sum] = b.each(per, [k, Atom::int(0)], |b, _, [j, sum]| {
            let inside = b.op(ScalarOp::Lt, &[j, length])?;
            let code = choose(b, inside, &INT, |b| code(b, chars, j), |_| Ok(Atom::int(0)))?;
            let sum = b.op(ScalarOp::Mul, &[sum, scale])?;
            Ok([b.op(ScalarOp::Add, &[j, Atom::int(1)])?, b.op(ScalarOp::Add, &[sum, code])?])
        })?;
        Ok(sum)
    })?;
    // One key after the other, the last first.
    let by_key = |b: &mut Build<'a>, of: Atom, through: Option<Atom>| {
        let axes = b.open_axes(&[n]);
        let mut place = Atom::Var(axes[0].var);
        if let Some(through) = through {
            place = b.index(through, &[place])?;
        }
        let results = vec![b.index(of, &[place])?];
        let body = Body { stmts: b.close().stmts, results };
        b.bind("sorted", whole.clone(), Exp::Grade { axis: axes[0], body, gives: Gives::Places })
    };
    let by_chunk = by_key(b, chunk, None)?;
    let by_group = by_key(b, group, Some(by_chunk))?;
    let sorted = ints(b, "sorted", &mut |b, o| {
        let from = b.index(by_group, &[o])?;
        b.index(by_chunk, &[from])
    })?;
    let through = |b: &mut Build<'a>, name: &str, of: Atom| {
        ints(b, name, &mut |b, o| {
            let from = b.index(sorted, &[o])?;
            b.index(of, &[from])
        })
    };
    let (next, group, chunk) =
        (through(b, "order", order)?, through(b, "group", group)?, through(b, "chunk", chunk)?);
    let starts = ints(b, "start", &mut |b, o| {
        let before = b.op(ScalarOp::Sub, &[o, Atom::int(1)])?;
        let before = b.op(ScalarOp::Max2, &[before, Atom::int(0)])?;
        let [group, chunk] = [group, chunk].map(|of| -> R<Atom> {
            let (here, there) = (b.index(of, &[o])?, b.index(of, &[before])?);
            b.op(ScalarOp::Ne, &[here, there])
        });
        let differs = b.op(ScalarOp::Or, &[group?, chunk?])?;
        b.op(ScalarOp::Select, &[differs, o, Atom::int(0)])
    })?;
    let begins = b.scan_ints("group", n, ScalarOp::Max2, ScanKind::Inclusive, n, starts)?;
    let further = b.op(ScalarOp::Add, &[k, per])?;
    let open = ints(b, "open", &mut |b, o| {
        let at = b.index(next, &[o])?;
        let (_, length) = text(b, xs, at)?;
        let longer = b.op(ScalarOp::Gt, &[length, further])?;
        let here = b.index(begins, &[o])?;
        let behind = b.op(ScalarOp::Add, &[o, Atom::int(1)])?;
        let last = b.op(ScalarOp::Sub, &[n, Atom::int(1)])?;
        let behind = b.op(ScalarOp::Min2, &[behind, last])?;
        let there = b.index(begins, &[behind])?;
        let (follows, leads) = (b.op(ScalarOp::Ne, &[here, o])?, b.op(ScalarOp::Eq, &[there, o])?);
        let other = b.op(ScalarOp::Lt, &[o, last])?;
        let leads = b.op(ScalarOp::And, &[leads, other])?;
        let shared = b.op(ScalarOp::Or, &[follows, leads])?;
        let open = b.op(ScalarOp::And, &[longer, shared])?;
        b.op(ScalarOp::BoolToInt, &[open])
    })?;
    let any = greatest(b, n, open)?;
    let more = b.op(ScalarOp::Gt, &[any, Atom::int(0)])?;
    let body = Body { stmts: b.close().stmts, results: vec![further, more, next, begins] };
    let cond = Body { stmts: Vec::new(), results: vec![goes_on] };
    let after = names(b);
    let begin = [Atom::int(0), some, start, groups];
    let state = state.into_iter().zip(begin).collect();
    b.emit(after.to_vec(), Exp::While { state, cond, body })?;
    Ok(Val::Base(Atom::Var(after[2])))
}

/// The characters of a text, and how many they are.
fn text<'a>(b: &mut Build<'a>, xs: &Val<'a>, i: Atom) -> R<(Atom, Atom)> {
    let Val::Box(item) = b.cell(xs, &[i])? else { return bug("a text that is no box") };
    let Val::Base(chars) = item.contents else { return bug("a text that is no array") };
    Ok((chars, b.dims_of_atom(chars)[0]))
}

/// The character there as a number from 1 on.
fn code(b: &mut Build<'_>, chars: Atom, at: Atom) -> R<Atom> {
    let c = b.index(chars, &[at])?;
    let code = b.op(ScalarOp::CharToInt, &[c])?;
    b.op(ScalarOp::Add, &[code, Atom::int(1)])
}

/// The greatest of `n` numbers, none of which is negative; 0 of none.
fn greatest(b: &mut Build<'_>, n: Atom, xs: Atom) -> R<Atom> {
    let axes = b.open_axes(&[n]);
    let x = b.index(xs, &[Atom::Var(axes[0].var)])?;
    let body = Body { stmts: b.close().stmts, results: vec![x] };
    let params = vec![b.fresh("x", Ty::int()), b.fresh("y", Ty::int())];
    b.open();
    let most = b.op(ScalarOp::Max2, &[Atom::Var(params[0]), Atom::Var(params[1])])?;
    let lambda = Lambda { params, body: Body { stmts: b.close().stmts, results: vec![most] } };
    let op = Combine { lambda, start: Some(vec![Atom::int(0)]), assoc: true, alone: false };
    b.bind("greatest", Ty::int(), Exp::Reduce { axis: axes[0], body, op })
}

// ---- merging ---------------------------------------------------------------------------------------------

/// So many places of the result are merged one after the other. The interpreter has the same strips.
const STRIP: i64 = 32;

/// Whether the first position, which came before the second so far, stays before it.
type Stays<'f, 'a> = &'f mut dyn FnMut(&mut Build<'a>, Atom, Atom) -> R<Atom>;

/// The positions below `n` in a stable order.
fn merge_sort<'a>(b: &mut Build<'a>, n: Atom, stays: Stays<'_, 'a>) -> R<Val<'a>> {
    let whole = Ty { base: BaseTy::I64, dims: vec![n] };
    let start = b.tabulate("order", BaseTy::I64, &[n], Vec::new(), |_, at| Ok(at[0]))?;
    let most = b.op(ScalarOp::Add, &[n, Atom::int(STRIP - 1)])?;
    let strips = b.op(ScalarOp::Quotient, &[most, Atom::int(STRIP)])?;
    b.natural.extend(strips.as_var());
    let (width, order) = (b.fresh("width", Ty::int()), b.fresh("order", whole.clone()));
    b.open();
    let more = b.op(ScalarOp::Lt, &[width.into(), n])?;
    let cond = Body { stmts: b.close().stmts, results: vec![more] };
    b.open();
    let round = Round { n, strips, width: width.into(), order: order.into() };
    let merged = round.merged(b, stays)?;
    let twice = b.op(ScalarOp::Add, &[width.into(), width.into()])?;
    let body = Body { stmts: b.close().stmts, results: vec![twice, merged] };
    let after = vec![b.fresh("width", Ty::int()), b.fresh("order", whole)];
    let sorted = Atom::Var(after[1]);
    b.emit(after, Exp::While { state: vec![(width, Atom::int(1)), (order, start)], cond, body })?;
    Ok(Val::Base(sorted))
}

/// A round: rows of `width` positions in `order` are merged in pairs.
struct Round {
    n: Atom,
    strips: Atom,
    width: Atom,
    order: Atom,
}

/// A pair of rows: where the first begins and ends, and where the second ends.
#[derive(Clone, Copy)]
struct Pair {
    start: Atom,
    middle: Atom,
    end: Atom,
}

impl Round {
    /// The pair that has place `o`.
    fn pair<'a>(&self, b: &mut Build<'a>, o: Atom) -> R<Pair> {
        let two = b.op(ScalarOp::Add, &[self.width, self.width])?;
        let mask = b.op(ScalarOp::Negate, &[two])?;
        let start = b.op(ScalarOp::BitAnd, &[o, mask])?;
        let middle = b.op(ScalarOp::Add, &[start, self.width])?;
        let middle = b.op(ScalarOp::Min2, &[middle, self.n])?;
        let end = b.op(ScalarOp::Add, &[start, two])?;
        let end = b.op(ScalarOp::Min2, &[end, self.n])?;
        Ok(Pair { start, middle, end })
    }

    fn per_strip<'a>(
        &self,
        b: &mut Build<'a>,
        name: &str,
        cell: Vec<Atom>,
        f: impl FnOnce(&mut Build<'a>, Atom, Atom) -> R<Atom>,
    ) -> R<Atom> {
        b.tabulate(name, BaseTy::I64, &[self.strips], cell, |b, at| {
            let place = b.op(ScalarOp::Mul, &[at[0], Atom::int(STRIP)])?;
            f(b, at[0], place)
        })
    }

    fn merged<'a>(&self, b: &mut Build<'a>, stays: Stays<'_, 'a>) -> R<Atom> {
        let lefts = self.lefts(b, stays)?;
        let strip = vec![Atom::int(STRIP)];
        let passed =
            self.per_strip(b, "passed", strip, |b, c, place| self.strip(b, lefts, (c, place), stays))?;
        b.tabulate("order", BaseTy::I64, &[self.n], Vec::new(), |b, at| {
            let o = at[0];
            let Pair { start, middle, .. } = self.pair(b, o)?;
            let c = b.op(ScalarOp::Quotient, &[o, Atom::int(STRIP)])?;
            let j = b.op(ScalarOp::BitAnd, &[o, Atom::int(STRIP - 1)])?;
            // How much of the first row has passed before this place, and after it.
            let at_first = b.index(lefts, &[c])?;
            let last = b.op(ScalarOp::Sub, &[j, Atom::int(1)])?;
            let last = b.op(ScalarOp::Max2, &[last, Atom::int(0)])?;
            let before = b.index(passed, &[c, last])?;
            let first = b.op(ScalarOp::Eq, &[j, Atom::int(0)])?;
            let before = b.op(ScalarOp::Select, &[first, at_first, before])?;
            let begins = b.op(ScalarOp::Eq, &[o, start])?;
            let before = b.op(ScalarOp::Select, &[begins, start, before])?;
            let after = b.index(passed, &[c, j])?;
            let right = b.op(ScalarOp::Add, &[middle, o])?;
            let right = b.op(ScalarOp::Sub, &[right, before])?;
            let is_left = b.op(ScalarOp::Ne, &[after, before])?;
            let from = b.op(ScalarOp::Select, &[is_left, before, right])?;
            b.index(self.order, &[from])
        })
    }

    /// Where each strip begins in the first row of its pair. Where an order contradicts itself, what is found is moved
    /// so that no strip begins before the one that precedes it, in either row.
    fn lefts<'a>(&self, b: &mut Build<'a>, stays: Stays<'_, 'a>) -> R<Atom> {
        let found = self.per_strip(b, "left", Vec::new(), |b, _, place| self.halved(b, place, stays))?;
        let max = |b: &mut Build<'a>, xs| {
            b.scan_ints("left", self.strips, ScalarOp::Max2, ScanKind::Inclusive, self.strips, xs)
        };
        // In one row and in the other: the sum of both is that of the place and the start of the pair.
        let other = |b: &mut Build<'a>, lefts: Atom| {
            self.per_strip(b, "left", Vec::new(), |b, c, place| {
                let Pair { start, .. } = self.pair(b, place)?;
                let sum = b.op(ScalarOp::Add, &[place, start])?;
                let left = b.index(lefts, &[c])?;
                b.op(ScalarOp::Sub, &[sum, left])
            })
        };
        let found = max(b, found)?;
        let rights = other(b, found)?;
        let rights = max(b, rights)?;
        other(b, rights)
    }

    /// Where a strip begins in the first row.
    fn halved<'a>(&self, b: &mut Build<'a>, place: Atom, stays: Stays<'_, 'a>) -> R<Atom> {
        let Pair { start, middle, end } = self.pair(b, place)?;
        let done = b.op(ScalarOp::Sub, &[place, start])?;
        let second = b.op(ScalarOp::Sub, &[end, middle])?;
        let low = b.op(ScalarOp::Sub, &[done, second])?;
        let low = b.op(ScalarOp::Max2, &[low, Atom::int(0)])?;
        let first = b.op(ScalarOp::Sub, &[middle, start])?;
        let high = b.op(ScalarOp::Min2, &[done, first])?;
        let [low, _] = until(
            b,
            [low, high],
            |b, [low, high]| b.op(ScalarOp::Lt, &[low, high]),
            |b, [low, high]| {
                let sum = b.op(ScalarOp::Add, &[low, high])?;
                let half = b.op(ScalarOp::Quotient, &[sum, Atom::int(2)])?;
                let more = b.op(ScalarOp::Add, &[half, Atom::int(1)])?;
                let left = b.op(ScalarOp::Add, &[start, half])?;
                let right = b.op(ScalarOp::Add, &[middle, done])?;
                let right = b.op(ScalarOp::Sub, &[right, more])?;
                let (x, y) = (b.index(self.order, &[left])?, b.index(self.order, &[right])?);
                let stays = stays(b, x, y)?;
                Ok([
                    b.op(ScalarOp::Select, &[stays, more, low])?,
                    b.op(ScalarOp::Select, &[stays, high, half])?,
                ])
            },
        )?;
        b.op(ScalarOp::Add, &[start, low])
    }

    /// How much of the first row has passed after each place of a strip.
    fn strip<'a>(
        &self,
        b: &mut Build<'a>,
        lefts: Atom,
        (c, place): (Atom, Atom),
        stays: Stays<'_, 'a>,
    ) -> R<Atom> {
        // It stops where the next one of the same pair begins.
        let next = b.op(ScalarOp::Add, &[place, Atom::int(STRIP)])?;
        let two = b.op(ScalarOp::Add, &[self.width, self.width])?;
        let mask = b.op(ScalarOp::Sub, &[two, Atom::int(1)])?;
        let into = b.op(ScalarOp::BitAnd, &[next, mask])?;
        let into = b.op(ScalarOp::Ne, &[into, Atom::int(0)])?;
        let goes_on = b.op(ScalarOp::Lt, &[next, self.n])?;
        let shared = b.op(ScalarOp::And, &[goes_on, into])?;
        let last = b.op(ScalarOp::Sub, &[self.strips, Atom::int(1)])?;
        let following = b.op(ScalarOp::Add, &[c, Atom::int(1)])?;
        let following = b.op(ScalarOp::Min2, &[following, last])?;
        let following = b.index(lefts, &[following])?;
        let first = b.index(lefts, &[c])?;

        let axes = b.open_axes(&[Atom::int(STRIP)]);
        let o = b.op(ScalarOp::Add, &[place, Atom::Var(axes[0].var)])?;
        let body = Body { stmts: b.close().stmts, results: vec![o] };
        let params = vec![b.fresh("left", Ty::int()), b.fresh("o", Ty::int())];
        let (left, o) = (Atom::Var(params[0]), Atom::Var(params[1]));
        b.open();
        let Pair { start, middle, end } = self.pair(b, o)?;
        let begins = b.op(ScalarOp::Eq, &[o, start])?;
        let left = b.op(ScalarOp::Select, &[begins, start, left])?;
        let right = b.op(ScalarOp::Add, &[middle, o])?;
        let right = b.op(ScalarOp::Sub, &[right, left])?;
        let left_end = b.op(ScalarOp::Select, &[shared, following, middle])?;
        let right_end = b.op(ScalarOp::Add, &[middle, next])?;
        let right_end = b.op(ScalarOp::Sub, &[right_end, following])?;
        let right_end = b.op(ScalarOp::Select, &[shared, right_end, end])?;
        let some_left = b.op(ScalarOp::Lt, &[left, left_end])?;
        let some_right = b.op(ScalarOp::Lt, &[right, right_end])?;
        let inside = b.op(ScalarOp::Lt, &[o, self.n])?;
        let both = b.all(&[inside, some_left, some_right])?;
        let takes_left = choose(
            b,
            both,
            &BOOL,
            |b| {
                let (x, y) = (b.index(self.order, &[left])?, b.index(self.order, &[right])?);
                stays(b, x, y)
            },
            |_| Ok(some_left),
        )?;
        let more = b.op(ScalarOp::Add, &[left, Atom::int(1)])?;
        let passed = b.op(ScalarOp::Select, &[takes_left, more, left])?;
        let lambda = Lambda { params, body: Body { stmts: b.close().stmts, results: vec![passed] } };
        let op = Combine { lambda, start: Some(vec![first]), assoc: false, alone: false };
        let ty = Ty { base: BaseTy::I64, dims: vec![Atom::int(STRIP)] };
        b.bind("passed", ty, Exp::Scan { kind: ScanKind::Inclusive, axis: axes[0], body, op })
    }
}

/// A loop over scalars, as long as `cond` holds of them.
fn until<'a, const K: usize>(
    b: &mut Build<'a>,
    start: [Atom; K],
    cond: impl FnOnce(&mut Build<'a>, [Atom; K]) -> R<Atom>,
    next: impl FnOnce(&mut Build<'a>, [Atom; K]) -> R<[Atom; K]>,
) -> R<[Atom; K]> {
    let vars = |b: &mut Build<'a>| start.map(|a| (b.fresh("p", Ty::scalar(b.base_of(a))), a));
    let state = vars(b);
    let here = state.map(|(v, _)| Atom::Var(v));
    b.open();
    let goes_on = cond(b, here)?;
    let cond = Body { stmts: b.close().stmts, results: vec![goes_on] };
    b.open();
    let after = next(b, here)?;
    let body = Body { stmts: b.close().stmts, results: after.to_vec() };
    let done = vars(b).map(|(v, _)| v);
    b.emit(done.to_vec(), Exp::While { state: state.to_vec(), cond, body })?;
    Ok(done.map(Atom::Var))
}

// ---- comparison ------------------------------------------------------------------------------------------

/// A value and its closed type.
type Of<'v, 'a> = (&'v Val<'a>, &'v ArrTy);

/// Whether a scalar goes before another: `nan` is last, and both zeros are one.
fn less(b: &mut Build<'_>, x: Atom, y: Atom) -> R<Atom> {
    match b.base_of(x) {
        BaseTy::Char => b.op(ScalarOp::CharLt, &[x, y]),
        BaseTy::Bool => {
            let not = b.op(ScalarOp::Not, &[x])?;
            b.op(ScalarOp::And, &[not, y])
        }
        base if base.is_float() => {
            let less = b.op(ScalarOp::Lt, &[x, y])?;
            let (last, number) = (b.op(ScalarOp::Ne, &[y, y])?, b.op(ScalarOp::Eq, &[x, x])?);
            let last = b.op(ScalarOp::And, &[last, number])?;
            b.op(ScalarOp::Or, &[less, last])
        }
        _ => b.op(ScalarOp::Lt, &[x, y]),
    }
}

/// -1, 0 or 1, as a scalar goes before another, is equal to it, or goes after it.
fn sign(b: &mut Build<'_>, x: Atom, y: Atom) -> R<Atom> {
    let (less, more) = (less(b, x, y)?, less(b, y, x)?);
    let rest = b.op(ScalarOp::Select, &[more, Atom::int(1), Atom::int(0)])?;
    b.op(ScalarOp::Select, &[less, Atom::int(-1), rest])
}

/// The same of all values, as the interpreter has it: arrays as lists of their items, tuples field by field, boxes by
/// their contents and then what they hide.
fn compare<'a>(b: &mut Build<'a>, (x, x_ty): Of<'_, 'a>, (y, y_ty): Of<'_, 'a>) -> R<Atom> {
    if !(x_ty.shape.is_scalar() && y_ty.shape.is_scalar()) {
        return arrays(b, (x, x_ty), (y, y_ty));
    }
    match (x, y, &x_ty.atom, &y_ty.atom) {
        (Val::Base(x), Val::Base(y), ..) => sign(b, *x, *y),
        (
            Val::Tuple { fields: xs, .. },
            Val::Tuple { fields: ys, .. },
            AtomTy::Tuple(p),
            AtomTy::Tuple(q),
        ) => {
            let types = p.fields.iter().zip(&q.fields);
            let all = xs.iter().zip(ys.iter()).zip(types);
            all.into_iter().try_fold(Atom::int(0), |order, ((x, y), ((_, t), (_, u)))| {
                then(b, order, |b| compare(b, (x, t), (y, u)))
            })
        }
        (Val::Box(x), Val::Box(y), ..) => boxes(b, x, y),
        (Val::Fns { .. }, Val::Fns { .. }, ..) => Ok(Atom::int(0)),
        _ => bug("values of two types are compared"),
    }
}

/// What was found, or where that is 0, what else is.
fn then<'a>(b: &mut Build<'a>, order: Atom, next: impl FnOnce(&mut Build<'a>) -> R<Atom>) -> R<Atom> {
    let equal = b.equal(order, Atom::int(0))?;
    choose(b, equal, &INT, next, |_| Ok(order))
}

fn boxes<'a>(b: &mut Build<'a>, x: &Boxed<'a>, y: &Boxed<'a>) -> R<Atom> {
    let (AtomTy::Sigma(p), AtomTy::Sigma(q)) = (&x.ty, &y.ty) else { return bug("boxes that are none") };
    let contents = |q: &SigmaTy, witnesses: &[Index]| {
        let mut subst = Subst::new();
        q.params.iter().zip(witnesses).for_each(|(p, w)| subst.bind_index(p, w.clone()));
        subst.arr(&q.body)
    };
    let (x_ty, y_ty) = (contents(p, &x.witnesses), contents(q, &y.witnesses));
    let mut order = compare(b, (&x.contents, &x_ty), (&y.contents, &y_ty))?;
    for (p, (v, w)) in p.params.iter().zip(x.witnesses.iter().zip(&y.witnesses)) {
        // Contents of other shapes differ already.
        let shown = match Index::from(p.clone()) {
            Index::Dim(d) => ShapeItem::Dim(d),
            Index::Shape(s) => s.items()[0].clone(),
        };
        if !q.body.shape.items().contains(&shown) {
            order = then(b, order, |b| indices(b, v, w))?;
        }
    }
    Ok(order)
}

/// What two boxes hide: the lesser dim; of shapes, the first different one, or the shorter.
fn indices<'a>(b: &mut Build<'a>, v: &Index, w: &Index) -> R<Atom> {
    match (v, w) {
        (Index::Dim(v), Index::Dim(w)) => {
            let (v, w) = (b.size(v)?, b.size(w)?);
            sign(b, v, w)
        }
        (Index::Shape(v), Index::Shape(w)) => {
            let (m, n) = (b.rank(v)?, b.rank(w)?);
            let (v, w) = (b.dims_vector(v)?, b.dims_vector(w)?);
            let count = b.op(ScalarOp::Min2, &[m, n])?;
            let order = first_difference(b, count, |b, i| {
                let (x, y) = (b.index(v, &[i])?, b.index(w, &[i])?);
                sign(b, x, y)
            })?;
            then(b, order, |b| sign(b, m, n))
        }
        _ => bug("a dim in the place of a shape"),
    }
}

fn arrays<'a>(b: &mut Build<'a>, (x, x_ty): Of<'_, 'a>, (y, y_ty): Of<'_, 'a>) -> R<Atom> {
    let (common, rest) = met(b, &x_ty.shape, &y_ty.shape)?;
    let (x_dims, y_dims) = (b.dims_of(x), b.dims_of(y));
    let (t, u) = (ArrTy::scalar(x_ty.atom.clone()), ArrTy::scalar(y_ty.atom.clone()));
    let order = first_difference(b, common, |b, p| {
        let (at_x, at_y) = (unravelled(b, p, &x_dims)?, unravelled(b, p, &y_dims)?);
        let (x, y) = (b.cell(x, &at_x)?, b.cell(y, &at_y)?);
        compare(b, (&x, &t), (&y, &u))
    })?;
    then(b, order, |_| Ok(rest))
}

/// The first of `count` comparisons that is not 0, or 0.
fn first_difference<'a>(
    b: &mut Build<'a>,
    count: Atom,
    compare: impl FnOnce(&mut Build<'a>, Atom) -> R<Atom>,
) -> R<Atom> {
    let goes_on = |b: &mut Build<'a>, [p, order]: [Atom; 2]| {
        let (more, equal) = (b.op(ScalarOp::Lt, &[p, count])?, b.op(ScalarOp::Eq, &[order, Atom::int(0)])?);
        b.op(ScalarOp::And, &[more, equal])
    };
    let [_, order] = until(b, [Atom::int(0), Atom::int(0)], goes_on, |b, [p, _]| {
        let order = compare(b, p)?;
        Ok([b.op(ScalarOp::Add, &[p, Atom::int(1)])?, order])
    })?;
    Ok(order)
}

/// The index vector of a position in row-major order.
fn unravelled(b: &mut Build<'_>, p: Atom, dims: &[Atom]) -> R<Vec<Atom>> {
    let mut at = vec![p; dims.len()];
    let mut rest = p;
    for k in (1..dims.len()).rev() {
        at[k] = b.op(ScalarOp::Modulo, &[rest, dims[k]])?;
        rest = b.op(ScalarOp::Quotient, &[rest, dims[k]])?;
    }
    if let Some(first) = at.first_mut() {
        *first = rest;
    }
    Ok(at)
}

/// How many elements two arrays of these shapes have at the same places before one of them is at the end of a row, and
/// how they compare if those are equal: see the interpreter's `arrays`.
fn met(b: &mut Build<'_>, s: &Shape, t: &Shape) -> R<(Atom, Atom)> {
    let (some, others) = (b.sizes(s)?, b.sizes(t)?);
    let (some, others) = (b.product(&some)?, b.product(&others)?);
    if s == t {
        return Ok((some, Atom::int(0)));
    }
    let (m, n) = (b.rank(s)?, b.rank(t)?);
    let start = [FALSE, Atom::int(1), some, Atom::int(0)];
    let [_, _, common, rest] = if is_known(s) && is_known(t) {
        let (s, t) = (b.sizes(s)?, b.sizes(t)?);
        s.iter().zip(&t).rev().try_fold(start, |state, (x, y)| axis(b, state, *x, *y))?
    } else {
        let (s, t) = (b.dims_vector(s)?, b.dims_vector(t)?);
        let least = b.op(ScalarOp::Min2, &[m, n])?;
        b.each(least, start, |b, j, state| {
            let k = b.op(ScalarOp::Sub, &[least, j])?;
            let k = b.op(ScalarOp::Sub, &[k, Atom::int(1)])?;
            let (x, y) = (b.index(s, &[k])?, b.index(t, &[k])?);
            axis(b, state, x, y)
        })?
    };
    // Nothing goes before something, and fewer axes before more.
    let (x, y) = (b.op(ScalarOp::Gt, &[some, Atom::int(0)])?, b.op(ScalarOp::Gt, &[others, Atom::int(0)])?);
    let (full, alike) = (b.op(ScalarOp::And, &[x, y])?, b.op(ScalarOp::Eq, &[x, y])?);
    let common = b.op(ScalarOp::Select, &[full, common, Atom::int(0)])?;
    let emptier = b.op(ScalarOp::Select, &[x, Atom::int(1), Atom::int(-1)])?;
    let rest = b.op(ScalarOp::Select, &[alike, rest, emptier])?;
    let same_rank = b.equal(m, n)?;
    let common = b.op(ScalarOp::Select, &[same_rank, common, Atom::int(0)])?;
    let ranks = sign(b, m, n)?;
    Ok((common, b.op(ScalarOp::Select, &[same_rank, rest, ranks])?))
}

/// One axis, from the last to the first: whether a different one was met, how many elements there are in each place
/// of the axes before, and the results so far.
fn axis(b: &mut Build<'_>, [met, inner, common, rest]: [Atom; 4], x: Atom, y: Atom) -> R<[Atom; 4]> {
    let same = b.equal(x, y)?;
    let settled = b.op(ScalarOp::Or, &[met, same])?;
    let shorter = b.op(ScalarOp::Min2, &[x, y])?;
    let shorter = b.op(ScalarOp::Mul, &[shorter, inner])?;
    let order = sign(b, x, y)?;
    let differs = b.op(ScalarOp::Not, &[same])?;
    Ok([
        b.op(ScalarOp::Or, &[met, differs])?,
        b.op(ScalarOp::Mul, &[inner, x])?,
        b.op(ScalarOp::Select, &[settled, common, shorter])?,
        b.op(ScalarOp::Select, &[settled, rest, order])?,
    ])
}

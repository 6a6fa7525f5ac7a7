//! Texts in their order, by as many characters at a time as are a number. Characters are small numbers of any type.
//!
//! The radix sort that begins at the most significant digit (Sedgewick, *Algorithms in C++*, part 10), where a digit is a
//! chunk of ⌊63 / bits⌋ characters, and all groups are sorted at once. Only places are sorted on that are open: in a group of
//! several texts that agreed so far and have more characters. So a few long texts that agree cost what they have themselves.
//!
//! ```text
//! bits = those of the greatest character and one more, so that the end of a text goes before it
//! (while ((k 0) (m n) (order 0 1 2 …) (open 0 1 2 …) (group 0 0 0 …)) (> m 0)
//!   item  = (map ((o m)) (index order (index open o)))
//!   chunk = (map ((o m)) the characters of text item[o] from k on, as a number)
//!   from  = (grade chunk), then by group; what moves stays inside of its group's places, order = (scatter … open item[from])
//!   a group begins where the group or the chunk differs from the one before
//!   (filter ((o m)) those of several texts, which have more characters …))
//! ```
//!
//! Texts of one group agree in their chunks, where an end is a character, too: either all of them have more or none has, and
//! a group stays whole until it is closed.

use super::{INT, choose, until};
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;

/// How characters become numbers.
struct Packing {
    /// 2^bits.
    scale: Atom,
    /// How many characters are a number.
    per: Atom,
}

/// The positions of `n` texts in their order.
pub fn grade<'a>(b: &mut Build<'a>, n: Atom, xs: &Val<'a>) -> R<Val<'a>> {
    let packing = packing(b, n, xs)?;
    let places = ints(b, "place", n, |_, i| Ok(i))?;
    let groups = ints(b, "group", n, |_, _| Ok(Atom::int(0)))?;
    let some = b.op(ScalarOp::Gt, &[n, Atom::int(1)])?;
    let begin = b.op(ScalarOp::Select, &[some, n, Atom::int(0)])?;

    let state = State::fresh(b, n);
    let here = state.map(Atom::Var);
    b.open();
    let more = b.op(ScalarOp::Gt, &[here.m, Atom::int(0)])?;
    let cond = Body { stmts: b.close().stmts, results: vec![more] };
    b.open();
    let next = round(b, &packing, n, xs, &here)?;
    let body = Body { stmts: b.close().stmts, results: next.all().to_vec() };
    let after = State::fresh(b, n);
    let begin = State { k: Atom::int(0), m: begin, order: places, open: places, group: groups };
    let state = state.all().into_iter().zip(begin.all()).collect();
    b.emit(after.all().to_vec(), Exp::While { state, cond, body })?;
    Ok(Val::Base(after.order.into()))
}

/// Of one round. The vectors have `n` places, of which `open` and `group` use the first `m`.
#[derive(Clone, Copy)]
struct State<T> {
    /// How many characters have been looked at.
    k: T,
    /// How many places are open.
    m: T,
    order: T,
    /// The open places, in their order.
    open: T,
    /// For each of them, a number that its group has alone, and that grows.
    group: T,
}

impl<T: Copy> State<T> {
    fn all(&self) -> [T; 5] {
        [self.k, self.m, self.order, self.open, self.group]
    }

    fn map<U>(&self, f: impl Fn(T) -> U) -> State<U> {
        let [k, m, order, open, group] = self.all().map(f);
        State { k, m, order, open, group }
    }
}

impl State<Var> {
    fn fresh(b: &mut Build<'_>, n: Atom) -> State<Var> {
        let whole = Ty { base: BaseTy::I64, dims: vec![n] };
        State {
            k: b.fresh("k", Ty::int()),
            m: b.fresh_size("m"),
            order: b.fresh("order", whole.clone()),
            open: b.fresh("open", whole.clone()),
            group: b.fresh("group", whole),
        }
    }
}

fn round<'a>(
    b: &mut Build<'a>,
    packing: &Packing,
    n: Atom,
    xs: &Val<'a>,
    here: &State<Atom>,
) -> R<State<Atom>> {
    let State { k, m, order, open, group } = *here;
    let item = ints(b, "item", m, |b, o| through(b, &[order, open], o))?;
    let chunk = ints(b, "chunk", m, |b, o| {
        let i = b.index(item, &[o])?;
        let text = text(b, xs, i)?;
        packing.chunk(b, text, k)
    })?;
    // One key after the other, the last first.
    let by_chunk = sorted(b, m, |b, o| b.index(chunk, &[o]))?;
    let by_group = sorted(b, m, |b, o| through(b, &[group, by_chunk], o))?;
    let from = ints(b, "from", m, |b, o| through(b, &[by_chunk, by_group], o))?;
    let moved = ints(b, "moved", m, |b, o| through(b, &[item, from], o))?;
    let order = write(b, n, order, m, |b, o| Ok((b.index(open, &[o])?, b.index(moved, &[o])?)))?;

    let starts = ints(b, "start", m, |b, o| {
        let before = b.op(ScalarOp::Sub, &[o, Atom::int(1)])?;
        let before = b.op(ScalarOp::Max2, &[before, Atom::int(0)])?;
        let mut differs = |of: Atom| {
            let (here, there) = (through(b, &[of, from], o)?, through(b, &[of, from], before)?);
            b.op(ScalarOp::Ne, &[here, there])
        };
        let (groups, chunks) = (differs(group)?, differs(chunk)?);
        let differs = b.op(ScalarOp::Or, &[groups, chunks])?;
        b.op(ScalarOp::Select, &[differs, o, Atom::int(0)])
    })?;
    let begins = b.scan_ints("group", m, ScalarOp::Max2, ScanKind::Inclusive, m, starts)?;
    let k = b.op(ScalarOp::Add, &[k, packing.per])?;

    let axes = b.open_axes(&[m]);
    let o = Atom::Var(axes[0].var);
    let i = b.index(moved, &[o])?;
    let (_, length) = text(b, xs, i)?;
    let longer = b.op(ScalarOp::Ge, &[length, k])?;
    let several = shared(b, begins, m, o)?;
    let keep = b.op(ScalarOp::And, &[longer, several])?;
    let results = vec![keep, b.index(open, &[o])?, b.index(begins, &[o])?];
    let body = Body { stmts: b.close().stmts, results };
    let left = b.fresh_size("m");
    let kept = Ty { base: BaseTy::I64, dims: vec![left.into()] };
    let (still, groups) = (b.fresh("open", kept.clone()), b.fresh("group", kept));
    b.emit(vec![left, still, groups], Exp::Filter { axis: axes[0], body })?;
    let m = Atom::Var(left);
    let open = write(b, n, open, m, |b, o| Ok((o, b.index(still.into(), &[o])?)))?;
    let group = write(b, n, group, m, |b, o| Ok((o, b.index(groups.into(), &[o])?)))?;
    Ok(State { k, m, order, open, group })
}

/// Whether another of `m` places has the group of place `o`; `begins` is, for each, where its group begins.
fn shared(b: &mut Build<'_>, begins: Atom, m: Atom, o: Atom) -> R<Atom> {
    let last = b.op(ScalarOp::Sub, &[m, Atom::int(1)])?;
    let behind = b.op(ScalarOp::Add, &[o, Atom::int(1)])?;
    let behind = b.op(ScalarOp::Min2, &[behind, last])?;
    let (here, there) = (b.index(begins, &[o])?, b.index(begins, &[behind])?);
    let follows = b.op(ScalarOp::Ne, &[here, o])?;
    let (alike, other) = (b.op(ScalarOp::Eq, &[here, there])?, b.op(ScalarOp::Lt, &[o, last])?);
    let leads = b.op(ScalarOp::And, &[alike, other])?;
    b.op(ScalarOp::Or, &[follows, leads])
}

// ---- characters as numbers -------------------------------------------------------------------------------

fn packing<'a>(b: &mut Build<'a>, n: Atom, xs: &Val<'a>) -> R<Packing> {
    let codes = ints(b, "greatest", n, |b, i| {
        let (chars, length) = text(b, xs, i)?;
        let [most] = b.each(length, [Atom::int(0)], |b, j, [most]| {
            let code = code(b, chars, j)?;
            Ok([b.op(ScalarOp::Max2, &[most, code])?])
        })?;
        Ok(most)
    })?;
    let most = greatest(b, n, codes)?;
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
    Ok(Packing { scale: b.op(ScalarOp::Shl, &[Atom::int(1), bits])?, per })
}

impl Packing {
    /// The characters of a text from `k` on.
    fn chunk<'a>(&self, b: &mut Build<'a>, (chars, length): (Atom, Atom), k: Atom) -> R<Atom> {
        let [_, sum] = b.each(self.per, [k, Atom::int(0)], |b, _, [j, sum]| {
            let inside = b.op(ScalarOp::Lt, &[j, length])?;
            let code = choose(b, inside, &INT, |b| code(b, chars, j), |_| Ok(Atom::int(0)))?;
            let sum = b.op(ScalarOp::Mul, &[sum, self.scale])?;
            Ok([b.op(ScalarOp::Add, &[j, Atom::int(1)])?, b.op(ScalarOp::Add, &[sum, code])?])
        })?;
        Ok(sum)
    }
}

/// The characters of a text, and how many they are.
fn text<'a>(b: &mut Build<'a>, xs: &Val<'a>, i: Atom) -> R<(Atom, Atom)> {
    let Val::Box(item) = b.cell(xs, &[i])? else { return bug("a text that is no box") };
    let Val::Base(chars) = item.contents else { return bug("a text that is no array") };
    Ok((chars, b.dims_of_atom(chars)[0]))
}

/// The least number of a type whose numbers are few enough to be characters.
pub fn least(ty: BaseTy) -> Option<i64> {
    match ty {
        BaseTy::Bool | BaseTy::Char | BaseTy::U8 | BaseTy::U16 | BaseTy::U32 => Some(0),
        BaseTy::I8 => Some(i8::MIN.into()),
        BaseTy::I16 => Some(i16::MIN.into()),
        BaseTy::I32 | BaseTy::I64 | BaseTy::U64 | BaseTy::F16 | BaseTy::F32 | BaseTy::F64 => None,
    }
}

/// The character there as a number from 1 on.
fn code(b: &mut Build<'_>, chars: Atom, at: Atom) -> R<Atom> {
    let c = b.index(chars, &[at])?;
    let ty = b.base_of(c);
    let code = match ty {
        BaseTy::Char => b.op(ScalarOp::CharToInt, &[c])?,
        BaseTy::Bool => b.op(ScalarOp::BoolToInt, &[c])?,
        _ => b.cast(BaseTy::I64, c)?,
    };
    let Some(least) = least(ty) else { return bug(format!("characters of type {ty}")) };
    b.op(ScalarOp::Add, &[code, Atom::int(1 - least)])
}

// ---- vectors of numbers ----------------------------------------------------------------------------------

fn ints<'a>(
    b: &mut Build<'a>,
    name: &str,
    n: Atom,
    f: impl FnOnce(&mut Build<'a>, Atom) -> R<Atom>,
) -> R<Atom> {
    b.tabulate(name, BaseTy::I64, &[n], Vec::new(), |b, at| f(b, at[0]))
}

/// An item of the first vector, whose place the others say, the last of them at place `o`.
fn through(b: &mut Build<'_>, vectors: &[Atom], o: Atom) -> R<Atom> {
    vectors.iter().rev().try_fold(o, |at, v| b.index(*v, &[at]))
}

/// The places below `n` in the order of a key.
fn sorted<'a>(b: &mut Build<'a>, n: Atom, key: impl FnOnce(&mut Build<'a>, Atom) -> R<Atom>) -> R<Atom> {
    let axes = b.open_axes(&[n]);
    let key = key(b, Atom::Var(axes[0].var))?;
    let body = Body { stmts: b.close().stmts, results: vec![key] };
    let ty = Ty { base: BaseTy::I64, dims: vec![n] };
    b.bind("sorted", ty, Exp::Grade { axis: axes[0], body, gives: Gives::Places })
}

/// A vector of `n` with what `f` says of each `o` below `m`: where something is put, and what.
fn write<'a>(
    b: &mut Build<'a>,
    n: Atom,
    dest: Atom,
    m: Atom,
    f: impl FnOnce(&mut Build<'a>, Atom) -> R<(Atom, Atom)>,
) -> R<Atom> {
    let Atom::Var(dest) = dest else { return bug("a vector that is none") };
    let axes = b.open_axes(&[m]);
    let (place, item) = f(b, Atom::Var(axes[0].var))?;
    let body = Body { stmts: b.close().stmts, results: vec![place, item] };
    let ty = Ty { base: BaseTy::I64, dims: vec![n] };
    b.bind("written", ty, Exp::Scatter { dests: vec![dest], axis: axes[0], body, combine: None })
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

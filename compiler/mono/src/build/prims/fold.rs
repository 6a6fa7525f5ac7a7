//! Reductions, scans, folds and iteration.

use super::{Call, halves};
use crate::build::array::MOST_UNROLLED;
use crate::build::function::Round;
use crate::build::join::has_boxes;
use crate::build::opaque::Differing;
use crate::build::ragged::Leaving;
use crate::build::ragged::holds_boxes;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

/// What a reduction gives.
#[derive(Clone, Copy)]
enum Form {
    Whole,
    Prefixes(ScanKind),
}

impl Form {
    /// Whether nothing is combined with the last item.
    fn leaves_the_last_out(self) -> bool {
        matches!(self, Form::Prefixes(ScanKind::Exclusive))
    }
}

pub(super) fn reduce<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Whole, None, 1, false)
}

pub(super) fn reduce_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Whole, Some(1), 2, false)
}

pub(super) fn iscan<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Inclusive), None, 1, false)
}

pub(super) fn iscan_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Inclusive), Some(1), 2, false)
}

pub(super) fn scan_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Full), Some(1), 2, false)
}

pub(super) fn open_scan_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Exclusive), Some(1), 2, false)
}

pub(super) fn fold<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Whole, Some(1), 2, true)
}

pub(super) fn trace<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Full), Some(1), 2, true)
}

/// `op, [zero,] xs`. A serial fold takes the element first, and its accumulator is of another type.
fn combine<'a>(
    b: &mut Build<'a>,
    c: &Call<'_, 'a>,
    form: Form,
    zero: Option<usize>,
    xs: usize,
    serial: bool,
) -> R<Val<'a>> {
    let (pad, cell) = (c.shape(1)?, c.shape(2)?);
    let mut elem_ty = c.array(0, &[pad, cell])?;
    // Sums of halves are made of wider numbers.
    let halves = !serial && elem_ty.atom == AtomTy::Base(BaseTy::F16) && halves::is_sum(c.arg(0)?);
    let wide = |b: &mut Build<'a>, v: &Val<'a>| match halves {
        true => halves::converted(b, v, BaseTy::F32),
        false => Ok(v.clone()),
    };
    if halves {
        elem_ty.atom = AtomTy::Base(BaseTy::F32);
    }
    let (acc_ty, result_ty) = if serial {
        (c.array(1, &[pad, c.shape(3)?])?, c.array(1, &[c.shape(3)?])?)
    } else {
        (elem_ty.clone(), ArrTy { atom: elem_ty.atom.clone(), ..c.array(0, &[cell])? })
    };
    let n = c.count(b, xs)?;
    let pad = b.sizes(pad)?;
    let mut start = match zero {
        Some(i) => {
            let start = wide(b, c.arg(i)?)?;
            Some(b.replicate(&start, &pad)?)
        }
        None => {
            let some = b.less(Atom::int(0), n)?;
            b.check(Trap::Empty { prim: c.name().into() }, some, &[])?;
            None
        }
    };
    let mut items = wide(b, c.arg(xs)?)?;
    let boxes = holds_boxes(&elem_ty.atom) || holds_boxes(&acc_ty.atom);
    if let (Some(v), false) = (&start, serial || boxes) {
        // Parts that are combined with parts are of one kind with the elements.
        let mut both = b.with_one_table(vec![v.clone(), items])?.into_iter();
        (start, items) = match (both.next(), both.next()) {
            (v, Some(items)) => (v, items),
            _ => return bug("two values that are not two"),
        };
    }
    let fold = Folded { items, start, n, pad, elem_ty, acc_ty, result_ty, serial };
    if !boxes {
        let open = b.scopes.len();
        if let Some(v) = combine_items(b, c, form, &fold)? {
            return if halves { halves::converted(b, &v, BaseTy::F16) } else { Ok(v) };
        }
        b.scopes.truncate(open);
    }
    let all = one_by_one(b, c, form, fold)?;
    if halves { halves::converted(b, &all, BaseTy::F16) } else { Ok(all) }
}

/// What a reduction, scan or fold is made of.
struct Folded<'a> {
    items: Val<'a>,
    start: Option<Val<'a>>,
    n: Atom,
    pad: Vec<Atom>,
    elem_ty: ArrTy,
    acc_ty: ArrTy,
    result_ty: ArrTy,
    serial: bool,
}

impl<'a> Folded<'a> {
    /// How many items the operator is applied to, where the state starts from the first `skip` of them.
    fn rounds(&self, b: &mut Build<'a>, form: Form, skip: i128) -> R<Atom> {
        let left_out = skip + i128::from(form.leaves_the_last_out());
        let rounds = b.dim_of(self.n).sub(&Dim::constant(left_out));
        if form.leaves_the_last_out() { b.size_of_type(&rounds) } else { b.size(&rounds) }
    }

    /// The state after an item, given both.
    fn next(&self, b: &mut Build<'a>, c: &Call<'_, 'a>, acc: &Val<'a>, item: &Val<'a>) -> R<Val<'a>> {
        b.map("a", &self.pad, &self.result_ty, |b, at| {
            let (acc, item) = (b.cell(acc, at)?, b.cell(item, at)?);
            let args = if self.serial { vec![item, acc] } else { vec![acc, item] };
            b.call(c.arg(0)?, args, &self.result_ty)
        })
    }
}

/// One statement of Mono; none if the state is of no fixed size, or has other functions after an item.
fn combine_items<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, form: Form, f: &Folded<'a>) -> R<Option<Val<'a>>> {
    let start_atoms = f.start.as_ref().map(|v| b.atoms(v)).transpose()?;
    let axes = b.open_axes(&[f.n]);
    let elem = b.cell(&f.items, &[Atom::Var(axes[0].var)])?;
    if has_boxes(&elem) || f.start.as_ref().is_some_and(has_boxes) {
        return Ok(None);
    }
    let results = b.atoms(&elem)?;
    let body = Body { stmts: b.close().stmts, results };

    let like = f.start.clone().unwrap_or_else(|| elem.clone());
    let first = b.program.vars.len();
    let mut params = Vec::new();
    let acc = b.results("acc", &like, &f.acc_ty, &[], &mut params)?;
    let item = b.results("x", &elem, &f.elem_ty, &[], &mut params)?;
    b.open();
    let next = f.next(b, c, &acc, &item)?;
    let next = b.leave(next, first)?;
    let next = match b.settled(std::slice::from_ref(&like), vec![next])? {
        Round::Done(next) if !next.iter().any(has_boxes) => next,
        _ => return Ok(None),
    };
    let results = b.atoms(&next[0])?;
    let lambda = Lambda { params, body: Body { stmts: b.close().stmts, results } };

    let op = Combine { lambda, start: start_atoms, assoc: !f.serial, alone: false };
    let mut pat = Vec::new();
    // Where it could stop the program it must not be combined with the last item: all prefixes of those before that.
    let held_back = form.leaves_the_last_out() && op.lambda.body.can_stop();
    let (kind, axis) = match form {
        Form::Prefixes(_) if held_back => {
            (Some(ScanKind::Full), Axis { size: f.rounds(b, form, 0)?, ..axes[0] })
        }
        Form::Prefixes(kind) => (Some(kind), axes[0]),
        Form::Whole => (None, axes[0]),
    };
    let frame = match kind {
        None => vec![],
        Some(ScanKind::Full) => {
            let more = b.dim_of(axis.size).add(&Dim::constant(1));
            b.check_fits(&more, || format!("of `{}`", c.name()))?;
            vec![b.size(&more)?]
        }
        Some(_) => vec![axis.size],
    };
    let whole = b.results("a", &like, &f.acc_ty, &frame, &mut pat)?;
    let exp = match kind {
        None => Exp::Reduce { axis, body, op },
        Some(kind) => Exp::Scan { kind, axis, body, op },
    };
    b.emit(pat, exp)?;
    if held_back { prefixes_from(b, &whole, Atom::int(0), f.n).map(Some) } else { Ok(Some(whole)) }
}

/// A loop, in which the state may change its size, or the functions in it, from one item to the next.
///
/// ```text
/// (trace f z xs)  ⟶  for i: (zᵢ, all) ↦ (z' = f xᵢ zᵢ, (append all [z']))   from z and [z]
/// ```
///
/// Prefixes are collected in a box, whose size is the number of rounds so far; those of the other scans are all
/// but the first, or all but the last.
fn one_by_one<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, form: Form, f: Folded<'a>) -> R<Val<'a>> {
    let (start, skip) = match &f.start {
        Some(v) => (v.clone(), 0),
        None => (b.cell(&f.items, &[Atom::int(0)])?, 1),
    };
    let rounds = f.rounds(b, form, skip)?;
    let mut states = vec![(start.clone(), f.acc_ty.clone())];
    if let Form::Prefixes(_) = form {
        let ty = b.sigma("k", |d| f.acc_ty.lifted(&Shape::of_dims([d])));
        let all = b.replicate(&start, &[Atom::int(1)])?;
        let all = Val::boxed(ty.clone(), vec![Index::Dim(Dim::constant(1))], all);
        states.push((all, ArrTy::scalar(ty)));
    }
    let done = counted(b, "acc", rounds, states, |b, i, state| {
        let at = b.op(ScalarOp::Add, &[i, Atom::int(skip as i64)])?;
        let item = b.cell(&f.items, &[at])?;
        let next = f.next(b, c, &state[0], &item)?;
        let Some(Val::Box(all)) = state.get(1) else { return Ok(vec![next]) };
        let [Index::Dim(k)] = &all.witnesses[..] else { return bug("prefixes that are no vector") };
        let k = k.add(&Dim::constant(1));
        let count = b.size(&k)?;
        let last = b.replicate(&next, &[Atom::int(1)])?;
        let appended = super::shape::join(b, &all.contents, &last, count)?;
        Ok(vec![next, Val::boxed(all.ty.clone(), vec![Index::Dim(k)], appended)])
    })?;
    let (Form::Prefixes(kind), Some(Val::Box(all))) = (form, done.get(1)) else {
        return done.into_iter().next().map_or_else(|| bug("a loop without a state"), Ok);
    };
    // Of all n + 1, or of the n without a start, which begin with the first item.
    let (from, size) = match kind {
        ScanKind::Full => (0, b.dim_of(f.n).add(&Dim::constant(1))),
        ScanKind::Inclusive if skip == 0 => (1, b.dim_of(f.n)),
        ScanKind::Inclusive | ScanKind::Exclusive => (0, b.dim_of(f.n)),
    };
    let size = b.size(&size)?;
    let all = match &all.contents {
        Val::Boxes { ty, .. } => Val::Ragged(Rc::new(b.ragged(&all.contents, ty)?)),
        other => other.clone(),
    };
    prefixes_from(b, &all, Atom::int(from), size)
}

/// So many prefixes, from one on.
fn prefixes_from<'a>(b: &mut Build<'a>, all: &Val<'a>, from: Atom, size: Atom) -> R<Val<'a>> {
    b.rearrange(all, 1, &[size], &mut |_| View::Slice { start: vec![from], dims: vec![size] })
}

/// A loop of `n` rounds, whose body takes the number of the round and the state. A state whose functions grow from
/// round to round is there only where the rounds are few and their number is known: they are written out.
pub(super) fn counted<'a>(
    b: &mut Build<'a>,
    name: &str,
    n: Atom,
    states: Vec<(Val<'a>, ArrTy)>,
    mut body: impl FnMut(&mut Build<'a>, Atom, &[Val<'a>]) -> R<Vec<Val<'a>>>,
) -> R<Vec<Val<'a>>> {
    let (mut start, mut types) = (Vec::with_capacity(states.len()), Vec::with_capacity(states.len()));
    for (v, ty) in states {
        start.push(b.stored_flat(v, &ty)?);
        types.push(ty);
    }
    let done = b.rounds(start.clone(), &types, |b, start| {
        let mut first_atoms = Vec::new();
        start.iter().try_for_each(|v| b.flatten(v, &mut first_atoms))?;
        let first = b.program.vars.len();
        let mut params = Vec::new();
        let mut state = Vec::with_capacity(start.len());
        for (v, ty) in start.iter().zip(&types) {
            state.push(b.results(name, v, ty, &[], &mut params)?);
        }
        let axes = b.open_axes(&[n]);
        let next = body(b, Atom::Var(axes[0].var), &state)?;
        let body = match close_round(b, start, next, &types, first)? {
            Round::Done(body) => body,
            other => return other.again(),
        };
        let mut pat = Vec::new();
        let mut whole = Vec::with_capacity(start.len());
        for (v, ty) in start.iter().zip(&types) {
            whole.push(b.results("a", v, ty, &[], &mut pat)?);
        }
        let state = params.into_iter().zip(first_atoms).collect();
        b.emit(pat, Exp::For { axis: axes[0], state, body })?;
        Ok(Round::Done(whole))
    })?;
    match (done, n.as_int()) {
        (Some(whole), _) => Ok(whole),
        (None, Some(n)) if n <= MOST_UNROLLED as i64 => {
            (0..n.max(0)).try_fold(start, |state, i| body(b, Atom::int(i), &state))
        }
        (None, _) => b.grows(),
    }
}

pub(super) fn iterate<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let n = c.base(0)?;
    let d = b.dim_of(n);
    b.check_natural(&d, || "that counts `iterate`".into())?;
    let ty = c.array(0, &[c.shape(0)?])?;
    let start = vec![(c.arg(2)?.clone(), ty.clone())];
    let done = counted(b, "x", n, start, |b, _, state| Ok(vec![b.call(c.arg(1)?, state.to_vec(), &ty)?]))?;
    done.into_iter().next().map_or_else(|| bug("a loop without a state"), Ok)
}

pub(super) fn while_<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let types = [c.array(0, &[c.shape(0)?])?];
    let ty = &types[0];
    let start = vec![b.stored_flat(c.arg(2)?.clone(), ty)?];
    let done = b.rounds(start, &types, |b, start| {
        let x = &start[0];
        let first_atoms = b.atoms(x)?;
        let first = b.program.vars.len();
        let mut params = Vec::new();
        let state = b.results("x", x, ty, &[], &mut params)?;
        b.open();
        let go_on = b.call(c.arg(0)?, vec![state.clone()], &ArrTy::scalar(AtomTy::BOOL))?;
        let results = b.atoms(&go_on)?;
        let cond = Body { stmts: b.close().stmts, results };
        b.open();
        let next = b.call(c.arg(1)?, vec![state], ty)?;
        let body = match close_round(b, start, vec![next], &types, first)? {
            Round::Done(body) => body,
            other => return other.again(),
        };
        let mut pat = Vec::new();
        let whole = b.results("a", x, ty, &[], &mut pat)?;
        let state = params.into_iter().zip(first_atoms).collect();
        b.emit(pat, Exp::While { state, cond, body })?;
        Ok(Round::Done(whole))
    })?;
    done.map_or_else(|| b.grows(), Ok)
}

/// The end of a round of a loop, whose body is open and gives `next`.
pub(crate) fn close_round<'a>(
    b: &mut Build<'a>,
    before: &[Val<'a>],
    next: Vec<Val<'a>>,
    types: &[ArrTy],
    first: usize,
) -> R<Round<'a, Body>> {
    if next.len() != before.len() {
        return bug("a loop whose body gives another number of values");
    }
    let mut after = Vec::with_capacity(next.len());
    let mut differing = Differing::default();
    for ((v, ty), before) in next.into_iter().zip(types).zip(before) {
        let v = b.stored_flat(v, ty)?;
        let v = b.leave(v, first)?;
        b.differing(before, &v, &mut differing)?;
        after.push(v);
    }
    if differing.first.contains(&true) {
        return Ok(Round::Opaque(differing.first));
    }
    if differing.any() {
        let mut which = differing.second.iter();
        for (v, ty) in after.iter_mut().zip(types) {
            let made = b.made_opaque(v, ty, &mut which)?;
            *v = b.leave(made, first)?;
        }
    }
    let after = match b.settled(before, after)? {
        Round::Done(after) => after,
        other => return other.again(),
    };
    let mut results = Vec::new();
    for (v, ty) in after.into_iter().zip(types) {
        let v = b.stored_flat(v, ty)?;
        let v = b.fit(v, first, Leaving::Round)?;
        b.flatten(&v, &mut results)?;
    }
    Ok(Round::Done(Body { stmts: b.close().stmts, results }))
}

//! Forms with a body: bindings, branches, loops, maps, folds, scans, and boxes that are opened.

use super::operators::zero;
use super::scalars::{is_number, transcendental};
use super::{Form, Maker, states};
use crate::differential::program::{Output, Tolerance};
use crate::differential::term::{Dim, Info, Term, Ty};
use remc_base::BaseTy;

pub const FORMS: &[Form] = &[
    bound,
    branch,
    mapped,
    mapped,
    mapped,
    applied,
    reduce,
    reduce,
    reduce,
    scan,
    scan,
    scan,
    fold,
    fold,
    trace,
    iterate,
    repeat,
    while_,
    opened,
    opened,
    tuple,
    record,
    folded_tuple,
    best,
    deep,
    local,
    cases,
    checked,
];

/// Those whose result may be boxes.
pub const BODIES: &[Form] = &[
    bound, branch, branch, cases, mapped, mapped, mapped, mapped, applied, applied, tuple, tuple, record,
    iterate, repeat, fold, local, checked,
];

fn any(ty: &Ty) -> Info {
    Info::of(ty.atom)
}

fn bound(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let inner = m.ty(2);
    let value = m.expr(&inner);
    let name = m.fresh("y");
    let body = m.with(vec![(name.clone(), inner, value.info)], |m| m.expr(ty));
    let info = body.info;
    Some(Term::new(ty.clone(), info, format!("(let (({name} §)) §)"), vec![value, body]))
}

fn branch(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let c = m.expr(&Ty::scalar(BaseTy::Bool));
    let (a, b) = (m.expr(ty), m.expr(ty));
    let info = a.info.or(b.info);
    Some(Term::call(ty.clone(), info, "if", vec![c, a, b]))
}

/// A λ over a frame; its arguments have the frame, or a prefix of it.
fn mapped(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let of = 1 + m.rng.below(ty.rank());
    let (frame, cell) = ty.dims.split_at_checked(of)?;
    let (frame, result) = (frame.to_vec(), ty.shaped(cell));
    let count = m.atoms(&frame);
    let mut cells = vec![];
    for i in 0..1 + m.rng.below(2) {
        let rank = if i == 0 { of } else { m.rng.below(of + 1) };
        let cell = m.repeated(count, |m| m.ty(1));
        cells.push((cell, rank));
    }
    let args: Vec<Term> = cells.iter().map(|(c, rank)| m.expr(&c.framed(&frame[..*rank]))).collect();
    let params: Vec<(String, Ty, Info)> =
        cells.iter().zip(&args).map(|((c, _), a)| (m.fresh("p"), c.clone(), a.info)).collect();
    let binders: Vec<String> = params.iter().map(|(n, t, _)| format!("[{n} {t}]")).collect();
    let body = m.repeated(count, |m| m.with(params, |m| point(m, &result)));
    let info = body.info;
    let template = format!("((λ ({}) §){})", binders.join(" "), " §".repeat(args.len()));
    Some(Term::new(ty.clone(), info, template, [vec![body], args].concat()))
}

/// What a function gives for one point of a frame: an array often by a loop, which carries it.
fn point(m: &mut Maker, result: &Ty) -> Term {
    let loops: [Form; 3] = [repeat, iterate, fold];
    let form = loops[m.rng.below(loops.len())];
    let looped = if !result.dims.is_empty() && m.rng.one_in(3) { form(m, result) } else { None };
    looped.unwrap_or_else(|| m.form(result))
}

/// A function that is bound by `let`, and may mention what is around it, over a frame.
fn local(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let (frame, cell) = ty.dims.split_at(m.rng.below(ty.rank() + 1));
    let (frame, result) = (frame.to_vec(), ty.shaped(cell));
    let count = m.atoms(&frame);
    let from = m.repeated(count, |m| m.ty(1));
    let arg = m.expr(&from.framed(&frame));
    let (f, p) = (m.fresh("f"), m.fresh("p"));
    let bound = vec![(p.clone(), from.clone(), arg.info)];
    let body = m.repeated(count, |m| m.with(bound, |m| point(m, &result)));
    let info = body.info;
    let template = format!("(let ((({f} [{p} {from}]) §)) ({f} §))");
    Some(Term::new(ty.clone(), info, template, vec![body, arg]))
}

fn cases(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let flag = Ty::scalar(BaseTy::Bool);
    let parts = vec![m.expr(&flag), m.expr(ty), m.expr(&flag), m.expr(ty), m.expr(ty)];
    let info = parts[1].info.or(parts[3].info).or(parts[4].info);
    Some(Term::new(ty.clone(), info, "(cond (§ §) (§ §) (else §))", parts))
}

/// A shape that is known only when it runs to be the one that is wanted.
fn checked(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let [first, ..] = ty.dims.as_slice() else { return None };
    if !m.is_certain(first) {
        return None;
    }
    let n = m.size(first) + usize::from(m.stops());
    let dims = [&[Dim::Known(n)][..], &ty.dims[1..]].concat();
    let part = m.expr(&ty.shaped(dims));
    let info = part.info;
    let template = format!("(as-shape {} §)", crate::differential::term::bracket(&ty.dims));
    Some(Term::new(ty.clone(), info, template, vec![part]))
}

/// A definition of the program, over a frame.
fn applied(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let fitting: Vec<usize> = (0..m.functions.len())
        .filter(|i| {
            let r = &m.functions[*i].result;
            r.atom == ty.atom && r.boxed == ty.boxed && ty.dims.ends_with(&r.dims)
        })
        .collect();
    let f = &m.functions[*m.rng.pick(&fitting)?];
    let (name, cells, info) = (f.name.clone(), f.cells.clone(), f.info);
    let frame = ty.dims[..ty.rank() - f.result.rank()].to_vec();
    let args: Vec<Term> = cells.iter().map(|c| m.expr(&c.framed(&frame))).collect();
    Some(Term::call(ty.clone(), info, &name, args))
}

fn reduce(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = m.dim();
    reduce_along(m, ty, d)
}

/// A reduction of so many items.
pub fn reduce_along(m: &mut Maker, ty: &Ty, d: Dim) -> Option<Term> {
    let from = ty.of(&d);
    if !m.affordable(&from) {
        return None;
    }
    let count = m.size(&d) as f64;
    let op = m.associative(ty);
    if op.adds && ty.atom.is_float() && count + 2.0 > crate::differential::term::exact_to(ty.atom) {
        return None;
    }
    // Empty, it stops; there is a zero otherwise.
    let stops = matches!(d, Dim::Var(_)) && m.is_certain(&d) && !m.is_inhabited(&d) && m.stops();
    let without = stops || m.is_inhabited(&d) && m.rng.one_in(2);
    let items = m.items(&op, &from, count + 1.0);
    if without {
        let info = m.combined(&op, items.info, None, count, ty.atom);
        return Some(Term::call(ty.clone(), info, &format!("reduce {}", op.text), vec![items]));
    }
    let zero = zero(m, &Ty::new(ty.atom, op.cell.clone()), &op);
    let exact = !op.adds || !ty.atom.is_float() || {
        (zero.info.most + items.info.most * count) <= crate::differential::term::exact_to(ty.atom)
    };
    if !exact {
        return None;
    }
    let info = m.combined(&op, items.info, Some(zero.info), count, ty.atom);
    Some(Term::call(ty.clone(), info, &format!("reduce/zero {}", op.text), vec![zero, items]))
}

pub fn scan(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = ty.dims.first()?.clone();
    let item = ty.item();
    let op = m.associative(&item);
    let count = m.size(&d) as f64;
    if op.adds && ty.atom.is_float() && count + 2.0 > crate::differential::term::exact_to(ty.atom) {
        return None;
    }
    let right = if m.rng.one_in(4) { "/right" } else { "" };
    if m.is_inhabited(&d) && m.rng.one_in(3) {
        let items = m.items(&op, ty, count + 1.0);
        let info = m.combined(&op, items.info, None, count, ty.atom);
        return Some(Term::call(ty.clone(), info, &format!("iscan{right} {}", op.text), vec![items]));
    }
    let longer = match &d {
        Dim::Plus(d, 1) => Some((**d).clone()),
        Dim::Known(n) if *n > 0 => Some(Dim::Known(n - 1)),
        _ => None,
    };
    let (name, length) = match longer {
        Some(less) if m.rng.one_in(2) => ("scan/zero", less),
        _ => (["iscan/zero", "open-scan/zero"][m.rng.below(2)], d),
    };
    let items = m.items(&op, &item.of(&length), count + 1.0);
    let zero = zero(m, &Ty::new(ty.atom, op.cell.clone()), &op);
    if op.adds
        && ty.atom.is_float()
        && zero.info.most + items.info.most * count > crate::differential::term::exact_to(ty.atom)
    {
        return None;
    }
    let info = m.combined(&op, items.info, Some(zero.info), count, ty.atom);
    Some(Term::call(ty.clone(), info, &format!("{name}{right} {}", op.text), vec![zero, items]))
}

/// The λ of a fold, and its arguments, for an accumulator that is a cell of the result.
fn folding(m: &mut Maker, result: &Ty, name: &str) -> Option<(Dim, String, Vec<Term>)> {
    let pads = if m.rng.one_in(3) { m.rng.below(result.rank() + 1) } else { 0 };
    let (pad, acc) = result.dims.split_at(pads);
    let acc = result.shaped(acc);
    let cell = m.ty(1);
    let d = m.dim();
    let count = m.size(&d) as f64;
    let from = cell.framed(pad).of(&d);
    if !m.affordable(&from) || !m.repeated(count * m.atoms(pad), |m| m.affordable(&acc)) {
        return None;
    }
    let (pad, init, xs) = (pad.to_vec(), m.expr(&acc), m.expr(&from));
    let (x, a) = (m.fresh("p"), m.fresh("a"));
    let params = vec![(x.clone(), cell.clone(), xs.info), (a.clone(), acc.clone(), any(&acc))];
    let times = count * m.atoms(&pad);
    let body = m.repeated(times, |m| {
        m.with(params, |m| if m.rng.one_in(3) { states::next(m, &a, &acc) } else { m.form(&acc) })
    });
    let template = format!("({name} (λ ([{x} {cell}] [{a} {acc}]) §) § §)");
    Some((d, template, vec![body, init, xs]))
}

fn fold(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let name = ["fold", "fold", "fold-right"][m.rng.below(3)];
    let (_, template, parts) = folding(m, ty, name)?;
    Some(Term::new(ty.clone(), any(ty), template, parts))
}

fn trace(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let (first, item) = (ty.dims.first()?.clone(), ty.item());
    let d = match &first {
        Dim::Plus(d, 1) => (**d).clone(),
        Dim::Known(n) if *n > 0 => Dim::Known(n - 1),
        _ => return None,
    };
    let cell = m.ty(1);
    let from = cell.of(&d);
    let count = m.size(&d) as f64;
    if !m.affordable(&from) || !m.repeated(count, |m| m.affordable(&item)) {
        return None;
    }
    let (init, xs) = (m.expr(&item), m.expr(&from));
    let (x, a) = (m.fresh("p"), m.fresh("a"));
    let params = vec![(x.clone(), cell.clone(), xs.info), (a.clone(), item.clone(), any(&item))];
    let body = m.repeated(count, |m| {
        m.with(params, |m| if m.rng.one_in(3) { states::next(m, &a, &item) } else { m.form(&item) })
    });
    let name = ["trace", "trace-right"][m.rng.below(2)];
    let template = format!("({name} (λ ([{x} {cell}] [{a} {item}]) §) § §)");
    Some(Term::new(ty.clone(), any(ty), template, vec![body, init, xs]))
}

/// How often a loop goes round: a few times, perhaps another number in each row.
fn rounds(m: &mut Maker) -> Term {
    let int = Ty::scalar(BaseTy::I64);
    if m.rng.one_in(2) {
        return Term::leaf(int, Info::whole(4.0), m.rng.below(5).to_string());
    }
    let any = m.expr(&int);
    Term::new(int, Info::whole(3.0), "(bit-and 3 §)", vec![any])
}

fn iterate(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let times = rounds(m);
    let init = m.expr(ty);
    let x = m.fresh("a");
    let bound = vec![(x.clone(), ty.clone(), any(ty))];
    let body = m.repeated(4.0, |m| m.with(bound, |m| states::next(m, &x, ty)));
    let template = format!("(iterate § (λ ([{x} {ty}]) §) §)");
    Some(Term::new(ty.clone(), any(ty), template, vec![times, body, init]))
}

/// A loop with a counter and a state.
fn repeat(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let times = rounds(m);
    let init = m.expr(ty);
    let (i, n, x) = (m.fresh("i"), m.fresh("y"), m.fresh("a"));
    let bound =
        vec![(i.clone(), Ty::scalar(BaseTy::I64), Info::whole(8.0)), (x.clone(), ty.clone(), any(ty))];
    let body = m.repeated(4.0, |m| m.with(bound, |m| states::next(m, &x, ty)));
    let template = format!(
        "(let (({n} §)) (proj 1 (loop (({i} 0) ({x} §)) while (< {i} {n}) do (values (+ {i} 1) §))))"
    );
    Some(Term::new(ty.clone(), any(ty), template, vec![times, init, body]))
}

fn while_(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if ty.atom != BaseTy::I64 {
        return None;
    }
    let init = m.expr(ty);
    if ty.dims.is_empty() {
        let template = "(while (λ ([w int]) (> w 1)) (λ ([w int]) (quotient w 2)) §)";
        return Some(Term::new(ty.clone(), any(ty), template, vec![init]));
    }
    let [_] = ty.dims.as_slice() else { return None };
    let template = format!("(while (λ ([w {ty}]) (any (> w 1))) (λ ([w {ty}]) (quotient w 2)) §)");
    Some(Term::new(ty.clone(), any(ty), template, vec![init]))
}

/// What makes a box with one dim, of items of a type: its text, and the most items there are.
fn boxes(m: &mut Maker, item: &Ty) -> Option<(Term, f64)> {
    let d = m.dim();
    let from = item.of(&d);
    if !m.affordable(&from) {
        return None;
    }
    let count = m.size(&d) as f64;
    let vector = |a: BaseTy| Ty::new(a, [d.clone()]);
    Some(match m.rng.below(6) {
        0 if item.dims.is_empty() && !item.is_boxed() && item.atom.is_in(remc_base::Class::Ord) => {
            let xs = m.expr(&from);
            let info = xs.info;
            (Term::call(from, info, "unique", vec![xs]), count)
        }
        1 if m.atoms(&item.dims) * count * 3.0 * m.times <= m.most => {
            let counts = m.expr(&vector(BaseTy::I64));
            let counts = Term::new(vector(BaseTy::I64), Info::whole(3.0), "(bit-and 3 §)", vec![counts]);
            let xs = m.expr(&from);
            let info = xs.info;
            (Term::call(from, info, "replicate/counts", vec![counts, xs]), count * 3.0)
        }
        2 if *item == Ty::scalar(BaseTy::I64) => {
            let n = m.expr(item);
            let ty = from;
            (Term::new(ty, Info::whole(16.0), "(iota1 (bit-and 15 §))", vec![n]), 16.0)
        }
        _ => {
            let flags = m.expr(&vector(BaseTy::Bool));
            let xs = m.expr(&from);
            let info = xs.info;
            (Term::call(from, info, "filter", vec![flags, xs]), count)
        }
    })
}

/// A box is opened; what is made of it does not mention its dim.
fn opened(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let item = if m.rng.one_in(4) { m.ty(1) } else { Ty::scalar(m.atom()) };
    let (part, most) = boxes(m, &item)?;
    let (v, w) = (m.fresh("v"), m.fresh("w"));
    let inside = item.of(&Dim::Var(w.clone()));
    m.sizes.push((w.clone(), most as usize));
    let bound = vec![(v.clone(), inside, part.info)];
    let body = m.with(bound, |m| m.body(ty));
    m.sizes.pop();
    let info = body.info;
    Some(Term::new(ty.clone(), info, format!("(unbox § ({v} {w}) §)"), vec![part, body]))
}

fn tuple(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let other = m.ty(2);
    let parts = vec![m.expr(ty), m.expr(&other)];
    let (x, y) = (m.fresh("y"), m.fresh("y"));
    let bound = vec![(x.clone(), ty.clone(), parts[0].info), (y.clone(), other, parts[1].info)];
    let body = m.with(bound, |m| m.expr(ty));
    let info = body.info;
    let template = format!("(let-values ((({x} {y}) (values § §))) §)");
    Some(Term::new(ty.clone(), info, template, [parts, vec![body]].concat()))
}

/// A field of an array of records, or of tuples.
fn record(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = ty.dims.first()?.clone();
    let item = ty.item();
    let count = m.size(&d) as f64;
    let cell = m.repeated(count, |m| m.ty(1));
    let xs = m.expr(&cell.of(&d));
    let p = m.fresh("p");
    let other = m.repeated(count, |m| m.ty(1));
    let bound = vec![(p.clone(), cell.clone(), xs.info)];
    let (a, b) = m.repeated(count, |m| m.with(bound, |m| (m.expr(&item), m.expr(&other))));
    let info = a.info;
    let template = if m.rng.one_in(2) {
        format!("(field ((λ ([{p} {cell}]) (record (x §) (y §))) §) x)")
    } else {
        format!("(proj 0 ((λ ([{p} {cell}]) (values § §)) §))")
    };
    Some(Term::new(ty.clone(), info, template, vec![a, b, xs]))
}

/// A fold whose accumulator is a tuple.
fn folded_tuple(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let other = Ty::scalar(m.atom());
    let cell = Ty::scalar(m.atom());
    let d = m.dim();
    let count = m.size(&d) as f64;
    if !m.affordable(&cell.of(&d)) || !m.repeated(count, |m| m.affordable(ty)) {
        return None;
    }
    let (x, s, a, b) = (m.fresh("p"), m.fresh("s"), m.fresh("a"), m.fresh("b"));
    let inits = [m.expr(ty), m.expr(&other)];
    let xs = m.expr(&cell.of(&d));
    let bound = vec![
        (x.clone(), cell.clone(), xs.info),
        (a.clone(), ty.clone(), any(ty)),
        (b.clone(), other.clone(), any(&other)),
    ];
    let next = m.repeated(count, |m| m.with(bound, |m| [states::next(m, &a, ty), m.expr(&other)]));
    let template = format!(
        "(proj 0 (fold (λ ([{x} {cell}] [{s} (Tuple {ty} {other})]) \
         (let-values ((({a} {b}) {s})) (values § §))) (values § §) §))"
    );
    let parts = [&next[..], &inits, &[xs]].concat();
    Some(Term::new(ty.clone(), any(ty), template, parts))
}

/// A reduction of tuples: the greatest with its place.
fn best(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if *ty != Ty::scalar(BaseTy::I64) {
        return None;
    }
    let d = m.dim();
    let of = Ty::scalar(m.number_atom());
    if !m.is_inhabited(&d) || !m.affordable(&of.of(&d)) || of.atom.is_float() {
        return None;
    }
    let xs = m.expr(&of.of(&d));
    let t = of.atom.name();
    let pair = format!("(Tuple {t} int)");
    let template = format!(
        "(proj 1 (reduce (λ ([p {pair}] [q {pair}]) \
         (if (>= (proj 0 p) (proj 0 q)) p q)) ((λ ([a {t}] [b int]) (values a b)) § (iota [{d}]))))"
    );
    Some(Term::new(ty.clone(), Info::whole(m.size(&d) as f64), template, vec![xs]))
}

/// A reduction or a scan within each row.
fn deep(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if !is_number(ty.atom) || ty.rank() == 0 {
        return None;
    }
    let d = m.dim();
    let count = m.size(&d) as f64;
    let from = Ty::new(ty.atom, [&ty.dims[..], &[d]].concat());
    if !m.affordable(&from) || count + 2.0 > crate::differential::term::exact_to(ty.atom) {
        return None;
    }
    let xs = m.summable(&from, count + 2.0);
    let info = super::operators::sum_of(ty.atom, xs.info, count);
    Some(Term::new(
        ty.clone(),
        info,
        format!("(~(0 0 1)reduce/zero + {} §)", super::literal(ty.atom, 0)),
        vec![xs],
    ))
}

impl Maker {
    /// A result that is compared within bounds.
    pub fn inexact(&mut self) -> Option<Output> {
        self.fuel = self.fuel.max(4);
        if self.rng.one_in(2) {
            let (value, bound) = transcendental(self)?;
            return Some(Output { value, tolerance: Tolerance::Ulps(bound) });
        }
        // A sum of floats, in any order.
        let atom = [BaseTy::F64, BaseTy::F32][self.rng.below(2)];
        let ty = Ty::new(atom, if self.rng.one_in(2) { vec![self.dim()] } else { vec![] });
        let d = self.dim();
        let from = ty.of(&d);
        if !self.affordable(&from) {
            return None;
        }
        let xs = self.expr(&from);
        let count = self.size(&d) as f64 + 1.0;
        let unit = if atom == BaseTy::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        if !xs.info.most.is_finite() {
            return None;
        }
        let bound = count * count * xs.info.most * unit;
        let value = Term::call(ty, Info::ANY, "reduce/zero + 0.0", vec![xs]);
        let value = if atom == BaseTy::F32 { fix_zero(value) } else { value };
        Some(Output { value, tolerance: Tolerance::Absolute(bound) })
    }

    /// A box, or a tuple, as a result.
    pub fn boxed(&mut self) -> Option<Output> {
        self.fuel = self.fuel.max(3);
        let item = self.ty(1);
        let (value, _) = boxes(self, &item)?;
        Some(Output { value, tolerance: Tolerance::Exact })
    }
}

fn fix_zero(t: Term) -> Term {
    Term::call(t.ty, t.info, "reduce/zero + 0.0f32", t.parts)
}

//! Forms that move, count or combine elements without a function of the program's own.

use super::scalars::is_number;
use super::{Form, Maker};
use crate::differential::term::{Dim, Info, Term, Ty, bracket, exact_to};
use remc_base::{BaseTy, Class};

pub const FORMS: &[Form] = &[
    reverse, rotate, transpose, append, part, part, subvector, subarray, reshape, indices, counted,
    replicated, with_shape, gather, gather, index, index, scatter, scatter, combine, histogram, sort, window,
    tile, product, product, outer, mimd, mimd, reduction, sizes,
];

/// Those that move elements of any type, boxes too.
pub const MOVES: &[Form] = &[
    reverse, rotate, transpose, append, append, part, subvector, subarray, reshape, replicated, gather,
    gather, index, index, into,
];

fn view(ty: &Ty, part: Term, template: impl Into<String>) -> Option<Term> {
    let info = part.info;
    Some(Term::new(ty.clone(), info, template, vec![part]))
}

fn reverse(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let r = ty.rank();
    if r == 0 {
        return None;
    }
    let part = m.expr(ty);
    let of = 1 + m.rng.below(r);
    view(ty, part, if of == r { "(reverse §)".to_owned() } else { format!("(~({of})reverse §)") })
}

fn rotate(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let axes = 1 + m.rng.below(ty.rank());
    if axes > ty.rank() {
        return None;
    }
    let part = m.expr(ty);
    let amounts: Vec<Term> = (0..axes).map(|_| m.expr(&Ty::scalar(BaseTy::I64))).collect();
    let info = part.info;
    let template = format!("(rotate § [{}])", vec!["§"; axes].join(" "));
    Some(Term::new(ty.clone(), info, template, [vec![part], amounts].concat()))
}

fn transpose(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let [a, b, rest @ ..] = ty.dims.as_slice() else { return None };
    let from = ty.shaped(rest).framed(&[b.clone(), a.clone()]);
    let part = m.expr(&from);
    view(ty, part, "(transpose §)")
}

fn append(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let (first, item) = (ty.dims.first()?.clone(), ty.item());
    let (a, b) = match first {
        Dim::Known(n) => {
            let k = m.rng.below(n + 1);
            (Dim::Known(k), Dim::Known(n - k))
        }
        Dim::Plus(d, k) if k > 0 => (*d, Dim::Known(k as usize)),
        Dim::Sum(a, b) => (*a, *b),
        _ => return None,
    };
    let (a, b) = if m.rng.one_in(2) && matches!(first_of(ty), Dim::Known(_) | Dim::Plus(..)) {
        (b, a)
    } else {
        (a, b)
    };
    let parts = vec![m.expr(&item.of(&a)), m.expr(&item.of(&b))];
    let info = parts[0].info.or(parts[1].info);
    Some(Term::call(ty.clone(), info, "append", parts))
}

fn first_of(ty: &Ty) -> Dim {
    ty.dims.first().cloned().unwrap_or(Dim::Known(0))
}

/// A part along the first axis: take, drop and their kin.
fn part(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = ty.dims.first()?.clone();
    let k = m.rng.range(0, 3);
    let one = [("tail", 1), ("butlast", 1)];
    let choice = m.rng.below(6);
    if let Some((name, _)) = one.get(choice) {
        let from = m.expr(&ty.item().of(&d.plus(1)));
        return view(ty, from, format!("({name} §)"));
    }
    let name = ["take1", "drop1", "take-right1", "drop-right1"][choice - 2];
    let from = m.expr(&ty.item().of(&d.clone().plus(k)));
    let count = if name.starts_with("take") { d.to_string() } else { k.to_string() };
    view(ty, from, format!("({name} § {count})"))
}

fn subvector(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = ty.dims.first()?.clone();
    let k = m.rng.range(0, 3);
    let whole = d.clone().plus(k);
    let item = ty.item();
    let from = m.expr(&item.of(&whole));
    let start = if m.stops() { k + 1 } else { m.rng.range(0, k) };
    let info = from.info;
    let template = format!("(subvector{{{} | {whole} {d} {}}} § {start})", ty.element(), bracket(&item.dims));
    Some(Term::new(ty.clone(), info, template, vec![from]))
}

fn subarray(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let axes = 1 + m.rng.below(ty.rank());
    if axes > ty.rank() {
        return None;
    }
    let (cut, cell) = ty.dims.split_at(axes);
    let more: Vec<i64> = cut.iter().map(|_| m.rng.range(0, 2)).collect();
    let longer: Vec<Dim> = cut.iter().zip(&more).map(|(d, k)| d.clone().plus(*k)).collect();
    let from = ty.shaped(cell).framed(&longer);
    let starts = |m: &mut Maker, low: i64, past: i64| -> String {
        let all: Vec<String> = more.iter().map(|k| m.rng.range(low, k + past).to_string()).collect();
        format!("[{}]", all.join(" "))
    };
    match m.rng.below(4) {
        0 => {
            // Around the ends, which needs something to go around.
            let source = ty.shaped(cell).framed(&vec![Dim::Known(2); axes]);
            let part = m.expr(&source);
            let at = starts(m, -3, 3);
            view(ty, part, format!("(subarray/wrap § {at} {})", bracket(cut)))
        }
        1 => {
            let part = m.expr(&from);
            let fill = m.expr(&ty.shaped(cell));
            let at = starts(m, -3, 3);
            let info = part.info.or(fill.info);
            let template = format!("(subarray/fill § {at} {} §)", bracket(cut));
            Some(Term::new(ty.clone(), info, template, vec![part, fill]))
        }
        _ => {
            let part = m.expr(&from);
            let at = if m.stops() { starts(m, 3, 5) } else { starts(m, 0, 0) };
            view(ty, part, format!("(subarray § {at} {})", bracket(cut)))
        }
    }
}

fn reshape(m: &mut Maker, ty: &Ty) -> Option<Term> {
    match ty.dims.as_slice() {
        [Dim::Product(a, b), rest @ ..] => {
            let from = ty.shaped(rest).framed(&[(**a).clone(), (**b).clone()]);
            let part = m.expr(&from);
            view(ty, part, if rest.is_empty() && m.rng.one_in(2) { "(ravel §)" } else { "(flatten §)" })
        }
        [Dim::Known(n), rest @ ..] if n % 2 == 0 => {
            let from = ty.shaped(rest).framed(&[Dim::Known(2), Dim::Known(n / 2)]);
            let part = m.expr(&from);
            view(ty, part, "(flatten §)")
        }
        [a, b] => {
            let both = Dim::product(a.clone(), b.clone());
            let part = m.expr(&ty.shaped([both]));
            view(ty, part, format!("(reshape {} §)", bracket(&ty.dims)))
        }
        [a] if m.rng.one_in(2) => {
            let part = m.expr(&ty.shaped([Dim::Known(1), a.clone()]));
            view(ty, part, "(ravel §)")
        }
        [_] => {
            // Known only when it runs to have as many.
            let d = first_of(ty);
            if !m.is_certain(&d) {
                return None;
            }
            let n = m.size(&d) + usize::from(m.stops());
            let part = m.expr(&ty.shaped([Dim::Known(n)]));
            view(ty, part, format!("(reshape [{d}] §)"))
        }
        _ => None,
    }
}

fn indices(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let (Dim::Known(r), shape) = ty.dims.split_last()? else { return None };
    if ty.atom != BaseTy::I64 || *r != shape.len() {
        return None;
    }
    let atom = m.atom();
    let like = m.expr(&Ty::new(atom, shape));
    let most = m.atoms(shape);
    Some(Term::call(ty.clone(), Info::whole(most), "indices-of", vec![like]))
}

fn counted(m: &mut Maker, ty: &Ty) -> Option<Term> {
    (is_number(ty.atom) && ty.rank() > 0).then(|| m.counted(ty))
}

impl Maker {
    /// The numbers from 0 on, in the shape of the type.
    pub fn counted(&mut self, ty: &Ty) -> Term {
        let most = self.atoms(&ty.dims);
        let dims = bracket(&ty.dims);
        let text = if self.rng.one_in(2) { format!("(iota {dims})") } else { format!("iota{{ | {dims}}}") };
        let iota = Term::leaf(ty.with_atom(BaseTy::I64), Info::whole(most), text);
        super::scalars::cast(ty, iota)
    }
}

fn replicated(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let of = 1 + m.rng.below(ty.rank());
    let (frame, cell) = ty.dims.split_at_checked(of)?;
    let part = m.expr(&ty.shaped(cell));
    view(ty, part, format!("(replicate{{{} | {} {}}} §)", ty.element(), bracket(frame), bracket(cell)))
}

fn with_shape(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let n = 1 + m.rng.below(4);
    let atom = m.atom();
    let like = m.expr(&Ty::new(atom, ty.dims.clone()));
    let from = m.expr(&Ty::new(ty.atom, [Dim::Known(n)]));
    let info = from.info;
    (ty.rank() > 0).then(|| Term::call(ty.clone(), info, "with-shape", vec![like, from]))
}

pub fn gather(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let of = m.rng.below(ty.rank()) + 1;
    let (frame, cell) = ty.dims.split_at_checked(of)?;
    let d = m.dim();
    let from = ty.shaped(cell).of(&d);
    if !m.is_inhabited(&d) || !m.affordable(&from) {
        return None;
    }
    let (frame, from) = (frame.to_vec(), m.expr(&from));
    let at = m.indices(&frame, &d);
    let info = from.info;
    Some(Term::call(ty.clone(), info, "gather", vec![from, at]))
}

fn index(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let axes = 1 + m.rng.below(2);
    let dims: Vec<Dim> = (0..axes).map(|_| m.dim()).collect();
    let from = ty.framed(&dims);
    if !dims.iter().all(|d| m.is_inhabited(d)) || !m.affordable(&from) {
        return None;
    }
    let from = m.expr(&from);
    let info = from.info;
    // The axis that may be out of range is the only one that varies not.
    let at: Vec<Term> = dims.iter().map(|d| m.indices(&[], d)).collect();
    let parts = [vec![from], at].concat();
    Some(match (axes, m.rng.below(3)) {
        (1, 0) => Term::call(ty.clone(), info, "index-item", parts),
        (2, 0) => Term::call(ty.clone(), info, "index2d", parts),
        _ => {
            let holes = vec!["§"; axes].join(" ");
            Term::new(ty.clone(), info, format!("(index § [{holes}])"), parts)
        }
    })
}

fn scatter(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let out = ty.dims.first()?.clone();
    let item = ty.item();
    let d = m.dim();
    let from = item.of(&d);
    if !m.affordable(&from) || ty.atom == BaseTy::Char {
        return None;
    }
    let from = m.expr(&from);
    let at = m.places(std::slice::from_ref(&d), &out);
    if m.rng.one_in(2) {
        let dest = m.expr(ty);
        let info = dest.info.or(from.info);
        return Some(Term::call(ty.clone(), info, "scatter/into", vec![dest, at, from]));
    }
    let info = from.info;
    let head = format!("scatter{{{} | {d} {out} {}}}", ty.atom.name(), bracket(&item.dims));
    Some(Term::call(ty.clone(), info, &head, vec![from, at]))
}

/// Elements put into an array at some places.
fn into(m: &mut Maker, ty: &Ty) -> Option<Term> {
    ty.dims.first()?;
    let dest = m.expr(ty);
    put(m, ty, dest)
}

/// Elements put into this array at some places.
pub fn put(m: &mut Maker, ty: &Ty, dest: Term) -> Option<Term> {
    let out = ty.dims.first()?.clone();
    let d = m.dim();
    let from = ty.item().of(&d);
    if !m.affordable(&from) {
        return None;
    }
    let from = m.expr(&from);
    let at = m.places(std::slice::from_ref(&d), &out);
    let info = dest.info.or(from.info);
    Some(Term::call(ty.clone(), info, "scatter/into", vec![dest, at, from]))
}

pub fn combine(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let out = ty.dims.first()?.clone();
    let (op, adds) = m.commutative(ty.atom)?;
    let d = m.dim();
    let from = ty.item().of(&d);
    if !m.affordable(&from) {
        return None;
    }
    let n = m.size(&d) as f64 + 1.0;
    if adds && ty.atom.is_float() && n + 1.0 > exact_to(ty.atom) {
        return None;
    }
    let (from, dest) =
        if adds { (m.summable(&from, n), m.summable(ty, n)) } else { (m.expr(&from), m.expr(ty)) };
    let at = m.places(std::slice::from_ref(&d), &out);
    let both = from.info.or(dest.info);
    let info = if op == "*" || op == "bit-xor" {
        Info::of(ty.atom)
    } else if adds {
        // Each is small enough for the sum of all, and twice that is not lost on the next sum.
        Info { whole: both.whole, most: both.most * (n + 1.0) }.fit(ty.atom)
    } else {
        both
    };
    let op = match ty.item() {
        item if item.dims.is_empty() && m.rng.one_in(2) => op.to_owned(),
        item => format!("(λ ([a {item}] [b {item}]) ({op} a b))"),
    };
    Some(Term::call(ty.clone(), info, &format!("scatter/combine {op}"), vec![dest, at, from]))
}

fn histogram(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let [k] = ty.dims.as_slice() else { return None };
    if ty.atom != BaseTy::I64 {
        return None;
    }
    let (k, d) = (k.clone(), m.dim());
    let at = m.places(std::slice::from_ref(&d), &k);
    let most = m.size(&d) as f64;
    Some(Term::new(ty.clone(), Info::whole(most), format!("(histogram {k} §)"), vec![at]))
}

pub fn sort(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = ty.dims.first()?.clone();
    if ty.atom == BaseTy::I64 && ty.rank() == 1 && m.rng.one_in(2) {
        let atom = m.atom();
        let item = if m.rng.one_in(4) { Ty::new(atom, [Dim::Known(2)]) } else { Ty::scalar(atom) };
        if !atom.is_in(Class::Ord) {
            return None;
        }
        let keys = m.expr(&item.of(&d));
        let most = m.size(&d) as f64;
        return Some(Term::call(ty.clone(), Info::whole(most), "grade", vec![keys]));
    }
    if !ty.atom.is_in(Class::Ord) {
        return None;
    }
    let part = m.expr(ty);
    view(ty, part, if ty.rank() == 2 && m.rng.one_in(2) { "(~(1)sort §)" } else { "(sort §)" })
}

fn window(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let [a, Dim::Known(k), rest @ ..] = ty.dims.as_slice() else { return None };
    let k = *k;
    if k == 0 || !m.is_inhabited(a) {
        return None;
    }
    let from = Ty::new(ty.atom, rest).of(&a.clone().plus(k as i64 - 1));
    let part = m.expr(&from);
    // The number of windows is known to the checker as `(+ 1 (- n k))`.
    matches!(a, Dim::Known(_)).then(|| view(ty, part, format!("(window § {k})")))?
}

fn tile(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let Dim::Known(n) = first_of(ty) else { return None };
    let k = [1, 2, 3][m.rng.below(3)];
    if ty.rank() == 0 || n % k != 0 {
        return None;
    }
    let part = m.expr(&ty.item().of(&Dim::Known(n / k)));
    view(ty, part, format!("(tile § [{k}])"))
}

/// dot, v*m, m*m, identity.
fn product(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if !is_number(ty.atom) || ty.rank() > 2 {
        return None;
    }
    let n = m.dim();
    let count = m.size(&n) as f64;
    let (name, a, b) = match ty.dims.as_slice() {
        [] => ("dot", vec![n.clone()], vec![n.clone()]),
        [k] => ("v*m", vec![n.clone()], vec![n.clone(), k.clone()]),
        [j, k] => ("m*m", vec![j.clone(), n.clone()], vec![n.clone(), k.clone()]),
        _ => return None,
    };
    let (a, b) = (Ty::new(ty.atom, a), Ty::new(ty.atom, b));
    if m.atoms(&ty.dims) * count.max(1.0) * m.times > m.most || !m.affordable(&a) || !m.affordable(&b) {
        return None;
    }
    let mut parts = vec![m.expr(&a), m.expr(&b)];
    let exact = parts[0].info.whole
        && parts[1].info.whole
        && parts[0].info.most * parts[1].info.most * count <= exact_to(ty.atom);
    if ty.atom.is_float() && !exact {
        parts = parts
            .into_iter()
            .map(|p| {
                let t = p.ty.clone();
                Term::call(t, Info::whole(1.0), "sign", vec![p])
            })
            .collect();
        if count > exact_to(ty.atom) {
            return None;
        }
    }
    let info = Info { whole: true, most: parts[0].info.most * parts[1].info.most * count }.fit(ty.atom);
    Some(Term::call(ty.clone(), info, name, parts))
}

fn outer(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let of = 1 + m.rng.below(ty.rank().max(2) - 1);
    if ty.rank() < 2 || !is_number(ty.atom) {
        return None;
    }
    let name = ["-", "*", "max2", "+"][m.rng.below(4)];
    let parts = vec![m.expr(&Ty::new(ty.atom, &ty.dims[..of])), m.expr(&Ty::new(ty.atom, &ty.dims[of..]))];
    let info = if ty.atom.is_float() { Info::ANY } else { Info::of(ty.atom) };
    Some(Term::call(ty.clone(), info, &format!("outer {name}"), parts))
}

/// An array of functions.
fn mimd(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let Dim::Known(n @ 1..=4) = first_of(ty) else { return None };
    if ty.rank() == 0 || !is_number(ty.atom) {
        return None;
    }
    let t = ty.atom.name();
    let names: Vec<String> = (0..n)
        .map(|_| match m.rng.below(6) {
            0 => "+".to_owned(),
            1 => "-".to_owned(),
            2 => "*".to_owned(),
            3 => "max2".to_owned(),
            4 => format!("(λ ([a {t}] [b {t}]) (- (* a a) b))"),
            _ => "min2".to_owned(),
        })
        .collect();
    let rank = m.rng.below(ty.rank() + 1);
    let parts = vec![m.expr(ty), m.expr(&Ty::new(ty.atom, &ty.dims[..rank]))];
    let info = if ty.atom.is_float() { Info::ANY } else { Info::of(ty.atom) };
    Some(Term::call(ty.clone(), info, &format!("[{}]", names.join(" ")), parts))
}

/// The library's reductions along the first axis.
fn reduction(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = m.dim();
    let from = ty.of(&d);
    if !m.affordable(&from) {
        return None;
    }
    let count = m.size(&d) as f64;
    if ty.atom == BaseTy::Bool {
        let part = m.expr(&from);
        let name = ["any", "all"][m.rng.below(2)];
        return Some(Term::call(ty.clone(), Info::whole(1.0), name, vec![part]));
    }
    if !is_number(ty.atom) {
        return None;
    }
    let name = ["sum", "min", "max", "argmin", "argmax", "product"][m.rng.below(6)];
    match name {
        // Not even so many ones are added in any order.
        "sum" if ty.atom.is_float() && count > exact_to(ty.atom) => None,
        "sum" => {
            let part = m.summable(&from, count);
            let info = super::operators::sum_of(ty.atom, part.info, count);
            Some(Term::call(ty.clone(), info, name, vec![part]))
        }
        "product" if ty.atom.is_integer() => {
            let part = m.expr(&from);
            Some(Term::call(ty.clone(), Info::of(ty.atom), name, vec![part]))
        }
        "min" | "max" if m.is_inhabited(&d) => {
            let part = m.expr(&from);
            let info = part.info;
            Some(Term::call(ty.clone(), info, name, vec![part]))
        }
        "argmin" | "argmax" if m.is_inhabited(&d) && ty.atom == BaseTy::I64 => {
            let atom = m.number_atom();
            // Of vectors, lifted.
            let part = m.expr(&Ty::new(atom, [&ty.dims[..], &[d]].concat()));
            Some(Term::call(ty.clone(), Info::whole(count), name, vec![part]))
        }
        _ => None,
    }
}

/// Lengths, and the identity matrix.
fn sizes(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if ty.atom != BaseTy::I64 {
        return None;
    }
    match ty.dims.as_slice() {
        [] => {
            let d = m.dim();
            let most = m.size(&d) as f64;
            let of = m.ty(1).of(&d);
            if !m.affordable(&of) {
                return None;
            }
            // What it is the length of is not computed, so nothing in it may stop the program.
            let stop = m.stop.take();
            let part = m.expr(&of);
            m.stop = stop;
            let name = if of.rank() == 1 && m.rng.one_in(2) { "size" } else { "length" };
            Some(Term::call(ty.clone(), Info::whole(most), name, vec![part]))
        }
        [a, b] if a == b => Some(Term::leaf(ty.clone(), Info::whole(1.0), format!("(identity {a})"))),
        _ => None,
    }
}

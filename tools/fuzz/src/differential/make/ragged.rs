//! Boxes: forms that make them, and forms that open them.
//!
//! A hidden size is known by a bound alone, [`Maker::longest`], which every form here keeps: that bounds the work
//! of what is computed in rows, and the sums of floats in them.

use super::blocks::{reduce_along, scan};
use super::operators::zero;
use super::scalars::is_number;
use super::{Form, Maker};
use crate::differential::term::{Dim, HIDDEN, Info, Sigma, Term, Ty, bracket};
use remc_base::{BaseTy, Class};

/// For arrays of boxes, and boxes alone.
pub const BOXES: &[Form] = &[
    rows, rows, again, again, again, split, split, written, packed, filtered, filtered, unique, counts,
    counted, counted, lifted, cut, parted, itself, grown, grown,
];

/// For arrays of numbers.
pub const OPENS: &[Form] = &[rows, rows, rows, rows, joined, lengths, itself_reduced, pairs];

/// What a body makes for each box.
enum Goal {
    /// A value whose type does not mention what was opened.
    Same(Ty),
    /// One that does, and is a box again.
    Hides(Sigma),
}

/// `(box …)`
fn boxed(sigma: &Sigma, witnesses: &[String], contents: &str) -> String {
    let bindings: Vec<String> =
        sigma.indices.iter().zip(witnesses).map(|(i, d)| format!("({i} {d})")).collect();
    format!("(box ({}) {} {contents})", bindings.join(" "), sigma.body)
}

impl Maker {
    /// A dim whose size is at most that of what is hidden.
    pub fn short_dim(&mut self) -> Dim {
        for _ in 0..6 {
            let d = self.dim();
            if self.size(&d) <= self.longest {
                return d;
            }
        }
        Dim::Known(self.rng.below(4))
    }

    /// The type of an array of boxes.
    pub fn boxed_ty(&mut self, frame: &[Dim]) -> Ty {
        let atom = self.atom();
        let j = Dim::Var(HIDDEN.to_string());
        let name = HIDDEN.to_string();
        let one = [name.as_str()];
        let ty = match self.rng.below(16) {
            0..=8 => Ty::new(atom, [j]).hiding(&one),
            9 | 10 => {
                let d = self.short_dim();
                let dims = if self.rng.one_in(3) { [d, j] } else { [j, d] };
                Ty::new(atom, dims).hiding(&one)
            }
            11 => Ty::new(atom, [j.plus(1)]).hiding(&one),
            12 => Ty::new(atom, [j.clone(), j]).hiding(&one),
            13 => {
                let (a, b) = (format!("{HIDDEN}x"), format!("{HIDDEN}y"));
                let dims = [Dim::Var(a.clone()), Dim::Var(b.clone())];
                Ty::new(atom, dims).hiding(&[&a, &b])
            }
            _ => Ty::new(atom, [j.clone()]).hiding(&one).of(&j).hiding(&one),
        };
        ty.framed(frame)
    }

    /// The type of several boxes, or of something for each of several.
    pub fn rows_ty(&mut self) -> Ty {
        let d = self.dim();
        let ty = if self.rng.one_in(2) { self.boxed_ty(&[d]) } else { Ty::new(self.atom(), [d]) };
        if self.affordable(&ty) { ty } else { self.plain(1) }
    }

    /// Boxes in such a frame, for choice of the type of a variable.
    fn source(&mut self, frame: &[Dim]) -> Option<Ty> {
        let known: Vec<Ty> = (self.scope.iter().map(|v| &v.ty))
            .filter(|ty| ty.is_boxed() && ty.dims == frame)
            .cloned()
            .collect();
        if !self.rng.one_in(3)
            && let Some(ty) = self.rng.pick(&known)
        {
            return Some(ty.clone());
        }
        let ty = self.boxed_ty(frame);
        self.affordable(&ty).then_some(ty)
    }

    /// What is opened: names, and the type of the contents.
    fn open(&mut self, sigma: &Sigma) -> (Vec<String>, Ty) {
        let names: Vec<String> = sigma.indices.iter().map(|_| self.fresh("w")).collect();
        let dims: Vec<Dim> = names.iter().map(|w| Dim::Var(w.clone())).collect();
        (names, sigma.opened(&dims))
    }

    /// `(unbox part (v w …) body)`
    fn unboxed(&mut self, ty: &Ty, source: &Ty, goal: &Goal) -> Option<Term> {
        let part = self.expr(source);
        let most = self.longest;
        self.unboxed_part(ty, part, most, goal)
    }

    /// The same of a term that hides at most so much.
    fn unboxed_part(&mut self, ty: &Ty, part: Term, most: usize, goal: &Goal) -> Option<Term> {
        let (names, inside) = self.open(part.ty.boxed.as_ref()?);
        let v = self.fresh("v");
        let count = self.atoms(&part.ty.dims);
        let result = match goal {
            Goal::Same(ty) => ty.clone(),
            Goal::Hides(sigma) => {
                let dims: Vec<Dim> = names.iter().map(|w| Dim::Var(w.clone())).collect();
                sigma.opened(&dims)
            }
        };
        let mut bound = vec![(v.clone(), inside, part.info)];
        let beside =
            if self.rng.one_in(4) { self.beside(&part, &names, &mut bound) } else { Beside::Nothing };
        let mark = self.sizes.len();
        self.sizes.extend(names.iter().map(|w| (w.clone(), most)));
        self.rows += 1;
        let mut body = self.repeated(count, |m| m.with(bound, |m| m.body(&result)));
        self.rows -= 1;
        self.sizes.truncate(mark);
        let info = body.info;
        // What is hidden of another type than a vector's has to be said.
        if let Goal::Hides(sigma) = goal
            && (!sigma.is_vector() || self.rng.one_in(4))
        {
            body = Term::new(ty.shaped([]), info, boxed(sigma, &names, "§"), vec![body]);
        }
        let opened = format!("({v} {})", names.join(" "));
        Some(match beside {
            Beside::Nothing => Term::new(ty.clone(), info, format!("(unbox § {opened} §)"), vec![part, body]),
            Beside::Same(again) => {
                let b = self.fresh("b");
                let template = format!("(let (({b} §)) (unbox {b} {opened} {b} {again} §))");
                Term::new(ty.clone(), info, template, vec![part, body])
            }
            Beside::Items(c, items) => {
                let template = format!("(unbox § {opened} § ({c}) §)");
                Term::new(ty.clone(), info, template, vec![part, items, body])
            }
        })
    }

    /// What is opened side by side with boxes, of which the names of sizes are given: the same boxes once more, whose sizes
    /// are equal, or an array with an item for each box.
    fn beside(&mut self, part: &Term, names: &[String], bound: &mut Vec<(String, Ty, Info)>) -> Beside {
        let Some(sigma) = part.ty.boxed.as_ref().filter(|s| s.is_vector()) else { return Beside::Nothing };
        let c = self.fresh("c");
        if self.rng.one_in(2) {
            let dims: Vec<Dim> = names.iter().map(|w| Dim::Var(w.clone())).collect();
            bound.push((c.clone(), sigma.opened(&dims), part.info));
            return Beside::Same(format!("({c} {})", names.join(" ")));
        }
        let atom = self.atom();
        let items = self.expr(&Ty::new(atom, part.ty.dims.clone()));
        bound.push((c.clone(), Ty::new(atom, []), items.info));
        Beside::Items(c, items)
    }

    /// A body: often something is made along the opened size, or it is reduced.
    pub fn body(&mut self, ty: &Ty) -> Term {
        let opened =
            self.sizes.last().filter(|(name, _)| name.starts_with('w')).map(|(name, _)| name.clone());
        let Some(w) = opened else { return self.form(ty) };
        let d = Dim::Var(w.clone());
        self.fuel = self.fuel.max(2);
        match self.rng.below(5) {
            0 | 1 => {
                let atom = if self.rng.one_in(2) { ty.atom } else { self.atom() };
                let along = Ty::new(atom, [d]);
                if !self.affordable(&along) {
                    return self.form(ty);
                }
                let value = self.form(&along);
                let name = self.fresh("y");
                let bound = vec![(name.clone(), along, value.info)];
                let body = self.with(bound, |m| m.form(ty));
                let info = body.info;
                Term::new(ty.clone(), info, format!("(let (({name} §)) §)"), vec![value, body])
            }
            2 | 3 if !ty.is_boxed() && !ty.mentions(&w) => {
                reduce_along(self, ty, d).unwrap_or_else(|| self.form(ty))
            }
            2 | 3 if !ty.is_boxed() && ty.dims.first() == Some(&d) => {
                let along: [Form; 5] =
                    [scan, scan, super::arrays::sort, super::arrays::gather, super::arrays::combine];
                along[self.rng.below(5)](self, ty).unwrap_or_else(|| self.form(ty))
            }
            _ => self.form(ty),
        }
    }

    /// Without parts: boxes of sizes 0, 1, 2, … where there are several.
    pub fn boxed_leaf(&mut self, ty: &Ty, sigma: &Sigma) -> Term {
        let info = Info::whole(9.0);
        if sigma.indices.len() == 1 && !ty.dims.is_empty() && self.rng.one_in(2) {
            let (names, inside) = self.open(sigma);
            let v = self.fresh("v");
            let filled = self.filled(&inside);
            let (w, dims, k) = (&names[0], bracket(&ty.dims), 2 + self.rng.below(3));
            let body = if sigma.is_vector() { filled } else { boxed(sigma, &names, &filled) };
            let text = format!("(unbox (iota1 (% (iota {dims}) {k})) ({v} {w}) {body})");
            return Term::leaf(ty.clone(), info, text);
        }
        let witnesses: Vec<usize> = sigma.indices.iter().map(|_| self.rng.below(4)).collect();
        let dims: Vec<Dim> = witnesses.iter().map(|n| Dim::Known(*n)).collect();
        let inner = self.filled(&sigma.opened(&dims));
        let witnesses: Vec<String> = witnesses.iter().map(usize::to_string).collect();
        let one = boxed(sigma, &witnesses, &inner);
        if ty.dims.is_empty() {
            return Term::leaf(ty.clone(), info, one);
        }
        let text = format!("(replicate{{{} | {} []}} {one})", ty.element(), bracket(&ty.dims));
        Term::leaf(ty.clone(), info, text)
    }

    /// The text of an array whose numbers are small.
    fn filled(&mut self, ty: &Ty) -> String {
        match &ty.boxed {
            Some(sigma) => self.boxed_leaf(ty, &sigma.clone()).text(),
            None if ty.dims.is_empty() => super::literal(ty.atom, self.rng.range(-3, 9)),
            None if ty.atom == BaseTy::I64 && self.rng.one_in(2) => {
                let dims = bracket(&ty.dims);
                format!("(% (iota {dims}) 9)")
            }
            None => {
                let one = super::literal(ty.atom, self.rng.range(-3, 9));
                format!("(replicate{{{} | {} []}} {one})", ty.atom.name(), bracket(&ty.dims))
            }
        }
    }
}

/// What is opened beside boxes.
enum Beside {
    Nothing,
    /// The same boxes, by these names.
    Same(String),
    Items(String, Term),
}

/// A body for each box, whose result does not mention what was opened: numbers, or a box of its own.
fn rows(m: &mut Maker, ty: &Ty) -> Option<Term> {
    // Along all axes, as a rule.
    let of = if m.rng.one_in(3) { m.rng.below(ty.rank() + 1) } else { ty.rank() };
    let (frame, cell) = ty.dims.split_at(of);
    let result = ty.shaped(cell);
    let source = m.source(frame)?;
    m.unboxed(ty, &source, &Goal::Same(result))
}

/// Boxes from boxes of as many sizes, which the body keeps.
fn again(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone()?;
    let source = m.source(&ty.dims)?;
    let same = source.boxed.as_ref()?.indices.len() == sigma.indices.len();
    same.then(|| m.unboxed(ty, &source, &Goal::Hides(*sigma)))?
}

/// An array cut into rows.
fn split(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    let [k] = ty.dims.as_slice() else { return None };
    let ints = Ty::new(BaseTy::I64, [k.clone()]);
    let inputs: Vec<(String, Dim)> = (m.cuts.iter())
        .filter(|c| c.parts == *k && m.size(&c.whole) <= m.longest)
        .map(|c| (c.name.clone(), c.whole.clone()))
        .collect();
    let (lengths, whole) = match m.rng.pick(&inputs).cloned() {
        Some((name, whole)) if !m.rng.one_in(4) => {
            (Term::leaf(ints.clone(), Info::whole(100.0), name), whole)
        }
        _ => {
            let whole = m.short_dim();
            if !m.is_inhabited(k) {
                return None;
            }
            // Each element says which row it makes longer, so that the sum is right.
            let at = m.expr(&Ty::new(BaseTy::I64, [whole.clone()]));
            let text = format!("(histogram {k} (% § {k}))");
            (Term::new(ints.clone(), Info::whole(100.0), text, vec![at]), whole)
        }
    };
    let xs = sigma.opened(std::slice::from_ref(&whole));
    if !m.affordable(&xs) {
        return None;
    }
    let lengths = if m.is_inhabited(k) && m.stops() {
        Term::new(ints, Info::whole(100.0), ["(+ 1 §)", "(- § 1)"][m.rng.below(2)], vec![lengths])
    } else {
        lengths
    };
    let xs = m.expr(&xs);
    let info = xs.info;
    Some(Term::call(ty.clone(), info, "split", vec![xs, lengths]))
}

/// `(boxes …)`
fn written(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone()?;
    let [Dim::Known(n @ 1..=4)] = ty.dims.as_slice() else { return None };
    let mut text = format!("(boxes ({}) {} [{n}]", sigma.indices.join(" "), sigma.body);
    let mut parts = vec![];
    let mut info = Info::whole(0.0);
    for _ in 0..*n {
        let dims: Vec<Dim> = sigma.indices.iter().map(|_| m.short_dim()).collect();
        let inner = sigma.opened(&dims);
        if !m.affordable(&inner) {
            return None;
        }
        let part = m.expr(&inner);
        info = info.or(part.info);
        let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
        text.push_str(&format!(" (({}) §)", dims.join(" ")));
        parts.push(part);
    }
    text.push(')');
    Some(Term::new(ty.clone(), info, text, parts))
}

/// `(box …)`
fn packed(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone()?;
    if !ty.dims.is_empty() {
        return None;
    }
    let dims: Vec<Dim> = sigma.indices.iter().map(|_| m.short_dim()).collect();
    let inner = sigma.opened(&dims);
    if !m.affordable(&inner) {
        return None;
    }
    let part = m.expr(&inner);
    let info = part.info;
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let text = boxed(&sigma, &dims, "§");
    Some(Term::new(ty.clone(), info, text, vec![part]))
}

/// A function of vectors whose result is a box, over the type's frame: `head` and the ranks of its arguments, which
/// have the contents' first axis.
fn over(m: &mut Maker, ty: &Ty, head: &str, most: usize, first: BaseTy, guard: &str) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    let d = m.short_dim();
    let cell = sigma.opened(std::slice::from_ref(&d));
    let xs = cell.framed(&ty.dims);
    if m.size(&d) * most > m.longest || !m.affordable(&xs) {
        return None;
    }
    // The first argument may be one for all.
    let own = m.rng.one_in(4);
    let mut dims = if own { vec![] } else { ty.dims.clone() };
    dims.push(d);
    let chosen = m.expr(&Ty::new(first, dims));
    let chosen = Term::new(chosen.ty.clone(), Info::whole(9.0), guard, vec![chosen]);
    let xs = m.expr(&xs);
    let info = xs.info;
    let rank = cell.rank();
    let head = if ty.dims.is_empty() { head.to_owned() } else { format!("~(1 {rank}){head}") };
    Some(Term::call(ty.clone(), info, &head, vec![chosen, xs]))
}

fn filtered(m: &mut Maker, ty: &Ty) -> Option<Term> {
    over(m, ty, "filter", 1, BaseTy::Bool, "§")
}

fn counts(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let guard = if m.times == 1.0 && m.stops() { "(- (% § 3) 5)" } else { "(% § 3)" };
    over(m, ty, "replicate/counts", 2, BaseTy::I64, guard)
}

fn unique(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    if sigma.body.is_boxed() || sigma.body.rank() != 1 || !ty.atom.is_in(Class::Ord) {
        return None;
    }
    let d = m.short_dim();
    let xs = Ty::new(ty.atom, [&ty.dims[..], &[d]].concat());
    if !m.affordable(&xs) {
        return None;
    }
    let xs = m.expr(&xs);
    let info = xs.info;
    let head = if ty.dims.is_empty() { "unique" } else { "~(1)unique" };
    Some(Term::call(ty.clone(), info, head, vec![xs]))
}

/// Lengths for rows.
fn sizes(m: &mut Maker, frame: &[Dim]) -> Term {
    let ty = Ty::new(BaseTy::I64, frame);
    let longest = m.longest;
    let info = Info::whole(longest as f64);
    if let [d] = frame {
        if m.is_inhabited(d) && m.stops() {
            let at = m.rng.below(m.size(d));
            return Term::leaf(ty, info, format!("(select (= {at} (iota [{d}])) -2 3)"));
        }
        if m.is_inhabited(d) && m.rng.one_in(4) {
            // A long one among many that are short.
            let (at, short) = (m.rng.below(m.size(d)), m.rng.below(2));
            return Term::leaf(ty, info, format!("(select (= {at} (iota [{d}])) {longest} {short})"));
        }
    }
    let any = m.expr(&ty);
    let text = if m.rng.one_in(2) { "(bit-and 3 §)".to_owned() } else { format!("(% § {})", longest + 1) };
    Term::new(ty, info, text, vec![any])
}

/// `(iota1 lengths)`
fn counted(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    if sigma.body.is_boxed() || sigma.body.rank() != 1 || ty.atom != BaseTy::I64 {
        return None;
    }
    let sizes = sizes(m, &ty.dims);
    let info = Info::whole(m.longest as f64);
    Some(Term::call(ty.clone(), info, "iota1", vec![sizes]))
}

/// `(lift [w n] body)`
fn lifted(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone()?;
    if !ty.dims.is_empty() || sigma.indices.len() != 1 {
        return None;
    }
    let size = sizes(m, &[]);
    let w = m.fresh("w");
    let result = sigma.opened(&[Dim::Var(w.clone())]);
    let mark = m.sizes.len();
    m.sizes.push((w.clone(), m.longest));
    let body = m.body(&result);
    m.sizes.truncate(mark);
    let info = body.info;
    Some(Term::new(ty.clone(), info, format!("(lift [{w} §] §)"), vec![size, body]))
}

/// A loop in which an array gets longer: at one end or the other, in all rounds or in some, of what is known without it or
/// read in it.
fn grown(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector() && !s.body.is_boxed())?;
    let (first, step) = (m.rng.below(2), 1 + m.rng.below(2));
    let rounds = m.longest.saturating_sub(first) / step;
    let one = sigma.opened(&[Dim::Known(step)]);
    if !ty.dims.is_empty() || rounds == 0 || !m.affordable(&one) {
        return None;
    }
    let [i, n, g, v, w] = ["i", "n", "g", "v", "w"].map(|stem| m.fresh(stem));
    let rounds = 1 + m.rng.below(rounds.min(6));
    let count = m.expr(&Ty::scalar(BaseTy::I64));
    let start = m.expr(&sigma.opened(&[Dim::Known(first)]));
    let bound = vec![(i.clone(), Ty::scalar(BaseTy::I64), Info::whole(rounds as f64))];
    let (items, cond) = m.repeated(rounds as f64, |m| {
        m.with(bound, |m| (m.expr(&one), m.rng.one_in(3).then(|| m.expr(&Ty::scalar(BaseTy::Bool)))))
    });
    let info = start.info.or(items.info);
    let read = sigma.body.rank() == 1 && is_number(ty.atom) && m.rng.one_in(3);
    let items_text = if read { format!("(reduce/zero max2 § {v})") } else { "§".to_owned() };
    let items_text = if read {
        format!("(replicate{{{} | [{step}] []}} {items_text})", ty.atom.name())
    } else {
        items_text
    };
    let more = if m.rng.one_in(3) { format!("{items_text} {v}") } else { format!("{v} {items_text}") };
    let longer = boxed(&sigma, &[format!("(+ {w} {step})")], &format!("(append {more})"));
    let same = boxed(&sigma, std::slice::from_ref(&w), &v);
    let next = if cond.is_some() { format!("(if § {longer} {same})") } else { longer };
    let begin = boxed(&sigma, &[first.to_string()], "§");
    let last = m.fresh("y");
    let text = format!(
        "(let (({n} (% § {}))) (let-values ((({last} {g}) (loop (({i} 0) ({g} {begin})) while (< {i} {n}) \
         do (values (+ {i} 1) (unbox {g} ({v} {w}) {next}))))) {g}))",
        rounds + 1
    );
    let items = if read {
        Term::call(
            Ty::scalar(ty.atom),
            items.info,
            "index",
            vec![items, Term::leaf(Ty::new(BaseTy::I64, [Dim::Known(1)]), Info::whole(1.0), "[0]")],
        )
    } else {
        items
    };
    let mut parts = vec![count, start];
    parts.extend(cond);
    parts.push(items);
    Some(Term::new(ty.clone(), info, text, parts))
}

/// A prefix of a vector, of a length that is computed.
fn cut(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    let d = m.short_dim();
    let xs = sigma.opened(std::slice::from_ref(&d));
    if !ty.dims.is_empty() || !m.affordable(&xs) {
        return None;
    }
    let n = m.expr(&Ty::scalar(BaseTy::I64));
    let past = if m.stops() { "3" } else { "0" };
    let n = Term::new(n.ty.clone(), Info::whole(99.0), format!("(+ {past} (% § (+ 1 {d})))"), vec![n]);
    let xs = m.expr(&xs);
    let info = xs.info;
    Some(Term::call(ty.clone(), info, ["take1", "drop1"][m.rng.below(2)], vec![xs, n]))
}

fn parted(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    let d = m.short_dim();
    let xs = sigma.opened(std::slice::from_ref(&d));
    if !ty.dims.is_empty() || !m.affordable(&xs) {
        return None;
    }
    let parts = vec![m.expr(&Ty::new(BaseTy::Bool, [d])), m.expr(&xs)];
    let info = parts[1].info;
    let (a, b) = (m.fresh("y"), m.fresh("y"));
    let one = if m.rng.one_in(2) { &a } else { &b };
    let text = format!("(let-values ((({a} {b}) (partition § §))) {one})");
    Some(Term::new(ty.clone(), info, text, parts))
}

/// A box that opens by itself, and what is made of it is boxed again.
fn itself(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let sigma = ty.boxed.clone().filter(|s| s.is_vector())?;
    if !ty.dims.is_empty() {
        return None;
    }
    let part = m.expr(ty);
    let info = part.info;
    if sigma.body.is_boxed() || !is_number(ty.atom) || m.rng.one_in(3) {
        return Some(Term::call(ty.clone(), info, "reverse", vec![part]));
    }
    let scalar = m.expr(&Ty::scalar(ty.atom));
    let most = if ty.atom.is_float() { Info::ANY } else { Info::of(ty.atom) };
    Some(match m.rng.below(4) {
        0 => Term::call(ty.clone(), info.or(scalar.info), "max2", vec![part, scalar]),
        1 => Term::call(ty.clone(), most, "-", vec![scalar, part]),
        2 => {
            // One name, one size.
            let y = m.fresh("y");
            let text = format!("(let (({y} §)) (- {y} (* {y} §)))");
            Term::new(ty.clone(), most, text, vec![part, scalar])
        }
        _ if ty.atom.is_integer() && sigma.body.rank() == 1 => {
            Term::call(ty.clone(), most, "iscan/zero +", vec![scalar, part])
        }
        _ => Term::call(ty.clone(), info, "sort", vec![part]),
    })
}

/// A box that opens by itself to be reduced.
fn itself_reduced(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if !ty.dims.is_empty() {
        return None;
    }
    let name = HIDDEN.to_string();
    let source = ty.of(&Dim::Var(name.clone())).hiding(&[&name]);
    if !m.affordable(&source) {
        return None;
    }
    if ty.atom == BaseTy::I64 && m.rng.one_in(3) {
        let info = Info::whole(m.longest as f64);
        // What it is the length of is computed as far as its length needs, so nothing in it may stop.
        let stop = m.stop.take();
        let part = m.expr(&source);
        m.stop = stop;
        return Some(Term::call(ty.clone(), info, "length", vec![part]));
    }
    let op = m.associative(ty);
    let count = m.longest as f64;
    let part = m.expr(&source);
    let part = if op.adds { m.made_summable_box(part, count + 1.0)? } else { part };
    let part = op.operand(part);
    let zero = zero(m, ty, &op);
    let info = m.combined(&op, part.info, Some(zero.info), count, ty.atom);
    Some(Term::call(ty.clone(), info, &format!("reduce/zero {}", op.text), vec![zero, part]))
}

impl Maker {
    /// A box whose numbers may be added in any order.
    fn made_summable_box(&mut self, part: Term, count: f64) -> Option<Term> {
        if !part.ty.atom.is_float() || super::parts::is_summable(&part, count) {
            return Some(part);
        }
        let ty = part.ty.clone();
        Some(Term::call(ty, Info::whole(1.0), "sign", vec![part]))
    }
}

/// All rows in one.
fn joined(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let d = m.dim();
    let source = m.source(std::slice::from_ref(&d))?;
    let sigma = source.boxed.as_ref().filter(|s| s.is_vector())?;
    let most = m.size(&d) * m.longest;
    let all = sigma.opened(&[Dim::Known(most)]);
    if !m.affordable(&all) {
        return None;
    }
    let part = m.expr(&source);
    let info = part.info;
    let part = Term::call(source.shaped([]), info, "concat", vec![part]);
    m.unboxed_part(ty, part, most, &Goal::Same(ty.clone()))
}

/// How long rows are.
fn lengths(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let [d] = ty.dims.as_slice() else { return None };
    let source = m.source(std::slice::from_ref(d))?;
    if ty.atom != BaseTy::I64 || !source.boxed.as_ref()?.is_vector() {
        return None;
    }
    let part = m.expr(&source);
    Some(Term::call(ty.clone(), Info::whole(m.longest as f64), "segments", vec![part]))
}

/// Rows of pairs, as a sparse matrix has them.
fn pairs(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let [k] = ty.dims.as_slice() else { return None };
    if !is_number(ty.atom) || !m.is_inhabited(k) {
        return None;
    }
    let (n, d) = (m.short_dim(), m.dim());
    let item = Ty::scalar(ty.atom);
    let (columns, numbers, x) = (Ty::new(BaseTy::I64, [n.clone()]), item.of(&n), item.of(&d));
    if !m.is_inhabited(&d) || !m.affordable(&x) || !m.affordable(&numbers) {
        return None;
    }
    let at = m.expr(&columns);
    let lengths = m.expr(&columns);
    let numbers = m.expr(&numbers);
    // The interpreter makes it anew for each row.
    let rows = m.atoms(&ty.dims);
    let x = m.repeated(rows, |m| m.expr(&x));
    let (v, w, c, a) = (m.fresh("v"), m.fresh("w"), m.fresh("y"), m.fresh("y"));
    let t = ty.atom.name();
    let op = if ty.atom.is_integer() { "+" } else { "max2" };
    let zero = super::literal(ty.atom, 0);
    let times = if ty.atom.is_integer() { "*" } else { "min2" };
    let info =
        if ty.atom.is_float() { numbers.info.or(x.info).or(Info::whole(0.0)) } else { Info::of(ty.atom) };
    let text = format!(
        "(unbox (split ((λ ([a int] [b {t}]) (values a b)) (% § {d}) §) (histogram {k} (% § {k}))) ({v} {w}) \
         (let-values ((({c} {a}) {v})) (reduce/zero {op} {zero} ({times} {a} (gather § {c})))))"
    );
    Some(Term::new(ty.clone(), info, text, vec![at, numbers, lengths, x]))
}

//! Boxes that hide shapes of different ranks: forms that make them, move them about, and open them.
//!
//! A [`Ty`] has one dim for each axis, so it has no word for what such a box holds. Here boxes are terms of their
//! own kind, `(Σ (@s) [int @s])`, which no other form sees: what comes out is numbers, or is a result of the program.
//!
//! ```text
//! (unbox (append (boxes …) (reverse …)) (v @w) (sum (ravel v)))     one number for each of several boxes
//! ```
//!
//! Shapes are of at most three axes of at most three where they are made, and a few more where a loop puts axes in
//! front, so that there are few elements.

use super::{Form, Maker};
use crate::differential::program::{Output, Tolerance};
use crate::differential::term::{Dim, Info, Term, Ty};
use remc_base::BaseTy;

/// For numbers.
pub const OPENS: &[Form] = &[opened];

/// About how many numbers there are in a box, at most.
const MOST: f64 = 300.0;

/// A part of a form here: no type says what it is.
fn term(template: impl Into<String>, parts: Vec<Term>) -> Term {
    Term::new(Ty::scalar(BaseTy::I64), Info::of(BaseTy::I64), template, parts)
}

/// A number for each of some boxes.
fn opened(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if ty.atom != BaseTy::I64 || ty.is_boxed() || m.times * m.atoms(&ty.dims) * MOST > m.most * 8.0 {
        return None;
    }
    let (v, w) = (m.fresh("v"), m.fresh("@w"));
    let part = match ty.dims.as_slice() {
        [] => m.shaped(2),
        [d] => m.shaped_of(d, 2),
        _ => return None,
    };
    let number = m.measured(&v, &w);
    let (info, ty) = (Info::of(BaseTy::I64), ty.clone());
    Some(Term::new(ty, info, format!("(unbox § ({v} {w}) §)"), vec![part, number]))
}

impl Maker {
    /// Such boxes as a result.
    pub fn shaped_output(&mut self) -> Output {
        self.fuel = self.fuel.max(4);
        let value = match self.rng.below(3) {
            0 => self.shaped(2),
            _ => {
                let d = Dim::Known(self.rng.below(4));
                self.shaped_of(&d, 2)
            }
        };
        Output { value, tolerance: Tolerance::Exact }
    }

    /// A small natural number.
    fn count(&mut self, below: usize) -> Term {
        let any = self.expr(&Ty::scalar(BaseTy::I64));
        term(format!("(% § {below})"), vec![any])
    }

    /// A number of an array `v` of shape `w`.
    fn measured(&mut self, v: &str, w: &str) -> Term {
        let first = format!("(replicate{{int | [(rank {w})] []}} §)");
        match self.rng.below(7) {
            0 => term(format!("(rank {v})"), vec![]),
            1 => term(format!("(size {v})"), vec![]),
            2 => term(format!("(sum (* 2 (shape {v})))"), vec![]),
            3 => {
                // Past the end, or the first element.
                let at = if self.rows == 0 && self.stops() { "3" } else { "0" };
                let text = format!("(if (> (size {v}) 0) (index{{int | {w} [] (rank {w})}} {v} {first}) -1)");
                term(text, vec![term(at, vec![])])
            }
            4 => term(format!("(sum (ravel (* {v} iota{{ | {w}}})))"), vec![]),
            _ => term(format!("(sum (ravel {v}))"), vec![]),
        }
    }

    /// The elements of an array of a shape that is written so.
    fn elements_of(&mut self, shape: &str) -> Term {
        if self.rng.one_in(2) {
            return term(format!("iota{{ | {shape}}}"), vec![]);
        }
        let one = self.expr(&Ty::scalar(BaseTy::I64));
        term(format!("(replicate{{int | {shape} []}} §)"), vec![one])
    }

    fn shape(&mut self) -> String {
        let dims: Vec<String> =
            (0..self.rng.below(4)).map(|_| [1, 2, 3, 2, 0][self.rng.below(5)].to_string()).collect();
        format!("[{}]", dims.join(" "))
    }

    /// The box of what the vector of this many numbers says.
    fn lifted_shape(&mut self, count: Term) -> Term {
        let (w, t) = (self.fresh("@w"), self.fresh("@t"));
        let sign = if self.rows == 0 && self.stops() { "(- 1 (iota [§]))" } else { "(+ 1 (iota [§]))" };
        let dims = [sign, "(- 3 (iota [§]))", "(iota [§])"][self.rng.below(3)];
        let elements = self.elements_of(&w);
        term(format!("(lift ({w} {dims}) (box (({t} {w})) [int {t}] §))"), vec![count, elements])
    }

    /// One box.
    fn shaped(&mut self, depth: usize) -> Term {
        self.fuel -= 1;
        let depth = depth.saturating_sub(1);
        match self.rng.below(if depth == 0 { 4 } else { 10 }) {
            0 | 1 => {
                let shape = self.shape();
                let elements = self.elements_of(&shape);
                term(format!("(box ((@s {shape})) [int @s] §)"), vec![elements])
            }
            2 | 3 => {
                let count = self.count(4);
                self.lifted_shape(count)
            }
            4 | 5 => {
                let flag = self.expr(&Ty::scalar(BaseTy::Bool));
                let parts = vec![flag, self.shaped(depth), self.shaped(depth)];
                term("(if § § §)", parts)
            }
            6 | 7 => {
                let (b, v, w, t) = (self.fresh("y"), self.fresh("v"), self.fresh("@w"), self.fresh("@t"));
                let (axes, body) = match self.rng.below(3) {
                    0 => (format!("[2 {w}]"), format!("(append [{v}] [(+ {v} 1)])")),
                    1 => (format!("[{w} 2]"), format!("(replicate{{int | [{w} 2] []}} (rank {v}))")),
                    _ => (format!("[1 {w}]"), format!("[(* 2 {v})]")),
                };
                let parts = vec![self.count(4), self.shaped(depth)];
                let step = format!("(unbox {b} ({v} {w}) (box (({t} {axes})) [int {t}] {body}))");
                term(format!("(iterate § (λ ([{b} (Σ (@s) [int @s])]) {step}) §)"), parts)
            }
            8 => {
                let n = 1 + self.rng.below(3);
                let parts = vec![self.shaped_of(&Dim::Known(n), depth), self.count(n)];
                term("(index-item § §)", parts)
            }
            _ => {
                let part = self.shaped(depth);
                self.kept(part)
            }
        }
    }

    /// As many boxes as the dim says.
    fn shaped_of(&mut self, d: &Dim, depth: usize) -> Term {
        self.fuel -= 1;
        let depth = depth.saturating_sub(1);
        match (self.rng.below(8), d) {
            (0..=2, Dim::Known(n @ 1..=4)) => {
                let shapes: Vec<String> = (0..*n).map(|_| self.shape()).collect();
                let parts = shapes.iter().map(|s| self.elements_of(s)).collect();
                let rows: String = shapes.iter().map(|s| format!(" (({s}) §)")).collect();
                term(format!("(boxes (@s) [int @s] [{n}]{rows})"), parts)
            }
            (3, Dim::Known(n @ 2..=6)) if depth > 0 => {
                let k = self.rng.below(n + 1);
                let parts =
                    vec![self.shaped_of(&Dim::Known(k), depth), self.shaped_of(&Dim::Known(n - k), depth)];
                term("(append § §)", parts)
            }
            (4, _) if depth > 0 => {
                let parts = vec![self.shaped_of(d, depth)];
                term("(reverse §)", parts)
            }
            (5, _) if depth > 0 && self.is_inhabited(d) => {
                let parts = vec![self.shaped_of(d, depth), self.expr(&Ty::scalar(BaseTy::I64))];
                term("(rotate § [(% § 7)])", parts)
            }
            (6, _) if depth > 0 => {
                let part = self.shaped_of(d, depth);
                self.kept(part)
            }
            _ => {
                let i = self.fresh("y");
                let count = term(format!("(% {i} 4)"), vec![]);
                self.rows += 1;
                let one = self.lifted_shape(count);
                self.rows -= 1;
                term(format!("((λ ([{i} int]) §) (iota [{d}]))"), vec![one])
            }
        }
    }

    /// Each box opened, and what is computed boxed in the same shape.
    fn kept(&mut self, part: Term) -> Term {
        let (v, w, t) = (self.fresh("v"), self.fresh("@w"), self.fresh("@t"));
        let by = format!("(replicate{{int | [(rank {w})] []}} §)");
        let n = |m: &mut Maker| vec![m.count(5)];
        let body = match self.rng.below(6) {
            0 => term(format!("(rotate{{int | {w} []}} {v} {by})"), n(self)),
            1 => term(format!("(subarray/wrap{{int | {w} {w} []}} {v} {by})"), n(self)),
            2 => term(format!("(subarray/fill{{int | {w} {w} []}} {v} {by} -7)"), n(self)),
            3 => term(format!("(reshape{{int | [(size {w})] {w}}} (reverse (ravel {v})))"), vec![]),
            4 => term(format!("(with-shape {v} [1 §])"), n(self)),
            _ => term(format!("(+ {v} §)"), n(self)),
        };
        term(format!("(unbox § ({v} {w}) (box (({t} {w})) [int {t}] §))"), vec![part, body])
    }
}

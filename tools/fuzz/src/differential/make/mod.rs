//! Programs for the differential test, made from types.
//!
//! [`Maker::expr`] answers a type with a term of it: a variable, a literal, or a form whose parts it asks
//! for in turn. Dims of the entry are variables whose sizes the maker knows, so that it bounds the work
//! of a run, keeps indices in range, and puts one out of range where a program is to stop.

mod arrays;
mod blocks;
mod functions;
mod operators;
mod parts;
mod ragged;
mod ranks;
mod scalars;
mod states;

use super::inputs::{self, Lengths};
use super::program::{Definition, Output, Param, Program, Statement, Tolerance};
use super::term::{Dim, HIDDEN, Info, Term, Ty, literal};
use crate::rng::Rng;
use remc_base::{Atom, BaseTy, Scalar, Value};

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let stop = rng.one_in(5).then(|| rng.below(4));
    let fuel = 4 + rng.below(22) as i64;
    let mut m = Maker {
        rng,
        sizes: vec![],
        scope: vec![],
        functions: vec![],
        names: 0,
        fuel,
        times: 1.0,
        most: 2000.0,
        stop,
        special: false,
        ragged: false,
        longest: 6,
        cuts: vec![],
        rows: 0,
        several: false,
    };
    m.program()
}

struct Variable {
    name: String,
    ty: Ty,
    info: Info,
}

struct Function {
    name: String,
    cells: Vec<Ty>,
    result: Ty,
    info: Info,
}

struct Maker {
    rng: Rng,
    /// The sizes of dim variables; of an opened one, the greatest.
    sizes: Vec<(String, usize)>,
    scope: Vec<Variable>,
    functions: Vec<Function>,
    names: usize,
    /// About how many more forms there may be.
    fuel: i64,
    /// How often what is being made runs.
    times: f64,
    /// How many atoms may be computed at one place.
    most: f64,
    /// How many more guarded places pass before one is made to fail.
    stop: Option<usize>,
    /// Whether float inputs hold NaN, infinities and negative zeros.
    special: bool,
    /// Whether there are boxes.
    ragged: bool,
    /// What a box hides is at most so many.
    longest: usize,
    /// Inputs by which arrays are cut into rows.
    cuts: Vec<Cut>,
    /// How many arrays of boxes what is being made is inside of.
    rows: usize,
    /// Whether the place that stops the program runs more than once.
    several: bool,
}

/// An input whose numbers, so many as `parts`, add up to the size of `whole`.
struct Cut {
    name: String,
    parts: Dim,
    whole: Dim,
}

/// A form for a type, where there is one.
type Form = fn(&mut Maker, &Ty) -> Option<Term>;

impl Maker {
    fn program(&mut self) -> Program {
        self.special = self.rng.one_in(4);
        let large = self.rng.one_in(12);
        for name in ["n", "m", "k"].into_iter().take(1 + self.rng.below(3)) {
            let size = match self.rng.below(16) {
                0 => 0,
                1 | 2 => 1,
                3 | 4 => 2,
                5 | 6 => 3,
                7..=9 => 4 + self.rng.below(6),
                10 | 11 => 64,
                12 | 13 => 65,
                _ => 10 + self.rng.below(30),
            };
            self.sizes.push((name.to_owned(), size));
        }
        if large {
            let n = 1000 + self.rng.below(3200);
            self.most = 8000.0;
            self.sizes[0].1 = n;
        }
        self.ragged = !self.rng.one_in(4);
        if self.ragged && !large {
            self.longest = [6, 6, 9, 20, 70, 300][self.rng.below(6)];
            self.most = 4000.0;
            self.fuel += 8;
        }
        let params = self.params();
        let entry_dims = self.sizes.clone();
        let definitions = self.definitions();
        for p in &params {
            let info = info_of(&p.input);
            self.scope.push(Variable { name: p.name.clone(), ty: p.ty.clone(), info });
            if let (Some(total), [parts]) = (&p.sums_to, p.ty.dims.as_slice()) {
                let cut = Cut { name: p.name.clone(), parts: parts.clone(), whole: Dim::Var(total.clone()) };
                self.cuts.push(cut);
            }
        }
        let mut statements = vec![];
        let count = 1 + self.rng.below(4);
        for i in 0..count {
            let ty = if self.ragged && self.rng.one_in(3) { self.rows_ty() } else { self.ty(3) };
            self.fuel = self.fuel.max(3);
            let share = self.fuel / (count - i) as i64;
            let rest = self.fuel - share;
            self.fuel = share.max(3);
            let value = self.form(&ty);
            self.fuel += rest;
            let name = self.fresh("v");
            self.scope.push(Variable { name: name.clone(), ty: value.ty.clone(), info: value.info });
            statements.push(Statement { name, value });
        }
        let mut outputs: Vec<Output> = vec![];
        for s in &statements {
            // What is used by another statement need not come out; that it does keeps it from being fused.
            let used = statements.iter().any(|t| mentions(&t.value, &s.name));
            if !used || self.rng.one_in(3) {
                let value = Term::leaf(s.value.ty.clone(), s.value.info, s.name.clone());
                outputs.push(Output { value, tolerance: Tolerance::Exact });
            }
        }
        if self.rng.one_in(4) {
            outputs.extend(self.inexact());
        }
        if self.rng.one_in(5) {
            outputs.extend(self.boxed());
        }
        if self.ragged && self.rng.one_in(6) {
            outputs.push(self.shaped_output());
        }
        let fine = self.rng.one_in(2);
        let plain = !self.rng.one_in(4);
        let several = self.several;
        Program { fine, plain, definitions, sizes: entry_dims, params, statements, outputs, several }
    }

    /// Each dim is that of at least one parameter.
    fn params(&mut self) -> Vec<Param> {
        let dims: Vec<Dim> = self.sizes.iter().map(|(n, _)| Dim::Var(n.clone())).collect();
        let mut tys = vec![];
        for d in &dims {
            let mut shape = vec![d.clone()];
            if self.rng.one_in(3)
                && let Some(other) = self.rng.pick(&dims).cloned()
            {
                shape.push(other);
            }
            let mut ty = Ty::new(self.atom(), shape);
            if !self.affordable(&ty) {
                ty.dims.truncate(1);
            }
            tys.push(ty);
        }
        for _ in 0..self.rng.below(3) {
            let ty = self.ty(2);
            // An input's shape is made of dims and numbers.
            if ty.dims.iter().all(|d| matches!(d, Dim::Var(_) | Dim::Known(_))) {
                tys.push(ty);
            }
        }
        if self.ragged && self.rng.one_in(2) {
            let frame: Vec<Dim> =
                (0..1 + self.rng.below(5) / 4).filter_map(|_| self.rng.pick(&dims).cloned()).collect();
            let ty = self.boxed_ty(&frame);
            let known = |ty: &Ty| ty.dims.iter().all(|d| matches!(d, Dim::Var(_) | Dim::Known(_)));
            let known = known(&ty) && ty.boxed.as_ref().is_none_or(|s| inputs::is_plain(&s.body));
            if known && self.affordable(&ty) {
                tys.push(ty);
            }
        }
        let mut params: Vec<Param> = tys
            .into_iter()
            .enumerate()
            .map(|(i, ty)| {
                let input = self.input(&ty);
                Param { name: format!("x{i}"), ty, input, sums_to: None }
            })
            .collect();
        if self.ragged && self.rng.one_in(2) {
            params.extend(self.cut());
        }
        params
    }

    /// Lengths that an array may be cut into.
    fn cut(&mut self) -> Option<Param> {
        let (whole, total) = self.rng.pick(&self.sizes)?.clone();
        let (parts, count) = self.rng.pick(&self.sizes)?.clone();
        if count == 0 && total > 0 {
            return None;
        }
        let lengths = Lengths::random(&mut self.rng).cut(&mut self.rng, count, total);
        let scalars = lengths.iter().map(|n| Scalar::I64(*n as i64));
        let input = Value::of_scalars(BaseTy::I64, vec![count], scalars);
        let ty = Ty::new(BaseTy::I64, [Dim::Var(parts)]);
        Some(Param { name: "lengths".into(), ty, input, sums_to: Some(whole) })
    }

    fn input(&mut self, ty: &Ty) -> Value {
        let wild = self.rng.one_in(3);
        let whole = self.rng.one_in(2);
        let lengths = Lengths::random(&mut self.rng);
        let (sizes, longest) = (self.sizes.clone(), self.longest);
        // Both draw from the maker's source.
        let maker = std::cell::RefCell::new(self);
        let mut hidden = |count: usize, indices: usize| {
            let rng = &mut maker.borrow_mut().rng;
            let columns: Vec<Vec<usize>> = (0..indices).map(|_| lengths.draw(rng, count, longest)).collect();
            (0..count).map(|i| columns.iter().map(|c| c[i]).collect()).collect()
        };
        let mut number = |atom: BaseTy| maker.borrow_mut().number(atom, wild, whole);
        inputs::value(ty, &sizes, &mut hidden, &mut number)
    }

    fn number(&mut self, atom: BaseTy, wild: bool, whole: bool) -> Scalar {
        let small = self.rng.range(-9, 9);
        if atom.is_float() {
            if self.special && !whole && self.rng.one_in(6) {
                let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-310, 3e38];
                let x = special[self.rng.below(special.len())];
                return Scalar::from_float(atom, x).unwrap_or(Scalar::Bool(false));
            }
            let x = if whole { small as f64 } else { small as f64 + self.rng.below(1000) as f64 / 999.0 };
            return Scalar::from_float(atom, x).unwrap_or(Scalar::Bool(false));
        }
        match atom.integer_range() {
            Some((low, high)) if wild => {
                let n = match self.rng.below(4) {
                    0 => low,
                    1 => high,
                    _ => low + i128::from(self.rng.next_u64()) % (high - low + 1),
                };
                Scalar::from_integer(atom, n).unwrap_or(Scalar::Bool(false))
            }
            Some((low, _)) => {
                let n = if low == 0 { small.abs() } else { small };
                Scalar::from_integer(atom, i128::from(n)).unwrap_or(Scalar::Bool(false))
            }
            None if atom == BaseTy::Bool => Scalar::Bool(small & 1 == 1),
            None => Scalar::Char(char::from(b'a' + small.rem_euclid(26) as u8)),
        }
    }

    /// Functions of scalars or vectors, that are applied over frames.
    fn definitions(&mut self) -> Vec<Definition> {
        let mut all = vec![];
        // A definition has dims of its own: here none.
        let sizes = std::mem::take(&mut self.sizes);
        let stop = self.stop.take();
        for _ in 0..self.rng.below(3).saturating_sub(1) {
            let name = self.fresh("f");
            let cells: Vec<Ty> = (0..1 + self.rng.below(2)).map(|_| self.ty(1)).collect();
            let result = self.ty(1);
            let params: Vec<(String, Ty)> = cells.iter().map(|t| (self.fresh("p"), t.clone())).collect();
            let bound = params.iter().map(|(n, t)| (n.clone(), t.clone(), Info::of(t.atom))).collect();
            self.times = 32.0;
            let body = self.with(bound, |m| m.expr(&result));
            self.times = 1.0;
            self.functions.push(Function {
                name: name.clone(),
                cells,
                result: body.ty.clone(),
                info: body.info,
            });
            all.push(Definition { name, params, body });
        }
        self.sizes = sizes;
        self.stop = stop;
        all
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn atom(&mut self) -> BaseTy {
        match self.rng.below(24) {
            0..=6 => BaseTy::I64,
            7..=10 => BaseTy::F64,
            11 | 12 => BaseTy::F32,
            13 | 14 => BaseTy::Bool,
            15 | 16 => BaseTy::I32,
            _ => BaseTy::ALL[self.rng.below(BaseTy::ALL.len())],
        }
    }

    fn number_atom(&mut self) -> BaseTy {
        loop {
            let atom = self.atom();
            if atom.is_float() || atom.is_integer() {
                return atom;
            }
        }
    }

    fn dim(&mut self) -> Dim {
        // What was opened last, rather often.
        if let Some((name, _)) = self.sizes.last()
            && name.starts_with('w')
            && self.rng.one_in(3)
        {
            return Dim::Var(name.clone());
        }
        let known = Dim::Known([0, 1, 2, 2, 3, 3, 4, 5, 1, 6][self.rng.below(10)]);
        match self.rng.below(8) {
            0..=4 => match self.rng.pick(&self.sizes) {
                Some((name, _)) => Dim::Var(name.clone()),
                None => known,
            },
            5 => {
                let d = self.rng.pick(&self.sizes).cloned();
                let d = d.map(|(name, n)| (Dim::Var(name.clone()), n > 0 && !name.starts_with('w')));
                match d {
                    Some((d, true)) if self.rng.one_in(4) => d.plus(-1),
                    Some((d, _)) => d.plus(1),
                    None => known,
                }
            }
            _ => known,
        }
    }

    /// A type of at most so many axes, whose arrays are not too large here.
    fn ty(&mut self, most: usize) -> Ty {
        if self.ragged && self.rng.one_in(4) {
            let rank = self.rng.below(most.min(2) + 1);
            let frame: Vec<Dim> = (0..rank).map(|_| self.dim()).collect();
            let ty = self.boxed_ty(&frame);
            if self.affordable(&ty) {
                return ty;
            }
        }
        self.plain(most)
    }

    /// One without boxes.
    fn plain(&mut self, most: usize) -> Ty {
        for _ in 0..8 {
            // In rows, what was opened last rather often.
            let latest = self.rows > 0 && self.rng.one_in(3);
            let chosen = if latest { self.scope.last() } else { self.rng.pick(&self.scope) };
            let ty = if (latest || self.rng.one_in(3))
                && let Some(v) = chosen
                && v.ty.rank() <= most
            {
                let dims = v.ty.dims.clone();
                let atom = if self.rng.one_in(2) { v.ty.atom } else { self.atom() };
                Ty::new(atom, dims)
            } else {
                let rank = self.rng.below(most + 1);
                let dims: Vec<Dim> = (0..rank).map(|_| self.dim()).collect();
                Ty::new(self.atom(), dims)
            };
            if self.affordable(&ty) {
                return ty;
            }
        }
        Ty::scalar(self.atom())
    }

    fn size(&self, d: &Dim) -> usize {
        match d {
            Dim::Known(n) => *n,
            Dim::Var(v) if v.starts_with(HIDDEN) => self.longest,
            Dim::Var(v) => self.sizes.iter().rev().find(|(n, _)| n == v).map_or(1, |(_, s)| *s),
            Dim::Plus(d, k) => (self.size(d) as i64 + k).max(0) as usize,
            Dim::Sum(a, b) => self.size(a) + self.size(b),
            Dim::Product(a, b) => self.size(a) * self.size(b),
        }
    }

    /// How many there are; an empty axis counts as one, since something may be done along the others.
    fn atoms(&self, dims: &[Dim]) -> f64 {
        dims.iter().map(|d| self.size(d).max(1) as f64).product()
    }

    fn affordable(&self, ty: &Ty) -> bool {
        self.weight(ty) * self.times <= self.most
    }

    /// How many numbers there may be.
    fn weight(&self, ty: &Ty) -> f64 {
        self.atoms(&ty.dims) * ty.boxed.as_ref().map_or(1.0, |s| self.weight(&s.body))
    }

    /// Whether the size is known when the program is made, and not a bound alone.
    fn is_certain(&self, d: &Dim) -> bool {
        match d {
            Dim::Known(_) => true,
            Dim::Var(v) => !v.starts_with(['w', HIDDEN]),
            Dim::Plus(d, _) => self.is_certain(d),
            Dim::Sum(a, b) | Dim::Product(a, b) => self.is_certain(a) && self.is_certain(b),
        }
    }

    fn is_inhabited(&self, d: &Dim) -> bool {
        match d {
            Dim::Plus(_, k) if *k > 0 => true,
            d => self.is_certain(d) && self.size(d) > 0,
        }
    }

    fn with<T>(&mut self, bound: Vec<(String, Ty, Info)>, f: impl FnOnce(&mut Maker) -> T) -> T {
        let mark = self.scope.len();
        self.scope.extend(bound.into_iter().map(|(name, ty, info)| Variable { name, ty, info }));
        let done = f(self);
        self.scope.truncate(mark);
        done
    }

    /// What is made runs so many times more.
    fn repeated<T>(&mut self, times: f64, f: impl FnOnce(&mut Maker) -> T) -> T {
        let before = self.times;
        self.times = (before * times).max(1.0);
        let done = f(self);
        self.times = before;
        done
    }

    /// A term of the type.
    fn expr(&mut self, ty: &Ty) -> Term {
        if self.fuel <= 0 || self.rng.one_in(4) {
            return self.leaf(ty);
        }
        self.form(ty)
    }

    /// A form of the type, if one is found soon.
    fn form(&mut self, ty: &Ty) -> Term {
        self.fuel -= 1;
        for _ in 0..6 {
            let forms: &[Form] = match self.rng.below(11) {
                0..=5 if ty.is_boxed() => ragged::BOXES,
                6 | 7 if ty.is_boxed() => arrays::MOVES,
                _ if ty.is_boxed() => blocks::BODIES,
                0..=3 => scalars::FORMS,
                6 | 7 if self.ragged && self.rng.one_in(8) => ranks::OPENS,
                6 | 7 if self.ragged => ragged::OPENS,
                4..=6 => arrays::FORMS,
                10 => functions::LEAVES,
                _ => blocks::FORMS,
            };
            if let Some(form) = self.rng.pick(forms).copied()
                && let Some(term) = form(self, ty)
            {
                return term;
            }
        }
        self.leaf(ty)
    }

    /// A variable, or what is made without other parts.
    fn leaf(&mut self, ty: &Ty) -> Term {
        let of_ty: Vec<usize> = (0..self.scope.len()).filter(|i| self.scope[*i].ty == *ty).collect();
        if !of_ty.is_empty() && !self.rng.one_in(6) {
            // The latest are the likeliest.
            let i = of_ty[of_ty.len() - 1 - self.rng.below(of_ty.len()).min(self.rng.below(of_ty.len()))];
            let v = &self.scope[i];
            return Term::leaf(ty.clone(), v.info, v.name.clone());
        }
        if let Some(sigma) = &ty.boxed {
            return self.boxed_leaf(ty, &sigma.clone());
        }
        let number = |t: BaseTy| t.is_float() || t.is_integer();
        let of_dims: Vec<usize> = (0..self.scope.len())
            .filter(|i| {
                let t = &self.scope[*i].ty;
                t.dims == ty.dims && number(t.atom) && number(ty.atom) && !t.is_boxed()
            })
            .collect();
        if !of_dims.is_empty() && !self.rng.one_in(4) {
            let v = &self.scope[of_dims[self.rng.below(of_dims.len())]];
            let part = Term::leaf(v.ty.clone(), v.info, v.name.clone());
            return scalars::cast(ty, part);
        }
        if ty.dims.is_empty() {
            if ty.atom == BaseTy::I64
                && self.rng.one_in(3)
                && let Some((d, n)) = self.rng.pick(&self.sizes)
            {
                return Term::leaf(ty.clone(), Info::whole(*n as f64), d.clone());
            }
            let n = self.rng.range(-3, 9);
            return Term::leaf(
                ty.clone(),
                Info::whole(9.0_f64.max(Info::of(ty.atom).most.min(122.0))),
                literal(ty.atom, n),
            );
        }
        if number(ty.atom) && !self.rng.one_in(3) {
            return self.counted(ty);
        }
        let scalar = self.leaf(&Ty::scalar(ty.atom));
        Term::new(
            ty.clone(),
            scalar.info,
            format!("(replicate{{{} | {} []}} §)", ty.atom.name(), super::term::bracket(&ty.dims)),
            vec![scalar],
        )
    }
}

fn mentions(term: &Term, name: &str) -> bool {
    (term.is_leaf() && term.text() == name) || term.parts.iter().any(|p| mentions(p, name))
}

/// What the numbers of an input are.
fn info_of(v: &Value) -> Info {
    let mut info = Info::whole(0.0);
    for atom in v.atoms() {
        let s = match atom {
            Atom::Scalar(s) => s,
            Atom::Box(b) => {
                info = info.or(info_of(&b.value));
                continue;
            }
            _ => continue,
        };
        let x = match (s.as_float(), s.as_integer()) {
            (Some(x), _) => x,
            (_, Some(n)) => n as f64,
            _ => return Info::of(s.ty()),
        };
        if !x.is_nan() {
            info = info.or(Info { whole: x.is_finite() && x.fract() == 0.0, most: x.abs() });
        }
    }
    info
}

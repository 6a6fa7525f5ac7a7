//! Programs as text, with all annotations, with some, or with none.

use super::*;
use crate::rng::Rng;
use std::fmt::Write;

/// How much is written at one place, or everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grain {
    /// A parameter has its type, a polymorphic function its instance, a result its type.
    Explicit,
    /// A parameter has its rank, a polymorphic function its types or its indices.
    Ranks,
    /// A rank is written only where leaving it out would change the meaning.
    Bare,
}

impl Grain {
    pub const ALL: [Grain; 3] = [Grain::Explicit, Grain::Ranks, Grain::Bare];
}

/// How much is written at each place where there can be an annotation, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotations {
    places: Vec<Grain>,
    /// Past the last of these.
    rest: Grain,
    /// Whether parameters have their types, whatever the rest has.
    params: bool,
}

impl Annotations {
    pub fn all(grain: Grain) -> Annotations {
        Annotations { places: vec![], rest: grain, params: false }
    }

    /// Each place by itself. How much is left over differs from program to program.
    pub fn random(places: usize, seed: u64) -> Annotations {
        let mut rng = Rng::new(seed);
        let erased = 1 + rng.below(7);
        let mut place = |_| match rng.below(8) {
            n if n >= erased => Grain::Explicit,
            _ if rng.one_in(2) => Grain::Ranks,
            _ => Grain::Bare,
        };
        Annotations { places: (0..places).map(&mut place).collect(), rest: Grain::Explicit, params: false }
    }

    /// How much is written at a place.
    pub fn at(&self, place: usize) -> Grain {
        self.places.get(place).copied().unwrap_or(self.rest)
    }

    /// Writes so much at a place that was spelt out.
    pub fn set(&mut self, place: usize, grain: Grain) {
        if let Some(at) = self.places.get_mut(place) {
            *at = grain;
        }
    }

    /// With the type of each parameter, where a text says what its places are.
    pub fn with_params(self) -> Annotations {
        Annotations { params: true, ..self }
    }

    /// How much is written at a place that is a parameter's.
    pub fn at_param(&self, place: usize) -> Grain {
        if self.params { Grain::Explicit } else { self.at(place) }
    }

    /// With at least as much everywhere as these have, which are the same everywhere.
    pub fn at_least(mut self, least: &Annotations) -> Annotations {
        for place in &mut self.places {
            if *place == Grain::Bare {
                *place = least.rest;
            }
        }
        Annotations { params: self.params || least.params, ..self }
    }

    /// The same choice, made for each of so many places.
    pub fn spelt_out(&self, places: usize) -> Annotations {
        let mut all = self.clone();
        all.places.resize(places, self.rest);
        all
    }

    /// With one place written out, if it is not.
    pub fn with_explicit(&self, place: usize) -> Option<Annotations> {
        let mut more = self.clone();
        let at = more.places.get_mut(place).filter(|g| **g != Grain::Explicit)?;
        *at = Grain::Explicit;
        Some(more)
    }
}

/// Stands before a dim that cannot be another without an error.
pub(super) const CRITICAL: char = '\u{1}';
/// Stand around an item of an array literal.
pub(super) const ITEM: char = '\u{2}';
pub(super) const ITEM_END: char = '\u{3}';
/// Stands before a rank.
pub(super) const RANK: char = '\u{4}';
/// All of them, which are no part of the program.
pub(super) const MARKS: [char; 4] = [CRITICAL, ITEM, ITEM_END, RANK];

/// The text with marks, and how many places for annotations it has.
pub(super) fn program(p: &Program, annotations: &Annotations) -> (String, usize) {
    let mut w = Writer { out: String::new(), annotations, places: 0 };
    for (name, lambda) in &p.defs {
        let _ = write!(w.out, "(define ({name}");
        // Whether a definition is used decides whether its dims matter.
        lambda.params.iter().for_each(|p| w.param(p, true, false, least_is_scalar(p, &lambda.body)));
        w.out.push(')');
        if w.grain() == Grain::Explicit {
            let _ = write!(w.out, " : {}", lambda.body.ty);
        }
        w.out.push_str("\n  ");
        w.expr(&lambda.body);
        w.out.push_str(")\n");
    }
    w.expr(&p.body);
    w.out.push('\n');
    (w.out, w.places)
}

struct Writer<'a> {
    out: String,
    annotations: &'a Annotations,
    places: usize,
}

impl Writer<'_> {
    /// How much is written at the next place.
    fn grain(&mut self) -> Grain {
        self.places += 1;
        self.annotations.at(self.places - 1)
    }

    fn param(&mut self, p: &Param, space: bool, critical: bool, bare: bool) {
        if space {
            self.out.push(' ');
        }
        // Only with its size of 0 does an `append` of it keep the length of a part.
        let empty = p.ty.dims.iter().any(|d| matches!(d, Dim::Known(0)));
        let _ = match self.grain() {
            Grain::Bare if bare => write!(self.out, "{}", p.name),
            grain if grain == Grain::Explicit || empty => {
                let _ = write!(self.out, "[{} ", p.name);
                self.ty(&p.ty, critical);
                self.out.push(']');
                Ok(())
            }
            _ => write!(self.out, "[{} {RANK}{}]", p.name, p.ty.rank()),
        };
    }

    fn ty(&mut self, ty: &Ty, critical: bool) {
        if ty.dims.is_empty() {
            self.out.push_str(ty.atom.name());
        } else {
            let _ = write!(self.out, "[{}", ty.atom.name());
            self.dims(&ty.dims, true, critical);
            self.out.push(']');
        }
    }

    fn dims(&mut self, dims: &[Dim], mut space: bool, critical: bool) {
        for d in dims {
            if space {
                self.out.push(' ');
            }
            space = true;
            if critical && matches!(d, Dim::Known(_)) {
                self.out.push(CRITICAL);
            }
            let _ = write!(self.out, "{d}");
        }
    }

    fn lambda(&mut self, l: &Lambda, bare: impl Fn(usize, &Param) -> bool) {
        self.out.push_str("(λ (");
        for (i, p) in l.params.iter().enumerate() {
            self.param(p, i > 0, true, bare(i, p));
        }
        self.out.push_str(") ");
        self.expr(&l.body);
        self.out.push(')');
    }

    fn instance(&mut self, i: &Instance, critical: bool) {
        if *i == Instance::default() {
            return;
        }
        let (types, indices): (&[Atom], &[Ix]) = match self.grain() {
            Grain::Explicit => (&i.types, &i.indices),
            Grain::Ranks if self.places.is_multiple_of(2) => (&i.types, &[]),
            Grain::Ranks => (&[], &i.indices),
            Grain::Bare => return,
        };
        let types: Vec<&str> = types.iter().map(|t| t.name()).collect();
        let _ = write!(self.out, "{{{} |", types.join(" "));
        for ix in indices {
            self.out.push(' ');
            match ix {
                Ix::Dim(d) => self.dims(std::slice::from_ref(d), false, critical),
                Ix::Shape(s) => {
                    self.out.push('[');
                    self.dims(s, false, critical);
                    self.out.push(']');
                }
            }
        }
        self.out.push('}');
    }

    fn func(&mut self, f: &Func) {
        match f {
            Func::Prim(name, i) => {
                self.out.push_str(name);
                self.instance(i, true);
            }
            Func::Rerank([a, b], name, i) => {
                let _ = write!(self.out, "~({RANK}{a} {RANK}{b}){name}");
                self.instance(i, true);
            }
            Func::Several(names, i) => {
                self.out.push('[');
                for (k, name) in names.iter().enumerate() {
                    if k > 0 {
                        self.out.push(' ');
                    }
                    self.out.push_str(name);
                    self.instance(i, true);
                }
                self.out.push(']');
            }
            // An operator: its cells are what its context and its parameters leave open.
            Func::Lambda(l) => {
                let open = l.params.iter().all(|p| least_is_scalar(p, &l.body));
                self.lambda(l, |_, _| open);
            }
            Func::Named(name) => self.out.push_str(name),
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            Kind::Literal(values) => self.literal(&e.ty, values),
            Kind::Var(name) => self.out.push_str(name),
            Kind::App { func, op, before, args, after } => {
                self.out.push('(');
                match func {
                    // Applied on the spot, a λ is a `let`: a bare parameter is the whole argument.
                    Func::Lambda(l) => self.lambda(l, |i, p| args[i].ty.rank() == p.ty.rank()),
                    _ => self.func(func),
                }
                if let Some(op) = op {
                    self.out.push(' ');
                    self.func(op);
                }
                if let Some(text) = before {
                    let _ = write!(self.out, " {text}");
                }
                for a in args {
                    self.out.push(' ');
                    self.expr(a);
                }
                if let Some(text) = after {
                    let _ = write!(self.out, " {text}");
                }
                self.out.push(')');
            }
            Kind::Bracket(es) => {
                self.out.push('[');
                for (i, e) in es.iter().enumerate() {
                    if i > 0 {
                        self.out.push(' ');
                    }
                    self.expr(e);
                }
                self.out.push(']');
            }
            Kind::Let { name, value, body } => {
                let _ = write!(self.out, "(let (({name} ");
                self.expr(value);
                self.out.push_str(")) ");
                self.expr(body);
                self.out.push(')');
            }
            Kind::LetFn { name, fun, body } => {
                let _ = write!(self.out, "(let ((({name}");
                fun.params.iter().for_each(|p| self.param(p, true, false, least_is_scalar(p, &fun.body)));
                self.out.push_str(") ");
                self.expr(&fun.body);
                self.out.push_str(")) ");
                self.expr(body);
                self.out.push(')');
            }
            Kind::If { cond, then, otherwise } => {
                self.out.push_str("(if ");
                self.expr(cond);
                self.out.push(' ');
                self.expr(then);
                self.out.push(' ');
                self.expr(otherwise);
                self.out.push(')');
            }
            Kind::Annot(e) => self.annotated(e),
            Kind::Unbox { boxes, name, dim, body } => {
                self.out.push_str("(unbox ");
                self.boxes(boxes);
                let _ = write!(self.out, " ({name} {dim}) ");
                self.expr(body);
                self.out.push(')');
            }
            Kind::LetValues { names: [x, y], values: [a, b], body } => {
                let _ = write!(self.out, "(let-values ((({x} {y}) (values ");
                self.expr(a);
                self.out.push(' ');
                self.expr(b);
                self.out.push_str("))) ");
                self.expr(body);
                self.out.push(')');
            }
        }
    }

    /// `(: e τ)` in the explicit grain.
    fn annotated(&mut self, e: &Expr) {
        if self.grain() == Grain::Explicit {
            self.out.push_str("(: ");
            self.expr(e);
            self.out.push(' ');
            self.ty(&e.ty, true);
            self.out.push(')');
        } else {
            self.expr(e);
        }
    }

    fn boxes(&mut self, b: &Boxes) {
        match b {
            Boxes::Filter { flags, xs } => {
                self.out.push_str("(filter");
                let d = xs.ty.dims.first().cloned().unwrap_or(Dim::Known(0));
                let cell = xs.ty.dims.get(1..).unwrap_or_default().to_vec();
                self.instance(
                    &Instance { types: vec![xs.ty.atom], indices: vec![Ix::Dim(d), Ix::Shape(cell)] },
                    true,
                );
                self.out.push(' ');
                self.expr(flags);
                self.out.push(' ');
                self.expr(xs);
                self.out.push(')');
            }
            Boxes::Rows { atom, rows } => {
                let _ = write!(self.out, "(boxes (n) [{} n] [{}]", atom.name(), rows.len());
                for r in rows {
                    self.out.push_str(" ((");
                    self.dims(&r.ty.dims, false, true);
                    self.out.push_str(") ");
                    self.expr(r);
                    self.out.push(')');
                }
                self.out.push(')');
            }
        }
    }

    fn literal(&mut self, ty: &Ty, values: &[i64]) {
        let dims = sizes(&ty.dims).unwrap_or_default();
        if values.is_empty() {
            let _ = write!(self.out, "(array [");
            self.dims(&ty.dims, false, false);
            let _ = write!(self.out, "] {})", ty.atom.name());
        } else {
            self.nested(ty.atom, &dims, values);
        }
    }

    fn nested(&mut self, atom: Atom, dims: &[usize], values: &[i64]) {
        match dims {
            [] => self.atom(atom, values.first().copied().unwrap_or(0)),
            [n, inner @ ..] => {
                self.out.push('[');
                for (i, row) in values.chunks((values.len() / n).max(1)).enumerate() {
                    if i > 0 {
                        self.out.push(' ');
                    }
                    self.out.push(ITEM);
                    self.nested(atom, inner, row);
                    self.out.push(ITEM_END);
                }
                self.out.push(']');
            }
        }
    }

    fn atom(&mut self, atom: Atom, v: i64) {
        let _ = match atom {
            Atom::Int => write!(self.out, "{v}"),
            Atom::I32 => write!(self.out, "{v}i32"),
            Atom::Float => write!(self.out, "{:?}", v as f64 / 4.0),
            Atom::Bool => write!(self.out, "{}", if v & 1 == 1 { "#t" } else { "#f" }),
        };
    }
}

/// Whether the parameter is a scalar and is given to a scalar operator: then a scalar is the least cell
/// that its uses allow. Of a parameter that nothing is asked of, the whole argument would serve as well.
fn least_is_scalar(p: &Param, body: &Expr) -> bool {
    let mut body = body.clone();
    let mut todo = vec![&mut body];
    while let Some(e) = todo.pop() {
        if let Kind::App { func: Func::Prim(name, _), args, .. } = &e.kind
            && build::SCALARS.iter().any(|s| s.name == *name)
            && args.iter().any(|a| matches!(&a.kind, Kind::Var(x) if *x == p.name))
        {
            return p.ty.dims.is_empty();
        }
        todo.extend(e.children_mut());
    }
    false
}

//! Indices and types.

use super::Printer;
use super::layout::{Doc, Style, brackets, parens, text};
use remc_base::*;

impl Printer<'_> {
    /// As [`Dim`]'s `Display`, under the names that the variables have here.
    pub fn dim(&self, d: &Dim) -> String {
        let part = |positive: bool| {
            let terms = d.terms().iter().filter(move |t| (t.1 > 0) == positive);
            // Variables before the constant, as people write them.
            let (last, first): (Vec<_>, Vec<_>) = terms.partition(|t| t.0.is_empty());
            first.into_iter().chain(last).map(|(m, c)| self.term(m, c.unsigned_abs())).collect::<Vec<_>>()
        };
        let sum = |terms: Vec<String>| match terms.as_slice() {
            [] => "0".to_owned(),
            [one] => one.clone(),
            many => format!("(+ {})", many.join(" ")),
        };
        let (plus, minus) = (part(true), part(false));
        match minus.is_empty() {
            true => sum(plus),
            false => format!("(- {} {})", sum(plus), minus.join(" ")),
        }
    }

    fn term(&self, m: &[DimVar], c: u128) -> String {
        let factor = |v: &DimVar| match v {
            DimVar::Rigid(v) => self.names.index(v).to_owned(),
            DimVar::RankOf(s) => format!("(rank {})", self.shape_var(s)),
            DimVar::SizeOf(s) => format!("(size {})", self.shape_var(s)),
            DimVar::Meta(_) => v.to_string(),
        };
        let mut factors: Vec<_> = m.iter().map(factor).collect();
        if c != 1 || factors.is_empty() {
            factors.insert(0, c.to_string());
        }
        match factors.as_slice() {
            [one] => one.clone(),
            many => format!("(* {})", many.join(" ")),
        }
    }

    fn shape_var(&self, v: &ShapeVar) -> String {
        match v {
            ShapeVar::Rigid(v) => self.names.index(v).to_owned(),
            ShapeVar::Meta(_) => v.to_string(),
        }
    }

    /// The parts of a shape, to be spliced.
    pub fn items(&self, s: &[ShapeItem]) -> Vec<Doc> {
        let item = |i: &ShapeItem| match i {
            ShapeItem::Dim(d) => text(self.dim(d)),
            ShapeItem::Var(v) => text(self.shape_var(v)),
        };
        s.iter().map(item).collect()
    }

    pub fn shape(&self, s: &Shape) -> Doc {
        match s.items() {
            [ShapeItem::Var(v)] => text(self.shape_var(v)),
            items => brackets(Style::Fill, self.items(items)),
        }
    }

    pub fn index(&self, i: &Index) -> Doc {
        match i {
            Index::Dim(d) => text(self.dim(d)),
            Index::Shape(s) => self.shape(s),
        }
    }

    pub fn ty_arg(&mut self, a: &TyArg) -> Doc {
        match a {
            TyArg::Atom(t) => self.atom(t),
            TyArg::Array(t) => self.ty(t),
        }
    }

    pub fn ty(&mut self, t: &ArrTy) -> Doc {
        let mut items = t.shape.items();
        // An array-kinded `@t` is an atom type and a shape, and stands for both.
        if let (AtomTy::Var(a), [outer @ .., ShapeItem::Var(ShapeVar::Rigid(s))]) = (&t.atom, items)
            && self.names.ty(a).starts_with('@')
            && self.names.ty(a) == self.names.index(s)
        {
            items = outer;
        }
        let atom = self.atom(&t.atom);
        if items.is_empty() {
            return atom;
        }
        let mut parts = vec![atom];
        parts.extend(self.items(items));
        brackets(Style::Fill, parts)
    }

    pub fn atom(&mut self, t: &AtomTy) -> Doc {
        match t {
            AtomTy::Base(b) => text(b.name()),
            AtomTy::Var(v) => text(self.names.ty(v)),
            AtomTy::Meta(_) => text(t.to_string()),
            AtomTy::Fn(f) => {
                let params = f.params.iter().map(|p| self.ty(p)).collect();
                parens(2, vec![text("→"), parens(1, params), self.ty(&f.ret)])
            }
            AtomTy::Forall(q) => self.scoped(|p| {
                let params = q.params.iter().map(|v| p.type_binder(v)).collect();
                parens(2, vec![text("∀"), parens(1, params), p.ty(&q.body)])
            }),
            AtomTy::Pi(q) => self.quantified("Π", &q.params, &q.body),
            AtomTy::Sigma(q) => self.quantified("Σ", &q.params, &q.body),
            AtomTy::Tuple(q) => {
                let record = !q.fields.is_empty() && q.fields.iter().all(|(l, _)| l.is_some());
                let mut parts = vec![text(if record { "Record" } else { "Tuple" })];
                for (label, ty) in &q.fields {
                    let ty = self.ty(ty);
                    parts.push(match label {
                        Some(l) if record => parens(1, vec![text(l.as_str()), ty]),
                        _ => ty,
                    });
                }
                parens(1, parts)
            }
            AtomTy::Quot(q) => parens(1, vec![text("Quot"), self.atom(q)]),
        }
    }

    fn quantified(&mut self, word: &str, params: &[IVar], body: &ArrTy) -> Doc {
        self.scoped(|p| {
            let params = params.iter().map(|v| text(p.names.bind_index(v))).collect();
            parens(2, vec![text(word), parens(1, params), p.ty(body)])
        })
    }

    /// Binds a type variable: `t`, `@t`, `(t num)`.
    pub fn type_binder(&mut self, p: &TParam) -> Doc {
        let name = text(self.names.bind_type(p));
        match p.class {
            Some(class) => parens(2, vec![name, text(class.name())]),
            None => name,
        }
    }
}

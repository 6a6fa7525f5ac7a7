//! What is known of sizes when a printed program runs, as expressions of C, and types with that put in.

use remc_base::{ArrTy, AtomTy, Dim, DimVar, IVar, Shape, ShapeItem, ShapeVar};
use rustc_hash::FxHashMap;

/// The sizes that are known when the program runs: in C, by variable.
#[derive(Clone, Default)]
pub struct Known(FxHashMap<u32, Vec<String>>);

impl Known {
    pub fn bind(&mut self, v: &IVar, values: Vec<String>) {
        self.0.insert(v.id, values);
    }

    /// What is known where a box hides these.
    pub fn without(&self, hidden: &[IVar]) -> Known {
        let mut rest = self.clone();
        hidden.iter().for_each(|v| {
            rest.0.remove(&v.id);
        });
        rest
    }

    /// What an index stands for.
    pub fn get(&self, v: &IVar) -> Option<&[String]> {
        self.0.get(&v.id).map(Vec::as_slice)
    }

    /// A dim of which all is known, in C.
    pub fn polynomial(&self, d: &Dim) -> Option<String> {
        let mut terms = Vec::new();
        for (monomial, coefficient) in d.terms() {
            let factors = monomial.iter().map(|v| self.value(v)).collect::<Option<Vec<_>>>()?;
            let one = (*coefficient != 1 || factors.is_empty()).then(|| format!("{coefficient}ll"));
            terms.push(one.into_iter().chain(factors).collect::<Vec<_>>().join(" * "));
        }
        Some(if terms.is_empty() { "0ll".to_owned() } else { terms.join(" + ") })
    }

    /// What stands for a variable in C.
    fn value(&self, v: &DimVar) -> Option<String> {
        match v {
            DimVar::Rigid(v) => self.0.get(&v.id)?.first().cloned(),
            DimVar::RankOf(ShapeVar::Rigid(v)) => Some(format!("{}ll", self.0.get(&v.id)?.len())),
            DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                let sizes = self.0.get(&v.id)?.iter().map(String::as_str);
                Some(std::iter::once("1ll").chain(sizes).collect::<Vec<_>>().join(" * "))
            }
            _ => None,
        }
    }
}

/// Puts what is known into types: in their text, `{3}` is the number that the expression number 3 gives.
pub struct Slots<'a> {
    pub known: &'a Known,
    pub expressions: &'a mut Vec<String>,
}

impl Slots<'_> {
    /// The number of an expression.
    pub fn expression(&mut self, value: String) -> usize {
        let found = self.expressions.iter().position(|known| *known == value);
        found.unwrap_or_else(|| {
            self.expressions.push(value);
            self.expressions.len() - 1
        })
    }

    fn slot(&mut self, value: String) -> Dim {
        let n = self.expression(value);
        Dim::rigid(IVar::dim(u32::MAX - n as u32, format!("{{{n}}}")))
    }

    pub fn array(&mut self, ty: &ArrTy) -> ArrTy {
        let mut items = Vec::new();
        for item in ty.shape.items() {
            match item {
                ShapeItem::Dim(d) => items.push(ShapeItem::Dim(self.dim(d))),
                ShapeItem::Var(ShapeVar::Rigid(v)) if self.known.0.contains_key(&v.id) => {
                    let all = self.known.0[&v.id].clone();
                    items.extend(all.into_iter().map(|value| ShapeItem::Dim(self.slot(value))));
                }
                other => items.push(other.clone()),
            }
        }
        ArrTy::new(self.atom(&ty.atom), Shape(items))
    }

    pub fn atom(&mut self, ty: &AtomTy) -> AtomTy {
        match ty {
            AtomTy::Tuple(q) => {
                AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), self.array(t))).collect())
            }
            AtomTy::Sigma(s) => {
                let known = self.known.without(&s.params);
                let mut inside = Slots { known: &known, expressions: self.expressions };
                AtomTy::sigma(s.params.clone(), inside.array(&s.body))
            }
            AtomTy::Fn(q) => {
                let params = q.params.iter().map(|t| self.array(t)).collect();
                AtomTy::func(params, self.array(&q.ret))
            }
            other => other.clone(),
        }
    }

    /// A dim of which all is known becomes its value; one that mentions what a box hides stays as it is
    /// written, with what is known put in.
    fn dim(&mut self, d: &Dim) -> Dim {
        match self.known.polynomial(d) {
            Some(value) if d.vars().next().is_some() => self.slot(value),
            Some(_) => d.clone(),
            None => d.substitute(&mut |v| self.known.value(v).map(|value| self.slot(value))),
        }
    }
}

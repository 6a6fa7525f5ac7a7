//! What is known of sizes when a printed program runs, as expressions of C, and types with that put in.

use remc_base::{ArrTy, AtomTy, Dim, DimVar, IVar, Name, Shape, ShapeItem, ShapeVar, TVar};
use rustc_hash::FxHashMap;

/// The sizes that are known when the program runs: in C, by variable.
#[derive(Clone, Default)]
pub struct Known(FxHashMap<u32, Meaning>);

/// What an index is in C.
#[derive(Clone)]
pub enum Meaning {
    /// The size, or those of the axes of a shape.
    Sizes(Vec<String>),
    /// A shape whose rank is known only when the program runs: the number of its `remc_axes`.
    Shape(usize),
}

/// Something that a printed program computes from what is known.
#[derive(Clone, PartialEq, Eq)]
pub enum Expression {
    Number(String),
    Shape(usize),
}

impl Known {
    pub fn bind(&mut self, v: &IVar, values: Vec<String>) {
        self.0.insert(v.id, Meaning::Sizes(values));
    }

    /// A shape whose rank is known only when the program runs.
    pub fn bind_shape(&mut self, v: &IVar, number: usize) {
        self.0.insert(v.id, Meaning::Shape(number));
    }

    /// Whether there is a shape whose rank is known only when the program runs.
    pub fn has_shapes(&self) -> bool {
        self.0.values().any(|m| matches!(m, Meaning::Shape(_)))
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
    pub fn get(&self, v: &IVar) -> Option<&Meaning> {
        self.0.get(&v.id)
    }

    /// The same, if it is a size or the sizes of a known number of axes.
    pub fn sizes(&self, v: &IVar) -> Option<&[String]> {
        match self.get(v)? {
            Meaning::Sizes(all) => Some(all),
            Meaning::Shape(_) => None,
        }
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
            DimVar::Rigid(v) => self.sizes(v)?.first().cloned(),
            DimVar::RankOf(ShapeVar::Rigid(v)) => Some(match self.get(v)? {
                Meaning::Sizes(all) => format!("{}ll", all.len()),
                Meaning::Shape(k) => format!("(i64)shapes[{k}].rank"),
            }),
            DimVar::SizeOf(ShapeVar::Rigid(v)) => Some(match self.get(v)? {
                Meaning::Sizes(all) => {
                    let sizes = all.iter().map(String::as_str);
                    std::iter::once("1ll").chain(sizes).collect::<Vec<_>>().join(" * ")
                }
                Meaning::Shape(k) => format!("remc_size_of(shapes + {k})"),
            }),
            _ => None,
        }
    }
}

/// Puts what is known into types: in their text, `{3}` is the number that the expression number 3 gives, or the
/// dims of the shape that it gives, with spaces between them. In `{ 3}` there is a space before each; `{[3,4}` and
/// `{]3,4}` are brackets, if these shapes have axes at all.
pub struct Slots<'a> {
    pub known: &'a Known,
    pub expressions: &'a mut Vec<Expression>,
}

impl Slots<'_> {
    /// The number of an expression.
    pub fn expression(&mut self, value: Expression) -> usize {
        let found = self.expressions.iter().position(|known| *known == value);
        found.unwrap_or_else(|| {
            self.expressions.push(value);
            self.expressions.len() - 1
        })
    }

    fn slot(&mut self, value: String) -> Dim {
        let n = self.expression(Expression::Number(value));
        Dim::rigid(IVar::dim(u32::MAX - n as u32, format!("{{{n}}}")))
    }

    pub fn array(&mut self, ty: &ArrTy) -> ArrTy {
        let known = self.known;
        let mut items = Vec::new();
        let mut shapes = Vec::new();
        for item in ty.shape.items() {
            let meaning = match item {
                ShapeItem::Var(ShapeVar::Rigid(v)) => known.get(v),
                _ => None,
            };
            match (item, meaning) {
                (_, Some(Meaning::Sizes(all))) => {
                    items.extend(all.iter().map(|value| ShapeItem::Dim(self.slot(value.clone()))));
                }
                (_, Some(Meaning::Shape(k))) => {
                    let n = self.expression(Expression::Shape(*k));
                    shapes.push(n.to_string());
                    items.push(ShapeItem::Var(ShapeVar::Rigid(IVar::shape(n as u32, format!("{{ {n}}}")))));
                }
                (ShapeItem::Dim(d), None) => items.push(ShapeItem::Dim(self.dim(d))),
                (other, None) => items.push(other.clone()),
            }
        }
        let atom = self.atom(&ty.atom);
        if shapes.is_empty() {
            return ArrTy::new(atom, Shape(items));
        }
        // The text of a type that has as many dims as the program finds.
        let (open, close) = match shapes.len() == items.len() {
            true => (format!("{{[{}}}", shapes.join(",")), format!("{{]{}}}", shapes.join(","))),
            false => ("[".to_owned(), "]".to_owned()),
        };
        let rest = items.iter().map(|item| match item {
            ShapeItem::Var(ShapeVar::Rigid(v)) if v.name.as_str().starts_with('{') => v.to_string(),
            other => format!(" {other}"),
        });
        let text = format!("{open}{atom}{}{close}", rest.collect::<String>());
        ArrTy::scalar(AtomTy::Var(TVar { id: 0, name: Name::new(text) }))
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

//! Expressions.

use super::layout::{Doc, Style, braces, brackets, column, parens, text};
use super::literal::{Number, literal, string};
use super::{Printer, under_checks};
use crate::ir::*;
use crate::scheme::ExplicitIndex;
use remc_base::*;

/// `(word a b …)`, the word and the first `head` parts together.
fn form(word: &str, head: usize, parts: Vec<Doc>) -> Doc {
    let mut items = vec![text(word)];
    items.extend(parts);
    parens(1 + head, items)
}

fn annotated(e: Doc, ty: Doc) -> Doc {
    form(":", 1, vec![e, ty])
}

/// The characters, if every expression is one.
fn characters(elems: &[Expr]) -> Option<Vec<char>> {
    let character = |e: &Expr| match *e.kind {
        ExprKind::Lit(Lit::Scalar(Scalar::Char(c))) => Some(c),
        _ => None,
    };
    elems.iter().map(character).collect()
}

fn is_literal(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Lit(_) => true,
        ExprKind::Frame { elems, .. } => elems.iter().all(is_literal),
        _ => false,
    }
}

impl Printer<'_> {
    pub fn expr(&mut self, e: &Expr) -> Doc {
        match &*e.kind {
            ExprKind::Var(v) => text(self.names.value(*v)),
            ExprKind::Global(g) => text(self.global(g)),
            ExprKind::Lit(lit) => self.number(*lit, &e.ty),
            ExprKind::Frame { dims, elems } => self.frame(dims, elems, &e.ty),
            ExprKind::Lam { params, body } => self.scoped(|p| {
                let params = params.iter().map(|l| p.param(l)).collect();
                form("λ", 1, vec![parens(1, params), p.expr(body)])
            }),
            ExprKind::TLam { params, body } => self.scoped(|p| {
                let params = params.iter().map(|v| p.type_binder(v)).collect();
                form("Tλ", 1, vec![parens(1, params), p.expr(body)])
            }),
            ExprKind::ILam { params, body } => self.scoped(|p| {
                let params = params.iter().map(|v| text(p.names.bind_index(v))).collect();
                form("Iλ", 1, vec![parens(1, params), p.expr(body)])
            }),
            ExprKind::App { func, args, .. } => {
                if let Some(doc) = self.side_by_side(func, args) {
                    return doc;
                }
                let mut items = vec![self.expr(func)];
                items.extend(args.iter().map(|a| self.expr(&a.expr)));
                parens(1, items)
            }
            ExprKind::TApp { func, args } => {
                let types = args.iter().map(|a| self.ty_arg(a)).collect();
                match &*self.unchecked(func).kind {
                    ExprKind::IApp { func, args } => self.instance(func, types, args),
                    _ => self.instance(func, types, &[]),
                }
            }
            ExprKind::IApp { func, args } => self.instance(func, vec![], args),
            ExprKind::Let { .. } => self.lets(e),
            ExprKind::If { cond, then, otherwise } => match *under_checks(otherwise).kind {
                ExprKind::If { .. } => self.cond(e),
                _ => form("if", 1, [cond, then, otherwise].map(|e| self.expr(e)).into()),
            },
            ExprKind::Box { witnesses, value } => self.boxed(witnesses, value, &e.ty),
            ExprKind::Unbox { boxes, indices, local, body } => {
                let boxes = self.expr(boxes);
                self.scoped(|p| {
                    let mut names = vec![text(p.names.bind_value(local.var, &local.name))];
                    names.extend(indices.iter().map(|v| text(p.names.bind_index(v))));
                    form("unbox", 2, vec![boxes, parens(usize::MAX, names), p.expr(body)])
                })
            }
            ExprKind::Lift { kind, indices, value, body } => self.lift(*kind, indices, value, body),
            ExprKind::Check { .. } => {
                let body = self.unchecked(e);
                match *body.kind {
                    ExprKind::ReifyDim(_) | ExprKind::ReifyShape(_) => self.checked_size(e, body),
                    _ => self.expr(body),
                }
            }
            ExprKind::ReifyDim(d) => self.reify_dim(d, &e.ty),
            ExprKind::ReifyShape(s) => self.reify_shape(s, &e.ty),
            ExprKind::Tuple(parts) => self.tuple(parts, &e.ty),
            ExprKind::Field { tuple, position } => {
                let label = match &tuple.ty.atom {
                    AtomTy::Tuple(t) if t.fields.iter().all(|(l, _)| l.is_some()) => {
                        t.fields.get(*position).and_then(|(l, _)| l.clone())
                    }
                    _ => None,
                };
                let tuple = self.expr(tuple);
                match label {
                    Some(l) => form("field", 1, vec![tuple, text(l.as_str())]),
                    None => form("proj", 1, vec![text(position.to_string()), tuple]),
                }
            }
            ExprKind::Cast(value) => form("cast", 1, vec![self.atom(&e.ty.atom), self.expr(value)]),
            ExprKind::AsShape(value) => {
                let shape = brackets(Style::Fill, self.items(e.ty.shape.items()));
                form("as-shape", 1, vec![shape, self.expr(value)])
            }
            ExprKind::Loop { locals, cond, body } => {
                let values: Vec<_> = locals.iter().map(|(_, e)| self.expr(e)).collect();
                self.scoped(|p| {
                    let name = |l: &Local, p: &mut Self| text(p.names.bind_value(l.var, &l.name));
                    let bind = |((l, _), v): (&(Local, Expr), Doc)| parens(2, vec![name(l, p), v]);
                    let bindings = column(locals.iter().zip(values).map(bind).collect());
                    let cond = p.expr(cond);
                    form("loop", 4, vec![bindings, text("while"), cond, text("do"), p.expr(body)])
                })
            }
        }
    }

    fn number(&mut self, lit: Lit, ty: &ArrTy) -> Doc {
        let Number { text: number, annotate } = literal(lit, &ty.atom);
        if annotate { annotated(text(number), self.ty(ty)) } else { text(number) }
    }

    // ---- instances -------------------------------------------------------------------------------

    /// `f{τ … | i …}`; in words where `f` is no name.
    fn instance(&mut self, func: &Expr, types: Vec<Doc>, indices: &[Index]) -> Doc {
        let func = self.unchecked(func);
        let indices = self.explicit(func, indices);
        match self.expr(func) {
            Doc::Text(name) => braces(&name, types, indices),
            mut func => {
                for (word, args) in [("i-app", indices), ("t-app", types)] {
                    if !args.is_empty() {
                        let mut parts = vec![func];
                        parts.extend(args);
                        func = form(word, 1, parts);
                    }
                }
                func
            }
        }
    }

    /// The indices that an application names: those of the Π, unless the scheme has others.
    fn explicit(&self, func: &Expr, args: &[Index]) -> Vec<Doc> {
        let in_order = || args.iter().map(|i| self.index(i)).collect();
        let ExprKind::Global(g) = &*func.kind else { return in_order() };
        let Some(scheme) = self.globals.scheme(g) else { return in_order() };
        let AtomTy::Pi(q) = &scheme.ty.atom else { return in_order() };
        if !q.params.iter().map(|p| p.sort).eq(args.iter().map(Index::sort)) {
            return in_order();
        }
        let mut given = Subst::new();
        for (p, a) in q.params.iter().zip(args) {
            given.bind_index(p, a.clone());
        }
        let written = |i: &ExplicitIndex| match i {
            ExplicitIndex::Param(k) => args.get(*k).map(|a| self.index(a)),
            ExplicitIndex::Derived(_, d) => Some(text(self.dim(&given.dim(d)))),
        };
        scheme.explicit.iter().filter_map(written).collect()
    }

    // ---- arrays ----------------------------------------------------------------------------------

    fn frame(&mut self, dims: &[Dim], elems: &[Expr], ty: &ArrTy) -> Doc {
        if elems.is_empty() {
            return self.empty(dims, ty);
        }
        if let [_] = dims {
            return self.vector(elems);
        }
        let sizes: Option<Vec<usize>> =
            dims.iter().map(|d| d.as_constant().and_then(|c| usize::try_from(c).ok())).collect();
        match sizes {
            Some(sizes) if sizes.len() > 1 && elems.iter().all(is_literal) => self.nested(&sizes, elems),
            _ => {
                let dims = dims.iter().map(|d| text(self.dim(d))).collect();
                let mut parts = vec![brackets(Style::Fill, dims)];
                parts.extend(elems.iter().map(|e| self.expr(e)));
                form("frame", 1, parts)
            }
        }
    }

    fn vector(&mut self, elems: &[Expr]) -> Doc {
        if let Some(chars) = characters(elems) {
            return text(string(chars.into_iter()));
        }
        let scalars = elems.iter().all(|e| e.children().is_empty());
        let items = elems.iter().map(|e| self.expr(e)).collect();
        brackets(if scalars { Style::Fill } else { Style::Column }, items)
    }

    /// Rows of rows of literals.
    fn nested(&mut self, sizes: &[usize], elems: &[Expr]) -> Doc {
        match sizes {
            [_, inner @ ..] if !inner.is_empty() => {
                let rows = elems.chunks(inner.iter().product::<usize>().max(1));
                brackets(Style::Column, rows.map(|row| self.nested(inner, row)).collect())
            }
            _ => self.vector(elems),
        }
    }

    /// `(array [0 3] t)`, where the shape is known; the type of an element otherwise.
    fn empty(&mut self, dims: &[Dim], ty: &ArrTy) -> Doc {
        let known = |items: &[ShapeItem]| items.iter().all(|i| matches!(i, ShapeItem::Dim(_)));
        let outer = match ty.shape.items() {
            all if known(all) => all.len(),
            all => dims.len().min(all.len()),
        };
        let (dims, cell) = ty.shape.items().split_at(outer);
        let cell = self.ty(&ArrTy::new(ty.atom.clone(), Shape(cell.to_vec())));
        let word = if outer == ty.shape.items().len() { "array" } else { "frame" };
        form(word, 1, vec![brackets(Style::Fill, self.items(dims)), cell])
    }

    // ---- bindings and choice ---------------------------------------------------------------------

    /// A chain of `let`s is one `let*`: names do not hide each other.
    fn lets(&mut self, mut e: &Expr) -> Doc {
        self.scoped(|p| {
            let mut bindings = vec![];
            while let ExprKind::Let { local, value, body } = &*under_checks(e).kind {
                p.unchecked(e);
                bindings.push(p.binding(local, value));
                e = body;
            }
            let word = if bindings.len() > 1 { "let*" } else { "let" };
            form(word, 1, vec![column(bindings), p.expr(e)])
        })
    }

    /// `(x e)`, `((f{t … | i …} [x τ] …) : τ e)`
    fn binding(&mut self, local: &Local, value: &Expr) -> Doc {
        // The name is chosen with the value's scope left, and is not in scope in the value.
        let mark = self.names.enter();
        let name = self.names.bind_value(local.var, &local.name);
        let function = self.function(&name, value);
        self.names.leave(mark);
        let doc = match function {
            Some((head, ret, body)) => parens(2, vec![head, ret, body]),
            None => parens(1, vec![text(name), self.expr(value)]),
        };
        self.names.bind_value(local.var, &local.name);
        doc
    }

    fn cond(&mut self, mut e: &Expr) -> Doc {
        let mut clauses = vec![];
        while let ExprKind::If { cond, then, otherwise } = &*under_checks(e).kind {
            self.unchecked(e);
            clauses.push(parens(1, vec![self.expr(cond), self.expr(then)]));
            e = otherwise;
        }
        clauses.push(form("else", 0, vec![self.expr(e)]));
        form("cond", 0, clauses)
    }

    // ---- boxes and indices -----------------------------------------------------------------------

    pub(super) fn boxed(&mut self, witnesses: &[Index], value: &Expr, ty: &ArrTy) -> Doc {
        let witnesses: Vec<_> = witnesses.iter().map(|i| self.index(i)).collect();
        let AtomTy::Sigma(q) = &ty.atom else {
            return form("box", 1, vec![self.expr(value)]);
        };
        let (names, body) = self.scoped(|p| {
            let bind = |(v, i)| parens(2, vec![text(p.names.bind_index(v)), i]);
            let names = q.params.iter().zip(witnesses).map(bind).collect();
            (column(names), p.ty(&q.body))
        });
        form("box", 2, vec![names, body, self.expr(value)])
    }

    fn lift(&mut self, kind: LiftKind, indices: &[IVar], value: &Expr, body: &Expr) -> Doc {
        let of = self.expr(value);
        let word = match kind {
            LiftKind::Natural | LiftKind::Shape => "lift",
            LiftKind::Integer => "lift-int",
            LiftKind::Dims => return self.lift_each(of, indices, body),
        };
        self.scoped(|p| {
            let mut binding: Vec<_> = indices.iter().map(|v| text(p.names.bind_index(v))).collect();
            binding.push(of);
            form(word, 1, vec![brackets(Style::Head(2), binding), p.expr(body)])
        })
    }

    /// Source has a form for one integer: each is taken out of the vector.
    fn lift_each(&mut self, vector: Doc, indices: &[IVar], body: &Expr) -> Doc {
        self.scoped(|p| {
            let (name, bind) = match vector {
                Doc::Text(name) if !name.starts_with('"') => (name, None),
                vector => (p.names.bind_hidden("counts"), Some(vector)),
            };
            let names: Vec<_> = indices.iter().map(|v| p.names.bind_index(v)).collect();
            let index = p.prelude("index");
            let mut doc = p.expr(body);
            for (k, n) in names.iter().enumerate().rev() {
                let instance = format!("{index}{{int | [{}] [] 1}}", indices.len());
                let item = parens(1, vec![text(instance), text(&name), text(format!("[{k}]"))]);
                let binding = brackets(Style::Head(2), vec![text(n), item]);
                doc = form("lift-int", 1, vec![binding, doc]);
            }
            match bind {
                None => doc,
                Some(vector) => {
                    let binding = column(vec![parens(1, vec![text(name), vector])]);
                    form("let", 1, vec![binding, doc])
                }
            }
        })
    }

    /// A dim as a number. As an index, a difference must not be negative; as a number it may.
    fn reify_dim(&mut self, d: &Dim, ty: &ArrTy) -> Doc {
        if let Some(n) = d.as_constant() {
            return self.number(Lit::Int(n), ty);
        }
        let reified = |p: &Self, d: Dim| match d.as_constant() {
            Some(n) => text(n.to_string()),
            None => form("reify-dimension", 1, vec![text(p.dim(&d))]),
        };
        let (minus, plus): (Vec<_>, Vec<_>) = d.terms().iter().cloned().partition(|t| t.1 < 0);
        let minus = Dim::from_terms(minus).scale(-1);
        let value = match minus == Dim::zero() {
            true => reified(self, d.clone()),
            false => {
                let (plus, minus) = (reified(self, Dim::from_terms(plus)), reified(self, minus));
                parens(1, vec![text(self.prelude("-")), plus, minus])
            }
        };
        if ty.atom == AtomTy::INT { value } else { annotated(value, self.ty(ty)) }
    }

    /// A size that is checked before it is given, by a call that checks the same: `(length iota{| [(- n 1)]})`.
    fn checked_size(&mut self, mut checked: &Expr, body: &Expr) -> Doc {
        let mut sizes = Vec::new();
        while let ExprKind::Check { fact, body, .. } = &*checked.kind {
            if let Fact::NonNegative(d) = fact {
                sizes.insert(0, d.clone());
            }
            checked = body;
        }
        let asked = |p: &Self, word: &str, s: &Shape| {
            let none = braces(&p.prelude("iota"), vec![], vec![brackets(Style::Fill, p.items(s.items()))]);
            form(&p.prelude(word), 1, vec![none])
        };
        let value = match &*body.kind {
            _ if sizes.is_empty() => return self.expr(body),
            ExprKind::ReifyDim(d) if sizes == [d.clone()] => asked(self, "length", &Shape::of_dims(sizes)),
            ExprKind::ReifyShape(s) if s.known_dims().filter(|d| !d.is_never_negative()).eq(&sizes) => {
                asked(self, "shape", s)
            }
            _ => {
                let first =
                    parens(1, vec![parens(1, vec![text("_"), asked(self, "shape", &Shape::of_dims(sizes))])]);
                return form("let", 1, vec![first, self.expr(body)]);
            }
        };
        if body.ty.atom == AtomTy::INT { value } else { annotated(value, self.ty(&body.ty)) }
    }

    /// A vector of numbers where these are all known, or may be negative.
    fn reify_shape(&mut self, s: &Shape, ty: &ArrTy) -> Doc {
        let is_number = |d: &Dim| d.as_constant().is_some();
        match s.dims() {
            Some(dims)
                if !dims.is_empty()
                    && (dims.iter().all(is_number) || !dims.iter().all(Dim::is_never_negative)) =>
            {
                let item = ArrTy::scalar(ty.atom.clone());
                brackets(Style::Fill, dims.iter().map(|d| self.reify_dim(d, &item)).collect())
            }
            _ => {
                let reified = form("reify-shape", 1, vec![self.shape(s)]);
                if ty.atom == AtomTy::INT { reified } else { annotated(reified, self.ty(ty)) }
            }
        }
    }

    // ---- tuples ----------------------------------------------------------------------------------

    fn tuple(&mut self, parts: &[Expr], ty: &ArrTy) -> Doc {
        let values: Vec<_> = parts.iter().map(|e| self.expr(e)).collect();
        let labels: Option<Vec<&Name>> = match &ty.atom {
            AtomTy::Tuple(t) if !parts.is_empty() => t.fields.iter().map(|(l, _)| l.as_ref()).collect(),
            _ => None,
        };
        match labels {
            Some(labels) => {
                let field = |(l, v): (&Name, Doc)| parens(2, vec![text(l.as_str()), v]);
                form("record", 0, labels.into_iter().zip(values).map(field).collect())
            }
            None => form("values", 0, values),
        }
    }
}

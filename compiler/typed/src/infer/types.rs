//! Written types and indices → types of the checker.

use super::apply::Source;
use super::instance::Operator;
use super::*;
use crate::codes;
use remc_syntax::ast::{self, IndexExpr, IndexKind, TypeExpr, TypeKind};

/// What other languages call types, and their names here.
const KNOWN_AS: &[(&str, &str)] = &[
    ("double", "float"),
    ("real", "float"),
    ("number", "float"),
    ("float64", "f64"),
    ("float32", "f32"),
    ("float16", "f16"),
    ("half", "f16"),
    ("single", "f32"),
    ("long", "i64"),
    ("short", "i16"),
    ("integer", "int"),
    ("int64", "i64"),
    ("int32", "i32"),
    ("int16", "i16"),
    ("int8", "i8"),
    ("byte", "u8"),
    ("uint8", "u8"),
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("boolean", "bool"),
    ("string", "[char n]"),
    ("str", "[char n]"),
    ("character", "char"),
];

impl Checker<'_> {
    /// A type where an array type is wanted; an atom type is that of a scalar.
    pub(super) fn array_type(&mut self, t: &TypeExpr) -> Check<ArrTy> {
        match &*t.kind {
            TypeKind::Arr { atom, shape } => {
                self.swapped_type(t, atom, shape);
                let atom = self.array_type(atom)?;
                let shape = self.shape_of(shape)?;
                // `[[int 3] 2]` is two of `[int 3]`.
                Ok(atom.lifted(&shape))
            }
            TypeKind::Name(name) => self.named_type(name, t.id),
            _ => Ok(ArrTy::scalar(self.atom_type(t)?)),
        }
    }

    /// Warns where a type stands among the sizes, and no type in front of them: `[n int]`.
    fn swapped_type(&mut self, t: &TypeExpr, atom: &TypeExpr, shape: &[IndexExpr]) {
        let TypeKind::Name(first) = &*atom.kind else { return };
        let base = |i: &IndexExpr| match &*i.kind {
            IndexKind::Name(name) => BaseTy::from_name(name.as_str()),
            _ => None,
        };
        let Some(at) = shape.iter().position(|i| base(i).is_some()) else { return };
        let IndexKind::Name(size) = &*shape[at].kind else { return };
        let is_type = BaseTy::from_name(first.as_str()).is_some() || self.env.type_alias(first).is_some();
        if is_type || self.find_type(first).is_some() || first.is_at() {
            return;
        }
        let text = |i: &IndexExpr| match &*i.kind {
            IndexKind::Name(name) => name.to_string(),
            IndexKind::Nat(n) => n.to_string(),
            _ => "…".into(),
        };
        let others = shape.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, i)| text(i));
        let sizes: Vec<String> = std::iter::once(first.to_string()).chain(others).collect();
        let right = format!("[{size} {}]", sizes.join(" "));
        self.diagnostics.push(
            Diagnostic::warning(
                codes::MISSPELT_TYPE,
                format!("`{size}` is read as the name of a size, and `{first}` as a type"),
            )
            .primary(Loc::Node(t.id), "the type of the elements comes first")
            .help(format!("write `{right}`")),
        );
    }

    fn named_type(&mut self, name: &Name, node: NodeId) -> Check<ArrTy> {
        match self.find_type(name) {
            Some(TypeBinding::Atom(t)) => return Ok(ArrTy::scalar(t)),
            Some(TypeBinding::Array(t)) => return Ok(t),
            None => {}
        }
        if let Some(b) = BaseTy::from_name(name.as_str()) {
            return Ok(ArrTy::base(b));
        }
        match self.env.type_alias(name) {
            Some(Ok(alias)) => {
                let s = &mut self.s;
                return Ok(subst::freshen(&alias.ty, &mut || s.fresh_id()));
            }
            Some(Err(())) => return Err(Reported),
            None => {}
        }
        if self.implicit != Implicit::Flexible {
            let near = BaseTy::ALL.iter().find(|b| errors::near(b.name(), name.as_str()));
            let known = KNOWN_AS.iter().find(|(n, _)| *n == name.as_str().to_lowercase());
            let meant = near.map(|b| b.name()).or(known.map(|(_, t)| *t));
            let mut d = Diagnostic::error(codes::UNKNOWN_TYPE, format!("there is no type `{name}`"))
                .primary(Loc::Node(node), "unknown type")
                .help(self.type_suggestion(name));
            d.fixes.extend(meant.map(|t| Fix::replace(format!("write `{t}`"), Loc::Node(node), t)));
            return self.fail(d);
        }
        let near = BaseTy::ALL.iter().map(|b| b.name()).find(|b| errors::near(b, name.as_str()));
        let known = KNOWN_AS.iter().find(|(n, _)| *n == name.as_str()).map(|(_, t)| *t);
        if let Some(base) = known.or(near) {
            self.diagnostics.push(
                Diagnostic::warning(
                    codes::MISSPELT_TYPE,
                    format!("`{name}` is read as a type variable; did you mean `{base}`?"),
                )
                .primary(Loc::Node(node), "any type at all")
                .help(format!("write `{base}`, or bind the variable: `(define (f{{{name} |}} …) …)`"))
                .fix(Fix::replace(format!("write `{base}`"), Loc::Node(node), base)),
            );
        }
        let atom = self.s.fresh_atom(None, node);
        let binding = if name.is_at() {
            let shape = self.s.fresh_whole_shape(self.size_role, node, name.clone());
            let ty = ArrTy::new(atom, shape);
            self.bind(name, Binding::Type(TypeBinding::Array(ty.clone())));
            ty
        } else {
            self.bind(name, Binding::Type(TypeBinding::Atom(atom.clone())));
            ArrTy::scalar(atom)
        };
        Ok(binding)
    }

    fn type_suggestion(&self, name: &Name) -> String {
        match BaseTy::ALL.iter().find(|b| errors::near(b.name(), name.as_str())) {
            Some(b) => format!("did you mean `{b}`?"),
            None if KNOWN_AS.iter().any(|(n, _)| *n == name.as_str().to_lowercase()) => {
                let known = KNOWN_AS.iter().find(|(n, _)| *n == name.as_str().to_lowercase());
                format!("it is written `{}` here", known.map_or("int", |(_, t)| t))
            }
            None => "the base types are int, float, bool, char, i8 … u64, f16, f32, f64".into(),
        }
    }

    /// A type where an atom type is wanted.
    pub(super) fn atom_type(&mut self, t: &TypeExpr) -> Check<AtomTy> {
        Ok(match &*t.kind {
            TypeKind::Name(_) | TypeKind::Arr { .. } => {
                let ty = self.array_type(t)?;
                if !ty.shape.is_scalar() {
                    let shown = self.show(&ty);
                    return self.fail(
                        Diagnostic::error(
                            codes::INSTANCE,
                            format!("`{shown}` is an array type; an atom type is wanted here"),
                        )
                        .primary(Loc::Node(t.id), "has a shape")
                        .help("write the type of the elements alone, such as `int`"),
                    );
                }
                ty.atom
            }
            TypeKind::Fn { params, ret } => {
                let params = params.iter().map(|p| self.array_type(p)).collect::<Check<_>>()?;
                AtomTy::func(params, self.array_type(ret)?)
            }
            // The binders end with the type; what it binds implicitly, behind them, stays in scope.
            TypeKind::Forall { params, body } => {
                let mark = self.scope.len();
                let params = self.bind_tparams(params);
                let body = self.array_type(body);
                self.scope.forget(mark..mark + params.len());
                AtomTy::Forall(std::sync::Arc::new(ForallTy { params, body: body? }))
            }
            TypeKind::Pi { params, body } => {
                let mark = self.scope.len();
                let params = self.bind_iparams(params, 0);
                let body = self.array_type(body);
                self.scope.forget(mark..mark + params.len());
                AtomTy::Pi(std::sync::Arc::new(PiTy { params, body: body? }))
            }
            TypeKind::Sigma { params, body } => {
                let mark = self.scope.len();
                let params = self.bind_iparams(params, 0);
                let body = self.array_type(body);
                self.scope.forget(mark..mark + params.len());
                AtomTy::sigma(params, body?)
            }
            TypeKind::Tuple(ts) => {
                AtomTy::tuple(ts.iter().map(|t| Ok((None, self.array_type(t)?))).collect::<Check<_>>()?)
            }
            TypeKind::Record(fields) => AtomTy::tuple(
                fields
                    .iter()
                    .map(|(l, t)| Ok((Some(l.name.clone()), self.array_type(t)?)))
                    .collect::<Check<_>>()?,
            ),
            TypeKind::Quot(t) => {
                let t = self.atom_type(t)?;
                self.s.zonk_atom(&AtomTy::Quot(std::sync::Arc::new(t)))
            }
            TypeKind::Val(_) => {
                return self.fail(
                    Diagnostic::error(
                        codes::NOT_AN_INDEX,
                        "`(Val i)` is the type of a parameter or result of a top-level definition alone",
                    )
                    .primary(Loc::Node(t.id), "not here")
                    .help("write `int`"),
                );
            }
            TypeKind::Stream { .. } => {
                return self.fail(
                    Diagnostic::error(codes::STREAM_TYPE, "a stream is a parameter, and no part of another type")
                        .primary(Loc::Node(t.id), "not here")
                        .note("its items come one after the other: there is no array, box, tuple or stream of streams")
                        .help("write `[xs (Stream τ)]` for a parameter; a result needs no annotation: what goes along a stream is written piece by piece"),
                );
            }
            TypeKind::Error => return Err(Reported),
        })
    }

    /// The type of the parameter `name`, a stream of these items: an array of one more axis, whose size nobody else
    /// knows unless it has a name.
    pub(super) fn stream_type(
        &mut self,
        name: &Name,
        t: &TypeExpr,
        item: &TypeExpr,
        length: Option<&IndexExpr>,
    ) -> Check<ArrTy> {
        if matches!(&*item.kind, TypeKind::Stream { .. }) {
            return self.fail(
                Diagnostic::error(codes::STREAM_TYPE, "a stream of streams is none")
                    .primary(Loc::Node(item.id), "the items are a stream themselves")
                    .help("rows of different lengths are boxes: `(Stream (Σ (n) [float n]))`"),
            );
        }
        let item = self.param_array_type(item)?;
        let dim = match length {
            Some(n) if !matches!(&*n.kind, IndexKind::Name(_)) => {
                return self.fail(
                    Diagnostic::error(codes::STREAM_TYPE, "the length of a stream is a name: nobody knows it before its end")
                        .primary(Loc::Node(n.id), "no name")
                        .help("streams whose lengths have one name keep step; leave it out, or write a name: `(Stream float n)`"),
                );
            }
            Some(n) => {
                let outside = std::mem::replace(&mut self.implicit, self.param_implicit);
                let dim = self.dim(n);
                self.implicit = outside;
                dim?
            }
            None if self.param_implicit == Implicit::No => {
                return self.fail(
                    Diagnostic::error(
                        codes::STREAM_TYPE,
                        "where index variables are bound by name the length of a stream is one of them",
                    )
                    .primary(Loc::Node(t.id), "this stream's length has no name")
                    .help("name it among the binders, and in the type: `(f{ | n} [xs (Stream float n)])`"),
                );
            }
            None => {
                let mut own = Name::new(format!("{name}-length"));
                while self.find_index(&own).is_some() || self.find_value(&own).is_some() {
                    own = Name::new(format!("{own}'"));
                }
                let outside = std::mem::replace(&mut self.implicit, self.param_implicit);
                let index = self.named_index(&own, t.id);
                self.implicit = outside;
                match index? {
                    Index::Dim(d) => d,
                    Index::Shape(_) => return Err(Reported),
                }
            }
        };
        Ok(item.lifted(&Shape::of_dims(vec![dim])))
    }

    /// Binds type parameters as rigid variables in the current scope.
    pub(super) fn bind_tparams(&mut self, params: &[ast::TypeParam]) -> Vec<TParam> {
        params
            .iter()
            .map(|p| {
                let var = TVar { id: self.s.fresh_id(), name: p.name.clone() };
                self.s.tvar_class.insert(var.id, p.class);
                let atom = AtomTy::Var(var.clone());
                let shape = p.name.is_at().then(|| self.s.fresh_ivar(Sort::Shape, p.name.as_str(), 0));
                let binding = match &shape {
                    Some(s) => TypeBinding::Array(ArrTy::new(atom, Shape::rigid(s.clone()))),
                    None => TypeBinding::Atom(atom),
                };
                self.bind(&p.name, Binding::Type(binding));
                TParam { var, shape, class: p.class }
            })
            .collect()
    }

    /// Binds index parameters as rigid variables in the current scope.
    pub(super) fn bind_iparams(&mut self, params: &[ast::IndexParam], depth: u32) -> Vec<IVar> {
        params.iter().map(|p| self.bind_index_name(&p.name, depth)).collect()
    }

    pub(super) fn bind_index_name(&mut self, name: &Name, depth: u32) -> IVar {
        let sort = if name.is_at() { Sort::Shape } else { Sort::Dim };
        let v = self.s.fresh_ivar(sort, name.as_str(), depth);
        self.bind(name, Binding::Index(v.clone().into()));
        v
    }

    /// The splice of a list of indices.
    pub(super) fn shape_of(&mut self, items: &[IndexExpr]) -> Check<Shape> {
        let mut shape = Shape::scalar();
        for item in items {
            match self.index(item)? {
                Index::Dim(d) => shape.0.push(ShapeItem::Dim(d)),
                Index::Shape(s) => shape.0.extend(s.0),
            }
        }
        Ok(shape)
    }

    pub(super) fn dim(&mut self, i: &IndexExpr) -> Check<Dim> {
        match self.index(i)? {
            Index::Dim(d) => Ok(d),
            Index::Shape(s) => self.fail(
                Diagnostic::error(
                    codes::NOT_AN_INDEX,
                    format!("a single dim is wanted here, not the shape `{s}`"),
                )
                .primary(Loc::Node(i.id), "a shape"),
            ),
        }
    }

    pub(super) fn index(&mut self, i: &IndexExpr) -> Check<Index> {
        Ok(match &*i.kind {
            IndexKind::Nat(n) => Index::Dim(Dim::constant(*n as i128)),
            IndexKind::Name(name) => return self.named_index(name, i.id),
            IndexKind::Add(ds) => {
                let mut sum = Dim::zero();
                for d in ds {
                    sum = sum.add(&self.dim(d)?);
                }
                Index::Dim(sum)
            }
            IndexKind::Mul(ds) => {
                let mut product = Dim::constant(1);
                for d in ds {
                    product = product.mul(&self.dim(d)?);
                }
                if !product.is_small() {
                    return self.fail(
                        Diagnostic::error(
                            codes::TYPE_TOO_LARGE,
                            "this size is a polynomial of too many terms",
                        )
                        .primary(Loc::Node(i.id), "too large")
                        .help("give the size a name of its own, as an index variable"),
                    );
                }
                Index::Dim(product)
            }
            IndexKind::Sub(ds) => {
                let mut out: Option<Dim> = None;
                for d in ds {
                    let d = self.dim(d)?;
                    out = Some(out.map_or_else(|| d.clone(), |o| o.sub(&d)));
                }
                let out = out.unwrap_or_else(Dim::zero);
                if let Some(c) = out.as_constant()
                    && c < 0
                {
                    return self.fail(
                        Diagnostic::error(
                            codes::NEGATIVE_DIM,
                            format!("this dim is {c}; no array has a negative number of items"),
                        )
                        .primary(Loc::Node(i.id), "negative"),
                    );
                }
                Index::Dim(out)
            }
            IndexKind::Shape(items) => Index::Shape(self.shape_of(items)?),
            IndexKind::Rank(s) => Index::Dim(match self.index(s)? {
                Index::Shape(s) => s.rank(),
                Index::Dim(_) => Dim::constant(1),
            }),
            IndexKind::Size(s) => Index::Dim(match self.index(s)? {
                Index::Shape(s) => s.size(),
                Index::Dim(d) => d,
            }),
            IndexKind::Value(e) => return self.index_of_value(e),
            IndexKind::Error => return Err(Reported),
        })
    }

    /// The index that an expression's value is, opened here if it is not known: an int is a dim, a vector of
    /// them a shape.
    fn index_of_value(&mut self, e: &ast::Expr) -> Check<Index> {
        let t = self.demanding(true, |c| c.infer(e, None))?;
        let scalar = self.s.zonk_shape(&t.expr.ty.shape).is_scalar() && self.scalar_box(&t.expr).is_none();
        let want = if scalar { Index::Dim(Dim::zero()) } else { Index::Shape(Shape::scalar()) };
        let shown = self.show(&t.expr.ty);
        let op = Operator { name: "as-shape".into(), ..Operator::plain(t.expr.clone()) };
        match self.val_argument(&want, None, Source::Done(t), &op)? {
            (Some(index), _) => Ok(index),
            (None, _) => self.fail(
                Diagnostic::error(codes::NOT_AN_INDEX, "a size is an int, and a shape a vector of ints")
                    .primary(Loc::Node(e.id), format!("has type `{shown}`")),
            ),
        }
    }

    fn named_index(&mut self, name: &Name, node: NodeId) -> Check<Index> {
        if let Some(i) = self.find_index(name) {
            match &i {
                Index::Dim(d) => {
                    let own = |v: &DimVar| if let DimVar::Rigid(v) = v { Some(v.id) } else { None };
                    self.written.extend(d.vars().filter_map(own));
                }
                Index::Shape(s) => {
                    let own = |item: &ShapeItem| match item {
                        ShapeItem::Var(ShapeVar::Rigid(v)) => Some(v.id),
                        _ => None,
                    };
                    self.written.extend(s.items().iter().filter_map(own));
                }
            }
            return Ok(i);
        }
        // A value whose number is known, or a run-time integer, opened here.
        if let Some(Binding::Local(var)) = self.find_value(name).cloned() {
            let t = self.demanding(true, |c| c.use_local(var, node))?;
            if let Some(k) = t.known {
                return Ok(k);
            }
        }
        match self.implicit {
            Implicit::Flexible => {
                let index = if name.is_at() {
                    Index::Shape(self.s.fresh_whole_shape(self.size_role, node, name.clone()))
                } else {
                    let size = self.s.fresh_size(self.size_role, node, Some(name.clone()));
                    let named = errors::NamedSize { name: name.clone(), size: size.clone(), origin: None };
                    self.named_sizes.push(named);
                    Index::Dim(size)
                };
                self.bind(name, Binding::Index(index.clone()));
                Ok(index)
            }
            Implicit::Entry => {
                let v = self.bind_index_name(name, 0);
                self.entry_indices.push(v.clone());
                Ok(v.into())
            }
            Implicit::No => {
                let similar = self
                    .scope
                    .iter()
                    .rev()
                    .filter(|((space, _), _)| *space == Space::Indices)
                    .find(|((_, n), _)| errors::near(n.as_str(), name.as_str()))
                    .map(|((_, n), _)| n.clone());
                let d = Diagnostic::error(
                    codes::UNKNOWN_INDEX,
                    format!("there is no index variable `{name}` in scope"),
                )
                .primary(Loc::Node(node), "unknown index");
                self.fail(match similar {
                    Some(n) => {
                        let fix = Fix::replace(format!("write `{n}`"), Loc::Node(node), n.as_str());
                        d.help(format!("did you mean `{n}`?")).fix(fix)
                    }
                    None => d.help(format!(
                        "bind it where the definition begins: `(define (f{{ | {name}}} …) …)`, or in the type of a parameter"
                    )),
                })
            }
        }
    }
}

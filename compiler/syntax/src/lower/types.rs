//! Types.

use super::*;
use crate::forms::TYPE_HEADS;
use remc_base::BaseTy;

const GRAMMAR: &str = "types are `int`, `[int 2 n]`, `t`, `@t`, `(→ (τ …) τ)`, `(∀ (t …) τ)`, `(Π (i …) τ)`, \
                       `(Σ (i …) τ)`, `(Tuple τ …)`, `(Record (label τ) …)`";

impl Lowering<'_> {
    pub(super) fn types(&mut self, parts: &[Sexpr]) -> Vec<TypeExpr> {
        parts.iter().map(|p| self.ty(p)).collect()
    }

    pub(super) fn ty(&mut self, s: &Sexpr) -> TypeExpr {
        let id = self.node(s.span);
        let kind = self.type_kind(s);
        TypeExpr { id, kind: Box::new(kind) }
    }

    fn type_kind(&mut self, s: &Sexpr) -> TypeKind {
        match &s.kind {
            SexprKind::Name(n) => match form(n.as_str()) {
                Some(f) => self.bad_type(s, format!("found the keyword `{}`", f.keyword)),
                None => TypeKind::Name(n.clone()),
            },
            SexprKind::Bracket(parts) => match parts.as_slice() {
                [] => {
                    self.error(
                        codes::EMPTY_BRACKET,
                        "an array type names its element type",
                        s.span,
                        "there is no type in these brackets",
                        "write `[int 2 3]`: the element type, then the dims",
                    );
                    TypeKind::Error
                }
                [atom, shape @ ..] => {
                    if matches!(atom.kind, SexprKind::Int { .. }) {
                        self.error(
                            codes::BAD_TYPE,
                            "an array type begins with its element type",
                            atom.span,
                            &format!("found {}", atom.describe()),
                            "write `[int 2 3]`: the element type, then the dims",
                        );
                        return TypeKind::Error;
                    }
                    TypeKind::Arr { atom: self.ty(atom), shape: self.indices(shape) }
                }
            },
            SexprKind::List(parts) => match (s.head(), parts.as_slice()) {
                (Some(head), [_, parts @ ..]) => self.type_form(s, head, parts),
                _ => self.bad_type(s, format!("found {}", s.describe())),
            },
            SexprKind::Error => TypeKind::Error,
            _ => self.bad_type(s, format!("found {}", s.describe())),
        }
    }

    fn bad_type(&mut self, s: &Sexpr, label: String) -> TypeKind {
        self.error(codes::BAD_TYPE, "expected a type", s.span, &label, GRAMMAR);
        TypeKind::Error
    }

    fn wrong_type_form(&mut self, s: &Sexpr, grammar: &str) -> TypeKind {
        let head = s.head().unwrap_or_default();
        self.error(
            codes::BAD_TYPE,
            format!("this `{head}` type is not complete or not in order"),
            s.span,
            "here",
            &format!("the form is {grammar}"),
        );
        TypeKind::Error
    }

    fn type_form(&mut self, s: &Sexpr, head: &str, parts: &[Sexpr]) -> TypeKind {
        match (head, parts) {
            ("→", [params, ret]) => match &params.kind {
                SexprKind::List(list) if list.is_empty() => {
                    self.error(
                        codes::NO_PARAMETERS,
                        "a function has at least one parameter",
                        params.span,
                        "there is none here",
                        "use the type of the result itself",
                    );
                    TypeKind::Error
                }
                SexprKind::List(list) if !is_type_form(params) => {
                    TypeKind::Fn { params: self.types(list), ret: self.ty(ret) }
                }
                _ => self.wrong_type_form(s, "`(→ (τ …) τ)`, the parameters in parentheses of their own"),
            },
            ("→", _) => {
                self.wrong_type_form(s, "`(→ (τ …) τ)`, the parameters in parentheses of their own")
            }
            ("∀", [params, body]) if params.group().is_some() => {
                let params = self.type_params(params.group().unwrap_or_default());
                TypeKind::Forall { params, body: self.ty(body) }
            }
            ("Π", [params, body]) if params.group().is_some() => {
                let params = self.index_params(params.group().unwrap_or_default());
                TypeKind::Pi { params, body: self.ty(body) }
            }
            ("Σ", [params, body]) if params.group().is_some() => {
                let params = self.index_params(params.group().unwrap_or_default());
                TypeKind::Sigma { params, body: self.ty(body) }
            }
            ("∀", _) => self.wrong_type_form(s, "`(∀ (t …) τ)`"),
            ("Π", _) => self.wrong_type_form(s, "`(Π (i …) τ)`"),
            ("Σ", _) => self.wrong_type_form(s, "`(Σ (i …) τ)`"),
            ("A" | "Arr", [atom, shape]) => {
                TypeKind::Arr { atom: self.ty(atom), shape: vec![self.index(shape)] }
            }
            ("A" | "Arr", _) => self.wrong_type_form(s, "`(Arr t shape)`, or `[t 2 3]`"),
            ("Tuple", parts) => TypeKind::Tuple(self.types(parts)),
            ("Record", fields) => {
                let mut out = Vec::new();
                for field in fields {
                    match field.group() {
                        Some([label, ty]) => {
                            let label = self.label(label);
                            out.push((label, self.ty(ty)));
                        }
                        _ if field.is_error() => {}
                        _ => return self.wrong_type_form(s, "`(Record (label τ) …)`"),
                    }
                }
                self.distinct(out.iter().map(|(l, _)| (&l.name, l.id)));
                TypeKind::Record(out)
            }
            ("Quot", [t]) => TypeKind::Quot(self.ty(t)),
            ("Quot", _) => self.wrong_type_form(s, "`(Quot t)`"),
            ("Val", [i]) => TypeKind::Val(self.index(i)),
            ("Val", _) => self.wrong_type_form(s, "`(Val i)`"),
            ("Stream", [item]) => TypeKind::Stream { item: self.ty(item), length: None },
            ("Stream", [item, length]) => {
                TypeKind::Stream { item: self.ty(item), length: Some(self.index(length)) }
            }
            ("Stream", _) => {
                self.wrong_type_form(s, "`(Stream τ)`, or `(Stream τ n)` where `n` names its length")
            }
            (head, [_, ..]) if BaseTy::from_name(head).is_some() => {
                self.error(
                    codes::BAD_TYPE,
                    "an array type is written in brackets",
                    s.span,
                    "these are parentheses",
                    "write `[int 2 3]`",
                );
                TypeKind::Error
            }
            _ => self.bad_type(s, format!("found {}", s.describe())),
        }
    }

    /// `t`, `@t`, `(t num)`; also `(t Atom)`, `(@t Array)`.
    pub(super) fn type_params(&mut self, parts: &[Sexpr]) -> Vec<TypeParam> {
        let mut out = Vec::with_capacity(parts.len());
        for s in parts {
            let id = self.node(s.span);
            let (name, class) = match s.group() {
                Some([name, class]) => {
                    let is_class = class.as_name().and_then(|c| remc_base::Class::from_name(c.as_str()));
                    let is_kind = match class.as_name().map(Name::as_str) {
                        Some("Atom") => name.as_name().is_some_and(|n| !n.is_at()),
                        Some("Array") => name.as_name().is_some_and(Name::is_at),
                        _ => false,
                    };
                    if is_class.is_none() && !is_kind && !class.is_error() {
                        self.error(
                            codes::BAD_TYPE,
                            "expected the class of a type variable",
                            class.span,
                            &format!("found {}", class.describe()),
                            "the classes are `num`, `int`, `frac`, `eq` and `ord`: `(t num)`; an array-type \
                             variable is an at-name: `@t`",
                        );
                    }
                    (self.binder(name, "a type variable"), is_class)
                }
                _ => (self.binder(s, "a type variable"), None),
            };
            out.push(TypeParam { id, name: name.unwrap_or_else(missing_name), class });
        }
        self.distinct(out.iter().map(|p| (&p.name, p.id)));
        out
    }

    /// `n`, `@s`; also `(n Dim)`, `(@s Shape)`.
    pub(super) fn index_params(&mut self, parts: &[Sexpr]) -> Vec<IndexParam> {
        let out: Vec<_> = parts.iter().map(|s| self.index_param(s)).collect();
        self.distinct(out.iter().map(|p| (&p.name, p.id)));
        out
    }

    pub(super) fn index_param(&mut self, s: &Sexpr) -> IndexParam {
        let id = self.node(s.span);
        let name = match s.group() {
            Some([name, sort]) => {
                let at = name.as_name().is_some_and(Name::is_at);
                let fits = if at { sort.is("Shape") } else { sort.is("Dim") };
                if !fits && !sort.is_error() {
                    self.error(
                        codes::BAD_INDEX,
                        "a plain name is a dim, an at-name is a shape",
                        s.span,
                        "the sort does not fit the name",
                        "write `n` for a dim, `@s` for a shape",
                    );
                }
                self.binder(name, "an index")
            }
            _ => self.binder(s, "an index"),
        };
        IndexParam { id, name: name.unwrap_or_else(missing_name) }
    }

    /// A label of a record; labels are apart from names, so that keywords are allowed.
    pub(super) fn label(&mut self, s: &Sexpr) -> Ident {
        let name = match s.as_name() {
            Some(name) => name.clone(),
            None => self.binder(s, "a label").unwrap_or_else(missing_name),
        };
        self.ident(s.span, name)
    }
}

/// `(Tuple τ …)` and its like: a type, not a list of types.
fn is_type_form(s: &Sexpr) -> bool {
    s.head().is_some_and(|head| TYPE_HEADS.contains(&head))
}

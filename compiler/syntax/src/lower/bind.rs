//! What binds names: parameters, the heads of definitions, `let`, bodies.

use super::*;

/// The common part of `define` and `entry`, at the top level and in a body.
pub(super) struct Definition {
    pub name: Ident,
    pub ty: Option<TypeExpr>,
    pub value: Expr,
}

/// What may follow the name in the head of a function.
struct Head<'s> {
    name: &'s Sexpr,
    braces: Option<(&'s [Sexpr], &'s [Sexpr])>,
    params: &'s [Sexpr],
}

/// `(f p …)`, `(f{t … | i …} p …)`
fn head(s: &Sexpr) -> Option<Head<'_>> {
    let (first, params) = s.group()?.split_first()?;
    Some(match &first.kind {
        SexprKind::Braces { head, types, indices } => {
            Head { name: head, braces: Some((types, indices)), params }
        }
        _ => Head { name: first, braces: None, params },
    })
}

/// Cuts `: τ` off the front.
fn result_type(parts: &[Sexpr]) -> (Option<&Sexpr>, &[Sexpr]) {
    match parts {
        [colon, ty, rest @ ..] if colon.is(":") => (Some(ty), rest),
        _ => (None, parts),
    }
}

impl Lowering<'_> {
    pub(super) fn params(&mut self, form: &Form, parts: &[Sexpr]) -> Vec<Param> {
        let out: Vec<_> = parts.iter().map(|p| self.param(form, p)).collect();
        self.distinct(out.iter().map(|p| (&p.name, p.id)));
        out
    }

    /// `x`, `[x τ]`, `[x 2]`, `[x all]`
    pub(super) fn param(&mut self, form: &Form, s: &Sexpr) -> Param {
        let id = self.node(s.span);
        let (name, ann) = match s.group() {
            Some([name, ann]) => (self.value_binder(name, "a parameter"), self.annotation(ann)),
            Some([name, colon, ty]) if colon.is(":") => {
                self.malformed(form, colon.span, "a parameter has no colon: write `[x type]`");
                (self.value_binder(name, "a parameter"), Annotation::Type(self.ty(ty)))
            }
            Some(_) => {
                let label = "expected a parameter: `x`, `[x type]`, `[x rank]` or `[x all]`";
                self.malformed(form, s.span, label);
                (None, Annotation::None)
            }
            None => (self.value_binder(s, "a parameter"), Annotation::None),
        };
        Param { id, name: name.unwrap_or_else(missing_name), ann }
    }

    fn annotation(&mut self, s: &Sexpr) -> Annotation {
        if s.is("all") || matches!(s.kind, SexprKind::Int { .. } | SexprKind::Float { .. }) {
            return match self.rank(s) {
                Some(Rank::Of(n)) => Annotation::Rank(n),
                Some(Rank::All) => Annotation::All,
                None => Annotation::None,
            };
        }
        Annotation::Type(self.ty(s))
    }

    /// `(define …)` or `(entry …)`: `parts` follow the keyword.
    pub(super) fn definition(&mut self, form: &Form, whole: Span, parts: &[Sexpr]) -> Option<Definition> {
        let is_entry = form.keyword == "entry";
        let [first, rest @ ..] = parts else {
            self.wrong_count(form, whole, parts, 2, 2);
            return None;
        };
        if let Some(head) = head(first) {
            let name = self.bound(head.name, "a definition");
            let value = self.function(form, whole, &head, rest, is_entry);
            return Some(Definition { name, ty: None, value });
        }
        if is_entry || matches!(first.kind, SexprKind::Braces { .. } | SexprKind::List(_)) {
            self.unexpected(form, first, "a head in parentheses, `(name p …)`");
            return None;
        }
        let name = self.bound(first, "a definition");
        let (ty, value) = result_type(rest);
        let ty = ty.map(|ty| self.ty(ty));
        let value = match value {
            [value] => self.expr(value),
            [colon, ..] if colon.is(":") => {
                self.malformed(form, whole, "a type and a value follow the colon");
                self.error_expr(whole)
            }
            [_, second, .., last] if !first.is_error() => {
                self.malformed(form, second.span.to(last.span), "a name has one value");
                self.error_expr(whole)
            }
            [_, second] if !first.is_error() => {
                self.malformed(form, second.span, "a name has one value");
                self.error_expr(whole)
            }
            _ => {
                if !first.is_error() {
                    self.malformed(form, whole, format!("{} has no value", first.describe()));
                }
                self.error_expr(whole)
            }
        };
        Some(Definition { name, ty, value })
    }

    /// The value of a function definition: only the binders that are written, Π outside ∀.
    fn function(
        &mut self,
        form: &Form,
        whole: Span,
        head: &Head<'_>,
        rest: &[Sexpr],
        may_lack_params: bool,
    ) -> Expr {
        let (types, indices) = head.braces.unwrap_or_default();
        let index_params = (!indices.is_empty()).then(|| {
            let id = self.node(whole);
            (id, self.index_params(indices))
        });
        let type_params = (!types.is_empty()).then(|| {
            let id = self.node(whole);
            (id, self.type_params(types))
        });
        let binds = index_params.is_some() || type_params.is_some();
        let (ret, body) = result_type(rest);
        let mut value = if head.params.is_empty() && !may_lack_params {
            if !binds {
                self.no_parameters(form, whole, head);
            }
            match ret {
                Some(ret) => {
                    let id = self.node(whole);
                    let ty = self.ty(ret);
                    let expr = self.body(form, whole, body);
                    Expr { id, kind: Box::new(ExprKind::Annot { expr, ty }) }
                }
                None => self.body(form, whole, body),
            }
        } else {
            let id = self.node(whole);
            let params = self.params(form, head.params);
            let ret = ret.map(|ret| self.ty(ret));
            let body = self.body(form, whole, body);
            Expr { id, kind: Box::new(ExprKind::Lam { params, ret, body }) }
        };
        if let Some((id, params)) = type_params {
            value = Expr { id, kind: Box::new(ExprKind::TLam { params, body: value }) };
        }
        if let Some((id, params)) = index_params {
            value = Expr { id, kind: Box::new(ExprKind::ILam { params, body: value }) };
        }
        value
    }

    fn no_parameters(&mut self, form: &Form, whole: Span, head: &Head<'_>) {
        if head.name.is_error() {
            return;
        }
        let name = head.name.as_name().map_or("f", Name::as_str);
        let at = head.name.span;
        let help = match form.keyword {
            "let" | "let*" => format!("write `({name} e)`: the value is computed once"),
            _ => format!("write `(define {name} e)`: the value is computed once, when the program starts"),
        };
        let diagnostic = Diagnostic::error(codes::NO_PARAMETERS, format!("`{name}` has no parameters"))
            .primary(at, "a function has at least one")
            .secondary(whole, "in this definition")
            .help(help);
        self.reports.push(diagnostic);
    }

    /// A body: `define`s, then one expression.
    pub(super) fn body(&mut self, form: &Form, whole: Span, parts: &[Sexpr]) -> Expr {
        let Some((last, before)) = parts.split_last() else {
            self.malformed(form, whole, "there is no body");
            return self.error_expr(whole);
        };
        if before.is_empty() && last.head() != Some("define") {
            return self.expr(last);
        }
        let id = self.node(join(parts, whole));
        let mut bindings = Vec::new();
        for part in before {
            match (part.head(), &part.kind) {
                (Some("define"), SexprKind::List(parts)) => {
                    bindings.extend(self.local_definition(part.span, &parts[1..]));
                }
                _ if part.is_error() => {}
                _ => self.error(
                    codes::LOST_VALUE,
                    "the value of this expression is lost",
                    part.span,
                    "only the last expression of a body gives its value",
                    "remove it, or name it with `(define x …)` and use the name",
                ),
            }
        }
        let body = match (last.head(), &last.kind) {
            (Some("define"), SexprKind::List(parts)) => {
                bindings.extend(self.local_definition(last.span, &parts[1..]));
                self.error(
                    codes::NO_RESULT,
                    "this body ends with a definition",
                    last.span,
                    "expected an expression after it",
                    "a body gives the value of its last expression",
                );
                self.error_expr(last.span)
            }
            _ => self.expr(last),
        };
        if bindings.is_empty() {
            return body;
        }
        self.distinct(bindings.iter().map(|b| (&b.param.name, b.param.id)));
        Expr { id, kind: Box::new(ExprKind::Let { bindings, sequential: true, body }) }
    }

    fn local_definition(&mut self, whole: Span, parts: &[Sexpr]) -> Option<Binding> {
        let form = form("define")?;
        let Definition { name, ty, value } = self.definition(form, whole, parts)?;
        let value = match ty {
            Some(ty) => self.expr_node(whole, ExprKind::Annot { expr: value, ty }),
            None => value,
        };
        let param = Param { id: name.id, name: name.name, ann: Annotation::None };
        Some(Binding { param, value, defines: true })
    }

    /// `((x e) …)` of `let`, `let*` and `loop`.
    pub(super) fn bindings(&mut self, form: &Form, s: &Sexpr) -> Vec<Binding> {
        let Some(parts) = s.group() else {
            self.unexpected(form, s, "bindings in parentheses, `((x e) …)`");
            return Vec::new();
        };
        // `(let (x e) …)`: the outer parentheses are missing.
        if let [name, _, ..] = parts
            && name.as_name().is_some()
        {
            self.malformed(form, s.span, "each binding has parentheses of its own: `((x e))`");
            return Vec::new();
        }
        let out: Vec<_> = parts.iter().filter_map(|p| self.binding(form, p)).collect();
        if form.keyword != "let*" {
            self.distinct(out.iter().map(|b| (&b.param.name, b.param.id)));
        }
        out
    }

    /// `(x e)`, `(x rank e)`, `(x τ e)`, `(x : τ e)`, `((f p …) [: τ] e …)`
    fn binding(&mut self, form: &Form, s: &Sexpr) -> Option<Binding> {
        let expected = "a binding, `(x e)`, `(x rank e)`, `(x type e)` or `((f p …) e)`";
        let Some(parts) = s.group() else {
            self.unexpected(form, s, expected);
            return None;
        };
        if let Some((first, rest)) = parts.split_first()
            && let Some(head) = head(first)
        {
            let name = self.bound(head.name, "a function");
            let value = self.function(form, s.span, &head, rest, false);
            let param = Param { id: name.id, name: name.name, ann: Annotation::None };
            return Some(Binding { param, value, defines: false });
        }
        let (name, ann, value) = match parts {
            [name, value] => (name, None, value),
            [name, ann, value] => (name, Some(ann), value),
            [name, colon, ty, value] if colon.is(":") => {
                let name = self.bound(name, "a value");
                let id = self.node(s.span);
                let ty = self.ty(ty);
                let expr = self.expr(value);
                let value = Expr { id, kind: Box::new(ExprKind::Annot { expr, ty }) };
                let param = Param { id: name.id, name: name.name, ann: Annotation::None };
                return Some(Binding { param, value, defines: false });
            }
            _ => {
                self.unexpected(form, s, expected);
                return None;
            }
        };
        let name = self.bound(name, "a value");
        let ann = ann.map_or(Annotation::None, |a| self.annotation(a));
        let param = Param { id: name.id, name: name.name, ann };
        Some(Binding { param, value: self.expr(value), defines: false })
    }
}

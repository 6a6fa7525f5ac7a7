//! Expressions.

use super::*;

impl Lowering<'_> {
    pub(super) fn exprs(&mut self, parts: &[Sexpr]) -> Vec<Expr> {
        parts.iter().map(|p| self.expr(p)).collect()
    }

    pub(super) fn expr(&mut self, s: &Sexpr) -> Expr {
        let id = self.node(s.span);
        self.depth += 1;
        let kind = self.expr_kind(s, id);
        self.depth -= 1;
        Expr { id, kind: Box::new(kind) }
    }

    fn expr_kind(&mut self, s: &Sexpr, id: NodeId) -> ExprKind {
        match &s.kind {
            SexprKind::Name(name) => match form(name.as_str()) {
                Some(form) => self.keyword_as_value(form, s.span),
                None => ExprKind::Var(name.clone()),
            },
            SexprKind::Int { value, suffix } => ExprKind::Int { value: *value, suffix: *suffix },
            SexprKind::Float { value, suffix } => ExprKind::Float { value: *value, suffix: *suffix },
            SexprKind::Bool(b) => ExprKind::Bool(*b),
            SexprKind::Char(c) => ExprKind::Char(*c),
            SexprKind::Str(text) => ExprKind::Str(text.clone()),
            SexprKind::Bracket(parts) => ExprKind::Bracket(parts.iter().map(|p| self.expr(p)).collect()),
            SexprKind::Braces { head, types, indices } => self.braces(head, types, indices, s.span),
            SexprKind::Rerank { ranks, func } => self.rerank(ranks, func),
            SexprKind::List(parts) => self.list(s, parts, id),
            SexprKind::Error => ExprKind::Error,
        }
    }

    fn keyword_as_value(&mut self, form: &Form, at: Span) -> ExprKind {
        let kind = if form.place == Place::Type { "makes a type" } else { "is a keyword" };
        self.error(
            codes::KEYWORD_AS_VALUE,
            format!("`{}` {kind} and has no value", form.keyword),
            at,
            "expected an expression",
            &format!("the form is `{}`", form.grammar),
        );
        ExprKind::Error
    }

    /// `head{types | indices}`: the indices are applied first.
    fn braces(&mut self, head: &Sexpr, types: &[Sexpr], indices: &[Sexpr], whole: Span) -> ExprKind {
        if types.is_empty() && indices.is_empty() {
            return *self.expr(head).kind;
        }
        if indices.is_empty() {
            return ExprKind::TApp { func: self.expr(head), args: self.types(types) };
        }
        if types.is_empty() {
            return ExprKind::IApp { func: self.expr(head), args: self.indices(indices) };
        }
        let id = self.node(whole);
        let kind = ExprKind::IApp { func: self.expr(head), args: self.indices(indices) };
        ExprKind::TApp { func: Expr { id, kind: Box::new(kind) }, args: self.types(types) }
    }

    fn rerank(&mut self, ranks: &[Sexpr], func: &Sexpr) -> ExprKind {
        let given = ranks.len();
        let ranks: Vec<_> = ranks.iter().filter_map(|r| self.rank(r)).collect();
        if given == 0 {
            self.error(
                codes::BAD_RANK,
                "this rerank has no ranks",
                func.span,
                "the ranks of this function's arguments are missing",
                "write one rank for each argument: `~(0 1)f`",
            );
        }
        if ranks.len() < given || given == 0 {
            return ExprKind::Error;
        }
        ExprKind::Rerank { ranks, func: self.expr(func) }
    }

    fn list(&mut self, s: &Sexpr, parts: &[Sexpr], id: NodeId) -> ExprKind {
        let Some((first, rest)) = parts.split_first() else {
            self.error(
                codes::EMPTY_FORM,
                "`()` means nothing",
                s.span,
                "expected a function or a keyword inside",
                "an application is `(f x)`; the empty vector of `int` is `(array [0] int)`",
            );
            return ExprKind::Error;
        };
        if let Some(form) = s.head().and_then(form) {
            return match form.place {
                Place::Expression => self.form(form, s.span, rest, id),
                Place::Type => self.keyword_as_value(form, s.span),
                Place::Definition => {
                    self.misplaced(form, s.span, "at the start of a body or at the top level")
                }
                Place::TopLevel => self.misplaced(form, s.span, "at the top level of a file"),
            };
        }
        if rest.is_empty() && !first.is_error() {
            let inner = first.as_name().map_or("f", Name::as_str);
            self.error(
                codes::NO_PARAMETERS,
                "this application has no arguments",
                s.span,
                "functions have at least one parameter",
                &format!("the value itself is `{inner}`, without parentheses; a function is given arguments, `({inner} x)`"),
            );
            return ExprKind::Error;
        }
        ExprKind::App { func: self.expr(first), args: self.exprs(rest) }
    }

    fn misplaced(&mut self, form: &Form, at: Span, place: &str) -> ExprKind {
        self.error(
            codes::MISPLACED_DEFINITION,
            format!("`{}` is no expression", form.keyword),
            at,
            "it has no value here",
            &format!("`{}` stands {place}", form.keyword),
        );
        ExprKind::Error
    }

    fn form(&mut self, form: &Form, whole: Span, parts: &[Sexpr], id: NodeId) -> ExprKind {
        let (least, most) = match form.keyword {
            "array" | "frame" | "t-app" | "i-app" | "values" | "record" | "with" => (1, usize::MAX),
            "λ" | "Tλ" | "Iλ" | "let" | "let*" | "let-values" | "lift" | "lift-int" => (2, usize::MAX),
            "unbox" => (3, usize::MAX),
            "boxes" => (3, usize::MAX),
            "loop" => (5, usize::MAX),
            ":" | "proj" | "field" | "as-shape" | "cast" => (2, 2),
            "if" => (3, 3),
            "reify-dimension" | "reify-shape" => (1, 1),
            "box" => (1, 3),
            _ => (0, usize::MAX),
        };
        if parts.len() < least || parts.len() > most {
            // A part that could not be read has been reported, and may have been more than one.
            if !parts.iter().any(Sexpr::is_error) {
                self.wrong_count(form, whole, parts, least, most);
            }
            return ExprKind::Error;
        }
        match (form.keyword, parts) {
            ("array" | "frame", [dims, rest @ ..]) => self.array(form, whole, dims, rest),
            ("t-app", [func, args @ ..]) => self.braces(func, args, &[], whole),
            ("i-app", [func, args @ ..]) => self.braces(func, &[], args, whole),
            ("λ", [params, rest @ ..]) => self.lambda(form, whole, params, rest),
            ("Tλ", [params, rest @ ..]) => match params.group() {
                Some(params) => {
                    let params = self.type_params(params);
                    ExprKind::TLam { params, body: self.body(form, whole, rest) }
                }
                None => self.no_group(form, params, "type variables in parentheses"),
            },
            ("Iλ", [params, rest @ ..]) => match params.group() {
                Some(params) => {
                    let params = self.index_params(params);
                    ExprKind::ILam { params, body: self.body(form, whole, rest) }
                }
                None => self.no_group(form, params, "index variables in parentheses"),
            },
            ("let" | "let*", [bindings, rest @ ..]) => {
                if bindings.as_name().is_some() {
                    let message = format!("`{}` has no name to be called by", form.keyword);
                    let help = "steps are (loop ((x e) …) while c do next), or a function that calls itself: \
                                (define (f x …) …) (f e …)";
                    self.error(
                        codes::MALFORMED,
                        message,
                        bindings.span,
                        "expected bindings, `((x e) …)`",
                        help,
                    );
                    return ExprKind::Error;
                }
                let bindings = self.bindings(form, bindings);
                let body = self.body(form, whole, rest);
                ExprKind::Let { bindings, sequential: form.keyword == "let*", body }
            }
            ("let-values", [bindings, rest @ ..]) => self.let_values(form, whole, bindings, rest),
            (":", [e, ty]) => ExprKind::Annot { expr: self.expr(e), ty: self.ty(ty) },
            ("if", [cond, then, otherwise]) => {
                ExprKind::If { cond: self.expr(cond), then: self.expr(then), otherwise: self.expr(otherwise) }
            }
            ("cond", clauses) => self.cond(form, whole, clauses, id),
            ("box", [value]) => ExprKind::BoxInfer(self.expr(value)),
            ("box", [witnesses, ty, value]) => self.boxed(form, witnesses, ty, value),
            ("boxes", [params, ty, dims, rows @ ..]) => self.boxes(form, params, ty, dims, rows),
            ("unbox", parts) => self.unbox(form, whole, parts),
            ("lift" | "lift-int", [binding, rest @ ..]) => match binding.group() {
                Some([index, value]) => {
                    let name = self.binder(index, "an index").unwrap_or_else(missing_name);
                    let index = self.ident(index.span, name);
                    let value = self.expr(value);
                    let body = self.body(form, whole, rest);
                    ExprKind::Lift { index, value, natural: form.keyword == "lift", body }
                }
                _ => self.no_group(form, binding, "`[d e]`"),
            },
            ("values", parts) => ExprKind::Values(self.exprs(parts)),
            ("proj", [position, tuple]) => match natural(position) {
                Some(position) => ExprKind::Proj { position, tuple: self.expr(tuple) },
                None => self.no_group(form, position, "a position, counted from 0"),
            },
            ("record", fields) => match self.fields(form, fields) {
                Some(fields) => ExprKind::Record(fields),
                None => ExprKind::Error,
            },
            ("field", [record, label]) => {
                if label.as_name().is_none() {
                    return self.no_group(form, label, "a label");
                }
                ExprKind::Field { record: self.expr(record), label: self.label(label) }
            }
            ("with", [record, fields @ ..]) => {
                let record = self.expr(record);
                match self.fields(form, fields) {
                    Some(fields) => ExprKind::With { record, fields },
                    None => ExprKind::Error,
                }
            }
            ("reify-dimension", [dim]) => ExprKind::ReifyDim(self.index(dim)),
            ("reify-shape", [shape]) => ExprKind::ReifyShape(self.index(shape)),
            ("as-shape", [shape, value]) => match self.stated_shape(form, shape) {
                Some(shape) => ExprKind::AsShape { shape, value: self.expr(value) },
                None => ExprKind::Error,
            },
            ("cast", [ty, value]) => ExprKind::Cast { ty: self.ty(ty), value: self.expr(value) },
            ("loop", parts) => self.iteration(form, whole, parts),
            _ => {
                self.malformed(form, whole, "this does not fit the form");
                ExprKind::Error
            }
        }
    }

    /// A part is not what the form says.
    fn no_group(&mut self, form: &Form, part: &Sexpr, expected: &str) -> ExprKind {
        self.unexpected(form, part, expected);
        ExprKind::Error
    }

    fn lambda(&mut self, form: &Form, whole: Span, params: &Sexpr, rest: &[Sexpr]) -> ExprKind {
        let SexprKind::List(list) = &params.kind else {
            return self.no_group(form, params, "parameters in parentheses");
        };
        if list.is_empty() {
            self.error(
                codes::NO_PARAMETERS,
                "a function has at least one parameter",
                params.span,
                "there is none here",
                "write the body itself: it is computed once, where it stands",
            );
        }
        let params = self.params(form, list);
        let (ret, rest) = match rest {
            [colon, ty, rest @ ..] if colon.is(":") => (Some(self.ty(ty)), rest),
            _ => (None, rest),
        };
        let body = self.body(form, whole, rest);
        if params.is_empty() { ExprKind::Error } else { ExprKind::Lam { params, ret, body } }
    }

    /// `(array [d …] e …)`, or `(array [d …] τ)` where the dims say that there are no elements, or do
    /// not say how many.
    fn array(&mut self, form: &Form, whole: Span, dims: &Sexpr, rest: &[Sexpr]) -> ExprKind {
        let Some(dims) = self.dims(form, dims) else { return ExprKind::Error };
        let known: Option<Vec<u64>> = dims.iter().map(natural).collect();
        let empty = dims.iter().any(|d| natural(d) == Some(0));
        if let (false, Some(known)) = (empty, known) {
            return self.filled_array(form, whole, known, rest);
        }
        if let [ty] = rest
            && matches!(
                ty.kind,
                SexprKind::Name(_) | SexprKind::List(_) | SexprKind::Bracket(_) | SexprKind::Error
            )
        {
            return ExprKind::EmptyArray { dims: self.indices(dims), ty: self.ty(ty) };
        }
        let label = match rest {
            [] => "the type of its elements is missing".to_string(),
            [one] => format!("found {}", one.describe()),
            _ => format!("found {} elements", rest.len()),
        };
        let (message, help) = if empty {
            ("an array with a dim of 0 has a type instead of elements", "write `(array [0 3] int)`")
        } else {
            (
                "the dims of an array with elements are numbers",
                "write the numbers; `(reshape [n m] xs)` gives a vector dims that are not known",
            )
        };
        if !rest.iter().any(Sexpr::is_error) {
            let at = join(rest, whole);
            self.error(codes::ARRAY_COUNT, message, at, &label, help);
        }
        ExprKind::Error
    }

    fn filled_array(&mut self, form: &Form, whole: Span, dims: Vec<u64>, rest: &[Sexpr]) -> ExprKind {
        let wanted = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let elems = self.exprs(rest);
        if wanted == Some(elems.len() as u64) {
            return ExprKind::Array { dims, elems };
        }
        if !rest.iter().any(Sexpr::is_error) {
            let shape = dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            let wanted = wanted.map_or("more than 2^64".to_string(), |n| n.to_string());
            let found = elems.len();
            let plural = if wanted == "1" { "" } else { "s" };
            let help = match found {
                0 => "write the elements; an array with a type instead has a dim of 0: `(array [0] int)`",
                _ => "the number of elements is the product of the dims",
            };
            self.error(
                codes::ARRAY_COUNT,
                format!("`{}` of shape [{shape}] has {wanted} element{plural}, not {found}", form.keyword),
                join(rest, whole),
                &format!("{found} here, {wanted} wanted"),
                help,
            );
        }
        ExprKind::Error
    }

    /// Clauses nest to the right: each is a level of the tree.
    fn cond(&mut self, form: &Form, whole: Span, clauses: &[Sexpr], id: NodeId) -> ExprKind {
        let otherwise = match clauses.last().map(|last| (last, last.group())) {
            Some((last, Some([word, body @ ..]))) if word.is("else") => Some((last, body)),
            Some((last, _)) if last.is_error() => return ExprKind::Error,
            _ => None,
        };
        let Some((last, else_body)) = otherwise else {
            let at = clauses.last().map_or(whole, |c| c.span);
            let diagnostic = Diagnostic::error(codes::COND_ELSE, "this `cond` has no `else`")
                .primary(at, "the last clause must be `(else e)`")
                .secondary(whole, "so that it has a value in every case")
                .help("add `(else e)` as the last clause");
            self.reports.push(diagnostic);
            return ExprKind::Error;
        };
        let clauses = &clauses[..clauses.len() - 1];
        if self.depth + clauses.len() > MAX_DEPTH {
            self.error(
                codes::TOO_DEEP,
                "too many clauses",
                whole,
                &format!("{} clauses", clauses.len() + 1),
                "choose by an index into an array instead",
            );
            return ExprKind::Error;
        }
        self.depth += clauses.len();
        // Of each clause: the node of its `if`, condition, branch. The first is the `cond` itself.
        let mut built = Vec::with_capacity(clauses.len());
        let mut fine = true;
        for (i, clause) in clauses.iter().enumerate() {
            match clause.group() {
                Some([word, ..]) if word.is("else") => {
                    self.malformed(form, clause.span, "`else` is the last clause");
                    fine = false;
                }
                Some([condition, body @ ..]) if !body.is_empty() => {
                    let node = if i == 0 { id } else { self.node(clause.span.to(last.span)) };
                    let condition = self.expr(condition);
                    built.push((node, condition, self.body(form, clause.span, body)));
                }
                _ => {
                    self.unexpected(form, clause, "a clause, `(condition e)`");
                    fine = false;
                }
            }
        }
        let mut otherwise = self.body(form, last.span, else_body);
        self.depth -= clauses.len();
        if !fine {
            return ExprKind::Error;
        }
        let mut built = built.into_iter();
        let first = built.next();
        for (node, cond, then) in built.rev() {
            otherwise = Expr { id: node, kind: Box::new(ExprKind::If { cond, then, otherwise }) };
        }
        match first {
            Some((_, cond, then)) => ExprKind::If { cond, then, otherwise },
            None => *otherwise.kind,
        }
    }

    fn boxed(&mut self, form: &Form, witnesses: &Sexpr, ty: &Sexpr, value: &Sexpr) -> ExprKind {
        let Some(parts) = witnesses.group() else {
            return self.no_group(form, witnesses, "witnesses in parentheses, `((i index) …)`");
        };
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            let Some([name, index]) = part.group() else {
                return self.no_group(form, part, "a witness, `(i index)`");
            };
            let ident = self.index_name(name);
            out.push((ident, self.index(index)));
        }
        self.distinct(out.iter().map(|(i, _)| (&i.name, i.id)));
        ExprKind::Box { witnesses: out, ty: self.ty(ty), value: self.expr(value) }
    }

    fn index_name(&mut self, s: &Sexpr) -> Ident {
        let name = self.binder(s, "an index").unwrap_or_else(missing_name);
        self.ident(s.span, name)
    }

    fn boxes(&mut self, form: &Form, params: &Sexpr, ty: &Sexpr, dims: &Sexpr, rows: &[Sexpr]) -> ExprKind {
        let Some(parts) = params.group() else {
            return self.no_group(form, params, "index variables in parentheses");
        };
        let params: Vec<_> = parts.iter().map(|p| self.index_name(p)).collect();
        self.distinct(params.iter().map(|i| (&i.name, i.id)));
        let ty = self.ty(ty);
        let Some(dims) = self.dims(form, dims) else { return ExprKind::Error };
        let dims = self.indices(dims);
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            let Some([witnesses, value]) = row.group() else {
                return self.no_group(form, row, "a row, `((index …) e)`");
            };
            let Some(given) = witnesses.group() else {
                return self.no_group(form, witnesses, "the row's indices in parentheses");
            };
            if given.len() != params.len() {
                let label = format!("{} given, but `boxes` names {}", given.len(), params.len());
                self.malformed(form, witnesses.span, label);
                return ExprKind::Error;
            }
            let indices = self.indices(given);
            out.push((indices, self.expr(value)));
        }
        ExprKind::Boxes { params, ty, dims, rows: out }
    }

    fn unbox(&mut self, form: &Form, whole: Span, parts: &[Sexpr]) -> ExprKind {
        let mut opened = Vec::new();
        let mut parts = parts;
        while let [boxes, names, rest @ ..] = parts {
            // A body has one expression, at its end: another one behind names in parentheses is of boxes, too.
            let of_body = boxes.head() == Some("define") || rest.is_empty() || names.head() == Some("define");
            if !opened.is_empty() && (of_body || !is_of_names(names)) {
                break;
            }
            let Some([value, indices @ ..]) = names.group() else {
                return self.no_group(
                    form,
                    names,
                    "names in parentheses, `(x i …)`: the contents, then the indices",
                );
            };
            let boxes = self.expr(boxes);
            let value = self.bound(value, "the contents");
            let indices: Vec<_> = indices.iter().map(|i| self.index_name(i)).collect();
            opened.push(Opened { boxes, value, indices });
            parts = rest;
        }
        // An index may be that of another one's boxes again, but no name means two things.
        let mut known: Vec<(&Name, NodeId)> = Vec::new();
        for one in &opened {
            let again = |i: &&Ident| !known.iter().any(|(n, _)| **n == i.name);
            let fresh: Vec<_> = one.indices.iter().filter(again).map(|i| (&i.name, i.id)).collect();
            known.extend(fresh);
            self.distinct(one.indices.iter().map(|i| (&i.name, i.id)));
        }
        self.distinct(known.into_iter().chain(opened.iter().map(|o| (&o.value.name, o.value.id))));
        ExprKind::Unbox { opened, body: self.body(form, whole, parts) }
    }

    fn let_values(&mut self, form: &Form, whole: Span, bindings: &Sexpr, rest: &[Sexpr]) -> ExprKind {
        let expected = "bindings in parentheses, `(((x …) e) …)`";
        let Some(parts @ [_, ..]) = bindings.group() else {
            return self.no_group(form, bindings, expected);
        };
        let mut all: Vec<(Vec<Param>, Expr)> = Vec::with_capacity(parts.len());
        for binding in parts {
            let Some([params, value]) = binding.group() else {
                return self.no_group(form, binding, "names in parentheses and an expression, `((x …) e)`");
            };
            let Some(names) = params.group() else {
                return self.no_group(form, params, "names in parentheses");
            };
            let params = names.iter().map(|p| self.param(form, p)).collect();
            all.push((params, self.expr(value)));
        }
        self.distinct(all.iter().flat_map(|(params, _)| params).map(|p| (&p.name, p.id)));
        ExprKind::LetValues { bindings: all, body: self.body(form, whole, rest) }
    }

    /// `(label e) …`
    fn fields(&mut self, form: &Form, parts: &[Sexpr]) -> Option<Vec<(Ident, Expr)>> {
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            let Some([label, value]) = part.group() else {
                self.unexpected(form, part, "a label and an expression, `(label e)`");
                return None;
            };
            let label = self.label(label);
            out.push((label, self.expr(value)));
        }
        self.distinct(out.iter().map(|(l, _)| (&l.name, l.id)));
        Some(out)
    }

    fn iteration(&mut self, form: &Form, whole: Span, parts: &[Sexpr]) -> ExprKind {
        let [bindings, word, cond, then, body @ ..] = parts else {
            self.malformed(form, whole, "this does not fit the form");
            return ExprKind::Error;
        };
        for (part, expected) in [(word, "while"), (then, "do")] {
            if !part.is(expected) {
                return self.no_group(form, part, &format!("`{expected}`"));
            }
        }
        let bindings = self.bindings(form, bindings);
        let cond = self.expr(cond);
        ExprKind::Loop { bindings, cond, body: self.body(form, whole, body) }
    }
}

/// `(x i …)`
fn is_of_names(s: &Sexpr) -> bool {
    matches!(&s.kind, SexprKind::List(parts) if !parts.is_empty() && parts.iter().all(|p| p.as_name().is_some()))
}

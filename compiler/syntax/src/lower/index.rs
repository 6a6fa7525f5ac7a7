//! Indices: dims and shapes.

use super::*;

const GRAMMAR: &str = "indices are numbers, `n`, `@s`, `(+ d …)`, `(* d …)`, `(- d d …)`, `[i …]`, \
                       `(shape d …)`, `(++ s …)`";

impl Lowering<'_> {
    pub(super) fn indices(&mut self, parts: &[Sexpr]) -> Vec<IndexExpr> {
        parts.iter().map(|p| self.index(p)).collect()
    }

    pub(super) fn index(&mut self, s: &Sexpr) -> IndexExpr {
        let id = self.node(s.span);
        let kind = self.index_kind(s);
        IndexExpr { id, kind: Box::new(kind) }
    }

    fn index_kind(&mut self, s: &Sexpr) -> IndexKind {
        match &s.kind {
            SexprKind::Int { .. } => match natural(s) {
                Some(n) => IndexKind::Nat(n),
                None => self.bad_index(s, "a dim is a natural number without suffix"),
            },
            SexprKind::Name(n) if form(n.as_str()).is_some() => {
                self.bad_index(s, &format!("found the keyword `{n}`"))
            }
            SexprKind::Name(n) => IndexKind::Name(n.clone()),
            SexprKind::Bracket(parts) => IndexKind::Shape(self.indices(parts)),
            SexprKind::List(parts) => match (s.head(), parts.as_slice()) {
                (Some("+"), [_, rest @ ..]) => IndexKind::Add(self.indices(rest)),
                (Some("*"), [_, rest @ ..]) => IndexKind::Mul(self.indices(rest)),
                (Some("-"), [_, rest @ ..]) if rest.len() >= 2 => IndexKind::Sub(self.indices(rest)),
                (Some("-"), _) => self.bad_index(s, "a dim is never negative: `-` needs two parts"),
                (Some("shape" | "++"), [_, rest @ ..]) => IndexKind::Shape(self.indices(rest)),
                (Some("rank"), [_, shape]) => IndexKind::Rank(self.index(shape)),
                (Some("size"), [_, shape]) => IndexKind::Size(self.index(shape)),
                _ => self.bad_index(s, &format!("found {}", s.describe())),
            },
            SexprKind::Error => IndexKind::Error,
            _ => self.bad_index(s, &format!("found {}", s.describe())),
        }
    }

    /// A part of the shape in `as-shape`: an index, or an expression whose value is one.
    fn size(&mut self, s: &Sexpr) -> IndexExpr {
        let SexprKind::List(parts) = &s.kind else { return self.index(s) };
        let id = self.node(s.span);
        let kind = match (s.head(), parts.as_slice()) {
            (Some("+"), [_, rest @ ..]) => IndexKind::Add(self.sizes(rest)),
            (Some("*"), [_, rest @ ..]) => IndexKind::Mul(self.sizes(rest)),
            (Some("-"), [_, rest @ ..]) if rest.len() >= 2 => IndexKind::Sub(self.sizes(rest)),
            (Some("++"), _) => self.index_kind(s),
            // The functions of these names take a value, the indices parts of a shape.
            (Some("rank" | "size" | "shape"), [_, part]) if !is_shape(part) => IndexKind::Value(self.expr(s)),
            (Some("rank" | "size" | "shape"), _) => self.index_kind(s),
            _ => IndexKind::Value(self.expr(s)),
        };
        IndexExpr { id, kind: Box::new(kind) }
    }

    fn sizes(&mut self, parts: &[Sexpr]) -> Vec<IndexExpr> {
        parts.iter().map(|p| self.size(p)).collect()
    }

    /// The shape in `as-shape`: parts in brackets, or an expression that gives all of it.
    pub(super) fn stated_shape(&mut self, form: &Form, s: &Sexpr) -> Option<Vec<IndexExpr>> {
        match &s.kind {
            SexprKind::Bracket(parts) => Some(self.sizes(parts)),
            SexprKind::List(_) => Some(vec![self.size(s)]),
            _ => {
                self.unexpected(form, s, "dims in brackets");
                None
            }
        }
    }

    fn bad_index(&mut self, s: &Sexpr, label: &str) -> IndexKind {
        self.error(codes::BAD_INDEX, "expected a dim or a shape", s.span, label, GRAMMAR);
        IndexKind::Error
    }

    /// The dims in the brackets of `array` and `boxes`.
    pub(super) fn dims<'s>(&mut self, form: &Form, s: &'s Sexpr) -> Option<&'s [Sexpr]> {
        match &s.kind {
            SexprKind::Bracket(parts) => Some(parts),
            _ => {
                self.unexpected(form, s, "dims in brackets");
                None
            }
        }
    }

    /// A natural number that counts axes.
    pub(super) fn rank(&mut self, s: &Sexpr) -> Option<Rank> {
        /// No array has more axes than this; more is a slip of the pen.
        const MAX_RANK: u64 = 1000;
        match natural(s) {
            Some(n) if n <= MAX_RANK => return Some(Rank::Of(n as u32)),
            _ if s.is("all") => return Some(Rank::All),
            _ if s.is_error() => {}
            _ => self.error(
                codes::BAD_RANK,
                "expected a rank",
                s.span,
                &format!("found {}", s.describe()),
                "a rank is a natural number of axes, at most 1000, or `all`",
            ),
        }
        None
    }
}

/// Whether this can only be a shape and no value: `@s`, `(++ s …)`, and, as a shape of one axis, a number.
fn is_shape(s: &Sexpr) -> bool {
    match &s.kind {
        SexprKind::Int { .. } => true,
        SexprKind::Name(n) => n.is_at(),
        SexprKind::List(_) => s.head() == Some("++"),
        _ => false,
    }
}

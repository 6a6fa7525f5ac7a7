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

    fn bad_index(&mut self, s: &Sexpr, label: &str) -> IndexKind {
        self.error(codes::BAD_INDEX, "expected a dim or a shape", s.span, label, GRAMMAR);
        IndexKind::Error
    }

    /// The dims in the brackets of `array`, `boxes` and `as-shape`.
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

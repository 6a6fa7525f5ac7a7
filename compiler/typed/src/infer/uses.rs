//! Names of the prelude that mean several things, told apart by the arguments they are applied to.
//!
//! ```text
//! (take m [1 2])   ⇒  (take/2 m [1 2])
//! (sort < xs)      ⇒  (sort xs)
//! (sort f xs)      ⇒  (sort/by f xs)
//! (+ a b c)        ⇒  (+ (+ a b) c)
//! ```
//!
//! A name that the program defines itself means what it says there. Explicit types and ranks stand before any of
//! these: `~(0 1)sort`, `sort{int | 3 []}`.

use super::apply::Source;
use super::instance::Operator;
use super::*;
use crate::codes;
use crate::scheme::{GROUPED, ORDERS, Resolved, USES};
use remc_syntax::ast::{self, ExprKind as A};

impl Checker<'_> {
    /// What `name`, applied to these arguments, is another name of, and how many of the first arguments say nothing
    /// but that. `None` if it means itself.
    pub(super) fn use_of(&self, name: &Name, args: &[ast::Expr]) -> Option<(Name, usize)> {
        let (base, uses) = USES.iter().find(|(base, _)| *base == name.as_str())?;
        let (other, taken) = match (*base, args) {
            ("replicate", [_, _]) => ("replicate/counts".to_owned(), 0),
            ("sort" | "grade", [order, _]) => match self.order(order) {
                Some(false) => return self.is_preludes(name).then(|| (name.clone(), 1)),
                Some(true) => (format!("{base}/down"), 1),
                None => (format!("{base}/by"), 0),
            },
            // One count for each axis.
            (_, [_, counts]) => match &*counts.kind {
                A::Bracket(counts) => (format!("{base}/{}", counts.len()), 0),
                _ => return None,
            },
            _ => return None,
        };
        (uses.contains(&other.as_str()) && self.is_preludes(name)).then(|| (Name::new(other), taken))
    }

    /// Whether an order goes down, if it is that of `sort` itself.
    fn order(&self, e: &ast::Expr) -> Option<bool> {
        let A::Var(name) = &*e.kind else { return None };
        let (_, down) = ORDERS.iter().find(|(order, _)| *order == name.as_str())?;
        self.is_preludes(name).then_some(*down)
    }

    /// Whether a name stands for the prelude's definition of it.
    fn is_preludes(&self, name: &Name) -> bool {
        let global = |r: Option<Resolved>| match r {
            Some(Resolved::Value { global, .. }) => Some(global),
            _ => None,
        };
        let own = || global(self.env.value(name));
        self.find_value(name).is_none()
            && self.find_index(name).is_none()
            && own().is_some_and(|g| global(self.env.prelude(name)) == Some(g))
    }

    /// How many of the first arguments of `(func arg …)` are taken by what `func` means.
    pub(super) fn taken(&self, func: &ast::Expr, args: &[ast::Expr]) -> usize {
        named(func).and_then(|name| self.use_of(name, args)).map_or(0, |(_, taken)| taken)
    }

    /// Whether `(func arg …)` is an application to two arguments, several times. Explicit sizes are those of one.
    pub(super) fn is_grouped(&self, func: &ast::Expr, args: usize) -> bool {
        args > 2
            && named(func).is_some_and(|name| GROUPED.contains(&name.as_str()) && self.is_preludes(name))
            && !sized(func)
    }

    /// `(func a b c)` as `(func (func a b) c)`: each is an application with an instance of its own. `first` is that
    /// of the innermost one, if it is made.
    pub(super) fn apply_grouped(
        &mut self,
        node: NodeId,
        func: &ast::Expr,
        mut first: Option<Operator>,
        args: Vec<Source>,
    ) -> Check<Typed> {
        if args.len() > MOST_GROUPED {
            let name = named(func).map(Name::as_str).unwrap_or_default();
            let have = args.len();
            return self.fail(
                Diagnostic::error(
                    codes::ARGUMENT_COUNT,
                    format!("`{name}` takes at most {MOST_GROUPED} arguments, here it gets {have}"),
                )
                .primary(Loc::Node(node), "each is an application inside of the next")
                .help(format!("reduce an array of them: (reduce {name} [a b c])")),
            );
        }
        let mut args = args.into_iter();
        let Some(mut whole) = args.next() else { return Err(Reported) };
        for arg in args {
            let made = first.take();
            let t = self.in_own_scope(|c| {
                let op = match (made, c.head(func, None)?) {
                    (Some(op), _) => op,
                    (None, Some(head)) => c.instantiate(head)?,
                    (None, None) => return Err(Reported),
                };
                c.apply(op, vec![whole, arg], node)
            })?;
            whole = Source::Done(t);
        }
        match whole {
            Source::Done(t) => Ok(t),
            Source::Ast(e) => self.infer(e, None),
        }
    }
}

/// The most arguments that are grouped: an application of so many nests as deep.
const MOST_GROUPED: usize = 10_000;

/// The name under explicit arguments and ranks.
fn named(func: &ast::Expr) -> Option<&Name> {
    match &*func.kind {
        A::Var(name) => Some(name),
        A::IApp { func, .. } | A::TApp { func, .. } | A::Rerank { func, .. } => named(func),
        _ => None,
    }
}

/// Whether explicit indices are given.
fn sized(func: &ast::Expr) -> bool {
    match &*func.kind {
        A::IApp { args, func } => !args.is_empty() || sized(func),
        A::TApp { func, .. } | A::Rerank { func, .. } => sized(func),
        _ => false,
    }
}

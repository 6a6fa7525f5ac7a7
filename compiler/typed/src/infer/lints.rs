//! Warnings of programs that mean something, but hardly what is meant.
//!
//! They look at a finished definition: all types are known, and instances stand where they are used.

use super::*;
use crate::codes;
use crate::ir::ExprKind;
use crate::scheme::Resolved;

impl Checker<'_> {
    /// Warns of what is in a finished term.
    pub(super) fn lint(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::TApp { func, args } => self.lint_power(func, args, e.node),
            ExprKind::App { func, args, .. } => {
                if let Some(operator) = args.first() {
                    self.lint_reduction(func, &operator.expr);
                }
            }
            _ => {}
        }
        e.children().into_iter().for_each(|c| self.lint(c));
    }

    /// The prelude's name of what an expression is an instance of.
    fn of_prelude<'e>(&self, mut e: &'e Expr) -> Option<&'e str> {
        while let ExprKind::IApp { func, .. } | ExprKind::TApp { func, .. } = &*e.kind {
            e = func;
        }
        match &*e.kind {
            ExprKind::Global(g) => {
                let theirs = self.env.prelude(&g.name)?;
                let same = matches!(theirs, Resolved::Value { global, .. } if global == *g);
                same.then_some(g.name.as_str())
            }
            _ => None,
        }
    }

    /// An integer to a power that is a float: what comes out is an integer.
    fn lint_power(&mut self, func: &Expr, args: &[TyArg], node: NodeId) {
        let Some(name @ ("expt" | "**")) = self.of_prelude(func) else { return };
        let base = |a: &TyArg| match a {
            TyArg::Atom(AtomTy::Base(b)) => Some(*b),
            _ => None,
        };
        let [Some(of), Some(to)] = args.iter().map(base).collect::<Vec<_>>()[..] else { return };
        if of.is_integer() && to.is_float() {
            self.diagnostics.push(
                Diagnostic::warning(
                    codes::CUT_POWER,
                    format!("a power of `{of}` is `{of}`: what is behind the point is cut off"),
                )
                .primary(Loc::Node(node), format!("`{of}` to the power of `{to}`"))
                .help(format!(
                    "write the base with a point, `({name} 2.0 0.5)`, or convert it: \
                     `({name} (cast {to} x) y)`"
                )),
            );
        }
    }

    /// A reduction or scan by an operator for which it matters how items are grouped.
    fn lint_reduction(&mut self, func: &Expr, operator: &Expr) {
        let Some(name @ ("reduce" | "reduce/zero" | "iscan" | "iscan/zero" | "scan/zero")) =
            self.of_prelude(func)
        else {
            return;
        };
        let Some(op @ ("-" | "/" | "quotient" | "%" | "expt" | "**")) = self.of_prelude(operator) else {
            return;
        };
        let (name, op) = (name.to_string(), op.to_string());
        let lambda = format!("(λ (x so-far) ({op} so-far x))");
        let instead = match name.contains("scan") {
            true => format!("(tail (trace {lambda} start xs))"),
            false => format!("(fold {lambda} start xs)"),
        };
        self.diagnostics.push(
            Diagnostic::warning(
                codes::GROUPED,
                format!("`{name}` groups the items as it likes, and with `{op}` the result depends on that"),
            )
            .primary(Loc::Node(operator.node), "not associative")
            .help(format!("one item after the other goes `{instead}`")),
        );
    }
}

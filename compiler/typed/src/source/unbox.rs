//! Boxes side by side, as [`infer`](crate::infer) makes them of one `unbox`, written as one again.
//!
//! ```text
//! ((λ (x y) (unbox x (x m) (unbox y (y.1 n) (check (= m n) (let ((y (as-shape [m] y.1))) body))))) xs ys)
//!   ⟶ (unbox xs (x m) ys (y m) body)
//! ```
//!
//! A box of the result, which stands where the index that it hides is opened, goes inside of all of them.

use super::Printer;
use super::layout::{Doc, parens, text};
use crate::ir::*;
use remc_base::*;

/// What is opened, or stands beside boxes.
struct Side<'e> {
    from: &'e Expr,
    /// What the body calls it.
    local: &'e Local,
    /// Each with the index before it that it is equal to, if there is one.
    indices: Vec<(&'e IVar, Option<IVar>)>,
}

impl Printer<'_> {
    /// Of an application that is several boxes side by side: the form.
    pub(super) fn side_by_side(&mut self, func: &Expr, args: &[Arg]) -> Option<Doc> {
        let Sides { sides, boxed, body } = sides(func, args)?;
        let boxes: Vec<Doc> = sides.iter().map(|s| self.expr(s.from)).collect();
        Some(self.scoped(|p| {
            let mut parts = vec![text("unbox")];
            for (side, boxes) in sides.iter().zip(boxes) {
                let mut names = vec![text(p.names.bind_value(side.local.var, &side.local.name))];
                names.extend(side.indices.iter().map(|(v, same)| match same {
                    Some(same) => text(p.names.index(same).to_owned()),
                    None => text(p.names.bind_index(v)),
                }));
                parts.extend([boxes, parens(usize::MAX, names)]);
            }
            let head = parts.len();
            parts.push(match boxed {
                Some((witnesses, ty)) => p.boxed(witnesses, body, ty),
                None => p.expr(body),
            });
            parens(head, parts)
        }))
    }
}

struct Sides<'e> {
    sides: Vec<Side<'e>>,
    /// What the result hides, and the type of the box.
    boxed: Option<(&'e [Index], &'e ArrTy)>,
    body: &'e Expr,
}

fn sides<'e>(func: &'e Expr, args: &'e [Arg]) -> Option<Sides<'e>> {
    let ExprKind::Lam { params, body } = &*func.kind else { return None };
    if params.len() < 2 || params.len() != args.len() {
        return None;
    }
    let mut at = body;
    let mut sides = Vec::new();
    let mut boxed = None;
    let mut opened = Vec::new();
    for (param, arg) in params.iter().zip(args) {
        let is_box = matches!(param.ty.atom, AtomTy::Sigma(_));
        if let (true, ExprKind::Box { witnesses, value }) = (is_box, &*at.kind) {
            if boxed.replace((&witnesses[..], &at.ty)).is_some() {
                return None;
            }
            at = value;
        }
        let side = match &*at.kind {
            ExprKind::Unbox { boxes, indices, local, body } if is_var(boxes, param.var) => {
                opened.push(param.var);
                let (local, equal, inside) = stated(local, body);
                at = inside;
                let same = |v: &IVar| equal.iter().find(|(of, _)| of == v).map(|(_, same)| same.clone());
                Side { from: &arg.expr, local, indices: indices.iter().map(|v| (v, same(v))).collect() }
            }
            _ if is_box => return None,
            _ => Side { from: &arg.expr, local: param, indices: Vec::new() },
        };
        sides.push(side);
    }
    let alone = !opened.is_empty() && !opened.iter().any(|v| mentions(at, *v));
    alone.then_some(Sides { sides, boxed, body: at })
}

/// What the contents are called where some of its sizes are those of boxes before; which sizes are equal to which; and
/// what all of that is for.
fn stated<'e>(contents: &'e Local, body: &'e Expr) -> (&'e Local, Vec<(IVar, IVar)>, &'e Expr) {
    let mut equal = Vec::new();
    let mut at = body;
    while let ExprKind::Check { fact: Fact::Equal(p, q), body, .. } = &*at.kind {
        let (Some(DimVar::Rigid(p)), Some(DimVar::Rigid(q))) = (p.as_var(), q.as_var()) else { break };
        equal.push((q.clone(), p.clone()));
        at = body;
    }
    match &*at.kind {
        ExprKind::Let { local, value, body } if !equal.is_empty() => match &*value.kind {
            ExprKind::AsShape(of) if is_var(of, contents.var) => (local, equal, body),
            _ => (contents, Vec::new(), body),
        },
        _ => (contents, Vec::new(), body),
    }
}

fn is_var(e: &Expr, v: VarId) -> bool {
    matches!(&*e.kind, ExprKind::Var(x) if *x == v)
}

fn mentions(e: &Expr, v: VarId) -> bool {
    is_var(e, v) || e.children().into_iter().any(|c| mentions(c, v))
}

//! Explicit read as Typed again, so that the reference interpreter runs it.
//!
//! A `map` is the application of a λ over its frame, a `call` an application over none. The rest is Typed
//! as it stands.

use remc_explicit::ir::{Definition, Expr, ExprKind};
use remc_typed::ir as typed;

pub fn definition(d: &Definition) -> typed::Definition {
    typed::Definition { name: d.name.clone(), ty: d.ty.clone(), body: expr(&d.body), entry: d.entry.clone() }
}

fn arg(e: &Expr, frame: &remc_base::Shape) -> typed::Arg {
    typed::Arg { expr: expr(e), frame: frame.clone() }
}

fn expr(e: &Expr) -> typed::Expr {
    use remc_base::*;
    use typed::ExprKind as T;
    let new = |kind| typed::Expr::new(kind, e.ty.clone(), e.node);
    let scalar = Shape::scalar();
    new(match &*e.kind {
        ExprKind::Var(v) => T::Var(*v),
        ExprKind::Global(g) => T::Global(g.clone()),
        ExprKind::Lit(lit) => T::Lit(*lit),
        ExprKind::Frame { dims, elems } => {
            T::Frame { dims: dims.clone(), elems: elems.iter().map(expr).collect() }
        }
        ExprKind::Lam { params, body } => T::Lam { params: params.clone(), body: expr(body) },
        ExprKind::TLam { params, body } => T::TLam { params: params.clone(), body: expr(body) },
        ExprKind::ILam { params, body } => T::ILam { params: params.clone(), body: expr(body) },
        ExprKind::Call { func, args } => {
            T::App { func: expr(func), args: args.iter().map(|a| arg(a, &scalar)).collect(), frame: scalar }
        }
        ExprKind::Map { frame, operands, body } => {
            let params: Vec<_> = operands.iter().map(|(l, _)| l.clone()).collect();
            let types = params.iter().map(|l| l.ty.clone()).collect();
            let ty = ArrTy::scalar(AtomTy::func(types, body.ty.clone()));
            let func = typed::Expr::new(T::Lam { params, body: expr(body) }, ty, e.node);
            let args = operands.iter().map(|(_, e)| match &*e.kind {
                ExprKind::Replicate { at, arg: e, .. } => arg(e, at),
                _ => arg(e, frame),
            });
            T::App { func, args: args.collect(), frame: frame.clone() }
        }
        ExprKind::Replicate { .. } => panic!("a replicate that is no operand of a map"),
        ExprKind::TApp { func, args } => T::TApp { func: expr(func), args: args.clone() },
        ExprKind::IApp { func, args } => T::IApp { func: expr(func), args: args.clone() },
        ExprKind::Let { local, value, body } => {
            T::Let { local: local.clone(), value: expr(value), body: expr(body) }
        }
        ExprKind::If { cond, then, otherwise } => {
            T::If { cond: expr(cond), then: expr(then), otherwise: expr(otherwise) }
        }
        ExprKind::Box { witnesses, value } => T::Box { witnesses: witnesses.clone(), value: expr(value) },
        ExprKind::Unbox { boxed, indices, local, body } => {
            T::Unbox { boxes: expr(boxed), indices: indices.clone(), local: local.clone(), body: expr(body) }
        }
        ExprKind::Lift { kind, indices, value, body } => {
            T::Lift { kind: *kind, indices: indices.clone(), value: expr(value), body: expr(body) }
        }
        ExprKind::Check { fact, why, body } => {
            T::Check { fact: fact.clone(), why: why.clone(), body: expr(body) }
        }
        ExprKind::ReifyDim(d) => T::ReifyDim(d.clone()),
        ExprKind::ReifyShape(s) => T::ReifyShape(s.clone()),
        ExprKind::Tuple(es) => T::Tuple(es.iter().map(expr).collect()),
        ExprKind::Field { tuple, position } => T::Field { tuple: expr(tuple), position: *position },
        ExprKind::Cast(e) => T::Cast(expr(e)),
        ExprKind::AsShape(e) => T::AsShape(expr(e)),
        ExprKind::Loop { locals, cond, body } => T::Loop {
            locals: locals.iter().map(|(l, e)| (l.clone(), expr(e))).collect(),
            cond: expr(cond),
            body: expr(body),
        },
    })
}

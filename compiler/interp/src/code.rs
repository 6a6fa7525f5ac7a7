//! The term made ready for evaluation.
//!
//! [`Code`] mirrors `ExprKind` node by node; nothing is rewritten. What differs: λ bodies are shared by
//! the closures made of them; closed shapes are evaluated once; literals and arrays of literals are
//! [`Kind::Const`]; names of primitives are resolved; what a closed instance of a definition evaluates to
//! is remembered at the node.

use crate::array::Collector;
use crate::error::{Fault, R};
use crate::prim::ArrayPrim;
use crate::value::{ArgCode, Array, Code, Dims, Env, Func, ILam, Kind, Lam, Memo, PrimInst, ShapeCode, TLam};
use remc_base::ops::ScalarOp;
use remc_base::*;
use remc_typed::ir::{Definition, Expr, ExprKind, Lit, Local};
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

impl ShapeCode {
    fn new(s: &Shape) -> ShapeCode {
        if s.0.iter().all(|i| matches!(i, ShapeItem::Dim(d) if d.as_constant().is_some()))
            && let Ok(dims) = Env::empty().shape(s)
        {
            return ShapeCode::Fixed(dims);
        }
        ShapeCode::Open(s.clone())
    }

    pub fn eval(&self, env: &Env) -> R<Dims> {
        match self {
            ShapeCode::Fixed(d) => Ok(d.clone()),
            ShapeCode::Open(s) => env.shape(s),
        }
    }
}

/// The checked program that is interpreted.
pub trait Program {
    /// A definition of the program or its prelude; `None` for a primitive or an unknown name.
    fn definition(&self, g: &GlobalId) -> Option<Arc<Definition>>;
    fn is_primitive(&self, g: &GlobalId) -> bool;
}

/// Makes the body of a definition ready.
pub(crate) struct Prepare<'a> {
    pub program: &'a dyn Program,
    pub def: Rc<GlobalId>,
}

impl Prepare<'_> {
    pub fn expr(&self, e: &Expr) -> R<Code> {
        Ok(Code { kind: Box::new(self.kind(e)?), ty: e.ty.clone(), def: self.def.clone(), node: e.node })
    }

    fn all(&self, es: &[Expr]) -> R<Vec<Code>> {
        es.iter().map(|e| self.expr(e)).collect()
    }

    fn kind(&self, e: &Expr) -> R<Kind> {
        Ok(match &*e.kind {
            ExprKind::Var(v) => Kind::Var(*v),
            ExprKind::Global(g) if self.program.is_primitive(g) => Kind::Const(Array::func(primitive(g)?)),
            ExprKind::Global(g) => Kind::Global(g.clone()),
            ExprKind::Lit(lit) => match &e.ty.atom {
                AtomTy::Base(_) => {
                    Kind::Const(Array::scalar(literal(lit, &e.ty.atom).map_err(|f| f.at(&self.def, e.node))?))
                }
                _ => Kind::Lit(*lit),
            },
            ExprKind::Frame { dims, elems } => self.frame(dims, elems)?,
            ExprKind::Lam { params, body } => {
                Kind::Lam(Rc::new(Lam { params: vars(params), body: self.expr(body)? }))
            }
            ExprKind::TLam { params, body } => {
                Kind::TLam(Rc::new(TLam { params: params.clone(), body: self.expr(body)? }))
            }
            ExprKind::ILam { params, body } => {
                Kind::ILam(Rc::new(ILam { params: params.clone(), body: self.expr(body)? }))
            }
            ExprKind::App { func, args, frame } => Kind::App {
                func: self.expr(func)?,
                args: args
                    .iter()
                    .map(|a| Ok(ArgCode { code: self.expr(&a.expr)?, frame: ShapeCode::new(&a.frame) }))
                    .collect::<R<_>>()?,
                frame: ShapeCode::new(frame),
            },
            ExprKind::TApp { func, args } => {
                let func = self.expr(func)?;
                // The operands of a scalar primitive know their type.
                if let Kind::Const(a) = &*func.kind
                    && matches!(a.as_func(), Ok(Func::Scalar(_)))
                {
                    return Ok(*func.kind);
                }
                let memo = memo(&func, args.iter().all(closed_type));
                Kind::TApp { func, args: args.clone(), memo }
            }
            ExprKind::IApp { func, args } => {
                let func = self.expr(func)?;
                let memo = memo(&func, args.iter().all(closed_index));
                Kind::IApp { func, args: args.clone(), memo }
            }
            ExprKind::Let { local, value, body } => {
                Kind::Let { var: local.var, value: self.expr(value)?, body: self.expr(body)? }
            }
            ExprKind::If { cond, then, otherwise } => {
                Kind::If { cond: self.expr(cond)?, then: self.expr(then)?, otherwise: self.expr(otherwise)? }
            }
            ExprKind::Box { witnesses, value } => {
                Kind::Box { witnesses: witnesses.clone(), value: self.expr(value)? }
            }
            ExprKind::Unbox { boxes, indices, local, body } => Kind::Unbox {
                boxes: self.expr(boxes)?,
                indices: indices.clone(),
                var: local.var,
                body: self.expr(body)?,
            },
            ExprKind::Lift { kind, indices, value, body } => Kind::Lift {
                kind: *kind,
                indices: indices.clone(),
                value: self.expr(value)?,
                body: self.expr(body)?,
            },
            ExprKind::Check { fact, why, body } => {
                Kind::Check { fact: fact.clone(), why: why.clone(), body: self.expr(body)? }
            }
            ExprKind::ReifyDim(d) => Kind::ReifyDim(d.clone()),
            ExprKind::ReifyShape(s) => Kind::ReifyShape(s.clone()),
            ExprKind::Tuple(es) => Kind::Tuple(self.all(es)?),
            ExprKind::Field { tuple, position } => {
                Kind::Field { tuple: self.expr(tuple)?, position: *position }
            }
            ExprKind::Cast(e) => Kind::Cast(self.expr(e)?),
            ExprKind::AsShape(e) => Kind::AsShape(self.expr(e)?),
            ExprKind::Loop { locals, cond, body } => Kind::Loop {
                locals: locals.iter().map(|(l, e)| Ok((l.var, self.expr(e)?))).collect::<R<_>>()?,
                cond: self.expr(cond)?,
                body: self.expr(body)?,
            },
        })
    }

    fn frame(&self, dims: &[Dim], elems: &[Expr]) -> R<Kind> {
        let shape = Shape::of_dims(dims.iter().cloned());
        let elems = self.all(elems)?;
        if let ShapeCode::Fixed(fixed) = ShapeCode::new(&shape)
            && fixed.iter().product::<usize>() == elems.len()
        {
            let mut all = Collector::new(elems.len());
            let constant = elems.iter().all(|e| match &*e.kind {
                Kind::Const(a) => all.push(a).is_ok(),
                _ => false,
            });
            if constant && let Some(a) = all.finish(&fixed) {
                return Ok(Kind::Const(a));
            }
        }
        Ok(Kind::Frame { dims: shape, elems })
    }
}

fn vars(params: &[Local]) -> Vec<VarId> {
    params.iter().map(|p| p.var).collect()
}

/// A cell for the value of an instance of a closed term, if its arguments are closed too.
fn memo(func: &Code, closed_args: bool) -> Memo {
    let closed_func = match &*func.kind {
        Kind::Const(_) | Kind::Global(_) => true,
        Kind::TApp { memo, .. } | Kind::IApp { memo, .. } => memo.is_some(),
        _ => false,
    };
    (closed_func && closed_args).then(OnceCell::new)
}

fn closed_shape(s: &Shape) -> bool {
    s.0.iter().all(|i| matches!(i, ShapeItem::Dim(d) if d.as_constant().is_some()))
}

fn closed_index(i: &Index) -> bool {
    match i {
        Index::Dim(d) => d.as_constant().is_some(),
        Index::Shape(s) => closed_shape(s),
    }
}

fn closed_type(t: &TyArg) -> bool {
    match t {
        TyArg::Atom(t) => matches!(t, AtomTy::Base(_)),
        TyArg::Array(t) => matches!(t.atom, AtomTy::Base(_)) && closed_shape(&t.shape),
    }
}

/// The function that a primitive's name stands for.
fn primitive(g: &GlobalId) -> R<Func> {
    if let Some(op) = ScalarOp::from_name(g.name.as_str()) {
        return Ok(Func::Scalar(op));
    }
    match ArrayPrim::from_name(g.name.as_str()) {
        Some(prim) => Ok(Func::Array(Rc::new(PrimInst { prim, indices: vec![], types: vec![] }))),
        None => Err(Fault::internal(format!("the interpreter does not know the primitive {g}"))),
    }
}

/// A literal as a scalar of a closed atom type.
pub(crate) fn literal(lit: &Lit, ty: &AtomTy) -> R<Scalar> {
    let &AtomTy::Base(b) = ty else {
        return Err(Fault::internal(format!("a literal of type {ty}")));
    };
    match *lit {
        Lit::Scalar(s) if s.ty() == b => Ok(s),
        Lit::Scalar(s) => Err(Fault::internal(format!("a literal of type {} where {b} is expected", s.ty()))),
        Lit::Int(n) => number(n, b),
        Lit::Float(bits) => Scalar::from_float(b, f64::from_bits(bits))
            .ok_or_else(|| Fault::internal(format!("a decimal literal of type {b}"))),
    }
}

/// A number at a numeric type; it must fit.
pub(crate) fn number(n: i128, b: BaseTy) -> R<Scalar> {
    match (b.integer_range(), Scalar::from_integer(b, n)) {
        (Some((lo, hi)), _) if n < lo || n > hi => Err(match i64::try_from(n) {
            Ok(n) => Fault::trap(Trap::Range { ty: b }, &[&[n]]),
            Err(_) => Fault::trap(Trap::Literal { n, ty: b }, &[]),
        }),
        (_, Some(s)) => Ok(s),
        (_, None) => Err(Fault::internal(format!("a number of type {b}"))),
    }
}

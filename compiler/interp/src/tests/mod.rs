//! Hand-built terms, evaluated. The helpers give each node the type that the interpreter needs of it:
//! its element type, and the shape where it may be empty.

mod errors;
mod exprs;
mod prims;

use crate::{Interp, Program, RuntimeError};
use remc_base::*;
use remc_typed::ir::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Module 0 is the prelude: what has no definition there is a primitive. Module 1 is the program.
#[derive(Default)]
pub struct Prog(HashMap<GlobalId, Arc<Definition>>);

impl Program for Prog {
    fn definition(&self, g: &GlobalId) -> Option<Arc<Definition>> {
        self.0.get(g).cloned()
    }
    fn is_primitive(&self, g: &GlobalId) -> bool {
        g.module == ModuleId(0) && !self.0.contains_key(g)
    }
}

impl Prog {
    pub fn define(&mut self, module: u32, name: &str, body: Expr) -> Expr {
        let g = global(module, name);
        let ty = body.ty.clone();
        let d = Definition { name: g.clone(), ty: ty.clone(), body, entry: None };
        self.0.insert(g.clone(), Arc::new(d));
        ex(ExprKind::Global(g), ty)
    }

    pub fn run(&mut self, e: Expr) -> Result<Value, RuntimeError> {
        self.define(1, "main", e);
        Interp::new(self, ModuleId(1)).eval_definition(&global(1, "main"))
    }
}

pub fn run(e: Expr) -> Result<Value, RuntimeError> {
    Prog::default().run(e)
}

pub fn global(module: u32, name: &str) -> GlobalId {
    GlobalId { module: ModuleId(module), name: Name::new(name) }
}

pub fn ex(kind: ExprKind, ty: ArrTy) -> Expr {
    Expr::new(kind, ty, NodeId(7))
}

pub const INT: AtomTy = AtomTy::INT;

pub fn sh(dims: &[usize]) -> Shape {
    Shape::of_sizes(dims)
}

pub fn ty(atom: AtomTy, dims: &[usize]) -> ArrTy {
    ArrTy::new(atom, sh(dims))
}

pub fn lit(s: Scalar) -> Expr {
    ex(ExprKind::Lit(Lit::Scalar(s)), ArrTy::base(s.ty()))
}

pub fn int(n: i64) -> Expr {
    lit(Scalar::I64(n))
}

/// A literal array of scalars.
pub fn arr(b: BaseTy, dims: &[usize], scalars: impl IntoIterator<Item = Scalar>) -> Expr {
    let elems = scalars.into_iter().map(lit).collect();
    let ds = dims.iter().map(|d| Dim::from(*d as i64)).collect();
    ex(ExprKind::Frame { dims: ds, elems }, ty(AtomTy::Base(b), dims))
}

pub fn ints(dims: &[usize], v: &[i64]) -> Expr {
    arr(BaseTy::I64, dims, v.iter().map(|n| Scalar::I64(*n)))
}

pub fn vec(v: &[i64]) -> Expr {
    ints(&[v.len()], v)
}

pub fn bools(v: &[bool]) -> Expr {
    arr(BaseTy::Bool, &[v.len()], v.iter().map(|b| Scalar::Bool(*b)))
}

/// The value that an int array should have.
pub fn val(dims: &[usize], v: &[i64]) -> Value {
    Value::of_scalars(BaseTy::I64, dims.to_vec(), v.iter().map(|n| Scalar::I64(*n)))
}

pub fn local(id: u32, t: ArrTy) -> Local {
    Local { var: VarId(id), name: Name::new(format!("x{id}")), ty: t }
}

pub fn lam(params: &[&Local], body: Expr) -> Expr {
    let t = AtomTy::func(params.iter().map(|p| p.ty.clone()).collect(), body.ty.clone());
    ex(ExprKind::Lam { params: params.iter().map(|p| (*p).clone()).collect(), body }, ArrTy::scalar(t))
}

pub fn var(l: &Local) -> Expr {
    Expr::var(l, NodeId(7))
}

/// A function type whose details nothing looks at.
pub fn fn_ty() -> ArrTy {
    ArrTy::scalar(AtomTy::func(vec![], ArrTy::scalar(INT)))
}

pub fn prim(name: &str) -> Expr {
    ex(ExprKind::Global(global(0, name)), fn_ty())
}

pub fn dim(n: i64) -> Index {
    Index::Dim(Dim::from(n))
}

pub fn shape(dims: &[usize]) -> Index {
    Index::Shape(sh(dims))
}

pub fn iapp(f: Expr, args: &[Index]) -> Expr {
    let t = f.ty.clone();
    ex(ExprKind::IApp { func: f, args: args.to_vec() }, t)
}

pub fn tapp(f: Expr, args: &[AtomTy]) -> Expr {
    let t = f.ty.clone();
    ex(ExprKind::TApp { func: f, args: args.iter().cloned().map(TyArg::Atom).collect() }, t)
}

/// An array primitive at `int` with the given indices.
pub fn inst(name: &str, indices: &[Index]) -> Expr {
    tapp(iapp(prim(name), indices), &[INT])
}

/// An application with an empty principal frame.
pub fn app(f: Expr, args: &[Expr], t: ArrTy) -> Expr {
    lift(f, &args.iter().map(|a| (a.clone(), vec![])).collect::<Vec<_>>(), &[], t)
}

/// An application over a frame; each argument with its own.
pub fn lift(f: Expr, args: &[(Expr, Vec<usize>)], frame: &[usize], t: ArrTy) -> Expr {
    let args = args.iter().map(|(e, fr)| Arg { expr: e.clone(), frame: sh(fr) }).collect();
    ex(ExprKind::App { func: f, args, frame: sh(frame) }, t)
}

pub fn sigma(id: u32, atom: AtomTy) -> AtomTy {
    let v = IVar::dim(id, "k");
    AtomTy::sigma(vec![v.clone()], ArrTy::new(atom, Shape::of_dims([Dim::rigid(v)])))
}

/// `(box ((k n)) [int k] v)`.
pub fn boxed(v: &[i64]) -> Expr {
    let kind = ExprKind::Box { witnesses: vec![dim(v.len() as i64)], value: vec(v) };
    ex(kind, ArrTy::scalar(sigma(90, INT)))
}

pub fn box_of(v: &Value) -> (Vec<IndexValue>, Value) {
    match &v.data {
        remc_base::value::Data::Box(b) if b.len() == 1 => (b[0].indices.clone(), b[0].value.clone()),
        other => panic!("no box: {other:?}"),
    }
}

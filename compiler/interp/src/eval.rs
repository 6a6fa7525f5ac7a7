//! The meaning of each expression.

use crate::array::{Collector, size, sizes};
use crate::boundary;
use crate::code::{Prepare, Program, literal, number};
use crate::env::natural;
use crate::error::{Fault, R, RuntimeError, op_fault};
use crate::prim::ArrayPrim;
use crate::prims::{self, Apply};
use crate::value::{Args, Array, Builder, Closure, Code, Data, Env, Func, IndexVal, Kind, PrimInst};
use remc_base::*;
use remc_typed::ir::{Definition, Fact, LiftKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// An interpreter of one program. Top-level values are evaluated once, when first used.
pub struct Interp<'p> {
    program: &'p dyn Program,
    first_user_module: ModuleId,
    globals: RefCell<FxHashMap<GlobalId, Global>>,
}

enum Global {
    Running,
    Done(Array),
}

impl<'p> Interp<'p> {
    /// Modules from `first_user_module` on are the program's own: errors point into them.
    pub fn new(program: &'p dyn Program, first_user_module: ModuleId) -> Interp<'p> {
        Interp { program, first_user_module, globals: RefCell::default() }
    }

    /// What the value of a top-level definition is, where that is known already.
    ///
    /// # Errors
    /// It is none.
    pub fn give(&self, g: &GlobalId, value: &Value) -> Result<(), RuntimeError> {
        let array = boundary::from_value(value).map_err(|f| f.report(self.first_user_module))?;
        self.globals.borrow_mut().insert(g.clone(), Global::Done(array));
        Ok(())
    }

    /// The value of a top-level definition.
    ///
    /// # Errors
    /// Whatever stops the program.
    pub fn eval_definition(&self, g: &GlobalId) -> Result<Value, RuntimeError> {
        let run = || {
            let d = self.definition(g)?;
            boundary::to_value(&self.global(g)?, &d.ty, &Env::empty())
        };
        run().map_err(|f| f.report(self.first_user_module))
    }

    /// Calls an entry with the values of its indices (see [`crate::solve_indices`]) and its parameters.
    ///
    /// # Errors
    /// Whatever stops the program.
    pub fn call_entry(
        &self,
        d: &Definition,
        indices: &[IndexValue],
        args: Vec<Value>,
    ) -> Result<Value, RuntimeError> {
        self.run_entry(d, indices, &args).map_err(|f| f.report(self.first_user_module))
    }

    fn run_entry(&self, d: &Definition, indices: &[IndexValue], args: &[Value]) -> R<Value> {
        let mut f = self.body(d)?;
        let vals: Vec<IndexVal> = indices.iter().map(boundary::index_from_value).collect();
        if !vals.is_empty() {
            f = self.apply_indices(&f, vals.clone(), None)?;
        }
        let args = args.iter().map(boundary::from_value).collect::<R<Args>>()?;
        let result = match &f.data {
            Data::Func(_) if !args.is_empty() || d.entry.as_ref().is_some_and(|e| is_thunk(&f, &e.ret)) => {
                self.call(f.as_func()?, args)?
            }
            _ => f,
        };
        let mut env = Env::empty();
        let ret = match &d.entry {
            Some(e) => {
                for (v, i) in e.indices.iter().zip(vals) {
                    env.bind_index(v, i)?;
                }
                &e.ret
            }
            None => &d.ty,
        };
        boundary::to_value(&result, ret, &env)
    }

    fn definition(&self, g: &GlobalId) -> R<Arc<Definition>> {
        self.program.definition(g).ok_or_else(|| Fault::internal(format!("{g} has no definition")))
    }

    fn body(&self, d: &Definition) -> R<Array> {
        let prepare = Prepare { program: self.program, def: Rc::new(d.name.clone()) };
        self.eval(&prepare.expr(&d.body)?, &Env::empty())
    }

    fn global(&self, g: &GlobalId) -> R<Array> {
        match self.globals.borrow().get(g) {
            Some(Global::Done(a)) => return Ok(a.clone()),
            Some(Global::Running) => {
                return Err(Fault::internal(format!("the definition of {g} needs its own value")));
            }
            None => {}
        }
        let d = self.definition(g)?;
        self.globals.borrow_mut().insert(g.clone(), Global::Running);
        let value = self.body(&d);
        let mut globals = self.globals.borrow_mut();
        match &value {
            Ok(a) => globals.insert(g.clone(), Global::Done(a.clone())),
            Err(_) => globals.remove(g),
        };
        value
    }

    pub(crate) fn eval(&self, code: &Code, env: &Env) -> R<Array> {
        let here = |f: Box<Fault>| f.at(&code.def, code.node);
        match &*code.kind {
            Kind::Var(v) => env.value(*v).cloned().map_err(here),
            Kind::Const(a) => Ok(a.clone()),
            Kind::Lit(lit) => {
                let ty = env.atom(&code.ty.atom).map_err(here)?;
                Ok(Array::scalar(literal(lit, &ty).map_err(here)?))
            }
            Kind::Global(g) => self.global(g).map_err(here),
            Kind::Frame { dims, elems } => {
                let mut all = Collector::new(elems.len());
                for e in elems {
                    let a = self.eval(e, env)?;
                    all.push(&a).map_err(here)?;
                }
                let dims = env.shape(dims).map_err(here)?;
                if size(&dims).map_err(here)? != elems.len() {
                    return Err(here(Fault::internal(format!(
                        "a frame of shape {dims:?} with {} elements",
                        elems.len()
                    ))));
                }
                all.finish(&dims).map_or_else(|| self.empty(&code.ty, env), Ok).map_err(here)
            }
            Kind::Lam(l) => Ok(Array::func(Func::Lam(closure(l, env, 0)))),
            Kind::TLam(l) => Ok(Array::func(Func::TLam(closure(l, env, 0)))),
            Kind::ILam(l) => Ok(Array::func(Func::ILam(closure(l, env, 0)))),
            Kind::App { func, args, frame } => self.app(code, func, args, frame, env),
            Kind::TApp { func, args, memo } => {
                if let Some(known) = memo.as_ref().and_then(|m| m.get()) {
                    return Ok(known.clone());
                }
                let f = self.eval(func, env)?;
                let value = self.instances(&f, |f| self.apply_types(f, args, env)).map_err(here)?;
                if let Some(m) = memo {
                    let _ = m.set(value.clone());
                }
                Ok(value)
            }
            Kind::IApp { func, args, memo } => {
                if let Some(known) = memo.as_ref().and_then(|m| m.get()) {
                    return Ok(known.clone());
                }
                let f = self.eval(func, env)?;
                let vals = args.iter().map(|i| env.index(i)).collect::<R<Vec<_>>>().map_err(here)?;
                let value = self
                    .instances(&f, |f| self.apply_indices(f, vals.clone(), Some(&code.ty.atom)))
                    .map_err(here)?;
                if let Some(m) = memo {
                    let _ = m.set(value.clone());
                }
                Ok(value)
            }
            Kind::Let { var, value, body } => {
                let mut inner = env.clone();
                inner.bind(*var, self.eval(value, env)?);
                self.eval(body, &inner)
            }
            Kind::If { cond, then, otherwise } => {
                if self.eval(cond, env)?.as_bool().map_err(here)? {
                    self.eval(then, env)
                } else {
                    self.eval(otherwise, env)
                }
            }
            Kind::Box { witnesses, value } => {
                let indices = witnesses.iter().map(|i| env.index(i)).collect::<R<_>>().map_err(here)?;
                Ok(Array::boxed(indices, self.eval(value, env)?))
            }
            Kind::Unbox { boxes, indices, var, body } => {
                let boxes = self.eval(boxes, env)?;
                let items = boxes.as_boxes().map_err(here)?;
                let mut all = Collector::new(items.len());
                for b in items {
                    let mut inner = env.clone();
                    if indices.len() != b.indices.len() {
                        return Err(here(Fault::internal("a box with another number of indices")));
                    }
                    for (v, i) in indices.iter().zip(&b.indices) {
                        inner.bind_index(v, i.clone()).map_err(here)?;
                    }
                    inner.bind(*var, b.value.clone());
                    all.push(&self.eval(body, &inner)?).map_err(here)?;
                }
                all.finish(&boxes.shape).map_or_else(|| self.empty(&code.ty, env), Ok).map_err(here)
            }
            Kind::Lift { kind, indices, value, body } => {
                let value = self.eval(value, env)?;
                let mut inner = env.clone();
                bind_lifted(*kind, indices, &value, &mut inner).map_err(here)?;
                self.eval(body, &inner)
            }
            Kind::Check { fact, why, body } => {
                check(fact, why, env).map_err(here)?;
                self.eval(body, env)
            }
            Kind::ReifyDim(d) => {
                let n = env.dim(d).map_err(here)?;
                Ok(Array::scalar(self.number_at(n as i128, &code.ty, env).map_err(here)?))
            }
            Kind::ReifyShape(s) => {
                let dims = env.shape(s).map_err(here)?;
                let ty = env.atom(&code.ty.atom).map_err(here)?;
                let mut out = Builder::of_atom(&ty).map_err(here)?;
                for d in &dims {
                    let n = self.number_at(*d as i128, &code.ty, env).map_err(here)?;
                    if !out.push(n) {
                        return Err(here(Fault::internal("a shape of another type")));
                    }
                }
                Ok(Array::new(SmallVec::from_slice(&[dims.len()]), out.finish()))
            }
            Kind::Tuple(es) => {
                let parts = es.iter().map(|e| self.eval(e, env)).collect::<R<Vec<_>>>()?;
                Ok(Array::tuple(parts))
            }
            Kind::Field { tuple, position } => {
                let tuples = self.eval(tuple, env)?;
                let Data::Tuple(items) = &tuples.data else {
                    return Err(here(Fault::internal("a component of what is no tuple")));
                };
                let mut all = Collector::new(items.as_slice().len());
                for t in items.as_slice() {
                    match t.get(*position) {
                        Some(part) => all.push(part).map_err(here)?,
                        None => return Err(here(Fault::internal("a tuple with too few components"))),
                    }
                }
                all.finish(&tuples.shape).map_or_else(|| self.empty(&code.ty, env), Ok).map_err(here)
            }
            Kind::Cast(e) => {
                let from = self.eval(e, env)?;
                self.cast(&from, &code.ty, env).map_err(here)
            }
            Kind::AsShape(e) => {
                let a = self.eval(e, env)?;
                let want = env.shape(&code.ty.shape).map_err(here)?;
                if a.shape != want {
                    let trap = Trap::AsShape { have: a.rank().into(), want: want.len().into() };
                    return Err(here(Fault::trap(trap, &[&sizes(&a.shape), &sizes(&want)])));
                }
                Ok(a)
            }
            Kind::Loop { locals, cond, body } => self.run_loop(locals, cond, body, env),
        }
    }

    fn run_loop(&self, locals: &[(VarId, Code)], cond: &Code, body: &Code, env: &Env) -> R<Array> {
        let mut state = locals.iter().map(|(_, e)| self.eval(e, env)).collect::<R<Vec<_>>>()?;
        loop {
            let mut inner = env.clone();
            for ((v, _), a) in locals.iter().zip(&state) {
                inner.bind(*v, a.clone());
            }
            let here = |f: Box<Fault>| f.at(&cond.def, cond.node);
            if !self.eval(cond, &inner)?.as_bool().map_err(here)? {
                break;
            }
            let next = self.eval(body, &inner)?;
            state = match &next.data {
                Data::Tuple(t) if locals.len() != 1 && t.as_slice().len() == 1 => t.as_slice()[0].to_vec(),
                _ => vec![next],
            };
            if state.len() != locals.len() {
                return Err(here(Fault::internal("a loop whose body gives another number of values")));
            }
        }
        if let [_] = state[..]
            && let Some(a) = state.pop()
        {
            return Ok(a);
        }
        Ok(Array::tuple(state))
    }

    fn number_at(&self, n: i128, ty: &ArrTy, env: &Env) -> R<Scalar> {
        match env.atom(&ty.atom)? {
            AtomTy::Base(b) => number(n, b),
            other => Err(Fault::internal(format!("a number of type {other}"))),
        }
    }

    fn cast(&self, from: &Array, ty: &ArrTy, env: &Env) -> R<Array> {
        let AtomTy::Base(to) = env.atom(&ty.atom)? else {
            return Err(Fault::internal("a cast to no base type"));
        };
        let n = from.data.len();
        let mut out = Builder::of_base(to, n);
        for i in 0..n {
            let x = from.data.scalar_at(i).ok_or_else(|| Fault::internal("a cast of no scalar"))?;
            let y = ops::cast(x, to).map_err(|e| op_fault(Trap::of_cast(x.ty(), to), e, &[x]))?;
            if !out.push(y) {
                return Err(Fault::internal("a cast to another type"));
            }
        }
        Ok(Array::new(from.shape.clone(), out.finish()))
    }

    /// The empty array of a type: what an application, a frame or an `unbox` over nothing gives.
    pub(crate) fn empty(&self, ty: &ArrTy, env: &Env) -> R<Array> {
        let shape = env.shape(&ty.shape)?;
        if size(&shape)? != 0 {
            return Err(Fault::internal(format!("no elements for the shape {shape:?}")));
        }
        Ok(Array::new(shape, Builder::of_atom(&env.atom(&ty.atom)?)?.finish()))
    }

    /// Applies `f` to each polymorphic function of an array of them.
    fn instances(&self, funcs: &Array, f: impl Fn(&Array) -> R<Array>) -> R<Array> {
        if funcs.rank() == 0 {
            return f(funcs);
        }
        let mut all = Collector::new(funcs.data.len());
        for i in 0..funcs.data.len() {
            all.push(&f(&funcs.cell(funcs.rank(), i, 1))?)?;
        }
        all.finish(&funcs.shape)
            .map_or_else(|| Ok(Array::new(funcs.shape.clone(), Builder::Func(Vec::new()).finish())), Ok)
    }

    fn apply_types(&self, f: &Array, args: &[TyArg], env: &Env) -> R<Array> {
        if args.is_empty() {
            return Ok(f.clone());
        }
        match f.as_func()? {
            Func::Scalar(_) => Ok(f.clone()),
            Func::Array(p) => {
                let mut types = p.types.clone();
                for a in args {
                    types.push(match a {
                        TyArg::Atom(t) => env.atom(t)?,
                        TyArg::Array(t) => env.atom(&t.atom)?,
                    });
                }
                let inst = PrimInst { prim: p.prim, indices: p.indices.clone(), types };
                Ok(Array::func(Func::Array(Rc::new(inst))))
            }
            Func::TLam(c) => {
                let mut inner = c.env.clone();
                let params = &c.lam.params[c.bound..];
                for (p, a) in params.iter().zip(args) {
                    inner.bind_type(p, a, env)?;
                }
                if args.len() < params.len() {
                    return Ok(Array::func(Func::TLam(closure(&c.lam, &inner, c.bound + args.len()))));
                }
                let value = self.eval(&c.lam.body, &inner)?;
                self.apply_types(&value, &args[params.len()..], env)
            }
            // The two orders of ∀ and Π are convertible: a function that wants its indices first
            // cannot meet its types here, since the checker converts.
            Func::ILam(_) | Func::Lam(_) => Err(Fault::internal("a type argument where none is wanted")),
        }
    }

    /// `ty` is the type of the result, which says whether a primitive is applied in full.
    fn apply_indices(&self, f: &Array, mut args: Vec<IndexVal>, ty: Option<&AtomTy>) -> R<Array> {
        if args.is_empty() {
            return Ok(f.clone());
        }
        match f.as_func()? {
            Func::Scalar(_) => Ok(f.clone()),
            Func::Array(p) => {
                let mut indices = p.indices.clone();
                indices.extend(args);
                let inst = PrimInst { prim: p.prim, indices, types: p.types.clone() };
                // `iota` takes nothing at run time: its instances are values, not functions.
                if inst.prim == ArrayPrim::Iota && matches!(ty, Some(AtomTy::Base(_))) {
                    return prims::call(self, &inst, Args::new());
                }
                Ok(Array::func(Func::Array(Rc::new(inst))))
            }
            Func::ILam(c) => {
                let mut inner = c.env.clone();
                let params = &c.lam.params[c.bound..];
                let rest = if args.len() > params.len() { args.split_off(params.len()) } else { vec![] };
                let given = args.len();
                for (p, a) in params.iter().zip(args) {
                    inner.bind_index(p, a)?;
                }
                if given < params.len() {
                    return Ok(Array::func(Func::ILam(closure(&c.lam, &inner, c.bound + given))));
                }
                let value = self.eval(&c.lam.body, &inner)?;
                self.apply_indices(&value, rest, ty)
            }
            Func::TLam(_) | Func::Lam(_) => Err(Fault::internal("an index argument where none is wanted")),
        }
    }
}

fn closure<L>(lam: &Rc<L>, env: &Env, bound: usize) -> Rc<Closure<L>> {
    Rc::new(Closure { lam: lam.clone(), env: env.clone(), bound })
}

/// Whether an entry without parameters is a λ without parameters, not the value itself.
fn is_thunk(f: &Array, ret: &ArrTy) -> bool {
    match f.as_func() {
        Ok(Func::Lam(c)) => c.lam.params.is_empty() && !matches!(&ret.atom, AtomTy::Fn(_)),
        _ => false,
    }
}

fn check(fact: &Fact, why: &str, env: &Env) -> R<()> {
    let text = |d: &Dim| Arc::from(d.to_string());
    match fact {
        Fact::NonNegative(d) => {
            let n = env.dim(d)?;
            if n < 0 {
                return Err(Fault::trap(Trap::TooSmall { why: why.into(), dim: text(d) }, &[&[n]]));
            }
        }
        Fact::Equal(a, b) => {
            let (m, n) = (env.dim(a)?, env.dim(b)?);
            if m != n {
                let trap = Trap::Unequal { why: why.into(), left: text(a), right: text(b) };
                return Err(Fault::trap(trap, &[&[m], &[n]]));
            }
        }
    }
    Ok(())
}

fn bind_lifted(kind: LiftKind, indices: &[IVar], value: &Array, env: &mut Env) -> R<()> {
    let ints: Vec<i64> = value.as_ints()?.to_vec();
    let one = || match (indices, &ints[..]) {
        ([v], [n]) => Ok((v, *n)),
        _ => Err(Fault::internal("a lift of what is no scalar")),
    };
    match kind {
        LiftKind::Natural => {
            let (v, n) = one()?;
            natural(n, || v.to_string())?;
            env.bind_index(v, IndexVal::Dim(n))
        }
        LiftKind::Integer => {
            let (v, n) = one()?;
            env.bind_index(v, IndexVal::Dim(n))
        }
        LiftKind::Dims => {
            if ints.len() != indices.len() {
                return Err(Fault::internal("a lift of a vector of another length"));
            }
            indices.iter().zip(ints).try_for_each(|(v, n)| env.bind_index(v, IndexVal::Dim(n)))
        }
        LiftKind::Shape => {
            let [v] = indices else { return Err(Fault::internal("a lift of a shape to several indices")) };
            let dims = ints
                .iter()
                .map(|n| usize::try_from(*n).map_err(|_| *n))
                .collect::<Result<Vec<usize>, i64>>()
                .map_err(|n| Fault::trap(Trap::NegativeIn { rank: ints.len().into() }, &[&ints, &[n]]))?;
            env.bind_index(v, IndexVal::Shape(Rc::from(dims)))
        }
    }
}

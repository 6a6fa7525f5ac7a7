//! Application: closures are evaluated in place, scalar operators become statements behind their checks.

use crate::build::emit::{FALSE, TRUE};
use crate::build::env::Env;
use crate::build::prim::Prim;
use crate::build::val::{Closure, Code, Fun, Instance, Table, Val};
use crate::build::{Build, Cx, R, bug, prims};
use crate::ir::Atom;
use remc_base::ops::ScalarOp;
use remc_base::*;
use remc_explicit::ir::{Expr, ExprKind};
use std::rc::Rc;
use std::sync::Arc;

impl<'a> Build<'a> {
    /// Applies one function to cells; `ty` is the closed type of the result. The place of what is inlined
    /// has the present place as its caller.
    pub fn call(&mut self, f: &Val<'a>, args: Vec<Val<'a>>, ty: &ArrTy) -> R<Val<'a>> {
        self.each_function(f, ty, &mut |this, f| this.call_one(f, args.clone(), ty))
    }

    /// What `go` gives of the function that `f` turns out to be: a nest of branches if there are several.
    pub fn each_function(
        &mut self,
        f: &Val<'a>,
        ty: &ArrTy,
        go: &mut dyn FnMut(&mut Self, &Fun<'a>) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        let Val::Fns { dims, table, fields } = f else { return bug("what is applied is no function") };
        if !dims.is_empty() {
            return bug("what is applied is not one function");
        }
        self.one_of((table, fields), 0, table.codes.len(), ty, go)
    }

    /// The function is among those from `low` on and before `high`: found by halving.
    fn one_of(
        &mut self,
        (table, fields): (&Table<'a>, &[Val<'a>]),
        low: usize,
        high: usize,
        ty: &ArrTy,
        go: &mut dyn FnMut(&mut Self, &Fun<'a>) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        if high - low <= 1 {
            let f = self.instantiated(table, low, fields)?;
            return go(self, &f);
        }
        let Some(Val::Base(tag)) = fields.first() else { return bug("functions without tags") };
        let middle = low + (high - low) / 2;
        let cond = self.op(ScalarOp::Lt, &[*tag, Atom::int(middle as i64)])?;
        // Both closures need `go`, one after the other.
        let go = std::cell::RefCell::new(go);
        self.choose(
            cond,
            ty,
            |this| this.one_of((table, fields), low, middle, ty, &mut |t, f| (go.borrow_mut())(t, f)),
            |this| this.one_of((table, fields), middle, high, ty, &mut |t, f| (go.borrow_mut())(t, f)),
        )
    }

    fn call_one(&mut self, f: &Fun<'a>, args: Vec<Val<'a>>, ty: &ArrTy) -> R<Val<'a>> {
        match f {
            Fun::None => self.empty(ty),
            Fun::Op(op) => self.scalar(*op, &args, ty),
            Fun::Prim(p) => prims::call(self, p, args),
            Fun::Closure(c) => {
                let ExprKind::Lam { params, body } = &*c.lambda.kind else {
                    return bug("a polymorphic function applied before it is instantiated");
                };
                if params.len() != args.len() {
                    return bug("a function applied to another number of arguments");
                }
                let mut env = c.env.clone();
                for (p, a) in params.iter().zip(args) {
                    env.bind(p.var, a);
                }
                self.inline(c.def, body, &env)
            }
            Fun::Restored(r) => {
                let (AtomTy::Fn(from), AtomTy::Fn(to)) = (&r.from, &r.to) else {
                    return bug("a polymorphic function applied before it is instantiated");
                };
                let args = args.iter().zip(to.params.iter().zip(&from.params));
                let args = args.map(|(a, (to, from))| self.restored(a, to, from)).collect::<R<Vec<_>>>()?;
                let result = self.call_one(&r.fun, args, &from.ret)?;
                self.restored(&result, &from.ret, ty)
            }
        }
    }

    fn inline(&mut self, def: &'a GlobalId, body: &'a Expr, env: &Env<'a>) -> R<Val<'a>> {
        let caller = Some(self.at);
        self.eval(body, env, Cx { def, caller })
    }

    // ---- instances ------------------------------------------------------------------------------------

    pub fn apply_types(&mut self, f: &Val<'a>, args: &[TyArg], ty: &ArrTy) -> R<Val<'a>> {
        self.instances(f, ty, &mut |this, f| this.apply_types_one(f, args, ty))
    }

    pub fn apply_indices(&mut self, f: &Val<'a>, args: &[Index], ty: &ArrTy) -> R<Val<'a>> {
        self.instances(f, ty, &mut |this, f| this.apply_indices_one(f, args, ty))
    }

    fn instances(
        &mut self,
        f: &Val<'a>,
        ty: &ArrTy,
        go: &mut dyn FnMut(&mut Self, &Fun<'a>) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        if let Val::Fns { dims, table, fields } = f
            && dims.is_empty()
            && matches!(ty.atom, AtomTy::Fn(_) | AtomTy::Forall(_) | AtomTy::Pi(_))
            && table.codes.iter().all(|c| computes_nothing(&c.fun))
        {
            // The instances of all are functions again, one for one, with the same holes.
            let mut codes = Vec::with_capacity(table.codes.len());
            for c in &table.codes {
                match go(self, &c.fun)? {
                    Val::Fns { table, .. } if table.codes.len() == 1 => {
                        codes.push(Code { fun: table.codes[0].fun.clone(), holes: c.holes.clone() });
                    }
                    _ => return bug("an instance of a function that is none"),
                }
            }
            return Ok(Val::Fns {
                dims: Vec::new(),
                table: Rc::new(Table { codes }),
                fields: fields.clone(),
            });
        }
        self.each_function(f, ty, go)
    }

    fn apply_types_one(&mut self, f: &Fun<'a>, args: &[TyArg], ty: &ArrTy) -> R<Val<'a>> {
        match f {
            _ if args.is_empty() => Ok(Val::function(f.clone())),
            Fun::None | Fun::Op(_) => Ok(Val::function(f.clone())),
            Fun::Prim(p) => {
                let mut types = p.types.clone();
                for a in args {
                    types.push(match a {
                        TyArg::Atom(t) => self.freshen(t),
                        TyArg::Array(t) => self.freshen(&t.atom),
                    });
                }
                let p = Instance { prim: p.prim, types, indices: p.indices.clone() };
                Ok(Val::function(Fun::Prim(Rc::new(p))))
            }
            Fun::Closure(c) => {
                let ExprKind::TLam { params, body } = &*c.lambda.kind else {
                    return bug("a type argument where none is wanted");
                };
                let mut env = c.env.clone();
                let open = &params[c.bound..];
                for (p, a) in open.iter().zip(args) {
                    let a = match a {
                        TyArg::Atom(t) => TyArg::Atom(self.freshen(t)),
                        TyArg::Array(t) => TyArg::Array(ArrTy::new(self.freshen(&t.atom), t.shape.clone())),
                    };
                    env.bind_type(p, a);
                }
                if args.len() < open.len() {
                    return Ok(Val::function(Fun::Closure(partial(c, env, args.len()))));
                }
                let value = self.inline(c.def, body, &env)?;
                let rest = &args[open.len()..];
                if rest.is_empty() { Ok(value) } else { self.apply_types(&value, rest, ty) }
            }
            Fun::Restored(r) => {
                let from = with_types(&r.from, args)?;
                let value = self.apply_types_one(&r.fun, args, &from)?;
                self.restored(&value, &from, ty)
            }
        }
    }

    fn apply_indices_one(&mut self, f: &Fun<'a>, args: &[Index], ty: &ArrTy) -> R<Val<'a>> {
        match f {
            _ if args.is_empty() => Ok(Val::function(f.clone())),
            Fun::None | Fun::Op(_) => Ok(Val::function(f.clone())),
            Fun::Prim(p) => {
                let indices = p.indices.iter().chain(args).cloned().collect();
                let p = Instance { prim: p.prim, types: p.types.clone(), indices };
                // `iota` takes nothing at run time: its instances are values.
                if p.prim == Prim::Iota && matches!(ty.atom, AtomTy::Base(_)) {
                    return prims::call(self, &p, Vec::new());
                }
                Ok(Val::function(Fun::Prim(Rc::new(p))))
            }
            Fun::Closure(c) => {
                let ExprKind::ILam { params, body } = &*c.lambda.kind else {
                    return bug("an index argument where none is wanted");
                };
                let mut env = c.env.clone();
                let open = &params[c.bound..];
                for (p, a) in open.iter().zip(args) {
                    if p.sort != a.sort() {
                        return bug(format!("the index {p} is given a value of the other sort"));
                    }
                    env.bind_index(p, a.clone());
                }
                if args.len() < open.len() {
                    return Ok(Val::function(Fun::Closure(partial(c, env, args.len()))));
                }
                let value = self.inline(c.def, body, &env)?;
                let rest = &args[open.len()..];
                if rest.is_empty() { Ok(value) } else { self.apply_indices(&value, rest, ty) }
            }
            Fun::Restored(r) => {
                let from = with_indices(&r.from, args)?;
                let value = self.apply_indices_one(&r.fun, args, &from)?;
                self.restored(&value, &from, ty)
            }
        }
    }

    // ---- scalars --------------------------------------------------------------------------------------

    fn scalar(&mut self, op: ScalarOp, args: &[Val<'a>], ty: &ArrTy) -> R<Val<'a>> {
        let atoms: Option<Vec<Atom>> =
            args.iter().map(|v| if let Val::Base(a) = v { Some(*a) } else { None }).collect();
        match atoms {
            Some(atoms) if atoms.iter().all(|a| self.dims_of_atom(*a).is_empty()) => {
                Ok(Val::Base(self.checked_op(op, &atoms)?))
            }
            _ => match args {
                [Val::Base(cond), yes, no] if op == ScalarOp::Select => {
                    self.choose(*cond, ty, |_| Ok(yes.clone()), |_| Ok(no.clone()))
                }
                _ => bug(format!("{op} of what is no scalar")),
            },
        }
    }

    /// A scalar operator, behind the check that it has a value.
    pub fn checked_op(&mut self, op: ScalarOp, args: &[Atom]) -> R<Atom> {
        let tys: Vec<BaseTy> = args.iter().map(|a| self.base_of(*a)).collect();
        if let Some(trap) = Trap::of_operator(op, &tys) {
            let cond = match (op, args) {
                (ScalarOp::Quotient | ScalarOp::Modulo, [_, y]) => {
                    let Some(zero) = Scalar::from_integer(tys[1], 0) else { return bug("a division") };
                    self.op(ScalarOp::Ne, &[*y, Atom::Const(zero)])?
                }
                (ScalarOp::Expt, [_, e]) => {
                    let below = self.op(ScalarOp::Lt, &[*e, Atom::Const(ops::zero(tys[1]))])?;
                    self.op(ScalarOp::Not, &[below])?
                }
                (ScalarOp::IntToChar, [n]) => self.is_char(*n)?,
                _ => return bug(format!("{op} has a stop that is not known here")),
            };
            let whole: Vec<&[Atom]> = args.iter().map(std::slice::from_ref).collect();
            self.check(trap, cond, &whole)?;
        }
        self.op(op, args)
    }

    pub fn checked_cast(&mut self, to: BaseTy, x: Atom) -> R<Atom> {
        let from = self.base_of(x);
        if let Some(trap) = Trap::of_cast(from, to) {
            let n = self.cast(BaseTy::I64, x)?;
            let cond = self.is_char(n)?;
            self.check(trap, cond, &[&[x]])?;
        }
        self.cast(to, x)
    }

    /// Whether an int is a Unicode scalar value.
    fn is_char(&mut self, n: Atom) -> R<Atom> {
        let mut between = |low: i64, high: i64| {
            let a = self.op(ScalarOp::Ge, &[n, Atom::int(low)])?;
            let b = self.op(ScalarOp::Lt, &[n, Atom::int(high)])?;
            self.op(ScalarOp::And, &[a, b])
        };
        let (low, high) = (between(0, 0xd800)?, between(0xe000, 0x11_0000)?);
        self.op(ScalarOp::Or, &[low, high])
    }

    /// A size at a numeric type; where the type cannot hold it the program stops.
    pub fn number(&mut self, n: Atom, ty: BaseTy) -> R<Atom> {
        if let Some((low, high)) = ty.integer_range()
            && ty != BaseTy::I64
        {
            let bound = |x: i128| i64::try_from(x).ok().map(Atom::int);
            let mut cond = TRUE;
            if let Some(low) = bound(low) {
                let fits = if low == Atom::int(0) {
                    self.at_least_zero(n)?
                } else {
                    self.op(ScalarOp::Ge, &[n, low])?
                };
                cond = self.op(ScalarOp::And, &[cond, fits])?;
            }
            if let Some(high) = bound(high) {
                let fits = self.op(ScalarOp::Le, &[n, high])?;
                cond = self.op(ScalarOp::And, &[cond, fits])?;
            }
            self.check(Trap::Range { ty }, cond, &[&[n]])?;
        }
        self.cast(ty, n)
    }

    /// A number of the program text at its type.
    pub fn constant(&mut self, n: i128, ty: BaseTy) -> R<Atom> {
        match (ty.integer_range(), Scalar::from_integer(ty, n)) {
            (Some((low, high)), _) if n < low || n > high => {
                match i64::try_from(n) {
                    Ok(n) => self.check(Trap::Range { ty }, FALSE, &[&[Atom::int(n)]])?,
                    Err(_) => self.check(Trap::Literal { n, ty }, FALSE, &[])?,
                }
                Ok(Atom::Const(ops::zero(ty)))
            }
            (_, Some(s)) => Ok(Atom::Const(s)),
            (_, None) => bug(format!("a number of type {ty}")),
        }
    }
}

fn partial<'a>(c: &Closure<'a>, env: Env<'a>, more: usize) -> Rc<Closure<'a>> {
    Rc::new(Closure { def: c.def, lambda: c.lambda, env, bound: c.bound + more })
}

/// The type of an instance of a function of a ∀ type.
fn with_types(ty: &AtomTy, args: &[TyArg]) -> R<ArrTy> {
    let AtomTy::Forall(q) = ty else { return bug("a type argument where none is wanted") };
    let (now, rest) = args.split_at(q.params.len().min(args.len()));
    let mut subst = Subst::new();
    for (p, a) in q.params.iter().zip(now) {
        if let (TyArg::Atom(_), Some(s)) = (a, &p.shape) {
            subst.bind_shape(s, Shape::scalar());
        }
        subst.bind_tparam(p, a.clone());
    }
    let body = subst.arr(&q.body);
    match (&q.params[now.len()..], rest) {
        ([], []) => Ok(body),
        ([], rest) => with_types(&body.atom, rest),
        (open, _) => Ok(ArrTy::scalar(AtomTy::Forall(Arc::new(ForallTy { params: open.to_vec(), body })))),
    }
}

/// The type of an instance of a function of a Π type.
fn with_indices(ty: &AtomTy, args: &[Index]) -> R<ArrTy> {
    let AtomTy::Pi(q) = ty else { return bug("an index argument where none is wanted") };
    let (now, rest) = args.split_at(q.params.len().min(args.len()));
    let mut subst = Subst::new();
    q.params.iter().zip(now).for_each(|(p, a)| subst.bind_index(p, a.clone()));
    let body = subst.arr(&q.body);
    match (&q.params[now.len()..], rest) {
        ([], []) => Ok(body),
        ([], rest) => with_indices(&body.atom, rest),
        (open, _) => Ok(ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy { params: open.to_vec(), body })))),
    }
}

/// Whether an instance of this function is a function, made without computing anything.
fn computes_nothing(f: &Fun) -> bool {
    let c = match f {
        Fun::Closure(c) => c,
        Fun::Restored(r) => return computes_nothing(&r.fun),
        _ => return true,
    };
    let mut e = c.lambda;
    while let ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } = &*e.kind {
        e = body;
    }
    matches!(&*e.kind, ExprKind::Lam { .. })
}

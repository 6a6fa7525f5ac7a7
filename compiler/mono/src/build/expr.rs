//! The expressions of Explicit.

use crate::build::array::{MOST_UNROLLED, static_sizes};
use crate::build::emit::{FALSE, TRUE};
use crate::build::env::{Env, var_of};
use crate::build::function::Round;
use crate::build::opaque::is_known;
use crate::build::prim::Prim;
use crate::build::prims::close_round;
use crate::build::ragged::holds_boxes;
use crate::build::val::{Closure, Fun, Instance, Val};
use crate::build::{Build, Cx, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::trap::Len;
use remc_base::*;
use remc_explicit::ir::{Expr, ExprKind, Fact, LiftKind, Lit, Local};
use std::rc::Rc;
use std::sync::Arc;

impl<'a> Build<'a> {
    pub fn eval(&mut self, e: &'a Expr, env: &Env<'a>, cx: Cx<'a>) -> R<Val<'a>> {
        self.grow(1)?;
        let saved = self.at;
        self.at = self.program.provs.add(cx.def.clone(), e.node, cx.caller);
        let value = self.expr(e, env, cx);
        // An error keeps its place.
        if value.is_ok() {
            self.at = saved;
        }
        value
    }

    fn evals(&mut self, es: &'a [Expr], env: &Env<'a>, cx: Cx<'a>) -> R<Vec<Val<'a>>> {
        es.iter().map(|e| self.eval(e, env, cx)).collect()
    }

    fn atom(&mut self, e: &'a Expr, env: &Env<'a>, cx: Cx<'a>) -> R<Atom> {
        match self.eval(e, env, cx)? {
            Val::Base(a) => Ok(a),
            _ => bug("what is used as a number is none"),
        }
    }

    fn expr(&mut self, e: &'a Expr, env: &Env<'a>, cx: Cx<'a>) -> R<Val<'a>> {
        match &*e.kind {
            ExprKind::Var(v) => match env.get(*v) {
                Some(v) => Ok(v.clone()),
                None => bug(format!("the variable {v:?} has no value")),
            },
            ExprKind::Global(g) => self.global(g),
            ExprKind::Lit(lit) => {
                let AtomTy::Base(b) = env.atom(&e.ty.atom) else {
                    return bug(format!("a literal of type {}", e.ty));
                };
                Ok(Val::Base(match *lit {
                    Lit::Scalar(s) => Atom::Const(s),
                    Lit::Int(n) => self.constant(n, b)?,
                    Lit::Float(bits) => match Scalar::from_float(b, f64::from_bits(bits)) {
                        Some(s) => Atom::Const(s),
                        None => return bug(format!("a decimal literal of type {b}")),
                    },
                }))
            }
            ExprKind::Frame { dims, elems } => {
                let values = self.evals(elems, env, cx)?;
                let dims: Vec<Dim> = dims.iter().map(|d| env.dim(d)).collect();
                let sizes = dims.iter().map(|d| self.size(d)).collect::<R<Vec<_>>>()?;
                let (Some(sizes), Some(first)) = (static_sizes(&sizes), elems.first()) else {
                    return self.empty(&env.arr(&e.ty));
                };
                self.collect("a", &sizes, values, &env.arr(&first.ty))
            }
            ExprKind::Lam { .. } | ExprKind::TLam { .. } | ExprKind::ILam { .. } => {
                let c = Closure { def: cx.def, lambda: e, env: env.clone(), bound: 0 };
                Ok(Val::function(Fun::Closure(Rc::new(c))))
            }
            ExprKind::Call { func, args } => {
                let f = self.eval(func, env, cx)?;
                let args = self.evals(args, env, cx)?;
                self.call(&f, args, &env.arr(&e.ty))
            }
            ExprKind::Map { frame, operands, body } => self.map_expr(e, frame, operands, body, env, cx),
            ExprKind::Replicate { axes, at, arg } => {
                let v = self.eval(arg, env, cx)?;
                let axes = self.sizes(&env.shape(axes))?;
                let at = self.sizes(&env.shape(at))?;
                if at.is_empty() {
                    return self.replicate(&v, &axes);
                }
                let ty = env.arr(&e.ty);
                let cell = ArrTy::new(ty.atom, Shape(ty.shape.items()[at.len()..].to_vec()));
                self.map("a", &at, &cell, |this, i| {
                    let cell = this.cell(&v, i)?;
                    this.replicate(&cell, &axes)
                })
            }
            ExprKind::TApp { func, args } => {
                let f = self.eval(func, env, cx)?;
                let args: Vec<TyArg> = args
                    .iter()
                    .map(|a| match a {
                        TyArg::Atom(t) => TyArg::Atom(env.atom(t)),
                        TyArg::Array(t) => TyArg::Array(env.arr(t)),
                    })
                    .collect();
                self.apply_types(&f, &args, &env.arr(&e.ty))
            }
            ExprKind::IApp { func, args } => {
                let f = self.eval(func, env, cx)?;
                let args = args.iter().map(|i| self.index_arg(i, env)).collect::<R<Vec<_>>>()?;
                self.apply_indices(&f, &args, &env.arr(&e.ty))
            }
            ExprKind::Let { local, value, body } => {
                let value = self.eval(value, env, cx)?;
                self.name(&value, local);
                let mut inner = env.clone();
                inner.bind(local.var, value);
                self.eval(body, &inner, cx)
            }
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.atom(cond, env, cx)?;
                let ty = env.arr(&e.ty);
                self.choose(cond, &ty, |this| this.eval(then, env, cx), |this| this.eval(otherwise, env, cx))
            }
            ExprKind::Box { witnesses, value } => {
                let witnesses = witnesses.iter().map(|i| self.index_arg(i, env)).collect::<R<Vec<_>>>()?;
                let value = self.eval(value, env, cx)?;
                self.boxed(env.atom(&e.ty.atom), witnesses, value)
            }
            ExprKind::Unbox { boxed, indices, local, body } => {
                let boxed = self.eval(boxed, env, cx)?;
                let Val::Box(b) = &boxed else { return bug("what is unboxed is no box") };
                if b.witnesses.len() != indices.len() {
                    return bug("a box with another number of indices");
                }
                let mut inner = env.clone();
                for (v, w) in indices.iter().zip(&b.witnesses) {
                    inner.bind_index(v, w.clone());
                }
                inner.bind(local.var, b.contents.clone());
                self.eval(body, &inner, cx)
            }
            ExprKind::Lift { kind, indices, value, body } => {
                let value = self.atom(value, env, cx)?;
                let mut inner = env.clone();
                self.lift(*kind, indices, value, &mut inner)?;
                self.eval(body, &inner, cx)
            }
            ExprKind::Check { fact, why, body } => {
                self.fact(fact, why, env)?;
                self.eval(body, env, cx)
            }
            ExprKind::ReifyDim(d) => {
                let closed = env.dim(d);
                self.check_fits(&closed, || d.to_string())?;
                let n = self.size(&closed)?;
                let ty = self.base_ty(&e.ty, env)?;
                Ok(Val::Base(self.number(n, ty)?))
            }
            ExprKind::ReifyShape(s) => {
                let ty = self.base_ty(&e.ty, env)?;
                let s = env.shape(s);
                if !is_known(&s) {
                    let dims = self.dims_vector(&s)?;
                    let rank = self.rank(&s)?;
                    return Ok(Val::Base(self.tabulate("shape", ty, &[rank], Vec::new(), |b, at| {
                        let n = b.index(dims, at)?;
                        b.number(n, ty)
                    })?));
                }
                let sizes = self.sizes(&s)?;
                let elems = sizes.into_iter().map(|n| self.number(n, ty)).collect::<R<Vec<_>>>()?;
                Ok(Val::Base(self.literal("shape", ty, vec![Atom::int(elems.len() as i64)], elems)?))
            }
            ExprKind::Tuple(es) => Ok(Val::tuple(self.evals(es, env, cx)?)),
            ExprKind::Field { tuple, position } => match self.eval(tuple, env, cx)? {
                Val::Tuple { fields, .. } if *position < fields.len() => Ok(fields[*position].clone()),
                _ => bug("a component of what is no such tuple"),
            },
            ExprKind::Cast(from) => {
                let x = self.atom(from, env, cx)?;
                let ty = self.base_ty(&e.ty, env)?;
                Ok(Val::Base(self.checked_cast(ty, x)?))
            }
            ExprKind::AsShape(from) => {
                // What wraps round may be the size that is there.
                for item in e.ty.shape.items() {
                    if let ShapeItem::Dim(d) = item {
                        let closed = env.dim(d);
                        self.check_fits(&closed, || d.to_string())?;
                    }
                }
                let v = self.eval(from, env, cx)?;
                self.as_shape(v, &env.shape(&from.ty.shape), &env.arr(&e.ty))
            }
            ExprKind::Loop { locals, cond, body } => self.run_loop(locals, cond, body, env, cx),
        }
    }

    fn base_ty(&mut self, t: &ArrTy, env: &Env<'a>) -> R<BaseTy> {
        match env.atom(&t.atom) {
            AtomTy::Base(b) => Ok(b),
            other => bug(format!("a number of type {other}")),
        }
    }

    /// What a person called a value is the name of its variable.
    fn name(&mut self, v: &Val<'a>, local: &Local) {
        if let Val::Base(Atom::Var(v)) = v {
            let name = &mut self.program.vars[*v].name;
            if matches!(name.as_str(), "a" | "t" | "r") {
                *name = local.name.clone();
            }
        }
    }

    /// A top-level definition: evaluated where it is first used, and known in the bodies inside.
    fn global(&mut self, g: &'a GlobalId) -> R<Val<'a>> {
        if let Some(v) = self.scopes.iter().rev().find_map(|s| s.globals.get(g)) {
            return Ok(v.clone());
        }
        let Some(d) = self.defs.get(g) else {
            let name = g.name.as_str();
            if let Some(op) = ScalarOp::from_name(name) {
                return Ok(Val::function(Fun::Op(op)));
            }
            let Some(prim) = Prim::from_name(name) else {
                return bug(format!("the primitive {g} is not known"));
            };
            let p = Instance { prim, types: Vec::new(), indices: Vec::new() };
            return Ok(Val::function(Fun::Prim(Rc::new(p))));
        };
        let cx = Cx { def: &d.name, caller: Some(self.at) };
        let computes =
            !matches!(*d.body.kind, ExprKind::Lam { .. } | ExprKind::TLam { .. } | ExprKind::ILam { .. });
        if computes && self.scopes.len() > 1 && !self.stopping.contains(g) {
            // What does not stop the program is computed once, before everything that is open here.
            let inner = self.scopes.split_off(1);
            self.open();
            let v = self.eval(&d.body, &Env::empty(), cx);
            let mut made = self.close().stmts;
            let v = v?;
            let stops = made.iter().any(|s| s.exp.can_stop()) && !self.is_constant(&mut made);
            if !stops {
                self.scope().stmts.extend(made);
                self.scope().globals.insert(g.clone(), v.clone());
            }
            self.scopes.extend(inner);
            if !stops {
                return Ok(v);
            }
            self.stopping.insert(g.clone());
        }
        let v = self.eval(&d.body, &Env::empty(), cx)?;
        self.scope().globals.insert(g.clone(), v.clone());
        Ok(v)
    }

    /// An index argument, closed; the dims of a shape are checked to be natural.
    fn index_arg(&mut self, i: &Index, env: &Env<'a>) -> R<Index> {
        let closed = env.index(i);
        if let (Index::Shape(s), Index::Shape(_)) = (i, &closed) {
            let mut dims = Vec::new();
            for item in s.items() {
                if let ShapeItem::Dim(d) = item {
                    let closed = env.dim(d);
                    self.check_fits(&closed, || d.to_string())?;
                    self.check_natural(&closed, || d.to_string())?;
                    dims.push(closed);
                }
            }
            // Outside of all loops there is one array of that shape, which memory is asked for.
            let is_chosen = |d: &Dim| d.vars().filter_map(var_of).any(|v| self.chosen.contains(&v));
            if self.scopes.len() > 1 && dims.iter().any(|d| is_chosen(&self.plain(d))) {
                let sizes = dims.iter().map(|d| self.size(d)).collect::<R<Vec<_>>>()?;
                self.check_room(&sizes)?;
            }
        }
        if let (Index::Dim(d), Index::Dim(closed)) = (i, &closed) {
            self.check_fits(closed, || d.to_string())?;
        }
        Ok(match closed {
            Index::Dim(d) => Index::Dim(self.plain(&d).into_owned()),
            shape => shape,
        })
    }

    /// A box. What it hides is a shape of known dims or one opaque shape, never a mixture.
    fn boxed(&mut self, ty: AtomTy, witnesses: Vec<Index>, contents: Val<'a>) -> R<Val<'a>> {
        let one = Val::boxed(ty.clone(), witnesses, contents);
        let Val::Box(b) = &one else { return bug("a box that is none") };
        let mixed = |w: &Index| match w {
            Index::Shape(s) => !is_known(s) && s.items().len() != 1,
            Index::Dim(_) => false,
        };
        if !b.witnesses.iter().any(mixed) {
            return Ok(one);
        }
        let which: Vec<bool> =
            b.witnesses.iter().filter(|w| matches!(w, Index::Shape(_))).map(mixed).collect();
        // Boxes in it are as they have to be.
        self.made_opaque(&one, &ArrTy::scalar(ty), &mut which.iter())
    }

    fn map_expr(
        &mut self,
        e: &'a Expr,
        frame: &Shape,
        operands: &'a [(Local, Expr)],
        body: &'a Expr,
        env: &Env<'a>,
        cx: Cx<'a>,
    ) -> R<Val<'a>> {
        let mut values = Vec::with_capacity(operands.len());
        for (local, operand) in operands {
            // What is replicated over the rest of the frame does not depend on it.
            values.push(match &*operand.kind {
                ExprKind::Replicate { at, arg, .. } => {
                    (local, self.eval(arg, env, cx)?, Some(self.dims(&env.shape(at))?.len()))
                }
                _ => (local, self.eval(operand, env, cx)?, None),
            });
        }
        let mut frame = self.sizes(&env.shape(frame))?;
        let rank = frame.len();
        let with_cells = |this: &mut Self, at: &[Atom]| {
            let mut inner = env.clone();
            for (local, v, k) in &values {
                let cell = this.cell(v, &at[..k.unwrap_or(rank).min(rank)])?;
                inner.bind(local.var, cell);
            }
            this.eval(body, &inner, cx)
        };
        if rank == 0 {
            return with_cells(self, &[]);
        }
        if frame.contains(&Atom::int(0)) {
            return self.empty(&env.arr(&e.ty));
        }
        let mut unrolled = holds_boxes(&env.atom(&body.ty.atom));
        for (_, v, k) in &values {
            if k.is_none() && is_boxes(v) {
                unrolled = true;
                frame = self.dims_of(v)[..rank].to_vec();
            }
        }
        let ty = env.arr(&body.ty);
        if unrolled && let Some(sizes) = static_sizes(&frame) {
            let count: usize = sizes.iter().product();
            if count <= MOST_UNROLLED {
                let mut all = Vec::with_capacity(count);
                for position in 0..count {
                    all.push(with_cells(self, &unravel(position, &sizes))?);
                }
                return self.collect("a", &sizes, all, &ty);
            }
        }
        self.map("a", &frame, &ty, with_cells)
    }

    fn lift(&mut self, kind: LiftKind, indices: &[IVar], value: Atom, env: &mut Env<'a>) -> R<()> {
        let chosen: Vec<Var> = self.dim_of(value).vars().filter_map(var_of).collect();
        self.chosen.extend(chosen);
        let one = || match indices {
            [v] => Ok(v),
            _ => bug("a lift of one value to several indices"),
        };
        match kind {
            LiftKind::Natural => {
                let v = one()?;
                let d = self.dim_of(value);
                self.check_natural(&d, || v.to_string())?;
                env.bind_index(v, Index::Dim(d));
            }
            LiftKind::Integer => env.bind_index(one()?, Index::Dim(self.dim_of(value))),
            LiftKind::Dims => {
                let elems = self.elements(value, indices.len())?;
                self.chosen.extend(elems.iter().filter_map(|a| a.as_var()));
                for (v, n) in indices.iter().zip(elems) {
                    env.bind_index(v, Index::Dim(self.dim_of(n)));
                }
            }
            LiftKind::Shape => {
                let v = one()?;
                let dims = self.dims_of_atom(value);
                let Some(&[rank]) = static_sizes(&dims).as_deref() else {
                    let negative = self.negative_in(value)?;
                    let cond = self.op(ScalarOp::Ge, &[negative, Atom::int(0)])?;
                    let all = self.counted(value)?;
                    self.check(Trap::NegativeIn { rank: Len::Unknown }, cond, &[&all, &[negative]])?;
                    let size = self.product_of(value)?;
                    self.chosen.extend(size.as_var());
                    let shape = self.opaque_shape(value, size)?;
                    env.bind_index(v, Index::Shape(shape));
                    return Ok(());
                };
                let elems = self.elements(value, rank)?;
                self.chosen.extend(elems.iter().filter_map(|a| a.as_var()));
                let mut dims = Vec::with_capacity(rank);
                for n in &elems {
                    let cond = self.at_least_zero(*n)?;
                    self.check(Trap::NegativeIn { rank: rank.into() }, cond, &[&elems, &[*n]])?;
                    let d = self.dim_of(*n);
                    self.assume_natural(d.clone());
                    dims.push(d);
                }
                env.bind_index(v, Index::Shape(Shape::of_dims(dims)));
            }
        }
        Ok(())
    }

    fn fact(&mut self, fact: &Fact, why: &Arc<str>, env: &Env<'a>) -> R<()> {
        let text = |d: &Dim| Arc::from(d.to_string());
        match fact {
            Fact::NonNegative(d) => {
                let closed = env.dim(d);
                let n = self.size(&closed)?;
                let cond = self.at_least_zero(n)?;
                let cond = if self.never_negative(&closed) { TRUE } else { cond };
                self.check(Trap::TooSmall { why: why.clone(), dim: text(d) }, cond, &[&[n]])?;
                self.assume_natural(closed);
            }
            Fact::Equal(a, b) => {
                let (m, n) = (self.size(&env.dim(a))?, self.size(&env.dim(b))?);
                let cond = self.equal(m, n)?;
                let trap = Trap::Unequal { why: why.clone(), left: text(a), right: text(b) };
                self.check(trap, cond, &[&[m], &[n]])?;
            }
        }
        Ok(())
    }

    /// `from` is the closed shape that the value has, `ty` the type that it is said to have.
    fn as_shape(&mut self, v: Val<'a>, from: &Shape, ty: &ArrTy) -> R<Val<'a>> {
        if *from == ty.shape {
            return Ok(v);
        }
        if !is_known(from) || !is_known(&ty.shape) {
            return self.as_shape_at_run_time(v, from, ty);
        }
        let have = self.dims_of(&v);
        let want = self.sizes(&ty.shape)?;
        let trap = Trap::AsShape { have: have.len().into(), want: want.len().into() };
        if have.len() != want.len() {
            self.check(trap, FALSE, &[&have, &want])?;
            return self.empty(ty);
        }
        let conds = have.iter().zip(&want).map(|(m, n)| self.equal(*m, *n)).collect::<R<Vec<_>>>()?;
        let cond = self.all(&conds)?;
        if cond == TRUE {
            return Ok(v);
        }
        self.check(trap, cond, &[&have, &want])?;
        if cond == FALSE {
            return self.empty(ty);
        }
        let k = want.len();
        self.rearrange(&v, k, &want.clone(), &mut |old| View::Reshape {
            dims: want.iter().chain(&old.dims[k..]).copied().collect(),
        })
    }

    fn as_shape_at_run_time(&mut self, v: Val<'a>, from: &Shape, ty: &ArrTy) -> R<Val<'a>> {
        let (have, want) = (self.dims_vector(from)?, self.dims_vector(&ty.shape)?);
        let cond = self.same_numbers(have, want)?;
        let (have, want) = (self.shown(from)?, self.shown(&ty.shape)?);
        self.check(Trap::AsShape { have: have.0, want: want.0 }, cond, &[&have.1, &want.1])?;
        self.restored(&v, &ArrTy::new(ty.atom.clone(), from.clone()), ty)
    }

    fn run_loop(
        &mut self,
        locals: &'a [(Local, Expr)],
        cond: &'a Expr,
        body: &'a Expr,
        env: &Env<'a>,
        cx: Cx<'a>,
    ) -> R<Val<'a>> {
        let (mut before, mut types) = (Vec::with_capacity(locals.len()), Vec::with_capacity(locals.len()));
        for (local, e) in locals {
            let v = self.eval(e, env, cx)?;
            let ty = env.arr(&local.ty);
            before.push(self.stored_flat(v, &ty)?);
            types.push(ty);
        }
        let done = self.rounds(before, &types, |b, before| {
            let mut start = Vec::new();
            before.iter().try_for_each(|v| b.flatten(v, &mut start))?;
            let first = b.program.vars.len();
            let mut state = Vec::new();
            let mut inner = env.clone();
            let mut out = Vec::new();
            let mut after = Vec::with_capacity(locals.len());
            for (((local, _), v), ty) in locals.iter().zip(before).zip(&types) {
                let v2 = b.results(local.name.as_str(), v, ty, &[], &mut state)?;
                inner.bind(local.var, v2);
                after.push(b.results(local.name.as_str(), v, ty, &[], &mut out)?);
            }
            b.open();
            let go_on = b.atom(cond, &inner, cx)?;
            let cond = Body { stmts: b.close().stmts, results: vec![go_on] };
            b.open();
            let next = match b.eval(body, &inner, cx)? {
                Val::Tuple { fields, .. } if locals.len() != 1 => fields.to_vec(),
                v => vec![v],
            };
            let body = match close_round(b, before, next, &types, first)? {
                Round::Done(body) => body,
                other => return other.again(),
            };
            b.emit(out, Exp::While { state: state.into_iter().zip(start).collect(), cond, body })?;
            Ok(Round::Done(after))
        })?;
        let Some(mut after) = done else { return self.grows() };
        match after.pop() {
            Some(v) if locals.len() == 1 => Ok(v),
            last => {
                after.extend(last);
                Ok(Val::tuple(after))
            }
        }
    }
}

fn is_boxes(v: &Val) -> bool {
    match v {
        Val::Boxes { .. } => true,
        Val::Tuple { fields, .. } | Val::Fns { fields, .. } => fields.iter().any(is_boxes),
        _ => false,
    }
}

/// The indices of a position in row-major order.
fn unravel(position: usize, sizes: &[usize]) -> Vec<Atom> {
    let mut rest = position;
    let mut at: Vec<Atom> = sizes
        .iter()
        .rev()
        .map(|n| {
            let i = rest % n;
            rest /= n;
            Atom::int(i as i64)
        })
        .collect();
    at.reverse();
    at
}

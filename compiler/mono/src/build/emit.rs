//! Statements, and the smart constructors that make them: constants are folded, equal scalars shared.

use crate::build::env::{dims_var_of, ivar, var_of};
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::{self, ScalarOp};
use remc_base::*;
use rustc_hash::FxHashMap;

/// The largest polynomial that is remembered for a variable.
const MOST_TERMS: usize = 8;

/// The statements of a body that is being made, and what is known in it.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub stmts: Vec<Stmt>,
    /// Scalars that are there already.
    known: FxHashMap<Key, Atom>,
    /// Sizes that are there already.
    sizes: FxHashMap<Dim, Atom>,
    /// Dims that are at least 0 here.
    facts: Vec<Dim>,
    pub globals: FxHashMap<GlobalId, super::val::Val<'a>>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Op(ScalarOp, Vec<AtomKey>),
    Cast(BaseTy, AtomKey),
    Index(Var, Vec<AtomKey>),
}

#[derive(PartialEq, Eq, Hash)]
enum AtomKey {
    Var(Var),
    Const(BaseTy, i64),
}

fn key(a: &Atom) -> AtomKey {
    match a {
        Atom::Var(v) => AtomKey::Var(*v),
        Atom::Const(c) => AtomKey::Const(c.ty(), c.to_bits64()),
    }
}

pub(crate) const TRUE: Atom = Atom::Const(Scalar::Bool(true));
pub(crate) const FALSE: Atom = Atom::Const(Scalar::Bool(false));

impl<'a> Build<'a> {
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub fn reopen(&mut self, scope: Scope<'a>) {
        self.scopes.push(scope);
    }

    pub fn close(&mut self) -> Scope<'a> {
        self.scopes.pop().unwrap_or_default()
    }

    pub fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub fn emit(&mut self, pat: Vec<Var>, exp: Exp) -> R<()> {
        self.grow(1)?;
        let prov = self.at;
        self.scope().stmts.push(Stmt { pat, exp, prov });
        Ok(())
    }

    pub fn fresh(&mut self, name: &str, ty: Ty) -> Var {
        self.program.fresh(name, ty)
    }

    /// A new int that is never negative.
    pub fn fresh_size(&mut self, name: &str) -> Var {
        let v = self.fresh(name, Ty::int());
        self.natural.insert(v);
        v
    }

    /// One result of an expression.
    pub fn bind(&mut self, name: &str, ty: Ty, exp: Exp) -> R<Atom> {
        let v = self.fresh(name, ty);
        self.emit(vec![v], exp)?;
        Ok(Atom::Var(v))
    }

    fn shared(&self, key: &Key) -> Option<Atom> {
        self.scopes.iter().rev().find_map(|s| s.known.get(key).copied())
    }

    pub fn base_of(&self, a: Atom) -> BaseTy {
        match a {
            Atom::Var(v) => self.program.ty(v).base,
            Atom::Const(c) => c.ty(),
        }
    }

    pub fn dims_of_atom(&self, a: Atom) -> Vec<Atom> {
        match a {
            Atom::Var(v) => self.program.ty(v).dims.clone(),
            Atom::Const(_) => Vec::new(),
        }
    }

    /// A scalar operator where it has a value.
    pub fn op(&mut self, op: ScalarOp, args: &[Atom]) -> R<Atom> {
        let consts: Option<Vec<Scalar>> =
            args.iter().map(|a| if let Atom::Const(c) = a { Some(*c) } else { None }).collect();
        let tys: Vec<BaseTy> = args.iter().map(|a| self.base_of(*a)).collect();
        let Some(ty) = op.result_ty(&tys) else {
            return bug(format!("the operator {op} on operands of types {tys:?}"));
        };
        if let Some(consts) = consts {
            // A check before this one has failed where there is no value.
            return Ok(Atom::Const(ops::apply(op, &consts).unwrap_or(ops::zero(ty))));
        }
        if let Some(a) = identity(op, args) {
            return Ok(a);
        }
        let k = Key::Op(op, args.iter().map(key).collect());
        if let Some(a) = self.shared(&k) {
            return Ok(a);
        }
        let result = self.fresh("t", Ty::scalar(ty));
        self.emit(vec![result], Exp::Op(op, args.to_vec()))?;
        self.scope().known.insert(k, Atom::Var(result));
        if ty == BaseTy::I64
            && let Some(d) = self.polynomial(op, args)
        {
            self.polys.insert(result, d.clone());
            self.scope().sizes.insert(d, Atom::Var(result));
        }
        Ok(Atom::Var(result))
    }

    fn polynomial(&self, op: ScalarOp, args: &[Atom]) -> Option<Dim> {
        let [a, b] = args else { return None };
        let (a, b) = (self.dim_of(*a), self.dim_of(*b));
        let d = match op {
            ScalarOp::Add => a.add(&b),
            ScalarOp::Sub => a.sub(&b),
            ScalarOp::Mul => a.mul(&b),
            _ => return None,
        };
        (d.is_small() && d.terms().len() <= MOST_TERMS && d.terms().iter().all(|(m, _)| m.len() <= 4))
            .then_some(d)
    }

    pub fn cast(&mut self, to: BaseTy, a: Atom) -> R<Atom> {
        if self.base_of(a) == to {
            return Ok(a);
        }
        if let Atom::Const(c) = a {
            return Ok(Atom::Const(ops::cast(c, to).unwrap_or(ops::zero(to))));
        }
        let k = Key::Cast(to, key(&a));
        if let Some(a) = self.shared(&k) {
            return Ok(a);
        }
        let result = self.bind("t", Ty::scalar(to), Exp::Cast(to, a))?;
        self.scope().known.insert(k, result);
        Ok(result)
    }

    /// An element or cell of an array, in bounds.
    pub fn index(&mut self, array: Atom, at: &[Atom]) -> R<Atom> {
        if at.is_empty() {
            return Ok(array);
        }
        let Atom::Var(v) = array else { return bug("an index into a scalar") };
        let ty = self.program.ty(v).clone();
        if ty.rank() < at.len() {
            return bug("an index of more axes than there are");
        }
        if let Some(elems) = self.literals.get(&v)
            && at.len() == ty.rank()
        {
            let position = at.iter().zip(&ty.dims).try_fold(0i64, |p, (i, n)| {
                let (i, n) = (i.as_int()?, n.as_int()?);
                if i < 0 || i >= n { None } else { p.checked_mul(n)?.checked_add(i) }
            });
            if let Some(a) = position.and_then(|p| elems.get(usize::try_from(p).ok()?)) {
                return Ok(*a);
            }
        }
        let k = Key::Index(v, at.iter().map(key).collect());
        if let Some(a) = self.shared(&k) {
            return Ok(a);
        }
        let name = self.program.vars[v].name.clone();
        let result = self.bind(name.as_str(), ty.cell(at.len()), Exp::Index { array: v, at: at.to_vec() })?;
        self.scope().known.insert(k, result);
        Ok(result)
    }

    /// A literal array of constant dims.
    pub fn literal(&mut self, name: &str, base: BaseTy, dims: Vec<Atom>, elems: Vec<Atom>) -> R<Atom> {
        let v = self.fresh(name, Ty { base, dims: dims.clone() });
        self.literals.insert(v, elems.clone().into());
        self.emit(vec![v], Exp::Literal { dims, elems })?;
        Ok(Atom::Var(v))
    }

    /// The elements of a vector of a static length.
    pub fn elements(&mut self, array: Atom, n: usize) -> R<Vec<Atom>> {
        (0..n).map(|i| self.index(array, &[Atom::int(i as i64)])).collect()
    }

    /// Whether there is a stream, and this is no iteration that could run beside others.
    pub fn has_streams(&self) -> bool {
        let is_made = |c: &Channel| c.is_endless();
        let is_read = |i: &Input| matches!(i, Input::Stream { .. });
        self.is_outermost()
            && (self.program.inputs.iter().any(is_read) || self.program.channels.iter().any(is_made))
    }

    /// Whether this is no iteration that could run beside others.
    pub fn is_outermost(&self) -> bool {
        self.scopes.len() == 1
    }

    /// Another name of a size, for a streamed axis whose items the program makes: so many items of a channel that has any
    /// number.
    pub fn streamed_size(&mut self, n: Atom) -> R<Atom> {
        let name: Name = match n {
            Atom::Var(v) => self.program.vars[v].name.clone(),
            Atom::Const(_) => "items".into(),
        };
        let channel = self.program.channels.len();
        self.program.channels.push(Channel { name, arrays: Vec::new(), input: None, output: None });
        let size = self.program.fresh("items", Ty::int());
        self.emit(vec![size], Exp::Pull { channel, at: Atom::int(0), take: Take::Exactly(n) })?;
        Ok(size.into())
    }

    /// An array, pushed to a channel and pulled as a whole.
    pub fn all_of(&mut self, array: Var) -> R<Atom> {
        let info = self.program.vars[array].clone();
        let Some((_, item)) = info.ty.dims.split_first() else { return bug("a stream that is a scalar") };
        let (channel, item) = (self.program.channels.len(), item.to_vec());
        let arrays = vec![ChannelArray::items(info.ty.base, item.len())];
        self.program.channels.push(Channel { name: info.name.clone(), arrays, input: None, output: None });
        self.emit(Vec::new(), Exp::Push { channel, arrays: vec![array] })?;
        let count = self.program.fresh("count", Ty::int());
        let dims = std::iter::once(Atom::Var(count)).chain(item).collect();
        let all = self.program.fresh(info.name.as_str(), Ty { base: info.ty.base, dims });
        let pull = Exp::Pull { channel, at: Atom::int(0), take: Take::All };
        self.emit(vec![count, all], pull)?;
        self.view(View::Reshape { dims: info.ty.dims.clone() }, all.into(), info.ty)
    }

    pub fn view(&mut self, view: View, array: Atom, ty: Ty) -> R<Atom> {
        let Atom::Var(array) = array else { return bug("a view of a scalar") };
        let name = self.program.vars[array].name.clone();
        self.bind(name.as_str(), ty, Exp::View { view, array })
    }

    /// An array of base type, element by element.
    pub fn tabulate(
        &mut self,
        name: &str,
        base: BaseTy,
        dims: &[Atom],
        cell: Vec<Atom>,
        f: impl FnOnce(&mut Self, &[Atom]) -> R<Atom>,
    ) -> R<Atom> {
        if dims.is_empty() {
            return f(self, &[]);
        }
        let axes = self.open_axes(dims);
        let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let result = f(self, &at)?;
        let body = Body { stmts: self.close().stmts, results: vec![result] };
        let ty = Ty { base, dims: dims.iter().copied().chain(cell).collect() };
        self.bind(name, ty, Exp::Map { axes, body })
    }

    /// Opens the body of an iteration over axes.
    pub fn open_axes(&mut self, dims: &[Atom]) -> Vec<Axis> {
        let limits: Vec<Dim> = dims.iter().map(|d| self.dim_of(*d)).collect();
        self.open();
        dims.iter()
            .zip(limits)
            .map(|(size, n)| {
                let var = self.fresh_size("i");
                let below = n.sub(&Dim::rigid(ivar(var))).sub(&Dim::constant(1));
                self.scope().facts.push(below);
                Axis { var, size: *size }
            })
            .collect()
    }

    // ---- sizes ----------------------------------------------------------------------------------------

    /// What an int stands for, as a polynomial.
    pub fn dim_of(&self, a: Atom) -> Dim {
        match a {
            Atom::Const(c) => Dim::constant(c.as_integer().unwrap_or(0)),
            Atom::Var(v) => self.polys.get(&v).cloned().unwrap_or_else(|| Dim::rigid(ivar(v))),
        }
    }

    /// A closed dim as an atom.
    pub fn size(&mut self, d: &Dim) -> R<Atom> {
        let d = &*self.plain(d);
        if let Some(c) = d.as_constant() {
            if let Ok(c) = i64::try_from(c) {
                return Ok(Atom::int(c));
            }
            // No array is so large: whatever comes of it, the program stops here.
            let trap = Trap::Overflow { dim: c.to_string().into() };
            self.check(trap, Atom::Const(Scalar::Bool(false)), &[])?;
            return Ok(Atom::int(0));
        }
        if let Some(v) = d.as_var().and_then(var_of) {
            return Ok(Atom::Var(v));
        }
        if let Some(a) = self.scopes.iter().rev().find_map(|s| s.sizes.get(d).copied()) {
            return Ok(a);
        }
        let mut terms: Vec<_> = d.terms().iter().collect();
        // What is added first, what is subtracted last.
        terms.sort_by_key(|(m, c)| (*c < 0, m.is_empty()));
        let mut sum: Option<Atom> = None;
        for (m, c) in terms {
            let magnitude = c.unsigned_abs() as i64;
            let mut product: Option<Atom> = (magnitude != 1 || m.is_empty()).then(|| Atom::int(magnitude));
            for v in m {
                let Some(v) = var_of(v) else { return bug(format!("the size {d} is not known")) };
                product = Some(match product {
                    Some(p) => self.op(ScalarOp::Mul, &[p, Atom::Var(v)])?,
                    None => Atom::Var(v),
                });
            }
            let product = product.unwrap_or(Atom::int(1));
            sum = Some(match sum {
                None if *c < 0 => self.op(ScalarOp::Negate, &[product])?,
                None => product,
                Some(s) => self.op(if *c < 0 { ScalarOp::Sub } else { ScalarOp::Add }, &[s, product])?,
            });
        }
        let a = sum.unwrap_or(Atom::int(0));
        self.scope().sizes.insert(d.clone(), a);
        Ok(a)
    }

    /// From here on the size `d` is the variable, which is known to equal it.
    pub fn is_size(&mut self, d: &Dim, v: Var) {
        let d = &*self.plain(d);
        self.polys.insert(v, d.clone());
        self.scope().sizes.insert(d.clone(), Atom::Var(v));
    }

    /// The dims of an array of a closed shape as it is stored: an opaque shape is one axis.
    pub fn dims(&self, s: &Shape) -> R<Vec<Dim>> {
        let dim = |item: &ShapeItem| match item {
            ShapeItem::Dim(d) => Ok(self.plain(d).into_owned()),
            ShapeItem::Var(v) => match dims_var_of(v).and_then(|v| self.opaque.get(&v)) {
                Some(n) => Ok(self.dim_of(*n)),
                None => bug(format!("the shape {s} is not known")),
            },
        };
        s.items().iter().map(dim).collect()
    }

    pub fn sizes(&mut self, s: &Shape) -> R<Vec<Atom>> {
        self.dims(s)?.iter().map(|d| self.size(d)).collect()
    }

    /// The dims of a type: they are never negative where there is an array of the type.
    pub fn sizes_of_type(&mut self, s: &Shape) -> R<Vec<Atom>> {
        self.dims(s)?.iter().map(|d| self.size_of_type(d)).collect()
    }

    /// A size, 0 where it would be negative.
    pub fn size_of_type(&mut self, d: &Dim) -> R<Atom> {
        let n = self.size(d)?;
        if self.never_negative(d) { Ok(n) } else { self.op(ScalarOp::Max2, &[Atom::int(0), n]) }
    }

    /// Whether a closed dim is surely at least 0 here.
    pub fn never_negative(&self, d: &Dim) -> bool {
        let d = &*self.plain(d);
        let plain = |d: &Dim| {
            d.terms().iter().all(|(m, c)| {
                *c >= 0 && m.iter().all(|v| var_of(v).is_some_and(|v| self.natural.contains(&v)))
            })
        };
        plain(d) || self.scopes.iter().flat_map(|s| &s.facts).any(|f| plain(&d.sub(f)))
    }

    pub fn assume_natural(&mut self, d: Dim) {
        let d = self.plain(&d).into_owned();
        if d.as_constant().is_none() {
            self.scope().facts.push(d);
        }
    }

    // ---- checks ---------------------------------------------------------------------------------------

    pub fn at_least_zero(&mut self, n: Atom) -> R<Atom> {
        if self.never_negative(&self.dim_of(n)) {
            return Ok(TRUE);
        }
        self.op(ScalarOp::Ge, &[n, Atom::int(0)])
    }

    /// Whether `a < b`.
    pub fn less(&mut self, a: Atom, b: Atom) -> R<Atom> {
        let between = self.dim_of(b).sub(&self.dim_of(a)).sub(&Dim::constant(1));
        if self.never_negative(&between) {
            return Ok(TRUE);
        }
        self.op(ScalarOp::Lt, &[a, b])
    }

    pub fn equal(&mut self, a: Atom, b: Atom) -> R<Atom> {
        if self.dim_of(a) == self.dim_of(b) {
            return Ok(TRUE);
        }
        self.op(ScalarOp::Eq, &[a, b])
    }

    pub fn in_range(&mut self, i: Atom, n: Atom) -> R<Atom> {
        let low = self.at_least_zero(i)?;
        let high = self.less(i, n)?;
        self.op(ScalarOp::And, &[low, high])
    }

    pub fn all(&mut self, conds: &[Atom]) -> R<Atom> {
        conds.iter().try_fold(TRUE, |a, b| self.op(ScalarOp::And, &[a, *b]))
    }

    /// Stops the program unless `cond` holds. `operands` are the whole operands of the trap.
    pub fn check(&mut self, trap: Trap, cond: Atom, operands: &[&[Atom]]) -> R<()> {
        if cond == TRUE {
            return Ok(());
        }
        let mut values = Vec::with_capacity(trap.values());
        for (i, n) in trap.recorded().into_iter().enumerate() {
            let operand = operands.get(i).copied().unwrap_or_default();
            values.extend((0..n).map(|k| operand.get(k).copied().unwrap_or(Atom::int(0))));
        }
        self.emit(Vec::new(), Exp::Check { trap, cond, values })
    }

    /// Checks that a closed dim is at least 0; `what` is it in the program's words.
    pub fn check_natural(&mut self, d: &Dim, what: impl FnOnce() -> String) -> R<()> {
        if self.never_negative(d) {
            return Ok(());
        }
        let n = self.size(d)?;
        let cond = self.op(ScalarOp::Ge, &[n, Atom::int(0)])?;
        self.check(Trap::Negative { what: what().into() }, cond, &[&[n]])?;
        self.assume_natural(d.clone());
        Ok(())
    }

    /// Checks that an array of this shape, one of several whose sizes are added up, is not too large for all memory. No
    /// axis is longer either, where another one has no places.
    pub fn check_room(&mut self, dims: &[Atom]) -> R<()> {
        let cond = match dims {
            [] => return Ok(()),
            [n] => self.op(ScalarOp::Le, &[*n, Atom::int(LONGEST)])?,
            _ => {
                let mut product = Atom::Const(Scalar::F64(1.0));
                for n in dims {
                    let factor = self.op(ScalarOp::Max2, &[*n, Atom::int(1)])?;
                    let factor = self.cast(BaseTy::F64, factor)?;
                    product = self.op(ScalarOp::Mul, &[product, factor])?;
                }
                self.op(ScalarOp::Le, &[product, Atom::Const(Scalar::F64(LONGEST as f64))])?
            }
        };
        self.check(Trap::of_row(dims.len()), cond, &[dims])
    }

    /// Checks that a size which the program computes fits into 64 bits.
    ///
    /// Sizes are numbers modulo 2^64 until then. A size of items that are there is small; one that the program chose, or of
    /// an axis beside others, of which one may have no places, may be anything. A sum of two is compared with what is left
    /// below the largest size; any other polynomial with the same one in floats, which is exact to some thousands:
    /// what is not the same is off by 2^64.
    pub fn check_fits(&mut self, d: &Dim, what: impl FnOnce() -> String) -> R<()> {
        let d = self.plain(d).into_owned();
        self.check_fits_or(&d, || Trap::Overflow { dim: what().into() }, &[])
    }

    /// The same, with another reason to stop.
    pub fn check_fits_or(&mut self, d: &Dim, trap: impl FnOnce() -> Trap, operands: &[&[Atom]]) -> R<()> {
        let d = &*self.plain(d);
        let vast = |v: Var| self.chosen.contains(&v) || self.vast.contains(&v);
        if d.as_constant().is_some() || !d.vars().filter_map(var_of).any(vast) {
            return Ok(());
        }
        let plus = |(_, c): &&(dim::Monomial, i128)| *c > 0;
        let one = |t: &&(dim::Monomial, i128)| t.0.is_empty() || (t.0.len() == 1 && t.1.abs() == 1);
        let terms = d.terms();
        let (more, less): (Vec<_>, Vec<_>) = terms.iter().partition(plus);
        let var = |m: &dim::Monomial| m.first().and_then(var_of);
        let natural = |t: &(dim::Monomial, i128)| {
            t.0.is_empty() || var(&t.0).is_some_and(|v| self.never_negative(&Dim::rigid(ivar(v))))
        };
        let all_one = terms.iter().all(|t| one(&t));
        // One variable alone; a difference of what is not negative.
        if all_one && (terms.len() == 1 || (terms.iter().all(natural) && more.len() <= 1 && less.len() <= 1))
        {
            return Ok(());
        }
        let cond = match (terms, &more[..], &less[..]) {
            ([x, y], [_, _], []) if all_one && [x, y].into_iter().all(natural) => {
                let part = |t: &(dim::Monomial, i128)| match var(&t.0) {
                    Some(v) => Some(Atom::Var(v)),
                    None => i64::try_from(t.1).ok().map(Atom::int),
                };
                let (Some(x), Some(y)) = (part(x), part(y)) else { return bug(format!("the size {d}")) };
                // What is known is subtracted when the program is compiled.
                let (x, y) = if x.as_int().is_some() { (y, x) } else { (x, y) };
                let left = self.op(ScalarOp::Sub, &[Atom::int(i64::MAX), y])?;
                self.op(ScalarOp::Le, &[x, left])?
            }
            _ => {
                let size = self.size(d)?;
                let mut sum = Atom::Const(Scalar::F64(0.0));
                for (m, c) in terms {
                    let mut product = Atom::Const(Scalar::F64(*c as f64));
                    for v in m.iter().filter_map(var_of) {
                        let factor = self.cast(BaseTy::F64, Atom::Var(v))?;
                        product = self.op(ScalarOp::Mul, &[product, factor])?;
                    }
                    sum = self.op(ScalarOp::Add, &[sum, product])?;
                }
                let size = self.cast(BaseTy::F64, size)?;
                let off = self.op(ScalarOp::Sub, &[sum, size])?;
                let off = self.op(ScalarOp::Abs, &[off])?;
                self.op(ScalarOp::Lt, &[off, Atom::Const(Scalar::F64((1u64 << 60) as f64))])?
            }
        };
        self.check(trap(), cond, operands)
    }
}

/// What an operator gives without computing it.
fn identity(op: ScalarOp, args: &[Atom]) -> Option<Atom> {
    let int = |a: Atom, n: i128| matches!(a, Atom::Const(c) if c.as_integer() == Some(n));
    let [a, b] = *args else {
        return match (op, args) {
            (ScalarOp::Select, [TRUE, yes, _]) => Some(*yes),
            (ScalarOp::Select, [FALSE, _, no]) => Some(*no),
            _ => None,
        };
    };
    match op {
        ScalarOp::Add if int(a, 0) => Some(b),
        ScalarOp::Add | ScalarOp::Sub if int(b, 0) => Some(a),
        ScalarOp::Mul if int(a, 1) => Some(b),
        ScalarOp::Mul if int(b, 1) => Some(a),
        ScalarOp::Mul if int(a, 0) => Some(a),
        ScalarOp::Mul if int(b, 0) => Some(b),
        ScalarOp::And if a == TRUE => Some(b),
        ScalarOp::And if b == TRUE || a == b => Some(a),
        ScalarOp::And if a == FALSE || b == FALSE => Some(FALSE),
        ScalarOp::Or if a == FALSE => Some(b),
        ScalarOp::Or if b == FALSE || a == b => Some(a),
        ScalarOp::Or if a == TRUE || b == TRUE => Some(TRUE),
        _ => None,
    }
}

//! Statements under construction: of the plan and of one kernel.

use super::{L, Place, Row, wrong};
use crate::ir::*;
use crate::schedule::{Field, Schedule};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Name, Prov, Scalar, Trap};
use rustc_hash::FxHashMap;

/// Blocks of statements that are open, the innermost last.
#[derive(Default)]
pub(crate) struct Blocks {
    open: Vec<Vec<Stmt>>,
}

impl Blocks {
    pub fn open(&mut self) {
        self.open.push(Vec::new());
    }

    pub fn close(&mut self) -> Vec<Stmt> {
        self.open.pop().unwrap_or_default()
    }

    pub fn push(&mut self, s: Stmt) {
        match self.open.last_mut() {
            Some(b) => b.push(s),
            None => self.open.push(vec![s]),
        }
    }
}

/// A kernel under construction. Variables of the plan that it mentions become its parameters.
pub(crate) struct KernelBuilder {
    pub name: Name,
    pub grid: Vec<(Var, Atom)>,
    pub worker: Var,
    pub threads: Option<(Var, u32)>,
    pub provs: Vec<Prov>,
    /// Vectors of which each point writes a row, and where the rows begin.
    pub rows: Vec<(Var, Var)>,
    /// Vectors of numbers of which no two are alike.
    pub distinct: Vec<Var>,
    /// Shared memory that all of its body has.
    pub shared: Vec<Var>,
    pub site: Name,
    pub schedule: Schedule,
    /// The plan's variables in the order of the parameters that stand for them.
    imported: Vec<(Var, Var)>,
    known: FxHashMap<Var, Var>,
}

impl KernelBuilder {
    pub fn new(p: &mut Program, name: &str, prov: Prov, (site, schedule): (Name, Schedule)) -> KernelBuilder {
        let worker = p.scalar("worker", BaseTy::I64);
        KernelBuilder {
            name: Name::new(name),
            grid: Vec::new(),
            worker,
            threads: None,
            provs: vec![prov],
            rows: Vec::new(),
            distinct: Vec::new(),
            shared: Vec::new(),
            site,
            schedule,
            imported: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// The kernel's own name for a variable of the plan.
    pub fn import(&mut self, p: &mut Program, outer: Var) -> Var {
        if let Some(v) = self.known.get(&outer) {
            return *v;
        }
        let mut info = p.vars[outer].clone();
        if let Ty::Buffer(b) = &mut info.ty {
            for d in &mut b.dims {
                *d = self.import_atom(p, *d);
            }
        }
        let inner = p.vars.push(info);
        self.imported.push((outer, inner));
        self.known.insert(outer, inner);
        inner
    }

    pub fn import_atom(&mut self, p: &mut Program, a: Atom) -> Atom {
        match a {
            Atom::Const(_) => a,
            Atom::Var(v) => Atom::Var(self.import(p, v)),
        }
    }

    pub fn import_place(&mut self, p: &mut Program, place: &Place) -> Place {
        Place {
            buffer: self.import(p, place.buffer),
            prefix: place.prefix.iter().map(|a| self.import_atom(p, *a)).collect(),
            lane: place.lane.map(|a| self.import_atom(p, a)),
            row: place.row.as_ref().map(|r| Row {
                start: self.import_atom(p, r.start),
                inner: r.inner.iter().map(|a| self.import_atom(p, *a)).collect(),
            }),
            from: place.from.map(|(k, a)| (k, self.import_atom(p, a))),
            order: place.order.clone(),
        }
    }

    /// The kernel, and the arguments of its launch. Scalars come before buffers.
    pub fn finish(mut self, p: &mut Program, body: Vec<Stmt>) -> (KernelId, Vec<Atom>) {
        self.imported.sort_by_key(|(outer, _)| p.buffer_ty(*outer).is_some());
        let kernel = Kernel {
            name: self.name,
            site: self.site,
            schedule: self.schedule,
            grid: self.grid,
            worker: self.worker,
            threads: self.threads,
            rows: self.rows,
            distinct: self.distinct,
            params: self.imported.iter().map(|(_, inner)| *inner).collect(),
            body,
            provs: self.provs,
        };
        let args = self.imported.iter().map(|(outer, _)| Atom::Var(*outer)).collect();
        (p.kernels.push(kernel), args)
    }
}

/// What emits statements: the plan and the leaf of a kernel share it.
pub(crate) trait Emit {
    fn program(&mut self) -> &mut Program;
    fn blocks(&mut self) -> &mut Blocks;
    fn prov(&self) -> Prov;
    /// A number of the schedule of the operator that is lowered.
    fn number(&self, field: Field) -> i64;

    /// … as a size.
    fn size(&self, field: Field) -> Atom {
        Atom::int(self.number(field))
    }

    /// How many operations make a block.
    fn grain(&self) -> i64;

    fn emit(&mut self, kind: StmtKind) {
        let prov = self.prov();
        self.blocks().push(Stmt { kind, prov });
    }

    fn bind(&mut self, name: &str, base: BaseTy, exp: Exp) -> Atom {
        let var = self.program().scalar(name, base);
        self.emit(StmtKind::Let { var, exp });
        Atom::Var(var)
    }

    /// An operator of scalars, folded where it is of constants, and where it changes nothing. What forgets an operand
    /// is left: lanes combine an accumulator by an operator of it.
    fn op(&mut self, op: ScalarOp, args: &[Atom]) -> L<Atom> {
        if let Some(consts) = args.iter().map(|a| a.constant()).collect::<Option<Vec<Scalar>>>()
            && let Ok(value) = remc_base::ops::apply(op, &consts)
        {
            return Ok(Atom::Const(value));
        }
        match (op, args) {
            (ScalarOp::Add, [a, b]) if b.as_int() == Some(0) => return Ok(*a),
            (ScalarOp::Add, [a, b]) if a.as_int() == Some(0) => return Ok(*b),
            (ScalarOp::Sub, [a, b]) if b.as_int() == Some(0) => return Ok(*a),
            (ScalarOp::Mul, [a, b]) if b.as_int() == Some(1) => return Ok(*a),
            (ScalarOp::Mul, [a, b]) if a.as_int() == Some(1) => return Ok(*b),
            (ScalarOp::Quotient, [a, b]) if b.as_int() == Some(1) => return Ok(*a),
            (ScalarOp::And, [a, Atom::Const(Scalar::Bool(true))]) => return Ok(*a),
            (ScalarOp::And, [Atom::Const(Scalar::Bool(true)), a]) => return Ok(*a),
            _ => {}
        }
        let tys = args.iter().map(|a| self.program().scalar_ty(*a)).collect::<Option<Vec<_>>>();
        let Some(ty) = tys.and_then(|t| op.result_ty(&t)) else {
            return wrong(format!("operands of `{op}`"));
        };
        Ok(self.bind("t", ty, Exp::Op(op, args.to_vec())))
    }

    fn int(&mut self, op: ScalarOp, a: Atom, b: Atom) -> L<Atom> {
        self.op(op, &[a, b])
    }

    /// How many tiles of `size` cover `n`; `size` is at least 1.
    fn tiles(&mut self, n: Atom, size: Atom) -> L<Atom> {
        let less = self.int(ScalarOp::Sub, size, Atom::int(1))?;
        let up = self.int(ScalarOp::Add, n, less)?;
        self.int(ScalarOp::Quotient, up, size)
    }

    fn product(&mut self, factors: &[Atom]) -> L<Atom> {
        let mut all = Atom::int(1);
        for f in factors {
            all = self.int(ScalarOp::Mul, all, *f)?;
        }
        Ok(all)
    }

    fn load(&mut self, place: &Place, at: &[Atom]) -> L<Atom> {
        let Some(ty) = self.program().buffer_ty(place.buffer) else { return wrong("a load of a scalar") };
        let base = ty.base;
        let at = self.position(place, at)?;
        Ok(self.bind("x", base, Exp::Load { buffer: place.buffer, at }))
    }

    fn store(&mut self, place: &Place, at: &[Atom], value: Atom) {
        // Items without elements have no places.
        if place.row.as_ref().is_some_and(|r| r.inner.iter().any(|n| n.as_int() == Some(0))) {
            return;
        }
        // Sums and products of ints are operators of the table.
        if let Ok(at) = self.position(place, at) {
            self.emit(StmtKind::Store { buffer: place.buffer, at, value });
        }
    }

    /// The indices of an element of a place in its buffer.
    fn position(&mut self, place: &Place, at: &[Atom]) -> L<Vec<Atom>> {
        let Some(row) = &place.row else {
            let mut all = place.indices(at);
            if let Some((k, from)) = place.from
                && let Some(index) = all.get_mut(k)
            {
                *index = self.int(ScalarOp::Add, *index, from)?;
            }
            return Ok(place.ordered(all));
        };
        let mut inner = row.inner.iter();
        let mut sum = Atom::int(0);
        let mut one = false;
        for i in place.prefix.iter().chain(at) {
            // Along an axis of one element there is but that: nothing to be added to a place that others own.
            if !one {
                sum = self.int(ScalarOp::Add, sum, *i)?;
            }
            if let Some(n) = inner.next() {
                sum = self.int(ScalarOp::Mul, sum, *n)?;
                one = n.as_int() == Some(1);
            }
        }
        Ok(vec![self.int(ScalarOp::Add, row.start, sum)?])
    }

    fn check(&mut self, trap: &Trap, cond: Atom, values: &[Atom]) {
        self.emit(StmtKind::Check { trap: trap.clone(), cond, values: values.to_vec() });
    }

    /// A loop without carried values over `0 … n`; `body` emits its statements.
    fn each(
        &mut self,
        how: How,
        name: &str,
        range: Range,
        body: impl FnOnce(&mut Self, Atom) -> L<()>,
    ) -> L<()>
    where
        Self: Sized,
    {
        let var = self.program().scalar(name, BaseTy::I64);
        self.blocks().open();
        body(self, Atom::Var(var))?;
        let body = self.blocks().close();
        self.emit(StmtKind::For { how, var, range, carried: Vec::new(), body, next: Vec::new() });
        Ok(())
    }

    /// Loops over the positions of an array.
    fn each_of(&mut self, dims: &[Atom], body: &mut dyn FnMut(&mut Self, &[Atom]) -> L<()>) -> L<()>
    where
        Self: Sized,
    {
        self.nest(dims, How::Seq, &mut Vec::new(), body)
    }

    /// As [`Emit::each_of`], where the loop over the last axis runs in another way than one by one.
    fn each_of_last(
        &mut self,
        dims: &[Atom],
        last: How,
        body: &mut dyn FnMut(&mut Self, &[Atom]) -> L<()>,
    ) -> L<()>
    where
        Self: Sized,
    {
        self.nest(dims, last, &mut Vec::new(), body)
    }

    fn nest(
        &mut self,
        dims: &[Atom],
        last: How,
        at: &mut Vec<Atom>,
        body: &mut dyn FnMut(&mut Self, &[Atom]) -> L<()>,
    ) -> L<()>
    where
        Self: Sized,
    {
        match dims {
            [] => body(self, at),
            [n, rest @ ..] => {
                let how = if rest.is_empty() { last } else { How::Seq };
                self.each(how, "i", upto(*n), |e, i| {
                    at.push(i);
                    let done = e.nest(rest, last, at, body);
                    at.pop();
                    done
                })
            }
        }
    }

    /// A loop with carried scalars; `body` gives their next values. The results.
    fn carry(
        &mut self,
        how: How,
        range: Range,
        init: &[(Atom, Option<ScalarOp>)],
        body: impl FnOnce(&mut Self, Atom, &[Atom]) -> L<Vec<Atom>>,
    ) -> L<Vec<Atom>>
    where
        Self: Sized,
    {
        let var = self.program().scalar("i", BaseTy::I64);
        let mut carried = self.carried(init)?;
        let params: Vec<Atom> = carried.iter().map(|c| Atom::Var(c.param)).collect();
        let results = carried.iter().map(|c| Atom::Var(c.result)).collect();
        self.blocks().open();
        let next = body(self, Atom::Var(var), &params)?;
        let body = self.blocks().close();
        // An operator that was folded away, as the sum of zeros is, leaves nothing to scan by.
        let scans = !matches!(how, How::Scan(_)) || crate::scan::phases(&carried, &body, &next).is_ok();
        let how = if scans { how } else { How::Seq };
        if !scans {
            carried.iter_mut().for_each(|c| c.combine = None);
        }
        self.emit(StmtKind::For { how, var, range, carried, body, next });
        Ok(results)
    }

    /// A loop with carried scalars that goes on as long as `test` says; their last values.
    fn repeat(
        &mut self,
        init: &[Atom],
        test: impl FnOnce(&mut Self, &[Atom]) -> L<Atom>,
        body: impl FnOnce(&mut Self, &[Atom]) -> L<Vec<Atom>>,
    ) -> L<Vec<Atom>>
    where
        Self: Sized,
    {
        let init: Vec<_> = init.iter().map(|a| (*a, None)).collect();
        let carried = self.carried(&init)?;
        let state: Vec<Atom> = carried.iter().map(|c| Atom::Var(c.param)).collect();
        let results = carried.iter().map(|c| Atom::Var(c.result)).collect();
        self.blocks().open();
        let test = test(self, &state)?;
        let cond = self.blocks().close();
        self.blocks().open();
        let next = body(self, &state)?;
        let body = self.blocks().close();
        self.emit(StmtKind::While { carried, cond, test, body, next });
        Ok(results)
    }

    fn carried(&mut self, init: &[(Atom, Option<ScalarOp>)]) -> L<Vec<Carried>> {
        init.iter()
            .map(|(a, combine)| {
                let p = self.program();
                let Some(ty) = p.scalar_ty(*a) else { return wrong("a carried array") };
                let (param, result) = (p.scalar("acc", ty), p.scalar("acc", ty));
                Ok(Carried { param, result, init: *a, combine: *combine })
            })
            .collect()
    }

    /// An `if` that gives scalars.
    fn choose(
        &mut self,
        cond: Atom,
        then: impl FnOnce(&mut Self) -> L<Vec<Atom>>,
        otherwise: impl FnOnce(&mut Self) -> L<Vec<Atom>>,
    ) -> L<Vec<Atom>>
    where
        Self: Sized,
    {
        self.blocks().open();
        let yes = then(self)?;
        let then = self.blocks().close();
        self.blocks().open();
        let no = otherwise(self)?;
        let otherwise = self.blocks().close();
        let mut results = Vec::new();
        for (a, b) in yes.iter().zip(&no) {
            let p = self.program();
            let Some(ty) = p.scalar_ty(*a) else { return wrong("a branch that gives an array") };
            let var = p.scalar("c", ty);
            results.push(Choice { var, then: *a, otherwise: *b });
        }
        let vars = results.iter().map(|c| Atom::Var(c.var)).collect();
        self.emit(StmtKind::If { cond, then, otherwise, results });
        Ok(vars)
    }
}

pub(crate) fn upto(n: Atom) -> Range {
    Range::Upto { from: Atom::int(0), to: n }
}

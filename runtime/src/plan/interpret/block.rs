//! One block of a launch: its threads, and what they do alone and together.
//!
//! A kernel without threads of its own has one. Statements in which no threads meet are a *region*: each
//! thread runs all of it before the next one does. Where they meet, in a barrier, a collective, a chain, or a
//! loop or branch with one of these inside, all of them are taken through it at the same time.
//!
//! A check that fails ends its thread; at the end of the region the block ends, and of its failures that
//! of the lowest thread counts.

use super::{Access, Interpreter, Memory};
use crate::heap;
use crate::plan::{Argument, bits, broken, conversion, element, multiply_add, operator, tile};
use crate::stop::{Failure, Stopped};
use remc_base::Scalar;
use remc_base::ops::ScalarOp;
use remc_kernel::contract::Fused;
use remc_kernel::counts::counts;
use remc_kernel::ir::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Statements inside of statements.
const DEEPEST: usize = 200;
/// The most elements of memory that a kernel has of its own.
const MOST: usize = 1 << 20;

/// What a variable of a kernel stands for.
#[derive(Clone, Debug)]
enum Meaning {
    /// `None` is a value that nothing specifies, such as what a scan gives the first thread. It may be
    /// handled, and whatever is made of it is not specified either; but nothing may depend on it.
    Scalar(Option<Scalar>),
    /// Memory, and the number of the element that the buffer begins with.
    Buffer(Rc<Memory>, usize),
}

/// Why a block, or a thread, ends before its end.
pub(super) enum End {
    /// A check has failed.
    Failed(Failure),
    /// The program is wrong.
    Wrong(Stopped),
}

impl From<Stopped> for End {
    fn from(why: Stopped) -> End {
        End::Wrong(why)
    }
}

type Step<T = ()> = Result<T, End>;

fn wrong<T>(message: impl Into<String>) -> Step<T> {
    Err(End::Wrong(Stopped::Broken(message.into())))
}

pub(super) struct Block<'a> {
    machine: &'a Interpreter<'a>,
    kernel: &'a Kernel,
    fused: &'a Fused,
    /// Its number in the grid.
    block: u64,
    /// What is the same for all threads: parameters, the point of the grid, shared memory.
    common: FxHashMap<Var, Meaning>,
    /// What else each thread knows.
    threads: Vec<FxHashMap<Var, Meaning>>,
    /// The one that runs.
    thread: usize,
    /// How many barriers lie behind.
    barriers: u64,
    depth: usize,
}

/// Whether threads meet in a statement, or inside of it; memory that they share is made by all at once.
fn meets(p: &Program, s: &StmtKind) -> bool {
    match s {
        StmtKind::Barrier | StmtKind::Collective { .. } | StmtKind::Chain { .. } => true,
        StmtKind::Alloc { buffer } => p.buffer_ty(*buffer).is_some_and(|t| t.space == Space::Shared),
        _ => s.blocks().into_iter().flatten().any(|s| meets(p, &s.kind)),
    }
}

impl<'a> Block<'a> {
    pub(super) fn new(
        machine: &'a Interpreter<'a>,
        kernel: &'a Kernel,
        fused: &'a Fused,
        block: u64,
    ) -> Block<'a> {
        let threads = kernel.threads.map_or(1, |(_, n)| n.max(1)) as usize;
        Block {
            machine,
            kernel,
            fused,
            block,
            common: FxHashMap::default(),
            threads: vec![FxHashMap::default(); threads],
            thread: 0,
            barriers: 0,
            depth: 0,
        }
    }

    /// Binds parameters, the point of the grid, threads and workers.
    pub(super) fn enter(&mut self, grid: &[i64], args: &[Argument<'_, Rc<Memory>>]) -> Result<(), Stopped> {
        for (v, a) in self.kernel.params.iter().zip(args) {
            let meaning = match (a, self.machine.p.ty(*v)) {
                (Argument::Scalar(s), Ty::Scalar(ty)) if s.ty() == *ty => Meaning::Scalar(Some(*s)),
                (Argument::Buffer(b), Ty::Buffer(ty)) if b.base == ty.base => {
                    Meaning::Buffer((*b).clone(), 0)
                }
                (Argument::Slice { buffer, first, .. }, Ty::Buffer(ty)) if buffer.base == ty.base => {
                    Meaning::Buffer((*buffer).clone(), *first)
                }
                _ => return broken(format!("the parameter {v:?} is given what it is not")),
            };
            self.common.insert(*v, meaning);
        }
        let int = |n: u64| Meaning::Scalar(Some(Scalar::I64(n as i64)));
        let mut rest = self.block;
        for ((v, _), size) in self.kernel.grid.iter().zip(grid).rev() {
            self.common.insert(*v, int(rest % *size as u64));
            rest /= *size as u64;
        }
        // As many blocks at a time as there are workers for their threads.
        let count = self.threads.len() as u64;
        let first = self.block % (self.machine.workers / count).max(1) * count;
        for (t, env) in (0..).zip(&mut self.threads) {
            env.insert(self.kernel.worker, int(first + t));
            if let Some((v, _)) = self.kernel.threads {
                env.insert(v, int(t));
            }
        }
        Ok(())
    }

    pub(super) fn run(&mut self) -> Step {
        self.together(&self.kernel.body)
    }

    fn bind(&mut self, v: Var, meaning: Meaning) {
        self.threads[self.thread].insert(v, meaning);
    }

    fn bind_int(&mut self, v: Var, n: i64) {
        self.bind(v, Meaning::Scalar(Some(Scalar::I64(n))));
    }

    // ---- atoms ----

    fn meaning(&self, v: Var) -> Step<&Meaning> {
        match self.threads[self.thread].get(&v).or_else(|| self.common.get(&v)) {
            Some(meaning) => Ok(meaning),
            None => wrong(format!("{v:?} has no value")),
        }
    }

    /// The value of a scalar, if anything specifies it.
    fn value(&self, a: Atom) -> Step<Option<Scalar>> {
        match a {
            Atom::Const(s) => Ok(Some(s)),
            Atom::Var(v) => match self.meaning(v)? {
                Meaning::Scalar(s) => Ok(*s),
                Meaning::Buffer(..) => wrong(format!("{v:?} is a buffer")),
            },
        }
    }

    fn values(&self, atoms: &[Atom]) -> Step<Vec<Option<Scalar>>> {
        atoms.iter().map(|a| self.value(*a)).collect()
    }

    /// The value of a scalar on which something depends.
    fn scalar(&self, a: Atom) -> Step<Scalar> {
        match self.value(a)? {
            Some(s) => Ok(s),
            None => wrong(format!("what happens depends on {a:?}, which nothing specifies")),
        }
    }

    fn scalars(&self, atoms: &[Atom]) -> Step<Vec<Scalar>> {
        atoms.iter().map(|a| self.scalar(*a)).collect()
    }

    fn int(&self, a: Atom) -> Step<i64> {
        match self.scalar(a)? {
            Scalar::I64(n) => Ok(n),
            other => wrong(format!("{other:?} is no `int`")),
        }
    }

    fn bool(&self, a: Atom) -> Step<bool> {
        match self.scalar(a)? {
            Scalar::Bool(b) => Ok(b),
            other => wrong(format!("{other:?} is no `bool`")),
        }
    }

    fn ints(&self, atoms: &[Atom]) -> Step<Vec<i64>> {
        atoms.iter().map(|a| self.int(*a)).collect()
    }

    // ---- memory ----

    /// The memory of a buffer, and the number of the element at these indices in it.
    fn place(&self, v: Var, at: &[i64]) -> Step<(Rc<Memory>, usize)> {
        let Some(ty) = self.machine.p.buffer_ty(v) else { return wrong(format!("{v:?} is no buffer")) };
        let dims = self.ints(&ty.dims)?;
        let Meaning::Buffer(memory, first) = self.meaning(v)? else {
            return wrong(format!("{v:?} is no buffer"));
        };
        let there = element(at, &dims).and_then(|index| index.checked_add(*first));
        let there = there.filter(|index| *index < memory.cells.borrow().len());
        match there {
            Some(index) => Ok((memory.clone(), index)),
            None => wrong(format!("{v:?}, of shape {dims:?}, has no element at {at:?}")),
        }
    }

    fn access(&self) -> Access {
        let (launch, block) = (self.machine.launches, self.block);
        Access { launch, block, barriers: self.barriers, thread: self.thread as u64 }
    }

    /// Whether accesses of others matter.
    fn is_watched(&self, v: Var) -> bool {
        let ty = self.machine.p.buffer_ty(v);
        ty.is_some_and(|t| matches!(t.space, Space::Global | Space::Shared))
    }

    fn load(&self, v: Var, at: &[i64]) -> Step<Scalar> {
        let (memory, index) = self.place(v, at)?;
        let mut cells = memory.cells.borrow_mut();
        let cell = &mut cells[index];
        if self.is_watched(v) {
            let now = self.access();
            if now.races(cell.writer) {
                return wrong(format!(
                    "a race: {v:?} is read at {at:?} where another block or thread writes"
                ));
            }
            cell.reader = now.after(cell.reader);
        }
        match cell.value {
            Some(value) => Ok(value),
            None => wrong(format!("{v:?} is read at {at:?}, where nothing was written")),
        }
    }

    fn store(&self, v: Var, at: &[i64], value: Option<Scalar>) -> Step {
        let (memory, index) = self.place(v, at)?;
        if value.is_some_and(|s| s.ty() != memory.base) {
            return wrong(format!("{value:?} is written to {v:?}"));
        }
        let mut cells = memory.cells.borrow_mut();
        let cell = &mut cells[index];
        if self.is_watched(v) {
            let now = self.access();
            if now.races(cell.writer) || now.races(cell.reader) {
                return wrong(format!("a race: {v:?} is written at {at:?} where another block or thread is"));
            }
            (cell.writer, cell.updated) = (now, false);
        }
        cell.value = value;
        Ok(())
    }

    /// Combines a cell with a value; others may do so at the same time.
    fn update(&self, op: ScalarOp, v: Var, at: &[i64], value: Scalar) -> Step {
        let (memory, index) = self.place(v, at)?;
        let mut cells = memory.cells.borrow_mut();
        let cell = &mut cells[index];
        if self.is_watched(v) {
            let now = self.access();
            if now.races(cell.reader) || now.races(cell.writer) && !cell.updated {
                return wrong(format!("a race: {v:?} is updated at {at:?} where another block or thread is"));
            }
            (cell.writer, cell.updated) = (now, true);
        }
        let Some(old) = cell.value else {
            return wrong(format!("{v:?} is updated at {at:?}, where nothing is"));
        };
        match remc_base::ops::apply(op, &[old, value]) {
            Ok(new) if new.ty() == memory.base => cell.value = Some(new),
            _ => return wrong(format!("{v:?} is updated with {value:?}")),
        }
        Ok(())
    }

    /// What a block before this one has handed on.
    fn handed(&self, v: Var, at: &[i64]) -> Step<Scalar> {
        let (memory, index) = self.place(v, at)?;
        let value = memory.cells.borrow()[index].value;
        match value {
            Some(value) => Ok(value),
            None => wrong(format!("{v:?} holds nothing at {at:?} that could be handed on")),
        }
    }

    fn hand(&self, v: Var, at: &[i64], value: Scalar) -> Step {
        let (memory, index) = self.place(v, at)?;
        if value.ty() != memory.base {
            return wrong(format!("{value:?} is handed on in {v:?}"));
        }
        memory.cells.borrow_mut()[index].value = Some(value);
        Ok(())
    }

    // ---- threads ----

    /// Runs something for each thread, in the machine's order.
    fn each<T>(&mut self, mut run: impl FnMut(&mut Self) -> Step<T>) -> Step<Vec<T>> {
        let count = self.threads.len();
        let mut lowest: Option<(usize, Failure)> = None;
        let mut all: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let depth = self.depth;
        for i in 0..count {
            self.thread = if self.machine.descending { count - 1 - i } else { i };
            match run(self) {
                Ok(value) => all[self.thread] = Some(value),
                Err(End::Failed(failure)) => {
                    self.depth = depth;
                    if lowest.as_ref().is_none_or(|(t, _)| self.thread < *t) {
                        lowest = Some((self.thread, failure));
                    }
                }
                wrong => _ = wrong?,
            }
        }
        self.thread = 0;
        match lowest {
            Some((_, failure)) => Err(End::Failed(failure)),
            None => Ok(all.into_iter().flatten().collect()),
        }
    }

    /// A value that must be the same in all threads.
    fn same<T: PartialEq + Copy>(
        &mut self,
        what: &str,
        mut value: impl FnMut(&mut Self) -> Step<T>,
    ) -> Step<T> {
        let all = self.each(&mut value)?;
        match all.split_first() {
            Some((first, rest)) if rest.iter().all(|x| x == first) => Ok(*first),
            _ => wrong(format!("threads meet with another {what} each")),
        }
    }

    /// Takes all threads through a block.
    fn together(&mut self, block: &'a [Stmt]) -> Step {
        self.deeper()?;
        let p = self.machine.p;
        let mut rest = block;
        while let Some(first) = rest.first() {
            if meets(p, &first.kind) {
                self.meet(first)?;
                rest = &rest[1..];
                continue;
            }
            let length = rest.iter().position(|s| meets(p, &s.kind)).unwrap_or(rest.len());
            let (region, after) = rest.split_at(length);
            self.each(|b| region.iter().try_for_each(|s| b.stmt(s)))?;
            rest = after;
        }
        self.depth -= 1;
        Ok(())
    }

    /// A statement in which threads meet.
    fn meet(&mut self, s: &'a Stmt) -> Step {
        match &s.kind {
            StmtKind::Barrier => {
                self.barriers += 1;
                Ok(())
            }
            StmtKind::Alloc { buffer } => {
                let memory = self.own(*buffer)?;
                self.common.insert(*buffer, memory);
                Ok(())
            }
            StmtKind::Collective { scan: _, count, joined, body, next } => {
                self.collective(*count, joined, body, next)
            }
            StmtKind::Chain { state, at, links, body, next } => self.chain(*state, at, links, body, next),
            StmtKind::For { how: _, var, range, carried, body, next } => {
                let (from, to, step) = self.same("range", |b| b.range(range))?;
                self.each(|b| b.again(carried, carried.iter().map(|c| c.init)))?;
                for i in (from..to).step_by(step) {
                    self.each(|b| {
                        b.bind_int(*var, i);
                        Ok(())
                    })?;
                    self.together(body)?;
                    self.each(|b| b.again(carried, next.iter().copied()))?;
                }
                self.each(|b| b.leave(carried)).map(|_| ())
            }
            StmtKind::While { carried, cond, test, body, next } => {
                self.each(|b| b.again(carried, carried.iter().map(|c| c.init)))?;
                loop {
                    self.together(cond)?;
                    if !self.same("condition", |b| b.bool(*test))? {
                        return self.each(|b| b.leave(carried)).map(|_| ());
                    }
                    self.together(body)?;
                    self.each(|b| b.again(carried, next.iter().copied()))?;
                }
            }
            StmtKind::If { cond, then, otherwise, results } => {
                let holds = self.same("condition", |b| b.bool(*cond))?;
                self.together(if holds { then } else { otherwise })?;
                self.each(|b| b.choose(results, holds)).map(|_| ())
            }
            _ => wrong("threads meet where they cannot"),
        }
    }

    /// Combines the items of the first threads in their order.
    fn collective(&mut self, count: Atom, joined: &'a [Joined], body: &'a [Stmt], next: &[Atom]) -> Step {
        let count = self.same("number of items", |b| b.int(count))?;
        let count = match usize::try_from(count.max(0)) {
            Ok(n) if n <= self.threads.len() => n,
            _ => return wrong(format!("{count} items of {} threads", self.threads.len())),
        };
        let items: Vec<Atom> = joined.iter().map(|j| j.item).collect();
        let counted = counts(self.kernel).before;
        let mut so_far: Option<Vec<Option<Scalar>>> = None;
        for t in 0..self.threads.len() {
            self.thread = t;
            for (i, j) in joined.iter().enumerate() {
                if let Some(before) = j.before {
                    // Of no threads nothing is specified, unless they are counted.
                    let none = counted.contains_key(&before).then_some(Scalar::I64(0));
                    let sum = so_far.as_ref().map_or(none, |values| values[i]);
                    self.bind(before, Meaning::Scalar(sum));
                }
            }
            if t >= count {
                continue;
            }
            let own = self.values(&items)?;
            so_far = Some(match so_far {
                None => own,
                Some(values) => {
                    for ((j, x), y) in joined.iter().zip(values).zip(own) {
                        self.bind(j.x, Meaning::Scalar(x));
                        self.bind(j.y, Meaning::Scalar(y));
                    }
                    self.block(body)?;
                    self.values(next)?
                }
            });
        }
        for env in &mut self.threads {
            for (i, j) in joined.iter().enumerate() {
                let total = so_far.as_ref().and_then(|values| values[i]);
                env.insert(j.total, Meaning::Scalar(total));
            }
        }
        self.thread = 0;
        self.barriers += 1;
        Ok(())
    }

    /// Takes from the block before and gives to the next one, once for all threads.
    fn chain(&mut self, state: Var, at: &[Atom], links: &'a [Link], body: &'a [Stmt], next: &[Atom]) -> Step {
        let here = self.ints(at)?;
        let Some((last, outer)) = here.split_last() else { return wrong("a chain without a grid") };
        let befores = match last {
            0 => links.iter().map(|l| self.scalar(l.init)).collect::<Step<Vec<_>>>()?,
            b => {
                let previous = [outer, &[b - 1]].concat();
                if self.handed(state, &previous)? == Scalar::I64(0) {
                    return wrong(format!("block {b} runs before the one that it waits for"));
                }
                links.iter().map(|l| self.handed(l.kept, &previous)).collect::<Step<Vec<_>>>()?
            }
        };
        if self.handed(state, &here)? != Scalar::I64(0) {
            return wrong("the memory of a chain is not cleared");
        }
        for l in links {
            // By its bits, so that what is no number is like itself.
            self.same("item", |b| Ok(b.value(l.item)?.map(Scalar::to_bits64)))?;
        }
        self.each(|b| {
            for (l, before) in links.iter().zip(&befores) {
                let item = b.value(l.item)?;
                b.bind(l.before, Meaning::Scalar(Some(*before)));
                b.bind(l.x, Meaning::Scalar(item));
            }
            b.block(body)
        })?;
        for (l, value) in links.iter().zip(self.scalars(next)?) {
            self.hand(l.kept, &here, value)?;
        }
        self.barriers += 1;
        self.hand(state, &here, Scalar::I64(1))
    }

    // ---- statements of one thread ----

    fn deeper(&mut self) -> Step {
        self.depth += 1;
        if self.depth > DEEPEST { wrong("a kernel that is nested too deeply") } else { Ok(()) }
    }

    fn block(&mut self, block: &'a [Stmt]) -> Step {
        self.deeper()?;
        block.iter().try_for_each(|s| self.stmt(s))?;
        self.depth -= 1;
        Ok(())
    }

    fn stmt(&mut self, s: &'a Stmt) -> Step {
        self.machine.steps.set(self.machine.steps.get() + 1);
        match &s.kind {
            StmtKind::Let { var, exp } => self.let_(*var, exp),
            StmtKind::Store { buffer, at, value } => {
                self.store(*buffer, &self.ints(at)?, self.value(*value)?)
            }
            StmtKind::Update { op, buffer, at, value } => {
                let Some(value) = self.value(*value)? else {
                    return wrong(format!("{buffer:?} is updated by nothing"));
                };
                self.update(*op, *buffer, &self.ints(at)?, value)
            }
            StmtKind::For { how: _, var, range, carried, body, next } => {
                let (from, to, step) = self.range(range)?;
                self.again(carried, carried.iter().map(|c| c.init))?;
                for i in (from..to).step_by(step) {
                    self.bind_int(*var, i);
                    self.block(body)?;
                    self.again(carried, next.iter().copied())?;
                }
                self.leave(carried)
            }
            StmtKind::While { carried, cond, test, body, next } => {
                self.again(carried, carried.iter().map(|c| c.init))?;
                loop {
                    self.block(cond)?;
                    if !self.bool(*test)? {
                        return self.leave(carried);
                    }
                    self.block(body)?;
                    self.again(carried, next.iter().copied())?;
                }
            }
            StmtKind::If { cond, then, otherwise, results } => {
                let holds = self.bool(*cond)?;
                self.block(if holds { then } else { otherwise })?;
                self.choose(results, holds)
            }
            StmtKind::Points { vars, index, dims } => self.points(vars, *index, dims),
            StmtKind::Check { trap, cond, values } => {
                if self.bool(*cond)? {
                    return Ok(());
                }
                let Some(number) = self.machine.traps.get(trap).copied() else {
                    return wrong("an unknown check");
                };
                let values = self.scalars(values)?.iter().map(|v| v.to_bits64()).collect();
                Err(End::Failed(Failure { block: self.block, trap: number, prov: s.prov.0, values }))
            }
            StmtKind::Alloc { buffer } => {
                let memory = self.own(*buffer)?;
                self.bind(*buffer, memory);
                Ok(())
            }
            StmtKind::Barrier | StmtKind::Collective { .. } | StmtKind::Chain { .. } => {
                wrong("threads meet where only some of them are")
            }
            StmtKind::Free { .. }
            | StmtKind::Alias { .. }
            | StmtKind::Slice { .. }
            | StmtKind::Launch { .. }
            | StmtKind::Sort { .. }
            | StmtKind::Pull { .. }
            | StmtKind::Push { .. } => wrong("a statement of the plan in a kernel"),
        }
    }

    /// Memory of the kernel's own.
    fn own(&self, buffer: Var) -> Step<Meaning> {
        let Some(ty) = self.machine.p.buffer_ty(buffer) else {
            return wrong(format!("{buffer:?} is no buffer"));
        };
        let dims = self.ints(&ty.dims)?;
        match heap::size_of(&dims, 1).filter(|n| *n <= MOST) {
            Some(elements) => Ok(Meaning::Buffer(Rc::new(Memory::new(ty.base, elements)), 0)),
            None => wrong(format!("a kernel's own memory of shape {dims:?}")),
        }
    }

    /// The indices of a point by its number.
    fn points(&mut self, vars: &[Var], index: Atom, dims: &[Atom]) -> Step {
        let (index, dims) = (self.int(index)?, self.ints(dims)?);
        if vars.len() != dims.len() || heap::size_of(&dims, 1).is_none_or(|n| !(0..n as i64).contains(&index))
        {
            return wrong(format!("there is no point {index} of {dims:?}"));
        }
        let mut rest = index;
        for (v, d) in vars.iter().zip(dims).rev() {
            self.bind_int(*v, rest % d);
            rest /= d;
        }
        Ok(())
    }

    /// Gives the results of an `if` their values.
    fn choose(&mut self, results: &[Choice], holds: bool) -> Step {
        let given: Vec<Atom> = results.iter().map(|c| if holds { c.then } else { c.otherwise }).collect();
        let values = self.values(&given)?;
        results.iter().zip(values).for_each(|(c, v)| self.bind(c.var, Meaning::Scalar(v)));
        Ok(())
    }

    fn let_(&mut self, var: Var, exp: &Exp) -> Step {
        if self.fused.products.contains(&var) {
            return Ok(());
        }
        let value = match exp {
            Exp::Atom(a) => self.value(*a)?,
            Exp::Op(op, args) => match self.fused.sums.get(&var) {
                Some(args) => match self.values(args)?[..] {
                    [Some(x), Some(y), Some(z)] => Some(multiply_add([x, y, z])?),
                    _ => None,
                },
                None => self.operator(*op, &self.values(args)?)?,
            },
            Exp::Cast(to, a) => match self.value(*a)? {
                Some(x) => Some(conversion(*to, x)?),
                None => None,
            },
            Exp::Bits(a) => match self.value(*a)? {
                Some(x) => Some(bits(x)?),
                None => None,
            },
            Exp::Load { buffer, at } => Some(self.load(*buffer, &self.ints(at)?)?),
            Exp::Workers => return wrong("the number of workers in a kernel"),
            Exp::Test(_) => return wrong("a choice between versions in a kernel"),
        };
        if value.is_some_and(|s| self.machine.p.ty(var) != &Ty::Scalar(s.ty())) {
            return wrong(format!("{var:?} is {value:?}"));
        }
        self.bind(var, Meaning::Scalar(value));
        Ok(())
    }

    /// A choice depends on what it takes alone, everything else on all operands.
    fn operator(&self, op: ScalarOp, args: &[Option<Scalar>]) -> Step<Option<Scalar>> {
        if let (ScalarOp::Select, [Some(Scalar::Bool(first)), a, b]) = (op, args) {
            return Ok(if *first { *a } else { *b });
        }
        match args.iter().copied().collect::<Option<Vec<Scalar>>>() {
            Some(args) => Ok(Some(operator(op, &args)?)),
            None => Ok(None),
        }
    }

    /// From where to where, and by which steps.
    fn range(&self, range: &Range) -> Step<(i64, i64, usize)> {
        Ok(match *range {
            Range::Upto { from, to } => (self.int(from)?, self.int(to)?, 1),
            Range::Tile { index, size, limit } => {
                let (from, to) = tile(self.int(index)?, self.int(size)?, self.int(limit)?);
                (from, to, 1)
            }
            Range::Share { thread, threads, index, size, limit } => {
                let (from, to) = tile(self.int(index)?, self.int(size)?, self.int(limit)?);
                let (t, n) = (self.int(thread)?, self.int(threads)?);
                match usize::try_from(n) {
                    Ok(step) if step > 0 && (0..n).contains(&t) => (from.saturating_add(t), to, step),
                    _ => return wrong(format!("a share of thread {t} of {n}")),
                }
            }
        })
    }

    /// Gives all that a loop carries its next value, at the same time.
    fn again(&mut self, carried: &[Carried], next: impl ExactSizeIterator<Item = Atom>) -> Step {
        if carried.len() != next.len() {
            return wrong("a loop with another number of next values");
        }
        let values = self.values(&next.collect::<Vec<_>>())?;
        carried.iter().zip(values).for_each(|(c, v)| self.bind(c.param, Meaning::Scalar(v)));
        Ok(())
    }

    fn leave(&mut self, carried: &[Carried]) -> Step {
        for c in carried {
            let value = self.value(Atom::Var(c.param))?;
            self.bind(c.result, Meaning::Scalar(value));
        }
        Ok(())
    }
}

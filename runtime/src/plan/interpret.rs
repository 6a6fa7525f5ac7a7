//! A machine whose memory is lists of scalars and whose kernels are interpreted: what a Kernel program
//! means, slowly, and with every access watched. It is what devices are compared with when a program is
//! wrong and the question is from which stage on.
//!
//! The blocks of a grid run one after the other, in ascending or in descending order, and the iterations of
//! every loop in ascending order, whatever runs in lanes elsewhere. So integers are what they are on every
//! device, and floats too where a reduction does not round.
//!
//! Beyond what a device does it reports, as [`Stopped::Broken`]:
//!
//! - an index outside of a buffer, in each dim;
//! - an element that is read and was never written;
//! - an element that two blocks of a launch touch, and one of them writes. Scratch memory is a worker's, and
//!   what a chain hands on is meant for another block: these are left out;
//! - a variable that is mentioned before it has a value, or has one of another type than an operator takes.

use super::{Argument, Machine, SortKey, broken, conversion, element, multiply_add, operator, tile};
use crate::heap;
use crate::stop::{Failure, Stopped};
use remc_base::ops::total_cmp;
use remc_base::{Atom as Element, BaseTy, Prov, Scalar, Trap, Value};
use remc_kernel::contract::{Fused, fused};
use remc_kernel::ir::*;
use remc_kernel::traps;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

/// What the machine is called in messages.
pub const DEVICE: &str = "interpreter of kernels";
/// Statements inside of statements.
const DEEPEST: usize = 200;

type Done<T = ()> = Result<T, Stopped>;

/// A buffer.
#[derive(Debug)]
pub struct Memory {
    base: BaseTy,
    cells: RefCell<Vec<Cell>>,
}

/// An element, and the last blocks that wrote and read it: the number of a block counts all that have run.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: Option<Scalar>,
    writer: u64,
    reader: u64,
}

impl Memory {
    fn new(base: BaseTy, elements: usize) -> Memory {
        Memory { base, cells: RefCell::new(vec![Cell::default(); elements]) }
    }

    /// An array of base type; `None` if it is of another one.
    pub fn of(value: &Value) -> Option<Memory> {
        let base = value.data.base()?;
        let cell = |e| match e {
            Element::Scalar(s) => Some(Cell { value: Some(s), ..Cell::default() }),
            _ => None,
        };
        let cells: Option<Vec<Cell>> = value.data.iter().map(cell).collect();
        Some(Memory { base, cells: RefCell::new(cells?) })
    }

    /// The array of this shape.
    ///
    /// # Errors
    /// An element was never written.
    pub fn value(&self, dims: &[usize]) -> Done<Value> {
        let cells = self.cells.borrow();
        let wanted: usize = dims.iter().product();
        let scalars: Option<Vec<Scalar>> = cells.iter().take(wanted).map(|c| c.value).collect();
        match scalars {
            Some(scalars) if scalars.len() == wanted => {
                Ok(Value::of_scalars(self.base, dims.to_vec(), scalars))
            }
            _ => broken(format!("a result of shape {dims:?} was not written")),
        }
    }
}

/// The machine.
pub struct Interpreter<'p> {
    p: &'p Program,
    traps: FxHashMap<Trap, u32>,
    /// By kernel.
    fused: Vec<Fused>,
    /// The last block's first.
    descending: bool,
    workers: u64,
    /// How many bytes there are, and are in use.
    limit: usize,
    used: usize,
    /// Blocks that have run.
    blocks: u64,
}

impl<'p> Interpreter<'p> {
    /// A machine for the kernels of a program; `descending` runs their blocks in that order, where none waits
    /// for another one.
    pub fn new(p: &'p Program, descending: bool) -> Interpreter<'p> {
        Interpreter {
            p,
            traps: traps::numbers(&traps::traps(p)),
            fused: p.kernels.iter().map(|(_, k)| fused(p, &k.body)).collect(),
            descending,
            workers: 3,
            limit: 1 << 30,
            used: 0,
            blocks: 0,
        }
    }
}

impl Machine for Interpreter<'_> {
    type Buffer = Rc<Memory>;

    fn alloc(&mut self, prov: Prov, base: BaseTy, dims: &[i64]) -> Done<Rc<Memory>> {
        let element = base.bits() as usize / 8;
        let bytes = heap::size_of(dims, element as u64).filter(|n| *n <= self.limit - self.used);
        let Some(bytes) = bytes else {
            return Err(Stopped::too_large(DEVICE, Some(prov.0), dims, element as u64, self.limit as u64));
        };
        self.used += bytes;
        Ok(Rc::new(Memory::new(base, bytes / element)))
    }

    fn free(&mut self, buffer: Rc<Memory>) {
        let bytes = buffer.cells.borrow().len() * (buffer.base.bits() as usize / 8);
        self.used = self.used.saturating_sub(bytes);
    }

    fn load(&mut self, buffer: &Rc<Memory>, base: BaseTy, index: usize) -> Done<Scalar> {
        match buffer.cells.borrow().get(index).map(|c| c.value) {
            Some(Some(value)) if value.ty() == base => Ok(value),
            Some(None) => broken(format!("the plan reads element {index}, which was never written")),
            _ => broken(format!("the plan reads element {index} as `{base}`")),
        }
    }

    fn store(&mut self, buffer: &Rc<Memory>, index: usize, value: Scalar) -> Done {
        match buffer.cells.borrow_mut().get_mut(index) {
            Some(cell) if value.ty() == buffer.base => {
                cell.value = Some(value);
                Ok(())
            }
            _ => broken(format!("the plan writes {value:?} as element {index}")),
        }
    }

    fn launch(&mut self, id: KernelId, grid: &[i64], args: &[Argument<'_, Rc<Memory>>]) -> Done {
        let kernel = &self.p.kernels[id];
        let count: i64 = grid.iter().product();
        let first = self.blocks + 1;
        let mut lowest: Option<Failure> = None;
        let descending = self.descending && !kernel.is_chained();
        for i in 0..count {
            let block = if descending { count - 1 - i } else { i };
            self.blocks += 1;
            let mut run = Block {
                p: self.p,
                traps: &self.traps,
                fused: &self.fused[id.0 as usize],
                env: vec![None; self.p.vars.len()],
                block: block as u64,
                first,
                now: self.blocks,
                depth: 0,
            };
            run.enter(kernel, grid, args, self.workers)?;
            match run.block(&kernel.body) {
                Ok(()) => {}
                Err(End::Wrong(why)) => return Err(why),
                Err(End::Failed(failure)) => {
                    if lowest.as_ref().is_none_or(|l| failure.block < l.block) {
                        lowest = Some(failure);
                    }
                    // All that run later are higher.
                    if !descending {
                        break;
                    }
                }
            }
        }
        lowest.map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn sort(&mut self, keys: &[SortKey<'_, Rc<Memory>>], items: usize, out: &Rc<Memory>) -> Done {
        let mut columns = Vec::with_capacity(keys.len());
        for k in keys {
            let cells = k.buffer.cells.borrow();
            let column: Option<Vec<Scalar>> = cells.iter().map(|c| c.value).collect();
            match column {
                Some(column) if column.len() >= items.saturating_mul(k.elements) => {
                    columns.push((column, k.elements));
                }
                _ => return broken("a key of a sort was not written"),
            }
        }
        let order = |a: &usize, b: &usize| {
            let key = |(column, n): &(Vec<Scalar>, usize)| {
                let pairs = column[a * n..(a + 1) * n].iter().zip(&column[b * n..(b + 1) * n]);
                pairs.map(|(x, y)| total_cmp(*x, *y)).find(|o| o.is_ne())
            };
            columns.iter().find_map(key).unwrap_or(Ordering::Equal)
        };
        let mut permutation: Vec<usize> = (0..items).collect();
        permutation.sort_by(order);
        for (i, from) in permutation.into_iter().enumerate() {
            self.store(out, i, Scalar::I64(from as i64))?;
        }
        Ok(())
    }

    fn workers(&self) -> u64 {
        self.workers
    }
}

/// What a variable of a kernel stands for.
#[derive(Clone, Debug)]
enum Meaning {
    Scalar(Scalar),
    Buffer(Rc<Memory>),
}

/// Why a block ends before its end.
enum End {
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

/// One block of a launch.
struct Block<'a> {
    p: &'a Program,
    traps: &'a FxHashMap<Trap, u32>,
    fused: &'a Fused,
    env: Vec<Option<Meaning>>,
    /// Its number in the grid.
    block: u64,
    /// Its number among all blocks, and that of the first one of the launch.
    now: u64,
    first: u64,
    depth: usize,
}

impl<'a> Block<'a> {
    fn bind(&mut self, v: Var, meaning: Meaning) {
        if let Some(entry) = self.env.get_mut(v.0 as usize) {
            *entry = Some(meaning);
        }
    }

    fn bind_int(&mut self, v: Var, n: i64) {
        self.bind(v, Meaning::Scalar(Scalar::I64(n)));
    }

    /// Binds parameters, the point of the grid, and the worker.
    fn enter(
        &mut self,
        kernel: &Kernel,
        grid: &[i64],
        args: &[Argument<'_, Rc<Memory>>],
        workers: u64,
    ) -> Done {
        for (v, a) in kernel.params.iter().zip(args) {
            let meaning = match (a, self.p.ty(*v)) {
                (Argument::Scalar(s), Ty::Scalar(ty)) if s.ty() == *ty => Meaning::Scalar(*s),
                (Argument::Buffer(b), Ty::Buffer(ty)) if b.base == ty.base => Meaning::Buffer((*b).clone()),
                _ => return broken(format!("the parameter {v:?} is given what it is not")),
            };
            self.bind(*v, meaning);
        }
        let mut rest = self.block as i64;
        for ((v, _), size) in kernel.grid.iter().zip(grid).rev() {
            self.bind_int(*v, rest % size);
            rest /= size;
        }
        self.bind_int(kernel.worker, (self.block % workers) as i64);
        Ok(())
    }

    // ---- atoms ----

    fn meaning(&self, v: Var) -> Step<&Meaning> {
        match self.env.get(v.0 as usize) {
            Some(Some(meaning)) => Ok(meaning),
            _ => wrong(format!("{v:?} has no value")),
        }
    }

    fn scalar(&self, a: Atom) -> Step<Scalar> {
        match a {
            Atom::Const(s) => Ok(s),
            Atom::Var(v) => match self.meaning(v)? {
                Meaning::Scalar(s) => Ok(*s),
                Meaning::Buffer(_) => wrong(format!("{v:?} is a buffer")),
            },
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

    /// A buffer, and the number of the element at these indices.
    fn place(&self, v: Var, at: &[i64]) -> Step<(Rc<Memory>, usize)> {
        let Some(ty) = self.p.buffer_ty(v) else { return wrong(format!("{v:?} is no buffer")) };
        let dims = self.ints(&ty.dims)?;
        let Meaning::Buffer(memory) = self.meaning(v)? else {
            return wrong(format!("{v:?} is no buffer"));
        };
        let there = element(at, &dims).filter(|index| *index < memory.cells.borrow().len());
        match there {
            Some(index) => Ok((memory.clone(), index)),
            None => wrong(format!("{v:?}, of shape {dims:?}, has no element at {at:?}")),
        }
    }

    /// Whether another block of this launch has been there.
    fn is_others(&self, block: u64) -> bool {
        block >= self.first && block != self.now
    }

    /// Whether accesses of other blocks matter.
    fn is_watched(&self, v: Var) -> bool {
        self.p.buffer_ty(v).is_some_and(|t| t.space == Space::Global)
    }

    fn load(&self, v: Var, at: &[i64]) -> Step<Scalar> {
        let (memory, index) = self.place(v, at)?;
        let mut cells = memory.cells.borrow_mut();
        let cell = &mut cells[index];
        if self.is_watched(v) {
            if self.is_others(cell.writer) {
                return wrong(format!("{v:?} is read at {at:?}, where another block writes"));
            }
            cell.reader = self.now;
        }
        match cell.value {
            Some(value) => Ok(value),
            None => wrong(format!("{v:?} is read at {at:?}, where nothing was written")),
        }
    }

    fn store(&self, v: Var, at: &[i64], value: Scalar) -> Step {
        let (memory, index) = self.place(v, at)?;
        if value.ty() != memory.base {
            return wrong(format!("{value:?} is written to {v:?}"));
        }
        let mut cells = memory.cells.borrow_mut();
        let cell = &mut cells[index];
        if self.is_watched(v) {
            if self.is_others(cell.writer) || self.is_others(cell.reader) {
                return wrong(format!("{v:?} is written at {at:?}, where another block reads or writes"));
            }
            cell.writer = self.now;
        }
        cell.value = Some(value);
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

    // ---- statements ----

    fn block(&mut self, block: &'a [Stmt]) -> Step {
        self.depth += 1;
        if self.depth > DEEPEST {
            return wrong("a kernel that is nested too deeply");
        }
        block.iter().try_for_each(|s| self.stmt(s))?;
        self.depth -= 1;
        Ok(())
    }

    fn stmt(&mut self, s: &'a Stmt) -> Step {
        match &s.kind {
            StmtKind::Let { var, exp } => self.let_(*var, exp),
            StmtKind::Store { buffer, at, value } => {
                self.store(*buffer, &self.ints(at)?, self.scalar(*value)?)
            }
            StmtKind::For { how: _, var, range, carried, body, next } => {
                let (from, to) = self.range(range)?;
                self.again(carried, carried.iter().map(|c| c.init))?;
                for i in from..to {
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
                let given: Vec<Atom> =
                    results.iter().map(|c| if holds { c.then } else { c.otherwise }).collect();
                let values = self.scalars(&given)?;
                results.iter().zip(values).for_each(|(c, v)| self.bind(c.var, Meaning::Scalar(v)));
                Ok(())
            }
            StmtKind::Chain { state, at, links, body, next } => self.chain(*state, at, links, body, next),
            StmtKind::Check { trap, cond, values } => {
                if self.bool(*cond)? {
                    return Ok(());
                }
                let Some(number) = self.traps.get(trap).copied() else { return wrong("an unknown check") };
                let values = self.scalars(values)?.iter().map(|v| v.to_bits64()).collect();
                Err(End::Failed(Failure { block: self.block, trap: number, prov: s.prov.0, values }))
            }
            StmtKind::Alloc { buffer } => {
                let Some(ty) = self.p.buffer_ty(*buffer) else {
                    return wrong(format!("{buffer:?} is no buffer"));
                };
                let dims = self.ints(&ty.dims)?;
                match heap::size_of(&dims, 1).filter(|n| *n <= 1 << 20) {
                    Some(elements) => {
                        let memory = Rc::new(Memory::new(ty.base, elements));
                        self.bind(*buffer, Meaning::Buffer(memory));
                        Ok(())
                    }
                    None => wrong(format!("a kernel's own memory of shape {dims:?}")),
                }
            }
            StmtKind::Free { .. }
            | StmtKind::Alias { .. }
            | StmtKind::Launch { .. }
            | StmtKind::Sort { .. } => wrong("a statement of the plan in a kernel"),
        }
    }

    fn let_(&mut self, var: Var, exp: &Exp) -> Step {
        if self.fused.products.contains(&var) {
            return Ok(());
        }
        let value = match exp {
            Exp::Atom(a) => self.scalar(*a)?,
            Exp::Op(op, args) => match self.fused.sums.get(&var) {
                Some([x, y, z]) => multiply_add([self.scalar(*x)?, self.scalar(*y)?, self.scalar(*z)?])?,
                None => operator(*op, &self.scalars(args)?)?,
            },
            Exp::Cast(to, a) => conversion(*to, self.scalar(*a)?)?,
            Exp::Load { buffer, at } => self.load(*buffer, &self.ints(at)?)?,
            Exp::Workers => return wrong("the number of workers in a kernel"),
        };
        if self.p.ty(var) != &Ty::Scalar(value.ty()) {
            return wrong(format!("{var:?} is {value:?}"));
        }
        self.bind(var, Meaning::Scalar(value));
        Ok(())
    }

    fn range(&self, range: &Range) -> Step<(i64, i64)> {
        Ok(match *range {
            Range::Upto { from, to } => (self.int(from)?, self.int(to)?),
            Range::Tile { index, size, limit } => tile(self.int(index)?, self.int(size)?, self.int(limit)?),
        })
    }

    /// Gives all that a loop carries its next value, at the same time.
    fn again(&mut self, carried: &[Carried], next: impl ExactSizeIterator<Item = Atom>) -> Step {
        if carried.len() != next.len() {
            return wrong("a loop with another number of next values");
        }
        let values = self.scalars(&next.collect::<Vec<_>>())?;
        carried.iter().zip(values).for_each(|(c, v)| self.bind(c.param, Meaning::Scalar(v)));
        Ok(())
    }

    fn leave(&mut self, carried: &[Carried]) -> Step {
        for c in carried {
            let value = self.scalar(Atom::Var(c.param))?;
            self.bind(c.result, Meaning::Scalar(value));
        }
        Ok(())
    }

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
        for (l, before) in links.iter().zip(befores) {
            let item = self.scalar(l.item)?;
            self.bind(l.before, Meaning::Scalar(before));
            self.bind(l.x, Meaning::Scalar(item));
        }
        self.block(body)?;
        for (l, value) in links.iter().zip(self.scalars(next)?) {
            self.hand(l.kept, &here, value)?;
        }
        self.hand(state, &here, Scalar::I64(1))
    }
}

//! The host plan, executed as it stands: for devices that compile kernels and not the plan.
//!
//! The cpu device has machine code for both. A GPU's kernels are compiled, and what is between them is a
//! few statements for each launch, which [`run`] goes through: scalars are evaluated here by the table of
//! scalar operators ([`remc_base::ops`]), everything else is asked of a [`Machine`].
//!
//! What a plan means is what the cpu device's code for it does:
//!
//! - where an operator would stop, its value is unspecified, and is 0 here; checks stand before those;
//! - float products that a sum of a reduction takes in are not rounded ([`remc_kernel::contract`]);
//! - a grid with a size of 0 or less launches nothing; one of more blocks than 63 bits count stops as an
//!   allocation of that shape does;
//! - a sort of no items does nothing.
//!
//! A buffer belongs to the one name that the plan gave it last: to bring it into a loop, out of a branch
//! or among the results moves it. Here a name stands for a *slot* in a table, so to move is to copy its
//! number; an alias is a second name for it. [`remc_kernel::verify`] has seen to it that each slot is
//! freed or moved out once. It is watched here all the same, as is that elements are in their buffers: what
//! is wrong ends as [`Stopped::Broken`], and nothing is touched that is not there.
//!
//! [`interpret`] is a machine whose kernels are interpreted too, [`watched`] one that says what another one did.

pub mod interpret;
pub mod watched;

#[cfg(test)]
mod tests;

use crate::stop::Stopped;
use crate::stream;
use remc_base::ops::{OpError, ScalarOp, apply, cast, zero};
use remc_base::{BaseTy, Prov, Scalar, Trap};
use remc_kernel::contract::{Fused, fused};
use remc_kernel::ir::*;
use remc_kernel::traps;
use rustc_hash::FxHashMap;

/// Blocks inside of blocks; no program that people write comes near.
const DEEPEST: usize = 400;

/// What executes the statements that are not scalar. A buffer knows how large it is; what is in it, and
/// under which dims, the plan knows.
pub trait Machine {
    /// Given back by `free`, or dropped where a run has stopped.
    type Buffer;

    /// Memory for an array; no dim is negative but by a mistake of the compiler.
    fn alloc(&mut self, prov: Prov, base: BaseTy, dims: &[i64]) -> Result<Self::Buffer, Stopped>;

    fn free(&mut self, buffer: Self::Buffer);

    /// The element number `index`, when everything before has been done.
    fn load(&mut self, buffer: &Self::Buffer, base: BaseTy, index: usize) -> Result<Scalar, Stopped>;

    fn store(&mut self, buffer: &Self::Buffer, index: usize, value: Scalar) -> Result<(), Stopped>;

    /// Runs all blocks of a grid, of at least one block, with an argument for each parameter of the kernel.
    fn launch(
        &mut self,
        kernel: KernelId,
        grid: &[i64],
        args: &[Argument<'_, Self::Buffer>],
    ) -> Result<(), Stopped>;

    /// Writes the stable permutation that sorts so many items, at least one, by the keys in turn; or those items in
    /// order, of one key, of an element each.
    fn sort(
        &mut self,
        keys: &[SortKey<'_, Self::Buffer>],
        items: usize,
        gives: Gives,
        out: &Self::Buffer,
    ) -> Result<(), Stopped>;

    /// Items of a channel: how many, and a buffer of them for each of its arrays.
    fn pull(
        &mut self,
        _: Prov,
        channel: usize,
        _: u64,
        _: stream::Take,
    ) -> Result<Pulled<Self::Buffer>, Stopped> {
        broken(format!("a device without streams is asked for items of channel {channel}"))
    }

    /// Appends items to a channel: the buffer, the base type and the dims of each of its arrays.
    fn push(
        &mut self,
        _: Prov,
        channel: usize,
        _: &[(&Self::Buffer, BaseTy, Vec<usize>)],
    ) -> Result<(), Stopped> {
        broken(format!("a device without streams is given items of channel {channel}"))
    }

    /// How many blocks run at the same time at most.
    fn workers(&self) -> u64;

    /// Which version a size chooses.
    fn test(&mut self, test: &Test, size: i64) -> bool {
        test.holds(size)
    }
}

/// Items of a channel: how many; and of each of its arrays how many items or elements it has, and the buffer of these.
pub type Pulled<B> = (usize, Vec<(usize, B)>);

/// What a parameter of a program or of a kernel is given.
#[derive(Debug)]
pub enum Argument<'a, B> {
    Scalar(Scalar),
    Buffer(&'a B),
    /// A buffer from element `first` on. Kernels are given such, programs not.
    Slice {
        buffer: &'a B,
        base: BaseTy,
        first: usize,
    },
}

impl<B> Clone for Argument<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Argument<'_, B> {}

/// A key of the items of a sort, each of so many elements.
#[derive(Debug)]
pub struct SortKey<'a, B> {
    pub buffer: &'a B,
    pub base: BaseTy,
    pub elements: usize,
}

/// A result of a run.
#[derive(Debug)]
pub enum Given<B> {
    Scalar(Scalar),
    Buffer { buffer: B, base: BaseTy, dims: Vec<usize> },
}

/// Runs the plan of a program that the verifier has accepted, with an argument for each of its parameters.
/// Those that are buffers are only read.
///
/// # Errors
/// Why it stopped. What it had allocated and not freed has been dropped by then.
pub fn run<M: Machine>(
    p: &Program,
    machine: &mut M,
    params: &[Argument<'_, M::Buffer>],
) -> Result<Vec<Given<M::Buffer>>, Stopped> {
    let mut plan = Plan {
        p,
        machine,
        fused: fused(p, &p.plan),
        traps: traps::numbers(&traps::traps(p)),
        env: vec![None; p.vars.len()],
        slots: Vec::new(),
        vacant: Vec::new(),
        depth: 0,
    };
    if params.len() != p.params.len() {
        return broken(format!("{} arguments of {} parameters", params.len(), p.params.len()));
    }
    for (v, a) in p.params.iter().zip(params) {
        match (a, p.ty(*v)) {
            (Argument::Scalar(s), Ty::Scalar(ty)) if s.ty() == *ty => plan.bind(*v, Place::Scalar(*s)),
            (Argument::Buffer(b), Ty::Buffer(_)) => {
                let slot = plan.hold(Held::Borrowed(b));
                plan.bind(*v, slot);
            }
            _ => return broken(format!("{v:?} is given what it is not")),
        }
    }
    plan.block(&p.plan)?;
    plan.results()
}

type Done<T = ()> = Result<T, Stopped>;

fn broken<T>(message: impl Into<String>) -> Done<T> {
    Err(Stopped::Broken(message.into()))
}

/// What a variable stands for.
#[derive(Clone, Copy, Debug)]
enum Place {
    Scalar(Scalar),
    Buffer(Slot),
}

/// A place in the table of buffers. Places are used again, so it says whose turn it was.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: usize,
    turn: u64,
    /// The element of the buffer with which the name's memory begins.
    first: usize,
}

enum Held<'a, B> {
    /// A parameter of the program.
    Borrowed(&'a B),
    Owned(B),
    Gone,
}

struct Plan<'a, M: Machine> {
    p: &'a Program,
    machine: &'a mut M,
    fused: Fused,
    traps: FxHashMap<Trap, u32>,
    env: Vec<Option<Place>>,
    /// The buffers, and whose turn it is.
    slots: Vec<(u64, Held<'a, M::Buffer>)>,
    /// Places whose buffer is gone, for the next ones.
    vacant: Vec<usize>,
    depth: usize,
}

/// The value of an operator, which is unspecified where it would stop: 0 then.
pub(crate) fn operator(op: ScalarOp, args: &[Scalar]) -> Done<Scalar> {
    match apply(op, args) {
        Ok(value) => Ok(value),
        Err(OpError::WrongOperands) => broken(format!("`{op}` of {args:?}")),
        Err(_) => {
            let tys: Vec<BaseTy> = args.iter().map(|a| a.ty()).collect();
            op.result_ty(&tys).map(zero).ok_or_else(|| Stopped::Broken(format!("`{op}` of {tys:?}")))
        }
    }
}

/// The same of a conversion.
pub(crate) fn conversion(to: BaseTy, x: Scalar) -> Done<Scalar> {
    match cast(x, to) {
        Ok(value) => Ok(value),
        Err(OpError::WrongOperands) => broken(format!("{x:?} as `{to}`")),
        Err(_) => Ok(zero(to)),
    }
}

/// The bits of a float.
pub(crate) fn bits(x: Scalar) -> Done<Scalar> {
    match bits_of(x.ty()).and_then(|ty| Scalar::from_bits64(ty, x.to_bits64())) {
        Some(bits) => Ok(bits),
        None => broken(format!("the bits of {x:?}")),
    }
}

/// `x · y + z`, rounded once.
pub(crate) fn multiply_add(args: [Scalar; 3]) -> Done<Scalar> {
    match args {
        [Scalar::F32(x), Scalar::F32(y), Scalar::F32(z)] => Ok(Scalar::F32(x.mul_add(y, z))),
        [Scalar::F64(x), Scalar::F64(y), Scalar::F64(z)] => Ok(Scalar::F64(x.mul_add(y, z))),
        _ => broken(format!("a sum of products of {args:?}")),
    }
}

/// The number of the element at these indices, in row-major order; `None` if there is none.
pub(crate) fn element(at: &[i64], dims: &[i64]) -> Option<usize> {
    let inside = at.len() == dims.len() && at.iter().zip(dims).all(|(i, d)| 0 <= *i && i < d);
    let index = at.iter().zip(dims).try_fold(0i64, |n, (i, d)| n.checked_mul(*d)?.checked_add(*i));
    index.filter(|_| inside).and_then(|n| usize::try_from(n).ok())
}

/// The bounds of a tile; the sizes that a program has are far below where this wraps.
pub(crate) fn tile(index: i64, size: i64, limit: i64) -> (i64, i64) {
    let from = index.wrapping_mul(size);
    (from, from.wrapping_add(size).min(limit))
}

impl<'a, M: Machine> Plan<'a, M> {
    fn bind(&mut self, v: Var, place: Place) {
        if let Some(entry) = self.env.get_mut(v.0 as usize) {
            *entry = Some(place);
        }
    }

    fn place(&self, a: Atom) -> Done<Place> {
        match a {
            Atom::Const(s) => Ok(Place::Scalar(s)),
            Atom::Var(v) => match self.env.get(v.0 as usize) {
                Some(Some(place)) => Ok(*place),
                _ => broken(format!("{v:?} has no value")),
            },
        }
    }

    fn scalar(&self, a: Atom) -> Done<Scalar> {
        match self.place(a)? {
            Place::Scalar(s) => Ok(s),
            Place::Buffer(_) => broken(format!("{a:?} is a buffer")),
        }
    }

    fn int(&self, a: Atom) -> Done<i64> {
        match self.scalar(a)? {
            Scalar::I64(n) => Ok(n),
            other => broken(format!("{other:?} is no `int`")),
        }
    }

    fn bool(&self, a: Atom) -> Done<bool> {
        match self.scalar(a)? {
            Scalar::Bool(b) => Ok(b),
            other => broken(format!("{other:?} is no `bool`")),
        }
    }

    fn ints(&self, atoms: &[Atom]) -> Done<Vec<i64>> {
        atoms.iter().map(|a| self.int(*a)).collect()
    }

    // ---- buffers ----

    fn hold(&mut self, held: Held<'a, M::Buffer>) -> Place {
        let at = match self.vacant.pop() {
            Some(at) => at,
            None => {
                self.slots.push((0, Held::Gone));
                self.slots.len() - 1
            }
        };
        let (turn, slot) = &mut self.slots[at];
        *turn += 1;
        *slot = held;
        Place::Buffer(Slot { at, turn: *turn, first: 0 })
    }

    fn slot(&self, v: Var) -> Done<Slot> {
        match self.place(Atom::Var(v))? {
            Place::Buffer(slot) => Ok(slot),
            Place::Scalar(_) => broken(format!("{v:?} is no buffer")),
        }
    }

    /// A buffer, its base type and its dims under this name.
    fn buffer(&self, v: Var) -> Done<(Slot, BaseTy, Vec<i64>)> {
        let Some(ty) = self.p.buffer_ty(v) else { return broken(format!("{v:?} is no buffer")) };
        Ok((self.slot(v)?, ty.base, self.ints(&ty.dims)?))
    }

    /// What is in a slot, if it may be written.
    fn written(&self, slot: Slot) -> Done<&M::Buffer> {
        match held(&self.slots, slot)? {
            Held::Owned(buffer) => Ok(buffer),
            _ => broken("a parameter is written"),
        }
    }

    /// Takes a buffer away from the plan.
    fn take(&mut self, v: Var) -> Done<M::Buffer> {
        let slot = self.slot(v)?;
        if !matches!(held(&self.slots, slot)?, Held::Owned(_)) {
            return broken(format!("the parameter {v:?} is given away"));
        }
        self.vacant.push(slot.at);
        match std::mem::replace(&mut self.slots[slot.at].1, Held::Gone) {
            Held::Owned(buffer) => Ok(buffer),
            Held::Borrowed(_) | Held::Gone => broken(format!("{v:?} is gone")),
        }
    }

    fn results(mut self) -> Done<Vec<Given<M::Buffer>>> {
        let mut given = Vec::with_capacity(self.p.results.len());
        for a in &self.p.results {
            given.push(match self.place(*a)? {
                Place::Scalar(s) => Given::Scalar(s),
                Place::Buffer(_) => {
                    let Some(v) = a.as_var() else { return broken("a constant buffer") };
                    let (_, base, dims) = self.buffer(v)?;
                    let dims = dims.iter().map(|n| usize::try_from(*n)).collect::<Result<_, _>>();
                    let Ok(dims) = dims else { return broken(format!("{v:?} has a negative size")) };
                    Given::Buffer { buffer: self.take(v)?, base, dims }
                }
            });
        }
        match self.slots.iter().any(|(_, held)| matches!(held, Held::Owned(_))) {
            true => broken("a buffer is neither freed nor given"),
            false => Ok(given),
        }
    }

    // ---- statements ----

    fn block(&mut self, block: &'a [Stmt]) -> Done {
        self.depth += 1;
        if self.depth > DEEPEST {
            return broken("a plan that is nested too deeply");
        }
        block.iter().try_for_each(|s| self.stmt(s))?;
        self.depth -= 1;
        Ok(())
    }

    fn stmt(&mut self, s: &'a Stmt) -> Done {
        match &s.kind {
            StmtKind::Let { var, exp } => self.let_(*var, exp),
            StmtKind::Store { buffer, at, value } => {
                let (at, value) = (self.ints(at)?, self.scalar(*value)?);
                let (slot, base, dims) = self.buffer(*buffer)?;
                self.written(slot)?;
                match element(&at, &dims).filter(|_| value.ty() == base) {
                    Some(index) => self.machine.store(memory(&self.slots, slot)?, index, value),
                    None => broken(format!("{value:?} is stored at {at:?} of {dims:?}")),
                }
            }
            StmtKind::For { how: _, var, range, carried, body, next } => {
                let (from, to) = self.range(range)?;
                self.enter(carried)?;
                let mut i = from;
                while i < to {
                    self.bind(*var, Place::Scalar(Scalar::I64(i)));
                    self.block(body)?;
                    self.again(carried, next)?;
                    // Below `to`, so it does not wrap.
                    i += 1;
                }
                self.leave(carried)
            }
            StmtKind::While { carried, cond, test, body, next } => {
                self.enter(carried)?;
                loop {
                    self.block(cond)?;
                    if !self.bool(*test)? {
                        return self.leave(carried);
                    }
                    self.block(body)?;
                    self.again(carried, next)?;
                }
            }
            StmtKind::If { cond, then, otherwise, results } => {
                let holds = self.bool(*cond)?;
                self.block(if holds { then } else { otherwise })?;
                let values = results.iter().map(|c| self.place(if holds { c.then } else { c.otherwise }));
                let values = values.collect::<Done<Vec<_>>>()?;
                results.iter().zip(values).for_each(|(c, v)| self.bind(c.var, v));
                Ok(())
            }
            StmtKind::Check { trap, cond, values } => self.check(trap, *cond, values, s.prov),
            StmtKind::Alloc { buffer } => {
                let Some(ty) = self.p.buffer_ty(*buffer) else {
                    return broken(format!("{buffer:?} is no buffer"));
                };
                let dims = self.ints(&ty.dims)?;
                let memory = self.machine.alloc(s.prov, ty.base, &dims)?;
                let place = self.hold(Held::Owned(memory));
                self.bind(*buffer, place);
                Ok(())
            }
            StmtKind::Free { buffer } => {
                let memory = self.take(*buffer)?;
                self.machine.free(memory);
                Ok(())
            }
            StmtKind::Alias { buffer, of } => {
                let slot = self.slot(*of)?;
                self.bind(*buffer, Place::Buffer(slot));
                Ok(())
            }
            StmtKind::Slice { buffer, of, first } => {
                let (slot, _, dims) = self.buffer(*of)?;
                let cell = dims.get(1..).unwrap_or_default();
                let row = match cell.contains(&0) {
                    true => Some(0),
                    false => cell.iter().try_fold(1i64, |n, d| n.checked_mul(*d)),
                };
                let skipped = row.and_then(|row| row.checked_mul(self.int(*first).ok()?));
                let first = skipped.and_then(|n| slot.first.checked_add(usize::try_from(n).ok()?));
                let Some(first) = first else {
                    return broken(format!("{buffer:?} begins nowhere in {of:?}"));
                };
                self.bind(*buffer, Place::Buffer(Slot { first, ..slot }));
                Ok(())
            }
            StmtKind::Launch { kernel, args } => self.launch(*kernel, args, s.prov),
            StmtKind::Sort { keys, out, gives, .. } => self.sort(keys, *out, *gives),
            StmtKind::Pull { channel, at, take, count, elements, buffers } => {
                let at = u64::try_from(self.int(*at)?).unwrap_or(0);
                let number = |n: i64| u64::try_from(n).unwrap_or(0);
                let take = match take {
                    Take::Multiple(n) => stream::Take::Multiple(number(self.int(*n)?).max(1)),
                    Take::Exactly(n) => stream::Take::Exactly(number(self.int(*n)?)),
                    Take::All => stream::Take::All,
                };
                let endless = self.p.channels.get(*channel).is_some_and(|c| c.is_endless());
                let (n, all) = match take {
                    stream::Take::Exactly(n) if endless => (usize::try_from(n).unwrap_or(0), Vec::new()),
                    _ => self.machine.pull(s.prov, *channel, at, take)?,
                };
                if all.len() != buffers.len() {
                    return broken(format!("{} arrays of channel {channel}", all.len()));
                }
                self.bind(*count, Place::Scalar(Scalar::I64(n as i64)));
                let arrays = self.p.channels.get(*channel).map(|c| c.arrays.as_slice()).unwrap_or_default();
                let ragged = arrays.iter().zip(&all).filter(|(a, _)| a.starts.is_some());
                let ragged: Vec<usize> = ragged.map(|(_, (many, _))| *many).collect();
                for (n, many) in elements.iter().zip(ragged) {
                    self.bind(*n, Place::Scalar(Scalar::I64(many as i64)));
                }
                for (b, (_, memory)) in buffers.iter().zip(all) {
                    let place = self.hold(Held::Owned(memory));
                    self.bind(*b, place);
                }
                Ok(())
            }
            StmtKind::Push { channel, buffers } => {
                let mut slots = Vec::new();
                for b in buffers {
                    let (slot, base, dims) = self.buffer(*b)?;
                    let dims = dims.iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect::<Vec<_>>();
                    slots.push((slot, base, dims));
                }
                let mut all = Vec::new();
                for (slot, base, dims) in slots {
                    all.push((memory(&self.slots, slot)?, base, dims));
                }
                self.machine.push(s.prov, *channel, &all)
            }
            StmtKind::Chain { .. }
            | StmtKind::Points { .. }
            | StmtKind::Barrier
            | StmtKind::Update { .. }
            | StmtKind::Collective { .. } => broken("a statement of kernels in the plan"),
        }
    }

    fn let_(&mut self, var: Var, exp: &Exp) -> Done {
        if self.fused.products.contains(&var) {
            return Ok(());
        }
        let value = match exp {
            Exp::Atom(a) => self.place(*a)?,
            Exp::Op(op, args) => Place::Scalar(match self.fused.sums.get(&var) {
                Some([x, y, z]) => multiply_add([self.scalar(*x)?, self.scalar(*y)?, self.scalar(*z)?])?,
                None => {
                    let args = args.iter().map(|a| self.scalar(*a)).collect::<Done<Vec<_>>>()?;
                    operator(*op, &args)?
                }
            }),
            Exp::Cast(to, a) => Place::Scalar(conversion(*to, self.scalar(*a)?)?),
            Exp::Bits(a) => Place::Scalar(bits(self.scalar(*a)?)?),
            Exp::Load { buffer, at } => {
                let at = self.ints(at)?;
                let (slot, base, dims) = self.buffer(*buffer)?;
                let Some(index) = element(&at, &dims) else {
                    return broken(format!("{buffer:?} is loaded at {at:?} of {dims:?}"));
                };
                Place::Scalar(self.machine.load(memory(&self.slots, slot)?, base, slot.first + index)?)
            }
            Exp::Workers => Place::Scalar(Scalar::I64(self.machine.workers() as i64)),
            Exp::Test(t) => {
                let size = self.int(t.size)?;
                Place::Scalar(Scalar::Bool(self.machine.test(t, size)))
            }
        };
        self.bind(var, value);
        Ok(())
    }

    fn range(&self, range: &Range) -> Done<(i64, i64)> {
        Ok(match *range {
            Range::Upto { from, to } => (self.int(from)?, self.int(to)?),
            Range::Tile { index, size, limit } => tile(self.int(index)?, self.int(size)?, self.int(limit)?),
            Range::Share { .. } => return broken("a thread's share in the plan"),
        })
    }

    fn enter(&mut self, carried: &[Carried]) -> Done {
        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        self.again(carried, &inits)
    }

    /// Gives all that a loop carries its next value, at the same time.
    fn again(&mut self, carried: &[Carried], next: &[Atom]) -> Done {
        if carried.len() != next.len() {
            return broken("a loop with another number of next values");
        }
        let values = next.iter().map(|a| self.place(*a)).collect::<Done<Vec<_>>>()?;
        carried.iter().zip(values).for_each(|(c, v)| self.bind(c.param, v));
        Ok(())
    }

    fn leave(&mut self, carried: &[Carried]) -> Done {
        for c in carried {
            let value = self.place(Atom::Var(c.param))?;
            self.bind(c.result, value);
        }
        Ok(())
    }

    fn check(&self, trap: &Trap, cond: Atom, values: &[Atom], prov: Prov) -> Done {
        if self.bool(cond)? {
            return Ok(());
        }
        let Some(number) = self.traps.get(trap).copied() else { return broken("an unknown check") };
        let values = values.iter().map(|a| Ok(self.scalar(*a)?.to_bits64())).collect::<Done<_>>()?;
        Err(Stopped::Trap { trap: number, prov: prov.0, values })
    }

    fn launch(&mut self, id: KernelId, args: &[Atom], prov: Prov) -> Done {
        let p = self.p;
        let Some(kernel) = p.kernels.get(id) else { return broken(format!("there is no kernel {id:?}")) };
        if args.len() != kernel.params.len() {
            return broken(format!("a launch of {id:?} with {} arguments", args.len()));
        }
        let mut grid = Vec::with_capacity(kernel.grid.len());
        for (_, size) in &kernel.grid {
            let size = match size {
                Atom::Const(_) => *size,
                Atom::Var(v) => match kernel.params.iter().position(|p| p == v) {
                    Some(k) => args[k],
                    None => return broken(format!("the grid of {id:?} has a size that is not given")),
                },
            };
            grid.push(self.int(size)?);
        }
        if grid.iter().any(|n| *n <= 0) {
            return Ok(());
        }
        if grid.iter().try_fold(1i64, |n, d| n.checked_mul(*d)).is_none() {
            // No device has so much memory.
            let memory = self.machine.alloc(prov, BaseTy::I8, &grid)?;
            self.machine.free(memory);
            return broken(format!("memory for {grid:?}"));
        }
        let places = args.iter().map(|a| self.place(*a)).collect::<Done<Vec<_>>>()?;
        let arguments = places.into_iter().zip(&kernel.params).map(|(place, of)| {
            Ok(match place {
                Place::Scalar(s) => Argument::Scalar(s),
                Place::Buffer(slot) => {
                    let buffer = memory(&self.slots, slot)?;
                    match (slot.first, p.buffer_ty(*of)) {
                        (0, _) => Argument::Buffer(buffer),
                        (first, Some(ty)) => Argument::Slice { buffer, base: ty.base, first },
                        (_, None) => return broken(format!("{of:?} is no buffer")),
                    }
                }
            })
        });
        self.machine.launch(id, &grid, &arguments.collect::<Done<Vec<_>>>()?)
    }

    fn sort(&mut self, keys: &[Var], out: Var, gives: Gives) -> Done {
        let out = self.slot(out)?;
        self.written(out)?;
        let mut items = None;
        let mut by = Vec::with_capacity(keys.len());
        for k in keys {
            let (slot, base, dims) = self.buffer(*k)?;
            let Some((first, cell)) = dims.split_first() else { return broken("a sort by a scalar") };
            let elements = cell.iter().try_fold(1i64, |n, d| n.checked_mul(*d));
            let Some(elements) = elements.and_then(|n| usize::try_from(n).ok()) else {
                return broken(format!("a sort by items of {cell:?}"));
            };
            items = Some(*first);
            by.push(SortKey { buffer: memory(&self.slots, slot)?, base, elements });
        }
        match items.map(usize::try_from) {
            Some(Ok(0)) => Ok(()),
            Some(Ok(n)) => self.machine.sort(&by, n, gives, memory(&self.slots, out)?),
            _ => broken("a sort of nothing, or of a negative number of items"),
        }
    }
}

fn held<'s, 'a, B>(slots: &'s [(u64, Held<'a, B>)], slot: Slot) -> Done<&'s Held<'a, B>> {
    match slots.get(slot.at) {
        Some((turn, held)) if *turn == slot.turn && !matches!(held, Held::Gone) => Ok(held),
        _ => broken("a buffer is used after it is freed or given away"),
    }
}

/// The buffer in a slot.
fn memory<'s, B>(slots: &'s [(u64, Held<'_, B>)], slot: Slot) -> Done<&'s B> {
    match held(slots, slot)? {
        Held::Borrowed(buffer) => Ok(buffer),
        Held::Owned(buffer) => Ok(buffer),
        Held::Gone => broken("a buffer is gone"),
    }
}

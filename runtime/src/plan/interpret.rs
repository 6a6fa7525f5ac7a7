//! A machine whose memory is lists of scalars and whose kernels are interpreted: what a Kernel program
//! means, slowly, and with every access watched. It is what devices are compared with when a program is
//! wrong and the question is from which stage on.
//!
//! The blocks of a grid run one after the other, and the threads of a block from one barrier to the next,
//! in ascending or in descending order; the iterations of every loop in ascending order, whatever runs in
//! lanes elsewhere. So integers are what they are on every device, and floats too where a reduction does
//! not round.
//!
//! Beyond what a device does it reports, as [`Stopped::Broken`]:
//!
//! - an index outside of a buffer, in each dim;
//! - an element that is read and was never written;
//! - a race: two blocks of a launch, or two threads of a block with no barrier between, touch an element and
//!   one of them writes. Scratch memory is a worker's, and what a chain hands on is meant for another block:
//!   these are left out;
//! - threads that do not all come to a barrier, or not with the same sizes;
//! - a variable that is mentioned before it has a value, or has one of another type than an operator takes.

mod block;

use super::watched::Clocked;
use super::{Argument, Machine, SortKey, broken};
use crate::heap;
use crate::stop::{Failure, Stopped};
use block::{Block, End};
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
type Done<T = ()> = Result<T, Stopped>;

/// A buffer.
#[derive(Debug)]
pub struct Memory {
    base: BaseTy,
    cells: RefCell<Vec<Cell>>,
}

/// An element, and who wrote and who read it last.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: Option<Scalar>,
    writer: Access,
    /// Whether the last one that wrote was an update, which may meet others.
    updated: bool,
    reader: Access,
}

/// Who touched an element: in which launch (counted from 1), which block, which of its threads, and after how
/// many barriers of that block.
#[derive(Clone, Copy, Debug, Default)]
struct Access {
    launch: u64,
    block: u64,
    barriers: u64,
    thread: u64,
}

/// In place of a block or thread: there were several.
const SEVERAL: u64 = u64::MAX;

impl Access {
    /// Whether nothing says which of the two comes first.
    fn races(self, other: Access) -> bool {
        self.launch == other.launch
            && (self.block != other.block || self.barriers == other.barriers && self.thread != other.thread)
    }

    /// This one after others: what a later access may race with.
    fn after(self, others: Access) -> Access {
        match others {
            o if o.launch != self.launch => self,
            o if o.block != self.block => Access { block: SEVERAL, ..self },
            o if o.barriers != self.barriers => self,
            o if o.thread != self.thread => Access { thread: SEVERAL, ..self },
            _ => self,
        }
    }
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
    launches: u64,
    /// Statements that were executed in the launch at hand, and what all launches cost.
    steps: std::cell::Cell<u64>,
    cost: u64,
}

/// What a launch costs, in steps, and how many threads run at the same time: for the clock of a machine that has none.
const LAUNCH: u64 = 2000;
const AT_ONCE: u64 = 4096;

impl<'p> Interpreter<'p> {
    /// A machine for the kernels of a program; `descending` runs their blocks in that order, where none waits
    /// for another one, and their threads.
    pub fn new(p: &'p Program, descending: bool) -> Interpreter<'p> {
        let threads = p.kernels.iter().filter_map(|(_, k)| k.threads).map(|(_, n)| u64::from(n)).max();
        Interpreter {
            p,
            traps: traps::numbers(&traps::traps(p)),
            fused: p.kernels.iter().map(|(_, k)| fused(p, &k.body)).collect(),
            descending,
            workers: 3 * threads.unwrap_or(1),
            limit: 1 << 30,
            used: 0,
            launches: 0,
            steps: std::cell::Cell::new(0),
            cost: 0,
        }
    }
}

/// Time is counted, not taken: a launch, and its statements by the threads that there are for them, at a step each
/// nanosecond. So it is the same in every run.
impl Clocked for Interpreter<'_> {
    fn now(&mut self) -> Done<f64> {
        Ok(self.cost as f64 * 1e-9)
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
        let Some(kernel) = self.p.kernels.get(id) else { return broken(format!("there is no {id:?}")) };
        let count: i64 = grid.iter().product();
        self.launches += 1;
        self.steps.set(0);
        let mut lowest: Option<Failure> = None;
        let descending = self.descending && !kernel.is_chained();
        for i in 0..count {
            let block = if descending { count - 1 - i } else { i };
            let mut run = Block::new(self, kernel, &self.fused[id.0 as usize], block as u64);
            run.enter(grid, args)?;
            match run.run() {
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
        let threads = kernel.threads.map_or(1, |(_, n)| u64::from(n));
        self.cost += LAUNCH + self.steps.get() / (count.max(1) as u64 * threads).min(AT_ONCE);
        lowest.map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn sort(
        &mut self,
        keys: &[SortKey<'_, Rc<Memory>>],
        items: usize,
        gives: Gives,
        out: &Rc<Memory>,
    ) -> Done {
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
            let value = match (gives, columns.first()) {
                (Gives::Keys, Some((column, _))) => column[from],
                _ => Scalar::I64(from as i64),
            };
            self.store(out, i, value)?;
        }
        Ok(())
    }

    fn workers(&self) -> u64 {
        self.workers
    }
}

//! Flat → Kernel: arrays become buffers, spaces become grids of blocks, and what is left of the program
//! becomes the plan of the host.
//!
//! Each statement of Flat's host body becomes statements of the plan. A `seg-map` becomes an `alloc` for
//! each result and the `launch` of one kernel:
//!
//! ```text
//! (let (%ys) (seg-map grid ((%i %n)) (let %x (index %xs %i)) (let %y (op * %x 2)) (give %y)))
//!
//! (let %t …) (let %nb …)                                     how many iterations a block has; how many blocks
//! (alloc %ys)
//! (launch k0 (%n %t %nb %xs %ys))                            k0: see the header of [`crate::ir`]
//! ```
//!
//! | module | what it lowers |
//! | --- | --- |
//! | [`plan`] | host statements: scalars, `if`, loops, ownership of buffers |
//! | [`channels`] | streams: pieces that are taken, and given |
//! | [`appends`] | arrays one after the other, made or copied where they belong |
//! | [`seg`], [`reduce`], [`scan`], [`filter`], [`scatter`] | parallel operators: maps, reductions, scans, filters, results of computed places |
//! | [`columns`] | columns that are reduced a row of them at a time |
//! | [`ragged`] | rows of sizes of their own, made where they belong |
//! | [`one_pass`] | ragged rows whose lengths are read once: single-pass scans |
//! | [`rows`] | rows that the blocks of a GPU reduce |
//! | [`group`] | rows that the threads of a group do together |
//! | [`grid`] | the tiles that the blocks of a grid work on |
//! | [`threads`], [`blocked`] | the parallel operators again, for the threads of a GPU |
//! | [`schedule`] | which loop runs in lanes, which is jammed, how large the tiles are |
//! | [`operands`] | arrays that are transposed for those who read them across their rows |
//! | [`merge`] | the order of an array |
//! | [`sort`], [`digits`], [`select`] | the order of a row, or what is read of it |
//! | [`copied`] | rows that points copy, to read them again and again |
//! | [`outer_lanes`] | points that run in lanes though each has loops and arrays of its own: outer-loop vectorisation |
//! | [`serial`], [`fold`], [`writes`], [`views`] | the serial body of a point: loops, temporaries, destinations |
//! | [`fused`] | scans of scans, in one loop |
//! | [`nest`] | an axis that was two, in two loops |
//! | [`leaf`] | what it has meanwhile: operands and memory |
//! | [`double_buffer`] | states of a leaf's loops that are made anew, in two halves of memory |
//! | [`in_place`] | arrays of a leaf that are changed where they are |
//! | [`deferred`] | memory of a size that a kernel has to check first |
//! | [`build`] | kernels under construction: parameters on demand, blocks of statements |
//!
//! Sizes of tiles depend on sizes of the data alone, never on the number of threads, so that results are
//! the same on any number.

mod appends;
mod blocked;
mod build;
mod channels;
mod columns;
mod copied;
mod deferred;
mod digits;
mod double_buffer;
mod filter;
mod fold;
mod fused;
mod grid;
mod group;
mod in_place;
mod leaf;
mod merge;
mod nest;
mod one_pass;
mod operands;
mod outer_lanes;
mod plan;
mod ragged;
mod reduce;
mod rows;
mod scan;
mod scatter;
mod schedule;
mod seg;
mod select;
mod serial;
mod sort;
mod threads;
mod views;
mod writes;

use crate::ir::*;
use crate::memory;
use crate::schedule::{Field, Fields, Schedule, Schedules};
use remc_base::Name;
use remc_base::pass::PassInfo;
use remc_flat::ir as flat;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub const PASS: PassInfo = PassInfo {
    name: "lower",
    from: "flat",
    to: "kernel",
    summary: "gives arrays memory, spaces a schedule, and the host a plan",
};

/// What has no lowering: a mistake of the compiler, since Flat's verifier has accepted the program.
#[derive(Clone, PartialEq, Debug)]
pub struct LowerError(pub String);

pub(crate) type L<T> = Result<T, LowerError>;

pub(crate) fn wrong<T>(message: impl Into<String>) -> L<T> {
    Err(LowerError(message.into()))
}

/// Lowers a program.
///
/// # Errors
/// A form that Flat's verifier should have refused.
pub fn lower(p: &flat::Program) -> L<Program> {
    lower_with(p, Target::default())
}

/// For whom kernels are made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Target {
    /// Whether threads of a block run side by side, as on a GPU; else a block is a thread's, and has lanes.
    pub threads: bool,
    /// The schedule of operators that have no other.
    pub schedule: Schedule,
}

impl Target {
    pub fn gpu() -> Target {
        Target { threads: true, schedule: Schedule::default() }
    }

    /// A processor, with blocks of so many operations.
    pub fn cpu(grain: i64) -> Target {
        Target { threads: false, schedule: Schedule::default().with(Field::Grain, grain.max(1)) }
    }

    /// With blocks of so many operations, or threads.
    #[must_use]
    pub fn grained(mut self, grain: i64) -> Target {
        let field = if self.threads { Field::ThreadGrain } else { Field::Grain };
        self.schedule.set(field, grain.max(1));
        self
    }
}

/// The same for some target.
///
/// # Errors
/// A form that Flat's verifier should have refused.
pub fn lower_with(p: &flat::Program, target: Target) -> L<Program> {
    Ok(lower_scheduled(p, target.threads, Schedules { all: target.schedule, ..Schedules::default() })?
        .program)
}

/// A lowered program, and the numbers that decided about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    pub program: Program,
    /// For each operator, by its name, the fields that were read.
    pub used: BTreeMap<Name, Fields>,
}

/// The same with a schedule for each operator.
///
/// # Errors
/// As [`lower`]; or numbers that cannot be together.
pub fn lower_scheduled(p: &flat::Program, threads: bool, schedules: Schedules) -> L<Lowered> {
    if let Some((site, why)) = schedules.conflict() {
        let of = site.map(|s| format!(" of {s}")).unwrap_or_default();
        return wrong(format!("the schedule{of}: {why}"));
    }
    let mut l = plan::Plan::new(p, threads, schedules);
    l.params()?;
    let results = l.program_body(&p.body)?;
    let (mut program, mut used) = l.finish(results);
    memory::insert_frees(&mut program);
    let named = program.kernels.iter().map(|(_, k)| k).filter(|k| !k.site.as_str().is_empty());
    for k in named {
        let of = used.entry(k.site.clone()).or_default();
        crate::schedule::read_by_code(k, threads).iter().for_each(|f| of.insert(f));
    }
    Ok(Lowered { program, used })
}

/// An array, or a cell of one: the elements of `buffer` whose first indices are `prefix`, and whose last one is `lane`
/// where several points have such an array side by side.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Place {
    pub buffer: Var,
    pub prefix: Vec<Atom>,
    pub lane: Option<Atom>,
    /// Where the array is a row of a vector.
    pub row: Option<Row>,
    /// The number of an index, and what is added to it, where the array is those of another's items from one on.
    pub from: Option<(usize, Atom)>,
    /// Which of the indices each axis of the buffer takes, if not that of its own number ([`remc_flat::ir::Seg::orders`]).
    pub order: Vec<usize>,
}

/// Elements of a vector, as an array in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    pub start: Atom,
    /// The array's dims but the first.
    pub inner: Vec<Atom>,
}

impl Place {
    pub fn whole(buffer: Var) -> Place {
        Place { buffer, prefix: Vec::new(), lane: None, row: None, from: None, order: Vec::new() }
    }

    /// The indices of an element, as those see it who read what has been made.
    pub fn indices(&self, at: &[Atom]) -> Vec<Atom> {
        self.prefix.iter().chain(at).chain(&self.lane).copied().collect()
    }

    /// Those indices as the buffer has its axes.
    pub fn ordered(&self, all: Vec<Atom>) -> Vec<Atom> {
        match self.order.is_empty() {
            true => all,
            false => self.order.iter().filter_map(|k| all.get(*k)).copied().collect(),
        }
    }

    /// The items from one on, if they can be told from this place.
    pub fn items_from(&self, start: Atom) -> Option<Place> {
        if start == Atom::int(0) {
            return Some(self.clone());
        }
        let plain = self.row.is_none() && self.from.is_none();
        plain.then(|| Place { from: Some((self.prefix.len(), start)), ..self.clone() })
    }

    /// As those see it who read what has been made, whatever the order it was made in.
    pub fn made(self) -> Place {
        Place { order: Vec::new(), ..self }
    }

    pub fn cell(&self, indices: &[Atom]) -> Place {
        let prefix = self.prefix.iter().chain(indices).copied().collect();
        Place { prefix, ..self.clone() }
    }
}

/// What a variable of Flat has become.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Bound {
    Scalar(Atom),
    Array(Place),
}

pub(crate) type Env = FxHashMap<Var, Bound>;

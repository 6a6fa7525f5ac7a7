//! The optimiser of Mono: one list of passes, each a function of a program alone.
//!
//! | pass | what it leaves for the next |
//! | --- | --- |
//! | [`simplify`] | no copies, constants folded, perfect nests as one map |
//! | [`views`] | indices of views as arithmetic on the indices of their arrays |
//! | [`cse`] | one statement for each value |
//! | [`hoist`] | loops without what does not change in them |
//! | [`dce`] | nothing that nobody uses, so that a producer's uses can be counted |
//! | [`interchange`] | reductions, scans and loops of scalars in the place of those of arrays |
//! | [`unroll`] | scalars in the place of small arrays inside iterations |
//! | [`grow`] | no array that is longer, or shorter, in each round of a loop |
//! | [`rows`] | no vector of all rows of a join that only one iteration reads, row by row |
//! | [`fuse`] | no array that need not be: what a map makes is computed where it is read |
//! | [`kept`] | no array of what a filter keeps where it is only reduced |
//! | [`siblings`] | one iteration where neighbours had the same axes |
//! | [`scanned`] | no array of a serial scan's values that only reductions and scans read |
//! | [`segment`] | no array inside an iteration of a size of its own; once, and then the others again |
//! | [`choose`] | selections in the place of branches where elements run side by side; once, after the rounds of the others |
//! | [`stage`] | nothing that a scatter reads while it writes, and no copies of rows that a round leaves; once, too |
//! | [`early`] | checks of sizes before the work that they do not ask about; once, too |
//! | [`compact`] | tables without what is left over; once, last |
//!
//! No pass changes what a program means: a `check` runs where it ran before, or before what cannot stop the program, or
//! not at all (if it is known to hold), and what runs is what ran before, or cannot stop the program. Sums of floats keep their
//! order.

pub mod choose;
pub mod compact;
pub mod cse;
pub mod dce;
pub mod early;
pub mod facts;
pub mod fuse;
pub mod grow;
pub mod hoist;
pub mod interchange;
pub mod kept;
mod key;
pub mod poly;
mod rounds;
pub mod rows;
pub mod scanned;
pub mod segment;
#[cfg(test)]
pub(crate) mod shorthand;
pub mod siblings;
pub mod simplify;
pub mod stage;
pub mod unroll;
pub mod views;

use crate::ir::Program;
use remc_base::pass::PassInfo;

pub use rounds::{Rounds, RowsAre};

/// A pass from Mono to Mono.
#[derive(Clone, Copy)]
pub struct Pass {
    pub info: PassInfo,
    pub run: fn(&mut Program),
}

/// Every pass, in the order in which they run: all but the last five in rounds, until nothing changes.
pub const PASSES: &[Pass] = &[
    Pass { info: simplify::PASS, run: simplify::simplify },
    // Once copies are gone, an index of a view sees the view.
    Pass { info: views::PASS, run: views::views },
    // The arithmetic of indices is often the same for several arrays.
    Pass { info: cse::PASS, run: cse::cse },
    // One statement for each value: the rest of a loop depends on what it computes itself.
    Pass { info: hoist::PASS, run: hoist::hoist },
    // Fusion counts the uses of an array; what nobody uses must not count.
    Pass { info: dce::PASS, run: dce::dce },
    // Before fusion puts the elements' work where it would be done for each element of a state.
    Pass { info: interchange::PASS, run: interchange::interchange },
    // Small arrays are scalars before fusion could copy what makes them.
    Pass { info: unroll::PASS, run: unroll::unroll },
    // What one round makes of a few items are scalars now, and no loop is a reduction of others yet.
    Pass { info: grow::PASS, run: grow::grow },
    // What is made where it is read is what fusion takes in.
    Pass { info: rows::PASS, run: rows::rows },
    Pass { info: fuse::PASS, run: fuse::fuse },
    // What fusion has put into reductions is what reads a filter's items.
    Pass { info: kept::PASS, run: kept::kept },
    // Fusion first: a reduction that has taken in its map has neighbours that have, too.
    Pass { info: siblings::PASS, run: siblings::siblings },
    // Neighbouring scans are one, and what reads their values has taken in the maps between.
    Pass { info: scanned::PASS, run: scanned::scanned },
    // When there is nothing left to fuse: what it takes apart is not put together again.
    Pass { info: segment::PASS, run: segment::segment },
    // What a branch reads, and what only it may know, is of use to the passes before.
    Pass { info: choose::PASS, run: choose::choose },
    // Fusion would put what is computed first back to where it is read.
    Pass { info: stage::PASS, run: stage::stage },
    // Fusion, too, would move arrays to where they are read.
    Pass { info: early::PASS, run: early::early },
    // When all is done: what the others left behind is for nobody.
    Pass { info: compact::PASS, run: compact::compact },
];

/// Runs the list as it is meant to be run.
pub fn optimise(p: &mut Program) {
    optimise_with(p, Rounds::default());
}

/// The same for devices on which rows of sizes of their own are such.
pub fn optimise_for(p: &mut Program, rows: RowsAre) {
    optimise_with(p, Rounds::for_rows(rows));
}

fn optimise_with(p: &mut Program, mut rounds: Rounds) {
    while let Some(k) = rounds.next(p) {
        rounds.run(k, p);
    }
}

/// The pass of that name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.info.name == name)
}

//! The order in which passes run: the list without its last five passes, again and again, until a round changes
//! nothing; then [`super::segment`], once, and rounds again if it did something; then the last four.

use super::{PASSES, key};
use crate::ir::Program;

/// The rounds after which a program is left as it is. Most are done after three.
const MOST_ROUNDS: usize = 10;

/// Who does a row of a size of its own, of those that [`super::segment`] could distribute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum RowsAre {
    /// All threads, each operator of the row by itself over the elements of all rows.
    #[default]
    Distributed,
    /// One thread, the whole row: [`crate::legal::own_sizes`].
    Tasks,
    /// The threads of a group, the whole row together: [`crate::legal::group_sizes`].
    Groups,
}

/// Says which pass is next, for whoever runs them one by one.
#[derive(Default)]
pub struct Rounds {
    round: usize,
    pass: usize,
    before: Option<key::Key>,
    segmented: bool,
    /// The rows that [`super::segment`] leaves.
    rows: RowsAre,
    /// How many of the last passes have run.
    finished: usize,
}

impl Rounds {
    /// All of them, for devices on which rows are such.
    pub fn for_rows(rows: RowsAre) -> Rounds {
        Rounds { rows, ..Rounds::default() }
    }

    /// Those of a program in which the first passes have nothing left to do.
    pub fn at_segment(rows: RowsAre) -> Rounds {
        Rounds { round: MOST_ROUNDS, rows, ..Rounds::default() }
    }

    /// Runs the pass at a place in [`PASSES`].
    pub fn run(&self, k: usize, p: &mut Program) {
        match PASSES[k].info {
            info if info == super::segment::PASS => super::segment::segment_for(p, self.rows),
            info if info == super::stage::PASS => super::stage::stage_for(p, self.rows),
            _ => (PASSES[k].run)(p),
        }
    }

    /// The place in [`PASSES`] of the pass to run now on the program as it is; `None` when there is
    /// nothing left to do.
    pub fn next(&mut self, p: &Program) -> Option<usize> {
        let segment = PASSES.len() - 5;
        if self.finished > 0 {
            return self.finish(segment);
        }
        if self.pass == segment {
            self.pass = 0;
            self.round += 1;
        }
        if self.pass == 0 {
            let now = key::of_body(p, &p.body);
            // Not by `==`, to which a NaN is another each time.
            if self.round == MOST_ROUNDS || self.before.as_ref() == Some(&now) {
                if std::mem::replace(&mut self.segmented, true) {
                    return self.finish(segment);
                }
                self.round = 0;
                self.before = Some(now);
                return Some(segment);
            }
            self.before = Some(now);
        }
        self.pass += 1;
        Some(self.pass - 1)
    }

    /// The next of the passes behind that one.
    fn finish(&mut self, segment: usize) -> Option<usize> {
        self.finished += 1;
        Some(segment + self.finished).filter(|k| *k < PASSES.len())
    }
}

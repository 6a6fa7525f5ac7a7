//! The order in which passes run: the list, again and again, until a round changes nothing.

use super::{PASSES, key};
use crate::ir::Program;

/// The rounds after which a program is left as it is. Most are done after three.
const MOST_ROUNDS: usize = 10;

/// Says which pass is next, for whoever runs them one by one.
#[derive(Default)]
pub struct Rounds {
    round: usize,
    pass: usize,
    before: Option<key::Key>,
}

impl Rounds {
    /// The place in [`PASSES`] of the pass to run now on the program as it is; `None` when there is
    /// nothing left to do.
    pub fn next(&mut self, p: &Program) -> Option<usize> {
        if self.pass == PASSES.len() {
            self.pass = 0;
            self.round += 1;
        }
        if self.pass == 0 {
            let now = key::of_body(&p.body);
            // Not by `==`, to which a NaN is another each time.
            if self.round == MOST_ROUNDS || self.before.as_ref() == Some(&now) {
                return None;
            }
            self.before = Some(now);
        }
        self.pass += 1;
        Some(self.pass - 1)
    }
}

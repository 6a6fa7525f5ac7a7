//! The choices of a program between versions.

use remc_base::Name;
use remc_flat::ir::{Body, Compare, Exp, Program};

/// The choices of a program, in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Choices {
    /// Names and values; each is of one choice.
    pub thresholds: Vec<(Name, i64)>,
    pub choices: Vec<Choice>,
}

/// A `branch` of Flat: the first version runs where one of its tests holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The thresholds of its tests, by number, and how sizes are compared with each.
    pub tests: Vec<(usize, Compare)>,
    /// The choices around it, the outermost first, and whether it is in the first version of each.
    pub within: Vec<(usize, bool)>,
}

impl Choices {
    /// Those of a program.
    pub fn of(p: &Program) -> Choices {
        let mut found = Choices::default();
        found.body(&p.body, &mut Vec::new());
        found
    }

    fn body(&mut self, b: &Body, within: &mut Vec<(usize, bool)>) {
        for s in &b.stmts {
            let Exp::Branch { guard, then, otherwise } = &s.exp else {
                s.exp.bodies().into_iter().for_each(|b| self.body(b, within));
                continue;
            };
            let tests = guard.tests.iter().map(|t| {
                self.thresholds.push((t.threshold.clone(), t.value));
                (self.thresholds.len() - 1, t.compare)
            });
            let tests = tests.collect();
            self.choices.push(Choice { tests, within: within.clone() });
            let own = self.choices.len() - 1;
            for (version, first) in [(then, true), (otherwise, false)] {
                within.push((own, first));
                self.body(version, within);
                within.pop();
            }
        }
    }

    /// The values that the program has by itself.
    pub fn defaults(&self) -> Vec<i64> {
        self.thresholds.iter().map(|(_, value)| *value).collect()
    }

    /// Changes a setting so that a choice is come to, as far as sizes decide that.
    pub fn reach(&self, choice: usize, setting: &mut [i64]) {
        for (around, first) in &self.choices[choice].within {
            for (threshold, compare) in &self.choices[*around].tests {
                setting[*threshold] = always(*compare, *first);
            }
        }
    }
}

/// The value with which a test holds of every size, or of none.
pub fn always(compare: Compare, holds: bool) -> i64 {
    match (compare, holds) {
        (Compare::AtLeast, true) | (Compare::Below, false) => 0,
        (Compare::AtLeast, false) | (Compare::Below, true) => i64::MAX,
    }
}

//! A device, as the search for schedules drives it: the program compiled anew for each try, on data that stays.

use super::device::{How, Runs, why};
use super::kept::Store;
use crate::cpu;
use crate::progress::Progress;
use crate::report::{Outcome, on_terminal, to_stderr};
use remc_base::Name;
use remc_driver::Session;
use remc_driver::compile::{NEVER, Named, Number};
use remc_flat::by_size::{Of, Size, name};
use remc_kernel::ir::Program;
use remc_runtime::cpu::Limit;
use remc_tune::clock::{patience, too_slow};
use remc_tune::schedules::{Answer, Asked, Extent, Spending, Tunable, Workbench};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What lowers the program with other numbers.
pub type Compile<'c> = dyn Fn(&Named) -> Outcome<Arc<Program>> + 'c;

/// A program and its data sets on a device.
pub struct Operators<'s, D: Runs> {
    session: &'s Session,
    compile: &'s Compile<'s>,
    entry: &'s str,
    /// Of each operator those that versions of it could be chosen by.
    sizes: &'s BTreeMap<Name, Vec<Size>>,
    device: &'s D,
    bound: Vec<D::Bound>,
    /// What was compiled, with its numbers and what decides its code.
    codes: Vec<(Named, Program, D::Code)>,
    /// The code and the data set of each first run.
    begun: BTreeSet<(usize, usize)>,
    /// Of each data set the fastest run, in seconds.
    fastest: Vec<Option<f64>>,
    /// What is measured, for another search.
    kept: Option<Store>,
    until: Instant,
    shown: Option<Progress>,
}

impl<'s, D: Runs> Operators<'s, D> {
    pub fn new(
        session: &'s Session,
        (compile, entry, sizes): (&'s Compile<'s>, &'s str, &'s BTreeMap<Name, Vec<Size>>),
        device: &'s D,
        (bound, kept): (Vec<D::Bound>, Option<Store>),
        until: Instant,
    ) -> Operators<'s, D> {
        let (begun, fastest) = (BTreeSet::new(), vec![None; bound.len()]);
        Operators {
            session,
            compile,
            entry,
            sizes,
            device,
            bound,
            codes: Vec::new(),
            begun,
            fastest,
            kept,
            until,
            shown: None,
        }
    }
}

/// The numbers of a program that the search may change.
pub fn tunable(entry: &str, numbers: &[Number]) -> Vec<Tunable> {
    let of = |n: &Number| Tunable {
        name: n.name(entry),
        site: n.site.to_string(),
        field: n.field,
        value: n.value,
    };
    numbers.iter().map(of).collect()
}

impl<D: Runs> Operators<'_, D> {
    /// The least and the greatest size that a threshold is compared with in a run; `None` if none is, or it has no result.
    fn compared(&self, code: usize, set: usize, threshold: &str) -> Result<Option<(i64, i64)>, String> {
        let (.., code) = &self.codes[code];
        let values = FxHashMap::default();
        let how = How { under: Some(&values), limit: None };
        let Ok(once) = why(self.device.once(self.session, code, &self.bound[set], how))? else {
            return Ok(None);
        };
        let of = || once.tested.iter().filter(|(name, _)| name.as_str() == threshold).map(|(_, size)| *size);
        Ok(of().min().zip(of().max()))
    }
}

impl<D: Runs> Workbench for Operators<'_, D> {
    fn sets(&self) -> usize {
        self.bound.len()
    }

    fn compile(&mut self, numbers: &Named) -> Result<usize, String> {
        if let Some(known) = self.codes.iter().position(|(of, ..)| of == numbers) {
            return Ok(known);
        }
        let program = why((self.compile)(numbers))?;
        // Numbers that changed nothing make no other code.
        let mut decisive = program.as_ref().clone();
        let kernels: Vec<_> = decisive.kernels.iter().map(|(id, _)| id).collect();
        kernels.into_iter().for_each(|id| decisive.kernels[id].schedule.forget_lowering());
        if let Some(known) = self.codes.iter().position(|(_, of, _)| *of == decisive) {
            return Ok(known);
        }
        let code = why(self.device.load(self.session, program, false))?;
        self.codes.push((numbers.clone(), decisive, code));
        Ok(self.codes.len() - 1)
    }

    fn run(&mut self, code: usize, set: usize) -> Result<Spending, String> {
        // A first run may take minutes.
        let fastest = self.fastest[set].filter(|_| self.begun.insert((code, set)));
        let time = |fast| Duration::try_from_secs_f64(patience(fast)).unwrap_or(Duration::MAX);
        let limit = fastest.map(|fast| Limit { time: time(fast), ended: None });
        let (.., code) = &self.codes[code];
        let how = How { under: None, limit };
        let once = match why(self.device.once(self.session, code, &self.bound[set], how))? {
            Ok(once) => once,
            Err(cpu::Ended::Stopped(e)) => return Err(e.message),
            Err(cpu::Ended::Over) => return Err(too_slow(fastest.unwrap_or_default())),
        };
        self.fastest[set] = Some(self.fastest[set].map_or(once.seconds, |fast| fast.min(once.seconds)));
        Ok(Spending { seconds: once.seconds, of: once.of })
    }

    fn extents(&mut self, site: &str, numbers: &Named) -> Result<Vec<Extent>, String> {
        let sizes: &Vec<Size> = match self.sizes.get(&Name::new(site)) {
            Some(sizes) => sizes,
            None => return Ok(Vec::new()),
        };
        let mut all = Vec::new();
        // Constants are the same for all.
        for size in sizes.iter().filter(|s| s.factors.iter().any(|a| a.as_int().is_none())) {
            let threshold = name(self.entry, Of { site, version: 2, size: &size.name });
            let mut with = numbers.clone();
            with.insert(threshold.clone(), NEVER);
            let code = Workbench::compile(self, &with)?;
            let on = (0..self.bound.len())
                .map(|set| self.compared(code, set, &threshold))
                .collect::<Result<_, _>>()?;
            all.push(Extent { name: size.name.clone(), axes: size.factors.len(), on });
        }
        Ok(all)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until || super::outcome::is_interrupted()
    }

    fn recall(&mut self, asked: &Asked<'_>) -> Option<Vec<Answer>> {
        self.kept.as_ref()?.step(asked)
    }

    fn keep(&mut self, asked: &Asked<'_>, answers: &[Answer]) {
        if let Some(kept) = &mut self.kept {
            kept.put_step(asked, answers);
        }
    }

    fn trying(&mut self, what: &str) {
        self.shown = None;
        if on_terminal() {
            self.shown = Some(Progress::of_tuning(what.to_owned(), self.until));
        } else {
            to_stderr(&format!("  {what}\n"));
        }
    }
}

#[cfg(test)]
mod tests;

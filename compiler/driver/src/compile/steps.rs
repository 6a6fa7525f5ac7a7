//! The passes behind Explicit, each a step with a number: `--dump-dir` names its files by it, `--stop-after-pass N` cuts
//! the pipeline there. What must run to get to machine code runs all the same when code is wanted, so
//! that cutting off ever more of the optimiser finds the pass that breaks a program.

use super::kept::{Compiled, Kept};
use super::{C, CompileError, Named, Streams, Target, Thresholds, Watch, broken};
use crate::database::Db;
use crate::numbers::{numbers, set_numbers};
use crate::pipeline::Stage;
use remc_base::{GlobalId, Prov, Provenance};
use remc_explicit::ir::Definition;
use remc_kernel::schedule::Schedules;
use remc_mono::limits::{BuildError, TooLarge};
use remc_mono::{opt, stream};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The steps of one compilation.
pub(super) struct Steps<'s, 'o> {
    db: &'s dyn Db,
    /// How many parts a program may have.
    most: usize,
    /// How many passes have run; reading, checking and making lifting explicit are the first three.
    pub number: usize,
    /// The language to stop at, if no other is made.
    pub to: Option<&'static str>,
    /// The number of the last pass that runs.
    pub stop_after: Option<usize>,
    pub watch: Option<Watch<'o>>,
}

impl<'s> Steps<'s, '_> {
    pub fn new(db: &'s dyn Db, most: usize) -> Self {
        Steps { db, most, number: 3, to: None, stop_after: None, watch: None }
    }

    /// Says what the definitions are; they are made one by one, by queries of their own.
    pub fn explicit(&mut self, defs: &[Arc<Definition>]) {
        self.done(Stage::Explicitize, &|| remc_explicit::print::print_program(defs));
    }

    /// Builds the program of a definition, and optimises it before its rows are taken apart.
    pub fn mono(
        &mut self,
        defs: &[Arc<Definition>],
        target: &GlobalId,
        ranks: &[usize],
        given: &[GlobalId],
    ) -> C<remc_mono::ir::Program> {
        let by_name: FxHashMap<&GlobalId, &Arc<Definition>> = defs.iter().map(|d| (&d.name, d)).collect();
        let find = |g: &GlobalId| by_name.get(g).map(|d| (*d).clone());
        let most = self.most;
        let mut p = self.step(Stage::Build, || {
            remc_mono::build::build_given(&find, target, ranks, most, given).map_err(|e| match e {
                BuildError::Limitation(l) => CompileError::Limitation(l),
                BuildError::TooLarge(t) => CompileError::TooLarge(t),
                BuildError::Bug(message) => broken(Stage::Build, message),
            })
        })?;
        self.verify("build", || remc_mono::verify::verify(&p).map_err(|e| e.to_string()))?;
        self.done(Stage::Build, &|| remc_mono::print::print_program(&p));
        self.optimised(&mut p, opt::Rounds::default(), |k| opt::PASSES[k].info != opt::segment::PASS)?;
        Ok(p)
    }

    /// Takes rows of sizes of their own apart, but those that `rows` leaves, and optimises what comes of it.
    pub fn segmented(
        &mut self,
        mut p: remc_mono::ir::Program,
        rows: opt::RowsAre,
        streams: Streams,
    ) -> C<remc_mono::ir::Program> {
        match (stream::streams(&p), streams) {
            (true, Streams::Whole) => stream::whole(&mut p),
            (true, _) => {
                self.streamed(&mut p, stream::stream)?;
            }
            (false, Streams::Strips) => {
                self.streamed(&mut p, |p| {
                    if let Some(strips) = stream::strips(p) {
                        *p = strips;
                    }
                    Ok(())
                })?;
            }
            (false, _) => {}
        }
        self.optimised(&mut p, opt::Rounds::at_segment(rows), |_| true)?;
        Ok(p)
    }

    /// Makes loops over pieces, and optimises what is in them as the whole was.
    fn streamed(
        &mut self,
        p: &mut remc_mono::ir::Program,
        pieces: impl FnOnce(&mut remc_mono::ir::Program) -> Result<(), stream::Unstreamable>,
    ) -> C<()> {
        self.step(Stage::Stream, || {
            pieces(p).map_err(|e| {
                let at = if p.provs.contains(e.at) { p.provs.trace(e.at) } else { Vec::new() };
                CompileError::Unstreamable(e, at)
            })
        })?;
        self.verify("stream", || remc_mono::verify::verify(p).map_err(|e| e.to_string()))?;
        self.done(Stage::Stream, &|| remc_mono::print::print_program(p));
        self.optimised(p, opt::Rounds::default(), |k| opt::PASSES[k].info != opt::segment::PASS)
    }

    /// Runs passes as long as `goes_on` says of the next one.
    fn optimised(
        &mut self,
        p: &mut remc_mono::ir::Program,
        mut rounds: opt::Rounds,
        goes_on: impl Fn(usize) -> bool,
    ) -> C<()> {
        while let Some(k) = rounds.next(p).filter(|k| goes_on(*k)) {
            if self.stop_after.is_some_and(|n| self.number >= n) || self.ends(Stage::Build) {
                break;
            }
            let stage = Stage::Optimise(k);
            self.step(stage, || {
                rounds.run(k, p);
                Ok(())
            })?;
            let name = stage.info().name;
            let first = p.body.stmts.first().map(|s| s.prov);
            self.within_limit(name, p.body.count(), &p.provs, first)?;
            self.verify(name, || remc_mono::verify::verify(p).map_err(|e| e.to_string()))?;
            self.done(stage, &|| remc_mono::print::print_program(p));
        }
        Ok(())
    }

    /// Decides what runs in parallel. It is not done before it has its numbers.
    pub fn flat(
        &mut self,
        mono: &remc_mono::ir::Program,
        thresholds: &Thresholds,
    ) -> C<remc_flat::ir::Program> {
        self.step(Stage::Flatten, || {
            remc_flat::flatten::flatten_with(mono, thresholds).map_err(|e| broken(Stage::Flatten, e.0))
        })
    }

    /// Gives numbers of a program other values; the schedules of its operators.
    pub fn numbered(
        &mut self,
        mut flat: remc_flat::ir::Program,
        values: &Named,
        target: Target,
    ) -> C<(remc_flat::ir::Program, Schedules)> {
        let schedules = set_numbers(&mut flat, values, target)?;
        let first = flat.body.stmts.first().map(|s| s.prov);
        self.within_limit(Stage::Flatten.info().name, flat.body.count(), &flat.provs, first)?;
        self.verify("flatten", || remc_flat::verify::verify(&flat).map_err(|e| e.to_string()))?;
        self.done(Stage::Flatten, &|| remc_flat::print::print_program(&flat));
        Ok((flat, schedules))
    }

    /// Makes kernels and the plan that launches them.
    pub fn kernels(
        &mut self,
        flat: &remc_flat::ir::Program,
        schedules: Schedules,
        threads: bool,
    ) -> C<Compiled> {
        let lowered = self.step(Stage::Lower, || {
            remc_kernel::lower::lower_scheduled(flat, threads, schedules.clone())
                .map_err(|e| broken(Stage::Lower, e.0))
        })?;
        let program = lowered.program;
        self.verify("lower", || {
            remc_kernel::verify::verify(&program).map_err(|e| e.to_string())?;
            remc_kernel::race::check(&program).map_err(|e| e.to_string())
        })?;
        self.done(Stage::Lower, &|| remc_kernel::print::print_program(&program));
        let numbers = numbers(&lowered.used, &schedules);
        Ok(Compiled { program: Arc::new(program), numbers, kept: Kept::default() })
    }

    /// Runs a pass.
    fn step<T>(&mut self, stage: Stage, run: impl FnOnce() -> C<T>) -> C<T> {
        let _timed = self.db.timings().enter(stage);
        self.number += 1;
        run()
    }

    fn done(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        if let Some(watch) = &mut self.watch {
            watch(self.number, stage, text);
        }
    }

    /// Whether the pipeline ends with the pass that has just run.
    fn ends(&self, stage: Stage) -> bool {
        self.to == Some(stage.info().to) && self.stop_after == Some(self.number)
    }

    /// A pass leaves no more of a program than there may be.
    fn within_limit(
        &self,
        pass: &'static str,
        count: usize,
        provs: &Provenance,
        first: Option<Prov>,
    ) -> C<()> {
        if count <= self.most {
            return Ok(());
        }
        let at = first.filter(|p| provs.contains(*p)).map(|p| provs.trace(p)).unwrap_or_default();
        Err(CompileError::TooLarge(TooLarge { pass: Some(pass), most: self.most, at }))
    }

    fn verify(&self, what: &str, verify: impl FnOnce() -> Result<(), String>) -> C<()> {
        let _timed = self.db.timings().enter(Stage::Verify);
        verify().map_err(|e| broken(Stage::Verify, format!("after {what}: {e}")))
    }
}

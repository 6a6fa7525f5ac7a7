//! From a linked program to kernels: one entry through every room of the compiler.
//!
//! Each pass is one step with a number: `--dump-dir` names its files by it, `--stop-after-pass N` cuts
//! the pipeline there. What must run to get to machine code runs all the same when code is wanted, so
//! that cutting off ever more of the optimiser finds the pass that breaks a program.

use crate::database::{Db, SourceFile};
use crate::names;
pub use crate::numbers::{Kind, Number, number};
use crate::numbers::{numbers, set_numbers};
use crate::pipeline::Stage;
use crate::program::LinkedProgram;
use crate::queries;
use crate::session::{InternalBug, Session};
use remc_base::{GlobalId, Name, Prov, Provenance};
use remc_explicit::ir::Definition;
pub use remc_flat::flatten::{ALWAYS, NEVER, Threshold, Thresholds};
pub use remc_flat::ir::Named;
pub use remc_kernel::lower::Target;
pub use remc_kernel::schedule::{Field, Schedule};
use remc_mono::build::MOST_PARTS;
use remc_mono::limits::{BuildError, Limitation, TooLarge};
use remc_mono::opt;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A program in one of the languages of the compiler.
#[derive(Clone, Debug)]
pub enum Stop {
    Explicit(Vec<Arc<Definition>>),
    Mono(remc_mono::ir::Program),
    Flat(remc_flat::ir::Program),
    Kernel(remc_kernel::ir::Program),
}

/// Why a program has no kernels.
#[derive(Clone, PartialEq, Debug)]
pub enum CompileError {
    Limitation(Limitation),
    TooLarge(TooLarge),
    /// A value for a number that the program does not have, the names of its thresholds, and those of its operators.
    NoNumber(String, Vec<Name>, Vec<Name>),
    /// Numbers of a schedule that cannot be, or not together: of which operator, or of all; and why.
    Numbers(Option<Name>, String),
    Bug(InternalBug),
}

impl From<InternalBug> for CompileError {
    fn from(bug: InternalBug) -> CompileError {
        CompileError::Bug(bug)
    }
}

/// Is told of a pass: its number, name, and how to print the program.
pub type Watch<'o> = &'o mut dyn FnMut(usize, Stage, &dyn Fn() -> String);

/// Is told numbers of schedules.
pub type Read<'o> = &'o dyn Fn(&[Number]);

/// How far, and who watches.
#[derive(Default)]
pub struct Options<'o> {
    /// The language to stop at, as its passes call it.
    pub to: Option<&'static str>,
    /// The number of the last pass that runs; passes that another language needs run all the same.
    pub stop_after: Option<usize>,
    /// Told of each pass once it has run: its number, name, the language, and the program's text.
    pub watch: Option<Watch<'o>>,
    pub tuning: Tuning,
    /// Gives values for single numbers of a program, by their names, which go before those of their kinds: for its
    /// thresholds, and for the schedules of its operators.
    pub tuned: Option<&'o dyn Fn(&remc_flat::ir::Program) -> Named>,
    /// … and these before them.
    pub named: Named,
    /// Told the numbers of their schedules that the lowering of each operator has read, or the code generator may.
    pub read: Option<Read<'o>>,
    /// How many parts a program may have, with its functions written out where they are called, if not
    /// [`MOST_PARTS`].
    pub size_limit: Option<usize>,
}

/// The numbers of a device that choose between versions and cut work into blocks. They change the order
/// in which reductions combine, and nothing else of what a program means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    pub thresholds: Thresholds,
    pub target: Target,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { thresholds: Thresholds::CPU, target: Target::default() }
    }
}

impl Tuning {
    /// For a GPU.
    pub fn gpu() -> Tuning {
        Tuning { thresholds: Thresholds::GPU, target: Target::gpu() }
    }

    /// With other values for some kinds of numbers.
    #[must_use]
    pub fn with(mut self, numbers: &[(Kind, i64)]) -> Tuning {
        for (kind, value) in numbers {
            match kind {
                Kind::Threshold(t) => self.thresholds.set(*t, *value),
                Kind::Field(f) => self.target.schedule.set(*f, *value),
            }
        }
        self
    }
}

/// The steps of one compilation.
struct Steps<'s, 'o> {
    session: &'s Session,
    options: Options<'o>,
    /// How many passes have run; reading and checking are the first two.
    number: usize,
}

type C<T> = Result<T, CompileError>;

impl Session {
    /// Compiles one entry, or a definition without parameters, as far as `options` say. `ranks` are those
    /// of the entry's shape variables.
    ///
    /// # Errors
    /// A construct that is not compiled, or a mistake of the compiler.
    pub fn compile(
        &self,
        program: &LinkedProgram,
        file: SourceFile,
        target: &GlobalId,
        ranks: &[usize],
        options: Options<'_>,
    ) -> Result<Stop, CompileError> {
        Steps { session: self, options, number: 2 }.run(program, file, target, ranks)
    }
}

pub(crate) fn broken(stage: Stage, message: impl std::fmt::Display) -> CompileError {
    CompileError::Bug(InternalBug { stage: stage.info().name, message: message.to_string() })
}

impl Steps<'_, '_> {
    /// Runs a pass and says so; `false` if it is to be left out.
    fn step<T>(&mut self, stage: Stage, run: impl FnOnce() -> C<T>) -> C<T> {
        let _timed = self.session.db.timings().enter(stage);
        self.number += 1;
        run()
    }

    fn done(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        if let Some(watch) = &mut self.options.watch {
            watch(self.number, stage, text);
        }
    }

    /// Whether the pipeline ends with the pass that has just run.
    fn ends(&self, stage: Stage) -> bool {
        self.options.to == Some(stage.info().to) && self.options.stop_after == Some(self.number)
    }

    /// A pass leaves no more of a program than there may be.
    fn within_limit(
        &self,
        pass: &'static str,
        count: usize,
        provs: &Provenance,
        first: Option<Prov>,
    ) -> C<()> {
        let most = self.options.size_limit.unwrap_or(MOST_PARTS);
        if count <= most {
            return Ok(());
        }
        let at = first.filter(|p| provs.contains(*p)).map(|p| provs.trace(p)).unwrap_or_default();
        Err(CompileError::TooLarge(TooLarge { pass: Some(pass), most, at }))
    }

    fn wanted(&self, ir: &str) -> bool {
        self.options.to == Some(ir)
    }

    fn verify(&self, what: &str, verify: impl FnOnce() -> Result<(), String>) -> C<()> {
        let _timed = self.session.db.timings().enter(Stage::Verify);
        verify().map_err(|e| broken(Stage::Verify, format!("after {what}: {e}")))
    }

    fn run(
        mut self,
        program: &LinkedProgram,
        file: SourceFile,
        target: &GlobalId,
        ranks: &[usize],
    ) -> C<Stop> {
        let defs = self.explicit(program, file)?;
        if self.wanted("explicit") {
            return Ok(Stop::Explicit(defs));
        }
        let tuning = self.options.tuning;
        let mono = self.mono(&defs, target, ranks)?;
        if self.wanted("mono") {
            return Ok(Stop::Mono(mono));
        }
        let mut flat = self.step(Stage::Flatten, || {
            remc_flat::flatten::flatten_with(&mono, &tuning.thresholds)
                .map_err(|e| broken(Stage::Flatten, e.0))
        })?;
        let mut values = self.options.tuned.map(|of| of(&flat)).unwrap_or_default();
        values.extend(self.options.named.clone());
        let all = set_numbers(&mut flat, &values, tuning.target)?;
        let first = flat.body.stmts.first().map(|s| s.prov);
        self.within_limit(Stage::Flatten.info().name, flat.body.count(), &flat.provs, first)?;
        self.verify("flatten", || remc_flat::verify::verify(&flat).map_err(|e| e.to_string()))?;
        self.done(Stage::Flatten, &|| remc_flat::print::print_program(&flat));
        if self.wanted("flat") {
            return Ok(Stop::Flat(flat));
        }
        let lowered = self.step(Stage::Lower, || {
            let schedules = all.clone();
            remc_kernel::lower::lower_scheduled(&flat, tuning.target.threads, schedules)
                .map_err(|e| broken(Stage::Lower, e.0))
        })?;
        if let Some(told) = self.options.read {
            told(&numbers(&lowered.used, &all));
        }
        let kernel = lowered.program;
        self.verify("lower", || {
            remc_kernel::verify::verify(&kernel).map_err(|e| e.to_string())?;
            remc_kernel::race::check(&kernel).map_err(|e| e.to_string())
        })?;
        self.done(Stage::Lower, &|| remc_kernel::print::print_program(&kernel));
        Ok(Stop::Kernel(kernel))
    }

    fn explicit(&mut self, program: &LinkedProgram, file: SourceFile) -> C<Vec<Arc<Definition>>> {
        let db = &self.session.db;
        let globals = queries::GlobalTypes { db, file };
        let defs: Vec<Arc<Definition>> = program
            .order
            .iter()
            .map(|d| match names::def_of(db, file, &d.name) {
                Some(def) => queries::explicit(db, def).clone().ok_or_else(|| {
                    broken(Stage::Explicitize, format!("`{}` was checked and has no definition", d.name))
                }),
                // An expression has no name that a file could look up.
                None => Ok(Arc::new(remc_explicit::lower::explicitize(d))),
            })
            .collect::<C<_>>()?;
        self.number += 1;
        for d in &defs {
            self.verify("explicitize", || {
                remc_explicit::verify::verify(d, &globals).map_err(|e| format!("`{}`: {e}", d.name))
            })?;
        }
        self.done(Stage::Explicitize, &|| remc_explicit::print::print_program(&defs));
        Ok(defs)
    }

    fn mono(
        &mut self,
        defs: &[Arc<Definition>],
        target: &GlobalId,
        ranks: &[usize],
    ) -> C<remc_mono::ir::Program> {
        let by_name: FxHashMap<&GlobalId, &Arc<Definition>> = defs.iter().map(|d| (&d.name, d)).collect();
        let find = |g: &GlobalId| by_name.get(g).map(|d| (*d).clone());
        let most = self.options.size_limit;
        let mut p = self.step(Stage::Build, || {
            let most = most.unwrap_or(MOST_PARTS);
            remc_mono::build::build_within(&find, target, ranks, most).map_err(|e| match e {
                BuildError::Limitation(l) => CompileError::Limitation(l),
                BuildError::TooLarge(t) => CompileError::TooLarge(t),
                BuildError::Bug(message) => broken(Stage::Build, message),
            })
        })?;
        self.verify("build", || remc_mono::verify::verify(&p).map_err(|e| e.to_string()))?;
        self.done(Stage::Build, &|| remc_mono::print::print_program(&p));
        let mut rounds = opt::Rounds::default();
        while let Some(k) = rounds.next(&p) {
            if self.options.stop_after.is_some_and(|n| self.number >= n) || self.ends(Stage::Build) {
                break;
            }
            let stage = Stage::Optimise(k);
            self.step(stage, || {
                (opt::PASSES[k].run)(&mut p);
                Ok(())
            })?;
            let name = stage.info().name;
            let first = p.body.stmts.first().map(|s| s.prov);
            self.within_limit(name, p.body.count(), &p.provs, first)?;
            self.verify(name, || remc_mono::verify::verify(&p).map_err(|e| e.to_string()))?;
            self.done(stage, &|| remc_mono::print::print_program(&p));
        }
        Ok(p)
    }
}

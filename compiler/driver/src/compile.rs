//! From checked definitions to kernels: one entry through every room of the compiler.
//!
//! [`steps`] are the passes, each a step with a number; [`memo`] are the queries that keep what a few of them together
//! have made. A [`Session`] asks the queries, unless somebody wants to see what each pass does.

use crate::database::SourceFile;
use crate::names::Def;
pub use crate::numbers::{Kind, Number, number};
use crate::pipeline::Stage;
use crate::session::{InternalBug, Session};
pub use kept::{Compiled, Kept};
use memo::{Tuned, Unit};
use remc_base::{GlobalId, Name, NodeId};
use remc_explicit::ir::Definition;
pub use remc_flat::flatten::{ALWAYS, NEVER, Threshold, Thresholds};
pub use remc_flat::ir::Named;
pub use remc_kernel::lower::Target;
pub use remc_kernel::schedule::{Field, Schedule};
use remc_mono::build::MOST_PARTS;
use remc_mono::limits::{Limitation, TooLarge};
use remc_mono::opt::RowsAre;
use remc_mono::stream::Unstreamable;
use std::sync::Arc;
use steps::Steps;

mod kept;
pub mod memo;
mod steps;

/// A program in one of the languages of the compiler.
#[derive(Clone, Debug)]
pub enum Stop {
    Explicit(Arc<Vec<Arc<Definition>>>),
    Mono(Arc<remc_mono::ir::Program>),
    Flat(Arc<remc_flat::ir::Program>),
    Kernel(Arc<Compiled>),
}

/// Why a program has no kernels.
#[derive(Clone, PartialEq, Debug)]
pub enum CompileError {
    Limitation(Limitation),
    TooLarge(TooLarge),
    /// What goes along a stream and needs all of it at once; where, and the calls that led there.
    Unstreamable(Unstreamable, Vec<(GlobalId, NodeId)>),
    /// A value for a number that the program does not have, the names of its thresholds, and those of its operators.
    NoNumber(String, Vec<Name>, Vec<Name>),
    /// A value for a size that no operator's versions are chosen by, and the sizes of each operator.
    NoSize(String, Vec<(Name, Vec<String>)>),
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
    /// Definitions of closed types that the targets need, none of them an entry, and whose values are known already: they
    /// are inputs, in this order.
    pub given: Vec<GlobalId>,
    /// How whoever runs the program has its streams.
    pub streams: Streams,
}

/// What goes through memory piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Streams {
    /// Nothing: streams are arrays.
    #[default]
    Whole,
    /// What the program says is a stream.
    Pieces,
    /// In a program without streams, also an axis that it does not say that of: for what fits no memory.
    Strips,
}

/// The numbers of a device that choose between versions and cut work into blocks. They change the order
/// in which reductions combine, and nothing else of what a program means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuning {
    pub thresholds: Thresholds,
    pub target: Target,
    /// What thresholds of the kind `par.outer` are on the machine at hand, if that is another value. Flattening knows
    /// nothing of it: which versions a program has does not depend on the machine.
    pub par_outer: Option<i64>,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { thresholds: Thresholds::CPU, target: Target::default(), par_outer: None }
    }
}

impl Tuning {
    /// For a GPU.
    pub fn gpu() -> Tuning {
        Tuning { thresholds: Thresholds::GPU, target: Target::gpu(), par_outer: None }
    }

    /// How who runs a program has its streams: a GPU has them as arrays.
    pub fn streams(&self) -> Streams {
        if self.target.threads { Streams::Whole } else { Streams::Pieces }
    }

    /// With other values for some kinds of numbers.
    #[must_use]
    pub fn with(mut self, numbers: &[(Kind, i64)]) -> Tuning {
        for (kind, value) in numbers {
            match kind {
                Kind::Threshold(t) => {
                    self.par_outer = self.par_outer.filter(|_| *t != Threshold::ParOuter);
                    self.thresholds.set(*t, *value);
                }
                Kind::Field(f) => self.target.schedule.set(*f, *value),
            }
        }
        self
    }
}

type C<T> = Result<T, CompileError>;

impl Session {
    /// Compiles an entry or a definition without parameters, or several of these as the tuple of their values, as far as
    /// `options` say. `ranks` are those of the entry's shape variables.
    ///
    /// What has been compiled before, and reads nothing that has changed since, is taken from there; where somebody
    /// watches the passes, or ends them early, they run.
    ///
    /// # Errors
    /// A construct that is not compiled, or a mistake of the compiler.
    pub fn compile(
        &self,
        file: SourceFile,
        targets: &[Def<'_>],
        ranks: &[usize],
        options: Options<'_>,
    ) -> Result<Stop, CompileError> {
        let most = options.size_limit.unwrap_or(MOST_PARTS);
        let given = options.given.clone();
        let unit = Unit::new(&self.db, file, targets.to_vec(), ranks.to_vec(), most, given, options.streams);
        match options.watch.is_some() || options.stop_after.is_some() {
            true => self.step_by_step(unit, options),
            false => self.memoised(unit, options),
        }
    }

    fn memoised(&self, unit: Unit<'_>, options: Options<'_>) -> C<Stop> {
        let db = &self.db;
        match options.to {
            Some("explicit") => return memo::definitions(db, unit).clone().map(Stop::Explicit),
            // What other compilers read has no rows left.
            Some("mono") => {
                return memo::segmented(db, unit, RowsAre::Distributed)
                    .clone()
                    .map(|m| Stop::Mono(m.program));
            }
            _ => {}
        }
        let thresholds = options.tuning.thresholds;
        let values = options.values(memo::flat(db, unit, thresholds).clone()?.as_ref());
        let tuned = Tuned::new(db, options.tuning, values);
        if options.to == Some("flat") {
            return memo::numbered(db, unit, tuned).clone().map(|n| Stop::Flat(n.flat));
        }
        let kernels = memo::kernels(db, unit, tuned).clone()?;
        if let Some(told) = options.read {
            told(&kernels.numbers);
        }
        Ok(Stop::Kernel(kernels))
    }

    fn step_by_step(&self, unit: Unit<'_>, mut options: Options<'_>) -> C<Stop> {
        let db = &self.db;
        let mut steps = Steps::new(db, unit.size_limit(db));
        steps.to = options.to;
        steps.stop_after = options.stop_after;
        steps.watch = options.watch.take();
        let defs = memo::definitions(db, unit).clone()?;
        steps.explicit(&defs);
        if options.to == Some("explicit") {
            return Ok(Stop::Explicit(defs));
        }
        let mono = steps.mono(&defs, &unit.global(db), unit.ranks(db), unit.given(db))?;
        let rows = match options.to {
            Some("mono") => RowsAre::Distributed,
            _ => options.tuning.thresholds.rows(),
        };
        let mono = steps.segmented(mono, rows, unit.streams(db))?;
        if options.to == Some("mono") {
            return Ok(Stop::Mono(Arc::new(mono)));
        }
        let flat = steps.flat(&mono, &options.tuning.thresholds)?;
        let values = options.values(&flat);
        let (flat, schedules) = steps.numbered(flat, &values, options.tuning.target)?;
        if options.to == Some("flat") {
            return Ok(Stop::Flat(Arc::new(flat)));
        }
        let kernels = steps.kernels(&flat, schedules, options.tuning.target.threads)?;
        if let Some(told) = options.read {
            told(&kernels.numbers);
        }
        Ok(Stop::Kernel(Arc::new(kernels)))
    }
}

impl Options<'_> {
    /// The values of single numbers of a program.
    fn values(&self, flat: &remc_flat::ir::Program) -> Named {
        let kind = |name: &str| Threshold::of_name(name);
        let mut values = Named::new();
        if let Some(here) = self.tuning.par_outer {
            // A multiple of it where many points are a thread's.
            let scaled = |value: i64| value.saturating_mul(here) / self.tuning.thresholds.par_outer.max(1);
            let tests = flat.tests().into_iter().map(|t| (t.threshold.as_str(), t.value));
            let tests = tests.filter(|(n, _)| kind(n) == Some(Threshold::ParOuter));
            values.extend(tests.map(|(n, value)| (n.to_owned(), scaled(value))));
        }
        values.extend(self.tuned.map(|of| of(flat)).unwrap_or_default());
        if let Some(one) = self.tuning.thresholds.by_size {
            let all = values.iter_mut().filter(|(name, _)| kind(name) == Some(Threshold::BySize));
            all.for_each(|(_, value)| *value = one);
        }
        values.extend(self.named.clone());
        values
    }
}

pub(crate) fn broken(stage: Stage, message: impl std::fmt::Display) -> CompileError {
    CompileError::Bug(InternalBug { stage: stage.info().name, message: message.to_string() })
}

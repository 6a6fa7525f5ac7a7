//! The queries behind Explicit: what is compiled is kept until something that it reads changes.
//!
//! ```text
//! check ── reached ──┐
//! explicit ── verified ── definitions ── mono ── segmented ── flat ── numbered ── kernels (and the code kept with them)
//!                         Unit ─────────┘        │       │
//!                         thresholds ────────────┘       │
//!                         Tuned ─────────────────────────┘
//! ```
//!
//! Results hold definitions and nodes, never positions, and are compared with what they were: an edit that reaches no
//! definition of a unit stops at `reached`, and another target or tuning starts at the stage that reads it. Old results go
//! by age.

use super::kept::Compiled;
use super::steps::Steps;
use super::{C, Named, Streams, Thresholds, Tuning, broken};
use crate::database::{Db, SourceFile};
use crate::names::{Def, DefKind, def_of};
use crate::pipeline::Stage;
use crate::program::{globals, together, tuple};
use crate::queries::{GlobalTypes, check, explicit};
use remc_base::GlobalId;
use remc_explicit::ir::Definition;
use remc_kernel::schedule::Schedules;
use remc_mono::opt::RowsAre;
use remc_syntax::ast::ItemKind;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What is compiled: definitions of a file, of which several make one program, the tuple of their values.
#[salsa::interned(debug)]
pub struct Unit<'db> {
    #[returns(copy)]
    pub file: SourceFile,
    #[returns(deref)]
    pub targets: Vec<Def<'db>>,
    /// Those of the entry's shape variables.
    #[returns(deref)]
    pub ranks: Vec<usize>,
    /// How many parts the program may have.
    #[returns(copy)]
    pub size_limit: usize,
    /// The definitions whose values are inputs.
    #[returns(deref)]
    pub given: Vec<GlobalId>,
    /// How who runs it has its streams.
    #[returns(copy)]
    pub streams: Streams,
}

impl<'db> Unit<'db> {
    /// The name of what is compiled.
    pub fn global(self, db: &'db dyn Db) -> GlobalId {
        match self.targets(db) {
            [one] => one.global(db),
            _ => together(self.file(db).module(db)),
        }
    }
}

/// Numbers: those of kinds, and those of single branches and operators.
#[salsa::interned(debug)]
pub struct Tuned<'db> {
    #[returns(copy)]
    pub tuning: Tuning,
    #[returns(ref)]
    pub values: Named,
}

/// A program in Mono, and how many passes it took.
#[derive(Clone, PartialEq, Debug)]
pub struct Mono {
    pub program: Arc<remc_mono::ir::Program>,
    pub passes: usize,
}

/// A program in Flat with its own numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Numbered {
    pub flat: Arc<remc_flat::ir::Program>,
    pub schedules: Schedules,
}

/// The definitions that a unit needs: what one uses comes before it.
#[salsa::tracked(returns(deref), lru = 64)]
fn reached<'db>(db: &'db dyn Db, unit: Unit<'db>) -> Vec<Def<'db>> {
    let file = unit.file(db);
    let mut order = Vec::new();
    let mut seen = FxHashSet::default();
    let mut todo: Vec<(Def, bool)> = unit.targets(db).iter().rev().map(|d| (*d, false)).collect();
    while let Some((def, done)) = todo.pop() {
        if done {
            order.push(def);
            continue;
        }
        let is_primitive = matches!(def.item(db).kind, ItemKind::Primitive { .. });
        if def.kind(db) == DefKind::Type || is_primitive || !seen.insert(def) {
            continue;
        }
        let Some(definition) = &check(db, def).definition else { continue };
        todo.push((def, true));
        let used = globals(&definition.body);
        todo.extend(used.iter().rev().filter_map(|g| Some((def_of(db, file, g)?, false))));
    }
    order
}

/// What the verifier says of a definition whose lifting is written out.
#[salsa::tracked]
fn verified<'db>(db: &'db dyn Db, def: Def<'db>) -> Result<Arc<Definition>, String> {
    let name = def.global(db);
    let Some(definition) = explicit(db, def).clone() else {
        return Err(format!("`{name}` was checked and has no definition"));
    };
    let _timed = db.timings().enter(Stage::Verify);
    let globals = GlobalTypes { db, file: def.file(db) };
    match remc_explicit::verify::verify(&definition, &globals) {
        Ok(()) => Ok(definition),
        Err(e) => Err(format!("after {}: `{name}`: {e}", Stage::Explicitize.info().name)),
    }
}

/// The definitions of a unit, with lifting written out.
#[salsa::tracked(lru = 64)]
pub fn definitions<'db>(db: &'db dyn Db, unit: Unit<'db>) -> C<Arc<Vec<Arc<Definition>>>> {
    let of = |def: &Def<'db>| verified(db, *def).clone().map_err(|e| broken(Stage::Verify, e));
    let mut all = reached(db, unit).iter().map(of).collect::<C<Vec<_>>>()?;
    if unit.targets(db).len() != 1 {
        let tuple = tuple(db, unit.file(db), unit.targets(db));
        all.push(Arc::new(remc_explicit::lower::explicitize(&tuple)));
    }
    Ok(Arc::new(all))
}

/// The unit as one program, optimised as far as that is the same for every device.
#[salsa::tracked(lru = 64)]
pub fn mono<'db>(db: &'db dyn Db, unit: Unit<'db>) -> C<Mono> {
    let defs = definitions(db, unit).clone()?;
    let mut steps = Steps::new(db, unit.size_limit(db));
    let program = Arc::new(steps.mono(&defs, &unit.global(db), unit.ranks(db), unit.given(db))?);
    Ok(Mono { program, passes: steps.number })
}

/// The rest of it: rows of sizes of their own taken apart, or left for those to whom a row is one task, or one group's.
#[salsa::tracked(lru = 64)]
pub fn segmented<'db>(db: &'db dyn Db, unit: Unit<'db>, rows: RowsAre) -> C<Mono> {
    let Mono { program, passes } = mono(db, unit).clone()?;
    let mut steps = Steps::new(db, unit.size_limit(db));
    steps.number = passes;
    let program = Arc::new(steps.segmented(program.as_ref().clone(), rows, unit.streams(db))?);
    Ok(Mono { program, passes: steps.number })
}

/// What of it runs in parallel.
#[salsa::tracked(lru = 64)]
pub fn flat<'db>(db: &'db dyn Db, unit: Unit<'db>, thresholds: Thresholds) -> C<Arc<remc_flat::ir::Program>> {
    let Mono { program, .. } = segmented(db, unit, thresholds.rows()).clone()?;
    Steps::new(db, unit.size_limit(db)).flat(&program, &thresholds).map(Arc::new)
}

/// The same with the values of single numbers.
#[salsa::tracked(lru = 64)]
pub fn numbered<'db>(db: &'db dyn Db, unit: Unit<'db>, tuned: Tuned<'db>) -> C<Numbered> {
    let tuning = tuned.tuning(db);
    let flat = flat(db, unit, tuning.thresholds).clone()?;
    let mut steps = Steps::new(db, unit.size_limit(db));
    let (flat, schedules) = steps.numbered(flat.as_ref().clone(), tuned.values(db), tuning.target)?;
    Ok(Numbered { flat: Arc::new(flat), schedules })
}

/// Compiled, and the plan that launches them.
#[salsa::tracked(lru = 64)]
pub fn kernels<'db>(db: &'db dyn Db, unit: Unit<'db>, tuned: Tuned<'db>) -> C<Arc<Compiled>> {
    let Numbered { flat, schedules } = numbered(db, unit, tuned).clone()?;
    let mut steps = Steps::new(db, unit.size_limit(db));
    steps.kernels(&flat, schedules, tuned.tuning(db).target.threads).map(Arc::new)
}

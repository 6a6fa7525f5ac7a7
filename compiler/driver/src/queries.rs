//! The queries: per file what it defines ([`names`](crate::names)), per definition what it means.
//!
//! ```text
//! SourceFile.text ── parse ──┬─ defs (names) ── scope ── lookup ─┐
//!                            ├─ item (position-free) ─┬─ refs ─ cycles
//!                            │                        └─ check ── scheme ─ check of the users
//!                            └─ map (positions), diagnostics: read only when something is shown
//! ```
//!
//! `parse` is the one query that sees the text. It gives a tracked [`Def`](crate::Def) per top-level form, whose
//! fields change independently: editing a comment changes `map` alone, on which no query depends, so
//! nothing but `parse` runs again. `scheme` projects from `check` what the users of a definition
//! depend on, so that editing a body re-checks them only if the type changes.

use crate::cycles;
use crate::database::{Db, SourceFile};
use crate::names::{Def, DefKind, Namespace, def_of, lookup, names, of_prelude};
use crate::pipeline::Stage;
use remc_base::*;
use remc_typed::check::Checked;
use remc_typed::check_item;
use remc_typed::scheme::{Environment, Resolved, Scheme, TypeAlias};
use remc_typed::verify::Globals;
use std::sync::Arc;

/// The checked and elaborated definition.
#[salsa::tracked(cycle_result = check_cycle)]
pub fn check<'db>(db: &'db dyn Db, def: Def<'db>) -> Arc<Checked> {
    match def.kind(db) {
        DefKind::Import | DefKind::Error => Arc::new(Checked::default()),
        _ => {
            let _timed = db.timings().enter(Stage::Check);
            let env = FileEnvironment::new(db, def);
            Arc::new(check_item(&env, def.item(db), &def.global(db)))
        }
    }
}

/// Recursion is found on the call graph before anything is checked, so this is not reached; a
/// definition without a scheme is the safe answer if it ever is.
fn check_cycle(_db: &dyn Db, _id: salsa::Id, _def: Def<'_>) -> Arc<Checked> {
    Arc::new(Checked::default())
}

/// What the users of a definition depend on.
#[salsa::tracked]
pub fn scheme<'db>(db: &'db dyn Db, def: Def<'db>) -> Option<Arc<Scheme>> {
    check(db, def).scheme.clone()
}

#[salsa::tracked]
pub fn alias<'db>(db: &'db dyn Db, def: Def<'db>) -> Option<Arc<TypeAlias>> {
    check(db, def).alias.clone()
}

/// The definition with lifting and replication written out; `None` where it has errors.
#[salsa::tracked]
pub fn explicit<'db>(db: &'db dyn Db, def: Def<'db>) -> Option<Arc<remc_explicit::ir::Definition>> {
    let definition = check(db, def).definition.clone()?;
    let _timed = db.timings().enter(Stage::Explicitize);
    Some(Arc::new(remc_explicit::lower::explicitize(&definition)))
}

/// What the verifier has against a checked definition; nothing of one with errors.
#[salsa::tracked]
pub fn broken<'db>(db: &'db dyn Db, def: Def<'db>) -> Option<String> {
    let definition = check(db, def).definition.clone()?;
    let globals = GlobalTypes { db, file: def.file(db) };
    remc_typed::verify::verify(&definition, &globals).err().map(|e| format!("`{}`: {e}", definition.name))
}

/// What a definition sees, as the checker asks for it.
struct FileEnvironment<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    /// The definition that is being checked, and those it calls that call it back.
    def: Def<'db>,
}

impl<'db> FileEnvironment<'db> {
    fn new(db: &'db dyn Db, def: Def<'db>) -> Self {
        FileEnvironment { db, file: def.file(db), def }
    }

    fn resolve(&self, target: Def<'db>) -> Resolved {
        let db = self.db;
        if let Some(path) = cycles::recursion(db, self.def, target) {
            return Resolved::Recursive(path);
        }
        match scheme(db, target) {
            Some(scheme) => Resolved::Value { global: target.global(db), scheme: scheme.clone() },
            None => Resolved::Failed(target.global(db)),
        }
    }
}

impl Environment for FileEnvironment<'_> {
    fn value(&self, name: &Name) -> Option<Resolved> {
        // What `--show types` writes where the program hides a name of the prelude.
        if let Some(name) = name.as_str().strip_prefix(remc_typed::source::PRELUDE)
            && let Some(found) = self.prelude(&Name::new(name))
        {
            return Some(found);
        }
        Some(self.resolve(lookup(self.db, self.file, Namespace::Values, name.clone())?))
    }

    fn type_alias(&self, name: &Name) -> Option<Result<Arc<TypeAlias>, ()>> {
        let target = lookup(self.db, self.file, Namespace::Types, name.clone())?;
        if cycles::is_recursive(self.db, self.def, target) {
            return Some(Err(()));
        }
        Some(alias(self.db, target).clone().ok_or(()))
    }

    fn prelude(&self, name: &Name) -> Option<Resolved> {
        Some(self.resolve(of_prelude(self.db, Namespace::Values, name.as_str())?))
    }

    fn names(&self) -> Arc<Vec<Name>> {
        names(self.db, self.file).clone()
    }
}

/// The types of global names, for the verifier.
pub struct GlobalTypes<'db> {
    pub db: &'db dyn Db,
    pub file: SourceFile,
}

impl Globals for GlobalTypes<'_> {
    fn ty(&self, global: &GlobalId) -> Option<ArrTy> {
        let def = def_of(self.db, self.file, global)?;
        scheme(self.db, def).as_ref().map(|s| s.ty.clone())
    }
}

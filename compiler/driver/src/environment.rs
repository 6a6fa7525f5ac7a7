//! The checker's view of a file: its names as queries.

use crate::cycles;
use crate::database::{Db, SourceFile};
use crate::queries::{Def, Namespace, alias, lookup, names, prelude_scope, scheme};
use remc_base::{ArrTy, GlobalId, Name};
use remc_typed::scheme::{Environment, Resolved, TypeAlias};
use std::sync::Arc;

pub struct FileEnvironment<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    /// The definition that is being checked, and those it calls that call it back.
    def: Def<'db>,
}

impl<'db> FileEnvironment<'db> {
    pub fn new(db: &'db dyn Db, def: Def<'db>) -> Self {
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
        Some(self.resolve(prelude_scope(self.db).values.get(name.as_str()).copied()?))
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

impl remc_typed::verify::Globals for GlobalTypes<'_> {
    fn ty(&self, global: &GlobalId) -> Option<ArrTy> {
        let def = crate::queries::def_of(self.db, self.file, global)?;
        scheme(self.db, def).as_ref().map(|s| s.ty.clone())
    }
}

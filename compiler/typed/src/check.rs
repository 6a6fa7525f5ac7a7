//! What checking one top-level item gives.

use crate::ir::Definition;
use crate::scheme::{Scheme, TypeAlias};
use remc_base::*;
use std::sync::Arc;

/// The result of checking one top-level item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Checked {
    /// Absent where an error makes the item unusable.
    pub scheme: Option<Arc<Scheme>>,
    /// Absent for a primitive, and where there was an error.
    pub definition: Option<Arc<Definition>>,
    /// For a `define-type`.
    pub alias: Option<Arc<TypeAlias>>,
    pub diagnostics: Vec<Diagnostic<Loc>>,
}

impl Checked {
    /// Whether nothing is wrong with it.
    pub fn has_type(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

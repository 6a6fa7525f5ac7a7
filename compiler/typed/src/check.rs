//! The checker's entry points.

use crate::ir::Definition;
use crate::scheme::{Environment, Scheme, TypeAlias};
use remc_base::*;
use remc_syntax::ast::Item;
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

/// Checks `item`, which is the definition `global` of its module.
pub fn check_item(_env: &dyn Environment, _item: &Item, _global: &GlobalId) -> Checked {
    Checked::default()
}

//! Codes of the errors that a set of files can have, beyond each definition's own. Each has a page
//! under `testsuite/diagnostics/`.

use remc_base::Code;

/// A name is defined twice.
pub const DUPLICATE_DEFINITION: Code = Code("E0201");
/// An imported file cannot be read.
pub const IMPORT_UNREADABLE: Code = Code("E0202");
/// A file imports itself, directly or through others.
pub const IMPORT_CYCLE: Code = Code("E0203");
/// A type is defined by itself.
pub const RECURSIVE_TYPE: Code = Code("E0204");
/// A function stands alone at the top of a program.
pub const FUNCTION_ALONE: Code = Code("E0205");

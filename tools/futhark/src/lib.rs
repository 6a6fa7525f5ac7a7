//! A part of Futhark, checked and run: for tests of the Futhark that remc prints, where no Futhark is.
//!
//! | module | |
//! | --- | --- |
//! | [`syntax`] | the grammar |
//! | [`parse`] | the reader |
//! | [`types`] | types with sizes, and when they are equal |
//! | [`prelude`] | the functions that are known |
//! | [`check`] | the rules |
//! | [`harmless`] | what an optimiser that takes things out of functions may not meet |
//! | [`value`], [`builtin`], [`eval`] | values, what operators and functions of scalars give, what a program gives |
//! | [`hoist`] | what is evaluated although nothing needs it |
//!
//! It is stricter than Futhark where that is simpler: a text that is accepted here should be accepted there, and
//! mean the same. `tests/` has texts, right and wrong ones, with what is to be said of them.

pub mod builtin;
pub mod check;
pub mod eval;
pub mod harmless;
mod hoist;
pub mod parse;
pub mod prelude;
pub mod syntax;
pub mod types;
pub mod value;

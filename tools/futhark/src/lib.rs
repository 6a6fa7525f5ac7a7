//! A part of Futhark, checked and run: for tests of the Futhark that remc prints, where no Futhark is.
//!
//! | module | |
//! | --- | --- |
//! | [`syntax`] | the grammar |
//! | [`parse`] | the reader |
//! | [`types`] | types with sizes, and when they are equal |
//! | [`prelude`] | the functions that are known |
//! | [`check`] | the rules |
//! | [`eval`], [`builtin`] | what a program gives |
//!
//! It is stricter than Futhark where that is simpler: a text that is accepted here should be accepted there, and
//! mean the same. `tests/` has texts, right and wrong ones, with what is to be said of them.

pub mod builtin;
pub mod check;
pub mod eval;
pub mod parse;
pub mod prelude;
pub mod syntax;
pub mod types;

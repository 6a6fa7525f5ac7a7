//! The reference interpreter over Typed: the meaning of the language, naive on purpose.
//!
//! Every other device is compared with it, so it does what the text says and nothing clever: it walks
//! the elaborated term, keeps every array as a shape and a flat buffer of atoms, applies a function once
//! per position of the principal frame, and folds from left to right. What it knows of sizes and types it
//! knows at run time: the environment binds index and type variables to their values beside the value
//! variables, so a literal of type `t`, an empty array and a box know what they are.
//!
//! | file | holds |
//! | --- | --- |
//! | [`value`] | arrays, functions, environments and terms as data, each made of the others |
//! | [`array`] | how arrays are made, read and put together |
//! | [`env`] | environments: the evaluation of dims, shapes and types |
//! | [`code`] | the term made ready: closed parts evaluated once, λ bodies shared by their closures |
//! | [`eval`] | the meaning of each expression |
//! | [`lift`] | application: principal frame, cells, replication |
//! | [`prim`], [`prims`] | the array primitives of the prelude, their names and their meanings; scalar ones are in `remc_base::ops` |
//! | [`boundary`] | values in and out |
//! | [`entry`] | the indices of an entry, solved from its arguments |
//! | [`error`] | what stops a program |
//!
//! Nothing here panics on a program that type-checks; a term that does not is answered with the code
//! [`codes::INTERNAL`].

mod array;
mod boundary;
mod code;
mod entry;
mod env;
mod error;
mod eval;
mod lift;
mod list;
mod prim;
mod prims;
mod value;

#[cfg(test)]
mod tests;

pub use code::Program;
pub use entry::{Mismatch, solve_indices, solve_items};
pub use error::{RuntimeError, codes};
pub use eval::Interp;

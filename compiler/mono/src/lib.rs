//! Mono: the middle of the compiler, a first-order language of array operators. See [`ir`].

pub mod build;
pub mod eval;
pub mod input;
pub mod interface;
pub mod ir;
pub mod legal;
pub mod limits;
pub mod opt;
pub mod output;
pub mod parse;
pub mod print;
pub mod run;
pub mod sorted;
pub mod stream;
pub mod text;
pub mod verify;
pub mod walk;

//! The Typed room: Ast → Typed, its verifier and its text form.

pub mod check;
pub mod codes;
mod infer;
pub mod ir;
pub mod parse;
pub mod print;
mod recursion;
pub mod refs;
pub mod scheme;
pub mod source;
pub mod verify;

pub use infer::{check_item, elsewhere, near};

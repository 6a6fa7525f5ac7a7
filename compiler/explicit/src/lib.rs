//! The Explicit room: Typed → Explicit, one definition at a time.

pub mod ir;
pub mod lower;
pub mod parse;
pub mod print;
pub mod verify;

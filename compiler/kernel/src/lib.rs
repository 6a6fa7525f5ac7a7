//! Kernel: loops over buffers, and the host plan that launches them. See [`ir`].

pub mod abi;
pub mod contract;
pub mod counts;
pub mod interface;
pub mod ir;
pub mod keep;
pub mod lower;
pub mod memory;
pub mod parse;
pub mod parts;
pub mod predicate;
pub mod print;
pub mod race;
pub mod rows;
pub mod scan;
pub mod schedule;
pub mod traps;
pub mod uniformity;
pub mod verify;

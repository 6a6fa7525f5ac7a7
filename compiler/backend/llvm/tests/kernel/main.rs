//! Programs of Kernel, compiled and run by a small runtime, and compared with plain Rust.

mod beside;
mod diverge;
mod edges;
mod interleave;
mod jam;
mod keep;
mod lanes;
mod own;
mod plans;
mod predicate;
mod rows;
mod runtime;
mod scan;
mod stmts;
mod transpose;

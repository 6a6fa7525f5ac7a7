//! Programs of Kernel, compiled and run by a small runtime, and compared with plain Rust.

mod diverge;
mod edges;
mod interleave;
mod jam;
mod keep;
mod lanes;
mod outer_lanes;
mod plans;
mod predicate;
mod private;
mod rows;
mod runtime;
mod scan;
mod stmts;
mod transpose;

//! Compiled code serves every size: the same entries run on arrays of many lengths, on both sides of every width
//! at which loops are cut.

mod cpu;
mod emulated;
mod runs;

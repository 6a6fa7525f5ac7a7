//! Compiled code serves every size: the same entries run on arrays of many lengths, on both sides of every width
//! at which loops are cut. A plain run takes each entry at some of its sizes.

mod cpu;
mod emulated;
mod runs;

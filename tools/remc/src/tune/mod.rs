//! `remc autotune`: which versions of an entry run from which sizes on, measured on its user's data.
//!
//! [`command`] finds the data sets ([`sets`], [`generated`]) and has the program run on them ([`device`], [`plans`], [`operators`]), `remc_tune` searches, and what
//! it found goes, with what was measured, into `PROGRAM.tuning`, which [`pick`] reads where the program is compiled and
//! [`explain`] for people (`remc tuning`).

#[cfg(feature = "llvm")]
mod command;
#[cfg(feature = "llvm")]
mod device;
mod explain;
#[cfg(feature = "llvm")]
mod generated;
#[cfg(feature = "llvm")]
mod kept;
#[cfg(feature = "llvm")]
mod operators;
#[cfg(feature = "llvm")]
mod outcome;
pub mod pick;
#[cfg(feature = "llvm")]
mod plans;
#[cfg(feature = "llvm")]
mod sets;

#[cfg(feature = "llvm")]
pub use command::autotune;
pub use explain::explain;

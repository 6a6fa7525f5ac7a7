//! `remc autotune`: which versions of an entry run from which sizes on, measured on its user's data.
//!
//! [`command`] finds the data sets ([`sets`], [`generated`]) and has the program run on them ([`device`]), `remc_tune` searches, and what
//! it found goes, with what was measured ([`text`]), into `PROGRAM.tuning`, which [`pick`] reads where the program is
//! compiled.

#[cfg(feature = "llvm")]
mod command;
#[cfg(feature = "llvm")]
mod device;
#[cfg(feature = "llvm")]
mod generated;
pub mod pick;
#[cfg(feature = "llvm")]
mod sets;
#[cfg(feature = "llvm")]
mod text;

#[cfg(feature = "llvm")]
pub use command::autotune;

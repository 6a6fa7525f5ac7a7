//! Flat: segmented parallel operators and their versions. See [`ir`].

pub mod flatten;
pub mod ir;
pub mod legal;
pub mod meaning;
pub mod parse;
pub mod print;
pub mod verify;
pub mod walk;

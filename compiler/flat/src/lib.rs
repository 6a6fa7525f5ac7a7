//! Flat: segmented parallel operators and their versions. See [`ir`].

pub mod flatten;
pub mod ir;
pub mod legal;

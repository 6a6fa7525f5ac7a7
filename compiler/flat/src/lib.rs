//! Flat: segmented parallel operators and their versions. See [`ir`].

pub mod ir;

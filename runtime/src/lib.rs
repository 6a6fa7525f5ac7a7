//! Data in and out of programs: the text form of values, literals as inputs, and `.npy` files.
//!
//! | file | holds |
//! | --- | --- |
//! | [`text`] | a value as re-readable Remora |
//! | [`literal`] | a literal read against the type that an entry wants |
//! | [`npy`] | NumPy's file format, read and written |
//! | [`files`] | files replaced whole or not at all |
//!
//! Devices and the executor of host plans come beside these.

pub mod files;
pub mod literal;
pub mod npy;
pub mod text;

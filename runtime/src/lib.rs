//! What runs beside compiled code and the interpreter: the cpu device, and data in and out of programs.
//!
//! | file | holds |
//! | --- | --- |
//! | [`cpu`] | the cpu device: threads, memory, the calls that compiled code makes |
//! | [`text`] | a value as re-readable Remora |
//! | [`literal`] | a literal read against the type that an entry wants |
//! | [`npy`] | NumPy's file format, read and written |
//! | [`files`] | files replaced whole or not at all |
//!
//! `unsafe` code is in [`cpu`] alone.

pub mod cpu;
pub mod files;
pub mod literal;
pub mod npy;
pub mod text;

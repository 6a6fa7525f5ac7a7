//! Flat: segmented parallel operators and their versions. See [`ir`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`ir`], [`walk`] | the grammar, and walks over it |
//! | [`flatten`] | Mono → Flat |
//! | [`legal`] | what one thread may do |
//! | [`appends`] | which arrays are made in the result of an append |
//! | [`by_size`] | several settings of one operator's schedule, of which a size chooses |
//! | [`sites`] | a name for each operator |
//! | [`across`] | which arrays are transposed for those who read them across their rows |
//! | [`meaning`] | Flat → Mono: what each form stands for |
//! | [`verify`] | the rules, those of Mono among them |
//! | [`mod@print`], [`parse`] | the text form |

pub mod across;
pub mod appends;
pub mod by_size;
pub mod flatten;
pub mod ir;
pub mod meaning;
pub mod parse;
pub mod print;
pub mod sites;
pub mod verify;
pub mod walk;

pub use remc_mono::legal;

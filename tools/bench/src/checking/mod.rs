//! How fast programs are checked: whole files of more and more definitions, and one that is edited.
//!
//! What is measured is a file that [`definitions`] makes. [`measure`] times `remc check` on whole files, one
//! process and one thread each, and a session, as an editor has one, after an edit of one definition.

pub mod definitions;
pub mod measure;

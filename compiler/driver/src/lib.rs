//! The driver: from files to checked programs and rendered messages.
//!
//! A [`Database`] holds the inputs (source files, the prelude) and the memoised queries of [`names`], [`queries`] and
//! [`compile::memo`]: per file `parse` and scopes, per definition references, check, scheme and verification, per entry
//! its program in each language down to kernels. A
//! [`Session`] is what a tool holds: it loads files into a database, follows imports, gathers
//! diagnostics and links what a run needs. Stages know nothing of salsa, and queries read no file.

pub mod claims;
pub mod codes;
pub mod compile;
pub mod cycles;
pub mod database;
pub mod doc;
pub mod names;
pub mod numbers;
pub mod pipeline;
pub mod program;
pub mod queries;
pub mod render;
pub mod session;
pub mod show;

pub use database::{Database, Db, ImportTarget, SourceFile};
pub use names::Def;
pub use program::LinkedProgram;
pub use session::{InternalBug, Session};

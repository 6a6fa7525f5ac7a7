//! What versions cost, and whether the right one is chosen.
//!
//! A program whose nests have versions (see `remc explain-perf`) is compiled and run as it is, and with each version
//! alone, which `remc run --threshold` pins. Of each data set two figures come out:
//!
//! ```text
//! compile   all versions ÷ the version that runs fastest on this data         at most 1.5
//! run       what the sizes chose ÷ the version that runs fastest on this data  at most 1.1
//! ```
//!
//! [`subjects`] lists the programs, their versions and data, [`measure`] runs them, [`table`] says what came out.

pub mod measure;
pub mod subjects;
pub mod table;

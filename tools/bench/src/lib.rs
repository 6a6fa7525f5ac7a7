//! Measures programs in Remora against their peers on the same data, in one run.
//!
//! | module | holds |
//! | --- | --- |
//! | [`bench`] | one run: all rows, all contenders |
//! | [`checking`] | how fast `remc check` is, on files that are generated, and a session after an edit |
//! | [`scaling`] | how compile time grows with the length of generated programs |
//! | [`cases`] | the rows of the table: program, peers, inputs, what the machine allows at best |
//! | [`data`] | inputs from a seeded generator, kept as `.npy` files that every contender reads |
//! | [`contender`] | what a contender can do, and the order in which they are measured |
//! | [`ours`] | Remora programs, through `remc run` |
//! | [`peers`] | C, compiled with OpenMP; [`native`] calls it |
//! | [`numpy`] | NumPy, in a child process that takes the time itself |
//! | [`limits`] | the bandwidth and the rate of operations that this machine reaches |
//! | [`places`] | where files are found and kept |
//! | [`process`] | processes of `remc`, and the times that they say |
//! | [`ragged`] | what it costs that rows differ in length |
//! | [`streams`] | programs over data that is never in memory as a whole, against C |
//! | [`suites`] | programs with ragged or row-wise work, against C that is written to win |
//! | [`table`] | the result as Markdown |
//! | [`tuning`] | what `remc autotune` gains, on data that it saw and on data that it did not |
//! | [`versions`] | what it costs to compile all versions of a nest, and whether the right one is chosen |
//!
//! A contender that is not there leaves a dash and a reason, and everything else goes on.

pub mod args;
pub mod bench;
pub mod cases;
pub mod checking;
pub mod contender;
pub mod data;
pub mod limits;
pub mod native;
pub mod numpy;
pub mod ours;
pub mod peers;
pub mod places;
pub mod process;
pub mod ragged;
pub mod scaling;
pub mod streams;
pub mod suites;
pub mod table;
pub mod tuning;
pub mod versions;

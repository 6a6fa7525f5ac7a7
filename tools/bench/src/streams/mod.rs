//! Programs over data that is never in memory as a whole, against C: whole processes, from opening files to the answer.
//!
//! The programs and their C are in `streams/`. The four applications are those that irregular streams were measured by in
//! Clifton-Everest et al., *Streaming irregular arrays* (Haskell 2017), with as many words, pages and links; their data is
//! made by a seeded generator, and written to files once.
//!
//! | module | holds |
//! | --- | --- |
//! | [`subjects`] | what the lines are, and how their files are made |
//! | [`measure`] | runs both sides in turn, compares what they print, and says how long they took |

pub mod measure;
pub mod subjects;

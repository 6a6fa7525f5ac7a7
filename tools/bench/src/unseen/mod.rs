//! Programs with ragged or row-wise work that no pass of the compiler was written for, against C.
//!
//! The programs are what somebody writes who knows the book and nothing of the compiler: `unseen/NAME.remora`, with a C
//! kernel that is written to win, `unseen/NAME.c`, beside each (`unseen/rows.h` balances rows over threads for those on
//! ragged rows). They say what an array programmer gets who does not know what is fast; so a program that turns out slow
//! stays as it is.
//!
//! Rows have the lengths of [`crate::ragged::rows`], but no row is empty: power law (Zipf's with exponent 1.5), equal, or
//! one giant beside 2^20 tiny ones.
//!
//! | module | holds |
//! | --- | --- |
//! | [`subjects`] | the programs, what each runs on, and how its data is made |
//! | [`reference`] | what is right: plain loops in double precision |
//! | [`measure`] | checks both sides, takes times and says what came out |

pub mod measure;
pub mod reference;
pub mod subjects;

//! What it costs that rows differ in length.
//!
//! Each line is a pair: a program on ragged rows, and what it is to be compared with, on as many elements. The two
//! alternate, in processes of their own, and their times are compared within a round.
//!
//! ```text
//! segment-sums, Zipf     2^20 segments, as long as a draw of 2^24 elements makes them; one in eight is empty   ÷ sum
//! segment-sums, giant    one segment of 2^24 in the middle of 2^20 that have at most 3                      ÷ sum
//! segment-sums, equal    2^20 segments of 16                                                                ÷ sum
//! sparse-product, Zipf   the rows of the first line as those of a matrix of 2^20 columns    ÷ the rows of the third
//! ```
//!
//! The sums are of `float` and of `f32`. Beside its elements a segment has a length, of 8 bytes, and a
//! result: beside 16 `f32` that is a fifth of all bytes.
//!
//! [`rows`] has the lengths and all other data, [`measure`] checks results, takes times and says what came out.

pub mod measure;
pub mod rows;

//! Cost: what a program of Flat does, as formulas in the sizes of its arrays.
//!
//! For people: nothing of the compiler depends on it. A program is split into the steps that a device
//! runs, and for each it is said how many bytes it reads and writes and how many operations it does.
//!
//! ```text
//! (seg-red grid ((i n)) (j m)            reads %a: 8·n·m bytes; %x: 8·m bytes (again for each i)
//!   (leaf … (index %a i j)               writes %y: 8·n bytes
//!           (index %x j)                 2·n·m operations on floats
//!           (op * …)) (λ … (op + …)))
//! ```
//!
//! The model is that of an ideal cache: a step reads each element of an array once if the places follow
//! from the indices of its loops, and once for each read where places are computed. What a leaf makes for
//! itself costs nothing. What is at most so much, since it depends on conditions, is marked.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`formula`] | polynomials in sizes |
//! | [`scope`] | the values of integers, and how often loops run |
//! | [`leaf`] | the operations and reads of one operator |
//! | [`mod@analyse`] | Flat → [`report`] |
//! | [`report`] | steps, control flow, arrays between steps, sums |

pub mod analyse;
pub mod formula;
pub mod leaf;
pub mod report;
pub mod scope;

pub use analyse::analyse;

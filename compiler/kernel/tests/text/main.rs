//! The text form of Kernel, its verifier and its race checker, on programs written by hand.

mod corpus;
mod keeps;
mod parts;
mod races;
mod round_trip;
mod rules;
mod uniformity;

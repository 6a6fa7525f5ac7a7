//! The text form of Mono and its verifier, on programs written by hand.

mod corpus;
mod mutants;
mod round_trip;
mod rules;

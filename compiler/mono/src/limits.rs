//! What the compiler does not compile, by name.
//!
//! A program that checks and has a meaning, but not yet a compiled form, is refused with one of these
//! names, never silently run in another way. `limitations.toml` at the root of the repository lists them
//! for people; a test keeps the two lists equal.

use remc_base::{GlobalId, NodeId};
use std::fmt;

/// A construct that is not compiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Construct {
    Recursion,
    ProgramTooLarge,
}

/// A program that is refused, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Limitation {
    pub construct: Construct,
    /// The places from the innermost out, as in the trace of a program that stops.
    pub at: Vec<(GlobalId, NodeId)>,
    /// What it is in this program, as a sentence without its end.
    pub message: String,
}

/// Why a program was not built.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    Limitation(Limitation),
    /// A term that breaks the rules of Explicit: a mistake of the compiler.
    Bug(String),
}

impl Construct {
    pub const ALL: [Construct; 2] = [Construct::Recursion, Construct::ProgramTooLarge];

    /// The name, as in `limitations.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Construct::Recursion => "recursion",
            Construct::ProgramTooLarge => "program-too-large",
        }
    }

    pub fn summary(self) -> &'static str {
        match self {
            Construct::Recursion => {
                "a function that each round of a loop makes from the one before it, so that it grows"
            }
            Construct::ProgramTooLarge => {
                "a program that grows past the limit when its functions are inlined"
            }
        }
    }

    pub fn workaround(self) -> &'static str {
        match self {
            Construct::Recursion => {
                "keep what the functions mention in an array, and apply them in a loop over it"
            }
            Construct::ProgramTooLarge => "call large functions from fewer places, or map them over an array",
        }
    }
}

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Limitation(l) => write!(f, "{} ({})", l.message, l.construct),
            BuildError::Bug(message) => f.write_str(message),
        }
    }
}

impl From<Limitation> for BuildError {
    fn from(l: Limitation) -> BuildError {
        BuildError::Limitation(l)
    }
}

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

/// A program that has more parts than it may: expressions, those of a function counted wherever it is called, and
/// statements; and no pass may make more statements of it.
#[derive(Clone, PartialEq, Debug)]
pub struct TooLarge {
    /// The pass that made it so, if it was not building it.
    pub pass: Option<&'static str>,
    /// How many it may have.
    pub most: usize,
    /// Where it had that many, from the innermost place out.
    pub at: Vec<(GlobalId, NodeId)>,
}

/// Why a program was not built.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    Limitation(Limitation),
    TooLarge(TooLarge),
    /// A term that breaks the rules of Explicit: a mistake of the compiler.
    Bug(String),
}

impl Construct {
    pub const ALL: [Construct; 1] = [Construct::Recursion];

    /// The name, as in `limitations.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Construct::Recursion => "recursion",
        }
    }

    pub fn summary(self) -> &'static str {
        match self {
            Construct::Recursion => {
                "a function that each round of a loop makes from the one before it, so that it grows"
            }
        }
    }

    pub fn workaround(self) -> &'static str {
        match self {
            Construct::Recursion => {
                "keep what the functions mention in an array, and apply them in a loop over it"
            }
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
            BuildError::TooLarge(t) => t.fmt(f),
            BuildError::Bug(message) => f.write_str(message),
        }
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most;
        match self.pass {
            None => write!(
                f,
                "with its functions written out where they are called, the program has more than {most} parts"
            ),
            Some(pass) => write!(f, "after the pass `{pass}`, the program has more than {most} statements"),
        }
    }
}

impl From<Limitation> for BuildError {
    fn from(l: Limitation) -> BuildError {
        BuildError::Limitation(l)
    }
}

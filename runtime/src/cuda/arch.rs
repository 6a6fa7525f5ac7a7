//! Architectures of GPUs.

use std::fmt;

/// An architecture of GPUs: ten times the major compute capability, and the minor one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Arch(pub u32);

impl Arch {
    /// The first one that CUDA 13 compiles for: Turing.
    pub const OLDEST: Arch = Arch(75);
    /// What the tests compile for: Turing, Ampere, Hopper.
    pub const TESTED: [Arch; 3] = [Arch(75), Arch(80), Arch(90)];
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

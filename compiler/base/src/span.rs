//! Positions in source text.

use crate::name::ModuleId;
use std::fmt;

/// A range of UTF-8 bytes in a module's text: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub module: ModuleId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(module: ModuleId, start: usize, end: usize) -> Span {
        Span { module, start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { module: self.module, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{}..{}", self.module, self.start, self.end)
    }
}

//! The tiles that the blocks of a grid work on.

use crate::ir::Atom;

/// What the tiles of a grid are.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    pub size: Atom,
    pub count: Atom,
}

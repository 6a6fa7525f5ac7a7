//! What the printers and the readers of all IRs from Mono on agree on: the version of the text, and how deep it nests.
//!
//! A reader of lists bounds how deep they nest, a program may nest deeper. So bodies stand in place for a few dozen
//! levels, and those below as parts of their own; how deep the whole is, is counted as it is read.

use remc_base::sexp::{Sexp, SexpError};
use remc_typed::parse::fail;

/// The version of the text form.
pub const VERSION: i128 = 1;

/// How many bodies (or tuples of inputs or results) nest in place; each is up to three lists.
pub const IN_PLACE: usize = 32;

/// How deep bodies may nest, and tuples of inputs or results.
pub const MAX_BODY_DEPTH: usize = 2_000;

/// What was read, and how deep it nests.
pub type Deep<T> = (T, usize);

/// The depth of what is around `below` levels, if that is not too deep.
pub fn around(s: &Sexp, below: usize) -> Result<usize, SexpError> {
    if below >= MAX_BODY_DEPTH {
        return fail(s, format!("this nests deeper than {MAX_BODY_DEPTH}"));
    }
    Ok(below + 1)
}

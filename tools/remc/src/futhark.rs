//! Futhark source: `remc compile --emit futhark`.

use crate::cuda::place_in_text;
use crate::report::{Failure, Outcome};
use remc_driver::{InternalBug, Session};
use remc_mono::ir::Program;

/// The text of a program, with comments that say where its parts come from.
pub fn text(session: &Session, p: &Program) -> Outcome<String> {
    let places = |prov| place_in_text(session, &p.provs, prov);
    remc_futhark::print(p, &places, env!("CARGO_PKG_VERSION"))
        .map_err(|e| Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() }))
}

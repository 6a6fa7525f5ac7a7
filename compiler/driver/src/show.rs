//! `--show types`: the program as source, with everything that was inferred.

use crate::database::SourceFile;
use crate::program::LinkedProgram;
use crate::session::Session;

/// The text of a file with its inferred types; it checks again and gives the same value.
pub fn show_types(session: &Session, file: SourceFile) -> String {
    let roots = session.value_defs(file);
    let program: LinkedProgram = session.link(file, &roots);
    remc_typed::print::print_program(&program.order)
}

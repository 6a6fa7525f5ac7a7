//! `--show types`: the program with everything that was inferred.

use crate::database::SourceFile;
use crate::program::LinkedProgram;
use crate::session::Session;

/// The definitions of a file and what they use, elaborated. The text is that of Typed; a printer that
/// gives source again takes its place here, and nowhere else.
pub fn show_types(session: &Session, file: SourceFile) -> String {
    let roots = session.value_defs(file);
    let program: LinkedProgram = session.link(file, &roots);
    remc_typed::print::print_program(&program.order)
}

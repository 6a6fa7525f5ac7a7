//! The programs that `--compile-scaling` measures check, whatever their length, and do something different each.

use remc_bench::scaling::{Kind, program};
use remc_driver::{Database, Session};
use std::path::Path;

#[test]
fn generated_programs_check() {
    for kind in Kind::ALL {
        for length in [1, 2, 7, 60] {
            let mut session = Session::new(Database::new(false));
            let text = program(kind, length);
            let file = session.load_text("scaling.remora", Path::new(""), text.clone());
            let said = session.diagnostics(file);
            assert!(said.is_empty(), "{text}\n{said:?}");
        }
    }
}

#[test]
fn a_program_has_as_many_bindings_as_it_says() {
    for kind in Kind::ALL {
        assert_eq!(program(kind, 60).matches("\n         (v").count(), 59, "{}", kind.name());
    }
}

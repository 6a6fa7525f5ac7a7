//! The structure of the programs of the bench, the examples and `testsuite/structure`: how many parallel operators are left of
//! each entry after optimisation, and how many versions.
//!
//! `testsuite/passes/flat/structure.txt` lists them; `UPDATE_EXPECT=1` writes it.

use remc_base::GlobalId;
use remc_base::diag::Severity;
use remc_driver::{Database, Session};
use remc_explicit::ir::Definition;
use remc_explicit::lower::explicitize;
use remc_flat::flatten::flatten;
use remc_flat::verify::verify;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

#[test]
fn structures_are_those_listed() {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(compare).unwrap();
    if let Err(e) = thread.join() {
        std::panic::resume_unwind(e);
    }
}

fn compare() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new(Database::default());
    let mut found = String::new();
    for folder in ["tools/bench/programs", "examples", "testsuite/structure"] {
        let mut files: Vec<PathBuf> =
            fs::read_dir(root.join(folder)).unwrap().map(|f| f.unwrap().path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "remora"));
        files.sort();
        for path in files {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            for line in structures(&mut session, &path) {
                found += &format!("{folder}/{name} {line}\n");
            }
        }
    }
    let list = root.join("testsuite/passes/flat/structure.txt");
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(list, found).unwrap();
        return;
    }
    assert_eq!(fs::read_to_string(list).unwrap_or_default(), found);
}

/// The structure of each entry of a file, after its name.
fn structures(session: &mut Session, path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let file = session.load_text(&path.to_string_lossy(), path.parent().unwrap(), text);
    let errors: Vec<_> =
        session.diagnostics(file).into_iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    let mut lines = Vec::new();
    for entry in session.entries(file) {
        let linked = session.link(file, &[entry]);
        let defs =
            |g: &GlobalId| -> Option<Arc<Definition>> { linked.get(g).map(|d| Arc::new(explicitize(d))) };
        let name = entry.name(&session.db);
        let Ok(mut program) = remc_mono::build::build(&defs, &entry.global(&session.db), &[]) else {
            continue;
        };
        remc_mono::opt::optimise(&mut program);
        let flat = flatten(&program).unwrap();
        if env::var_os("SHOW_FLAT").is_some() {
            println!("{}", remc_flat::print::print_program(&flat));
        }
        verify(&flat).unwrap_or_else(|e| panic!("{} {name}: {e}", path.display()));
        lines.push(format!("{name}: {}", flat.structure()));
    }
    lines
}

//! The prelude and every program of the suite, lowered: the result keeps the rules, reads back from its
//! text, has no implicit lifting left, and means what it meant.

mod common;

use remc_base::*;
use remc_driver::queries::GlobalTypes;
use remc_driver::{Database, Session, SourceFile};
use remc_explicit::ir::{Definition, ExprKind};
use remc_explicit::lower::explicitize;
use remc_explicit::parse::parse_program;
use remc_explicit::print::print_program;
use remc_explicit::verify::verify;
use remc_interp::{Interp, Program};
use remc_typed::ir as typed;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The compiler runs on a large stack.
fn on_a_large_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(f).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A sample of the programs of the suite and the examples, by their full paths.
fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ["testsuite/programs", "examples"].into_iter().flat_map(|folder| {
        let all = std::fs::read_dir(root.join(folder)).expect("a folder of programs");
        all.map(|f| f.expect("a file").path()).collect::<Vec<_>>()
    });
    let mut all: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "remora")).collect();
    all.sort();
    assert!(all.len() > 200, "{} programs", all.len());
    let name = |p: &PathBuf| p.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    all.retain(|p| remc_sample::takes(5, &format!("explicit: {}", name(p))));
    all
}

/// A session and the file that a program's text, without errors, is in.
fn loaded(path: &Path) -> (Session, SourceFile) {
    let mut session = Session::new(Database::default());
    let file = session.load(path).unwrap_or_else(|e| panic!("{}: {}", path.display(), e.reason()));
    (session, file)
}

/// Lowers one definition and checks what it became.
fn lowered(def: &typed::Definition, session: &Session, file: SourceFile) -> Definition {
    let globals = GlobalTypes { db: &session.db, file };
    let after = explicitize(def);
    let text = print_program(&[&after]);
    if let Err(e) = verify(&after, &globals) {
        panic!("{}: {e}\n{text}", def.name);
    }
    let back = parse_program(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", def.name));
    assert!(back == [after.clone()], "another program reads back from\n{text}");
    assert_eq!(print_program(&back), text);
    // What it is read as is well-typed too.
    if let Err(e) = remc_typed::verify::verify(&common::definition(&after), &globals) {
        panic!("{}, as Typed: {e}\n{text}", def.name);
    }
    after
}

#[test]
fn the_prelude() {
    on_a_large_stack(|| {
        let session = Session::new(Database::default());
        let mut maps = 0;
        for &file in session.prelude() {
            let roots = session.value_defs(file);
            for def in session.link(file, &roots).order {
                let mut todo = vec![];
                let after = lowered(&def, &session, file);
                todo.push(&after.body);
                while let Some(e) = todo.pop() {
                    maps += usize::from(matches!(*e.kind, ExprKind::Map { .. }));
                    todo.extend(e.children());
                }
            }
        }
        assert!(maps > 20, "{maps} maps");
    });
}

/// What runs: definitions of Typed, in the place of the program's.
struct Replaced<'p> {
    definitions: HashMap<GlobalId, Arc<typed::Definition>>,
    program: &'p remc_driver::LinkedProgram,
}

impl Program for Replaced<'_> {
    fn definition(&self, g: &GlobalId) -> Option<Arc<typed::Definition>> {
        self.definitions.get(g).cloned()
    }

    fn is_primitive(&self, g: &GlobalId) -> bool {
        self.program.has_primitive(g)
    }
}

#[test]
fn the_programs() {
    on_a_large_stack(|| {
        let (mut values, programs) = (0, programs());
        for path in &programs {
            let (session, file) = loaded(path);
            assert!(!session.diagnostics(file).iter().any(|d| d.is_error()), "{}", path.display());
            let program = session.link(file, &session.value_defs(file));
            let own = |d: &Arc<typed::Definition>| {
                let new = common::definition(&lowered(d, &session, file));
                (d.name.clone(), Arc::new(new))
            };
            let definitions = program.order.iter().map(own).collect();
            // Programs with an entry want arguments; what they call is run by the others.
            if !session.entries(file).is_empty() || path.parent().is_some_and(|p| p.ends_with("examples")) {
                continue;
            }
            let Some(value) = session.value(file) else { continue };
            let name = value.global(&session.db);
            let replaced = Replaced { definitions, program: &program };
            let first = session.first_user_module();
            let before = Interp::new(&program, first).eval_definition(&name);
            let after = Interp::new(&replaced, first).eval_definition(&name);
            assert_eq!(format!("{before:?}"), format!("{after:?}"), "{}", path.display());
            values += 1;
        }
        assert!(values > programs.len() / 3, "{values} values of {}", programs.len());
    });
}

//! The files that a program is compiled to: which there are, and whose they may replace.

use crate::root;
use crate::support::{Folder, remc, text};
use std::path::{Path, PathBuf};

#[test]
fn files_beside_the_output_are_remcs_own() {
    let folder = Folder::new("cuda-beside");
    let to = folder.path("prog.cu");
    let compile = |to: &str| remc(&["compile", "-e", "(+ 1 2)", "--emit", "cuda", "-o", to]);
    for _ in 0..2 {
        assert!(compile(&to).status.success());
        assert!(["prog.cu", "prog.h", "prog.json"].iter().all(|f| Path::new(&folder.path(f)).is_file()));
    }
    let header = remc(&["compile", "-e", "(+ 1 2)", "--emit", "cuda-header"]);
    assert_eq!(text(&header.stdout), std::fs::read_to_string(folder.path("prog.h")).unwrap());
    folder.file("prog.json", "[1]");
    let before = std::fs::read_to_string(&to).unwrap();
    let o = remc(&["compile", "-e", "(+ 1 3)", "--emit", "cuda", "-o", &to]);
    assert_eq!(o.status.code(), Some(2), "{}", text(&o.stderr));
    assert!(text(&o.stderr).contains("prog.json` would be written, and"), "{}", text(&o.stderr));
    assert_eq!(std::fs::read_to_string(folder.path("prog.json")).unwrap(), "[1]");
    assert_eq!(std::fs::read_to_string(&to).unwrap(), before);
    assert!(compile("/dev/null").status.success());
    assert!(!Path::new("/dev/null.h").exists());
}

/// Without `--emit` a program becomes three files beside it, and one line says so; all of them or none.
#[test]
fn a_program_is_compiled_to_files_beside_it() {
    let folder = Folder::new("cuda-plain");
    let program = folder.file("rows.remora", "(entry (main [m [float n k]]) (sum (~(1)reverse m)))");
    let names = ["rows.cu", "rows.h", "rows.json"].map(|name| folder.path(name));
    let there = |wanted: bool| names.iter().all(|n| Path::new(n).exists() == wanted);
    let o = remc(&["compile", &program]);
    let said = text(&o.stderr);
    assert!(o.status.success() && o.stdout.is_empty() && there(true), "{said}");
    let [cu, h, json] = &names;
    assert_eq!(
        said,
        format!("{cu}, {h} and {json}: CUDA for nvcc, with versions that are chosen when it runs\n")
    );
    let printed = remc(&["compile", &program, "--emit", "cuda"]);
    assert_eq!(text(&printed.stdout), std::fs::read_to_string(cu).unwrap());
    // What remc has made is made anew.
    folder.file("rows.remora", "(entry (main [m [float n k]]) (sum m))");
    assert!(remc(&["compile", &program]).status.success());
    assert_ne!(text(&printed.stdout), std::fs::read_to_string(cu).unwrap());
    for name in &names {
        names.iter().for_each(|n| _ = std::fs::remove_file(n));
        std::fs::write(name, "mine").unwrap();
        let o = remc(&["compile", &program]);
        assert_eq!(o.status.code(), Some(2));
        let said = text(&o.stderr);
        assert!(
            said.contains(&format!("`{name}` would be written, and is there: remc has not made it")),
            "{said}"
        );
        assert_eq!(std::fs::read_to_string(name).unwrap(), "mine");
        assert_eq!(names.iter().filter(|n| Path::new(n).exists()).count(), 1);
        std::fs::remove_file(name).unwrap();
    }
    // A name that is given is the user's to replace; what is beside it is not.
    let other = folder.file("other.cu", "mine");
    assert!(remc(&["compile", &program, "-o", &other]).status.success());
    assert!(std::fs::read_to_string(other).unwrap().starts_with("// Printed by remc "));
    // What has no file has no such place.
    let o = remc(&["compile", "-e", "(+ 1 2)"]);
    assert!(o.status.success() && o.stderr.is_empty() && text(&o.stdout).starts_with("// Printed by remc "));
    let o = remc(&["compile", &folder.file("wrong.remora", "(+ 1 true)")]);
    assert_eq!((o.status.code(), folder.0.join("wrong.cu").exists()), (Some(1), false));
}

/// Every program of the suite that is compiled becomes files by itself, without an option.
#[test]
fn programs_of_the_suite_become_files() {
    let folder = Folder::new("cuda-suite");
    let refused = std::fs::read_to_string(root().join("testsuite/not-compiled.txt")).unwrap();
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(root().join("testsuite/programs")).unwrap().map(|f| f.unwrap().path()).collect();
    all.sort();
    for path in all.iter().filter(|p| p.extension().is_some_and(|e| e == "remora")) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let name = format!("programs/{stem}");
        if !remc_sample::takes(FILES, &name) || refused.lines().any(|l| l.split(' ').next() == Some(&name)) {
            continue;
        }
        let copy = folder.file(&format!("{stem}.remora"), std::fs::read(path).unwrap());
        let o = remc(&["compile", &copy]);
        assert!(o.status.success(), "{name}: {}", text(&o.stderr));
        for ending in ["cu", "h", "json"] {
            let made = folder.0.join(stem).with_extension(ending);
            assert!(made.is_file(), "{name}: no {}", made.display());
        }
    }
}

/// One program of so many is compiled in a plain run.
const FILES: u64 = 10;

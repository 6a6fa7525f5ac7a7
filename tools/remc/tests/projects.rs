//! `remc new` and `remc test`.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{Folder, fails, text};

fn remc_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("REMC_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .output()
        .unwrap()
}

/// Standard output without the time, and the exit code.
#[track_caller]
fn tested(folder: &Folder, args: &[&str]) -> (String, Option<i32>) {
    let o = remc_in(&folder.0, &[&["test"], args].concat());
    assert_eq!(text(&o.stderr), "");
    let out = text(&o.stdout);
    let out: Vec<&str> = out
        .lines()
        .map(|l| l.rsplit_once(" (").filter(|(_, t)| t.ends_with(" s)")).map_or(l, |(l, _)| l))
        .collect();
    (out.join("\n"), o.status.code())
}

#[test]
fn a_new_project_works_at_once() {
    let folder = Folder::new("new");
    let o = remc_in(&folder.0, &["new", "heat-flow"]);
    assert_eq!((o.status.code(), text(&o.stdout)), (Some(0), String::new()), "{}", text(&o.stderr));
    assert!(text(&o.stderr).contains("cd heat-flow"));
    let place = folder.0.join("heat-flow");
    let o = remc_in(&place, &["test"]);
    let said = text(&o.stdout);
    assert_eq!(o.status.code(), Some(0), "{said}{}", text(&o.stderr));
    assert!(said.contains("9 expectations hold, in 3 files"), "{said}");
    // What the README says works.
    let readme = std::fs::read_to_string(place.join("README.md")).unwrap();
    let run = readme.lines().find_map(|l| l.strip_prefix("remc run heat-flow.remora ")).unwrap();
    let (arguments, value) = run.split_once('#').unwrap();
    let arguments: Vec<&str> =
        ["run", "heat-flow.remora"].into_iter().chain(arguments.split_whitespace()).collect();
    let o = remc_in(&place, &arguments);
    assert_eq!(text(&o.stdout).trim(), value.trim(), "{}", text(&o.stderr));
    let program = std::fs::read_to_string(place.join("heat-flow.remora")).unwrap();
    let plot = program.lines().find(|l| l.contains("--plot")).unwrap().trim_start_matches([';', ' ']);
    let arguments: Vec<&str> = plot.split_whitespace().skip(1).collect();
    assert!(remc_in(&place, &arguments).status.success(), "{plot}");
    assert!(place.join("columns.svg").exists());
    // Nothing of it mentions another name, and nothing is left beside it.
    assert!(!readme.contains("NAME") && !program.contains("NAME"));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    // It is there now.
    let o = remc_in(&folder.0, &["new", "heat-flow"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("`heat-flow` is there already"));
}

#[test]
fn names_that_are_none() {
    let folder = Folder::new("new-names");
    for name in ["..", "a b", "9lives", "ä", "", "a/", "x\n"] {
        let o = remc_in(&folder.0, &["new", name]);
        // The last slash of a path is no part of its name.
        let fine = name == "a/";
        assert_eq!(o.status.code(), Some(if fine { 0 } else { 2 }), "{name}: {}", text(&o.stderr));
    }
    let o = remc_in(&folder.0, &["new", "none/there"]);
    assert!(text(&o.stderr).contains("its folder does not exist"), "{}", text(&o.stderr));
    folder.file("file", "");
    std::os::unix::fs::symlink("nowhere", folder.0.join("link")).unwrap();
    for name in ["file", "link"] {
        assert_eq!(remc_in(&folder.0, &["new", name]).status.code(), Some(2), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3, "nothing half-made is left");
}

#[test]
fn claims_that_hold() {
    let folder = Folder::new("test-right");
    folder.file(
        "a.remora",
        "; Twice.\n; (twice 4) ⇒ 8\n(define (twice x) (* 2 x))\n(twice [1 2]) ; ⇒ [2 4]\n(+ 1 #t) ; ⇒ error E0401\n\
         (index [1 2] [5]) ; ⇒ error R0001\n(iota [100]) ; ⇒ [0 1 …]\n(iota [2 3]) ; => [[0 …] …]\n",
    );
    folder.file("sub/b.remora", "");
    folder.file("none.txt", "(+ 1 2) ; ⇒ 4");
    folder.file(".hidden/c.remora", "(+ 1 2) ; ⇒ 4");
    for device in ["interp", "cpu"] {
        let (said, code) = tested(&folder, &["--device", device]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(
            said,
            "ok    a.remora, 6 expectations\nok    sub/b.remora, it checks\n6 expectations hold, in 2 files"
        );
    }
    assert_eq!(
        tested(&folder, &["--filter", "twice"]).0,
        "ok    a.remora, 2 expectations\n2 expectations hold, in 1 file"
    );
    assert_eq!(tested(&folder, &["--filter", "nowhere"]), ("nothing has `nowhere` in it".into(), Some(0)));
}

#[test]
fn claims_that_do_not_hold() {
    let folder = Folder::new("test-wrong");
    folder.file(
        "a.remora",
        "(define (f x) (+ x 1))\n[1 20 3] ; ⇒ [1 2 3]\n\n(f 1) ; ⇒ error E0401\n(+ 1 #t) ; ⇒ 3\n(f 2) ; ⇒ 3\n(f 3) ; ⇒\n",
    );
    let (said, code) = tested(&folder, &[]);
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "FAIL  a.remora:2  [1 20 3]\n        wanted  [1 2 3]\n        found   [1 20 3]\n                   ^\n",
        "FAIL  a.remora:4  (f 1)\n        wanted  error E0401\n        found   2\n",
        "FAIL  a.remora:5  (+ 1 #t)\n        wanted  3\n        found   a.remora:5:",
        "FAIL  a.remora:7  (f 3)\n        wanted  a value: nothing stands behind the arrow; --update fills it in\n",
        "\n1 expectation holds, 4 do not, in 1 file",
    ] {
        assert!(said.contains(part), "{part}\nis not in\n{said}");
    }
    // An error that no comment speaks of, and what depends on it.
    let folder = Folder::new("test-errors");
    folder.file("b.remora", "(define (g x) (+ x #t))\n(g 1) ; ⇒ 3\n(+ 1 1) ; ⇒ 2\n");
    let (said, code) = tested(&folder, &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("found   it uses a definition with errors"), "{said}");
    assert!(said.contains("FAIL  b.remora  it has errors that no comment expects"), "{said}");
    assert!(said.contains("1 expectation holds, 1 does not, 1 file has other errors, in 1 file"), "{said}");
    // A comment with nothing before it, and behind a definition.
    let folder = Folder::new("test-none");
    folder.file("c.remora", "; ⇒ 3\n(define x 3) ; ⇒ 3\n");
    let (said, _) = tested(&folder, &[]);
    assert!(
        said.contains("wanted  a form before the comment")
            && said.contains("found   no value: it is a definition"),
        "{said}"
    );
}

#[test]
fn updating_changes_nothing_else() {
    let folder = Folder::new("test-update");
    let before = "; Twice. ⇒\r\n; (note) ⇒\r\n; (twice 4) ⇒ 7\r\n(define (twice x) (* 2 x))\r\n\t(twice 5)   ;⇒ 11 \r\n(+ 1 #t) ; ⇒ 2\r\n\
                  (twice 1) ; ⇒ 2\r\n(+ 2 #t) ; ⇒ error E0999\r\n\"; ⇒ 3\" ; ⇒";
    let path = folder.file("a.remora", before);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let (said, code) = tested(&folder, &["--update"]);
    // An error is not written in place of a value.
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("FAIL  a.remora:2")
            && said.contains("FAIL  a.remora:6")
            && said.contains("4 of them updated"),
        "{said}"
    );
    let after = std::fs::read_to_string(&path).unwrap();
    let wanted = before.replace("⇒ 7", "⇒ 8").replace("⇒ 11 ", "⇒ 10 ").replace("error E0999", "error E0401");
    assert_eq!(after, format!("{wanted} \"; ⇒ 3\""));
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap()) & 0o777, 0o640);
    assert_eq!(tested(&folder, &[]).1, Some(1));
    // Only what is not left out.
    let path = folder.file("b.remora", "1 ; ⇒ 2\n3 ; ⇒ 4\n");
    tested(&folder, &["b.remora", "--update", "--filter", "3"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1 ; ⇒ 2\n3 ; ⇒ 3\n");
}

#[test]
fn what_a_program_prints() {
    let folder = Folder::new("test-out");
    std::fs::create_dir(folder.0.join("tests")).unwrap();
    folder.file("tests/xs.csv", "1\n2\n4\n");
    folder.file("tests/a.remora", "; entry: main\n; input: xs=xs.csv\n; input: k=3\n(entry (main [xs [int n]] [k int]) (* k (sum xs)))\n");
    folder.file("tests/b.remora", "1 (+ 1 1)\n");
    folder.file("tests/a.out", "21\n");
    folder.file("tests/b.out", "1\n3\n");
    let (said, code) = tested(&folder, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("ok    tests/a.remora, 1 expectation\n"), "{said}");
    assert!(
        said.contains(
            "FAIL  tests/b.remora  prints what is in tests/b.out\n        wanted  1 3\n        found   1 2\n"
        ),
        "{said}"
    );
    let (said, code) = tested(&folder, &["tests/b.remora", "--update"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(std::fs::read_to_string(folder.0.join("tests/b.out")).unwrap(), "1\n2\n");
    assert_eq!(tested(&folder, &["--device", "cpu"]).1, Some(0));
}

#[test]
fn nothing_to_test() {
    let folder = Folder::new("test-nothing");
    fails(&["test", &folder.path("none")], 2, "there is no such file");
    fails(&["test", folder.0.to_str().unwrap()], 2, "there is no program in");
    let path = folder.file("latin.remora", b"\xff");
    fails(&["test", &path], 2, "is not UTF-8");
}

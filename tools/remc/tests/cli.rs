//! Exit codes and streams of the command line.

mod support;

use std::process::{Command, Stdio};
use support::{Folder, fails, gives, remc, text, with_input};

#[test]
fn values_and_nothing_else_on_standard_output() {
    gives(&["run", "-e", "(+ 1 2)"], "3");
    let o = with_input(&["run", "-"], b"(* 2 [1 2 3])");
    assert_eq!(text(&o.stdout), "[2 4 6]\n");
    let o = remc(&["run", "-e", "5", "--timings"]);
    assert_eq!(text(&o.stdout), "5\n");
    assert!(text(&o.stderr).contains("check"));
    let o = remc(&["check", "-e", "5"]);
    assert_eq!((o.status.code(), text(&o.stdout), text(&o.stderr)), (Some(0), String::new(), String::new()));
}

#[test]
fn wrong_programs() {
    fails(&["run", "-e", "(+ 1 undefined-name)"], 1, "undefined-name");
    fails(&["check", "-e", "[1 2"], 1, "E0102");
    fails(&["run", "-e", "(define x 1) (define x 2) x"], 1, "E0201");
}

#[test]
fn programs_that_stop() {
    fails(&["run", "-e", "(index [1 2 3] [7])"], 3, "R0001");
    fails(&["run", "-e", "(quotient 1 0)"], 3, "R0003");
}

#[test]
fn wrong_usage() {
    fails(&[], 2, "Usage");
    fails(&["run"], 2, "required");
    fails(&["run", "/no/such/file.remora"], 2, "there is no such file");
    fails(&["run", "/"], 2, "it is a folder");
    fails(&["run", "-e", "1", "--input", "x"], 2, "NAME=PATH");
    fails(&["run", "-e", "1", "--input", "x=1"], 2, "U0006");
    fails(&["run", "-e", "(define x 1)"], 2, "U0002");
    fails(&["run", "-e", "1", "--entry", "main"], 2, "U0003");
    fails(&["explain", "E9999"], 2, "U0011");
    let o = with_input(&["run", "-"], b"(+ 1 \xff)\n");
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("not UTF-8 (line 1, byte 5"), "{}", text(&o.stderr));
}

#[test]
fn entries_and_inputs() {
    let two = "(entry (f [xs [int n]] [k int]) (* k xs)) (entry (g [x float]) x)";
    let run = |more: &[&'static str]| -> Vec<&str> { [&["run", "-e", two], more].concat() };
    gives(&run(&["--entry", "f", "--input", "xs=[1 2]", "--input", "k=3"]), "[3 6]");
    gives(&run(&["--entry", "g", "--input", "x=-1"]), "-1.0");
    fails(&run(&[]), 2, "`f`, `g`");
    fails(&run(&["--entry", "h"]), 2, "`f`, `g`");
    fails(&run(&["--entry", "f", "--input", "k=3"]), 2, "`xs`, of type [int n]");
    fails(&run(&["--entry", "g", "--input", "x=1", "--input", "y=2"]), 2, "no parameter `y`");
    fails(&run(&["--entry", "g", "--input", "x=1", "--input", "x=2"]), 2, "given twice");
    fails(&run(&["--entry", "g", "--input", "x=(+ 1 2)"]), 2, "U0007");
    fails(&run(&["--entry", "g", "--input", "x=[1"]), 2, "U0007");
    fails(&run(&["--entry", "g", "--input", "x=[1]"]), 2, "U0009");
    fails(&run(&["--entry", "f", "--input", "xs=[1.5]", "--input", "k=1"]), 2, "U0009");
    // One entry and no expression: it is the one that is meant.
    gives(&["run", "-e", "(entry (f [x int]) (+ x 1))", "--input", "x=1"], "2");
    // One size for two parameters.
    let same = "(entry (f [x [int n]] [y [int n]]) (+ x y))";
    fails(&["run", "-e", same, "--input", "x=[1 2]", "--input", "y=[1]"], 2, "U0009");
}

#[test]
fn arrays_in_files() {
    let folder = Folder::new("arrays");
    let out = folder.path("out.npy");
    let o = remc(&["run", "-e", "[[1 2] [3 4]]", "--output", &out]);
    assert_eq!((o.status.code(), text(&o.stdout)), (Some(0), String::new()));
    let again = format!("m={out}");
    gives(&["run", "-e", "(entry (f [m [int a b]]) (transpose m))", "--input", &again], "[[1 3] [2 4]]");
    let wrong = "(entry (f [m [f32 a b]]) m)";
    fails(&["run", "-e", wrong, "--input", &again], 2, "`m.astype(np.float32)`");
    fails(&["run", "-e", "(entry (f [m [int a]]) m)", "--input", &again], 2, "rank 2 instead of rank 1");
    fails(&["run", "-e", "(entry (f [m int]) m)", "--input", "m=none.npy"], 2, "there is no such file");
    let bytes = std::fs::read(&out).unwrap();
    let short = format!("m={}", folder.file("short.npy", &bytes[..bytes.len() - 3]));
    fails(&["run", "-e", "(entry (f [m [int a b]]) m)", "--input", &short], 2, "truncated");
    let other = format!("m={}", folder.file("other.npy", "hello"));
    fails(&["run", "-e", "(entry (f [m [int a b]]) m)", "--input", &other], 2, "not an .npy file");
    // Text, for any other name.
    let as_text = folder.path("out.rd");
    assert!(remc(&["run", "-e", "\"hey\"", "-o", &as_text]).status.success());
    assert_eq!(std::fs::read_to_string(&as_text).unwrap(), "\"hey\"\n");
}

#[test]
fn a_failure_leaves_the_output_alone() {
    let folder = Folder::new("output");
    let out = folder.file("out.npy", "old");
    fails(&["run", "-e", "(index [1 2 3] [7])", "--output", &out], 3, "R0001");
    fails(&["run", "-e", "(+ [1 2] [1 2 3])", "--output", &out], 1, "");
    fails(&["run", "-e", "\"text\"", "--output", &out], 2, "U0010");
    assert_eq!(std::fs::read(&out).unwrap(), b"old");
    fails(&["run", "-e", "1", "--output", &folder.path("none/out.npy")], 2, "its folder does not exist");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn imports() {
    let folder = Folder::new("imports");
    folder.file("lib.remora", "(define (double [x 0]) (* 2 x))");
    let main = folder.file("main.remora", "(import \"lib.remora\")\n(double [1 2])");
    gives(&["run", &main], "[2 4]");
    folder.file("a.remora", "(import \"b.remora\") 1");
    folder.file("b.remora", "(import \"a.remora\") 2");
    fails(&["run", &folder.path("a.remora")], 1, "E0203");
    let missing = folder.file("missing.remora", "(import \"nowhere.remora\") 1");
    fails(&["run", &missing], 1, "E0202");
}

/// An imported file that is no program may hold what whoever runs the program is not to see.
#[test]
fn of_a_file_that_is_no_program_nothing_is_shown() {
    let folder = Folder::new("no-program");
    let secrets = [
        ("passwd", "root:x:0:0:root:/root:/bin/bash\nsecret:*:1:1\n"),
        ("key.pem", "-----BEGIN SECRET KEY-----\nMIISECRET=\n"),
        ("env", "SECRET=hunter2 \"open"),
        ("json", "{\"secret\": [1, 2}"),
        ("binary", "\u{0}\u{1}secret)))"),
        ("csv", "secret,1\n"),
    ];
    for (name, content) in secrets {
        folder.file(name, content);
        let main = folder.file("main.remora", format!("(import \"{name}\")\n(+ 1 2)"));
        for style in ["rich", "short", "json"] {
            let args = ["run", &main, "--diagnostics", style];
            fails(&args, 1, "E0202");
            let shown = text(&remc(&args).stderr).to_lowercase();
            assert!(!shown.contains("secret") && !shown.contains("root:"), "{shown}");
        }
        fails(&["run", &main], 1, "it is no program that defines anything");
    }
    // A program that is wrong is shown.
    folder.file("lib.remora", "(define x undefined-name)");
    fails(&["run", &folder.file("main.remora", "(import \"lib.remora\") x")], 1, "(define x undefined-name)");
}

/// Names and strings from elsewhere do nothing to a terminal.
#[test]
fn what_would_not_be_seen_is_escaped() {
    let folder = Folder::new("hidden");
    let evil = "a\u{1b}[2J\u{202e}\n[E0001] Error: b";
    let file = folder.file(&format!("{evil}.remora"), "(+ 1 undefined-name)");
    let data = folder.file(&format!("{evil}.npy"), "no array");
    let import = folder.file("import.remora", format!("(import \"{}\") 1", evil.replace('\n', "")));
    let table = folder.file(&format!("{evil}.csv"), "1,\u{1b}[31m2\u{202e}\n");
    let f = "(entry (f [x [int n]]) x)";
    let commands: [&[&str]; 9] = [
        &["run", &file],
        &["check", &file],
        &["run", &format!("{file}x")],
        &["run", &import],
        &["run", "-e", f, "--input", &format!("x={data}")],
        &["run", "-e", f, "--input", &format!("x={table}")],
        &["run", "-e", f, "--input", &format!("{evil}=1")],
        &["run", "-e", f, "--input", &format!("x=\"{evil}\"")],
        &["run", "-e", "1", evil],
    ];
    for args in commands {
        for style in ["rich", "short", "json"] {
            let o = remc(&[args, &["--diagnostics", style]].concat());
            let shown = text(&o.stderr);
            assert!(!o.status.success() && !shown.is_empty(), "{args:?}");
            assert!(!shown.contains(|c| remc_base::is_hidden(c) && c != '\n'), "{args:?} says\n{shown:?}");
            assert!(!shown.lines().any(|l| l.starts_with("[E0001]")), "{args:?} says\n{shown}");
        }
    }
    fails(&["run", &file], 1, "a\\u{1b}[2J\\u{202e}\\n[E0001] Error: b.remora:1:6");
}

#[test]
fn styles_of_messages() {
    fails(&["run", "-e", "[1 2", "--diagnostics", "short"], 1, "<expression>:1:1: error[E0102]: ");
    let o = remc(&["run", "-e", "[1 2", "--diagnostics", "json"]);
    for line in text(&o.stderr).lines() {
        let v: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(v["code"], "E0102");
        assert_eq!(v["spans"][0]["file"], "<expression>");
    }
}

#[test]
fn stages_of_a_program() {
    let folder = Folder::new("stages");
    let o = remc(&["compile", "-e", "(+ 1 [2 3])", "--emit", "typed"]);
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    let file = folder.file("p.typed", &o.stdout);
    let again = remc(&["opt", "--from", "typed", &file]);
    assert_eq!(text(&again.stdout), text(&o.stdout), "{}", text(&again.stderr));
    let broken = folder.file("broken.typed", "(typed 1 (");
    fails(&["opt", "--from", "typed", &broken], 2, "U0012");
    assert!(text(&remc(&["opt", "--list"]).stdout).contains("verify"));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(["run", "-e", "(iota [100000])"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let o = child.wait_with_output().unwrap();
    assert_eq!((o.status.code(), text(&o.stderr)), (Some(0), String::new()));
}

#[test]
fn hostile_texts_end_in_a_message() {
    for program in ["[".repeat(1 << 20), "(".repeat(1 << 20) + &")".repeat(1 << 20), "\"".into(), "#|".into()]
    {
        let o = with_input(&["check", "-"], program.as_bytes());
        assert_eq!(o.status.code(), Some(1), "{}", text(&o.stderr));
        assert!(o.stderr.len() < 10_000);
    }
}

#[test]
fn documentation_of_names_and_forms() {
    let o = remc(&["doc"]);
    let index = text(&o.stdout);
    assert!(o.status.success() && index.contains("arithmetic") && index.contains("unbox"), "{index}");
    let o = remc(&["doc", "take", "pi", "-"]);
    let said = text(&o.stdout);
    // All uses of a name, with types, examples and their values.
    for part in
        ["(take xs counts)", "(take/2 xs counts)", "⇒ [5 6]", "type      (Π (k m @c)", "\npi\n", "(- x y)"]
    {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    gives_usage(&["doc", "--", "-."], "(-. x y)");
    // Forms, under all their names; what is an error says so.
    let said = text(&remc(&["doc", "lambda"]).stdout);
    assert_eq!(said, text(&remc(&["doc", "λ"]).stdout));
    assert!(said.contains("    (λ (p …) e)") && !said.contains("```"), "{said}");
    assert!(text(&remc(&["doc", "λ", "--format", "markdown"]).stdout).contains("```remora\n"));
    assert!(text(&remc(&["doc", "quotient"]).stdout).contains("stops the program: remc explain R0003"));
    fails(&["doc", "redcue"], 2, "`reduce`");
    fails(&["doc", "e0301"], 2, "remc explain e0301");
    fails(&["doc", "zyxwv"], 2, "lists them all");
}

#[test]
fn documentation_of_a_file() {
    let folder = Folder::new("doc");
    let lib = folder.file(
        "lib.remora",
        "; ---- maths ----\n\n; One more.\n; (next 1) ⇒ 2\n(define (next x) (+ x 1))\n(define (sum xs) (head xs))\n5\n",
    );
    let said = text(&remc(&["doc", &lib]).stdout);
    for part in ["(next x)\n    One more.\n", "⇒ 2", "type      (∀ ((t num)) (→ (t) t))", "(sum xs)"] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    let page = text(&remc(&["doc", &lib, "--format", "markdown"]).stdout);
    assert!(page.starts_with("# lib.remora\n\n## maths\n\n### `next`\n"), "{page}");
    assert!(page.contains("```remora\n(next 1) ; ⇒ 2\n```"), "{page}");
    // Its own definitions hide those of the prelude.
    let said = text(&remc(&["doc", &lib, "sum"]).stdout);
    assert!(said.contains("@cell-shape") && !said.contains("of no items"), "{said}");
    assert!(text(&remc(&["doc", "sum"]).stdout).contains("of no items"));
    fails(&["doc", "/no/such.remora"], 2, "there is no such file");
    let wrong = folder.file("wrong.remora", "(define x (+ 1 #t))");
    fails(&["doc", &wrong], 1, "E0401");
}

/// The documentation begins with this.
fn gives_usage(args: &[&str], usage: &str) {
    let said = text(&remc(args).stdout);
    assert_eq!(said.lines().next(), Some(usage), "{said}");
}

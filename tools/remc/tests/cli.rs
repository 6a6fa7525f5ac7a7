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

const DEVICES: [&str; 3] = ["interp", "cpu", "emulated"];

#[test]
fn expressions_before_the_last_are_printed_before_it() {
    let program = "(define v [3 1 2]) v (define (f x) (+ x 1)) (sort v) (f (sum v))";
    for device in DEVICES {
        gives(&["run", "--device", device, "-e", program], "[3 1 2]\n[1 2 3]\n7");
        // What others read has one value.
        gives(&["run", "--device", device, "-e", program, "--format", "json"], "7");
        gives(&["run", "--device", device, "-e", program, "--format", "remora"], "[3 1 2]\n[1 2 3]\n7");
    }
    let folder = Folder::new("values");
    let (file, out) = (folder.file("program.remora", program), folder.path("out.rd"));
    assert!(remc(&["run", &file, "--output", &out]).status.success());
    assert_eq!(std::fs::read_to_string(out).unwrap(), "7\n");
    // Those of a file that is imported are not run, and neither are any where an entry is.
    let main = "(import \"program.remora\") (f 1) (entry (main [x int]) (f x)) (f 2)";
    let main = folder.file("main.remora", main);
    gives(&["run", &main], "2\n3");
    gives(&["run", &main, "--entry", "main", "--input", "x=5"], "6");
    // A repeated run is one of all of them.
    let o = remc(&["run", "-e", program, "--repeat", "3", "--timings=json"]);
    assert_eq!(text(&o.stdout), "[3 1 2]\n[1 2 3]\n7\n");
    let report = text(&o.stderr);
    let runs = report.split("\"runs\": [").nth(1).and_then(|r| r.split(']').next()).unwrap_or_default();
    assert_eq!(runs.split(", ").count(), 3, "{report}");
}

#[test]
fn what_was_printed_before_a_stop_stays() {
    let stops = |program: &str, before: &str, message: &str| {
        for device in DEVICES {
            let o = remc(&["run", "--device", device, "--diagnostics", "short", "-e", program]);
            let (out, err) = (text(&o.stdout), text(&o.stderr));
            assert_eq!((o.status.code(), &*out), (Some(3), before), "{device}: {err}");
            assert_eq!(err.matches("error").count(), 1, "{device}: {err}");
            assert!(err.contains(message), "{device}: {err}");
        }
    };
    stops("(index [1] [7]) 2 3", "", "1:1");
    stops("1 (+ 1 1) (index [1] [7]) 3", "1\n2\n", "1:11");
    stops("1 2 (index [1] [7])", "1\n2\n", "1:5");
    // The first of two that stop.
    stops("1 (index [1] [8]) 2 (index [1] [7])", "1\n", "[8]");
    // In a definition that several use, the first is the one that stops.
    stops("(define v (index [1] [7])) 1 v 2 (+ v 1)", "1\n", "1:11");
    // What there is no room for.
    stops("1 (iota [4]) (sum (sort (iota [(cast int 1e15)]))) 2", "1\n[0 1 2 3]\n", "R0012");
}

#[test]
fn what_there_is_no_room_for_together_is_computed_one_after_the_other() {
    // Each takes 40 MB.
    let parts = "(define (big k) (* k (iota [5000000]))) (big 1) (big 2) (big 3)";
    let o = remc(&["run", "--memory-limit", "100M", "-e", parts, "--max-elements", "2"]);
    assert_eq!(text(&o.stdout), "[0 1 …]\n[0 2 …]\n[0 3 …]\n", "{}", text(&o.stderr));
}

#[test]
fn what_is_too_large_together_is_compiled_by_itself() {
    let one = "(reduce + (sort (* 2 (iota [7]))))";
    let three = format!("{one} {one} {one}");
    let fits = (20..400).step_by(20).find(|n| {
        remc(&["run", "--device", "cpu", "--size-limit", &n.to_string(), "-e", one]).status.success()
    });
    let limit = fits.expect("a limit").to_string();
    gives(&["run", "--device", "cpu", "--size-limit", &limit, "-e", &three], "42\n42\n42");
}

#[test]
fn a_function_alone_is_an_error() {
    let shows = |program: &str, remedy: &str| {
        for command in ["run", "check"] {
            fails(&[command, "-e", program], 1, "E0205");
            fails(&[command, "-e", program], 1, remedy);
        }
    };
    shows("1 + 2", "`(+ 1 2)`");
    shows("1 + 2 + 3", "`(+ 1 2 3)`");
    shows("1 - 2 - 3", "`(- (- 1 2) 3)`");
    shows("(sum [1]) * 2 + 3 * 4 < 5", "`(< (+ (* (sum [1]) 2) (* 3 4)) 5)`");
    shows("1 max2 2 max2 3", "`(max2 1 2 3)`");
    shows("1 max2 2 + 3", "`(max2 …)`");
    shows("sum [1 2 3]", "`(sum [1 2 3])`");
    shows("sum iota 3", "`(sum (iota 3))`");
    shows("reduce + [1 2 3]", "`(reduce + [1 2 3])`");
    shows("+ 1 2 3", "`(+ 1 2 3)`");
    shows("sqrt(2.0)", "`(sqrt 2.0)`");
    shows("sum(iota 3)", "`(sum iota 3)`");
    shows("x = 5", "`(define x 5)`");
    shows("(define x 4) x = 5", "`(= x 5)`");
    shows("sum\n[1 2 3]", "`(sum …)`");
    shows("+", "`(+ …)`");
    shows("(define (f a b c) a) f", "`(f …)`");
    shows("(define f (λ ([x int]) x)) 1 f 2", "`(f …)`");
    // One message for a line, and none about what is in parentheses behind a name.
    let o = remc(&["check", "--diagnostics", "short", "-e", "1 + 2 * 3\nsqrt(2.0)\nx = 5"]);
    assert_eq!(text(&o.stderr).matches("error").count(), 3, "{}", text(&o.stderr));
    // A function that is no name is a value.
    gives(&["run", "-e", "(λ ([x int]) x) 5"], "#<function>\n5");
    let folder = Folder::new("alone");
    folder.file("lib.remora", "(define (f x) x) f");
    fails(&["run", &folder.file("main.remora", "(import \"lib.remora\") (f 1)")], 1, "E0205");
}

#[test]
fn wrong_usage() {
    fails(&["blur.remora"], 2, "tip: `remc run blur.remora` runs a program");
    fails(&["Cargo.toml", "--entry", "main"], 2, "tip: `remc run Cargo.toml` runs a program");
    fails(&["complie"], 2, "'compile'");
    fails(&[], 2, "Usage");
    fails(&["run"], 2, "required");
    fails(&["run", "/no/such/file.remora"], 2, "there is no such file");
    fails(&["run", "/"], 2, "it is a folder");
    fails(&["run", "-e", "1", "--input", "x"], 2, "NAME=PATH");
    fails(&["run", "-e", "1", "--input", "x=1"], 2, "U0006");
    fails(&["run", "-e", "(define x 1)"], 2, "U0002");
    fails(&["run", "-e", "1", "--entry", "main"], 2, "U0003");
    fails(&["explain", "E9999"], 2, "U0011");
    fails(&["explain", "9999"], 2, "U0011");
    assert!(text(&remc(&["explain", "312"]).stdout).starts_with("# E0312"));
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
    let rows = "(entry (f [ts [(Record (name [char 2]) (size int)) n]]) (field ts size))";
    gives(
        &["run", "-e", rows, "--input", r#"ts=[{"size": 3, "name": "ab"}, {"name": "cd", "size": 4}]"#],
        "[3 4]",
    );
    let one = "(entry (f [t (Record (size int))]) (field t size))";
    gives(&["run", "-e", one, "--input", r#"t= {"size": 3}"#], "3");
    fails(&["run", "-e", one, "--input", r#"t={"size": }"#], 2, "U0007");
    fails(&["run", "-e", one, "--input", r#"t={"size": "x"}"#], 2, "U0009");
    fails(&["run", "-e", one, "--input", r#"t={"sizes": 1}"#], 2, "U0009");
    let text = "(entry (f [x [char n]]) (length x))";
    fails(&["run", "-e", text, "--input", "x=hello"], 2, r#"--input 'x="hello"'"#);
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
    assert!(page.contains("```remora\n(next 1)  ; ⇒ 2\n```"), "{page}");
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

/// Copies of items that have no elements take no places.
#[test]
fn items_without_elements() {
    let program = "(replicate/counts [1 0 2] (reshape [3 0] (array [0] int)))";
    for device in ["interp", "cpu"] {
        gives(&["run", "-e", program, "--device", device], "(box ((n 3)) [int n 0] (array [3 0] int))");
    }
}

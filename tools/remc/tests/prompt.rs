//! The prompt without a terminal: inputs come from a pipe.

mod support;

use std::io::{BufRead, Read, Write};
use std::process::{Command, Output, Stdio};
use support::{Folder, text, with_input};

fn repl(input: &str) -> Output {
    with_input(&["--diagnostics", "short", "repl"], input.as_bytes())
}

/// What an input gives, and what is said beside it.
#[track_caller]
fn gives(input: &str, values: &str, said: &str) {
    let o = repl(input);
    assert_eq!((text(&o.stdout), text(&o.stderr)), (values.to_owned(), said.to_owned()), "{input}");
    assert_eq!(o.status.code(), Some(0), "{input}");
}

/// An input that fails in the end with a code, and says this; what it gives.
#[track_caller]
fn fails(input: &str, code: i32, says: &[&str]) -> String {
    let o = with_input(&["repl"], input.as_bytes());
    let said = text(&o.stderr);
    assert_eq!(o.status.code(), Some(code), "{input}: {said}");
    for part in says {
        assert!(said.contains(part), "{input}: no `{part}` in\n{said}");
    }
    text(&o.stdout)
}

#[test]
fn expressions_and_definitions() {
    gives("(+ 1 2)\n\n; nothing\n\"text\"\n", "3\n\"text\"\n", "");
    gives("(define (f x) (+ x 1)) (f [1 2])\n(f 5)", "[2 3]\n6\n", "f : (∀ ((t num)) (→ (t) t))\n");
    // A form goes on until it is whole, a line may have several.
    gives("(let ((x 1)\n      (y 2))\n  #| ( |#\n  (+ x y)) 4\n", "3\n4\n", "");
    gives(
        "(define-type P [float 2])\n(define (o [p P]) (sum p))\n(o [1 2.5])\n",
        "3.5\n",
        "P = [float 2]\no : (→ ([float 2]) float)\n",
    );
    // A function is what its type says; so is an array of them.
    gives(
        "(λ ([x 1]) (sum x))\nsub1\n",
        "(Π (d) (∀ ((t num)) (→ ([t d]) t)))\nsub1 : (∀ ((t num)) (→ (t) t))\n",
        "",
    );
}

#[test]
fn definitions_take_each_others_place() {
    let input =
        "(define k 2)\n(define (f x) (* x k))\n(f 10)\n(define k 3)\n(f 10)\n:list\n:forget k\n:list\n";
    let values = "20\n30\nf : (∀ ((t num)) (→ (t) t))\nk : int\nf does not check: `:type f` says why\n";
    let said = "k : int\nf : (∀ ((t num)) (→ (t) t))\nk : int\n`f` does not check with that any more, and cannot be used until it does: `:type f` says why\n";
    gives(input, values, said);
    // What does not check any more is refused where it is needed, and is back when it checks again.
    let input = "(define (f [v 1]) v)\n(define (g [v 1]) (sum (f v)))\n(define (f [m 2]) m)\n(g [1 2])\n(+ 1 2)\n(define (f [v 1]) (* v 2))\n(g [1 2])\n";
    let says = ["`g` does not check", "<prompt>:1:", "this needs what does not check"];
    assert_eq!(fails(input, 1, &says), "3\n6\n");
}

#[test]
fn values_are_computed_once() {
    // By the interpreter this takes a while; what uses it does not, functions that mention it neither.
    let slow = "(define slow (loop ((k 0) (s 0)) while (< k 150000) do (values (+ k 1) (+ s k))))\n";
    let seconds = |input: &str| {
        let start = std::time::Instant::now();
        let o = with_input(&["repl", "--device", "interp"], input.as_bytes());
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        (start.elapsed().as_secs_f64(), text(&o.stdout))
    };
    let (nothing, _) = seconds("(+ 1 2)\n");
    let (once, _) = seconds(slow);
    let uses = "(proj 1 slow)\n(f 1)\n".repeat(20);
    let (many, values) = seconds(&format!("{slow}(define (f x) (+ x (proj 1 slow)))\n{uses}"));
    assert_eq!(values, "11249925000\n11249925001\n".repeat(20));
    assert!(many - nothing < 5.0 * (once - nothing) + 4.0, "{nothing} {once} {many}");
    // Until it is defined anew, or what it is made of is; the types that values have stay.
    let input = "(define k (+ 1 (sum [1 2])))\n(define xs (* k (iota [3])))\n(define b (filter (> xs 4) xs))\nb\n(define k (+ 1 (sum [1 3])))\nb\n(* b 2)\n:device interp\nb\n";
    let values = "(box ((n 1)) [int n] [8])\n(box ((n 2)) [int n] [5 10])\n(box ((n 2)) [int n] [10 20])\n(box ((n 2)) [int n] [5 10])\n";
    let o = repl(input);
    assert_eq!(text(&o.stdout), values, "{}", text(&o.stderr));
    // One that stops says so when it is defined, and then where it is needed alone.
    let input = "(define bad (index [1 2] [(+ 1 (sum [1]))]))\n(if #t 1 bad)\nbad\n";
    let o = repl(input);
    assert_eq!((text(&o.stdout).as_str(), o.status.code()), ("1\n", Some(3)));
    assert_eq!(text(&o.stderr).matches("error[R0001]").count(), 2, "{}", text(&o.stderr));
}

#[test]
fn errors_leave_the_session_as_it_was() {
    let input = "(define x 5)\n(define x 6) (define y (+ x #t))\nx\n(+ x) x\n)\n(index [1 2] [7])\nx\n(f";
    let o = repl(input);
    let said = text(&o.stderr);
    assert_eq!(text(&o.stdout), "5\n5\n", "{said}");
    assert_eq!(o.status.code(), Some(1), "the first that fails is how it ends");
    assert!(said.contains("[E0401]") && said.contains("[R0001]"), "{said}");
    assert!(!said.contains("<prompt>:2"), "lines are those of what was typed: {said}");
}

#[test]
fn a_command_without_its_colon() {
    for (input, help) in [
        ("quit", "`:quit`"),
        ("help", "`:help [COMMAND]`"),
        ("exit()", "`:exit`"),
        ("(plot [1 2])", "`:plot [KIND] [FILE] [EXPR]`"),
    ] {
        let help = format!("a command begins with a colon: {help}\n");
        fails(input, 1, &[&help, "[E0501]"]);
    }
    // By itself it can be nothing else.
    assert!(!text(&with_input(&["repl"], b"exit").stderr).contains("did you mean"));
    // Names of one's own come first, and no command is applied in the middle of a form.
    gives("(define quit 3)\nquit\n", "3\n", "quit : int\n");
    let o = with_input(&["repl"], b"(+ 1 quit)\n(list 1 2)\n");
    assert!(!text(&o.stderr).contains("colon"), "{}", text(&o.stderr));
}

#[test]
fn runs_that_end_the_worker() {
    // Memory: the process that computes ends, and says why; the session does not.
    let input = "(define x 5)\n:device interp\n(sum (iota [100000 100000 1000]))\nx\n";
    let o = with_input(&["repl", "--memory-limit", "100M"], input.as_bytes());
    assert_eq!((text(&o.stdout).as_str(), o.status.code()), ("5\n", Some(3)), "{}", text(&o.stderr));
    // Ctrl-C: the signal goes to the prompt.
    let folder = Folder::new("prompt-interrupt");
    let mut child = Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(["repl"])
        .env("REMC_CACHE", folder.path("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(b"(define x 5)\n(loop ((k 1)) while (> k 0) do (if (> k 5) 3 (+ k 1)))\n(+ x 1)\n")
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    drop(stdin);
    let o = child.wait_with_output().unwrap();
    assert_eq!(text(&o.stdout), "6\n");
    assert!(text(&o.stderr).contains("interrupted"), "{}", text(&o.stderr));
}

#[test]
fn large_and_aligned() {
    gives(
        "(iota [1000])\n",
        "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 … 997 998 999]  ; [1000] of int\n",
        "",
    );
    gives("(/ (reshape [2 2] [1 20 300 4]) 8)\n", "[[ 0.125 2.5]\n [37.5   0.5]]\n", "");
    gives("(/ 1 3) [(/ 1 3)]\n", "0.3333333333333333\n[0.333333]\n", "");
}

#[test]
fn types_shapes_and_meanings() {
    gives(":type (iota [2 3])\n:type +\n:type 5\n", "[int 2 3]\n+ : (∀ ((t num)) (→ (t t) t))\nint\n", "");
    gives(
        ":shape (iota [2 3])\n:shape (filter [#t #f #t] [7 8 9])\n:shape \"abc\"\n",
        "[2 3]\n[2], in a box\n[3]\n",
        "",
    );
    let value = "(record (a 1) (b [1 2]))";
    gives(
        &format!("{value}\n:type\n:shape\n"),
        &format!("{value}\n(Record (a int) (b [int 2]))\n(values [] [2])\n"),
        "",
    );
    let doc = "(next x)\n    One more.\n\n    (next 1)\n      ⇒ 2\n\n    type      (∀ ((t num)) (→ (t) t))\n    explicit  next{t |}\n";
    gives(
        "; One more.\n; (next 1) ⇒ 2\n(define (next x) (+ x 1))\n:doc next\n",
        doc,
        "next : (∀ ((t num)) (→ (t) t))\n",
    );
    assert!(text(&repl(":doc iscan\n").stdout).starts_with("(iscan "));
    assert!(text(&repl(":doc\n").stdout).starts_with("`:doc NAME` says"));
    let help = text(&repl(":help\n").stdout);
    for command in
        ["type", "shape", "ir STAGE", "time", "perf", "load", "save", "doc", "device", "plot", "help", "quit"]
    {
        assert!(help.contains(&format!("\n:{command}")), "{command}: {help}");
    }
}

#[test]
fn what_the_compiler_makes() {
    let o = repl("(define k 3)\n:time (sum (iota [1000]))\n:device interp\n:t (* k 2)\n:ti (* k 2)\n");
    let out = text(&o.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert_eq!((lines[0], lines[2]), ("499500", "6"), "`:t` may be two commands");
    assert!(lines[1].starts_with("compiled in ") && lines[1].contains(", ran in "), "{out}");
    for (stage, has) in [
        ("typed", "(typed 1"),
        ("explicit", "(explicit"),
        ("mono", "(mono 1"),
        ("flat", "(flat"),
        ("kernel", "(kernel"),
        ("llvm", "target triple"),
        ("cuda", "#include <cuda_runtime.h>"),
        ("futhark", "entry"),
    ] {
        let o = repl(&format!("(define xs [1 2 3])\n:ir {stage} (* xs 2)\n"));
        assert!(text(&o.stdout).contains(has), "{stage}: {}{}", text(&o.stdout), text(&o.stderr));
        assert_eq!(o.status.code(), Some(0));
    }
    let o = repl(
        "(entry (main [xs [float n]]) (sum xs))\n:perf main\n(main [1 2])\n:perf\n:perf --device=cuda main\n",
    );
    let out = text(&o.stdout);
    assert!(
        out.contains("entry `main`") && out.contains("\n3.0\n") && out.contains("cuda"),
        "{out}{}",
        text(&o.stderr)
    );
    fails(":ir nothing (+ 1 2)\n", 2, &["`nothing` is no stage", "`mono`"]);
    fails(":perf (λ (x) (+ x 1))\n", 2, &["a function is compiled where it is applied"]);
}

#[test]
fn programs_are_loaded_and_saved() {
    let folder = Folder::new("prompt-load");
    folder.file("dir/lib.remora", "(define (inc x) (+ x 1))\n");
    let program = "; A program.\n\n(import \"lib.remora\")\n\n; Twice and one.\n(define (f x) (inc (* x 2))) ; behind\n(define k 3)\n(f k)\n";
    let file = folder.file("dir/prog.remora", program);
    let saved = folder.path("saved.remora");
    let input =
        format!(":load {file}\n(f k)\n(define k 4)\n(f k)\n:save {saved}\n:save {saved}\n:save {file}\n");
    let out = fails(&input, 2, &["2 definitions (f, k); 1 expression is not run", "is there already"]);
    assert_eq!(out, "7\n9\n");
    assert_eq!(
        std::fs::read_to_string(&saved).unwrap(),
        "(import \"dir/lib.remora\")\n\n; Twice and one.\n(define (f x) (inc (* x 2))) ; behind\n\n(define k 4)\n"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), program);
    // What was saved is a program, and one for the prompt.
    let o = with_input(&["repl", &saved], b"(f k)\n");
    assert_eq!(text(&o.stdout), "9\n", "{}", text(&o.stderr));
    // Errors in a file are at its lines, and nothing of it is taken.
    let wrong = folder.file("wrong.remora", "(define a 1)\n(define b (+ a #t))\n");
    let out = fails(
        &format!("(define a 7)\n:load {wrong}\na\n:load {}\n", folder.path("none.remora")),
        1,
        &["wrong.remora:2:", "no such file"],
    );
    assert_eq!(out, "7\n");
    // Loaded again, it replaces what it brought.
    std::fs::write(&wrong, "(define c 1)\n").unwrap();
    let o = repl(&format!(":load {wrong}\nc\n:load\n:list\n"));
    assert_eq!(text(&o.stdout), "1\nc : int\n");
}

#[test]
fn entries_run_with_data() {
    let folder = Folder::new("prompt-run");
    let data = folder.file("m.csv", "1,2\n3,4.5\n");
    let entries = "(entry (sums [m [float r c]]) (sum m))\n";
    let o = repl(&format!(
        "{entries}:run m={data}\n:run sums m=[[1 2] [10 20]]\n:device interp\n:run m={data}\n"
    ));
    assert_eq!(text(&o.stdout), "[4.0 6.5]\n[11.0 22.0]\n[4.0 6.5]\n", "{}", text(&o.stderr));
    let other = format!("{entries}(entry (greet [who [char n]] [k int]) (append who \"!\"))\n");
    let o = repl(&format!("{other}:run greet k=5 who=\"a b\"\n"));
    assert_eq!(text(&o.stdout), "\"a b!\"\n", "{}", text(&o.stderr));
    fails(&format!("{other}:run m=[[1]]\n"), 2, &["there are several entries", "`greet`"]);
    fails(&format!("{other}:run sum m=[[1]]\n"), 2, &["there is no entry `sum`", "`sums`"]);
    fails(&format!("{entries}:run m=5\n"), 2, &["U0009"]);
    fails(":run x=5\n", 2, &["no entry is defined here"]);
}

#[test]
fn imports_are_read_again() {
    let folder = Folder::new("prompt-import");
    let lib = folder.file("lib.remora", "(define (inc x) (+ x 1))\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(["--diagnostics", "short", "repl"])
        .env("REMC_CACHE", folder.path("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut says = |line: String| {
        stdin.write_all(line.as_bytes()).unwrap();
        let mut value = String::new();
        stdout.read_line(&mut value).unwrap();
        value
    };
    assert_eq!(says(format!("(import \"{lib}\")\n(inc 5)\n")), "6\n");
    std::fs::write(&lib, "(define (inc x) (+ x 2))\n").unwrap();
    assert_eq!(says("(inc 5)\n".to_owned()), "7\n");
    // What is wrong there is said where it is needed.
    std::fs::write(&lib, "(define (inc [x int]) (+ x #t))\n").unwrap();
    assert_eq!(says("(inc 5)\n(+ 1 2)\n".to_owned()), "3\n");
    std::fs::remove_file(&lib).unwrap();
    assert_eq!(says("(inc 5)\n(+ 2 2)\n".to_owned()), "4\n");
    drop(stdin);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("lib.remora:1:") && said.contains("[E0401]"), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
}

#[test]
fn pictures() {
    let folder = Folder::new("prompt-plot");
    let (svg, png) = (folder.path("p.svg"), folder.path("q.png"));
    let o = repl(&format!(
        ":plot {svg} [1 2 3]\n:plot line {png} (iota [5])\n:plot bars [1 2 3]\n(iota [4 4])\n:plot\n"
    ));
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.contains("<title>[1 2 3]</title>") && drawn.contains("<desc>3 bars</desc>"), "{drawn}");
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
    let out = text(&o.stdout);
    assert!(out.starts_with("[1 2 3]\n") && out.contains('█') && out.contains("(iota [4 4])"), "{out}");
    fails(":plot (+ 1 2)\n", 2, &["U0025"]);
    fails(":plot\n", 2, &["`:plot` is about an expression"]);
}

#[test]
fn what_is_no_command() {
    fails(":tyep 5\n", 2, &["U0029", "did you mean `:type`?"]);
    fails(":t 5\n", 2, &["`:t` may be `:type` or `:time`"]);
    fails(":\n", 2, &["`:help` lists them"]);
    fails(":device gpu\n", 2, &["there is no device `gpu`"]);
    fails(":forget x\n", 2, &["nothing is called `x`"]);
    fails(":type (define x 1)\n", 2, &["is about one expression"]);
    let o = repl("1\n:quit\n2\n");
    assert_eq!((text(&o.stdout).as_str(), o.status.code()), ("1\n", Some(0)));
}

//! Limits of memory, by the command line: each ends in one message and an exit code, never in a signal.

mod support;

use std::process::Command;
use support::{Folder, fails, remc, text, with_input};

const TOTAL: &str = "(entry (main [xs [float n]]) (sum xs))";
const SPACES: &str = "(entry (main [t [char n]]) (sum (bool->int (= t #\\space))))";

/// One error with this code, and this exit code.
#[track_caller]
fn stops(args: &[&str], input: &[u8], exit: i32, code: &str) -> String {
    let o = with_input(args, input);
    let message = text(&o.stderr);
    assert_eq!(o.status.code(), Some(exit), "{args:?}: {message}");
    assert_eq!(message.matches("] Error: ").count(), 1, "{args:?}: {message}");
    assert!(message.contains(code) && message.len() < 2000, "{args:?}: {message}");
    assert_eq!(text(&o.stdout), "", "{args:?}");
    message
}

#[test]
fn files_without_an_end() {
    let limited = |program: &str, input: &str, code: &str| {
        stops(&["run", "-e", program, "--input", input, "--memory-limit", "20M"], b"", 2, code)
    };
    let said = limited(TOTAL, "xs=/dev/zero:csv", "U0008");
    assert!(said.contains("line 1 holds a byte 0"), "{said}");
    limited(TOTAL, "xs=/dev/zero:f64[_]", "U0021");
    limited(SPACES, "t=/dev/zero:text", "U0021");
    limited(TOTAL, "xs=/dev/zero:rd", "U0021");
    // What is to be of one size is read no further.
    let said = limited(TOTAL, "xs=/dev/zero:f64[10]", "U0016");
    assert!(said.contains("it has more than the 80 bytes of float[10]"), "{said}");
}

#[test]
fn inputs_larger_than_the_limit() {
    let folder = Folder::new("large-inputs");
    let numbers = "7 ".repeat(3 << 20);
    let one_line = numbers.replace(' ', ",");
    let long_field = "7".repeat(30 << 20);
    let limit = ["--memory-limit", "20M"];
    let pipe = |input: &str, bytes: &str| {
        let args = [&["run", "-e", TOTAL, "--input", input], &limit[..]].concat();
        stops(&args, bytes.as_bytes(), 2, "U0021")
    };
    let said = pipe("xs=/dev/stdin:csv", one_line.trim_end_matches(','));
    assert!(said.contains("`/dev/stdin`") && said.contains("20 MiB"), "{said}");
    pipe("xs=/dev/stdin:csv", &long_field);
    pipe("xs=/dev/stdin:csv:sep=space", &numbers);
    for (name, content) in
        [("a.rd", format!("[{numbers}]")), ("b.rd", format!("[{}]", "(+ 1 2) ".repeat(1 << 20)))]
    {
        let file = folder.file(name, content);
        let input = format!("xs={file}");
        let args = [&["run", "-e", TOTAL, "--input", &input], &limit[..]].concat();
        stops(&args, b"", 2, "U0021");
    }
    // What fits is read.
    let fits = folder.file("c.rd", format!("[{}]", "7 ".repeat(1 << 20)));
    let input = format!("xs={fits}");
    let o = remc(&[&["run", "-e", TOTAL, "--input", &input], &limit[..]].concat());
    assert_eq!(text(&o.stdout), format!("{}.0\n", 7 << 20), "{}", text(&o.stderr));
}

#[test]
fn the_interpreter_has_limits() {
    let doubled = "(loop ((i 0) (b (box [1]))) while (< i 40) do (values (+ i 1) (unbox b (xs n) (box (append xs xs)))))";
    let grows = format!("(unbox (proj 1 {doubled}) (ys m) (sum ys))");
    stops(&["run", "-e", &grows, "--device", "interp", "--memory-limit", "64M"], b"", 3, "R0012");
    fails(&["run", "-e", &grows, "--device", "cpu", "--memory-limit", "64M"], 3, "R0012");
}

/// A system that gives no more: of addresses, here.
#[cfg(target_os = "linux")]
#[test]
fn the_system_gives_no_more() {
    let remc = env!("CARGO_BIN_EXE_remc");
    let run = |kib: u64, more: &str| {
        let command = format!("ulimit -v {kib}; exec {remc} run -e '(sum (iota [1000]))' {more}");
        let o = Command::new("sh").args(["-c", &command]).env("REMC_CACHE", "off").output().unwrap();
        (o.status.code(), text(&o.stderr))
    };
    // Nothing of ours decides where in the work the end comes, LLVM's among it; so several places.
    let many = (0..16).map(|k| (350_000 + 55_013 * k, if k % 2 == 0 { "" } else { "--threads 1024" }));
    for (kib, more) in
        many.chain([(1_200_000, "--threads 1024"), (600_000, "--device interp"), (600_000, "")])
    {
        let (code, said) = run(kib, more);
        // It may have been enough; if not, that is said.
        assert!(matches!(code, Some(0 | 2 | 3)), "{kib} {more}: {code:?} {said}");
        assert!(code == Some(0) || said.contains("] Error: "), "{kib} {more}: {said}");
    }
}

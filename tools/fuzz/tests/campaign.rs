//! A short run of the fuzzer, and the command line around it.

use std::process::Command;

fn fuzz(arguments: &[&str]) -> (i32, String) {
    let folder = std::env::temp_dir().join(format!("remc-fuzz-test-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_remc-fuzz"))
        .args(arguments)
        .arg("--artifacts")
        .arg(&folder)
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn a_short_run_passes_and_says_so() {
    let (code, text) = fuzz(&["--seconds", "60", "--cases", "60", "--seed", "7"]);
    let last = text.lines().last().unwrap_or_default();
    assert!(last.ends_with(" passed, 0 failed"), "{text}");
    assert_eq!(code, 0, "{text}");
}

#[test]
fn strange_layouts_are_formatted() {
    let (code, text) = fuzz(&["--only", "format", "--seconds", "120", "--cases", "600", "--seed", "3"]);
    assert!(text.trim_end().ends_with("600 passed, 0 failed"), "{text}");
    assert_eq!(code, 0, "{text}");
}

#[test]
fn generated_programs_give_the_same_when_emulated() {
    if let Err(none) = remc_emulate::Emulator::new(std::env::temp_dir()) {
        eprintln!("left out: {none}");
        return;
    }
    let arguments = ["--only", "differential", "--devices", "cpu,emulated", "--seconds", "300"];
    let (code, text) = fuzz(&[&arguments[..], &["--cases", "20", "--seed", "1", "--limit", "60"]].concat());
    assert!(text.trim_end().ends_with("20 passed, 0 failed"), "{text}");
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_case_that_takes_too_long_ends_the_run() {
    // No case is as fast as that.
    let (code, text) = fuzz(&["--seconds", "60", "--seed", "7", "--memory", "0"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("MiB of memory in use"), "{text}");
    assert!(text.trim_end().ends_with("0 passed, 1 failed"), "{text}");
}

#[test]
fn a_case_is_shown_by_its_seed() {
    let (code, first) = fuzz(&["--show-generated", "5"]);
    assert_eq!(code, 0, "{first}");
    assert!(first.contains("; Explicit") && first.contains("; Bare"), "{first}");
    assert_eq!(first, fuzz(&["--show-generated", "5"]).1);
}

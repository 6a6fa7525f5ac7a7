//! `programs/` and `reject/`, with the interpreter; [`crate::cpu`] runs them compiled.

use crate::examples;
use crate::{Directives, differs, directives, expect_file, files, remc, root, stderr, stdout, stem};
use libtest_mimic::{Failed, Trial};
use remc_driver::Session;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![];
    for path in files("programs", "remora") {
        let name = stem(&path);
        let at = path.clone();
        trials.push(Trial::test(format!("programs::{name}"), move || gives_its_value(&at)));
        let at = path.clone();
        trials.push(Trial::test(format!("elaborated::{name}"), move || prints_and_reads_back(&at)));
        trials.push(Trial::test(format!("show_types::{name}"), move || shown_types_check_again(&path)));
    }
    for e in examples::all() {
        let name = stem(&e.path);
        let work = move || shown_types_mean_the_same(&e.path, &e.directives);
        trials.push(Trial::test(format!("show_types_examples::{name}"), work));
    }
    for path in files("reject", "remora") {
        let name = stem(&path);
        // Some of these files are no UTF-8.
        let d = directives(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
        // What stops a large computation in parallel takes the interpreter long.
        if d.exit == Some(3) && !name.starts_with("parallel-") {
            let at = path.clone();
            let work = move || shown_types_mean_the_same(&at, &d);
            trials.push(Trial::test(format!("show_types_stops::{name}"), work));
        }
        trials.push(Trial::test(format!("reject::{name}"), move || is_rejected(&path)));
    }
    trials
}

/// `remc run` with a path relative to the root, so that messages are the same on every machine.
pub fn run(path: &Path, d: &Directives, device: &str) -> Command {
    let mut command = remc();
    command
        .args(["run", "--device", device])
        .arg(path.strip_prefix(root()).unwrap_or(path))
        .args(&d.arguments);
    command
}

fn gives_its_value(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let output = run(path, &directives(&text), "interp").output()?;
    if output.status.code() != Some(0) {
        return Err(format!("exit code {:?}\n{}", output.status.code(), stderr(&output)).into());
    }
    if !output.stderr.is_empty() {
        return Err(format!("messages about a right program:\n{}", stderr(&output)).into());
    }
    let expected = std::fs::read_to_string(path.with_extension("out"))?;
    if expected != stdout(&output) {
        // Values are never updated: a person works them out.
        return Err(differs("the value", &expected, &stdout(&output)));
    }
    Ok(())
}

/// The elaboration verifies, and its text form reads back as itself.
fn prints_and_reads_back(path: &Path) -> Result<(), Failed> {
    let path: PathBuf = path.to_owned();
    let work = move || -> Result<(), String> {
        let mut session = Session::default();
        let file = session.load(&path).map_err(|e| e.reason())?;
        if let Some(d) = session.diagnostics(file).iter().find(|d| d.is_error()) {
            return Err(format!("{}: {}", d.code, d.message));
        }
        let roots = session.value_defs(file);
        let program = session.link(file, &roots);
        session.verify(&program, file).map_err(|bug| bug.message)?;
        let text = remc_typed::print::print_program(&program.order);
        let back = remc_typed::parse::parse_program(&text).map_err(|e| format!("{e} of\n{text}"))?;
        if back.iter().ne(program.order.iter().map(|d| &**d)) {
            return Err(format!("what reads back is another program\n{text}"));
        }
        let again = remc_typed::print::print_program(&back.into_iter().map(Into::into).collect::<Vec<_>>());
        if text != again {
            return Err(format!("printed twice, the text differs\n--- first\n{text}\n--- second\n{again}"));
        }
        Ok(())
    };
    let thread = std::thread::Builder::new().stack_size(1 << 28).spawn(work)?;
    match thread.join() {
        Ok(done) => done.map_err(Failed::from),
        Err(_) => Err("a panic".into()),
    }
}

/// `--show types` gives a program with the value that is expected.
fn shown_types_check_again(path: &Path) -> Result<(), Failed> {
    let shown = shown_types(path)?;
    let output = run_text(&shown, &directives(&std::fs::read_to_string(path)?))?;
    let expected = std::fs::read_to_string(path.with_extension("out"))?;
    if expected != stdout(&output) {
        let found = format!("{}{}", stdout(&output), stderr(&output));
        return Err(differs(&format!("the value of\n{shown}"), &expected, &found));
    }
    Ok(())
}

/// `--show types` gives a program that ends as the program does: with the same value, or the same error.
fn shown_types_mean_the_same(path: &Path, d: &Directives) -> Result<(), Failed> {
    let shown = shown_types(path)?;
    let (whole, again) = (run(path, d, "interp").output()?, run_text(&shown, d)?);
    let told = |o: &Output| {
        // The message may call a size that the program does not name by the name that is shown.
        let code = stderr(o).split_whitespace().next().unwrap_or_default().to_owned();
        format!("exit code {:?}\n{code}\n{}", o.status.code(), stdout(o))
    };
    if told(&whole) != told(&again) {
        return Err(differs(&format!("what comes of\n{shown}"), &told(&whole), &told(&again)));
    }
    Ok(())
}

/// The program with every inferred type.
fn shown_types(path: &Path) -> Result<String, Failed> {
    let output = remc().args(["check", "--show", "types"]).arg(path).output()?;
    if !output.status.success() {
        return Err(stderr(&output).into());
    }
    Ok(stdout(&output))
}

/// Runs a text with the interpreter.
fn run_text(text: &str, d: &Directives) -> Result<Output, Failed> {
    with_input(remc().args(["run", "--device", "interp", "-"]).args(&d.arguments), text)
}

fn with_input(command: &mut Command, text: &str) -> Result<Output, Failed> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        std::io::Write::write_all(&mut input, text.as_bytes())?;
    }
    Ok(child.wait_with_output()?)
}

fn is_rejected(path: &Path) -> Result<(), Failed> {
    // Some of these files are no UTF-8.
    let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
    let d = directives(&text);
    let output = run(path, &d, "interp").output()?;
    let wanted = d.exit.unwrap_or(1);
    if output.status.code() != Some(wanted) {
        return Err(format!(
            "exit code {:?} instead of {wanted}\n{}{}",
            output.status.code(),
            stdout(&output),
            stderr(&output)
        )
        .into());
    }
    if !output.stdout.is_empty() {
        return Err(format!("a value on standard output: {}", stdout(&output)).into());
    }
    expect_file(&path.with_extension("err"), &stderr(&output))
}

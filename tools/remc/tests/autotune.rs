//! `remc autotune` and the files that it writes: what is found is used, and where that cannot be, a sentence says so.
#![cfg(feature = "llvm")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Folder, text};

const PROGRAM: &str =
    "(define (rows [m [float k]]) (sum (* m m)))\n(entry (main [m [float n k]]) (rows m))\n";

fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remc"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.args(args).current_dir(&folder.0).env("NO_COLOR", "1").env("REMC_CACHE", cache);
    command
}

fn remc(folder: &Folder, args: &[&str]) -> (i32, String, String) {
    let out = command(folder, args).output().unwrap();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

/// An array of zeros, as NumPy writes it.
fn npy(path: &Path, rows: usize, columns: usize) {
    let mut head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    while (10 + head.len() + 1) % 64 != 0 {
        head.push(' ');
    }
    head.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.as_bytes());
    bytes.resize(bytes.len() + 8 * rows * columns, 0);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::write(folder.0.join("rows.remora"), PROGRAM).unwrap();
    npy(&folder.0.join("data/small/m.npy"), 6, 4);
    npy(&folder.0.join("data/tall/m.npy"), 3000, 4);
    folder
}

#[test]
fn what_is_found_is_written_and_picked_up() {
    let folder = folder("autotune");
    let report = ["--report", "out.html"];
    let (code, out, err) =
        remc(&folder, &[&["autotune", "--inputs", "data", "--budget", "20"], &report[..]].concat());
    assert_eq!(code, 0, "{err}");
    let page = fs::read_to_string(folder.0.join("out.html")).unwrap();
    for part in [
        "<h1>rows.remora, tuned</h1>",
        "<code>main/par.outer/main:1</code>",
        "size 3000",
        "<svg class=\"chart\"",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for part in ["main/par.outer/main:1: ", "small (size 6): ", "tall (size 3000): ", "`main` on", "ratio"] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    // What the clock says decides whether there is a file.
    let written = folder.0.join("rows.tuning");
    assert_eq!(written.exists(), out.contains("written to rows.tuning"), "{out}");
    let (code, _, err) = remc(&folder, &["autotune", "--inputs", "data", "-o", "missing/rows.tuning"]);
    assert!(code == 2 && err.contains("[U0010] Error: cannot write `missing/rows.tuning`"), "{err}");
    if written.exists() {
        let (code, out, err) = remc(&folder, &["tuning", "rows.tuning"]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        for part in ["The numbers fit rows.remora: its code is the one", "small: ", "\n  Why "] {
            assert!(out.contains(part), "{part}\n{out}");
        }
        // The same page can be made of the file.
        assert_eq!(remc(&folder, &[&["tuning", "rows.tuning"], &report[..]].concat()).0, 0);
        assert_eq!(
            fs::read_to_string(folder.0.join("out.html")).unwrap().lines().count(),
            page.lines().count()
        );
    }
    // What is read is not overwritten, nor one output by the other.
    for (path, what) in [
        ("rows.remora", "the program"),
        ("data/tall/m.npy", "the input `m`"),
        ("rows.tuning", "the tuning file"),
    ] {
        let (code, _, err) = remc(&folder, &["autotune", "--inputs", "data", "--report", path]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(&format!("[U0010] Error: cannot write `{path}`: it is {what}")), "{err}");
    }
    let (code, _, err) = remc(&folder, &["autotune", "--inputs", "data", "--report", "missing/out.html"]);
    assert!(code == 2 && err.contains("[U0010] Error: cannot write `missing/out.html`"), "{err}");
}

/// The line that `--show tuning` begins with, as the lines of a tuning file.
fn code(folder: &Folder) -> String {
    let (_, _, err) = remc(folder, &["explain-perf", "rows.remora", "--show", "tuning", "--tuning", "none"]);
    err.lines().next().unwrap_or_default().replace(", ", "\n")
}

/// A file that is written by hand, by what `--show tuning` says.
#[test]
fn a_file_beside_the_program_is_picked_up() {
    let folder = folder("tuning-picked");
    let path = |name: &str| folder.0.join(name);
    let table = format!("format = 1\n[[tuned]]\n{}\n", code(&folder));
    fs::write(
        path("rows.tuning"),
        format!("{table}[tuned.thresholds]\n\"main/par.outer/main:1\" = 64\n[tuned.schedule]\n\"main/grain/rows:1\" = 100\n"),
    )
    .unwrap();
    let explained = |more: &[&str]| {
        let (code, out, err) =
            remc(&folder, &[&["explain-perf", "rows.remora", "--show", "tuning"], more].concat());
        assert_eq!(code, 0, "{err}");
        (out, err)
    };
    let (out, err) = explained(&[]);
    assert!(out.contains("if n ≥ 64 (main/par.outer/main:1)") && !err.contains("W0503"), "{out}{err}");
    assert!(err.contains("main/grain/rows:1 = 100\n"), "{err}");
    let (out, err) = explained(&["--tuning", "none"]);
    assert!(out.contains("if n ≥ 512 (main/par.outer/main:1)"), "{out}");
    assert!(!err.contains("main/grain/rows:1 = 100\n"), "{err}");
    let (out, err) = explained(&["--threshold", "par.outer=33", "--threshold", "grain=70"]);
    assert!(out.contains("if n ≥ 33 (main/par.outer/main:1)"), "{out}");
    assert!(err.contains("main/grain/rows:1 = 70\n"), "{err}");
    // A file that is named is meant to say something; one that only lies there may be of other entries.
    let others = fs::read_to_string(path("rows.tuning")).unwrap();
    let others = others.replace("\"main", "\"other");
    fs::write(path("others.tuning"), others).unwrap();
    let (_, err) = explained(&["--tuning", "others.tuning"]);
    assert!(err.contains("W0503") && err.contains("says nothing of `main` on the cpu device"), "{err}");
    // A comment, and a definition that is not used, change nothing.
    fs::write(path("rows.remora"), format!("; mine\n(define (other x) x)\n{PROGRAM}")).unwrap();
    assert!(explained(&[]).0.contains("if n ≥ 64 (main/par.outer/main:1)"));
    let (code, out, _) = remc(&folder, &["tuning", "rows.tuning"]);
    assert!(code == 0 && out.contains("Nothing that was measured stands behind it"), "{out}");
    assert!(out.contains("main/par.outer/main:1 = 64, by default 512\n"), "{out}");
    fs::write(path("rows.remora"), PROGRAM.replace("* m m", "+ m 1.0")).unwrap();
    let err = explained(&[]).1;
    assert!(err.contains("[W0503] Warning: the tuning file `rows.tuning` is not used for `main`"), "{err}");
    let (code, out, _) = remc(&folder, &["tuning", "rows.tuning"]);
    assert!(
        code == 0 && out.contains("The numbers do not fit rows.remora any more, and are not used"),
        "{out}"
    );
    fs::rename(path("rows.remora"), path("other.remora")).unwrap();
    let (code, out, _) = remc(&folder, &["tuning", "rows.tuning"]);
    assert!(
        code == 0 && out.contains("There is no program `rows.remora`, so whether the numbers fit"),
        "{out}"
    );
    let (code, out, _) = remc(&folder, &["tuning", "rows.tuning", "--program", "other.remora"]);
    assert!(code == 0 && out.contains("do not fit other.remora"), "{out}");
}

/// A file that gives an operator two settings, and a size that chooses: it is used, shown and explained, and what it gives is
/// what the interpreter does, on both sides.
#[test]
fn a_file_gives_an_operator_two_settings() {
    let folder = folder("tuning-by-size");
    let path = |name: &str| folder.0.join(name);
    let table = format!("format = 1\n[[tuned]]\n{}\n", code(&folder));
    let file = format!(
        "{table}[tuned.thresholds]\n\"main/by.size/rows:1@2/axis.1\" = 3\n\"main/par.outer/main:1\" = 1\n\
         [tuned.schedule]\n\"main/grain/rows:1@2\" = 7\n\"main/grain/rows:1\" = 100\n"
    );
    fs::write(path("rows.tuning"), &file).unwrap();
    let shown = |more: &[&str]| {
        let (code, out, err) =
            remc(&folder, &[&["explain-perf", "rows.remora", "--show", "tuning"], more].concat());
        assert_eq!(code, 0, "{err}");
        (out, err)
    };
    let (out, err) = shown(&[]);
    assert!(out.contains("if n ≥ 3 (main/by.size/rows:1@2/axis.1), a first version"), "{out}");
    for line in
        ["main/by.size/rows:1@2/axis.1 = 3\n", "main/grain/rows:1@2 = 7\n", "main/grain/rows:1 = 100\n"]
    {
        assert!(err.contains(line), "{line}\n{err}");
    }
    // Its value is that of the command line, given for it or for all; and so are those of its versions.
    let (_, err) = shown(&["--threshold", "main/by.size/rows:1@2/axis.1=9", "--threshold", "by.size=5"]);
    assert!(err.contains("main/by.size/rows:1@2/axis.1 = 9\n"), "{err}");
    let (_, err) = shown(&["--threshold", "by.size=never", "--threshold", "grain=70"]);
    assert!(
        err.contains("main/by.size/rows:1@2/axis.1 = never\n") && err.contains("main/grain/rows:1@2 = 70\n"),
        "{err}"
    );
    let rows = |n: usize| {
        let rows: Vec<String> = (0..n).map(|k| format!("[{k}.5 1.0 -2.0]")).collect();
        format!("m=[{}]", rows.join(" "))
    };
    for n in [1, 2, 3, 4, 40] {
        let run =
            |device: &str| remc(&folder, &["run", "rows.remora", "--device", device, "--input", &rows(n)]);
        assert_eq!(run("cpu"), run("interp"), "{n}");
    }
    let (code, out, _) = remc(&folder, &["tuning", "rows.tuning"]);
    let part = "main/by.size/rows:1@2/axis.1 = 3, by default never\n  Where this size of the operator is so large, the operator runs \
                with the numbers of this version of it; with a smaller size, with those of the version before.\n";
    assert!(code == 0 && out.contains(part), "{out}");
    assert!(out.contains("main/grain/rows:1@2 = 7, by default 32768\n"), "{out}");
    // An operator has a version because a file, or an option, says so.
    let (code, _, err) = remc(
        &folder,
        &["explain-perf", "rows.remora", "--tuning", "none", "--threshold", "main/grain/rows:1@2=7"],
    );
    assert!(
        code == 2 && err.contains("[U0022] Error: the program has no number `main/grain/rows:1@2`"),
        "{err}"
    );
    let (code, _, err) = remc(
        &folder,
        &["explain-perf", "rows.remora", "--tuning", "none", "--threshold", "main/by.size/rows:1@3/axis.1=7"],
    );
    assert!(
        code == 2 && err.contains("[U0022] Error: the numbers of `rows:1` cannot be together: there is a version 3, and no version 2"),
        "{err}"
    );
}

/// What is wrong with a file is told in a sentence, by all who read it: a name, a value, a table, or all of it.
#[test]
fn wrong_files_are_refused() {
    let folder = folder("tuning-wrong");
    let path = |name: &str| folder.0.join(name);
    let table = format!("format = 1\n[[tuned]]\n{}\n", code(&folder));
    let wrong = |text: &str, what: &str| {
        fs::write(path("rows.tuning"), text).unwrap();
        let (code, out, err) = remc(&folder, &["tuning", "rows.tuning"]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(
            err.starts_with("[U0024] Error: the tuning file `rows.tuning`") && err.contains(what),
            "{err}"
        );
        // A program runs without the file, and says that it does.
        let run = ["run", "rows.remora", "--input", "m=[[1.0 2.0]]", "--device", "cpu"];
        let (code, out, err) = remc(&folder, &run);
        assert_eq!((code, out.as_str()), (0, "[5.0]\n"), "{err}");
        assert!(err.contains("[W0503] Warning: the tuning file `rows.tuning`"), "{err}");
    };
    let number = |line: &str| format!("{table}[tuned.thresholds]\n{line}\n");
    wrong(
        &number("'main/par.outer/mian:1' = 3"),
        "line 7: the program has no threshold `main/par.outer/mian:1`",
    );
    wrong(&number("'main/par.outr/main:1' = 3"), "line 7: `main/par.outr/main:1` is no threshold");
    wrong(
        &number("'main/par.outer/main:1' = -3"),
        "line 7: `main/par.outer/main:1` is -3, and a threshold is",
    );
    wrong(
        &number("'main/par.outer/main:1' = 3.5"),
        "line 7: `main/par.outer/main:1` is 3.5, and a threshold is",
    );
    wrong(
        &number("'main/by.size/rows:1@2/axis.7' = 3"),
        "line 7: the program has no operator and size of the name `main/by.size/rows:1@2/axis.7`",
    );
    wrong(
        &number("'main/by.size/rows:1@3/axis.1' = 3"),
        "line 7: the versions of `rows:1` cannot be together: there is a version 3, and no version 2",
    );
    wrong(
        &number("'main/by.size/rows:1@2/axis.1' = -1"),
        "line 7: `main/by.size/rows:1@2/axis.1` is -1, and a threshold is",
    );
    let field = |line: &str| format!("{table}[tuned.schedule]\n{line}\n");
    wrong(&field("'main/grain/rows:1@2' = 3"), "line 7: the program has no number `main/grain/rows:1@2`");
    wrong(&field("'main/grain/main:9' = 3"), "line 7: the program has no number `main/grain/main:9`");
    wrong(
        &field("'main/grain/main:1' = 0"),
        "line 7: `main/grain/main:1` is 0, and it is a whole number from 1 to",
    );
    wrong("format = 1\n[[tuned]", "line 2: ");
    wrong("[package]\nname = 'other'\n", ": it does not say `format = 1`, as tuning files do");
    wrong(&table.replace("code", "cod"), "`cod` means nothing in `[[tuned]]`");
    // What is no text at all, or not there.
    fs::write(path("rows.tuning"), b"\xff\x00").unwrap();
    let (code, _, err) = remc(&folder, &["tuning", "rows.tuning"]);
    assert!(code == 2 && err.contains("[U0024] Error: the tuning file `rows.tuning` is no text"), "{err}");
    let (code, _, err) = remc(&folder, &["tuning", "gone.tuning"]);
    assert!(code == 2 && err.contains("[U0024] Error: cannot read the tuning file `gone.tuning`"), "{err}");
    fs::write(path("rows.tuning"), "format = 1\n").unwrap();
    let (code, _, err) = remc(&folder, &["tuning", "rows.tuning"]);
    assert!(code == 2 && err.contains("`rows.tuning` has no table"), "{err}");
    // A program that is wrong is told as such.
    fs::write(path("rows.tuning"), &table).unwrap();
    fs::write(path("rows.remora"), "(entry (main [m [float n]]) (+ m #t))").unwrap();
    assert_eq!(remc(&folder, &["tuning", "rows.tuning"]).0, 1);
}

#[test]
fn data_sets_are_folders_or_archives() {
    let folder = folder("autotune-sets");
    let path = |name: &str| folder.0.join(name);
    let tuned =
        |inputs: &str| remc(&folder, &["autotune", "rows.remora", "--inputs", inputs, "--budget", "2"]);
    // The folder of one data set is one.
    assert!(tuned("data/small").1.contains("small (size 6): "));
    // What is described is made, beside what is there.
    fs::write(path("data/datasets.toml"), "[made]\nm = { shape = [50, 3] }\n[given]\nm = '[[1.0]]'\n")
        .unwrap();
    let (code, out, err) = tuned("data");
    assert!(code == 0 && out.contains("made (size 50): ") && out.contains("given (size 1): "), "{out}{err}");
    let wrong = |inputs: &str, what: &str| {
        let (code, _, err) = tuned(inputs);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(what), "{err}");
    };
    fs::create_dir_all(path("empty")).unwrap();
    wrong("empty", "[U0023] Error: the folder `empty` is empty");
    wrong("gone", "[U0023] Error: cannot read the folder `gone`: there is no such file");
    fs::write(path("data/datasets.toml"), "[made]\nx = 3\n").unwrap();
    wrong("data", "[U0023] Error: `data/datasets.toml`, line 2: the entry has no parameter `x`, it has `m`");
    fs::write(path("data/datasets.toml"), "[small]\nm = '[[1.0]]'\n").unwrap();
    wrong("data", "[U0023] Error: the folder `data` has two data sets that are called `small`");
    fs::remove_file(path("data/datasets.toml")).unwrap();
    fs::write(path("data/notes.md"), "mine").unwrap();
    wrong("data", "[U0023] Error: the file `data/notes.md` is no data set for `main`");
    fs::remove_file(path("data/notes.md")).unwrap();
    fs::create_dir_all(path("data/vector")).unwrap();
    fs::write(path("data/vector/m.rd"), "[1.0 2.0]").unwrap();
    wrong("data", "the input `m`");
    fs::remove_dir_all(path("data/vector")).unwrap();
    fs::write(path("other.remora"), PROGRAM).unwrap();
    let (code, _, err) = remc(&folder, &["autotune", "--inputs", "data"]);
    assert_eq!(code, 2);
    assert!(err.contains("several programs: `other.remora`, `rows.remora`"), "{err}");
    fs::write(path("rows.tuning"), "format = 7").unwrap();
    wrong("data", "[U0024] Error: the tuning file `rows.tuning`, line 1: its format is 7");
    assert_eq!(fs::read_to_string(path("rows.tuning")).unwrap(), "format = 7", "nothing of it is lost");
}

/// What cannot be tuned, or not with these, is said in one sentence before anything is measured.
#[test]
fn what_cannot_be_tuned_is_said() {
    let folder = folder("autotune-wrong");
    let path = |name: &str| folder.0.join(name);
    let refused = |args: &[&str], code: i32, what: &str| {
        let (found, out, err) = remc(&folder, &[&["autotune", "--inputs", "data"], args].concat());
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(what) && !err.contains("tuning `main`"), "{args:?}: {err}");
        assert!(!path("rows.tuning").exists());
    };
    for budget in ["0.5", "0", "nan"] {
        refused(&["--budget", budget], 2, "is too small to measure anything");
    }
    refused(&["--budget", "much"], 2, "invalid value 'much' for '--budget <SECONDS>'");
    refused(&["--entry", "other"], 2, "[U0003] Error: there is no entry `other`");
    refused(&["gone.remora"], 2, "[U0001] Error: cannot read `gone.remora`");
    refused(&["--memory-limit", "1K"], 2, "[U0021]");
    // A folder is no file that could be written.
    refused(&["-o", "data"], 2, "[U0010] Error: cannot write `data`");
    let wrong = |program: &str, code: i32, what: &str| {
        fs::write(path("rows.remora"), program).unwrap();
        refused(&[], code, what);
    };
    wrong("(entry (main [m [float n k]]) (+ m #t))", 1, "Error: ");
    wrong("(sum [1.0 2.0])", 2, "[U0002] Error: the program has no entry, so no data could be given to it");
    wrong("(entry (main) 1)", 2, "[U0023] Error: the entry `main` takes no inputs");
    wrong(
        &format!("{PROGRAM}(entry (other [m [float n k]]) m)"),
        2,
        "[U0004] Error: the program has several entries",
    );
    // One code is of one number of axes.
    fs::write(path("rows.remora"), "(entry (main [m [float @s]]) (+ m 1.0))").unwrap();
    fs::create_dir_all(path("data/flat")).unwrap();
    fs::write(path("data/flat/m.rd"), "[1.0 2.0]").unwrap();
    refused(&[], 2, "[U0023] Error: the data sets `flat` and `small` have different numbers of axes");
    fs::remove_file(path("rows.remora")).unwrap();
    refused(&[], 2, "[U0023] Error: the current folder has no program");
}

/// Ctrl-C ends the search; what was found until then is kept, and the process ends as it would.
#[test]
fn an_interruption_keeps_what_was_found() {
    let folder = Folder::new("autotune-interrupted");
    // Runs that take long enough to be interrupted.
    let slow = "(entry (main [m [float n k]]) (iterate 6000 (λ ([y [float n k]]) ((λ ([r [float k]]) (- r (mean r))) y)) m))";
    fs::write(folder.0.join("slow.remora"), slow).unwrap();
    for set in 0..4 {
        npy(&folder.0.join(format!("data/s{set}/m.npy")), 300 + set, 300);
    }
    let args = ["autotune", "--inputs", "data", "--budget", "600", "--effort", "full"];
    let mut child = command(&folder, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It says when it has begun.
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().starts_with("tuning `main` on 4 data sets"));
    std::thread::spawn(move || told.count());
    std::thread::sleep(Duration::from_millis(500));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let status = child.wait().unwrap();
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    assert_eq!(status.code(), Some(0), "{out}");
    assert!(out.contains("the search ended before everything was looked at"), "{out}");
}

/// A run that would take hours is ended by Ctrl-C, too, between its launches.
#[test]
fn an_interruption_ends_a_run_that_is_under_way() {
    let folder = Folder::new("autotune-long");
    // So few rows that the loop is outside, and launches a kernel for each round.
    let program = "(entry (main [m [float n k]]) (iterate 1000000000 (λ ([y [float n k]]) ((λ ([r [float k]]) (- r (mean r))) y)) m))";
    fs::write(folder.0.join("long.remora"), program).unwrap();
    npy(&folder.0.join("data/few/m.npy"), 3, 5000);
    let args = ["autotune", "--inputs", "data", "--budget", "3600"];
    let mut child = command(&folder, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|l| l.starts_with("  main/par.") && l.ends_with(" on `few`")));
    std::thread::spawn(move || told.count());
    std::thread::sleep(Duration::from_millis(300));
    let began = std::time::Instant::now();
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let done = child.wait_with_output().unwrap();
    let out = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{out}");
    assert!(out.contains("the search ended before everything was looked at"), "{out}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(out.contains("nothing better than the defaults was found by then: no file is written"), "{out}");
    assert!(!folder.0.join("long.tuning").exists());
}

/// A search goes on where an interrupted one has ended, as far as what it has measured is still of the same.
#[test]
fn an_interrupted_search_is_resumed() {
    let folder = Folder::new("autotune-resumed");
    let path = |name: &str| folder.0.join(name);
    let program = "(entry (main [m [float n k]]) (iterate 600 (λ ([y [float n k]]) ((λ ([r [float k]]) (- r (mean r))) y)) m))";
    fs::write(path("loop.remora"), program).unwrap();
    (0..3).for_each(|set| npy(&path(&format!("data/s{set}/m.npy")), 100 + set, 100));
    let args = ["autotune", "--inputs", "data", "--budget", "600", "--resume"];
    let mut child = command(&folder, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("tuning `main` on 3 data sets"));
    assert_eq!(
        lines.next().unwrap(),
        "--resume: no measurements of `main` are kept, so everything is measured"
    );
    // The first number is measured on `s0` when it comes to `s1`.
    let first = lines.next().unwrap();
    let number = first.strip_suffix(" on `s0`").unwrap().to_owned();
    assert!(lines.by_ref().any(|l| l == format!("{number} on `s1`")), "{number}");
    std::thread::spawn(move || lines.count());
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let resumed = |taken: &str| {
        let (code, _, err) = remc(&folder, &args);
        assert_eq!(code, 0, "{err}");
        assert!(err.contains(taken), "{err}");
        let measured = |set| err.contains(&format!("{number} on `{set}`\n"));
        // What was found is measured anew in any case.
        assert!(err.contains("what was found, against the defaults on `s0`\n"), "{err}");
        [measured("s0"), measured("s1"), measured("s2")]
    };
    let on = resumed("--resume: goes on from one measurement of `main`\n");
    assert_eq!(on, [false, true, true]);
    // Now all of it is known; but for a data set that has changed.
    npy(&path("data/s2/m.npy"), 90, 100);
    let on = resumed(" of data that has changed, or is not there now, are not used\n");
    assert_eq!(on, [false, false, true]);
    fs::write(path("loop.remora"), program.replace("600", "599")).unwrap();
    let on = resumed(
        "--resume: the measurements of `main` that are kept are not used: the code of the entry has changed since\n",
    );
    assert_eq!(on, [true; 3]);
}

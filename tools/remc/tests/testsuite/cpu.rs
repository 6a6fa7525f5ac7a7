//! `programs/`, `reject/` and `examples/` on the cpu device: with any number of threads the same value or
//! message as with the interpreter, byte for byte. `testsuite/not-compiled.txt` lists the programs that the
//! device refuses; a program that starts to be refused fails here, and so does one that no longer is.

use crate::programs::run;
use crate::{Directives, differs, directives, files, root, stderr, stdout, stem};
use libtest_mimic::{Failed, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

/// One thread, an even split, and more threads than most machines here have cores.
const THREADS: [&str; 3] = ["1", "2", "5"];

pub fn trials() -> Vec<Trial> {
    let mut refused = not_compiled();
    let mut trials = vec![];
    for path in files("programs", "remora") {
        let name = stem(&path);
        let code = refused.remove(&format!("programs/{name}"));
        trials.push(Trial::test(format!("cpu::{name}"), move || match &code {
            None => gives_its_value(&path),
            Some(code) => is_refused(&path, code),
        }));
    }
    for path in files("reject", "remora").into_iter().filter(|p| stops(p)) {
        let name = stem(&path);
        let code = refused.remove(&format!("reject/{name}"));
        trials.push(Trial::test(format!("cpu_stops::{name}"), move || match &code {
            None => stops_alike(&path),
            Some(code) => is_refused(&path, code),
        }));
    }
    for e in &EXAMPLES {
        trials.push(Trial::test(format!("cpu_examples::{}", e.name), move || example(e)));
    }
    let unknown: BTreeSet<String> = refused.into_keys().collect();
    trials.push(Trial::test("cpu::not_compiled_names_programs", move || match unknown.len() {
        0 => Ok(()),
        _ => Err(format!("testsuite/not-compiled.txt names what is not there: {unknown:?}").into()),
    }));
    trials
}

/// Programs and the codes of what is not compiled in them.
fn not_compiled() -> BTreeMap<String, String> {
    let list = std::fs::read_to_string(root().join("testsuite/not-compiled.txt")).unwrap_or_default();
    let lines = list.lines().filter(|l| !l.starts_with('#'));
    lines.filter_map(|l| l.split_once(' ')).map(|(p, c)| (p.to_owned(), c.trim().to_owned())).collect()
}

/// Whether a program of `reject/` passes the checker.
fn stops(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|text| directives(&String::from_utf8_lossy(&text)).exit == Some(3))
}

fn on_cpu(path: &Path, d: &Directives, threads: &str, more: &[&str]) -> Result<Output, Failed> {
    Ok(run(path, d, "cpu").args(["--threads", threads]).args(more).output()?)
}

fn exits(o: &Output, wanted: i32, threads: &str) -> Result<(), Failed> {
    match o.status.code() {
        Some(code) if code == wanted => Ok(()),
        code => Err(format!(
            "exit code {code:?} instead of {wanted}, with {threads} threads\n{}{}",
            stdout(o),
            stderr(o)
        )
        .into()),
    }
}

fn gives_its_value(path: &Path) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let expected = std::fs::read_to_string(path.with_extension("out"))?;
    for threads in THREADS {
        let o = on_cpu(path, &d, threads, &[])?;
        exits(&o, 0, threads)?;
        if !o.stderr.is_empty() {
            return Err(format!("messages about a right program:\n{}", stderr(&o)).into());
        }
        if stdout(&o) != expected {
            return Err(differs(&format!("the value with {threads} threads"), &expected, &stdout(&o)));
        }
    }
    Ok(())
}

/// The message of the interpreter, with any number of threads; the output is left as it was.
fn stops_alike(path: &Path) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let folder = Folder::new(&stem(path))?;
    let old = folder.0.join("old.npy");
    std::fs::write(&old, "old")?;
    for threads in THREADS {
        for output in [None, Some("old.npy"), Some("new.npy")] {
            let output = output.map(|name| folder.0.join(name).display().to_string());
            let more: Vec<&str> = output.iter().flat_map(|o| ["--output", o]).collect();
            let o = on_cpu(path, &d, threads, &more)?;
            exits(&o, 3, threads)?;
            if !o.stdout.is_empty() {
                return Err(format!("a value on standard output: {}", stdout(&o)).into());
            }
            // The message is the interpreter's to change.
            let expected = std::fs::read_to_string(path.with_extension("err"))?;
            if expected != stderr(&o) {
                return Err(differs(&format!("the message with {threads} threads"), &expected, &stderr(&o)));
            }
        }
    }
    let left: Vec<PathBuf> = std::fs::read_dir(&folder.0)?.filter_map(|f| Some(f.ok()?.path())).collect();
    if left != [old.clone()] || std::fs::read(&old)? != b"old" {
        return Err(format!("a program that stopped has written its output: {left:?}").into());
    }
    Ok(())
}

/// Refused by name when the cpu device is asked for; else the interpreter runs it, with a warning.
fn is_refused(path: &Path, code: &str) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let o = on_cpu(path, &d, "2", &[])?;
    exits(&o, 2, "2")?;
    if !o.stdout.is_empty() || !stderr(&o).starts_with(&format!("[{code}] Error: ")) {
        return Err(format!("refused without {code}:\n{}{}", stdout(&o), stderr(&o)).into());
    }
    let mut by_itself = crate::remc();
    let o =
        by_itself.arg("run").arg(path.strip_prefix(root()).unwrap_or(path)).args(&d.arguments).output()?;
    exits(&o, d.exit.unwrap_or(0), "any")?;
    if !stderr(&o).starts_with(&format!("[{code}] Warning: ")) {
        return Err(format!("no warning {code}:\n{}", stderr(&o)).into());
    }
    if d.exit.is_none() {
        let expected = std::fs::read_to_string(path.with_extension("out"))?;
        if expected != stdout(&o) {
            return Err(differs("the value", &expected, &stdout(&o)));
        }
    }
    Ok(())
}

/// A program of `examples/` and the inputs of its `main`. `testsuite/examples/NAME.out` has its value, unless
/// that is an image.
struct Example {
    name: &'static str,
    inputs: &'static [&'static str],
    /// Whether the interpreter must give the same bits; else sums of floats may be grouped in another way.
    to_the_bit: bool,
}

const EXAMPLES: [Example; 5] = [
    Example {
        name: "digits",
        inputs: &[
            "train-images=examples/data/digits-train-images.npy",
            "train-labels=examples/data/digits-train-labels.npy",
            "test-images=examples/data/digits-test-images.npy",
            "test-labels=examples/data/digits-test-labels.npy",
        ],
        to_the_bit: true,
    },
    Example { name: "blur", inputs: &["image=examples/data/camera.npy"], to_the_bit: true },
    Example { name: "sobel", inputs: &["image=examples/data/camera.npy"], to_the_bit: true },
    Example { name: "covariance", inputs: &["table=examples/data/iris.npy"], to_the_bit: false },
    Example {
        name: "n-body",
        // Ten days: the interpreter is slow.
        inputs: &[
            "positions=examples/data/planets-positions-2000.npy",
            "velocities=examples/data/planets-velocities-2000.npy",
            "masses=examples/data/planets-masses.npy",
            "softening=1e-6",
            "step=0.25",
            "steps=40",
        ],
        to_the_bit: false,
    },
];

/// The value that is expected, from every device; from the cpu the same one with any number of threads.
fn example(e: &Example) -> Result<(), Failed> {
    let path = root().join(format!("examples/{}.remora", e.name));
    let arguments = e.inputs.iter().flat_map(|i| ["--input".to_owned(), (*i).to_owned()]);
    let d = Directives {
        arguments: ["--entry".to_owned(), "main".to_owned()].into_iter().chain(arguments).collect(),
        exit: None,
    };
    let o = run(&path, &d, "interp").output()?;
    exits(&o, 0, "no")?;
    let interpreted = stdout(&o);
    let expected = root().join(format!("testsuite/examples/{}.out", e.name));
    if expected.exists() {
        let expected = std::fs::read_to_string(expected)?;
        if !close(&expected, &interpreted) {
            return Err(differs("the interpreter's value", &expected, &interpreted));
        }
    }
    let mut wanted = e.to_the_bit.then(|| interpreted.clone());
    for threads in THREADS {
        let o = on_cpu(&path, &d, threads, &[])?;
        exits(&o, 0, threads)?;
        let found = stdout(&o);
        let equal = match &wanted {
            Some(wanted) => *wanted == found,
            None => close(&interpreted, &found),
        };
        if !equal {
            return Err(format!("with {threads} threads the value is another one").into());
        }
        wanted = Some(found);
    }
    Ok(())
}

/// Whether two printed values are the same but for the last few of the digits of their floats.
fn close(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let apart = text.replace(['(', '['], "[ ").replace([')', ']'], " ]");
        apart.split_whitespace().map(str::to_owned).collect()
    };
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(1e-3);
    let (a, b) = (words(a), words(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            a == b || matches!((a.parse(), b.parse()), (Ok(x), Ok(y)) if a.contains('.') && near(x, y))
        })
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder, Failed> {
        let path = std::env::temp_dir().join(format!("remc-cpu-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

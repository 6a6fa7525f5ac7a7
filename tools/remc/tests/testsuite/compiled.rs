//! `programs/` and `reject/` on devices that compile: whatever way they are run in, the same value
//! or message as with the interpreter, byte for byte. `testsuite/not-compiled.txt` lists the programs that these
//! devices refuse; a program that starts to be refused fails here, and so does one that no longer is.

use crate::programs::run;
use crate::{Directives, differs, directives, files, root, stderr, stdout, stem};
use libtest_mimic::{Failed, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU64, Ordering};

/// A device, and how it is told to run programs.
#[derive(Clone, Copy)]
pub struct Way {
    pub device: &'static str,
    pub arguments: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
}

impl Way {
    pub fn run(&self, path: &Path, d: &Directives, more: &[&str]) -> Result<Output, Failed> {
        let mut command = run(path, d, self.device);
        command.args(self.arguments).args(more).envs(self.environment.iter().copied());
        Ok(command.output()?)
    }

    pub fn exits(&self, o: &Output, wanted: i32) -> Result<(), Failed> {
        match o.status.code() {
            Some(code) if code == wanted => Ok(()),
            code => {
                Err(format!("exit code {code:?} instead of {wanted}, {self}\n{}{}", stdout(o), stderr(o))
                    .into())
            }
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "on {} {:?} {:?}", self.device, self.arguments, self.environment)
    }
}

/// A test for each program that has a value, given the code of what is not compiled in it.
pub fn programs(test: impl Fn(PathBuf, Option<String>) -> Trial) -> Vec<Trial> {
    let refused = not_compiled();
    let of = |path: PathBuf| {
        let code = refused.get(&format!("programs/{}", stem(&path))).cloned();
        test(path, code)
    };
    files("programs", "remora").into_iter().map(of).collect()
}

/// The same of each program that stops when it runs.
pub fn stopping(test: impl Fn(PathBuf, Option<String>) -> Trial) -> Vec<Trial> {
    let refused = not_compiled();
    let of = |path: PathBuf| {
        let code = refused.get(&format!("reject/{}", stem(&path))).cloned();
        test(path, code)
    };
    files("reject", "remora").into_iter().filter(|p| stops(p)).map(of).collect()
}

/// The list names nothing that is not there.
pub fn not_compiled_names_programs() -> Result<(), Failed> {
    let known = ["programs", "reject"].into_iter().flat_map(|folder| {
        files(folder, "remora").into_iter().map(move |p| format!("{folder}/{}", stem(&p)))
    });
    let examples = crate::examples::all().into_iter().map(|e| format!("examples/{}", stem(&e.path)));
    let known: BTreeSet<String> = known.chain(examples).collect();
    let unknown: Vec<String> = not_compiled().into_keys().filter(|p| !known.contains(p)).collect();
    match unknown.len() {
        0 => Ok(()),
        _ => Err(format!("testsuite/not-compiled.txt names what is not there: {unknown:?}").into()),
    }
}

/// Programs and the codes of what is not compiled in them.
pub fn not_compiled() -> BTreeMap<String, String> {
    let list = std::fs::read_to_string(root().join("testsuite/not-compiled.txt")).unwrap_or_default();
    let lines = list.lines().filter(|l| !l.starts_with('#'));
    lines.filter_map(|l| l.split_once(' ')).map(|(p, c)| (p.to_owned(), c.trim().to_owned())).collect()
}

/// Whether a program of `reject/` passes the checker.
fn stops(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|text| directives(&String::from_utf8_lossy(&text)).exit == Some(3))
}

pub fn gives_its_value(path: &Path, ways: &[Way]) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let expected = std::fs::read_to_string(path.with_extension("out"))?;
    for way in ways {
        let o = way.run(path, &d, &[])?;
        way.exits(&o, 0)?;
        if !o.stderr.is_empty() {
            return Err(format!("messages about a right program:\n{}", stderr(&o)).into());
        }
        if stdout(&o) != expected {
            return Err(differs(&format!("the value {way}"), &expected, &stdout(&o)));
        }
    }
    Ok(())
}

/// The message of the interpreter, whatever the way; the output is left as it was.
pub fn stops_alike(path: &Path, ways: &[Way]) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let folder = Folder::new(&stem(path))?;
    let old = folder.0.join("old.npy");
    std::fs::write(&old, "old")?;
    for way in ways {
        for output in [None, Some("old.npy"), Some("new.npy")] {
            let output = output.map(|name| folder.0.join(name).display().to_string());
            let more: Vec<&str> = output.iter().flat_map(|o| ["--output", o]).collect();
            let o = way.run(path, &d, &more)?;
            way.exits(&o, 3)?;
            if !o.stdout.is_empty() {
                return Err(format!("a value on standard output: {}", stdout(&o)).into());
            }
            // The message is the interpreter's to change.
            let expected = std::fs::read_to_string(path.with_extension("err"))?;
            if expected != stderr(&o) {
                return Err(differs(&format!("the message {way}"), &expected, &stderr(&o)));
            }
        }
    }
    let left: Vec<PathBuf> = std::fs::read_dir(&folder.0)?.filter_map(|f| Some(f.ok()?.path())).collect();
    if left != [old.clone()] || std::fs::read(&old)? != b"old" {
        return Err(format!("a program that stopped has written its output: {left:?}").into());
    }
    Ok(())
}

/// Refused by name when the device is asked for; else the interpreter runs it, with a warning.
pub fn is_refused(path: &Path, code: &str, way: &Way) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    refused(path, &d, &path.with_extension("out"), code, way)
}

/// The same, with the arguments and the file of the expected value.
pub fn refused(path: &Path, d: &Directives, expected: &Path, code: &str, way: &Way) -> Result<(), Failed> {
    let o = way.run(path, d, &[])?;
    way.exits(&o, 2)?;
    if !o.stdout.is_empty() || !stderr(&o).starts_with(&format!("[{code}] Error: ")) {
        return Err(format!("refused without {code}:\n{}{}", stdout(&o), stderr(&o)).into());
    }
    let mut by_itself = crate::remc();
    let o =
        by_itself.arg("run").arg(path.strip_prefix(root()).unwrap_or(path)).args(&d.arguments).output()?;
    way.exits(&o, d.exit.unwrap_or(0))?;
    if !stderr(&o).starts_with(&format!("[{code}] Warning: ")) {
        return Err(format!("no warning {code}:\n{}", stderr(&o)).into());
    }
    if d.exit.is_none() {
        let expected = std::fs::read_to_string(expected)?;
        if expected != stdout(&o) {
            return Err(differs("the value", &expected, &stdout(&o)));
        }
    }
    Ok(())
}

/// A folder that is gone after the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Result<Folder, Failed> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("remc-{}-{number}-{name}", std::process::id()));
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

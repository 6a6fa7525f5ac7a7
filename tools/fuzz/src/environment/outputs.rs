//! Outputs that are interrupted, at any moment, by a signal or by what makes them.
//!
//! A case prepares a place: no file, one with some permissions, a link to one or to none yet, beside files of other
//! people's. Then a process writes one of two contents to it, again and again as fast as it can, until a signal ends
//! it at a random moment. Whole contents are there or what was there before, with its permissions; no other file has
//! come, none is gone.
//!
//! The process is this program, told by [`WRITE`] what to do ([`write_if_asked`]).

use super::{Broken, emptied};
use crate::rng::Rng;
use remc_runtime::files;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// In the environment: what is to be written, and nothing else done.
const WRITE: &str = "REMC_FUZZ_WRITE";
/// Bytes of each of the two contents.
const SIZES: [usize; 2] = [70_000, 300_001];

/// One of the two contents, written in parts.
fn content(nth: usize, out: &mut dyn Write) -> io::Result<()> {
    let part = [b'a' + (nth % 2) as u8; 1000];
    let mut left = SIZES[nth % 2];
    while left > 0 {
        let now = left.min(part.len());
        out.write_all(&part[..now])?;
        left -= now;
    }
    Ok(())
}

fn is_whole(found: &[u8]) -> bool {
    (0..2).any(|nth| found.len() == SIZES[nth] && found.iter().all(|b| *b == b'a' + nth as u8))
}

/// Where the environment says so, writes until a signal ends that.
pub fn write_if_asked() {
    let Some(path) = std::env::var_os(WRITE).map(PathBuf::from) else { return };
    for nth in 0.. {
        if let Err(e) = files::write_atomically(&path, |out| content(nth, out)) {
            crate::say!("{e}");
            std::process::exit(1);
        }
        if nth == 0 {
            crate::say!("written");
        }
    }
}

/// This program, where the tests do not stand for it.
fn program() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    if exe.file_stem()? == "remc-fuzz" {
        return Some(exe);
    }
    let built = exe.parent()?.parent()?.join("remc-fuzz");
    built.exists().then_some(built)
}

pub fn case(rng: &mut Rng, place: &Path) -> Result<&'static str, Broken> {
    let (place, mut done) = (emptied(place)?, Vec::new());
    run(rng, &place, &mut done).map_err(|why| Broken { why, shown: done.join("\n").into_bytes() })
}

fn run(rng: &mut Rng, place: &Path, done: &mut Vec<String>) -> Result<&'static str, String> {
    let told = |e: io::Error| format!("the case itself: {e}");
    let (folder, beyond) = (place.join("out"), place.join("beyond"));
    fs::create_dir(&folder).map_err(told)?;
    fs::create_dir(&beyond).map_err(told)?;
    // What an earlier remc, or another process of the same number, may have left.
    for other in ["x.npy.1.tmp", ".remc-abcdefghijkl.tmp", "x.npy~"] {
        fs::write(folder.join(other), "theirs").map_err(told)?;
    }
    let out = folder.join("x.npy");
    let kind = rng.below(4);
    let real = if kind >= 2 { beyond.join("real") } else { out.clone() };
    let mode = [0o600, 0o640, 0o644, 0o666, 0o755][rng.below(5)];
    if kind % 2 == 1 {
        fs::write(&real, "old").map_err(told)?;
        fs::set_permissions(&real, fs::Permissions::from_mode(mode)).map_err(told)?;
    }
    if kind >= 2 {
        symlink("../beyond/real", &out).map_err(told)?;
    }
    done.push(format!("kind {kind}, mode {mode:o}"));
    let names = || -> io::Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for folder in [&folder, &beyond] {
            for f in fs::read_dir(folder)? {
                all.push(f?.path());
            }
        }
        all.retain(|p| *p != real);
        all.sort();
        Ok(all)
    };
    let before = names().map_err(told)?;
    let old = fs::read(&real).ok();
    // Rarely, since a process is started.
    let signals = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
    let signal = signals[rng.below(4)];
    let signalled = rng.one_in(8) && !is_ignored(signal);
    let mut written = false;
    match program().filter(|_| signalled) {
        Some(program) => {
            written = interrupt(rng, &program, (&out, signal), done)?;
        }
        None => {
            let (after, nth) = (rng.below(SIZES[0]), rng.below(2));
            done.push(format!("fails after {after} bytes"));
            let failed = files::write_atomically(&out, |to| {
                to.write_all(&vec![b'h'; after])?;
                Err(io::Error::other("interrupted"))
            });
            if failed.is_ok() {
                return Err("a failure is none".into());
            }
            if fs::read(&real).ok() != old {
                return Err("a failure leaves half a file".into());
            }
            if rng.one_in(2) {
                files::write_atomically(&out, |to| content(nth, to))
                    .map_err(|e| format!("not written: {e}"))?;
                written = true;
            }
        }
    }
    match fs::read(&real) {
        Ok(now) if is_whole(&now) || (!written && Some(&now) == old.as_ref()) => {}
        Ok(now) => return Err(format!("{} bytes of no whole content", now.len())),
        Err(_) if !written && old.is_none() => {}
        Err(e) => return Err(format!("it is gone: {e}")),
    }
    if old.is_some() && fs::metadata(&real).map_err(told)?.mode() & 0o7777 != mode {
        return Err("its permissions are others".into());
    }
    if kind >= 2 && !out.is_symlink() {
        return Err("a link was replaced".into());
    }
    if names().map_err(told)? != before {
        return Err("other files have come or gone".into());
    }
    if fs::read(folder.join("x.npy.1.tmp")).map_err(told)? != b"theirs" {
        return Err("another's file was written to".into());
    }
    Ok(if signalled { "interrupted" } else { "outputs" })
}

/// Whether this process ignores a signal, as one in the background of a shell does: then so do those that it starts, and
/// the signal ends none of them.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// Lets a process write, and ends it. Says whether it wrote all of the output at least once.
fn interrupt(
    rng: &mut Rng,
    program: &Path,
    (out, signal): (&Path, Signal),
    done: &mut Vec<String>,
) -> Result<bool, String> {
    let told = |e: io::Error| format!("the case itself: {e}");
    let (wait, first) = (rng.below(12_000) as u64, rng.one_in(2));
    done.push(format!("{signal:?} after {wait} µs, first {first}"));
    let mut child = Command::new(program)
        .env(WRITE, out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(told)?;
    let mut written = false;
    // Half of the time once something is there, so that what is there is at stake.
    if first && let Some(says) = child.stdout.as_mut() {
        written = says.read(&mut [0; 8]).is_ok_and(|n| n > 0);
    }
    std::thread::sleep(Duration::from_micros(wait));
    kill_process(Pid::from_child(&child), signal).map_err(|e| told(e.into()))?;
    let ended = child.wait_with_output().map_err(told)?;
    match ended.status.signal() {
        Some(by) if by == signal.as_raw() => Ok(written || !ended.stdout.is_empty()),
        _ => Err(format!("{:?}: {}", ended.status, String::from_utf8_lossy(&ended.stderr))),
    }
}

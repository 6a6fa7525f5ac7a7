//! The files that are meant: those that are named, and in folders the programs.

use super::Wrong;
use crate::codes;
use crate::report::usage;
use remc_driver::session;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each file once, in the order of the names, and what is wrong with a name. Of a folder those whose names end in
/// `.remora`, in order, in the folders in it too, but for hidden ones; links in it are not followed.
pub(super) fn files(named: &[PathBuf]) -> Vec<Result<PathBuf, Wrong>> {
    let mut out = vec![];
    for path in named {
        match fs::metadata(path) {
            Ok(m) if m.is_dir() => {
                let before = out.len();
                below(path, &mut out);
                if out.len() == before {
                    let d = usage(
                        codes::UNREADABLE,
                        format!("there is no program in the folder `{}`", path.display()),
                    );
                    out.push(Err(d.help(
                        "the names of programs end in .remora; other files can be named by themselves",
                    )));
                }
            }
            // What cannot be read is told when it is.
            _ => out.push(Ok(path.clone())),
        }
    }
    // A file may have been named twice, or named and found.
    let mut seen = HashSet::new();
    out.retain(|file| match file {
        Ok(path) => seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())),
        Err(_) => true,
    });
    out
}

/// Folders wait in a list: they may be nested deeply.
fn below(folder: &Path, out: &mut Vec<Result<PathBuf, Wrong>>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) => {
                let why = session::describe_read(&e);
                out.push(Err(usage(
                    codes::UNREADABLE,
                    format!("cannot read the folder `{}`: {why}", folder.display()),
                )));
                continue;
            }
        };
        let mut entries: Vec<fs::DirEntry> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut inner = vec![];
        for entry in entries {
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let Ok(kind) = entry.file_type() else { continue };
            // `./a` is `a`.
            let path = entry.path();
            let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
            if kind.is_dir() && !hidden {
                inner.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|e| e == "remora") {
                out.push(Ok(path));
            }
        }
        inner.reverse();
        folders.append(&mut inner);
    }
}

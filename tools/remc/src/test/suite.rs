//! The programs of a project.

use crate::codes;
use crate::report::{Outcome, fail, usage};
use remc_driver::session::describe_read;
use std::fs;
use std::path::{Path, PathBuf};

/// The programs that are named, and those in the folders that are named, sorted; none twice.
pub fn find(paths: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let mut found = Vec::new();
    for path in paths {
        let about = |e: &std::io::Error| {
            fail(usage(codes::TEST, format!("cannot test `{}`: {}", path.display(), describe_read(e))))
        };
        match fs::metadata(path) {
            Err(e) => return about(&e),
            Ok(m) if m.is_dir() => {
                if let Err(e) = in_folder(path, &mut found) {
                    return about(&e);
                }
            }
            Ok(_) => found.push(path.clone()),
        }
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        let places: Vec<String> = paths.iter().map(|p| format!("`{}`", p.display())).collect();
        return fail(usage(codes::TEST, format!("there is no program in {}", places.join(" and "))).help(
            "programs are files that end in .remora; `remc new NAME` makes a folder with one and a test",
        ));
    }
    Ok(found)
}

/// All programs under a folder. Hidden folders and links to folders are none of the project's.
fn in_folder(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = if folder == Path::new(".") { PathBuf::from(&name) } else { entry.path() };
        if kind.is_dir() {
            // One that may not be looked into is not the user's.
            let _ = in_folder(&path, found);
        } else if path.extension().is_some_and(|e| e == "remora") && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

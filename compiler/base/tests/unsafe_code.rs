//! `unsafe` code is allowed where `ARCHITECTURE.md` says that it is, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of Rust in a folder, tests aside.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if !["tests", "target", "node_modules"].contains(&&*name) && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_list_of_unsafe_code_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, list) = text.split_once("- **`unsafe` is denied**").expect("the list");
    let list = list.split_once("\n\n").map_or(list, |(list, _)| list);
    let listed: Vec<&str> = list.split('`').skip(1).step_by(2).filter(|word| word.contains('/')).collect();

    let mut files = Vec::new();
    ["compiler", "runtime", "tools"].iter().for_each(|f| sources(&root.join(f), &mut files));
    let mut seen = Vec::new();
    for file in files {
        if fs::read_to_string(&file).unwrap().contains("(unsafe_code") {
            let name = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let is_it = |l: &&&str| if l.ends_with('/') { name.starts_with(**l) } else { name == **l };
            let entry = listed.iter().find(is_it);
            seen.push(*entry.unwrap_or_else(|| panic!("`ARCHITECTURE.md` does not list {name}")));
        }
    }
    for entry in listed {
        assert!(seen.contains(&entry), "there is no `unsafe` code in {entry}");
    }
}

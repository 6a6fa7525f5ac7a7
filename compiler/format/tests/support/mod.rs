//! The files of the repository.

use std::path::{Path, PathBuf};

/// Reading runs on a large stack in the compiler; so it does here.
pub fn on_large_stack<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(1 << 28).spawn(f).unwrap().join().unwrap()
}

/// The files of the repository whose names end so; not what is built or fetched into it.
pub fn of_repository(ending: &str) -> Vec<PathBuf> {
    let mut out = vec![];
    for folder in ["book", "compiler", "examples", "prelude", "runtime", "testsuite", "tools"] {
        files(&root().join(folder), ending, &mut out);
    }
    let top = std::fs::read_dir(root()).unwrap().map(|e| e.unwrap().path());
    out.extend(top.filter(|p| p.is_file() && p.extension().is_some_and(|e| e == ending)));
    out
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let others = name.starts_with('.') || ["target", "node_modules", "fuzz-artifacts"].contains(&&*name);
        if path.is_dir() && !others {
            files(&path, ending, out);
        } else if path.extension().is_some_and(|e| e == ending) {
            out.push(path);
        }
    }
}

//! `remc new`: a folder to begin with.
//!
//! The folder is made under another name and gets its own when all is in it: it is whole, or it is not there.

use crate::args::New;
use crate::codes;
use crate::report::{Outcome, fail, to_stderr, usage};
use remc_driver::session::describe_write;
use remc_runtime::temporary;
use std::fs;
use std::path::Path;

/// The files, `NAME` standing for the program's name.
const FILES: [(&str, &str); 5] = [
    ("NAME.remora", include_str!("new/program.remora")),
    ("data/samples.csv", include_str!("new/samples.csv")),
    ("tests/statistics.remora", include_str!("new/statistics.remora")),
    ("tests/samples.remora", include_str!("new/samples.remora")),
    ("tests/samples.out", include_str!("new/samples.out")),
];

const README: &str = include_str!("new/README.md");

pub fn new(args: &New) -> Outcome {
    let path = &args.path;
    let shown = path.display();
    let name = match path.file_name().map(|n| n.to_str()) {
        Some(Some(name)) if is_name(name) => name,
        _ => {
            return fail(
                usage(codes::NEW, format!("`{shown}` is no name for a program"))
                    .help("letters, digits, `-` and `_`, with a letter first, such as `heat-flow`"),
            );
        }
    };
    if fs::symlink_metadata(path).is_ok() {
        return fail(
            usage(codes::NEW, format!("`{shown}` is there already"))
                .help("nothing of it was changed: choose another name, or remove it first"),
        );
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match make(parent, path, name) {
        Ok(()) => {
            to_stderr(&format!(
                "{shown}: a program, data, tests and a README; begin with\n  cd {shown}\n  remc test\n  remc watch {name}.remora\n"
            ));
            Ok(())
        }
        Err(e) => fail(usage(codes::NEW, format!("cannot make `{shown}`: {}", describe_write(&e)))),
    }
}

fn make(parent: &Path, path: &Path, name: &str) -> std::io::Result<()> {
    let staged = parent.join(format!(".remc-{}.tmp", temporary::random()));
    let (staged, ()) = temporary::Temporary::made(staged.clone(), || fs::create_dir(&staged))?;
    for (file, text) in FILES.iter().copied().chain([("README.md", README)]) {
        let file = staged.path().join(file.replace("NAME", name));
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text.replace("NAME", name))?;
    }
    // A folder that came to be there meanwhile is not replaced, unless it is empty.
    staged.rename(|from| fs::rename(from, path))
}

/// A name that is one on every system, in a shell and in an import.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 100
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

//! What decides how a kernel runs is a field of its schedule, not a named constant of the room that uses it. Numbers without a
//! name are not found here.

use std::fs;
use std::path::{Path, PathBuf};

/// Numbers that no schedule could choose: of the hardware, of the code generator's own time, and what results depend on.
const FACTS: [(&str, &str); 21] = [
    ("WARP", "threads of a GPU that run in step"),
    ("VECTOR_BYTES", "the widest vector that there is"),
    ("SHARED_OF_BLOCK", "the shared memory of a block"),
    ("LINE", "a cache line"),
    ("WORD", "the widest load of a GPU's thread"),
    ("COMPRESSED_BITS", "registers with an instruction that moves lanes of a mask to the front"),
    ("LEAST_BITS", "the lanes of that instruction"),
    ("LANE_BITS", "the lanes that processors mask"),
    ("VECTOR_BITS", "… in vectors of at least so many bits"),
    ("FIRST", "sums of ragged rows are of so many lanes, whoever computes them"),
    ("ROWS", "… and so many rows fill a vector of sums"),
    ("MOST", "… of which each has fewer elements than any vector that would scan or sum them"),
    ("ELEMENTS", "a short row's part of scratch memory: those of a vector of rows are 8 KiB of a stack"),
    ("SHORT", "the axis of such a part beside that of the row itself: with both it has as many elements"),
    ("MANY", "constants that are stored one by one: the length of the code"),
    ("LONG", "statements that take longer to compile well than to run"),
    ("LARGE", "values of loops that need many registers: the assembler's goal for them is another one"),
    ("RUN", "items that are sorted by insertion: with so few it is the better sort anywhere"),
    ("VALUES", "of a byte: digits of fewer bits move items more often, and of more are no bytes"),
    ("IN_REGISTERS", "items that registers hold with their numbers, so that no branch is guessed for them"),
    ("OF_MULTIPROCESSOR", "the threads that a multiprocessor has"),
];

/// The files of Rust in a folder, and in the folders in it.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_constant_decides_a_schedule() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["kernel/src/lower", "backend/llvm/src/kernel", "backend/cuda/src"];
    let mut seen = Vec::new();
    for folder in folders {
        let mut files = Vec::new();
        sources(&root.join(folder), &mut files);
        assert!(files.len() > 5, "{folder}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for line in text.lines().map(str::trim) {
                let Some((_, rest)) = line.split_once("const ") else { continue };
                let Some((name, ty)) = rest.split_once(": ") else { continue };
                let number =
                    ["i64", "i32", "u64", "u32", "usize"].iter().any(|t| ty.starts_with(&format!("{t} =")));
                if number && name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                    assert!(
                        FACTS.iter().any(|(fact, _)| *fact == name),
                        "{}: `{name}` decides a schedule: make it a field of `Schedule`",
                        file.display()
                    );
                    seen.push(name.to_owned());
                }
            }
        }
    }
    for (fact, _) in FACTS {
        assert!(seen.iter().any(|s| s == fact), "there is no `{fact}` any more");
    }
}

//! Every program of the suite and every example, with what `--show types` makes of it, and with some of that left
//! out: the same elaboration. A plain run takes a sample of them.

use remc_fuzz::campaign::STACK;
use remc_fuzz::lab::hush_panics;
use remc_fuzz::properties::{self, Fewest};
use std::path::{Path, PathBuf};

fn sources() -> Vec<PathBuf> {
    let root = remc_fuzz::corpus::root();
    let mut found: Vec<PathBuf> = ["testsuite/programs", "examples"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"))
        .map(|f| f.expect("a file").path())
        .filter(|p| p.extension().is_some_and(|e| e == "remora"))
        .collect();
    found.sort();
    found
}

/// Those that a plain run takes.
fn sample() -> Vec<PathBuf> {
    let name = |p: &PathBuf| p.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    sources().into_iter().filter(|p| remc_sample::takes(5, &format!("annotations: {}", name(p)))).collect()
}

#[test]
fn programs_mean_the_same_with_some_of_their_types() {
    let work = || {
        hush_panics();
        let (mut failed, mut kept, mut all) = (vec![], vec![], 0);
        for path in &sample() {
            let text = std::fs::read_to_string(path).expect("a text");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if imports(&text) {
                continue;
            }
            all += 1;
            match properties::between(&text, seed(&name)) {
                Ok(Fewest::Some) => kept.push(name),
                Ok(_) => {}
                Err(fault) => failed.push(format!("{name}: {:?}: {}\n", fault.kind, fault.message)),
            }
        }
        (failed, kept, all)
    };
    let (failed, kept, all) =
        std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
    // Panics are kept for reports, so these would say nothing.
    failed.iter().for_each(|f| eprintln!("{f}"));
    eprintln!("{} of {all} have types that are not inferred: {kept:?}", kept.len());
    assert!(failed.is_empty(), "programs differ");
    assert!(kept.len() * 5 < all, "most programs are not tested");
}

/// A program's own, so that what is tried on it does not depend on the others.
fn seed(name: &str) -> u64 {
    name.bytes().fold(0, |hash: u64, b| hash.wrapping_mul(31).wrapping_add(b.into()))
}

/// Their paths are relative to the file.
fn imports(text: &str) -> bool {
    text.lines().any(|l| l.starts_with("(import "))
}

#[test]
fn there_are_sources() {
    assert!(sources().len() > 200 && Path::new(&sources()[0]).is_file());
}

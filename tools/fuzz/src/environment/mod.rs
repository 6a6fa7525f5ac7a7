//! Hostile environments: what no data file, no folder of the cache and no interruption may cause.
//!
//! | file | what is hostile |
//! | --- | --- |
//! | [`cache`] | folders of compiled code: entries swapped, damaged, of other users, links and pipes |
//! | [`data`] | data files of every format: changed, cut short, with headers that lie |
//! | [`outputs`] | signals and failures while an output is written |
//!
//! A case is a function of a random source and a folder of its own. It says in a word what came of it, or what it
//! should not have done, with the files that show it. Cases of this process run by the thousand; those that start
//! others are rare.

pub mod cache;
pub mod data;
pub mod outputs;

use crate::lab::{Fault, FaultKind, guarded};
use crate::rng::Rng;
use std::path::{Path, PathBuf};

/// One kind of case.
pub struct Kind {
    pub name: &'static str,
    /// How many of a thousand cases are of this kind.
    pub share: usize,
    /// Makes a case and runs it, in a folder that is empty.
    pub case: fn(&mut Rng, &Path) -> Result<&'static str, Broken>,
}

/// The kinds. Their shares add up to a thousand.
pub const KINDS: &[Kind] = &[
    Kind { name: "data", share: 800, case: data::case },
    Kind { name: "cache", share: 120, case: cache::case },
    Kind { name: "outputs", share: 80, case: outputs::case },
];

/// What a case should not have done.
#[derive(Debug)]
pub struct Broken {
    pub why: String,
    /// What shows it again: a file, as bytes.
    pub shown: Vec<u8>,
}

/// Where cases have their files; gone when it is dropped.
pub struct Place(PathBuf);

impl Place {
    /// # Panics
    /// Where the system has no folder for temporary files: then no case can run.
    pub fn new() -> Place {
        let path = std::env::temp_dir().join(format!("remc-environment-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Place(path)
    }
}

impl Default for Place {
    fn default() -> Place {
        Place::new()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left in a folder of temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder for one case, with nothing in it.
fn emptied(place: &Path) -> Result<PathBuf, Broken> {
    let folder = place.join("case");
    let made = match std::fs::remove_dir_all(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => std::fs::create_dir(&folder),
    };
    made.map_err(|e| Broken { why: format!("the case itself: {e}"), shown: Vec::new() })?;
    Ok(folder)
}

/// The kind of the case with a seed.
pub fn kind(seed: u64) -> &'static Kind {
    let mut at = Rng::new(seed).below(1000);
    KINDS
        .iter()
        .find(|k| {
            let found = at < k.share;
            at = at.saturating_sub(k.share);
            found
        })
        .unwrap_or(&KINDS[0])
}

/// Runs the case with a seed: what came of it, or the fault and what shows it.
pub fn check(seed: u64, place: &Place) -> Result<String, (Fault, Vec<u8>)> {
    let kind = kind(seed);
    let mut broken = None;
    let found = guarded(|| {
        let mut rng = Rng::new(seed.wrapping_mul(3).wrapping_add(1));
        (kind.case)(&mut rng, &place.0).map_err(|b| {
            let fault = Fault::new(FaultKind::Environment, format!("{}: {}", kind.name, b.why));
            broken = Some(b.shown);
            fault
        })
    });
    match found {
        Ok(what) => Ok(format!("{}: {what}", kind.name)),
        Err(fault) => Err((fault, broken.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!(KINDS.iter().map(|k| k.share).sum::<usize>(), 1000);
        let names: Vec<&str> = (0..2000).map(|seed| kind(seed).name).collect();
        assert!(KINDS.iter().all(|k| names.contains(&k.name)));
    }
}

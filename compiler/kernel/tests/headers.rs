//! The tables of modules in headers name all of the modules, and that of Mono's passes has their order.

use remc_mono::opt::PASSES;
use std::fs;
use std::path::Path;

/// The files that begin with such a table.
const TABLES: [&str; 6] = [
    "compiler/kernel/src/lower/mod.rs",
    "compiler/kernel/src/verify/mod.rs",
    "compiler/backend/llvm/src/kernel/mod.rs",
    "compiler/mono/src/build/mod.rs",
    "runtime/src/lib.rs",
    "runtime/src/data/mod.rs",
];

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap()
}

fn header(text: &str) -> String {
    text.lines().take_while(|l| l.starts_with("//!")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn tables_of_modules_name_all() {
    for file in TABLES {
        let text = read(file);
        let header = header(&text);
        let mut for_tests = false;
        for line in text.lines() {
            let name = ["mod ", "pub mod ", "pub(crate) mod "].iter().find_map(|m| line.strip_prefix(m));
            if let Some(name) = name.and_then(|n| n.strip_suffix(';')).filter(|n| !for_tests && *n != "tests")
            {
                assert!(header.contains(&format!("`{name}`")), "{file} does not say what `{name}` is");
            }
            for_tests = line == "#[cfg(test)]";
        }
    }
}

#[test]
fn the_table_of_passes_has_their_order() {
    let text = read("compiler/mono/src/opt/mod.rs");
    let rows: Vec<String> = header(&text)
        .lines()
        .filter_map(|l| Some(l.strip_prefix("//! | [`")?.split_once('`')?.0.to_owned()))
        .collect();
    let passes: Vec<&str> = PASSES.iter().map(|p| p.info.name).collect();
    assert_eq!(rows, passes);
}

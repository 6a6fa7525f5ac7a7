//! Embeds the pages of `testsuite/diagnostics/`, which `remc explain` shows.

use std::fmt::Write;
use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/diagnostics");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut pages: Vec<_> = std::fs::read_dir(&root)
        .into_iter()
        .flatten()
        .map(|f| f.expect("a page").path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    let mut out = String::from("pub const PAGES: &[(&str, &str)] = &[\n");
    for page in &pages {
        println!("cargo::rerun-if-changed={}", page.display());
        let code = page.file_stem().expect("a name").to_string_lossy();
        writeln!(out, "    ({code:?}, include_str!({page:?})),").expect("writing to a string");
    }
    out.push_str("];\n");
    let target = Path::new(&std::env::var("OUT_DIR").expect("OUT_DIR")).join("pages.rs");
    std::fs::write(target, out).expect("writing the list of pages");
}

//! Embeds the prelude: every `prelude/*.remora`, in the order of their names.

use std::fmt::Write;
use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../prelude");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files: Vec<_> = std::fs::read_dir(&root)
        .expect("the prelude's folder")
        .map(|f| f.expect("a file of the prelude").path())
        .filter(|p| p.extension().is_some_and(|e| e == "remora"))
        .collect();
    files.sort();
    let mut out = String::from("pub const FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().expect("a name").to_string_lossy();
        writeln!(out, "    ({:?}, include_str!({:?})),", format!("prelude/{name}"), file)
            .expect("writing to a string");
    }
    out.push_str("];\n");
    let target = Path::new(&std::env::var("OUT_DIR").expect("OUT_DIR")).join("prelude.rs");
    std::fs::write(target, out).expect("writing the prelude's list");
}

//! Compiles the generated parser and the scanner beside it.

fn main() {
    let mut build = cc::Build::new();
    build.std("c11").include("src").warnings(false).file("src/parser.c").file("src/scanner.c");
    build.compile("tree-sitter-remora");
    println!("cargo:rerun-if-changed=src");
}

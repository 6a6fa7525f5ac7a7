//! Programs of their own: the kernels and plans of one entry or several, the C API, and a `main`.
//!
//! ```text
//! // Printed by remc …: how it is built, its thresholds, what has shaped the code
//! the header
//! namespace entry_rows { kernels, the plan, what its checks say, the manifest }     for each entry
//! extern "C" int remc_entry_rows(remc_context *, …)                                  the C API
//! namespace entry_rows { what the command line knows of it }  int main               the program
//! ```
//!
//! What all entries need is there once. What an entry has is found through two tables, `remc_about` for the C API and
//! `remc_program` for the command line, so that nothing else knows how many entries there are.

use crate::interface::{Interface, interface};
use crate::writer::Writer;
use crate::{
    Error, HOST, INCLUDES, Linkage, Places, api, checks, fixed, host, kernels_alone, manifest, mentions_half,
    prelude, program,
};
use remc_base::{ArrTy, IVar, Name};
use remc_kernel::ir::Program;
use remc_kernel::traps::{numbers, traps};

const NUMBER: &str = include_str!("text/number.cuh");
const ABOUT: &str = include_str!("text/about.cuh");
const API: &str = include_str!("text/api.cuh");
const TABLES: &str = include_str!("text/tables.cuh");
const READ: &str = include_str!("text/read.cuh");
const NPY: &str = include_str!("text/npy.cuh");
const PRINT: &str = include_str!("text/print.cuh");
const TUNING: &str = include_str!("text/tuning.cuh");
const MAIN: &str = include_str!("text/main.cuh");

/// What a product needs beside that. Its own functions, but for those of the header, stay its own: a process
/// may load the libraries of several entries, whose kernels have the same names.
const PRODUCT: &str = "#include <charconv>
#ifndef REMC_LIBRARY
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

// Nothing below is seen from outside, but for what the header declares. (It holds to the end of the file, and
// for what nvcc adds there.)
#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif
";

/// What is to be said of a program beside what it does.
pub struct About<'a> {
    /// Where a statement comes from, for comments.
    pub places: Places<'a>,
    /// Where something that may stop is, for messages: `prog.remora:3:12`.
    pub at: Places<'a>,
    /// The indices of the entry, the ranks of the shapes among them, and its parameters.
    pub indices: &'a [IVar],
    pub ranks: &'a [usize],
    pub params: &'a [(Name, ArrTy)],
    /// The structure of its code, by which tuning files know it.
    pub code: &'a str,
    /// The numbers of its operators' schedules that shaped the code, by their names.
    pub fixed: &'a [(String, i64)],
}

/// A program that is printed, as one of several.
pub struct Entry<'a> {
    pub program: &'a Program,
    pub about: About<'a>,
}

/// A program of its own, as files.
pub struct Product {
    /// CUDA C++: a program, or with `-DREMC_LIBRARY` a library.
    pub source: String,
    /// What C sees of the library.
    pub header: String,
    /// JSON: what the program takes and gives, its kernels and checks.
    pub manifest: String,
}

/// What the source, the header and the manifest of a [`Product`] begin with, whatever the program and the version.
pub const BEGINS: [&str; 3] = ["// Printed by remc ", "/* The entr", "{\"remc\": "];

/// A program of its own, of these entries; `version` is remc's.
///
/// # Errors
/// As of [`crate::kernels`].
pub fn product(entries: &[Entry<'_>], version: &str) -> Result<Product, Error> {
    let mut taken = Vec::new();
    let all = entries.iter().map(|e| {
        let i = interface(e.program, &taken)?;
        taken.push(i.identifier.clone());
        Ok(One { entry: e, i })
    });
    let all = all.collect::<Result<Vec<One<'_>>, Error>>()?;
    let header = api::header(&all.iter().map(One::declared).collect::<Vec<_>>(), version);
    let manifests = all.iter().map(One::manifest).collect::<Vec<_>>();
    let (begins, ends) = manifest::around(version);
    let manifest = format!("{begins}{}{ends}", manifests.join(",\n"));

    let programs: Vec<&Program> = entries.iter().map(|e| e.program).collect();
    let mut source = above(&all, version);
    source += &header;
    source.push('\n');
    source += INCLUDES;
    if programs.iter().any(|p| mentions_half(p)) {
        source += "#include <cuda_fp16.h>\n";
    }
    for part in [PRODUCT, &prelude(&programs), HOST, NUMBER, ABOUT] {
        source += part;
        source.push('\n');
    }
    for (one, manifest) in all.iter().zip(&manifests) {
        source += &one.code(manifest)?;
        source.push('\n');
    }
    source += API;
    for one in &all {
        source.push('\n');
        source += &api::entry(&one.i);
    }
    source += "\n#ifndef REMC_LIBRARY\n";
    for part in [TABLES, READ, NPY, PRINT] {
        source += part;
        source.push('\n');
    }
    for one in &all {
        let own = program::tables(one.entry.program, &one.i, &one.entry.about)?;
        source += &format!("namespace {} {{\n{own}}}\n\n", one.i.namespace);
    }
    source += &listed(&all, (&begins, &ends));
    for part in [TUNING, MAIN] {
        source.push('\n');
        source += part;
    }
    source += "#endif\n";
    Ok(Product { source, header, manifest })
}

/// An entry, and how C sees it.
struct One<'a> {
    entry: &'a Entry<'a>,
    i: Interface,
}

impl One<'_> {
    fn declared(&self) -> api::Declared<'_> {
        let params = self.entry.about.params.iter();
        api::Declared { i: &self.i, types: params.map(|(n, ty)| (n.to_string(), ty.to_string())).collect() }
    }

    fn manifest(&self) -> String {
        let p = self.entry.program;
        manifest::manifest(p, &self.i, &traps(p), self.entry.about.fixed)
    }

    /// Its kernels, its plan, and the table through which they are found.
    fn code(&self, manifest: &str) -> Result<String, Error> {
        let (p, about, i) = (self.entry.program, &self.entry.about, &self.i);
        let traps = traps(p);
        let mut w = Writer::default();
        w.line("static const remc_fixed remc_own_fixed[] = {");
        for (name, value) in about.fixed {
            w.line(format!("  {{{}, {value}}},", checks::quoted(name)));
        }
        w.line("  {0, 0}");
        w.line("};");
        w.line("static const remc_about remc_own = {");
        let ranks: Vec<String> = about.ranks.iter().map(usize::to_string).collect();
        let names = [&i.entry, about.code, &ranks.join(",")].map(checks::quoted);
        w.line(format!("  {},", names.join(", ")));
        w.line("  remc_own_manifest, remc_run, remc_own_checks, remc_own_too_large,");
        w.line("  remc_own_places, sizeof remc_own_places / sizeof *remc_own_places,");
        let thresholds = p.thresholds().len();
        let table = if thresholds == 0 { "0" } else { "remc_own_thresholds" };
        w.line(format!("  {table}, {thresholds}, remc_own_fixed, {}", about.fixed.len()));
        w.line("};");
        w.line("static const remc_linked remc_own_link(&remc_own);");
        Ok(format!(
            "// ---- the entry `{}` ----\n\nnamespace {} {{\n{}\n{}\n{}\n{}\n{}}}\n\nextern \"C\" const char *{}(void) {{ return \
             {}::remc_own_manifest; }}\n",
            line(&i.entry),
            i.namespace,
            kernels_alone(p, about.places, Linkage::Own)?,
            host::print(p, &numbers(&traps), Linkage::Own)?,
            checks::tables(p, &traps, about.at),
            embedded("remc_own_manifest", manifest),
            w.finish(),
            i.manifest,
            i.namespace,
        ))
    }
}

/// What stands above all: how the text is compiled, and the numbers that it has.
fn above(all: &[One<'_>], version: &str) -> String {
    let mut out = format!(
        "{}{version}: the {} as CUDA C++, by itself: a program, or a library.\n//\n//   nvcc -std=c++17 -O3 -arch=native -o \
         prog prog.cu\n//   nvcc -std=c++17 -O3 -arch=native -DREMC_LIBRARY -shared -Xcompiler -fPIC -o libprog.so \
         prog.cu\n",
        BEGINS[0],
        line(&api::listed(all.iter().map(|one| &one.i)))
    );
    let mut lines = |title: &str, all: Vec<String>| {
        if !all.is_empty() {
            out +=
                &format!("//\n// {title}\n{}", all.iter().map(|l| format!("//   {l}\n")).collect::<String>());
        }
    };
    let thresholds = all.iter().flat_map(|one| one.entry.program.thresholds());
    let value = |n: i64| match n {
        0 => "always".to_owned(),
        i64::MAX => "never".to_owned(),
        n => n.to_string(),
    };
    lines(
        "Sizes from which on versions are chosen; --threshold, --tuning and remc_context_tune give others when it runs:",
        thresholds.map(|(name, n)| format!("{} = {}", line(name.as_str()), value(n))).collect(),
    );
    let fixed = all.iter().flat_map(|one| one.entry.about.fixed);
    lines(
        "What has shaped the code, and was fixed when it was printed (remc compile --threshold, --tuning):",
        fixed.map(|(name, n)| format!("{} = {n}", line(name))).collect(),
    );
    for one in all {
        let title = format!("Constants of the kernels of `{}`, which follow from that:", line(&one.i.entry));
        lines(&title, fixed::lines(one.entry.program));
    }
    out.push('\n');
    out
}

/// A name within a comment of one line.
fn line(name: &str) -> String {
    name.replace(['\n', '\\'], " ")
}

/// A text as a string of C, a line for each of its own.
fn embedded(name: &str, text: &str) -> String {
    let lines: String = text.split_inclusive('\n').map(|l| format!("\n  {}", checks::quoted(l))).collect();
    format!("static const char {name}[] ={lines};\n")
}

/// The entries that the command line can run, and the manifest around what they say of themselves.
fn listed(all: &[One<'_>], (begins, ends): (&str, &str)) -> String {
    let entries: Vec<String> =
        all.iter().map(|one| format!("&{}::remc_own_program", one.i.namespace)).collect();
    let count = entries.len();
    format!(
        "static const remc_program *const remc_programs[] = {{{}}};\nstatic const u32 remc_program_count = {count};\n{}{}",
        entries.join(", "),
        embedded("remc_manifest_begins", begins),
        embedded("remc_manifest_ends", ends)
    )
}

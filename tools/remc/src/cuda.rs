//! CUDA C++ as text: `remc compile --emit cuda`, a program of its own with a header and a manifest beside it.

use crate::codes;
use crate::commands::{cannot_write, may_write, write};
use crate::report::{Failure, Outcome, fail, usage};
use remc_base::{Prov, Provenance, visible};
use remc_cuda::{About, Entry, Places, Product};
use remc_driver::{InternalBug, Session};
use remc_kernel::ir::Program;
use remc_runtime::files::{self, Protected};
use remc_typed::ir::EntrySignature;
use std::io::Read;
use std::path::{Path, PathBuf};

fn bug(e: remc_cuda::Error) -> Failure {
    Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() })
}

/// The kernels and the plan alone, for the emulated device.
pub fn plan(session: &Session, p: &Program) -> Outcome<String> {
    remc_cuda::plan(p, &|prov| comment(session, p, prov)).map_err(bug)
}

/// The kernels alone, for a compiler in this process.
pub fn kernels(session: &Session, p: &Program) -> Outcome<String> {
    remc_cuda::kernels(p, &|prov| comment(session, p, prov)).map_err(bug)
}

/// A program that is compiled, to be printed with others.
pub struct Compiled {
    pub program: std::sync::Arc<Program>,
    pub signature: Option<EntrySignature>,
    /// Those of the entry's shapes.
    pub ranks: Vec<usize>,
    /// The structure of its code, and the numbers that shaped it.
    pub code: String,
    pub fixed: Vec<(String, i64)>,
}

/// Programs as one text, its header and its manifest.
pub fn product(session: &Session, all: &[Compiled]) -> Outcome<Product> {
    let comments: Vec<_> = all.iter().map(|c| move |prov| comment(session, &c.program, prov)).collect();
    let places: Vec<_> = all.iter().map(|c| move |prov| place(session, &c.program, prov)).collect();
    let entry = |((c, places), at)| {
        let c: &Compiled = c;
        let signature = c.signature.as_ref();
        Entry {
            program: &c.program,
            about: About {
                places,
                at,
                indices: signature.map_or(&[], |e| &e.indices),
                ranks: &c.ranks,
                params: signature.map_or(&[], |e| &e.params),
                code: &c.code,
                fixed: &c.fixed,
            },
        }
    };
    let comments = comments.iter().map(|f| f as Places<'_>);
    let places = places.iter().map(|f| f as Places<'_>);
    let entries: Vec<Entry<'_>> = all.iter().zip(comments).zip(places).map(entry).collect();
    remc_cuda::product(&entries, env!("CARGO_PKG_VERSION")).map_err(bug)
}

/// Where a printed program goes: to standard output, or to a file, and where that is called `NAME.cu` its header to
/// `NAME.h` and its manifest to `NAME.json`.
pub struct Files(Vec<PathBuf>);

impl Files {
    /// Refuses what cannot be written, before anything is compiled. The first name is the user's if it was `asked` for.
    pub fn new(to: Option<PathBuf>, asked: bool, protected: &Protected) -> Outcome<Files> {
        let Some(to) = to else { return Ok(Files(Vec::new())) };
        let mut all = vec![to];
        if all[0].extension().is_some_and(|ending| ending == "cu") {
            all.extend(["h", "json"].map(|ending| all[0].with_extension(ending)));
        }
        for (path, begins) in all.iter().zip(remc_cuda::BEGINS) {
            may_write(path, protected)?;
            if !asked || *path != all[0] {
                is_ours(path, begins)?;
            }
        }
        Ok(Files(all))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes all of them, or none.
    pub fn write(&self, product: &Product) -> Outcome {
        let texts = [&product.source, &product.header, &product.manifest].map(|text| text.as_bytes());
        if self.0.is_empty() {
            return write(&None, texts[0]);
        }
        let all: Vec<(&Path, &[u8])> = self.0.iter().map(PathBuf::as_path).zip(texts).collect();
        files::write_together(&all).map_err(|(path, e)| cannot_write(&path, &e))
    }
}

impl std::fmt::Display for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (k, path) in self.0.iter().enumerate() {
            let before = if k == 0 {
                ""
            } else if k + 1 < self.0.len() {
                ", "
            } else {
                " and "
            };
            write!(f, "{before}{}", visible(&path.display().to_string()))?;
        }
        Ok(())
    }
}

/// Nobody asked for the files beside the output by name: what somebody else has written there is not lost.
fn is_ours(path: &Path, begins: &str) -> Outcome {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(cannot_write(path, &e)),
    };
    let mut start = vec![0; begins.len()];
    if file.read_exact(&mut start).is_ok() && start == begins.as_bytes() {
        return Ok(());
    }
    let there = format!("`{}` would be written, and is there: remc has not made it", path.display());
    fail(usage(codes::OUTPUT, there).help("choose another name for the output, or move that file away"))
}

/// Where a statement comes from, in the user's own text.
fn comment(session: &Session, p: &Program, prov: Prov) -> Option<String> {
    place_in_text(session, &p.provs, prov)
}

/// The definition and line of the user's own text that a place of a program comes from.
pub fn place_in_text(session: &Session, provs: &Provenance, prov: Prov) -> Option<String> {
    let trace = provs.contains(prov).then(|| provs.trace(prov))?;
    let (global, node) = trace.iter().find(|(g, _)| g.module >= session.first_user_module())?;
    let span = session.node_span(global, *node)?;
    let (_, text) = session.source(span.module)?;
    let line = 1 + text.get(..span.start as usize)?.matches('\n').count();
    Some(format!("`{}`, line {line}", global.name))
}

/// Where a program that stops there has stopped, as `--diagnostics short` says it.
fn place(session: &Session, p: &Program, prov: Prov) -> Option<String> {
    let trace = p.provs.contains(prov).then(|| p.provs.trace(prov))?;
    let user = trace.iter().find(|(g, _)| g.module >= session.first_user_module());
    let (global, node) = user.or(trace.first())?;
    let span = session.node_span(global, *node)?;
    let (path, text) = session.source(span.module)?;
    let (line, column) = remc_driver::render::line_column(text, span.start as usize);
    Some(format!("{}:{line}:{column}", visible(path)))
}

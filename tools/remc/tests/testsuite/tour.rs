//! `tour/`: each page shows what every stage makes of one small program, and is true.
//!
//! A page is a snapshot that is also read: its prose is written by hand, its stages are what the compiler
//! gives now. Each fenced block says by its info string what it holds:
//!
//! - `remora`, once: the program, the file `PAGE.remora` for the commands;
//! - `console`: lines `$ remc …` and what they print;
//! - `scheme STAGE`: the text of a stage, without its tables and without the places of statements. With
//!   `: FROM … TO`, the lines from the first that has FROM in it to the next that has TO;
//! - `llvm KERNEL: FROM … TO`: LLVM's text of a kernel for the processor [`generic`];
//! - `cuda KERNEL`, also with `: FROM … TO`: CUDA's text of a kernel as it is for a GPU.
//!
//! The stages are the names that dumps are called by, the last of each name; `kernels` and `plan` are the
//! two halves of Kernel, `gpu-kernels` and `gpu-plan` those that are made for a GPU. The page with these blocks filled is compared with the page as it is, by insta:
//! `INSTA_UPDATE=always cargo test -p remc --test testsuite tour::` writes it anew; without that, what
//! differs is left beside the page as `PAGE.snap.new.md`, for `cargo insta review` or `diff`.

use crate::pages::{Folder, blocks, console};
use crate::{differs, files, remc, root, stderr, stdout, stem};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};

pub fn trials() -> Vec<Trial> {
    let pages = files("tour", "md").into_iter().filter(|p| stem(p).ends_with(".snap"));
    pages.map(|path| Trial::test(format!("tour::{}", name(&path)), move || page(&path))).collect()
}

fn name(path: &Path) -> String {
    stem(path).trim_end_matches(".snap").to_owned()
}

/// What LLVM is told of the processor, so that its text is the same wherever it is made.
fn generic() -> remc_llvm::jit::Host {
    remc_llvm::jit::Host { cpu: "generic".into(), features: String::new(), vector_bits: 256, fma: false }
}

fn page(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let name = name(path);
    let folder = Folder::new(&format!("tour-{name}"))?;
    let blocks = blocks(&text)?;
    let program = blocks.iter().find(|b| b.info == "remora").ok_or("the page has no program")?;
    std::fs::write(folder.0.join(format!("{name}.remora")), &text[program.content.clone()])?;
    let stages = Stages::new(&folder.0, &name)?;
    let mut found = text.clone();
    for block in blocks.iter().rev() {
        let new = if block.info == "console" {
            console(&text[block.content.clone()], &folder)?
        } else if let Some(what) = block.info.strip_prefix("scheme ") {
            stages.show(what)?
        } else if let Some(what) = block.info.strip_prefix("llvm ") {
            stages.llvm(what)?
        } else if let Some(what) = block.info.strip_prefix("cuda ") {
            stages.cuda(what)?
        } else {
            continue;
        };
        found.replace_range(block.content.clone(), &new);
    }
    snapshot(&name, &text, found)
}

fn snapshot(name: &str, expected: &str, found: String) -> Result<(), Failed> {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("testsuite/tour"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    // Insta leaves this behind when a page is renewed.
    let _ = std::fs::remove_file(root().join(format!("testsuite/tour/{name}.snap.new")));
    let differs = differs(&format!("the page {name} of the tour"), expected, &found);
    // Insta says by a panic that a page is stale.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        settings.bind(|| insta::assert_binary_snapshot!(&format!("{name}.md"), found.into_bytes()));
    }))
    .map_err(|_| differs)
}

/// Every stage of a program, as `--dump-dir` writes them.
struct Stages {
    /// In order: the stage's name and its text.
    all: Vec<(String, String)>,
    /// Kernel for a GPU, and that as CUDA.
    gpu: String,
    cuda: String,
}

impl Stages {
    fn new(folder: &Path, name: &str) -> Result<Stages, Failed> {
        let compile = |what: &str, dumps: &str| -> Result<(String, Vec<PathBuf>), Failed> {
            let file = format!("{name}.remora");
            let arguments = ["compile", &file, "--emit", what, "--dump-dir", dumps];
            let output = remc().current_dir(folder).args(arguments).output()?;
            if !output.status.success() {
                return Err(stderr(&output).into());
            }
            let entries = std::fs::read_dir(folder.join(dumps))?;
            let mut dumps: Vec<_> = entries.filter_map(|f| Some(f.ok()?.path())).collect();
            dumps.sort();
            Ok((stdout(&output), dumps))
        };
        let (cuda, dumps) = compile("cuda", "gpu-stages")?;
        let gpu = dumps.last().map(std::fs::read_to_string).transpose()?.unwrap_or_default();
        let (_, dumps) = compile("kernel", "stages")?;
        let all = dumps
            .iter()
            .map(|p| {
                let stage = stem(p).split_once('-').map(|(_, name)| name.to_owned()).unwrap_or_default();
                Ok((stage, std::fs::read_to_string(p)?))
            })
            .collect::<Result<_, Failed>>()?;
        Ok(Stages { all, gpu, cuda })
    }

    fn text(&self, stage: &str) -> Result<&str, Failed> {
        let found = self.all.iter().rev().find(|(name, _)| name == stage);
        Ok(&found.ok_or_else(|| format!("no stage is called {stage}"))?.1)
    }

    fn show(&self, what: &str) -> Result<String, Failed> {
        let (stage, lines) = split(what);
        let text = match stage {
            // The program's own definition is the last; those of the library come before it.
            "check" | "explicitize" => {
                let text = self.text(stage)?;
                let from = text.rfind("\n(definition ").map_or(0, |at| at + 1);
                section(&text[from..], "  (nodes")
            }
            "kernels" => without_places(&sections(self.text("lower")?, "  (k")),
            "gpu-kernels" => without_places(&sections(&self.gpu, "  (k")),
            "gpu-plan" => without_places(&section(&self.gpu, "  (plan")),
            "plan" => without_places(&section(self.text("lower")?, "  (plan")),
            _ => without_places(&section(self.text(stage)?, "  (body")),
        };
        excerpt(&text, lines)
    }

    fn cuda(&self, what: &str) -> Result<String, Failed> {
        let (kernel, lines) = split(what);
        let missing = || format!("there is no kernel {kernel}");
        let name = self.cuda.find(&format!("\n  {kernel}_")).ok_or_else(missing)?;
        let start = self.cuda[..name].rfind('\n').map_or(0, |at| at + 1);
        let end = self.cuda[start..].find("\n}").map_or(self.cuda.len(), |at| start + at + 3);
        excerpt(&self.cuda[start..end], lines)
    }

    fn llvm(&self, what: &str) -> Result<String, Failed> {
        let (kernel, lines) = split(what);
        let program = remc_kernel::parse::parse_program(self.text("lower")?).map_err(|e| e.to_string())?;
        let text = remc_llvm::llvm_ir(&program, &generic(), None).map_err(|e| e.to_string())?;
        let start = format!("define void @{kernel}(");
        let text = text.split_once(&start).ok_or_else(|| format!("there is no kernel {kernel}"))?.1;
        let end = text.find("\n}").map_or(text.len(), |at| at + 3);
        excerpt(&(start + &text[..end]), lines)
    }
}

/// A stage, and the lines of it that are wanted.
fn split(what: &str) -> (&str, Option<(&str, &str)>) {
    match what.split_once(": ") {
        None => (what, None),
        Some((stage, lines)) => (stage, Some(lines.split_once(" … ").unwrap_or((lines, lines)))),
    }
}

/// The lines of a part of a program, which ends before the next line that is indented as little.
fn section(text: &str, start: &str) -> String {
    let Some(from) = text.find(&format!("\n{start}")) else { return String::new() };
    let mut lines = text[from + 1..].lines();
    let first = lines.next().unwrap_or_default();
    let rest = lines.take_while(|l| l.starts_with("   "));
    std::iter::once(first).chain(rest).fold(String::new(), |acc, l| acc + l + "\n")
}

/// All parts of a program that begin alike.
fn sections(text: &str, start: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in text.lines() {
        inside = line.starts_with(start) || inside && line.starts_with("   ");
        if inside {
            out += line;
            out.push('\n');
        }
    }
    out
}

/// The text without the places `pN` that end statements, and filters in them.
fn without_places(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let (mut code, mut closing) = (line, String::new());
        loop {
            let (rest, end) = code.split_at(code.trim_end_matches(')').len());
            match rest.rsplit_once(' ') {
                Some((kept, place)) if is_place(place) => {
                    closing.insert_str(0, end);
                    code = kept;
                }
                _ => break,
            }
        }
        out += code;
        out += &closing;
        out.push('\n');
    }
    out
}

fn is_place(word: &str) -> bool {
    word.strip_prefix('p').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The lines wanted, without the indentation that all of them have.
fn excerpt(text: &str, lines: Option<(&str, &str)>) -> Result<String, Failed> {
    let all: Vec<&str> = text.lines().collect();
    let all = match lines {
        None => &all[..],
        Some((from, to)) => {
            let start = all.iter().position(|l| l.contains(from));
            let start = start.ok_or_else(|| format!("no line has `{from}`:\n{text}"))?;
            let end = all[start..].iter().position(|l| l.contains(to));
            let end = end.ok_or_else(|| format!("no line after `{from}` has `{to}`:\n{text}"))?;
            &all[start..=start + end]
        }
    };
    let margin = all.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    Ok(all.iter().fold(String::new(), |acc, l| acc + &l[margin..] + "\n"))
}

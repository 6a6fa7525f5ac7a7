//! `diagnostics/`: each page's examples give the messages that it shows, and each code has a page.
//!
//! A page is Markdown. Its fenced blocks:
//!
//! - `remora`: a program, checked and then run; the `text` block after it is what is said about it;
//! - `remora NAME.remora`, `toml NAME.tuning`: a file for the commands below;
//! - `console`: lines `$ remc …`, run in a folder with those files and `examples/`, and their output;
//! - `repl`: lines `> …`, typed at the prompt, and what it shows.

use crate::{cache, differs, directives, files, remc, root, stderr, stdout, stem, updating};
use libtest_mimic::{Failed, Trial};
use remc_syntax::token::TokenKind;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Codes of remc's own mistakes, which have no page.
const INTERNAL: [&str; 1] = ["R0999"];

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("pages::every_code_has_a_page", every_code_has_a_page)];
    for path in files("diagnostics", "md") {
        trials.push(Trial::test(format!("pages::{}", stem(&path)), move || page(&path)));
    }
    trials
}

/// The codes that sources declare and the pages are the same set.
fn every_code_has_a_page() -> Result<(), Failed> {
    let mut declared = BTreeSet::new();
    for folder in ["compiler", "tools/remc/src"] {
        let mut todo = vec![root().join(folder)];
        while let Some(path) = todo.pop() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "tests" && name != "target" {
                    todo.extend(std::fs::read_dir(&path)?.filter_map(|f| Some(f.ok()?.path())));
                }
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path)?;
                for at in text.split(": Code = Code(\"").skip(1) {
                    declared.extend(at.split_once('"').map(|(code, _)| code.to_owned()));
                }
                // A crate with many codes lists them in one macro, `NAME = "CODE";`.
                for line in text.split_once("\ncodes! {").map_or("", |(_, list)| list).lines() {
                    let code = line.trim().strip_suffix("\";").and_then(|l| l.split_once(" = \""));
                    declared.extend(code.map(|(_, code)| code.to_owned()));
                }
            }
        }
    }
    for code in INTERNAL {
        declared.remove(code);
    }
    let pages: BTreeSet<String> = files("diagnostics", "md").iter().map(|p| stem(p)).collect();
    let without: Vec<_> = declared.difference(&pages).collect();
    let unknown: Vec<_> = pages.difference(&declared).collect();
    if without.is_empty() && unknown.is_empty() {
        Ok(())
    } else {
        Err(format!("codes without a page: {without:?}; pages of no code: {unknown:?}").into())
    }
}

/// A fenced block: its info string and the lines within.
pub struct Block {
    pub info: String,
    /// Byte range of the content in the page.
    pub content: std::ops::Range<usize>,
}

pub fn blocks(page: &str) -> Result<Vec<Block>, Failed> {
    let mut found = vec![];
    let mut open: Option<(String, usize)> = None;
    let mut at = 0;
    for line in page.split_inclusive('\n') {
        if let Some(info) = line.strip_prefix("```") {
            open = match open {
                None => Some((info.trim().to_owned(), at + line.len())),
                Some((info, start)) => {
                    found.push(Block { info, content: start..at });
                    None
                }
            };
        }
        at += line.len();
    }
    match open {
        None => Ok(found),
        Some(_) => Err("a block is not closed".into()),
    }
}

/// The name of the file that a block is.
pub fn file_name(info: &str) -> Option<&str> {
    info.strip_prefix("remora ").or_else(|| info.strip_prefix("toml "))
}

fn page(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let code = stem(path);
    if !text.starts_with(&format!("# {code}: ")) {
        return Err(format!("the page does not begin with `# {code}: `").into());
    }
    let folder = Folder::new(&code)?;
    let blocks = blocks(&text)?;
    // What each block that is compared should hold.
    let mut found: Vec<(std::ops::Range<usize>, String)> = vec![];
    for (i, block) in blocks.iter().enumerate() {
        let content = &text[block.content.clone()];
        if block.info == "console" {
            found.push((block.content.clone(), console(content, &folder)?));
        } else if let Some(name) = file_name(&block.info) {
            std::fs::write(folder.0.join(name), content)?;
        } else if block.info == "remora"
            && let Some(next) = blocks.get(i + 1).filter(|b| b.info == "text")
        {
            found.push((next.content.clone(), said_about(content)?));
        } else if block.info == "repeat"
            && let Some(next) = blocks.get(i + 1).filter(|b| b.info == "text")
        {
            // A count, then the text to repeat that often: for what no person writes by hand.
            let (count, part) = content.split_once('\n').ok_or("a repeat block is a count and a text")?;
            let said = said_about(&part.repeat(count.trim().parse()?))?;
            let last = said.rfind("\n[").map_or(0, |at| at + 1);
            found.push((next.content.clone(), said[last..].to_string()));
        }
    }
    if !found.iter().any(|(_, said)| said.contains(&code)) {
        return Err(format!("no example of the page gives {code}; its examples give\n{}", all(&found)).into());
    }
    let mut updated = text.clone();
    for (range, said) in found.into_iter().rev() {
        if updating() {
            updated.replace_range(range, &said);
        } else if text[range.clone()] != said {
            return Err(differs("an example's message", &text[range], &said));
        }
    }
    if updated != text {
        std::fs::write(path, updated)?;
    }
    Ok(())
}

fn all(found: &[(std::ops::Range<usize>, String)]) -> String {
    found.iter().map(|(_, said)| said.as_str()).collect()
}

/// The messages about a program: the checker's, else those of running it.
fn said_about(program: &str) -> Result<String, Failed> {
    let feed = |arguments: &[String]| -> Result<_, Failed> {
        let mut child = remc()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(program.as_bytes())?;
        }
        Ok(child.wait_with_output()?)
    };
    let mut output = feed(&["check".into(), "-".into()])?;
    if output.status.success() && output.stderr.is_empty() {
        let mut arguments = vec!["run".to_owned(), "-".to_owned()];
        arguments.extend(directives(program).arguments);
        output = feed(&arguments)?;
    }
    let text = format!("{}{}", stdout(&output), stderr(&output)).replace("<stdin>", "example.remora");
    Ok(without_hint(&text))
}

/// A page needs no hint at itself.
fn without_hint(text: &str) -> String {
    text.split_inclusive('\n').filter(|l| !l.starts_with("for more: remc explain")).collect()
}

/// Runs the commands of a console block and gives the block with what they print.
pub fn console(content: &str, folder: &Folder) -> Result<String, Failed> {
    let mut out = String::new();
    for line in content.lines() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        out.push_str(line);
        out.push('\n');
        let mut path =
            std::ffi::OsString::from(Path::new(env!("CARGO_BIN_EXE_remc")).parent().expect("a folder"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(&folder.0)
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env("REMC_CACHE", cache())
            .stdin(Stdio::null())
            .output()?;
        out.push_str(&without_hint(&stdout(&output)));
    }
    Ok(out)
}

/// Runs what is typed in a block of the prompt, lines `> …` and those that such a form goes on in, and gives the block with
/// what the prompt shows.
pub fn prompt(content: &str, folder: &Folder) -> Result<String, Failed> {
    let (mut typed, mut open) = (String::new(), 0);
    for line in content.lines() {
        let part = match (open > 0, line.strip_prefix("> "), line.strip_prefix("  ")) {
            (false, Some(first), _) => first,
            (true, _, Some(more)) => more,
            _ => continue,
        };
        for token in remc_syntax::tokens(part).tokens {
            match token.kind {
                TokenKind::Open(_) => open += 1,
                TokenKind::Close(_) => open -= 1,
                _ => {}
            }
        }
        typed.push_str(part);
        typed.push('\n');
    }
    let mut child = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {} repl --echo", env!("CARGO_BIN_EXE_remc"))])
        .current_dir(&folder.0)
        .env("NO_COLOR", "1")
        .env("REMC_CACHE", cache())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(typed.as_bytes())?;
    }
    Ok(without_hint(&stdout(&child.wait_with_output()?)))
}

/// A folder of its own for a page's files, with `examples` in it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(code: &str) -> Result<Folder, Failed> {
        let folder = std::env::temp_dir().join(format!("remc-page-{}-{code}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        #[cfg(unix)]
        std::os::unix::fs::symlink(root().join("examples"), folder.join("examples"))?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

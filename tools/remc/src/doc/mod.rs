//! `remc doc`: what names and forms mean.
//!
//! A name of the prelude, or of the user's file, is shown with what the comment above its definition says
//! and with its type ([`remc_driver::doc`]); a form with its section of the book ([`forms`]). Without a
//! name there is an index by groups. [`page`] writes the same as Markdown.

pub mod forms;
pub mod page;

use crate::args::{Doc, DocFormat, Source};
use crate::codes;
use crate::commands::{load, new_session};
use crate::report::{Outcome, Reporter, fail, to_stdout, usage};
use remc_driver::Session;
use remc_driver::doc::{Entry, entries};
use remc_typed::scheme::USES;
use std::path::{Path, PathBuf};

/// The groups of the prelude, in the order of the index.
pub const GROUPS: [&str; 15] = [
    "arithmetic",
    "logic and bits",
    "conversion",
    "shape",
    "parts",
    "reduction",
    "scan",
    "serial",
    "choice and order",
    "segments",
    "linear algebra",
    "statistics",
    "random",
    "text",
    "constants",
];

/// The files of the prelude, primitives first.
const FILES: [&str; 6] = [
    "prelude/scalars.remora",
    "prelude/arrays.remora",
    "prelude/library.remora",
    "prelude/numerics.remora",
    "prelude/text.remora",
    "prelude/decimals.remora",
];

/// The width of a line of text.
const WIDTH: usize = 100;

pub fn doc(args: &Doc, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let (files, names): (Vec<&str>, Vec<&str>) =
        args.names.iter().map(String::as_str).partition(|n| n.ends_with(".remora"));
    let markdown = args.format == DocFormat::Markdown;
    let mut documented: Vec<(String, Vec<Entry>)> = vec![];
    for name in files {
        let source = Source { file: Some(PathBuf::from(name)), expression: None };
        let file = load(&mut session, &source)?;
        reporter.check(&session, &session.diagnostics(file))?;
        let shown = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        documented.push((shown, entries(&session, file)));
    }
    let prelude = prelude(&session);
    if names.is_empty() {
        return to_stdout(&match (documented.as_slice(), markdown) {
            ([], true) => page::prelude(&prelude),
            ([], false) => index(&prelude),
            (files, true) => files.iter().map(|(title, all)| page::file(title, all)).collect(),
            (files, false) => files.iter().map(|(_, all)| text(all)).collect::<Vec<_>>().join("\n"),
        });
    }
    let own: Vec<Entry> = documented.into_iter().flat_map(|(_, all)| all).collect();
    to_stdout(&about(&names, &own, &prelude, markdown)?)
}

/// What names mean.
pub fn about(names: &[&str], own: &[Entry], prelude: &[Entry], markdown: bool) -> Outcome<String> {
    let mut out = vec![];
    for name in names {
        let found = found(name, own, prelude);
        let form = if own.iter().any(|e| e.name == *name) { None } else { forms::section(name) };
        if found.is_empty() && form.is_none() {
            return unknown(name, own, prelude);
        }
        let found: Vec<Entry> = found.into_iter().cloned().collect();
        out.extend(form.map(|f| if markdown { f.to_owned() } else { plain(f) }));
        if !found.is_empty() {
            out.push(if markdown { page::listed(&found) } else { text(&found) });
        }
    }
    Ok(out.join("\n"))
}

/// The prelude's definitions, in the order of the groups and within each as they are written.
pub fn prelude(session: &Session) -> Vec<Entry> {
    let mut all: Vec<Entry> = vec![];
    for path in FILES {
        let file = session.prelude().iter().find(|f| f.path(&session.db) == path);
        all.extend(file.map(|f| entries(session, *f)).unwrap_or_default());
    }
    all.sort_by_key(|e| GROUPS.iter().position(|g| *g == e.heading.group));
    all
}

/// What a name means, all of its uses.
fn found<'e>(name: &str, own: &'e [Entry], prelude: &'e [Entry]) -> Vec<&'e Entry> {
    let mine: Vec<&Entry> = own.iter().filter(|e| e.name == name).collect();
    if !mine.is_empty() {
        return mine;
    }
    let others = other_uses(name);
    let is_use = |e: &&Entry| e.name == name || others.contains(&e.name.as_str());
    prelude.iter().filter(is_use).collect()
}

/// The definitions that a name of the prelude stands for beside its own.
pub fn other_uses(name: &str) -> &'static [&'static str] {
    USES.iter().find(|(base, _)| *base == name).map_or(&[], |(_, uses)| uses)
}

/// The name under which a definition is listed.
pub fn listed_as(name: &str) -> &str {
    USES.iter().find(|(_, uses)| uses.contains(&name)).map_or(name, |(base, _)| base)
}

fn unknown<T>(name: &str, own: &[Entry], prelude: &[Entry]) -> Outcome<T> {
    let mut all: Vec<&str> = own.iter().chain(prelude).map(|e| e.name.as_str()).collect();
    forms::names().for_each(|n| all.push(n));
    let mut near: Vec<&str> = match name.chars().count() {
        0..3 => vec![],
        _ => all.iter().copied().filter(|n| n.contains(name)).collect(),
    };
    if near.is_empty() {
        near = all.into_iter().filter(|n| remc_typed::near(n, name)).collect();
    }
    near.dedup();
    near.truncate(8);
    let d = usage(codes::UNKNOWN_TOPIC, format!("nothing is called `{name}` in the prelude or the language"));
    fail(if crate::explain::is_code(name) {
        d.help(format!("it is the code of a message: `remc explain {name}`"))
    } else if let Some(hint) = remc_typed::elsewhere(name) {
        d.help(hint)
    } else if near.is_empty() {
        d.help("`remc doc` without a name lists them all")
    } else {
        let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
        d.help(format!("did you mean {}?", near.join(", ")))
    })
}

/// Names by group, then the forms.
pub fn index(prelude: &[Entry]) -> String {
    let mut out = String::from("`remc doc NAME` says what a name or form means.\n\n");
    let width = GROUPS.iter().map(|g| g.len()).max().unwrap_or(0) + 2;
    let mut row = |head: &str, names: &[&str]| {
        let lines = wrapped(&names.join(" "), WIDTH - width);
        for (k, line) in lines.iter().enumerate() {
            let head = if k == 0 { head } else { "" };
            out.push_str(format!("{head:width$}{line}").trim_end());
            out.push('\n');
        }
    };
    for group in GROUPS {
        row(group, &grouped(prelude, group));
    }
    row("", &[]);
    row("forms", &forms::names().collect::<Vec<_>>());
    out
}

/// The names of a group, each once.
pub fn grouped<'e>(all: &'e [Entry], group: &str) -> Vec<&'e str> {
    all.iter()
        .filter(|e| e.heading.group == group && listed_as(&e.name) == e.name)
        .map(|e| e.name.as_str())
        .collect()
}

/// Entries for a terminal.
fn text(all: &[Entry]) -> String {
    all.iter().map(entry).collect::<Vec<_>>().join("\n")
}

fn entry(e: &Entry) -> String {
    let mut out = format!("{}\n", e.usage);
    let mut line = |indent: usize, text: &str| {
        out.push_str(format!("{:indent$}{text}", "").trim_end());
        out.push('\n');
    };
    for paragraph in &e.paragraphs {
        wrapped(paragraph, WIDTH - 4).iter().for_each(|l| line(4, l));
        line(0, "");
    }
    for example in &e.examples {
        line(4, &example.source);
        line(6, &outcome(&example.value));
    }
    if !e.examples.is_empty() {
        line(0, "");
    }
    let mut types = e.ty.lines();
    line(4, &format!("type      {}", types.next().unwrap_or_default()));
    types.for_each(|l| line(14, l));
    if let Some(instance) = &e.instance {
        line(4, &format!("explicit  {instance}"));
    }
    out
}

/// What an example gives: `⇒ 3`, or the error that it causes.
fn outcome(value: &str) -> String {
    match value.strip_prefix("error ") {
        Some(code) if code.starts_with('R') => format!("stops the program: remc explain {code}"),
        Some(code) => format!("is refused: remc explain {code}"),
        None => format!("⇒ {value}"),
    }
}

/// A section of Markdown for a terminal: its programs indented, without the fences around them.
fn plain(section: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in section.trim_end().lines() {
        if line.starts_with("```") {
            code = !code;
            continue;
        }
        let line = line.trim_start_matches("## ");
        out.push_str(if code && !line.is_empty() { "    " } else { "" });
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Text in lines of at most `width` characters, as far as its words allow.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(last) = lines.last_mut()
            && (last.is_empty() || last.chars().count() + 1 + word.chars().count() <= width)
        {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

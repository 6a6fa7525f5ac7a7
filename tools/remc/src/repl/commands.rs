//! What begins with a colon.

use super::desk::{Candidate, Desk};
use super::prompt::{Next, Prompt};
use super::request::What;
use super::workspace::{Kind, Origin, Piece, pieces};
use crate::args::{Device, Ir, PlotKind};
use crate::codes;
use crate::commands::{cannot_write, may_write};
use crate::doc;
use crate::report::{Outcome, fail, to_stderr, to_stdout, usage};
use clap::ValueEnum;
use remc_base::{AtomTy, Diagnostic, Span, visible};
use remc_driver::names::DefKind;
use remc_driver::queries::check;
use remc_driver::session;
use remc_ide::types::parameters;
use remc_runtime::files::{self, Protected};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A command, what is written behind it, and what it does.
pub struct Command {
    pub name: &'static str,
    pub takes: &'static str,
    pub does: &'static str,
    run: fn(&mut Prompt, &str) -> Outcome<Next>,
}

pub const COMMANDS: [Command; 17] = [
    Command { name: "type", takes: "[EXPR]", does: "the type of an expression or a name", run: of_type },
    Command { name: "shape", takes: "[EXPR]", does: "its shape", run: of_shape },
    Command { name: "doc", takes: "[NAME …]", does: "what names and forms mean", run: of_doc },
    Command { name: "time", takes: "[EXPR]", does: "its value, and how long that takes", run: of_time },
    Command {
        name: "perf",
        takes: "[EXPR]",
        does: "what it costs: kernels, bytes, operations",
        run: of_perf,
    },
    Command {
        name: "ir",
        takes: "STAGE [EXPR]",
        does: "what a stage of the compiler makes of it",
        run: of_ir,
    },
    Command {
        name: "plot",
        takes: "[KIND] [FILE] [EXPR]",
        does: "its picture: here, or an .svg or .png",
        run: of_plot,
    },
    Command {
        name: "run",
        takes: "[ENTRY] NAME=VALUE …",
        does: "what an entry gives for data or files",
        run,
    },
    Command { name: "load", takes: "[FILE]", does: "the definitions of a program; or those anew", run: load },
    Command { name: "save", takes: "FILE", does: "writes what is defined as a program", run: save },
    Command { name: "list", takes: "", does: "what is defined, with types", run: list },
    Command { name: "forget", takes: "NAME …", does: "takes definitions back", run: forget },
    Command { name: "clear", takes: "", does: "takes all of them back", run: clear },
    Command { name: "device", takes: "[NAME]", does: "what computes: cpu, cuda or interp", run: device },
    Command { name: "help", takes: "[COMMAND]", does: "this list", run: help },
    Command { name: "quit", takes: "", does: "ends the prompt, as Ctrl-D does", run: |_, _| Ok(Next::Quit) },
    Command { name: "exit", takes: "", does: "the same", run: |_, _| Ok(Next::Quit) },
];

impl Prompt {
    /// A command without its colon; a beginning of its name is enough where no other begins so.
    pub fn command(&mut self, text: &str) -> Outcome<Next> {
        let (name, rest) = word(text);
        let found: Vec<&Command> = COMMANDS.iter().filter(|c| c.name.starts_with(name)).collect();
        let exact = found.iter().find(|c| c.name == name);
        match (exact, found.as_slice()) {
            (Some(command), _) | (None, [command]) => (command.run)(self, rest),
            _ if name.is_empty() || found.len() == COMMANDS.len() => {
                fail(usage(codes::PROMPT, "a command has a name behind its colon").help("`:help` lists them"))
            }
            (None, []) => {
                let near = COMMANDS.iter().map(|c| c.name).find(|c| remc_typed::near(c, name));
                let d = usage(codes::PROMPT, format!("there is no command `:{}`", visible(name)));
                fail(match near {
                    Some(near) => d.help(format!("did you mean `:{near}`?")),
                    None => d.help("`:help` lists them"),
                })
            }
            (None, several) => {
                let names: Vec<String> = several.iter().map(|c| format!("`:{}`", c.name)).collect();
                fail(usage(codes::PROMPT, format!("`:{}` may be {}", visible(name), names.join(" or "))))
            }
        }
    }
}

/// What is said of new input. An unknown name that is a command's, by itself or first in a form, was meant as that.
pub fn found(desk: &Desk, candidate: &Candidate) -> Vec<Diagnostic<Span>> {
    let (ranges, text) = (candidate.workspace.ranges(), candidate.workspace.text());
    let with_command = |d: &Diagnostic<Span>| {
        let mut d = d.clone();
        let place = d.labels.iter().find(|l| l.primary && l.loc.module == desk.module()).map(|l| l.loc);
        let Some(place) = place.filter(|_| d.code == remc_typed::codes::UNKNOWN_NAME) else { return d };
        let at = place.start as usize..place.end as usize;
        let form = ranges.iter().position(|r| r.contains(&at.start)).map(|k| &candidate.workspace.pieces[k]);
        let (Some(form), Some(name)) = (form.map(|p| p.text.trim()), text.get(at)) else { return d };
        let Some(command) = COMMANDS.iter().find(|c| c.name == name) else { return d };
        if form.strip_suffix("()").unwrap_or(form) == name {
            d.help.clear();
            d.fixes.clear();
        } else if command.takes.is_empty() || form.strip_prefix('(').is_none_or(|f| word(f).0 != name) {
            return d;
        }
        let written = format!(":{name} {}", command.takes);
        d.help(format!("a command begins with a colon: `{}`", written.trim_end()))
    };
    candidate.found.iter().map(with_command).collect()
}

/// The first word of a text, and the rest.
pub fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

fn of_type(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    // Of a name, what holds for all of its uses.
    if let Some(line) = prompt.named(text)? {
        return to_stdout(&format!("{}\n", line.said)).map(|()| Next::More);
    }
    let candidate = prompt.about("type", text)?;
    prompt.function(0, &candidate)?;
    let ty = {
        let desk = prompt.desk();
        desk.new_defs(&candidate).first().and_then(|d| desk.described(*d))
    };
    to_stdout(&format!("{}\n", ty.unwrap_or_default())).map(|()| Next::More)
}

fn of_shape(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let candidate = prompt.about("shape", text)?;
    prompt.function(0, &candidate)?;
    let known = {
        let desk = prompt.desk();
        let db = &desk.session.db;
        let definition = desk.new_defs(&candidate).first().and_then(|d| check(db, *d).definition.clone());
        let Some(definition) = definition else { return Ok(Next::More) };
        if parameters(&definition.ty).is_some() {
            return fail(
                usage(codes::PROMPT, "a function has no shape before it is applied")
                    .help("`:type` shows the shapes that it takes and gives"),
            );
        }
        match &definition.ty.atom {
            AtomTy::Base(_) => definition.ty.shape.sizes(),
            _ => None,
        }
    };
    match known {
        Some(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            to_stdout(&format!("[{}]\n", sizes.join(" ")))?;
        }
        None => prompt.compute(&candidate, What::Shape { nth: 0 }, prompt.run_options())?,
    }
    Ok(Next::More)
}

fn of_doc(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let own = prompt.desk().documented();
    let prelude = doc::prelude(&prompt.desk().session);
    let names: Vec<&str> = text.split_whitespace().collect();
    if names.is_empty() {
        return to_stdout(&doc::index(&prelude).replace("`remc doc NAME`", "`:doc NAME`"))
            .map(|()| Next::More);
    }
    to_stdout(&doc::about(&names, &own, &prelude, false)?).map(|()| Next::More)
}

fn of_time(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let candidate = prompt.about("time", text)?;
    if let Some(ty) = prompt.function(0, &candidate)? {
        return fail(usage(codes::PROMPT, format!("a function takes no time before it is applied: {ty}")));
    }
    prompt.compute(&candidate, What::Time { nth: 0 }, prompt.run_options()).map(|()| Next::More)
}

fn of_perf(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    of_code(prompt, "perf", What::Perf, Vec::new(), text)
}

fn of_ir(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    // What is no text is not shown.
    let stages: Vec<Ir> = Ir::value_variants().iter().copied().filter(|ir| *ir != Ir::Object).collect();
    let name = |ir: &Ir| ir.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let (stage, rest) = split_options(text);
    let (stage, rest) = match word(rest) {
        (word, rest) if stages.iter().any(|ir| name(ir) == word) => {
            (vec![format!("--emit={word}"), stage.join(" ")], rest)
        }
        (word, _) => {
            let all: Vec<String> = stages.iter().map(|ir| format!("`{}`", name(ir))).collect();
            let said = if word.is_empty() {
                "`:ir` is about a stage".to_owned()
            } else {
                format!("`{}` is no stage", visible(word))
            };
            return fail(usage(codes::PROMPT, said).help(format!("the stages are {}", all.join(", "))));
        }
    };
    let stage = stage.into_iter().filter(|s| !s.is_empty()).collect();
    of_code(prompt, "ir", What::Ir, stage, rest)
}

/// What is compiled: the last expression, or an entry by its name. Options of the command line may stand first.
fn of_code(
    prompt: &mut Prompt,
    command: &str,
    what: What,
    mut options: Vec<String>,
    text: &str,
) -> Outcome<Next> {
    let (more, text) = split_options(text);
    options.extend(more);
    let is_entry = {
        let mut desk = prompt.desk();
        let entries = desk.documented();
        entries.iter().any(|e| e.name == text.trim() && e.kind == DefKind::Entry)
    };
    let candidate = if is_entry {
        options.push(format!("--entry={}", text.trim()));
        prompt.desk().checked(Vec::new())
    } else {
        let candidate = prompt.about(command, text)?;
        if let Some(ty) = prompt.function(0, &candidate)? {
            return fail(
                usage(codes::PROMPT, format!("a function is compiled where it is applied: {ty}"))
                    .help("apply it, or define an `entry` and name that"),
            );
        }
        candidate
    };
    prompt.compute(&candidate, what, options).map(|()| Next::More)
}

/// The options of the command line that a text begins with.
fn split_options(text: &str) -> (Vec<String>, &str) {
    let (mut options, mut text) = (Vec::new(), text.trim());
    while text.starts_with("--") {
        let (option, rest) = word(text);
        options.push(option.to_owned());
        text = rest;
    }
    (options, text)
}

fn of_plot(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let (mut kind, mut to, mut rest) = (None, None, text.trim());
    loop {
        let (first, behind) = word(rest);
        let is_kind = PlotKind::from_str(first, false).is_ok();
        // A name that is defined here is that, where it stands alone.
        let is_name = behind.is_empty() && prompt.desk().workspace.defines(first);
        let is_file = [".svg", ".png"].iter().any(|e| first.to_ascii_lowercase().ends_with(e));
        match () {
            () if is_kind && kind.is_none() && !is_name => kind = Some(first.to_owned()),
            () if is_file && to.is_none() && !first.starts_with(['(', '[', '"']) => {
                to = Some(first.to_owned())
            }
            () => break,
        }
        rest = behind;
    }
    let candidate = prompt.about("plot", rest)?;
    if let Some(ty) = prompt.function(0, &candidate)? {
        return fail(usage(codes::PLOT, format!("a function has no picture before it is applied: {ty}")));
    }
    let title: Vec<&str> = prompt.last.as_deref().unwrap_or_default().split_whitespace().collect();
    let title = visible(&title.join(" ")).into_owned();
    let said = to.clone();
    prompt.compute(&candidate, What::Plot { nth: 0, kind, to, title }, prompt.run_options())?;
    if let Some(to) = said {
        to_stderr(&format!("{}\n", visible(&to)));
    }
    Ok(Next::More)
}

/// An entry is called as `remc run` does it: with literals, or with files of data.
fn run(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let mut words = inputs(text);
    let named = words.first().is_some_and(|w| !w.contains('='));
    let entry = if named { Some(words.remove(0)) } else { None };
    let entries: Vec<String> = {
        let all = prompt.desk().documented();
        all.into_iter().filter(|e| e.kind == DefKind::Entry).map(|e| e.name).collect()
    };
    let listed: Vec<String> = entries.iter().map(|e| format!("`{e}`")).collect();
    let entry = match (entry, entries.as_slice()) {
        (_, []) => {
            return fail(
                usage(codes::PROMPT, "no entry is defined here that could be run with data")
                    .help("`(entry (main [xs [float n]]) (sum xs))` is one; then `:run xs=FILE`"),
            );
        }
        (Some(name), all) if all.contains(&name) => name,
        (Some(name), _) => {
            return fail(
                usage(codes::PROMPT, format!("there is no entry `{}`", visible(&name)))
                    .help(format!("the entries are {}", listed.join(", "))),
            );
        }
        (None, [one]) => one.clone(),
        (None, _) => {
            return fail(
                usage(codes::PROMPT, "there are several entries")
                    .help(format!("name one behind `:run`: {}", listed.join(", "))),
            );
        }
    };
    let mut options = prompt.run_options();
    options.push(format!("--entry={entry}"));
    options.extend(words.into_iter().map(|w| format!("--input={w}")));
    let candidate = prompt.desk().checked(Vec::new());
    prompt.compute(&candidate, What::Run, options).map(|()| Next::More)
}

/// Words, of which one goes on while its brackets or its quotes are open.
fn inputs(text: &str) -> Vec<String> {
    let (mut words, mut depth, mut quoted) = (vec![String::new()], 0i64, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        match words.last_mut() {
            Some(word) if !c.is_whitespace() || quoted || depth > 0 => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

fn load(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let path = match (text.trim(), &prompt.loaded) {
        ("", Some(path)) => path.clone(),
        ("", None) => return fail(usage(codes::PROMPT, "no file was named: `:load FILE`")),
        (path, _) => file_of(path),
    };
    prompt.load(&path).map(|()| Next::More)
}

impl Prompt {
    /// Takes over the definitions of a file; they replace those of the same names, and those of that file that there were.
    pub fn load(&mut self, path: &Path) -> Outcome {
        let shown = path.display().to_string();
        let text = session::read(path).or_else(|e| {
            fail(usage(codes::UNREADABLE, format!("cannot read `{}`: {}", visible(&shown), e.reason())))
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let origin = Arc::new(Origin { shown: shown.clone(), text, folder });
        let (expressions, new): (Vec<Piece>, Vec<Piece>) =
            pieces(&origin).into_iter().partition(|p| p.kind == Kind::Expression);
        let count = new.len();
        let candidate = {
            let mut desk = self.desk();
            let mut workspace = desk.workspace.clone();
            workspace.pieces.retain(|p| p.origin.shown != shown);
            desk.look_at(workspace.with(new), count)
        };
        self.show_found(&candidate)?;
        // The names, and not the types: there may be many.
        let names: Vec<String> =
            candidate.new_pieces().iter().filter_map(|p| p.kind.name().map(ToString::to_string)).collect();
        let worse = self.desk().accept(&candidate);
        self.loaded = Some(path.to_owned());
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut said = format!("{}: {}", visible(&shown), plural(names.len(), "definition"));
        if !names.is_empty() {
            let some: Vec<String> = names.iter().take(8).map(|n| visible(n).into_owned()).collect();
            let more = if names.len() > some.len() { ", …" } else { "" };
            said.push_str(&format!(" ({}{more})", some.join(", ")));
        }
        if !expressions.is_empty() {
            let are = if expressions.len() == 1 { "is" } else { "are" };
            said.push_str(&format!("; {} {are} not run", plural(expressions.len(), "expression")));
        }
        for name in worse {
            said.push_str(&format!(
                "\n`{}` does not check with that any more: `:type {0}` says why",
                visible(&name)
            ));
        }
        to_stderr(&format!("{said}\n"));
        Ok(())
    }
}

fn save(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    if text.trim().is_empty() {
        return fail(usage(codes::PROMPT, "no file was named: `:save FILE`"));
    }
    let path = file_of(text.trim());
    let shown = visible(&path.display().to_string()).into_owned();
    let (program, count) = {
        let desk = prompt.desk();
        let folder = path.parent().unwrap_or(Path::new(""));
        (desk.workspace.program(folder), desk.workspace.pieces.len())
    };
    if count == 0 {
        return fail(usage(codes::PROMPT, "nothing is defined here that could be saved"));
    }
    if path.exists() && !prompt.saved.contains(&path) {
        return fail(
            usage(codes::OUTPUT, format!("`{shown}` is there already"))
                .help("nothing of it was changed: choose another name, or remove it first"),
        );
    }
    may_write(&path, &Protected::default())?;
    files::write_atomically(&path, |out| out.write_all(program.as_bytes()))
        .map_err(|e| cannot_write(&path, &e))?;
    prompt.saved.push(path);
    to_stderr(&format!("{shown}: {count} definition{}\n", if count == 1 { "" } else { "s" }));
    Ok(Next::More)
}

/// A file's name; quotes around it are none of it.
fn file_of(text: &str) -> PathBuf {
    let inside = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    match (inside.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(inside),
    }
}

fn list(prompt: &mut Prompt, _: &str) -> Outcome<Next> {
    let candidate = prompt.desk().checked(Vec::new());
    let desk = prompt.desk();
    let mut out = String::new();
    for piece in &candidate.workspace.pieces {
        if let Kind::Import(path) = &piece.kind {
            out.push_str(&format!("(import \"{}\")\n", visible(&path.display().to_string())));
        }
    }
    for def in desk.session.defs(desk.program) {
        let name = def.name(&desk.session.db);
        match def.kind(&desk.session.db) {
            DefKind::Import | DefKind::Error | DefKind::Expr => {}
            _ => match desk.described(*def) {
                Some(line) => out.push_str(&format!("{line}\n")),
                None => out.push_str(&format!("{name} does not check: `:type {name}` says why\n")),
            },
        }
    }
    if out.is_empty() {
        to_stderr("nothing is defined here\n");
    }
    to_stdout(&out).map(|()| Next::More)
}

fn forget(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let names: Vec<&str> = text.split_whitespace().collect();
    if names.is_empty() {
        return fail(usage(codes::PROMPT, "no name was given: `:forget NAME`").help("`:clear` forgets all"));
    }
    let mut workspace = prompt.desk().workspace.clone();
    for name in names {
        let before = workspace.pieces.len();
        workspace = workspace.without(name.trim_matches('"'));
        if workspace.pieces.len() == before {
            return fail(
                usage(codes::PROMPT, format!("nothing is called `{}` here", visible(name)))
                    .help("`:list` shows what is defined"),
            );
        }
    }
    let candidate = prompt.desk().look_at(workspace, 0);
    prompt.define(&candidate);
    Ok(Next::More)
}

fn clear(prompt: &mut Prompt, _: &str) -> Outcome<Next> {
    let candidate = prompt.desk().look_at(super::workspace::Workspace::default(), 0);
    prompt.define(&candidate);
    prompt.loaded = None;
    Ok(Next::More)
}

fn device(prompt: &mut Prompt, text: &str) -> Outcome<Next> {
    let name = |d: Device| d.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    match text.trim() {
        "" => to_stdout(&match prompt.device {
            Some(device) => format!("{}\n", name(device)),
            None => "cpu, and the interpreter for what is not compiled\n".to_owned(),
        })?,
        text => match Device::from_str(text, false) {
            Ok(device) => prompt.device = Some(device),
            Err(_) => {
                return fail(
                    usage(codes::PROMPT, format!("there is no device `{}`", visible(text)))
                        .help("the devices are `cpu`, `cuda` and `interp`"),
                );
            }
        },
    }
    Ok(Next::More)
}

fn help(_: &mut Prompt, text: &str) -> Outcome<Next> {
    let wanted = text.trim().trim_start_matches(':');
    if !wanted.is_empty() && !COMMANDS.iter().any(|c| c.name.starts_with(wanted)) {
        return fail(
            usage(codes::PROMPT, format!("there is no command `:{}`", visible(wanted)))
                .help("`:doc NAME` says what a function or form means"),
        );
    }
    let mut out = String::new();
    if wanted.is_empty() {
        out.push_str("An expression shows its value; a definition stays, in place of one of its name.\n\n");
    }
    for command in COMMANDS.iter().filter(|c| c.name.starts_with(wanted)) {
        let head = format!(":{} {}", command.name, command.takes);
        out.push_str(&format!("{:<27} {}\n", head.trim_end(), command.does));
    }
    if wanted.is_empty() {
        out.push_str(
            "\nWithout EXPR, a command is about the last expression. KIND is line, bars, scatter,\nheat, image or \
             histogram; STAGE is typed, explicit, mono, flat, kernel, llvm, asm,\ncuda or futhark. The beginning of a \
             command's name is enough.\n\nTab completes, Ctrl-R looks through what was typed before, Ctrl-C ends a \
             run.\n",
        );
    }
    to_stdout(&out).map(|()| Next::More)
}

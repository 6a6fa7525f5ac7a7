//! The inputs of an entry: files and literals read against the types that it wants.

use crate::codes;
use crate::exhausted::{Doing, during};
use crate::progress::Progress;
use crate::report::{Outcome, fail, usage};
use remc_base::value::{BoxValue, Data};
use remc_base::{ArrTy, AtomTy, BaseTy, Diagnostic, IndexValue, Name, Span, Value, visible};
use remc_driver::render::{self, Sources, Style};
use remc_runtime::budget::Budget;
use remc_runtime::data::source::Meter;
use remc_runtime::data::stream::Opened;
use remc_runtime::data::{self, DataError, Help, Place};
use remc_runtime::literal::{self, LiteralError};
use remc_runtime::stream::items::{Items, append};
use remc_runtime::stream::{self, Piece};
use remc_typed::ir::EntrySignature;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

/// The entry's arguments, in the order of its parameters, in memory of the budget.
pub fn read_all(
    entry: &Name,
    sig: &EntrySignature,
    inputs: &[(String, String)],
    budget: &Budget,
) -> Outcome<Vec<Value>> {
    // A folder is read as a stream is.
    let mut folders = sig.clone();
    folders.streams.retain(|k| {
        let own = inputs.iter().find(|(name, _)| sig.params[*k].0.as_str() == name);
        own.and_then(|(_, value)| Place::of(value)).is_some_and(|place| place.path.is_dir())
    });
    let opened = open_all(entry, &folders, inputs, budget)?;
    collected(sig, opened, budget)
}

/// That no two inputs are one pipe, nor one the program's own: what is read from it once is gone.
pub fn pipes_apart(inputs: &[(String, String)], program: Option<&Path>) -> Outcome<()> {
    let pipe = |place: &Path| {
        let m = std::fs::metadata(place).ok()?;
        (m.file_type().is_fifo() || m.file_type().is_socket()).then(|| (m.dev(), m.ino()))
    };
    let mut seen: Vec<((u64, u64), String)> = Vec::new();
    let stdin = |path: &Path| if path.as_os_str() == "-" { "/dev/stdin".into() } else { path.to_owned() };
    seen.extend(program.and_then(|p| pipe(&stdin(p))).map(|id| (id, "the program".to_owned())));
    for (name, value) in inputs {
        let Some(id) = Place::of(value).and_then(|p| pipe(&p.path)) else { continue };
        if let Some((_, other)) = seen.iter().find(|(seen, _)| *seen == id) {
            let d = usage(codes::BAD_DATA_FILE, format!("the input `{name}` is the same pipe as {other}"));
            return fail(d.help("a pipe is read once: write what comes out of it to a file, and give that"));
        }
        seen.push((id, format!("the input `{name}`")));
    }
    Ok(())
}

/// Streams whose items are read as they are wanted, by the numbers of their parameters.
pub type Streams = Vec<(usize, Box<dyn Items>)>;

/// The same, but for streams, which are opened: the arguments of those that are read as they are wanted have no items.
pub fn open_all(
    entry: &Name,
    sig: &EntrySignature,
    inputs: &[(String, String)],
    budget: &Budget,
) -> Outcome<(Vec<Value>, Streams)> {
    let names: Vec<&str> = sig.params.iter().map(|(name, _)| name.as_str()).collect();
    for (i, (name, _)) in inputs.iter().enumerate() {
        if inputs[..i].iter().any(|(earlier, _)| earlier == name) {
            return fail(usage(codes::SUPERFLUOUS_INPUT, format!("the input `{name}` is given twice")));
        }
        if !names.contains(&name.as_str()) {
            let d = usage(codes::SUPERFLUOUS_INPUT, format!("`{entry}` has no parameter `{name}`"));
            return fail(d.help(parameters(sig)));
        }
    }
    let missing: Vec<String> = sig
        .params
        .iter()
        .filter(|(name, _)| inputs.iter().all(|(given, _)| given != name.as_str()))
        .map(|(name, ty)| format!("`{name}`, of type {ty}"))
        .collect();
    if !missing.is_empty() {
        let plural = if missing.len() == 1 { "" } else { "s" };
        let d = usage(
            codes::MISSING_INPUT,
            format!("`{entry}` needs the input{plural} {}", missing.join(" and ")),
        );
        return fail(d.help("give each as `--input NAME=VALUE`, a data file or a literal"));
    }
    let mut streams = Vec::new();
    let mut values = Vec::with_capacity(sig.params.len());
    for (k, (name, ty)) in sig.params.iter().enumerate() {
        let Some((_, value)) = inputs.iter().find(|(given, _)| given == name.as_str()) else {
            return fail(usage(codes::MISSING_INPUT, format!("`{entry}` needs the input `{name}`")));
        };
        let _during = during(Doing::Reading(name.to_string()), Some(budget.left()));
        if sig.streams.contains(&k) {
            match open(name, ty, value, budget)? {
                Opened::Items(items, none) => {
                    streams.push((k, items));
                    values.push(none);
                }
                Opened::Value(value) => values.push(value),
            }
        } else {
            values.push(read(name, ty, value, budget)?);
        }
    }
    Ok((values, streams))
}

/// The arguments with all items of the streams that were opened.
pub fn collected(
    sig: &EntrySignature,
    (mut arguments, streams): (Vec<Value>, Streams),
    budget: &Budget,
) -> Outcome<Vec<Value>> {
    for (k, items) in streams {
        let name = &sig.params[k].0;
        let _during = during(Doing::Reading(name.to_string()), Some(budget.left()));
        match all_of(items, &arguments[k].atom, budget) {
            Ok(whole) => arguments[k] = whole,
            Err(why) => return fail(usage(codes::BAD_DATA_FILE, format!("the stream `{name}`: {why}"))),
        }
    }
    Ok(arguments)
}

/// What a box of characters takes beside them.
const BOX: u64 = size_of::<BoxValue>() as u64 + 48;

/// All items of a stream as an array of these atoms, in memory of the budget.
fn all_of(mut items: Box<dyn Items>, atom: &AtomTy, budget: &Budget) -> Result<Value, String> {
    let layout = items.layout().to_vec();
    let mut all = Piece { count: 0, arrays: vec![Vec::new(); layout.len()] };
    let mut room = budget.room();
    loop {
        let piece = items.read(1 << 16, Piece::default())?;
        if piece.count == 0 {
            break;
        }
        for (bytes, more) in all.arrays.iter_mut().zip(&piece.arrays) {
            room.grow(bytes, more.len()).map_err(|e| format!("there is no memory for it: {e}"))?;
        }
        append(&layout, &mut all, piece);
    }
    let array = |k: usize| {
        let (l, bytes) = (&layout[k], &all.arrays[k]);
        // Of any number for each item, or so many.
        let count = match l.starts {
            Some(_) => bytes.len().checked_div(l.bytes()).unwrap_or(0),
            None => all.count,
        };
        let shape: Vec<usize> = std::iter::once(count).chain(l.item.iter().copied()).collect();
        stream::value(l.base, &shape, bytes).ok_or("its items are no array")
    };
    let whole = match atom {
        AtomTy::Tuple(ty) => {
            let part = |(k, (label, _)): (usize, &(Option<Name>, ArrTy))| Ok((label.clone(), array(k)?));
            let parts = ty.fields.iter().enumerate().map(part).collect::<Result<Vec<_>, String>>()?;
            remc_mono::output::tuples(vec![all.count], &parts)?
        }
        // Texts: how long they are, where they begin, and their characters.
        AtomTy::Sigma(_) => {
            let (Data::I64(lengths), Data::Char(text)) = (array(0)?.data, array(2)?.data) else {
                return Err("its items are no texts".into());
            };
            let bytes = lengths.len() as u64 * BOX + 4 * text.len() as u64;
            room.take(bytes).map_err(|e| format!("there is no memory for it: {e}"))?;
            let mut rest = text.as_slice();
            let of = |n: &i64| {
                let (own, behind) = rest.split_at_checked(*n as usize).ok_or("a text is not there")?;
                rest = behind;
                let value =
                    Value { atom: AtomTy::CHAR, shape: vec![own.len()], data: Data::Char(own.to_vec()) };
                Ok(Arc::new(BoxValue { indices: vec![IndexValue::Dim(*n)], value }))
            };
            let boxes = lengths.iter().map(of).collect::<Result<Vec<_>, String>>()?;
            Value { atom: atom.clone(), shape: vec![all.count], data: Data::Box(boxes) }
        }
        _ => array(0)?,
    };
    room.keep();
    Ok(whole)
}

/// A stream: a file or pipe whose items are read as they are wanted, or a literal.
fn open(name: &Name, ty: &ArrTy, value: &str, budget: &Budget) -> Outcome<Opened> {
    let meter = Arc::new(Meter::default());
    match Place::of(value) {
        Some(place) if literal::read(value, ty).is_err() => {
            let path = visible(&place.path.display().to_string()).into_owned();
            let opened = data::stream::open(&place, name.as_str(), ty, &meter, budget);
            opened.or_else(|e| fail(wrong_file(name, ty, &place, &path, e)))
        }
        _ => Ok(Opened::Value(read(name, ty, value, budget)?)),
    }
}

fn parameters(sig: &EntrySignature) -> String {
    if sig.params.is_empty() {
        return "it takes no inputs".into();
    }
    let all: Vec<String> = sig.params.iter().map(|(name, ty)| format!("`{name}`, of type {ty}")).collect();
    format!("its parameters are {}", all.join("; "))
}

const FORMATS: &str = "remc reads .npy, .npz, Arrow's files (.arrow, .feather, .arrows), .csv, .tsv, .txt, .json, .rd (a \
                       Remora literal) and Futhark's binary data (.fut.bin, .in, .data)";
const LITERAL_OR_FILE: &str = "an input is a literal, such as `[1.5 2]`, or the path of a data file";

fn read(name: &Name, ty: &ArrTy, value: &str, budget: &Budget) -> Outcome<Value> {
    let e = match literal::read(value, ty) {
        Ok(v) => return Ok(v),
        Err(LiteralError::Mismatch(found)) => return fail(mismatch(name, ty, &found)),
        Err(e) => e,
    };
    if let Some(place) = Place::of(value) {
        return file(name, ty, &place, budget);
    }
    // Objects, and lists of them, are JSON.
    if value.trim_start().trim_start_matches('[').trim_start().starts_with('{') {
        return data::of_json(value, ty).or_else(|e| fail(wrong_json(name, ty, value, e)));
    }
    if let Some(path) = Place::missing(value) {
        let path = &*visible(path);
        let d = unreadable(name, path, "there is no such file");
        return fail(match path.strip_prefix("~/") {
            Some(rest) => d.help(format!("the shell leaves `~` as it is here: write `$HOME/{rest}`")),
            None => d,
        });
    }
    match e {
        LiteralError::NotALiteral(found) => fail(
            usage(codes::BAD_LITERAL, format!("the input `{name}` is no literal: found {found}"))
                .note(format!("`{}` is no file either; {name} is of type {ty}", shorten(value)))
                .help(match &ty.atom {
                    AtomTy::Base(BaseTy::Char) => {
                        format!("a text stands in double quotes: --input '{name}=\"{}\"'", shorten(value))
                    }
                    _ => LITERAL_OR_FILE.to_owned(),
                }),
        ),
        LiteralError::Syntax(errors) => {
            let d = usage(codes::BAD_LITERAL, format!("the input `{name}` does not read as a literal"));
            fail(notes(d, "input", value, &errors).help(LITERAL_OR_FILE))
        }
        LiteralError::Mismatch(found) => fail(mismatch(name, ty, &found)),
    }
}

/// Why a text in JSON is no value for a parameter.
fn wrong_json(name: &Name, ty: &ArrTy, value: &str, e: DataError) -> Diagnostic<Span> {
    match e {
        DataError::Unreadable(why) => {
            usage(codes::BAD_LITERAL, format!("the input `{name}` does not read: {why}"))
                .note(format!("`{}` begins as an object of JSON does", shorten(value)))
                .help(LITERAL_OR_FILE)
        }
        e => wrong_file(name, ty, &Place { path: "JSON".into(), selector: None }, "JSON", e),
    }
}

/// The value that a file holds.
fn file(name: &Name, ty: &ArrTy, place: &Place, budget: &Budget) -> Outcome<Value> {
    let path = visible(&place.path.display().to_string()).into_owned();
    let meter = Arc::new(Meter::default());
    let read = {
        let _shown = Progress::of_reading(&path, name.as_str(), &meter);
        data::read(place, name.as_str(), ty, &meter, budget)
    };
    read.or_else(|e| fail(wrong_file(name, ty, place, &path, e)))
}

/// Why a file is no value for a parameter.
fn wrong_file(name: &Name, ty: &ArrTy, place: &Place, path: &str, e: DataError) -> Diagnostic<Span> {
    let about = |code, what: &str| usage(code, format!("the file `{path}` for the input `{name}`: {what}"));
    match e {
        DataError::Unreadable(why) => unreadable(name, path, &why),
        DataError::UnknownFormat => usage(
            codes::BAD_DATA_FILE,
            format!("the input `{name}` is the file `{path}`, of no known format"),
        )
        .help(format!("{FORMATS}, by their names or first bytes"))
        .help(format!(
            "for another name say what it is: `{path}:csv`, `{path}:rd`, `{path}:text` for characters, or \
             `{path}:f32[1000,3]` for raw numbers"
        )),
        DataError::Selector(why) => about(codes::SELECTOR, &why)
            .help("after a file's name: csv, tsv, rd, text, or the type of raw numbers, such as f32[1000,3]")
            .help(format!("of tables also, one after the other: {}", data::csv::options::ALL)),
        DataError::Raw(why) => about(codes::SELECTOR, &why)
            .help(format!("say the type and shape of the bytes, for example `{path}:{}`; one size can be `_`, as many as there are",
            raw_type(ty)
        )),
        DataError::Table { what, help } => {
            let d = about(codes::TABLE, &what).note(format!("{name} is of type {ty}"));
            help.iter().fold(d, |d, help| d.help(of_table(help, name, place)))
        }
        DataError::TooMuch(why) => usage(
            codes::INPUT_TOO_LARGE,
            format!("there is no memory for the file `{path}` for the input `{name}`: {why}"),
        ),
        DataError::Choose { kind, there, asked } => choose(name, path, kind, &there, asked.as_deref()),
        DataError::Mismatch { found, help } => {
            help.into_iter().fold(mismatch(name, ty, &found), |d, help| d.help(help))
        }
        DataError::Literal(_, LiteralError::NotALiteral(found) | LiteralError::Mismatch(found)) => {
            usage(
                codes::BAD_LITERAL,
                format!("the file `{path}` for the input `{name}` is no literal: found {found}"),
            )
            .note(format!("{name} is of type {ty}"))
        }
        DataError::Literal(text, LiteralError::Syntax(errors)) => {
            let what = format!("the file `{path}` for the input `{name}` does not read as a literal");
            notes(usage(codes::BAD_LITERAL, what), path, &text, &errors)
        }
    }
}

/// What may help with a table: an option is shown where it goes, behind those that are there.
fn of_table(help: &Help, name: &Name, place: &Place) -> String {
    let (option, when) = match help {
        Help::Say(text) => return text.clone(),
        Help::Option { option, when } => (option, when),
    };
    let said = place.selector.iter().map(|s| format!(":{s}")).collect::<String>();
    let input = format!("{name}={}{said}:{option}", place.path.display());
    // What a shell would take for its own.
    let plain = |c: char| c.is_alphanumeric() || "=:./-_,+@%".contains(c);
    let quote = if input.chars().all(plain) { "" } else { "'" };
    format!("{when}: `--input {quote}{input}{quote}`")
}

/// The type of raw bytes that would fit a parameter.
fn raw_type(ty: &ArrTy) -> String {
    let name = match &ty.atom {
        AtomTy::Base(b) if *b != BaseTy::Char => b.name(),
        _ => "f32",
    };
    let dims: Vec<&str> =
        std::iter::once("_").chain(std::iter::repeat("3")).take(ty.shape.least_rank()).collect();
    format!("{name}[{}]", dims.join(","))
}

fn unreadable(name: &Name, path: &str, why: &str) -> Diagnostic<Span> {
    usage(codes::BAD_DATA_FILE, format!("cannot read `{path}` for the input `{name}`: {why}"))
}

/// A file that holds several values, or not the one that was asked for.
fn choose(name: &Name, path: &str, kind: &str, there: &[String], asked: Option<&str>) -> Diagnostic<Span> {
    let there: Vec<_> = there.iter().map(|name| visible(name)).collect();
    let asked = asked.map(visible);
    let holds = match there.as_slice() {
        [] => format!("it holds no {kind}"),
        [one] => format!("it holds the {kind} `{one}` alone"),
        all => {
            let shown: Vec<String> = all.iter().take(10).map(|n| format!("`{n}`")).collect();
            let more = if all.len() > shown.len() {
                format!(" and {} more", all.len() - shown.len())
            } else {
                String::new()
            };
            format!("it holds the {kind}s {}{more}", shown.join(", "))
        }
    };
    let message = match asked {
        Some(asked) => format!("the file `{path}` for the input `{name}` has no {kind} `{asked}`: {holds}"),
        None if there.is_empty() => format!("the file `{path}` for the input `{name}` is empty: {holds}"),
        None => format!("which {kind} of `{path}` is the input `{name}`? {holds}"),
    };
    let d = usage(codes::CHOOSE_VALUE, message);
    match there.first() {
        Some(first) => d.help(format!("choose one: `--input {name}={path}:{first}`")),
        None => d,
    }
}

/// A diagnostic with the errors of a text, each a line.
fn notes(d: Diagnostic<Span>, file: &str, text: &str, errors: &[Diagnostic<Span>]) -> Diagnostic<Span> {
    let shown = render::render(&Text { file, text }, errors, Style::Short, false);
    shown.lines().take(5).fold(d, |d, line| d.note(line))
}

/// An input that does not fit: one sentence with the parameter, what it wants and what was found.
pub fn mismatch(name: &Name, wanted: impl std::fmt::Display, found: &str) -> Diagnostic<Span> {
    usage(codes::INPUT_MISMATCH, format!("the input `{name}` wants {wanted} and was given {found}"))
}

fn shorten(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{}{more}", visible(&start))
}

/// The text of a literal, as a source of messages.
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

impl Sources for Text<'_> {
    fn source(&self, _: remc_base::ModuleId) -> Option<(&str, &str)> {
        Some((self.file, self.text))
    }
}

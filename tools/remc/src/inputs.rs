//! The inputs of an entry: files and literals read against the types that it wants.

use crate::codes;
use crate::report::{Outcome, fail, usage};
use remc_base::{ArrTy, AtomTy, BaseTy, Diagnostic, Name, Span, Value};
use remc_driver::render::{self, Sources, Style};
use remc_runtime::literal::{self, LiteralError, fits, show_shape};
use remc_runtime::npy::{self, NpyError};
use remc_typed::ir::EntrySignature;
use std::path::Path;

/// The entry's arguments, in the order of its parameters.
pub fn read_all(entry: &Name, sig: &EntrySignature, inputs: &[(String, String)]) -> Outcome<Vec<Value>> {
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
        return fail(d.help("give each as `--input NAME=VALUE`, an .npy file or a literal"));
    }
    sig.params
        .iter()
        .map(|(name, ty)| match inputs.iter().find(|(given, _)| given == name.as_str()) {
            Some((_, value)) => read(name, ty, value),
            None => fail(usage(codes::MISSING_INPUT, format!("`{entry}` needs the input `{name}`"))),
        })
        .collect()
}

fn parameters(sig: &EntrySignature) -> String {
    if sig.params.is_empty() {
        return "it takes no inputs".into();
    }
    let all: Vec<String> = sig.params.iter().map(|(name, ty)| format!("`{name}`, of type {ty}")).collect();
    format!("its parameters are {}", all.join("; "))
}

fn read(name: &Name, ty: &ArrTy, value: &str) -> Outcome<Value> {
    if Path::new(value).extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
        return read_npy(name, ty, value);
    }
    match literal::read(value, ty) {
        Ok(v) => Ok(v),
        Err(LiteralError::Mismatch(found)) => fail(mismatch(name, ty, &found)),
        Err(e) => {
            // A path in place of a literal is the likely slip.
            if Path::new(value).is_file() {
                return fail(
                    usage(
                        codes::BAD_DATA_FILE,
                        format!("the input `{name}` is the file `{value}`, of no known format"),
                    )
                    .help("a data file's name ends in .npy"),
                );
            }
            match e {
                LiteralError::NotALiteral(found) => fail(
                    usage(codes::BAD_LITERAL, format!("the input `{name}` is no literal: found {found}"))
                        .note(format!("the text is `{}`, and {name} is of type {ty}", shorten(value)))
                        .help("an input is a literal, such as `[1.5 2]`, or the path of an .npy file"),
                ),
                LiteralError::Syntax(errors) => {
                    let d =
                        usage(codes::BAD_LITERAL, format!("the input `{name}` does not read as a literal"));
                    let shown = render::render(&Text(value), &errors, Style::Short, false);
                    fail(
                        shown
                            .lines()
                            .fold(d, |d, line| d.note(line))
                            .help("an input is a literal, such as `[1.5 2]`, or the path of an .npy file"),
                    )
                }
                LiteralError::Mismatch(found) => fail(mismatch(name, ty, &found)),
            }
        }
    }
}

fn read_npy(name: &Name, ty: &ArrTy, path: &str) -> Outcome<Value> {
    let value = match npy::read_file(Path::new(path)) {
        Ok(v) => v,
        Err(e) => {
            let d = usage(codes::BAD_DATA_FILE, format!("cannot read `{path}` for the input `{name}`: {e}"));
            return fail(match e {
                NpyError::Dtype(_) => d.note(format!("{name} is of type {ty}")),
                _ => d,
            });
        }
    };
    if value.atom != ty.atom {
        let found = format!("{} of shape {}", dtype(&value), show_shape(&value.shape));
        let d = mismatch(name, ty, &found);
        return fail(match &ty.atom {
            AtomTy::Base(b) => match npy::numpy_name(*b) {
                Some(to) => d.help(format!("convert it in NumPy: `{name}.astype(np.{to})`")),
                None => d.help("an .npy file holds no characters: give a string literal"),
            },
            _ => d.help("an .npy file holds numbers and booleans alone: give a literal"),
        });
    }
    match fits(&value.shape, &ty.shape) {
        Ok(()) => Ok(value),
        Err(found) => fail(mismatch(name, ty, &format!("{}: {found}", dtype(&value)))),
    }
}

fn dtype(value: &Value) -> String {
    match value.atom {
        AtomTy::Base(BaseTy::Bool) => "bool".into(),
        AtomTy::Base(b) => npy::numpy_name(b).unwrap_or(b.name()).into(),
        _ => value.atom.to_string(),
    }
}

/// An input that does not fit: one sentence with the parameter, what it wants and what was found.
pub fn mismatch(name: &Name, wanted: impl std::fmt::Display, found: &str) -> Diagnostic<Span> {
    usage(codes::INPUT_MISMATCH, format!("the input `{name}` wants {wanted} and was given {found}"))
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(60).chain(['…']).collect() }
}

/// The text of a literal, as a source of messages.
struct Text<'a>(&'a str);

impl Sources for Text<'_> {
    fn source(&self, _: remc_base::ModuleId) -> Option<(&str, &str)> {
        Some(("input", self.0))
    }
}

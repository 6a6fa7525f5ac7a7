//! Another name for a definition, a local value or a variable of types.
//!
//! The new text is read, and each name in it has to mean what it meant: no use may be captured by another binder, and
//! none of another thing by this one. That check needs to know no form of the language.

use crate::names::{Names, Target, of_item};
use crate::places::{meaning_at, uses};
use crate::{Edit, Ide, Meaning};
use remc_base::{ModuleId, Name, Span};
use remc_driver::SourceFile;
use remc_driver::names::{DefKind, Namespace, lookup};
use remc_syntax::token::TokenKind;
use std::collections::BTreeMap;

pub struct Renamed<'s> {
    pub span: Span,
    meaning: Meaning<'s>,
    name: Name,
}

/// What stands at a place, if it can have another name.
pub fn target<'s>(ide: &Ide<'s>, file: SourceFile, offset: u32) -> Result<Renamed<'s>, String> {
    let db = &ide.session.db;
    let (Some(found), Some((meaning, o))) = (ide.occurrence_at(file, offset), meaning_at(ide, file, offset))
    else {
        return Err("there is no name here".into());
    };
    match meaning {
        Meaning::Nothing if crate::types::is_base(&o.name) => {
            Err(format!("`{}` is a type of the language", o.name))
        }
        Meaning::Nothing => Err(format!("there is no `{}`: it is not defined", o.name)),
        Meaning::Label => Err(format!(
            "`{}` is a field: whose records it belongs to is decided by types, and it is renamed by hand",
            o.name
        )),
        Meaning::Global(def) if def.file(db).prelude(db) => {
            Err(format!("`{}` is defined by the language, and not in this program", o.name))
        }
        _ => Ok(Renamed { span: found.span, meaning, name: o.name }),
    }
}

pub fn rename(ide: &Ide<'_>, file: SourceFile, offset: u32, new: &str) -> Result<Vec<Edit>, String> {
    let old = target(ide, file, offset)?;
    let name = is_name(new)?;
    if name == old.name {
        return Ok(Vec::new());
    }
    if name.is_at() != old.name.is_at() {
        return Err(format!(
            "`{}` and `{new}`: a name that begins with @ is a shape's, and others are not",
            old.name
        ));
    }
    let spans = uses(ide, file, old.meaning, &old.name);
    let edits: Vec<Edit> = spans.into_iter().map(|(span, _)| Edit { span, text: new.to_owned() }).collect();
    let mut files: BTreeMap<ModuleId, Vec<&Edit>> = BTreeMap::new();
    edits.iter().for_each(|e| files.entry(e.span.module).or_default().push(e));
    for (module, edits) in files {
        let Some(at) = ide.session.file(module) else { continue };
        if matches!(old.meaning, Meaning::Global(_)) {
            taken(ide, at, &name)?;
        }
        unchanged(ide, at, &edits, &old.name, &name)?;
    }
    Ok(edits)
}

/// One token, a name that is no keyword.
fn is_name(text: &str) -> Result<Name, String> {
    let tokens = remc_syntax::tokens(text).tokens;
    match tokens.as_slice() {
        [one, end] if one.start == 0 && one.end as usize == text.len() && end.kind == TokenKind::End => {
            match &one.kind {
                TokenKind::Name(name) if remc_syntax::forms::form(name.as_str()).is_some() => {
                    Err(format!("`{text}` is a form of the language"))
                }
                TokenKind::Name(name) => Ok(name.clone()),
                _ => Err(format!("`{text}` is no name")),
            }
        }
        _ => Err(format!("`{text}` is no name: a name has no spaces, brackets or quotes")),
    }
}

/// A definition may not take the name of another that the file sees.
fn taken(ide: &Ide<'_>, file: SourceFile, name: &Name) -> Result<(), String> {
    let db = &ide.session.db;
    for space in [Namespace::Values, Namespace::Types] {
        if let Some(other) = lookup(db, file, space, name.clone()) {
            let by = match other.file(db).prelude(db) {
                true => "by the language".to_owned(),
                false => format!("in `{}`", other.file(db).path(db)),
            };
            return Err(format!("`{name}` is defined already, {by}"));
        }
    }
    Ok(())
}

/// Reads the text with the edits; what each name means has to be what it meant.
fn unchanged(ide: &Ide<'_>, file: SourceFile, edits: &[&Edit], old: &Name, new: &Name) -> Result<(), String> {
    let db = &ide.session.db;
    let text = applied(ide.text(file), edits.iter().map(|e| (e.span, e.text.as_str())));
    let after = remc_syntax::parse(ide.module(file), &text, file.prelude(db));
    let defs = ide.session.defs(file);
    let captured = || format!("with the name `{new}`, something else would be meant by it: choose another");
    if after.items.len() != defs.len() {
        return Err(captured());
    }
    for (def, after) in defs.iter().zip(&after.items) {
        if def.kind(db) == DefKind::Error {
            continue;
        }
        let before = of_item(def.item(db));
        if !same(&before, &of_item(&after.item), old, new) {
            return Err(captured());
        }
    }
    Ok(())
}

/// Whether names stand for the same binders, and those of definitions are the same but for the new one.
fn same(before: &Names, after: &Names, old: &Name, new: &Name) -> bool {
    before.occurrences.len() == after.occurrences.len()
        && before.occurrences.iter().zip(&after.occurrences).all(|(a, b)| {
            let name = a.name == b.name || a.name == *old && b.name == *new;
            // A variable that is bound nowhere, and a definition, are told apart by the name alone: so that one
            // that had another name may not have the new one.
            let captured = a.target == Target::Global && a.name == *new;
            a.node == b.node && a.target == b.target && name && !captured
        })
}

/// A text with some places replaced.
pub fn applied<'e>(text: &str, edits: impl IntoIterator<Item = (Span, &'e str)>) -> String {
    let mut edits: Vec<(Span, &str)> = edits.into_iter().collect();
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (span, by) in edits {
        out.push_str(text.get(at..span.start as usize).unwrap_or_default());
        out.push_str(by);
        at = span.end as usize;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

//! The function that is applied around a place, and which of its parameters the place is at.

use crate::context::Context;
use crate::names::{Sort, names};
use crate::types::{arguments, parameters, types};
use crate::{Ide, Signature};
use remc_base::{ArrTy, Name};
use remc_driver::names::{Namespace, lookup};
use remc_driver::queries::scheme;
use remc_driver::{Def, SourceFile};

pub fn signature(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Option<Signature> {
    let text = ide.text(file);
    let context = Context::at(text, &remc_syntax::tokens(text), offset);
    let frame = context.application()?;
    let name = Name::new(frame.head.as_deref()?);
    // The head itself is no argument.
    let active = frame.before.checked_sub(1)?;
    let (usage, types, documentation) = match local(ide, file, frame.head_at.0, &name) {
        Some(found) => found,
        None => {
            let def = lookup(&ide.session.db, file, Namespace::Values, name.clone())?;
            of_definition(ide, def)?
        }
    };
    let mut ranges = Vec::new();
    let mut at = 1;
    for (k, word) in usage.trim_matches(['(', ')']).split(' ').enumerate() {
        if k > 0 {
            ranges.push(at..at + word.len());
        }
        at += word.len() + 1;
    }
    if ranges.is_empty() {
        return None;
    }
    // Of what takes any number of arguments, the last parameter is that of the rest.
    let active = active.min(ranges.len() - 1);
    Some(Signature { label: usage, parameters: ranges, types, active, documentation })
}

fn of_definition(ide: &Ide<'_>, def: Def<'_>) -> Option<(String, Vec<String>, String)> {
    let entry = ide.documented(def)?;
    let scheme = scheme(&ide.session.db, def).clone()?;
    let types = arguments(&scheme).unwrap_or_default().iter().map(ArrTy::to_string).collect();
    let mut documentation = entry.paragraphs.join("\n\n");
    documentation = format!("`{}`\n\n{documentation}", entry.ty);
    Some((entry.usage, types, documentation))
}

/// A function that is bound in the definition.
fn local(ide: &Ide<'_>, file: SourceFile, at: u32, name: &Name) -> Option<(String, Vec<String>, String)> {
    let def = ide.def_at(file, at)?;
    let db = &ide.session.db;
    let names = names(db, def);
    let binder = binder_at(ide, def, at, name)?;
    let known = types(db, def).clone()?;
    let b = &names.binders[binder];
    let ty = known.local(b.owner, name)?;
    let (params, _) = parameters(ty)?;
    let usage: Vec<String> = params.iter().enumerate().map(|(k, _)| format!("x{}", k + 1)).collect();
    Some((format!("({name} {})", usage.join(" ")), shown(ty), format!("`{ty}`")))
}

/// The binder of a name that is seen at a place: the innermost.
pub fn binder_at(ide: &Ide<'_>, def: Def<'_>, at: u32, name: &Name) -> Option<usize> {
    let db = &ide.session.db;
    let names = names(db, def);
    let map = def.map(db);
    let sees = |node| map.span(node).is_some_and(|s| s.start <= at && at <= s.end);
    let width = |node| map.span(node).map_or(u32::MAX, |s| s.end - s.start);
    let here = names.binders.iter().enumerate();
    let here = here.filter(|(_, b)| b.sort == Sort::Value && b.name == *name);
    let seen =
        here.filter_map(|(k, b)| Some((k, b.seen.iter().filter(|n| sees(**n)).map(|n| width(*n)).min()?)));
    seen.min_by_key(|(_, width)| *width).map(|(k, _)| k)
}

fn shown(ty: &ArrTy) -> Vec<String> {
    parameters(ty).map(|(params, _)| params.iter().map(ArrTy::to_string).collect()).unwrap_or_default()
}

//! What stands at a place: its type, the frame of an application, the documentation of a name, the value of a constant.

use crate::names::{Occurrence, Sort, Target, names};
use crate::types::types;
use crate::{Hover, Ide, Meaning};
use remc_base::{ArrTy, NodeId, Span};
use remc_driver::doc::Entry;
use remc_driver::names::DefKind;
use remc_driver::queries::scheme;
use remc_driver::{Def, SourceFile};
use remc_syntax::forms::{FORMS, SPELLINGS};
use remc_syntax::token::TokenKind;

pub fn hover(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Option<Hover> {
    if let Some(found) = ide.occurrence_at(file, offset) {
        let names = names(&ide.session.db, found.def);
        let o = &names.occurrences[found.nth];
        let text = name(ide, found.def, o)?;
        return Some(Hover { span: found.span, text });
    }
    keyword(ide, file, offset).or_else(|| expression(ide, file, offset))
}

/// Code that is shown.
pub fn code(text: &str) -> String {
    format!("```remora\n{text}\n```\n")
}

fn name(ide: &Ide<'_>, def: Def<'_>, o: &Occurrence) -> Option<String> {
    let db = &ide.session.db;
    let known = types(db, def);
    let here = known.as_ref().and_then(|t| t.nodes.get(&o.node));
    match ide.meaning(def, o) {
        Meaning::Global(target) => {
            let entry = ide.documented(target)?;
            let mut text = documentation(ide, target, &entry);
            // The type at which it is used here; a definition itself shows the type that it has.
            if let Some(here) = here
                && o.target != Target::Item
                && here.to_string() != entry.ty
            {
                text.push_str(&format!("\nhere `{here}`\n"));
            }
            Some(text)
        }
        Meaning::Local(def, binder) => {
            let names = names(db, def);
            let b = names.binders.get(binder)?;
            let what = match (b.sort, b.parameter) {
                (Sort::Index, _) if b.name.is_at() => "a shape",
                (Sort::Index, _) => "a size",
                (Sort::Type, _) if b.name.is_at() => "a type of arrays",
                (Sort::Type, _) => "a type of elements",
                (_, true) => "a parameter",
                _ => "a local value",
            };
            let ty = known.as_ref().and_then(|t| t.local(b.owner, &b.name)).or(here);
            let head = match ty {
                Some(ty) if b.sort == Sort::Value => code(&format!("{} : {ty}", b.name)),
                _ => code(b.name.as_str()),
            };
            let of = owner(ide, def);
            Some(format!("{head}{what}{of}\n"))
        }
        Meaning::Implicit(def) => Some(format!(
            "{}any type of elements, the same wherever `{}` stands{}\n",
            code(o.name.as_str()),
            o.name,
            owner(ide, def)
        )),
        Meaning::Label => {
            let ty = here.map(|t| format!(" : {t}")).unwrap_or_default();
            Some(format!("{}a field of a record\n", code(&format!("{}{ty}", o.name))))
        }
        Meaning::Nothing => base_type(o),
    }
}

/// ` of f`, the definition that something is local to.
fn owner(ide: &Ide<'_>, def: Def<'_>) -> String {
    let db = &ide.session.db;
    match def.kind(db) {
        DefKind::Value | DefKind::Entry | DefKind::Type => format!(" of `{}`", def.name(db)),
        _ => String::new(),
    }
}

fn base_type(o: &Occurrence) -> Option<String> {
    let about = match o.name.as_str() {
        "int" | "i64" => "whole numbers of 64 bits, which wrap around",
        "float" | "f64" => "floating-point numbers of 64 bits",
        "bool" => "`true` and `false`",
        "char" => "a character; a string is a vector of these",
        name if o.sort == Sort::Type && crate::types::is_base(&o.name) => {
            let kind = match name.as_bytes().first() {
                Some(b'i') => "whole numbers",
                Some(b'u') => "whole numbers from 0",
                _ => "floating-point numbers",
            };
            return Some(format!("{}{kind} of {} bits\n", code(name), &name[1..]));
        }
        _ => return None,
    };
    Some(format!("{}{about}\n", code(o.name.as_str())))
}

/// What is said of a definition: its use, type, value if it is known, and what the comment above it says.
pub fn documentation(ide: &Ide<'_>, def: Def<'_>, entry: &Entry) -> String {
    let db = &ide.session.db;
    let mut text = code(&format!("{} : {}", entry.usage, entry.ty));
    if let Some(value) = scheme(db, def).as_ref().and_then(|s| s.known.as_ref())
        && entry.usage == entry.name
    {
        text = code(&format!("{} : {} = {value:?}", entry.usage, entry.ty));
    }
    for paragraph in &entry.paragraphs {
        text.push_str(&format!("\n{paragraph}\n"));
    }
    if !entry.examples.is_empty() {
        let examples: Vec<String> =
            entry.examples.iter().map(|e| format!("{}  ; ⇒ {}", e.source, e.value)).collect();
        text.push('\n');
        text.push_str(&code(&examples.join("\n")));
    }
    text
}

/// A keyword: what the form looks like.
fn keyword(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Option<Hover> {
    let def = ide.def_at(file, offset)?;
    let item = ide.session.item_span(def);
    let tokens = remc_syntax::tokens(ide.slice(item));
    let at = offset - item.start;
    let nth = tokens
        .tokens
        .iter()
        .position(|t| t.start <= at && at <= t.end && matches!(t.kind, TokenKind::Name(_)))?;
    let token = &tokens.tokens[nth];
    let opened = nth.checked_sub(1).is_some_and(|k| matches!(tokens.tokens[k].kind, TokenKind::Open(_)));
    let TokenKind::Name(name) = &token.kind else { return None };
    let spelt = SPELLINGS.iter().find(|(other, _)| *other == name.as_str()).map_or(name.as_str(), |(_, n)| n);
    let form = FORMS.iter().find(|f| f.keyword == spelt).filter(|_| opened)?;
    let span = Span { module: item.module, start: item.start + token.start, end: item.start + token.end };
    Some(Hover { span, text: code(&form.grammar.replace('`', "")) })
}

/// The innermost expression: its type, and over what an application is lifted.
fn expression(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Option<Hover> {
    let def = ide.def_at(file, offset)?;
    let known = types(&ide.session.db, def).clone()?;
    let map = def.map(&ide.session.db);
    let of = |node: NodeId| -> Option<(NodeId, &ArrTy)> { Some((node, known.nodes.get(&node)?)) };
    let (node, ty) = ide.nodes_at(def, offset).into_iter().find_map(of)?;
    let mut text = code(&ty.to_string());
    if let Some(frame) = known.frames.get(&node) {
        text.push_str(&format!("\nlifted over the frame `{frame}`\n"));
    }
    Some(Hover { span: map.span(node)?, text })
}

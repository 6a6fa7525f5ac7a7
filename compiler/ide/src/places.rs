//! Where a name is defined and where it is used.

use crate::names::{Occurrence, Sort, Target, name_span, names};
use crate::{Ide, Meaning};
use remc_base::{Name, Span};
use remc_driver::names::DefKind;
use remc_driver::{Def, SourceFile};

pub fn definition(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Vec<Span> {
    if let Some(target) = import_at(ide, file, offset) {
        return vec![Span { module: ide.module(target), start: 0, end: 0 }];
    }
    let Some((meaning, o)) = meaning_at(ide, file, offset) else { return Vec::new() };
    let db = &ide.session.db;
    match meaning {
        Meaning::Global(def) => vec![ide.session.name_span(def)],
        Meaning::Local(def, binder) => {
            let names = names(db, def);
            let binder = names.binders.get(binder);
            binder.and_then(|b| name_span(db, def, b.node, &b.name)).into_iter().collect()
        }
        Meaning::Implicit(def) => {
            uses_in(ide, def, meaning, &o.name).into_iter().take(1).map(|(s, _)| s).collect()
        }
        Meaning::Label | Meaning::Nothing => Vec::new(),
    }
}

pub fn references(ide: &Ide<'_>, file: SourceFile, offset: u32, declaration: bool) -> Vec<Span> {
    let Some((meaning, o)) = meaning_at(ide, file, offset) else { return Vec::new() };
    let all = uses(ide, file, meaning, &o.name);
    all.into_iter().filter(|(_, binds)| declaration || !binds).map(|(span, _)| span).collect()
}

pub fn highlights(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Vec<(Span, bool)> {
    let Some((meaning, o)) = meaning_at(ide, file, offset) else { return Vec::new() };
    let module = ide.module(file);
    let mut all = uses(ide, file, meaning, &o.name);
    all.retain(|(span, _)| span.module == module);
    all
}

/// What the name at a place means, and the name.
pub fn meaning_at<'s>(ide: &Ide<'s>, file: SourceFile, offset: u32) -> Option<(Meaning<'s>, Occurrence)> {
    let found = ide.occurrence_at(file, offset)?;
    let names = names(&ide.session.db, found.def);
    let o = names.occurrences[found.nth].clone();
    Some((ide.meaning(found.def, &o), o))
}

/// Where a meaning is used, and whether it is bound there: in the definition that it belongs to, or in all files that
/// are loaded.
pub fn uses(ide: &Ide<'_>, file: SourceFile, meaning: Meaning<'_>, name: &Name) -> Vec<(Span, bool)> {
    match meaning {
        Meaning::Local(def, _) | Meaning::Implicit(def) => uses_in(ide, def, meaning, name),
        Meaning::Global(def) => {
            let mut files: Vec<SourceFile> = ide.session.user_files().collect();
            files.extend(files.iter().all(|f| *f != file).then_some(file));
            // The prelude's own uses of what it defines are of interest to its readers alone.
            if file.prelude(&ide.session.db) {
                files.extend(ide.session.prelude());
            }
            files.dedup();
            let mut all: Vec<(Span, bool)> = Vec::new();
            if !files.contains(&def.file(&ide.session.db)) {
                all.push((ide.session.name_span(def), true));
            }
            for file in files {
                for d in ide.session.defs(file) {
                    all.extend(uses_in(ide, *d, meaning, name));
                }
            }
            all
        }
        Meaning::Label => {
            let db = &ide.session.db;
            let here = ide.session.defs(file).iter().flat_map(|def| {
                let names = names(db, *def);
                let labels = names.occurrences.iter().filter(|o| o.sort == Sort::Label && o.name == *name);
                labels
                    .filter_map(|o| Some((name_span(db, *def, o.node, &o.name)?, o.binds)))
                    .collect::<Vec<_>>()
            });
            here.collect()
        }
        Meaning::Nothing => Vec::new(),
    }
}

fn uses_in(ide: &Ide<'_>, def: Def<'_>, meaning: Meaning<'_>, name: &Name) -> Vec<(Span, bool)> {
    let db = &ide.session.db;
    let names = names(db, def);
    let same =
        |o: &&Occurrence| o.name == *name && o.target != Target::Label && ide.meaning(def, o) == meaning;
    let found = names.occurrences.iter().filter(same);
    let mut all: Vec<(Span, bool)> =
        found.filter_map(|o| Some((name_span(db, def, o.node, &o.name)?, o.binds))).collect();
    all.sort_by_key(|(span, _)| (span.start, span.end));
    all.dedup_by_key(|(span, _)| *span);
    all
}

/// The file that the import at a place leads to.
fn import_at(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Option<SourceFile> {
    let db = &ide.session.db;
    let def = ide.def_at(file, offset).filter(|d| d.kind(db) == DefKind::Import)?;
    remc_driver::names::imports(db, file).iter().find(|(d, _)| *d == def)?.1
}

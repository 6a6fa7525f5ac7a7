//! `--show types`: the program with everything that was inferred, as source.

use crate::database::SourceFile;
use crate::names::{Def, DefKind, def_of};
use crate::queries::{check, scheme};
use crate::session::Session;
use remc_base::{GlobalId, ModuleId};
use remc_typed::scheme::Scheme;
use remc_typed::source::{Globals, Item, definition};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The definitions of a file in the order of the text, before them what it uses of the files that it
/// imports: one program without imports, which means what the file does.
pub fn show_types(session: &Session, file: SourceFile) -> String {
    let db = &session.db;
    let used = session.link(file, &session.value_defs(file));
    let mut defs = vec![];
    for module in session.modules(file) {
        let is_seen = |d: &Def<'_>| module == file || used.get(&d.global(db)).is_some();
        defs.extend(session.value_defs(module).into_iter().filter(is_seen));
    }
    let own = file.module(db);
    let names = Names::new(session, file, own, defs.iter().map(|d| d.global(db)));
    let mut out = String::new();
    for def in defs {
        let Some(checked) = check(db, def).definition.clone() else { continue };
        let item = match def.kind(db) {
            DefKind::Expr => Item::Expression,
            DefKind::Entry => Item::Entry,
            _ => Item::Define,
        };
        out.push_str(&definition(&checked, item, &names));
        out.push('\n');
    }
    out
}

/// The names of the printed definitions: one program has each name once.
struct Names<'s> {
    session: &'s Session,
    file: SourceFile,
    /// Of the definitions whose names are those of others too.
    renamed: FxHashMap<GlobalId, String>,
    taken: FxHashSet<String>,
}

impl<'s> Names<'s> {
    fn new(
        session: &'s Session,
        file: SourceFile,
        own: ModuleId,
        all: impl Iterator<Item = GlobalId>,
    ) -> Self {
        let (mine, imported): (Vec<_>, Vec<_>) = all.partition(|g| g.module == own);
        let mut names = Names { session, file, renamed: FxHashMap::default(), taken: FxHashSet::default() };
        names.taken.extend(mine.iter().map(|g| g.name.to_string()));
        for g in imported {
            let mut name = g.name.to_string();
            let mut k = 0;
            while !names.taken.insert(name.clone()) {
                k += 1;
                name = format!("{}:{k}", g.name);
            }
            if k > 0 {
                names.renamed.insert(g, name);
            }
        }
        names
    }
}

impl Globals for Names<'_> {
    fn scheme(&self, global: &GlobalId) -> Option<Arc<Scheme>> {
        if global.module >= self.session.first_user_module() {
            return None;
        }
        let def = def_of(&self.session.db, self.file, global)?;
        scheme(&self.session.db, def).clone()
    }

    fn name(&self, global: &GlobalId) -> String {
        self.renamed.get(global).cloned().unwrap_or_else(|| global.name.to_string())
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.taken.contains(name)
    }
}

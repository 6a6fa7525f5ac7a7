//! What files define, and what names mean in them: the queries that need no type.

use crate::database::{Db, ImportTarget, Prelude, SourceFile};
use crate::pipeline::Stage;
use remc_base::*;
use remc_syntax::ast::{Item, ItemKind, SourceMap};
use remc_typed::refs::References;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// What a top-level form defines, and in which namespace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DefKind {
    /// `define`, and primitives of the prelude.
    Value,
    /// `entry`: a value too.
    Entry,
    /// An expression, under a generated name.
    Expr,
    /// `define-type`
    Type,
    /// `import`; its name is the path.
    Import,
    /// Text that could not be read as a form.
    Error,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Namespace {
    Values,
    Types,
}

impl DefKind {
    pub fn namespace(self) -> Option<Namespace> {
        match self {
            DefKind::Value | DefKind::Entry | DefKind::Expr => Some(Namespace::Values),
            DefKind::Type => Some(Namespace::Types),
            DefKind::Import | DefKind::Error => None,
        }
    }
}

/// A top-level form. It keeps its identity across edits by what it is called, and which it is of those called so:
/// without that, each of many would be looked for among all of them.
#[salsa::tracked(debug)]
pub struct Def<'db> {
    #[returns(copy)]
    pub file: SourceFile,
    #[returns(copy)]
    pub kind: DefKind,
    #[returns(ref)]
    pub name: Name,
    #[returns(copy)]
    pub nth: u32,
    /// Without positions.
    #[tracked]
    #[returns(ref)]
    pub item: Arc<Item>,
    #[tracked]
    #[returns(ref)]
    pub map: Arc<SourceMap>,
    #[tracked]
    #[returns(ref)]
    pub doc: Option<String>,
}

impl<'db> Def<'db> {
    pub fn global(self, db: &'db dyn Db) -> GlobalId {
        GlobalId { module: self.file(db).module(db), name: self.name(db).clone() }
    }
}

#[salsa::tracked(debug)]
pub struct ParsedFile<'db> {
    /// In the order of the text.
    #[tracked]
    #[returns(deref)]
    pub defs: Vec<Def<'db>>,
    #[tracked]
    #[returns(deref)]
    pub diagnostics: Vec<Diagnostic<Span>>,
}

/// The forms of a file.
#[salsa::tracked(returns(copy))]
pub fn parse<'db>(db: &'db dyn Db, file: SourceFile) -> ParsedFile<'db> {
    let _timed = db.timings().enter(Stage::Parse);
    let parsed = remc_syntax::parse(file.module(db), file.text(db), file.prelude(db));
    let mut expressions = 0;
    let mut called: HashMap<(DefKind, Name), u32> = HashMap::new();
    let mut defs = Vec::with_capacity(parsed.items.len());
    for p in parsed.items {
        let (kind, name) = match &p.item.kind {
            ItemKind::Define { name, .. } | ItemKind::Primitive { name, .. } => {
                (DefKind::Value, name.name.clone())
            }
            ItemKind::Entry { name, .. } => (DefKind::Entry, name.name.clone()),
            ItemKind::DefineType { name, .. } => (DefKind::Type, name.name.clone()),
            ItemKind::Import { path } => (DefKind::Import, Name::new(path)),
            ItemKind::Expr(_) => {
                expressions += 1;
                (DefKind::Expr, Name::new(format!("#expr{}", expressions - 1)))
            }
            ItemKind::Error => (DefKind::Error, Name::new("#error")),
        };
        let before = called.entry((kind, name.clone())).or_insert(0u32);
        defs.push(Def::new(db, file, kind, name, *before, p.item, p.map, p.doc));
        *before += 1;
    }
    ParsedFile::new(db, defs, parsed.diagnostics)
}

/// Definitions by name; of several with one name, the first.
#[derive(Clone, PartialEq, Eq, Default, Debug, salsa::SalsaValue)]
pub struct Scope<'db> {
    pub values: BTreeMap<String, Def<'db>>,
    pub types: BTreeMap<String, Def<'db>>,
}

impl<'db> Scope<'db> {
    pub fn space(&self, space: Namespace) -> &BTreeMap<String, Def<'db>> {
        match space {
            Namespace::Values => &self.values,
            Namespace::Types => &self.types,
        }
    }

    fn add(&mut self, db: &'db dyn Db, file: SourceFile) {
        for &def in parse(db, file).defs(db) {
            let map = match def.kind(db).namespace() {
                Some(Namespace::Values) if def.kind(db) != DefKind::Expr => &mut self.values,
                Some(Namespace::Types) => &mut self.types,
                _ => continue,
            };
            map.entry(def.name(db).to_string()).or_insert(def);
        }
    }
}

/// What the program's text sees beside the prelude: its own definitions, then those of the files it
/// imports (not of the files that those import).
#[salsa::tracked]
pub fn scope<'db>(db: &'db dyn Db, file: SourceFile) -> Scope<'db> {
    let mut scope = Scope::default();
    scope.add(db, file);
    for (_, target) in imports(db, file) {
        if let Some(target) = *target
            && import_path(db, target, file).is_none()
        {
            scope.add(db, target);
        }
    }
    scope
}

/// The prelude's names, all of them: every file of it is read.
#[salsa::tracked]
pub fn prelude_scope<'db>(db: &'db dyn Db) -> Scope<'db> {
    let mut scope = Scope::default();
    for &file in Prelude::get(db).files(db) {
        scope.add(db, file);
    }
    scope
}

/// The names of one file of the prelude.
#[salsa::tracked]
fn prelude_file<'db>(db: &'db dyn Db, file: SourceFile) -> Scope<'db> {
    let mut scope = Scope::default();
    scope.add(db, file);
    scope
}

/// The files of the prelude that define a name, as their lines tell: a definition begins a line. So a program reads those
/// files alone whose names it mentions.
#[salsa::tracked]
fn prelude_index(db: &dyn Db) -> HashMap<String, Vec<SourceFile>> {
    let mut index: HashMap<String, Vec<SourceFile>> = HashMap::new();
    for &file in Prelude::get(db).files(db) {
        for name in file.text(db).lines().filter_map(defined) {
            let files = index.entry(name.to_owned()).or_default();
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    index
}

/// The name that a line of the prelude begins to define.
fn defined(line: &str) -> Option<&str> {
    let forms = ["(define-type ", "(define ", "(primitive "];
    let rest = forms.iter().find_map(|form| line.strip_prefix(form))?;
    let rest = rest.strip_prefix('(').unwrap_or(rest);
    rest.split([' ', '{', ')', '[']).next().filter(|name| !name.is_empty())
}

/// What a name means in the prelude.
pub fn of_prelude<'db>(db: &'db dyn Db, space: Namespace, name: &str) -> Option<Def<'db>> {
    let files = prelude_index(db).get(name)?;
    files.iter().find_map(|f| prelude_file(db, *f).space(space).get(name).copied())
}

/// The names of values that a file sees, for what to say of a name that is none of them.
#[salsa::tracked]
pub fn names(db: &dyn Db, file: SourceFile) -> Arc<Vec<Name>> {
    let mut names: Vec<Name> = prelude_scope(db).values.keys().map(Name::new).collect();
    if !file.prelude(db) {
        names.extend(scope(db, file).values.keys().map(Name::new));
    }
    names.sort();
    names.dedup();
    Arc::new(names)
}

/// The imports of a file that can be read, in the order of the text.
#[salsa::tracked(returns(deref))]
pub fn imports<'db>(db: &'db dyn Db, file: SourceFile) -> Vec<(Def<'db>, Option<SourceFile>)> {
    parse(db, file)
        .defs(db)
        .iter()
        .filter(|d| d.kind(db) == DefKind::Import)
        .map(|d| match file.imports(db).get(d.name(db).as_str()) {
            Some(ImportTarget::File(target)) => (*d, Some(*target)),
            _ => (*d, None),
        })
        .collect()
}

/// The files by which `from` imports `to`, both ends included; `[to]` if they are one.
pub fn import_path(db: &dyn Db, from: SourceFile, to: SourceFile) -> Option<Vec<SourceFile>> {
    let mut came: Vec<(SourceFile, Option<usize>)> = vec![(from, None)];
    let mut seen: HashSet<SourceFile> = HashSet::from([from]);
    let mut at = 0;
    while at < came.len() {
        let file = came[at].0;
        if file == to {
            let mut path = vec![];
            let mut i = Some(at);
            while let Some(j) = i {
                path.push(came[j].0);
                i = came[j].1;
            }
            path.reverse();
            return Some(path);
        }
        for (_, target) in imports(db, file) {
            if let Some(target) = *target
                && seen.insert(target)
            {
                came.push((target, Some(at)));
            }
        }
        at += 1;
    }
    None
}

/// What a name means in a file. A query of its own, so that a new definition re-checks only what
/// mentions its name.
#[salsa::tracked(returns(copy))]
pub fn lookup<'db>(db: &'db dyn Db, file: SourceFile, space: Namespace, name: Name) -> Option<Def<'db>> {
    if !file.prelude(db)
        && let Some(def) = scope(db, file).space(space).get(name.as_str())
    {
        return Some(*def);
    }
    of_prelude(db, space, name.as_str())
}

/// The top-level names that a definition mentions.
#[salsa::tracked]
pub fn refs<'db>(db: &'db dyn Db, def: Def<'db>) -> References {
    remc_typed::refs::references(def.item(db))
}

/// The files whose definitions a program can contain, by module: the prelude's, `file`, and what it
/// imports, directly and through others.
#[salsa::tracked]
fn modules(db: &dyn Db, file: SourceFile) -> HashMap<ModuleId, SourceFile> {
    let mut found = HashMap::new();
    let mut todo = Prelude::get(db).files(db).to_vec();
    todo.push(file);
    while let Some(f) = todo.pop() {
        // The prelude imports nothing.
        if found.insert(f.module(db), f).is_none() && !f.prelude(db) {
            todo.extend(imports(db, f).iter().filter_map(|(_, target)| *target));
        }
    }
    found
}

/// What of a file has a value, expressions under their generated names; of several with one name, the
/// first.
#[salsa::tracked]
fn values<'db>(db: &'db dyn Db, file: SourceFile) -> HashMap<String, Def<'db>> {
    let mut found = HashMap::new();
    for &def in parse(db, file).defs(db) {
        if def.kind(db).namespace() == Some(Namespace::Values) {
            found.entry(def.name(db).to_string()).or_insert(def);
        }
    }
    found
}

/// The definition that a global name of Typed stands for, as seen from `file`.
pub fn def_of<'db>(db: &'db dyn Db, file: SourceFile, global: &GlobalId) -> Option<Def<'db>> {
    let home = modules(db, file).get(&global.module)?;
    values(db, *home).get(global.name.as_str()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Session};

    #[test]
    fn lines_of_the_prelude_tell_its_names() {
        let session = Session::new(Database::default());
        let db = &session.db;
        let scope = prelude_scope(db);
        assert!(scope.values.len() > 200);
        for space in [Namespace::Values, Namespace::Types] {
            for (name, def) in scope.space(space) {
                assert_eq!(of_prelude(db, space, name), Some(*def), "{name}");
            }
        }
        let known = |name: &String| scope.values.contains_key(name) || scope.types.contains_key(name);
        assert!(prelude_index(db).keys().all(known), "{:?}", prelude_index(db).keys());
    }
}

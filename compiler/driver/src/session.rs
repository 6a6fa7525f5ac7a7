//! A session: files loaded into a database, and what a tool asks of them.

use crate::codes;
use crate::cycles;
use crate::database::{Database, Db, ImportTarget, Prelude, SourceFile};
use crate::names::{self, Def, DefKind, Namespace, parse};
use crate::pipeline::Stage;
use crate::program::{LinkedProgram, link, link_together};
use crate::queries::{GlobalTypes, broken, check};
use remc_base::*;
use remc_syntax::ast::ItemKind;
use rustc_hash::FxHashSet;
use salsa::Setter;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

mod alone;
mod buffers;
mod most;

include!(concat!(env!("OUT_DIR"), "/prelude.rs"));

/// Files past this size are refused: positions are 32 bits wide, and no person wrote them.
const LARGEST_FILE: u64 = 256 << 20;

/// Why a file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    Unreadable { path: String, reason: String },
    NotUtf8 { path: String, line: usize, byte: usize },
}

impl LoadError {
    /// The reason alone, without the path.
    pub fn reason(&self) -> String {
        match self {
            LoadError::Unreadable { reason, .. } => reason.clone(),
            LoadError::NotUtf8 { line, byte, .. } => {
                format!("its text is not UTF-8 (line {line}, byte {byte} of the file)")
            }
        }
    }
}

/// A compiler's own mistake: a stage broke an invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InternalBug {
    pub stage: &'static str,
    pub message: String,
}

pub struct Session {
    pub db: Database,
    files: Vec<SourceFile>,
    by_path: HashMap<PathBuf, SourceFile>,
    /// … and the other way round.
    paths: HashMap<SourceFile, PathBuf>,
    /// The folder that a file's imports are relative to.
    folders: HashMap<SourceFile, PathBuf>,
    /// The files whose text is an editor's, whatever the disk has.
    buffers: FxHashSet<SourceFile>,
    /// Texts that stand for others, which they are not.
    aside: FxHashSet<SourceFile>,
    /// Files that have been read and cannot be any more, and why.
    gone: HashMap<SourceFile, String>,
    notices: Mutex<Vec<Diagnostic<Span>>>,
}

impl Default for Session {
    fn default() -> Self {
        Session::new(Database::default())
    }
}

impl Session {
    /// A session with the prelude loaded.
    pub fn new(db: Database) -> Session {
        let mut files = vec![];
        for (path, text) in FILES {
            files.push(
                SourceFile::builder(
                    ModuleId(files.len() as u32),
                    path.to_string(),
                    text.to_string(),
                    true,
                    BTreeMap::new(),
                )
                .durability(salsa::Durability::HIGH)
                .new(&db),
            );
        }
        let _: Prelude = Prelude::builder(files.clone()).durability(salsa::Durability::HIGH).new(&db);
        Session {
            db,
            files,
            by_path: HashMap::new(),
            paths: HashMap::new(),
            folders: HashMap::new(),
            buffers: FxHashSet::default(),
            aside: FxHashSet::default(),
            gone: HashMap::new(),
            notices: Mutex::default(),
        }
    }

    /// Reads a file and what it imports.
    pub fn load(&mut self, path: &Path) -> Result<SourceFile, LoadError> {
        let text = read(path)?;
        let file = self.register(path.display().to_string(), folder_of(path), text);
        self.place(path, file);
        self.follow_imports(file);
        Ok(file)
    }

    /// A file whose text comes from elsewhere; its imports are relative to `folder`.
    pub fn load_text(&mut self, shown: &str, folder: &Path, text: String) -> SourceFile {
        let file = self.register(shown.to_owned(), folder.to_owned(), text);
        self.follow_imports(file);
        file
    }

    /// Replaces a file's text.
    pub fn set_text(&mut self, file: SourceFile, text: String) {
        if file.text(&self.db) != text {
            file.set_text(&mut self.db).to(text);
        }
        self.follow_imports(file);
    }

    fn register(&mut self, shown: String, folder: PathBuf, text: String) -> SourceFile {
        let module = ModuleId(self.files.len() as u32);
        let file = SourceFile::new(&self.db, module, shown, text, false, BTreeMap::new());
        self.files.push(file);
        self.folders.insert(file, folder);
        file
    }

    /// Loads what `first` imports, directly and through others. Files are read here, not in queries.
    fn follow_imports(&mut self, first: SourceFile) {
        let mut todo = vec![first];
        while let Some(file) = todo.pop() {
            let paths: Vec<String> = parse(&self.db, file)
                .defs(&self.db)
                .iter()
                .filter(|d| d.kind(&self.db) == DefKind::Import)
                .map(|d| d.name(&self.db).to_string())
                .collect();
            let folder = self.folders.get(&file).cloned().unwrap_or_default();
            let mut targets = BTreeMap::new();
            for path in paths {
                let at = folder.join(&path);
                let target = match self.known(&at) {
                    Some(file) => match self.gone.get(&file) {
                        None => ImportTarget::File(file),
                        Some(reason) => ImportTarget::Unreadable(reason.clone()),
                    },
                    None => match read(&at) {
                        Ok(text) => {
                            let file = self.register(at.display().to_string(), folder_of(&at), text);
                            self.place(&at, file);
                            todo.push(file);
                            ImportTarget::File(file)
                        }
                        Err(e) => ImportTarget::Unreadable(e.reason()),
                    },
                };
                targets.insert(path, target);
            }
            if *file.imports(&self.db) != targets {
                file.set_imports(&mut self.db).to(targets);
            }
        }
    }

    /// The files that were read, by their paths without links.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.by_path.keys().map(PathBuf::as_path)
    }

    /// Keeps a warning about something beside the program that a device came upon.
    pub fn notice(&self, d: Diagnostic<Span>) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if !notices.contains(&d) {
            notices.push(d);
        }
    }

    /// The warnings that were kept, once each.
    pub fn notices(&self) -> Vec<Diagnostic<Span>> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The file of a module, which every span names.
    pub fn file(&self, module: ModuleId) -> Option<SourceFile> {
        self.files.get(module.0 as usize).copied()
    }

    /// The path and text of a module, as messages show them.
    pub fn source(&self, module: ModuleId) -> Option<(&str, &str)> {
        let file = self.file(module)?;
        Some((file.path(&self.db), file.text(&self.db)))
    }

    pub fn prelude(&self) -> &[SourceFile] {
        Prelude::get(&self.db).files(&self.db)
    }

    /// The forms of a file, in the order of the text.
    pub fn defs(&self, file: SourceFile) -> &[Def<'_>] {
        parse(&self.db, file).defs(&self.db)
    }

    /// The files that a file imports, directly and through others, and itself: imported ones first.
    pub fn modules(&self, file: SourceFile) -> Vec<SourceFile> {
        let mut order = vec![];
        let mut seen = FxHashSet::default();
        let mut todo = vec![(file, false)];
        while let Some((f, done)) = todo.pop() {
            if done {
                order.push(f);
            } else if seen.insert(f) {
                todo.push((f, true));
                let targets = names::imports(&self.db, f);
                todo.extend(targets.iter().rev().filter_map(|(_, t)| Some(((*t)?, false))));
            }
        }
        order
    }

    /// What is wrong with a program: its imports first, each file in the order of the text, without repetition, and
    /// of what is more than a person reads how much it is ([`most`]).
    pub fn diagnostics(&self, file: SourceFile) -> Vec<Diagnostic<Span>> {
        let db = &self.db;
        let mut all = vec![];
        let mut prelude: FxHashSet<Def> = FxHashSet::default();
        let mut todo: Vec<Def> = vec![];
        for module in self.modules(file) {
            if module != file && self.is_no_program(module) {
                continue;
            }
            let mut here = parse(db, module).diagnostics(db).to_vec();
            for &def in self.defs(module) {
                here.extend(self.definition_diagnostics(def));
                if def.kind(db).namespace().is_some() {
                    todo.extend(cycles::edges(db, def));
                }
            }
            let (alone, explained) = alone::alone(self, module);
            let is_explained = |d: &Diagnostic<Span>| {
                let (start, end) = position(d);
                explained.iter().any(|form| form.start <= start && end <= form.end)
            };
            here.retain(|d| !is_explained(d));
            here.extend(self.module_diagnostics(module));
            here.extend(alone);
            here.sort_by_key(position);
            all.extend(here);
        }
        // The prelude has no errors of its own once it is built; while it is being changed, those that
        // the program runs into are shown.
        while let Some(def) = todo.pop() {
            if def.file(db).prelude(db) && prelude.insert(def) {
                all.extend(self.definition_diagnostics(def));
                todo.extend(cycles::edges(db, def));
            }
        }
        let mut unique: Vec<Diagnostic<Span>> = vec![];
        let mut seen = FxHashSet::default();
        for d in all {
            if seen.insert(d.clone()) {
                unique.push(d);
            }
        }
        most::most(unique)
    }

    /// Whether a file is wrong, and has no definition and no import: some other text, of which nothing is to be shown to
    /// whoever runs a program that imports it.
    fn is_no_program(&self, file: SourceFile) -> bool {
        let db = &self.db;
        let defs = self.defs(file);
        let is_expression = |d: &Def<'_>| matches!(d.kind(db), DefKind::Expr | DefKind::Error);
        defs.iter().all(is_expression)
            && (parse(db, file).diagnostics(db).iter().any(Diagnostic::is_error)
                || defs.iter().any(|d| check(db, *d).diagnostics.iter().any(Diagnostic::is_error)))
    }

    fn definition_diagnostics(&self, def: Def<'_>) -> Vec<Diagnostic<Span>> {
        let file = def.file(&self.db);
        check(&self.db, def)
            .diagnostics
            .iter()
            .map(|d| d.clone().map_locations(|loc| self.span(file, def, &loc)))
            .collect()
    }

    /// Duplicates, imports that cannot be followed, and types that contain themselves.
    fn module_diagnostics(&self, module: SourceFile) -> Vec<Diagnostic<Span>> {
        let db = &self.db;
        let mut found = vec![];
        let mut first: BTreeMap<(Namespace, &Name), Def> = BTreeMap::new();
        for &def in self.defs(module) {
            match def.kind(db) {
                DefKind::Import => found.extend(self.import_diagnostic(module, def)),
                DefKind::Error | DefKind::Expr => {}
                kind => {
                    let Some(space) = kind.namespace() else { continue };
                    let name = def.name(db);
                    match first.get(&(space, name)) {
                        Some(earlier) => found.push(
                            Diagnostic::error(
                                codes::DUPLICATE_DEFINITION,
                                format!("`{name}` is defined twice"),
                            )
                            .primary(self.name_span(def), "defined again here")
                            .secondary(self.name_span(*earlier), "first defined here")
                            .help("give one of the two another name"),
                        ),
                        None => {
                            first.insert((space, name), def);
                        }
                    }
                    if kind == DefKind::Type {
                        found.extend(self.type_cycle(module, def));
                    }
                }
            }
        }
        // What two imported files, or an imported file and this one, both define.
        for &(import, target) in names::imports(db, module) {
            let Some(target) = target else { continue };
            if target == module {
                continue;
            }
            for &def in self.defs(target) {
                let Some(space) = def.kind(db).namespace() else { continue };
                if def.kind(db) == DefKind::Expr {
                    continue;
                }
                match first.get(&(space, def.name(db))) {
                    Some(earlier) if earlier.file(db) != target => found.push(
                        Diagnostic::error(
                            codes::DUPLICATE_DEFINITION,
                            format!("`{}` is defined twice", def.name(db)),
                        )
                        .primary(self.item_span(import), format!("this import brings in `{}`", def.name(db)))
                        .secondary(self.name_span(*earlier), "defined here")
                        .secondary(self.name_span(def), "and here")
                        .help("give one of the two another name"),
                    ),
                    Some(_) => {}
                    None => {
                        first.insert((space, def.name(db)), def);
                    }
                }
            }
        }
        found
    }

    /// A type that mentions itself; of several that mention each other, the first is reported.
    fn type_cycle(&self, module: SourceFile, def: Def<'_>) -> Option<Diagnostic<Span>> {
        let db = &self.db;
        let path = cycles::edges(db, def).into_iter().find_map(|t| cycles::recursion(db, def, t))?;
        // Of a large circle another definition has the path.
        if path.is_empty() {
            return None;
        }
        let earlier = self.defs(module).iter().take_while(|d| **d != def);
        if earlier.filter(|d| d.kind(db) == DefKind::Type).any(|d| path.contains(&d.global(db))) {
            return None;
        }
        let names: Vec<String> = path.iter().skip(1).map(|g| format!("`{g}`")).collect();
        let names = cycles::abridged(names);
        let name = def.name(db);
        Some(
            Diagnostic::error(codes::RECURSIVE_TYPE, format!("the type `{name}` is defined by itself"))
                .primary(
                    self.name_span(def),
                    format!("`{name}` mentions {}", names.join(", which mentions ")),
                )
                .help(
                    "a type's name is replaced by the type wherever it stands, so it cannot contain itself",
                ),
        )
    }

    fn import_diagnostic(&self, module: SourceFile, import: Def<'_>) -> Option<Diagnostic<Span>> {
        let db = &self.db;
        let path = import.name(db);
        let span = self.item_span(import);
        match module.imports(db).get(path.as_str())? {
            ImportTarget::Unreadable(reason) => Some(
                Diagnostic::error(codes::IMPORT_UNREADABLE, format!("cannot import \"{path}\": {reason}"))
                    .primary(span, "imported here")
                    .note(format!("the path is relative to the folder of `{}`", visible(module.path(db)))),
            ),
            ImportTarget::File(target) if self.is_no_program(*target) => Some(
                Diagnostic::error(
                    codes::IMPORT_UNREADABLE,
                    format!("cannot import \"{path}\": it is no program that defines anything"),
                )
                .primary(span, "imported here")
                .help(format!("`remc check {}` shows what is wrong with it", visible(target.path(db)))),
            ),
            ImportTarget::File(target) => {
                let back = names::import_path(db, *target, module)?;
                // Of the files of a circle, the one that was loaded first reports it.
                if back.iter().any(|f| f.module(db) < module.module(db)) {
                    return None;
                }
                let chain: Vec<String> =
                    std::iter::once(module).chain(back).map(|f| visible(f.path(db)).to_string()).collect();
                let chain = cycles::abridged(chain);
                Some(
                    Diagnostic::error(codes::IMPORT_CYCLE, format!("`{}` imports itself", module.path(db)))
                        .primary(span, "this import leads back here")
                        .note(format!("the imports are {}", chain.join(" → ")))
                        .help("move what both files need into a third that both import"),
                )
            }
        }
    }

    /// Where a location of the definition `def` of `file` is in the text.
    pub fn span(&self, file: SourceFile, def: Def<'_>, loc: &Loc) -> Span {
        match loc {
            Loc::Node(node) => def.map(&self.db).span(*node).unwrap_or(Span {
                module: file.module(&self.db),
                start: 0,
                end: 0,
            }),
            Loc::Global(global) => match names::def_of(&self.db, file, global) {
                Some(def) => self.name_span(def),
                None => self.item_span(def),
            },
        }
    }

    /// The span of a node of a global definition, for run-time errors.
    pub fn node_span(&self, global: &GlobalId, node: NodeId) -> Option<Span> {
        let file = self.file(global.module)?;
        let def = names::def_of(&self.db, file, global)?;
        def.map(&self.db).span(node)
    }

    /// The whole form.
    pub fn item_span(&self, def: Def<'_>) -> Span {
        let module = def.file(&self.db).module(&self.db);
        def.map(&self.db).item.unwrap_or(Span { module, start: 0, end: 0 })
    }

    /// The name that a form defines, where it is defined.
    pub fn name_span(&self, def: Def<'_>) -> Span {
        let name = match &def.item(&self.db).kind {
            ItemKind::Define { name, .. }
            | ItemKind::Entry { name, .. }
            | ItemKind::DefineType { name, .. }
            | ItemKind::Primitive { name, .. } => Some(name.id),
            _ => None,
        };
        name.and_then(|id| def.map(&self.db).span(id)).unwrap_or_else(|| self.item_span(def))
    }

    /// Runs the verifier on every definition of a program.
    pub fn verify(&self, program: &LinkedProgram, file: SourceFile) -> Result<(), InternalBug> {
        let _timed = self.db.timings().enter(Stage::Verify);
        for definition in &program.order {
            // What several values have in common is no definition of a file.
            let wrong =
                names::def_of(&self.db, file, &definition.name).and_then(|d| broken(&self.db, d).clone());
            if let Some(message) = wrong {
                return Err(InternalBug { stage: Stage::Verify.info().name, message });
            }
        }
        Ok(())
    }

    /// What the given definitions of a file need.
    pub fn link(&self, file: SourceFile, roots: &[Def<'_>]) -> LinkedProgram {
        link(&self.db, file, roots)
    }

    /// The same, and a definition that is the tuple of them: its name.
    pub fn link_together(&self, file: SourceFile, values: &[Def<'_>]) -> (LinkedProgram, GlobalId) {
        link_together(&self.db, file, values)
    }

    /// The definition that is the file's value: its last expression.
    pub fn value(&self, file: SourceFile) -> Option<Def<'_>> {
        self.defs(file).iter().rev().copied().find(|d| d.kind(&self.db) == DefKind::Expr)
    }

    /// The file's expressions, in the order of the text; the last is its value.
    pub fn expressions(&self, file: SourceFile) -> Vec<Def<'_>> {
        self.defs(file).iter().copied().filter(|d| d.kind(&self.db) == DefKind::Expr).collect()
    }

    /// Everything in a file that has a value, in the order of the text.
    pub fn value_defs(&self, file: SourceFile) -> Vec<Def<'_>> {
        let is_value = |d: &Def<'_>| d.kind(&self.db).namespace() == Some(Namespace::Values);
        self.defs(file).iter().copied().filter(is_value).collect()
    }

    /// Modules before this one are the prelude's.
    pub fn first_user_module(&self) -> ModuleId {
        ModuleId(FILES.len() as u32)
    }

    /// The type of a definition or primitive of the prelude.
    pub fn prelude_type(&self, global: &GlobalId) -> Option<ArrTy> {
        use remc_typed::verify::Globals;
        let file = *self.prelude().first()?;
        GlobalTypes { db: &self.db, file }.ty(global)
    }

    /// The entries of a file, in the order of the text.
    pub fn entries(&self, file: SourceFile) -> Vec<Def<'_>> {
        self.defs(file).iter().copied().filter(|d| d.kind(&self.db) == DefKind::Entry).collect()
    }
}

/// Orders a file's diagnostics by their primary label.
fn position(d: &Diagnostic<Span>) -> (u32, u32) {
    d.labels
        .iter()
        .find(|l| l.primary)
        .or(d.labels.first())
        .map_or((u32::MAX, u32::MAX), |l| (l.loc.start, l.loc.end))
}

fn folder_of(path: &Path) -> PathBuf {
    // What comes through a pipe is of nowhere: it imports from where the command runs.
    if std::fs::metadata(path).is_ok_and(|meta| is_pipe(&meta)) {
        return PathBuf::new();
    }
    path.parent().map(Path::to_owned).unwrap_or_default()
}

/// Whether a file is read once, from its beginning: what a shell makes of `<(…)`, or `/dev/stdin` behind a `|`.
fn is_pipe(meta: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_fifo(&meta.file_type());
    #[cfg(not(unix))]
    return !meta.is_file() && !meta.is_dir();
}

/// Reads a source file, or a program from a pipe.
pub fn read(path: &Path) -> Result<String, LoadError> {
    let unreadable = |reason: String| LoadError::Unreadable { path: path.display().to_string(), reason };
    let meta = std::fs::metadata(path).map_err(|e| unreadable(describe_read(&e)))?;
    if meta.is_dir() {
        return Err(unreadable("it is a folder".into()));
    }
    let pipe = is_pipe(&meta);
    if !meta.is_file() && !pipe {
        return Err(unreadable("it is no ordinary file".into()));
    }
    let too_large =
        |bytes: u64| unreadable(format!("its {} MiB are more than a source file may have", bytes >> 20));
    if meta.len() > LARGEST_FILE {
        return Err(too_large(meta.len()));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).and_then(|f| f.take(LARGEST_FILE + 1).read_to_end(&mut bytes));
    opened.map_err(|e| unreadable(describe_read(&e)))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    decode(&path.display().to_string(), bytes)
}

/// Text from the bytes of a source file.
pub fn decode(path: &str, bytes: Vec<u8>) -> Result<String, LoadError> {
    // Lines are counted before the bytes are given away.
    let lines: Vec<usize> = if std::str::from_utf8(&bytes).is_err() {
        bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).collect()
    } else {
        vec![]
    };
    remc_syntax::decode(bytes).map_err(|byte| LoadError::NotUtf8 {
        path: path.to_owned(),
        line: lines.partition_point(|i| *i < byte) + 1,
        byte,
    })
}

/// Why a file cannot be written, in a few words.
pub fn describe_write(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "its folder does not exist".into(),
        std::io::ErrorKind::PermissionDenied => "writing it is not permitted".into(),
        std::io::ErrorKind::InvalidInput => "it has no file name".into(),
        std::io::ErrorKind::IsADirectory => "it is a folder".into(),
        _ => e.to_string(),
    }
}

/// Why a file or folder cannot be read, in a few words.
pub fn describe_read(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "reading it is not permitted".into(),
        _ => e.to_string(),
    }
}

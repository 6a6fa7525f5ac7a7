//! What may be written at a place, best first.
//!
//! Candidates are the names that are in scope there, the prelude's, and forms. They are ordered by how the letters that
//! are typed stand in them; then by whether their type fits where the place is: the atom and the rank that the function
//! around it asks for; then by how near they are defined; then by length.

use crate::common::COMMON;
use crate::context::{Context, Wanted};
use crate::hover::documentation;
use crate::names::{Sort, Written, name_span, names};
use crate::snippets::SNIPPETS;
use crate::types::{arguments, is_base, parameters, types};
use crate::{Completion, CompletionKind, Edit, Ide};
use remc_base::{ArrTy, AtomTy, BaseTy, Name, ShapeItem, Span};
use remc_driver::names::{DefKind, Namespace, lookup, prelude_scope, scope};
use remc_driver::queries::scheme;
use remc_driver::{Def, SourceFile};
use remc_syntax::forms::{Place, SPELLINGS};
use remc_typed::scheme::USES;
use rustc_hash::FxHashSet;

/// As many as are of use to anybody.
const MOST: usize = 200;

struct Candidate<'s> {
    completion: Completion,
    /// The definition that it is, whose documentation is looked up for those that are shown.
    def: Option<Def<'s>>,
    /// How the letters stand in it, whether it fits, how near it is, how rarely it is used, and its length; less is better.
    order: (u8, u8, u8, usize, usize),
}

pub fn completions(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Vec<Completion> {
    let text = ide.text(file);
    let context = Context::at(text, &remc_syntax::tokens(text), offset);
    let (start, end) = context.word;
    let span = Span { module: ide.module(file), start, end };
    let typed = text.get(start as usize..offset as usize).unwrap_or_default().to_owned();
    let mut c =
        Completer { ide, file, offset, span, typed, context, found: Vec::new(), seen: FxHashSet::default() };
    match c.context.wanted {
        Wanted::Nothing => return Vec::new(),
        Wanted::Path => c.paths(),
        Wanted::Label => c.labels(),
        Wanted::Type => {
            c.locals(Sort::Type);
            c.types();
        }
        Wanted::Index => c.locals(Sort::Index),
        Wanted::Expression => {
            c.locals(Sort::Value);
            c.globals();
        }
        Wanted::Head => {
            c.locals(Sort::Value);
            c.globals();
            c.forms();
        }
    }
    c.finish()
}

/// The place among the names that programs use most. A variant of a function, `reduce/zero`, has that of the function: so it
/// comes directly behind it.
fn rarity(name: &str) -> usize {
    let place = |name: &str| COMMON.iter().position(|n| *n == name);
    let stem = name.split(['/', '-']).next().unwrap_or(name);
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    place(stem).or_else(|| place(name)).unwrap_or(COMMON.len())
}

struct Completer<'a, 's> {
    ide: &'a Ide<'s>,
    file: SourceFile,
    offset: u32,
    span: Span,
    typed: String,
    context: Context,
    found: Vec<Candidate<'s>>,
    seen: FxHashSet<String>,
}

impl<'s> Completer<'_, 's> {
    fn finish(mut self) -> Vec<Completion> {
        self.found
            .sort_by(|a, b| a.order.cmp(&b.order).then_with(|| a.completion.label.cmp(&b.completion.label)));
        self.found.truncate(MOST);
        let documented = |c: Candidate<'s>| {
            let mut completion = c.completion;
            if let Some(def) = c.def
                && let Some(entry) = self.ide.documented(def)
            {
                completion.documentation = documentation(self.ide, def, &entry);
            }
            completion
        };
        self.found.into_iter().map(documented).collect()
    }

    /// How the typed letters stand in a name: at its front, behind a dash, anywhere; `None` if they do not.
    fn letters(&self, name: &str) -> Option<u8> {
        let (name, typed) = (name.to_lowercase(), self.typed.to_lowercase());
        if name == typed {
            return Some(0);
        }
        if name.starts_with(&typed) {
            return Some(1);
        }
        if name.match_indices(['-', '/', '>']).any(|(at, _)| name[at + 1..].starts_with(&typed)) {
            return Some(2);
        }
        crate::outline::has_letters(&name, &typed).then_some(3)
    }

    fn add(
        &mut self,
        label: &str,
        kind: CompletionKind,
        detail: String,
        (fits, far): (u8, u8),
        def: Option<Def<'s>>,
    ) {
        let Some(letters) = self.letters(label) else { return };
        if !self.seen.insert(label.to_owned()) {
            return;
        }
        let edit = Edit { span: self.span, text: label.to_owned() };
        let completion = Completion {
            label: label.to_owned(),
            kind,
            detail,
            documentation: String::new(),
            edit,
            snippet: false,
        };
        let order = (letters, fits, far, if def.is_some() { rarity(label) } else { 0 }, label.len());
        self.found.push(Candidate { completion, def, order });
    }

    /// What is bound around the place, the innermost first.
    fn locals(&mut self, sort: Sort) {
        let db = &self.ide.session.db;
        let Some(def) = self.ide.def_at(self.file, self.offset) else { return };
        let (names, map) = (names(db, def), def.map(db));
        let known = types(db, def).clone();
        let at = self.offset;
        let mut here: Vec<(u32, usize)> = Vec::new();
        for (k, b) in names.binders.iter().enumerate() {
            // A size is a number in an expression, too; a type names sizes.
            let fits = match sort {
                Sort::Type => b.sort == Sort::Type,
                Sort::Index => b.sort == Sort::Index,
                _ => b.sort == Sort::Value || b.sort == Sort::Index && !b.name.is_at(),
            };
            let spans = b.seen.iter().filter_map(|n| map.span(*n));
            let around = spans.filter(|s| s.start <= at && at <= s.end).map(|s| s.end - s.start).min();
            // The name that is being typed is none of its own candidates.
            let typed = name_span(db, def, b.node, &b.name).is_some_and(|s| s.start <= at && at <= s.end);
            if let (true, false, Some(width)) = (fits, typed, around) {
                here.push((width, k));
            }
        }
        here.sort_by_key(|(width, k)| (*width, std::cmp::Reverse(*k)));
        for (_, k) in here {
            let b = &names.binders[k];
            let ty = known.as_ref().and_then(|t| t.local(b.owner, &b.name));
            let detail = match (ty, b.sort, b.written) {
                (Some(ty), Sort::Value, _) => ty.to_string(),
                (None, Sort::Value, Written::Type | Written::Rank) => {
                    let span = map.span(b.node);
                    let written = span.map(|s| self.ide.slice(s)).unwrap_or_default();
                    written.trim_matches(['[', ']']).trim_start_matches(b.name.as_str()).trim().to_owned()
                }
                (_, Sort::Index, _) => "a size".to_owned(),
                (_, Sort::Type, _) => "a type".to_owned(),
                _ => String::new(),
            };
            let kind = if b.sort == Sort::Value { CompletionKind::Local } else { CompletionKind::Size };
            let fits = match (b.sort, ty) {
                (Sort::Value, Some(ty)) => self.fits(ty),
                (Sort::Value, None) => self.fits_written(&detail),
                _ if sort == Sort::Value => 2,
                _ => 0,
            };
            self.add(b.name.as_str(), kind, detail, (fits, 0), None);
        }
    }

    fn globals(&mut self) {
        let db = &self.ide.session.db;
        let own = scope(db, self.file);
        let mut all: Vec<(u8, Def<'s>)> = own.values.values().map(|d| (1, *d)).collect();
        all.extend(prelude_scope(db).values.values().map(|d| (2, *d)));
        let here = self.ide.def_at(self.file, self.offset);
        for (far, def) in all {
            let name = def.name(db).as_str();
            // Other uses of a name are written by that name; a definition that is not finished is not used in itself.
            if USES.iter().any(|(_, others)| others.contains(&name))
                || here == Some(def)
                || self.letters(name).is_none()
            {
                continue;
            }
            let Some(scheme) = scheme(db, def).clone() else {
                let kind = if crate::outline::is_function(def.item(db)) {
                    CompletionKind::Function
                } else {
                    CompletionKind::Value
                };
                self.add(name, kind, String::new(), (2, far), None);
                continue;
            };
            let function = arguments(&scheme).is_some();
            let kind = match (def.kind(db), function) {
                (DefKind::Entry, _) => CompletionKind::Entry,
                (_, true) => CompletionKind::Function,
                _ => CompletionKind::Value,
            };
            let fits =
                if self.context.wanted == Wanted::Head { u8::from(!function) } else { self.fits(&scheme.ty) };
            self.add(name, kind, scheme.ty.to_string(), (fits, far), Some(def));
        }
    }

    fn types(&mut self) {
        let db = &self.ide.session.db;
        for base in BaseTy::ALL {
            // The two that everybody means.
            let far = [BaseTy::F64, BaseTy::I64].iter().position(|b| *b == base).unwrap_or(2) as u8;
            self.add(base.name(), CompletionKind::Type, "a type of the language".into(), (0, far), None);
        }
        let own: Vec<Def<'s>> = scope(db, self.file).types.values().copied().collect();
        for def in own {
            let ty =
                remc_driver::queries::alias(db, def).as_ref().map(|a| a.ty.to_string()).unwrap_or_default();
            self.add(def.name(db).as_str(), CompletionKind::Type, ty, (0, 0), Some(def));
        }
        for head in remc_syntax::forms::TYPE_HEADS.iter().filter(|h| **h != "A") {
            self.add(head, CompletionKind::Form, "in parentheses".into(), (1, 2), None);
        }
    }

    fn forms(&mut self) {
        let top = self.context.frames.len() == 1;
        for (keyword, place, text) in SNIPPETS {
            let here = match place {
                Place::TopLevel => top,
                Place::Definition | Place::Expression | Place::Type => true,
            };
            let spelt = SPELLINGS.iter().filter(|(_, k)| k == keyword).map(|(s, _)| *s);
            let letters = spelt.chain([*keyword]).filter_map(|s| self.letters(s)).min();
            let Some(letters) = letters.filter(|_| here) else { continue };
            if !self.seen.insert((*keyword).to_owned()) {
                continue;
            }
            let grammar = remc_syntax::forms::form(keyword).map_or("", |f| f.grammar).replace('`', "");
            let completion = Completion {
                label: (*keyword).to_owned(),
                kind: CompletionKind::Form,
                detail: grammar,
                documentation: String::new(),
                edit: Edit { span: self.span, text: (*text).to_owned() },
                snippet: true,
            };
            // At the top a definition is what is begun most often; elsewhere it is not.
            let fits = if top == matches!(place, Place::TopLevel | Place::Definition) { 0 } else { 1 };
            self.found.push(Candidate { completion, def: None, order: (letters, fits, 0, 0, keyword.len()) });
        }
    }

    fn labels(&mut self) {
        let db = &self.ide.session.db;
        for def in self.ide.session.defs(self.file) {
            for o in names(db, *def).occurrences.iter().filter(|o| o.sort == Sort::Label) {
                let typed = name_span(db, *def, o.node, &o.name)
                    .is_some_and(|s| s.start <= self.offset && self.offset <= s.end);
                if !typed {
                    self.add(
                        o.name.as_str(),
                        CompletionKind::Field,
                        "a field".into(),
                        (u8::from(!o.binds), 0),
                        None,
                    );
                }
            }
        }
    }

    /// Programs and folders beside the file.
    fn paths(&mut self) {
        let (folder, typed) = match self.typed.rsplit_once('/') {
            Some((folder, last)) => (folder.to_owned(), last.to_owned()),
            None => (String::new(), self.typed.clone()),
        };
        let Some(own) = self.ide.session.path_of(self.file) else { return };
        let Some(at) = own.parent().map(|p| p.join(&folder)) else { return };
        let begin = self.span.start + (self.typed.len() - typed.len()) as u32;
        self.span.start = begin;
        self.typed = typed;
        let mut entries: Vec<std::path::PathBuf> =
            std::fs::read_dir(at).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        for path in entries.into_iter().take(1000) {
            let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else { continue };
            let is_program = path.extension().is_some_and(|e| e == "remora") && path != own;
            if path.is_dir() && !name.starts_with('.') {
                self.add(&format!("{name}/"), CompletionKind::File, "a folder".into(), (1, 0), None);
            } else if is_program {
                self.add(&name, CompletionKind::File, "a program".into(), (0, 0), None);
            }
        }
    }

    /// What the function around the place asks for there.
    fn asked(&self) -> Option<ArrTy> {
        if self.context.wanted != Wanted::Expression {
            return None;
        }
        let innermost = self.context.frames.last()?;
        let frame = self.context.application().filter(|f| *f == innermost)?;
        let name = Name::new(frame.head.as_deref()?);
        let def = lookup(&self.ide.session.db, self.file, Namespace::Values, name)?;
        let scheme = scheme(&self.ide.session.db, def).clone()?;
        let params = arguments(&scheme)?;
        params.get(frame.before.checked_sub(1)?).or(params.last()).cloned()
    }

    /// 0: as it is asked for; 1: nothing is asked for, or it may be; 2: it is of another kind.
    fn fits(&self, ty: &ArrTy) -> u8 {
        let function = parameters(ty).is_some();
        match (self.context.wanted, self.asked()) {
            (Wanted::Head, _) => u8::from(!function),
            (_, None) => 1 + u8::from(function),
            (_, Some(asked)) => {
                let wants_function = parameters(&asked).is_some();
                if wants_function != function {
                    // A variable of types may stand for anything, but rarely does for a function.
                    return 2;
                }
                if function {
                    let count = |t: &ArrTy| parameters(t).map(|(p, _)| p.len());
                    return u8::from(count(&asked) != count(ty));
                }
                // A shape variable may stand for no axis.
                let rank =
                    |t: &ArrTy| t.shape.items().iter().filter(|i| matches!(i, ShapeItem::Dim(_))).count();
                match (&asked.atom, &ty.atom) {
                    (AtomTy::Base(a), AtomTy::Base(b)) if a != b => 2,
                    // Every function is lifted; one of lower rank than it is asked for fits nowhere.
                    _ if rank(ty) < rank(&asked) => 2,
                    _ => 0,
                }
            }
        }
    }

    /// The same by what is written beside a parameter, `[float n]` or `2`.
    fn fits_written(&self, written: &str) -> u8 {
        let Some(asked) = self.asked() else { return 1 };
        if parameters(&asked).is_some() {
            return u8::from(!written.contains('→') && !written.contains("->"));
        }
        let least = asked.shape.items().iter().filter(|i| matches!(i, ShapeItem::Dim(_))).count();
        let rank = match written.parse::<usize>() {
            Ok(rank) => rank,
            Err(_) if written.is_empty() => return 1,
            Err(_) => written.trim_matches(['[', ']']).split_whitespace().count().saturating_sub(1),
        };
        let atom = written.trim_matches(['[', ']']).split_whitespace().next().unwrap_or_default();
        let other = matches!(&asked.atom, AtomTy::Base(b) if is_base(&Name::new(atom)) && b.name() != atom);
        if rank < least || other { 2 } else { 0 }
    }
}

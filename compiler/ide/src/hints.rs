//! What is inferred, shown in the text: the types of parameters and of what a `let` binds, of results, and the frames of
//! applications that are lifted.
//!
//! A hint that can be written has edits, and only where the text would mean the same with it: types of any elements have
//! binders of their own, and a size may have the name of something that the definition uses.

use crate::names::{Names, Sort, Target, Written, name_span, names};
use crate::types::{Types, parameters, types};
use crate::{Edit, Hint, Ide};
use remc_base::{ArrTy, AtomTy, Name, NodeId, Span};
use remc_driver::{Def, SourceFile};
use remc_syntax::ast::{ExprKind, Item, ItemKind};
use remc_syntax::token::TokenKind;
use std::ops::Range;

pub fn hints(ide: &Ide<'_>, file: SourceFile, range: Range<u32>) -> Vec<Hint> {
    let db = &ide.session.db;
    let mut found = Vec::new();
    for def in ide.session.defs(file) {
        let item = ide.session.item_span(*def);
        if item.end < range.start || range.end < item.start {
            continue;
        }
        let Some(types) = types(db, *def).clone() else { continue };
        let of = Of { ide, def: *def, names: names(db, *def), types: &types };
        of.binders(&mut found);
        of.result(&mut found);
        of.frames(&mut found);
    }
    found.retain(|h| range.contains(&h.offset));
    found.sort_by_key(|h| h.offset);
    found
}

struct Of<'a, 's> {
    ide: &'a Ide<'s>,
    def: Def<'s>,
    names: &'a Names,
    types: &'a Types,
}

impl Of<'_, '_> {
    fn binders(&self, found: &mut Vec<Hint>) {
        let db = &self.ide.session.db;
        for b in self.names.binders.iter().filter(|b| b.sort == Sort::Value) {
            if matches!(b.written, Written::Type | Written::Elsewhere) {
                continue;
            }
            let Some(ty) = self.types.local(b.owner, &b.name) else { continue };
            // What functions take is shown at their parameters.
            if parameters(ty).is_some() {
                continue;
            }
            let (Some(name), Some(whole)) =
                (name_span(db, self.def, b.node, &b.name), self.def.map(db).span(b.node))
            else {
                continue;
            };
            let shown = ty.to_string();
            let edits = match self.may_write(ty) {
                // `[x 1]` or `x` of a function becomes `[x τ]`.
                true if b.parameter => {
                    vec![Edit { span: whole, text: format!("[{} {shown}]", b.name) }]
                }
                _ => Vec::new(),
            };
            let offset = if b.written == Written::Rank { whole.end - 1 } else { name.end };
            let tooltip = format!("`{}` has the type `{shown}`", b.name);
            found.push(Hint { offset, label: format!(": {shown}"), tooltip, edits });
        }
    }

    /// The result of a definition that is a function, behind its head.
    fn result(&self, found: &mut Vec<Hint>) {
        let db = &self.ide.session.db;
        let Some(function) = written_as_function(self.def.item(db)) else { return };
        let open = self.names.functions.iter().find(|(node, _)| *node == function);
        let Some((node, _)) = open else { return };
        let Some((_, ret)) = self.types.nodes.get(node).and_then(parameters) else { return };
        let Some(offset) = self.head_end() else { return };
        let shown = ret.to_string();
        let edits = match self.may_write(ret) {
            true => vec![Edit {
                span: Span { start: offset, end: offset, module: self.ide.module(self.def.file(db)) },
                text: format!(" : {shown}"),
            }],
            false => Vec::new(),
        };
        let tooltip = format!("the result has the type `{shown}`");
        found.push(Hint { offset, label: format!(": {shown}"), tooltip, edits });
    }

    /// Where the head `(f x …)` of the definition ends.
    fn head_end(&self) -> Option<u32> {
        let item = self.ide.session.item_span(self.def);
        let text = self.ide.slice(item);
        let tokens = remc_syntax::tokens(text);
        // `(define (f x) …)`, and not `(define f (λ (x) …))`.
        let first = tokens.tokens.get(2).filter(|t| matches!(t.kind, TokenKind::Open(_)))?;
        let pairs = crate::outline::brackets(&tokens);
        let (_, end) = pairs.into_iter().find(|(start, _)| *start == first.start)?;
        Some(item.start + end)
    }

    /// The frames of applications of functions that take more than scalars, or are the program's own.
    fn frames(&self, found: &mut Vec<Hint>) {
        let db = &self.ide.session.db;
        for (call, func) in &self.names.calls {
            let Some(frame) = self.types.frames.get(call) else { continue };
            let Some(span) = self.def.map(db).span(*func) else { continue };
            let cells = self.types.nodes.get(func).and_then(parameters);
            let of_scalars = cells.is_some_and(|(params, _)| params.iter().all(|p| p.shape.is_scalar()));
            let o = self.names.occurrences.iter().find(|o| o.node == *func && !o.binds);
            let own = o.is_some_and(|o| match self.ide.meaning(self.def, o) {
                crate::Meaning::Global(d) => !d.file(db).prelude(db),
                crate::Meaning::Local(..) => true,
                _ => false,
            });
            if of_scalars && !own {
                continue;
            }
            let tooltip = format!("applied to each cell of the frame `{frame}`");
            found.push(Hint { offset: span.end, label: format!("over {frame}"), tooltip, edits: Vec::new() });
        }
    }

    /// Whether a type can be written in the definition without another meaning for anything in it.
    fn may_write(&self, ty: &ArrTy) -> bool {
        let mut names = Vec::new();
        if !free(ty, &mut names) {
            return false;
        }
        // A size that the type binds must be nothing that the definition uses from outside.
        let bound = |name: &Name| self.names.binders.iter().any(|b| b.sort == Sort::Index && b.name == *name);
        if self.names.explicit && !names.iter().all(bound) {
            return false;
        }
        names.iter().all(|name| {
            let used = |o: &&crate::names::Occurrence| o.name == *name;
            self.names.occurrences.iter().filter(used).all(|o| match o.target {
                Target::Local(b) => self.names.binders[b].sort == Sort::Index,
                _ => false,
            })
        })
    }
}

/// The function that a definition is written as, `(define (f x) …)`.
fn written_as_function(item: &Item) -> Option<NodeId> {
    let mut value = match &item.kind {
        ItemKind::Define { value, .. } | ItemKind::Entry { value, .. } => value,
        _ => return None,
    };
    loop {
        match &*value.kind {
            ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => value = body,
            ExprKind::Lam { .. } => return Some(value.id),
            _ => return None,
        }
    }
}

/// Gathers the names of the sizes in a type; `false` if it has a part that cannot be written without binders.
fn free(ty: &ArrTy, names: &mut Vec<Name>) -> bool {
    let AtomTy::Base(_) = ty.atom else { return false };
    let mut plain = true;
    for item in ty.shape.items() {
        match item {
            remc_base::ShapeItem::Dim(d) => match (d.as_constant(), d.as_var()) {
                (Some(_), _) => {}
                (_, Some(remc_base::DimVar::Rigid(v))) => names.push(v.name.clone()),
                _ => plain = false,
            },
            remc_base::ShapeItem::Var(remc_base::ShapeVar::Rigid(v)) => names.push(v.name.clone()),
            remc_base::ShapeItem::Var(_) => plain = false,
        }
    }
    plain
}

//! The values of definitions, computed once.
//!
//! A definition without parameters is computed when it is typed, or else when something first needs it; from then on its
//! value is an input of what is run. That is so until it, or something that it is made of, is defined anew. What stops when
//! it is computed is left to where it is used: there may be no need of it.

use remc_base::value::Data;
use remc_base::{AtomTy, GlobalId, Sort, Value};
use remc_driver::cycles::edges;
use remc_driver::names::DefKind;
use remc_driver::queries::{check, scheme};
use remc_driver::{Def, Session};

/// So many bytes of values are kept; the oldest go.
const MOST: usize = 1 << 30;

#[derive(Default)]
pub struct Kept {
    all: Vec<One>,
}

struct One {
    name: GlobalId,
    /// Of the texts that it is made of.
    hash: blake3::Hash,
    value: Value,
}

impl Kept {
    pub fn get(&self, session: &Session, def: Def<'_>) -> Option<&Value> {
        let (name, hash) = (def.global(&session.db), hash(session, def));
        self.all.iter().find(|one| one.name == name && one.hash == hash).map(|one| &one.value)
    }

    pub fn put(&mut self, session: &Session, def: Def<'_>, value: Value) {
        let (name, hash) = (def.global(&session.db), hash(session, def));
        self.all.retain(|one| one.name != name);
        self.all.push(One { name, hash, value });
        let mut bytes: usize = self.all.iter().map(|one| size(&one.value)).sum();
        while bytes > MOST {
            bytes -= size(&self.all.remove(0).value);
        }
    }

    /// Only values of what is still defined.
    pub fn retain(&mut self, is_there: impl Fn(&GlobalId) -> bool) {
        self.all.retain(|one| is_there(&one.name));
    }
}

/// The definitions whose values a definition needs and that are worth keeping, each behind what it needs itself.
pub fn needed<'s>(session: &'s Session, target: Def<'s>) -> Vec<Def<'s>> {
    let mut all = under(session, target);
    all.retain(|d| *d != target && is_kept(session, *d));
    all
}

/// Whether the value of a definition is kept: it is data of a known type, and takes more than reading it.
pub fn is_kept(session: &Session, def: Def<'_>) -> bool {
    let db = &session.db;
    if def.kind(db) != DefKind::Value {
        return false;
    }
    let Some(scheme) = scheme(db, def).clone() else { return false };
    let span = session.item_span(def);
    let text = session.source(span.module).and_then(|(_, t)| t.get(span.start as usize..span.end as usize));
    let applies = text.is_some_and(|t| t.matches('(').count() > 1);
    applies && scheme.known.is_none() && is_data(&scheme.ty.atom) && check(db, def).definition.is_some()
}

/// Whether values of a type can be inputs: numbers, tuples of them, and boxes whose sizes are hidden.
fn is_data(atom: &AtomTy) -> bool {
    match atom {
        AtomTy::Base(_) => true,
        AtomTy::Tuple(ty) => ty.fields.iter().all(|(_, t)| is_data(&t.atom)),
        AtomTy::Sigma(ty) => {
            ty.params.iter().all(|p| p.sort == Sort::Dim) && matches!(ty.body.atom, AtomTy::Base(_))
        }
        _ => false,
    }
}

/// A definition and what of the user's it needs, each behind what it needs itself.
fn under<'s>(session: &'s Session, target: Def<'s>) -> Vec<Def<'s>> {
    let db = &session.db;
    let (mut order, mut seen, mut todo) = (Vec::new(), Vec::new(), vec![(target, false)]);
    while let Some((def, done)) = todo.pop() {
        if done {
            order.push(def);
        } else if !seen.contains(&def) && !def.file(db).prelude(db) {
            seen.push(def);
            todo.push((def, true));
            todo.extend(edges(db, def).into_iter().map(|d| (d, false)));
        }
    }
    order
}

fn hash(session: &Session, def: Def<'_>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for def in under(session, def) {
        let span = session.item_span(def);
        let text = session.source(span.module).map_or("", |(_, text)| text);
        let text = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        hasher.update(&span.module.0.to_le_bytes()).update(&text.len().to_le_bytes()).update(text.as_bytes());
    }
    hasher.finalize()
}

/// How many bytes a value takes, more or less.
fn size(value: &Value) -> usize {
    match &value.data {
        Data::Tuple(tuples) => tuples.iter().flat_map(|t| t.iter()).map(size).sum(),
        Data::Box(boxes) => boxes.iter().map(|b| size(&b.value) + 32).sum(),
        _ => value.shape.iter().product::<usize>().saturating_mul(8),
    }
}

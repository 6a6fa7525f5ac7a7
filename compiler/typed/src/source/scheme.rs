//! The types of definitions, for their documentation.

use super::layout::{Doc, parens, text};
use super::{Names, Printer};
use crate::scheme::{ExplicitIndex, Scheme};
use remc_base::*;
use rustc_hash::FxHashSet;

/// A definition's type as source, with the `(Val i)` that the type in Typed is without:
///
/// ```text
/// (Π (k m @c) (∀ (t) (→ ([t (+ k m) @c] (Val k)) [t k @c])))
/// ```
pub fn scheme_type(s: &Scheme) -> String {
    let globals = Nothing;
    let mut p = Printer {
        globals: &globals,
        names: Names::default(),
        given: FxHashSet::default(),
        checks: Vec::new(),
    };
    p.scheme(s, &s.ty).render()
}

/// How an explicit instance gives types and indices, `f{t … | i …}`; `None` of what takes neither.
pub fn instance(name: &str, s: &Scheme) -> Option<String> {
    let (indices, inner) = match &s.ty.atom {
        AtomTy::Pi(pi) => (&pi.params[..], &pi.body),
        _ => (&[][..], &s.ty),
    };
    let types = match &inner.atom {
        AtomTy::Forall(q) => &q.params[..],
        _ => &[],
    };
    if indices.is_empty() && types.is_empty() {
        return None;
    }
    let index = |e: &ExplicitIndex| match e {
        ExplicitIndex::Param(k) => indices.get(*k).map(|v| v.name.to_string()).unwrap_or_default(),
        ExplicitIndex::Derived(name, _) => name.to_string(),
    };
    let mut parts = vec![String::new()];
    parts.extend(types.iter().map(|t| t.var.name.to_string()));
    parts.push("|".to_owned());
    parts.extend(s.explicit.iter().map(index));
    let written = parts.join(" ");
    Some(format!("{name}{{{}}}", if types.is_empty() { &written } else { written.trim_start() }))
}

struct Nothing;

impl super::Globals for Nothing {
    fn scheme(&self, _: &GlobalId) -> Option<std::sync::Arc<Scheme>> {
        None
    }
}

impl Printer<'_> {
    /// The type under the binders that were printed.
    fn scheme(&mut self, s: &Scheme, ty: &ArrTy) -> Doc {
        match (&ty.atom, ty.shape.is_scalar()) {
            (AtomTy::Pi(pi), true) => {
                let names = pi.params.iter().map(|v| text(self.names.bind_index(v))).collect();
                parens(2, vec![text("Π"), parens(1, names), self.scheme(s, &pi.body)])
            }
            (AtomTy::Forall(q), true) => {
                let names = q.params.iter().map(|v| self.type_binder(v)).collect();
                parens(2, vec![text("∀"), parens(1, names), self.scheme(s, &q.body)])
            }
            (AtomTy::Fn(f), true) => {
                let mut params: Vec<Doc> = f.params.iter().map(|p| self.ty(p)).collect();
                for (at, index) in &s.vals {
                    let val = parens(2, vec![text("Val"), self.index(index)]);
                    params.insert((*at).min(params.len()), val);
                }
                let ret = self.result(s, &f.ret);
                parens(2, vec![text("→"), parens(1, params), ret])
            }
            // A function of `Val` parameters alone is its result in Typed.
            _ if !s.vals.is_empty() => {
                let params =
                    s.vals.iter().map(|(_, i)| parens(2, vec![text("Val"), self.index(i)])).collect();
                let ret = self.result(s, ty);
                parens(2, vec![text("→"), parens(1, params), ret])
            }
            _ => self.ty(ty),
        }
    }

    fn result(&mut self, s: &Scheme, ty: &ArrTy) -> Doc {
        match &s.known {
            Some(known) => parens(2, vec![text("Val"), self.index(known)]),
            None => self.ty(ty),
        }
    }
}

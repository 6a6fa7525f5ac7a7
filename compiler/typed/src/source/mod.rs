//! Typed as source: the program with everything that was inferred, to be read and pasted back.
//!
//! ```text
//! (define (mean xs)                       (define (mean{(t num) | n} [xs [t (+ n 1)]]) : (Quot t)
//!   (/ (reduce + xs) (length xs)))    ⇒     (/{t |} (reduce{t | n [] []} +{t |} xs)
//!                                             (: (reify-dimension (+ n 1)) t)))
//! ```
//!
//! Written: the type of every parameter, every ∀ and Π instance, every opened box, every index that
//! comes from data. Not written, since checking again finds them anew: frames; and the checks of a
//! program that may stop, which a comment tells of. The text means what the Typed term means, node for node, with these forms
//! for what has none of its own:
//!
//! | Typed | source |
//! | --- | --- |
//! | an `i-app`, a `t-app` of it | `f{τ … \| i …}`, the indices that the name's scheme asks for |
//! | a `let` after a `let` | `let*` |
//! | an `if` in an `if`'s second branch | `cond` |
//! | `lift` of several integers | a `lift-int` for each |
//! | a number at another type than `int`, `float` | a suffix, `3i32`, or `(: 3 t)` |
//! | a dim that may be negative, as a number | a difference of two |
//!
//! Variables that Typed tells apart by id have names that differ wherever both are in scope.

mod expr;
mod layout;
mod literal;
mod names;
mod scheme;
mod types;
mod unbox;

use crate::ir::*;
use crate::scheme::Scheme;
use layout::{Doc, Style, braces, brackets, parens, text, together};
use names::Names;
use remc_base::*;
use rustc_hash::FxHashSet;
use std::sync::Arc;

pub use scheme::{instance, scheme_type};

/// Before the name of a definition of the prelude, means that definition, whatever hides the name.
pub const PRELUDE: &str = "prelude:";

/// What the text calls the definitions that it uses.
pub trait Globals {
    /// The scheme of a definition of the prelude. One that is printed has its binders in the order of
    /// its type.
    fn scheme(&self, global: &GlobalId) -> Option<Arc<Scheme>>;

    /// The name of a definition that is printed.
    fn name(&self, global: &GlobalId) -> String {
        global.name.to_string()
    }

    /// Whether a definition that is printed hides the prelude's of that name.
    fn is_hidden(&self, _name: &str) -> bool {
        false
    }
}

/// What a definition is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Define,
    Entry,
    /// The body alone, of one that has no name in the program.
    Expression,
}

/// The source of a definition, without a line end at its end. The comment above it has the checks that
/// the program makes as it runs.
pub fn definition(def: &Definition, item: Item, globals: &dyn Globals) -> String {
    let mut p = Printer { globals, names: Names::default(), given: FxHashSet::default(), checks: Vec::new() };
    if let (Item::Entry, Some(entry)) = (item, &def.entry) {
        p.given.extend(entry.params.iter().map(|(name, _)| name.to_string()));
    }
    p.reserve_globals(&def.body);
    let name = globals.name(&def.name);
    let doc = match (item, &def.entry) {
        (Item::Entry, Some(entry)) => p.entry(&name, entry, &def.body),
        (Item::Expression, _) => p.expr(&def.body),
        _ => match p.function(&name, &def.body) {
            Some((head, ret, body)) => parens(3, vec![text("define"), head, ret, body]),
            None => {
                let ty = p.ty(&def.ty);
                parens(3, vec![text("define"), text(name), of_type(ty), p.expr(&def.body)])
            }
        },
    };
    let mut out = String::new();
    for (fact, why) in &p.checks {
        out.push_str(&format!("; Checked as it runs: {fact} ({why})\n"));
    }
    out.push_str(&doc.render());
    out
}

pub(crate) struct Printer<'a> {
    globals: &'a dyn Globals,
    names: Names,
    /// The names of an entry's parameters, which are not for us to choose.
    given: FxHashSet<String>,
    /// Each fact that is checked, once, and what first needs it.
    checks: Vec<(String, String)>,
}

/// `: τ`
fn of_type(ty: Doc) -> Doc {
    together(vec![text(":"), ty])
}

/// What stands under checks.
fn under_checks(mut e: &Expr) -> &Expr {
    while let ExprKind::Check { body, .. } = &*e.kind {
        e = body;
    }
    e
}

impl Printer<'_> {
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.names.enter();
        let out = f(self);
        self.names.leave(mark);
        out
    }

    /// No variable may hide a definition that the body mentions, or that its printed forms use.
    fn reserve_globals(&mut self, body: &Expr) {
        let mut todo = vec![body];
        while let Some(e) = todo.pop() {
            match &*e.kind {
                ExprKind::Global(g) => self.names.reserve(&self.global(g)),
                ExprKind::ReifyDim(_) | ExprKind::ReifyShape(_) => self.names.reserve(&self.prelude("-")),
                ExprKind::Lift { kind: LiftKind::Dims, .. } => self.names.reserve(&self.prelude("index")),
                _ => {}
            }
            todo.extend(e.children());
        }
    }

    fn global(&self, g: &GlobalId) -> String {
        match self.globals.scheme(g) {
            Some(_) => self.prelude(g.name.as_str()),
            None => self.globals.name(g),
        }
    }

    /// The prelude's definition of a name.
    fn prelude(&self, name: &str) -> String {
        match self.given.contains(name) || self.globals.is_hidden(name) {
            true => format!("{PRELUDE}{name}"),
            false => name.to_owned(),
        }
    }

    /// What stands under checks, which are noted.
    fn unchecked<'e>(&mut self, mut e: &'e Expr) -> &'e Expr {
        while let ExprKind::Check { fact, why, body } = &*e.kind {
            let fact = match fact {
                Fact::NonNegative(d) => {
                    let (more, less): (Vec<_>, Vec<_>) = d.terms().iter().cloned().partition(|t| t.1 > 0);
                    let less = Dim::from_terms(less).scale(-1);
                    format!("{} ≥ {}", self.dim(&Dim::from_terms(more)), self.dim(&less))
                }
                Fact::Equal(p, q) => format!("{} = {}", self.dim(p), self.dim(q)),
            };
            if !self.checks.iter().any(|(f, _)| *f == fact) {
                self.checks.push((fact, why.replace(['\n', '\r'], " ")));
            }
            e = body;
        }
        e
    }

    /// `[x τ]`
    fn param(&mut self, l: &Local) -> Doc {
        let ty = self.ty(&l.ty);
        brackets(Style::Head(2), vec![text(self.names.bind_value(l.var, &l.name)), ty])
    }

    /// The parts of a function definition: `(f{t … | i …} [x τ] …)`, `: τ`, the body.
    /// The binders stay bound. `None` if the expression is no function with its binders in that order.
    fn function(&mut self, name: &str, e: &Expr) -> Option<(Doc, Doc, Doc)> {
        let (indices, inner) = match &*under_checks(e).kind {
            ExprKind::ILam { params, body } => (params.as_slice(), body),
            _ => (&[][..], e),
        };
        let (types, lambda) = match &*under_checks(inner).kind {
            ExprKind::TLam { params, body } => (params.as_slice(), body),
            _ => (&[][..], inner),
        };
        let ExprKind::Lam { params, body } = &*under_checks(lambda).kind else { return None };
        let mut head = vec![self.binders(name, types, indices)];
        for checked in [e, inner, lambda] {
            self.unchecked(checked);
        }
        head.extend(params.iter().map(|l| self.param(l)));
        let ret = self.ty(&body.ty);
        Some((parens(1, head), of_type(ret), self.expr(body)))
    }

    /// `f`, `f{t … | i …}`
    fn binders(&mut self, name: &str, types: &[TParam], indices: &[IVar]) -> Doc {
        if types.is_empty() && indices.is_empty() {
            return text(name);
        }
        let types = types.iter().map(|p| self.type_binder(p)).collect();
        braces(name, types, indices.iter().map(|v| text(self.names.bind_index(v))).collect())
    }

    /// The parameters have the names by which a caller gives them.
    fn entry(&mut self, name: &str, entry: &EntrySignature, body: &Expr) -> Doc {
        let (indices, lambda) = match &*under_checks(body).kind {
            ExprKind::ILam { params, body } => (params.as_slice(), body),
            _ => (&[][..], body),
        };
        let ExprKind::Lam { params, body } = &*under_checks(lambda).kind else { return self.expr(body) };
        for (name, _) in &entry.params {
            self.names.reserve(name.as_str());
        }
        let mut head = vec![self.binders(name, &[], indices)];
        self.unchecked(lambda);
        for (k, (local, (name, _))) in params.iter().zip(&entry.params).enumerate() {
            let ty = match local.ty.shape.items().split_first() {
                Some((ShapeItem::Dim(n), item)) if entry.streams.contains(&k) => {
                    let item = self.ty(&ArrTy::new(local.ty.atom.clone(), Shape(item.to_vec())));
                    parens(2, vec![text("Stream"), item, self.index(&Index::Dim(n.clone()))])
                }
                _ => self.ty(&local.ty),
            };
            let name = text(self.names.bind_value_as(local.var, name));
            head.push(brackets(Style::Head(2), vec![name, ty]));
        }
        let ret = of_type(self.ty(&body.ty));
        parens(3, vec![text("entry"), parens(1, head), ret, self.expr(body)])
    }
}

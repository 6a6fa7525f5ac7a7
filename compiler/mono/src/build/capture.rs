//! What functions mention.

use crate::build::env::newest_in;
use crate::build::val::{Closure, Fun, Val};
use crate::ir::Atom;
use remc_base::VarId;
use remc_base::ids::Id;
use remc_explicit::ir::{Expr, ExprKind};
use rustc_hash::FxHashSet;

/// Whether a function mentions a variable of Mono with a number from `first` on.
pub(crate) fn mentions_since(f: &Fun, first: usize) -> bool {
    match f {
        Fun::Op(_) => false,
        Fun::Prim(p) => p.indices.iter().filter_map(newest_in).any(|v| v.index() >= first),
        Fun::Closure(c) => closure(c, first),
    }
}

fn closure(c: &Closure, first: usize) -> bool {
    if c.env.newest_index().is_some_and(|v| v.index() >= first) {
        return true;
    }
    let mut bound = FxHashSet::default();
    let mut free = FxHashSet::default();
    let mut todo: Vec<&Expr> = vec![c.lambda];
    // Binders are unique in a definition: what is bound anywhere inside is not free.
    while let Some(e) = todo.pop() {
        bound.extend(e.binders().into_iter().map(|l| l.var));
        if let ExprKind::Var(v) = &*e.kind {
            free.insert(*v);
        }
        todo.extend(e.children());
    }
    free.difference(&bound).any(|v: &VarId| c.env.get(*v).is_some_and(|v| value(v, first)))
}

fn value(v: &Val, first: usize) -> bool {
    let atom = |a: &Atom| a.as_var().is_some_and(|v| v.index() >= first);
    match v {
        Val::Base(a) => atom(a),
        Val::Tuple { frame, fields } => frame.iter().any(atom) || fields.iter().any(|f| value(f, first)),
        Val::Box(b) => {
            b.witnesses.iter().filter_map(newest_in).any(|v| v.index() >= first) || value(&b.contents, first)
        }
        Val::Boxes { elems, .. } => elems.iter().any(|e| value(e, first)),
        Val::Ragged(r) => r.mentions(first),
        Val::Fns { dims, tags, table } => {
            dims.iter().chain(tags).any(atom) || table.iter().any(|f| mentions_since(f, first))
        }
    }
}

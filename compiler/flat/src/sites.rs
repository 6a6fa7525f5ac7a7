//! A name for each operator: by it, the numbers of its schedule are told from those of others.
//!
//! ```text
//! (define (rows m) (sum/1 (exp m)))      its two operators are "rows:1" and "rows:2"
//! ```
//!
//! As the names of thresholds ([`crate::flatten`]), they are made of the definition of the program that an operator is of
//! and a number among those of that definition, in the order of the program: a comment, or another definition, changes none.
//! An operator in versions that a size chooses between ([`mod@crate::by_size`]) counts once; they are "rows:1", "rows:1@2" and so on.

use crate::by_size;
use crate::ir::*;
use remc_base::{Name, Prov, Provenance};
use rustc_hash::FxHashMap;

/// The names of a program's operators, by the first variable that each binds.
pub fn sites(p: &Program) -> FxHashMap<Var, Name> {
    let mut found = Sites { p, counts: FxHashMap::default(), names: FxHashMap::default() };
    found.body(&p.body);
    found.names
}

struct Sites<'p> {
    p: &'p Program,
    counts: FxHashMap<Name, usize>,
    names: FxHashMap<Var, Name>,
}

impl Sites<'_> {
    fn body(&mut self, b: &Body) {
        for s in &b.stmts {
            if has_kernels(&s.exp) || self.version(&s.exp).is_some() {
                let def = definition(&self.p.name, &self.p.provs, s.prov);
                let count = self.counts.entry(def.clone()).or_default();
                *count += 1;
                let site = format!("{def}:{count}");
                self.versions(s, &site);
                continue;
            }
            s.exp.bodies().into_iter().for_each(|b| self.body(b));
        }
    }

    /// Which version of an operator this chooses, or others.
    fn version(&self, e: &Exp) -> Option<usize> {
        let Exp::Branch { guard, .. } = e else { return None };
        let [test] = guard.tests.as_slice() else { return None };
        by_size::parse(self.p.name.as_str(), test.threshold.as_str()).map(|of| of.version)
    }

    /// Names an operator, and its versions if it is in several.
    fn versions(&mut self, s: &Stmt, site: &str) {
        if let (Exp::Branch { then, otherwise, .. }, Some(k)) = (&s.exp, self.version(&s.exp)) {
            let version = by_size::version(site, k);
            then.stmts.iter().for_each(|s| self.versions(s, &version));
            otherwise.stmts.iter().for_each(|s| self.versions(s, site));
        } else if let (true, Some(v)) = (has_kernels(&s.exp), s.pat.first()) {
            self.names.insert(*v, Name::new(site));
        }
    }
}

/// Whether an expression is one that kernels compute, by itself.
pub(crate) fn has_kernels(e: &Exp) -> bool {
    match e {
        Exp::Seg(_) | Exp::Rows(_) | Exp::Scatter { .. } | Exp::Filters(_) | Exp::Grade { .. } => true,
        Exp::Host(e) => matches!(e, remc_mono::ir::Exp::View { .. } | remc_mono::ir::Exp::Literal { .. }),
        _ => false,
    }
}

/// The innermost definition of the entry's own file that a place is in. Work that the prelude does is of the definition
/// that asked for it.
pub(crate) fn definition(entry: &Name, provs: &Provenance, prov: Prov) -> Name {
    if !provs.contains(prov) {
        return entry.clone();
    }
    let trace = provs.trace(prov);
    let own = trace.last().map(|(g, _)| g.module);
    let inner = trace.into_iter().find(|(g, _)| Some(g.module) == own);
    inner.map_or_else(|| entry.clone(), |(g, _)| g.name)
}

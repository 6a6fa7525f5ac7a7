//! A name for each threshold: what a person writes after `--threshold`, and a tuner into its file.
//!
//! ```text
//! (branch (>= %par "par.outer" 512) …)    ⇒    (branch (>= %par "main/par.outer/price:1" 512) …)
//! ```
//!
//! A name is made of the entry, the kind of the threshold, the definition of the program that the versions are of, and a
//! number among those of that kind and definition, in the order of the program. So it stays what it is where a comment
//! or another definition is edited. Work that the prelude does is of the definition that asked for it.

use super::Threshold;
use crate::ir::*;
use crate::sites::definition;
use remc_base::{Name, Prov, Provenance};
use rustc_hash::FxHashMap;

/// Names each threshold of the program, which still has the name of its kind.
pub(super) fn names(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    let mut names = Names { entry: p.name.clone(), provs: &p.provs, counts: FxHashMap::default() };
    names.body(&mut body);
    p.body = body;
}

struct Names<'p> {
    entry: Name,
    provs: &'p Provenance,
    /// How many there are already of a kind and definition.
    counts: FxHashMap<(Name, Name), usize>,
}

impl Names<'_> {
    fn body(&mut self, b: &mut Body) {
        for s in &mut b.stmts {
            let prov = s.prov;
            if let Exp::Branch { guard, .. } = &mut s.exp {
                guard.tests.iter_mut().for_each(|t| self.test(t, prov));
            }
            s.exp.bodies_mut().into_iter().for_each(|b| self.body(b));
        }
    }

    fn test(&mut self, t: &mut Test, prov: Prov) {
        let def = definition(&self.entry, self.provs, prov);
        let count = self.counts.entry((t.threshold.clone(), def.clone())).or_default();
        *count += 1;
        t.threshold = Name::new(format!("{}/{}/{def}:{count}", self.entry, t.threshold));
    }
}

impl Threshold {
    /// The kind of the threshold of this name, `main/par.outer/price:1` or `par.outer`.
    pub fn of_name(name: &str) -> Option<Threshold> {
        // The name of an entry or a definition may have a `/`, too.
        name.split('/').find_map(|part| Threshold::ALL.into_iter().find(|t| t.name() == part))
    }
}

//! What launches hand to kernels: no kernel is given one piece of memory by two names, unless it only reads both, or they
//! are slices with no row in common.
//!
//! ```text
//! (alias %b %a)            (launch k0 (%a %b))      refused if k0 writes either
//! (slice %b %a 0) (slice %c %a n)    (launch k0 (%b %c))      apart, where `%b` has `n` rows
//! ```

use super::{Race, name_of, written};
use crate::ir::*;
use crate::print;
use remc_base::Prov;
use remc_base::ids::Id;
use rustc_hash::{FxHashMap, FxHashSet};

/// Checks the launches of a plan.
///
/// # Errors
/// The first launch that gives memory twice, of which one is written.
pub(super) fn launches(p: &Program) -> Result<(), Race> {
    let written = written(p);
    let mut names = Names::default();
    let mut open = vec![p.plan.iter()];
    while let Some(stmts) = open.last_mut() {
        let Some(s) = stmts.next() else {
            open.pop();
            continue;
        };
        match &s.kind {
            StmtKind::Alias { buffer, of } => {
                names.of.insert(*buffer, *of);
            }
            StmtKind::Slice { buffer, of, first } => {
                names.of.insert(*buffer, *of);
                if let Some(rows) = p.buffer_ty(*buffer).and_then(|t| t.dims.first()) {
                    names.rows.insert(*buffer, (*first, *rows));
                }
            }
            StmtKind::Launch { kernel, args } => launch(p, s.prov, *kernel, args, &names, &written)?,
            _ => open.extend(s.kind.blocks().into_iter().rev().map(|b| b.iter())),
        }
    }
    Ok(())
}

/// Names of the plan that stand for memory of another name: aliases and slices. Each is bound once, before its uses.
#[derive(Default)]
struct Names {
    /// What an alias or slice is of.
    of: FxHashMap<Var, Var>,
    /// The rows of a slice: the first, and how many.
    rows: FxHashMap<Var, (Atom, Atom)>,
}

impl Names {
    /// A name, what that is of, and so on; the last one is the memory's own.
    fn chain(&self, v: Var) -> impl Iterator<Item = Var> + '_ {
        std::iter::successors(Some(v), |v| self.of.get(v).copied())
    }

    fn root(&self, v: Var) -> Var {
        self.chain(v).last().unwrap_or(v)
    }

    /// Whether two names of one memory have no element in common: they are in slices of the same buffer, of which
    /// one has the first rows, and the other those from where it ends.
    fn apart(&self, a: Var, b: Var) -> bool {
        let before = |x: &Var, y: &Var| match (self.rows.get(x), self.rows.get(y)) {
            (Some((first, rows)), Some((next, _))) => first.as_int() == Some(0) && rows == next,
            _ => false,
        };
        self.chain(a).any(|x| {
            self.chain(b).any(|y| {
                let siblings = self.of.get(&x).is_some_and(|of| self.of.get(&y) == Some(of));
                siblings && (before(&x, &y) || before(&y, &x))
            })
        })
    }
}

fn launch(
    p: &Program,
    prov: Prov,
    id: KernelId,
    args: &[Atom],
    names: &Names,
    written: &[FxHashSet<Var>],
) -> Result<(), Race> {
    let (Some(kernel), Some(written)) = (p.kernels.get(id), written.get(id.index())) else { return Ok(()) };
    // For each piece of memory the parameters that stand for it, and the plan's names.
    let mut seen: FxHashMap<Var, Vec<(Var, Var)>> = FxHashMap::default();
    for (param, a) in kernel.params.iter().zip(args) {
        let Some(name) = a.as_var().filter(|v| p.buffer_ty(*v).is_some()) else { continue };
        let others = seen.entry(names.root(name)).or_default();
        for (other, first) in others.iter() {
            let writes = written.contains(param) || written.contains(other);
            if writes && !names.apart(*first, name) {
                let v = |v| print::var(p, v);
                let message = format!(
                    "the launch of kernel {} gives `{}` and `{}` the same memory, `{}` and `{}`, and one is written",
                    name_of(id, kernel),
                    v(*other),
                    v(*param),
                    v(*first),
                    v(name)
                );
                return Err(Race { kernel: id, buffer: *param, prov, message });
            }
        }
        others.push((*param, name));
    }
    Ok(())
}

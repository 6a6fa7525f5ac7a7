//! The phases of a `scan` loop, and that its body has this form.
//!
//! Of a scan the carried values alone make one iteration wait for another. So its body falls into three:
//! what does not depend on them, the operators that make the next values, and the rest. Several iterations
//! do the first part at once, then the operators, by any scan over their items, then the rest.
//!
//! ```text
//! (for (scan 16) %i … ((%s %r 0 +))
//!   (let %a (load %xs %i)) (let %x (op * %a 2))             before
//!   (let %q (op + %s %x))                                   an operator, of the item %x
//!   (store %exclusive (%i) %s) (store %inclusive (%i) %q)   after
//!   (next %q))
//! ```
//!
//! A statement depends on a carried value if it mentions it or what depends on it, reads memory that is
//! written by a statement that does, or writes memory that is read by one; and if it touches memory after a
//! check that does.

use crate::ir::*;
use crate::memory::mentions;
use rustc_hash::FxHashSet;

/// The statements of a scan in the order in which several iterations at once do them.
pub struct Phases<'p> {
    pub before: Vec<&'p Stmt>,
    /// For each carried value what its operator takes beside the last value.
    pub items: Vec<Atom>,
    pub after: Vec<&'p Stmt>,
}

/// The phases of a scan.
///
/// # Errors
/// The position of a carried value whose next value is not its operator's, of the last value and of an
/// item that does not depend on what the loop carries.
pub fn phases<'p>(carried: &[Carried], body: &'p [Stmt], next: &[Atom]) -> Result<Phases<'p>, usize> {
    let mut d = Dependent { vars: carried.iter().map(|c| c.param).collect(), ..Dependent::default() };
    let mut items: Vec<Option<Atom>> = vec![None; carried.len()];
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for s in body {
        if !d.depends(s) {
            before.push(s);
            continue;
        }
        match step(&s.kind, carried, next).filter(|(_, item)| !d.has(*item)) {
            Some((k, item)) => items[k] = Some(item),
            None => after.push(s),
        }
        d.add(s);
    }
    let items = items.into_iter().enumerate().map(|(k, a)| a.ok_or(k)).collect::<Result<_, _>>()?;
    Ok(Phases { before, items, after })
}

/// The carried value whose next value this statement makes, and of which item.
fn step(s: &StmtKind, carried: &[Carried], next: &[Atom]) -> Option<(usize, Atom)> {
    let StmtKind::Let { var, exp: Exp::Op(op, args) } = s else { return None };
    let [a, b] = args.as_slice() else { return None };
    carried.iter().zip(next).enumerate().find_map(|(k, (c, next))| {
        let param = Atom::Var(c.param);
        let makes = *next == Atom::Var(*var) && c.combine == Some(*op);
        match (makes, *a == param, *b == param) {
            (true, true, false) => Some((k, *b)),
            (true, false, true) => Some((k, *a)),
            _ => None,
        }
    })
}

/// What depends on the carried values, of the statements so far.
#[derive(Default)]
struct Dependent {
    vars: FxHashSet<Var>,
    /// The memory that such statements touch, and write.
    touched: FxHashSet<Var>,
    written: FxHashSet<Var>,
    checked: bool,
}

impl Dependent {
    fn has(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.vars.contains(&v))
    }

    fn depends(&self, s: &Stmt) -> bool {
        let mut yes = false;
        mentions(&s.kind, &mut |v| yes |= self.vars.contains(&v));
        accesses(&s.kind, &mut |buffer, write| {
            yes |= self.checked || self.written.contains(&buffer) || write && self.touched.contains(&buffer);
        });
        yes
    }

    fn add(&mut self, s: &Stmt) {
        accesses(&s.kind, &mut |buffer, write| {
            self.touched.insert(buffer);
            if write {
                self.written.insert(buffer);
            }
        });
        self.checked |= checks(&s.kind);
        match &s.kind {
            StmtKind::Let { var, .. } => {
                self.vars.insert(*var);
            }
            StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => {
                self.vars.extend(carried.iter().map(|c| c.result));
            }
            StmtKind::If { results, .. } => self.vars.extend(results.iter().map(|c| c.var)),
            _ => {}
        }
    }
}

/// The buffers that a statement loads from (`false`) and stores to, inside it too.
fn accesses(s: &StmtKind, f: &mut dyn FnMut(Var, bool)) {
    match s {
        StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } => f(*buffer, false),
        StmtKind::Store { buffer, .. } | StmtKind::Update { buffer, .. } => f(*buffer, true),
        _ => {}
    }
    for inner in s.blocks().into_iter().flatten() {
        accesses(&inner.kind, f);
    }
}

fn checks(s: &StmtKind) -> bool {
    matches!(s, StmtKind::Check { .. }) || s.blocks().into_iter().flatten().any(|s| checks(&s.kind))
}

//! Strip-mining: axes of a program without streams are gone through piece by piece, so that arrays along them need not fit
//! into memory.
//!
//! ```text
//! (let (%x) (map ((%i %n)) …))                  (let (%m) (pull 0 0 (exactly %n)))
//! (let (%y) (scan (%i %n) … %x …))       ⟶      (let (%x) (map ((%i %m)) …))
//! (let (%s) (reduce (%i %n) … %y …))            (let (%y) (scan (%i %m) … %x …))
//!                                               (let (%s) (reduce (%i %m) … %y …))
//! ```
//!
//! The size has another name, which says that the axis is streamed; the rest is [`super::stream`]. Inputs keep their sizes:
//! they are in memory, and read at the place in the whole axis. Which axes these are nobody says: those that most arrays are
//! along are tried first, and each that can be gone through together with those before it is.

use super::{begins, stream, streams};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::{Name, Prov};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many axes are tried.
const MOST: usize = 8;
/// Axes of fewer items are not worth it, where that is known.
const FEW: i64 = 1 << 16;

/// The program with axes gone along piece by piece, if there are any that can be.
pub fn strips(p: &Program) -> Option<Program> {
    if streams(p) || !p.channels.is_empty() {
        return None;
    }
    let (mut named, mut best) = (p.clone(), None);
    let (sizes, base) = candidates(p);
    let mut streamed_sizes: Vec<Atom> = Vec::new();
    for size in sizes.into_iter().take(MOST) {
        // What is so many items longer or shorter goes along the other one.
        let along = size.as_var().and_then(|v| base.get(&v)).is_some_and(|of| streamed_sizes.contains(of));
        let mut with = named.clone();
        if along || rename(&mut with, size).is_none() {
            continue;
        }
        let mut streamed = with.clone();
        if stream(&mut streamed).is_ok() {
            (named, best) = (with, Some(streamed));
            streamed_sizes.push(size);
        }
    }
    best
}

/// The sizes of axes that arrays of the program's own are along first, those of the most arrays first; and of sizes that are
/// so many items longer or shorter than another one, which that is.
fn candidates(p: &Program) -> (Vec<Atom>, FxHashMap<Var, Atom>) {
    /// What the statements of a body on the host bind, those of its branches and loops, too.
    fn bound(body: &Body, out: &mut Vec<Var>) {
        for s in &body.stmts {
            out.extend(&s.pat);
            if matches!(s.exp, Exp::If { .. } | Exp::For { .. } | Exp::While { .. }) {
                s.exp.bodies().into_iter().for_each(|b| bound(b, out));
            }
        }
    }
    let mut base: FxHashMap<Var, Atom> = FxHashMap::default();
    p.body.for_each_stmt(&mut |s| {
        if let (Exp::Op(ScalarOp::Add | ScalarOp::Sub, args), [v]) = (&s.exp, &s.pat[..])
            && let [of @ Atom::Var(w), Atom::Const(_)] = args[..]
        {
            base.insert(*v, base.get(&w).copied().unwrap_or(of));
        }
    });
    let mut all = Vec::new();
    bound(&p.body, &mut all);
    let mut found: Vec<(Atom, usize)> = Vec::new();
    for v in all {
        let Some(size) = p.vars[v].ty.dims.first() else { continue };
        if size.as_int().is_some_and(|n| n < FEW) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| known == size) {
            Some((_, many)) => *many += 1,
            None => found.push((*size, 1)),
        }
    }
    let is_base = |size: &Atom| !size.as_var().is_some_and(|v| base.contains_key(&v));
    found.sort_by_key(|(size, many)| std::cmp::Reverse((is_base(size), *many)));
    (found.into_iter().map(|(size, _)| size).collect(), base)
}

/// Gives a size another name, that of a streamed axis, from where it is known. `None` of a size that is counted
/// together with the items themselves.
fn rename(p: &mut Program, size: Atom) -> Option<()> {
    let at = match size {
        Atom::Var(v) if !p.params.contains(&v) => {
            let k = p.body.stmts.iter().position(|s| s.pat.contains(&v))?;
            p.body.stmts[k].pat.iter().all(|v| p.vars[*v].ty.is_scalar()).then_some(k + 1)?
        }
        _ => 0,
    };
    let name: Name = match size {
        Atom::Var(v) => p.vars[v].name.clone(),
        Atom::Const(_) => "items".into(),
    };
    let prov = p.body.stmts.get(at).map_or(Prov(0), |s| s.prov);
    let channel = p.channels.len();
    p.channels.push(Channel { name, arrays: Vec::new(), input: None, output: None });
    let streamed = p.fresh("items", Ty::int());
    let own: FxHashSet<Var> = p.body.binders().into_iter().collect();
    let mut to = |a: &mut Atom| {
        if *a == size {
            *a = streamed.into();
        }
    };
    own.iter().for_each(|v| p.vars[*v].ty.dims.iter_mut().for_each(&mut to));
    let before: Vec<Stmt> = p.body.stmts.drain(..at).collect();
    p.body.replace_atoms(&mut to);
    let exp = Exp::Pull { channel, at: Atom::int(0), take: Take::Exactly(size) };
    let begin = Stmt { pat: vec![streamed], exp, prov };
    p.body.stmts.splice(0..0, before.into_iter().chain([begin]));
    debug_assert!(begins(p, &p.body.stmts[at]).is_some());
    Some(())
}

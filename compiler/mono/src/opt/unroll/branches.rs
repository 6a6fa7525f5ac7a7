//! Branches that give a few items give them as scalars.
//!
//! ```text
//! (let (%r) (if %c                                       (let (%x %y) (if %c
//!   (then (let (%a) (literal (2) %p %q)) (give %a))  ⟶     (then (give %p %q))
//!   (else (give %zeros))))                                 (else (give 0. 0.))))
//!                                                        (let (%r) (literal (2) %x %y))
//! ```
//!
//! As an array the result would have memory, and the branch would stay one where elements run side by side, though both its
//! ways are quick ([`super::super::choose`]).

use crate::ir::*;
use rustc_hash::FxHashMap;

/// More items stay an array.
const ITEMS: usize = 8;

/// The items of literals in scope.
type Literals = FxHashMap<Var, Vec<Atom>>;

/// Does that in iterations.
pub(super) fn as_scalars(p: &mut Program, body: &mut Body, known: &mut Literals, inside: bool) {
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for mut s in std::mem::take(&mut body.stmts) {
        let inside = inside || !matches!(s.exp, Exp::If { .. });
        for b in s.exp.bodies_mut() {
            as_scalars(p, b, known, inside);
        }
        if let (Exp::Literal { elems, .. }, [v]) = (&s.exp, &s.pat[..])
            && elems.len() <= ITEMS
        {
            known.insert(*v, elems.clone());
        }
        let literals = if inside { split(p, &mut s, known) } else { Vec::new() };
        stmts.push(s);
        for s in &literals {
            if let Exp::Literal { elems, .. } = &s.exp {
                known.insert(s.pat[0], elems.clone());
            }
        }
        stmts.extend(literals);
    }
    body.stmts = stmts;
}

/// Has a branch give scalars in the place of literals, from which these are made behind it.
fn split(p: &mut Program, s: &mut Stmt, known: &Literals) -> Vec<Stmt> {
    let Exp::If { then, otherwise, .. } = &mut s.exp else { return Vec::new() };
    let mut made = Vec::new();
    for k in (0..s.pat.len()).rev() {
        let ty = p.ty(s.pat[k]).clone();
        let Some(items) = elements(&ty.dims).filter(|n| ty.rank() > 0 && (1..=ITEMS).contains(n)) else {
            continue;
        };
        let given = |b: &Body| b.results[k].as_var().and_then(|v| known.get(&v)).cloned();
        let (Some(a), Some(b)) = (given(then), given(otherwise)) else { continue };
        let scalars: Vec<Var> = (0..items).map(|_| p.fresh("x", Ty::scalar(ty.base))).collect();
        then.results.splice(k..=k, a);
        otherwise.results.splice(k..=k, b);
        let elems = scalars.iter().map(|v| Atom::Var(*v)).collect();
        let array = s.pat.splice(k..=k, scalars).collect();
        made.push(Stmt { pat: array, exp: Exp::Literal { dims: ty.dims, elems }, prov: s.prov });
    }
    made
}

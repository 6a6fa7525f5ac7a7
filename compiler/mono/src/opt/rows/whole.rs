//! Joined rows that are joined again, all of them as they are, are what they were.
//!
//! ```text
//! (let (%ns %all %starts %xs) (join (%i %k) 1 … (give %n %row)))
//! (let (%all' %starts' %ys)                          ⟶      %all' = %all, %starts' = %starts, %ys = %xs
//!   (join (%r %k) 0
//!     (let (%m) (index %ns %r)) (let (%s) (index %starts %r))
//!     (let (%row') (map ((%j %m)) (let (%at) (op + %j %s)) (let (%x) (index %xs %at)) (give %x)))
//!     (give %row')))
//! ```
//!
//! A join leaves no gaps between its rows, so they are the whole vector. `(concat (unbox …))` is such a program.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashMap;

/// What the results of the join that statement `k` is are, if its rows are those of joins before it.
pub(super) fn rows(p: &Program, body: &Body, k: usize) -> Option<FxHashMap<Var, Atom>> {
    let Stmt { pat, exp: Exp::Join { axis, regular: 0, body: inner }, .. } = &body.stmts[k] else {
        return None;
    };
    if inner.can_stop() {
        return None;
    }
    let mut with = FxHashMap::default();
    for (parts, row) in pat.chunks(3).zip(&inner.results) {
        let of = body.stmts[..k].iter().find_map(|s| same(p, s, *axis, inner, *row))?;
        with.extend(parts.iter().copied().zip(of.map(Atom::Var)));
    }
    Some(with)
}

/// The parts of the join that a statement is whose row of the same point this is.
fn same(p: &Program, s: &Stmt, axis: Axis, inner: &Body, row: Atom) -> Option<[Var; 3]> {
    let Stmt { pat, exp: Exp::Join { axis: over, regular, body }, .. } = s else { return None };
    if over.size != axis.size {
        return None;
    }
    let made = |v: Atom| inner.stmts.iter().find(|s| s.pat.iter().copied().map(Atom::Var).eq([v]));
    let at_point = |v: Atom, array: Var| {
        let is = |s: &Stmt| matches!(&s.exp, Exp::Index { array: a, at } if *a == array && at[..] == [axis.var.into()]);
        made(v).is_some_and(is)
    };
    let Exp::Map { axes, body: elements } = &made(row)?.exp else { return None };
    let [along] = axes[..] else { return None };
    let [
        Stmt { pat: at, exp: Exp::Op(ScalarOp::Add, args), .. },
        Stmt { pat: x, exp: Exp::Index { array, at: place }, .. },
    ] = &elements.stmts[..]
    else {
        return None;
    };
    let start = match args[..] {
        [a, b] if a == along.var.into() => b,
        [a, b] if b == along.var.into() => a,
        _ => return None,
    };
    let reads = at.iter().copied().map(Atom::Var).eq(place.iter().copied());
    if !reads || !x.iter().copied().map(Atom::Var).eq(elements.results.iter().copied()) {
        return None;
    }
    let (own, joined) = pat.split_at(*regular);
    let (parts, given) =
        joined.chunks(3).zip(&body.results[*regular..]).find(|(parts, _)| parts[2] == *array)?;
    // The row's own size, which is one of the join's other results.
    let [size] = p.atom_ty(*given).dims[..] else { return None };
    let said = own.iter().zip(&body.results).filter(|(_, r)| **r == size);
    let sized = said.map(|(v, _)| *v).any(|v| at_point(along.size, v));
    (sized && at_point(start, parts[1])).then(|| [parts[0], parts[1], parts[2]])
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use crate::opt::shorthand::{after, program, shape};

    const PARAMS: &str = "(%k int) (%ks int %k)";

    /// Rows that others read, too, joined again: of the join's own sizes, starts and elements, or of others.
    fn again(size: &str, start: &str) -> String {
        let body = format!(
            "(let ((%ns int %k) (%all int) (%starts int %k) (%xs int %all)) (join (%i %k) 1
               (let ((%n int)) (index %ks %i)) (let ((%row int %n)) (map ((%j %n)) (give %j))) (give %n %row)))
             (let ((%all2 int) (%starts2 int %k) (%ys int %all2)) (join (%r %k) 0
               (let ((%m int)) (index {size} %r)) (let ((%s int)) (index {start} %r))
               (let ((%again int %m)) (map ((%q %m))
                 (let ((%at int)) (op + %q %s)) (let ((%x int)) (index %xs %at)) (give %x)))
               (give %again)))
             (give %xs %ys)"
        );
        shape(&after(program(PARAMS, 2, &body), &[rows]))
    }

    #[test]
    fn all_rows_joined_again_are_what_they_were() {
        assert_eq!(again("%ns", "%starts"), "join:4(map1)");
    }

    #[test]
    fn other_parts_of_the_elements_are_joined() {
        assert_eq!(again("%ks", "%starts"), "join:4(map1) join:3(map1)");
        assert_eq!(again("%ns", "%ks"), "join:4(map1) join:3(map1)");
    }
}

//! What is done to each element of joined rows is done in the row.
//!
//! ```text
//! (let (%n %starts %xs)                     (let (%n %starts %ys)
//!   (join ((%i %k)) 0                         (join ((%i %k)) 0
//!     (let (%row) (map ((%j %m)) …))            (let (%row) (map ((%j %m)) …))
//!     (give %row)))                             (let (%of) (map ((%q %m)) (let (%x) (index %row %q)) (let (%y) …) (give %y)))
//! (let (%ys) (map ((%q %n))             ⟶       (give %of)))
//!   (let (%x) (index %xs %q))
//!   (let (%y) …) (give %y)))
//! ```
//!
//! Then fusion makes one map of the two, what is the same for a whole row leaves that, and the elements are stored once. The
//! map reads the rows alone, at its own point, and nobody else reads them; so it does as often what it does. Where a join's
//! rows are items, the vector is reshaped first: `%xs` is `[%n · 3]`, and the map has the axes `[%n' 3]`.

use super::super::fuse::cost;
use crate::ir::*;
use crate::walk::retype;
use rustc_hash::{FxHashMap, FxHashSet};

/// A map over what a join makes.
pub(super) struct Found {
    map: usize,
    /// The statement that arranges the elements as items.
    view: Option<usize>,
    /// The numbers of the join's rows that the map reads.
    rows: Vec<usize>,
    /// The row of a point, of the first of them.
    row: Var,
}

impl Found {
    /// The map, if statement `k` is a join whose rows are read by it alone.
    pub(super) fn of(p: &Program, body: &Body, k: usize) -> Option<Found> {
        let Stmt { pat, exp: Exp::Join { regular, body: inner, .. }, .. } = &body.stmts[k] else {
            return None;
        };
        // As of rows that are made where they are read: the join stays.
        if inner.contains_failing_check() {
            return None;
        }
        let joined = pat[*regular..].chunks(3).zip(&inner.results[*regular..]);
        let joined: Vec<(Var, Option<Var>)> = joined.map(|(parts, own)| (parts[2], own.as_var())).collect();
        let total = |r: usize| Atom::Var(pat[*regular + 3 * r]);
        joined.iter().find_map(|(first, _)| {
            let (mut reader, mut view, mut read) =
                (super::only_mention(body, k, &one(*first))?, None, *first);
            if let Stmt { pat, exp: Exp::View { view: View::Reshape { .. }, .. }, .. } = &body.stmts[reader] {
                (view, read) = (Some(reader), pat[0]);
                reader = super::only_mention(body, reader, &one(read))?;
            }
            let Exp::Map { axes, body: does } = &body.stmts[reader].exp else { return None };
            let numbers: Vec<usize> = match view {
                Some(_) => joined.iter().position(|(data, _)| data == first).into_iter().collect(),
                None => (0..joined.len()).filter(|r| reads(does, axes, joined[*r].0) > 0).collect(),
            };
            let row = joined[*numbers.first()?].1?;
            let dims = &p.ty(row).dims;
            let alike = numbers.iter().all(|r| joined[*r].1.is_some_and(|v| p.ty(v).dims == *dims));
            let items = match view {
                // All of the items: fewer of them are a part of the rows.
                Some(_) => {
                    let all = axes.iter().map(|a| a.size).eq(p.ty(read).dims.iter().copied());
                    all && axes.len() == dims.len()
                        && axes.iter().zip(dims).skip(1).all(|(a, d)| a.size == *d)
                }
                None => axes.len() == 1 && numbers.iter().any(|r| axes[0].size == total(*r)),
            };
            let vectors: Vec<Var> = match view {
                Some(_) => vec![read],
                None => numbers.iter().map(|r| joined[*r].0).collect(),
            };
            let alone = vectors.iter().all(|v| {
                let mut mentions = 0;
                does.for_each_use(&mut |a| mentions += usize::from(a == Atom::Var(*v)));
                mentions == reads(does, axes, *v)
                    && super::only_mention(body, view.unwrap_or(k), &one(*v)) == Some(reader)
            });
            // A map of checks alone makes no rows, in the place of which the join could say how many elements there are.
            let makes = !body.stmts[reader].pat.is_empty();
            // It goes before all between, and a row of it before the next row of the join: of several that stop the program
            // the same one is told, and what a check guards is not read before it.
            let stops = |s: &Stmt| s.exp.can_stop();
            let before_checks =
                is_of_rows_alone(does, axes, &vectors) || !body.stmts[k + 1..reader].iter().any(stops);
            let keeps_order = before_checks && !(inner.can_stop() && does.can_stop());
            let fine = alike
                && makes
                && keeps_order
                && items
                && alone
                && point_is_free(p, does, axes, &vectors)
                && is_there_before(p, body, k, reader, &vectors)
                && cost::body_weight(p, inner) + cost::body_weight(p, does) <= cost::HEAVIEST;
            fine.then_some(Found { map: reader, view, rows: numbers, row })
        })
    }

    /// Puts the map into the join.
    pub(super) fn put(self, p: &mut Program, body: &mut Body, k: usize) {
        let Stmt { pat: made, exp: Exp::Map { axes, body: mut does }, prov } = body.stmts.remove(self.map)
        else {
            return;
        };
        let mut vector = None;
        if let Some(at) = self.view {
            vector = body.stmts.remove(at).pat.first().copied();
        }
        let mut join = body.stmts.remove(k);
        let Exp::Join { regular, body: inner, .. } = &mut join.exp else { return };
        let dims = p.ty(self.row).dims.clone();

        // Over a row's own sizes; what had no axis yet, of a vector of items, gets one.
        let mut own: Vec<Axis> = axes.iter().zip(&dims).map(|(a, n)| Axis { var: a.var, size: *n }).collect();
        for n in &dims[own.len()..] {
            own.push(Axis { var: p.fresh("i", Ty::int()), size: *n });
        }
        let at: Vec<Atom> = own.iter().map(|a| a.var.into()).collect();
        let first = *regular + 3 * self.rows[0];
        let (total, starts) = (join.pat[first], join.pat[first + 1]);
        let mut with: FxHashMap<Var, Atom> = FxHashMap::default();
        let mut rows: FxHashMap<Var, Var> = FxHashMap::default();
        for r in self.rows.iter().rev() {
            let place = *regular + 3 * r;
            let parts: Vec<Var> = join.pat.drain(place..place + 3).collect();
            let Some(row) = inner.results.remove(*regular + r).as_var() else { return };
            rows.insert(vector.unwrap_or(parts[2]), row);
            if parts[0] != total {
                with.extend([(parts[0], total.into()), (parts[1], starts.into())]);
            }
        }
        in_row(&mut does, &rows, &at);

        // The first result has the sizes that there are, and the others the same.
        let mut shaped = Vec::new();
        let mut give = Vec::new();
        for (n, v) in made.into_iter().enumerate() {
            let Ty { base, dims: outer } = p.ty(v).clone();
            let (total, starts) = match n {
                0 => (total, starts),
                _ => {
                    let total = p.fresh("total", Ty::int());
                    let dims = p.ty(starts).dims.clone();
                    (total, p.fresh("starts", Ty { base: remc_base::BaseTy::I64, dims }))
                }
            };
            let data = match n == 0 && outer == [Atom::Var(total)] {
                true => v,
                false => {
                    let data = p.fresh("data", Ty { base, dims: vec![total.into()] });
                    let view = View::Reshape { dims: outer };
                    shaped.push(Stmt { pat: vec![v], exp: Exp::View { view, array: data }, prov });
                    data
                }
            };
            let of_row = p.fresh("row", Ty { base, dims: dims.clone() });
            join.pat.extend([total, starts, data]);
            inner.results.push(of_row.into());
            give.push(of_row);
        }
        inner.stmts.push(Stmt { pat: give, exp: Exp::Map { axes: own, body: does }, prov });
        // Where the map was, its sizes are there.
        let at = self.map - usize::from(self.view.is_some()) - 1;
        body.stmts.splice(at..at, shaped);
        body.stmts.insert(k, join);
        if !with.is_empty() {
            body.substitute(&with);
            retype(p, &body.binders(), &with);
        }
    }
}

fn one(v: Var) -> FxHashSet<Var> {
    std::iter::once(v).collect()
}

/// How often a body reads this array at its own point.
fn reads(body: &Body, axes: &[Axis], of: Var) -> usize {
    let mut found = 0;
    body.for_each_stmt(&mut |s| {
        let at_point = |at: &[Atom]| at.iter().copied().eq(axes.iter().map(|a| Atom::Var(a.var)));
        found += usize::from(matches!(&s.exp, Exp::Index { array, at } if *array == of && at_point(at)));
    });
    found
}

/// Whether a body only computes, of elements of the rows at its own place.
fn is_of_rows_alone(body: &Body, axes: &[Axis], of: &[Var]) -> bool {
    let mut others = 0;
    body.for_each_stmt(&mut |s| others += usize::from(matches!(s.exp, Exp::Index { .. } | Exp::View { .. })));
    !body.can_stop() && others == of.iter().map(|v| reads(body, axes, *v)).sum::<usize>()
}

/// Whether the place along all rows is used for nothing but reading them.
fn point_is_free(p: &Program, body: &Body, axes: &[Axis], of: &[Var]) -> bool {
    let Some(point) = axes.first().map(|a| Atom::Var(a.var)) else { return false };
    let mut mentions = 0;
    body.for_each_use(&mut |a| mentions += usize::from(a == point));
    let typed = body.binders().into_iter().any(|v| p.ty(v).dims.contains(&point));
    !typed && mentions == of.iter().map(|v| reads(body, axes, *v)).sum::<usize>()
}

/// Whether all else that statement `at` mentions is there before the join that statement `k` is.
fn is_there_before(p: &Program, body: &Body, k: usize, at: usize, but: &[Var]) -> bool {
    let late: FxHashSet<Var> = body.stmts[k..at].iter().flat_map(|s| s.pat.iter().copied()).collect();
    let is_late = |a: Atom| a.as_var().is_some_and(|v| late.contains(&v) && !but.contains(&v));
    let Exp::Map { body: does, .. } = &body.stmts[at].exp else { return false };
    let mut fine = true;
    does.for_each_use(&mut |a| fine &= !is_late(a));
    fine && !does.binders().into_iter().any(|v| p.ty(v).dims.iter().any(|d| is_late(*d)))
}

/// Reads of the vectors become reads of the rows.
fn in_row(body: &mut Body, rows: &FxHashMap<Var, Var>, place: &[Atom]) {
    for s in &mut body.stmts {
        if let Exp::Index { array, at } = &mut s.exp
            && let Some(row) = rows.get(array)
        {
            (*array, *at) = (*row, place.to_vec());
        }
        s.exp.bodies_mut().into_iter().for_each(|b| in_row(b, rows, place));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::shorthand::{after, program, shape};
    use super::super::rows;

    /// Two arrays of rows of `%n` items, numbers or vectors.
    fn joined(items: &str) -> String {
        let vectors = |n: &str| if items.is_empty() { String::new() } else { format!("(%w{n} {items})") };
        format!(
            "(let ((%na int) (%sa int %k) (%xs int %na) (%nb int) (%sb int %k) (%ys int %nb)) (join (%i %k) 0
               (let ((%n int)) (index %ns %i))
               (let ((%a int %n {items})) (map ((%j %n) {}) (give %j)))
               (let ((%b int %n {items})) (map ((%h %n) {}) (give %i)))
               (give %a %b)))",
            vectors("a"),
            vectors("b")
        )
    }

    fn put(results: usize, body: &str) -> String {
        shape(&after(program("(%k int) (%ns int %k) (%by int)", results, body), &[rows]))
    }

    #[test]
    fn maps_go_into_the_rows() {
        let one = "(let ((%zs int %na)) (map ((%q %na)) (let ((%x int)) (index %xs %q)) (let ((%z int)) (op * %x %by)) (give %z)))
            (give %na %zs)";
        assert_eq!(put(2, &format!("{} {one}", joined(""))), "join:6(map1 map1 map1)");
        // Both arrays, two results.
        let two = "(let ((%zs int %na) (%us int %na)) (map ((%q %na)) (let ((%x int)) (index %xs %q)) (let ((%y int)) (index %ys %q))
              (let ((%z int)) (op * %x %y)) (give %z %x)))
            (give %nb %zs %us)";
        assert_eq!(put(3, &format!("{} {two}", joined(""))), "join:6(map1 map1 map1:2) view");
        // Items that are rows.
        let items = "(let ((%m int)) (op quotient %na 3)) (let ((%vs int %m 3)) (view (reshape %m 3) %xs))
            (let ((%zs int %m 3)) (map ((%q %m) (%c 3)) (let ((%x int)) (index %vs %q %c)) (let ((%z int)) (op * %x %c)) (give %z)))
            (give %m %zs)";
        assert_eq!(put(2, &format!("{} {items}", joined("3"))), "join:6(map2 map2 map2) view");
    }

    #[test]
    fn a_map_of_checks_leaves_the_sizes_of_the_rows() {
        let checks = "(let () (map ((%q %na)) (let ((%x int)) (index %xs %q)) (let ((%t bool)) (op >= %x 0))
              (let () (check (negative \"x\") %t %x)) (give)))
            (give %na)";
        let text = put(1, &format!("{} {checks}", joined("")));
        assert!(text.starts_with("join:6(map1 map1) map1(check)"), "{text}");
    }

    #[test]
    fn what_is_read_otherwise_stays() {
        let few = "(let ((%m int)) (op quotient %na 3)) (let ((%vs int %m 3)) (view (reshape %m 3) %xs)) (let ((%h2 int)) (op min2 %m 1))
            (let ((%zs int %h2 3)) (map ((%q %h2) (%c 3)) (let ((%x int)) (index %vs %q %c)) (give %x))) (give %h2 %zs)";
        let text = put(2, &format!("{} {few}", joined("3")));
        assert!(text.starts_with("join:6(map2 map2) "), "{text}");
        for reader in [
            // The place counts; another place is read; a part is; the vector is a result; what comes later is needed.
            "(let ((%zs int %na)) (map ((%q %na)) (let ((%x int)) (index %xs %q)) (let ((%z int)) (op * %x %q)) (give %z))) (give %na %zs)",
            "(let ((%zs int %na)) (map ((%q %na)) (let ((%x int)) (index %xs 0)) (give %x))) (give %na %zs)",
            "(let ((%zs int %by)) (map ((%q %by)) (let ((%x int)) (index %xs %q)) (give %x))) (give %by %zs)",
            "(let ((%zs int %na)) (map ((%q %na)) (let ((%x int)) (index %xs %q)) (give %x))) (give %na %xs)",
            "(let ((%f int)) (index %sa 0)) (let ((%zs int %na)) (map ((%q %na)) (let ((%x int)) (index %xs %q)) (let ((%z int)) (op * %x %f)) (give %z))) (give %na %zs)",
        ] {
            let text = put(2, &format!("{} {reader}", joined("")));
            assert!(text.starts_with("join:6(map1 map1)"), "{text}");
        }
    }
}

//! Scatters whose items go to one place after the other: maps into a part of an array.
//!
//! ```text
//! (scatter (%q %n) (%a)                       (map ((%q %n) (%j %m))       into %a, from item %from on
//!   (let (%i) (op + %q %from))                  (let (%i) (op + %q %from))
//!   (let (%row) (map ((%j %m))            =     (let (%x) (index %a %i %j))
//!     (let (%x) (index %a %i %j))               (let (%y) (op * %x 2.0))
//!     (let (%y) (op * %x 2.0))                  (give %y))
//!     (give %y)))
//!   (give %i %row))
//! ```
//!
//! No two items go to one place then, and they may be written in any order. If each element is made of no other element of
//! the array than the one whose place it takes, they may be written while they are read, too.

use crate::ir::*;
use remc_base::ops::ScalarOp;

/// What a scatter of a run of items is as a map.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The place of the first item.
    pub start: Atom,
    /// The axis of the items, then those within one.
    pub axes: Vec<Axis>,
    /// The elements, for each destination one.
    pub values: Body,
    /// The place of an item, in the body.
    place: Atom,
}

impl Run {
    /// Of a scatter that combines nothing, by its axis and body; if its destinations are vectors, items are scalars.
    pub fn of(axis: Axis, body: &Body, vectors: bool) -> Option<Run> {
        let (place, given) = body.results.split_first()?;
        let made = |s: &&Stmt| s.pat.iter().any(|v| Atom::Var(*v) == *place);
        let Exp::Op(ScalarOp::Add, args) = &body.stmts.iter().find(made)?.exp else { return None };
        let index = Atom::Var(axis.var);
        let start = match args[..] {
            [a, b] if b == index && a != index => a,
            [a, b] if a == index && b != index => b,
            _ => return None,
        };
        let inside = body.binders();
        if start.as_var().is_some_and(|v| inside.contains(&v)) {
            return None;
        }
        let values = Body { stmts: body.stmts.clone(), results: given.to_vec() };
        let (inner, values) = if vectors { (Vec::new(), values) } else { elements(values)? };
        Some(Run { start, axes: [&[axis], &inner[..]].concat(), values, place: *place })
    }

    /// Whether each element is made of no other element of these arrays than the one whose place it takes.
    pub fn reads_own_places(&self, dests: &[Var]) -> bool {
        let place: Vec<Atom> =
            std::iter::once(self.place).chain(self.axes[1..].iter().map(|a| a.var.into())).collect();
        let given = self.values.results.iter().any(|a| a.as_var().is_some_and(|v| dests.contains(&v)));
        let fits = |s: &Stmt| match &s.exp {
            Exp::Index { array, at } if dests.contains(array) => *at == place,
            exp => !exp.mentions(|v| dests.contains(&v)),
        };
        !given && self.values.stmts.iter().all(fits)
    }
}

/// The axes of items, and what gives their elements, of a body that ends in a map which makes the item.
fn elements(body: Body) -> Option<(Vec<Axis>, Body)> {
    let Body { mut stmts, results } = body;
    let Stmt { pat, exp: Exp::Map { axes, body }, .. } = stmts.pop()? else { return None };
    let scalar = |s: &Stmt| matches!(s.exp, Exp::Op(..) | Exp::Cast(..) | Exp::Atom(_) | Exp::Index { .. });
    let ([v], [Atom::Var(r)]) = (&pat[..], &results[..]) else { return None };
    if v != r || !stmts.iter().all(scalar) {
        return None;
    }
    stmts.extend(body.stmts);
    Some((axes, Body { stmts, results: body.results }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opt::shorthand::program;

    /// The items that a scatter writes into the square `%a`, as a run, and whether they read their own places alone.
    fn run(items: &str) -> Option<(Run, bool)> {
        let text = format!("(let ((%b int %n %n)) (scatter (%q 3) (%a) {items})) (give %b)");
        let p = program("(%n int) (%k int) (%a int %n %n)", 1, &text);
        let Exp::Scatter { dests, axis, body, .. } = &p.body.stmts.last()?.exp else { return None };
        let run = Run::of(*axis, body, false)?;
        let own = run.reads_own_places(dests);
        Some((run, own))
    }

    const FROM: &str = "(let ((%i int)) (op + %q %k))";

    fn rows(read: &str) -> String {
        format!(
            "{FROM} (let ((%r int %n)) (map ((%j %n)) (let ((%x int)) (index %a {read})) (give %x))) (give %i %r)"
        )
    }

    #[test]
    fn rows_from_one_on() {
        let (run, own) = run(&rows("%i %j")).expect("a run");
        assert_eq!(run.axes.len(), 2);
        assert!(run.start.as_var().is_some() && own);
    }

    #[test]
    fn what_is_read_elsewhere() {
        for read in ["%q %j", "%j %i", "%i %i", "%i %k"] {
            assert_eq!(run(&rows(read)).map(|(_, own)| own), Some(false), "{read}");
        }
    }

    #[test]
    fn places_of_other_kinds_are_no_run() {
        for place in ["(op - %k %q)", "(op + %q %m)", "(op + %q %q)"] {
            let items = format!(
                "(let ((%m int)) (op * %q %q)) (let ((%i int)) {place})
                 (let ((%r int %n)) (map ((%j %n)) (give 0))) (give %i %r)"
            );
            assert_eq!(run(&items), None, "{place}");
        }
        // Nor are rows that are there already.
        let items = format!("{FROM} (let ((%r int %n)) (index %a %q)) (give %i %r)");
        assert_eq!(run(&items), None);
    }
}

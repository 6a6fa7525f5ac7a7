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
//! the array than the one whose place it takes, they may be written while they are read, too. So may rows that stay as they
//! are, or are changed where they are after all else has been read of them ([`OwnRow`]).

use crate::ir::*;
use remc_base::IdVec;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashSet;

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
    /// The array whose rows the items are, changed where they are.
    rows_of: Option<Var>,
}

impl Run {
    /// Of a scatter into these arrays that combines nothing, by its axis and body.
    pub fn of(vars: &IdVec<Var, VarInfo>, dests: &[Var], axis: Axis, body: &Body) -> Option<Run> {
        let vectors = dests.iter().all(|d| vars[*d].ty.rank() == 1);
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
        let rows_of = if vectors { None } else { OwnRow::changed_by(vars, &values, *place) };
        let (inner, values) = match vectors || rows_of.is_some() {
            true => (Vec::new(), values),
            false => elements(values)?,
        };
        Some(Run { start, axes: [&[axis], &inner[..]].concat(), values, place: *place, rows_of })
    }

    /// Whether items are made one by one or by loops, and not of elements that are all made in the same way.
    pub fn is_of_items(&self) -> bool {
        self.axes.len() == 1 && self.rows_of.is_none()
    }

    /// Whether each element is made of no other element of these arrays than the one whose place it takes, or each row
    /// of the row whose place it takes.
    pub fn reads_own_places(&self, dests: &[Var]) -> bool {
        if let Some(array) = self.rows_of {
            return *dests == [array];
        }
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

/// A row of an array, where it is read and changed by a body that gives it.
///
/// ```text
/// (let (%row) (index %a %i))                              the row
/// (let (%x) (index %a %i 7)) …                            reads of it
/// (let (%r) (if %c
///   (then (let (%w) (scatter (%k 2) (%row) …)) (give %w))   changed by the last statement of all
///   (else (give %row))))                                    or as it is
/// (give %r)
/// ```
pub struct OwnRow<'v> {
    vars: &'v IdVec<Var, VarInfo>,
    array: Var,
    place: Atom,
    /// The variables that are the row.
    cells: FxHashSet<Var>,
}

impl OwnRow<'_> {
    /// The array of which a body gives the row at this place, changed where it is on some of its ways at least.
    pub fn changed_by(vars: &IdVec<Var, VarInfo>, body: &Body, place: Atom) -> Option<Var> {
        let [result] = body.results[..] else { return None };
        let mut all: Vec<(Var, Var)> = Vec::new();
        body.for_each_stmt(&mut |s| {
            if let (Exp::Index { array, at }, [v]) = (&s.exp, &s.pat[..])
                && at[..] == [place]
            {
                all.push((*array, *v));
            }
        });
        let array = all.first()?.0;
        let cells = all.into_iter().filter(|(a, _)| *a == array).map(|(_, v)| v).collect();
        (OwnRow { vars, array, place, cells }.is_changed(body, result)? == Changed::Partly).then_some(array)
    }

    fn is_cell(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.cells.contains(&v))
    }

    /// How the last statement of a body changes the row, if the others read nothing else of the array, and it reads nothing
    /// that it has changed before.
    fn is_changed(&self, b: &Body, result: Atom) -> Option<Changed> {
        if self.is_cell(result) {
            return b.stmts.iter().all(|s| self.reads_row(s)).then_some(Changed::Partly);
        }
        let (last, before) = b.stmts.split_last()?;
        if last.pat.iter().map(|v| Atom::Var(*v)).ne([result]) || !before.iter().all(|s| self.reads_row(s)) {
            return None;
        }
        // A scan may run along with what is made of it: it would read what that has written.
        let read_along = || {
            let reads = |s: &Stmt| s.exp.mentions(|v| v == self.array || self.cells.contains(&v));
            before.iter().any(|s| matches!(s.exp, Exp::Scan { .. }) && reads(s))
        };
        let untouched = |exp: &Exp| !exp.mentions(|v| v == self.array || self.cells.contains(&v));
        let inside = |exp: &Exp| {
            exp.bodies()
                .iter()
                .all(|b| !b.free_vars().iter().any(|v| *v == self.array || self.cells.contains(v)))
        };
        match &last.exp {
            Exp::If { then, otherwise, .. } => {
                let branches = [then, otherwise].map(|b| self.is_changed(b, *b.results.first()?));
                let [Some(then), Some(otherwise)] = branches else { return None };
                Some(then.max(otherwise))
            }
            Exp::Scatter { dests, .. } if self.is_cell(dests[0].into()) => {
                inside(&last.exp).then_some(Changed::Partly)
            }
            Exp::For { state, .. } | Exp::While { state, .. } if self.is_cell(state[0].1) => {
                inside(&last.exp).then_some(Changed::Partly)
            }
            Exp::Reduce { op, .. }
                if !op.assoc && op.start.as_ref().is_some_and(|start| self.is_cell(start[0])) =>
            {
                inside(&last.exp).then_some(Changed::Partly)
            }
            Exp::Map { axes, body } => {
                let mut own = vec![self.place];
                own.extend(axes.iter().map(|a| Atom::Var(a.var)));
                let element = |s: &Stmt| match &s.exp {
                    Exp::Index { array, at } if *array == self.array => *at == own,
                    Exp::Index { array, at } if self.cells.contains(array) => *at == own[1..],
                    Exp::Atom(a) if self.is_cell(*a) => false,
                    exp => untouched(exp),
                };
                let scalars = self.vars[self.array].ty.rank() == own.len();
                let own = scalars && body.stmts.iter().all(element) && !read_along();
                own.then_some(Changed::Wholly)
            }
            exp => (untouched(exp) && !read_along()).then_some(Changed::Wholly),
        }
    }

    /// Whether a statement reads nothing of the array but the row.
    fn reads_row(&self, s: &Stmt) -> bool {
        // Part of the row, or the row under another name, would be another when it is read later.
        let scalar = s.pat.iter().all(|v| self.vars[*v].ty.is_scalar() || self.cells.contains(v));
        match &s.exp {
            Exp::Index { array, at } if *array == self.array => at.first() == Some(&self.place) && scalar,
            Exp::Index { array, .. } if self.cells.contains(array) => scalar,
            Exp::Atom(a) if self.is_cell(*a) => false,
            exp => {
                let mut own = false;
                exp.for_each_operand(&mut |a| own |= a == self.array.into());
                let given = |b: &Body| b.results.contains(&self.array.into());
                !own && exp.bodies().iter().all(|b| !given(b) && b.stmts.iter().all(|s| self.reads_row(s)))
            }
        }
    }
}

/// How much of a row is another afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Changed {
    /// All elements are made anew.
    Wholly,
    /// Only those that change are written.
    Partly,
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
        let run = Run::of(&p.vars, dests, *axis, body)?;
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

    #[test]
    fn rows_that_are_changed_where_they_are() {
        let own = |stmts: &str| {
            run(&format!("{FROM} (let ((%row int %n)) (index %a %i)) {stmts}")).map(|(_, own)| own)
        };
        let write = "(let ((%w int %n)) (scatter (%p 1) (%row) (give 0 %k)))";
        assert_eq!(own(&format!("{write} (give %i %w)")), Some(true));
        // What it reads before is the row as it was, or another array.
        assert_eq!(own(&format!("(let ((%x int)) (index %a %i %k)) {write} (give %i %w)")), Some(true));
        assert_eq!(own(&format!("(let ((%x int)) (index %a %k %k)) {write} (give %i %w)")), None);
        // Afterwards, or while it is written, there is none.
        assert_eq!(own(&format!("{write} (let ((%x int)) (index %a %i %k)) (give %i %w)")), None);
        let reading = write.replace("(give 0 %k)", "(let ((%x int)) (index %row %p)) (give 0 %x)");
        assert_eq!(own(&format!("{reading} (give %i %w)")), None);
        // A row that nothing changes is one; one that is made of the row from its end is not.
        let branch = |then: &str| {
            format!(
                "(let ((%c bool)) (op > %k 3)) (let ((%r int %n)) (if %c (then {then}) (else (give %row)))) (give %i %r)"
            )
        };
        let map = |read: &str| {
            format!("(let ((%m int %n)) (map ((%j %n)) (let ((%x int)) (index {read})) (give %x))) (give %m)")
        };
        assert_eq!(own(&branch(&map("%row %j"))), Some(true));
        assert_eq!(own(&branch(&map("%a %i %j"))), Some(true));
        assert_eq!(own(&branch(&map("%row %k"))), None);
        assert_eq!(own(&branch("(let ((%m int %n)) (view (reverse) %row)) (give %m)")), None);
    }
}

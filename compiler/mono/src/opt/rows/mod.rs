//! Rows of sizes of their own are made where they are read.
//!
//! ```text
//! (let (%ns %all %starts %xs)               (let (%ns) (map ((%i %k)) (let (%n) …) (check … %n) (give %n)))
//!   (join (%i %k) 1
//!     (let (%n) …) (check … %n)
//!     (let (%row) (map ((%j %n)) …))
//!     (give %n %row)))
//! (let (%ys) (map ((%r %k))             ⟶   (let (%ys) (map ((%r %k))
//!   (let (%m) (index %ns %r))                 (let (%n) …)
//!   (let (%s) (index %starts %r))             (let (%row) (map ((%j %n)) …))
//!   (let (%x) (view (slice (%s) (%m)) %xs))
//!   … (index %x %j) …))                       … (index %row %j) …))
//! ```
//!
//! What a [`Exp::Join`] makes for a point is a row of a vector, and whoever goes through the same points finds it at the
//! point's start. If that is all that the vector is read for, the row is made there: then fusion takes it apart as it does
//! any array, and it need not be stored; what is left of the join is a map. In the reader a start is 0, and the vector the
//! row itself.
//!
//! A row has one reader, which runs along the join's own axis, so no work is repeated but what is straight-line code and
//! wanted by both. A check of the join that straight-line code decides stays in the map, before all rows, as it was; one
//! that needs more moves to the reader, if that cannot stop for another reason: of several that fail the same one is told.
//!
//! Rows that are stored are made as their elements are wanted (`elements`), and once (`whole`).

mod elements;
mod whole;

use super::fuse::cost;
use crate::ir::*;
use crate::walk::{Copier, retype};
use remc_base::Prov;
use remc_base::ops::ScalarOp;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "rows",
    from: "mono",
    to: "mono",
    summary: "makes rows of sizes of their own where they are read",
};

/// Puts joins into the iterations that read their rows.
pub fn rows(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    in_body(p, &mut body);
    p.body = body;
}

fn in_body(p: &mut Program, body: &mut Body) {
    for s in &mut body.stmts {
        for b in s.exp.bodies_mut() {
            in_body(p, b);
        }
    }
    for k in (0..body.stmts.len()).rev() {
        if let Some(found) = Found::of(p, body, k) {
            found.put(p, body, k);
        } else if let Some(found) = elements::Found::of(p, body, k) {
            found.put(p, body, k);
        }
    }
    for k in (0..body.stmts.len()).rev() {
        if let Some(with) = whole::rows(p, body, k) {
            body.stmts.remove(k);
            body.substitute(&with);
            retype(p, &body.binders(), &with);
        }
    }
}

/// An array of rows that a join makes.
#[derive(Clone, Copy)]
struct Row {
    /// How many elements all have.
    total: Var,
    /// Where each begins, and all elements.
    starts: Var,
    data: Var,
    /// The row of a point, in the join.
    own: Var,
}

/// A join, and what it becomes.
struct Found {
    /// The statement that reads its rows.
    reader: usize,
    rows: Vec<Row>,
    /// The statements of the join that stay, and of its other results those that do.
    stay: FxHashSet<usize>,
    given: Vec<(Var, Atom)>,
    /// The statements that the reader makes rows of, and what they and the others give at a point.
    make: FxHashSet<usize>,
    results: Vec<(Var, Atom)>,
}

impl Found {
    /// The join that statement `k` is, if its rows can be made where they are read.
    fn of(p: &Program, body: &Body, k: usize) -> Option<Found> {
        let Stmt { pat, exp: Exp::Join { axis, regular, body: inner }, .. } = &body.stmts[k] else {
            return None;
        };
        // What stands behind a check that fails may not be without it. If it is never done, the join merely stays.
        if inner.contains_failing_check() {
            return None;
        }
        let (own, joined) = pat.split_at(*regular);
        let made = inner.results[*regular..].iter().map(|a| a.as_var());
        let rows: Vec<Row> = (joined.chunks(3).zip(made))
            .map(|(parts, own)| Some(Row { total: parts[0], starts: parts[1], data: parts[2], own: own? }))
            .collect::<Option<_>>()?;
        let gone: FxHashSet<Var> = joined.iter().copied().collect();
        let reader = only_mention(body, k, &gone)?;
        let (over, reads) = reader_of(&body.stmts[reader].exp, &gone)?;
        if over.size != axis.size || !Reads::of(reads, over.var, &rows).are_of_rows(p, reads, &rows) {
            return None;
        }
        let weight = cost::body_weight(p, inner) + cost::body_weight(p, reads);
        if weight > cost::HEAVIEST {
            return None;
        }
        let results: Vec<(Var, Atom)> =
            own.iter().copied().zip(inner.results[..*regular].iter().copied()).collect();
        let given: Vec<(Var, Atom)> = results
            .iter()
            .copied()
            .filter(|(v, _)| is_read_elsewhere(body, k, reader, over.var, *v))
            .collect();

        // What stays is straight-line code, or is for no row.
        let needs = Needs::of(p, inner);
        let (mut checks, mut others) = (Vec::new(), Vec::new());
        for (at, s) in inner.stmts.iter().enumerate().filter(|(_, s)| s.exp.can_stop()) {
            let needed = needs.all(std::iter::once(at));
            let straight = matches!(s.exp, Exp::Check { .. })
                && needed.iter().all(|x| inner.stmts[*x].exp.bodies().is_empty());
            if straight { checks.push(at) } else { others.push(at) }
        }
        if !others.is_empty() && reads.can_stop() {
            return None;
        }
        let makers = |atoms: &mut dyn Iterator<Item = Atom>| -> Vec<usize> {
            atoms.filter_map(|a| needs.maker.get(&a.as_var()?).copied()).collect()
        };
        let kept = makers(&mut given.iter().map(|(_, a)| *a));
        let stay = needs.all(checks.iter().copied().chain(kept));
        let of_rows = makers(&mut results.iter().map(|(_, a)| *a).chain(rows.iter().map(|r| r.own.into())));
        let mut make = needs.all(others.into_iter().chain(of_rows));
        make.retain(|at| !checks.contains(at));
        let twice = stay.intersection(&make).any(|at| !inner.stmts[*at].exp.bodies().is_empty());
        (!twice).then_some(Found { reader, rows, stay, given, make, results })
    }

    /// Leaves of the join what stays, and makes its rows in their reader.
    fn put(self, p: &mut Program, body: &mut Body, k: usize) {
        let Stmt { exp: Exp::Join { axis, body: inner, .. }, prov, .. } = body.stmts[k].clone() else {
            return;
        };
        let some = |which: &FxHashSet<usize>| -> Vec<Stmt> {
            inner
                .stmts
                .iter()
                .enumerate()
                .filter(|(at, _)| which.contains(at))
                .map(|(_, s)| s.clone())
                .collect()
        };
        let reader = &mut body.stmts[self.reader];
        let Some(over) = reader.exp.axes().first().copied() else { return };
        let mut bodies = reader.exp.bodies_mut();
        let Some(reads) = bodies.first_mut() else { return };
        let wanted = self.results.iter().map(|(_, a)| *a).chain(self.rows.iter().map(|r| r.own.into()));
        let row = Body { stmts: some(&self.make), results: wanted.collect() };
        let Body { mut stmts, results } = Copier::instance(p, &row, &[(axis.var, over.var.into())]);

        // In the reader: the other results of the point, starts of 0, and rows in the place of vectors.
        let (own, made) = results.split_at(self.results.len());
        let mut with: FxHashMap<Var, Atom> = FxHashMap::default();
        for (row, a) in self.rows.iter().zip(made) {
            let Some(v) = a.as_var() else { return };
            with.insert(row.data, flat(p, v, prov, &mut stmts).into());
        }
        let own: FxHashMap<Var, Atom> =
            self.results.iter().map(|(v, _)| *v).zip(own.iter().copied()).collect();
        at_point(reads, over.var, &own, &self.rows, &mut with);
        reads.substitute(&with);
        retype(p, &reads.binders(), &with);
        stmts.append(&mut reads.stmts);
        reads.stmts = stmts;

        let (pat, results) = self.given.iter().copied().unzip();
        let map = Exp::Map { axes: vec![axis], body: Body { stmts: some(&self.stay), results } };
        body.stmts[k] = Stmt { pat, exp: map, prov };
        if self.stay.is_empty() && self.given.is_empty() {
            body.stmts.remove(k);
        }
    }
}

/// The one statement after the first `k` that mentions any of these variables.
fn only_mention(body: &Body, k: usize, vars: &FxHashSet<Var>) -> Option<usize> {
    let mentions = |a: Atom| a.as_var().is_some_and(|v| vars.contains(&v));
    if body.results.iter().any(|a| mentions(*a)) {
        return None;
    }
    let mut found = None;
    for (at, s) in body.stmts.iter().enumerate().skip(k + 1) {
        let mut here = false;
        s.exp.for_each_operand(&mut |a| here |= mentions(a));
        s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut |a| here |= mentions(a)));
        if here && found.replace(at).is_some() {
            return None;
        }
    }
    found
}

/// The axis and the body of an iteration that mentions these variables in that body alone.
fn reader_of<'e>(exp: &'e Exp, vars: &FxHashSet<Var>) -> Option<(Axis, &'e Body)> {
    let axis = match exp {
        Exp::Map { axes, .. } => match axes[..] {
            [axis] => axis,
            _ => return None,
        },
        Exp::Reduce { axis, .. }
        | Exp::Scan { axis, .. }
        | Exp::Scatter { axis, .. }
        | Exp::Filter { axis, .. }
        | Exp::Grade { axis, .. }
        | Exp::Join { axis, .. } => *axis,
        _ => return None,
    };
    let mut elsewhere = false;
    let mut mention = |a: Atom| elsewhere |= a.as_var().is_some_and(|v| vars.contains(&v));
    exp.for_each_operand(&mut mention);
    let (body, others) = exp.bodies().split_first().map(|(b, o)| (*b, o.to_vec()))?;
    others.into_iter().for_each(|b| b.for_each_use(&mut mention));
    (!elsewhere).then_some((axis, body))
}

/// Whether a result of the join is read other than at the point of the reader.
fn is_read_elsewhere(body: &Body, k: usize, reader: usize, point: Var, v: Var) -> bool {
    let is_it = |a: Atom| a == Atom::Var(v);
    let mut elsewhere = body.results.iter().any(|a| is_it(*a));
    for (at, s) in body.stmts.iter().enumerate().skip(k + 1) {
        let mut see = |s: &Stmt| match &s.exp {
            Exp::Index { array, at: places } if at == reader && *array == v => {
                elsewhere |= places.first() != Some(&Atom::Var(point));
            }
            exp => exp.for_each_operand(&mut |a| elsewhere |= is_it(a)),
        };
        see(s);
        for b in s.exp.bodies() {
            b.for_each_stmt(&mut see);
        }
        s.exp.bodies().into_iter().for_each(|b| results_of(b, &mut |a| elsewhere |= is_it(a)));
    }
    elsewhere
}

/// What a body gives, and every body inside.
fn results_of(body: &Body, f: &mut impl FnMut(Atom)) {
    body.results.iter().for_each(|a| f(*a));
    body.for_each_stmt(&mut |s| {
        for b in s.exp.bodies() {
            b.results.iter().for_each(|a| f(*a));
        }
    });
}

/// The places in a reader's body that begin where a row does.
struct Reads {
    /// Starts of the point, with the number of the row.
    starts: FxHashMap<Var, usize>,
    /// A start and something else.
    places: FxHashMap<Var, usize>,
}

impl Reads {
    fn of(body: &Body, point: Var, rows: &[Row]) -> Reads {
        let mut all = Reads { starts: FxHashMap::default(), places: FxHashMap::default() };
        body.for_each_stmt(&mut |s| {
            if let Some((v, row)) = start(s, point, rows) {
                all.starts.insert(v, row);
            }
            if let (Exp::Op(ScalarOp::Add, args), [v]) = (&s.exp, &s.pat[..]) {
                let of = |a: &Atom| a.as_var().and_then(|v| all.starts.get(&v).copied());
                if let [Some(row), None] | [None, Some(row)] = [of(&args[0]), of(&args[1])] {
                    all.places.insert(*v, row);
                }
            }
        });
        all
    }

    /// Whether the body reads the vectors of the rows at such places alone, and these for nothing else.
    fn are_of_rows(&self, p: &Program, body: &Body, rows: &[Row]) -> bool {
        let mut fine = true;
        let special = |a: Atom| {
            let is_one = |v: Var| {
                let named = rows.iter().any(|r| [r.total, r.starts, r.data].contains(&v));
                named || self.starts.contains_key(&v) || self.places.contains_key(&v)
            };
            a.as_var().is_some_and(is_one)
        };
        let alike = |a: usize, b: usize| p.ty(rows[a].own).dims == p.ty(rows[b].own).dims;
        body.for_each_stmt(&mut |s| {
            if s.pat.iter().any(|v| self.starts.contains_key(v) || self.places.contains_key(v)) {
                return;
            }
            let (array, place, others): (Var, Atom, Vec<Atom>) = match &s.exp {
                Exp::Index { array, at } if at.len() == 1 => (*array, at[0], Vec::new()),
                Exp::View { view: View::Slice { start, dims }, array } if start.len() == 1 => {
                    (*array, start[0], dims.clone())
                }
                exp => return exp.for_each_operand(&mut |a| fine &= !special(a)),
            };
            fine &= !others.into_iter().any(special);
            match rows.iter().position(|r| r.data == array) {
                Some(row) => {
                    let at = place.as_var().and_then(|v| self.starts.get(&v).or_else(|| self.places.get(&v)));
                    fine &= at.is_some_and(|of| alike(*of, row));
                }
                None => fine &= !special(place) && !special(array.into()),
            }
        });
        results_of(body, &mut |a| fine &= !special(a));
        let typed = body.binders().into_iter().any(|v| p.ty(v).dims.iter().any(|d| special(*d)));
        fine && !typed
    }
}

/// The variable that a statement binds to the start of the point's row, and the row's number.
fn start(s: &Stmt, point: Var, rows: &[Row]) -> Option<(Var, usize)> {
    let (Exp::Index { array, at }, [v]) = (&s.exp, &s.pat[..]) else { return None };
    let row = rows.iter().position(|r| r.starts == *array)?;
    (at[..] == [Atom::Var(point)]).then_some((*v, row))
}

/// Removes what reads the join at its point, and says what stands in the place of it.
fn at_point(
    body: &mut Body,
    point: Var,
    own: &FxHashMap<Var, Atom>,
    rows: &[Row],
    with: &mut FxHashMap<Var, Atom>,
) {
    body.stmts.retain_mut(|s| {
        if let Some((v, _)) = start(s, point, rows) {
            with.insert(v, Atom::int(0));
            return false;
        }
        if let Exp::Index { array, at } = &mut s.exp
            && let Some(a) = own.get(array)
            && at.first() == Some(&Atom::Var(point))
        {
            match (&at[1..], a) {
                ([], _) => {
                    with.insert(s.pat[0], *a);
                    return false;
                }
                (rest, Atom::Var(v)) => (*array, *at) = (*v, rest.to_vec()),
                (_, Atom::Const(_)) => {}
            }
        }
        s.exp.bodies_mut().into_iter().for_each(|b| at_point(b, point, own, rows, with));
        true
    });
}

/// The elements of an array as a vector.
fn flat(p: &mut Program, array: Var, prov: Prov, out: &mut Vec<Stmt>) -> Var {
    let Ty { base, dims } = p.ty(array).clone();
    let Some((first, rest)) = dims.split_first().filter(|(_, rest)| !rest.is_empty()) else { return array };
    let size = rest.iter().fold(*first, |n, d| {
        let v = p.fresh("size", Ty::int());
        out.push(Stmt { pat: vec![v], exp: Exp::Op(ScalarOp::Mul, vec![n, *d]), prov });
        v.into()
    });
    let v = p.fresh("row", Ty { base, dims: vec![size] });
    let view = View::Reshape { dims: vec![size] };
    out.push(Stmt { pat: vec![v], exp: Exp::View { view, array }, prov });
    v
}

/// What the statements of a body need of each other.
struct Needs<'b> {
    p: &'b Program,
    body: &'b Body,
    /// The statement that binds a variable.
    maker: FxHashMap<Var, usize>,
}

impl<'b> Needs<'b> {
    fn of(p: &'b Program, body: &'b Body) -> Needs<'b> {
        let bound = |(at, s): (usize, &Stmt)| s.pat.iter().map(|v| (*v, at)).collect::<Vec<_>>();
        Needs { p, body, maker: body.stmts.iter().enumerate().flat_map(bound).collect() }
    }

    /// These statements, and all that they need, in types too.
    fn all(&self, wanted: impl Iterator<Item = usize>) -> FxHashSet<usize> {
        let mut all = FxHashSet::default();
        let mut todo: Vec<usize> = wanted.collect();
        while let Some(at) = todo.pop() {
            if !all.insert(at) {
                continue;
            }
            let one = Body { stmts: vec![self.body.stmts[at].clone()], results: Vec::new() };
            let mut need = |a: Atom| todo.extend(a.as_var().and_then(|v| self.maker.get(&v)));
            one.for_each_use(&mut need);
            for v in one.binders() {
                self.p.ty(v).dims.iter().for_each(|d| need(*d));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::shorthand::{after, program, shape};
    use super::rows;

    const PARAMS: &str = "(%k int) (%ns int %k)";

    /// The rows 0 1 … of lengths `%ns`, which are checked.
    const IOTAS: &str = "(let ((%ls int %k) (%all int) (%starts int %k) (%xs int %all)) (join (%i %k) 1
        (let ((%n int)) (index %ns %i)) (let ((%ok bool)) (op >= %n 0)) (let () (check (negative \"n\") %ok %n))
        (let ((%row int %n)) (map ((%j %n)) (give %j)))
        (give %n %row)))";

    /// What each row adds up to, row `at` being read from `%xs` at point `%r`.
    fn sums(name: &str, at: &str) -> String {
        let read = "(let ((%ys int %k)) (map ((%r %k))
            (let ((%m int)) (index %ls AT)) (let ((%s int)) (index %starts AT))
            (let ((%part int %m)) (view (slice (%s) (%m)) %xs))
            (let ((%sum int)) (reduce (%q %m) (let ((%e int)) (index %part %q)) (give %e)
              (assoc ((%acc int) (%elem int)) (start 0) (let ((%both int)) (op + %acc %elem)) (give %both))))
            (give %sum)))";
        // Every variable is bound once.
        let own = ["%ys", "%r", "%m", "%s", "%part", "%sum", "%q", "%e", "%acc", "%elem", "%both"];
        let mut text = read.replace("AT", at);
        for v in own {
            for end in [" ", ")"] {
                text = text.replace(&format!("{v}{end}"), &format!("{v}{name}{end}"));
            }
        }
        text
    }

    fn put(results: usize, body: &str) -> String {
        shape(&after(program(PARAMS, results, body), &[rows]))
    }

    #[test]
    fn rows_are_made_where_they_are_read() {
        let body = format!("{IOTAS} {} (give %ysa)", sums("a", "%ra"));
        assert_eq!(put(1, &body), "map1(check) map1(map1 view reduce)");
    }

    #[test]
    fn a_reader_of_other_rows_and_several_readers_read_vectors() {
        let other = "(let ((%last int)) (op - %k 1)) ";
        for body in [
            // A row of another point than the reader's own.
            format!("{IOTAS} {other} {} (give %ysa)", sums("a", "%last")),
            // Two readers, and a result that is the vector.
            format!("{IOTAS} {} {} (give %ysa)", sums("a", "%ra"), sums("b", "%rb")),
        ] {
            assert!(put(1, &body).starts_with("join"), "{}", put(1, &body));
        }
        let given = format!("{IOTAS} {} (give %ysa %xs)", sums("a", "%ra"));
        assert!(put(2, &given).starts_with("join"));
        // How many elements there are in all.
        let counts = "(let ((%ys int %k)) (map ((%r %k))
            (let ((%sum int)) (reduce (%q %all) (give %q)
              (assoc ((%acc int) (%elem int)) (start 0) (let ((%both int)) (op + %acc %elem)) (give %both))))
            (give %sum)))";
        assert!(put(1, &format!("{IOTAS} {counts} (give %ys)")).starts_with("join"));
    }
}

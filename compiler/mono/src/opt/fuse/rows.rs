//! Reads of elements of rows become reads of rows, where a row can be fused.
//!
//! A map may make a row at a time and share work among its elements, so the row is what is worth putting
//! where it is read. Its reader may be a perfect nest, and has to be taken apart first. Before and after:
//!
//! ```text
//! (let (%ys) (map ((%i %n)) (let (%s) (reduce …)) (let (%d) (map ((%k %m)) …)) (give %d)))
//! (let (%zs) (map ((%j %n) (%o %m)) (let (%f) (index %ys %j %o)) …))
//!
//! (let (%zs) (map ((%j %n)) (let (%row) (index %ys %j))
//!              (let (%q) (map ((%o %m)) (let (%f) (index %row %o)) …)) (give %q)))
//! ```
//!
//! That is done only if the read is the one use of `%ys`, and each row is read in one iteration: then
//! fusion follows for certain. If making a row can stop the program, as a gather of rows can, all rows have to be read.

use crate::ir::*;
use rustc_hash::FxHashMap;

/// Arrays of rows that are read once, in the body at hand.
pub(super) type Rows = FxHashMap<Var, Made>;

/// How rows are made.
#[derive(Clone)]
pub(super) struct Made {
    /// How many of each axis of their map.
    pub sizes: Vec<Atom>,
    /// Whether that can stop the program.
    pub stops: bool,
}

/// Exchanges the axes of a nest that goes through rows across: then it has a row at a time. What gives the array as it was, from
/// then on, comes after it.
///
/// ```text
/// (let (%zs) (map ((%o %m) (%j %n)) (let (%f) (index %ys %j %o)) …))
///
/// (let (%ts) (map ((%j %n) (%o %m)) (let (%f) (index %ys %j %o)) …))
/// (let (%zs) (view (permute 1 0) %ts))
/// ```
///
/// As a view it costs nothing where it is read element by element, and a copy at the end where it is wanted as a whole.
pub(super) fn turn(p: &mut Program, s: &mut Stmt, rows: &Rows) -> Option<Stmt> {
    let ([v], Exp::Map { axes, body }) = (s.pat.as_slice(), &s.exp) else { return None };
    let Ty { base, dims } = p.ty(*v).clone();
    // What does nothing else exchanges the axes itself.
    let copies = body.stmts.len() == 1;
    if copies || axes.len() < 2 || dims.len() != axes.len() || site(body, rows, axes).is_some() {
        return None;
    }
    let place = |a: &Atom| axes.iter().position(|x| *a == x.var.into());
    let mut across = None;
    body.for_each_stmt(&mut |s| {
        if let Exp::Index { array, at } = &s.exp
            && let Some(k) = rows.get(array).map(|made| made.sizes.len()).filter(|k| at.len() > *k)
        {
            let of: Option<Vec<usize>> = at[..k].iter().map(place).collect();
            across = across.take().or(of.filter(|of| (1..of.len()).all(|i| !of[..i].contains(&of[i]))));
        }
    });
    let first = across?;
    let order: Vec<usize> =
        first.iter().copied().chain((0..axes.len()).filter(|k| !first.contains(k))).collect();
    let ty = Ty { base, dims: order.iter().map(|k| dims[*k]).collect() };
    let turned = p.fresh(p.vars[*v].name.clone().as_str(), ty);
    let perm = (0..order.len()).filter_map(|k| order.iter().position(|o| *o == k)).collect();
    let exp = Exp::View { view: View::Permute { perm }, array: turned };
    let after = Stmt { pat: vec![*v], exp, prov: s.prov };
    s.pat = vec![turned];
    if let Exp::Map { axes, .. } = &mut s.exp {
        *axes = order.iter().map(|k| axes[*k]).collect();
    }
    Some(after)
}

/// Takes the iteration `s` apart, or reads the row early in it; says whether it did.
pub(super) fn read_rows(p: &mut Program, s: &mut Stmt, rows: &Rows) -> bool {
    let axes: Vec<Axis> = match &s.exp {
        Exp::Map { axes, .. } => axes.clone(),
        Exp::Reduce { axis, .. }
        | Exp::Scan { axis, .. }
        | Exp::For { axis, .. }
        | Exp::Scatter { axis, .. }
        | Exp::Filter { axis, .. }
        | Exp::Grade { axis, .. }
        | Exp::Join { axis, .. } => vec![*axis],
        _ => return false,
    };
    let mut bodies = s.exp.bodies_mut();
    let Some(body) = bodies.first_mut() else { return false };
    let Some((array, at, place)) = site(body, rows, &axes) else { return false };
    let row_ty = p.ty(array).cell(at.len());
    let row = p.fresh("row", row_ty);
    let read = Stmt { pat: vec![row], exp: Exp::Index { array, at: at.clone() }, prov: s.prov };
    if at.len() == axes.len() {
        // A read in the body itself is found without help.
        let deeper = !matches!(&body.stmts[place].exp, Exp::Index { .. });
        if deeper {
            replace(body, array, at.len(), row);
            body.stmts.insert(place, read);
        }
        return deeper;
    }
    let Exp::Map { axes, body } = &mut s.exp else { return false };
    replace(body, array, at.len(), row);
    let inner_axes = axes.split_off(at.len());
    let cells: Vec<Var> = s
        .pat
        .iter()
        .map(|v| {
            let VarInfo { name, ty } = p.vars[*v].clone();
            p.fresh(name.as_str(), ty.cell(at.len()))
        })
        .collect();
    let inner = std::mem::take(body);
    body.results = cells.iter().map(|v| Atom::Var(*v)).collect();
    let exp = Exp::Map { axes: inner_axes, body: inner };
    body.stmts = vec![read, Stmt { pat: cells, exp, prov: s.prov }];
    true
}

/// The array, the index of the row, which is made of just the leading axes, and the statement with the
/// read in it.
fn site(body: &Body, rows: &Rows, axes: &[Axis]) -> Option<(Var, Vec<Atom>, usize)> {
    let leading = |at: &[Atom], made: &Made| {
        let k = made.sizes.len();
        let all = |x: &Axis| {
            let at = at[..k].iter().position(|a| *a == x.var.into());
            at.is_some_and(|at| !made.stops || made.sizes[at] == x.size)
        };
        k > 0 && k <= axes.len() && at.len() > k && axes[..k].iter().all(all)
    };
    for (place, s) in body.stmts.iter().enumerate() {
        let mut found = None;
        let mut see = |s: &Stmt| {
            if let Exp::Index { array, at } = &s.exp
                && let Some(made) = rows.get(array)
                && leading(at, made)
            {
                found = Some((*array, at[..made.sizes.len()].to_vec(), place));
            }
        };
        see(s);
        s.exp.bodies().into_iter().for_each(|b| b.for_each_stmt(&mut see));
        if found.is_some() {
            return found;
        }
    }
    None
}

fn replace(body: &mut Body, from: Var, k: usize, row: Var) {
    for s in &mut body.stmts {
        if let Exp::Index { array, at } = &mut s.exp
            && *array == from
        {
            *array = row;
            at.drain(..k.min(at.len()));
        }
        for b in s.exp.bodies_mut() {
            replace(b, from, k, row);
        }
    }
}

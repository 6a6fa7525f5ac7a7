//! Rows that the threads of a group do together.
//!
//! A group goes through the statements of a row one after the other. What is computed once all of its threads compute
//! alike; the elements of a map are shared out; a reduction or a scan combines what each thread has of it. In between the
//! threads wait for each other.
//!
//! ```text
//! (let (%n) (index %ns i))                            alike
//! (let (%m) (reduce (j %n) … max2))                   each thread has every so-and-so-manieth element, then all together
//! (let (%ys) (map ((j %n)) … (op exp …)))             every so-and-so-manieth element each
//! (let (%zs) (scan inclusive (j %n) … +))             a run of elements each
//! (for (t 20) ((%row %ys)) …)                         alike; its body as the row itself
//! (let (%o) (grade (j %n) …))                         no
//! ```
//!
//! What one element costs is one thread's, so that it makes no arrays. An array that the group makes has as many elements as
//! one of the row's own sizes says, for which each row has a part of a vector; a result may have more axes. Where rows are
//! those of a regular array, no size is a row's own, and arrays are of sizes from outside.

use super::{OwnSizes, own_sizes, slice};
use crate::ir::{Atom, Axis, Body, Combine, Exp, Stmt, Var, VarInfo};
use remc_base::IdVec;
use rustc_hash::FxHashSet;

/// The sizes that each point of an axis has for itself, as [`own_sizes`] has them, if a group can do its row.
pub fn group_sizes(vars: &IdVec<Var, VarInfo>, axis: &Axis, regular: usize, body: &Body) -> Option<OwnSizes> {
    let own = own_sizes(vars, axis, regular, body)?;
    let group = Group { vars, own: &own.sizes, given: &body.results, inside: None };
    let rooms = own.rooms.iter().any(Option::is_some);
    (!rooms && group.does_row(body)).then_some(own)
}

/// The same of a body all of whose results are numbers, with its sizes known.
pub fn group_reduces(vars: &IdVec<Var, VarInfo>, body: &Body) -> bool {
    let group = Group { vars, own: &[], given: &[], inside: None };
    group.does_row(body) && body.results.iter().all(|a| a.as_var().is_none_or(|v| group.is_scalar(v)))
}

/// Whether a group can do the body of a row of which the first so many results are given, and that makes arrays of these
/// sizes beside those.
pub fn legal_group(vars: &IdVec<Var, VarInfo>, own: &[Var], given: usize, body: &Body) -> bool {
    let given = body.results.get(..given).unwrap_or_default();
    Group { vars, own, given, inside: None }.does_row(body)
}

/// The sizes over which a group does something together at a point of a space, if it can do all of the point's body, whose
/// arrays are of sizes from outside.
pub fn group_points(vars: &IdVec<Var, VarInfo>, binders: &[Var], body: &Body) -> Option<Vec<Atom>> {
    let inside = body.binders().into_iter().chain(binders.iter().copied()).collect();
    let group = Group { vars, own: &[], given: &body.results, inside: Some(inside) };
    if !group.does_row(body) || body.can_stop() {
        return None;
    }
    let mut sizes = Vec::new();
    group.sizes(body, &mut sizes);
    Some(sizes)
}

struct Group<'p> {
    vars: &'p IdVec<Var, VarInfo>,
    own: &'p [Var],
    given: &'p [Atom],
    /// What is bound in the body, where arrays have sizes from outside.
    inside: Option<FxHashSet<Var>>,
}

impl Group<'_> {
    fn is_scalar(&self, v: Var) -> bool {
        self.vars.get(v).is_some_and(|info| info.ty.is_scalar())
    }

    /// Whether an array is a vector of one of the row's own sizes, or all of its sizes are from outside.
    fn is_own(&self, v: Var) -> bool {
        let dims = self.vars.get(v).map(|info| info.ty.dims.as_slice()).unwrap_or_default();
        match &self.inside {
            None => matches!(dims, [d] if d.as_var().is_some_and(|d| self.own.contains(&d))),
            Some(_) => dims.iter().all(|d| self.is_outside(*d)),
        }
    }

    fn is_outside(&self, size: Atom) -> bool {
        let inside = |v: Var| self.inside.as_ref().is_none_or(|inside| inside.contains(&v));
        size.as_var().is_none_or(|v| !inside(v))
    }

    /// The sizes of the first axes of what the group does together, and are known outside.
    fn sizes(&self, body: &Body, sizes: &mut Vec<Atom>) {
        for s in &body.stmts {
            match &s.exp {
                Exp::Map { axes, .. } => sizes.extend(axes.first().map(|a| a.size)),
                Exp::Reduce { axis, .. } | Exp::Scan { axis, .. } => sizes.push(axis.size),
                Exp::If { then, otherwise, .. } => {
                    [then, otherwise].iter().for_each(|b| self.sizes(b, sizes))
                }
                Exp::For { body, .. } | Exp::While { body, .. } => self.sizes(body, sizes),
                _ => {}
            }
        }
        sizes.retain(|a| self.is_outside(*a));
    }

    /// The body of a row: of its checks those alone that come before all rows.
    fn does_row(&self, body: &Body) -> bool {
        let checked = |k: usize| {
            let mut wanted = Vec::new();
            body.stmts[k].exp.for_each_operand(&mut |a| wanted.extend(a.as_var()));
            wanted.retain(|v| body.stmts[..k].iter().any(|s| s.pat.contains(v)));
            slice(self.vars, &body.stmts[..k], wanted.into_iter().collect()).is_some()
        };
        body.stmts.iter().enumerate().all(|(k, s)| match &s.exp {
            Exp::Check { .. } => checked(k),
            Exp::Map { body: element, .. } if s.pat.iter().all(|v| self.given.contains(&(*v).into())) => {
                self.of_one_thread(element)
            }
            _ => self.does(s),
        })
    }

    fn does_all(&self, body: &Body) -> bool {
        body.stmts.iter().all(|s| self.does(s))
    }

    fn does(&self, s: &Stmt) -> bool {
        let scalars = s.pat.iter().all(|v| self.is_scalar(*v));
        let each_own = s.pat.iter().all(|v| self.is_own(*v));
        let either = s.pat.iter().all(|v| self.is_scalar(*v) || self.is_own(*v));
        match &s.exp {
            Exp::Atom(_) | Exp::Index { .. } => true,
            Exp::Op(..) | Exp::Cast(..) => true,
            Exp::If { then, otherwise, .. } => either && self.does_all(then) && self.does_all(otherwise),
            Exp::For { body, .. } => either && self.does_all(body),
            Exp::While { cond, body, .. } => either && self.does_all(cond) && self.does_all(body),
            Exp::Map { body, .. } => each_own && self.of_one_thread(body),
            Exp::Reduce { body, op, .. } => scalars && self.combines(body, op),
            Exp::Scan { body, op, .. } => each_own && self.combines(body, op),
            _ => false,
        }
    }

    fn combines(&self, body: &Body, op: &Combine) -> bool {
        let scalars = op.lambda.params.iter().all(|v| self.is_scalar(*v));
        op.assoc && scalars && self.of_one_thread(body) && self.of_one_thread(&op.lambda.body)
    }

    /// Whether a body makes numbers, by way of numbers, and cannot stop the program.
    fn of_one_thread(&self, body: &Body) -> bool {
        let mut plain = true;
        body.for_each_stmt(&mut |s| {
            plain &= !matches!(s.exp, Exp::Check { .. });
            plain &= matches!(s.exp, Exp::Index { .. }) || s.pat.iter().all(|v| self.is_scalar(*v));
        });
        plain && body.results.iter().all(|a| a.as_var().is_none_or(|v| self.is_scalar(v)))
    }
}

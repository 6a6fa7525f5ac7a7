//! Arrays that are put together of others of one shape, `[xs ys]` and `(transpose [xs ys])`, where all of them are made.
//!
//! ```text
//! (let (%x1 1 %n) (view (reshape 1 %n) %xs))       (let (%r) (map ((%i %n))
//! (let (%y1 1 %n) (view (reshape 1 %n) %ys))         (let (%x) (index %xs %i)) (let (%y) (index %ys %i))
//! (let (%s) (view (append %y1) %x1))          ⟶      (let (%c) (literal (2) %x %y))
//! (let (%r) (view (permute 1 0) %s))                 (give %c)))
//! (give %r)
//! ```
//!
//! As views they would be copied one behind the other, and once more where their axis is not the first. As a map they are
//! written where they belong, and what makes them is fused into it. Where the axis of the parts is not the last one, an element
//! is a choice between them:
//!
//! ```text
//! (let (%s) (map ((%t 2) (%i %n)) (let (%c) (op < %t 1)) (let (%z) (if %c … (index %xs %i) … (index %ys %i))) (give %z)))
//! ```

use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;

/// As many parts are a choice; of more an append costs less.
const MOST_PARTS: usize = 8;

/// Makes what a body gives by maps, where it is a stack.
pub(super) fn made(p: &mut Program, body: &mut Body) {
    for r in body.results.clone() {
        let Some(at) = r.as_var().and_then(|v| position(body, v)) else { continue };
        // Who gives it in another shape gives the same memory.
        let at = match &body.stmts[at].exp {
            Exp::View { view: View::Reshape { .. }, array } => position(body, *array),
            _ => Some(at),
        };
        if let Some(at) = at
            && let Some((parts, perm)) = stack(p, body, at)
        {
            let s = &body.stmts[at];
            let exp = made_of(p, s, &parts, &perm);
            body.stmts[at].exp = exp;
        }
    }
}

fn position(body: &Body, v: Var) -> Option<usize> {
    body.stmts.iter().position(|s| s.pat[..] == [v])
}

/// The arrays that a statement stacks, and the order of the axes, the stack's own being number 0.
fn stack(p: &Program, body: &Body, at: usize) -> Option<(Vec<Var>, Vec<usize>)> {
    let s = &body.stmts[at];
    let (of, perm) = match &s.exp {
        Exp::View { view: View::Permute { perm }, array } => (position(body, *array)?, perm.clone()),
        _ => (at, (0..p.ty(*s.pat.first()?).rank()).collect()),
    };
    let mut parts = Vec::new();
    flatten(p, body, of, &mut parts)?;
    (2..=MOST_PARTS).contains(&parts.len()).then_some((parts, perm))
}

/// The parts of an append of single items.
fn flatten(p: &Program, body: &Body, at: usize, parts: &mut Vec<Var>) -> Option<()> {
    let Exp::View { view: View::Append { with }, array } = &body.stmts[at].exp else { return None };
    for part in [*array, *with] {
        let at = position(body, part)?;
        match &body.stmts[at].exp {
            Exp::View { view: View::Reshape { dims }, array: x }
                if dims[0].as_int() == Some(1) && p.ty(*x).dims[..] == dims[1..] && dims.len() > 1 =>
            {
                parts.push(*x);
            }
            _ => flatten(p, body, at, parts)?,
        }
    }
    (parts.len() <= MOST_PARTS).then_some(())
}

/// The map that makes the stack.
fn made_of(p: &mut Program, s: &Stmt, parts: &[Var], perm: &[usize]) -> Exp {
    let Ty { base, dims } = p.ty(s.pat[0]).clone();
    let element = Ty::scalar(base);
    let axes: Vec<Axis> =
        dims.iter().map(|size| Axis { var: p.fresh("i", Ty::int()), size: *size }).collect();
    // The indices of a part, in its own order.
    let mut at = vec![Atom::int(0); perm.len() - 1];
    let mut chosen = Atom::int(0);
    for (axis, of) in axes.iter().zip(perm) {
        match of.checked_sub(1) {
            Some(k) => at[k] = axis.var.into(),
            None => chosen = axis.var.into(),
        }
    }
    let read = |p: &mut Program, part: Var| {
        let x = p.fresh("x", element.clone());
        (x, Stmt { pat: vec![x], exp: Exp::Index { array: part, at: at.clone() }, prov: s.prov })
    };
    if perm.last() == Some(&0) {
        let reads: Vec<(Var, Stmt)> = parts.iter().map(|part| read(p, *part)).collect();
        let elems = reads.iter().map(|(x, _)| Atom::Var(*x)).collect();
        let mut stmts: Vec<Stmt> = reads.into_iter().map(|(_, s)| s).collect();
        let size = Atom::int(parts.len() as i64);
        let cell = p.fresh("cell", Ty { base, dims: vec![size] });
        stmts.push(Stmt { pat: vec![cell], exp: Exp::Literal { dims: vec![size], elems }, prov: s.prov });
        let axes = axes[..axes.len() - 1].to_vec();
        return Exp::Map { axes, body: Body { stmts, results: vec![cell.into()] } };
    }
    let mut body: Option<Body> = None;
    for (k, part) in parts.iter().enumerate().rev() {
        let (x, stmt) = read(p, *part);
        let this = Body { stmts: vec![stmt], results: vec![x.into()] };
        body = Some(match body {
            None => this,
            Some(others) => {
                let (here, z) = (p.fresh("c", Ty::scalar(BaseTy::Bool)), p.fresh("x", element.clone()));
                let cond = Exp::Op(ScalarOp::Lt, vec![chosen, Atom::int(k as i64 + 1)]);
                let exp = Exp::If { cond: here.into(), then: this, otherwise: others };
                let stmts = vec![
                    Stmt { pat: vec![here], exp: cond, prov: s.prov },
                    Stmt { pat: vec![z], exp, prov: s.prov },
                ];
                Body { stmts, results: vec![z.into()] }
            }
        });
    }
    Exp::Map { axes, body: body.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::super::super::shorthand::{after, program, shape};
    use super::super::super::{dce::dce, fuse::fuse};
    use super::super::views;

    const PARTS: &str = "(let ((%xs float %n)) (map ((%i %n)) (let ((%x float)) (index %a %i)) (let ((%y float)) (op * %x 2.0)) (give %y)))
        (let ((%x1 float 1 %n)) (view (reshape 1 %n) %xs)) (let ((%a1 float 1 %n)) (view (reshape 1 %n) %a))
        (let ((%s float 2 %n)) (view (append %a1) %x1))";

    fn made(text: &str) -> String {
        shape(&after(program("(%n int) (%a float %n)", 1, &format!("{PARTS} {text}")), &[views, fuse, dce]))
    }

    #[test]
    fn parts_are_written_where_they_belong() {
        assert_eq!(made("(give %s)"), "map2(if)");
        assert_eq!(made("(let ((%r float %n 2)) (view (permute 1 0) %s)) (give %r)"), "map1(lit)");
        let shaped = "(let ((%m int)) (op * %n 2)) (let ((%r float %n 2)) (view (permute 1 0) %s))
            (let ((%v float %m)) (view (reshape %m) %r)) (give %v)";
        assert_eq!(made(shaped), "map1(lit) view");
    }

    #[test]
    fn arrays_of_several_items_are_appended() {
        let behind = "(let ((%t float 3 %n)) (view (append %a1) %s)) (give %t)";
        assert_eq!(made(behind), "map2(if:2(if))".replace(":2", ""));
        let two = "(let ((%t float 4 %n)) (view (append %b) %s)) (give %t)";
        let text = format!("(let ((%b float 2 %n)) (view (replicate 2) %a)) {two}");
        assert_eq!(made(&text), "map1 view view view view view");
    }
}

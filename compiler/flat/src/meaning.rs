//! What Flat means: the program of Mono that each of its forms stands for.
//!
//! ```text
//! (seg-red grid ((i n)) (j m) leaf λ start)     (map ((i n)) (let (%r) (reduce j m leaf λ start)) (give %r))
//! (filter (i n) leaf (j n) leaf)                 (filter i n leaf) (filter j n leaf)
//! (seg-map grid ((i n)) (axes (1 0)) leaf)       (let (%a) (map ((i n)) leaf)) (view (permute 1 0) %a)
//! (branch (>= a "par.outer" 512) b c)            (let (%p) (op >= a 512)) (if %p b c)
//! ```
//!
//! The verifier and the tests read it: Mono's rules and evaluator are Flat's.

use crate::ir::*;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Prov, Scalar};
use remc_mono::ir as mono;

/// The program of the same meaning. `choose` may decide a branch, whatever the size.
pub fn to_mono(p: &Program, choose: &mut dyn FnMut(&Guard) -> Option<bool>) -> mono::Program {
    let mut m = Meaning { table: p.table(), choose };
    let body = m.body(&p.body);
    mono::Program { body, ..m.table }
}

struct Meaning<'c> {
    table: mono::Program,
    choose: &'c mut dyn FnMut(&Guard) -> Option<bool>,
}

impl Meaning<'_> {
    fn body(&mut self, b: &Body) -> mono::Body {
        let mut stmts = Vec::new();
        for s in &b.stmts {
            let own = self.stmt(s, &mut stmts);
            stmts.push(own);
        }
        mono::Body { stmts, results: b.results.clone() }
    }

    /// What a statement stands for; some of it may come before.
    fn stmt(&mut self, s: &Stmt, before: &mut Vec<mono::Stmt>) -> mono::Stmt {
        let exp = match &s.exp {
            Exp::Host(e) => e.clone(),
            Exp::If { cond, then, otherwise } => {
                mono::Exp::If { cond: *cond, then: self.body(then), otherwise: self.body(otherwise) }
            }
            Exp::For { axis, state, body } => {
                mono::Exp::For { axis: *axis, state: state.clone(), body: self.body(body) }
            }
            Exp::While { state, cond, body } => {
                mono::Exp::While { state: state.clone(), cond: self.body(cond), body: self.body(body) }
            }
            Exp::SerialMap { axes, body } => mono::Exp::Map { axes: axes.clone(), body: self.body(body) },
            Exp::Seg(seg) if !seg.orders.is_empty() => return self.in_order(s, seg, before),
            Exp::Seg(seg) => self.seg(&s.pat, seg, s.prov),
            Exp::Scatter { dests, axis, body, combine } => mono::Exp::Scatter {
                dests: dests.clone(),
                axis: *axis,
                body: body.clone(),
                combine: combine.clone(),
            },
            Exp::Grade { axis, body, gives } => {
                mono::Exp::Grade { axis: *axis, body: body.clone(), gives: *gives }
            }
            Exp::Branch { guard, then, otherwise } => {
                let cond = match (self.choose)(guard) {
                    Some(chosen) => Atom::Const(Scalar::Bool(chosen)),
                    None => self.holds(guard, before, s.prov),
                };
                mono::Exp::If { cond, then: self.body(then), otherwise: self.body(otherwise) }
            }
            Exp::Filters(parts) => return self.filters(s, parts, before),
            Exp::Rows(rows) => match &rows.of {
                None => return self.rows(s, (rows.axis, rows.regular, &rows.starts, &rows.body), before),
                Some(points) => return self.some_rows(s, rows, points),
            },
        };
        mono::Stmt { pat: s.pat.clone(), exp, prov: s.prov }
    }

    /// A join, and then each of its vectors with the size that it is known to have, each row of it where it begins.
    ///
    /// ```text
    /// (let (%v) (rows ((i n)) 0 (%starts) …))   (let (%total %from %data) (join ((i n)) 0 …))
    ///                                           (let (%zeros) (map ((k %size)) (give 0)))
    ///                                           (let (%v) (for (i n) ((%acc %zeros))
    ///                                             (let (%new) (scatter (j %len) (%acc) (give (+ %starts[i] j) %data[%from[i] + j])))
    ///                                             (give %new)))
    /// ```
    fn rows(
        &mut self,
        s: &Stmt,
        (axis, regular, starts, body): (Axis, usize, &[Var], &mono::Body),
        before: &mut Vec<mono::Stmt>,
    ) -> mono::Stmt {
        let (maps, vectors) = s.pat.split_at(regular.min(s.pat.len()));
        let (mut pat, mut placed) = (maps.to_vec(), Vec::new());
        for (v, to) in vectors.iter().zip(starts) {
            let Some(ty) = self.table.vars.get(*v).map(|info| info.ty.clone()) else {
                continue;
            };
            let total = self.table.fresh("total", Ty::int());
            let from = self.table.fresh("from", Ty::int().over(&[axis.size]));
            let data = self.table.fresh("data", Ty { base: ty.base, dims: vec![total.into()] });
            pat.extend([total, from, data]);
            placed.extend(self.placed((*v, &ty), axis, *to, (total, from, data), s.prov));
        }
        let body = mono::Body { stmts: body.stmts.clone(), results: body.results[..s.pat.len()].to_vec() };
        let exp = mono::Exp::Join { axis, regular, body };
        let join = mono::Stmt { pat, exp, prov: s.prov };
        let Some(last) = placed.pop() else { return join };
        before.push(join);
        before.extend(placed);
        last
    }

    /// A loop over the points, which writes what each gives into what there is.
    ///
    /// ```text
    /// (let (%ys %v) (rows warp (%i %m) (of %which (%a %b)) 1 (%starts) …))
    ///
    /// (let (%ys %v) (for (g %m) ((%acc %a) (%acc' %b)) (let (%i) (index %which g)) …
    ///   (let (%new) (scatter (k 1) (%acc) (give %i %y)))
    ///   (let (%start) (index %starts %i)) (let (%new') (scatter (j %len) (%acc') (give (+ %start j) %row[j])))
    ///   (give %new %new')))
    /// ```
    fn some_rows(&mut self, s: &Stmt, rows: &Rows, points: &Points) -> mono::Stmt {
        let prov = s.prov;
        let stmt = |v: Var, exp: mono::Exp| mono::Stmt { pat: vec![v], exp, prov };
        let i = rows.axis.var;
        let g = self.table.fresh("g", Ty::int());
        let mut stmts = vec![stmt(i, mono::Exp::Index { array: points.which, at: vec![g.into()] })];
        stmts.extend(rows.body.stmts.iter().cloned());
        let (mut state, mut results) = (Vec::new(), Vec::new());
        for (k, (v, r)) in s.pat.iter().zip(&rows.body.results).enumerate() {
            let ty = self.table.ty(*v).clone();
            let [acc, new] = ["acc", "new"].map(|name| self.table.fresh(name, ty.clone()));
            let [j, place] = ["j", "place"].map(|name| self.table.fresh(name, Ty::int()));
            let (size, body) = match k.checked_sub(rows.regular) {
                None => {
                    let at = mono::Exp::Atom(i.into());
                    (
                        Atom::int(1),
                        mono::Body { stmts: vec![stmt(place, at)], results: vec![place.into(), *r] },
                    )
                }
                Some(k) => {
                    let dims = self.table.atom_ty(*r).dims;
                    let mut size = Atom::int(1);
                    for d in dims {
                        let product = self.table.fresh("size", Ty::int());
                        stmts.push(stmt(product, mono::Exp::Op(ScalarOp::Mul, vec![size, d])));
                        size = product.into();
                    }
                    let start = self.table.fresh("start", Ty::int());
                    let at = vec![i.into()];
                    stmts.push(stmt(start, mono::Exp::Index { array: rows.starts[k], at }));
                    let row = self.table.fresh("row", Ty { base: ty.base, dims: vec![size] });
                    if let Some(array) = r.as_var() {
                        let view = mono::View::Reshape { dims: vec![size] };
                        stmts.push(stmt(row, mono::Exp::View { view, array }));
                    }
                    let x = self.table.fresh("x", Ty::scalar(ty.base));
                    let at = mono::Exp::Op(ScalarOp::Add, vec![start.into(), j.into()]);
                    let read = mono::Exp::Index { array: row, at: vec![j.into()] };
                    let elements = vec![stmt(place, at), stmt(x, read)];
                    (size, mono::Body { stmts: elements, results: vec![place.into(), x.into()] })
                }
            };
            let axis = Axis { var: j, size };
            stmts.push(stmt(new, mono::Exp::Scatter { dests: vec![acc], axis, body, combine: None }));
            state.push((acc, points.into[k].into()));
            results.push(new.into());
        }
        let axis = Axis { var: g, size: rows.axis.size };
        let exp = mono::Exp::For { axis, state, body: mono::Body { stmts, results } };
        mono::Stmt { pat: s.pat.clone(), exp, prov }
    }

    /// A vector whose rows begin where one says, from one in which they follow each other.
    fn placed(
        &mut self,
        (v, ty): (Var, &Ty),
        axis: Axis,
        to: Var,
        (total, from, data): (Var, Var, Var),
        prov: Prov,
    ) -> [mono::Stmt; 2] {
        let stmt = |v: Var, exp: mono::Exp| mono::Stmt { pat: vec![v], exp, prov };
        let mut int = |name: &str| self.table.fresh(name, Ty::int());
        let [k, i, j, start, place] = ["k", "i", "j", "start", "place"].map(&mut int);
        let [next, after, last, end, length] = ["next", "after", "last", "end", "length"].map(&mut int);
        let [source, target] = ["source", "target"].map(&mut int);
        let is_last = self.table.fresh("last", Ty { base: BaseTy::Bool, dims: Vec::new() });
        let [zeros, acc, new] = ["zeros", "acc", "new"].map(|name| self.table.fresh(name, ty.clone()));
        let element = self.table.fresh("x", Ty { base: ty.base, dims: Vec::new() });
        let op = |op: ScalarOp, args: &[Atom]| mono::Exp::Op(op, args.to_vec());
        let at = |array: Var, at: Atom| mono::Exp::Index { array, at: vec![at] };
        let one = Atom::int(1);
        let elements = mono::Body {
            stmts: vec![
                stmt(source, op(ScalarOp::Add, &[start.into(), j.into()])),
                stmt(target, op(ScalarOp::Add, &[place.into(), j.into()])),
                stmt(element, at(data, source.into())),
            ],
            results: vec![target.into(), element.into()],
        };
        let written = mono::Exp::Scatter {
            dests: vec![acc],
            axis: Axis { var: j, size: length.into() },
            body: elements,
            combine: None,
        };
        let row = mono::Body {
            stmts: vec![
                stmt(start, at(from, i.into())),
                stmt(place, at(to, i.into())),
                stmt(last, op(ScalarOp::Sub, &[axis.size, one])),
                stmt(is_last, op(ScalarOp::Ge, &[i.into(), last.into()])),
                mono::Stmt {
                    pat: vec![end],
                    exp: mono::Exp::If {
                        cond: is_last.into(),
                        then: mono::Body { stmts: Vec::new(), results: vec![total.into()] },
                        otherwise: mono::Body {
                            stmts: vec![
                                stmt(next, op(ScalarOp::Add, &[i.into(), one])),
                                stmt(after, at(from, next.into())),
                            ],
                            results: vec![after.into()],
                        },
                    },
                    prov,
                },
                stmt(length, op(ScalarOp::Sub, &[end.into(), start.into()])),
                stmt(new, written),
            ],
            results: vec![new.into()],
        };
        let sizes = ty.dims.iter().take(1);
        let nothing = mono::Exp::Map {
            axes: sizes.map(|size| Axis { var: k, size: *size }).collect(),
            body: mono::Body { stmts: Vec::new(), results: vec![Atom::Const(zero(ty.base))] },
        };
        let state = vec![(acc, zeros.into())];
        let over = Axis { var: i, size: axis.size };
        [stmt(zeros, nothing), stmt(v, mono::Exp::For { axis: over, state, body: row })]
    }

    /// One filter after the other: the last of them.
    fn filters(&mut self, s: &Stmt, parts: &[Filter], before: &mut Vec<mono::Stmt>) -> mono::Stmt {
        let mut pat = s.pat.as_slice();
        let mut last = mono::Stmt { pat: Vec::new(), exp: mono::Exp::Atom(Atom::int(0)), prov: s.prov };
        for (k, Filter { axis, body, prov }) in parts.iter().enumerate() {
            let results = if k + 1 == parts.len() { pat.len() } else { body.results.len().min(pat.len()) };
            let own;
            (own, pat) = pat.split_at(results);
            let exp = mono::Exp::Filter { axis: *axis, body: body.clone() };
            if k > 0 {
                before.push(last);
            }
            last = mono::Stmt { pat: own.to_vec(), exp, prov: *prov };
        }
        last
    }

    fn holds(&mut self, guard: &Guard, before: &mut Vec<mono::Stmt>, prov: Prov) -> Atom {
        let mut op = |this: &mut Self, op, args| {
            let v = this.table.fresh("p", Ty::scalar(BaseTy::Bool));
            before.push(mono::Stmt { pat: vec![v], exp: mono::Exp::Op(op, args), prov });
            Atom::Var(v)
        };
        let mut any = None;
        for t in &guard.tests {
            let one = op(self, t.compare.op(), vec![t.size, Atom::int(t.value)]);
            any = Some(match any {
                None => one,
                Some(before) => op(self, ScalarOp::Or, vec![before, one]),
            });
        }
        any.unwrap_or(Atom::Const(Scalar::Bool(false)))
    }

    /// The operator itself, and then the views of its results as they are in memory: the last of them.
    fn in_order(&mut self, s: &Stmt, seg: &Seg, before: &mut Vec<mono::Stmt>) -> mono::Stmt {
        let (mut pat, mut views) = (s.pat.clone(), Vec::new());
        for (v, order) in pat.iter_mut().zip(&seg.orders).filter(|(_, order)| !order.is_empty()) {
            let Some(VarInfo { name, ty }) = self.table.vars.get(*v).cloned() else { continue };
            let mut dims = ty.dims.clone();
            for (k, d) in order.iter().zip(&ty.dims) {
                if let Some(to) = dims.get_mut(*k) {
                    *to = *d;
                }
            }
            let made = self.table.fresh(name.as_str(), Ty { base: ty.base, dims });
            let exp = mono::Exp::View { view: View::Permute { perm: order.clone() }, array: made };
            views.push(mono::Stmt { pat: vec![*v], exp, prov: s.prov });
            *v = made;
        }
        let exp = self.seg(&pat, seg, s.prov);
        let own = mono::Stmt { pat, exp, prov: s.prov };
        let Some(last) = views.pop() else { return own };
        before.push(own);
        before.extend(views);
        last
    }

    fn seg(&mut self, pat: &[Var], seg: &Seg, prov: Prov) -> mono::Exp {
        let axes = seg.space.clone();
        let body = seg.body.clone();
        let mut stmts = Vec::new();
        let inner = match &seg.kind {
            SegKind::Map => return mono::Exp::Map { axes, body },
            SegKind::Red { axis, op } => mono::Exp::Reduce { axis: *axis, body, op: op.clone() },
            SegKind::Scan { axis, kind, op, epilogue, known: _ } => {
                let scan = mono::Exp::Scan { kind: *kind, axis: *axis, body, op: op.clone() };
                match epilogue {
                    None => scan,
                    Some(l) => self.after(scan, *axis, l, prov, &mut stmts),
                }
            }
        };
        if axes.is_empty() && stmts.is_empty() {
            return inner;
        }
        let mut own = Vec::new();
        for v in pat {
            if let Some(info) = self.table.vars.get(*v).cloned() {
                let ty = info.ty.cell(axes.len());
                own.push(self.table.fresh(info.name.as_str(), ty));
            }
        }
        let results = own.iter().map(|v| Atom::Var(*v)).collect();
        stmts.push(mono::Stmt { pat: own, exp: inner, prov });
        let body = mono::Body { stmts, results };
        mono::Exp::Map { axes, body }
    }

    /// The map that an epilogue stands for, after its scan.
    fn after(
        &mut self,
        scan: mono::Exp,
        axis: Axis,
        epilogue: &Lambda,
        prov: Prov,
        before: &mut Vec<mono::Stmt>,
    ) -> mono::Exp {
        let mut arrays = Vec::new();
        for v in epilogue.params.iter().skip(1) {
            if let Some(info) = self.table.vars.get(*v).cloned() {
                let ty = Ty { base: info.ty.base, dims: vec![axis.size] };
                arrays.push(self.table.fresh(info.name.as_str(), ty));
            }
        }
        let axes =
            epilogue.params.iter().take(1).map(|i| Axis { var: *i, size: axis.size }).collect::<Vec<_>>();
        let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let reads = epilogue.params.iter().skip(1).zip(&arrays).map(|(v, array)| {
            let exp = mono::Exp::Index { array: *array, at: at.clone() };
            mono::Stmt { pat: vec![*v], exp, prov }
        });
        let stmts = reads.chain(epilogue.body.stmts.iter().cloned()).collect();
        let body = mono::Body { stmts, results: epilogue.body.results.clone() };
        before.push(mono::Stmt { pat: arrays, exp: scan, prov });
        mono::Exp::Map { axes, body }
    }
}

//! `unbox`: one box at a time, of one array of them or of several side by side.
//!
//! ```text
//! (unbox xs (x m) ys (y m) body)   ⟶   ((λ (x y) (unbox x (x m)
//!                                                  (unbox y (y m') (check (= m' m) (let ((y (as-shape [m] y))) body)))))
//!                                       xs ys)
//! ```
//!
//! Side by side is what application means: a function of one box of each is applied over the frames, which have to
//! agree, and a single box goes with each of the others. So boxes that are opened one inside of the other are another
//! program: it has each pair of them. What hides nothing, named without an index, is an item beside each box.

use super::cells::Cut;
use super::*;
use crate::codes;
use crate::ir::{ExprKind, Fact};
use remc_syntax::ast;
use std::sync::Arc;

/// What is opened, and as what.
struct Boxes<'a> {
    said: &'a ast::Opened,
    boxes: Typed,
    /// What one hides; nothing for an array beside boxes.
    sigma: Option<Arc<SigmaTy>>,
}

/// An index that a part before has named, and what that part calls its contents.
#[derive(Clone)]
struct Known {
    name: Name,
    index: IVar,
    of: Name,
}

impl Checker<'_> {
    /// `(unbox e (x i …) … body)`
    pub(super) fn infer_unbox(
        &mut self,
        node: NodeId,
        opened: &[ast::Opened],
        body: &ast::Expr,
    ) -> Check<Typed> {
        let reported = self.diagnostics.len();
        let result = self.unboxed_parts(node, opened, body);
        if result.is_err() {
            self.opened_in_turn(reported, opened, body);
        }
        result
    }

    fn unboxed_parts(&mut self, node: NodeId, opened: &[ast::Opened], body: &ast::Expr) -> Check<Typed> {
        let several = opened.len() > 1;
        let parts: Vec<_> = opened.iter().map(|o| self.boxes_of(node, o, several)).collect();
        let parts: Vec<Boxes> = parts.into_iter().collect::<Check<_>>()?;
        if let ([Boxes { said, boxes, sigma: Some(sigma) }], false) = (&parts[..], several) {
            let of = (boxes.expr.clone(), *said, &**sigma, &boxes.expr.ty.shape);
            return self
                .open_boxes(node, of, &mut Vec::new(), |c, _| Ok(c.infer(body, None)?.expr))
                .and_then(|e| self.leave(Typed::new(e)));
        }
        let result = self.deeper(|c| {
            let beside = c.rank_beside(&parts)?;
            let mut cuts = Vec::new();
            for Boxes { said, boxes, sigma } in &parts {
                let boxes = boxes.clone();
                cuts.push(match sigma {
                    Some(_) => c.cut_at_rank(&said.value.name, boxes, 0, said.value.id)?,
                    None => c.cut_behind(&said.value.name, boxes, beside, said.value.id)?,
                });
            }
            let build = |c: &mut Self, cells: Vec<VarId>| {
                let with: Vec<_> = parts.iter().zip(cells).collect();
                Ok(Typed::new(c.open_cells(node, &with, &mut Vec::new(), body)?))
            };
            c.over_cells(cuts, node, build, None)
        })?;
        self.leave(result)
    }

    /// Tells, where sizes of boxes that are opened one inside of the other do not agree, how they are opened side by side.
    fn opened_in_turn(&mut self, reported: usize, outer: &[ast::Opened], body: &ast::Expr) {
        let ast::ExprKind::Unbox { opened: inner, .. } = &*body.kind else { return };
        let names = |d: &Diagnostic<Loc>, of: &[ast::Opened]| {
            let mut indices = of.iter().flat_map(|o| &o.indices);
            indices.any(|i| d.labels.iter().any(|l| l.loc == Loc::Node(i.id)))
        };
        let mut ids = outer.iter().flat_map(|o| &o.indices).map(|i| i.name.as_str());
        let (Some(size), [a], [b]) = (ids.next(), outer, &inner[..]) else { return };
        let boxes = |o: &ast::Opened| match &*o.boxes.kind {
            ast::ExprKind::Var(name) => name.to_string(),
            _ => "…".to_owned(),
        };
        let together =
            format!("{} ({} {size}) {} ({} {size})", boxes(a), a.value.name, boxes(b), b.value.name);
        for d in &mut self.diagnostics[reported..] {
            if names(d, outer) && names(d, inner) {
                let each = "one inside of the other goes through all of the second for each of the first";
                let help = format!("boxes side by side are opened together, (unbox {together} …); {each}");
                d.help.insert(0, help);
            }
        }
    }

    /// Opens a box of each of the parts, one inside of the other.
    fn open_cells(
        &mut self,
        node: NodeId,
        parts: &[(&Boxes, VarId)],
        known: &mut Vec<Known>,
        body: &ast::Expr,
    ) -> Check<Expr> {
        match parts {
            [] => Ok(self.infer(body, None)?.expr),
            [(Boxes { sigma: None, .. }, _), rest @ ..] => self.open_cells(node, rest, known, body),
            [(Boxes { said, sigma: Some(sigma), boxes }, cell), rest @ ..] => {
                let cell = self.local(*cell).local.clone();
                let cell = Expr::new(ExprKind::Var(cell.var), cell.ty, said.boxes.id);
                self.open_boxes(node, (cell, said, sigma, &boxes.expr.ty.shape), known, |c, known| {
                    c.open_cells(node, rest, known, body)
                })
            }
        }
    }

    /// The boxes of a part. An array of exact shape is boxed first, where it is not one beside others.
    fn boxes_of<'a>(&mut self, node: NodeId, said: &'a ast::Opened, beside: bool) -> Check<Boxes<'a>> {
        let ast::Opened { boxes, value, indices } = said;
        let mut t = self.demanding(false, |c| c.infer(boxes, None))?;
        let mut ty = self.s.zonk(&t.expr.ty);
        let dims = ty.shape.dims().map(|d| d.len());
        // What `iota` counts is an array, of whatever numbers.
        let counted = matches!(&*t.expr.kind, ExprKind::Cast(_));
        let may_be_boxes = matches!(ty.atom, AtomTy::Sigma(_) | AtomTy::Meta(_)) && !counted;
        if beside && indices.is_empty() && !matches!(ty.atom, AtomTy::Sigma(_)) {
            return Ok(Boxes { said, boxes: t, sigma: None });
        }
        if !may_be_boxes
            && let Some(rank) = dims
            && rank >= indices.len()
            && rank > 0
            && indices.iter().all(|i| !i.name.is_at())
        {
            t = self.box_dims(t.expr, indices.len(), node)?;
            ty = self.s.zonk(&t.expr.ty);
        }
        let AtomTy::Sigma(sigma) = &ty.atom else {
            let shown = self.show(&ty);
            if matches!(ty.atom, AtomTy::Meta(_)) && self.s.class_of(&ty.atom).is_none() {
                return self.fail(
                    Diagnostic::error(codes::NOT_A_BOX, "nothing says what boxes these are")
                        .primary(Loc::Node(boxes.id), format!("has type `{shown}`, of any elements"))
                        .help(
                            "write the type of the parameter: [b (Σ (n) [int n])] of a box of numbers, \
                             [b [(Σ (n) [int n]) k]] of a vector of them",
                        ),
                );
            }
            let help = match beside {
                true => format!("for an item of it beside each box, name no index: ({})", value.name),
                false => "use the value as it is, or box it: (box ((n 3)) [int n] e)".to_owned(),
            };
            return self.fail(
                Diagnostic::error(codes::NOT_A_BOX, "unbox opens boxes; this is none")
                    .primary(Loc::Node(boxes.id), format!("has type `{shown}`"))
                    .help(help),
            );
        };
        if sigma.params.len() != indices.len() {
            let shown = self.show(&ty);
            return self.fail(
                Diagnostic::error(
                    codes::NOT_A_BOX,
                    format!("the box hides {} indices, {} are named", sigma.params.len(), indices.len()),
                )
                .primary(Loc::Node(value.id), "names the contents, then one name for each hidden index")
                .secondary(Loc::Node(boxes.id), format!("has type `{shown}`"))
                .help(format!(
                    "name what it hides: (unbox … ({} {}) …)",
                    value.name,
                    sigma.params.iter().map(|p| p.name.to_string()).collect::<Vec<_>>().join(" ")
                )),
            );
        }
        for (p, i) in sigma.params.iter().zip(indices) {
            if (p.sort == Sort::Shape) != i.name.is_at() {
                return self.fail(
                    Diagnostic::error(
                        codes::NOT_A_BOX,
                        format!(
                            "`{}` names a {}",
                            i.name,
                            if p.sort == Sort::Shape {
                                "shape, so it is written with @"
                            } else {
                                "dim, so it is written without @"
                            }
                        ),
                    )
                    .primary(Loc::Node(i.id), "wrong kind of name"),
                );
            }
        }
        let sigma = Some(sigma.clone());
        Ok(Boxes { said, boxes: t, sigma })
    }

    /// How many axes are those of the boxes, in front of an item beside them.
    fn rank_beside(&mut self, parts: &[Boxes]) -> Check<usize> {
        let mut most = 0;
        let mut none = true;
        for part in parts.iter().filter(|p| p.sigma.is_some()) {
            none = false;
            let shape = self.s.zonk_shape(&part.boxes.expr.ty.shape);
            match shape.dims() {
                Some(dims) => most = most.max(dims.len()),
                None if parts.iter().all(|p| p.sigma.is_some()) => {}
                None => {
                    let shown = self.show(&part.boxes.expr.ty);
                    return self.fail(
                        Diagnostic::error(codes::NOT_A_BOX, "nothing says how many axes of boxes these are")
                            .primary(Loc::Node(part.said.boxes.id), format!("has type `{shown}`"))
                            .help("write the type of the parameter: [b [(Σ (n) [int n]) k]] of a vector of boxes"),
                    );
                }
            }
        }
        if none {
            let part = &parts[0];
            let shown = self.show(&part.boxes.expr.ty);
            return self.fail(
                Diagnostic::error(codes::NOT_A_BOX, "unbox opens boxes; these are none")
                    .primary(Loc::Node(part.said.boxes.id), format!("has type `{shown}`"))
                    .help(
                        "items side by side are a function's, which is lifted: ((λ ([x 0] [y 0]) …) xs ys)",
                    ),
            );
        }
        Ok(most)
    }

    /// An array cut behind its first axes, of which it has as many.
    fn cut_behind(&mut self, name: &Name, arg: Typed, axes: usize, at: NodeId) -> Check<Cut> {
        let ty = self.s.zonk(&arg.expr.ty);
        let rank = ty.shape.dims().map(|d| d.len());
        match rank {
            Some(rank) if rank >= axes => {
                let rank = u32::try_from(rank - axes).unwrap_or(u32::MAX);
                self.cut_at_rank(name, arg, rank, at)
            }
            // An item that goes with every box.
            Some(_) => self.cut_at_rank(name, arg, 0, at),
            None => {
                let shown = self.show(&ty);
                self.fail(
                    Diagnostic::error(codes::NOT_A_BOX, "nothing says how many axes this has")
                        .primary(Loc::Node(arg.expr.node), format!("has type `{shown}`"))
                        .help("write the type of the parameter, as [w [float k]], or its rank, as [w 1]"),
                )
            }
        }
    }

    /// Opens boxes of one part around what `inner` makes: all of them, or one, where several parts go side by side. `all` is
    /// the frame of them all.
    fn open_boxes(
        &mut self,
        node: NodeId,
        (boxes, said, sigma, all): (Expr, &ast::Opened, &SigmaTy, &Shape),
        known: &mut Vec<Known>,
        inner: impl FnOnce(&mut Self, &mut Vec<Known>) -> Check<Expr>,
    ) -> Check<Expr> {
        let ast::Opened { boxes: written, value, indices } = said;
        self.deeper(|c| {
            let frame = c.s.zonk_shape(&boxes.ty.shape);
            // What it hides as it is, and by the names of parts before.
            let (mut own, mut named) = (Subst::new(), Subst::new());
            let mut opened = Vec::new();
            let mut facts = Vec::new();
            let mut first = None;
            for (p, i) in sigma.params.iter().zip(indices) {
                let before = known.iter().find(|k| k.name == i.name && i.name.as_str() != "_").cloned();
                let w = match &before {
                    Some(_) => c.s.fresh_ivar(p.sort, i.name.as_str(), c.s.depth),
                    None => c.bind_index_name(&i.name, c.s.depth),
                };
                own.bind_index(p, w.clone().into());
                c.comes_from(&w, Loc::Node(i.id), "is bound here");
                match before {
                    Some(Known { index: same, of, .. }) => {
                        if w.sort == Sort::Dim {
                            facts.push((Dim::rigid(same.clone()), Dim::rigid(w.clone())));
                        }
                        named.bind_index(p, same.into());
                        first = Some(of);
                    }
                    None => {
                        let (index, of) = (w.clone(), value.name.clone());
                        known.push(Known { name: i.name.clone(), index, of });
                        named.bind_index(p, w.clone().into());
                    }
                }
                opened.push(w);
            }
            let contents = c.new_local(&value.name, own.arr(&sigma.body), None);
            let var = match &first {
                None => contents,
                Some(of) => {
                    let (had, has) = (own.arr(&sigma.body), named.arr(&sigma.body));
                    if had.atom != has.atom {
                        let shown = c.show(&ArrTy::scalar(AtomTy::Sigma(Arc::new(sigma.clone()))));
                        return c.fail(
                            Diagnostic::error(
                                codes::NOT_A_BOX,
                                format!("the elements of `{}` have a size that is to be one of `{of}`", value.name),
                            )
                            .primary(Loc::Node(value.id), format!("is what is in `{shown}`"))
                            .help("only sizes of the contents themselves are compared: give the index a name of its own"),
                        );
                    }
                    c.new_local(&value.name, has, None)
                }
            };
            c.bind_local(&value.name, var);
            let body = c.behind_barrier(|c| inner(c, known))?;
            let mut body = c.close_local(var, body)?;
            if let Some(of) = first {
                let had = Expr::new(ExprKind::Var(contents), own.arr(&sigma.body), value.id);
                let stated = ExprKind::AsShape(had);
                let local = c.local(var).local.clone();
                let stated = Expr::new(stated, local.ty.clone(), value.id);
                let ty = body.ty.clone();
                body = Expr::new(ExprKind::Let { local, value: stated, body }, ty.clone(), node);
                let why: Arc<str> = format!("`{of}` and `{}`, side by side, differ in a size", value.name).into();
                for (p, q) in facts {
                    let kind = ExprKind::Check { fact: Fact::Equal(p, q), why: why.clone(), body };
                    body = Expr::new(kind, ty.clone(), value.id);
                }
                body = c.close_local(contents, body)?;
            }
            c.opens_twice((written, value, indices), sigma, &c.s.zonk_shape(all), (contents, &opened, &body))?;
            let body = c.rebox(body, &opened)?;
            let ty = body.ty.lifted(&frame);
            let local = c.local(contents).local.clone();
            Ok(Expr::new(ExprKind::Unbox { boxes, indices: opened, local, body }, ty, node))
        })
    }
}

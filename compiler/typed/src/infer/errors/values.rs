//! Messages about forms whose parts have one type: brackets, branches, the state of a loop. Their help
//! is written with the parts that are there, and shown if it checks.

use super::*;
use crate::recursion::Looped;
use remc_syntax::ast::{self, ExprKind as A};
use remc_syntax::brief::brief;

fn make(id: NodeId, kind: A) -> ast::Expr {
    ast::Expr { id, kind: Box::new(kind) }
}

fn boxed(e: &ast::Expr) -> ast::Expr {
    match &*e.kind {
        A::BoxInfer(_) | A::Box { .. } => e.clone(),
        _ => make(e.id, A::BoxInfer(e.clone())),
    }
}

impl Checker<'_> {
    /// Elements of a bracket or frame that differ.
    pub(in crate::infer) fn ragged<T>(
        &mut self,
        e: Mismatch,
        (parts, i): (&[Expr], usize),
        (node, es): (NodeId, &[ast::Expr]),
    ) -> Check<T> {
        let (first, other) = (&parts[0], &parts[i]);
        if let Mismatch::Escape(_) = e {
            return self.mismatch(e, other.node);
        }
        self.tell_apart(&[&first.ty.shape, &other.ty.shape]);
        let (a, b) = (self.show(&first.ty), self.show(&other.ty));
        let shapes = self.compare(("this element", &other.ty.shape), ("first element", &first.ty.shape));
        let same_atom = self.show_atom(&first.ty.atom) == self.show_atom(&other.ty.atom);
        let is_box = |e: &Expr| matches!(self.s.zonk_atom(&e.ty.atom), AtomTy::Sigma(_));
        let each = es.iter().zip(parts).map(|(e, t)| if is_box(t) { e.clone() } else { boxed(e) });
        let boxes = make(node, A::Bracket(each.collect()));
        let label = |d: Diagnostic<Loc>| {
            d.primary(Loc::Node(other.node), format!("has type `{b}`"))
                .secondary(Loc::Node(first.node), format!("has type `{a}`"))
        };
        let of_shape = matches!(
            e,
            Mismatch::Shapes(..) | Mismatch::Dims(..) | Mismatch::Negative(_) | Mismatch::Infinite
        );
        if of_shape && same_atom {
            let d = Diagnostic::error(codes::RAGGED, "the elements of an array have one shape; these differ");
            let d = self.label_origins(label(d).shapes(shapes), &[&first.ty.shape, &other.ty.shape]);
            let ranks = (self.rank_of(first), self.rank_of(other));
            let d = if ranks.0 != ranks.1 {
                d.help(format!(
                    "arrays of rank {} and {} cannot stand in one array: (values …) keeps them apart",
                    ranks.0, ranks.1
                ))
            } else if self.checks(&boxes) {
                d.help(format!("rows of different length go into boxes: {}", brief(&boxes)))
            } else {
                d.help("rows of different length go into boxes: [(box row) …]")
            };
            return self.fail(d);
        }
        // Records that differ in a field.
        if let (AtomTy::Tuple(x), AtomTy::Tuple(y)) =
            (self.s.zonk_atom(&first.ty.atom), self.s.zonk_atom(&other.ty.atom))
        {
            return self.fields_differ(&x, &y, first.node, other.node);
        }
        let d = label(Diagnostic::error(
            codes::ATOM_TYPE,
            "the elements of an array have one type; these differ",
        ));
        let a_box = [first, other].iter().any(|e| matches!(self.s.zonk_atom(&e.ty.atom), AtomTy::Sigma(_)));
        let d = if a_box && self.checks(&boxes) {
            d.help(format!("one is a box, so all are: {}", brief(&boxes)))
        } else {
            d.help("convert one of them, or keep them apart with (values …)")
        };
        self.fail(d)
    }

    fn rank_of(&self, e: &Expr) -> usize {
        self.s.zonk_shape(&e.ty.shape).items().len()
    }

    /// Tuples or records of one array whose fields differ.
    fn fields_differ<T>(&mut self, x: &TupleTy, y: &TupleTy, first: NodeId, other: NodeId) -> Check<T> {
        let labels = |t: &TupleTy| -> Vec<String> {
            t.fields.iter().map(|(l, _)| l.as_ref().map_or(String::new(), |l| l.to_string())).collect()
        };
        let (of_x, of_y) = (labels(x), labels(y));
        let (mut a, mut b) = (of_x.clone(), of_y.clone());
        a.sort();
        b.sort();
        let what = if of_x.iter().all(String::is_empty) { "tuples" } else { "records" };
        let message = format!("the {what} of an array have one type; these differ");
        if of_x != of_y {
            let d = Diagnostic::error(codes::ATOM_TYPE, message)
                .primary(Loc::Node(other), format!("has {}", listed(&of_y, y.fields.len())))
                .secondary(Loc::Node(first), format!("has {}", listed(&of_x, x.fields.len())));
            return self.fail(if a == b {
                d.help("the fields belong to the type in their order: write them in the same order")
            } else {
                d.help("give each the same fields, with a value such as 0 where there is none")
            });
        }
        let differ =
            x.fields.iter().zip(&y.fields).enumerate().find(|(_, (p, q))| self.show(&p.1) != self.show(&q.1));
        let Some((i, (p, q))) = differ else { return Err(Reported) };
        let field = if of_x[i].is_empty() { format!("component {i}") } else { format!("`{}`", of_x[i]) };
        let (s, t) = (self.show(&p.1), self.show(&q.1));
        let same_atom = self.show_atom(&p.1.atom) == self.show_atom(&q.1.atom);
        let code = if same_atom { codes::RAGGED } else { codes::ATOM_TYPE };
        let d = Diagnostic::error(code, message)
            .primary(Loc::Node(other), format!("{field} has type `{t}`"))
            .secondary(Loc::Node(first), format!("{field} has type `{s}`"));
        if same_atom {
            let c = self.compare(("this element", &q.1.shape), ("first element", &p.1.shape));
            return self.fail(d.shapes(c).help(format!("box {field} in each: (box …) hides its size")));
        }
        self.fail(d.help("convert one of them, so that the field has one type"))
    }

    pub(in crate::infer) fn branches_differ<T>(
        &mut self,
        e: Mismatch,
        a: &Expr,
        b: &Expr,
        (cond, then, otherwise): (&ast::Expr, &ast::Expr, &ast::Expr),
    ) -> Check<T> {
        if let Mismatch::Escape(_) = e {
            return self.mismatch(e, b.node);
        }
        self.tell_apart(&[&a.ty.shape, &b.ty.shape]);
        let (x, y) = (self.show(&a.ty), self.show(&b.ty));
        let shapes = self.compare(("first", &a.ty.shape), ("second", &b.ty.shape));
        let d = Diagnostic::error(codes::BRANCHES, "the branches of an if have one type; these differ")
            .primary(Loc::Node(b.node), format!("has type `{y}`"))
            .secondary(Loc::Node(a.node), format!("has type `{x}`"));
        let a_box = [a, b].iter().any(|e| matches!(self.s.zonk_atom(&e.ty.atom), AtomTy::Sigma(_)));
        let of_shape = matches!(e, Mismatch::Shapes(..) | Mismatch::Dims(..));
        let d = if of_shape { self.label_origins(d.shapes(shapes), &[&a.ty.shape, &b.ty.shape]) } else { d };
        if !a_box && !of_shape {
            return self.fail(d.help("convert one of them to the other's type"));
        }
        let branch = |then: ast::Expr, otherwise: ast::Expr| {
            make(then.id, A::If { cond: cond.clone(), then, otherwise })
        };
        let row = |e: &ast::Expr| make(e.id, A::Bracket(vec![e.clone()]));
        let is_box = |e: &Expr| matches!(self.s.zonk_atom(&e.ty.atom), AtomTy::Sigma(_));
        let each = |t: &Expr, e: &ast::Expr| if is_box(t) { e.clone() } else { boxed(e) };
        let boxes = branch(each(a, then), each(b, otherwise));
        let rows = [branch(row(then), otherwise.clone()), branch(then.clone(), row(otherwise))];
        let (m, n) = (self.rank_of(a), self.rank_of(b));
        if m != n
            && !a_box
            && let Some(fits) = rows.into_iter().find(|e| self.checks(e))
        {
            return self.fail(d.help(format!("in brackets, both have one rank: {}", brief(&fits))));
        }
        let d = if self.checks(&boxes) {
            let why =
                if a_box { "one is a box, so both are" } else { "arrays of different size go into boxes" };
            d.help(format!("{why}: {}", brief(&boxes)))
        } else if m != n {
            d.help(format!("give both one rank: one has rank {m}, the other {n}"))
        } else {
            d.help("to give arrays of different shape, box both: (box e)")
        };
        self.fail(d)
    }

    pub(in crate::infer) fn bad_condition<T>(
        &mut self,
        test: &Expr,
        cond: &ast::Expr,
        branches: Option<(&ast::Expr, &ast::Expr)>,
    ) -> Check<T> {
        let ty = self.s.zonk(&test.ty);
        let shown = self.show(&ty);
        let d = Diagnostic::error(codes::CONDITION, "a condition is a single bool")
            .primary(Loc::Node(test.node), format!("has type `{shown}`"));
        if ty.shape.is_scalar() {
            return self.fail(d.help("compare it: (!= x 0) is a bool"));
        }
        let call = |name: &str, args: Vec<&ast::Expr>| {
            let func = make(cond.id, A::Var(Name::new(name)));
            make(cond.id, A::App { func, args: args.into_iter().cloned().collect() })
        };
        let all = call("all", vec![cond]);
        let each = branches.map(|(a, b)| call("select", vec![cond, a, b]));
        let asks = format!("{} asks for all of them, any for one", brief(&all));
        let d = match each.filter(|e| self.checks(e)) {
            Some(e) => d.help(format!("{} chooses for each; {asks}", brief(&e))),
            None => d.help(asks),
        };
        self.fail(d)
    }

    /// The next state of a loop is not of the type of the first.
    pub(in crate::infer) fn state_changes<T>(
        &mut self,
        e: Mismatch,
        names: &[Name],
        init: &[Expr],
        next: &Expr,
        body: &ast::Expr,
    ) -> Check<T> {
        if let Mismatch::Escape(_) = e {
            return self.mismatch(e, next.node);
        }
        let ty = self.s.zonk(&next.ty);
        let parts: Vec<ArrTy> = match (&ty.atom, init) {
            (_, [_]) => vec![ty.clone()],
            (AtomTy::Tuple(t), many) if t.fields.len() == many.len() && ty.shape.is_scalar() => {
                t.fields.iter().map(|f| f.1.clone()).collect()
            }
            _ => {
                let shown = self.show(&ty);
                let names: Vec<_> = names.iter().map(|n| n.to_string()).collect();
                let all = names.join(" ");
                return self.fail(
                    Diagnostic::error(
                        codes::ANNOTATION,
                        format!("the body of this loop has to give the next values of {}", names.join(", ")),
                    )
                    .primary(Loc::Node(next.node), format!("has type `{shown}`"))
                    .help(format!("end the body with (values …), one for each of {all}, in this order")),
                );
            }
        };
        let Some(i) = (0..parts.len()).find(|i| self.show(&parts[*i]) != self.show(&init[*i].ty)) else {
            return self.annotated(e, next, &init[0].ty, next.node);
        };
        let (name, first, then) = (&names[i], init[i].ty.clone(), &parts[i]);
        self.tell_apart(&[&first.shape, &then.shape]);
        let (x, y) = (self.show(&first), self.show(then));
        let looped = self.looped.iter().find(|l| l.node == init[i].node).cloned();
        if let Some(Looped { call, name: of, .. }) = looped {
            let boxed =
                [&first, then].iter().any(|ty| matches!(self.s.zonk_atom(&ty.atom), AtomTy::Sigma(_)));
            let arrays = boxed || first.atom == then.atom;
            // The names of what is given are in no program.
            let what =
                if name.as_str().contains(' ') { format!("what `{of}` gives") } else { format!("`{name}`") };
            return self.fail(
                Diagnostic::error(
                    codes::ANNOTATION,
                    format!("{what} is `{x}` at first, and `{y}` where the definition calls itself"),
                )
                .primary(Loc::Node(call), format!("another type of {what} goes with this call"))
                .help(match (arrays, name.as_str().contains(' ')) {
                    (true, true) => {
                        "a definition gives one type and shape: write (box …) around each end, and around what it makes of its calls"
                    }
                    (true, false) => {
                        "a definition calls itself with parameters of one type and shape: give it all of an array and a place in it to \
                         go on from, (total xs (+ i 1)), or a box, or write reduce, fold or loop"
                    }
                    (false, _) => "convert one of the two: (cast float x), or quotient in the place of /",
                }),
            );
        }
        let at = last_value(body, i, init.len());
        let d = Diagnostic::error(
            codes::ANNOTATION,
            format!("the loop's `{name}` is `{x}` at first and `{y}` in the next step"),
        )
        .primary(Loc::Node(at), format!("the next `{name}` has type `{y}`"))
        .secondary(Loc::Node(init[i].node), format!("the first has type `{x}`"));
        if let (AtomTy::Base(a), AtomTy::Base(b)) =
            (self.readable_default(&then.atom), self.readable_default(&first.atom))
            && a != b
        {
            return self.fail(d.help(agreement(a, b, false, Some(is_literal(&init[i])))));
        }
        let boxed_first = matches!(self.s.zonk_atom(&first.atom), AtomTy::Sigma(_));
        let c = self.compare(("at first", &first.shape), ("next", &then.shape));
        self.fail(if boxed_first {
            d.help("it begins as a box: box the next value too, as (box e)")
        } else {
            d.shapes(c).help(
                "a loop keeps the shapes of its state: box what grows, or begin with all the room and fill it with scatter/into",
            )
        })
    }
}

/// The node of the value with this position, of so many, that a body ends with.
fn last_value(body: &ast::Expr, i: usize, of: usize) -> NodeId {
    let end = body.end();
    match &*end.kind {
        A::Values(es) if of > 1 && es.len() == of => es[i].id,
        _ => end.id,
    }
}

fn listed(labels: &[String], count: usize) -> String {
    if labels.iter().all(String::is_empty) {
        return format!("{count} components");
    }
    format!("the fields {}", labels.join(", "))
}

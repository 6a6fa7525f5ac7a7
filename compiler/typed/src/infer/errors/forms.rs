//! Messages about functions as arguments, and about the forms that are no applications.

use super::*;
use crate::infer::decide::Ranks;

/// The most ways of writing ranks that a message lists.
const MOST_CANDIDATES: usize = 3;

/// Whether the operator's function gets an element, then an accumulator.
fn is_fold(name: &str) -> bool {
    matches!(name, "fold" | "fold-right" | "fold/1" | "trace" | "trace-right")
}

/// Whether the operator gives the result of its function to the next step.
pub(in crate::infer) fn goes_on(name: &str) -> bool {
    is_fold(name)
        || matches!(name, "iterate" | "while")
        || ["reduce", "iscan", "scan", "open-scan"].iter().any(|r| name.starts_with(r))
}

impl Checker<'_> {
    // ---- functions as arguments ------------------------------------------------------------------------

    fn function_context(context: Option<(&Operator, usize)>) -> String {
        match context {
            Some((op, position)) => format!("the {} argument of {}", ordinal(position), Self::named(op)),
            None => "this".to_string(),
        }
    }

    pub(in crate::infer) fn function_wanted<T>(
        &mut self,
        ty: &ArrTy,
        want: &Arc<FnTy>,
        node: NodeId,
        context: Option<(&Operator, usize)>,
    ) -> Check<T> {
        let shown = self.show(ty);
        let want = self.show_atom(&AtomTy::Fn(want.clone()));
        self.fail_application(
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                format!("{} has to be a function", Self::function_context(context)),
            )
            .primary(Loc::Node(node), format!("has type `{shown}`"))
            .note(format!("a function of type `{want}` is wanted")),
        )
    }

    pub(in crate::infer) fn function_arity<T>(
        &mut self,
        have: &FnTy,
        want: &FnTy,
        node: NodeId,
        context: Option<(&Operator, usize)>,
    ) -> Check<T> {
        let (h, w) = (have.params.len(), want.params.len());
        self.fail_application(
            Diagnostic::error(
                codes::ARGUMENT_COUNT,
                format!("{} has to be a function of {w} arguments", Self::function_context(context)),
            )
            .primary(Loc::Node(node), format!("takes {h}"))
            .help(format!("write a λ of {w} parameters")),
        )
    }

    pub(in crate::infer) fn function_mismatch<T>(
        &mut self,
        e: Mismatch,
        have: &FnTy,
        want: &FnTy,
        node: NodeId,
        context: Option<(&Operator, usize)>,
    ) -> Check<T> {
        let h = self.show_atom(&AtomTy::Fn(Arc::new(have.clone())));
        let w = self.show_atom(&AtomTy::Fn(Arc::new(want.clone())));
        let code = match &e {
            Mismatch::Class(t @ AtomTy::Var(_), c) => {
                let (t, c) = (t.clone(), *c);
                return self.class_error(&t, c, node, None);
            }
            Mismatch::Escape(_) => return self.mismatch(e, node),
            _ if want.params.iter().any(|w| self.is_boxes(w))
                && !have.params.iter().any(|h| self.is_boxes(h)) =>
            {
                let message = format!("{} is given boxes", Self::function_context(context));
                let boxes = want.params.iter().find(|w| self.is_boxes(w)).cloned();
                let one = boxes.map_or("box".to_owned(), |b| self.show_atom(&b.atom));
                let help = format!(
                    "write a function of one box, (λ ([x {one}]) …), or open the boxes one by one: (unbox boxes (x n) (… x …))"
                );
                return self.fail_application(
                    Diagnostic::error(codes::BOXED, message)
                        .primary(Loc::Node(node), format!("has type `{h}`"))
                        .note(format!("a function of type `{w}` is wanted"))
                        .help(help),
                );
            }
            Mismatch::Class(t, c) => {
                let given = have.params.iter().zip(&want.params).any(|(h, w)| {
                    let (h, w) = (self.s.zonk_atom(&h.atom), self.s.zonk_atom(&w.atom));
                    matches!(h, AtomTy::Meta(_)) && w == *t
                });
                if given && !matches!(t, AtomTy::Meta(_)) {
                    let (t, c) = (t.clone(), *c);
                    return self.class_error(&t, c, node, Some(&Self::function_context(context)));
                }
                codes::FUNCTION_SHAPE
            }
            _ => codes::FUNCTION_SHAPE,
        };
        let mut d = Diagnostic::error(
            code,
            format!("{} has the wrong function type", Self::function_context(context)),
        )
        .primary(Loc::Node(node), format!("has type `{h}`"))
        .note(format!("a function of type `{w}` is wanted"));
        if let Mismatch::Shapes(a, b) = &e {
            d = d.shapes(self.compare(("wanted", b), ("found", a)));
        }
        let of_shape = matches!(e, Mismatch::Shapes(..) | Mismatch::Dims(..));
        let same = have.params.iter().zip(&want.params).all(|(h, w)| self.show(h) == self.show(w));
        if let Some((op, 0)) = context
            && is_fold(&op.name)
        {
            d = d.note(format!("`{}` gives it an element, then the accumulator", op.name));
        }
        self.fail_application(if !same {
            d.help("it has to take what it is given here: convert the data, or write a λ")
        } else if let Some((op, _)) = context.filter(|(op, _)| of_shape && goes_on(&op.name)) {
            d.help(format!(
                "`{}` gives the result to the next step, so its shape stays the same: box what grows",
                op.name
            ))
        } else {
            let (ret, found) = (self.show(&want.ret), self.show(&have.ret));
            d.help(format!("it has to give `{ret}`, not `{found}`"))
        })
    }

    /// A function that is given its own result and changes its length: only empty arrays fit it.
    pub(in crate::infer) fn result_grows<T>(
        &mut self,
        node: NodeId,
        op: &Operator,
        position: usize,
    ) -> Check<T> {
        self.fail_application(
            Diagnostic::error(
                codes::FUNCTION_SHAPE,
                format!(
                    "the {} argument of {} changes the length of what it is given",
                    ordinal(position),
                    Self::named(op)
                ),
            )
            .primary(Loc::Node(node), "only empty arrays would keep their length")
            .help(format!(
                "`{}` gives the result to the next step, so its shape stays the same: box what grows",
                op.name
            )),
        )
    }

    // ---- other forms -----------------------------------------------------------------------------------

    pub(in crate::infer) fn annotated<T>(
        &mut self,
        e: Mismatch,
        found: &Expr,
        want: &ArrTy,
        at: NodeId,
    ) -> Check<T> {
        if let Mismatch::Class(t, c) = &e
            && matches!(t, AtomTy::Var(_))
        {
            let (t, c) = (t.clone(), *c);
            return self.class_error(&t, c, found.node, None);
        }
        if let Mismatch::Escape(_) = e {
            return self.mismatch(e, found.node);
        }
        self.tell_apart(&[&found.ty.shape, &want.shape]);
        let (w, h) = (self.show(want), self.show(&found.ty));
        let shapes = self.compare(("found", &found.ty.shape), ("wanted", &want.shape));
        let mut d = Diagnostic::error(codes::ANNOTATION, format!("this has type `{h}`, not `{w}`"))
            .primary(Loc::Node(found.node), format!("has type `{h}`"));
        if at != found.node {
            d = d.secondary(Loc::Node(at), format!("`{w}` is wanted because of this"));
        }
        if matches!(e, Mismatch::Shapes(..) | Mismatch::Dims(..) | Mismatch::Negative(_)) {
            d = self.label_origins(d.shapes(shapes), &[&found.ty.shape, &want.shape]);
        }
        let (have, wanted) = (self.s.zonk(&found.ty), self.s.zonk(want));
        let atoms = (self.readable_default(&have.atom), &wanted.atom);
        self.fail(match atoms {
            (AtomTy::Sigma(_), to) if !matches!(to, AtomTy::Sigma(_)) => d.help(
                "its size is known only when the program runs, so it is a box: leave the annotation out, or write the box's type",
            ),
            (AtomTy::Base(a), AtomTy::Base(b)) if a != *b => d.help(agreement(a, *b, false, None)),
            _ => match self.unequal_unknowns(&have.shape, &wanted.shape) {
                Some(help) => d.help(help),
                None if self.may_name(&have) => d.help(format!("write `{h}`, or change the expression")),
                None => d.help("leave the annotation out, or change the expression"),
            },
        })
    }

    pub(in crate::infer) fn annotation_mismatch<T>(
        &mut self,
        e: Mismatch,
        node: NodeId,
        at: NodeId,
    ) -> Check<T> {
        match e {
            Mismatch::Shapes(a, b) => {
                let c = self.compare(("found", &a), ("wanted", &b));
                self.fail(
                    Diagnostic::error(
                        codes::CELL_SHAPE,
                        "the argument does not have the shape of its parameter",
                    )
                    .primary(Loc::Node(node), "this argument")
                    .secondary(Loc::Node(at), "for this parameter")
                    .shapes(c)
                    .help("change the parameter's type, or reshape the argument"),
                )
            }
            e => self.mismatch(e, node),
        }
    }

    pub(in crate::infer) fn wrong_witness<T>(
        &mut self,
        e: Mismatch,
        want: &ArrTy,
        found: &Expr,
        nodes: &[(NodeId, NodeId)],
    ) -> Check<T> {
        if !matches!(e, Mismatch::Shapes(..) | Mismatch::Dims(..)) {
            return self.annotated(e, found, want, found.node);
        }
        let (w, h) = (self.show(want), self.show(&found.ty));
        let shapes = self.compare(("contents", &found.ty.shape), ("witnesses say", &want.shape));
        let mut d = Diagnostic::error(
            codes::WITNESS,
            format!("the contents have type `{h}`, the witnesses say `{w}`"),
        )
        .primary(Loc::Node(found.node), format!("has type `{h}`"));
        if let Some((_, at)) = nodes.first() {
            d = d.secondary(Loc::Node(*at), "the witness");
        }
        self.fail(
            d.shapes(shapes).help("the witness is the size that the box hides; (box e) finds it by itself"),
        )
    }

    /// Reports that these ranks of parameters all fit: each is a way of writing the program.
    pub(in crate::infer) fn ambiguous_rank<T>(&mut self, node: NodeId, ranks: &[Ranks]) -> Check<T> {
        let mut written: Vec<String> = Vec::new();
        for ranks in ranks {
            let mut params: Vec<_> =
                ranks.iter().filter_map(|(m, r)| Some((self.parameter_of_shape(*m)?, r))).collect();
            params.sort_by_key(|(p, _)| p.position);
            let params = params.into_iter().map(|(p, r)| format!("[{} {}]", p.name, r + p.before));
            let params = params.collect::<Vec<_>>().join(" ");
            if !params.is_empty() && !written.contains(&params) {
                written.push(params);
            }
        }
        let mut open: Vec<MetaId> = ranks.iter().flatten().map(|(m, _)| *m).collect();
        open.retain(|m| self.parameter_of_shape(*m).is_some());
        open.dedup();
        let label = match open.as_slice() {
            [m] if let Some(p) = self.parameter_of_shape(*m) => {
                format!("`{}` may have more than one rank here", p.name)
            }
            _ => "which arguments have the longer frame is open".to_string(),
        };
        let d = Diagnostic::error(codes::AMBIGUOUS_RANK, "several ranks fit here, with different results")
            .primary(Loc::Node(node), label);
        self.fail(match written.as_slice() {
            [first, _, ..] => {
                let more = if written.len() > MOST_CANDIDATES { ", or …" } else { "" };
                let listed = written[..written.len().min(MOST_CANDIDATES)].join(", or ");
                d.note(format!("the candidates are: {listed}{more}"))
                    .help(format!("write the ranks of the parameters: (… {first} …)"))
            }
            _ => d.help(
                "write the ranks of the parameters: (λ ([x 1] [y 0]) …), or `all` for the whole argument",
            ),
        })
    }

    /// The parameter whose shape, or the rest of whose shape, this is.
    fn parameter_of_shape(&self, m: MetaId) -> Option<Parameter> {
        let of = |(position, l): (usize, &LocalVar)| {
            let shape = self.s.zonk_shape(&l.local.ty.shape);
            match shape.items().split_last()? {
                (ShapeItem::Var(ShapeVar::Meta(n)), dims) if *n == m => {
                    Some(Parameter { name: l.local.name.to_string(), position, before: dims.len() })
                }
                _ => None,
            }
        };
        let named = || {
            let name = self.s.meta(m).name.as_ref()?.as_str().trim_start_matches('@').to_string();
            Some(Parameter { name, position: usize::MAX, before: 0 })
        };
        self.locals.iter().enumerate().find_map(of).or_else(named)
    }
}

/// A parameter as a message shows it.
struct Parameter {
    /// What the program calls it.
    name: String,
    /// Its place among all variables.
    position: usize,
    /// How many sizes of its shape come before what is open.
    before: usize,
}

/// How two values become ones of one type, where `to` is wanted of one of type `from`; `literal` if it is one. `other` is
/// the value that wants it, a literal or not, if there is one. No conversion that loses digits is proposed where the
/// other way keeps them, and else it says which.
pub(super) fn agreement(from: BaseTy, to: BaseTy, literal: bool, other: Option<bool>) -> String {
    match other {
        _ if !loses(from, to) => conversion(from, to, literal),
        Some(literal) if !loses(to, from) => match (literal, to, from) {
            (true, BaseTy::I64, BaseTy::F64) => "write the number with a point, 2.0 for 2".into(),
            _ => format!("the other one keeps all its digits as `{from}`: {}", function(to, from)),
        },
        _ if from.is_float() && to.is_integer() => {
            let int = if to == BaseTy::I64 { "float->int" } else { to.name() };
            let make = |how: &str| match int {
                "float->int" => format!("(float->int ({how} x))"),
                to => format!("(cast {to} ({how} x))"),
            };
            format!("say how to round: {} or {}", make("round"), make("floor"))
        }
        _ => format!("`{to}` does not hold every `{from}`; where all of them fit: (cast {to} x)"),
    }
}

/// Whether a value of one number type may not have an equal one in the other, or, of an int as a float, nearly equal.
fn loses(from: BaseTy, to: BaseTy) -> bool {
    match (from.integer_range(), to.integer_range()) {
        (Some((least, most)), Some((low, high))) => least < low || most > high,
        (None, Some(_)) => from.is_float(),
        (None, None) => from.is_float() && to.is_float() && from.bits() > to.bits(),
        (Some(_), None) => false,
    }
}

/// The function that converts numbers.
fn function(from: BaseTy, to: BaseTy) -> String {
    match (from, to) {
        (BaseTy::I64, BaseTy::F64) => "(int->float x)".into(),
        (_, to) => format!("(cast {to} x)"),
    }
}

/// How a value of one type is made one of another; `literal` if it is one.
fn conversion(from: BaseTy, to: BaseTy, literal: bool) -> String {
    match (from, to) {
        (BaseTy::I64, BaseTy::F64) if literal => "write it with a point, 2.0 for 2".into(),
        (BaseTy::I64, BaseTy::F64) => "convert it with int->float".into(),
        (BaseTy::Bool, t) if t.is_integer() => "convert it with bool->int".into(),
        (BaseTy::Char, t) if t.is_integer() => "convert it with char->int".into(),
        (BaseTy::Char, BaseTy::Bool) => "compare it: (char=? c #\\a) is a bool".into(),
        (_, BaseTy::Bool) => "compare it: (!= x 0) is a bool".into(),
        (BaseTy::I64, BaseTy::Char) => "convert it with int->char".into(),
        (_, BaseTy::Char) => "int->char makes a character of an int".into(),
        (BaseTy::Bool, t) => format!("convert it with bool->int and (cast {t} …)"),
        (BaseTy::Char, t) => format!("convert it with char->int and (cast {t} …)"),
        (_, to) => format!("convert it: (cast {to} x)"),
    }
}

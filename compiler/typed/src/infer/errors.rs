//! Messages: what was expected, what was found, where both come from, what to do.

mod show;

use super::apply::Slot;
use super::instance::Operator;
use super::solver::{MetaKind, Mismatch};
use super::*;
use crate::codes;
use std::sync::Arc;

/// Whether two names are a typing mistake apart.
pub(super) fn near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 || a == b {
        return false;
    }
    let limit = if a.len().min(b.len()) <= 3 { 1 } else { 2 };
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()] <= limit && (a.len() > 1 || b.len() > 1)
}

fn ordinal(i: usize) -> String {
    match i {
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        n => format!("{}th", n + 1),
    }
}

impl Checker<'_> {
    pub(super) fn fail<T>(&mut self, d: Diagnostic<Loc>) -> Check<T> {
        self.diagnostics.push(d);
        Err(Reported)
    }

    // ---- mismatches without a better context -------------------------------------------------------

    pub(super) fn mismatch<T>(&mut self, e: Mismatch, node: NodeId) -> Check<T> {
        let d = match e {
            Mismatch::Atoms(a, b) => {
                let (a, b) = (self.show_atom(&a), self.show_atom(&b));
                Diagnostic::error(codes::ATOM_TYPE, format!("the types `{a}` and `{b}` do not agree"))
                    .primary(Loc::Node(node), format!("has to be both `{a}` and `{b}`"))
            }
            Mismatch::Shapes(a, b) => {
                let c = self.compare(("one side", &a), ("other side", &b));
                let (a, b) = (self.show_shape(&a), self.show_shape(&b));
                Diagnostic::error(codes::CELL_SHAPE, format!("the shapes {a} and {b} do not agree"))
                    .primary(Loc::Node(node), "shapes that have to be equal")
                    .shapes(c)
            }
            Mismatch::Dims(a, b) => {
                let (a, b) = (self.show_dim(&a), self.show_dim(&b));
                Diagnostic::error(codes::SIZES, format!("the sizes {a} and {b} do not agree"))
                    .primary(Loc::Node(node), format!("{a} on one side, {b} on the other"))
            }
            Mismatch::Class(AtomTy::Fn(_), _) => {
                Diagnostic::error(codes::NOT_A_FUNCTION, "this is used as a function, but it is none")
                    .primary(Loc::Node(node), "a number")
                    .help("an array is written with brackets: [1 2 3]; parentheses apply")
            }
            Mismatch::Class(t, c) => return self.class_error(&t, c, node, None),
            Mismatch::Negative(d) => Diagnostic::error(
                codes::NEGATIVE_DIM,
                format!("an array is too short here: a size would be {}", self.show_dim(&d)),
            )
            .primary(Loc::Node(node), "needs more items than there are"),
            Mismatch::Escape(v) => Diagnostic::error(
                codes::ESCAPE,
                format!("the hidden index `{}` would leave its scope", v.name),
            )
            .primary(Loc::Node(node), "its type mentions an index that is known only inside")
            .help("box the value where the index is in scope, or move the use inside the unbox or lift"),
            Mismatch::Infinite => Diagnostic::error(codes::ATOM_TYPE, "this type would contain itself")
                .primary(Loc::Node(node), "no finite type fits"),
        };
        self.fail(d)
    }

    pub(super) fn class_error<T>(
        &mut self,
        t: &AtomTy,
        class: Class,
        node: NodeId,
        name: Option<&str>,
    ) -> Check<T> {
        let shown = self.show_atom(t);
        let kind = match class {
            Class::Num => "a number",
            Class::Int => "an integer",
            Class::Frac => "a float",
            Class::Eq => "something that can be compared",
            Class::Ord => "something that can be ordered",
        };
        let of = name.map_or(String::new(), |n| format!("`{n}` takes "));
        let message = if of.is_empty() {
            format!("{kind} is wanted, not `{shown}`")
        } else {
            format!("{of}{kind}, not `{shown}`")
        };
        let mut d =
            Diagnostic::error(codes::CLASS, message).primary(Loc::Node(node), format!("is `{shown}`"));
        d = match (t, class) {
            (AtomTy::Var(v), _) => d.help(format!(
                "the variable `{}` is any type at all; declare its class where it is bound: `({} {class})`",
                v.name, v.name
            )),
            (AtomTy::Base(BaseTy::Bool), _) => d.help("convert it with bool->int, or use and, or, xor"),
            (AtomTy::Base(BaseTy::Char), _) if matches!(name, Some("<" | "<=" | ">" | ">=")) => {
                d.help("compare characters with char<?, or convert them with char->int")
            }
            (AtomTy::Base(BaseTy::Char), _) => d.help("convert it with char->int"),
            (AtomTy::Base(b), Class::Int) if b.is_float() => d.help("convert it with float->int"),
            (AtomTy::Base(b), Class::Frac) if b.is_integer() => {
                d.help("convert it with int->float, or write 2.0 for 2")
            }
            _ => d,
        };
        self.fail(d)
    }

    // ---- names -----------------------------------------------------------------------------------------

    pub(super) fn unknown_name<T>(&mut self, name: &Name, node: NodeId) -> Check<T> {
        let mut candidates: Vec<Name> = self.scope.iter().rev().map(|(n, _)| n.clone()).collect();
        candidates.extend(self.env.names());
        let near_one = candidates.into_iter().find(|n| near(n.as_str(), name.as_str()));
        let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no `{name}`"))
            .primary(Loc::Node(node), "unknown name");
        self.fail(match near_one {
            Some(n) => d.help(format!("did you mean `{n}`?")),
            None => d.help("define it, or check the spelling"),
        })
    }

    pub(super) fn recursion<T>(&mut self, cycle: &[GlobalId], node: NodeId) -> Check<T> {
        let path: Vec<String> = cycle.iter().map(|g| format!("`{}`", g.name)).collect();
        let through =
            if path.len() > 2 { format!(" (through {})", path.join(" → ")) } else { String::new() };
        self.fail(
            Diagnostic::error(
                codes::RECURSION,
                format!("recursion is not part of the language yet{through}"),
            )
            .primary(Loc::Node(node), "uses the definition that it is part of")
            .help("write it with reduce, fold, iterate or loop: (reduce/zero * 1 (+ 1 (iota [n]))) is n!"),
        )
    }

    // ---- applications ------------------------------------------------------------------------------------

    pub(super) fn not_a_function<T>(&mut self, op: &Operator, ty: &ArrTy, node: NodeId) -> Check<T> {
        let shown = self.show(ty);
        self.fail(
            Diagnostic::error(codes::NOT_A_FUNCTION, "this is applied, but it is no function")
                .primary(Loc::Node(op.node), format!("has type `{shown}`"))
                .secondary(Loc::Node(node), "applied here")
                .help("an array is written with brackets: [1 2 3]; parentheses apply"),
        )
    }

    pub(super) fn wrong_count<T>(
        &mut self,
        op: &Operator,
        want: usize,
        have: usize,
        node: NodeId,
    ) -> Check<T> {
        let plural = |n: usize| if n == 1 { "1 argument".to_string() } else { format!("{n} arguments") };
        let d = Diagnostic::error(
            codes::ARGUMENT_COUNT,
            format!("{} takes {}, here it gets {have}", Self::named(op), plural(want)),
        )
        .primary(Loc::Node(node), format!("{} given", plural(have)));
        let params: Vec<String> =
            (0..want).map(|i| op.params.get(i).map_or(format!("x{i}"), |n| n.to_string())).collect();
        let d = if op.params.is_empty() {
            d
        } else {
            d.note(format!("its parameters are: {}", params.join(" ")))
        };
        self.fail(if have < want {
            let missing = &params[have..];
            d.help(format!(
                "to fix some arguments and leave others, write a function: (λ ({}) ({} … {}))",
                missing.join(" "),
                Self::written(op),
                missing.join(" ")
            ))
        } else if matches!(op.name.as_str(), "+" | "*" | "and" | "or" | "min2" | "max2" | "append") {
            d.help(format!("for more than two, reduce an array of them: (reduce {} [a b c])", op.name))
        } else {
            d.help("remove the arguments that are too many")
        })
    }

    /// The operator as a program would write it.
    fn written(op: &Operator) -> &str {
        if op.global.is_some() || op.name != "the function" { &op.name } else { "f" }
    }

    fn named(op: &Operator) -> String {
        if op.global.is_some() || op.name != "the function" {
            format!("`{}`", op.name)
        } else {
            op.name.clone()
        }
    }

    pub(super) fn argument_atom<T>(
        &mut self,
        e: Mismatch,
        slots: &[Slot],
        i: usize,
        op: &Operator,
    ) -> Check<T> {
        let slot = &slots[i];
        let Some(arg) = &slot.arg else { return Err(Reported) };
        let have = self.s.zonk(&arg.expr.ty);
        let at = Loc::Node(slot.node);
        let which = format!("the {} argument of {}", ordinal(slot.position), Self::named(op));
        let param = self.s.zonk_atom(&slot.param.atom);
        match &e {
            // The parameter's class is what the argument breaks, unless another argument decided its type.
            Mismatch::Class(_, c) if matches!(param, AtomTy::Meta(_)) => {
                let class = self.s.class_of(&param).unwrap_or(*c);
                let found = self.readable_default(&have.atom);
                return self.class_error(&found, class, slot.node, Some(Self::written(op)));
            }
            Mismatch::Class(..) | Mismatch::Atoms(..) => {}
            _ => return self.mismatch(e, slot.node),
        }
        let (want, atom) = (self.show_atom(&param), self.show_atom(&have.atom));
        let message = format!("{which} has to be `{want}`, not `{atom}`");
        let shown = self.show(&have);
        let mut d = Diagnostic::error(codes::ATOM_TYPE, message).primary(at, format!("has type `{shown}`"));
        for other in slots {
            if other.node != slot.node
                && let Some(o) = &other.arg
                && self.show_atom(&o.expr.ty.atom) == want
            {
                let ty = self.show(&o.expr.ty);
                d = d.secondary(Loc::Node(other.node), format!("has type `{ty}`"));
                break;
            }
        }
        if matches!(have.atom, AtomTy::Sigma(_)) {
            d.code = codes::BOXED;
            d = d.help("open the boxes one by one: (unbox boxes (x n) (… x …))");
        } else if let (AtomTy::Base(a), AtomTy::Base(b)) = (self.readable_default(&have.atom), &param) {
            let mixed = a.is_float() && b.is_integer() && d.labels.len() > 1;
            d = d.help(if mixed {
                "an int does not become a float by itself: convert it with int->float".to_string()
            } else {
                conversion(a, *b)
            });
        }
        self.fail(d)
    }

    /// An atom type, a literal's being the one it would have by itself.
    fn readable_default(&self, t: &AtomTy) -> AtomTy {
        match self.s.zonk_atom(t) {
            AtomTy::Meta(m) => match &self.s.meta(m).kind {
                MetaKind::Atom { default: Some(b), .. } => AtomTy::Base(*b),
                _ => AtomTy::Meta(m),
            },
            t => t,
        }
    }

    /// Labels the other arguments that have axes, functions aside.
    fn label_others(&self, mut d: Diagnostic<Loc>, slots: &[Slot], node: NodeId) -> Diagnostic<Loc> {
        for other in slots {
            if other.node != node
                && let Some(o) = &other.arg
                && !self.s.zonk_shape(&o.expr.ty.shape).is_scalar()
            {
                d = d.secondary(Loc::Node(other.node), format!("has type `{}`", self.show(&o.expr.ty)));
            }
        }
        d
    }

    /// A rerank of the operator for cells of at most this rank, functions passed as they are.
    fn reranked(&self, slots: &[Slot], op: &Operator, least: usize) -> String {
        let ranks: Vec<String> =
            slots.iter().map(|s| self.data_rank(s).unwrap_or(0).min(least).to_string()).collect();
        format!("(~({}){} …)", ranks.join(" "), Self::written(op))
    }

    /// The rank of an argument; none for functions.
    fn data_rank(&self, s: &Slot) -> Option<usize> {
        let ty = self.s.zonk(&s.arg.as_ref()?.expr.ty);
        if matches!(ty.atom, AtomTy::Fn(_) | AtomTy::Pi(_) | AtomTy::Forall(_)) {
            return None;
        }
        Some(ty.shape.items().len())
    }

    pub(super) fn argument_shape<T>(
        &mut self,
        e: Mismatch,
        slots: &[Slot],
        i: usize,
        op: &Operator,
        smallest: bool,
    ) -> Check<T> {
        let slot = &slots[i];
        let Some(arg) = &slot.arg else { return Err(Reported) };
        let have = self.s.zonk_shape(&arg.expr.ty.shape);
        let cell = self.s.zonk_shape(&slot.param.shape);
        let which = format!("the {} argument of {}", ordinal(slot.position), Self::named(op));
        let shown = self.show(&arg.expr.ty);
        let c = if smallest {
            self.compare(("found", &have), ("wanted", &cell))
        } else {
            self.compare_cell(&have, &cell)
        };
        let ranks: Vec<usize> = slots.iter().filter_map(|s| self.data_rank(s)).collect();
        let least = ranks.iter().copied().min().unwrap_or(0);
        let differ = smallest && ranks.iter().any(|r| *r != least);
        match e {
            Mismatch::Negative(_) => {
                let least_items = match cell.items().first() {
                    Some(ShapeItem::Dim(d)) if d.constant_term() > 0 => d.constant_term(),
                    _ => 1,
                };
                let items = if least_items == 1 {
                    "at least one item".to_string()
                } else {
                    format!("at least {least_items} items")
                };
                let d = Diagnostic::error(codes::NEGATIVE_DIM, format!("{which} needs {items}"))
                    .primary(Loc::Node(slot.node), format!("has type `{shown}`"));
                self.fail(match op.name.as_str() {
                    "reduce" => d.help("give the value for no items: (reduce/zero + 0 xs)"),
                    "iscan" => d.help("use (iscan/zero op zero xs) where the array may be empty"),
                    _ if least_items == 1 => d.help("an empty array has no items: give a longer one"),
                    _ => d.help("ask for fewer items, or give a longer array"),
                })
            }
            Mismatch::Shapes(..) | Mismatch::Dims(..) | Mismatch::Infinite => {
                let rank = have.items().len();
                let certain = cell.least_rank();
                if rank < certain && have.dims().is_some() {
                    let d = Diagnostic::error(
                        codes::RANK_TOO_SMALL,
                        format!("{which} has rank {rank}; it needs rank {certain} or more"),
                    )
                    .primary(Loc::Node(slot.node), format!("has type `{shown}`"));
                    let d = self.label_others(d, slots, slot.node).shapes(c);
                    return self.fail(if rank == 0 {
                        d.help("put it in brackets to make a vector of one item")
                    } else if differ {
                        let rerank = self.reranked(slots, op, least);
                        d.help(format!("to pair it with each cell of the other, rerank: {rerank}"))
                    } else {
                        d.help("give an array of higher rank, or reshape it")
                    });
                }
                let d =
                    Diagnostic::error(codes::CELL_SHAPE, format!("{which} does not have the shape it needs"))
                        .primary(Loc::Node(slot.node), format!("has type `{shown}`"));
                let d = self.label_others(d, slots, slot.node).shapes(c);
                let d = self.explain_names(d, &[&arg.expr.ty, &slot.param]);
                let several = ranks.iter().filter(|r| **r > 0).count() > 1;
                self.fail(if differ && least > 0 {
                    let rerank = self.reranked(slots, op, least);
                    d.help(format!("to work on cells of rank {least}, rerank: {rerank}"))
                } else if smallest && least > 1 && several {
                    let rerank = self.reranked(slots, op, least - 1);
                    d.help(format!("to work on cells of rank {}, rerank: {rerank}", least - 1))
                } else if several {
                    d.help("make the sizes agree, or transpose, reshape or rerank one argument")
                } else {
                    d.help("give an array of the wanted shape, or transpose, reshape or rerank it")
                })
            }
            e => self.mismatch(e, slot.node),
        }
    }

    pub(super) fn frames_disagree<T>(
        &mut self,
        e: Mismatch,
        op: &Operator,
        op_frame: &Shape,
        slots: &[Slot],
        node: NodeId,
    ) -> Check<T> {
        let Mismatch::Shapes(a, b) = e else { return self.mismatch(e, node) };
        let c = self.compare(("one frame", &a), ("other frame", &b));
        let (x, y) = (self.show_shape(&a), self.show_shape(&b));
        let d = Diagnostic::error(
            codes::FRAMES,
            format!(
                "the arguments of {} have frames {x} and {y}; one has to be a prefix of the other",
                Self::named(op)
            ),
        );
        let mut d = if self.s.zonk_shape(op_frame).is_scalar() {
            d.primary(Loc::Node(op.node), "applied here")
        } else {
            let shown = self.show_shape(op_frame);
            d.primary(Loc::Node(op.node), format!("an array of functions of shape {shown}"))
        };
        let mut types = Vec::new();
        let mut ranks = Vec::new();
        for s in slots {
            if let Some(arg) = &s.arg {
                let frame = self.s.zonk_shape(&s.frame);
                if !frame.is_scalar() {
                    let (ty, frame) = (self.show(&arg.expr.ty), self.show_shape(&frame));
                    d = d.secondary(Loc::Node(s.node), format!("`{ty}`: frame {frame}"));
                }
                types.push(arg.expr.ty.clone());
                ranks.push(frame.items().len());
            }
        }
        d = self.explain_names(d.shapes(c), &types.iter().collect::<Vec<_>>());
        let least = ranks.iter().copied().filter(|r| *r > 0).min().unwrap_or(0);
        let most = ranks.iter().copied().max().unwrap_or(0);
        let (za, zb) = (self.s.zonk_shape(&a), self.s.zonk_shape(&b));
        let (short, long) = if za.items().len() <= zb.items().len() { (&za, &zb) } else { (&zb, &za) };
        let suffix = long.items().len() > short.items().len() && long.items().ends_with(short.items());
        d = if suffix && most > least {
            let rs: Vec<String> = ranks.iter().map(|r| (*r).min(least).to_string()).collect();
            d.help(format!(
                "the shorter matches the last axes: rerank to pair it with each cell: (~({}){} …)",
                rs.join(" "),
                Self::written(op)
            ))
        } else if za.items().len() == zb.items().len()
            && za.items().iter().rev().eq(zb.items().iter())
            && za.items().len() == 2
        {
            d.help("one is the transpose of the other: use (transpose …) on one of them")
        } else if let Some((p, q)) = self.unequal_unknowns(&za, &zb) {
            d.help(format!(
                "nothing says that {p} and {q} are equal; if they are, (as-shape [{p}] …) says so and is checked when the program runs"
            ))
        } else if stretched(&za, &zb) {
            d.help("an axis of length 1 does not stretch: give a scalar, which meets every item, or (head …) of the array")
        } else if most > 1 || least != most {
            d.help("frames are matched from the left; rerank, transpose or reshape one argument")
        } else {
            d.help("both need the same number of items, or one of them is a scalar, which meets every item")
        };
        self.fail(d)
    }

    /// The dims of the first axis that differs, if one of them is known only when the program runs.
    fn unequal_unknowns(&self, a: &Shape, b: &Shape) -> Option<(String, String)> {
        let (a, b) = a.items().iter().zip(b.items()).find(|(p, q)| p != q)?;
        let (ShapeItem::Dim(a), ShapeItem::Dim(b)) = (a, b) else { return None };
        if a.as_constant().is_some() && b.as_constant().is_some() {
            return None;
        }
        Some((self.show_dim(a), self.show_dim(b)))
    }

    pub(super) fn index_mismatch<T>(&mut self, op: &Operator, e: Mismatch, node: NodeId) -> Check<T> {
        match e {
            Mismatch::Negative(_) => self.fail(
                Diagnostic::error(codes::NEGATIVE_DIM, format!("`{}` takes more than there is", op.name))
                    .primary(Loc::Node(node), "the array has too few items")
                    .help("take fewer items, or give a longer array"),
            ),
            Mismatch::Dims(a, b) => {
                let (a, b) = (self.show_dim(&a), self.show_dim(&b));
                self.fail(
                    Diagnostic::error(
                        codes::SIZES,
                        format!("`{}` needs the size {a} here, not {b}", op.name),
                    )
                    .primary(Loc::Node(node), format!("{b} is given")),
                )
            }
            e => self.mismatch(e, node),
        }
    }

    pub(super) fn sizes_differ<T>(&mut self, name: &str, e: Mismatch, node: NodeId) -> Check<T> {
        match e {
            Mismatch::Dims(a, b) => {
                let (a, b) = (self.show_dim(&a), self.show_dim(&b));
                self.fail(
                    Diagnostic::error(codes::SIZES, format!("`{name}` needs {a} and {b} to be equal"))
                        .primary(Loc::Node(node), "sizes that have to agree"),
                )
            }
            e => self.mismatch(e, node),
        }
    }

    // ---- functions as arguments ------------------------------------------------------------------------

    fn function_context(context: Option<(&Operator, usize)>) -> String {
        match context {
            Some((op, position)) => format!("the {} argument of {}", ordinal(position), Self::named(op)),
            None => "this".to_string(),
        }
    }

    pub(super) fn function_wanted<T>(
        &mut self,
        ty: &ArrTy,
        want: &Arc<FnTy>,
        node: NodeId,
        context: Option<(&Operator, usize)>,
    ) -> Check<T> {
        let shown = self.show(ty);
        let want = self.show_atom(&AtomTy::Fn(want.clone()));
        self.fail(
            Diagnostic::error(
                codes::NOT_A_FUNCTION,
                format!("{} has to be a function", Self::function_context(context)),
            )
            .primary(Loc::Node(node), format!("has type `{shown}`"))
            .note(format!("a function of type `{want}` is wanted")),
        )
    }

    pub(super) fn function_arity<T>(
        &mut self,
        have: &FnTy,
        want: &FnTy,
        node: NodeId,
        context: Option<(&Operator, usize)>,
    ) -> Check<T> {
        let (h, w) = (have.params.len(), want.params.len());
        self.fail(
            Diagnostic::error(
                codes::ARGUMENT_COUNT,
                format!("{} has to be a function of {w} arguments", Self::function_context(context)),
            )
            .primary(Loc::Node(node), format!("takes {h}"))
            .help(format!("write a λ of {w} parameters")),
        )
    }

    pub(super) fn function_mismatch<T>(
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
        let same = have.params.iter().zip(&want.params).all(|(h, w)| self.show(h) == self.show(w));
        self.fail(if same {
            d.help("its result has to have the type that is wanted; in a reduction or fold, the next step takes it in")
        } else {
            d.help("it has to take what it is given here: convert the data, or write a λ")
        })
    }

    // ---- other forms -----------------------------------------------------------------------------------

    pub(super) fn ragged<T>(&mut self, e: Mismatch, first: &Expr, other: &Expr) -> Check<T> {
        let (a, b) = (self.show(&first.ty), self.show(&other.ty));
        let shapes = self.compare(("this element", &other.ty.shape), ("first element", &first.ty.shape));
        let same_atom = self.show_atom(&first.ty.atom) == self.show_atom(&other.ty.atom);
        let d = match e {
            Mismatch::Shapes(..) | Mismatch::Dims(..) | Mismatch::Negative(_) | Mismatch::Infinite if same_atom => {
                Diagnostic::error(codes::RAGGED, "the elements of an array have one shape; these differ")
                    .primary(Loc::Node(other.node), format!("has type `{b}`"))
                    .secondary(Loc::Node(first.node), format!("has type `{a}`"))
                    .shapes(shapes)
                    .help("rows of different length go into boxes: (boxes (n) [int n] [2] ((2) [1 2]) ((1) [3]))")
            }
            Mismatch::Escape(_) => return self.mismatch(e, other.node),
            _ => Diagnostic::error(codes::ATOM_TYPE, "the elements of an array have one type; these differ")
                .primary(Loc::Node(other.node), format!("has type `{b}`"))
                .secondary(Loc::Node(first.node), format!("has type `{a}`"))
                .help("convert one of them, or keep them apart with (values …)"),
        };
        self.fail(d)
    }

    pub(super) fn branches_differ<T>(&mut self, e: Mismatch, a: &Expr, b: &Expr) -> Check<T> {
        if let Mismatch::Escape(_) = e {
            return self.mismatch(e, b.node);
        }
        let (x, y) = (self.show(&a.ty), self.show(&b.ty));
        let shapes = self.compare(("first", &a.ty.shape), ("second", &b.ty.shape));
        let d = Diagnostic::error(codes::BRANCHES, "the branches of an if have one type; these differ")
            .primary(Loc::Node(b.node), format!("has type `{y}`"))
            .secondary(Loc::Node(a.node), format!("has type `{x}`"));
        let boxed = matches!(self.s.zonk_atom(&a.ty.atom), AtomTy::Sigma(_))
            || matches!(self.s.zonk_atom(&b.ty.atom), AtomTy::Sigma(_));
        self.fail(match e {
            _ if boxed => d.help("one is a box: box the other branch too, as (box e)"),
            Mismatch::Shapes(..) | Mismatch::Dims(..) => {
                d.shapes(shapes).help("to give arrays of different shape, box both: (box ((n 3)) [int n] e)")
            }
            _ => d.help("convert one of them to the other's type"),
        })
    }

    pub(super) fn bad_condition<T>(&mut self, test: &Expr) -> Check<T> {
        let ty = self.s.zonk(&test.ty);
        let shown = self.show(&ty);
        let d = Diagnostic::error(codes::CONDITION, "a condition is a single bool")
            .primary(Loc::Node(test.node), format!("has type `{shown}`"));
        self.fail(if ty.shape.is_scalar() {
            d.help("compare it: (!= x 0) is a bool")
        } else {
            d.help("to choose for each element, use (select flags yes no); to ask for all or any, (all flags), (any flags)")
        })
    }

    pub(super) fn annotated<T>(&mut self, e: Mismatch, found: &Expr, want: &ArrTy, at: NodeId) -> Check<T> {
        if let Mismatch::Class(t, c) = &e
            && matches!(t, AtomTy::Var(_))
        {
            let (t, c) = (t.clone(), *c);
            return self.class_error(&t, c, found.node, None);
        }
        if let Mismatch::Escape(_) = e {
            return self.mismatch(e, found.node);
        }
        let (w, h) = (self.show(want), self.show(&found.ty));
        let shapes = self.compare(("found", &found.ty.shape), ("wanted", &want.shape));
        let mut d = Diagnostic::error(codes::ANNOTATION, format!("this has type `{h}`, not `{w}`"))
            .primary(Loc::Node(found.node), format!("has type `{h}`"));
        if at != found.node {
            d = d.secondary(Loc::Node(at), format!("`{w}` is wanted because of this"));
        }
        if matches!(e, Mismatch::Shapes(..) | Mismatch::Dims(..) | Mismatch::Negative(_)) {
            d = d.shapes(shapes);
        }
        d = self.explain_names(d, &[want, &found.ty]);
        let (have, wanted) = (self.s.zonk(&found.ty), self.s.zonk(want));
        let atoms = (self.readable_default(&have.atom), &wanted.atom);
        self.fail(match atoms {
            (AtomTy::Sigma(_), to) if !matches!(to, AtomTy::Sigma(_)) => d.help(
                "its size is known only when the program runs, so it is a box: leave the annotation out, or write the box's type",
            ),
            (AtomTy::Base(a), AtomTy::Base(b)) if a != *b => d.help(conversion(a, *b)),
            _ => match self.unequal_unknowns(&have.shape, &wanted.shape) {
                Some((p, q)) => d.help(format!("nothing says that {p} and {q} are equal; (as-shape [{q}] …) checks it when the program runs")),
                None => d.help("change the annotation or the expression"),
            },
        })
    }

    pub(super) fn annotation_mismatch<T>(&mut self, e: Mismatch, node: NodeId, at: NodeId) -> Check<T> {
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

    pub(super) fn wrong_witness<T>(
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

    pub(super) fn ambiguous_rank<T>(&mut self, node: NodeId) -> Check<T> {
        self.fail(
            Diagnostic::error(codes::AMBIGUOUS_RANK, "several ranks fit here, with different results")
                .primary(Loc::Node(node), "which arguments have the longer frame is open")
                .help(
                    "write the ranks of the parameters: (λ ([x 1] [y 0]) …), or `all` for the whole argument",
                ),
        )
    }
}

fn conversion(from: BaseTy, to: BaseTy) -> String {
    match (from, to) {
        (BaseTy::I64, BaseTy::F64) => "convert it with int->float, or write the literal as 2.0".into(),
        (BaseTy::F64, BaseTy::I64) => "convert it with float->int".into(),
        (BaseTy::Bool, t) if t.is_integer() => "convert it with bool->int".into(),
        (BaseTy::Char, t) if t.is_integer() => "convert it with char->int".into(),
        (BaseTy::Bool | BaseTy::Char, _) | (_, BaseTy::Bool | BaseTy::Char) => {
            "no conversion fits by itself; compare or convert explicitly".into()
        }
        (_, to) => format!("convert it: (cast {to} x)"),
    }
}

/// Whether the first axis that differs has one item on one side, which other languages repeat.
fn stretched(a: &Shape, b: &Shape) -> bool {
    let one = |i: &ShapeItem| matches!(i, ShapeItem::Dim(d) if d.as_constant() == Some(1));
    a.items().iter().zip(b.items()).find(|(p, q)| p != q).is_some_and(|(p, q)| one(p) || one(q))
}

//! Messages: what was expected, what was found, where both come from, what to do.

mod forms;
mod names;
mod origin;
mod show;
mod values;

use super::apply::Slot;
use super::instance::Operator;
use super::solver::{MetaKind, Mismatch};
use super::*;
use crate::codes;
use crate::recursion::{Refused, Why};
use crate::scheme::GROUPED;
use forms::agreement;
pub(super) use forms::goes_on;
pub use names::elsewhere;
pub(super) use origin::{NamedSize, NamedSizes, Origin};
use std::sync::Arc;

/// How many calls of a cycle are shown.
const MOST_CALLS: usize = 16;

/// Whether two names are a typing mistake apart.
pub fn near(a: &str, b: &str) -> bool {
    // A mistake changes two characters at most, and so the letters that there are.
    if (letters(a) ^ letters(b)).count_ones() > 4 {
        return false;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 || a == b {
        return false;
    }
    let limit = if a.len().min(b.len()) <= 4 { 1 } else { 2 };
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
    (row[b.len()] <= limit || swapped(&a, &b)) && (a.len() > 1 || b.len() > 1)
}

/// The set of the bytes of a name, of each its lower six bits.
fn letters(name: &str) -> u64 {
    name.bytes().filter(u8::is_ascii).fold(0, |set, b| set | 1 << (b & 63))
}

/// Whether two neighbouring characters changed places.
fn swapped(a: &[char], b: &[char]) -> bool {
    let differ: Vec<usize> =
        if a.len() == b.len() { (0..a.len()).filter(|&i| a[i] != b[i]).collect() } else { Vec::new() };
    matches!(differ[..], [i, j] if j == i + 1 && a[i] == b[j] && a[j] == b[i])
}

const BOX_EACH: &str = "the items are boxes, as sizes that are computed for each of them may differ; if they do not, \
                        compute the size once, outside of the function; else open the boxes with unbox";

const PAIR_ITEMS: &str = "this is one tuple of arrays; for an array of tuples, pair the items: \
                          ((λ ([x 0] [y 0]) (values x y)) xs ys)";

const NO_FUNCTION: &str =
    "parentheses apply; an array is written [1 2 3], and (index-item xs i) takes an item of one";

fn is_literal(e: &Expr) -> bool {
    matches!(*e.kind, ir::ExprKind::Lit(_))
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
            Mismatch::Dims(p, q) => {
                let (a, b) = (self.show_dim(&p), self.show_dim(&q));
                let d = Diagnostic::error(codes::SIZES, format!("the sizes {a} and {b} do not agree"))
                    .primary(Loc::Node(node), format!("{a} on one side, {b} on the other"));
                let unknown = |v: &DimVar| matches!(v, DimVar::RankOf(ShapeVar::Rigid(_)));
                match p.vars().chain(q.vars()).any(unknown) {
                    true => d.help("give the vector of sizes a length, and arrays a rank: [sizes [int 2]], [xs 2]"),
                    false => d,
                }
            }
            Mismatch::Class(AtomTy::Fn(_), _) => {
                Diagnostic::error(codes::NOT_A_FUNCTION, "a function is wanted here, not a number")
                    .primary(Loc::Node(node), "a number")
                    .help(NO_FUNCTION)
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
            .help(
                "box what leaves the scope of the index, as (box e), or say of what comes from outside that it has this size, as (as-shape [n] x)",
            ),
            Mismatch::NoPart(t, part) => {
                let shown = self.show_atom(&t);
                Diagnostic::error(codes::COMPONENT, format!("`{shown}` has no component `{part}`"))
                    .primary(Loc::Node(node), format!("takes the component `{part}`, and is given `{shown}`"))
                    .help("components are those of (values …), fields those of (record …)")
            }
            Mismatch::Infinite => Diagnostic::error(codes::ATOM_TYPE, "this type would contain itself")
                .primary(Loc::Node(node), "no finite type fits"),
        };
        self.fail_application(d)
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
        let of = match name {
            Some(n) if n.contains(' ') => format!("{n} takes "),
            Some(n) => format!("`{n}` takes "),
            None => String::new(),
        };
        let message = if of.is_empty() {
            format!("{kind} is wanted, not `{shown}`")
        } else {
            format!("{of}{kind}, not `{shown}`")
        };
        let label = match name {
            Some(n) if n.contains(' ') => format!("is given `{shown}`"),
            _ => format!("is `{shown}`"),
        };
        let mut d = Diagnostic::error(codes::CLASS, message).primary(Loc::Node(node), label);
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
            (AtomTy::Base(b), Class::Int) if b.is_float() => {
                d.help("say how to round: (float->int (round x)) or (float->int (floor x))")
            }
            (AtomTy::Base(b), Class::Frac) if b.is_integer() => {
                d.help("convert it with int->float, or write 2.0 for 2")
            }
            (AtomTy::Tuple(_), _) => {
                d.help("take a component with (proj 0 e), or name them: (let-values (((a b) e)) …)")
            }
            (AtomTy::Fn(_), _) => d.help("this is a function: apply it, (f x)"),
            _ => d,
        };
        self.fail_application(d)
    }

    // ---- names -----------------------------------------------------------------------------------------

    pub(super) fn recursion<T>(&mut self, cycle: &[GlobalId], node: NodeId) -> Check<T> {
        // One error for a cycle: at the definition whose name comes first.
        if cycle.is_empty() || cycle.iter().any(|g| *g < cycle[0]) {
            return Err(Reported);
        }
        let mut path: Vec<String> = cycle.iter().map(|g| format!("`{}`", g.name)).collect();
        if path.len() > MOST_CALLS {
            let left_out = path.len() - MOST_CALLS;
            path.splice(MOST_CALLS / 2..MOST_CALLS / 2 + left_out, [format!("{left_out} others")]);
        }
        self.fail(
            Diagnostic::error(
                codes::RECURSION,
                format!("these definitions call each other: {}", path.join(" → ")),
            )
            .primary(Loc::Node(node), "leads back to where it is called from")
            .help("write it as one definition, with a parameter that says which it is: a definition may call itself"),
        )
    }

    /// A definition that calls itself where that cannot be a loop.
    pub(super) fn not_a_loop(&mut self, refused: &Refused) {
        let (what, help) = match refused.why {
            Why::NoFunction => {
                ("a value cannot be made of itself", "only a function may call itself: (define (f x) …)")
            }
            Why::Value => (
                "the definition is used in itself other than by a call",
                "only (f x …) may stand in f itself; for a function of items, write another definition",
            ),
            Why::Hidden => ("something inside of it has its name, too", "give that another name"),
            Why::Inside => (
                "it calls itself inside of a function, a loop or an opened box",
                "a call of itself stands in operands, if, cond and let; to go through items write reduce, fold or loop",
            ),
            Why::Arguments => (
                "it calls itself with another number of arguments",
                "a definition calls itself with as many as it has parameters",
            ),
            Why::Instance => (
                "it calls itself at other types or sizes",
                "leave out {…}: a definition calls itself at its own types and sizes",
            ),
            Why::NoEnd => (
                "every way through it calls it again, so that it never ends",
                "give it an end: (if (= n 0) 1 (* n (fact (- n 1))))",
            ),
            Why::Name => (
                "a name is bound again inside of an expression that goes on behind it",
                "give it another name",
            ),
            Why::Long => (
                "it calls itself too often, or on too many ways",
                "take it apart into definitions that call themselves less often, or write a loop",
            ),
        };
        let label = match refused.why {
            Why::NoEnd => "there is no way out of this".to_owned(),
            Why::Inside => {
                "this call is made for each of several things, or when it is not yet known".to_owned()
            }
            _ => refused.name.as_ref().map_or("here".to_owned(), |name| format!("binds `{name}`")),
        };
        self.diagnostics.push(
            Diagnostic::error(codes::RECURSION, format!("this recursion is no loop: {what}"))
                .primary(Loc::Node(refused.at), label)
                .help(help),
        );
    }

    // ---- applications ------------------------------------------------------------------------------------

    pub(super) fn not_a_function<T>(&mut self, op: &Operator, ty: &ArrTy) -> Check<T> {
        let shown = self.show(ty);
        self.fail_application(
            Diagnostic::error(codes::NOT_A_FUNCTION, "this is applied, but it is no function")
                .primary(Loc::Node(op.node), format!("has type `{shown}`"))
                .help(NO_FUNCTION),
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
        self.fail_application(if have < want {
            let missing = &params[have..];
            d.help(format!(
                "to fix some arguments and leave others, write a function: (λ ({}) ({} … {}))",
                missing.join(" "),
                Self::written(op),
                missing.join(" ")
            ))
        } else if GROUPED.contains(&op.name.as_str()) {
            let f = &op.name;
            d.help(format!("explicit sizes are those of two; of more, leave them out: ({f} a b c)"))
        } else if matches!(op.name.as_str(), "-" | "/" | "quotient") {
            d.help(format!("for more than two, nest them: ({0} ({0} a b) c)", op.name))
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

    /// How boxes are opened, or given to a function as they are; of several arguments side by side.
    pub(super) fn opened(&mut self, boxes: &Expr, op: &Operator, slots: &[Slot]) -> String {
        // What was opened without a name has none that a program could use.
        let nameable = |v: VarId| {
            let name = &self.local(v).local.name;
            matches!(self.find_value(name), Some(Binding::Local(known)) if *known == v || self.local(*known).opened.is_some())
        };
        let name_of = |e: &Expr| match &*e.kind {
            crate::ir::ExprKind::Var(v) if nameable(*v) => Some(self.local(*v).local.name.to_string()),
            crate::ir::ExprKind::Global(g) => Some(g.name.to_string()),
            _ => None,
        };
        let known = name_of(boxes);
        let name = known.clone().unwrap_or("boxes".to_owned());
        let given: Option<Vec<&Expr>> = slots.iter().map(|s| Some(&s.arg.as_ref()?.expr)).collect();
        let given = given.unwrap_or_default();
        let names: Option<Vec<_>> = given.iter().map(|e| name_of(e)).collect();
        if let Some(names) = names
            && names.len() > 1
            && given.iter().all(|e| self.is_boxes(&self.s.zonk(&e.ty)))
        {
            let items: Vec<_> =
                ["x", "y", "z"].into_iter().filter(|x| !names.iter().any(|n| n == x)).collect();
            if items.len() >= names.len() {
                let opened: Vec<_> = names.iter().zip(&items).map(|(n, x)| format!("{n} ({x} n)")).collect();
                let (opened, items) = (opened.join(" "), items[..names.len()].join(" "));
                return format!("open them side by side: (unbox {opened} ({} {items}))", Self::written(op));
            }
        }
        if known.is_none() && matches!(&*boxes.kind, crate::ir::ExprKind::Var(_)) {
            return "the boxes are in a box: open that, and then them, (unbox e (xs m) (unbox xs (x n) (… x …)))".into();
        }
        let atom = self.s.zonk(&boxes.ty).atom;
        let (item, one) = (if name == "x" { "y" } else { "x" }, self.show_atom(&atom));
        format!(
            "open them one by one, (unbox {name} ({item} n) (… {item} …)), or write a function of one box, (λ ([{item} {one}]) …)"
        )
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
            Mismatch::Class(..) if self.is_boxes(&have) => {
                let shown = self.show(&have);
                let message = format!("{which} has to be an array of numbers; this is an array of boxes");
                let help = self.opened(&arg.expr, op, slots);
                return self.fail_application(
                    Diagnostic::error(codes::BOXED, message)
                        .primary(at, format!("has type `{shown}`"))
                        .help(help),
                );
            }
            Mismatch::Class(_, c)
                if matches!(param, AtomTy::Meta(_))
                    && !slots.iter().any(|o| {
                        let of_other = o.arg.as_ref().map(|o| self.s.zonk_atom(&o.expr.ty.atom));
                        o.node != slot.node && of_other.as_ref() == Some(&param)
                    }) =>
            {
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
        let mut beside = None;
        for other in slots {
            if other.node != slot.node
                && let Some(o) = &other.arg
                && self.show_atom(&o.expr.ty.atom) == want
            {
                let ty = self.show(&o.expr.ty);
                beside = Some(is_literal(&o.expr));
                d = d.secondary(Loc::Node(other.node), format!("has type `{ty}`"));
                break;
            }
        }
        if matches!(have.atom, AtomTy::Sigma(_)) {
            d.code = codes::BOXED;
            d = d.help(self.opened(&arg.expr, op, slots));
        } else if let (AtomTy::Base(a), AtomTy::Base(b)) =
            (self.readable_default(&have.atom), &self.readable_default(&param))
        {
            d = d.help(agreement(a, *b, is_literal(&arg.expr), beside));
        }
        self.fail_application(d)
    }

    /// An atom type, a literal's being the one it would have by itself.
    pub(super) fn readable_default(&self, t: &AtomTy) -> AtomTy {
        match self.s.zonk_atom(t) {
            AtomTy::Meta(m) => match &self.s.meta(m).kind {
                MetaKind::Atom { default: Some(b), .. } => AtomTy::Base(*b),
                _ => AtomTy::Meta(m),
            },
            t => t,
        }
    }

    fn is_boxes(&self, t: &ArrTy) -> bool {
        matches!(self.s.zonk_atom(&t.atom), AtomTy::Sigma(_))
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
        let e_of_arg = arg.expr.clone();
        self.tell_apart(&[&have, &cell]);
        let shown = self.show(&e_of_arg.ty);
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
                self.fail_application(match op.name.as_str() {
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
                    return self.fail_application(if rank > 0 && self.is_boxes(&arg.expr.ty) {
                        d.help(BOX_EACH)
                    } else if rank == 0 && matches!(self.s.zonk_atom(&arg.expr.ty.atom), AtomTy::Tuple(_)) {
                        d.help(PAIR_ITEMS)
                    } else if rank == 0 && op.name.as_str() == "replicate" {
                        d.help("give a count for each item: (replicate (with-shape xs 10) xs)")
                    } else if rank == 0 {
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
                let d = self.label_definition(self.label_origins(d, &[&have, &cell]), &e_of_arg);
                let several = ranks.iter().filter(|r| **r > 0).count() > 1;
                self.fail_application(if differ && least > 0 {
                    let rerank = self.reranked(slots, op, least);
                    d.help(format!("to work on cells of rank {least}, rerank: {rerank}"))
                } else if smallest && least > 1 && several {
                    let rerank = self.reranked(slots, op, least - 1);
                    d.help(format!("to work on cells of rank {}, rerank: {rerank}", least - 1))
                } else if let Some(help) = self.unequal_unknowns(&have, &cell) {
                    d.help(help)
                } else if several {
                    d.help("the sizes have to agree: give arrays that belong together, or reshape one")
                } else {
                    d.help("give an array of the wanted shape, or reshape this one")
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
        self.tell_apart(&[&a, &b]);
        let (of_a, of_b) =
            (self.frame_of(&a, None, op_frame, slots), self.frame_of(&b, Some(&a), op_frame, slots));
        let c = self.compare((&of_a, &a), (&of_b, &b));
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
        let mut disagree = Vec::new();
        let mut ranks = Vec::new();
        for s in slots {
            if let Some(arg) = &s.arg {
                let frame = self.s.zonk_shape(&s.frame);
                if !frame.is_scalar() {
                    let (ty, frame) = (self.show(&arg.expr.ty), self.show_shape(&frame));
                    d = d.secondary(Loc::Node(s.node), format!("`{ty}`: frame {frame}"));
                }
                ranks.push(frame.items().len());
                if frame == self.s.zonk_shape(&a) || frame == self.s.zonk_shape(&b) {
                    disagree.push(arg.expr.clone());
                }
            }
        }
        d = self.label_origins(d.shapes(c), &[&a, &b]);
        for e in &disagree {
            d = self.label_definition(d, e);
        }
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
        } else if let Some(help) = self.unequal_unknowns(&za, &zb) {
            d.help(help)
        } else if stretched(&za, &zb) {
            d.help("an axis of length 1 does not stretch: give a scalar, which meets every item, or (head …) of the array")
        } else if most > 1 || least != most {
            d.help("frames are matched from the left; rerank, transpose or reshape one argument")
        } else {
            d.help("both need the same number of items, or one of them is a scalar, which meets every item")
        };
        self.fail_application(d)
    }

    /// Whose frame this is, `other` being taken by an argument before.
    fn frame_of(&self, frame: &Shape, other: Option<&Shape>, op_frame: &Shape, slots: &[Slot]) -> String {
        let frame = self.s.zonk_shape(frame);
        if self.s.zonk_shape(op_frame) == frame {
            return "frame of the functions".into();
        }
        let mut with_it = slots.iter().filter(|s| self.s.zonk_shape(&s.frame) == frame);
        let slot = match other.map(|o| self.s.zonk_shape(o)) {
            Some(o) if o == frame => with_it.nth(1),
            _ => with_it.next(),
        };
        slot.map_or("other frame".into(), |s| format!("frame of the {} argument", ordinal(s.position)))
    }

    /// What to do where one of two sizes is known only when the program runs.
    fn unequal_unknowns(&self, a: &Shape, b: &Shape) -> Option<String> {
        let (a, b) = (self.s.zonk_shape(a), self.s.zonk_shape(b));
        let (a, b) = a.items().iter().zip(b.items()).find(|(p, q)| p != q)?;
        let (ShapeItem::Dim(a), ShapeItem::Dim(b)) = (a, b) else { return None };
        let known = match (a.as_constant(), b.as_constant()) {
            (Some(_), Some(_)) => return None,
            (Some(_), None) => a,
            _ => b,
        };
        let (p, q) = (self.show_dim(a), self.show_dim(b));
        if super::solver::divides_not(&a.sub(b)) {
            let (p, q) = if a.as_constant().is_some() { (p, q) } else { (q, p) };
            return Some(format!("{p} is not {q} for any numbers: give an array of another length"));
        }
        if a.sub(b).as_constant().is_some() {
            return None;
        }
        // A size that a box hides has no name here.
        let states = if self.may_name(&ArrTy::new(AtomTy::INT, Shape::of_dims([known.clone()]))) {
            format!("(as-shape [{}] …) states that they agree", self.show_dim(known))
        } else {
            "(as-shape (shape x) y) states that y has the shape of x".into()
        };
        Some(format!("{p} and {q} may differ when the program runs; {states} and checks it then"))
    }

    pub(super) fn index_mismatch<T>(&mut self, op: &Operator, e: Mismatch, node: NodeId) -> Check<T> {
        match e {
            Mismatch::Negative(d) => {
                let message = format!("a size in `{}` would be negative: {}", op.name, self.show_dim(&d));
                self.fail_application(
                    Diagnostic::error(codes::NEGATIVE_DIM, message)
                        .primary(
                            Loc::Node(node),
                            "asks for more items than there are, or for a negative number",
                        )
                        .help("ask for fewer items, or give a longer array"),
                )
            }
            Mismatch::Dims(a, b) => {
                let (a, b) = (self.show_dim(&a), self.show_dim(&b));
                self.fail_application(
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

    /// Two numbers of items that an application needs to be equal.
    pub(super) fn unequal_sizes<T>(&mut self, p: &Dim, q: &Dim, why: &str, node: NodeId) -> Check<T> {
        self.fail_application(
            Diagnostic::error(codes::SIZES, format!("{why}: {p} is not {q}"))
                .primary(Loc::Node(node), format!("{p} items on one side, {q} on the other"))
                .help("the product of the sizes has to stay the same"),
        )
    }

    pub(super) fn sizes_differ<T>(&mut self, name: &str, e: Mismatch, node: NodeId) -> Check<T> {
        match e {
            Mismatch::Dims(a, b) => {
                let (a, b) = (self.show_dim(&a), self.show_dim(&b));
                self.fail_application(
                    Diagnostic::error(codes::SIZES, format!("`{name}` needs {a} and {b} to be equal"))
                        .primary(Loc::Node(node), "sizes that have to agree"),
                )
            }
            e => self.mismatch(e, node),
        }
    }
}

/// Whether the first axis that differs has one item on one side, which other languages repeat.
fn stretched(a: &Shape, b: &Shape) -> bool {
    let one = |i: &ShapeItem| matches!(i, ShapeItem::Dim(d) if d.as_constant() == Some(1));
    a.items().iter().zip(b.items()).find(|(p, q)| p != q).is_some_and(|(p, q)| one(p) || one(q))
}

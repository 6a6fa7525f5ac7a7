//! What would fit: candidates for an application that does not check, each tried by checking it.
//!
//! ```text
//! (- table means)      [n m] and [m]     ⇒  (~(1 1)- table means)
//! (take1 3 xs)                           ⇒  (take1 xs 3)
//! (m*m a a)            [2 3] twice       ⇒  (m*m a (transpose a))
//! ```
//!
//! The error is reported first, by what finds it, and marks itself as one about an application whose
//! parts are right ([`Checker::fail_application`]). The application that a person wrote then looks for
//! an expression of the same parts that checks and makes it the message's help. Candidates come from
//! the kind of error: another order of the arguments, brackets, a rerank, a transpose, a part without
//! its ends, another function. None is a guess: what is shown has been checked on a copy of the state.
//!
//! Trying costs time only where there is an error, and a definition has a budget of tries.

mod counts;
mod fix;
mod kinds;
mod order;
mod shapes;

use super::*;
use crate::codes;
use crate::scheme::Resolved;
use counts::by_count;
use kinds::{by_kind, unboxed, whole_texts};
use order::{boxed_ends, bracketed_orders, brackets, orders, other_ranks, other_sizes, swaps, with_zero};
use remc_syntax::ast::{self, ExprKind as A, Rank};
use remc_syntax::brief::brief;
use shapes::{by_frames, by_rank, by_shape, data_names};

/// How many candidates one definition may try.
pub(super) const TRIES: u32 = 600;

/// An expression that may be what was meant, and what to say before it.
#[derive(Clone)]
struct Candidate {
    why: String,
    expr: ast::Expr,
    /// Whether its result may have a higher rank than every argument: not where a rerank would pair each
    /// item with each by accident.
    grows: bool,
    /// Whether another candidate is shown beside it, since both are as likely.
    another: bool,
}

impl Candidate {
    fn grows(self) -> Candidate {
        Candidate { grows: true, ..self }
    }

    fn or_another(self) -> Candidate {
        Candidate { another: true, ..self }
    }
}

/// What is known of an application's arguments, by position: the type, without functions.
struct Parts<'a> {
    node: NodeId,
    func: &'a ast::Expr,
    args: &'a [ast::Expr],
    types: Vec<Option<ArrTy>>,
    /// Whether a box hides the first size.
    hidden: Vec<bool>,
    /// Whether the names in it mean here what they mean in it.
    nameable: Vec<bool>,
    name: &'a str,
    /// The function's parameters, where they have names.
    params: Vec<Name>,
}

impl Parts<'_> {
    fn app(&self, func: ast::Expr, args: Vec<ast::Expr>) -> ast::Expr {
        make(self.node, A::App { func, args })
    }

    /// The application with other arguments.
    fn with_args(&self, args: Vec<ast::Expr>) -> ast::Expr {
        self.app(self.func.clone(), args)
    }

    /// The application with one argument replaced.
    fn with_arg(&self, i: usize, arg: ast::Expr) -> ast::Expr {
        let mut args = self.args.to_vec();
        args[i] = arg;
        self.with_args(args)
    }

    /// Another function on the same arguments.
    fn renamed(&self, name: &str) -> ast::Expr {
        self.app(self.var(name), self.args.to_vec())
    }

    fn var(&self, name: &str) -> ast::Expr {
        make(self.node, A::Var(Name::new(name)))
    }

    fn int(&self, value: i128) -> ast::Expr {
        make(self.node, A::Int { value, suffix: None })
    }

    fn call(&self, name: &str, args: Vec<ast::Expr>) -> ast::Expr {
        self.app(self.var(name), args)
    }

    /// `(name arg)` in the place of argument `i`.
    fn wrapped(&self, i: usize, name: &str, more: Vec<ast::Expr>) -> ast::Expr {
        let mut args = vec![self.args[i].clone()];
        args.extend(more);
        self.with_arg(i, self.call(name, args))
    }

    fn bracket(&self, es: Vec<ast::Expr>) -> ast::Expr {
        make(self.node, A::Bracket(es))
    }

    /// Whether all arguments are known to be numbers.
    fn are_numbers(&self) -> bool {
        let number = |t: &ArrTy| matches!(t.atom, AtomTy::Base(b) if b.is_in(Class::Num));
        self.types.iter().all(|t| t.as_ref().is_some_and(number))
    }

    fn rank(&self, i: usize) -> Option<usize> {
        Some(self.types.get(i)?.as_ref()?.shape.items().len())
    }

    fn dim(&self, i: usize, axis: usize) -> Option<Dim> {
        match self.types.get(i)?.as_ref()?.shape.items().get(axis)? {
            ShapeItem::Dim(d) => Some(d.clone()),
            ShapeItem::Var(_) => None,
        }
    }
}

fn make(id: NodeId, kind: A) -> ast::Expr {
    ast::Expr { id, kind: Box::new(kind) }
}

fn candidate(why: impl Into<String>, expr: ast::Expr) -> Candidate {
    Candidate { why: why.into(), expr, grows: false, another: false }
}

/// What a tried expression gives.
struct Fits {
    shown: String,
    rank: Option<usize>,
}

/// Applications to more arguments get no remedy that was tried.
const MOST_ARGUMENTS: usize = 12;

impl Checker<'_> {
    /// Reports an error about an application itself, whose parts are right.
    pub(super) fn fail_application<T>(&mut self, d: Diagnostic<Loc>) -> Check<T> {
        self.blamed.push(self.diagnostics.len());
        self.fail(d)
    }

    /// Improves the messages of a failed application, which begin at `from`.
    pub(super) fn remedy(&mut self, from: usize, node: NodeId, func: &ast::Expr, args: &[ast::Expr]) {
        let blamed = self.blamed.iter().copied().find(|b| *b >= from);
        self.blamed.retain(|b| *b < from);
        // What is applied to dozens of arguments no example of a remedy could show, and trying takes time.
        if self.trying || self.diagnostics.len() == from || args.len() > MOST_ARGUMENTS {
            return;
        }
        // What the failed application left open decides nothing.
        self.s.pending.retain(|p| p.node != node);
        if let Some(d) = self.swapped_parameters(node, func, args) {
            self.diagnostics.truncate(from);
            self.diagnostics.push(d);
            return;
        }
        let Some(at) = blamed else { return };
        let code = self.diagnostics[at].code;
        let name = match &*func.kind {
            A::Var(name) => name.clone(),
            _ => Name::new(""),
        };
        let (types, hidden): (Vec<Option<ArrTy>>, _) = self.types_of(args).into_iter().unzip();
        let nameable = types.iter().map(|t| t.as_ref().is_none_or(|t| self.may_name(t))).collect();
        let params = match self.find_value(&name) {
            Some(_) => Vec::new(),
            None => match self.env.value(&name) {
                Some(Resolved::Value { scheme, .. }) => scheme.params.clone(),
                _ => Vec::new(),
            },
        };
        let parts = Parts { node, func, args, types, hidden, nameable, name: name.as_str(), params };
        let mut candidates = match code {
            codes::ARGUMENT_COUNT => by_count(&parts),
            codes::FRAMES => [whole_texts(&parts), by_frames(&parts)].concat(),
            codes::CELL_SHAPE => [by_shape(&parts), swaps(&parts), bracketed_orders(&parts)].concat(),
            codes::RANK_TOO_SMALL => by_rank(&parts),
            codes::NOT_AN_INDEX => {
                [by_kind(&parts), other_ranks(&parts), brackets(&parts), orders(&parts)].concat()
            }
            codes::NEGATIVE_DIM => [orders(&parts), with_zero(&parts).into_iter().collect()].concat(),
            codes::SIZES => [other_sizes(&parts), orders(&parts)].concat(),
            codes::FUNCTION_SHAPE => {
                [boxed_ends(&parts), swaps(&parts), brackets(&parts), bracketed_orders(&parts)].concat()
            }
            // Numbers of two types are to be converted, and not to change places.
            codes::ATOM_TYPE if parts.are_numbers() => [swaps(&parts), brackets(&parts)].concat(),
            codes::ATOM_TYPE | codes::CLASS | codes::NOT_A_FUNCTION => {
                [by_kind(&parts), swaps(&parts), brackets(&parts), bracketed_orders(&parts)].concat()
            }
            codes::BOXED => unboxed(&parts),
            _ => Vec::new(),
        };
        candidates.truncate(64);
        let highest = (0..args.len()).filter_map(|i| parts.rank(i)).max().unwrap_or(0);
        let mut found: Vec<(Candidate, Fits)> = Vec::new();
        for c in candidates {
            if found.iter().any(|(f, _)| f.expr == c.expr) {
                continue;
            }
            let Some(fits) = self.try_out(&c.expr) else { continue };
            if !c.grows && fits.rank.is_some_and(|r| r > highest) {
                continue;
            }
            let last = !c.another || found.len() == 1;
            found.push((c, fits));
            if last {
                break;
            }
        }
        let help = match found.as_slice() {
            [] => return,
            [(c, _)] => format!("{}: {}", c.why, brief(&c.expr)),
            [(a, x), (b, y), ..] if a.why == b.why => format!(
                "{}: {} gives {}, {} gives {}",
                a.why,
                brief(&a.expr),
                x.shown,
                brief(&b.expr),
                y.shown
            ),
            [(a, x), (b, y), ..] if x.shown != y.shown => format!(
                "{}: {} gives {}; {}: {} gives {}",
                a.why,
                brief(&a.expr),
                x.shown,
                b.why,
                brief(&b.expr),
                y.shown
            ),
            [(a, _), (b, _), ..] => {
                format!("{}: {}; or {}: {}", a.why, brief(&a.expr), b.why, brief(&b.expr))
            }
        };
        let fixes = found.iter().filter_map(|(c, _)| fix::fix(c, node, func, args)).collect();
        // What fits answers the mistakes in the parts, too.
        let mut d = self.diagnostics.swap_remove(at);
        self.diagnostics.truncate(from);
        d.help = vec![help];
        d.fixes = fixes;
        self.diagnostics.push(d);
    }

    /// A copy to try something on; what it reports is its own.
    fn copy(&mut self) -> Option<Self> {
        self.tries = self.tries.checked_sub(1)?;
        let mine = std::mem::take(&mut self.diagnostics);
        let mut copy = self.clone();
        self.diagnostics = mine;
        copy.trying = true;
        Some(copy)
    }

    /// The type of what `e` gives, if it checks here.
    fn try_out(&mut self, e: &ast::Expr) -> Option<Fits> {
        let mut copy = self.copy()?;
        let t = copy.infer(e, None).ok()?;
        if !copy.diagnostics.is_empty() {
            return None;
        }
        let ty = copy.s.zonk(&t.expr.ty);
        let shown = copy.show(&ty);
        // Of a box, what it holds.
        let rank = match &ty.atom {
            AtomTy::Sigma(s) => s.body.shape.items().len() + ty.shape.items().len(),
            _ => ty.shape.items().len(),
        };
        Some(Fits { shown, rank: Some(rank) })
    }

    /// Whether an expression checks here; never while another is tried.
    pub(super) fn checks(&mut self, e: &ast::Expr) -> bool {
        !self.trying && self.try_out(e).is_some()
    }

    /// The type of each argument that is data, as far as it is known, and whether a box hides its first
    /// size; of a box, that of the contents.
    fn types_of(&mut self, args: &[ast::Expr]) -> Vec<(Option<ArrTy>, bool)> {
        let Some(mut copy) = self.copy() else { return vec![(None, false); args.len()] };
        let infer = |e: &ast::Expr| {
            if matches!(&*e.kind, A::Lam { .. } | A::Rerank { .. }) {
                return None;
            }
            let mut t = copy.infer(e, None).ok()?.expr;
            if copy.scalar_box(&t).is_some() {
                t = copy.open_box(t);
            }
            Some(t.ty)
        };
        let types: Vec<Option<ArrTy>> = args.iter().map(infer).collect();
        // What is made of a literal, as its mean, is of the type that it has if nothing else is wanted of it.
        let _ = copy.default_literals();
        let closed = |t: Option<ArrTy>| {
            let Some(t) = t else { return (None, false) };
            let mut ty = copy.s.zonk(&t);
            // What is unknown in the copy has no meaning outside of it.
            ty.atom = copy.readable_default(&ty.atom);
            let hidden = matches!(ty.shape.items().first(), Some(ShapeItem::Dim(d))
                if matches!(d.as_var(), Some(DimVar::Rigid(v)) if copy.is_hidden(v)));
            match ty.atom {
                AtomTy::Fn(_) | AtomTy::Pi(_) | AtomTy::Forall(_) => (None, false),
                _ => (Some(ty), hidden),
            }
        };
        types.into_iter().map(closed).collect()
    }
}

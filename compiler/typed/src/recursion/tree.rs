//! What the body of a definition does next.
//!
//! ```text
//! (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))        calls are numbered in the order in which they come
//!
//! nothing known      if (< n 2)   end n    call 1 with (- n 1)
//! call 1 is known    if (< n 2)   end n    call 2 with (- n 2)
//! both are           if (< n 2)   end n    end (+ #1 #2)
//! ```

use super::{Refused, Why};
use crate::refs::mentions;
use remc_base::{Name, NodeId};
use remc_syntax::ast::{Binding, Expr, ExprKind, Param};
use std::cell::Cell;

/// A definition has this many calls of itself at most, and a tree this many leaves.
const MOST_CALLS: usize = 16;
const MOST_LEAVES: usize = 256;

/// A body, whose calls are numbered from 1.
pub struct Body<'a> {
    pub name: &'a Name,
    params: Vec<Name>,
    body: Expr,
    calls: Vec<NodeId>,
    /// How many leaves the trees have had so far.
    leaves: Cell<usize>,
}

/// Conditions and bindings, with what is done at the end of each way through them.
#[derive(Clone)]
pub enum Tree {
    If {
        node: NodeId,
        cond: Expr,
        then: Box<Tree>,
        otherwise: Box<Tree>,
    },
    /// A `let` or `let-values`, whose own body is not looked at.
    Bind {
        around: Expr,
        body: Box<Tree>,
    },
    /// The call with this number; `last` if what it gives is what the body gives.
    Call {
        number: usize,
        args: Vec<Expr>,
        last: bool,
    },
    End(Expr),
}

impl Tree {
    /// The leaves, from the left.
    pub fn leaves(&self) -> Vec<&Tree> {
        match self {
            Tree::If { then, otherwise, .. } => {
                let mut all = then.leaves();
                all.extend(otherwise.leaves());
                all
            }
            Tree::Bind { body, .. } => body.leaves(),
            leaf => vec![leaf],
        }
    }

    /// Whether some way through does not call.
    pub fn ends(&self) -> bool {
        self.leaves().iter().any(|leaf| matches!(leaf, Tree::End(_)))
    }

    /// Whether what a call gives is always what the body gives.
    pub fn only_last(&self) -> bool {
        self.leaves().iter().all(|leaf| matches!(leaf, Tree::End(_) | Tree::Call { last: true, .. }))
    }

    /// The expression that has `leaf` of each leaf; where that is `None` nobody comes, and the way there is not kept.
    pub fn render(&self, leaf: &dyn Fn(&Tree) -> Option<Expr>) -> Option<Expr> {
        match self {
            Tree::If { node, cond, then, otherwise } => match (then.render(leaf), otherwise.render(leaf)) {
                (Some(then), Some(otherwise)) => {
                    let kind = ExprKind::If { cond: cond.clone(), then, otherwise };
                    Some(Expr { id: *node, kind: Box::new(kind) })
                }
                (one, other) => one.or(other),
            },
            Tree::Bind { around, body } => {
                let inside = body.render(leaf)?;
                let mut out = around.clone();
                if let ExprKind::Let { body, .. } | ExprKind::LetValues { body, .. } = &mut *out.kind {
                    *body = inside;
                }
                Some(out)
            }
            end => leaf(end),
        }
    }
}

type R<T> = Result<T, Refused>;
type Next<'n> = &'n dyn Fn(Expr) -> R<Tree>;

impl<'a> Body<'a> {
    pub fn new(name: &'a Name, params: &[Param], body: &Expr, decides: &[Name]) -> R<Body<'a>> {
        let params = params.iter().map(|p| p.name.clone()).collect();
        let mut out = Body { name, params, body: body.clone(), calls: Vec::new(), leaves: Cell::default() };
        let mut body = body.clone();
        out.decide(&mut body, decides);
        out.body = body;
        out.names(&out.body, true, &mut Vec::new())?;
        let body = out.body.clone();
        out.collect(&body)?;
        if out.calls.len() > MOST_CALLS {
            return Err(Refused::new(out.calls[MOST_CALLS], Why::Long));
        }
        Ok(out)
    }

    pub fn node(&self) -> NodeId {
        self.body.id
    }

    /// Which parameter has that name.
    pub fn place(&self, name: &Name) -> Option<usize> {
        self.params.iter().position(|p| p == name)
    }

    /// Whether every call hands this parameter, the `k`-th, on as it is.
    pub fn passes_on(&self, name: &Name, k: usize) -> bool {
        let same = |e: &Expr| matches!(&*e.kind, ExprKind::Var(v) if v == name);
        let mut all = true;
        self.each_call(&self.body, &mut |args| all &= args.get(k).is_some_and(same));
        all && !binds(&self.body, name)
    }

    fn each_call(&self, e: &Expr, f: &mut dyn FnMut(&[Expr])) {
        if let (ExprKind::App { args, .. }, Some(_)) = (&*e.kind, self.number(e)) {
            f(args);
        }
        children(e).into_iter().for_each(|c| self.each_call(c, f));
    }

    /// What is left of the body where it has called itself: not the ways that end.
    pub fn back(&self) -> Expr {
        let mut e = self.body.clone();
        let mut at = &mut e;
        loop {
            let calls = |e: &Expr| self.most(e) > 0;
            if let ExprKind::If { cond, then, otherwise } = &*at.kind
                && !calls(cond)
                && (calls(then) != calls(otherwise))
            {
                *at = if calls(then) { then.clone() } else { otherwise.clone() };
                continue;
            }
            match &mut *at.kind {
                ExprKind::Let { body, .. } | ExprKind::LetValues { body, .. } => at = body,
                _ => break,
            }
        }
        e
    }

    /// Where it calls itself first.
    pub fn first_call(&self) -> NodeId {
        self.calls.first().copied().unwrap_or(self.body.id)
    }

    /// How many calls there are in the text.
    pub fn sites(&self) -> usize {
        self.calls.len()
    }

    /// The most calls on any way through the body.
    pub fn calls(&self) -> usize {
        self.most(&self.body)
    }

    fn most(&self, e: &Expr) -> usize {
        let own = usize::from(self.number(e).is_some());
        let inside = match &*e.kind {
            ExprKind::If { cond, then, otherwise } => {
                self.most(cond) + self.most(then).max(self.most(otherwise))
            }
            _ => children(e).into_iter().map(|c| self.most(c)).sum(),
        };
        own + inside
    }

    /// What it does next, once the calls up to number `known` on the way have given something.
    pub fn tree(&self, known: usize) -> R<Tree> {
        self.leaves.set(0);
        self.last(&self.body, known)
    }

    /// What call number `k` has given.
    pub fn given(&self, k: usize) -> Name {
        Name::new(format!("({} …) {k}", self.name))
    }

    /// The expression with what its calls have given.
    pub fn known(&self, e: &Expr, known: usize) -> Expr {
        let mut e = e.clone();
        self.replace(&mut e, &|k| (k <= known).then(|| self.given(k)));
        e
    }

    /// Puts names in the place of calls.
    pub fn replace(&self, e: &mut Expr, by: &dyn Fn(usize) -> Option<Name>) {
        match self.number(e).and_then(by) {
            Some(name) => *e.kind = ExprKind::Var(name),
            None => children_mut(e).into_iter().for_each(|c| self.replace(c, by)),
        }
    }

    fn number(&self, e: &Expr) -> Option<usize> {
        (self.is_call(e).then(|| self.calls.iter().position(|c| *c == e.id))?).map(|k| k + 1)
    }

    fn is_self(&self, e: &Expr) -> bool {
        matches!(&*e.kind, ExprKind::Var(name) if name == self.name)
    }

    fn mentions(&self, e: &Expr) -> bool {
        mentions(e, self.name)
    }

    /// `and` and `or` with a call behind the first operand are branches.
    fn decide(&self, e: &mut Expr, decides: &[Name]) {
        if !self.mentions(e) {
            return;
        }
        children_mut(e).into_iter().for_each(|c| self.decide(c, decides));
        let id = e.id;
        let ExprKind::App { func, args } = &mut *e.kind else { return };
        let ExprKind::Var(name) = &*func.kind else { return };
        let is_and = name.as_str() == "and";
        if !decides.contains(name)
            || self.params.contains(name)
            || args.len() < 2
            || !args[1..].iter().any(|a| self.mentions(a))
        {
            return;
        }
        let last = args.pop();
        let branches = std::mem::take(args).into_iter().rev().fold(last, |rest, cond| {
            let decided = Expr { id, kind: Box::new(ExprKind::Bool(!is_and)) };
            let (then, otherwise) = if is_and { (rest?, decided) } else { (decided, rest?) };
            Some(Expr { id, kind: Box::new(ExprKind::If { cond, then, otherwise }) })
        });
        if let Some(branches) = branches {
            *e = branches;
        }
    }

    /// Numbers the calls in the order in which they are computed.
    fn collect(&mut self, e: &Expr) -> R<()> {
        if !self.mentions(e) {
            return Ok(());
        }
        match &*e.kind {
            ExprKind::App { func, args } => {
                if self.is_self(func) {
                    if args.len() != self.params.len() {
                        return Err(Refused::new(e.id, Why::Arguments));
                    }
                    args.iter().try_for_each(|a| self.collect(a))?;
                    self.calls.push(e.id);
                    return Ok(());
                }
                if self.mentions(func) {
                    let why = match &*func.kind {
                        ExprKind::TApp { .. } | ExprKind::IApp { .. } => Why::Instance,
                        _ => Why::Inside,
                    };
                    return Err(Refused::new(func.id, why));
                }
                args.iter().try_for_each(|a| self.collect(a))
            }
            ExprKind::Var(_) => Err(Refused::new(e.id, Why::Value)),
            ExprKind::TApp { .. } | ExprKind::IApp { .. } | ExprKind::Rerank { .. } => {
                Err(Refused::new(e.id, Why::Value))
            }
            _ => {
                let inside = children(e);
                if !inside.iter().any(|c| self.mentions(c)) {
                    return Err(Refused::new(self.within(e), Why::Inside));
                }
                inside.into_iter().try_for_each(|c| self.collect(c))
            }
        }
    }

    /// What a `let` inside of other expressions binds is seen by what comes after it, too: there its names are its own.
    /// `seen` are those of the ones before it.
    fn names(&self, e: &Expr, last: bool, seen: &mut Vec<Name>) -> R<()> {
        if !self.mentions(e) {
            return Ok(());
        }
        let own: Vec<&Name> = match &*e.kind {
            ExprKind::Let { bindings, .. } => bindings.iter().map(|b| &b.param.name).collect(),
            ExprKind::LetValues { bindings, .. } => {
                bindings.iter().flat_map(|(ps, _)| ps.iter().map(|p| &p.name)).collect()
            }
            _ => Vec::new(),
        };
        for name in own {
            if name == self.name {
                return Err(Refused { at: e.id, why: Why::Hidden, name: Some(name.clone()) });
            }
            if !last && (seen.contains(name) || self.params.contains(name) || self.is_free(name)) {
                return Err(Refused { at: e.id, why: Why::Name, name: Some(name.clone()) });
            }
            seen.push(name.clone());
        }
        let ends = match &*e.kind {
            ExprKind::If { .. } | ExprKind::Let { .. } | ExprKind::LetValues { .. } => last,
            _ => false,
        };
        let end = |c: &Expr| match &*e.kind {
            ExprKind::Let { body, .. } | ExprKind::LetValues { body, .. } => ends && c.id == body.id,
            _ => false,
        };
        let ExprKind::If { cond, then, otherwise } = &*e.kind else {
            return children(e).into_iter().try_for_each(|c| self.names(c, end(c), seen));
        };
        // Of two branches one is on the way.
        self.names(cond, false, seen)?;
        let mut beside = seen.clone();
        self.names(then, ends, seen)?;
        self.names(otherwise, ends, &mut beside)?;
        seen.extend(beside);
        Ok(())
    }

    /// Whether the body means something else by this name, too.
    fn is_free(&self, name: &Name) -> bool {
        mentions(&self.body, name)
    }

    /// The innermost function, loop or box around a call that is in one.
    fn within(&self, e: &Expr) -> NodeId {
        let inside: Vec<&Expr> = match &*e.kind {
            ExprKind::Lam { body, .. } | ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => {
                vec![body]
            }
            ExprKind::Loop { bindings, cond, body } => {
                bindings.iter().map(|b| &b.value).chain([cond, body]).collect()
            }
            ExprKind::Unbox { opened, body } => opened.iter().map(|o| &o.boxes).chain([body]).collect(),
            ExprKind::Lift { value, body, .. } => vec![value, body],
            _ => children(e),
        };
        let within = inside.into_iter().find(|c| self.mentions(c));
        within.map_or(e.id, |c| if self.is_call(c) { c.id } else { self.within(c) })
    }

    fn is_call(&self, e: &Expr) -> bool {
        matches!(&*e.kind, ExprKind::App { func, .. } if self.is_self(func))
    }

    /// Whether something calls whose value is not known yet.
    fn open(&self, e: &Expr, known: usize) -> bool {
        self.number(e).is_some_and(|k| k > known)
            || self.mentions(e)
                && self.number(e).is_none_or(|k| k > known)
                && children(e).into_iter().any(|c| self.open(c, known))
    }

    fn leaf(&self, leaf: Tree) -> R<Tree> {
        self.leaves.set(self.leaves.get() + 1);
        if self.leaves.get() > MOST_LEAVES {
            return Err(Refused::new(self.body.id, Why::Long));
        }
        Ok(leaf)
    }

    /// Of what the body gives.
    fn last(&self, e: &Expr, known: usize) -> R<Tree> {
        if !self.open(e, known) {
            return self.leaf(Tree::End(self.known(e, known)));
        }
        match &*e.kind {
            ExprKind::If { cond, then, otherwise } => self.next(cond, known, &|cond| {
                let [then, otherwise] = [self.last(then, known)?, self.last(otherwise, known)?].map(Box::new);
                Ok(Tree::If { node: e.id, cond, then, otherwise })
            }),
            ExprKind::Let { body, .. } | ExprKind::LetValues { body, .. } => {
                self.bind(e, known, &|| self.last(body, known))
            }
            ExprKind::App { args, .. } if self.number(e).is_some() => self.call(e, args, known, true),
            _ => self.next(e, known, &|e| self.leaf(Tree::End(e))),
        }
    }

    /// Of an expression inside of others; `done` is what comes after it, of what is left of it: where no call is left on the
    /// way, and branches that were not taken are gone.
    fn next(&self, e: &Expr, known: usize, done: Next<'_>) -> R<Tree> {
        if !self.open(e, known) {
            return done(self.known(e, known));
        }
        match &*e.kind {
            ExprKind::If { cond, then, otherwise } => self.next(cond, known, &|cond| {
                let [then, otherwise] =
                    [self.next(then, known, done)?, self.next(otherwise, known, done)?].map(Box::new);
                Ok(Tree::If { node: e.id, cond, then, otherwise })
            }),
            ExprKind::Let { body, .. } | ExprKind::LetValues { body, .. } => {
                self.bind(e, known, &|| self.next(body, known, done))
            }
            ExprKind::App { args, .. } if self.number(e).is_some() => self.call(e, args, known, false),
            _ => self.each(children(e), known, Vec::new(), &|parts| {
                let mut e = e.clone();
                children_mut(&mut e).into_iter().zip(parts).for_each(|(c, part)| *c = part.clone());
                done(e)
            }),
        }
    }

    fn call(&self, e: &Expr, args: &[Expr], known: usize, last: bool) -> R<Tree> {
        let number = self.number(e).unwrap_or_default();
        self.each(args.iter().collect(), known, Vec::new(), &|args| {
            self.leaf(Tree::Call { number, args: args.to_vec(), last })
        })
    }

    /// Several expressions, from the left; `before` is what is left of those on the left.
    fn each(
        &self,
        mut all: Vec<&Expr>,
        known: usize,
        before: Vec<Expr>,
        done: &dyn Fn(&[Expr]) -> R<Tree>,
    ) -> R<Tree> {
        if all.is_empty() {
            return done(&before);
        }
        let first = all.remove(0);
        self.next(first, known, &|left| {
            let before = before.iter().cloned().chain([left]).collect();
            self.each(all.clone(), known, before, done)
        })
    }

    /// The values of a `let`, then what is inside of it. Those of names that see the earlier ones are bound one by one.
    fn bind(&self, e: &Expr, known: usize, inside: &dyn Fn() -> R<Tree>) -> R<Tree> {
        // The body of what is around is not looked at.
        let expr = |kind| Expr { id: e.id, kind: Box::new(kind) };
        let nothing = || expr(ExprKind::Error);
        match &*e.kind {
            ExprKind::Let { bindings, sequential: true, .. } => self.in_turn(e, bindings, known, inside),
            ExprKind::Let { bindings, .. } => {
                let values = bindings.iter().map(|b| &b.value).collect();
                self.each(values, known, Vec::new(), &|values| {
                    let bound = |(b, value): (&Binding, &Expr)| Binding { value: value.clone(), ..b.clone() };
                    let bindings = bindings.iter().zip(values).map(bound).collect();
                    let around = expr(ExprKind::Let { bindings, sequential: false, body: nothing() });
                    Ok(Tree::Bind { around, body: Box::new(inside()?) })
                })
            }
            ExprKind::LetValues { bindings, .. } => {
                let values = bindings.iter().map(|(_, v)| v).collect();
                self.each(values, known, Vec::new(), &|values| {
                    let bindings =
                        bindings.iter().zip(values).map(|((p, _), v)| (p.clone(), v.clone())).collect();
                    let around = expr(ExprKind::LetValues { bindings, body: nothing() });
                    Ok(Tree::Bind { around, body: Box::new(inside()?) })
                })
            }
            _ => inside(),
        }
    }

    fn in_turn(&self, e: &Expr, all: &[Binding], known: usize, inside: &dyn Fn() -> R<Tree>) -> R<Tree> {
        let [first, rest @ ..] = all else { return inside() };
        self.next(&first.value, known, &|value| {
            let nothing = Expr { id: e.id, kind: Box::new(ExprKind::Error) };
            let bindings = vec![Binding { value, ..first.clone() }];
            let kind = ExprKind::Let { bindings, sequential: true, body: nothing };
            let around = Expr { id: e.id, kind: Box::new(kind) };
            Ok(Tree::Bind { around, body: Box::new(self.in_turn(e, rest, known, inside)?) })
        })
    }
}

/// The parts of an expression that are computed once where it is, in their order; not those that are functions, run
/// several times or for each item of something. One list, of references of either kind.
macro_rules! parts {
    ($e:expr, $iter:ident, $($mutable:tt)?) => {
        match &$($mutable)? *$e.kind {
            ExprKind::App { args, .. } => args.$iter().collect(),
            ExprKind::Bracket(es) | ExprKind::Array { elems: es, .. } | ExprKind::Values(es) => es.$iter().collect(),
            ExprKind::Let { bindings, body, .. } => {
                bindings.$iter().map(|b| &$($mutable)? b.value).chain([body]).collect()
            }
            ExprKind::LetValues { bindings, body } => bindings.$iter().map(|(_, v)| v).chain([body]).collect(),
            ExprKind::If { cond, then, otherwise } => vec![cond, then, otherwise],
            ExprKind::Annot { expr: e, .. }
            | ExprKind::Cast { value: e, .. }
            | ExprKind::AsShape { value: e, .. }
            | ExprKind::Box { value: e, .. }
            | ExprKind::BoxInfer(e)
            | ExprKind::Proj { tuple: e, .. }
            | ExprKind::Field { record: e, .. } => vec![e],
            ExprKind::Record(fields) => fields.$iter().map(|(_, e)| e).collect(),
            ExprKind::With { record, fields } => {
                std::iter::once(record).chain(fields.$iter().map(|(_, e)| e)).collect()
            }
            _ => Vec::new(),
        }
    };
}

fn children(e: &Expr) -> Vec<&Expr> {
    parts!(e, iter,)
}

fn children_mut(e: &mut Expr) -> Vec<&mut Expr> {
    parts!(e, iter_mut, mut)
}

/// Whether a `let` or `let-values` of the body has that name.
fn binds(e: &Expr, name: &Name) -> bool {
    let own = match &*e.kind {
        ExprKind::Let { bindings, .. } => bindings.iter().any(|b| b.param.name == *name),
        ExprKind::LetValues { bindings, .. } => {
            bindings.iter().any(|(ps, _)| ps.iter().any(|p| p.name == *name))
        }
        _ => false,
    };
    own || children(e).into_iter().any(|c| binds(c, name))
}

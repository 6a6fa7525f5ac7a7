//! Recursion: a definition that calls itself is a loop.
//!
//! Before a definition is checked, its calls of itself become loops of the language, so that inference, lifting and every
//! device have them as they have any other loop. There are three ways, by how the calls stand:
//!
//! ```text
//! last          (define (gcd a b) (if (= b 0) a (gcd b (% a b))))
//!           ⟶   (define (gcd a b)
//!                 (let-values (((a b) (loop ((a a) (b b)) while (if (= b 0) #f #t) do (values b (% a b))))) a))
//!
//! one a round   (define (fact n) (if (= n 0) 1 (* n (fact (- n 1)))))
//!           ⟶   down to where it ends, keeping each `n`; then up again: r = 1, and r = (* n r) for each, from the last
//!
//! several       (define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
//!           ⟶   a loop with a stack of the calls that wait, [`remc_base::trap::DEEPEST`] of them at most
//! ```
//!
//! The [`tree`] of a body says, for what its calls have given so far, what it does next: call itself again, or end. A call that
//! was waiting computes its body once more up to there, since nothing has an effect but to stop. [`emit`] makes loops of trees.
//!
//! A last call keeps nothing; with one call a round as much is kept as there are rounds. What a call passes on unchanged is no
//! state. `(and a b)` and `(or a b)` do not compute `b` where `a` decides, if `b` calls: else there were no end.

mod emit;
mod tree;

use remc_base::{Name, NodeId};
use remc_syntax::ast::{Annotation, Binding, Expr, ExprKind, Item, ItemKind, Param, TypeExpr};
use tree::Body;

/// Why a definition's calls of itself are no loop, and where.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Refused {
    pub at: NodeId,
    pub why: Why,
    /// What it is about.
    pub name: Option<Name>,
}

impl Refused {
    fn new(at: NodeId, why: Why) -> Refused {
        Refused { at, why, name: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It is no function.
    NoFunction,
    /// It is used other than to call it.
    Value,
    /// The call is in a function, a loop or a box that is opened.
    Inside,
    /// A call with another number of arguments.
    Arguments,
    /// A call says of which types or sizes it is.
    Instance,
    /// Every way through it calls it again.
    NoEnd,
    /// A `let` inside of other expressions binds a name again.
    Name,
    /// Something inside of it has its name, too.
    Hidden,
    /// It is longer than this is done for.
    Long,
}

/// Tells which of `and` and `or` are those of the prelude.
type Decides<'d> = &'d dyn Fn() -> Vec<Name>;

/// A definition as a loop.
pub(crate) struct Loop {
    pub value: Expr,
    pub of: Looped,
}

/// A definition that is checked as a loop: what messages want of it.
#[derive(Clone, Debug)]
pub(crate) struct Looped {
    /// The node of all that is not in the text.
    pub node: NodeId,
    /// Where it calls itself first.
    pub call: NodeId,
    pub name: Name,
}

impl Loop {
    /// The same with scalars for parameters of which no rank or type is written.
    pub fn of_scalars(&self) -> Loop {
        fn scalars(e: &mut Expr) {
            match &mut *e.kind {
                ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => scalars(body),
                ExprKind::Lam { params, .. } => {
                    for p in params.iter_mut().filter(|p| p.ann == Annotation::None) {
                        p.ann = Annotation::Rank(0);
                    }
                }
                _ => {}
            }
        }
        let mut value = self.value.clone();
        scalars(&mut value);
        Loop { value, of: self.of.clone() }
    }
}

/// A definition without calls of itself; `None` where there are none.
pub(crate) fn as_loop(item: &Item, decides: Decides<'_>) -> Option<Result<Loop, Refused>> {
    let (ItemKind::Define { name, value, .. } | ItemKind::Entry { name, value }) = &item.kind else {
        return None;
    };
    if !crate::refs::references(item).values.contains(&name.name) {
        return None;
    }
    Some(loop_of(&name.name, value, decides))
}

/// The same of a function that a body defines.
pub(crate) fn inner_loop(b: &Binding, decides: Decides<'_>) -> Option<Result<Loop, Refused>> {
    let name = &b.param.name;
    crate::refs::mentions(&b.value, name).then(|| loop_of(name, &b.value, decides))
}

fn loop_of(name: &Name, value: &Expr, decides: Decides<'_>) -> Result<Loop, Refused> {
    let mut value = value.clone();
    let of = rewrite(name, &mut value, &decides())?;
    Ok(Loop { value, of })
}

/// Makes a loop of the function under binders.
fn rewrite(name: &Name, value: &mut Expr, decides: &[Name]) -> Result<Looped, Refused> {
    match &mut *value.kind {
        ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => rewrite(name, body, decides),
        ExprKind::Lam { params, body, ret } => {
            let of;
            (*body, of) = function((name, params, ret.as_ref()), body, decides)?;
            Ok(of)
        }
        _ => Err(Refused::new(value.id, Why::NoFunction)),
    }
}

/// The body of a function as a loop.
fn function(
    (name, params, ret): (&Name, &[Param], Option<&TypeExpr>),
    body: &Expr,
    decides: &[Name],
) -> Result<(Expr, Looped), Refused> {
    let body = Body::new(name, params, body, decides)?;
    let first = body.tree(0)?;
    if !first.ends() {
        return Err(Refused::new(body.node(), Why::NoEnd));
    }
    let emit = emit::Emit::new(&body, params, ret);
    let looped = match body.calls() {
        _ if first.only_last() => emit.last(&first),
        most if most < 2 => emit.one(&first),
        _ => emit.several(&first)?,
    };
    Ok((looped, Looped { node: body.node(), call: body.first_call(), name: name.clone() }))
}

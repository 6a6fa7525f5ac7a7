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
//!           ⟶   a loop with a stack of the calls that wait, [`DEEPEST`] of them at most
//! ```
//!
//! The [`tree`] of a body says, for what its calls have given so far, what it does next: call itself again, or end. A call that
//! was waiting computes its body once more up to there, since nothing has an effect but to stop. [`emit`] makes loops of trees.
//!
//! A last call keeps nothing; with one call a round as much is kept as there are rounds. What a call passes on unchanged is no
//! state. `(and a b)` and `(or a b)` do not compute `b` where `a` decides, if `b` calls: else there were no end.

mod emit;
mod tree;

use remc_base::trap::DEEPEST;
use remc_base::{Name, NodeId};
use remc_syntax::ast::{Binding, Expr, ExprKind, Item, ItemKind, Param};
use tree::Body;

/// Why a definition's calls of itself are no loop, and where.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Refused {
    pub at: NodeId,
    pub why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It is no function, or is used other than to call it.
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
    /// It is longer than this is done for.
    Long,
}

/// A definition as a loop, and where it calls itself first.
pub(crate) struct Loop {
    pub value: Expr,
    /// The node of all that is not in the text.
    pub body: NodeId,
    pub call: NodeId,
}

/// A definition without calls of itself; `None` where there are none.
pub(crate) fn as_loop(item: &Item) -> Option<Result<Loop, Refused>> {
    let (ItemKind::Define { name, value, .. } | ItemKind::Entry { name, value }) = &item.kind else {
        return None;
    };
    if !crate::refs::references(item).values.contains(&name.name) {
        return None;
    }
    Some(loop_of(&name.name, value))
}

/// The same of a function that a body defines, of a name that means nothing else there.
pub(crate) fn inner_loop(b: &Binding) -> Option<Result<Loop, Refused>> {
    let name = &b.param.name;
    crate::refs::mentions(&b.value, name).then(|| loop_of(name, &b.value))
}

fn loop_of(name: &Name, value: &Expr) -> Result<Loop, Refused> {
    let mut value = value.clone();
    let (body, call) = rewrite(name, &mut value)?;
    Ok(Loop { value, body, call })
}

/// Makes a loop of the function under binders; its body's node, and where it calls itself first.
fn rewrite(name: &Name, value: &mut Expr) -> Result<(NodeId, NodeId), Refused> {
    match &mut *value.kind {
        ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => rewrite(name, body),
        ExprKind::Lam { params, body, .. } => {
            let (call, node);
            (*body, node, call) = function(name, params, body)?;
            Ok((node, call))
        }
        _ => Err(Refused { at: value.id, why: Why::Value }),
    }
}

fn function(name: &Name, params: &[Param], body: &Expr) -> Result<(Expr, NodeId, NodeId), Refused> {
    let body = Body::new(name, params, body)?;
    let first = body.tree(0)?;
    if !first.ends() {
        return Err(Refused { at: body.node(), why: Why::NoEnd });
    }
    let emit = emit::Emit::new(&body, params);
    let looped = match body.calls() {
        _ if first.only_last() => emit.last(&first),
        most if most < 2 => emit.one(&first),
        _ => emit.several(&first)?,
    };
    Ok((looped, body.node(), body.first_call()))
}

//! The verifier of Typed: an independent check that every node's type follows from its children's.
//!
//! It knows no existentials and solves nothing: each rule below recomputes a type from the annotations
//! of a node's children and compares it with the node's own, dims in polynomial normal form, shapes in
//! the free monoid, ∀ Π Σ up to the names of their variables, all modulo the equations of the
//! [`ExprKind::Check`]s around. Inference can then be as clever as it likes: what it smuggles in is
//! found here, with the name of the rule that it breaks.
//!
//! Every annotation is checked against its own children, so comparing neighbours is enough; the walk
//! uses a worklist and no stack, whatever the depth of the program. Children come first: an error is
//! reported at the innermost node that is wrong.
//!
//! Types mean the same in the IRs after this one that have them: their verifiers use [`Verifier`], the
//! scope of a place with the rules about types there, and bring the rules of their own forms.

mod facts;
mod rules;
mod types;

pub use facts::Facts;
pub use types::Broken;

use crate::ir::*;
use remc_base::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use types::{LEVELS, Walk};

/// The types of top-level definitions and primitives.
pub trait Globals {
    fn ty(&self, g: &GlobalId) -> Option<ArrTy>;
}

/// The typing rules, and what must hold of a term at all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    // One for each kind of expression.
    Var,
    Global,
    Lit,
    Frame,
    Lam,
    TLam,
    ILam,
    App,
    TApp,
    IApp,
    Let,
    If,
    Box,
    Unbox,
    Lift,
    Check,
    ReifyDim,
    ReifyShape,
    Tuple,
    Field,
    Cast,
    AsShape,
    Loop,
    /// Index and type variables are in scope wherever a type or an index mentions them.
    Scope,
    /// Binders are unique within a definition, and no type hides a variable in scope.
    Binder,
    /// No existential is left.
    Existential,
    /// Types are in normal form, and variables used at the sort of their binder.
    WellFormed,
    /// An index that must be a dim is provably not negative.
    Natural,
    /// A type argument is in its parameter's class.
    Class,
    /// The definition's type is its body's.
    Definition,
    /// An entry's signature is its definition's type.
    Entry,
}

impl Rule {
    pub const ALL: [Rule; 31] = [
        Rule::Var,
        Rule::Global,
        Rule::Lit,
        Rule::Frame,
        Rule::Lam,
        Rule::TLam,
        Rule::ILam,
        Rule::App,
        Rule::TApp,
        Rule::IApp,
        Rule::Let,
        Rule::If,
        Rule::Box,
        Rule::Unbox,
        Rule::Lift,
        Rule::Check,
        Rule::ReifyDim,
        Rule::ReifyShape,
        Rule::Tuple,
        Rule::Field,
        Rule::Cast,
        Rule::AsShape,
        Rule::Loop,
        Rule::Scope,
        Rule::Binder,
        Rule::Existential,
        Rule::WellFormed,
        Rule::Natural,
        Rule::Class,
        Rule::Definition,
        Rule::Entry,
    ];
}

/// The first rule found broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    pub rule: Rule,
    /// The node's origin in the syntax tree.
    pub node: NodeId,
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} rule broken at node {}: {}", self.rule, self.node.0, self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Checks a definition against the types of the globals that it mentions.
pub fn verify(def: &Definition, globals: &dyn Globals) -> Result<(), VerifyError> {
    let mut v = Verifier::new(globals);
    v.expression(&def.body)?;
    v.definition(def).map_err(|(rule, message)| VerifyError { rule, node: def.body.node, message })
}

/// The variables and facts in scope.
#[derive(Default)]
struct Scope<'s> {
    vars: FxHashMap<VarId, &'s ArrTy>,
    indices: FxHashMap<u32, &'s IVar>,
    types: FxHashMap<u32, Option<Class>>,
    facts: Facts,
}

/// The ids of the binders passed so far.
#[derive(Default)]
struct Seen {
    vars: FxHashSet<VarId>,
    indices: FxHashSet<u32>,
    types: FxHashSet<u32>,
}

/// The walk over a definition: what is in scope where it has come to.
pub struct Verifier<'s> {
    globals: &'s dyn Globals,
    scope: Scope<'s>,
    seen: Seen,
    marks: Vec<facts::Mark>,
}

/// A step of the walk over an expression.
enum Step<'s> {
    Visit(&'s Expr),
    /// Brings what the node binds into scope.
    Enter(&'s Expr),
    /// Checks what relates the node to its body inside that scope, and leaves it.
    Leave(&'s Expr),
    /// The node's rule; its children are verified.
    Finish(&'s Expr),
}

impl<'s> Verifier<'s> {
    pub fn new(globals: &'s dyn Globals) -> Self {
        Verifier { globals, scope: Scope::default(), seen: Seen::default(), marks: Vec::new() }
    }

    fn expression(&mut self, root: &'s Expr) -> Result<(), VerifyError> {
        let mut steps = vec![Step::Visit(root)];
        while let Some(step) = steps.pop() {
            let (e, done) = match step {
                Step::Visit(e) => {
                    let first = steps.len();
                    self.visit(e, &mut steps);
                    // Written in the order of evaluation, taken from the end.
                    steps[first..].reverse();
                    continue;
                }
                Step::Enter(e) => (e, self.enter(e)),
                Step::Leave(e) => (e, self.leave(e)),
                Step::Finish(e) => (e, self.finish(e)),
            };
            done.map_err(|(rule, message)| VerifyError { rule, node: e.node, message })?;
        }
        Ok(())
    }

    fn visit(&self, e: &'s Expr, steps: &mut Vec<Step<'s>>) {
        // Where the scope of what the node binds begins among its children; it ends with the last.
        let scope = match &*e.kind {
            ExprKind::Lam { .. } | ExprKind::TLam { .. } | ExprKind::ILam { .. } | ExprKind::Check { .. } => {
                Some(0)
            }
            ExprKind::Let { .. } | ExprKind::Unbox { .. } | ExprKind::Lift { .. } => Some(1),
            ExprKind::Loop { locals, .. } => Some(locals.len()),
            ExprKind::Var(_)
            | ExprKind::Global(_)
            | ExprKind::Lit(_)
            | ExprKind::Frame { .. }
            | ExprKind::App { .. }
            | ExprKind::TApp { .. }
            | ExprKind::IApp { .. }
            | ExprKind::If { .. }
            | ExprKind::Box { .. }
            | ExprKind::ReifyDim(_)
            | ExprKind::ReifyShape(_)
            | ExprKind::Tuple(_)
            | ExprKind::Field { .. }
            | ExprKind::Cast(_)
            | ExprKind::AsShape(_) => None,
        };
        for (i, child) in e.children().into_iter().enumerate() {
            if scope == Some(i) {
                steps.push(Step::Enter(e));
            }
            steps.push(Step::Visit(child));
        }
        if scope.is_some() {
            steps.push(Step::Leave(e));
        }
        steps.push(Step::Finish(e));
    }

    fn enter(&mut self, e: &'s Expr) -> Result<(), Broken> {
        match &*e.kind {
            ExprKind::Lam { params, .. } => params.iter().try_for_each(|l| self.bind_local(l)),
            ExprKind::TLam { params, .. } => params.iter().try_for_each(|p| self.bind_type(p)),
            ExprKind::ILam { params, .. } => params.iter().try_for_each(|v| self.bind_index(v)),
            ExprKind::Let { local, .. } => self.bind_local(local),
            ExprKind::Unbox { boxes, indices, local, .. } => {
                indices.iter().try_for_each(|v| self.bind_index(v))?;
                self.bind_local(local)?;
                self.opened(&boxes.ty, indices, local)
            }
            ExprKind::Lift { indices, .. } => indices.iter().try_for_each(|v| self.bind_index(v)),
            ExprKind::Check { fact, .. } => self.assume(fact),
            ExprKind::Loop { locals, .. } => locals.iter().try_for_each(|(l, _)| self.bind_local(l)),
            _ => Ok(()),
        }
    }

    fn leave(&mut self, e: &'s Expr) -> Result<(), Broken> {
        match &*e.kind {
            ExprKind::Lam { params, .. } => self.unbind_locals(params.iter()),
            ExprKind::TLam { params, .. } => self.unbind_types(params),
            ExprKind::ILam { params, .. } => self.unbind_indices(params),
            ExprKind::Let { local, .. } => self.unbind_locals(std::iter::once(local)),
            ExprKind::Unbox { indices, local, .. } => {
                self.unbind_locals(std::iter::once(local));
                self.unbind_indices(indices);
            }
            ExprKind::Lift { indices, .. } => self.unbind_indices(indices),
            ExprKind::Check { body, .. } => {
                let same = self.same(Rule::Check, "the body", &body.ty, &e.ty);
                self.forget();
                same?;
            }
            ExprKind::Loop { locals, .. } => self.unbind_locals(locals.iter().map(|(l, _)| l)),
            _ => {}
        }
        Ok(())
    }

    /// Brings a variable into scope. (Rule `Binder`, and those of types.)
    pub fn bind_local(&mut self, l: &'s Local) -> Result<(), Broken> {
        self.normal(&l.ty)?;
        if !self.seen.vars.insert(l.var) {
            return Err(twice(&l.var));
        }
        self.scope.vars.insert(l.var, &l.ty);
        Ok(())
    }

    pub fn bind_type(&mut self, p: &'s TParam) -> Result<(), Broken> {
        if let Some(s) = &p.shape {
            self.bind_index(s)?;
        }
        self.fresh(p.var.id, &p.var)?;
        if !self.seen.types.insert(p.var.id) {
            return Err(twice(&p.var));
        }
        self.scope.types.insert(p.var.id, p.class);
        Ok(())
    }

    /// Assumes what a `check` says, until [`Verifier::forget`].
    pub fn assume(&mut self, fact: &Fact) -> Result<(), Broken> {
        let walk = Walk::new(&self.scope);
        match fact {
            Fact::NonNegative(p) => walk.dim(p).map(drop)?,
            Fact::Equal(p, q) => walk.dim(p).and(walk.dim(q)).map(drop)?,
        }
        self.marks.push(self.scope.facts.mark());
        self.scope.facts.assume(fact);
        Ok(())
    }

    /// Ends the scope of the fact that was assumed last.
    pub fn forget(&mut self) {
        if let Some(mark) = self.marks.pop() {
            self.scope.facts.reset(mark);
        }
    }

    pub fn bind_index(&mut self, v: &'s IVar) -> Result<(), Broken> {
        self.fresh(v.id, v)?;
        if !self.seen.indices.insert(v.id) {
            return Err(twice(v));
        }
        self.scope.indices.insert(v.id, v);
        Ok(())
    }

    fn fresh(&self, id: u32, v: &dyn fmt::Debug) -> Result<(), Broken> {
        match id < LEVELS {
            true => Ok(()),
            false => Err((Rule::Binder, format!("the id of {v:?} is not below {LEVELS}"))),
        }
    }

    pub fn unbind_types(&mut self, params: &[TParam]) {
        for p in params {
            self.scope.types.remove(&p.var.id);
            self.unbind_indices(p.shape.as_slice());
        }
    }

    pub fn unbind_locals(&mut self, locals: impl Iterator<Item = &'s Local>) {
        for l in locals {
            self.scope.vars.remove(&l.var);
        }
    }

    pub fn unbind_indices(&mut self, indices: &[IVar]) {
        for v in indices {
            self.scope.indices.remove(&v.id);
        }
    }

    /// The type that a variable in scope was bound with.
    pub fn declared(&self, v: VarId) -> Option<&'s ArrTy> {
        self.scope.vars.get(&v).copied()
    }

    /// The normal form of a shape in scope.
    pub fn shape(&self, s: &Shape) -> Result<Shape, Broken> {
        Walk::new(&self.scope).shape(s)
    }

    /// The normal form of a type in scope.
    pub fn normal(&self, t: &ArrTy) -> Result<ArrTy, Broken> {
        Walk::new(&self.scope).arr(t)
    }

    /// Checks that two types in scope are equal.
    pub fn same(&self, rule: Rule, what: &str, found: &ArrTy, wanted: &ArrTy) -> Result<(), Broken> {
        self.matches(rule, what, self.normal(found)?, wanted)
    }

    /// Checks that a normal form is that of a type in scope.
    pub fn matches(&self, rule: Rule, what: &str, found: ArrTy, wanted: &ArrTy) -> Result<(), Broken> {
        let wanted = self.normal(wanted)?;
        ensure(found == wanted, rule, || format!("{what} has type {found} where {wanted} is wanted"))
    }
}

fn twice(v: &dyn fmt::Debug) -> Broken {
    (Rule::Binder, format!("{v:?} is bound twice"))
}

fn ensure(holds: bool, rule: Rule, message: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err((rule, message())) }
}

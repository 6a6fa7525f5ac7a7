//! The verifier of Explicit: every node's type follows from its children's, and functions get cells.
//!
//! What types mean (their normal forms, scopes, the equations of the `check`s around) is Typed's, and so
//! are the rules of the forms that Explicit shares with it: [`remc_typed::verify::Verifier`]. The rules of
//! `call`, `map` and `replicate` are here, and the demand that `field`, `cast`, `unbox`, `t-app` and
//! `i-app` take one value, not an array. Nothing of the pass that wrote the program is believed: frames
//! and cells are compared as shapes, each node with its neighbours.
//!
//! The walk uses a worklist and no stack. Children come first: an error is reported at the innermost
//! node that is wrong.

use crate::ir::*;
use remc_base::*;
pub use remc_typed::verify::Globals;
use remc_typed::verify::{self as typed, Verifier};
use std::fmt;

/// Declares the rules, and their list.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The typing rules, and what must hold of a term at all.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            pub const ALL: &[Rule] = &[$(Rule::$name),*];
        }
    };
}

rules! {
    // One for each kind of expression.
    Var,
    Global,
    Lit,
    Frame,
    Lam,
    TLam,
    ILam,
    /// A scalar function is given exactly the cells of its parameters.
    Call,
    /// Each operand is the frame of its variable's type; so is the result of the body's.
    Map,
    /// New axes stand between a frame and its cells, for a `map` that has the frame from elsewhere.
    Replicate,
    /// As in Typed; one function.
    TApp,
    /// As in Typed; one function.
    IApp,
    Let,
    If,
    Box,
    /// As in Typed; one box.
    Unbox,
    Lift,
    Check,
    ReifyDim,
    ReifyShape,
    Tuple,
    /// As in Typed; one tuple.
    Field,
    /// As in Typed; one scalar.
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

impl From<typed::Rule> for Rule {
    fn from(rule: typed::Rule) -> Rule {
        macro_rules! same {
            ($($name:ident)*) => {
                match rule {
                    typed::Rule::App => Rule::Call,
                    $(typed::Rule::$name => Rule::$name,)*
                }
            };
        }
        same!(Var Global Lit Frame Lam TLam ILam TApp IApp Let If Box Unbox Lift Check ReifyDim ReifyShape
              Tuple Field Cast AsShape Loop Scope Binder Existential WellFormed Natural Class Definition Entry)
    }
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
    let mut walk = Walk { types: Verifier::new(globals) };
    walk.expression(&def.body)?;
    walk.definition(def).map_err(|b| b.at(&def.body))
}

/// A rule that is broken, and how.
struct Broken(Rule, String);

impl Broken {
    fn at(self, e: &Expr) -> VerifyError {
        VerifyError { rule: self.0, node: e.node, message: self.1 }
    }
}

impl From<typed::Broken> for Broken {
    fn from((rule, message): typed::Broken) -> Broken {
        Broken(rule.into(), message)
    }
}

fn ensure(holds: bool, rule: Rule, message: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(rule, message())) }
}

struct Walk<'s> {
    types: Verifier<'s>,
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

/// Where the scope of what the node binds begins among its children; it ends with the last.
fn scope(e: &Expr) -> Option<usize> {
    match &*e.kind {
        ExprKind::Lam { .. } | ExprKind::TLam { .. } | ExprKind::ILam { .. } | ExprKind::Check { .. } => {
            Some(0)
        }
        ExprKind::Let { .. } | ExprKind::Unbox { .. } | ExprKind::Lift { .. } => Some(1),
        ExprKind::Map { operands: locals, .. } | ExprKind::Loop { locals, .. } => Some(locals.len()),
        ExprKind::Var(_)
        | ExprKind::Global(_)
        | ExprKind::Lit(_)
        | ExprKind::Frame { .. }
        | ExprKind::Call { .. }
        | ExprKind::Replicate { .. }
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
    }
}

fn is_replicate(e: &Expr) -> bool {
    matches!(*e.kind, ExprKind::Replicate { .. })
}

impl<'s> Walk<'s> {
    fn expression(&mut self, root: &'s Expr) -> Result<(), VerifyError> {
        if is_replicate(root) {
            return Err(out_of_place().at(root));
        }
        let mut steps = vec![Step::Visit(root)];
        while let Some(step) = steps.pop() {
            let (e, done) = match step {
                Step::Visit(e) => {
                    let first = steps.len();
                    self.visit(e, &mut steps)?;
                    // Written in the order of evaluation, taken from the end.
                    steps[first..].reverse();
                    continue;
                }
                Step::Enter(e) => (e, self.enter(e)),
                Step::Leave(e) => (e, self.leave(e)),
                Step::Finish(e) => (e, self.finish(e)),
            };
            done.map_err(|b| b.at(e))?;
        }
        Ok(())
    }

    fn visit(&self, e: &'s Expr, steps: &mut Vec<Step<'s>>) -> Result<(), VerifyError> {
        let scope = scope(e);
        for (i, child) in e.children().into_iter().enumerate() {
            let operand = matches!(*e.kind, ExprKind::Map { .. }) && Some(i) < scope;
            if is_replicate(child) && !operand {
                return Err(out_of_place().at(child));
            }
            if scope == Some(i) {
                steps.push(Step::Enter(e));
            }
            steps.push(Step::Visit(child));
        }
        if scope.is_some() {
            steps.push(Step::Leave(e));
        }
        steps.push(Step::Finish(e));
        Ok(())
    }

    fn enter(&mut self, e: &'s Expr) -> Result<(), Broken> {
        let types = &mut self.types;
        match &*e.kind {
            ExprKind::TLam { params, .. } => params.iter().try_for_each(|p| types.bind_type(p))?,
            ExprKind::ILam { params: indices, .. }
            | ExprKind::Unbox { indices, .. }
            | ExprKind::Lift { indices, .. } => indices.iter().try_for_each(|v| types.bind_index(v))?,
            ExprKind::Check { fact, .. } => types.assume(fact)?,
            _ => {}
        }
        e.binders().into_iter().try_for_each(|l| types.bind_local(l))?;
        if let ExprKind::Unbox { boxed, indices, local, .. } = &*e.kind {
            types.opened(&boxed.ty, indices, local)?;
        }
        Ok(())
    }

    fn leave(&mut self, e: &'s Expr) -> Result<(), Broken> {
        let types = &mut self.types;
        types.unbind_locals(e.binders().into_iter());
        match &*e.kind {
            ExprKind::TLam { params, .. } => types.unbind_types(params),
            ExprKind::ILam { params: indices, .. }
            | ExprKind::Unbox { indices, .. }
            | ExprKind::Lift { indices, .. } => types.unbind_indices(indices),
            ExprKind::Check { body, .. } => {
                let same = types.same(typed::Rule::Check, "the body", &body.ty, &e.ty);
                types.forget();
                same?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&self, e: &Expr) -> Result<(), Broken> {
        let types = &self.types;
        types.normal(&e.ty)?;
        match &*e.kind {
            ExprKind::Var(v) => types.variable(*v, &e.ty)?,
            ExprKind::Global(g) => types.global(g, &e.ty)?,
            ExprKind::Lit(lit) => types.literal(*lit, &e.ty)?,
            ExprKind::Frame { dims, elems } => {
                let elems: Vec<_> = elems.iter().map(|e| &e.ty).collect();
                types.frame(dims, &elems, &e.ty)?;
            }
            ExprKind::Lam { params, body } => {
                let params = params.iter().map(|l| l.ty.clone()).collect();
                let found = ArrTy::scalar(AtomTy::func(params, body.ty.clone()));
                types.same(typed::Rule::Lam, "the λ", &found, &e.ty)?;
            }
            ExprKind::TLam { params, body } => {
                let q = ForallTy { params: params.clone(), body: body.ty.clone() };
                let found = ArrTy::scalar(AtomTy::Forall(q.into()));
                types.same(typed::Rule::TLam, "the Tλ", &found, &e.ty)?;
            }
            ExprKind::ILam { params, body } => {
                let q = PiTy { params: params.clone(), body: body.ty.clone() };
                let found = ArrTy::scalar(AtomTy::Pi(q.into()));
                types.same(typed::Rule::ILam, "the Iλ", &found, &e.ty)?;
            }
            ExprKind::Call { func, args } => self.call(func, args, &e.ty)?,
            ExprKind::Map { frame, operands, body } => self.map(frame, operands, body, &e.ty)?,
            ExprKind::Replicate { axes, at, arg } => self.replicate(axes, at, &arg.ty, &e.ty)?,
            ExprKind::TApp { func, args } => {
                one(Rule::TApp, func)?;
                types.type_application(&func.ty, args, &e.ty)?;
            }
            ExprKind::IApp { func, args } => {
                one(Rule::IApp, func)?;
                types.index_application(&func.ty, args, &e.ty)?;
            }
            ExprKind::Let { local, value, body } => {
                types.same(typed::Rule::Let, "the value", &value.ty, &local.ty)?;
                types.same(typed::Rule::Let, "the body", &body.ty, &e.ty)?;
            }
            ExprKind::If { cond, then, otherwise } => {
                types.same(typed::Rule::If, "the condition", &cond.ty, &ArrTy::base(BaseTy::Bool))?;
                types.same(typed::Rule::If, "the first branch", &then.ty, &e.ty)?;
                types.same(typed::Rule::If, "the second branch", &otherwise.ty, &e.ty)?;
            }
            ExprKind::Box { witnesses, value } => types.boxed(witnesses, &value.ty, &e.ty)?,
            ExprKind::Unbox { boxed, indices, body, .. } => {
                one(Rule::Unbox, boxed)?;
                types.mentions_none(typed::Rule::Unbox, indices, &body.ty)?;
                types.same(typed::Rule::Unbox, "the result", &body.ty, &e.ty)?;
            }
            ExprKind::Lift { kind, indices, value, body } => {
                types.lifted(*kind, indices, &value.ty)?;
                types.mentions_none(typed::Rule::Lift, indices, &body.ty)?;
                types.same(typed::Rule::Lift, "the body", &body.ty, &e.ty)?;
            }
            // Compared where the scope of the fact ends.
            ExprKind::Check { .. } => {}
            ExprKind::ReifyDim(d) => types.reified_dim(d, &e.ty)?,
            ExprKind::ReifyShape(s) => types.reified_shape(s, &e.ty)?,
            ExprKind::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|p| &p.ty).collect();
                types.tuple(&parts, &e.ty)?;
            }
            ExprKind::Field { tuple, position } => {
                one(Rule::Field, tuple)?;
                types.field(&tuple.ty, *position, &e.ty)?;
            }
            ExprKind::Cast(from) => {
                one(Rule::Cast, from)?;
                types.cast(&from.ty, &e.ty)?;
            }
            ExprKind::AsShape(from) => {
                let found = ArrTy::new(from.ty.atom.clone(), e.ty.shape.clone());
                types.same(typed::Rule::AsShape, "the result", &found, &e.ty)?;
            }
            ExprKind::Loop { locals, cond, body } => {
                let locals: Vec<_> = locals.iter().map(|(l, value)| (l, &value.ty)).collect();
                types.looped(&locals, &cond.ty, &body.ty, &e.ty)?;
            }
        }
        Ok(())
    }

    /// `f : (-> (τ …) ρ)` and `a : τ` for each give `ρ`.
    fn call(&self, func: &Expr, args: &[Expr], ty: &ArrTy) -> Result<(), Broken> {
        one(Rule::Call, func)?;
        let AtomTy::Fn(q) = &func.ty.atom else {
            return Err(Broken(Rule::Call, format!("{} is called, which is not a function", func.ty)));
        };
        ensure(args.len() == q.params.len(), Rule::Call, || {
            format!("{} arguments where {} are wanted", args.len(), q.params.len())
        })?;
        for (a, cell) in args.iter().zip(&q.params) {
            self.same(Rule::Call, "an argument", &a.ty, cell)?;
        }
        self.same(Rule::Call, "the result", &q.ret, ty)
    }

    /// `e : [τ φ …]` for each `x : τ`, and `body : ρ`, give `[ρ φ …]` for a frame `φ` that is not empty.
    fn map(&self, frame: &Shape, operands: &[(Local, Expr)], body: &Expr, ty: &ArrTy) -> Result<(), Broken> {
        self.types.shape(frame)?;
        ensure(!frame.is_scalar(), Rule::Map, || "a map over no frame".to_owned())?;
        ensure(operands.iter().any(|(_, e)| !is_replicate(e)), Rule::Map, || {
            format!("no operand has the frame {frame} from elsewhere")
        })?;
        for (l, e) in operands {
            self.same(Rule::Map, "an operand", &e.ty, &l.ty.lifted(frame))?;
        }
        self.same(Rule::Map, "the result", &body.ty.lifted(frame), ty)
    }

    /// `arg : [t α … κ …]` gives `[t α … φ … κ …]` for axes `φ` after the frame `α`.
    fn replicate(&self, axes: &Shape, at: &Shape, arg: &ArrTy, ty: &ArrTy) -> Result<(), Broken> {
        ensure(!axes.is_scalar(), Rule::Replicate, || "a replicate along no axes".to_owned())?;
        let (axes, at, arg) = (self.types.shape(axes)?, self.types.shape(at)?, self.types.normal(arg)?);
        let Some(cell) = arg.shape.strip_prefix(&at) else {
            return Err(Broken(Rule::Replicate, format!("{at} is no frame of {arg}")));
        };
        let found = ArrTy::new(arg.atom, at.concat(&axes).concat(&cell));
        let wanted = self.types.normal(ty)?;
        ensure(found == wanted, Rule::Replicate, || {
            format!("the result has type {found} where {wanted} is wanted")
        })
    }

    fn same(&self, rule: Rule, what: &str, found: &ArrTy, wanted: &ArrTy) -> Result<(), Broken> {
        let (found, wanted) = (self.types.normal(found)?, self.types.normal(wanted)?);
        ensure(found == wanted, rule, || format!("{what} has type {found} where {wanted} is wanted"))
    }

    fn definition(&self, def: &Definition) -> Result<(), Broken> {
        let (under, bare) = match &*def.body.kind {
            ExprKind::ILam { body, .. } => (&*body.kind, false),
            other => (other, true),
        };
        let function = matches!(under, ExprKind::Lam { .. }).then_some(bare);
        Ok(self.types.definition_types(&def.ty, &def.body.ty, def.entry.as_ref(), function)?)
    }
}

fn out_of_place() -> Broken {
    Broken(Rule::Replicate, "a replicate that is no operand of a map".to_owned())
}

fn one(rule: Rule, e: &Expr) -> Result<(), Broken> {
    ensure(e.ty.shape.is_scalar(), rule, || format!("{} where one value is wanted", e.ty))
}

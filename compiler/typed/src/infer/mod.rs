//! The bidirectional inference engine: Ast → Typed.
//!
//! `book/src/inference.md` in one page. [`Checker::infer`] gives an expression's elaborated term
//! and, where the checker knows it, its value as a dim or shape. Existentials and their equations are
//! the [`solver`]'s. [`apply`] is the heart: an application instantiates its operator, splits each
//! argument's shape into frame and cell, and joins the frames. [`open`] lets scalar boxes and run-time
//! integers open by themselves, at the binding they belong to. [`decide`] has the rules for shapes that no
//! equation decides; [`generalise`] turns what a function leaves open into ∀ and Π; [`finish`] replaces every existential in the term and puts a `check` where
//! a dim is not provably natural. [`item`] drives one definition through all of it.
//!
//! A failure is reported once, where it is found; [`Reported`] is the proof of that which the caller
//! gets instead of a term.

mod apply;
mod axes;
mod boxes;
mod cells;
mod consumed;
mod decide;
mod depth;
mod errors;
mod expr;
mod finish;
mod functions;
mod generalise;
mod instance;
mod item;
mod let_values;
mod lints;
mod metas;
mod open;
mod parts;
mod polymorphic;
mod remedy;
pub mod solver;
mod twice;
mod types;
mod unbox;
mod undecided;
mod uses;
mod values;
mod zonk;

use crate::ir::{self, Expr};
use crate::scheme::{Environment, Part};
use remc_base::*;
use rustc_hash::{FxHashMap, FxHashSet};
use solver::Solver;

pub use errors::{elsewhere, near};
pub use item::check_item;

/// Proof that an error was reported.
#[derive(Clone, Copy, Debug)]
pub struct Reported;

pub type Check<T> = Result<T, Reported>;

/// The result of checking an expression. `known` is its value as an index, where the checker knows it:
/// a second result, never part of the type.
#[derive(Clone, Debug)]
pub struct Typed {
    pub expr: Expr,
    pub known: Option<Index>,
    /// What a generalised function takes first: see [`parts`].
    parts: Vec<Part>,
}

impl Typed {
    fn new(expr: Expr) -> Typed {
        Typed { expr, known: None, parts: Vec::new() }
    }

    fn known_dim(&self) -> Option<&Dim> {
        match &self.known {
            Some(Index::Dim(d)) => Some(d),
            _ => None,
        }
    }
}

/// A value variable in scope.
#[derive(Clone, Debug)]
struct LocalVar {
    local: ir::Local,
    /// The value as an index, for a name bound to one.
    known: Option<Index>,
    /// Whether uses of the known number take the type their context wants.
    adapts: bool,
    /// The depth of the scope of the variable.
    depth: u32,
    /// The contents, once the scalar box has been opened: the witnesses and the variable.
    opened: Option<(Vec<IVar>, VarId)>,
    /// The index that stands for the run-time integer, once one was needed.
    lifted: Option<IVar>,
    /// Where its value is written, for messages.
    bound: Option<Loc>,
    /// What its value takes first, as a generalised function.
    parts: Vec<Part>,
    /// Whether it is a parameter whose rank is neither written nor known where its function stands.
    unranked: bool,
    /// The parameters whose frames its value has: of a parameter, itself.
    lifts: consumed::Lifts,
}

#[derive(Clone, Debug)]
enum Binding {
    Local(VarId),
    /// Its definition was wrong and is reported.
    Failed,
    Index(Index),
    Type(TypeBinding),
}

/// What a name can stand for at the same time, each in its own place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Space {
    Values,
    Indices,
    Types,
}

impl Binding {
    fn space(&self) -> Space {
        match self {
            Binding::Local(_) | Binding::Failed => Space::Values,
            Binding::Index(_) => Space::Indices,
            Binding::Type(_) => Space::Types,
        }
    }
}

#[derive(Clone, Debug)]
enum TypeBinding {
    Atom(AtomTy),
    Array(ArrTy),
}

/// Where top-level boxes and integers that are used inside are opened: a λ, a branch, a whole
/// definition.
#[derive(Clone, Default)]
struct Barrier {
    globals: Vec<(GlobalId, VarId, Expr)>,
}

/// What is opened at an application and wraps it.
#[derive(Clone)]
enum Opening {
    Unbox { boxes: Expr, indices: Vec<IVar>, local: VarId },
    Lift { kind: ir::LiftKind, indices: Vec<IVar>, value: Expr },
}

/// How a free name in a written type is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Implicit {
    /// As an existential, to be generalised.
    Flexible,
    /// As a run-time size of an entry.
    Entry,
    /// Not at all: the definition writes its own binders.
    No,
}

#[derive(Clone)]
pub struct Checker<'e> {
    env: &'e dyn Environment,
    pub s: Solver,
    pub diagnostics: Vec<Diagnostic<Loc>>,
    scope: Scope<(Space, Name), Binding>,
    locals: Vec<LocalVar>,
    barriers: Vec<Barrier>,
    /// The depth of each barrier's body.
    barrier_depth: Vec<u32>,
    openings: Vec<Vec<Opening>>,
    /// Whether integer variables are opened as indices where they are used.
    demand: bool,
    implicit: Implicit,
    /// How free names in the types of parameters are bound.
    param_implicit: Implicit,
    entry_indices: Vec<IVar>,
    /// What the sizes are that the types of parameters name.
    size_role: solver::Role,
    /// Whether the next λ is a definition's, which is polymorphic in the sizes that its parameters name.
    defining: bool,
    /// Where index variables come from, by id, for messages.
    origins: FxHashMap<u32, errors::Origin>,
    /// The sizes that the types of parameters name, for messages.
    named_sizes: errors::NamedSizes,
    /// The parts of types that are open, or were: see [`parts`].
    rows: Vec<parts::Row>,
    /// Names by id that a message shows in place of a variable's own, which another one has.
    shown_as: FxHashMap<u32, Name>,
    /// The hidden indices, by id, of boxes that no program wrote: results that were boxed again.
    reboxed: FxHashSet<u32>,
    /// The index variables, by id, that sizes and shapes of the program name: in types and explicit applications.
    written: FxHashSet<u32>,
    /// The positions of errors about applications whose parts are right ([`remedy`]).
    blamed: Vec<usize>,
    /// Which parameters' frames the applications have, by node: see [`consumed`].
    lifts: FxHashMap<NodeId, consumed::Lifts>,
    /// What functions of arrays take in which several parameters meet.
    consumed: Vec<consumed::Consumed>,
    /// Definitions that call themselves, and are checked as loops.
    looped: Vec<crate::recursion::Looped>,
    /// The arrays `[]` of which nothing told the type where they were met.
    empties: FxHashSet<NodeId>,
    /// Whether boxes of which nothing says what they hide hide the length alone, and whether that makes a difference.
    hides_length: bool,
    hides_more: bool,
    /// Whether a candidate is being tried, on a copy.
    trying: bool,
    /// How many candidates may still be tried.
    tries: u32,
    /// How many numbers may still be copied to where vectors of them are used, each at a type of its own.
    copies: usize,
}

/// At the start: more than any shape has, each of many times.
const COPIES: usize = 1 << 18;

impl<'e> Checker<'e> {
    pub fn new(env: &'e dyn Environment) -> Checker<'e> {
        Checker {
            env,
            s: Solver::default(),
            diagnostics: Vec::new(),
            scope: Scope::default(),
            locals: Vec::new(),
            barriers: vec![Barrier::default()],
            barrier_depth: vec![0],
            openings: vec![Vec::new()],
            demand: false,
            implicit: Implicit::No,
            param_implicit: Implicit::Flexible,
            entry_indices: Vec::new(),
            size_role: solver::Role::Parameter,
            defining: false,
            origins: FxHashMap::default(),
            named_sizes: errors::NamedSizes::default(),
            rows: Vec::new(),
            shown_as: FxHashMap::default(),
            reboxed: FxHashSet::default(),
            written: FxHashSet::default(),
            blamed: Vec::new(),
            lifts: FxHashMap::default(),
            consumed: Vec::new(),
            hides_length: false,
            hides_more: false,
            trying: false,
            looped: Vec::new(),
            empties: FxHashSet::default(),
            tries: remedy::TRIES,
            copies: COPIES,
        }
    }

    fn new_local(&mut self, name: &Name, ty: ArrTy, known: Option<Index>) -> VarId {
        let var = self.s.fresh_var();
        debug_assert_eq!(var.0 as usize, self.locals.len());
        // A quotient type may turn out to be the type that it is of.
        let atom = match self.s.zonk_atom(&ty.atom) {
            AtomTy::Quot(q) => (*q).clone(),
            atom => atom,
        };
        if let AtomTy::Meta(m) = atom {
            self.s.meta_mut(m).of_variable = true;
        }
        let local = ir::Local { var, name: name.clone(), ty };
        self.locals.push(LocalVar {
            local,
            known,
            adapts: false,
            depth: self.s.depth,
            opened: None,
            lifted: None,
            bound: None,
            parts: Vec::new(),
            unranked: false,
            lifts: Vec::new(),
        });
        var
    }

    fn local(&self, v: VarId) -> &LocalVar {
        &self.locals[v.0 as usize]
    }

    fn bind_local(&mut self, name: &Name, var: VarId) {
        self.bind(name, Binding::Local(var));
    }

    /// Brings a name into scope.
    fn bind(&mut self, name: &Name, binding: Binding) {
        self.scope.push((binding.space(), name.clone()), binding);
    }

    /// The innermost value binding of the name.
    fn find_value(&self, name: &Name) -> Option<&Binding> {
        self.scope.get(&(Space::Values, name.clone()))
    }

    fn find_index(&self, name: &Name) -> Option<Index> {
        match self.scope.get(&(Space::Indices, name.clone()))? {
            Binding::Index(i) => Some(i.clone()),
            _ => None,
        }
    }

    fn find_type(&self, name: &Name) -> Option<TypeBinding> {
        match self.scope.get(&(Space::Types, name.clone()))? {
            Binding::Type(t) => Some(t.clone()),
            _ => None,
        }
    }

    /// Runs `f` one level deeper, with names bound inside forgotten after.
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let names = self.scope.len();
        self.s.depth += 1;
        let result = f(self);
        self.s.depth -= 1;
        self.scope.truncate(names);
        result
    }

    /// Runs `f` in a scope of its own for top-level openings, and closes them around its result.
    fn behind_barrier(&mut self, f: impl FnOnce(&mut Self) -> Check<Expr>) -> Check<Expr> {
        self.barriers.push(Barrier::default());
        self.barrier_depth.push(self.s.depth);
        let result = f(self);
        let barrier = self.barriers.pop().unwrap_or_default();
        self.barrier_depth.pop();
        self.close_barrier(barrier, result?)
    }

    /// A type of a parameter or result, whose free names may bind variables.
    fn param_array_type(&mut self, t: &remc_syntax::ast::TypeExpr) -> Check<ArrTy> {
        let saved = std::mem::replace(&mut self.implicit, self.param_implicit);
        let result = self.array_type(t);
        self.implicit = saved;
        result
    }

    /// Runs `f` with the given demand for indices.
    fn demanding<T>(&mut self, demand: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let saved = std::mem::replace(&mut self.demand, demand);
        let result = f(self);
        self.demand = saved;
        result
    }
}

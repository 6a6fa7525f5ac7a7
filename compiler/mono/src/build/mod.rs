//! Explicit → Mono: one entry is inlined and made monomorphic, by evaluating it symbolically.
//!
//! ```text
//! (define (double x) (* 2 x))
//! (entry (main [v [int n]]) (double (+ v 1)))
//!   ⟶ params %n %v                                                    v : [int n]
//!     (let (%a) (map ((%i %n)) (let (%x) (index %v %i)) (let (%y) (op + %x 1)) (give %y)))
//!     (let (%b) (map ((%j %n)) (let (%z) (index %a %j)) (let (%w) (op * 2 %z)) (give %w)))
//!     (give %b)
//! ```
//!
//! This is normalisation by evaluation. An expression evaluates to a value ([`val::Val`]): atoms of Mono,
//! tuples and boxes of them, functions as closures; the statements that compute the atoms are emitted on
//! the way. To apply a closure is to evaluate its body in place, so everything is inlined; arguments are
//! values already, so no work is repeated. Recursion does not exist, so this ends. A `map` evaluates its
//! body once, with index variables. Where two values meet (branches, rounds of a loop) they are taken
//! apart into atoms and put together again ([`join`]).
//!
//! | file | holds |
//! | --- | --- |
//! | [`val`], [`env`] | values, and what variables stand for |
//! | [`emit`] | statements, folding, sizes, checks |
//! | [`join`] | values through maps, branches and loops |
//! | [`opaque`] | shapes whose number of axes is known only when the program runs |
//! | [`ragged`] | arrays of boxes: the elements of all of them, and where those of each begin |
//! | [`array`] | cells, arrangements and collections of values |
//! | [`expr`] | the expressions |
//! | [`constant`] | definitions of which it can be tried whether they stop the program |
//! | [`apply`] | functions and scalar operators |
//! | [`function`] | functions that are data |
//! | [`prim`], [`prims`] | the table of the array primitives, and they |
//! | [`entry`] | parameters and results of the program |
//!
//! Every statement has the place it comes from, with the calls that were inlined as its callers: a stop
//! has the trace that the interpreter gives.

mod apply;
mod array;
mod constant;
mod emit;
mod entry;
mod env;
mod expr;
mod function;
mod join;
mod opaque;
mod prim;
mod prims;
mod ragged;
mod val;

use crate::ir::Atom;
use crate::ir::*;
use crate::limits::{BuildError, Construct, Limitation, TooLarge};
use emit::Scope;
use remc_base::pass::PassInfo;
use remc_base::*;
use remc_explicit::ir::{Definition, ExprKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;

pub use prim::Prim;

/// What the pipeline list knows of this pass.
pub const PASS: PassInfo = PassInfo {
    name: "build",
    from: "explicit",
    to: "mono",
    summary: "inlines and monomorphises one entry into a first-order program over arrays",
};

pub(crate) type R<T> = Result<T, Box<BuildError>>;

/// How many parts a program may have; see [`TooLarge`].
pub const MOST_PARTS: usize = 1 << 22;

/// The program of an entry, or of a definition without parameters.
///
/// `defs` gives the definitions; what it does not know is a primitive. An entry's shape variables have
/// the given `ranks`, in their order.
///
/// # Errors
/// What is not compiled, see [`Construct`]; more than [`MOST_PARTS`].
pub fn build(
    defs: &dyn Fn(&GlobalId) -> Option<Arc<Definition>>,
    entry: &GlobalId,
    ranks: &[usize],
) -> Result<Program, BuildError> {
    build_within(defs, entry, ranks, MOST_PARTS)
}

/// The same, of at most so many parts.
///
/// # Errors
/// As those of [`build`].
pub fn build_within(
    defs: &dyn Fn(&GlobalId) -> Option<Arc<Definition>>,
    entry: &GlobalId,
    ranks: &[usize],
    most: usize,
) -> Result<Program, BuildError> {
    build_given(defs, entry, ranks, most, &[])
}

/// The same of a definition without parameters, where the values of some others are known already: they are inputs. Their
/// types are closed.
///
/// # Errors
/// As those of [`build`].
pub fn build_given(
    defs: &dyn Fn(&GlobalId) -> Option<Arc<Definition>>,
    entry: &GlobalId,
    ranks: &[usize],
    most: usize,
    given: &[GlobalId],
) -> Result<Program, BuildError> {
    let all = reachable(defs, std::iter::once(entry).chain(given));
    let mut b = Build {
        defs: &all,
        program: Program {
            name: entry.name.clone(),
            provs: Provenance::new(),
            vars: IdVec::new(),
            params: Vec::new(),
            inputs: Vec::new(),
            channels: Vec::new(),
            body: Body::default(),
            output: Output::Array(0),
        },
        scopes: vec![Scope::default()],
        literals: FxHashMap::default(),
        polys: FxHashMap::default(),
        natural: FxHashSet::default(),
        chosen: FxHashSet::default(),
        vast: FxHashSet::default(),
        opaque: FxHashMap::default(),
        stopping: FxHashSet::default(),
        mentioned: FxHashMap::default(),
        loops: 0,
        next_type: 1 << 29,
        parts: 0,
        most,
        at: Prov(0),
    };
    b.entry(entry, ranks, given).map_err(|e| *e)?;
    let mut program = b.program;
    let old = std::mem::take(&mut program.provs);
    keep_places(&mut program.body, &old, &mut program.provs);
    // A program without statements is at one place all the same: its result may have to be copied.
    if program.provs.is_empty()
        && let Some((_, place)) = old.iter().next()
    {
        program.provs.add(place.def.clone(), place.node, None);
    }
    Ok(program)
}

/// Only the places of statements, and where those were called, are kept.
fn keep_places(body: &mut Body, old: &Provenance, new: &mut Provenance) {
    fn keep(p: Prov, old: &Provenance, new: &mut Provenance) -> Prov {
        let Place { def, node, caller } = old.get(p).clone();
        let caller = caller.map(|c| keep(c, old, new));
        new.add(def, node, caller)
    }
    for s in &mut body.stmts {
        s.prov = keep(s.prov, old, new);
        for b in s.exp.bodies_mut() {
            keep_places(b, old, new);
        }
    }
}

/// The definitions that some need, and these.
fn reachable<'g>(
    defs: &dyn Fn(&GlobalId) -> Option<Arc<Definition>>,
    from: impl Iterator<Item = &'g GlobalId>,
) -> FxHashMap<GlobalId, Arc<Definition>> {
    let mut all = FxHashMap::default();
    let mut todo: Vec<GlobalId> = from.cloned().collect();
    while let Some(g) = todo.pop() {
        if all.contains_key(&g) {
            continue;
        }
        let Some(d) = defs(&g) else { continue };
        let mut exprs = vec![&d.body];
        while let Some(e) = exprs.pop() {
            if let ExprKind::Global(g) = &*e.kind {
                todo.push(g.clone());
            }
            exprs.extend(e.children());
        }
        all.insert(g, d);
    }
    all
}

pub(crate) struct Build<'a> {
    defs: &'a FxHashMap<GlobalId, Arc<Definition>>,
    program: Program,
    scopes: Vec<Scope<'a>>,
    /// The elements of variables that are literals.
    literals: FxHashMap<Var, Rc<[Atom]>>,
    /// Sizes that are computed from others.
    polys: FxHashMap<Var, Dim>,
    /// Ints that are never negative.
    natural: FxHashSet<Var>,
    /// Ints that are no size of any array, which the program chose to be sizes: they may be huge.
    chosen: FxHashSet<Var>,
    /// Sizes of inputs that may be as huge: where another axis has no places, an axis may have any number of them.
    vast: FxHashSet<Var>,
    /// The sizes of opaque shapes, by the vectors of their dims.
    opaque: opaque::Sizes,
    /// Definitions whose value may stop the program: it is computed where it is used.
    stopping: FxHashSet<GlobalId>,
    /// What each λ mentions that was asked for.
    mentioned: function::leaves::MentionedBy,
    /// How many loops are being built, one in the other.
    loops: usize,
    /// The next number for a binder of a closed type.
    next_type: u32,
    /// How many parts the program has so far, and may have.
    parts: usize,
    most: usize,
    /// Where the next statement comes from.
    at: Prov,
}

/// The definition that is evaluated, and where it is inlined.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    def: &'a GlobalId,
    caller: Option<Prov>,
}

impl Build<'_> {
    /// Counts parts of the program.
    fn grow(&mut self, by: usize) -> R<()> {
        self.parts = self.parts.saturating_add(by);
        if self.parts <= self.most {
            return Ok(());
        }
        Err(Box::new(BuildError::TooLarge(TooLarge { pass: None, most: self.most, at: self.here() })))
    }

    /// The places from the innermost out.
    fn here(&self) -> Vec<(GlobalId, NodeId)> {
        if self.program.provs.contains(self.at) { self.program.provs.trace(self.at) } else { Vec::new() }
    }

    /// The types of one definition may not share binders with those of another that they get into.
    fn freshen(&mut self, t: &AtomTy) -> AtomTy {
        let next = &mut self.next_type;
        remc_base::subst::freshen(&ArrTy::scalar(t.clone()), &mut || {
            *next += 1;
            *next
        })
        .atom
    }

    /// The type of boxes that hide one dim.
    fn sigma(&mut self, name: &str, body: impl FnOnce(Dim) -> ArrTy) -> AtomTy {
        self.next_type += 1;
        let v = IVar::dim(self.next_type, name);
        let body = body(Dim::rigid(v.clone()));
        AtomTy::sigma(vec![v], body)
    }
}

fn bug<T>(message: impl Into<String>) -> R<T> {
    Err(Box::new(BuildError::Bug(message.into())))
}

fn limit<T>(b: &Build, construct: Construct, message: impl Into<String>) -> R<T> {
    let at = b.here();
    Err(Box::new(BuildError::Limitation(Limitation { construct, at, message: message.into() })))
}

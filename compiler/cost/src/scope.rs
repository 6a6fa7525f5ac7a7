//! What the loops around a statement tell of it: the values of integers as formulas of index variables and
//! sizes, what depends on which loop, and how often the loops run.
//!
//! ```text
//! for i < n                    runs n times
//!   len = lengths[i]           depends on i
//!   for j < len                runs Σlen times in all, not n·len: each row has a size of its own
//!     at = starts[i] + j       depends on i and j
//! ```

use crate::formula::{Formula, Symbol};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_flat::ir::{Atom, Axis, Program, Var};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Loops, by their index variables.
pub type Loops = BTreeSet<Var>;

/// Integers of more terms are only known by their own name.
const MOST_TERMS: usize = 32;

/// A loop that is open: its size, and whether all that is around it runs it equally often.
#[derive(Clone)]
struct Open {
    var: Var,
    /// `None` for the rounds of a `while`.
    size: Option<Formula>,
}

/// How often what stands at some place runs, and in which loops.
#[derive(Clone)]
pub struct Count {
    pub runs: Formula,
    loops: Vec<Open>,
    /// Some way there depends on a condition.
    pub conditional: bool,
}

impl Count {
    /// Outside of all loops.
    pub fn once() -> Count {
        Count { runs: Formula::one(), loops: Vec::new(), conditional: false }
    }

    pub fn if_taken(&self) -> Count {
        Count { conditional: true, ..self.clone() }
    }

    pub fn is_in(&self, v: Var) -> bool {
        self.loops.iter().any(|l| l.var == v)
    }

    /// Whether a variable counts along the axis of a loop around; what a `while` carries may be anything.
    pub fn is_index(&self, v: Var) -> bool {
        self.loops.iter().any(|l| l.var == v && l.size.is_some())
    }

    pub fn all(&self) -> Loops {
        self.loops.iter().map(|l| l.var).collect()
    }
}

/// Facts of the variables of a program, gathered in the order in which they are bound.
pub struct Scope<'p> {
    pub p: &'p Program,
    values: FxHashMap<Var, Formula>,
    deps: FxHashMap<Var, Loops>,
    /// By what a [`Symbol::Sum`] has to be multiplied to be the number of times that its loop runs.
    pub shares: FxHashMap<Var, Formula>,
    /// The size of each row of such a loop.
    pub rows: FxHashMap<Var, Formula>,
}

impl<'p> Scope<'p> {
    pub fn new(p: &'p Program) -> Scope<'p> {
        Scope {
            p,
            values: FxHashMap::default(),
            deps: FxHashMap::default(),
            shares: FxHashMap::default(),
            rows: FxHashMap::default(),
        }
    }

    /// The value of an integer; of any other variable its symbol.
    pub fn int(&self, a: Atom) -> Formula {
        match a {
            Atom::Const(Scalar::I64(n)) => Formula::from(n as i128),
            Atom::Const(_) => Formula::zero(),
            Atom::Var(v) => self.values.get(&v).cloned().unwrap_or_else(|| Formula::symbol(Symbol::Value(v))),
        }
    }

    pub fn ints(&self, atoms: &[Atom]) -> Vec<Formula> {
        atoms.iter().map(|a| self.int(*a)).collect()
    }

    /// The number of elements of an array of these dims.
    pub fn product(&self, dims: &[Atom]) -> Formula {
        dims.iter().fold(Formula::one(), |f, d| &f * &self.int(*d))
    }

    pub fn deps_of(&self, v: Var) -> Loops {
        self.deps.get(&v).cloned().unwrap_or_default()
    }

    pub fn deps(&self, atoms: impl IntoIterator<Item = Atom>) -> Loops {
        atoms.into_iter().filter_map(Atom::as_var).flat_map(|v| self.deps_of(v)).collect()
    }

    /// The loops that a formula mentions, or that its symbols depend on.
    pub fn deps_of_formula(&self, f: &Formula) -> Loops {
        f.symbols()
            .flat_map(|s| match s {
                Symbol::Value(v) => self.deps_of(v),
                Symbol::Sum(_) | Symbol::Rounds(_) => Loops::new(),
            })
            .collect()
    }

    /// A variable whose value only the program knows.
    pub fn bind(&mut self, v: Var, deps: Loops) {
        if !deps.is_empty() {
            self.deps.insert(v, deps);
        }
    }

    /// A scalar that an expression without a body makes.
    pub fn bind_scalar(&mut self, v: Var, e: &mono::Exp) {
        let mut atoms = Vec::new();
        e.for_each_operand(&mut |a| atoms.push(a));
        self.bind(v, self.deps(atoms));
        let is_int = |a: &Atom| base_of(self.p, *a) == BaseTy::I64;
        let value = match e {
            mono::Exp::Op(op, args) if self.p.vars[v].ty.base == BaseTy::I64 && args.iter().all(is_int) => {
                match (op, args.as_slice()) {
                    (ScalarOp::Add, [a, b]) => Some(&self.int(*a) + &self.int(*b)),
                    (ScalarOp::Sub, [a, b]) => Some(&self.int(*a) - &self.int(*b)),
                    (ScalarOp::Mul, [a, b]) => Some(&self.int(*a) * &self.int(*b)),
                    (ScalarOp::Negate, [a]) => Some(&Formula::zero() - &self.int(*a)),
                    _ => None,
                }
            }
            mono::Exp::Cast(BaseTy::I64, a) | mono::Exp::Atom(a) if is_int(a) => Some(self.int(*a)),
            _ => None,
        };
        if let Some(value) = value.filter(|f| f.len() <= MOST_TERMS) {
            self.values.insert(v, value);
        }
    }

    /// What may be said of a value made in loops that are now closed.
    pub fn bind_result(&mut self, v: Var, deps: Loops, closed: &[Var]) {
        self.bind(v, deps.into_iter().filter(|l| !closed.contains(l)).collect());
    }

    // ---- loops ----

    /// Inside a loop along an axis.
    pub fn enter(&mut self, at: &Count, axis: &Axis) -> Count {
        let size = self.int(axis.size);
        self.bind(axis.var, Loops::from([axis.var]));
        let open = Open { var: axis.var, size: Some(size) };
        let runs = self.runs(at, &open);
        self.opened(at, open, runs)
    }

    pub fn enter_all(&mut self, at: &Count, axes: &[Axis]) -> Count {
        axes.iter().fold(at.clone(), |at, axis| self.enter(&at, axis))
    }

    /// Inside a `while`, of which nobody knows how often it runs.
    pub fn enter_while(&mut self, at: &Count, state: Var) -> Count {
        let runs = Formula::symbol(Symbol::Rounds(state));
        self.opened(at, Open { var: state, size: None }, runs)
    }

    fn opened(&self, at: &Count, open: Open, runs: Formula) -> Count {
        let mut loops = at.loops.clone();
        loops.push(open);
        Count { runs, loops, conditional: at.conditional }
    }

    /// The loops that these depend on, and those that the sizes of these depend on, and so on.
    fn closure(&self, loops: &[Open], mut of: Loops) -> Loops {
        for l in loops.iter().rev() {
            if of.contains(&l.var) {
                match &l.size {
                    Some(size) => of.extend(self.deps_of_formula(size)),
                    None => of.extend(loops.iter().map(|l| l.var)),
                }
            }
        }
        of.retain(|v| loops.iter().any(|l| l.var == *v));
        of
    }

    fn runs(&mut self, at: &Count, open: &Open) -> Formula {
        let size = open.size.clone().unwrap_or_default();
        let needed = self.closure(&at.loops, self.deps_of_formula(&size));
        if needed.is_empty() {
            return &at.runs * &size;
        }
        // The others run it equally often each, if they are regular.
        let mut share = Some(Formula::one());
        for l in at.loops.iter().filter(|l| !needed.contains(&l.var)) {
            let regular = l.size.as_ref().filter(|s| self.deps_of_formula(s).is_empty());
            share = share.zip(regular).map(|(f, s)| &f * s);
        }
        let share = share.unwrap_or_else(Formula::one);
        let runs = &share * &Formula::symbol(Symbol::Sum(open.var));
        self.shares.insert(open.var, share);
        self.rows.insert(open.var, size);
        runs
    }

    /// In how many ways the loops at a place reach it, of those loops alone that `of` depends on; and whether they
    /// are just those.
    pub fn ways(&self, at: &Count, of: &Loops) -> (Formula, bool) {
        let needed = self.closure(&at.loops, of.clone());
        let exact = needed.len() == of.iter().filter(|v| at.is_in(**v)).count();
        let all = at.loops.iter().all(|l| needed.contains(&l.var));
        if all {
            return (at.runs.clone(), exact);
        }
        let mut runs = Formula::one();
        for l in at.loops.iter().filter(|l| needed.contains(&l.var)) {
            match &l.size {
                Some(size) if self.deps_of_formula(size).is_empty() => runs = &runs * size,
                // Its own sum counts all rows that it depends on.
                Some(_) => {
                    let inner = self.closure(&at.loops, Loops::from([l.var]));
                    if inner != needed {
                        return (at.runs.clone(), false);
                    }
                    runs = Formula::symbol(Symbol::Sum(l.var));
                }
                None => return (at.runs.clone(), false),
            }
        }
        (runs, exact)
    }

    /// The size of an open loop, if it is the same wherever the loop runs.
    pub fn regular_size(&self, at: &Count, v: Var) -> Option<Formula> {
        let l = at.loops.iter().find(|l| l.var == v)?;
        l.size.clone().filter(|s| self.deps_of_formula(s).is_empty())
    }
}

/// The base type of an atom.
pub fn base_of(p: &Program, a: Atom) -> BaseTy {
    match a {
        Atom::Var(v) => p.vars[v].ty.base,
        Atom::Const(c) => c.ty(),
    }
}

//! Common subexpressions: what has been computed is not computed again.
//!
//! ```text
//! (let (%a) (op * %n %m))                        (let (%a) (op * %n %m))
//! (check (index 1 1) %c %i %n)                   (check (index 1 1) %c %i %n)
//! (let (%x) (map ((%i %n)) …))                   (let (%x) (map ((%i %n)) …))
//! (let (%b) (op * %m %n))
//! (check (index 1 1) %c %i %n)
//! (let (%y) (map ((%j %n)) …))                   %b is %a, %y is %x
//! ```
//!
//! Value numbering over the tree of scopes: what is in a table was computed before, in this body or in one
//! around it. Expressions with bodies are equal up to the names of what they bind; of those only small
//! ones are looked up. A check that has been passed need not be made again; what moves items of a stream is done each time.
//!
//! A map (or an `if`) that gives the same atom twice gives one array for both.

use super::key::{self, Key};
use crate::ir::*;
use remc_base::pass::PassInfo;
use rustc_hash::FxHashMap;

pub const PASS: PassInfo = PassInfo {
    name: "cse",
    from: "mono",
    to: "mono",
    summary: "computes equal expressions once, drops checks already made",
};

/// Statements in an expression that is compared with others.
const MOST_COMPARED: usize = 64;
/// Elements of a literal that is compared with others.
const MOST_ELEMENTS: usize = 1024;

pub fn cse(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    Cse { p, known: FxHashMap::default(), replaced: FxHashMap::default() }.body(&mut body);
    p.body = body;
}

struct Cse<'p> {
    p: &'p mut Program,
    known: FxHashMap<Key, Vec<Var>>,
    replaced: FxHashMap<Var, Atom>,
}

impl Cse<'_> {
    fn body(&mut self, body: &mut Body) {
        // What was entered in this scope.
        let mut entered: Vec<Key> = Vec::new();
        let mut out = Vec::with_capacity(body.stmts.len());
        for mut s in std::mem::take(&mut body.stmts) {
            s.exp.for_each_operand_mut(&mut |a| *a = resolve(&self.replaced, *a));
            for v in s.exp.inner_binders().into_iter().chain(s.pat.iter().copied()) {
                for d in &mut self.p.vars[v].ty.dims {
                    *d = resolve(&self.replaced, *d);
                }
            }
            s.exp.bodies_mut().into_iter().for_each(|b| self.body(b));
            self.merge_results(&s);
            if !is_compared(&s.exp) {
                out.push(s);
                continue;
            }
            let key = key::of(self.p, &s);
            match self.known.get(&key) {
                Some(vars) => {
                    for (v, w) in s.pat.iter().zip(vars) {
                        self.replaced.insert(*v, Atom::Var(*w));
                    }
                }
                None => {
                    self.known.insert(key.clone(), s.pat.clone());
                    entered.push(key);
                    out.push(s);
                }
            }
        }
        for key in entered {
            self.known.remove(&key);
        }
        body.stmts = out;
        for a in &mut body.results {
            *a = resolve(&self.replaced, *a);
        }
    }

    /// Of results that are the same atom, all but the first are that one.
    fn merge_results(&mut self, s: &Stmt) {
        let mut first: FxHashMap<Vec<[u64; 2]>, Var> = FxHashMap::default();
        let branches: Vec<&Body> = match &s.exp {
            Exp::Map { body, .. } => vec![body],
            Exp::If { then, otherwise, .. } => vec![then, otherwise],
            _ => return,
        };
        if s.pat.len() < 2 {
            return;
        }
        for (k, v) in s.pat.iter().enumerate() {
            let word = branches.iter().filter_map(|b| b.results.get(k)).map(|a| key::word(*a)).collect();
            let w = *first.entry(word).or_insert(*v);
            if w != *v {
                self.replaced.insert(*v, Atom::Var(w));
            }
        }
    }
}

fn resolve(replaced: &FxHashMap<Var, Atom>, mut a: Atom) -> Atom {
    while let Atom::Var(v) = a
        && let Some(b) = replaced.get(&v)
    {
        a = *b;
    }
    a
}

/// Whether an expression is looked up: one that is not large. A check binds nothing and is dropped if it
/// is known; an expression that may stop the program inside has been run, and not stopped, if it is.
fn is_compared(exp: &Exp) -> bool {
    fn size(body: &Body, left: &mut usize) -> bool {
        body.stmts.iter().all(|s| {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            s.exp.bodies().into_iter().all(|b| size(b, left)) && is_small(&s.exp)
        })
    }
    let mut left = MOST_COMPARED;
    is_small(exp) && exp.bodies().into_iter().all(|b| size(b, &mut left))
}

/// Whether an expression is looked up, but for what is in its bodies.
fn is_small(exp: &Exp) -> bool {
    match exp {
        Exp::Literal { elems, .. } => elems.len() <= MOST_ELEMENTS,
        // What is pushed again is there twice.
        Exp::Pull { .. } | Exp::Push { .. } => false,
        _ => true,
    }
}

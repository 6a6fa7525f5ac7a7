//! What keeps a text right where Futhark evaluates something before it is known whether it is needed.
//!
//! Futhark takes out of a `map` what is the same for all of its elements, and does so even if there are none: a check
//! that only an element would make stops a program that has no elements, and an `iota` of a size that only an
//! element would find negative does, too. So inside of functions of elements
//!
//! - a size that may be negative is one that is not: `let n_size = i64.max 0 n` behind where `n` is bound, and
//!   `n_size` wherever a size is meant. Where the program goes on, both are the same number;
//! - a condition that is the same for all elements holds where there are none: `assert (m == 0 || ok) …`;
//! - an index or slice that is the same for all elements is looked at where there are some:
//!   `if m == 0 then 0 else xs[k]`. What is behind an `if` Futhark takes out together with its condition.

use crate::tree::{Form, Tree};
use crate::uses::each_use;
use remc_base::ops::ScalarOp;
use remc_mono::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known of sizes before anything is printed.
#[derive(Default)]
pub struct SizeFacts {
    /// Sizes inside of functions of elements that may be negative where nobody has looked yet.
    pub doubtful: FxHashSet<Var>,
    /// How often a variable is used as a size.
    pub as_size: FxHashMap<Var, usize>,
}

/// Which sizes may be negative, and which of them functions of elements mention. `lengths` are the parameters that
/// the arrays tell.
pub fn size_facts(p: &Program, lengths: &[Var]) -> SizeFacts {
    let mut facts = SizeFacts::default();
    let natural = natural(p, lengths);
    let mut inside = FxHashSet::default();
    sizes(&p.body, false, &mut |v, within| {
        *facts.as_size.entry(v).or_insert(0) += 1;
        if within {
            inside.insert(v);
        }
    });
    types(p, &p.body, false, &mut |v| {
        inside.insert(v);
    });
    facts.doubtful = inside.into_iter().filter(|v| !natural.contains(v)).collect();
    facts
}

/// The sizes that expressions mention, and whether it is in a function of elements.
fn sizes(b: &Body, within: bool, f: &mut impl FnMut(Var, bool)) {
    for s in &b.stmts {
        // All axes but the first are inside of a function of those before them.
        let mut first = true;
        let mut size = |a: &Atom| {
            if let Atom::Var(v) = a {
                let nested = !first && matches!(s.exp, Exp::Map { .. } | Exp::View { .. });
                f(*v, within || nested);
            }
            first = false;
        };
        match &s.exp {
            Exp::Map { axes, .. } => axes.iter().for_each(|x| size(&x.size)),
            Exp::Reduce { axis, .. }
            | Exp::Scan { axis, .. }
            | Exp::Scatter { axis, .. }
            | Exp::Filter { axis, .. }
            | Exp::Grade { axis, .. }
            | Exp::Join { axis, .. } => size(&axis.size),
            Exp::Literal { dims, .. } => dims.iter().for_each(&mut size),
            Exp::View {
                view:
                    View::Reshape { dims }
                    | View::Slice { dims, .. }
                    | View::Wrap { dims, .. }
                    | View::Cycle { dims }
                    | View::Replicate { dims },
                ..
            } => dims.iter().for_each(&mut size),
            _ => {}
        }
    }
    for s in &b.stmts {
        let elements = within || has_elements(&s.exp);
        s.exp.bodies().into_iter().for_each(|inner| sizes(inner, elements, f));
    }
}

/// The sizes in types of what functions of elements bind.
fn types(p: &Program, b: &Body, within: bool, f: &mut impl FnMut(Var)) {
    for s in &b.stmts {
        let elements = within || has_elements(&s.exp);
        let own = s.pat.iter().filter(|_| within).copied();
        let inner = s.exp.inner_binders().into_iter().filter(|_| elements);
        for v in own.chain(inner) {
            p.ty(v).dims.iter().filter_map(|d| d.as_var()).for_each(&mut *f);
        }
        s.exp.bodies().into_iter().for_each(|inner| types(p, inner, elements, f));
    }
}

/// Whether an expression has a function that is applied to elements, of which there may be none.
fn has_elements(e: &Exp) -> bool {
    !matches!(e, Exp::If { .. } | Exp::For { .. } | Exp::While { .. })
}

/// The scalars that are surely at least 0: all that cannot be shown not to be, beginning with all.
fn natural(p: &Program, lengths: &[Var]) -> FxHashSet<Var> {
    // What each variable is one of; one without an entry is nothing that is known.
    let mut all: FxHashSet<Var> = lengths.iter().copied().collect();
    let mut rules: Vec<(Var, &Exp, usize)> = Vec::new();
    let mut states: Vec<(Var, Atom, Atom)> = Vec::new();
    p.body.for_each_stmt(&mut |s| {
        for (k, v) in s.pat.iter().enumerate() {
            rules.push((*v, &s.exp, k));
        }
        match &s.exp {
            Exp::For { axis, state, body } => {
                all.insert(axis.var);
                states.extend(state.iter().zip(&body.results).map(|((v, a), r)| (*v, *a, *r)));
            }
            Exp::While { state, body, .. } => {
                states.extend(state.iter().zip(&body.results).map(|((v, a), r)| (*v, *a, *r)));
            }
            Exp::Map { axes, .. } => all.extend(axes.iter().map(|a| a.var)),
            Exp::Reduce { axis, .. }
            | Exp::Scan { axis, .. }
            | Exp::Scatter { axis, .. }
            | Exp::Filter { axis, .. }
            | Exp::Grade { axis, .. }
            | Exp::Join { axis, .. } => {
                all.insert(axis.var);
            }
            _ => {}
        }
    });
    all.extend(rules.iter().map(|r| r.0));
    all.extend(states.iter().map(|s| s.0));
    loop {
        let before = all.len();
        let gone: Vec<Var> =
            rules.iter().filter(|(_, e, k)| !gives_natural(e, *k, &all)).map(|r| r.0).collect();
        gone.iter().for_each(|v| {
            all.remove(v);
        });
        for (v, start, next) in &states {
            if !is_natural(*start, &all) || !is_natural(*next, &all) {
                all.remove(v);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

fn is_natural(a: Atom, all: &FxHashSet<Var>) -> bool {
    match a {
        Atom::Const(c) => c.as_integer().is_some_and(|n| n >= 0),
        Atom::Var(v) => all.contains(&v),
    }
}

/// Whether the `k`-th value of an expression is at least 0, if those in `all` are.
fn gives_natural(e: &Exp, k: usize, all: &FxHashSet<Var>) -> bool {
    let is = |a: &Atom| is_natural(*a, all);
    match e {
        Exp::Atom(a) => is(a),
        Exp::Op(op, args) => match op {
            // Sizes do not wrap.
            ScalarOp::Add | ScalarOp::Mul | ScalarOp::Min2 | ScalarOp::Quotient | ScalarOp::Modulo => {
                args.iter().all(is)
            }
            ScalarOp::Max2 => args.iter().any(is),
            ScalarOp::Select => args[1..].iter().all(is),
            ScalarOp::Shr => args.first().is_some_and(is),
            ScalarOp::BoolToInt | ScalarOp::CharToInt => true,
            _ => false,
        },
        Exp::If { then, otherwise, .. } => [then, otherwise].iter().all(|b| b.results.get(k).is_some_and(is)),
        Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
            state.get(k).is_some_and(|s| is(&s.1)) && body.results.get(k).is_some_and(is)
        }
        // Numbers of elements.
        Exp::Filter { .. } => k == 0,
        Exp::Join { regular, .. } => k >= *regular && (k - *regular).is_multiple_of(3),
        _ => false,
    }
}

/// Functions of elements around what is printed, the outermost first: how many elements there are, if it may be none.
#[derive(Default)]
pub struct Rows {
    sizes: Vec<Option<String>>,
    /// By variable: how many of the functions of elements around it it differs in, at least.
    level: FxHashMap<Var, usize>,
}

impl Rows {
    pub fn enter(&mut self, index: Var, size: &str) {
        let some = size.parse::<u64>().is_ok_and(|n| n > 0);
        self.sizes.push((!some).then(|| size.to_owned()));
        self.level.insert(index, self.sizes.len());
    }

    pub fn leave(&mut self) {
        self.sizes.pop();
    }

    pub fn none(&self) -> bool {
        self.sizes.is_empty()
    }

    /// A variable that is something else in each round of a loop, from which nothing that mentions it is taken out.
    pub fn changes(&mut self, v: Var) {
        self.level.insert(v, usize::MAX);
    }

    pub fn of(&self, a: Atom) -> usize {
        a.as_var().and_then(|v| self.level.get(&v)).copied().unwrap_or(0)
    }

    /// What an expression mentions.
    fn of_all(&self, e: &Exp) -> usize {
        let mut level = 0;
        e.for_each_operand(&mut |a| level = level.max(self.of(a)));
        let bound = e.inner_binders();
        for b in e.bodies() {
            each_use(b, &mut |a| {
                if a.as_var().is_none_or(|v| !bound.contains(&v)) {
                    level = level.max(self.of(a));
                }
            });
        }
        level
    }

    /// A statement that is going to be printed: its variables differ as what it mentions does.
    pub fn bind(&mut self, s: &Stmt) -> usize {
        let level = self.of_all(&s.exp);
        s.pat.iter().for_each(|v| {
            self.level.insert(*v, level);
        });
        level
    }

    /// The functions of elements that do not tell apart what is of this level, by conditions that there are none.
    pub fn empty(&self, level: usize) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for n in self.sizes.iter().skip(level).flatten() {
            if !all.contains(n) {
                all.push(n.clone());
            }
        }
        all
    }
}

/// Whether one of these numbers of elements is 0.
pub fn no_elements(sizes: &[String]) -> Option<Tree> {
    let none = sizes.iter().map(|n| Tree::infix("==", Tree::name(n), Tree::name("0")));
    none.reduce(|a, b| Tree::infix("||", a, b))
}

/// Conditions, each with the numbers of elements of which none is 0 where it counts.
#[derive(Default)]
pub struct Pending(Vec<(Vec<String>, Tree)>);

impl Pending {
    pub fn push(&mut self, unless: Vec<String>, cond: Tree) {
        match self.0.last_mut() {
            Some((same, before)) if *same == unless => {
                *before = Tree::infix("&&", before.clone(), cond);
            }
            _ => self.0.push((unless, cond)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn conjunction(&mut self) -> Option<Tree> {
        let all = std::mem::take(&mut self.0).into_iter().map(|(unless, cond)| match no_elements(&unless) {
            Some(none) => Tree::infix("||", none, cond),
            None => cond,
        });
        all.reduce(|a, b| Tree::infix("&&", a, b))
    }
}

/// Whether anything in an expression may stop where one of these numbers of elements is 0.
pub fn may_stop(t: &Tree, empty: &[String]) -> bool {
    if empty.is_empty() {
        return false;
    }
    let all = |parts: &[Tree]| parts.iter().any(|t| may_stop(t, empty));
    match t {
        Tree::Name(_) => false,
        Tree::Index(..) | Tree::Coerce(..) | Tree::With(..) => true,
        Tree::Call(f, args) => f == "assert" || all(args),
        Tree::Unary(_, a) | Tree::Lambda(_, a) | Tree::Noted(_, a) => may_stop(a, empty),
        Tree::Infix(_, a, b) => may_stop(a, empty) || may_stop(b, empty),
        Tree::If(c, a, b) if looks_at(c, empty) => may_stop(a, empty),
        Tree::If(c, a, b) => [c, a, b].into_iter().any(|t| may_stop(t, empty)),
        Tree::Block(lines, result) => {
            lines.iter().any(|l| may_stop(&l.value, empty)) || may_stop(result, empty)
        }
        Tree::Loop { start, form, body, .. } => {
            let form = match form {
                Form::For(_, n) => n,
                Form::While(c) => c,
            };
            [start, form, body].into_iter().any(|t| may_stop(t, empty))
        }
        Tree::Tuple(parts) | Tree::Array(parts) => all(parts),
    }
}

/// Whether a condition holds where one of these numbers is 0.
fn looks_at(cond: &Tree, empty: &[String]) -> bool {
    fn named(t: &Tree, n: &str) -> bool {
        match t {
            Tree::Infix("||", a, b) => named(a, n) || named(b, n),
            Tree::Infix("==", a, b) => **a == Tree::name(n) && **b == Tree::name("0"),
            _ => false,
        }
    }
    empty.iter().all(|n| named(cond, n))
}

//! Expressions as keys: two that compute the same have equal keys.
//!
//! A key is the expression written as numbers, in which variables bound inside are numbered in the order
//! of their binding, operands of commutative operators are in one order, and constants are their bits.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashMap;

pub type Key = Vec<u64>;

/// The key of a statement's expression.
pub fn of(p: &Program, s: &Stmt) -> Key {
    let mut w = Writer::new(p);
    w.exp(&s.exp);
    w.types(&s.pat);
    w.key
}

/// The key of a body: whether two states of a program differ.
pub fn of_body(p: &Program, body: &Body) -> Key {
    let mut w = Writer::new(p);
    w.body(body);
    w.key
}

/// Whether two expressions compute the same values of their operands in either order, to the bit.
fn commutes(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(op, Add | Mul | Min2 | Max2 | Eq | Ne | And | Or | Xor | BitAnd | BitOr | BitXor | Gcd)
}

struct Writer<'p> {
    p: &'p Program,
    key: Key,
    bound: FxHashMap<Var, u64>,
}

impl Writer<'_> {
    fn new(p: &Program) -> Writer<'_> {
        Writer { p, key: Key::new(), bound: FxHashMap::default() }
    }

    /// The element types of what is bound: an empty literal says nothing of its own.
    fn types(&mut self, vars: &[Var]) {
        vars.iter().for_each(|v| self.number(self.p.ty(*v).base as usize));
    }

    fn number(&mut self, n: usize) {
        self.key.push(n as u64);
    }

    fn bind(&mut self, vars: impl IntoIterator<Item = Var>) {
        for v in vars {
            let n = self.bound.len() as u64;
            self.bound.insert(v, n);
        }
    }

    fn word(&self, a: Atom) -> [u64; 2] {
        match a.as_var().and_then(|v| self.bound.get(&v)) {
            Some(n) => [100, *n],
            None => word(a),
        }
    }

    fn atom(&mut self, a: Atom) {
        let word = self.word(a);
        self.key.extend(word);
    }

    fn atoms(&mut self, atoms: &[Atom]) {
        self.number(atoms.len());
        atoms.iter().for_each(|a| self.atom(*a));
    }

    fn body(&mut self, body: &Body) {
        self.number(body.stmts.len());
        for s in &body.stmts {
            self.exp(&s.exp);
            self.types(&s.pat);
            self.bind(s.pat.iter().copied());
        }
        self.atoms(&body.results);
    }

    fn exp(&mut self, exp: &Exp) {
        let tag = match exp {
            Exp::Atom(_) => 0,
            Exp::Op(op, _) => 1000 + *op as usize,
            Exp::Cast(ty, _) => 100 + *ty as usize,
            Exp::Literal { dims, .. } => 200 + dims.len(),
            Exp::Index { .. } => 1,
            Exp::If { .. } => 2,
            Exp::For { .. } => 3,
            Exp::While { .. } => 4,
            Exp::Map { .. } => 5,
            Exp::Reduce { op, .. } if op.alone => 21,
            Exp::Reduce { op, .. } => 6 + usize::from(op.assoc),
            Exp::Scan { kind, op, .. } => 8 + 2 * (*kind as usize) + usize::from(op.assoc),
            Exp::Scatter { combine, .. } => 14 + usize::from(combine.is_some()),
            Exp::Filter { .. } => 16,
            Exp::Grade { gives: Gives::Places, .. } => 17,
            Exp::Grade { gives: Gives::Keys, .. } => 20,
            Exp::Check { .. } => 18,
            Exp::View { .. } => 19,
            Exp::Join { regular, .. } => 400 + regular,
            Exp::Pull { channel, take: Take::Multiple(_), .. } => 3 * channel + (1 << 20),
            Exp::Pull { channel, take: Take::Exactly(_), .. } => 3 * channel + (1 << 20) + 1,
            Exp::Pull { channel, take: Take::All, .. } => 3 * channel + (1 << 20) + 2,
            Exp::Push { channel, .. } => channel + (1 << 30),
        };
        self.number(tag);
        match exp {
            Exp::Op(op, args) if commutes(*op) => {
                let mut words: Vec<_> = args.iter().map(|a| self.word(*a)).collect();
                words.sort_unstable();
                self.key.extend(words.into_iter().flatten());
            }
            // What a check tells when it fails makes no other check of it.
            Exp::Check { cond, .. } => self.atom(*cond),
            _ => {
                let mut operands = Vec::new();
                exp.for_each_operand(&mut |a| operands.push(a));
                self.atoms(&operands);
            }
        }
        if let Exp::View { view, .. } = exp {
            let tag = match view {
                View::Reshape { .. } => 0,
                View::Permute { perm } => {
                    self.key.extend(perm.iter().map(|p| *p as u64));
                    1
                }
                View::Reverse => 2,
                View::Rotate { .. } => 3,
                View::Append { .. } => 4,
                View::Slice { start, .. } => 100 + start.len(),
                View::Wrap { start, .. } => 200 + start.len(),
                View::Cycle { .. } => 5,
                View::Replicate { .. } => 6,
            };
            self.number(tag);
        }
        let binders = exp.inner_binders();
        self.number(binders.len());
        self.bind(binders);
        for body in exp.bodies() {
            self.body(body);
        }
    }
}

/// A free atom as numbers.
pub fn word(a: Atom) -> [u64; 2] {
    match a {
        Atom::Const(c) => [c.ty() as u64, c.to_bits64() as u64],
        Atom::Var(v) => [101, u64::from(v.0)],
    }
}

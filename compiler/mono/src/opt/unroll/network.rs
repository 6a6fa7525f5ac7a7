//! The order of a few items, without an array: a sorting network.
//!
//! ```text
//! (let (%ys) (sort (%i 3) (let (%k) (index %xs %j %i)) (give %k)))
//!
//! (let (%a) (index %xs %j 0)) (let (%b) (index %xs %j 1)) (let (%c) (index %xs %j 2))
//! (let (%swap) (op < %b %a)) (let (%a1) (op select %swap %b %a)) (let (%b1) (op select %swap %a %b))    then %b1 with %c,
//! …  (let (%ys) (literal (3) %a2 %b3 %c1))                                                              then %a1 with %b2
//! ```
//!
//! Neighbours change places where the one behind goes strictly before the other, so that what is equal stays in its order, to
//! the bit. (Knuth, "The Art of Computer Programming", volume 3, 5.3.4: the network of the bubble sort, `n (n - 1) / 2`
//! comparisons at a depth of `2n - 3`.) There is no branch, and many rows are sorted side by side.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Prov};

/// More items are not sorted by a network, nor more that take their places along: registers are few.
pub const ITEMS: i64 = 9;
const PLACES: i64 = 5;

/// Whether a network sorts the items of an axis by these keys: a few, by one number each.
pub fn is_sorted(p: &Program, axis: &Axis, keys: &Body, gives: Gives) -> bool {
    let most = if gives == Gives::Keys { ITEMS } else { PLACES };
    let few = axis.size.as_int().is_some_and(|n| (0..=most).contains(&n));
    few && matches!(keys.results[..], [key] if {
        let ty = p.atom_ty(key);
        ty.is_scalar() && (ty.base.is_integer() || ty.base.is_float())
    })
}

/// An item: what is looked at, and what changes places with it.
#[derive(Clone, Copy)]
pub struct Item {
    pub key: Atom,
    /// Its number, if that is wanted.
    pub place: Option<Atom>,
}

/// The items in their order; its statements go to `stmts`.
pub fn sorted(p: &mut Program, mut items: Vec<Item>, prov: Prov, stmts: &mut Vec<Stmt>) -> Vec<Item> {
    let mut n = Network { p, prov, stmts };
    for end in (1..items.len()).rev() {
        for k in 0..end {
            let (a, b) = (items[k], items[k + 1]);
            let swap = n.before(b.key, a.key);
            let mut choose = |x, y| n.op("k", ScalarOp::Select, vec![swap, x, y]);
            let (low, high) = (choose(b.key, a.key), choose(a.key, b.key));
            let places = a.place.zip(b.place).map(|(a, b)| (choose(b, a), choose(a, b)));
            items[k] = Item { key: low, place: places.map(|p| p.0) };
            items[k + 1] = Item { key: high, place: places.map(|p| p.1) };
        }
    }
    items
}

struct Network<'n> {
    p: &'n mut Program,
    prov: Prov,
    stmts: &'n mut Vec<Stmt>,
}

impl Network<'_> {
    fn op(&mut self, name: &str, op: ScalarOp, args: Vec<Atom>) -> Atom {
        let base = match op {
            ScalarOp::Select => self.p.atom_ty(args[1]).base,
            _ => BaseTy::Bool,
        };
        let v = self.p.fresh(name, Ty::scalar(base));
        self.stmts.push(Stmt { pat: vec![v], exp: Exp::Op(op, args), prov: self.prov });
        v.into()
    }

    /// Whether a key is strictly less than another one. What is no number is the greatest there is.
    fn before(&mut self, x: Atom, y: Atom) -> Atom {
        if !self.p.atom_ty(x).base.is_float() {
            return self.op("c", ScalarOp::Lt, vec![x, y]);
        }
        let not_after = self.op("c", ScalarOp::Le, vec![y, x]);
        let less = self.op("c", ScalarOp::Not, vec![not_after]);
        let number = self.op("c", ScalarOp::Eq, vec![x, x]);
        self.op("c", ScalarOp::And, vec![less, number])
    }
}

//! Associative operators, for what may regroup its operands.

use super::Maker;
use crate::differential::term::{Dim, Info, Term, Ty};
use remc_base::BaseTy;

/// An operator on cells of the last `cell` dims of an item.
pub struct Operator {
    pub text: String,
    pub cell: Vec<Dim>,
    /// Whether floats that it combines have to be small and whole for any order to give the same.
    pub adds: bool,
    /// Whether it stops the program at a zero among what it combines. There is none among what it is given, and it
    /// makes none: whatever stops is an operand that the program does not have.
    pub divides: bool,
    /// What it makes of numbers of which these are known, so many of them.
    pub info: fn(Info, f64) -> Info,
}

fn sum_info(i: Info, n: f64) -> Info {
    Info { whole: i.whole, most: i.most * (n + 1.0) }
}

fn same_info(i: Info, _: f64) -> Info {
    i
}

fn any_info(_: Info, _: f64) -> Info {
    Info { whole: true, most: f64::INFINITY }
}

impl Operator {
    /// What the operator may be given, of that.
    pub fn operand(&self, of: Term) -> Term {
        if !self.divides {
            return of;
        }
        let (ty, most) = (of.ty.clone(), of.info.most + 1.0);
        let info = Info { most, ..of.info }.fit(ty.atom);
        Term::call(ty.clone(), info, &format!("bit-or {}", super::literal(ty.atom, 1)), vec![of])
    }
}

impl Maker {
    /// An associative operator on the items' type, or on cells of it.
    pub fn associative(&mut self, item: &Ty) -> Operator {
        let atom = item.atom;
        let t = atom.name();
        let integer = atom.is_integer();
        // Cells of some of the last dims, with an operator that is not commutative.
        if integer && let [.., Dim::Known(2), Dim::Known(2)] = item.dims.as_slice() {
            let cell = item.dims[item.rank() - 2..].to_vec();
            let text = format!(
                "(λ ([a [{t} 2 2]] [b [{t} 2 2]]) {})",
                ["(m*m a b)", "(m*m b a)"][self.rng.below(2)]
            );
            return Operator { text, cell, adds: false, divides: false, info: any_info };
        }
        if integer && matches!(item.dims.as_slice(), [.., Dim::Known(2)]) && !self.rng.one_in(3) {
            // Composition of x ↦ a x + b.
            let cell = item.dims[item.rank() - 1..].to_vec();
            let text = format!(
                "(λ ([f [{t} 2]] [g [{t} 2]]) [(* (index f [0]) (index g [0])) \
                 (+ (* (index g [0]) (index f [1])) (index g [1]))])"
            );
            return Operator { text, cell, adds: false, divides: false, info: any_info };
        }
        let scalar: &[(&str, bool)] = match atom {
            BaseTy::Bool => &[("and", false), ("or", false), ("xor", false)],
            BaseTy::Char => &[("LAST", false), ("FIRST", false)],
            _ if integer => &[
                ("+", true),
                ("+", true),
                ("*", false),
                ("min2", false),
                ("max2", false),
                ("bit-xor", false),
                ("bit-and", false),
                ("bit-or", false),
                ("LAST", false),
                ("FIRST", false),
                ("NONZERO", false),
                ("FIRST/", false),
                ("min2/", false),
            ],
            _ => &[("+", true), ("+", true), ("min2", false), ("max2", false), ("LAST", false)],
        };
        let (name, adds) = scalar[self.rng.below(scalar.len())];
        let of = if self.rng.one_in(2) { 0 } else { self.rng.below(item.rank() + 1) };
        let cell = item.dims[item.rank() - of..].to_vec();
        let cell_ty = Ty::new(atom, cell.clone());
        let body = match name {
            "LAST" => "b".to_owned(),
            "FIRST" => "a".to_owned(),
            "NONZERO" => format!("(select (= b 0{}) a b)", if t == "int" { "" } else { t }),
            "FIRST/" | "min2/" => {
                let first = if name == "FIRST/" { "a" } else { "(min2 a b)" };
                let [zero, seven] = [0, 7].map(|k| super::literal(atom, k));
                format!("(+ {first} (* {zero} (% {seven} b)))")
            }
            name => format!("({name} a b)"),
        };
        let info = match name {
            "+" => sum_info,
            "*" => any_info,
            // Of these no number is greater than the operands.
            "min2" | "max2" | "LAST" | "FIRST" | "NONZERO" | "FIRST/" | "min2/" | "and" | "or" | "xor" => {
                same_info
            }
            _ => any_info,
        };
        let divides = name.ends_with('/');
        let plain = !divides && name.starts_with(|c: char| !c.is_ascii_uppercase());
        let text = if cell.is_empty() && plain && !self.rng.one_in(4) {
            name.to_owned()
        } else {
            format!("(λ ([a {cell_ty}] [b {cell_ty}]) {body})")
        };
        Operator { text, cell, adds, divides, info }
    }

    /// Items for an operator, and what is made of them is known as.
    pub fn items(&mut self, op: &Operator, ty: &Ty, count: f64) -> Term {
        let items = if op.adds { self.summable(ty, count + 1.0) } else { self.expr(ty) };
        op.operand(items)
    }

    /// What the operator makes of so many items and a zero.
    pub fn combined(&self, op: &Operator, items: Info, zero: Option<Info>, count: f64, atom: BaseTy) -> Info {
        let all = zero.map_or(items, |z| items.or(z));
        (op.info)(all, count).fit(atom)
    }

    /// `(f a b)`: a commutative operator of scalars, for `scatter/combine`.
    pub fn commutative(&mut self, atom: BaseTy) -> Option<(&'static str, bool)> {
        let all: &[(&'static str, bool)] = match atom {
            BaseTy::Bool => &[("and", false), ("or", false), ("xor", false)],
            BaseTy::Char => return None,
            a if a.is_integer() => {
                &[("+", true), ("*", false), ("min2", false), ("max2", false), ("bit-xor", false)]
            }
            _ => &[("+", true), ("min2", false), ("max2", false)],
        };
        Some(all[self.rng.below(all.len())])
    }
}

/// Numbers of a sum: products, differences and the like of whole numbers.
pub fn sum_of(atom: BaseTy, items: Info, count: f64) -> Info {
    sum_info(items, count).fit(atom)
}

pub fn zero(m: &mut Maker, ty: &Ty, op: &Operator) -> Term {
    if op.adds && ty.atom.is_float() {
        let one = m.leaf(&Ty::scalar(ty.atom));
        let ok = one.info.whole && one.info.most <= 16.0;
        if ty.dims.is_empty() && ok {
            return one;
        }
        let text = format!(
            "(replicate{{{} | {} []}} {})",
            ty.atom.name(),
            crate::differential::term::bracket(&ty.dims),
            super::literal(ty.atom, 1)
        );
        let scalar = super::literal(ty.atom, 1);
        return Term::leaf(ty.clone(), Info::whole(1.0), if ty.dims.is_empty() { scalar } else { text });
    }
    let zero = m.expr(ty);
    op.operand(zero)
}

//! The text form of traps: `(name part …)`.

use super::{Len, Trap};
use crate::ops::ScalarOp;
use crate::scalar::BaseTy;
use crate::sexp::{Sexp, SexpError, SexpKind, integer, quoted};
use std::fmt;
use std::sync::Arc;

impl fmt::Display for Len {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Len::Known(n) => n.fmt(f),
            Len::Unknown => f.write_str("?"),
        }
    }
}

impl Trap {
    /// An s-expression that [`Trap::parse`] reads back.
    pub fn print(&self) -> String {
        let q = |text: &str| quoted(text);
        match self {
            Trap::Index { axes, rank } => format!("(index {axes} {rank})"),
            Trap::Negative { what } => format!("(negative {})", q(what)),
            Trap::NegativeIn { rank } => format!("(negative-in {rank})"),
            Trap::NegativeCount => "(negative-count)".to_owned(),
            Trap::NegativeLength => "(negative-length)".to_owned(),
            Trap::Division { op, ty } => format!("(division {} {ty})", q(op.info().name)),
            Trap::Exponent { base, exponent } => format!("(exponent {base} {exponent})"),
            Trap::IntToChar => "(int-to-char)".to_owned(),
            Trap::CastToChar { from } => format!("(cast-to-char {from})"),
            Trap::TooSmall { why, dim } => format!("(too-small {} {})", q(why), q(dim)),
            Trap::Unequal { why, left, right } => {
                format!("(unequal {} {} {})", q(why), q(left), q(right))
            }
            Trap::Empty { prim } => format!("(empty {})", q(prim)),
            Trap::Reshape { from, to } => format!("(reshape {from} {to})"),
            Trap::WithShape { rank } => format!("(with-shape {rank})"),
            Trap::Subvector => "(subvector)".to_owned(),
            Trap::Subarray { axes, rank } => format!("(subarray {axes} {rank})"),
            Trap::Wrap { rank } => format!("(wrap {rank})"),
            Trap::Split => "(split)".to_owned(),
            Trap::Scatter { prim } => format!("(scatter {})", q(prim)),
            Trap::TooLarge { rank, by, most } => format!("(too-large {rank} {} {most})", q(by)),
            Trap::Overflow { dim } => format!("(overflow {})", q(dim)),
            Trap::Append => "(append)".to_owned(),
            Trap::AsShape { have, want } => format!("(as-shape {have} {want})"),
            Trap::Range { ty } => format!("(range {ty})"),
            Trap::Literal { n, ty } => format!("(literal {} {ty})", integer(*n)),
            Trap::NoZero { ty } => format!("(no-zero {})", q(ty)),
            Trap::Deep => "(deep)".into(),
        }
    }

    /// Reads what [`Trap::print`] writes.
    ///
    /// # Errors
    /// If it is no trap, or has other parts than that trap has.
    pub fn parse(s: &Sexp) -> Result<Trap, SexpError> {
        let items = match &s.kind {
            SexpKind::List(items) => &items[..],
            _ => return fail(s, "a trap was expected"),
        };
        let Some((Sexp { kind: SexpKind::Atom(name), .. }, rest)) = items.split_first() else {
            return fail(s, "the name of a trap was expected");
        };
        let mut p = Parts { whole: s, rest };
        let trap = match *name {
            "index" => Trap::Index { axes: p.len()?, rank: p.len()? },
            "negative" => Trap::Negative { what: p.text()? },
            "negative-in" => Trap::NegativeIn { rank: p.len()? },
            "negative-count" => Trap::NegativeCount,
            "negative-length" => Trap::NegativeLength,
            "division" => Trap::Division { op: p.operator()?, ty: p.base()? },
            "exponent" => Trap::Exponent { base: p.base()?, exponent: p.base()? },
            "int-to-char" => Trap::IntToChar,
            "cast-to-char" => Trap::CastToChar { from: p.base()? },
            "too-small" => Trap::TooSmall { why: p.text()?, dim: p.text()? },
            "unequal" => Trap::Unequal { why: p.text()?, left: p.text()?, right: p.text()? },
            "empty" => Trap::Empty { prim: p.text()? },
            "reshape" => Trap::Reshape { from: p.len()?, to: p.len()? },
            "with-shape" => Trap::WithShape { rank: p.len()? },
            "subvector" => Trap::Subvector,
            "subarray" => Trap::Subarray { axes: p.len()?, rank: p.len()? },
            "wrap" => Trap::Wrap { rank: p.len()? },
            "split" => Trap::Split,
            "scatter" => Trap::Scatter { prim: p.text()? },
            "too-large" => Trap::TooLarge { rank: p.number()?, by: p.text()?, most: p.number()? },
            "overflow" => Trap::Overflow { dim: p.text()? },
            "append" => Trap::Append,
            "as-shape" => Trap::AsShape { have: p.len()?, want: p.len()? },
            "range" => Trap::Range { ty: p.base()? },
            "literal" => Trap::Literal { n: p.number()?, ty: p.base()? },
            "deep" => Trap::Deep,
            "no-zero" => Trap::NoZero { ty: p.text()? },
            _ => return fail(s, "there is no trap of this name"),
        };
        match p.rest.first() {
            Some(extra) => fail(extra, "the trap has ended before this"),
            None => Ok(trap),
        }
    }
}

/// The parts of a trap, read from left to right.
struct Parts<'s, 't> {
    whole: &'s Sexp<'t>,
    rest: &'s [Sexp<'t>],
}

impl<'s, 't> Parts<'s, 't> {
    fn next(&mut self) -> Result<&'s Sexp<'t>, SexpError> {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                Ok(first)
            }
            None => fail(self.whole, "a part of this trap is missing"),
        }
    }

    fn text(&mut self) -> Result<Arc<str>, SexpError> {
        let s = self.next()?;
        match &s.kind {
            SexpKind::Str(text) => Ok(text.as_str().into()),
            _ => fail(s, "a string was expected"),
        }
    }

    fn number<T: TryFrom<i128>>(&mut self) -> Result<T, SexpError> {
        let s = self.next()?;
        let n = s.integer().map_or_else(|| fail(s, "a number was expected"), Ok)?;
        T::try_from(n).or_else(|_| fail(s, "this number is out of range"))
    }

    fn len(&mut self) -> Result<Len, SexpError> {
        if let Some((Sexp { kind: SexpKind::Atom("?"), .. }, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(Len::Unknown);
        }
        Ok(Len::Known(self.number()?))
    }

    fn base(&mut self) -> Result<BaseTy, SexpError> {
        let s = self.next()?;
        match s.kind {
            SexpKind::Atom(a) => BaseTy::from_name(a).map_or_else(|| fail(s, "a base type was expected"), Ok),
            _ => fail(s, "a base type was expected"),
        }
    }

    fn operator(&mut self) -> Result<ScalarOp, SexpError> {
        let s = self.next()?;
        match &s.kind {
            SexpKind::Str(a) => {
                ScalarOp::from_name(a).map_or_else(|| fail(s, "there is no such operator"), Ok)
            }
            _ => fail(s, "an operator was expected"),
        }
    }
}

fn fail<T>(s: &Sexp, message: &str) -> Result<T, SexpError> {
    Err(SexpError { offset: s.offset, message: message.to_owned() })
}

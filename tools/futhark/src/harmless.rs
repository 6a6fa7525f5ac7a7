//! What Futhark's optimiser may do to a text without harm.
//!
//! It takes out of a function of elements what is the same for all of them, though there may be none: an `iota` of a
//! size that is negative there stops the program. And an assertion inside of the operator of a reduction or scan is
//! evaluated for neutral elements, or lost. So a text has neither:
//!
//! - inside of a function, the size of an `iota` or `replicate` that is the same for all elements is one that cannot
//!   be negative by how it is written: a literal, a length, `i64.max 0 n`, sums and products of such;
//! - no operator asserts, nor calls what does.
//!
//! What else is taken out of a function, [`crate::eval`] takes out too where the function is never applied.

use crate::syntax::*;
use std::collections::{HashMap, HashSet};

/// Checks the rules.
///
/// # Errors
/// The first place that breaks one.
pub fn check(defs: &[Def]) -> S<()> {
    let mut known = Known::default();
    for (name, k) in [("reduce", 0), ("scan", 0), ("reduce_by_index", 1)] {
        known.operators.insert(name.to_owned(), vec![k]);
    }
    for d in defs {
        known.operators(&d.body)?;
        if known.asserts(&d.body) {
            known.stopping.insert(d.name.clone());
        }
        let params: Vec<usize> = (0..d.params.len())
            .filter(|k| d.params[*k].names().iter().any(|n| known.is_operator(&d.body, n)))
            .collect();
        if !params.is_empty() {
            known.operators.insert(d.name.clone(), params);
        }
        let params = d.params.iter().flat_map(Pat::names).map(|n| (n, Size::Same));
        let sizes = d.sizes.iter().map(|n| (n.as_str(), Size::Natural));
        // The length of an array that is given is one, if it is a parameter of its own.
        let lengths = d.params.iter().filter_map(|p| match p {
            Pat::Typed(_, t) => Some(lengths(t)),
            _ => None,
        });
        sizes_of(&d.body, false, &params.chain(sizes).chain(lengths.flatten()).collect())?;
    }
    Ok(())
}

/// The names that are lengths in a type.
fn lengths(t: &Type) -> Vec<(&str, Size)> {
    match t {
        Type::Array(size, inner) => {
            let own = size.as_ref().and_then(|e| match &e.kind {
                Kind::Name(n) => Some((n.as_str(), Size::Natural)),
                _ => None,
            });
            own.into_iter().chain(lengths(inner)).collect()
        }
        Type::Unique(inner) => lengths(inner),
        _ => Vec::new(),
    }
}

#[derive(Default)]
struct Known {
    /// Which parameters of a function are operators of a reduction or scan.
    operators: HashMap<String, Vec<usize>>,
    /// The functions that assert.
    stopping: HashSet<String>,
}

impl Known {
    fn asserts(&self, e: &Exp) -> bool {
        e.mentions(&|n| n == "assert" || self.stopping.contains(n))
    }

    /// The arguments of an application that are operators.
    fn of<'e>(&self, e: &'e Exp) -> Vec<&'e Exp> {
        let Kind::Apply(f, args) = &e.kind else { return Vec::new() };
        let Kind::Name(f) = &f.kind else { return Vec::new() };
        let places = self.operators.get(f).map_or(&[][..], |all| all);
        places.iter().filter_map(|k| args.get(*k)).collect()
    }

    fn operators(&self, e: &Exp) -> S<()> {
        for op in self.of(e) {
            if self.asserts(op) {
                return wrong(op.line, "an assertion inside of the operator of a reduction or scan");
            }
        }
        e.parts().into_iter().try_for_each(|e| self.operators(e))
    }

    /// Whether a parameter is, or is a part of, an operator.
    fn is_operator(&self, e: &Exp, param: &str) -> bool {
        self.of(e).into_iter().any(|op| op.mentions(&|n| n == param))
            || e.parts().into_iter().any(|e| self.is_operator(e, param))
    }
}

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    /// Not negative, by how it is written.
    Natural,
    /// The same for all elements of the innermost function.
    Same,
    /// Another one with each element, or in each round of a loop.
    Varies,
}

type Sizes<'e> = HashMap<&'e str, Size>;

fn varies(e: &Exp, known: &Sizes<'_>) -> bool {
    e.mentions(&|n| known.get(n) == Some(&Size::Varies))
}

/// Looks at the sizes inside of functions.
fn sizes_of<'e>(e: &'e Exp, inside: bool, known: &Sizes<'e>) -> S<()> {
    match &e.kind {
        Kind::Let { sizes, pat, value, body } => {
            sizes_of(value, inside, known)?;
            let mut inner = known.clone();
            let own = if varies(value, known) { Size::Varies } else { Size::Same };
            inner.extend(pat.names().into_iter().map(|n| (n, own)));
            inner.extend(sizes.iter().map(|n| (n.as_str(), Size::Natural)));
            if let (Pat::Name(n), true) = (pat, natural(value, known)) {
                inner.insert(n, Size::Natural);
            }
            sizes_of(body, inside, &inner)
        }
        Kind::LetFun { params, value, body, .. } => {
            function(params, value, &[], known)?;
            sizes_of(body, inside, known)
        }
        Kind::Lambda(params, body) => function(params, body, &[], known),
        Kind::Loop { pat, start, form, body } => {
            sizes_of(start, inside, known)?;
            let mut inner = known.clone();
            inner.extend(pat.names().into_iter().map(|n| (n, Size::Varies)));
            inner.extend(stay_natural(pat, start, body, &inner).into_iter().map(|n| (n, Size::Natural)));
            match form {
                Form::For(i, n) => {
                    sizes_of(n, inside, known)?;
                    inner.insert(i, Size::Natural);
                }
                Form::While(c) => sizes_of(c, inside, &inner)?,
            }
            sizes_of(body, inside, &inner)
        }
        Kind::Apply(f, args) => {
            if let (true, Kind::Name(f), Some(n)) = (inside, &f.kind, args.first())
                && (f == "iota" || f == "replicate")
                && !natural(n, known)
                && !varies(n, known)
            {
                return wrong(
                    e.line,
                    "a size that may be negative, inside of a function that may never be applied",
                );
            }
            for a in args {
                match &a.kind {
                    Kind::Lambda(params, body) => function(params, body, &args[1..], known)?,
                    _ => sizes_of(a, inside, known)?,
                }
            }
            Ok(())
        }
        _ => e.parts().into_iter().try_for_each(|e| sizes_of(e, inside, known)),
    }
}

/// The variables of a loop that are not negative at its start, nor in the next round if they are not in one.
fn stay_natural<'e>(pat: &'e Pat, start: &Exp, body: &'e Exp, known: &Sizes<'e>) -> Vec<&'e str> {
    let parts: Vec<&Pat> = match pat {
        Pat::Tuple(parts) => parts.iter().collect(),
        one => vec![one],
    };
    let begun = naturals(start, known);
    let named = |k: usize| parts[k].names().first().copied().filter(|_| !matches!(parts[k], Pat::Tuple(_)));
    let mut all: Vec<usize> = (0..parts.len()).filter(|k| begun.get(*k) == Some(&true)).collect();
    loop {
        let mut assumed = known.clone();
        assumed.extend(all.iter().filter_map(|k| named(*k)).map(|n| (n, Size::Natural)));
        let next = naturals(body, &assumed);
        let before = all.len();
        all.retain(|k| next.get(*k) == Some(&true));
        if all.len() == before {
            return all.into_iter().filter_map(named).collect();
        }
    }
}

/// Of each part of what an expression gives, whether it cannot be negative.
fn naturals<'e>(e: &'e Exp, known: &Sizes<'e>) -> Vec<bool> {
    match &e.kind {
        Kind::Tuple(parts) => parts.iter().map(|p| natural(p, known)).collect(),
        Kind::Let { sizes, pat, value, body } => {
            let mut inner = known.clone();
            inner.extend(pat.names().into_iter().map(|n| (n, Size::Varies)));
            inner.extend(sizes.iter().map(|n| (n.as_str(), Size::Natural)));
            if let (Pat::Name(n), true) = (pat, natural(value, known)) {
                inner.insert(n, Size::Natural);
            }
            naturals(body, &inner)
        }
        Kind::If(_, a, b) => {
            let (a, b) = (naturals(a, known), naturals(b, known));
            a.into_iter().zip(b).map(|(a, b)| a && b).collect()
        }
        Kind::Apply(f, args) if matches!(&f.kind, Kind::Name(n) if n == "assert") && args.len() == 2 => {
            naturals(&args[1], known)
        }
        _ => vec![natural(e, known)],
    }
}

/// A function, perhaps of the elements of arrays: those of an `iota` are not negative.
fn function<'e>(params: &'e [Pat], body: &'e Exp, arrays: &[Exp], known: &Sizes<'e>) -> S<()> {
    let mut inner = known.clone();
    inner.values_mut().filter(|s| **s == Size::Varies).for_each(|s| *s = Size::Same);
    for (k, p) in params.iter().enumerate() {
        let array = if arrays.len() == params.len() { arrays.get(k) } else { None };
        let counts = array.is_some_and(|a| match &a.kind {
            Kind::Apply(f, _) => matches!(&f.kind, Kind::Name(n) if n == "iota"),
            _ => false,
        });
        let own = if counts { Size::Natural } else { Size::Varies };
        inner.extend(p.names().into_iter().map(|n| (n, own)));
    }
    sizes_of(body, true, &inner)
}

/// Whether a size cannot be negative, by how it is written.
fn natural(e: &Exp, known: &Sizes<'_>) -> bool {
    match &e.kind {
        Kind::Int(..) => true,
        Kind::Name(n) => known.get(n.as_str()) == Some(&Size::Natural),
        Kind::Binary(op, a, b) => {
            let known_sign = matches!(op.as_str(), "+" | "*" | "/" | "%" | ">>");
            known_sign && natural(a, known) && natural(b, known)
        }
        Kind::If(_, a, b) => natural(a, known) && natural(b, known),
        Kind::Apply(f, args) => match &f.kind {
            Kind::Name(f) => match f.as_str() {
                "length" | "i64.bool" => true,
                "i64.max" => args.iter().any(|a| natural(a, known)),
                "i64.min" | "quotient_i64" | "modulo_i64" => args.iter().all(|a| natural(a, known)),
                "assert" => args.get(1).is_some_and(|a| natural(a, known)),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

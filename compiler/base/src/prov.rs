//! Provenance: which places of the program a statement of an IR comes from.
//!
//! A statement carries a [`Prov`], four bytes that name a [`Place`] of its program's [`Provenance`]. A
//! place is a node of a definition and, once the definition has been inlined, the place of the call; the
//! chain of callers is the call stack that the program would have had. So a kernel that stops names one
//! `Prov`, and the reader sees the same trace as if every call had been made.
//!
//! ```text
//! (provs (p0 "mean" 0 12)           mean's node 12
//!        (p1 "main" 1 4)            main's node 4, which calls mean
//!        (p2 "mean" 0 12 p1))       mean's node 12, inlined there
//! ```
//!
//! Places are interned: equal places have one `Prov`, so that inlining a function of a thousand
//! statements costs as many places as it has distinct nodes. A place's caller always precedes it in the
//! arena; chains are finite by construction.
//!
//! A pass that moves a statement keeps its `Prov`; one that merges two keeps that of the statement that
//! can stop the program, or the first; one that makes a statement for another gives it the same.

use crate::ids::{Id, IdVec, NodeId};
use crate::name::{GlobalId, ModuleId, Name};
use crate::sexp::{Sexp, SexpError, SexpKind, quoted};
use std::collections::HashMap;
use std::fmt;

crate::define_id! {
    /// A place in a program's [`Provenance`].
    Prov, "p";
}

/// A node of a definition, and the place it was inlined at.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub def: GlobalId,
    pub node: NodeId,
    pub caller: Option<Prov>,
}

/// The places of one program's statements.
#[derive(Clone, Default)]
pub struct Provenance {
    places: IdVec<Prov, Place>,
    known: HashMap<Place, Prov>,
}

impl Provenance {
    pub fn new() -> Provenance {
        Provenance::default()
    }

    /// The place of a node. `caller`, a place of this arena, is where its definition was inlined.
    pub fn add(&mut self, def: GlobalId, node: NodeId, caller: Option<Prov>) -> Prov {
        debug_assert!(caller.is_none_or(|c| c.index() < self.len()), "a caller of another arena");
        let place = Place { def, node, caller };
        match self.known.get(&place) {
            Some(p) => *p,
            None => {
                let p = self.places.push(place.clone());
                self.known.insert(place, p);
                p
            }
        }
    }

    /// The place of a statement of `inner` whose definition is inlined at `caller`: its chain, with
    /// `caller` below the outermost place.
    pub fn inlined(&mut self, inner: Prov, caller: Prov) -> Prov {
        self.chain(inner).into_iter().rev().fold(caller, |caller, p| {
            let Place { def, node, .. } = self.places[p].clone();
            self.add(def, node, Some(caller))
        })
    }

    /// # Panics
    /// If `p` is of another arena; see [`Provenance::contains`].
    pub fn get(&self, p: Prov) -> &Place {
        &self.places[p]
    }

    /// Whether `p` is of this arena: what the verifier of an IR asks of every statement.
    pub fn contains(&self, p: Prov) -> bool {
        p.index() < self.len()
    }

    /// The places from the innermost out through its callers.
    pub fn trace(&self, p: Prov) -> Vec<(GlobalId, NodeId)> {
        self.chain(p).into_iter().map(|p| (self.places[p].def.clone(), self.places[p].node)).collect()
    }

    fn chain(&self, p: Prov) -> Vec<Prov> {
        // A caller has a smaller number than what it calls.
        std::iter::successors(Some(p), |p| self.places.get(*p)?.caller.filter(|c| c < p))
            .filter(|p| self.contains(*p))
            .collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Prov, &Place)> {
        self.places.iter()
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// `(provs …)`, one place a line, which [`Provenance::parse`] reads back.
    pub fn print(&self) -> String {
        let mut out = String::from("(provs");
        for (p, place) in self.iter() {
            let Place { def, node, caller } = place;
            out += &format!("\n  ({p:?} {} {} {}", quoted(def.name.as_str()), def.module.0, node.0);
            if let Some(c) = caller {
                out += &format!(" {c:?}");
            }
            out.push(')');
        }
        out.push(')');
        out
    }

    /// Reads what [`Provenance::print`] writes.
    ///
    /// # Errors
    /// The first place that is not as printed: out of order, twice, or with a caller that follows it.
    pub fn parse(s: &Sexp) -> Result<Provenance, SexpError> {
        let items = match &s.kind {
            SexpKind::List(items) => items,
            _ => return fail(s, "(provs …) was expected"),
        };
        let Some((Sexp { kind: SexpKind::Atom("provs"), .. }, items)) = items.split_first() else {
            return fail(s, "(provs …) was expected");
        };
        let mut all = Provenance::new();
        for item in items {
            let (p, name, module, node, caller) = match &item.kind {
                SexpKind::List(parts) => match &parts[..] {
                    [p, name, module, node] => (p, name, module, node, None),
                    [p, name, module, node, caller] => (p, name, module, node, Some(caller)),
                    _ => return fail(item, "(pN \"name\" module node [pN]) was expected"),
                },
                _ => return fail(item, "(pN \"name\" module node [pN]) was expected"),
            };
            let SexpKind::Str(name) = &name.kind else { return fail(name, "a name was expected") };
            let caller = caller.map(|c| Ok((c, Prov::parse(c)?))).transpose()?;
            if let Some((c, caller)) = caller
                && !all.contains(caller)
            {
                return fail(c, "a caller precedes the place that it calls");
            }
            let def = GlobalId { module: ModuleId(number(module)?), name: Name::new(name) };
            let expected = all.len();
            let added = all.add(def, NodeId(number(node)?), caller.map(|(_, c)| c));
            if added.index() != expected {
                return fail(item, &format!("this place is {added:?} already"));
            }
            if Prov::parse(p)? != added {
                return fail(p, &format!("{added:?} was expected"));
            }
        }
        Ok(all)
    }
}

/// Two arenas are equal if they hold the same places in the same order.
impl PartialEq for Provenance {
    fn eq(&self, other: &Self) -> bool {
        self.places == other.places
    }
}

impl Eq for Provenance {}

impl fmt::Debug for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.print())
    }
}

impl Prov {
    /// Reads `pN`, as `{:?}` prints it; whether the arena has it is for the reader to check.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn parse(s: &Sexp) -> Result<Prov, SexpError> {
        let digits = match s.kind {
            SexpKind::Atom(a) => a.strip_prefix('p'),
            _ => None,
        };
        match digits.filter(|d| !d.starts_with('+')).and_then(|d| d.parse().ok()) {
            Some(n) => Ok(Prov(n)),
            None => fail(s, "a place, like `p0`, was expected"),
        }
    }
}

fn number(s: &Sexp) -> Result<u32, SexpError> {
    match s.kind {
        SexpKind::Int(n) if u32::try_from(n).is_ok() => Ok(n as u32),
        _ => fail(s, "a number of 32 bits was expected"),
    }
}

fn fail<T>(s: &Sexp, message: &str) -> Result<T, SexpError> {
    Err(SexpError { offset: s.offset, message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sexp::read;

    fn def(module: u32, name: &str) -> GlobalId {
        GlobalId { module: ModuleId(module), name: Name::new(name) }
    }

    #[test]
    fn places_are_interned() {
        let mut all = Provenance::new();
        let a = all.add(def(0, "f"), NodeId(1), None);
        let b = all.add(def(0, "f"), NodeId(2), None);
        assert_ne!(a, b);
        assert_eq!(all.add(def(0, "f"), NodeId(1), None), a);
        assert_ne!(all.add(def(0, "f"), NodeId(1), Some(b)), a);
        assert_eq!(all.len(), 3);
        assert_eq!(all.get(a).node, NodeId(1));
    }

    #[test]
    fn inlining_extends_the_trace_outwards() {
        let mut all = Provenance::new();
        let h = all.add(def(0, "h"), NodeId(1), None);
        let g = all.add(def(1, "g"), NodeId(2), None);
        let f = all.add(def(1, "f"), NodeId(3), None);
        let h_in_g = all.inlined(h, g);
        let h_in_g_in_f = all.inlined(h_in_g, f);
        let expected = vec![(def(0, "h"), NodeId(1)), (def(1, "g"), NodeId(2)), (def(1, "f"), NodeId(3))];
        assert_eq!(all.trace(h_in_g_in_f), expected);
        assert_eq!(all.trace(h), expected[..1]);
        assert_eq!(all.inlined(h_in_g, f), h_in_g_in_f);
    }

    #[test]
    fn prints_and_reads_back() {
        let mut all = Provenance::new();
        let a = all.add(def(1, "main λ"), NodeId(4), None);
        let b = all.add(def(0, "mean"), NodeId(12), None);
        all.inlined(b, a);
        let text = all.print();
        assert_eq!(
            text,
            "(provs\n  (p0 \"main \\x3bb;\" 1 4)\n  (p1 \"mean\" 0 12)\n  (p2 \"mean\" 0 12 p0))"
        );
        let mut back = Provenance::parse(&read(&text).unwrap()[0]).unwrap();
        assert_eq!(back, all);
        assert_eq!(back.inlined(b, a), Prov(2));
        assert_eq!(Provenance::parse(&read("(provs)").unwrap()[0]), Ok(Provenance::new()));
    }

    #[test]
    fn wrong_texts_are_refused() {
        for (text, offset) in [
            ("p0", 0),
            ("(places)", 0),
            ("(provs p0)", 7),
            ("(provs (p0 \"f\" 0))", 7),
            ("(provs (p1 \"f\" 0 0))", 8),
            ("(provs (p+0 \"f\" 0 0))", 8),
            ("(provs (p0 f 0 0))", 11),
            ("(provs (p0 \"f\" -1 0))", 15),
            ("(provs (p0 \"f\" 0 0 p0))", 19),
            ("(provs (p0 \"f\" 0 0) (p1 \"f\" 0 0))", 20),
        ] {
            assert_eq!(Provenance::parse(&read(text).unwrap()[0]).unwrap_err().offset, offset, "{text}");
        }
    }
}

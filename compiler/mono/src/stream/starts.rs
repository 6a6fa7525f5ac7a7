//! Where the elements of ragged items begin: places in a vector that holds those of all.
//!
//! ```text
//! (let (%s) (index %starts %i))                 a place: in a piece, counted from the piece's own first element
//! (let (%x) (index %data (op + %s %j)))         what it is for
//! (give … %s)                                   an array of places: it is such a one, too
//! ```
//!
//! In a piece such numbers are right for the elements of that piece alone. So an array of them that leaves the loop is
//! counted from the first element of all ([`super::pass`]), and nothing else is computed with them, nor kept from one
//! piece to the next: that needs elements which are gone.

use super::*;

/// What is known of a variable in a body.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// A place in the elements of this array.
    In(Var),
    /// Something that was computed with one.
    Computed,
}

impl Streamer<'_> {
    /// The array along which each result of a body is a place, if it is one.
    ///
    /// # Errors
    /// A result that was computed with a place.
    pub fn places(&self, body: &Body, axis: usize) -> S<Vec<Option<Var>>> {
        let mut known = FxHashMap::default();
        self.follow(body, &mut known);
        let of = |a: &Atom| match a.as_var().and_then(|v| known.get(&v)) {
            Some(Place::In(data)) => Ok(Some(*data)),
            Some(Place::Computed) => self.no(Why::Places, axis),
            None => Ok(None),
        };
        body.results.iter().map(of).collect()
    }

    /// That nothing that goes from piece to piece is a place.
    pub fn no_places(&self, exp: &Exp, axis: usize) -> S {
        for b in exp.bodies() {
            if self.places(b, axis)?.iter().any(Option::is_some) {
                return self.no(Why::Places, axis);
            }
        }
        Ok(())
    }

    fn follow(&self, body: &Body, known: &mut FxHashMap<Var, Place>) {
        for s in &body.stmts {
            let place = match &s.exp {
                Exp::Index { array, .. } => match (self.t.places.get(array), known.get(array)) {
                    (Some(data), _) => Some(Place::In(*data)),
                    (None, known) => known.copied(),
                },
                Exp::Atom(a) => a.as_var().and_then(|v| known.get(&v)).copied(),
                exp => {
                    let mut any = false;
                    for b in exp.bodies() {
                        self.follow(b, known);
                        any |= b.results.iter().any(|a| a.as_var().is_some_and(|v| known.contains_key(&v)));
                    }
                    exp.for_each_operand(&mut |a| any |= a.as_var().is_some_and(|v| known.contains_key(&v)));
                    any.then_some(Place::Computed)
                }
            };
            known.extend(place.into_iter().flat_map(|p| s.pat.iter().map(move |v| (*v, p))));
        }
    }
}

//! Functions, `let`s and loops: the forms that bind names, and the sizes that do not leave them.

use super::{Aliases, Checker, Entry, Value};
use crate::syntax::*;
use crate::types::*;
use std::collections::{HashMap, HashSet};

impl Checker {
    /// A function whose parameters are known from where it is given.
    pub(super) fn lambda_for(&mut self, e: &Exp, wanted: &Ty) -> S<Ty> {
        let Kind::Lambda(params, body) = &e.kind else { return Ok(self.exp(e)?.ty) };
        let mut known = Vec::new();
        let mut t = self.u.ty(wanted);
        while let Ty::Fun { param, result, .. } = t {
            known.push(*param);
            t = *result;
        }
        let (types, result) = self.function_of(params, None, body, e.line, &known)?;
        Ok(types.into_iter().rev().fold(result, |r, t| Ty::function(t, r)))
    }

    pub(super) fn function(
        &mut self,
        params: &[Pat],
        result: Option<&Type>,
        body: &Exp,
        line: usize,
    ) -> S<(Vec<Ty>, Ty)> {
        self.function_of(params, result, body, line, &[])
    }

    pub(super) fn function_of(
        &mut self,
        params: &[Pat],
        result: Option<&Type>,
        body: &Exp,
        line: usize,
        known: &[Ty],
    ) -> S<(Vec<Ty>, Ty)> {
        let (mark, first) = (self.u.mark(), self.vars.len());
        let outside = std::mem::replace(&mut self.outside, first);
        let mut bound = Vec::new();
        let mut types = Vec::new();
        for (k, p) in params.iter().enumerate() {
            let t = self.pattern_type(p, line)?;
            if let Some(known) = known.get(k) {
                self.equal(line, known, &t, &format!("parameter {}", k + 1))?;
            }
            self.bind_pattern(p, &t, &Aliases::new(), false, line, &mut bound)?;
            types.push(t);
        }
        let want = match result {
            Some(t) => Some(self.ty(t, line)?),
            None => None,
        };
        let value = self.exp(body)?;
        if let Some(want) = want {
            self.equal(line, &value.ty, &want, "what a function gives")?;
        }
        for name in bound.iter().rev() {
            self.unbind(name);
        }
        self.outside = outside;
        let result = self.u.ty(&value.ty);
        let mut inner = None;
        sizes_in(&result, &mut |n| match n {
            Size::Unknown(k) if *k > mark => inner = Some(n.clone()),
            Size::Name(k, _) if *k >= first => inner = Some(n.clone()),
            _ => {}
        });
        match inner {
            Some(n) => wrong(line, format!("a function gives {result}, whose size {n} is known only inside")),
            None => Ok((types, result)),
        }
    }

    pub(super) fn binding(
        &mut self,
        line: usize,
        sizes: &[String],
        pat: &Pat,
        value: &Exp,
        body: &Exp,
    ) -> S<Value> {
        let v = self.exp(value)?;
        let first = self.vars.len();
        let mut bound = Vec::new();
        for s in sizes {
            let size = self.u.open_size();
            self.bind_as(s, Ty::I64, Aliases::new(), false, size);
            bound.push(s.clone());
        }
        let t = self.pattern_type(pat, line)?;
        self.equal(line, &v.ty, &t, "what is bound")?;
        for s in sizes {
            let Entry::Local { size, .. } = self.find(line, s)? else { continue };
            if matches!(self.u.size(&size), Size::Open(_)) {
                return wrong(line, format!("nothing says how much `{s}` is"));
            }
        }
        self.bind_pattern(pat, &t, &v.aliases, true, line, &mut bound)?;
        let result = self.exp(body)?;
        for name in bound.iter().rev() {
            self.unbind(name);
        }
        // Behind their scope, sizes are unknown, and variables are no longer there to be used.
        let ty = self.u.ty(&result.ty);
        let mut of = HashMap::new();
        let ty = replaced(
            &ty,
            &mut |n| match n {
                Size::Name(k, _) if *k >= first => {
                    Some(of.entry(*k).or_insert_with(|| self.u.unknown()).clone())
                }
                _ => None,
            },
            &mut |_| None,
        );
        Ok(Value { ty, aliases: result.aliases })
    }

    /// A loop. Each size of its state is open at first: one that the body gives back as it was, or asks to be what it
    /// is at the start, stays; the others are unknown behind the loop, and in each round.
    pub(super) fn repeat(
        &mut self,
        line: usize,
        pat: &Pat,
        (start, form, body): (&Exp, &Form, &Exp),
    ) -> S<Value> {
        let start = self.exp(start)?;
        let bound_of = match form {
            Form::For(_, n) => Some(self.exp(n)?.ty),
            Form::While(_) => None,
        };
        let first = self.vars.len();
        let outside = std::mem::replace(&mut self.outside, first);
        let mut bound = Vec::new();
        let begun = self.u.ty(&start.ty);
        let t = replaced(&begun, &mut |_| Some(self.u.open_size()), &mut |_| None);
        let written = self.pattern_type(pat, line)?;
        self.equal(line, &t, &written, "the start of a loop")?;
        if let Form::For(i, _) = form {
            let ty = bound_of.unwrap_or(Ty::I64);
            self.bind(i, ty, Aliases::new(), false);
            bound.push(i.clone());
        }
        let state = self.vars.len();
        self.bind_pattern(pat, &t, &Aliases::new(), true, line, &mut bound)?;
        let state = state..self.vars.len();
        if let Form::While(c) = form {
            let c = self.exp(c)?;
            self.equal(line, &c.ty, &Ty::BOOL, "the condition of a loop")?;
        }
        let next = self.exp(body)?;
        let changing = self.changing(line, (&begun, &t, &next.ty))?;
        self.outside = outside;
        for name in bound.iter().rev() {
            self.unbind(name);
        }
        // What the body makes for itself it may write over.
        let consumes = state.into_iter().any(|v| self.consumed.contains(&v));
        if consumes {
            self.consume(line, &start.aliases)?;
        }
        let mut of = HashMap::new();
        let ty = replaced(
            &self.u.ty(&t),
            &mut |n| match n {
                Size::Open(k) if changing.contains(k) => {
                    Some(of.entry(*k).or_insert_with(|| self.u.unknown()).clone())
                }
                _ => None,
            },
            &mut |_| None,
        );
        let mut aliases: Aliases = next.aliases.into_iter().filter(|a| *a < first).collect();
        if consumes {
            if let Some(a) = aliases.first() {
                let name = &self.vars[*a].name;
                return wrong(
                    line,
                    format!("a loop that writes over its state gives `{name}` as the next one"),
                );
            }
        } else {
            aliases.extend(start.aliases);
        }
        Ok(Value { ty, aliases })
    }

    /// The sizes of a loop's state `t` that a round may change, which begins as one type and goes on as another; the
    /// others are the same in all three.
    fn changing(&mut self, line: usize, (begun, t, next): (&Ty, &Ty, &Ty)) -> S<HashSet<usize>> {
        if !self.u.same_elements(next, t) {
            return wrong(
                line,
                format!("the next state of a loop is of type {}, not {}", self.u.ty(next), self.u.ty(t)),
            );
        }
        let (first, mine, after) = (self.sizes(begun), self.sizes(t), self.sizes(next));
        let mut changing: HashMap<usize, (Size, Size)> = HashMap::new();
        for ((first, mine), after) in first.into_iter().zip(mine).zip(after) {
            let (mine, after) = (self.u.size(&mine), self.u.size(&after));
            let same = match &mine {
                // Two that the body asks to be the same change together.
                Size::Open(k) if after != mine && after != first => {
                    let (then, now) = changing.entry(*k).or_insert((first.clone(), after.clone())).clone();
                    self.u.same_size(&then, &first) && self.u.same_size(&now, &after)
                }
                _ => self.u.same_size(&mine, &after) && self.u.same_size(&mine, &first),
            };
            if !same {
                let (first, after) = (self.u.size(&first), self.u.size(&after));
                return wrong(
                    line,
                    format!("a size of a loop's state is {first} first, {mine} inside, and then {after}"),
                );
            }
        }
        Ok(changing.into_keys().collect())
    }

    /// The sizes of a type's arrays, from the left.
    fn sizes(&self, t: &Ty) -> Vec<Size> {
        let mut found = Vec::new();
        replaced(
            &self.u.ty(t),
            &mut |n| {
                found.push(n.clone());
                Some(n.clone())
            },
            &mut |_| None,
        );
        found
    }

    pub(super) fn indexed(&mut self, line: usize, t: &Ty, places: &[Place]) -> S<Ty> {
        let mut ty = self.u.ty(t);
        let mut outer = Vec::new();
        for p in places {
            let Ty::Array(_, inner) = ty else { return wrong(line, format!("an index too many for {t}")) };
            let ends = match p {
                Place::At(a) => vec![a],
                Place::Slice(a, b) => {
                    outer.push(self.u.unknown());
                    vec![a, b]
                }
            };
            for a in ends {
                let v = self.exp(a)?;
                self.equal(line, &v.ty, &Ty::I64, "an index")?;
            }
            ty = *inner;
        }
        Ok(outer.into_iter().rev().fold(ty, |t, n| Ty::Array(n, Box::new(t))))
    }
}

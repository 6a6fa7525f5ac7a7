//! Functions, `let`s and loops: the forms that bind names, and the sizes that do not leave them.

use super::{Aliases, Checker, Entry, Value};
use crate::syntax::*;
use crate::types::*;
use std::collections::HashMap;

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

    pub(super) fn repeat(
        &mut self,
        line: usize,
        sizes: &[String],
        pat: &Pat,
        (start, form, body): (&Exp, &Form, &Exp),
    ) -> S<Value> {
        let start = self.exp(start)?;
        let bound_of = match form {
            Form::For(_, n) => Some(self.exp(n)?.ty),
            Form::While(_) => None,
        };
        let first = self.vars.len();
        let mark = self.u.mark();
        let outside = std::mem::replace(&mut self.outside, first);
        let mut bound = Vec::new();
        let mut own = Vec::new();
        for s in sizes {
            own.push(self.bind(s, Ty::I64, Aliases::new(), false));
            bound.push(s.clone());
        }
        let t = self.pattern_type(pat, line)?;
        // The sizes of the loop are others before it, after each round, and behind it.
        let with_sizes = |c: &mut Checker, t: &Ty, unknown: bool| {
            let mut of = HashMap::new();
            replaced(
                t,
                &mut |n| match n {
                    Size::Name(k, _) if own.contains(k) => Some(
                        of.entry(*k)
                            .or_insert_with(|| if unknown { c.u.unknown() } else { c.u.open_size() })
                            .clone(),
                    ),
                    _ => None,
                },
                &mut |_| None,
            )
        };
        let before = with_sizes(self, &t, false);
        self.equal(line, &start.ty, &before, "the start of a loop")?;
        if sizes.is_empty() {
            self.equal(line, &start.ty, &t, "the start of a loop")?;
        }
        // What is not said of the state is what is known of its start.
        let t = self.u.ty(&t);
        if let Form::For(i, _) = form {
            let ty = bound_of.unwrap_or(Ty::I64);
            self.bind(i, ty, Aliases::new(), false);
            bound.push(i.clone());
        }
        let state = self.vars.len();
        self.bind_pattern(pat, &t, &Aliases::new(), true, line, &mut bound)?;
        if let Form::While(c) = form {
            let c = self.exp(c)?;
            self.equal(line, &c.ty, &Ty::BOOL, "the condition of a loop")?;
        }
        let next = self.exp(body)?;
        let after = with_sizes(self, &t, false);
        self.equal(line, &next.ty, &after, "the next state of a loop")?;
        let mut inner = false;
        if sizes.is_empty() {
            sizes_in(&self.u.ty(&next.ty), &mut |n| inner |= matches!(n, Size::Unknown(k) if *k > mark));
        }
        if inner {
            return wrong(line, "the size of the state changes, and the loop does not say so");
        }
        self.outside = outside;
        for name in bound.iter().rev() {
            self.unbind(name);
        }
        let consumes = (state..self.vars.len()).any(|v| self.consumed.contains(&v));
        if consumes {
            self.consume(line, &start.aliases)?;
        }
        let ty = with_sizes(self, &t, true);
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

//! What Futhark's optimiser takes out of a function that is never applied.
//!
//! Of the body of a `map` over nothing it evaluates all the same what does not depend on the elements. Where that
//! stops, or an index is out of range, the text relies on what is not so. What is behind an `if` or in a loop is
//! evaluated only if that is: Futhark keeps the conditions.

use crate::eval::Run;
use crate::syntax::*;
use crate::types::Ty;
use crate::value::{E, Fault, Scope, Value, bool, int, undefined};
use std::collections::HashSet;

impl Run<'_> {
    /// Evaluates what a body mentions that does not depend on the names in `varying`.
    pub(crate) fn taken_out(&self, e: &Exp, scope: &Scope, varying: &HashSet<String>) -> E<()> {
        if matches!(e.kind, Kind::Name(_) | Kind::Lambda(..)) {
            return Ok(());
        }
        if !e.mentions(&|n| varying.contains(n)) {
            return match self.exp(e, scope) {
                Err(Fault::Stop(what)) => undefined(format!("this is evaluated for no elements: {what}")),
                Err(fault) => Err(fault),
                Ok(_) => Ok(()),
            };
        }
        let same = |e: &Exp| !e.mentions(&|n| varying.contains(n));
        let more = |names: Vec<&str>| -> HashSet<String> {
            varying.iter().cloned().chain(names.into_iter().map(str::to_owned)).collect()
        };
        match &e.kind {
            Kind::Let { sizes, pat, value, body } => {
                self.taken_out(value, scope, varying)?;
                if same(value) && sizes.is_empty() {
                    let value = self.exp(value, scope)?;
                    let names = pat.names();
                    let varying = varying.iter().filter(|n| !names.contains(&n.as_str())).cloned().collect();
                    return self.taken_out(body, &self.bind(pat, value, scope.clone(), e.line)?, &varying);
                }
                let names = pat.names().into_iter().chain(sizes.iter().map(String::as_str)).collect();
                self.taken_out(body, scope, &more(names))
            }
            Kind::If(c, a, b) if same(c) => {
                self.taken_out(if bool(&self.exp(c, scope)?)? { a } else { b }, scope, varying)
            }
            // The right side is evaluated where the left one does not say all.
            Kind::Binary(op, a, b) if (op == "||" || op == "&&") && same(a) => {
                if bool(&self.exp(a, scope)?)? == (op == "&&") {
                    self.taken_out(b, scope, varying)
                } else {
                    Ok(())
                }
            }
            Kind::If(c, ..) => self.taken_out(c, scope, varying),
            Kind::Binary(op, a, _) if op == "||" || op == "&&" => self.taken_out(a, scope, varying),
            Kind::Loop { pat, start, form, body } => {
                self.taken_out(start, scope, varying)?;
                let Form::For(i, n) = form else { return Ok(()) };
                self.taken_out(n, scope, varying)?;
                if !same(n) || !matches!(self.exp(n, scope)?, Value::Scalar(n) if n.as_integer() > Some(0)) {
                    return Ok(());
                }
                self.taken_out(body, scope, &more(pat.names().into_iter().chain([i.as_str()]).collect()))
            }
            Kind::Apply(f, args) => {
                let assertion = matches!(&f.kind, Kind::Name(n) if n == "assert");
                if let (true, [c, _]) = (assertion, args.as_slice())
                    && same(c)
                    && !bool(&self.exp(c, scope)?)?
                {
                    return undefined(format!(
                        "line {}: an assertion that is evaluated for no elements",
                        e.line
                    ));
                }
                for a in args {
                    match &a.kind {
                        Kind::Lambda(params, body) => {
                            let names = params.iter().flat_map(Pat::names).collect();
                            self.taken_out(body, scope, &more(names))?;
                        }
                        _ => self.taken_out(a, scope, varying)?,
                    }
                }
                Ok(())
            }
            // The length of an axis is the same even if the array is not.
            Kind::Index(a, places) => {
                self.taken_out(a, scope, varying)?;
                let mut t = match &a.kind {
                    Kind::Name(_) => self.program.types.get(&a.id).cloned(),
                    _ => None,
                };
                let mut all_same = true;
                let mut outside = false;
                for p in places {
                    let (from, to) = match p {
                        Place::At(x) => (x, None),
                        Place::Slice(x, y) => (x, Some(y)),
                    };
                    for x in std::iter::once(from).chain(to) {
                        self.taken_out(x, scope, varying)?;
                        all_same &= same(x);
                    }
                    let (n, inner) = match t {
                        Some(Ty::Array(n, inner)) => (self.known(&n, scope), Some(*inner)),
                        _ => (None, None),
                    };
                    t = inner;
                    if let (true, Some(n)) = (all_same, n) {
                        let from = int(&self.exp(from, scope)?)?;
                        let to = to.map_or(Ok(from + 1), |y| int(&self.exp(y, scope)?))?;
                        outside |= from < 0 || to < from || to > n as i64;
                    }
                }
                if all_same && outside {
                    return undefined(format!("line {}: an index that is looked at for no elements", e.line));
                }
                Ok(())
            }
            _ => e.parts().into_iter().try_for_each(|e| self.taken_out(e, scope, varying)),
        }
    }
}

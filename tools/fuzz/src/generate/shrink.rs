//! Failing programs made smaller.

use super::*;
use std::time::{Duration, Instant};

/// The smallest program found in which `fails` still holds: definitions are dropped, expressions
/// replaced by a part of their own type or by zeros.
pub fn shrink(program: &Program, time: Duration, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let end = Instant::now() + time;
    let mut best = program.clone();
    'again: while Instant::now() < end {
        for i in 0..best.defs.len() {
            let mut next = best.clone();
            next.defs.remove(i);
            if well_scoped(&next) && fails(&next) {
                best = next;
                continue 'again;
            }
        }
        for position in 0..count(&mut best) {
            for replacement in replacements(&mut best, position) {
                if Instant::now() > end {
                    return best;
                }
                let mut next = best.clone();
                if let Some(e) = nth(&mut next, position) {
                    *e = replacement;
                }
                if well_scoped(&next) && fails(&next) {
                    best = next;
                    continue 'again;
                }
            }
        }
        return best;
    }
    best
}

fn roots(p: &mut Program) -> Vec<&mut Expr> {
    p.defs.iter_mut().map(|(_, l)| &mut l.body).chain([&mut p.body]).collect()
}

fn count(p: &mut Program) -> usize {
    let mut n = 0;
    let mut todo = roots(p);
    while let Some(e) = todo.pop() {
        n += 1;
        todo.extend(e.children_mut());
    }
    n
}

/// The `n`-th expression, in some fixed order.
fn nth(p: &mut Program, n: usize) -> Option<&mut Expr> {
    let mut left = n;
    let mut todo = roots(p);
    while let Some(e) = todo.pop() {
        if left == 0 {
            return Some(e);
        }
        left -= 1;
        todo.extend(e.children_mut());
    }
    None
}

fn replacements(p: &mut Program, position: usize) -> Vec<Expr> {
    // `nth` takes the last root first: the value of the program, which may have any type.
    let whole = position == 0;
    let Some(e) = nth(p, position) else { return vec![] };
    let ty = e.ty.clone();
    let mut out = vec![];
    if !matches!(e.kind, Kind::Literal(_)) {
        out.extend(Expr::zeros(&ty));
    }
    // Parts at any depth.
    let mut todo: Vec<&mut Expr> = e.children_mut();
    while let Some(c) = todo.pop() {
        if c.ty == ty || whole {
            out.push(c.clone());
        }
        if out.len() < 30 {
            todo.extend(c.children_mut());
        }
    }
    out
}

/// Whether every variable is bound, at the type it is used at, and every function is defined.
pub fn well_scoped(p: &Program) -> bool {
    let mut scope = Scope::default();
    for (name, lambda) in &p.defs {
        if !scope.lambda(lambda) {
            return false;
        }
        scope.functions.push(name.clone());
    }
    scope.expr(&p.body)
}

#[derive(Default)]
struct Scope {
    variables: Vec<(String, Ty)>,
    functions: Vec<String>,
    dims: Vec<String>,
}

impl Scope {
    fn with(&mut self, bound: impl IntoIterator<Item = (String, Ty)>, e: &Expr) -> bool {
        let mark = self.variables.len();
        self.variables.extend(bound);
        let ok = self.expr(e);
        self.variables.truncate(mark);
        ok
    }

    fn lambda(&mut self, l: &Lambda) -> bool {
        self.with(l.params.iter().map(|p| (p.name.clone(), p.ty.clone())), &l.body)
    }

    fn func(&mut self, f: &Func) -> bool {
        match f {
            Func::Lambda(l) => self.lambda(l),
            Func::Named(name) => self.functions.contains(name),
            Func::Prim(..) | Func::Rerank(..) | Func::Several(..) => true,
        }
    }

    /// `(length x)` in a fixed argument.
    fn text(&self, text: &Option<String>) -> bool {
        let Some(text) = text else { return true };
        text.split("(length ").skip(1).all(|rest| {
            let name = rest.split(')').next().unwrap_or_default();
            self.variables.iter().any(|(n, _)| n == name)
        })
    }

    fn expr(&mut self, e: &Expr) -> bool {
        let dims_bound = |s: &Scope| {
            e.ty.dims
                .iter()
                .all(|d| matches!(d, Dim::Var(v) if s.dims.contains(v)) || matches!(d, Dim::Known(_)))
        };
        if !dims_bound(self) {
            return false;
        }
        match &e.kind {
            Kind::Literal(_) => true,
            Kind::Var(name) => {
                self.variables.iter().rev().find(|(n, _)| n == name).is_some_and(|(_, t)| *t == e.ty)
            }
            Kind::App { func, op, before, args, after } => {
                self.func(func)
                    && op.as_ref().is_none_or(|f| self.func(f))
                    && self.text(before)
                    && self.text(after)
                    && args.iter().all(|a| self.expr(a))
            }
            Kind::Bracket(es) => es.iter().all(|e| self.expr(e)),
            Kind::Let { name, value, body } => {
                self.expr(value) && self.with([(name.clone(), value.ty.clone())], body)
            }
            Kind::LetFn { name, fun, body } => {
                if !self.lambda(fun) {
                    return false;
                }
                self.functions.push(name.clone());
                let ok = self.expr(body);
                self.functions.pop();
                ok
            }
            Kind::If { cond, then, otherwise } => self.expr(cond) && self.expr(then) && self.expr(otherwise),
            Kind::Annot(e) => self.expr(e),
            Kind::Unbox { boxes, name, dim, body } => {
                let opened = match &**boxes {
                    Boxes::Filter { flags, xs } => {
                        if !(self.expr(flags) && self.expr(xs)) {
                            return false;
                        }
                        let cell = xs.ty.dims.get(1..).unwrap_or_default();
                        Ty::new(xs.ty.atom, cell).framed(&[Dim::Var(dim.clone())])
                    }
                    Boxes::Rows { atom, rows } => {
                        if !rows.iter().all(|r| self.expr(r)) {
                            return false;
                        }
                        Ty::new(*atom, vec![Dim::Var(dim.clone())])
                    }
                };
                self.dims.push(dim.clone());
                let ok = self.with([(name.clone(), opened)], body);
                self.dims.pop();
                ok
            }
            Kind::LetValues { names, values, body } => {
                values.iter().all(|v| self.expr(v))
                    && self.with(names.iter().cloned().zip(values.iter().map(|v| v.ty.clone())), body)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinks_to_what_fails() {
        let p = (0..).map(|s| program(s, 24)).find(|p| p.text(Grain::Explicit).contains("reverse")).unwrap();
        let small = shrink(&p, Duration::from_secs(10), |p| p.text(Grain::Explicit).contains("(reverse"));
        let text = small.text(Grain::Explicit);
        assert!(text.contains("(reverse"), "{text}");
        assert!(text.len() < 300, "{text}");
        assert!(well_scoped(&small));
    }
}

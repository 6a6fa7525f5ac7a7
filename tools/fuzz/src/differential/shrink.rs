//! A failing program made smaller: greedy and deterministic.
//!
//! What leaves a name unbound or a type open is refused by the checker, and so fails in another way than
//! the program did; nothing here has to know about scopes.

use super::program::Program;
use super::term::{Dim, Info, Term, bracket, literal};
use remc_base::{BaseTy, Scalar, Value};
use std::time::{Duration, Instant};

/// The smallest program found that still fails, in some time.
pub fn shrink(program: &Program, time: Duration, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let end = Instant::now() + time;
    let mut best = program.clone();
    'again: loop {
        for next in candidates(&best) {
            if Instant::now() > end {
                return best;
            }
            if next != best && fails(&next) {
                best = next;
                continue 'again;
            }
        }
        return best;
    }
}

/// Smaller programs, the much smaller ones first.
fn candidates(p: &Program) -> Vec<Program> {
    let mut out = vec![];
    let mut push = |change: &dyn Fn(&mut Program)| {
        let mut next = p.clone();
        change(&mut next);
        out.push(next);
    };
    if p.outputs.len() > 1 {
        for i in 0..p.outputs.len() {
            push(&|p| p.outputs = vec![p.outputs[i].clone()]);
        }
        for i in 0..p.outputs.len() {
            push(&|p| drop(p.outputs.remove(i)));
        }
    }
    for i in 0..p.statements.len() {
        push(&|p| drop(p.statements.remove(i)));
        if let Some(simple) = simplest(&p.statements[i].value) {
            push(&|p| p.statements[i].value = simple.clone());
        }
        // An output that is this variable, instead.
        let value = p.statements[i].value.clone();
        for o in 0..p.outputs.len() {
            if p.outputs[o].value.text() == p.statements[i].name && i + 1 == p.statements.len() {
                let value = value.clone();
                push(&|p| {
                    p.outputs[o].value = value.clone();
                    p.statements.remove(i);
                });
            }
        }
    }
    for i in 0..p.definitions.len() {
        push(&|p| drop(p.definitions.remove(i)));
    }
    for i in 0..p.params.len() {
        push(&|p| drop(p.params.remove(i)));
    }
    // Parts of terms.
    for root in 0..roots(&mut p.clone()).len() {
        let mut copy = p.clone();
        let Some(term) = roots(&mut copy).into_iter().nth(root).map(|t| t.clone()) else { continue };
        let whole = root >= p.definitions.len() + p.statements.len();
        for (path, replacement) in replacements(&term, whole) {
            push(&|p| {
                if let Some(t) = roots(p).into_iter().nth(root) {
                    put(t, &path, replacement.clone());
                }
            });
        }
    }
    for i in 0..p.sizes.len() {
        let n = p.sizes[i].1;
        for smaller in [0, 1, 2, n / 2, n.saturating_sub(1)] {
            if smaller < n {
                push(&|p| resize(p, i, smaller));
            }
        }
    }
    if p.fine {
        push(&|p| p.fine = false);
    }
    for i in 0..p.params.len() {
        push(&|p| zeros(&mut p.params[i].input));
    }
    out
}

fn roots(p: &mut Program) -> Vec<&mut Term> {
    let definitions = p.definitions.iter_mut().map(|d| &mut d.body);
    let statements = p.statements.iter_mut().map(|s| &mut s.value);
    definitions.chain(statements).chain(p.outputs.iter_mut().map(|o| &mut o.value)).collect()
}

fn put(term: &mut Term, path: &[usize], with: Term) {
    match path.split_first() {
        None => *term = with,
        Some((first, rest)) => {
            if let Some(part) = term.parts.get_mut(*first) {
                put(part, rest, with);
            }
        }
    }
}

/// What each part may be replaced by: parts of its own of the same type, and what is simplest.
fn replacements(root: &Term, whole: bool) -> Vec<(Vec<usize>, Term)> {
    let mut out = vec![];
    let mut todo = std::collections::VecDeque::from([(vec![], root)]);
    while let Some((path, term)) = todo.pop_front() {
        let free = whole && path.is_empty();
        let mut inner: Vec<&Term> = term.parts.iter().collect();
        let mut at = 0;
        while at < inner.len() && at < 40 {
            let part = inner[at];
            if free || part.ty == term.ty && part.info.within(term.info) {
                out.push((path.clone(), part.clone()));
            }
            inner.extend(&part.parts);
            at += 1;
        }
        if let Some(simple) = simplest(term) {
            out.push((path.clone(), simple));
        }
        for (i, part) in term.parts.iter().enumerate() {
            todo.push_back(([&path[..], &[i]].concat(), part));
        }
    }
    out
}

/// A term of the type without parts; `None` if it is one.
fn simplest(term: &Term) -> Option<Term> {
    if term.is_leaf() {
        return None;
    }
    let one = literal(term.ty.atom, 1);
    let info = Info::whole(if term.ty.atom == BaseTy::Char { f64::from(0x10_ffff) } else { 1.0 });
    let text = if term.ty.dims.is_empty() {
        one
    } else {
        format!("(replicate{{{} | {} []}} {one})", term.ty.atom.name(), bracket(&term.ty.dims))
    };
    Some(Term::leaf(term.ty.clone(), info, text))
}

fn size(p: &Program, d: &Dim) -> usize {
    match d {
        Dim::Known(n) => *n,
        Dim::Var(v) => p.sizes.iter().find(|(n, _)| n == v).map_or(0, |(_, s)| *s),
        // Inputs have no other dims.
        _ => 0,
    }
}

/// Another size of a dim; the inputs keep their leading elements.
fn resize(p: &mut Program, dim: usize, to: usize) {
    p.sizes[dim].1 = to;
    let sizes: Vec<Vec<usize>> =
        p.params.iter().map(|param| param.ty.dims.iter().map(|d| size(p, d)).collect()).collect();
    for (param, shape) in p.params.iter_mut().zip(sizes) {
        let old = param.input.shape.clone();
        let count = shape.iter().product::<usize>();
        let positions = (0..count).map(|i| {
            let (mut left, mut at, mut stride) = (i, 0, 1);
            for (n, o) in shape.iter().zip(&old).rev() {
                at += left % n * stride;
                left /= n;
                stride *= o;
            }
            at
        });
        param.input.data = param.input.data.gather(positions);
        param.input.shape = shape;
    }
}

fn zeros(input: &mut Value) {
    let Some(ty) = input.data.base() else { return };
    let zero = match ty {
        BaseTy::Bool => Scalar::Bool(false),
        BaseTy::Char => Scalar::Char('a'),
        ty if ty.is_float() => Scalar::from_float(ty, 0.0).unwrap_or(Scalar::Bool(false)),
        ty => Scalar::from_integer(ty, 0).unwrap_or(Scalar::Bool(false)),
    };
    let count = input.data.len();
    *input = Value::of_scalars(ty, input.shape.clone(), std::iter::repeat_n(zero, count));
}

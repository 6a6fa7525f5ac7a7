//! A failing program made smaller: greedy and deterministic.
//!
//! What leaves a name unbound or a type open is refused by the checker, and so fails in another way than
//! the program did; nothing here has to know about scopes.

use super::inputs;
use super::program::Program;
use super::term::{Dim, Info, Term, Ty, bracket, literal};
use remc_base::value::Data;
use remc_base::{BaseTy, Value};
use std::sync::Arc;
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
    if p.plain {
        push(&|p| p.plain = false);
    }
    // Shorter contents of boxes, all of them or those that are long.
    if p.params.iter().any(|param| param.ty.is_boxed()) {
        push(&|p| refit(p, &mut |_| 0));
        push(&|p| refit(p, &mut |n| n.min(1)));
        push(&|p| refit(p, &mut |n| n / 2));
        push(&|p| refit(p, &mut |n| n.saturating_sub(1)));
        for at in 0..12 {
            let one = |p: &mut Program, to: &dyn Fn(usize) -> usize| {
                let mut seen = 0;
                refit(p, &mut |n| {
                    seen += 1;
                    if seen == at + 1 { to(n) } else { n }
                });
            };
            push(&|p| one(p, &|_| 0));
            push(&|p| one(p, &|n| n.saturating_sub(1)));
        }
    }
    for i in 0..p.params.len() {
        // Lengths of something cannot all be 0.
        if p.params[i].sums_to.is_none() {
            push(&|p| zeros(&mut p.params[i].input));
        }
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
    let info = Info::whole(if term.ty.atom == BaseTy::Char { f64::from(0x10_ffff) } else { 1.0 });
    Some(Term::leaf(term.ty.clone(), info, simple(&term.ty)))
}

/// All ones, in boxes of one item.
fn simple(ty: &Ty) -> String {
    let one = match &ty.boxed {
        None => literal(ty.atom, 1),
        Some(sigma) => {
            let one = Dim::Known(1);
            let witnesses: Vec<String> = sigma.indices.iter().map(|i| format!("({i} 1)")).collect();
            let inner = simple(&sigma.opened(&vec![one; sigma.indices.len()]));
            format!("(box ({}) {} {inner})", witnesses.join(" "), sigma.body)
        }
    };
    if ty.dims.is_empty() {
        return one;
    }
    format!("(replicate{{{} | {} []}} {one})", ty.element(), bracket(&ty.dims))
}

/// Another size of a dim; the inputs keep their leading elements.
fn resize(p: &mut Program, dim: usize, to: usize) {
    p.sizes[dim].1 = to;
    refit(p, &mut |n| n);
}

/// All inputs made to fit, with other sizes of what their boxes hide.
fn refit(p: &mut Program, hidden: &mut dyn FnMut(usize) -> usize) {
    for param in &mut p.params {
        param.input = inputs::refit(&param.input, &param.ty, &p.sizes, hidden);
        // Lengths stay the lengths of something.
        if let Some(total) = &param.sums_to
            && let Data::I64(lengths) = &mut param.input.data
        {
            let total = inputs::size(&p.sizes, &Dim::Var(total.clone()));
            let mut all: Vec<usize> = lengths.iter().map(|n| *n as usize).collect();
            inputs::fit_sum(&mut all, total);
            *lengths = all.iter().map(|n| *n as i64).collect();
        }
    }
}

fn zeros(input: &mut Value) {
    match &mut input.data {
        Data::Box(boxes) => {
            for b in boxes {
                let mut zero = (**b).clone();
                zeros(&mut zero.value);
                *b = Arc::new(zero);
            }
        }
        data => {
            let Some(ty) = data.base() else { return };
            let count = data.len();
            *input = Value::of_scalars(ty, input.shape.clone(), std::iter::repeat_n(inputs::zero(ty), count));
        }
    }
}

//! Programs for the tests of passes, in a short form of the text: variables have no numbers, statements
//! no provenance, and the header is what the parameters and results say.

use crate::eval::{self, Array};
use crate::ir::*;
use crate::{parse, print, verify};
use remc_base::{BaseTy, Scalar};
use std::rc::Rc;

/// The program with these parameters and this body, whose results are arrays.
pub(crate) fn program(params: &str, results: usize, body: &str) -> Program {
    let mut ids: Vec<String> = Vec::new();
    let mut number = |text: &str| {
        let mut out = String::new();
        let mut lets = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let mut taken = c.len_utf8();
            match c {
                '%' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic) => {
                    let end = rest[1..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len() - 1);
                    let name = &rest[..=end];
                    let id = ids.iter().position(|x| x == name).unwrap_or_else(|| {
                        ids.push(name.to_owned());
                        ids.len() - 1
                    });
                    taken = end + 1;
                    out += &format!("{name}.{id}");
                }
                '(' => {
                    lets.push(rest.starts_with("(let "));
                    out.push('(');
                }
                ')' if lets.pop() == Some(true) => out += " p0)",
                _ => out.push(c),
            }
            rest = &rest[taken..];
        }
        out
    };
    let params = number(params);
    let inputs: Vec<&str> =
        params.split('(').filter_map(|x| x.split(' ').next()).filter(|x| x.starts_with('%')).collect();
    let output = match results {
        1 => "0".to_owned(),
        n => format!("(tuple () {})", (0..n).map(|k| format!("({k})")).collect::<Vec<_>>().join(" ")),
    };
    let text = format!(
        "(mono 1 (name \"main\") (provs (p0 \"main\" 0 0)) (types) (params {params}) (inputs {}) \
         (output {output}) (body {}))",
        inputs.join(" "),
        number(body)
    );
    let p = parse::parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    check(&p);
    p
}

/// The program after passes, verified after each, which has the same values.
pub(super) fn after(mut p: Program, passes: &[fn(&mut Program)]) -> Program {
    let before = p.clone();
    for pass in passes {
        pass(&mut p);
        check(&p);
    }
    let mut compared = 0;
    for n in [0, 1, 2, 5] {
        let arguments = arguments(&before, n);
        match (eval::run(&before, &arguments), eval::run(&p, &arguments)) {
            // The arguments do not fit together.
            (Err(eval::Fault::Bug(_)), _) => continue,
            (Ok(x), Ok(y)) => assert!(same(&x, &y), "{n}: {x:?}\n{y:?}\n{}", print::print_program(&p)),
            (Err(eval::Fault::Stop { .. }), Err(eval::Fault::Stop { .. })) => {}
            (x, y) => panic!("{n}: {x:?}\n{y:?}\n{}", print::print_program(&p)),
        }
        compared += 1;
    }
    assert!(compared > 0, "no arguments fit {}", print::print_program(&before));
    p
}

fn same(x: &[Array], y: &[Array]) -> bool {
    let bits = |a: &Array| a.data.iter().map(|s| s.to_bits64()).collect::<Vec<_>>();
    x.len() == y.len() && x.iter().zip(y).all(|(a, b)| a.dims == b.dims && bits(a) == bits(b))
}

/// Arguments whose axes are of size `n` where that is open; an int that is no size is 1.
fn arguments(p: &Program, n: usize) -> Vec<Array> {
    let sizes: Vec<Atom> = p.params.iter().flat_map(|v| p.ty(*v).dims.clone()).collect();
    let size = |a: &Atom| a.as_int().and_then(|n| usize::try_from(n).ok()).unwrap_or(n);
    let argument = |(k, v): (usize, &Var)| {
        let ty = p.ty(*v);
        let dims: Vec<usize> = ty.dims.iter().map(size).collect();
        let element = |i: usize| match ty.base {
            BaseTy::F64 => Scalar::F64(((7 * i + 3 * k) % 11) as f64 * 0.75 + 0.5),
            BaseTy::Bool => Scalar::Bool(n % 2 == 1),
            _ if sizes.contains(&Atom::Var(*v)) => Scalar::I64(n as i64),
            _ => Scalar::I64(1),
        };
        let data = (0..dims.iter().product()).map(element).collect();
        Array { base: ty.base, dims, data: Rc::new(data) }
    };
    p.params.iter().enumerate().map(argument).collect()
}

fn check(p: &Program) {
    verify::verify(p).unwrap_or_else(|e| panic!("{e}\n{}", print::print_program(p)));
}

/// The iterations of a program, as `map2(reduce sum)` for a map over two axes of such a thing; with the
/// number of their results where there are several (`reduce:2`). `lit` is a literal.
pub(super) fn shape(p: &Program) -> String {
    body_shape(&p.body)
}

fn body_shape(body: &Body) -> String {
    let parts: Vec<String> = body.stmts.iter().filter_map(stmt_shape).collect();
    parts.join(" ")
}

fn stmt_shape(s: &Stmt) -> Option<String> {
    let name = match &s.exp {
        Exp::Map { axes, .. } => format!("map{}", axes.len()),
        Exp::Reduce { .. } => "reduce".into(),
        Exp::Scan { .. } => "scan".into(),
        Exp::For { .. } => "for".into(),
        Exp::While { .. } => "while".into(),
        Exp::If { .. } => "if".into(),
        Exp::Literal { .. } => "lit".into(),
        Exp::View { .. } => "view".into(),
        Exp::Filter { .. } => "filter".into(),
        Exp::Grade { gives, .. } => gives.word().into(),
        Exp::Join { .. } => "join".into(),
        Exp::Scatter { .. } => "scatter".into(),
        Exp::Check { .. } => "check".into(),
        _ => return None,
    };
    let several = if s.pat.len() > 1 { format!(":{}", s.pat.len()) } else { String::new() };
    let inner: Vec<String> = s.exp.bodies().into_iter().map(body_shape).filter(|x| !x.is_empty()).collect();
    let inner = if inner.is_empty() { String::new() } else { format!("({})", inner.join(" ")) };
    Some(format!("{name}{several}{inner}"))
}

/// The number of scalar operators, those inside iterations counted once.
pub(super) fn ops(p: &Program) -> usize {
    let mut n = 0;
    p.body.for_each_stmt(&mut |s| n += usize::from(matches!(s.exp, Exp::Op(..))));
    n
}

//! Every function of scalars in the prelude at every type that its class allows, on scalars and on vectors:
//! compiled code gives what the interpreter gives.
//!
//! The functions are read from the prelude's types, so that a new one is tested without further ado. The
//! numbers are inputs of an entry: nothing can be computed before the program runs.

use crate::{remc, stderr, stdout};
use libtest_mimic::{Failed, Trial};
use remc_base::{BaseTy, Class};
use remc_driver::Session;

pub fn trials() -> Vec<Trial> {
    let numbers = BaseTy::ALL.into_iter().filter(|t| t.is_in(Class::Num));
    let mut trials: Vec<Trial> =
        numbers.map(|t| Trial::test(format!("arithmetic::{}", t.name()), move || agree(t))).collect();
    trials.push(Trial::test("arithmetic::finds_functions", finds_functions));
    trials
}

/// A function of scalars, with how many arguments, and the class of their type.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Function {
    name: String,
    class: Class,
    arity: usize,
    /// Whether it is one into the reals, whose last digits differ from device to device.
    real: bool,
}

/// The functions whose type is `(∀ ((t class)) (→ (t …) τ))`, and `expt` with its two types.
fn functions() -> Vec<Function> {
    let session = Session::default();
    let read = |e: remc_driver::doc::Entry| {
        let rest = e.ty.strip_prefix("(∀ ((t ")?;
        let (class, rest) = rest.split_once(')')?;
        let (_, rest) = rest.split_once("(→ (")?;
        let (params, ret) = rest.split_once(") ")?;
        let params: Vec<&str> = params.split(' ').collect();
        let scalars = params.iter().all(|p| ["t", "u"].contains(p));
        let exact = ["/", "sqrt", "square-root"].contains(&e.name.as_str());
        let real = ret.starts_with("(Quot") && !exact || ["expt", "**"].contains(&e.name.as_str());
        scalars.then_some(Function {
            name: e.name,
            class: Class::from_name(class)?,
            arity: params.len(),
            real,
        })
    };
    remc::doc::prelude(&session).into_iter().filter_map(read).collect()
}

/// The test tests something.
fn finds_functions() -> Result<(), Failed> {
    let found = functions();
    for (name, class, arity) in [
        ("+", Class::Num, 2),
        ("expt", Class::Num, 2),
        ("popcount", Class::Int, 1),
        ("square", Class::Num, 1),
    ] {
        if !found.iter().any(|f| f.name == name && f.class == class && f.arity == arity) {
            return Err(format!("`{name}` is not among {found:?}").into());
        }
    }
    if found.len() < 50 { Err(format!("only {found:?}").into()) } else { Ok(()) }
}

/// First operands, second operands that are no 0, and exponents that are not negative.
fn operands(t: BaseTy) -> [String; 3] {
    let second = if t.is_float() { "2.0 -3.0 0.5 7.0 -1.0 3.0 -1.5 inf" } else { "2 3 5 7 1 3 9 2" };
    let first = match t.integer_range() {
        Some((0, most)) => format!("0 1 3 7 100 {most} {} 5", most - 1),
        Some((least, most)) => format!("0 -1 3 -7 100 {most} {least} {}", least + 1),
        None => "-7.5 -0.0 0.0 0.5 1.0 3.25 -inf nan".to_owned(),
    };
    let signed = matches!(t.integer_range(), Some((least, _)) if least < 0);
    let second = if signed { "2 -3 5 7 -1 3 -1 2" } else { second };
    [first, second.to_owned(), "2 0 5 7 1 3 1 2".to_owned()]
}

fn agree(t: BaseTy) -> Result<(), Failed> {
    let functions: Vec<Function> = functions().into_iter().filter(|f| t.is_in(f.class)).collect();
    let [xs, ys, ks] = operands(t);
    let type_name = t.name();
    let calls = functions.iter().flat_map(|f| {
        let second = if ["expt", "**"].contains(&f.name.as_str()) { "k" } else { "y" };
        let of = |x: &str, y: &str| match f.arity {
            1 => format!("({} {x})", f.name),
            2 => format!("({} {x} {y})", f.name),
            // Any more are the second again.
            n => format!("({} {x}{})", f.name, format!(" {y}").repeat(n - 1)),
        };
        [of("x", second), of("(index-item x 2)", &format!("(index-item {second} 2)"))]
    });
    // What reduces and orders takes every number type too.
    let others = ["(sum x)", "(product y)", "(min x)", "(max x)", "(argmin x)", "(argmax x)", "(sort x)"];
    let more = ["(grade x)", "(dot y y)", "(iscan max2 x)", "(reduce min2 y)", "(cast f64 x)", "(cast u8 x)"];
    let all: Vec<String> = calls.chain(others.iter().chain(&more).map(|s| s.to_string())).collect();
    let program = format!(
        "(entry (main [x [{type_name} n]] [y [{type_name} n]] [k [{type_name} n]])\n  (values\n    {}))",
        all.join("\n    ")
    );
    let run = |device: &str| -> Result<Vec<String>, Failed> {
        let inputs = [format!("x=[{xs}]"), format!("y=[{ys}]"), format!("k=[{ks}]")];
        let mut command = remc();
        command.args(["run", "-e", &program, "--device", device]);
        inputs.iter().for_each(|i| {
            command.args(["--input", i]);
        });
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("{device}: {}", stderr(&output)).into());
        }
        Ok(parts(&stdout(&output)))
    };
    let (wanted, found) = (run("interp")?, run("cpu")?);
    if wanted.len() != all.len() || found.len() != all.len() {
        return Err(format!("{} calls, {} and {} values", all.len(), wanted.len(), found.len()).into());
    }
    let mut wrong = String::new();
    for (i, ((call, wanted), found)) in all.iter().zip(&wanted).zip(&found).enumerate() {
        let real = functions.get(i / 2).is_some_and(|f| f.real) || i / 2 >= functions.len() && t.is_float();
        if wanted != found && !(real && nearly(t, wanted, found)) {
            wrong.push_str(&format!("{call}: interp {wanted}, cpu {found}\n"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// The parts of `(values a [b c] …)`.
fn parts(text: &str) -> Vec<String> {
    let inside = text.trim().strip_prefix("(values ").and_then(|t| t.strip_suffix(')')).unwrap_or_default();
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in inside.chars() {
        depth += i32::from(c == '[' || c == '(') - i32::from(c == ']' || c == ')');
        match parts.last_mut() {
            Some(last) if c != ' ' || depth > 0 => last.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts
}

/// Whether two values differ by a few units in the last place of their floats alone.
fn nearly(t: BaseTy, a: &str, b: &str) -> bool {
    let allowed = match t {
        BaseTy::F16 => 4e-3,
        BaseTy::F32 => 1e-6,
        _ => 1e-13,
    };
    let numbers = |s: &str| -> Option<Vec<f64>> {
        s.trim_matches(['[', ']']).split(' ').map(|n| n.parse().ok()).collect()
    };
    let (Some(a), Some(b)) = (numbers(a), numbers(b)) else { return false };
    let close = |x: f64, y: f64| {
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= allowed * x.abs().max(y.abs())
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| close(*x, *y))
}

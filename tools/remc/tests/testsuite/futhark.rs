//! Printed Futhark. Each program of `programs/` that is compiled is printed, read back, checked by the rules of
//! Futhark as `tools/futhark` knows them, and run on its inputs: the value is that of `NAME.out`. A program of
//! `reject/` that stops when it runs stops there too. `testsuite/futhark/` has texts for people to read.

use crate::compiled::{self, not_compiled};
use crate::{directives, expect_file, files, root, stem};
use libtest_mimic::{Failed, Trial};
use remc_base::{BaseTy, IVar, IndexValue, Scalar, Value};
use remc_driver::Session;
use remc_driver::compile::{CompileError, Options, Stop};
use remc_futhark_check::check::check;
use remc_futhark_check::eval;
use remc_futhark_check::value::{self, Fault};
use remc_interp::solve_indices;
use remc_mono::eval::Array;
use remc_mono::ir::{Atom, Program, Var};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Programs whose steps are too many to be taken one by one: they are only checked.
const TOO_LARGE: [&str; 1] = ["parallel-reduce-empty"];

pub fn trials() -> Vec<Trial> {
    let trial = |kind: &str, path: PathBuf, work: fn(&Path) -> Result<(), String>| {
        let name = stem(&path);
        Trial::test(format!("{kind}::{name}"), move || on_a_large_stack(path, work))
    };
    let mut trials = compiled::programs(|path, code| match code {
        None => trial("futhark", path, gives_its_value),
        Some(_) => trial("futhark", path, is_refused),
    });
    trials.extend(compiled::stopping(|path, _| trial("futhark_stops", path, stops)));
    for e in crate::examples::all() {
        trials.push(trial("futhark_checked", e.path, keeps_the_rules));
    }
    for path in files("futhark", "remora") {
        trials.push(trial("futhark_text", path, has_its_text));
    }
    trials
}

fn on_a_large_stack(path: PathBuf, work: fn(&Path) -> Result<(), String>) -> Result<(), Failed> {
    let thread = std::thread::Builder::new().stack_size(1 << 29).spawn(move || work(&path))?;
    match thread.join() {
        Ok(done) => done.map_err(Failed::from),
        Err(_) => Err("a panic".into()),
    }
}

/// A program as Mono, with what it is run on.
struct Compiled {
    program: std::sync::Arc<Program>,
    text: String,
    signature: Vec<IVar>,
    indices: Vec<IndexValue>,
    arguments: Vec<Value>,
}

/// The program as remc prints it; `None` if it is not compiled.
fn compile(path: &Path) -> Result<Option<Compiled>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let arguments = directives(&text).arguments;
    let (mut entry, mut inputs) = (None, Vec::new());
    for pair in arguments.chunks(2) {
        match pair {
            [option, name] if option == "--entry" => entry = Some(name.clone()),
            [_, input] => {
                let (name, value) = input.split_once('=').ok_or("an input without a value")?;
                // Data files are named from the root, with what is in them after a colon.
                let file = root().join(value.split(':').next().unwrap_or_default());
                let value =
                    if file.exists() { root().join(value).display().to_string() } else { value.to_owned() };
                inputs.push((name.to_owned(), value));
            }
            _ => {}
        }
    }
    let mut session = Session::default();
    let file = session.load(path).map_err(|e| e.reason())?;
    if let Some(d) = session.diagnostics(file).iter().find(|d| d.is_error()) {
        return Err(format!("{}: {}", d.code, d.message));
    }
    let entries = session.entries(file);
    let target = match &entry {
        Some(name) => entries.iter().find(|d| d.name(&session.db).as_str() == name).copied(),
        None => session.value(file).or(entries.first().copied()),
    };
    let target = target.ok_or("there is nothing to compile")?;
    let linked = session.link(file, &[target]);
    let global = target.global(&session.db);
    let definition = linked.get(&global).ok_or("no definition")?;
    let (mut signature, mut indices, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    // A text alone needs no inputs.
    if let Some(sig) = definition.entry.as_ref().filter(|_| !inputs.is_empty()) {
        arguments =
            remc::inputs::read_all(&global.name, sig, &inputs, &remc_runtime::budget::Budget::of(None))
                .map_err(|f| format!("an input: {f:?}"))?;
        indices = solve_indices(sig, &arguments).map_err(|m| format!("an input: {m:?}"))?;
        signature = sig.indices.clone();
    }
    let options = Options { to: Some("mono"), ..Options::default() };
    let ranks = remc::boundary::ranks(&indices);
    let program = match session.compile(file, &[target], &ranks, options) {
        Ok(Stop::Mono(program)) => program,
        Ok(_) => return Err("the pipeline ended elsewhere".into()),
        Err(CompileError::Limitation(_) | CompileError::TooLarge(_)) => return Ok(None),
        Err(e) => return Err(format!("{e:?}")),
    };
    let text = remc::futhark::text(&session, &program).map_err(|f| format!("{f:?}"))?;
    Ok(Some(Compiled { program, text, signature, indices, arguments }))
}

fn gives_its_value(path: &Path) -> Result<(), String> {
    let c = compile(path)?.ok_or("it is not compiled")?;
    let value = run(&c).map_err(|e| format!("{e}\n{}", c.text))?;
    let value = value.map_err(|fault| format!("{fault:?}\n{}", c.text))?;
    let found = remc_runtime::text::print(&value) + "\n";
    let expected = std::fs::read_to_string(path.with_extension("out")).map_err(|e| e.to_string())?;
    // Of several expressions the last is the file's value.
    let expected = expected.split_inclusive('\n').next_back().unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    Err(format!("the value is {found}and not {expected}\n{}", c.text))
}

fn is_refused(path: &Path) -> Result<(), String> {
    match compile(path)? {
        None => Ok(()),
        Some(c) => Err(format!("it is printed:\n{}", c.text)),
    }
}

/// It stops, if it is compiled.
fn stops(path: &Path) -> Result<(), String> {
    let known = not_compiled().contains_key(&format!("reject/{}", stem(path)));
    let c = match (compile(path)?, known) {
        (None, true) => return Ok(()),
        (Some(c), false) => c,
        (c, _) => return Err(format!("whether it is compiled: {}", c.is_some())),
    };
    if TOO_LARGE.contains(&stem(path).as_str()) {
        return check(&c.text).map(|_| ()).map_err(|e| format!("{e}\n{}", c.text));
    }
    match run(&c).map_err(|e| format!("{e}\n{}", c.text))? {
        Err(Fault::Stop(_)) => Ok(()),
        other => Err(format!("it gives {other:?}\n{}", c.text)),
    }
}

/// For programs with more data than is looked at here.
fn keeps_the_rules(path: &Path) -> Result<(), String> {
    let c = compile(path)?.ok_or("it is not compiled")?;
    check(&c.text).map(|_| ()).map_err(|e| format!("{e}\n{}", c.text))
}

fn has_its_text(path: &Path) -> Result<(), String> {
    let c = compile(path)?.ok_or("it is not compiled")?;
    check(&c.text).map_err(|e| format!("{e}\n{}", c.text))?;
    expect_file(&path.with_extension("fut"), &c.text)
        .map_err(|e| e.message().unwrap_or("it differs").to_owned())
}

/// Checks the text and runs its entry.
fn run(c: &Compiled) -> Result<Result<Value, Fault>, String> {
    let p = &c.program;
    let checked = check(&c.text).map_err(|e| e.to_string())?;
    let params = remc_mono::eval::arguments(p, &c.indices, &c.arguments).map_err(|e| format!("{e:?}"))?;
    let interface = remc_futhark::interface::interface(p);
    let given = interface.params.iter().zip(&params).filter(|(q, _)| !q.implicit);
    let args = given.map(|(_, a)| argument(a)).collect();
    let entry = checked.defs.iter().find(|d| d.entry).ok_or("there is no entry")?.name.clone();
    let value = match eval::run(&checked, &entry, args) {
        Ok(value) => value,
        Err(fault) => return Ok(Err(fault)),
    };
    let parts = match (&value, interface.given.len()) {
        (_, 0) => Vec::new(),
        (_, 1) => vec![value],
        (value::Value::Tuple(parts), n) if parts.len() == n => parts.to_vec(),
        (other, n) => return Err(format!("{other:?} instead of {n} results")),
    };
    // What sizes stand for, as far as what is given and taken tells.
    let mut known: HashMap<Var, usize> = HashMap::new();
    for (v, a) in p.params.iter().zip(&params) {
        if let ([], Some(Scalar::I64(n))) = (a.dims.as_slice(), a.data.first()) {
            known.insert(*v, *n as usize);
        }
    }
    for (k, part) in interface.given.iter().zip(&parts) {
        match (&p.body.results[*k], part) {
            (Atom::Var(v), value::Value::Scalar(Scalar::I64(n))) => {
                known.insert(*v, *n as usize);
            }
            (Atom::Var(v), value::Value::Array { shape, .. }) => {
                for (axis, (d, n)) in p.ty(*v).dims.iter().zip(shape).enumerate() {
                    // Behind an axis without items a length may be lost.
                    let sure = shape[..axis].iter().all(|n| *n > 0);
                    if let (Atom::Var(d), true) = (d, sure) {
                        known.entry(*d).or_insert(*n);
                    }
                }
            }
            _ => {}
        }
    }
    let mut results = Vec::new();
    for (k, a) in p.body.results.iter().enumerate() {
        let part = interface.given.iter().position(|g| *g == k).map(|at| &parts[at]);
        results.push(match (part, a) {
            (Some(part), a) => result(part, &p.atom_ty(*a), &known)?,
            (None, Atom::Const(c)) => Array::scalar(*c),
            (None, Atom::Var(v)) => match known.get(v) {
                Some(n) => Array::int(*n as i64),
                None => return Err(format!("nothing says result {k}")),
            },
        });
    }
    let closing = remc::boundary::closing(&c.signature, &c.indices);
    remc_mono::eval::value(&p.output, &results, &closing).map(Ok).map_err(|e| format!("{e:?}"))
}

/// A char is its code point.
fn argument(a: &Array) -> value::Value {
    let scalar = |s: &Scalar| {
        value::Value::Scalar(match s {
            Scalar::Char(c) => Scalar::U32(*c as u32),
            s => *s,
        })
    };
    match a.dims.as_slice() {
        [] => scalar(&a.data[0]),
        dims => {
            value::Value::Array { shape: dims.to_vec(), data: Rc::new(a.data.iter().map(scalar).collect()) }
        }
    }
}

fn result(v: &value::Value, ty: &remc_mono::ir::Ty, known: &HashMap<Var, usize>) -> Result<Array, String> {
    let scalar = |v: &value::Value| match (v, ty.base) {
        (value::Value::Scalar(Scalar::U32(c)), BaseTy::Char) => {
            char::from_u32(*c).map(Scalar::Char).ok_or("no char")
        }
        (value::Value::Scalar(s), base) if s.ty() == base => Ok(*s),
        _ => Err("a result of another type"),
    };
    match v {
        value::Value::Array { shape, data } => {
            let data: Vec<Scalar> = data.iter().map(scalar).collect::<Result<_, _>>()?;
            // The shape of what is empty is what its type says.
            let dims = shape.iter().zip(&ty.dims).map(|(n, d)| match d {
                Atom::Const(Scalar::I64(c)) => *c as usize,
                Atom::Var(v) => known.get(v).copied().unwrap_or(*n),
                Atom::Const(_) => *n,
            });
            let dims: Vec<usize> = if data.is_empty() { dims.collect() } else { shape.clone() };
            Ok(Array { base: ty.base, dims, data: data.into() })
        }
        v => Ok(Array::scalar(scalar(v)?)),
    }
}

//! Programs, run by the interpreter and as unoptimised Mono.

use remc_base::diag::Severity;
use remc_base::*;
use remc_driver::{Database, Session};
use remc_explicit::ir::Definition;
use remc_explicit::lower::explicitize;
use remc_interp::{Interp, solve_indices};
use remc_mono::eval::{self, Fault};
use remc_mono::ir::Program;
use remc_mono::limits::BuildError;
use remc_runtime::budget::Budget;
use remc_runtime::data::source::Meter;
use remc_runtime::data::{self, Place};
use remc_runtime::{literal, text};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Case {
    pub name: String,
    pub text: String,
}

/// What a run gives: the printed value, or the stop.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    Value(String),
    Stop { code: String, message: String, trace: Vec<(GlobalId, NodeId)> },
    Broken(String),
}

pub struct Ran {
    pub expected: Outcome,
    pub built: Result<Outcome, BuildError>,
    /// The program, and the values of its parameters; for the tests of later passes.
    pub program: Option<Program>,
    #[allow(dead_code)]
    pub params: Vec<eval::Array>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn on_a_large_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(f).unwrap();
    if let Err(e) = thread.join() {
        std::panic::resume_unwind(e);
    }
}

/// Compares with a file beside this one; `UPDATE_EXPECT=1` replaces it.
#[allow(dead_code)]
pub fn expect(what: &str, found: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/build_support/limitations-{what}.txt"));
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        std::fs::write(path, found).unwrap();
        return;
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), found);
}

fn files(folder: &str) -> Vec<Case> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(root().join("testsuite").join(folder))
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "remora"))
        .collect();
    all.sort();
    all.iter()
        .map(|p| Case {
            name: format!("{folder}/{}", p.file_stem().unwrap().to_string_lossy()),
            text: std::fs::read_to_string(p).unwrap(),
        })
        .collect()
}

/// The programs that have a value, and those that stop when they run; not those that stop amid a hundred
/// thousand elements, which are for compiled code.
pub fn testsuite() -> Vec<Case> {
    let stops = files("reject")
        .into_iter()
        .filter(|c| c.text.contains("; exit: 3") && !c.name.starts_with("reject/parallel-"))
        // The evaluator counts no array of 2^63 - 1 rows, though they hold nothing.
        .filter(|c| c.name != "reject/append-past-64-bits");
    files("programs").into_iter().chain(stops).collect()
}

/// A plain run takes one case of so many.
#[allow(dead_code)]
const PART: u64 = 5;

/// Those of some cases that a plain run takes for a test that does something else with each program.
#[allow(dead_code)]
pub fn sample(test: &str, cases: Vec<Case>) -> Vec<Case> {
    cases.into_iter().filter(|c| remc_sample::takes(PART, &format!("{test}: {}", c.name))).collect()
}

/// Those that every plain run takes.
#[allow(dead_code)]
pub fn plain_sample(test: &str, cases: Vec<Case>) -> Vec<Case> {
    cases.into_iter().filter(|c| remc_sample::in_plain_run(PART, &format!("{test}: {}", c.name))).collect()
}

/// The programs of `examples/`, on little data.
pub fn examples() -> Vec<Case> {
    let image = "; entry: main\n; input: image=[[1 2 3 4] [5 6 7 8] [9 10 11 12] [1 4 9 16]]\n";
    let digits = "; entry: main\n; input: train-images=[[0 0] [1 1] [5 2]]\n; input: train-labels=[7 8 9]\n\
        ; input: test-images=[[0 1] [4 2]]\n; input: test-labels=[7 8]\n";
    // What is added here is exact, in any order.
    let table = "; entry: main\n; input: table=[[1 2] [3 6] [5 1]]\n";
    let bodies = "; entry: main\n; input: positions=[[0 0 0] [3 4 0]]\n; input: velocities=[[0 0 0] [0 1 2]]\n\
        ; input: masses=[2 1]\n; input: softening=0.5\n; input: step=0.25\n; input: steps=3\n";
    [("blur", image), ("sobel", image), ("digits", digits), ("covariance", table), ("n-body", bodies)]
        .into_iter()
        .map(|(name, inputs)| {
            let text = std::fs::read_to_string(root().join(format!("examples/{name}.remora"))).unwrap();
            Case { name: name.into(), text: format!("{inputs}{text}") }
        })
        .collect()
}

/// The examples in the comments of the prelude that have a value, or stop when they run.
pub fn library() -> Vec<Case> {
    ["scalars", "arrays", "library"]
        .iter()
        .flat_map(|f| {
            let text = std::fs::read_to_string(root().join(format!("prelude/{f}.remora"))).unwrap();
            let lines = text.lines().filter_map(|l| l.strip_prefix("; ")?.split_once(" ⇒ "));
            let lines = lines.filter(|(_, value)| !value.starts_with("error E"));
            lines.map(|(e, _)| Case { name: e.trim().into(), text: e.trim().into() }).collect::<Vec<_>>()
        })
        .collect()
}

/// Programs, one a paragraph, with the inputs in their first lines. What they work on is known only when
/// they run, so that nothing is folded.
#[allow(dead_code)]
pub fn entries() -> Vec<Case> {
    [include_str!("entries.remora"), include_str!("shapes.remora")]
        .into_iter()
        .flat_map(|text| text.split("\n\n"))
        .filter(|p| p.contains("(entry"))
        .map(|p| Case { name: p.trim().to_owned(), text: p.trim().to_owned() })
        .collect()
}

pub struct Sessions(Session);

impl Sessions {
    pub fn new() -> Sessions {
        Sessions(Session::new(Database::default()))
    }

    /// Runs a program both ways; an error is a program that does not check.
    #[allow(dead_code)]
    pub fn run(&mut self, case: &Case) -> Result<Ran, String> {
        self.run_after(case, &|_| Ok(()))
    }

    /// The same, with some passes in between.
    pub fn run_after(
        &mut self,
        case: &Case,
        passes: &dyn Fn(&mut Program) -> Result<(), String>,
    ) -> Result<Ran, String> {
        let session = &mut self.0;
        let root = root();
        let directive = |key: &str| {
            let lines = case.text.lines().take_while(|l| l.starts_with(';'));
            lines
                .filter_map(|l| l.trim_start_matches([';', ' ']).strip_prefix(key))
                .map(|v| v.trim().to_owned())
                .collect::<Vec<_>>()
        };
        let file = session.load_text(&case.name, &root.join("testsuite/programs"), case.text.clone());
        if let Some(d) = session.diagnostics(file).iter().find(|d| d.severity == Severity::Error) {
            return Err(d.message.clone());
        }
        let named = directive("entry:").pop();
        let target = match &named {
            Some(name) => session.entries(file).into_iter().find(|d| d.name(&session.db).as_str() == name),
            None => session.value(file).or(session.entries(file).first().copied()),
        };
        let target = target.ok_or("nothing to run")?;
        let global = target.global(&session.db);
        let linked = session.link(file, &[target]);
        let typed = linked.get(&global).ok_or("no definition")?.clone();
        let interp = Interp::new(&linked, session.first_user_module());

        let mut arguments = vec![];
        let mut indices = vec![];
        let result = match &typed.entry {
            None => interp.eval_definition(&global),
            Some(sig) => {
                let given = directive("input:");
                for (name, ty) in &sig.params {
                    let value = given
                        .iter()
                        .find_map(|l| l.strip_prefix(name.as_str())?.strip_prefix('='))
                        .ok_or("an input is missing")?;
                    arguments.push(match Place::of(&root.join(value).display().to_string()) {
                        Some(place) => {
                            data::read(&place, name.as_str(), ty, &Meter::default(), &Budget::of(None))
                                .map_err(|e| format!("{e:?}"))?
                        }
                        None => literal::read(value, ty).map_err(|_| "not a literal")?,
                    });
                }
                indices = solve_indices(sig, &arguments).map_err(|m| m.reason)?;
                interp.call_entry(&typed, &indices, arguments.clone())
            }
        };
        let expected = match result {
            Ok(v) => Outcome::Value(text::print(&v)),
            Err(e) => Outcome::Stop { code: e.code.0.into(), message: e.message, trace: e.trace.into() },
        };

        let defs =
            |g: &GlobalId| -> Option<Arc<Definition>> { linked.get(g).map(|d| Arc::new(explicitize(d))) };
        let ranks: Vec<usize> = indices
            .iter()
            .filter_map(|i| if let IndexValue::Shape(s) = i { Some(s.len()) } else { None })
            .collect();
        let mut program = match remc_mono::build::build(&defs, &global, &ranks) {
            Ok(p) => p,
            Err(e) => return Ok(Ran { expected, built: Err(e), program: None, params: vec![] }),
        };
        if let Err(e) = remc_mono::verify::verify(&program) {
            let broken = Outcome::Broken(format!("verifier: {e:?}"));
            return Ok(Ran { expected, built: Ok(broken), program: Some(program), params: vec![] });
        }
        if let Err(broken) = passes(&mut program) {
            return Ok(Ran {
                expected,
                built: Ok(Outcome::Broken(broken)),
                program: None,
                params: Vec::new(),
            });
        }
        let mut subst = Subst::new();
        if let Some(sig) = &typed.entry {
            for (v, i) in sig.indices.iter().zip(&indices) {
                match i {
                    IndexValue::Dim(n) => subst.bind_dim(v, Dim::from(*n)),
                    IndexValue::Shape(s) => subst.bind_shape(v, Shape::of_sizes(s)),
                }
            }
        }
        let run = || {
            let results = eval::run(&program, &eval::arguments(&program, &indices, &arguments)?)?;
            eval::value(&program.output, &results, &subst)
        };
        let params = eval::arguments(&program, &indices, &arguments).unwrap_or_default();
        let found = match run() {
            Ok(v) => Outcome::Value(text::print(&v)),
            Err(Fault::Stop { trap, values, trace }) => {
                let stop = trap.report(&values);
                let trace = trace.into_iter().take(100).collect();
                Outcome::Stop { code: stop.code.0.into(), message: stop.message, trace }
            }
            Err(Fault::Bug(m)) => Outcome::Broken(m),
            Err(Fault::Long) => Outcome::Broken("too many steps".into()),
        };
        Ok(Ran { expected, built: Ok(found), program: Some(program), params })
    }
}

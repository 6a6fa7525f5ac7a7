//! Every code path is taken, by the cpu device and by the emulated one.
//!
//! A plain run takes a sample of the programs for each device, drawn by lot ([`remc_sample`]). What is left to no lot is
//! here. All programs are compiled, for processors and for a GPU, so that the verifiers and the race checker look at
//! all of them, and printed as CUDA. What is in their kernels says which paths of the devices they take; where no
//! program of the sample takes a path, the one of those that do whose lot is the least is run, too. So a program that
//! is the first of its path is always run, and no list has to be kept.

use crate::compiled::{self, Way, not_compiled};
use crate::examples;
use crate::kernels::{STACK, Tuning, compile};
use crate::{Directives, cpu, directives, emulated, files, is_taken, root, stem};
use libtest_mimic::{Failed, Trial};
use remc_driver::Session;
use remc_kernel::ir::{Exp, How, Program, Range, Stmt, StmtKind, Ty};
use remc_runtime::data::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that compile.
const WORKERS: usize = 2;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("paths::cpu", || every_path_is_taken("cpu", Tuning::default(), &cpu::WAYS)),
        Trial::test("paths::emulated", || every_path_is_taken("emulated", Tuning::gpu(), emulated::plain())),
    ]
}

/// A program, or an example, and what it is run on.
pub type Given = (PathBuf, Directives);

/// Programs that are compiled, in the order of their names, and then the examples.
pub fn programs() -> Vec<Given> {
    let refused = not_compiled();
    let known = |p: &PathBuf| !refused.contains_key(&format!("programs/{}", stem(p)));
    let of = |p: PathBuf| {
        let d = directives(&std::fs::read_to_string(&p).unwrap_or_default());
        (p, d)
    };
    let programs = files("programs", "remora").into_iter().filter(known).map(of);
    let compiled = |e: &examples::Example| !refused.contains_key(&format!("examples/{}", stem(&e.path)));
    let examples = examples::all().into_iter().filter(compiled).map(|e| (e.path, e.directives));
    programs.chain(examples).collect()
}

/// Compiles a program; an error names it.
pub fn kernels(session: &mut Session, (path, d): &Given, tuning: Tuning) -> Result<Program, String> {
    let about = |e: String| format!("{}: {e}", stem(path));
    let text = std::fs::read_to_string(path).map_err(|e| about(e.to_string()))?;
    let (entry, inputs) = inputs(d);
    Ok(compile(session, &text, entry, &inputs, tuning).map_err(about)?.program.as_ref().clone())
}

/// A program's entry and inputs, paths from the root of the repository.
pub fn inputs(d: &Directives) -> (Option<&str>, Vec<(String, String)>) {
    let mut entry = None;
    let mut inputs = Vec::new();
    for pair in d.arguments.chunks(2) {
        let [option, value] = pair else { continue };
        match (option.as_str(), value.split_once('=')) {
            ("--entry", _) => entry = Some(value.as_str()),
            ("--input", Some((name, value))) => {
                let file = root().join(value.trim()).display().to_string();
                let value = if Place::of(&file).is_some() { file } else { value.to_owned() };
                inputs.push((name.trim().to_owned(), value));
            }
            _ => {}
        }
    }
    (entry, inputs)
}

/// Does something with each of some programs, in threads; what comes of it, in the order of the programs, or all that
/// went wrong.
pub fn with_each<T: Send>(
    programs: &[Given],
    work: impl Fn(&mut Session, &Given) -> Result<T, String> + Sync,
) -> Result<Vec<T>, Failed> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut session = Session::default();
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(given) = programs.get(at) else { return done };
            done.push((at, work(&mut session, given)));
        }
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<_>, Failed> {
        let start = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, some);
        let workers = (0..WORKERS).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
        let done = workers.into_iter().map(|w| w.join().map_err(|_| Failed::from("a panic")));
        Ok(done.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    })?;
    done.sort_by_key(|(at, _)| *at);
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for (_, one) in done {
        match one {
            Ok(value) => right.push(value),
            Err(e) => wrong.push(e),
        }
    }
    if wrong.is_empty() { Ok(right) } else { Err(wrong.join("\n").into()) }
}

fn every_path_is_taken(device: &str, tuning: Tuning, ways: &[Way]) -> Result<(), Failed> {
    let all = programs();
    let taken = with_each(&all, |session, given| {
        let program = kernels(session, given, tuning)?;
        if device == "emulated" {
            remc_cuda::plan(&program, &|_| None).map_err(|e| format!("{}: {e}", stem(&given.0)))?;
        }
        Ok(paths(&program))
    })?;
    // Each path, and the lots of the programs that take it; examples are no part of the sample.
    let mut takers: BTreeMap<&str, BTreeSet<(u64, usize)>> = BTreeMap::new();
    let mut sampled = BTreeSet::new();
    for (k, (taken, (path, _))) in taken.iter().zip(&all).enumerate() {
        let name = format!("{device}::{}", stem(path));
        let is_program = path.starts_with(root().join("testsuite/programs"));
        if is_program && is_taken(&name) {
            sampled.extend(taken.iter().map(String::as_str));
        }
        for path in taken.iter().filter(|_| is_program) {
            takers.entry(path).or_default().insert((remc_sample::rank(&name), k));
        }
    }
    let left: Vec<&str> = takers.keys().copied().filter(|p| !sampled.contains(p)).collect();
    let first: BTreeSet<usize> =
        left.iter().filter_map(|p| takers.get(p)?.first()).map(|(_, k)| *k).collect();
    println!(
        "{} paths, {} of them taken by {} programs beside the sample",
        takers.len(),
        left.len(),
        first.len()
    );
    let is_there = device != "emulated" || emulated::is_there();
    for k in first.into_iter().filter(|_| is_there) {
        let (path, _) = &all[k];
        compiled::gives_its_value(path, ways).map_err(|e| format!("{}: {}", stem(path), said(&e)))?;
    }
    Ok(())
}

fn said(e: &Failed) -> &str {
    e.message().unwrap_or("it fails")
}

/// What a program's kernels and its plan have in them: for each kind of kernel the statements that there are, and
/// what loops are in what loops.
fn paths(p: &Program) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = |kernel: &str, body: &[Stmt]| block(p, kernel, body, &mut found);
    for (_, k) in p.kernels.iter() {
        inside(k.name.as_str(), &k.body);
    }
    inside("plan", &p.plan);
    found
}

fn block(p: &Program, inside: &str, body: &[Stmt], found: &mut BTreeSet<String>) {
    for s in body {
        let Some(kind) = kind(p, s) else { continue };
        let path = format!("{inside}: {kind}");
        let within = match &s.kind {
            StmtKind::For { .. } | StmtKind::While { .. } => format!("{} {kind}", first_word(inside)),
            _ => inside.to_owned(),
        };
        found.insert(path);
        match &s.kind {
            StmtKind::For { body, .. } | StmtKind::Chain { body, .. } | StmtKind::Collective { body, .. } => {
                block(p, &within, body, found);
            }
            StmtKind::While { cond, body, .. } => {
                block(p, &within, cond, found);
                block(p, &within, body, found);
            }
            StmtKind::If { then, otherwise, .. } => {
                block(p, &within, then, found);
                block(p, &within, otherwise, found);
            }
            _ => {}
        }
    }
}

/// The kernel that a path begins with.
fn first_word(path: &str) -> &str {
    path.split(' ').next().unwrap_or(path)
}

/// A statement that is a path of its own.
fn kind(p: &Program, s: &Stmt) -> Option<String> {
    let space = |v| match p.ty(v) {
        Ty::Buffer(b) => format!("{:?}", b.space),
        Ty::Scalar(_) => String::new(),
    };
    Some(match &s.kind {
        StmtKind::For { how, range, carried, .. } => {
            let how = match how {
                How::Seq => "seq",
                How::Lanes(_) => "lanes",
                How::Scan(_) => "scan",
                How::Jam(_) => "jam",
            };
            let range = match range {
                Range::Upto { .. } => "upto",
                Range::Tile { .. } => "tile",
                Range::Share { .. } => "share",
            };
            format!("{how}-{range}{}", if carried.is_empty() { "" } else { "-carried" })
        }
        StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } => format!("load {}", space(*buffer)),
        // Scalars have tests of their own, all of them.
        StmtKind::Let { .. } => return None,
        StmtKind::Store { buffer, .. } => format!("store {}", space(*buffer)),
        StmtKind::While { .. } => "while".into(),
        StmtKind::If { .. } => "if".into(),
        StmtKind::Chain { .. } => "chain".into(),
        StmtKind::Points { .. } => "points".into(),
        StmtKind::Barrier => "barrier".into(),
        StmtKind::Collective { scan: true, .. } => "collective scan".into(),
        StmtKind::Collective { scan: false, .. } => "collective".into(),
        StmtKind::Update { buffer, .. } => format!("update {}", space(*buffer)),
        StmtKind::Check { .. } => "check".into(),
        StmtKind::Alloc { buffer } => format!("alloc {}", space(*buffer)),
        StmtKind::Free { .. } => "free".into(),
        StmtKind::Alias { .. } => "alias".into(),
        StmtKind::Slice { .. } => "slice".into(),
        StmtKind::Launch { .. } => "launch".into(),
        StmtKind::Sort { .. } => "sort".into(),
        StmtKind::Pull { .. } => "pull".into(),
        StmtKind::Push { .. } => "push".into(),
    })
}

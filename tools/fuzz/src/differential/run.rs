//! One program on several devices, in this process: the interpreter's value and those of compiled code.

use super::program::{ENTRY, Program};
use crate::rng::Rng;
use remc::report::Failure;
use remc::{cpu, emulated};
use remc_base::{Code, Diagnostic, Span, Value};
use remc_driver::compile::{CompileError, Options, Schedule, Stop, Target, Tuning};
use remc_driver::render::{Style, render};
use remc_driver::{Session, SourceFile};
use remc_flat::flatten::Thresholds;
use remc_interp::{Interp, RuntimeError, solve_indices};
use remc_llvm::Pipeline;
use remc_runtime::cpu::{Cpu, CpuOptions};
use std::cell::RefCell;
use std::path::Path;

/// Why a program stopped, as it is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped {
    pub code: Code,
    pub message: String,
    pub at: Option<Span>,
}

/// What a device made of a program.
pub type Made = Result<Value, Stopped>;

/// What happened, up to the values.
pub enum Ran {
    /// The interpreter's, and for each number of threads the compiled code's; the emulated device's, where it
    /// was asked. `parallel` says that a kernel ran in several blocks.
    Both {
        expected: Box<Made>,
        found: Vec<(usize, Made)>,
        /// Under some settings of the thresholds, with each number of threads.
        tuned: Vec<(Vec<i64>, Vec<Made>)>,
        emulated: Option<Box<Made>>,
        parallel: bool,
    },
    /// A construct that is not compiled: what is said of it.
    Limited(String),
    /// The checker refuses it: the generator's mistake, or the checker's.
    Refused(String),
    /// The compiler's mistake.
    Bug(String),
}

/// The cpu device with some numbers of threads, and perhaps the emulated one.
pub struct Devices {
    cpu: Vec<(usize, Cpu)>,
    emulated: bool,
}

impl Devices {
    /// The emulated device ends the process where it finds something, and asks for a C++ compiler.
    pub fn new(emulated: bool) -> Devices {
        let with = |threads| (threads, Cpu::new(CpuOptions { threads, ..CpuOptions::default() }));
        Devices { cpu: [1, 2, 5].map(with).into(), emulated }
    }
}

impl Default for Devices {
    fn default() -> Devices {
        Devices::new(false)
    }
}

/// Operations of a block, where blocks are small.
const FINE: i64 = 16;

/// The session of a thread is used for some edits, so that the prelude is checked seldom.
const EDITS: usize = 400;

thread_local! {
    static SESSION: RefCell<Option<(Session, SourceFile, usize)>> = const { RefCell::new(None) };
}

/// Runs the program on the interpreter and on the devices; on the cpu with every number of threads if `all`
/// says so, else with the first alone.
pub fn run(program: &Program, devices: &Devices, all: bool) -> Ran {
    let text = program.text();
    // Taken out while in use, so that none survives a panic.
    let (session, file, edits) = match SESSION.take() {
        Some((mut session, file, edits)) if edits < EDITS => {
            session.set_text(file, text);
            (session, file, edits + 1)
        }
        _ => {
            let mut session = Session::default();
            let file = session.load_text("generated.remora", Path::new(""), text);
            (session, file, 0)
        }
    };
    let count = if all { devices.cpu.len() } else { 1 };
    let ran = in_session(&session, file, program, &devices.cpu[..count], devices.emulated);
    SESSION.set(Some((session, file, edits)));
    ran
}

fn in_session(
    session: &Session,
    file: SourceFile,
    program: &Program,
    devices: &[(usize, Cpu)],
    emulated: bool,
) -> Ran {
    let errors: Vec<_> = session.diagnostics(file).into_iter().filter(Diagnostic::is_error).collect();
    if !errors.is_empty() {
        return Ran::Refused(render(session, &errors, Style::Short, false));
    }
    let entries = session.entries(file);
    let Some(target) = entries.iter().find(|d| d.name(&session.db).as_str() == ENTRY).copied() else {
        return Ran::Refused("there is no entry".into());
    };
    let linked = session.link(file, &[target]);
    let global = target.global(&session.db);
    let Some(definition) = linked.get(&global) else { return Ran::Bug("no definition".into()) };
    let Some(signature) = &definition.entry else { return Ran::Bug("no signature".into()) };
    if let Err(bug) = session.verify(&linked, file) {
        return Ran::Bug(bug.message);
    }
    let inputs: Vec<Value> = program.params.iter().map(|p| p.input.clone()).collect();
    let indices = match solve_indices(signature, &inputs) {
        Ok(indices) => indices,
        Err(m) => return Ran::Refused(format!("the inputs do not fit: {m:?}")),
    };
    // Any schedule gives the same: a third of the programs have one at random.
    let mut rng = Rng::new(program.text().len() as u64 ^ 0x5eed);
    let schedule = match rng.below(3) {
        0 => Schedule::drawn(&mut |n| rng.below(n as usize) as u64),
        _ => Schedule::default(),
    };
    let scheduled = |threads| Target { threads, schedule };
    let tuning = if program.fine {
        let thresholds = Thresholds { row_long: 5, ..Thresholds::tiny(3) };
        Tuning { thresholds, target: scheduled(false).grained(FINE), ..Tuning::default() }
    } else {
        Tuning { target: scheduled(false), ..Tuning::default() }
    };
    let compile = |tuning| {
        let options = Options { tuning, ..Options::default() };
        match session.compile(file, &[target], &[], options) {
            Ok(Stop::Kernel(kernels)) => Ok(kernels.program.clone()),
            Ok(_) => Err(Ran::Bug("the pipeline ended early".into())),
            Err(CompileError::Limitation(told)) => Err(Ran::Limited(format!("{told:?}"))),
            Err(CompileError::TooLarge(told)) => Err(Ran::Limited(told.to_string())),
            Err(CompileError::Bug(bug)) => Err(Ran::Bug(format!("{}: {}", bug.stage, bug.message))),
            Err(told) => Err(Ran::Bug(format!("{told:?}"))),
        }
    };
    let kernel = match compile(tuning) {
        Ok(kernel) => kernel,
        Err(ran) => return ran,
    };
    let interp = Interp::new(&linked, session.first_user_module());
    let expected = match interp.call_entry(definition, &indices, inputs.clone()) {
        Ok(value) => Ok(value),
        Err(e) if e.code == remc_interp::codes::INTERNAL => {
            return Ran::Bug(format!("the interpreter: {}", e.message));
        }
        Err(e) => Err(stopped(session, &e)),
    };
    let failed = |f: Failure| match f {
        Failure::Bug(bug) => Ran::Bug(format!("{}: {}", bug.stage, bug.message)),
        f => Ran::Bug(format!("{f:?}")),
    };
    // Nearly all of the time goes into optimised code.
    let pipeline = if program.plain { Pipeline::Plain } else { Pipeline::default() };
    let code = match cpu::build(session, kernel, pipeline) {
        Ok(code) => code,
        Err(f) => return failed(f),
    };
    let mut found = vec![];
    let mut parallel = false;
    for (threads, device) in devices {
        match cpu::run(
            session,
            &code,
            device,
            (&signature.indices, &indices),
            (inputs.clone(), remc::boundary::Streaming::default()),
            1,
        ) {
            Ok(Ok(ran)) => {
                let Some(value) = ran.value else { return Ran::Bug("a run without a value".into()) };
                parallel |= ran.stats.kernels.iter().any(|k| k.blocks > k.launches);
                found.push((*threads, Ok(value)));
            }
            Ok(Err(e)) => found.push((*threads, Err(stopped(session, &e)))),
            Err(f) => return failed(f),
        }
    }
    // Each threshold at a value of its own: any mixture of versions gives the same.
    let mut tuned = vec![];
    for setting in settings(cpu::thresholds(&code).len(), program) {
        let mut made = vec![];
        for (_, device) in devices {
            let indices = (signature.indices.as_slice(), indices.as_slice());
            match cpu::run_under(session, &code, device, indices, inputs.clone(), &setting) {
                Ok(ran) => made.push(ran.map_err(|e| stopped(session, &e))),
                Err(f) => return failed(f),
            }
        }
        tuned.push((setting, made));
    }
    let mut ran = None;
    if emulated {
        let tuning = if program.fine {
            let target = scheduled(true).grained(FINE);
            let thresholds = Thresholds::tiny(3).for_threads();
            Tuning { thresholds, target, ..Tuning::gpu() }
        } else {
            Tuning { target: scheduled(true), ..Tuning::gpu() }
        };
        let kernel = match compile(tuning) {
            Ok(kernel) => kernel,
            Err(ran) => return ran,
        };
        ran = match emulated::run(session, &kernel, (&signature.indices, &indices), &inputs) {
            Ok(made) => Some(Box::new(made.map_err(|e| stopped(session, &e)))),
            Err(f) => return failed(f),
        };
    }
    Ran::Both { expected: Box::new(expected), found, tuned, emulated: ran, parallel }
}

/// Some settings of so many thresholds: all versions for large sizes, all for small ones, and mixtures.
fn settings(count: usize, program: &Program) -> Vec<Vec<i64>> {
    const VALUES: [i64; 6] = [0, 1, 2, 3, 7, i64::MAX];
    if count == 0 {
        return Vec::new();
    }
    let mut rng = Rng::new(program.text().len() as u64);
    let mut settings = vec![vec![0; count], vec![i64::MAX; count]];
    settings.extend((0..2).map(|_| (0..count).map(|_| rng.pick(&VALUES).copied().unwrap_or(0)).collect()));
    settings
}

fn stopped(session: &Session, e: &RuntimeError) -> Stopped {
    let at = e.at.as_ref().and_then(|(global, node)| session.node_span(global, *node));
    Stopped { code: e.code, message: e.message.clone(), at }
}

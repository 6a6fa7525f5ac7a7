//! The emulated device: a program printed as CUDA, kernels and host code, runs on this machine's processor, one
//! fiber for each thread of a GPU. It is there to test the printed text, and slow.
//!
//! `REMC_EMULATE_CHECK=races` looks for races at every access; what else can be set is in the README of
//! `testsuite/cuda`. What a C++ compiler makes of a text is kept in `emulated` of remc's cache, found by the
//! text: another order of threads, or other sizes, need no other library. The emulator itself is compiled once, into
//! `emulator` beside it, or where there is no cache into a folder of the user's among the temporary ones.

use crate::boundary::{self, B, Results, assemble, leaves};
use crate::codes;
use crate::report::{Failure, Outcome, fail, usage};
use remc_base::{IVar, IndexValue, Scalar, Value};
use remc_driver::pipeline::Stage;
use remc_driver::{Db, InternalBug, Session};
use remc_emulate::{Emulator, Options};
use remc_interp::RuntimeError;
use remc_kernel::interface::{Slot, interface};
use remc_kernel::ir::Program;
use remc_runtime::cache::{Cache, Key};
use remc_runtime::library;
use remc_runtime::private::{self, Private};
use remc_runtime::temporary::Temporary;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;

/// Bytes of compiled libraries that are kept.
const KEPT: u64 = 512 << 20;

fn bug(stage: Stage, message: impl std::fmt::Display) -> Failure {
    Failure::Bug(InternalBug { stage: stage.info().name, message: message.to_string() })
}

/// Prints, compiles and runs a program. `signature` are the entry's indices.
pub fn run(
    session: &Session,
    program: &Program,
    indices: (&[IVar], &[IndexValue]),
    arguments: &[Value],
) -> Outcome<Result<Value, RuntimeError>> {
    let text = crate::cuda::plan(session, program)?;
    run_text(session, program, text.as_bytes(), indices, arguments)
}

/// Runs a program by a text that has its interface.
pub fn run_text(
    session: &Session,
    program: &Program,
    text: &[u8],
    (signature, indices): (&[IVar], &[IndexValue]),
    arguments: &[Value],
) -> Outcome<Result<Value, RuntimeError>> {
    let mut library = load(session, text)?;
    let _timed = session.db.timings().enter(Stage::Execute);
    let wrong = |message: String| bug(Stage::Execute, message);
    let interface = interface(program);
    let mut flat = Vec::new();
    for (input, value) in program.inputs.iter().zip(arguments) {
        leaves(input, Cow::Borrowed(value), &mut flat).map_err(wrong)?;
    }
    let mut words = boundary::sizes(program, indices, &flat).map_err(wrong)?;
    if words.len() + flat.len() != interface.params.len() {
        return Err(wrong("another number of parameters".into()));
    }
    let explain = |stopped| crate::device::explain(session, program, &interface.traps, stopped).map(Err);
    if let Err(stopped) = library.start() {
        return explain(stopped);
    }
    for (slot, value) in interface.params[words.len()..].iter().zip(&flat) {
        match slot {
            Slot::Scalar(_) => words.push(boundary::bits(value).map_err(wrong)?),
            Slot::Buffer { .. } => match library.input(value) {
                Ok(address) => words.push(address),
                Err(stopped) => return explain(stopped),
            },
        }
    }
    let results = interface.results.iter().map(|s| s.result_slots()).sum();
    // SAFETY: the words are those of this very program's interface.
    #[expect(unsafe_code, reason = "compiled code is called")]
    let finished = unsafe { library.run(&words, results) };
    let words = match finished {
        Ok(words) => words,
        Err(stopped) => return explain(stopped),
    };
    let given = Given { library: RefCell::new(library), slots: &interface.results, words: &words };
    Ok(Ok(assemble(&program.output, &given, &boundary::closing(signature, indices)).map_err(wrong)?))
}

/// Compiles a printed program against the emulator, unless that has been done, and loads it.
fn load(session: &Session, text: &[u8]) -> Outcome<library::Program> {
    let _timed = session.db.timings().enter(Stage::Codegen);
    let wrong = |message: &dyn std::fmt::Display| bug(Stage::Codegen, message);
    let folder = Temporary::folder("emulated").map_err(|e| wrong(&e))?;
    let environment = Cache::from_environment();
    let shared = environment.beside("emulator").or_else(own);
    let emulator = match Emulator::new(shared.as_deref().unwrap_or(folder.path())) {
        Ok(emulator) => emulator,
        Err(missing) => return fail(usage(codes::DEVICE, missing.to_string())),
    };
    let races = std::env::var_os("REMC_EMULATE_CHECK").is_some_and(|v| v == "races");
    let options = Options { library: true, races, ..Options::default() };
    let cache = environment.inside("emulated", KEPT);
    let key = Key::of(&[text, emulator.identity().as_bytes(), format!("{options:?}").as_bytes()]);
    // SAFETY: the library is one that was made of the text that was printed, now or before.
    #[expect(unsafe_code, reason = "a library is loaded")]
    let loaded = |object: PathBuf| unsafe { library::Program::load(&object) };
    let kept = folder.path().join("kept.so");
    if let Some(bytes) = cache.get(key) {
        std::fs::write(&kept, bytes).map_err(|e| wrong(&e))?;
        // What does not load is made anew.
        if let Ok(program) = loaded(kept) {
            return Ok(program);
        }
    }
    let (source, object) = (folder.path().join("program.cu"), folder.path().join("program.so"));
    std::fs::write(&source, text).map_err(|e| wrong(&e))?;
    emulator.compile(&source, &object, options).map_err(|e| wrong(&e))?;
    // What cannot be kept is compiled again.
    let _ = std::fs::read(&object).is_ok_and(|bytes| cache.put(key, &bytes));
    crate::cache::warn(session, &cache);
    loaded(object).map_err(|e| wrong(&e))
}

/// The folder of this user for the emulator, where there is no cache.
fn own() -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("remc-emulator-{}", private::user()));
    Some(Private::create(&folder).ok()?.path().to_owned())
}

/// The results of a run.
struct Given<'a> {
    library: RefCell<library::Program>,
    slots: &'a [Slot],
    words: &'a [u64],
}

impl Given<'_> {
    fn slot(&self, position: usize) -> B<(Slot, &[u64])> {
        let Some(slot) = self.slots.get(position) else { return Err("a result that is not given".into()) };
        let at: usize = self.slots[..position].iter().map(|s| s.result_slots()).sum();
        match self.words.get(at..at + slot.result_slots()) {
            Some(words) => Ok((*slot, words)),
            None => Err("a result without a word".into()),
        }
    }
}

impl Results for Given<'_> {
    fn is_scalar(&self, position: usize) -> bool {
        matches!(self.slot(position), Ok((Slot::Scalar(_), _)))
    }

    fn scalar(&self, position: usize) -> B<Scalar> {
        match self.slot(position)? {
            (Slot::Scalar(ty), [word]) => {
                Scalar::from_bits64(ty, *word as i64).ok_or("a result of no value".into())
            }
            _ => Err("an array where a scalar is wanted".into()),
        }
    }

    fn array(&self, position: usize) -> B<Value> {
        match self.slot(position)? {
            (Slot::Buffer { base, .. }, [address, dims @ ..]) => {
                let dims: Vec<usize> = dims.iter().map(|d| *d as usize).collect();
                // SAFETY: the address and dims are of one result of the run.
                #[expect(unsafe_code, reason = "memory of compiled code is read")]
                let array = unsafe { self.library.borrow_mut().array(*address, base, &dims) };
                array.map_err(|stopped| format!("{stopped:?}"))
            }
            _ => Err("a scalar where an array is wanted".into()),
        }
    }
}

//! Who looks at a mutant: the verifier, the race checker, the interpreter of kernels, and the emulator, which
//! runs in processes of their own, since it ends them.

use crate::kernels::{Kernels, STACK};
use crate::subjects::{Subject, subject};
use remc_base::{Scalar, Value};
use remc_driver::Session;
use remc_kernel::ir::{Program, Ty};
use remc_runtime::plan::interpret::{Interpreter, Memory};
use remc_runtime::plan::{Argument, Given, run};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

/// Names the text that a child process runs, and where it writes the value.
const MUTANT: &str = "REMC_MUTANT";
/// Names its subject.
const SUBJECT: &str = "REMC_MUTANT_SUBJECT";
/// Seconds of a launch that hangs.
const PATIENCE: &str = "10";

pub fn verifier(p: &Program) -> bool {
    remc_kernel::verify::verify(p).is_err()
}

pub fn race_checker(p: &Program) -> bool {
    remc_kernel::race::check(p).is_err()
}

/// Whether the interpreter reports something, or gives another value than `wanted`.
pub fn interpreter(p: &Program, kernels: &Kernels, wanted: &str) -> bool {
    [false, true].into_iter().any(|descending| match interpreted(p, kernels, descending) {
        Ok(found) => found != wanted,
        Err(_) => true,
    })
}

/// The arrays that a program gives, as text.
pub fn interpreted(p: &Program, kernels: &Kernels, descending: bool) -> Result<String, String> {
    let sizes = remc::boundary::sizes(p, &kernels.indices, &kernels.arguments)?;
    let buffers: Option<Vec<_>> = kernels.arguments.iter().map(|v| Memory::of(v).map(Rc::new)).collect();
    let buffers = buffers.ok_or("an argument of no base type")?;
    let sizes = sizes.into_iter().map(|n| Argument::Scalar(Scalar::I64(n as i64)));
    let arguments: Vec<Argument<'_, Rc<Memory>>> =
        sizes.chain(buffers.iter().map(Argument::Buffer)).collect();
    if p.params
        .iter()
        .zip(&arguments)
        .any(|(v, a)| matches!((p.ty(*v), a), (Ty::Scalar(_), Argument::Buffer(_))))
    {
        return Err("parameters in another order".into());
    }
    let given = run(p, &mut Interpreter::new(p, descending), &arguments).map_err(|e| format!("{e:?}"))?;
    let shown = given.iter().map(|g| match g {
        Given::Scalar(s) => Ok(text(&Value::scalar(*s))),
        Given::Buffer { buffer, dims, .. } => {
            buffer.value(dims).map(|v| text(&v)).map_err(|e| format!("{e:?}"))
        }
    });
    Ok(shown.collect::<Result<Vec<_>, _>>()?.join(" "))
}

fn text(v: &Value) -> String {
    remc_runtime::text::print(v).to_string()
}

/// What became of a text under the emulator.
pub enum Ran {
    Value(String),
    /// The C++ compiler refuses it.
    Refused,
    /// It was ended, with a sentence.
    Ended(String),
}

/// Runs a text in a process of its own.
pub fn emulate(s: &Subject, text: &Path, folder: &Path, order: &str, races: bool) -> Result<Ran, String> {
    let value = text.with_extension("value");
    let _ = std::fs::remove_file(&value);
    let mut child = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
    child.env(MUTANT, text).env(SUBJECT, s.name).env("REMC_CACHE", folder.join("cache"));
    child.env("REMC_EMULATE_ORDER", order).env("REMC_EMULATE_TIMEOUT", PATIENCE);
    if races {
        child.env("REMC_EMULATE_CHECK", "races");
    }
    let output = child.output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match (output.status.code(), std::fs::read_to_string(&value)) {
        (Some(0), Ok(value)) => Ok(Ran::Value(value)),
        (Some(0), Err(e)) => Err(format!("no value: {e}")),
        (Some(3), _) => Ok(Ran::Refused),
        (Some(1), _) => Err(said),
        _ => Ok(Ran::Ended(said)),
    }
}

/// In a child process: runs the text. The exit code says how far it came.
pub fn child() -> Option<i32> {
    let (path, name) = (std::env::var_os(MUTANT)?, std::env::var(SUBJECT).ok()?);
    let work = move || -> Result<i32, String> {
        let path = Path::new(&path);
        let folder = path.parent().ok_or("no folder")?;
        let text = std::fs::read(path).map_err(|e| e.to_string())?;
        let mut session = Session::default();
        let k = subject(&name).kernels(&mut session, folder)?;
        let ran =
            remc::emulated::run_text(&session, &k.program, &text, (&k.signature, &k.indices), &k.arguments);
        let shown = match ran {
            Err(refused) => {
                eprintln!("{refused:?}");
                return Ok(3);
            }
            Ok(Ok(value)) => self::text(&value),
            Ok(Err(stopped)) => format!("stops: {}", stopped.message),
        };
        std::fs::write(path.with_extension("value"), shown).map_err(|e| e.to_string())?;
        Ok(0)
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).ok()?;
    Some(match thread.join() {
        Ok(Ok(code)) => code,
        Ok(Err(e)) => {
            eprintln!("{e}");
            1
        }
        Err(_) => 1,
    })
}

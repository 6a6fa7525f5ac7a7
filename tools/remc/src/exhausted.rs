//! The end where there is no memory: one message, and the exit code of what was being done.
//!
//! The allocator calls [`end`] where a limit is reached, from the middle of whatever asked for memory. So the message
//! goes past all locks, and the process leaves without unwinding. Outputs are whole or absent as at any other end: they
//! are renamed when they are complete.

use crate::args::DiagnosticStyle;
use crate::codes;
use crate::report::{NoSources, Reporter};
use remc_base::Diagnostic;
use remc_base::trap::codes::TOO_LARGE;
use remc_runtime::allocator::{self, Limited};
use remc_runtime::budget::{Bytes, available};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What is going on, for the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doing {
    /// Reading and compiling the program.
    Working,
    /// Reading an input: what it is called.
    Reading(String),
    Interpreting,
}

static DOING: Mutex<Doing> = Mutex::new(Doing::Working);
static STYLE: OnceLock<DiagnosticStyle> = OnceLock::new();

/// From here on the process takes no more than the machine can give, and says so where it would.
pub fn install(style: DiagnosticStyle) -> Limited {
    let _ = STYLE.set(style);
    allocator::on_exhaustion(end);
    allocator::limit(available())
}

/// What is going on until this is dropped, and the limit that it has.
pub struct During {
    before: Doing,
    _limited: Option<Limited>,
}

/// Says what is going on, and how much memory it may take, if that is less than all.
pub fn during(doing: Doing, limit: Option<u64>) -> During {
    let mut now = DOING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *now, doing);
    drop(now);
    During { before, _limited: limit.map(allocator::limit) }
}

impl Drop for During {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut self.before, Doing::Working);
        *DOING.lock().unwrap_or_else(PoisonError::into_inner) = before;
    }
}

/// Says that a limit is reached, or without one that the system has no more, and leaves the process.
pub fn end(limit: Option<u64>) {
    // Whoever is changing it right now is between two things.
    let doing = DOING.try_lock().map_or(Doing::Working, |d| d.clone());
    let style = STYLE.get().copied().unwrap_or(DiagnosticStyle::Short);
    let (code, message, exit) = message(&doing, limit);
    let d = Diagnostic::error(code, message);
    let reporter = Reporter::new(style);
    let text = remc_driver::render::render(&NoSources, &[d], reporter.style, reporter.color);
    allocator::leave(&text, exit)
}

fn message(doing: &Doing, limit: Option<u64>) -> (remc_base::Code, String, u8) {
    let than = match limit {
        Some(n) if n < u64::MAX => format!("more memory than there is room for, {}", Bytes(n)),
        _ => "more memory than the system gives".to_owned(),
    };
    match doing {
        Doing::Working => {
            (codes::INPUT_TOO_LARGE, format!("to read and compile the program takes {than}"), 2)
        }
        Doing::Reading(name) => {
            (codes::INPUT_TOO_LARGE, format!("to read the input `{name}` takes {than}"), 2)
        }
        Doing::Interpreting => (TOO_LARGE, format!("the interpreter needs {than}"), 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_going_on_is_said_and_over_again() {
        let before = DOING.lock().unwrap().clone();
        {
            let _reading = during(Doing::Reading("xs".into()), None);
            let (code, text, exit) = message(&DOING.lock().unwrap(), Some(100 << 20));
            assert_eq!((code.0, exit), ("U0021", 2));
            assert_eq!(text, "to read the input `xs` takes more memory than there is room for, 100 MiB");
            let _interpreting = during(Doing::Interpreting, None);
            let (code, _, exit) = message(&DOING.lock().unwrap(), None);
            assert_eq!((code.0, exit), ("R0012", 3));
        }
        assert_eq!(*DOING.lock().unwrap(), before);
    }
}

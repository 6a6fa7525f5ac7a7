//! `remc watch`: checks and runs a program again whenever it, what it imports or its data is saved.
//!
//! ```text
//! a file is saved ─► what changed is checked ─┬─ errors: the new ones, and which are mended
//!                    (one session)            └─ none: `remc run` in a process of its own ─► its values, if they changed
//! ```
//!
//! The run is another process, so that one that goes on forever, or takes all memory, is no more than ended: by the next
//! change, or by Ctrl-C. [`changes`] notices what is saved. Values alone go to standard output.

mod changes;
mod program;

use crate::args::Watch;
use crate::codes;
use crate::report::{Outcome, Reporter, bytes_to_stdout, fail, to_stderr, usage};
use changes::Changes;
use program::{Checked, Program, Run};
use remc_base::visible;
use remc_runtime::temporary::interruption;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long is waited before looking again whether the run has ended or Ctrl-C was pressed.
const STEP: Duration = Duration::from_millis(20);

pub fn watch(args: &Watch, reporter: &Reporter) -> Outcome {
    if args.file.as_os_str() == "-" {
        return fail(
            usage(codes::UNREADABLE, "standard input cannot be watched").help("name the program's file"),
        );
    }
    let interrupted = interruption();
    let mut program = Program::new(args)?;
    let mut changes = Changes::new()?;
    let mut last: Option<(Vec<u8>, Vec<u8>, Option<i32>)> = None;
    loop {
        // Before they are read: what is saved meanwhile is a change.
        changes.watch(program.files().into_iter());
        let checked = program.check(reporter);
        // What it imports is known only now.
        changes.watch(program.files().into_iter());
        say(&format!("{}{}", program.shown(), checked.said()));
        let mut run = match checked {
            Checked::Right { .. } if !args.check => Some(Run::start(args)?),
            _ => None,
        };
        loop {
            if interrupted.load(Relaxed) {
                drop(run);
                return Ok(());
            }
            if changes.seen(STEP) {
                if run.take().is_some() {
                    say("a file has changed: the run is ended");
                }
                break;
            }
            if let Some(ran) = run.as_mut().and_then(Run::ended) {
                run = None;
                let now = (ran.out, ran.err, ran.code);
                let time = format!("{:.2} s", ran.time.as_secs_f64());
                match &last {
                    Some(before) if *before == now => say(&format!("as before, in {time}")),
                    _ => {
                        to_stderr(&String::from_utf8_lossy(&now.1));
                        bytes_to_stdout(&now.0)?;
                        say(&match now.2 {
                            Some(0) => format!("ran in {time}"),
                            Some(code) => format!("stopped after {time}, exit code {code}"),
                            None => format!("the run was ended by a signal after {time}"),
                        });
                    }
                }
                last = Some(now);
            }
        }
    }
}

/// A line about what goes on.
fn say(what: &str) {
    // What is said of several errors has lines.
    let lines: Vec<_> = what.lines().map(visible).collect();
    to_stderr(&format!("── {}\n", lines.join("\n")));
}

//! `remc repl`: the prompt.
//!
//! ```text
//! lines, or editor ─► input ─► prompt ─┬─ definitions ─► desk: the workspace, checked (one text of pieces)
//!  (balance)                           ├─ expressions ─► worker ═ another process ═ serve: compiled, run, shown
//!                                      └─ :commands, by the desk or the worker
//! ```
//!
//! An input is one or more forms. It is checked with all that is defined; where it has errors, these are shown and nothing
//! changes. What is defined under a name takes the place of what was; what used that is checked anew, and cannot be used as
//! long as it does not check. A definition without parameters is computed once ([`kept`]). Checking is done here, computing in the worker, which can be ended at any time.
//!
//! Values, types and what commands tell go to standard output; messages go to standard error, and so do the types of what is
//! defined, so that of a script the values alone remain.

mod balance;
mod commands;
mod complete;
mod desk;
mod editor;
mod highlight;
mod kept;
mod prompt;
mod request;
mod serve;
mod worker;
mod workspace;

use crate::args::Repl;
use crate::codes;
use crate::report::{Failure, Outcome, Reporter, on_terminal, to_stderr, to_stdout, usage};
use editor::{Editor, Read};
use prompt::{Next, Prompt};
use std::io::{BufRead, IsTerminal};

pub fn repl(args: &Repl, reporter: &Reporter) -> Outcome {
    if args.worker {
        return serve::serve(reporter);
    }
    let typed = std::io::stdin().is_terminal();
    let mut prompt = Prompt::new(args, reporter, typed)?;
    let loaded = args.file.as_ref().map_or(Ok(()), |file| prompt.load(file));
    if !(typed && std::io::stdout().is_terminal() && on_terminal()) {
        return lines(&mut prompt, (typed, args.echo && !typed), loaded);
    }
    if let Err(failure) = loaded {
        reporter.tell(&failure);
    }
    prompt.start()?;
    let mut editor = Editor::new(args, &prompt)?;
    to_stderr("remc: an expression shows its value, :help lists commands, Ctrl-D ends\n");
    loop {
        let text = match editor.read()? {
            Read::Input(text) if text.trim().is_empty() => continue,
            Read::Input(text) => text,
            // What was typed is dropped.
            Read::Again => continue,
            Read::End => return Ok(()),
        };
        match prompt.input(&text) {
            Ok(Next::Quit) => return Ok(()),
            Ok(Next::More) => {}
            Err(failure) => reporter.tell(&failure),
        }
    }
}

/// Inputs from standard input, which is no terminal, or one that cannot be drawn on. All of them are done; the first that
/// fails is how it ends, unless a person types them.
fn lines(prompt: &mut Prompt, (typed, echo): (bool, bool), loaded: Outcome) -> Outcome {
    let mut first = Ok(());
    // Whether there is more to come.
    let mut done = |done: Outcome<Next>, reporter: &Reporter| match done {
        Ok(next) => Ok(next),
        Err(bug @ Failure::Bug(_)) => Err(bug),
        Err(failure) => {
            reporter.tell(&failure);
            if !typed && first.is_ok() {
                // It has been told.
                first = Err(if let Failure::Usage(_) = failure { Failure::Refused } else { failure });
            }
            Ok(Next::More)
        }
    };
    let ask = |text: &str| {
        if typed {
            to_stderr(text);
        }
    };
    let reporter = prompt.reporter.clone();
    done(loaded.map(|()| Next::More), &reporter)?;
    let mut input = String::new();
    let mut all = std::io::stdin().lock();
    loop {
        ask(if input.is_empty() { "> " } else { "  " });
        let mut line = Vec::new();
        let read = all.read_until(b'\n', &mut line).map_err(|e| {
            Failure::Usage(Box::new(usage(codes::UNREADABLE, format!("cannot read standard input: {e}"))))
        })?;
        input.push_str(&String::from_utf8_lossy(&line));
        if read > 0 && balance::is_open(input.strip_suffix('\n').unwrap_or(&input)) {
            continue;
        }
        let whole = std::mem::take(&mut input);
        if echo && !whole.trim().is_empty() {
            to_stdout(&format!("> {}\n", whole.trim_end().replace('\n', "\n  ")))?;
        }
        if !whole.trim().is_empty() && done(prompt.input(whole.trim_end()), &reporter)? == Next::Quit {
            break;
        }
        if read == 0 {
            ask("\n");
            break;
        }
    }
    first
}

//! `remc`: the command line of the compiler.
//!
//! Values go to standard output and nothing else does; messages, timings and warnings go to standard
//! error. The exit codes are in [`args::Cli`]'s help.

mod args;
pub mod boundary;
mod cache;
pub mod codes;
mod commands;
mod compile;
#[cfg(feature = "llvm")]
pub mod cpu;
pub mod cuda;
pub mod device;
pub mod doc;
mod editor;
pub mod emulated;
mod evaluate;
mod exhausted;
mod explain;
pub mod fmt;
pub mod futhark;
mod gpu;
mod guards;
mod header;
pub mod inputs;
mod lsp;
mod machine;
mod measure;
#[cfg(feature = "llvm")]
mod native;
mod new;
mod output;
mod perf;
mod plot;
mod progress;
mod repl;
pub mod report;
mod run;
mod shell;
mod test;
mod texts;
mod tune;
mod watch;

use args::{Cli, Command};
use clap::Parser;
use remc_driver::InternalBug;
use report::{Failure, Reporter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

/// Syntax trees are walked recursively, to a depth that the reader bounds; memory is used as it is touched.
const STACK: usize = 1 << 30;

/// Where the last panic was and what it said.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Memory is counted, so that what grows past all bounds ends in a sentence.
#[global_allocator]
static ALLOCATOR: remc_runtime::allocator::Counted = remc_runtime::allocator::Counted;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut e) => {
            args::suggest_run(&mut e);
            args::make_visible(&mut e);
            // Help goes to standard output, misuse to standard error; either may be closed.
            let _ = e.print();
            return ExitCode::from(e.exit_code() as u8);
        }
    };
    let reporter = Reporter::new(cli.diagnostics);
    let _limited = exhausted::install(cli.diagnostics);
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = PANIC.lock() {
            *last = Some(info.to_string());
        }
    }));
    let work = move || {
        let done =
            catch_unwind(AssertUnwindSafe(|| dispatch(cli, &reporter))).unwrap_or_else(|_| Err(panicked()));
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                reporter.tell(&failure);
                ExitCode::from(failure.exit_code())
            }
        }
    };
    // On a machine that does not allow so large a stack, a smaller one still serves most programs.
    for size in [STACK, STACK / 4, STACK / 32] {
        let work = work.clone();
        if let Ok(thread) = std::thread::Builder::new().stack_size(size).spawn(work) {
            return thread.join().unwrap_or(ExitCode::from(70));
        }
    }
    exhausted::end(None);
    ExitCode::from(2)
}

/// What is said of a panic that was caught.
fn panicked() -> Failure {
    let message = PANIC.lock().ok().and_then(|mut m| m.take()).unwrap_or_default();
    Failure::Bug(InternalBug { stage: commands::current_stage(), message })
}

fn dispatch(cli: Cli, reporter: &Reporter) -> report::Outcome {
    match &cli.command {
        Command::Run(args) => run::run(args, reporter),
        Command::Watch(args) => watch::watch(args, reporter),
        Command::Test(args) => test::test(args, reporter),
        Command::New(args) => new::new(args),
        Command::Repl(args) => repl::repl(args, reporter),
        Command::Check(args) => commands::check(args, reporter),
        Command::Compile(args) => compile::compile(args, reporter),
        Command::Opt(args) => commands::opt(args),
        Command::Doc(args) => doc::doc(args, reporter),
        Command::Fmt(args) => fmt::fmt(args, reporter),
        Command::Explain { code } => explain::explain(code.as_deref()),
        Command::ExplainPerf(args) => perf::explain(args, reporter),
        #[cfg(feature = "llvm")]
        Command::Autotune(args) => tune::autotune(args, reporter),
        #[cfg(not(feature = "llvm"))]
        Command::Autotune(_) => Err(compile::without_llvm("it has no cpu device to measure on")),
        Command::Tuning(args) => tune::explain(args, reporter),
        Command::Lsp(args) => lsp::lsp(args),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man { of, output } => shell::man(of.as_deref(), output.as_deref()),
    }
}

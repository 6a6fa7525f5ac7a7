//! What all devices that run compiled code have in common: what a run gave, or why it stopped.

use crate::codes;
use crate::report::{Failure, Outcome};
use remc_base::{Prov, Stop, Trap, Value};
use remc_driver::pipeline::Stage;
use remc_driver::{InternalBug, Session};
use remc_interp::RuntimeError;
use remc_kernel::ir::Program;
use remc_runtime::cpu::Stats;
use remc_runtime::stop::Stopped;
use std::time::Duration;

/// What the runs of a program gave.
pub struct Ran {
    /// `None` where it was written as it came.
    pub value: Option<Value>,
    pub runs: Vec<Duration>,
    /// Of the last run.
    pub stats: Stats,
}

fn bug(stage: Stage, message: impl std::fmt::Display) -> Failure {
    Failure::Bug(InternalBug { stage: stage.info().name, message: message.to_string() })
}

/// Why a run stopped, as the interpreter would say it.
pub fn explain(
    session: &Session,
    program: &Program,
    traps: &[Trap],
    stopped: Stopped,
) -> Outcome<RuntimeError> {
    let (stop, prov): (Stop, Option<u32>) = match stopped {
        Stopped::Trap { trap, prov, values } => match traps.get(trap as usize) {
            Some(trap) => (trap.report(&values), Some(prov)),
            None => return Err(bug(Stage::Execute, format!("there is no check {trap}"))),
        },
        Stopped::TooLarge { trap, prov, values } => (trap.report(&values), prov),
        Stopped::Stream { why, prov } => {
            (Stop { code: codes::STREAM, message: why, help: Vec::new() }, Some(prov))
        }
        Stopped::Device(why) | Stopped::Broken(why) => return Err(bug(Stage::Execute, why)),
        Stopped::Ended => return Err(bug(Stage::Execute, "the run was ended, and nobody wanted that")),
        Stopped::Unexplained => return Err(bug(Stage::Execute, "the program stopped and did not say why")),
    };
    let provs = &program.provs;
    let trace = match prov.map(Prov) {
        Some(p) if provs.contains(p) => provs.trace(p),
        _ => Vec::new(),
    };
    let user = trace.iter().find(|(g, _)| g.module >= session.first_user_module());
    Ok(RuntimeError {
        code: stop.code,
        message: stop.message,
        help: stop.help,
        at: user.or(trace.first()).cloned(),
        trace: trace.into(),
    })
}

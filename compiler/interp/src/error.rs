//! What stops a program. The messages are those of [`Trap`], which every device shares.

use remc_base::ops::OpError;
use remc_base::{Code, GlobalId, ModuleId, NodeId, Scalar, Trap};
use smallvec::SmallVec;

pub use remc_base::trap::codes;

/// A program that stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct RuntimeError {
    pub code: Code,
    /// With the values involved.
    pub message: String,
    pub help: Vec<String>,
    /// The innermost place in the program itself, not in the prelude.
    pub at: Option<(GlobalId, NodeId)>,
    /// The places from the innermost out, the prelude's among them.
    pub trace: Box<[(GlobalId, NodeId)]>,
}

/// A fault on its way out; each application that it leaves adds its place.
#[derive(Debug)]
pub(crate) struct Fault {
    pub code: Code,
    pub message: String,
    pub help: Vec<String>,
    pub trace: Vec<(GlobalId, NodeId)>,
}

pub(crate) type R<T> = Result<T, Box<Fault>>;

/// A trace longer than this keeps its innermost places.
const LONGEST_TRACE: usize = 100;

impl Fault {
    /// A check that failed, with the whole operands of the trap: what every device says.
    pub fn trap(trap: Trap, operands: &[&[i64]]) -> Box<Fault> {
        let stop = trap.report(&trap.pack(operands));
        Box::new(Fault { code: stop.code, message: stop.message, help: stop.help, trace: Vec::new() })
    }

    pub fn internal(message: impl Into<String>) -> Box<Fault> {
        let (code, message) = (codes::INTERNAL, message.into());
        Box::new(Fault { code, message, help: Vec::new(), trace: Vec::new() })
    }

    pub fn at(mut self: Box<Fault>, def: &GlobalId, node: NodeId) -> Box<Fault> {
        if self.trace.len() < LONGEST_TRACE {
            self.trace.push((def.clone(), node));
        }
        self
    }

    pub fn report(self, first_user_module: ModuleId) -> RuntimeError {
        let user = self.trace.iter().find(|(g, _)| g.module >= first_user_module);
        RuntimeError {
            code: self.code,
            message: self.message,
            help: self.help,
            at: user.or(self.trace.first()).cloned(),
            trace: self.trace.into(),
        }
    }
}

/// What a scalar operator's error says, with its operands. `trap` is the operator's, or the cast's.
pub(crate) fn op_fault(trap: Option<Trap>, e: OpError, operands: &[Scalar]) -> Box<Fault> {
    match trap {
        Some(trap) if e != OpError::WrongOperands => {
            let values: SmallVec<[i64; 3]> = operands.iter().map(|x| x.to_bits64()).collect();
            let whole: SmallVec<[&[i64]; 3]> = values.iter().map(std::slice::from_ref).collect();
            Fault::trap(trap, &whole)
        }
        _ => Fault::internal(format!("operands of the wrong type: {operands:?}")),
    }
}

//! Why no code could be made. None of these is the user's fault.

use inkwell::builder::BuilderError;
use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;
use std::fmt;

/// A broken invariant of the compiler, or a refusal of LLVM.
#[derive(Clone, PartialEq, Debug)]
pub enum EmitError {
    /// The operator has no meaning at these types, or a value is not of the type it was said to have.
    WrongOperands { op: ScalarOp, tys: Vec<BaseTy> },
    /// An LLVM value of a kind that the instruction does not take.
    WrongValue(&'static str),
    /// An intrinsic that this LLVM does not have.
    NoIntrinsic(&'static str),
    /// A program that breaks an invariant of Kernel.
    Program(String),
    /// LLVM refused to build an instruction.
    Builder(String),
    /// LLVM could not verify, optimise, compile or load.
    Llvm(String),
    /// The system gave no memory for code. What LLVM made until then cannot be relied on to be freed in peace.
    NoMemory,
}

impl EmitError {
    /// What LLVM said, as one of these.
    pub fn llvm(text: String) -> EmitError {
        // That is `ENOMEM` in the words of the C library.
        if text.contains("Cannot allocate memory") { EmitError::NoMemory } else { EmitError::Llvm(text) }
    }
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::WrongOperands { op, tys } => {
                write!(f, "operator {op} applied at")?;
                tys.iter().try_for_each(|t| write!(f, " {t}"))
            }
            EmitError::WrongValue(what) => write!(f, "{what} of an LLVM value of another kind"),
            EmitError::NoIntrinsic(name) => write!(f, "LLVM has no intrinsic {name}"),
            EmitError::Program(m) => write!(f, "ill-formed kernel program: {m}"),
            EmitError::Builder(m) => write!(f, "LLVM builder: {m}"),
            EmitError::Llvm(m) => write!(f, "LLVM: {m}"),
            EmitError::NoMemory => f.write_str("the system gave no memory for code"),
        }
    }
}

impl std::error::Error for EmitError {}

impl From<BuilderError> for EmitError {
    fn from(e: BuilderError) -> EmitError {
        EmitError::Builder(e.to_string())
    }
}

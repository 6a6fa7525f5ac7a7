//! What stops a program.

use remc_base::{Code, GlobalId, ModuleId, NodeId};

/// The codes of run-time errors; each has a page.
pub mod codes {
    use remc_base::Code;

    /// An index outside its axis.
    pub const INDEX: Code = Code("R0001");
    /// A negative dimension, size or count.
    pub const NEGATIVE: Code = Code("R0002");
    /// Integer division by zero.
    pub const DIVISION: Code = Code("R0003");
    /// A negative exponent of an integer base.
    pub const EXPONENT: Code = Code("R0004");
    /// A size that the program needs to be at least something is less, as in `reduce` of nothing.
    pub const TOO_SMALL: Code = Code("R0005");
    /// Two sizes that the program needs to be equal are not.
    pub const UNEQUAL: Code = Code("R0006");
    /// `reshape` or `with-shape` with another number of elements.
    pub const RESHAPE: Code = Code("R0007");
    /// A part that reaches past the array.
    pub const SUBARRAY: Code = Code("R0008");
    /// The lengths given to `split` do not add up.
    pub const SPLIT: Code = Code("R0009");
    /// A number that is no char.
    pub const CHAR: Code = Code("R0010");
    /// A `scatter` index past the end.
    pub const SCATTER: Code = Code("R0011");
    /// An array larger than the interpreter allocates.
    pub const TOO_LARGE: Code = Code("R0012");
    /// `as-shape` with a shape that the value has not.
    pub const AS_SHAPE: Code = Code("R0013");
    /// A number that its type cannot hold.
    pub const RANGE: Code = Code("R0014");
    /// A value that has no zero, where `scatter` needs one.
    pub const NO_ZERO: Code = Code("R0015");
    /// A term that does not type-check: a mistake of the compiler.
    pub const INTERNAL: Code = Code("R0999");
}

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
    pub fn new(code: Code, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { code, message: message.into(), help: Vec::new(), trace: Vec::new() })
    }

    pub fn internal(message: impl Into<String>) -> Box<Fault> {
        Fault::new(codes::INTERNAL, message)
    }

    pub fn help(mut self: Box<Fault>, text: impl Into<String>) -> Box<Fault> {
        self.help.push(text.into());
        self
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

//! Codes of wrong usage: what is asked of `remc`, not what the program says. Each has a page under
//! `testsuite/diagnostics/`.

use remc_base::Code;

/// A program's file cannot be read.
pub const UNREADABLE: Code = Code("U0001");
/// The file has neither an expression nor an entry.
pub const NOTHING_TO_RUN: Code = Code("U0002");
/// There is no entry of that name.
pub const UNKNOWN_ENTRY: Code = Code("U0003");
/// The file has several entries and none was chosen.
pub const CHOOSE_ENTRY: Code = Code("U0004");
/// A parameter of the entry has no input.
pub const MISSING_INPUT: Code = Code("U0005");
/// An input for which the entry has no parameter.
pub const SUPERFLUOUS_INPUT: Code = Code("U0006");
/// The text of an input is no literal.
pub const BAD_LITERAL: Code = Code("U0007");
/// A data file cannot be read, or is damaged.
pub const BAD_DATA_FILE: Code = Code("U0008");
/// An input does not fit its parameter.
pub const INPUT_MISMATCH: Code = Code("U0009");
/// The output cannot be written.
pub const OUTPUT: Code = Code("U0010");
/// `remc explain` does not know the code.
pub const UNKNOWN_CODE: Code = Code("U0011");
/// The text of an intermediate language does not read, or does not verify.
pub const BAD_IR: Code = Code("U0012");
/// `remc compile` needs the ranks of an entry's shape variables.
pub const RANKS: Code = Code("U0013");
/// The number of threads, or another setting of a device, cannot be had.
pub const DEVICE: Code = Code("U0014");
/// A file holds several values, and none, or another, was chosen.
pub const CHOOSE_VALUE: Code = Code("U0015");
/// What is said after a file's name is no format and no type that its bytes have.
pub const SELECTOR: Code = Code("U0016");
/// A line or field of a table is wrong.
pub const TABLE: Code = Code("U0017");
/// Options of the output that contradict each other.
pub const OUTPUT_FORMAT: Code = Code("U0018");
/// The cache of compiled code, or an entry of it, cannot be trusted.
pub const CACHE: Code = Code("W0502");
/// There is no memory for an input, or for the work on a program.
pub const INPUT_TOO_LARGE: Code = Code("U0021");
/// The program has no threshold of that name.
pub const THRESHOLD: Code = Code("U0022");
/// There is nothing to tune, or nothing to tune with.
pub const TUNE: Code = Code("U0023");
/// A tuning file cannot be read.
pub const TUNING: Code = Code("U0024");
/// A tuning file is not used.
pub const TUNING_UNUSED: Code = Code("W0503");
/// A value has no picture, or not that.
pub const PLOT: Code = Code("U0025");
/// There is nothing to test, or it cannot be tested.
pub const TEST: Code = Code("U0026");
/// A new project has no name, or is there already.
pub const NEW: Code = Code("U0027");
/// A program cannot be watched.
pub const WATCH: Code = Code("U0028");
/// The prompt does not know what is asked of it.
pub const PROMPT: Code = Code("U0029");
/// `remc doc` does not know the name.
pub const UNKNOWN_TOPIC: Code = Code("U0020");

/// The program has more parts than it may, with its functions written out where they are called.
pub const PROGRAM_TOO_LARGE: Code = Code("E0505");

/// What needs a stream as a whole.
pub const UNSTREAMABLE: Code = Code("E0506");
/// A stream that cannot be read on, or not be written to.
pub const STREAM: Code = Code("R0016");

// What is not compiled yet, by construct; see `limitations.toml`.

// L0001 to L0006 were of what is compiled now: scans of boxes, functions that leave what they mention, functions as
// results, boxes as inputs, numbers of axes that are known only when the program runs, large programs.
pub const RECURSION: Code = Code("L0007");

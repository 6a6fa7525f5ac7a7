//! What the pipeline list knows of a pass.

/// A pass's name and documentation, as `remc opt --list`, dumps and timings show them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassInfo {
    /// As written after `--pass`.
    pub name: &'static str,
    /// The IR it reads and the IR it writes, as written after `--from` and `--emit`.
    pub from: &'static str,
    pub to: &'static str,
    /// One line for `remc opt --list`.
    pub summary: &'static str,
}

//! A generated program: definitions, one entry with its inputs, and how its results are compared.

use super::term::{Term, Ty};
use remc_base::Value;

#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    pub name: String,
    pub params: Vec<(String, Ty)>,
    pub body: Term,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub name: String,
    pub ty: Ty,
    pub input: Value,
    /// The dim whose size its numbers add up to, of lengths that an array is cut into.
    pub sums_to: Option<String>,
}

/// A binding of the entry's body: what stands before and after the bound term.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    pub name: String,
    pub value: Term,
}

/// How far two devices' values may be apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// The same numbers. NaN is NaN.
    Exact,
    /// Units in the last place.
    Ulps(u64),
    /// A difference, from the magnitudes of what was summed.
    Absolute(f64),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    pub value: Term,
    pub tolerance: Tolerance,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Compiled for blocks of few operations, so that small arrays have several.
    pub fine: bool,
    /// LLVM does not optimise it, which takes most of the time of a run.
    pub plain: bool,
    pub definitions: Vec<Definition>,
    /// The dims of the entry's parameters, and their sizes.
    pub sizes: Vec<(String, usize)>,
    pub params: Vec<Param>,
    pub statements: Vec<Statement>,
    /// One or more; several come out as a tuple.
    pub outputs: Vec<Output>,
    /// Whether the check that fails, if one does, runs more than once: of several that fail, devices may report
    /// different ones.
    pub several: bool,
}

/// What the entry is called.
pub const ENTRY: &str = "main";

impl Program {
    pub fn text(&self) -> String {
        let mut out = String::new();
        let typed = |(name, ty): (&String, &Ty)| format!(" [{name} {ty}]");
        for d in &self.definitions {
            let params: String = d.params.iter().map(|(n, t)| typed((n, t))).collect();
            out.push_str(&format!("(define ({}{params}) : {}\n  {})\n", d.name, d.body.ty, d.body.text()));
        }
        let params: String = self.params.iter().map(|p| typed((&p.name, &p.ty))).collect();
        out.push_str(&format!("(entry ({ENTRY}{params})\n"));
        for s in &self.statements {
            out.push_str(&format!("  (let (({} {}))\n", s.name, s.value.text()));
        }
        match self.outputs.as_slice() {
            [one] => out.push_str(&format!("  {}", one.value.text())),
            all => {
                let all: Vec<String> = all.iter().map(|o| o.value.text()).collect();
                out.push_str(&format!("  (values {})", all.join("\n          ")));
            }
        }
        out.push_str(&")".repeat(self.statements.len() + 1));
        out.push('\n');
        out
    }

    /// The program as a file of the test suite has it: with its inputs in leading comments.
    pub fn with_inputs(&self) -> String {
        let inputs: String = self
            .params
            .iter()
            .map(|p| format!("; input: {}={}\n", p.name, remc_runtime::text::print(&p.input)))
            .collect();
        let fine = if self.fine { "; tuning: fine\n" } else { "" };
        let plain = if self.plain { "; pipeline: plain\n" } else { "" };
        format!("; entry: {ENTRY}\n{fine}{plain}{inputs}{}", self.text())
    }
}

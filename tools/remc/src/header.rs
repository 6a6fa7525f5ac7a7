//! The C header of an object file: what the entry takes and gives, and a small runtime.
//!
//! An object asks its surroundings for memory, for the launch of its kernels and for what happens when a
//! check fails (the ABI of `compiler/backend/llvm`). The header declares that, and defines all of it, on `malloc` and
//! OpenMP, in the one file of a program that defines `REMC_IMPLEMENTATION` before including it.

use remc_base::BaseTy;
use remc_cuda::quoted;
use remc_driver::compile::{ALWAYS, NEVER};
use remc_kernel::interface::{Slot, interface};
use remc_kernel::ir::{Program, Ty};

const RUNTIME: &str = include_str!("header/runtime.h");

/// The header of a program's object; `fixed` are the numbers that have shaped it.
pub fn header(p: &Program, fixed: &[(String, i64)]) -> String {
    let i = interface(p);
    let mut params = String::new();
    for (k, (v, slot)) in p.params.iter().zip(&i.params).enumerate() {
        let name = &p.vars[*v].name;
        let what = match (slot, p.ty(*v)) {
            (Slot::Scalar(t), _) => format!("{name}: {}", c_type(*t)),
            (Slot::Buffer { base, .. }, Ty::Buffer(b)) => {
                let dims: Vec<String> = b
                    .dims
                    .iter()
                    .map(|d| match d {
                        remc_kernel::ir::Atom::Var(v) => p.vars[*v].name.to_string(),
                        remc_kernel::ir::Atom::Const(c) => c.to_bits64().to_string(),
                    })
                    .collect();
                format!("{name}: address of {} [{}]", c_type(*base), dims.join("]["))
            }
            _ => name.to_string(),
        };
        params.push_str(&format!(" *   params[{k}]  {what}\n"));
    }
    let mut results = String::new();
    let mut at = 0;
    for slot in &i.results {
        match slot {
            Slot::Scalar(t) => results.push_str(&format!(" *   results[{at}]  {}\n", c_type(*t))),
            Slot::Buffer { base, rank } => {
                results.push_str(&format!(" *   results[{at}]  address of {}s", c_type(*base)));
                if *rank > 0 {
                    results.push_str(&format!(", with {rank} dims in results[{}]", at + 1));
                    if *rank > 1 {
                        results.push_str(&format!(" to results[{}]", at + rank));
                    }
                }
                results.push('\n');
            }
        }
        at += slot.result_slots();
    }
    let traps: String = i.traps.iter().map(|t| format!("  {:?},\n", t.print())).collect();
    let named = i.thresholds.iter().map(|(name, value)| (name.as_str(), *value));
    let kind = |name| remc_flat::flatten::Threshold::of_name(name).map_or("", |t| t.name());
    let rows = |rows: Vec<[String; 2]>| -> String {
        rows.iter().map(|[a, b]| format!("  {{{}, {}}},\n", quoted(a), quoted(b))).collect()
    };
    let thresholds = rows(named.clone().map(|(name, _)| [name.to_owned(), kind(name).to_owned()]).collect());
    let shaped = rows(fixed.iter().map(|(name, value)| [name.clone(), value.to_string()]).collect());
    let numbers = listed(
        "Sizes from which on versions are chosen; remc_context_tune gives a context others:",
        named.map(|(name, value)| (name, said(value))),
    ) + &listed(
        "What has shaped the code, and was fixed when it was compiled:",
        fixed.iter().map(|(name, value)| (name.as_str(), value.to_string())),
    );
    RUNTIME
        .replace("@NUMBERS@", &numbers)
        .replace("@NTHRESHOLDS@", &i.thresholds.len().to_string())
        .replace("@THRESHOLDS@", thresholds.trim_end())
        .replace("@FIXED@", shaped.trim_end())
        .replace("@NAME@", p.name.as_str())
        .replace("@PARAMS@", params.trim_end())
        .replace("@RESULTS@", results.trim_end())
        .replace("@NPARAMS@", &i.params.len().to_string())
        .replace("@NRESULTS@", &at.to_string())
        .replace("@TRAPS@", traps.trim_end())
}

/// Lines of the comment on top, about numbers.
fn listed<'n>(title: &str, all: impl Iterator<Item = (&'n str, String)>) -> String {
    let lines: String = all
        .map(|(name, value)| format!(" *   {} = {value}\n", name.replace("*/", "* /").replace('\n', " ")))
        .collect();
    if lines.is_empty() { lines } else { format!(" * {title}\n{lines} *\n") }
}

/// The value of a threshold, as the command line takes it.
fn said(value: i64) -> String {
    match value {
        ALWAYS => "always".to_owned(),
        NEVER => "never".to_owned(),
        value => value.to_string(),
    }
}

fn c_type(t: BaseTy) -> &'static str {
    match t {
        BaseTy::Bool => "bool (one byte, 0 or 1)",
        BaseTy::Char => "uint32_t (a code point)",
        BaseTy::I8 => "int8_t",
        BaseTy::I16 => "int16_t",
        BaseTy::I32 => "int32_t",
        BaseTy::I64 => "int64_t",
        BaseTy::U8 => "uint8_t",
        BaseTy::U16 => "uint16_t",
        BaseTy::U32 => "uint32_t",
        BaseTy::U64 => "uint64_t",
        BaseTy::F16 => "half float (uint16_t bits)",
        BaseTy::F32 => "float",
        BaseTy::F64 => "double",
    }
}

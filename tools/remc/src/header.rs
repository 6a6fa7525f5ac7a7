//! The C header of an object file: what the entry takes and gives, and a small runtime.
//!
//! An object asks its surroundings for memory, for the launch of its kernels and for what happens when a
//! check fails (the ABI of `compiler/backend/llvm`). The header declares that, and defines all of it, on `malloc` and
//! OpenMP, in the one file of a program that defines `REMC_IMPLEMENTATION` before including it.

use remc_base::BaseTy;
use remc_kernel::interface::{Slot, interface};
use remc_kernel::ir::{Program, Ty};

const RUNTIME: &str = include_str!("header/runtime.h");

/// The header of a program's object.
pub fn header(p: &Program) -> String {
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
    RUNTIME
        .replace("@NAME@", p.name.as_str())
        .replace("@PARAMS@", params.trim_end())
        .replace("@RESULTS@", results.trim_end())
        .replace("@NPARAMS@", &i.params.len().to_string())
        .replace("@NRESULTS@", &at.to_string())
        .replace("@TRAPS@", traps.trim_end())
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

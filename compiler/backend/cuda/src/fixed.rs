//! The numbers that shape a kernel's code, as constants with names: `remc_k0_rows_threads`.
//!
//! ```text
//! constexpr u32 remc_k0_rows_threads = 256, remc_k0_rows_packed = 1, remc_k0_rows_resident = 3;
//! ```
//!
//! They are what the kernel's IR says, which follows from the schedule of its operator; the numbers of the schedules are
//! listed above the text and in the manifest. They are fixed where a text is printed: thresholds alone can be set later.
//! A constant that the text is to have goes into [`constants`], and nowhere else.

use crate::kernel::{packed, resident, symbol, threads};
use remc_kernel::ir::{Kernel, KernelId, Program};

/// A constant.
pub struct Constant {
    pub name: &'static str,
    pub value: u32,
    pub meaning: &'static str,
}

/// Those of a kernel.
pub fn constants(k: &Kernel) -> Vec<Constant> {
    let constant = |name, value, meaning| Constant { name, value, meaning };
    vec![
        constant("threads", threads(k), "threads of a block"),
        constant("packed", packed(k), "blocks of the program that a block runs at once"),
        constant("resident", resident(k), "blocks that a multiprocessor has room for at least"),
    ]
}

/// What a constant of a kernel is called in the text.
pub fn name(id: KernelId, k: &Kernel, constant: &str) -> String {
    format!("remc_{}_{constant}", symbol(id, k))
}

/// The declaration of a kernel's constants.
pub fn declaration(id: KernelId, k: &Kernel) -> String {
    let all = constants(k).into_iter().map(|c| format!("{} = {}", name(id, k, c.name), c.value));
    format!("[[maybe_unused]] constexpr u32 {};", all.collect::<Vec<_>>().join(", "))
}

/// A line about the constants of each kernel, and one about what they are.
pub fn lines(p: &Program) -> Vec<String> {
    let mut meanings: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for (id, k) in p.kernels.iter() {
        let all = constants(k);
        let values: Vec<String> = all.iter().map(|c| format!("{} = {}", c.name, c.value)).collect();
        lines.push(format!("{}: {}", symbol(id, k), values.join(", ")));
        meanings = all.iter().map(|c| format!("{}: {}", c.name, c.meaning)).collect();
    }
    if !lines.is_empty() {
        lines.push(format!("({})", meanings.join("; ")));
    }
    lines
}

//! Kernel → CUDA C++: text that people can read, and that stands on its own.
//!
//! | module | what it prints |
//! | --- | --- |
//! | [`interface`] | what C sees of a program: names, types, sizes |
//! | [`product`] | programs of their own, of one entry or several, and what is said above them |
//! | [`api`], [`checks`], [`manifest`] | the C API, messages, the manifest |
//! | [`fixed`] | numbers that shape kernels, as constants with names |
//! | [`program`] | the tables of a program that is run by itself |
//! | [`kernel`] | kernels: signatures, blocks, what blocks hand on |
//! | [`host`] | the plan, as a function of the host |
//! | [`body`] | statements, in both |
//! | [`together`] | collectives, chains, and checks where threads meet |
//! | [`scalar`] | operators, casts, constants |
//! | [`inline`] | which values have no line of their own |
//! | [`packs`] | loops in lanes, whose elements are one word of memory |
//! | [`names`], [`keywords`] | what variables are called |
//! | [`writer`] | lines at an indentation |
//!
//! Printing decides nothing: which loop runs in which threads, what is in shared memory and where threads
//! wait for each other is in the program. The text begins with a prelude, `src/text/*.cuh`, for what C++
//! and the language mean differently, and for what kernels and host need to talk to each other.

mod api;
mod body;
mod checks;
mod fixed;
mod host;
mod inline;
mod interface;
mod kernel;
mod keywords;
mod manifest;
mod names;
mod packs;
mod product;
mod program;
mod scalar;
mod together;
mod writer;

use remc_base::{BaseTy, Prov};
use remc_kernel::ir::{Atom, Exp, Kernel, KernelId, Program, Stmt, StmtKind, Ty};
use remc_kernel::traps::numbers;
pub use remc_kernel::traps::traps;
use std::fmt;

pub use checks::quoted;
pub use product::{About, BEGINS, Entry, Product, product};

const SCALAR: &str = include_str!("text/scalar.cuh");
const HALF: &str = include_str!("text/half.cuh");
const DEVICE: &str = include_str!("text/device.cuh");
const THREADS: &str = include_str!("text/threads.cuh");
const UPDATE: &str = include_str!("text/update.cuh");
const HOST: &str = include_str!("text/host.cuh");

/// What has no text: a mistake of the compiler, since the verifier has accepted the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// What the host's part of the text is written with.
const INCLUDES: &str = "#ifndef REMC_EMULATED\n#include <cuda_runtime.h>\n#endif\n#include <math.h>\n\
                        #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";

/// How whoever calls a function finds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Linkage {
    /// By its name, in what is loaded.
    Named,
    /// In the same text, in the namespace of its entry.
    Own,
}

/// Says where a statement comes from, as `line 3 of main` does; nothing if that is not known.
pub type Places<'p> = &'p dyn Fn(Prov) -> Option<String>;

/// The kernels alone, for a compiler that runs in this process.
///
/// # Errors
/// A program that the verifier should have refused.
pub fn kernels(p: &Program, places: Places<'_>) -> Result<String, Error> {
    Ok(prelude(&[p]) + &kernels_alone(p, places, Linkage::Named)?)
}

fn kernels_alone(p: &Program, places: Places<'_>, linkage: Linkage) -> Result<String, Error> {
    let traps = numbers(&traps(p));
    let roles = kernel::Roles::of(p);
    let mut out = String::new();
    for (id, k) in p.kernels.iter() {
        let mut about: Vec<String> = k.provs.iter().filter_map(|prov| places(*prov)).collect();
        about.dedup();
        let about = if about.is_empty() { String::new() } else { format!(": {}", about.join(", ")) };
        out.push('\n');
        out.push_str(&kernel::print(p, id, k, &traps, &roles, (linkage, &about))?);
    }
    Ok(out)
}

/// How a kernel is launched by whoever has not the printed host code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The function's name in the text.
    pub symbol: String,
    /// Threads of a block of the device, and how many blocks of the kernel run in one.
    pub threads: u32,
    pub packed: u32,
    /// The parameters after the kernel's own: how many blocks there are (a `u64`), the error slot, and of a
    /// chained kernel a `u64` that is 0 at the launch.
    pub chained: bool,
    /// Whether the error slot may say something afterwards.
    pub checks: bool,
    /// Whether there may be no more threads than workers.
    pub scratch: bool,
}

impl Launch {
    /// How many blocks of the device run so many of the kernel; `workers` is how many threads there are for
    /// memory of their own.
    pub fn grid(&self, blocks: u64, workers: u64) -> u32 {
        let size = blocks.div_ceil(u64::from(self.packed));
        let size = if self.scratch { size.min(workers / u64::from(self.threads)) } else { size };
        size.clamp(1, i32::MAX as u64) as u32
    }
}

/// How each kernel is launched.
pub fn launches(p: &Program) -> Vec<Launch> {
    let of = |(id, k): (KernelId, &Kernel)| Launch {
        symbol: kernel::symbol(id, k),
        threads: kernel::threads(k),
        packed: kernel::packed(k),
        chained: k.is_chained(),
        checks: kernel::has_checks(&k.body),
        scratch: kernel::has_scratch(p, k),
    };
    p.kernels.iter().map(of).collect()
}

/// The kernels, and a function of the host that runs the plan: for a process that knows the program.
///
/// # Errors
/// As of [`kernels`].
pub fn plan(p: &Program, places: Places<'_>) -> Result<String, Error> {
    let plan = host::print(p, &numbers(&traps(p)), Linkage::Named)?;
    Ok(format!("{INCLUDES}\n{}\n{HOST}\n{plan}", kernels(p, places)?))
}

/// What comes before the kernels of some programs.
fn prelude(all: &[&Program]) -> String {
    let half = if all.iter().any(|p| mentions_half(p)) { HALF } else { "" };
    let meets = |p: &&Program| p.kernels.iter().any(|(_, k)| k.body.iter().any(|s| kernel::meets(&s.kind)));
    let together = if all.iter().any(meets) { THREADS } else { "" };
    let updates = |p: &&Program| p.kernels.iter().any(|(_, k)| k.body.iter().any(|s| has_updates(&s.kind)));
    let update = if all.iter().any(updates) { UPDATE } else { "" };
    format!("{SCALAR}{half}\n{DEVICE}{together}{update}")
}

fn has_updates(s: &StmtKind) -> bool {
    matches!(s, StmtKind::Update { .. }) || s.blocks().into_iter().flatten().any(|s| has_updates(&s.kind))
}

fn mentions_half(p: &Program) -> bool {
    let var = |ty: &Ty| match ty {
        Ty::Scalar(b) => *b == BaseTy::F16,
        Ty::Buffer(b) => b.base == BaseTy::F16,
    };
    let constant = |a: &Atom| matches!(a, Atom::Const(c) if c.ty() == BaseTy::F16);
    fn any(block: &[Stmt], constant: &dyn Fn(&Atom) -> bool) -> bool {
        block.iter().any(|s| {
            let own = match &s.kind {
                StmtKind::Let { exp: Exp::Cast(BaseTy::F16, _), .. } => true,
                StmtKind::Let { exp: Exp::Op(_, args), .. } => args.iter().any(constant),
                StmtKind::Let { exp: Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a), .. }
                | StmtKind::Store { value: a, .. } => constant(a),
                _ => false,
            };
            own || s.kind.blocks().into_iter().any(|b| any(b, constant))
        })
    }
    p.vars.iter().any(|(_, i)| var(&i.ty))
        || p.kernels.iter().any(|(_, k)| any(&k.body, &constant))
        || any(&p.plan, &constant)
        || p.results.iter().any(constant)
}

//! Kernel → CUDA C++: text that people can read, and that stands on its own.
//!
//! | module | what it prints |
//! | --- | --- |
//! | [`interface`] | what C sees of a program: names, types, sizes |
//! | [`api`], [`checks`], [`manifest`] | the C API, messages, the manifest |
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
mod host;
mod inline;
mod interface;
mod kernel;
mod keywords;
mod manifest;
mod names;
mod packs;
mod program;
mod scalar;
mod together;
mod writer;

use remc_base::{ArrTy, BaseTy, IVar, Name, Prov};
use remc_kernel::ir::{Atom, Exp, Kernel, KernelId, Program, Stmt, StmtKind, Ty};
use remc_kernel::traps::numbers;
pub use remc_kernel::traps::traps;
use std::fmt;

const SCALAR: &str = include_str!("text/scalar.cuh");
const HALF: &str = include_str!("text/half.cuh");
const DEVICE: &str = include_str!("text/device.cuh");
const THREADS: &str = include_str!("text/threads.cuh");
const HOST: &str = include_str!("text/host.cuh");
const NUMBER: &str = include_str!("text/number.cuh");
const API: &str = include_str!("text/api.cuh");
const TABLES: &str = include_str!("text/tables.cuh");
const READ: &str = include_str!("text/read.cuh");
const NPY: &str = include_str!("text/npy.cuh");
const PRINT: &str = include_str!("text/print.cuh");
const MAIN: &str = include_str!("text/main.cuh");

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

/// What a product needs beside that. Its own functions, but for those of the header, stay its own: a process
/// may load the libraries of several entries, whose kernels have the same names.
const PRODUCT: &str = "#include <charconv>
#ifndef REMC_LIBRARY
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

// Nothing below is seen from outside, but for what the header declares. (It holds to the end of the file, and
// for what nvcc adds there.)
#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif
";

/// Says where a statement comes from, as `line 3 of main` does; nothing if that is not known.
pub type Places<'p> = &'p dyn Fn(Prov) -> Option<String>;

/// The kernels alone, for a compiler that runs in this process.
///
/// # Errors
/// A program that the verifier should have refused.
pub fn kernels(p: &Program, places: Places<'_>) -> Result<String, Error> {
    let traps = numbers(&traps(p));
    let roles = kernel::Roles::of(p);
    let mut out = prelude(p);
    for (id, k) in p.kernels.iter() {
        let mut about: Vec<String> = k.provs.iter().filter_map(|prov| places(*prov)).collect();
        about.dedup();
        let about = if about.is_empty() { String::new() } else { format!(": {}", about.join(", ")) };
        out.push('\n');
        out.push_str(&kernel::print(p, id, k, &traps, &roles, &about)?);
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
    Ok(format!("{INCLUDES}\n{}", kernels_and_plan(p, places)?))
}

fn kernels_and_plan(p: &Program, places: Places<'_>) -> Result<String, Error> {
    Ok(format!("{}\n{HOST}\n{}", kernels(p, places)?, host::print(p, &numbers(&traps(p)))?))
}

/// What is to be said of a program beside what it does.
pub struct About<'a> {
    /// Where a statement comes from, for comments.
    pub places: Places<'a>,
    /// Where something that may stop is, for messages: `prog.remora:3:12`.
    pub at: Places<'a>,
    /// The indices of the entry, the ranks of the shapes among them, and its parameters.
    pub indices: &'a [IVar],
    pub ranks: &'a [usize],
    pub params: &'a [(Name, ArrTy)],
    /// Of remc.
    pub version: &'a str,
}

/// A program of its own, as files.
pub struct Product {
    /// CUDA C++: a program, or with `-DREMC_LIBRARY` a library.
    pub source: String,
    /// What C sees of the library.
    pub header: String,
    /// JSON: what the program takes and gives, its kernels and checks.
    pub manifest: String,
}

/// What the source, the header and the manifest of a [`Product`] begin with, whatever the program and the version.
pub const BEGINS: [&str; 3] = ["// Printed by remc ", "/* The entr", "{\"remc\": "];

/// A program of its own: the kernels, a function of the host that runs the plan, the C API, and a `main`.
///
/// # Errors
/// As of [`kernels`].
pub fn product(p: &Program, about: &About<'_>) -> Result<Product, Error> {
    let interface = interface::interface(p)?;
    let types: Vec<(String, String)> =
        about.params.iter().map(|(name, ty)| (name.to_string(), ty.to_string())).collect();
    let header = api::header(&interface, &types, about.version);
    let traps = traps(p);
    let manifest = manifest::manifest(p, &interface, &traps, about.version);
    let mut source = format!(
        "{}{}: the entry `{}` as CUDA C++, by itself: a program, or a library.\n//\n//   nvcc -std=c++17 -O3 -arch=native -o prog \
         prog.cu\n//   nvcc -std=c++17 -O3 -arch=native -DREMC_LIBRARY -shared -Xcompiler -fPIC -o libprog.so \
         prog.cu\n\n",
        BEGINS[0], about.version, interface.entry
    );
    source += &header;
    source.push('\n');
    source += INCLUDES;
    if mentions_half(p) {
        source += "#include <cuda_fp16.h>\n";
    }
    source += PRODUCT;
    source.push('\n');
    source += &kernels_and_plan(p, about.places)?;
    for part in [
        NUMBER,
        &checks::tables(p, &traps, about.at),
        &embedded(&manifest, &interface),
        API,
        &api::entry(&interface),
    ] {
        source.push('\n');
        source += part;
    }
    source += "\n#ifndef REMC_LIBRARY\n";
    let (tables, solve) = program::tables(p, &interface, about)?;
    for part in [TABLES, &tables, READ, NPY, PRINT, &solve, MAIN] {
        source += part;
        source.push('\n');
    }
    source += "#endif\n";
    Ok(Product { source, header, manifest })
}

/// The manifest as a string of C, a line for each of its own.
fn embedded(manifest: &str, i: &interface::Interface) -> String {
    let lines: String =
        manifest.split_inclusive('\n').map(|l| format!("\n  {}", checks::quoted(l))).collect();
    let function = &i.manifest;
    format!(
        "static const char remc_manifest_text[] ={lines};\n\nextern \"C\" const char *{function}(void) {{ return \
         remc_manifest_text; }}\n"
    )
}

/// What comes before the kernels.
fn prelude(p: &Program) -> String {
    let half = if mentions_half(p) { HALF } else { "" };
    let together = p.kernels.iter().any(|(_, k)| k.body.iter().any(|s| kernel::meets(&s.kind)));
    let together = if together { THREADS } else { "" };
    format!("{SCALAR}{half}\n{DEVICE}{together}")
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
                StmtKind::Let { exp: Exp::Atom(a) | Exp::Cast(_, a), .. }
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

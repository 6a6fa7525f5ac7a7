//! What the kernels of all programs take of a GPU. Their CUDA text is compiled by NVRTC: all of it for Hopper,
//! whose registers, shared memory and stack `testsuite/cuda/resources.txt` has, a line for each kernel; a part
//! of it, and all with `REMC_CUDA_ALL=1`, for the older architectures. No register is spilled. A few become
//! stand-alone programs by `nvcc`, host code included.
//!
//! The figures belong to the release of CUDA that `tools/setup cuda` installs; with another one they are not
//! compared.

use crate::compiled::{Folder, not_compiled};
use crate::examples;
use crate::kernels::{STACK, Tuning, compile};
use crate::{Directives, directives, expect_file, files, root, stem};
use libtest_mimic::{Failed, Trial};
use remc_driver::Session;
use remc_runtime::cuda::arch::Arch;
use remc_runtime::cuda::nvrtc::{Compiler, for_a_test};
use remc_runtime::data::Place;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that compile.
const WORKERS: usize = 2;
/// The release whose figures are kept.
const RELEASE: (u32, u32) = (13, 0);
/// What the figures are of.
const MEASURED: Arch = Arch(90);
/// One program of so many is compiled for the other architectures.
const SAMPLED: usize = 4;
/// Become programs by `nvcc`: a map with scalars, a scan, a matrix product.
const LINKED: [&str; 3] = ["mean", "scan-forms", "reduce-matrix-product"];

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("cuda::resources", resources), Trial::test("cuda::nvcc_links_programs", linked)]
}

/// Programs that are compiled, in the order of their names, and then the examples; with what they are run on.
fn programs() -> Vec<(PathBuf, Directives)> {
    let refused = not_compiled();
    let known = |p: &PathBuf| !refused.contains_key(&format!("programs/{}", stem(p)));
    let of = |p: PathBuf| {
        let d = directives(&std::fs::read_to_string(&p).unwrap_or_default());
        (p, d)
    };
    let programs = files("programs", "remora").into_iter().filter(known).map(of);
    let compiled = |e: &examples::Example| !refused.contains_key(&format!("examples/{}", stem(&e.path)));
    let examples = examples::all().into_iter().filter(compiled).map(|e| (e.path, e.directives));
    programs.chain(examples).collect()
}

/// A program's entry and inputs, paths from the root of the repository.
fn inputs(d: &Directives) -> (Option<&str>, Vec<(String, String)>) {
    let mut entry = None;
    let mut inputs = Vec::new();
    for pair in d.arguments.chunks(2) {
        let [option, value] = pair else { continue };
        match (option.as_str(), value.split_once('=')) {
            ("--entry", _) => entry = Some(value.as_str()),
            ("--input", Some((name, value))) => {
                let file = root().join(value.trim()).display().to_string();
                let value = if Place::of(&file).is_some() { file } else { value.to_owned() };
                inputs.push((name.trim().to_owned(), value));
            }
            _ => {}
        }
    }
    (entry, inputs)
}

fn resources() -> Result<(), Failed> {
    let Some(compiler) = for_a_test()? else { return Ok(()) };
    let programs = programs();
    let all = std::env::var_os("REMC_CUDA_ALL").is_some_and(|v| v == "1");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut session = Session::default();
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, d)) = programs.get(at) else { return done };
            let older = all || at.is_multiple_of(SAMPLED);
            done.push((at, of_program(&mut session, &compiler, (path, d), older)));
        }
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<_>, Failed> {
        let start = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let workers = (0..WORKERS).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
        let done = workers.into_iter().map(|w| w.join().map_err(|_| Failed::from("a panic")));
        Ok(done.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    })?;
    done.sort_by_key(|(at, _)| *at);
    let mut out = String::from(
        "# What the kernels of the programs take on sm_90, by CUDA 13.0: registers of a thread, bytes of shared\n\
         # memory of a block, bytes of a thread's stack. Nothing is spilled.\n",
    );
    let mut wrong = Vec::new();
    for (_, lines) in done {
        match lines {
            Ok(lines) => out += &lines,
            Err(e) => wrong.push(e),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    if compiler.version() != RELEASE {
        eprintln!("left out: figures of {compiler:?}, which are others than those of {RELEASE:?}");
        return Ok(());
    }
    expect_file(&root().join("testsuite/cuda/resources.txt"), &out)
}

/// The lines of a program; an error names it.
fn of_program(
    session: &mut Session,
    compiler: &Compiler,
    (path, d): (&Path, &Directives),
    older: bool,
) -> Result<String, String> {
    let name = stem(path);
    let about = |e: String| format!("{name}: {e}");
    let text = std::fs::read_to_string(path).map_err(|e| about(e.to_string()))?;
    let (entry, inputs) = inputs(d);
    let kernels = compile(session, &text, entry, &inputs, Tuning::gpu()).map_err(about)?;
    let text = remc_cuda::kernels(&kernels.program, &|_| None).map_err(|e| about(e.to_string()))?;
    let mut lines = String::new();
    for arch in Arch::TESTED.into_iter().filter(|a| older || *a == MEASURED) {
        let cubin = compiler.compile(&text, &format!("{name}.cu"), arch).map_err(|e| about(e.to_string()))?;
        for r in cubin.resources() {
            if r.spill_stores + r.spill_loads > 0 {
                return Err(about(format!("registers are spilled: {r:?}")));
            }
            if arch == MEASURED {
                let (registers, shared, stack) = (r.registers, r.shared, r.stack);
                let _ = writeln!(lines, "{name} {} {registers} {shared} {stack}", r.kernel);
            }
        }
    }
    Ok(lines)
}

fn linked() -> Result<(), Failed> {
    let Some(compiler) = for_a_test()? else { return Ok(()) };
    let toolkit = compiler.include().and_then(Path::parent).filter(|t| t.join("bin/nvcc").is_file());
    let Some(toolkit) = toolkit else {
        eprintln!("left out: there is no nvcc beside {compiler:?}");
        return Ok(());
    };
    for name in LINKED {
        let path = root().join(format!("testsuite/programs/{name}.remora"));
        let d = directives(&std::fs::read_to_string(&path)?);
        let (entry, _) = inputs(&d);
        let folder = Folder::new(name)?;
        let (source, program) = (folder.0.join("program.cu"), folder.0.join("program"));
        let mut emit = crate::remc();
        emit.args(["compile", "--emit", "cuda", "-o"]).arg(&source).arg(&path);
        entry.iter().for_each(|e| _ = emit.args(["--entry", e]));
        let made = emit.output()?;
        if !made.status.success() {
            return Err(format!("{name}: {}", crate::stderr(&made)).into());
        }
        let mut nvcc = Command::new(toolkit.join("bin/nvcc"));
        nvcc.args(["-std=c++17", "-arch=sm_90", "-L"]).arg(toolkit.join("lib"));
        nvcc.arg("-o").arg(&program).arg(&source);
        let made = nvcc.output()?;
        let there = program.is_file();
        if !made.status.success() || !there {
            return Err(format!("{name}: {}{}", crate::stdout(&made), crate::stderr(&made)).into());
        }
    }
    Ok(())
}

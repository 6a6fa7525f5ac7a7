//! What the kernels of the programs take of a GPU. Their CUDA text is compiled by NVRTC: for Hopper, whose registers,
//! shared memory and stack `testsuite/cuda/resources.txt` has, a line for each kernel; a part of it, and all with
//! `REMC_CUDA_ALL=1`, for the older architectures. No register is spilled. A few become stand-alone programs by
//! `nvcc`, host code included. A plain run takes a sample of the programs.
//!
//! The figures belong to the release of CUDA that `tools/setup cuda` installs; with another one they are not
//! compared.

use crate::compiled::Folder;
use crate::kernels::Tuning;
use crate::paths::{self, Given, inputs};
use crate::{differs, directives, expect_file, root, stem, updating};
use libtest_mimic::{Failed, Trial};
use remc_driver::Session;
use remc_runtime::cuda::arch::Arch;
use remc_runtime::cuda::nvrtc::{Compiler, for_a_test};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The release whose figures are kept.
const RELEASE: (u32, u32) = (13, 0);
/// What the figures are of.
const MEASURED: Arch = Arch(90);
/// One program of so many is in the sample.
const SAMPLED: u64 = 5;
/// One program of so many is compiled for the other architectures.
const OLDER: u64 = 4;
/// The first lines of the file.
const HEADER: &str = "# What the kernels of the programs take on sm_90, by CUDA 13.0: registers of a thread, bytes of shared\n\
                      # memory of a block, bytes of a thread's stack. Nothing is spilled.\n";
/// Become programs by `nvcc`: a map with scalars, a scan, a matrix product.
const LINKED: [&str; 3] = ["mean", "scan-forms", "reduce-matrix-product"];

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("cuda::resources", resources), Trial::test("cuda::nvcc_links_programs", linked)]
}

fn resources() -> Result<(), Failed> {
    let Some(compiler) = for_a_test()? else { return Ok(()) };
    let sampled = |(path, _): &Given| remc_sample::takes(SAMPLED, &format!("resources::{}", stem(path)));
    let programs: Vec<Given> = paths::programs().into_iter().filter(sampled).collect();
    let all = std::env::var_os("REMC_CUDA_ALL").is_some_and(|v| v == "1");
    let lines = paths::with_each(&programs, |session, given| {
        let older = all || remc_sample::rank(&format!("older::{}", stem(&given.0))).is_multiple_of(OLDER);
        of_program(session, &compiler, given, older)
    })?;
    if compiler.version() != RELEASE {
        eprintln!("left out: figures of {compiler:?}, which are others than those of {RELEASE:?}");
        return Ok(());
    }
    let file = root().join("testsuite/cuda/resources.txt");
    if remc_sample::everything() {
        return expect_file(&file, &(HEADER.to_owned() + &lines.concat()));
    }
    // Of a sample, its lines of the file.
    let names: BTreeSet<String> = programs.iter().map(|(path, _)| stem(path)).collect();
    let text = std::fs::read_to_string(&file)?;
    let mine = |l: &&str| !l.starts_with('#') && l.split(' ').next().is_some_and(|name| names.contains(name));
    let expected: String = text.split_inclusive('\n').filter(mine).collect();
    if expected == lines.concat() {
        return Ok(());
    }
    if updating() {
        return Err(format!("the file is written of all programs: {}=1", remc_sample::ALL).into());
    }
    Err(differs(&format!("{}", file.display()), &expected, &lines.concat()))
}

/// The lines of a program; an error names it.
fn of_program(
    session: &mut Session,
    compiler: &Compiler,
    given: &Given,
    older: bool,
) -> Result<String, String> {
    let name = stem(&given.0);
    let about = |e: String| format!("{name}: {e}");
    let program = paths::kernels(session, given, Tuning::gpu())?;
    let text = remc_cuda::kernels(&program, &|_| None).map_err(|e| about(e.to_string()))?;
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

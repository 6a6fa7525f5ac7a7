//! Executes printed CUDA on a machine without a GPU: the exact text, host code included, compiled as C++ against
//! the emulator of `testsuite/cuda/emulate/`, whose README says what is checked. For tests.
//!
//! ```no_run
//! # use remc_emulate::*;
//! # use std::path::Path;
//! let emulator = Emulator::new("target/emulate").unwrap();
//! let program = Path::new("/tmp/program");
//! emulator.compile(Path::new("/tmp/program.cu"), program, Options::default())?;
//! let output = emulator.command(program, Order::Reverse).output().unwrap();
//! # Ok::<(), String>(())
//! ```
//!
//! The emulator's runtime is compiled once for each set of flags, into the cache directory, under a name made of
//! its text, the flags and the compiler's version, and so is the header that all programs begin with; they are put
//! there by renaming, so processes may share a directory. What is found there is run: nobody else may be able to write
//! to it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The exit code of a program that did what it must not; a sentence on standard error says what.
pub const BROKEN: i32 = 70;

/// The emulator's text: each file's path and contents.
const FILES: [(&str, &str); 14] = {
    macro_rules! file {
        ($path:literal) => {
            ($path, include_str!(concat!("../../../testsuite/cuda/emulate/", $path)))
        };
    }
    [
        file!("remora_ahead.h"),
        file!("remora_emulate.h"),
        file!("remora_numbers.h"),
        file!("remora_runtime_api.h"),
        file!("remora_emulate.cpp"),
        file!("include/cuda_fp16.h"),
        file!("include/cuda_runtime.h"),
        file!("runtime/report.h"),
        file!("runtime/fiber.h"),
        file!("runtime/block.h"),
        file!("runtime/races.h"),
        file!("runtime/memory.h"),
        file!("runtime/grid.h"),
        file!("runtime/api.h"),
    ]
};

/// The oldest major version of GCC that knows all flags that are used here.
const OLDEST_COMPILER: u32 = 11;

/// How a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// With the address and undefined-behaviour sanitizers. Not together with `races`.
    pub sanitize: bool,
    /// With the race check: accesses of threads that no barrier orders, and accesses outside of allocations, end
    /// the program.
    pub races: bool,
    /// As a shared library instead of a program.
    pub library: bool,
    /// The compiler's level of optimisation, 0 to 3.
    pub optimise: u8,
}

impl Default for Options {
    fn default() -> Options {
        Options { sanitize: false, races: false, library: false, optimise: 1 }
    }
}

/// The order in which the threads of a block run between two barriers, and the blocks of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Reverse,
    /// Different from block to block, the same for the same seed; threads also give way at random.
    Random(u64),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Order::Forward => write!(f, "forward"),
            Order::Reverse => write!(f, "reverse"),
            Order::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// There is no C++ compiler that the emulator can be used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCompiler;

impl fmt::Display for NoCompiler {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "no GNU C++ compiler, version {OLDEST_COMPILER} or later, was found as $CXX, g++ or c++; on Debian the \
             package g++ has one"
        )
    }
}

impl std::error::Error for NoCompiler {}

/// A C++ compiler, and where the emulator's runtime is kept for it.
pub struct Emulator {
    compiler: OsString,
    /// The emulator's text, and the runtime's objects.
    folder: PathBuf,
    /// Held while the text and the runtime are put there.
    building: Mutex<()>,
}

impl Emulator {
    /// Looks for a compiler. Nothing is compiled before there is something to compile.
    pub fn new(cache: impl AsRef<Path>) -> Result<Emulator, NoCompiler> {
        let (compiler, version) = find_compiler().ok_or(NoCompiler)?;
        let mut key = blake3::Hasher::new();
        key.update(version.as_bytes());
        for (path, text) in FILES {
            for part in [path, text] {
                key.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
            }
        }
        let folder = cache.as_ref().join(format!("emulate-{}", &key.finalize().to_hex()[..16]));
        // A command that is told to run in another folder must still find it.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        Ok(Emulator { compiler, folder, building: Mutex::new(()) })
    }

    /// Names the compiler, the emulator's text and the processor: what a compiled program depends on beside
    /// its own text and its options.
    pub fn identity(&self) -> String {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let features = processor.lines().find(|l| l.starts_with("flags")).unwrap_or_default();
        let features = blake3::hash(features.as_bytes()).to_hex();
        format!("{} {}", self.folder.file_name().unwrap_or_default().to_string_lossy(), &features[..16])
    }

    /// Compiles one stand-alone CUDA file. The error is the compiler's message.
    pub fn compile(&self, source: &Path, out: &Path, options: Options) -> Result<(), String> {
        if options.sanitize && options.races {
            return Err("a program is compiled with the sanitizers or with the race check, not both".into());
        }
        let runtime = self.runtime(options.sanitize)?;
        let flags = self.flags(options);
        let header = self.ahead(&flags)?;
        let object = beside(out, "o");
        let mut compile = self.compiler();
        compile.args(flags).args(["-x", "c++", "-include"]).arg(header);
        compile.arg("-c").arg(source).arg("-o").arg(&object);
        let mut link = self.compiler();
        if options.sanitize {
            link.args(SANITIZE);
        }
        if options.library {
            // The threads that run blocks wait for the next launch as long as the process lives.
            link.args(["-shared", "-Wl,-z,nodelete"]);
        }
        link.arg(&object).arg(runtime).arg("-o").arg(out).args(["-pthread", "-ldl"]);
        let result = run(compile).and_then(|()| run(link));
        // What is left of a failed run is of no use, and a file that is not there need not be removed.
        let _ = fs::remove_file(&object);
        result
    }

    /// The flags that a program's text is compiled with.
    fn flags(&self, options: Options) -> Vec<OsString> {
        // Names of the text may be unused, and comparisons always true.
        let mut flags = vec!["-w", "-ffp-contract=off", "-fno-strict-aliasing"];
        flags.push(["-O0", "-O1", "-O2", "-O3"][usize::from(options.optimise.min(3))]);
        if options.optimise > 1 {
            // GCC 12 fails in that pass (a segmentation fault) on large texts behind a precompiled header.
            flags.push("-fno-ipa-cp");
        }
        if cfg!(target_arch = "x86_64") {
            // A fused multiply-add is one instruction then, and not a call.
            flags.push("-march=native");
        }
        if options.sanitize {
            flags.extend(SANITIZE);
        }
        if options.races {
            // The calls before every access lead to the emulator: the sanitizer's library is not linked.
            flags.extend(["-fsanitize=thread", "--param", "tsan-distinguish-volatile=1", "-g1"]);
        }
        if options.library {
            // Printed programs leave out their `main` then.
            flags.extend(["-fPIC", "-DREMC_LIBRARY"]);
        }
        let include = [OsString::from("-I"), self.folder.join("include").into_os_string()];
        flags.into_iter().map(OsString::from).chain(include).collect()
    }

    /// The header of all programs; what these flags make of it lies beside it, where the compiler looks. Without that,
    /// should it not come about, the header is compiled with each program.
    fn ahead(&self, flags: &[OsString]) -> Result<PathBuf, String> {
        let header = self.folder.join("remora_ahead.h");
        let mut key = blake3::Hasher::new();
        flags.iter().for_each(|f| _ = key.update(f.as_encoded_bytes()).update(b"\0"));
        // The compiler takes the one of this folder that was made with the same flags.
        let made = header.with_extension("h.gch");
        let kept = made.join(&key.finalize().to_hex()[..16]);
        let _guard = self.building.lock().unwrap_or_else(|e| e.into_inner());
        if !kept.exists() {
            fs::create_dir_all(&made).map_err(|e| format!("{}: {e}", made.display()))?;
            // Not in that folder before it is whole.
            let temporary = beside(&self.folder.join("ahead"), "building");
            let mut compile = self.compiler();
            compile.args(flags).args(["-x", "c++-header"]).arg(&header).arg("-o").arg(&temporary);
            if run(compile).is_ok() {
                fs::rename(&temporary, &kept).map_err(|e| format!("{}: {e}", kept.display()))?;
            }
        }
        Ok(header)
    }

    /// A command that runs a compiled program. It ends with [`BROKEN`] where the emulator or a sanitizer found
    /// something. The environment variables of the emulator's README can be set on it.
    pub fn command(&self, program: &Path, order: Order) -> Command {
        let program = std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf());
        let mut command = Command::new(program);
        command.env("REMC_EMULATE_ORDER", order.to_string());
        // Looking for leaks of host memory needs rights that a container may lack.
        command.env("ASAN_OPTIONS", format!("exitcode={BROKEN}:detect_leaks=0"));
        command.env("UBSAN_OPTIONS", format!("exitcode={BROKEN}:halt_on_error=1:print_stacktrace=1"));
        command
    }

    fn compiler(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.arg("-std=c++20");
        command
    }

    /// The runtime's object, compiled if it is not there yet.
    fn runtime(&self, sanitize: bool) -> Result<PathBuf, String> {
        let name = if sanitize { "remora_emulate.sanitize.o" } else { "remora_emulate.o" };
        let object = self.folder.join(name);
        // A thread that panicked left at most a file of another name.
        let _guard = self.building.lock().unwrap_or_else(|e| e.into_inner());
        if object.exists() {
            return Ok(object);
        }
        for (path, text) in FILES {
            put(&self.folder.join(path), text)?;
        }
        let temporary = beside(&object, "building");
        let mut compile = self.compiler();
        compile.args(if sanitize { ["-O1", "-g1"] } else { ["-O2", "-g0"] });
        if sanitize {
            compile.args(SANITIZE);
        }
        compile.args(["-fPIC", "-pthread", "-c"]).arg(self.folder.join("remora_emulate.cpp"));
        compile.arg("-o").arg(&temporary);
        run(compile)?;
        fs::rename(&temporary, &object).map_err(|e| format!("{}: {e}", object.display()))?;
        Ok(object)
    }
}

const SANITIZE: [&str; 3] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1"];

/// The compiler, and its version in full.
fn find_compiler() -> Option<(OsString, String)> {
    let named = std::env::var_os("CXX").filter(|c| !c.is_empty());
    named.into_iter().chain(["g++".into(), "c++".into()]).find_map(|compiler| {
        let version = gnu_version(&compiler)?;
        Some((compiler, version))
    })
}

/// What a GNU compiler says of itself; `None` for others, and for those that are too old.
fn gnu_version(compiler: &OsStr) -> Option<String> {
    // Other compilers do not know the first flag.
    let output = Command::new(compiler).args(["-dumpfullversion", "-dumpmachine"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let major: u32 = text.split(['.', '\n']).next()?.parse().ok()?;
    (output.status.success() && major >= OLDEST_COMPILER).then_some(text)
}

/// A name for a file that will be renamed to `path`, or is gone soon: no other thread or process has it.
fn beside(path: &Path, ending: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    // Processes in two containers may have one number.
    let process = RandomState::new().hash_one(std::process::id());
    name.push(format!(".{process:016x}-{number}.{ending}"));
    path.with_file_name(name)
}

/// Writes a file so that nobody sees half of it.
fn put(path: &Path, text: &str) -> Result<(), String> {
    let describe = |e: std::io::Error| format!("{}: {e}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(describe)?;
    }
    let temporary = beside(path, "writing");
    fs::write(&temporary, text).map_err(describe)?;
    fs::rename(&temporary, path).map_err(describe)
}

/// Runs a compiler; its messages are the error.
fn run(mut command: Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} failed ({}):\n{messages}", output.status))
}

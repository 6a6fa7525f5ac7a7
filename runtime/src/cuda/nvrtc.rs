//! NVRTC, the compiler of the cuda device: CUDA C++ in, the machine code of one architecture (a *cubin*) out.
//!
//! Code for a GPU is made when a program runs, on the machine that runs it, so the compiler is a library
//! that is looked for then. Nobody needs it to build remc, or to run a program elsewhere. It is looked for
//!
//! 1. where the caller says, and if so nowhere else;
//! 2. where `REMC_CUDA_HOME` says, and if so nowhere else: a toolkit, a virtual environment that holds
//!    NVIDIA's wheels, or the folder of the library itself;
//! 3. where `tools/setup cuda` installs it: in `cuda/toolkit` of cargo's target folder, which this program
//!    is in if it was built from source;
//! 4. where the system's loader finds it, and in `/usr/local/cuda`.
//!
//! NVRTC opens a second library, its built-in definitions, by a name without a folder, which the loader
//! resolves only if it is in its path, or loaded already. So that one is loaded first, by its path.
//!
//! A cubin is asked for and not PTX, the portable form: a driver refuses PTX of a newer toolkit than its
//! own, and would compile it once more. The functions are bound here rather than through a crate's
//! bindings: those take the first NVRTC that the loader knows, of any version, and panic without one.
//!
//! Options are fixed. `--fmad=false`: a product and a sum are fused only where the text says `fma`, as on
//! every device. Divisions and square roots are rounded correctly and subnormal numbers kept, by default.
//! `--ptxas-options=-v` makes the assembler report what a kernel takes: see [`Resources`].

use super::arch::Arch;
use super::missing::{Missing, RELEASE};
use super::resources::Resources;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The variable that names the folder of a toolkit.
pub const HOME: &str = "REMC_CUDA_HOME";
const LIBRARY: &str = "libnvrtc.so.13";
/// Its built-in definitions; the rest of the name is the release.
const BUILTINS: &str = "libnvrtc-builtins.so.13";
/// What is compiled: the same for every kernel.
const OPTIONS: [&str; 3] = ["-std=c++17", "--fmad=false", "--ptxas-options=-v"];
const SUCCESS: c_int = 0;

/// The machine code of kernels for one architecture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    pub bytes: Vec<u8>,
    /// What the compiler said: warnings, and a report for each kernel.
    pub log: String,
}

impl Cubin {
    /// What each kernel takes, in the order of the report.
    pub fn resources(&self) -> Vec<Resources> {
        Resources::of_log(&self.log)
    }
}

/// Why a text became no cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    /// The compiler refuses the text: its messages, which name lines of it.
    Refused { name: String, log: String },
    /// The architecture is none that this NVRTC knows.
    Architecture { arch: Arch, known: Vec<Arch> },
    /// The text, or its name, has a NUL character.
    Nul,
    /// A call failed that has nothing to do with the text.
    Failed { call: &'static str, why: String },
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Refused { name, log } => {
                write!(f, "NVRTC refuses `{name}`:\n{}", log.trim_end())
            }
            CompileError::Architecture { arch, known } => {
                write!(f, "NVRTC does not compile for {arch}, only for ")?;
                for (i, a) in known.iter().enumerate() {
                    write!(f, "{}{a}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            CompileError::Nul => write!(f, "a text with a NUL character"),
            CompileError::Failed { call, why } => write!(f, "{call} failed: {why}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// What NVRTC calls a program.
type Handle = *mut std::ffi::c_void;

/// The functions that are used. They are valid while the library is loaded.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    count_archs: unsafe extern "C" fn(*mut c_int) -> c_int,
    archs: unsafe extern "C" fn(*mut c_int) -> c_int,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    log_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
}

impl Functions {
    /// # Safety
    /// `library` is NVRTC of CUDA 12 or later, whose functions have these types.
    unsafe fn of(library: &Library) -> Result<Functions, libloading::Error> {
        // SAFETY: the caller's promise: the types are those of the library's functions of these names.
        unsafe {
            Ok(Functions {
                version: *library.get(c"nvrtcVersion")?,
                error: *library.get(c"nvrtcGetErrorString")?,
                count_archs: *library.get(c"nvrtcGetNumSupportedArchs")?,
                archs: *library.get(c"nvrtcGetSupportedArchs")?,
                create: *library.get(c"nvrtcCreateProgram")?,
                compile: *library.get(c"nvrtcCompileProgram")?,
                log_size: *library.get(c"nvrtcGetProgramLogSize")?,
                log: *library.get(c"nvrtcGetProgramLog")?,
                cubin_size: *library.get(c"nvrtcGetCUBINSize")?,
                cubin: *library.get(c"nvrtcGetCUBIN")?,
                destroy: *library.get(c"nvrtcDestroyProgram")?,
            })
        }
    }
}

/// NVRTC, loaded. Clones share it; several threads may compile at the same time.
#[derive(Clone)]
pub struct Compiler(Arc<Loaded>);

struct Loaded {
    functions: Functions,
    /// As it was opened: a path, or the bare name that the system's loader resolved.
    path: PathBuf,
    version: (u32, u32),
    archs: Vec<Arch>,
    /// The folder of CUDA's headers, where there is one beside the library.
    include: Option<PathBuf>,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {:?} ({})", self.0.version, self.0.path.display())
    }
}

impl Compiler {
    /// Finds and loads NVRTC, in the order that the header states. `hint` is the folder of a toolkit.
    pub fn find(hint: Option<&Path>) -> Result<Compiler, Missing> {
        let home = std::env::var_os(HOME).filter(|v| !v.is_empty()).map(PathBuf::from);
        if let Some(chosen) = hint.map(Path::to_path_buf).or(home) {
            return match library_in(&chosen) {
                Some(path) => Compiler::load(&path),
                None => Err(Missing::Nvrtc { looked_in: Some(chosen) }),
            };
        }
        if let Some(path) = private().iter().find_map(|f| library_in(f)) {
            return Compiler::load(&path);
        }
        match (Compiler::load(Path::new(LIBRARY)), library_in(Path::new("/usr/local/cuda"))) {
            (Err(Missing::Nvrtc { .. }), Some(path)) => Compiler::load(&path),
            (found, _) => found,
        }
    }

    /// Loads the library at a path, or the one that the system's loader knows by a bare name.
    fn load(path: &Path) -> Result<Compiler, Missing> {
        let fails = |why: String| Missing::NvrtcFails { path: path.to_path_buf(), why };
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        for builtins in folder.map(builtins_in).unwrap_or_default() {
            // SAFETY: the library of that name defines data, and has no code that runs when it is loaded.
            if let Ok(library) = unsafe { Library::new(builtins) } {
                // It stays: the compiler finds it by its name from now on.
                std::mem::forget(library);
            }
        }
        // SAFETY: NVRTC may be loaded at any time, by any thread.
        let library = match unsafe { Library::new(path) } {
            Ok(library) => library,
            Err(_) if folder.is_none() => return Err(Missing::Nvrtc { looked_in: None }),
            Err(e) => return Err(fails(e.to_string())),
        };
        // SAFETY: the library is named as NVRTC of CUDA 13 is, which has these functions.
        let functions = unsafe { Functions::of(&library) }.map_err(|e| fails(e.to_string()))?;
        // Functions outlive it, and a compiler with threads of its own had better not be unloaded.
        std::mem::forget(library);
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: both take pointers to numbers, which these are.
        let codes =
            unsafe { [(functions.version)(&mut major, &mut minor), (functions.count_archs)(&mut count)] };
        let mut archs: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: there is room for as many numbers as there are architectures.
        let listed = unsafe { (functions.archs)(archs.as_mut_ptr()) };
        if codes != [SUCCESS; 2] || listed != SUCCESS {
            return Err(fails("it does not say its version".into()));
        }
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        if version.0 != RELEASE.0 {
            return Err(fails(format!("it is of CUDA {major}.{minor}, and CUDA {} is needed", RELEASE.0)));
        }
        let archs = archs.into_iter().map(|n| Arch(n.unsigned_abs())).collect();
        let include = folder.and_then(|f| Some(f.parent()?.join("include"))).filter(|f| f.is_dir());
        Ok(Compiler(Arc::new(Loaded { functions, path: path.to_path_buf(), version, archs, include })))
    }

    /// The release of CUDA that it belongs to.
    pub fn version(&self) -> (u32, u32) {
        self.0.version
    }

    /// The architectures that it compiles for, in ascending order.
    pub fn archs(&self) -> &[Arch] {
        &self.0.archs
    }

    /// The folder of CUDA's headers, which a text with `#include <cuda_fp16.h>` needs.
    pub fn include(&self) -> Option<&Path> {
        self.0.include.as_deref()
    }

    /// All that a cubin depends on beside the text and the architecture, for a key of a cache.
    pub fn identity(&self) -> String {
        let (major, minor) = self.0.version;
        // Two builds of one release are of different sizes.
        let size = std::fs::metadata(&self.0.path).map_or(0, |m| m.len());
        format!("nvrtc {major}.{minor} {size} {OPTIONS:?} {}", self.0.include.is_some())
    }

    /// Compiles a text; `name` is what messages call it.
    pub fn compile(&self, source: &str, name: &str, arch: Arch) -> Result<Cubin, CompileError> {
        if !self.0.archs.contains(&arch) {
            return Err(CompileError::Architecture { arch, known: self.0.archs.clone() });
        }
        let mut options: Vec<String> = OPTIONS.iter().map(|o| (*o).to_owned()).collect();
        options.push(format!("--gpu-architecture={arch}"));
        options.extend(self.include().and_then(Path::to_str).map(|f| format!("--include-path={f}")));
        let text = |s: &str| CString::new(s).map_err(|_| CompileError::Nul);
        let options = options.iter().map(|o| text(o)).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let program = Program::new(&self.0.functions, &text(source)?, &text(name)?)?;
        // SAFETY: the program is alive, and `options` are that many strings, which outlive the call.
        let code =
            unsafe { (self.0.functions.compile)(program.handle, options.len() as c_int, options.as_ptr()) };
        let log = program.log()?;
        match code {
            SUCCESS => Ok(Cubin { bytes: program.cubin()?, log }),
            // Of the text, or of something else that the log explains.
            _ if !log.trim().is_empty() => Err(CompileError::Refused { name: name.to_owned(), log }),
            code => Err(self.0.functions.failed("nvrtcCompileProgram", code)),
        }
    }
}

impl Functions {
    fn failed(&self, call: &'static str, code: c_int) -> CompileError {
        // SAFETY: it gives a constant string for any number.
        let text = unsafe { (self.error)(code) };
        let why = if text.is_null() {
            format!("error {code}")
        } else {
            // SAFETY: the string is constant and ends with a NUL.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        CompileError::Failed { call, why }
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), CompileError> {
        if code == SUCCESS { Ok(()) } else { Err(self.failed(call, code)) }
    }
}

/// A text that is being compiled; NVRTC's part of it goes when it is dropped.
struct Program<'a> {
    handle: Handle,
    functions: &'a Functions,
}

impl Program<'_> {
    fn new<'a>(functions: &'a Functions, source: &CStr, name: &CStr) -> Result<Program<'a>, CompileError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: both strings end with a NUL; no headers are given, so none are read.
        let code = unsafe {
            (functions.create)(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        functions.check("nvrtcCreateProgram", code)?;
        Ok(Program { handle, functions })
    }

    fn log(&self) -> Result<String, CompileError> {
        let mut bytes = self.bytes("nvrtcGetProgramLog", self.functions.log_size, self.functions.log)?;
        if bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>, CompileError> {
        self.bytes("nvrtcGetCUBIN", self.functions.cubin_size, self.functions.cubin)
    }

    /// What a pair of functions gives: how much there is, then the bytes.
    fn bytes(
        &self,
        call: &'static str,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        get: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    ) -> Result<Vec<u8>, CompileError> {
        let mut n = 0;
        // SAFETY: the program is alive, and `n` is a number.
        self.functions.check(call, unsafe { size(self.handle, &mut n) })?;
        let mut bytes = vec![0u8; n];
        // SAFETY: the program is alive, and there is room for as many bytes as it has said.
        self.functions.check(call, unsafe { get(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was made and is not used after. It cannot fail in a way that matters.
        let _ = unsafe { (self.functions.destroy)(&mut self.handle) };
    }
}

/// The library in a toolkit's folder, in a virtual environment's, or in the folder itself.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let wheels = |root: PathBuf| root.join("nvidia/cu13/lib");
    let mut folders: Vec<PathBuf> = vec![folder.join("lib"), folder.join("lib64"), folder.to_path_buf()];
    folders.push(wheels(folder.to_path_buf()));
    // The folder of a virtual environment's packages is named after the version of Python.
    let pythons = std::fs::read_dir(folder.join("lib")).into_iter().flatten().flatten();
    folders.extend(pythons.map(|p| wheels(p.path().join("site-packages"))));
    let path = folders.into_iter().map(|f| f.join(LIBRARY)).find(|p| p.is_file())?;
    // By its absolute path, so that the loader looks nowhere else.
    path.canonicalize().ok()
}

fn builtins_in(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|f| f.path());
    files.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(BUILTINS))).collect()
}

/// Where `tools/setup cuda` may have put the compiler: programs are in the target folder, or below it.
fn private() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().skip(1).take(4).map(|f| f.join("cuda/toolkit")).collect()
}

/// The compiler for a test, or `None` after a line that says why the test is left out: with
/// `REMC_NO_CUDA=1`, or where nothing says that there should be a compiler.
///
/// # Errors
/// Somebody has named a toolkit, as `tools/setup test` does, and it cannot be used.
pub fn for_a_test() -> Result<Option<Compiler>, Missing> {
    if std::env::var_os("REMC_NO_CUDA").is_some_and(|v| v == "1") {
        eprintln!("left out, as REMC_NO_CUDA is 1");
        return Ok(None);
    }
    match Compiler::find(None) {
        Ok(compiler) => Ok(Some(compiler)),
        Err(missing @ Missing::Nvrtc { looked_in: None }) => {
            eprintln!("left out: {missing}; or run `tools/setup cuda`");
            Ok(None)
        }
        Err(missing) => Err(missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: &str = "
extern \"C\" __global__ void scale(long long n, float f, const float *x, float *y) {
  __shared__ float tile[256];
  long long i = blockIdx.x * 256ll + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = f * tile[threadIdx.x ^ 1] + 1.0f;
}
";

    fn compiler() -> Option<Compiler> {
        for_a_test().expect("NVRTC")
    }

    #[test]
    fn a_kernel_becomes_a_cubin() {
        let Some(compiler) = compiler() else { return };
        assert_eq!(compiler.version().0, 13);
        for arch in Arch::TESTED {
            let cubin = compiler.compile(SCALE, "scale.cu", arch).unwrap();
            assert!(cubin.bytes.starts_with(b"\x7fELF"), "{arch}");
            let [r] = &cubin.resources()[..] else { panic!("{}", cubin.log) };
            assert_eq!((r.kernel.as_str(), r.arch, r.shared), ("scale", arch, 1024));
            assert_eq!((r.spill_stores, r.spill_loads, r.stack, r.barriers), (0, 0, 0, 1));
            assert!((4..64).contains(&r.registers), "{}", cubin.log);
        }
    }

    #[test]
    fn what_is_refused() {
        let Some(compiler) = compiler() else { return };
        let wrong = compiler.compile("__global__ void k() {\n  int i = unknown;\n}\n", "wrong.cu", Arch(80));
        let Err(wrong @ CompileError::Refused { .. }) = wrong else { panic!("{wrong:?}") };
        assert!(wrong.to_string().starts_with("NVRTC refuses `wrong.cu`:\nwrong.cu(2): error: "), "{wrong}");
        assert!(wrong.to_string().contains("\"unknown\" is undefined"), "{wrong}");
        let old = compiler.compile(SCALE, "scale.cu", Arch(70)).unwrap_err();
        assert!(old.to_string().starts_with("NVRTC does not compile for sm_70, only for sm_75, "), "{old}");
        assert_eq!(compiler.compile("\0", "nul.cu", Arch(80)), Err(CompileError::Nul));
        assert_eq!(compiler.compile("", "n\0ul.cu", Arch(80)), Err(CompileError::Nul));
        assert!(compiler.compile("", "empty.cu", Arch(80)).is_ok_and(|c| c.resources().is_empty()));
    }

    #[test]
    fn half_precision_where_the_headers_are() {
        let Some(compiler) = compiler().filter(|c| c.include().is_some()) else { return };
        let text =
            "#include <cuda_fp16.h>\nextern \"C\" __global__ void h(__half *x) { x[0] = x[1] + x[2]; }";
        assert!(compiler.compile(text, "half.cu", Arch(75)).is_ok());
    }

    #[test]
    fn several_threads() {
        let Some(compiler) = compiler() else { return };
        let wanted = compiler.compile(SCALE, "scale.cu", Arch(90)).unwrap().bytes;
        std::thread::scope(|s| {
            for i in 0..4 {
                let (compiler, wanted) = (compiler.clone(), &wanted);
                s.spawn(move || {
                    for _ in 0..3 {
                        assert!(compiler.compile("int x = ;", "wrong.cu", Arch(80)).is_err());
                        let text = SCALE.to_owned() + &"\n".repeat(i);
                        assert_eq!(&compiler.compile(&text, "scale.cu", Arch(90)).unwrap().bytes, wanted);
                    }
                });
            }
        });
    }

    #[test]
    fn where_it_is_looked_for() {
        let folder = std::env::temp_dir().join(format!("remc-nvrtc-{}", std::process::id()));
        let missing = Compiler::find(Some(&folder)).unwrap_err();
        assert_eq!(missing, Missing::Nvrtc { looked_in: Some(folder.clone()) });
        for inside in ["lib", "lib64", "", "nvidia/cu13/lib", "lib/python3.9/site-packages/nvidia/cu13/lib"] {
            let place = folder.join(inside);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join(LIBRARY), "no library").unwrap();
            std::fs::write(place.join("libnvrtc-builtins.so.13.0"), "neither").unwrap();
            let found = library_in(&folder).unwrap();
            assert_eq!(found, place.canonicalize().unwrap().join(LIBRARY));
            let Err(Missing::NvrtcFails { path, .. }) = Compiler::find(Some(&folder)) else {
                panic!("{inside}")
            };
            assert_eq!(path, found);
            std::fs::remove_file(place.join(LIBRARY)).unwrap();
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}

//! The C side: each kernel is compiled once into a shared library and called in this process.

use crate::cases::{Array, Case, Input};
use crate::contender::{Contender, Outcome};
use crate::data::{self, Given};
use crate::native::{Buffer, Kernel};
use crate::places;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Reassociation lets a sum be of vectors; the others change no result that anybody looks at: no signed
/// zeros, no trapping operations, no `errno` from a square root (which would be a call).
pub const FLAGS: [&str; 7] = [
    "-O3",
    "-march=native",
    "-fopenmp",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-fno-math-errno",
];

/// The C compiler, and what it says of itself.
pub struct Compiler {
    folder: PathBuf,
    pub version: String,
}

impl Compiler {
    pub fn find(cache: &Path) -> Result<Compiler, String> {
        let output = Command::new("gcc").arg("--version").output().map_err(|e| format!("no gcc: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().next() {
            Some(first) if output.status.success() => {
                Ok(Compiler { folder: cache.join("peers"), version: first.to_owned() })
            }
            _ => Err("gcc does not work".into()),
        }
    }

    /// The library of a kernel, compiled anew if its text, the flags, the compiler or the processor changed.
    pub fn library(&self, name: &str) -> Result<PathBuf, String> {
        self.made(name, "so", &["-shared", "-fPIC", "-Wall", "-Wextra"])
    }

    /// The same of a program of its own.
    pub fn program(&self, name: &str) -> Result<PathBuf, String> {
        self.made(name, "run", &["-Wall"])
    }

    fn made(&self, name: &str, ending: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let source = places::kernel(name);
        let mut hasher = DefaultHasher::new();
        // All texts of its folder and of those of `peer.h` and `rows.h`, as a kernel may include another.
        let shared = ["peers", "unseen"].map(|folder| places::sources().join(folder));
        let folders: BTreeSet<&Path> =
            source.parent().into_iter().chain(shared.iter().map(PathBuf::as_path)).collect();
        for folder in folders {
            let mut texts: Vec<PathBuf> = fs::read_dir(folder)
                .and_then(|entries| entries.map(|e| e.map(|e| e.path())).collect())
                .map_err(|e| format!("{}: {e}", folder.display()))?;
            texts.sort();
            for path in texts.iter().filter(|p| p.extension().is_some_and(|e| e == "c" || e == "h")) {
                fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?.hash(&mut hasher);
            }
        }
        (FLAGS, &self.version, processor()).hash(&mut hasher);
        let library =
            self.folder.join(format!("{}-{:016x}.{ending}", name.replace('/', "-"), hasher.finish()));
        if library.is_file() {
            return Ok(library);
        }
        fs::create_dir_all(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        let partial = library.with_extension(format!("partial-{}", std::process::id()));
        let output = Command::new("gcc")
            .args(FLAGS)
            .args(flags)
            .arg("-o")
            .args([&partial, &source])
            .arg("-lm")
            .output()
            .map_err(|e| format!("gcc: {e}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("gcc does not compile {name}.c: {}", said.lines().next().unwrap_or("")));
        }
        fs::rename(&partial, &library).map_err(|e| format!("{}: {e}", library.display()))?;
        Ok(library)
    }
}

/// The model of the processor, as Linux calls it.
pub fn processor() -> String {
    fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The hand-written C kernels as a contender.
pub struct Peers {
    compiler: Result<Compiler, String>,
    threads: u16,
    file: PathBuf,
    row: Option<Loaded>,
}

/// A row that is ready to be called.
struct Loaded {
    kernel: Kernel,
    sizes: Vec<i64>,
    inputs: Vec<Buffer>,
    output: Buffer,
    shape: Array,
}

impl Peers {
    pub fn new(compiler: Result<Compiler, String>, threads: u16, cache: &Path) -> Peers {
        let file = cache.join(format!("result-c-{}.npy", std::process::id()));
        Peers { compiler, threads, file, row: None }
    }

    fn row(&mut self) -> Result<&mut Loaded, String> {
        self.row.as_mut().ok_or_else(|| "nothing is prepared".into())
    }
}

impl Contender for Peers {
    fn name(&self) -> &'static str {
        "C"
    }

    fn prepare(&mut self, case: &Case, inputs: &[(&'static str, Given)]) -> Result<Option<Duration>, String> {
        let compiler = self.compiler.as_ref().map_err(Clone::clone)?;
        let kernel = Kernel::load(&compiler.library(case.c)?, self.threads)?;
        let mut buffers = Vec::new();
        for (input, (_, given)) in case.inputs.iter().zip(inputs) {
            // Scalars are among the sizes.
            let (Input::Array { array, .. }, Given::File(path)) = (input, given) else { continue };
            let mut buffer = kernel.buffer(array.bytes())?;
            data::read_into(path, array, buffer.bytes_mut())
                .map_err(|e| format!("{}: {e}", path.display()))?;
            buffers.push(buffer);
        }
        let output = kernel.buffer(case.output.bytes())?;
        let (sizes, shape) = (case.sizes.clone(), case.output.clone());
        self.row = Some(Loaded { kernel, sizes, inputs: buffers, output, shape });
        Ok(None)
    }

    fn call(&mut self) -> Result<Duration, String> {
        let row = self.row()?;
        Ok(row.kernel.run(&row.sizes, &row.inputs, &mut row.output))
    }

    fn result(&mut self) -> Result<Outcome, String> {
        let file = self.file.clone();
        let row = self.row()?;
        data::write(&file, &row.shape, row.output.bytes()).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(Outcome::File(file))
    }

    fn release(&mut self) {
        self.row = None;
        // It may never have been written.
        let _ = fs::remove_file(&self.file);
    }
}

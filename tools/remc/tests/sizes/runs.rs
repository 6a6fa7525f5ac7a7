//! Programs that run at many sizes: their inputs, and what is said of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An array for a parameter, by a generator of its own: integers from -100 to 100, or tenths of them, or as
/// the variant says.
pub enum Array {
    Ints(fn(usize) -> Vec<usize>),
    Floats(fn(usize) -> Vec<usize>),
    /// From 0 to 9, but for the element in the middle, which is 17.
    OneBad(fn(usize) -> Vec<usize>),
    /// Matrices [[digit 1] [1 0]], which have inverses: a product of many still tells of all of them.
    Steps(fn(usize) -> Vec<usize>),
    /// The number of each element, in descending order.
    Descending(fn(usize) -> Vec<usize>),
}
pub use Array::{Descending, Floats, Ints, OneBad, Steps};

pub fn vector(n: usize) -> Vec<usize> {
    vec![n]
}

#[derive(Clone, Copy, PartialEq)]
pub enum Agreement {
    Exact,
    /// Up to rounding, with the interpreter; exactly, between the ways of one device.
    Close,
}
pub use Agreement::{Close, Exact};

/// The sizes that a plain run takes for an entry, by their names, and `always`: which ones is another choice for
/// each entry, so all of them are tried by some.
pub fn sampled(name: &str, sizes: &[usize], always: usize) -> Vec<usize> {
    let is_taken = |n: usize| n == always || remc_sample::takes(4, &format!("{name} of {n}"));
    sizes.iter().copied().filter(|n| is_taken(*n)).collect()
}

/// An entry in a file of its own, and its inputs of one size after another.
pub struct Program {
    name: &'static str,
    folder: Folder,
    path: PathBuf,
    arguments: Vec<String>,
    cache: PathBuf,
}

impl Program {
    /// With a cache of its own if it is to be looked at.
    pub fn new(name: &'static str, entry: &str, own_cache: bool) -> Program {
        let folder = Folder::new(name);
        let path = folder.0.join("entry.remora");
        std::fs::write(&path, entry).unwrap();
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let cache = if own_cache { folder.0.join("cache") } else { shared };
        Program { name, folder, path, arguments: Vec::new(), cache }
    }

    /// Makes inputs for size `n`.
    pub fn of_size(&mut self, inputs: &[(&str, Array)], n: usize) {
        self.arguments.clear();
        for (k, (name, array)) in inputs.iter().enumerate() {
            let path = self.folder.0.join(format!("{name}.npy"));
            std::fs::write(&path, npy(array, n, k as u64)).unwrap();
            self.arguments.extend(["--input".to_owned(), format!("{name}={}", path.display())]);
        }
    }

    pub fn run(&self, more: &[&str], environment: &[(&str, &str)]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remc"));
        command.arg("run").arg(&self.path).args(&self.arguments).args(more);
        command.env("REMC_CACHE", &self.cache).envs(environment.iter().copied());
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        Said::of(command.output().unwrap())
    }

    /// A value, or a stop.
    #[track_caller]
    pub fn wanted(&self, more: &[&str], n: usize) -> Said {
        let wanted = self.run(more, &[]);
        assert!(matches!(wanted.code, Some(0 | 3)), "{} of {n}: {}", self.name, wanted.err);
        wanted
    }

    /// How many libraries the emulated device has compiled for it.
    pub fn libraries(&self) -> usize {
        std::fs::read_dir(self.cache.join("emulated")).map_or(0, Iterator::count)
    }
}

/// What a run gave.
pub struct Said {
    pub code: Option<i32>,
    out: String,
    pub err: String,
}

impl Said {
    fn of(o: Output) -> Said {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: o.status.code(), out: text(&o.stdout), err: text(&o.stderr) }
    }

    pub fn differs(&self, wanted: &Said, agreement: Agreement) -> Option<String> {
        if self.code != wanted.code || self.err != wanted.err {
            return Some(format!("{:?} {} instead of {:?} {}", self.code, self.err, wanted.code, wanted.err));
        }
        let (found, wanted) = (words(&self.out), words(&wanted.out));
        if found.len() != wanted.len() {
            return Some(format!("{} words instead of {}", found.len(), wanted.len()));
        }
        let equal = |a: &str, b: &str| a == b || (agreement == Close && close(a, b));
        let at = found.iter().zip(&wanted).position(|(a, b)| !equal(a, b))?;
        Some(format!("word {at} is {} instead of {}", found[at], wanted[at]))
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split([' ', '[', ']', '(', ')', '\n']).filter(|w| !w.is_empty()).collect()
}

fn close(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        _ => false,
    }
}

/// An array as a file of NumPy's format, version 1.
fn npy(array: &Array, n: usize, seed: u64) -> Vec<u8> {
    let (kind, shape) = match array {
        Floats(shape) => ("<f8", shape(n)),
        Ints(shape) | Steps(shape) | OneBad(shape) | Descending(shape) => ("<i8", shape(n)),
    };
    let elements: usize = shape.iter().product();
    let dims: String = shape.iter().map(|d| format!("{d},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dims}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(n as u64);
    for i in 0..elements {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 33) as i64 % 201 - 100;
        match array {
            Ints(_) => bytes.extend(number.to_le_bytes()),
            // A tenth is no float, so that sums are rounded.
            Floats(_) => bytes.extend((number as f64 / 10.0).to_le_bytes()),
            Steps(_) if i % 4 != 0 => bytes.extend(i64::from(i % 4 != 3).to_le_bytes()),
            OneBad(_) if i == elements / 2 => bytes.extend(17i64.to_le_bytes()),
            Steps(_) | OneBad(_) => bytes.extend((number + 100).rem_euclid(10).to_le_bytes()),
            Descending(_) => bytes.extend(((elements - 1 - i) as i64).to_le_bytes()),
        }
    }
    bytes
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("remc-sizes-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

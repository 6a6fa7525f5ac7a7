//! Kernels compiled, or found where they were compiled before.
//!
//! A cubin takes tens of milliseconds for each kernel, so it is kept on disk ([`crate::cache`]), found by
//! the text it was made from, the compiler and the architecture. What the compiler said is kept with it,
//! since it holds what each kernel takes.
//!
//! ```text
//! content ::= length of the log (8 bytes, little-endian) log cubin
//! ```

use super::arch::Arch;
use super::nvrtc::{CompileError, Compiler, Cubin};
use crate::cache::{Cache, Key};

/// A compiler with a cache before it.
pub struct Kernels {
    pub compiler: Compiler,
    pub cache: Cache,
}

impl Kernels {
    /// The cubin of a text; `name` is what messages call it.
    pub fn compile(&self, source: &str, name: &str, arch: Arch) -> Result<Cubin, CompileError> {
        match self.cache.get(self.key(source, name, arch)).and_then(|content| read(&content)) {
            Some(cubin) => Ok(cubin),
            None => self.compile_anew(source, name, arch),
        }
    }

    /// … whatever the cache holds.
    pub fn compile_anew(&self, source: &str, name: &str, arch: Arch) -> Result<Cubin, CompileError> {
        let cubin = self.compiler.compile(source, name, arch)?;
        // Where it cannot be written, the next run compiles again.
        let _ = self.cache.put(self.key(source, name, arch), &write(&cubin));
        Ok(cubin)
    }

    fn key(&self, source: &str, name: &str, arch: Arch) -> Key {
        let identity = self.compiler.identity();
        Key::of(&[source.as_bytes(), name.as_bytes(), identity.as_bytes(), &arch.0.to_le_bytes()])
    }
}

fn write(cubin: &Cubin) -> Vec<u8> {
    [&(cubin.log.len() as u64).to_le_bytes(), cubin.log.as_bytes(), &cubin.bytes].concat()
}

fn read(content: &[u8]) -> Option<Cubin> {
    let (length, rest) = content.split_first_chunk::<8>()?;
    let (log, bytes) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    Some(Cubin { bytes: bytes.to_vec(), log: String::from_utf8(log.to_vec()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::nvrtc::for_a_test;

    #[test]
    fn content() {
        let cubin = Cubin { bytes: vec![1, 2, 3], log: "ptxas says ü".into() };
        let content = write(&cubin);
        assert_eq!(read(&content), Some(cubin));
        for n in 0..8 + "ptxas says ü".len() {
            assert_eq!(read(&content[..n]), None);
        }
        assert_eq!(read(&[255; 20]), None);
    }

    #[test]
    fn what_was_compiled_is_found_again() {
        let Some(compiler) = for_a_test().expect("NVRTC") else { return };
        let place = crate::temporary::Temporary::folder("test").unwrap();
        let folder = place.path();
        let open = || Kernels { compiler: compiler.clone(), cache: Cache::open(folder, 1 << 20) };
        let text = |n: u32| format!("extern \"C\" __global__ void k(int *x) {{ x[threadIdx.x] = {n}; }}");
        let files = || std::fs::read_dir(folder).map_or(0, Iterator::count);
        let first = open().compile(&text(1), "k.cu", Arch(80)).unwrap();
        assert_eq!(files(), 1);
        assert_eq!(open().compile(&text(1), "k.cu", Arch(80)).unwrap(), first);
        assert_eq!((files(), first.resources().len()), (1, 1));
        assert_ne!(open().compile(&text(1), "k.cu", Arch(90)).unwrap(), first);
        assert_ne!(open().compile(&text(2), "k.cu", Arch(80)).unwrap(), first);
        assert!(open().compile("not C", "k.cu", Arch(80)).is_err());
        assert_eq!(files(), 3);
    }
}

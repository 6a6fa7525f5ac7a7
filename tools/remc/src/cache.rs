//! The cache of compiled kernels, as the driver of one run sees it.

use remc_kernel::ir::Program;
use remc_llvm::Host;
use remc_runtime::cache::{Cache, Key};

/// The place of one program's machine code in the cache.
pub struct Entry {
    cache: Cache,
    key: Key,
}

impl Entry {
    /// Keyed by everything that the code depends on: the program, this compiler, LLVM, the processor.
    pub fn of(program: &Program, host: &Host) -> Entry {
        let text = remc_kernel::print::print_program(program);
        let key = Key::of(&[
            text.as_bytes(),
            compiler().as_bytes(),
            b"llvm 19",
            host.cpu.as_bytes(),
            host.features.as_bytes(),
        ]);
        Entry { cache: Cache::from_environment(), key }
    }

    /// The code of a part of the program.
    pub fn get(&self, part: usize) -> Option<Vec<u8>> {
        self.cache.get(self.key.part(part))
    }

    pub fn put(&self, part: usize, object: &[u8]) {
        // Where it cannot be written, the next run compiles again.
        let _ = self.cache.put(self.key.part(part), object);
    }
}

/// Which build of the compiler this is: its version, and when its program file was made.
fn compiler() -> String {
    let file = std::env::current_exe().and_then(|p| p.metadata());
    let made = file.ok().map(|m| (m.len(), m.modified().ok()));
    format!("{} {made:?}", env!("CARGO_PKG_VERSION"))
}

//! The cache of compiled kernels, as the driver of one run sees it.

use crate::codes;
use remc_base::Diagnostic;
use remc_driver::Session;
use remc_runtime::cache::Cache;
#[cfg(feature = "llvm")]
use {remc_kernel::ir::Program, remc_llvm::Host, remc_runtime::cache::Key};

/// The place of one program's machine code in the cache.
#[cfg(feature = "llvm")]
pub struct Entry {
    cache: Cache,
    key: Key,
}

#[cfg(feature = "llvm")]
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

    /// Warns of what was not used.
    pub fn warn(&self, session: &Session) {
        warn(session, &self.cache);
    }
}

/// Warns of what in a cache was not used because it cannot be trusted.
pub fn warn(session: &Session, cache: &Cache) {
    for refusal in cache.refusals() {
        session.notice(
            Diagnostic::warning(codes::CACHE, refusal)
                .note("code that is found there would be run, so it must be yours, and writable by you alone")
                .help(
                    "REMC_CACHE can be the absolute path of another folder, which remc makes, or `off`; a folder or \
                     file that is not yours alone can be removed",
                ),
        );
    }
}

/// Which build of the compiler this is: its version, and when its program file was made.
#[cfg(feature = "llvm")]
pub fn compiler() -> String {
    let file = std::env::current_exe().and_then(|p| p.metadata());
    let made = file.ok().map(|m| (m.len(), m.modified().ok()));
    format!("{} {made:?}", env!("CARGO_PKG_VERSION"))
}

//! Files and folders that are gone in the end, whatever ends the process.
//!
//! What is only half made has a name that nobody guesses and that nothing had before: random, and made exclusively, so
//! that neither a file left by another process nor one put there by another user is ever written to. It goes when its
//! [`Temporary`] is dropped, and also when the process is told to end by a signal:
//!
//! ```text
//! SIGHUP, SIGINT, SIGQUIT, SIGTERM ──► a thread: remove what there is, then end by the same signal
//! SIGXFSZ (a file is larger than it may be) ──► the write fails, and says so
//! ```
//!
//! The thread is started with the first temporary file. It and whoever makes, renames or removes one hold the same
//! lock: a file is renamed whole or removed, and after the thread has begun there are no more. A signal that the process
//! was started with orders to ignore (`nohup`) stays ignored. Only `SIGKILL` and the like leave something behind.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError, mpsc};

static WATCHED: Once = Once::new();

/// Whoever wants to be told of an interruption.
static TOLD: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether no interruption ends the process.
static PATIENT: AtomicBool = AtomicBool::new(false);

/// What there is now.
static THERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn there() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is whole after a panic, too.
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A new file in a folder, open for writing, with permissions that the umask may narrow.
    pub fn file(folder: &Path, mode: u32) -> io::Result<(Temporary, File)> {
        use std::os::unix::fs::PermissionsExt;
        let make = || {
            tempfile::Builder::new()
                .prefix(".remc-")
                .suffix(".tmp")
                .rand_bytes(12)
                .permissions(fs::Permissions::from_mode(mode))
                .tempfile_in(folder)?
                .keep()
                .map_err(io::Error::from)
        };
        let (file, path) = register(make, |(_, path)| path.clone())?;
        Ok((Temporary { path }, file))
    }

    /// A new file that `make` makes, of which this is the path.
    pub fn made<T>(path: PathBuf, make: impl FnOnce() -> io::Result<T>) -> io::Result<(Temporary, T)> {
        let made = register(make, |_| path.clone())?;
        Ok((Temporary { path }, made))
    }

    /// A new folder among the system's temporary ones, which nobody else can look into.
    pub fn folder(purpose: &str) -> io::Result<Temporary> {
        use std::os::unix::fs::PermissionsExt;
        let make = || {
            let made = tempfile::Builder::new()
                .prefix(&format!("remc-{purpose}-"))
                .rand_bytes(12)
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()?;
            Ok(made.keep())
        };
        let path = register(make, Clone::clone)?;
        Ok(Temporary { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file gets its name, in place of what had it; `rename` does that.
    pub fn rename(self, rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let mut there = there();
        rename(&self.path)?;
        there.remove(&self.path);
        Ok(())
    }

    /// Several files get their names at once, as far as signals can tell: `rename` does that, and if it fails none of
    /// them has.
    pub fn rename_all(
        all: Vec<Temporary>,
        rename: impl FnOnce(&[PathBuf]) -> io::Result<()>,
    ) -> io::Result<()> {
        let paths: Vec<PathBuf> = all.iter().map(|t| t.path.clone()).collect();
        let renamed = {
            let mut there = there();
            let renamed = rename(&paths);
            if renamed.is_ok() {
                paths.iter().for_each(|p| _ = there.remove(p));
            }
            renamed
        };
        drop(all);
        renamed
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut there = there();
        if there.remove(&self.path) {
            remove(&self.path);
        }
    }
}

/// Is set by the first SIGINT from now on, which does not end the process; a second one does.
pub fn interruption() -> Arc<AtomicBool> {
    WATCHED.call_once(watch);
    TOLD.get_or_init(Arc::default).clone()
}

/// Is set by each SIGINT from now on; none of them ends the process.
pub fn every_interruption() -> Arc<AtomicBool> {
    PATIENT.store(true, Relaxed);
    interruption()
}

/// A name for a temporary file that no other thread, process or machine makes.
pub fn random() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

fn register<T>(make: impl FnOnce() -> io::Result<T>, path: impl FnOnce(&T) -> PathBuf) -> io::Result<T> {
    WATCHED.call_once(watch);
    let mut there = there();
    let made = make()?;
    there.insert(path(&made));
    Ok(made)
}

fn remove(path: &Path) {
    // Whoever is told that something cannot be removed has more important news.
    let _ = match fs::symlink_metadata(path) {
        Ok(m) if m.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
}

/// Starts the thread that waits for signals. Without it, signals end the process as they would anyway.
fn watch() {
    let (ready, started) = mpsc::sync_channel(0);
    let wait = move || {
        let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ].into_iter().filter(|s| !is_ignored(*s));
        let signals = Signals::new(ending);
        // Whoever waits for it waits no longer.
        let _ = ready.send(());
        let Ok(mut signals) = signals else { return };
        for signal in signals.forever() {
            // The first that interrupts someone who asked to be told is a message to them, or each of them.
            let told = || TOLD.get().is_some_and(|told| !told.swap(true, Relaxed) || PATIENT.load(Relaxed));
            if signal == SIGXFSZ || signal == SIGINT && told() {
                continue;
            }
            let there = there();
            there.iter().for_each(|path| remove(path));
            let _ = emulate_default_handler(signal);
            signal_hook::low_level::exit(128 + signal);
        }
    };
    if std::thread::Builder::new().name("signals".into()).stack_size(1 << 18).spawn(wait).is_ok() {
        // Files are made once signals are waited for; a thread that ended before has nothing to say.
        let _ = started.recv();
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an action of zeros is a place for the answer, and none is set.
    #[expect(unsafe_code, reason = "what is done with a signal is asked of the system")]
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn gone_when_dropped() {
        let folder = Temporary::folder("test").unwrap();
        let (file, mut out) = Temporary::file(folder.path(), 0o666).unwrap();
        out.write_all(b"half").unwrap();
        let (other, _) = Temporary::file(folder.path(), 0o600).unwrap();
        assert_ne!(file.path(), other.path());
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let kept = folder.path().join("kept");
        other.rename(|from| fs::rename(from, &kept)).unwrap();
        assert!(kept.exists());
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_that_is_taken_is_not_given() {
        let folder = Temporary::folder("test").unwrap();
        let taken = folder.path().join("taken");
        fs::write(&taken, "theirs").unwrap();
        assert!(Temporary::made(taken.clone(), || File::create_new(&taken)).is_err());
        assert_eq!(fs::read(&taken).unwrap(), b"theirs", "what is another's is not removed");
    }
}

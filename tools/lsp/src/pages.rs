//! Files that the server writes for people to read: the prelude, what error codes mean, what a run has given.
//!
//! They are in a folder of the server's own, made when it is first needed, and go with it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

#[derive(Default)]
pub struct Pages {
    folder: Mutex<Option<TempDir>>,
}

impl Pages {
    /// Writes a page and gives its path; `None` where nothing can be written.
    pub fn write(&self, name: &str, text: &str) -> Option<PathBuf> {
        let path = self.folder()?.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Some(path);
        }
        std::fs::create_dir_all(path.parent()?).ok()?;
        std::fs::write(&path, text).ok()?;
        Some(path)
    }

    /// What a path is called here, if it is that of a page.
    pub fn name(&self, path: &Path) -> Option<PathBuf> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder.as_ref()?.path();
        // The system's own folder may be behind a link.
        let inside = path.strip_prefix(folder).ok().map(Path::to_owned);
        inside.or_else(|| path.strip_prefix(folder.canonicalize().ok()?).ok().map(Path::to_owned))
    }

    fn folder(&self) -> Option<PathBuf> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if folder.is_none() {
            *folder = tempfile::Builder::new().prefix("remc-lsp-").tempdir().ok();
        }
        folder.as_ref().map(|f| f.path().to_owned())
    }
}

//! Files that an editor has open, and files that change on the disk.
//!
//! An open file's text is the editor's: whoever imports it sees that, and what the disk says of it is not asked. It is
//! found by its path without links, whichever way it was named. Closing it goes back to the disk.

use super::{LoadError, Session, folder_of, read};
use crate::database::SourceFile;
use std::path::{Path, PathBuf};

impl Session {
    /// From here on the text of `path` is this, until it is [closed](Session::close). There need be no such file.
    pub fn open(&mut self, path: &Path, text: String) -> SourceFile {
        let known = self.known(path);
        let file = match known {
            Some(file) => file,
            None => {
                let file = self.register(path.display().to_string(), folder_of(path), String::new());
                self.place(path, file);
                file
            }
        };
        self.buffers.insert(file);
        let was_gone = self.gone.remove(&file).is_some();
        self.set_text(file, text);
        if known.is_none() || was_gone {
            self.follow_all_imports();
        }
        file
    }

    /// The text of `path` is that of the disk again. Where the disk has none, the file is no more.
    pub fn close(&mut self, path: &Path) {
        if let Some(file) = self.known(path)
            && self.buffers.remove(&file)
        {
            self.read_again(&[path.to_owned()]);
        }
    }

    /// These files have changed on the disk, are new there or are no longer there.
    pub fn read_again(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let Some(file) = self.known(path).filter(|f| !self.buffers.contains(f)) else { continue };
            match read(path) {
                Ok(text) => {
                    self.gone.remove(&file);
                    self.set_text(file, text);
                }
                Err(e) => {
                    self.gone.insert(file, e.reason());
                }
            }
        }
        self.follow_all_imports();
    }

    /// All files that were read from the disk are read again, where they have changed.
    pub fn refresh(&mut self) {
        let of_disk = self.by_path.iter().filter(|(_, file)| !self.buffers.contains(file));
        let paths: Vec<PathBuf> = of_disk.map(|(path, _)| path.clone()).collect();
        self.read_again(&paths);
    }

    /// A file that may have been read before.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn find_or_load(&mut self, path: &Path) -> Result<SourceFile, LoadError> {
        match self.known(path) {
            Some(file) if !self.gone.contains_key(&file) => Ok(file),
            Some(file) => {
                let text = read(path)?;
                self.gone.remove(&file);
                self.set_text(file, text);
                self.follow_all_imports();
                Ok(file)
            }
            None => self.load(path),
        }
    }

    /// Another text for a file, of which nobody else sees anything: it is at the same place, and is none of the
    /// [user's files](Session::user_files).
    pub fn aside(&mut self, of: SourceFile, text: String) -> SourceFile {
        let folder = self.folders.get(&of).cloned().unwrap_or_default();
        let file = self.register(of.path(&self.db).to_owned(), folder, text);
        self.aside.insert(file);
        self.follow_imports(file);
        file
    }

    /// The file at a path, if it has been read.
    pub fn known(&self, path: &Path) -> Option<SourceFile> {
        self.by_path.get(&key(path)).copied()
    }

    /// The files of the user that are there, in the order in which they were read.
    pub fn user_files(&self) -> impl Iterator<Item = SourceFile> {
        let is_other = move |file: &SourceFile| self.gone.contains_key(file) || self.aside.contains(file);
        let there = move |file: &&SourceFile| !file.prelude(&self.db) && !is_other(file);
        self.files.iter().filter(there).copied()
    }

    /// The path of a file without links, of one that has a path.
    pub fn path_of(&self, file: SourceFile) -> Option<&Path> {
        self.paths.get(&file).map(PathBuf::as_path)
    }

    pub(super) fn place(&mut self, path: &Path, file: SourceFile) {
        let key = key(path);
        self.paths.insert(file, key.clone());
        self.by_path.insert(key, file);
    }

    fn follow_all_imports(&mut self) {
        for file in self.files.clone() {
            if !file.prelude(&self.db) {
                self.follow_imports(file);
            }
        }
    }
}

/// A path without links. Of what is not there (yet), its folder's.
pub(super) fn key(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| {
        let path = absolute();
        match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, which goes with it.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn messages(session: &Session, file: SourceFile) -> Vec<String> {
        session.diagnostics(file).into_iter().map(|d| d.message).collect()
    }

    const USER: &str = "(import \"lib.remora\")\n(inc 1)\n";

    #[test]
    fn importers_see_an_open_file_and_the_disk_once_it_is_closed() {
        let folder = folder(&[("user.remora", USER), ("lib.remora", "(define (inc x) (+ x 1))")]);
        let lib = folder.path().join("lib.remora");
        let mut session = Session::default();
        let user = session.load(&folder.path().join("user.remora")).unwrap();
        assert_eq!(messages(&session, user), [""; 0]);
        // By another way to the same file.
        let other = folder.path().join(".").join("lib.remora");
        session.open(&other, "(define (dec x) (- x 1))".to_owned());
        assert!(messages(&session, user)[0].contains("`inc`"), "{:?}", messages(&session, user));
        // What the disk says meanwhile is not asked.
        std::fs::write(&lib, "(define (inc x) (+ x 2))").unwrap();
        session.read_again(std::slice::from_ref(&lib));
        session.refresh();
        assert_eq!(messages(&session, user).len(), 1);
        session.close(&lib);
        assert_eq!(messages(&session, user), [""; 0]);
        assert_eq!(
            session.source(session.known(&lib).unwrap().module(&session.db)).unwrap().1,
            "(define (inc x) (+ x 2))"
        );
    }

    #[test]
    fn a_file_that_appears_is_found_and_one_that_goes_is_missed() {
        let folder = folder(&[("user.remora", USER)]);
        let lib = folder.path().join("lib.remora");
        let mut session = Session::default();
        let user = session.load(&folder.path().join("user.remora")).unwrap();
        let missing = "cannot import \"lib.remora\": there is no such file";
        assert_eq!(messages(&session, user)[0], missing);
        std::fs::write(&lib, "(define (inc x) (+ x 1))").unwrap();
        session.read_again(std::slice::from_ref(&lib));
        assert_eq!(messages(&session, user), [""; 0]);
        std::fs::remove_file(&lib).unwrap();
        session.read_again(std::slice::from_ref(&lib));
        assert_eq!(messages(&session, user)[0], missing);
        assert_eq!(session.user_files().count(), 1);
        // An editor's file that was never saved is there as long as it is open.
        session.open(&lib, "(define (inc x) (+ x 1))".to_owned());
        assert_eq!(messages(&session, user), [""; 0]);
        session.close(&lib);
        assert_eq!(messages(&session, user)[0], missing);
        std::fs::write(&lib, "(define (inc x) (+ x 1))").unwrap();
        session.refresh();
        assert_eq!(messages(&session, user), [""; 0]);
    }

    #[test]
    fn a_file_is_read_once() {
        let folder = folder(&[("user.remora", USER), ("lib.remora", "(define (inc x) (+ x 1))")]);
        let mut session = Session::default();
        let lib = session.find_or_load(&folder.path().join("lib.remora")).unwrap();
        session.find_or_load(&folder.path().join("user.remora")).unwrap();
        assert_eq!(session.find_or_load(&folder.path().join("lib.remora")).unwrap(), lib);
        assert_eq!(session.user_files().count(), 2);
        assert!(session.find_or_load(&folder.path().join("none.remora")).is_err());
        assert!(session.path_of(lib).unwrap().ends_with("lib.remora"));
        let user = session.known(&folder.path().join("user.remora")).unwrap();
        let other = session.aside(user, "(import \"lib.remora\") (inc [1 2])".to_owned());
        assert_eq!((messages(&session, other).len(), session.user_files().count()), (0, 2));
    }
}

//! Files replaced whole or not at all, and files that are never written to.
//!
//! ```text
//! there is a regular file of that name   a temporary file beside it gets the content, then its rights, then its name
//! there is none                          the same, with the rights of any new file
//! a symbolic link                        what it leads to is replaced, or made, and the link stays
//! a pipe, a terminal, /dev/null          written to as it comes: a rename would replace it
//! /dev/stdout, /dev/fd/3                 the same, behind what was written there before
//! ```
//!
//! A reader sees the old content or the new, and a failure or a signal leaves the old ([`crate::temporary`]). A file
//! that may not be written to is not replaced either, though its folder would let it be.

use crate::temporary::{self, Temporary};
use rustix::fs::Access;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How many links are followed from one name; as many as Linux does.
const LINKS: usize = 40;

/// Writes a file, all of it or nothing.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match Staged::new(path, content)? {
        Some(staged) => staged.temporary.rename(|from| fs::rename(from, &staged.to)),
        None => Ok(()),
    }
}

/// Writes several files, all of them or none: where one cannot be written, the others are as they were.
///
/// # Errors
/// Which one, and why.
pub fn write_together(all: &[(&Path, &[u8])]) -> Result<(), (PathBuf, io::Error)> {
    let mut staged = Vec::new();
    for (path, bytes) in all {
        let one = Staged::new(path, |out| out.write_all(bytes)).and_then(|one| {
            let Some(one) = one else { return Ok(None) };
            Ok(Some((one.keep_old()?, one)))
        });
        staged.extend(one.map_err(|e| ((*path).to_owned(), e))?);
    }
    rename_together(staged)
}

/// Gives files their names. The old ones of those before a failure get theirs back.
fn rename_together(staged: Vec<(Option<Temporary>, Staged)>) -> Result<(), (PathBuf, io::Error)> {
    let (kept, new): (Vec<_>, Vec<_>) = staged.into_iter().unzip();
    let (temporary, places): (Vec<_>, Vec<_>) = new.into_iter().map(|s| (s.temporary, s.to)).unzip();
    let mut failed = None;
    // No signal ends the process between two of them.
    let renamed = Temporary::rename_all(temporary, |from| {
        for (k, (from, to)) in from.iter().zip(&places).enumerate() {
            let Err(e) = fs::rename(from, to) else { continue };
            for (kept, to) in kept.iter().zip(&places[..k]) {
                // What cannot be undone either is told by the first failure.
                let _ = match kept {
                    Some(old) => fs::rename(old.path(), to),
                    None => fs::remove_file(to),
                };
            }
            failed = Some(k);
            return Err(e);
        }
        Ok(())
    });
    renamed.map_err(|e| (failed.map(|k| places[k].clone()).unwrap_or_default(), e))
}

/// A file that is whole, and has not got its name.
struct Staged {
    temporary: Temporary,
    to: PathBuf,
    replaces: bool,
}

impl Staged {
    /// Writes the content beside where it goes; a stream is written to at once.
    fn new(
        path: &Path,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Option<Staged>> {
        let (to, old) = match Target::of(path)? {
            Target::Stream(file) => {
                let mut out = io::BufWriter::new(File::options().append(true).open(file)?);
                content(&mut out)?;
                out.flush()?;
                return Ok(None);
            }
            Target::File { path, old } => (path, old),
        };
        // What replaces a secret is none that others could read before it is whole.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let (temporary, file) = Temporary::file(folder(&to), mode)?;
        let mut out = io::BufWriter::new(file);
        content(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(old) = &old {
            keep_rights(&file, old)?;
        }
        file.sync_all()?;
        Ok(Some(Staged { temporary, to, replaces: old.is_some() }))
    }

    /// Another name for the file that is replaced.
    fn keep_old(&self) -> io::Result<Option<Temporary>> {
        if !self.replaces {
            return Ok(None);
        }
        let name = folder(&self.to).join(format!(".remc-{}.tmp", temporary::random()));
        // Where files have one name each it is copied.
        let link = || fs::hard_link(&self.to, &name).or_else(|_| fs::copy(&self.to, &name).map(|_| ()));
        Ok(Some(Temporary::made(name.clone(), link)?.0))
    }
}

/// A file that is written bit by bit, and has its name when it is whole. A stream gets what comes at once.
pub struct Growing {
    out: io::BufWriter<File>,
    staged: Option<(Temporary, PathBuf, Option<Metadata>)>,
}

impl Growing {
    /// Begins a file of that name.
    pub fn new(path: &Path) -> io::Result<Growing> {
        let (to, old) = match Target::of(path)? {
            Target::Stream(file) => {
                let file = File::options().append(true).open(file)?;
                return Ok(Growing { out: io::BufWriter::new(file), staged: None });
            }
            Target::File { path, old } => (path, old),
        };
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let (temporary, file) = Temporary::file(folder(&to), mode)?;
        let out = io::BufWriter::with_capacity(1 << 18, file);
        Ok(Growing { out, staged: Some((temporary, to, old)) })
    }

    /// Whether its beginning may be written last.
    pub fn seeks(&self) -> bool {
        self.staged.is_some()
    }

    /// Gives it its name.
    pub fn finish(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let Some((temporary, to, old)) = self.staged else { return Ok(()) };
        if let Some(old) = &old {
            keep_rights(&file, old)?;
        }
        file.sync_all()?;
        temporary.rename(|from| fs::rename(from, &to))
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl io::Seek for Growing {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Says now why a file could not be written later. That it says nothing is no promise.
pub fn can_write(path: &Path) -> io::Result<()> {
    match Target::of(path)? {
        Target::Stream(_) => Ok(()),
        Target::File { path, .. } => {
            Ok(rustix::fs::access(folder(&path), Access::WRITE_OK | Access::EXEC_OK)?)
        }
    }
}

/// Where what is written to a path goes.
enum Target {
    /// To what is there, as it comes.
    Stream(PathBuf),
    /// In place of a file, or to a new one. No link is left in the path's last part.
    File { path: PathBuf, old: Option<Metadata> },
}

impl Target {
    fn of(path: &Path) -> io::Result<Target> {
        let old = match fs::metadata(path) {
            Ok(m) if m.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(m) if !m.is_file() => return Ok(Target::Stream(path.to_owned())),
            // The system is asked whether it may be written to, and its links followed.
            Ok(_) => Some(File::options().write(true).open(path)?.metadata()?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut at = path.to_owned();
        for _ in 0..LINKS {
            if at.file_name().is_none() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let Ok(to) = fs::read_link(&at) else { return Ok(Target::File { path: at, old }) };
            if of_a_process(folder(&at)) {
                return Ok(Target::Stream(path.to_owned()));
            }
            at = folder(&at).join(to);
        }
        Err(rustix::io::Errno::LOOP.into())
    }
}

/// Whether a folder has the open files of a process.
fn of_a_process(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.ends_with("fd") && folder.starts_with("/proc") || folder == Path::new("/dev/fd")
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Gives a file the permissions of the one that it will replace, and its owners where this process may.
fn keep_rights(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o777;
    let owner = (new.uid() != old.uid()).then(|| old.uid());
    let group = (new.gid() != old.gid()).then(|| old.gid());
    let chown = |owner, group| std::os::unix::fs::fchown(file, owner, group).is_ok();
    if !chown(owner, group) && !chown(None, group) {
        // Another group has no more rights than anybody.
        mode = mode & 0o707 | (mode & 0o007) << 3;
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Files that are never written to, each with what it is: "the program".
#[derive(Default, Debug)]
pub struct Protected(Vec<((u64, u64), String)>);

impl Protected {
    /// Protects a regular file, by whatever name or link it is reached. What is none can be read and written at the
    /// same time.
    pub fn add(&mut self, path: &Path, what: impl Into<String>) {
        self.0.extend(fs::metadata(path).ok().as_ref().and_then(identity).map(|id| (id, what.into())));
    }

    /// … that is open, standard input for example.
    pub fn add_open(&mut self, file: impl AsFd, what: impl Into<String>) {
        let metadata = file.as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
        self.0.extend(metadata.ok().as_ref().and_then(identity).map(|id| (id, what.into())));
    }

    /// What the file of a path is, if it is protected.
    pub fn find(&self, path: &Path) -> Option<&str> {
        let id = identity(&fs::metadata(path).ok()?)?;
        self.0.iter().find(|(other, _)| *other == id).map(|(_, what)| what.as_str())
    }
}

fn identity(m: &Metadata) -> Option<(u64, u64)> {
    m.is_file().then(|| (m.dev(), m.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn put(path: &Path, content: &[u8]) -> io::Result<()> {
        write_atomically(path, |w| w.write_all(content))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn files(folder: &Temporary) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn failure_leaves_the_old_file() {
        let folder = Temporary::folder("test").unwrap();
        let path = folder.path().join("out");
        put(&path, b"old").unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let panicked = std::panic::catch_unwind(|| write_atomically(&path, |_| panic!("no")));
        assert!(panicked.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(files(&folder), 1, "no temporary file is left");
    }

    /// A name that nothing can be renamed to: of three files the last fails, and the others are as before.
    #[test]
    fn several_files_are_written_or_none() {
        let folder = Temporary::folder("test").unwrap();
        let path = |name: &str| folder.path().join(name);
        let (a, b, c) = (path("a"), path("b"), path("c"));
        put(&a, b"old").unwrap();
        write_together(&[(&a, b"new"), (&b, b"other"), (Path::new("/dev/null"), b"lost")]).unwrap();
        assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"new".to_vec(), b"other".to_vec()));
        assert_eq!(files(&folder), 2, "no temporary file is left");
        fs::remove_file(&b).unwrap();
        fs::create_dir_all(c.join("in the way")).unwrap();
        let (which, _) = write_together(&[(&a, b"newer"), (&b, b"other"), (&c, b"third")]).unwrap_err();
        assert_eq!(which, c);
        // The folder comes to be there when the files are already whole.
        let staged = [(&a, &b"newer"[..]), (&b, b"other"), (&path("d"), b"third")].map(|(path, bytes)| {
            let mut one = Staged::new(path, |out| out.write_all(bytes)).unwrap().unwrap();
            if path.ends_with("d") {
                one.to = c.clone();
            }
            (one.keep_old().unwrap(), one)
        });
        let (which, _) = rename_together(staged.into()).unwrap_err();
        assert_eq!((which, fs::read(&a).unwrap(), b.exists()), (c, b"new".to_vec(), false));
        assert_eq!(files(&folder), 2, "no temporary file is left");
    }

    #[test]
    fn modes_are_kept() {
        let folder = Temporary::folder("test").unwrap();
        let path = folder.path().join("out");
        File::create(folder.path().join("any")).unwrap();
        put(&path, b"new").unwrap();
        assert_eq!(mode(&path), mode(&folder.path().join("any")), "a new file is like any");
        for m in [0o600, 0o640, 0o755, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(m)).unwrap();
            put(&path, b"newer").unwrap();
            assert_eq!(mode(&path), m);
        }
    }

    #[test]
    fn owners_are_kept_by_root() {
        if crate::private::user() != 0 {
            return;
        }
        let folder = Temporary::folder("test").unwrap();
        let path = folder.path().join("out");
        put(&path, b"old").unwrap();
        std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
        put(&path, b"new").unwrap();
        let m = fs::metadata(&path).unwrap();
        assert_eq!((m.uid(), m.gid()), (12345, 54321));
    }

    #[test]
    fn links_are_followed() {
        let folder = Temporary::folder("test").unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/real"), "old").unwrap();
        symlink("sub/real", at("one")).unwrap();
        symlink(at("one"), at("two")).unwrap();
        put(&at("two"), b"new").unwrap();
        assert_eq!(fs::read(at("sub/real")).unwrap(), b"new");
        // One that leads to no file yet.
        symlink("sub/none", at("dangling")).unwrap();
        put(&at("dangling"), b"made").unwrap();
        assert_eq!(fs::read(at("sub/none")).unwrap(), b"made");
        assert!([at("one"), at("two"), at("dangling")].iter().all(|l| l.is_symlink()));
        symlink("circle", at("circle")).unwrap();
        assert!(put(&at("circle"), b"x").is_err());
        symlink("nowhere/none", at("lost")).unwrap();
        assert_eq!(put(&at("lost"), b"x").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!((files(&folder), fs::read_dir(at("sub")).unwrap().count()), (6, 2));
    }

    #[test]
    fn what_is_no_file() {
        let folder = Temporary::folder("test").unwrap();
        let kind = |path: &Path| put(path, b"x").unwrap_err().kind();
        assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.path().join("new/")), io::ErrorKind::IsADirectory);
        assert_eq!(kind(Path::new("")), io::ErrorKind::InvalidInput);
        assert_eq!(kind(&folder.path().join("none/x")), io::ErrorKind::NotFound);
        put(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        // A name as long as names may be.
        let long = folder.path().join("x".repeat(255));
        put(&long, b"x").unwrap();
        assert_eq!(fs::read(&long).unwrap(), b"x");
    }

    #[test]
    fn an_open_file_is_appended_to() {
        use std::os::fd::AsRawFd;
        let folder = Temporary::folder("test").unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "before ").unwrap();
        let open = File::options().append(true).open(&path).unwrap();
        put(Path::new(&format!("/dev/fd/{}", open.as_raw_fd())), b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before after");
        assert_eq!(open.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
    }

    #[test]
    fn what_cannot_be_written_is_said_before() {
        let folder = Temporary::folder("test").unwrap();
        can_write(&folder.path().join("new")).unwrap();
        can_write(Path::new("/dev/null")).unwrap();
        assert!(can_write(folder.path()).is_err());
        assert!(can_write(&folder.path().join("none/new")).is_err());
        assert_eq!(files(&folder), 0);
        let path = folder.path().join("read-only");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        // Root may write to all.
        if crate::private::user() != 0 {
            assert_eq!(can_write(&path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert!(put(&path, b"new").is_err());
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
    }

    #[test]
    fn protected_by_any_name() {
        let folder = Temporary::folder("test").unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("data"), "x").unwrap();
        fs::write(at("other"), "x").unwrap();
        symlink("data", at("link")).unwrap();
        fs::hard_link(at("data"), at("hard")).unwrap();
        let mut protected = Protected::default();
        protected.add(&at("link"), "the input `x`");
        protected.add(&at("none"), "nothing");
        protected.add(Path::new("/dev/null"), "nothing");
        for name in ["data", "link", "hard", "../data"] {
            let path = at(name);
            let expected = (!name.starts_with("..")).then_some("the input `x`");
            assert_eq!(protected.find(&path), expected, "{name}");
        }
        assert_eq!(protected.find(&at("other")), None);
        assert_eq!(protected.find(Path::new("/dev/null")), None);
        protected.add_open(File::open(at("other")).unwrap(), "standard input");
        assert_eq!(protected.find(&at("other")), Some("standard input"));
    }
}

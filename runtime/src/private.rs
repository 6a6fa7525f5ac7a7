//! Folders whose files can be trusted: they belong to the user, and nobody else can write to them.
//!
//! Who can put a file into a folder of compiled code decides what runs. So a folder is opened once, looked at through
//! what was opened, and its files are reached through it, never again by its name: another folder of that name, or a
//! symbolic link, changes nothing. What is looked at is asked of the open file, too, not of its name:
//!
//! | | must be |
//! | --- | --- |
//! | the folder | a folder itself, no link to one; the user's; writable by nobody else |
//! | a file in it | a regular file, no link, pipe or device; the user's; writable by nobody else |
//!
//! Folders above may be links, and anybody's: whoever can rename the folder away can only put one there that is not
//! the user's, which is refused.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fmt;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Group and others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// An open folder of the user's alone.
#[derive(Debug)]
pub struct Private {
    folder: OwnedFd,
    path: PathBuf,
}

/// Why a folder or file is not used.
#[derive(Debug)]
pub enum Refusal {
    /// There is none.
    Absent,
    /// It is there, and cannot be trusted: a sentence that says why.
    Untrusted(String),
    /// The system does not let it be used.
    Failed(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Absent => f.write_str("it is not there"),
            Refusal::Untrusted(why) => f.write_str(why),
            Refusal::Failed(e) => e.fmt(f),
        }
    }
}

impl From<Errno> for Refusal {
    fn from(e: Errno) -> Refusal {
        match e {
            Errno::NOENT => Refusal::Absent,
            e => Refusal::Failed(e.into()),
        }
    }
}

impl Private {
    /// Opens a folder that is there.
    pub fn open(path: &Path) -> Result<Private, Refusal> {
        // Without a slash at its end, which would let a link be followed.
        let path: PathBuf = path.components().collect();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(no_folder(&path)),
            Err(e) => return Err(e.into()),
        };
        trusted(&rustix::fs::fstat(&folder)?).map_err(Refusal::Untrusted)?;
        Ok(Private { folder, path })
    }

    /// … or that is made, with those above it.
    pub fn create(path: &Path) -> Result<Private, Refusal> {
        match Private::open(path) {
            Err(Refusal::Absent) => {
                // Where another process is quicker, its folder serves as well.
                DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Refusal::Failed)?;
                Private::open(path)
            }
            opened => opened,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file for reading.
    pub fn read(&self, name: &str) -> Result<File, Refusal> {
        // A pipe without a writer would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::LOOP) => return Err(Refusal::Untrusted("it is a symbolic link".into())),
            Err(Errno::NXIO) => return Err(Refusal::Untrusted("it is no regular file".into())),
            Err(e) => return Err(e.into()),
        };
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Refusal::Untrusted("it is no regular file".into()));
        }
        trusted(&stat).map_err(Refusal::Untrusted)?;
        Ok(File::from(file))
    }

    /// Makes a file that is not there yet, which nobody else can open.
    pub fn create_new(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Gives a file another name; what had that name is gone.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, from, &self.folder, to)?)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())?)
    }

    /// The names of what is there, with what is known of each; links are not followed.
    pub fn list(&self) -> io::Result<Vec<(String, Stat)>> {
        let mut all = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if let Ok(stat) = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                all.push((name.to_owned(), stat));
            }
        }
        Ok(all)
    }
}

/// The number of the user whose rights this process has.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn trusted(stat: &Stat) -> Result<(), String> {
    if stat.st_uid != user() {
        return Err(format!("it belongs to another user, number {}", stat.st_uid));
    }
    match stat.st_mode & WRITABLE_BY_OTHERS {
        0 => Ok(()),
        _ => Err(format!("others may write to it (its mode is {:o})", stat.st_mode & 0o7777)),
    }
}

/// What is there instead of a folder.
fn no_folder(path: &Path) -> Refusal {
    match std::fs::symlink_metadata(path) {
        Ok(m) if m.is_symlink() => Refusal::Untrusted("it is a symbolic link".into()),
        Ok(_) => Refusal::Untrusted("it is no folder".into()),
        // A folder above is none, or it is gone.
        Err(e) => Refusal::Failed(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::Temporary;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[track_caller]
    fn untrusted<T: fmt::Debug>(found: Result<T, Refusal>, says: &str) {
        match found {
            Err(Refusal::Untrusted(why)) => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn folders() {
        let place = Temporary::folder("test").unwrap();
        let path = place.path().join("deep/down");
        assert!(matches!(Private::open(&path), Err(Refusal::Absent)));
        Private::create(&path).unwrap();
        let made = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(made & 0o7777, 0o700, "whatever the umask is");
        for (m, trusted) in [(0o755, true), (0o500, true), (0o720, false), (0o702, false), (0o1777, false)] {
            mode(&path, m);
            assert_eq!(Private::open(&path).is_ok(), trusted, "{m:o}");
        }
        untrusted(Private::create(&path), "others may write to it (its mode is 1777)");
        mode(&path, 0o700);
        let link = place.path().join("link");
        symlink(&path, &link).unwrap();
        untrusted(Private::open(&link), "symbolic link");
        untrusted(Private::open(&link.join("")), "symbolic link");
        untrusted(Private::open(&link.join(".")), "symbolic link");
        symlink(place.path().join("nowhere"), place.path().join("dangling")).unwrap();
        untrusted(Private::create(&place.path().join("dangling")), "symbolic link");
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        untrusted(Private::create(&file), "no folder");
        assert!(matches!(Private::create(&file.join("sub")), Err(Refusal::Failed(_))));
    }

    #[test]
    fn files() {
        let place = Temporary::folder("test").unwrap();
        let private = Private::open(place.path()).unwrap();
        assert!(matches!(private.read("none"), Err(Refusal::Absent)));
        private.create_new("a").unwrap();
        assert!(private.create_new("a").is_err(), "it is there");
        private.read("a").unwrap();
        mode(&place.path().join("a"), 0o660);
        untrusted(private.read("a"), "others may write");
        symlink(place.path().join("a"), place.path().join("link")).unwrap();
        untrusted(private.read("link"), "symbolic link");
        assert!(private.create_new("link").is_err());
        rustix::fs::mknodat(
            rustix::fs::CWD,
            place.path().join("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        untrusted(private.read("pipe"), "no regular file");
        fs::create_dir(place.path().join("folder")).unwrap();
        untrusted(private.read("folder"), "no regular file");
    }

    /// As root, a file can be given away.
    #[test]
    fn of_others() {
        if user() != 0 {
            return;
        }
        let place = Temporary::folder("test").unwrap();
        let private = Private::open(place.path()).unwrap();
        private.create_new("a").unwrap();
        std::os::unix::fs::chown(place.path().join("a"), Some(12345), None).unwrap();
        untrusted(private.read("a"), "another user, number 12345");
        std::os::unix::fs::chown(place.path(), Some(12345), None).unwrap();
        untrusted(Private::open(place.path()), "another user");
    }
}

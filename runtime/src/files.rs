//! Files replaced whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file under a temporary name in its folder, then renames it: a reader sees the old content
/// or the new, and a failure leaves the old. What is no regular file (`/dev/null`, a pipe) is written
/// to directly, since a rename would replace it.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut out = io::BufWriter::new(File::options().write(true).open(path)?);
        content(&mut out)?;
        return out.flush();
    }
    // A link is followed, so that the file it leads to is replaced, not the link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut temporary = name.to_os_string();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = (|| {
        let mut out = io::BufWriter::new(File::options().write(true).create_new(true).open(&temporary)?);
        content(&mut out)?;
        out.into_inner().map_err(|e| e.into_error())?.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_leaves_the_old_file() {
        let dir = std::env::temp_dir().join(format!("remc-files-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("out");
        write_atomically(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "no temporary file is left");
        fs::remove_dir_all(&dir).unwrap();
    }
}

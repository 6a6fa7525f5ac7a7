//! Names of documents: `file:` URIs and the paths that they stand for, and names that stand for no file.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What stands for itself in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The path of a `file:` URI; `None` of a document that is no file of this machine.
pub fn path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, _) = rest.split_once('/')?;
            if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
                return None;
            }
            &rest[host.len()..]
        }
    };
    let path = PathBuf::from(OsString::from_vec(percent_decode_str(path).collect()));
    path.is_absolute().then_some(path)
}

/// The URI of a path.
pub fn uri(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
}

/// What messages call a document.
pub fn shown(uri: &str) -> String {
    match path(uri) {
        Some(path) => path.display().to_string(),
        None => percent_decode_str(uri).decode_utf8_lossy().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back() {
        for text in ["/a/b c.remora", "/λ/#1?%.remora", "/"] {
            assert_eq!(path(&uri(Path::new(text))).as_deref(), Some(Path::new(text)));
        }
        assert_eq!(uri(Path::new("/a b/λ.remora")), "file:///a%20b/%CE%BB.remora");
        let odd = PathBuf::from(OsString::from_vec(b"/\xff.remora".to_vec()));
        assert_eq!(path(&uri(&odd)), Some(odd));
    }

    #[test]
    fn other_ways_to_write_them() {
        let is =
            |text: &str, expected: Option<&str>| assert_eq!(path(text).as_deref(), expected.map(Path::new));
        is("FILE:///a/b", Some("/a/b"));
        is("file:/a/b", Some("/a/b"));
        is("file://localhost/a%3Ab", Some("/a:b"));
        is("file://server/a", None);
        is("file:a", None);
        is("untitled:Untitled-1", None);
        is("no scheme", None);
        is("", None);
        assert_eq!(shown("untitled:a%20b"), "untitled:a b");
    }
}

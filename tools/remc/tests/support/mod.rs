//! Running `remc` as a user does, and folders for its files.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn remc(args: &[&str]) -> Output {
    with_input(args, b"")
}

pub fn with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(args)
        .env("NO_COLOR", "1")
        .env("REMC_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A process that does not read its input closes it; that is no failure here.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The command fails with this code, says this on standard error, and nothing on standard output.
#[track_caller]
pub fn fails(args: &[&str], code: i32, says: &str) {
    let o = remc(args);
    let message = text(&o.stderr);
    assert_eq!(o.status.code(), Some(code), "{args:?}: {message}");
    assert!(message.contains(says), "{args:?} says\n{message}");
    assert_eq!(text(&o.stdout), "", "{args:?}");
}

#[track_caller]
pub fn gives(args: &[&str], value: &str) {
    let o = remc(args);
    assert_eq!(o.status.code(), Some(0), "{args:?}: {}", text(&o.stderr));
    assert_eq!(text(&o.stdout), format!("{value}\n"));
    assert_eq!(text(&o.stderr), "");
}

/// A folder that is gone after the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("remc-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

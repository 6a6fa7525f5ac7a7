//! `remc watch`, as a process: files are saved, replaced, removed and written again.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use support::{Folder, fails};

/// A process that watches.
struct Watching {
    child: Child,
    /// Lines of standard error and of standard output, as they come.
    lines: Receiver<String>,
}

impl Watching {
    fn start(folder: &Folder, args: &[&str]) -> Watching {
        let mut child = Command::new(env!("CARGO_BIN_EXE_remc"))
            .arg("watch")
            .args(args)
            .current_dir(&folder.0)
            .env("NO_COLOR", "1")
            .env("REMC_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, lines) = channel();
        let streams: [(&str, Box<dyn Read + Send>); 2] =
            [("out ", Box::new(child.stdout.take().unwrap())), ("", Box::new(child.stderr.take().unwrap()))];
        for (mark, stream) in streams {
            let tell = tell.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = tell.send(format!("{mark}{line}"));
                }
            });
        }
        Watching { child, lines }
    }

    /// Waits for lines that have these in them. Which of two streams is read first says nothing of their order.
    #[track_caller]
    fn says(&self, parts: &[&str]) {
        let mut left: Vec<&str> = parts.to_vec();
        let mut said = String::new();
        let deadline = Instant::now() + Duration::from_secs(120);
        while !left.is_empty() {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(at) = left.iter().position(|part| line.contains(part)) {
                        left.remove(at);
                    }
                    said.push_str(&line);
                    said.push('\n');
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no line has {left:?}:\n{said}")
                }
            }
        }
    }

    fn says_nothing(&self) {
        let said = self.lines.recv_timeout(Duration::from_millis(1500));
        assert!(said.is_err(), "{said:?}");
    }

    fn interrupt(mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_changed_is_said() {
    let folder = Folder::new("watch");
    folder.file("p.remora", "(define (f x) (+ x 1))\n(f 1)\n");
    let watching = Watching::start(&folder, &["p.remora"]);
    watching.says(&["p.remora: checked in", "out 2", "ran in"]);
    // Another value.
    folder.file("p.remora", "(define (f x) (+ x 1))\n(f 2)\n");
    watching.says(&["checked in", "out 3", "ran in"]);
    // The same value.
    folder.file("p.remora", "; a comment\n(define (f x) (+ 1 x))\n(f 2)\n");
    watching.says(&["checked in", "as before, in"]);
    // An error; another one beside it; the first one mended; both.
    folder.file("p.remora", "(define (f x) (+ x 1))\n(f 2)\n(g 1)\n");
    watching.says(&["`g`", "p.remora: 1 error"]);
    folder.file("p.remora", "(define (f x) (+ x #t))\n\n(g 1)\n");
    watching.says(&["E0401", "p.remora: 1 new error, 1 as before"]);
    folder.file("p.remora", "(define (f x) (+ x #t))\n\n");
    watching.says(&["p.remora: 1 error as before", "mended: [E0"]);
    folder.file("p.remora", "(define (f x) (+ x 5))\n(f 1)");
    watching.says(&["checked in", "mended: [E0401]", "out 6", "ran in"]);
    // Touched, and no more.
    watching.says_nothing();
    assert_eq!(watching.interrupt().code(), Some(0));
}

#[test]
fn imports_data_and_files_that_come_and_go() {
    let folder = Folder::new("watch-files");
    folder.file("lib/a.remora", "(define k 10)");
    folder.file("data/xs.csv", "1\n2\n");
    folder.file("p.remora", "(import \"lib/a.remora\")\n(entry (main [xs [int n]]) (* k (sum xs)))\n");
    let watching = Watching::start(&folder, &["p.remora", "--", "--input", "xs=data/xs.csv"]);
    watching.says(&["out 30"]);
    folder.file("lib/a.remora", "(define k 100)");
    watching.says(&["out 300"]);
    // As editors do: another file gets the name.
    folder.file("data/new", "5\n");
    std::fs::rename(folder.path("data/new"), folder.path("data/xs.csv")).unwrap();
    watching.says(&["out 500"]);
    folder.file(".p.swp", "(import \"lib/a.remora\")\n(entry (main [xs [int n]]) (+ k (sum xs)))\n");
    std::fs::rename(folder.path(".p.swp"), folder.path("p.remora")).unwrap();
    watching.says(&["out 105"]);
    // Gone, and back.
    std::fs::remove_file(folder.path("lib/a.remora")).unwrap();
    watching.says(&["cannot import", "p.remora: "]);
    folder.file("lib/a.remora", "(define k 7)");
    watching.says(&["mended: ", "out 12"]);
    std::fs::remove_file(folder.path("p.remora")).unwrap();
    watching.says(&["p.remora cannot be read: there is no such file; waiting for it"]);
    folder.file("p.remora", "(import \"lib/a.remora\")\n(entry (main [xs [int n]]) (- k (sum xs)))\n");
    watching.says(&["out 2"]);
    // Its folder, too.
    std::fs::remove_dir_all(folder.path("lib")).unwrap();
    watching.says(&["cannot import"]);
    folder.file("lib/a.remora", "(define k 8)");
    watching.says(&["out 3"]);
}

#[test]
fn a_run_without_an_end_is_ended() {
    let folder = Folder::new("watch-long");
    let forever = "(loop ((i 0)) while (>= i 0) do (if (> i 5) 1 (+ i 1)))";
    folder.file("p.remora", forever);
    let watching = Watching::start(&folder, &["p.remora", "--", "--device", "interp"]);
    watching.says(&["checked in"]);
    std::thread::sleep(Duration::from_millis(300));
    folder.file("p.remora", "5");
    watching.says(&["the run is ended", "out 5"]);
    // A stop is shown with its exit code.
    folder.file("p.remora", "(index [1] [7])");
    watching.says(&["R0001", "exit code 3"]);
    folder.file("p.remora", forever);
    watching.says(&["checked in"]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(watching.interrupt().code(), Some(0));
}

#[test]
fn checks_alone_and_wrong_options() {
    let folder = Folder::new("watch-check");
    folder.file("p.remora", "(index [1] [7])");
    let watching = Watching::start(&folder, &["p.remora", "--check"]);
    watching.says(&["checked in"]);
    watching.says_nothing();
    // It waits for a file that is not there yet.
    let watching = Watching::start(&folder, &["q.remora"]);
    watching.says(&["waiting for it"]);
    folder.file("q.remora", "41");
    watching.says(&["out 41"]);
    fails(
        &["watch", "p.remora", "--", "--nonsense"],
        2,
        "no options of `remc run`: unexpected argument '--nonsense'",
    );
    fails(&["watch", "-"], 2, "standard input cannot be watched");
}

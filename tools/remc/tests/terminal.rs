//! The prompt on a terminal: a real one for `remc`, whose screen is that of a terminal emulator (`vt100`).

mod support;

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use support::Folder;

const ROWS: u16 = 30;
const COLUMNS: u16 = 90;
/// No step takes so long, however much else the machine does.
const LONG: Duration = Duration::from_secs(120);

struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
    seen: Receiver<()>,
}

impl Terminal {
    fn new(args: &[&str], folder: &Folder) -> Terminal {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(ROWS, COLUMNS)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_remc"))
            .args(args)
            .current_dir(&folder.0)
            .env("TERM", "xterm-256color")
            .env("REMC_HISTORY", folder.path("state/history"))
            .env("REMC_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .env_remove("NO_COLOR")
            .env_remove("COLORTERM");
        let child = command.spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let (rows, columns) = (NonZero::new(ROWS).unwrap(), NonZero::new(COLUMNS).unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (send, seen) = channel();
        let (reads, shown) = (pty.clone(), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n) = (&*reads).read(&mut bytes) {
                if n == 0 {
                    break;
                }
                let mut rest = &bytes[..n];
                // Where the cursor is, is asked for; terminals answer that.
                while let Some(at) = rest.windows(4).position(|w| w == b"\x1b[6n") {
                    let mut screen = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    screen.process(&rest[..at]);
                    let (row, column) = screen.screen().cursor_position();
                    drop(screen);
                    let _ = (&*reads).write_all(format!("\x1b[{};{}R", row + 1, column + 1).as_bytes());
                    rest = &rest[at + 4..];
                }
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(rest);
                let _ = send.send(());
            }
        });
        Terminal { pty, child, screen, seen }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().contents()
    }

    fn types(&self, text: &str) {
        (&*self.pty).write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    fn shows(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if is(&text) {
                return text;
            }
            assert!(start.elapsed() < LONG, "{what}; the screen is\n{text}");
            let _ = self.seen.recv_timeout(Duration::from_millis(50));
        }
    }

    /// The last line with something on it.
    #[track_caller]
    fn ends_with(&self, lines: &str) -> String {
        self.shows(lines, |text| text.trim_end().ends_with(lines))
    }

    #[track_caller]
    fn ends(mut self) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(0), "{}", self.text());
                return;
            }
            assert!(start.elapsed() < LONG, "{}", self.text());
            let _ = self.seen.recv_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn values_forms_of_several_lines_and_history() {
    let folder = Folder::new("terminal");
    let t = Terminal::new(&["repl"], &folder);
    t.ends_with(">");
    t.types("(+ 1 2)\r");
    t.ends_with("> (+ 1 2)\n3\n>");
    // Enter goes on in the next line until all brackets are closed.
    t.types("(define (f x)\r(* x 10))\r");
    t.ends_with("> (define (f x)\n  (* x 10))\nf : (∀ ((t num)) (→ (t) t))\n>");
    t.types("(f [[1 2] [30 4]])\r");
    t.ends_with("> (f [[1 2] [30 4]])\n[[ 10 20]\n [300 40]]\n>");
    // The line before, and the one before that.
    t.types("\u{1b}[A\u{1b}[A");
    t.ends_with("> (define (f x)\n  (* x 10))");
    t.types("\u{3}");
    t.ends_with(">");
    t.types("\u{4}");
    t.ends();
    let kept = std::fs::read_to_string(folder.path("state/history")).unwrap();
    assert_eq!(kept.lines().next(), Some("(+ 1 2)"));
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(folder.path("state/history")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "what was typed is nobody else's");
    // Another prompt has it.
    let t = Terminal::new(&["repl"], &folder);
    t.ends_with(">");
    t.types("\u{1b}[A");
    t.ends_with("> (f [[1 2] [30 4]])");
    t.types("\r");
    t.shows("`f` is none of that session's", |text| text.contains("there is no `f`"));
    t.types(":quit\r");
    t.ends();
}

#[test]
fn an_interrupted_run_leaves_the_session() {
    let folder = Folder::new("interrupted");
    let t = Terminal::new(&["repl"], &folder);
    t.ends_with(">");
    t.types("(define x 41)\r");
    t.ends_with("x : int\n>");
    for device in ["cpu", "interp"] {
        t.types(&format!(":device {device}\r"));
        t.ends_with(&format!(":device {device}\n>"));
        t.types("(loop ((k 1)) while (> k 0) do (if (> k 5) 3 (+ k 1)))\r");
        // It runs, and would forever.
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!t.text().trim_end().ends_with('>'), "{}", t.text());
        // Once, or as often as one who is impatient presses it.
        t.types(if device == "cpu" { "\u{3}" } else { "\u{3}\u{3}\u{3}" });
        t.shows("interrupted", |text| text.contains("interrupted") && text.trim_end().ends_with("\n>"));
        // What of that came too late for the run drops an empty line.
        std::thread::sleep(Duration::from_millis(300));
        t.types("(+ x 1)\r");
        t.ends_with("> (+ x 1)\n42\n>");
    }
    t.types(":quit\r");
    t.ends();
}

#[test]
fn completions_and_colours() {
    let folder = Folder::new("completions");
    folder.file("data/prog.remora", "(define (average [xs 1]) (/ (sum xs) (length xs)))\n");
    let t = Terminal::new(&["repl"], &folder);
    t.ends_with(">");
    t.types("(define (lengthen x) (* x 2))\r");
    t.ends_with("(→ (t) t))\n>");
    // One that begins so is filled in; of several there is a list, with types.
    t.types("(lengthe\t");
    t.ends_with("> (lengthen");
    t.types(" (transp\t");
    t.shows("a list", |text| text.contains("transpose/axes"));
    t.types("\u{3}");
    t.shows("another line", |text| !text.contains("transpose/axes") && text.trim_end().ends_with("\n>"));
    t.types(":load da\t");
    t.ends_with("> :load data/");
    t.types("\t");
    t.ends_with("> :load data/prog.remora");
    t.types("\r");
    t.ends_with("data/prog.remora: 1 definition (average)\n>");
    t.types("(average [1 2 6]) ; \\lam\t");
    let text = t.shows("λ", |text| text.trim_end().ends_with('λ'));
    assert!(text.contains("(average [1 2 6])"));
    // A number is yellow, a function blue, a comment grey.
    let screen = t.screen.lock().unwrap();
    let line = screen.screen().cursor_position().0;
    let colour = |column: u16| screen.screen().cell(line, column).map(|c| c.fgcolor());
    assert_eq!(colour(3), Some(vt100::Color::Idx(4)), "average");
    assert_eq!(colour(12), Some(vt100::Color::Idx(3)), "1");
    assert_eq!(colour(20), Some(vt100::Color::Idx(8)), "the comment");
    drop(screen);
    t.types("\r");
    t.ends_with("\n3.0\n>");
    t.types(":plot [1 2 3]\r");
    t.shows("bars", |text| text.contains('█') && text.trim_end().ends_with("\n>"));
    t.types("\u{4}");
    t.ends();
}

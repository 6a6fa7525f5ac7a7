//! The process that computes for the prompt.
//!
//! ```text
//! remc repl ── a request ──► remc repl --worker ── values, messages ──► the terminal
//!           ◄── done, code ─
//! ```
//!
//! What runs on forever, takes all memory or hits a mistake of the compiler ends that process and not the session: another
//! one is started for what comes next. Ctrl-C does that on purpose. It keeps what it has compiled from one request to the
//! next.

use super::request::Request;
use crate::codes;
use crate::report::{Failure, Outcome, usage};
use remc_driver::render::Style;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often is looked whether Ctrl-C was pressed.
const STEP: Duration = Duration::from_millis(20);
/// How long a process may take to remove its temporary files when it has been interrupted.
const GRACE: Duration = Duration::from_millis(300);

pub struct Worker {
    running: Option<(Child, UnixStream)>,
    /// How messages look.
    style: Style,
    interrupted: Arc<AtomicBool>,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With the exit code that a command would have.
    Code(u8),
    Interrupted,
    /// The process has ended, and has said why if it could.
    Died(ExitStatus),
}

impl Worker {
    /// `interrupted` is set by Ctrl-C.
    pub fn new(interrupted: Arc<AtomicBool>, style: Style) -> Worker {
        Worker { running: None, style, interrupted }
    }

    /// Starts the process, so that it is there when it is needed.
    pub fn start(&mut self) -> Outcome {
        if self.running.is_none() {
            self.running = Some(spawn(self.style).map_err(|e| {
                let d = usage(codes::PROMPT, format!("no process could be started that computes: {e}"));
                Failure::Usage(Box::new(d))
            })?);
        }
        Ok(())
    }

    /// Lets it compute, and waits for the end of that.
    pub fn ask(&mut self, request: &Request) -> Outcome<Ended> {
        self.interrupted.store(false, Relaxed);
        self.start()?;
        let Some((mut child, mut socket)) = self.running.take() else { return Ok(Ended::Interrupted) };
        // One that has ended meanwhile answers nothing.
        let _ = socket.write_all((request.to_line() + "\n").as_bytes());
        let mut answer = [0];
        loop {
            match socket.read(&mut answer) {
                Ok(1) => {
                    self.running = Some((child, socket));
                    return Ok(Ended::Code(answer[0]));
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) =>
                {
                    if self.interrupted.load(Relaxed) {
                        break;
                    }
                }
                Ok(_) | Err(_) => break,
            }
        }
        drop(socket);
        let status = end(&mut child);
        const SIGINT: i32 = 2;
        let interrupted = self.interrupted.swap(false, Relaxed);
        Ok(match status {
            _ if interrupted => Ended::Interrupted,
            Some(status) if status.signal() == Some(SIGINT) => Ended::Interrupted,
            Some(status) => Ended::Died(status),
            None => Ended::Interrupted,
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends by itself when nobody is at the other end any more.
        if let Some((mut child, socket)) = self.running.take() {
            drop(socket);
            end(&mut child);
        }
    }
}

fn spawn(style: Style) -> std::io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(STEP))?;
    let style = match style {
        Style::Rich => "rich",
        Style::Short => "short",
        Style::Json => "json",
    };
    let child = Command::new(std::env::current_exe()?)
        .args(["--diagnostics", style, "repl", "--worker"])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    Ok((child, ours))
}

/// Waits for the end of a process that has been told to end, for some time, and ends it then.
fn end(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < GRACE {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
    let _ = child.kill();
    child.wait().ok()
}

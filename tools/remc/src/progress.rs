//! What remc is at, on the terminal: for files and runs that take longer than a second.
//!
//! One line on standard error, written anew while it lasts and cleared after it. Where standard error is no
//! terminal nothing is ever written, so that logs and other programs see messages alone.

use crate::report::on_terminal;
use remc_runtime::data::source::Meter;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_millis(250);

/// Shows what is going on until it is dropped.
pub struct Progress(Option<(Arc<Ended>, JoinHandle<()>)>);

#[derive(Default)]
struct Ended {
    ended: Mutex<bool>,
    signal: Condvar,
}

impl Progress {
    /// A file that is being read for an input.
    pub fn of_reading(path: &str, input: &str, meter: &Arc<Meter>) -> Progress {
        let (what, meter) = (format!("reading `{path}` for `{input}`"), meter.clone());
        Progress::on_terminal(move |_| {
            let total = meter.total.load(Ordering::Relaxed);
            let done = meter.done.load(Ordering::Relaxed);
            match total {
                // A pipe, which says nothing of its size.
                0 => format!("{what}: {}", bytes(done, None)),
                // Some bytes are read twice.
                _ => format!("{what}: {}", bytes(done.min(total), Some(total))),
            }
        })
    }

    /// A program that runs on a device.
    pub fn of_running(device: &str) -> Progress {
        let device = device.to_owned();
        Progress::on_terminal(move |time| format!("running on {device}: {} s", time.as_secs()))
    }

    /// A search that goes on until then at most.
    #[cfg(feature = "llvm")]
    pub fn of_tuning(what: String, until: Instant) -> Progress {
        Progress::on_terminal(move |_| {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            format!("tuning {what}; {left} s left at most, Ctrl-C keeps what is found")
        })
    }

    fn on_terminal(line: impl Fn(Duration) -> String + Send + 'static) -> Progress {
        if on_terminal() { Progress::on(std::io::stderr(), DELAY, line) } else { Progress(None) }
    }

    fn on(
        mut out: impl Write + Send + 'static,
        delay: Duration,
        line: impl Fn(Duration) -> String + Send + 'static,
    ) -> Progress {
        let shared = Arc::new(Ended::default());
        let of_thread = shared.clone();
        let start = Instant::now();
        let work = move || {
            let mut wait = delay;
            let mut shown = false;
            let mut ended = of_thread.ended.lock().unwrap_or_else(PoisonError::into_inner);
            while !*ended {
                let (guard, timeout) =
                    of_thread.signal.wait_timeout(ended, wait).unwrap_or_else(PoisonError::into_inner);
                ended = guard;
                if !*ended && timeout.timed_out() {
                    // From the line's start, without going on to the next line where it is too long.
                    let line = line(start.elapsed());
                    let text = remc_base::visible(&line);
                    let _ = write!(out, "\r\x1b[?7l{text}\x1b[K\x1b[?7h").and_then(|()| out.flush());
                    shown = true;
                    wait = PERIOD;
                }
            }
            if shown {
                let _ = write!(out, "\r\x1b[K").and_then(|()| out.flush());
            }
        };
        // Without a thread, nothing is shown; that is no reason to stop.
        Progress(std::thread::Builder::new().spawn(work).ok().map(|thread| (shared, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((shared, thread)) = self.0.take() {
            *shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
            shared.signal.notify_all();
            // The line is gone before anything else is written.
            let _ = thread.join();
        }
    }
}

/// `1.5 of 20.0 MiB`, or `1.5 MiB`
fn bytes(done: u64, total: Option<u64>) -> String {
    const UNITS: [&str; 4] = ["bytes", "KiB", "MiB", "GiB"];
    let power = (total.unwrap_or(done).max(1).ilog2() / 10).min(3);
    let (unit, name) = ((1u64 << (10 * power)) as f64, UNITS[power as usize]);
    let digits = usize::from(unit > 1.0);
    let of = total.map(|total| format!(" of {:.digits$}", total as f64 / unit)).unwrap_or_default();
    format!("{:.digits$}{of} {name}", done as f64 / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Screen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_is_cleared() {
        let screen = Screen::default();
        let progress =
            Progress::on(screen.clone(), Duration::from_millis(1), |_| "at work\n\u{1b}[2J".into());
        while screen.text().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(progress);
        let text = screen.text();
        assert!(text.starts_with("\r\x1b[?7lat work\\n\\u{1b}[2J\x1b[K\x1b[?7h"), "{text:?}");
        assert!(text.ends_with("\r\x1b[K"), "{text:?}");
    }

    #[test]
    fn what_is_short_shows_nothing() {
        let screen = Screen::default();
        drop(Progress::on(screen.clone(), Duration::from_secs(3600), |_| "at work".into()));
        assert_eq!(screen.text(), "");
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes(5, Some(100)), "5 of 100 bytes");
        assert_eq!(bytes(512, Some(2048)), "0.5 of 2.0 KiB");
        assert_eq!(bytes(3 << 19, Some(20 << 20)), "1.5 of 20.0 MiB");
        assert_eq!(bytes(0, Some(3 << 30)), "0.0 of 3.0 GiB");
        assert_eq!(bytes(3 << 19, None), "1.5 MiB");
        assert_eq!(bytes(0, None), "0 bytes");
    }
}

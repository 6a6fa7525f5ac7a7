//! The watch over what cannot be caught: a case that does not end, and one that takes all memory.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a case may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processor time of one case. Time on the clock is allowed to be ten times that, for busy machines.
    pub time: Duration,
    /// Resident memory of the process, in MiB.
    pub memory: u64,
}

/// The case that is running.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Option<Running>>>);

struct Running {
    since: Instant,
    cpu: Option<Duration>,
    text: Arc<[u8]>,
}

impl Watch {
    /// Starts a thread that calls `exceeded` with the reason and the case when a case exceeds the
    /// limits. `exceeded` should end the process: a thread cannot be stopped.
    pub fn start(limits: Limits, exceeded: impl Fn(&str, &[u8]) + Send + 'static) -> Watch {
        let watch = Watch::default();
        let slot = watch.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(20));
                if let Some((why, text)) = slot.verdict(limits) {
                    exceeded(&why, &text);
                }
            }
        });
        watch
    }

    fn verdict(&self, limits: Limits) -> Option<(String, Arc<[u8]>)> {
        let slot = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let running = slot.as_ref()?;
        let wall = running.since.elapsed();
        let cpu = match (running.cpu, cpu_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => wall,
        };
        let why = if cpu > limits.time || wall > limits.time * 10 {
            format!("no end after {:.1} s of processor time, {:.1} s", cpu.as_secs_f64(), wall.as_secs_f64())
        } else {
            let used = resident_mib().filter(|used| *used > limits.memory)?;
            format!("{used} MiB of memory in use")
        };
        Some((why, running.text.clone()))
    }

    pub fn enter(&self, text: &[u8]) {
        let running = Running { since: Instant::now(), cpu: cpu_time(), text: text.into() };
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = Some(running);
    }

    pub fn leave(&self) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = None;
    }
}

/// Processor time of this process, where the system tells.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name, may hold spaces; it ends with the last parenthesis. The times are in
    // hundredths of a second on every Linux.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// Resident memory of this process, where the system tells.
fn resident_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_case_that_does_not_end_is_told() {
        let (tell, told) = mpsc::channel();
        let limits = Limits { time: Duration::from_millis(100), memory: u64::MAX };
        let watch = Watch::start(limits, move |why, text| {
            let _ = tell.send((why.to_owned(), text.to_vec()));
        });
        watch.enter(b"ends");
        watch.leave();
        watch.enter(b"(loop)");
        let (why, text) = told.recv_timeout(Duration::from_secs(20)).unwrap();
        watch.leave();
        assert!(why.starts_with("no end"), "{why}");
        assert_eq!(text, b"(loop)");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells() {
        assert!(cpu_time().is_some());
        assert!(resident_mib().unwrap() > 0);
    }
}

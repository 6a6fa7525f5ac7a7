//! Where measurements are kept for `--resume`: beside the code cache, an entry for each program, entry, device and ranks.

use crate::report::to_stderr;
use remc_runtime::cache::{Cache, Key};
use remc_tune::kept::{Circumstances, Kept};
use remc_tune::schedules::{self, Answer};
use remc_tune::search::{Asked, Ways};
use std::path::Path;
use std::time::{Duration, Instant};

/// How many bytes of measurements are kept, of all programs.
const LIMIT: u64 = 16 << 20;
/// How long something may be known and not written.
const DELAY: Duration = Duration::from_millis(300);

pub struct Store {
    cache: Cache,
    key: Key,
    kept: Kept,
    /// The contents of the data sets, in their order.
    data: Vec<String>,
    written: Instant,
    is_written: bool,
}

/// What measurements are of.
pub struct Of<'a> {
    pub program: &'a Path,
    pub entry: &'a str,
    pub device: &'a str,
    pub ranks: &'a [usize],
}

impl Store {
    /// What was kept of these before, if it is asked for and still holds; else nothing yet. Says which.
    pub fn open(of: &Of<'_>, now: Circumstances, data: Vec<String>, resume: bool) -> Store {
        let cache = Cache::from_environment().inside("tuning", LIMIT);
        let program = of.program.canonicalize().unwrap_or_else(|_| of.program.to_owned());
        let ranks = format!("{:?}", of.ranks);
        let program = program.as_os_str().as_encoded_bytes();
        let key = Key::of(&[b"tuning", program, of.entry.as_bytes(), of.device.as_bytes(), ranks.as_bytes()]);
        let kept = if resume { taken_up(&cache, key, of.entry, &now, &data) } else { None };
        let kept = kept.unwrap_or_else(|| Kept::new(now));
        Store { cache, key, kept, data, written: Instant::now(), is_written: true }
    }

    pub fn get(&self, asked: &Asked<'_>) -> Option<Ways> {
        self.kept.get(self.data.get(asked.set)?, asked)
    }

    pub fn put(&mut self, asked: &Asked<'_>, ways: &Ways) {
        let Some(data) = self.data.get(asked.set) else { return };
        self.kept.put(data, asked, ways);
        self.changed();
    }

    pub fn step(&self, asked: &schedules::Asked<'_>) -> Option<Vec<Answer>> {
        self.kept.step(self.data.get(asked.set)?, asked)
    }

    pub fn put_step(&mut self, asked: &schedules::Asked<'_>, answers: &[Answer]) {
        let Some(data) = self.data.get(asked.set) else { return };
        self.kept.put_step(data, asked, answers);
        self.changed();
    }

    fn changed(&mut self) {
        self.is_written = false;
        if self.written.elapsed() >= DELAY {
            self.write();
        }
    }

    /// Where nothing can be written, the next search begins anew.
    fn write(&mut self) {
        let _ = self.cache.put(self.key, &self.kept.text());
        (self.written, self.is_written) = (Instant::now(), true);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.is_written {
            self.write();
        }
    }
}

/// The measurements of an earlier search.
fn taken_up(cache: &Cache, key: Key, entry: &str, now: &Circumstances, data: &[String]) -> Option<Kept> {
    let say = |what: String| to_stderr(&format!("--resume: {what}\n"));
    if cache.folder().is_none() {
        say("there is no code cache, beside which measurements are kept, so everything is measured".into());
        return None;
    }
    let Some(kept) = cache.get(key).and_then(|text| Kept::read(&text)) else {
        say(format!("no measurements of `{entry}` are kept, so everything is measured"));
        return None;
    };
    if let Some(why) = kept.circumstances.differ(now) {
        say(format!("the measurements of `{entry}` that are kept are not used: {why}"));
        return None;
    }
    let (of, others) = kept.count(data);
    let them = |n: usize| if n == 1 { "one measurement".to_owned() } else { format!("{n} measurements") };
    say(format!("goes on from {} of `{entry}`", them(of)));
    if others > 0 {
        say(format!("{} of data that has changed, or is not there now, are not used", them(others)));
    }
    Some(kept)
}

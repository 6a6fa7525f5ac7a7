//! Which files have changed.
//!
//! The system wakes us when something happens in the folder of a file: editors replace files by others, which a watch on
//! the file itself would miss, and a file that is gone may come back. Whether a file has changed is then read off it. Where
//! the system does not tell, or does not for some folder, files are looked at every second.

use crate::codes;
use crate::report::{Outcome, fail, usage};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A change is whole when for so long nothing else has changed.
const QUIET: Duration = Duration::from_millis(50);
/// … or for so long at most.
const LONGEST: Duration = Duration::from_millis(500);
/// Files are looked at so often in any case.
const PERIOD: Duration = Duration::from_secs(1);

pub struct Changes {
    watcher: RecommendedWatcher,
    events: Receiver<()>,
    folders: BTreeSet<PathBuf>,
    stamps: BTreeMap<PathBuf, Stamp>,
    looked: Instant,
}

/// What of a file tells that it is another, or has another content; `None` where there is none.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

impl Changes {
    pub fn new() -> Outcome<Changes> {
        let (tell, events) = channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file is no change of it.
            if !matches!(event, Ok(notify::Event { kind: EventKind::Access(_), .. })) {
                let _ = tell.send(());
            }
        });
        match watcher {
            Ok(watcher) => Ok(Changes {
                watcher,
                events,
                folders: BTreeSet::new(),
                stamps: BTreeMap::new(),
                looked: Instant::now(),
            }),
            Err(e) => fail(usage(codes::WATCH, format!("files cannot be watched here: {e}"))),
        }
    }

    /// From now on these files are watched, as they are now, and no others.
    pub fn watch(&mut self, files: impl Iterator<Item = PathBuf>) {
        // Of those that were watched before, as they were then.
        let old = std::mem::take(&mut self.stamps);
        for file in files {
            let stamp = old.get(&file).copied().unwrap_or_else(|| stamp(&file));
            // A link, and what it leads to.
            let real = file.canonicalize().ok().filter(|real| *real != file);
            for folder in [Some(&file), real.as_ref()].into_iter().flatten().map(|f| folder_of(f)) {
                if !self.folders.contains(&folder)
                    && self.watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok()
                {
                    self.folders.insert(folder);
                }
            }
            self.stamps.insert(file, stamp);
        }
    }

    /// Whether one of the files has changed; waits for that for a while.
    pub fn seen(&mut self, wait: Duration) -> bool {
        match self.events.recv_timeout(wait) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) if self.looked.elapsed() < PERIOD => return false,
            Err(RecvTimeoutError::Timeout) => {}
            // Without its thread, the period alone is left.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wait),
        }
        if !self.look() {
            return false;
        }
        // Until it is whole. A file without content is one that somebody has begun to write.
        let start = Instant::now();
        while start.elapsed() < LONGEST {
            std::thread::sleep(QUIET);
            while self.events.try_recv().is_ok() {}
            let empty = self.stamps.values().flatten().any(|(_, _, length, ..)| *length == 0);
            if !self.look() && !empty {
                break;
            }
        }
        true
    }

    /// Whether a file is other than it was.
    fn look(&mut self) -> bool {
        self.looked = Instant::now();
        // The watch of a folder is gone with the folder.
        self.folders.retain(|folder| folder.is_dir());
        let mut changed = false;
        for (file, before) in &mut self.stamps {
            let now = stamp(file);
            changed |= now != *before;
            *before = now;
        }
        changed
    }
}

fn stamp(file: &Path) -> Stamp {
    let m = std::fs::metadata(file).ok()?;
    Some((m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec()))
}

/// The folder of a file, or the nearest above it that is there.
fn folder_of(file: &Path) -> PathBuf {
    let mut folder = file.parent();
    while let Some(path) = folder {
        if path.as_os_str().is_empty() {
            break;
        }
        if path.is_dir() {
            return path.to_owned();
        }
        folder = path.parent();
    }
    PathBuf::from(".")
}

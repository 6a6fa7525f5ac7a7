//! How much memory the data of a run may take: whoever makes room for data asks first.
//!
//! A [`Budget`] is a number of bytes and how many of them are given out. Readers of files ask it for each buffer that
//! grows with what a file holds, and for each array before it is made, so that a file that claims more than there is,
//! or a pipe without an end, ends in one message while there is memory left to write it. By default it is what the
//! machine can give now: see [`available`].
//!
//! What grows with a *program*, the compiler's trees or the interpreter's arrays, is counted where memory comes from:
//! see [`crate::allocator`].

use remc_base::value::Data;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for data, in bytes.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
}

/// Why there is no room: so many bytes in all would be needed, or more than `limit` where that is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMuch {
    pub needed: Option<u64>,
    pub limit: u64,
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = Bytes(self.limit);
        match self.needed {
            Some(n) => write!(f, "it takes {} of memory, and there is room for {limit}", Bytes(n)),
            None => write!(f, "it takes more memory than there is room for, {limit}"),
        }
    }
}

/// A number of bytes as people read it: `100 MiB`, `1.5 GiB`.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let unit = (0..units.len()).rev().find(|k| self.0 >= 1 << (10 * k)).unwrap_or(0);
        let size = 1u64 << (10 * unit);
        match self.0.is_multiple_of(size) {
            true if self.0 == 1 => f.write_str("1 byte"),
            true => write!(f, "{} {}", self.0 / size, units[unit]),
            false => write!(f, "{:.1} {}", self.0 as f64 / size as f64, units[unit]),
        }
    }
}

impl Budget {
    pub fn new(limit: u64) -> Budget {
        Budget { limit, used: AtomicU64::new(0) }
    }

    /// So many bytes, or what the machine can give.
    pub fn of(limit: Option<u64>) -> Budget {
        Budget::new(limit.unwrap_or_else(available))
    }

    /// How many bytes there are in all.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many bytes are not given out.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Room that grows from nothing.
    pub fn room(&self) -> Room<'_> {
        Room { budget: self, bytes: 0 }
    }
}

/// Room that somebody has in a budget, which goes back when it is dropped.
#[derive(Debug)]
pub struct Room<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Room<'_> {
    /// Asks for more bytes.
    pub fn take(&mut self, bytes: u64) -> Result<(), TooMuch> {
        let used = &self.budget.used;
        let limit = self.budget.limit;
        let add = |n: u64| n.checked_add(bytes).filter(|n| *n <= limit);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(n) => Err(TooMuch { needed: n.checked_add(bytes), limit }),
        }
    }

    /// Gives some of it back, of what is dropped before the rest.
    pub fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }

    /// Whether there is room for so many bytes more, which nobody takes yet.
    pub fn could(&self, bytes: u64) -> Result<(), TooMuch> {
        self.budget.room().take(bytes)
    }

    /// Why there is no room for so many bytes more than there are.
    pub fn never(&self, bytes: u64) -> TooMuch {
        TooMuch { needed: Some(bytes).filter(|n| *n < u64::MAX), limit: self.budget.limit }
    }

    /// Makes room in a vector for more elements. It grows by a sixteenth where it grows step by step, so that what it
    /// has room for is not much more than what it holds.
    pub fn grow<T>(&mut self, v: &mut Vec<T>, additional: usize) -> Result<(), TooMuch> {
        self.grow_to(v.len(), v.capacity(), size_of::<T>(), additional, |n| v.try_reserve_exact(n).is_ok())
    }

    /// … in the atoms of an array.
    pub fn grow_data(&mut self, data: &mut Data, additional: usize) -> Result<(), TooMuch> {
        let (len, capacity, size) = (data.len(), data.capacity(), data.atom_size());
        self.grow_to(len, capacity, size, additional, |n| data.try_reserve_exact(n).is_ok())
    }

    fn grow_to(
        &mut self,
        len: usize,
        capacity: usize,
        size: usize,
        additional: usize,
        reserve: impl FnOnce(usize) -> bool,
    ) -> Result<(), TooMuch> {
        if capacity - len >= additional {
            return Ok(());
        }
        let more = additional.max(len / 16).max(if len == 0 { 0 } else { 1024 / size.max(1) });
        let bytes = |n: usize| (len.saturating_add(n) - capacity).saturating_mul(size) as u64;
        // The last bytes of a budget are for the elements that are there.
        let more = if self.take(bytes(more)).is_ok() {
            more
        } else {
            // How much is needed in all is known where all of it is asked for at once.
            self.take(bytes(additional)).map_err(|e| if len == 0 { e } else { self.never(u64::MAX) })?;
            additional
        };
        if reserve(more) { Ok(()) } else { Err(self.never(u64::MAX)) }
    }

    /// Keeps the room for good: for a value that outlives who made it.
    pub fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How many bytes this process can still take before the system would end it: what is free or easily made free on the
/// machine, in its control group and under its own limits, with a sixteenth left for all else.
pub fn available() -> u64 {
    let least = [of_the_machine(), of_the_groups(), of_the_process()].into_iter().flatten().min();
    let least = least.unwrap_or(u64::MAX);
    least - least / 16
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number behind a name in a table of the system, in bytes where the table is in kB.
fn entry(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|l| l.strip_prefix(name))?;
    let mut words = line.trim_start_matches(':').split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    number.checked_mul(if words.next() == Some("kB") { 1024 } else { 1 })
}

/// What is free on the machine, swap included.
fn of_the_machine() -> Option<u64> {
    let table = text("/proc/meminfo")?;
    let swap = entry(&table, "SwapFree").unwrap_or(0);
    Some(entry(&table, "MemAvailable")?.saturating_add(swap))
}

/// What is left in the control groups of this process, of either version, and in those above them.
fn of_the_groups() -> Option<u64> {
    let groups = text("/proc/self/cgroup")?;
    let left = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (root, limit, usage) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            all if all.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => return None,
        };
        // In a container the path may be that of the host, while its own group is mounted as the root.
        let mut at = path.trim_end_matches('/');
        let mut least = None;
        loop {
            let folder = format!("{root}{at}");
            least = least.into_iter().chain(left_of(&folder, limit, usage)).min();
            match at.rfind('/') {
                Some(end) => at = &at[..end],
                None => return least,
            }
        }
    });
    left.min()
}

/// What is left in one group. What it keeps of files that nobody uses is given up for memory.
fn left_of(folder: &str, limit: &str, usage: &str) -> Option<u64> {
    let number = |name: &str| text(&format!("{folder}/{name}"))?.trim().parse::<u64>().ok();
    let limit = number(limit)?;
    let table = text(&format!("{folder}/memory.stat")).unwrap_or_default();
    let files = entry(&table, "total_inactive_file ").or_else(|| entry(&table, "inactive_file "));
    let used = number(usage).unwrap_or(0).saturating_sub(files.unwrap_or(0));
    Some(limit.saturating_sub(used))
}

/// What is left under the limits that a shell's `ulimit` sets.
fn of_the_process() -> Option<u64> {
    let limits = text("/proc/self/limits")?;
    let status = text("/proc/self/status")?;
    let left = |name: &str, used: &str| {
        let line = limits.lines().find_map(|l| l.strip_prefix(name))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(limit.saturating_sub(entry(&status, used)?))
    };
    left("Max address space", "VmSize").into_iter().chain(left("Max data size", "VmData")).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_counted_and_goes_back() {
        let budget = Budget::new(1000);
        let mut room = budget.room();
        room.take(600).unwrap();
        assert_eq!(room.take(600), Err(TooMuch { needed: Some(1200), limit: 1000 }));
        assert_eq!(budget.left(), 400);
        let mut other = budget.room();
        other.take(400).unwrap();
        assert!(room.take(1).is_err());
        drop(other);
        assert_eq!(budget.left(), 400);
        room.give_back(100);
        assert_eq!(budget.left(), 500);
        room.keep();
        assert_eq!(budget.left(), 500);
        assert!(budget.room().take(u64::MAX).is_err());
    }

    #[test]
    fn vectors_grow_by_a_sixteenth() {
        let budget = Budget::new(110 << 20);
        let mut room = budget.room();
        let mut v: Vec<u64> = Vec::new();
        for n in 0..12_500_000u64 {
            room.grow(&mut v, 1).unwrap();
            v.push(n);
        }
        let held = v.len() as u64 * 8;
        assert!(
            (110 << 20) - budget.left() <= held + held / 10 && v.capacity() * 8 <= held as usize * 11 / 10
        );
        // All of a budget can be used, and no more.
        let budget = Budget::new(4000);
        let (mut room, mut v) = (budget.room(), Vec::new());
        while room.grow(&mut v, 1).is_ok() {
            v.push(0u64);
        }
        assert_eq!((v.len(), budget.left()), (500, 0));
    }

    #[test]
    fn sizes_are_for_people() {
        let shown = [0, 1, 1023, 1024, 1536, 100 << 20, 4 << 30, u64::MAX].map(|n| Bytes(n).to_string());
        let expected =
            ["0 bytes", "1 byte", "1023 bytes", "1 KiB", "1.5 KiB", "100 MiB", "4 GiB", "16.0 EiB"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn tables_of_the_system() {
        let table = "MemTotal:       24 kB\nMemAvailable:       10 kB\nx 7\n";
        assert_eq!(entry(table, "MemAvailable"), Some(10 << 10));
        assert_eq!(entry(table, "x "), Some(7));
        assert_eq!(entry(table, "y"), None);
        #[cfg(target_os = "linux")]
        assert!(of_the_machine().is_some_and(|n| n > 0));
        assert!(available() > 0);
    }
}

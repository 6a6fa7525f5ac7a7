//! What is known of this machine: what defaults and measurements depend on.
//!
//! | fact | from where | what depends on it |
//! | --- | --- | --- |
//! | processor | the system | whether measurements are of this machine |
//! | cores | the system | how many points are enough for all of them: the default of `par.outer` |
//! | caches | the system | how much memory a measurement of it has to go through |
//! | bandwidth | measured once for a number of threads, kept beside the code cache | what the tuner expects of an operator |
//!
//! `REMC_MACHINE=any` leaves the defaults at those of no machine in particular: floats then come out alike on machines of the
//! same kind of processor, whatever number of cores they have. Tests run so.

use remc_driver::compile::Tuning;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// So many points for each core are enough: then none waits for long.
const POINTS: i64 = 16;
/// The fewest and the most points that are enough.
const ENOUGH: (i64, i64) = (16, 512);

/// What programs are compiled with for this machine's processor.
pub fn tuning() -> Tuning {
    let any = std::env::var_os("REMC_MACHINE").as_deref() == Some(OsStr::new("any"));
    Tuning { par_outer: (!any).then(|| enough(cores())), ..Tuning::default() }
}

/// How many points are enough for so many cores.
fn enough(cores: usize) -> i64 {
    i64::try_from(cores).unwrap_or(i64::MAX).saturating_mul(POINTS).clamp(ENOUGH.0, ENOUGH.1)
}

/// The processor, as the system calls it.
pub fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
    let name = name.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match name.as_str() {
        "" => format!("a processor of the kind {}", std::env::consts::ARCH),
        name => remc_base::visible(name).into_owned(),
    }
}

/// How many cores the machine has, whichever of them this process may use: one and the same program gives the same bits in
/// every run.
pub fn cores() -> usize {
    let listed = fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| counted(&text));
    listed.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// How many numbers there are in a list of ranges: `0-3,8`.
fn counted(text: &str) -> Option<usize> {
    let range = |range: &str| -> Option<usize> {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    text.trim().split(',').map(range).sum::<Option<usize>>().filter(|n| *n > 0)
}

/// A cache that holds data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    pub level: u32,
    pub bytes: u64,
}

/// The caches of the first core, by level; none where the system does not say.
pub fn caches() -> Vec<Cache> {
    caches_in(Path::new("/sys/devices/system/cpu/cpu0/cache"))
}

fn caches_in(folder: &Path) -> Vec<Cache> {
    let one = |entry: fs::DirEntry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let text = read("size")?;
        let (digits, unit) = text.trim().split_at(text.trim().trim_end_matches(['K', 'M', 'G']).len());
        let factor = match unit {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            _ => 1 << 30,
        };
        let bytes = digits.parse::<u64>().ok()?.checked_mul(factor)?;
        let level = read("level")?.trim().parse().ok()?;
        (read("type")?.trim() != "Instruction").then_some(Cache { level, bytes })
    };
    let mut all: Vec<Cache> = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(one).collect();
    all.sort_by_key(|c| (c.level, c.bytes));
    all
}

#[cfg(feature = "llvm")]
pub use measured::bandwidth;

#[cfg(feature = "llvm")]
mod measured {
    use super::{caches, cores, processor};
    use remc_runtime::cache::{Cache, Key};
    use serde_json::{Value, json};
    use std::time::Instant;

    /// How many bytes of what is known of machines are kept.
    const LIMIT: u64 = 1 << 20;
    /// The bytes of an array that no cache holds, where caches are not known, and the most.
    const ARRAY: (u64, u64) = (64 << 20, 256 << 20);

    /// The bytes that go through memory in a second, read and written, when as many threads copy: as it was measured for the
    /// first time, which is kept beside the code cache. What is kept and damaged, or of another machine, is none.
    pub fn bandwidth(threads: usize) -> f64 {
        kept(&Cache::from_environment().inside("machine", LIMIT), threads, &copied)
    }

    pub(super) fn kept(cache: &Cache, threads: usize, measure: &dyn Fn(usize) -> f64) -> f64 {
        let facts = (processor(), cores(), caches());
        let key =
            Key::of(&[b"machine 1", facts.0.as_bytes(), format!("{:?}", (facts.1, &facts.2)).as_bytes()]);
        let text = cache.get(key).unwrap_or_default();
        let mut known: Value = serde_json::from_slice(&text).unwrap_or_default();
        let place = threads.to_string();
        let before = known["bandwidth"][&place].as_f64();
        if let Some(bandwidth) = before.filter(|b| b.is_finite() && *b > 0.0) {
            return bandwidth;
        }
        let bandwidth = measure(threads);
        let caches = facts.2.iter().map(|c| json!({"level": c.level, "bytes": c.bytes}));
        let mut all = known["bandwidth"].as_object().cloned().unwrap_or_default();
        all.insert(place, json!(bandwidth));
        known = json!({
            "processor": facts.0, "cores": facts.1, "caches": caches.collect::<Vec<_>>(), "bandwidth": all,
        });
        // Where it cannot be written, the next search measures again.
        let _ = cache.put(key, known.to_string().as_bytes());
        bandwidth
    }

    /// The best of a few copies.
    fn copied(threads: usize) -> f64 {
        let threads = threads.clamp(1, 64);
        let largest = caches().iter().map(|c| c.bytes).max().unwrap_or(0);
        let array = largest.saturating_mul(2).clamp(ARRAY.0, ARRAY.1) as usize;
        let each = array / threads / 8;
        let (from, mut to) = (vec![1u64; each * threads], vec![0u64; each * threads]);
        let mut best = 0f64;
        for _ in 0..4 {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for (from, to) in from.chunks(each).zip(to.chunks_mut(each)) {
                    scope.spawn(move || to.copy_from_slice(from));
                }
            });
            let bytes = 2.0 * 8.0 * (each * threads) as f64;
            best = best.max(bytes / start.elapsed().as_secs_f64().max(1e-9));
        }
        std::hint::black_box(&to);
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cores_need_few_points() {
        assert_eq!([1, 2, 8, 32, 500].map(enough), [16, 32, 128, 512, 512]);
        assert!(cores() >= 1);
    }

    #[test]
    fn lists_of_cores_are_counted() {
        assert_eq!(["0", "0-1\n", "0-3,8", "0-3,8-11\n"].map(counted), [Some(1), Some(2), Some(5), Some(8)]);
        assert_eq!(["", "x", "3-1", "0-", "0-18446744073709551615"].map(counted), [None; 5]);
    }

    #[test]
    fn caches_are_read_where_the_system_says_them() {
        let folder = remc_runtime::temporary::Temporary::folder("test").unwrap();
        let cache = |name: &str, level: &str, kind: &str, size: &str| {
            let at = folder.path().join(name);
            fs::create_dir(&at).unwrap();
            let files = [("level", level), ("type", kind), ("size", size)];
            files.iter().for_each(|(file, text)| fs::write(at.join(file), format!("{text}\n")).unwrap());
        };
        cache("index3", "3", "Unified", "300M");
        cache("index0", "1", "Data", "48K");
        cache("index1", "1", "Instruction", "32K");
        cache("index2", "2", "Unified", "much");
        fs::write(folder.path().join("uevent"), "").unwrap();
        let of = |level, bytes| Cache { level, bytes };
        assert_eq!(caches_in(folder.path()), [of(1, 48 << 10), of(3, 300 << 20)]);
        assert_eq!(caches_in(&folder.path().join("none")), []);
    }

    #[cfg(feature = "llvm")]
    #[test]
    fn what_was_measured_is_kept_until_it_is_damaged() {
        use super::measured::kept;
        use remc_runtime::cache::Cache;
        use std::cell::Cell;
        let above = remc_runtime::temporary::Temporary::folder("test").unwrap();
        let folder = above.path().join("cache");
        let runs = Cell::new(0);
        let measure = |threads: usize| {
            runs.set(runs.get() + 1);
            threads as f64 * 1e9
        };
        let known = |threads| kept(&Cache::open(&folder, 1 << 20), threads, &measure);
        assert_eq!((known(2), known(2), runs.get()), (2e9, 2e9, 1));
        // Each number of threads has its own, and what is known of others stays.
        assert_eq!((known(3), known(2), runs.get()), (3e9, 2e9, 2));
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let whole = fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() - 3], &[0u8; 200][..], b""] {
            fs::write(&file, damaged).unwrap();
            runs.set(0);
            assert_eq!((known(2), known(2), runs.get()), (2e9, 2e9, 1));
        }
        // Without a cache it is measured each time.
        runs.set(0);
        assert_eq!(
            (kept(&Cache::off(), 2, &measure), kept(&Cache::off(), 2, &measure), runs.get()),
            (2e9, 2e9, 2)
        );
    }
}

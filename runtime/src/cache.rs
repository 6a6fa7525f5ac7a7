//! Compiled code on disk, found again by what it was made from.
//!
//! ```text
//! entry ::= magic (8 bytes) checksum of the content (32 bytes) content
//! ```
//!
//! An entry's file is named by its key, a hash of everything that the content depends on: what was
//! compiled, the versions of remc and of LLVM or NVRTC, the processor with its features. So an entry is never
//! out of date, only unused. It is written under a temporary name and renamed: readers and other writers see all
//! of it or nothing. What is damaged all the same is recognised by the checksum, ignored and replaced.
//!
//! The cache is bounded: after a write that takes it past its limit, the entries that have not been used
//! for longest go. Nothing here is an error of the program: a cache that cannot be read or written is as
//! good as none.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"remc\0\0\0\x01";
/// How many bytes of entries are kept.
pub const DEFAULT_LIMIT: u64 = 256 << 20;
/// Temporary files that are older were left by a writer that was ended.
const ABANDONED: Duration = Duration::from_secs(3600);

pub struct Cache {
    /// Where entries are; `None` if there is no cache.
    folder: Option<PathBuf>,
    limit: u64,
}

/// What an entry is found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key([u8; 32]);

impl Key {
    /// The hash of parts, each of which counts with its length: no two lists of parts run together alike.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Key(*hasher.finalize().as_bytes())
    }

    /// The key of a part of what this is the key of.
    #[must_use]
    pub fn part(self, number: usize) -> Key {
        Key::of(&[&self.0, &(number as u64).to_le_bytes()])
    }

    fn file_name(self) -> String {
        format!("{}.o", blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl Cache {
    /// The cache that the environment asks for: `REMC_CACHE` is `off` or a folder; without it the user's
    /// folder of caches is used.
    pub fn from_environment() -> Cache {
        Cache::chosen(|name| std::env::var_os(name).filter(|v| !v.is_empty()))
    }

    fn chosen(variable: impl Fn(&str) -> Option<OsString>) -> Cache {
        let folder = match variable("REMC_CACHE") {
            Some(v) if v == "off" => None,
            Some(v) => Some(PathBuf::from(v)),
            // The XDG specification says that a relative path counts as none.
            None => variable("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .filter(|p| p.is_absolute())
                .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")))
                .map(|p| p.join("remc")),
        };
        Cache { folder, limit: DEFAULT_LIMIT }
    }

    /// A cache in a folder, which is made when something is written.
    pub fn open(folder: impl Into<PathBuf>, limit: u64) -> Cache {
        Cache { folder: Some(folder.into()), limit }
    }

    /// No cache.
    pub fn off() -> Cache {
        Cache { folder: None, limit: 0 }
    }

    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The content of an entry, if it is there and undamaged.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.folder.as_ref()?.join(key.file_name())).ok()?;
        let mut head = [0; MAGIC.len() + 32];
        file.read_exact(&mut head).ok()?;
        let (magic, checksum) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return None;
        }
        let mut content = Vec::new();
        // An entry is never larger than the whole cache.
        (&mut file).take(self.limit.saturating_add(1)).read_to_end(&mut content).ok()?;
        if blake3::hash(&content).as_bytes() != checksum {
            return None;
        }
        // Used now. Where this is not permitted, it goes by when it was written.
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
        Some(content)
    }

    /// Adds or replaces an entry, and removes old ones if there are too many. Says whether it is there
    /// now; a caller need not care.
    pub fn put(&self, key: Key, content: &[u8]) -> bool {
        let Some(folder) = &self.folder else { return false };
        if content.len() as u64 > self.limit || write(folder, &key.file_name(), content).is_err() {
            return false;
        }
        // What cannot be listed or removed stays.
        let _ = self.evict(folder, &key.file_name());
        true
    }

    /// Removes the entries that have been unused for longest, but for `keep`, until the rest is within the
    /// limit, and what writers left behind.
    fn evict(&self, folder: &Path, keep: &str) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut total = 0u64;
        for entry in fs::read_dir(folder)?.flatten() {
            let name = entry.file_name();
            let (Some(name), Ok(metadata)) = (name.to_str(), entry.metadata()) else { continue };
            let Ok(used) = metadata.modified() else { continue };
            if name.ends_with(".tmp") {
                if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(entry.path());
                }
            } else if is_entry(name) {
                total = total.saturating_add(metadata.len());
                if name != keep {
                    entries.push((used, entry.path(), metadata.len()));
                }
            }
        }
        if total <= self.limit {
            return Ok(());
        }
        entries.sort();
        // A little more than necessary, so that not every write has to.
        for (_, path, bytes) in entries {
            if total <= self.limit - self.limit / 8 {
                break;
            }
            // Another process may have been quicker.
            if fs::remove_file(path).is_ok() {
                total = total.saturating_sub(bytes);
            }
        }
        Ok(())
    }
}

/// Whether a file's name is that of an entry; others are not touched.
fn is_entry(name: &str) -> bool {
    name.strip_suffix(".o").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(folder)?;
    let count = WRITES.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("{name}.{}-{count}.tmp", std::process::id()));
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        file.write_all(MAGIC)?;
        file.write_all(blake3::hash(content).as_bytes())?;
        file.write_all(content)?;
        fs::rename(&temporary, folder.join(name))
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("remc-cache-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Folder(path)
        }

        fn files(&self) -> usize {
            fs::read_dir(&self.0).map_or(0, Iterator::count)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_eq!(Key::of(&[b"a", b"b"]), Key::of(&[b"a", b"b"]));
        assert_ne!(Key::of(&[b"ab", b""]), Key::of(&[b"a", b"b"]));
        assert_ne!(Key::of(&[b"a"]), Key::of(&[b"a", b""]));
    }

    #[test]
    fn what_is_put_is_found() {
        let folder = Folder::new("found");
        let (cache, key) = (Cache::open(&folder.0, 1 << 20), Key::of(&[b"x"]));
        assert_eq!(cache.get(key), None);
        for content in [&b"one"[..], b"", b"two"] {
            assert!(cache.put(key, content));
            assert_eq!(Cache::open(&folder.0, 1 << 20).get(key).as_deref(), Some(content));
        }
        assert_eq!(folder.files(), 1);
        assert!(!cache.put(key, &vec![0; 2 << 20]), "larger than the cache");
    }

    #[test]
    fn damage_is_ignored_and_repaired() {
        let folder = Folder::new("damage");
        let (cache, key) = (Cache::open(&folder.0, 1 << 20), Key::of(&[b"x"]));
        assert!(cache.put(key, b"some content"));
        let path = folder.0.join(key.file_name());
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            fs::write(&path, &bad).unwrap();
            assert_eq!(cache.get(key), None, "byte {at}");
            fs::write(&path, &good[..at]).unwrap();
            assert_eq!(cache.get(key), None, "{at} bytes");
        }
        fs::write(&path, [&good[..], b"!"].concat()).unwrap();
        assert_eq!(cache.get(key), None, "too long");
        assert!(cache.put(key, b"some content"));
        assert_eq!(cache.get(key).as_deref(), Some(&b"some content"[..]));
    }

    #[test]
    fn the_entries_unused_for_longest_go() {
        let folder = Folder::new("evict");
        let cache = Cache::open(&folder.0, 10_000);
        let keys: Vec<Key> = (0..9u8).map(|i| Key::of(&[&[i]])).collect();
        let at = |key: Key, seconds| {
            let file = File::options().write(true).open(folder.0.join(key.file_name())).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        for (i, key) in keys.iter().enumerate() {
            assert!(cache.put(*key, &[7; 1000]));
            at(*key, 1000 + i as u64);
        }
        fs::write(folder.0.join("notes.txt"), [0; 5000]).unwrap();
        assert!(cache.get(keys[0]).is_some(), "used now");
        assert!(cache.put(Key::of(&[b"more"]), &[7; 1000]));
        let there: Vec<bool> = keys.iter().map(|k| cache.get(*k).is_some()).collect();
        assert_eq!(there, [true, false, false, true, true, true, true, true, true]);
        assert!(folder.0.join("notes.txt").exists(), "what is no entry stays");
    }

    #[test]
    fn writers_at_the_same_time() {
        let folder = Folder::new("writers");
        let contents: Vec<Vec<u8>> = (0..4u8).map(|i| vec![i; 50_000]).collect();
        let key = Key::of(&[b"shared"]);
        std::thread::scope(|s| {
            for content in &contents {
                let cache = Cache::open(&folder.0, 1 << 20);
                let contents = &contents;
                s.spawn(move || {
                    for _ in 0..50 {
                        assert!(cache.put(key, content));
                        let found = cache.get(key).expect("whole at any time");
                        assert!(contents.contains(&found));
                    }
                });
            }
        });
        assert_eq!(folder.files(), 1);
    }

    #[test]
    fn no_cache_does_no_harm() {
        let key = Key::of(&[]);
        let folder = Folder::new("file");
        fs::write(&folder.0, "a file where the folder should be").unwrap();
        for cache in [Cache::off(), Cache::open(folder.0.join("sub"), 100), Cache::open("/proc/none", 100)] {
            assert!(!cache.put(key, b"x"));
            assert_eq!(cache.get(key), None);
        }
        let _ = fs::remove_file(&folder.0);
    }

    #[test]
    fn the_environment_chooses() {
        let of = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(*v));
            Cache::chosen(find).folder
        };
        let home = ("HOME", "/home/x");
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[home]), Some("/home/x/.cache/remc".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/c")]), Some("/c/remc".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "c")]), Some("/home/x/.cache/remc".into()));
        assert_eq!(of(&[home, ("REMC_CACHE", "off")]), None);
        assert_eq!(of(&[home, ("REMC_CACHE", "/d")]), Some("/d".into()));
    }
}

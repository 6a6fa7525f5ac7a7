//! Compiled code on disk, found again by what it was made from.
//!
//! ```text
//! entry ::= magic (8 bytes) key (32 bytes) checksum of key and content (32 bytes) content
//! ```
//!
//! An entry's file is named by its key, a hash of everything that the content depends on: what was
//! compiled, the versions of remc and of LLVM or NVRTC, the processor with its features. So an entry is never
//! out of date, only unused. It is written under a temporary name and renamed: readers and other writers see all
//! of it or nothing. What is damaged all the same, or lies under another entry's name, is recognised by the checksum,
//! ignored and replaced.
//!
//! A checksum says nothing of who wrote an entry, and entries are run. So the folder and each entry must belong to the
//! user and be writable by nobody else ([`crate::private`]); else they are not used, and [`Cache::refusals`] says why. A
//! folder that depends on where remc is started, in what somebody else has packed perhaps, is none.
//!
//! The cache is bounded: after a write that takes it past its limit, the entries that have not been used
//! for longest go. Nothing here is an error of the program: a cache that cannot be read or written is as
//! good as none.

use crate::private::{Private, Refusal};
use crate::temporary::{self, Temporary};
use std::ffi::OsString;
use std::fs::FileTimes;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"remc\0\0\0\x02";
/// How many bytes of entries are kept.
pub const DEFAULT_LIMIT: u64 = 256 << 20;
/// Temporary files that are older were left by a writer that was ended.
const ABANDONED: Duration = Duration::from_secs(3600);

pub struct Cache {
    /// Where entries are; `None` if there is no cache.
    folder: Option<PathBuf>,
    /// Whether somebody asked for this very folder.
    named: bool,
    limit: u64,
    refusals: Mutex<Vec<String>>,
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

    /// The name of an entry's file.
    pub fn file_name(self) -> String {
        format!("{}.o", blake3::Hash::from_bytes(self.0).to_hex())
    }

    /// The key of an entry, by the name of its file.
    pub fn of_name(name: &str) -> Option<Key> {
        let hash = blake3::Hash::from_hex(name.strip_suffix(".o")?).ok()?;
        Some(Key(*hash.as_bytes()))
    }

    /// The checksum of an entry.
    fn checksum(self, content: &[u8]) -> blake3::Hash {
        blake3::Hasher::new().update(&self.0).update(content).finalize()
    }
}

impl Cache {
    /// The cache that the environment asks for: `REMC_CACHE` is `off` or a folder's absolute path; without it the
    /// user's folder of caches is used.
    pub fn from_environment() -> Cache {
        Cache::chosen(|name| std::env::var_os(name).filter(|v| !v.is_empty()))
    }

    fn chosen(variable: impl Fn(&str) -> Option<OsString>) -> Cache {
        match variable("REMC_CACHE").map(PathBuf::from) {
            Some(v) if v == Path::new("off") => Cache::off(),
            Some(v) if v.is_absolute() => Cache::open(v, DEFAULT_LIMIT),
            Some(v) => {
                let cache = Cache::off();
                let why = "what REMC_CACHE names is no absolute path";
                cache.refuse(format!("the code cache `{}` is not used: {why}", v.display()));
                cache
            }
            // The XDG specification says that a relative path counts as none.
            None => {
                let absolute = |name| variable(name).map(PathBuf::from).filter(|p| p.is_absolute());
                let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
                Cache {
                    folder: caches.map(|c| c.join("remc")),
                    named: false,
                    ..Cache::open("", DEFAULT_LIMIT)
                }
            }
        }
    }

    /// A cache in a folder, which is made when something is written.
    pub fn open(folder: impl Into<PathBuf>, limit: u64) -> Cache {
        Cache { folder: Some(folder.into()), named: true, limit, refusals: Mutex::default() }
    }

    /// No cache.
    pub fn off() -> Cache {
        Cache { folder: None, named: false, limit: 0, refusals: Mutex::default() }
    }

    /// A cache of another kind of entries, in a folder inside of this one's.
    pub fn inside(self, name: &str, limit: u64) -> Cache {
        let folder = self.private(true).map(|p| p.path().join(name));
        Cache { folder, limit, ..self }
    }

    /// A folder of that name beside the entries, if the cache's folder can be trusted. It is made if need be.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        let folder = self.private(true)?.path().join(name);
        match Private::create(&folder) {
            Ok(private) => Some(private.path().to_owned()),
            Err(e) => {
                self.tell("the folder", &folder, &e);
                None
            }
        }
    }

    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What was not used because it cannot be trusted, and why, a sentence each.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse(&self, why: String) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if !refusals.contains(&why) {
            refusals.push(why);
        }
    }

    /// The folder, if it can be trusted; made, if it is not there.
    fn private(&self, make: bool) -> Option<Private> {
        let folder = self.folder.as_ref()?;
        let opened = if make { Private::create(folder) } else { Private::open(folder) };
        opened.inspect_err(|e| self.tell("the code cache", folder, e)).ok()
    }

    /// Keeps the reason why something is not used, if it is worth telling.
    fn tell(&self, what: &str, path: &Path, why: &Refusal) {
        match why {
            Refusal::Absent => {}
            // Many a service has no place of its own for caches.
            Refusal::Failed(_) if !self.named => {}
            _ => self.refuse(format!("{what} `{}` is not used: {why}", path.display())),
        }
    }

    /// The content of an entry, if it is there, undamaged, and can be trusted.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let folder = self.private(false)?;
        let name = key.file_name();
        let opened = folder.read(&name);
        let mut file = opened
            .inspect_err(|e| self.tell("the code cache's entry", &folder.path().join(&name), e))
            .ok()?;
        let mut head = [0; MAGIC.len() + 64];
        file.read_exact(&mut head).ok()?;
        let (magic, rest) = head.split_at(MAGIC.len());
        let (of, checksum) = rest.split_at(key.0.len());
        if magic != MAGIC || of != key.0 {
            return None;
        }
        let mut content = Vec::new();
        // An entry is never larger than the whole cache.
        (&mut file).take(self.limit.saturating_add(1)).read_to_end(&mut content).ok()?;
        if key.checksum(&content).as_bytes() != checksum {
            return None;
        }
        // Used now. Where this is not permitted, it goes by when it was written.
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
        Some(content)
    }

    /// Adds or replaces an entry, and removes old ones if there are too many. Says whether it is there
    /// now; a caller need not care.
    pub fn put(&self, key: Key, content: &[u8]) -> bool {
        let Some(folder) = self.private(true) else { return false };
        if content.len() as u64 > self.limit || write(&folder, key, content).is_err() {
            return false;
        }
        // What cannot be listed or removed stays.
        let _ = self.evict(&folder, &key.file_name());
        true
    }

    /// Removes the entries that have been unused for longest, but for `keep`, until the rest is within the
    /// limit, and what writers left behind.
    fn evict(&self, folder: &Private, keep: &str) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut total = 0u64;
        for (name, stat) in folder.list()? {
            let used = Duration::new(stat.st_mtime.try_into().unwrap_or(0), stat.st_mtime_nsec as u32);
            if is_temporary(&name) {
                let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + used);
                if age.is_ok_and(|age| age > ABANDONED) {
                    let _ = folder.remove(&name);
                }
            } else if Key::of_name(&name).is_some() {
                let bytes = stat.st_size.try_into().unwrap_or(0);
                total = total.saturating_add(bytes);
                if name != keep {
                    entries.push((used, name, bytes));
                }
            }
        }
        if total <= self.limit {
            return Ok(());
        }
        entries.sort();
        // A little more than necessary, so that not every write has to.
        for (_, name, bytes) in entries {
            if total <= self.limit - self.limit / 8 {
                break;
            }
            // Another process may have been quicker.
            if folder.remove(&name).is_ok() {
                total = total.saturating_sub(bytes);
            }
        }
        Ok(())
    }
}

/// Whether a file's name is that of an entry that is being written; what is neither that nor an entry is not touched.
fn is_temporary(name: &str) -> bool {
    let entry = name.strip_suffix(".tmp").and_then(|n| n.rsplit_once('.'));
    entry.is_some_and(|(entry, _)| Key::of_name(entry).is_some())
}

fn write(folder: &Private, key: Key, content: &[u8]) -> io::Result<()> {
    let name = key.file_name();
    let half = format!("{name}.{}.tmp", temporary::random());
    let (temporary, mut file) = Temporary::made(folder.path().join(&half), || folder.create_new(&half))?;
    file.write_all(MAGIC)?;
    file.write_all(&key.0)?;
    file.write_all(key.checksum(content).as_bytes())?;
    file.write_all(content)?;
    temporary.rename(|_| folder.rename(&half, &name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder for a cache, which is not there yet.
    struct Folder(PathBuf, Temporary);

    impl Folder {
        fn new() -> Folder {
            let above = Temporary::folder("test").unwrap();
            Folder(above.path().join("cache"), above)
        }

        fn files(&self) -> usize {
            fs::read_dir(&self.0).map_or(0, Iterator::count)
        }
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_eq!(Key::of(&[b"a", b"b"]), Key::of(&[b"a", b"b"]));
        assert_ne!(Key::of(&[b"ab", b""]), Key::of(&[b"a", b"b"]));
        assert_ne!(Key::of(&[b"a"]), Key::of(&[b"a", b""]));
    }

    #[test]
    fn what_is_put_is_found() {
        let folder = Folder::new();
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
        let folder = Folder::new();
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
        let folder = Folder::new();
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
        let folder = Folder::new();
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
        let folder = Folder::new();
        fs::write(&folder.0, "a file where the folder should be").unwrap();
        for cache in [Cache::off(), Cache::open(folder.0.join("sub"), 100), Cache::open("/proc/none", 100)] {
            assert!(!cache.put(key, b"x"));
            assert_eq!(cache.get(key), None);
        }
        assert_eq!(Cache::off().refusals(), [""; 0]);
    }

    #[test]
    fn an_entry_under_another_name_is_none() {
        let folder = Folder::new();
        let (cache, a, b) = (Cache::open(&folder.0, 1 << 20), Key::of(&[b"a"]), Key::of(&[b"b"]));
        assert!(cache.put(a, b"code of a") && cache.put(b, b"code of b"));
        let of = |key: Key| folder.0.join(key.file_name());
        fs::rename(of(a), of(b)).unwrap();
        assert_eq!(cache.get(b), None);
        // Nor with the other's key written into it.
        let mut bytes = fs::read(of(b)).unwrap();
        bytes[8..40].copy_from_slice(&b.0);
        fs::write(of(b), bytes).unwrap();
        assert_eq!(cache.get(b), None);
        assert!(cache.put(b, b"code of b"));
        assert_eq!(cache.get(b).as_deref(), Some(&b"code of b"[..]));
    }

    #[test]
    fn what_others_may_write_is_not_used() {
        let folder = Folder::new();
        let open = || Cache::open(&folder.0, 1 << 20);
        let key = Key::of(&[b"x"]);
        assert!(open().put(key, b"code"));
        let entry = folder.0.join(key.file_name());
        // An entry is made anew.
        mode(&entry, 0o664);
        let cache = open();
        assert_eq!(cache.get(key), None);
        assert!(cache.refusals()[0].ends_with(".o` is not used: others may write to it (its mode is 664)"));
        assert!(cache.put(key, b"code"));
        assert_eq!(cache.get(key).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.refusals().len(), 1);
        // A folder is left alone.
        mode(&folder.0, 0o770);
        let cache = open();
        assert_eq!((cache.get(key), cache.put(key, b"other")), (None, false));
        assert_eq!(
            cache.refusals(),
            [format!(
                "the code cache `{}` is not used: others may write to it (its mode is 770)",
                folder.0.display()
            )]
        );
        assert!(cache.beside("more").is_none() && cache.inside("more", 100).folder().is_none());
        assert_eq!(folder.files(), 1);
    }

    #[test]
    fn links_and_pipes_are_not_followed() {
        let folder = Folder::new();
        let (cache, key, other) = (Cache::open(&folder.0, 1 << 20), Key::of(&[b"x"]), Key::of(&[b"y"]));
        assert!(cache.put(key, b"code") && cache.put(other, b"code of y"));
        let entry = folder.0.join(key.file_name());
        let elsewhere = folder.1.path().join("elsewhere");
        fs::rename(&entry, &elsewhere).unwrap();
        symlink(&elsewhere, &entry).unwrap();
        assert_eq!(cache.get(key), None);
        assert!(cache.put(key, b"new"));
        assert!(!entry.is_symlink(), "replaced itself");
        assert_eq!((cache.get(key).unwrap(), fs::read(&elsewhere).unwrap().len()), (b"new".to_vec(), 76));
        fs::remove_file(&entry).unwrap();
        let pipe = || {
            use rustix::fs::*;
            mknodat(CWD, &entry, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        };
        pipe();
        assert_eq!(cache.get(key), None, "and does not wait");
        assert!(cache.put(key, b"newer"));
        assert_eq!(cache.get(key).as_deref(), Some(&b"newer"[..]));
        // A folder cannot be replaced by a file.
        fs::remove_file(&entry).unwrap();
        fs::create_dir(&entry).unwrap();
        assert_eq!((cache.get(key), cache.put(key, b"x")), (None, false));
        assert_eq!(folder.files(), 2, "nothing half is left");
        // The cache itself.
        let link = folder.1.path().join("link");
        symlink(&folder.0, &link).unwrap();
        let linked = Cache::open(&link, 1 << 20);
        assert_eq!((linked.get(other), linked.put(other, b"x")), (None, false));
        assert!(linked.refusals()[0].ends_with("link` is not used: it is a symbolic link"));
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
        assert_eq!(of(&[home, ("REMC_CACHE", "d")]), None);
        assert_eq!(of(&[("HOME", "h")]), None);
        let relative = Cache::chosen(|name| (name == "REMC_CACHE").then(|| "./d".into()));
        assert_eq!(
            relative.refusals(),
            ["the code cache `./d` is not used: what REMC_CACHE names is no absolute path"]
        );
    }
}

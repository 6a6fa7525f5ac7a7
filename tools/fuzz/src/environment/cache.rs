//! Folders of compiled code that somebody else had a hand in.
//!
//! A case fills a cache, lets some hostile things be done to it, and asks it again. An entry is what was put under its
//! key, or it is not there: never one that was made for another key, that was cut short, that lies behind a link, that
//! another user owns or can write to. Nothing is waited for, nothing outside of the cache is changed, and a cache whose
//! folder can be trusted takes entries again.

use super::{Broken, emptied};
use crate::rng::Rng;
use remc_runtime::cache::{Cache, Key};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

/// What no cache may give.
const FOREIGN: &[u8] = b"foreign code";
const NOTES: &[u8] = b"notes of the user";
const LIMIT: u64 = 1 << 16;

struct Case<'a> {
    rng: &'a mut Rng,
    /// The cache's folder.
    folder: PathBuf,
    /// A folder of somebody else's.
    elsewhere: PathBuf,
    keys: Vec<(Key, Vec<u8>)>,
    /// What was done, for the report.
    done: Vec<String>,
}

pub fn case(rng: &mut Rng, place: &Path) -> Result<&'static str, Broken> {
    let place = emptied(place)?;
    let (folder, elsewhere) = (place.join("cache"), place.join("elsewhere"));
    let mut c = Case { rng, folder, elsewhere, keys: Vec::new(), done: Vec::new() };
    let found = c.run();
    let shown = c.done.join("\n").into_bytes();
    found.map_err(|why| Broken { why, shown })
}

impl Case<'_> {
    fn run(&mut self) -> Result<&'static str, String> {
        let told = |e: std::io::Error| format!("the case itself: {e}");
        for n in 0..1 + self.rng.below(4) {
            let size = [0, 1, 7, 1000, 20_000][self.rng.below(5)];
            self.keys.push((Key::of(&[&[n as u8]]), vec![n as u8; size]));
        }
        let cache = Cache::open(&self.folder, LIMIT);
        for (key, content) in &self.keys {
            if !cache.put(*key, content) {
                return Err(format!("an entry is not taken: {:?}", cache.refusals()));
            }
        }
        fs::create_dir(&self.elsewhere).map_err(told)?;
        for file in [self.folder.join("notes.txt"), self.elsewhere.join("notes.txt")] {
            fs::write(file, NOTES).map_err(told)?;
        }
        let mut trusted = true;
        for _ in 0..1 + self.rng.below(3) {
            trusted &= self.harm().map_err(told)?;
        }
        let open = self.opened();
        let cache = Cache::open(&open, LIMIT);
        self.ask(&cache)?;
        let key = self.keys[self.rng.below(self.keys.len())].0;
        let taken = cache.put(key, b"made anew");
        if taken && cache.get(key).as_deref() != Some(b"made anew") {
            return Err("an entry that was taken is not there".into());
        }
        // A folder under an entry's name stays what it is.
        let blocked = self.entry(key).is_dir();
        if trusted && open == self.folder && !taken && !blocked {
            return Err(format!("a cache that can be trusted takes nothing: {:?}", cache.refusals()));
        }
        if !trusted && (taken || cache.refusals().is_empty()) {
            return Err(format!("it is used, or no reason is given: {:?}", cache.refusals()));
        }
        for file in [self.folder.join("notes.txt"), self.elsewhere.join("notes.txt")] {
            if fs::read(&file).is_ok_and(|now| now != NOTES) || !file.exists() && self.folder.is_dir() {
                return Err(format!("{} is another", file.display()));
            }
        }
        let half = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let half = half.filter(|f| f.file_name().to_string_lossy().ends_with(".tmp")).count();
        if half > 0 {
            return Err("half an entry is left".into());
        }
        Ok(if trusted { "entries" } else { "not trusted" })
    }

    fn entry(&self, key: Key) -> PathBuf {
        self.folder.join(key.file_name())
    }

    /// The name under which the cache is asked for: its own, a longer one, or that of what is no folder.
    fn opened(&mut self) -> PathBuf {
        match self.rng.below(8) {
            0 => self.folder.join(""),
            // Behind a link `..` would be another folder's.
            1 if !self.folder.is_symlink() => self.folder.join("../cache/."),
            _ => self.folder.clone(),
        }
    }

    /// Every entry is its own content or none.
    fn ask(&self, cache: &Cache) -> Result<(), String> {
        for (key, content) in &self.keys {
            match cache.get(*key) {
                Some(found) if found == *content => {}
                Some(found) if found == FOREIGN => return Err("foreign code is found".into()),
                Some(_) => return Err("code of another entry, or half of it, is found".into()),
                None => {}
            }
        }
        Ok(())
    }

    /// Does one hostile thing. Says whether the folder can still be trusted.
    fn harm(&mut self) -> std::io::Result<bool> {
        let key = self.keys[self.rng.below(self.keys.len())].0;
        let other = self.keys[self.rng.below(self.keys.len())].0;
        let entry = self.entry(key);
        let what = self.rng.below(14);
        self.done.push(format!("harm {what} to {}", entry.display()));
        if !self.folder.is_dir() || self.folder.is_symlink() {
            return Ok(false);
        }
        let remove = |path: &Path| match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path).or(Ok(())),
        };
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        match what {
            // Cut short, changed, longer.
            0 if entry.is_file() => {
                let bytes = fs::read(&entry)?;
                fs::write(&entry, &bytes[..self.rng.below(bytes.len() + 1)])?;
            }
            1 if entry.is_file() => {
                let mut bytes = fs::read(&entry)?;
                let at = self.rng.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.rng.below(8);
                }
                fs::write(&entry, bytes)?;
            }
            2 if entry.is_file() => fs::write(&entry, [fs::read(&entry)?, FOREIGN.to_vec()].concat())?,
            // Under another's name.
            3 if entry.is_file() && key != other => {
                remove(&self.entry(other))?;
                fs::rename(&entry, self.entry(other))?;
            }
            // Foreign code, whole, and in a file that is not the user's alone.
            4..=6 => {
                let theirs = Cache::open(self.elsewhere.join("cache"), LIMIT);
                if !theirs.put(key, FOREIGN) {
                    return Err(std::io::Error::other("no foreign entry"));
                }
                let made = self.elsewhere.join("cache").join(key.file_name());
                remove(&entry)?;
                match what {
                    4 => symlink(&made, &entry)?,
                    5 if remc_runtime::private::user() == 0 => {
                        fs::rename(&made, &entry)?;
                        chown(&entry, Some(12345), None)?;
                    }
                    _ => {
                        fs::rename(&made, &entry)?;
                        mode(&entry, [0o620, 0o602, 0o666, 0o777][self.rng.below(4)])?;
                    }
                }
            }
            // What is no file.
            7 => {
                remove(&entry)?;
                use rustix::fs::{CWD, FileType, Mode, mknodat};
                mknodat(CWD, &entry, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            }
            8 => {
                remove(&entry)?;
                fs::create_dir(&entry)?;
            }
            9 => {
                remove(&entry)?;
                let to = ["/dev/zero", "/dev/null", "nowhere", "."][self.rng.below(4)];
                symlink(to, &entry)?;
            }
            // The folder.
            10 => {
                mode(&self.folder, [0o720, 0o702, 0o777, 0o1777][self.rng.below(4)])?;
                return Ok(false);
            }
            11 if remc_runtime::private::user() == 0 => {
                chown(&self.folder, Some(12345), None)?;
                return Ok(false);
            }
            12 => {
                let moved = self.elsewhere.join("moved");
                fs::rename(&self.folder, &moved)?;
                symlink(&moved, &self.folder)?;
                return Ok(false);
            }
            13 => {
                fs::remove_dir_all(&self.folder)?;
                match self.rng.below(3) {
                    0 => fs::write(&self.folder, FOREIGN)?,
                    1 => {
                        use rustix::fs::{CWD, FileType, Mode, mknodat};
                        mknodat(CWD, &self.folder, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
                    }
                    _ => symlink("nowhere", &self.folder)?,
                }
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }
}

//! The code cache runs nothing that it should not: entries are the user's own, of their key, and load; else the program
//! is compiled, and gives the same.
#![cfg(feature = "llvm")]

mod support;

use remc_runtime::cache::{Cache, Key};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{Folder, text};

fn run_on(device: &str, cache: &Path, program: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(["run", "-e", program, "--device", device])
        .env("REMC_CACHE", cache)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

#[track_caller]
fn gives(o: &Output, value: &str, warning: &str) {
    assert_eq!((o.status.code(), text(&o.stdout)), (Some(0), format!("{value}\n")), "{}", text(&o.stderr));
    match warning {
        "" => assert_eq!(text(&o.stderr), ""),
        w => assert!(text(&o.stderr).contains("W0502") && text(&o.stderr).contains(w), "{}", text(&o.stderr)),
    }
}

/// The entries below a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|f| f.unwrap().path()).collect();
    all.retain(|p| p.file_name().and_then(|n| n.to_str()).is_some_and(|n| Key::of_name(n).is_some()));
    all.sort();
    all
}

const SUM: &str = "(sum (iota [5]))";

#[test]
fn entries_that_are_swapped() {
    let folder = Folder::new("swapped");
    let cache = folder.0.join("cache");
    gives(&run_on("cpu", &cache, SUM), "10", "");
    let of_sum = entries(&cache);
    gives(&run_on("cpu", &cache, "(product (+ 1 (iota [5])))"), "120", "");
    let of_product: Vec<PathBuf> = entries(&cache).into_iter().filter(|p| !of_sum.contains(p)).collect();
    assert!(!of_sum.is_empty() && !of_product.is_empty());
    for (to, from) in of_sum.iter().zip(of_product.iter().cycle()) {
        fs::copy(from, to).unwrap();
    }
    gives(&run_on("cpu", &cache, SUM), "10", "");
    gives(&run_on("cpu", &cache, SUM), "10", "");
}

/// What has the right key and checksum, and is no code for this machine, or not that of the program.
#[test]
fn entries_that_do_not_load() {
    let folder = Folder::new("unloadable");
    let devices: &[(&str, &str)] = &[("cpu", ""), ("emulated", "emulated")];
    for (device, inside) in devices {
        let cache = folder.0.join(device);
        gives(&run_on(device, &cache, SUM), "10", "");
        let place = cache.join(inside);
        let all = entries(&place);
        assert!(!all.is_empty(), "{device}");
        for garbage in [&b""[..], b"no object at all", b"\x7fELF\x02\x01\x01\0\0\0\0\0"] {
            for entry in &all {
                let key = Key::of_name(entry.file_name().unwrap().to_str().unwrap()).unwrap();
                assert!(Cache::open(&place, 1 << 20).put(key, garbage));
            }
            gives(&run_on(device, &cache, SUM), "10", "");
            let size = fs::metadata(&all[0]).unwrap().len();
            assert!(size > 200, "{device}: it is made anew, {size} bytes");
        }
    }
}

#[test]
fn folders_of_others() {
    let folder = Folder::new("others");
    let cache = folder.0.join("cache");
    gives(&run_on("cpu", &cache, SUM), "10", "");
    let mode = |path: &Path, m| fs::set_permissions(path, fs::Permissions::from_mode(m)).unwrap();
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o7777, 0o700);
    let all = entries(&cache);
    mode(&all[0], 0o666);
    gives(&run_on("cpu", &cache, SUM), "10", ".o` is not used: others may write to it (its mode is 666)");
    gives(&run_on("cpu", &cache, SUM), "10", "");
    mode(&cache, 0o777);
    for device in ["cpu", "emulated"] {
        gives(&run_on(device, &cache, SUM), "10", "others may write to it (its mode is 777)");
    }
    mode(&cache, 0o700);
    let link = folder.0.join("link");
    symlink(&cache, &link).unwrap();
    gives(&run_on("cpu", &link, SUM), "10", "it is a symbolic link");
    let file = folder.file("file", "x");
    gives(&run_on("cpu", Path::new(&file), SUM), "10", "it is no folder");
    let pipe = folder.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    gives(&run_on("cpu", &pipe, SUM), "10", "it is no folder");
    gives(&run_on("cpu", &pipe.join("sub"), SUM), "10", "is not used");
    if std::os::unix::fs::chown(&cache, Some(12345), None).is_ok() {
        gives(&run_on("cpu", &cache, SUM), "10", "it belongs to another user, number 12345");
    }
    assert_eq!(entries(&cache), all, "what is not trusted is left alone");
}

#[test]
fn what_the_environment_says() {
    let folder = Folder::new("environment");
    let run = |set: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remc"));
        command.args(["run", "-e", SUM, "--device", "cpu"]).current_dir(&folder.0).env("NO_COLOR", "1");
        for name in ["REMC_CACHE", "XDG_CACHE_HOME", "HOME"] {
            command.env_remove(name);
        }
        command.envs(set.iter().copied()).output().unwrap()
    };
    gives(&run(&[]), "10", "");
    gives(&run(&[("REMC_CACHE", "off")]), "10", "");
    gives(&run(&[("REMC_CACHE", "cache")]), "10", "no absolute path");
    gives(&run(&[("REMC_CACHE", ".")]), "10", "no absolute path");
    gives(&run(&[("HOME", "home"), ("XDG_CACHE_HOME", "caches")]), "10", "");
    // Without a place that can be written to; nobody asked for this one.
    gives(&run(&[("HOME", "/proc/none")]), "10", "");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    let home = folder.path("home");
    gives(&run(&[("REMC_CACHE", ""), ("HOME", &home)]), "10", "");
    assert!(!entries(&folder.0.join("home/.cache/remc")).is_empty());
}

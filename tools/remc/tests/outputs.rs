//! Outputs are whole or not at all, whatever ends the process, and never what the command reads.

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Folder, fails, remc, text, with_input};

const NEVER: &str = "what is read is never overwritten";

#[test]
fn what_is_read_is_not_written_to() {
    let folder = Folder::new("read");
    let lib = folder.file("lib.remora", "(define (double [x 0]) (* 2 x))");
    let program = folder.file("p.remora", "(import \"lib.remora\")\n(entry (f [x [int n]]) (double x))");
    let data = folder.file("x.rd", "[1 2]");
    symlink("x.rd", folder.path("link.rd")).unwrap();
    fs::hard_link(&data, folder.path("hard.rd")).unwrap();
    let input = format!("x={data}");
    let run = |out: &str, says: &str| {
        for device in ["interp", "cpu"] {
            let args = ["run", &program, "--input", &input, "--device", device, "--output", out];
            fails(&args, 2, &format!("it is {says}"));
            fails(&args, 2, NEVER);
        }
    };
    run(&data, "the input `x`");
    run(&folder.path("link.rd"), "the input `x`");
    run(&folder.path("hard.rd"), "the input `x`");
    run(&program, "the program");
    run(&lib, "a file that the program imports");
    for what in ["typed", "mono", "kernel", "futhark", "cuda", "header"] {
        fails(&["compile", &program, "--emit", what, "--output", &program], 2, "it is the program");
        fails(&["compile", &program, "--emit", what, "-o", &lib], 2, "it is a file that the program imports");
    }
    // A dump of that name.
    let dump = folder.file("02-check.typed", "(define x 1)\nx");
    fails(&["run", &dump, "--dump-dir", folder.0.to_str().unwrap()], 2, "02-check.typed`: it is the program");
    fails(
        &["compile", &dump, "--emit", "mono", "--dump-dir", folder.0.to_str().unwrap()],
        2,
        "it is the program",
    );
    // Standard input is a file, too.
    let open = fs::File::open(&data).unwrap();
    let o = Command::new(env!("CARGO_BIN_EXE_remc"))
        .args(["run", "-", "--output", &data])
        .stdin(Stdio::from(open))
        .output()
        .unwrap();
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("it is the program"), "{}", text(&o.stderr));
    assert_eq!(fs::read_to_string(&data).unwrap(), "[1 2]");
    assert_eq!(fs::read_to_string(&dump).unwrap(), "(define x 1)\nx");
    assert_eq!(fs::read_to_string(&lib).unwrap(), "(define (double [x 0]) (* 2 x))");
    let remc_itself = folder.path("remc");
    fs::copy(env!("CARGO_BIN_EXE_remc"), &remc_itself).unwrap();
    let o = Command::new(&remc_itself).args(["run", "-e", "1", "-o", &remc_itself]).output().unwrap();
    assert!(text(&o.stderr).contains("it is remc itself"), "{}", text(&o.stderr));
    // What is no file can be read and written.
    let o = with_input(&["run", "-e", "1", "--output", "/dev/null"], b"");
    assert!(o.status.success(), "{}", text(&o.stderr));
}

#[test]
fn modes_and_links_stay() {
    let folder = Folder::new("modes");
    let secret = folder.file("secret.rd", "old");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("secret.rd", folder.path("link.rd")).unwrap();
    symlink("new.rd", folder.path("dangling.rd")).unwrap();
    for out in ["link.rd", "dangling.rd"] {
        let o = remc(&["run", "-e", "[1 2]", "--output", &folder.path(out)]);
        assert!(o.status.success(), "{}", text(&o.stderr));
        assert!(Path::new(&folder.path(out)).is_symlink());
    }
    for file in ["secret.rd", "new.rd"] {
        assert_eq!(fs::read_to_string(folder.path(file)).unwrap(), "[1 2]\n", "{file}");
    }
    assert_eq!(fs::metadata(&secret).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 4);
    // What standard output already has is not lost.
    let both = format!("echo first; {} run -e 2 --output /dev/stdout", env!("CARGO_BIN_EXE_remc"));
    let out = folder.path("out");
    let o = Command::new("sh").args(["-c", &format!("({both}) > {out}")]).output().unwrap();
    assert!(o.status.success(), "{}", text(&o.stderr));
    assert_eq!(fs::read_to_string(&out).unwrap(), "first\n2\n");
}

/// Starts a run that takes a while to write its value, and waits until it does.
fn writing(folder: &Folder, out: &str, before: &str) -> std::process::Child {
    let program = "(iota [3000000])";
    let command = format!("{before} exec {} run -e '{program}' --output {out}", env!("CARGO_BIN_EXE_remc"));
    let child = Command::new("sh").args(["-c", &command]).env("REMC_CACHE", "off").spawn().unwrap();
    let start = Instant::now();
    let half = || {
        let mut files = fs::read_dir(&folder.0).unwrap().flatten();
        files.any(|f| {
            f.path().extension().is_some_and(|e| e == "tmp") && f.metadata().is_ok_and(|m| m.len() > 0)
        })
    };
    while !half() {
        assert!(start.elapsed() < Duration::from_secs(120), "it never wrote");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn kill(child: &std::process::Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn signals_leave_nothing_behind() {
    let folder = Folder::new("signals");
    let out = folder.file("out.rd", "old");
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1), ("-QUIT", 3)] {
        let mut child = writing(&folder, &out, "ulimit -c 0;");
        kill(&child, signal);
        let ended = child.wait().unwrap();
        assert_eq!(ended.signal(), Some(number), "{ended:?}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "old", "{signal}");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "{signal}");
    }
    // What `nohup` has ignored stays ignored.
    let mut child = writing(&folder, &out, "trap '' HUP;");
    kill(&child, "-HUP");
    assert!(child.wait().unwrap().success());
    assert!(fs::metadata(&out).unwrap().len() > 20_000_000);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

/// A file may be no larger than the shell allows: that is an error like a full disk, not a death.
#[test]
fn files_that_grow_too_large() {
    let folder = Folder::new("large");
    let out = folder.file("out.rd", "old");
    let remc = env!("CARGO_BIN_EXE_remc");
    let command =
        format!("ulimit -f 100; REMC_CACHE=off exec {remc} run -e '(iota [300000])' --output {out}");
    let o = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert_eq!(o.status.code(), Some(2), "{:?} {}", o.status, text(&o.stderr));
    assert!(text(&o.stderr).contains("U0010"), "{}", text(&o.stderr));
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

//! The C kernels of `--unseen` and `--rows` give what plain loops give, at small sizes, and what is wrong is not
//! timed. The programs are in `programs.rs`.

use remc_bench::contender::{Contender, Outcome};
use remc_bench::data;
use remc_bench::peers::{Compiler, Peers};
use remc_bench::suites::{ROWS, UNSEEN};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this process that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("remc-bench-suites-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is not in the way of anybody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bench(suite: &str, cache: &Folder, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remc-bench"));
    command.args([suite, "--small", "--rounds", "1", "--cache"]).arg(&cache.0).args(more);
    command.output().expect("the bench runs")
}

/// The whole command, with the `remc` that was built beside it; a build of this crate alone has none.
#[test]
fn small_sizes_take_seconds_and_are_right() {
    let bin = Path::new(env!("CARGO_BIN_EXE_remc-bench"));
    if !bin.with_file_name("remc").is_file() {
        eprintln!("left out: no remc beside {}", bin.display());
        return;
    }
    let cache = Folder::new("all");
    let table = cache.0.join("table.md");
    for suite in [UNSEEN, ROWS] {
        let option = format!("--{}", suite.folder);
        let output = bench(&option, &cache, &["--table", table.to_str().expect("a plain name")]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let text = std::fs::read_to_string(&table).expect("the table is there");
        assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        assert_eq!(text.matches("\n| ").count(), suite.subjects.len() + 3, "{text}");
        assert!(text.contains("\n| least | | | | ") && text.contains("\n| median | | | | "), "{text}");
    }
}

#[test]
fn c_kernels_give_what_plain_loops_give() {
    let cache = Folder::new("c");
    let mut peers = match Compiler::find(&cache.0) {
        Ok(compiler) => Peers::new(Ok(compiler), 3, &cache.0),
        Err(why) => return eprintln!("left out: {why}"),
    };
    for subject in [UNSEEN, ROWS].iter().flat_map(|suite| suite.subjects) {
        let wanted = subject.data(true);
        let case = subject.case(&wanted);
        let given = wanted.write(&cache.0.join(subject.key)).expect("data is written");
        peers.prepare(&case, &given).unwrap_or_else(|why| panic!("{}: {why}", subject.key));
        // Twice: what a kernel keeps from call to call does no harm.
        for _ in 0..2 {
            peers.call().expect("it is prepared");
            let Ok(Outcome::File(path)) = peers.result() else { panic!("{} has no result", subject.key) };
            let mut bytes = vec![0; case.output.bytes()];
            data::read_into(&path, &case.output, &mut bytes).expect("a result");
            let checked = wanted.check(data::numbers(case.output.dtype, &bytes));
            assert_eq!(checked, Ok(()), "{}", subject.key);
        }
        peers.release();
    }
}

/// A `remc` whose result is its first input, of the right type and shape, gets no time.
#[cfg(unix)]
#[test]
fn a_wrong_result_has_no_time() {
    use std::os::unix::fs::PermissionsExt;
    let cache = Folder::new("wrong");
    let fake = cache.0.join("remc");
    let text = r#"#!/bin/sh
[ "$2" = --help ] && echo --device --threads --repeat && exit
while [ $# -gt 0 ]; do
    case "$1" in
        --output) to="$2" ;;
        --input) from="${from:-${2#*=}}" ;;
    esac
    shift
done
cp "$from" "$to"
echo '{"compile": 1, "stages": {}, "runs": [1, 1, 1, 1, 1, 1]}' >&2
"#;
    std::fs::write(&fake, text).expect("a file");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("it may run");
    let remc = fake.to_str().expect("a plain name");
    let output = bench("--unseen", &cache, &["--only", "softmax/equal", "--remc", remc]);
    let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{table}{said}");
    assert!(table.contains(" | — | — |\n| least | | | | — |"), "{table}");
    assert!(table.contains("\n- remc: wrong: ") && table.contains(" at 0, where "), "{table}");
}

//! Thresholds of printed programs, given when they run: `--threshold`, `--tuning`, `remc_context_tune`.

use crate::support::{Folder, fails, remc, text};
use crate::{Program, emulator};
use remc_emulate::Options;
use std::process::Command;

/// A row of 5000 floats, whose two versions group it otherwise: so its last digits tell which one ran.
const ROWS: &str = "(define (sums [m [float n k]]) (~(1)sum m))
(entry (rows [m [float n k]]) (sums m))
(entry (other [i int]) (+ i 1))
";
const NAME: &str = "rows/par.outer/sums:1";

fn row() -> String {
    let mut x = 1u64;
    let mut next = || {
        x = x * 69621 % 0x7fff_ffff;
        format!("0.{:05}", x % 100_000)
    };
    let numbers: Vec<String> = (0..5000).map(|_| next()).collect();
    format!("m=[[{}]]", numbers.join(" "))
}

/// What each version gives.
fn versions(file: &str, input: &str) -> [String; 2] {
    ["always", "never"].map(|value| {
        let value = format!("{NAME}={value}");
        let o = remc(&[
            "run",
            file,
            "--device",
            "emulated",
            "--entry",
            "rows",
            "--input",
            input,
            "--threshold",
            &value,
        ]);
        assert!(o.status.success(), "{}", text(&o.stderr));
        text(&o.stdout)
    })
}

#[test]
fn thresholds_are_given_when_a_program_runs() {
    let Some(program) = Program::new("thresholds", ROWS) else { return };
    let (file, input) = (program.folder.path("program.remora"), row());
    let [always, never] = versions(&file, &input);
    assert_ne!(always, never);
    let given = ["--entry", "rows", "--input", &input];
    let gives = |more: &[&str], value: &str| program.gives(&[&given[..], more].concat(), value);
    gives(&[], &never);
    gives(&["--threshold", &format!("{NAME}=always")], &always);
    gives(&["--threshold", &format!("{NAME}=1")], &always);
    gives(&["--threshold", &format!("{NAME}=2")], &never);
    gives(&["--threshold", "par.outer=1"], &always);
    gives(&["--threshold", "par.outer=1", "--threshold", &format!("{NAME}=never")], &never);
    gives(&["--threshold", &format!("{NAME}=never"), "--threshold", "par.outer=always"], &never);
    gives(&["--threshold", "par.outer=1", "--threshold=par.outer=9"], &never);
    let refuses = |more: &[&str], says: &str| program.refuses(&[&given[..], more].concat(), says);
    refuses(
        &["--threshold", "rows/par.outer/sums:2=1"],
        &format!("error[U0022]: there is no threshold `rows/par.outer/sums:2`; this entry has `{NAME}`\n"),
    );
    refuses(
        &["--threshold", "rows/threads/sums:1=64"],
        "`rows/threads/sums:1` has shaped the code and stays 256: compile the program anew",
    );
    for wrong in ["par.outer", "par.outer=", "par.outer=0", "par.outer=-1", "par.outer=much", "par.outer=1x"]
    {
        refuses(&["--threshold", wrong], &format!("`{wrong}` is no value of a threshold: write NAME=N"));
    }
    program.refuses(
        &["--entry", "other", "--input", "i=1", "--threshold", "par.outer=3"],
        "there is no threshold `par.outer`: this entry has no versions to choose between",
    );
    assert!(
        text(&program.run(&["--help"]).stdout).contains(&format!("Thresholds of `rows`:\n  {NAME}=32768\n"))
    );
    // What it is compiled with is what it has without more.
    let source = |more: &[&str]| text(&remc(&[&["compile", &file, "--emit", "cuda"], more].concat()).stdout);
    let plain = source(&[]);
    assert!(
        plain.contains(&format!("//   {NAME} = 32768\n"))
            && plain.contains("//   rows/threads/sums:1 = 256\n"),
        "{plain}"
    );
    assert!(plain.contains("n >= remc_thresholds[remc_par_outer_sums_1]"), "{plain}");
    assert!(plain.contains("_threads = 256, "), "{plain}");
    let compiled = source(&["--threshold", &format!("{NAME}=17"), "--threshold", "rows/threads/sums:1=64"]);
    for has in [
        format!("{{\"{NAME}\", \"par.outer\", 17}},"),
        "{\"rows/threads/sums:1\", 64},".into(),
        "_threads = 64, ".into(),
    ] {
        assert!(compiled.contains(&has), "{has}");
    }
}

/// An operator in two versions that a size chooses, whose schedules group a sum otherwise: the choice is one when it runs.
#[test]
fn versions_by_size_are_chosen_when_a_program_runs() {
    const SIZE: &str = "rows/by.size/sums:2@2/axis.2";
    let size = |value: &str| format!("{SIZE}={value}");
    let numbers = [
        "--threshold",
        "rows/threads/sums:2@2=32",
        "--threshold",
        "rows/reduce.blocks/sums:2@2=1",
        "--threshold",
        "rows/par.outer/sums:1=never",
    ];
    let printed: Vec<String> =
        ["--threshold".to_owned(), size("5001")].into_iter().chain(numbers.map(str::to_owned)).collect();
    let Some(program) = Program::printed("by-size", ROWS, &printed) else { return };
    // What is small is lost beside what is large, unless that comes to nothing before.
    let number = |k: usize| ["1e16", "1.25", "3.5", "-1e16", "1.5", "0.75", "2"][k * k % 7];
    let input = format!("m=[[{}]]", (0..5000).map(number).collect::<Vec<_>>().join(" "));
    let file = program.folder.path("program.remora");
    let run = |value: &str| {
        let run = ["run", &file, "--device", "emulated", "--entry", "rows", "--input", &input];
        let o = remc(&[&run[..], &numbers, &["--threshold", &size(value)]].concat());
        assert!(o.status.success(), "{}", text(&o.stderr));
        text(&o.stdout)
    };
    let (first, second) = (run("never"), run("always"));
    assert_ne!(first, second);
    assert_eq!((run("5001"), run("5000")), (first.clone(), second.clone()));
    let given = ["--entry", "rows", "--input", &input];
    let gives = |more: &[&str], value: &str| program.gives(&[&given[..], more].concat(), value);
    gives(&[], &first);
    gives(&["--threshold", &size("5000")], &second);
    gives(&["--threshold", "by.size=always"], &second);
    gives(&["--threshold", "by.size=7", "--threshold", &size("never")], &first);
    let source = std::fs::read_to_string(program.folder.path("program.cu")).unwrap();
    assert!(source.contains(&format!("{{\"{SIZE}\", \"by.size\", 5001}},")), "{source}");
    assert!(source.contains("{\"rows/threads/sums:2@2\", 32},"), "{source}");
}

/// Files that `remc autotune` writes, by hand.
#[test]
fn a_program_reads_tuning_files() {
    let Some(program) = Program::new("tuning", ROWS) else { return };
    let (file, input) = (program.folder.path("program.remora"), row());
    let [always, never] = versions(&file, &input);
    let source = std::fs::read_to_string(program.folder.path("program.cu")).unwrap();
    let about = source.lines().find_map(|l| l.trim().strip_prefix("\"rows\", \"")).unwrap();
    let code = about.split('"').next().unwrap();
    let table = |entry: &str, device: &str, code: &str, value: &str| {
        format!(
            "\n[[tuned]]\nentry = \"{entry}\"   # of it\ndevice = \"{device}\"\ncode = '{code}'\nmore = [1, 2]\n\n\
                 [tuned.thresholds]\n# why\n\"{NAME}\" = {value} # so\n"
        )
    };
    let head = "# comment\nformat = 1\nfuture = 3\n";
    let whole = [
        head,
        &table("other", "cuda", "0123456789abcdef", "7"),
        &table("rows", "cpu", "0123456789abcdef", "8"),
        &table("rows", "cuda", code, "9").replace("more", "ranks"),
        &table("rows", "cuda", code, "1"),
        "\n[tuned.measured]\nrows = \"no [table]\"\n[[history]]\nx = 1\n",
    ];
    let run = |text: &str, more: &[&str]| {
        let to = program.folder.file("rows.tuning", text);
        program.run(&[&["--entry", "rows", "--input", &input, "--tuning", &to], more].concat())
    };
    let gives = |file: &str, more: &[&str], value: &str, says: &str| {
        let o = run(file, more);
        assert_eq!((o.status.code(), text(&o.stdout).as_str()), (Some(0), value), "{}", text(&o.stderr));
        let message = text(&o.stderr);
        assert!(message.contains(says) && message.is_empty() == says.is_empty(), "{message}");
    };
    gives(&whole.concat(), &[], &always, "");
    gives(&whole.concat().replace('\n', "\r\n"), &[], &always, "");
    gives(&whole.concat(), &["--threshold", "par.outer=never"], &never, "");
    gives(&whole.concat(), &["--threshold", &format!("{NAME}=5_0")], &never, "");
    // One that does not fit is told of, and not used.
    let unused = |why: &str| format!("rows.tuning` is not used for `rows`: {why}");
    gives(head, &[], &never, &unused("it says nothing of that entry on the device cuda"));
    gives(
        &(head.to_owned() + &table("rows", "cuda", "0123456789abcdef", "1")),
        &[],
        &never,
        &unused("the code of the entry has changed since it was measured"),
    );
    let fits = head.to_owned() + &table("rows", "cuda", code, "1");
    gives(&(fits.clone() + "x = 3\n"), &[], &never, &unused("the entry has no number `x`"));
    gives(&(fits.clone() + "[tuned.schedule]\n\"rows/threads/sums:1\" = 256\n"), &[], &always, "");
    gives(
        &(fits.clone() + "[tuned.schedule]\n\"rows/threads/sums:1\" = 64\n"),
        &[],
        &never,
        &unused("`rows/threads/sums:1` has shaped the code"),
    );
    // What is damaged is told, with its line.
    for (line, says) in [
        ("x", "a `=` is missing behind the name"),
        ("= 3", "it is neither `name = value`"),
        ("x = ", "a number is a whole one from 0"),
        ("x = -1", "a number is a whole one from 0"),
        ("x = 1.5", "something follows the value"),
        ("x = 9223372036854775808", "a number is a whole one from 0"),
        ("\"x = 1", "a string does not end"),
        ("[tuned", "a header of a table does not end"),
    ] {
        let o = run(&format!("{fits}{line}\n"), &[]);
        let number = fits.lines().count() + 1;
        assert_eq!((o.status.code(), o.stdout.len()), (Some(2), 0), "{line}");
        let message = text(&o.stderr);
        assert!(message.contains(&format!("rows.tuning`, line {number}: {says}")), "{line}: {message}");
    }
    for (text_of, says) in
        [("", "does not say `format = 1`"), ("format = 2", "it is of another format than 1")]
    {
        let o = run(text_of, &[]);
        assert_eq!(o.status.code(), Some(2));
        assert!(text(&o.stderr).contains(says), "{}", text(&o.stderr));
    }
    program.refuses(
        &["--entry", "rows", "--input", &input, "--tuning", "absent.tuning"],
        "cannot read the tuning file `absent.tuning`: No such file",
    );
    // Where it is compiled, the same table gives what it has without more.
    let to = program.folder.file("rows.tuning", fits.replace("more = [1, 2]", "").replace("future = 3", ""));
    let o = remc(&["compile", &file, "--emit", "cuda", "--tuning", &to]);
    assert!(text(&o.stdout).contains(&format!("//   {NAME} = 1\n")), "{}", text(&o.stderr));
    program.folder.file("rows.tuning", "format = 3");
    fails(&["compile", &file, "--emit", "cuda", "--tuning", &to], 2, "its format is 3");
}

/// Of two libraries in one process, and of contexts, each with its own values.
#[test]
fn contexts_have_their_own_thresholds() {
    let Some(emulator) = emulator() else { return };
    let folder = Folder::new("cuda-tune-library");
    let input = row();
    let rows = folder.file("rows.remora", ROWS);
    let more = folder.file("more.remora", "(entry (more [m [float n k]]) (~(1)sum m))");
    let [always, never] = versions(&rows, &input);
    for (file, name) in [(&rows, "rows"), (&more, "more")] {
        assert!(remc(&["compile", file]).status.success());
        let options = Options { library: true, ..Options::default() };
        emulator
            .compile(&folder.0.join(format!("{name}.cu")), &folder.0.join(format!("{name}.so")), options)
            .unwrap();
    }
    let client = folder.file(
        "client.c",
        r#"#include "more.h"
#include "rows.h"
#include <stdio.h>
static int tune(remc_context *context, const char *name, int64_t value) {
  const int status = remc_context_tune(context, name, value);
  printf("%d %s\n", status, remc_error(context));
  return status;
}
static double sum(remc_context *context, const double *m, int (*f)(remc_context *, int64_t, int64_t, const double *, remc_array *)) {
  remc_array sums;
  if (f(context, 1, 5000, m, &sums) != 0) puts(remc_error(context));
  const double sum = *(double *)sums.data;
  remc_array_free(&sums);
  return sum;
}
int main(void) {
  double m[5000];
  int64_t x = 1;
  for (int i = 0; i < 5000; i++) {
    char text[32];
    x = x * 69621 % 0x7fffffff;
    snprintf(text, sizeof text, "0.%05lld", (long long)(x % 100000));
    sscanf(text, "%lf", m + i);
  }
  remc_context *context = remc_context_new(), *other = remc_context_new();
  printf("[%.17g]\n", sum(context, m, remc_entry_rows));
  printf("%d\n", remc_context_tune(context, "rows/par.outer/sums:1", 1));
  printf("[%.17g]\n", sum(context, m, remc_entry_rows));
  printf("[%.17g]\n", sum(other, m, remc_entry_rows));
  printf("[%.17g]\n", sum(context, m, remc_entry_more));
  printf("%d\n", remc_context_tune(context, "more/par.outer/more:1", 0));
  printf("[%.17g]\n", sum(context, m, remc_entry_more));
  printf("%d\n", remc_context_tune(other, "par.outer", 1));
  printf("[%.17g] [%.17g]\n", sum(other, m, remc_entry_rows), sum(other, m, remc_entry_more));
  printf("%d\n", remc_context_tune(context, "rows/par.outer/sums:1", INT64_MAX));
  printf("[%.17g]\n", sum(context, m, remc_entry_rows));
  tune(context, "rows/par.outer/sums:7", 1);
  tune(context, "rows/threads/sums:1", 1);
  tune(context, "par.outer", -1);
  printf("%d %d\n", remc_context_tune(context, NULL, 1), remc_context_tune(NULL, "par.outer", 1));
  printf("[%.17g]\n", sum(context, m, remc_entry_rows));
  remc_context_free(context);
  remc_context_free(other);
  return 0;
}
"#,
    );
    let program = folder.path("client");
    let built = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o", &program, "-I"])
        .args([&folder.path(""), &client, &folder.path("rows.so"), &folder.path("more.so")])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    let o = Command::new(program).env("REMC_EMULATE_LEAKS", "1").output().unwrap();
    assert!(o.status.success(), "{}", text(&o.stderr));
    let found = text(&o.stdout);
    let value = |text: &str| -> f64 { text.trim().trim_matches(['[', ']']).parse().unwrap() };
    let lines: Vec<&str> = found.lines().collect();
    let [always, never] = [value(&always), value(&never)];
    let sums = |line: usize| lines[line].split(' ').map(value).collect::<Vec<f64>>();
    let all = [0, 2, 3, 4, 6, 8, 10, 15].map(sums).concat();
    assert_eq!(all, [never, always, never, never, always, always, always, never, never], "{found}");
    assert_eq!([1, 5, 7, 9, 14].map(|k| lines[k]), ["0", "0", "0", "0", "2 2"]);
    assert_eq!(lines[13], "2 `par.outer` is given -1: a threshold is a number of at least 0");
    let names =
        lines[11].strip_prefix("2 there is no threshold `rows/par.outer/sums:7`; there are ").unwrap();
    assert!(
        names.contains("`rows/par.outer/sums:1`") && names.contains("`more/par.outer/more:1`"),
        "{names}"
    );
    assert!(lines[12].starts_with("2 `rows/threads/sums:1` has shaped the code and stays 256: "), "{found}");
}

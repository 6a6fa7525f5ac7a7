//! One text with several entries: programs that are told which to run, and libraries with a function for each.

use crate::support::{Folder, fails, remc, text};
use crate::{Program, emulator};
use remc_emulate::Options;
use std::process::Command;

/// Kernels, checks and names alike in each; two entries that C spells alike.
const SEVERAL: &str = "
(define (sums [m [int n k]]) (~(1)sum m))
(entry (rows [m [int n k]]) (sums m))
(entry (a-b [m [int n k]] [by int]) (quotient (sums m) by))
(entry (a_b [b (\u{3a3} (n) [int n])] [c char]) (values c (unbox b (v n) (+ 1 v))))
";

#[test]
fn a_program_runs_the_entry_that_it_is_told() {
    let Some(program) = Program::new("several", SEVERAL) else { return };
    let m = ["--input", "m=[[1 2 3] [4 5 6]]"];
    program.gives(&[&["--entry", "rows"], &m[..]].concat(), "[6 15]\n");
    program.gives(&[&m[..], &["--entry=a-b", "--input", "by=-2"]].concat(), "[-3 -8]\n");
    let boxed = ["--entry", "a_b", "--input", "b=(box [1 2])", "--input", "c=#\\x"];
    program.gives(&boxed, "(values #\\x (box ((n 2)) [int n] [2 3]))\n");
    let names = "`rows`, `a-b`, `a_b`";
    program.refuses(
        &m,
        &format!("error[U0004]: this program has several entries: choose one with --entry: {names}\n"),
    );
    program.refuses(
        &["--entry", "main"],
        &format!("error[U0003]: there is no entry `main`: this program's are {names}\n"),
    );
    program.refuses(
        &[&["--entry", "rows"], &m[..], &["--input", "by=2"]].concat(),
        "`rows` has no parameter `by`",
    );
    program.refuses(&["--entry", "a-b"], "`a-b` needs the input `m`, of type [int n k]");
    let help = text(&program.run(&["--help"]).stdout);
    for line in [
        "Runs one of the entries `rows`, `a-b`, `a_b` on a GPU",
        "Inputs of `a-b`:\n  m, of type [int n k]\n  by, of type int\n",
    ] {
        assert!(help.contains(line), "{help}");
    }
    // Each tells of its own checks.
    let o = program.run(&[&["--entry", "a-b", "--input", "by=0"], &m[..]].concat());
    assert_eq!(o.status.code(), Some(3));
    let said = text(&o.stderr);
    assert!(
        said.contains("program.remora:4:")
            && said.contains("error[R0003]: integer division by zero: (quotient 6 0)"),
        "{said}"
    );
    let manifest = text(&program.run(&["--manifest"]).stdout);
    assert_eq!(manifest, std::fs::read_to_string(program.folder.path("program.json")).unwrap());
    let read: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let of = |key: &str| -> Vec<&str> {
        read["entries"].as_array().unwrap().iter().map(|e| e[key].as_str().unwrap()).collect()
    };
    assert_eq!(of("entry"), ["rows", "a-b", "a_b"]);
    assert_eq!(of("function"), ["remc_entry_rows", "remc_entry_a_b", "remc_entry_a_b_2"]);
    // What they share is there once.
    let source = std::fs::read_to_string(program.folder.path("program.cu")).unwrap();
    assert_eq!(source.matches("int main(").count(), 1);
    assert_eq!(source.matches("struct remc_context {").count(), 1);
    assert_eq!(source.matches("extern \"C\" remc_context *remc_context_new").count(), 1);
}

#[test]
fn entries_are_chosen_where_they_are_compiled() {
    let folder = Folder::new("cuda-chosen");
    let file = folder.file("several.remora", SEVERAL);
    let entries = |more: &[&str]| -> Vec<String> {
        let to = folder.path("chosen.cu");
        let o = remc(&[&["compile", &file, "-o", &to], more].concat());
        assert!(o.status.success(), "{}", text(&o.stderr));
        let read = std::fs::read_to_string(folder.path("chosen.json")).unwrap();
        let read: serde_json::Value = serde_json::from_str(&read).unwrap();
        let all = read["entries"].as_array().unwrap();
        all.iter().map(|e| e["entry"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(entries(&[]), ["rows", "a-b", "a_b"]);
    assert_eq!(entries(&["--entry", "a_b", "--entry", "rows", "--entry", "a_b"]), ["a_b", "rows"]);
    // A last expression is the program, as for `remc run`.
    folder.file("several.remora", format!("{SEVERAL}(+ 1 2)"));
    assert_eq!(entries(&[]), ["value"]);
    assert_eq!(entries(&["--entry", "rows"]), ["rows"]);
    fails(&["compile", &file, "--entry", "main"], 2, "there is no entry `main`");
    fails(
        &["compile", &file, "--entry", "rows", "--entry", "a-b", "--emit", "object"],
        2,
        "one entry is compiled, not `rows` and `a-b`",
    );
    folder.file("several.remora", SEVERAL);
    fails(&["compile", &file, "--emit", "kernel"], 2, "the file has several entries");
    // Ranks come one entry after the other; numbers are of the entry that they name.
    let ranked = folder.file(
        "ranked.remora",
        "(entry (one [m [int @s]]) (sum (ravel m))) (entry (two [m [int @s]] [k [int @t 2]]) (values m k))",
    );
    fails(
        &["compile", &ranked],
        2,
        "`one`, `two` have the shape variables `@s` of `one`, `@s` of `two`, `@t` of `two`, but no ranks were given",
    );
    let o = remc(&["compile", &ranked, "--ranks", "1,2,0"]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let header = std::fs::read_to_string(folder.path("ranked.h")).unwrap();
    for prototype in [
        "remc_entry_one(remc_context *context, int64_t s0, const",
        "remc_entry_two(remc_context *context, int64_t s0, int64_t s1, ",
    ] {
        assert!(header.contains(prototype), "{header}");
    }
    fails(
        &["compile", &file, "--threshold", "a-b/par.outer/nowhere:1=3"],
        2,
        "no threshold `a-b/par.outer/nowhere:1`",
    );
    let dumps = folder.path("dumps");
    assert!(remc(&["compile", &file, "--dump-dir", &dumps]).status.success());
    for own in ["rows", "a_b"] {
        assert!(folder.0.join("dumps").join(own).is_dir(), "{own}");
    }
}

#[test]
fn a_library_has_a_function_for_each_entry() {
    let Some(emulator) = emulator() else { return };
    let folder = Folder::new("cuda-several-library");
    let file = folder.file("several.remora", SEVERAL);
    assert!(remc(&["compile", &file]).status.success());
    let client = folder.file(
        "client.c",
        r#"#include "several.h"
#include <stdio.h>
#include <string.h>
int main(void) {
  remc_context *context = remc_context_new();
  const int64_t m[2][3] = {{1, 2, 3}, {4, 5, 6}};
  remc_array sums, parts;
  if (remc_entry_rows(context, 2, 3, &m[0][0], &sums) != 0) return puts(remc_error(context)), 1;
  if (remc_entry_a_b(context, 2, 3, &m[0][0], 4, &parts) != 0) return puts(remc_error(context)), 1;
  printf("%lld %lld, ", (long long)((int64_t *)sums.data)[1], (long long)((int64_t *)parts.data)[1]);
  remc_array_free(&parts);
  const int status = remc_entry_a_b(context, 2, 3, &m[0][0], 0, &parts);
  printf("%d: %s\n", status, strstr(remc_error(context), "R0003"));
  printf("%d\n", strstr(remc_manifest_a_b_2(), "remc_entry_a_b_2") != NULL);
  remc_array_free(&sums);
  remc_context_free(context);
  return 0;
}
"#,
    );
    let (library, program) = (folder.0.join("several.so"), folder.path("client"));
    emulator
        .compile(&folder.0.join("several.cu"), &library, Options { library: true, ..Options::default() })
        .unwrap();
    let built = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o", &program, "-I"])
        .arg(&folder.0)
        .arg(client)
        .arg(library)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    let o = Command::new(program).env("REMC_EMULATE_LEAKS", "1").output().unwrap();
    assert_eq!(
        text(&o.stdout),
        "15 3, 3: R0003]: integer division by zero: (quotient 6 0)\n1\n",
        "{}",
        text(&o.stderr)
    );
}

//! Objects and headers in C programs: each entry below is compiled to both, a small C program calls it,
//! and what that prints is compared. Without a C compiler there is nothing to test.

mod support;

use std::process::Command;
use support::{Folder, remc, text};

/// A C compiler, if the machine has one.
fn compiler() -> Option<&'static str> {
    let found = ["cc", "gcc", "clang"]
        .into_iter()
        .find(|cc| Command::new(cc).arg("--version").output().is_ok_and(|o| o.status.success()));
    if found.is_none() {
        println!("skipped: there is no C compiler");
    }
    found
}

/// What a C program prints that calls an entry. `body` sees the context as `c`, and stands between the
/// header and the end of `main`.
fn runs(name: &str, entry: &str, body: &str, flags: &[&str]) -> Option<String> {
    let cc = compiler()?;
    let folder = Folder::new(&format!("object-{name}"));
    for what in ["object", "header"] {
        let o = remc(&["compile", "-e", entry, "--emit", what, "-o", &folder.path(what)]);
        assert!(o.status.success(), "{name}: {}", text(&o.stderr));
    }
    std::fs::rename(folder.path("object"), folder.path("entry.o")).unwrap();
    std::fs::rename(folder.path("header"), folder.path("entry.h")).unwrap();
    let main = folder.file(
        "main.c",
        format!(
            "#define REMC_IMPLEMENTATION\n#include \"entry.h\"\n\
             #define AT(a) ((uint64_t)(uintptr_t)(a))\n\
             int main(void) {{\n  remc_context c = {{0}};\n  uint64_t r[REMC_RESULTS];\n{body}\n  \
             remc_release(&c);\n  return 0;\n}}\n"
        ),
    );
    // A second file that includes the header has the declarations alone.
    let other = folder.file("other.c", "#include \"entry.h\"\nint other(void) { return REMC_PARAMS; }\n");
    let program = folder.path("program");
    let built = Command::new(cc)
        .args(["-O1", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .args([&main, &other, &folder.path("entry.o"), "-o", &program, "-lm"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{name}: {}", text(&built.stderr));
    let o = Command::new(program).output().unwrap();
    assert!(o.status.success(), "{name}: {:?}\n{}", o.status, text(&o.stderr));
    Some(text(&o.stdout))
}

const OPENMP: &[&str] = &["-fopenmp"];

fn prints(name: &str, entry: &str, body: &str, flags: &[&str], wanted: &str) {
    if let Some(found) = runs(name, entry, body, flags) {
        assert_eq!(found, wanted, "{name}");
    }
}

const SUM: &str = "(entry (main [xs [float n]]) : float (reduce/zero + 0 (* 2 xs)))";
const SUM_BODY: &str = r#"
  enum { N = 1000000 };
  double *xs = malloc(N * sizeof *xs);
  for (int i = 0; i < N; i++) xs[i] = i;
  uint64_t p[REMC_PARAMS] = {N, AT(xs)};
  if (remc_entry(&c, p, r) != 0) return puts(c.message), 1;
  double sum;
  memcpy(&sum, &r[0], sizeof sum);
  printf("%.1f\n", sum);
  p[0] = 0;
  if (remc_entry(&c, p, r) != 0) return puts(c.message), 1;
  memcpy(&sum, &r[0], sizeof sum);
  printf("%.1f\n", sum);
  free(xs);"#;

#[test]
fn a_reduction_of_a_map() {
    prints("sum", SUM, SUM_BODY, OPENMP, "999999000000.0\n0.0\n");
}

#[test]
fn without_openmp_on_one_core() {
    prints("sum-alone", SUM, SUM_BODY, &[], "999999000000.0\n0.0\n");
}

#[test]
fn several_results() {
    let entry = "(entry (main [m [int n k]] [s int]) (values (* s (transpose m)) (sum (ravel m)) (< m 3)))";
    let body = r#"
  int64_t m[2][3] = {{1, 2, 3}, {4, 5, 6}};
  uint64_t p[REMC_PARAMS] = {2, 3, AT(m), 10};
  if (remc_entry(&c, p, r) != 0) return puts(c.message), 1;
  const int64_t *t = (const int64_t *)(uintptr_t)r[0];
  for (uint64_t i = 0; i < r[1] * r[2]; i++) printf("%lld ", (long long)t[i]);
  printf("of %llu by %llu; %lld;", (unsigned long long)r[1], (unsigned long long)r[2], (long long)r[3]);
  const uint8_t *b = (const uint8_t *)(uintptr_t)r[4];
  for (uint64_t i = 0; i < r[5] * r[6]; i++) printf(" %d", b[i]);
  puts("");"#;
    prints("several", entry, body, OPENMP, "10 40 20 50 30 60 of 3 by 2; 21; 1 1 0 0 0 0\n");
}

/// A check that fails is the entry's result, not the program's end; the next call works.
#[test]
fn one_that_stops() {
    let entry = "(entry (main [xs [int n]]) : int (reduce/zero + 0 (quotient 100 xs)))";
    let body = r#"
  enum { N = 200000 };
  int64_t *xs = malloc(N * sizeof *xs);
  for (int i = 0; i < N; i++) xs[i] = 100;
  uint64_t p[REMC_PARAMS] = {N, AT(xs)};
  xs[150000] = 0;
  printf("%d ", remc_entry(&c, p, r) != 0);
  printf("%s; ", c.message);
  xs[150000] = 50;
  printf("%d ", remc_entry(&c, p, r));
  printf("%lld\n", (long long)r[0]);
  free(xs);"#;
    for (name, flags) in [("stops", OPENMP), ("stops-alone", &[] as &[&str])] {
        prints(
            name,
            entry,
            body,
            flags,
            "1 check (division \"quotient\" int) failed, with 100 0; 0 200001\n",
        );
    }
}

#[test]
fn one_that_sorts() {
    let entry = "(entry (main [xs [float n]]) (values (sort xs) (grade xs)))";
    let body = r#"
  double xs[5] = {2.5, -1, NAN, 1e300, -1};
  uint64_t p[REMC_PARAMS] = {5, AT(xs)};
  if (remc_entry(&c, p, r) != 0) return puts(c.message), 1;
  for (int i = 0; i < 5; i++) printf("%g ", ((double *)(uintptr_t)r[0])[i]);
  for (int i = 0; i < 5; i++) printf("%lld ", (long long)((int64_t *)(uintptr_t)r[2])[i]);
  puts("");"#;
    prints("sorts", entry, body, OPENMP, "-1 -1 2.5 1e+300 nan 1 4 0 3 2 \n");
}

/// Types of other widths, and memory that the host allocates on the way.
#[test]
fn small_types_and_scans() {
    let entry =
        "(entry (main [xs [u8 n]] [k f32]) (values (iscan/zero + 0 (cast int xs)) (* k (cast f32 xs))))";
    let body = r#"
  uint8_t xs[4] = {200, 100, 1, 255};
  float k = 0.5f;
  uint32_t bits;
  memcpy(&bits, &k, sizeof bits);
  uint64_t p[REMC_PARAMS] = {4, AT(xs), bits};
  if (remc_entry(&c, p, r) != 0) return puts(c.message), 1;
  for (int i = 0; i < 4; i++) printf("%lld ", (long long)((int64_t *)(uintptr_t)r[0])[i]);
  for (int i = 0; i < 4; i++) printf("%g ", (double)((float *)(uintptr_t)r[2])[i]);
  puts("");"#;
    prints("small", entry, body, OPENMP, "200 300 301 556 100 50 0.5 127.5 \n");
}

/// Thresholds of an object are given to a context: the last digits of a sum of 200000 floats tell which version ran.
#[test]
fn one_with_versions() {
    let entry = "(entry (main [m [f32 n k]]) (~(1)sum m))";
    let o = remc(&["compile", "-e", entry, "--emit", "header"]);
    let header = text(&o.stdout);
    let names: Vec<&str> = header
        .lines()
        .filter_map(|l| l.split("{\"").nth(1)?.split_once("\", \"par."))
        .map(|(n, _)| n)
        .collect();
    let [name, ..] = names[..] else { panic!("{header}") };
    assert!(
        header.contains(&format!(" *   {name} = ")) && header.contains(" *   main/grain/main:"),
        "{header}"
    );
    let fixed = header.lines().find_map(|l| l.strip_prefix(" *   main/grain/")?.split_once(" = ")).unwrap();
    let fixed = format!("main/grain/{}", fixed.0);
    let kind = name.split('/').nth(1).unwrap();
    let body = r#"
  enum { K = 200000 };
  static float m[K];
  int64_t x = 1;
  for (int i = 0; i < K; i++) {
    x = x * 69621 % 0x7fffffff;
    m[i] = (float)(x % 100000) / 100000;
  }
  uint64_t p[REMC_PARAMS] = {1, K, AT(m)};
  float first = 0;
#define RUN(what) \
  if (remc_entry(&c, p, r) != 0) return puts(c.message), 1; \
  else { float now = *(float *)(uintptr_t)r[0]; if (!first) first = now; printf("%s%d", what, now != first); }
#define TUNE(name, value) printf(" %d:", remc_context_tune(&c, name, value))
  TUNE("NAME", 0);
  RUN("");
  TUNE("NAME", INT64_MAX);
  RUN("");
  TUNE("NAME", 1);
  RUN("");
  TUNE("NAME", 2);
  RUN("");
  TUNE("KIND", 1);
  RUN("");
  printf("\n%d %s\n", remc_context_tune(&c, "NAME", -1), c.message);
  TUNE("FIXED", 1);
  printf(" %s\n", strstr(c.message, " has"));
  TUNE("main/KIND/none:1", 1);
  printf(" %s\n", strstr(c.message, "; there are `NAME`") ? "lists them" : c.message);
  RUN("");
  remc_context d = {0};
  printf(" %d:", remc_context_tune(&d, "KIND", 0));
  if (remc_entry(&d, p, r) != 0) return puts(d.message), 1;
  printf("%d\n", *(float *)(uintptr_t)r[0] != first);
  remc_release(&d);"#;
    let body = body.replace("NAME", name).replace("KIND", kind).replace("FIXED", &fixed);
    let wanted = format!(
        " 0:0 0:1 0:0 0:1 0:1\n1 `{name}` is given -1: a threshold is a number of at least 0\n \
         1:  has shaped the code and stays 32768: compile the program anew\n 1: lists them\n1 0:0\n"
    );
    prints("versions", entry, &body, OPENMP, &wanted);
    // Without versions there is nothing to give.
    let body = r#"
  printf("%d %s\n", remc_context_tune(&c, "par.outer", 1), c.message);"#;
    let none = "1 there is no threshold `par.outer`: the program has no versions to choose between\n";
    prints("no-versions", "(entry (main [x int]) (+ x 1))", &format!("(void)r;{body}"), &[], none);
}

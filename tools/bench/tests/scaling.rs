//! The programs that `--compile-scaling` measures check, whatever their length, and do something different each.

use remc_bench::scaling::{Kind, program};
use remc_driver::compile::Options;
use remc_driver::{Database, Session};
use std::path::Path;

#[test]
fn generated_programs_check() {
    for kind in Kind::ALL {
        for length in [1, 2, 7, 60] {
            let mut session = Session::new(Database::new(false));
            let text = program(kind, length);
            let file = session.load_text("scaling.remora", Path::new(""), text.clone());
            let said = session.diagnostics(file);
            assert!(said.is_empty(), "{text}\n{said:?}");
        }
    }
}

#[test]
fn a_program_has_as_many_bindings_as_it_says() {
    for kind in Kind::ALL {
        assert_eq!(program(kind, 60).matches("\n         (v").count(), 59, "{}", kind.name());
    }
}

/// The lengths of the program's text after each pass, in all, and how many passes there were.
fn written(text: &str) -> (usize, usize) {
    let mut session = Session::new(Database::new(false));
    let file = session.load_text("scaling.remora", Path::new(""), text.to_owned());
    let said = session.diagnostics(file);
    assert!(said.is_empty(), "{text}\n{said:?}");
    let entry = session.entries(file)[0];
    let (mut all, mut passes) = (0, 0);
    let mut watch = |_, _, text: &dyn Fn() -> String| {
        all += text().len();
        passes += 1;
    };
    let options = Options { to: Some("kernel"), watch: Some(&mut watch), ..Options::default() };
    session.compile(file, &[entry], &[], options).expect("it is compiled");
    (all, passes)
}

/// A program of so many levels, each with the arrays of the level before, `x` and `y`.
fn levels(bindings: &str, count: usize) -> String {
    let level =
        |i: usize| bindings.replace("x'", &format!("x{}", i + 1)).replace("y'", &format!("y{}", i + 1));
    let level = |i: usize| level(i).replace("x ", &format!("x{i} ")).replace("y ", &format!("y{i} "));
    let all: Vec<String> = (0..count).map(level).collect();
    let all = all.join("\n   ");
    format!("(entry (main [x0 [int n]] [y0 [int n]])\n (let* ({all})\n (+ (sum x{count}) (sum y{count}))))\n")
}

/// What passes make of arrays that double at each level grows as the program does, and not as the arrays do.
#[test]
fn doubled_arrays_are_compiled_in_linear_space() {
    for bindings in [
        "(x' (append x x )) (y' (append y y ))",
        "(x' (append x (reverse x ))) (y' (append (reverse y ) y ))",
        "(x' (append x y )) (y' (append y (reverse x )))",
        "(x' (append (rotate x [1]) x )) (y' (append y (append x y )))",
        "(x' (+ x (reverse x ))) (y' (+ y (rotate y [1])))",
        "(x' (tail (append x x ))) (y' (append [(sum y )] y ))",
    ] {
        let [half, whole] = [12, 24].map(|n| written(&levels(bindings, n)));
        let each = |(all, passes): (usize, usize)| all / passes;
        let (half, whole) = (each(half), each(whole));
        assert!(whole < 3 * half, "{bindings}: {half} bytes of 12 levels, {whole} of 24");
    }
}

/// The kinds of programs that are measured.
#[test]
fn generated_programs_are_compiled_in_linear_space() {
    for kind in Kind::ALL {
        let [half, whole] = [40, 80].map(|n| written(&program(kind, n)));
        let (half, whole) = (half.0 / half.1, whole.0 / whole.1);
        assert!(whole < 3 * half, "{}: {half} bytes of 40 bindings, {whole} of 80", kind.name());
    }
}

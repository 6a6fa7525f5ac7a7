//! Versions of nests: what pins them, that each gives the same value, and that only those that run are compiled.

mod support;

use std::fs;
use std::process::Command;
use support::{Folder, fails, remc, text};

/// Rows that are changed step by step: a loop in a map, with sums and maps in it.
const PROGRAM: &str = "(define (step [y 1]) (+ (% y 7) (- (rotate y [1]) (% (sum y) 5))))
    (entry (main [xs [int n m]] [k int]) ((λ ([x 1]) (iterate k step x)) xs))";

const PINS: [&[&str]; 6] = [
    &[],
    &["--threshold", "par.loop=always"],
    &["--threshold", "par.loop=never", "--threshold", "par.outer=always"],
    &["--threshold", "par.loop=never", "--threshold", "par.outer=never"],
    &["--threshold", "par.loop=3", "--threshold", "par.inner=2"],
    &["--threshold", "par.inner=never"],
];

fn rows(n: usize, m: usize) -> String {
    let row = |i: usize| {
        let xs: Vec<String> = (0..m).map(|j| ((i * 31 + j * 17) % 23).to_string()).collect();
        format!("[{}]", xs.join(" "))
    };
    format!("xs=[{}]", (0..n).map(row).collect::<Vec<_>>().join(" "))
}

#[test]
fn every_version_gives_the_same_value() {
    for (n, m) in [(2, 3), (5, 1), (40, 6)] {
        let xs = rows(n, m);
        let run = |more: &[&str]| {
            let o = remc(&[&["run", "-e", PROGRAM, "--input", &xs, "--input", "k=4"], more].concat());
            assert!(o.status.success(), "{more:?}: {}", text(&o.stderr));
            text(&o.stdout)
        };
        let wanted = run(&["--device", "interp"]);
        for pins in PINS {
            assert_eq!(run(&[pins, &["--device", "cpu"]].concat()), wanted, "{n} × {m} {pins:?}");
        }
    }
}

#[test]
fn checks_of_a_loop_stop_each_version() {
    let xs = rows(3, 4);
    for pins in PINS {
        let args = ["run", "-e", PROGRAM, "--input", &xs, "--input", "k=-1", "--device", "cpu"];
        fails(&[&args, pins].concat(), 3, "R0002");
    }
}

/// Long rows are reduced apart from the others; of several rows that stop the program, the first is told all the same.
#[test]
fn the_first_row_that_stops_is_told() {
    let of = |row: &str| {
        format!(
            "(entry (main [x [float k]] [at [int p]] [y [int m]] [lengths [int n]])
               (unbox (split y lengths) (v w) {row}))"
        )
    };
    // Rows of more than a tile, and two of them long.
    let sizes = [2500, 1, 2, 2100];
    let starts: Vec<usize> = (0..sizes.len()).map(|k| sizes[..k].iter().sum()).collect();
    let fine: Vec<i64> = (0..sizes.iter().sum::<usize>()).map(|i| (i % 5 < 2).into()).collect();
    // Numbers that are no places, in some rows near their ends.
    let items = [&[][..], &[0, 2, 3], &[2], &[3]].map(|rows| {
        let mut y = fine.clone();
        rows.iter().for_each(|k: &usize| y[starts[*k] + sizes[*k] * 9 / 10] = 7 + *k as i64);
        y
    });
    // Rows that come to nothing.
    let sums = [&[][..], &[0, 2, 3], &[2], &[3]].map(|rows| {
        let mut y = fine.clone();
        for k in rows.iter().copied() {
            let row: &mut [i64] = &mut y[starts[k]..][..sizes[k]];
            row[0] -= row.iter().sum::<i64>();
        }
        y
    });
    let programs = [
        (of("(sum (gather x v))"), &items),
        (of("(quotient w (sum v))"), &sums),
        (of("((λ ([a int]) (quotient w (sum (* v (+ a 1))))) at)"), &sums),
        (of("(sum (gather x (gather at v)))"), &items),
        (of("(let* ((s (sum (gather at v))) (t (sum (% v (+ s 3))))) (quotient t (sum v)))"), &sums),
        // A row has its start once, however many tiles it is.
        (of("(reduce/zero + 100.0 (gather x v))"), &items),
        (of("(reduce/zero (λ ([a 0] [b 0]) (- (+ a b) 1.0)) 7.0 (gather x v))"), &items),
        (of("(reduce (λ ([a 0] [b 0]) (- (+ a b) 1.0)) (append [3.0] (gather x v)))"), &items),
        (of("(let ((s (sum (gather x v)))) (sum (gather x (+ v (float->int (* s 0.0))))))"), &items),
    ];
    for (program, data) in programs {
        for (k, y) in data.iter().enumerate() {
            let y: Vec<String> = y.iter().map(i64::to_string).collect();
            let inputs = [
                format!("y=[{}]", y.join(" ")),
                "x=[1.5 2.5]".into(),
                "at=[1 0]".into(),
                format!("lengths={sizes:?}").replace(',', ""),
            ];
            let inputs = inputs.iter().flat_map(|x| ["--input", x]);
            let args: Vec<&str> = ["run", "-e", &program].into_iter().chain(inputs).collect();
            let [wanted, long, short] = [
                &["--device", "interp"][..],
                &["--device", "cpu", "--threshold", "row.long=1000"],
                &["--device", "cpu"],
            ]
            .map(|more| remc(&[&args, more].concat()))
            .map(|o| (o.status.code(), text(&o.stdout), text(&o.stderr)));
            assert_eq!(wanted.0, Some(if k == 0 { 0 } else { 3 }), "{program} {k}: {}", wanted.2);
            assert_eq!((&long, &short), (&wanted, &wanted), "{program} {k}");
        }
    }
}

#[test]
fn a_pinned_version_is_the_only_one() {
    let explained = |more: &[&str]| text(&remc(&[&["explain-perf", "-e", PROGRAM], more].concat()).stdout);
    let all = explained(&[]);
    assert!(all.contains("par.loop"), "{all}");
    for pins in &PINS[1..4] {
        let one = explained(pins);
        assert!(!one.contains("version") && one.contains("map over"), "{pins:?}\n{one}");
    }
    let other = explained(&["--threshold", "par.loop=37"]);
    assert!(other.contains("≥ 37 (main/par.loop/main:1)"), "{other}");
    // One threshold by its name, before its kind.
    let one = explained(&["--threshold", "main/par.loop/main:1=21", "--threshold", "par.loop=37"]);
    assert!(one.contains("≥ 21 (main/par.loop/main:1)"), "{one}");
}

/// How many points are enough for all cores depends on how many there are, which versions there are does not; and a value
/// that somebody gives goes before.
#[test]
fn the_machine_decides_how_many_points_are_enough() {
    let shown = |machine: Option<&str>, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remc"));
        command.args([
            "explain-perf",
            "--show",
            "tuning",
            "-e",
            "(entry (main [m [float n k]]) (~(1)sum m))",
        ]);
        match machine {
            Some(machine) => command.env("REMC_MACHINE", machine),
            None => command.env_remove("REMC_MACHINE"),
        };
        let o = command.args(more).output().unwrap();
        assert!(o.status.success(), "{}", text(&o.stderr));
        let (out, err) = (text(&o.stdout), text(&o.stderr));
        let value = err.lines().find_map(|l| l.strip_prefix("main/par.outer/main:1 = ")).unwrap().to_owned();
        assert!(out.contains(&format!("if n ≥ {value} (main/par.outer/main:1)")), "{out}");
        (value, err.lines().next().unwrap().to_owned())
    };
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let cores = online.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<usize>().unwrap() + 1 - first.parse::<usize>().unwrap()
    });
    let enough = (16 * cores.sum::<usize>()).clamp(16, 512).to_string();
    let (any, here) = (shown(Some("any"), &[]), shown(None, &[]));
    assert_eq!((any.0.as_str(), here.0), ("512", enough));
    assert_eq!(any.1, here.1, "the structure of the code");
    for more in [["--threshold", "par.outer=77"], ["--threshold", "main/par.outer/main:1=77"]] {
        assert_eq!(shown(None, &more).0, "77");
    }
}

/// A threshold is called the same whatever stands around what it is of.
#[test]
fn names_of_thresholds_stay() {
    let shown = |program: &str, more: &[&str]| {
        let o = remc(&[&["explain-perf", "-e", program, "--show", "tuning"], more].concat());
        assert!(o.status.success(), "{}", text(&o.stderr));
        text(&o.stderr)
    };
    // What the code is called, the thresholds, and the numbers of schedules.
    let parts = |all: &str| {
        let (code, rest) = all.split_once('\n').unwrap();
        let (versions, fields) = rest.split_at(rest.find("main/grain").unwrap());
        [code, versions, fields].map(str::to_owned)
    };
    let names = shown(PROGRAM, &[]);
    let [code, versions, fields] = parts(&names);
    let digits = code.strip_prefix("entry = \"main\", device = \"cpu\", code = \"").unwrap();
    assert_eq!((digits.len(), digits.ends_with('"')), (17, true), "{digits}");
    assert_eq!(versions, "main/par.loop/main:1 = 16\nmain/par.inner/main:1 = 4096\n");
    let more = format!("; mine\n(define (other m) (sum (* m 2)))\n{}", PROGRAM.replace("(step", "( step"));
    assert_eq!(shown(&more, &[]), names);
    let given = ["--threshold", "main/par.loop/main:1=always", "--threshold", "main/par.inner/main:1=never"];
    let pinned = versions.replace("16", "always").replace("4096", "never");
    assert_eq!(parts(&shown(PROGRAM, &given)), [code, pinned, fields]);
    // The ranks of shape variables are part of what the code is of.
    let ranked = "(entry (main [m [float @s]]) (+ m 1.0))";
    let all = shown(ranked, &["--ranks", "2"]);
    assert!(all.starts_with("entry = \"main\", device = \"cpu\", ranks = [2], code = \""), "{all}");
    let none = remc(&["run", "-e", "(+ 1 2)", "--device", "cpu", "--show", "tuning"]);
    assert_eq!(
        (text(&none.stdout).as_str(), text(&none.stderr).as_str()),
        ("3\n", "there are no versions to choose between\n")
    );
}

#[test]
fn thresholds_that_are_not_there() {
    fails(
        &["run", "-e", "1", "--threshold", "par.middle=3"],
        2,
        "par.outer, par.loop, par.inner, par.stored, par.group, row.long",
    );
    fails(&["run", "-e", "1", "--threshold", "par.outer=few"], 2, "par.outer=always");
    fails(&["run", "-e", "1", "--device", "interp", "--threshold", "par.outer=2"], 2, "one version");
}

#[test]
fn only_versions_that_run_are_compiled() {
    let folder = Folder::new("versions");
    let cache = folder.path("cache");
    let run = |n: usize| {
        let xs = rows(n, 300);
        let o = Command::new(env!("CARGO_BIN_EXE_remc"))
            .args(["run", "-e", PROGRAM, "--input", &xs, "--input", "k=2", "--max-elements", "2"])
            .args(["--device", "cpu"])
            .env("REMC_CACHE", &cache)
            .output()
            .unwrap();
        assert!(o.status.success(), "{}", text(&o.stderr));
        let kept = fs::read_dir(&cache)
            .unwrap()
            .filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "o"));
        kept.count()
    };
    // The plan and the version for many rows; then the one for few.
    let first = run(17);
    assert_eq!(run(18), first);
    let both = run(15);
    assert!(both > first && first > 1, "{first}, {both}");
    assert_eq!((run(15), run(17)), (both, both));
}

/// A number of one operator makes its kernels other ones, and no others.
#[test]
fn a_number_of_an_operator_is_its_own() {
    const TWO: &str = "(define (total [v 1]) (sum (* v v))) (define (running [v 1]) (iscan + v))
        (entry (main [xs [float n]]) (values (total xs) (running xs)))";
    let kernels = |more: &[&str]| -> Vec<String> {
        let o = remc(&[&["compile", "-e", TWO, "--emit", "kernel"], more].concat());
        assert!(o.status.success(), "{}", text(&o.stderr));
        // Each with its operator, without what it says of its numbers.
        let all = text(&o.stdout).replace(" (grain 4096)", "");
        all.split("\n  (k").skip(1).map(|k| k.split("\n  (plan").next().unwrap().to_owned()).collect()
    };
    let plain = kernels(&[]);
    for operator in ["total:1", "running:1"] {
        let other = kernels(&["--threshold", &format!("main/grain/{operator}=4096")]);
        assert_eq!(plain.len(), other.len());
        let of = |k: &String| k.contains(&format!("(schedule \"{operator}\")"));
        let changed: Vec<&String> =
            plain.iter().zip(&other).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
        assert!(!changed.is_empty() && changed.iter().all(|k| of(k)), "{operator}: {changed:?}");
    }
}

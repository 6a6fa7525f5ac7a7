//! Operators in versions that a size chooses: their names, what they mean, and what cannot be.

use remc_flat::by_size::{Wrong, apart, by_size, sizes};
use remc_flat::ir::{Guard, Named, Program};
use remc_flat::meaning::to_mono;
use remc_flat::{parse, print, sites, verify};
use remc_mono::eval::{self, Array};

/// The sums of rows, of their squares, and what is larger than four of those, in a loop of the host.
const TEXT: &str = "(flat 1 (name \"main\") (provs (p0 \"f\" 0 1) (p1 \"g\" 0 2)) (types)
  (params (%n.0 int) (%m.1 int) (%x.2 int %n.0 %m.1) (%k.3 int))
  (inputs %x.2 %k.3) (output 1)
  (body
    (let ((%s.4 int %n.0))
      (seg-red grid ((%i.5 %n.0)) (%j.6 %m.1)
        (leaf (let ((%e.7 int)) (index %x.2 %i.5 %j.6) p0) (give %e.7))
        (assoc ((%a.8 int) (%b.9 int)) (start 0) (let ((%c.10 int)) (op + %a.8 %b.9) p0) (give %c.10))) p0)
    (let ((%t.11 int %n.0))
      (for (%r.12 %k.3) (((%y.13 int %n.0) %s.4))
        (let ((%z.14 int %n.0))
          (seg-map grid ((%p.15 %n.0))
            (leaf (let ((%u.16 int)) (index %y.13 %p.15) p0) (let ((%v.17 int)) (op * %u.16 %u.16) p0) (give %v.17))) p0)
        (give %z.14)) p0)
    (let ((%l.18 int) (%w.19 int %l.18))
      (filter (%q.20 %n.0)
        (leaf (let ((%f.21 int)) (index %t.11 %q.20) p1) (let ((%g.22 bool)) (op > %f.21 4) p1) (give %g.22 %f.21)) p1) p1)
    (give %l.18 %w.19)))";

fn program() -> Program {
    let p = parse::parse_program(TEXT).unwrap_or_else(|e| panic!("{e:?}"));
    verify::verify(&p).unwrap();
    p
}

fn with(values: &[(&str, i64)]) -> Result<Program, Wrong> {
    let mut p = program();
    let values: Named = values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    by_size(&mut p, &values)?;
    Ok(p)
}

fn names(p: &Program) -> Vec<String> {
    let mut all: Vec<String> = sites::sites(p).into_values().map(|n| n.to_string()).collect();
    all.sort();
    all
}

#[test]
fn sizes_have_names() {
    let all = sizes(&program());
    let of = |site: &str| {
        let (_, sizes) = all.iter().find(|(s, _)| s.as_str() == site).unwrap();
        sizes.iter().map(|s| format!("{} {}", s.name, s.factors.len())).collect::<Vec<_>>()
    };
    assert_eq!(of("f:1"), ["axis.1 1", "axis.2 1", "all 2"]);
    assert_eq!(of("f:2"), ["axis.1 1"]);
    assert_eq!(of("g:1"), ["axis.1 1"]);
}

#[test]
fn versions_have_names_and_others_keep_theirs() {
    assert_eq!(names(&program()), ["f:1", "f:2", "g:1"]);
    let p = with(&[
        ("main/by.size/f:1@2/axis.2", 3),
        ("main/by.size/f:1@3/axis.2", 9),
        ("main/by.size/f:2@2/axis.1", 5),
        ("main/by.size/g:1@2/axis.1", 2),
        ("main/par.outer/f:1", 7),
    ])
    .unwrap();
    assert_eq!(names(&p), ["f:1", "f:1@2", "f:1@3", "f:2", "f:2@2", "g:1", "g:1@2"]);
    let tests: Vec<String> = p.tests().iter().map(|t| format!("{} {}", t.threshold, t.value)).collect();
    let wanted = [
        "main/by.size/f:1@3/axis.2 9",
        "main/by.size/f:1@2/axis.2 3",
        "main/by.size/f:2@2/axis.1 5",
        "main/by.size/g:1@2/axis.1 2",
    ];
    assert_eq!(tests, wanted);
    verify::verify(&p).unwrap_or_else(|e| panic!("{e}\n{}", print::print_program(&p)));
    // The names are the text's alone.
    let read = parse::parse_program(&print::print_program(&p)).unwrap();
    assert_eq!((names(&read), read == p), (names(&p), true));
    assert_eq!(apart("f:1@2"), Some(("f:1", 2)));
    assert_eq!(["f:1", "f:1@1", "f:1@+2", "f:1@", "f@g:1"].map(apart), [None; 5]);
}

#[test]
fn every_version_gives_the_same() {
    let ints = |dims: &[usize], values: &[i64]| {
        let data = values.iter().map(|n| remc_base::Scalar::I64(*n)).collect();
        Array { base: remc_base::BaseTy::I64, dims: dims.to_vec(), data: std::rc::Rc::new(data) }
    };
    let params = [ints(&[], &[3]), ints(&[], &[2]), ints(&[3, 2], &[1, 2, 0, 1, -4, 1]), ints(&[], &[1])];
    let run = |p: &Program, choice: Option<bool>| {
        format!("{:?}", eval::run(&to_mono(p, &mut |_: &Guard| choice), &params))
    };
    // 3, 1 and -3 are squared to 9, 1 and 9; two of them are larger than 4.
    let wanted = run(&program(), None);
    assert!(wanted.contains("[I64(9), I64(9)]"), "{wanted}");
    for size in ["axis.1", "axis.2", "all"] {
        for value in [0, 3, 9] {
            let first = format!("main/by.size/f:1@2/{size}");
            let p = with(&[
                (&first, value),
                ("main/by.size/f:2@2/axis.1", value),
                ("main/by.size/g:1@2/axis.1", value),
            ]);
            let p = p.unwrap();
            for choice in [None, Some(true), Some(false)] {
                assert_eq!(run(&p, choice), wanted, "{size} {value} {choice:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_told() {
    let unknown = |name: &str| assert_eq!(with(&[(name, 3)]), Err(Wrong::Unknown(name.to_owned())));
    unknown("main/by.size/f:3@2/axis.1");
    unknown("main/by.size/f:1@2/axis.3");
    unknown("main/by.size/f:1@2/points");
    unknown("main/by.size/f:1/axis.1");
    unknown("main/by.size/f:1@2");
    unknown("other/by.size/f:1@2/axis.1");
    let cannot = |values: &[(&str, i64)], what: &str| match with(values) {
        Err(Wrong::Versions(site, why)) => assert_eq!((site.as_str(), why.as_str()), ("f:1", what)),
        other => panic!("{other:?}"),
    };
    cannot(&[("main/by.size/f:1@3/axis.1", 3)], "there is a version 3, and no version 2");
    let of = |k: usize| format!("main/by.size/f:1@{k}/axis.1");
    let five: Vec<String> = (2..6).map(of).collect();
    let five: Vec<(&str, i64)> = five.iter().map(|n| (n.as_str(), 1)).collect();
    cannot(&five, "there is a version 5, and there may be 4 at most");
    let two = [("main/by.size/f:1@2/axis.1", 3), ("main/by.size/f:1@2/axis.2", 3)];
    cannot(&two, "version 2 is chosen by two sizes, `axis.1` and `axis.2`");
    let two = [("main/by.size/f:1@2/axis.1", 3), ("main/by.size/f:1@3/axis.2", 3)];
    cannot(&two, "its versions are chosen by two sizes, `axis.1` and `axis.2`");
}

/// A choice by size is one between versions of the operator that it names.
#[test]
fn other_choices_of_these_names_are_refused() {
    let p = with(&[("main/by.size/f:2@2/axis.1", 5)]).unwrap();
    let text = print::print_program(&p);
    for (from, to) in [("f:2@2", "f:1@2"), ("f:2@2", "g:1@2")] {
        let p = parse::parse_program(&text.replace(from, to)).unwrap();
        assert_eq!(verify::verify(&p).map_err(|b| b.rule), Err(verify::Rule::Guard), "{to}");
    }
}

//! Unoptimised Mono means what the interpreter says: every program of the testsuite and every example of
//! the library either has the same value, or stops at the same place with the same message, or is a
//! limitation that `build_limitations.txt` lists.

mod build_support;

use build_support::*;
use remc_mono::limits::{BuildError, Construct};
use std::collections::BTreeMap;

/// Builds each program, and compares what it gives.
fn compare(programs: Vec<Case>) -> (usize, BTreeMap<String, Construct>, Vec<String>) {
    let (mut same, mut limits, mut wrong) = (0, BTreeMap::new(), Vec::new());
    let mut sessions = Sessions::new();
    for case in programs {
        match sessions.run(&case) {
            Ok(Ran { expected, built: Ok(found), .. }) if expected == found => same += 1,
            Ok(Ran { expected, built: Ok(found), .. }) => {
                wrong.push(format!("{}\n  interpreter: {expected:?}\n  mono:        {found:?}", case.name));
            }
            Ok(Ran { built: Err(BuildError::Limitation(l)), .. }) => {
                limits.insert(case.name, l.construct);
            }
            Ok(Ran { built: Err(e), .. }) => wrong.push(format!("{}\n  {e}", case.name)),
            Err(skipped) => wrong.push(format!("{}\n  {skipped}", case.name)),
        }
    }
    (same, limits, wrong)
}

fn report(what: &str, (same, limits, wrong): (usize, BTreeMap<String, Construct>, Vec<String>)) {
    println!("{what}: {same} alike, {} limitations, {} wrong", limits.len(), wrong.len());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let list: String = limits.iter().map(|(name, c)| format!("{c}: {name}\n")).collect();
    expect(what, &list);
}

#[test]
fn programs_of_the_testsuite() {
    on_a_large_stack(|| report("programs", compare(testsuite())));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| report("library", compare(library())));
}

#[test]
fn examples() {
    on_a_large_stack(|| {
        let (same, limits, wrong) = compare(build_support::examples());
        assert_eq!((same, limits.len(), wrong), (5, 0, vec![]));
    });
}

#[test]
fn limitations_are_listed() {
    let text = std::fs::read_to_string(root().join("limitations.toml")).unwrap();
    let listed: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("[")?.strip_suffix("]")).map(str::trim).collect();
    let names: Vec<&str> = Construct::ALL.iter().map(|c| c.name()).collect();
    assert_eq!(listed, names);
    for c in Construct::ALL {
        assert!(text.contains(&format!("summary = \"{}\"", c.summary())), "{c}");
        assert!(text.contains(&format!("workaround = \"{}\"", c.workaround())), "{c}");
    }
}

#[test]
fn primitives_are_those_of_the_prelude() {
    use remc_mono::build::Prim;
    let text = std::fs::read_to_string(root().join("prelude/arrays.remora")).unwrap();
    let names: Vec<&str> =
        text.split("(primitive (").skip(1).filter_map(|s| s.split(['{', ' ']).next()).collect();
    let mut known: Vec<&str> = Prim::ALL.iter().map(|p| p.name()).collect();
    assert!(names.iter().all(|n| Prim::from_name(n).is_some()), "{names:?}");
    known.retain(|n| !names.contains(n));
    assert_eq!(known, [""; 0]);
}

#[test]
fn entries_are_alike() {
    on_a_large_stack(|| {
        let mut sessions = Sessions::new();
        let mut wrong = vec![];
        for case in entries() {
            match sessions.run(&case) {
                Ok(Ran { expected, built: Ok(found), program, .. }) => {
                    if std::env::var_os("SHOW").is_some_and(|s| case.text.contains(&*s.to_string_lossy())) {
                        println!(
                            "{}",
                            program.map(|p| remc_mono::print::print_program(&p)).unwrap_or_default()
                        );
                    }
                    if expected != found {
                        wrong.push(format!(
                            "{}\n  interpreter: {expected:?}\n  mono:        {found:?}",
                            case.text
                        ));
                    }
                }
                Ok(Ran { built: Err(BuildError::Limitation(l)), .. }) => {
                    if !case.text.contains(&format!("limitation: {}", l.construct)) {
                        wrong.push(format!("{}\n  {}: {}", case.text, l.construct, l.message));
                    }
                }
                Ok(Ran { built: Err(BuildError::TooLarge(_)), .. }) if case.text.contains("; too large") => {}
                Ok(Ran { built: Err(e), .. }) => wrong.push(format!("{}\n  {e}", case.text)),
                Err(e) => wrong.push(format!("{}\n  does not check: {e}", case.text)),
            }
        }
        assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    });
}

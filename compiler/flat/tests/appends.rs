//! Which arrays are made in the result of an append, on bodies written by hand.

use remc_flat::appends::homes;
use remc_flat::parse::parse_program;
use std::collections::BTreeSet;

/// A program with two vectors, and with what stands in place of `body`. Each variable gets its id at the end: texts
/// have only the names, of which there is one each.
fn program(body: &str) -> String {
    let text = format!(
        "(flat 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
           (params (%n int) (%m int) (%xs int %n) (%ys int %m) (%q int))
           (inputs %xs %ys %q) (output 0) (body {body}))"
    );
    let mut names: Vec<String> = Vec::new();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('%') {
        let end =
            rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |n| at + 1 + n);
        let name = rest[at..end].to_owned();
        let id = names.iter().position(|n| *n == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        out += &format!("{}.{id}", &rest[..end]);
        rest = &rest[end..];
    }
    out + rest
}

/// Twice a vector of so many items; `k` sets its variables apart from others.
fn twice(name: &str, size: &str, of: &str, k: u32) -> String {
    format!(
        "(let (({name} int {size})) (seg-map grid ((%i{k} {size}))
           (leaf (let ((%x{k} int)) (index {of} %i{k}) p0) (let ((%t{k} int)) (op * %x{k} 2) p0)
             (give %t{k}))) p0)"
    )
}

/// The arrays with a home, as `part whole`.
fn found(body: &str) -> BTreeSet<String> {
    let text = program(body);
    let p = match parse_program(&text) {
        Ok(p) => p,
        Err(e) => panic!("{e:?}\n{text}"),
    };
    let sizes = p.input_sizes();
    let homes = homes(&p.body, &p.vars, &|v| sizes.contains(&v));
    let name = |v| p.vars[v].name.to_string();
    homes.homes.iter().map(|(part, home)| format!("{} {}", name(*part), name(home.whole))).collect()
}

fn set(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|s| (*s).to_owned()).collect()
}

const SUM: &str = "(let ((%t int)) (host (op + %n %m)) p0)";
const APPEND: &str = "(let ((%c int %t)) (host (view (append %b) %a)) p0) (give %c)";

#[test]
fn parts_that_maps_make() {
    let (a, b) = (twice("%a", "%n", "%xs", 1), twice("%b", "%m", "%ys", 2));
    let both = set(&["a c", "b c"]);
    assert_eq!(found(&format!("{SUM} {a} {b} {APPEND}")), both);
    // The size may be computed sooner than it stands there.
    assert_eq!(found(&format!("{a} {b} {SUM} {APPEND}")), both);
    // A map that stops says nothing of sizes; a check of the host may.
    let check = "(let ((%ok bool)) (host (op > %q 0)) p0) (let () (host (check (negative \"q\") %ok %q)) p0)";
    assert_eq!(found(&format!("{check} {a} {b} {SUM} {APPEND}")), both);
    assert_eq!(found(&format!("{a} {check} {b} {SUM} {APPEND}")), set(&["b c"]));
    assert_eq!(found(&format!("{a} {b} {check} {SUM} {APPEND}")), set(&[]));
}

#[test]
fn parts_that_are_read_elsewhere() {
    let (a, b) = (twice("%a", "%n", "%xs", 1), twice("%b", "%m", "%ys", 2));
    let more = twice("%d", "%n", "%a", 3);
    assert_eq!(found(&format!("{a} {b} {more} {SUM} {APPEND}")), set(&["b c"]));
    let given = "(let ((%t int)) (host (op + %n %m)) p0)
        (let ((%c int %t)) (host (view (append %ys) %xs)) p0) (give %c)";
    assert_eq!(found(given), set(&[]));
}

#[test]
fn parts_of_sizes_that_are_known_late() {
    let filter = "(let ((%k int) (%a int %k)) (filter (%i %n)
        (leaf (let ((%x int)) (index %xs %i) p0) (let ((%y bool)) (op > %x 0) p0)
          (give %y %x)) p0) p0)";
    let sum = "(let ((%t int)) (host (op + %k %m)) p0)";
    let b = twice("%b", "%m", "%ys", 2);
    // A filter knows how much it keeps before it writes that.
    assert_eq!(found(&format!("{filter} {b} {sum} {APPEND}")), set(&["a c", "b c"]));
    assert_eq!(found(&format!("{b} {filter} {sum} {APPEND}")), set(&["a c"]));
    // What a size is read from has to be there.
    let read = "(let ((%k int)) (host (index %xs 0)) p0)";
    let a = twice("%a", "%k", "%xs", 1);
    assert_eq!(found(&format!("{b} {read} {a} {sum} {APPEND}")), set(&["a c"]));
}

#[test]
fn appends_in_appends() {
    let (a, b) = (twice("%a", "%n", "%xs", 1), twice("%b", "%m", "%ys", 2));
    let sizes = "(let ((%s int)) (host (op + %t %n)) p0)";
    let outer = "(let ((%e int %s)) (host (view (append %c) %d)) p0) (give %e)";
    let inner = APPEND.split_once(" (give").unwrap().0;
    let d = twice("%d", "%n", "%xs", 3);
    let all = set(&["a c", "b c", "c e", "d e"]);
    assert_eq!(found(&format!("{a} {b} {SUM} {inner} {d} {sizes} {outer}")), all);
    // Where the inner result is wanted by itself, what is in it is still made there.
    let both = outer.replace("(give %e)", "(give %e %c)");
    let apart = set(&["a c", "b c", "d e"]);
    assert_eq!(found(&format!("{a} {b} {SUM} {inner} {d} {sizes} {both}")), apart);
}

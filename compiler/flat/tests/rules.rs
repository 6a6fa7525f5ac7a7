//! Each rule of the verifier, on programs that break it.

use remc_flat::parse::parse_program;
use remc_flat::verify::{Rule, verify};
use remc_mono::verify::Rule as Common;

const SUM: &str = "(let ((%s.92 int)) (op + %a.90 %b.91) p0) (give %s.92))";

fn verified(body: &str) -> Result<(), Rule> {
    let text = format!(
        "(flat 1 (name \"main\") (provs (p0 \"main\" 2 4)) (types)
           (params (%n.0 int) (%xs.1 int %n.0) (%c.2 bool)) (inputs %xs.1 %c.2) (output 0)
           (body {}))",
        body.replace("SUM", SUM)
    );
    // Ids are dense: what is not bound is listed.
    let used = |id: u32| text.contains(&format!(".{id} "));
    let mut text = text.trim_end().strip_suffix(')').unwrap().to_owned() + " (unbound";
    for id in 3..100 {
        let binder = [" int", " bool"].iter().any(|t| text.contains(&format!(".{id}{t}")));
        let axis = text.contains(&format!("(%i.{id} ")) || text.contains(&format!("(%j.{id} "));
        if !binder && !axis && !used(id) {
            text += &format!(" (%.{id} int)");
        }
    }
    let p = parse_program(&(text.clone() + "))")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&p).map_err(|b| {
        assert!(b.to_string().contains("is broken"));
        b.rule
    })
}

const MAP: &str = "(let ((%r.3 int %n.0)) (seg-map LEVEL ((%i.4 %n.0)) (leaf BODY)) p0) (give %r.3)";
const RED: &str =
    "(let ((%r.3 int %n.0)) (seg-red grid ((%i.4 %n.0)) (%j.5 %n.0) (leaf (give %j.5)) OP) p0) (give %r.3)";
fn scan(kind: &str, params: &str, body: &str) -> String {
    SCAN.replace("KIND", kind).replace("PARAMS", params).replace("BODY", body)
}

/// A scan of which some prefixes are known.
fn known(kind: &str, before: &str) -> String {
    let made = "(let ((%z.20 int 1) (%t.21 bool 1)) (seg-map grid ((%i.22 1)) (leaf (give 0 true))) p0)";
    let scan = scan(kind, "(%i.6 int) (%p.7 int)", "(give %i.6)");
    format!(
        "{made} {}",
        scan.replace("(give %i.6))) p0)", &format!("(give %i.6)) (known 4 ({before}))) p0)"))
    )
}

/// Rows that are sorted by a key.
fn sorted_rows(key: &str) -> String {
    let sort = format!("(let ((%o.19 int %l.14)) (grade (%j.17 %l.14) {key}) p0)");
    rows(1, "%s.3", "%t.6").replace("(let ((%a.10", &format!("{sort} (let ((%a.10"))
}

/// A map whose points give a number and two elements, with `regular` results of one size for all.
fn rows(regular: usize, starts: &str, vector: &str) -> String {
    format!(
        "(let ((%s.3 int %n.0)) (seg-map grid ((%i.4 %n.0)) (leaf (let ((%x.5 int)) (op * %i.4 2) p0) (give %x.5))) p0)
         (let ((%b.12 bool 1)) (seg-map grid ((%i.13 1)) (leaf (give true))) p0)
         (let ((%t.6 int)) (host (op * %n.0 2)) p0)
         (let ((%k.7 int %n.0) (%d.8 int {vector})) (rows grid (%i.9 %n.0) {regular} ({starts}) (leaf
           (let ((%m.11 int)) (index %xs.1 %i.9) p0) (let ((%l.14 int)) (op min2 %m.11 %n.0) p0)
           (let ((%e.15 int %l.14)) (map ((%j.16 %l.14)) (give %j.16)) p0)
           (let ((%a.10 int 2)) (literal (2) %i.9 1) p0) (give %i.9 %a.10))) p0) (give %k.7)"
    )
}

/// Some rows by groups, after all rows: `of` says which, `made` is of the size of an array that is no result, and `scratch`
/// has room for those.
fn groups(of: &str, made: &str, scratch: &str) -> String {
    rows(1, "%s.3", "%t.6").replace(
        "(give %k.7)",
        &format!(
            "(let ((%k.20 int %n.0) (%d.21 int %t.6)) (rows warp (%i.22 %n.0) {of} 1 (%s.3) (leaf
               (let ((%l.23 int)) (index %xs.1 %i.22) p0) (let ((%x.24 int)) (op + %l.23 1) p0)
               (let ((%e.25 int {made})) (map ((%j.26 {made})) (give %j.26)) p0)
               (let ((%a.27 int %l.23)) (map ((%j.28 %l.23)) (give %j.28)) p0) (give %i.22 %a.27 %l.23))
               {scratch}) p0) (give %k.20)"
        ),
    )
}

/// Two filters of as many points, `n` and `size`; the second one keeps what `leaf` says.
fn filters(size: &str, leaf: &str) -> String {
    format!(
        "(let ((%k.5 int) (%a.6 int %k.5) (%m.7 int) (%b.8 int %m.7))
           (filter (%i.4 %n.0) (leaf (give %c.2 %i.4)) p0 (%j.3 {size}) (leaf {leaf}) p0) p0) (give %k.5)"
    )
}

const SCAN: &str = "(let ((%r.3 int %n.0)) (seg-scan grid KIND () (%j.5 %n.0) (leaf (give %j.5))
    (assoc ((%a.90 int) (%b.91 int)) (start 0) (let ((%s.92 int)) (op + %a.90 %b.91) p0) (give %s.92))
    (epilogue (PARAMS) BODY)) p0) (give %r.3)";

#[test]
fn programs_that_keep_the_rules() {
    let map = MAP.replace("LEVEL", "grid");
    for body in [
        "(give %n.0)".to_owned(),
        map.replace("BODY", "(give %i.4)"),
        // Sizes that are known outside, or bounded.
        map.replace(
            "BODY",
            "(let ((%m.6 int)) (op + %n.0 1) p0) (let ((%a.7 int %m.6)) (map ((%j.8 %m.6)) (give %j.8)) p0)
             (let ((%k.9 int) (%f.10 int %k.9)) (filter (%j.11 %m.6) (give %c.2 %j.11)) p0)
             (let ((%q.13 int)) (op + %k.9 1) p0)
             (let ((%b.12 int %q.13)) (map ((%j.14 %q.13)) (give %j.14)) p0) (give %k.9)",
        ),
        map.replace(
            "BODY",
            "(let ((%s.5 int)) (for (%t.6 %n.0) (((%u.7 int) 0))
               (let ((%m.8 int)) (op - %n.0 %t.6) p0)
               (let ((%a.9 int %m.8)) (map ((%j.10 %m.8)) (give %j.10)) p0)
               (let ((%x.11 int)) (index %a.9 0) p0)
               (give %x.11)) p0)
             (give %s.5)",
        ),
        map.replace(
            "BODY",
            "(let ((%s.5 int)) (reduce (%t.6 %n.0) (give %t.6) (serial ((%u.7 int) (%e.12 int)) (start 0)
               (let ((%m.8 int)) (op + %e.12 1) p0)
               (let ((%a.9 int %m.8)) (map ((%j.10 %m.8)) (give %j.10)) p0)
               (let ((%x.11 int)) (index %a.9 %u.7) p0)
               (give %x.11))) p0)
             (give %s.5)",
        ),
        RED.replace("OP", "(assoc ((%a.90 int) (%b.91 int)) (start %n.0) SUM"),
        scan("exclusive", "(%i.6 int) (%p.7 int)", "(let ((%q.8 int)) (op + %p.7 %i.6) p0) (give %q.8)"),
        known("exclusive", "%z.20"),
        filters("%n.0", "(give %c.2 1)"),
        rows(1, "%s.3", "%t.6"),
        groups("(of %xs.1 (%k.7 %d.8))", "%l.23", "(scratch (%s.3 %t.6))"),
        MAP.replace("LEVEL", "block").replace("BODY", "(give %i.4)"),
        sorted_rows("(give %j.17)"),
        "(let ((%r.3 int)) (branch (>= %n.0 \"par.outer\" 64) (then (give 1)) (else (give 2))) p0) (give %r.3)".into(),
        "(let ((%r.3 int %n.0)) (serial-map ((%i.4 %n.0)) (let ((%x.5 int)) (host (op + %i.4 1)) p0) (give %x.5)) p0)
         (give %r.3)"
            .into(),
    ] {
        assert_eq!(verified(&body), Ok(()), "{body}");
    }
}

#[test]
fn every_rule_is_kept_from_being_broken() {
    let map = MAP.replace("LEVEL", "grid");
    let made =
        |size: &str| format!("{size} (let ((%a.7 int %m.6)) (map ((%j.8 %m.6)) (give %j.8)) p0) (give %i.4)");
    let matrix =
        "(let ((%r.3 int %n.0 %n.0)) (seg-map grid ((%i.4 %n.0) (%j.5 %n.0)) AXES (leaf (give %j.5))) p0)
                  (give %n.0)";
    assert_eq!(verified(&matrix.replace("AXES", "(axes (1 0))")), Ok(()));
    let cases = [
        (Rule::Common(Common::Scope), map.replace("BODY", "(give %r.3)")),
        (Rule::Common(Common::Map), map.replace("BODY", "(give %c.2)")),
        // What a leaf binds is not known outside.
        (
            Rule::Common(Common::Scope),
            "(let ((%r.3 int)) (seg-map grid () (leaf (let ((%x.4 int)) (op + %n.0 1) p0) (give %x.4))) p0)
             (give %x.4)"
                .into(),
        ),
        (
            Rule::Common(Common::If),
            "(let ((%r.3 int)) (branch (>= %n.0 \"t\" 4) (then (give 1)) (else (give true))) p0) (give %r.3)"
                .into(),
        ),
        (Rule::Host, "(let ((%r.3 int %n.0)) (host (map ((%i.4 %n.0)) (give %i.4))) p0) (give %r.3)".into()),
        (
            Rule::Sort,
            map.replace("BODY", "(let ((%g.6 int %n.0)) (grade (%j.7 %n.0) (give %j.7)) p0) (give %i.4)"),
        ),
        (Rule::Size, map.replace("BODY", &made("(let ((%m.6 int)) (index %xs.1 %i.4) p0)"))),
        (Rule::Size, map.replace("BODY", &made("(let ((%m.6 int)) (op + %i.4 1) p0)"))),
        // Bounds of two numbers are none of their product, nor is what may be negative taken off without one.
        (
            Rule::Size,
            map.replace(
                "BODY",
                &made(
                    "(let ((%k.9 int)) (filter (%j.11 %n.0) (give %c.2)) p0)
                     (let ((%m.6 int)) (op * %k.9 %k.9) p0)",
                ),
            ),
        ),
        (
            Rule::Size,
            map.replace(
                "BODY",
                &made(
                    "(let ((%k.9 int)) (filter (%j.11 %n.0) (give %c.2)) p0)
                     (let ((%q.13 int)) (op - %k.9 5) p0)
                     (let ((%m.6 int)) (op - %n.0 %q.13) p0)",
                ),
            ),
        ),
        (Rule::Level, MAP.replace("LEVEL", "warp").replace("BODY", "(give %i.4)")),
        (Rule::Operator, RED.replace("OP", "(assoc ((%a.90 int) (%b.91 int)) (start %i.4) SUM")),
        (Rule::Epilogue, scan("inclusive", "(%i.6 int) (%p.7 int) (%q.8 int)", "(give %i.6)")),
        (
            Rule::Epilogue,
            scan(
                "inclusive",
                "(%i.6 int) (%p.7 int)",
                "(let ((%a.8 int 2)) (literal (2) %p.7 0) p0) (give %a.8)",
            ),
        ),
        (Rule::Axes, map.replace("(leaf BODY", "(axes (0)) (leaf (give %i.4)")),
        (Rule::Axes, map.replace("(leaf BODY", "(axes ()) (leaf (give %i.4)")),
        (Rule::Axes, matrix.replace("AXES", "(axes (1 0) (1 0))")),
        (Rule::Axes, matrix.replace("AXES", "(axes (1 1))")),
        (Rule::Axes, matrix.replace("AXES", "(axes (1 2))")),
        (Rule::Axes, RED.replace("(leaf", "(axes (1 0)) (leaf").replace("OP", "(assoc ((%a.90 int) (%b.91 int)) SUM")),
        (Rule::Known, known("inclusive", "%z.20")),
        (Rule::Known, known("exclusive", "%z.20").replace("(known 4", "(known 0")),
        (Rule::Known, known("exclusive", "%t.21")),
        (Rule::Known, known("exclusive", "%z.20 %z.20")),
        (Rule::Rows, rows(1, "", "%t.6")),
        (Rule::Rows, rows(0, "%s.3", "%t.6")),
        (Rule::Rows, rows(1, "%b.12", "%t.6")),
        (Rule::Rows, rows(1, "%s.3", "%t.6 2")),
        (Rule::Rows, groups("", "%l.23", "(scratch (%s.3 %t.6))")),
        (Rule::Rows, groups("(of %b.12 (%k.7 %d.8))", "%l.23", "(scratch (%s.3 %t.6))")),
        (Rule::Rows, groups("(of %xs.1 (%d.8 %k.7))", "%l.23", "(scratch (%s.3 %t.6))")),
        (Rule::Rows, groups("(of %xs.1 (%k.7 %d.8))", "%x.24", "(scratch (%s.3 %t.6))")),
        (Rule::Rows, groups("(of %xs.1 (%k.7 %d.8))", "%l.23", "")),
        (Rule::Rows, groups("(of %xs.1 (%k.7 %d.8))", "%l.23", "(scratch (%b.12 %t.6))")),
        (
            Rule::Level,
            MAP.replace("LEVEL", "block").replace(
                "BODY",
                "(let ((%s.5 int)) (reduce (%t.6 %n.0) (give %t.6) (serial ((%u.7 int) (%e.12 int)) (start 0)
                   (give %e.12))) p0) (give %s.5)",
            ),
        ),
        (Rule::Size, rows(1, "%s.3", "%t.6").replace("op min2", "op max2")),
        // A row is sorted by numbers, and outside of rows nothing is.
        (Rule::Sort, sorted_rows("(let ((%q.18 int 1)) (literal (1) %j.17) p0) (give %q.18)")),
        (Rule::Parts, "(let () (filter) p0) (give 0)".into()),
        (Rule::Parts, filters("4", "(give %c.2 1)")),
        (Rule::Parts, filters("%n.0", "(let ((%t.9 bool)) (op > %k.5 0) p0) (give %t.9 1)")),
        (Rule::Operator, RED.replace("OP", "(serial ((%a.90 int) (%b.91 int)) (start 0) SUM")),
        (
            Rule::Operator,
            RED.replace(
                "OP",
                "(assoc ((%a.90 int) (%b.91 int)) (start 0)
                   (let ((%s.92 int)) (op + %a.90 %i.4) p0) (give %s.92))",
            ),
        ),
        (
            Rule::Guard,
            "(let ((%r.3 int)) (branch (>= %n.0 \"t\" -1) (then (give 1)) (else (give 2))) p0) (give %r.3)"
                .into(),
        ),
        (
            Rule::Guard,
            "(let ((%r.3 int)) (branch (>= %n.0 \"t\" 4) (then (give 1)) (else (give 2))) p0)
             (let ((%q.4 int)) (branch (>= %n.0 \"t\" 5) (then (give 1)) (else (give 2))) p0) (give %r.3)"
                .into(),
        ),
        (
            Rule::Guard,
            "(let ((%r.3 int)) (branch (or (>= %n.0 \"s\" 4) (< %n.0 \"t\" -1)) (then (give 1)) (else (give 2))) p0)
             (give %r.3)"
                .into(),
        ),
        (Rule::Guard, "(let ((%r.3 int)) (branch (or) (then (give 1)) (else (give 2))) p0) (give %r.3)".into()),
    ];
    for (rule, body) in cases {
        assert_eq!(verified(&body), Err(rule), "{body}");
    }
}

#[test]
fn texts_that_are_no_programs() {
    let all = "(flat 1 (name \"f\") (provs (p0 \"f\" 0 1)) (types) (params) (inputs) (output 0) (body BODY))";
    for body in [
        "",
        "(give",
        "(let () (host) p0) (give)",
        "(let ((%a.0 int)) (seg-map everywhere () (leaf (give 1))) p0) (give)",
        "(let ((%a.0 int)) (seg-map grid () (give 1)) p0) (give)",
        "(let ((%a.0 int)) (seg-red grid () (%i.1 3) (leaf (give 1))) p0) (give)",
        "(let ((%a.0 int)) (branch (> 1 \"t\" 1) (then (give 1)) (else (give 1))) p0) (give)",
        "h0",
        "(give)) (host h0 (give)",
        "(give)) (host h0 (give)) (host h0 (give)",
        "h0) (host h0 h1",
    ] {
        assert!(parse_program(&all.replace("BODY", body)).is_err(), "{body}");
    }
    assert!(parse_program(&all.replace("BODY", "h0) (host h0 h1) (host h1 (give 1)")).is_ok());
}

#[test]
fn deep_programs_print_and_read_back() {
    let mut body = "(give 1)".to_owned();
    for k in 0..200 {
        body = format!(
            "(let ((%a.{k} int)) (if true (then h{k}) (else (give 2))) p0) (give %a.{k})) (host h{k} {body}"
        );
    }
    let text = format!(
        "(flat 1 (name \"f\") (provs (p0 \"f\" 0 1)) (types) (params) (inputs) (output 0) (body {body}))"
    );
    let p = parse_program(&text).unwrap();
    assert_eq!(verify(&p), Ok(()));
    let printed = remc_flat::print::print_program(&p);
    assert_eq!(parse_program(&printed).as_ref(), Ok(&p));
    assert!(printed.contains("(host h5"));
}

//! Programs written by hand, one or more for each form.

use remc_mono::ir::Program;
use remc_mono::parse::parse_program;

/// The parameters of every program here: a size and arrays of it, then some scalars.
const PARAMS: &str = "(%n.0 int) (%m.1 int) (%xs.2 int %n.0) (%fs.3 float %n.0 %m.1) (%c.4 bool) (%k.5 int)";

/// The text of a program of these statements, whose ids are from 6 on.
pub fn text(body: &str) -> String {
    text_with(PARAMS, "%n.0 %m.1 %xs.2 (tuple (\"re\" %fs.3) (%c.4)) %k.5", "0", body)
}

pub fn text_with(params: &str, inputs: &str, output: &str, body: &str) -> String {
    let provs = "(provs (p0 \"main\" 2 4) (p1 \"f\" 0 2 p0))";
    format!(
        "(mono 1 (name \"main\") {provs} (types) (params {params}) (inputs {inputs}) (output {output})
           (body {body}))"
    )
}

pub fn parse(text: &str) -> Program {
    parse_program(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A sum of ints, to be spliced where an operator is wanted; its variables have ids from 90 on.
pub const SUM: &str =
    "assoc ((%a.90 int) (%b.91 int)) (start 0) (let ((%s.92 int)) (op + %a.90 %b.91) p0) (give %s.92)";

/// Well-formed bodies.
pub fn bodies() -> Vec<String> {
    let mut all: Vec<String> = [
        "(give %k.5)",
        "(let ((%a.6 int)) %k.5 p0) (give %a.6)",
        "(let ((%a.6 int %n.0)) %xs.2 p0) (give %a.6)",
        "(let ((%a.6 int)) (op + %k.5 -3) p1) (let ((%b.7 float)) (op / %a.6 2) p0) (give %b.7)",
        "(let ((%a.6 bool)) (op < %k.5 4) p0) (let ((%b.7 int)) (op select %a.6 1 %k.5) p0) (give %b.7)",
        "(let ((%a.6 u8)) (cast u8 %k.5) p0) (let ((%b.7 u8)) (op % %a.6 u8:7) p0) (give %b.7)",
        "(let ((%a.6 int 2 2)) (literal (2 2) 1 2 %k.5 4) p0) (give %a.6)",
        "(let ((%a.6 char 0)) (literal (0)) p0) (give %a.6)",
        "(let ((%a.6 f32 2)) (literal (2) f32:0.5 f32:#x7f800000) p0) (give %a.6)",
        "(let ((%a.6 int)) (index %xs.2 %k.5) p0) (give %a.6)",
        "(let ((%a.6 float %m.1)) (index %fs.3 0) p0) (let ((%b.7 float)) (index %a.6 %k.5) p0) (give %b.7)",
        // Results whose size is another result.
        "(let ((%l.6 int) (%a.7 int %l.6)) (if %c.4 (then (give %n.0 %xs.2))
           (else (let ((%b.8 int 1)) (literal (1) 7) p0) (give 1 %b.8))) p0) (give %a.7)",
        "(let ((%a.6 int) (%b.7 float)) (for (%i.8 %n.0) (((%s.9 int) 0) ((%t.10 float) 1.5))
           (let ((%x.11 int)) (index %xs.2 %i.8) p0) (let ((%y.12 int)) (op + %s.9 %x.11) p0)
           (give %y.12 %t.10)) p0) (give %b.7)",
        "(let ((%l.6 int) (%a.7 int %l.6))
           (while (((%s.8 int) %n.0) ((%t.9 int %s.8) %xs.2))
             (cond (let ((%d.10 bool)) (op > %s.8 10) p0) (give %d.10))
             (do (let ((%e.11 int)) (op quotient %s.8 2) p1)
                 (let ((%f.12 int %e.11)) (view (slice (0) (%e.11)) %t.9) p1) (give %e.11 %f.12))) p0)
         (give %a.7)",
        "(let ((%t.6 float %m.1 %n.0)) (map ((%i.7 %m.1) (%j.8 %n.0))
           (let ((%x.9 float)) (index %fs.3 %j.8 %i.7) p1) (give %x.9)) p0) (give %t.6)",
        "(let ((%t.6 float %n.0 %m.1) (%u.7 int %n.0)) (map ((%i.8 %n.0))
           (let ((%x.9 float %m.1)) (index %fs.3 %i.8) p1) (give %x.9 %i.8)) p0) (give %t.6)",
        "(let () (map ((%i.6 %n.0)) (let () (check (index 1 1) %c.4 %i.6 %n.0) p0) (give)) p0) (give 0)",
        // No start; of several values at once; of arrays.
        "(let ((%r.6 int) (%q.7 int)) (reduce (%i.8 %n.0) (let ((%x.9 int)) (index %xs.2 %i.8) p0) (give %x.9 %i.8)
           (assoc ((%a.10 int) (%ai.11 int) (%b.12 int) (%bi.13 int))
             (let ((%l.14 bool)) (op <= %a.10 %b.12) p0) (let ((%v.15 int)) (op select %l.14 %a.10 %b.12) p0)
             (let ((%w.16 int)) (op select %l.14 %ai.11 %bi.13) p0) (give %v.15 %w.16))) p0) (give %q.7)",
        "(let ((%r.6 float %m.1)) (reduce (%i.7 %n.0) (let ((%x.8 float %m.1)) (index %fs.3 %i.7) p0) (give %x.8)
           (assoc ((%a.9 float %m.1) (%b.10 float %m.1)) (let ((%s.11 float %m.1)) (map ((%j.12 %m.1))
             (let ((%p.13 float)) (index %a.9 %j.12) p0) (let ((%q.14 float)) (index %b.10 %j.12) p0)
             (let ((%t.15 float)) (op + %p.13 %q.14) p0) (give %t.15)) p0) (give %s.11))) p0) (give %r.6)",
        "(let ((%r.6 float)) (reduce (%i.7 %n.0) (let ((%x.8 int)) (index %xs.2 %i.7) p0) (give %x.8)
           (serial ((%a.9 float) (%b.10 int)) (start 0.0) (let ((%d.11 float)) (cast float %b.10) p0)
             (let ((%s.12 float)) (op + %a.9 %d.11) p0) (give %s.12))) p0) (give %r.6)",
        "(let ((%a.6 int %n.0)) (scatter (%i.7 %n.0) (%xs.2) (let ((%x.8 int)) (index %xs.2 %i.7) p0)
           (give %x.8 %i.7)) p0) (give %a.6)",
        "(let ((%a.6 int %n.0)) (scatter (%i.7 %n.0) (%xs.2) (give %i.7 1)
           (combine ((%a.8 int) (%b.9 int)) (let ((%s.10 int)) (op + %a.8 %b.9) p0) (give %s.10))) p0)
         (give %a.6)",
        "(let ((%l.6 int) (%a.7 int %l.6) (%b.8 float %l.6 %m.1)) (filter (%i.9 %n.0)
           (let ((%x.10 int)) (index %xs.2 %i.9) p0) (let ((%y.11 float %m.1)) (index %fs.3 %i.9) p0)
           (let ((%p.12 bool)) (op > %x.10 0) p0) (give %p.12 %x.10 %y.11)) p0) (give %b.8)",
        "(let ((%a.6 int %n.0)) (grade (%i.7 %n.0) (let ((%x.8 int)) (index %xs.2 %i.7) p0)
           (let ((%y.9 float %m.1)) (index %fs.3 %i.7) p0) (give %x.8 %y.9)) p0) (give %a.6)",
        "(let ((%a.6 int %n.0) (%l.7 int) (%s.8 int %n.0) (%d.9 float %l.7)) (join (%i.10 %n.0) 1
           (let ((%y.11 float %m.1)) (index %fs.3 %i.10) p0) (give %i.10 %y.11)) p0) (give %d.9)",
        "(let ((%s.6 int)) (op * %n.0 %m.1) p0) (let ((%a.7 float %s.6)) (view (reshape %s.6) %fs.3) p0) (give %a.7)",
        "(let ((%a.6 float %m.1 %n.0)) (view (permute 1 0) %fs.3) p0) (give %a.6)",
        "(let ((%a.6 float %n.0 %m.1)) (view (reverse) %fs.3) p0) (give %a.6)",
        "(let ((%a.6 float %n.0 %m.1)) (view (rotate 1 %k.5) %fs.3) p0) (give %a.6)",
        "(let ((%s.6 int)) (op + %n.0 %n.0) p0) (let ((%a.7 int %s.6)) (view (append %xs.2) %xs.2) p0) (give %a.7)",
        "(let ((%a.6 float 2 %m.1)) (view (slice (%k.5) (2)) %fs.3) p0) (give %a.6)",
        "(let ((%a.6 float 2 3)) (view (wrap (%k.5 -1) (2 3)) %fs.3) p0) (give %a.6)",
        "(let ((%a.6 float 2 %k.5)) (view (cycle 2 %k.5) %fs.3) p0) (give %a.6)",
        "(let ((%a.6 int 2 %m.1 %n.0)) (view (replicate 2 %m.1) %xs.2) p0) (give %a.6)",
        "(let () (check (unequal \"why \\\"so\\\"\" \"n\" \"(- m 1)\") %c.4 %n.0 %m.1) p0) (give %k.5)",
        // In a branch that is never taken dims need not agree.
        "(let ((%a.6 int 1)) (if true (then (let ((%b.7 int 1)) (literal (1) 1) p0) (give %b.7))
           (else (let ((%d.8 int 2)) (literal (2) 1 2) p0) (give %d.8))) p0) (give %a.6)",
        // After a check that always stops, dims need not agree.
        "(let ((%e.6 bool)) (op = 3 4) p0) (let () (check (unequal \"why\" \"3\" \"4\") %e.6 3 4) p0)
         (let ((%a.7 int 3)) (literal (3) 1 2 3) p0) (let ((%b.8 int 4)) %a.7 p0) (give %b.8)",
    ]
    .map(str::to_owned)
    .to_vec();
    let element = "(let ((%x.8 int)) (index %xs.2 %i.7) p0) (give %x.8)";
    all.push(format!("(let ((%r.6 int)) (reduce (%i.7 %n.0) {element} ({SUM})) p0) (give %r.6)"));
    for (kind, size) in [("inclusive", "%n.0"), ("exclusive", "%n.0"), ("full", "%t.9")] {
        all.push(format!(
            "(let ((%t.9 int)) (op + %n.0 1) p0)
             (let ((%r.6 int {size})) (scan {kind} (%i.7 %n.0) {element} ({SUM})) p0) (give %r.6)"
        ));
    }
    // Ids are dense: what a program leaves out is bound nowhere.
    all.iter().map(|body| text(&fill(body))).collect()
}

/// The body, with the ids that it leaves out listed as unbound.
pub fn fill(body: &str) -> String {
    let ids: std::collections::BTreeSet<usize> = body
        .split(|c: char| c.is_whitespace() || "()".contains(c))
        .filter_map(|w| w.strip_prefix('%')?.rsplit_once('.')?.1.parse().ok())
        .collect();
    let most = ids.last().copied().unwrap_or(0);
    let missing: Vec<_> =
        (6..most).filter(|i| !ids.contains(i)).map(|i| format!("(%gone.{i} int)")).collect();
    if missing.is_empty() { body.to_owned() } else { format!("{body}) (unbound {}", missing.join(" ")) }
}

//! The JSON form: the same facts, formulas as text.

use super::text::{condition, totals};
use super::words::{What, Words};
use remc_cost::formula::Formula;
use remc_cost::report::{Cost, Node};
use serde_json::{Value, json};

pub fn json(what: &What, w: &Words<'_>) -> String {
    let steps: Vec<Value> = (0..w.report.steps.len()).map(|k| step(w, k)).collect();
    let arrays: Vec<Value> = w
        .report
        .arrays
        .iter()
        .map(|m| {
            json!({
                "name": w.array(m.array),
                "bytes": bytes(w, &m.elements, m.bytes),
                "steps": numbers(&m.steps),
                "readers": numbers(&m.readers),
                "why": w.why(m),
            })
        })
        .collect();
    let totals: Vec<Value> = totals(w).iter().map(|(title, c, depth)| total(w, title, c, depth)).collect();
    let tree = nodes(w, &w.report.nodes);
    let sizes = w.sizes();
    // Names are given as they are met: the legend is last.
    let legend: serde_json::Map<String, Value> =
        w.legend().into_iter().map(|(name, meaning)| (name, Value::from(meaning))).collect();
    let all = json!({
        "entry": what.entry, "device": what.device, "sizes": sizes, "steps": steps, "tree": tree,
        "arrays": arrays, "totals": totals, "where": legend,
    });
    format!("{all}\n")
}

fn numbers(steps: &[usize]) -> Vec<usize> {
    steps.iter().map(|k| k + 1).collect()
}

fn bytes(w: &Words<'_>, elements: &Formula, bytes: u32) -> String {
    w.formula(&(elements * &Formula::from(i128::from(bytes))))
}

fn total(w: &Words<'_>, title: &str, c: &Cost, depth: &Formula) -> Value {
    json!({
        "what": title, "cost": cost(w, c), "work": w.formula(&c.work()), "depth": w.formula(depth),
        "space_bytes_at_most": w.formula(&w.report.space()),
    })
}

fn cost(w: &Words<'_>, c: &Cost) -> Value {
    json!({
        "read_bytes": w.formula(&c.reads),
        "written_bytes": w.formula(&c.writes),
        "reads_at_most": c.reads_at_most,
        "writes_at_most": c.writes_at_most,
        "float_operations": w.formula(&c.operations.float),
        "other_operations": w.formula(&c.operations.other),
        "operations_at_most": c.operations_at_most,
    })
}

fn step(w: &Words<'_>, k: usize) -> Value {
    let step = &w.report.steps[k];
    let fused: Vec<Value> = w
        .fused(step)
        .into_iter()
        .map(|p| json!({ "file": p.path, "line": p.line, "text": p.text }))
        .collect();
    let reads: Vec<Value> = step
        .reads
        .iter()
        .map(|r| {
            json!({
                "array": w.array(r.array),
                "bytes": bytes(w, &r.elements, r.bytes),
                "exact": r.exact,
                "how": w.access(r),
            })
        })
        .collect();
    let writes: Vec<Value> = step
        .writes
        .iter()
        .map(|x| json!({ "array": w.array(x.array), "bytes": bytes(w, &x.elements, x.bytes) }))
        .collect();
    json!({
        "number": k + 1, "what": w.title(step), "fused": fused, "inside": w.inner(&step.inner),
        "reads": reads, "writes": writes, "cost": cost(w, &step.cost),
    })
}

fn nodes(w: &Words<'_>, all: &[Node]) -> Vec<Value> {
    all.iter()
        .map(|n| match n {
            Node::Step(k) => json!({ "step": k + 1 }),
            Node::For { times, prov, body } => {
                json!({ "times": w.formula(times), "at": w.line(*prov), "body": nodes(w, body) })
            }
            Node::While { rounds, prov, cond, body } => json!({
                "while": w.formula(&Formula::symbol(*rounds)), "at": w.line(*prov),
                "condition": nodes(w, cond), "body": nodes(w, body),
            }),
            Node::If { prov, then, otherwise } => json!({
                "if": w.line(*prov), "then": nodes(w, then), "otherwise": nodes(w, otherwise),
            }),
            Node::Branch { version, prov, then, otherwise } => json!({
                "version": condition(w, version), "at": w.line(*prov),
                "then": nodes(w, then), "otherwise": nodes(w, otherwise),
            }),
        })
        .collect()
}

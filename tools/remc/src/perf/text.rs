//! The text form: a tree of numbered steps, the arrays between them, and sums.

use super::words::{What, Words};
use remc_base::Prov;
use remc_cost::formula::Formula;
use remc_cost::report::{Comparison, Cost, Node, Version};
use remc_flat::ir::Compare;

/// Fewer pieces of the program than this are all shown.
const MOST_PIECES: usize = 8;

pub fn text(what: &What, w: &Words<'_>) -> String {
    let mut t = Text { w, out: String::new() };
    let entry = what.entry.as_ref().map_or("the file's value".to_owned(), |e| format!("entry `{e}`"));
    t.out.push_str(&format!("{entry}, compiled for the {} device", what.device));
    match w.sizes().as_slice() {
        [] => t.out.push('\n'),
        all => t.out.push_str(&format!("; sizes: {}\n", all.join(", "))),
    }
    if w.report.steps.is_empty() {
        t.out.push_str("\nNothing is left to run on arrays: the host computes a few numbers.\n");
        return t.out;
    }
    t.nodes(&w.report.nodes, 0);
    t.arrays();
    t.totals();
    t.legend();
    t.out
}

struct Text<'w, 'a> {
    w: &'w Words<'a>,
    out: String,
}

impl Text<'_, '_> {
    fn line(&mut self, depth: usize, text: &str) {
        let line = format!("{}{text}", "  ".repeat(depth));
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Items under each other, behind what they are.
    fn list(&mut self, depth: usize, key: &str, items: &[Vec<String>]) {
        let columns = items.iter().map(Vec::len).max().unwrap_or(0);
        let width = |k: usize| items.iter().filter_map(|i| i.get(k)).map(|t| t.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|k| width(k).unwrap_or(0)).collect();
        for (n, item) in items.iter().enumerate() {
            let mut line = format!("   {:<7}", if n == 0 { key } else { "" });
            for (text, width) in item.iter().zip(&widths) {
                line.push_str(text);
                line.push_str(&" ".repeat(width - text.chars().count() + 2));
            }
            self.line(depth, &line);
        }
    }

    fn nodes(&mut self, nodes: &[Node], depth: usize) {
        for n in nodes {
            self.out.push('\n');
            match n {
                Node::Step(k) => self.step(*k, depth),
                Node::For { times, prov, body } => {
                    let (times, line) = (self.w.formula(times), self.w.line(*prov));
                    self.line(depth, &format!("{times} times, one after the other ({line}):"));
                    self.nodes(body, depth + 1);
                }
                Node::While { rounds, prov, cond, body } => {
                    let rounds = self.w.formula(&Formula::symbol(*rounds));
                    let line = self.w.line(*prov);
                    self.line(depth, &format!("while a condition holds, {rounds} times ({line}):"));
                    if !cond.is_empty() {
                        self.nodes(cond, depth + 1);
                        self.out.push('\n');
                        self.line(depth, "and, as long as it holds:");
                    }
                    self.nodes(body, depth + 1);
                }
                Node::If { prov, then, otherwise } => {
                    let line = self.w.line(*prov);
                    self.line(depth, &format!("if the program's condition holds ({line}):"));
                    self.block(then, depth + 1);
                    self.out.push('\n');
                    self.line(depth, "otherwise:");
                    self.block(otherwise, depth + 1);
                }
                Node::Branch { version, prov, then, otherwise } => {
                    self.branch(version, *prov, then, otherwise, depth);
                }
            }
        }
    }

    fn block(&mut self, nodes: &[Node], depth: usize) {
        if nodes.is_empty() {
            self.line(depth, "nothing on arrays");
        }
        self.nodes(nodes, depth);
    }

    fn branch(&mut self, v: &Version, prov: Prov, then: &[Node], otherwise: &[Node], depth: usize) {
        let condition = condition(self.w, v);
        let line = self.w.line(prov);
        self.line(depth, &format!("if {condition}, a first version ({line}):"));
        self.block(then, depth + 1);
        self.out.push('\n');
        self.line(depth, "otherwise, a second version:");
        self.block(otherwise, depth + 1);
    }

    fn step(&mut self, k: usize, depth: usize) {
        let Some(step) = self.w.report.steps.get(k) else { return };
        let title = self.w.title(step);
        self.line(depth, &format!("{}. {title}", k + 1));
        let pieces = self.w.fused(step);
        let mut items: Vec<Vec<String>> =
            pieces.iter().take(MOST_PIECES).map(|p| vec![self.w.place(p), p.text.clone()]).collect();
        if pieces.len() > MOST_PIECES {
            items.push(vec![format!("and {} more", pieces.len() - MOST_PIECES)]);
        }
        self.list(depth, "does", &items);
        let inner = self.w.inner(&step.inner);
        if !inner.is_empty() {
            self.list(depth, "inside", &[vec![format!("one thread each: {}", inner.join("; "))]]);
        }
        let mut reads = Vec::new();
        for r in &step.reads {
            let bytes = self.w.bytes(&r.elements, r.bytes);
            reads.push(vec![self.w.array(r.array), bytes, self.w.access(r)]);
        }
        self.list(depth, "reads", &reads);
        let mut writes = Vec::new();
        for x in &step.writes {
            writes.push(vec![self.w.array(x.array), self.w.bytes(&x.elements, x.bytes)]);
        }
        self.list(depth, "writes", &writes);
        let costs = operations(self.w, &step.cost);
        self.list(depth, "costs", &[vec![costs]]);
    }

    fn arrays(&mut self) {
        if self.w.report.arrays.is_empty() {
            return;
        }
        self.out.push_str("\narrays in memory, and why:\n");
        let mut items = Vec::new();
        for m in &self.w.report.arrays {
            items.push(vec![self.w.array(m.array), self.w.bytes(&m.elements, m.bytes), self.w.why(m)]);
        }
        let width = |k: usize| items.iter().map(|i| i[k].chars().count()).max().unwrap_or(0);
        let (a, b) = (width(0), width(1));
        for i in &items {
            let pad =
                |text: &str, width: usize| format!("{text}{}", " ".repeat(width - text.chars().count()));
            self.line(1, &format!("{}  {}  {}", pad(&i[0], a), pad(&i[1], b), i[2]));
        }
    }

    fn totals(&mut self) {
        for (title, cost, depth) in totals(self.w) {
            self.out.push_str(&format!("\n{title}:\n"));
            let both =
                [("reads", &cost.reads, cost.reads_at_most), ("writes", &cost.writes, cost.writes_at_most)];
            for (key, f, at_most) in both {
                let most = if at_most { "at most " } else { "" };
                let bytes = self.w.formula(f);
                self.line(1, &format!("{key:<7}{most}{bytes} bytes"));
            }
            let costs = operations(self.w, &cost);
            self.line(1, &format!("{:<7}{costs}", "costs"));
            if let Some(ratio) = intensity(&cost) {
                self.line(1, &format!("       {} operations on floats for each byte", short(ratio)));
            }
            // What is at most so much: which of two branches runs is not known.
            let most = if cost.operations_at_most || cost.reads_at_most { "at most " } else { "" };
            let work = self.w.formula(&cost.work());
            self.line(1, &format!("{:<7}{most}{work} operations, and elements that are moved", "work"));
            let steps = if depth == Formula::one() { "step" } else { "steps" };
            let depth = self.w.formula(&depth);
            self.line(1, &format!("{:<7}{depth} {steps}, if all runs at once that can", "depth"));
            let space = self.w.formula(&self.w.report.space());
            let of =
                if self.w.report.in_pieces { " of a piece: M with one item in it, N with all" } else { "" };
            self.line(1, &format!("{:<7}at most {space} bytes of arrays at once{of}", "space"));
        }
    }

    fn legend(&mut self) {
        let legend = self.w.legend();
        if legend.is_empty() {
            return;
        }
        self.out.push_str("\nwhere\n");
        let width = legend.iter().map(|(n, _)| n.chars().count()).max().unwrap_or(0);
        for (name, meaning) in legend {
            let pad = " ".repeat(width - name.chars().count());
            self.line(1, &format!("{name}{pad}  {meaning}"));
        }
    }
}

/// `n·m ≥ 512 (par.outer)`, `n ≥ 16 (par.loop) or n·m < 4096 (par.inner)`.
pub fn condition(w: &Words<'_>, v: &Version) -> String {
    let one = |c: &Comparison| {
        let compare = match c.compare {
            Compare::AtLeast => '≥',
            Compare::Below => '<',
        };
        format!("{} {compare} {} ({})", w.formula(&c.size), c.value, c.threshold)
    };
    v.any.iter().map(one).collect::<Vec<_>>().join(" or ")
}

pub fn operations(w: &Words<'_>, cost: &Cost) -> String {
    let o = &cost.operations;
    let most = if cost.operations_at_most { "at most " } else { "" };
    match (o.float.is_zero(), o.other.is_zero()) {
        (true, true) => "no operations".to_owned(),
        (false, true) => format!("{most}{} operations on floats", w.formula(&o.float)),
        (true, false) => format!("{most}{} operations on integers and truth values", w.formula(&o.other)),
        (false, false) => {
            format!("{most}{} operations on floats and {} others", w.formula(&o.float), w.formula(&o.other))
        }
    }
}

/// The sums, by which versions run, and the depth of each.
pub fn totals(w: &Words<'_>) -> Vec<(String, Cost, Formula)> {
    let r = w.report;
    let versions = r.versions();
    let of = |is: bool| (r.cost(&r.nodes, &|_| is), r.depth(&r.nodes, &|_| is));
    let (first, second) = (of(true), of(false));
    let all = match versions.as_slice() {
        [] => vec![("in all".to_owned(), first)],
        _ if first == second => vec![("in all, whichever versions run".to_owned(), first)],
        all => {
            let mut conditions: Vec<String> = all.iter().map(|v| condition(w, v)).collect();
            conditions.dedup();
            let (is, isnt) = match conditions.as_slice() {
                [one] => (format!("in all, if {one}"), "in all, otherwise".to_owned()),
                _ => (
                    "in all, with the first version everywhere".to_owned(),
                    "in all, with the second version everywhere".to_owned(),
                ),
            };
            vec![(is, first), (isnt, second)]
        }
    };
    all.into_iter().map(|(title, (cost, depth))| (title, cost, depth)).collect()
}

/// Operations on floats for each byte, where the terms that grow fastest are of one kind.
pub fn intensity(cost: &Cost) -> Option<f64> {
    if cost.reads_at_most || cost.writes_at_most || cost.operations_at_most {
        return None;
    }
    let bytes = &cost.reads + &cost.writes;
    let (a, x) = leading(&cost.operations.float)?;
    let (b, y) = leading(&bytes)?;
    (a == b && y > 0).then(|| x as f64 / y as f64)
}

/// Three digits after the point, at most.
fn short(x: f64) -> String {
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

type Factors = Vec<(remc_cost::formula::Symbol, u32)>;

/// The one term of most factors.
fn leading(f: &Formula) -> Option<(Factors, i128)> {
    let degree = |m: &[(remc_cost::formula::Symbol, u32)]| m.iter().map(|(_, e)| *e).sum::<u32>();
    let most = f.terms().map(|(m, _)| degree(m)).max()?;
    let mut all = f.terms().filter(|(m, _)| degree(m) == most);
    let (m, c) = all.next()?;
    all.next().is_none().then(|| (m.to_vec(), c))
}

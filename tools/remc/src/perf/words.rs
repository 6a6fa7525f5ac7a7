//! Names for what an analysis speaks of: sizes and arrays by the program's own names, places by their lines and
//! text, steps by what they do.

use crate::report::{Placed, Places};
use remc_base::ops::ScalarOp;
use remc_base::{GlobalId, NodeId, Prov, Span};
use remc_cost::formula::{Formula, Symbol};
use remc_cost::leaf::{Access, Inner, InnerKind, Read};
use remc_cost::report::{Made, Report, Step, What as Kind, Why};
use remc_driver::Session;
use remc_driver::render::{Sources, line_column};
use remc_flat::across::{COLUMNS, ROWS};
use remc_flat::ir::{Program, ScanKind, Var};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What is explained.
pub struct What {
    pub entry: Option<String>,
    pub device: &'static str,
}

/// What the compiler calls things that have no name.
const NAMELESS: [&str; 14] =
    ["a", "t", "x", "i", "j", "r", "p", "s", "c", "acc", "par", "out", "which", "at"];
/// The most characters of a piece of the program that are shown.
const WIDTH: usize = 60;

pub struct Words<'a> {
    session: &'a Session,
    p: &'a Program,
    pub report: &'a Report,
    /// Whether the device transposes arrays that are read across their rows: a GPU's blocks load tiles, in any order.
    transposes: bool,
    /// Where the text was written, if it was put together.
    places: Option<&'a Places>,
    /// The names of symbols, in the order of their first use.
    names: RefCell<Vec<(Symbol, String)>>,
}

/// A piece of the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Piece {
    pub path: String,
    pub line: usize,
    pub text: String,
}

impl<'a> Words<'a> {
    pub fn new(session: &'a Session, p: &'a Program, report: &'a Report, transposes: bool) -> Words<'a> {
        let words = Words { session, p, report, transposes, places: None, names: RefCell::default() };
        // Parameters have the first right to their names.
        for v in words.p.params.iter().filter(|v| words.p.vars[**v].ty.is_scalar()) {
            words.symbol(Symbol::Value(*v));
        }
        words
    }

    /// The same, which speaks of lines of what the text was put together of.
    pub fn placed(self, places: Option<&'a Places>) -> Words<'a> {
        Words { places, ..self }
    }

    // ---- formulas ----

    pub fn formula(&self, f: &Formula) -> String {
        f.show(&|s| self.symbol(s))
    }

    pub fn bytes(&self, elements: &Formula, bytes: u32) -> String {
        let text = self.formula(&(elements * &Formula::from(i128::from(bytes))));
        if text == "1" { "1 byte".to_owned() } else { format!("{text} bytes") }
    }

    fn symbol(&self, s: Symbol) -> String {
        if let Some((_, name)) = self.names.borrow().iter().find(|(t, _)| *t == s) {
            return name.clone();
        }
        let wanted = match s {
            Symbol::Value(v) => self.own_name(v).unwrap_or_else(|| "size".to_owned()),
            Symbol::Sum(v) => {
                let row = self.report.rows.get(&v).map(|f| self.formula(f)).unwrap_or_default();
                if row.contains(' ') { format!("Σ({row})") } else { format!("Σ{row}") }
            }
            Symbol::Rounds(_) => "rounds".to_owned(),
        };
        let mut names = self.names.borrow_mut();
        let taken = |name: &str| names.iter().any(|(_, n)| n == name);
        let mut name = wanted.clone();
        let mut k = 2;
        while taken(&name) {
            name = format!("{wanted}_{k}");
            k += 1;
        }
        names.push((s, name.clone()));
        name
    }

    /// A variable's name, if a person has given it.
    fn own_name(&self, v: Var) -> Option<String> {
        let name = self.p.vars[v].name.as_str();
        let is_param = self.p.params.contains(&v);
        (is_param || !NAMELESS.contains(&name)).then(|| name.to_owned())
    }

    /// What the names that are no parameters mean.
    pub fn legend(&self) -> Vec<(String, String)> {
        let names = self.names.borrow().clone();
        let mut out = Vec::new();
        for (s, name) in &names {
            let meaning = match s {
                Symbol::Value(v) if self.p.params.contains(v) => continue,
                Symbol::Value(v) if !self.report.computed.contains_key(v) => "of each row".to_owned(),
                Symbol::Value(v) => {
                    let at = self.report.computed.get(v).and_then(|p| self.piece(*p));
                    let at = at.map(|p| format!(", {}: {}", self.place(&p), p.text)).unwrap_or_default();
                    let varies = if self.report.varying.contains(v) {
                        "; another number in each round, here its mean"
                    } else {
                        ""
                    };
                    format!("known when the program runs{at}{varies}")
                }
                Symbol::Sum(v) => {
                    let row = self.report.rows.get(v).map(|f| self.formula(f)).unwrap_or_default();
                    format!("the sum of `{row}` over all rows")
                }
                Symbol::Rounds(_) => "how often the loop runs, which the data decide".to_owned(),
            };
            out.push((name.clone(), meaning));
        }
        out
    }

    /// The sizes that the entry takes.
    pub fn sizes(&self) -> Vec<String> {
        let scalars = self.p.params.iter().filter(|v| self.p.vars[**v].ty.is_scalar());
        let used =
            |v: &&Var| self.p.vars.iter().any(|(_, i)| i.ty.dims.iter().any(|d| d.as_var() == Some(**v)));
        scalars.filter(used).map(|v| self.symbol(Symbol::Value(*v))).collect()
    }

    // ---- places ----

    fn user(&self, prov: Prov) -> Option<Span> {
        let trace = self.p.provs.contains(prov).then(|| self.p.provs.trace(prov))?;
        let user = trace.iter().find(|(g, _)| g.module >= self.session.first_user_module());
        let (global, node): &(GlobalId, NodeId) = user.or(trace.first())?;
        self.session.node_span(global, *node)
    }

    fn piece_of(&self, span: Span) -> Option<Piece> {
        let span = self.places.map_or(span, |places| places.span(span));
        let placed = self.places.map(|places| Placed { sources: self.session, places });
        let (path, source) = match &placed {
            Some(placed) => placed.source(span.module)?,
            None => self.session.source(span.module)?,
        };
        let (line, _) = line_column(source, span.start as usize);
        let text = source.get(span.start as usize..span.end as usize)?;
        Some(Piece { path: path.to_owned(), line, text: brief(text) })
    }

    /// The expression that a statement comes from.
    pub fn piece(&self, prov: Prov) -> Option<Piece> {
        self.piece_of(self.user(prov)?)
    }

    /// `line 3`, and of which file if there are several.
    pub fn place(&self, piece: &Piece) -> String {
        let main = self.p.provs.iter().last().and_then(|(p, _)| self.piece(p));
        match main {
            Some(main) if main.path != piece.path => format!("{} line {}", piece.path, piece.line),
            _ => format!("line {}", piece.line),
        }
    }

    pub fn line(&self, prov: Prov) -> String {
        self.piece(prov).map(|p| self.place(&p)).unwrap_or_else(|| "an unknown line".to_owned())
    }

    /// The expressions that a step computes, in the order of the text; without those inside of others.
    pub fn fused(&self, step: &Step) -> Vec<Piece> {
        let mut spans: Vec<Span> = step.fused.iter().filter_map(|p| self.user(*p)).collect();
        spans.sort_by_key(|s| (s.module, s.start, std::cmp::Reverse(s.end)));
        spans.dedup();
        let mut outer: Vec<Span> = Vec::new();
        for s in spans {
            let inside = |o: &Span| o.module == s.module && o.start <= s.start && s.end <= o.end;
            if !outer.iter().any(inside) {
                outer.push(s);
            }
        }
        outer.into_iter().filter_map(|s| self.piece_of(s)).collect()
    }

    // ---- arrays ----

    /// Which steps make an array.
    fn makers(&self, v: Var) -> Option<&Made> {
        let writes = |m: &&Made| {
            m.array == v || m.steps.iter().any(|k| self.report.steps[*k].writes.iter().any(|w| w.array == v))
        };
        self.report.arrays.iter().find(writes)
    }

    pub fn array(&self, v: Var) -> String {
        let mut root = v;
        // An array is never part of itself.
        for _ in 0..self.report.roots.len() {
            match self.report.roots.get(&root) {
                Some(of) if self.makers(root).is_none() => root = *of,
                _ => break,
            }
        }
        let name = self.own_name(root).or_else(|| self.own_name(v));
        if self.report.states.contains(&v) {
            return self
                .own_name(v)
                .map_or("the loop's state".to_owned(), |n| format!("{n}, the loop's state"));
        }
        if self.p.vars[v].ty.is_scalar() {
            let writes = |s: &Step| s.writes.iter().any(|w| w.array == v);
            let step = self.report.steps.iter().position(writes).unwrap_or(0);
            let filters = matches!(self.report.steps[step].what, Kind::Filter { .. });
            let name = if filters { Some(self.symbol(Symbol::Value(v))) } else { self.own_name(v) };
            let result = || format!("result of {}", steps(&[step]));
            return name.map_or_else(result, |n| format!("{n}, {}", steps(&[step])));
        }
        match (self.makers(root), name) {
            (Some(m), Some(name)) => format!("{name}, {}", steps(&m.steps)),
            (Some(m), None) => format!("result of {}", steps(&m.steps)),
            (None, Some(name)) => name,
            (None, None) => "a constant table".to_owned(),
        }
    }

    /// What is special in how an array is read.
    pub fn access(&self, r: &Read) -> String {
        let how = match (r.access, r.again, r.exact) {
            (Access::Gather, ..) => "gather: one by one, at computed places",
            (Access::Runs, ..) => "at computed places, neighbours beside each other",
            (Access::Regular, true, true) => "each element several times, counted once",
            (Access::Regular, true, false) => "at most; each element several times, counted once",
            (Access::Regular, false, false) => "at most",
            (Access::Regular, false, true) => "",
        };
        let Some(sizes) = r.transposed.as_ref().filter(|_| self.transposes) else { return how.to_owned() };
        let mut open: Vec<(&Formula, i64)> = sizes.iter().zip([ROWS, COLUMNS]).collect();
        open.retain(|(n, _)| n.constant().is_none());
        // Of one size the larger bound, which comes first.
        open.dedup_by_key(|(n, _)| *n);
        let tests: Vec<String> =
            open.into_iter().map(|(n, least)| format!("{} ≥ {least}", self.formula(n))).collect();
        let copy = match tests.is_empty() {
            true => "from a transposed copy".to_owned(),
            false => format!("if {} from a transposed copy", tests.join(" and ")),
        };
        if how.is_empty() { copy } else { format!("{how}; {copy}") }
    }

    pub fn why(&self, m: &Made) -> String {
        let made = steps(&m.steps);
        let reasons: Vec<String> = m
            .why
            .iter()
            .map(|w| match w {
                Why::Result => "a result of the program".to_owned(),
                Why::Carried(prov) => format!("the state of the loop of {}", self.line(*prov)),
                Why::ManyReaders => format!("{} read it", steps(&m.readers)),
                Why::Computed(k, _) => format!("step {} finds its elements at computed places", k + 1),
                Why::Again(k) => {
                    format!("step {} reads each element several times; it is computed once", k + 1)
                }
                Why::Operand(k) => format!("step {} needs it as a whole", k + 1),
                Why::Complete(k) => format!("step {} has to wait until {made} has finished", k + 1),
                Why::Versions(k) => format!("step {} reads it, whichever version runs", k + 1),
                Why::Apart(k) => format!("step {}, a nest of its own, reads it", k + 1),
            })
            .collect();
        if reasons.is_empty() { "only the host reads it".to_owned() } else { reasons.join("; ") }
    }

    // ---- steps ----

    fn space(&self, space: &[Formula]) -> String {
        let sizes: Vec<String> = space.iter().map(|f| self.factor(f)).collect();
        sizes.join(" × ")
    }

    /// A formula that stands beside others.
    fn factor(&self, f: &Formula) -> String {
        let text = self.formula(f);
        if f.len() > 1 { format!("({text})") } else { text }
    }

    pub fn title(&self, step: &Step) -> String {
        let each = |space: &[Formula]| match space {
            [] => String::new(),
            all => format!(", for each of {}", self.space(all)),
        };
        match &step.what {
            Kind::Map { space } if step.writes.is_empty() && !space.is_empty() => {
                format!("checks over {}", self.space(space))
            }
            Kind::Map { space } if space.is_empty() => "work of one thread".to_owned(),
            Kind::Map { space } => format!("map over {}", self.space(space)),
            Kind::Reduce { space, axis, ops, assoc } => {
                format!("{} over {}{}", operator(ops, *assoc), self.factor(axis), each(space))
            }
            Kind::Scan { axis, ops, assoc, known: Some(every), .. } => {
                let (axis, every) = (self.factor(axis), self.factor(every));
                format!(
                    "map over {axis}, with a running {} from what is known at every {every}",
                    operator(ops, *assoc)
                )
            }
            Kind::Scan { space, axis, ops, assoc, kind, known: None } => {
                let what = match kind {
                    ScanKind::Inclusive => "",
                    ScanKind::Exclusive => ", each without its own element",
                    ScanKind::Full => ", from the start on",
                };
                let name = operator(ops, *assoc);
                format!("scan: running {name} along {}{what}{}", self.factor(axis), each(space))
            }
            Kind::Scatter { axis, combine, in_place } => {
                let how = if *combine { ", combined with what is there" } else { "" };
                let to = if *in_place { "in place" } else { "into a copy" };
                format!("scatter of {} items, {to}{how}", self.factor(axis))
            }
            Kind::Filter { axis, parts: 1 } => format!("filter of {} items", self.factor(axis)),
            Kind::Filter { axis, parts } => format!("{parts} filters of {} items", self.factor(axis)),
            Kind::Sort { axis } => format!("sort of {} items", self.factor(axis)),
            Kind::Copy { view } => format!("copy of an array, {view}"),
        }
    }

    /// The loops that each thread runs.
    pub fn inner(&self, inner: &[Inner]) -> Vec<String> {
        let mut all = Vec::new();
        for i in inner {
            let name = match i.kind {
                InnerKind::Map => "map",
                InnerKind::Reduce => "reduction",
                InnerKind::Scan => "scan",
                InnerKind::Loop => "loop",
                InnerKind::While => "while loop",
                InnerKind::Other => "pass",
            };
            let mut text = match &i.size {
                Some(size) => format!("{name} over {}", self.factor(size)),
                None => name.to_owned(),
            };
            if !i.own.is_zero() {
                text.push_str(&format!(" (into {} bytes of its own)", self.formula(&i.own)));
            }
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }
}

/// `step 3`, `steps 2, 4 and 5`.
pub fn steps(all: &[usize]) -> String {
    let numbers: Vec<String> = all.iter().map(|k| (k + 1).to_string()).collect();
    match numbers.split_last() {
        None => "no step".to_owned(),
        Some((one, [])) => format!("step {one}"),
        Some((last, rest)) => format!("steps {} and {last}", rest.join(", ")),
    }
}

fn operator(ops: &Option<Vec<ScalarOp>>, assoc: bool) -> String {
    let Some(ops) = ops else {
        return if assoc { "reduction" } else { "fold, one element after the other," }.to_owned();
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for op in ops {
        let name = match op {
            ScalarOp::Add => "sum",
            ScalarOp::Mul => "product",
            ScalarOp::Min2 => "minimum",
            ScalarOp::Max2 => "maximum",
            ScalarOp::And => "all",
            ScalarOp::Or => "any",
            _ => "reduction",
        };
        *counts.entry(name).or_default() += 1;
    }
    let all: Vec<String> = counts
        .into_iter()
        .map(|(name, n)| if n == 1 { name.to_owned() } else { format!("{n} × {name}") })
        .collect();
    all.join(" and ")
}

/// A piece of text on one line.
fn brief(text: &str) -> String {
    let lines = text.lines().map(|l| match l.find(';') {
        // A comment, unless the sign stands in a literal.
        Some(at) if !l.contains(['"', '\\']) => &l[..at],
        _ => l,
    });
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    if line.chars().count() <= WIDTH {
        return line;
    }
    let start: String = line.chars().take(WIDTH - 2).collect();
    format!("{} …", start.trim_end())
}

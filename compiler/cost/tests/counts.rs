//! The formulas tell the truth: every program of the testsuite and every example of the library is run with
//! all its operations and reads counted, and each step's formulas, at the sizes of the run, give just those
//! counts; or, where something depends on a condition or on computed places, no fewer.

#[allow(dead_code)]
#[path = "../../mono/tests/build_support/mod.rs"]
mod build_support;

use build_support::*;
use remc_cost::formula::{Formula, Symbol};
use remc_cost::report::{Report, What};
use remc_flat::appends::homes;
use remc_flat::flatten::{Thresholds, flatten_with};
use remc_flat::ir::{self as flat, Atom, Exp, Guard, Rows, SegKind, Var};
use remc_flat::meaning::to_mono;
use remc_mono::eval::{self, Array};
use remc_mono::ir as mono;
use std::collections::{HashMap, HashSet};

#[test]
fn programs_of_the_testsuite() {
    on_a_large_stack(|| compare(testsuite(), 300));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| compare(library(), 50));
}

/// How many comparisons were equal and how many were bounds.
#[derive(Default, Debug)]
struct Tally {
    operations_equal: usize,
    operations_bounded: usize,
    reads_equal: usize,
    reads_bounded: usize,
}

fn compare(cases: Vec<Case>, least: usize) {
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    let mut sessions = Sessions::new();
    for case in cases {
        let Ok(Ran { program: Some(built), params, .. }) = sessions.run(&case) else { continue };
        let mut optimised = built.clone();
        remc_mono::opt::optimise(&mut optimised);
        for (what, program) in [("built", built), ("optimised", optimised)] {
            let thresholds = Thresholds::tiny(3);
            let p = flatten_with(&program, &thresholds).unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
            for first in [true, false] {
                if let Err(e) = one(&p, &params, first, &mut tally) {
                    let text = remc_flat::print::print_program(&p);
                    wrong.push(format!("{} ({what}, first versions: {first}): {e}\n{text}", case.name));
                }
            }
        }
    }
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tally.operations_equal > least && tally.reads_equal > least, "{tally:?}");
}

/// What a step's statements are, found without the analysis.
#[derive(Default)]
struct Places {
    /// A variable that each step binds when all its reads are done, and how often each has run.
    steps: Vec<Option<Var>>,
    axes: Vec<Vec<Var>>,
    /// Some reads of the step are of whole cells, which nothing counts.
    whole: Vec<bool>,
    /// Operations: of which step, and whether of floats.
    operations: HashMap<Var, (usize, bool)>,
    /// Elements read: of which step.
    elements: HashMap<Var, (usize, Var, Vec<Atom>)>,
    cells: HashMap<Var, (Var, Vec<Atom>)>,
    /// The results of each filter, by the first.
    filters: HashMap<Var, Vec<Var>>,
    local: HashSet<Var>,
    /// What a `while` with this first state gives.
    rounds: HashMap<Var, Var>,
    /// Of an axis of a map the sizes of those inside it, for each point of which it is bound anew.
    inside: HashMap<Var, Vec<Atom>>,
}

impl Places {
    fn host(&mut self, p: &flat::Program, b: &flat::Body) {
        let sizes = p.input_sizes();
        let homes = homes(b, &p.vars, &|v| sizes.contains(&v)).homes;
        for s in &b.stmts {
            let step = self.steps.len();
            let mut leaf = |bodies: &[&mono::Body], axes: &[flat::Axis], dests: bool| {
                self.steps.push(s.pat.first().copied());
                self.axes.push(axes.iter().map(|a| a.var).collect());
                self.whole.push(dests);
                bodies.iter().for_each(|b| self.leaf(p, b, step));
            };
            match &s.exp {
                Exp::Host(mono::Exp::View { view: mono::View::Reshape { .. }, .. }) => {}
                // What is made where it belongs is not copied there.
                Exp::Host(mono::Exp::View { view: mono::View::Append { with }, array })
                    if [array, with].into_iter().all(|v| homes.contains_key(v)) => {}
                Exp::Host(mono::Exp::View { .. }) => leaf(&[], &[], true),
                Exp::Host(mono::Exp::Index { array, at }) => {
                    if let Some(v) = s.pat.first().filter(|v| !p.vars[**v].ty.is_scalar()) {
                        self.cells.insert(*v, (*array, at.clone()));
                    }
                }
                Exp::Host(mono::Exp::Atom(Atom::Var(a))) => {
                    if let Some(v) = s.pat.first().filter(|v| !p.vars[**v].ty.is_scalar()) {
                        self.cells.insert(*v, (*a, vec![]));
                    }
                }
                Exp::Seg(seg) => {
                    let mut axes = seg.space.clone();
                    match &seg.kind {
                        SegKind::Map => leaf(&[&seg.body], &axes, false),
                        SegKind::Red { axis, op } | SegKind::Scan { axis, op, .. } => {
                            axes.push(*axis);
                            let starts = op.start.iter().flatten().filter_map(|a| a.as_var());
                            // Prefixes that are known are read by what runs, and not by what it means.
                            let known = matches!(&seg.kind, SegKind::Scan { known: Some(_), .. });
                            let whole = known || starts.into_iter().any(|v| !p.vars[v].ty.is_scalar());
                            self.local.extend(&op.lambda.params);
                            if let SegKind::Scan { epilogue: Some(l), .. } = &seg.kind {
                                self.local.extend(&l.params);
                            }
                            let mut leaf = |bodies: &[&mono::Body]| {
                                self.steps.push(s.pat.first().copied());
                                self.axes.push(axes.iter().map(|a| a.var).collect());
                                self.whole.push(whole);
                                bodies.iter().for_each(|b| self.leaf(p, b, step));
                            };
                            let mut bodies = vec![&seg.body, &op.lambda.body];
                            if let SegKind::Scan { epilogue: Some(l), .. } = &seg.kind {
                                bodies.push(&l.body);
                            }
                            leaf(&bodies);
                        }
                    }
                }
                Exp::Scatter { axis, body, combine, .. } => {
                    let mut bodies = vec![body];
                    bodies.extend(combine.iter().map(|l| &l.body));
                    leaf(&bodies, &[*axis], true);
                    combine.iter().for_each(|l| self.local.extend(&l.params));
                }
                Exp::Filters(parts) => {
                    let bodies: Vec<_> = parts.iter().map(|part| &part.body).collect();
                    leaf(&bodies, &parts.iter().map(|part| part.axis).collect::<Vec<_>>(), false);
                    // The step has run when the last of them has.
                    let last = parts.last().map_or(0, |part| s.pat.len() - part.body.results.len());
                    self.steps[step] = Some(s.pat[last]);
                    self.filters.insert(s.pat[0], s.pat.clone());
                }
                Exp::Grade { axis, body, .. } => leaf(&[body], &[*axis], false),
                // Where a row begins is read by what runs, and not by the reads of the body.
                Exp::Rows(Rows { axis, body, starts, .. }) => leaf(&[body], &[*axis], !starts.is_empty()),
                Exp::While { state, .. } => {
                    if let (Some((v, _)), Some(r)) = (state.first(), s.pat.first()) {
                        self.rounds.insert(*v, *r);
                    }
                }
                _ => {}
            }
            s.exp.bodies().into_iter().for_each(|b| self.host(p, b));
        }
    }

    fn leaf(&mut self, p: &flat::Program, b: &mono::Body, step: usize) {
        for s in &b.stmts {
            if let mono::Exp::Map { axes, .. } = &s.exp {
                let inside = |k: usize| axes[k + 1..].iter().map(|a| a.size).collect();
                self.inside.extend(axes.iter().enumerate().map(|(k, a)| (a.var, inside(k))));
            }
            self.axes[step].extend(match &s.exp {
                mono::Exp::Map { axes, .. } => axes.iter().map(|a| a.var).collect(),
                mono::Exp::For { axis, .. }
                | mono::Exp::Reduce { axis, .. }
                | mono::Exp::Scan { axis, .. }
                | mono::Exp::Scatter { axis, .. }
                | mono::Exp::Filter { axis, .. }
                | mono::Exp::Grade { axis, .. } => vec![axis.var],
                _ => vec![],
            });
            let base = |a: &Atom| match a {
                Atom::Var(v) => p.vars[*v].ty.base,
                Atom::Const(c) => c.ty(),
            };
            let is_alias = matches!(s.exp, mono::Exp::Atom(_) | mono::Exp::Index { .. });
            if !is_alias {
                self.local.extend(s.pat.iter().chain(&s.exp.inner_binders()));
            }
            // Whatever mentions an array as a whole reads it.
            let mut mentions = vec![];
            match &s.exp {
                mono::Exp::Index { .. } | mono::Exp::Atom(_) => {}
                e => e.for_each_operand(&mut |a| mentions.push(a)),
            }
            for b in s.exp.bodies() {
                mentions.extend(&b.results);
            }
            self.mention(p, &mentions, step);
            match (&s.exp, s.pat.as_slice()) {
                (mono::Exp::Op(_, args), [v]) => {
                    let float = args.iter().any(|a| base(a).is_float()) || p.vars[*v].ty.base.is_float();
                    self.operations.insert(*v, (step, float));
                }
                (mono::Exp::Cast(..), [v]) => {
                    self.operations.insert(*v, (step, false));
                }
                (mono::Exp::Index { array, at }, [v]) if p.vars[*v].ty.is_scalar() => {
                    self.elements.insert(*v, (step, *array, at.clone()));
                }
                (mono::Exp::Index { array, at }, [v]) => {
                    self.cells.insert(*v, (*array, at.clone()));
                }
                (mono::Exp::Atom(Atom::Var(a)), [v]) if !p.vars[*v].ty.is_scalar() => {
                    self.cells.insert(*v, (*a, vec![]));
                }
                (mono::Exp::While { state, .. }, [r, ..]) => {
                    if let Some((v, _)) = state.first() {
                        self.rounds.insert(*v, *r);
                    }
                }
                _ => {}
            }
            s.exp.bodies().into_iter().for_each(|b| self.leaf(p, b, step));
        }
        self.mention(p, &b.results, step);
    }

    fn mention(&mut self, p: &flat::Program, atoms: &[Atom], step: usize) {
        let arrays = atoms.iter().filter_map(|a| a.as_var()).filter(|v| !p.vars[*v].ty.is_scalar());
        for v in arrays {
            self.whole[step] |= !self.local.contains(&self.root(v, &[]).0);
        }
    }

    fn root(&self, array: Var, at: &[Atom]) -> (Var, Vec<Atom>) {
        let (mut array, mut at) = (array, at.to_vec());
        while let Some((of, first)) = self.cells.get(&array) {
            array = *of;
            at = first.iter().chain(&at).copied().collect();
        }
        (array, at)
    }
}

/// What a run does.
#[derive(Default)]
struct Counts {
    bound: HashMap<Var, u64>,
    last: HashMap<Var, i64>,
    operations: HashMap<(usize, bool), u64>,
    now: HashMap<usize, HashSet<(Var, Vec<i64>)>>,
    reads: HashMap<usize, u64>,
    runs: HashMap<usize, u64>,
}

impl Counts {
    fn bind(&mut self, places: &Places, steps: &HashMap<Var, usize>, v: Var, a: &Array) {
        *self.bound.entry(v).or_default() += 1;
        if a.dims.is_empty()
            && let Some(n) = a.data[0].as_integer()
        {
            self.last.insert(v, n as i64);
        }
        if let Some(key) = places.operations.get(&v) {
            *self.operations.entry(*key).or_default() += 1;
        }
        if let Some((step, array, at)) = places.elements.get(&v) {
            let (root, at) = places.root(*array, at);
            if !places.local.contains(&root) {
                let at = at.iter().map(|a| a.as_int().unwrap_or_else(|| self.last[&a.as_var().unwrap()]));
                let at = at.collect();
                self.now.entry(*step).or_default().insert((root, at));
            }
        }
        if let Some(step) = steps.get(&v) {
            *self.runs.entry(*step).or_default() += 1;
            let read = self.now.remove(step).map_or(0, |s| s.len() as u64);
            *self.reads.entry(*step).or_default() += read;
        }
    }
}

fn one(p: &flat::Program, params: &[Array], first: bool, tally: &mut Tally) -> Result<(), String> {
    let report = remc_cost::analyse(p);
    let mut places = Places::default();
    places.host(p, &p.body);
    if places.steps.len() != report.steps.len() {
        return Err(format!("{} steps, not {}", report.steps.len(), places.steps.len()));
    }
    let steps: HashMap<Var, usize> =
        places.steps.iter().enumerate().filter_map(|(k, v)| Some(((*v)?, k))).collect();
    let mut counts = Counts::default();
    let program = to_mono(p, &mut |_: &Guard| Some(first));
    if eval::run_watched(&program, params, &mut |v, a| counts.bind(&places, &steps, v, a)).is_err() {
        // A program that stops has not run all of its steps.
        return Ok(());
    }
    for (k, step) in report.steps.iter().enumerate() {
        let runs = counts.runs.get(&k).copied().unwrap_or(0);
        if runs == 0 {
            continue;
        }
        let cost = &step.cost;
        let formulas = [&cost.operations.float, &cost.operations.other, &cost.read_elements];
        if formulas.iter().any(|f| varies(&report, f)) {
            continue;
        }
        let value = |f: &Formula| evaluate(&report, &places, &counts, runs, f);
        let regular = places.axes[k].iter().all(|v| counts.bound.get(v).is_some_and(|n| *n > 0));
        for (what, float, f) in
            [("float", true, &cost.operations.float), ("other", false, &cost.operations.other)]
        {
            let counted = counts.operations.get(&(k, float)).copied().unwrap_or(0) as f64;
            let Some(told) = value(f) else { return Err(format!("step {}: {f:?} has no value", k + 1)) };
            let told = told * runs as f64;
            let equal = (told - counted).abs() < 0.5;
            if equal {
                tally.operations_equal += usize::from(counted > 0.0);
            } else {
                tally.operations_bounded += 1;
            }
            if !(equal || cost.operations_at_most && told >= counted) {
                return Err(format!("step {}: {told} {what} operations, but {counted} are done", k + 1));
            }
        }
        let Some(told) = value(&cost.read_elements) else {
            return Err(format!("step {}: {:?} has no value", k + 1, cost.read_elements));
        };
        let (told, counted) = (told * runs as f64, counts.reads.get(&k).copied().unwrap_or(0) as f64);
        let exact = !cost.reads_at_most && regular && !places.whole[k];
        if exact && (told - counted).abs() < 0.5 {
            tally.reads_equal += usize::from(counted > 0.0);
        } else if exact || told < counted {
            return Err(format!("step {}: {told} elements read, but {counted} are", k + 1));
        } else {
            tally.reads_bounded += 1;
        }
        if matches!(step.what, What::Filter { .. }) && runs == 1 {
            // A filter writes as many items as it keeps.
            let Some(results) = places.filters.get(&step.writes[0].array) else {
                return Err(format!("step {}: no filter", k + 1));
            };
            let arrays = results.iter().map(|v| &p.vars[*v].ty.dims).filter(|dims| !dims.is_empty());
            let rows = arrays.clone().map(|dims| counts.last.get(&dims[0].as_var()?).map(|n| *n as f64));
            let kept: Option<f64> = rows.sum();
            let told: Option<f64> = step
                .writes
                .iter()
                .filter(|w| !p.vars[w.array].ty.is_scalar())
                .map(|w| value(&w.elements))
                .sum();
            if arrays.clone().all(|dims| dims.len() == 1) && told != kept {
                return Err(format!("step {}: a filter that keeps {kept:?}, told {told:?}", k + 1));
            }
        }
    }
    Ok(())
}

/// Whether a formula mentions what is another number in each round of a loop of the host.
fn varies(report: &Report, f: &Formula) -> bool {
    f.symbols().any(|s| matches!(s, Symbol::Value(v) if report.varying.contains(&v)))
}

fn evaluate(report: &Report, places: &Places, counts: &Counts, runs: u64, f: &Formula) -> Option<f64> {
    let count = |v: &Var| counts.bound.get(v).copied().unwrap_or(0) as f64;
    f.value(&|s| match s {
        Symbol::Value(v) => counts.last.get(&v).map(|n| *n as f64),
        Symbol::Sum(v) => {
            let share = evaluate(report, places, counts, runs, report.shares.get(&v)?)?;
            let size = |a: &Atom| a.as_int().or_else(|| counts.last.get(&a.as_var()?).copied());
            let inside: Option<i64> = places.inside.get(&v).into_iter().flatten().map(size).product();
            let share = share * inside? as f64;
            // No rows, no elements.
            Some(if share == 0.0 { 0.0 } else { count(&v) / share / runs as f64 })
        }
        Symbol::Rounds(v) => Some((count(&v) - count(places.rounds.get(&v)?)) / runs as f64),
    })
}

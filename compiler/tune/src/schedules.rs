//! The search for the numbers of operators' schedules, operator by operator.
//!
//! A run of the program says how long each operator took, so one compilation tries a value for all operators at once, and
//! each is judged by its own time:
//!
//! ```text
//! grain        rows:1   scale:1                   compiled   rows:1    scale:1
//! by default   32768    32768        one step up  131072     131072    0.81      1.02       by the default's time
//!                                    another      524288     -         0.79                 scale:1 stays where it was
//!                                    down         8192       8192      …
//! ```
//!
//! - Looked at are operators with a part of the time of some data set, and of those that memory keeps busy already
//!   ([`Machine::bandwidth`]) only what may change how much goes through it.
//! - A number is changed by factors, in both directions, as long as that helps. What cannot help is left out by a **model**
//!   of an operator's run: a block that takes long enough gains nothing by being longer, nor work that has blocks for all
//!   threads many times over by having more.
//! - A value is **screened** by its fastest run first. Only one that looks faster is measured in turn with the one before,
//!   round by round, until the confidence interval of the ratio's median decides ([`crate::clock`]). No data set may lose.
//! - Where a value is surely faster for some data sets and slower for others, no one setting suits all: then an operator gets
//!   **versions**, of which a size of it chooses, and each is searched for by itself ([`versions`]).
//! - At the end everything that was found is measured against the defaults, in turn; where a data set is slower, the
//!   schedules stay as they were.
//!
//! There is no chance in it, but for what the clock says.

mod timing;
mod versions;

use crate::clock::{Care, Ratio};
use crate::measured::{Last, Number, On, Tried};
use crate::search::{NEAR, Objective};
use remc_flat::ir::Named;
use remc_kernel::schedule::Field;
use std::collections::{BTreeMap, BTreeSet};
use timing::{Of, is_slower};
pub use versions::Extent;

/// A number of an operator that may be changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Tunable {
    /// In full: `main/grain/rows:1`.
    pub name: String,
    /// The operator: `rows:1`.
    pub site: String,
    pub field: Field,
    /// What it is by default.
    pub value: i64,
}

/// What an operator has taken in one run.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Spent {
    pub seconds: f64,
    pub launches: u64,
    pub blocks: u64,
    /// Of the buffers that it read and wrote.
    pub bytes: u64,
}

/// One run of a program.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Spending {
    pub seconds: f64,
    /// By operator.
    pub of: BTreeMap<String, Spent>,
}

impl Spending {
    /// The less of both, of each operator.
    fn least(&mut self, other: Spending) {
        self.seconds = self.seconds.min(other.seconds);
        for (site, spent) in other.of {
            let of = self.of.entry(site).or_insert(spent);
            of.seconds = of.seconds.min(spent.seconds);
        }
    }
}

/// A program that is compiled with other numbers, and its data sets, on a device.
pub trait Workbench {
    /// How many data sets there are.
    fn sets(&self) -> usize;

    /// Compiles the program with other values for numbers; what it is called from now on, which is the same for the same
    /// code.
    ///
    /// # Errors
    /// Why there is no code.
    fn compile(&mut self, numbers: &Named) -> Result<usize, String>;

    /// Runs code on a data set.
    ///
    /// # Errors
    /// Why it has no result.
    fn run(&mut self, code: usize, set: usize) -> Result<Spending, String>;

    /// The sizes of an operator that versions of it could be chosen by, of a program that is compiled with these numbers.
    ///
    /// # Errors
    /// Why they are not known.
    fn extents(&mut self, _site: &str, _numbers: &Named) -> Result<Vec<Extent>, String> {
        Ok(Vec::new())
    }

    /// Whether whoever waits has seen enough.
    fn is_over(&self) -> bool;

    /// What an earlier search has measured.
    fn recall(&mut self, _asked: &Asked<'_>) -> Option<Vec<Answer>> {
        None
    }

    /// Keeps what was measured, for another search.
    fn keep(&mut self, _asked: &Asked<'_>, _answers: &[Answer]) {}

    /// Is told what is tried.
    fn trying(&mut self, _what: &str) {}
}

/// A measurement: of numbers that are changed together, on a data set, where all others have these values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asked<'a> {
    pub set: usize,
    pub numbers: &'a Named,
    pub changed: &'a Named,
}

/// What was measured of one of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The time of its operator, in seconds; or why there is none.
    pub time: Result<f64, String>,
    /// … by that without the change.
    pub ratio: Ratio,
}

/// The ratio of what has no time.
pub(crate) const NONE: Ratio = Ratio { median: f64::INFINITY, low: f64::INFINITY, high: f64::INFINITY };

/// What is known of the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Threads, or multiprocessors.
    pub workers: usize,
    /// Bytes a second that go through memory at most, if that is known.
    pub bandwidth: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    pub objective: Objective,
    pub care: Care,
    pub machine: Machine,
}

/// What a search found.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Found {
    /// The numbers that have another value than by default.
    pub numbers: Named,
    /// What was measured of each that was tried.
    pub evidence: Vec<Number>,
    /// For each data set the defaults against all that was found.
    pub last: Vec<Last>,
    /// What was found was slower in the end, so that it is not kept.
    pub given_up: bool,
    pub cut_short: bool,
}

/// The part of a data set's time, and the seconds, that an operator needs to be looked at.
const PART: f64 = 0.05;
const LEAST: f64 = 20e-6;
/// Seconds of a block that are long enough: its launch is a hundredth of them.
const LONG_BLOCK: f64 = 50e-6;
/// So many blocks for each thread balance whatever they take.
const BALANCED: f64 = 32.0;
/// The part of the bandwidth that is all of it.
const BUSY: f64 = 0.85;
/// The part of it from which on it is not memory that is read.
const CACHED: f64 = 1.3;
/// Below this part of the time before, with 95 %, a step is one forward.
const SURE: f64 = 0.97;
/// Above this, a few runs are enough to tell that something is slower.
const CLEAR: f64 = 1.3;
/// Steps in one direction.
const MOST_STEPS: usize = 4;

/// Finds numbers for operators. `versions` are the values of thresholds that all is compiled with.
pub fn search(bench: &mut dyn Workbench, tunable: &[Tunable], versions: &Named, options: Options) -> Found {
    if bench.is_over() {
        return Found { cut_short: true, ..Found::default() };
    }
    let mut s = Search {
        bench,
        options,
        versions: versions.clone(),
        numbers: Named::new(),
        evidence: BTreeMap::new(),
        known: Vec::new(),
        wishes: Vec::new(),
        split: BTreeMap::new(),
        cut_short: false,
    };
    if let Ok(base) = s.compile(&Named::new())
        && s.look(base)
    {
        s.fields(tunable, base);
        s.versions(tunable);
    }
    let mut last = s.last();
    let given_up = !s.numbers.is_empty() && (last.is_empty() || last.iter().any(is_slower));
    if given_up {
        s.numbers.clear();
        last = s.last();
    }
    let mut evidence: Vec<Number> = s.evidence.into_values().collect();
    evidence.iter_mut().for_each(|n| n.chosen = s.numbers.get(&n.name).copied().unwrap_or(n.default));
    Found { numbers: s.numbers, evidence, last, given_up, cut_short: s.cut_short }
}

struct Search<'b> {
    bench: &'b mut dyn Workbench,
    options: Options,
    versions: Named,
    /// What was found so far.
    numbers: Named,
    evidence: BTreeMap<String, Number>,
    /// Of each data set the fastest run of what was found so far, by operator; `None` where it has no result.
    known: Vec<Option<Spending>>,
    /// The steps that some data sets want and others do not.
    wishes: Vec<versions::Wish>,
    /// The operators that have versions.
    split: BTreeMap<String, versions::Split>,
    cut_short: bool,
}

/// A number on its way in one direction.
struct Step<'t> {
    of: &'t Tunable,
    from: i64,
    to: i64,
}

impl Search<'_> {
    /// The values that all is compiled with so far.
    fn all(&self) -> Named {
        let mut all = self.versions.clone();
        all.extend(self.numbers.clone());
        all
    }

    fn compile(&mut self, more: &Named) -> Result<usize, String> {
        let mut all = self.all();
        all.extend(more.clone());
        self.bench.compile(&all)
    }

    /// The data sets in which an operator takes a part of the time.
    fn hot(&self, site: &str) -> Vec<usize> {
        let takes = |s: &Spending| {
            s.of.get(site).is_some_and(|of| of.seconds >= LEAST && of.seconds >= PART * s.seconds)
        };
        (0..self.known.len()).filter(|k| self.known[*k].as_ref().is_some_and(takes)).collect()
    }

    fn fields(&mut self, tunable: &[Tunable], mut base: usize) {
        for field in order() {
            let of: Vec<&Tunable> =
                tunable.iter().filter(|t| t.field == field && !self.hot(&t.site).is_empty()).collect();
            for up in [true, false] {
                let mut way: Vec<Step<'_>> = Vec::new();
                for t in &of {
                    // What has gone one way does not turn back.
                    if self.numbers.contains_key(&t.name) {
                        continue;
                    }
                    way.extend(step(t, t.value, up).map(|to| Step { of: t, from: t.value, to }));
                }
                match self.climb(way, up, base) {
                    Some(code) => base = code,
                    None => return,
                }
            }
        }
    }

    /// Changes numbers in one direction for as long as that helps; the code that all is compiled to then, unless there is no
    /// time for more.
    fn climb(&mut self, mut way: Vec<Step<'_>>, up: bool, mut base: usize) -> Option<usize> {
        for _ in 0..MOST_STEPS {
            way.retain(|s| self.is_promising(s, up));
            if way.is_empty() {
                break;
            }
            if self.bench.is_over() {
                self.cut_short = true;
                return None;
            }
            let better = self.one_step(&way, base);
            for (name, value) in &better {
                self.numbers.insert(name.clone(), *value);
            }
            if better.is_empty() {
                break;
            }
            // What was measured last has steps in it that were none forward.
            base = self.compile(&Named::new()).ok()?;
            self.look(base);
            let on = way.into_iter().filter(|s| better.contains_key(&s.of.name));
            way = on.filter_map(|s| Some(Step { of: s.of, from: s.to, to: step(s.of, s.to, up)? })).collect();
        }
        Some(base)
    }

    /// Whether the model of an operator's run lets a step gain anything on some data set.
    fn is_promising(&self, s: &Step<'_>, up: bool) -> bool {
        self.hot(&s.of.site).into_iter().any(|set| {
            let Some(spent) = self.known[set].as_ref().and_then(|k| k.of.get(&s.of.site)) else {
                return false;
            };
            let Machine { workers, bandwidth } = self.options.machine;
            // What is beyond what memory can do comes from caches.
            let by_memory = |b: f64| spent.bytes as f64 / (b * spent.seconds.max(1e-12));
            let busy = bandwidth.is_some_and(|b| (BUSY..=CACHED).contains(&by_memory(b)));
            let (blocks, launches) = (spent.blocks as f64, spent.launches.max(1) as f64);
            let block = spent.seconds * (workers as f64).min(blocks / launches).max(1.0) / blocks.max(1.0);
            let each = blocks / launches / workers.max(1) as f64;
            match s.of.field {
                // How much a block does.
                Field::Grain | Field::Round | Field::RoundsOnce | Field::TilesOnce | Field::Blocks => {
                    match up {
                        true => blocks > launches && block < LONG_BLOCK,
                        false => each < BALANCED && s.of.field != Field::Blocks,
                    }
                }
                // How much goes through memory, and how.
                Field::Ahead
                | Field::Stream
                | Field::Transposed
                | Field::TransposedRows
                | Field::StripBytes
                | Field::BlockedColumns
                | Field::ColumnBlock
                | Field::ColumnRows
                | Field::ColumnGrains
                | Field::AcrossRows
                | Field::AcrossColumns => true,
                _ => !busy,
            }
        })
    }

    /// Tries a step of some numbers at once: the values of those that it makes faster.
    fn one_step(&mut self, way: &[Step<'_>], base: usize) -> Named {
        let field = way[0].of.field;
        let more: Named = way.iter().map(|s| (s.of.name.clone(), s.to)).collect();
        // What each is, of each data set that it matters to.
        let mut answers: Vec<(usize, Vec<Answer>)> = Vec::new();
        let mut open = Vec::new();
        for set in 0..self.bench.sets() {
            let here = self.here(way, set);
            if here.is_empty() {
                continue;
            }
            match self.recall(set, &here) {
                Some(known) => answers.push((set, known)),
                None => open.push(set),
            }
        }
        if open.is_empty() {
            return self.better(way, &answers);
        }
        self.bench.trying(&format!("{field} = {}", way[0].to));
        let code = match self.compile(&more) {
            Ok(code) => code,
            // One of them cannot be with what the others are: each by itself, if there are several.
            Err(_) if way.len() > 1 => {
                let mut all = Named::new();
                for s in way {
                    all.extend(self.one_step(&[Step { of: s.of, from: s.from, to: s.to }], base));
                }
                return all;
            }
            Err(why) => {
                for set in self.hot(&way[0].of.site) {
                    self.note(&way[0], set, Err(why.clone()), f64::INFINITY);
                }
                return Named::new();
            }
        };
        // Numbers that changed nothing.
        if code == base {
            return Named::new();
        }
        let kept = answers.len();
        for set in open {
            let here = self.here(way, set);
            let of: Vec<Of<'_>> = here.iter().map(|s| Of::Operator(&s.of.site)).collect();
            let measured = self.measure(base, code, set, &of);
            answers.push((set, measured));
        }
        self.doubted(way, (base, code), &mut answers, kept);
        for (set, measured) in &answers[kept..] {
            // One that was broken off is no measurement.
            if !self.bench.is_over() {
                let here = self.here(way, *set);
                let changed: Named = here.iter().map(|s| (s.of.name.clone(), s.to)).collect();
                let numbers = self.all();
                self.bench.keep(&Asked { set: *set, numbers: &numbers, changed: &changed }, measured);
            }
        }
        answers.sort_by_key(|(set, _)| *set);
        self.better(way, &answers)
    }

    /// What a few runs make look a little slower decides where another data set surely gains: that is measured in turn, too.
    fn doubted(
        &mut self,
        way: &[Step<'_>],
        (base, code): (usize, usize),
        answers: &mut [(usize, Vec<Answer>)],
        kept: usize,
    ) {
        let mut gaining: BTreeSet<&str> = BTreeSet::new();
        for (set, all) in answers.iter() {
            let here = self.here(way, *set).into_iter().zip(all);
            gaining.extend(here.filter(|(_, a)| a.ratio.high < SURE).map(|(s, _)| s.of.name.as_str()));
        }
        for (set, all) in &mut answers[kept..] {
            let here = self.here(way, *set);
            let doubtful = |(s, a): (&&Step<'_>, &Answer)| {
                let screened = a.ratio.low == a.ratio.high && a.ratio.median > NEAR && a.ratio.median < CLEAR;
                screened && gaining.contains(s.of.name.as_str())
            };
            if self.bench.is_over() || !here.iter().zip(all.iter()).any(doubtful) {
                continue;
            }
            let of: Vec<Of<'_>> = here.iter().map(|s| Of::Operator(&s.of.site)).collect();
            let ratios = self.in_turn(base, code, *set, &of);
            for (answer, ratio) in all.iter_mut().zip(ratios) {
                answer.ratio = ratio.unwrap_or(answer.ratio);
            }
        }
    }

    /// The steps that matter to a data set, in the order of their names.
    fn here<'w, 't>(&self, way: &'w [Step<'t>], set: usize) -> Vec<&'w Step<'t>> {
        let mut here: Vec<&Step<'_>> = way.iter().filter(|s| self.hot(&s.of.site).contains(&set)).collect();
        here.sort_by(|a, b| a.of.name.cmp(&b.of.name));
        here
    }

    fn recall(&mut self, set: usize, here: &[&Step<'_>]) -> Option<Vec<Answer>> {
        let changed: Named = here.iter().map(|s| (s.of.name.clone(), s.to)).collect();
        let numbers = self.all();
        let known = self.bench.recall(&Asked { set, numbers: &numbers, changed: &changed })?;
        (known.len() == here.len()).then_some(known)
    }

    /// The values of those steps that make something faster, and nothing slower.
    fn better(&mut self, way: &[Step<'_>], answers: &[(usize, Vec<Answer>)]) -> Named {
        let mut ratios: BTreeMap<String, Vec<(usize, Ratio)>> = BTreeMap::new();
        for (set, all) in answers {
            for (s, answer) in self.here(way, *set).into_iter().zip(all) {
                self.note(s, *set, answer.time.clone(), answer.ratio.median);
                ratios.entry(s.of.name.clone()).or_default().push((*set, answer.ratio));
            }
        }
        let mut better = Named::new();
        for s in way {
            let Some(all) = ratios.remove(&s.of.name) else { continue };
            let each: Vec<Ratio> = all.iter().map(|(_, ratio)| *ratio).collect();
            if gains(&each, self.options.objective) {
                better.insert(s.of.name.clone(), s.to);
            } else {
                self.wish(s, all);
            }
        }
        better
    }

    /// Keeps what was measured of a step.
    fn note(&mut self, s: &Step<'_>, set: usize, time: Result<f64, String>, ratio: f64) {
        let Tunable { name, field, value, .. } = s.of;
        let number = self.evidence.entry(name.clone()).or_insert_with(|| Number {
            name: name.clone(),
            default: *value,
            chosen: *value,
            range: field.about().range,
            on: Vec::new(),
        });
        let k = match number.on.iter().position(|on| on.data == set) {
            Some(k) => k,
            None => {
                let before = self.known[set].as_ref().and_then(|k| k.of.get(&s.of.site)).map(|of| of.seconds);
                let tried = Tried {
                    at: *value,
                    time: before.ok_or_else(|| "it was not measured".into()),
                    times: 1.0,
                };
                number.on.push(On { data: set, count: 0, sizes: Vec::new(), tried: vec![tried] });
                number.on.len() - 1
            }
        };
        let on = &mut number.on[k];
        // By the fastest of all, which may be this.
        let before = on.tried.iter().find(|t| t.at == s.from);
        let from = before.map_or(1.0, |t| t.times);
        // What ran in turn says how far it is from the one before; what the machine did meanwhile is left out.
        let time = match (time, before.map(|t| &t.time)) {
            (Ok(_), Some(Ok(seconds))) => Ok(seconds * ratio),
            (time, _) => time,
        };
        on.tried.retain(|t| t.at != s.to);
        on.tried.push(Tried { at: s.to, time, times: from * ratio });
        let fast = on.tried.iter().map(|t| t.times).fold(f64::INFINITY, f64::min);
        on.tried.iter_mut().for_each(|t| t.times /= fast);
        on.tried.sort_by_key(|t| t.at);
    }
}

/// Whether some data set surely gains, and none loses.
fn gains(all: &[Ratio], objective: Objective) -> bool {
    let sure = all.iter().any(|r| r.high < SURE && r.low > 0.0);
    let none_loses = all.iter().all(|r| r.median <= NEAR);
    let cost = match objective {
        Objective::Mean => all.iter().map(|r| r.median).sum::<f64>() / all.len() as f64,
        Objective::Worst => all.iter().map(|r| r.median).fold(0.0, f64::max),
    };
    sure && none_loses && cost < 1.0
}

/// Fields in the order in which they are looked at: what decides most comes first.
fn order() -> Vec<Field> {
    use Field::{Around, Blocks, Grain, Jam, Jammed, Points, Reduced, Round, RoundsOnce, Short};
    let first = [Grain, Reduced, Around, Points, Jam, Jammed, Short, RoundsOnce, Round, Blocks];
    let rest = Field::ALL.iter().copied().filter(|f| !first.contains(f));
    first.into_iter().chain(rest).collect()
}

/// The next value of a number in a direction: of wide ranges by steps of four, of narrow ones of two.
fn step(t: &Tunable, from: i64, up: bool) -> Option<i64> {
    let (least, most) = t.field.about().range;
    let factor = if most / least.max(1) > 1 << 12 { 4 } else { 2 };
    let to = match up {
        true => from.max(1).saturating_mul(factor).min(most),
        false => (from / factor).max(least),
    };
    (to != from && t.field.allows(to)).then_some(to)
}

#[cfg(test)]
mod tests;

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
//! - At the end everything that was found is measured against the defaults, in turn; where a data set is slower, the
//!   schedules stay as they were.
//!
//! There is no chance in it, but for what the clock says.

use crate::clock::{Care, Ratio, interval, median};
use crate::measured::{Last, Number, On, Tried};
use crate::search::{NEAR, Objective};
use remc_flat::ir::Named;
use remc_kernel::schedule::Field;
use std::collections::BTreeMap;

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
/// Below this part of the time before, with 95 %, a step is one forward.
const SURE: f64 = 0.97;
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
        cut_short: false,
    };
    if let Ok(base) = s.compile(&Named::new())
        && s.look(base)
    {
        s.fields(tunable, base);
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

/// Whether a data set surely lost.
fn is_slower(last: &Last) -> bool {
    match (&last.defaults, &last.tuned, &last.ratio) {
        (Ok(_), Ok(_), Some(r)) => r.low > 1.03 || r.median > 1.05,
        (Ok(_), _, _) => true,
        (Err(_), ..) => false,
    }
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

    /// Runs each data set, so that it is known which operators take how long; whether any has a result.
    fn look(&mut self, code: usize) -> bool {
        self.known = (0..self.bench.sets()).map(|set| self.fastest(code, set).ok()).collect();
        self.known.iter().any(Option::is_some)
    }

    /// The fastest times of each operator in a few runs; the first, in which code is loaded, not among them.
    fn fastest(&mut self, code: usize, set: usize) -> Result<Spending, String> {
        self.bench.run(code, set)?;
        let mut best = self.bench.run(code, set)?;
        let more = if best.seconds < 0.02 { 4 } else { 1 };
        for _ in 0..more {
            best.least(self.bench.run(code, set)?);
        }
        Ok(best)
    }

    /// The fastest times of two codes, run in turn a few times.
    fn screened(&mut self, base: usize, code: usize, set: usize) -> Result<(Spending, Spending), String> {
        self.bench.run(code, set)?;
        let (mut before, mut after) = (self.bench.run(base, set)?, self.bench.run(code, set)?);
        let more = if before.seconds < 0.02 { 3 } else { 1 };
        for _ in 0..more {
            before.least(self.bench.run(base, set)?);
            after.least(self.bench.run(code, set)?);
        }
        Ok((before, after))
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
                for _ in 0..MOST_STEPS {
                    way.retain(|s| self.is_promising(s, up));
                    if way.is_empty() {
                        break;
                    }
                    if self.bench.is_over() {
                        self.cut_short = true;
                        return;
                    }
                    let better = self.one_step(&way, base);
                    for (name, value) in &better {
                        self.numbers.insert(name.clone(), *value);
                    }
                    if better.is_empty() {
                        break;
                    }
                    // What was measured last has steps in it that were none forward.
                    match self.compile(&Named::new()) {
                        Ok(code) => base = code,
                        Err(_) => return,
                    }
                    self.look(base);
                    let on = way.into_iter().filter(|s| better.contains_key(&s.of.name));
                    way = on
                        .filter_map(|s| Some(Step { of: s.of, from: s.to, to: step(s.of, s.to, up)? }))
                        .collect();
                }
            }
        }
    }

    /// Whether the model of an operator's run lets a step gain anything on some data set.
    fn is_promising(&self, s: &Step<'_>, up: bool) -> bool {
        self.hot(&s.of.site).into_iter().any(|set| {
            let Some(spent) = self.known[set].as_ref().and_then(|k| k.of.get(&s.of.site)) else {
                return false;
            };
            let Machine { workers, bandwidth } = self.options.machine;
            let busy = bandwidth.is_some_and(|b| spent.bytes as f64 > BUSY * b * spent.seconds);
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
        for set in open {
            let here = self.here(way, set);
            let measured = self.measure(base, code, set, &here);
            // One that was broken off is no measurement.
            if !self.bench.is_over() {
                let changed: Named = here.iter().map(|s| (s.of.name.clone(), s.to)).collect();
                let numbers = self.all();
                self.bench.keep(&Asked { set, numbers: &numbers, changed: &changed }, &measured);
            }
            answers.push((set, measured));
        }
        answers.sort_by_key(|(set, _)| *set);
        self.better(way, &answers)
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

    /// Measures steps on a data set.
    fn measure(&mut self, base: usize, code: usize, set: usize, here: &[&Step<'_>]) -> Vec<Answer> {
        let (before, screened) = match self.screened(base, code, set) {
            Ok(both) => both,
            Err(why) => return vec![Answer { time: Err(why), ratio: NONE }; here.len()],
        };
        let quotient = |s: &Step<'_>| {
            let time = |run: &Spending| run.of.get(&s.of.site).map(|of| of.seconds);
            Some(time(&screened)? / time(&before)?.max(1e-12))
        };
        let quotients: Vec<f64> = here.iter().map(|s| quotient(s).unwrap_or(1.0)).collect();
        let promising = quotients.iter().any(|q| *q < 1.0 / NEAR);
        let mut known = if promising { self.in_turn(base, code, set, here) } else { Vec::new() };
        // Of very many comparisons some look sure by chance: what gains has to do so twice.
        if known.iter().flatten().any(|r| r.high < SURE) {
            let again = self.in_turn(base, code, set, here);
            let worse = |(a, b): (Option<Ratio>, Option<Ratio>)| match (a, b) {
                (Some(a), Some(b)) => Some(if b.median > a.median { b } else { a }),
                _ => None,
            };
            known = known.into_iter().zip(again).map(worse).collect();
        }
        let answer = |(k, s): (usize, &&Step<'_>)| {
            let alone = Ratio { median: quotients[k], low: quotients[k], high: quotients[k] };
            let ratio = known.get(k).copied().flatten().unwrap_or(alone);
            Answer { time: Ok(screened.of.get(&s.of.site).map_or(0.0, |of| of.seconds)), ratio }
        };
        here.iter().enumerate().map(answer).collect()
    }

    /// The values of those steps that make something faster, and nothing slower.
    fn better(&mut self, way: &[Step<'_>], answers: &[(usize, Vec<Answer>)]) -> Named {
        let mut ratios: BTreeMap<String, Vec<Ratio>> = BTreeMap::new();
        for (set, all) in answers {
            for (s, answer) in self.here(way, *set).into_iter().zip(all) {
                self.note(s, *set, answer.time.clone(), answer.ratio.median);
                ratios.entry(s.of.name.clone()).or_default().push(answer.ratio);
            }
        }
        let gains = |all: &Vec<Ratio>| {
            let sure = all.iter().any(|r| r.high < SURE && r.low > 0.0);
            let none_loses = all.iter().all(|r| r.median <= NEAR);
            let cost = match self.options.objective {
                Objective::Mean => all.iter().map(|r| r.median).sum::<f64>() / all.len() as f64,
                Objective::Worst => all.iter().map(|r| r.median).fold(0.0, f64::max),
            };
            sure && none_loses && cost < 1.0
        };
        let better = way.iter().filter(|s| ratios.get(&s.of.name).is_some_and(gains));
        better.map(|s| (s.of.name.clone(), s.to)).collect()
    }

    /// Measures two codes in turn on a data set: the ratio of the second's time of each operator to the first's.
    fn in_turn(&mut self, base: usize, code: usize, set: usize, steps: &[&Step<'_>]) -> Vec<Option<Ratio>> {
        let Care { precision, rounds: (least, most), seconds } = self.options.care;
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); steps.len()];
        let (mut spent, mut round) = (0.0, 0);
        while round < most && !(round > 0 && self.bench.is_over()) && !(round >= least && spent > seconds) {
            let pair = match round % 2 {
                0 => self.bench.run(base, set).and_then(|a| Ok((a, self.bench.run(code, set)?))),
                _ => self.bench.run(code, set).and_then(|b| Ok((self.bench.run(base, set)?, b))),
            };
            let Ok((before, after)) = pair else { break };
            spent += before.seconds + after.seconds;
            for (sample, s) in samples.iter_mut().zip(steps) {
                if let (Some(a), Some(b)) = (before.of.get(&s.of.site), after.of.get(&s.of.site)) {
                    sample.push(b.seconds / a.seconds.max(1e-12));
                }
            }
            round += 1;
            let narrow =
                |r: &Ratio| r.high - r.low <= 2.0 * precision * r.median || r.high < 0.9 || r.low > 1.0;
            let all = samples.iter().map(|s| interval(s.clone()));
            if round >= least.max(6) && all.flatten().all(|r| narrow(&r)) {
                break;
            }
        }
        samples.into_iter().map(interval).collect()
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

    /// The defaults of everything against what was found, in turn; nothing, if there is no code of either.
    fn last(&mut self) -> Vec<Last> {
        let (Ok(before), Ok(after)) = (self.bench.compile(&Named::new()), self.compile(&Named::new())) else {
            return Vec::new();
        };
        (0..self.bench.sets()).map(|set| self.against(before, after, set)).collect()
    }

    fn against(&mut self, before: usize, after: usize, set: usize) -> Last {
        self.bench.trying("what was found, against the defaults");
        // What is the same takes the same time, whatever the clock says.
        if before == after {
            let time = self.fastest(before, set).map(|run| run.seconds);
            let ratio = time.is_ok().then_some(Ratio { median: 1.0, low: 1.0, high: 1.0 });
            return Last { defaults: time.clone(), tuned: time, ratio };
        }
        let warm = [self.bench.run(before, set), self.bench.run(after, set)];
        let [first, second] = warm.map(|run| run.map(|r| r.seconds));
        if first.is_err() || second.is_err() {
            return Last { defaults: first, tuned: second, ratio: None };
        }
        let Care { precision, rounds: (least, most), seconds } = self.options.care;
        let (mut a, mut b, mut ratios, mut spent) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for round in 0..most {
            let slower = interval(ratios.clone()).is_some_and(|r| r.median > NEAR);
            if round >= least
                && (spent > if slower { 3.0 * seconds } else { seconds } || self.bench.is_over())
            {
                break;
            }
            let order = if round % 2 == 0 { [before, after] } else { [after, before] };
            let times = order.map(|code| self.bench.run(code, set).map(|r| r.seconds));
            let [Ok(x), Ok(y)] = times else { break };
            let (x, y) = if round % 2 == 0 { (x, y) } else { (y, x) };
            spent += x + y;
            a.push(x);
            b.push(y);
            ratios.push(y / x.max(1e-12));
            // What looks slower is looked at for longer.
            let known = interval(ratios.clone());
            let doubtful = known.is_some_and(|r| r.median > NEAR);
            let narrow = |r: Ratio| r.high - r.low <= 2.0 * precision * r.median;
            if round + 1 >= least.max(if doubtful { 20 } else { 6 }) && known.is_some_and(narrow) {
                break;
            }
        }
        let time =
            |all: &[f64]| if all.is_empty() { Err("it has stopped".to_owned()) } else { Ok(median(all)) };
        Last { defaults: time(&a), tuned: time(&b), ratio: interval(ratios) }
    }
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

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

    /// Compiles the program with other values for numbers; what it is called from now on.
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

    /// Is told what is tried.
    fn trying(&mut self, _what: &str) {}
}

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
    fn compile(&mut self, more: &Named) -> Result<usize, String> {
        let mut all = self.versions.clone();
        all.extend(self.numbers.clone());
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

    fn fields(&mut self, tunable: &[Tunable], base: usize) {
        let mut base = base;
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
                self.note(&way[0], 0, Err(why), f64::INFINITY);
                return Named::new();
            }
        };
        // Numbers that changed nothing.
        if code == base {
            return Named::new();
        }
        let mut ratios: BTreeMap<String, Vec<Ratio>> = BTreeMap::new();
        for set in 0..self.bench.sets() {
            let here: Vec<&Step<'_>> = way.iter().filter(|s| self.hot(&s.of.site).contains(&set)).collect();
            if here.is_empty() {
                continue;
            }
            let (before, screened) = match self.screened(base, code, set) {
                Ok(both) => both,
                Err(why) => {
                    here.iter().for_each(|s| self.note(s, set, Err(why.clone()), f64::INFINITY));
                    let none = Ratio { median: f64::INFINITY, low: f64::INFINITY, high: f64::INFINITY };
                    here.iter().for_each(|s| ratios.entry(s.of.name.clone()).or_default().push(none));
                    continue;
                }
            };
            let quotient = |s: &Step<'_>| {
                let time = |run: &Spending| run.of.get(&s.of.site).map(|of| of.seconds);
                Some(time(&screened)? / time(&before)?.max(1e-12))
            };
            let quotients: Vec<f64> = here.iter().map(|s| quotient(s).unwrap_or(1.0)).collect();
            let promising = quotients.iter().any(|q| *q < 1.0 / NEAR);
            let mut known = if promising { self.in_turn(base, code, set, &here) } else { Vec::new() };
            // Of very many comparisons some look sure by chance: what gains has to do so twice.
            if known.iter().flatten().any(|r| r.high < SURE) {
                let again = self.in_turn(base, code, set, &here);
                let worse = |(a, b): (Option<Ratio>, Option<Ratio>)| match (a, b) {
                    (Some(a), Some(b)) => Some(if b.median > a.median { b } else { a }),
                    _ => None,
                };
                known = known.into_iter().zip(again).map(worse).collect();
            }
            for (k, s) in here.iter().enumerate() {
                let alone = Ratio { median: quotients[k], low: quotients[k], high: quotients[k] };
                let ratio = known.get(k).copied().flatten().unwrap_or(alone);
                let seconds = screened.of.get(&s.of.site).map_or(0.0, |of| of.seconds);
                self.note(s, set, Ok(seconds), ratio.median);
                ratios.entry(s.of.name.clone()).or_default().push(ratio);
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
                let tried = Tried { at: *value, time: before.ok_or_else(String::new), times: 1.0 };
                number.on.push(On { data: set, count: 0, sizes: Vec::new(), tried: vec![tried] });
                number.on.len() - 1
            }
        };
        let on = &mut number.on[k];
        // By the fastest of all, which may be this.
        let from = on.tried.iter().find(|t| t.at == s.from).map_or(1.0, |t| t.times);
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
        let same = self.versions.is_empty() && self.numbers.is_empty();
        (0..self.bench.sets()).map(|set| self.against(before, after, set, same)).collect()
    }

    fn against(&mut self, before: usize, after: usize, set: usize, same: bool) -> Last {
        self.bench.trying("what was found, against the defaults");
        let warm = [self.bench.run(before, set), self.bench.run(after, set)];
        let [first, second] = warm.map(|run| run.map(|r| r.seconds));
        if first.is_err() || second.is_err() {
            return Last { defaults: first, tuned: second, ratio: None };
        }
        let Care { precision, rounds: (least, most), seconds } = self.options.care;
        let most = if same { 1 } else { most };
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
mod tests {
    use super::*;

    /// Two operators, whose times are known functions of their numbers, by a clock that errs.
    struct Bench {
        codes: Vec<Named>,
        /// Elements of each data set.
        sizes: Vec<f64>,
        noise: f64,
        state: u64,
        runs: usize,
        most_runs: usize,
        /// Numbers that no code can be compiled with.
        refused: Option<(String, i64)>,
        compiled: usize,
    }

    impl Bench {
        fn new(sizes: &[f64], noise: f64, seed: u64) -> Bench {
            let sizes = sizes.to_vec();
            let codes = Vec::new();
            Bench {
                codes,
                sizes,
                noise,
                state: seed,
                runs: 0,
                most_runs: 100_000,
                refused: None,
                compiled: 0,
            }
        }

        /// Within ± `noise`, and slower from run to run.
        fn error(&mut self) -> f64 {
            self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let part = (self.state >> 11) as f64 / (1u64 << 53) as f64;
            (1.0 + self.noise * (2.0 * part - 1.0)) * (1.0 + self.noise * self.runs as f64 / 4000.0)
        }
    }

    impl Workbench for Bench {
        fn sets(&self) -> usize {
            self.sizes.len()
        }

        fn compile(&mut self, numbers: &Named) -> Result<usize, String> {
            self.compiled += 1;
            if self.refused.as_ref().is_some_and(|(name, value)| numbers.get(name) == Some(value)) {
                return Err("they cannot be together".into());
            }
            self.codes.push(numbers.clone());
            Ok(self.codes.len() - 1)
        }

        fn run(&mut self, code: usize, set: usize) -> Result<Spending, String> {
            self.runs += 1;
            let number =
                |name: &str, default: i64| self.codes[code].get(name).copied().unwrap_or(default) as f64;
            let n = self.sizes[set];
            // Blocks cost 2 µs each, and the last of them leaves the other thread idle.
            let grain = number("main/grain/f:1", 1 << 15);
            let blocks = (n / grain).ceil().max(1.0);
            let f = n * 1e-10 * (1.0 + 1.0 / blocks) + blocks * 2e-6;
            // The more vectors, the better, up to eight.
            let g = n * 4e-10 / number("main/lanes.reduced/g:1", 4).min(8.0);
            let mut of = BTreeMap::new();
            let spent = |seconds| Spent { seconds, launches: 1, blocks: blocks as u64, bytes: 0 };
            of.insert("f:1".to_owned(), spent(f * self.error()));
            of.insert("g:1".to_owned(), spent(g * self.error()));
            Ok(Spending { seconds: of.values().map(|s| s.seconds).sum(), of })
        }

        fn is_over(&self) -> bool {
            self.runs > self.most_runs
        }
    }

    fn tunable() -> Vec<Tunable> {
        let of = |site: &str, field: Field, value| Tunable {
            name: format!("main/{field}/{site}"),
            site: site.into(),
            field,
            value,
        };
        let mut all = vec![of("f:1", Field::Grain, 1 << 15), of("g:1", Field::Reduced, 4)];
        // Numbers that decide nothing.
        all.extend([of("f:1", Field::Short, 32), of("g:1", Field::Ahead, 4096), of("f:1", Field::Blocks, 1)]);
        all
    }

    fn options() -> Options {
        let machine = Machine { workers: 2, bandwidth: None };
        Options { objective: Objective::Mean, care: Care::QUICK, machine }
    }

    fn found(bench: &mut Bench) -> Found {
        search(bench, &tunable(), &Named::new(), options())
    }

    #[test]
    fn each_operator_gets_what_is_best_for_it() {
        let mut bench = Bench::new(&[1e7, 4e7], 0.0, 1);
        let found = found(&mut bench);
        assert_eq!(found.numbers.get("main/lanes.reduced/g:1"), Some(&8));
        let grain = found.numbers["main/grain/f:1"];
        assert!((1 << 17..=1 << 21).contains(&grain), "{grain}");
        assert_eq!(found.numbers.len(), 2, "{:?}", found.numbers);
        assert!(found.last.iter().all(|l| l.ratio.is_some_and(|r| r.high < 0.95)), "{:?}", found.last);
        let shown = found.evidence.iter().find(|n| n.name == "main/grain/f:1").unwrap();
        assert_eq!((shown.default, shown.chosen, shown.on.len()), (1 << 15, grain, 2));
        assert!(bench.compiled < 40, "{}", bench.compiled);
    }

    #[test]
    fn a_noisy_clock_that_drifts_chooses_nothing_that_loses() {
        for seed in 0..30 {
            let mut bench = Bench::new(&[1e7, 4e7], 0.3, seed);
            let found = found(&mut bench);
            for name in found.numbers.keys() {
                let of = ["main/lanes.reduced/g:1", "main/grain/f:1"];
                assert!(of.contains(&name.as_str()), "seed {seed}: {name}");
            }
            // Eight vectors are half of the time: no noise hides that.
            assert_eq!(found.numbers.get("main/lanes.reduced/g:1"), Some(&8), "seed {seed}");
        }
    }

    #[test]
    fn what_takes_no_time_is_not_looked_at() {
        let mut bench = Bench::new(&[1000.0], 0.0, 1);
        let found = found(&mut bench);
        assert!(found.numbers.is_empty() && found.evidence.is_empty(), "{:?}", found.numbers);
        assert!(bench.compiled <= 3, "{}", bench.compiled);
    }

    #[test]
    fn what_cannot_be_compiled_is_left_and_said() {
        let mut bench = Bench::new(&[1e7], 0.0, 1);
        bench.refused = Some(("main/lanes.reduced/g:1".into(), 8));
        let found = found(&mut bench);
        assert_eq!(found.numbers.get("main/lanes.reduced/g:1"), None);
        let shown = found.evidence.iter().find(|n| n.name == "main/lanes.reduced/g:1").unwrap();
        let failed = shown.on[0].tried.iter().find(|t| t.at == 8).unwrap();
        assert_eq!(failed.time, Err("they cannot be together".into()));
    }

    #[test]
    fn time_that_runs_out_keeps_what_is_sure() {
        let mut bench = Bench::new(&[1e7], 0.0, 1);
        bench.most_runs = 40;
        let found = found(&mut bench);
        assert!(found.cut_short);
        assert!(found.last.len() == 1 && !found.given_up);
    }
}

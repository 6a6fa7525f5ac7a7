//! Measurements that outlive a search that ended early: `remc autotune --resume` goes on with them.
//!
//! A search is deterministic but for its clock. So what was measured for a threshold on a data set, with the other
//! thresholds at some values, stands for the same measurement in the next search, as long as what was measured is the
//! same: the structure of the code, the compiler that made machine code of it, the machine and its threads, and how sure
//! the measurement was to be. Data sets are known by their contents; one that has changed is measured anew, and what was
//! measured on the others still holds.

use crate::clock::Ratio;
use crate::schedules::{self, Answer};
use crate::search::{Asked, Ways};
use remc_flat::ir::Named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the text form; another one is as good as nothing.
const FORMAT: u32 = 1;

/// What is measured, and on what.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Circumstances {
    /// The structure of the code ([`crate::file::structure`]).
    pub code: String,
    /// Which build of the compiler.
    pub compiler: String,
    pub machine: String,
    pub threads: usize,
    /// How sure a measurement is to be, as the command line calls it.
    pub effort: String,
}

/// What was measured under some circumstances.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kept {
    format: u32,
    pub circumstances: Circumstances,
    records: Vec<Record>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Record {
    threshold: usize,
    /// The contents of the data set.
    data: String,
    reached: Vec<i64>,
    sizes: Vec<i64>,
    /// Of those that have a result: by how many sizes are below, the time in terms of the fastest, and in seconds.
    timed: BTreeMap<usize, (f64, Option<f64>)>,
    failed: BTreeMap<usize, String>,
}

/// Numbers of schedules that were changed together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Step {
    data: String,
    numbers: Named,
    changed: Named,
    /// Seconds and the ratio with the ends of its interval, or why there are none.
    answers: Vec<Result<(f64, [f64; 3]), String>>,
}

impl Kept {
    pub fn new(circumstances: Circumstances) -> Kept {
        Kept { format: FORMAT, circumstances, records: Vec::new(), steps: Vec::new() }
    }

    /// What a text keeps; `None` if it is not such a text.
    pub fn read(text: &[u8]) -> Option<Kept> {
        serde_json::from_slice(text).ok().filter(|k: &Kept| k.format == FORMAT)
    }

    pub fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// How many measurements there are of these data sets, by their contents, and how many of others.
    pub fn count(&self, data: &[String]) -> (usize, usize) {
        let all = || self.records.iter().map(|r| &r.data).chain(self.steps.iter().map(|s| &s.data));
        let of = all().filter(|d| data.contains(d)).count();
        (of, all().count() - of)
    }

    /// What was measured of a step, if it was.
    pub fn step(&self, data: &str, asked: &schedules::Asked<'_>) -> Option<Vec<Answer>> {
        let s = self.steps.iter().find(|s| s.is(data, asked))?;
        let answer = |a: &Result<(f64, [f64; 3]), String>| match a {
            Ok((seconds, [median, low, high])) => {
                Answer { time: Ok(*seconds), ratio: Ratio { median: *median, low: *low, high: *high } }
            }
            Err(why) => Answer { time: Err(why.clone()), ratio: schedules::NONE },
        };
        Some(s.answers.iter().map(answer).collect())
    }

    /// Keeps a step, in place of an older one.
    pub fn put_step(&mut self, data: &str, asked: &schedules::Asked<'_>, answers: &[Answer]) {
        self.steps.retain(|s| !s.is(data, asked));
        let answer = |a: &Answer| {
            let Ratio { median, low, high } = a.ratio;
            a.time.clone().map(|seconds| (seconds, [median, low, high]))
        };
        self.steps.push(Step {
            data: data.to_owned(),
            numbers: asked.numbers.clone(),
            changed: asked.changed.clone(),
            answers: answers.iter().map(answer).collect(),
        });
    }

    /// What was measured, if it was.
    pub fn get(&self, data: &str, asked: &Asked<'_>) -> Option<Ways> {
        let r = self.records.iter().find(|r| is(r, data, asked))?;
        let failed = r.failed.keys().map(|way| (*way, f64::INFINITY));
        Some(Ways {
            set: asked.set,
            sizes: r.sizes.clone(),
            timed: r.timed.iter().map(|(way, (times, _))| (*way, *times)).chain(failed).collect(),
            seconds: r.timed.iter().filter_map(|(way, (_, s))| Some((*way, (*s)?))).collect(),
            failed: r.failed.clone(),
        })
    }

    /// Keeps a measurement, in place of an older one.
    pub fn put(&mut self, data: &str, asked: &Asked<'_>, ways: &Ways) {
        self.records.retain(|r| !is(r, data, asked));
        let timed =
            ways.timed.iter().filter(|(way, times)| times.is_finite() && !ways.failed.contains_key(way));
        self.records.push(Record {
            threshold: asked.threshold,
            data: data.to_owned(),
            reached: asked.reached.to_vec(),
            sizes: ways.sizes.clone(),
            timed: timed.map(|(way, times)| (*way, (*times, ways.seconds.get(way).copied()))).collect(),
            failed: ways.failed.clone(),
        });
    }
}

impl Step {
    fn is(&self, data: &str, asked: &schedules::Asked<'_>) -> bool {
        self.data == data && self.numbers == *asked.numbers && self.changed == *asked.changed
    }
}

/// Whether a record answers what is asked.
fn is(r: &Record, data: &str, asked: &Asked<'_>) -> bool {
    r.threshold == asked.threshold && r.data == data && r.reached == asked.reached
}

impl Circumstances {
    /// Why what was measured under these says nothing under those; `None` if it does.
    pub fn differ(&self, now: &Circumstances) -> Option<String> {
        let pairs = [
            (self.code != now.code, "the code of the entry has changed since".to_owned()),
            (self.machine != now.machine, format!("they are of another machine, {}", self.machine)),
            (self.threads != now.threads, format!("they are with --threads {}", self.threads)),
            (self.effort != now.effort, format!("they are with --effort {}", self.effort)),
            (self.compiler != now.compiler, "another build of remc has made them".to_owned()),
        ];
        pairs.into_iter().find(|(differs, _)| *differs).map(|(_, why)| why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_found_again_where_they_stand_for_the_same() {
        let reached = [512, 0];
        let asked = Asked { threshold: 1, set: 2, reached: &reached };
        let ways = Ways {
            set: 2,
            sizes: vec![3, 70],
            timed: [(0, 1.0), (1, 1.25), (2, f64::INFINITY)].into(),
            seconds: [(0, 2e-6), (1, 2.5e-6)].into(),
            failed: [(2, "no memory".to_owned())].into(),
        };
        let now = Circumstances { code: "a".into(), threads: 2, ..Circumstances::default() };
        let mut kept = Kept::new(now.clone());
        kept.put("0f", &asked, &ways);
        kept.put("0f", &asked, &ways);
        let read = Kept::read(&kept.text()).unwrap();
        assert_eq!(read, kept);
        assert_eq!(read.get("0f", &asked), Some(ways));
        assert_eq!(read.get("1f", &asked), None);
        assert_eq!(read.get("0f", &Asked { reached: &[512, 1], ..asked }), None);
        assert_eq!(read.get("0f", &Asked { threshold: 0, ..asked }), None);
        assert_eq!(read.count(&["0f".into()]), (1, 0));
        assert_eq!(read.count(&["1f".into()]), (0, 1));
        assert_eq!(Kept::read(b"{\"format\": 0}"), None);
        // Numbers of schedules.
        let named =
            |all: &[(&str, i64)]| -> Named { all.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect() };
        let (numbers, changed) = (named(&[("main/par.outer/f:1", 7)]), named(&[("main/grain/f:1", 64)]));
        let step = schedules::Asked { set: 0, numbers: &numbers, changed: &changed };
        let ratio = Ratio { median: 0.5, low: 0.25, high: 1.0 };
        let answers = [
            Answer { time: Ok(1e-3), ratio },
            Answer { time: Err("it stopped".into()), ratio: schedules::NONE },
        ];
        let mut kept = kept.clone();
        kept.put_step("0f", &step, &answers);
        let read = Kept::read(&kept.text()).unwrap();
        assert_eq!(read.step("0f", &step).as_deref(), Some(&answers[..]));
        assert_eq!(read.step("1f", &step), None);
        assert_eq!(read.step("0f", &schedules::Asked { numbers: &changed, ..step }), None);
        assert_eq!(read.count(&["0f".into()]), (2, 0));
        let other = |c: Circumstances| kept.circumstances.differ(&c).unwrap_or_default();
        assert_eq!(other(now.clone()), "");
        assert!(other(Circumstances { code: "b".into(), ..now.clone() }).starts_with("the code"));
        assert_eq!(other(Circumstances { threads: 3, ..now }), "they are with --threads 2");
    }
}

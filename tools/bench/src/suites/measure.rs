//! Both sides of each line are checked, and then run in turn.

use super::subjects::{Data, Subject};
use super::{Limits, Suite};
use crate::args::Args;
use crate::bench::{conditions, load_average};
use crate::contender::{Contender, Outcome, median, ratios, times};
use crate::ours::Ours;
use crate::peers::{Compiler, Peers};
use crate::{data, process, table};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// The times of both sides, one of each round, or the reason why there are none.
struct Measured {
    title: &'static str,
    data: String,
    c: Result<Vec<Duration>, String>,
    ours: Result<Vec<Duration>, String>,
}

/// Measures and prints; whether all results were right and, if that is asked for, all is within the limits.
///
/// # Errors
/// There is no remc, or data cannot be written.
pub fn run(suite: &Suite, args: &Args, cache: &Path) -> Result<bool, String> {
    let subjects = suite.chosen(&args.only)?;
    if args.list {
        subjects.iter().for_each(|s| println!("{:22} {}", s.key, s.title));
        return Ok(true);
    }
    let (load, threads) = (load_average(), args.threads_used());
    let remc = process::remc(args.remc.clone())?;
    let compiler = Compiler::find(cache);
    let gcc = compiler.as_ref().map(|c| c.version.clone()).ok();
    let folder = cache.join(if args.small { format!("{}-small", suite.folder) } else { suite.folder.into() });
    let mut c = Peers::new(compiler, threads, cache);
    let mut ours = Ours::new(Some(remc), threads, cache);
    let (mut rows, mut all_right) = (Vec::new(), true);
    for subject in &subjects {
        eprint!("{} … ", subject.key);
        let row = compare(subject, args, [&mut c, &mut ours], &folder)?;
        eprintln!("C {}, remc {}: {}", said(&row.c), said(&row.ours), figure(row.ratio()));
        // Where there is no C compiler, that its side has no times is no fault.
        all_right &= row.ours.is_ok() && (row.c.is_ok() || gcc.is_none());
        rows.push(row);
    }
    let mut conditions = conditions(threads, load, gcc.as_ref());
    conditions.push(format!(
        "ratios are medians of {} rounds, each with one run of both sides after warm-up; above 1 remc is the faster one",
        args.rounds
    ));
    conditions.push("all results were compared with double precision before".into());
    let table = markdown(&rows, &conditions);
    print!("{table}");
    if let Some(path) = &args.table {
        table::write(path, &table).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let over = over(&rows, suite.limits);
    if args.limits {
        over.iter().for_each(|line| eprintln!("remc-bench: {line}"));
    }
    Ok(all_right && (!args.limits || over.is_empty()))
}

/// Checks both sides, C and ours, and times those that are right. Inputs are kept in a folder.
fn compare(
    subject: &Subject,
    args: &Args,
    mut sides: [&mut dyn Contender; 2],
    folder: &Path,
) -> Result<Measured, String> {
    let data = subject.data(args.small);
    let case = subject.case(&data);
    let given =
        data.write(&folder.join(subject.key)).map_err(|e| format!("the data of {}: {e}", case.key))?;
    let checked = sides.each_mut().map(|side| {
        side.prepare(&case, &given)?;
        verify(*side, &data)
    });
    let mut running: Vec<&mut dyn Contender> = Vec::new();
    for (side, checked) in sides.iter_mut().zip(&checked) {
        if checked.is_ok() {
            running.push(*side);
        }
    }
    let mut taken = times(&mut running, args.rounds).into_iter();
    let [c, ours] = checked.map(|checked| {
        checked.and_then(|()| taken.next().unwrap_or_else(|| Err("nothing was timed".into())))
    });
    sides.into_iter().for_each(Contender::release);
    Ok(Measured { title: subject.title, data: case.size, c, ours })
}

/// Whether a side gives what is wanted.
fn verify(side: &mut dyn Contender, data: &Data) -> Result<(), String> {
    side.call()?;
    let Outcome::File(path) = side.result()? else { return Err("no result".into()) };
    let mut bytes = vec![0; data.output.bytes()];
    data::read_into(&path, &data.output, &mut bytes).map_err(|e| format!("wrong: {e}"))?;
    data.check(data::numbers(data.output.dtype, &bytes))
}

impl Measured {
    /// C's time by ours, the median of the rounds.
    fn ratio(&self) -> Option<f64> {
        let (Ok(c), Ok(ours)) = (&self.c, &self.ours) else { return None };
        let all = ratios(c, ours);
        all.get(all.len().checked_sub(1)? / 2).copied()
    }
}

fn middle(times: &Result<Vec<Duration>, String>) -> Option<Duration> {
    median(&mut times.as_ref().ok()?.clone())
}

/// A side in a few words.
fn said(times: &Result<Vec<Duration>, String>) -> String {
    match times {
        Ok(_) => table::time(middle(times).as_ref()),
        Err(why) => format!("— ({why})"),
    }
}

fn figure(ratio: Option<f64>) -> String {
    ratio.map_or("—".into(), |r| format!("{r:.2}"))
}

/// The least of all ratios, and that in the middle.
fn summary(rows: &[Measured]) -> (Option<f64>, Option<f64>) {
    let mut all: Vec<f64> = rows.iter().filter_map(Measured::ratio).collect();
    all.sort_by(f64::total_cmp);
    (all.first().copied(), all.get(all.len().saturating_sub(1) / 2).copied())
}

/// All lines, then the least ratio and the median, what was measured how, and the reasons of dashes.
fn markdown(rows: &[Measured], conditions: &[String]) -> String {
    let mut text = String::from(
        "| program | data | C (ms) | remc (ms) | C ÷ remc |\n| --- | --- | ---: | ---: | ---: |\n",
    );
    let ms = |times: &Result<Vec<Duration>, String>| {
        middle(times).map_or("—".into(), |t| format!("{:.2}", t.as_secs_f64() * 1e3))
    };
    for row in rows {
        let (c, ours, ratio) = (ms(&row.c), ms(&row.ours), figure(row.ratio()));
        let _ = writeln!(text, "| {} | {} | {c} | {ours} | {ratio} |", row.title, row.data);
    }
    let (least, median) = summary(rows);
    let _ = writeln!(text, "| least | | | | {} |\n| median | | | | {} |\n", figure(least), figure(median));
    conditions.iter().for_each(|line| {
        let _ = writeln!(text, "- {line}");
    });
    for row in rows {
        for (side, times) in [("C", &row.c), ("remc", &row.ours)] {
            if let Err(why) = times {
                let _ = writeln!(text, "- {side}: {why} ({}, {})", row.title, row.data);
            }
        }
    }
    text
}

/// What is below its limit, a sentence each.
fn over(rows: &[Measured], limits: Limits) -> Vec<String> {
    let slow = |row: &Measured| {
        let ratio = row.ratio().filter(|r| *r < limits.least)?;
        Some(format!("{}, {}: {ratio:.2} of C, less than {}", row.title, row.data, limits.least))
    };
    let median = summary(rows).1.zip(limits.median).filter(|(is, wanted)| is < wanted);
    let median = median.map(|(is, wanted)| format!("the median is {is:.2} of C, less than {wanted}"));
    rows.iter().filter_map(slow).chain(median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(c: &[u64], ours: &[u64]) -> Measured {
        let ms = |times: &[u64]| Ok(times.iter().map(|n| Duration::from_millis(*n)).collect());
        Measured { title: "softmax", data: "equal".into(), c: ms(c), ours: ms(ours) }
    }

    #[test]
    fn ratios_are_those_within_rounds() {
        // Of 0.5, 1.0 and 2.0 the middle one, which that of the medians, 20 and 40, is not.
        assert_eq!(row(&[20, 100, 10], &[40, 50, 10]).ratio(), Some(1.0));
        assert_eq!(row(&[], &[]).ratio(), None);
    }

    #[test]
    fn the_last_lines_are_the_least_and_the_median() {
        let wrong = Measured { ours: Err("wrong: 1 at 0, where 2 is right".into()), ..row(&[3], &[]) };
        let rows = [row(&[10], &[10]), row(&[10], &[40]), row(&[10], &[20]), wrong];
        let text = markdown(&rows, &["2 threads".into()]);
        assert!(text.contains("| softmax | equal | 10.00 | 40.00 | 0.25 |\n"), "{text}");
        assert!(text.contains("| softmax | equal | 3.00 | — | — |\n| least | | | | 0.25 |\n"), "{text}");
        assert!(
            text.contains("| median | | | | 0.50 |\n\n- 2 threads\n- remc: wrong: 1 at 0, where"),
            "{text}"
        );
        let limits = Limits { least: 0.5, median: Some(0.8) };
        let said = over(&rows, limits);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].contains("0.25 of C, less than 0.5") && said[1].contains("median is 0.50"),
            "{said:?}"
        );
        // Nothing is wanted of the median where the suite does not say so.
        assert_eq!(over(&rows, Limits { median: None, ..limits }), said[..1]);
    }
}

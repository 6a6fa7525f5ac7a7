//! Tunes each program, and runs what was found against the defaults and against the best for each data set.

use super::subjects::{self, Set, Subject};
use crate::args::Args;
use crate::{contender, process};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The fewest and the most runs of a process, and about how long they take; the first ones warm up.
const REPEATED: (usize, usize) = (12, 300);
const LONG: Duration = Duration::from_millis(200);
const WARM_UP: usize = 3;
/// Seconds that a tuning may take.
const MOST_SECONDS: f64 = 30.0;
/// How far from the best a data set may end, seen or not; or by so much, whichever is more.
const NEAR_SEEN: f64 = 1.05;
const NEAR_UNSEEN: f64 = 1.15;
const NEAR_TIME: Duration = Duration::from_micros(20);
/// The part of the defaults' speed that no data set may fall below.
const NOT_SLOWER: f64 = 0.97;

/// A data set under the defaults of no machine in particular, those of this one, the tuning, and what is best for it alone.
struct Row {
    set: Set,
    seen: bool,
    times: [Duration; 4],
    /// The median over the rounds of the tuning's time by the best's, and of the defaults' by the tuning's: of this machine's,
    /// and of those of any.
    from_best: f64,
    gain: f64,
    in_all: f64,
}

struct Measured {
    program: &'static str,
    seconds: f64,
    rows: Vec<Row>,
}

/// Measures and prints; whether all is within the limits, or none are asked for.
///
/// # Errors
/// There is no remc, or it fails.
pub fn run(args: &Args, cache: &Path) -> Result<bool, String> {
    let remc = process::remc(args.remc.clone())?;
    let subjects = subjects::chosen(&args.only)?;
    if args.list {
        for s in &subjects {
            let sets = |sets: &[Set]| sets.iter().map(|s| s.name).collect::<Vec<_>>().join("; ");
            println!("{:16} {}; not seen: {}", s.program, sets(s.seen), sets(s.unseen));
        }
        return Ok(true);
    }
    let folder = cache.join(format!("tuning-{}", std::process::id()));
    let bench =
        Bench { remc, threads: args.threads, rounds: args.rounds, small: args.small, folder: &folder };
    let mut all = Vec::new();
    for s in &subjects {
        let measured = bench.measure(s);
        // Nobody wants the data.
        let _ = std::fs::remove_dir_all(&folder);
        all.push(measured?);
    }
    print!("{}", markdown(&all));
    let over = over(&all);
    over.iter().for_each(|line| eprintln!("remc-bench: {line}"));
    Ok(!args.limits || over.is_empty())
}

/// What a program runs with: a tuning file, or `none`, and whether by the defaults of no machine in particular.
#[derive(Clone, Copy, PartialEq)]
struct Setting<'a> {
    any: bool,
    tuning: &'a str,
}

struct Bench<'a> {
    remc: PathBuf,
    threads: Option<u16>,
    rounds: u16,
    small: bool,
    folder: &'a Path,
}

impl Bench<'_> {
    fn measure(&self, s: &Subject) -> Result<Measured, String> {
        let data = |e: std::io::Error| format!("data of {}: {e}", s.program);
        let together = self.folder.join("seen");
        let mut sets = Vec::new();
        for (k, set) in s.seen.iter().enumerate() {
            let folder = together.join(format!("set-{k}"));
            sets.push((*set, true, s.write(set, self.small, &folder).map_err(data)?, folder));
        }
        for (k, set) in s.unseen.iter().enumerate() {
            let folder = self.folder.join(format!("unseen-{k}"));
            sets.push((*set, false, s.write(set, self.small, &folder).map_err(data)?, folder));
        }
        eprintln!("{} …", s.program);
        let (tuned, seconds) = self.tune(s, &together, "together")?;
        let mut rows = Vec::new();
        for (k, (set, seen, inputs, folder)) in sets.into_iter().enumerate() {
            let (best, _) = self.tune(s, &folder, &format!("alone-{k}"))?;
            let any = Setting { any: true, tuning: "none" };
            let here = |tuning| Setting { any: false, tuning };
            let row = self.compare(s, set, seen, &inputs, [any, here("none"), here(&tuned), here(&best)])?;
            let (name, best) = (set.name, row.from_best);
            eprintln!(
                "  {name}: {best:.2} of the best, {:.2}× and {:.2}× the defaults",
                row.gain, row.in_all
            );
            rows.push(row);
        }
        Ok(Measured { program: s.program, seconds, rows })
    }

    /// Tunes on a folder of data; the file that was written, or `none`, and the seconds of the whole process.
    fn tune(&self, s: &Subject, data: &Path, name: &str) -> Result<(String, f64), String> {
        let file = self.folder.join(format!("{name}.tuning"));
        let mut command = Command::new(&self.remc);
        command.arg("autotune").arg(s.path()).args(["--entry", "main", "--inputs"]).arg(data);
        command.arg("--output").arg(&file).args(["--budget", &MOST_SECONDS.to_string()]);
        self.threads(&mut command);
        let start = Instant::now();
        process::said(&mut command)?;
        let seconds = start.elapsed().as_secs_f64();
        let file = if file.is_file() { file.display().to_string() } else { "none".to_owned() };
        Ok((file, seconds))
    }

    fn threads(&self, command: &mut Command) {
        if let Some(n) = self.threads {
            command.args(["--threads", &n.to_string()]);
        }
    }

    /// Runs settings in turn.
    fn compare(
        &self,
        s: &Subject,
        set: Set,
        seen: bool,
        inputs: &[String],
        settings: [Setting<'_>; 4],
    ) -> Result<Row, String> {
        let mut times: [Vec<Duration>; 4] = Default::default();
        let one = self.once(s, inputs, settings[0], REPEATED.0)?;
        let repeat = (LONG.as_secs_f64() / one.as_secs_f64().max(1e-9)) as usize;
        let repeat = repeat.clamp(REPEATED.0, REPEATED.1);
        for round in 0..self.rounds.max(1).into() {
            for k in 0..4 {
                let k = (k + round) % 4;
                times[k].push(self.once(s, inputs, settings[k], repeat)?);
            }
        }
        let ratio = |a: usize, b: usize| {
            // One and the same setting is as fast as itself.
            if settings[a] == settings[b] {
                return 1.0;
            }
            let by = times[a].iter().zip(&times[b]).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64().max(1e-9));
            let mut all: Vec<f64> = by.collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (from_best, gain, in_all) = (ratio(2, 3), ratio(1, 2), ratio(0, 2));
        let times = times.map(|mut t| contender::median(&mut t).unwrap_or_default());
        Ok(Row { set, seen, times, from_best, gain, in_all })
    }

    /// The median of some runs of a process.
    fn once(
        &self,
        s: &Subject,
        inputs: &[String],
        of: Setting<'_>,
        repeat: usize,
    ) -> Result<Duration, String> {
        let mut command = Command::new(&self.remc);
        command.arg("run").arg(s.path()).args(["--entry", "main", "--device", "cpu", "--timings=json"]);
        command.args(["--max-elements", "1", "--tuning", of.tuning, "--repeat", &repeat.to_string()]);
        if of.any {
            command.env("REMC_MACHINE", "any");
        }
        inputs.iter().for_each(|input| {
            command.args(["--input", input]);
        });
        self.threads(&mut command);
        let times = process::timings(&process::said(&mut command)?)?;
        let mut runs: Vec<Duration> = times.runs.into_iter().skip(WARM_UP).collect();
        contender::median(&mut runs).ok_or_else(|| "remc gave no time".into())
    }
}

fn time(t: Duration) -> String {
    match t.as_secs_f64() {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// The table of the book.
fn markdown(all: &[Measured]) -> String {
    let mut out = String::from(
        "| program, tuned in | data | defaults of any machine | of this one | tuned | gain | in all | best for it alone | from the best |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for m in all {
        let mut first = format!("{}, {:.1} s", m.program, m.seconds);
        for r in &m.rows {
            let seen = if r.seen { "" } else { " (not seen)" };
            let [any, defaults, tuned, best] = r.times.map(time);
            let _ = writeln!(
                out,
                "| {first} | {}{seen} | {any} | {defaults} | {tuned} | {:.2}× | {:.2}× | {best} | {:.2} |",
                r.set.name, r.gain, r.in_all, r.from_best
            );
            first.clear();
        }
    }
    out
}

/// What is over its limit.
fn over(all: &[Measured]) -> Vec<String> {
    let mut out = Vec::new();
    for m in all {
        if m.seconds > MOST_SECONDS {
            out.push(format!("{}: tuning took {:.1} s, of {MOST_SECONDS}", m.program, m.seconds));
        }
        for r in &m.rows {
            let near = if r.seen { NEAR_SEEN } else { NEAR_UNSEEN };
            let behind = r.times[2].saturating_sub(r.times[3]);
            if r.from_best > near && behind > NEAR_TIME {
                let name = r.set.name;
                out.push(format!(
                    "{}, {name}: {:.2} of the best, which may be {near}",
                    m.program, r.from_best
                ));
            }
            if r.seen && r.gain < NOT_SLOWER {
                let name = r.set.name;
                out.push(format!("{}, {name}: {:.2} of the speed of the defaults", m.program, r.gain));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_its_limit_is_told() {
        let set = Set { name: "few", sizes: &[1] };
        let ms = |ms: [u64; 4]| ms.map(Duration::from_millis);
        let row =
            |seen, times, from_best, gain| Row { set, seen, times, from_best, gain, in_all: 2.0 * gain };
        let measured = |seconds, rows| Measured { program: "p", seconds, rows };
        let good = measured(
            3.0,
            vec![row(true, ms([8, 4, 2, 2]), 1.04, 2.0), row(false, ms([5, 4, 3, 3]), 1.1, 1.3)],
        );
        assert_eq!(over(&[good]), [""; 0]);
        let bad = measured(
            31.0,
            vec![row(true, ms([4, 2, 4, 3]), 1.3, 0.5), row(false, ms([6, 4, 4, 3]), 1.3, 1.0)],
        );
        let told = over(std::slice::from_ref(&bad));
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(
            markdown(&[bad]).contains(
                "| p, 31.0 s | few | 4.00 ms | 2.00 ms | 4.00 ms | 0.50× | 1.00× | 3.00 ms | 1.30 |"
            )
        );
        // What is some microseconds behind is near.
        let mut short = row(true, ms([1, 1, 1, 1]), 1.5, 1.0);
        short.times[2] += Duration::from_micros(19);
        assert_eq!(over(&[measured(1.0, vec![short])]), [""; 0]);
    }
}

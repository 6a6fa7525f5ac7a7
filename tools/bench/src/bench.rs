//! One run of the bench.

use crate::args::Args;
use crate::cases::{Case, chosen};
use crate::checking;
use crate::contender::{Contender, measure};
use crate::data;
use crate::limits::Limits;
use crate::numpy::{self, NumPy};
use crate::ours::Ours;
use crate::peers::{Compiler, FLAGS, Peers, processor};
use crate::places;
use crate::ragged;
use crate::scaling;
use crate::streams;
use crate::suites;
use crate::table::{self, Measured};
use crate::tuning;
use crate::versions;
use std::path::Path;
use std::time::Duration;

/// Everyone who takes part.
struct Everyone {
    ours: Ours,
    c: Peers,
    numpy: NumPy,
    limits: Limits,
}

/// Whether all results were right; an error if the bench cannot run at all.
pub fn run(args: &Args) -> Result<bool, String> {
    if let Some(count) = args.definitions {
        print!("{}", checking::definitions::file(count));
        return Ok(true);
    }
    let cache = args.cache.clone().or_else(places::default_cache).ok_or("no place for data: give --cache")?;
    std::fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    if args.setup {
        numpy::install(&cache)?;
        return Ok(true);
    }
    if args.checking {
        return checking::measure::run(args.remc.clone(), args.small, args.rounds, &cache);
    }
    if args.compile_scaling {
        return scaling::run(args.remc.clone(), args.small, &cache).map(|()| true);
    }
    if args.versions {
        return versions::measure::run(args, &cache);
    }
    if args.tuning {
        return tuning::measure::run(args, &cache);
    }
    if args.ragged {
        return ragged::measure::run(args, &cache);
    }
    if args.streams {
        return streams::measure::run(args, &cache);
    }
    if args.unseen {
        return suites::measure::run(&suites::UNSEEN, args, &cache);
    }
    if args.rows {
        return suites::measure::run(&suites::ROWS, args, &cache);
    }
    let load = load_average();
    let cases = chosen(args.small, &args.only)?;
    if args.list {
        for case in &cases {
            println!("{:16} {}, {}", case.key, case.title, case.size);
        }
        return Ok(true);
    }
    let threads = args.threads_used();
    let compiler = Compiler::find(&cache);
    let gcc = compiler.as_ref().map(|c| c.version.clone()).map_err(Clone::clone);
    let mut everyone = Everyone {
        limits: Limits::new(&compiler, threads),
        ours: Ours::new(args.remc.clone(), threads, &cache),
        c: Peers::new(compiler, threads, &cache),
        numpy: NumPy::start(&cache, threads),
    };

    let mut all_right = true;
    let mut rows = Vec::new();
    for case in &cases {
        eprint!("{} … ", case.key);
        let (row, right) = everyone.row(case, args.rounds, &cache)?;
        let show = |r: &Result<Duration, String>| match r {
            Ok(t) => format!("{:.3} ms", t.as_secs_f64() * 1e3),
            Err(why) => format!("— ({why})"),
        };
        eprintln!("remc {}, C {}, NumPy {}", show(&row.ours), show(&row.c), show(&row.numpy));
        all_right &= right;
        rows.push(row);
    }

    let mut conditions = conditions(threads, load, gcc.as_ref().ok());
    conditions.insert(
        1,
        format!(
            "medians of {} calls after warm-up, taken in turn; above 1 remc is the faster one",
            args.rounds
        ),
    );
    match &everyone.numpy.version {
        Some(version) => {
            conditions.push(format!("NumPy {version}; all results were compared with its float64"))
        }
        None => conditions.push("no result was checked, as NumPy is what checks them".into()),
    }
    if let Ok([read, copy, single, double]) =
        everyone.limits.summary(if args.small { 1 << 20 } else { 1 << 28 })
    {
        conditions.push(format!(
            "limits, each row's measured at its own size; at {}: read {read:.1} GB/s, copy {copy:.1} GB/s; \
             {single:.0} GFLOP/s f32, {double:.0} f64",
            if args.small { "1 MB" } else { "256 MB" }
        ));
    }
    let table = table::markdown(&rows, &conditions);
    print!("{table}");
    if let Some(path) = &args.table {
        table::write(path, &table).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(all_right)
}

/// What figures depend on: the machine, and how C was compiled.
pub(crate) fn conditions(threads: u16, load: Option<String>, gcc: Option<&String>) -> Vec<String> {
    let machine = format!(
        "{}, {threads} thread{}{}",
        processor(),
        if threads == 1 { "" } else { "s" },
        // What else ran before: its rows are the first thing to doubt.
        load.map(|l| format!("; load of the machine at the start: {l}")).unwrap_or_default()
    );
    let c = gcc.map(|gcc| format!("C: {gcc}, `{}`", FLAGS.join(" ")));
    [Some(machine), c].into_iter().flatten().collect()
}

/// How many processes ran in the last minute, on average.
pub(crate) fn load_average() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

impl Everyone {
    /// Measures one row; whether all results were right.
    fn row(&mut self, case: &Case, rounds: u16, cache: &Path) -> Result<(Measured, bool), String> {
        let inputs = data::inputs(case, cache).map_err(|e| format!("the data of {}: {e}", case.key))?;
        let mut right = true;

        // NumPy goes first, as it holds what the others are compared with.
        let mut ready: [Result<Option<Duration>, String>; 3] = {
            let numpy = self.numpy.prepare(case, &inputs);
            [self.ours.prepare(case, &inputs), self.c.prepare(case, &inputs), numpy]
        };
        for (i, ready) in ready.iter_mut().enumerate() {
            if ready.is_err() {
                continue;
            }
            let contender: &mut dyn Contender = match i {
                0 => &mut self.ours,
                1 => &mut self.c,
                _ => &mut self.numpy,
            };
            let outcome = contender.call().and_then(|_| contender.result());
            // Without NumPy nothing is checked, which the table says.
            let verdict = match (&outcome, &self.numpy.version) {
                (Ok(outcome), Some(_)) => self.numpy.check(outcome).map(Some),
                (Ok(_), None) => Ok(None),
                (Err(why), _) => Err(why.clone()),
            };
            match verdict {
                Ok(Some(v)) if !v.is_right() => {
                    right = false;
                    *ready = Err(format!("wrong by {:.3e}, tolerated are {:.0e}", v.error, v.tolerance));
                }
                Ok(_) => {}
                Err(why) => {
                    right = false;
                    *ready = Err(why);
                }
            }
        }

        let mut times = {
            let mut running: Vec<&mut dyn Contender> = Vec::new();
            let all: [&mut dyn Contender; 3] = [&mut self.ours, &mut self.c, &mut self.numpy];
            for (contender, ready) in all.into_iter().zip(&ready) {
                if ready.is_ok() {
                    running.push(contender);
                }
            }
            measure(&mut running, rounds).into_iter()
        };
        let compile = ready[0].as_ref().ok().copied().flatten();
        let [ours, c, numpy] = ready
            .map(|ready| ready.and_then(|_| times.next().unwrap_or_else(|| Err("nothing was timed".into()))));
        for contender in [&mut self.ours as &mut dyn Contender, &mut self.c, &mut self.numpy] {
            contender.release();
        }
        let least = self.limits.least(case.floor);
        let measured =
            Measured { title: case.title.into(), size: case.size.clone(), ours, c, numpy, compile, least };
        Ok((measured, right))
    }
}

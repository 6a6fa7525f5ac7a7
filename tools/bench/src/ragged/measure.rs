//! Runs both sides of each pair and compares them.
//!
//! Before anything is timed each side's result is compared with sums in double precision.

use super::rows::{Float, Rows, Side, Sizes};
use crate::args::Args;
use crate::cases::Array;
use crate::{contender, data, places, process, table};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs of one process; the first ones warm up.
const REPEATED: usize = 9;
const WARM_UP: usize = 2;

/// How many times as long as the other side the ragged one may take.
pub const LIMIT: f64 = 1.5;

/// The ragged side, and that which it is compared with.
const PAIRS: [(Side, Side); 7] = [
    (Side::Segments(Rows::Zipf, Float::F64), Side::Dense(Rows::Zipf, Float::F64)),
    (Side::Segments(Rows::Giant, Float::F64), Side::Dense(Rows::Giant, Float::F64)),
    (Side::Segments(Rows::Equal, Float::F64), Side::Dense(Rows::Equal, Float::F64)),
    (Side::Segments(Rows::Zipf, Float::F32), Side::Dense(Rows::Zipf, Float::F32)),
    (Side::Segments(Rows::Giant, Float::F32), Side::Dense(Rows::Giant, Float::F32)),
    (Side::Segments(Rows::Equal, Float::F32), Side::Dense(Rows::Equal, Float::F32)),
    (Side::Product(Rows::Zipf), Side::Product(Rows::Equal)),
];

/// The times of a pair, one of each round.
struct Measured {
    pair: (Side, Side),
    times: Vec<(Duration, Duration)>,
}

/// Measures and prints; whether all is within the limit, or none is asked for.
///
/// # Errors
/// There is no remc, it fails, or a result is wrong.
pub fn run(args: &Args, cache: &Path) -> Result<bool, String> {
    let remc = process::remc(args.remc.clone())?;
    let sizes = if args.small { Sizes::SMALL } else { Sizes::FULL };
    let bench = Bench { remc, threads: args.threads, folder: cache.join("ragged") };
    let mut all = Vec::new();
    for pair in PAIRS {
        let inputs = [bench.prepare(pair.0, sizes)?, bench.prepare(pair.1, sizes)?];
        let mut times = Vec::new();
        for round in 0..args.rounds {
            // Whoever comes first in a round may find the machine in another state.
            let once = |side: usize| bench.once([pair.0, pair.1][side], &inputs[side]);
            times.push(if round % 2 == 0 {
                let ragged = once(0)?;
                (ragged, once(1)?)
            } else {
                let other = once(1)?;
                (once(0)?, other)
            });
        }
        let row = Measured { pair, times };
        eprintln!("{}", row.summary());
        all.push(row);
    }
    print!("{}", markdown(&all));
    let over = all.iter().filter(|row| row.ratios().1 > LIMIT);
    let count = over.inspect(|row| eprintln!("remc-bench: over {LIMIT}: {}", row.summary())).count();
    Ok(!args.limits || count == 0)
}

struct Bench {
    remc: PathBuf,
    threads: Option<u16>,
    folder: PathBuf,
}

impl Bench {
    /// Writes the data of a side and checks what it gives; its inputs.
    fn prepare(&self, side: Side, sizes: Sizes) -> Result<Vec<String>, String> {
        let data = side.data(sizes);
        let inputs = data
            .write(&self.folder.join(side.folder(sizes)))
            .map_err(|e| format!("data of {}: {e}", name(side)))?;
        let file = self.folder.join(format!("result-{}.npy", std::process::id()));
        let mut command = self.command(side, &inputs);
        process::said(command.arg("--output").arg(&file))?;
        let shape: &[usize] = if matches!(side, Side::Dense(..)) { &[] } else { &[data.wanted.len()] };
        let array = Array::new(side.float().dtype(), shape);
        let mut bytes = vec![0; array.bytes()];
        let read = data::read_into(&file, &array, &mut bytes);
        std::fs::remove_file(&file).and(read).map_err(|e| format!("result of {}: {e}", name(side)))?;
        let got = data::numbers(array.dtype, &bytes);
        for (i, (got, wanted)) in got.zip(&data.wanted).enumerate() {
            // Numbers of few bits, which add up exactly.
            let near = (got - wanted).abs() <= 1e-6 * wanted.abs();
            if !near {
                return Err(format!("{}: {got} at {i}, where {wanted} is right", name(side)));
            }
        }
        Ok(inputs)
    }

    /// The median of the runs of one process.
    fn once(&self, side: Side, inputs: &[String]) -> Result<Duration, String> {
        let mut command = self.command(side, inputs);
        command.args(["--timings=json", "--max-elements", "1", "--repeat", &REPEATED.to_string()]);
        let mut runs = process::timings(&process::said(&mut command)?)?.runs;
        contender::median(runs.get_mut(WARM_UP..).unwrap_or_default())
            .ok_or_else(|| "remc gave too few times".into())
    }

    fn command(&self, side: Side, inputs: &[String]) -> Command {
        let mut command = Command::new(&self.remc);
        command.arg("run").arg(places::program(side.program())).args(["--entry", "main", "--device", "cpu"]);
        if let Some(n) = self.threads {
            command.args(["--threads", &n.to_string()]);
        }
        inputs.iter().for_each(|input| {
            command.args(["--input", input]);
        });
        command
    }
}

fn name(side: Side) -> String {
    match side {
        Side::Dense(..) => side.program().into(),
        _ => format!("{}, {}", side.program(), side.rows().name()),
    }
}

impl Measured {
    /// The least, median and greatest ratio within a round.
    fn ratios(&self) -> (f64, f64, f64) {
        let (ragged, other): (Vec<Duration>, Vec<Duration>) = self.times.iter().copied().unzip();
        let all = contender::ratios(&ragged, &other);
        let at = |i: usize| all.get(i).copied().unwrap_or(f64::NAN);
        let last = all.len().saturating_sub(1);
        (at(0), at(last / 2), at(last))
    }

    fn medians(&self) -> (String, String) {
        let shown = |times: Vec<Duration>| table::time(contender::median(&mut times.clone()).as_ref());
        let (ragged, other) = self.times.iter().copied().unzip();
        (shown(ragged), shown(other))
    }

    fn summary(&self) -> String {
        let ((ragged, other), (least, middle, most)) = (self.medians(), self.ratios());
        let (a, b) = (name(self.pair.0), name(self.pair.1));
        format!("{a} {ragged} ÷ {b} {other}: {middle:.2} ({least:.2}–{most:.2})")
    }
}

fn markdown(rows: &[Measured]) -> String {
    let mut text = String::from(
        "| ragged | beside | ragged | beside | ratio, median | least – greatest |\n\
         | --- | --- | --: | --: | --: | --: |\n",
    );
    for row in rows {
        let ((ragged, other), (least, middle, most)) = (row.medians(), row.ratios());
        let (a, b) = (name(row.pair.0), name(row.pair.1));
        let _ = writeln!(text, "| {a} | {b} | {ragged} | {other} | {middle:.2} | {least:.2} – {most:.2} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_within_rounds() {
        let ms = |a, b| (Duration::from_millis(a), Duration::from_millis(b));
        let row = Measured { pair: PAIRS[0], times: vec![ms(30, 20), ms(10, 10), ms(40, 20)] };
        assert_eq!(row.ratios(), (1.0, 1.5, 2.0));
        assert!(row.summary().ends_with(": 1.50 (1.00–2.00)"), "{}", row.summary());
        assert!(markdown(&[row]).contains("| segment-sums-f64, Zipf | sum-f64 | 30"));
    }
}

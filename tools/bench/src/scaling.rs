//! How compile time grows with the length of a program.
//!
//! The programs are generated: one entry of so many bindings, of which each kind stresses another thing.
//!
//! | kind | its bindings | what could grow too fast |
//! | --- | --- | --- |
//! | `chain` | each a map of the one before | putting each map into the next |
//! | `heavy` | the same, with a logarithm | functions of machine code without end |
//! | `checked` | the same, with a check | their branches, and what they report |
//! | `mixed` | maps, reversals, sums and scans of what came before | the search for what fits together |
//! | `wide` | sums of one array, all of which are used | iterations merged without end |
//! | `scalars` | of numbers alone | passes over the program |
//! | `appended` | the array before with one more number | the tree of branches that an element of an append is |
//! | `pairs` | of the two arrays before, one backwards | what is computed for each of its readers |
//!
//! Each is compiled and run once by a process of its own, without a cache. A table shows the milliseconds
//! of each stage at each length, and its growth from the second longest to the longest as a part of what
//! n log n would be. Stages of less than [`SEEN`] at most are left out.

use crate::process;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bindings of the programs.
const LENGTHS: [usize; 6] = [100, 200, 400, 800, 1_600, 3_200];
const SMALL_LENGTHS: [usize; 2] = [50, 100];

/// Seconds that a stage takes at least, somewhere, to get a line.
const SEEN: f64 = 0.02;

/// What the bindings do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Chain,
    Heavy,
    Checked,
    Mixed,
    Wide,
    Scalars,
    Appended,
    Pairs,
}

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::Chain,
        Kind::Heavy,
        Kind::Checked,
        Kind::Mixed,
        Kind::Wide,
        Kind::Scalars,
        Kind::Appended,
        Kind::Pairs,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Chain => "chain",
            Kind::Heavy => "heavy",
            Kind::Checked => "checked",
            Kind::Mixed => "mixed",
            Kind::Wide => "wide",
            Kind::Scalars => "scalars",
            Kind::Appended => "appended",
            Kind::Pairs => "pairs",
        }
    }

    /// The right-hand side of binding `i`, which is not the first.
    fn binding(self, i: usize) -> String {
        let (before, earlier) = (i - 1, i.saturating_sub(3));
        match self {
            Kind::Chain | Kind::Scalars => format!("(+ {i}.5 (* 0.5 v{before}))"),
            Kind::Heavy => format!("(log (+ {i}.5 v{before}))"),
            Kind::Checked => format!("(quotient v{before} (+ k {i}))"),
            Kind::Wide => format!("(sum (max2 xs {i}.5))"),
            Kind::Appended => format!("(append v{before} [{i}.5])"),
            Kind::Pairs => format!("(+ (reverse v{before}) (* 0.5 v{}))", i.saturating_sub(2)),
            Kind::Mixed => match i % 5 {
                0 => format!("(- v{before} (sum v{earlier}))"),
                1 => format!("(reverse v{before})"),
                2 => format!("(iscan + v{before})"),
                3 => format!("(max2 v{before} v{earlier})"),
                _ => format!("(+ v{before} (* v{earlier} {i}.0))"),
            },
        }
    }
}

/// The program of so many bindings, of which there is at least one.
pub fn program(kind: Kind, length: usize) -> String {
    let (ty, first) = match kind {
        Kind::Checked => ("int", "(+ xs k)"),
        Kind::Scalars => ("float", "(+ 1.0 k)"),
        _ => ("float", "(+ xs k)"),
    };
    let mut text = format!("(entry (main [xs [{ty} n]] [k {ty}])\n  (let* ((v0 {first})");
    for i in 1..length {
        let _ = write!(text, "\n         (v{i} {})", kind.binding(i));
    }
    let result = match kind {
        Kind::Wide if length > 1 => {
            let all: Vec<String> = (1..length).map(|i| format!("v{i}")).collect();
            format!("(sum [{}])", all.join(" "))
        }
        Kind::Appended => format!("(sum v{})", length - 1),
        _ => format!("v{}", length - 1),
    };
    let _ = write!(text, ")\n    {result}))\n");
    text
}

/// The stages of one compilation, and their seconds.
fn stages(remc: &Path, kind: Kind, length: usize, cache: &Path) -> Result<Vec<(String, f64)>, String> {
    let path = cache.join(format!("{}-{length}.remora", kind.name()));
    let told = |e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::write(&path, program(kind, length)).map_err(told)?;
    let [xs, k] =
        if kind == Kind::Checked { ["xs=[70 80 90]", "k=2"] } else { ["xs=[1.5 2.5 0.5]", "k=2.5"] };
    let mut command = Command::new(remc);
    command.arg("run").arg(&path).args(["--device", "cpu", "--timings=json", "--input", xs, "--input", k]);
    command.env("REMC_CACHE", "off");
    let times = process::said(&mut command).and_then(|said| process::timings(&said));
    let stages = times.map_err(|why| format!("{}: {why}", path.display()))?.stages;
    Ok(stages.into_iter().map(|(name, t)| (name, t.as_secs_f64())).collect())
}

/// Growth as a part of what n log n would be; 1 is n log n.
fn growth(from: (usize, f64), to: (usize, f64)) -> f64 {
    let n_log_n = |n: usize| n as f64 * (n as f64).ln();
    (to.1 / from.1.max(1e-9)) / (n_log_n(to.0) / n_log_n(from.0))
}

/// Measures and prints a table for each kind of program.
pub fn run(remc: Option<PathBuf>, small: bool, cache: &Path) -> Result<(), String> {
    let remc = process::remc(remc)?;
    let lengths: &[usize] = if small { &SMALL_LENGTHS } else { &LENGTHS };
    for kind in Kind::ALL {
        let mut table: Vec<(String, Vec<f64>)> = Vec::new();
        for (column, &length) in lengths.iter().enumerate() {
            let measured = stages(&remc, kind, length, cache)?;
            let all = ("all".to_owned(), measured.iter().map(|(_, t)| t).sum());
            for (name, seconds) in measured.into_iter().chain([all]) {
                let row = match table.iter().position(|(n, _)| *n == name) {
                    Some(row) => row,
                    None => {
                        table.push((name, vec![0.0; lengths.len()]));
                        table.len() - 1
                    }
                };
                table[row].1[column] = seconds;
            }
        }
        println!("{}", show(kind, lengths, &table));
    }
    Ok(())
}

fn show(kind: Kind, lengths: &[usize], table: &[(String, Vec<f64>)]) -> String {
    let heads: String = lengths.iter().map(|n| format!(" {n} |")).collect();
    let rule = " --: |".repeat(lengths.len() + 1);
    let mut text = format!("| {}, ms |{heads} growth to n log n |\n| --- |{rule}\n", kind.name());
    for (name, seconds) in table {
        if name != "all" && seconds.iter().all(|t| *t < SEEN) {
            continue;
        }
        let cells: String = seconds.iter().map(|t| format!(" {:.1} |", t * 1e3)).collect();
        let points: Vec<(usize, f64)> = lengths.iter().copied().zip(seconds.iter().copied()).collect();
        let growth = match points.as_slice() {
            [.., a, b] => growth(*a, *b),
            _ => f64::NAN,
        };
        let _ = writeln!(text, "| {name} |{cells} {growth:.2} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_takes_n_log_n_grows_by_one() {
        let time = |n: usize| (n, 3e-6 * n as f64 * (n as f64).ln());
        assert!((growth(time(100), time(3200)) - 1.0).abs() < 1e-9);
        assert!(growth((100, 1.0), (200, 4.0)) > 1.5);
    }

    #[test]
    fn short_stages_are_not_shown() {
        let table = [("fuse".to_owned(), vec![0.001, 0.03]), ("dce".to_owned(), vec![0.001, 0.002])];
        let text = show(Kind::Chain, &[100, 200], &table);
        assert!(text.contains("| fuse | 1.0 | 30.0 |") && !text.contains("dce"), "{text}");
    }
}

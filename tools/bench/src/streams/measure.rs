//! Both sides of each line in turn, as processes.

use super::subjects::{ALL, Subject, What};
use crate::args::Args;
use crate::bench::{conditions, load_average};
use crate::cases::named;
use crate::contender::{median, ratios};
use crate::peers::Compiler;
use crate::{places, process, table};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The most rounds: a line may take seconds.
const ROUNDS: u16 = 5;
/// What floats that were added in another order may differ by, of what they are.
const TOLERANCE: f64 = 1e-4;

/// The times of both sides, of each round.
struct Measured {
    subject: Subject,
    c: Vec<Duration>,
    ours: Vec<Duration>,
}

/// Measures and prints; whether both sides gave the same everywhere.
///
/// # Errors
/// There is no remc or C compiler, or data cannot be written.
pub fn run(args: &Args, cache: &Path) -> Result<bool, String> {
    let subjects = named(ALL.to_vec(), |s| s.key, &args.only)?;
    if args.list {
        subjects.iter().for_each(|s| println!("{:16} {}", s.key, s.title));
        return Ok(true);
    }
    let (load, threads) = (load_average(), args.threads_used());
    let remc = process::remc(args.remc.clone())?;
    let compiler = Compiler::find(cache)?;
    let folder = cache.join(if args.small { "streams-small" } else { "streams" });
    let rounds = args.rounds.min(ROUNDS);
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for subject in subjects {
        eprint!("{} … ", subject.key);
        let sides = commands(&subject, args.small, &folder, (&remc, &compiler, threads))?;
        match compare(subject, sides, rounds) {
            Ok(row) => {
                eprintln!("{}", figure(&row));
                rows.push(row);
            }
            Err(why) => {
                eprintln!("{why}");
                wrong.push(format!("{}: {why}", subject.title));
            }
        }
    }
    let mut conditions = conditions(threads, load, Some(&compiler.version));
    conditions.push(format!(
        "whole processes, files in the page cache; ratios are medians of {rounds} rounds; above 1 remc is the faster one"
    ));
    conditions.extend(wrong.iter().cloned());
    let table = markdown(&rows, &conditions);
    print!("{table}");
    if let Some(path) = &args.table {
        table::write(path, &table).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(wrong.is_empty())
}

/// The processes of a line: C's, and that of remc.
fn commands(
    subject: &Subject,
    small: bool,
    folder: &Path,
    (remc, compiler, threads): (&Path, &Compiler, u16),
) -> Result<[Command; 2], String> {
    let name = format!("streams/{}", subject.key);
    let mut c = Command::new(compiler.program(&name)?);
    c.env("OMP_NUM_THREADS", threads.to_string());
    let mut ours = Command::new(remc);
    ours.arg("run").arg(places::program(&name)).args(["--device", "cpu", "--threads", &threads.to_string()]);
    ours.args(subject.options).env_remove("REMC_MACHINE");
    for (parameter, what) in subject.inputs {
        let given = match what {
            What::Number(n, few) => {
                let n = if small { few } else { n };
                c.arg(n.to_string());
                n.to_string()
            }
            What::Numbers(all) => {
                c.args(all.iter().map(u32::to_string));
                format!("{all:?}").replace(',', "")
            }
            What::File(data, form) => {
                let path = data.file(folder, small).map_err(|e| format!("{}: {e}", folder.display()))?;
                c.arg(&path);
                format!("{}{form}", path.display())
            }
        };
        ours.arg("--input").arg(format!("{parameter}={given}"));
    }
    Ok([c, ours])
}

/// Both sides, checked and then timed.
fn compare(subject: Subject, mut sides: [Command; 2], rounds: u16) -> Result<Measured, String> {
    let [meant, given] = sides.each_mut().map(|side| once(side).map(|(numbers, _)| numbers));
    let (meant, given) = (meant?, given?);
    if !alike(&meant, &given) {
        return Err(format!("remc gives {given:?}, and C {meant:?}"));
    }
    let mut row = Measured { subject, c: Vec::new(), ours: Vec::new() };
    for _ in 0..rounds {
        let [c, ours] = sides.each_mut().map(once);
        row.c.push(c?.1);
        row.ours.push(ours?.1);
    }
    Ok(row)
}

/// The numbers that a process prints, and how long it took.
fn once(command: &mut Command) -> Result<(Vec<f64>, Duration), String> {
    let start = Instant::now();
    let output = command.output().map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let time = start.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().next().unwrap_or("it failed without a word").to_owned());
    }
    Ok((numbers(&String::from_utf8_lossy(&output.stdout)), time))
}

/// The numbers in a text.
fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| c.is_whitespace() || "()[]".contains(c));
    words.filter_map(|word| word.parse().ok()).collect()
}

fn alike(a: &[f64], b: &[f64]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(*a, *b))
}

fn figure(row: &Measured) -> String {
    let all = ratios(&row.c, &row.ours);
    all.get(all.len().saturating_sub(1) / 2).map_or("—".into(), |r| format!("{r:.2}"))
}

fn markdown(rows: &[Measured], conditions: &[String]) -> String {
    let mut text = String::from("| program | C (s) | remc (s) | C ÷ remc |\n| --- | ---: | ---: | ---: |\n");
    let seconds = |times: &[Duration]| {
        median(&mut times.to_vec()).map_or("—".into(), |t| format!("{:.3}", t.as_secs_f64()))
    };
    for row in rows {
        let (c, ours) = (seconds(&row.c), seconds(&row.ours));
        let _ = writeln!(text, "| {} | {c} | {ours} | {} |", row.subject.title, figure(row));
    }
    text.push('\n');
    conditions.iter().for_each(|line| {
        let _ = writeln!(text, "- {line}");
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_their_files() {
        for s in ALL {
            let name = format!("streams/{}", s.key);
            assert!(places::program(&name).is_file() && places::kernel(&name).is_file(), "{}", s.key);
        }
    }

    #[test]
    fn what_both_sides_print_is_compared() {
        assert_eq!(numbers("(values 14 [2.5 -1e3])\n"), [14.0, 2.5, -1000.0]);
        assert!(alike(&[1.0, 2.0], &[1.00001, 2.0]) && !alike(&[1.0], &[1.1]) && !alike(&[], &[]));
        assert!(!alike(&[1.0], &[1.0, 2.0]));
    }

    #[test]
    fn a_table_has_a_line_for_each() {
        let ms = |n: &[u64]| n.iter().map(|n| Duration::from_millis(*n)).collect::<Vec<_>>();
        let row = Measured { subject: ALL[0], c: ms(&[100, 200, 300]), ours: ms(&[200, 200, 200]) };
        let text = markdown(&[row], &["2 threads".into()]);
        assert!(text.contains("| 0.200 | 0.200 | 1.00 |\n\n- 2 threads\n"), "{text}");
    }
}

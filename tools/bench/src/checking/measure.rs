//! The measurements, and the two tables that show them.
//!
//! Of several times the median is shown. Whole files are checked by processes of `remc check`, which uses one thread:
//! reading the prelude and starting the process are part of their time. An edit is timed in a session that has
//! checked the file before: from the new text of the file to all messages about it.

use super::definitions;
use crate::contender::median;
use crate::process;
use remc_driver::Session;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Definitions of the whole files.
const SIZES: [usize; 4] = [100, 1_000, 3_000, 10_000];
const SMALL_SIZES: [usize; 2] = [100, 300];

/// Lines of the file that is edited.
const EDITED_LINES: usize = 1_000;

/// Stack of the thread that checks; the checker recurses as deep as programs are nested.
const STACK: usize = 256 << 20;

/// Measures and prints both tables; whether every file was right.
pub fn run(remc: Option<PathBuf>, small: bool, rounds: u16, cache: &Path) -> Result<bool, String> {
    let remc = process::remc(remc)?;
    let sizes: &[usize] = if small { &SMALL_SIZES } else { &SIZES };
    let mut table = String::from(
        "| definitions | lines | `remc check` | lines a minute | µs a line |\n| --: | --: | --: | --: | --: |\n",
    );
    for &size in sizes {
        let text = definitions::file(size);
        let path = cache.join(format!("definitions-{size}.remora"));
        std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut times = vec![];
        for _ in 0..rounds.min(5) {
            let start = Instant::now();
            let output = Command::new(&remc).arg("check").arg(&path).output();
            let output = output.map_err(|e| format!("{}: {e}", remc.display()))?;
            times.push(start.elapsed());
            if !output.status.success() || !output.stderr.is_empty() {
                eprintln!("{}\n{}", path.display(), String::from_utf8_lossy(&output.stderr));
                return Ok(false);
            }
        }
        let seconds = median(&mut times).unwrap_or_default().as_secs_f64();
        let lines = text.lines().count() as f64;
        let _ = writeln!(
            table,
            "| {size} | {lines} | {:.1} ms | {:.0} | {:.1} |",
            seconds * 1e3,
            lines / seconds * 60.0,
            seconds * 1e6 / lines
        );
    }
    let work = std::thread::Builder::new().stack_size(STACK).spawn(edits).map_err(|e| e.to_string())?;
    let edits = work.join().map_err(|_| "the checker stopped; see above".to_owned())?;
    let Some(mut times) = edits else { return Ok(false) };
    let middle = median(&mut times).unwrap_or_default();
    let (Some(&least), Some(&most)) = (times.first(), times.last()) else { return Ok(false) };
    let ms = |t: Duration| t.as_secs_f64() * 1e3;
    println!("{table}");
    println!(
        "An edit of one definition of {EDITED_LINES} lines, until all messages are there: median {:.2} ms of {} \
         edits, from {:.2} to {:.2} ms.",
        ms(middle),
        times.len(),
        ms(least),
        ms(most)
    );
    Ok(true)
}

/// The least number of definitions that fills so many lines.
pub fn definitions_of(lines: usize) -> usize {
    let mut have = 0;
    definitions::forms(lines)
        .iter()
        .take_while(|f| {
            let before = have;
            have += f.lines().count();
            before < lines
        })
        .count()
}

/// How long each edit took: every definition with a number in it is edited once. `None` if there were messages.
fn edits() -> Option<Vec<Duration>> {
    let mut forms = definitions::forms(definitions_of(EDITED_LINES));
    let mut session = Session::default();
    let file = session.load_text("edited.remora", Path::new(""), forms.concat());
    let mut times = vec![];
    if !session.diagnostics(file).is_empty() {
        return None;
    }
    for i in 0..forms.len() {
        let Some(edited) = definitions::edited(&forms[i]) else { continue };
        forms[i] = edited;
        let text = forms.concat();
        let start = Instant::now();
        session.set_text(file, text);
        let said = session.diagnostics(file);
        times.push(start.elapsed());
        if !said.is_empty() {
            return None;
        }
    }
    Some(times)
}

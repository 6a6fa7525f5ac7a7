//! The result as Markdown.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

/// One row, measured. A contender without a time has a reason.
#[derive(Clone, Debug)]
pub struct Measured {
    pub title: String,
    pub size: String,
    pub ours: Result<Duration, String>,
    pub c: Result<Duration, String>,
    pub numpy: Result<Duration, String>,
    pub compile: Option<Duration>,
    /// The least time that the machine would need.
    pub least: Option<Duration>,
}

const BEGIN: &str = "<!-- bench -->";
const END: &str = "<!-- /bench -->";

/// The table, and below it the reasons of the dashes in it.
pub fn markdown(rows: &[Measured], conditions: &[String]) -> String {
    let mut text = String::from(
        "| program | size | C ÷ remc | NumPy ÷ remc | remc | C | NumPy | remc of limit | C of limit | compile |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        let ours = row.ours.as_ref().ok();
        let (c, numpy) = (row.c.as_ref().ok(), row.numpy.as_ref().ok());
        let cells = [
            row.title.clone(),
            row.size.clone(),
            ratio(c, ours),
            ratio(numpy, ours),
            time(ours),
            time(c),
            time(numpy),
            share(row.least.as_ref(), ours),
            share(row.least.as_ref(), c),
            time(row.compile.as_ref()),
        ];
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        for (name, result) in [("remc", &row.ours), ("C", &row.c), ("NumPy", &row.numpy)] {
            let Err(why) = result else { continue };
            let note = format!("{name}: {why}");
            let place = format!("{} {}", row.title, row.size);
            match notes.iter_mut().find(|(n, _)| *n == note) {
                Some((_, places)) => places.push(place),
                None => notes.push((note, vec![place])),
            }
        }
    }
    text.push('\n');
    for line in conditions {
        let _ = writeln!(text, "- {line}");
    }
    for (note, places) in notes {
        if places.len() == rows.len() {
            let _ = writeln!(text, "- {note}");
        } else {
            let _ = writeln!(text, "- {note} ({})", places.join("; "));
        }
    }
    text
}

fn ratio(theirs: Option<&Duration>, ours: Option<&Duration>) -> String {
    match (theirs, ours) {
        (Some(theirs), Some(ours)) if !ours.is_zero() => {
            format!("{:.2}", theirs.as_secs_f64() / ours.as_secs_f64())
        }
        _ => "—".into(),
    }
}

fn share(least: Option<&Duration>, time: Option<&Duration>) -> String {
    match (least, time) {
        (Some(least), Some(time)) if !time.is_zero() => {
            format!("{:.0}%", 100.0 * least.as_secs_f64() / time.as_secs_f64())
        }
        _ => "—".into(),
    }
}

/// Three digits that count.
pub fn time(time: Option<&Duration>) -> String {
    let Some(time) = time else { return "—".into() };
    let (value, unit) = match time.as_secs_f64() {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// Writes the table into a file: between the two markers if it has them, else as all of it.
pub fn write(path: &Path, table: &str) -> io::Result<()> {
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(e),
    };
    fs::write(path, between_markers(&old, table).unwrap_or_else(|| table.to_owned()))
}

fn between_markers(old: &str, table: &str) -> Option<String> {
    let (before, rest) = old.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: Result<u64, &str>) -> Measured {
        Measured {
            title: "sum".into(),
            size: "2^26 f32".into(),
            ours: ours.map(Duration::from_micros).map_err(str::to_owned),
            c: Ok(Duration::from_micros(8000)),
            numpy: Ok(Duration::from_micros(20500)),
            compile: None,
            least: Some(Duration::from_micros(7500)),
        }
    }

    #[test]
    fn a_row() {
        let table = markdown(&[row(Ok(10_000))], &["2 threads".into()]);
        assert!(
            table.contains("| sum | 2^26 f32 | 0.80 | 2.05 | 10.0 ms | 8.00 ms | 20.5 ms | 75% | 94% | — |"),
            "{table}"
        );
        assert!(table.ends_with("\n\n- 2 threads\n"), "{table}");
    }

    #[test]
    fn a_dash_has_a_reason() {
        let table = markdown(&[row(Err("absent")), row(Ok(1))], &[]);
        assert!(table.contains("| sum | 2^26 f32 | — | — | — | 8.00 ms |"), "{table}");
        assert!(table.contains("- remc: absent (sum 2^26 f32)\n"), "{table}");
        let table = markdown(&[row(Err("absent")), row(Err("absent"))], &[]);
        assert!(table.contains("- remc: absent\n"), "{table}");
    }

    #[test]
    fn markers_keep_the_rest_of_a_file() {
        let old = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(between_markers(&old, "new\n"), Some(format!("a\n{BEGIN}\n\nnew\n\n{END}\nb\n")));
        assert_eq!(between_markers("a", "new"), None);
    }
}

//! What was measured, in short: for the terminal, and above the numbers in the file.

use crate::measured::{Last, Measured, On, Tried};
use crate::words::{at, number_of, sizes, time};

/// What was measured of an entry, and what comes of it.
pub fn summary(entry: &str, m: &Measured) -> String {
    let mut out = String::new();
    for n in &m.numbers {
        let became = match n.chosen == n.default {
            true => format!("stays {}", number_of(&n.name, n.default)),
            false => format!("{} → {}", number_of(&n.name, n.default), number_of(&n.name, n.chosen)),
        };
        out += &format!("{}: {became}\n", n.name);
        n.on.iter().for_each(|o| out += &format!("  {}\n", line(m, o)));
    }
    if m.data.iter().any(|d| d.last.is_some()) {
        let of = format!("`{entry}` on");
        out += &format!("\n{of:<24} {:>12} {:>12} {:>8}\n", "defaults", "tuned", "ratio");
    }
    for d in &m.data {
        let (name, Some(last)) = (&d.name, &d.last) else { continue };
        out += &match last {
            Last { defaults: Ok(a), tuned: Ok(b), ratio: Some(r) } => {
                format!("{name:<24} {:>12} {:>12} {:>7.2}×\n", time(*a), time(*b), 1.0 / r.median)
            }
            Last { defaults: Err(why), tuned: Ok(b), .. } => {
                format!("{name:<24} {:>12} {:>12}    with the defaults: {why}\n", "-", time(*b))
            }
            Last { tuned: Err(why), .. } => format!("{name:<24} has no result: {why}\n"),
            Last { .. } => String::new(),
        };
    }
    if m.given_up {
        out += "what was found was slower on one of these than the defaults, which stay\n";
    }
    if m.cut_short {
        out += "the search ended before everything was looked at: `--resume` goes on with more --budget\n";
    }
    out
}

/// What stands behind each number, by its name.
pub fn notes(m: &Measured) -> Vec<(String, String)> {
    let note = |n: &crate::measured::Number| {
        let lines: Vec<String> = n.on.iter().map(|o| line(m, o)).collect();
        (n.name.clone(), format!("by default {}\n{}", number_of(&n.name, n.default), lines.join("\n")))
    };
    m.numbers.iter().map(note).collect()
}

/// What was tried on a data set, the fastest first.
fn line(m: &Measured, on: &On) -> String {
    let mut all: Vec<&Tried> = on.tried.iter().collect();
    all.sort_by(|a, b| a.times.total_cmp(&b.times));
    let way = |t: &&Tried| match &t.time {
        Ok(seconds) => format!("{} at {}", time(*seconds), at(on, t)),
        Err(why) => format!("none at {}, {why}", at(on, t)),
    };
    // Those that have no result are said in any case.
    let failed = all.iter().position(|t| t.time.is_err()).unwrap_or(all.len());
    let shown: Vec<String> = all[..failed].iter().take(4).chain(&all[failed..]).map(way).collect();
    let sizes = Some(sizes(on)).filter(|s| !s.is_empty()).map(|s| format!(" ({s})")).unwrap_or_default();
    format!("{}{sizes}: {}", m.label(on), shown.join(", "))
}

//! What a search found, for people: on the terminal, and above the numbers in the file.

use remc_driver::compile::Named;
use remc_tune::choices::Choices;
use remc_tune::clock::Timed;
use remc_tune::search::{Evidence, Found, Ways};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Whether the user has pressed Ctrl-C: then the best that was found is kept.
pub fn is_interrupted() -> bool {
    interruption().load(Ordering::Relaxed)
}

/// From now on Ctrl-C ends the search, and not the process; a second one does.
pub fn interruption() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(remc_runtime::temporary::interruption)
}

/// The thresholds that have another value than the program gives them.
pub fn changed(choices: &Choices, found: &Found) -> Named {
    let all = choices.thresholds.iter().zip(&found.setting);
    all.filter(|((_, default), value)| default != *value)
        .map(|((name, _), value)| (name.to_string(), *value))
        .collect()
}

/// What is measured, and what comes of it.
pub fn summary(entry: &str, choices: &Choices, found: &Found, labels: &[String]) -> String {
    let mut out = String::new();
    for e in &found.evidence {
        let (name, default) = &choices.thresholds[e.threshold];
        let value = found.setting[e.threshold];
        let became =
            if value == *default { format!("stays {value}") } else { format!("{default} → {value}") };
        out += &format!("{name}: {became}\n");
        e.sets.iter().for_each(|w| out += &format!("  {}\n", ways(w, labels)));
    }
    if !found.last.is_empty() {
        out +=
            &format!("\n{:<24} {:>12} {:>12} {:>8}\n", format!("`{entry}` on"), "defaults", "tuned", "ratio");
    }
    for (label, [before, after]) in labels.iter().zip(&found.last) {
        out += &match (before, after) {
            (Timed::Time { seconds: a, .. }, Timed::Time { seconds: b, ratio }) => {
                format!("{label:<24} {:>12} {:>12} {:>7.2}×\n", time(*a), time(*b), 1.0 / ratio.median)
            }
            (Timed::Failed(why), _) | (_, Timed::Failed(why)) => {
                format!("{label:<24} has no result: {why}\n")
            }
        };
    }
    if found.given_up {
        out += "what was found was slower on one of these than the defaults, which stay\n";
    }
    if found.cut_short {
        out += "the search ended before everything was looked at: more --budget may find more\n";
    }
    out
}

/// The evidence for each threshold, by its name.
pub fn notes(choices: &Choices, found: &Found, labels: &[String]) -> Vec<(String, String)> {
    let note = |e: &Evidence| {
        let (name, default) = &choices.thresholds[e.threshold];
        let lines: Vec<String> = e.sets.iter().map(|w| ways(w, labels)).collect();
        (name.to_string(), format!("by default {default}\n{}", lines.join("\n")))
    };
    found.evidence.iter().map(note).collect()
}

/// The ways of a data set, fastest first.
fn ways(w: &Ways, labels: &[String]) -> String {
    let label = labels.get(w.set).map(String::as_str).unwrap_or_default();
    let sizes = match w.sizes.as_slice() {
        [one] => format!("size {one}"),
        [first, .., last] => format!("{} sizes from {first} to {last}", w.sizes.len()),
        [] => String::new(),
    };
    let mut all: Vec<(&usize, &f64)> = w.seconds.iter().collect();
    all.sort_by(|a, b| a.1.total_cmp(b.1));
    let way = |(k, seconds): &(&usize, &f64)| {
        let which = match w.sizes.get(**k) {
            Some(size) if **k == 0 && w.sizes.len() == 1 => format!("≤ {size}"),
            Some(size) => format!("{size}"),
            None => "more".to_owned(),
        };
        format!("{} at {which}", time(**seconds))
    };
    let shown: Vec<String> = all.iter().take(4).map(way).collect();
    format!("{label} ({sizes}): {}", shown.join(", "))
}

/// Seconds, in a unit that leaves few digits before the point.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

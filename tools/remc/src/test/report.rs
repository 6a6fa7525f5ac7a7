//! What `remc test` says.
//!
//! ```text
//! ok    stats.remora, 3 expectations
//! FAIL  tests/stats.remora:12  (mean xs)
//!         wanted  [1 2 3]
//!         found   [1 2 4]
//!                      ^
//! 3 expectations hold, 1 does not, in 2 files (0.1 s)
//! ```

use super::{Became, Check, Tested};
use remc_base::{visible, visible_lines};
use remc_driver::claims::{Found, Wanted, first_difference};
use std::time::Duration;

/// How much of a value is shown on a line.
const WIDTH: usize = 90;

/// What became of a file.
pub fn file(file: &Tested) -> String {
    let path = visible(&file.path);
    let mut out = String::new();
    let count = |of: Became| file.checks.iter().filter(|c| c.outcome == of).count();
    let (right, updated, wrong) = (count(Became::Right), count(Became::Updated), count(Became::Wrong));
    let said = |n: usize| format!("{n} expectation{}", if n == 1 { "" } else { "s" });
    let mut what = match right + updated {
        0 if wrong == 0 => vec!["it checks".to_owned()],
        n => vec![said(n)],
    };
    if updated > 0 {
        what.push(format!("{updated} of them updated"));
    }
    if wrong == 0 && file.errors.is_empty() {
        return format!("ok    {path}, {}\n", what.join(", "));
    }
    for check in file.checks.iter().filter(|c| c.outcome == Became::Wrong) {
        let line = if check.line == 0 { String::new() } else { format!(":{}", check.line) };
        out.push_str(&format!("FAIL  {path}{line}  {}\n", cut(&check.source)));
        out.push_str(&difference(check));
    }
    if !file.errors.is_empty() {
        out.push_str(&format!("FAIL  {path}  it has errors that no comment expects\n"));
        for line in file.errors.lines() {
            out.push_str(&format!("        {line}\n"));
        }
    }
    out
}

/// What was wanted and what was found, and where they part.
fn difference(check: &Check) -> String {
    let line = |what: &str, text: &str| format!("        {what}  {text}\n");
    let wanted = match &check.wanted {
        Wanted::Open => "a value: nothing stands behind the arrow; --update fills it in".to_owned(),
        _ if check.source.is_empty() => "a form before the comment".to_owned(),
        said => said.said(),
    };
    let found = match &check.found {
        Found::Nothing if check.source.is_empty() => "none".to_owned(),
        Found::Nothing => "no value: it is a definition".to_owned(),
        Found::Value(value) => value.clone(),
        Found::Error { message, .. } => {
            let message = visible_lines(message.trim_end()).to_string().replace('\n', "\n                ");
            return line("wanted", &cut(&wanted)) + &line("found ", &message);
        }
    };
    let (Wanted::Value(_), Found::Value(_)) = (&check.wanted, &check.found) else {
        return line("wanted", &cut(&wanted)) + &line("found ", &cut(&found));
    };
    let (wanted, found) = (one_line(&wanted), one_line(&found));
    let (in_wanted, in_found) = first_difference(&wanted, &found).unwrap_or_else(|| {
        // They differ in spaces alone, or in lines.
        let same = wanted.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
        (same, same)
    });
    let (wanted, _) = around(&wanted, in_wanted);
    let (found, mark) = around(&found, in_found);
    let caret = format!("                {}^\n", " ".repeat(mark));
    line("wanted", &wanted) + &line("found ", &found) + &caret
}

fn one_line(text: &str) -> String {
    text.lines().map(|l| visible(l).into_owned()).collect::<Vec<_>>().join(" ")
}

/// A text that is short enough for a line.
fn cut(text: &str) -> String {
    around(&one_line(text), 0).0
}

/// The part of a text around a place, and at which character of it that is.
fn around(text: &str, at: usize) -> (String, usize) {
    let chars: Vec<char> = text.chars().collect();
    let place = text.char_indices().take_while(|(i, _)| *i < at).count();
    if chars.len() <= WIDTH {
        return (text.to_owned(), place);
    }
    let from = place.saturating_sub(WIDTH / 2).min(chars.len() - WIDTH);
    let to = from + WIDTH;
    let part: String = chars[from..to].iter().collect();
    let (before, after) = (if from > 0 { "… " } else { "" }, if to < chars.len() { " …" } else { "" });
    (format!("{before}{part}{after}"), place - from + before.chars().count())
}

/// How many expectations hold.
pub fn summary(all: &[Tested], filter: Option<&str>, time: Duration) -> String {
    let checks = || all.iter().flat_map(|f| &f.checks);
    let wrong = checks().filter(|c| c.outcome == Became::Wrong).count();
    let updated = checks().filter(|c| c.outcome == Became::Updated).count();
    let right = checks().count() - wrong;
    let broken = all.iter().filter(|f| !f.errors.is_empty()).count();
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let files = plural(all.len(), "file");
    let seconds = time.as_secs_f64();
    if checks().count() == 0 && broken == 0 {
        return match filter {
            Some(filter) => format!("nothing has `{}` in it\n", visible(filter)),
            None => format!(
                "no expectations in {files}, which check: write `; ⇒ 3` behind an expression ({seconds:.1} s)\n"
            ),
        };
    }
    let mut parts =
        vec![format!("{} hold{}", plural(right, "expectation"), if right == 1 { "s" } else { "" })];
    if updated > 0 {
        parts[0].push_str(&format!(", {updated} of them updated"));
    }
    if wrong > 0 {
        parts.push(format!("{wrong} {} not", if wrong == 1 { "does" } else { "do" }));
    }
    if broken > 0 {
        parts.push(format!(
            "{} {} other errors",
            plural(broken, "file"),
            if broken == 1 { "has" } else { "have" }
        ));
    }
    format!("{}, in {files} ({seconds:.1} s)\n", parts.join(", "))
}

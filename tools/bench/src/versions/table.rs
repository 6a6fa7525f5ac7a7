//! What came out, as Markdown, and what is over its limit.

use super::subjects::{Set, Version};
use crate::contender::{self, median};
use crate::table::time;
use std::fmt::Write as _;
use std::time::Duration;

/// How many times as long as for the best version compiling all of them may take.
pub const COMPILE: f64 = 1.5;
/// How many times as long as the best version the chosen one may take.
pub const RUN: f64 = 1.1;

/// The times of one contender, one of each round.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Times {
    pub compile: Vec<Duration>,
    pub run: Vec<Duration>,
}

/// A program on one set of data.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    pub program: &'static str,
    pub set: Set,
    /// With all versions, of which the sizes choose.
    pub chosen: Times,
    pub alone: Vec<(Version, Times)>,
}

/// How long `remc compile --emit object` takes, which compiles all that there is.
#[derive(Clone, PartialEq, Debug)]
pub struct Whole {
    pub program: &'static str,
    pub all: Vec<Duration>,
    pub alone: Vec<(Version, Vec<Duration>)>,
}

/// The two figures of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratios {
    /// The number of the version that runs fastest.
    pub best: usize,
    pub compile: f64,
    pub run: f64,
}

/// Compares what was chosen with the version that runs fastest, round by round; `None` where nothing was measured.
pub fn ratios(row: &Measured) -> Option<Ratios> {
    let middle = |times: &[Duration]| median(&mut times.to_vec());
    let of = |(k, (_, t)): (usize, &(_, Times))| Some((middle(&t.run)?, k));
    let (_, best) = row.alone.iter().enumerate().filter_map(of).min()?;
    let other = &row.alone[best].1;
    Some(Ratios {
        best,
        compile: ratio(&row.chosen.compile, &other.compile)?,
        run: ratio(&row.chosen.run, &other.run)?,
    })
}

/// The median over the rounds of the ratio of two contenders' times.
fn ratio(of: &[Duration], to: &[Duration]) -> Option<f64> {
    let all = contender::ratios(of, to);
    all.get(all.len().checked_sub(1)? / 2).copied()
}

/// A row in a few words.
pub fn summary(row: &Measured) -> String {
    match ratios(row) {
        None => "nothing was timed".into(),
        Some(r) => {
            let best = row.alone[r.best].0.name;
            format!("fastest: {best}; compile {:.2}, run {:.2} of it", r.compile, r.run)
        }
    }
}

/// All rows.
pub fn markdown(rows: &[Measured], whole: &[Whole]) -> String {
    let mut text = String::from(
        "| program | data | version | compile | run | ÷ fastest: compile | run |\n\
         | --- | --- | --- | --: | --: | --: | --: |\n",
    );
    for row in rows {
        let sizes: Vec<String> = row.set.sizes.iter().map(usize::to_string).collect();
        let data = format!("{}: {}", row.set.name, sizes.join(" × "));
        let found = ratios(row);
        let figures = match found {
            Some(r) => format!("{:.2} | {:.2}", r.compile, r.run),
            None => "— | —".into(),
        };
        let shown = |t: &[Duration]| time(median(&mut t.to_vec()).as_ref());
        let (compile, run) = (shown(&row.chosen.compile), shown(&row.chosen.run));
        let _ = writeln!(text, "| {} | {data} | chosen | {compile} | {run} | {figures} |", row.program);
        for (k, (version, t)) in row.alone.iter().enumerate() {
            let mark = if found.is_some_and(|r| r.best == k) { " (fastest)" } else { "" };
            let (compile, run) = (shown(&t.compile), shown(&t.run));
            let _ = writeln!(text, "| | | {}{mark} | {compile} | {run} | | |", version.name);
        }
    }
    text.push_str(
        "\n| program | version | `remc compile --emit object` | ÷ all |\n| --- | --- | --: | --: |\n",
    );
    for w in whole {
        let all = time(median(&mut w.all.clone()).as_ref());
        let _ = writeln!(text, "| {} | all | {all} | |", w.program);
        for (version, times) in &w.alone {
            let alone = time(median(&mut times.clone()).as_ref());
            let part = ratio(times, &w.all).map_or("—".into(), |r| format!("{r:.2}"));
            let _ = writeln!(text, "| | {} | {alone} | {part} |", version.name);
        }
    }
    text
}

/// What is over its limit, a sentence each.
pub fn over(rows: &[Measured]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        let at = format!("{}, {}", row.program, row.set.name);
        let Some(r) = ratios(row) else {
            found.push(format!("{at}: nothing was timed"));
            continue;
        };
        let best = row.alone[r.best].0.name;
        if r.compile > COMPILE {
            found.push(format!(
                "{at}: compiling all versions takes {:.2} times as long as `{best}` alone, more than {COMPILE}",
                r.compile
            ));
        }
        if r.run > RUN {
            found.push(format!(
                "{at}: what the sizes choose takes {:.2} times as long as `{best}`, more than {RUN}",
                r.run
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::subjects::{Set, Version};
    use super::*;

    fn times(compile: &[u64], run: &[u64]) -> Times {
        let ms = |v: &[u64]| v.iter().map(|n| Duration::from_millis(*n)).collect();
        Times { compile: ms(compile), run: ms(run) }
    }

    fn row(chosen: Times) -> Measured {
        let version = |name| Version { name, thresholds: &[] };
        Measured {
            program: "p",
            set: Set { name: "small", sizes: &[3, 4] },
            chosen,
            alone: vec![
                (version("outer"), times(&[100, 100, 400], &[50, 60, 55])),
                (version("inner"), times(&[10, 10, 10], &[90])),
            ],
        }
    }

    #[test]
    fn figures_are_compared_round_by_round_with_the_fastest_version() {
        // The third round was slow for both: of the ratios 1.2, 1.2 and 1.0 the middle one counts.
        let r = ratios(&row(times(&[120, 120, 400], &[55, 60, 66]))).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(r.best == 0 && near(r.compile, 1.2) && near(r.run, 1.1), "{r:?}");
        assert_eq!(ratios(&row(Times::default())), None);
    }

    #[test]
    fn what_is_over_its_limit_is_said() {
        assert_eq!(over(&[row(times(&[150, 150, 600], &[55, 60, 55]))]), Vec::<String>::new());
        let said = over(&[row(times(&[160, 160, 640], &[75, 90, 88])), row(Times::default())]);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(
            said[0].contains("p, small") && said[0].contains("1.60 times as long as `outer`"),
            "{said:?}"
        );
        assert!(said[1].contains("1.50 times as long as `outer`, more than 1.1"), "{said:?}");
        assert!(said[2].contains("nothing was timed"), "{said:?}");
    }

    #[test]
    fn tables_show_medians_and_the_fastest() {
        let ms = Duration::from_millis;
        let whole = Whole {
            program: "p",
            all: vec![ms(400), ms(300)],
            alone: vec![(Version { name: "outer", thresholds: &[] }, vec![ms(100), ms(75)])],
        };
        let text = markdown(&[row(times(&[120, 120, 400], &[55, 60, 66]))], &[whole]);
        assert!(text.contains("| p | small: 3 × 4 | chosen | 120 ms | 60.0 ms | 1.20 | 1.10 |\n"), "{text}");
        assert!(text.contains("| | | outer (fastest) | 100 ms | 55.0 ms | | |\n"), "{text}");
        assert!(text.contains("| | | inner | 10.0 ms | 90.0 ms | | |\n"), "{text}");
        assert!(text.contains("| p | all | 300 ms | |\n| | outer | 75.0 ms | 0.25 |\n"), "{text}");
    }
}

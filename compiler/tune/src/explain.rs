//! What a tuning file says, in sentences: `remc tuning`.

use crate::file::Tuned;
use crate::measured::{Last, Measured, Number, On, THRESHOLD, Tried};
use crate::search::NEAR;
use crate::words::{at, number_of, sizes, time};
use remc_flat::flatten::Threshold;
use remc_kernel::schedule::Field;

/// What there is of the program that a file is of.
#[derive(Clone, PartialEq, Debug)]
pub enum Beside {
    /// Nothing that could be compared with the file, and why.
    Nothing(String),
    /// The structure of the entry's code now, and its numbers with their defaults.
    Code { program: String, code: String, numbers: Vec<(String, i64)> },
}

/// Everything that one table of a file says, and how much of it holds. `machine` is this one.
pub fn explain(t: &Tuned, beside: &Beside, machine: &str) -> String {
    let mut out = vec![format!("`{}` on the {} device", t.entry, t.device)];
    out.push(format!("  {}", fit(t, beside)));
    if let Some(m) = &t.measured {
        let sets = match m.data.as_slice() {
            [one] => format!("one data set, {}", one.name),
            all => format!("{} data sets: {}", all.len(), names(all.iter().map(|d| d.name.as_str()))),
        };
        out.push(format!("  It was measured on {}, on {}, with {sets}.", m.date, m.on()));
        // Which GPU there is, only a run on it knows.
        if t.device == "cpu" && m.machine != machine {
            out.push(format!(
                "  This machine is another one ({machine}): what is fastest there need not be here, so measure anew."
            ));
        }
        if m.cut_short {
            out.push("  The search ended before everything was looked at: another one may find more.".into());
        }
        if m.given_up {
            out.push(
                "  What was found was slower on a data set in the last run than the defaults, so that these stay."
                    .into(),
            );
        }
        m.data.iter().filter_map(|d| Some((&d.name, d.last.as_ref()?))).for_each(|(name, last)| {
            out.push(format!("  {name}: {}", gained(last)));
        });
    } else {
        out.push("  Nothing that was measured stands behind it: somebody has written it.".into());
    }
    let measured = t.measured.as_ref();
    let evidence = |name: &str| measured?.numbers.iter().find(|n| n.name == name);
    for (name, value) in t.thresholds.iter().chain(&t.schedule) {
        out.push(String::new());
        out.extend(number(name, Some(*value), evidence(name), measured, beside));
    }
    let set = |n: &&Number| !t.thresholds.contains_key(&n.name) && !t.schedule.contains_key(&n.name);
    for n in measured.into_iter().flat_map(|m| &m.numbers).filter(set) {
        out.push(String::new());
        out.extend(number(&n.name, None, Some(n), measured, beside));
    }
    if let Beside::Code { numbers, .. } = beside {
        let said = |name: &String| t.thresholds.contains_key(name) || t.schedule.contains_key(name);
        let open = numbers.iter().filter(|(name, _)| !said(name) && evidence(name).is_none());
        let (versions, rest): (Vec<_>, Vec<_>) =
            open.partition(|(name, _)| Threshold::of_name(name).is_some());
        let versions: Vec<String> =
            versions.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        if !versions.is_empty() || !rest.is_empty() {
            out.push(String::new());
        }
        if !versions.is_empty() {
            out.push(format!(
                "No data set has come to these, which are as by default: {}",
                versions.join(", ")
            ));
        }
        if !rest.is_empty() {
            out.push(format!(
                "The numbers of schedules that were not measured are as by default: {} of them",
                rest.len()
            ));
        }
    }
    out.join("\n") + "\n"
}

/// Whether it is of the program beside it.
fn fit(t: &Tuned, beside: &Beside) -> String {
    match beside {
        Beside::Nothing(why) => format!("{why}, so whether the numbers fit is not known."),
        Beside::Code { program, code, .. } if *code == t.code => {
            format!("The numbers fit {program}: its code is the one that was measured ({code}).")
        }
        Beside::Code { program, code, .. } => format!(
            "The numbers do not fit {program} any more, and are not used: the code was {} and is {code} by now, since the \
             entry or something that it uses was changed. Measure anew with `remc autotune`.",
            t.code
        ),
    }
}

/// What the last run said of a data set.
fn gained(last: &Last) -> String {
    match last {
        Last { defaults: Ok(before), tuned: Ok(after), ratio: Some(r) } => {
            let (before, after) = (time(*before), time(*after));
            let gain = 1.0 / r.median.max(1e-12);
            if (1.0 / NEAR..=NEAR).contains(&gain) || (r.low..=r.high).contains(&1.0) {
                return format!("{after}, and {before} with the defaults, which is no difference.");
            }
            let (low, high) = (1.0 / r.high.max(1e-12), 1.0 / r.low.max(1e-12));
            format!(
                "{after} instead of {before}, {gain:.2}× as fast (from {low:.2}× to {high:.2}×, with 95 %)."
            )
        }
        Last { defaults: Err(why), tuned: Ok(after), .. } => {
            format!("{}; with the defaults it has no result: {why}.", time(*after))
        }
        Last { tuned: Err(why), .. } => format!("it has no result: {why}."),
        Last { .. } => "it was not compared with the defaults.".into(),
    }
}

/// The sentences of one number. `value` is what the file gives it.
fn number(
    name: &str,
    value: Option<i64>,
    n: Option<&Number>,
    m: Option<&Measured>,
    beside: &Beside,
) -> Vec<String> {
    let (known, now) = match beside {
        Beside::Nothing(_) => (true, None),
        Beside::Code { numbers, .. } => {
            let now = numbers.iter().find(|(of, _)| of == name).map(|(_, default)| *default);
            (now.is_some(), now)
        }
    };
    let default = now.or(n.map(|n| n.default));
    let is = value.or(default).map_or("as by default".to_owned(), |v| number_of(name, v));
    let by_default = match (value, default) {
        (None, _) => ", the default".to_owned(),
        (Some(_), Some(default)) => format!(", by default {}", number_of(name, default)),
        (Some(_), None) => String::new(),
    };
    let range = n.map_or(THRESHOLD, |n| n.range);
    let range = if range == THRESHOLD { String::new() } else { format!(", from {} to {}", range.0, range.1) };
    let mut out = vec![format!("{name} = {is}{by_default}{range}")];
    let mut say = |sentence: String| out.push(format!("  {sentence}"));
    if !known {
        say("The program has no number of this name: it is of other code, or misspelt.".into());
    }
    if let Some(meaning) = Threshold::of_name(name).map(meaning) {
        say(meaning.into());
    } else if let Some(about) = field(name) {
        say(about);
    }
    let (Some(n), Some(m)) = (n, m) else {
        say("No measurement stands behind it: somebody has written it.".into());
        return out;
    };
    if let Some(now) = now.filter(|now| *now != n.default) {
        let (then, now) = (number_of(name, n.default), number_of(name, now));
        say(format!("When it was measured its default was {then}, and by now it is {now}."));
    }
    let set = value.unwrap_or(n.default);
    if set != n.chosen {
        say(format!("Somebody has changed it since: the measurements gave {}.", n.chosen));
    }
    n.on.iter().for_each(|on| say(format!("{}: {}", m.label(on), data(on, set, n.default))));
    say(why(n, m));
    out
}

/// What a kind of threshold decides.
pub fn meaning(kind: Threshold) -> &'static str {
    match kind {
        Threshold::ParOuter => {
            "From so many points on the outside on, each is one thread's work; with fewer, what is inside runs in \
             parallel, too."
        }
        Threshold::ParLoop => {
            "From so many points on the outside on, a loop inside each stays there, in one thread; with fewer, the loop \
             is outside and its iterations run in parallel."
        }
        Threshold::ParInner => {
            "From so many elements in an iteration on, all points taken together, all threads share it; with fewer, it \
             is not worth them."
        }
        Threshold::ParStored => {
            "From so many elements of products on they are too many to store, and each point makes its own; with \
             fewer, they are made for all points together."
        }
        Threshold::ParGroup => {
            "From so many rows on each is the work of a group of threads, all that is done along it; with fewer, what is \
             done along rows is done for all rows by all threads, one operator after the other."
        }
        Threshold::RowLong => {
            "From so many elements on a row of its own size is reduced by all threads; shorter ones by one."
        }
        Threshold::BySize => {
            "Where this size of the operator is so large, the operator runs with the numbers of this version of it; with a \
             smaller size, with those of the version before."
        }
    }
}

/// What a number of a schedule, of this name, decides.
pub fn field(name: &str) -> Option<String> {
    let about = Field::of_name(name)?.about();
    let mut rest = about.meaning.chars();
    let first = rest.next()?;
    Some(format!("{}{}.", first.to_uppercase(), rest.as_str()))
}

/// What was measured on one data set.
fn data(on: &On, set: i64, default: i64) -> String {
    let (now, before) = (on.under(set).map(|t| t.at), on.under(default).map(|t| t.at));
    let which = |t: &Tried| match (now == Some(t.at), before == Some(t.at)) {
        (true, true) => ", as it is and by default",
        (true, false) => ", as it is",
        (false, true) => ", as by default",
        (false, false) => "",
    };
    let place = |t: &Tried| match on.sizes.as_slice() {
        [one] if t.at <= *one => "where it reaches the number".to_owned(),
        [_] => "where it does not".to_owned(),
        [.., last] if t.at > *last => "where none reaches the number".to_owned(),
        _ => format!("at {}", at(on, t)),
    };
    let way = |t: &Tried| match &t.time {
        Ok(seconds) => format!("{} {}{}", time(*seconds), place(t), which(t)),
        Err(why) => format!("no result {}{} ({why})", place(t), which(t)),
    };
    let ways: Vec<String> = on.tried.iter().map(way).collect();
    let sizes = Some(sizes(on)).filter(|s| !s.is_empty()).map(|s| format!("{s}; ")).unwrap_or_default();
    let (loss, was) = (on.loss(set), on.loss(default));
    let so = match (was / loss, loss) {
        (_, loss) if !loss.is_finite() => ". There is none as it is.".to_owned(),
        (gain, _) if !gain.is_finite() => ". By default there is none.".to_owned(),
        (gain, _) if gain > NEAR => format!(": {gain:.2}× as fast as by default."),
        (gain, _) if gain < 1.0 / NEAR => format!(": {:.2}× slower than by default.", 1.0 / gain),
        (_, loss) if loss > NEAR => format!(": another value would make it {loss:.2}× as fast."),
        _ => ".".to_owned(),
    };
    format!("{sizes}{}{so}", ways.join(", "))
}

/// Why a number has the value that it has.
pub(crate) fn why(n: &Number, m: &Measured) -> String {
    if n.chosen == n.default {
        let losing: Vec<&str> = n.losing(n.default).map(|(on, _)| m.label(on)).collect();
        return match losing.as_slice() {
            _ if m.given_up => "Why the default: what was found did not hold in the last run.".into(),
            [] => "Why the default: every data set is at its fastest with it, or so near that the clock cannot tell.".into(),
            some if !n.is_threshold() => format!(
                "Why the default: another value looked faster for {}, but not surely so when it was measured again, or not \
                 without making another data set slower.",
                names(some.iter().copied())
            ),
            some => format!(
                "Why the default: what would be faster for {} would make another data set slower, or gain too little in all.",
                names(some.iter().copied())
            ),
        };
    }
    if Threshold::of_name(&n.name) == Some(Threshold::BySize) {
        let (below, from) = n.between();
        let side = |size: Option<i64>| size.map_or("none".to_owned(), |s| s.to_string());
        return format!(
            "Why {}: no one setting suits all data sets, and this size tells apart those that want different ones: up to {} \
             on one side, from {} on the other, and {} is in the middle by ratio.",
            n.chosen,
            side(below),
            side(from),
            n.chosen
        );
    }
    if !n.is_threshold() {
        return format!(
            "Why {}: of what was tried no data set is slower with it than by default, and all gain the most.",
            n.chosen
        );
    }
    let same = match n.between() {
        (Some(below), Some(up_to)) if below + 1 < up_to => format!(
            "every value from {} to {up_to} tells these sizes apart in the same way, and {} is in the middle by ratio",
            below + 1,
            n.chosen
        ),
        (Some(below), None) => format!("every value above {below}, the largest size, does the same"),
        (None, Some(up_to)) => format!("every value up to {up_to}, the least size, does the same"),
        _ => "no other value tells these sizes apart in the same way".to_owned(),
    };
    let losing: Vec<&str> = n.losing(n.chosen).map(|(on, _)| m.label(on)).collect();
    let rest = match losing.as_slice() {
        [] => "With it every data set takes what is fastest for it".to_owned(),
        some => format!(
            "With it all gain the most, though another would be better for {}",
            names(some.iter().copied())
        ),
    };
    format!("Why {}: {same}. {rest}.", n.chosen)
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Ratio;
    use crate::measured::Data;

    /// One size on each of two data sets, which want different versions.
    pub fn example() -> Tuned {
        let tried = |all: &[(i64, f64, f64)]| {
            all.iter().map(|(at, s, times)| Tried { at: *at, time: Ok(*s), times: *times }).collect()
        };
        let one = |data, size, tried| On { data, count: 1, sizes: vec![size], tried };
        let on = vec![
            one(0, 10, tried(&[(10, 3e-6, 1.0), (11, 7.2e-6, 2.4)])),
            one(1, 3, tried(&[(3, 6e-4, 1.2), (4, 5e-4, 1.0)])),
        ];
        let name = "main/par.outer/main:1".to_owned();
        let number = Number { name: name.clone(), default: 512, chosen: 6, range: THRESHOLD, on };
        let last = |defaults, tuned, median: f64| {
            let ratio = Some(Ratio { median, low: median, high: median });
            Some(Last { defaults: Ok(defaults), tuned: Ok(tuned), ratio })
        };
        let data = |name: &str, last| Data { name: name.into(), contents: "0f".into(), last };
        let measured = Measured {
            machine: "a processor".into(),
            threads: 2,
            date: "2026-11-26".into(),
            data: vec![data("small", last(8e-6, 2e-6, 0.25)), data("wide", last(5e-4, 5e-4, 1.0))],
            numbers: vec![number],
            ..Measured::default()
        };
        Tuned {
            entry: "main".into(),
            device: "cpu".into(),
            code: "0123456789abcdef".into(),
            thresholds: [(name, 6)].into(),
            measured: Some(measured),
            ..Tuned::default()
        }
    }

    fn code(code: &str, numbers: &[(&str, i64)]) -> Beside {
        let numbers = numbers.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        Beside::Code { program: "rows.remora".into(), code: code.into(), numbers }
    }

    #[test]
    fn each_number_of_a_schedule_has_a_sentence() {
        for f in remc_kernel::schedule::Field::ALL {
            let sentence = super::field(f.name()).expect("a number has a meaning");
            assert!(sentence.chars().next().is_some_and(char::is_alphabetic), "{sentence}");
            assert!(!sentence.contains('…'), "{sentence}");
        }
    }

    #[test]
    fn each_choice_is_explained() {
        let beside = code(
            "0123456789abcdef",
            &[("main/par.outer/main:1", 512), ("main/par.inner/main:1", 4096), ("main/grain/main:1", 64)],
        );
        let said = explain(&example(), &beside, "a processor");
        let wanted = "`main` on the cpu device
  The numbers fit rows.remora: its code is the one that was measured (0123456789abcdef).
  It was measured on 2026-11-26, on a processor, 2 threads, with 2 data sets: small, wide.
  small: 2.0 µs instead of 8.0 µs, 4.00× as fast (from 4.00× to 4.00×, with 95 %).
  wide: 500.0 µs, and 500.0 µs with the defaults, which is no difference.

main/par.outer/main:1 = 6, by default 512
  From so many points on the outside on, each is one thread's work; with fewer, what is inside runs in parallel, too.
  small: size 10; 3.0 µs where it reaches the number, as it is, 7.2 µs where it does not, as by default: 2.40× as fast as by default.
  wide: size 3; 600.0 µs where it reaches the number, 500.0 µs where it does not, as it is and by default.
  Why 6: every value from 4 to 10 tells these sizes apart in the same way, and 6 is in the middle by ratio. With it every data set takes what is fastest for it.

No data set has come to these, which are as by default: main/par.inner/main:1 = 4096
The numbers of schedules that were not measured are as by default: 1 of them
";
        assert_eq!(said, wanted);
    }

    #[test]
    fn what_does_not_hold_any_more_is_said() {
        let mut t = example();
        t.thresholds.insert("main/par.outer/main:1".into(), 9);
        t.thresholds.insert("main/par.outer/gone:1".into(), 7);
        let said = explain(&t, &code("fedcba9876543210", &[("main/par.outer/main:1", 256)]), "another");
        for part in [
            "do not fit rows.remora any more, and are not used: the code was 0123456789abcdef and is fedcba9876543210",
            "This machine is another one (another)",
            "main/par.outer/main:1 = 9, by default 256",
            "When it was measured its default was 512, and by now it is 256.",
            "Somebody has changed it since: the measurements gave 6.",
            "main/par.outer/gone:1 = 7\n  The program has no number of this name",
            "No measurement stands behind it: somebody has written it.",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        let said = explain(&t, &Beside::Nothing("There is no rows.remora".into()), "another");
        assert!(said.contains("There is no rows.remora, so whether the numbers fit is not known."), "{said}");
    }

    #[test]
    fn versions_without_a_result_and_fields_are_explained() {
        let mut t = example();
        let m = t.measured.as_mut().unwrap();
        m.numbers[0].on[1].tried[0] =
            Tried { at: 3, time: Err("not enough memory".into()), times: f64::INFINITY };
        let tried = |at, s, times| Tried { at, time: Ok(s), times };
        let on = vec![On {
            data: 0,
            count: 0,
            sizes: vec![],
            tried: vec![tried(16, 2e-3, 2.0), tried(64, 1e-3, 1.0)],
        }];
        m.numbers.push(Number {
            name: "main/grain/main:1".into(),
            default: 16,
            chosen: 64,
            range: (1, 1024),
            on,
        });
        t.schedule.insert("main/grain/main:1".into(), 64);
        let said = explain(&t, &Beside::Nothing("It is alone".into()), "");
        for part in [
            "no result where it reaches the number (not enough memory), 500.0 µs where it does not",
            "main/grain/main:1 = 64, by default 16, from 1 to 1024",
            "small: 2.00 ms at 16, as by default, 1.00 ms at 64, as it is: 2.00× as fast as by default.",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }
}

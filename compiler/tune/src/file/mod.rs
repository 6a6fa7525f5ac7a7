//! `PROGRAM.tuning`: the numbers that a search found, for who runs the program.
//!
//! ```toml
//! # Which versions of rows.remora run, as `remc autotune` measured them. …
//! format = 1
//!
//! [[tuned]]
//! entry = "main"
//! device = "cpu"
//! code = "5d1c0f3a9b2e4c67"      # the structure of the optimised program that was measured
//! ranks = [2]                    # the number of axes of each shape variable, if the entry has any
//!
//! [tuned.thresholds]
//! # data set small: 100 is faster in the first version (1.2 ms against 3.4 ms)
//! "main/par.outer/rows:1" = 2000
//! "main/by.size/rows:1@2/axis.2" = 500     # makes a second version of an operator, for sizes from 500 on
//!
//! [tuned.schedule]               # fields of schedules, if any
//! "main/grain/rows:1" = 64
//! "main/grain/rows:1@2" = 4096             # … of that version
//!
//! [tuned.measured]               # what stands behind the numbers: see `crate::measured`
//! machine = "Intel Xeon"
//! threads = 2
//! date = 2026-11-26
//! data = [
//!     { name = "small", contents = "9f86d081884c7d65", defaults = 7.9e-6, tuned = 3.1e-6, ratio = [0.39, 0.38, 0.41] },
//! ]
//!
//! [tuned.measured.numbers."main/par.outer/rows:1"]
//! default = 512
//! chosen = 2000
//! on = [
//!     { data = "small", sizes = [100], at = [100, 101], seconds = [7.9e-6, 3.1e-6], times = [2.6, 1.0] },
//! ]
//! ```
//!
//! It is TOML, to be read and committed. A table says what it was measured for: an entry, a device and the *structure* of
//! the entry's code, which is Flat without the places of the text that it comes from and without the values of its
//! thresholds. So a comment or a definition that the entry does not use may change; where the code itself has changed, the
//! numbers are of another program, and are not used. Whoever writes a table by hand needs the first three lines and the
//! numbers; `--show tuning` prints the code and what numbers there are.
//!
//! Times are in seconds. A time that is none is a string that says why.

mod read;
mod write;

pub use read::read;
pub use write::with;

use crate::measured::Measured;
use remc_flat::ir::{Named, Program};

/// The version of the format.
const FORMAT: i64 = 1;

/// The devices that there is a tuning for.
pub const DEVICES: [&str; 2] = ["cpu", "cuda"];

/// What was found for an entry on a device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tuned {
    pub entry: String,
    pub device: String,
    pub code: String,
    /// The number of axes of each shape variable of the entry.
    pub ranks: Vec<usize>,
    /// The values of thresholds, of those that have another than their default.
    pub thresholds: Named,
    /// … and of fields of schedules.
    pub schedule: Named,
    /// What stands behind them; `None` where somebody has written them.
    pub measured: Option<Measured>,
}

/// Why a file is none, and where: its line, from 1, if there is one to name.
#[derive(Clone, PartialEq, Debug)]
pub struct Wrong {
    pub line: Option<usize>,
    pub what: String,
}

/// The structure of a program's code, as 16 hexadecimal digits.
pub fn structure(p: &Program) -> String {
    let text = remc_flat::print::print_program(p);
    // Places stand in a list of their own, and behind each statement.
    let (head, rest) = text.split_once("(provs").unwrap_or(("", &text));
    let rest = rest.split_once("\n  (types").map_or(rest, |(_, rest)| rest);
    let mut hash = blake3::Hasher::new();
    hash.update(head.as_bytes());
    let mut words = rest.split([' ', '\n']).filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        let place = word.trim_end_matches(')').strip_prefix('p').is_some_and(|n| n.parse::<u32>().is_ok());
        match place {
            true => hash.update(word.trim_start_matches(|c| c != ')').as_bytes()),
            false => hash.update(word.as_bytes()),
        };
        hash.update(b" ");
        // What follows a threshold's name is its value.
        if word.starts_with('"') && remc_flat::flatten::Threshold::of_name(word.trim_matches('"')).is_some() {
            let closed = words.next().unwrap_or_default();
            hash.update(closed.trim_start_matches(|c: char| c != ')').as_bytes());
        }
    }
    hash.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Ratio;
    use crate::measured::{Data, Last, Number, On, Tried};

    fn tuned(entry: &str, values: &[(&str, i64)]) -> Tuned {
        let thresholds = values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let (entry, device, code) = (entry.into(), "cpu".into(), "0123456789abcdef".into());
        Tuned { entry, device, code, thresholds, ..Tuned::default() }
    }

    #[test]
    fn what_is_written_reads_back_and_what_else_is_there_stays() {
        let first = tuned("main", &[("main/par.outer/f:1", 7), ("main/par.inner/f:1", 0)]);
        let notes = [("main/par.outer/f:1".to_owned(), "small: 3 ms\nlarge: 5 ms".to_owned())];
        let text = with(None, "f.remora", &first, &notes).unwrap();
        assert!(text.contains("# small: 3 ms\n# large: 5 ms\n\"main/par.outer/f:1\" = 7\n"), "{text}");
        assert_eq!(read(&text), Ok(vec![first.clone()]));
        let own = text.replace("# small: 3 ms", "# what I say of it");
        let other = tuned("other", &[]);
        let both = with(Some(&own), "f.remora", &other, &[]).unwrap();
        assert!(both.contains("# what I say of it"), "{both}");
        assert_eq!(read(&both), Ok(vec![first, other.clone()]));
        let again = tuned("main", &[("main/par.outer/f:1", 9)]);
        let both = with(Some(&both), "f.remora", &again, &[]).unwrap();
        assert_eq!(read(&both), Ok(vec![other, again]));
    }

    #[test]
    fn measurements_are_kept() {
        let tried = vec![
            Tried { at: 10, time: Ok(3e-6), times: 1.0 },
            Tried { at: 400, time: Ok(0.0725), times: 2.4 },
            Tried { at: 4001, time: Err("not enough \"memory\"".into()), times: f64::INFINITY },
        ];
        let on = vec![On { data: 1, count: 70, sizes: vec![10, 400, 4000], tried }];
        let outer = "main/par.outer/f:1".to_owned();
        let numbers = vec![
            Number { name: "main/grain/f:1".into(), default: 8, chosen: 64, range: (1, 1024), on: vec![] },
            Number { name: outer.clone(), default: 512, chosen: 63, range: crate::measured::THRESHOLD, on },
        ];
        let ratio = Some(Ratio { median: 0.5, low: 0.25, high: 1.5 });
        let last = |defaults, ratio| Some(Last { defaults, tuned: Ok(1.25), ratio });
        let data = |name: &str, last| Data { name: name.into(), contents: "0f1e".into(), last };
        let data = vec![
            data("a b", last(Ok(2.5), ratio)),
            data("c", last(Err("it stopped".into()), None)),
            data("d", None),
        ];
        let (machine, date) = ("a processor".into(), "2026-11-26".into());
        let measured =
            Some(Measured { machine, threads: 2, date, data, numbers, given_up: false, cut_short: true });
        let mut t = Tuned { measured, ranks: vec![2, 0], ..tuned("main", &[(&outer, 63)]) };
        t.schedule.insert("main/grain/f:1".into(), 64);
        let text = with(None, "f.remora", &t, &[]).unwrap();
        assert_eq!(read(&text), Ok(vec![t.clone()]), "{text}");
        let line = "    { data = \"c\", sizes = [10, 400, 4000], count = 70, at = [10, 400], seconds = [3e-6, 0.0725], \
                    times = [1.0, 2.4], failed = [{ at = 4001, why = 'not enough \"memory\"' }] },\n";
        assert!(text.contains(line), "{text}");
        // Of another number of axes the code is another one: both are kept.
        let other = Tuned { ranks: vec![1], ..t.clone() };
        let both = with(Some(&text), "f.remora", &other, &[]).unwrap();
        assert_eq!(read(&both), Ok(vec![t.clone(), other.clone()]));
        assert_eq!(read(&with(Some(&both), "f.remora", &t, &[]).unwrap()), Ok(vec![other, t]));
    }

    #[test]
    fn the_structure_is_the_code_without_places_and_values() {
        let text = |place: &str, value: &str, op: &str| {
            format!(
                "(flat 1 (name \"main\") (provs {place}) (types) (params (%n.0 int)) (inputs %n.0) (output 0) (body
                   (let ((%r.1 int)) (branch (>= %n.0 \"main/par.outer/f:1\" {value})
                     (then (let ((%a.2 int)) (host (op {op} %n.0 1)) p0) (give %a.2))
                     (else (give 2))) p0)
                   (give %r.1)))"
            )
        };
        let of = |place: &str, value: &str, op: &str| {
            structure(&remc_flat::parse::parse_program(&text(place, value, op)).unwrap())
        };
        let code = of("(p0 \"f\" 0 1)", "512", "+");
        assert_eq!(code.len(), 16);
        assert_eq!(code, of("(p0 \"g\" 2 17)", "7", "+"));
        assert_ne!(code, of("(p0 \"f\" 0 1)", "512", "-"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |text: &str| {
            let e = read(text).unwrap_err();
            format!("{:?}: {}", e.line, e.what)
        };
        assert!(wrong("format = ").starts_with("Some(1): "), "{}", wrong("format = "));
        assert_eq!(wrong(""), "None: it does not say `format = 1`, as tuning files do");
        assert_eq!(wrong("\nformat = 2"), "Some(2): its format is 2, and this remc reads format 1");
        let head = "format = 1\n[[tuned]]\nentry = \"main\"\ndevice = \"cpu\"\n";
        assert_eq!(wrong(head), "Some(2): a table under `[[tuned]]` does not say `code`");
        let head = format!("{head}code = \"0123456789abcdef\"\n");
        let value = |line: &str| wrong(&format!("{head}[tuned.thresholds]\n{line}\n"));
        assert_eq!(
            value("'main/par.outer/f:1' = -3"),
            "Some(7): `main/par.outer/f:1` is -3, and a threshold is a whole number from 0 to 9223372036854775807"
        );
        assert!(value("'main/par.outer/f:1' = 3.5").starts_with("Some(7): `main/par.outer/f:1` is 3.5, "));
        assert!(value("'other/par.outer/f:1' = 3").contains("its names begin with `main/`"));
        assert!(
            value("'main/par.middle/f:1' = 3").starts_with("Some(7): `main/par.middle/f:1` is no threshold")
        );
        let other = |more: &str| wrong(&format!("{head}{more}\n"));
        assert!(
            other("treshold = 3").starts_with("Some(6): `treshold` means nothing in `[[tuned]]`, which has")
        );
        assert!(wrong(&head.replace("cpu", "gpu")).starts_with("Some(4): there is no device `gpu`"));
        assert!(
            wrong(&head.replace("0123", "xyz")).starts_with("Some(5): `xyz456789abcdef` is no structure")
        );
        let twice = format!("{head}[[tuned]]\n{}", head.split_once("[[tuned]]\n").unwrap().1);
        assert_eq!(wrong(&twice), "Some(6): there are two tables for `main` on cpu");
        let measured =
            |more: &str| other(&format!("[tuned.measured]\nmachine = 'a'\ndate = 2026-11-26\n{more}"));
        assert!(
            measured("data = [3]").contains("Some(9): `data` is no list of tables"),
            "{}",
            measured("data = [3]")
        );
        assert!(
            measured("[tuned.measured.numbers.'main/par.outer/f:1']\ndefault = 3")
                .contains("`chosen` is missing")
        );
        let on = |on: &str| {
            measured(&format!("[tuned.measured.numbers.a]\ndefault = 3\nchosen = 3\non = [{{ {on} }}]"))
        };
        assert!(on("data = 'x'").contains("there is no data set `x` among `data`"), "{}", on("data = 'x'"));
        let field = "[tuned.schedule]\n'main/grain/f:1' = 9\n[tuned.measured]\nmachine = 'a'\ndate = 2026-11-26\n\
                     [tuned.measured.numbers.'main/grain/f:1']\ndefault = 3\nchosen = 3\nrange = [1, 8]";
        assert_eq!(other(field), "Some(7): `main/grain/f:1` is 9, and it is a whole number from 1 to 8");
    }
}

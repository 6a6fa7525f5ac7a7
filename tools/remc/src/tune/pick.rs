//! The tuning file that a program is compiled with.
//!
//! It is `PROGRAM.tuning` beside the program, or what `--tuning` names. What it says of the entry and the device is used
//! where the code is still what was measured; else a warning says that it is not. A value on the command line goes before
//! one in the file. Whoever writes a file by hand, or a test, gets the code and the names from `--show tuning`.

use crate::args::{Numbers, Source, Versions};
use crate::codes;
use crate::report::{Outcome, fail, to_stderr, usage};
use remc_base::{Diagnostic, Name, Span};
use remc_driver::Session;
use remc_driver::compile::{Kind, Named, Number, Threshold, number};
use remc_flat::by_size::{self, by_size, parse};
use remc_flat::ir::Program;
use remc_tune::file::{Tuned, Wrong, read, structure};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// What a file says for one entry on one device.
#[derive(Default)]
pub struct Pick {
    /// `None`: there is no file, or it says nothing of this.
    tuned: Option<(PathBuf, Tuned)>,
    /// The kinds that the command line has values for.
    given: Vec<Kind>,
    /// The entry, and what a file's table would have to say of this, without the code; `None` if nobody asks.
    shown: Option<(String, String)>,
    /// The structure of the program, once it is known and if it is asked.
    code: RefCell<Option<String>>,
}

/// The tuning file of a program.
pub fn beside(program: &Path) -> PathBuf {
    program.with_extension("tuning")
}

/// What is wrong with a file.
pub fn sentence(path: &Path, wrong: &Wrong) -> String {
    let line = wrong.line.map(|n| format!(", line {n}")).unwrap_or_default();
    format!("the tuning file `{}`{line}: {}", path.display(), wrong.what)
}

impl Pick {
    /// Looks for the tuning of an entry on a device. A file that was named has to be one; one that only lies there and is
    /// damaged is left alone, with a warning.
    pub fn find(
        session: &Session,
        versions: &Versions,
        source: &Source,
        (entry, device, ranks): (&str, &str, &[usize]),
    ) -> Outcome<Pick> {
        let ranked = if ranks.is_empty() { String::new() } else { format!(", ranks = {ranks:?}") };
        let shown = (versions.shown == Some(Numbers::Tuning))
            .then(|| (entry.to_owned(), format!("entry = \"{entry}\", device = \"{device}\"{ranked}")));
        let given = versions.kinds().into_iter().map(|(kind, _)| kind).collect();
        let none = Pick { tuned: None, given, shown, code: RefCell::default() };
        let named = versions.tuning.as_deref();
        let path = match (named, &source.file) {
            (Some("none"), _) => return Ok(none),
            (Some(path), _) => PathBuf::from(path),
            (None, Some(program)) if program.as_os_str() != "-" => beside(program),
            (None, _) => return Ok(none),
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if named.is_none() && e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(none);
            }
            Err(e) => {
                let why = remc_driver::session::describe_read(&e);
                let d =
                    usage(codes::TUNING, format!("cannot read the tuning file `{}`: {why}", path.display()));
                return refused(session, named.is_some(), d).map(|()| none);
            }
        };
        let all = match read(&text) {
            Ok(all) => all,
            Err(wrong) => {
                let d = usage(codes::TUNING, sentence(&path, &wrong));
                return refused(session, named.is_some(), d).map(|()| none);
            }
        };
        // Whoever has written a table may have left out the ranks.
        let of = |ranks: &[usize]| {
            all.iter().find(|t| t.entry == entry && t.device == device && t.ranks == ranks).cloned()
        };
        let tuned = of(ranks).or_else(|| of(&[]));
        if tuned.is_none() && named.is_some() {
            let message = format!(
                "the tuning file `{}` says nothing of `{entry}` on the {device} device",
                path.display()
            );
            session.notice(
                Diagnostic::warning(codes::TUNING_UNUSED, message)
                    .help("measure it with `remc autotune`, or leave out --tuning"),
            );
        }
        let tuned = tuned.map(|t| (path, t));
        Ok(Pick { tuned, ..none })
    }

    /// Says which numbers a program has, and what its code is called in a tuning file, where that is asked: its thresholds,
    /// and those of its operators' schedules.
    pub fn show(&self, thresholds: &[(Name, i64)], numbers: &[Number]) {
        let Some((entry, of)) = &self.shown else { return };
        let line = |(name, value): &(Name, i64)| match *value {
            0 => format!("{name} = always\n"),
            i64::MAX => format!("{name} = never\n"),
            value => format!("{name} = {value}\n"),
        };
        if let (Some(code), false) = (&*self.code.borrow(), thresholds.is_empty() && numbers.is_empty()) {
            to_stderr(&format!("{of}, code = \"{code}\"\n"));
        }
        to_stderr(&match thresholds {
            [] => "there are no versions to choose between\n".to_owned(),
            all => all.iter().map(line).collect(),
        });
        let number = |n: &Number| format!("{} = {}\n", n.name(entry), n.value);
        to_stderr(&numbers.iter().map(number).collect::<String>());
    }

    /// The values for a program.
    pub fn values(&self, session: &Session, p: &Program) -> Named {
        if self.shown.is_some() {
            *self.code.borrow_mut() = Some(structure(p));
        }
        let Some((path, tuned)) = &self.tuned else { return Named::new() };
        let unused = |why: String| {
            let message =
                format!("the tuning file `{}` is not used for `{}`: {why}", path.display(), tuned.entry);
            session.notice(
                Diagnostic::warning(codes::TUNING_UNUSED, message)
                    .help("measure anew with `remc autotune`; `--tuning none` leaves the file out"),
            );
            Named::new()
        };
        if tuned.code != structure(p) {
            // Values of whole kinds leave versions out, so that it is other code on purpose.
            let leaves_out = |kind: &Kind| matches!(kind, Kind::Threshold(t) if *t != Threshold::BySize);
            if !self.given.iter().any(leaves_out) {
                return unused("the code of the entry has changed since it was measured".into());
            }
            return Named::new();
        }
        if let Some((_, why)) = misfit(tuned, p) {
            return unused(why);
        }
        // Versions by size are the file's; a value for all of them is one for these.
        let given = |name: &str| {
            let kind = Kind::of_name(name);
            kind.is_some_and(|k| k != Kind::Threshold(Threshold::BySize) && self.given.contains(&k))
        };
        let all = tuned.thresholds.iter().chain(&tuned.schedule).filter(|(name, _)| !given(name));
        all.map(|(name, value)| (name.clone(), *value)).collect()
    }
}

/// The first number of a table that the program that it is of has not got, or not with this value; and why.
pub fn misfit(tuned: &Tuned, p: &Program) -> Option<(String, String)> {
    // With the versions of its operators that the table makes.
    let mut p = p.clone();
    match by_size(&mut p, &tuned.thresholds) {
        Ok(()) => {}
        Err(by_size::Wrong::Unknown(name)) => {
            let why = format!("the program has no operator and size of the name `{name}`");
            return Some((name, why));
        }
        Err(by_size::Wrong::Versions(site, why)) => {
            let of = |name: &&String| parse(p.name.as_str(), name).is_some_and(|of| of.site == site.as_str());
            let name = tuned.thresholds.keys().rfind(of).cloned().unwrap_or_default();
            return Some((name, format!("the versions of `{site}` cannot be together: {why}")));
        }
    }
    let p = &p;
    let known: Vec<String> = p.tests().into_iter().map(|t| t.threshold.to_string()).collect();
    if let Some(name) = tuned.thresholds.keys().find(|name| !known.contains(name)) {
        return Some((name.clone(), format!("the program has no threshold `{name}`")));
    }
    tuned.schedule.iter().find_map(|(name, value)| {
        let why = match number(p, name, tuned.device == "cuda").map(|(field, _)| field) {
            None => format!("the program has no number `{name}` on this device"),
            Some(field) if !field.allows(*value) => {
                format!("`{name}` is {value}, and it is {}", field.values())
            }
            Some(_) => return None,
        };
        Some((name.clone(), why))
    })
}

/// A file that was named is wrong, or one that was not is left alone.
fn refused(session: &Session, named: bool, mut d: Diagnostic<Span>) -> Outcome {
    if named {
        return fail(d);
    }
    d.code = codes::TUNING_UNUSED;
    d.severity = remc_base::Severity::Warning;
    d.message = format!("{}; it is not used", d.message);
    session.notice(d.help("mend or remove it, or leave it out with `--tuning none`"));
    Ok(())
}

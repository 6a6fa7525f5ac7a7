//! The tuning file that a program is compiled with.
//!
//! It is `PROGRAM.tuning` beside the program, or what `--tuning` names. What it says of the entry and the device is used
//! where the code is still what was measured; else a warning says that it is not. A value on the command line goes before
//! one in the file.

use crate::args::{Numbers, Source, Versions};
use crate::codes;
use crate::report::{Outcome, fail, to_stderr, usage};
use remc_base::{Diagnostic, Name, Span};
use remc_driver::Session;
use remc_driver::compile::{Kind, Named, Number};
use remc_flat::ir::Program;
use remc_tune::file::{Tuned, Wrong, read, structure};
use std::path::{Path, PathBuf};

/// What a file says for one entry on one device.
#[derive(Default)]
pub struct Pick {
    /// `None`: there is no file, or it says nothing of this.
    tuned: Option<(PathBuf, Tuned)>,
    /// The kinds that the command line has values for.
    given: Vec<Kind>,
}

/// Says which numbers a program has, where that is asked: its thresholds, and those of its operators' schedules.
pub fn show(versions: &Versions, entry: &str, thresholds: &[(Name, i64)], numbers: &[Number]) {
    if versions.shown != Some(Numbers::Tuning) {
        return;
    }
    let line = |(name, value): &(Name, i64)| match *value {
        0 => format!("{name} = always\n"),
        i64::MAX => format!("{name} = never\n"),
        value => format!("{name} = {value}\n"),
    };
    to_stderr(&match thresholds {
        [] => "there are no versions to choose between\n".to_owned(),
        all => all.iter().map(line).collect(),
    });
    let number = |n: &Number| format!("{} = {}\n", n.name(entry), n.value);
    to_stderr(&numbers.iter().map(number).collect::<String>());
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
        entry: &str,
        device: &str,
    ) -> Outcome<Pick> {
        let named = versions.tuning.as_deref();
        let path = match (named, &source.file) {
            (Some("none"), _) => return Ok(Pick::default()),
            (Some(path), _) => PathBuf::from(path),
            (None, Some(program)) if program.as_os_str() != "-" => beside(program),
            (None, _) => return Ok(Pick::default()),
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if named.is_none() && e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Pick::default());
            }
            Err(e) => {
                let why = remc_driver::session::describe_read(&e);
                let d =
                    usage(codes::TUNING, format!("cannot read the tuning file `{}`: {why}", path.display()));
                return refused(session, named.is_some(), d);
            }
        };
        let all = match read(&text) {
            Ok(all) => all,
            Err(wrong) => {
                return refused(session, named.is_some(), usage(codes::TUNING, sentence(&path, &wrong)));
            }
        };
        let tuned = all.into_iter().find(|t| t.entry == entry && t.device == device).map(|t| (path, t));
        Ok(Pick { tuned, given: versions.kinds().into_iter().map(|(kind, _)| kind).collect() })
    }

    /// The values for a program.
    pub fn values(&self, session: &Session, p: &Program) -> Named {
        let Some((path, tuned)) = &self.tuned else { return Named::new() };
        let known: Vec<String> = p.tests().into_iter().map(|t| t.threshold.to_string()).collect();
        let unknown = tuned.thresholds.keys().find(|name| !known.contains(name));
        let unused = |why: String| {
            let message =
                format!("the tuning file `{}` is not used for `{}`: {why}", path.display(), tuned.entry);
            session.notice(
                Diagnostic::warning(codes::TUNING_UNUSED, message)
                    .help("measure anew with `remc autotune`; `--tuning none` leaves the file out"),
            );
            Named::new()
        };
        match unknown {
            _ if tuned.code != structure(p) => {
                // Values of whole kinds leave versions out, so that it is other code on purpose.
                if self.given.is_empty() {
                    return unused("the code of the entry has changed since it was measured".into());
                }
                Named::new()
            }
            Some(name) => unused(format!("the program has no threshold `{name}`")),
            None => {
                let given = |name: &str| Kind::of_name(name).is_some_and(|kind| self.given.contains(&kind));
                let all = tuned.thresholds.iter().filter(|(name, _)| !given(name));
                all.map(|(name, value)| (name.clone(), *value)).collect()
            }
        }
    }
}

fn refused(session: &Session, named: bool, mut d: Diagnostic<Span>) -> Outcome<Pick> {
    if named {
        return fail(d);
    }
    d.code = codes::TUNING_UNUSED;
    d.severity = remc_base::Severity::Warning;
    d.message = format!("{}; it is not used", d.message);
    session.notice(d.help("mend or remove it, or leave it out with `--tuning none`"));
    Ok(Pick::default())
}

//! The numbers of a program that decide how fast it is, and nothing of what it means: thresholds between versions, and
//! fields of the schedules of operators.
//!
//! ```text
//! main/par.outer/rows:1      a threshold: the entry, its kind, the definition, and which one of these
//! main/grain/rows:1          a field: the entry, its kind, and the operator
//! grain                      a kind: all of its numbers that are not given themselves
//! main/by.size/rows:1@2/axis.1, main/grain/rows:1@2     the second version of an operator: from which size on, and a field
//! ```

use crate::compile::{CompileError, broken};
use crate::pipeline::Stage;
use remc_base::Name;
use remc_flat::by_size::{Wrong, by_size, sizes};
use remc_flat::flatten::Threshold;
use remc_flat::ir::{Named, Program, Var};
use remc_flat::sites::sites;
use remc_kernel::lower::Target;
use remc_kernel::schedule::{Field, Fields, Schedules};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A kind of numbers, of which a program has one for each of its branches, or operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Threshold(Threshold),
    Field(Field),
}

impl Kind {
    /// The kind of this name, `par.outer` or `grain`.
    pub fn named(name: &str) -> Option<Kind> {
        let threshold = Threshold::ALL.into_iter().find(|t| t.name() == name).map(Kind::Threshold);
        threshold.or_else(|| Field::named(name).map(Kind::Field))
    }

    /// The kind of the number of this name, `main/par.outer/rows:1`.
    pub fn of_name(name: &str) -> Option<Kind> {
        let threshold = Threshold::of_name(name).map(Kind::Threshold);
        threshold.or_else(|| Field::of_name(name).map(Kind::Field))
    }
}

/// A number of an operator's schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number {
    /// The operator.
    pub site: Name,
    pub field: Field,
    pub value: i64,
}

impl Number {
    /// Its name in a program with this entry: `main/grain/rows:1`.
    pub fn name(&self, entry: &str) -> String {
        format!("{entry}/{}/{}", self.field, self.site)
    }
}

/// The numbers that decide about operators: those that lowering has read, and what the code generator may.
pub(crate) fn numbers(used: &BTreeMap<Name, Fields>, schedules: &Schedules) -> Vec<Number> {
    let number =
        |site: &Name, field: Field| Number { site: site.clone(), field, value: schedules.of(site)[field] };
    let of = |(site, read): (&Name, &Fields)| read.iter().map(|f| number(site, f)).collect::<Vec<_>>();
    used.iter().flat_map(of).collect()
}

/// Gives numbers of a program other values; the schedules of its operators.
pub(crate) fn set_numbers(
    flat: &mut Program,
    values: &Named,
    target: Target,
) -> Result<Schedules, CompileError> {
    // What an operator's versions are called is known once it has them.
    match by_size(flat, values) {
        Ok(()) => {}
        Err(Wrong::Versions(site, why)) => return Err(CompileError::Numbers(Some(site), why)),
        Err(Wrong::Unknown(name)) => {
            let known = sizes(flat).into_iter();
            let named = |(site, all): (Name, Vec<_>)| {
                (site, all.into_iter().map(|s: remc_flat::by_size::Size| s.name).collect())
            };
            return Err(CompileError::NoSize(name, known.map(named).collect()));
        }
    }
    let thresholds: Vec<Name> = flat.tests().into_iter().map(|t| t.threshold.clone()).collect();
    let sites = sites(flat);
    let mut schedules = Schedules { all: target.schedule, ..Schedules::default() };
    let mut versions = Named::new();
    for (name, value) in values {
        if thresholds.iter().any(|t| t.as_str() == name) {
            versions.insert(name.clone(), *value);
            continue;
        }
        let Some((field, site)) = find(&flat.name, name, &sites, target.threads) else {
            let mut sites: Vec<Name> = sites.into_values().collect();
            sites.sort();
            return Err(CompileError::NoNumber(name.clone(), thresholds, sites));
        };
        schedules.of.entry(site).or_insert(target.schedule).set(field, *value);
    }
    flat.set_thresholds(&versions)
        .map_err(|name| broken(Stage::Flatten, format!("no threshold `{name}`")))?;
    match schedules.conflict() {
        Some((site, why)) => Err(CompileError::Numbers(site.cloned(), why)),
        None => Ok(schedules),
    }
}

/// The field and the operator of a name, `main/grain/rows:1`, if the program has that operator and the device reads the
/// field; `threads`, as a GPU does. A number of an operator's version is one of a program that has the version.
pub fn number(p: &Program, name: &str, threads: bool) -> Option<(Field, Name)> {
    find(&p.name, name, &sites(p), threads)
}

fn find(entry: &Name, name: &str, sites: &FxHashMap<Var, Name>, threads: bool) -> Option<(Field, Name)> {
    let rest = name.strip_prefix(entry.as_str())?.strip_prefix('/')?;
    let fields = Field::ALL.iter().filter(|f| f.matters(threads));
    let mut found = fields.filter_map(|f| Some((*f, rest.strip_prefix(f.name())?.strip_prefix('/')?)));
    found.find_map(|(f, site)| Some((f, sites.values().find(|s| s.as_str() == site)?.clone())))
}

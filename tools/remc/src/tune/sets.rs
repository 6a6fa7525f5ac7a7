//! The data sets of a folder.
//!
//! ```text
//! data/xs.npy data/k.rd            one data set: every file is named after a parameter
//! data/small/xs.npy …              several: a folder each,
//! data/large.npz                   or a file each whose arrays are the parameters
//! data/datasets.toml               and what that describes (`generated`)
//! ```

use super::generated::{self, Described, Given};
use crate::codes;
use crate::inputs;
use crate::report::{Outcome, fail, usage};
use remc_base::value::Data;
use remc_base::{IndexValue, Name, Value};
use remc_interp::solve_indices;
use remc_runtime::budget::Budget;
use remc_typed::ir::EntrySignature;
use std::path::{Path, PathBuf};

/// Where the arguments of one data set are.
pub struct Found {
    label: String,
    from: From,
}

enum From {
    /// Files and literals, by parameter.
    Inputs(Vec<(String, String)>),
    Described(Described),
}

/// A data set.
pub struct Set {
    pub label: String,
    pub arguments: Vec<Value>,
    pub indices: Vec<IndexValue>,
    /// A hash of the arguments, as 16 hexadecimal digits.
    pub contents: String,
}

/// The data sets that a folder holds for an entry, in the order of their names, which are all different.
pub fn find(folder: &Path, entry: &Name, sig: &EntrySignature) -> Outcome<Vec<Found>> {
    let all = found(folder, entry, sig)?;
    let twice = all.iter().enumerate().find(|(k, f)| all[..*k].iter().any(|other| other.label == f.label));
    match twice {
        None => Ok(all),
        Some((_, f)) => {
            let d = usage(
                codes::TUNE,
                format!("the folder `{}` has two data sets that are called `{}`", folder.display(), f.label),
            );
            fail(d.help("a data set is called as its folder, its file without the ending, or its table in `datasets.toml`"))
        }
    }
}

fn found(folder: &Path, entry: &Name, sig: &EntrySignature) -> Outcome<Vec<Found>> {
    let params: Vec<&str> = sig.params.iter().map(|(name, _)| name.as_str()).collect();
    if params.is_empty() {
        return fail(usage(
            codes::TUNE,
            format!("the entry `{entry}` takes no inputs: no data could change it"),
        ));
    }
    let mut all = listed(folder)?;
    let toml = all.iter().position(|p| p.file_name().is_some_and(|n| n == generated::FILE));
    let mut sets: Vec<Found> = match toml {
        Some(at) => {
            let described = generated::described(&all.remove(at), sig)?;
            described
                .into_iter()
                .map(|d| Found { label: d.label.clone(), from: From::Described(d) })
                .collect()
        }
        None => Vec::new(),
    };
    if all.is_empty() && !sets.is_empty() {
        return Ok(sets);
    }
    if all.is_empty() {
        let d = usage(codes::TUNE, format!("the folder `{}` is empty", folder.display()));
        return fail(readings(&params).into_iter().fold(d, |d, h| d.help(h)));
    }
    if let Some(inputs) = one_set(&all, &params) {
        let label = folder.file_name().map_or("data".into(), |n| n.to_string_lossy().into_owned());
        sets.push(Found { label, from: From::Inputs(inputs) });
        return Ok(sets);
    }
    for path in &all {
        let label = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inputs = if path.is_dir() { one_set(&listed(path)?, &params) } else { whole(path, &params) };
        match inputs {
            Some(inputs) => sets.push(Found { label, from: From::Inputs(inputs) }),
            None => {
                let what = if path.is_dir() { "folder" } else { "file" };
                let d = usage(
                    codes::TUNE,
                    format!("the {what} `{}` is no data set for `{entry}`", path.display()),
                );
                return fail(readings(&params).into_iter().fold(d, |d, h| d.help(h)));
            }
        }
    }
    Ok(sets)
}

/// The files of data sets, by the parameters that they are of.
pub fn inputs(found: &[Found]) -> Vec<(String, String)> {
    let of = |f: &Found| match &f.from {
        From::Inputs(inputs) => inputs.clone(),
        From::Described(_) => Vec::new(),
    };
    found.iter().flat_map(of).collect()
}

/// How a folder is read, for who has another one.
fn readings(params: &[&str]) -> [String; 2] {
    let names: Vec<String> = params.iter().map(|p| format!("`{p}`")).collect();
    let files: Vec<String> = params.iter().map(|p| format!("`{p}.npy`")).collect();
    [
        format!(
            "one data set is a folder whose files are named after the parameters, {}: {}, say",
            names.join(" and "),
            files.join(" and ")
        ),
        "several are folders of that kind beside each other, or `.npz` files whose arrays have these names"
            .into(),
    ]
}

/// What is in a folder, but for hidden files.
fn listed(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let read = std::fs::read_dir(folder).and_then(|all| all.map(|e| e.map(|e| e.path())).collect());
    let mut all: Vec<PathBuf> = match read {
        Ok(all) => all,
        Err(e) => {
            let why = remc_driver::session::describe_read(&e);
            let d = usage(codes::TUNE, format!("cannot read the folder `{}`: {why}", folder.display()));
            return fail(d.help("--inputs names a folder with data for the entry's parameters"));
        }
    };
    all.retain(|p| !p.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.')));
    all.sort();
    Ok(all)
}

/// Files that are named after parameters, one for each.
fn one_set(all: &[PathBuf], params: &[&str]) -> Option<Vec<(String, String)>> {
    let named = |p: &PathBuf| -> Option<(String, String)> {
        // `xs.fut.bin` has two endings.
        let name = p.file_name()?.to_str()?.split('.').next()?.to_owned();
        (p.is_file() && params.contains(&name.as_str())).then(|| (name, p.display().to_string()))
    };
    let inputs: Vec<(String, String)> = all.iter().map(named).collect::<Option<_>>()?;
    (inputs.len() == params.len() && params.iter().all(|p| inputs.iter().any(|(n, _)| n == p)))
        .then_some(inputs)
}

/// A file whose members are the parameters.
fn whole(path: &Path, params: &[&str]) -> Option<Vec<(String, String)>> {
    let npz = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
    npz.then(|| params.iter().map(|p| ((*p).to_owned(), format!("{}:{p}", path.display()))).collect())
}

/// Makes a data set that is described.
fn made(d: &Described, entry: &Name, sig: &EntrySignature, budget: &Budget) -> Outcome<Vec<Value>> {
    let mut all = Vec::new();
    for ((name, ty), (_, given)) in sig.params.iter().zip(&d.inputs) {
        all.push(match given {
            Given::Made(recipe) => generated::make(recipe, &d.label, name, &ty.atom, budget)?,
            Given::Literal(text) => {
                let one = EntrySignature { params: vec![(name.clone(), ty.clone())], ..sig.clone() };
                let given = [(name.to_string(), text.clone())];
                inputs::read_all(entry, &one, &given, budget)?.remove(0)
            }
        });
    }
    Ok(all)
}

/// What tells one data set from another.
fn contents(arguments: &[Value]) -> String {
    let mut hash = blake3::Hasher::new();
    arguments.iter().for_each(|v| hash_value(v, &mut hash));
    hash.finalize().to_hex()[..16].to_owned()
}

fn hash_value(v: &Value, hash: &mut blake3::Hasher) {
    hash.update(format!("{} {:?} ", v.atom, v.shape).as_bytes());
    match &v.data {
        Data::Box(all) => all.iter().for_each(|b| {
            hash.update(format!("{:?}", b.indices).as_bytes());
            hash_value(&b.value, hash);
        }),
        Data::Tuple(all) => all.iter().flat_map(|t| t.iter()).for_each(|v| hash_value(v, hash)),
        _ => drop(hash.update(remc_runtime::bytes::of(v).unwrap_or_default())),
    }
}

/// Reads data sets, and makes those that are described.
pub fn read(found: &[Found], entry: &Name, sig: &EntrySignature, limit: Option<u64>) -> Outcome<Vec<Set>> {
    let budget = Budget::of(limit);
    let one = |f: &Found| {
        let arguments = match &f.from {
            From::Inputs(given) => inputs::read_all(entry, sig, given, &budget)?,
            From::Described(d) => made(d, entry, sig, &budget)?,
        };
        let indices = solve_indices(sig, &arguments).or_else(|m| {
            let d = match &m.param {
                Some(name) => inputs::mismatch(name, &m.wanted, &m.found),
                None => usage(codes::INPUT_MISMATCH, format!("wanted {}, found {}", m.wanted, m.found)),
            };
            fail(d.note(m.reason).note(format!("in the data set `{}`", f.label)))
        })?;
        let contents = contents(&arguments);
        Ok(Set { label: f.label.clone(), arguments, indices, contents })
    };
    found.iter().map(one).collect()
}

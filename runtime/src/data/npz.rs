//! NumPy's `.npz`: a ZIP archive of `.npy` files, as `numpy.savez` and `numpy.savez_compressed` write it.
//!
//! The member `xs.npy` is the array `xs`. What is read is the array that was named, else the only one, else
//! the one with the parameter's name. A tuple or record is written as one array for each field, under the
//! field's label, or as `arr_0`, `arr_1` … as NumPy names what has no name. A vector of boxes is two arrays
//! ([`super::ragged`]).

use super::elements::opened;
use super::source::Source;
use super::zip::{self, ZipError};
use super::{DataError, fit, fit_numpy, of_npy, ragged};
use crate::budget::Room;
use crate::npy;
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, Value};
use std::io::{self, Write};

/// The names of the arrays in an archive; other members are of no concern.
fn arrays(members: &[zip::Member]) -> Vec<(&str, &zip::Member)> {
    members.iter().filter_map(|m| Some((m.name.strip_suffix(".npy")?, m))).collect()
}

/// That an archive has no boxes, or not those that were asked for.
fn no_boxes(arrays: &[(&str, &zip::Member)], asked: Option<&str>) -> DataError {
    let names = arrays.iter().filter_map(|(n, _)| n.strip_suffix(".offsets"));
    let there: Vec<String> = names.map(str::to_owned).collect();
    if there.is_empty() {
        let all: Vec<String> = arrays.iter().map(|(n, _)| format!("`{n}`")).collect();
        return DataError::Unreadable(format!(
            "it holds {}, and no boxes, which are two arrays: `data` is what is in all of them, and `offsets` where each \
             begins",
            if all.is_empty() { "no array".into() } else { all.join(", ") }
        ));
    }
    DataError::Choose { kind: "ragged array", there, asked: asked.map(str::to_owned) }
}

/// The array `asked`, or the one that can only be meant for the parameter `name`.
pub fn read(
    source: &mut Source<'_>,
    asked: Option<&str>,
    name: &str,
    wanted: &ArrTy,
) -> Result<Value, DataError> {
    let damaged = |e: ZipError| DataError::Unreadable(e.0);
    // Its list of members stands at its end.
    source.whole()?;
    let mut room = source.budget().room();
    let members = zip::members(source).map_err(damaged)?;
    let arrays = arrays(&members);
    if wanted.shape.items().len() == 1 && ragged::contents(&wanted.atom).is_some() {
        let prefixes = match asked {
            Some(asked) => vec![format!("{asked}.")],
            None => vec![format!("{name}."), String::new()],
        };
        let has = |array: String| arrays.iter().any(|(n, _)| *n == array);
        let Some(prefix) = prefixes.iter().find(|p| has(format!("{p}offsets"))) else {
            return Err(no_boxes(&arrays, asked));
        };
        let mut member = |label: &str, room: &mut Room<'_>| {
            let found = arrays.iter().rev().find(|(n, _)| *n == label);
            let Some((_, member)) = found else {
                return Err(DataError::Unreadable(format!(
                    "it has no array `{label}`, beside `{prefix}offsets`"
                )));
            };
            let mut content = zip::open(source, member).map_err(damaged)?;
            npy::read_from(&mut content, Some(member.size), false, room).map_err(|e| of_npy(e, Some(label)))
        };
        let value = ragged::read(prefix, &wanted.atom, &mut room, &mut member)?;
        room.keep();
        return fit(value, "boxes", wanted, String::new);
    }
    let find = |wanted: &str| {
        // Of several members of one name, the last counts, as it does in Python.
        arrays.iter().rev().find(|(n, m)| *n == wanted || m.name == wanted).map(|(n, m)| (*n, *m))
    };
    let chosen = match (asked, arrays.as_slice()) {
        (Some(asked), _) => find(asked),
        (None, [only]) => Some(*only),
        (None, _) => find(name),
    };
    let Some((label, member)) = chosen else {
        return Err(DataError::Choose {
            kind: "array",
            there: arrays.iter().map(|(n, _)| (*n).to_owned()).collect(),
            asked: asked.map(str::to_owned),
        });
    };
    let mut content = zip::open(source, member).map_err(damaged)?;
    let value = npy::read_from(&mut content, Some(member.size), false, &mut room)
        .map_err(|e| of_npy(e, Some(label)))?;
    room.keep();
    fit_numpy(value, label, wanted)
}

/// The arrays that a value is written as, with their names; `None` if `.npz` does not hold such a value.
pub fn parts(value: &Value) -> Option<Vec<(String, Value)>> {
    if let Some(parts) = ragged::parts("", value) {
        return Some(parts);
    }
    let AtomTy::Tuple(ty) = &value.atom else {
        return npy::can_write(value).then(|| vec![("arr_0".into(), value.clone())]);
    };
    let Data::Tuple(tuples) = &value.data else { return None };
    let mut parts = Vec::new();
    for (k, (label, ty)) in ty.fields.iter().enumerate() {
        let mut data = Data::of_atom(&ty.atom);
        let mut cell: Option<Vec<usize>> = ty.shape.sizes().map(|s| s.iter().map(|n| *n as usize).collect());
        for tuple in tuples {
            let part = tuple.get(k)?;
            cell = Some(part.shape.clone());
            data.append(part.data.clone()).then_some(())?;
        }
        let shape = [value.shape.as_slice(), &cell?].concat();
        let part = Value { atom: ty.atom.clone(), shape, data };
        let name = label.as_ref().map_or_else(|| format!("arr_{k}"), |l| l.to_string());
        if let Some(boxes) = ragged::parts(&format!("{name}."), &part) {
            parts.extend(boxes);
            continue;
        }
        let part = opened(&part).clone();
        if !npy::can_write(&part) {
            return None;
        }
        parts.push((name, part));
    }
    Some(parts)
}

/// Writes an archive of what [`parts`] gave.
pub fn write(parts: &[(String, Value)], out: &mut dyn Write) -> io::Result<()> {
    let members: Vec<(String, Box<zip::Writes<'_>>)> = parts
        .iter()
        .map(|(name, value)| {
            let content: Box<zip::Writes<'_>> = Box::new(move |w: &mut dyn Write| npy::write(value, w));
            (format!("{name}.npy"), content)
        })
        .collect();
    zip::write(&members, out)
}

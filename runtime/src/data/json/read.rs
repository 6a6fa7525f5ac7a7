//! JSON read as a literal of the type that is wanted, in the forms in which values are written and in those that other
//! programs have.
//!
//! ```text
//! {"name": "Oslo", "lows": [-2.5, 1]}        (record (name "Oslo") (lows [-2.5 1]))
//! ```
//!
//! An object is a record, by the names of its fields; what else it has is not wanted. A string is a text, or `nan`, `inf`
//! and `-inf` where numbers are wanted. Lists of different lengths are boxes where boxes are wanted, and so is an object
//! with `indices` and `value`. What the numbers have to be, and whether shapes fit, the reader of literals says.

use crate::data::DataError;
use crate::text;
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Dim, DimVar, SigmaTy, TupleTy, Value};
use serde_json::Value as Json;

/// The literal that a text in JSON is, for a parameter that wants `wanted`.
///
/// # Errors
/// It is no JSON, or has something that no value of that type has: the place in it, and what is there.
pub fn literal(json: &str, wanted: &ArrTy) -> Result<String, DataError> {
    let json: Json =
        serde_json::from_str(json).map_err(|e| DataError::Unreadable(format!("it is no JSON: {e}")))?;
    let mut to = Literal { out: String::new(), place: String::new() };
    to.array(&json, wanted)?;
    Ok(to.out)
}

struct Literal {
    out: String,
    /// Where the value under way is, such as `[3].name`.
    place: String,
}

type D = Result<(), DataError>;

impl Literal {
    fn array(&mut self, json: &Json, wanted: &ArrTy) -> D {
        // Of a shape variable any number of axes may come.
        let dims = wanted.shape.dims().map(|dims| dims.iter().map(known).collect::<Vec<_>>());
        self.cell(json, dims.as_deref(), &wanted.atom)
    }

    /// An array of so many axes, if that is known, of such atoms. Their sizes, where the type says them, are those of what
    /// has no elements to tell.
    fn cell(&mut self, json: &Json, dims: Option<&[usize]>, atom: &AtomTy) -> D {
        match (json, dims) {
            (Json::Array(items), Some([_, rest @ ..])) if items.is_empty() => {
                let rest: String = rest.iter().map(|n| format!(" {n}")).collect();
                self.out.push_str(&format!("(array [0{rest}] {atom})"));
                Ok(())
            }
            (Json::Array(items), Some([_, rest @ ..])) => self.list(items, Some(rest), atom),
            (Json::Array(items), None) => self.list(items, None, atom),
            _ => self.atom(json, dims, atom),
        }
    }

    fn atom(&mut self, json: &Json, dims: Option<&[usize]>, atom: &AtomTy) -> D {
        match (json, atom) {
            (Json::Object(fields), AtomTy::Sigma(sigma)) => match (fields.get("value"), fields.len()) {
                (Some(value), 2) if fields.contains_key("indices") => {
                    self.agrees(&fields["indices"], value, sigma)?;
                    self.within(".value", |l| l.array(value, &sigma.body))
                }
                _ => self.array(json, &sigma.body),
            },
            (_, AtomTy::Sigma(sigma)) => self.array(json, &sigma.body),
            (Json::Object(fields), AtomTy::Tuple(tuple)) => self.record(fields, tuple),
            (Json::Array(items), AtomTy::Tuple(tuple)) if items.len() == tuple.fields.len() => {
                let types: Vec<&ArrTy> = tuple.fields.iter().map(|(_, ty)| ty).collect();
                self.out.push_str("(values");
                for (k, (item, ty)) in items.iter().zip(types).enumerate() {
                    self.out.push(' ');
                    self.within(&format!("[{k}]"), |l| l.array(item, ty))?;
                }
                self.out.push(')');
                Ok(())
            }
            (Json::Array(items), AtomTy::Tuple(tuple)) => {
                let (found, wanted) = (items.len(), tuple.fields.len());
                self.no(&format!("a list of {found}"), format!("a tuple of {wanted} is a list of {wanted}"))
            }
            (Json::Array(items), _) => self.list(items, None, atom),
            (Json::Object(_), _) => self.no("an object", format!("{atom} is no record")),
            (Json::Null, _) => {
                self.no("null", "no value is none: leave such items out, or write \"nan\"".into())
            }
            (Json::Bool(b), _) => {
                self.out.push_str(if *b { "#t" } else { "#f" });
                Ok(())
            }
            (Json::Number(n), _) => {
                self.out.push_str(&n.to_string());
                Ok(())
            }
            (Json::String(text), AtomTy::Base(BaseTy::F16 | BaseTy::F32 | BaseTy::F64))
                if matches!(text.as_str(), "nan" | "inf" | "-inf") =>
            {
                self.out.push_str(text);
                Ok(())
            }
            (Json::String(text), _) => {
                let chars: Vec<char> = text.chars().collect();
                // A string of one character is a character, where one is wanted.
                let shape = if dims.is_some_and(<[usize]>::is_empty) && chars.len() == 1 {
                    vec![]
                } else {
                    vec![chars.len()]
                };
                self.out.push_str(&text::print(&Value {
                    atom: AtomTy::CHAR,
                    shape,
                    data: Data::Char(chars),
                }));
                Ok(())
            }
        }
    }

    fn list(&mut self, items: &[Json], dims: Option<&[usize]>, atom: &AtomTy) -> D {
        self.out.push('[');
        for (k, item) in items.iter().enumerate() {
            if k > 0 {
                self.out.push(' ');
            }
            self.within(&format!("[{k}]"), |l| l.cell(item, dims, atom))?;
        }
        self.out.push(']');
        Ok(())
    }

    /// Whether the sizes that a box says are those of what is in it.
    fn agrees(&self, indices: &Json, value: &Json, sigma: &SigmaTy) -> D {
        let mut part = Some(value);
        for d in sigma.body.shape.dims().unwrap_or_default() {
            let there = match part {
                Some(Json::Array(items)) => items.len(),
                Some(Json::String(text)) => text.chars().count(),
                _ => return Ok(()),
            };
            part = part.and_then(|p| p.get(0));
            let named = sigma.params.iter().find(|p| d.as_var() == Some(&DimVar::Rigid((*p).clone())));
            let said = named.and_then(|p| indices.get(p.name.as_str())).and_then(Json::as_u64);
            if let (Some(said), Some(p)) = (said.filter(|n| *n != there as u64), named) {
                let size = p.name.as_str();
                return self.no(&format!("a box whose `{size}` is {said}"), format!("its value has {there}"));
            }
        }
        Ok(())
    }

    fn record(&mut self, fields: &serde_json::Map<String, Json>, tuple: &TupleTy) -> D {
        self.out.push_str("(record");
        for (label, ty) in &tuple.fields {
            let Some(label) = label else { return self.no("an object", "a tuple is a list".into()) };
            let named = |key: &&String| alike(key) == alike(label.as_str());
            let value = fields.get(label.as_str()).or_else(|| fields.get(fields.keys().find(named)?));
            let Some(value) = value else {
                let there: Vec<String> = fields.keys().map(|k| format!("`{k}`")).collect();
                let only =
                    if there.is_empty() { String::new() } else { format!(", only {}", there.join(", ")) };
                return self.no("an object", format!("it has no `{label}`{only}"));
            };
            self.out.push_str(&format!(" ({label} "));
            self.within(&format!(".{label}"), |l| l.array(value, ty))?;
            self.out.push(')');
        }
        self.out.push(')');
        Ok(())
    }

    /// Does something at a place inside of the one at hand.
    fn within(&mut self, step: &str, f: impl FnOnce(&mut Self) -> D) -> D {
        let before = self.place.len();
        self.place.push_str(step);
        f(self)?;
        self.place.truncate(before);
        Ok(())
    }

    fn no(&self, found: &str, help: String) -> D {
        let place = if self.place.is_empty() { String::new() } else { format!(" at `{}`", self.place) };
        Err(DataError::Mismatch { found: format!("{found}{place}"), help: Some(help) })
    }
}

/// A size, or 0 of one that only the data knows.
fn known(d: &Dim) -> usize {
    d.as_constant().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// A name without what does not count in it: case, and which of `-`, `_` and blank stands between words.
fn alike(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '_' | ' ') { '-' } else { c.to_ascii_lowercase() }).collect()
}

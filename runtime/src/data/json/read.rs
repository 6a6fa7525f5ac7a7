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
use remc_base::{ArrTy, AtomTy, BaseTy, TupleTy, Value};
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
        let rank = wanted.shape.dims().map(|dims| dims.len());
        self.cell(json, rank, &wanted.atom)
    }

    /// An array of so many axes, if that is known, of such atoms.
    fn cell(&mut self, json: &Json, rank: Option<usize>, atom: &AtomTy) -> D {
        match json {
            Json::Array(items) if rank != Some(0) => {
                let rank = rank.map(|n| n - 1);
                self.list("[", items, |_| (rank, atom), "]")
            }
            _ => self.atom(json, rank, atom),
        }
    }

    fn atom(&mut self, json: &Json, rank: Option<usize>, atom: &AtomTy) -> D {
        match (json, atom) {
            (Json::Object(fields), AtomTy::Sigma(sigma)) => match (fields.get("value"), fields.len()) {
                (Some(value), 2) if fields.contains_key("indices") => {
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
            (Json::Array(items), _) => self.list("[", items, |_| (None, atom), "]"),
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
                let shape = if rank == Some(0) && chars.len() == 1 { vec![] } else { vec![chars.len()] };
                self.out.push_str(&text::print(&Value {
                    atom: AtomTy::CHAR,
                    shape,
                    data: Data::Char(chars),
                }));
                Ok(())
            }
        }
    }

    fn list<'j, 't>(
        &mut self,
        open: &str,
        items: &'j [Json],
        of: impl Fn(&'j Json) -> (Option<usize>, &'t AtomTy),
        close: &str,
    ) -> D {
        self.out.push_str(open);
        for (k, item) in items.iter().enumerate() {
            if k > 0 {
                self.out.push(' ');
            }
            let (rank, atom) = of(item);
            self.within(&format!("[{k}]"), |l| l.cell(item, rank, atom))?;
        }
        self.out.push_str(close);
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
                return self.no("an object", format!("it has no `{label}`, only {}", there.join(", ")));
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

/// A name without what does not count in it: case, and which of `-`, `_` and blank stands between words.
fn alike(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '_' | ' ') { '-' } else { c.to_ascii_lowercase() }).collect()
}

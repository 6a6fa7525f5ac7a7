//! JSON read as a literal of the type that is wanted, in the forms in which values are written and in those that other
//! programs have.
//!
//! ```text
//! {"name": "Oslo", "lows": [-2.5, 1]}        (record (name "Oslo") (lows [-2.5 1]))
//! ```
//!
//! An object is a record, by the names of its fields; what else it has is not wanted. A string is a text, or `nan`, `inf`
//! and `-inf` where numbers are wanted. Lists of different lengths are boxes where boxes are wanted, and so is an object
//! with `indices` and `value`, which says its sizes. What the numbers have to be, and whether shapes fit, the reader of literals says.

use crate::data::DataError;
use crate::text;
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Dim, DimVar, IVar, SigmaTy, TupleTy, Value};
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
            (Json::Array(items), Some([_, rest @ ..])) if items.is_empty() && is_closed(atom, &[]) => {
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
                    self.boxed(&fields["indices"], value, sigma)
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

    /// A box with what it says of its hidden sizes, which a value need not show. They have the names that values are printed
    /// with, or those of the type.
    fn boxed(&mut self, indices: &Json, value: &Json, sigma: &SigmaTy) -> D {
        let named = sigma.named_for_values(&mut 0);
        let mut sizes: Vec<(&IVar, usize)> = Vec::new();
        let mut written = String::new();
        for (p, own) in named.params.iter().zip(&sigma.params) {
            let find = |name: &str| indices.get(name);
            let Some(said) = find(p.name.as_str()).or_else(|| find(own.name.as_str())) else {
                return self.no("a box", format!("its `indices` do not say `{}`", p.name));
            };
            let number = |n: &Json| n.as_u64().and_then(|n| usize::try_from(n).ok());
            match (number(said), said.as_array()) {
                (Some(n), _) => {
                    sizes.push((p, n));
                    written.push_str(&format!("({} {n})", p.name));
                }
                (None, Some(dims)) if dims.iter().all(|d| number(d).is_some()) => {
                    let dims: Vec<String> = dims.iter().map(Json::to_string).collect();
                    written.push_str(&format!("({} [{}])", p.name, dims.join(" ")));
                }
                _ => return self.no("a box", format!("`{}` is a size, or a list of sizes", p.name)),
            }
        }
        let size = |d: &Dim| {
            let here = sizes.iter().find(|(p, _)| d.as_var() == Some(&DimVar::Rigid((*p).clone())));
            here.map_or_else(|| known(d), |(_, n)| *n)
        };
        let dims = named.body.shape.dims().map(|dims| dims.iter().map(size).collect::<Vec<_>>());
        self.out.push_str(&format!("(box ({written}) {} ", named.body));
        self.within(".value", |l| l.cell(value, dims.as_deref(), &named.body.atom))?;
        self.out.push(')');
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

/// Whether a type mentions no size but those that it hides itself, so that a literal may say it.
fn is_closed(atom: &AtomTy, hidden: &[&IVar]) -> bool {
    match atom {
        AtomTy::Base(_) => true,
        AtomTy::Sigma(sigma) => {
            let inner: Vec<&IVar> = hidden.iter().copied().chain(&sigma.params).collect();
            let own = |d: &Dim| inner.iter().any(|v| d.as_var() == Some(&DimVar::Rigid((*v).clone())));
            let dims = sigma.body.shape.dims();
            dims.is_some_and(|dims| dims.iter().all(|d| d.as_constant().is_some() || own(d)))
                && is_closed(&sigma.body.atom, &inner)
        }
        _ => false,
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

//! Where the parts of a text were written: what the prompt checks and runs is one text, put together of what was typed and
//! loaded, and its errors are shown at the lines of those.

use remc_base::{Diagnostic, ModuleId, Span};
use remc_driver::render::Sources;
use serde_json::{Value as Json, json};
use std::ops::Range;

/// The parts of a module's text, in its order, and the texts that they are from.
#[derive(Clone, Debug)]
pub struct Places {
    module: ModuleId,
    parts: Vec<Part>,
    origins: Vec<Origin>,
}

#[derive(Clone, Debug)]
struct Part {
    range: Range<usize>,
    /// Which of the origins it is from, and where it is there.
    origin: usize,
    at: Range<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Origin {
    shown: String,
    text: String,
}

impl Places {
    pub fn new(module: ModuleId) -> Places {
        Places { module, parts: Vec::new(), origins: Vec::new() }
    }

    /// The part of the module's text behind the others.
    pub fn add(&mut self, range: Range<usize>, shown: &str, text: &str, at: Range<usize>) {
        let is_it = |o: &Origin| o.shown == shown && o.text == text;
        let origin = self.origins.iter().position(is_it).unwrap_or_else(|| {
            self.origins.push(Origin { shown: shown.to_owned(), text: text.to_owned() });
            self.origins.len() - 1
        });
        self.parts.push(Part { range, origin, at });
    }

    /// A diagnostic that points at where its text was written.
    pub fn resolve(&self, d: Diagnostic<Span>) -> Diagnostic<Span> {
        d.map_locations(|span| self.span(span))
    }

    /// Where the text of a span was written.
    pub fn span(&self, span: Span) -> Span {
        let (start, end) = (span.start as usize, span.end as usize);
        let part = self.parts.partition_point(|p| p.range.end <= start);
        let Some(part) = self.parts.get(part).filter(|_| span.module == self.module) else { return span };
        let place = |at: usize| {
            let inside = at.saturating_sub(part.range.start).min(part.at.len());
            u32::try_from(part.at.start + inside).unwrap_or(u32::MAX)
        };
        let start = place(start);
        Span { module: ModuleId(u32::MAX - part.origin as u32), start, end: place(end).max(start) }
    }

    pub fn to_json(&self) -> Json {
        let parts: Vec<Json> = self
            .parts
            .iter()
            .map(|p| json!([p.range.start, p.range.end, p.origin, p.at.start, p.at.end]))
            .collect();
        let origins: Vec<Json> = self.origins.iter().map(|o| json!([o.shown, o.text])).collect();
        json!({"parts": parts, "origins": origins})
    }

    /// What [`Places::to_json`] wrote, of another session's module.
    pub fn from_json(module: ModuleId, json: &Json) -> Option<Places> {
        let number = |j: &Json, k: usize| usize::try_from(j.get(k)?.as_u64()?).ok();
        let part = |j: &Json| {
            let (range, at) = (number(j, 0)?..number(j, 1)?, number(j, 3)?..number(j, 4)?);
            Some(Part { range, origin: number(j, 2)?, at })
        };
        let text = |j: &Json, k: usize| Some(j.get(k)?.as_str()?.to_owned());
        let origin = |j: &Json| Some(Origin { shown: text(j, 0)?, text: text(j, 1)? });
        let parts = json.get("parts")?.as_array()?.iter().map(part).collect::<Option<_>>()?;
        let origins = json.get("origins")?.as_array()?.iter().map(origin).collect::<Option<_>>()?;
        Some(Places { module, parts, origins })
    }
}

/// Sources, with those of the parts beside them.
pub struct Placed<'a> {
    pub sources: &'a dyn Sources,
    pub places: &'a Places,
}

impl Sources for Placed<'_> {
    fn source(&self, module: ModuleId) -> Option<(&str, &str)> {
        match self.places.origins.get((u32::MAX - module.0) as usize) {
            Some(origin) => Some((&origin.shown, &origin.text)),
            None => self.sources.source(module),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_those_of_what_was_written() {
        let module = ModuleId(7);
        let mut places = Places::new(module);
        places.add(0..5, "<prompt>", "  ab12 cd", 2..6);
        places.add(5..9, "x.remora", "one\ntwo", 4..7);
        let places = Places::from_json(module, &places.to_json()).unwrap();
        let of = |start, end| {
            let s = places.span(Span { module, start, end });
            (s.module.0, s.start, s.end)
        };
        assert_eq!(of(1, 3), (u32::MAX, 3, 5));
        assert_eq!(of(5, 7), (u32::MAX - 1, 4, 6));
        assert_eq!(of(6, 9), (u32::MAX - 1, 5, 7), "no further than the text");
        assert_eq!(of(20, 21), (7, 20, 21));
        let other = Span { module: ModuleId(3), start: 0, end: 1 };
        assert_eq!(places.span(other), other);
    }
}

//! The text of a tuning file, read.

use super::{DEVICES, FORMAT, Tuned, Wrong};
use crate::clock::Ratio;
use crate::measured::{Data, Last, Measured, Number, On, THRESHOLD, Time, Tried};
use remc_flat::flatten::Threshold;
use remc_flat::ir::Named;
use std::ops::Range;
use toml_edit::{Item, Table, TableLike, Value};

/// What a file says.
///
/// # Errors
/// It is no TOML, of another format, has a key that means nothing, or a number that cannot be.
pub fn read(text: &str) -> Result<Vec<Tuned>, Wrong> {
    let document = text.parse::<toml_edit::Document<String>>().map_err(|e| {
        let line = e.span().map(|s| line(text, &s));
        Wrong { line, what: e.message().trim().to_owned() }
    })?;
    let r = Reader { text };
    match document.get("format").and_then(Item::as_integer) {
        Some(FORMAT) => {}
        Some(other) => {
            let span = document.get("format").and_then(Item::span);
            return r.wrong(span, format!("its format is {other}, and this remc reads format {FORMAT}"));
        }
        None => return r.wrong(None, format!("it does not say `format = {FORMAT}`, as tuning files do")),
    }
    let Some(tables) = document.get("tuned") else { return Ok(Vec::new()) };
    let Some(tables) = tables.as_array_of_tables() else {
        return r.wrong(tables.span(), "`tuned` is no list of tables, each under `[[tuned]]`");
    };
    let mut all: Vec<Tuned> = Vec::new();
    for table in tables {
        let tuned = r.tuned(table)?;
        let same = |t: &Tuned| t.entry == tuned.entry && t.device == tuned.device && t.ranks == tuned.ranks;
        if all.iter().any(same) {
            let what = format!("there are two tables for `{}` on {}", tuned.entry, tuned.device);
            return r.wrong(table.span(), what);
        }
        all.push(tuned);
    }
    Ok(all)
}

/// The line that a place is in, from 1.
fn line(text: &str, span: &Range<usize>) -> usize {
    text[..span.start.min(text.len())].matches('\n').count() + 1
}

struct Reader<'t> {
    text: &'t str,
}

type R<T> = Result<T, Wrong>;

/// Where a table is, for what it lacks.
type Span = Option<Range<usize>>;

impl Reader<'_> {
    fn wrong<T>(&self, span: Span, what: impl Into<String>) -> R<T> {
        Err(Wrong { line: span.map(|s| line(self.text, &s)), what: what.into() })
    }

    fn tuned(&self, table: &Table) -> R<Tuned> {
        let named = ["entry", "device", "code", "ranks", "thresholds", "schedule", "measured"];
        self.only(table, "`[[tuned]]`", &named)?;
        let at = table.span();
        let word = |key: &str| match table.get(key) {
            Some(_) => self.string(table, at.clone(), key),
            None => self.wrong(at.clone(), format!("a table under `[[tuned]]` does not say `{key}`")),
        };
        let (entry, device, code) = (word("entry")?, word("device")?, word("code")?);
        let span = |key: &str| table.get(key).and_then(Item::span);
        if !DEVICES.contains(&device.as_str()) {
            let known = DEVICES.join(" or ");
            return self
                .wrong(span("device"), format!("there is no device `{device}` to tune for: it is {known}"));
        }
        if code.len() != 16 || !code.bytes().all(|b| b.is_ascii_hexdigit()) {
            let what = format!(
                "`{code}` is no structure of code, which is 16 hexadecimal digits; `--show tuning` has it"
            );
            return self.wrong(span("code"), what);
        }
        let ranks = self.integers(table, "ranks")?.into_iter().map(|n| n as usize).collect();
        let measured = match table.get("measured") {
            None => None,
            Some(item) => match item.as_table_like() {
                Some(m) => Some(self.measured(m, item.span())?),
                None => return self.wrong(item.span(), "`measured` is no table"),
            },
        };
        let numbers = |key, measured| self.numbers(table, &entry, key, measured);
        let thresholds = numbers("thresholds", None)?;
        let schedule = numbers("schedule", measured.as_ref())?;
        Ok(Tuned { entry, device, code, ranks, thresholds, schedule, measured })
    }

    /// No key but these: a misspelt one would be silently without effect.
    fn only(&self, table: &dyn TableLike, what: &str, known: &[&str]) -> R<()> {
        match table.iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, item)) => self.wrong(
                item.span(),
                format!("`{key}` means nothing in {what}, which has {}", known.join(", ")),
            ),
        }
    }

    /// The numbers of a table, by name.
    fn numbers(&self, table: &Table, entry: &str, key: &str, measured: Option<&Measured>) -> R<Named> {
        let mut named = Named::new();
        let Some(item) = table.get(key) else { return Ok(named) };
        let Some(values) = item.as_table_like() else {
            return self.wrong(item.span(), format!("`{key}` is no table"));
        };
        for (name, item) in values.iter() {
            let of_entry = name.strip_prefix(entry).is_some_and(|rest| rest.starts_with('/'));
            if !of_entry {
                return self.wrong(
                    item.span(),
                    format!("`{name}` is no number of `{entry}`: its names begin with `{entry}/`"),
                );
            }
            let shown = item.to_string();
            let shown = shown.trim();
            let number = item.as_integer();
            if key == "thresholds" {
                if Threshold::of_name(name).is_none() {
                    let kinds = Threshold::ALL.map(Threshold::name).join(", ");
                    let what = format!(
                        "`{name}` is no threshold: a name is `{entry}/KIND/DEFINITION:NUMBER`, with one of the kinds {kinds}"
                    );
                    return self.wrong(item.span(), what);
                }
                let Some(number) = number.filter(|n| *n >= 0) else {
                    let what = format!(
                        "`{name}` is {shown}, and a threshold is a whole number from 0 to {}",
                        i64::MAX
                    );
                    return self.wrong(item.span(), what);
                };
                named.insert(name.to_owned(), number);
                continue;
            }
            let known = measured.and_then(|m| m.numbers.iter().find(|n| n.name == name));
            let (least, most) = known.map_or(THRESHOLD, |n| n.range);
            let Some(number) = number.filter(|n| (least..=most).contains(n)) else {
                let what = format!("`{name}` is {shown}, and it is a whole number from {least} to {most}");
                return self.wrong(item.span(), what);
            };
            named.insert(name.to_owned(), number);
        }
        Ok(named)
    }

    fn measured(&self, m: &dyn TableLike, at: Span) -> R<Measured> {
        let known = ["machine", "threads", "date", "data", "numbers", "given-up", "cut-short"];
        self.only(m, "`[tuned.measured]`", &known)?;
        let mut data = Vec::new();
        for (d, at) in self.tables(m, "data")? {
            data.push(self.data(d, at)?);
        }
        let mut numbers = Vec::new();
        if let Some(item) = m.get("numbers") {
            let Some(all) = item.as_table_like() else {
                return self.wrong(item.span(), "`numbers` is no table");
            };
            for (name, item) in all.iter() {
                match item.as_table_like() {
                    Some(n) => numbers.push(self.number(name, n, item.span(), &data)?),
                    None => return self.wrong(item.span(), format!("`{name}` is no table")),
                }
            }
        }
        let date = m.get("date").and_then(Item::as_datetime).map(ToString::to_string);
        let Some(date) = date else { return self.wrong(at, "`measured` does not say its `date`") };
        let (given_up, cut_short) = (self.flag(m, "given-up")?, self.flag(m, "cut-short")?);
        let threads = match m.get("threads") {
            Some(_) => self.integer(m, None, "threads")?.max(0) as usize,
            None => 0,
        };
        let machine = self.string(m, at, "machine")?;
        Ok(Measured { machine, threads, date, data, numbers, given_up, cut_short })
    }

    fn data(&self, d: &dyn TableLike, at: Span) -> R<Data> {
        self.only(d, "a data set", &["name", "contents", "defaults", "tuned", "ratio"])?;
        let last = if d.contains_key("defaults") {
            let ratio = match self.floats(d, "ratio")?.as_slice() {
                [] => None,
                [median, low, high] => Some(Ratio { median: *median, low: *low, high: *high }),
                _ => {
                    return self
                        .wrong(at, "a `ratio` is three numbers: the median, and the ends of its interval");
                }
            };
            let (defaults, tuned) =
                (self.time(d, at.clone(), "defaults")?, self.time(d, at.clone(), "tuned")?);
            Some(Last { defaults, tuned, ratio })
        } else {
            None
        };
        Ok(Data {
            name: self.string(d, at.clone(), "name")?,
            contents: self.string(d, at, "contents")?,
            last,
        })
    }

    fn number(&self, name: &str, n: &dyn TableLike, at: Span, data: &[Data]) -> R<Number> {
        self.only(n, &format!("what was measured of `{name}`"), &["default", "chosen", "range", "on"])?;
        let range = match self.integers(n, "range")?.as_slice() {
            [] => THRESHOLD,
            [least, most] if least <= most => (*least, *most),
            _ => return self.wrong(at, "a `range` is two numbers, the least and the greatest"),
        };
        let mut on = Vec::new();
        for (o, at) in self.tables(n, "on")? {
            on.push(self.on(o, at, data)?);
        }
        let (default, chosen) = (self.integer(n, at.clone(), "default")?, self.integer(n, at, "chosen")?);
        Ok(Number { name: name.to_owned(), default, chosen, range, on })
    }

    fn on(&self, o: &dyn TableLike, at: Span, data: &[Data]) -> R<On> {
        self.only(o, "what was measured", &["data", "sizes", "count", "at", "seconds", "times", "failed"])?;
        let name = self.string(o, at.clone(), "data")?;
        let Some(of) = data.iter().position(|d| d.name == name) else {
            return self.wrong(at, format!("there is no data set `{name}` among `data`"));
        };
        let sizes = self.integers(o, "sizes")?;
        let count = match o.get("count") {
            Some(_) => self.integer(o, at.clone(), "count")?.max(0) as usize,
            None => sizes.len(),
        };
        let (values, seconds, times) =
            (self.integers(o, "at")?, self.floats(o, "seconds")?, self.floats(o, "times")?);
        if values.len() != seconds.len() || values.len() != times.len() {
            return self.wrong(at, "`at`, `seconds` and `times` are not equally many");
        }
        let of_value = |((at, s), times): ((i64, f64), f64)| Tried { at, time: Ok(s), times };
        let mut tried: Vec<Tried> = values.into_iter().zip(seconds).zip(times).map(of_value).collect();
        for (f, span) in self.tables(o, "failed")? {
            let (at, why) = (self.integer(f, span.clone(), "at")?, self.string(f, span, "why")?);
            tried.push(Tried { at, time: Err(why), times: f64::INFINITY });
        }
        tried.sort_by_key(|t| t.at);
        Ok(On { data: of, count, sizes, tried })
    }

    fn flag(&self, table: &dyn TableLike, key: &str) -> R<bool> {
        match table.get(key) {
            None => Ok(false),
            Some(item) => match item.as_bool() {
                Some(b) => Ok(b),
                None => self.wrong(item.span(), format!("`{key}` is neither true nor false")),
            },
        }
    }

    fn string(&self, table: &dyn TableLike, at: Span, key: &str) -> R<String> {
        match table.get(key) {
            None => self.wrong(at, format!("`{key}` is missing")),
            Some(item) => match item.as_str() {
                Some(s) => Ok(s.to_owned()),
                None => self.wrong(item.span(), format!("`{key}` is no string")),
            },
        }
    }

    fn integer(&self, table: &dyn TableLike, at: Span, key: &str) -> R<i64> {
        match table.get(key) {
            None => self.wrong(at, format!("`{key}` is missing")),
            Some(item) => match item.as_integer() {
                Some(n) => Ok(n),
                None => self.wrong(item.span(), format!("`{key}` is no whole number")),
            },
        }
    }

    /// Seconds, or a string that says why there are none.
    fn time(&self, table: &dyn TableLike, at: Span, key: &str) -> R<Time> {
        match table.get(key) {
            Some(item) if item.as_str().is_some() => Ok(Err(item.as_str().unwrap_or_default().to_owned())),
            Some(item) => match item.as_value().and_then(float) {
                Some(x) => Ok(Ok(x)),
                None => self.wrong(item.span(), format!("`{key}` is neither seconds nor why there are none")),
            },
            None => self.wrong(at, format!("`{key}` is missing")),
        }
    }

    /// A list of whole numbers, none of them negative; empty where there is none.
    fn integers(&self, table: &dyn TableLike, key: &str) -> R<Vec<i64>> {
        self.list(table, key, "whole numbers from 0 on", |v| v.as_integer().filter(|n| *n >= 0))
    }

    fn floats(&self, table: &dyn TableLike, key: &str) -> R<Vec<f64>> {
        self.list(table, key, "numbers", float)
    }

    fn list<T>(
        &self,
        table: &dyn TableLike,
        key: &str,
        of: &str,
        one: impl Fn(&Value) -> Option<T>,
    ) -> R<Vec<T>> {
        let Some(item) = table.get(key) else { return Ok(Vec::new()) };
        let all = item.as_array().and_then(|a| a.iter().map(one).collect::<Option<Vec<T>>>());
        all.map_or_else(|| self.wrong(item.span(), format!("`{key}` is no list of {of}")), Ok)
    }

    /// A list of tables, and where each is.
    fn tables<'a>(&self, table: &'a dyn TableLike, key: &str) -> R<Vec<(&'a dyn TableLike, Span)>> {
        let Some(item) = table.get(key) else { return Ok(Vec::new()) };
        let one = |v: &'a Value| Some((v.as_inline_table()? as &dyn TableLike, v.span()));
        let inline = item.as_array().and_then(|a| a.iter().map(one).collect::<Option<Vec<_>>>());
        let tables = || {
            let all = item.as_array_of_tables()?;
            Some(all.iter().map(|t| (t as &dyn TableLike, t.span())).collect())
        };
        let found = inline.or_else(tables);
        found.map_or_else(|| self.wrong(item.span(), format!("`{key}` is no list of tables")), Ok)
    }
}

fn float(v: &Value) -> Option<f64> {
    let x = v.as_float().or(v.as_integer().map(|n| n as f64));
    x.filter(|x| x.is_finite() && *x >= 0.0)
}

//! A tuning file, written: what is there already stays.

use super::{FORMAT, Tuned, Wrong, read};
use crate::measured::{Data, Measured, Number, On, THRESHOLD, Time};
use remc_flat::ir::Named;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

/// A text with this in it, in place of what it said of the same entry, device and ranks before; all else, comments too,
/// stays. `notes` stand above the values of thresholds, by name.
///
/// # Errors
/// The text is no tuning file.
pub fn with(
    text: Option<&str>,
    program: &str,
    tuned: &Tuned,
    notes: &[(String, String)],
) -> Result<String, Wrong> {
    let head = format!(
        "# Which versions of {program} run, as `remc autotune` measured them. `remc run`, `compile` and `explain-perf`\n\
         # read this where it lies beside the program; `--tuning none` leaves it out. A value is the size from which on\n\
         # a version is taken; it changes how fast the program is, and nothing else. `remc tuning` explains the numbers.\n\
         format = {FORMAT}\n"
    );
    let text = match text {
        Some(text) => {
            read(text)?;
            text.to_owned()
        }
        None => head,
    };
    let parsed = text.parse::<DocumentMut>();
    let mut document = parsed.map_err(|e| Wrong { line: None, what: e.message().to_owned() })?;
    let tables = document.entry("tuned").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(tables) = tables.as_array_of_tables_mut() else {
        return Err(Wrong { line: None, what: "`tuned` is no list of tables".into() });
    };
    let ranks: Vec<i64> = tuned.ranks.iter().map(|n| *n as i64).collect();
    let same = |t: &Table| {
        let is = |key: &str, word: &str| t.get(key).and_then(Item::as_str) == Some(word);
        let of: Vec<i64> = t
            .get("ranks")
            .and_then(Item::as_array)
            .map_or(Vec::new(), |a| a.iter().filter_map(Value::as_integer).collect());
        is("entry", &tuned.entry) && is("device", &tuned.device) && of == ranks
    };
    let old: Vec<usize> = tables.iter().enumerate().filter(|(_, t)| same(t)).map(|(k, _)| k).collect();
    for k in old.into_iter().rev() {
        tables.remove(k);
    }
    let mut table = Table::new();
    table.insert("entry", value(&tuned.entry));
    table.insert("device", value(&tuned.device));
    let mut code = Value::from(tuned.code.as_str());
    code.decor_mut().set_suffix("  # the structure of the code that was measured");
    table.insert("code", Item::Value(code));
    if !ranks.is_empty() {
        table.insert("ranks", value(Array::from_iter(ranks)));
    }
    table.insert("thresholds", Item::Table(numbers(&tuned.thresholds, notes)));
    if !tuned.schedule.is_empty() {
        table.insert("schedule", Item::Table(numbers(&tuned.schedule, notes)));
    }
    if let Some(m) = &tuned.measured {
        table.insert("measured", Item::Table(measured(m)));
    }
    tables.push(table);
    Ok(document.to_string())
}

fn numbers(named: &Named, notes: &[(String, String)]) -> Table {
    let mut table = Table::new();
    for (name, number) in named {
        table.insert(name, value(*number));
        let note: String = notes
            .iter()
            .filter(|(of, _)| of == name)
            .flat_map(|(_, note)| note.lines())
            .map(|line| format!("# {line}\n"))
            .collect();
        if let Some(mut key) = table.key_mut(name) {
            key.leaf_decor_mut().set_prefix(note);
        }
    }
    table
}

fn measured(m: &Measured) -> Table {
    let mut table = Table::new();
    table.insert("machine", value(&m.machine));
    if m.threads > 0 {
        table.insert("threads", value(m.threads as i64));
    }
    let date = m.date.parse::<Value>().ok().filter(Value::is_datetime);
    table.insert("date", Item::Value(date.unwrap_or_else(|| Value::from(m.date.as_str()))));
    for (key, holds) in [("given-up", m.given_up), ("cut-short", m.cut_short)] {
        if holds {
            table.insert(key, value(true));
        }
    }
    table.insert("data", lines(m.data.iter().map(data)));
    let mut numbers = Table::new();
    numbers.set_implicit(true);
    for n in &m.numbers {
        numbers.insert(&n.name, Item::Table(number(n, m)));
    }
    table.insert("numbers", Item::Table(numbers));
    table
}

fn data(d: &Data) -> InlineTable {
    let mut table = InlineTable::new();
    table.insert("name", Value::from(d.name.as_str()));
    table.insert("contents", Value::from(d.contents.as_str()));
    if let Some(last) = &d.last {
        table.insert("defaults", time(&last.defaults));
        table.insert("tuned", time(&last.tuned));
        if let Some(r) = &last.ratio {
            table.insert("ratio", floats([r.median, r.low, r.high]));
        }
    }
    table
}

fn number(n: &Number, m: &Measured) -> Table {
    let mut table = Table::new();
    table.insert("default", value(n.default));
    table.insert("chosen", value(n.chosen));
    if n.range != THRESHOLD {
        table.insert("range", value(Array::from_iter([n.range.0, n.range.1])));
    }
    table.insert("on", lines(n.on.iter().map(|o| on(o, m.label(o)))));
    table
}

fn on(o: &On, label: &str) -> InlineTable {
    let mut table = InlineTable::new();
    table.insert("data", Value::from(label));
    if !o.sizes.is_empty() {
        table.insert("sizes", Value::Array(Array::from_iter(o.sizes.iter().copied())));
    }
    if o.count > o.sizes.len() {
        table.insert("count", Value::from(o.count as i64));
    }
    let timed = || o.tried.iter().filter_map(|t| Some((t, *t.time.as_ref().ok()?)));
    table.insert("at", Value::Array(timed().map(|(t, _)| t.at).collect()));
    table.insert("seconds", floats(timed().map(|(_, s)| s)));
    table.insert("times", floats(timed().map(|(t, _)| t.times)));
    let failed = o.tried.iter().filter_map(|t| {
        let mut table = InlineTable::new();
        table.insert("at", Value::from(t.at));
        table.insert("why", Value::from(t.time.as_ref().err()?.as_str()));
        Some(table)
    });
    let failed: Array = failed.collect();
    if !failed.is_empty() {
        table.insert("failed", Value::Array(failed));
    }
    table
}

fn time(t: &Time) -> Value {
    match t {
        Ok(seconds) => float(*seconds),
        Err(why) => Value::from(why.as_str()),
    }
}

fn floats(all: impl IntoIterator<Item = f64>) -> Value {
    Value::Array(all.into_iter().map(float).collect())
}

/// A number as it is known, with four digits.
fn float(x: f64) -> Value {
    let known: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    format!("{known:?}").parse().unwrap_or_else(|_| Value::from(x))
}

/// Tables one below the other.
fn lines(tables: impl Iterator<Item = InlineTable>) -> Item {
    let mut array: Array = tables.collect();
    array.iter_mut().for_each(|v| v.decor_mut().set_prefix("\n    "));
    if !array.is_empty() {
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    Item::Value(Value::Array(array))
}

//! `PROGRAM.tuning`: the values of thresholds that a search found, for who runs the program.
//!
//! ```toml
//! # Which versions of rows.remora run, as `remc autotune` measured them. …
//! format = 1
//!
//! [[tuned]]
//! entry = "main"
//! device = "cpu"
//! code = "5d1c0f3a9b2e4c67"      # the structure of the optimised program that was measured
//!
//! [tuned.thresholds]
//! # data set small: 100 is faster in the first version (1.2 ms against 3.4 ms)
//! "main/par.outer/rows:1" = 2000
//! ```
//!
//! It is TOML, to be read and committed. A table says what it was measured for: an entry, a device and the *structure* of
//! the entry's code, which is Flat without the places of the text that it comes from and without the values of its
//! thresholds. So a comment or a definition that the entry does not use may change; where the code itself has changed, the
//! numbers are of another program, and are not used.

use remc_flat::ir::{Named, Program};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value, value};

/// The version of the format.
const FORMAT: i64 = 1;

/// What was found for an entry on a device.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuned {
    pub entry: String,
    pub device: String,
    pub code: String,
    pub thresholds: Named,
}

/// Why a file is none, and where: its line, from 1, if there is one to name.
#[derive(Clone, PartialEq, Debug)]
pub struct Wrong {
    pub line: Option<usize>,
    pub what: String,
}

/// The structure of a program's code, as 16 hexadecimal digits.
pub fn structure(p: &Program) -> String {
    let text = remc_flat::print::print_program(p);
    // Places stand in a list of their own, and behind each statement.
    let (head, rest) = text.split_once("(provs").unwrap_or(("", &text));
    let rest = rest.split_once("\n  (types").map_or(rest, |(_, rest)| rest);
    let mut hash = blake3::Hasher::new();
    hash.update(head.as_bytes());
    let mut words = rest.split([' ', '\n']).filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        let place = word.trim_end_matches(')').strip_prefix('p').is_some_and(|n| n.parse::<u32>().is_ok());
        match place {
            true => hash.update(word.trim_start_matches(|c| c != ')').as_bytes()),
            false => hash.update(word.as_bytes()),
        };
        hash.update(b" ");
        // What follows a threshold's name is its value.
        if word.starts_with('"') && remc_flat::flatten::Threshold::of_name(word.trim_matches('"')).is_some() {
            let closed = words.next().unwrap_or_default();
            hash.update(closed.trim_start_matches(|c: char| c != ')').as_bytes());
        }
    }
    hash.finalize().to_hex()[..16].to_owned()
}

/// What a file says.
///
/// # Errors
/// It is no TOML, of another format, or has a number that no threshold can have.
pub fn read(text: &str) -> Result<Vec<Tuned>, Wrong> {
    let document = text.parse::<toml_edit::Document<String>>().map_err(|e| {
        let line = e.span().map(|s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        Wrong { line, what: e.message().trim().to_owned() }
    })?;
    let at = |item: Option<std::ops::Range<usize>>, what: String| {
        let line = item.map(|s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        Wrong { line, what }
    };
    match document.get("format").and_then(Item::as_integer) {
        Some(FORMAT) => {}
        Some(other) => {
            let span = document.get("format").and_then(Item::span);
            return Err(at(span, format!("its format is {other}, and this remc reads format {FORMAT}")));
        }
        None => return Err(at(None, format!("it does not say `format = {FORMAT}`, as tuning files do"))),
    }
    let Some(tables) = document.get("tuned") else { return Ok(Vec::new()) };
    let Some(tables) = tables.as_array_of_tables() else {
        return Err(at(tables.span(), "`tuned` is no list of tables, each under `[[tuned]]`".into()));
    };
    let mut all = Vec::new();
    for table in tables {
        let word = |key: &str| match table.get(key) {
            Some(item) => item
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| at(item.span(), format!("`{key}` is no string"))),
            None => Err(at(table.span(), format!("a table under `[[tuned]]` does not say `{key}`"))),
        };
        let (entry, device, code) = (word("entry")?, word("device")?, word("code")?);
        let mut thresholds = Named::new();
        if let Some(item) = table.get("thresholds") {
            let Some(values) = item.as_table_like() else {
                return Err(at(item.span(), "`thresholds` is no table".into()));
            };
            for (name, item) in values.iter() {
                let number = item.as_integer().filter(|n| *n >= 0);
                let Some(number) = number else {
                    let shown = item.to_string();
                    let what = format!(
                        "`{name}` is {}, and a threshold is a whole number from 0 to {}",
                        shown.trim(),
                        i64::MAX
                    );
                    return Err(at(item.span(), what));
                };
                thresholds.insert(name.to_owned(), number);
            }
        }
        all.push(Tuned { entry, device, code, thresholds });
    }
    Ok(all)
}

/// A text with this in it, in place of what it said of the same code before; all else, comments too, stays.
/// `notes` stand above the values of thresholds, by name.
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
         # a version is taken; it changes how fast the program is, and nothing else.\n\
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
    let same = |t: &Table| {
        let is = |key: &str, word: &str| t.get(key).and_then(Item::as_str) == Some(word);
        is("entry", &tuned.entry) && is("device", &tuned.device)
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
    let mut thresholds = Table::new();
    for (name, number) in &tuned.thresholds {
        thresholds.insert(name, value(*number));
        let note: String = notes
            .iter()
            .filter(|(of, _)| of == name)
            .flat_map(|(_, note)| note.lines())
            .map(|line| format!("# {line}\n"))
            .collect();
        if let Some(mut key) = thresholds.key_mut(name) {
            key.leaf_decor_mut().set_prefix(note);
        }
    }
    table.insert("thresholds", Item::Table(thresholds));
    tables.push(table);
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned(entry: &str, values: &[(&str, i64)]) -> Tuned {
        let thresholds = values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        Tuned { entry: entry.into(), device: "cpu".into(), code: "0123456789abcdef".into(), thresholds }
    }

    #[test]
    fn what_is_written_reads_back_and_what_else_is_there_stays() {
        let first = tuned("main", &[("main/par.outer/f:1", 7), ("main/par.inner/f:1", 0)]);
        let notes = [("main/par.outer/f:1".to_owned(), "small: 3 ms\nlarge: 5 ms".to_owned())];
        let text = with(None, "f.remora", &first, &notes).unwrap();
        assert!(text.contains("# small: 3 ms\n# large: 5 ms\n\"main/par.outer/f:1\" = 7\n"), "{text}");
        assert_eq!(read(&text), Ok(vec![first.clone()]));
        let own = text.replace("# small: 3 ms", "# what I say of it");
        let other = tuned("other", &[]);
        let both = with(Some(&own), "f.remora", &other, &[]).unwrap();
        assert!(both.contains("# what I say of it"), "{both}");
        assert_eq!(read(&both), Ok(vec![first, other.clone()]));
        let again = tuned("main", &[("main/par.outer/f:1", 9)]);
        let both = with(Some(&both), "f.remora", &again, &[]).unwrap();
        assert_eq!(read(&both), Ok(vec![other, again]));
    }

    #[test]
    fn the_structure_is_the_code_without_places_and_values() {
        let text = |place: &str, value: &str, op: &str| {
            format!(
                "(flat 1 (name \"main\") (provs {place}) (types) (params (%n.0 int)) (inputs %n.0) (output 0) (body
                   (let ((%r.1 int)) (branch (>= %n.0 \"main/par.outer/f:1\" {value})
                     (then (let ((%a.2 int)) (host (op {op} %n.0 1)) p0) (give %a.2))
                     (else (give 2))) p0)
                   (give %r.1)))"
            )
        };
        let of = |place: &str, value: &str, op: &str| {
            structure(&remc_flat::parse::parse_program(&text(place, value, op)).unwrap())
        };
        let code = of("(p0 \"f\" 0 1)", "512", "+");
        assert_eq!(code.len(), 16);
        assert_eq!(code, of("(p0 \"g\" 2 17)", "7", "+"));
        assert_ne!(code, of("(p0 \"f\" 0 1)", "512", "-"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |text: &str| {
            let e = read(text).unwrap_err();
            format!("{:?}: {}", e.line, e.what)
        };
        assert!(wrong("format = ").starts_with("Some(1): "), "{}", wrong("format = "));
        assert_eq!(wrong(""), "None: it does not say `format = 1`, as tuning files do");
        assert_eq!(wrong("\nformat = 2"), "Some(2): its format is 2, and this remc reads format 1");
        let head = "format = 1\n[[tuned]]\nentry = \"main\"\ndevice = \"cpu\"\n";
        assert_eq!(wrong(head), "Some(2): a table under `[[tuned]]` does not say `code`");
        let value = format!("{head}code = \"0\"\n[tuned.thresholds]\n\"main/par.outer/f:1\" = -3\n");
        assert_eq!(
            wrong(&value),
            "Some(7): `main/par.outer/f:1` is -3, and a threshold is a whole number from 0 to 9223372036854775807"
        );
    }
}

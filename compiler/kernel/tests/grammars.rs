//! The grammar on top of each printer of Mono, Flat and Kernel has the words that the reader knows, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each IR: the files with its grammar, and those that read it.
const IRS: [(&str, &[&str], &[&str]); 3] = [
    (
        "mono",
        &["mono/src/print.rs", "mono/src/interface.rs"],
        &["mono/src/parse.rs", "mono/src/interface.rs"],
    ),
    ("flat", &["flat/src/print.rs"], &["flat/src/parse.rs"]),
    ("kernel", &["kernel/src/print.rs"], &["kernel/src/parse.rs"]),
];

/// What other readers know: tables of provenances and types, and the names of memory spaces.
const ELSEWHERE: [&str; 6] = ["provs", "types", "global", "scratch", "private", "shared"];
/// What the reader of Mono knows and its grammar says in prose: constants, and that parts of the host are Flat's.
const PROSE: [&str; 3] = ["true", "false", "host"];
/// What stands for something else: the name of a base type, a constant, a field of a schedule.
const OPEN: [&str; 7] = ["base", "constant", "field", "trap", "position", "in", "out"];

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)).unwrap()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !(c.is_alphanumeric() || c == '-' || c == '%' || c == '.');
    line.split(ends).filter(|w| w.len() > 1 && is_word(w))
}

/// The words of the grammars of a header, and what they define. Remarks stand apart by three spaces.
fn grammar(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut used, mut defined) = (BTreeSet::new(), BTreeSet::new());
    for block in text.split("//! ```").filter(|b| b.contains("::=")) {
        for line in block.lines().map(|l| l.trim_start_matches("//!")) {
            let rule = match line.split_once("::=") {
                Some((name, rule)) => {
                    defined.insert(name.trim().to_owned());
                    rule.trim()
                }
                None => line.trim_start(),
            };
            let continues = rule.starts_with(['|', '(']) || line.contains("::=");
            let rule = rule.split("   ").next().unwrap_or_default();
            if continues {
                let unquoted = rule.split('"').step_by(2);
                used.extend(unquoted.flat_map(words).map(str::to_owned));
            }
        }
    }
    (used, defined)
}

/// The words that a reader compares with: its literals of one word, but for those that say what was expected.
fn known(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
        let mut before = "";
        for (k, part) in line.split('"').enumerate() {
            if k % 2 == 1 && is_word(part) && !before.ends_with("next(") {
                all.insert(part.to_owned());
            }
            before = part;
        }
    }
    all
}

#[test]
fn grammars_have_the_words_of_the_readers() {
    // What the others have in common with Mono, its reader reads.
    let mono: BTreeSet<String> = IRS[0].1.iter().flat_map(|f| grammar(&read(f)).1).collect();
    let common: BTreeSet<String> = IRS[0].2.iter().flat_map(|f| known(&read(f))).collect();
    for (ir, headers, readers) in IRS {
        let (mut used, mut defined) = (BTreeSet::new(), mono.clone());
        for file in headers {
            let (words, names) = grammar(&read(file));
            used.extend(words);
            defined.extend(names);
        }
        let known: BTreeSet<String> = readers.iter().flat_map(|f| known(&read(f))).collect();
        let missing: Vec<_> =
            known.difference(&used).filter(|w| ir != "mono" || !PROSE.contains(&w.as_str())).collect();
        assert!(missing.is_empty(), "the grammar of {ir} leaves out {missing:?}");
        let strange: Vec<_> = used
            .iter()
            .filter(|w| !known.contains(*w) && !common.contains(*w) && !defined.contains(*w))
            .filter(|w| !ELSEWHERE.contains(&w.as_str()) && !OPEN.contains(&w.as_str()))
            .collect();
        assert!(strange.is_empty(), "the reader of {ir} knows no {strange:?}");
    }
}

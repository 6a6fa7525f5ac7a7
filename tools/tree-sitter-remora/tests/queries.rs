//! The queries: each fits the grammar, and what `sample.remora` looks like.

use std::path::Path;
use tree_sitter::{Language, Query};
use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

const SAMPLE: &str = include_str!("sample.remora");
const EXPECTED: &str = include_str!("sample.colours");

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The queries' files, Helix's too.
fn queries() -> Vec<(String, String)> {
    let mut found = vec![];
    for folder in [folder().join("queries"), folder().join("queries/helix")] {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let text = std::fs::read_to_string(&path).expect("a text");
                found.push((path.display().to_string(), text));
            }
        }
    }
    assert!(found.len() >= 8, "{} queries", found.len());
    found
}

#[test]
fn each_query_fits_the_grammar() {
    let language: Language = tree_sitter_remora::LANGUAGE.into();
    for (name, text) in queries() {
        if let Err(error) = Query::new(&language, &text) {
            panic!("{name}: {error}");
        }
    }
}

/// Each form that has a keyword has a colour for it.
#[test]
fn each_keyword_has_a_colour() {
    let language: Language = tree_sitter_remora::LANGUAGE.into();
    let grammar = std::fs::read_to_string(folder().join("grammar.js")).expect("the grammar");
    let mut forms = vec![];
    for line in grammar.lines() {
        if let Some((name, rule)) = line.trim().split_once(": $ =>")
            && rule.trim_start().starts_with("form(")
        {
            forms.push(name.to_owned());
        }
    }
    assert!(forms.len() > 30, "{forms:?}");
    for name in forms {
        assert!(language.id_for_node_kind(&name, true) > 0, "{name}");
        for (file, text) in queries().iter().filter(|(file, _)| file.ends_with("highlights.scm")) {
            assert!(text.contains(&format!("({name} keyword: _ @")), "{file}: {name}");
        }
    }
}

/// Helix's file is the other with its names for captures.
#[test]
fn helix_has_the_same_colours() {
    let read = |name: &str| std::fs::read_to_string(folder().join("queries").join(name)).expect("a text");
    let mut text = read("highlights.scm");
    for (neovim, helix) in [
        ("@function.call", "@function"),
        ("@number.float", "@constant.numeric.float"),
        ("@number", "@constant.numeric.integer"),
        ("@boolean", "@constant.builtin.boolean"),
        ("@character", "@constant.character"),
        ("@string.escape", "@constant.character.escape"),
        ("@property", "@variable.other.member"),
        ("@keyword.conditional", "@keyword.control.conditional"),
        ("@keyword.repeat", "@keyword.control.repeat"),
        ("@keyword.import", "@keyword.control.import"),
        ("@keyword.type", "@keyword.storage.type"),
    ] {
        text = text.replace(neovim, helix);
    }
    let name = "helix/highlights.scm";
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(folder().join("queries").join(name), &text).expect("written");
    }
    assert!(
        text == read(name),
        "queries/{name} is not what queries/highlights.scm says: UPDATE_EXPECT=1 renews it"
    );
}

/// Each coloured piece of the sample, a line each: its colour and its text.
#[test]
fn the_sample_looks_as_expected() {
    let mut config = HighlightConfiguration::new(
        tree_sitter_remora::LANGUAGE.into(),
        "remora",
        tree_sitter_remora::HIGHLIGHTS_QUERY,
        "",
        tree_sitter_remora::LOCALS_QUERY,
    )
    .expect("queries that fit");
    let names: Vec<String> = config.names().iter().map(|n| (*n).to_owned()).collect();
    config.configure(&names);
    let mut highlighter = Highlighter::new();
    let events = highlighter.highlight(&config, SAMPLE.as_bytes(), None, None, |_| None).expect("a tree");
    let (mut found, mut colours) = (String::new(), vec![]);
    for event in events {
        match event.expect("an event") {
            HighlightEvent::HighlightStart(colour) => colours.push(names[colour.0].as_str()),
            HighlightEvent::HighlightEnd => {
                colours.pop();
            }
            HighlightEvent::Source { start, end } => {
                let text = SAMPLE[start..end].trim();
                // Brackets and blanks say nothing.
                if let Some(colour) = colours.last().filter(|c| **c != "punctuation.bracket")
                    && !text.is_empty()
                {
                    found.push_str(&format!("{colour}: {}\n", text.replace('\n', "\n    ")));
                }
            }
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(folder().join("tests/sample.colours"), &found).expect("written");
    }
    assert!(found == EXPECTED, "UPDATE_EXPECT=1 writes what was found:\n{found}");
}

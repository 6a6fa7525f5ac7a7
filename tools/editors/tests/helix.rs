//! Helix: its settings in the book, and the colours that its own library gives a program by `queries/helix`.

use ropey::Rope;
use std::path::Path;
use std::time::Duration;
use tree_house::highlighter::{Highlight, HighlightEvent, Highlighter};
use tree_house::{InjectionLanguageMarker, Language, LanguageConfig, LanguageLoader, Syntax};
use tree_house_bindings::Grammar;

struct Loader(LanguageConfig);

impl LanguageLoader for Loader {
    fn language_for_marker(&self, _: InjectionLanguageMarker<'_>) -> Option<Language> {
        None
    }

    fn get_config(&self, _: Language) -> Option<&LanguageConfig> {
        Some(&self.0)
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a file of the repository")
}

/// Each coloured piece of a text, a line each, as `tools/tree-sitter-remora/tests/sample.colours` has them.
fn colours(text: &str) -> String {
    let query = |name: &str| read(&format!("tools/tree-sitter-remora/queries/helix/{name}.scm"));
    let grammar = Grammar::try_from(tree_sitter_remora::LANGUAGE).expect("an ABI that Helix reads");
    let config = LanguageConfig::new(grammar, &query("highlights"), "", &query("locals"))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut names: Vec<String> = vec![];
    config.configure(|name| {
        names.push(name.to_owned());
        Some(Highlight::new(names.len() as u32 - 1))
    });
    let loader = Loader(config);
    let rope = Rope::from_str(text);
    let source = rope.slice(..);
    let syntax = Syntax::new(source, Language::new(0), Duration::from_secs(10), &loader).expect("a tree");
    let mut highlighter = Highlighter::new(&syntax, source, &loader, ..);
    let (mut found, mut active): (String, Vec<Highlight>) = (String::new(), vec![]);
    let mut at = 0;
    loop {
        let next = highlighter.next_event_offset().min(text.len() as u32) as usize;
        let piece = text[at..next].trim();
        if let Some(highlight) = active.last()
            && !piece.is_empty()
        {
            let name = &names[highlight.idx()];
            if name != "punctuation.bracket" {
                found.push_str(&format!("{name}: {}\n", piece.replace('\n', "\n    ")));
            }
        }
        if next == text.len() {
            return found;
        }
        at = next;
        let (event, new) = highlighter.advance();
        let new: Vec<Highlight> = new.collect();
        if event == HighlightEvent::Refresh {
            active.clear();
        }
        active.extend(new);
    }
}

/// Helix sees what the others see: the sample's colours, with its names for them.
#[test]
fn the_sample_has_its_colours() {
    let found = colours(&read("tools/tree-sitter-remora/tests/sample.remora"));
    let mut expected = read("tools/tree-sitter-remora/tests/sample.colours");
    for (other, helix) in [
        ("\nfunction.call:", "\nfunction:"),
        ("\nnumber.float:", "\nconstant.numeric.float:"),
        ("\nnumber:", "\nconstant.numeric.integer:"),
        ("\nboolean:", "\nconstant.builtin.boolean:"),
        ("\ncharacter:", "\nconstant.character:"),
        ("\nstring.escape:", "\nconstant.character.escape:"),
        ("\nproperty:", "\nvariable.other.member:"),
        ("\nkeyword.conditional:", "\nkeyword.control.conditional:"),
        ("\nkeyword.repeat:", "\nkeyword.control.repeat:"),
        ("\nkeyword.import:", "\nkeyword.control.import:"),
        ("\nkeyword.type:", "\nkeyword.storage.type:"),
    ] {
        expected = expected.replace(other, helix);
    }
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// The settings are TOML, and name what is there.
#[test]
fn the_settings_of_the_book_are_in_order() {
    let page = read("book/src/editors.md");
    let (_, rest) = page.split_once("```toml languages.toml\n").expect("the block");
    let (block, _) = rest.split_once("```").expect("its end");
    let settings: toml_edit::DocumentMut = block.parse().expect("TOML");
    let language = &settings["language"][0];
    assert_eq!(language["name"].as_str(), Some("remora"));
    assert_eq!(language["language-servers"][0].as_str(), Some("remc"));
    assert_eq!(settings["language-server"]["remc"]["command"].as_str(), Some("remc"));
    assert_eq!(settings["language-server"]["remc"]["args"][0].as_str(), Some("lsp"));
    let path = settings["grammar"][0]["source"]["path"].as_str().expect("a path");
    let (_, inside) = path.split_once("/path/to/remora/").expect("a place to fill in");
    assert!(root().join(inside).join("src/parser.c").exists(), "{path}");
}

//! Programs in colour, by the grammar for editors and its queries.

use std::path::Path;
use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

/// The colours of the queries and the classes that `book/theme/remora.css` knows. A longer name comes before what it
/// begins with.
const CLASSES: &[(&str, &str)] = &[
    ("comment", "r-comment"),
    ("keyword", "r-keyword"),
    ("function.call", "r-call"),
    ("function", "r-function"),
    ("variable.parameter", "r-parameter"),
    ("type", "r-type"),
    ("constant.builtin", "r-number"),
    ("constant", "r-index"),
    ("number", "r-number"),
    ("boolean", "r-number"),
    ("character", "r-string"),
    ("string.escape", "r-escape"),
    ("string", "r-string"),
    ("operator", "r-operator"),
    ("property", "r-property"),
    ("punctuation.special", "r-operator"),
    ("punctuation", "r-bracket"),
];

pub struct Colours {
    config: HighlightConfiguration,
    /// Of each capture that the queries have, its class.
    classes: Vec<Option<&'static str>>,
}

impl Default for Colours {
    fn default() -> Colours {
        Colours::new()
    }
}

impl Colours {
    /// # Panics
    ///
    /// If the grammar's queries do not fit it, which its tests exclude.
    pub fn new() -> Colours {
        let mut config = HighlightConfiguration::new(
            tree_sitter_remora::LANGUAGE.into(),
            "remora",
            tree_sitter_remora::HIGHLIGHTS_QUERY,
            "",
            tree_sitter_remora::LOCALS_QUERY,
        )
        .expect("the queries fit the grammar");
        let names: Vec<String> = config.names().iter().map(|n| (*n).to_owned()).collect();
        config.configure(&names);
        let class = |name: &String| CLASSES.iter().find(|(n, _)| is_part(n, name)).map(|(_, class)| *class);
        let classes = names.iter().map(class).collect();
        Colours { config, classes }
    }

    /// A program as HTML, for a `<pre>`.
    pub fn html(&self, text: &str) -> String {
        let mut highlighter = Highlighter::new();
        let Ok(events) = highlighter.highlight(&self.config, text.as_bytes(), None, None, |_| None) else {
            return escaped(text);
        };
        let mut out = String::with_capacity(text.len() * 3);
        let mut open: Vec<Option<&str>> = vec![];
        for event in events {
            match event {
                Ok(HighlightEvent::HighlightStart(colour)) => {
                    open.push(self.classes.get(colour.0).copied().flatten());
                }
                Ok(HighlightEvent::HighlightEnd) => {
                    open.pop();
                }
                Ok(HighlightEvent::Source { start, end }) => {
                    piece(&mut out, open.last().copied().flatten(), &text[start..end]);
                }
                Err(_) => return escaped(text),
            }
        }
        out
    }
}

/// Whether a capture, such as `keyword.function`, is of the kind `kind`.
fn is_part(kind: &str, capture: &str) -> bool {
    capture.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A piece of one colour; what a comment says of a value is apart from the comment.
fn piece(out: &mut String, class: Option<&str>, text: &str) {
    match class {
        Some("r-comment") => {
            let (before, value) = text.find('⇒').map_or((text, ""), |at| text.split_at(at));
            span(out, "r-comment", before);
            span(out, "r-value", value);
        }
        Some(class) => span(out, class, text),
        None => out.push_str(&escaped(text)),
    }
}

fn span(out: &mut String, class: &str, text: &str) {
    if !text.is_empty() {
        out.push_str(&format!("<span class=\"{class}\">{}</span>", escaped(text)));
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A whole page that has a program in colour, with its file's name above.
pub fn page(colours: &Colours, file: &Path, text: &str) -> String {
    let name = escaped(&file.file_name().unwrap_or_default().to_string_lossy());
    let style = include_str!("../../../book/theme/remora.css");
    let lines = 1..=text.lines().count();
    let numbers: String = lines.map(|n| format!("{n}\n")).collect();
    format!(
        "<!doctype html>\n<html class=\"light\">\n<meta charset=\"utf-8\">\n<title>{name}</title>\n<style>\n{style}\n\
         body {{ margin: 0; width: max-content; min-width: 100%; background: #fff; color: #1f2328; }}\n\
         @media (prefers-color-scheme: dark) {{ body {{ background: #1e1e2e; color: #e4e4ef; }} }}\n\
         .editor {{ display: flex; font: 15px/1.5 'DejaVu Sans Mono', monospace; }}\n\
         .tab {{ font: 13px sans-serif; padding: 8px 16px; border-bottom: 1px solid #8884; }}\n\
         .editor pre {{ margin: 0; padding: 12px 16px; font: inherit; }}\n\
         .numbers {{ text-align: right; opacity: 0.45; }}\n</style>\n\
         <script>if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.className = 'navy';</script>\n\
         <div class=\"tab\">{name}</div>\n<div class=\"editor\"><pre class=\"numbers\">{numbers}</pre><pre>{}</pre></div>\n</html>\n",
        colours.html(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_the_colour_of_what_it_is() {
        let html = Colours::new().html("(define (f [x [int n]]) (g x)) ; ⇒ 3 < 4\n");
        for part in [
            "<span class=\"r-keyword\">define</span>",
            "<span class=\"r-function\">f</span>",
            "<span class=\"r-parameter\">x</span>",
            "<span class=\"r-type\">int</span>",
            "<span class=\"r-index\">n</span>",
            "<span class=\"r-call\">g</span>",
            "<span class=\"r-comment\">; </span><span class=\"r-value\">⇒ 3 &lt; 4</span>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    /// A block of the book may show what is wrong.
    #[test]
    fn a_wrong_program_keeps_its_text() {
        let text = "(define (f x\n  \"a & b";
        let html = Colours::new().html(text);
        let mut plain = String::new();
        let mut inside = false;
        for c in html.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                c if !inside => plain.push(c),
                _ => {}
            }
        }
        assert_eq!(plain, escaped(text));
    }
}

//! The forms of the language: sections of the book's page `language/forms.md`.
//!
//! A section begins with a heading of level two that names its forms first, each in backticks; what a form
//! is called in words is a name of it too.

/// The page.
pub const PAGE: &str = include_str!("../../../../book/src/language/forms.md");

/// What people call forms, and the name that the page has.
const IN_WORDS: [(&str, &str); 11] = [
    ("function", "λ"),
    ("application", "(f e …)"),
    ("apply", "(f e …)"),
    ("instance", "f{τ … | i …}"),
    ("rerank", "~(r …)f"),
    ("~", "~(r …)f"),
    ("[]", "[e …]"),
    ("bracket", "[e …]"),
    ("comment", ";"),
    ("else", "cond"),
    ("type", "define-type"),
];

/// The sections of the page: the names in the heading, and the text with its heading.
pub fn sections() -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    let starts = PAGE.match_indices("\n## ").map(|(at, _)| at + 1);
    starts.map(|at| {
        let rest = &PAGE[at..];
        let end = rest[3..].find("\n## ").map_or(rest.len(), |n| n + 4);
        let section = &rest[..end];
        (heading_names(section.lines().next().unwrap_or_default()), section)
    })
}

/// `` ## `a`, `b`: words `` names `a` and `b`.
fn heading_names(heading: &str) -> Vec<&str> {
    let mut rest = heading.trim_start_matches(['#', ' ']);
    let mut names = vec![];
    while let Some((name, after)) = rest.strip_prefix('`').and_then(|r| r.split_once('`')) {
        names.push(name);
        rest = after.trim_start_matches([',', ' ']);
    }
    names
}

/// The section that says what a form is.
pub fn section(name: &str) -> Option<&'static str> {
    let name = IN_WORDS.iter().find(|(word, _)| *word == name).map_or(name, |(_, n)| n);
    sections().find(|(names, _)| names.contains(&name)).map(|(_, text)| text)
}

/// What people call forms that have no such keyword.
pub fn in_words() -> impl Iterator<Item = &'static str> {
    IN_WORDS.iter().map(|(word, _)| *word)
}

/// Every name of a form, in the order of the page.
pub fn names() -> impl Iterator<Item = &'static str> {
    sections().flat_map(|(names, _)| names)
}

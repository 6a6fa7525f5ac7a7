//! `remc explain`: the pages of the error codes.

use crate::codes;
use crate::report::{Outcome, fail, to_stdout, usage};

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub fn explain(code: Option<&str>) -> Outcome {
    let Some(code) = code else {
        let list: String =
            PAGES.iter().map(|(code, page)| format!("{code}  {}\n", title(code, page))).collect();
        return to_stdout(&list);
    };
    match named(code) {
        Some((_, page)) => to_stdout(page),
        None => fail(
            usage(codes::UNKNOWN_CODE, format!("there is no error code `{code}`"))
                .help("`remc explain` without a code lists them all"),
        ),
    }
}

/// The page of a code, or of its number alone: of the errors in a program if several have it.
fn named(code: &str) -> Option<&'static (&'static str, &'static str)> {
    let exact = PAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code));
    let number: Option<u32> = code.parse().ok();
    let has_number = |known: &str| number.is_some() && known.get(1..).and_then(|n| n.parse().ok()) == number;
    let mut others = PAGES.iter().filter(|(known, _)| has_number(known));
    exact.or_else(|| others.clone().find(|(known, _)| known.starts_with('E'))).or_else(|| others.next())
}

/// What a code means, as Markdown.
pub fn page(code: &str) -> Option<String> {
    PAGES.iter().find(|(known, _)| *known == code).map(|(_, page)| (*page).to_owned())
}

/// A page's heading, without the code.
fn title<'a>(code: &str, page: &'a str) -> &'a str {
    let heading = page.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    heading.strip_prefix(code).unwrap_or(heading).trim_start_matches([':', ' '])
}

/// Whether this is the code of a message.
pub fn is_code(text: &str) -> bool {
    PAGES.iter().any(|(code, _)| code.eq_ignore_ascii_case(text))
}

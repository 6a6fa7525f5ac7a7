//! What must hold of every text when it is formatted: the program and the comments stay, twice is once, and what an
//! editor asks for changes white space alone.

use crate::corpus::Corpus;
use crate::generate::{self, Grain};
use crate::lab::{Fault, FaultKind};
use crate::mutate;
use crate::rng::Rng;
use crate::tokens;
use remc_base::{Diagnostic, ModuleId};
use remc_format as format;
use std::time::{Duration, Instant};

/// A text that is laid out in a strange way.
pub fn text(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let program = match rng.below(8) {
        0 => return mutate::text(rng, corpus).1,
        1 => mutate::mutant(rng, corpus),
        2 | 3 => {
            let program = generate::program(rng.next_u64(), 24);
            program.text(Grain::ALL[rng.below(Grain::ALL.len())])
        }
        _ => tokens::join(rng.pick(&corpus.programs).map_or(&[], Vec::as_slice)),
    };
    scattered(rng, &program).into_bytes()
}

/// The text with other white space and comments between its tokens, sometimes anything, mostly little.
fn scattered(rng: &mut Rng, program: &str) -> String {
    const GAPS: &[&str] = &[
        "\n",
        "\n",
        "\n\n",
        "\n\n\n\n",
        "  ",
        "\t",
        "\n      ",
        "\r\n",
        " ; comment\n",
        "  ; ⇒ 3\n",
        "\n; own line\n",
        "\n  ; before\n\n",
        " #| block |# ",
        "\n#| of\n lines |#\n",
        " #;(not read) ",
        " #;#;a b ",
    ];
    let often = [2, 4, 12, 60][rng.below(4)];
    let mut out = String::new();
    for (i, token) in tokens::split(program).iter().enumerate() {
        if i > 0 && !token.glued {
            if out.ends_with('\n') {
            } else if rng.one_in(often * 8) {
                // A comment that goes on below.
                let column = out.chars().rev().take_while(|c| *c != '\n').count() + 1;
                out.push_str(&format!(" ; one\n{}; two\n", " ".repeat(column)));
            } else if rng.one_in(often) {
                out.push_str(GAPS[rng.below(GAPS.len())]);
            } else {
                out.push(' ');
            }
        } else if i > 0 && token.closes() && rng.one_in(often * 2) {
            out.push_str(GAPS[rng.below(GAPS.len())]);
        }
        out.push_str(&token.text);
    }
    out
}

/// A smaller text that is still `wrong`: pieces are cut out, smaller and smaller. White space matters here, so the pieces
/// are of characters, not of tokens.
pub fn smaller(text: &str, time: Duration, mut wrong: impl FnMut(&str) -> bool) -> String {
    let end = Instant::now() + time;
    let mut text: Vec<char> = text.chars().collect();
    let mut size = text.len() / 2;
    while size > 0 && Instant::now() < end {
        let mut at = 0;
        let before = text.len();
        while at < text.len() && Instant::now() < end {
            let cut: String = text[..at].iter().chain(&text[(at + size).min(text.len())..]).collect();
            if wrong(&cut) {
                text = cut.chars().collect();
            } else {
                at += size;
            }
        }
        if text.len() == before || size > 1 {
            size /= 2;
        }
    }
    text.into_iter().collect()
}

/// Formats a text, whole and in parts.
pub fn laws(text: &str, rng: &mut Rng) -> Result<(), Fault> {
    let fault = |what: &str, new: &str| {
        Err(Fault::new(FaultKind::Layout, format!("{what}\nof:\n{text}\nis:\n{new}")))
    };
    let edits = format::format_forms(text);
    let edited = format::apply(text, &edits);
    if solid(text) != solid(&edited) {
        return fault("the edits change more than white space", &edited);
    }
    let at = (0..=rng.below(text.len() + 1)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    if format::format_range(text, at..at).iter().any(|e| !edits.contains(e)) {
        return fault("a part has other edits than the whole", &edited);
    }
    let close = text[at..].find(')').map_or(at, |n| at + n + 1);
    let indented = format::apply(text, &format::reindent(text, close));
    if solid(text) != solid(&indented) {
        return fault("indentation changes more than white space", &indented);
    }
    format::new_line(text, at);
    let before = remc_syntax::parse(ModuleId(0), text, true);
    let Ok(new) = format::format(text) else {
        return match before.diagnostics.iter().any(Diagnostic::is_error) {
            true => Ok(()),
            false => fault("a text without mistakes is refused", ""),
        };
    };
    let after = remc_syntax::parse(ModuleId(0), &new, true);
    let same = before.items.len() == after.items.len()
        && before.items.iter().zip(&after.items).all(|(a, b)| a.item == b.item);
    if !same || !format::same_program(text, &new) {
        return fault("formatting changes the program", &new);
    }
    if new != edited {
        return fault("the edits give another text than formatting", &edited);
    }
    match format::format(&new) {
        Ok(again) if again == new => Ok(()),
        Ok(again) => fault("formatting twice is not formatting once", &format!("{new}\nand then:\n{again}")),
        Err(_) => fault("what is formatted does not read", &new),
    }
}

/// All characters but white space, in any order: a comment may move behind brackets.
fn solid(text: &str) -> Vec<char> {
    let mut all: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    all.sort_unstable();
    all
}

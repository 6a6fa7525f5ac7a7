//! Programs with one word exchanged: what the parser takes prints and reads back, and the verifier says
//! what it thinks of it. Nothing panics.

use crate::corpus::bodies;
use remc_mono::parse::parse_program;
use remc_mono::print::print_program;
use remc_mono::verify::verify;

#[test]
fn mutants_are_read_back_and_judged() {
    let texts = bodies();
    let (mut read, mut refused, mut state) = (0, 0, 88172645463325252u64);
    let mut random = |n: usize| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    for text in &texts {
        let spans = words(text);
        for _ in 0..60 {
            let (from, to) = spans[random(spans.len())];
            // A word of this text or of another.
            let other = if random(3) == 0 { &texts[random(texts.len())] } else { text };
            let others = words(other);
            let (a, b) = others[random(others.len())];
            let mutant = format!("{}{}{}", &text[..from], &other[a..b], &text[to..]);
            let Ok(p) = parse_program(&mutant) else { continue };
            read += 1;
            let printed = print_program(&p);
            assert_eq!(parse_program(&printed).as_ref(), Ok(&p), "{mutant}");
            refused += usize::from(verify(&p).is_err());
        }
    }
    assert!(read > 300 && refused > read / 4 && refused < read, "{refused} of {read}");
}

/// Where the words are between parentheses and spaces.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut spans = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "()".contains(c)) {
        if !word.is_empty() {
            spans.push((at, at + word.len()));
        }
        at += word.len() + 1;
    }
    spans
}

//! Texts that are nearly programs, and texts that are not at all.

use crate::corpus::Corpus;
use crate::rng::Rng;
use crate::tokens::{Token, groups, join};

/// Larger texts add time and find nothing more.
const MOST_TOKENS: usize = 4000;

/// How a text came about; part of a failure's report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Bytes,
    Soup,
    Form,
    Mutant,
    Torn,
}

/// A text for the reader and the checker.
pub fn text(rng: &mut Rng, corpus: &Corpus) -> (Origin, Vec<u8>) {
    match rng.below(20) {
        0 => (Origin::Bytes, bytes(rng)),
        1 | 2 => (Origin::Soup, soup(rng, corpus).into_bytes()),
        3..=5 => (Origin::Form, forms(rng, corpus).into_bytes()),
        6 | 7 => (Origin::Torn, torn(rng, corpus)),
        _ => (Origin::Mutant, mutant(rng, corpus).into_bytes()),
    }
}

/// Any bytes, mostly of the kinds that mean something to a lexer.
fn bytes(rng: &mut Rng) -> Vec<u8> {
    const TELLING: &[u8] = b"()[]{}~|#;:\"\\'`,@ \n\r\t0123456789.eE+-*/xif_\xce\xbb\xff\x00";
    let n = rng.below(200);
    (0..n)
        .map(|_| if rng.one_in(8) { rng.below(256) as u8 } else { TELLING[rng.below(TELLING.len())] })
        .collect()
}

/// Words and brackets in any order.
fn soup(rng: &mut Rng, corpus: &Corpus) -> String {
    let n = 1 + rng.below(60);
    let tokens: Vec<Token> =
        (0..n).map(|_| Token { text: word(rng, corpus), glued: rng.one_in(6) }).collect();
    join(&tokens)
}

fn word(rng: &mut Rng, corpus: &Corpus) -> String {
    const BRACKETS: &[&str] = &["(", ")", "[", "]", "{", "}"];
    if rng.one_in(3) {
        BRACKETS[rng.below(BRACKETS.len())].to_owned()
    } else {
        rng.pick(&corpus.words).cloned().unwrap_or_else(|| "x".to_owned())
    }
}

/// Balanced forms whose heads are keywords and prelude names, so that they get past the reader.
fn forms(rng: &mut Rng, corpus: &Corpus) -> String {
    let mut out = String::new();
    for _ in 0..1 + rng.below(3) {
        let depth = 1 + rng.below(5);
        form(rng, corpus, depth, &mut out);
        out.push('\n');
    }
    out
}

fn form(rng: &mut Rng, corpus: &Corpus, depth: usize, out: &mut String) {
    /// `_` is a hole for a form.
    const TEMPLATES: &[&str] = &[
        "(λ (x) _)",
        "(λ ([x 1] y) _)",
        "(λ ([x [t n]] [f (→ (t) t)]) _)",
        "(λ ([x all]) : [int n] _)",
        "(let ((x _)) _)",
        "(let ((x 1 _) (y _)) _)",
        "(let (((f x) _)) (f _))",
        "(if _ _ _)",
        "(cond (_ _) (else _))",
        "(unbox _ (x n) _)",
        "(box ((n _)) [int n] _)",
        "(box _)",
        "(boxes (n) [int n] [2] ((1) _) ((2) _))",
        "(lift [n _] _)",
        "(values _ _)",
        "(let-values (((x y) _)) _)",
        "(proj 0 _)",
        "(: _ [int 3])",
        "(: _ (Σ (n) [t n]))",
        "(cast float _)",
        "(as-shape [2 n] _)",
        "(reify-shape @s)",
        "(Tλ (t) _)",
        "(Tλ ((t num)) _)",
        "(Iλ (n @s) _)",
        "(t-app _ int)",
        "(i-app _ 3)",
        "(i-app _ [2 @s])",
        "(~(1 0)_ _ _)",
        "(~(all)_ _)",
        "[_ _]",
        "[_ _ _]",
        "(array [2] _ _)",
        "(frame [0 3] [int 2])",
        "(_ _)",
        "(_ _ _)",
        "(_ _ _ _)",
        "([_ _] _)",
        "(define (f x) _)",
        "(define (f{t | n @s} [x [t n @s]]) : t _)",
        "(define x _)",
        "(entry (main [x [t n]]) _)",
        "(define-type T [int _])",
        "(loop ((x _)) while _ do _)",
        "(reduce _ _)",
        "(reduce/zero _ _ _)",
        "(fold _ _ _)",
        "(iota [_])",
        "(filter _ _)",
        "(+ x _)",
    ];
    if depth == 0 || rng.one_in(5) {
        out.push_str(match rng.below(8) {
            0 | 1 => "x",
            2 => "[1 2 3]",
            3 => "n",
            4 => "1",
            _ => return out.push_str(rng.pick(&corpus.words).map_or("x", String::as_str)),
        });
        return;
    }
    let template = TEMPLATES[rng.below(TEMPLATES.len())];
    for (i, part) in template.split('_').enumerate() {
        if i > 0 {
            form(rng, corpus, depth - 1, out);
        }
        out.push_str(part);
    }
}

/// A program with some of its tokens or expressions changed.
pub fn mutant(rng: &mut Rng, corpus: &Corpus) -> String {
    let mut tokens = rng.pick(&corpus.programs).cloned().unwrap_or_default();
    // A program's definitions may meet another program.
    if rng.one_in(10) {
        tokens.extend(rng.pick(&corpus.programs).cloned().unwrap_or_default());
    }
    for _ in 0..1 + rng.below(4) {
        change(rng, corpus, &mut tokens);
        tokens.truncate(MOST_TOKENS);
    }
    join(&tokens)
}

fn change(rng: &mut Rng, corpus: &Corpus, tokens: &mut Vec<Token>) {
    let here = groups(tokens);
    let Some(group) = rng.pick(&here).cloned() else { return };
    let one = rng.below(tokens.len());
    match rng.below(12) {
        0 => drop(tokens.drain(group)),
        1 => drop(tokens.remove(one)),
        2 => {
            let copy = tokens[group.clone()].to_vec();
            tokens.splice(group.end..group.end, copy);
        }
        3 => {
            // Two expressions change places.
            let Some(other) = rng.pick(&here).cloned() else { return };
            let (a, b) = if group.start <= other.start { (group, other) } else { (other, group) };
            if a.end <= b.start {
                let (first, second) = (tokens[a.clone()].to_vec(), tokens[b.clone()].to_vec());
                tokens.splice(b, first);
                tokens.splice(a, second);
            }
        }
        4..=6 => {
            // An expression of another program, or of this one, in its place.
            let donor = match rng.below(2) {
                0 => tokens.clone(),
                _ => rng.pick(&corpus.programs).cloned().unwrap_or_default(),
            };
            let range = rng.pick(&groups(&donor)).cloned().unwrap_or(0..0);
            tokens.splice(group, donor[range].to_vec());
        }
        7 => tokens[one].text = word(rng, corpus),
        8 => tokens.insert(one, Token { text: word(rng, corpus), glued: rng.one_in(4) }),
        9 => {
            const AROUND: &[(&str, &str)] = &[
                ("(", ")"),
                ("[", "]"),
                ("(λ (x) ", ")"),
                ("(let ((x ", ")) x)"),
                ("(unbox ", " (x n) x)"),
                ("(box ", ")"),
                ("(values ", " 1)"),
                ("(: ", " int)"),
                ("(~(0 1)", ")"),
            ];
            let (before, after) = AROUND[rng.below(AROUND.len())];
            let times = if rng.one_in(20) { 1 + rng.below(300) } else { 1 };
            tokens.splice(group.end..group.end, (0..times).map(|_| Token::new(after)));
            tokens.splice(group.start..group.start, (0..times).map(|_| Token::new(before)));
        }
        10 => {
            // A number becomes another, which is where shapes disagree.
            let numbers: Vec<usize> =
                (0..tokens.len()).filter(|i| tokens[*i].text.bytes().all(|b| b.is_ascii_digit())).collect();
            if let Some(&i) = rng.pick(&numbers) {
                tokens[i].text = rng.below(6).to_string();
            }
        }
        _ => tokens[one].glued = !tokens[one].glued,
    }
}

/// A program with some of its bytes changed.
fn torn(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let mut text = join(rng.pick(&corpus.programs).map_or(&[], Vec::as_slice)).into_bytes();
    for _ in 0..1 + rng.below(3) {
        if text.is_empty() {
            break;
        }
        let at = rng.below(text.len());
        match rng.below(4) {
            0 => text.truncate(at),
            1 => drop(text.remove(at)),
            2 => text.insert(at, rng.below(256) as u8),
            _ => text[at] ^= 1 << rng.below(8),
        }
    }
    text
}

/// Text of the checked program's language with some of its tokens changed.
pub fn typed_text(rng: &mut Rng, text: &str) -> String {
    let mut tokens = crate::tokens::split(text);
    for _ in 0..1 + rng.below(3) {
        let here = groups(&tokens);
        let (Some(a), Some(b)) = (rng.pick(&here).cloned(), rng.pick(&here).cloned()) else { break };
        match rng.below(4) {
            0 => drop(tokens.drain(a)),
            1 => {
                let copy = tokens[b].to_vec();
                tokens.splice(a, copy);
            }
            2 => {
                let numbers: Vec<usize> = (0..tokens.len())
                    .filter(|i| tokens[*i].text.bytes().all(|b| b.is_ascii_digit()))
                    .collect();
                if let Some(&i) = rng.pick(&numbers) {
                    let bits = rng.below(40);
                    tokens[i].text = rng.below(1 << bits).to_string();
                }
            }
            _ => {
                let copy = tokens[a.clone()].to_vec();
                tokens.splice(a.end..a.end, copy);
            }
        }
        tokens.truncate(MOST_TOKENS);
    }
    join(&tokens)
}

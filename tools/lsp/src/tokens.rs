//! Semantic tokens as the protocol has them: numbers, each token relative to the one before.

use crate::text::{Encoding, Text};
use gen_lsp_types::{SemanticToken, SemanticTokensEdit};
use remc_ide::{Token, TokenKind};

/// The kinds of tokens, by their numbers.
pub const TYPES: [&str; 11] = [
    "keyword",
    "function",
    "parameter",
    "variable",
    "type",
    "typeParameter",
    "property",
    "string",
    "number",
    "operator",
    "comment",
];

/// What more is said of a token, by bits.
pub const MODIFIERS: [&str; 2] = ["declaration", "defaultLibrary"];

fn number(kind: TokenKind) -> u32 {
    match kind {
        TokenKind::Keyword => 0,
        TokenKind::Function => 1,
        TokenKind::Parameter => 2,
        TokenKind::Variable => 3,
        TokenKind::Type => 4,
        TokenKind::TypeParameter => 5,
        TokenKind::Property => 6,
        TokenKind::String => 7,
        TokenKind::Number => 8,
        TokenKind::Operator => 9,
        TokenKind::Comment => 10,
    }
}

/// The tokens of a text, in its order, with one of several lines as one for each of them.
pub fn encode(tokens: &[Token], text: &Text, encoding: Encoding) -> Vec<SemanticToken> {
    let mut out = Vec::with_capacity(tokens.len());
    let (mut line, mut column) = (0, 0);
    for token in tokens {
        let bits = u32::from(token.declaration) | u32::from(token.prelude) << 1;
        let Some(whole) = text.as_str().get(token.span.start as usize..token.span.end as usize) else {
            continue;
        };
        let mut start = token.span.start;
        for part in whole.split_inclusive('\n') {
            let inside = part.trim_end_matches(['\n', '\r']);
            let at = text.position(start, encoding);
            start += part.len() as u32;
            let length = encoding.columns(inside);
            if length == 0 || (at.line, at.character) < (line, column) {
                continue;
            }
            let delta_start = if at.line == line { at.character - column } else { at.character };
            out.push(SemanticToken {
                delta_line: at.line - line,
                delta_start,
                length,
                token_type: number(token.kind),
                token_modifiers_bitset: bits,
            });
            (line, column) = (at.line, at.character);
        }
    }
    out
}

/// The edit that makes some tokens others: what is between the first and the last number that differ.
pub fn delta(old: &[SemanticToken], new: &[SemanticToken]) -> Vec<SemanticTokensEdit> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (removed, added) = (old.len() - tail, &new[..new.len() - tail]);
    if removed == 0 && added.is_empty() {
        return Vec::new();
    }
    let numbers =
        |t: &SemanticToken| [t.delta_line, t.delta_start, t.length, t.token_type, t.token_modifiers_bitset];
    vec![SemanticTokensEdit {
        start: head as u32 * 5,
        delete_count: removed as u32 * 5,
        data: Some(added.iter().flat_map(numbers).collect()),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use remc_base::{ModuleId, Span};

    fn token(start: u32, end: u32, kind: TokenKind) -> Token {
        let span = Span { module: ModuleId(0), start, end };
        Token { span, kind, declaration: kind == TokenKind::Function, prelude: false }
    }

    #[test]
    fn tokens_are_relative_and_of_one_line() {
        let text = Text::new("(λ 𝄞)\n\"a\r\nb\" c".to_owned());
        let tokens = [
            token(1, 3, TokenKind::Keyword),
            token(4, 8, TokenKind::Function),
            token(10, 16, TokenKind::String),
            token(17, 18, TokenKind::Variable),
        ];
        let numbers: Vec<[u32; 5]> = encode(&tokens, &text, Encoding::Utf16)
            .iter()
            .map(|t| [t.delta_line, t.delta_start, t.length, t.token_type, t.token_modifiers_bitset])
            .collect();
        assert_eq!(
            numbers,
            [[0, 1, 1, 0, 0], [0, 2, 2, 1, 1], [1, 0, 2, 7, 0], [1, 0, 2, 7, 0], [0, 3, 1, 3, 0]]
        );
    }

    #[test]
    fn a_delta_makes_the_old_the_new() {
        let of = |kinds: &[u32]| -> Vec<SemanticToken> {
            kinds.iter().map(|k| SemanticToken { token_type: *k, ..Default::default() }).collect()
        };
        for (a, b) in
            [(&[1, 2, 3][..], &[1, 4, 5, 3][..]), (&[], &[1]), (&[1, 1], &[1]), (&[1], &[1]), (&[1, 2], &[])]
        {
            let (old, new) = (of(a), of(b));
            let flat = |all: &[SemanticToken]| -> Vec<u32> {
                all.iter().flat_map(|t| [t.delta_line, t.delta_start, t.length, t.token_type, 0]).collect()
            };
            let mut made = flat(&old);
            for edit in delta(&old, &new) {
                let range = edit.start as usize..(edit.start + edit.delete_count) as usize;
                made.splice(range, edit.data.unwrap_or_default());
            }
            assert_eq!(made, flat(&new), "{a:?} {b:?}");
        }
    }
}

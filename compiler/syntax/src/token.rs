//! Tokens, with the trivia between them.
//!
//! The tokens and trivia of a text cover it exactly, in order: joining the bytes of all spans gives the
//! text back. That is what a formatter works on; the parser sees the tokens alone.

use crate::ast::{FloatBits, Suffix};
use remc_base::Name;
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bracket {
    Round,
    Square,
    Curly,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TokenKind {
    Open(Bracket),
    Close(Bracket),
    /// `|`, between the types and the indices of braces.
    Bar,
    /// `~` directly before a bracket.
    Tilde,
    /// `#;`: the datum that follows is a comment.
    DatumComment,
    /// In normalisation form C; the spellings of one keyword (`fn`, `lambda`, `λ`) are one name.
    Name(Name),
    Int {
        value: i128,
        suffix: Suffix,
    },
    Float {
        value: FloatBits,
        suffix: Suffix,
    },
    Bool(bool),
    Char(char),
    Str(String),
    /// A literal or name that is wrong, and has been reported.
    Error,
    /// Characters that mean nothing and have been reported; the parser does not see them.
    Unknown,
    /// The end of the text; its trivia are what follows the last token.
    End,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    /// Bytes of the text.
    pub start: u32,
    pub end: u32,
    /// The trivia before the token: a range of [`Tokens::trivia`].
    pub trivia: Range<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriviaKind {
    /// Spaces and line ends; also a byte order mark at the start of the text.
    Space,
    /// `; …` up to the line end, exclusive; also `#! …` in the first line.
    LineComment,
    /// `#| … |#`
    BlockComment,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trivia {
    pub kind: TriviaKind,
    pub start: u32,
    pub end: u32,
}

/// All tokens of a text, the last being [`TokenKind::End`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tokens {
    pub tokens: Vec<Token>,
    pub trivia: Vec<Trivia>,
}

impl Bracket {
    pub fn open(self) -> char {
        match self {
            Bracket::Round => '(',
            Bracket::Square => '[',
            Bracket::Curly => '{',
        }
    }

    pub fn close(self) -> char {
        match self {
            Bracket::Round => ')',
            Bracket::Square => ']',
            Bracket::Curly => '}',
        }
    }
}

impl Token {
    /// Nothing stands between this token and the one before.
    pub fn is_glued(&self) -> bool {
        self.trivia.is_empty() && self.start > 0
    }
}

impl Tokens {
    pub fn trivia_of(&self, token: &Token) -> &[Trivia] {
        self.trivia.get(token.trivia.start as usize..token.trivia.end as usize).unwrap_or(&[])
    }
}

//! Where in the forms of a text a place is, by its tokens alone: the answer is there whatever else is wrong with the text.

use remc_syntax::forms::{SPELLINGS, TYPE_HEADS, form};
use remc_syntax::token::{Bracket, Token, TokenKind, Tokens, TriviaKind};

/// An open bracket around a place.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    pub bracket: Bracket,
    /// The first byte behind the bracket.
    pub start: u32,
    /// The name directly behind it, keywords in their Greek spelling.
    pub head: Option<String>,
    /// The bytes of the head.
    pub head_at: (u32, u32),
    /// How many data stand in it before the place, the head included; the one that the place is in counts not.
    pub before: usize,
    /// Whether a `:` stands directly before the datum at the place.
    pub after_colon: bool,
}

/// What may be written at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A function or a form: the first in parentheses.
    Head,
    Expression,
    Type,
    /// The size in a type, or an index.
    Index,
    /// A field of a record.
    Label,
    /// The path of an import.
    Path,
    /// A name that is bound here, a comment, a string: nothing that is there already.
    Nothing,
}

/// The surroundings of a place.
#[derive(Clone, PartialEq, Debug)]
pub struct Context {
    /// Innermost last.
    pub frames: Vec<Frame>,
    /// The word that is typed: its first byte and the last of it. Empty at the place, if there is none.
    pub word: (u32, u32),
    pub wanted: Wanted,
}

impl Context {
    pub fn at(text: &str, tokens: &Tokens, offset: u32) -> Context {
        let mut frames: Vec<Frame> = Vec::new();
        let mut word = (offset, offset);
        let mut path = None;
        let mut closed_string = None;
        for (k, t) in tokens.tokens.iter().enumerate() {
            if t.start >= offset || t.kind == TokenKind::End {
                break;
            }
            let here = t.end >= offset;
            match &t.kind {
                TokenKind::Open(bracket) => {
                    let (head, head_at) = head(&tokens.tokens, k);
                    frames.push(Frame {
                        bracket: *bracket,
                        start: t.end,
                        head,
                        head_at,
                        before: 0,
                        after_colon: false,
                    });
                }
                TokenKind::Close(bracket)
                    if let Some(at) = frames.iter().rposition(|f| f.bracket == *bracket) =>
                {
                    frames.truncate(at);
                    if let Some(f) = frames.last_mut() {
                        f.before += 1;
                        f.after_colon = false;
                    }
                }
                // A comment of a datum, `~(1)` before a function: no data of their own.
                TokenKind::Close(_) | TokenKind::Tilde | TokenKind::DatumComment | TokenKind::Bar => {}
                TokenKind::Str(_) if here && (t.end > offset || !closes(text, t)) => {
                    path = Some((t.start + 1, if closes(text, t) { t.end - 1 } else { t.end }));
                }
                _ if here && is_word(&t.kind) => word = (t.start, t.end),
                kind => {
                    if here && matches!(kind, TokenKind::Str(_) | TokenKind::Char(_)) {
                        closed_string = Some(());
                    }
                    if let Some(f) = frames.last_mut() {
                        let colon = matches!(kind, TokenKind::Name(n) if n.as_str() == ":");
                        f.after_colon = colon && f.before > 0;
                        f.before += usize::from(!colon || f.before == 0);
                    }
                }
            }
        }
        let comment = |kind, end: u32| match kind {
            TriviaKind::Space => false,
            TriviaKind::LineComment => offset <= end,
            TriviaKind::BlockComment => offset < end,
        };
        let in_comment = tokens.trivia.iter().any(|t| t.start < offset && comment(t.kind, t.end));
        let wanted = match path {
            _ if in_comment || closed_string.is_some() => Wanted::Nothing,
            Some(at) => {
                let import = frames.last().is_some_and(|f| f.head.as_deref() == Some("import"));
                if import {
                    word = at;
                }
                if import { Wanted::Path } else { Wanted::Nothing }
            }
            None => wanted(&frames),
        };
        Context { frames, word, wanted }
    }

    /// The innermost application around the place.
    pub fn application(&self) -> Option<&Frame> {
        for f in self.frames.iter().rev() {
            match (&f.head, f.bracket) {
                (_, Bracket::Square | Bracket::Curly) => continue,
                (Some(head), _) if form(head).is_some() || TYPE_HEADS.contains(&head.as_str()) => {
                    return None;
                }
                (Some(_), _) => return Some(f),
                (None, _) => return None,
            }
        }
        None
    }
}

fn is_word(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Name(_) | TokenKind::Int { .. } | TokenKind::Error | TokenKind::Bool(_))
}

/// Whether a string has its end.
fn closes(text: &str, t: &Token) -> bool {
    t.end - t.start >= 2 && text.as_bytes().get(t.end as usize - 1) == Some(&b'"')
}

/// The name behind the bracket that is token `k`: one in braces, as in `f{int | 3}`, is the name before them.
fn head(tokens: &[Token], k: usize) -> (Option<String>, (u32, u32)) {
    let mut next = k + 1;
    // `(~(1)f …)`
    if tokens.get(next).is_some_and(|t| t.kind == TokenKind::Tilde) {
        let close = tokens[next..].iter().position(|t| matches!(t.kind, TokenKind::Close(_)));
        next = close.map_or(next, |n| next + n + 1);
    }
    let Some(token) = tokens.get(next) else { return (None, (0, 0)) };
    let TokenKind::Name(name) = &token.kind else { return (None, (0, 0)) };

    let spelt = SPELLINGS.iter().find(|(s, _)| *s == name.as_str()).map_or(name.as_str(), |(_, n)| n);
    (Some(spelt.to_owned()), (token.start, token.end))
}

fn wanted(frames: &[Frame]) -> Wanted {
    let Some((f, around)) = frames.split_last() else { return Wanted::Expression };
    if f.after_colon {
        return Wanted::Type;
    }
    // Nothing before it in parentheses: a head, unless what is around says otherwise.
    let parent = around.last();
    let parent_head = parent.and_then(|p| p.head.as_deref()).unwrap_or_default();
    let parent_before = parent.map_or(0, |p| p.before);
    let head = f.head.as_deref().unwrap_or_default();
    let binds = |frames: &[Frame]| -> bool {
        let Some((list, outer)) = frames.split_last() else { return false };
        let outer_head = outer.last().and_then(|o| o.head.as_deref()).unwrap_or_default();
        let outer_before = outer.last().map_or(0, |o| o.before);
        list.bracket != Bracket::Curly
            && outer_before == 1
            && matches!(outer_head, "define" | "entry" | "λ" | "let" | "let*" | "let-values" | "loop")
    };
    match (f.bracket, head) {
        // The head of a definition, the parameters of a function, the bindings of a `let`.
        _ if binds(frames) => Wanted::Nothing,
        // One parameter or binding in these.
        (_, _) if binds(around) => match (parent_of(around), f.before) {
            (_, 0) => Wanted::Nothing,
            ("define" | "entry" | "λ", _) => Wanted::Type,
            _ => Wanted::Expression,
        },
        (
            Bracket::Round,
            "define" | "entry" | "define-type" | "λ" | "let" | "let*" | "let-values" | "loop",
        ) if f.before == 1 => Wanted::Nothing,
        (Bracket::Round, "define-type") => Wanted::Type,
        (Bracket::Round, ":") if f.before == 2 => Wanted::Type,
        (Bracket::Round, "Σ" | "Π" | "∀") if f.before == 1 => Wanted::Nothing,
        (Bracket::Round, "cast" | "t-app") if f.before >= 1 => {
            if head == "t-app" && f.before == 1 {
                Wanted::Expression
            } else {
                Wanted::Type
            }
        }
        (Bracket::Round, "reify-dimension" | "reify-shape" | "shape" | "++") if f.before >= 1 => {
            Wanted::Index
        }
        (Bracket::Round, "field") if f.before == 2 => Wanted::Label,
        (Bracket::Round, "A" | "Arr") => {
            if f.before <= 1 {
                Wanted::Type
            } else {
                Wanted::Index
            }
        }
        (Bracket::Round, _) if TYPE_HEADS.contains(&head) && f.before >= 1 => Wanted::Type,
        // `[int n]`, inside of a type.
        (Bracket::Square, _) if is_type(around) => {
            if f.before == 0 {
                Wanted::Type
            } else {
                Wanted::Index
            }
        }
        // `f{int | 3}`
        (Bracket::Curly, _) => Wanted::Type,
        (Bracket::Round, _) if parent_head == "with" && parent_before >= 2 && f.before == 0 => Wanted::Label,
        (Bracket::Round, _) if f.before == 0 => match is_type(around) {
            true => Wanted::Type,
            false => Wanted::Head,
        },
        _ => Wanted::Expression,
    }
}

fn parent_of(frames: &[Frame]) -> &str {
    frames.iter().rev().nth(1).and_then(|f| f.head.as_deref()).unwrap_or_default()
}

/// Whether a place in these brackets is inside of a type.
fn is_type(frames: &[Frame]) -> bool {
    !frames.is_empty() && matches!(wanted(frames), Wanted::Type)
}

//! Pieces to s-expressions, with chumsky.
//!
//! ```text
//! datum  ::= ~(r …) datum | basic braces*
//! basic  ::= atom | ( item* ) | [ item* ]
//! braces ::= { item* | item* }
//! item   ::= datum | #; datum
//! ```
//!
//! The pieces are balanced, and each rule accepts what it can be given: what is missing or too much
//! (a bar, what follows a prefix) is reported while the parse goes on. The grammar therefore never
//! fails, and chumsky does not backtrack over more than one piece.

use crate::ast::{FloatBits, Suffix};
use crate::balance::{Piece, PieceKind};
use crate::codes;
use crate::report::Reports;
use crate::token::{Bracket, TokenKind};
use chumsky::error::LabelError;
use chumsky::input::MapExtra;
use chumsky::prelude::*;
use remc_base::{Code, Diagnostic, ModuleId, Name, Span};

#[derive(Clone, PartialEq, Debug)]
pub struct Sexpr {
    pub kind: SexprKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SexprKind {
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
    /// `( … )`
    List(Vec<Sexpr>),
    /// `[ … ]`
    Bracket(Vec<Sexpr>),
    /// `head{ types | indices }`
    Braces {
        head: Box<Sexpr>,
        types: Vec<Sexpr>,
        indices: Vec<Sexpr>,
    },
    /// `~(ranks)func`
    Rerank {
        ranks: Vec<Sexpr>,
        func: Box<Sexpr>,
    },
    /// Reported already.
    Error,
}

/// The s-expressions of a text.
pub(crate) fn read(module: ModuleId, pieces: &[Piece<'_>], reports: &mut Reports) -> Vec<Sexpr> {
    let (data, errors) = parser(module).parse(pieces).into_output_errors();
    for error in errors {
        reports.push(error.into_diagnostic(module, pieces));
    }
    data.unwrap_or_default()
}

/// An error of this stage, at a range of bytes.
#[derive(Clone, Debug)]
enum ReadError {
    At(Problem, Span),
    /// The grammar failed at this piece, which it should not.
    Grammar(usize),
}

#[derive(Clone, Copy, Debug)]
enum Problem {
    NoBar,
    TwoBars,
    SpaceBeforeBraces,
    NothingBeforeBraces,
    StrayBar,
    NothingAfterRerank,
    NothingAfterDatumComment,
}

impl Problem {
    /// Code, message, label, help.
    fn text(self) -> (Code, &'static str, &'static str, &'static str) {
        match self {
            Problem::NoBar => (
                codes::BRACES_BAR,
                "these braces have no `|`",
                "types and indices are not told apart",
                "write types before the bar and indices after it: `f{int | 3}`, `f{int |}`, `f{| 3}`",
            ),
            Problem::TwoBars => (
                codes::BRACES_BAR,
                "these braces have more than one `|`",
                "one bar too many",
                "one bar separates the types from the indices: `f{int bool | 3 [2 2]}`",
            ),
            Problem::SpaceBeforeBraces => (
                codes::BRACES_PLACE,
                "there is a space before `{`",
                "braces belong directly to what they apply to",
                "remove the space: `f{int | 3}`",
            ),
            Problem::NothingBeforeBraces => (
                codes::BRACES_PLACE,
                "these braces apply to nothing",
                "expected a function directly before `{`",
                "write `f{int | 3}`; braces give types and indices to a function",
            ),
            Problem::StrayBar => (
                codes::BRACES_PLACE,
                "unexpected `|`",
                "a bar has a meaning inside braces alone",
                "`f{int | 3}` separates types from indices; the logical operator is `or`",
            ),
            Problem::NothingAfterRerank => (
                codes::NOTHING_AFTER,
                "this rerank applies to nothing",
                "expected a function after it",
                "write `~(0 1)f`, or `(~(0 1)f x y)`",
            ),
            Problem::NothingAfterDatumComment => (
                codes::NOTHING_AFTER,
                "`#;` has nothing to make a comment of",
                "expected an expression after it",
                "remove it, or use `;` for a comment up to the end of the line",
            ),
        }
    }
}

impl ReadError {
    fn into_diagnostic(self, module: ModuleId, pieces: &[Piece<'_>]) -> Diagnostic<Span> {
        match self {
            ReadError::At(problem, span) => {
                let (code, message, label, help) = problem.text();
                Diagnostic::error(code, message).primary(span, label).help(help)
            }
            ReadError::Grammar(at) => {
                let (start, end) =
                    pieces.get(at).or(pieces.last()).map_or((0, 0), |p| (p.start as usize, p.end as usize));
                Diagnostic::error(codes::MALFORMED, "the reader cannot make sense of this")
                    .primary(Span::new(module, start, end), "here")
                    .help("this is a mistake in the compiler: please report it")
            }
        }
    }
}

type In<'s, 'a> = &'s [Piece<'a>];
type Extra<'s> = extra::Err<ReadError>;
type Here<'s, 'a, 'e> = MapExtra<'s, 'e, In<'s, 'a>, Extra<'s>>;

impl<'s, 'a> chumsky::error::Error<'s, In<'s, 'a>> for ReadError {}

impl<'s, 'a, L> LabelError<'s, In<'s, 'a>, L> for ReadError {
    fn expected_found<E: IntoIterator<Item = L>>(
        _expected: E,
        _found: Option<chumsky::util::MaybeRef<'s, Piece<'a>>>,
        span: SimpleSpan<usize>,
    ) -> Self {
        ReadError::Grammar(span.start)
    }
}

/// The bytes that the current rule has matched.
fn here(module: ModuleId, e: &mut Here<'_, '_, '_>) -> Span {
    let pieces = e.slice();
    match (pieces.first(), pieces.last()) {
        (Some(a), Some(b)) => Span::new(module, a.start as usize, b.end as usize),
        _ => Span::new(module, 0, 0),
    }
}

/// The contents of braces, cut at the bars.
struct Braces {
    parts: Vec<Vec<Sexpr>>,
    glued: bool,
    span: Span,
}

fn parser<'s, 'a: 's>(module: ModuleId) -> impl Parser<'s, In<'s, 'a>, Vec<Sexpr>, Extra<'s>> {
    let open = |bracket: Bracket| {
        any().filter(move |p: &Piece<'a>| matches!(p.kind, PieceKind::Open(b) if b == bracket))
    };
    let close = any().filter(|p: &Piece<'a>| matches!(p.kind, PieceKind::Close)).ignored();
    let bar = any().filter(|p: &Piece<'a>| matches!(p.kind, PieceKind::Bar)).ignored();
    let tilde = any().filter(|p: &Piece<'a>| matches!(p.kind, PieceKind::Tilde)).ignored();
    let datum_comment = any().filter(|p: &Piece<'a>| matches!(p.kind, PieceKind::DatumComment)).ignored();

    let mut datum = Recursive::declare();

    // `#; datum`: nothing, or an error node where there is no datum.
    let comment = recursive(|comment| {
        datum_comment
            .map_with(move |(), e| here(module, e))
            .then_ignore(comment.repeated())
            .then(datum.clone().or_not())
            .validate(|(span, commented): (Span, Option<Sexpr>), _, emitter| {
                if commented.is_some() {
                    return None;
                }
                emitter.emit(ReadError::At(Problem::NothingAfterDatumComment, span));
                Some(Sexpr { kind: SexprKind::Error, span })
            })
    })
    .boxed();

    let item = choice((datum.clone().map(Some), comment.clone()));
    let stray_bar = bar.map_with(move |(), e| here(module, e)).validate(|span, _, emitter| {
        emitter.emit(ReadError::At(Problem::StrayBar, span));
        Some(Sexpr { kind: SexprKind::Error, span })
    });
    let items = choice((item.clone(), stray_bar))
        .repeated()
        .collect::<Vec<Option<Sexpr>>>()
        .map(|items| items.into_iter().flatten().collect::<Vec<_>>())
        .boxed();

    let atom = any()
        .filter(|p: &Piece<'a>| matches!(p.kind, PieceKind::Atom(_)))
        .map_with(move |p: Piece<'a>, e| Sexpr { kind: atom_kind(&p.kind), span: here(module, e) });
    let list = items
        .clone()
        .delimited_by(open(Bracket::Round), close)
        .map_with(move |items, e| Sexpr { kind: SexprKind::List(items), span: here(module, e) });
    let bracket = items
        .clone()
        .delimited_by(open(Bracket::Square), close)
        .map_with(move |items, e| Sexpr { kind: SexprKind::Bracket(items), span: here(module, e) });

    let part = item
        .clone()
        .repeated()
        .collect::<Vec<_>>()
        .map(|items: Vec<Option<Sexpr>>| items.into_iter().flatten().collect::<Vec<Sexpr>>());
    let braces = open(Bracket::Curly)
        .then(part.separated_by(bar).at_least(1).collect::<Vec<_>>())
        .then_ignore(close)
        .map_with(move |(opener, parts): (Piece<'a>, _), e| Braces {
            parts,
            glued: opener.glued,
            span: here(module, e),
        })
        .boxed();
    // Braces without anything before them.
    let lone_braces = braces.clone().validate(|braces: Braces, _, emitter| {
        emitter.emit(ReadError::At(Problem::NothingBeforeBraces, braces.span));
        Sexpr { kind: SexprKind::Error, span: braces.span }
    });

    let applied = choice((atom, list, bracket, lone_braces)).foldl_with(
        braces
            .validate(|braces: Braces, _, emitter| {
                if !braces.glued {
                    emitter.emit(ReadError::At(Problem::SpaceBeforeBraces, braces.span));
                }
                match braces.parts.len() {
                    1 => emitter.emit(ReadError::At(Problem::NoBar, braces.span)),
                    2 => {}
                    _ => emitter.emit(ReadError::At(Problem::TwoBars, braces.span)),
                }
                braces
            })
            .repeated(),
        |head: Sexpr, braces: Braces, _| apply(head, braces),
    );

    let rerank = tilde
        .ignore_then(choice((
            items.clone().delimited_by(open(Bracket::Round), close),
            items.clone().delimited_by(open(Bracket::Square), close),
        )))
        .map_with(move |ranks, e| (ranks, here(module, e)))
        .then_ignore(comment.repeated())
        .then(datum.clone().or_not())
        .validate(|((ranks, span), func): ((Vec<Sexpr>, Span), Option<Sexpr>), _, emitter| {
            let Some(func) = func else {
                emitter.emit(ReadError::At(Problem::NothingAfterRerank, span));
                return Sexpr { kind: SexprKind::Error, span };
            };
            let span = span.to(func.span);
            Sexpr { kind: SexprKind::Rerank { ranks, func: Box::new(func) }, span }
        });

    datum.define(choice((rerank, applied)));
    items.then_ignore(end())
}

fn apply(head: Sexpr, braces: Braces) -> Sexpr {
    let span = head.span.to(braces.span);
    let usable = braces.glued && braces.parts.len() == 2 && !head.is_error();
    let mut parts = braces.parts.into_iter();
    match (usable, parts.next(), parts.next()) {
        (true, Some(types), Some(indices)) => {
            Sexpr { kind: SexprKind::Braces { head: Box::new(head), types, indices }, span }
        }
        _ => Sexpr { kind: SexprKind::Error, span },
    }
}

fn atom_kind(piece: &PieceKind<'_>) -> SexprKind {
    let PieceKind::Atom(token) = piece else { return SexprKind::Error };
    match token {
        TokenKind::Name(n) => SexprKind::Name(n.clone()),
        TokenKind::Int { value, suffix } => SexprKind::Int { value: *value, suffix: *suffix },
        TokenKind::Float { value, suffix } => SexprKind::Float { value: *value, suffix: *suffix },
        TokenKind::Bool(b) => SexprKind::Bool(*b),
        TokenKind::Char(c) => SexprKind::Char(*c),
        TokenKind::Str(s) => SexprKind::Str(s.clone()),
        _ => SexprKind::Error,
    }
}

impl Sexpr {
    /// What this is, for messages.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            SexprKind::Name(n) => format!("the name `{n}`"),
            SexprKind::Int { value, .. } => format!("the number {value}"),
            SexprKind::Float { value, .. } => format!("the number {:?}", value.value()),
            SexprKind::Bool(b) => format!("the boolean `{}`", if *b { "#t" } else { "#f" }),
            SexprKind::Char(_) => "a character".into(),
            SexprKind::Str(_) => "a string".into(),
            SexprKind::List(items) => match items.first().map(|i| &i.kind) {
                Some(SexprKind::Name(n)) => format!("`({n} …)`"),
                Some(_) => "a form in parentheses".into(),
                None => "`()`".into(),
            },
            SexprKind::Bracket(items) if items.is_empty() => "`[]`".into(),
            SexprKind::Bracket(_) => "a form in brackets".into(),
            SexprKind::Braces { .. } => "an application to types and indices".into(),
            SexprKind::Rerank { .. } => "a rerank".into(),
            SexprKind::Error => "something unreadable".into(),
        }
    }

    pub(crate) fn as_name(&self) -> Option<&Name> {
        match &self.kind {
            SexprKind::Name(n) => Some(n),
            _ => None,
        }
    }

    /// Whether this is exactly the name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.as_name().is_some_and(|n| n.as_str() == name)
    }

    /// The parts, where `( )` and `[ ]` are both accepted: in places that bind.
    pub(crate) fn group(&self) -> Option<&[Sexpr]> {
        match &self.kind {
            SexprKind::List(items) | SexprKind::Bracket(items) => Some(items),
            _ => None,
        }
    }

    /// The name that a form in parentheses begins with.
    pub(crate) fn head(&self) -> Option<&str> {
        match &self.kind {
            SexprKind::List(items) => items.first().and_then(Sexpr::as_name).map(Name::as_str),
            _ => None,
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        self.kind == SexprKind::Error
    }
}

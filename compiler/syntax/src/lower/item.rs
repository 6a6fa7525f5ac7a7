//! Top-level forms.

use super::*;
use crate::token::Tokens;

/// Lowers one top-level form. `guessed`: closing brackets are missing in it, which has been reported;
/// it keeps its name, so that its uses elsewhere are no errors, and nothing else.
pub(crate) fn item(s: &Sexpr, prelude: bool, guessed: bool, reports: &mut Reports) -> (Item, SourceMap) {
    let muted = std::mem::replace(&mut reports.muted, guessed);
    let mut lowering = lowering(prelude, reports);
    let id = lowering.node(s.span);
    let mut kind = lowering.item_kind(s);
    if guessed {
        kind = match kind {
            ItemKind::Define { name, ty, .. } => {
                ItemKind::Define { name, ty, value: lowering.error_expr(s.span) }
            }
            ItemKind::Entry { name, .. } => ItemKind::Entry { name, value: lowering.error_expr(s.span) },
            _ => ItemKind::Error,
        };
    }
    let spans = lowering.spans;
    reports.muted = muted;
    (Item { id, kind }, SourceMap { spans, item: Some(s.span) })
}

impl Lowering<'_> {
    fn item_kind(&mut self, s: &Sexpr) -> ItemKind {
        let (SexprKind::List(list), Some(form)) = (&s.kind, s.head().and_then(form)) else {
            return if s.is_error() { ItemKind::Error } else { ItemKind::Expr(self.expr(s)) };
        };
        let parts = list.get(1..).unwrap_or_default();
        match form.keyword {
            "define" => match self.definition(form, s.span, parts) {
                Some(d) => ItemKind::Define { name: d.name, ty: d.ty, value: d.value },
                None => ItemKind::Error,
            },
            "entry" => match self.definition(form, s.span, parts) {
                Some(d) => ItemKind::Entry { name: d.name, value: d.value },
                None => ItemKind::Error,
            },
            "define-type" => match parts {
                [name, ty] => {
                    let name = self.bound(name, "a type");
                    ItemKind::DefineType { name, ty: self.ty(ty) }
                }
                _ => {
                    self.wrong_count(form, s.span, parts, 2, 2);
                    ItemKind::Error
                }
            },
            "import" => match parts {
                [Sexpr { kind: SexprKind::Str(path), .. }] => ItemKind::Import { path: path.clone() },
                [other] => {
                    self.unexpected(form, other, "the name of a file in quotes");
                    ItemKind::Error
                }
                _ => {
                    self.wrong_count(form, s.span, parts, 1, 1);
                    ItemKind::Error
                }
            },
            "primitive" if self.prelude => self.primitive(form, s.span, parts),
            "primitive" => {
                self.error(
                    codes::PRIMITIVE,
                    "`primitive` belongs to the prelude",
                    s.span,
                    "a program cannot declare primitives",
                    "define the function in the language itself: `(define (f p …) e)`",
                );
                ItemKind::Error
            }
            _ => ItemKind::Expr(self.expr(s)),
        }
    }

    fn primitive(&mut self, form: &Form, whole: Span, parts: &[Sexpr]) -> ItemKind {
        let [head, colon, ret] = parts else {
            self.wrong_count(form, whole, parts, 3, 3);
            return ItemKind::Error;
        };
        let (Some((first, params)), true) = (head.group().and_then(<[Sexpr]>::split_first), colon.is(":"))
        else {
            self.malformed(form, head.span.to(colon.span), "expected a head in parentheses and a colon");
            return ItemKind::Error;
        };
        let (name, types, indices): (_, &[Sexpr], &[Sexpr]) = match &first.kind {
            SexprKind::Braces { head, types, indices } => (&**head, types, indices),
            _ => (first, &[], &[]),
        };
        let name = self.bound(name, "a primitive");
        let tparams = self.type_params(types);
        let mut iparams = Vec::with_capacity(indices.len());
        for s in indices {
            iparams.push(match (&s.kind, s.head()) {
                (SexprKind::List(list), Some("=")) => match list.as_slice() {
                    [_, p, q] => PrimitiveIndex::Equal(self.index(p), self.index(q)),
                    _ => {
                        self.malformed(form, s.span, "expected `(= p q)`");
                        continue;
                    }
                },
                _ => PrimitiveIndex::Param(self.index_param(s)),
            });
        }
        let params = self.params(form, params);
        ItemKind::Primitive { name, tparams, iparams, params, ret: self.ty(ret) }
    }
}

/// The comments directly above the token at byte `at`, without their marks: full lines, with no empty
/// line between, or one block comment.
pub(crate) fn doc(text: &str, tokens: &Tokens, at: u32) -> Option<String> {
    use crate::token::TriviaKind;
    let index = tokens.tokens.binary_search_by_key(&at, |t| t.start).ok()?;
    let trivia = tokens.trivia_of(&tokens.tokens[index]);
    let slice = |t: &crate::token::Trivia| &text[t.start as usize..t.end as usize];
    let mut lines: Vec<&str> = Vec::new();
    for (i, piece) in trivia.iter().enumerate().rev() {
        let body = slice(piece);
        match piece.kind {
            TriviaKind::Space if body.matches('\n').count() > 1 => break,
            TriviaKind::Space => {}
            // A comment that shares its line with the form before belongs to that form.
            _ if index > 0 && !trivia[..i].iter().any(|t| slice(t).contains('\n')) => break,
            TriviaKind::LineComment if body.starts_with("#!") => break,
            TriviaKind::LineComment => lines.push(body.trim_start_matches(';')),
            TriviaKind::BlockComment => {
                if lines.is_empty() {
                    lines.extend(body.trim_start_matches("#|").trim_end_matches("|#").trim().lines().rev());
                }
                break;
            }
        }
    }
    if lines.is_empty() {
        return None;
    }
    let lines: Vec<_> = lines.iter().rev().map(|l| l.strip_prefix(' ').unwrap_or(l).trim_end()).collect();
    Some(lines.join("\n"))
}

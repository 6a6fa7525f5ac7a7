//! What comments say of values: `; ⇒ 3` behind an expression, and examples above a definition.
//!
//! ```text
//! (iota [2 3])         ; ⇒ [[0 1 2] [3 4 5]]        behind a form, or on the line below it
//! (+ 1 #t)             ; ⇒ error E0402              the form is refused, or stops, with this code
//! (iota [1000])        ; ⇒ [0 1 2 …]                the rest may be anything
//! (mean xs)            ; ⇒                          to be filled in
//!
//! ; One more.
//! ; (next 1) ⇒ 2                                    in the comment directly above a definition
//! (define (next x) (+ x 1))
//! ```
//!
//! `=>` is as good as `⇒`. A value that is longer than its line goes on in the comments below as long as its brackets are
//! open. This is the one reader of such comments: of the book's programs, of `remc test`, of editors.
//!
//! An example is an expression in a comment. [`uncommented`] makes it one in the text, in the same place: what is said about
//! it then points where it stands.

use remc_syntax::token::{Bracket, TokenKind, Tokens, TriviaKind};
use std::ops::Range;

/// A comment that says what a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    pub of: Subject,
    /// The comment, from its `;` to the end of its last line.
    pub comment: Range<usize>,
    /// What stands behind the arrow, from the first character of it to the last; where it goes, if there is none.
    pub at: Range<usize>,
    pub wanted: Wanted,
}

/// What is spoken of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The form before the comment: which of the file's forms.
    Form(usize),
    /// An expression in the comment.
    Example(Range<usize>),
    /// There is no form before the comment.
    Nothing,
}

/// What is said of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// The text of a value; line ends are as good as spaces.
    Value(String),
    /// The code of an error.
    Error(String),
    /// Nothing yet.
    Open,
}

/// What a form or example gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A definition, which is right.
    Nothing,
    Value(String),
    /// The codes of the errors, and what is said about them.
    Error {
        codes: Vec<String>,
        message: String,
    },
}

impl Wanted {
    pub fn holds(&self, found: &Found) -> bool {
        match (self, found) {
            (Wanted::Value(wanted), Found::Value(found)) => matches(wanted, found),
            (Wanted::Error(code), Found::Error { codes, .. }) => codes.contains(code),
            _ => false,
        }
    }

    /// As it stands in the comment, on one line.
    pub fn said(&self) -> String {
        match self {
            Wanted::Value(text) => text.clone(),
            Wanted::Error(code) => format!("error {code}"),
            Wanted::Open => String::new(),
        }
    }
}

/// The claims of a text, in its order. The forms are where its top-level forms are, in its order; of those that `defines`
/// says so, the comments above are read for examples.
pub fn claims(text: &str, forms: &[Range<usize>], defines: impl Fn(usize) -> bool) -> Vec<Claim> {
    let tokens = remc_syntax::tokens(text);
    let comments = lines(text, &tokens);
    let mut all = Vec::new();
    let mut next = 0;
    for (i, comment) in comments.iter().enumerate() {
        // Those before are the rest of a claim.
        if i < next {
            continue;
        }
        let Some(arrow) = arrow(&text[comment.clone()]) else { continue };
        // A comment inside of a form speaks of no form.
        if forms.iter().any(|f| f.start < comment.start && comment.start < f.end) {
            continue;
        }
        let start = comment.start + arrow;
        let mut said = text[start..comment.end].trim().to_owned();
        let first = start + (text[start..comment.end].len() - text[start..comment.end].trim_start().len());
        let mut end = start + text[start..comment.end].trim_end().len();
        next = i + 1;
        while let Some(below) = comments.get(next)
            && !said.is_empty()
            && is_open(&said)
            && text[comments[next - 1].end..below.start].trim().is_empty()
            && text[comments[next - 1].end..below.start].matches('\n').count() == 1
        {
            let line = text[below.clone()].trim_start_matches(';').trim();
            said.push(' ');
            said.push_str(line);
            end = below.start + text[below.clone()].trim_end().len();
            next += 1;
        }
        let at = if said.is_empty() { start..start } else { first..end.max(first) };
        let of = match forms.partition_point(|f| f.end <= comment.start) {
            0 => Subject::Nothing,
            n => Subject::Form(n - 1),
        };
        all.push(Claim { of, comment: comment.start..comments[next - 1].end, at, wanted: wanted(&said) });
    }
    for (k, form) in forms.iter().enumerate().filter(|(k, _)| defines(*k)) {
        let before = if k == 0 { 0 } else { forms[k - 1].end };
        all.extend(examples(text, &comments, before, form.start));
    }
    all.sort_by_key(|c| c.comment.start);
    all
}

/// The examples of the comment directly above a form.
fn examples(text: &str, comments: &[Range<usize>], before: usize, form: usize) -> Vec<Claim> {
    let mut found = Vec::new();
    let mut below = form;
    for comment in comments.iter().rev().skip_while(|c| c.start >= form) {
        let between = &text[comment.end..below];
        let alone = text[..comment.start].rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        if comment.start < before || !between.trim().is_empty() || between.matches('\n').count() > 1 || !alone
        {
            break;
        }
        below = comment.start;
        let line = &text[comment.clone()];
        let ends = |at: usize, a: &str| line[at + a.len()..].chars().next().is_none_or(char::is_whitespace);
        let first =
            |a: &'static str| line.match_indices(a).map(|(at, a)| (at, a.len())).find(|(at, _)| ends(*at, a));
        let arrow = [" ⇒", " =>"].into_iter().filter_map(first).min();
        let Some((at, length)) = arrow else { continue };
        let start = line.len() - line.trim_start_matches(';').trim_start().len();
        let source = line.get(start..at).unwrap_or_default().trim_end();
        let value = line[at + length..].trim();
        // A word before an arrow that nothing follows is prose.
        if !is_one_form(source) || value.is_empty() && !source.ends_with([')', ']', '}']) {
            continue;
        }
        let behind = comment.start + at + length;
        let value_at = match value {
            "" => behind,
            _ => behind + (line[at + length..].len() - line[at + length..].trim_start().len()),
        };
        found.push(Claim {
            of: Subject::Example(comment.start + start..comment.start + start + source.len()),
            comment: comment.clone(),
            at: value_at..value_at + value.len(),
            wanted: wanted(value),
        });
    }
    found
}

/// The text with its examples as expressions where they stand; all else is in its place.
pub fn uncommented(text: &str, claims: &[Claim]) -> String {
    let mut out = text.to_owned();
    for claim in claims {
        if let Subject::Example(expression) = &claim.of {
            let blank = |range: Range<usize>| " ".repeat(range.len());
            let line = format!(
                "{}{}{}",
                blank(claim.comment.start..expression.start),
                &text[expression.clone()],
                blank(expression.end..claim.comment.end)
            );
            out.replace_range(claim.comment.clone(), &line);
        }
    }
    out
}

/// The text with other values in some of its claims. Nothing else of it changes.
pub fn rewritten(text: &str, new: &[(&Claim, String)]) -> String {
    const WIDTH: usize = 100;
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = text.to_owned();
    let mut new: Vec<&(&Claim, String)> = new.iter().collect();
    new.sort_by_key(|(claim, _)| std::cmp::Reverse(claim.at.start));
    for (claim, value) in new {
        let line = text[..claim.comment.start].rfind('\n').map_or(0, |at| at + 1);
        let before: String =
            text[line..claim.comment.start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let column = text[line..claim.at.start].chars().count();
        let space = match claim.wanted {
            Wanted::Open if !text[..claim.at.start].ends_with(' ') => " ",
            _ => "",
        };
        let rest = format!("{end}{before};   ");
        let is_example = matches!(claim.of, Subject::Example(_));
        // An example is one line.
        let wrapped = match is_example {
            true => value.clone(),
            false => wrap(
                value,
                WIDTH.saturating_sub(column).max(20),
                WIDTH.saturating_sub(before.len() + 4).max(20),
                &rest,
            ),
        };
        out.replace_range(claim.at.clone(), &format!("{space}{wrapped}"));
    }
    out
}

/// A value in lines, where it is longer than one; each but the last ends inside of brackets.
fn wrap(value: &str, first: usize, others: usize, between: &str) -> String {
    let mut out = String::new();
    let (mut left, mut depth, mut start) = (first, 0i64, true);
    for word in words(value) {
        let length = word.chars().count();
        if !start && length + 1 > left && depth > 0 {
            out.push_str(between);
            left = others;
        } else if !start {
            out.push(' ');
            left = left.saturating_sub(1);
        }
        out.push_str(word);
        left = left.saturating_sub(length);
        depth += parts(word).iter().map(|p| depth_of(p)).sum::<i64>();
        start = false;
    }
    out
}

/// What is parted by spaces outside of strings.
fn words(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut in_string, mut escaped) = (Vec::new(), 0, false, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            ' ' if !in_string => {
                found.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found.retain(|word| !word.is_empty());
    found
}

fn wanted(said: &str) -> Wanted {
    match said.strip_prefix("error ") {
        _ if said.is_empty() => Wanted::Open,
        Some(code) => Wanted::Error(code.split([' ', ':']).next().unwrap_or_default().to_owned()),
        None => Wanted::Value(said.to_owned()),
    }
}

/// Where the comments of a line are.
fn lines(text: &str, tokens: &Tokens) -> Vec<Range<usize>> {
    let comments = tokens.trivia.iter().filter(|t| t.kind == TriviaKind::LineComment);
    comments.map(|t| t.start as usize..t.end as usize).filter(|r| text[r.clone()].starts_with(';')).collect()
}

/// Where what a comment claims begins, if it begins with an arrow.
fn arrow(comment: &str) -> Option<usize> {
    let inside = comment.trim_start_matches(';').trim_start();
    let rest = inside.strip_prefix('⇒').or_else(|| inside.strip_prefix("=>"))?;
    Some(comment.len() - rest.len())
}

/// Whether a text is one expression: a bracket and what it encloses, or a word.
fn is_one_form(source: &str) -> bool {
    let tokens = remc_syntax::tokens(source).tokens;
    let mut depth = 0i64;
    let (mut ended, mut rerank) = (false, false);
    for token in &tokens {
        match token.kind {
            TokenKind::End => break,
            // `f{int | 3}` is one form.
            _ if ended && token.kind != TokenKind::Open(Bracket::Curly) => return false,
            TokenKind::Tilde => rerank |= depth == 0,
            TokenKind::Open(_) => depth += 1,
            TokenKind::Close(_) => depth -= 1,
            TokenKind::Error | TokenKind::Unknown => return false,
            _ => {}
        }
        ended = depth == 0 && token.kind != TokenKind::Tilde;
        // What is reranked follows its ranks.
        if ended && rerank {
            (ended, rerank) = (false, false);
        }
    }
    ended
}

/// Whether a value's brackets or quotes are not closed yet.
fn is_open(text: &str) -> bool {
    let parts = parts(text);
    parts.iter().map(|p| depth_of(p)).sum::<i64>() > 0
        || parts.last().is_some_and(|p| p.starts_with('"') && (p.len() == 1 || !p.ends_with('"')))
}

fn depth_of(part: &str) -> i64 {
    match part {
        "(" | "[" | "{" => 1,
        ")" | "]" | "}" => -1,
        _ => 0,
    }
}

/// Brackets, strings and words.
fn parts(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '(' | ')' | '[' | ']' | '{' | '}' | '…' => c.len_utf8(),
            '"' => string(rest),
            // `#\(` is a character.
            '#' if rest.starts_with("#\\") => {
                let sign = rest.chars().nth(2).map_or(0, char::len_utf8);
                2 + sign + rest[2 + sign..].find(ends).unwrap_or(rest.len() - 2 - sign)
            }
            _ => rest.find(ends).unwrap_or(rest.len()).max(c.len_utf8()),
        };
        let (part, after) = rest.split_at(length);
        found.push(part);
        rest = after.trim_start();
    }
    found
}

/// What ends a word.
fn ends(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"')
}

/// How long the string is that a text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a value is as it is wanted. Spaces and line ends are alike, and an ellipsis stands for the rest of what is between
/// two brackets, of a string or of a number.
fn matches(wanted: &str, found: &str) -> bool {
    first_difference(wanted, found).is_none()
}

/// Where a value is not as it is wanted: bytes of the one and of the other text.
pub fn first_difference(wanted: &str, found: &str) -> Option<(usize, usize)> {
    let (w, f) = (parts(wanted), parts(found));
    let at = |text: &str, part: Option<&&str>| {
        // Parts are slices of their texts.
        part.map_or(text.len(), |p| p.as_ptr() as usize - text.as_ptr() as usize)
    };
    let (mut i, mut j) = (0, 0);
    while i < w.len() || j < f.len() {
        match (w.get(i), f.get(j)) {
            // The rest of a string: the ellipsis is behind its quote.
            (Some(a), Some(b)) if a != b && a.starts_with('"') && w.get(i + 1) == Some(&"…") => {
                let start = a.strip_suffix('"').unwrap_or(a);
                if !b.starts_with(start) {
                    return Some((at(wanted, Some(a)), at(found, Some(b))));
                }
                (i, j) = (i + 2, j + 1);
            }
            (Some(&"…"), _) => {
                let mut depth = 0;
                while let Some(part) = f.get(j) {
                    depth += depth_of(part);
                    if depth < 0 {
                        break;
                    }
                    j += 1;
                }
                i += 1;
            }
            (Some(a), Some(b)) if a == b => (i, j) = (i + 1, j + 1),
            (Some(a), Some(b))
                if a.len() > '…'.len_utf8() && a.strip_suffix('…').is_some_and(|a| b.starts_with(a)) =>
            {
                (i, j) = (i + 1, j + 1);
            }
            (a, b) => return Some((at(wanted, a), at(found, b))),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Claim> {
        let parsed = remc_syntax::parse(remc_base::ModuleId(0), text, false);
        let span = |p: &remc_syntax::ParsedItem| p.map.item.map(|s| s.start as usize..s.end as usize);
        let forms: Vec<Range<usize>> = parsed.items.iter().filter_map(span).collect();
        let is_definition = |k: usize| text[forms[k].clone()].starts_with("(define");
        claims(text, &forms, is_definition)
    }

    fn said(text: &str) -> Vec<(String, String)> {
        let of = |c: &Claim| match &c.of {
            Subject::Form(k) => k.to_string(),
            Subject::Example(at) => text[at.clone()].to_owned(),
            Subject::Nothing => "none".into(),
        };
        read(text).iter().map(|c| (of(c), c.wanted.said())).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn comments_behind_forms() {
        assert_eq!(said("(+ 1 2) ; ⇒ 3\n5 ;=> 5"), pairs(&[("0", "3"), ("1", "5")]));
        assert_eq!(said("(+ 1 2)\n\n;; ⇒   3  \n; not this\n"), pairs(&[("0", "3")]));
        assert_eq!(said("(f) ; ⇒ error E0402: text\n"), pairs(&[("0", "error E0402")]));
        assert_eq!(said("(f) ; ⇒\n; comment\n(g) ; ⇒"), pairs(&[("0", ""), ("1", "")]));
        assert_eq!(said("; ⇒ 1\n5"), pairs(&[("none", "1")]));
        assert_eq!(said("\"; ⇒ 3\" #| ; ⇒ 4 |# (f\n ; ⇒ 5\n) ; what ⇒ 3"), vec![]);
        assert_eq!(said("(f) ; ⇒ 1\n; ⇒ 2"), pairs(&[("0", "1"), ("0", "2")]), "both are said of it");
    }

    #[test]
    fn long_values_go_on_while_brackets_are_open() {
        let text = "m ; ⇒ [[1 2]\n  ;    [3 4]]\n  ; no more\n";
        assert_eq!(said(text), pairs(&[("0", "[[1 2] [3 4]]")]));
        let claim = &read(text)[0];
        assert_eq!(&text[claim.at.clone()], "[[1 2]\n  ;    [3 4]]");
        assert_eq!(said("m ; ⇒ [1\n\n; 2]"), pairs(&[("0", "[1")]), "an empty line ends it");
        assert_eq!(said("m ; ⇒ \"a (\"\n; b"), pairs(&[("0", "\"a (\"")]));
        assert_eq!(said("m ; ⇒ #\\(\n; b"), pairs(&[("0", "#\\(")]));
    }

    #[test]
    fn examples_above_definitions() {
        let text = "; One more; a ⇒ b is no example.\n; (next 1) ⇒ 2\n; pi => 3.14…\n(define (next x) (+ x 1))\n; (x) ⇒ 3\n\n(define y 1)\n; (z) ⇒ 4\n5";
        assert_eq!(said(text), pairs(&[("(next 1)", "2"), ("pi", "3.14…")]));
        let all = read(text);
        let program = uncommented(text, &all);
        assert_eq!(program.len(), text.len());
        assert_eq!(program.find("(next 1)"), text.find("(next 1)"));
        assert!(program.contains("\n  (next 1)      \n  pi          "), "{program}");
        assert!(read("5 ; (a) ⇒ 3\n(define x 1)").is_empty(), "a comment behind a form is about that form");
        assert_eq!(said("; ~(0 1)e ⇒ 3\n; f{| 3} ⇒ 4\n; ~(0) ⇒ 4\n(define f 1)").len(), 2);
        assert_eq!(said("; Twice. ⇒\n(define (f x) x)"), pairs(&[]), "prose");
        let open = "; (f 1) ⇒\n; (f 2) =>  \n; (f 3) ⇒4\n(define (f x) x)";
        assert_eq!(said(open), pairs(&[("(f 1)", ""), ("(f 2)", "")]), "to be filled in");
        let all = read(open);
        let filled = rewritten(open, &[(&all[0], "1".into()), (&all[1], "2".into())]);
        assert!(filled.starts_with("; (f 1) ⇒ 1\n; (f 2) => 2  \n; (f 3) ⇒4\n"), "{filled}");
    }

    #[test]
    fn ellipses_stand_for_the_rest() {
        let holds =
            |wanted: &str, found: &str| Wanted::Value(wanted.into()).holds(&Found::Value(found.into()));
        assert!(holds("[1 2  3]", "[1 2 3]") && holds("[1 2 …]", "[1 2 3 4]") && holds("[1 2 …]", "[1 2]"));
        assert!(holds("[[1 …] [2 …] …]", "[[1 5] [2 6] [3 7]]") && holds("0.333…", "0.3333333333333333"));
        assert!(holds("[\"he\"… \"sup\"]", "[\"hello\" \"sup\"]") && holds("…", "[1 2]"));
        assert!(!holds("[1 2 …] 3", "[1 2 3]") && !holds("[1 …]", "[2 3]") && !holds("0.334…", "0.3333"));
        assert!(!holds("[1 2]", "[1 2 3]") && !holds("", "3") && !holds("\"a b\"", "\"a  b\""));
        assert_eq!(first_difference("[1 2 3]", "[1 20 3]"), Some((3, 3)));
        assert_eq!(first_difference("[1 2]", "[1 2 3]"), Some((4, 5)));
        let error = Found::Error { codes: vec!["E0402".into()], message: String::new() };
        assert!(Wanted::Error("E0402".into()).holds(&error) && !Wanted::Error("E0401".into()).holds(&error));
        assert!(!Wanted::Value("3".into()).holds(&error) && !Wanted::Open.holds(&Found::Value("3".into())));
    }

    #[test]
    fn values_are_rewritten_in_place() {
        let text = "a ; ⇒ 1\r\n\tb   ;⇒\r\n; (c) ⇒ 3\r\n(define c 5) ; stays\r\nd ; ⇒ [1\r\n;  2]\r\n";
        let all = read(text);
        let new: Vec<(&Claim, String)> =
            all.iter().zip(["10", "[2 3]", "30", "[7]"]).map(|(c, v)| (c, v.to_owned())).collect();
        let out = rewritten(text, &new);
        assert_eq!(out, "a ; ⇒ 10\r\n\tb   ;⇒ [2 3]\r\n; (c) ⇒ 30\r\n(define c 5) ; stays\r\nd ; ⇒ [7]\r\n");
        let long = format!("[{}]", (1000..1040).map(|n| n.to_string()).collect::<Vec<_>>().join(" "));
        let text = "  (iota)  ; ⇒ 1\nx";
        let all = read(text);
        let out = rewritten(text, &[(&all[0], long.clone())]);
        assert!(out.lines().all(|l| l.chars().count() <= 100) && out.lines().count() == 4, "{out}");
        assert!(out.ends_with("\nx") && out.contains("\n          ;   10"), "{out}");
        // It is read as it was meant.
        assert_eq!(read(&out)[0].wanted, Wanted::Value(long));
    }
}

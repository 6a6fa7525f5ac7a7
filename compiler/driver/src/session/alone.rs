//! Functions that stand alone at the top of a program, as `+` does in `1 + 2`, which has three expressions.
//!
//! Each of them has a value, so nothing is wrong with any by itself; what is beside it on its line says what was meant.

use super::Session;
use crate::codes;
use crate::database::SourceFile;
use crate::names::{Def, DefKind};
use crate::queries::check;
use remc_base::{AtomTy, Diagnostic, Span};
use remc_syntax::ast::{ExprKind, ItemKind};
use remc_typed::scheme::GROUPED;

/// How many bytes of a line are written anew.
const LONGEST: usize = 80;

/// The functions that stand alone in a file, an error for each line that has one.
///
/// The spans are those of forms that are part of what was meant, whose own errors say nothing: `(2)` in `sqrt(2)`.
pub fn alone(session: &Session, module: SourceFile) -> (Vec<Diagnostic<Span>>, Vec<Span>) {
    let db = &session.db;
    let text: &str = module.text(db);
    let forms: Vec<Form> = session.defs(module).iter().map(|d| Form::new(session, text, *d)).collect();
    let is_beside = |a: &Form, b: &Form| {
        a.is_expression
            && b.is_expression
            && text.get(a.end()..b.start()).is_some_and(|t| t.chars().all(blank))
    };
    let (mut errors, mut explained) = (vec![], vec![]);
    for line in forms.chunk_by(is_beside) {
        let Some(error) = error(line) else { continue };
        errors.push(error);
        explained.extend(line.windows(2).filter(|w| is_call(&w[0], &w[1])).map(|w| w[1].span));
        if is_definition(line) {
            explained.push(line[0].span);
        }
    }
    (errors, explained)
}

fn blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// A form at the top of a file.
struct Form<'a> {
    text: &'a str,
    span: Span,
    /// Or what was to be one.
    is_expression: bool,
    is_name: bool,
    /// Of a function that is named, how many parameters it has.
    function: Option<usize>,
    is_known: bool,
}

impl Form<'_> {
    fn new<'a>(session: &Session, text: &'a str, def: Def<'_>) -> Form<'a> {
        let db = &session.db;
        let span = session.item_span(def);
        let is_name = matches!(&def.item(db).kind, ItemKind::Expr(e) if matches!(&*e.kind, ExprKind::Var(_)));
        let is_expression = matches!(def.kind(db), DefKind::Expr | DefKind::Error);
        let definition = if is_name { check(db, def).definition.clone() } else { None };
        let function = definition.as_ref().filter(|d| d.ty.shape.is_scalar()).and_then(|d| arity(&d.ty.atom));
        let text = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        Form { text, span, is_expression, is_name, function, is_known: definition.is_some() }
    }

    fn start(&self) -> usize {
        self.span.start as usize
    }

    fn end(&self) -> usize {
        self.span.end as usize
    }
}

/// How many parameters a function has, whatever types and indices it is for.
fn arity(ty: &AtomTy) -> Option<usize> {
    match ty {
        AtomTy::Fn(f) => Some(f.params.len()),
        AtomTy::Forall(q) if q.body.shape.is_scalar() => arity(&q.body.atom),
        AtomTy::Pi(q) if q.body.shape.is_scalar() => arity(&q.body.atom),
        _ => None,
    }
}

/// `f(x)`, as other languages write it.
fn is_call(f: &Form, args: &Form) -> bool {
    f.function.is_some() && f.end() == args.start() && args.text.starts_with('(')
}

/// `x = 5`, where nothing is called `x`.
fn is_definition(line: &[Form]) -> bool {
    matches!(line, [left, equals, _] if equals.text == "=" && left.is_name && !left.is_known)
}

/// What is said of a line's forms, if one is a function.
fn error(line: &[Form]) -> Option<Diagnostic<Span>> {
    let first = line.iter().find(|form| form.function.is_some())?;
    let name = first.text;
    let d = Diagnostic::error(
        codes::FUNCTION_ALONE,
        format!("the function `{name}` stands here by itself and is applied to nothing"),
    )
    .primary(first.span, "a form of its own: its value would be the function");
    if is_definition(line) {
        let (left, right) = (line[0].text, line[2].text);
        return Some(d.help(format!("`(define {left} {right})` gives a value a name")));
    }
    // What is longer nobody reads in a message.
    let is_short = line.last().is_some_and(|last| last.end() - line[0].start() <= LONGEST);
    let meant = if is_short { infix(line).or_else(|| prefix(line)) } else { None };
    Some(match meant {
        Some(text) => {
            d.help(format!("a function is applied inside parentheses, where it comes first: `{text}`"))
        }
        None => {
            d.help(format!("a function is applied inside parentheses, where it comes first, `({name} …)`"))
        }
    })
}

/// `1 + 2 * 3` as `(+ 1 (* 2 3))`, if the line is operands with functions between them.
fn infix(line: &[Form]) -> Option<String> {
    let is_operator = |form: &Form| form.function == Some(2);
    let fits = line.len() >= 3
        && line.len() % 2 == 1
        && line
            .iter()
            .enumerate()
            .all(|(k, form)| if k % 2 == 1 { is_operator(form) } else { form.function.is_none() });
    if !fits {
        return None;
    }
    let operators: Vec<&str> = line.iter().skip(1).step_by(2).map(|form| form.text).collect();
    let is_one = operators.iter().all(|o| *o == operators[0]);
    // The order of what is not known from school is the reader's guess, and ours is as good as none.
    if !is_one && operators.iter().any(|o| level(o).is_none()) {
        return None;
    }
    // Operands that wait for what is to their right, each with its operator.
    let mut waiting: Vec<(Call, &str)> = Vec::new();
    let mut last = Call::Operand(line[0].text);
    for pair in line[1..].chunks(2) {
        let (operator, right) = (pair[0].text, pair[1].text);
        while let Some((left, before)) = waiting.pop_if(|(_, before)| level(before) >= level(operator)) {
            last = left.applied(before, last);
        }
        waiting.push((last, operator));
        last = Call::Operand(right);
    }
    while let Some((left, before)) = waiting.pop() {
        last = left.applied(before, last);
    }
    Some(last.text())
}

/// How tightly an operator binds, where everybody agrees.
fn level(operator: &str) -> Option<u8> {
    match operator {
        "=" | "!=" | "<" | "<=" | ">" | ">=" => Some(0),
        "+" | "-" => Some(1),
        "*" | "/" | "%" | "quotient" => Some(2),
        _ => None,
    }
}

/// An operand, or a function with its arguments.
enum Call<'a> {
    Operand(&'a str),
    Of(&'a str, Vec<String>),
}

impl<'a> Call<'a> {
    /// Some functions take more than two arguments, which are grouped from the left.
    fn applied(self, operator: &'a str, right: Call<'a>) -> Call<'a> {
        match self {
            Call::Of(name, mut args) if name == operator && GROUPED.contains(&name) => {
                args.push(right.text());
                Call::Of(name, args)
            }
            left => Call::Of(operator, vec![left.text(), right.text()]),
        }
    }

    fn text(&self) -> String {
        match self {
            Call::Operand(text) => (*text).to_owned(),
            Call::Of(name, args) => format!("({name} {})", args.join(" ")),
        }
    }
}

/// `sum [1 2 3]` as `(sum [1 2 3])`, if a function is first and the others are as many as its parameters.
fn prefix(line: &[Form]) -> Option<String> {
    let (first, rest) = line.split_first()?;
    let count = first.function?;
    if let [args] = rest
        && is_call(first, args)
    {
        let inside = args.text.strip_prefix('(')?.strip_suffix(')')?.trim();
        return Some(format!("({} {inside})", first.text));
    }
    let takes = |n: usize| n == count || (n > count && GROUPED.contains(&first.text));
    if takes(rest.len()) && !rest.is_empty() {
        let all: Vec<&str> = line.iter().map(|form| form.text).collect();
        return Some(format!("({})", all.join(" ")));
    }
    // `sum iota 3`: the rest is one argument.
    let inner = if count == 1 { prefix(rest) } else { None };
    inner.map(|inner| format!("({} {inner})", first.text))
}

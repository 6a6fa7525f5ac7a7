//! An expression as one short line, for messages: `(~(1 1)- table means)`.
//!
//! What is long is cut to `…` from the inside out, so that the outer form, which a message is about,
//! stays readable. The text reads back as the same expression where nothing was cut.

use crate::ast::{Annotation, Expr, ExprKind, IndexExpr, IndexKind, Opened, Param, Rank, TypeExpr, TypeKind};
use remc_base::is_hidden;
use std::fmt::Write;

/// The longest line that is written in full, in characters.
const WIDEST: usize = 72;

/// The expression on one line; parts that lie too deep for the width are `…`.
pub fn brief(e: &Expr) -> String {
    // The deepest cut that fits; the outer form alone always does.
    (1..=6)
        .rev()
        .map(|depth| Brief { depth }.expr(e, 0))
        .find(|text| text.chars().count() <= WIDEST)
        .unwrap_or_else(|| Brief { depth: 0 }.expr(e, 0))
}

struct Brief {
    /// How many forms within each other are written.
    depth: usize,
}

impl Brief {
    fn expr(&self, e: &Expr, level: usize) -> String {
        let inner = |e: &Expr| self.expr(e, level + 1);
        let all = |es: &[Expr]| es.iter().map(inner).collect::<Vec<_>>().join(" ");
        let atom = !matches!(
            &*e.kind,
            ExprKind::Var(_)
                | ExprKind::Int { .. }
                | ExprKind::Float { .. }
                | ExprKind::Bool(_)
                | ExprKind::Char(_)
                | ExprKind::Str(_)
        );
        if level > self.depth && atom {
            return "…".into();
        }
        match &*e.kind {
            ExprKind::Var(name) => name.to_string(),
            ExprKind::Int { value, suffix } => {
                format!("{value}{}", suffix.map_or(String::new(), |t| t.to_string()))
            }
            ExprKind::Float { value, suffix } => {
                format!("{}{}", float(value.value()), suffix.map_or(String::new(), |t| t.to_string()))
            }
            ExprKind::Bool(b) => if *b { "#t" } else { "#f" }.into(),
            ExprKind::Char(' ') => "#\\space".into(),
            ExprKind::Char('\n') => "#\\newline".into(),
            ExprKind::Char(c) if is_hidden(*c) => format!("#\\x{:x}", *c as u32),
            ExprKind::Char(c) => format!("#\\{c}"),
            ExprKind::Str(s) if s.chars().count() > 24 || s.contains(is_hidden) => "\"…\"".into(),
            ExprKind::Str(s) => format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\"")),
            // A long row is not what a message is about.
            ExprKind::Bracket(es) if es.len() > 12 => format!("[{} …]", all(&es[..3])),
            ExprKind::Bracket(es) => format!("[{}]", all(es)),
            ExprKind::EmptyArray { dims, ty } => format!("(array [{}] {})", indices(dims), type_text(ty)),
            ExprKind::App { func, args } => format!("({} {})", inner(func), all(args)),
            ExprKind::TApp { func, args } => match &*func.kind {
                ExprKind::IApp { func, args: is } => {
                    format!("{}{{{} | {}}}", inner(func), types(args), indices(is))
                }
                _ => format!("{}{{{} |}}", inner(func), types(args)),
            },
            ExprKind::IApp { func, args } => format!("{}{{| {}}}", inner(func), indices(args)),
            ExprKind::Rerank { ranks, func } => {
                let ranks: Vec<_> = ranks.iter().map(rank).collect();
                format!("~({}){}", ranks.join(" "), self.expr(func, level))
            }
            ExprKind::Lam { params, body, .. } => {
                let params: Vec<_> = params.iter().map(param).collect();
                format!("(λ ({}) {})", params.join(" "), inner(body))
            }
            ExprKind::If { cond, then, otherwise } => {
                format!("(if {} {} {})", inner(cond), inner(then), inner(otherwise))
            }
            ExprKind::Unbox { opened, body } => {
                let one = |o: &Opened| {
                    let names = std::iter::once(&o.value).chain(&o.indices);
                    let names: Vec<_> = names.map(|n| n.name.as_str()).collect();
                    format!("{} ({})", inner(&o.boxes), names.join(" "))
                };
                let opened: Vec<_> = opened.iter().map(one).collect();
                format!("(unbox {} {})", opened.join(" "), inner(body))
            }
            ExprKind::BoxInfer(e) => format!("(box {})", inner(e)),
            ExprKind::Values(es) => format!("(values {})", all(es)),
            ExprKind::Proj { position, tuple } => format!("(proj {position} {})", inner(tuple)),
            ExprKind::Record(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(l, e)| format!("({} {})", l.name, inner(e))).collect();
                format!("(record {})", fields.join(" "))
            }
            ExprKind::Field { record, label } => format!("(field {} {})", inner(record), label.name),
            ExprKind::Cast { ty, value } => format!("(cast {} {})", type_text(ty), inner(value)),
            ExprKind::AsShape { shape, value } => match shape.as_slice() {
                // `(as-shape (shape xs) ys)`
                [one] if is_shape_of(one) => format!("(as-shape {} {})", index(one), inner(value)),
                _ => format!("(as-shape [{}] {})", indices(shape), inner(value)),
            },
            ExprKind::Annot { expr, ty } => format!("(: {} {})", inner(expr), type_text(ty)),
            // Forms that bind or that go over several lines.
            _ => "…".into(),
        }
    }
}

fn float(x: f64) -> String {
    if x.is_nan() {
        "nan".into()
    } else if x.is_infinite() {
        if x > 0.0 { "inf".into() } else { "-inf".into() }
    } else {
        format!("{x:?}")
    }
}

fn rank(r: &Rank) -> String {
    match r {
        Rank::Of(n) => n.to_string(),
        Rank::All => "all".into(),
    }
}

fn param(p: &Param) -> String {
    match &p.ann {
        Annotation::None => p.name.to_string(),
        Annotation::Rank(r) => format!("[{} {r}]", p.name),
        Annotation::All => format!("[{} all]", p.name),
        Annotation::Type(t) => format!("[{} {}]", p.name, type_text(t)),
    }
}

fn types(ts: &[TypeExpr]) -> String {
    ts.iter().map(type_text).collect::<Vec<_>>().join(" ")
}

fn type_text(t: &TypeExpr) -> String {
    match &*t.kind {
        TypeKind::Name(n) => n.to_string(),
        TypeKind::Arr { atom, shape } if shape.is_empty() => type_text(atom),
        TypeKind::Arr { atom, shape } => format!("[{} {}]", type_text(atom), indices(shape)),
        _ => "…".into(),
    }
}

fn indices(is: &[IndexExpr]) -> String {
    let mut out = String::new();
    for (k, i) in is.iter().enumerate() {
        let _ = write!(out, "{}{}", if k > 0 { " " } else { "" }, index(i));
    }
    out
}

/// `(shape e)`, which stands without brackets.
fn is_shape_of(i: &IndexExpr) -> bool {
    let IndexKind::Value(e) = &*i.kind else { return false };
    matches!(&*e.kind, ExprKind::App { func, .. } if matches!(&*func.kind, ExprKind::Var(n) if n.as_str() == "shape"))
}

fn index(i: &IndexExpr) -> String {
    match &*i.kind {
        IndexKind::Nat(n) => n.to_string(),
        IndexKind::Name(n) => n.to_string(),
        IndexKind::Add(is) => format!("(+ {})", indices(is)),
        IndexKind::Mul(is) => format!("(* {})", indices(is)),
        IndexKind::Sub(is) => format!("(- {})", indices(is)),
        IndexKind::Shape(is) => format!("[{}]", indices(is)),
        IndexKind::Rank(i) => format!("(rank {})", index(i)),
        IndexKind::Size(i) => format!("(size {})", index(i)),
        IndexKind::Value(e) => brief(e),
        IndexKind::Error => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::brief;
    use crate::ast::ItemKind;

    fn of(text: &str) -> String {
        let parsed = crate::parse(remc_base::ModuleId(0), text, false);
        match &parsed.items[0].item.kind {
            ItemKind::Expr(e) => brief(e),
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn a_short_expression_is_written_as_it_was() {
        for text in [
            "(~(1 1)- table means)",
            "(fold (λ (x [acc 1]) (+ acc 1.5)) 0u8 [1 2])",
            "(replicate{int | [2 (+ n 1)] []} #\\space)",
            "(if (> x \"a\\\"b\") (box [#t]) (as-shape [3] y))",
            "(- (as-shape (shape xs) ys) xs)",
        ] {
            assert_eq!(of(text), text);
        }
    }

    #[test]
    fn what_lies_deep_is_cut_first() {
        let deep =
            "(outer-function (inner-function (innermost-function alpha beta gamma) delta) epsilon zeta)";
        assert_eq!(of(deep), "(outer-function (inner-function … delta) epsilon zeta)");
        let row = format!("(sum [{}])", "1 ".repeat(50));
        assert_eq!(of(&row), "(sum [1 1 1 …])");
    }
}

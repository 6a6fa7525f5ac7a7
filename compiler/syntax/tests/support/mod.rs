//! Prints an Ast as a fully bracketed form of its own, so that tests can say what was read.
#![allow(dead_code)]

use remc_base::{Diagnostic, ModuleId, Span};
use remc_syntax::ast::*;
use remc_syntax::{Parsed, parse};

/// Reading runs on a large stack in the compiler; so it does here.
pub fn on_large_stack<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(1 << 28).spawn(f).unwrap().join().unwrap()
}

pub fn read(text: &str) -> Parsed {
    parse(ModuleId(0), text, false)
}

/// The only item's print; the text must be without errors.
pub fn show(text: &str) -> String {
    let parsed = read(text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:#?}", parsed.diagnostics);
    parsed.items.iter().map(|i| item(&i.item)).collect::<Vec<_>>().join(" ; ")
}

/// Each error as its code and the text under its primary label.
pub fn errors(text: &str) -> Vec<(String, String)> {
    read(text).diagnostics.iter().map(|d| (d.code.to_string(), under(text, d).to_string())).collect()
}

pub fn under<'t>(text: &'t str, d: &Diagnostic<Span>) -> &'t str {
    let label = d.labels.iter().find(|l| l.primary).unwrap();
    &text[label.loc.range()]
}

fn list(head: &str, parts: impl IntoIterator<Item = String>) -> String {
    let mut out = format!("({head}");
    for p in parts {
        out.push(' ');
        out.push_str(&p);
    }
    out + ")"
}

fn seq<T>(items: &[T], f: impl Fn(&T) -> String) -> String {
    format!("({})", items.iter().map(f).collect::<Vec<_>>().join(" "))
}

pub fn item(i: &Item) -> String {
    match &i.kind {
        ItemKind::Define { name, ty: t, value } => {
            let t = t.as_ref().map(|t| format!(": {}", ty(t)));
            list("define", [name.name.to_string()].into_iter().chain(t).chain([expr(value)]))
        }
        ItemKind::Entry { name, value } => list("entry", [name.name.to_string(), expr(value)]),
        ItemKind::DefineType { name, ty: t } => list("define-type", [name.name.to_string(), ty(t)]),
        ItemKind::Import { path } => list("import", [format!("{path:?}")]),
        ItemKind::Primitive { name, tparams, iparams, params, ret } => list(
            "primitive",
            [
                name.name.to_string(),
                seq(tparams, tparam),
                seq(iparams, |p| match p {
                    PrimitiveIndex::Param(p) => p.name.to_string(),
                    PrimitiveIndex::Equal(p, q) => format!("(= {} {})", index(p), index(q)),
                }),
                seq(params, param),
                ty(ret),
            ],
        ),
        ItemKind::Expr(e) => expr(e),
        ItemKind::Error => "ERROR".into(),
    }
}

fn tparam(p: &TypeParam) -> String {
    match p.class {
        Some(c) => format!("({} {c})", p.name),
        None => p.name.to_string(),
    }
}

fn param(p: &Param) -> String {
    match &p.ann {
        Annotation::None => p.name.to_string(),
        Annotation::Rank(r) => format!("({} {r})", p.name),
        Annotation::All => format!("({} all)", p.name),
        Annotation::Type(t) => format!("({} : {})", p.name, ty(t)),
    }
}

fn binding(b: &Binding) -> String {
    format!("({} {})", param(&b.param), expr(&b.value))
}

fn field((l, e): &(Ident, Expr)) -> String {
    format!("({} {})", l.name, expr(e))
}

pub fn expr(e: &Expr) -> String {
    let suffix = |s: &Suffix| s.map_or(String::new(), |s| format!(":{s}"));
    match &*e.kind {
        ExprKind::Var(n) => n.to_string(),
        ExprKind::Int { value, suffix: s } => format!("{value}{}", suffix(s)),
        ExprKind::Float { value, suffix: s } => format!("{:?}{}", value.value(), suffix(s)),
        ExprKind::Bool(b) => format!("{b}"),
        ExprKind::Char(c) => format!("{c:?}"),
        ExprKind::Str(s) => format!("{s:?}"),
        ExprKind::Bracket(es) => list("bracket", es.iter().map(expr)),
        ExprKind::Array { dims, elems } => {
            list("array", [format!("{dims:?}")].into_iter().chain(elems.iter().map(expr)))
        }
        ExprKind::EmptyArray { dims, ty: t } => list("empty", [seq(dims, index), ty(t)]),
        ExprKind::App { func, args } => list("app", [expr(func)].into_iter().chain(args.iter().map(expr))),
        ExprKind::TApp { func, args } => list("t-app", [expr(func)].into_iter().chain(args.iter().map(ty))),
        ExprKind::IApp { func, args } => {
            list("i-app", [expr(func)].into_iter().chain(args.iter().map(index)))
        }
        ExprKind::Rerank { ranks, func } => {
            let ranks = seq(ranks, |r| match r {
                Rank::Of(n) => n.to_string(),
                Rank::All => "all".into(),
            });
            list("rerank", [ranks, expr(func)])
        }
        ExprKind::Lam { params, ret, body } => {
            let ret = ret.as_ref().map(|t| format!(": {}", ty(t)));
            list("λ", [seq(params, param)].into_iter().chain(ret).chain([expr(body)]))
        }
        ExprKind::TLam { params, body } => list("Tλ", [seq(params, tparam), expr(body)]),
        ExprKind::ILam { params, body } => list("Iλ", [seq(params, |p| p.name.to_string()), expr(body)]),
        ExprKind::Let { bindings, sequential, body } => {
            list(if *sequential { "let*" } else { "let" }, [seq(bindings, binding), expr(body)])
        }
        ExprKind::Annot { expr: e, ty: t } => list(":", [expr(e), ty(t)]),
        ExprKind::If { cond, then, otherwise } => list("if", [expr(cond), expr(then), expr(otherwise)]),
        ExprKind::Box { witnesses, ty: t, value } => {
            list("box", [seq(witnesses, |(n, i)| format!("({} {})", n.name, index(i))), ty(t), expr(value)])
        }
        ExprKind::BoxInfer(e) => list("box", [expr(e)]),
        ExprKind::Boxes { params, ty: t, dims, rows } => list(
            "boxes",
            [seq(params, |p| p.name.to_string()), ty(t), seq(dims, index)]
                .into_iter()
                .chain(rows.iter().map(|(i, e)| format!("({} {})", seq(i, index), expr(e)))),
        ),
        ExprKind::Unbox { opened, body } => {
            let parts = opened.iter().flat_map(|o| {
                [expr(&o.boxes), o.value.name.to_string(), seq(&o.indices, |i| i.name.to_string())]
            });
            list("unbox", parts.chain([expr(body)]))
        }
        ExprKind::Lift { index, value, natural, body } => list(
            if *natural { "lift" } else { "lift-int" },
            [index.name.to_string(), expr(value), expr(body)],
        ),
        ExprKind::Values(es) => list("values", es.iter().map(expr)),
        ExprKind::LetValues { bindings, body } => {
            let parts = bindings.iter().flat_map(|(params, value)| [seq(params, param), expr(value)]);
            list("let-values", parts.chain([expr(body)]))
        }
        ExprKind::Proj { position, tuple } => list("proj", [position.to_string(), expr(tuple)]),
        ExprKind::Record(fields) => list("record", fields.iter().map(field)),
        ExprKind::Field { record, label } => list("field", [expr(record), label.name.to_string()]),
        ExprKind::With { record, fields } => {
            list("with", [expr(record)].into_iter().chain(fields.iter().map(field)))
        }
        ExprKind::ReifyDim(i) => list("reify-dimension", [index(i)]),
        ExprKind::ReifyShape(i) => list("reify-shape", [index(i)]),
        ExprKind::AsShape { shape, value } => list("as-shape", [seq(shape, index), expr(value)]),
        ExprKind::Cast { ty: t, value } => list("cast", [ty(t), expr(value)]),
        ExprKind::Loop { bindings, cond, body } => {
            list("loop", [seq(bindings, binding), expr(cond), expr(body)])
        }
        ExprKind::Error => "ERROR".into(),
    }
}

pub fn ty(t: &TypeExpr) -> String {
    match &*t.kind {
        TypeKind::Name(n) => n.to_string(),
        TypeKind::Arr { atom, shape } => list("arr", [ty(atom)].into_iter().chain(shape.iter().map(index))),
        TypeKind::Fn { params, ret } => list("→", [seq(params, ty), ty(ret)]),
        TypeKind::Forall { params, body } => list("∀", [seq(params, tparam), ty(body)]),
        TypeKind::Pi { params, body } => list("Π", [seq(params, |p| p.name.to_string()), ty(body)]),
        TypeKind::Sigma { params, body } => list("Σ", [seq(params, |p| p.name.to_string()), ty(body)]),
        TypeKind::Tuple(ts) => list("tuple", ts.iter().map(ty)),
        TypeKind::Record(fs) => list("record", fs.iter().map(|(l, t)| format!("({} {})", l.name, ty(t)))),
        TypeKind::Quot(t) => list("quot", [ty(t)]),
        TypeKind::Val(i) => list("val", [index(i)]),
        TypeKind::Stream { item, length } => {
            list("stream", [ty(item)].into_iter().chain(length.iter().map(index)))
        }
        TypeKind::Error => "ERROR".into(),
    }
}

pub fn index(i: &IndexExpr) -> String {
    match &*i.kind {
        IndexKind::Nat(n) => n.to_string(),
        IndexKind::Name(n) => n.to_string(),
        IndexKind::Add(is) => list("+", is.iter().map(index)),
        IndexKind::Mul(is) => list("*", is.iter().map(index)),
        IndexKind::Sub(is) => list("-", is.iter().map(index)),
        IndexKind::Shape(is) => list("shape", is.iter().map(index)),
        IndexKind::Rank(i) => list("rank", [index(i)]),
        IndexKind::Size(i) => list("size", [index(i)]),
        IndexKind::Value(e) => list("value", [expr(e)]),
        IndexKind::Error => "ERROR".into(),
    }
}

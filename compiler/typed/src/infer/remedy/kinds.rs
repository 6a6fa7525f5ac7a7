//! Candidates where items are of another kind than wanted: texts where numbers are, a text by a text, pairs of which one
//! component is meant.

use super::*;

/// Types that disagree.
pub(super) fn by_kind(p: &Parts) -> Vec<Candidate> {
    [split_texts(p), numbers_as_text(p), texts_as_numbers(p), components(p)].concat()
}

fn is_base(t: Option<&ArrTy>, wanted: impl Fn(BaseTy) -> bool) -> bool {
    matches!(t, Some(ArrTy { atom: AtomTy::Base(b), .. }) if wanted(*b))
}

/// Whether an argument is a text, or several.
fn is_text(p: &Parts, i: usize) -> bool {
    is_base(p.types[i].as_ref(), |b| b == BaseTy::Char) && p.rank(i) > Some(0)
}

/// `(split text ",")` of other languages, where `split` parts an array at a place.
fn split_texts(p: &Parts) -> Vec<Candidate> {
    let ("split", [text, by]) = (p.name, p.args) else { return Vec::new() };
    let separator = match &*by.kind {
        A::Char(c) => Some(*c),
        A::Str(s) => s.chars().next().filter(|c| s.len() == c.len_utf8()),
        _ => None,
    };
    let by = separator.map_or(by.clone(), |c| make(by.id, A::Char(c)));
    let parts = p.call("split-by", vec![text.clone(), by]);
    let mut out = Vec::new();
    if separator == Some(' ') {
        out.push(candidate("the words of a text are", p.call("words", vec![text.clone()])).grows());
    }
    out.push(candidate("the parts of a text between characters are", parts).grows());
    out
}

/// `(append "item " 5)`: a number beside texts.
fn numbers_as_text(p: &Parts) -> Vec<Candidate> {
    let number = |i: &usize| is_base(p.types[*i].as_ref(), |b| b.is_in(Class::Num)) && p.rank(*i) == Some(0);
    if !(0..p.args.len()).any(|i| is_text(p, i)) {
        return Vec::new();
    }
    let text = |i| candidate("as a text, the number is", p.wrapped(i, "number->string", vec![])).grows();
    (0..p.args.len()).filter(number).map(text).collect()
}

/// `(* 2 "4")`: what a text says.
fn texts_as_numbers(p: &Parts) -> Vec<Candidate> {
    if let ("number->string" | "number->string/digits", [text, ..]) = (p.name, p.args)
        && is_text(p, 0)
    {
        return vec![candidate("it is a text already", text.clone())];
    }
    let mut out = Vec::new();
    for i in (0..p.args.len()).filter(|i| is_text(p, *i)) {
        for read in ["string->int", "string->number"] {
            let tuple = p.call(read, vec![p.args[i].clone()]);
            let number = make(p.node, A::Proj { position: 1, tuple });
            out.push(candidate("the number that a text says is", p.with_arg(i, number)).grows());
        }
    }
    out
}

/// One component of a pair, of `(string->int s)` the number and not whether there is one; also of an item of a bracket.
fn components(p: &Parts) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (i, t) in p.types.iter().enumerate() {
        let Some(ArrTy { atom: AtomTy::Tuple(parts), .. }) = t else { continue };
        let flag = |t: &ArrTy| matches!(t.atom, AtomTy::Base(BaseTy::Bool));
        let flagged = parts.fields.len() == 2 && flag(&parts.fields[0].1);
        let why = match flagged {
            true => "it gives whether there is one, and which; the second is",
            false => "of the values that it gives, one is",
        };
        for k in (usize::from(flagged)..parts.fields.len()).take(4) {
            let component = |e: &ast::Expr| make(p.node, A::Proj { position: k as u64, tuple: e.clone() });
            let one = match &*p.args[i].kind {
                A::Bracket(items) => p.bracket(items.iter().map(component).collect()),
                _ => component(&p.args[i]),
            };
            out.push(candidate(why, p.with_arg(i, one)).grows());
        }
    }
    out
}

/// `(= a b)` of texts of different lengths, which compares their letters one by one.
pub(super) fn whole_texts(p: &Parts) -> Vec<Candidate> {
    let same = p.call("text=?", p.args.to_vec());
    let why = "whether two texts are the same is";
    match (p.name, p.args) {
        ("=", [_, _]) if is_text(p, 0) && is_text(p, 1) => vec![candidate(why, same)],
        ("!=", [_, _]) if is_text(p, 0) && is_text(p, 1) => {
            vec![candidate("whether two texts differ is", p.call("not", vec![same]))]
        }
        _ => Vec::new(),
    }
}

/// A function of what boxes hold: one box after the other, of an array of them that may be in a box itself.
pub(super) fn unboxed(p: &Parts) -> Vec<Candidate> {
    let boxes = |i: &usize| matches!(&p.types[*i], Some(ArrTy { atom: AtomTy::Sigma(_), .. }));
    let all: Vec<usize> = (0..p.args.len()).filter(boxes).collect();
    let [i] = all[..] else { return Vec::new() };
    let mut taken = Vec::new();
    p.args.iter().for_each(|a| data_names(a, &mut taken));
    let free = |names: [&'static str; 3]| {
        names.into_iter().find(|n| !taken.iter().any(|t| t.as_str() == *n)).unwrap_or(names[0])
    };
    let (item, items) = (free(["x", "y", "item"]), free(["xs", "ys", "items"]));
    let ident = |name: &str| ast::Ident { id: p.node, name: Name::new(name) };
    let open = |boxes: ast::Expr, value: &str, size: &str, body: ast::Expr| {
        let opened = vec![ast::Opened { boxes, value: ident(value), indices: vec![ident(size)] }];
        make(p.node, A::Unbox { opened, body })
    };
    let each = |boxes: ast::Expr| open(boxes, item, "n", p.with_arg(i, p.var(item)));
    let why = "open them one by one";
    vec![
        candidate(why, each(p.args[i].clone())).grows(),
        candidate(why, open(p.args[i].clone(), items, "m", each(p.var(items)))).grows(),
    ]
}

//! Candidates where ranks or sizes disagree: reranks, transposes, parts without their ends.

use super::order::lower_parameters;
use super::*;

/// Frames that disagree.
pub(super) fn by_frames(p: &Parts) -> Vec<Candidate> {
    let mut out = [trimmed(p), unstretched(p), reranks(p), transposed(p)].concat();
    let plain = !matches!(&*p.func.kind, A::Rerank { .. });
    if plain
        && p.rank(0) == Some(2)
        && p.rank(1) == Some(2)
        && p.args.len() == 2
        && p.dim(0, 1) == p.dim(1, 1)
    {
        let ranks = |a, b| vec![Rank::Of(a), Rank::Of(b)];
        let rows = make(p.node, A::Rerank { ranks: ranks(1, 1), func: p.func.clone() });
        let func = make(p.node, A::Rerank { ranks: ranks(1, 2), func: rows });
        out.push(candidate("to meet each row with each", p.app(func, p.args.to_vec())).grows());
    }
    out.extend(stated(p));
    // Two vectors of lengths that have nothing to do with each other.
    let numbers = |i: usize| matches!(&p.types[i], Some(t) if t.atom != AtomTy::Base(BaseTy::Char));
    if p.args.len() == 2 && p.rank(0) == Some(1) && p.rank(1) == Some(1) && numbers(0) && !of_one_origin(p) {
        let args = [std::slice::from_ref(p.func), p.args].concat();
        out.push(candidate("both need one length; each item with each is", p.call("outer", args)).grows());
    }
    out
}

/// A cell that needs a higher rank.
pub(super) fn by_rank(p: &Parts) -> Vec<Candidate> {
    let mut out = swaps(p);
    if let ("m*m", Some(1), Some(2)) = (p.name, p.rank(0), p.rank(1)) {
        out.push(candidate("a vector times a matrix is `v*m`", p.renamed("v*m")));
    }
    if let ("v*m" | "m*m", [m, v]) = (p.name, p.args) {
        out.push(candidate("a matrix times a vector is `dot`, row by row", p.renamed("dot")));
        let args = vec![v.clone(), m.clone()];
        out.push(candidate("a vector times a matrix is `v*m`", p.call("v*m", args)));
    }
    if p.name == "append" {
        out.extend([rows(p), reranks(p)].concat());
    }
    [out, lower_parameters(p), brackets(p), bracketed_orders(p), reranks(p), transposed(p)].concat()
}

/// A cell of another shape.
pub(super) fn by_shape(p: &Parts) -> Vec<Candidate> {
    let mut out = trimmed(p);
    match (p.name, p.rank(0), p.rank(1)) {
        ("dot", Some(2), Some(2)) => out.push(candidate("a product of matrices is `m*m`", p.renamed("m*m"))),
        ("dot", Some(1), Some(2)) => {
            out.push(candidate("a vector times a matrix is `v*m`", p.renamed("v*m")));
        }
        ("v*m", Some(1), Some(2)) => {
            let args = vec![p.args[1].clone(), p.args[0].clone()];
            out.push(candidate("a matrix times a vector is `dot`, row by row", p.call("dot", args)));
        }
        ("append", ..) => out.extend([rows(p), reranks(p)].concat()),
        _ => {}
    }
    out.extend(transposed(p));
    if let ("m*m", [a, b]) = (p.name, p.args) {
        out.push(candidate("in the other order", p.with_args(vec![b.clone(), a.clone()])));
    }
    out.extend(reranks(p));
    out.extend(stated(p));
    out
}

/// `(+ [1] [1 2 3])`: other languages repeat the one item.
fn unstretched(p: &Parts) -> Vec<Candidate> {
    let one = |i: &usize| p.dim(*i, 0).and_then(|d| d.as_constant()) == Some(1);
    let item =
        |i| candidate("an axis of length 1 does not stretch; its item does", p.wrapped(i, "head", vec![]));
    (0..p.args.len()).filter(one).map(item).collect()
}

/// Whether the first sizes of two arguments differ by a number, or are what boxes hide.
fn of_one_origin(p: &Parts) -> bool {
    let (Some(a), Some(b)) = (p.dim(0, 0), p.dim(1, 0)) else { return false };
    let constant = a.as_constant().is_some() && b.as_constant().is_some();
    (!constant && a.sub(&b).as_constant().is_some()) || p.hidden.contains(&true)
}

/// A vector appended as a row.
fn rows(p: &Parts) -> Vec<Candidate> {
    let lower = (0..p.args.len()).min_by_key(|i| p.rank(*i).unwrap_or(usize::MAX));
    let row = |i: usize| {
        let row = p.bracket(vec![p.args[i].clone()]);
        let why = if p.rank(i) == Some(0) { "as one more item" } else { "as one more row" };
        candidate(why, p.with_arg(i, row)).or_another()
    };
    let others = |i: usize| (0..p.args.len()).filter(move |j| *j != i).map(|j| p.rank(j).unwrap_or(0)).max();
    lower.filter(|i| p.rank(*i) != Some(others(*i).unwrap_or(0))).map(row).into_iter().collect()
}

/// Two sizes that may be equal when the program runs: stated, and checked there.
fn stated(p: &Parts) -> Vec<Candidate> {
    let data: Vec<usize> = (0..p.args.len()).filter(|i| p.rank(*i).is_some_and(|r| r > 0)).collect();
    let [i, j] = data[..] else { return Vec::new() };
    let (Some(a), Some(b)) = (p.dim(i, 0), p.dim(j, 0)) else { return Vec::new() };
    let hidden = (p.hidden[i], p.hidden[j]);
    if a.sub(&b).as_constant().is_some() && hidden == (false, false) {
        return Vec::new();
    }
    // Of two matrices, only one size is open.
    let rest = |i: usize| (1..p.rank(i).unwrap_or(1)).map(|axis| p.dim(i, axis)).collect::<Vec<_>>();
    if rest(i) != rest(j) {
        return Vec::new();
    }
    let why = match hidden {
        (true, true) => "take both from one box, or, if they always agree, state and check it",
        _ => "if they always agree, state and check it",
    };
    let index = |kind| ast::IndexExpr { id: p.node, kind: Box::new(kind) };
    let stating = |other: usize, shape: Vec<ast::IndexExpr>| {
        let value = p.args[other].clone();
        candidate(why, p.with_arg(other, make(p.node, A::AsShape { shape, value })))
    };
    let dims = |of: usize| {
        let dims = (0..p.rank(of)?).map(|axis| written(&p.dim(of, axis)?).map(index));
        dims.collect::<Option<Vec<_>>>().filter(|_| !p.hidden[of] && p.nameable[of])
    };
    // By numbers and names where they mean the size here, else as the shape of the other.
    let mut out = Vec::new();
    out.extend(dims(i).map(|d| stating(j, d)));
    out.extend(dims(j).map(|d| stating(i, d)));
    let shape = |of: usize| vec![index(ast::IndexKind::Value(p.call("shape", vec![p.args[of].clone()])))];
    out.push(stating(j, shape(i)));
    out
}

/// A size as the program can write it.
fn written(d: &Dim) -> Option<ast::IndexKind> {
    if let Some(c) = d.as_constant() {
        return u64::try_from(c).ok().map(ast::IndexKind::Nat);
    }
    match d.as_var()? {
        DimVar::Rigid(v) => Some(ast::IndexKind::Name(v.name.clone())),
        _ => None,
    }
}

/// Reranks that pair smaller cells, those that take the fewest axes away first.
fn reranks(p: &Parts) -> Vec<Candidate> {
    if matches!(&*p.func.kind, A::Rerank { .. } | A::Lam { .. }) || p.args.len() > 4 {
        return Vec::new();
    }
    let ranks: Vec<usize> = (0..p.args.len()).map(|i| p.rank(i).unwrap_or(0)).collect();
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for r in &ranks {
        all = all
            .iter()
            .flat_map(|o| (0..=(*r).min(3)).map(|k| [&o[..], &[k]].concat()).collect::<Vec<_>>())
            .collect();
        all.truncate(128);
    }
    let removed = |o: &[usize]| ranks.iter().zip(o).map(|(r, k)| r - k).sum::<usize>();
    all.retain(|o| removed(o) > 0);
    all.sort_by_key(|o| removed(o));
    let rerank = |o: Vec<usize>| {
        let ranks = o.iter().map(|k| Rank::Of(*k as u32)).collect();
        let func = make(p.node, A::Rerank { ranks, func: p.func.clone() });
        candidate("a rerank pairs the cells that fit", p.app(func, p.args.to_vec()))
    };
    all.into_iter().map(rerank).collect()
}

/// One argument transposed.
fn transposed(p: &Parts) -> Vec<Candidate> {
    let matrices: Vec<usize> = (0..p.args.len()).filter(|i| p.rank(*i).is_some_and(|r| r >= 2)).collect();
    // The last first: a product reads best so.
    let turn = |i: usize| match &*p.args[i].kind {
        A::App { func, args }
            if args.len() == 1 && matches!(&*func.kind, A::Var(n) if n.as_str() == "transpose") =>
        {
            candidate("as it was, it fits", p.with_arg(i, args[0].clone()))
        }
        _ => candidate("transposed, it fits", p.wrapped(i, "transpose", vec![])).or_another(),
    };
    matrices.into_iter().rev().map(turn).collect()
}

/// Two arguments of one origin, one a few items longer: without its first or last items it fits.
fn trimmed(p: &Parts) -> Vec<Candidate> {
    let data: Vec<usize> = (0..p.args.len()).filter(|i| p.rank(*i).is_some_and(|r| r > 0)).collect();
    let [i, j] = data[..] else { return Vec::new() };
    // What is made of a matrix along one axis has the length of the other one: no item is one too many.
    if p.rank(i) != p.rank(j) {
        return Vec::new();
    }
    let (Some(a), Some(b)) = (p.dim(i, 0), p.dim(j, 0)) else { return Vec::new() };
    let Some(more) = a.sub(&b).as_constant().filter(|m| *m != 0 && m.abs() <= 8) else { return Vec::new() };
    if a.as_constant().is_some() && !shares_name(&p.args[i], &p.args[j]) {
        return Vec::new();
    }
    let (long, short) = if more > 0 { (i, j) } else { (j, i) };
    let more = more.abs();
    // What has lost its last items is met by what loses its first.
    let lost_last = matches!(&*p.args[short].kind, A::App { func, .. }
        if matches!(&*func.kind, A::Var(n) if matches!(n.as_str(), "butlast" | "drop-right1" | "drop-right" | "take1" | "take")));
    let items = if more == 1 { "item".to_string() } else { format!("{more} items") };
    let cut = |first: bool| {
        let (one, many, end) =
            if first { ("tail", "drop1", "first") } else { ("butlast", "drop-right1", "last") };
        let expr =
            if more == 1 { p.wrapped(long, one, vec![]) } else { p.wrapped(long, many, vec![p.int(more)]) };
        candidate(format!("without the {end} {items} it fits"), expr)
    };
    vec![cut(lost_last)]
}

/// Whether two expressions use a name that is no function's in both.
fn shares_name(a: &ast::Expr, b: &ast::Expr) -> bool {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    data_names(a, &mut of_a);
    data_names(b, &mut of_b);
    of_a.iter().any(|n| of_b.contains(n))
}

pub(super) fn data_names(e: &ast::Expr, out: &mut Vec<Name>) {
    match &*e.kind {
        A::Var(n) => out.push(n.clone()),
        A::App { args, .. } => args.iter().for_each(|a| data_names(a, out)),
        _ => {}
    }
}

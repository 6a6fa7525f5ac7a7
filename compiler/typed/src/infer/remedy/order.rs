//! Candidates with the same arguments in another order or in brackets, and what stands for a function in
//! another language's place.

use super::*;

/// What may be meant where an argument is of another kind than its parameter.
pub(super) fn swaps(p: &Parts) -> Vec<Candidate> {
    let n = p.args.len();
    let mut out = Vec::new();
    // `(1 + 2)`
    if let ([first, second], A::Int { .. } | A::Float { .. } | A::Var(_)) = (p.args, &*p.func.kind)
        && matches!(&*first.kind, A::Var(_))
        && p.types[0].is_none()
    {
        let swapped = p.app(first.clone(), vec![p.func.clone(), second.clone()]);
        out.push(candidate("the function comes first", swapped).grows());
    }
    out.extend(other_ranks(p));
    if let ("reduce" | "reduce/zero" | "fold" | "fold/1", Some(first)) = (p.name, p.args.first())
        && is_append(first)
    {
        let xss = p.args[n - 1].clone();
        let why = "the items keep their shape; to join them all, `append*`";
        out.push(candidate(why, p.call("append*", vec![xss])));
    }
    let text = |t: &Option<ArrTy>| matches!(t, Some(t) if t.atom == AtomTy::Base(BaseTy::Char));
    if p.name == "+" && p.types.iter().all(text) {
        out.push(candidate("texts are joined by `append`", p.renamed("append")).grows());
    }
    let float = |t: &ArrTy| matches!(t.atom, AtomTy::Base(b) if b.is_float());
    for (i, ty) in p.types.iter().enumerate() {
        if ty.as_ref().is_some_and(|t| t.atom == AtomTy::INT) && p.types.iter().flatten().any(float) {
            let why = "an int does not become a float by itself";
            out.push(candidate(why, p.wrapped(i, "int->float", vec![])));
        }
    }
    out.extend(indices(p));
    out.extend(orders(p));
    match (p.name, p.args) {
        ("filter" | "partition", [f, xs]) if p.types[0].is_none() => {
            let why = format!("`{}` takes flags, one for each item", p.name);
            out.push(candidate(why, p.with_arg(0, applied(p.node, f, xs))));
        }
        ("replicate", [_, _]) => out.extend(replicated(p)),
        ("concat", [_]) => {
            out.push(candidate("these are no boxes; arrays are joined by `append*`", p.renamed("append*")));
        }
        _ => {}
    }
    for (i, arg) in p.args.iter().enumerate() {
        if let A::Values(parts) = &*arg.kind {
            let why = "a tuple of arrays is no array of tuples; these are";
            out.push(candidate(why, p.with_arg(i, paired(p, parts))).grows());
        }
    }
    out
}

/// What chooses items, where it is no vector of ints.
fn indices(p: &Parts) -> Option<Candidate> {
    let at = match p.name {
        "index-item" | "scatter/into" => 1,
        "scatter/combine" => 2,
        _ => return None,
    };
    let [xs, .., _] = p.args else { return None };
    match p.types.get(at)?.as_ref()?.atom {
        AtomTy::Base(BaseTy::Bool) if p.name == "index-item" && p.rank(at) == Some(1) => {
            let chosen = p.call("filter", vec![p.args[at].clone(), xs.clone()]);
            Some(candidate("flags choose with `filter`", chosen))
        }
        AtomTy::Base(b) if b.is_float() => {
            let whole = p.wrapped(at, "float->int", vec![]);
            Some(candidate("an index is a whole number", whole))
        }
        AtomTy::Base(b) if b.is_integer() && b != BaseTy::I64 => {
            let cast = {
                let kind = Box::new(ast::TypeKind::Name(Name::new("int")));
                let ty = ast::TypeExpr { id: p.node, kind };
                make(p.node, A::Cast { ty, value: p.args[at].clone() })
            };
            Some(candidate("an index is an `int`", p.with_arg(at, cast)))
        }
        _ => None,
    }
}

/// The arguments in every other order.
pub(super) fn orders(p: &Parts) -> Vec<Candidate> {
    if !(2..=4).contains(&p.args.len()) {
        return Vec::new();
    }
    // Where an array is what its items are written into already, they are in order.
    let into = match p.name {
        "scatter/into" => Some(0),
        "scatter/combine" => Some(1),
        _ => None,
    };
    if into.is_some_and(|i| p.rank(i) > p.rank(i + 1)) {
        return Vec::new();
    }
    let data: Vec<bool> = p.types.iter().map(|t| t.is_some()).collect();
    let ordered = |order: Vec<usize>| {
        let args = order.iter().map(|i| p.args[*i].clone()).collect();
        candidate("the arguments fit in another order", p.with_args(args)).grows()
    };
    permutations(&data).into_iter().map(ordered).collect()
}

/// Two arguments the other way round, one of them in brackets.
pub(super) fn bracketed_orders(p: &Parts) -> Vec<Candidate> {
    let [a, b] = p.args else { return Vec::new() };
    let row = |e: &ast::Expr| p.bracket(vec![e.clone()]);
    [vec![row(b), a.clone()], vec![b.clone(), row(a)]]
        .into_iter()
        .map(|args| candidate("in another order, and in brackets, it fits", p.with_args(args)).grows())
        .collect()
}

/// A reduction of what may be empty, with the value of nothing.
pub(super) fn with_zero(p: &Parts) -> Option<Candidate> {
    let ("reduce" | "iscan", [op, xs]) = (p.name, p.args) else { return None };
    let A::Var(operator) = &*op.kind else { return None };
    let zero = match operator.as_str() {
        "+" | "bit-or" | "bit-xor" => p.int(0),
        "*" => p.int(1),
        "and" => make(p.node, A::Bool(true)),
        "or" | "xor" => make(p.node, A::Bool(false)),
        _ => return None,
    };
    let with_it = p.call(&format!("{}/zero", p.name), vec![op.clone(), zero, xs.clone()]);
    Some(candidate("give the value of no items", with_it))
}

/// A λ that ends in a box, so that it goes on from one: from an argument that is one already, or is made one.
pub(super) fn boxed_ends(p: &Parts) -> Vec<Candidate> {
    let boxed = |e: &ast::Expr| make(e.id, A::BoxInfer(e.clone()));
    let mut found = Vec::new();
    for (i, arg) in p.args.iter().enumerate() {
        let A::Lam { params, ret: None, body } = &*arg.kind else { continue };
        let mut args = p.args.to_vec();
        let lambda = A::Lam { params: params.clone(), ret: None, body: boxed(body) };
        args[i] = make(arg.id, lambda);
        found.push(candidate("with a box as what it gives it goes on from one", p.with_args(args.clone())));
        for j in (0..args.len()).filter(|j| p.rank(*j).is_some_and(|r| r > 0)) {
            let mut args = args.clone();
            args[j] = boxed(&p.args[j]);
            found.push(candidate("boxes may grow and shrink", p.with_args(args)));
        }
    }
    found
}

/// A λ whose parameters take cells of one rank less.
pub(super) fn lower_parameters(p: &Parts) -> Vec<Candidate> {
    let lower = |(i, arg): (usize, &ast::Expr)| {
        let A::Lam { params, ret, body } = &*arg.kind else { return None };
        let less = |q: &ast::Param| match q.ann {
            ast::Annotation::Rank(r) => {
                ast::Param { ann: ast::Annotation::Rank(r.saturating_sub(1)), ..q.clone() }
            }
            _ => q.clone(),
        };
        let lower: Vec<_> = params.iter().map(less).collect();
        (lower != *params).then(|| {
            let lambda = A::Lam { params: lower, ret: ret.clone(), body: body.clone() };
            candidate("with cells of a lower rank it fits", p.with_arg(i, make(arg.id, lambda)))
        })
    };
    p.args.iter().enumerate().filter_map(lower).collect()
}

/// An argument in brackets, as one item or row; an index vector with fewer items.
pub(super) fn brackets(p: &Parts) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (i, arg) in p.args.iter().enumerate() {
        let why = match p.rank(i) {
            Some(0) => "a vector of one item is written in brackets",
            _ => "as one row it fits",
        };
        if let A::Bracket(es) = &*arg.kind
            && es.len() > 1
            && i > 0
            && matches!(p.name, "index" | "take" | "drop" | "take-right" | "drop-right" | "rotate" | "tile")
        {
            let fewer = p.bracket(es[..es.len() - 1].to_vec());
            out.insert(0, candidate("one number for each axis", p.with_arg(i, fewer)).grows());
        }
        out.push(candidate(why, p.with_arg(i, p.bracket(vec![arg.clone()]))).grows());
    }
    out
}

/// `((λ ([a 0] [b 0]) (values a b)) a b)`
fn paired(p: &Parts, arrays: &[ast::Expr]) -> ast::Expr {
    let name = |(i, e): (usize, &ast::Expr)| match &*e.kind {
        A::Var(n) => n.clone(),
        _ => Name::new(["x", "y", "z", "u", "v", "w"].get(i).copied().unwrap_or("it")),
    };
    let names: Vec<Name> = arrays.iter().enumerate().map(name).collect();
    let param = |n: &Name| ast::Param { id: p.node, name: n.clone(), ann: ast::Annotation::Rank(0) };
    let body = make(p.node, A::Values(names.iter().map(|n| p.var(n.as_str())).collect()));
    let lambda = A::Lam { params: names.iter().map(param).collect(), ret: None, body };
    p.app(make(p.node, lambda), arrays.to_vec())
}

/// `(reshape [2 3] xs)` of another number of items: one of the sizes changed.
pub(super) fn other_sizes(p: &Parts) -> Vec<Candidate> {
    let ([shape, _], "reshape") = (p.args, p.name) else { return Vec::new() };
    let A::Bracket(sizes) = &*shape.kind else { return Vec::new() };
    let sizes: Option<Vec<i128>> = sizes
        .iter()
        .map(|e| match &*e.kind {
            A::Int { value, .. } => Some(*value),
            _ => None,
        })
        .collect();
    let items: Option<i128> = (0..p.rank(1).unwrap_or(0))
        .map(|a| p.dim(1, a)?.as_constant())
        .try_fold(1i128, |n, d| n.checked_mul(d?));
    let (Some(sizes), Some(items)) = (sizes, items) else { return Vec::new() };
    let changed = |i: usize| {
        let others = sizes.iter().enumerate().filter(|(j, _)| *j != i);
        let others = others.map(|(_, s)| *s).try_fold(1i128, i128::checked_mul)?;
        if others <= 0 || items % others != 0 {
            return None;
        }
        let mut fitting = sizes.clone();
        fitting[i] = items / others;
        let bracket = p.bracket(fitting.into_iter().map(|s| p.int(s)).collect());
        Some(candidate(format!("{items} items fill"), p.with_arg(0, bracket)).grows())
    };
    (0..sizes.len()).rev().filter_map(changed).collect()
}

/// `(f arg)`, the body itself where `f` is a λ of one parameter and the argument a name.
fn applied(node: NodeId, f: &ast::Expr, arg: &ast::Expr) -> ast::Expr {
    if let (A::Lam { params, body, .. }, A::Var(_)) = (&*f.kind, &*arg.kind)
        && let [p] = params.as_slice()
        && let Some(body) = replaced(body, &p.name, arg)
    {
        return body;
    }
    make(node, A::App { func: f.clone(), args: vec![arg.clone()] })
}

/// The expression with a name replaced; `None` where it is more than applications and literals.
fn replaced(e: &ast::Expr, name: &Name, by: &ast::Expr) -> Option<ast::Expr> {
    match &*e.kind {
        A::Var(n) => Some(if n == name { by.clone() } else { e.clone() }),
        A::Int { .. } | A::Float { .. } | A::Bool(_) | A::Char(_) | A::Str(_) => Some(e.clone()),
        A::App { func, args } => {
            let args = args.iter().map(|a| replaced(a, name, by)).collect::<Option<_>>()?;
            Some(make(e.id, A::App { func: replaced(func, name, by)?, args }))
        }
        _ => None,
    }
}

/// `append`, or a λ that appends.
fn is_append(f: &ast::Expr) -> bool {
    match &*f.kind {
        A::Var(n) => n.as_str() == "append",
        A::Lam { body, .. } => matches!(&*body.kind, A::App { func, .. } if is_append(func)),
        _ => false,
    }
}

/// A rerank whose ranks are too high or too low for its arguments.
pub(super) fn other_ranks(p: &Parts) -> Vec<Candidate> {
    let A::Rerank { ranks, func } = &*p.func.kind else { return Vec::new() };
    let mut lists: Vec<Vec<Rank>> = Vec::new();
    let fitting = |(i, r): (usize, &Rank)| match (r, p.rank(i)) {
        (Rank::Of(r), Some(most)) => Rank::Of((*r).min(most as u32)),
        (r, _) => *r,
    };
    lists.push(ranks.iter().enumerate().map(fitting).collect());
    for (i, r) in ranks.iter().enumerate() {
        if let Rank::Of(r) = r {
            let mut higher = ranks.to_vec();
            higher[i] = Rank::Of(r + 1);
            lists.push(higher);
        }
    }
    lists
        .into_iter()
        .filter(|l| l != ranks)
        .map(|ranks| {
            let func = make(p.node, A::Rerank { ranks, func: func.clone() });
            candidate("a rank is that of the argument's cells", p.app(func, p.args.to_vec())).grows()
        })
        .collect()
}

/// `(replicate 3 x)`, `(replicate [2 3] x)` as other languages have it: the shape is an index.
fn replicated(p: &Parts) -> Option<Candidate> {
    let sizes: Vec<u64> = match &*p.args[0].kind {
        A::Int { value, .. } => vec![u64::try_from(*value).ok()?],
        A::Bracket(es) => es
            .iter()
            .map(|e| match &*e.kind {
                A::Int { value, .. } => u64::try_from(*value).ok(),
                _ => None,
            })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let index = |kind| ast::IndexExpr { id: p.node, kind: Box::new(kind) };
    let shape = index(ast::IndexKind::Shape(sizes.iter().map(|s| index(ast::IndexKind::Nat(*s))).collect()));
    let cell = index(ast::IndexKind::Shape(
        (0..p.rank(1)?)
            .map(|a| {
                let size = p.dim(1, a)?.as_constant().and_then(|c| u64::try_from(c).ok())?;
                Some(index(ast::IndexKind::Nat(size)))
            })
            .collect::<Option<_>>()?,
    ));
    let func = make(p.node, A::IApp { func: p.func.clone(), args: vec![shape, cell] });
    let expr = p.app(func, vec![p.args[1].clone()]);
    Some(candidate("the shape is an index, then that of one copy", expr).grows())
}

/// Every other order of positions, those first that keep most of the data in order, then those that
/// move the fewest.
fn permutations(data: &[bool]) -> Vec<Vec<usize>> {
    let n = data.len();
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..n {
        all = all
            .into_iter()
            .flat_map(|o| {
                (0..n).filter(|i| !o.contains(i)).map(|i| [&o[..], &[i]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    let moved = |o: &[usize]| o.iter().enumerate().filter(|(i, j)| i != *j).count();
    all.retain(|o| moved(o) > 0);
    let inversions = |o: &[usize]| {
        let of_data: Vec<usize> = o.iter().copied().filter(|i| data[*i]).collect();
        let before = |(k, a): (usize, &usize)| of_data[k + 1..].iter().filter(|b| a > b).count();
        of_data.iter().enumerate().map(before).sum::<usize>()
    };
    all.sort_by_key(|o| (inversions(o), moved(o)));
    all
}

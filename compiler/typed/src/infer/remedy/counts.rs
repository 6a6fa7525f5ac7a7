//! Candidates where the number of arguments is wrong, or where functions are given that take another
//! number or another order of arguments: what other languages write in one call.

use super::*;

/// Reductions and their operators.
const REDUCTIONS: [(&str, &str); 6] =
    [("max", "max2"), ("min", "min2"), ("sum", "+"), ("product", "*"), ("all", "and"), ("any", "or")];

/// What other languages tell the axis by a further argument.
const ALONG_AN_AXIS: [&str; 20] = [
    "sum", "product", "max", "min", "any", "all", "mean", "argmin", "argmax", "cumsum", "cumprod", "diff",
    "sort", "grade", "reverse", "unique", "median", "std", "var", "length",
];

pub(super) fn by_count(p: &Parts) -> Vec<Candidate> {
    let n = p.args.len();
    let mut out = Vec::new();
    if let A::Rerank { ranks, func } = &*p.func.kind {
        out.extend(rerank_of_as_many(p, ranks, func));
    }
    if n == 2 && ALONG_AN_AXIS.contains(&p.name) && p.rank(0).is_some_and(|r| r > 0) {
        out.extend(along_axis(p));
    }
    match (p.name, n) {
        ("round" | "floor" | "ceiling", 2) => out.extend(to_digits(p)),
        ("random/uniform" | "random/normal", 1) | ("random/ints", 3) => {
            let args = [&[p.int(1), p.bracket(vec![p.args[0].clone()])], &p.args[1..]].concat();
            out.push(candidate("a key comes first, then the shape", p.with_args(args)).grows());
        }
        ("-", 1) => out.push(candidate("the negative is", p.renamed("negate"))),
        ("/", 1) => out.push(candidate("the inverse is", p.with_args(vec![p.int(1), p.args[0].clone()]))),
        ("max" | "min", 2) => {
            let name = if p.name == "max" { "max2" } else { "min2" };
            out.push(candidate(format!("of two numbers, `{name}` takes one"), p.renamed(name)));
        }
        (op, 1) if REDUCTIONS.iter().any(|(_, of)| *of == op) => {
            for (whole, _) in REDUCTIONS.iter().filter(|(_, of)| *of == op) {
                out.push(candidate(format!("over an array, `{whole}` does it"), p.renamed(whole)));
            }
        }
        ("reduce" | "iscan" | "fold/1", 3) => {
            let name = if p.name == "fold/1" { "fold".to_string() } else { format!("{}/zero", p.name) };
            let why = format!("with a value to begin with, it is `{name}`");
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let args = order.map(|i| p.args[i].clone()).to_vec();
                out.push(candidate(&why, p.call(&name, args)));
            }
        }
        ("reduce/zero" | "iscan/zero" | "scan/zero" | "fold" | "reduce-init", 2) => {
            let name = match p.name {
                "scan/zero" | "iscan/zero" => "iscan",
                "fold" => "fold/1",
                _ => "reduce",
            };
            out.push(candidate(format!("without a value to begin with, it is `{name}`"), p.renamed(name)));
        }
        ("subvector", 3) => {
            let row = |e: &ast::Expr| p.bracket(vec![e.clone()]);
            let args = vec![p.args[0].clone(), row(&p.args[1]), row(&p.args[2])];
            out.push(candidate("a part of a given size is `subarray`", p.call("subarray", args)));
        }
        ("concat", 2) => out.push(candidate("two arrays are joined by append", p.renamed("append"))),
        ("<" | "<=" | ">" | ">=" | "=", 3) => {
            let pair = |i: usize| p.with_args(vec![p.args[i].clone(), p.args[i + 1].clone()]);
            out.push(candidate("it compares two", p.call("and", vec![pair(0), pair(1)])));
        }
        ("-" | "/" | "quotient" | "%", 3..) => {
            let mut rest = p.args.iter().cloned();
            if let Some(first) = rest.next() {
                let nested = rest.fold(first, |a, b| p.with_args(vec![a, b]));
                out.push(candidate("it takes two at a time", nested));
            }
        }
        _ => {}
    }
    out.extend(grouped(p));
    out.extend(rest_as_lambda(p));
    for (i, arg) in p.args.iter().enumerate() {
        if let A::Var(given) = &*arg.kind
            && let Some((_, operator)) = REDUCTIONS.iter().find(|(whole, _)| *whole == given.as_str())
        {
            let why = format!("`{given}` is a reduction itself; the operator is `{operator}`");
            out.push(candidate(why, p.with_arg(i, p.var(operator))));
        }
    }
    out
}

impl Checker<'_> {
    /// `(fold (λ (acc x) …) init xs)`: the λ has its parameters in the order of other languages.
    pub(super) fn swapped_parameters(
        &mut self,
        node: NodeId,
        func: &ast::Expr,
        args: &[ast::Expr],
    ) -> Option<Diagnostic<Loc>> {
        let A::Var(name) = &*func.kind else { return None };
        if !matches!(name.as_str(), "fold" | "fold-right" | "trace" | "trace-right" | "fold/1") {
            return None;
        }
        let lambda = args.first()?;
        let A::Lam { params, ret, body } = &*lambda.kind else { return None };
        let [acc, elem] = params.as_slice() else { return None };
        let params = vec![elem.clone(), acc.clone()];
        let swapped = make(lambda.id, A::Lam { params, ret: ret.clone(), body: body.clone() });
        let mut all = args.to_vec();
        all[0] = swapped;
        let fixed = make(node, A::App { func: func.clone(), args: all });
        if !self.checks(&fixed) {
            return None;
        }
        let d = Diagnostic::error(
            codes::FUNCTION_SHAPE,
            format!("`{name}` gives its function the element first, then the accumulator"),
        )
        .primary(Loc::Node(acc.id), "is given the element")
        .secondary(Loc::Node(elem.id), "is given the accumulator");
        Some(d.help(format!("the other way round it fits: {}", brief(&fixed))))
    }
}

/// `(f a b)` of a function of three: the rest are the parameters of a λ.
fn rest_as_lambda(p: &Parts) -> Option<Candidate> {
    let rest = p.params.get(p.args.len()..).filter(|r| !r.is_empty())?;
    let mut args = p.args.to_vec();
    args.extend(rest.iter().map(|n| p.var(n.as_str())));
    let params = rest.iter().map(|n| ast::Param { id: p.node, name: n.clone(), ann: ast::Annotation::None });
    let lambda = A::Lam { params: params.collect(), ret: None, body: p.with_args(args) };
    Some(candidate("to fix some arguments and leave others", make(p.node, lambda)).grows())
}

/// `(round x 2)` of other languages: so many digits behind the point.
fn to_digits(p: &Parts) -> Option<Candidate> {
    let A::Int { value: digits @ 1..=15, .. } = &*p.args[1].kind else { return None };
    let factor = p.int(10i128.pow(*digits as u32));
    let scaled = p.with_args(vec![p.call("*", vec![factor.clone(), p.args[0].clone()])]);
    Some(candidate("to so many digits, it is", p.call("/", vec![scaled, factor])))
}

/// `(sum m 1)` of other languages: the axis is a rerank's matter.
fn along_axis(p: &Parts) -> Option<Candidate> {
    let A::Int { value: axis, .. } = &*p.args[1].kind else { return None };
    let rank = i128::try_from(p.rank(0)?).ok()?;
    let axis = if *axis < 0 { *axis + rank } else { *axis };
    if !(0..rank).contains(&axis) {
        return None;
    }
    let xs = p.args[0].clone();
    // Of vectors, lifted: the last axis without further ado.
    let vectors = matches!(p.name, "mean" | "argmin" | "argmax");
    let expr = match (vectors, axis) {
        (true, a) if a == rank - 1 => p.with_args(vec![xs]),
        (true, 0) if rank == 2 => p.with_args(vec![p.call("transpose", vec![xs])]),
        (true, _) => return None,
        (false, 0) => p.with_args(vec![xs]),
        (false, a) => {
            let ranks = vec![Rank::Of(u32::try_from(rank - a).ok()?)];
            p.app(make(p.node, A::Rerank { ranks, func: p.func.clone() }), vec![xs])
        }
    };
    Some(candidate(format!("there is no axis argument; along axis {axis}"), expr))
}

/// `(iota 2 3)`, `(reshape 2 3 xs)`, `(index m 0 1)`: several arguments that belong into one bracket.
fn grouped(p: &Parts) -> Vec<Candidate> {
    let wanted = match p.name {
        "iota" | "sum" | "product" | "max" | "min" | "any" | "all" | "mean" | "argmin" | "argmax"
        | "sort" | "unique" | "length" => 1,
        "reshape" | "index" | "take" | "drop" | "take-right" | "drop-right" | "rotate" | "tile" => 2,
        _ => return Vec::new(),
    };
    let n = p.args.len();
    if n <= wanted {
        return Vec::new();
    }
    let size = n + 1 - wanted;
    (0..wanted)
        .rev()
        .map(|at| {
            let mut args = p.args[..at].to_vec();
            args.push(p.bracket(p.args[at..at + size].to_vec()));
            args.extend_from_slice(&p.args[at + size..]);
            candidate("they go into one bracket", p.with_args(args)).grows()
        })
        .collect()
}

/// `~(0 1)sum` of one argument, `~(1)reduce` of two: a rank for each argument, functions included.
fn rerank_of_as_many(p: &Parts, ranks: &[Rank], func: &ast::Expr) -> Vec<Candidate> {
    let n = p.args.len();
    let least = (0..n).filter_map(|i| p.rank(i)).min().unwrap_or(0) as u32;
    let mut lists: Vec<Vec<Rank>> = Vec::new();
    if ranks.len() > n {
        lists.push(ranks[ranks.len() - n..].to_vec());
        lists.push(ranks[..n].to_vec());
    } else {
        let missing = n - ranks.len();
        lists.push([vec![Rank::Of(0); missing], ranks.to_vec()].concat());
        if let [one] = ranks {
            lists.push(vec![*one; n]);
        }
        lists.push([ranks.to_vec(), vec![Rank::Of(least); missing]].concat());
    }
    lists
        .into_iter()
        .map(|ranks| {
            let func = make(p.node, A::Rerank { ranks, func: func.clone() });
            candidate("one rank for each argument", p.app(func, p.args.to_vec()))
        })
        .collect()
}

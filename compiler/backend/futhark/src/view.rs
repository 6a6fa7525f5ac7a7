//! Other arrangements of an array: Futhark's own functions where it has one, else a `map` over indices.
//!
//! | view | Futhark |
//! | --- | --- |
//! | reshape | `flatten`, `unflatten` |
//! | permute | `transpose` of neighbouring axes, under as many `map`s as there are axes in front |
//! | reverse, rotate, append, slice, replicate | `reverse`, `rotate`, `++`, `xs[a:b]`, `replicate` |
//! | wrap, cycle | `map` over `iota`, with `%` |

use crate::Error;
use crate::printer::{Printer, R};
use crate::scalar::infix;
use crate::tree::{Line, Place, Tree};
use crate::types::{Sizes, UNKNOWN, ty_text};
use remc_base::BaseTy;
use remc_mono::ir::{Atom, Var, View};

impl Printer<'_> {
    /// The view, and its natural sizes.
    pub fn view(&mut self, view: &View, array: Var, pat: &[Var]) -> R<(Tree, Vec<Sizes>)> {
        let a = self.atom(array.into())?;
        let (base, own) = (self.base(array), self.declared(array)?);
        let (tree, natural) = match view {
            View::Reshape { dims } => {
                let to = self.dims(dims)?;
                (unflattened(flattened(a, own.len()), base, &to), to)
            }
            View::Permute { perm } => (permuted(a, perm), perm.iter().map(|k| own[*k].clone()).collect()),
            View::Reverse => (Tree::call("reverse", vec![a]), own),
            View::Rotate { amounts } => {
                let mut tree = a;
                for (k, amount) in amounts.iter().enumerate() {
                    let by = self.number(*amount)?;
                    tree = under(k, "rotate", vec![by], tree);
                }
                (tree, own)
            }
            View::Append { with } => {
                let mut wanted = self.declared(*with)?;
                if let (Some(first), Some(rest)) = (wanted.first().cloned(), own.get(1..)) {
                    wanted = std::iter::once(first).chain(rest.iter().cloned()).collect();
                }
                let with = self.atom_as((*with).into(), &wanted)?;
                let mut natural = own;
                natural[0] = UNKNOWN.to_owned();
                (Tree::infix("++", a, with), natural)
            }
            View::Slice { start, dims } => {
                let mut places = Vec::new();
                let mut natural = own;
                for (k, (s, d)) in start.iter().zip(dims).enumerate() {
                    let (from, many) = (self.size(*s)?, self.size(*d)?);
                    let to = match (s.as_int(), d.as_int()) {
                        (Some(0), _) => many,
                        (Some(s), Some(d)) => Tree::name(s.saturating_add(d).to_string()),
                        _ => infix("+", from.clone(), many),
                    };
                    places.push(Place::Slice(from, to));
                    natural[k] = UNKNOWN.to_owned();
                }
                (a.at(places), natural)
            }
            View::Wrap { start, dims } => (self.wrapped(a, &own, start, dims)?, {
                let mut natural = self.dims(dims)?;
                natural.extend(own.iter().skip(dims.len()).cloned());
                natural
            }),
            View::Cycle { dims } => {
                let to = self.dims(dims)?;
                let mark = self.names.enter();
                let (flat, i, n) = (self.names.fresh("flat"), self.names.fresh("i"), self.names.fresh("n"));
                self.leave(mark);
                let lines = vec![
                    Line { comments: vec![], pattern: flat.clone(), value: flattened(a, own.len()) },
                    Line {
                        comments: vec![],
                        pattern: n.clone(),
                        value: Tree::call("length", vec![Tree::name(&flat)]),
                    },
                ];
                let at = Tree::infix("%", Tree::name(&i), at_least_one(Tree::name(n)));
                let one = Tree::name(flat).at(vec![Place::At(at)]);
                let count = to.iter().map(Tree::name).reduce(|a, b| Tree::infix("*", a, b));
                let Some(count) = count else { return Err(Error("a cycle without axes".into())) };
                let iota = Tree::call("iota", vec![count]);
                let all = Tree::call("map", vec![Tree::lambda(vec![i], one), iota]);
                (Tree::block(lines, unflattened(all, base, &to)), to)
            }
            View::Replicate { dims } => {
                let mut tree = a;
                for d in dims.iter().rev() {
                    tree = Tree::call("replicate", vec![self.size(*d)?, tree]);
                }
                let mut natural = self.dims(dims)?;
                natural.extend(own);
                (tree, natural)
            }
        };
        match pat {
            [_] => Ok((tree, vec![natural])),
            _ => Err(Error("a view is one array".into())),
        }
    }

    /// Indices that wrap round each of the leading axes.
    fn wrapped(&mut self, a: Tree, own: &Sizes, start: &[Atom], dims: &[Atom]) -> R<Tree> {
        let mark = self.names.enter();
        let names: Vec<String> = dims.iter().map(|_| self.names.fresh("i")).collect();
        let mut places = Vec::new();
        for ((name, s), n) in names.iter().zip(start).zip(own) {
            let n = Tree::name(n);
            let n = at_least_one(n);
            let from = Tree::infix("%", self.number(*s)?, n.clone());
            places.push(Place::At(Tree::infix("%", infix("+", Tree::name(name), from), n)));
        }
        let mut tree = a.at(places);
        for (name, d) in names.iter().zip(dims).rev() {
            let iota = Tree::call("iota", vec![self.size(*d)?]);
            tree = Tree::call("map", vec![Tree::lambda(vec![name.clone()], tree), iota]);
        }
        self.leave(mark);
        Ok(tree)
    }
}

/// What is divided by: where it is 0 there is nothing to divide, but Futhark may look before it knows.
fn at_least_one(n: Tree) -> Tree {
    match &n {
        Tree::Name(text) if text.parse::<u64>().is_ok_and(|n| n > 0) => n,
        _ => Tree::call("i64.max", vec![Tree::name("1"), n]),
    }
}

/// A function of an array, applied to the arrays behind so many axes.
fn under(axes: usize, f: &str, mut args: Vec<Tree>, array: Tree) -> Tree {
    if axes == 0 {
        args.push(array);
        return Tree::call(f, args);
    }
    let mut inner = Tree::call(f, args);
    for _ in 1..axes {
        inner = Tree::call("map", vec![inner]);
    }
    Tree::call("map", vec![inner, array])
}

/// Axis k of the result is axis `perm[k]`: one exchange of neighbours after the other.
fn permuted(array: Tree, perm: &[usize]) -> Tree {
    let mut tree = array;
    let mut now: Vec<usize> = (0..perm.len()).collect();
    for (k, wanted) in perm.iter().enumerate() {
        let Some(mut at) = now.iter().position(|x| x == wanted) else { continue };
        while at > k {
            at -= 1;
            now.swap(at, at + 1);
            tree = under(at, "transpose", Vec::new(), tree);
        }
    }
    tree
}

/// All elements of an array of so many axes as a vector.
pub fn flattened(array: Tree, rank: usize) -> Tree {
    match rank {
        0 => Tree::Array(vec![array]),
        1 => array,
        2 => Tree::call("flatten", vec![array]),
        3 | 4 => Tree::call(format!("flatten_{rank}d"), vec![array]),
        _ => flattened(Tree::call("flatten", vec![array]), rank - 1),
    }
}

/// A vector as an array of these sizes, whose number of elements it has.
pub fn unflattened(flat: Tree, base: BaseTy, sizes: &[String]) -> Tree {
    let whole = |flat: Tree| flat.coerce(ty_text(base, &[sizes.join(" * ")]));
    let unflatten = |name: &str| Tree::call(name, vec![whole(flat.clone())]).coerce(ty_text(base, sizes));
    match sizes.len() {
        0 => flat.at(vec![Place::At(Tree::name("0"))]),
        1 => flat.coerce(ty_text(base, sizes)),
        2 => unflatten("unflatten"),
        3 => unflatten("unflatten_3d"),
        4 => unflatten("unflatten_4d"),
        _ => {
            let rest = sizes[1..].join(" * ");
            let rows = flat.coerce(ty_text(base, &[format!("{} * ({rest})", sizes[0])]));
            let rows =
                Tree::call("unflatten", vec![rows]).coerce(ty_text(base, &[sizes[0].clone(), rest.clone()]));
            let row = format!("(row: {})", ty_text(base, &[rest]));
            let one = unflattened(Tree::name("row"), base, &sizes[1..]);
            Tree::call("map", vec![Tree::lambda(vec![row], one), rows]).coerce(ty_text(base, sizes))
        }
    }
}

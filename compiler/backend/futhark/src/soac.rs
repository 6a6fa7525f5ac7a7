//! Iterations as Futhark's second-order functions.
//!
//! An iteration of Mono has an index and a body that looks up elements. A person writes `map f xs` instead. So each
//! iteration looks which arrays it reads at its own index and nothing else: those become arguments, and their
//! elements parameters. An array that is read at the index of a later axis first is `transpose`d (Futhark does that
//! for free). Where the index is needed beside, `iota n` is an argument too.
//!
//! ```text
//! (map ((%i %n) (%j %k))                      map (\xs_row ->
//!   (reduce (%l %m)                                  map (\ys_col ->
//!     (let (%x) (index %xs %i %l))                         reduce (+) 0.0 (map2 (*) xs_row ys_col))
//!     (let (%y) (index %ys %l %j)) …                     (transpose ys))
//!                                                 xs
//! ```
//!
//! `reduce` and `scan` of Futhark need a neutral element. A start that is none ([`crate::neutral`]) takes part once,
//! through `reduce_from` and `scan_from`. What is not associative is a loop.

use crate::flags::{Stopping, stopping};
use crate::names::{cell, element};
use crate::neutral::is_neutral;
use crate::packs::{pack, pack_names};
use crate::printer::{Peel, Printer, R};
use crate::scalar::{bare, section};
use crate::tree::{Form, Line, Place, Tree};
use crate::types::{Sizes, UNKNOWN, ty_text};
use crate::uses::each_use;
use crate::{Error, neutral};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir::*;

/// The most arrays that `map5` takes.
const MOST_INPUTS: usize = 5;

/// An array that an iteration reads at its index.
struct Input {
    array: Var,
    fixed: Vec<(usize, Atom)>,
    tree: Tree,
    /// The sizes of its cells.
    sizes: Sizes,
    suffix: &'static str,
}

impl<'p> Printer<'p> {
    pub fn map(&mut self, axes: &'p [Axis], body: &'p Body, pat: &[Var]) -> R<(Tree, Vec<Sizes>)> {
        let outer: Sizes = axes.iter().map(|a| self.dim(a.size)).collect::<R<_>>()?;
        let mut wants = Vec::new();
        for v in pat {
            wants.push(self.dims(&self.p.ty(*v).dims[axes.len()..])?);
        }
        let Some((first, rest)) = axes.split_first() else {
            return Ok((self.block(body, &wants)?, wants));
        };
        let tree = self.array_of(first, rest, body, &wants)?;
        if pat.is_empty() {
            let mut flat = tree;
            for _ in rest {
                flat = Tree::call("flatten", vec![flat]);
            }
            return Ok((Tree::call("and", vec![flat]), Vec::new()));
        }
        let natural = wants.iter().map(|w| outer.iter().chain(w).cloned().collect()).collect();
        Ok((self.unzipped(pat.len(), tree), natural))
    }

    /// The array of what the body gives, packed, over an axis and further ones.
    pub fn array_of(&mut self, axis: &'p Axis, rest: &'p [Axis], body: &'p Body, wants: &[Sizes]) -> R<Tree> {
        let (inputs, indexed) = self.inputs(axis, body)?;
        let size = self.size(axis.size)?;
        let mark = self.names.enter();
        let first_peel = self.peels.len();
        let (mut params, mut arguments, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        if indexed {
            let name = self.bind(axis.var);
            params.push(name.clone());
            plain.push(name);
            arguments.push(Tree::call("iota", vec![size.clone()]));
        }
        for i in inputs {
            let array = self.p.vars[i.array].name.clone();
            let wanted = match i.sizes.is_empty() {
                true => element(&crate::names::identifier(array.as_str())),
                false => cell(&crate::names::identifier(array.as_str()), i.suffix),
            };
            let name = self.names.fresh(&wanted);
            params.push(self.param(&name, self.base(i.array), &i.sizes));
            plain.push(name.clone());
            arguments.push(i.tree);
            self.peels.push(Peel { array: i.array, fixed: i.fixed, name });
        }
        let outer = self.axes.insert(axis.var, axis.size);
        self.rows.enter(axis.var, &self.dim(axis.size)?);
        let inner = match rest.split_first() {
            Some((next, rest)) => {
                let tree = self.array_of(next, rest, body, wants)?;
                self.unzipped(wants.len(), tree)
            }
            None => self.block(body, wants)?,
        };
        self.rows.leave();
        if let Some(outer) = outer {
            self.axes.insert(axis.var, outer);
        }
        self.peels.truncate(first_peel);
        self.leave(mark);
        self.forget(axis.var);
        if params.is_empty() {
            if !may_run_once(body) {
                let iota = Tree::call("iota", vec![size]);
                return Ok(Tree::call("map", vec![Tree::lambda(vec!["_".to_owned()], inner), iota]));
            }
            return Ok(Tree::call("replicate", vec![size, inner]));
        }
        Ok(applied(params, &plain, inner, arguments))
    }

    /// The arrays that are read at the index of this axis alone, and whether the index is needed beside.
    fn inputs(&mut self, axis: &Axis, body: &'p Body) -> R<(Vec<Input>, bool)> {
        let i = Atom::Var(axis.var);
        let size = self.dim(axis.size)?;
        let mut uses = 0;
        each_use(body, &mut |a| uses += usize::from(a == i));
        let mut sites: Vec<(Var, &'p [Atom])> = Vec::new();
        body.for_each_stmt(&mut |s| {
            if let Exp::Index { array, at } = &s.exp
                && at.contains(&i)
            {
                sites.push((*array, at));
            }
        });
        let mut inputs: Vec<(Input, usize)> = Vec::new();
        let mut unfit: Vec<Var> = Vec::new();
        for (array, at) in sites {
            match self.input(array, at, i, &size)? {
                Some(input) => {
                    let same = |o: &&mut (Input, usize)| o.0.array == array && o.0.fixed == input.fixed;
                    match inputs.iter_mut().find(same) {
                        Some((_, covered)) => *covered += 1,
                        None => inputs.push((input, 1)),
                    }
                }
                None => unfit.push(array),
            }
        }
        inputs.retain(|(input, _)| !unfit.contains(&input.array));
        let needed = |inputs: &[(Input, usize)]| {
            inputs.iter().map(|x| x.1).sum::<usize>() < uses || self.mentioned_in_types(axis.var)
        };
        let mut indexed = needed(&inputs);
        if inputs.len() + usize::from(indexed) > MOST_INPUTS {
            inputs.truncate(MOST_INPUTS - 1);
            indexed = true;
        }
        Ok((inputs.into_iter().map(|x| x.0).collect(), indexed))
    }

    /// How an array that is read at this index becomes an argument, if it can.
    fn input(&self, array: Var, at: &[Atom], i: Atom, size: &str) -> R<Option<Input>> {
        if !self.in_scope(array) || at.iter().filter(|a| **a == i).count() != 1 {
            return Ok(None);
        }
        let peel = self.best_peel(array, at);
        let mut fixed = peel.map_or_else(Vec::new, |p| p.fixed.clone());
        let mut tree = match peel {
            Some(p) => Tree::name(&p.name),
            None => self.atom(array.into())?,
        };
        if !matches!(tree, Tree::Name(_)) {
            return Ok(None);
        }
        let sizes = self.declared(array)?;
        let dims = &self.p.ty(array).dims;
        loop {
            let free: Vec<usize> = (0..sizes.len()).filter(|k| !fixed.iter().any(|(f, _)| f == k)).collect();
            let &[first, ref others @ ..] = free.as_slice() else { return Ok(None) };
            let Some(&a) = at.get(first) else { return Ok(None) };
            let cell = |own: usize| free.iter().filter(|k| **k != own).map(|k| sizes[*k].clone()).collect();
            if a == i {
                if sizes[first] != size {
                    return Ok(None);
                }
                fixed.push((first, i));
                return Ok(Some(Input { array, fixed, tree, sizes: cell(first), suffix: "_row" }));
            }
            // A row, by the index of an iteration around that is in bounds whatever this one does.
            let row = a.as_var().and_then(|v| self.axes.get(&v).filter(|_| self.in_scope(v)));
            if let Some(all) = row
                && *all == dims[first]
            {
                fixed.push((first, a));
                tree = tree.at(vec![Place::At(self.size(a)?)]);
                continue;
            }
            let later = a.as_var().is_some_and(|v| !self.in_scope(v));
            if let Some(second) = others.first()
                && later
                && at.get(*second) == Some(&i)
                && sizes[*second] == size
            {
                fixed.push((*second, i));
                let tree = Tree::call("transpose", vec![tree]);
                return Ok(Some(Input { array, fixed, tree, sizes: cell(*second), suffix: "_col" }));
            }
            return Ok(None);
        }
    }

    // ---- reductions and scans ----

    pub fn reduce(
        &mut self,
        axis: &'p Axis,
        body: &'p Body,
        op: &'p Combine,
        pat: &[Var],
    ) -> R<(Tree, Vec<Sizes>)> {
        let wants = pat.iter().map(|v| self.declared(*v)).collect::<R<Vec<_>>>()?;
        let start = self.start(op, &wants)?;
        let Some((start, size)) = start.clone().filter(|_| !op.assoc).zip(Some(axis.size)) else {
            return Ok((self.associative("reduce", axis, body, op, start, &wants)?, wants));
        };
        // One element after the other.
        let size = self.atom(size)?;
        let mark = self.names.enter();
        let accs = self.accumulators(op, &wants);
        let i = self.bind(axis.var);
        self.rows.changes(axis.var);
        let next = self.block_with(body, |pr| pr.combined(op, body, &wants))?;
        self.leave(mark);
        self.forget(axis.var);
        let form = Form::For(i, Box::new(size));
        let tree = Tree::Loop { pattern: accs, start: Box::new(start), form, body: Box::new(next) };
        Ok((tree, wants))
    }

    /// The start of a combination, packed.
    fn start(&self, op: &Combine, wants: &[Sizes]) -> R<Option<Tree>> {
        let Some(start) = &op.start else { return Ok(None) };
        let all = start.iter().zip(wants).map(|(a, sizes)| self.atom_as(*a, sizes));
        Ok(Some(pack(all.collect::<R<Vec<_>>>()?)))
    }

    /// Names for the accumulators, as the pattern of a loop.
    fn accumulators(&mut self, op: &Combine, wants: &[Sizes]) -> String {
        let accs = &op.lambda.params[..wants.len().min(op.lambda.params.len())];
        accs.iter().for_each(|v| self.rows.changes(*v));
        pack_names(&accs.iter().map(|v| self.bind(*v)).collect::<Vec<_>>())
    }

    /// What the operator makes of the accumulators, which have names, and of what `body` gives.
    fn combined(&mut self, op: &'p Combine, body: &'p Body, wants: &[Sizes]) -> R<Tree> {
        let mut lines = Vec::new();
        for (v, a) in op.lambda.params.iter().skip(wants.len()).zip(&body.results) {
            let sizes = self.declared(*v)?;
            let value = self.atom_as(*a, &sizes)?;
            if value.is_name() || value.weight(8) < 8 {
                self.bind_to(*v, value);
            } else {
                let pattern = self.bind(*v);
                lines.push(Line { comments: vec![], pattern, value });
            }
        }
        let results = &op.lambda.body.results;
        let tree = self.block_with(&op.lambda.body, |pr| {
            let all = results.iter().zip(wants).map(|(a, sizes)| pr.atom_as(*a, sizes));
            Ok(pack(all.collect::<R<Vec<_>>>()?))
        })?;
        Ok(Tree::block(lines, tree))
    }

    /// `reduce` or `scan`.
    fn associative(
        &mut self,
        what: &'static str,
        axis: &'p Axis,
        body: &'p Body,
        op: &'p Combine,
        start: Option<Tree>,
        wants: &[Sizes],
    ) -> R<Tree> {
        let all = self.array_of(axis, &[], body, wants)?;
        let bases: Vec<BaseTy> = op.lambda.params.iter().take(wants.len()).map(|v| self.base(*v)).collect();
        let stops = stopping(&op.lambda);
        if stops == Stopping::Loop {
            return self.one_by_one(what, axis, all, (op, start), wants);
        }
        let operator = self.operator(&op.lambda, wants)?;
        let any = || pack(bases.iter().zip(wants).map(|(b, sizes)| self.any(*b, sizes)).collect());
        let (from, some) = match what {
            "reduce" => ("reduce_from", "reduce_some"),
            _ => ("scan_from", "scan_some"),
        };
        if stops == Stopping::Flags {
            let (name, begin) = match start {
                Some(start) => (from, start),
                None => (some, any()),
            };
            let x = self.names.fresh("x");
            let fine = |x: Tree| Tree::Tuple(vec![Tree::name("true"), x]);
            let all = Tree::call("map", vec![Tree::lambda(vec![x.clone()], fine(Tree::name(x))), all]);
            let tree = Tree::call(self.helpers.named(name, None), vec![operator, fine(begin), all]);
            return Ok(self.looked_at_behind(what, tree));
        }
        let nothing = bare(any());
        Ok(match start {
            Some(start) if is_neutral(op, &|v| self.definition(v)) => {
                let start = if bases.len() == 1 { bare(start) } else { start };
                Tree::call(what, vec![operator, start, all])
            }
            Some(start) if neutral::of(op, &bases).is_some() => {
                // The start takes part once.
                let one = neutral::of(op, &bases).map_or_else(|| start.clone(), crate::scalar::constant);
                let all = Tree::call(what, vec![operator, bare(one), all]);
                let [base] = bases.as_slice() else {
                    return Err(Error("an operator of one component".into()));
                };
                let ops = op.component_ops().unwrap_or_default();
                let once = |pr: &mut Self, x: Tree| {
                    let [op] = ops.as_slice() else { return None };
                    crate::scalar::apply(&mut pr.helpers, *op, &[*base, *base], vec![bare(start), x], &[])
                };
                let applied = if what == "reduce" {
                    once(self, all)
                } else {
                    let x = self.names.fresh("x");
                    once(self, Tree::name(&x))
                        .map(|one| Tree::call("map", vec![Tree::lambda(vec![x], one), all]))
                };
                applied.ok_or_else(|| Error("an operator without a text".into()))?
            }
            Some(start) => Tree::call(self.helpers.named(from, None), vec![operator, start, all]),
            None => match neutral::of(op, &bases) {
                Some(one) => Tree::call(what, vec![operator, bare(crate::scalar::constant(one)), all]),
                None => Tree::call(self.helpers.named(some, None), vec![operator, nothing, all]),
            },
        })
    }

    /// The operator as a function of two packed values.
    fn operator(&mut self, lambda: &'p Lambda, wants: &[Sizes]) -> R<Tree> {
        if let ([acc, elem], [s]) = (lambda.params.as_slice(), lambda.body.stmts.as_slice())
            && s.pat.first().map(|v| Atom::Var(*v)) == lambda.body.results.first().copied()
            && let Some((op, depth)) = alone(&s.exp, *acc, *elem)
            && let base = self.base(*acc)
            && let Some(mut f) = section(&mut self.helpers, op, base)
        {
            for _ in 0..depth {
                f = Tree::call("map2", vec![f]);
            }
            return Ok(f);
        }
        let mark = self.names.enter();
        let (mut sides, mut lines) = (Vec::new(), Vec::new());
        for side in lambda.params.chunks(wants.len().max(1)) {
            let mut names = Vec::new();
            for (v, sizes) in side.iter().zip(wants) {
                let name = self.bind(*v);
                names.push(self.param(&name, self.base(*v), sizes));
                let declared = self.declared(*v)?;
                if declared != *sizes {
                    let ty = ty_text(self.base(*v), &declared);
                    let pattern = self.bind(*v);
                    lines.push(Line { comments: vec![], pattern, value: Tree::name(name).coerce(ty) });
                }
            }
            sides.push(pack_names(&names));
        }
        if stopping(lambda) == Stopping::Flags {
            let tree = self.flagged(lambda, wants, &sides, lines)?;
            self.leave(mark);
            return Ok(tree);
        }
        let body = self.block_behind(lines, &lambda.body, |pr| {
            let all = lambda.body.results.iter().zip(wants).map(|(a, sizes)| pr.atom_as(*a, sizes));
            Ok(pack(all.collect::<R<Vec<_>>>()?))
        })?;
        self.leave(mark);
        Ok(Tree::lambda(sides, body))
    }

    pub fn scan(
        &mut self,
        kind: ScanKind,
        axis: &'p Axis,
        body: &'p Body,
        op: &'p Combine,
        pat: &[Var],
    ) -> R<(Tree, Vec<Sizes>)> {
        let mut wants = Vec::new();
        for v in pat {
            wants.push(self.dims(&self.p.ty(*v).dims[1..])?);
        }
        let start = self.start(op, &wants)?;
        let n = self.dim(axis.size)?;
        let natural = |first: &str| -> Vec<Sizes> {
            wants
                .iter()
                .map(|w| std::iter::once(first.to_owned()).chain(w.iter().cloned()).collect())
                .collect()
        };
        if let (Some(start), false) = (&start, op.assoc) {
            let sizes = match (kind, pat.first()) {
                (ScanKind::Full, Some(v)) => self.dim(self.p.ty(*v).dims[0])?,
                _ => n.clone(),
            };
            let tree = self.serial_scan(kind, (axis, &n, &sizes), body, op, start.clone(), &wants)?;
            return Ok((tree, natural(&sizes)));
        }
        let tree = self.associative("scan", axis, body, op, start.clone(), &wants)?;
        let (tree, first) = match (kind, start) {
            (ScanKind::Inclusive, _) => (tree, n.as_str()),
            (ScanKind::Exclusive, Some(start)) => {
                let start = if wants.len() == 1 { bare(start) } else { start };
                (Tree::call(self.helpers.named("exclusive", None), vec![start, tree]), n.as_str())
            }
            (ScanKind::Full, Some(start)) => (Tree::infix("++", Tree::Array(vec![start]), tree), UNKNOWN),
            (_, None) => return Err(Error("a scan that starts with nothing".into())),
        };
        Ok((self.unzipped(pat.len(), tree), natural(first)))
    }

    /// A scan that is not associative: a loop that writes its states.
    fn serial_scan(
        &mut self,
        kind: ScanKind,
        (axis, n, sizes): (&'p Axis, &str, &str),
        body: &'p Body,
        op: &'p Combine,
        start: Tree,
        wants: &[Sizes],
    ) -> R<Tree> {
        let starts = self.atoms(op.start.as_deref().unwrap_or_default())?;
        let mark = self.names.enter();
        let accs = self.accumulators(op, wants);
        let states: Vec<Tree> = self
            .atoms(&op.lambda.params.iter().take(wants.len()).map(|v| Atom::Var(*v)).collect::<Vec<_>>())?;
        let outs: Vec<String> = wants.iter().map(|_| self.names.fresh("states")).collect();
        let i = self.bind(axis.var);
        self.rows.changes(axis.var);
        let next = self.block_with(body, |pr| pr.combined(op, body, wants))?;
        let news: Vec<String> = wants.iter().map(|_| self.names.fresh("next")).collect();
        let written = |values: &[Tree], at: &str| -> Vec<Tree> {
            let one = |(out, value): (&String, &Tree)| {
                Tree::With(Box::new(Tree::name(out)), vec![Tree::name(at)], Box::new(value.clone()))
            };
            outs.iter().zip(values).map(one).collect()
        };
        let news_trees: Vec<Tree> = news.iter().map(Tree::name).collect();
        let kept = written(if kind == ScanKind::Inclusive { &news_trees } else { &states }, &i);
        // What an element is written from must not be looked at afterwards in place.
        let step = Tree::Tuple(vec![pack(news_trees), pack(kept)]);
        let next =
            Tree::block(vec![Line { comments: vec![], pattern: pack_names(&news), value: next }], step);
        let empty: Vec<Tree> =
            starts.into_iter().map(|s| Tree::call("replicate", vec![Tree::name(sizes), s])).collect();
        let pattern = format!("({accs}, {})", pack_names(&outs));
        let value = Tree::Loop {
            pattern: pattern.clone(),
            start: Box::new(Tree::Tuple(vec![start, pack(empty)])),
            form: Form::For(i, Box::new(self.atom(axis.size)?)),
            body: Box::new(next),
        };
        let last = match kind {
            ScanKind::Full => pack(written(&states, n)),
            _ => pack(outs.iter().map(Tree::name).collect()),
        };
        self.leave(mark);
        self.forget(axis.var);
        Ok(Tree::block(vec![Line { comments: vec![], pattern, value }], last))
    }

    // ---- the others ----

    pub fn grade(&mut self, axis: &'p Axis, body: &'p Body, gives: Gives) -> R<(Tree, Vec<Sizes>)> {
        let mut wants = Vec::new();
        let mut types = Vec::new();
        for a in &body.results {
            let ty = self.p.atom_ty(*a);
            // The sizes of a key are those of every key: they are known outside.
            let known = ty.dims.iter().all(|d| d.as_var().is_none_or(|v| self.in_scope(v)));
            if !known {
                return Err(Error("keys of sizes of their own".into()));
            }
            wants.push(self.dims(&ty.dims)?);
            types.push(ty.base);
        }
        let all = self.array_of(axis, &[], body, &wants)?;
        let mark = self.names.enter();
        let mut lines = Vec::new();
        let keys = match all {
            Tree::Name(name) => vec![name],
            all => {
                let value = self.unzipped(wants.len(), all);
                let names: Vec<String> = wants.iter().map(|_| self.names.fresh("keys")).collect();
                lines.push(Line { comments: vec![], pattern: pack_names(&names), value });
                names
            }
        };
        let (i, j) = (self.names.fresh("i"), self.names.fresh("j"));
        let mut less: Option<Tree> = None;
        for ((key, base), sizes) in keys.iter().zip(&types).zip(&wants).rev() {
            let at = |k: &str| Tree::name(key).at(vec![Place::At(Tree::name(k))]);
            let before = |pr: &mut Self, a: &str, b: &str| pr.before(*base, sizes.len(), at(a), at(b));
            let first = before(self, &i, &j);
            less = Some(match less {
                None => first,
                Some(rest) => {
                    let not = Tree::unary('!', before(self, &j, &i));
                    Tree::infix("||", first, Tree::infix("&&", not, rest))
                }
            });
        }
        self.leave(mark);
        let less = less.ok_or_else(|| Error("a sort without keys".into()))?;
        let n = self.size(axis.size)?;
        let name = self.helpers.named("grade", None);
        let mut tree = Tree::call(name, vec![n, Tree::lambda(vec![i.clone(), j], less)]);
        if let (Gives::Keys, Some(key)) = (gives, keys.first()) {
            let item = Tree::name(key).at(vec![Place::At(Tree::name(&i))]);
            tree = Tree::call("map", vec![Tree::lambda(vec![i], item), tree]);
        }
        Ok((Tree::block(lines, tree), vec![vec![self.dim(axis.size)?]]))
    }

    /// Whether one key comes before another.
    fn before(&mut self, base: BaseTy, rank: usize, a: Tree, b: Tree) -> Tree {
        if rank == 0 && !base.is_float() && base != BaseTy::Bool {
            return Tree::infix("<", a, b);
        }
        let named = if base == BaseTy::Char { BaseTy::U32 } else { base };
        let less = self.helpers.named("less", Some(named));
        match rank {
            0 => Tree::call(less, vec![a, b]),
            _ => {
                let flat = |t: Tree| crate::view::flattened(t, rank);
                let vectors = self.helpers.named("less_vector", None);
                Tree::call(vectors, vec![Tree::name(less), flat(a), flat(b)])
            }
        }
    }
}

/// Whether a body that does not change may be evaluated once, even if it would not be evaluated at all: what takes
/// something for granted, such as that a size is not negative, does not.
fn may_run_once(body: &Body) -> bool {
    body.stmts.iter().all(|s| match &s.exp {
        Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Literal { .. } => true,
        Exp::If { .. } => s.exp.bodies().into_iter().all(may_run_once),
        _ => false,
    })
}

/// A function of parameters, applied to as many arrays; what it does to them may have a name.
fn applied(params: Vec<String>, plain: &[String], inner: Tree, mut arguments: Vec<Tree>) -> Tree {
    let is = |t: &Tree, name: &String| matches!(t, Tree::Name(n) if n == name);
    let all = |trees: &[Tree]| trees.len() == plain.len() && trees.iter().zip(plain).all(|(t, n)| is(t, n));
    let many = arguments.len();
    let map = if many == 1 { "map".to_owned() } else { format!("map{many}") };
    let mut with = |f: Tree| {
        let mut args = vec![f];
        args.append(&mut arguments);
        Tree::call(map.as_str(), args)
    };
    match inner {
        Tree::Name(ref n) if many == 1 && *n == plain[0] => arguments.remove(0),
        Tree::Tuple(ref parts) if many > 1 && all(parts) => {
            Tree::call(if many == 2 { "zip".to_owned() } else { format!("zip{many}") }, arguments)
        }
        Tree::Infix(op, a, b) if many == 2 && is(&a, &plain[0]) && is(&b, &plain[1]) => {
            with(Tree::name(format!("({op})")))
        }
        Tree::Call(f, args) if all(&args) && f != "assert" => with(Tree::name(f)),
        inner => with(Tree::lambda(params, inner)),
    }
}

/// An operator of two variables, perhaps element by element: under how many `map2`s.
fn alone(e: &Exp, acc: Var, elem: Var) -> Option<(ScalarOp, usize)> {
    match e {
        Exp::Op(op, args) if *args == [Atom::Var(acc), Atom::Var(elem)] => Some((*op, 0)),
        Exp::Map { axes, body } => {
            let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let [x, y, last] = body.stmts.as_slice() else { return None };
            let reads = |s: &Stmt, v: Var| matches!(&s.exp, Exp::Index { array, at: places } if *array == v && *places == at);
            let (Exp::Op(op, args), [r]) = (&last.exp, last.pat.as_slice()) else { return None };
            let operands = [Atom::Var(*x.pat.first()?), Atom::Var(*y.pat.first()?)];
            let fits =
                reads(x, acc) && reads(y, elem) && *args == operands && body.results == [Atom::Var(*r)];
            fits.then_some((*op, axes.len()))
        }
        _ => None,
    }
}

//! Bodies as blocks of `let`s: which values have a line of their own, where checks become assertions, and where the
//! size in a type has to be said.
//!
//! A scalar that is used once, in the body that computes it, is written where it is used; so is what is only
//! another name. A check becomes an `assert` around the next line, or around what the body gives: Futhark drops an
//! assertion that nothing depends on.
//!
//! Futhark compares sizes by how they are written. A variable of Mono has the sizes of its declared type, and what
//! an expression gives has the sizes that Futhark finds for it, its *natural* ones; where they are not the same
//! text, the line has a coercion, `:> [n]f64`, which is checked when the program runs.

use crate::Error;
use crate::guard::Pending;
use crate::packs::{pack, pack_names};
use crate::printer::{Peel, Printer, R, Scope};
use crate::scalar::{self, bare, constant};
use crate::tree::{Line, Place, Tree};
use crate::types::{Sizes, UNKNOWN, ty_text};
use crate::view::unflattened;
use remc_base::BaseTy;
use remc_mono::ir::*;

/// The parts of an expression that has no line of its own.
const MOST_WEIGHT: usize = 24;

impl<'p> Printer<'p> {
    /// What the body gives, each an array of the sizes in `wants`; `true` if it gives nothing.
    pub fn block(&mut self, b: &'p Body, wants: &[Sizes]) -> R<Tree> {
        self.block_with(b, |pr| {
            let results = b.results.iter().zip(wants).map(|(a, sizes)| pr.atom_as(*a, sizes));
            Ok(pack(results.collect::<R<Vec<_>>>()?))
        })
    }

    /// The body's lines, and then what `result` says.
    pub fn block_with(&mut self, b: &'p Body, result: impl FnOnce(&mut Self) -> R<Tree>) -> R<Tree> {
        self.block_behind(Vec::new(), b, result)
    }

    /// The same, behind other lines.
    pub fn block_behind(
        &mut self,
        lines: Vec<Line>,
        b: &'p Body,
        result: impl FnOnce(&mut Self) -> R<Tree>,
    ) -> R<Tree> {
        let mark = self.names.enter();
        self.depth += 1;
        let mut scope = Scope { lines, ..Scope::default() };
        scope.uses(b);
        for s in &b.stmts {
            self.stmt(s, &mut scope)?;
        }
        let result = result(self)?;
        let result = match b.results.is_empty() {
            // It is there for its checks: what it gives is whether they hold.
            true => scope.pending.conjunction().unwrap_or(Tree::name("true")),
            false => asserted(&mut scope.pending, result),
        };
        let result = match scope.comments.is_empty() {
            true => result,
            false => Tree::Noted(std::mem::take(&mut scope.comments), Box::new(result)),
        };
        self.depth -= 1;
        self.leave(mark);
        self.release(b);
        Ok(Tree::block(scope.lines, result))
    }

    /// Behind a body its variables are not known.
    pub fn release(&mut self, b: &Body) {
        for s in &b.stmts {
            s.pat.iter().for_each(|v| self.forget(*v));
        }
    }

    pub fn stmt(&mut self, s: &'p Stmt, scope: &mut Scope) -> R<()> {
        if let Exp::Check { trap, cond, .. } = &s.exp {
            let format = trap.format();
            let message: String = format
                .message
                .iter()
                .map(|piece| match piece {
                    remc_base::trap::Piece::Text(text) => text.replace('\n', " "),
                    _ => "…".to_owned(),
                })
                .collect();
            let place = (self.places)(s.prov).map_or(String::new(), |p| format!("{p}: "));
            scope.comments.push(format!("{place}stops if {message} ({})", format.code));
            scope.pending.push(self.rows.empty(self.rows.of(*cond)), self.atom(*cond)?);
            return Ok(());
        }
        let level = self.rows.bind(s);
        match (&s.exp, s.pat.as_slice()) {
            (Exp::Filter { axis, body }, pat) => return self.filter(axis, body, pat, s, scope),
            (Exp::Join { axis, regular, body }, pat) => {
                return self.join(axis, *regular, body, pat, s, scope);
            }
            _ => {}
        }
        let (tree, natural) = self.exp(s)?;
        match s.pat.as_slice() {
            // It is there for its checks.
            [] => scope.pending.push(self.rows.empty(level), tree),
            [v] => {
                let declared = self.declared(*v)?;
                let tree = if natural[0] == declared {
                    tree
                } else {
                    let tree = tree.coerce(ty_text(self.base(*v), &declared));
                    // A slice looks whether it is inside of the array.
                    let (own, looks) = match &s.exp {
                        Exp::View { view: View::Slice { start, dims }, .. } => {
                            (start.iter().chain(dims).map(|a| self.rows.of(*a)).max(), true)
                        }
                        _ => (None, declared.iter().any(|n| self.extents.values().any(|e| e == n))),
                    };
                    let sizes = self.p.ty(*v).dims.iter().map(|a| self.rows.of(*a)).max();
                    match looks {
                        true => self.looked_at(own.or(sizes).unwrap_or(0), self.base(*v), &declared, tree),
                        false => tree,
                    }
                };
                let tree = self.whole(level, &[(self.base(*v), declared.clone())], tree);
                let tree = match (self.only_extent(*v), tree) {
                    (true, tree) if !tree.is_name() => {
                        Tree::call("i64.max", vec![Tree::name("0"), bare(tree)])
                    }
                    (_, tree) => tree,
                };
                let once = self.uses.get(v).is_none_or(|n| *n <= 1) && scope.local.contains(v);
                let small = match declared.is_empty() {
                    true => tree.weight(MOST_WEIGHT) < MOST_WEIGHT,
                    false => is_plain_replicate(&tree),
                };
                let sized = self.in_types.contains(v) || self.facts.doubtful.contains(v);
                if tree.is_name() || (once && small && !sized && !stops(&s.exp)) {
                    self.bind_to(*v, tree);
                    scope.lines.extend(self.extent(*v));
                    return Ok(());
                }
                let pattern = self.bind(*v);
                self.line(scope, s, pattern, tree);
                if !self.only_extent(*v) {
                    scope.lines.extend(self.extent(*v));
                }
            }
            pat => {
                let (mut names, mut later) = (Vec::new(), Vec::new());
                for (v, natural) in pat.iter().zip(&natural) {
                    // The sizes may be bound by this very pattern.
                    let same = !natural.iter().any(|n| n == UNKNOWN) && self.declared(*v)? == *natural;
                    if same {
                        names.push(self.bind(*v));
                    } else {
                        let name = self.names.fresh(self.p.vars[*v].name.as_str());
                        names.push(name.clone());
                        later.push((*v, name));
                    }
                }
                let types = pat.iter().zip(&natural).map(|(v, n)| (self.base(*v), n.clone()));
                let tree = self.whole(level, &types.collect::<Vec<_>>(), tree);
                self.line(scope, s, pack_names(&names), tree);
                for v in pat {
                    scope.lines.extend(self.extent(*v));
                }
                for (v, name) in later {
                    let declared = self.declared(v)?;
                    let value = Tree::name(name).coerce(ty_text(self.base(v), &declared));
                    let pattern = self.bind(v);
                    scope.lines.push(Line { comments: Vec::new(), pattern, value });
                }
            }
        }
        Ok(())
    }

    /// A line, around which what is pending is asserted.
    pub fn line(&mut self, scope: &mut Scope, s: &Stmt, pattern: String, value: Tree) {
        if self.depth == 1
            && !matches!(s.exp, Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. })
            && let Some(place) = (self.places)(s.prov)
            && scope.place.as_ref() != Some(&place)
        {
            scope.comments.push(place.clone());
            scope.place = Some(place);
        }
        if let (Exp::Literal { elems, .. }, [v]) = (&s.exp, s.pat.as_slice())
            && self.base(*v) == BaseTy::Char
            && self.p.ty(*v).rank() == 1
        {
            let chars = elems.iter().map(|a| match a.constant() {
                Some(remc_base::Scalar::Char(c)) => Some(c),
                _ => None,
            });
            if let Some(text) = chars.collect::<Option<String>>() {
                scope.comments.push(format!("{text:?}"));
            }
        }
        let comments = std::mem::take(&mut scope.comments);
        let value = asserted(&mut scope.pending, value);
        scope.lines.push(Line { comments, pattern, value });
    }

    // ---- expressions ----

    /// An expression, a tuple if it binds several variables, and the natural sizes of each of those.
    fn exp(&mut self, s: &'p Stmt) -> R<(Tree, Vec<Sizes>)> {
        let scalar = |tree: Tree| Ok((tree, vec![Vec::new()]));
        match &s.exp {
            Exp::Atom(a) => Ok((self.atom(*a)?, vec![self.sizes_of(*a)?])),
            Exp::Op(op, args) => {
                let tys: Vec<BaseTy> = args.iter().map(|a| self.p.atom_ty(*a).base).collect();
                let constants: Vec<_> = args.iter().map(|a| a.constant()).collect();
                let args = self.atoms(args)?;
                match scalar::apply(&mut self.helpers, *op, &tys, args, &constants) {
                    Some(tree) => scalar(tree),
                    None => Err(Error(format!("`{op}` of {tys:?}"))),
                }
            }
            Exp::Cast(to, a) => {
                let from = self.p.atom_ty(*a).base;
                let a = self.atom(*a)?;
                match scalar::cast(&mut self.helpers, from, *to, a) {
                    Some(tree) => scalar(tree),
                    None => Err(Error(format!("a cast from {from} to {to}"))),
                }
            }
            Exp::Literal { dims, elems } => {
                let base = s.pat.first().map_or(BaseTy::I64, |v| self.base(*v));
                self.literal(base, dims, elems)
            }
            Exp::Index { array, at } => {
                let natural = self.dims(&self.p.ty(*array).dims[at.len()..])?;
                let tree = self.index(*array, at)?;
                if let Tree::Index(..) = tree {
                    let places = self.places_left(*array, at);
                    let level = places.iter().map(|k| self.rows.of(at[*k])).max().unwrap_or(0);
                    let dims = &self.p.ty(*array).dims;
                    let inside = places.iter().all(|k| {
                        at[*k].as_int().zip(dims[*k].as_int()).is_some_and(|(i, n)| (0..n).contains(&i))
                    });
                    if !inside {
                        let base = self.base(*array);
                        return Ok((self.looked_at(level, base, &natural, tree), vec![natural]));
                    }
                }
                Ok((tree, vec![natural]))
            }
            Exp::If { cond, then, otherwise } => self.choice(*cond, then, otherwise, &s.pat),
            Exp::For { axis, state, body } => self.repeat(state, body, Some(axis), None),
            Exp::While { state, cond, body } => self.repeat(state, body, None, Some(cond)),
            Exp::Map { axes, body } => self.map(axes, body, &s.pat),
            Exp::Reduce { axis, body, op } => self.reduce(axis, body, op, &s.pat),
            Exp::Scan { kind, axis, body, op } => self.scan(*kind, axis, body, op, &s.pat),
            Exp::Scatter { dests, axis, body, combine } => {
                self.scatter(dests, axis, body, combine.as_ref(), &s.pat)
            }
            Exp::Grade { axis, body, gives } => self.grade(axis, body, *gives),
            Exp::View { view, array } => self.view(view, *array, &s.pat),
            Exp::Filter { .. }
            | Exp::Join { .. }
            | Exp::Check { .. }
            | Exp::Pull { .. }
            | Exp::Push { .. } => Err(Error("a statement that binds by itself".into())),
        }
    }

    /// The axes that an index is still looked up in.
    fn places_left(&self, array: Var, at: &[Atom]) -> Vec<usize> {
        let fixed = self.best_peel(array, at).map_or(&[][..], |p| &p.fixed);
        (0..at.len()).filter(|k| !fixed.iter().any(|(axis, _)| axis == k)).collect()
    }

    /// An element or cell, by the best name that there is for a part of the array.
    pub fn index(&mut self, array: Var, at: &[Atom]) -> R<Tree> {
        let (base, fixed) = match self.best_peel(array, at) {
            Some(peel) => (Tree::name(&peel.name), peel.fixed.clone()),
            None => (self.atom(array.into())?, Vec::new()),
        };
        let mut places = Vec::new();
        for (k, a) in at.iter().enumerate() {
            if !fixed.iter().any(|(axis, _)| *axis == k) {
                places.push(Place::At(self.size(*a)?));
            }
        }
        Ok(base.at(places))
    }

    /// The part of an array with the most axes of this index fixed.
    pub fn best_peel(&self, array: Var, at: &[Atom]) -> Option<&Peel> {
        let fits = |p: &&Peel| p.array == array && p.fixed.iter().all(|(k, a)| at.get(*k) == Some(a));
        self.peels.iter().filter(fits).max_by_key(|p| p.fixed.len())
    }

    fn literal(&mut self, base: BaseTy, dims: &[Atom], elems: &[Atom]) -> R<(Tree, Vec<Sizes>)> {
        let natural = self.dims(dims)?;
        let elems = self.atoms(elems)?;
        let sizes: Option<Vec<usize>> =
            dims.iter().map(|d| d.as_int().and_then(|n| usize::try_from(n).ok())).collect();
        let tree = match sizes {
            Some(sizes) if elems.is_empty() || sizes.is_empty() => match elems.into_iter().next() {
                Some(one) => one,
                None => dims.iter().rev().try_fold(constant(remc_base::ops::zero(base)), |t, d| {
                    Ok::<_, Error>(Tree::call("replicate", vec![self.size(*d)?, t]))
                })?,
            },
            Some(sizes) => nested(&sizes, elems),
            None => {
                let flat = match elems.is_empty() {
                    true => {
                        let zero = constant(remc_base::ops::zero(base));
                        Tree::call("replicate", vec![Tree::name("0"), zero])
                    }
                    false => nested(&[elems.len()], elems),
                };
                return Ok((unflattened(flat, base, &natural), vec![natural]));
            }
        };
        Ok((tree, vec![natural]))
    }
}

/// Whether an expression can stop the program.
fn stops(e: &Exp) -> bool {
    e.can_stop()
}

fn is_plain_replicate(t: &Tree) -> bool {
    matches!(t, Tree::Call(f, args) if f == "replicate" && args.iter().all(|a| a.is_name() || is_plain_replicate(a)))
}

/// The value once all that is pending holds.
fn asserted(pending: &mut Pending, value: Tree) -> Tree {
    match pending.conjunction() {
        Some(cond) => Tree::call("assert", vec![cond, value]),
        None => value,
    }
}

/// Elements in row-major order as an array of arrays; all but the first leave out the type.
fn nested(sizes: &[usize], elems: Vec<Tree>) -> Tree {
    let mut parts: Vec<Tree> = Vec::with_capacity(elems.len());
    for (k, e) in elems.into_iter().enumerate() {
        parts.push(if k == 0 { e } else { without_type(e) });
    }
    for n in sizes.iter().skip(1).rev() {
        parts = parts.chunks((*n).max(1)).map(|c| Tree::Array(c.to_vec())).collect();
    }
    Tree::Array(parts)
}

fn without_type(t: Tree) -> Tree {
    match t {
        Tree::Name(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            let end = text.find(['i', 'u', 'f']).unwrap_or(text.len());
            Tree::name(&text[..end])
        }
        Tree::Unary('-', a) => Tree::unary('-', without_type(*a)),
        other => other,
    }
}

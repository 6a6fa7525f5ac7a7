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

use crate::guard::{Pending, Rows, SizeFacts};
use crate::helpers::Helpers;
use crate::names::{Mark, Names};
use crate::scalar::{self, bare, constant, type_name};
use crate::tree::{Form, Line, Place, Tree};
use crate::{Error, Places};
use remc_base::BaseTy;
use remc_mono::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub type R<T> = Result<T, Error>;

/// The sizes of an array, as they are written.
pub type Sizes = Vec<String>;

/// A size that has no name.
pub const UNKNOWN: &str = "?";

/// The parts of an expression that has no line of its own.
const MOST_WEIGHT: usize = 24;

/// A part of an array by the name that an iteration has for it.
pub struct Peel {
    pub array: Var,
    /// The axes that have an index, and which.
    pub fixed: Vec<(usize, Atom)>,
    pub name: String,
}

pub struct Printer<'p> {
    pub p: &'p Program,
    pub names: Names,
    pub helpers: Helpers,
    pub peels: Vec<Peel>,
    /// The sizes of the iterations around, by their index variables.
    pub axes: FxHashMap<Var, Atom>,
    pub places: Places<'p>,
    /// The functions of elements around.
    pub rows: Rows,
    facts: SizeFacts,
    /// Sizes that are not negative, by the names of those that may be.
    extents: FxHashMap<String, String>,
    env: FxHashMap<Var, Tree>,
    uses: FxHashMap<Var, usize>,
    /// The variables that types mention.
    in_types: FxHashSet<Var>,
    /// The arrays that loops around carry. Futhark knows their sizes only when it has seen all of the loop.
    states: FxHashSet<Var>,
    defs: FxHashMap<Var, &'p Exp>,
    depth: usize,
}

/// A block under construction.
#[derive(Default)]
pub struct Scope {
    pub lines: Vec<Line>,
    /// What has to hold before anything that follows.
    pub pending: Pending,
    pub comments: Vec<String>,
    pub place: Option<String>,
    /// The variables that are used in the body itself, not in those inside it.
    pub local: FxHashSet<Var>,
}

impl Scope {
    /// What a body uses itself.
    pub fn uses(&mut self, b: &Body) {
        let mut used = |a: Atom| {
            if let Atom::Var(v) = a {
                self.local.insert(v);
            }
        };
        b.stmts.iter().for_each(|s| s.exp.for_each_operand(&mut used));
        b.results.iter().for_each(|a| used(*a));
    }
}

impl<'p> Printer<'p> {
    pub fn new(p: &'p Program, places: Places<'p>) -> Printer<'p> {
        let (mut uses, mut defs) = (FxHashMap::default(), FxHashMap::default());
        each_use(&p.body, &mut |a| {
            if let Atom::Var(v) = a {
                *uses.entry(v).or_insert(0) += 1;
            }
        });
        let mut bound: Vec<Var> = p.params.clone();
        p.body.for_each_stmt(&mut |s| {
            bound.extend(&s.pat);
            bound.extend(s.exp.inner_binders());
            if let [v] = s.pat.as_slice() {
                defs.insert(*v, &s.exp);
            }
        });
        let in_types = bound.iter().flat_map(|v| &p.ty(*v).dims).filter_map(|d| d.as_var()).collect();
        Printer {
            p,
            places,
            uses,
            rows: Rows::default(),
            facts: SizeFacts::default(),
            extents: FxHashMap::default(),
            in_types,
            states: FxHashSet::default(),
            defs,
            names: Names::default(),
            helpers: Helpers::default(),
            peels: Vec::new(),
            axes: FxHashMap::default(),
            env: FxHashMap::default(),
            depth: 0,
        }
    }

    // ---- variables and types ----

    /// A variable gets a name.
    pub fn bind(&mut self, v: Var) -> String {
        let name = self.names.fresh(self.p.vars.get(v).map_or("v", |i| i.name.as_str()));
        self.env.insert(v, Tree::name(&name));
        name
    }

    pub fn bind_to(&mut self, v: Var, t: Tree) {
        self.env.insert(v, t);
    }

    pub fn in_scope(&self, v: Var) -> bool {
        self.env.contains_key(&v)
    }

    /// Behind its scope a variable is not known.
    pub fn forget(&mut self, v: Var) {
        self.env.remove(&v);
    }

    pub fn mentioned_in_types(&self, v: Var) -> bool {
        self.in_types.contains(&v)
    }

    pub fn definition(&self, v: Var) -> Option<&'p Exp> {
        self.defs.get(&v).copied()
    }

    pub fn atom(&self, a: Atom) -> R<Tree> {
        match a {
            Atom::Const(c) => Ok(constant(c)),
            Atom::Var(v) => match self.env.get(&v) {
                Some(t) => Ok(t.clone()),
                None => Err(Error(format!("{v:?} has no name where it is used"))),
            },
        }
    }

    pub fn atoms(&self, all: &[Atom]) -> R<Vec<Tree>> {
        all.iter().map(|a| self.atom(*a)).collect()
    }

    /// A number or index: no type has to be said.
    pub fn number(&self, a: Atom) -> R<Tree> {
        Ok(bare(self.atom(a)?))
    }

    /// A size, or an index in bounds: never negative.
    pub fn size(&self, a: Atom) -> R<Tree> {
        Ok(match self.number(a)? {
            Tree::Name(text) => Tree::name(self.extents.get(&text).unwrap_or(&text)),
            // A constant that is negative is one where nothing has this size.
            Tree::Unary('-', n) if n.is_name() => Tree::name("0"),
            other => other,
        })
    }

    /// Before anything is printed: which parameters are lengths of arrays.
    pub fn lengths(&mut self, lengths: &[Var]) {
        self.facts = crate::guard::size_facts(self.p, lengths);
    }

    /// A line for the size that a variable is, if it may be negative where functions of elements mention it.
    pub fn extent(&mut self, v: Var) -> Option<Line> {
        if !self.facts.doubtful.contains(&v) {
            return None;
        }
        let Some(Tree::Name(own)) = self.env.get(&v).cloned() else { return None };
        if self.extents.contains_key(&own) || own.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let pattern = self.names.fresh(&format!("{own}_size"));
        self.extents.insert(own.clone(), pattern.clone());
        let value = Tree::call("i64.max", vec![Tree::name("0"), Tree::name(own)]);
        Some(Line { comments: Vec::new(), pattern, value })
    }

    /// Behind a scope its names are free again.
    pub fn leave(&mut self, mark: Mark) {
        self.names.leave(mark);
        let names = &self.names;
        self.extents.retain(|own, size| names.in_scope(own) && names.in_scope(size));
    }

    /// Whether a variable is a size that may be negative, and nothing else.
    fn only_extent(&self, v: Var) -> bool {
        self.facts.doubtful.contains(&v) && self.uses.get(&v) == self.facts.as_size.get(&v)
    }

    /// A size as it stands in a type.
    pub fn dim(&self, a: Atom) -> R<String> {
        match self.size(a)? {
            Tree::Name(text) => Ok(text),
            // One that no type mentions: it is only compared.
            other => Ok(crate::tree::layout(&other, 0, 0)),
        }
    }

    pub fn dims(&self, all: &[Atom]) -> R<Sizes> {
        all.iter().map(|a| self.dim(*a)).collect()
    }

    /// The sizes of the variable's declared type.
    pub fn declared(&self, v: Var) -> R<Sizes> {
        self.dims(&self.p.ty(v).dims)
    }

    pub fn base(&self, v: Var) -> BaseTy {
        self.p.ty(v).base
    }

    /// The natural sizes of an operand: a variable's are those of its type.
    pub fn sizes_of(&self, a: Atom) -> R<Sizes> {
        match a {
            Atom::Var(v) => self.declared(v),
            Atom::Const(_) => Ok(Vec::new()),
        }
    }

    /// An operand as an array of these sizes.
    pub fn atom_as(&self, a: Atom, sizes: &Sizes) -> R<Tree> {
        let (tree, natural) = (self.atom(a)?, self.sizes_of(a)?);
        let same = |(own, wanted): (&String, &String)| wanted == UNKNOWN || own == wanted;
        if natural.len() != sizes.len() || natural.iter().zip(sizes).all(same) {
            return Ok(tree);
        }
        Ok(tree.coerce(ty_text(self.p.atom_ty(a).base, sizes)))
    }

    /// A parameter as a function has it: an array says its type.
    pub fn param(&self, name: &str, base: BaseTy, sizes: &Sizes) -> String {
        match sizes.is_empty() {
            true => name.to_owned(),
            false => format!("({name}: {})", ty_text(base, sizes)),
        }
    }

    // ---- bodies ----

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
    fn line(&mut self, scope: &mut Scope, s: &Stmt, pattern: String, value: Tree) {
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

    fn filter(
        &mut self,
        axis: &'p Axis,
        body: &'p Body,
        pat: &'p [Var],
        s: &Stmt,
        scope: &mut Scope,
    ) -> R<()> {
        let [count, arrays @ ..] = pat else { return Err(Error("a filter that counts nothing".into())) };
        let mut wants = vec![Vec::new()];
        for v in arrays {
            wants.push(self.dims(&self.p.ty(*v).dims[1..])?);
        }
        let all = self.array_of(axis, &[], body, &wants)?;
        if arrays.is_empty() {
            let ones = Tree::call("map", vec![Tree::name("i64.bool"), all]);
            let value = Tree::call("reduce", vec![Tree::name("(+)"), Tree::name("0"), ones]);
            let pattern = self.bind(*count);
            self.line(scope, s, pattern, value);
            return Ok(());
        }
        let k = self.bind(*count);
        let sized =
            |name: &str, base: BaseTy, cell: &Sizes| format!("[{k}] ({name}: [{k}]{})", ty_text(base, cell));
        if let (Some(value), [v]) = (kept_itself(&all), arrays) {
            let name = self.bind(*v);
            let pattern = sized(&name, self.base(*v), &wants[1]);
            self.line(scope, s, pattern, value);
            return Ok(());
        }
        let mut types = vec!["bool".to_owned()];
        types.extend(arrays.iter().zip(&wants[1..]).map(|(v, cell)| ty_text(self.base(*v), cell)));
        let keep = pack_names(
            &(0..wants.len()).map(|k| if k == 0 { "keep" } else { "_" }.to_owned()).collect::<Vec<_>>(),
        );
        let value = Tree::call("filter", vec![Tree::lambda(vec![keep], Tree::name("keep")), all]);
        let name = self.names.fresh("kept");
        self.line(scope, s, format!("[{k}] ({name}: [{k}]{})", pack_names(&types)), value);
        let value = self.unzipped(wants.len(), Tree::name(name));
        let mut names = vec!["_".to_owned()];
        names.extend(arrays.iter().map(|v| self.bind(*v)));
        scope.lines.push(Line { comments: Vec::new(), pattern: pack_names(&names), value });
        Ok(())
    }

    /// Arrays of their own sizes, one after the other: a loop that appends. What is left of these when a program
    /// has been optimised is what no segmented operator can do.
    fn join(
        &mut self,
        axis: &'p Axis,
        regular: usize,
        body: &'p Body,
        pat: &'p [Var],
        s: &Stmt,
        scope: &mut Scope,
    ) -> R<()> {
        let (maps, joined) = pat.split_at(regular);
        for (k, v) in maps.iter().enumerate() {
            let cell = self.dims(&self.p.ty(*v).dims[1..])?;
            let mark = self.names.enter();
            let i = self.bind(axis.var);
            self.rows.enter(axis.var, &self.dim(axis.size)?);
            let element = self.block_with(body, |pr| pr.atom_as(body.results[k], &cell))?;
            self.rows.leave();
            self.leave(mark);
            let iota = Tree::call("iota", vec![self.size(axis.size)?]);
            let value = Tree::call("map", vec![Tree::lambda(vec![i], element), iota]);
            let pattern = self.bind(*v);
            self.line(scope, s, pattern, value);
        }
        for (k, part) in joined.chunks(3).enumerate() {
            let [total, starts, data] = part else { return Err(Error("a join of less than three".into())) };
            let base = self.base(*data);
            let mark = self.names.enter();
            let (from, all) = (self.names.fresh("starts"), self.names.fresh("data"));
            let i = self.bind(axis.var);
            self.rows.changes(axis.var);
            let given = body.results[regular + k];
            let rank = self.p.atom_ty(given).rank();
            let next = self.block_with(body, |pr| {
                let flat = crate::view::flattened(pr.atom(given)?, rank);
                let here = Tree::Array(vec![Tree::call("length", vec![Tree::name(&all)])]);
                let starts = Tree::infix("++", Tree::name(&from), here);
                Ok(Tree::Tuple(vec![starts, Tree::infix("++", Tree::name(&all), flat)]))
            })?;
            self.leave(mark);
            let none = |t: BaseTy| {
                let zero = constant(remc_base::ops::zero(t));
                Tree::call("replicate", vec![Tree::name("0"), zero])
            };
            let value = Tree::Loop {
                pattern: format!("({from}, {all})"),
                start: Box::new(Tree::Tuple(vec![none(BaseTy::I64), none(base)])),
                form: Form::For(i, Box::new(self.atom(axis.size)?)),
                body: Box::new(next),
            };
            let own = self.declared(*starts)?;
            let name = self.bind(*starts);
            let (first, count) = (self.names.fresh(&name), self.bind(*total));
            let array = self.bind(*data);
            let pattern = format!("[{count}] ({first}, {array}: [{count}]{})", type_name(base));
            self.line(scope, s, pattern, value);
            let value = Tree::name(first).coerce(ty_text(BaseTy::I64, &own));
            scope.lines.push(Line { comments: Vec::new(), pattern: name, value });
        }
        Ok(())
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
            Exp::Grade { axis, body } => self.grade(axis, body),
            Exp::View { view, array } => self.view(view, *array, &s.pat),
            Exp::Filter { .. } | Exp::Join { .. } | Exp::Check { .. } => {
                Err(Error("a statement that binds by itself".into()))
            }
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
                return Ok((crate::view::unflattened(flat, base, &natural), vec![natural]));
            }
        };
        Ok((tree, vec![natural]))
    }

    fn choice(
        &mut self,
        cond: Atom,
        then: &'p Body,
        otherwise: &'p Body,
        pat: &[Var],
    ) -> R<(Tree, Vec<Sizes>)> {
        let cond = self.atom(cond)?;
        let mut wants = Vec::new();
        for v in pat {
            // A size that the branches give themselves has no name yet.
            let own = self.p.ty(*v).dims.iter().any(|d| d.as_var().is_some_and(|x| pat.contains(&x)));
            wants.push(if own { vec![UNKNOWN.to_owned(); self.p.ty(*v).rank()] } else { self.declared(*v)? });
        }
        let then = self.block(then, &wants)?;
        let otherwise = self.block(otherwise, &wants)?;
        Ok((Tree::choice(cond, then, otherwise), wants))
    }

    /// A loop, a fixed number of times or while a condition holds.
    fn repeat(
        &mut self,
        state: &'p [(Var, Atom)],
        body: &'p Body,
        axis: Option<&'p Axis>,
        cond: Option<&'p Body>,
    ) -> R<(Tree, Vec<Sizes>)> {
        let vars: Vec<Var> = state.iter().map(|s| s.0).collect();
        // The index is of the type of its bound.
        let form = match axis {
            Some(axis) => Some(self.atom(axis.size)?),
            None => None,
        };
        let starts: Vec<Tree> = self.atoms(&state.iter().map(|s| s.1).collect::<Vec<_>>())?;
        let own = |v: Var| self.p.ty(v).dims.iter().any(|d| d.as_var().is_some_and(|x| vars.contains(&x)));
        let changing: Vec<bool> = vars.iter().map(|v| own(*v)).collect();
        let mark = self.names.enter();
        // Sizes first: the types of the others may mention them.
        let mut names = vec![String::new(); vars.len()];
        let mut later = Vec::new();
        for pass in [false, true] {
            for (k, v) in vars.iter().enumerate() {
                if changing[k] == pass {
                    if pass {
                        names[k] = self.names.fresh(self.p.vars[*v].name.as_str());
                    } else {
                        names[k] = self.bind(*v);
                    }
                }
            }
        }
        vars.iter().chain(axis.map(|a| &a.var)).for_each(|v| self.rows.changes(*v));
        // Sizes that may be negative have a line of their own, in front of what has them.
        for v in &vars {
            if let Some(line) = self.extent(*v) {
                later.push((*v, line));
            }
        }
        // A loop says nothing of the sizes that change: Futhark finds that they do.
        let (mut wants, mut start) = (vec![], vec![]);
        for (k, v) in vars.iter().enumerate() {
            if changing[k] {
                wants.push(vec![UNKNOWN.to_owned(); self.p.ty(*v).rank()]);
                let declared = self.declared(*v)?;
                let value = Tree::name(&names[k]).coerce(ty_text(self.base(*v), &declared));
                let pattern = self.bind(*v);
                later.push((*v, Line { comments: Vec::new(), pattern, value }));
                start.push(starts[k].clone());
            } else {
                wants.push(self.declared(*v)?);
                let from = self.atom_as(state[k].1, &wants[k])?;
                // Where the sizes are not known yet, those of this loop would be taken to change.
                let open = state[k].1.as_var().is_some_and(|v| self.states.contains(&v)) && from.is_name();
                start.push(if open { from.coerce(ty_text(self.base(*v), &wants[k])) } else { from });
            }
        }
        self.states.extend(vars.iter().filter(|v| !self.p.ty(**v).is_scalar()));
        let form = match (axis, cond) {
            (Some(axis), _) => Form::For(self.bind(axis.var), Box::new(form.unwrap_or(Tree::name("0")))),
            (None, Some(cond)) => {
                let mut asked = FxHashSet::default();
                each_use(cond, &mut |a| asked.extend(a.as_var()));
                let own = later.iter().filter(|(v, _)| asked.contains(v)).map(|(_, line)| line.clone());
                let test = self.block_behind(own.collect(), cond, |pr| pr.atom(cond.results[0]))?;
                Form::While(Box::new(test))
            }
            (None, None) => return Err(Error("a loop without an end".into())),
        };
        let later = later.into_iter().map(|(_, line)| line).collect();
        let next = self.block_behind(later, body, |pr| {
            let results = body.results.iter().zip(&wants).map(|(a, sizes)| pr.atom_as(*a, sizes));
            Ok(pack(results.collect::<R<Vec<_>>>()?))
        })?;
        self.leave(mark);
        self.states.retain(|v| !vars.contains(v));
        vars.iter().chain(axis.map(|a| &a.var)).for_each(|v| self.forget(*v));
        // One state may become another: Futhark has to be told that they are as large as each other.
        let sized = |k: usize| !changing[k] && !self.p.ty(vars[k]).is_scalar();
        if (0..vars.len()).filter(|k| sized(*k)).count() > 1 {
            for k in (0..vars.len()).filter(|k| sized(*k)) {
                names[k] += &format!(": {}", ty_text(self.base(vars[k]), &wants[k]));
            }
        }
        let (pattern, start) = match vars.is_empty() {
            true => ("_".to_owned(), Tree::name("true")),
            false => (pack_names(&names), pack(start)),
        };
        Ok((Tree::Loop { pattern, start: Box::new(start), form, body: Box::new(next) }, wants))
    }

    /// An array of so many tuples as the tuple of the arrays.
    pub fn unzipped(&mut self, count: usize, tree: Tree) -> Tree {
        match count {
            0 | 1 => tree,
            2 => Tree::call("unzip", vec![tree]),
            3..=5 => Tree::call(format!("unzip{count}"), vec![tree]),
            _ => {
                let mark = self.names.enter();
                let names: Vec<String> = (0..5).map(|_| self.names.fresh("part")).collect();
                let value = Tree::call("unzip5", vec![tree]);
                let mut lines = vec![Line { comments: vec![], pattern: flat_names(&names), value }];
                let rest = self.unzipped(count - 4, Tree::name(&names[4]));
                let more: Vec<String> = (4..count).map(|_| self.names.fresh("part")).collect();
                lines.push(Line { comments: vec![], pattern: pack_names(&more), value: rest });
                self.leave(mark);
                let all = names[..4].iter().chain(&more).map(Tree::name).collect();
                Tree::block(lines, pack(all))
            }
        }
    }
}

/// Every operand that is printed: not the values that a check reports.
pub fn each_use(b: &Body, f: &mut impl FnMut(Atom)) {
    for s in &b.stmts {
        match &s.exp {
            Exp::Check { cond, .. } => f(*cond),
            e => e.for_each_operand(f),
        }
        for inner in s.exp.bodies() {
            each_use(inner, f);
        }
    }
    b.results.iter().for_each(|a| f(*a));
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

/// If a map keeps or drops the elements of one array: that array, filtered.
fn kept_itself(all: &Tree) -> Option<Tree> {
    let Tree::Call(f, args) = all else { return None };
    let ("map", [Tree::Lambda(params, body), array]) = (f.as_str(), args.as_slice()) else { return None };
    let [param] = params.as_slice() else { return None };
    let name = param.trim_start_matches('(').split(':').next()?;
    let (lines, result) = match &**body {
        Tree::Block(lines, result) => (lines.clone(), &**result),
        result => (Vec::new(), result),
    };
    let Tree::Tuple(parts) = result else { return None };
    let [keep, Tree::Name(kept)] = parts.as_slice() else { return None };
    if kept != name {
        return None;
    }
    let keep = Tree::lambda(params.clone(), Tree::block(lines, keep.clone()));
    Some(Tree::call("filter", vec![keep, array.clone()]))
}

/// `[n][m]f64`
pub fn ty_text(base: BaseTy, sizes: &[String]) -> String {
    let sizes: String =
        sizes.iter().map(|s| if s == UNKNOWN { "[]".to_owned() } else { format!("[{s}]") }).collect();
    sizes + type_name(base)
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

/// Several values as one: at most five beside each other, as many as Futhark unzips at once.
pub fn pack(mut parts: Vec<Tree>) -> Tree {
    match parts.len() {
        0 => Tree::name("true"),
        1..=5 => Tree::tuple(parts),
        _ => {
            let rest = parts.split_off(4);
            parts.push(pack(rest));
            Tree::Tuple(parts)
        }
    }
}

/// The pattern or type of what [`pack`] makes.
pub fn pack_names(names: &[String]) -> String {
    match names.len() {
        0 => "_".to_owned(),
        1 => names[0].clone(),
        2..=5 => flat_names(names),
        _ => format!("({}, {})", names[..4].join(", "), pack_names(&names[4..])),
    }
}

fn flat_names(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        _ => format!("({})", names.join(", ")),
    }
}

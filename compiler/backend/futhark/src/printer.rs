//! What is known while a text is printed: what variables are called, which sizes types mention, and which functions of
//! elements are around.

use crate::guard::{Pending, Rows, SizeFacts, may_stop, no_elements, size_facts};
use crate::helpers::Helpers;
use crate::names::{Mark, Names};
use crate::packs::{flat_names, pack, pack_names};
use crate::scalar::{bare, constant};
use crate::tree::{Line, Tree, layout};
use crate::types::{Sizes, UNKNOWN, ty_text};
use crate::uses::each_use;
use crate::{Error, Places};
use remc_base::BaseTy;
use remc_mono::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub type R<T> = Result<T, Error>;

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
    pub facts: SizeFacts,
    /// Sizes that are not negative, by the names of those that may be.
    pub extents: FxHashMap<String, String>,
    env: FxHashMap<Var, Tree>,
    /// How often a variable is used.
    pub uses: FxHashMap<Var, usize>,
    /// The variables that types mention.
    pub in_types: FxHashSet<Var>,
    /// The arrays that loops around carry. Futhark knows their sizes only when it has seen all of the loop.
    pub states: FxHashSet<Var>,
    defs: FxHashMap<Var, &'p Exp>,
    /// How many bodies there are around.
    pub depth: usize,
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
        self.facts = size_facts(self.p, lengths);
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
    pub fn only_extent(&self, v: Var) -> bool {
        self.facts.doubtful.contains(&v) && self.uses.get(&v) == self.facts.as_size.get(&v)
    }

    /// A size as it stands in a type.
    pub fn dim(&self, a: Atom) -> R<String> {
        match self.size(a)? {
            Tree::Name(text) => Ok(text),
            // One that no type mentions: it is only compared.
            other => Ok(layout(&other, 0, 0)),
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

    /// Any value of a type.
    pub fn any(&self, base: BaseTy, sizes: &Sizes) -> Tree {
        let zero = constant(remc_base::ops::zero(base));
        sizes.iter().rev().fold(zero, |t, n| Tree::call("replicate", vec![Tree::name(n), t]))
    }

    /// What may stop although there are no elements, of this level, as something that does not.
    pub fn looked_at(&self, level: usize, base: BaseTy, sizes: &Sizes, tree: Tree) -> Tree {
        self.unless(&self.rows.empty(level), &[(base, sizes.clone())], tree)
    }

    /// The values of a statement that is the same for all elements, if anything in it may stop: it is taken out as a
    /// whole.
    pub fn whole(&self, level: usize, types: &[(BaseTy, Sizes)], tree: Tree) -> Tree {
        let empty = self.rows.empty(level);
        let known = types.iter().all(|(_, sizes)| sizes.iter().all(|n| n != UNKNOWN));
        if !known || !may_stop(&tree, &empty) {
            return tree;
        }
        self.unless(&empty, types, tree)
    }

    fn unless(&self, empty: &[String], types: &[(BaseTy, Sizes)], tree: Tree) -> Tree {
        match no_elements(empty) {
            Some(none) => {
                let any = types.iter().map(|(base, sizes)| self.any(*base, sizes));
                Tree::choice(none, pack(any.collect()), tree)
            }
            None => tree,
        }
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

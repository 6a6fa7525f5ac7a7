//! What a function mentions of the program under construction: its *leaves*, in a fixed order.
//!
//! A closure is a λ of the program text and what its variables stand for. Two closures of one λ have one
//! *skeleton* if these values differ in nothing but atoms and sizes; then their leaves correspond one to one.
//!
//! ```text
//! (λ (y) (+ x y))  with x = %5     skeleton: the λ, x an int scalar      leaves: %5
//! (λ (y) (+ x y))  with x = 3      the same skeleton                     leaves: 3
//! ```
//!
//! Only what the λ mentions counts: a value that it could see and does not name is no leaf.

use crate::build::env::{Env, dims_var_of, ivar, svar, var_of};
use crate::build::opaque::{self, Sizes};
use crate::build::prim::Prim;
use crate::build::ragged::{Part, Ragged, Stored, WitnessArrays};
use crate::build::val::{Boxed, Closure, Code, Fun, Holes, Instance, Restored, Table, Val};
use crate::ir::{Atom, Program, Var};
use remc_base::ops::ScalarOp;
use remc_base::*;
use remc_explicit::ir::{Expr, ExprKind, Fact};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A place in a function where the program under construction is mentioned.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Leaf {
    /// A value.
    Atom(Atom),
    /// A size of an array of values.
    Size(Atom),
    /// A size in a type, or an index.
    Dim(Dim),
}

/// What remains of a function without its leaves, as a list.
#[derive(PartialEq)]
pub(crate) enum Token {
    None,
    Op(ScalarOp),
    Prim(Prim),
    /// A λ, by where it is, and how many of its parameters are bound.
    Lambda(*const Expr, usize),
    /// A variable that stands for nothing.
    Unbound,
    Kind(u8),
    Count(usize),
    /// A value of base type.
    Atom(BaseTy, usize),
    /// What fills a hole of a function inside this one, by its place among all of them.
    Bound(usize),
    /// A size with variables that are bound in a type around it.
    Dim(Dim),
    Type(AtomTy),
    /// An opaque shape.
    Opaque,
    Restored,
}

/// The variables that a λ mentions and does not bind.
pub(crate) struct Mentioned {
    values: Vec<VarId>,
    indices: Vec<IVar>,
    types: Vec<TVar>,
}

pub(crate) type MentionedBy = FxHashMap<*const Expr, Rc<Mentioned>>;

/// One traversal of a function. `leaf` sees each leaf and says what takes its place.
pub(crate) struct Walk<'w> {
    pub program: &'w Program,
    pub mentioned: &'w mut MentionedBy,
    /// The sizes of opaque shapes; those that are made are put there.
    opaque: &'w mut Sizes,
    pub leaf: &'w mut dyn FnMut(Leaf) -> Leaf,
    pub tokens: Vec<Token>,
    /// The variables that stand for what fills the holes of functions inside this one.
    bound: Vec<Var>,
    /// How many functions are inside of each other here, and at most.
    depth: usize,
    pub deepest: usize,
}

/// The first number of index variables that stand for others in the skeleton of a size.
const PLACEHOLDERS: u32 = 0x7fff_0000;

impl<'w> Walk<'w> {
    pub fn new(
        program: &'w Program,
        (mentioned, opaque): (&'w mut MentionedBy, &'w mut Sizes),
        leaf: &'w mut dyn FnMut(Leaf) -> Leaf,
    ) -> Walk<'w> {
        Walk { program, mentioned, opaque, leaf, tokens: Vec::new(), bound: Vec::new(), depth: 0, deepest: 0 }
    }

    pub fn fun<'a>(&mut self, f: &Fun<'a>) -> Fun<'a> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let f = match f {
            Fun::None => {
                self.tokens.push(Token::None);
                Fun::None
            }
            Fun::Op(op) => {
                self.tokens.push(Token::Op(*op));
                Fun::Op(*op)
            }
            Fun::Prim(p) => {
                self.tokens.extend([Token::Prim(p.prim), Token::Count(p.types.len())]);
                self.tokens.push(Token::Count(p.indices.len()));
                let types = p.types.iter().map(|t| self.ty(t)).collect();
                let indices = p.indices.iter().map(|i| self.index(i)).collect();
                Fun::Prim(Rc::new(Instance { prim: p.prim, types, indices }))
            }
            Fun::Closure(c) => Fun::Closure(Rc::new(self.closure(c))),
            Fun::Restored(r) => {
                self.tokens.push(Token::Restored);
                let fun = self.fun(&r.fun);
                let (from, to) = (self.ty(&r.from), self.ty(&r.to));
                Fun::Restored(Rc::new(Restored { fun, from, to }))
            }
        };
        self.depth -= 1;
        f
    }

    fn closure<'a>(&mut self, c: &Closure<'a>) -> Closure<'a> {
        self.tokens.push(Token::Lambda(c.lambda, c.bound));
        let names = self.mentioned.entry(c.lambda).or_insert_with(|| Rc::new(mentioned(c.lambda))).clone();
        let mut env = Env::empty();
        for v in &names.values {
            match c.env.get(*v) {
                Some(value) => env.bind(*v, self.val(value)),
                None => self.tokens.push(Token::Unbound),
            }
        }
        for v in &names.indices {
            let open = Index::from(v.clone());
            match c.env.index(&open) {
                closed if closed == open => self.tokens.push(Token::Unbound),
                closed => env.bind_index(v, self.index(&closed)),
            }
        }
        for v in &names.types {
            let open = AtomTy::Var(v.clone());
            match c.env.atom(&open) {
                closed if closed == open => self.tokens.push(Token::Unbound),
                closed => env.bind_atom(v, self.ty(&closed)),
            }
        }
        Closure { def: c.def, lambda: c.lambda, env, bound: c.bound }
    }

    pub fn val<'a>(&mut self, v: &Val<'a>) -> Val<'a> {
        self.tokens.push(Token::Kind(match v {
            Val::Base(_) => 0,
            Val::Tuple { .. } => 1,
            Val::Box(_) => 2,
            Val::Boxes { .. } => 3,
            Val::Ragged(_) => 4,
            Val::Fns { .. } => 5,
        }));
        match v {
            Val::Base(a) => Val::Base(self.atom(*a)),
            Val::Tuple { frame, fields } => {
                let frame = self.sizes(frame);
                Val::Tuple { frame, fields: self.vals(fields) }
            }
            Val::Box(b) => {
                let ty = self.ty(&b.ty);
                let witnesses = b.witnesses.iter().map(|w| self.index(w)).collect();
                Val::Box(Rc::new(Boxed { ty, witnesses, contents: self.val(&b.contents) }))
            }
            Val::Boxes { dims, ty, elems } => {
                self.tokens.extend(dims.iter().map(|n| Token::Count(*n)));
                Val::Boxes { dims: dims.clone(), ty: self.ty(ty), elems: self.vals(elems) }
            }
            Val::Ragged(r) => Val::Ragged(Rc::new(self.ragged(r))),
            Val::Fns { dims, table, fields } => {
                let dims = self.sizes(dims);
                let table = self.table(table);
                Val::Fns { dims, table, fields: self.vals(fields) }
            }
        }
    }

    fn vals<'a>(&mut self, all: &[Val<'a>]) -> Rc<[Val<'a>]> {
        self.tokens.push(Token::Count(all.len()));
        all.iter().map(|v| self.val(v)).collect()
    }

    fn table<'a>(&mut self, table: &Table<'a>) -> Rc<Table<'a>> {
        self.tokens.push(Token::Count(table.codes.len()));
        let codes = table.codes.iter().map(|c| self.code(c)).collect();
        Rc::new(Table { codes })
    }

    /// A function with holes, inside of another one.
    fn code<'a>(&mut self, c: &Code<'a>) -> Code<'a> {
        let Some(holes) = &c.holes else {
            self.tokens.push(Token::Count(0));
            return Code { fun: self.fun(&c.fun), holes: None };
        };
        self.tokens.extend([Token::Count(holes.all.len()), Token::Count(holes.witnesses())]);
        let ty = self.ty(&holes.ty);
        let mark = self.bound.len();
        self.bound.extend(holes.all.iter().map(|h| h.var));
        let fun = self.fun(&c.fun);
        self.bound.truncate(mark);
        Code { fun, holes: Some(Rc::new(Holes { all: holes.all.clone(), ty })) }
    }

    fn ragged<'a>(&mut self, r: &Ragged<'a>) -> Ragged<'a> {
        let frame = self.sizes(&r.frame);
        let ty = self.ty(&r.ty);
        let mut witnesses = Vec::with_capacity(r.witnesses.len());
        for w in &r.witnesses {
            self.tokens.push(Token::Count(w.numbers().len()));
            witnesses.push(match w {
                WitnessArrays::Opaque { ranks, sizes, dims } => {
                    self.tokens.push(Token::Opaque);
                    let (ranks, sizes) = (self.atom(*ranks), self.atom(*sizes));
                    let (data, starts) = (self.atom(dims.data), self.atom(dims.starts));
                    WitnessArrays::Opaque { ranks, sizes, dims: Stored { data, starts } }
                }
                WitnessArrays::Dim(a) => WitnessArrays::Dim(self.atom(*a)),
                WitnessArrays::Shape(all) => {
                    WitnessArrays::Shape(all.iter().map(|a| self.atom(*a)).collect())
                }
            });
        }
        Ragged { frame, ty, witnesses, contents: self.part(&r.contents) }
    }

    fn part<'a>(&mut self, p: &Part<'a>) -> Part<'a> {
        self.tokens.push(Token::Kind(match p {
            Part::Base { .. } => 0,
            Part::Tuple(_) => 1,
            Part::Box(_) => 2,
            Part::Boxes { .. } => 3,
            Part::Fns { .. } => 4,
        }));
        match p {
            Part::Base { data, starts } => Part::Base { data: self.atom(*data), starts: self.atom(*starts) },
            Part::Tuple(parts) => Part::Tuple(parts.iter().map(|p| self.part(p)).collect()),
            Part::Box(r) => Part::Box(Rc::new(self.ragged(r))),
            Part::Boxes { starts, inner } => {
                Part::Boxes { starts: self.atom(*starts), inner: Rc::new(self.ragged(inner)) }
            }
            Part::Fns { table, fields } => {
                let table = self.table(table);
                Part::Fns { table, fields: fields.iter().map(|p| self.part(p)).collect() }
            }
        }
    }

    fn atom(&mut self, a: Atom) -> Atom {
        let (base, rank) = match a {
            Atom::Var(v) => (self.program.ty(v).base, self.program.ty(v).rank()),
            Atom::Const(c) => (c.ty(), 0),
        };
        self.tokens.push(Token::Atom(base, rank));
        if let Some(at) = self.bound_at(a) {
            self.tokens.push(Token::Bound(at));
            return a;
        }
        match (self.leaf)(Leaf::Atom(a)) {
            Leaf::Atom(a) | Leaf::Size(a) => a,
            Leaf::Dim(_) => a,
        }
    }

    fn sizes(&mut self, all: &[Atom]) -> Vec<Atom> {
        self.tokens.push(Token::Count(all.len()));
        let mut out = Vec::with_capacity(all.len());
        for a in all {
            out.push(match self.bound_at(*a) {
                Some(at) => {
                    self.tokens.push(Token::Bound(at));
                    *a
                }
                None => match (self.leaf)(Leaf::Size(*a)) {
                    Leaf::Atom(a) | Leaf::Size(a) => a,
                    Leaf::Dim(_) => *a,
                },
            });
        }
        out
    }

    fn bound_at(&self, a: Atom) -> Option<usize> {
        let v = a.as_var()?;
        self.bound.iter().rposition(|b| *b == v)
    }

    fn index(&mut self, i: &Index) -> Index {
        match i {
            Index::Dim(d) => Index::Dim(self.dim(d)),
            Index::Shape(s) => {
                self.tokens.push(Token::Count(s.items().len()));
                Index::Shape(self.shape(s))
            }
        }
    }

    fn shape(&mut self, s: &Shape) -> Shape {
        Shape(
            s.items()
                .iter()
                .map(|i| match i {
                    ShapeItem::Dim(d) => ShapeItem::Dim(self.dim(d)),
                    ShapeItem::Var(v) => ShapeItem::Var(self.opaque(v)),
                })
                .collect(),
        )
    }

    /// An opaque shape is two leaves, the vector of its dims and its size.
    fn opaque(&mut self, v: &ShapeVar) -> ShapeVar {
        let known = dims_var_of(v).and_then(|dims| Some((dims, *self.opaque.get(&dims)?)));
        let Some((dims, size)) = known else { return v.clone() };
        self.tokens.push(Token::Opaque);
        let (made, size) = (self.atom(dims.into()), self.sizes(&[size]));
        match (made, size.first()) {
            (Atom::Var(made), Some(size)) if made != dims => {
                self.opaque.insert(made, *size);
                ShapeVar::Rigid(svar(made))
            }
            _ => v.clone(),
        }
    }

    /// A size without the ranks and sizes of opaque shapes.
    fn plain<'d>(&self, d: &'d Dim) -> Cow<'d, Dim> {
        let number = |a: Atom| match a {
            Atom::Const(c) => Dim::constant(c.as_integer().unwrap_or(0)),
            Atom::Var(v) => Dim::rigid(ivar(v)),
        };
        let rank = |dims: Var| self.program.ty(dims).dims.first().copied().unwrap_or(Atom::int(0));
        opaque::plain(d, self.opaque, &rank, &number)
    }

    /// A closed size is one leaf; of another one each variable of Mono is.
    fn dim(&mut self, d: &Dim) -> Dim {
        let d = &self.plain(d).into_owned();
        let free = |v: &DimVar| var_of(v).filter(|v| !self.bound.contains(v));
        if d.vars().all(|v| free(v).is_some()) {
            return match (self.leaf)(Leaf::Dim(d.clone())) {
                Leaf::Dim(d) => d,
                _ => d.clone(),
            };
        }
        // Skeleton and result, with the variables in one order.
        let mut seen: Vec<Var> = Vec::new();
        let skeleton = d.substitute(&mut |v| {
            let v = var_of(v)?;
            let id = match self.bound.iter().rposition(|b| *b == v) {
                Some(at) => PLACEHOLDERS + 0x8000 + at as u32,
                None => {
                    let at = seen.iter().position(|s| *s == v).unwrap_or_else(|| {
                        seen.push(v);
                        seen.len() - 1
                    });
                    PLACEHOLDERS + at as u32
                }
            };
            Some(Dim::rigid(IVar::dim(id, "_")))
        });
        self.tokens.push(Token::Dim(skeleton));
        let with: Vec<(Var, Dim)> = seen
            .into_iter()
            .map(|v| {
                let d = Dim::rigid(ivar(v));
                match (self.leaf)(Leaf::Dim(d.clone())) {
                    Leaf::Dim(d) => (v, d),
                    _ => (v, d),
                }
            })
            .collect();
        d.substitute(&mut |v| {
            let v = var_of(v)?;
            with.iter().find(|(w, _)| *w == v).map(|(_, d)| d.clone())
        })
    }

    /// A closed type; sizes in it may mention what it binds itself.
    pub fn ty(&mut self, t: &AtomTy) -> AtomTy {
        let none = with_items(t, &mut |item| match item {
            ShapeItem::Dim(d) => {
                let d = self.plain(d);
                ShapeItem::Dim(match d.vars().all(|v| var_of(v).is_some()) {
                    true => Dim::zero(),
                    // What is bound around it and variables of Mono: told apart by `dim`.
                    false => d.substitute(&mut |v| var_of(v).map(|_| Dim::zero())),
                })
            }
            ShapeItem::Var(v) if dims_var_of(v).is_some() => {
                ShapeItem::Var(ShapeVar::Rigid(IVar::shape(PLACEHOLDERS, "_")))
            }
            ShapeItem::Var(_) => item.clone(),
        });
        self.tokens.push(Token::Type(subst::canonical(&ArrTy::scalar(none)).atom));
        with_items(t, &mut |item| match item {
            ShapeItem::Dim(d) => ShapeItem::Dim(self.dim_of_type(d)),
            ShapeItem::Var(v) => ShapeItem::Var(self.opaque(v)),
        })
    }

    /// As [`Walk::dim`]. The variables that a type binds have other numbers in an equal type; they are compared
    /// with the type.
    fn dim_of_type(&mut self, d: &Dim) -> Dim {
        let d = &self.plain(d).into_owned();
        let of_mono = |v: &DimVar| var_of(v).is_some();
        if d.vars().all(of_mono) {
            return self.dim(d);
        }
        if !d.vars().any(of_mono) {
            return d.clone();
        }
        if d.terms().iter().any(|(m, _)| m.len() > 1 && m.iter().any(of_mono)) {
            // A product of both kinds is like itself alone.
            self.tokens.push(Token::Dim(d.clone()));
        }
        let mut with = Vec::new();
        for (m, c) in d.terms() {
            for v in m.iter().filter_map(var_of) {
                self.tokens.push(Token::Dim(Dim::constant(*c)));
                with.push((v, self.dim(&Dim::rigid(ivar(v)))));
            }
        }
        d.substitute(&mut |v| {
            let v = var_of(v)?;
            with.iter().find(|(w, _)| *w == v).map(|(_, d)| d.clone())
        })
    }
}

/// A type with other sizes and shapes.
fn with_items(t: &AtomTy, f: &mut dyn FnMut(&ShapeItem) -> ShapeItem) -> AtomTy {
    match t {
        AtomTy::Base(_) | AtomTy::Var(_) | AtomTy::Meta(_) => t.clone(),
        AtomTy::Fn(q) => {
            let params = q.params.iter().map(|p| array_with_items(p, f)).collect();
            AtomTy::func(params, array_with_items(&q.ret, f))
        }
        AtomTy::Forall(q) => AtomTy::Forall(Arc::new(ForallTy {
            params: q.params.clone(),
            body: array_with_items(&q.body, f),
        })),
        AtomTy::Pi(q) => {
            AtomTy::Pi(Arc::new(PiTy { params: q.params.clone(), body: array_with_items(&q.body, f) }))
        }
        AtomTy::Sigma(q) => AtomTy::sigma(q.params.clone(), array_with_items(&q.body, f)),
        AtomTy::Tuple(q) => {
            AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), array_with_items(t, f))).collect())
        }
        AtomTy::Quot(q) => AtomTy::quot(with_items(q, f)),
    }
}

fn array_with_items(t: &ArrTy, f: &mut dyn FnMut(&ShapeItem) -> ShapeItem) -> ArrTy {
    let shape = Shape(t.shape.items().iter().map(&mut *f).collect());
    ArrTy::new(with_items(&t.atom, f), shape)
}

/// Binders are unique in a definition: what is bound anywhere inside is not free.
fn mentioned(lambda: &Expr) -> Mentioned {
    let mut bound = FxHashSet::default();
    let mut all = Names::default();
    let mut todo = vec![lambda];
    while let Some(e) = todo.pop() {
        bound.extend(e.binders().into_iter().map(|l| l.var));
        all.expr(e);
        todo.extend(e.children());
    }
    let mut values: Vec<VarId> = all.values.difference(&bound).copied().collect();
    values.sort();
    let mut indices: Vec<IVar> = all.indices.into_values().collect();
    indices.sort_by_key(|v| v.id);
    let mut types: Vec<TVar> = all.types.into_values().collect();
    types.sort_by_key(|v| v.id);
    Mentioned { values, indices, types }
}

#[derive(Default)]
struct Names {
    values: FxHashSet<VarId>,
    indices: FxHashMap<u32, IVar>,
    types: FxHashMap<u32, TVar>,
}

impl Names {
    fn expr(&mut self, e: &Expr) {
        self.array(&e.ty);
        e.binders().iter().for_each(|l| self.array(&l.ty));
        match &*e.kind {
            ExprKind::Var(v) => {
                self.values.insert(*v);
            }
            ExprKind::Frame { dims, .. } => dims.iter().for_each(|d| self.dim(d)),
            ExprKind::Map { frame, .. } => self.shape(frame),
            ExprKind::Replicate { axes, at, .. } => [axes, at].into_iter().for_each(|s| self.shape(s)),
            ExprKind::TApp { args, .. } => args.iter().for_each(|a| match a {
                TyArg::Atom(t) => self.atom(t),
                TyArg::Array(t) => self.array(t),
            }),
            ExprKind::IApp { args, .. } | ExprKind::Box { witnesses: args, .. } => {
                args.iter().for_each(|i| self.index(i));
            }
            ExprKind::Check { fact: Fact::NonNegative(d), .. } | ExprKind::ReifyDim(d) => self.dim(d),
            ExprKind::Check { fact: Fact::Equal(a, b), .. } => [a, b].into_iter().for_each(|d| self.dim(d)),
            ExprKind::ReifyShape(s) => self.shape(s),
            _ => {}
        }
    }

    fn index(&mut self, i: &Index) {
        match i {
            Index::Dim(d) => self.dim(d),
            Index::Shape(s) => self.shape(s),
        }
    }

    fn name(&mut self, v: &IVar) {
        self.indices.entry(v.id).or_insert_with(|| v.clone());
    }

    fn dim(&mut self, d: &Dim) {
        for v in d.vars() {
            match v {
                DimVar::Rigid(v)
                | DimVar::RankOf(ShapeVar::Rigid(v))
                | DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                    self.name(v);
                }
                _ => {}
            }
        }
    }

    fn shape(&mut self, s: &Shape) {
        for item in s.items() {
            match item {
                ShapeItem::Dim(d) => self.dim(d),
                ShapeItem::Var(ShapeVar::Rigid(v)) => self.name(v),
                ShapeItem::Var(ShapeVar::Meta(_)) => {}
            }
        }
    }

    fn array(&mut self, t: &ArrTy) {
        self.shape(&t.shape);
        self.atom(&t.atom);
    }

    fn atom(&mut self, t: &AtomTy) {
        match t {
            AtomTy::Base(_) | AtomTy::Meta(_) => {}
            AtomTy::Var(v) => {
                self.types.entry(v.id).or_insert_with(|| v.clone());
            }
            AtomTy::Fn(q) => q.params.iter().chain([&q.ret]).for_each(|t| self.array(t)),
            AtomTy::Forall(q) => self.array(&q.body),
            AtomTy::Pi(q) => self.array(&q.body),
            AtomTy::Sigma(q) => self.array(&q.body),
            AtomTy::Tuple(q) => q.fields.iter().for_each(|(_, t)| self.array(t)),
            AtomTy::Quot(q) => self.atom(q),
        }
    }
}

//! Programs from types.
//!
//! [`Builder::expr`] answers a type with an expression. Constructs whose parts have other shapes are
//! used only for types without opened dims; of a type with one, what is in scope is transformed without
//! change of shape. `fuel` bounds the number of expressions.

use super::*;
use crate::rng::Rng;

pub(super) fn program(seed: u64, size: usize) -> Program {
    let mut b = Builder { rng: Rng::new(seed), scope: vec![], functions: vec![], names: 0 };
    let mut defs = vec![];
    for _ in 0..b.rng.below(4) {
        let name = b.fresh("f");
        let lambda = b.function(size / 3, true);
        b.functions.push((name.clone(), signature(&lambda)));
        defs.push((name, lambda));
    }
    let ty = b.ty(3);
    let body = b.expr(&ty, size);
    Program { defs, body }
}

/// Arrays of more atoms are seldom built.
const MOST_ATOMS: usize = 12;

/// Parameter cells, and the result.
type Signature = (Vec<Ty>, Ty);

fn signature(l: &Lambda) -> Signature {
    (l.params.iter().map(|p| p.ty.clone()).collect(), l.body.ty.clone())
}

struct Builder {
    rng: Rng,
    scope: Vec<(String, Ty)>,
    functions: Vec<(String, Signature)>,
    names: usize,
}

/// Scalar operators by the atoms they take, with the result: `None` is the operands' own.
pub(super) struct Scalar {
    pub name: &'static str,
    operands: usize,
    /// Takes these atoms; polymorphic ones have an instance.
    takes: &'static [Atom],
    gives: Option<Atom>,
    polymorphic: bool,
}

const NUMBERS: &[Atom] = &[Atom::Int, Atom::Float, Atom::I32];
const INTEGERS: &[Atom] = &[Atom::Int, Atom::I32];

const fn scalar(
    name: &'static str,
    operands: usize,
    takes: &'static [Atom],
    gives: Option<Atom>,
    polymorphic: bool,
) -> Scalar {
    Scalar { name, operands, takes, gives, polymorphic }
}

pub(super) const SCALARS: &[Scalar] = &[
    scalar("+", 2, NUMBERS, None, true),
    scalar("-", 2, NUMBERS, None, true),
    scalar("*", 2, NUMBERS, None, true),
    scalar("max2", 2, NUMBERS, None, true),
    scalar("min2", 2, NUMBERS, None, true),
    scalar("quotient", 2, NUMBERS, None, true),
    scalar("negate", 1, NUMBERS, None, true),
    scalar("abs", 1, NUMBERS, None, true),
    scalar("sign", 1, NUMBERS, None, true),
    scalar("floor", 1, NUMBERS, None, true),
    scalar("square", 1, NUMBERS, None, true),
    scalar("bit-xor", 2, INTEGERS, None, true),
    scalar("=", 2, &Atom::ALL, Some(Atom::Bool), true),
    scalar("!=", 2, &Atom::ALL, Some(Atom::Bool), true),
    scalar("<", 2, NUMBERS, Some(Atom::Bool), true),
    scalar(">=", 2, NUMBERS, Some(Atom::Bool), true),
    scalar("zero?", 1, NUMBERS, Some(Atom::Bool), true),
    scalar("and", 2, &[Atom::Bool], None, false),
    scalar("or", 2, &[Atom::Bool], None, false),
    scalar("not", 1, &[Atom::Bool], None, false),
    scalar("bool->int", 1, &[Atom::Bool], Some(Atom::Int), false),
    scalar("int->float", 1, &[Atom::Int], Some(Atom::Float), false),
    scalar("float->int", 1, &[Atom::Float], Some(Atom::Int), false),
    // Not on numbers that a parameter without a type gives: `(Quot t)` of an open `t` is no `float`.
    scalar("/", 2, &[Atom::Float], None, true),
    scalar("sqrt", 1, &[Atom::Float], None, true),
];

impl Scalar {
    fn instance(&self, atom: Atom) -> Instance {
        let types = if self.polymorphic { vec![atom] } else { vec![] };
        Instance { types, indices: vec![] }
    }

    fn result(&self, atom: Atom) -> Atom {
        self.gives.unwrap_or(atom)
    }
}

/// Operators that combine two of an atom to one of it.
fn combining(atom: Atom) -> &'static [&'static str] {
    match atom {
        Atom::Bool => &["and", "or"],
        Atom::Float => &["+", "*", "max2", "min2"],
        Atom::Int | Atom::I32 => &["+", "*", "-", "max2", "min2", "bit-xor"],
    }
}

impl Builder {
    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn atom(&mut self) -> Atom {
        [Atom::Int, Atom::Int, Atom::Int, Atom::Float, Atom::Float, Atom::Bool, Atom::I32][self.rng.below(7)]
    }

    fn dim(&mut self) -> Dim {
        // Empty axes are worth having, and not too often.
        Dim::Known([0, 1, 2, 2, 3, 3, 4, 1][self.rng.below(8)])
    }

    /// A dim for an axis in front of `rest`, which keeps arrays readable.
    fn dim_before(&mut self, rest: &[Dim]) -> Dim {
        let atoms: usize = sizes(rest).map_or(1, |s| s.iter().product());
        match self.dim() {
            Dim::Known(n) => Dim::Known(n.min((MOST_ATOMS / atoms.max(1)).max(1))),
            d => d,
        }
    }

    fn dims(&mut self, most: usize) -> Dims {
        let rank = self.rng.below(most + 1);
        (0..rank).map(|_| self.dim()).collect()
    }

    fn ty(&mut self, most: usize) -> Ty {
        // A type that something in scope has is likely to be used.
        if self.rng.one_in(2)
            && let Some((_, ty)) = self.rng.pick(&self.scope)
            && ty.rank() <= most
            && sizes(&ty.dims).is_some()
        {
            return ty.clone();
        }
        let dims = self.dims(most);
        Ty::new(self.atom(), dims)
    }

    /// A function of one or two parameters; `alone` if it sees nothing but these.
    fn function(&mut self, fuel: usize, alone: bool) -> Lambda {
        let outer = if alone { std::mem::take(&mut self.scope) } else { vec![] };
        let count = 1 + self.rng.below(2);
        let cells: Vec<Ty> = (0..count).map(|_| self.ty(2)).collect();
        let result = if self.rng.one_in(2) { cells[0].clone() } else { self.ty(2) };
        let lambda = self.lambda(&cells, &result, fuel);
        if alone {
            self.scope = outer;
        }
        lambda
    }

    fn lambda(&mut self, cells: &[Ty], result: &Ty, fuel: usize) -> Lambda {
        let params: Vec<Param> =
            cells.iter().map(|ty| Param { name: self.fresh("x"), ty: ty.clone() }).collect();
        let mark = self.scope.len();
        self.scope.extend(params.iter().map(|p| (p.name.clone(), p.ty.clone())));
        let body = self.expr(result, fuel);
        self.scope.truncate(mark);
        Lambda { params, body }
    }

    fn literal(&mut self, ty: &Ty) -> Option<Expr> {
        let n = sizes(&ty.dims)?.iter().product::<usize>();
        let values = (0..n).map(|_| self.rng.range(-9, 20)).collect();
        Some(Expr::new(ty.clone(), Kind::Literal(values)))
    }

    /// What needs no fuel.
    fn leaf(&mut self, ty: &Ty) -> Expr {
        let fitting: Vec<String> =
            self.scope.iter().filter(|(_, t)| t == ty).map(|(n, _)| n.clone()).collect();
        if (fitting.is_empty() || self.rng.one_in(3))
            && let Some(literal) = self.literal(ty)
        {
            return literal;
        }
        if let Some(name) = self.rng.pick(&fitting) {
            return Expr::var(name, ty);
        }
        // An opened dim is in scope together with a variable of that shape.
        let found = self.scope.iter().rev().find(|(_, t)| t.dims == ty.dims).cloned();
        match found {
            Some((name, have)) => self.convert(Expr::var(&name, &have), ty.atom),
            None => Expr::new(ty.clone(), Kind::Literal(vec![])),
        }
    }

    /// The same shape with another atom.
    fn convert(&mut self, e: Expr, atom: Atom) -> Expr {
        let (from, dims) = (e.ty.atom, e.ty.dims.clone());
        let step = |name: &'static str, to: Atom, e: Expr| {
            Expr::app(Ty::new(to, dims.clone()), Func::Prim(name, Instance::default()), vec![e])
        };
        match (from, atom) {
            _ if from == atom => e,
            (_, Atom::Bool) => {
                let zero = self.literal(&Ty::scalar(from)).unwrap_or(e.clone());
                let i = Instance { types: vec![from], indices: vec![] };
                Expr::app(Ty::new(Atom::Bool, dims), Func::Prim("<", i), vec![e, zero])
            }
            (Atom::Bool, Atom::Int) => step("bool->int", Atom::Int, e),
            (Atom::Int, Atom::Float) => step("int->float", Atom::Float, e),
            (Atom::Float, Atom::Int) => step("float->int", Atom::Int, e),
            (Atom::Bool, Atom::Float) => {
                let e = step("bool->int", Atom::Int, e);
                step("int->float", Atom::Float, e)
            }
            _ => {
                // By way of bool: nothing else leads to or from i32.
                let flags = self.convert(e, Atom::Bool);
                let yes = self.literal(&Ty::scalar(atom));
                let no = self.literal(&Ty::scalar(atom));
                let i = Instance { types: vec![atom], indices: vec![] };
                let args = [Some(flags), yes, no].into_iter().flatten().collect();
                Expr::app(Ty::new(atom, dims), Func::Prim("select", i), args)
            }
        }
    }

    fn expr(&mut self, ty: &Ty, fuel: usize) -> Expr {
        if fuel <= 1 {
            return self.leaf(ty);
        }
        let fuel = fuel - 1;
        for _ in 0..8 {
            if let Some(e) = self.attempt(ty, fuel) {
                return e;
            }
        }
        self.leaf(ty)
    }

    fn attempt(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        match self.rng.below(34) {
            0..=6 => self.scalar_op(ty, fuel),
            7 => self.select(ty, fuel),
            8 => self.conditional(ty, fuel),
            9 | 10 => self.binding(ty, fuel),
            11 => self.let_function(ty, fuel),
            12 => self.two_values(ty, fuel),
            13 => Some(Expr::new(ty.clone(), Kind::Annot(Box::new(self.expr(ty, fuel))))),
            14 | 15 => self.apply_lambda(ty, fuel),
            16 | 17 => self.apply_named(ty, fuel),
            18 | 19 => self.unbox(ty, fuel),
            20 => self.reverse(ty, fuel),
            21 => self.scan(ty, fuel),
            22 => self.rotate(ty, fuel),
            // The rest builds other shapes, of which an opened dim would have no variable.
            _ if sizes(&ty.dims).is_none() => None,
            23 | 24 => self.reduce(ty, fuel),
            25 => self.fold(ty, fuel),
            26 => self.append(ty, fuel),
            27 => self.transpose(ty, fuel),
            28 => self.index(ty, fuel),
            29 => self.sizes_of(ty, fuel),
            30 => self.bracket(ty, fuel),
            31 => self.rerank(ty, fuel),
            32 => self.several(ty, fuel),
            _ => self.reshape(ty, fuel),
        }
    }

    /// Arguments for cells that lift over `frame`: one has the whole frame, the others prefixes of it.
    fn lifted(&mut self, cells: &[Ty], frame: &[Dim], fuel: usize) -> Vec<Expr> {
        let whole = self.rng.below(cells.len());
        let share = fuel / cells.len().max(1);
        cells
            .iter()
            .enumerate()
            .map(|(i, cell)| {
                let of = if i == whole || self.rng.one_in(2) {
                    frame.len()
                } else {
                    self.rng.below(frame.len() + 1)
                };
                let prefix = &frame[..of];
                // With an opened dim in it, a prefix must be a shape that something in scope has.
                let prefix = if sizes(frame).is_none() && of != frame.len() { &[] } else { prefix };
                self.expr(&cell.framed(prefix), share)
            })
            .collect()
    }

    fn scalar_op(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let op = self.rng.pick(SCALARS)?;
        let atom = *self.rng.pick(op.takes)?;
        if op.result(atom) != ty.atom {
            return None;
        }
        let cells = vec![Ty::scalar(atom); op.operands];
        let args = self.lifted(&cells, &ty.dims, fuel);
        Some(Expr::app(ty.clone(), Func::Prim(op.name, op.instance(atom)), args))
    }

    fn select(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let cells = [Ty::scalar(Atom::Bool), Ty::scalar(ty.atom), Ty::scalar(ty.atom)];
        let args = self.lifted(&cells, &ty.dims, fuel);
        let i = Instance { types: vec![ty.atom], indices: vec![] };
        Some(Expr::app(ty.clone(), Func::Prim("select", i), args))
    }

    fn conditional(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let cond = Box::new(self.expr(&Ty::scalar(Atom::Bool), fuel / 3));
        let then = Box::new(self.expr(ty, fuel / 3));
        let otherwise = Box::new(self.expr(ty, fuel / 3));
        Some(Expr::new(ty.clone(), Kind::If { cond, then, otherwise }))
    }

    fn binding(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let value_ty = if self.rng.one_in(2) { ty.clone() } else { self.ty(2) };
        let value = Box::new(self.expr(&value_ty, fuel / 2));
        let name = self.fresh("v");
        self.scope.push((name.clone(), value_ty));
        let body = Box::new(self.expr(ty, fuel / 2));
        self.scope.pop();
        Some(Expr::new(ty.clone(), Kind::Let { name, value, body }))
    }

    fn let_function(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let name = self.fresh("g");
        let fun = Box::new(self.function(fuel / 2, false));
        self.functions.push((name.clone(), signature(&fun)));
        let body = match self.call(name.clone(), signature(&fun), ty, fuel / 2) {
            Some(call) => call,
            None => self.expr(ty, fuel / 2),
        };
        self.functions.pop();
        Some(Expr::new(ty.clone(), Kind::LetFn { name, fun, body: Box::new(body) }))
    }

    fn two_values(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let types = [self.ty(2), self.ty(2)];
        let values = [0, 1].map(|i| Box::new(self.expr(&types[i], fuel / 3)));
        let names = [self.fresh("v"), self.fresh("v")];
        let mark = self.scope.len();
        self.scope.extend(names.iter().cloned().zip(types));
        let body = Box::new(self.expr(ty, fuel / 3));
        self.scope.truncate(mark);
        Some(Expr::new(ty.clone(), Kind::LetValues { names, values, body }))
    }

    fn apply_lambda(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let opened = sizes(&ty.dims).is_none();
        // The frame is a prefix of the result; with an opened dim all of it or nothing.
        let of = match self.rng.below(2) {
            _ if !opened => self.rng.below(ty.rank() + 1),
            0 => 0,
            _ => ty.rank(),
        };
        let (frame, result) = (&ty.dims[..of], Ty::new(ty.atom, &ty.dims[of..]));
        let count = 1 + self.rng.below(2);
        let cells: Vec<Ty> = (0..count)
            .map(|_| match self.rng.below(3) {
                0 => result.clone(),
                _ if opened => Ty::scalar(self.atom()),
                1 => Ty::scalar(self.atom()),
                _ => self.ty(2),
            })
            .collect();
        if cells.iter().any(|c| c.rank() + frame.len() > 4) {
            return None;
        }
        let lambda = self.lambda(&cells, &result, fuel / 2);
        let args = self.lifted(&cells, frame, fuel / 2);
        Some(Expr::app(ty.clone(), Func::Lambda(Box::new(lambda)), args))
    }

    fn apply_named(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (name, sig) = self.rng.pick(&self.functions).cloned()?;
        self.call(name, sig, ty, fuel)
    }

    fn call(&mut self, name: String, (cells, result): Signature, ty: &Ty, fuel: usize) -> Option<Expr> {
        if result.atom != ty.atom || !ty.dims.ends_with(&result.dims) {
            return None;
        }
        // With an opened dim in the frame, nothing in scope has another shape that begins with it.
        if sizes(&ty.dims).is_none() && (result.rank() > 0 || cells.iter().any(|c| c.rank() > 0)) {
            return None;
        }
        let frame = &ty.dims[..ty.rank() - result.rank()];
        let args = self.lifted(&cells, frame, fuel);
        Some(Expr::app(ty.clone(), Func::Named(name), args))
    }

    /// A box is opened; what is made of it does not mention its dim. Over an array of boxes the body is
    /// done for each.
    fn unbox(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (name, dim) = (self.fresh("v"), self.fresh("n"));
        let rows = match ty.dims.first() {
            Some(Dim::Known(n)) if self.rng.one_in(2) => Some(*n),
            _ => None,
        };
        let (boxes, inside, opened) = match rows {
            // `boxes` writes as many as its shape says.
            Some(n) if n > 0 => {
                let atom = self.atom();
                let rows = (0..n)
                    .filter_map(|_| {
                        let d = self.dim();
                        self.literal(&Ty::new(atom, vec![d]))
                    })
                    .collect();
                let inside = Ty::new(ty.atom, &ty.dims[1..]);
                (Boxes::Rows { atom, rows }, inside, Ty::new(atom, vec![Dim::Var(dim.clone())]))
            }
            _ => {
                let length = self.dim();
                let cell = self.ty(1);
                let flags = self.expr(&Ty::new(Atom::Bool, vec![length.clone()]), fuel / 3);
                let xs = self.expr(&cell.framed(&[length]), fuel / 3);
                let opened = cell.framed(&[Dim::Var(dim.clone())]);
                (Boxes::Filter { flags, xs }, ty.clone(), opened)
            }
        };
        self.scope.push((name.clone(), opened.clone()));
        let body = self.of_opened(&inside, &opened, fuel / 2);
        self.scope.pop();
        Some(Expr::new(ty.clone(), Kind::Unbox { boxes: Box::new(boxes), name, dim, body: Box::new(body) }))
    }

    /// An expression that uses the opened variable, of a type that does not mention its dim.
    fn of_opened(&mut self, ty: &Ty, opened: &Ty, fuel: usize) -> Expr {
        // Reduced along the opened axis, it is a cell; its sum is one of this type if the cells agree.
        let item = Ty::new(opened.atom, &opened.dims[1..]);
        let xs = self.expr(opened, fuel / 2);
        let Some(name) = self.rng.pick(combining(opened.atom)).copied() else { return self.expr(ty, fuel) };
        let total = self.reduction("reduce/zero", name, &opened.dims[0], &item, xs);
        let have = self.fresh("v");
        self.scope.push((have.clone(), item));
        let body = Box::new(self.expr(ty, fuel / 2));
        self.scope.pop();
        Expr::new(ty.clone(), Kind::Let { name: have, value: Box::new(total), body })
    }

    /// `(reduce op xs)` or `(reduce/zero op zero xs)` with a scalar operator, over items of type `item`.
    fn reduction(&mut self, name: &'static str, op: &'static str, d: &Dim, item: &Ty, xs: Expr) -> Expr {
        let indices = vec![Ix::Dim(d.clone()), Ix::Shape(item.dims.clone()), Ix::Shape(vec![])];
        let func = Func::Prim(name, Instance { types: vec![item.atom], indices });
        let types = if item.atom == Atom::Bool { vec![] } else { vec![item.atom] };
        let op = Func::Prim(op, Instance { types, indices: vec![] });
        let zero = if name == "reduce" { None } else { self.literal(&Ty::scalar(item.atom)) };
        let args = zero.into_iter().chain([xs]).collect();
        Expr::new(item.clone(), Kind::App { func, op: Some(op), before: None, args, after: None })
    }

    /// An operator on cells of the last `rank` dims of `item`, with the rest of its dims: `(op, p, c)`.
    fn operator(&mut self, item: &Ty, fuel: usize) -> Option<(Func, Dims, Dims)> {
        let name = *self.rng.pick(combining(item.atom))?;
        if self.rng.one_in(2) {
            let types = if item.atom == Atom::Bool { vec![] } else { vec![item.atom] };
            return Some((Func::Prim(name, Instance { types, indices: vec![] }), item.dims.clone(), vec![]));
        }
        let of = self.rng.below(item.rank() + 1);
        let cell = Ty::new(item.atom, &item.dims[item.rank() - of..]);
        let lambda = self.lambda(&[cell.clone(), cell.clone()], &cell, fuel);
        Some((Func::Lambda(Box::new(lambda)), item.dims[..item.rank() - of].to_vec(), cell.dims))
    }

    fn reduce(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (op, p, c) = self.operator(ty, fuel / 3)?;
        let Dim::Known(d) = self.dim_before(&ty.dims) else { return None };
        let with_zero = d == 0 || self.rng.one_in(2);
        let name = if with_zero { "reduce/zero" } else { "reduce" };
        let first = if with_zero { d } else { d - 1 };
        let zero = with_zero.then(|| self.expr(&Ty::new(ty.atom, c.clone()), fuel / 4));
        let xs = self.expr(&ty.framed(&known(&[d])), fuel / 2);
        let indices = vec![Ix::Dim(Dim::Known(first)), Ix::Shape(p), Ix::Shape(c)];
        let func = Func::Prim(name, Instance { types: vec![ty.atom], indices });
        let args = zero.into_iter().chain([xs]).collect();
        Some(Expr::new(ty.clone(), Kind::App { func, op: Some(op), before: None, args, after: None }))
    }

    fn scan(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (d, rest) = ty.dims.split_first()?;
        let item = Ty::new(ty.atom, rest);
        let (op, p, c) = self.operator(&item, fuel / 3)?;
        let choices: &[(&str, usize)] = match d {
            Dim::Known(0) | Dim::Var(_) => &[("iscan/zero", 0), ("open-scan/zero", 0)],
            Dim::Known(_) => &[("iscan", 1), ("iscan/zero", 0), ("open-scan/zero", 0), ("scan/zero", 1)],
        };
        let (name, less) = *self.rng.pick(choices)?;
        let first = match d {
            Dim::Known(n) => Dim::Known(n - less),
            Dim::Var(_) => d.clone(),
        };
        let zero = (name != "iscan").then(|| self.expr(&Ty::new(ty.atom, c.clone()), fuel / 4));
        let length = if name == "scan/zero" { first.clone() } else { d.clone() };
        let xs = self.expr(&item.framed(&[length]), fuel / 2);
        let indices = vec![Ix::Dim(first), Ix::Shape(p), Ix::Shape(c)];
        let func = Func::Prim(name, Instance { types: vec![ty.atom], indices });
        let args = zero.into_iter().chain([xs]).collect();
        Some(Expr::new(ty.clone(), Kind::App { func, op: Some(op), before: None, args, after: None }))
    }

    /// The accumulator is the whole type; items are scalars or vectors.
    fn fold(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let item = self.ty(1);
        let d = self.dim();
        let lambda = self.lambda(&[item.clone(), ty.clone()], ty, fuel / 3);
        let init = self.expr(ty, fuel / 3);
        let xs = self.expr(&item.framed(std::slice::from_ref(&d)), fuel / 3);
        let indices = vec![Ix::Dim(d), Ix::Shape(vec![]), Ix::Shape(item.dims), Ix::Shape(ty.dims.clone())];
        let func = Func::Prim("fold", Instance { types: vec![item.atom, ty.atom], indices });
        let op = Some(Func::Lambda(Box::new(lambda)));
        Some(Expr::new(ty.clone(), Kind::App { func, op, before: None, args: vec![init, xs], after: None }))
    }

    fn append(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (Dim::Known(d), rest) = ty.dims.split_first()? else { return None };
        let first = self.rng.below(d + 1);
        let args = [first, d - first].map(|n| {
            let part = Ty::new(ty.atom, rest).framed(&known(&[n]));
            self.expr(&part, fuel / 2)
        });
        let indices =
            vec![Ix::Dim(Dim::Known(first)), Ix::Dim(Dim::Known(d - first)), Ix::Shape(rest.to_vec())];
        let func = Func::Prim("append", Instance { types: vec![ty.atom], indices });
        Some(Expr::app(ty.clone(), func, args.into()))
    }

    fn reverse(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (d, rest) = ty.dims.split_first()?;
        let indices = vec![Ix::Dim(d.clone()), Ix::Shape(rest.to_vec())];
        let func = Func::Prim("reverse", Instance { types: vec![ty.atom], indices });
        Some(Expr::app(ty.clone(), func, vec![self.expr(ty, fuel)]))
    }

    fn rotate(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let axes = 1 + self.rng.below(ty.rank());
        let (s, c) = ty.dims.split_at_checked(axes)?;
        let amounts = self.literal(&Ty::new(Atom::Int, known(&[axes])))?;
        let indices = vec![Ix::Shape(s.to_vec()), Ix::Shape(c.to_vec())];
        let func = Func::Prim("rotate", Instance { types: vec![ty.atom], indices });
        Some(Expr::app(ty.clone(), func, vec![self.expr(ty, fuel), amounts]))
    }

    fn transpose(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let [a, b, rest @ ..] = ty.dims.as_slice() else { return None };
        let from = Ty::new(ty.atom, rest).framed(&[b.clone(), a.clone()]);
        let indices = vec![Ix::Dim(b.clone()), Ix::Dim(a.clone()), Ix::Shape(rest.to_vec())];
        let func = Func::Prim("transpose", Instance { types: vec![ty.atom], indices });
        Some(Expr::app(ty.clone(), func, vec![self.expr(&from, fuel)]))
    }

    /// An item by its index, which is in range.
    fn index(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let Dim::Known(n) = self.dim_before(&ty.dims) else { return None };
        let mut axes = vec![n.max(1)];
        if self.rng.one_in(2) {
            axes.push(1 + self.rng.below(2));
        }
        let at: Vec<String> = axes.iter().map(|n| self.rng.below(*n).to_string()).collect();
        let s = known(&axes);
        let xs = self.expr(&ty.framed(&s), fuel);
        let indices = vec![Ix::Shape(s), Ix::Shape(ty.dims.clone()), Ix::Dim(Dim::Known(axes.len()))];
        let func = Func::Prim("index", Instance { types: vec![ty.atom], indices });
        let after = Some(format!("[{}]", at.join(" ")));
        Some(Expr::new(ty.clone(), Kind::App { func, op: None, before: None, args: vec![xs], after }))
    }

    /// Lengths, and counts up to known sizes.
    fn sizes_of(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        if ty.atom != Atom::Int {
            return None;
        }
        if ty.dims.is_empty() {
            let of = {
                let d = self.dim();
                self.ty(1).framed(&[d])
            };
            let indices = vec![Ix::Dim(of.dims[0].clone()), Ix::Shape(of.dims[1..].to_vec())];
            let func = Func::Prim("length", Instance { types: vec![of.atom], indices });
            return Some(Expr::app(ty.clone(), func, vec![self.expr(&of, fuel)]));
        }
        if self.rng.one_in(2) {
            let like = Ty::new(self.atom(), ty.dims.clone());
            let indices = vec![Ix::Shape(ty.dims.clone())];
            let func = Func::Prim("iota/w", Instance { types: vec![like.atom], indices });
            return Some(Expr::app(ty.clone(), func, vec![self.expr(&like, fuel)]));
        }
        let dims: Vec<String> = ty.dims.iter().map(|d| self.known_int(d)).collect();
        let before = Some(format!("[{}]", dims.join(" ")));
        let func = Func::Prim("iota", Instance::default());
        Some(Expr::new(ty.clone(), Kind::App { func, op: None, before, args: vec![], after: None }))
    }

    /// Text of an `int` whose value the checker knows to be this dim.
    fn known_int(&mut self, d: &Dim) -> String {
        let Dim::Known(n) = d else { return d.to_string() };
        let of_length = self.scope.iter().find(|(_, t)| t.dims.first() == Some(d)).map(|(x, _)| x.clone());
        match (self.rng.below(4), of_length) {
            (0, Some(x)) => format!("(length {x})"),
            (1, _) => format!("(+ {} {})", n / 2, n - n / 2),
            (2, _) => format!("(- {} 3)", n + 3),
            _ => n.to_string(),
        }
    }

    fn bracket(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let (Dim::Known(n), rest) = ty.dims.split_first()? else { return None };
        let item = Ty::new(ty.atom, rest);
        let items: Vec<Expr> = (0..*n).map(|_| self.expr(&item, fuel / n.max(&1))).collect();
        (!items.is_empty()).then(|| Expr::new(ty.clone(), Kind::Bracket(items)))
    }

    /// `~(r r)op`: the cells lift among themselves, then over the frames.
    fn rerank(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let op = SCALARS.iter().filter(|s| s.operands == 2).nth(self.rng.below(12))?;
        let atom = *self.rng.pick(op.takes)?;
        if op.result(atom) != ty.atom {
            return None;
        }
        let of = self.rng.below(ty.rank() + 1);
        let (frame, cell) = ty.dims.split_at(of);
        let other = self.rng.below(cell.len() + 1);
        let mut cells = [Ty::new(atom, cell), Ty::new(atom, &cell[..other])];
        if self.rng.one_in(2) {
            cells.reverse();
        }
        let ranks = [cells[0].rank(), cells[1].rank()];
        let args = self.lifted(&cells, frame, fuel);
        Some(Expr::app(ty.clone(), Func::Rerank(ranks, op.name, op.instance(atom)), args))
    }

    /// An array of functions.
    fn several(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let Dim::Known(n) = ty.dims.first()? else { return None };
        let names: Vec<&'static str> =
            (0..*n).filter_map(|_| self.rng.pick(combining(ty.atom)).copied()).collect();
        if names.is_empty() {
            return None;
        }
        let types = if ty.atom == Atom::Bool { vec![] } else { vec![ty.atom] };
        let cells = [Ty::scalar(ty.atom), Ty::scalar(ty.atom)];
        let args = self.lifted(&cells, &ty.dims, fuel);
        Some(Expr::app(ty.clone(), Func::Several(names, Instance { types, indices: vec![] }), args))
    }

    /// Another shape with as many atoms, or a part of a longer array.
    fn reshape(&mut self, ty: &Ty, fuel: usize) -> Option<Expr> {
        let dims = sizes(&ty.dims)?;
        let (first, rest) = dims.split_first()?;
        if self.rng.one_in(2) {
            let more = self.rng.below(3);
            let xs = self.expr(&Ty::new(ty.atom, known(rest)).framed(&known(&[first + more])), fuel);
            let (name, count) = if self.rng.one_in(2) { ("take1", *first) } else { ("drop1", more) };
            let func = Func::Prim(name, Instance::default());
            let after = Some(count.to_string());
            return Some(Expr::new(
                ty.clone(),
                Kind::App { func, op: None, before: None, args: vec![xs], after },
            ));
        }
        let total = dims.iter().product::<usize>();
        let xs = self.expr(&Ty::new(ty.atom, known(&[total])), fuel);
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        let before = Some(format!("[{}]", dims.join(" ")));
        let func = Func::Prim("reshape", Instance::default());
        Some(Expr::new(ty.clone(), Kind::App { func, op: None, before, args: vec![xs], after: None }))
    }
}

//! Elaborations made comparable: what a program means once every definition is as general as its use.
//!
//! Two ways to annotate one program are to elaborate to one term. Four differences are no differences, and this
//! form has none of them:
//!
//! - *Names*: ids of variables, their names, and the syntax nodes that terms came from. Here every binder has the
//!   number at which a walk meets it.
//! - *Generality*: without annotations, a definition or local function is generalised, and its uses give the
//!   instance; with a type for each parameter it is what it is used at. Here functions of the program stand where
//!   they are used, at the instance they are used at. What the instance decides is decided: a literal is of its
//!   type, a size that is a number is one, and a check that always holds is gone.
//! - *Known numbers*: of a number that the checker knows, as a size is known, a use is that number and not the
//!   variable bound to it; a written type hides the number, since types do not tell it. Here what is known is
//!   written out: the `+ - *` of known numbers, and variables bound to such.
//! - *Brackets*: an array of arrays is one array.
//!
//! ```text
//! (define (f{(t num) | n} [x [t n]]) (* 2 x))  (f{int | 3} v)   →   ((λ ([x₀ [int 3]]) (* 2 x₀)) v)
//! (define (f [x [int 3]]) (* 2 x))             (f v)            →   ((λ ([x₀ [int 3]]) (* 2 x₀)) v)
//! ```
//!
//! Functions of the prelude stay names with their instances.

use remc_base::*;
use remc_driver::names::DefKind;
use remc_driver::program::globals;
use remc_driver::{LinkedProgram, Session, SourceFile};
use remc_typed::ir::{Arg, Definition, Expr, ExprKind, Fact, Lit, Local};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The text of a definition in this form; `first_user_module` is the first that is not the prelude's.
pub fn specialised(program: &LinkedProgram, definition: &Definition, first_user_module: ModuleId) -> String {
    let it = |ty: &ArrTy, body: &Expr| {
        let mut w = Walk { program, first_user_module, next: 0 };
        let body = w.expr(body, &Scope::default());
        let name = GlobalId { module: ModuleId(0), name: Name::new("it") };
        Definition { name, ty: w.arr(ty, &Subst::new()), body, entry: None }
    };
    let inlined = it(&definition.ty, &definition.body);
    // Once more for the numbers alone: some went to what is gone now.
    remc_typed::print::print_definition(&it(&inlined.ty, &inlined.body))
}

/// The text of all that a file computes: its values, expressions and entries, and functions that none of its
/// definitions use; other functions are part of what uses them.
pub fn file(session: &Session, program: &LinkedProgram, file: SourceFile) -> String {
    let prelude = session.first_user_module();
    let all: Vec<_> = session
        .value_defs(file)
        .into_iter()
        .filter_map(|def| Some((def.kind(&session.db), program.get(&def.global(&session.db))?)))
        .collect();
    let used: HashSet<GlobalId> = all.iter().flat_map(|(_, d)| globals(&d.body)).collect();
    let mut out = String::new();
    for (kind, definition) in all {
        if kind == DefKind::Entry || !is_function(&definition.body) || !used.contains(&definition.name) {
            out.push_str(&format!("; {}\n{}\n", definition.name, specialised(program, definition, prelude)));
        }
    }
    out
}

/// The words of a check without the name of its size, which an annotation gives.
fn nameless(why: &str) -> String {
    match why.split_once("a size `").and_then(|(before, rest)| Some((before, rest.split_once('`')?.1))) {
        Some((before, after)) => format!("{before}a size{after}"),
        None => why.to_string(),
    }
}

/// What the variables of a place stand for.
#[derive(Clone, Default)]
struct Scope<'p> {
    types: Rc<Subst>,
    values: Rc<HashMap<VarId, Bound<'p>>>,
}

#[derive(Clone)]
enum Bound<'p> {
    Variable(VarId),
    /// A literal or a size, of the variable's type.
    Number(Expr),
    /// A local function, where its own variables have their meaning.
    Function(&'p Expr, Scope<'p>),
}

/// An instance that a function is given.
enum Given {
    Types(Vec<TyArg>),
    Indices(Vec<Index>),
}

/// What is known of an expression.
enum Numbers {
    One(Dim),
    Vector(Vec<Dim>),
}

struct Walk<'p> {
    program: &'p LinkedProgram,
    first_user_module: ModuleId,
    next: u32,
}

impl<'p> Walk<'p> {
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A type with what variables stand for, and its own variables numbered.
    fn arr(&mut self, t: &ArrTy, s: &Subst) -> ArrTy {
        ArrTy::new(self.atom(&t.atom, s), s.shape(&t.shape))
    }

    fn atom(&mut self, t: &AtomTy, s: &Subst) -> AtomTy {
        match t {
            AtomTy::Base(_) | AtomTy::Meta(_) | AtomTy::Var(_) | AtomTy::Quot(_) => s.atom(t),
            AtomTy::Fn(f) => {
                AtomTy::func(f.params.iter().map(|p| self.arr(p, s)).collect(), self.arr(&f.ret, s))
            }
            AtomTy::Tuple(q) => {
                AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), self.arr(t, s))).collect())
            }
            AtomTy::Forall(q) => {
                let mut s = s.clone();
                let params = q.params.iter().map(|p| self.type_param(p, &mut s)).collect();
                AtomTy::Forall(ForallTy { params, body: self.arr(&q.body, &s) }.into())
            }
            AtomTy::Pi(q) => {
                let mut s = s.clone();
                let params = self.index_params(&q.params, &mut s);
                AtomTy::Pi(PiTy { params, body: self.arr(&q.body, &s) }.into())
            }
            AtomTy::Sigma(q) => {
                let mut s = s.clone();
                let params = self.index_params(&q.params, &mut s);
                AtomTy::sigma(params, self.arr(&q.body, &s))
            }
        }
    }

    fn ty_arg(&mut self, a: &TyArg, s: &Subst) -> TyArg {
        match a {
            TyArg::Atom(t) => TyArg::Atom(self.atom(t, s)),
            TyArg::Array(t) => TyArg::Array(self.arr(t, s)),
        }
    }

    fn expr(&mut self, e: &'p Expr, scope: &Scope<'p>) -> Expr {
        let s = scope.types.clone();
        // Functions of the program, and what they are applied to of types and indices.
        let (head, given) = self.spine(e, &s);
        if let Some((function, inside)) = self.function(head, scope) {
            return self.instance(function, inside, given);
        }
        let ty = self.arr(&e.ty, &s);
        let kind = match &*e.kind {
            ExprKind::Var(v) => match scope.values.get(v) {
                Some(Bound::Number(e)) => return e.clone(),
                Some(Bound::Variable(v)) => ExprKind::Var(*v),
                _ => ExprKind::Var(*v),
            },
            ExprKind::Global(g) => ExprKind::Global(g.clone()),
            ExprKind::Lit(l) => literal(*l, &ty),
            ExprKind::Frame { dims, elems } => {
                let dims = dims.iter().map(|d| s.dim(d)).collect();
                let elems = elems.iter().map(|e| self.expr(e, scope)).collect();
                frame(dims, elems, &ty)
            }
            ExprKind::Lam { params, body } => {
                let (params, inside) = self.locals(params, scope);
                ExprKind::Lam { params, body: self.expr(body, &inside) }
            }
            ExprKind::TLam { params, body } => {
                let mut types = (*s).clone();
                let params = params.iter().map(|p| self.type_param(p, &mut types)).collect();
                ExprKind::TLam { params, body: self.expr(body, &scope.with_types(types)) }
            }
            ExprKind::ILam { params, body } => {
                let (params, inside) = self.indices(params, scope);
                ExprKind::ILam { params, body: self.expr(body, &inside) }
            }
            ExprKind::App { func, args, frame } => ExprKind::App {
                func: self.expr(func, scope),
                args: args
                    .iter()
                    .map(|a| Arg { expr: self.expr(&a.expr, scope), frame: s.shape(&a.frame) })
                    .collect(),
                frame: s.shape(frame),
            },
            ExprKind::TApp { func, args } => ExprKind::TApp {
                func: self.expr(func, scope),
                args: args.iter().map(|a| self.ty_arg(a, &s)).collect(),
            },
            ExprKind::IApp { func, args } => ExprKind::IApp {
                func: self.expr(func, scope),
                args: args.iter().map(|a| s.index(a)).collect(),
            },
            ExprKind::Let { local, value, body } if is_function(value) => {
                let bound = Bound::Function(value, scope.clone());
                return self.expr(body, &scope.with_value(local.var, bound));
            }
            ExprKind::Let { local, value, body } => {
                let value = self.expr(value, scope);
                let (mut locals, mut inside) = self.locals(std::slice::from_ref(local), scope);
                if let Some(number) = self.known(&value) {
                    inside = inside.with_value(local.var, Bound::Number(number));
                }
                let Some(local) = locals.pop() else { return value };
                ExprKind::Let { local, value, body: self.expr(body, &inside) }
            }
            ExprKind::If { cond, then, otherwise } => ExprKind::If {
                cond: self.expr(cond, scope),
                then: self.expr(then, scope),
                otherwise: self.expr(otherwise, scope),
            },
            ExprKind::Box { witnesses, value } => ExprKind::Box {
                witnesses: witnesses.iter().map(|w| s.index(w)).collect(),
                value: self.expr(value, scope),
            },
            ExprKind::Unbox { boxes, indices, local, body } => {
                let boxes = self.expr(boxes, scope);
                let (indices, inside) = self.indices(indices, scope);
                let (mut locals, inside) = self.locals(std::slice::from_ref(local), &inside);
                let Some(local) = locals.pop() else { return boxes };
                ExprKind::Unbox { boxes, indices, local, body: self.expr(body, &inside) }
            }
            ExprKind::Lift { kind, indices, value, body } => {
                let value = self.expr(value, scope);
                let (indices, inside) = self.indices(indices, scope);
                ExprKind::Lift { kind: *kind, indices, value, body: self.expr(body, &inside) }
            }
            ExprKind::Check { fact, why, body } => {
                let fact = match fact {
                    Fact::NonNegative(d) => Fact::NonNegative(s.dim(d)),
                    Fact::Equal(p, q) => Fact::Equal(s.dim(p), s.dim(q)),
                };
                let body = self.expr(body, scope);
                let holds = match &fact {
                    Fact::NonNegative(d) => d.is_never_negative(),
                    Fact::Equal(p, q) => p == q,
                };
                if holds {
                    return body;
                }
                ExprKind::Check { fact, why: nameless(why).into(), body }
            }
            ExprKind::ReifyDim(d) => match s.dim(d) {
                d if d.as_constant().is_some() => literal(Lit::Int(d.as_constant().unwrap_or_default()), &ty),
                d => ExprKind::ReifyDim(d),
            },
            ExprKind::ReifyShape(shape) => match s.shape(shape) {
                shape if shape.dims().is_some() => sizes(shape.dims().unwrap_or_default(), &ty),
                shape => ExprKind::ReifyShape(shape),
            },
            ExprKind::Tuple(es) => ExprKind::Tuple(es.iter().map(|e| self.expr(e, scope)).collect()),
            ExprKind::Field { tuple, position } => {
                ExprKind::Field { tuple: self.expr(tuple, scope), position: *position }
            }
            ExprKind::Cast(e) => ExprKind::Cast(self.expr(e, scope)),
            ExprKind::AsShape(e) => ExprKind::AsShape(self.expr(e, scope)),
            ExprKind::Loop { locals, cond, body } => {
                let values: Vec<Expr> = locals.iter().map(|(_, e)| self.expr(e, scope)).collect();
                let locals: Vec<Local> = locals.iter().map(|(l, _)| l.clone()).collect();
                let (locals, inside) = self.locals(&locals, scope);
                ExprKind::Loop {
                    locals: locals.into_iter().zip(values).collect(),
                    cond: self.expr(cond, &inside),
                    body: self.expr(body, &inside),
                }
            }
        };
        let made = Expr::new(kind, ty, NodeId(0));
        match &*made.kind {
            ExprKind::App { .. } => self.known(&made).unwrap_or(made),
            _ => made,
        }
    }

    /// What the checker knows an expression to be, where that is numbers, as an expression: a literal, a size, a
    /// vector of such; of integers, the `+ - *` of them.
    fn known(&self, e: &Expr) -> Option<Expr> {
        if matches!(*e.kind, ExprKind::Lit(_)) {
            return Some(e.clone());
        }
        Some(match self.numbers(e)? {
            Numbers::One(d) => Expr::new(size(d, &e.ty), e.ty.clone(), NodeId(0)),
            Numbers::Vector(ds) => Expr::new(sizes(ds, &e.ty), e.ty.clone(), NodeId(0)),
        })
    }

    fn numbers(&self, e: &Expr) -> Option<Numbers> {
        match &*e.kind {
            ExprKind::Lit(Lit::Scalar(s)) => s.as_integer().map(|n| Numbers::One(Dim::constant(n))),
            ExprKind::ReifyDim(d) => Some(Numbers::One(d.clone())),
            ExprKind::Let { body, .. } => self.numbers(body),
            ExprKind::Frame { dims, elems } if dims.len() == 1 => {
                let one = |e: &Expr| match self.numbers(e)? {
                    Numbers::One(d) => Some(d),
                    Numbers::Vector(_) => None,
                };
                elems.iter().map(one).collect::<Option<Vec<Dim>>>().map(Numbers::Vector)
            }
            ExprKind::App { func, args, .. } => {
                let ExprKind::TApp { func, .. } = &*func.kind else { return None };
                let ExprKind::Global(g) = &*func.kind else { return None };
                let [a, b] = args.as_slice() else { return None };
                let combine: fn(&Dim, &Dim) -> Dim = match g.name.as_str() {
                    _ if g.module >= self.first_user_module => return None,
                    "+" => Dim::add,
                    "-" => Dim::sub,
                    "*" => Dim::mul,
                    _ => return None,
                };
                let all = |p: &[Dim], q: &[Dim]| p.iter().zip(q).map(|(p, q)| combine(p, q)).collect();
                match (self.numbers(&a.expr)?, self.numbers(&b.expr)?) {
                    (Numbers::One(p), Numbers::One(q)) => Some(Numbers::One(combine(&p, &q))),
                    (Numbers::Vector(ps), Numbers::One(q)) => {
                        Some(Numbers::Vector(all(&ps, &vec![q; ps.len()])))
                    }
                    (Numbers::One(p), Numbers::Vector(qs)) => {
                        Some(Numbers::Vector(all(&vec![p; qs.len()], &qs)))
                    }
                    (Numbers::Vector(ps), Numbers::Vector(qs)) => {
                        (ps.len() == qs.len()).then(|| Numbers::Vector(all(&ps, &qs)))
                    }
                }
            }
            _ => None,
        }
    }

    /// What is instantiated, and the instances, the innermost last.
    fn spine(&mut self, e: &'p Expr, s: &Subst) -> (&'p Expr, Vec<Given>) {
        let mut given = vec![];
        let mut head = e;
        loop {
            match &*head.kind {
                ExprKind::TApp { func, args } => {
                    given.push(Given::Types(args.iter().map(|a| self.ty_arg(a, s)).collect()));
                    head = func;
                }
                ExprKind::IApp { func, args } => {
                    given.push(Given::Indices(args.iter().map(|a| s.index(a)).collect()));
                    head = func;
                }
                _ => return (head, given),
            }
        }
    }

    /// The function of the program that a name stands for, and what its own variables mean.
    fn function(&self, head: &Expr, scope: &Scope<'p>) -> Option<(&'p Expr, Scope<'p>)> {
        match &*head.kind {
            ExprKind::Var(v) => match scope.values.get(v)? {
                Bound::Function(e, inside) => Some((e, inside.clone())),
                Bound::Variable(_) | Bound::Number(_) => None,
            },
            ExprKind::Global(g) if g.module >= self.first_user_module => {
                let definition = self.program.get(g)?;
                is_function(&definition.body).then(|| (&definition.body, Scope::default()))
            }
            _ => None,
        }
    }

    /// A function at its instance.
    fn instance(&mut self, function: &'p Expr, mut scope: Scope<'p>, mut given: Vec<Given>) -> Expr {
        let mut e = function;
        while let Some(instance) = given.pop() {
            match (&*e.kind, instance) {
                (ExprKind::ILam { params, body }, Given::Indices(args)) if params.len() == args.len() => {
                    let mut types = (*scope.types).clone();
                    params.iter().zip(args).for_each(|(p, a)| types.bind_index(p, a));
                    (e, scope) = (body, scope.with_types(types));
                }
                (ExprKind::TLam { params, body }, Given::Types(args)) if params.len() == args.len() => {
                    let mut types = (*scope.types).clone();
                    params.iter().zip(args).for_each(|(p, a)| types.bind_tparam(p, a));
                    (e, scope) = (body, scope.with_types(types));
                }
                // A function that is another's name, or one that is given part of its indices.
                (_, instance) => {
                    given.push(instance);
                    break;
                }
            }
        }
        let (head, mut more) = self.spine(e, &scope.types);
        if let Some((function, inside)) = self.function(head, &scope) {
            given.append(&mut more);
            return self.instance(function, inside, given);
        }
        let mut out = self.expr(e, &scope);
        while let Some(instance) = given.pop() {
            let ty = out.ty.clone();
            let kind = match instance {
                Given::Types(args) => ExprKind::TApp { func: out, args },
                Given::Indices(args) => ExprKind::IApp { func: out, args },
            };
            out = Expr::new(kind, ty, NodeId(0));
        }
        out
    }

    fn locals(&mut self, locals: &[Local], scope: &Scope<'p>) -> (Vec<Local>, Scope<'p>) {
        let mut inside = scope.clone();
        let renamed = locals
            .iter()
            .map(|l| {
                let var = VarId(self.id());
                inside = inside.with_value(l.var, Bound::Variable(var));
                Local { var, name: Name::new("x"), ty: self.arr(&l.ty, &scope.types) }
            })
            .collect();
        (renamed, inside)
    }

    fn indices(&mut self, params: &[IVar], scope: &Scope<'p>) -> (Vec<IVar>, Scope<'p>) {
        let mut types = (*scope.types).clone();
        let params = self.index_params(params, &mut types);
        (params, scope.with_types(types))
    }

    fn index_params(&mut self, params: &[IVar], types: &mut Subst) -> Vec<IVar> {
        params
            .iter()
            .map(|p| {
                let fresh = IVar { id: self.id(), name: Name::new("i"), ..p.clone() };
                types.bind_index(p, fresh.clone().into());
                fresh
            })
            .collect()
    }

    fn type_param(&mut self, p: &TParam, types: &mut Subst) -> TParam {
        let var = TVar { id: self.id(), name: Name::new("t") };
        types.bind_type(&p.var, AtomTy::Var(var.clone()));
        let shape = p.shape.as_ref().map(|v| {
            let fresh = IVar { id: self.id(), name: Name::new("@s"), ..v.clone() };
            types.bind_shape(v, Shape::rigid(fresh.clone()));
            fresh
        });
        TParam { var, shape, class: p.class }
    }
}

impl<'p> Scope<'p> {
    fn with_types(&self, types: Subst) -> Scope<'p> {
        Scope { types: Rc::new(types), values: self.values.clone() }
    }

    fn with_value(&self, v: VarId, bound: Bound<'p>) -> Scope<'p> {
        let mut values = (*self.values).clone();
        values.insert(v, bound);
        Scope { types: self.types.clone(), values: Rc::new(values) }
    }
}

/// Whether an expression is a function that is written down: evaluating it does nothing.
fn is_function(e: &Expr) -> bool {
    let functional = matches!(e.ty.atom, AtomTy::Fn(_) | AtomTy::Forall(_) | AtomTy::Pi(_));
    if !functional || !e.ty.shape.is_scalar() {
        return false;
    }
    let mut e = e;
    loop {
        match &*e.kind {
            ExprKind::ILam { body, .. } | ExprKind::TLam { body, .. } => e = body,
            ExprKind::IApp { func, .. } | ExprKind::TApp { func, .. } => e = func,
            ExprKind::Lam { .. } | ExprKind::Global(_) | ExprKind::Var(_) => return true,
            _ => return false,
        }
    }
}

/// A literal, as one of its type where that is known.
fn literal(l: Lit, ty: &ArrTy) -> ExprKind {
    let AtomTy::Base(b) = ty.atom else { return ExprKind::Lit(l) };
    let scalar = match l {
        Lit::Scalar(s) => Some(s),
        // One that does not fit stops the program.
        Lit::Int(n) if b.integer_range().is_some_and(|(low, high)| n < low || n > high) => None,
        Lit::Int(n) => Scalar::from_integer(b, n),
        Lit::Float(bits) => Scalar::from_float(b, f64::from_bits(bits)),
    };
    ExprKind::Lit(scalar.map_or(l, Lit::Scalar))
}

/// The value of a dim as a number of the type.
fn size(d: Dim, ty: &ArrTy) -> ExprKind {
    match d.as_constant() {
        Some(n) => literal(Lit::Int(n), ty),
        None => ExprKind::ReifyDim(d),
    }
}

/// The values of dims as a vector of the type.
fn sizes(dims: Vec<Dim>, ty: &ArrTy) -> ExprKind {
    let of = ArrTy::scalar(ty.atom.clone());
    let elems: Vec<Expr> = dims.into_iter().map(|d| Expr::new(size(d, &of), of.clone(), NodeId(0))).collect();
    ExprKind::Frame { dims: vec![Dim::constant(elems.len() as i128)], elems }
}

/// A frame of frames is one frame, and one that is empty has all dims of its type.
fn frame(mut dims: Vec<Dim>, mut elems: Vec<Expr>, ty: &ArrTy) -> ExprKind {
    let first = match elems.first().map(|e| &*e.kind) {
        Some(ExprKind::Frame { dims, .. }) => dims.clone(),
        Some(_) => return ExprKind::Frame { dims, elems },
        None => return ExprKind::Frame { dims: ty.shape.dims().unwrap_or(dims), elems },
    };
    if elems.iter().all(|e| matches!(&*e.kind, ExprKind::Frame { dims, .. } if *dims == first)) {
        dims.extend(first);
        elems = elems
            .into_iter()
            .flat_map(|e| match *e.kind {
                ExprKind::Frame { elems, .. } => elems,
                _ => vec![],
            })
            .collect();
    }
    ExprKind::Frame { dims, elems }
}

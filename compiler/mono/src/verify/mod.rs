//! The verifier of Mono: what must hold of a program whatever pass has written it.
//!
//! One walk in the order of evaluation. It knows which variables are in scope, recomputes the type of
//! every expression from those of its operands and bodies, and compares it with what the pattern says;
//! so a pass that forgets to retype a variable is found at the statement that it left wrong.
//!
//! Dims are atoms. Two that are constants must be equal; of any others nothing is known here, and two
//! different variables may well be the same size. A dim that a statement makes itself (a filter's count)
//! may be mentioned by the other variables of its pattern.
//!
//! ```text
//! (let ((%a.7 int 3)) (literal (3) 1 2 3) p0)
//! (let ((%b.8 int 4)) %a.7 p0)                     Rule::Atom: [int 3], and not [int 4]
//! ```
//!
//! A check whose condition is constantly false makes what follows it unreachable, in its body and in
//! those inside; so is the branch that a constant condition does not take. There, constants disagree by right:
//! that is what the check or the condition was for. Whatever else is broken there is still broken.

mod exp;

use crate::ir::*;
use remc_base::ids::Id;
use remc_base::{BaseTy, Prov, Scalar, ops};
use rustc_hash::FxHashMap;
use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident,)*) => {
        /// What must hold of a program.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            pub const ALL: &[Rule] = &[$(Rule::$rule,)*];
        }
    };
}

rules! {
    /// A statement's provenance is a place of the program.
    Provenance,
    /// A variable is bound once, and is in the program's table.
    Binder,
    /// A variable is in scope where it is used.
    Scope,
    /// A dim is in scope where a variable of that type is bound.
    TypeScope,
    /// A dim is a scalar of type `int`, and not negative.
    Dim,
    /// A parameter that is no input is a size.
    Params,
    /// The inputs are parameters, each once.
    Inputs,
    /// The output is made of the body's results: sizes where it wants sizes, frames in front.
    Output,
    /// A statement binds as many variables as its expression gives, of its types: for each kind of
    /// expression, with what its operands and bodies must be.
    Atom,
    Op,
    Cast,
    Literal,
    Index,
    If,
    For,
    While,
    Map,
    Reduce,
    Scan,
    Scatter,
    Filter,
    Grade,
    Join,
    Reshape,
    Permute,
    Reverse,
    Rotate,
    Append,
    Slice,
    Wrap,
    Cycle,
    Replicate,
    Check,
    /// A channel of the program, its arrays in the order and of the types that it has, with as many items; outside of
    /// iterations that run at the same time.
    Pull,
    Push,
    /// An index variable is an `int`, and counts up to an `int` that is not negative.
    Axis,
    /// A λ has as many parameters as it is given arguments, of their types, and gives what it is to.
    Lambda,
    /// A reduction or scan that is not associative, or gives the start itself, has one.
    Start,
    /// What is combined associatively has the type of the elements.
    Accumulator,
}

/// A program that breaks a rule: a mistake of the compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    pub rule: Rule,
    /// The statement's, unless it is the program itself that is wrong.
    pub prov: Option<Prov>,
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule {:?} of Mono is broken", self.rule)?;
        if let Some(p) = self.prov {
            write!(f, " at {p:?}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Broken {}

type Result<T = ()> = std::result::Result<T, Broken>;

/// Checks a program against all rules.
///
/// # Errors
/// The first rule that is broken, in the order of evaluation.
pub fn verify(p: &Program) -> Result {
    let mut v = Verifier {
        p,
        in_scope: vec![false; p.vars.len()],
        bound: vec![false; p.vars.len()],
        scope: Vec::new(),
        known: FxHashMap::default(),
        unreachable: false,
        prov: None,
    };
    for param in &p.params {
        v.bind(*param)?;
    }
    v.inputs()?;
    let mut results = v.body(&p.body)?;
    v.pushed(&mut results)?;
    v.output(&p.output, &results, 0)
}

struct Verifier<'p> {
    p: &'p Program,
    in_scope: Vec<bool>,
    /// Whether a variable has been bound at all.
    bound: Vec<bool>,
    /// The variables in scope, the innermost last.
    scope: Vec<Var>,
    /// The values of the scalars that are computed of constants alone.
    known: FxHashMap<Var, Scalar>,
    /// Whether a check that always stops stands before.
    unreachable: bool,
    /// The statement that is being checked.
    prov: Option<Prov>,
}

/// A type for people.
struct Shown<'a>(&'a Program, &'a Ty);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(p, ty) = self;
        if ty.is_scalar() {
            return write!(f, "{}", ty.base);
        }
        write!(f, "[{}", ty.base)?;
        for d in &ty.dims {
            match d {
                Atom::Var(v) => write!(f, " {}", name(p, *v))?,
                Atom::Const(c) => write!(f, " {}", crate::print::constant(*c))?,
            }
        }
        f.write_str("]")
    }
}

fn name(p: &Program, v: Var) -> String {
    format!("%{}.{}", p.vars.get(v).map_or("", |info| info.name.as_str()), v.0)
}

impl<'p> Verifier<'p> {
    fn broken<T>(&self, rule: Rule, message: impl Into<String>) -> Result<T> {
        Err(Broken { rule, prov: self.prov, message: message.into() })
    }

    // ---- variables ----

    /// The type of a variable that is about to be bound.
    fn declared(&self, v: Var) -> Result<&'p Ty> {
        match self.p.vars.get(v) {
            Some(info) => Ok(&info.ty),
            None => self.broken(Rule::Binder, format!("{v:?} is not in the table of variables")),
        }
    }

    /// The type of a variable that is used.
    fn var(&self, v: Var) -> Result<&'p Ty> {
        match self.p.vars.get(v) {
            Some(info) if self.in_scope[v.index()] => Ok(&info.ty),
            _ => self.broken(Rule::Scope, format!("{} is not in scope", name(self.p, v))),
        }
    }

    fn atom(&self, a: Atom) -> Result<Ty> {
        match a {
            Atom::Var(v) => self.var(v).cloned(),
            Atom::Const(c) => Ok(Ty::scalar(c.ty())),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> Result<Vec<Ty>> {
        atoms.iter().map(|a| self.atom(*a)).collect()
    }

    fn value(&self, a: Atom) -> Option<Scalar> {
        match a {
            Atom::Var(v) => self.known.get(&v).copied(),
            Atom::Const(c) => Some(c),
        }
    }

    /// Puts a variable into the scope.
    fn enter(&mut self, v: Var) -> Result {
        self.declared(v)?;
        if std::mem::replace(&mut self.bound[v.index()], true) {
            return self.broken(Rule::Binder, format!("{} is bound twice", name(self.p, v)));
        }
        self.in_scope[v.index()] = true;
        self.scope.push(v);
        Ok(())
    }

    /// The dims of a variable are sizes in scope.
    fn dims(&self, v: Var) -> Result {
        for d in &self.declared(v)?.dims {
            match *d {
                Atom::Var(x) if self.p.vars.get(x).is_none() || !self.in_scope[x.index()] => {
                    let (v, x) = (name(self.p, v), name(self.p, x));
                    return self.broken(Rule::TypeScope, format!("{x}, a dim of {v}, is not in scope"));
                }
                _ => self.size(Rule::Dim, *d)?,
            }
        }
        Ok(())
    }

    fn bind(&mut self, v: Var) -> Result {
        self.dims(v)?;
        self.enter(v)
    }

    /// Binds variables whose types may mention one another.
    fn bind_together(&mut self, vars: impl Iterator<Item = Var> + Clone) -> Result {
        for v in vars.clone() {
            self.enter(v)?;
        }
        vars.into_iter().try_for_each(|v| self.dims(v))
    }

    /// Runs `f`, whose binders leave the scope at its end.
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (mark, unreachable) = (self.scope.len(), self.unreachable);
        let result = f(self);
        for v in self.scope.drain(mark..) {
            self.in_scope[v.index()] = false;
        }
        self.unreachable = unreachable;
        result
    }

    // ---- types ----

    /// A scalar of type `int`, which is not negative if it is a constant.
    fn size(&self, rule: Rule, a: Atom) -> Result {
        if self.atom(a)? != Ty::int() {
            return self.broken(rule, "a size is no int");
        }
        match a.as_int() {
            Some(n) if n < 0 && !self.unreachable => self.broken(rule, format!("the size {n} is negative")),
            _ => Ok(()),
        }
    }

    fn ints(&self, rule: Rule, atoms: &[Atom]) -> Result {
        for a in atoms {
            self.agree(rule, "an index", &self.atom(*a)?, &Ty::int())?;
        }
        Ok(())
    }

    fn scalar(&self, rule: Rule, what: &str, ty: &Ty) -> Result<BaseTy> {
        if !ty.is_scalar() {
            return self.broken(rule, format!("{what} is of type {}, no scalar", Shown(self.p, ty)));
        }
        Ok(ty.base)
    }

    /// The types are the same as far as dims can be compared.
    fn agree(&self, rule: Rule, what: &str, have: &Ty, want: &Ty) -> Result {
        let differ = |(a, b): (&Atom, &Atom)| match (a, b) {
            (Atom::Const(a), Atom::Const(b)) => a != b && !self.unreachable,
            _ => false,
        };
        if have.base != want.base
            || have.rank() != want.rank()
            || have.dims.iter().zip(&want.dims).any(differ)
        {
            let (have, want) = (Shown(self.p, have), Shown(self.p, want));
            return self.broken(rule, format!("{what} is of type {have}, and not {want}"));
        }
        Ok(())
    }

    fn count(&self, rule: Rule, what: &str, have: usize, want: usize) -> Result {
        if have != want {
            return self.broken(rule, format!("the number of {what} is {have}, and not {want}"));
        }
        Ok(())
    }

    fn agree_all(&self, rule: Rule, what: &str, have: &[Ty], want: &[Ty]) -> Result {
        self.count(rule, &format!("{what}s"), have.len(), want.len())?;
        have.iter().zip(want).try_for_each(|(h, w)| self.agree(rule, what, h, w))
    }

    // ---- bodies ----

    /// The types of the results.
    fn body(&mut self, body: &Body) -> Result<Vec<Ty>> {
        self.scoped(|v| {
            for s in &body.stmts {
                v.stmt(s)?;
            }
            v.atoms(&body.results)
        })
    }

    fn stmt(&mut self, s: &Stmt) -> Result {
        let outer = self.prov.replace(s.prov);
        if !self.p.provs.contains(s.prov) {
            return self.broken(Rule::Provenance, format!("{:?} is no place of the program", s.prov));
        }
        self.exp(&s.exp, &s.pat)?;
        match (&s.exp, s.pat.as_slice()) {
            // These give sizes of their own.
            (Exp::If { .. } | Exp::For { .. } | Exp::While { .. } | Exp::Pull { .. }, pat) => {
                self.bind_together(pat.iter().copied())?;
            }
            (_, pat) => pat.iter().try_for_each(|v| self.bind(*v))?,
        }
        self.remember(s);
        self.prov = outer;
        Ok(())
    }

    /// Keeps what the statement makes known.
    fn remember(&mut self, s: &Stmt) {
        let value = match &s.exp {
            Exp::Check { cond, .. } => {
                self.unreachable |= self.value(*cond) == Some(Scalar::Bool(false));
                return;
            }
            Exp::Atom(a) => self.value(*a),
            Exp::Cast(ty, a) => self.value(*a).and_then(|x| ops::cast(x, *ty).ok()),
            Exp::Op(ops::ScalarOp::And, args) if args.iter().any(|a| self.value(*a) == FALSE) => FALSE,
            Exp::Op(op, args) => {
                let args: Option<Vec<_>> = args.iter().map(|a| self.value(*a)).collect();
                args.and_then(|args| ops::apply(*op, &args).ok())
            }
            _ => None,
        };
        if let (Some(value), [v]) = (value, s.pat.as_slice()) {
            self.known.insert(*v, value);
        }
    }

    // ---- the program ----

    fn inputs(&self) -> Result {
        let mut given = vec![false; self.p.vars.len()];
        for v in self.p.inputs.iter().flat_map(Input::vars) {
            if !self.p.params.contains(&v) {
                return self.broken(Rule::Inputs, format!("the input {} is no parameter", name(self.p, v)));
            }
            if std::mem::replace(&mut given[v.index()], true) {
                return self.broken(Rule::Inputs, format!("{} is an input twice", name(self.p, v)));
            }
        }
        self.p.inputs.iter().try_for_each(|i| self.input(i, false))?;
        for (k, i) in self.p.inputs.iter().enumerate() {
            if i.stream_size().is_some_and(|v| !self.p.params.contains(&v) || given[v.index()]) {
                return self.broken(Rule::Inputs, "the size of a stream is no size of the program");
            }
            if let Input::Channel { channel, .. } = i
                && self.p.channels.get(*channel).is_none_or(|c| c.input != Some(k))
            {
                return self.broken(Rule::Inputs, format!("the input {k} is of no channel that reads it"));
            }
        }
        for v in &self.p.params {
            if !given[v.index()] && self.p.vars[*v].ty != Ty::int() {
                return self.broken(Rule::Params, format!("{} is neither size nor input", name(self.p, *v)));
            }
        }
        Ok(())
    }

    /// Where inputs may be in boxes, and that witnesses and starts are ints.
    fn input(&self, input: &Input, boxed: bool) -> Result {
        let int = |v: Var| match self.p.vars[v].ty.base {
            BaseTy::I64 => Ok(()),
            _ => {
                self.broken(Rule::Inputs, format!("{} says where boxes are, and is no int", name(self.p, v)))
            }
        };
        match input {
            Input::Stream { items, .. } if !boxed => self.input(items, false),
            Input::Channel { .. } if !boxed => Ok(()),
            Input::Tuple(fields) => fields.iter().try_for_each(|(_, f)| self.input(f, boxed)),
            Input::Boxes { witnesses, contents } => {
                for w in witnesses {
                    w.vars().into_iter().try_for_each(int)?;
                    if let InputWitness::Shape { dims, .. } = w
                        && self.p.vars[*dims].ty.rank() != 1
                    {
                        return self.broken(Rule::Inputs, "the dims of shapes are no vector");
                    }
                }
                self.input(contents, true)
            }
            Input::Array(_) if !boxed => Ok(()),
            Input::Part { starts, data } if boxed && self.p.vars[*data].ty.rank() == 1 => int(*starts),
            Input::Parts { starts, boxes } if boxed && matches!(**boxes, Input::Boxes { .. }) => {
                int(*starts)?;
                self.input(boxes, false)
            }
            _ => self.broken(Rule::Inputs, "an input in boxes, or outside of them, where it may not be"),
        }
    }

    /// Where a result is how many items a channel was given, these items are the result.
    fn pushed(&self, results: &mut [Ty]) -> Result {
        for (k, c) in self.p.channels.iter().enumerate() {
            let Some(at) = c.output else { continue };
            match (results.get_mut(at), &c.arrays[..]) {
                (Some(result), [a]) if *result == Ty::int() && c.input.is_none() => {
                    *result = Ty { base: a.base, dims: vec![Atom::int(0); a.rank + 1] };
                }
                _ => return self.broken(Rule::Output, format!("the channel {k} is of no result")),
            }
        }
        Ok(())
    }

    /// `frame` is the number of axes around.
    fn output(&self, output: &Output, results: &[Ty], frame: usize) -> Result {
        let result = |k: usize| match results.get(k) {
            Some(ty) => Ok(ty),
            None => self.broken(Rule::Output, format!("the body gives no result {k}")),
        };
        let sizes = |ks: &[usize]| -> Result {
            ks.iter().try_for_each(|k| self.agree(Rule::Output, "a size", result(*k)?, &Ty::int()))
        };
        match output {
            Output::Array(k) if result(*k)?.rank() < frame => {
                self.broken(Rule::Output, format!("the result {k} has fewer than {frame} axes"))
            }
            Output::Array(_) => Ok(()),
            Output::Tuple { frame: own, .. } if own.len() < frame => {
                self.broken(Rule::Output, format!("an array of tuples has fewer than {frame} axes"))
            }
            Output::Tuple { frame: own, fields } => {
                sizes(own)?;
                fields.iter().try_for_each(|f| self.output(&f.1, results, own.len()))
            }
            Output::Box { .. } if frame > 0 => self.broken(Rule::Output, "a box is in a frame"),
            Output::Box { witnesses, contents, .. } => {
                for w in witnesses {
                    match w {
                        Witness::Dim(k) => sizes(&[*k])?,
                        Witness::Shape(ks) => sizes(ks)?,
                        Witness::Vector(k) => self.ints_at(*k, 1, results)?,
                        Witness::Vectors { .. } => {
                            return self.broken(Rule::Output, "one box has the shapes of many");
                        }
                    }
                }
                self.output(contents, results, 0)
            }
            Output::Boxes { frame: own, .. } if own.len() < frame => {
                self.broken(Rule::Output, format!("an array of boxes has fewer than {frame} axes"))
            }
            Output::Boxes { frame: own, witnesses, contents, .. } => {
                sizes(own)?;
                self.boxes(witnesses, contents, own.len(), results)
            }
            Output::Functions { frame: own, .. } if own.len() < frame => {
                self.broken(Rule::Output, format!("an array of functions has fewer than {frame} axes"))
            }
            Output::Functions { frame: own, .. } => sizes(own),
            Output::Part { .. } | Output::Parts { .. } => {
                self.broken(Rule::Output, "contents are in no boxes")
            }
        }
    }

    fn array_at<'r>(&self, k: usize, rank: usize, results: &'r [Ty]) -> Result<&'r Ty> {
        match results.get(k) {
            Some(ty) if ty.rank() == rank => Ok(ty),
            _ => self.broken(Rule::Output, format!("the result {k} is no array of {rank} axes")),
        }
    }

    fn ints_at(&self, k: usize, rank: usize, results: &[Ty]) -> Result {
        match self.array_at(k, rank, results)?.base {
            BaseTy::I64 => Ok(()),
            _ => self.broken(Rule::Output, format!("the result {k} is not of ints")),
        }
    }

    /// Boxes in a frame of so many axes.
    fn boxes(&self, witnesses: &[Witness], contents: &Output, rank: usize, results: &[Ty]) -> Result {
        let ints = |k: usize| self.ints_at(k, rank, results);
        for w in witnesses {
            match w {
                Witness::Dim(k) => ints(*k)?,
                Witness::Shape(ks) => ks.iter().try_for_each(|k| ints(*k))?,
                Witness::Vectors { ranks, starts, dims } => {
                    ints(*ranks)?;
                    ints(*starts)?;
                    self.ints_at(*dims, 1, results)?;
                }
                Witness::Vector(_) => {
                    return self.broken(Rule::Output, "an array of boxes has the shape of one");
                }
            }
        }
        match contents {
            Output::Part { starts, data } => {
                ints(*starts)?;
                self.array_at(*data, 1, results).map(|_| ())
            }
            Output::Functions { frame, .. } if frame.is_empty() => Ok(()),
            Output::Tuple { fields, .. } => {
                fields.iter().try_for_each(|(_, f)| self.boxes(&[], f, rank, results))
            }
            Output::Boxes { witnesses, contents, .. } => self.boxes(witnesses, contents, rank, results),
            Output::Parts { starts, boxes } => {
                ints(*starts)?;
                match &**boxes {
                    Output::Boxes { witnesses, contents, .. } => self.boxes(witnesses, contents, 1, results),
                    _ => self.broken(Rule::Output, "an array of boxes is none"),
                }
            }
            _ => self.broken(Rule::Output, "contents of boxes are none"),
        }
    }
}

const FALSE: Option<Scalar> = Some(Scalar::Bool(false));

//! The verifier of Kernel: what must hold of a program whatever pass has written it, but for races
//! ([`crate::race`]).
//!
//! | module | what it checks |
//! | --- | --- |
//! | here | the program: its parameters, results, kernels, and who may mention what |
//! | [`stmt`] | statements: types and numbers of operands, and what only a kernel or the plan has |
//! | [`lanes`] | loops in lanes and scans: what they carry, and that all lanes take the same way |
//! | [`owner`] | the plan's buffers, each freed or handed on once |
//!
//! A variable is bound once in the whole program, so that "a kernel mentions its own variables alone" is
//! a matter of scope: a kernel starts with nothing in scope but its parameters, its grid's variables and
//! `worker`, and the plan with the program's parameters.
//!
//! ```text
//! (k0 "k" (grid (%b.1 4)) (worker %w.2) (params (%ys.3 global float 4))
//!   (body (store %ys.3 (%b.1) 1.0 p0)
//!         (free %ys.3 p0)))                        Rule::Host: the plan's alone
//! ```
//!
//! The dims of two buffers that a launch or a loop takes for one are not compared: they are atoms, and
//! two of them may well be the same size.

mod lanes;
mod owner;
mod stmt;

use crate::ir::*;
use crate::print;
use remc_base::ids::Id;
use remc_base::{BaseTy, Prov};
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
    /// The provenance of statements and kernels is a place of the program.
    Provenance,
    /// A variable is bound once, and is in the program's table.
    Binder,
    /// A variable is in scope where it is used; a kernel and the plan mention their own alone.
    Scope,
    /// A dim is in scope where a buffer of that type is bound.
    TypeScope,
    /// A dim is an `int`.
    Dim,
    /// The program's parameters are scalars and global buffers.
    Params,
    /// The inputs are parameters, each once.
    Inputs,
    /// The output is made of the plan's results; sizes are `int`s.
    Output,
    /// A kernel's parameters are scalars and buffers in memory that kernels share.
    KernelParams,
    /// A block index is an `int`; how many there are is an `int`, a constant or a parameter of the kernel.
    Grid,
    /// The worker's number is an `int`.
    Worker,
    /// What only the plan has: `free`, `alias`, `slice`, `launch`, `sort`, `workers`, and buffers as values.
    Host,
    /// A kernel allocates private buffers of constant dims.
    KernelAlloc,
    /// The plan allocates buffers that kernels share.
    Alloc,
    /// A scratch buffer has a dim for the workers.
    Scratch,
    /// The loops of the plan run in sequence.
    PlanLoop,
    /// A scalar variable is bound to an expression of its type.
    Let,
    Op,
    Cast,
    /// What is loaded is an element of a buffer.
    Load,
    /// What is stored is an element of the buffer's base type.
    Store,
    /// A buffer is addressed by as many indices as it has dims, each an `int`.
    Indices,
    /// An index variable and the parts of a range are `int`s.
    Range,
    /// A carried value has one type as parameter, result, first value and next value.
    Carried,
    /// What an `if` or `while` tests is a `bool`.
    Condition,
    /// The values of a choice have its type.
    Choice,
    /// A check tests a `bool`, and has as many scalars as its trap takes.
    Check,
    /// An alias has the base type and space of the buffer whose memory it is.
    Alias,
    /// A slice has the base type, space and cells of the buffer whose rows it is, from an `int` on; it is neither
    /// freed nor handed on nor sorted.
    Slice,
    /// A launch gives each parameter of a kernel a value of its type.
    Launch,
    /// What is sorted are buffers of one first dim; the permutation is a vector of `int`s of its own.
    Sort,
    /// A channel of the program, and buffers that hold items of it.
    Channel,
    /// A chain is a statement of a kernel's body itself, and hands on values of one type by memory that has
    /// a place for each block, at the grid's variables.
    Chain,
    /// The numbers of a schedule are in their ranges, and agree.
    Schedule,
    /// A block has 1 to 1024 threads, whose number is an `int`; only then do they meet.
    Threads,
    /// Shared memory is allocated in the body itself of a kernel with threads.
    Shared,
    /// Conditions and bounds around what the threads of a block do together are the same for all of them, and
    /// so is what they hand on to another block.
    Uniform,
    /// Points have as many indices as dims, all `int`s.
    Points,
    /// A collective combines values of one type each; a scan gives each thread what comes before.
    Collective,
    /// Threads update an element by an operator that takes values in any order, of the element's own type.
    Update,
    /// At least one lane, or iteration at a time.
    Width,
    /// Iterations that are jammed carry no values.
    Jam,
    /// A value carried in lanes has an operator that may combine lanes; its next value is made by it, of
    /// the last one and of something else, and nothing else mentions it.
    Combine,
    /// A value carried by a scan has an operator that lanes may be scanned with; its next value is made by
    /// it, of the last one and of something that depends on nothing that the loop carries.
    Scan,
    /// Bounds and conditions inside a loop in lanes or a scan are the same for all lanes.
    Invariant,
    /// What is freed is a buffer that the plan owns by this name.
    Free,
    /// A parameter is neither freed nor handed on.
    Borrowed,
    /// A parameter is not written, nor passed where a kernel writes.
    Written,
    /// Memory that a kernel writes has one name there, but for slices of it: what is read under another name would be
    /// what iterations have written.
    OneName,
    /// A buffer is not used after it is freed or handed on.
    Gone,
    /// A buffer is freed or handed on in the block that owns it.
    Leak,
    /// Both branches of an `if` free and hand on the same buffers from outside.
    Alike,
    /// A loop neither frees nor hands on a buffer from outside; its condition no buffer that it carries.
    Loop,
}

/// A program that breaks a rule: a mistake of the compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    pub rule: Rule,
    /// The kernel it is in, unless it is the plan or the program.
    pub kernel: Option<KernelId>,
    /// The statement's, unless it is the kernel or the program itself that is wrong.
    pub prov: Option<Prov>,
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule {:?} of Kernel is broken", self.rule)?;
        if let Some(k) = self.kernel {
            write!(f, " in kernel {k:?}")?;
        }
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
/// The first rule that is broken: of a kernel, or else of the plan.
pub fn verify(p: &Program) -> Result {
    let mut v = Verifier {
        p,
        kernel: None,
        prov: None,
        in_scope: vec![false; p.vars.len()],
        bound: vec![false; p.vars.len()],
        scope: Vec::new(),
        depth: 0,
    };
    for (id, kernel) in p.kernels.iter() {
        v.kernel = Some(id);
        v.kernel(kernel)?;
    }
    v.kernel = None;
    v.prov = None;
    v.program()?;
    owner::check(p)
}

struct Verifier<'p> {
    p: &'p Program,
    /// What is being checked: a kernel or the plan, and a statement.
    kernel: Option<KernelId>,
    prov: Option<Prov>,
    in_scope: Vec<bool>,
    /// Whether a variable has been bound at all.
    bound: Vec<bool>,
    /// The variables in scope, the innermost last.
    scope: Vec<Var>,
    /// How many blocks are around the statement.
    depth: usize,
}

impl<'p> Verifier<'p> {
    fn broken<T>(&self, rule: Rule, message: impl Into<String>) -> Result<T> {
        Err(Broken { rule, kernel: self.kernel, prov: self.prov, message: message.into() })
    }

    fn ensure(&self, holds: bool, rule: Rule, message: impl FnOnce() -> String) -> Result {
        if holds { Ok(()) } else { self.broken(rule, message()) }
    }

    fn name(&self, v: Var) -> String {
        format!("`{}`", print::var(self.p, v))
    }

    fn text(&self, a: Atom) -> String {
        format!("`{}`", print::atom(self.p, a))
    }

    // ---- the program ----

    fn program(&mut self) -> Result {
        let p = self.p;
        self.bind_all(&p.params)?;
        for v in &p.params {
            if let Ty::Buffer(b) = p.ty(*v) {
                let name = || format!("{} is {}", self.name(*v), b.space.name());
                self.ensure(b.space == Space::Global, Rule::Params, name)?;
            }
        }
        let mut seen = Vec::new();
        p.inputs.iter().try_for_each(|i| self.input(i, &mut seen))?;
        self.block(&p.plan)?;
        self.prov = None;
        p.results.iter().try_for_each(|a| self.mention(*a))?;
        self.output(&p.output)?;
        self.leave(0);
        Ok(())
    }

    fn input(&self, input: &Input, seen: &mut Vec<Var>) -> Result {
        input.vars().into_iter().try_for_each(|v| {
            let fresh = self.p.params.contains(&v) && !seen.contains(&v);
            seen.push(v);
            self.ensure(fresh, Rule::Inputs, || format!("{} is no parameter, or twice", self.name(v)))
        })
    }

    fn output(&self, output: &Output) -> Result {
        let result = |k: usize| match self.p.results.get(k) {
            Some(a) => Ok(*a),
            None => self.broken(Rule::Output, format!("there is no result {k}")),
        };
        let size = |k: &usize| {
            let a = result(*k)?;
            let is_int = self.p.scalar_ty(a) == Some(BaseTy::I64);
            self.ensure(is_int, Rule::Output, || format!("the size {} is no `int`", self.text(a)))
        };
        match output {
            Output::Array(k) => result(*k).map(|_| ()),
            Output::Tuple { frame, fields } => {
                frame.iter().try_for_each(size)?;
                fields.iter().try_for_each(|(_, o)| self.output(o))
            }
            Output::Box { witnesses, contents, .. } => {
                for w in witnesses {
                    match w {
                        Witness::Dim(k) => size(k)?,
                        Witness::Shape(ks) => ks.iter().try_for_each(size)?,
                        Witness::Vector(_) | Witness::Vectors { .. } => {
                            w.results().into_iter().try_for_each(|k| result(k).map(|_| ()))?;
                        }
                    }
                }
                self.output(contents)
            }
            Output::Boxes { frame, witnesses, contents, .. } => {
                frame.iter().try_for_each(size)?;
                for w in witnesses {
                    w.results().into_iter().try_for_each(|k| result(k).map(|_| ()))?;
                }
                self.output(contents)
            }
            Output::Functions { frame, .. } => frame.iter().try_for_each(size),
            Output::Part { starts, data } => {
                result(*starts)?;
                result(*data).map(|_| ())
            }
            Output::Parts { starts, boxes } => {
                result(*starts)?;
                self.output(boxes)
            }
        }
    }

    fn kernel(&mut self, k: &'p Kernel) -> Result {
        let p = self.p;
        for prov in &k.provs {
            self.ensure(p.provs.contains(*prov), Rule::Provenance, || format!("there is no place {prov:?}"))?;
        }
        self.ensure(k.schedule.conflict().is_none(), Rule::Schedule, || {
            k.schedule.conflict().unwrap_or_default()
        })?;
        self.bind_all(&k.params)?;
        for v in &k.params {
            let private =
                matches!(p.ty(*v), Ty::Buffer(b) if matches!(b.space, Space::Private | Space::Shared));
            self.ensure(!private, Rule::KernelParams, || format!("{} is private", self.name(*v)))?;
        }
        for (v, n) in &k.grid {
            self.mention(*n)?;
            let is_int = p.scalar_ty(*n) == Some(BaseTy::I64);
            let known = n.as_var().is_none_or(|v| k.params.contains(&v));
            self.ensure(is_int && known, Rule::Grid, || format!("there cannot be {} blocks", self.text(*n)))?;
            self.bind_int(*v, Rule::Grid)?;
        }
        self.bind_int(k.worker, Rule::Worker)?;
        if let Some((thread, count)) = k.threads {
            self.ensure((1..=1024).contains(&count), Rule::Threads, || format!("{count} threads"))?;
            self.bind_int(thread, Rule::Threads)?;
        }
        self.block(&k.body)?;
        if let Some((thread, _)) = k.threads {
            self.threads_alike(thread, &k.body)?;
        }
        self.prov = None;
        self.leave(0);
        Ok(())
    }

    // ---- variables ----

    /// Binds variables whose types may mention each other.
    fn bind_all(&mut self, vars: &[Var]) -> Result {
        for v in vars {
            let fresh = self.bound.get(v.index()).is_some_and(|bound| !bound);
            self.ensure(fresh, Rule::Binder, || {
                format!("{} is bound twice, or not in the table", self.name(*v))
            })?;
            self.bound[v.index()] = true;
            self.in_scope[v.index()] = true;
            self.scope.push(*v);
        }
        for v in vars {
            let Ty::Buffer(b) = self.p.ty(*v) else { continue };
            for d in &b.dims {
                if let Atom::Var(d) = d {
                    let here = self.in_scope.get(d.index()) == Some(&true);
                    self.ensure(here, Rule::TypeScope, || {
                        format!("{} has the dim {}, not in scope", self.name(*v), self.name(*d))
                    })?;
                }
                let is_int = self.p.scalar_ty(*d) == Some(BaseTy::I64);
                self.ensure(is_int, Rule::Dim, || {
                    format!("the dim {} of {} is no `int`", self.text(*d), self.name(*v))
                })?;
            }
            let enough = b.space != Space::Scratch || !b.dims.is_empty();
            self.ensure(enough, Rule::Scratch, || format!("{} has no dim", self.name(*v)))?;
        }
        Ok(())
    }

    fn bind(&mut self, v: Var) -> Result {
        self.bind_all(&[v])
    }

    fn bind_int(&mut self, v: Var, rule: Rule) -> Result {
        self.bind(v)?;
        let is_int = *self.p.ty(v) == Ty::Scalar(BaseTy::I64);
        self.ensure(is_int, rule, || format!("{} is no `int`", self.name(v)))
    }

    /// Takes the variables bound since `mark` out of scope.
    fn leave(&mut self, mark: usize) {
        for v in self.scope.drain(mark..) {
            self.in_scope[v.index()] = false;
        }
    }

    fn mention_var(&self, v: Var) -> Result {
        let here = self.in_scope.get(v.index()) == Some(&true);
        self.ensure(here, Rule::Scope, || format!("{} is not in scope", self.name(v)))
    }

    fn mention(&self, a: Atom) -> Result {
        a.as_var().map_or(Ok(()), |v| self.mention_var(v))
    }

    /// The type of a scalar; a buffer breaks the rule.
    fn scalar(&self, a: Atom, rule: Rule) -> Result<BaseTy> {
        self.mention(a)?;
        match self.p.scalar_ty(a) {
            Some(ty) => Ok(ty),
            None => self.broken(rule, format!("the buffer {} is no scalar", self.text(a))),
        }
    }

    fn of_type(&self, a: Atom, ty: BaseTy, rule: Rule) -> Result {
        let found = self.scalar(a, rule)?;
        self.ensure(found == ty, rule, || format!("{} is of type `{found}`, not `{ty}`", self.text(a)))
    }

    fn buffer(&self, v: Var, rule: Rule) -> Result<&'p BufferTy> {
        self.mention_var(v)?;
        match self.p.buffer_ty(v) {
            Some(ty) => Ok(ty),
            None => self.broken(rule, format!("the scalar {} is no buffer", self.name(v))),
        }
    }
}

//! Statements as C++: what kernels and the host's plan have in common.
//!
//! ```text
//! (let %y (op * %x 2.0))                     const f32 y = remc::mul(x, 2.0f);
//! (for seq %i (tile %b 64 %n) ((%s %r 0)) …) i64 s = 0;
//!                                            for (i64 i = …; i < …; ++i) { … s = t; }     %r is s, too
//! (check (index 1 1) %c %i %n)               if (!c) { tell the error slot; return; }
//! ```
//!
//! Loops `in lanes`, scanned or jammed are loops: on this device it is threads that run side by side.

use crate::Error;
use crate::names::Names;
use crate::scalar::{self, type_name};
use crate::writer::Writer;
use remc_base::{BaseTy, Name, Prov, Scalar, Trap};
use remc_kernel::contract::Fused;
use remc_kernel::counts::Counts;
use remc_kernel::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where the statements are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In a kernel, some of whose checks may fail.
    Kernel,
    /// In the plan.
    Host,
}

/// A buffer whose elements in all lanes are one pack.
pub struct Pack {
    pub buffer: Var,
    pub name: String,
}

/// A function under construction.
pub struct Body<'a> {
    pub p: &'a Program,
    pub side: Side,
    pub names: Names,
    pub w: Writer,
    pub traps: &'a FxHashMap<Trap, u32>,
    pub fused: Fused,
    /// Values that are written where they are used, and the texts of those so far.
    pub inlinable: FxHashSet<Var>,
    texts: FxHashMap<Var, String>,
    /// How many threads a block has, in a kernel whose blocks have threads of their own.
    pub threads: Option<u32>,
    /// What its collectives count.
    pub counts: Counts,
    /// The kernel's parameters that may begin anywhere, not only where a pack of elements does.
    pub slices: FxHashSet<Var>,
    /// Inside of a loop over the lanes of packs its variable, and the packs that are read and written.
    pub lane: Option<Var>,
    pub taken: Vec<Pack>,
    pub put: Vec<Pack>,
    /// What a failed check does once it has told.
    pub bail: String,
    /// What it does before.
    pub told: Option<String>,
    /// In the plan, the constants with the places of thresholds in their table.
    pub thresholds: FxHashMap<Name, String>,
    /// Variables that are declared already, outside of the function that gives them values.
    pub hoisted: FxHashSet<Var>,
}

pub type Printed<T = ()> = Result<T, Error>;

pub fn wrong<T>(message: impl Into<String>) -> Printed<T> {
    Err(Error(message.into()))
}

/// Whether an expression is one name, number or call, which no operator beside it takes apart.
fn is_closed(text: &str) -> bool {
    let mut depth = 0usize;
    text.chars().all(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > 0 || c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | ')' | ']' | '<' | '>')
    }) && !text.starts_with('(')
}

impl<'a> Body<'a> {
    pub fn new(p: &'a Program, side: Side, traps: &'a FxHashMap<Trap, u32>, fused: Fused) -> Body<'a> {
        Body {
            p,
            side,
            names: Names::default(),
            w: Writer::default(),
            traps,
            fused,
            inlinable: FxHashSet::default(),
            texts: FxHashMap::default(),
            threads: None,
            counts: Counts::default(),
            slices: FxHashSet::default(),
            lane: None,
            taken: Vec::new(),
            put: Vec::new(),
            bail: "return;".to_owned(),
            told: None,
            thresholds: FxHashMap::default(),
            hoisted: FxHashSet::default(),
        }
    }

    pub fn name(&mut self, v: Var) -> String {
        self.names.of(self.p, v)
    }

    pub fn atom(&mut self, a: Atom) -> String {
        match a {
            Atom::Const(c) => scalar::constant(c),
            Atom::Var(v) => match self.texts.get(&v) {
                Some(text) if is_closed(text) => text.clone(),
                Some(text) => format!("({text})"),
                None => self.name(v),
            },
        }
    }

    /// An atom that is a whole expression, and needs no parentheses.
    pub fn whole(&mut self, a: Atom) -> String {
        match a.as_var().and_then(|v| self.texts.get(&v)) {
            Some(text) => text.clone(),
            None => self.atom(a),
        }
    }

    pub fn ty(&self, a: Atom) -> Printed<BaseTy> {
        self.p.scalar_ty(a).ok_or_else(|| Error(format!("{a:?} is no scalar")))
    }

    pub fn buffer_ty(&self, v: Var) -> Printed<&'a BufferTy> {
        self.p.buffer_ty(v).ok_or_else(|| Error(format!("{v:?} is no buffer")))
    }

    /// How a variable begins: with its type, unless it is declared already.
    fn declare(&mut self, v: Var) -> Printed<String> {
        let (ty, name) = (self.ty(Atom::Var(v))?, self.name(v));
        Ok(if self.hoisted.contains(&v) { name } else { format!("{} {name}", type_name(ty)) })
    }

    fn define(&mut self, v: Var) -> Printed<String> {
        let constness = if self.hoisted.contains(&v) { "" } else { "const " };
        Ok(format!("{constness}{}", self.declare(v)?))
    }

    pub fn block(&mut self, block: &[Stmt]) -> Printed {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    pub fn stmt(&mut self, s: &Stmt) -> Printed {
        match &s.kind {
            StmtKind::Let { var, exp } => self.let_(*var, exp),
            StmtKind::Store { buffer, at, value } => self.store(*buffer, at, *value),
            StmtKind::Update { op, buffer, at, value } => self.update(*op, *buffer, at, *value),
            StmtKind::For { how, var, range, carried, body, next } => {
                self.for_(*how, *var, range, carried, body, next)
            }
            StmtKind::While { carried, cond, test, body, next } => {
                self.while_(carried, cond, *test, body, next)
            }
            StmtKind::If { cond, then, otherwise, results } => self.if_(*cond, then, otherwise, results),
            StmtKind::Check { trap, cond, values } => self.check(trap, *cond, values, s.prov),
            StmtKind::Alloc { buffer } => match self.buffer_ty(*buffer)?.space {
                Space::Private => self.local(*buffer, ""),
                Space::Shared => self.local(*buffer, "__shared__ "),
                _ => self.alloc(*buffer, s.prov),
            },
            StmtKind::Points { vars, index, dims } => self.points(vars, *index, dims),
            StmtKind::Barrier => {
                self.w.line("__syncthreads();");
                Ok(())
            }
            StmtKind::Collective { count, joined, body, next, .. } => {
                self.collective(*count, joined, body, next)
            }
            StmtKind::Chain { state, at, links, body, next } => self.chain(*state, at, links, body, next),
            StmtKind::Free { buffer } => {
                let buffer = self.name(*buffer);
                self.w.line(format!("remc_free(context, {buffer});"));
                Ok(())
            }
            StmtKind::Alias { buffer, of } => {
                let of = self.name(*of);
                self.names.alias(*buffer, of);
                Ok(())
            }
            StmtKind::Slice { buffer, of, first } => self.slice(*buffer, *of, *first),
            StmtKind::Launch { kernel, args } => self.launch(*kernel, args, s.prov),
            StmtKind::Sort { .. } => wrong("a sort by the runtime"),
            StmtKind::Pull { .. } | StmtKind::Push { .. } => wrong("pieces of a stream"),
        }
    }

    // ---- expressions ----

    fn let_(&mut self, var: Var, exp: &Exp) -> Printed {
        if self.fused.products.contains(&var) {
            return Ok(());
        }
        if let (Side::Host, Exp::Load { buffer, at }) = (self.side, exp) {
            let declared = self.declare(var)?;
            let (from, index, name) = (self.name(*buffer), self.offset(*buffer, at)?, self.name(var));
            self.w.line(format!("{declared};"));
            self.w.line(format!("if (!remc_load(context, {from}, {index}, &{name})) return 1;"));
            return Ok(());
        }
        let text = match exp {
            Exp::Atom(a) => self.whole(*a),
            Exp::Op(..) if self.fused.sums.contains_key(&var) => {
                let args = self.fused.sums[&var].map(|a| self.atom(a));
                format!("remc::fused({})", args.join(", "))
            }
            Exp::Op(op, args) => {
                let tys = args.iter().map(|a| self.ty(*a)).collect::<Printed<Vec<_>>>()?;
                let args: Vec<String> = args.iter().map(|a| self.atom(*a)).collect();
                match scalar::apply(*op, &tys, &args) {
                    Some(text) => text,
                    None => return wrong(format!("`{op}` of {tys:?}")),
                }
            }
            Exp::Cast(to, a) => {
                let (from, text) = (self.ty(*a)?, self.atom(*a));
                match scalar::cast(from, *to, &text) {
                    Some(text) => text,
                    None => return wrong(format!("a cast of `{from}` to `{to}`")),
                }
            }
            Exp::Bits(a) => match bits_of(self.ty(*a)?) {
                Some(bits) => format!("({})remc::word({})", scalar::type_name(bits), self.atom(*a)),
                None => return wrong("the bits of what is no float"),
            },
            Exp::Load { buffer, at } => match self.packed(*buffer, at, false) {
                Some(text) => text,
                None => self.element(*buffer, at)?,
            },
            Exp::Workers => "remc_workers(context)".to_owned(),
            Exp::Test(t) => {
                let Some(place) = self.thresholds.get(&t.threshold) else {
                    return wrong(format!("the threshold {}", t.threshold));
                };
                let (op, value) = (t.as_op().0, format!("remc_thresholds[{place}]"));
                let size = self.atom(t.size);
                match scalar::apply(op, &[BaseTy::I64, BaseTy::I64], &[size, value]) {
                    Some(text) => text,
                    None => return wrong(format!("`{op}` of sizes")),
                }
            }
        };
        if self.inlinable.contains(&var) && !self.hoisted.contains(&var) {
            self.texts.insert(var, text);
            return Ok(());
        }
        let defined = self.define(var)?;
        self.w.line(format!("{defined} = {text};"));
        Ok(())
    }

    /// The number of an element of a buffer.
    pub fn offset(&mut self, buffer: Var, at: &[Atom]) -> Printed<String> {
        let dims = self.buffer_ty(buffer)?.dims.clone();
        let mut text = String::new();
        for (k, (i, d)) in at.iter().zip(&dims).enumerate() {
            let (i, d) = (self.atom(*i), self.atom(*d));
            text = match (k, text.as_str()) {
                (0, _) | (_, "0") => i,
                (1, first) => format!("{first} * {d} + {i}"),
                (_, before) => format!("({before}) * {d} + {i}"),
            };
        }
        Ok(if text.is_empty() { "0".to_owned() } else { text })
    }

    pub fn element(&mut self, buffer: Var, at: &[Atom]) -> Printed<String> {
        let offset = self.offset(buffer, at)?;
        Ok(format!("{}[{offset}]", self.name(buffer)))
    }

    fn store(&mut self, buffer: Var, at: &[Atom], value: Atom) -> Printed {
        let value = if self.side == Side::Host { self.atom(value) } else { self.whole(value) };
        if self.side == Side::Host {
            let ty = type_name(self.buffer_ty(buffer)?.base);
            let (to, index) = (self.name(buffer), self.offset(buffer, at)?);
            self.w.line(format!("if (!remc_store(context, {to}, {index}, ({ty}){value})) return 1;"));
            return Ok(());
        }
        let place = match self.packed(buffer, at, true) {
            Some(text) => text,
            None => self.element(buffer, at)?,
        };
        self.w.line(format!("{place} = {value};"));
        Ok(())
    }

    fn local(&mut self, buffer: Var, space: &str) -> Printed {
        let ty = self.buffer_ty(buffer)?;
        let elements = ty.dims.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_int()?));
        let Some(elements) = elements else { return wrong("a private buffer's dims") };
        let name = self.name(buffer);
        self.w.line(format!("{space}{} {name}[{}];", type_name(ty.base), elements.max(1)));
        Ok(())
    }

    // ---- control ----

    /// Variables that a loop changes, with their first values; what it gives has the same names.
    fn carried(&mut self, carried: &[Carried]) -> Printed {
        for c in carried {
            let buffer = self.p.buffer_ty(c.param);
            let init = self.whole(c.init);
            let name = self.name(c.param);
            match buffer {
                Some(ty) => self.w.line(format!("{} *{name} = {init};", type_name(ty.base))),
                None => {
                    let declared = self.declare(c.param)?;
                    self.w.line(format!("{declared} = {init};"));
                }
            }
            self.names.alias(c.result, name);
        }
        Ok(())
    }

    /// The values of the next iteration, all made before any is replaced.
    fn next(&mut self, carried: &[Carried], next: &[Atom]) -> Printed {
        let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
        let moves: Vec<(Var, Atom)> =
            params.iter().copied().zip(next.iter().copied()).filter(|(p, a)| Atom::Var(*p) != *a).collect();
        let mut texts = Vec::new();
        for (k, (_, a)) in moves.iter().enumerate() {
            let replaced = moves[..k].iter().any(|(p, _)| Atom::Var(*p) == *a);
            let text = self.atom(*a);
            texts.push(if replaced {
                let kept = self.names.fresh("kept");
                self.w.line(format!("const auto {kept} = {text};"));
                kept
            } else {
                text
            });
        }
        for ((p, _), text) in moves.iter().zip(texts) {
            let name = self.name(*p);
            self.w.line(format!("{name} = {text};"));
        }
        Ok(())
    }

    fn for_(
        &mut self,
        how: How,
        var: Var,
        range: &Range,
        carried: &[Carried],
        body: &[Stmt],
        next: &[Atom],
    ) -> Printed {
        if let (How::Lanes(width), true) = (how, self.packs(how, range, carried, body)) {
            return self.in_packs(width, var, range, body);
        }
        self.carried(carried)?;
        let name = self.name(var);
        let mut step = format!("++{name}");
        let (from, to) = match range {
            Range::Upto { from, to } => (self.atom(*from), self.atom(*to)),
            Range::Share { thread, threads, index, size, limit } => {
                let (t, n) = (self.atom(*thread), self.atom(*threads));
                step = format!("{name} += {n}");
                let (from, end) = self.tile(&name, *index, *size, *limit);
                (if from == "0" { t } else { format!("{from} + {t}") }, end)
            }
            Range::Tile { index, size, limit } => self.tile(&name, *index, *size, *limit),
        };
        self.w.open(format!("for (i64 {name} = {from}; {name} < {to}; {step}) {{"));
        self.statements(body, next)?;
        self.next(carried, next)?;
        self.w.close("}");
        Ok(())
    }

    /// Where a tile begins, and where it ends.
    fn tile(&mut self, name: &str, index: Atom, size: Atom, limit: Atom) -> (String, String) {
        let whole = index.as_int() == Some(0) && size == limit;
        let (b, s, limit) = (self.atom(index), self.atom(size), self.atom(limit));
        if whole {
            return ("0".to_owned(), s);
        }
        let end = self.names.fresh(&format!("{name}_end"));
        if index.as_int() == Some(0) {
            self.w.line(format!("const i64 {end} = remc::min2((i64){s}, (i64){limit});"));
            return ("0".to_owned(), end);
        }
        self.w.line(format!("const i64 {end} = remc::min2((i64){b} * {s} + {s}, (i64){limit});"));
        (format!("{b} * {s}"), end)
    }

    /// The indices of a point, the last one first.
    fn points(&mut self, vars: &[Var], index: Atom, dims: &[Atom]) -> Printed {
        let mut rest = self.atom(index);
        for (k, (v, d)) in vars.iter().zip(dims).enumerate().rev() {
            let (name, d) = (self.name(*v), self.atom(*d));
            if k == 0 {
                let defined = self.define(*v)?;
                self.w.line(format!("{defined} = {rest};"));
                break;
            }
            if dims[k].as_int().is_some() {
                let defined = self.define(*v)?;
                self.w.line(format!("{defined} = {rest} % {d};"));
                rest = format!("{rest} / {d}");
                continue;
            }
            if !self.hoisted.contains(v) {
                self.w.line(format!("i64 {name};"));
            }
            let outer = self.names.fresh("rest");
            self.w.line(format!("const i64 {outer} = remc::split({rest}, {d}, &{name});"));
            rest = outer;
        }
        Ok(())
    }

    fn while_(
        &mut self,
        carried: &[Carried],
        cond: &[Stmt],
        test: Atom,
        body: &[Stmt],
        next: &[Atom],
    ) -> Printed {
        self.carried(carried)?;
        self.w.open("for (;;) {");
        self.block(cond)?;
        let test = self.atom(test);
        self.w.line(format!("if (!{test}) break;"));
        self.statements(body, next)?;
        self.next(carried, next)?;
        self.w.close("}");
        Ok(())
    }

    fn if_(&mut self, cond: Atom, then: &[Stmt], otherwise: &[Stmt], results: &[Choice]) -> Printed {
        for c in results {
            let name = self.name(c.var);
            match self.p.buffer_ty(c.var) {
                Some(ty) => self.w.line(format!("{} *{name};", type_name(ty.base))),
                None => {
                    if !self.hoisted.contains(&c.var) {
                        let declared = self.declare(c.var)?;
                        self.w.line(format!("{declared};"));
                    }
                }
            }
        }
        let cond = self.whole(cond);
        self.w.open(format!("if ({cond}) {{"));
        self.statements(then, &results.iter().map(|c| c.then).collect::<Vec<_>>())?;
        self.choose(results, |c| c.then);
        if !otherwise.is_empty() || !results.is_empty() {
            self.w.turn("} else {");
            self.statements(otherwise, &results.iter().map(|c| c.otherwise).collect::<Vec<_>>())?;
            self.choose(results, |c| c.otherwise);
        }
        self.w.close("}");
        Ok(())
    }

    fn choose(&mut self, results: &[Choice], value: impl Fn(&Choice) -> Atom) {
        for c in results {
            let (name, value) = (self.name(c.var), self.atom(value(c)));
            self.w.line(format!("{name} = {value};"));
        }
    }

    fn check(&mut self, trap: &Trap, cond: Atom, values: &[Atom], prov: Prov) -> Printed {
        if cond == Atom::Const(Scalar::Bool(true)) {
            return Ok(());
        }
        let Some(number) = self.traps.get(trap).copied() else { return wrong("an unknown check") };
        let cond = self.atom(cond);
        self.w.open(format!("if (!{cond}) {{  // {}", trap.print()));
        let mut words = Vec::new();
        for a in values {
            let ty = self.ty(*a)?;
            let text = self.atom(*a);
            words.push(format!("remc::word(({}){text})", type_name(ty)));
        }
        let at = match words.is_empty() {
            true => "nullptr".to_owned(),
            false => {
                self.w.line(format!("const i64 remc_values[] = {{{}}};", words.join(", ")));
                "remc_values".to_owned()
            }
        };
        let (prov, n) = (prov.0, values.len());
        match self.side {
            Side::Kernel => {
                self.w.line(format!("remc_fail(remc_error, remc_place, {number}, {prov}, {n}, {at});"));
                if let Some(told) = self.told.clone() {
                    self.w.line(told);
                }
                self.w.line(&self.bail);
            }
            Side::Host => {
                self.w.line(format!("return remc_stop(context, {number}, {prov}, {n}, {at});"));
            }
        }
        self.w.close("}");
        Ok(())
    }
}

//! Kernel from its text; the grammar is in [`crate::print`].
//!
//! Any text gives a program or one error with its place: nothing here recurses deeper than
//! [`remc_base::sexp::MAX_DEPTH`], and the depth of what is built is bounded too. The program that is
//! read may still break the rules of Kernel, which is [`crate::verify`]'s to say.

use crate::ir::*;
use crate::print::VERSION;
use crate::schedule::{Field, Schedule};
use remc_base::ids::{Id, IdVec};
use remc_base::ops::ScalarOp;
use remc_base::sexp::{self, Sexp, SexpError, SexpKind};
use remc_base::{BaseTy, Name, Prov, Provenance, Trap};
use remc_mono::interface::ReadInterface;
use remc_mono::ir::{Input, Output};
use remc_mono::parse::{channels, constant, take};
use remc_mono::text::{Deep, MAX_BODY_DEPTH, around};
pub use remc_typed::parse::ParseError;
use remc_typed::parse::{Items, Types, fail, id, int, string, symbol, value_var};
use rustc_hash::FxHashMap;

/// How deep blocks may nest, and tuples of inputs or results.
pub const MAX_BLOCK_DEPTH: usize = MAX_BODY_DEPTH;

type Result<T, E = SexpError> = std::result::Result<T, E>;

/// Reads the text of a program.
///
/// # Errors
/// The first place where the text is not of the grammar.
pub fn parse_program(text: &str) -> Result<Program, ParseError> {
    program(text).map_err(|e| ParseError::new(text, e))
}

fn program(text: &str) -> Result<Program> {
    let all = sexp::read(text)?;
    let [top] = all.as_slice() else {
        let offset = all.get(1).map_or(text.len(), |s| s.offset);
        return Err(SexpError { offset, message: "one form `(kernel 1 …)` was expected".to_owned() });
    };
    let mut items = Items::form(top, "kernel")?;
    let version = items.next("the version")?;
    if int(version)? != VERSION {
        return fail(version, format!("version {VERSION} of the text form was expected"));
    }
    let mut name = Items::form(items.next("(name …)")?, "name")?;
    let provs = Provenance::parse(items.next("(provs …)")?)?;
    let types = Types::table(items.next("(types …)")?)?;
    let params = Items::form(items.next("(params …)")?, "params")?;
    let inputs = Items::form(items.next("(inputs …)")?, "inputs")?;
    let channels = channels(&mut items)?;
    let mut output = Items::form(items.next("(output …)")?, "output")?;
    let mut kernels = Vec::new();
    let mut plan = loop {
        let s = items.next("a kernel or (plan …)")?;
        let (head, rest) = Items::headed(s)?;
        if head == "plan" {
            break rest;
        }
        kernels.push(s);
    };
    let (parts, unbound) = match items.rest.split_last() {
        Some((last, parts)) if Items::headed(last)?.0 == "unbound" => (parts, Items::headed(last)?.1.rest),
        _ => (items.rest, [].as_slice()),
    };

    let mut p =
        Parser { types, vars: FxHashMap::default(), uses: FxHashMap::default(), parts: FxHashMap::default() };
    let read_name = Name::new(string(name.next("a name")?)?);
    name.end()?;
    // A part follows what it is a part of: from the last to the first each finds its own parts read.
    for s in parts.iter().rev() {
        p.part(s)?;
    }
    let params = p.binders(params.rest)?;
    let inputs = inputs.rest.iter().map(|s| Ok(p.input(s)?.0)).collect::<Result<_>>()?;
    let read_output = p.output(output.next("a result")?)?.0;
    output.end()?;
    let mut read_kernels = IdVec::new();
    for s in kernels {
        let kernel = p.kernel(s, KernelId::from_usize(read_kernels.len()))?;
        read_kernels.push(kernel);
    }
    let mut depth = 0;
    let (stmts, results) = p.block_until(&mut plan, "give", &mut depth)?;
    plan.end()?;
    p.binders(unbound)?;
    if let Some(unused) = p.parts.keys().min() {
        return fail(top, format!("`{unused}` is part of nothing"));
    }
    let vars = p.table(top)?;
    Ok(Program {
        name: read_name,
        provs,
        vars,
        params,
        inputs,
        channels,
        output: read_output,
        kernels: read_kernels,
        plan: stmts,
        results,
    })
}

enum Part {
    Block(Deep<Vec<Stmt>>),
    Input(Deep<Input>),
    Output(Deep<Output>),
}

struct Parser<'t> {
    types: Types<'t>,
    /// What the binders say of the variables.
    vars: FxHashMap<u32, VarInfo>,
    /// For each variable that is used one place of use.
    uses: FxHashMap<u32, usize>,
    /// The parts read so far that nothing has taken yet.
    parts: FxHashMap<&'t str, Part>,
}

impl<'t> Parser<'t> {
    // ---- variables ----

    /// The table of variables, which is dense.
    fn table(mut self, whole: &Sexp) -> Result<IdVec<Var, VarInfo>> {
        let strange = self.uses.iter().filter(|(v, _)| !self.vars.contains_key(v));
        if let Some((v, offset)) = strange.min_by_key(|(_, offset)| **offset) {
            let message = format!("the variable of id {v} is neither bound nor listed as unbound");
            return Err(SexpError { offset: *offset, message });
        }
        let mut table = IdVec::new();
        for i in 0..self.vars.len() {
            match u32::try_from(i).ok().and_then(|i| self.vars.remove(&i)) {
                Some(info) => table.push(info),
                None => return fail(whole, format!("there is no variable of id {i}, but of a greater one")),
            };
        }
        Ok(table)
    }

    fn var(&mut self, s: &Sexp<'t>) -> Result<Var> {
        let (v, _) = value_var(s)?;
        self.uses.entry(v.0).or_insert(s.offset);
        Ok(Var(v.0))
    }

    fn atom(&mut self, s: &Sexp<'t>) -> Result<Atom> {
        match s.kind {
            SexpKind::Atom(word) if word.starts_with('%') => Ok(Atom::Var(self.var(s)?)),
            _ => Ok(Atom::Const(constant(s)?)),
        }
    }

    fn atoms(&mut self, items: &[Sexp<'t>]) -> Result<Vec<Atom>> {
        items.iter().map(|s| self.atom(s)).collect()
    }

    fn list(&mut self, s: &Sexp<'t>) -> Result<Vec<Atom>> {
        self.atoms(Items::list(s, "a list of variables and constants")?.rest)
    }

    /// The variables that are bound here are not of the table yet, or are the same there.
    fn bind(&mut self, s: &Sexp<'t>, info: impl FnOnce(Name) -> VarInfo) -> Result<Var> {
        let (v, name) = value_var(s)?;
        let info = info(name);
        if self.vars.get(&v.0).is_some_and(|known| *known != info) {
            return fail(s, "this variable has another name or type at another binder");
        }
        self.vars.insert(v.0, info);
        Ok(Var(v.0))
    }

    fn binder(&mut self, s: &Sexp<'t>) -> Result<Var> {
        let mut items = Items::list(s, "a variable with its type")?;
        let var = items.next("a variable")?;
        let first = items.next("a type")?;
        let word = symbol(first)?;
        let ty = match Space::ALL.into_iter().find(|space| space.name() == word) {
            Some(space) => {
                let base = base(items.next("a base type")?)?;
                Ty::Buffer(BufferTy { base, dims: self.atoms(std::mem::take(&mut items.rest))?, space })
            }
            None => Ty::Scalar(base(first)?),
        };
        items.end()?;
        self.bind(var, |name| VarInfo { name, ty })
    }

    fn binders(&mut self, items: &[Sexp<'t>]) -> Result<Vec<Var>> {
        items.iter().map(|s| self.binder(s)).collect()
    }

    /// The binder of an index: an int unless its type is said.
    fn index(&mut self, s: &Sexp<'t>) -> Result<Var> {
        match s.kind {
            SexpKind::Atom(_) => self.bind(s, |name| VarInfo { name, ty: Ty::Scalar(BaseTy::I64) }),
            _ => self.binder(s),
        }
    }

    // ---- parts ----

    fn part(&mut self, s: &Sexp<'t>) -> Result<()> {
        let (head, mut items) = Items::headed(s)?;
        let name = items.next("a name")?;
        let part = match head {
            "block" => Part::Block(self.block(&mut items)?),
            "input" => Part::Input(self.input(items.next("an input")?)?),
            "output" => Part::Output(self.output(items.next("a result")?)?),
            _ => return fail(s, "(block …), (input …), (output …) or (unbound …) was expected"),
        };
        items.end()?;
        match self.parts.insert(symbol(name)?, part) {
            Some(_) => fail(name, "this is the name of two parts"),
            None => Ok(()),
        }
    }

    fn take<T>(&mut self, s: &Sexp<'t>, of: impl FnOnce(Part) -> Option<T>) -> Result<T> {
        match self.parts.remove(symbol(s)?).and_then(of) {
            Some(part) => Ok(part),
            None => fail(s, "this is not a later part of the kind wanted, or is used twice"),
        }
    }

    // ---- kernels and statements ----

    fn kernel(&mut self, s: &Sexp<'t>, id: KernelId) -> Result<Kernel> {
        let (_, mut items) = Items::headed(s)?;
        // The number of a kernel is where it stands.
        if kernel_id(Items::list(s, "a kernel")?.next("the kernel's number")?)? != id {
            return fail(s, format!("kernel {id:?} was expected"));
        }
        let name = Name::new(string(items.next("a name")?)?);
        let mut from = Items::headed(items.next("(from …)")?)?;
        let (mut site, mut schedule) = (Name::new(""), Schedule::default());
        if from.0 == "schedule" {
            site = Name::new(string(from.1.next("the operator's name")?)?);
            for s in from.1.rest {
                let (name, mut of) = Items::headed(s)?;
                let Some(field) = Field::named(name) else {
                    return fail(s, format!("no schedule has a number `{name}`"));
                };
                let n = number(of.next("a number")?)?;
                schedule.set(field, i64::try_from(n).unwrap_or(i64::MAX));
                of.end()?;
            }
            from = Items::headed(items.next("(from …)")?)?;
        }
        let ("from", from) = from else { return fail(s, "(from …) was expected") };
        let provs = from.rest.iter().map(Prov::parse).collect::<Result<_>>()?;
        let mut grid = Vec::new();
        for s in Items::form(items.next("(grid …)")?, "grid")?.rest {
            let mut items = Items::list(s, "a block index and how many there are")?;
            let var = self.index(items.next("a block index")?)?;
            grid.push((var, self.atom(items.next("a size")?)?));
            items.end()?;
        }
        let mut worker = Items::form(items.next("(worker …)")?, "worker")?;
        let var = self.index(worker.next("a variable")?)?;
        worker.end()?;
        let mut threads = None;
        let mut params = Items::headed(items.next("(params …)")?)?;
        if params.0 == "threads" {
            let mut of = params.1;
            let var = self.index(of.next("a variable")?)?;
            let count = u32::try_from(number(of.next("how many threads")?)?).unwrap_or(u32::MAX);
            threads = Some((var, count));
            of.end()?;
            params = Items::headed(items.next("(params …)")?)?;
        }
        // They are parameters, which come afterwards.
        let mut named = Vec::new();
        if params.0 == "rows" {
            for s in params.1.rest {
                let mut of = Items::list(s, "a vector and its starts")?;
                named.push((of.next("a vector")?, of.next("its starts")?));
                of.end()?;
            }
            params = Items::headed(items.next("(params …)")?)?;
        }
        let mut distinct: &[Sexp] = &[];
        if params.0 == "distinct" {
            distinct = params.1.rest;
            params = Items::headed(items.next("(params …)")?)?;
        }
        if params.0 != "params" {
            return fail(s, "(params …) was expected");
        }
        let params = self.binders(params.1.rest)?;
        let rows = named.into_iter().map(|(v, s)| Ok((self.var(v)?, self.var(s)?))).collect::<Result<_>>()?;
        let distinct = distinct.iter().map(|v| self.var(v)).collect::<Result<_>>()?;
        let mut depth = 0;
        let body = self.section(&mut items, "body", None, &mut depth)?.0;
        items.end()?;
        Ok(Kernel { name, site, schedule, grid, worker: var, threads, rows, distinct, params, body, provs })
    }

    /// The statements up to the end, or the name of a part; and how deep the blocks nest here.
    fn block(&mut self, items: &mut Items<'_, 't>) -> Result<Deep<Vec<Stmt>>> {
        if let [s @ Sexp { kind: SexpKind::Atom(_), .. }] = items.rest {
            items.rest = &[];
            return self.take(s, |part| if let Part::Block(b) = part { Some(b) } else { None });
        }
        let (mut below, mut stmts) = (0, Vec::new());
        let rest = std::mem::take(&mut items.rest);
        for s in rest {
            stmts.push(self.stmt(s, &mut below)?);
        }
        match rest.first() {
            Some(first) => Ok((stmts, around(first, below)?)),
            None => Ok((stmts, 1)),
        }
    }

    /// The statements before `(end a …)`, and its atoms. `below` becomes at least the block's depth.
    fn block_until(
        &mut self,
        items: &mut Items<'_, 't>,
        end: &str,
        below: &mut usize,
    ) -> Result<(Vec<Stmt>, Vec<Atom>)> {
        let Some((last, before)) = items.rest.split_last() else {
            return items.next(&format!("({end} …)")).map(|_| Default::default());
        };
        items.rest = before;
        let atoms = self.atoms(Items::form(last, end)?.rest)?;
        let (stmts, depth) = self.block(items)?;
        *below = depth.max(*below);
        Ok((stmts, atoms))
    }

    /// The block in a list of its own, and the atoms of what ends it if something does.
    fn section(
        &mut self,
        items: &mut Items<'_, 't>,
        head: &str,
        end: Option<&str>,
        below: &mut usize,
    ) -> Result<(Vec<Stmt>, Vec<Atom>)> {
        let mut items = Items::form(items.next(head)?, head)?;
        match end {
            Some(end) => self.block_until(&mut items, end, below),
            None => {
                let (stmts, depth) = self.block(&mut items)?;
                *below = depth.max(*below);
                Ok((stmts, Vec::new()))
            }
        }
    }

    fn carried(&mut self, s: &Sexp<'t>) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        for s in Items::list(s, "a list of carried values")?.rest {
            let mut items = Items::list(s, "a carried value")?;
            let param = self.binder(items.next("a parameter")?)?;
            let result = self.binder(items.next("a result")?)?;
            let init = self.atom(items.next("a first value")?)?;
            let combine = match items.rest.is_empty() {
                true => None,
                false => Some(operator(items.next("an operator")?)?),
            };
            items.end()?;
            carried.push(Carried { param, result, init, combine });
        }
        Ok(carried)
    }

    fn link(&mut self, s: &Sexp<'t>) -> Result<Link> {
        let mut items = Items::list(s, "a link of a chain")?;
        let link = Link {
            before: self.binder(items.next("a variable")?)?,
            x: self.binder(items.next("a variable")?)?,
            init: self.atom(items.next("a first value")?)?,
            item: self.atom(items.next("an item")?)?,
            kept: self.var(items.next("a buffer")?)?,
            own: match items.rest.is_empty() {
                true => None,
                false => Some(self.var(items.next("a buffer")?)?),
            },
        };
        items.end()?;
        Ok(link)
    }

    fn joined(&mut self, s: &Sexp<'t>, scan: bool) -> Result<Joined> {
        let mut items = Items::list(s, "an item of each thread")?;
        let joined = Joined {
            x: self.binder(items.next("a variable")?)?,
            y: self.binder(items.next("a variable")?)?,
            item: self.atom(items.next("an item")?)?,
            before: if scan { Some(self.binder(items.next("a variable")?)?) } else { None },
            total: self.binder(items.next("a variable")?)?,
        };
        items.end()?;
        Ok(joined)
    }

    fn choices(&mut self, s: &Sexp<'t>) -> Result<Vec<Choice>> {
        let mut choices = Vec::new();
        for s in Items::list(s, "a list of results")?.rest {
            let mut items = Items::list(s, "a result and its value by branch")?;
            let var = self.binder(items.next("a variable")?)?;
            let then = self.atom(items.next("a value")?)?;
            let otherwise = self.atom(items.next("a value")?)?;
            items.end()?;
            choices.push(Choice { var, then, otherwise });
        }
        Ok(choices)
    }

    fn stmt(&mut self, s: &Sexp<'t>, below: &mut usize) -> Result<Stmt> {
        let (head, mut items) = Items::headed(s)?;
        let Some((prov, rest)) = items.rest.split_last() else {
            return fail(s, "a statement with its provenance was expected");
        };
        let prov = Prov::parse(prov)?;
        items.rest = rest;
        let kind = match head {
            "let" => StmtKind::Let {
                var: self.binder(items.next("a variable")?)?,
                exp: self.exp(items.next("an expression")?)?,
            },
            "store" => StmtKind::Store {
                buffer: self.var(items.next("a buffer")?)?,
                at: self.list(items.next("indices")?)?,
                value: self.atom(items.next("a value")?)?,
            },
            "update" => StmtKind::Update {
                op: operator(items.next("an operator")?)?,
                buffer: self.var(items.next("a buffer")?)?,
                at: self.list(items.next("indices")?)?,
                value: self.atom(items.next("a value")?)?,
            },
            "for" => {
                let how = how(items.next("how the loop runs")?)?;
                let var = self.index(items.next("an index variable")?)?;
                let range = self.range(items.next("a range")?)?;
                let carried = self.carried(items.next("carried values")?)?;
                let (body, next) = self.block_until(&mut items, "next", below)?;
                StmtKind::For { how, var, range, carried, body, next }
            }
            "while" => {
                let carried = self.carried(items.next("carried values")?)?;
                let (cond, test) = self.section(&mut items, "cond", Some("test"), below)?;
                let [test] = test[..] else { return fail(s, "(test a) was expected") };
                let (body, next) = self.section(&mut items, "do", Some("next"), below)?;
                StmtKind::While { carried, cond, test, body, next }
            }
            "if" => StmtKind::If {
                cond: self.atom(items.next("a condition")?)?,
                then: self.section(&mut items, "then", None, below)?.0,
                otherwise: self.section(&mut items, "else", None, below)?.0,
                results: self.choices(items.next("results")?)?,
            },
            "points" => {
                let vars = Items::list(items.next("variables")?, "a list of variables")?.rest;
                let vars = vars.iter().map(|s| self.index(s)).collect::<Result<_>>()?;
                let index = self.atom(items.next("a number")?)?;
                StmtKind::Points { vars, index, dims: self.list(items.next("dims")?)? }
            }
            "barrier" => StmtKind::Barrier,
            "collective" => {
                let mut count = items.next("how many threads")?;
                let scan = matches!(count.kind, SexpKind::Atom("scan"));
                if scan {
                    count = items.next("how many threads")?;
                }
                let count = self.atom(count)?;
                let joined = Items::list(items.next("what is combined")?, "a list of items")?.rest;
                let joined = joined.iter().map(|s| self.joined(s, scan)).collect::<Result<_>>()?;
                let (body, next) = self.block_until(&mut items, "next", below)?;
                StmtKind::Collective { scan, count, joined, body, next }
            }
            "chain" => {
                let state = self.var(items.next("a buffer")?)?;
                let at = self.list(items.next("indices")?)?;
                let links = Items::list(items.next("what is handed on")?, "a list of links")?.rest;
                let links = links.iter().map(|s| self.link(s)).collect::<Result<_>>()?;
                let (body, next) = self.block_until(&mut items, "next", below)?;
                StmtKind::Chain { state, at, links, body, next }
            }
            "check" => StmtKind::Check {
                trap: Trap::parse(items.next("a trap")?)?,
                cond: self.atom(items.next("a condition")?)?,
                values: self.atoms(std::mem::take(&mut items.rest))?,
            },
            "alloc" => StmtKind::Alloc { buffer: self.binder(items.next("a buffer")?)? },
            "free" => StmtKind::Free { buffer: self.var(items.next("a buffer")?)? },
            "alias" => StmtKind::Alias {
                buffer: self.binder(items.next("a buffer")?)?,
                of: self.var(items.next("a buffer")?)?,
            },
            "slice" => StmtKind::Slice {
                buffer: self.binder(items.next("a buffer")?)?,
                of: self.var(items.next("a buffer")?)?,
                first: self.atom(items.next("a row")?)?,
            },
            "launch" => StmtKind::Launch {
                kernel: kernel_id(items.next("a kernel")?)?,
                args: self.list(items.next("arguments")?)?,
            },
            "grade" | "sort" => {
                let gives = if head == "sort" { Gives::Keys } else { Gives::Places };
                let keys = Items::list(items.next("keys")?, "a list of buffers")?.rest;
                let keys = keys.iter().map(|s| self.var(s)).collect::<Result<_>>()?;
                let out = self.var(items.next("a buffer")?)?;
                let at = match items.rest.first() {
                    Some(s) if Items::list(s, "").is_ok() => self.list(items.next("places")?)?,
                    _ => Vec::new(),
                };
                StmtKind::Sort { keys, out, gives, at }
            }
            "pull" => {
                let channel = number(items.next("a channel")?)?;
                let at = self.atom(items.next("a place")?)?;
                let take = take(items.next("how many")?, &mut |s| self.atom(s))?;
                let count = self.binder(items.next("the number of items")?)?;
                let elements = Items::list(items.next("numbers of elements")?, "a list of scalars")?.rest;
                let elements = self.binders(elements)?;
                let buffers = self.binders(Items::list(items.next("buffers")?, "a list of buffers")?.rest)?;
                StmtKind::Pull { channel, at, take, count, elements, buffers }
            }
            "push" => {
                let channel = number(items.next("a channel")?)?;
                let buffers = Items::list(items.next("buffers")?, "a list of buffers")?.rest;
                StmtKind::Push {
                    channel,
                    buffers: buffers.iter().map(|s| self.var(s)).collect::<Result<_>>()?,
                }
            }
            _ => return fail(s, format!("unknown form of statement `{head}`")),
        };
        items.end()?;
        Ok(Stmt { kind, prov })
    }

    fn range(&mut self, s: &Sexp<'t>) -> Result<Range> {
        let (head, items) = Items::headed(s)?;
        match (head, self.atoms(items.rest)?.as_slice()) {
            ("upto", &[from, to]) => Ok(Range::Upto { from, to }),
            ("tile", &[index, size, limit]) => Ok(Range::Tile { index, size, limit }),
            ("share", &[thread, threads, index, size, limit]) => {
                Ok(Range::Share { thread, threads, index, size, limit })
            }
            _ => fail(s, "(upto from to), (tile index size limit) or (share thread threads …) was expected"),
        }
    }

    fn test(&mut self, items: &mut Items<'_, 't>) -> Result<Test> {
        let head = items.next("a comparison")?;
        let is = |c: &Compare| matches!(head.kind, SexpKind::Atom(text) if text == c.symbol());
        let Some(compare) = [Compare::AtLeast, Compare::Below].into_iter().find(is) else {
            return fail(head, "`>=` or `<` was expected");
        };
        let size = self.atom(items.next("a size")?)?;
        let threshold = Name::new(string(items.next("a threshold's name")?)?);
        let value = items.next("its value")?;
        match i64::try_from(int(value)?) {
            Ok(value) => Ok(Test { size, compare, threshold, value }),
            Err(_) => fail(value, "wider than 64 bits"),
        }
    }

    fn exp(&mut self, s: &Sexp<'t>) -> Result<Exp> {
        if !matches!(s.kind, SexpKind::List(_)) {
            return Ok(Exp::Atom(self.atom(s)?));
        }
        let (head, mut items) = Items::headed(s)?;
        let exp = match head {
            "op" => {
                let op = operator(items.next("an operator")?)?;
                Exp::Op(op, self.atoms(std::mem::take(&mut items.rest))?)
            }
            "bits" => Exp::Bits(self.atom(items.next("an operand")?)?),
            "cast" => Exp::Cast(base(items.next("a type")?)?, self.atom(items.next("an operand")?)?),
            "load" => Exp::Load {
                buffer: self.var(items.next("a buffer")?)?,
                at: self.atoms(std::mem::take(&mut items.rest))?,
            },
            "workers" => Exp::Workers,
            "test" => Exp::Test(self.test(&mut items)?),
            _ => return fail(s, format!("unknown form of expression `{head}`")),
        };
        items.end()?;
        Ok(exp)
    }
}

fn number(s: &Sexp) -> Result<usize> {
    id(s)
}

fn how(s: &Sexp) -> Result<How> {
    if let SexpKind::Atom(word) = s.kind {
        match word {
            "seq" => return Ok(How::Seq),
            _ => return fail(s, "`seq`, (lanes w), (scan w) or (jam k) was expected"),
        }
    }
    let (head, mut items) = Items::headed(s)?;
    let how = match head {
        "lanes" => How::Lanes(id(items.next("a number")?)?),
        "scan" => How::Scan(id(items.next("a number")?)?),
        "jam" => How::Jam(id(items.next("a number")?)?),
        _ => return fail(s, "`seq`, (lanes w), (scan w) or (jam k) was expected"),
    };
    items.end()?;
    Ok(how)
}

fn kernel_id(s: &Sexp) -> Result<KernelId> {
    let number = symbol(s)?.strip_prefix('k').filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    match number.and_then(|n| n.parse().ok()) {
        Some(n) => Ok(KernelId(n)),
        None => fail(s, "a kernel, like `k0`, was expected"),
    }
}

fn operator(s: &Sexp) -> Result<ScalarOp> {
    ScalarOp::from_name(symbol(s)?).map_or_else(|| fail(s, "there is no such operator"), Ok)
}

fn base(s: &Sexp) -> Result<BaseTy> {
    BaseTy::from_name(symbol(s)?).map_or_else(|| fail(s, "the name of a base type was expected"), Ok)
}

impl<'t> ReadInterface<'t> for Parser<'t> {
    fn input_var(&mut self, s: &Sexp<'t>) -> Result<Var> {
        self.var(s)
    }

    fn types(&mut self) -> &mut Types<'t> {
        &mut self.types
    }

    fn input_part(&mut self, s: &Sexp<'t>) -> Result<Deep<Input>> {
        self.take(s, |part| if let Part::Input(i) = part { Some(i) } else { None })
    }

    fn output_part(&mut self, s: &Sexp<'t>) -> Result<Deep<Output>> {
        self.take(s, |part| if let Part::Output(o) = part { Some(o) } else { None })
    }
}

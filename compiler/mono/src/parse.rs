//! Mono from its text; the grammar is in [`crate::print`].
//!
//! Any text gives a program or one error with its place: nothing here recurses deeper than
//! [`remc_base::sexp::MAX_DEPTH`], and the depth of what is built is bounded too. The program that is
//! read may still break the rules of Mono, which is [`crate::verify`]'s to say.

use crate::interface::ReadInterface;
pub use crate::interface::numbers;
use crate::ir::*;
use crate::text::{Deep, VERSION, around};
use half::f16;
use remc_base::ids::IdVec;
use remc_base::ops::ScalarOp;
use remc_base::sexp::{self, Sexp, SexpError, SexpKind};
use remc_base::{BaseTy, Name, Prov, Provenance, Scalar, Trap};
pub use remc_typed::parse::ParseError;
use remc_typed::parse::{Items, Types, fail, int, string, symbol, value_var};
use rustc_hash::FxHashMap;
use std::str::FromStr;

type Result<T, E = SexpError> = std::result::Result<T, E>;

/// Reads the text of a program.
///
/// # Errors
/// The first place where the text is not of the grammar.
pub fn parse_program(text: &str) -> Result<Program, ParseError> {
    program(text).map_err(|e| ParseError::new(text, e))
}

/// Reads a constant.
///
/// # Errors
/// If it is anything else.
pub fn constant(s: &Sexp) -> Result<Scalar> {
    let word = match s.kind {
        SexpKind::Int(n) => {
            return i64::try_from(n).map_or_else(|_| fail(s, "wider than 64 bits"), |n| Ok(Scalar::I64(n)));
        }
        SexpKind::Atom(word) => word,
        _ => return fail(s, "a variable or a constant was expected"),
    };
    match word {
        "true" => return Ok(Scalar::Bool(true)),
        "false" => return Ok(Scalar::Bool(false)),
        _ => {}
    }
    let found = match word.split_once(':') {
        Some((name, value)) => BaseTy::from_name(name).and_then(|ty| typed(ty, value)),
        None => match word.strip_prefix("U+") {
            Some(code) => hex(code).and_then(|n| char::from_u32(u32::try_from(n).ok()?)).map(Scalar::Char),
            None => decimal(word).map(Scalar::F64),
        },
    };
    found.map_or_else(|| fail(s, "a variable or a constant was expected"), Ok)
}

/// Hexadecimal digits, without a sign.
fn hex(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    if plain { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// A decimal that a digit starts. Of those that name the same value the printer's is the only one wanted,
/// but any is read.
fn decimal<T: FromStr>(word: &str) -> Option<T> {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    if unsigned.starts_with(|c: char| c.is_ascii_digit()) { word.parse().ok() } else { None }
}

/// The value that stands after the name of its type: a number, or the bits of a float.
fn typed(ty: BaseTy, value: &str) -> Option<Scalar> {
    if let Some(bits) = value.strip_prefix("#x") {
        let bits = hex(bits)?;
        return match ty {
            BaseTy::F16 => Some(Scalar::F16(f16::from_bits(bits.try_into().ok()?))),
            BaseTy::F32 => Some(Scalar::F32(f32::from_bits(bits.try_into().ok()?))),
            BaseTy::F64 => Some(Scalar::F64(f64::from_bits(bits))),
            _ => None,
        };
    }
    match ty {
        BaseTy::I8 => decimal(value).map(Scalar::I8),
        BaseTy::I16 => decimal(value).map(Scalar::I16),
        BaseTy::I32 => decimal(value).map(Scalar::I32),
        BaseTy::U8 => decimal(value).map(Scalar::U8),
        BaseTy::U16 => decimal(value).map(Scalar::U16),
        BaseTy::U32 => decimal(value).map(Scalar::U32),
        BaseTy::U64 => decimal(value).map(Scalar::U64),
        BaseTy::F16 => decimal(value).map(|x| Scalar::F16(f16::from_f32(x))),
        BaseTy::F32 => decimal(value).map(Scalar::F32),
        _ => None,
    }
}

fn program(text: &str) -> Result<Program> {
    let (p, body) = parse_with("mono", text, |p, parts, items| match parts.first() {
        Some(s) => fail(s, "there is no such part in Mono"),
        None => Ok(p.body(items)?.0),
    })?;
    Ok(Program { body, ..p })
}

/// Reads a program in an IR that shares everything but the body with Mono; `body` reads that, and the
/// parts `(host …)`.
pub fn parse_with<'t, T>(
    head: &str,
    text: &'t str,
    body: impl for<'s> FnOnce(&mut Parser<'t>, &[&'s Sexp<'t>], &mut Items<'s, 't>) -> Result<T>,
) -> Result<(Program, T)> {
    let all = sexp::read(text)?;
    let [top] = all.as_slice() else {
        let offset = all.get(1).map_or(text.len(), |s| s.offset);
        return Err(SexpError { offset, message: format!("one form `({head} 1 …)` was expected") });
    };
    let mut items = Items::form(top, head)?;
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
    let mut read = Items::form(items.next("(body …)")?, "body")?;
    let (parts, unbound) = match items.rest.split_last() {
        Some((last, parts)) if Items::headed(last)?.0 == "unbound" => (parts, Items::headed(last)?.1.rest),
        _ => (items.rest, [].as_slice()),
    };

    let mut p =
        Parser { types, vars: FxHashMap::default(), uses: FxHashMap::default(), parts: FxHashMap::default() };
    let read_name = Name::new(string(name.next("a name")?)?);
    name.end()?;
    // A part follows what it is a part of: from the last to the first each finds its own parts read.
    let mut own = Vec::new();
    for s in parts.iter().rev() {
        match Items::headed(s)?.0 {
            "host" => own.push(s),
            _ => p.part(s)?,
        }
    }
    let params = p.binders(params.rest)?;
    let inputs = inputs.rest.iter().map(|s| Ok(p.input(s)?.0)).collect::<Result<_>>()?;
    let read_output = p.output(output.next("a result")?)?.0;
    output.end()?;
    let read_body = body(&mut p, &own, &mut read)?;
    read.end()?;
    p.binders(unbound)?;
    if let Some(unused) = p.parts.keys().min() {
        return fail(top, format!("`{unused}` is part of nothing"));
    }
    let vars = p.table(top)?;
    let whole = Program {
        name: read_name,
        provs,
        vars,
        params,
        inputs,
        channels,
        body: Body::default(),
        output: read_output,
    };
    Ok((whole, read_body))
}

enum Part {
    Body(Deep<Body>),
    Input(Deep<Input>),
    Output(Deep<Output>),
}

/// Reads programs; public for the IRs that share leaves, atoms and types with Mono.
pub struct Parser<'t> {
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

    pub fn var(&mut self, s: &Sexp<'t>) -> Result<Var> {
        let (v, _) = value_var(s)?;
        self.uses.entry(v.0).or_insert(s.offset);
        Ok(Var(v.0))
    }

    pub fn atom(&mut self, s: &Sexp<'t>) -> Result<Atom> {
        match s.kind {
            SexpKind::Atom(word) if word.starts_with('%') => Ok(Atom::Var(self.var(s)?)),
            _ => Ok(Atom::Const(constant(s)?)),
        }
    }

    pub fn atoms(&mut self, items: &[Sexp<'t>]) -> Result<Vec<Atom>> {
        items.iter().map(|s| self.atom(s)).collect()
    }

    pub fn list(&mut self, s: &Sexp<'t>) -> Result<Vec<Atom>> {
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

    pub fn binder(&mut self, s: &Sexp<'t>) -> Result<Var> {
        let mut items = Items::list(s, "a variable with its type")?;
        let var = items.next("a variable")?;
        let base = base(items.next("a base type")?)?;
        let ty = Ty { base, dims: self.atoms(items.rest)? };
        self.bind(var, |name| VarInfo { name, ty })
    }

    pub fn binders(&mut self, items: &[Sexp<'t>]) -> Result<Vec<Var>> {
        items.iter().map(|s| self.binder(s)).collect()
    }

    pub fn binder_list(&mut self, s: &Sexp<'t>) -> Result<Vec<Var>> {
        self.binders(Items::list(s, "a list of variables with their types")?.rest)
    }

    pub fn axis(&mut self, s: &Sexp<'t>) -> Result<Axis> {
        let mut items = Items::list(s, "an index variable and a size")?;
        let var = items.next("a variable")?;
        let var = match var.kind {
            SexpKind::Atom(_) => self.bind(var, |name| VarInfo { name, ty: Ty::int() })?,
            _ => self.binder(var)?,
        };
        let size = self.atom(items.next("a size")?)?;
        items.end()?;
        Ok(Axis { var, size })
    }

    pub fn state(&mut self, s: &Sexp<'t>) -> Result<Vec<(Var, Atom)>> {
        let mut state = Vec::new();
        for s in Items::list(s, "a list of variables with their first values")?.rest {
            let mut items = Items::list(s, "a variable with its first value")?;
            let var = self.binder(items.next("a variable with its type")?)?;
            state.push((var, self.atom(items.next("a value")?)?));
            items.end()?;
        }
        Ok(state)
    }

    // ---- parts ----

    fn part(&mut self, s: &Sexp<'t>) -> Result<()> {
        let (head, mut items) = Items::headed(s)?;
        let name = items.next("a name")?;
        let part = match head {
            "body" => Part::Body(self.body(&mut items)?),
            "input" => Part::Input(self.input(items.next("an input")?)?),
            "output" => Part::Output(self.output(items.next("a result")?)?),
            _ => return fail(s, "(body …), (input …), (output …) or (unbound …) was expected"),
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

    // ---- statements ----

    /// The statements up to `give`, or the name of a part.
    pub fn body(&mut self, items: &mut Items<'_, 't>) -> Result<Deep<Body>> {
        let mut body = Body::default();
        let mut below = 0;
        loop {
            let s = items.next("(give …) at the end of the body")?;
            if let (SexpKind::Atom(_), []) = (&s.kind, body.stmts.as_slice()) {
                return self.take(s, |part| if let Part::Body(b) = part { Some(b) } else { None });
            }
            let (head, mut rest) = Items::headed(s)?;
            match head {
                "let" => {
                    let pat = self.binder_list(rest.next("what is bound")?)?;
                    let exp = self.exp(rest.next("an expression")?, &mut below)?;
                    let prov = Prov::parse(rest.next("the provenance")?)?;
                    rest.end()?;
                    body.stmts.push(Stmt { pat, exp, prov });
                }
                "give" => {
                    body.results = self.atoms(rest.rest)?;
                    return Ok((body, around(s, below)?));
                }
                _ => return fail(s, "(let …) or (give …) was expected"),
            }
        }
    }

    /// The body after `head` in a list of its own.
    pub fn section(&mut self, items: &mut Items<'_, 't>, head: &str, below: &mut usize) -> Result<Body> {
        let mut items = Items::form(items.next(head)?, head)?;
        let body = self.inner(&mut items, below)?;
        items.end()?;
        Ok(body)
    }

    /// A body in an expression; `below` becomes at least its depth.
    pub fn inner(&mut self, items: &mut Items<'_, 't>, below: &mut usize) -> Result<Body> {
        let (body, depth) = self.body(items)?;
        *below = depth.max(*below);
        Ok(body)
    }

    pub fn combine(&mut self, s: &Sexp<'t>, below: &mut usize) -> Result<Combine> {
        let (head, mut items) = Items::headed(s)?;
        let (assoc, alone) = match head {
            "assoc" => (true, false),
            "alone" => (true, true),
            "serial" => (false, false),
            _ => return fail(s, "(assoc …), (alone …) or (serial …) was expected"),
        };
        let params = self.binder_list(items.next("parameters")?)?;
        let start = match items.rest.first() {
            Some(Sexp { kind: SexpKind::List(list), .. })
                if matches!(list.first(), Some(Sexp { kind: SexpKind::Atom("start"), .. })) =>
            {
                Some(self.atoms(Items::form(items.next("(start …)")?, "start")?.rest)?)
            }
            _ => None,
        };
        let body = self.inner(&mut items, below)?;
        items.end()?;
        Ok(Combine { lambda: Lambda { params, body }, start, assoc, alone })
    }

    pub fn exp(&mut self, s: &Sexp<'t>, below: &mut usize) -> Result<Exp> {
        if !matches!(s.kind, SexpKind::List(_)) {
            return Ok(Exp::Atom(self.atom(s)?));
        }
        let (head, mut items) = Items::headed(s)?;
        let exp = match head {
            "op" => {
                let op = items.next("an operator")?;
                let Some(op) = ScalarOp::from_name(symbol(op)?) else {
                    return fail(op, "there is no such operator");
                };
                Exp::Op(op, self.atoms(std::mem::take(&mut items.rest))?)
            }
            "cast" => Exp::Cast(base(items.next("a type")?)?, self.atom(items.next("an operand")?)?),
            "literal" => Exp::Literal {
                dims: self.list(items.next("dims")?)?,
                elems: self.atoms(std::mem::take(&mut items.rest))?,
            },
            "index" => Exp::Index {
                array: self.var(items.next("an array")?)?,
                at: self.atoms(std::mem::take(&mut items.rest))?,
            },
            "if" => Exp::If {
                cond: self.atom(items.next("a condition")?)?,
                then: self.section(&mut items, "then", below)?,
                otherwise: self.section(&mut items, "else", below)?,
            },
            "for" => Exp::For {
                axis: self.axis(items.next("an axis")?)?,
                state: self.state(items.next("the state")?)?,
                body: self.inner(&mut items, below)?,
            },
            "while" => Exp::While {
                state: self.state(items.next("the state")?)?,
                cond: self.section(&mut items, "cond", below)?,
                body: self.section(&mut items, "do", below)?,
            },
            "map" => {
                let axes = Items::list(items.next("axes")?, "a list of axes")?;
                let axes = axes.rest.iter().map(|s| self.axis(s)).collect::<Result<_>>()?;
                Exp::Map { axes, body: self.inner(&mut items, below)? }
            }
            "reduce" => Exp::Reduce {
                axis: self.axis(items.next("an axis")?)?,
                body: self.inner(&mut items, below)?,
                op: self.combine(items.next("how to combine")?, below)?,
            },
            "scan" => Exp::Scan {
                kind: scan_kind(items.next("a kind of scan")?)?,
                axis: self.axis(items.next("an axis")?)?,
                body: self.inner(&mut items, below)?,
                op: self.combine(items.next("how to combine")?, below)?,
            },
            "scatter" => {
                let axis = self.axis(items.next("an axis")?)?;
                let dests = Items::list(items.next("arrays")?, "a list of arrays")?;
                let dests = dests.rest.iter().map(|s| self.var(s)).collect::<Result<_>>()?;
                let body = self.inner(&mut items, below)?;
                let combine = match items.rest.is_empty() {
                    true => None,
                    false => {
                        let mut items = Items::form(items.next("(combine …)")?, "combine")?;
                        let params = self.binder_list(items.next("parameters")?)?;
                        let body = self.inner(&mut items, below)?;
                        items.end()?;
                        Some(Lambda { params, body })
                    }
                };
                Exp::Scatter { dests, axis, body, combine }
            }
            "filter" => {
                Exp::Filter { axis: self.axis(items.next("an axis")?)?, body: self.inner(&mut items, below)? }
            }
            "grade" | "sort" => Exp::Grade {
                axis: self.axis(items.next("an axis")?)?,
                body: self.inner(&mut items, below)?,
                gives: if head == "sort" { Gives::Keys } else { Gives::Places },
            },
            "join" => self.join(&mut items, below)?,
            "view" => Exp::View {
                view: self.view(items.next("a view")?)?,
                array: self.var(items.next("an array")?)?,
            },
            "check" => Exp::Check {
                trap: Trap::parse(items.next("a trap")?)?,
                cond: self.atom(items.next("a condition")?)?,
                values: self.atoms(std::mem::take(&mut items.rest))?,
            },
            "pull" | "push" => self.channelled(head, &mut items)?,
            _ => return fail(s, format!("unknown form of expression `{head}`")),
        };
        items.end()?;
        Ok(exp)
    }

    /// A pull or a push.
    #[inline(never)]
    fn channelled(&mut self, head: &str, items: &mut Items<'_, 't>) -> Result<Exp> {
        let channel = number(items.next("a channel")?)?;
        if head == "push" {
            let arrays = std::mem::take(&mut items.rest);
            return Ok(Exp::Push {
                channel,
                arrays: arrays.iter().map(|s| self.var(s)).collect::<Result<_>>()?,
            });
        }
        let at = self.atom(items.next("a place")?)?;
        Ok(Exp::Pull { channel, at, take: take(items.next("how many")?, &mut |s| self.atom(s))? })
    }

    /// By itself: a deep program must not need more stack for the forms that it does not have.
    #[inline(never)]
    fn join(&mut self, items: &mut Items<'_, 't>, below: &mut usize) -> Result<Exp> {
        let axis = self.axis(items.next("an axis")?)?;
        let count = items.next("how many results are regular")?;
        let [regular] = numbers(std::slice::from_ref(count))?[..] else {
            return fail(count, "one number says how many results are regular");
        };
        Ok(Exp::Join { axis, regular, body: self.inner(items, below)? })
    }

    fn view(&mut self, s: &Sexp<'t>) -> Result<View> {
        let (head, mut items) = Items::headed(s)?;
        let view = match head {
            "reverse" => View::Reverse,
            "append" => View::Append { with: self.var(items.next("an array")?)? },
            "permute" => View::Permute { perm: numbers(std::mem::take(&mut items.rest))? },
            "slice" | "wrap" => {
                let start = self.list(items.next("where it starts")?)?;
                let dims = self.list(items.next("dims")?)?;
                if head == "slice" { View::Slice { start, dims } } else { View::Wrap { start, dims } }
            }
            "reshape" => View::Reshape { dims: self.atoms(std::mem::take(&mut items.rest))? },
            "rotate" => View::Rotate { amounts: self.atoms(std::mem::take(&mut items.rest))? },
            "cycle" => View::Cycle { dims: self.atoms(std::mem::take(&mut items.rest))? },
            "replicate" => View::Replicate { dims: self.atoms(std::mem::take(&mut items.rest))? },
            _ => return fail(s, format!("unknown view `{head}`")),
        };
        items.end()?;
        Ok(view)
    }
}

/// A number that is no atom.
pub fn number(s: &Sexp) -> Result<usize> {
    match numbers(std::slice::from_ref(s))?[..] {
        [n] => Ok(n),
        _ => fail(s, "a number was expected"),
    }
}

/// What a pull takes.
pub fn take<'t>(s: &Sexp<'t>, atom: &mut dyn FnMut(&Sexp<'t>) -> Result<Atom>) -> Result<Take> {
    let (head, mut items) = Items::headed(s)?;
    let take = match head {
        "multiple" => Take::Multiple(atom(items.next("a number")?)?),
        "exactly" => Take::Exactly(atom(items.next("a number")?)?),
        "all" => Take::All,
        _ => return fail(s, "(multiple …), (exactly …) or (all) was expected"),
    };
    items.end()?;
    Ok(take)
}

/// The channels of a program, where the next form is of them.
pub fn channels(items: &mut Items<'_, '_>) -> Result<Vec<Channel>> {
    let is_it = |s: &Sexp| Items::headed(s).is_ok_and(|(head, _)| head == "channels");
    if !items.rest.first().is_some_and(is_it) {
        return Ok(Vec::new());
    }
    let all = Items::form(items.next("(channels …)")?, "channels")?;
    let one = |s| {
        let mut items = Items::list(s, "a channel")?;
        let name = Name::new(string(items.next("a name")?)?);
        let mut end = |word: &str| {
            let is_it = |s: &Sexp| Items::headed(s).is_ok_and(|(head, _)| head == word);
            if !items.rest.first().is_some_and(is_it) {
                return Ok(None);
            }
            let mut number_of = Items::form(items.next(word)?, word)?;
            let k = number(number_of.next("a number")?)?;
            number_of.end()?;
            Ok(Some(k))
        };
        let (input, output) = (end("input")?, end("output")?);
        let array = |s| {
            let mut items = Items::list(s, "the type of an array")?;
            let (base, rank) = (base(items.next("a base type")?)?, number(items.next("a number of axes")?)?);
            let starts = match items.rest.is_empty() {
                true => None,
                false => Some(number(items.next("the array of their starts")?)?),
            };
            items.end()?;
            Ok(ChannelArray { base, rank, starts })
        };
        Ok(Channel { name, arrays: items.rest.iter().map(array).collect::<Result<_>>()?, input, output })
    };
    all.rest.iter().map(one).collect()
}

pub fn base(s: &Sexp) -> Result<BaseTy> {
    BaseTy::from_name(symbol(s)?).map_or_else(|| fail(s, "the name of a base type was expected"), Ok)
}

pub fn scan_kind(s: &Sexp) -> Result<ScanKind> {
    match symbol(s)? {
        "inclusive" => Ok(ScanKind::Inclusive),
        "exclusive" => Ok(ScanKind::Exclusive),
        "full" => Ok(ScanKind::Full),
        _ => fail(s, "`inclusive`, `exclusive` or `full` was expected"),
    }
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

//! Mono as text, which [`crate::parse`] reads back exactly.
//!
//! This is the exact grammar; [`mod@crate::ir`] has the abstract one. An input `in` and a result `out` are the `input` and the
//! `output` of [`crate::interface`].
//!
//! ```text
//! program ::= (mono 1 (name "main") (provs …) (types (tN t) …) (params x …) (inputs in …) (channels channel …)?
//!               (output out) (body body) part … (unbound x …)?)
//! channel ::= ("name" (input k)? (output k)? (base k k?) …)
//!                                                of each array of an item: its base, its axes, the array of its starts
//! x       ::= (%x.1 base a …)                    a binder: its name, its id, its type's base and dims
//! body    ::= stmt … (give a …) | bN             spliced into the form that it is part of
//! part    ::= (body bN body) | (input bN in) | (output bN out)
//! stmt    ::= (let (x …) exp pN)                 pN is its provenance, a row of the table `provs`
//! a       ::= %x.1 | constant
//! exp     ::= a | (op o a …) | (cast base a) | (literal (n …) a …) | (index %x.1 a …)
//!           | (if a (then body) (else body))
//!           | (for axis (state …) body) | (while (state …) (cond body) (do body))
//!           | (map (axis …) body) | (filter axis body) | (grade axis body) | (sort axis body) | (join axis k body)
//!           | (reduce axis body combine) | (scan kind axis body combine)
//!           | (scatter axis (%x.1 …) body (combine (x …) body)?)
//!           | (view v %x.1) | (check trap a a …) | (pull k a take) | (push k %x.1 …)
//! take    ::= (multiple a) | (exactly a) | (all)
//! axis    ::= (%i.1 a)                           an int; else with its type, ((%i.1 base a …) a)
//! state   ::= (x a)
//! combine ::= (alone (x …) (start a …)? body) | (assoc (x …) (start a …)? body) | (serial (x …) (start a …)? body)
//! kind    ::= inclusive | exclusive | full
//! v       ::= (reshape a …) | (permute k …) | (reverse) | (rotate a …) | (append %x.1)
//!           | (slice (a …) (a …)) | (wrap (a …) (a …)) | (cycle a …) | (replicate a …)
//! ```
//!
//! A constant is an `int` as it is, `true` or `false`, a char `U+3bb`, a `float` with a point, another
//! number with the name of its type before it (`u8:7`, `f32:0.5`). A float that is no number or not
//! finite is its bits: `f32:#x7f800000` is an infinite `f32`, `float:#x7ff0000000000000` a `float`.
//!
//! A statement is a line, the bodies inside are indented:
//!
//! ```text
//! (let ((%s.4 float))
//!   (reduce (%i.2 %n.0)
//!     (let ((%x.3 float)) (index %xs.1 %i.2) p0)
//!     (give %x.3)
//!     (assoc ((%a.5 float) (%b.6 float)) (start 0.0)
//!       (let ((%c.7 float)) (op + %a.5 %b.6) p0)
//!       (give %c.7))) p1)
//! ```
//!
//! The reader bounds how deep lists nest. What is deeper than a few dozen levels is printed as a part
//! of its own at the end, and `b7` stands in its place. A part follows the text that it is a part of.
//!
//! `unbound` lists what is in the table of variables and bound nowhere, as passes leave behind.

use crate::interface::{PrintInterface, positions};
use crate::ir::*;
use crate::text::{IN_PLACE, VERSION};
use remc_base::ids::Id;
use remc_base::sexp::{bits, quoted};
use remc_base::{ArrTy, Scalar, VarId};
use remc_typed::print::{TypeTexts, value_var};
use std::collections::VecDeque;
use std::fmt::{Debug, Write};

/// The text of a program.
pub fn print_program(p: &Program) -> String {
    print_with("mono", p, |pr| {
        pr.out += "\n  (body";
        pr.body(&p.body, 0, 2);
        pr.out.push(')');
    })
}

/// The text of a program in an IR that shares everything but the body with Mono; `body` prints that.
pub fn print_with<'p>(head: &str, p: &'p Program, body: impl FnOnce(&mut Printer<'p>)) -> String {
    let mut pr = Printer::new(p);
    let mut out = format!("({head} {VERSION} (name {})", quoted(p.name.as_str()));
    let provs = p.provs.print().replace('\n', "\n  ");
    let params = pr.binders(&p.params);
    let inputs: String = p.inputs.iter().map(|i| format!(" {}", pr.input(i, 0))).collect();
    let channels = channels(&p.channels);
    let output = pr.output(&p.output, 0);
    body(&mut pr);
    pr.parts();
    let _ = write!(out, "\n  {provs}\n  (types{})", pr.types.rows());
    let _ = write!(out, "\n  (params {params})\n  (inputs{inputs}){channels}\n  (output {output})");
    out += &pr.out;
    let unbound: Vec<Var> = p.vars.iter().map(|(v, _)| v).filter(|v| !pr.bound[v.index()]).collect();
    if !unbound.is_empty() {
        out += "\n  (unbound";
        for v in unbound {
            let _ = write!(out, "\n    {}", pr.binder(v));
        }
        out.push(')');
    }
    out + ")\n"
}

/// The text of the channels of a program, if it has any: `(channels ("xs" (input 3)? (output 3)? (float 0) …) …)`; of an
/// array with any number of elements for each item also the array that says where those begin.
pub fn channels(all: &[Channel]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let array = |a: &ChannelArray| {
        let starts = a.starts.map_or(String::new(), |k| format!(" {k}"));
        format!(" ({} {}{starts})", a.base, a.rank)
    };
    let one = |c: &Channel| {
        let end = |word: &str, k: Option<usize>| k.map_or(String::new(), |k| format!(" ({word} {k})"));
        let input = end("input", c.input) + &end("output", c.output);
        let arrays: String = c.arrays.iter().map(array).collect();
        format!("\n    ({}{input}{arrays})", quoted(c.name.as_str()))
    };
    format!("\n  (channels{})", all.iter().map(one).collect::<String>())
}

/// The text of what a pull takes.
pub fn take(t: Take, atom: impl Fn(Atom) -> String) -> String {
    match t {
        Take::Multiple(n) => format!("(multiple {})", atom(n)),
        Take::Exactly(n) => format!("(exactly {})", atom(n)),
        Take::All => "(all)".to_owned(),
    }
}

/// The text of a constant.
pub fn constant(c: Scalar) -> String {
    match c {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Char(c) => format!("U+{:x}", c as u32),
        Scalar::I64(n) => n.to_string(),
        Scalar::I8(n) => format!("i8:{n}"),
        Scalar::I16(n) => format!("i16:{n}"),
        Scalar::I32(n) => format!("i32:{n}"),
        Scalar::U8(n) => format!("u8:{n}"),
        Scalar::U16(n) => format!("u16:{n}"),
        Scalar::U32(n) => format!("u32:{n}"),
        Scalar::U64(n) => format!("u64:{n}"),
        Scalar::F64(x) if x.is_finite() => decimal(x),
        Scalar::F32(x) if x.is_finite() => format!("f32:{}", decimal(x)),
        Scalar::F16(x) if x.is_finite() => format!("f16:{}", decimal(f32::from(x))),
        Scalar::F64(x) => format!("float:{}", bits(x.to_bits(), 16)),
        Scalar::F32(x) => format!("f32:{}", bits(x.to_bits(), 8)),
        Scalar::F16(x) => format!("f16:{}", bits(x.to_bits(), 4)),
    }
}

/// The shortest decimal that reads back, which has a point.
fn decimal(x: impl Debug) -> String {
    let text = format!("{x:?}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}

/// What is too deep to be printed in its place.
enum Part<'p> {
    Body(&'p Body),
    Input(&'p Input),
    Output(&'p Output),
}

/// A program on its way to text; public for the IRs that share leaves, atoms and types with Mono.
pub struct Printer<'p> {
    p: &'p Program,
    pub out: String,
    types: TypeTexts,
    /// For each variable whether its binder has been printed.
    bound: Vec<bool>,
    /// The parts still to be printed, and how many have been named.
    queue: VecDeque<Part<'p>>,
    named: usize,
}

impl<'p> Printer<'p> {
    fn new(p: &'p Program) -> Printer<'p> {
        let bound = vec![false; p.vars.len()];
        Printer {
            p,
            out: String::new(),
            types: TypeTexts::default(),
            bound,
            queue: VecDeque::new(),
            named: 0,
        }
    }

    /// The name of a part that is printed later.
    fn later(&mut self, part: Part<'p>) -> String {
        self.queue.push_back(part);
        self.named += 1;
        format!("b{}", self.named - 1)
    }

    fn parts(&mut self) {
        let mut i = 0;
        while let Some(part) = self.queue.pop_front() {
            match part {
                Part::Body(body) => {
                    let _ = write!(self.out, "\n  (body b{i}");
                    self.body(body, 0, 2);
                    self.out.push(')');
                }
                Part::Input(input) => {
                    let text = self.input(input, 0);
                    let _ = write!(self.out, "\n  (input b{i} {text})");
                }
                Part::Output(output) => {
                    let text = self.output(output, 0);
                    let _ = write!(self.out, "\n  (output b{i} {text})");
                }
            }
            i += 1;
        }
    }

    // ---- variables ----

    /// The binder's name counts; a use shows it for the reader's sake.
    pub fn var(&self, v: Var) -> String {
        match self.p.vars.get(v) {
            Some(info) => value_var(VarId(v.0), &info.name),
            None => format!("%.{}", v.0),
        }
    }

    pub fn atom(&self, a: Atom) -> String {
        match a {
            Atom::Var(v) => self.var(v),
            Atom::Const(c) => constant(c),
        }
    }

    /// Atoms, a space before each.
    pub fn atoms(&self, atoms: &[Atom]) -> String {
        atoms.iter().fold(String::new(), |acc, a| acc + " " + &self.atom(*a))
    }

    pub fn list(&self, atoms: &[Atom]) -> String {
        format!("({})", self.atoms(atoms).trim_start())
    }

    pub fn binder(&mut self, v: Var) -> String {
        let Some(info) = self.p.vars.get(v) else { return self.var(v) };
        self.bound[v.index()] = true;
        format!("({} {}{})", self.var(v), info.ty.base, self.atoms(&info.ty.dims))
    }

    pub fn binders(&mut self, vars: &[Var]) -> String {
        vars.iter().map(|v| self.binder(*v)).collect::<Vec<_>>().join(" ")
    }

    pub fn axis(&mut self, axis: &Axis) -> String {
        let full = self.binder(axis.var);
        let is_int = self.p.vars.get(axis.var).is_some_and(|info| info.ty == Ty::int());
        let var = if is_int { self.var(axis.var) } else { full };
        format!("({var} {})", self.atom(axis.size))
    }

    pub fn state(&mut self, state: &[(Var, Atom)]) -> String {
        let items: Vec<_> =
            state.iter().map(|(v, a)| format!("({} {})", self.binder(*v), self.atom(*a))).collect();
        format!("({})", items.join(" "))
    }

    // ---- statements ----

    pub fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// The lines of a body that `depth` others are around, inside a form at `margin`.
    pub fn body(&mut self, body: &'p Body, depth: usize, margin: usize) {
        let indent = margin + 2;
        if depth == IN_PLACE {
            let name = self.later(Part::Body(body));
            self.line(indent);
            self.out += &name;
            return;
        }
        for s in &body.stmts {
            self.line(indent);
            let pat = self.binders(&s.pat);
            let _ = write!(self.out, "(let ({pat})");
            if s.exp.bodies().is_empty() {
                self.out.push(' ');
            } else {
                self.line(indent + 2);
            }
            self.exp(&s.exp, depth + 1, indent + 2);
            let _ = write!(self.out, " {:?})", s.prov);
        }
        self.line(indent);
        let results = self.atoms(&body.results);
        let _ = write!(self.out, "(give{results})");
    }

    /// A body in a list of its own, whose first words are `head`.
    pub fn section(&mut self, head: &str, body: &'p Body, depth: usize, margin: usize) {
        self.line(margin + 2);
        let _ = write!(self.out, "({head}");
        self.body(body, depth, margin + 2);
        self.out.push(')');
    }

    pub fn combine(&mut self, op: &'p Combine, depth: usize, margin: usize) {
        let params = self.binders(&op.lambda.params);
        let start = match &op.start {
            Some(start) => format!(" (start{})", self.atoms(start)),
            None => String::new(),
        };
        let kind = match (op.assoc, op.alone) {
            (true, true) => "alone",
            (true, false) => "assoc",
            (false, _) => "serial",
        };
        self.section(&format!("{kind} ({params}){start}"), &op.lambda.body, depth, margin);
    }

    pub fn exp(&mut self, e: &'p Exp, depth: usize, margin: usize) {
        let head = match e {
            Exp::Atom(a) => {
                self.out += &self.atom(*a);
                return;
            }
            Exp::Op(op, args) => format!("(op {op}{}", self.atoms(args)),
            Exp::Cast(ty, a) => format!("(cast {ty} {}", self.atom(*a)),
            Exp::Literal { dims, elems } => format!("(literal {}{}", self.list(dims), self.atoms(elems)),
            Exp::Index { array, at } => format!("(index {}{}", self.var(*array), self.atoms(at)),
            Exp::If { cond, .. } => format!("(if {}", self.atom(*cond)),
            Exp::For { axis, state, .. } => format!("(for {} {}", self.axis(axis), self.state(state)),
            Exp::While { state, .. } => format!("(while {}", self.state(state)),
            Exp::Map { axes, .. } => {
                let axes: Vec<_> = axes.iter().map(|a| self.axis(a)).collect();
                format!("(map ({})", axes.join(" "))
            }
            Exp::Reduce { axis, .. } => format!("(reduce {}", self.axis(axis)),
            Exp::Scan { kind, axis, .. } => format!("(scan {} {}", scan_kind(*kind), self.axis(axis)),
            Exp::Scatter { dests, axis, .. } => {
                let dests: Vec<_> = dests.iter().map(|d| self.var(*d)).collect();
                format!("(scatter {} ({})", self.axis(axis), dests.join(" "))
            }
            Exp::Filter { axis, .. } => format!("(filter {}", self.axis(axis)),
            Exp::Grade { axis, gives, .. } => format!("({} {}", gives.word(), self.axis(axis)),
            Exp::Join { axis, regular, .. } => format!("(join {} {regular}", self.axis(axis)),
            Exp::View { view, array } => format!("(view {} {}", self.view(view), self.var(*array)),
            Exp::Check { trap, cond, values } => {
                format!("(check {} {}{}", trap.print(), self.atom(*cond), self.atoms(values))
            }
            Exp::Pull { channel, at, take: t } => {
                format!("(pull {channel} {} {}", self.atom(*at), take(*t, |a| self.atom(a)))
            }
            Exp::Push { channel, arrays } => {
                let arrays: String = arrays.iter().map(|v| format!(" {}", self.var(*v))).collect();
                format!("(push {channel}{arrays}")
            }
        };
        self.out += &head;
        match e {
            Exp::If { then, otherwise, .. } => {
                self.section("then", then, depth, margin);
                self.section("else", otherwise, depth, margin);
            }
            Exp::While { cond, body, .. } => {
                self.section("cond", cond, depth, margin);
                self.section("do", body, depth, margin);
            }
            Exp::For { body, .. }
            | Exp::Map { body, .. }
            | Exp::Filter { body, .. }
            | Exp::Grade { body, .. }
            | Exp::Join { body, .. } => self.body(body, depth, margin),
            Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } => {
                self.body(body, depth, margin);
                self.combine(op, depth, margin);
            }
            Exp::Scatter { body, combine, .. } => {
                self.body(body, depth, margin);
                if let Some(lambda) = combine {
                    let params = self.binders(&lambda.params);
                    self.section(&format!("combine ({params})"), &lambda.body, depth, margin);
                }
            }
            _ => {}
        }
        self.out.push(')');
    }

    fn view(&self, view: &View) -> String {
        match view {
            View::Reshape { dims } => format!("(reshape{})", self.atoms(dims)),
            View::Permute { perm } => format!("(permute{})", positions(perm)),
            View::Reverse => "(reverse)".to_owned(),
            View::Rotate { amounts } => format!("(rotate{})", self.atoms(amounts)),
            View::Append { with } => format!("(append {})", self.var(*with)),
            View::Slice { start, dims } => format!("(slice {} {})", self.list(start), self.list(dims)),
            View::Wrap { start, dims } => format!("(wrap {} {})", self.list(start), self.list(dims)),
            View::Cycle { dims } => format!("(cycle{})", self.atoms(dims)),
            View::Replicate { dims } => format!("(replicate{})", self.atoms(dims)),
        }
    }
}

/// The word for a [`ScanKind`].
pub fn scan_kind(kind: ScanKind) -> &'static str {
    match kind {
        ScanKind::Inclusive => "inclusive",
        ScanKind::Exclusive => "exclusive",
        ScanKind::Full => "full",
    }
}

impl<'p> PrintInterface<'p> for Printer<'p> {
    fn input_name(&mut self, v: Var) -> String {
        self.var(v)
    }

    fn type_text(&mut self, ty: &ArrTy) -> String {
        self.types.arr(ty)
    }

    fn later_input(&mut self, input: &'p Input) -> String {
        self.later(Part::Input(input))
    }

    fn later_output(&mut self, output: &'p Output) -> String {
        self.later(Part::Output(output))
    }
}

//! Kernel as text, which [`crate::parse`] reads back exactly.
//!
//! This is the exact grammar; [`mod@crate::ir`] has the abstract one.
//!
//! ```text
//! program ::= (kernel 1 (name "main") (provs …) (types (tN t) …) (params x …) (inputs in …) (channels channel …)?
//!               (output out) k … (plan stmt … (give a …)) part … (unbound x …)?)
//! k       ::= (k0 "name" (schedule "site" (field n) …)? (from pN …) (grid (i a) …) (worker i) (threads i n)?
//!               (rows (%b.1 %b.2) …)? (distinct %b.1 …)? (params x …) (body stmt …))
//! x       ::= (%x.1 base) | (%x.1 space base a …)
//!                                                a binder: its name, its id, its type; of a buffer its dims
//! space   ::= global | scratch | private | shared
//! part    ::= (block bN stmt …) | (input bN in) | (output bN out)
//! stmt    ::= (let x exp pN)                     pN is its provenance, a row of the table `provs`
//!           | (store %b.1 (a …) a pN) | (update o %b.1 (a …) a pN)
//!           | (for how i range (carried …) stmt … (next a …) pN)
//!           | (while (carried …) (cond stmt … (test a)) (do stmt … (next a …)) pN)
//!           | (if a (then stmt …) (else stmt …) ((x a a) …) pN)
//!           | (points (i …) a (a …) pN) | (barrier pN) | (check trap a a … pN)
//!           | (collective a ((x x a x) …) stmt … (next a …) pN)
//!           | (collective scan a ((x x a x x) …) stmt … (next a …) pN)
//!           | (chain %b.1 (a …) ((x x a a %b.1 %b.2?) …) stmt … (next a …) pN)
//!           | (alloc x pN) | (free %b.1 pN) | (alias x %b.1 pN) | (slice x %b.1 a pN)
//!           | (launch k0 (a …) pN) | (grade (%b.1 …) %b.2 (a …)? pN) | (sort (%b.1 …) %b.2 (a …)? pN)
//!           | (pull c a take x (x …) (x …) pN) | (push c (%b.1 …) pN)
//! i       ::= %i.1                               the binder of an int; else with its type, (%i.1 base)
//! how     ::= seq | (lanes w) | (scan w) | (jam w)
//! range   ::= (upto a a) | (tile a a a)          from and to; index, size and limit
//!           | (share a a a a a)                  thread, threads; and the tile's
//! carried ::= (x x a o?)                         the parameter, the result, the first value, the operator
//! exp     ::= a | (op o a …) | (cast base a) | (bits a) | (load %b.1 a …) | (workers)
//!           | (test >= a "threshold" n) | (test < a "threshold" n)
//! ```
//!
//! Atoms `a`, inputs, outputs, channels and what a `pull` takes are those of [`remc_mono::print`]; a field is one of
//! [`crate::schedule`]. A statement is a line, those inside are indented:
//!
//! ```text
//! (k0 "scale" (from p0) (grid (%b.3 %nb.1)) (worker %w.4)
//!   (params (%n.0 int) (%nb.1 int) (%xs.2 global float %n.0) (%ys.5 global float %n.0))
//!   (body
//!     (for (lanes 16) %i.6 (tile %b.3 16384 %n.0) ()
//!       (let (%x.7 float) (load %xs.2 %i.6) p0)
//!       (store %ys.5 (%i.6) %x.7 p0)
//!       (next) p0)))
//! ```
//!
//! The reader bounds how deep lists nest. The statements that are deeper than a few dozen levels are
//! printed as a part of their own at the end, and `b7` stands in their place. A part follows the text
//! that it is a part of. `unbound` lists what is in the table of variables and bound nowhere.

use crate::ir::*;
use remc_base::ids::Id;
use remc_base::sexp::quoted;
use remc_base::{ArrTy, BaseTy, Prov, VarId};
use remc_mono::interface::PrintInterface;
use remc_mono::ir::{Input, Output};
use remc_mono::print::{constant, take};
use remc_mono::text::IN_PLACE;
use remc_typed::print::{TypeTexts, value_var};
use std::collections::VecDeque;
use std::fmt::Write;

/// The version of the text form.
pub const VERSION: i128 = 1;

/// The text of a program.
pub fn print_program(p: &Program) -> String {
    let mut pr = Printer::new(p);
    let mut out = format!("(kernel {VERSION} (name {})", quoted(p.name.as_str()));
    let provs = p.provs.print().replace('\n', "\n  ");
    let params = pr.binders(&p.params);
    let inputs: String = p.inputs.iter().map(|i| format!(" {}", pr.input(i, 0))).collect();
    let channels = remc_mono::print::channels(&p.channels);
    let output = pr.output(&p.output, 0);
    for (k, kernel) in p.kernels.iter() {
        pr.line(2);
        pr.kernel(k, kernel, 2);
    }
    pr.out += "\n  (plan";
    pr.block(&p.plan, 0, 2);
    pr.line(4);
    let results = pr.atoms(&p.results);
    let _ = write!(pr.out, "(give{results}))");
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

/// The text of a kernel of `p`, for people.
pub fn print_kernel(p: &Program, k: KernelId) -> String {
    let mut pr = Printer::new(p);
    if let Some(kernel) = p.kernels.get(k) {
        pr.kernel(k, kernel, 0);
    }
    pr.parts();
    pr.out + "\n"
}

/// The text of statements of `p`, for people.
pub fn print_stmts(p: &Program, stmts: &[Stmt]) -> String {
    let mut pr = Printer::new(p);
    pr.block(stmts, 0, 0);
    pr.parts();
    pr.out.trim_start().to_owned() + "\n"
}

/// The text of an access to a buffer, as messages show it.
pub(crate) fn access(p: &Program, buffer: Var, at: &[Atom]) -> String {
    let pr = Printer::new(p);
    format!("{} ({})", pr.var(buffer), pr.atoms(at).trim_start())
}

/// The text of a variable, as messages show it.
pub(crate) fn var(p: &Program, v: Var) -> String {
    Printer::new(p).var(v)
}

/// The text of an atom, as messages show it.
pub(crate) fn atom(p: &Program, a: Atom) -> String {
    Printer::new(p).atom(a)
}

impl Space {
    pub const ALL: [Space; 4] = [Space::Global, Space::Scratch, Space::Private, Space::Shared];

    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Scratch => "scratch",
            Space::Private => "private",
            Space::Shared => "shared",
        }
    }
}

/// What is too deep to be printed in its place.
enum Part<'p> {
    Block(&'p [Stmt]),
    Input(&'p Input),
    Output(&'p Output),
}

struct Printer<'p> {
    p: &'p Program,
    out: String,
    types: TypeTexts,
    /// For each variable whether its binder has been printed.
    bound: Vec<bool>,
    /// The parts still to be printed, and how many have been named.
    queue: VecDeque<Part<'p>>,
    named: usize,
}

impl<'p> Printer<'p> {
    fn new(p: &'p Program) -> Printer<'p> {
        Printer {
            p,
            out: String::new(),
            types: TypeTexts::default(),
            bound: vec![false; p.vars.len()],
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
                Part::Block(stmts) => {
                    let _ = write!(self.out, "\n  (block b{i}");
                    self.block(stmts, 0, 2);
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
    fn var(&self, v: Var) -> String {
        match self.p.vars.get(v) {
            Some(info) => value_var(VarId(v.0), &info.name),
            None => format!("%.{}", v.0),
        }
    }

    fn atom(&self, a: Atom) -> String {
        match a {
            Atom::Var(v) => self.var(v),
            Atom::Const(c) => constant(c),
        }
    }

    /// Atoms, a space before each.
    fn atoms(&self, atoms: &[Atom]) -> String {
        atoms.iter().fold(String::new(), |acc, a| acc + " " + &self.atom(*a))
    }

    fn list(&self, atoms: &[Atom]) -> String {
        format!("({})", self.atoms(atoms).trim_start())
    }

    fn vars(&self, vars: &[Var]) -> String {
        format!("({})", vars.iter().map(|v| self.var(*v)).collect::<Vec<_>>().join(" "))
    }

    fn binder(&mut self, v: Var) -> String {
        let Some(info) = self.p.vars.get(v) else { return self.var(v) };
        if let Some(bound) = self.bound.get_mut(v.index()) {
            *bound = true;
        }
        match &info.ty {
            Ty::Scalar(base) => format!("({} {base})", self.var(v)),
            Ty::Buffer(b) => {
                format!("({} {} {}{})", self.var(v), b.space.name(), b.base, self.atoms(&b.dims))
            }
        }
    }

    fn binders(&mut self, vars: &[Var]) -> String {
        vars.iter().map(|v| self.binder(*v)).collect::<Vec<_>>().join(" ")
    }

    /// The binder of an index, whose type need not be said.
    fn index(&mut self, v: Var) -> String {
        let full = self.binder(v);
        let is_int = self.p.vars.get(v).is_some_and(|info| info.ty == Ty::Scalar(BaseTy::I64));
        if is_int { self.var(v) } else { full }
    }

    // ---- kernels and statements ----

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn kernel(&mut self, k: KernelId, kernel: &'p Kernel, margin: usize) {
        let from: String = kernel.provs.iter().map(|p: &Prov| format!(" {p:?}")).collect();
        let grid: String =
            kernel.grid.iter().map(|(b, n)| format!(" ({} {})", self.index(*b), self.atom(*n))).collect();
        let worker = self.index(kernel.worker);
        let name = quoted(kernel.name.as_str());
        let numbers: String = kernel.schedule.changed().map(|(f, n)| format!(" ({f} {n})")).collect();
        let schedule = match (kernel.site.as_str(), numbers.as_str()) {
            ("", "") => String::new(),
            (site, numbers) => format!(" (schedule {}{numbers})", quoted(site)),
        };
        let threads = kernel.threads.map(|(t, n)| format!(" (threads {} {n})", self.index(t)));
        let threads = threads.unwrap_or_default();
        let _ =
            write!(self.out, "({k:?} {name}{schedule} (from{from}) (grid{grid}) (worker {worker}){threads}");
        if !kernel.rows.is_empty() {
            let pair = |(v, s): &(Var, Var)| format!(" ({} {})", self.var(*v), self.var(*s));
            let rows: String = kernel.rows.iter().map(pair).collect();
            let _ = write!(self.out, " (rows{rows})");
        }
        if !kernel.distinct.is_empty() {
            let all: String = kernel.distinct.iter().map(|v| format!(" {}", self.var(*v))).collect();
            let _ = write!(self.out, " (distinct{all})");
        }
        self.line(margin + 2);
        let params = self.binders(&kernel.params);
        let _ = write!(self.out, "(params {params})");
        self.section("body", &kernel.body, None, 0, margin);
        self.out.push(')');
    }

    /// The lines of statements that `depth` blocks are around, inside a form at `margin`.
    fn block(&mut self, stmts: &'p [Stmt], depth: usize, margin: usize) {
        let indent = margin + 2;
        if depth == IN_PLACE && !stmts.is_empty() {
            let name = self.later(Part::Block(stmts));
            self.line(indent);
            self.out += &name;
            return;
        }
        for s in stmts {
            self.line(indent);
            self.stmt(&s.kind, depth + 1, indent);
            let _ = write!(self.out, " {:?})", s.prov);
        }
    }

    /// A block in a list of its own, with what ends it.
    fn section(&mut self, head: &str, stmts: &'p [Stmt], end: Option<String>, depth: usize, margin: usize) {
        self.line(margin + 2);
        let _ = write!(self.out, "({head}");
        self.block(stmts, depth, margin + 2);
        if let Some(end) = end {
            self.line(margin + 4);
            self.out += &end;
        }
        self.out.push(')');
    }

    fn carried(&mut self, carried: &[Carried]) -> String {
        let items: Vec<_> = carried
            .iter()
            .map(|c| {
                let op = c.combine.map_or(String::new(), |op| format!(" {op}"));
                let (param, result) = (self.binder(c.param), self.binder(c.result));
                format!("({param} {result} {}{op})", self.atom(c.init))
            })
            .collect();
        format!("({})", items.join(" "))
    }

    fn link(&mut self, l: &Link) -> String {
        let (before, x) = (self.binder(l.before), self.binder(l.x));
        let own = l.own.map(|v| format!(" {}", self.var(v))).unwrap_or_default();
        format!("({before} {x} {} {} {}{own})", self.atom(l.init), self.atom(l.item), self.var(l.kept))
    }

    fn joined(&mut self, j: &Joined) -> String {
        let (x, y) = (self.binder(j.x), self.binder(j.y));
        let before = j.before.map(|v| format!(" {}", self.binder(v))).unwrap_or_default();
        format!("({x} {y} {}{before} {})", self.atom(j.item), self.binder(j.total))
    }

    /// A statement without its provenance and the parenthesis that closes it.
    fn stmt(&mut self, s: &'p StmtKind, depth: usize, margin: usize) {
        let head = match s {
            StmtKind::Let { var, exp } => format!("(let {} {}", self.binder(*var), self.exp(exp)),
            StmtKind::Store { buffer, at, value } => {
                format!("(store {} {} {}", self.var(*buffer), self.list(at), self.atom(*value))
            }
            StmtKind::Update { op, buffer, at, value } => {
                format!("(update {op} {} {} {}", self.var(*buffer), self.list(at), self.atom(*value))
            }
            StmtKind::For { how, var, range, carried, .. } => {
                let (var, range) = (self.index(*var), self.range(range));
                format!("(for {} {var} {range} {}", how_text(*how), self.carried(carried))
            }
            StmtKind::While { carried, .. } => format!("(while {}", self.carried(carried)),
            StmtKind::If { cond, .. } => format!("(if {}", self.atom(*cond)),
            StmtKind::Points { vars, index, dims } => {
                let vars: Vec<_> = vars.iter().map(|v| self.index(*v)).collect();
                format!("(points ({}) {} {}", vars.join(" "), self.atom(*index), self.list(dims))
            }
            StmtKind::Barrier => "(barrier".to_owned(),
            StmtKind::Collective { scan, count, joined, .. } => {
                let joined: Vec<_> = joined.iter().map(|j| self.joined(j)).collect();
                let scan = if *scan { "scan " } else { "" };
                format!("(collective {scan}{} ({})", self.atom(*count), joined.join(" "))
            }
            StmtKind::Chain { state, at, links, .. } => {
                let links: Vec<_> = links.iter().map(|l| self.link(l)).collect();
                format!("(chain {} {} ({})", self.var(*state), self.list(at), links.join(" "))
            }
            StmtKind::Check { trap, cond, values } => {
                format!("(check {} {}{}", trap.print(), self.atom(*cond), self.atoms(values))
            }
            StmtKind::Alloc { buffer } => format!("(alloc {}", self.binder(*buffer)),
            StmtKind::Free { buffer } => format!("(free {}", self.var(*buffer)),
            StmtKind::Alias { buffer, of } => {
                format!("(alias {} {}", self.binder(*buffer), self.var(*of))
            }
            StmtKind::Slice { buffer, of, first } => {
                format!("(slice {} {} {}", self.binder(*buffer), self.var(*of), self.atom(*first))
            }
            StmtKind::Launch { kernel, args } => format!("(launch {kernel:?} {}", self.list(args)),
            StmtKind::Sort { keys, out, gives, at } => {
                let at = if at.is_empty() { String::new() } else { format!(" {}", self.list(at)) };
                format!("({} {} {}{at}", gives.word(), self.vars(keys), self.var(*out))
            }
            StmtKind::Pull { channel, at, take: t, count, elements, buffers } => {
                let (at, t) = (self.atom(*at), take(*t, |a| self.atom(a)));
                let (count, elements) = (self.binder(*count), self.binders(elements));
                format!("(pull {channel} {at} {t} {count} ({elements}) ({})", self.binders(buffers))
            }
            StmtKind::Push { channel, buffers } => format!("(push {channel} {}", self.vars(buffers)),
        };
        self.out += &head;
        match s {
            StmtKind::For { body, next, .. }
            | StmtKind::Chain { body, next, .. }
            | StmtKind::Collective { body, next, .. } => {
                self.block(body, depth, margin);
                self.line(margin + 2);
                let next = self.atoms(next);
                let _ = write!(self.out, "(next{next})");
            }
            StmtKind::While { cond, test, body, next, .. } => {
                let test = format!("(test {})", self.atom(*test));
                self.section("cond", cond, Some(test), depth, margin);
                let next = format!("(next{})", self.atoms(next));
                self.section("do", body, Some(next), depth, margin);
            }
            StmtKind::If { then, otherwise, results, .. } => {
                self.section("then", then, None, depth, margin);
                self.section("else", otherwise, None, depth, margin);
                let choices: Vec<_> = results
                    .iter()
                    .map(|c| {
                        let var = self.binder(c.var);
                        format!("({var} {} {})", self.atom(c.then), self.atom(c.otherwise))
                    })
                    .collect();
                self.line(margin + 2);
                let _ = write!(self.out, "({})", choices.join(" "));
            }
            _ => {}
        }
    }

    fn range(&self, range: &Range) -> String {
        match range {
            Range::Upto { from, to } => format!("(upto {} {})", self.atom(*from), self.atom(*to)),
            Range::Tile { index, size, limit } => {
                format!("(tile{})", self.atoms(&[*index, *size, *limit]))
            }
            Range::Share { .. } => format!("(share{})", self.atoms(&range.atoms())),
        }
    }

    fn exp(&self, e: &Exp) -> String {
        match e {
            Exp::Atom(a) => self.atom(*a),
            Exp::Op(op, args) => format!("(op {op}{})", self.atoms(args)),
            Exp::Cast(ty, a) => format!("(cast {ty} {})", self.atom(*a)),
            Exp::Bits(a) => format!("(bits {})", self.atom(*a)),
            Exp::Load { buffer, at } => format!("(load {}{})", self.var(*buffer), self.atoms(at)),
            Exp::Workers => "(workers)".to_owned(),
            Exp::Test(t) => {
                let (compare, name) = (t.compare.symbol(), quoted(t.threshold.as_str()));
                format!("(test {compare} {} {name} {})", self.atom(t.size), t.value)
            }
        }
    }
}

/// How a loop runs, as text.
pub fn how_text(how: How) -> String {
    match how {
        How::Seq => "seq".to_owned(),
        How::Lanes(w) => format!("(lanes {w})"),
        How::Scan(w) => format!("(scan {w})"),
        How::Jam(k) => format!("(jam {k})"),
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

//! Flat as text, which [`crate::parse`] reads back exactly.
//!
//! This is the exact grammar; [`mod@crate::ir`] has the abstract one. A program is written as one of Mono is, `flat` in the
//! place of `mono`, and so are binders, atoms, axes, states, provenances, kinds of scans, operators of `combine`, and the
//! bodies of leaves; see [`remc_mono::print`]. The host's statements are:
//!
//! ```text
//! program ::= (flat 1 (name "main") (provs …) (types (tN t) …) (params x …) (inputs in …) (channels channel …)?
//!               (output out) (body host) part … (unbound x …)?)
//! host    ::= (let (x …) exp pN) … (give a …)    spliced into the form that it is part of
//! exp     ::= (host e)                           e: an expression of Mono without bodies
//!           | (if a (then host) (else host))
//!           | (for axis (state …) host) | (while (state …) (cond host) (do host))
//!           | (serial-map (axis …) host)
//!           | (seg-map level (axis …) orders? leaf)
//!           | (seg-red level (axis …) axis leaf combine)
//!           | (seg-scan level kind (axis …) axis orders? leaf combine epilogue? known?)
//!           | (scatter axis (%x.1 …) leaf (combine (x …) body)?)
//!           | (rows level axis (of %x.1 (%x.1 …))? k (%x.1 …) leaf (scratch (%x.1 a) …)?)
//!           | (filter axis leaf pN …)            one filter, or several of as many points
//!           | (grade axis leaf) | (sort axis leaf)
//!           | (branch guard (then host) (else host))
//! level   ::= grid | block | warp
//! orders  ::= (axes (k …) …)                     of each result, or `()`
//! epilogue ::= (epilogue (x …) body)
//! known   ::= (known a (%x.1 …))
//! guard   ::= test | (or test test …)
//! test    ::= (>= a "threshold" n) | (< a "threshold" n)
//! leaf    ::= (leaf body)                        a body of Mono
//! part    ::= (host hN host)                     what is too deep to be printed in its place, where `hN` stands
//! ```
//!
//! Of the results of `rows` the first `k` are regular; the others begin where the vectors say.
//!
//! ```text
//! (let ((%s.4 float %n.0))
//!   (seg-red grid ((%i.2 %n.0)) (%j.3 %m.1)
//!     (leaf
//!       (let ((%x.5 float)) (index %xs.6 %i.2 %j.3) p0)
//!       (give %x.5))
//!     (assoc ((%a.7 float) (%b.8 float)) (start 0.0)
//!       (let ((%c.9 float)) (op + %a.7 %b.8) p0)
//!       (give %c.9))) p1)
//! ```

use crate::ir::*;
use remc_base::sexp::quoted;
use remc_mono::ir as mono;
use remc_mono::print::{Printer, print_with, scan_kind};
use remc_mono::text::IN_PLACE;
use std::collections::VecDeque;
use std::fmt::Write;

/// The text of a program.
pub fn print_program(p: &Program) -> String {
    let table = p.table();
    print_with("flat", &table, |pr| {
        let mut host = Host { deep: VecDeque::new(), named: 0 };
        pr.out += "\n  (body";
        host.body(pr, &p.body, 0, 2);
        pr.out.push(')');
        let mut k = 0;
        while let Some(body) = host.deep.pop_front() {
            let _ = write!(pr.out, "\n  (host h{k}");
            host.body(pr, body, 0, 2);
            pr.out.push(')');
            k += 1;
        }
    })
}

struct Host<'p> {
    /// The bodies still to be printed, and how many have been named.
    deep: VecDeque<&'p Body>,
    named: usize,
}

/// The word for a [`Level`].
pub fn level(level: Level) -> &'static str {
    match level {
        Level::Grid => "grid",
        Level::Block => "block",
        Level::Warp => "warp",
    }
}

fn axes(pr: &mut Printer<'_>, axes: &[Axis]) -> String {
    let axes: Vec<_> = axes.iter().map(|a| pr.axis(a)).collect();
    format!("({})", axes.join(" "))
}

/// How the axes of results follow one another in memory, if other than in order.
fn orders(all: &[Vec<usize>]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let one = |order: &Vec<usize>| {
        let axes: Vec<_> = order.iter().map(usize::to_string).collect();
        format!(" ({})", axes.join(" "))
    };
    format!(" (axes{})", all.iter().map(one).collect::<String>())
}

impl<'p> Host<'p> {
    fn body(&mut self, pr: &mut Printer<'p>, body: &'p Body, depth: usize, margin: usize) {
        let indent = margin + 2;
        if depth == IN_PLACE {
            pr.line(indent);
            let _ = write!(pr.out, "h{}", self.named);
            self.named += 1;
            self.deep.push_back(body);
            return;
        }
        for s in &body.stmts {
            pr.line(indent);
            let pat = pr.binders(&s.pat);
            let _ = write!(pr.out, "(let ({pat})");
            if let Exp::Host(_) = s.exp {
                pr.out.push(' ');
            } else {
                pr.line(indent + 2);
            }
            self.exp(pr, &s.exp, depth + 1, indent + 2);
            let _ = write!(pr.out, " {:?})", s.prov);
        }
        pr.line(indent);
        let results = pr.atoms(&body.results);
        let _ = write!(pr.out, "(give{results})");
    }

    fn section(&mut self, pr: &mut Printer<'p>, head: &str, body: &'p Body, depth: usize, margin: usize) {
        pr.line(margin + 2);
        let _ = write!(pr.out, "({head}");
        self.body(pr, body, depth, margin + 2);
        pr.out.push(')');
    }

    fn guard(&self, pr: &Printer<'p>, guard: &Guard) -> String {
        let test = |t: &Test| {
            let (compare, name) = (t.compare.symbol(), quoted(t.threshold.as_str()));
            format!("({compare} {} {name} {})", pr.atom(t.size), t.value)
        };
        match guard.tests.as_slice() {
            [one] => test(one),
            all => format!("(or {})", all.iter().map(test).collect::<Vec<_>>().join(" ")),
        }
    }

    fn exp(&mut self, pr: &mut Printer<'p>, e: &'p Exp, depth: usize, margin: usize) {
        let head = match e {
            Exp::Host(_) => "(host ".to_owned(),
            Exp::If { cond, .. } => format!("(if {}", pr.atom(*cond)),
            Exp::For { axis, state, .. } => format!("(for {} {}", pr.axis(axis), pr.state(state)),
            Exp::While { state, .. } => format!("(while {}", pr.state(state)),
            Exp::SerialMap { axes: space, .. } => format!("(serial-map {}", axes(pr, space)),
            Exp::Seg(Seg { level: at, space, kind, orders: all, .. }) => {
                let at = level(*at);
                match kind {
                    SegKind::Map => format!("(seg-map {at} {}{}", axes(pr, space), orders(all)),
                    SegKind::Red { axis, .. } => {
                        format!("(seg-red {at} {} {}", axes(pr, space), pr.axis(axis))
                    }
                    SegKind::Scan { axis, kind, .. } => {
                        let (kind, space, axis) = (scan_kind(*kind), axes(pr, space), pr.axis(axis));
                        format!("(seg-scan {at} {kind} {space} {axis}{}", orders(all))
                    }
                }
            }
            Exp::Scatter { dests, axis, .. } => {
                let dests: Vec<_> = dests.iter().map(|d| pr.var(*d)).collect();
                format!("(scatter {} ({})", pr.axis(axis), dests.join(" "))
            }
            Exp::Rows(rows) => {
                let (at, axis, regular) = (level(rows.level), pr.axis(&rows.axis), rows.regular);
                let vars = |all: &[Var]| all.iter().map(|v| pr.var(*v)).collect::<Vec<_>>().join(" ");
                let of = rows.of.as_ref();
                let of = of.map(|p| format!("(of {} ({})) ", pr.var(p.which), vars(&p.into)));
                format!("(rows {at} {axis} {}{regular} ({})", of.unwrap_or_default(), vars(&rows.starts))
            }
            Exp::Filters(_) => "(filter".into(),
            Exp::Grade { axis, gives, .. } => format!("({} {}", gives.word(), pr.axis(axis)),
            Exp::Branch { guard, .. } => format!("(branch {}", self.guard(pr, guard)),
        };
        pr.out += &head;
        match e {
            Exp::Host(e) => pr.exp(e, depth, margin),
            Exp::If { then, otherwise, .. } | Exp::Branch { then, otherwise, .. } => {
                self.section(pr, "then", then, depth, margin);
                self.section(pr, "else", otherwise, depth, margin);
            }
            Exp::While { cond, body, .. } => {
                self.section(pr, "cond", cond, depth, margin);
                self.section(pr, "do", body, depth, margin);
            }
            Exp::For { body, .. } | Exp::SerialMap { body, .. } => self.body(pr, body, depth, margin),
            Exp::Seg(Seg { kind, body, .. }) => {
                leaf(pr, body, depth, margin);
                if let SegKind::Red { op, .. } | SegKind::Scan { op, .. } = kind {
                    pr.combine(op, depth, margin);
                }
                if let SegKind::Scan { epilogue: Some(l), .. } = kind {
                    let params = pr.binders(&l.params);
                    pr.section(&format!("epilogue ({params})"), &l.body, depth, margin);
                }
                if let SegKind::Scan { known: Some(known), .. } = kind {
                    let before: Vec<_> = known.before.iter().map(|v| pr.var(*v)).collect();
                    let every = pr.atom(known.every);
                    pr.out += &format!(" (known {every} ({}))", before.join(" "));
                }
            }
            Exp::Filters(parts) => {
                for part in parts {
                    let axis = pr.axis(&part.axis);
                    let _ = write!(pr.out, " {axis}");
                    leaf(pr, &part.body, depth, margin);
                    let _ = write!(pr.out, " {:?}", part.prov);
                }
            }
            Exp::Grade { body, .. } => leaf(pr, body, depth, margin),
            Exp::Rows(rows) => {
                leaf(pr, &rows.body, depth, margin);
                let one = |s: &Scratch| format!(" ({} {})", pr.var(s.starts), pr.atom(s.total));
                let scratch: String = rows.scratch.iter().map(one).collect();
                if !scratch.is_empty() {
                    pr.out += &format!(" (scratch{scratch})");
                }
            }
            Exp::Scatter { body, combine, .. } => {
                leaf(pr, body, depth, margin);
                if let Some(lambda) = combine {
                    let params = pr.binders(&lambda.params);
                    pr.section(&format!("combine ({params})"), &lambda.body, depth, margin);
                }
            }
        }
        pr.out.push(')');
    }
}

fn leaf<'p>(pr: &mut Printer<'p>, body: &'p mono::Body, depth: usize, margin: usize) {
    pr.section("leaf", body, depth, margin);
}

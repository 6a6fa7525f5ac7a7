//! Flat from its text; the grammar is in [`crate::print`].
//!
//! Any text gives a program or one error with its place; see [`remc_mono::parse`], which reads what the
//! two have in common.

use crate::ir::*;
use remc_base::sexp::{Sexp, SexpError, SexpKind};
use remc_base::{Name, Prov};
use remc_mono::ir as mono;
pub use remc_mono::parse::ParseError;
use remc_mono::parse::{Parser, numbers, parse_with, scan_kind};
use remc_mono::text::{Deep, around};
use remc_typed::parse::{Items, fail, id, int, string, symbol};
use rustc_hash::FxHashMap;

type Result<T, E = SexpError> = std::result::Result<T, E>;

fn level(word: &Sexp) -> Result<Level> {
    Ok(match symbol(word)? {
        "grid" => Level::Grid,
        "block" => Level::Block,
        "warp" => Level::Warp,
        _ => return fail(word, "`grid`, `block` or `warp` was expected"),
    })
}

/// Reads the text of a program.
///
/// # Errors
/// The first place where the text is not of the grammar.
pub fn parse_program(text: &str) -> Result<Program, ParseError> {
    let read = parse_with("flat", text, |p, parts, items| {
        let mut host = Host { p, deep: FxHashMap::default() };
        // From the last to the first: each finds its own parts read.
        for s in parts {
            let mut items = Items::form(s, "host")?;
            let name = items.next("a name")?;
            let body = host.body(&mut items)?;
            items.end()?;
            if host.deep.insert(symbol(name)?, body).is_some() {
                return fail(name, "this is the name of two parts");
            }
        }
        let body = host.body(items)?.0;
        match (host.deep.keys().min(), parts.first()) {
            (Some(unused), Some(s)) => fail(s, format!("`{unused}` is part of nothing")),
            _ => Ok(body),
        }
    });
    let (table, body) = read.map_err(|e| ParseError::new(text, e))?;
    Ok(Program::of_table(table, body))
}

struct Host<'p, 't> {
    p: &'p mut Parser<'t>,
    /// The parts read so far that nothing has taken yet.
    deep: FxHashMap<&'t str, Deep<Body>>,
}

impl<'t> Host<'_, 't> {
    fn body(&mut self, items: &mut Items<'_, 't>) -> Result<Deep<Body>> {
        let mut body = Body::default();
        let mut below = 0;
        loop {
            let s = items.next("(give …) at the end of the body")?;
            if let (SexpKind::Atom(name), []) = (&s.kind, body.stmts.as_slice()) {
                return match self.deep.remove(name) {
                    Some(body) => Ok(body),
                    None => fail(s, "this is not a later part, or is used twice"),
                };
            }
            let (head, mut rest) = Items::headed(s)?;
            match head {
                "let" => {
                    let pat = self.p.binder_list(rest.next("what is bound")?)?;
                    let exp = self.exp(rest.next("an expression")?, &mut below)?;
                    let prov = Prov::parse(rest.next("the provenance")?)?;
                    rest.end()?;
                    body.stmts.push(Stmt { pat, exp, prov });
                }
                "give" => {
                    body.results = self.p.atoms(rest.rest)?;
                    return Ok((body, around(s, below)?));
                }
                _ => return fail(s, "(let …) or (give …) was expected"),
            }
        }
    }

    fn inner(&mut self, items: &mut Items<'_, 't>, below: &mut usize) -> Result<Body> {
        let (body, depth) = self.body(items)?;
        *below = depth.max(*below);
        Ok(body)
    }

    fn section(&mut self, items: &mut Items<'_, 't>, head: &str, below: &mut usize) -> Result<Body> {
        let mut items = Items::form(items.next(head)?, head)?;
        let body = self.inner(&mut items, below)?;
        items.end()?;
        Ok(body)
    }

    fn leaf(&mut self, items: &mut Items<'_, 't>, below: &mut usize) -> Result<mono::Body> {
        self.p.section(items, "leaf", below)
    }

    fn axes(&mut self, items: &mut Items<'_, 't>) -> Result<Vec<Axis>> {
        let axes = Items::list(items.next("axes")?, "a list of axes")?;
        axes.rest.iter().map(|s| self.p.axis(s)).collect()
    }

    fn guard(&mut self, s: &Sexp<'t>) -> Result<Guard> {
        let (head, items) = Items::headed(s)?;
        let tests = match head {
            "or" => items.rest.iter().map(|t| self.test(t)).collect::<Result<Vec<_>>>()?,
            _ => vec![self.test(s)?],
        };
        Ok(Guard { tests })
    }

    fn test(&mut self, s: &Sexp<'t>) -> Result<Test> {
        let (head, mut items) = Items::headed(s)?;
        let compare = [Compare::AtLeast, Compare::Below].into_iter().find(|c| c.symbol() == head);
        let Some(compare) = compare else { return fail(s, "`>=` or `<` expected") };
        let size = self.p.atom(items.next("a size")?)?;
        let threshold = Name::new(string(items.next("a threshold's name")?)?);
        let value = items.next("its value")?;
        items.end()?;
        match i64::try_from(int(value)?) {
            Ok(value) => Ok(Test { size, compare, threshold, value }),
            Err(_) => fail(value, "wider than 64 bits"),
        }
    }

    fn exp(&mut self, s: &Sexp<'t>, below: &mut usize) -> Result<Exp> {
        let (head, mut items) = Items::headed(s)?;
        let exp = match head {
            "host" => Exp::Host(self.p.exp(items.next("an expression")?, below)?),
            "if" => Exp::If {
                cond: self.p.atom(items.next("a condition")?)?,
                then: self.section(&mut items, "then", below)?,
                otherwise: self.section(&mut items, "else", below)?,
            },
            "for" => Exp::For {
                axis: self.p.axis(items.next("an axis")?)?,
                state: self.p.state(items.next("the state")?)?,
                body: self.inner(&mut items, below)?,
            },
            "while" => Exp::While {
                state: self.p.state(items.next("the state")?)?,
                cond: self.section(&mut items, "cond", below)?,
                body: self.section(&mut items, "do", below)?,
            },
            "serial-map" => {
                Exp::SerialMap { axes: self.axes(&mut items)?, body: self.inner(&mut items, below)? }
            }
            "seg-map" | "seg-red" | "seg-scan" => self.seg(head, &mut items, below)?,
            "scatter" => {
                let axis = self.p.axis(items.next("an axis")?)?;
                let dests = Items::list(items.next("arrays")?, "a list of arrays")?;
                let dests = dests.rest.iter().map(|s| self.p.var(s)).collect::<Result<_>>()?;
                let body = self.leaf(&mut items, below)?;
                let combine = match items.rest.is_empty() {
                    true => None,
                    false => {
                        let mut items = Items::form(items.next("(combine …)")?, "combine")?;
                        let params = self.p.binder_list(items.next("parameters")?)?;
                        let body = self.p.inner(&mut items, below)?;
                        items.end()?;
                        Some(Lambda { params, body })
                    }
                };
                Exp::Scatter { dests, axis, body, combine }
            }
            "rows" => {
                let level = level(items.next("a level")?)?;
                let axis = self.p.axis(items.next("an axis")?)?;
                let of = match items.rest.first().map(|s| Items::form(s, "of")) {
                    Some(Ok(mut of)) => {
                        items.rest = &items.rest[1..];
                        let which = self.p.var(of.next("a vector")?)?;
                        let into = self.arrays(&mut of)?;
                        of.end()?;
                        Some(Points { which, into })
                    }
                    _ => None,
                };
                let regular = id::<u32>(items.next("how many results are regular")?)? as usize;
                let starts = self.arrays(&mut items)?;
                let body = self.leaf(&mut items, below)?;
                let mut scratch = Vec::new();
                if !items.rest.is_empty() {
                    let mut of = Items::form(items.next("(scratch …)")?, "scratch")?;
                    while !of.rest.is_empty() {
                        let mut pair = Items::list(of.next("a vector")?, "a vector and a size")?;
                        let starts = self.p.var(pair.next("a vector")?)?;
                        scratch.push(Scratch { starts, total: self.p.atom(pair.next("a size")?)? });
                        pair.end()?;
                    }
                }
                Exp::Rows(Rows { level, axis, of, regular, starts, scratch, body })
            }
            "filter" => {
                let mut parts = Vec::new();
                while !items.rest.is_empty() {
                    let axis = self.p.axis(items.next("an axis")?)?;
                    let body = self.leaf(&mut items, below)?;
                    parts.push(Filter { axis, body, prov: Prov::parse(items.next("the provenance")?)? });
                }
                Exp::Filters(parts)
            }
            "grade" | "sort" => Exp::Grade {
                axis: self.p.axis(items.next("an axis")?)?,
                body: self.leaf(&mut items, below)?,
                gives: if head == "sort" { Gives::Keys } else { Gives::Places },
            },
            "branch" => Exp::Branch {
                guard: self.guard(items.next("a guard")?)?,
                then: self.section(&mut items, "then", below)?,
                otherwise: self.section(&mut items, "else", below)?,
            },
            _ => return fail(s, format!("unknown form of expression `{head}`")),
        };
        items.end()?;
        Ok(exp)
    }

    fn arrays(&mut self, items: &mut Items<'_, 't>) -> Result<Vec<Var>> {
        let arrays = Items::list(items.next("arrays")?, "a list of arrays")?;
        arrays.rest.iter().map(|s| self.p.var(s)).collect()
    }

    fn seg(&mut self, head: &str, items: &mut Items<'_, 't>, below: &mut usize) -> Result<Exp> {
        let level = level(items.next("a level")?)?;
        let scan = match head {
            "seg-scan" => Some(scan_kind(items.next("a kind of scan")?)?),
            _ => None,
        };
        let space = self.axes(items)?;
        let axis = match head {
            "seg-map" => None,
            _ => Some(self.p.axis(items.next("an axis")?)?),
        };
        let orders = self.orders(items)?;
        let body = self.leaf(items, below)?;
        let kind = match (axis, scan) {
            (None, _) => SegKind::Map,
            (Some(axis), scan) => {
                let op = self.p.combine(items.next("how to combine")?, below)?;
                match scan {
                    None => SegKind::Red { axis, op },
                    Some(kind) => {
                        let epilogue = self.epilogue(items, below)?;
                        SegKind::Scan { axis, kind, op, epilogue, known: self.known(items)? }
                    }
                }
            }
        };
        Ok(Exp::Seg(Seg { level, space, kind, orders, body }))
    }

    fn orders(&mut self, items: &mut Items<'_, 't>) -> Result<Vec<Vec<usize>>> {
        let Some(s) = items.rest.first().filter(|s| Items::headed(s).is_ok_and(|(head, _)| head == "axes"))
        else {
            return Ok(Vec::new());
        };
        items.rest = &items.rest[1..];
        let one = |s| numbers(Items::list(s, "the axes of a result")?.rest);
        Items::form(s, "axes")?.rest.iter().map(one).collect()
    }

    fn epilogue(&mut self, items: &mut Items<'_, 't>, below: &mut usize) -> Result<Option<Lambda>> {
        let Some(s) = items.rest.first() else { return Ok(None) };
        items.rest = &items.rest[1..];
        let mut items = Items::form(s, "epilogue")?;
        let params = self.p.binder_list(items.next("parameters")?)?;
        let body = self.p.inner(&mut items, below)?;
        items.end()?;
        Ok(Some(Lambda { params, body }))
    }

    fn known(&mut self, items: &mut Items<'_, 't>) -> Result<Option<Known>> {
        let Some(s) = items.rest.first() else { return Ok(None) };
        items.rest = &items.rest[1..];
        let mut items = Items::form(s, "known")?;
        let every = self.p.atom(items.next("how many places there are from one to the next")?)?;
        let before = Items::list(items.next("arrays")?, "a list of arrays")?;
        let before = before.rest.iter().map(|s| self.p.var(s)).collect::<Result<_>>()?;
        items.end()?;
        Ok(Some(Known { every, before }))
    }
}

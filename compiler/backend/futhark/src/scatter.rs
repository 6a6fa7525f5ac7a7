//! Scatters as Futhark's: an update in place for one item, `scatter` or `reduce_by_index` for many, and a loop where an
//! operator is none that these take.

use crate::Error;
use crate::packs::{pack, pack_names};
use crate::printer::{Printer, R};
use crate::scalar::{bare, section};
use crate::tree::{Form, Line, Place, Tree};
use crate::types::{Sizes, UNKNOWN};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir::*;

impl<'p> Printer<'p> {
    pub fn scatter(
        &mut self,
        dests: &'p [Var],
        axis: &'p Axis,
        body: &'p Body,
        combine: Option<&'p Lambda>,
        pat: &[Var],
    ) -> R<(Tree, Vec<Sizes>)> {
        let natural = dests.iter().map(|d| self.declared(*d)).collect::<R<Vec<_>>>()?;
        let cells: Vec<Sizes> = natural.iter().map(|n| n[1..].to_vec()).collect();
        // What is written to is written over: it has to be an array of its own.
        let mut own = Vec::new();
        for d in dests {
            let tree = self.atom((*d).into())?;
            own.push(match tree {
                Tree::Call(..) => tree,
                tree => Tree::call("copy", vec![tree]),
            });
        }
        let bases: Vec<BaseTy> = dests.iter().map(|d| self.base(*d)).collect();
        let ops = combine.map(|lambda| {
            let op = Combine { lambda: lambda.clone(), start: None, assoc: true, alone: false };
            let ops = op.component_ops().unwrap_or_default();
            ops.into_iter()
                .zip(&bases)
                .map(|(op, t)| Some((op, remc_base::ops::neutral(op, *t)?)))
                .collect::<Option<Vec<_>>>()
                .filter(|ops| ops.len() == dests.len() && cells.iter().all(Vec::is_empty))
        });
        if let Some(None) = ops {
            let Some(lambda) = combine else { return Err(Error("no operator".into())) };
            return Ok((self.serial_scatter(own, axis, body, lambda, &cells)?, natural));
        }
        if combine.is_none() && axis.size == Atom::int(1) {
            return Ok((self.update(own, dests, axis, body, &cells)?, natural));
        }
        let mut wants = vec![Vec::new()];
        wants.extend(cells);
        let all = self.array_of(axis, &[], body, &wants)?;
        let mark = self.names.enter();
        let places = self.names.fresh("places");
        let values: Vec<String> = dests.iter().map(|_| self.names.fresh("values")).collect();
        self.leave(mark);
        let mut names = vec![places.clone()];
        names.extend(values.iter().cloned());
        let value = self.unzipped(wants.len(), all);
        let lines = vec![Line { comments: vec![], pattern: pack_names(&names), value }];
        let mut trees = Vec::new();
        for (k, (dest, values)) in own.into_iter().zip(&values).enumerate() {
            let mut args = vec![dest];
            let name = match &ops {
                Some(Some(ops)) => {
                    let (op, one) = ops[k];
                    let Some(f) = section(&mut self.helpers, op, bases[k]) else {
                        return Err(Error(format!("`{op}` combines nothing")));
                    };
                    args.extend([f, bare(crate::scalar::constant(one))]);
                    "reduce_by_index".to_owned()
                }
                _ if writes_once(body, axis.var, k) => "scatter".to_owned(),
                _ => self.helpers.named("scatter_last", None),
            };
            args.extend([Tree::name(&places), Tree::name(values)]);
            trees.push(Tree::call(name, args));
        }
        debug_assert_eq!(pat.len(), dests.len());
        Ok((Tree::block(lines, pack(trees)), natural))
    }

    /// A scatter of one item is an update in place. As in any scatter, a place outside is none.
    fn update(
        &mut self,
        own: Vec<Tree>,
        dests: &'p [Var],
        axis: &'p Axis,
        body: &'p Body,
        cells: &[Sizes],
    ) -> R<Tree> {
        let mark = self.names.enter();
        let mut lines = Vec::new();
        // What is updated, and its name where nothing is.
        let mut outs: Vec<(Tree, String)> = Vec::new();
        for (tree, dest) in own.into_iter().zip(dests) {
            outs.push(match self.atom((*dest).into())? {
                Tree::Name(name) => (tree, name),
                _ => {
                    let name = self.names.fresh("out");
                    lines.push(Line { comments: vec![], pattern: name.clone(), value: tree });
                    (Tree::name(&name), name)
                }
            });
        }
        let sizes = dests.iter().map(|d| Ok(self.declared(*d)?[0].clone())).collect::<R<Vec<_>>>()?;
        self.bind_to(axis.var, Tree::name("0"));
        let updated = self.block_behind(lines, body, |pr| {
            let Some((place, values)) = body.results.split_first() else {
                return Err(Error("a scatter without a place".into()));
            };
            let mut lines = Vec::new();
            let at = pr.place(*place, &mut lines)?;
            let mut results = Vec::new();
            for (((out, name), size), (value, cell)) in outs.iter().zip(&sizes).zip(values.iter().zip(cells))
            {
                let new = pr.atom_as(*value, cell)?;
                // A cell may be a part of what it is written into.
                let new = if cell.is_empty() { new } else { Tree::call("copy", vec![new]) };
                let length = match size.as_str() {
                    UNKNOWN => Tree::call("length", vec![Tree::name(name)]),
                    size => Tree::name(size),
                };
                let below = Tree::infix("<", Tree::name(&at), length);
                let inside = if crate::scalar::is_literal(&Tree::name(&at)) {
                    below
                } else {
                    Tree::infix("&&", Tree::infix(">=", Tree::name(&at), Tree::name("0")), below)
                };
                let with = Tree::With(Box::new(out.clone()), vec![Tree::name(&at)], Box::new(new));
                results.push(Tree::choice(inside, with, Tree::name(name)));
            }
            Ok(Tree::block(lines, pack(results)))
        })?;
        self.leave(mark);
        self.forget(axis.var);
        Ok(updated)
    }

    /// Any operator, one write after the other.
    fn serial_scatter(
        &mut self,
        own: Vec<Tree>,
        axis: &'p Axis,
        body: &'p Body,
        lambda: &'p Lambda,
        cells: &[Sizes],
    ) -> R<Tree> {
        let size = self.atom(axis.size)?;
        let mark = self.names.enter();
        let outs: Vec<String> = own.iter().map(|_| self.names.fresh("out")).collect();
        let i = self.bind(axis.var);
        self.rows.changes(axis.var);
        let all: Vec<Tree> = outs.iter().map(Tree::name).collect();
        let next = self.block_with(body, |pr| {
            let Some((place, values)) = body.results.split_first() else {
                return Err(Error("a scatter without a place".into()));
            };
            let mut lines = Vec::new();
            let at = pr.place(*place, &mut lines)?;
            let mut inside = Vec::new();
            for (v, out) in lambda.params.iter().zip(&outs) {
                let value = Tree::name(out).at(vec![Place::At(Tree::name(&at))]);
                let pattern = pr.bind(*v);
                inside.push(Line { comments: vec![], pattern, value });
            }
            for (v, a) in lambda.params.iter().skip(outs.len()).zip(values) {
                let value = pr.atom(*a)?;
                pr.bind_to(*v, value);
            }
            let new = pr.block_behind(inside, &lambda.body, |pr| {
                let results = lambda.body.results.iter().zip(cells).map(|(a, c)| pr.atom_as(*a, c));
                Ok(pack(results.collect::<R<Vec<_>>>()?))
            })?;
            let names: Vec<String> = outs.iter().map(|_| pr.names.fresh("new")).collect();
            let written = outs.iter().zip(&names).zip(cells).map(|((out, new), cell)| {
                // A cell may be a part of what it is written into.
                let new =
                    if cell.is_empty() { Tree::name(new) } else { Tree::call("copy", vec![Tree::name(new)]) };
                Tree::With(Box::new(Tree::name(out)), vec![Tree::name(&at)], Box::new(new))
            });
            let written = pack(written.collect());
            let new = Tree::block(
                vec![Line { comments: vec![], pattern: pack_names(&names), value: new }],
                written,
            );
            let skip = crate::scalar::infix("<", Tree::name(&at), Tree::name("0"));
            Ok(Tree::block(lines, Tree::choice(skip, pack(all.clone()), new)))
        })?;
        self.leave(mark);
        self.forget(axis.var);
        Ok(Tree::Loop {
            pattern: pack_names(&outs),
            start: Box::new(pack(own)),
            form: Form::For(i, Box::new(size)),
            body: Box::new(next),
        })
    }

    /// The name of a place, which may need a line.
    fn place(&mut self, place: Atom, lines: &mut Vec<Line>) -> R<String> {
        Ok(match self.number(place)? {
            Tree::Name(at) => at,
            value => {
                let at = self.names.fresh("place");
                lines.push(Line { comments: vec![], pattern: at.clone(), value });
                at
            }
        })
    }
}

/// Whether no two different values are written to one place: the place is the index, or moved by a constant, or
/// the values are all the same.
fn writes_once(body: &Body, i: Var, k: usize) -> bool {
    let place = body.results.first().copied();
    let value = body.results.get(k + 1).copied();
    let moved = body.stmts.iter().any(|s| {
        s.pat.first().map(|v| Atom::Var(*v)) == place
            && match &s.exp {
                Exp::Op(ScalarOp::Add | ScalarOp::Sub, args) => {
                    args.first() == Some(&Atom::Var(i)) && args.get(1).is_some_and(|a| a.constant().is_some())
                }
                _ => false,
            }
    });
    place == Some(Atom::Var(i)) || moved || value.is_some_and(|a| a.constant().is_some())
}

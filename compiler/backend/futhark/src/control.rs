//! Branches and loops.
//!
//! Futhark finds for itself which sizes of a loop's state change from round to round. Those that do are said to be
//! unknown where the loop is, and what the program declares in the first line of its body.

use crate::Error;
use crate::packs::{pack, pack_names};
use crate::printer::{Printer, R};
use crate::tree::{Form, Line, Tree};
use crate::types::{Sizes, UNKNOWN, ty_text};
use crate::uses::each_use;
use remc_mono::ir::*;
use rustc_hash::FxHashSet;

impl<'p> Printer<'p> {
    /// One of two bodies.
    pub fn choice(
        &mut self,
        cond: Atom,
        then: &'p Body,
        otherwise: &'p Body,
        pat: &[Var],
    ) -> R<(Tree, Vec<Sizes>)> {
        let cond = self.atom(cond)?;
        let mut wants = Vec::new();
        for v in pat {
            // A size that the branches give themselves has no name yet.
            let own = self.p.ty(*v).dims.iter().any(|d| d.as_var().is_some_and(|x| pat.contains(&x)));
            wants.push(if own { vec![UNKNOWN.to_owned(); self.p.ty(*v).rank()] } else { self.declared(*v)? });
        }
        let then = self.block(then, &wants)?;
        let otherwise = self.block(otherwise, &wants)?;
        Ok((Tree::choice(cond, then, otherwise), wants))
    }

    /// A loop, a fixed number of times or while a condition holds.
    pub fn repeat(
        &mut self,
        state: &'p [(Var, Atom)],
        body: &'p Body,
        axis: Option<&'p Axis>,
        cond: Option<&'p Body>,
    ) -> R<(Tree, Vec<Sizes>)> {
        let vars: Vec<Var> = state.iter().map(|s| s.0).collect();
        // The index is of the type of its bound.
        let form = match axis {
            Some(axis) => Some(self.atom(axis.size)?),
            None => None,
        };
        let starts: Vec<Tree> = self.atoms(&state.iter().map(|s| s.1).collect::<Vec<_>>())?;
        let own = |v: Var| self.p.ty(v).dims.iter().any(|d| d.as_var().is_some_and(|x| vars.contains(&x)));
        let changing: Vec<bool> = vars.iter().map(|v| own(*v)).collect();
        let mark = self.names.enter();
        // Sizes first: the types of the others may mention them.
        let mut names = vec![String::new(); vars.len()];
        let mut later = Vec::new();
        for pass in [false, true] {
            for (k, v) in vars.iter().enumerate() {
                if changing[k] == pass {
                    if pass {
                        names[k] = self.names.fresh(self.p.vars[*v].name.as_str());
                    } else {
                        names[k] = self.bind(*v);
                    }
                }
            }
        }
        vars.iter().chain(axis.map(|a| &a.var)).for_each(|v| self.rows.changes(*v));
        // Sizes that may be negative have a line of their own, in front of what has them.
        for v in &vars {
            if let Some(line) = self.extent(*v) {
                later.push((*v, line));
            }
        }
        // A loop says nothing of the sizes that change: Futhark finds that they do.
        let (mut wants, mut start) = (vec![], vec![]);
        for (k, v) in vars.iter().enumerate() {
            if changing[k] {
                wants.push(vec![UNKNOWN.to_owned(); self.p.ty(*v).rank()]);
                let declared = self.declared(*v)?;
                let value = Tree::name(&names[k]).coerce(ty_text(self.base(*v), &declared));
                let pattern = self.bind(*v);
                later.push((*v, Line { comments: Vec::new(), pattern, value }));
                start.push(starts[k].clone());
            } else {
                wants.push(self.declared(*v)?);
                let from = self.atom_as(state[k].1, &wants[k])?;
                // Where the sizes are not known yet, those of this loop would be taken to change.
                let open = state[k].1.as_var().is_some_and(|v| self.states.contains(&v)) && from.is_name();
                start.push(if open { from.coerce(ty_text(self.base(*v), &wants[k])) } else { from });
            }
        }
        self.states.extend(vars.iter().filter(|v| !self.p.ty(**v).is_scalar()));
        let form = match (axis, cond) {
            (Some(axis), _) => Form::For(self.bind(axis.var), Box::new(form.unwrap_or(Tree::name("0")))),
            (None, Some(cond)) => {
                let mut asked = FxHashSet::default();
                each_use(cond, &mut |a| asked.extend(a.as_var()));
                let own = later.iter().filter(|(v, _)| asked.contains(v)).map(|(_, line)| line.clone());
                let test = self.block_behind(own.collect(), cond, |pr| pr.atom(cond.results[0]))?;
                Form::While(Box::new(test))
            }
            (None, None) => return Err(Error("a loop without an end".into())),
        };
        let later = later.into_iter().map(|(_, line)| line).collect();
        let next = self.block_behind(later, body, |pr| {
            let results = body.results.iter().zip(&wants).map(|(a, sizes)| pr.atom_as(*a, sizes));
            Ok(pack(results.collect::<R<Vec<_>>>()?))
        })?;
        self.leave(mark);
        self.states.retain(|v| !vars.contains(v));
        vars.iter().chain(axis.map(|a| &a.var)).for_each(|v| self.forget(*v));
        // One state may become another: Futhark has to be told that they are as large as each other.
        let sized = |k: usize| !changing[k] && !self.p.ty(vars[k]).is_scalar();
        if (0..vars.len()).filter(|k| sized(*k)).count() > 1 {
            for k in (0..vars.len()).filter(|k| sized(*k)) {
                names[k] += &format!(": {}", ty_text(self.base(vars[k]), &wants[k]));
            }
        }
        let (pattern, start) = match vars.is_empty() {
            true => ("_".to_owned(), Tree::name("true")),
            false => (pack_names(&names), pack(start)),
        };
        Ok((Tree::Loop { pattern, start: Box::new(start), form, body: Box::new(next) }, wants))
    }
}

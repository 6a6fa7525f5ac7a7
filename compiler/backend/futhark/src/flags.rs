//! Operators of reductions and scans that may stop the program, as operators that say whether they would have.
//!
//! An assertion inside of an operator is evaluated for whatever Futhark combines, neutral elements included, and not
//! every pass of its compiler keeps it. So a value has a flag beside it: whether all that it is made of may be combined.
//! The operator goes on while that holds; what comes out is looked at once, behind the operator.
//!
//! ```text
//! let (fine, total) =
//!   reduce_some
//!     (\(fine, acc) (fine_2, x) ->
//!       if fine && fine_2 && x != 0 then (true, acc * x + modulo_i64 x x) else (false, acc))
//!     (true, 0) (map (\x -> (true, x)) xs)
//! in assert fine total
//! ```
//!
//! An operator that would stop inside of a loop or another operator of its own is not made of flags: it combines
//! one element after the other in a loop, where an assertion is one.

use crate::packs::{pack, pack_names};
use crate::printer::{Printer, R, Scope};
use crate::tree::{Form, Line, Place, Tree};
use crate::types::Sizes;
use remc_mono::ir::*;

/// How an operator is printed that may stop the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopping {
    /// It does not.
    Never,
    Flags,
    Loop,
}

pub fn stopping(lambda: &Lambda) -> Stopping {
    fn flat(b: &Body) -> bool {
        b.stmts.iter().all(|s| match &s.exp {
            Exp::If { then, otherwise, .. } => flat(then) && flat(otherwise),
            Exp::Check { .. } => true,
            e => !e.can_stop(),
        })
    }
    match lambda.body.can_stop() {
        false => Stopping::Never,
        true if flat(&lambda.body) => Stopping::Flags,
        true => Stopping::Loop,
    }
}

impl<'p> Printer<'p> {
    /// The operator on two pairs of a flag and packed values. `sides` are the parameters of each side as they are
    /// written, `lines` what stands in front of the body.
    pub fn flagged(
        &mut self,
        lambda: &'p Lambda,
        wants: &[Sizes],
        sides: &[String],
        lines: Vec<Line>,
    ) -> R<Tree> {
        let (one, other) = (self.names.fresh("fine"), self.names.fresh("fine"));
        let params = [&one, &other].iter().zip(sides).map(|(f, side)| format!("({f}, {side})")).collect();
        let accs = lambda.params.iter().take(wants.len()).map(|v| self.atom(Atom::Var(*v)));
        let accs = pack(accs.collect::<R<Vec<_>>>()?);
        let stopped = Tree::Tuple(vec![Tree::name("false"), accs]);
        let mut scope = Scope { lines, ..Scope::default() };
        scope.pending.push(Vec::new(), Tree::infix("&&", Tree::name(&one), Tree::name(&other)));
        scope.uses(&lambda.body);
        let body = self.flagged_from(&lambda.body.stmts, &lambda.body.results, wants, &stopped, scope)?;
        self.release(&lambda.body);
        Ok(Tree::lambda(params, body))
    }

    /// Statements from one on, and then the results with a flag: `stopped` from where a check does not hold.
    fn flagged_from(
        &mut self,
        stmts: &'p [Stmt],
        results: &'p [Atom],
        wants: &[Sizes],
        stopped: &Tree,
        mut scope: Scope,
    ) -> R<Tree> {
        let mut rest = stmts;
        while let Some((s, more)) = rest.split_first() {
            let branches = match &s.exp {
                Exp::If { cond, then, otherwise } if s.exp.can_stop() => Some((*cond, then, otherwise)),
                _ => None,
            };
            // What is behind a check is behind its condition; a scalar may as well be in front of it.
            let plain = matches!(s.exp, Exp::Check { .. } | Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..));
            if !plain && !scope.pending.is_empty() {
                break;
            }
            rest = more;
            match branches {
                Some((cond, then, otherwise)) => {
                    self.flagged_choice(s, cond, [then, otherwise], &mut scope)?
                }
                None => self.flagged_stmt(s, &mut scope)?,
            }
        }
        let Some(cond) = scope.pending.conjunction() else {
            let all = results.iter().zip(wants).map(|(a, sizes)| self.atom_as(*a, sizes));
            let all = Tree::Tuple(vec![Tree::name("true"), pack(all.collect::<R<Vec<_>>>()?)]);
            return Ok(Tree::block(scope.lines, all));
        };
        let inner = Scope { local: scope.local.clone(), ..Scope::default() };
        let comments = std::mem::take(&mut scope.comments);
        let rest = self.flagged_from(rest, results, wants, stopped, inner)?;
        let choice = Tree::choice(cond, rest, stopped.clone());
        let choice = if comments.is_empty() { choice } else { Tree::Noted(comments, Box::new(choice)) };
        Ok(Tree::block(scope.lines, choice))
    }

    /// A statement without an assertion around it.
    fn flagged_stmt(&mut self, s: &'p Stmt, scope: &mut Scope) -> R<()> {
        if matches!(s.exp, Exp::Check { .. }) {
            return self.stmt(s, scope);
        }
        let pending = std::mem::take(&mut scope.pending);
        let comments = std::mem::take(&mut scope.comments);
        self.stmt(s, scope)?;
        scope.pending = pending;
        scope.comments = comments;
        Ok(())
    }

    /// Branches that may stop: each gives a flag first.
    fn flagged_choice(
        &mut self,
        s: &'p Stmt,
        cond: Atom,
        branches: [&'p Body; 2],
        scope: &mut Scope,
    ) -> R<()> {
        let cond = self.atom(cond)?;
        let wants = s.pat.iter().map(|v| self.declared(*v)).collect::<R<Vec<_>>>()?;
        let nothing = s.pat.iter().zip(&wants).map(|(v, sizes)| self.any(self.base(*v), sizes));
        let stopped = Tree::Tuple(vec![Tree::name("false"), pack(nothing.collect())]);
        let mut trees = Vec::new();
        for b in branches {
            let mark = self.names.enter();
            let mut inner = Scope::default();
            inner.uses(b);
            trees.push(self.flagged_from(&b.stmts, &b.results, &wants, &stopped, inner)?);
            self.leave(mark);
            self.release(b);
        }
        let (Some(otherwise), Some(then)) = (trees.pop(), trees.pop()) else { return Ok(()) };
        let fine = self.names.fresh("fine");
        let names: Vec<String> = s.pat.iter().map(|v| self.bind(*v)).collect();
        let pattern = format!("({fine}, {})", pack_names(&names));
        scope.lines.push(Line { comments: Vec::new(), pattern, value: Tree::choice(cond, then, otherwise) });
        scope.pending.push(Vec::new(), Tree::name(fine));
        Ok(())
    }

    /// A reduction or scan of what has flags: `tree` gives them. They are looked at here.
    pub fn looked_at_behind(&mut self, what: &str, tree: Tree) -> Tree {
        let mark = self.names.enter();
        let (fine, all) =
            (self.names.fresh("fine"), self.names.fresh(if what == "reduce" { "total" } else { "states" }));
        self.leave(mark);
        let (value, cond) = match what {
            "reduce" => (tree, Tree::name(&fine)),
            _ => (Tree::call("unzip", vec![tree]), Tree::call("and", vec![Tree::name(&fine)])),
        };
        let lines = vec![Line { comments: Vec::new(), pattern: format!("({fine}, {all})"), value }];
        Tree::block(lines, Tree::call("assert", vec![cond, Tree::name(all)]))
    }

    /// A reduction or scan, one element after the other, by an operator that asserts: a loop over `items`, the array
    /// of what is combined. Without a start the first element is one.
    pub fn one_by_one(
        &mut self,
        what: &str,
        axis: &'p Axis,
        items: Tree,
        (op, start): (&'p Combine, Option<Tree>),
        wants: &[Sizes],
    ) -> R<Tree> {
        let mark = self.names.enter();
        let all = self.names.fresh("items");
        let has = self.names.fresh("some");
        let i = self.names.fresh("i");
        let accs = &op.lambda.params[..wants.len()];
        accs.iter().for_each(|v| self.rows.changes(*v));
        let accs: Vec<String> = accs.iter().map(|v| self.bind(*v)).collect();
        let elems: Vec<String> = op.lambda.params[wants.len()..].iter().map(|v| self.bind(*v)).collect();
        op.lambda.params.iter().for_each(|v| self.rows.changes(*v));
        let results = &op.lambda.body.results;
        let combined = self.block_with(&op.lambda.body, |pr| {
            let all = results.iter().zip(wants).map(|(a, sizes)| pr.atom_as(*a, sizes));
            Ok(pack(all.collect::<R<Vec<_>>>()?))
        })?;
        let item = Tree::name(&all).at(vec![Place::At(Tree::name(&i))]);
        let next = match start {
            Some(_) => combined,
            None => {
                let first = pack(elems.iter().map(Tree::name).collect());
                Tree::choice(Tree::name(&has), combined, first)
            }
        };
        let mut lines = vec![Line { comments: vec![], pattern: pack_names(&elems), value: item }];
        let bases: Vec<_> = op.lambda.params.iter().take(wants.len()).map(|v| self.base(*v)).collect();
        let nothing = pack(bases.iter().zip(wants).map(|(b, sizes)| self.any(*b, sizes)).collect());
        let begun = if start.is_some() { "true" } else { "false" };
        let start = start.unwrap_or_else(|| nothing.clone());
        let names: Vec<String> = accs.iter().map(|_| self.names.fresh("next")).collect();
        lines.push(Line { comments: vec![], pattern: pack_names(&names), value: next });
        let news = pack(names.iter().map(Tree::name).collect());
        let (mut pattern, mut begin, mut step) = (
            vec![has.clone(), pack_names(&accs)],
            vec![Tree::name(begun), start],
            vec![Tree::name("true"), news.clone()],
        );
        let last = match what {
            "reduce" => pack(accs.iter().map(Tree::name).collect()),
            _ => {
                let states = self.names.fresh("states");
                let size = self.size(axis.size)?;
                pattern.push(states.clone());
                begin.push(Tree::call("replicate", vec![size, nothing]));
                step.push(Tree::With(Box::new(Tree::name(&states)), vec![Tree::name(&i)], Box::new(news)));
                Tree::name(states)
            }
        };
        self.leave(mark);
        op.lambda.params.iter().for_each(|v| self.forget(*v));
        let pattern = format!("({})", pattern.join(", "));
        let form = Form::For(i, Box::new(self.atom(axis.size)?));
        let value = Tree::Loop {
            pattern: pattern.clone(),
            start: Box::new(Tree::Tuple(begin)),
            form,
            body: Box::new(Tree::block(lines, Tree::Tuple(step))),
        };
        let lines = vec![
            Line { comments: vec![], pattern: all, value: items },
            Line { comments: vec![], pattern, value },
        ];
        Ok(Tree::block(lines, last))
    }
}

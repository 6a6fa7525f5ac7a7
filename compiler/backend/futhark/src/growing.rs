//! Arrays whose number of items only the run tells: what a filter keeps, and arrays one after the other.

use crate::Error;
use crate::packs::pack_names;
use crate::printer::{Printer, R, Scope};
use crate::scalar::constant;
use crate::tree::{Form, Line, Tree};
use crate::types::{Sizes, ty_text, type_name};
use crate::view::flattened;
use remc_base::BaseTy;
use remc_mono::ir::*;

impl<'p> Printer<'p> {
    /// The items that are kept, and how many those are.
    pub fn filter(
        &mut self,
        axis: &'p Axis,
        body: &'p Body,
        pat: &'p [Var],
        s: &Stmt,
        scope: &mut Scope,
    ) -> R<()> {
        let [count, arrays @ ..] = pat else { return Err(Error("a filter that counts nothing".into())) };
        let mut wants = vec![Vec::new()];
        for v in arrays {
            wants.push(self.dims(&self.p.ty(*v).dims[1..])?);
        }
        let all = self.array_of(axis, &[], body, &wants)?;
        if arrays.is_empty() {
            let ones = Tree::call("map", vec![Tree::name("i64.bool"), all]);
            let value = Tree::call("reduce", vec![Tree::name("(+)"), Tree::name("0"), ones]);
            let pattern = self.bind(*count);
            self.line(scope, s, pattern, value);
            return Ok(());
        }
        let k = self.bind(*count);
        let sized =
            |name: &str, base: BaseTy, cell: &Sizes| format!("[{k}] ({name}: [{k}]{})", ty_text(base, cell));
        if let (Some(value), [v]) = (kept_itself(&all), arrays) {
            let name = self.bind(*v);
            let pattern = sized(&name, self.base(*v), &wants[1]);
            self.line(scope, s, pattern, value);
            return Ok(());
        }
        let mut types = vec!["bool".to_owned()];
        types.extend(arrays.iter().zip(&wants[1..]).map(|(v, cell)| ty_text(self.base(*v), cell)));
        let keep = pack_names(
            &(0..wants.len()).map(|k| if k == 0 { "keep" } else { "_" }.to_owned()).collect::<Vec<_>>(),
        );
        let value = Tree::call("filter", vec![Tree::lambda(vec![keep], Tree::name("keep")), all]);
        let name = self.names.fresh("kept");
        self.line(scope, s, format!("[{k}] ({name}: [{k}]{})", pack_names(&types)), value);
        let value = self.unzipped(wants.len(), Tree::name(name));
        let mut names = vec!["_".to_owned()];
        names.extend(arrays.iter().map(|v| self.bind(*v)));
        scope.lines.push(Line { comments: Vec::new(), pattern: pack_names(&names), value });
        Ok(())
    }

    /// Arrays of their own sizes, one after the other: a loop that appends. What is left of these when a program
    /// has been optimised is what no segmented operator can do.
    pub fn join(
        &mut self,
        axis: &'p Axis,
        regular: usize,
        body: &'p Body,
        pat: &'p [Var],
        s: &Stmt,
        scope: &mut Scope,
    ) -> R<()> {
        let (maps, joined) = pat.split_at(regular);
        for (k, v) in maps.iter().enumerate() {
            let cell = self.dims(&self.p.ty(*v).dims[1..])?;
            let mark = self.names.enter();
            let i = self.bind(axis.var);
            self.rows.enter(axis.var, &self.dim(axis.size)?);
            let element = self.block_with(body, |pr| pr.atom_as(body.results[k], &cell))?;
            self.rows.leave();
            self.leave(mark);
            let iota = Tree::call("iota", vec![self.size(axis.size)?]);
            let value = Tree::call("map", vec![Tree::lambda(vec![i], element), iota]);
            let pattern = self.bind(*v);
            self.line(scope, s, pattern, value);
        }
        for (k, part) in joined.chunks(3).enumerate() {
            let [total, starts, data] = part else { return Err(Error("a join of less than three".into())) };
            let base = self.base(*data);
            let mark = self.names.enter();
            let (from, all) = (self.names.fresh("starts"), self.names.fresh("data"));
            let i = self.bind(axis.var);
            self.rows.changes(axis.var);
            let given = body.results[regular + k];
            let rank = self.p.atom_ty(given).rank();
            let next = self.block_with(body, |pr| {
                let flat = flattened(pr.atom(given)?, rank);
                let here = Tree::Array(vec![Tree::call("length", vec![Tree::name(&all)])]);
                let starts = Tree::infix("++", Tree::name(&from), here);
                Ok(Tree::Tuple(vec![starts, Tree::infix("++", Tree::name(&all), flat)]))
            })?;
            self.leave(mark);
            let none = |t: BaseTy| {
                let zero = constant(remc_base::ops::zero(t));
                Tree::call("replicate", vec![Tree::name("0"), zero])
            };
            let value = Tree::Loop {
                pattern: format!("({from}, {all})"),
                start: Box::new(Tree::Tuple(vec![none(BaseTy::I64), none(base)])),
                form: Form::For(i, Box::new(self.atom(axis.size)?)),
                body: Box::new(next),
            };
            let own = self.declared(*starts)?;
            let name = self.bind(*starts);
            let (first, count) = (self.names.fresh(&name), self.bind(*total));
            let array = self.bind(*data);
            let pattern = format!("[{count}] ({first}, {array}: [{count}]{})", type_name(base));
            self.line(scope, s, pattern, value);
            let value = Tree::name(first).coerce(ty_text(BaseTy::I64, &own));
            scope.lines.push(Line { comments: Vec::new(), pattern: name, value });
        }
        Ok(())
    }
}

/// If a map keeps or drops the elements of one array: that array, filtered.
fn kept_itself(all: &Tree) -> Option<Tree> {
    let Tree::Call(f, args) = all else { return None };
    let ("map", [Tree::Lambda(params, body), array]) = (f.as_str(), args.as_slice()) else { return None };
    let [param] = params.as_slice() else { return None };
    let name = param.trim_start_matches('(').split(':').next()?;
    let (lines, result) = match &**body {
        Tree::Block(lines, result) => (lines.clone(), &**result),
        result => (Vec::new(), result),
    };
    let Tree::Tuple(parts) = result else { return None };
    let [keep, Tree::Name(kept)] = parts.as_slice() else { return None };
    if kept != name {
        return None;
    }
    let keep = Tree::lambda(params.clone(), Tree::block(lines, keep.clone()));
    Some(Tree::call("filter", vec![keep, array.clone()]))
}

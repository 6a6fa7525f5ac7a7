//! Arrays of boxes as inputs: parameters of the program for the arrays that hold them.
//!
//! ```text
//! [xss [(Σ (n) [float n]) k]]  ⟶  xss.n [int k]   xss.starts [int k]   xss [float xss.total]
//! [xss [(Σ (@s) [float @s]) k]]  ⟶  xss.s.ranks [int k]   xss.s.starts [int k]   xss.s [int xss.s.total]
//!                                   xss.starts [int k]   xss [float xss.total]
//! ```
//!
//! The number of all elements is a size of its own, which the caller finds as the length of the data. That
//! the contents are as the witnesses say is the caller's to check, as it is for the shapes of arrays.

use super::{Part, Ragged, Stored, WitnessArrays, sigma};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Input, InputWitness, Ty, Var};
use remc_base::ops::ScalarOp;
use remc_base::{ArrTy, AtomTy, BaseTy, Sort};
use std::rc::Rc;

impl<'a> Build<'a> {
    /// Boxes of the closed type `ty` in a frame, as an input. The variables of their arrays go to `arrays`.
    pub fn boxes_input(
        &mut self,
        name: &str,
        ty: &AtomTy,
        frame: &[Atom],
        arrays: &mut Vec<Var>,
    ) -> R<(Ragged<'a>, Input)> {
        let q = sigma(ty)?;
        let (mut witnesses, mut vars) = (Vec::new(), Vec::new());
        for p in &q.params {
            let own = format!("{name}.{}", p.name.as_str().trim_start_matches('@'));
            if p.sort == Sort::Shape {
                let (witness, input) = self.shapes_input(&own, frame, arrays)?;
                vars.push(input);
                witnesses.push(witness);
                continue;
            }
            let v = self.array_input(&own, BaseTy::I64, frame.to_vec(), arrays);
            vars.push(InputWitness::Dim(v));
            witnesses.push(WitnessArrays::Dim(Atom::Var(v)));
        }
        let (contents, input) = self.part_input(name, &q.body, frame, arrays)?;
        let boxes = Ragged { frame: frame.to_vec(), ty: ty.clone(), witnesses, contents };
        Ok((boxes, Input::Boxes { witnesses: vars, contents: Box::new(input) }))
    }

    /// The shapes that boxes hide: the caller gives their ranks and dims, the program finds their sizes.
    fn shapes_input(
        &mut self,
        name: &str,
        frame: &[Atom],
        arrays: &mut Vec<Var>,
    ) -> R<(WitnessArrays, InputWitness)> {
        let int = BaseTy::I64;
        let total = self.size_parameter(&format!("{name}.total"));
        let ranks = self.array_input(&format!("{name}.ranks"), int, frame.to_vec(), arrays);
        let starts = self.array_input(&format!("{name}.starts"), int, frame.to_vec(), arrays);
        let dims = self.array_input(name, int, vec![Atom::Var(total)], arrays);
        let sizes = self.tabulate("size", int, frame, Vec::new(), |b, at| {
            let (rank, start) = (b.index(ranks.into(), at)?, b.index(starts.into(), at)?);
            let [size] = b.each(rank, [Atom::int(1)], |b, j, [p]| {
                let place = b.sum(start, j)?;
                let d = b.index(dims.into(), &[place])?;
                Ok([b.op(ScalarOp::Mul, &[p, d])?])
            })?;
            Ok(size)
        })?;
        let stored = Stored { data: dims.into(), starts: starts.into() };
        let witness = WitnessArrays::Opaque { ranks: ranks.into(), sizes, dims: stored };
        Ok((witness, InputWitness::Shape { ranks, starts, dims }))
    }

    fn part_input(
        &mut self,
        name: &str,
        ty: &ArrTy,
        frame: &[Atom],
        arrays: &mut Vec<Var>,
    ) -> R<(Part<'a>, Input)> {
        match &ty.atom {
            AtomTy::Base(b) => {
                let total = self.size_parameter(&format!("{name}.total"));
                let starts = self.array_input(&format!("{name}.starts"), BaseTy::I64, frame.to_vec(), arrays);
                let data = self.array_input(name, *b, vec![Atom::Var(total)], arrays);
                let part = Part::Base { data: data.into(), starts: starts.into() };
                Ok((part, Input::Part { starts, data }))
            }
            AtomTy::Tuple(q) => {
                let (mut parts, mut fields) = (Vec::new(), Vec::new());
                for (k, (label, t)) in q.fields.iter().enumerate() {
                    let field = match label {
                        Some(l) => format!("{name}.{l}"),
                        None => format!("{name}.{k}"),
                    };
                    let (part, input) = self.part_input(&field, &t.lifted(&ty.shape), frame, arrays)?;
                    parts.push(part);
                    fields.push((label.clone(), input));
                }
                Ok((Part::Tuple(parts), Input::Tuple(fields)))
            }
            AtomTy::Sigma(_) if ty.shape.is_scalar() => {
                let (boxes, input) = self.boxes_input(name, &ty.atom, frame, arrays)?;
                Ok((Part::Box(Rc::new(boxes)), input))
            }
            AtomTy::Sigma(_) => {
                let total = self.size_parameter(&format!("{name}.count"));
                let starts = self.array_input(&format!("{name}.starts"), BaseTy::I64, frame.to_vec(), arrays);
                let (inner, input) = self.boxes_input(name, &ty.atom, &[Atom::Var(total)], arrays)?;
                let part = Part::Boxes { starts: starts.into(), inner: Rc::new(inner) };
                Ok((part, Input::Parts { starts, boxes: Box::new(input) }))
            }
            _ => bug(format!("the input `{name}` is of the open type {ty}")),
        }
    }

    fn array_input(&mut self, name: &str, base: BaseTy, dims: Vec<Atom>, arrays: &mut Vec<Var>) -> Var {
        let v = self.fresh(name, Ty { base, dims });
        arrays.push(v);
        v
    }
}

//! Arrays of boxes as inputs: parameters of the program for the arrays that hold them.
//!
//! ```text
//! [xss [(Σ (n) [float n]) k]]  ⟶  xss.n [int k]   xss.starts [int k]   xss [float xss.total]
//! ```
//!
//! The number of all elements is a size of its own, which the caller finds as the length of the data. That
//! the contents are as the witnesses say is the caller's to check, as it is for the shapes of arrays.

use super::{Part, Ragged, WitnessArrays, sigma};
use crate::build::{Build, R, bug, limit};
use crate::ir::{Atom, Input, Ty, Var};
use crate::limits::Construct;
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
            if p.sort == Sort::Shape {
                let message =
                    format!("the input `{name}` holds boxes of type {ty}, whose index {p} is a shape");
                return limit(self, Construct::UnknownRank, message);
            }
            let v = self.array_input(&format!("{name}.{}", p.name), BaseTy::I64, frame.to_vec(), arrays);
            vars.push(v);
            witnesses.push(WitnessArrays::Dim(Atom::Var(v)));
        }
        let (contents, input) = self.part_input(name, &q.body, frame, arrays)?;
        let boxes = Ragged { frame: frame.to_vec(), ty: ty.clone(), witnesses, contents };
        Ok((boxes, Input::Boxes { witnesses: vars, contents: Box::new(input) }))
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

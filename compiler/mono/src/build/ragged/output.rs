//! Arrays of boxes as results of the program: each array that holds them gets a position.

use super::{Part, Ragged, WitnessArrays, sigma};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Output, Witness};
use remc_base::AtomTy;

impl<'a> Build<'a> {
    /// How an array of boxes is a result of the program; `ty` is the type of the boxes as the entry's signature
    /// has it, in the entry's own indices.
    pub fn boxes_output(&mut self, r: &Ragged<'a>, ty: &AtomTy, results: &mut Vec<Atom>) -> R<Output> {
        let frame = place_all(&r.frame, results);
        let witnesses = r.witnesses.iter().map(|w| match w {
            WitnessArrays::Dim(a) => Witness::Dim(place(*a, results)),
            WitnessArrays::Shape(all) => Witness::Shape(place_all(all, results)),
            WitnessArrays::Opaque { ranks, dims, .. } => Witness::Vectors {
                ranks: place(*ranks, results),
                starts: place(dims.starts, results),
                dims: place(dims.data, results),
            },
        });
        let witnesses = witnesses.collect();
        let contents = Box::new(self.part_output(&r.contents, &sigma(ty)?.body.atom, results)?);
        Ok(Output::Boxes { frame, ty: ty.clone(), witnesses, contents })
    }

    fn part_output(&mut self, p: &Part<'a>, ty: &AtomTy, results: &mut Vec<Atom>) -> R<Output> {
        Ok(match (p, ty) {
            (Part::Base { data, starts }, _) => {
                Output::Part { starts: place(*starts, results), data: place(*data, results) }
            }
            (Part::Tuple(parts), AtomTy::Tuple(q)) => {
                let fields = parts.iter().zip(&q.fields);
                let fields = fields
                    .map(|(p, (label, t))| Ok((label.clone(), self.part_output(p, &t.atom, results)?)))
                    .collect::<R<Vec<_>>>()?;
                Output::Tuple { frame: Vec::new(), fields }
            }
            (Part::Box(r), t) => self.boxes_output(r, t, results)?,
            (Part::Boxes { starts, inner }, t) => {
                let starts = place(*starts, results);
                Output::Parts { starts, boxes: Box::new(self.boxes_output(inner, t, results)?) }
            }
            (Part::Fns { .. }, t) => Output::Functions { frame: Vec::new(), ty: t.clone() },
            _ => return bug(format!("boxes whose contents are not of type {ty}")),
        })
    }
}

fn place(a: Atom, results: &mut Vec<Atom>) -> usize {
    results.push(a);
    results.len() - 1
}

fn place_all(all: &[Atom], results: &mut Vec<Atom>) -> Vec<usize> {
    all.iter().map(|a| place(*a, results)).collect()
}

//! Arrays of boxes as results of the program: each array that holds them gets a position.

use super::{Part, Ragged, WitnessArrays};
use crate::build::Build;
use crate::ir::{Atom, Output, Witness};
use remc_base::{AtomTy, Name};

impl<'a> Build<'a> {
    /// How an array of boxes is a result of the program.
    pub fn boxes_output(&mut self, r: &Ragged<'a>, results: &mut Vec<Atom>) -> Output {
        let frame = place_all(&r.frame, results);
        let witnesses = r.witnesses.iter().map(|w| match w {
            WitnessArrays::Dim(a) => Witness::Dim(place(*a, results)),
            WitnessArrays::Shape(all) => Witness::Shape(place_all(all, results)),
        });
        let witnesses = witnesses.collect();
        let contents = Box::new(self.part_output(&r.contents, &r.ty, results));
        Output::Boxes { frame, ty: r.ty.clone(), witnesses, contents }
    }

    fn part_output(&mut self, p: &Part<'a>, ty: &AtomTy, results: &mut Vec<Atom>) -> Output {
        match p {
            Part::Base { data, starts } | Part::Fns { tags: Some((data, starts)), .. } => {
                Output::Part { starts: place(*starts, results), data: place(*data, results) }
            }
            Part::Tuple(parts) => {
                let labels = match ty {
                    AtomTy::Sigma(q) => labels(&q.body.atom),
                    t => labels(t),
                };
                let fields = parts.iter().enumerate().map(|(k, p)| {
                    let (label, t) = labels.get(k).cloned().unwrap_or((None, AtomTy::INT));
                    (label, self.part_output(p, &t, results))
                });
                let fields = fields.collect();
                Output::Tuple { frame: Vec::new(), fields }
            }
            Part::Box(r) => self.boxes_output(r, results),
            Part::Boxes { starts, inner } => {
                let starts = place(*starts, results);
                Output::Parts { starts, boxes: Box::new(self.boxes_output(inner, results)) }
            }
            // Functions are not results: the limitation has been reported before.
            Part::Fns { tags: None, .. } => Output::Tuple { frame: Vec::new(), fields: Vec::new() },
        }
    }
}

fn place(a: Atom, results: &mut Vec<Atom>) -> usize {
    results.push(a);
    results.len() - 1
}

fn place_all(all: &[Atom], results: &mut Vec<Atom>) -> Vec<usize> {
    all.iter().map(|a| place(*a, results)).collect()
}

/// The fields of a tuple: their labels, and the types of their atoms.
fn labels(t: &AtomTy) -> Vec<(Option<Name>, AtomTy)> {
    match t {
        AtomTy::Tuple(q) => q.fields.iter().map(|(l, t)| (l.clone(), t.atom.clone())).collect(),
        _ => Vec::new(),
    }
}

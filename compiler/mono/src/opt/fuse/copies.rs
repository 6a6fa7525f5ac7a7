//! The elements that have been computed in the body at hand and those around it: what is read twice at one
//! index is computed once.

use super::Chosen;
use crate::ir::Atom;
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[derive(Default)]
pub(super) struct Copies {
    /// By the map's address, which is no other's while a copy of it is here.
    of: FxHashMap<*const Chosen, Vec<Copy>>,
    /// The maps of the copies, the latest last.
    order: Vec<Rc<Chosen>>,
}

struct Copy {
    at: Vec<Atom>,
    results: Vec<Atom>,
}

impl Copies {
    /// The results of the map's body at this index.
    pub fn find(&self, map: &Rc<Chosen>, at: &[Atom]) -> Option<&[Atom]> {
        let copies = self.of.get(&Rc::as_ptr(map))?;
        copies.iter().find(|c| c.at == at).map(|c| c.results.as_slice())
    }

    pub fn add(&mut self, map: &Rc<Chosen>, at: Vec<Atom>, results: Vec<Atom>) {
        self.of.entry(Rc::as_ptr(map)).or_default().push(Copy { at, results });
        self.order.push(Rc::clone(map));
    }

    /// What [`Copies::forget`] is to be given where the body ends that begins now.
    pub fn mark(&self) -> usize {
        self.order.len()
    }

    pub fn forget(&mut self, mark: usize) {
        for map in self.order.drain(mark..) {
            if let Some(copies) = self.of.get_mut(&Rc::as_ptr(&map)) {
                copies.pop();
            }
        }
    }
}

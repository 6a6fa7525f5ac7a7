//! What a program takes and gives, as the runtimes of all devices see it: words of 64 bits.
//!
//! A scalar is its bits ([`remc_base::Scalar::to_bits64`]), a buffer its address, and as a result followed by
//! its dims. It depends on the program alone, not on how it was compiled.

use crate::ir::{Atom, Program, Ty, Var};
use remc_base::{BaseTy, Name, Prov, Trap};

/// What a runtime has to know beside the code.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    pub name: Name,
    /// The checks of the program, by the numbers that compiled code reports.
    pub traps: Vec<Trap>,
    /// The kernels, by number.
    pub kernels: Vec<KernelInfo>,
    /// The thresholds that choose between versions, and their values, by the numbers that compiled code asks for.
    pub thresholds: Vec<(Name, i64)>,
    pub params: Vec<Slot>,
    pub results: Vec<Slot>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct KernelInfo {
    pub name: Name,
    pub provs: Vec<Prov>,
}

/// A parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    Scalar(BaseTy),
    /// As a parameter one slot, its address; as a result the address and `rank` dims.
    Buffer {
        base: BaseTy,
        rank: usize,
    },
}

impl Slot {
    /// How many slots it takes as a result.
    pub fn result_slots(self) -> usize {
        match self {
            Slot::Scalar(_) => 1,
            Slot::Buffer { rank, .. } => 1 + rank,
        }
    }
}

/// The interface of a program's code.
pub fn interface(p: &Program) -> Interface {
    let slot = |ty: &Ty| match ty {
        Ty::Scalar(b) => Slot::Scalar(*b),
        Ty::Buffer(b) => Slot::Buffer { base: b.base, rank: b.dims.len() },
    };
    let of = |v: Var| p.vars.get(v).map_or(Slot::Scalar(BaseTy::I64), |i| slot(&i.ty));
    Interface {
        name: p.name.clone(),
        traps: crate::traps::traps(p),
        kernels: p
            .kernels
            .iter()
            .map(|(_, k)| KernelInfo { name: k.name.clone(), provs: k.provs.clone() })
            .collect(),
        thresholds: p.thresholds(),
        params: p.params.iter().map(|v| of(*v)).collect(),
        results: p
            .results
            .iter()
            .map(|a| match a {
                Atom::Var(v) => of(*v),
                Atom::Const(c) => Slot::Scalar(c.ty()),
            })
            .collect(),
    }
}

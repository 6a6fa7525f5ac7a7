//! Products that a sum takes in without rounding them, on every device that has the instruction.
//!
//! The language lets a reduction be reassociated and contracted, and nothing else. So where a loop
//! carries a float sum, that is, its next value is `acc + m` and its operator is said to be `+`, and `m` is
//! a product that is used there alone, the two become one fused multiply-add:
//!
//! ```text
//! (let %m (op * %a %b)) (let %s (op + %acc %m)) (next %s)        %s = fma(%a, %b, %acc)
//! ```

use crate::ir::{Atom, Carried, Exp, How, Program, Stmt, StmtKind, Var};
use crate::memory::mentions;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
pub struct Fused {
    /// For a sum the two factors and the summand.
    pub sums: FxHashMap<Var, [Atom; 3]>,
    /// Products that are nothing but a part of a sum.
    pub products: FxHashSet<Var>,
}

/// The fused multiply-adds of a block and all inside it.
pub fn fused(p: &Program, block: &[Stmt]) -> Fused {
    let mut uses = FxHashMap::default();
    for s in block {
        mentions(&s.kind, &mut |v| *uses.entry(v).or_insert(0) += 1);
    }
    let mut out = Fused::default();
    find(p, block, &uses, &mut out);
    out
}

fn find(p: &Program, block: &[Stmt], uses: &FxHashMap<Var, u32>, out: &mut Fused) {
    for s in block {
        // The products of a scan are its items, which lanes make before any sum.
        if let StmtKind::For { how, carried, body, next, .. } = &s.kind
            && !matches!(how, How::Scan(_))
        {
            for (c, next) in carried.iter().zip(next) {
                sum(p, c, *next, body, uses, out);
            }
        }
        for b in s.kind.blocks() {
            find(p, b, uses, out);
        }
    }
}

fn sum(p: &Program, c: &Carried, next: Atom, body: &[Stmt], uses: &FxHashMap<Var, u32>, out: &mut Fused) {
    let float = matches!(p.scalar_ty(c.init), Some(BaseTy::F32 | BaseTy::F64));
    let (true, Some(ScalarOp::Add), Atom::Var(next)) = (float, c.combine, next) else { return };
    let acc = Atom::Var(c.param);
    let Some([a, b]) = operands(body, next, ScalarOp::Add) else { return };
    let m = match (a == acc, b == acc) {
        (true, false) => b,
        (false, true) => a,
        _ => return,
    };
    let Atom::Var(m) = m else { return };
    if uses.get(&m) != Some(&1) {
        return;
    }
    let Some([x, y]) = operands(body, m, ScalarOp::Mul) else { return };
    out.sums.insert(next, [x, y, acc]);
    out.products.insert(m);
}

/// The operands of the operator that makes `v` in this very block.
fn operands(block: &[Stmt], v: Var, op: ScalarOp) -> Option<[Atom; 2]> {
    block.iter().find_map(|s| match &s.kind {
        StmtKind::Let { var, exp: Exp::Op(o, args) } if *var == v && *o == op => {
            args.as_slice().try_into().ok()
        }
        _ => None,
    })
}

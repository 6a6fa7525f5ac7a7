//! Which values are written where they are used, instead of under a name of their own.
//!
//! The program names every value. Text in which every sum had a line would be hard to read, so a value that has no
//! name in the source is a part of the expression that uses it,
//!
//! ```text
//! (let %t.1 (op * %y 4)) (let %t.2 (op + %t.1 1)) (let %x (load %part %t.2))
//! const f32 x = part[remc::add(remc::mul(y, 4), 1)];
//! ```
//!
//! if there is one such use, and that is in the same block: further in it might run more often. What reads memory
//! keeps its place among the statements, and what is less wide than C++ computes with keeps its type by a name.

use remc_base::BaseTy;
use remc_kernel::ir::*;
use remc_kernel::memory::mentions;
use rustc_hash::{FxHashMap, FxHashSet};

/// What the lowering calls values that it makes itself.
const MADE: &str = "t";

/// The values of a block, and of those inside it, that are parts of other expressions.
pub fn inlinable(p: &Program, block: &[Stmt], ends: &[Atom]) -> FxHashSet<Var> {
    let mut uses: FxHashMap<Var, u32> = FxHashMap::default();
    block.iter().for_each(|s| mentions(&s.kind, &mut |v| *uses.entry(v).or_default() += 1));
    ends.iter().filter_map(|a| a.as_var()).for_each(|v| *uses.entry(v).or_default() += 1);
    // Dims are mentioned by every access.
    for (_, info) in p.vars.iter() {
        if let Ty::Buffer(b) = &info.ty {
            b.dims.iter().filter_map(|a| a.as_var()).for_each(|v| *uses.entry(v).or_default() += 2);
        }
    }
    let mut out = FxHashSet::default();
    find(p, block, &uses, &mut out);
    out
}

fn find(p: &Program, block: &[Stmt], uses: &FxHashMap<Var, u32>, out: &mut FxHashSet<Var>) {
    let mut here: FxHashSet<Var> = FxHashSet::default();
    for s in block {
        direct(&s.kind, &mut |a| {
            if let Some(v) = a.as_var().filter(|v| here.contains(v)) {
                out.insert(v);
            }
        });
        if let StmtKind::Let { var, exp: Exp::Op(..) | Exp::Cast(..) | Exp::Bits(_) } = &s.kind
            && uses.get(var) == Some(&1)
            && p.vars.get(*var).is_some_and(|i| i.name.as_str() == MADE)
            && matches!(
                p.scalar_ty(Atom::Var(*var)),
                Some(
                    BaseTy::Bool
                        | BaseTy::I32
                        | BaseTy::I64
                        | BaseTy::U32
                        | BaseTy::U64
                        | BaseTy::F32
                        | BaseTy::F64
                )
            )
        {
            here.insert(*var);
        }
        s.kind.blocks().into_iter().for_each(|b| find(p, b, uses, out));
    }
}

/// The operands of a statement that its text has once, and before anything inside of it.
fn direct(s: &StmtKind, f: &mut dyn FnMut(Atom)) {
    match s {
        StmtKind::Let { exp, .. } => match exp {
            Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => f(*a),
            // This one has them several times.
            Exp::Op(remc_base::ops::ScalarOp::Expt, _) => {}
            Exp::Op(_, args) => args.iter().for_each(|a| f(*a)),
            Exp::Load { at, .. } => at.iter().for_each(|a| f(*a)),
            Exp::Test(t) => f(t.size),
            Exp::Workers => {}
        },
        StmtKind::Store { at, value, .. } | StmtKind::Update { at, value, .. } => {
            at.iter().chain([value]).for_each(|a| f(*a))
        }
        StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => {
            carried.iter().for_each(|c| f(c.init))
        }
        StmtKind::If { cond, .. } | StmtKind::Check { cond, .. } => f(*cond),
        _ => {}
    }
}

//! Scalar operators, lifted over frames, on every base type.

use super::{Form, Maker};
use crate::differential::term::{Info, Term, Ty};
use remc_base::ops::{OpInfo, Operand, ResultTy, ScalarOp, TABLE};
use remc_base::{BaseTy, Class};

pub const FORMS: &[Form] = &[operator, operator, operator, operator, converted, chosen, reranked];

/// Whether compiled code gives the interpreter's bits.
fn is_exact(row: &OpInfo, t: BaseTy) -> bool {
    remc_llvm::ulp_bound(row.op, &[t, t]) == 0
}

pub fn is_number(t: BaseTy) -> bool {
    t.is_float() || t.is_integer()
}

pub fn cast(ty: &Ty, part: Term) -> Term {
    if part.ty.atom == ty.atom {
        return part;
    }
    // What is negative wraps where the type has no sign.
    let wraps = part.ty.atom.is_signed() && ty.atom.is_integer() && !ty.atom.is_signed();
    let info = match (part.ty.atom.is_float(), ty.atom.is_float()) {
        (true, false) => Info::of(ty.atom),
        _ if wraps => Info::of(ty.atom),
        _ => part.info.fit(ty.atom),
    };
    Term::new(ty.clone(), info, format!("(cast {} §)", ty.atom.name()), vec![part])
}

/// The result's numbers from the operands'.
fn info(op: ScalarOp, result: BaseTy, of: &[Info]) -> Info {
    use ScalarOp::*;
    let a = of.first().copied().unwrap_or(Info::ANY);
    let b = of.get(1).copied().unwrap_or(a);
    let both = a.whole && b.whole;
    let info = match op {
        Add => Info { whole: both, most: a.most + b.most },
        Sub if result.is_float() || result.is_signed() => Info { whole: both, most: a.most + b.most },
        Mul if both => Info { whole: true, most: a.most * b.most },
        Mul => {
            Info { whole: false, most: if a.most * b.most >= 0.0 { a.most * b.most } else { f64::INFINITY } }
        }
        Min2 | Max2 => a.or(b),
        Abs => a,
        Negate if result.is_float() || result.is_signed() => a,
        Sign => Info::whole(1.0),
        Floor | Ceiling | Round | Truncate => {
            Info { whole: a.most <= crate::differential::term::exact_to(result), most: a.most + 1.0 }
        }
        _ => return if result.is_float() { Info::ANY } else { Info::of(result) },
    };
    info.fit(result)
}

/// The type `t` of an operator whose result is the wanted one.
fn operand_atom(m: &mut Maker, row: &OpInfo, want: BaseTy) -> Option<BaseTy> {
    let class = row.class;
    let fits = |t: BaseTy| class.is_none_or(|c| t.is_in(c));
    match row.result {
        ResultTy::T => fits(want).then_some(want),
        ResultTy::Quot if want == BaseTy::F64 => {
            let t = m.number_atom();
            (t == BaseTy::F64 || t.is_integer()).then_some(t)
        }
        ResultTy::Quot => want.is_float().then_some(want),
        ResultTy::Base(b) if b == want => {
            let t = if class == Some(Class::Eq) { m.atom() } else { m.number_atom() };
            fits(t).then_some(t)
        }
        ResultTy::Base(_) => None,
    }
}

fn operator(m: &mut Maker, ty: &Ty) -> Option<Term> {
    for _ in 0..12 {
        let row = &TABLE[m.rng.below(TABLE.len())];
        if row.op == ScalarOp::Select {
            continue;
        }
        let Some(t) = operand_atom(m, row, ty.atom) else { continue };
        if !is_exact(row, t) {
            continue;
        }
        return Some(apply(m, row, t, ty));
    }
    None
}

fn apply(m: &mut Maker, row: &OpInfo, t: BaseTy, ty: &Ty) -> Term {
    // One operand has the whole frame, the others a prefix of it.
    let whole = m.rng.below(row.operands.len().max(1));
    let mut parts = vec![];
    for (i, operand) in row.operands.iter().enumerate() {
        let atom = match operand {
            Operand::T => t,
            Operand::U => [BaseTy::I64, BaseTy::I64, BaseTy::U8, BaseTy::I32, BaseTy::I8][m.rng.below(5)],
            Operand::Base(b) => *b,
        };
        let rank = if i == whole || m.rng.one_in(2) { ty.rank() } else { m.rng.below(ty.rank() + 1) };
        let part_ty = Ty::new(atom, &ty.dims[..rank]);
        let part = m.expr(&part_ty);
        parts.push(guard(m, row, i, part));
    }
    let infos: Vec<Info> = parts.iter().map(|p| p.info).collect();
    Term::call(ty.clone(), info(row.op, ty.atom, &infos), row.name, parts)
}

/// Keeps an operand from stopping the program, unless it is to stop here.
fn guard(m: &mut Maker, row: &OpInfo, i: usize, part: Term) -> Term {
    let (ty, atom) = (part.ty.clone(), part.ty.atom);
    let template = match (row.op, i) {
        (ScalarOp::Quotient | ScalarOp::Modulo, 1) if atom.is_integer() => {
            if m.stops() {
                // One element alone is zero, if there is any.
                return match ty.dims.as_slice() {
                    [d] if m.is_inhabited(d) && m.times == 1.0 => {
                        let at = m.rng.below(m.size(d));
                        let text = format!("(select (= {at} (iota [{d}])) 0 1)");
                        cast(&ty, Term::leaf(ty.with_atom(BaseTy::I64), Info::whole(1.0), text))
                    }
                    _ => Term::leaf(Ty::scalar(atom), Info::whole(0.0), super::literal(atom, 0)),
                };
            }
            ["(bit-or 1 §)", "(max2 1 §)"][m.rng.below(2)]
        }
        (ScalarOp::Expt, 1) => {
            if m.stops() {
                return Term::leaf(Ty::scalar(BaseTy::I64), Info::whole(2.0), "-2");
            }
            "(bit-and 7 §)"
        }
        (ScalarOp::IntToChar, 0) => "(bit-and 1023 §)",
        _ => return part,
    };
    Term::new(ty, Info::of(atom), template, vec![part])
}

fn converted(m: &mut Maker, ty: &Ty) -> Option<Term> {
    if ty.atom == BaseTy::Char {
        return None;
    }
    if ty.atom == BaseTy::Bool {
        let part = m.expr(&ty.with_atom(BaseTy::I64));
        return Some(Term::call(ty.clone(), Info::whole(1.0), "int->bool", vec![part]));
    }
    let atom = m.number_atom();
    let part = m.expr(&ty.with_atom(atom));
    Some(cast(ty, part))
}

fn chosen(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let rank = m.rng.below(ty.rank() + 1);
    let flag = m.expr(&Ty::new(BaseTy::Bool, &ty.dims[..rank]));
    let (yes, no) = (m.expr(ty), m.expr(ty));
    let info = yes.info.or(no.info);
    Some(Term::call(ty.clone(), info, "select", vec![flag, yes, no]))
}

/// `~(r r)op`: the cells lift among themselves, then over the frame.
fn reranked(m: &mut Maker, ty: &Ty) -> Option<Term> {
    let name = ["+", "-", "*", "max2"][m.rng.below(4)];
    if !is_number(ty.atom) || ty.rank() < 2 {
        return None;
    }
    let of = 1 + m.rng.below(ty.rank() - 1);
    let (frame, cell) = ty.dims.split_at(of);
    let small = m.expr(&Ty::new(ty.atom, frame));
    // The other is one cell for all, or has the frame too.
    let large = if m.rng.one_in(2) { m.expr(ty) } else { m.expr(&Ty::new(ty.atom, cell)) };
    let info = if ty.atom.is_float() { Info::ANY } else { Info::of(ty.atom) };
    let template = format!("(~(0 {}){name} § §)", cell.len());
    Some(Term::new(ty.clone(), info, template, vec![small, large]))
}

/// What compiled code computes within some units in the last place, of exact operands.
pub fn transcendental(m: &mut Maker) -> Option<(Term, u64)> {
    for _ in 0..12 {
        let row = &TABLE[m.rng.below(TABLE.len())];
        let ty = m.plain(2);
        let Some(t) = operand_atom(m, row, ty.atom) else { continue };
        let bound = remc_llvm::ulp_bound(row.op, &[t, t]);
        if bound == 0 || row.op == ScalarOp::Expt {
            continue;
        }
        return Some((apply(m, row, t, &ty), bound));
    }
    None
}

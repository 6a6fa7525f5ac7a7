//! Application: each argument's shape is its frame and its cell; cells are replicated over the principal
//! frame; one application per position of it.

use crate::array::{Collector, size};
use crate::error::{Fault, R, op_fault};
use crate::eval::Interp;
use crate::prims::{self, Apply};
use crate::value::*;
use remc_base::ops::{self, BinaryKernel, OpError, ScalarOp};
use remc_base::{BaseTy, Scalar, Trap};
use smallvec::SmallVec;

/// An argument seen over the principal frame: its cell number `p / stride` belongs to position `p`, for
/// the axes of the principal frame that its own frame lacks come last.
struct Lifted<'a> {
    array: &'a Array,
    frame_rank: usize,
    stride: usize,
    cell: usize,
}

impl Lifted<'_> {
    fn at(&self, position: usize) -> Array {
        self.array.cell(self.frame_rank, position / self.stride, self.cell)
    }
}

/// `frame_rank` axes of `array` are its frame, which must be a prefix of the principal `frame`.
fn lifted<'a>(array: &'a Array, frame_rank: usize, frame: &[usize]) -> R<Lifted<'a>> {
    if frame_rank > array.rank() || !frame.starts_with(&array.shape[..frame_rank]) {
        return Err(Fault::internal(format!(
            "the frame of an argument of shape {:?} is no prefix of the principal frame {frame:?}",
            array.shape
        )));
    }
    Ok(Lifted {
        array,
        frame_rank,
        stride: size(&frame[frame_rank..])?,
        cell: size(&array.shape[frame_rank..])?,
    })
}

impl Interp<'_> {
    pub(crate) fn app(
        &self,
        code: &Code,
        func: &Code,
        args: &[ArgCode],
        frame: &ShapeCode,
        env: &Env,
    ) -> R<Array> {
        let here = |f: Box<Fault>| f.at(&code.def, code.node);
        let funcs = self.eval(func, env)?;
        let values = args.iter().map(|a| self.eval(&a.code, env)).collect::<R<Args>>()?;
        let frame = frame.eval(env).map_err(here)?;
        if frame.is_empty() {
            return funcs.as_func().and_then(|f| self.call(f, values)).map_err(here);
        }
        let ranks = args
            .iter()
            .map(|a| Ok(a.frame.eval(env)?.len()))
            .collect::<R<SmallVec<[usize; 3]>>>()
            .map_err(here)?;
        self.lift(&funcs, &values, &ranks, &frame)
            .and_then(|r| r.map_or_else(|| self.empty(&code.ty, env), Ok))
            .map_err(here)
    }

    /// The results over the frame; `None` if it is empty and only the type knows their cells.
    fn lift(&self, funcs: &Array, values: &[Array], ranks: &[usize], frame: &[usize]) -> R<Option<Array>> {
        let count = size(frame)?;
        let args = values
            .iter()
            .zip(ranks)
            .map(|(a, r)| lifted(a, *r, frame))
            .collect::<R<SmallVec<[Lifted; 3]>>>()?;
        if funcs.rank() == 0
            && let Func::Scalar(op) = funcs.as_func()?
            && *op != ScalarOp::Select
            && args.iter().all(|a| a.cell == 1)
        {
            return map_scalar(*op, &args, frame, count).map(Some);
        }
        let funcs = lifted(funcs, funcs.rank(), frame)?;
        let mut all = Collector::new(count);
        for position in 0..count {
            let f = funcs.at(position);
            let cells = args.iter().map(|a| a.at(position)).collect();
            all.push(&self.call(f.as_func()?, cells)?)?;
        }
        Ok(all.finish(frame))
    }
}

impl Apply for Interp<'_> {
    fn call(&self, f: &Func, args: Args) -> R<Array> {
        match f {
            Func::Scalar(op) => scalar(*op, &args),
            Func::Array(p) => prims::call(self, p, args),
            Func::Lam(c) => {
                if c.lam.params.len() != args.len() {
                    return Err(Fault::internal("a function applied to another number of arguments"));
                }
                let mut env = c.env.clone();
                for (v, a) in c.lam.params.iter().zip(args) {
                    env.bind(*v, a);
                }
                self.eval(&c.lam.body, &env)
            }
            Func::TLam(_) | Func::ILam(_) => {
                Err(Fault::internal("a polymorphic function applied before it is instantiated"))
            }
        }
    }

    fn call_padded(&self, f: &Func, args: Args, pad: &[usize], like: &Array) -> R<Array> {
        if pad.is_empty() {
            return self.call(f, args);
        }
        let count = size(pad)?;
        let views = args.iter().map(|a| lifted(a, pad.len(), pad)).collect::<R<SmallVec<[Lifted; 3]>>>()?;
        if let Func::Scalar(op) = f
            && *op != ScalarOp::Select
            && views.iter().all(|a| a.cell == 1)
        {
            return map_scalar(*op, &views, pad, count);
        }
        let mut all = Collector::new(count);
        for position in 0..count {
            let cells = views.iter().map(|a| a.at(position)).collect();
            all.push(&self.call(f, cells)?)?;
        }
        Ok(all.finish(pad).unwrap_or_else(|| like.clone()))
    }
}

/// A scalar operator on cells.
fn scalar(op: ScalarOp, args: &Args) -> R<Array> {
    if op == ScalarOp::Select {
        return match &args[..] {
            [choose, yes, no] => Ok(if choose.as_bool()? { yes.clone() } else { no.clone() }),
            _ => Err(Fault::internal("select of another number of arguments")),
        };
    }
    let operands = args
        .iter()
        .map(|a| match a.rank() {
            0 => a.data.scalar_at(0),
            _ => None,
        })
        .collect::<Option<SmallVec<[Scalar; 3]>>>()
        .ok_or_else(|| Fault::internal(format!("{op} of what is no scalar")))?;
    ops::apply(op, &operands).map(Array::scalar).map_err(|e| operator_fault(op, e, &operands))
}

/// A scalar operator over a frame, without environments. The result's type is the operator's for the
/// operands' types, which an empty array knows too.
fn map_scalar(op: ScalarOp, args: &[Lifted], frame: &[usize], count: usize) -> R<Array> {
    let tys = args
        .iter()
        .map(|a| a.array.data.base())
        .collect::<Option<SmallVec<[BaseTy; 3]>>>()
        .ok_or_else(|| Fault::internal(format!("{op} of what are no scalars")))?;
    let result =
        op.result_ty(&tys).ok_or_else(|| Fault::internal(format!("{op} of operands of types {tys:?}")))?;
    let shape = Dims::from_slice(frame);
    if let [x, y] = args
        && tys[0] == tys[1]
        && let Some(kernel) = ops::binary_kernel(op, tys[0])
        && let Some(data) = map_kernel(kernel, x, y, count)
    {
        return Ok(Array::new(shape, data));
    }
    let mut out = Builder::of_base(result, count);
    let mut operands: SmallVec<[Scalar; 3]> = SmallVec::new();
    for position in 0..count {
        operands.clear();
        operands.extend(args.iter().filter_map(|a| a.array.data.scalar_at(position / a.stride)));
        let value = ops::apply(op, &operands).map_err(|e| operator_fault(op, e, &operands))?;
        if !out.push(value) {
            return Err(Fault::internal(format!("{op} gave a value of type {}", value.ty())));
        }
    }
    Ok(Array::new(shape, out.finish()))
}

fn map_kernel(kernel: BinaryKernel, x: &Lifted, y: &Lifted, count: usize) -> Option<Data> {
    fn go<T: Copy, U>(f: fn(T, T) -> U, x: (&[T], usize), y: (&[T], usize), count: usize) -> Vec<U> {
        match (x, y) {
            ((x, 1), (y, 1)) => x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect(),
            ((x, 1), ([y], _)) => x.iter().map(|x| f(*x, *y)).collect(),
            (([x], _), (y, 1)) => y.iter().map(|y| f(*x, *y)).collect(),
            ((x, s), (y, t)) => (0..count).map(|p| f(x[p / s], y[p / t])).collect(),
        }
    }
    let (s, t) = (x.stride, y.stride);
    if count == 0 {
        return None;
    }
    Some(match (kernel, &x.array.data, &y.array.data) {
        (BinaryKernel::I64(f), Data::I64(x), Data::I64(y)) => {
            Data::I64(go(f, (x.as_slice(), s), (y.as_slice(), t), count).into())
        }
        (BinaryKernel::I64Bool(f), Data::I64(x), Data::I64(y)) => {
            Data::Bool(go(f, (x.as_slice(), s), (y.as_slice(), t), count).into())
        }
        (BinaryKernel::F32(f), Data::F32(x), Data::F32(y)) => {
            Data::F32(go(f, (x.as_slice(), s), (y.as_slice(), t), count).into())
        }
        (BinaryKernel::F32Bool(f), Data::F32(x), Data::F32(y)) => {
            Data::Bool(go(f, (x.as_slice(), s), (y.as_slice(), t), count).into())
        }
        (BinaryKernel::F64(f), Data::F64(x), Data::F64(y)) => {
            Data::F64(go(f, (x.as_slice(), s), (y.as_slice(), t), count).into())
        }
        (BinaryKernel::F64Bool(f), Data::F64(x), Data::F64(y)) => {
            Data::Bool(go(f, (x.as_slice(), s), (y.as_slice(), t), count).into())
        }
        _ => return None,
    })
}

/// [`op_fault`] of an operator.
fn operator_fault(op: ScalarOp, e: OpError, operands: &[Scalar]) -> Box<Fault> {
    let tys: SmallVec<[BaseTy; 3]> = operands.iter().map(|x| x.ty()).collect();
    op_fault(Trap::of_operator(op, &tys), e, operands)
}

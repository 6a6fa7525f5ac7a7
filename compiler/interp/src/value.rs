//! Values, and what they are made of.
//!
//! An array may hold functions; a function is a term and the environment where it was made; an environment holds
//! arrays; and a term holds the arrays that are known before it is evaluated. So all of them are here, as data. What is
//! done with them is in files of their own above: [`array`](crate::array), [`env`](crate::env), [`code`](crate::code).

use crate::list::List;
use crate::prim::ArrayPrim;
use half::f16;
use remc_base::ops::ScalarOp;
use remc_base::{
    ArrTy, AtomTy, BaseTy, Dim, GlobalId, IVar, Index, NodeId, Scalar, Shape, TParam, TyArg, VarId,
};
use remc_typed::ir::{Fact, LiftKind, Lit};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// A shape.
pub(crate) type Dims = SmallVec<[usize; 4]>;

/// An array: a shape and its atoms in row-major order.
#[derive(Clone)]
pub(crate) struct Array {
    pub shape: Dims,
    pub data: Data,
}

/// Atoms of one kind. Buffers are shared: a part of one is no copy, and a single atom is held in place.
#[derive(Clone)]
pub(crate) enum Buf<T> {
    One(T),
    Part { all: Rc<Vec<T>>, start: usize, len: usize },
}

impl<T: Clone> Buf<T> {
    pub fn as_slice(&self) -> &[T] {
        match self {
            Buf::One(x) => std::slice::from_ref(x),
            Buf::Part { all, start, len } => &all[*start..*start + *len],
        }
    }

    fn slice(&self, from: usize, count: usize) -> Buf<T> {
        match self {
            _ if count == 1 => Buf::One(self.as_slice()[from].clone()),
            Buf::One(_) if count == 0 => Buf::from(Vec::new()),
            Buf::One(x) => Buf::One(x.clone()),
            Buf::Part { all, start, .. } => Buf::Part { all: all.clone(), start: start + from, len: count },
        }
    }
}

impl<T> From<Vec<T>> for Buf<T> {
    fn from(mut v: Vec<T>) -> Buf<T> {
        if v.len() == 1
            && let Some(x) = v.pop()
        {
            return Buf::One(x);
        }
        let len = v.len();
        Buf::Part { all: Rc::new(v), start: 0, len }
    }
}

/// A box: its witnesses and its contents.
pub(crate) struct BoxVal {
    pub indices: Vec<IndexVal>,
    pub value: Array,
}

/// A function atom.
#[derive(Clone)]
pub(crate) enum Func {
    /// A scalar primitive. The type of its operands is in their buffers.
    Scalar(ScalarOp),
    /// An array primitive and the index and type arguments it has so far.
    Array(Rc<PrimInst>),
    Lam(Rc<Closure<Lam>>),
    TLam(Rc<Closure<TLam>>),
    ILam(Rc<Closure<ILam>>),
}

/// An array primitive, and what it has been applied to.
pub(crate) struct PrimInst {
    pub prim: ArrayPrim,
    pub indices: Vec<IndexVal>,
    pub types: Vec<AtomTy>,
}

/// A λ where it stands.
pub(crate) struct Closure<L> {
    pub lam: Rc<L>,
    pub env: Env,
    /// How many parameters a partial `t-app` or `i-app` has bound already.
    pub bound: usize,
}

/// The arguments of a function.
pub(crate) type Args = SmallVec<[Array; 3]>;

/// The value of an index variable.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum IndexVal {
    Dim(i64),
    Shape(Rc<[usize]>),
}

/// What the variables in scope stand for: values, indices, and closed atom types.
#[derive(Clone)]
pub(crate) struct Env {
    pub values: List<VarId, Array>,
    pub indices: List<u32, IndexVal>,
    pub types: List<u32, AtomTy>,
}

/// An expression that is ready for evaluation.
pub(crate) struct Code {
    pub kind: Box<Kind>,
    pub ty: ArrTy,
    pub def: Rc<GlobalId>,
    pub node: NodeId,
}

/// A shape, evaluated already if it is closed.
pub(crate) enum ShapeCode {
    Fixed(Dims),
    Open(Shape),
}

pub(crate) struct Lam {
    pub params: Vec<VarId>,
    pub body: Code,
}

pub(crate) struct TLam {
    pub params: Vec<TParam>,
    pub body: Code,
}

pub(crate) struct ILam {
    pub params: Vec<IVar>,
    pub body: Code,
}

pub(crate) struct ArgCode {
    pub code: Code,
    pub frame: ShapeCode,
}

/// The value of a closed node, once it is known.
pub(crate) type Memo = Option<OnceCell<Array>>;

pub(crate) enum Kind {
    Var(VarId),
    Const(Array),
    /// A literal at a type that the environment knows.
    Lit(Lit),
    Global(GlobalId),
    Frame {
        dims: Shape,
        elems: Vec<Code>,
    },
    Lam(Rc<Lam>),
    TLam(Rc<TLam>),
    ILam(Rc<ILam>),
    App {
        func: Code,
        args: Vec<ArgCode>,
        frame: ShapeCode,
    },
    TApp {
        func: Code,
        args: Vec<TyArg>,
        memo: Memo,
    },
    IApp {
        func: Code,
        args: Vec<Index>,
        memo: Memo,
    },
    Let {
        var: VarId,
        value: Code,
        body: Code,
    },
    If {
        cond: Code,
        then: Code,
        otherwise: Code,
    },
    Box {
        witnesses: Vec<Index>,
        value: Code,
    },
    Unbox {
        boxes: Code,
        indices: Vec<IVar>,
        var: VarId,
        body: Code,
    },
    Lift {
        kind: LiftKind,
        indices: Vec<IVar>,
        value: Code,
        body: Code,
    },
    Check {
        fact: Fact,
        why: Arc<str>,
        body: Code,
    },
    ReifyDim(Dim),
    ReifyShape(Shape),
    Tuple(Vec<Code>),
    Field {
        tuple: Code,
        position: usize,
    },
    Cast(Code),
    AsShape(Code),
    Loop {
        locals: Vec<(VarId, Code)>,
        cond: Code,
        body: Code,
    },
}

// ---- buffers ----

macro_rules! define_data {
    ($($v:ident($t:ty)),*) => {
        /// A shared buffer of atoms.
        #[derive(Clone)]
        pub(crate) enum Data {
            $($v(Buf<$t>),)*
        }

        /// A buffer that is being filled.
        pub(crate) enum Builder {
            $($v(Vec<$t>),)*
        }

        impl Data {
            pub fn len(&self) -> usize {
                match self {
                    $(Data::$v(b) => b.as_slice().len(),)*
                }
            }

            pub fn slice(&self, from: usize, count: usize) -> Data {
                match self {
                    $(Data::$v(b) => Data::$v(b.slice(from, count)),)*
                }
            }

            /// An empty builder of the same kind of atoms.
            pub fn builder(&self, capacity: usize) -> Builder {
                match self {
                    $(Data::$v(_) => Builder::$v(Vec::with_capacity(capacity)),)*
                }
            }

            /// The cells of `cell` atoms each at the given positions.
            pub fn gather(&self, positions: impl Iterator<Item = usize>, cell: usize) -> Data {
                match self {
                    $(Data::$v(b) => {
                        let from = b.as_slice();
                        let out: Vec<$t> = if cell == 1 {
                            positions.map(|p| from[p].clone()).collect()
                        } else {
                            let mut out = Vec::with_capacity(positions.size_hint().0.saturating_mul(cell));
                            for p in positions {
                                out.extend_from_slice(&from[p * cell..(p + 1) * cell]);
                            }
                            out
                        };
                        Data::$v(out.into())
                    })*
                }
            }
        }

        impl Builder {
            /// Appends; false if the atoms are of another kind.
            #[must_use]
            pub fn extend(&mut self, data: &Data) -> bool {
                match (self, data) {
                    $((Builder::$v(out), Data::$v(b)) => out.extend_from_slice(b.as_slice()),)*
                    _ => return false,
                }
                true
            }

            /// Overwrites the atoms from `at` on; false if the kinds differ.
            #[must_use]
            pub fn write(&mut self, at: usize, data: &Data) -> bool {
                match (self, data) {
                    $((Builder::$v(out), Data::$v(b)) => {
                        let from = b.as_slice();
                        out[at..at + from.len()].clone_from_slice(from);
                    })*
                    _ => return false,
                }
                true
            }

            /// A copy of some of the atoms so far.
            pub fn read(&self, from: usize, count: usize) -> Data {
                match self {
                    $(Builder::$v(out) => Data::$v(out[from..from + count].to_vec().into()),)*
                }
            }

            pub fn finish(self) -> Data {
                match self {
                    $(Builder::$v(out) => Data::$v(out.into()),)*
                }
            }
        }
    };
}

define_data! {
    Bool(bool), Char(char), I8(i8), I16(i16), I32(i32), I64(i64), U8(u8), U16(u16), U32(u32), U64(u64),
    F16(f16), F32(f32), F64(f64), Box(Rc<BoxVal>), Tuple(Rc<[Array]>), Func(Func)
}

macro_rules! scalar_data {
    ($($v:ident),*) => {
        impl Data {
            pub fn one(s: Scalar) -> Data {
                match s {
                    $(Scalar::$v(x) => Data::$v(Buf::One(x)),)*
                }
            }

            /// The scalar at a position; `None` if the atoms are no scalars.
            #[inline]
            pub fn scalar_at(&self, i: usize) -> Option<Scalar> {
                match self {
                    $(Data::$v(b) => b.as_slice().get(i).map(|x| Scalar::$v(*x)),)*
                    _ => None,
                }
            }

            pub fn base(&self) -> Option<BaseTy> {
                match self {
                    $(Data::$v(_) => Some(BaseTy::$v),)*
                    _ => None,
                }
            }
        }

        impl Builder {
            pub fn of_base(ty: BaseTy, capacity: usize) -> Builder {
                match ty {
                    $(BaseTy::$v => Builder::$v(Vec::with_capacity(capacity)),)*
                }
            }

            /// Appends; false if the scalar is of another type.
            #[must_use]
            #[inline]
            pub fn push(&mut self, s: Scalar) -> bool {
                match (self, s) {
                    $((Builder::$v(out), Scalar::$v(x)) => out.push(x),)*
                    _ => return false,
                }
                true
            }
        }
    };
}
scalar_data!(Bool, Char, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64);

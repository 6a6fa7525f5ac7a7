//! Addresses, loads and stores.
//!
//! Buffers are row-major: the element at `(i, j)` of dims `(m, n)` is number `i·n + j`. What the indices
//! have in common over the lanes of a vector decides the instruction:
//!
//! | indices | load, store |
//! | --- | --- |
//! | the same in all lanes | of a scalar |
//! | the last grows by one from lane to lane, the others are the same | of consecutive elements as a vector |
//! | the last shrinks by one | the same, reversed |
//! | the last is a constant of a few, the one before grows by one | of consecutive rows, shuffled (`super::interleave`) |
//! | contiguous in jammed iterations, strided in the lanes | of blocks, transposed (`super::transpose`) |
//! | anything else | of each lane's element (LLVM's gathers are measured to be no faster) |
//!
//! Private memory that a body in lanes makes is each lane's own (`super::private`).
//!
//! A kernel's buffers do not overlap where one of them is written (the race checker proves it); LLVM is
//! told so by an alias scope for each.

use super::Fun;
use super::pieces::{Piece, Pieces, count, piece};
use crate::error::EmitError;
use crate::values::{Value, element_bytes};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, InstructionValue, IntValue, MetadataValue,
    PointerValue,
};
use remc_base::BaseTy;
use remc_kernel::ir::{Atom, BufferTy, Var};
use smallvec::SmallVec;

/// The metadata of accesses to one buffer: that they are of it, and of none of the others.
#[derive(Clone, Copy)]
pub(super) struct Scope<'ctx> {
    own: MetadataValue<'ctx>,
    others: Option<MetadataValue<'ctx>>,
}

/// The number of an element of a buffer, for the lanes of a vector.
pub(super) enum Offset<'ctx> {
    Uniform(IntValue<'ctx>),
    /// Of the first lane, and the distance from lane to lane.
    Strided(IntValue<'ctx>, Stride<'ctx>),
    Vector(Value<'ctx>),
}

#[derive(Clone, Copy)]
pub(super) enum Stride<'ctx> {
    Constant(i64),
    Value(IntValue<'ctx>),
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Makes the alias scopes of a kernel's buffers.
    pub fn make_scopes(&mut self, kernel: &str, params: &[Var]) {
        let c = self.e.context;
        let domain = c.metadata_node(&[c.metadata_string(kernel).into()]);
        let buffers: Vec<Var> = params.iter().copied().filter(|v| self.buffer_ty(*v).is_some()).collect();
        let scopes: Vec<MetadataValue<'ctx>> = buffers
            .iter()
            .map(|v| c.metadata_node(&[c.metadata_string(&format!("{kernel} {v:?}")).into(), domain.into()]))
            .collect();
        for (k, v) in buffers.iter().enumerate() {
            let others: Vec<BasicMetadataValueEnum<'ctx>> =
                scopes.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, s)| (*s).into()).collect();
            let scope = Scope {
                own: c.metadata_node(&[scopes[k].into()]),
                others: (!others.is_empty()).then(|| c.metadata_node(&others)),
            };
            self.scopes.insert(*v, scope);
        }
    }

    pub fn buffer(&self, v: Var) -> Result<(BufferTy, PointerValue<'ctx>), EmitError> {
        let Some(ty) = self.buffer_ty(v) else {
            return Err(EmitError::Program(format!("{v:?} is no buffer")));
        };
        let address = super::pointer(self.scalar(Atom::Var(v))?)?;
        Ok((ty.clone(), address))
    }

    pub fn load(&mut self, buffer: Var, at: &[Atom]) -> Result<Pieces<'ctx>, EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        let (atoms, at) = (at, self.indices(at)?);
        let prefetches = self.prefetches && self.origins.follows(atoms);
        if self.private.contains(&buffer) {
            return self.load_private(buffer, &at);
        }
        if let Some(mask) = self.mask {
            return self.load_masked(buffer, &at, (mask, prefetches));
        }
        if let Some(side) = self.transposable(ty.base, atoms, &at) {
            self.writes_lines = true;
            return self.load_transposed(buffer, &at, side);
        }
        (0..count(&at))
            .map(|k| {
                Ok(match self.offset(&ty, &at, k)? {
                    Offset::Uniform(i) => Piece::Uniform(self.read(buffer, ty.base, base, i, None)?),
                    Offset::Strided(i, Stride::Constant(1)) => {
                        if prefetches {
                            self.prefetch(ty.base, base, i)?;
                        }
                        Piece::Vector(self.read(buffer, ty.base, base, i, self.lanes)?)
                    }
                    Offset::Strided(i, Stride::Constant(-1)) => {
                        let v = self.read(buffer, ty.base, base, self.last_lane(i)?, self.lanes)?;
                        Piece::Vector(self.reversed(v)?)
                    }
                    offset => Piece::Vector(match self.load_interleaved((buffer, &at), k, &offset)? {
                        Some(v) => v,
                        None => self.gather(buffer, ty.base, base, &offset)?,
                    }),
                })
            })
            .collect()
    }

    pub fn store(&mut self, buffer: Var, at: &[Atom], value: Atom) -> Result<(), EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        let (atoms, at, value) = (at, self.indices(at)?, self.atom(value)?);
        if self.private.contains(&buffer) {
            self.has_room(buffer, atoms)?;
            return self.store_private(buffer, &at, &value);
        }
        if let Some(mask) = self.mask {
            return self.store_masked(buffer, &at, piece(&value, 0)?, mask);
        }
        if let Some(side) = self.transposable(ty.base, atoms, &at) {
            return self.store_transposed(buffer, &at, &value, side);
        }
        if let Some(stores) = self.streamable(buffer, (&ty, base), &at, &value)? {
            return self.stream(buffer, &ty, &stores);
        }
        for k in 0..count(at.iter().chain([&value])) {
            let x = piece(&value, k)?;
            match self.offset(&ty, &at, k)? {
                // The lanes write one after the other.
                Offset::Uniform(i) => {
                    let last = self.i64(i64::from(self.lanes.unwrap_or(1)) - 1);
                    self.write(buffer, ty.base, base, i, self.lane(x, last.into())?)?;
                }
                Offset::Strided(i, Stride::Constant(1)) => {
                    self.write(buffer, ty.base, base, i, self.vector(x)?)?;
                }
                Offset::Strided(i, Stride::Constant(-1)) => {
                    let v = self.reversed(self.vector(x)?)?;
                    self.write(buffer, ty.base, base, self.last_lane(i)?, v)?;
                }
                offset => {
                    for lane in 0..self.lanes.unwrap_or(1) {
                        let i = self.offset_of_lane(&offset, lane)?;
                        let x = self.lane(x, self.i64(i64::from(lane)).into())?;
                        self.write(buffer, ty.base, base, i, x)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of the last lane's element where the first lane's is `i` and they go down by one.
    fn last_lane(&self, i: IntValue<'ctx>) -> Result<IntValue<'ctx>, EmitError> {
        let back = self.i64(i64::from(self.lanes.unwrap_or(1)) - 1);
        Ok(self.e.builder.build_int_nsw_sub(i, back, "")?)
    }

    fn reversed(&self, v: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let BasicValueEnum::VectorValue(v) = v else { return Ok(v) };
        let mask: Vec<_> = (0..v.get_type().get_size()).rev().map(|k| self.i32(k)).collect();
        let mask = inkwell::types::VectorType::const_vector(&mask);
        Ok(self.e.builder.build_shuffle_vector(v, v.get_type().get_poison(), mask, "")?.into())
    }

    fn indices(&self, at: &[Atom]) -> Result<SmallVec<[Pieces<'ctx>; 4]>, EmitError> {
        at.iter().map(|a| self.atom(*a)).collect()
    }

    /// The number of the element at the indices of iteration `k`. Indices are in bounds, so nothing
    /// wraps.
    pub fn offset(&self, ty: &BufferTy, at: &[Pieces<'ctx>], k: usize) -> Result<Offset<'ctx>, EmitError> {
        if at.len() != ty.dims.len() {
            return Err(EmitError::Program("an access with another number of indices than dims".into()));
        }
        let mut offset = Offset::Uniform(self.i64(0));
        for (d, index) in at.iter().enumerate() {
            let dim = self.size(ty.dims[d])?;
            offset = self.next_offset(offset, (d > 0).then_some(dim), piece(index, k)?)?;
        }
        Ok(match offset {
            Offset::Strided(i, Stride::Constant(0)) => Offset::Uniform(i),
            o => o,
        })
    }

    /// `offset · dim + index`; the first offset is just the index.
    fn next_offset(
        &self,
        offset: Offset<'ctx>,
        dim: Option<IntValue<'ctx>>,
        index: Piece<'ctx>,
    ) -> Result<Offset<'ctx>, EmitError> {
        let b = self.e.builder;
        let scaled = |x: IntValue<'ctx>| match dim {
            Some(d) => Ok::<_, EmitError>(b.build_int_nsw_mul(x, d, "")?),
            None => Ok(self.i64(0)),
        };
        let plus = |x: IntValue<'ctx>, y: Value<'ctx>| match dim {
            Some(_) => Ok::<_, EmitError>(b.build_int_nsw_add(x, super::int(y)?, "")?),
            None => super::int(y),
        };
        Ok(match (offset, index) {
            (Offset::Uniform(x), Piece::Uniform(i)) => Offset::Uniform(plus(scaled(x)?, i)?),
            (Offset::Uniform(x), Piece::Linear { base, stride }) => {
                Offset::Strided(plus(scaled(x)?, base)?, Stride::Constant(stride))
            }
            (Offset::Strided(x, s), Piece::Uniform(i)) => {
                Offset::Strided(plus(scaled(x)?, i)?, self.scale(s, dim, 0)?)
            }
            (Offset::Strided(x, s), Piece::Linear { base, stride }) => {
                Offset::Strided(plus(scaled(x)?, base)?, self.scale(s, dim, stride)?)
            }
            (Offset::Uniform(x), Piece::Vector(v)) => match dim {
                Some(_) => Offset::Vector(self.e.add(self.spread(scaled(x)?)?, v)?),
                None => Offset::Vector(v),
            },
            (offset, i) => {
                let all = self.offsets(&offset)?;
                let scaled = match dim {
                    Some(d) => self.e.mul(all, self.spread(d)?)?,
                    None => all,
                };
                Offset::Vector(self.e.add(scaled, self.vector(i)?)?)
            }
        })
    }

    fn scale(
        &self,
        s: Stride<'ctx>,
        dim: Option<IntValue<'ctx>>,
        more: i64,
    ) -> Result<Stride<'ctx>, EmitError> {
        let b = self.e.builder;
        let Some(dim) = dim else { return Ok(Stride::Constant(more)) };
        Ok(match (s, dim.get_sign_extended_constant()) {
            (Stride::Constant(0), _) => Stride::Constant(more),
            (Stride::Constant(s), Some(d)) => Stride::Constant(s.wrapping_mul(d).wrapping_add(more)),
            (s, _) => {
                let s = match s {
                    Stride::Constant(s) => self.i64(s),
                    Stride::Value(v) => v,
                };
                let scaled = b.build_int_mul(s, dim, "")?;
                Stride::Value(match more {
                    0 => scaled,
                    m => b.build_int_add(scaled, self.i64(m), "")?,
                })
            }
        })
    }

    fn spread(&self, x: IntValue<'ctx>) -> Result<Value<'ctx>, EmitError> {
        self.vector(Piece::Uniform(x.into()))
    }

    /// The offsets of all lanes as a vector.
    pub fn offsets(&self, offset: &Offset<'ctx>) -> Result<Value<'ctx>, EmitError> {
        match *offset {
            Offset::Uniform(x) => self.spread(x),
            Offset::Strided(x, Stride::Constant(stride)) => {
                self.vector(Piece::Linear { base: x.into(), stride })
            }
            Offset::Strided(x, Stride::Value(s)) => {
                let lanes = self.vector(Piece::Linear { base: self.i64(0).into(), stride: 1 })?;
                let steps = self.e.mul(lanes, self.spread(s)?)?;
                self.e.add(self.spread(x)?, steps)
            }
            Offset::Vector(v) => Ok(v),
        }
    }

    pub fn offset_of_lane(&self, offset: &Offset<'ctx>, lane: u32) -> Result<IntValue<'ctx>, EmitError> {
        let b = self.e.builder;
        let n = self.i64(i64::from(lane));
        Ok(match *offset {
            Offset::Uniform(x) => x,
            Offset::Strided(x, _) if lane == 0 => x,
            Offset::Strided(x, Stride::Constant(s)) => {
                b.build_int_nsw_add(x, self.i64(s.wrapping_mul(i64::from(lane))), "")?
            }
            Offset::Strided(x, Stride::Value(s)) => {
                let step = b.build_int_nsw_mul(s, n, "")?;
                b.build_int_nsw_add(x, step, "")?
            }
            Offset::Vector(v) => super::int(self.lane(Piece::Vector(v), n.into())?)?,
        })
    }

    /// The elements of all lanes, one load for each.
    pub fn gather(
        &self,
        buffer: Var,
        ty: BaseTy,
        base: PointerValue<'ctx>,
        offset: &Offset<'ctx>,
    ) -> Result<Value<'ctx>, EmitError> {
        let w = self.lanes.unwrap_or(1);
        let BasicTypeEnum::VectorType(t) = self.e.llvm_ty(ty, Some(w)) else {
            return Err(EmitError::WrongValue("gather"));
        };
        let mut all = t.get_poison();
        for lane in 0..w {
            let x = self.read(buffer, ty, base, self.offset_of_lane(offset, lane)?, None)?;
            all = self.e.builder.build_insert_element(all, x, self.i32(lane), "")?;
        }
        Ok(all.into())
    }

    pub fn read(
        &self,
        buffer: Var,
        ty: BaseTy,
        base: PointerValue<'ctx>,
        index: IntValue<'ctx>,
        lanes: Option<u32>,
    ) -> Result<Value<'ctx>, EmitError> {
        let at = self.e.element(ty, base, index)?;
        let memory = self.e.memory_ty(ty, lanes);
        let v = self.e.builder.build_load(memory, at, "")?;
        if let Some(i) = v.as_instruction_value() {
            i.set_alignment(element_bytes(memory)).map_err(|_| EmitError::WrongValue("load"))?;
        }
        self.loaded(buffer, ty, v)
    }

    /// What a load from a buffer gives, as a value.
    pub fn loaded(&self, buffer: Var, ty: BaseTy, v: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        if let Some(i) = v.as_instruction_value() {
            self.tag(buffer, i)?;
        }
        self.e.from_memory(ty, v)
    }

    pub fn write(
        &self,
        buffer: Var,
        ty: BaseTy,
        base: PointerValue<'ctx>,
        index: IntValue<'ctx>,
        v: Value<'ctx>,
    ) -> Result<(), EmitError> {
        let at = self.e.element(ty, base, index)?;
        let v: BasicValueEnum<'ctx> = self.e.to_memory(ty, v)?;
        let i = self.e.builder.build_store(at, v)?;
        i.set_alignment(element_bytes(v.get_type())).map_err(|_| EmitError::WrongValue("store"))?;
        self.tag(buffer, i)
    }

    /// Says which buffer an access is of.
    pub fn tag(&self, buffer: Var, i: InstructionValue<'ctx>) -> Result<(), EmitError> {
        let Some(scope) = self.scopes.get(&buffer) else { return Ok(()) };
        let c = self.e.context;
        let wrong = |_| EmitError::WrongValue("metadata");
        i.set_metadata(scope.own, c.get_kind_id("alias.scope")).map_err(wrong)?;
        if let Some(others) = scope.others {
            i.set_metadata(others, c.get_kind_id("noalias")).map_err(wrong)?;
        }
        Ok(())
    }
}

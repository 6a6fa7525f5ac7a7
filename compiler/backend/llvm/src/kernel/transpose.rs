//! Transposed accesses.
//!
//! In a jammed loop around one in lanes an access may be contiguous in the jammed iterations and strided in
//! the lanes: `(load %a %j %i)` of jammed `%i` and `%j` in lanes. The iterations' vectors are then the
//! columns of a block of memory. It is read by rows, one load for each lane instead of one for each lane
//! and iteration, and transposed in registers; a store is the same backwards.
//!
//! ```text
//! a0 a1 a2 a3    of distance 2    a0 a1 c0 c1    of distance 1    a0 b0 c0 d0
//! b0 b1 b2 b3                     b0 b1 d0 d1                     a1 b1 c1 d1
//! c0 c1 c2 c3                     a2 a3 c2 c3                     a2 b2 c2 d2
//! d0 d1 d2 d3                     b2 b3 d2 d3                     a3 b3 c3 d3
//! ```
//!
//! What is written row by row meanwhile goes to as many places, a power of two apart as often as not, which
//! the caches cannot keep at once. So where the rows are whole cache lines of a buffer too large for them,
//! they are written past the caches (measured: two and a half times as fast). Such stores are not ordered with
//! others; a kernel that has some ends with a fence.
//!
//! A step exchanges, between rows of that distance, the lanes that have the bit of the distance in one of
//! them alone (Eklundh, "A fast computer method for matrix transposing", 1972).

use super::Fun;
use super::memory::{Offset, Stride};
use super::pieces::{Piece, Pieces, count, piece};
use super::scan::vector;
use crate::error::EmitError;
use crate::values::{Value, element_bytes};
use inkwell::IntPredicate;
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{PointerValue, VectorValue};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, BufferTy, Exp, Var};
use remc_kernel::schedule::Field;

/// The bytes of a cache line.
const LINE: u32 = 64;

impl<'ctx> Fun<'_, 'ctx> {
    /// Keeps in mind the variables that grow by one from jammed iteration to iteration.
    pub fn note_linear(&mut self, var: Var, exp: &Exp) {
        if self.jam == 1 {
            return;
        }
        let linear = |a: &Atom| a.as_var().is_some_and(|v| self.jam_linear.contains(&v));
        let fixed = |a: &Atom| a.as_var().is_none_or(|v| !self.jam_varying.contains(&v));
        let yes = match exp {
            Exp::Atom(a) => linear(a),
            Exp::Op(ScalarOp::Add, args) => match args.as_slice() {
                [a, b] => linear(a) && fixed(b) || fixed(a) && linear(b),
                _ => false,
            },
            Exp::Op(ScalarOp::Sub, args) => matches!(args.as_slice(), [a, b] if linear(a) && fixed(b)),
            _ => false,
        };
        if yes {
            self.jam_linear.insert(var);
        }
    }

    /// The side of the blocks in which an access at these indices can be transposed.
    pub fn transposable(&self, ty: BaseTy, at: &[Atom], pieces: &[Pieces<'ctx>]) -> Option<u32> {
        let (w, k) = (self.lanes?, u32::try_from(self.jam).ok()?);
        let (last, rows) = pieces.split_last()?;
        let Some(Atom::Var(v)) = at.last() else { return None };
        let contiguous = self.jam_linear.contains(v)
            && last.len() == self.jam
            && last.iter().all(|p| matches!(p, Piece::Uniform(_)));
        let strided = |p: &Pieces<'ctx>| matches!(p.as_slice(), [Piece::Linear { .. }]);
        let shared = |p: &Pieces<'ctx>| matches!(p.as_slice(), [Piece::Uniform(_)]);
        let fits = k > 1
            && k.is_power_of_two()
            && w.is_power_of_two()
            && ty != BaseTy::Bool
            && contiguous
            && rows.iter().all(|p| strided(p) || shared(p))
            && rows.iter().any(strided);
        fits.then_some(k.min(w).min(self.schedule[Field::TransposedRows] as u32))
    }

    /// The columns of blocks: a vector for each jammed iteration.
    pub fn load_transposed(
        &self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        side: u32,
    ) -> Result<Pieces<'ctx>, EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        let mut columns = Vec::new();
        for first in (0..self.jam).step_by(side as usize) {
            let offset = self.offset(&ty, at, first)?;
            let mut groups = Vec::new();
            for group in (0..self.lanes.unwrap_or(1)).step_by(side as usize) {
                let rows = (group..group + side)
                    .map(|lane| {
                        let i = self.offset_of_lane(&offset, lane)?;
                        vector(self.read(buffer, ty.base, base, i, Some(side))?)
                    })
                    .collect::<Result<Vec<_>, EmitError>>()?;
                groups.push(self.transposed(rows)?);
            }
            for c in 0..side as usize {
                let parts = groups.iter().map(|g| g[c]).collect();
                columns.push(Piece::Vector(self.joined(parts)?.into()));
            }
        }
        Ok(columns.into())
    }

    pub fn store_transposed(
        &self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        value: &Pieces<'ctx>,
        side: u32,
    ) -> Result<(), EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        for first in (0..self.jam).step_by(side as usize) {
            let offset = self.offset(&ty, at, first)?;
            for group in (0..self.lanes.unwrap_or(1)).step_by(side as usize) {
                let columns = (first..first + side as usize)
                    .map(|t| {
                        let all = vector(self.vector(piece(value, t)?)?)?;
                        self.shuffle(all, all, group..group + side)
                    })
                    .collect::<Result<Vec<_>, EmitError>>()?;
                for (r, row) in (0..).zip(self.transposed(columns)?) {
                    let i = self.offset_of_lane(&offset, group + r)?;
                    self.write(buffer, ty.base, base, i, row.into())?;
                }
            }
        }
        Ok(())
    }

    /// The addresses and values of stores that may go past the caches: those of a whole cache line for each
    /// jammed iteration, in a buffer that the kernel does not read.
    pub fn streamable(
        &self,
        buffer: Var,
        (ty, base): (&BufferTy, PointerValue<'ctx>),
        at: &[Pieces<'ctx>],
        value: &Pieces<'ctx>,
    ) -> Result<Option<Vec<(PointerValue<'ctx>, Value<'ctx>)>>, EmitError> {
        let Some(w) = self.lanes else { return Ok(None) };
        let bytes = w * element_bytes(self.e.memory_ty(ty.base, None));
        let lines = bytes.is_multiple_of(LINE) && self.host.vector_bits == 512;
        let alone = || self.kernel.is_some_and(|k| !remc_kernel::memory::read(&k.body).contains(&buffer));
        if !(cfg!(target_arch = "x86_64") && self.writes_lines && lines && count(at) == self.jam && alone()) {
            return Ok(None);
        }
        let mut stores = Vec::new();
        for k in 0..self.jam {
            let Offset::Strided(i, Stride::Constant(1)) = self.offset(ty, at, k)? else { return Ok(None) };
            let x = self.vector(piece(value, k)?)?;
            stores.push((self.e.element(ty.base, base, i)?, self.e.to_memory(ty.base, x)?));
        }
        Ok(Some(stores))
    }

    /// Stores past the caches, if the buffer is large and the addresses begin cache lines.
    pub fn stream(
        &mut self,
        buffer: Var,
        ty: &BufferTy,
        stores: &[(PointerValue<'ctx>, Value<'ctx>)],
    ) -> Result<(), EmitError> {
        self.streams = true;
        let b = self.e.builder;
        let mut bytes = self.i64(i64::from(element_bytes(self.e.memory_ty(ty.base, None))));
        for d in &ty.dims {
            bytes = b.build_int_mul(bytes, self.size(*d)?, "")?;
        }
        let large =
            self.e.icmp(IntPredicate::SGE, bytes.into(), self.i64(self.schedule[Field::Stream]).into())?;
        let mut bits = self.i64(0);
        for (address, _) in stores {
            let number = b.build_ptr_to_int(*address, self.e.context.i64_type(), "")?;
            bits = b.build_or(bits, number, "")?;
        }
        let bits = b.build_and(bits, self.i64(i64::from(LINE) - 1), "")?;
        let aligned = self.e.icmp(IntPredicate::EQ, bits.into(), self.i64(0).into())?;
        let (past, through, on) = (self.append(), self.append(), self.append());
        self.branch(self.e.and(large, aligned)?, past, through)?;
        let wrong = |_| EmitError::WrongValue("store");
        for (block, streams) in [(past, true), (through, false)] {
            self.position(block);
            for (address, x) in stores {
                let i = b.build_store(*address, *x)?;
                let align = if streams { LINE } else { element_bytes(x.get_type()) };
                i.set_alignment(align).map_err(wrong)?;
                self.tag(buffer, i)?;
                if streams {
                    let c = self.e.context;
                    let one = c.metadata_node(&[self.i32(1).into()]);
                    i.set_metadata(one, c.get_kind_id("nontemporal"))
                        .map_err(|_| EmitError::WrongValue("metadata"))?;
                }
            }
            self.jump(on)?;
        }
        self.position(on);
        Ok(())
    }

    /// Waits until what was stored past the caches can be seen.
    pub fn fence(&self) -> Result<(), EmitError> {
        let f = Intrinsic::find("llvm.x86.sse.sfence")
            .and_then(|i| i.get_declaration(self.e.module, &[]))
            .ok_or(EmitError::NoIntrinsic("llvm.x86.sse.sfence"))?;
        self.e.builder.build_direct_call(f, &[], "")?;
        Ok(())
    }

    /// As many rows as each has lanes, a power of two, transposed.
    fn transposed(&self, mut rows: Vec<VectorValue<'ctx>>) -> Result<Vec<VectorValue<'ctx>>, EmitError> {
        let n = rows.len() as u32;
        let mut d = n / 2;
        while d > 0 {
            for r in (0..n).filter(|r| r & d == 0) {
                let (a, b) = (rows[r as usize], rows[(r + d) as usize]);
                let low = (0..n).map(|c| if c & d == 0 { c } else { n + c - d });
                let high = (0..n).map(|c| if c & d == 0 { c + d } else { n + c });
                rows[r as usize] = self.shuffle(a, b, low)?;
                rows[(r + d) as usize] = self.shuffle(a, b, high)?;
            }
            d /= 2;
        }
        Ok(rows)
    }
}

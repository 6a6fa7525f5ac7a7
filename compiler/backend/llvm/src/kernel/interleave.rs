//! Short rows that lie side by side: points, complex numbers, pixels.
//!
//! ```text
//! (for (lanes 8) %i … (let (%x) (load %ps (%i 0))) (let (%y) (load %ps (%i 1))) (let (%z) (load %ps (%i 2))) …)    %ps: %n × 3
//!
//! all = ps[i, 0] … ps[i + 7, 2]        24 elements, one after the other: loaded once, LLVM sees, for the three
//! x = all[0 3 6 …]   y = all[1 4 7 …]   z = all[2 5 8 …]
//! ```
//!
//! Each lane wants the same element of a row of its own, and the rows of all lanes are consecutive in memory. So they are
//! loaded as they lie, and shuffled; and where a body stores all elements of its row, one after the other, those are shuffled
//! first and stored together. Rows are this short up to `row.interleaved` elements.

use super::Fun;
use super::memory::{Offset, Stride};
use super::pieces::{Piece, Pieces, count, piece};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::values::BasicValueEnum;
use remc_kernel::ir::{Atom, BufferTy, Stmt, StmtKind, Var};
use remc_kernel::schedule::Field;

impl<'ctx> Fun<'_, 'ctx> {
    /// How many elements a row has of which each lane has one of its own, if they are few; `stride` is from lane to lane.
    fn row_of_lane(&self, ty: &BufferTy, stride: Stride<'ctx>) -> Option<u32> {
        let Stride::Constant(stride) = stride else { return None };
        let few = (2..=self.schedule[Field::Interleaved]).contains(&stride);
        let is_row = ty.dims.len() > 1 && ty.dims.last().and_then(|n| n.as_int()) == Some(stride);
        (few && is_row && self.lanes.is_some()).then(|| u32::try_from(stride).ok()).flatten()
    }

    /// The elements at these indices, for iteration `k`, out of the rows of all lanes; `None` if they are not such.
    pub fn load_interleaved(
        &self,
        (buffer, at): (Var, &[Pieces<'ctx>]),
        k: usize,
        offset: &Offset<'ctx>,
    ) -> Result<Option<Value<'ctx>>, EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        let (Offset::Strided(first, stride), Some(w)) = (offset, self.lanes) else { return Ok(None) };
        let Some(row) = self.row_of_lane(&ty, *stride) else { return Ok(None) };
        let column = at.last().map(|p| piece(p, k)).transpose()?;
        let Some(Piece::Uniform(BasicValueEnum::IntValue(column))) = column else { return Ok(None) };
        let Some(c) =
            column.get_sign_extended_constant().and_then(|c| u32::try_from(c).ok()).filter(|c| *c < row)
        else {
            return Ok(None);
        };
        let first = self.e.builder.build_int_nsw_sub(*first, self.i64(c.into()), "")?;
        let all = self.read(buffer, ty.base, base, first, Some(w * row))?;
        let column: Vec<u32> = (0..w).map(|lane| lane * row + c).collect();
        self.shuffled((all, all), &column).map(Some)
    }

    /// How many of the statements, from the first on, store the elements of a short row, one after the other; 0 if they do not,
    /// or the rows of the lanes are not consecutive.
    pub fn interleaved(&self, block: &[Stmt]) -> Result<usize, EmitError> {
        let Some(Stmt { kind: StmtKind::Store { buffer, at, .. }, .. }) = block.first() else { return Ok(0) };
        if self.lanes.is_none() || self.mask.is_some() || self.private.contains(buffer) {
            return Ok(0);
        }
        let Some(ty) = self.buffer_ty(*buffer) else { return Ok(0) };
        let pieces = at.iter().map(|a| self.atom(*a)).collect::<Result<Vec<_>, _>>()?;
        if count(&pieces) > 1 {
            return Ok(0);
        }
        let Offset::Strided(_, stride) = self.offset(ty, &pieces, 0)? else { return Ok(0) };
        let Some(row) = self.row_of_lane(ty, stride) else { return Ok(0) };
        let outer = &at[..at.len() - 1];
        let is_next = |k: usize, s: &Stmt| match &s.kind {
            StmtKind::Store { buffer: b, at, value } => {
                let alone = self.atom(*value).is_ok_and(|v| v.len() == 1);
                b == buffer && alone && at.split_last() == Some((&Atom::int(k as i64), outer))
            }
            _ => false,
        };
        let all = block.iter().take(row as usize).enumerate().all(|(k, s)| is_next(k, s));
        Ok(if all && block.len() >= row as usize { row as usize } else { 0 })
    }

    /// The statements of [`Fun::interleaved`] as one store.
    pub fn store_interleaved(&mut self, stores: &[Stmt]) -> Result<(), EmitError> {
        let (Some(w), Some(Stmt { kind: StmtKind::Store { buffer, at, .. }, .. })) =
            (self.lanes, stores.first())
        else {
            return Ok(());
        };
        let (ty, base) = self.buffer(*buffer)?;
        let pieces = at.iter().map(|a| self.atom(*a)).collect::<Result<Vec<_>, _>>()?;
        let Offset::Strided(first, _) = self.offset(&ty, &pieces, 0)? else {
            return Err(EmitError::WrongValue("rows of lanes"));
        };
        let mut columns = Vec::new();
        for s in stores {
            if let StmtKind::Store { value, .. } = &s.kind {
                columns.push(self.vector(piece(&self.atom(*value)?, 0)?)?);
            }
        }
        let row = columns.len() as u32;
        // One after the other, two and two, until all are in one.
        let mut wide = w;
        while columns.len() > 1 {
            let both: Vec<u32> = (0..2 * wide).collect();
            let pairs = columns.chunks(2).map(|pair| (pair[0], pair[pair.len() - 1]));
            columns = pairs.map(|pair| self.shuffled(pair, &both)).collect::<Result<_, _>>()?;
            wide *= 2;
        }
        let places: Vec<u32> = (0..w * row).map(|k| k % row * w + k / row).collect();
        let all = *columns.first().ok_or(EmitError::WrongValue("no row"))?;
        let all = self.shuffled((all, all), &places)?;
        self.write(*buffer, ty.base, base, first, all)
    }
}

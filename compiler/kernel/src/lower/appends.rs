//! Arrays one after the other: each part is made where it belongs in the result, or copied there.
//!
//! ```text
//! (let a (seg-map …))                       (alloc %c) (slice %a %c 0) (launch k0 (… %a))
//! (let c (host (view (append ys) a)))   ⇒   (slice %ys.9 %c n) (launch k1 (… %ys.9 %ys))
//! ```
//!
//! [`remc_flat::appends`] says which parts have a home in the result. Memory for the result comes with the
//! first of them, and so do the sizes that it takes. Each copy is a kernel of its own.

use super::build::Emit;
use super::plan::{Appends, Plan};
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_flat::appends::homes;
use remc_flat::ir as flat;
use remc_mono::ir as mono;

impl Plan {
    pub fn appends(&self, b: &flat::Body) -> Appends {
        Appends { homes: homes(b, &self.flat.vars, &|v| self.is_size(v)), ..Appends::default() }
    }

    fn here(&mut self) -> L<&mut Appends> {
        match self.scopes.last_mut() {
            Some(s) => Ok(&mut s.appends),
            None => wrong("no block"),
        }
    }

    /// Whether a statement has been run before its turn.
    pub fn is_done(&self, s: &flat::Stmt) -> bool {
        self.scopes.last().is_some_and(|here| s.pat.iter().any(|v| here.appends.sizes.contains(v)))
    }

    /// Whether an array is made in the memory of another one.
    pub fn has_home(&self, v: mono::Var) -> bool {
        self.scopes.last().is_some_and(|here| {
            let a = &here.appends;
            a.wholes.contains_key(&v) || a.homes.homes.contains_key(&v) || a.homes.rooms.contains_key(&v)
        })
    }

    /// The memory of an array that is made in that of an append, or of an append in which arrays are.
    pub fn at_home(&mut self, v: mono::Var) -> L<Option<Place>> {
        if let Some(place) = self.here()?.wholes.remove(&v) {
            return Ok(Some(place));
        }
        let Some(home) = self.here()?.homes.homes.remove(&v) else { return self.room(v) };
        let whole = match self.here()?.wholes.get(&home.whole).cloned() {
            Some(place) => place,
            None => self.alloc_for(home.whole)?,
        };
        self.here()?.wholes.insert(home.whole, whole.clone());
        self.rows(v, &whole, home.first).map(Some)
    }

    /// The memory for all that is made in the result of an append.
    fn room(&mut self, v: mono::Var) -> L<Option<Place>> {
        let Some(room) = self.here()?.homes.rooms.remove(&v) else { return Ok(None) };
        let prov = std::mem::replace(&mut self.prov, room.prov);
        for s in &room.sizes {
            if s.pat.iter().any(|v| self.bound(*v).is_err()) {
                self.stmt(s)?;
                self.here()?.sizes.extend(&s.pat);
            }
        }
        self.prov = room.prov;
        let mut ty = self.buffer_ty(v, Space::Global)?;
        let rows = self.atoms(&room.rows)?;
        if let Some(n) = ty.dims.first_mut() {
            for a in rows {
                *n = self.int(ScalarOp::Max2, *n, a)?;
            }
        }
        let name = self.flat.vars[v].name.clone();
        let place = Place::whole(self.alloc(name.as_str(), ty));
        self.prov = prov;
        Ok(Some(place))
    }

    /// The place for `v` in `whole`, from this row on.
    fn rows(&mut self, v: mono::Var, whole: &Place, first: mono::Atom) -> L<Place> {
        let (Some(ty), Some(n)) = (self.out.buffer_ty(whole.buffer), self.dims(v)?.first().copied()) else {
            return wrong("rows of a scalar");
        };
        let mut ty = ty.clone();
        ty.dims.iter_mut().take(1).for_each(|d| *d = n);
        let (of, first) = (whole.buffer, self.atom(first)?);
        let buffer = self.out.buffer(self.flat.vars[v].name.clone().as_str(), ty);
        self.emit(StmtKind::Slice { buffer, of, first });
        self.is_of(buffer, of);
        self.slices.insert(buffer);
        Ok(Place::whole(buffer))
    }

    /// One array, and after it another one.
    pub fn append(&mut self, v: mono::Var, array: mono::Var, with: mono::Var) -> L<()> {
        let out = self.alloc_for(v)?;
        let Some(n) = self.flat.vars[array].ty.dims.first().copied() else {
            return wrong("append to a scalar");
        };
        for (part, first) in [(array, mono::Atom::int(0)), (with, n)] {
            let from = self.place(part)?;
            // Memory for the result alone: what is in it already was made there.
            if self.root(from.buffer) != self.root(out.buffer) {
                let to = self.rows(part, &out, first)?;
                self.copy(part, &to)?;
            }
        }
        self.set(v, Bound::Array(out));
        Ok(())
    }
}

//! Loops in lanes: neighbouring elements of vectors, which come and go as one word of memory.
//!
//! ```text
//! (for (lanes 4) %i (tile %p 4 %n) () (let %x (load %xs %i)) (let %y (op + %x 1)) (store %ys (%i) %y))
//!
//! if (p * 4 + 4 <= n) {
//!   const remc::pack<f32, 4> xs_4 = remc::take<4>(&xs[p * 4]);
//!   remc::pack<f32, 4> ys_4;
//!   for (int lane = 0; lane < 4; ++lane) { const i64 i = p * 4 + lane; const f32 x = xs_4.at[lane]; … }
//!   remc::put(&ys[p * 4], ys_4);
//! } else for (i64 i = p * 4; i < n; ++i) …
//! ```
//!
//! Buffers begin at multiples of 16 bytes at least, so packs of a power of two of elements do, too. Slices of
//! buffers begin anywhere: a kernel that is given one has no packs.

use crate::body::{Body, Pack, Printed, Side};
use crate::scalar::type_name;
use remc_kernel::ir::*;

/// Whether a body needs the number of an element for more than to find it in its pack.
fn mentions_number(body: &[Stmt], var: Var) -> bool {
    let lane = Atom::Var(var);
    body.iter().any(|s| match &s.kind {
        StmtKind::Let { exp: Exp::Load { at, .. }, .. } => at[..] != [lane] && at.contains(&lane),
        StmtKind::Let { exp: Exp::Op(_, args), .. } => args.contains(&lane),
        StmtKind::Let { exp: Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a), .. } => *a == lane,
        StmtKind::Store { at, value, .. } => *value == lane || at[..] != [lane] && at.contains(&lane),
        _ => false,
    })
}

/// Whether no buffer is both read and written.
fn reads_apart_from_writes(body: &[Stmt]) -> bool {
    let read = remc_kernel::memory::read(body);
    !body.iter().any(|s| matches!(&s.kind, StmtKind::Store { buffer, .. } if read.contains(buffer)))
}

impl Body<'_> {
    /// Whether a loop's body only loads, computes and stores.
    pub fn packs(&self, how: How, range: &Range, carried: &[Carried], body: &[Stmt]) -> bool {
        let (How::Lanes(w), Range::Tile { size, .. }) = (how, range) else { return false };
        self.side == Side::Kernel
            && self.threads.is_some()
            && w.is_power_of_two()
            && size.as_int() == Some(i64::from(w))
            && carried.is_empty()
            && self.slices.is_empty()
            && reads_apart_from_writes(body)
            && body.iter().all(|s| matches!(s.kind, StmtKind::Let { .. } | StmtKind::Store { .. }))
    }

    pub fn in_packs(&mut self, width: u32, var: Var, range: &Range, body: &[Stmt]) -> Printed {
        let Range::Tile { index, limit, .. } = range else { return Ok(()) };
        let lane = [Atom::Var(var)];
        let (mut loaded, mut stored): (Vec<Var>, Vec<Var>) = Default::default();
        for s in body {
            let (to, buffer) = match &s.kind {
                StmtKind::Let { exp: Exp::Load { buffer, at }, .. } if at[..] == lane => {
                    (&mut loaded, *buffer)
                }
                StmtKind::Store { buffer, at, .. } if at[..] == lane => (&mut stored, *buffer),
                _ => continue,
            };
            if !to.contains(&buffer) {
                to.push(buffer);
            }
        }
        let (p, n) = (self.atom(*index), self.atom(*limit));
        let first = self.names.fresh("first");
        self.w.line(format!("const i64 {first} = {p} * {width};"));
        self.w.open(format!("if ({first} + {width} <= {n}) {{"));
        for buffer in &loaded {
            let (ty, from) = (type_name(self.buffer_ty(*buffer)?.base), self.name(*buffer));
            let name = self.names.fresh(&format!("{from}_{width}"));
            self.w.line(format!(
                "const remc::pack<{ty}, {width}> {name} = remc::take<{width}>(&{from}[{first}]);"
            ));
            self.taken.push(Pack { buffer: *buffer, name });
        }
        for buffer in &stored {
            let (ty, to) = (type_name(self.buffer_ty(*buffer)?.base), self.name(*buffer));
            let name = self.names.fresh(&format!("{to}_{width}"));
            self.w.line(format!("remc::pack<{ty}, {width}> {name};"));
            self.put.push(Pack { buffer: *buffer, name });
        }
        self.w.line("#pragma unroll");
        self.w.open(format!("for (int lane = 0; lane < {width}; ++lane) {{"));
        let i = self.name(var);
        if mentions_number(body, var) {
            self.w.line(format!("const i64 {i} = {first} + lane;"));
        }
        self.lane = Some(var);
        self.block(body)?;
        self.lane = None;
        self.w.close("}");
        self.taken.clear();
        for pack in std::mem::take(&mut self.put) {
            let to = self.name(pack.buffer);
            self.w.line(format!("remc::put(&{to}[{first}], {});", pack.name));
        }
        self.w.turn("} else {");
        self.w.open(format!("for (i64 {i} = {first}; {i} < {n}; ++{i}) {{"));
        self.block(body)?;
        self.w.close("}");
        self.w.close("}");
        Ok(())
    }

    /// The element of a pack that an access is, inside of a loop over its lanes.
    pub fn packed(&self, buffer: Var, at: &[Atom], store: bool) -> Option<String> {
        self.lane.filter(|v| at == [Atom::Var(*v)])?;
        let packs = if store { &self.put } else { &self.taken };
        packs.iter().find(|p| p.buffer == buffer).map(|p| format!("{}.at[lane]", p.name))
    }
}

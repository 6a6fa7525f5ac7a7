//! What goes piece by piece in the plan: the program's inputs, and the channels of its streams.
//!
//! ```text
//! (let (%n %x) (pull 0 %at (multiple 1)))     (pull 0 %at (multiple 1) (%n int) () ((%x global float %n)))
//! (let () (push 1 %y))                        (push 1 (%y))
//! ```
//!
//! What is pulled is the plan's own, as if it had allocated it; what is pushed has to be all of its buffer.

use super::build::Emit;
use super::plan::Plan;
use super::{Bound, L, wrong};
use crate::ir::*;
use remc_mono::ir as mono;

impl Plan {
    /// What the caller is told of the parameters, in the plan's variables.
    pub fn inputs(&mut self) -> L<()> {
        let mut inputs = std::mem::take(&mut self.out.inputs);
        for i in &mut inputs {
            self.input(i)?;
            if let Some(size) = i.stream_size_mut() {
                match self.bound(*size)? {
                    Bound::Scalar(Atom::Var(v)) => *size = v,
                    _ => return wrong("the size of a stream that is no scalar parameter"),
                }
            }
            if let Input::Channel { size, items, .. } = i {
                **items = items.anonymous(*size);
            }
        }
        self.out.inputs = inputs;
        Ok(())
    }

    fn input(&mut self, i: &mut Input) -> L<()> {
        for v in i.vars_mut() {
            *v = match self.bound(*v)? {
                Bound::Array(p) => p.buffer,
                Bound::Scalar(Atom::Var(v)) => v,
                Bound::Scalar(_) => return wrong("a constant parameter"),
            };
        }
        Ok(())
    }

    pub fn pull(&mut self, pat: &[mono::Var], channel: usize, at: mono::Atom, take: Take) -> L<()> {
        let Some((count, rest)) = pat.split_first() else { return wrong("a pull of nothing") };
        let at = self.atom(at)?;
        let take = match take {
            Take::Multiple(n) => Take::Multiple(self.atom(n)?),
            Take::Exactly(n) => Take::Exactly(self.atom(n)?),
            Take::All => Take::All,
        };
        let count = self.like(*count)?;
        let (mut elements, mut arrays) = (Vec::new(), Vec::new());
        for v in rest {
            match self.flat.vars[*v].ty.is_scalar() {
                true => elements.push(self.like(*v)?),
                false => arrays.push(*v),
            }
        }
        let buffers = arrays.iter().map(|v| self.like(*v)).collect::<L<Vec<_>>>()?;
        self.emit(StmtKind::Pull { channel, at, take, count, elements, buffers: buffers.clone() });
        self.bind_results(&arrays, buffers)
    }

    pub fn push(&mut self, channel: usize, arrays: &[mono::Var]) -> L<()> {
        let buffers = arrays.iter().map(|v| self.stored(*v)).collect::<L<Vec<_>>>()?;
        self.emit(StmtKind::Push { channel, buffers });
        Ok(())
    }

    /// The buffer of an array that is alone in it: of others a copy.
    fn stored(&mut self, v: mono::Var) -> L<Var> {
        if let Bound::Array(place) = self.bound(v)?
            && place.prefix.is_empty()
            && !self.slices.contains(&place.buffer)
        {
            return Ok(place.buffer);
        }
        let to = self.alloc_for(v)?;
        self.copy(v, &to)?;
        Ok(to.buffer)
    }
}

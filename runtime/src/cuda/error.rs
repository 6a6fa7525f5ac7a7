//! The error slot: which check of a kernel failed, of those that did.
//!
//! ```text
//! slot ::= block: u64   trap: u32   prov: u32   values: i64 × 16            (144 bytes, device memory)
//! ```
//!
//! `block` is the lowest block in which a check failed, all ones if none has. The other fields belong to that
//! block: the number of the check in the program's table of traps, its provenance, its values.
//!
//! Only a kernel writes it, and reads it while it runs; the top bit of `block` is its own, by which a thread
//! that writes keeps out the others. The host sets `block` to all ones before a run, and looks at it after a
//! launch: one copy of 8 bytes, which waits for the kernel as the next step of the plan would anyway, and the
//! rest of the slot only if something has failed.

use crate::stop::Failure;
use remc_base::trap::MOST_VALUES;

/// How many bytes the slot has.
pub const BYTES: usize = 16 + 8 * MOST_VALUES;
/// The `block` of a slot that says nothing.
pub const NONE: u64 = u64::MAX;

/// What a slot says; the caller knows how many of the values belong to the trap.
pub fn read(slot: &[u8; BYTES]) -> Option<Failure> {
    let (block, rest) = slot.split_first_chunk::<8>()?;
    let block = u64::from_le_bytes(*block);
    if block == NONE {
        return None;
    }
    let (trap, rest) = rest.split_first_chunk::<4>()?;
    let (prov, values) = rest.split_first_chunk::<4>()?;
    let values = values.chunks_exact(8).filter_map(|v| Some(i64::from_le_bytes(v.try_into().ok()?)));
    Some(Failure {
        block,
        trap: u32::from_le_bytes(*trap),
        prov: u32::from_le_bytes(*prov),
        values: values.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots() {
        let mut slot = [0xff; BYTES];
        assert_eq!(read(&slot), None);
        slot[..8].copy_from_slice(&7u64.to_le_bytes());
        slot[8..12].copy_from_slice(&3u32.to_le_bytes());
        slot[12..16].copy_from_slice(&9u32.to_le_bytes());
        slot[16..24].copy_from_slice(&(-5i64).to_le_bytes());
        let failure = read(&slot).unwrap();
        assert_eq!((failure.block, failure.trap, failure.prov), (7, 3, 9));
        assert_eq!((failure.values.len(), &failure.values[..2]), (MOST_VALUES, &[-5, -1][..]));
    }
}

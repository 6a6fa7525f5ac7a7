//! The error slot: which check of a kernel failed, of those that did.
//!
//! ```text
//! slot ::= place: u64   trap: u32   prov: u32   count: u32   lock: u32   values: i64 × 16      (152 bytes)
//! ```
//!
//! in the GPU's memory. `place` is the lowest block in which a check failed, all ones if none has. The other
//! fields belong to that block: the number of the check in the program's table of traps, its provenance, how
//! many values it has, and these. `lock` is the kernels' own: who writes keeps out the others.
//!
//! The host clears the slot before a run and looks at it after a launch: one copy of 8 bytes, which waits for
//! the kernel as the next step of the plan would anyway, and the rest only if something has failed.

use crate::stop::Failure;
use remc_base::trap::MOST_VALUES;

/// How many bytes come before the values.
const HEAD: usize = 24;
/// How many bytes the slot has.
pub const BYTES: usize = HEAD + 8 * MOST_VALUES;
/// The `place` of a slot that says nothing.
pub const NONE: u64 = u64::MAX;

/// The beginning of a slot that says nothing.
pub fn clear() -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&NONE.to_le_bytes());
    head
}

/// What a slot says.
pub fn read(slot: &[u8; BYTES]) -> Option<Failure> {
    let word = |at: usize| slot.get(at..at + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_le_bytes);
    let block = word(0);
    if block == NONE {
        return None;
    }
    // Two fields of 32 bits in a word, the low one first.
    let (trap, prov, count) = (word(8) as u32, (word(8) >> 32) as u32, word(16) as u32 as usize);
    let values = (0..count.min(MOST_VALUES)).map(|i| word(HEAD + 8 * i) as i64).collect();
    Some(Failure { block, trap, prov, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots() {
        let mut slot = [0xff; BYTES];
        slot[..HEAD].copy_from_slice(&clear());
        assert_eq!(read(&slot), None);
        slot[..8].copy_from_slice(&7u64.to_le_bytes());
        for (at, n) in [(8, 3u32), (12, 9), (16, 2), (20, 1)] {
            slot[at..at + 4].copy_from_slice(&n.to_le_bytes());
        }
        slot[24..32].copy_from_slice(&(-5i64).to_le_bytes());
        assert_eq!(read(&slot), Some(Failure { block: 7, trap: 3, prov: 9, values: vec![-5, -1] }));
        slot[16] = 200;
        assert_eq!(read(&slot).map(|f| f.values.len()), Some(MOST_VALUES));
    }
}

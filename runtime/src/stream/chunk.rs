//! How many items a piece has: few at first, more as long as that makes an item cheaper.
//!
//! A piece costs something by itself, a launch and a wait; one that leaves the cache costs more an item again. Where between
//! the two is best is measured, as Clifton-Everest et al. (*Streaming irregular arrays*, 2017) do: the time an item is taken
//! from one pull to the next, as a weighted average for each size, and the size is doubled while the average falls, halved
//! when it has risen. What a program gives does not depend on it.

use std::time::Instant;

/// The bytes of the first piece.
const FIRST: u64 = 64 << 10;
/// The most bytes of a piece.
const MOST: u64 = 4 << 20;
/// By so much less, of one, an item has to cost before pieces become larger.
const BETTER: f64 = 0.03;
/// The part that a new measurement has in the average.
const NEW: f64 = 0.4;
/// Pulls between two decisions.
const EACH: u32 = 4;

/// Chooses the number of items of pieces.
#[derive(Debug)]
pub struct Chunk {
    /// A number for all pieces.
    fixed: Option<u64>,
    most: u64,
    bytes: u64,
    /// Nanoseconds an item, at this size and at the one before.
    now: Option<f64>,
    before: Option<f64>,
    settled: bool,
    pulls: u32,
    last: Option<(Instant, u64)>,
}

impl Chunk {
    /// Pieces of so many items, if that is said; and of a small part of so many bytes of memory: there are several arrays of
    /// each piece, and a piece that is read ahead.
    pub fn new(fixed: Option<u64>, memory: u64) -> Chunk {
        let most = (memory / 32).clamp(1, MOST);
        let bytes = FIRST.min(most);
        let (now, before, settled, pulls, last) = (None, None, false, 0, None);
        Chunk { fixed, most, bytes, now, before, settled, pulls, last }
    }

    /// How many items the next piece has, a multiple of `multiple`; an item has so many bytes. `first` is said of the first
    /// piece of a pass.
    pub fn next(&mut self, item_bytes: u64, multiple: u64, first: bool) -> u64 {
        if let Some(n) = self.fixed {
            return n.max(1).checked_next_multiple_of(multiple).unwrap_or(u64::MAX / multiple * multiple);
        }
        if first {
            self.last = None;
        }
        let now = Instant::now();
        if let Some((since, items)) = self.last {
            let each = (now - since).as_secs_f64() * 1e9 / items as f64;
            self.now = Some(self.now.map_or(each, |old| old + NEW * (each - old)));
            self.pulls += 1;
            if self.pulls >= EACH && !self.settled {
                self.decide();
            }
        }
        let items = (self.bytes / item_bytes.max(1)).max(1);
        // Down, where that leaves something: the most is a bound.
        let items = (items / multiple * multiple).max(multiple);
        self.last = Some((now, items));
        items
    }

    /// A piece has so many items: fewer than were wanted, perhaps.
    pub fn came(&mut self, items: usize) {
        if let Some((_, wanted)) = &mut self.last {
            *wanted = (items as u64).max(1);
        }
    }

    /// The bytes from which on a piece is large enough, whatever the number of its items; `None` where that is said.
    pub fn bytes(&self) -> Option<usize> {
        self.fixed.is_none().then_some(usize::try_from(self.most).unwrap_or(usize::MAX))
    }

    fn decide(&mut self) {
        self.pulls = 0;
        let better = match (self.now, self.before) {
            (Some(now), Some(before)) => now < before * (1.0 - BETTER),
            _ => true,
        };
        self.before = self.now.take();
        match better {
            true if self.bytes < self.most => self.bytes = (self.bytes * 2).min(self.most),
            true => self.settled = true,
            false => {
                self.bytes = (self.bytes / 2).max(FIRST.min(self.most));
                self.settled = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_multiples_and_within_memory() {
        let mut c = Chunk::new(None, 1 << 20);
        for _ in 0..100 {
            let n = c.next(8, 1000, false);
            assert_eq!(n % 1000, 0);
            assert!(n * 8 <= (1 << 15) || n == 1000, "{n}");
        }
        assert_eq!(Chunk::new(Some(3), 1 << 30).next(8, 1, false), 3);
        assert_eq!(Chunk::new(Some(3), 1 << 30).next(8, 4, false), 4);
        assert_eq!(Chunk::new(Some(u64::MAX), 1 << 30).next(8, 1024, false) % 1024, 0);
        assert!(Chunk::new(Some(u64::MAX), 1 << 30).next(8, 1024, false) > 1 << 63);
        assert_eq!(Chunk::new(None, 0).next(1 << 40, 7, false), 7);
    }
}

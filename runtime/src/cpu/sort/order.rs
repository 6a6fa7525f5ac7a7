//! What items are sorted by: their keys, and the words that those are packed into.

use super::super::pool::Pool;
use super::{PARALLEL, each};
use half::f16;
use remc_base::BaseTy;
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// A key of all items: `n` times `elements` elements of a base type, in the memory format.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub address: *const u8,
    pub ty: BaseTy,
    /// How many elements each item has.
    pub elements: usize,
}

// SAFETY: the memory behind a key is only read while it is sorted by.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

/// Items of more words are compared; no more elements are looked at.
const MOST_WORDS: usize = 3;
const MOST_PACKED: usize = 8;
/// Fewer items are not worth looking for the range of their elements.
const RANGED: usize = 192;

/// So many items are encoded at a time.
pub const TOGETHER: usize = 512;

/// An item as it is sorted: the leading bits of a word of it above its index, as [`Order`] says how many. So it is less
/// than another if its leading bits are, or if they are the same and it comes first.
pub type Item = u64;

/// The order of items: by their words, and by what is left of their keys.
pub struct Order {
    /// How many of an item's bits are its index.
    index_bits: u32,
    words: Vec<Word>,
    /// What is in no word: of each key from which element on.
    rest: Vec<(Key, usize)>,
}

/// Some elements of an item side by side, the most significant first.
#[derive(Default)]
struct Word {
    packed: Vec<Element>,
    /// How many of its low bits are used.
    bits: u32,
}

/// An element of a key, encoded, as it is in a word: less the least there is, in so many bits.
#[derive(Clone, Copy)]
struct Element {
    key: Key,
    number: usize,
    least: u64,
    bits: u32,
}

/// How many bits an encoded element takes.
fn bits(ty: BaseTy) -> u32 {
    if ty == BaseTy::Bool { 1 } else { ty.bits() }
}

impl Word {
    fn of(&self, index: usize) -> u64 {
        self.packed.iter().fold(0, |word, e| e.behind(word, e.key.encoded(index, e.number)))
    }
}

impl Order {
    /// The order of `n` items by some keys. It has a word at least.
    pub fn of(pool: &Pool, keys: &[Key], n: usize) -> Order {
        let all = || keys.iter().flat_map(|key| (0..key.elements).map(move |k| (*key, k)));
        let plain = all().take(MOST_PACKED).map(|(key, _)| bits(key.ty)).sum::<u32>() <= 32;
        let (mut words, mut word) = (Vec::new(), Word::default());
        let mut packed = 0;
        for (key, number) in all().take(MOST_PACKED) {
            let whole = Element { key, number, least: 0, bits: bits(key.ty) };
            let element = if plain || n < RANGED { whole } else { whole.within_range(pool, n) };
            if word.bits + element.bits > 64 {
                words.push(std::mem::take(&mut word));
                if words.len() == MOST_WORDS {
                    break;
                }
            }
            word.packed.push(element);
            word.bits += element.bits;
            packed += 1;
        }
        if words.len() < MOST_WORDS {
            words.push(word);
        }
        let mut rest = Vec::new();
        for key in keys {
            let taken = packed.min(key.elements);
            packed -= taken;
            if taken < key.elements {
                rest.push((*key, taken));
            }
        }
        let index_bits = usize::BITS - n.saturating_sub(1).leading_zeros();
        Order { index_bits, words, rest }
    }

    /// How many of a word's leading bits an item has.
    pub fn leading(&self, word: usize) -> u32 {
        self.words[word].bits.min(u64::BITS - self.index_bits)
    }

    /// How many bits the word has beside those.
    pub fn low(&self, word: usize) -> u32 {
        self.words[word].bits - self.leading(word)
    }

    /// How many of an item's bits are its index.
    pub fn index_bits(&self) -> u32 {
        self.index_bits
    }

    /// Whether an item is sorted by more than this word and those before it.
    pub fn goes_on(&self, word: usize) -> bool {
        word + 1 < self.words.len() || !self.rest.is_empty()
    }

    /// An item with what it is sorted by in place of the leading bits of a word.
    pub fn item(&self, lead: u64, index: usize) -> Item {
        // A shift by 64 is of an index that takes no bits, or all.
        lead.checked_shl(self.index_bits).unwrap_or(0) | index as u64
    }

    pub fn lead(&self, item: Item) -> u64 {
        item.checked_shr(self.index_bits).unwrap_or(0)
    }

    pub fn index(&self, item: Item) -> usize {
        (item & !u64::MAX.checked_shl(self.index_bits).unwrap_or(0)) as usize
    }

    /// The item of an index by one of its words, if there is such a word.
    pub fn item_by(&self, word: usize, index: usize) -> Option<Item> {
        Some(self.item(self.words.get(word)?.of(index) >> self.low(word), index))
    }

    /// The items with the indices from one on, by their first word.
    pub fn items(&self, from: usize, items: &mut [MaybeUninit<Item>]) {
        let mut words = [0; TOGETHER];
        let low = self.low(0);
        for (k, items) in items.chunks_mut(TOGETHER).enumerate() {
            let from = from + k * TOGETHER;
            let words = &mut words[..items.len()];
            self.first_words(from, words);
            for ((item, word), index) in items.iter_mut().zip(&*words).zip(from..) {
                item.write(self.item(word >> low, index));
            }
        }
    }

    /// The first words of the items from one on, of which there are [`TOGETHER`] at most.
    pub fn first_words(&self, from: usize, words: &mut [u64]) {
        let mut elements = [0; TOGETHER];
        let elements = &mut elements[..words.len()];
        words.fill(0);
        for e in &self.words[0].packed {
            e.key.encode(e.number, from, elements);
            words.iter_mut().zip(&*elements).for_each(|(word, x)| *word = e.behind(*word, *x));
        }
    }

    /// How many bits an item's first word has, if that is all that it is sorted by.
    pub fn only_bits(&self) -> Option<u32> {
        (!self.goes_on(0)).then_some(self.words[0].bits)
    }

    /// What a word has beside its leading bits.
    pub fn beside_lead(&self, word: usize, index: usize) -> u64 {
        self.words[word].of(index) & ((1 << self.low(word)) - 1)
    }

    /// The order of two items with the same words before one.
    pub fn compare_from(&self, word: usize, a: usize, b: usize) -> Ordering {
        let words = self.words[word..].iter().map(|w| w.of(a).cmp(&w.of(b)));
        let elements = self.rest.iter().flat_map(|(key, from)| (*from..key.elements).map(move |k| (key, k)));
        let rest = elements.map(|(key, k)| key.encoded(a, k).cmp(&key.encoded(b, k)));
        words.chain(rest).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl Element {
    /// The element in as few bits as it takes in `n` items, which is at least one.
    fn within_range(self, pool: &Pool, n: usize) -> Element {
        let ends = Mutex::new((u64::MAX, 0));
        let part = n.div_ceil(if n < PARALLEL { 1 } else { pool.workers() });
        each(pool, (0..n.div_ceil(part)).collect(), |k| {
            let (mut least, mut most) = (u64::MAX, 0);
            let mut buffer = [0; TOGETHER];
            let end = n.min((k + 1) * part);
            for from in (k * part..end).step_by(TOGETHER) {
                let elements = &mut buffer[..TOGETHER.min(end - from)];
                self.key.encode(self.number, from, elements);
                for x in elements {
                    (least, most) = (least.min(*x), most.max(*x));
                }
            }
            let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
            *ends = (ends.0.min(least), ends.1.max(most));
        });
        let (least, most) = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
        Element { least, bits: u64::BITS - (most - least).leading_zeros(), ..self }
    }

    /// A word with the element, which is encoded, behind what is in it already.
    fn behind(&self, word: u64, encoded: u64) -> u64 {
        // A shift by 64 replaces the whole word, which is still empty then.
        word.checked_shl(self.bits).unwrap_or(0) | encoded.wrapping_sub(self.least)
    }
}

impl Key {
    /// Element `k` of an item as a number of `bits(ty)` bits, in the order of `total_cmp`: signed numbers
    /// count from the least on; of floats, those below zero are turned round, both zeros are one, and
    /// every NaN is the same number above all others.
    pub fn encoded(&self, item: usize, k: usize) -> u64 {
        let mut word = [0];
        self.encode(k, item, &mut word);
        word[0]
    }

    /// Element `k` of each item from one on, as [`Key::encoded`] says. The type is asked for once, so that the loop is
    /// one of numbers of that type.
    pub fn encode(&self, k: usize, from: usize, to: &mut [u64]) {
        macro_rules! each {
            ($t:ty, $encode:expr) => {{
                // SAFETY: `grade`'s caller promises so many elements, here and below.
                let first = unsafe { self.address.cast::<$t>().add(from * self.elements + k) };
                if self.elements == 1 {
                    let all = unsafe { std::slice::from_raw_parts(first, to.len()) };
                    to.iter_mut().zip(all).for_each(|(to, x)| *to = $encode(*x));
                } else {
                    for (item, to) in to.iter_mut().enumerate() {
                        *to = $encode(unsafe { first.add(item * self.elements).read() });
                    }
                }
            }};
        }
        match self.ty {
            BaseTy::Bool => each!(u8, |x| u64::from(x != 0)),
            BaseTy::U8 => each!(u8, u64::from),
            BaseTy::U16 => each!(u16, u64::from),
            BaseTy::U32 | BaseTy::Char => each!(u32, u64::from),
            BaseTy::U64 => each!(u64, |x| x),
            BaseTy::I8 => each!(u8, |x| u64::from(x ^ 1 << 7)),
            BaseTy::I16 => each!(u16, |x| u64::from(x ^ 1 << 15)),
            BaseTy::I32 => each!(u32, |x| u64::from(x ^ 1 << 31)),
            BaseTy::I64 => each!(u64, |x| x ^ 1 << 63),
            BaseTy::F16 => each!(f16, |x: f16| float(x.to_bits().into(), 16, x.is_nan(), x == f16::ZERO)),
            BaseTy::F32 => each!(f32, |x: f32| float(x.to_bits().into(), 32, x.is_nan(), x == 0.0)),
            BaseTy::F64 => each!(f64, |x: f64| float(x.to_bits(), 64, x.is_nan(), x == 0.0)),
        }
    }
}

fn float(bits: u64, width: u32, nan: bool, zero: bool) -> u64 {
    let all = u64::MAX >> (64 - width);
    let sign = 1 << (width - 1);
    let turned = bits ^ if bits & sign == 0 { sign } else { all };
    if nan {
        all
    } else if zero {
        sign
    } else {
        turned
    }
}

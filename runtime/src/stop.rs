//! Why a run stopped: the same on every device.

use remc_base::Trap;

/// Why a run stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A check of the program failed: its number in the table of traps, its provenance, its values.
    Trap { trap: u32, prov: u32, values: Vec<i64> },
    /// A buffer is larger than the device allocates. `prov` is `None` where the place is not known (the
    /// working memory of a sort).
    TooLarge { trap: Trap, prov: Option<u32>, values: Vec<i64> },
    /// The device has failed, and not the program: what it says.
    Device(String),
    /// The program breaks a rule of its language: a mistake of the compiler.
    Broken(String),
    /// A stream could not be read on, or not be written to: why, for people; and the place that wanted it.
    Stream { why: String, prov: u32 },
    /// Whoever runs it has had enough.
    Ended,
    /// The plan said that it stopped and not why: a mistake of the compiler.
    Unexplained,
}

/// A failed check of a kernel: its number in the program's table of traps, its provenance, its values, and
/// the block in which it failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub block: u64,
    pub trap: u32,
    pub prov: u32,
    pub values: Vec<i64>,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        let Failure { trap, prov, values, .. } = failure;
        Stopped::Trap { trap, prov, values }
    }
}

impl Stopped {
    /// No buffer of this shape: `by` is the device, which gives out `most` bytes at a time.
    pub fn too_large(by: &str, prov: Option<u32>, shape: &[i64], element_bytes: u64, most: u64) -> Stopped {
        let trap = Trap::TooLarge { rank: shape.len(), by: by.into(), most: most / element_bytes.max(1) };
        Stopped::TooLarge { values: trap.pack(&[shape]).to_vec(), trap, prov }
    }
}

//! The numbers that decide how an operator's kernels run: a [`Schedule`] for each.
//!
//! ```text
//! (k0 "map" (schedule "rows:1" (grain 4096)) …)         "rows:1" is the operator's name ([`remc_flat::sites`])
//! ```
//!
//! Each number is a [`Field`], with a name, a meaning, a range and a default. Lowering and the backends read a schedule and
//! have no such numbers of their own, so that whoever sets a field — a person by `--threshold main/grain/rows:1=4096`, the
//! tuner in its file — decides it. What the numbers of one schedule have to agree on is checked before anything is lowered
//! ([`Schedule::conflict`]).
//!
//! A schedule changes how fast a program is, and in which order a reduction of floats combines. It changes nothing else:
//! tiles depend on sizes and on these numbers, never on the number of threads.
//!
//! An operator whose best numbers depend on a size has a schedule for each of its versions ([`mod@remc_flat::by_size`]).
//!
//! A field is of processors, of GPUs, or of both; a kernel's text has those that are not the default. Numbers that no
//! schedule could choose stay where they are used: the width of the widest vector, the threads of a warp, a cache line.

use crate::ir::{How, Kernel, Range, Stmt, StmtKind};
use remc_base::Name;
use std::fmt;
use std::ops::Index;

/// Where a number matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On processors, where a block is a thread's: read by lowering, or by the code generator.
    Cpu,
    CpuCode,
    /// On GPUs, where a block has threads: the same two.
    Gpu,
    GpuCode,
    Both,
}

/// What is known of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// As a user writes it.
    pub name: &'static str,
    pub place: Place,
    /// The least and the greatest value.
    pub range: (i64, i64),
    pub default: i64,
    /// Only powers of two will do.
    pub power: bool,
    pub meaning: &'static str,
}

macro_rules! fields {
    ($($field:ident $name:literal $place:ident $least:literal ..= $most:tt, $default:tt $(, $power:ident)?: $meaning:literal;)*) => {
        /// A number of a schedule.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Field { $(#[doc = $meaning] $field,)* }

        impl Field {
            pub const ALL: &'static [Field] = &[$(Field::$field,)*];

            const ABOUT: &'static [About] = &[$(About {
                name: $name,
                place: Place::$place,
                range: ($least, $most),
                default: $default,
                power: fields!(@power $($power)?),
                meaning: $meaning,
            },)*];
        }

        const COUNT: usize = Field::ALL.len();
    };
    (@power power) => { true };
    (@power) => { false };
}

fields! {
    // Tiles of a processor's blocks.
    Grain "grain" Cpu 1..=0x4000_0000, 0x8000:
        "operations of a block; so many of the default take about 10 µs";
    Round "tile.round" Cpu 1..=0x1_0000, 64:
        "points of a tile are a multiple of this where there are that many";
    RoundsOnce "once.grains" Cpu 1..=1024, 8:
        "grains of a block that reads the lengths of ragged rows once";
    TilesOnce "once.tiles" Cpu 1..=4096, 64:
        "tiles of rows that such a block has at most";
    RowOnce "once.row" Cpu 0..=1024, 8:
        "operations that a row of such a block counts for, beside its elements";
    Blocks "thread.blocks" CpuCode 1..=4096, 1:
        "blocks that there are for each thread at least: with fewer, fewer threads are woken";
    // Lanes of a processor.
    Points "lanes.points" Cpu 1..=8, 2:
        "vectors in which points with a short loop inside run";
    Jammed "lanes.jammed" Cpu 1..=8, 4:
        "vectors of points whose rows are jammed";
    Jam "jam" Cpu 1..=8, 4:
        "rows of points that run together and share what they read";
    Reduced "lanes.reduced" Cpu 1..=8, 4:
        "vectors in which a row is reduced, to hide the latency of the combination";
    LongBody "lanes.ops" Both 1..=1024, 24:
        "operations of a point from which on one vector is work enough";
    ColumnVectors "lanes.columns" Cpu 1..=8, 2:
        "vectors in which the columns of tiles are reduced";
    Around "lanes.around" Cpu 1..=8, 8:
        "vectors in which sums of columns are summed";
    Short "row.short" Cpu 0..=0x10_0000, 32:
        "elements that a row needs to be reduced along itself; shorter ones are reduced many at a time";
    Columns "columns" Cpu 1..=0x10_0000, 3:
        "columns that are reduced side by side; fewer are reduced one by one";
    BlockedColumns "columns.blocked" Cpu 1..=0x10_0000, 64:
        "columns that are worth accumulators in a cache, so that rows are read one after the other; fewer have them in registers";
    ColumnBlock "columns.block" Cpu 16..=0x1_0000, 4096:
        "columns of a block that are reduced so";
    ColumnRows "columns.rows" Cpu 1..=16, 4:
        "rows that are combined with such an accumulator each time that it is loaded";
    ColumnGrains "columns.grains" Cpu 1..=1024, 16:
        "grains of a tile of rows of which the columns are reduced";
    Transposed "transpose.columns" Cpu 8..=1024, 64, power:
        "columns of the blocks that a transposition moves; they have half as many rows";
    AcrossRows "across.rows" Cpu 1..=0x10_0000, (remc_flat::across::ROWS):
        "rows of points that make it worth to transpose what they read across its rows";
    AcrossColumns "across.columns" Cpu 1..=0x10_0000, (remc_flat::across::COLUMNS):
        "points that each of those rows has to have";
    StripBytes "strip.bytes" Cpu 0..=0x4000_0000, 0x8_0000:
        "memory that the arrays of points side by side may take, so that a cache keeps them";
    StripAlong "strip.along" Cpu 0..=0x4000_0000, 0x100_0000:
        "memory that the arrays of points side by side may take where the points read rows piece by piece, as they could not one after the other, or wait for each element";
    StripVectors "strip.vectors" Cpu 1..=16, 8:
        "vectors of points side by side that read and write rows piece by piece and keep no array of their own";
    StripsEach "strip.wide" Cpu 1..=1024, 8:
        "groups of points side by side that there have to be for each such group to be several vectors wide";
    StripStack "strip.stack" Cpu 0..=0x10_0000, 0x2_0000:
        "memory of those arrays that may be on the stack";
    Rounds "row.rounds" Cpu 0..=0x10_0000, 256:
        "elements that a row needs for the rounds of a loop to run along it; shorter ones run many at a time";
    StripReads "strip.reads" Cpu 1..=0x10_0000, 4:
        "reads of a row that are worth a copy of it where points side by side read it";
    Interleaved "row.interleaved" Cpu 1..=16, 8:
        "elements of rows that are loaded with those of their neighbours, where points side by side want one of them each";
    Ranked "row.ranked" Cpu 0..=4096, 64:
        "items, for each byte of their keys, up to which a row is sorted by the rank of each";
    Selected "row.selected" Cpu 0..=1024, 16:
        "items of a row that are kept while it is read, where only so many of its order are wanted";
    SelectEach "select.each" Cpu 0..=4096, 12:
        "items of such a row for each that is kept, up to which the row is sorted by the rank of each";
    SelectTile "select.tile" Cpu 1..=0x1_0000, 64:
        "items of such a row that are asked together whether any is to be kept";
    ScatterLeast "scatter.least" Cpu 1..=0x10_0000, 64:
        "items that a row needs to be counted in several copies of a small array";
    ScatterParts "scatter.parts" Cpu 1..=1024, 16:
        "parts of the items of a scatter at most, each with a copy of the destination";
    Copies "scatter.copies" Cpu 1..=8, 4:
        "copies of a small array that a row is counted in";
    // Of processors and GPUs.
    ScatterItems "scatter.items" Both 1..=0x1_0000, 16:
        "items of a scatter that are worth an element of a copy of the destination; on a GPU those of a part at least";
    ScatterFewest "scatter.fewest" Both 1..=0x10_0000, 2:
        "parts of the items that are worth copies of the destination";
    Private "array.private" Both 1..=256, 64:
        "elements that an array of a point may have to be on the stack, or in registers";
    FilterParts "filter.parts" Cpu 1..=1024, 8:
        "parts of a grain: so many operations are items of what a filter moves at once";
    // What the code generator for processors decides.
    Ahead "ahead" CpuCode 64..=0x1_0000, 4096:
        "bytes that memory is asked for ahead of what a ragged row loads";
    Stream "stream" CpuCode 0..=0x4000_0000_0000, 0x80_0000:
        "bytes from which on what is transposed or scanned is written past the caches";
    ScanParts "scan.parts" CpuCode 1..=16, 4:
        "vectors that are scanned at once";
    FewPlaces "lanes.few" CpuCode 0..=64, 8:
        "elements of a lane's own array that are all looked at where lanes want different ones";
    OwnElements "own.elements" CpuCode 0..=256, 32:
        "elements that a lane's own array may have for the loops that change it to be written out";
    OwnTrips "own.trips" CpuCode 0..=64, 8:
        "iterations that such a loop may have";
    OwnStatements "own.statements" CpuCode 0..=0x1_0000, 3000:
        "statements that may come of it";
    Accumulators "lanes.accumulators" CpuCode 1..=32, 8:
        "vectors that loops in lanes add up at once where several of their own share what they read";
    RaggedParts "ragged.parts" CpuCode 1..=8, 4, power:
        "registers of a ragged row's last vector";
    RaggedOps "ragged.ops" CpuCode 0..=256, 8:
        "statements of an element that are worth running in all of them";
    RowVectors "rows.vectors" CpuCode 1..=2, 2:
        "vectors that a ragged row may be, to be reduced beside its neighbours";
    RowOps "rows.ops" CpuCode 0..=256, 24:
        "statements before such a row that are worth writing out for each";
    BesideOps "rows.beside" CpuCode 0..=1024, 192:
        "statements of a row that are worth running in all short rows that are side by side";
    FewestLanes "lanes.fewest" CpuCode 1..=64, 4:
        "lanes that are worth a loop of their own for what is left over";
    TransposedRows "transpose.rows" CpuCode 2..=64, 16, power:
        "rows that are transposed in registers at a time";
    // Blocks of a GPU.
    ThreadGrain "thread.grain" Gpu 1..=0x1_0000, 64:
        "operations of a point from which on a thread has one alone; and of a block of one thread";
    Threads "threads" Gpu 32..=1024, 256, power:
        "threads of a block";
    Items "items" Gpu 1..=64, 4:
        "points that a thread of a map has, or of a reduction at least";
    Packed "pack.items" Gpu 1..=4, 4, power:
        "neighbours that come and go as one word, where they fit in 16 bytes";
    FilterItems "filter.items" Gpu 1..=64, 16:
        "items that a thread of a filter asks for, one after the other, where there are many";
    ScatterCopied "scatter.copied" Gpu 1..=0x4000_0000, 0x100_0000:
        "elements that all copies of the destination of a scatter have at most";
    ScatterThreads "scatter.threads" Gpu 1..=0x10_0000, 4096:
        "threads that scatter into copies at least; with fewer, items are sorted by their places";
    SortBytes "sort.bytes" Gpu 1..=1024, 128:
        "bytes of a thread's registers that may hold what it sorts";
    SortItems "sort.items" Gpu 1..=16, 8, power:
        "items that a thread sorts by itself, and makes of a merge";
    ScanItems "scan.items" Gpu 1..=32, 8, power:
        "consecutive elements that a thread scans, where shared memory has room";
    Shared "shared.bytes" Gpu 1024..=0xC000, 0x8000:
        "shared memory that a block's tiles may take, of the 48 KiB that each can have";
    Reducing "reduce.blocks" Gpu 1..=0x1_0000, 1024:
        "blocks that reduce one array, about; with more elements each has more";
    Warp "row.warp" Gpu 1..=0x10_0000, 32:
        "elements from which on a row is reduced by a warp";
    Block "row.block" Gpu 1..=0x4000_0000, 2048:
        "elements from which on a row is reduced by a block";
    RowBlocks "row.blocks" Gpu 1..=0x10_0000, 64:
        "long rows from which on a block reduces each; fewer are reduced by all blocks, one after the other";
    Run "column.run" Gpu 1..=0x10_0000, 16:
        "elements of a column that a thread reduces at least";
    Few "combine.few" Gpu 0..=0x1_0000, 32:
        "partial results that one thread combines; more are combined by a block";
    Square "square.side" Gpu 8..=64, 32, power:
        "side of the squares that a transposition moves";
    Side "contract.side" Gpu 8..=128, 64:
        "rows and columns of a block's part of a contraction";
    Each "contract.each" Gpu 1..=8, 4:
        "rows and columns of a thread's part of it";
    Depth "contract.depth" Gpu 1..=64, 16:
        "elements of the reduced axis that a contraction brings in at a time";
    Serial "threads.serial" GpuCode 32..=1024, 128, power:
        "blocks of one thread each that are launched together";
    Resident "blocks.resident" GpuCode 1..=8, 3:
        "blocks that a multiprocessor has room for at the same time, which limits the registers of a thread";
    ResidentLarge "blocks.resident.large" GpuCode 1..=8, 2:
        "blocks that a multiprocessor has room for at the same time, of a kernel whose loops carry many values";
    Worth "contract.least" Gpu 1..=0x10_0000, 32:
        "rows and columns from which on squares are worth their shared memory";
}

impl Field {
    pub fn about(self) -> &'static About {
        &Field::ABOUT[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The field that is called so, `grain`.
    pub fn named(name: &str) -> Option<Field> {
        Field::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// The field of a name, `grain` or `main/grain/rows:1`.
    pub fn of_name(name: &str) -> Option<Field> {
        // The name of an entry or a definition may have a `/`, too.
        name.split('/').find_map(Field::named)
    }

    /// Whether a value is in its range.
    pub fn allows(self, value: i64) -> bool {
        let about = self.about();
        (about.range.0..=about.range.1).contains(&value) && (!about.power || value.count_ones() == 1)
    }

    /// What its values are, in words.
    pub fn values(self) -> String {
        let About { range: (least, most), power, .. } = self.about();
        let of = if *power { "a power of two" } else { "a whole number" };
        format!("{of} from {least} to {most}")
    }

    /// Whether kernels of a GPU read it, or those of a processor.
    pub fn matters(self, threads: bool) -> bool {
        match self.about().place {
            Place::Both => true,
            Place::Gpu | Place::GpuCode => threads,
            Place::Cpu | Place::CpuCode => !threads,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value for each field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Schedule([i64; COUNT]);

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule(std::array::from_fn(|k| Field::ABOUT[k].default))
    }
}

impl Index<Field> for Schedule {
    type Output = i64;

    fn index(&self, field: Field) -> &i64 {
        &self.0[field as usize]
    }
}

impl Schedule {
    #[must_use]
    pub fn with(mut self, field: Field, value: i64) -> Schedule {
        self.set(field, value);
        self
    }

    pub fn set(&mut self, field: Field, value: i64) {
        self.0[field as usize] = value;
    }

    /// The fields that have another value than by default.
    pub fn changed(&self) -> impl Iterator<Item = (Field, i64)> + '_ {
        Field::ALL.iter().map(|f| (*f, self[*f])).filter(|(f, value)| *value != f.about().default)
    }

    /// Leaves what a code generator reads, and sets to the defaults what lowering has made of already.
    pub fn forget_lowering(&mut self) {
        let code = |f: &&Field| matches!(f.about().place, Place::CpuCode | Place::GpuCode);
        let kept: Vec<(Field, i64)> = Field::ALL.iter().filter(code).map(|f| (*f, self[*f])).collect();
        *self = Schedule::default();
        kept.into_iter().for_each(|(f, value)| self.set(f, value));
    }

    /// What is wrong with it, if anything: a value out of its range, or two that cannot be together.
    pub fn conflict(&self) -> Option<String> {
        let out = Field::ALL.iter().find(|f| !f.allows(self[**f]));
        if let Some(f) = out {
            return Some(format!("`{f}` is {}, and has to be {}", self[*f], f.values()));
        }
        let [threads, side, each, square] =
            [Field::Threads, Field::Side, Field::Each, Field::Square].map(|f| self[f]);
        if side % each != 0 {
            return Some(format!(
                "`contract.side` is {side}, and has to be a multiple of `contract.each`, which is {each}"
            ));
        }
        // A thread for each of its squares.
        let wanted = (side / each) * (side / each);
        if !(32..=1024).contains(&wanted) {
            return Some(format!(
                "`contract.side` {side} and `contract.each` {each} make blocks of {wanted} threads: they have to be 32 to 1024"
            ));
        }
        (threads < square)
            .then(|| format!("`square.side` is {square}, and has to be `threads`, {threads}, at most"))
    }

    /// The least or the greatest value of a field, and of the others what can be with it.
    #[must_use]
    pub fn extreme(field: Field, greatest: bool) -> Schedule {
        let (least, most) = field.about().range;
        let schedule = Schedule::default().with(field, if greatest { most } else { least });
        match (field, greatest) {
            (Field::Side, false) => schedule.with(Field::Each, 1),
            (Field::Each, false) => schedule.with(Field::Side, 16),
            _ => schedule,
        }
    }

    /// A schedule at random: some fields at other values of their ranges, near the default more often than far.
    /// `random` gives a number below its argument.
    #[must_use]
    pub fn drawn(random: &mut dyn FnMut(u64) -> u64) -> Schedule {
        let mut schedule = Schedule::default();
        for f in Field::ALL {
            let About { range: (least, most), default, power, .. } = *f.about();
            let value = match random(12) {
                0 => least,
                1 => most,
                2 => default / 2,
                3 => default.saturating_mul(2),
                // As many bits as any.
                4 => 1 << random(u64::from(most.ilog2()) + 1),
                5 if !power => least + random((most - least).min(100) as u64 + 1) as i64,
                _ => default,
            };
            let with = schedule.with(*f, value.clamp(least, most));
            if with.conflict().is_none() {
                schedule = with;
            }
        }
        schedule
    }
}

/// The schedules of a program: one for each operator, by its name, and one for all others.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Schedules {
    pub all: Schedule,
    pub of: std::collections::BTreeMap<Name, Schedule>,
}

impl Schedules {
    pub fn of(&self, site: &Name) -> Schedule {
        self.of.get(site).copied().unwrap_or(self.all)
    }

    /// The first conflict, and whose it is.
    pub fn conflict(&self) -> Option<(Option<&Name>, String)> {
        let all = self.all.conflict().map(|c| (None, c));
        all.or_else(|| self.of.iter().find_map(|(site, s)| Some((Some(site), s.conflict()?))))
    }
}

/// The fields that a code generator may read of a kernel's schedule, for a GPU or for processors.
pub fn read_by_code(k: &Kernel, threads: bool) -> Fields {
    let mut read = Fields::default();
    if threads {
        let fields = [Field::Resident, Field::ResidentLarge]
            .into_iter()
            .chain(k.threads.is_none().then_some(Field::Serial));
        fields.for_each(|f| read.insert(f));
        return read;
    }
    if !k.grid.is_empty() && !k.is_chained() {
        read.insert(Field::Blocks);
    }
    read_by_loops(k, &k.body, &mut read);
    read
}

fn read_by_loops(k: &Kernel, body: &[Stmt], read: &mut Fields) {
    for s in body {
        if let StmtKind::For { how, range, body, .. } = &s.kind {
            if is_ragged(k, range) {
                read.insert(Field::BesideOps);
            }
            if matches!(how, How::Lanes(_)) {
                read.insert(Field::Interleaved);
                if makes_arrays(body) {
                    use Field::{FewPlaces, OwnElements, OwnStatements, OwnTrips};
                    [FewPlaces, OwnElements, OwnStatements, OwnTrips]
                        .into_iter()
                        .for_each(|f| read.insert(f));
                }
            }
            match how {
                How::Scan(_) => [Field::ScanParts, Field::Stream].into_iter().for_each(|f| read.insert(f)),
                // So many rows at a time are those of a transposition.
                How::Jam(rows) if *rows >= 8 => {
                    [Field::TransposedRows, Field::Stream].into_iter().for_each(|f| read.insert(f));
                }
                How::Lanes(_) if is_ragged(k, range) => {
                    use Field::{Ahead, RaggedOps, RaggedParts, RowOps, RowVectors};
                    [Ahead, RaggedOps, RaggedParts, RowOps, RowVectors]
                        .into_iter()
                        .for_each(|f| read.insert(f));
                }
                How::Lanes(_) if body.iter().any(|s| matches!(s.kind, StmtKind::For { .. })) => {
                    read.insert(Field::FewestLanes);
                    read.insert(Field::Accumulators);
                }
                How::Lanes(_) | How::Jam(_) | How::Seq => {}
            }
        }
        s.kind.blocks().into_iter().for_each(|b| read_by_loops(k, b, read));
    }
}

/// Whether a body makes arrays for itself.
fn makes_arrays(body: &[Stmt]) -> bool {
    body.iter().any(|s| {
        matches!(s.kind, StmtKind::Alloc { .. }) || s.kind.blocks().into_iter().any(|b| makes_arrays(b))
    })
}

/// Whether a loop's end is none that the kernel is given: its length is another one each time.
fn is_ragged(k: &Kernel, range: &Range) -> bool {
    matches!(range, Range::Upto { to: crate::ir::Atom::Var(n), .. } if !k.params.contains(n))
}

/// Some fields: those that were read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fields(u128);

impl Fields {
    pub fn insert(&mut self, field: Field) {
        self.0 |= 1 << field as u32;
    }

    pub fn contains(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(move |f| self.contains(*f))
    }
}

const _: () = assert!(COUNT <= 128, "`Fields` is a word");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_in_their_ranges_and_agree() {
        assert_eq!(Schedule::default().conflict(), None);
        assert_eq!(Schedule::default().changed().count(), 0);
        for f in Field::ALL {
            assert_eq!(Field::of_name(&format!("main/{f}/a/b:1")), Some(*f));
            let (least, most) = f.about().range;
            assert!(f.allows(least) && f.allows(most) && !f.allows(least - 1) && !f.allows(most + 1), "{f}");
        }
    }

    #[test]
    fn what_cannot_be_together_is_told() {
        let conflict = |changes: &[(Field, i64)]| {
            changes
                .iter()
                .fold(Schedule::default(), |s, (f, v)| s.with(*f, *v))
                .conflict()
                .unwrap_or_default()
        };
        assert_eq!(
            conflict(&[(Field::Grain, 0)]),
            "`grain` is 0, and has to be a whole number from 1 to 1073741824"
        );
        assert_eq!(
            conflict(&[(Field::Threads, 96)]),
            "`threads` is 96, and has to be a power of two from 32 to 1024"
        );
        assert!(conflict(&[(Field::Side, 65)]).contains("multiple of `contract.each`"));
        assert!(conflict(&[(Field::Side, 16)]).contains("blocks of 16 threads"));
        assert!(conflict(&[(Field::Each, 1)]).contains("blocks of 4096 threads"));
        assert!(conflict(&[(Field::Threads, 32), (Field::Square, 64)]).contains("`square.side` is 64"));
    }

    #[test]
    fn each_value_can_be_with_some_others() {
        for f in Field::ALL {
            for greatest in [false, true] {
                assert_eq!(Schedule::extreme(*f, greatest).conflict(), None, "{f}");
            }
        }
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let drawn: Vec<Schedule> = (0..200).map(|_| Schedule::drawn(&mut random)).collect();
        for f in Field::ALL {
            assert!(drawn.iter().any(|s| s[*f] != f.about().default), "{f}");
        }
        assert!(drawn.iter().all(|s| s.conflict().is_none()));
    }
}

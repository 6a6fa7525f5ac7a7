//! The numbers that sizes are compared with: their kinds, and the values that they have by default.

use remc_mono::opt::RowsAre;

/// A number that sizes are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// How many points a space needs, for the work inside each to stay serial.
    ParOuter,
    /// How many points a space needs, for a loop inside each to stay there, with all that its iterations do.
    ParLoop,
    /// How many elements an iteration of such a loop needs, at all points taken together, to be run by all threads.
    ParInner,
    /// How many elements a product in each point needs, at all points taken together, to be too many to be stored.
    ParStored,
    /// How many points a space needs, for the rows of each to be a group's together.
    ParGroup,
    /// How many elements a row that only one point knows needs, to be reduced by all threads.
    RowLong,
    /// How large a size of an operator is from which on another setting of its schedule is better. Flattening makes none of
    /// these: there is one for each that is given a value ([`mod@crate::by_size`]).
    BySize,
}

impl Threshold {
    pub const ALL: [Threshold; 7] = [
        Threshold::ParOuter,
        Threshold::ParLoop,
        Threshold::ParInner,
        Threshold::ParStored,
        Threshold::ParGroup,
        Threshold::RowLong,
        Threshold::BySize,
    ];

    /// The name that it has in programs' texts, for a user and for a tuner.
    pub fn name(self) -> &'static str {
        match self {
            Threshold::ParOuter => "par.outer",
            Threshold::ParLoop => "par.loop",
            Threshold::ParInner => "par.inner",
            Threshold::ParStored => "par.stored",
            Threshold::ParGroup => "par.group",
            Threshold::RowLong => "row.long",
            Threshold::BySize => "by.size",
        }
    }
}

/// The value of a threshold that every size reaches: the version for large sizes is the only one.
pub const ALWAYS: i64 = 0;
/// The value of a threshold that no size reaches: the version for small sizes is the only one.
pub const NEVER: i64 = i64::MAX;

/// Where threads run side by side, how many elements a row needs to be a group's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowGroups {
    /// A warp's: shorter rows are one thread's each, whose neighbours have neighbouring rows.
    pub warp: i64,
    /// A block's.
    pub block: i64,
}

impl RowGroups {
    /// As many elements as a group has threads, or four times as many.
    const GPU: RowGroups = RowGroups { warp: 1 << 5, block: 1 << 10 };
    /// So few that data of a few elements takes every version.
    const TINY: RowGroups = RowGroups { warp: 2, block: 3 };
}

/// The values of all thresholds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Thresholds {
    pub par_outer: i64,
    /// How many of the points count as one where they are columns, of which a thread has many.
    pub columns: i64,
    pub par_loop: i64,
    pub par_inner: i64,
    /// By how much of that a round has to be larger for each time more that all threads are woken and waited for in it.
    pub par_launch: i64,
    pub par_stored: i64,
    pub par_group: i64,
    pub row_long: i64,
    /// How many rows one thread goes through in order, where a block is one thread: of a scan that only rows start from
    /// the prefixes in between are not stored (`tiles`).
    pub row_tile: Option<i64>,
    /// Which rows of sizes of their own are a group's, where a block is threads side by side.
    pub row_groups: Option<RowGroups>,
    /// The one value of all thresholds by which operators have several settings, if they have one.
    pub by_size: Option<i64>,
}

impl Thresholds {
    /// For a processor with some dozens of cores.
    pub const CPU: Thresholds = Thresholds {
        par_outer: 512,
        columns: 256,
        par_loop: 16,
        par_inner: 1 << 12,
        par_launch: 1,
        par_stored: 1 << 27,
        par_group: NEVER,
        row_long: 1 << 18,
        row_tile: Some(128),
        row_groups: None,
        by_size: None,
    };
    /// For a GPU: as many as it has threads at a time, or so.
    pub const GPU: Thresholds = Thresholds {
        par_outer: 1 << 15,
        columns: 1,
        par_loop: 1 << 15,
        par_inner: 1 << 9,
        par_launch: 0,
        par_stored: 1 << 27,
        par_group: 1 << 8,
        row_long: 1 << 18,
        row_tile: None,
        row_groups: Some(RowGroups::GPU),
        by_size: None,
    };

    /// So small that data of a few elements takes every version: `outer` for what is parallel, 3 inside it and for rows.
    pub const fn tiny(outer: i64) -> Thresholds {
        Thresholds {
            par_outer: outer,
            columns: 1,
            par_loop: outer,
            par_inner: 3,
            par_launch: 0,
            par_stored: 3 * outer,
            par_group: NEVER,
            row_long: 3,
            row_tile: Some(3),
            row_groups: None,
            by_size: None,
        }
    }

    /// The same for a device whose blocks are threads side by side.
    #[must_use]
    pub const fn for_threads(self) -> Thresholds {
        Thresholds { par_group: 2, row_long: 5, row_tile: None, row_groups: Some(RowGroups::TINY), ..self }
    }

    /// Who does a row of a size of its own.
    pub fn rows(&self) -> RowsAre {
        match (self.row_tile, self.row_groups) {
            (Some(_), _) => RowsAre::Tasks,
            (None, Some(_)) => RowsAre::Groups,
            (None, None) => RowsAre::Distributed,
        }
    }

    /// What the points of a nest are compared with, of which `columns` says whether they are that.
    pub fn of(&self, threshold: Threshold, columns: bool) -> i64 {
        let value = self.value(threshold);
        if columns && threshold == Threshold::ParOuter { value.saturating_mul(self.columns) } else { value }
    }

    /// What a round is compared with in which all threads are woken so many times.
    pub fn of_round(&self, launches: i64) -> i64 {
        let more = launches.saturating_sub(1).max(0).saturating_mul(self.par_launch);
        self.par_inner.saturating_mul(more.saturating_add(1))
    }

    pub fn value(&self, threshold: Threshold) -> i64 {
        match threshold {
            Threshold::ParOuter => self.par_outer,
            Threshold::ParLoop => self.par_loop,
            Threshold::ParInner => self.par_inner,
            Threshold::ParStored => self.par_stored,
            Threshold::ParGroup => self.par_group,
            Threshold::RowLong => self.row_long,
            Threshold::BySize => self.by_size.unwrap_or(NEVER),
        }
    }

    /// Sets one of them, for all that is compared with it; what is negative is as good as [`ALWAYS`].
    pub fn set(&mut self, threshold: Threshold, value: i64) {
        let place = match threshold {
            Threshold::ParOuter => {
                self.columns = 1;
                &mut self.par_outer
            }
            Threshold::ParLoop => &mut self.par_loop,
            Threshold::ParInner => {
                self.par_launch = 0;
                &mut self.par_inner
            }
            Threshold::ParStored => &mut self.par_stored,
            Threshold::ParGroup => &mut self.par_group,
            Threshold::RowLong => &mut self.row_long,
            Threshold::BySize => self.by_size.get_or_insert(NEVER),
        };
        *place = value.max(ALWAYS);
    }
}

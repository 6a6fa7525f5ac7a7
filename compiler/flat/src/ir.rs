//! Flat: which loops run in parallel, and where.
//!
//! ```text
//! program  ::= (flat 1 (name "main") (provs …) (params x …) (inputs …) (channels channel …)? (output …) body)
//! body     ::= stmt … (give a …)                             runs on the host, one statement at a time
//! stmt     ::= (let (x …) exp @prov)
//! exp      ::= a | (op o a …) | (cast t a) | (literal (n …) a …) | (index x a …) | (view v x)
//!            | (check trap a a …) | (pull …) | (push …)       as in Mono; O(1) or one copy each
//!            | (if a body body) | (for i a ((x a) …) body) | (while ((x a) …) body body)
//!            | (serial-map ((i a) …) body)                   a map whose body needs the host or all threads
//!            | (seg-map level ((i a) …) orders? leaf)
//!            | (seg-red level ((i a) …) (i a) leaf λ start)
//!            | (seg-scan level kind ((i a) …) (i a) orders? leaf λ start epilogue?)
//!            | (scatter …) | (grade …) | (sort …)            as in Mono, with a leaf
//!            | (rows level (i a) (of x (x …))? k (x …) leaf (scratch (x a) …)?)
//!                                                             a map whose last results are rows of sizes of their own
//!            | (filter (i a) leaf @prov …)                   one filter, or several of as many points
//!            | (branch guard body body)
//! orders   ::= (axes (k …) …)                            how the axes of each result follow one another in memory
//! guard    ::= test | (or test test …)
//! test     ::= (>= a "threshold" n) | (< a "threshold" n)
//! leaf     ::= a Mono body, which runs serially
//! epilogue ::= (epilogue (i x …) leaf) (known a (x …))?      of each prefix, where it is made; every a-th is known
//! ```
//!
//! Gone since Mono: nested parallelism. A `map` has become a space of `seg-map` (or several, where its
//! body was distributed), a `reduce` inside a `map` a `seg-red` over the map's space and its own axis.
//! What is left of a nest inside a leaf is serial: loops of one thread. New: spaces, levels, and
//! `branch`, which chooses between versions of the same values by comparing sizes with named
//! thresholds.
//!
//! ```text
//! (map ((i n)) (reduce l m …))        (branch (>= n "main/par.outer/f:1" 512)
//!                                       (seg-map grid ((i n)) (reduce l m …))     rows in parallel
//!                                       (seg-red grid ((i n)) (l m) …))           and within rows
//! ```
//!
//! That is the abstract grammar; the exact text form is in [`mod@crate::print`]. Variables, atoms, types, leaves and views are Mono's.
//! Values and meaning too: each Flat form means what the Mono forms that it stands for mean, so that a
//! version is chosen for its speed alone.
//!
//! Invariants, which [`crate::verify`] checks beside Mono's on scopes, operands and types:
//! - A leaf makes no array whose size is only known inside it: its dims are in scope outside, up to arithmetic on sizes; a
//!   `filter`'s arrays are bounded by its axis, and those of an iteration by how many there are ([`crate::legal`]). Nor does
//!   it sort, join arrays, or read or write channels. The leaf of `rows` may sort; that of a group has sizes of its own.
//! - A `seg-` operator is the whole grid's; a `seg-map` may be of blocks, if the threads of one can do a point together. `rows`
//!   of all points are tasks of the grid; those of some points are done by a warp or a block each.
//! - The branches of a `branch` give values of the same types. A guard's sizes are not compared with negative numbers, and
//!   tests of one name with one value. Where a guard is of the versions of an operator, the branches are these versions.

use remc_base::ops::ScalarOp;
use remc_base::{IdVec, Name, Prov, Provenance};
use remc_mono::ir as mono;
pub use remc_mono::ir::{
    Atom, Axis, Combine, Gives, Input, Lambda, Output, ScanKind, Ty, Var, VarInfo, View, Witness,
};

/// One entry; the parts of the same names mean what they mean in [`mono::Program`].
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub name: Name,
    pub provs: Provenance,
    pub vars: IdVec<Var, VarInfo>,
    pub params: Vec<Var>,
    pub inputs: Vec<Input>,
    pub channels: Vec<mono::Channel>,
    pub body: Body,
    pub output: Output,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Body {
    pub stmts: Vec<Stmt>,
    pub results: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub pat: Vec<Var>,
    pub exp: Exp,
    pub prov: Prov,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Exp {
    /// `Atom`, `Op`, `Cast`, `Literal`, `Index`, `View`, `Check`, `Pull` or `Push`: forms without bodies.
    Host(mono::Exp),
    If {
        cond: Atom,
        then: Body,
        otherwise: Body,
    },
    For {
        axis: Axis,
        state: Vec<(Var, Atom)>,
        body: Body,
    },
    While {
        state: Vec<(Var, Atom)>,
        cond: Body,
        body: Body,
    },
    /// One iteration after the other, each free to launch what is parallel: the version of a map whose
    /// body is no leaf and cannot be distributed, or of which each iteration is worth all threads.
    SerialMap {
        axes: Vec<Axis>,
        body: Body,
    },
    Seg(Seg),
    Scatter {
        dests: Vec<Var>,
        axis: Axis,
        body: mono::Body,
        combine: Option<Lambda>,
    },
    Rows(Rows),
    /// Filters of as many points, one or several, none of which needs another one's results; the results are those of the
    /// first, then those of the next.
    Filters(Vec<Filter>),
    Grade {
        axis: Axis,
        body: mono::Body,
        gives: Gives,
    },
    /// The first version if the guard holds, else the second.
    Branch {
        guard: Guard,
        then: Body,
        otherwise: Body,
    },
}

/// A map over one axis whose results after the first `regular` are arrays of sizes that each point has for itself:
/// the elements of point `i`, in row-major order, are those of a vector from `starts[i]` on, up to where those of the
/// next begin or the vector ends. What a point with fewer leaves open is not read before it is written. It binds the arrays
/// of the regular results and the vectors.
///
/// At the level of the grid a point is one task, whose arrays are bounded by sizes from outside; its body may sort by
/// scalars, as no other leaf does. At the others its arrays may have sizes of its own ([`remc_mono::legal::group_sizes`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Rows {
    pub level: Level,
    /// The points; the length of `of`, where only some are done, of which the variable is bound to the number of one.
    pub axis: Axis,
    pub of: Option<Points>,
    pub regular: usize,
    /// For each vector where the elements of each point begin, one after the other.
    pub starts: Vec<Var>,
    /// For each size of its own of which a point makes arrays, where a vector has room for those of each point. Which sizes
    /// these are the last results of the body say, which nothing is bound to.
    pub scratch: Vec<Scratch>,
    pub body: mono::Body,
}

/// Some points of an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Points {
    /// Their numbers, each once.
    pub which: Var,
    /// What the others have given: arrays of all points. Those of these points go into them.
    pub into: Vec<Var>,
}

/// A vector of so many elements has room for an array of each point, from where the vector `starts` says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scratch {
    pub starts: Var,
    pub total: Atom,
}

/// A filter: for each point whether its item is kept, and the item.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    pub axis: Axis,
    pub body: mono::Body,
    pub prov: Prov,
}

/// A parallel operator over a space: the product of its axes, without axes a single point.
#[derive(Clone, PartialEq, Debug)]
pub struct Seg {
    pub level: Level,
    pub space: Vec<Axis>,
    pub kind: SegKind,
    /// In which order the axes of the results are in memory, one for each result, or nothing for all: axis `k` of a result
    /// is the axis of that number among those of the space and of what a point gives of it. Nothing for a result is that
    /// order itself. Not of reductions, which have no axes but the space's.
    pub orders: Vec<Vec<usize>>,
    /// Gives the element at a point of the space (and of the axis of a reduction or scan).
    pub body: mono::Body,
}

/// Who runs the points of a space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// All of the device.
    Grid,
    /// The threads of one block; one core and its vector lanes on a CPU.
    Block,
    /// So many threads of a block as go in step.
    Warp,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SegKind {
    /// The results have the space's sizes in front.
    Map,
    /// Along `axis`, innermost; the results have the sizes of the space.
    Red { axis: Axis, op: Combine },
    /// The results have the sizes of the space, then that of the scan: the prefixes, or what the epilogue makes of
    /// the place on the axis and the prefixes there, scalars all. A full scan has none: its last prefix is at no point.
    /// Of an exclusive scan with an epilogue some prefixes may be known.
    Scan { axis: Axis, kind: ScanKind, op: Combine, epilogue: Option<Lambda>, known: Option<Known> },
}

/// Prefixes of an exclusive scan that are stored: those at every so many places of its axis, the first included.
#[derive(Clone, PartialEq, Debug)]
pub struct Known {
    /// A constant, or a size of the host; positive.
    pub every: Atom,
    /// For each accumulator a vector with a prefix for each such place at least.
    pub before: Vec<Var>,
}

/// Holds where one of its tests does; there is at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Guard {
    pub tests: Vec<Test>,
}

/// Values of thresholds, by their names.
pub type Named = std::collections::BTreeMap<String, i64>;

impl Program {
    /// The tests that choose between its versions, in the order of the program.
    pub fn tests(&self) -> Vec<&Test> {
        let mut tests = Vec::new();
        self.body.tests(&mut tests);
        tests
    }

    /// Gives thresholds other values.
    ///
    /// # Errors
    /// The first name that is none of the program's.
    pub fn set_thresholds(&mut self, values: &Named) -> Result<(), String> {
        let known: Vec<Name> = self.tests().into_iter().map(|t| t.threshold.clone()).collect();
        if let Some(unknown) = values.keys().find(|name| !known.iter().any(|k| k.as_str() == *name)) {
            return Err(unknown.clone());
        }
        self.body.set_thresholds(values);
        Ok(())
    }
}

impl Body {
    fn tests<'b>(&'b self, out: &mut Vec<&'b Test>) {
        for s in &self.stmts {
            if let Exp::Branch { guard, .. } = &s.exp {
                out.extend(&guard.tests);
            }
            s.exp.bodies().into_iter().for_each(|b| b.tests(out));
        }
    }

    fn set_thresholds(&mut self, values: &Named) {
        for s in &mut self.stmts {
            if let Exp::Branch { guard, .. } = &mut s.exp {
                for t in &mut guard.tests {
                    t.value = values.get(t.threshold.as_str()).copied().unwrap_or(t.value);
                }
            }
            s.exp.bodies_mut().into_iter().for_each(|b| b.set_thresholds(values));
        }
    }
}

/// `size >= threshold`, or `size < threshold`.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    /// A size, often a product.
    pub size: Atom,
    pub compare: Compare,
    /// What a person and a tuner call it: `main/par.outer/price:1`. Equal names share one value.
    pub threshold: Name,
    pub value: i64,
}

impl Test {
    /// The operator of the table that it is, and its operands.
    pub fn as_op(&self) -> (ScalarOp, [Atom; 2]) {
        (self.compare.op(), [self.size, Atom::int(self.value)])
    }

    /// Whether it holds of a size.
    pub fn holds(&self, size: i64) -> bool {
        match self.compare {
            Compare::AtLeast => size >= self.value,
            Compare::Below => size < self.value,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    AtLeast,
    Below,
}

impl Compare {
    /// The operator of the table.
    pub fn op(self) -> ScalarOp {
        match self {
            Compare::AtLeast => ScalarOp::Ge,
            Compare::Below => ScalarOp::Lt,
        }
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Compare::AtLeast => ">=",
            Compare::Below => "<",
        }
    }
}

//! What is told of a program: steps, the control flow around them, the arrays between them, and sums.
//!
//! Everything is data: variables, formulas and provenance. Who shows it finds names and lines.

use crate::formula::{Formula, Symbol};
use crate::leaf::{Access, Inner, Operations, Read};
use remc_base::ops::ScalarOp;
use remc_base::{Name, Prov};
use remc_flat::ir::{Compare, ScanKind, Var};
use rustc_hash::FxHashMap;

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What runs, in order; the number of a step is its place here, from 1 on.
    pub steps: Vec<Step>,
    pub nodes: Vec<Node>,
    /// The arrays that steps leave in memory, in the order in which they are made.
    pub arrays: Vec<Made>,
    /// What an array is a part of, or another shape of.
    pub roots: FxHashMap<Var, Var>,
    /// The state of loops of the host: arrays that are others in each round.
    pub states: Vec<Var>,
    /// For the sum of each loop whose rows differ: see [`crate::scope::Scope::shares`].
    pub shares: FxHashMap<Var, Formula>,
    /// The size of each row of such a loop.
    pub rows: FxHashMap<Var, Formula>,
    /// Where integers are computed whose values only a run can tell.
    pub computed: FxHashMap<Var, Prov>,
    /// Integers in formulas that change from round to round of a loop of the host.
    pub varying: Vec<Var>,
    /// The program goes along streams: its arrays are those of a piece.
    pub in_pieces: bool,
}

/// The host's control flow.
#[derive(Clone, Debug)]
pub enum Node {
    Step(usize),
    /// A `for`, or a map whose points run one after the other.
    For {
        times: Formula,
        prov: Prov,
        body: Vec<Node>,
    },
    While {
        /// How often the body runs in all.
        rounds: Symbol,
        prov: Prov,
        cond: Vec<Node>,
        body: Vec<Node>,
    },
    If {
        prov: Prov,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    /// Two versions of the same values.
    Branch {
        version: Version,
        prov: Prov,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
}

/// What selects the first of two versions: any of these.
#[derive(Clone, PartialEq, Debug)]
pub struct Version {
    pub any: Vec<Comparison>,
}

/// A size, compared with the value of a threshold.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    pub size: Formula,
    pub compare: Compare,
    pub threshold: Name,
    pub value: i64,
}

/// One operator: one kernel, or the few that make it up.
#[derive(Clone, Debug)]
pub struct Step {
    pub what: What,
    pub prov: Prov,
    /// Where the statements that run in it come from.
    pub fused: Vec<Prov>,
    pub inner: Vec<Inner>,
    /// Steps of an ideal machine: one, and the rounds of the loops that each thread makes by itself.
    pub depth: Formula,
    pub reads: Vec<Read>,
    pub writes: Vec<Write>,
    pub cost: Cost,
}

#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// Without a space the work of one thread.
    Map {
        space: Vec<Formula>,
    },
    /// `ops`: the operator of each component, where it is no more than that.
    Reduce {
        space: Vec<Formula>,
        axis: Formula,
        ops: Option<Vec<ScalarOp>>,
        assoc: bool,
    },
    Scan {
        space: Vec<Formula>,
        axis: Formula,
        ops: Option<Vec<ScalarOp>>,
        assoc: bool,
        kind: ScanKind,
        /// How many places there are from one prefix that is known to the next; those in between are not stored.
        known: Option<Formula>,
    },
    Scatter {
        axis: Formula,
        combine: bool,
        in_place: bool,
    },
    /// `parts`: how many filters it is, each with a number and arrays among what is written.
    Filter {
        axis: Formula,
        parts: usize,
    },
    Sort {
        axis: Formula,
    },
    Copy {
        view: &'static str,
    },
}

/// An array that a step writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Write {
    pub array: Var,
    pub elements: Formula,
    pub bytes: u32,
}

/// Bytes moved between memory and the steps, and operations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cost {
    /// Bytes read; and elements.
    pub reads: Formula,
    pub read_elements: Formula,
    pub writes: Formula,
    pub written_elements: Formula,
    pub operations: Operations,
    /// Reads are at most these; and writes.
    pub reads_at_most: bool,
    pub writes_at_most: bool,
    /// Operations are at most these.
    pub operations_at_most: bool,
}

/// An array that is materialised.
#[derive(Clone, Debug)]
pub struct Made {
    pub array: Var,
    /// Which steps make it; several where versions do.
    pub steps: Vec<usize>,
    pub elements: Formula,
    pub bytes: u32,
    pub readers: Vec<usize>,
    pub why: Vec<Why>,
}

/// Why an array is in memory, instead of being computed where it is wanted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    Result,
    /// It is the state of a loop of the host.
    Carried(Prov),
    /// So many steps read it.
    ManyReaders,
    /// This step finds its elements at computed places.
    Computed(usize, Access),
    /// This step reads each element several times.
    Again(usize),
    /// This step, which sorts, scatters or copies it, needs all of it.
    Operand(usize),
    /// It is the end of a sum or scan, which the reading step has to wait for.
    Complete(usize),
    /// Made by a version, or read by one, that the reading step is no part of.
    Versions(usize),
    /// It is read by this step, which is another nest.
    Apart(usize),
}

impl Cost {
    /// What Madsen calls work (*A streaming model for nested data parallelism*, 2013): operations, and elements that are
    /// read or written.
    pub fn work(&self) -> Formula {
        let (o, moved) = (&self.operations, &self.read_elements + &self.written_elements);
        &(&o.float + &o.other) + &moved
    }

    pub fn plus(&self, other: &Cost) -> Cost {
        Cost {
            reads: &self.reads + &other.reads,
            read_elements: &self.read_elements + &other.read_elements,
            writes: &self.writes + &other.writes,
            written_elements: &self.written_elements + &other.written_elements,
            operations: Operations {
                float: &self.operations.float + &other.operations.float,
                other: &self.operations.other + &other.operations.other,
            },
            reads_at_most: self.reads_at_most || other.reads_at_most,
            writes_at_most: self.writes_at_most || other.writes_at_most,
            operations_at_most: self.operations_at_most || other.operations_at_most,
        }
    }

    fn most(&self, other: &Cost) -> Cost {
        Cost {
            reads: self.reads.most(&other.reads),
            read_elements: self.read_elements.most(&other.read_elements),
            writes: self.writes.most(&other.writes),
            written_elements: self.written_elements.most(&other.written_elements),
            operations: Operations {
                float: self.operations.float.most(&other.operations.float),
                other: self.operations.other.most(&other.operations.other),
            },
            reads_at_most: true,
            writes_at_most: true,
            operations_at_most: true,
        }
    }

    fn times(&self, n: &Formula) -> Cost {
        Cost {
            reads: &self.reads * n,
            read_elements: &self.read_elements * n,
            writes: &self.writes * n,
            written_elements: &self.written_elements * n,
            operations: Operations { float: &self.operations.float * n, other: &self.operations.other * n },
            ..self.clone()
        }
    }
}

impl Report {
    /// What nodes cost in all, where `first` says which version runs.
    pub fn cost(&self, nodes: &[Node], first: &dyn Fn(&Version) -> bool) -> Cost {
        let mut sum = Cost::default();
        for n in nodes {
            let cost = match n {
                Node::Step(k) => self.steps.get(*k).map(|s| s.cost.clone()).unwrap_or_default(),
                Node::For { times, body, .. } => self.cost(body, first).times(times),
                Node::While { rounds, cond, body, .. } => {
                    let rounds = Formula::symbol(*rounds);
                    let asked = self.cost(cond, first).times(&(&rounds + &Formula::one()));
                    asked.plus(&self.cost(body, first).times(&rounds))
                }
                Node::If { then, otherwise, .. } => {
                    let (a, b) = (self.cost(then, first), self.cost(otherwise, first));
                    if a == b { a } else { a.most(&b) }
                }
                Node::Branch { version, then, otherwise, .. } => {
                    self.cost(if first(version) { then } else { otherwise }, first)
                }
            };
            sum = sum.plus(&cost);
        }
        sum
    }

    /// The steps of nodes one after the other, where all runs at once that can: what is called depth.
    pub fn depth(&self, nodes: &[Node], first: &dyn Fn(&Version) -> bool) -> Formula {
        nodes.iter().fold(Formula::zero(), |sum, n| {
            let depth = match n {
                Node::Step(k) => self.steps.get(*k).map_or(Formula::zero(), |s| s.depth.clone()),
                Node::For { times, body, .. } => times * &self.depth(body, first),
                Node::While { rounds, cond, body, .. } => {
                    let rounds = Formula::symbol(*rounds);
                    let asked = &self.depth(cond, first) * &(&rounds + &Formula::one());
                    &asked + &(&self.depth(body, first) * &rounds)
                }
                Node::If { then, otherwise, .. } => {
                    self.depth(then, first).most(&self.depth(otherwise, first))
                }
                Node::Branch { version, then, otherwise, .. } => {
                    self.depth(if first(version) { then } else { otherwise }, first)
                }
            };
            &sum + &depth
        })
    }

    /// Bytes of all arrays that steps leave in memory, as if none made room for another.
    pub fn space(&self) -> Formula {
        self.arrays
            .iter()
            .fold(Formula::zero(), |sum, m| &sum + &(&m.elements * &Formula::from(i128::from(m.bytes))))
    }

    /// All versions that sizes choose, in order.
    pub fn versions(&self) -> Vec<&Version> {
        fn collect<'n>(nodes: &'n [Node], to: &mut Vec<&'n Version>) {
            for n in nodes {
                match n {
                    Node::Step(_) => {}
                    Node::For { body, .. } => collect(body, to),
                    Node::While { cond: a, body: b, .. } | Node::If { then: a, otherwise: b, .. } => {
                        collect(a, to);
                        collect(b, to);
                    }
                    Node::Branch { version, then, otherwise, .. } => {
                        to.push(version);
                        collect(then, to);
                        collect(otherwise, to);
                    }
                }
            }
        }
        let mut all = Vec::new();
        collect(&self.nodes, &mut all);
        all
    }
}

//! Which kernels are compiled together, which of them side by side, and which only once they are launched.
//!
//! ```text
//! the plan                             group 0   part 0
//! launch a, launch b, launch c                   parts 1 (a) and 2 (b, c), compiled side by side with it
//! if n ≥ 512 then launch d, launch e   group 1   part 3: compiled when d or e is launched for the first time
//!            else launch f             group 2   part 4
//! ```
//!
//! Of the versions of a nest the sizes choose one, and a program that is compiled to be run at once need not wait for
//! the others. What decides is the plan's `if`s alone, whoever wrote them: a launch in a branch may never come, and
//! where one comes, those beside it in the branch most likely come too, so they are a *group*. The plan is a part of
//! its own since its code is run once and need not be good, while all versions make it long. A group is as many parts
//! as it has work for: each is a module of the code generator, which knows only one processor.

use crate::ir::{How, Kernel, KernelId, Program, Stmt, StmtKind};
use std::ops::Range;

/// How much code makes a part of its own worth while, as [`weight`] counts it: about ten milliseconds of work, beside
/// one that each part costs.
const WORTH: usize = 100;
/// The most parts that a group's kernels are.
const MOST: usize = 16;

/// The part of each kernel of a program, and the group of each part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    of: Vec<usize>,
    /// The first part after each group's.
    ends: Vec<usize>,
}

/// The parts of a program.
pub fn parts(p: &Program) -> Parts {
    let mut found = Found { known: vec![false; p.kernels.len()], groups: vec![Vec::new()] };
    found.walk(&p.plan, &mut Some(0));
    // What is never launched is compiled by nobody: it is in a part of no group.
    let mut parts = Parts { of: vec![usize::MAX; p.kernels.len()], ends: Vec::new() };
    let mut count = 1;
    for group in found.groups {
        for part in side_by_side(p, &group) {
            for kernel in part {
                parts.of[kernel.0 as usize] = count;
            }
            count += 1;
        }
        parts.ends.push(count);
    }
    parts
}

impl Parts {
    /// All kernels in the one part of the plan.
    pub fn whole(p: &Program) -> Parts {
        Parts { of: vec![0; p.kernels.len()], ends: vec![1] }
    }

    /// The part of a kernel; 0 is the plan's.
    pub fn of(&self, kernel: KernelId) -> usize {
        self.of.get(kernel.0 as usize).copied().unwrap_or(0)
    }

    /// Whether a part is the plan and nothing else.
    pub fn is_plan_alone(&self, part: usize) -> bool {
        part == 0 && !self.of.contains(&0)
    }

    /// How many groups there are; 0 is that of the plan, and of what is launched whatever happens.
    pub fn groups(&self) -> usize {
        self.ends.len()
    }

    /// The group of a kernel that is launched somewhere.
    pub fn group(&self, kernel: KernelId) -> usize {
        self.ends.partition_point(|end| *end <= self.of(kernel))
    }

    /// The parts of a group.
    pub fn in_group(&self, group: usize) -> Range<usize> {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        start..self.ends[group]
    }
}

struct Found {
    /// By kernel.
    known: Vec<bool>,
    groups: Vec<Vec<KernelId>>,
}

impl Found {
    /// Walks statements of the group `here`, which gets its number when it turns out to have a kernel. A kernel that is
    /// launched in several places belongs to the first.
    fn walk(&mut self, stmts: &[Stmt], here: &mut Option<usize>) {
        for s in stmts {
            match &s.kind {
                StmtKind::Launch { kernel, .. } => {
                    if let Some(known @ false) = self.known.get_mut(kernel.0 as usize) {
                        *known = true;
                        let group = *here.get_or_insert_with(|| {
                            self.groups.push(Vec::new());
                            self.groups.len() - 1
                        });
                        self.groups[group].push(*kernel);
                    }
                }
                StmtKind::If { then, otherwise, .. } => {
                    self.walk(then, &mut None);
                    self.walk(otherwise, &mut None);
                }
                kind => kind.blocks().into_iter().for_each(|b| self.walk(b, here)),
            }
        }
    }
}

/// Kernels as parts of much the same weight: the heaviest first, each to the lightest part.
fn side_by_side(p: &Program, kernels: &[KernelId]) -> Vec<Vec<KernelId>> {
    let mut weighed: Vec<_> = kernels.iter().map(|k| (weight(&p.kernels[*k]), *k)).collect();
    let all: usize = weighed.iter().map(|(w, _)| w).sum();
    let count = (all / WORTH).clamp(1, MOST).min(kernels.len());
    weighed.sort_by_key(|(w, _)| std::cmp::Reverse(*w));
    let mut parts = vec![(0, Vec::new()); count];
    for (w, k) in weighed {
        if let Some((sum, part)) = parts.iter_mut().min_by_key(|(sum, _)| *sum) {
            *sum += w;
            part.push(k);
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// How much code a kernel is: its statements, as often as they are written. A loop in lanes has its body, and one
/// for what is left of the range.
fn weight(k: &Kernel) -> usize {
    fn of(stmts: &[Stmt]) -> usize {
        stmts
            .iter()
            .map(|s| 1 + times(&s.kind) * s.kind.blocks().into_iter().map(|b| of(b)).sum::<usize>())
            .sum()
    }
    fn times(kind: &StmtKind) -> usize {
        match kind {
            StmtKind::For { how, .. } => match how {
                How::Seq => 1,
                How::Lanes(_) | How::Scan(_) => 4,
                How::Jam(n) => *n as usize,
            },
            _ => 1,
        }
    }
    of(&k.body)
}

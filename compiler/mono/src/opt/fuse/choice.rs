//! Which results of a map are computed where they are read.

use super::cost::{self, Cost};
use super::sites::{Site, Uses};
use super::{Fuse, Inside};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Cheap work may be done so often.
const REPEATS: u64 = 4;

/// As often a read on a condition is as good as one without.
const FEW_READS: u64 = 64;

/// Reads that cost more in steps than one element does that is stored and loaded.
const SEVERAL_READS: u32 = 3;

impl Fuse<'_> {
    /// What those results of a map cost that are computed where they are read; `None` for the others.
    /// `inside` says what evaluating the body amounts to.
    pub(super) fn choose(&self, pat: &[Var], body: &Body, inside: Inside) -> Vec<Option<Cost>> {
        let none = vec![None; pat.len()];
        let uses: Option<Vec<&Uses>> = pat.iter().map(|v| self.uses.get(v)).collect();
        let Some(uses) = uses else { return none };
        if body.results.len() != pat.len() || uses.iter().all(|u| u.sites.is_empty()) {
            return none;
        }
        let groups = groups(&uses);
        let slices: Vec<Vec<bool>> = (0..pat.len()).map(|k| cost::slice(body, k)).collect();
        let places = cost::places(body);
        let cost = |which: &dyn Fn(usize) -> bool| {
            let stmts = body.stmts.iter().enumerate().filter(|(n, _)| which(*n)).map(|(_, s)| s);
            self.cost(stmts, &places)
        };
        let costs: Vec<Cost> = slices.iter().map(|slice| cost(&|n| slice[n])).collect();
        let these = |choice: &[bool]| choice.iter().zip(&costs).map(|(c, cost)| c.then_some(*cost)).collect();
        if inside.stops {
            let mut sites = uses.iter().flat_map(|u| &u.sites);
            let Some(first) = sites.next() else { return none };
            let fits = first.exact
                && self.has_room(&groups, inside)
                && sites.all(|s| s.body == first.body && s.at == first.at)
                && uses.iter().all(|u| u.whole == 0 && !u.sizes);
            return these(&vec![fits; pat.len()]);
        }
        let often = |u: &Uses| u.sites.iter().any(|s| s.times.is_none_or(|n| n > FEW_READS));
        let trivial: Vec<bool> =
            costs.iter().zip(&uses).map(|(c, u)| c.is_trivial() && !(c.chooses && often(u))).collect();

        // Elements that are made of several others are made of neighbours in vectors; who reads every other one does not.
        let apart = |(cost, u): (&Cost, &&Uses)| {
            cost.reads >= SEVERAL_READS && u.whole == 0 && u.sites.iter().any(|s| s.strided)
        };
        if costs.iter().zip(&uses).any(apart) {
            return these(&trivial);
        }
        // All those not needed as a whole, if no statement is then evaluated too often; else the trivial.
        let all: Vec<bool> = uses.iter().zip(&trivial).map(|(u, t)| *t || u.whole == 0).collect();
        let whole = cost(&|n| slices.iter().any(|s| s[n]));
        let fits = |(n, s): (usize, &Stmt)| {
            let needs = |k: usize| slices[k][n];
            let stays = (0..pat.len()).any(|k| needs(k) && uses[k].whole > 0);
            if (0..pat.len()).all(|k| !needs(k) || trivial[k]) {
                return true;
            }
            let reads = || groups.iter().filter(|g| g.results.iter().any(|k| needs(*k)));
            let repeats = repeats(reads(), stays);
            let one = self.cost([s], &places);
            allowed(one, whole, repeats, reads().all(|g| g.strict))
        };
        let fits = self.has_room(&groups, inside) && body.stmts.iter().enumerate().all(fits);
        these(if fits { &all } else { &trivial })
    }

    /// Whether the bodies that read a map can take its own, once for each element that they read.
    fn has_room(&self, groups: &[Group], inside: Inside) -> bool {
        let mut loads: FxHashMap<usize, usize> = FxHashMap::default();
        for g in groups {
            let load = loads.entry(g.body).or_insert(self.load[g.body]);
            *load = load.saturating_add(inside.weight);
        }
        loads.into_values().all(|load| load <= cost::HEAVIEST)
    }

    /// The cost of statements in whose body these are places; reads of chosen arrays cost what is put there.
    fn cost<'s>(&self, stmts: impl IntoIterator<Item = &'s Stmt>, places: &FxHashSet<Var>) -> Cost {
        let element = |e: &Exp| self.chosen_read(e).and_then(|(map, k)| map.costs[k]);
        cost::stmts_with(self.p, stmts, places, &element)
    }
}

/// The bodies with reads in them.
pub(super) fn readers<'u>(uses: impl Iterator<Item = &'u Uses>) -> FxHashSet<usize> {
    uses.flat_map(|u| &u.sites).map(|site| site.body).collect()
}

/// Whether a statement of cost `one`, in a body of cost `all`, may be evaluated so often.
fn allowed(one: Cost, all: Cost, repeats: Option<u64>, strict: bool) -> bool {
    match repeats {
        None => false,
        Some(0) => true,
        Some(1) => one.is_scalar() || strict,
        Some(n) => n <= REPEATS && one.is_scalar() && all.units <= cost::REPEATED_UNITS,
    }
}

/// How often one element is read, at most; once more if the array stays. Reads whose indices differ in constants alone
/// are of different elements, as the columns of a row are.
fn repeats<'g>(reads: impl Iterator<Item = &'g Group>, stays: bool) -> Option<u64> {
    let mut apart: FxHashMap<(usize, Vec<Option<Var>>), u64> = FxHashMap::default();
    for g in reads {
        let index = g.at.iter().map(|a| a.as_var()).collect();
        let most = apart.entry((g.body, index)).or_default();
        *most = (*most).max(g.times?);
    }
    apart.into_values().try_fold(u64::from(stays), |sum, times| sum.checked_add(times))
}

/// Reads at the same place and index: the element is computed once for all of them.
struct Group {
    body: usize,
    at: Vec<Atom>,
    results: Vec<usize>,
    times: Option<u64>,
    strict: bool,
}

fn groups(uses: &[&Uses]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The groups of a body.
    let mut places: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (k, u) in uses.iter().enumerate() {
        for Site { body, at, times, strict, .. } in &u.sites {
            let here = places.entry(*body).or_default();
            match here.iter().find(|g| groups[**g].at == *at) {
                Some(g) => groups[*g].results.push(k),
                None => {
                    here.push(groups.len());
                    groups.push(Group {
                        body: *body,
                        at: at.clone(),
                        results: vec![k],
                        times: *times,
                        strict: *strict,
                    });
                }
            }
        }
    }
    groups
}

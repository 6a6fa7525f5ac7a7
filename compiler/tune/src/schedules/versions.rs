//! Versions of an operator with settings of their own, of which a size chooses, where no one setting suits all data sets.
//!
//! ```text
//! jam of f:1     32×4096×32   512×512×512          axis.1   32 | 512       the gap is 16
//! 4 → 8              0.60         1.31             axis.3   512 | 4096     … 8
//!
//! by.size/f:1@2/axis.1 = 128     jam of f:1, for sizes below, 8     jam of f:1@2, for the others, 4
//! ```
//!
//! A search for one setting leaves *wishes*: steps that are surely forward for some data sets and back for others. A size
//! of the operator that is smaller on all of the first than on any of the second, or larger, tells them apart; of several
//! it is the one with the widest gap between them, for its number of axes. The number lies in the middle of the gap, by
//! ratio. What comes of it is measured like any step, against what was found before: the operator in all its versions, and the
//! whole program, since a choice may keep an array from being made where it is wanted. Only if that is surely forward are there
//! versions; then each is searched for by itself, on the data sets that take it, and may fall apart again.

use super::{Answer, Asked, SURE, Search, Step, Tunable, gains, step, timing::Of};
use crate::choices::always;
use crate::clock::Ratio;
use crate::measured::{Number, On, THRESHOLD, Tried};
use crate::search::NEAR;
use remc_flat::by_size::{self, MOST, apart};
use remc_flat::ir::{Compare, Named};
use remc_kernel::schedule::Field;
use std::collections::{BTreeMap, BTreeSet};

/// A size of an operator.
#[derive(Clone, PartialEq, Debug)]
pub struct Extent {
    /// `axis.1`.
    pub name: String,
    /// How many axes it is the product of.
    pub axes: usize,
    /// The least and the greatest on each data set; `None` where the operator is not come to.
    pub on: Vec<Option<(i64, i64)>>,
}

/// A step that was forward for some data sets alone.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    of: Tunable,
    from: i64,
    to: i64,
    /// The time after it by that before, of each data set.
    on: Vec<(usize, Ratio)>,
}

/// An operator that has versions.
#[derive(Clone, Debug)]
pub(super) struct Split {
    extent: Extent,
    /// From which size on the second runs, the third, …
    from: Vec<i64>,
}

/// A data set loses by more than this where it does not want a step.
const LOSES: f64 = 1.03;

impl Wish {
    /// The data sets that want it, and those that do not.
    fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        let those =
            |is: &dyn Fn(&Ratio) -> bool| self.on.iter().filter(|(_, r)| is(r)).map(|(s, _)| *s).collect();
        (those(&|r| r.high < SURE && r.low > 0.0), those(&|r| r.median > LOSES))
    }

    /// What those gain that want it.
    fn gain(&self) -> f64 {
        self.on.iter().filter(|(_, r)| r.high < SURE).map(|(_, r)| 1.0 / r.median.max(1e-3) - 1.0).sum()
    }

    fn ratio(&self, set: usize) -> f64 {
        self.on.iter().find(|(s, _)| *s == set).map_or(1.0, |(_, r)| r.median)
    }
}

impl Split {
    /// The sizes that take a version: from the first to the one before the last.
    fn takes(&self, version: usize) -> (i64, i64) {
        let least = version.checked_sub(2).and_then(|k| self.from.get(k)).copied().unwrap_or(i64::MIN);
        (least, self.from.get(version - 1).copied().unwrap_or(i64::MAX))
    }

    /// The sizes of a data set that take a version.
    fn within(&self, set: usize, version: usize) -> Option<(i64, i64)> {
        let (low, high) = self.extent.on.get(set).copied().flatten()?;
        let (from, to) = self.takes(version);
        let (low, high) = (low.max(from), high.min(to.saturating_sub(1)));
        (low <= high).then_some((low, high))
    }
}

/// A size that tells data sets apart.
struct Apart {
    extent: Extent,
    /// Between the sizes of those on one side and on the other.
    cut: i64,
    /// Whether those that want the step are above.
    above: bool,
    gap: f64,
}

impl Search<'_> {
    /// Keeps a step that only some data sets want.
    pub(super) fn wish(&mut self, s: &Step<'_>, on: Vec<(usize, Ratio)>) {
        let wish = Wish { of: s.of.clone(), from: s.from, to: s.to, on };
        let (wants, refuses) = wish.sides();
        if !wants.is_empty() && !refuses.is_empty() {
            self.wishes.retain(|w| (&w.of.name, w.to) != (&wish.of.name, wish.to));
            self.wishes.push(wish);
        }
    }

    /// Gives operators versions where data sets want different numbers, and finds numbers for these.
    pub(super) fn versions(&mut self, tunable: &[Tunable]) {
        let mut all = tunable.to_vec();
        for _ in 1..MOST {
            let mut wishes = std::mem::take(&mut self.wishes);
            if wishes.is_empty() {
                return;
            }
            wishes.sort_by(|a, b| b.gain().total_cmp(&a.gain()).then_with(|| a.of.name.cmp(&b.of.name)));
            let mut done: BTreeSet<String> = BTreeSet::new();
            let mut new: Vec<Tunable> = Vec::new();
            for wish in wishes {
                // With another version all names may be others; what is still wanted is found again.
                if done.contains(first(&wish.of.site)) {
                    continue;
                }
                if self.bench.is_over() {
                    self.cut_short = true;
                    return;
                }
                if let Some(made) = self.grant(&wish, &mut all) {
                    done.insert(first(&wish.of.site).to_owned());
                    new.extend(made);
                }
            }
            let Ok(base) = self.compile(&Named::new()) else { return };
            if new.is_empty() || !self.look(base) {
                return;
            }
            self.fields(&new, base);
            if self.cut_short {
                return;
            }
        }
    }

    /// Gives an operator one more version for a wish, if that is surely better: the numbers of the two that one has become.
    fn grant(&mut self, wish: &Wish, all: &mut Vec<Tunable>) -> Option<Vec<Tunable>> {
        let of = &wish.of;
        let now = self.numbers.get(&of.name).copied().unwrap_or(of.value);
        let root = first(&of.site).to_owned();
        let version = apart(&of.site).map_or(1, |(_, k)| k);
        let before = self.split.get(&root).cloned();
        if now != wish.from || before.as_ref().is_some_and(|s| s.from.len() + 1 >= MOST) {
            return None;
        }
        let entry = of.name.strip_suffix(&format!("/{}/{}", of.field, of.site))?.to_owned();
        let apart = self.apart(wish, &root, version)?;
        self.bench.trying(&format!("{} by {}", of.name, apart.extent.name));
        let mut from = before.as_ref().map(|s| s.from.clone()).unwrap_or_default();
        from.insert(version - 1, apart.cut);
        let split = Split { extent: apart.extent.clone(), from };
        let wanting = of_version(&of.name, &of.site, &root, version + usize::from(apart.above));

        let (base, asked) = (self.compile(&Named::new()).ok()?, self.all());
        let old = self.numbers.clone();
        self.numbers = self.renamed(&entry, &root, version, &split);
        self.numbers.insert(wanting.clone(), wish.to);
        let (better, climbing) = match self.compile(&Named::new()) {
            Ok(code) => (self.is_better((base, code), &root, &asked), code),
            Err(_) => (false, base),
        };
        if !better {
            self.numbers = old;
            return None;
        }
        self.evidence_of(wish, &entry, &root, version, &split, &apart);
        self.split.insert(root.clone(), split);
        // The names of all versions after it are others now, and one has become two.
        let own = |t: &Tunable| first(&t.site) == root;
        let mut made: Vec<Tunable> = Vec::new();
        for t in all.iter_mut().filter(|t| own(t)) {
            let k = self::version(&t.site);
            if k == version {
                let upper = renamed(t, &root, version + 1);
                made.extend([t.clone(), upper]);
            } else if k > version {
                *t = renamed(t, &root, k + 1);
            }
        }
        all.extend(made.iter().filter(|t| self::version(&t.site) == version + 1).cloned());
        // And on in the same direction, where it is wanted.
        self.look(climbing);
        if let Some(t) = made.iter().find(|t| t.name == wanting) {
            let up = wish.to > wish.from;
            let next = step(t, wish.to, up).map(|to| Step { of: t, from: wish.to, to });
            self.climb(next.into_iter().collect(), up, climbing);
        }
        Some(made)
    }

    /// A size that tells those that want a step from those that do not, both on the side that takes this version.
    fn apart(&mut self, wish: &Wish, root: &str, version: usize) -> Option<Apart> {
        let (wants, refuses) = wish.sides();
        let extents = match self.split.get(root) {
            Some(split) => vec![split.extent.clone()],
            None => {
                let numbers = self.all();
                self.bench.extents(root, &numbers).ok()?
            }
        };
        let mut best: Option<Apart> = None;
        for extent in extents {
            let from = self.split.get(root).map(|s| s.from.clone()).unwrap_or_default();
            let within = Split { extent: extent.clone(), from };
            let of = |sets: &[usize]| -> Option<(i64, i64)> {
                let all: Option<Vec<(i64, i64)>> = sets.iter().map(|s| within.within(*s, version)).collect();
                let all = all?;
                Some((all.iter().map(|x| x.0).min()?, all.iter().map(|x| x.1).max()?))
            };
            let (Some(those), Some(others)) = (of(&wants), of(&refuses)) else { continue };
            let (low, high, above) = match () {
                () if those.1 < others.0 => (those.1, others.0, false),
                () if others.1 < those.0 => (others.1, those.0, true),
                () => continue,
            };
            let (a, b) = (low.max(1) as f64, high.max(1) as f64);
            let gap = (b / a).powf(1.0 / extent.axes.max(1) as f64);
            let cut = ((a * b).sqrt().ceil() as i64).clamp(low + 1, high);
            if best.as_ref().is_none_or(|b| gap > b.gap) {
                best = Some(Apart { extent, cut, above, gap });
            }
        }
        best
    }

    /// The numbers with one version of an operator more: that of this number falls apart, and both have what it had.
    fn renamed(&self, entry: &str, root: &str, version: usize, split: &Split) -> Named {
        let mut numbers = Named::new();
        for (name, value) in &self.numbers {
            if by_size::parse(entry, name).is_some_and(|of| of.site == root) {
                continue;
            }
            let Some(site) = site_of(entry, name, root) else {
                numbers.insert(name.clone(), *value);
                continue;
            };
            let k = self::version(site);
            if k <= version {
                numbers.insert(name.clone(), *value);
            }
            if k >= version {
                numbers.insert(of_version(name, site, root, k + 1), *value);
            }
        }
        for (k, value) in split.from.iter().enumerate() {
            let of = by_size::Of { site: root, version: k + 2, size: &split.extent.name };
            numbers.insert(by_size::name(entry, of), *value);
        }
        numbers
    }

    /// Whether code with one more version is surely faster on some data set, and slower on none.
    fn is_better(&mut self, (base, code): (usize, usize), root: &str, asked: &Named) -> bool {
        let mut ratios = Vec::new();
        for set in 0..self.bench.sets() {
            let of = [Of::Versions(root), Of::Program];
            if self.known[set].as_ref().is_none_or(|run| of[0].time(run).is_none()) {
                continue;
            }
            let changed = self.all();
            let asked = Asked { set, numbers: asked, changed: &changed };
            let answers = match self.bench.recall(&asked).filter(|a| a.len() == of.len()) {
                Some(known) => known,
                None => {
                    let mut measured = self.measure(base, code, set, &of);
                    // A few runs are not enough to turn a version down.
                    if measured.iter().any(|a| a.ratio.median > NEAR) && !self.bench.is_over() {
                        let again = self.in_turn(base, code, set, &of);
                        measured.iter_mut().zip(again).for_each(|(a, r)| a.ratio = r.unwrap_or(a.ratio));
                    }
                    if !self.bench.is_over() {
                        self.bench.keep(&asked, &measured);
                    }
                    measured
                }
            };
            let [Answer { ratio: operator, .. }, Answer { ratio: program, .. }] = answers[..] else {
                return false;
            };
            // What is as before on most data sets is no slower by what the clock says alone.
            let loses = |r: &Ratio| r.median > NEAR && r.low > 1.0;
            if loses(&operator) || loses(&program) {
                return false;
            }
            ratios.push(Ratio { median: operator.median.min(NEAR), ..operator });
        }
        !self.bench.is_over() && gains(&ratios, self.options.objective)
    }

    /// What was measured of a number is of two now, each on the data sets that take it; and of what tells them apart.
    fn evidence_of(
        &mut self,
        wish: &Wish,
        entry: &str,
        root: &str,
        version: usize,
        split: &Split,
        apart: &Apart,
    ) {
        let mut evidence = BTreeMap::new();
        for (name, number) in std::mem::take(&mut self.evidence) {
            if let Some(of) = by_size::parse(entry, &name).filter(|of| of.site == root) {
                let k = if of.version > version { of.version + 1 } else { of.version };
                let name = by_size::name(entry, by_size::Of { version: k, ..of });
                evidence.insert(name.clone(), Number { name, ..number });
                continue;
            }
            let Some(site) = site_of(entry, &name, root) else {
                evidence.insert(name, number);
                continue;
            };
            let k = self::version(site);
            let versions = if k == version { vec![k, k + 1] } else { vec![k + usize::from(k > version)] };
            for own in &versions {
                let name = of_version(&name, site, root, *own);
                let takes = |o: &&On| versions.len() == 1 || split.within(o.data, *own).is_some();
                let on: Vec<On> = number.on.iter().filter(takes).cloned().collect();
                if !on.is_empty() {
                    evidence.insert(name.clone(), Number { name, on, ..number.clone() });
                }
            }
        }
        let of = by_size::Of { site: root, version: version + 1, size: &split.extent.name };
        let name = by_size::name(entry, of);
        let on = wish.on.iter().filter_map(|(set, _)| self.told_apart(wish, *set, apart)).collect();
        // Without versions all sizes are as those were that did not want the step.
        let default = always(Compare::AtLeast, !apart.above);
        evidence.insert(name.clone(), Number { name, default, chosen: apart.cut, range: THRESHOLD, on });
        self.evidence = evidence;
    }

    /// The time of an operator on a data set where its size reaches the number, and where it does not.
    fn told_apart(&self, wish: &Wish, set: usize, apart: &Apart) -> Option<On> {
        let (low, high) = apart.extent.on.get(set).copied().flatten()?;
        let before = Of::Operator(&wish.of.site).time(self.known[set].as_ref()?)?;
        let ratio = wish.ratio(set);
        let (reaches, not) = if apart.above { (ratio, 1.0) } else { (1.0, ratio) };
        let tried =
            |at: i64, ratio: f64| Tried { at, time: Ok(before * ratio), times: ratio / reaches.min(not) };
        let sizes = if low == high { vec![low] } else { vec![low, high] };
        let tried = vec![tried(low, reaches), tried(high.saturating_add(1), not)];
        Some(On { data: set, count: sizes.len(), sizes, tried })
    }
}

/// The operator that a name is of, or of a version of: `f:1` of `f:1@2`.
fn first(site: &str) -> &str {
    apart(site).map_or(site, |(first, _)| first)
}

/// Which version an operator's name is of.
fn version(site: &str) -> usize {
    apart(site).map_or(1, |(_, k)| k)
}

/// The operator in a number's name, if it is this one or a version of it.
fn site_of<'n>(entry: &str, name: &'n str, root: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(entry)?.strip_prefix('/')?;
    let sites = Field::ALL.iter().filter_map(|f| rest.strip_prefix(f.name())?.strip_prefix('/'));
    sites.into_iter().find(|site| first(site) == root)
}

/// A number's name, of another version of its operator.
fn of_version(name: &str, site: &str, root: &str, version: usize) -> String {
    let head = name.strip_suffix(site).unwrap_or(name);
    format!("{head}{}", by_size::version(root, version))
}

fn renamed(t: &Tunable, root: &str, version: usize) -> Tunable {
    let site = by_size::version(root, version);
    Tunable { name: of_version(&t.name, &t.site, root, version), site, ..t.clone() }
}

#[cfg(test)]
mod tests;

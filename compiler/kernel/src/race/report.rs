//! What is said of two accesses that may meet.

use super::{Access, Checker, Parallel, Race, name_of};
use crate::print;

impl Checker<'_> {
    pub(super) fn text(&self, a: &Access) -> String {
        let word = match (a.update, a.write) {
            (Some(_), _) => "update",
            (None, true) => "store",
            (None, false) => "load",
        };
        format!("`{word} {}`", print::access(self.p, a.buffer, a.at))
    }

    /// Of accesses that are not all owned alike the two to show: a write and, if possible, one that is
    /// no part of the same iteration even beside it alone.
    pub(super) fn race(&self, accesses: &[&Access], owner: &Parallel) -> Race {
        let writes = accesses.iter().filter(|a| a.write);
        let pairs = writes.flat_map(|w| accesses.iter().map(move |a| (*w, *a)));
        // An access may race with itself: then it is shown alone.
        let alone = accesses.iter().find(|a| a.write && a.update.is_none() && !self.common(&[a], owner));
        let alike = |w: &Access, a: &Access| w.update.is_some() && w.update == a.update;
        let apart = |w: &Access, a: &Access| !alike(w, a) && !self.common(&[w, a], owner);
        let pair = alone.map(|a| (*a, *a)).or_else(|| pairs.clone().find(|(w, a)| apart(w, a)));
        let Some((w, a)) = pair.or_else(|| pairs.last()) else {
            // Not reached: the buffer is written.
            return self.report(accesses[0], accesses[0], owner);
        };
        self.report(w, a, owner)
    }

    fn report(&self, w: &Access, a: &Access, owner: &Parallel) -> Race {
        let (first, second) = (self.text(w), self.text(a));
        let (both, whose) = match std::ptr::eq(w, a) {
            true => (first, "it has no index"),
            false => (format!("{first} and {second}"), "they have no index at one position"),
        };
        let message = format!(
            "in kernel {}, two iterations may touch one place of `{}` at the same time, by {both}: {whose} \
             that is owned by `{}` ({})",
            name_of(self.id, self.kernel),
            print::var(self.p, w.buffer),
            print::var(self.p, owner.var),
            owner.what,
        );
        Race { kernel: self.id, buffer: w.buffer, prov: a.prov, message }
    }
}

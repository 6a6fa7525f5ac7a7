//! Names in scope, the innermost binding of each found without a search.
//!
//! ```text
//! entries     0: x ↦ a    1: y ↦ b    2: x ↦ c, hides 0
//! innermost   x ↦ 2, y ↦ 1                                 truncate(2): x ↦ 0, y ↦ 1
//! ```
//!
//! Scopes nest as blocks do: what is bound last is forgotten first. Binding, forgetting and looking up take the same
//! time however many names there are, so a program with one `let` after the other is checked in linear time.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::ops::Range;

/// What keys stand for, innermost last.
#[derive(Clone, Debug)]
pub struct Scope<K, V> {
    entries: Vec<Entry<K, V>>,
    /// The last entry of each key that has one.
    innermost: FxHashMap<K, usize>,
}

#[derive(Clone, Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    /// The entry of the same key that this one hides.
    hides: Option<usize>,
}

impl<K, V> Default for Scope<K, V> {
    fn default() -> Scope<K, V> {
        Scope { entries: Vec::new(), innermost: FxHashMap::default() }
    }
}

impl<K: Clone + Eq + Hash, V> Scope<K, V> {
    /// How many bindings there are, those that are hidden included: a mark for [`Scope::truncate`].
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Binds a key, hiding what it stands for so far.
    pub fn push(&mut self, key: K, value: V) {
        let hides = self.innermost.insert(key.clone(), self.entries.len());
        self.entries.push(Entry { key, value, hides });
    }

    fn pop(&mut self) -> Option<(K, V)> {
        let Entry { key, value, hides } = self.entries.pop()?;
        match hides {
            Some(at) => self.innermost.insert(key.clone(), at),
            None => self.innermost.remove(&key),
        };
        Some((key, value))
    }

    /// Forgets what was bound since there were `len` bindings.
    pub fn truncate(&mut self, len: usize) {
        while self.entries.len() > len {
            self.pop();
        }
    }

    /// Forgets these bindings and keeps those after them.
    pub fn forget(&mut self, range: Range<usize>) {
        let mut later = Vec::new();
        while self.entries.len() > range.end {
            later.extend(self.pop());
        }
        self.truncate(range.start);
        later.into_iter().rev().for_each(|(key, value)| self.push(key, value));
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.innermost.get(key).and_then(|at| self.entries.get(*at)).map(|e| &e.value)
    }

    pub fn contains(&self, key: &K) -> bool {
        self.innermost.contains_key(key)
    }

    /// What was bound last.
    pub fn last_mut(&mut self) -> Option<&mut V> {
        self.entries.last_mut().map(|e| &mut e.value)
    }

    /// All bindings, innermost last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.entries.iter().map(|e| (&e.key, &e.value))
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    fn all(s: &Scope<&'static str, i32>) -> Vec<(&'static str, i32)> {
        s.iter().map(|(k, v)| (*k, *v)).collect()
    }

    #[test]
    fn what_is_hidden_comes_back() {
        let mut s = Scope::default();
        s.push("x", 1);
        s.push("y", 2);
        let mark = s.len();
        s.push("x", 3);
        s.push("x", 4);
        assert_eq!((s.get(&"x"), s.get(&"y"), s.get(&"z")), (Some(&4), Some(&2), None));
        s.truncate(mark);
        assert_eq!(s.get(&"x"), Some(&1));
        s.truncate(0);
        assert!(s.is_empty() && !s.contains(&"x"));
    }

    #[test]
    fn what_is_behind_the_forgotten_stays() {
        let mut s = Scope::default();
        [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5)].into_iter().for_each(|(k, v)| s.push(k, v));
        s.forget(1..4);
        assert_eq!(all(&s), [("a", 1), ("a", 5)]);
        assert_eq!((s.get(&"a"), s.get(&"b"), s.get(&"c")), (Some(&5), None, None));
        s.truncate(1);
        assert_eq!(s.get(&"a"), Some(&1));
    }
}

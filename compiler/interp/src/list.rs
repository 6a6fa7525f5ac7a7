//! A persistent association list: extending shares the tail, and closures keep what they saw.

use std::rc::Rc;

pub(crate) struct List<K, V>(Option<Rc<Link<K, V>>>);

struct Link<K, V> {
    key: K,
    value: V,
    next: List<K, V>,
}

impl<K, V> Clone for List<K, V> {
    fn clone(&self) -> Self {
        List(self.0.clone())
    }
}

impl<K: PartialEq, V> List<K, V> {
    pub fn new() -> Self {
        List(None)
    }

    pub fn get(&self, key: K) -> Option<&V> {
        let mut at = self;
        while let Some(link) = &at.0 {
            if link.key == key {
                return Some(&link.value);
            }
            at = &link.next;
        }
        None
    }

    pub fn push(&mut self, key: K, value: V) {
        let next = List(self.0.take());
        self.0 = Some(Rc::new(Link { key, value, next }));
    }
}

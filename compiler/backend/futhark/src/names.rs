//! The names that variables have in the text.
//!
//! A variable keeps its name in the source as far as Futhark has such names: `train-images` is `train_images`,
//! `x'` stays. A name is taken while its variable is in scope, and no longer: two functions beside each other may
//! both have an `x`, and nothing ever hides anything, so that a size in a type is the size that it looks like.

use crate::helpers::is_helper;
use crate::keywords::is_reserved;
use remc_base::spelling;
use rustc_hash::FxHashSet;

/// The names in scope.
#[derive(Default)]
pub struct Names {
    taken: FxHashSet<String>,
    order: Vec<String>,
}

/// How many names there were; see [`Names::leave`].
#[derive(Clone, Copy)]
pub struct Mark(usize);

impl Names {
    pub fn enter(&self) -> Mark {
        Mark(self.order.len())
    }

    /// The names since the mark are free again.
    pub fn leave(&mut self, mark: Mark) {
        for name in self.order.drain(mark.0..) {
            self.taken.remove(&name);
        }
    }

    /// Whether something in scope has this name.
    pub fn in_scope(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// A name of nothing else in scope.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let taken = |n: &str| is_reserved(n, is_helper) || self.taken.contains(n);
        let name = spelling::unused(&identifier(wanted), taken);
        self.taken.insert(name.clone());
        self.order.push(name.clone());
        name
    }
}

/// What an element of an array of this name is called.
pub fn element(array: &str) -> String {
    let base = array.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    let base = base.strip_suffix("_row").or(base.strip_suffix("_col")).unwrap_or(base);
    match base.strip_suffix('s') {
        Some(one) if !one.is_empty() && !one.ends_with(['s', 'u']) => one.to_owned(),
        _ => format!("{base}_i"),
    }
}

/// What a cell of an array of this name is called.
pub fn cell(array: &str, suffix: &str) -> String {
    let base = array.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    format!("{}{suffix}", base.strip_suffix("_row").or(base.strip_suffix("_col")).unwrap_or(base))
}

/// What Futhark can spell of a name.
pub fn identifier(name: &str) -> String {
    spelling::identifier(name, "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_behind_its_scope() {
        let mut names = Names::default();
        assert_eq!(names.fresh("x"), "x");
        let mark = names.enter();
        assert_eq!(names.fresh("x"), "x_2");
        names.leave(mark);
        assert_eq!(names.fresh("x"), "x_2");
        assert_eq!(names.fresh("map"), "map_2");
        assert_eq!(names.fresh("quotient_i64"), "quotient_i64_2");
        assert_eq!(names.fresh("power"), "power_2");
        assert_eq!(names.fresh("power"), "power_3");
    }

    #[test]
    fn elements_have_the_singular() {
        for (array, one) in
            [("xs", "x"), ("weights_2", "weight"), ("image", "image_i"), ("xs_row", "x"), ("s", "s_i")]
        {
            assert_eq!(element(array), one);
        }
    }
}

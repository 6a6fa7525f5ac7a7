//! The names that variables have in the text.
//!
//! A variable keeps its name in the source as far as C++ has such names: `train-images` is `train_images`.
//! A second variable of a name in the same function is `x_2`; one whose name says nothing that C++ could
//! spell is `v`.

use crate::keywords::is_reserved;
use remc_base::spelling;
use remc_kernel::ir::{Program, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names of one function's variables.
#[derive(Default)]
pub struct Names {
    of: FxHashMap<Var, String>,
    taken: FxHashSet<String>,
}

impl Names {
    /// The name of a variable, which it keeps from the first time on.
    pub fn of(&mut self, p: &Program, v: Var) -> String {
        if let Some(name) = self.of.get(&v) {
            return name.clone();
        }
        let name = self.fresh(p.vars.get(v).map_or("v", |i| i.name.as_str()));
        self.of.insert(v, name.clone());
        name
    }

    /// Another name for the same variable: what a loop gives is what it carried last.
    pub fn alias(&mut self, v: Var, name: String) {
        self.of.insert(v, name);
    }

    /// A name of nothing else.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let taken = |n: &str| is_reserved(n) || self.taken.contains(n);
        let name = spelling::unused(&identifier(wanted), taken);
        self.taken.insert(name.clone());
        name
    }
}

/// What C++ can spell of a name.
pub fn identifier(name: &str) -> String {
    spelling::identifier(name, "_prime")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let mut names = Names::default();
        assert_eq!(names.fresh("x"), "x");
        assert_eq!(names.fresh("x"), "x_2");
        assert_eq!(names.fresh("x_2"), "x_2_2");
        assert_eq!(names.fresh("float"), "float_2");
    }
}

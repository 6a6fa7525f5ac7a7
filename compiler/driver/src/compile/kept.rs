//! Compiled, and what devices keep with them.

use crate::numbers::Number;
use crate::pipeline::lock;
use remc_kernel::ir::Program;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// A program's kernels and plan, ready for a code generator.
#[derive(Clone, PartialEq, Debug)]
pub struct Compiled {
    pub program: Arc<Program>,
    /// The numbers of their schedules that the lowering of each operator has read, or the code generator may.
    pub numbers: Vec<Number>,
    /// The code that devices have made of them.
    pub kept: Kept,
}

/// What devices have made of a program, one value of each type. It lives as long as the memoised program does: an edit that
/// leaves the program as it was leaves its code too.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>);

impl Kept {
    /// The value of this type, made now if there is none.
    ///
    /// # Errors
    /// What `make` says; then nothing is kept.
    pub fn get_or_make<T: Any + Send + Sync, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let found = lock(&self.0).iter().find_map(|value| value.clone().downcast().ok());
        if let Some(found) = found {
            return Ok(found);
        }
        // Without the lock: code is made in seconds. Of two that make it at once, each has its own.
        let made = Arc::new(make()?);
        lock(&self.0).push(made.clone());
        Ok(made)
    }
}

/// What is made of a program is no part of what it is.
impl PartialEq for Kept {
    fn eq(&self, _: &Kept) -> bool {
        true
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_and_a_failure_is_not_kept() {
        let kept = Kept::default();
        assert_eq!(kept.get_or_make::<u8, _>(|| Err("no")), Err("no"));
        assert_eq!(kept.get_or_make(|| Ok::<_, ()>(1u8)), Ok(Arc::new(1)));
        assert_eq!(kept.get_or_make::<u8, _>(|| Err("again")), Ok(Arc::new(1)));
        assert_eq!(kept.get_or_make(|| Ok::<_, ()>("another type")), Ok(Arc::new("another type")));
    }
}

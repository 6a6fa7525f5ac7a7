//! Names and the variables that bind them.
//!
//! A variable is an id plus the name a person gave it; equality is by id alone, so that renaming
//! never changes what a type means.

use smol_str::SmolStr;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A source name, in Unicode normalisation form C. An at-name keeps its `@`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(SmolStr);

impl Name {
    pub fn new(text: impl AsRef<str>) -> Name {
        Name(SmolStr::new(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True of `@s`: a shape variable, or an array-kinded type variable.
    pub fn is_at(&self) -> bool {
        self.0.starts_with('@')
    }
}

impl From<&str> for Name {
    fn from(s: &str) -> Name {
        Name::new(s)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

crate::define_id! {
    /// A source file of the program, the prelude's files first.
    ModuleId, "m";
    /// A value variable, unique within one top-level definition.
    VarId, "%";
}

/// A top-level definition: the name and the module that holds it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GlobalId {
    pub module: ModuleId,
    pub name: Name,
}

impl fmt::Display for GlobalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// The sort of an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sort {
    Dim,
    Shape,
}

/// A rigid index variable: bound by Π, Σ, Iλ, `unbox`, `lift` or an entry parameter.
#[derive(Clone)]
pub struct IVar {
    pub id: u32,
    pub sort: Sort,
    /// False for a variable that stands for an arbitrary run-time integer (an opened `int`), which is
    /// a dim only where a check says so.
    pub natural: bool,
    pub name: Name,
}

/// A rigid atom-type variable, bound by ∀ or Tλ.
#[derive(Clone)]
pub struct TVar {
    pub id: u32,
    pub name: Name,
}

macro_rules! by_id {
    ($t:ty) => {
        impl PartialEq for $t {
            fn eq(&self, other: &Self) -> bool {
                self.id == other.id
            }
        }
        impl Eq for $t {}
        impl PartialOrd for $t {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for $t {
            fn cmp(&self, other: &Self) -> Ordering {
                self.id.cmp(&other.id)
            }
        }
        impl Hash for $t {
            fn hash<H: Hasher>(&self, h: &mut H) {
                self.id.hash(h)
            }
        }
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}", self.name, self.id)
            }
        }
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.name.fmt(f)
            }
        }
    };
}
by_id!(IVar);
by_id!(TVar);

impl IVar {
    pub fn dim(id: u32, name: impl AsRef<str>) -> IVar {
        IVar { id, sort: Sort::Dim, natural: true, name: Name::new(name) }
    }

    pub fn shape(id: u32, name: impl AsRef<str>) -> IVar {
        IVar { id, sort: Sort::Shape, natural: true, name: Name::new(name) }
    }
}

//! The salsa database and its inputs.

use crate::pipeline::{Timings, lock};
use remc_base::ModuleId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A file of the program or of the prelude.
#[salsa::input(debug)]
pub struct SourceFile {
    #[returns(copy)]
    pub module: ModuleId,
    /// As messages show it.
    #[returns(deref)]
    pub path: String,
    #[returns(deref)]
    pub text: String,
    #[returns(copy)]
    pub prelude: bool,
    /// What each path that the file imports leads to, by the path as written. The session fills it in,
    /// since queries read no file.
    #[returns(ref)]
    pub imports: BTreeMap<String, ImportTarget>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportTarget {
    File(SourceFile),
    /// The reason why it cannot be read.
    Unreadable(String),
}

/// The prelude's files, which see one another's definitions. They change only with the compiler.
#[salsa::input(singleton, debug)]
pub struct Prelude {
    #[returns(deref)]
    pub files: Vec<SourceFile>,
}

/// What queries need beyond salsa's own interface.
#[salsa::db]
pub trait Db: salsa::Database {
    fn timings(&self) -> &Timings;
}

#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    timings: Timings,
    executed: Arc<Mutex<Vec<String>>>,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn timings(&self) -> &Timings {
        &self.timings
    }
}

impl Default for Database {
    fn default() -> Self {
        Database::new(false)
    }
}

impl Database {
    /// A database that logs the queries it executes if `log` is set, for [`Database::take_executed`].
    pub fn new(log: bool) -> Database {
        let executed: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = executed.clone();
        let callback: Box<dyn Fn(salsa::Event) + Send + Sync> = Box::new(move |event| {
            if let salsa::EventKind::WillExecute { database_key } = event.kind {
                lock(&sink).push(format!("{database_key:?}"));
            }
        });
        Database {
            storage: salsa::Storage::new(if log { Some(callback) } else { None }),
            timings: Timings::default(),
            executed,
        }
    }

    /// The queries executed since the last call, in order. Empty unless the database logs.
    pub fn take_executed(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.executed))
    }
}

//! Programs in the text forms of the intermediate languages, and passes on them: `remc opt`.

use crate::args::Ir;
use remc_base::{ArrTy, GlobalId};
use remc_driver::Session;
use remc_explicit::ir as explicit;
use remc_typed::ir as typed;
use remc_typed::verify::Globals;
use std::collections::HashMap;
use std::sync::Arc;

/// A verified program in one of the languages.
pub enum Program {
    Typed(Vec<typed::Definition>),
    Explicit(Vec<Arc<explicit::Definition>>),
    Mono(remc_mono::ir::Program),
    Flat(remc_flat::ir::Program),
    Kernel(remc_kernel::ir::Program),
}

/// The types of a program's own definitions, then of the prelude.
struct Known<'a> {
    session: &'a Session,
    own: HashMap<GlobalId, ArrTy>,
}

impl Globals for Known<'_> {
    fn ty(&self, global: &GlobalId) -> Option<ArrTy> {
        self.own.get(global).cloned().or_else(|| self.session.prelude_type(global))
    }
}

type T<X> = Result<X, String>;

impl Program {
    /// Reads and verifies a text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(session: &Session, ir: Ir, text: &str) -> T<Program> {
        let p = match ir {
            Ir::Typed => Program::Typed(remc_typed::parse::parse_program(text).map_err(|e| e.to_string())?),
            Ir::Explicit => {
                let all = remc_explicit::parse::parse_program(text).map_err(|e| e.to_string())?;
                Program::Explicit(all.into_iter().map(Arc::new).collect())
            }
            Ir::Mono => Program::Mono(remc_mono::parse::parse_program(text).map_err(|e| e.to_string())?),
            Ir::Flat => Program::Flat(remc_flat::parse::parse_program(text).map_err(|e| e.to_string())?),
            Ir::Kernel => {
                Program::Kernel(remc_kernel::parse::parse_program(text).map_err(|e| e.to_string())?)
            }
            Ir::Llvm | Ir::Asm | Ir::Object | Ir::Header | Ir::Cuda | Ir::CudaHeader | Ir::Futhark => {
                return Err("it is an output alone, which no pass reads".into());
            }
        };
        p.verify(session)?;
        Ok(p)
    }

    fn verify(&self, session: &Session) -> T<()> {
        match self {
            Program::Typed(all) => {
                let own = all.iter().map(|d| (d.name.clone(), d.ty.clone())).collect();
                let known = Known { session, own };
                all.iter().try_for_each(|d| {
                    remc_typed::verify::verify(d, &known).map_err(|e| format!("`{}`: {e}", d.name))
                })
            }
            Program::Explicit(all) => {
                let own = all.iter().map(|d| (d.name.clone(), d.ty.clone())).collect();
                let known = Known { session, own };
                all.iter().try_for_each(|d| {
                    remc_explicit::verify::verify(d, &known).map_err(|e| format!("`{}`: {e}", d.name))
                })
            }
            Program::Mono(p) => remc_mono::verify::verify(p).map_err(|e| e.to_string()),
            Program::Flat(p) => remc_flat::verify::verify(p).map_err(|e| e.to_string()),
            Program::Kernel(p) => {
                remc_kernel::verify::verify(p).map_err(|e| e.to_string())?;
                remc_kernel::race::check(p).map_err(|e| e.to_string())
            }
        }
    }

    /// Runs one pass, and verifies what it makes.
    ///
    /// # Errors
    /// There is no such pass for the program's language, or the pass refuses it.
    pub fn pass(self, session: &Session, name: &str) -> T<Program> {
        let next = match self {
            Program::Typed(all) if name == remc_explicit::lower::PASS.name => Program::Explicit(
                all.iter().map(|d| Arc::new(remc_explicit::lower::explicitize(d))).collect(),
            ),
            Program::Explicit(all) if name == remc_mono::build::PASS.name => {
                let Some(last) = all.last() else { return Err("there is no definition".into()) };
                let find = |g: &GlobalId| all.iter().find(|d| d.name == *g).cloned();
                let ranks = shape_variables(last);
                Program::Mono(remc_mono::build::build(&find, &last.name, &ranks).map_err(|e| e.to_string())?)
            }
            Program::Mono(p) if name == remc_flat::flatten::PASS.name => {
                Program::Flat(remc_flat::flatten::flatten(&p).map_err(|e| e.0)?)
            }
            Program::Mono(mut p) => match remc_mono::opt::pass(name) {
                Some(pass) => {
                    (pass.run)(&mut p);
                    Program::Mono(p)
                }
                None => return Err(format!("no pass `{name}` reads mono")),
            },
            Program::Flat(p) if name == remc_kernel::lower::PASS.name => {
                Program::Kernel(remc_kernel::lower::lower(&p).map_err(|e| e.0)?)
            }
            other => return Err(format!("no pass `{name}` reads {}", other.language())),
        };
        next.verify(session).map_err(|e| format!("after `{name}`: {e}"))?;
        Ok(next)
    }

    pub fn language(&self) -> &'static str {
        match self {
            Program::Typed(_) => "typed",
            Program::Explicit(_) => "explicit",
            Program::Mono(_) => "mono",
            Program::Flat(_) => "flat",
            Program::Kernel(_) => "kernel",
        }
    }

    pub fn print(&self) -> String {
        match self {
            Program::Typed(all) => {
                let all: Vec<Arc<typed::Definition>> = all.iter().cloned().map(Arc::new).collect();
                remc_typed::print::print_program(&all)
            }
            Program::Explicit(all) => remc_explicit::print::print_program(all),
            Program::Mono(p) => remc_mono::print::print_program(p),
            Program::Flat(p) => remc_flat::print::print_program(p),
            Program::Kernel(p) => remc_kernel::print::print_program(p),
        }
    }
}

/// Ranks for the shape variables of an entry, where nobody says what they are: one axis each.
fn shape_variables(d: &explicit::Definition) -> Vec<usize> {
    let indices = d.entry.iter().flat_map(|e| &e.indices);
    indices.filter(|v| v.sort == remc_base::Sort::Shape).map(|_| 1).collect()
}

//! Mono → Futhark: source text for Futhark 0.27 that people can read.
//!
//! | module | what it prints |
//! | --- | --- |
//! | [`interface`] | what an entry takes and gives, and the comment that says so |
//! | [`body`] | blocks of `let`s |
//! | [`control`] | branches, loops |
//! | [`growing`] | filters, and arrays one after the other |
//! | [`soac`] | `map`, `reduce`, `scan`, `scatter`, sorting |
//! | [`flags`] | operators that may stop the program |
//! | [`view`] | reshapes, transpositions, slices |
//! | [`scalar`] | operators, casts, constants |
//! | [`guard`] | sizes, conditions and indices that stop nothing where nothing is done |
//! | [`neutral`] | which starts are neutral elements |
//! | [`helpers`] | functions for what Futhark means differently |
//! | [`types`], [`packs`] | types, and several values as one |
//! | [`printer`], [`uses`] | what is known while a text is printed |
//! | [`names`], [`keywords`] | what variables are called |
//! | [`tree`] | expressions as trees, and their layout |
//!
//! What is printed is Mono as the optimiser leaves it, which is what the other devices flatten. There the operators
//! still have their names, what Futhark cannot have (arrays of arrays of different lengths inside a `map`) has been
//! made flat, and a size is a size; of parallelism, memory and devices nothing is decided yet, and Futhark decides
//! it for itself. One entry of the program is one `entry` of the text.

mod body;
mod control;
mod flags;
mod growing;
mod guard;
mod helpers;
pub mod interface;
mod keywords;
mod names;
mod neutral;
mod packs;
mod printer;
mod scalar;
mod scatter;
mod soac;
mod tree;
mod types;
mod uses;
mod view;

use printer::Printer;
use remc_base::Prov;
use remc_mono::ir::Program;
use std::fmt;

/// Why a program with channels has no text.
pub const STREAMS: &str = "a program that goes through streams piece by piece";

/// What has no text: a mistake of the compiler, since the verifier has accepted the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Says where a statement comes from, as `line 3 of main` does; nothing if that is not known.
pub type Places<'p> = &'p dyn Fn(Prov) -> Option<String>;

/// The program's text. `version` is that of remc.
///
/// # Errors
/// A program that the verifier should have refused, or one that goes through streams piece by piece: Futhark has streams as
/// arrays, so nobody asks for those.
pub fn print(p: &Program, places: Places<'_>, version: &str) -> Result<String, Error> {
    if !p.channels.is_empty() {
        return Err(Error(STREAMS.into()));
    }
    let mut printer = Printer::new(p, places);
    let interface = interface::interface(p);
    let lengths: Vec<_> = p.params.iter().flat_map(|v| &p.ty(*v).dims).filter_map(|d| d.as_var()).collect();
    printer.lengths(&lengths);
    let signature = interface::signature(&mut printer, &interface)?;
    let wants = interface.given.iter().map(|k| match p.body.results.get(*k) {
        Some(a) => printer.sizes_of_result(*a),
        None => Err(Error("a result that is not there".into())),
    });
    let wants = wants.collect::<Result<Vec<_>, Error>>()?;
    let sizes: Vec<_> = p.params.iter().filter_map(|v| printer.extent(*v)).collect();
    let body = printer.block_behind(sizes, &p.body, |pr| {
        let given = interface.given.iter().zip(&wants);
        let all = given.map(|(k, sizes)| pr.atom_as(p.body.results[*k], sizes));
        Ok(tree::Tree::tuple(all.collect::<Result<Vec<_>, Error>>()?))
    })?;
    let about = interface::about(p, &interface, version);
    let helpers = printer.helpers.text();
    Ok(format!("{about}{helpers}\n{signature} =\n  {}\n", tree::layout(&body, 2, 2)))
}

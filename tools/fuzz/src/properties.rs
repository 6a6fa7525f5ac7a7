//! What must hold of a generated program.
//!
//! - Each grain of annotation checks, verifies, and evaluates without an internal error.
//! - The type is the one that the program was built from, and the value's shape is the type's.
//! - Whatever annotations are left out, of parameters, results, instances and expressions, each by itself and in
//!   part or whole, the program elaborates to the same term and gives the same value, or stops with the same
//!   code. Terms are the same if they are equal as [`crate::specialise`] writes them: a definition that is more
//!   general without its annotations is compared at its uses.
//! - What `--show types` prints checks again and gives the same value.
//! - With one dim changed that other shapes depend on, the explicit text is rejected.
//! - With a dim or a rank changed, or an item of an array literal left out, whatever annotations there are, the
//!   text is rejected, or the verifier accepts its elaboration and the value is of its type: it is another
//!   program, and a right one.

use crate::erase;
use crate::generate::{Annotations, Grain, Program, Ty, sizes};
use crate::lab::{Fault, FaultKind, elaborated, guarded};
use crate::rng::Rng;
use crate::specialise::{self, specialised};
use remc_base::{ArrTy, AtomTy, Diagnostic, Value};
use remc_driver::render::{Style, render};
use remc_driver::{Session, SourceFile};
use remc_interp::Interp;
use std::cell::RefCell;
use std::path::Path;

/// How many random choices of annotations are tried, and how many doubtful texts.
const ERASURES: u64 = 3;
const DOUBTFUL: usize = 3;

/// Checks everything; what is chosen at random depends on the seed. Call it on a thread with a large stack.
pub fn check(program: &Program, seed: u64) -> Result<(), Fault> {
    guarded(|| {
        let explicit = evaluate(&program.text(Grain::Explicit), Some(program.ty()))?;
        shown_again(&explicit)?;
        for annotations in erasures(program, seed) {
            erased(program, &explicit, &annotations)?;
        }
        between(&program.text(Grain::Bare), seed)?;
        for text in program.wrong_texts() {
            rejected(&text)?;
        }
        let mut rng = Rng::new(seed);
        let annotations = Annotations::random(program.places(), rng.next_u64());
        let doubtful = program.doubtful_texts(&annotations);
        for _ in 0..DOUBTFUL {
            if let Some(text) = rng.pick(&doubtful) {
                rejected_or_sound(text)?;
            }
        }
        Ok(())
    })
}

/// Ranks alone, nothing, and random choices.
fn erasures(program: &Program, seed: u64) -> Vec<Annotations> {
    let places = program.places();
    let random =
        (0..ERASURES).map(|i| Annotations::random(places, seed.wrapping_mul(ERASURES).wrapping_add(i)));
    [Grain::Ranks, Grain::Bare].map(Annotations::all).into_iter().chain(random).collect()
}

/// With these annotations, the program is what it is with all.
fn erased(program: &Program, explicit: &Evaluated, annotations: &Annotations) -> Result<(), Fault> {
    let text = program.text_with(annotations);
    let other = evaluate(&text, Some(program.ty())).map_err(|f| Fault {
        message: format!("{}\n; explicitly\n{}", f.message, program.text(Grain::Explicit)),
        ..f
    })?;
    same_value(explicit, &other, FaultKind::Erasure, &text)?;
    if explicit.normal != other.normal {
        let told = format!(
            "another term\n{text}\n; elaborates as\n{}\n; explicitly\n{}\n; elaborates as\n{}",
            other.normal,
            program.text(Grain::Explicit),
            explicit.normal
        );
        return Err(Fault::new(FaultKind::Erasure, told));
    }
    shown_again(&other)
}

/// What to tell of a program that fails: the same failure, with as few annotations left out as will do.
pub fn told(program: &Program, seed: u64, fault: Fault) -> Fault {
    let again = guarded(|| {
        let explicit = evaluate(&program.text(Grain::Explicit), Some(program.ty()))?;
        let places = program.places();
        let fails = |a: &Annotations| {
            let failed = guarded(|| erased(program, &explicit, a)).err();
            failed.filter(|f| f.signature() == fault.signature())
        };
        let Some((mut least, mut found)) = erasures(program, seed)
            .into_iter()
            .map(|a| a.spelt_out(places))
            .find_map(|a| fails(&a).map(|f| (a, f)))
        else {
            return Ok(None);
        };
        for place in 0..places {
            if let Some(more) = least.with_explicit(place)
                && let Some(fault) = fails(&more)
            {
                (least, found) = (more, fault);
            }
        }
        Ok(Some(found))
    });
    again.ok().flatten().unwrap_or(fault)
}

/// How a text fares without the annotations that `--show types` gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fewest {
    /// Without any it means the same.
    None,
    /// With the ranks of parameters.
    Ranks,
    /// With the types of parameters.
    Types,
    /// Some annotation says what would not be inferred.
    Some,
}

impl Fewest {
    /// In words, after a number of programs.
    pub fn told(self) -> &'static str {
        match self {
            Fewest::None => "need no types",
            Fewest::Ranks => "need ranks",
            Fewest::Types => "need types of parameters",
            Fewest::Some => "have types that are not inferred",
        }
    }
}

/// What `--show types` makes of a right text is the same program, and so it is with any of its annotations left
/// out, as long as it is without all of them: what can be inferred can be written, or left out, in any
/// combination. Call it on a thread with a large stack.
pub fn between(text: &str, seed: u64) -> Result<Fewest, Fault> {
    guarded(|| {
        let shown = with_session(text, |session, file| {
            right(session, file, text).map_err(|f| Fault { kind: FaultKind::Refused, ..f })?;
            let program = elaborated(session, file)?;
            let terms = specialise::file(session, &program, file);
            // Files that are imported become part of the text, and of several sizes that are opened at once each is
            // opened by itself.
            let same = session.modules(file).len() == 1 && !terms.contains("(lift dims ");
            Ok((remc_driver::show::show_types(session, file), same.then_some(terms), erase::sized(session)))
        });
        let (shown, original, kept) = shown?;
        let whole = terms(&shown).map_err(|f| Fault { kind: FaultKind::ShownTypes, ..f })?;
        if let Some(original) = original.filter(|o| *o != whole) {
            return Err(other_terms(FaultKind::ShownTypes, &shown, &whole, text, &original));
        }
        let places = erase::erased(&shown, &Annotations::all(Grain::Explicit), &kept).1;
        let floors = [
            (Fewest::None, Annotations::all(Grain::Bare)),
            (Fewest::Ranks, Annotations::all(Grain::Ranks)),
            (Fewest::Types, Annotations::all(Grain::Bare).with_params()),
        ];
        let mut floor = None;
        for (fewest, least) in floors {
            match terms(&erase::erased(&shown, &least, &kept).0) {
                Ok(found) if found == whole => {
                    floor = Some((fewest, least));
                    break;
                }
                Err(f) if f.kind != FaultKind::Rejected => return Err(f),
                _ => {}
            }
        }
        let Some((fewest, least)) = floor else { return Ok(Fewest::Some) };
        for i in 0..ERASURES {
            let some =
                Annotations::random(places, seed.wrapping_mul(ERASURES).wrapping_add(i)).at_least(&least);
            let text = erase::erased(&shown, &some, &kept).0;
            let found =
                terms(&text).map_err(|f| Fault { message: format!("{}\n; of\n{shown}", f.message), ..f })?;
            if found != whole {
                return Err(other_terms(FaultKind::Erasure, &text, &found, &shown, &whole));
            }
        }
        Ok(fewest)
    })
}

fn other_terms(kind: FaultKind, text: &str, terms: &str, of: &str, expected: &str) -> Fault {
    let differ = terms.lines().zip(expected.lines()).position(|(a, b)| a != b).unwrap_or_default();
    let around = |t: &str| t.lines().skip(differ.saturating_sub(3)).take(8).collect::<Vec<_>>().join("\n");
    Fault::new(
        kind,
        format!(
            "another term\n{text}\n; elaborates as\n{}\n; not as\n{of}\n; which does as\n{}",
            around(terms),
            around(expected)
        ),
    )
}

/// The terms of a text, which is right and verifies.
fn terms(text: &str) -> Result<String, Fault> {
    let found = guarded(|| {
        with_session(text, |session, file| {
            right(session, file, text)?;
            let program = elaborated(session, file)?;
            Ok(specialise::file(session, &program, file))
        })
    });
    found.map_err(|f| match f.kind {
        FaultKind::Panic => Fault { message: format!("{}\nin\n{text}", f.message), ..f },
        _ => f,
    })
}

fn right(session: &Session, file: SourceFile, text: &str) -> Result<(), Fault> {
    let errors: Vec<_> = session.diagnostics(file).into_iter().filter(Diagnostic::is_error).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let said = render(session, &errors, Style::Short, false);
    Err(Fault::new(FaultKind::Rejected, format!("{said}in\n{text}")))
}

/// One grain alone checks and evaluates.
pub fn check_grain(program: &Program, grain: Grain) -> Result<(), Fault> {
    guarded(|| evaluate(&program.text(grain), Some(program.ty())).map(drop))
}

struct Evaluated {
    ty: ArrTy,
    /// The elaborated value with the functions of the program at their instances.
    normal: String,
    shown: String,
    /// As printed, or the code of the error that stopped it.
    value: Result<String, String>,
}

thread_local! {
    /// The session of this thread's programs: the prelude is checked once. It is taken out while in use,
    /// so that none survives a panic.
    static SESSION: RefCell<Option<(Session, SourceFile, usize)>> = const { RefCell::new(None) };
}

fn with_session<T>(text: &str, f: impl FnOnce(&Session, SourceFile) -> T) -> T {
    let (session, file, edits) = match SESSION.take() {
        Some((mut session, file, edits)) if edits < 1000 => {
            session.set_text(file, text.to_owned());
            (session, file, edits + 1)
        }
        _ => {
            let mut session = Session::default();
            let file = session.load_text("generated.remora", Path::new(""), text.to_owned());
            (session, file, 0)
        }
    };
    let done = f(&session, file);
    SESSION.set(Some((session, file, edits)));
    done
}

fn evaluate(text: &str, ty: Option<&Ty>) -> Result<Evaluated, Fault> {
    with_session(text, |session, file| {
        right(session, file, text)?;
        let program = elaborated(session, file)?;
        let silent = || Fault::new(FaultKind::Silence, "no value");
        let root = session.value(file).ok_or_else(silent)?.global(&session.db);
        let definition = program.get(&root).ok_or_else(silent)?;
        if let Some(ty) = ty.filter(|ty| !is_of(&definition.ty, ty)) {
            return Err(Fault::new(
                FaultKind::Type,
                format!("the type is {} and not {ty}, of\n{text}", definition.ty),
            ));
        }
        let normal = specialised(&program, definition, session.first_user_module());
        let value = match Interp::new(&program, session.first_user_module()).eval_definition(&root) {
            Ok(value) => {
                if !fits(&value, &definition.ty) {
                    let found = remc_runtime::text::print(&value);
                    return Err(Fault::new(
                        FaultKind::Type,
                        format!("the value {found} is not of {}, of\n{text}", definition.ty),
                    ));
                }
                Ok(remc_runtime::text::print(&value))
            }
            Err(e) if e.code == remc_interp::codes::INTERNAL => {
                return Err(Fault::new(FaultKind::Interpreter, format!("{}\n{text}", e.message)));
            }
            Err(e) => Err(e.code.to_string()),
        };
        let shown = remc_driver::show::show_types(session, file);
        Ok(Evaluated { ty: definition.ty.clone(), normal, shown, value })
    })
}

fn is_of(have: &ArrTy, want: &Ty) -> bool {
    let want_sizes = sizes(&want.dims).map(|s| s.iter().map(|n| *n as u64).collect::<Vec<_>>());
    is_atom(&have.atom, want) && have.shape.sizes() == want_sizes
}

fn is_atom(have: &AtomTy, want: &Ty) -> bool {
    matches!(have, AtomTy::Base(b) if Some(*b) == remc_base::BaseTy::from_name(want.atom.name()))
}

/// Whether a value has the shape and the numbers of its type; of boxes and functions, the shape alone.
fn fits(value: &Value, ty: &ArrTy) -> bool {
    let shape: Vec<u64> = value.shape.iter().map(|n| *n as u64).collect();
    let atom = match (&ty.atom, &value.atom) {
        (AtomTy::Base(want), AtomTy::Base(have)) => want == have,
        (AtomTy::Base(_), _) | (_, AtomTy::Base(_)) => false,
        _ => true,
    };
    atom && ty.shape.sizes() == Some(shape)
}

fn same_value(a: &Evaluated, b: &Evaluated, kind: FaultKind, text: &str) -> Result<(), Fault> {
    if a.value != b.value {
        return Err(Fault::new(
            kind,
            format!("another value: {:?} and not {:?}, of\n{text}", b.value, a.value),
        ));
    }
    if a.ty != b.ty {
        return Err(Fault::new(kind, format!("another type: {} and not {}, of\n{text}", b.ty, a.ty)));
    }
    Ok(())
}

/// `--show types` prints source once there is a printer of source; until then the text of Typed.
fn shown_again(e: &Evaluated) -> Result<(), Fault> {
    if e.shown.starts_with("(typed ") {
        return Ok(());
    }
    let again = evaluate(&e.shown, None)
        .map_err(|f| Fault::new(FaultKind::ShownTypes, format!("{:?}: {}", f.kind, f.message)))?;
    same_value(e, &again, FaultKind::ShownTypes, &e.shown)
}

fn rejected(text: &str) -> Result<(), Fault> {
    if accepted(text) {
        return Err(Fault::new(FaultKind::Accepted, format!("no error in\n{text}")));
    }
    Ok(())
}

fn accepted(text: &str) -> bool {
    with_session(text, |session, file| !session.diagnostics(file).iter().any(Diagnostic::is_error))
}

/// What is accepted is right: the verifier, which infers nothing, says so, and the value is of the type.
fn rejected_or_sound(text: &str) -> Result<(), Fault> {
    if accepted(text) { evaluate(text, None).map(drop) } else { Ok(()) }
}

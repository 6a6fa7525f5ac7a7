//! What must hold of a generated program.
//!
//! - Each grain of annotation checks, verifies, and evaluates without an internal error.
//! - The type is the one that the program was built from, and the value's shape is the type's.
//! - Each grain gives the same value, or stops with the same code; where nothing generalises, the same
//!   elaborated term.
//! - What `--show types` prints, where it is source, checks again and gives the same value.
//! - With one dim changed that other shapes depend on, the explicit text is rejected.

use crate::generate::{Func, Grain, Kind, Program, Ty, sizes};
use crate::lab::{Fault, FaultKind, elaborated, guarded};
use crate::normal::normal_form;
use remc_base::{ArrTy, AtomTy, Diagnostic, Value};
use remc_driver::render::{Style, render};
use remc_driver::{Session, SourceFile};
use remc_interp::Interp;
use std::cell::RefCell;
use std::path::Path;

/// Checks everything. Call it on a thread with a large stack.
pub fn check(program: &Program) -> Result<(), Fault> {
    guarded(|| {
        let explicit = evaluate(&program.text(Grain::Explicit), Some(program.ty()))?;
        for grain in [Grain::Ranks, Grain::Bare] {
            let text = program.text(grain);
            let other = evaluate(&text, Some(program.ty()))?;
            same_value(&explicit, &other, FaultKind::Erasure, &text)?;
            if !depends(program) && explicit.normal != other.normal {
                return Err(Fault::new(
                    FaultKind::Erasure,
                    format!(
                        "another term\n{}\n; elaborates, written with {grain:?}, as\n{}\n; explicitly as\n{}",
                        text, other.normal, explicit.normal
                    ),
                ));
            }
            shown_again(&other)?;
        }
        shown_again(&explicit)?;
        for text in program.wrong_texts() {
            rejected(&text)?;
        }
        Ok(())
    })
}

/// One grain alone checks and evaluates.
pub fn check_grain(program: &Program, grain: Grain) -> Result<(), Fault> {
    guarded(|| evaluate(&program.text(grain), Some(program.ty())).map(drop))
}

struct Evaluated {
    ty: ArrTy,
    /// Normal form of the elaborated value, without the definitions it uses.
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
        let errors: Vec<_> = session.diagnostics(file).into_iter().filter(Diagnostic::is_error).collect();
        if !errors.is_empty() {
            let said = render(session, &errors, Style::Short, false);
            return Err(Fault::new(FaultKind::Rejected, format!("{said}in\n{text}")));
        }
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
        let alone = remc_typed::print::print_program(std::slice::from_ref(definition));
        let normal = normal_form(&alone).map_err(|e| Fault::new(FaultKind::RoundTrip, e))?;
        let value = match Interp::new(&program, session.first_user_module()).eval_definition(&root) {
            Ok(value) => {
                if let Some(ty) = ty.filter(|ty| !is_value_of(&value, ty)) {
                    let found = remc_runtime::text::print(&value);
                    return Err(Fault::new(
                        FaultKind::Type,
                        format!("the value {found} is not of {ty}, of\n{text}"),
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

fn is_value_of(value: &Value, want: &Ty) -> bool {
    is_atom(&value.atom, want) && Some(&value.shape) == sizes(&want.dims).as_ref()
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
    with_session(text, |session, file| {
        if session.diagnostics(file).iter().any(Diagnostic::is_error) {
            Ok(())
        } else {
            Err(Fault::new(FaultKind::Accepted, format!("no error in\n{text}")))
        }
    })
}

/// Whether the program's term depends on what is written, as what generalises does.
fn depends(program: &Program) -> bool {
    let mut body = program.body.clone();
    let mut todo = vec![&mut body];
    while let Some(e) = todo.pop() {
        let of_named = matches!(&e.kind, Kind::App { func: Func::Named(_), .. });
        // A λ bound by `let` is a function definition too. Behind a written type a value is no longer
        // known as a dim or shape.
        if of_named || matches!(&e.kind, Kind::LetFn { .. } | Kind::Annot(_)) {
            return true;
        }
        todo.extend(e.children_mut());
    }
    false
}

//! Programs in which the values of some definitions are inputs.

use remc_base::*;
use remc_driver::Session;
use remc_explicit::ir::Definition;
use remc_explicit::lower::explicitize;
use remc_interp::Interp;
use remc_mono::build::{MOST_PARTS, build_given};
use remc_mono::eval;
use remc_runtime::text;
use std::path::Path;
use std::sync::Arc;

/// The value of a program's last expression, and the program that computes it from the values of some definitions.
fn with(program: &str, given: &[&str]) -> (String, remc_mono::ir::Program) {
    let mut session = Session::default();
    let file = session.load_text("test", Path::new(""), program.to_owned());
    let wrong = session.diagnostics(file);
    assert!(wrong.is_empty(), "{wrong:?}");
    let target = session.value(file).unwrap();
    let linked = session.link(file, &[target]);
    let defs = |g: &GlobalId| -> Option<Arc<Definition>> { linked.get(g).map(|d| Arc::new(explicitize(d))) };
    let module = file.module(&session.db);
    let names: Vec<GlobalId> = given.iter().map(|name| GlobalId { module, name: Name::new(name) }).collect();
    let interp = Interp::new(&linked, session.first_user_module());
    let values: Vec<Value> = names.iter().map(|g| interp.eval_definition(g).unwrap()).collect();
    let built = build_given(&defs, &target.global(&session.db), &[], MOST_PARTS, &names).unwrap();
    remc_mono::verify::verify(&built).unwrap();
    let arguments = eval::arguments(&built, &[], &values).unwrap();
    let results = eval::run(&built, &arguments).unwrap();
    let value = eval::value(&built.output, &results, &Subst::new()).unwrap();
    // The interpreter takes them as well.
    let again = Interp::new(&linked, session.first_user_module());
    names.iter().zip(&values).for_each(|(g, value)| again.give(g, value).unwrap());
    let interpreted = again.eval_definition(&target.global(&session.db)).unwrap();
    assert_eq!(text::print(&interpreted), text::print(&value));
    (text::print(&value), built)
}

#[test]
fn what_is_given_is_not_computed() {
    let program =
        "(define xs (* 2 (iota [4]))) (define (f y) (+ y (sum xs))) (define unused (sum xs)) (f [1 2])";
    let (value, built) = with(program, &["xs"]);
    assert_eq!(value, "[13 14]");
    assert_eq!(built.params.len(), 1);
    assert!(!remc_mono::print::print_program(&built).contains("op *"), "xs is an input");
    // In a body, in functions that are applied in a map, and of several the one from the other.
    let (value, built) = with("(define a (* 3 (iota [3]))) (define b (+ a 1)) (+ (sum b) a)", &["a", "b"]);
    assert_eq!((value.as_str(), built.params.len()), ("[12 15 18]", 2));
}

#[test]
fn tuples_and_boxes_are_given() {
    let program = "(define t (values (sum (iota [4])) (* 1.5 (iota [2])))) (define b (filter [#t #f #t] [7 8 9])) \
                   (values (+ (proj 0 t) (sum b)) (proj 1 t))";
    let (value, _) = with(program, &["b", "t"]);
    assert_eq!(value, "(values 22 [0.0 1.5])");
    let program = "(define r [(box (iota [3])) (box (iota [2]))]) (unbox r (v n) (sum v))";
    assert_eq!(with(program, &["r"]).0, "[3 1]");
}

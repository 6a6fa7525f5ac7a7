//! Printed types read back as what they are, whatever names their hidden sizes share with sizes in scope.

use proptest::prelude::*;
use remc_base::*;
use remc_driver::queries::scheme;
use remc_driver::{Database, Session};
use std::path::Path;
use std::sync::Arc;

/// A type with sizes by their places among those in scope, innermost first.
#[derive(Clone, Debug)]
enum Recipe {
    Ints(Vec<(u8, u8)>),
    Boxed(Vec<u8>, Box<Recipe>),
    Tuple(Vec<Recipe>),
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let ints = prop::collection::vec((any::<u8>(), 0..2u8), 0..3).prop_map(Recipe::Ints);
    ints.prop_recursive(4, 12, 3, |inner| {
        let names = prop::collection::vec(any::<u8>(), 1..3);
        prop_oneof![
            2 => (names, inner.clone()).prop_map(|(names, body)| Recipe::Boxed(names, Box::new(body))),
            1 => prop::collection::vec(inner, 1..3).prop_map(Recipe::Tuple),
        ]
    })
}

fn build(recipe: &Recipe, scope: &mut Vec<IVar>, next: &mut u32) -> ArrTy {
    match recipe {
        Recipe::Ints(dims) => {
            let dim = |(at, more): &(u8, u8)| {
                let v = &scope[scope.len() - 1 - usize::from(*at) % scope.len()];
                Dim::rigid(v.clone()).add(&Dim::constant(i128::from(*more)))
            };
            ArrTy::new(AtomTy::INT, Shape::of_dims(dims.iter().map(dim).collect::<Vec<_>>()))
        }
        Recipe::Boxed(names, body) => {
            let outside = scope.len();
            for name in names {
                scope.push(size(next, ["n", "m", "k"][usize::from(*name) % 3]));
            }
            let params = scope[outside..].to_vec();
            let body = build(body, scope, next);
            scope.truncate(outside);
            ArrTy::scalar(AtomTy::sigma(params, body))
        }
        Recipe::Tuple(parts) => {
            let fields = parts.iter().map(|p| (None, build(p, scope, next))).collect();
            ArrTy::scalar(AtomTy::tuple(fields))
        }
    }
}

fn size(next: &mut u32, name: &str) -> IVar {
    *next += 1;
    IVar { id: *next, sort: Sort::Dim, natural: true, name: Name::new(name) }
}

/// The type of a function that takes the type and is for all sizes `n` and `m`, as the checker reads it.
fn read_back(printed: &str) -> ArrTy {
    let mut session = Session::new(Database::new(false));
    let text = format!("(define (f{{ | n m}} [x {printed}]) 0)");
    let file = session.load_text("printed.remora", Path::new(""), text);
    let problems = session.diagnostics(file);
    assert!(problems.is_empty(), "{printed}: {problems:?}");
    let def = session.defs(file)[0];
    scheme(&session.db, def).clone().expect("a checked definition has a scheme").ty.clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn types_of_boxes_read_back(recipe in recipes()) {
        let mut next = 0;
        let mut scope = vec![size(&mut next, "n"), size(&mut next, "m")];
        let params = scope.clone();
        let ty = build(&recipe, &mut scope, &mut next);
        let printed = ty.to_string();
        let body = ArrTy::scalar(AtomTy::func(vec![ty], ArrTy::base(BaseTy::I64)));
        let want = ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy { params, body })));
        let found = read_back(&printed);
        prop_assert!(subst::alpha_eq(&want, &found), "{} was read as {}", printed, found);
    }
}

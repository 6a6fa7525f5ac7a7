//! What the tests of the verifier and of the text form share.

use remc_base::{ArrTy, GlobalId, ModuleId, Name};
use remc_typed::ir::Definition;
use remc_typed::parse::parse_program;
use remc_typed::verify::Globals;
use std::collections::HashMap;

/// A program of one definition.
pub fn definition(ty: &str, body: &str, entry: &str) -> String {
    format!("(typed 1 (definition 3 \"it\" (type {ty}) (types) (nodes {body}) {entry}))")
}

pub fn program(what: &str, text: &str) -> Vec<Definition> {
    parse_program(text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"))
}

pub struct Primitives(HashMap<GlobalId, ArrTy>);

impl Globals for Primitives {
    fn ty(&self, g: &GlobalId) -> Option<ArrTy> {
        self.0.get(g).cloned()
    }
}

/// Some primitives, their variables numbered from 0 as in a canonical type.
pub fn globals() -> Primitives {
    let types = [
        ("+", "(forall ((^t.0 num)) (-> (^t.0 ^t.0) ^t.0))"),
        ("sqrt", "(forall ((^t.0 num)) (-> (^t.0) (quot ^t.0)))"),
        ("same", "(forall ((^@t.0 @t.1)) (-> ((arr ^@t.0 @t.1)) (arr ^@t.0 @t.1)))"),
        ("head", "(pi ($d.0) (-> ((arr int (+ 1 $d.0))) int))"),
        ("iota", "(pi (@s.0) (arr int @s.0))"),
        (
            "reduce",
            "(pi ($d-1.0 @p.1 @c.2) (forall ((^t.3)) (->
               ((-> ((arr ^t.3 @c.2) (arr ^t.3 @c.2)) (arr ^t.3 @c.2)) (arr ^t.3 (+ 1 $d-1.0) @p.1 @c.2))
               (arr ^t.3 @p.1 @c.2))))",
        ),
    ];
    let global = |(name, ty)| {
        let text = definition(ty, "(0 int (int 0))", "");
        let ty = program(name, &text).remove(0).ty;
        (GlobalId { module: ModuleId(0), name: Name::new(name) }, ty)
    };
    Primitives(types.into_iter().map(global).collect())
}

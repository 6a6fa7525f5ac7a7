//! The text form reads back exactly, at any depth, and no text makes the reader panic or hang.

mod common;

use common::{definition, globals, program};
use proptest::prelude::*;
use remc_base::*;
use remc_typed::ir::*;
use remc_typed::parse::{MAX_EXPR_DEPTH, parse_program};
use remc_typed::print::{print_definition, print_program};
use remc_typed::verify::verify;
use std::sync::Arc;

fn def(ty: ArrTy, body: Expr) -> Definition {
    let name = GlobalId { module: ModuleId(7), name: Name::new("λ \"odd\" name") };
    Definition { name, ty, body, entry: None }
}

/// Prints, reads back and compares, names and flags included (equality of variables is by id alone).
fn round_trip(d: Definition) -> String {
    let before = Arc::new(d);
    let text = print_program(std::slice::from_ref(&before));
    let after = parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(after.len() == 1 && after[0] == *before, "{text}");
    assert_eq!(print_definition(&after[0]), print_definition(&before));
    text
}

/// Deep terms are compared, printed for `Debug` and dropped by recursion: the compiler runs on a large stack.
fn on_a_large_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(f).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn int(n: i128, node: u32) -> Expr {
    Expr::new(ExprKind::Lit(Lit::Int(n)), ArrTy::scalar(AtomTy::INT), NodeId(node))
}

/// `let x0 = 0 in let x1 = x0 in … x(n-1)`
fn let_chain(n: u32) -> Definition {
    let ty = ArrTy::scalar(AtomTy::INT);
    let local = |i| Local { var: VarId(i), name: Name::new(format!("x{i}")), ty: ty.clone() };
    let mut body = Expr::var(&local(n - 1), NodeId(0));
    for i in (0..n).rev() {
        let value = if i == 0 { int(0, 0) } else { Expr::var(&local(i - 1), NodeId(i)) };
        body = Expr::new(ExprKind::Let { local: local(i), value, body }, ty.clone(), NodeId(i));
    }
    def(ty, body)
}

#[test]
fn long_chains_of_lets_round_trip() {
    on_a_large_stack(|| {
        let d = let_chain(5_000);
        verify(&d, &globals()).unwrap();
        let text = round_trip(d);
        // A block, not a staircase.
        assert!(text.lines().all(|l| l.len() < 120), "{}", &text[..2_000]);
    });
}

#[test]
fn deep_applications_round_trip() {
    on_a_large_stack(|| {
        let head = "(9 (-> (int int) int) (t-app
            (9 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int)))";
        let plus = program("plus", &definition("int", head, "")).remove(0).body;
        let mut body = int(0, 0);
        for i in 0..500 {
            let arg = |expr| Arg { expr, frame: Shape::scalar() };
            let args = vec![arg(body), arg(int(i, i as u32))];
            let app = ExprKind::App { func: plus.clone(), args, frame: Shape::scalar() };
            body = Expr::new(app, ArrTy::scalar(AtomTy::INT), NodeId(i as u32));
        }
        let d = def(ArrTy::scalar(AtomTy::INT), body);
        verify(&d, &globals()).unwrap();
        round_trip(d);
    });
}

#[test]
fn deep_types_round_trip() {
    on_a_large_stack(|| {
        let mut t = ArrTy::scalar(AtomTy::INT);
        for i in 0..500 {
            let shape = Shape::of_dims([Dim::rigid(IVar::dim(i, "n")), Dim::from(2)]);
            t = match i % 3 {
                0 => ArrTy::scalar(AtomTy::sigma(vec![IVar::dim(i, "n")], ArrTy::new(t.atom, shape))),
                1 => ArrTy::scalar(AtomTy::func(vec![t.clone()], t)),
                _ => ArrTy::new(AtomTy::tuple(vec![(None, t)]), shape),
            };
            if i > 40 && i % 3 == 1 {
                // Sharing doubles the size of a written-out type: keep the rest a chain.
                let AtomTy::Fn(f) = &t.atom else { unreachable!() };
                t = f.ret.clone();
            }
        }
        // Some of it is as large as 2^13 written out, and as text still short.
        let mut d = let_chain(1);
        d.ty = t;
        assert!(round_trip(d).len() < 200_000);
    });
}

#[test]
fn depth_beyond_the_bound_is_an_error() {
    on_a_large_stack(|| {
        let text = print_definition(&let_chain(MAX_EXPR_DEPTH as u32 + 1));
        let e = parse_program(&format!("(typed 1 {text})")).unwrap_err();
        assert!(e.message.contains("deeper"), "{e}");
    });
}

#[test]
fn every_scalar_reads_back() {
    let scalars = [
        Scalar::Bool(false),
        Scalar::Char('λ'),
        Scalar::Char('\u{10ffff}'),
        Scalar::I8(i8::MIN),
        Scalar::I16(i16::MAX),
        Scalar::I32(i32::MIN),
        Scalar::I64(i64::MIN),
        Scalar::U8(u8::MAX),
        Scalar::U16(u16::MAX),
        Scalar::U32(u32::MAX),
        Scalar::U64(u64::MAX),
        Scalar::F16(half::f16::from_bits(0x7e01)),
        Scalar::F32(f32::from_bits(0xffc0_0001)),
        Scalar::F32(-0.0),
        Scalar::F64(f64::from_bits(0x7ff8_dead_beef_0001)),
        Scalar::F64(f64::NEG_INFINITY),
        Scalar::F64(5e-324),
    ];
    let lits = scalars.map(Lit::Scalar).into_iter().chain([
        Lit::Int(i128::MIN),
        Lit::Int(i128::MAX),
        Lit::Float(u64::MAX),
        Lit::Float(0),
    ]);
    let parts: Vec<_> =
        lits.map(|l| Expr::new(ExprKind::Lit(l), ArrTy::base(BaseTy::Bool), NodeId(u32::MAX))).collect();
    let d =
        def(ArrTy::base(BaseTy::I8), Expr::new(ExprKind::Tuple(parts), ArrTy::base(BaseTy::I8), NodeId(0)));
    // NaN is unlike itself: the bits are compared through the text.
    let text = print_program(&[Arc::new(d)]);
    let after = parse_program(&text).unwrap().into_iter().map(Arc::new).collect::<Vec<_>>();
    assert_eq!(print_program(&after), text);
    assert!(text.contains("#x7ff8deadbeef0001") && text.contains("#x7e01"));
}

/// The layout that people read.
#[test]
fn layout() {
    let body = "(e0 0 (arr int 2) (let (%xs.1 (arr int 2)) e1 e2))
        (e1 1 (arr int 2) (frame (2) (2 int (int 1)) (3 int (int 2))))
        (e2 4 (arr int 2) (app (2) e3 ((5 (arr int 2) (var %xs.1)) (2)) ((6 int (int 1)) ())))
        (e3 7 (-> (int int) int) (t-app
          (8 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int)))";
    let d = program("layout", &definition("(arr int 2)", body, "")).remove(0);
    let expected = "(typed 1
(definition 3 \"it\"
  (type (arr int 2))
  (types)
  (nodes
    (e0 0 (arr int 2) (let (%xs.1 (arr int 2)) e1 e2))
      (e1 1 (arr int 2) (frame (2) (2 int (int 1)) (3 int (int 2))))
    (e2 4 (arr int 2) (app (2) e3 ((5 (arr int 2) (var %xs.1)) (2)) ((6 int (int 1)) ())))
      (e3 7 (-> (int int) int) (t-app (8 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int))))))
";
    assert_eq!(print_program(&[Arc::new(d)]), expected);
}

#[test]
fn malformed_text_is_an_error_with_its_line() {
    let ok = definition("int", "(0 int (int 1))", "");
    assert!(parse_program(&ok).is_ok());
    let bad = |body: &str| definition("int", body, "");
    let texts = [
        String::new(),
        "(typed 1".to_owned(),
        "(typed 2)".to_owned(),
        "(typed 1) (typed 1)".to_owned(),
        "(mono 1)".to_owned(),
        ok.replace("(types)", "(types (t0 t0))"),
        ok.replace("(types)", "(types (t0 int) (t0 int))"),
        ok.replace("definition 3", "definition -3"),
        bad(""),
        bad("(e0 0 int e0)"),
        bad("(e0 0 int (cast e0))"),
        bad("(e0 0 int (cast e1))"),
        bad("(e0 0 int (int 1)) (e1 0 int (int 1))"),
        bad("(e0 0 int (tuple e1 e1)) (e1 0 int (int 1))"),
        bad("(e0 0 int (cast e1)) (e1 0 int (int 1)) (e1 0 int (int 1))"),
        bad("(e0 0 int (cast e1)) (0 int (int 1))"),
        bad("(0 int (int 1) 2)"),
        bad("(0 int (int 1 2))"),
        bad("(0 int (int x))"),
        bad("(0 int (scalar u8 256))"),
        bad("(0 int (scalar char 55296))"),
        bad("(0 int (scalar float 1.5))"),
        bad("(0 int (scalar f32 #x3ff8000000000000))"),
        bad("(0 int (float 0x))"),
        bad("(0 int (float 0x+1))"),
        bad("(0 int (var %x))"),
        bad("(0 int (var %x.y))"),
        bad("(0 int (var %x.+1))"),
        bad("(0 int (var %x.4294967296))"),
        bad("(0 int (var %%e2%.1))"),
        bad("(0 int (var %%ff.1))"),
        bad("(0 int (var x.1))"),
        bad("(0 (arr) (int 1))"),
        bad("(0 (arr int foo) (int 1))"),
        bad("(0 (-> int int) (int 1))"),
        bad("(0 ?x (int 1))"),
        bad("(0 (forall ((^t.1 many)) int) (int 1))"),
        bad("(4294967296 int (int 1))"),
        bad("(0 int (field -1 (0 int (int 1))))"),
        bad("(0 int (lift up ($n.1) (0 int (int 1)) (0 int (int 1))))"),
        bad("(0 int (check (prime 3) \"\" (0 int (int 1))))"),
    ];
    for text in texts {
        let e = parse_program(&text).expect_err(&text);
        assert!(e.offset <= text.len() && e.line == 1 && !e.message.is_empty(), "{text}: {e}");
    }
    let e = parse_program("(typed 1\n\n(definition 0 \"x\"\n  (type what)))").unwrap_err();
    assert_eq!(e.line, 3);
}

/// Sharing in the table cannot make a small text a huge type.
#[test]
fn types_that_explode_are_an_error() {
    let rows: String = (1..64).map(|i| format!("(t{i} (tuple t{} t{}))", i - 1, i - 1)).collect();
    let text =
        definition("t63", "(0 int (int 1))", "").replace("(types)", &format!("(types (t0 int) {rows})"));
    assert!(parse_program(&text).unwrap_err().message.contains("larger"));
    let rows: String = (1..5_000).map(|i| format!("(t{i} (tuple t{}))", i - 1)).collect();
    let text =
        definition("t63", "(0 int (int 1))", "").replace("(types)", &format!("(types (t0 int) {rows})"));
    assert!(parse_program(&text).unwrap_err().message.contains("deeper"));
}

// ---- generated terms ----

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,4}",
        "[a-z*+/%.@!?$^-]{0,4}",
        any::<String>().prop_map(|s| s.chars().take(4).collect())
    ]
}

fn ivar(sort: Sort) -> impl Strategy<Value = IVar> {
    let name = (name(), any::<bool>()).prop_map(move |(n, at)| match sort == Sort::Shape && at {
        true => format!("@{n}"),
        false => n,
    });
    (any::<u32>(), name, any::<bool>()).prop_map(move |(id, name, natural)| IVar {
        id,
        sort,
        natural,
        name: Name::new(name),
    })
}

fn any_ivar() -> impl Strategy<Value = IVar> {
    prop_oneof![ivar(Sort::Dim), ivar(Sort::Shape)]
}

fn shape_var() -> impl Strategy<Value = ShapeVar> {
    prop_oneof![
        4 => ivar(Sort::Shape).prop_map(ShapeVar::Rigid),
        1 => any::<u32>().prop_map(|m| ShapeVar::Meta(MetaId(m))),
    ]
}

fn dim_var() -> impl Strategy<Value = DimVar> {
    prop_oneof![
        4 => ivar(Sort::Dim).prop_map(DimVar::Rigid),
        1 => any::<u32>().prop_map(|m| DimVar::Meta(MetaId(m))),
        1 => shape_var().prop_map(DimVar::RankOf),
        1 => shape_var().prop_map(DimVar::SizeOf),
    ]
}

fn dim() -> impl Strategy<Value = Dim> {
    let coefficient = prop_oneof![-3i128..4, Just(i128::MIN), Just(i128::MAX)];
    let term = (prop::collection::vec(dim_var(), 0..3), coefficient);
    prop::collection::vec(term, 0..4)
        .prop_map(|terms| Dim::from_terms(terms.into_iter().map(|(m, c)| (m.into_iter().collect(), c))))
}

fn shape() -> impl Strategy<Value = Shape> {
    let item = prop_oneof![dim().prop_map(ShapeItem::Dim), shape_var().prop_map(ShapeItem::Var)];
    prop::collection::vec(item, 0..3).prop_map(Shape)
}

fn tvar() -> impl Strategy<Value = TVar> {
    (any::<u32>(), name()).prop_map(|(id, name)| TVar { id, name: Name::new(name) })
}

fn tparam() -> impl Strategy<Value = TParam> {
    let class = prop::sample::select(vec![Class::Num, Class::Int, Class::Frac, Class::Eq, Class::Ord]);
    (tvar(), prop::option::of(ivar(Sort::Shape)), prop::option::of(class))
        .prop_map(|(var, shape, class)| TParam { var, shape, class })
}

fn arr() -> impl Strategy<Value = ArrTy> {
    let leaf = prop_oneof![
        prop::sample::select(BaseTy::ALL.to_vec()).prop_map(AtomTy::Base),
        tvar().prop_map(AtomTy::Var),
        any::<u32>().prop_map(|m| AtomTy::Meta(MetaId(m))),
    ];
    let scalar = (leaf, shape()).prop_map(|(atom, shape)| ArrTy { atom, shape });
    scalar.prop_recursive(5, 24, 3, |inner| {
        let ivars = || prop::collection::vec(any_ivar(), 0..3);
        let label = prop::option::of(name().prop_map(Name::new));
        let atom = prop_oneof![
            (prop::collection::vec(inner.clone(), 0..3), inner.clone()).prop_map(|(p, r)| AtomTy::func(p, r)),
            (prop::collection::vec(tparam(), 0..3), inner.clone())
                .prop_map(|(params, body)| AtomTy::Forall(Arc::new(ForallTy { params, body }))),
            (ivars(), inner.clone()).prop_map(|(params, body)| AtomTy::Pi(Arc::new(PiTy { params, body }))),
            (ivars(), inner.clone()).prop_map(|(params, body)| AtomTy::sigma(params, body)),
            prop::collection::vec((label, inner.clone()), 0..3).prop_map(AtomTy::tuple),
            inner.prop_map(|t| AtomTy::Quot(Arc::new(t.atom))),
        ];
        (atom, shape()).prop_map(|(atom, shape)| ArrTy { atom, shape })
    })
}

/// Any term, well-typed or not, whose parts are the given.
fn term(ty: ArrTy, i: &[IVar], n: &str, d: Dim, s: Shape) -> Definition {
    let local = |var| Local { var: VarId(var), name: Name::new(n), ty: ty.clone() };
    let e = |kind| Expr::new(kind, ty.clone(), NodeId(3));
    let leaf = || e(ExprKind::Global(GlobalId { module: ModuleId(1), name: Name::new(n) }));
    let app = e(ExprKind::App {
        func: e(ExprKind::TApp {
            func: leaf(),
            args: vec![TyArg::Array(ty.clone()), TyArg::Atom(ty.atom.clone())],
        }),
        args: vec![Arg { expr: e(ExprKind::Var(VarId(1))), frame: s.clone() }],
        frame: s.clone(),
    });
    let unbox = ExprKind::Unbox { boxes: leaf(), indices: i.to_vec(), local: local(1), body: app };
    let check = ExprKind::Check { fact: Fact::Equal(d.clone(), d.clone()), why: n.into(), body: e(unbox) };
    let iapp = ExprKind::IApp { func: e(check), args: vec![Index::Dim(d.clone()), Index::Shape(s.clone())] };
    let body = e(ExprKind::Frame { dims: vec![d.clone()], elems: vec![e(iapp), e(ExprKind::ReifyShape(s))] });
    let entry = EntrySignature {
        indices: i.to_vec(),
        params: vec![(Name::new(n), ty.clone())],
        streams: Vec::new(),
        ret: ty.clone(),
    };
    Definition { entry: Some(entry), ..def(ty.clone(), e(ExprKind::Lam { params: vec![local(2)], body })) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn generated_types_round_trip(
        ty in arr(), i in prop::collection::vec(any_ivar(), 0..3), n in name(), d in dim(), s in shape(),
    ) {
        let d = term(ty, &i, &n, d, s);
        // `Debug` shows names and types where `==` looks at ids only.
        let text = print_program(&[Arc::new(d.clone())]);
        let after = parse_program(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(format!("{:?}", &after[0]), format!("{:?}", &d));
        prop_assert!(after[0] == d);
    }

    /// A damaged text is read or refused, and what is read is verified or refused.
    #[test]
    fn damaged_text_does_not_panic(
        ty in arr(), from in 0usize..4000, len in 0usize..40, with in "[ ()\"%$@!?^.0-9a-z*+>-]{0,12}",
    ) {
        let d = Arc::new(term(ty, &[IVar::dim(1, "n")], "x", Dim::from(2), Shape::scalar()));
        let mut text = print_program(&[d]);
        let from = from % text.len();
        let to = (from + len).min(text.len());
        text.replace_range(from..to, &with);
        if let Ok(all) = parse_program(&text) {
            let globals = globals();
            for d in all {
                let _ = verify(&d, &globals);
            }
        }
    }

    #[test]
    fn any_text_does_not_panic(text in any::<String>(), forms in "[ ()\"typeda1%$.e0-9]{0,200}") {
        let _ = parse_program(&text);
        let _ = parse_program(&format!("(typed 1 (definition 0 \"x\" (type int) (types) (nodes {forms})))"));
    }
}

//! The source of Typed terms: what each form is written as, and that the reader accepts it.

use remc_base::*;
use remc_syntax::ast;
use remc_typed::ir::*;
use remc_typed::scheme::{ExplicitIndex, Scheme};
use remc_typed::source::{Globals, Item, definition};
use std::sync::Arc;

/// A prelude of `index` and `take1`, in a program that has its own `head`.
struct Prelude;

impl Globals for Prelude {
    fn scheme(&self, g: &GlobalId) -> Option<Arc<Scheme>> {
        let (s, c) = (IVar::shape(0, "@s"), IVar::shape(1, "@c"));
        let body = ArrTy::base(BaseTy::Bool);
        let (params, explicit) = match g.name.as_str() {
            "index" => {
                let rank = Shape::rigid(s.clone()).rank();
                let derived = ExplicitIndex::Derived(Name::new("l"), rank);
                (vec![s, c], vec![ExplicitIndex::Param(0), ExplicitIndex::Param(1), derived])
            }
            "swapped" => (vec![s, c], vec![ExplicitIndex::Param(1), ExplicitIndex::Param(0)]),
            "head" => (vec![s, c], vec![]),
            _ => return None,
        };
        let ty = ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy { params, body })));
        let (vals, constraints, params) = (vec![], vec![], vec![]);
        Some(Arc::new(Scheme {
            ty,
            vals,
            constraints,
            explicit,
            known: None,
            adapts: false,
            params,
            parts: vec![],
            idle: vec![],
        }))
    }

    fn is_hidden(&self, name: &str) -> bool {
        name == "head"
    }
}

fn int() -> ArrTy {
    ArrTy::base(BaseTy::I64)
}

fn of(atom: AtomTy, dims: &[Dim]) -> ArrTy {
    ArrTy::new(atom, Shape::of_dims(dims.iter().cloned()))
}

fn node(kind: ExprKind, ty: ArrTy) -> Expr {
    Expr::new(kind, ty, NodeId(0))
}

fn lit(n: i128) -> Expr {
    node(ExprKind::Lit(Lit::Int(n)), int())
}

fn global(name: &str) -> Expr {
    let id = GlobalId { module: ModuleId(0), name: Name::new(name) };
    node(ExprKind::Global(id), int())
}

fn local(id: u32, name: &str, ty: ArrTy) -> Local {
    Local { var: VarId(id), name: Name::new(name), ty }
}

fn var(l: &Local) -> Expr {
    Expr::var(l, NodeId(0))
}

fn lam(params: Vec<Local>, body: Expr) -> Expr {
    let ty = AtomTy::func(params.iter().map(|l| l.ty.clone()).collect(), body.ty.clone());
    node(ExprKind::Lam { params, body }, ArrTy::scalar(ty))
}

fn app(func: Expr, args: Vec<Expr>, ty: ArrTy) -> Expr {
    let args = args.into_iter().map(|expr| Arg { expr, frame: Shape::scalar() }).collect();
    node(ExprKind::App { func, args, frame: Shape::scalar() }, ty)
}

fn at(func: Expr, types: Vec<TyArg>, indices: Vec<Index>) -> Expr {
    let mut e = func;
    if !indices.is_empty() {
        e = node(ExprKind::IApp { func: e, args: indices }, int());
    }
    if !types.is_empty() {
        e = node(ExprKind::TApp { func: e, args: types }, int());
    }
    e
}

fn let_(l: &Local, value: Expr, body: Expr) -> Expr {
    let ty = body.ty.clone();
    node(ExprKind::Let { local: l.clone(), value, body }, ty)
}

fn lift(kind: LiftKind, indices: Vec<IVar>, value: Expr, body: Expr) -> Expr {
    let ty = body.ty.clone();
    node(ExprKind::Lift { kind, indices, value, body }, ty)
}

fn frame(dims: &[i64], elems: Vec<Expr>, atom: AtomTy) -> Expr {
    let dims: Vec<_> = dims.iter().map(|n| Dim::from(*n)).collect();
    node(ExprKind::Frame { dims: dims.clone(), elems }, of(atom, &dims))
}

fn string(s: &str) -> Expr {
    let chars =
        s.chars().map(|c| node(ExprKind::Lit(Lit::Scalar(Scalar::Char(c))), ArrTy::base(BaseTy::Char)));
    frame(&[s.chars().count() as i64], chars.collect(), AtomTy::CHAR)
}

fn printed(name: &str, body: Expr, is_expression: bool) -> String {
    let name = GlobalId { module: ModuleId(9), name: Name::new(name) };
    let d = Definition { name, ty: body.ty.clone(), body, entry: None };
    let item = if is_expression { Item::Expression } else { Item::Define };
    let text = definition(&d, item, &Prelude);
    read(&text);
    text
}

fn read(text: &str) -> Arc<ast::Item> {
    let parsed = remc_syntax::parse(ModuleId(0), text, false);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{:?}", parsed.diagnostics);
    assert_eq!(parsed.items.len(), 1, "{text}");
    parsed.items[0].item.clone()
}

#[track_caller]
fn expect(e: Expr, wanted: &str) {
    assert_eq!(printed("it", e, true), wanted);
}

#[test]
fn a_function_has_its_binders_its_parameters_and_its_result() {
    let (t, n) = (TVar { id: 0, name: Name::new("t") }, IVar::dim(1, "n"));
    let t_ty = AtomTy::Var(t.clone());
    let xs = local(0, "xs", of(t_ty.clone(), &[Dim::rigid(n.clone()).add(&Dim::from(1))]));
    let half = AtomTy::quot(t_ty.clone());
    let types = || vec![TyArg::Atom(t_ty.clone())];
    let size =
        node(ExprKind::ReifyDim(Dim::rigid(n.clone()).add(&Dim::from(1))), ArrTy::scalar(t_ty.clone()));
    let indices = vec![Index::Dim(Dim::rigid(n.clone())), Index::Shape(Shape::scalar())];
    let sum =
        app(at(global("reduce"), types(), indices), vec![at(global("+"), types(), vec![]), var(&xs)], int());
    let body = app(at(global("/"), types(), vec![]), vec![sum, size], ArrTy::scalar(half));
    let body = lam(vec![xs], body);
    let params = vec![TParam { var: t, shape: None, class: Some(Class::Num) }];
    let body = node(ExprKind::TLam { params, body }, int());
    let body = node(ExprKind::ILam { params: vec![n], body }, int());
    assert_eq!(
        printed("mean", body, false),
        "(define (mean{(t num) | n} [xs [t (+ n 1)]]) : (Quot t)\n  \
         (/{t |} (reduce{t | n []} +{t |} xs) (: (reify-dimension (+ n 1)) t)))"
    );
}

#[test]
fn a_value_has_its_type_and_an_expression_stands_alone() {
    assert_eq!(printed("x", lit(3), false), "(define x : int 3)");
    expect(lit(3), "3");
}

#[test]
fn an_entry_keeps_the_names_of_its_parameters() {
    let n = IVar::dim(0, "xs");
    let ty = of(AtomTy::FLOAT, &[Dim::rigid(n.clone())]);
    let xs = local(0, "xs", ty.clone());
    let index = local(1, "index", int());
    let body = lam(vec![xs.clone(), index], app(global("index"), vec![var(&xs)], ty.clone()));
    let body = node(ExprKind::ILam { params: vec![n.clone()], body }, int());
    let params = vec![(Name::new("xs"), ty.clone()), (Name::new("index"), int())];
    let entry = EntrySignature { indices: vec![n], params, streams: Vec::new(), ret: ty };
    let name = GlobalId { module: ModuleId(9), name: Name::new("main") };
    let d = Definition { name, ty: body.ty.clone(), body, entry: Some(entry) };
    let text = definition(&d, Item::Entry, &Prelude);
    assert_eq!(
        text,
        "(entry (main{| xs.1} [xs [float xs.1]] [index int]) : [float xs.1] (prelude:index xs))"
    );
    read(&text);
}

#[test]
fn instances_name_what_the_scheme_asks_for() {
    let indices = || vec![Index::Shape(Shape::of_sizes(&[2, 3])), Index::Shape(Shape::scalar())];
    let types = || vec![TyArg::Atom(AtomTy::INT)];
    expect(at(global("index"), types(), indices()), "index{int | [2 3] [] 2}");
    expect(at(global("swapped"), types(), indices()), "swapped{int | [] [2 3]}");
    expect(at(global("mine"), types(), indices()), "mine{int | [2 3] []}");
    expect(at(global("iota"), vec![], indices()[..1].to_vec()), "iota{| [2 3]}");
    expect(at(global("head"), types(), vec![]), "prelude:head{int |}");
    let f = lam(vec![local(0, "x", int())], lit(1));
    expect(at(f, types(), indices()), "(t-app (i-app (λ ([x int]) 1) [2 3] []) int)");
}

#[test]
fn no_variable_hides_another() {
    // λ n:int. Iλ n. λ n:[int n]. λ +: … mentions all of them, and the global `+`.
    let dim = IVar::dim(0, "n");
    let outer = local(0, "n", int());
    let inner = local(1, "n", of(AtomTy::INT, &[Dim::rigid(dim.clone())]));
    let plus = local(2, "+", int());
    let uses = node(
        ExprKind::Tuple(vec![var(&outer), var(&inner), var(&plus), global("+")]),
        ArrTy::scalar(AtomTy::tuple(vec![
            (None, int()),
            (None, inner.ty.clone()),
            (None, int()),
            (None, int()),
        ])),
    );
    let e = node(ExprKind::ILam { params: vec![dim], body: lam(vec![inner], lam(vec![plus], uses)) }, int());
    expect(
        lam(vec![outer], e),
        "(λ ([n int]) (Iλ (n.1) (λ ([n.2 [int n.1]]) (λ ([+_1 int]) (values n n.2 +_1 +)))))",
    );
}

#[test]
fn names_that_are_free_again_are_used_again() {
    let (x, y) = (local(0, "x", int()), local(1, "x", int()));
    let pair = ArrTy::scalar(AtomTy::tuple(vec![(None, int()), (None, int())]));
    let e = node(ExprKind::Tuple(vec![lam(vec![x.clone()], var(&x)), lam(vec![y.clone()], var(&y))]), pair);
    expect(e, "(values (λ ([x int]) x) (λ ([x int]) x))");
}

#[test]
fn what_cannot_be_a_name_is_replaced() {
    for (name, wanted) in
        [("if", "if.1"), ("a b", "ab"), ("", "x"), ("1.5", "x"), ("@s", "s"), ("int", "int.1"), ("_", "x")]
    {
        let x = local(0, name, int());
        expect(lam(vec![x.clone()], var(&x)), &format!("(λ ([{wanted} int]) {wanted})"));
    }
    let s = IVar::shape(0, "s");
    let x = local(0, "1+", ArrTy::new(AtomTy::INT, Shape::rigid(s.clone())));
    let y = local(1, "1+", int());
    let body = lam(vec![x.clone(), y], var(&x));
    expect(
        node(ExprKind::ILam { params: vec![s], body }, int()),
        "(Iλ (@s) (λ ([1+ [int @s]] [x.1 int]) 1+))",
    );
}

#[test]
fn array_kinded_variables_are_one_name() {
    let t = TVar { id: 0, name: Name::new("@t") };
    let s = IVar::shape(1, "@t");
    let whole = ArrTy::new(AtomTy::Var(t.clone()), Shape::rigid(s.clone()));
    let rows = whole.lifted(&Shape::of_sizes(&[2]));
    let x = local(0, "x", rows);
    let params = vec![TParam { var: t, shape: Some(s), class: None }];
    let e = node(ExprKind::TLam { params, body: lam(vec![x.clone()], var(&x)) }, int());
    assert_eq!(printed("f", e, false), "(define (f{@t |} [x [@t 2]]) : [@t 2] x)");
}

#[test]
fn lets_are_one_block_and_local_functions_have_heads() {
    let (x, y) = (local(0, "x", int()), local(1, "y", int()));
    expect(let_(&x, lit(1), var(&x)), "(let ((x 1)) x)");
    let f = lam(vec![y.clone()], var(&y));
    let name = local(2, "f", f.ty.clone());
    let call = app(var(&name), vec![var(&x)], int());
    expect(let_(&x, lit(1), let_(&name, f, call)), "(let* ((x 1) ((f [y int]) : int y)) (f x))");
}

#[test]
fn choice() {
    let truth = || node(ExprKind::Lit(Lit::Scalar(Scalar::Bool(true))), ArrTy::base(BaseTy::Bool));
    let choose = |a, b| node(ExprKind::If { cond: truth(), then: a, otherwise: b }, int());
    expect(choose(lit(1), lit(2)), "(if #t 1 2)");
    expect(choose(lit(1), choose(lit(2), lit(3))), "(cond (#t 1) (#t 2) (else 3))");
    let check = |body| {
        let fact = Fact::NonNegative(Dim::from(-1));
        node(ExprKind::Check { fact, why: "it is a test".into(), body }, int())
    };
    expect(
        check(choose(lit(1), check(choose(lit(2), lit(3))))),
        "; Checked as it runs: 0 ≥ 1 (it is a test)\n(cond (#t 1) (#t 2) (else 3))",
    );
}

#[test]
fn boxes() {
    let k = IVar::dim(0, "k");
    let ty = AtomTy::sigma(vec![k.clone()], of(AtomTy::INT, &[Dim::rigid(k.clone())]));
    let contents = frame(&[2], vec![lit(6), lit(7)], AtomTy::INT);
    let b =
        node(ExprKind::Box { witnesses: vec![Index::Dim(Dim::from(2))], value: contents }, ArrTy::scalar(ty));
    expect(b.clone(), "(box ((k 2)) [int k] [6 7])");
    let n = IVar::dim(1, "k");
    let xs = local(0, "xs", of(AtomTy::INT, &[Dim::rigid(n.clone())]));
    // A box within the scope of another `k`.
    let again = IVar::dim(2, "k");
    let ty = AtomTy::sigma(vec![again.clone()], of(AtomTy::INT, &[Dim::rigid(again)]));
    let body = ExprKind::Box { witnesses: vec![Index::Dim(Dim::rigid(n.clone()))], value: var(&xs) };
    let open = ExprKind::Unbox { boxes: b, indices: vec![n], local: xs, body: node(body, ArrTy::scalar(ty)) };
    expect(node(open, int()), "(unbox (box ((k 2)) [int k] [6 7]) (xs k) (box ((k.1 k)) [int k.1] xs))");
}

#[test]
fn lifts() {
    let dim = |natural| IVar { natural, ..IVar::dim(0, "d") };
    let size = |v: &IVar| node(ExprKind::ReifyDim(Dim::rigid(v.clone())), int());
    let d = dim(true);
    expect(lift(LiftKind::Natural, vec![d.clone()], lit(3), size(&d)), "(lift [d 3] (reify-dimension d))");
    let d = dim(false);
    expect(
        lift(LiftKind::Integer, vec![d.clone()], lit(3), size(&d)),
        "(lift-int [d 3] (reify-dimension d))",
    );
    let v = frame(&[2], vec![lit(4), lit(5)], AtomTy::INT);
    let s = IVar::shape(3, "@s");
    let shape = node(ExprKind::ReifyShape(Shape::rigid(s.clone())), of(AtomTy::INT, &[Dim::from(2)]));
    expect(lift(LiftKind::Shape, vec![s], v.clone(), shape), "(lift [@s [4 5]] (reify-shape @s))");
    let e = IVar { natural: false, ..IVar::dim(1, "e") };
    let each = lift(LiftKind::Dims, vec![d, e.clone()], v, size(&e));
    expect(
        each,
        "(let ((counts [4 5]))\n  (lift-int [d (index{int | [2] [] 1} counts [0])]\n    \
         (lift-int [e (index{int | [2] [] 1} counts [1])] (reify-dimension e))))",
    );
}

#[test]
fn dims_as_numbers() {
    let n = IVar::dim(0, "n");
    let d = Dim::rigid(n.clone());
    let reify = |d: Dim, ty| {
        let e = node(ExprKind::ReifyDim(d), ty);
        printed("it", node(ExprKind::ILam { params: vec![n.clone()], body: e }, int()), true)
    };
    assert_eq!(reify(Dim::from(-3), int()), "(Iλ (n) -3)");
    assert_eq!(reify(Dim::from(3), ArrTy::base(BaseTy::F32)), "(Iλ (n) 3.0f32)");
    assert_eq!(reify(d.scale(2), int()), "(Iλ (n) (reify-dimension (* 2 n)))");
    assert_eq!(reify(d.sub(&Dim::from(5)), int()), "(Iλ (n) (- (reify-dimension n) 5))");
    assert_eq!(reify(d.scale(-1), ArrTy::base(BaseTy::I8)), "(Iλ (n) (: (- 0 (reify-dimension n)) i8))");
}

#[test]
fn shapes_as_numbers() {
    let n = IVar::dim(0, "n");
    let reify = |dims: &[Dim], b| {
        let ty = of(AtomTy::Base(b), &[Dim::from(dims.len() as i64)]);
        let e = node(ExprKind::ReifyShape(Shape::of_dims(dims.to_vec())), ty);
        printed("it", node(ExprKind::ILam { params: vec![n.clone()], body: e }, int()), true)
    };
    let d = Dim::rigid(n.clone());
    assert_eq!(reify(&[], BaseTy::I64), "(Iλ (n) (reify-shape []))");
    assert_eq!(reify(&[2.into(), 3.into()], BaseTy::U8), "(Iλ (n) [2u8 3u8])");
    assert_eq!(reify(&[d.clone(), 3.into()], BaseTy::I64), "(Iλ (n) (reify-shape [n 3]))");
    assert_eq!(reify(std::slice::from_ref(&d), BaseTy::U8), "(Iλ (n) (: (reify-shape [n]) [u8 1]))");
    // As an index, a difference must not be negative; as a number it may.
    assert_eq!(reify(&[d.sub(&4.into()), 3.into()], BaseTy::I64), "(Iλ (n) [(- (reify-dimension n) 4) 3])");
}

#[test]
fn arrays() {
    expect(frame(&[2], vec![lit(1), lit(2)], AtomTy::INT), "[1 2]");
    expect(frame(&[2, 2], (1..5).map(lit).collect(), AtomTy::INT), "[[1 2] [3 4]]");
    expect(frame(&[1, 2, 1], vec![lit(1), lit(2)], AtomTy::INT), "[[[1] [2]]]");
    let f = || at(global("+"), vec![TyArg::Atom(AtomTy::INT)], vec![]);
    expect(frame(&[1, 2], vec![f(), f()], AtomTy::INT), "(frame [1 2] +{int |} +{int |})");
    expect(frame(&[], vec![lit(1)], AtomTy::INT), "(frame [] 1)");
    expect(frame(&[0, 3], vec![], AtomTy::INT), "(array [0 3] int)");
    let s = IVar::shape(0, "@s");
    let cell = ArrTy::new(AtomTy::INT, Shape::rigid(s.clone())).lifted(&Shape::of_sizes(&[0]));
    let empty = node(ExprKind::Frame { dims: vec![Dim::zero()], elems: vec![] }, cell);
    expect(node(ExprKind::ILam { params: vec![s], body: empty }, int()), "(Iλ (@s) (frame [0] [int @s]))");
    expect(frame(&[2], vec![string("hey"), string("s\"p")], AtomTy::CHAR), r#"["hey" "s\"p"]"#);
}

#[test]
fn tuples_and_records() {
    let ty = |labels: [Option<&str>; 2]| {
        ArrTy::scalar(AtomTy::tuple(labels.map(|l| (l.map(Name::new), int())).to_vec()))
    };
    let field = |tuple, position| node(ExprKind::Field { tuple, position }, int());
    let parts = || vec![lit(1), lit(2)];
    let plain = node(ExprKind::Tuple(parts()), ty([None, None]));
    let named = node(ExprKind::Tuple(parts()), ty([Some("x"), Some("y")]));
    expect(field(plain, 1), "(proj 1 (values 1 2))");
    expect(field(named, 1), "(field (record (x 1) (y 2)) y)");
}

#[test]
fn other_forms() {
    let matrix = of(AtomTy::INT, &[Dim::from(1), Dim::from(2)]);
    let v = || frame(&[2], vec![lit(1), lit(2)], AtomTy::INT);
    expect(node(ExprKind::AsShape(v()), matrix), "(as-shape [1 2] [1 2])");
    expect(node(ExprKind::Cast(v()), of(AtomTy::Base(BaseTy::F32), &[Dim::from(2)])), "(cast f32 [1 2])");
    let (x, y) = (local(0, "x", int()), local(1, "y", int()));
    let cond = node(ExprKind::Lit(Lit::Scalar(Scalar::Bool(false))), ArrTy::base(BaseTy::Bool));
    let body = node(ExprKind::Tuple(vec![var(&y), var(&x)]), int());
    let e = ExprKind::Loop { locals: vec![(x, lit(1)), (y, lit(2))], cond, body };
    expect(node(e, int()), "(loop ((x 1) (y 2)) while #f do (values y x))");
}

#[test]
fn numbers_have_exactly_their_type() {
    let int_at = |n, b| node(ExprKind::Lit(Lit::Int(n)), ArrTy::base(b));
    expect(int_at(-3, BaseTy::I64), "-3");
    expect(int_at(3, BaseTy::F64), "3.0");
    expect(int_at(-3, BaseTy::F16), "-3.0f16");
    expect(int_at(3, BaseTy::U8), "3u8");
    expect(int_at(1 << 60, BaseTy::F32), "1.152921504606847e18f32");
    let t = TVar { id: 0, name: Name::new("t") };
    let params = vec![TParam { var: t.clone(), shape: None, class: Some(Class::Num) }];
    let e = node(ExprKind::Lit(Lit::Int(3)), ArrTy::scalar(AtomTy::Var(t)));
    expect(node(ExprKind::TLam { params, body: e }, int()), "(Tλ ((t num)) (: 3 t))");
    expect(node(ExprKind::Lit(Lit::Float(f64::NAN.to_bits())), ArrTy::base(BaseTy::F64)), "nan");
    let huge = Lit::Scalar(Scalar::F32(f32::NEG_INFINITY));
    expect(node(ExprKind::Lit(huge), ArrTy::base(BaseTy::F32)), "(: -inf f32)");
}

/// What the reader makes of a literal is the scalar that was printed.
#[test]
fn every_scalar_reads_back() {
    let mut scalars = vec![
        Scalar::I8(i8::MIN),
        Scalar::I16(i16::MAX),
        Scalar::I32(i32::MIN),
        Scalar::I64(i64::MIN),
        Scalar::U8(u8::MAX),
        Scalar::U16(1),
        Scalar::U32(u32::MAX),
        Scalar::U64(u64::MAX),
        Scalar::Bool(true),
        Scalar::Bool(false),
    ];
    scalars.extend([0.1f32, -0.0, f32::MAX, f32::MIN_POSITIVE, 1e-45, 16777216.0, 1e10].map(Scalar::F32));
    scalars.extend([0.1f64, -0.0, f64::MAX, 5e-324, 1e16, 1e-7, 123456789.0].map(Scalar::F64));
    scalars.extend(
        (0..=u16::MAX).step_by(7).map(half::f16::from_bits).filter(|x| x.is_finite()).map(Scalar::F16),
    );
    let chars = "a λ\n\t\r\0\"\\;()[]{}|#~'x\u{301}\u{200b}\u{2028}\u{212b}\u{10ffff}\u{7f}½語";
    scalars.extend(chars.chars().map(Scalar::Char));
    for s in scalars {
        let text = printed("it", node(ExprKind::Lit(Lit::Scalar(s)), ArrTy::base(s.ty())), true);
        let ast::ItemKind::Expr(e) = &read(&text).kind else { panic!("{text}") };
        let back = match *e.kind {
            ast::ExprKind::Int { value, suffix } => {
                Scalar::from_integer(suffix.unwrap_or(BaseTy::I64), value)
            }
            ast::ExprKind::Float { value, suffix } => {
                Scalar::from_float(suffix.unwrap_or(BaseTy::F64), value.value())
            }
            ast::ExprKind::Bool(b) => Some(Scalar::Bool(b)),
            ast::ExprKind::Char(c) => Some(Scalar::Char(c)),
            _ => None,
        };
        assert_eq!(back, Some(s), "{text}");
        // Zero has a sign.
        assert_eq!(format!("{back:?}"), format!("{:?}", Some(s)));
    }
    let text = printed("it", string(chars), true);
    let ast::ItemKind::Expr(e) = &read(&text).kind else { panic!("{text}") };
    assert_eq!(*e.kind, ast::ExprKind::Str(chars.to_owned()));
}

#[test]
fn long_text_is_broken_and_reads_the_same() {
    let x = local(0, "x", int());
    let mut e = var(&x);
    for i in 0..60 {
        let numbers = frame(&[40], (0..40).map(|n| lit(n * i)).collect(), AtomTy::INT);
        e = app(global("plus"), vec![e, numbers], int());
    }
    let text = printed("it", lam(vec![x], e), true);
    assert!(text.lines().all(|l| l.chars().count() <= 100 || l.trim_end_matches(')').len() < 100), "{text}");
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(read(&text), read(&one_line));
    assert!(text.lines().count() < 400, "{text}");
}

/// Terms of every kind, well-scoped and otherwise without sense.
struct Terms {
    seed: u64,
    next: u32,
    values: Vec<Local>,
    indices: Vec<IVar>,
    types: Vec<TParam>,
}

const NAMES: [&str; 16] =
    ["x", "n", "@s", "t", "int", "x.1", "-", "1+", "λ", "define", "a b", "", "index", "if", "nan", "x_1"];

impl Terms {
    /// SplitMix64.
    fn below(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % n
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len())].clone())
    }

    fn name(&mut self) -> Name {
        self.next += 1;
        Name::new(NAMES[self.below(NAMES.len())])
    }

    fn dim(&mut self) -> Dim {
        let mut d = Dim::from(self.below(9) as i64 - 4);
        for v in self.indices.clone() {
            let factor = match v.sort {
                Sort::Dim => Dim::rigid(v),
                Sort::Shape if self.below(2) == 0 => Shape::rigid(v).rank(),
                Sort::Shape => Shape::rigid(v).size(),
            };
            d = match self.below(4) {
                0 => d.add(&factor),
                1 => d.sub(&factor),
                2 => d.mul(&factor),
                _ => d,
            };
        }
        d
    }

    fn shape(&mut self) -> Shape {
        let items = (0..self.below(3)).map(|_| match self.pick(&self.indices.clone()) {
            Some(v) if v.sort == Sort::Shape => ShapeItem::Var(ShapeVar::Rigid(v)),
            _ => ShapeItem::Dim(self.dim()),
        });
        Shape(items.collect())
    }

    fn index(&mut self) -> Index {
        if self.below(2) == 0 { Index::Dim(self.dim()) } else { Index::Shape(self.shape()) }
    }

    fn ivar(&mut self) -> IVar {
        let sort = if self.below(2) == 0 { Sort::Dim } else { Sort::Shape };
        let v = IVar { id: self.next, sort, natural: true, name: self.name() };
        self.indices.push(v.clone());
        v
    }

    fn tparam(&mut self) -> TParam {
        let var = TVar { id: self.next, name: self.name() };
        let shape = (self.below(2) == 0).then(|| IVar::shape(self.next, var.name.as_str()));
        let p = TParam { var, shape, class: if self.below(2) == 0 { Some(Class::Num) } else { None } };
        self.types.push(p.clone());
        p
    }

    fn ty(&mut self, depth: usize) -> ArrTy {
        let (indices, types) = (self.indices.len(), self.types.len());
        let shape = self.shape();
        let atom = match self.below(if depth == 0 { 2 } else { 8 }) {
            0 => AtomTy::Base(BaseTy::ALL[self.below(13)]),
            1 => match self.pick(&self.types.clone()) {
                Some(TParam { var, shape: None, .. }) => AtomTy::Var(var),
                Some(TParam { var, shape: Some(s), .. }) => {
                    return ArrTy::new(AtomTy::Var(var), shape.concat(&Shape::rigid(s)));
                }
                None => AtomTy::INT,
            },
            2 => AtomTy::func(vec![self.ty(depth - 1), self.ty(depth - 1)], self.ty(depth - 1)),
            3 => {
                let params = vec![self.tparam(), self.tparam()];
                AtomTy::Forall(Arc::new(ForallTy { params, body: self.ty(depth - 1) }))
            }
            4 => {
                let params = vec![self.ivar()];
                AtomTy::Pi(Arc::new(PiTy { params, body: self.ty(depth - 1) }))
            }
            5 => AtomTy::sigma(vec![self.ivar(), self.ivar()], self.ty(depth - 1)),
            6 => AtomTy::tuple(vec![(None, self.ty(depth - 1))]),
            _ => {
                AtomTy::tuple(vec![(Some(Name::new("a")), self.ty(depth - 1)), (Some(Name::new("b")), int())])
            }
        };
        self.indices.truncate(indices);
        self.types.truncate(types);
        ArrTy::new(atom, shape)
    }

    fn local(&mut self) -> Local {
        let ty = self.ty(1);
        let l = Local { var: VarId(self.next), name: self.name(), ty };
        self.values.push(l.clone());
        l
    }

    fn exprs(&mut self, n: usize, depth: usize) -> Vec<Expr> {
        (0..n).map(|_| self.expr(depth)).collect()
    }

    fn expr(&mut self, depth: usize) -> Expr {
        let (values, indices, types) = (self.values.len(), self.indices.len(), self.types.len());
        let ty = self.ty(1);
        let kind = self.kind(depth);
        let ty = match kind {
            ExprKind::Lit(Lit::Float(_)) => ArrTy::base(BaseTy::F64),
            ExprKind::Lit(_) | ExprKind::ReifyDim(_) => ArrTy::base(BaseTy::I8),
            _ => ty,
        };
        self.values.truncate(values);
        self.indices.truncate(indices);
        self.types.truncate(types);
        node(kind, ty)
    }

    fn kind(&mut self, depth: usize) -> ExprKind {
        let Some(d) = depth.checked_sub(1) else {
            return match self.below(4) {
                0 => ExprKind::Global(GlobalId {
                    module: ModuleId(0),
                    name: Name::new(["index", "head", "+"][self.below(3)]),
                }),
                1 => match self.pick(&self.values.clone()) {
                    Some(l) => ExprKind::Var(l.var),
                    None => ExprKind::Lit(Lit::Float(self.below(99) as u64)),
                },
                2 => ExprKind::ReifyDim(self.dim()),
                _ => ExprKind::Lit(Lit::Int(self.below(99) as i128)),
            };
        };
        match self.below(20) {
            0 => ExprKind::Lam { params: vec![self.local(), self.local()], body: self.expr(d) },
            1 => ExprKind::TLam { params: vec![self.tparam()], body: self.expr(d) },
            2 => ExprKind::ILam { params: vec![self.ivar(), self.ivar()], body: self.expr(d) },
            3 | 4 => {
                let func = self.expr(d);
                let args =
                    self.exprs(2, d).into_iter().map(|expr| Arg { expr, frame: Shape::scalar() }).collect();
                ExprKind::App { func, args, frame: Shape::scalar() }
            }
            5 => ExprKind::TApp {
                func: self.expr(d),
                args: vec![TyArg::Array(self.ty(1)), TyArg::Array(self.ty(1))],
            },
            6 | 7 => ExprKind::IApp { func: self.expr(d), args: vec![self.index(), self.index()] },
            8 | 9 => {
                let value = self.expr(d);
                ExprKind::Let { local: self.local(), value, body: self.expr(d) }
            }
            10 => ExprKind::If { cond: self.expr(d), then: self.expr(d), otherwise: self.expr(d) },
            11 => ExprKind::Box { witnesses: vec![self.index(), self.index()], value: self.expr(d) },
            12 => {
                let boxes = self.expr(d);
                let (indices, local) = (vec![self.ivar(), self.ivar()], self.local());
                ExprKind::Unbox { boxes, indices, local, body: self.expr(d) }
            }
            13 => {
                let value = self.expr(d);
                let v = self.ivar();
                let kind = if v.sort == Sort::Shape { LiftKind::Shape } else { LiftKind::Natural };
                ExprKind::Lift { kind, indices: vec![v], value, body: self.expr(d) }
            }
            14 => {
                let value = self.expr(d);
                let names = [self.name(), self.name()];
                let v =
                    |(k, n): (u32, &Name)| IVar { natural: false, ..IVar::dim(self.next + k, n.as_str()) };
                let indices: Vec<_> = (0..).zip(&names).map(v).collect();
                self.next += 2;
                self.indices.extend(indices.clone());
                ExprKind::Lift { kind: LiftKind::Dims, indices, value, body: self.expr(d) }
            }
            15 => ExprKind::Tuple(self.exprs(2, d)),
            16 => ExprKind::Field { tuple: self.expr(d), position: 0 },
            17 => ExprKind::Cast(self.expr(d)),
            18 => ExprKind::AsShape(self.expr(d)),
            _ => match self.below(3) {
                0 => ExprKind::Frame { dims: vec![Dim::from(2), Dim::from(1)], elems: self.exprs(2, d) },
                1 => {
                    let inits = self.exprs(2, d);
                    let locals = inits.into_iter().map(|e| (self.local(), e)).collect();
                    ExprKind::Loop { locals, cond: self.expr(d), body: self.expr(d) }
                }
                _ => {
                    let fact = Fact::NonNegative(self.dim());
                    ExprKind::Check { fact, why: "".into(), body: self.expr(d) }
                }
            },
        }
    }
}

proptest::proptest! {
    #[test]
    fn all_terms_read(seed: u64) {
        let mut terms = Terms { seed, next: 0, values: vec![], indices: vec![], types: vec![] };
        let e = terms.expr(5);
        let text = printed("it", e, terms.below(2) == 0);
        let code = text.lines().filter(|l| !l.starts_with(';')).collect::<Vec<_>>().join("\n");
        let one_line = code.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(read(&text), read(&one_line), "{text}");
    }
}

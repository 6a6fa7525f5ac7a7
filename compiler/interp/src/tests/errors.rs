use super::*;

fn fails(e: Expr) -> (String, String) {
    let e = run(e).expect_err("an error");
    assert_eq!(e.at, Some((global(1, "main"), NodeId(7))), "{e:?}");
    (e.code.0.to_string(), e.message)
}

fn prim_fails(name: &str, indices: &[Index], args: &[Expr], code: &str, message: &str) {
    let (c, m) = fails(app(inst(name, indices), args, ty(INT, &[])));
    assert_eq!((c.as_str(), m.as_str()), (code, message), "{name}");
}

#[test]
fn faults_of_scalar_operators_show_the_operands() {
    let (c, m) = fails(app(prim("quotient"), &[int(7), int(0)], ty(INT, &[])));
    assert_eq!((c.as_str(), m.as_str()), ("R0003", "integer division by zero: (quotient 7 0)"));
    let e = lift(prim("%"), &[(vec(&[1, 2]), vec![2]), (vec(&[1, 0]), vec![2])], &[2], ty(INT, &[2]));
    assert_eq!(fails(e).1, "integer division by zero: (% 2 0)");
    let (c, m) = fails(app(prim("expt"), &[int(2), int(-1)], ty(INT, &[])));
    assert_eq!((c.as_str(), m.as_str()), ("R0004", "negative exponent of an integer: (expt 2 -1)"));
    assert_eq!(fails(app(prim("int->char"), &[int(-1)], ArrTy::base(BaseTy::Char))).0, "R0010");
    assert_eq!(fails(ex(ExprKind::Cast(int(0xd800)), ArrTy::base(BaseTy::Char))).0, "R0010");
}

#[test]
fn faults_of_array_primitives() {
    let v = || vec(&[1, 2, 3]);
    let at = [shape(&[3]), shape(&[])];
    prim_fails("index", &at, &[v(), vec(&[3])], "R0001", "the index [3] is out of range for the shape [3]");
    prim_fails("index", &at, &[v(), vec(&[-1])], "R0001", "the index [-1] is out of range for the shape [3]");
    let sub = [dim(3), dim(2), shape(&[])];
    prim_fails(
        "subvector",
        &sub,
        &[v(), int(2)],
        "R0008",
        "2 items from 2 on reach past the 3 items there are",
    );
    prim_fails(
        "subvector",
        &sub,
        &[v(), int(-1)],
        "R0008",
        "2 items from -1 on reach past the 3 items there are",
    );
    let sub = [shape(&[3]), shape(&[2]), shape(&[])];
    let m = "a part of shape [2] at [2] reaches past the array, whose shape is [3]";
    prim_fails("subarray", &sub, &[v(), vec(&[2])], "R0008", m);
    let m = "split: the lengths add up to 4, but there are 3 items";
    prim_fails("split", &[dim(3), dim(2), shape(&[])], &[v(), vec(&[2, 2])], "R0009", m);
    let m = "split: the length -1 at index 1 is negative";
    prim_fails("split", &[dim(3), dim(2), shape(&[])], &[v(), vec(&[4, -1])], "R0002", m);
    let to = [dim(3), dim(2), shape(&[])];
    let m = "scatter: the index 2 is past the end of 2 places";
    prim_fails("scatter", &to, &[v(), vec(&[0, 1, 2])], "R0011", m);
    let m = "reshape of shape [3] (3 elements) to [2 2] (4 elements)";
    prim_fails("reshape", &[shape(&[3]), shape(&[2, 2])], &[v()], "R0007", m);
    prim_fails(
        "reduce",
        &[dim(0), shape(&[]), shape(&[])],
        &[prim("+"), vec(&[])],
        "R0005",
        "reduce of an empty dimension",
    );
    let m = "replicate: the count -2 at index 1 is negative";
    prim_fails("replicate/counts", &[dim(3), shape(&[])], &[vec(&[1, -2, 0]), v()], "R0002", m);
    let x = local(1, ty(INT, &[]));
    let id = lam(&[&x], var(&x));
    let m = "the dimension that counts `iterate` is negative: -1";
    prim_fails("iterate", &[shape(&[])], &[int(-1), id, int(0)], "R0002", m);
}

#[test]
fn sizes_that_cannot_be_allocated() {
    for s in [&[1usize << 40][..], &[1 << 32, 1 << 32]] {
        let mut e = iapp(prim("iota"), &[shape(s)]);
        e.ty = ty(INT, s);
        assert_eq!(fails(e).0, "R0012");
    }
    let big = iapp(prim("replicate"), &[shape(&[0, 1 << 40]), shape(&[])]);
    let e = app(tapp(big, &[INT]), &[int(1)], ty(INT, &[0]));
    assert_eq!(run(e).unwrap().shape, vec![0, 1 << 40]);
    let e =
        app(inst("replicate/counts", &[dim(1), shape(&[])]), &[vec(&[i64::MAX]), vec(&[1])], ty(INT, &[]));
    assert_eq!(fails(e).0, "R0012");
}

#[test]
fn checks_say_why() {
    let n = IVar { natural: false, ..IVar::dim(1, "n") };
    let with = |value: i64, fact: Fact| {
        let body = ex(ExprKind::Check { fact, why: "take wants fewer".into(), body: int(1) }, ty(INT, &[]));
        let kind =
            ExprKind::Lift { kind: LiftKind::Integer, indices: vec![n.clone()], value: int(value), body };
        ex(kind, ty(INT, &[]))
    };
    let rest = Dim::rigid(n.clone()).sub(&Dim::from(3));
    assert_eq!(run(with(3, Fact::NonNegative(rest.clone()))).unwrap(), val(&[], &[1]));
    let (c, m) = fails(with(2, Fact::NonNegative(rest)));
    assert_eq!((c.as_str(), m.as_str()), ("R0005", "take wants fewer: (- n 3) is -1"));
    let equal = Fact::Equal(Dim::rigid(n.clone()), Dim::from(4));
    let (c, m) = fails(with(5, equal));
    assert_eq!((c.as_str(), m.as_str()), ("R0006", "take wants fewer: n is 5, 4"));
}

#[test]
fn numbers_that_do_not_fit_and_shapes_that_are_not() {
    let e = ex(ExprKind::ReifyDim(Dim::from(300)), ArrTy::base(BaseTy::U8));
    assert_eq!(fails(e), ("R0014".into(), "300 does not fit in u8, which holds 0 to 255".into()));
    let e = ex(ExprKind::AsShape(vec(&[1, 2])), ty(INT, &[3]));
    assert_eq!(fails(e), ("R0013".into(), "as-shape: the value has shape [2], not [3]".into()));
}

#[test]
fn errors_point_at_the_innermost_place_of_the_program() {
    // A prelude function that fails when the program's f calls it.
    let mut p = Prog::default();
    let x = local(1, ty(INT, &[]));
    let mut inner = app(prim("quotient"), &[var(&x), int(0)], ty(INT, &[]));
    inner.node = NodeId(1);
    let half = p.define(0, "half", lam(&[&x], inner));
    let mut call = app(half, &[var(&x)], ty(INT, &[]));
    call.node = NodeId(2);
    let f = p.define(1, "f", lam(&[&x], call));
    let mut outer = app(f, &[int(5)], ty(INT, &[]));
    outer.node = NodeId(3);
    let e = p.run(outer).unwrap_err();
    assert_eq!(e.at, Some((global(1, "f"), NodeId(2))));
    let nodes: Vec<u32> = e.trace.iter().map(|(_, n)| n.0).collect();
    assert_eq!(nodes, vec![1, 2, 3]);
}

#[test]
fn ill_typed_terms_are_reported_not_panicked_on() {
    let bad = [
        app(int(3), &[int(4)], ty(INT, &[])),
        var(&local(99, ty(INT, &[]))),
        app(prim("+"), &[int(1), lit(Scalar::Bool(true))], ty(INT, &[])),
        lift(prim("+"), &[(vec(&[1, 2]), vec![2]), (vec(&[1, 2, 3]), vec![3])], &[2], ty(INT, &[2])),
        app(prim("reduce"), &[], ty(INT, &[])),
        app(prim("no-such-primitive"), &[], ty(INT, &[])),
        ex(ExprKind::Global(global(1, "main")), ty(INT, &[])),
    ];
    for e in bad {
        assert_eq!(run(e).unwrap_err().code.0, "R0999");
    }
}

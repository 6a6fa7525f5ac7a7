use super::*;
use crate::prim::ArrayPrim;

/// Reads the primitives' names from the prelude itself, so that none is forgotten.
#[test]
fn every_primitive_of_the_prelude_is_known() {
    let scalars = include_str!("../../../../prelude/scalars.remora");
    let arrays = include_str!("../../../../prelude/arrays.remora");
    let names = |text: &str| -> Vec<String> {
        text.split("(primitive (").skip(1).map(|s| s.split(['{', ' ', ')']).next().unwrap().into()).collect()
    };
    for name in names(scalars) {
        assert!(ops::ScalarOp::from_name(&name).is_some(), "{name}");
    }
    for name in names(arrays) {
        assert!(ArrayPrim::from_name(&name).is_some(), "{name}");
    }
    assert_eq!(names(scalars).len(), ops::TABLE.len());
    assert_eq!(names(arrays).len(), ArrayPrim::NAMES.len());
}

fn minus() -> Expr {
    let (x, y) = (local(31, ty(INT, &[])), local(32, ty(INT, &[])));
    lam(&[&x, &y], app(prim("-"), &[var(&x), var(&y)], ty(INT, &[])))
}

fn check(name: &str, indices: &[Index], args: &[Expr], want: Value) {
    let shape: Vec<usize> = want.shape.clone();
    assert_eq!(run(app(inst(name, indices), args, ty(INT, &shape))).unwrap(), want, "{name}");
}

#[test]
fn reductions_go_from_left_to_right() {
    let scalar = || [dim(2), shape(&[]), shape(&[])];
    for op in [prim("-"), minus()] {
        check("reduce", &scalar(), &[op.clone(), vec(&[10, 3, 2])], val(&[], &[5]));
        check("reduce", &scalar(), &[op.clone(), vec(&[10])], val(&[], &[10]));
        check("reduce/zero", &scalar(), &[op.clone(), int(100), vec(&[10, 3])], val(&[], &[87]));
        check("reduce/zero", &scalar(), &[op.clone(), int(100), vec(&[])], val(&[], &[100]));
        check("iscan", &scalar(), &[op.clone(), vec(&[10, 3, 2])], val(&[3], &[10, 7, 5]));
        check("iscan/zero", &scalar(), &[op.clone(), int(1), vec(&[10, 3])], val(&[2], &[-9, -12]));
        check("iscan/zero", &scalar(), &[op.clone(), int(1), vec(&[])], val(&[0], &[]));
        check("scan/zero", &scalar(), &[op.clone(), int(0), vec(&[2, 10])], val(&[3], &[0, -2, -12]));
        check("scan/zero", &scalar(), &[op.clone(), int(0), vec(&[])], val(&[1], &[0]));
        check("open-scan/zero", &scalar(), &[op.clone(), int(0), vec(&[2, 10])], val(&[2], &[0, -2]));
        check("open-scan/zero", &scalar(), &[op.clone(), int(0), vec(&[])], val(&[0], &[]));
        let m = ints(&[2, 3], &[10, 20, 30, 1, 2, 3]);
        let pad = [dim(1), shape(&[3]), shape(&[])];
        check("reduce", &pad, &[op.clone(), m.clone()], val(&[3], &[9, 18, 27]));
        check(
            "scan/zero",
            &pad,
            &[op.clone(), int(0), m.clone()],
            val(&[3, 3], &[0, 0, 0, -10, -20, -30, -11, -22, -33]),
        );
        check("open-scan/zero", &pad, &[op.clone(), int(0), m], val(&[2, 3], &[0, 0, 0, -10, -20, -30]));
        // An empty pad: no result, but n of them.
        let none = [dim(1), shape(&[0]), shape(&[])];
        check("reduce", &none, &[op.clone(), ints(&[2, 0], &[])], val(&[0], &[]));
        check("iscan", &none, &[op, ints(&[2, 0], &[])], val(&[2, 0], &[]));
    }
}

#[test]
fn reduction_of_whole_cells() {
    // A non-commutative operator on rows: the left row.
    let (x, y) = (local(1, ty(INT, &[2])), local(2, ty(INT, &[2])));
    let left = lam(&[&x, &y], var(&x));
    let m = ints(&[3, 2], &[1, 2, 3, 4, 5, 6]);
    check("reduce", &[dim(2), shape(&[]), shape(&[2])], &[left, m], val(&[2], &[1, 2]));
}

#[test]
fn folds() {
    // (λ (x acc) (+ x (* 10 acc)))
    let (x, a) = (local(1, ty(INT, &[])), local(2, ty(INT, &[])));
    let ten = app(prim("*"), &[int(10), var(&a)], ty(INT, &[]));
    let f = lam(&[&x, &a], app(prim("+"), &[var(&x), ten], ty(INT, &[])));
    let at = [dim(3), shape(&[]), shape(&[]), shape(&[])];
    check("fold", &at, &[f.clone(), int(0), vec(&[1, 2, 3])], val(&[], &[123]));
    check("trace", &at, &[f.clone(), int(0), vec(&[1, 2, 3])], val(&[4], &[0, 1, 12, 123]));
    check("trace", &at, &[f.clone(), int(4), vec(&[])], val(&[1], &[4]));
    let pad = [dim(2), shape(&[2]), shape(&[]), shape(&[])];
    check("fold", &pad, &[f, int(0), ints(&[2, 2], &[1, 2, 3, 4])], val(&[2], &[13, 24]));
}

#[test]
fn iteration() {
    let x = local(1, ty(INT, &[]));
    let double = lam(&[&x], app(prim("*"), &[var(&x), int(2)], ty(INT, &[])));
    let small = lam(&[&x], app(prim("<"), &[var(&x), int(100)], ty(AtomTy::BOOL, &[])));
    check("iterate", &[shape(&[])], &[int(5), double.clone(), int(1)], val(&[], &[32]));
    check("iterate", &[shape(&[])], &[int(0), double.clone(), int(1)], val(&[], &[1]));
    check("while", &[shape(&[])], &[small, double, int(3)], val(&[], &[192]));
}

#[test]
fn making_and_rearranging() {
    let mut iota = iapp(prim("iota"), &[shape(&[2, 3])]);
    iota.ty = ty(INT, &[2, 3]);
    assert_eq!(run(iota).unwrap(), val(&[2, 3], &[0, 1, 2, 3, 4, 5]));
    let thunk = app(iapp(prim("iota"), &[shape(&[0])]), &[], ty(INT, &[0]));
    assert_eq!(run(thunk).unwrap(), val(&[0], &[]));
    check("replicate", &[shape(&[2]), shape(&[2])], &[vec(&[1, 2])], val(&[2, 2], &[1, 2, 1, 2]));
    check("replicate", &[shape(&[0]), shape(&[])], &[int(1)], val(&[0], &[]));
    check(
        "reshape",
        &[shape(&[6]), shape(&[3, 2])],
        &[vec(&[0, 1, 2, 3, 4, 5])],
        val(&[3, 2], &[0, 1, 2, 3, 4, 5]),
    );
    check("with-shape", &[shape(&[3]), shape(&[2])], &[vec(&[0; 3]), vec(&[7, 8])], val(&[3], &[7, 8, 7]));
    check("append", &[dim(1), dim(2), shape(&[])], &[vec(&[1]), vec(&[2, 3])], val(&[3], &[1, 2, 3]));
    check(
        "append",
        &[dim(0), dim(1), shape(&[2])],
        &[ints(&[0, 2], &[]), ints(&[1, 2], &[5, 6])],
        val(&[1, 2], &[5, 6]),
    );
    check("reverse", &[dim(2), shape(&[2])], &[ints(&[2, 2], &[1, 2, 3, 4])], val(&[2, 2], &[3, 4, 1, 2]));
    check("reverse", &[dim(0), shape(&[])], &[vec(&[])], val(&[0], &[]));
    check("rotate", &[shape(&[4]), shape(&[])], &[vec(&[0, 1, 2, 3]), vec(&[1])], val(&[4], &[1, 2, 3, 0]));
    check("rotate", &[shape(&[3]), shape(&[])], &[vec(&[0, 1, 2]), vec(&[-1])], val(&[3], &[2, 0, 1]));
    check(
        "rotate",
        &[shape(&[2, 2]), shape(&[])],
        &[ints(&[2, 2], &[1, 2, 3, 4]), vec(&[1, 1])],
        val(&[2, 2], &[4, 3, 2, 1]),
    );
    check("rotate", &[shape(&[0]), shape(&[])], &[vec(&[]), vec(&[5])], val(&[0], &[]));
    let m = ints(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    check("transpose", &[dim(2), dim(3), shape(&[])], &[m], val(&[3, 2], &[1, 4, 2, 5, 3, 6]));
    let m = ints(&[1, 2, 2], &[1, 2, 3, 4]);
    check("transpose", &[dim(1), dim(2), shape(&[2])], &[m], val(&[2, 1, 2], &[1, 2, 3, 4]));
    check("transpose", &[dim(0), dim(3), shape(&[])], &[ints(&[0, 3], &[])], val(&[3, 0], &[]));
    check(
        "indices-of",
        &[shape(&[2, 2])],
        &[ints(&[2, 2], &[9; 4])],
        val(&[2, 2, 2], &[0, 0, 0, 1, 1, 0, 1, 1]),
    );
    check("indices-of", &[shape(&[])], &[int(9)], val(&[0], &[]));
}

#[test]
fn parts_of_arrays() {
    let m = || ints(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    check("index", &[shape(&[2, 3]), shape(&[])], &[m(), vec(&[1, 2])], val(&[], &[6]));
    check("index", &[shape(&[2]), shape(&[3])], &[m(), vec(&[1])], val(&[3], &[4, 5, 6]));
    check("index", &[shape(&[]), shape(&[2, 3])], &[m(), vec(&[])], val(&[2, 3], &[1, 2, 3, 4, 5, 6]));
    check("subvector", &[dim(2), dim(1), shape(&[3])], &[m(), int(1)], val(&[1, 3], &[4, 5, 6]));
    check("subvector", &[dim(2), dim(0), shape(&[3])], &[m(), int(2)], val(&[0, 3], &[]));
    let s = [shape(&[2, 3]), shape(&[2, 2]), shape(&[])];
    check("subarray", &s, &[m(), vec(&[0, 1])], val(&[2, 2], &[2, 3, 5, 6]));
    check("subarray", &[shape(&[2]), shape(&[1]), shape(&[3])], &[m(), vec(&[1])], val(&[1, 3], &[4, 5, 6]));
    check("subarray/wrap", &s, &[m(), vec(&[-1, 2])], val(&[2, 2], &[6, 4, 3, 1]));
    check("subarray/fill", &s, &[m(), vec(&[1, 2]), int(0)], val(&[2, 2], &[6, 0, 0, 0]));
    let cells = [shape(&[2]), shape(&[2]), shape(&[3])];
    check("subarray/fill", &cells, &[m(), vec(&[-1]), vec(&[7, 8, 9])], val(&[2, 3], &[7, 8, 9, 1, 2, 3]));
    let at = [dim(3), dim(4), shape(&[])];
    check("scatter", &at, &[vec(&[7, 8, 9]), vec(&[1, -1, 1])], val(&[4], &[0, 9, 0, 0]));
    check(
        "scatter/into",
        &at,
        &[vec(&[1, 2, 3, 4]), vec(&[3, 0, -5]), vec(&[7, 8, 9])],
        val(&[4], &[8, 2, 3, 7]),
    );
    check(
        "scatter/combine",
        &[dim(3), dim(4), shape(&[]), shape(&[])],
        &[minus(), vec(&[10, 10, 10, 10]), vec(&[1, 1, 2]), vec(&[1, 2, 3])],
        val(&[4], &[10, 7, 7, 10]),
    );
}

#[test]
fn choice_order_and_boxes() {
    let v = run(app(
        inst("filter", &[dim(3), shape(&[])]),
        &[bools(&[true, false, true]), vec(&[1, 2, 3])],
        ArrTy::scalar(sigma(1, INT)),
    ))
    .unwrap();
    assert_eq!(box_of(&v), (vec![IndexValue::Dim(2)], val(&[2], &[1, 3])));
    let v = run(app(
        inst("replicate/counts", &[dim(4), shape(&[])]),
        &[vec(&[1, 3, 0, 2]), vec(&[20, 73, 99, 14])],
        ArrTy::scalar(sigma(1, INT)),
    ))
    .unwrap();
    assert_eq!(box_of(&v).1, val(&[6], &[20, 73, 73, 73, 14, 14]));
    check("grade", &[dim(4), shape(&[])], &[vec(&[3, 1, 3, 1])], val(&[4], &[1, 3, 0, 2]));
    let rows = ints(&[3, 2], &[1, 2, 0, 9, 1, 1]);
    check("grade", &[dim(3), shape(&[2])], &[rows], val(&[3], &[1, 2, 0]));
    let floats = arr(BaseTy::F64, &[4], [f64::NAN, 0.0, -0.0, f64::NEG_INFINITY].map(Scalar::F64));
    check("grade", &[dim(4), shape(&[])], &[floats], val(&[4], &[3, 1, 2, 0]));
    let boxes = |xs: &[i64], lengths: &[i64]| {
        let t = ty(sigma(1, INT), &[lengths.len()]);
        app(
            inst("split", &[dim(xs.len() as i64), dim(lengths.len() as i64), shape(&[])]),
            &[vec(xs), vec(lengths)],
            t,
        )
    };
    let v = run(boxes(&[1, 2, 3], &[2, 0, 1])).unwrap();
    assert_eq!(v.shape, vec![3]);
    check("segments", &[dim(3), shape(&[])], &[boxes(&[1, 2, 3], &[2, 0, 1])], val(&[3], &[2, 0, 1]));
    for (xs, lengths) in [(&[1, 2, 3][..], &[2, 0, 1][..]), (&[], &[])] {
        let e =
            app(inst("concat", &[dim(3), shape(&[])]), &[boxes(xs, lengths)], ArrTy::scalar(sigma(1, INT)));
        assert_eq!(box_of(&run(e).unwrap()).1, val(&[xs.len()], xs));
    }
}

#[test]
fn select_takes_any_cell() {
    let (yes, no) = (prim("+"), prim("*"));
    let f = ex(
        ExprKind::App {
            func: tapp(prim("select"), &[fn_ty().atom]),
            args: [lit(Scalar::Bool(false)), yes, no].map(|expr| Arg { expr, frame: sh(&[]) }).to_vec(),
            frame: sh(&[]),
        },
        fn_ty(),
    );
    assert_eq!(run(app(f, &[int(3), int(4)], ty(INT, &[]))).unwrap(), val(&[], &[12]));
    let e = lift(
        prim("select"),
        &[(bools(&[true, false]), vec![2]), (vec(&[1, 2]), vec![2]), (int(9), vec![])],
        &[2],
        ty(INT, &[2]),
    );
    assert_eq!(run(e).unwrap(), val(&[2], &[1, 9]));
}

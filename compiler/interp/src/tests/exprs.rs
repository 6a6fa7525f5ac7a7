use super::*;
use crate::solve_indices;
use remc_base::value::{BoxValue, Data};

fn plus(a: (Expr, Vec<usize>), b: (Expr, Vec<usize>), frame: &[usize]) -> Expr {
    lift(prim("+"), &[a, b], frame, ty(INT, frame))
}

#[test]
fn literals_and_frames() {
    assert_eq!(run(int(3)).unwrap(), val(&[], &[3]));
    assert_eq!(run(vec(&[1, 2])).unwrap(), val(&[2], &[1, 2]));
    assert_eq!(run(ints(&[0, 3], &[])).unwrap(), val(&[0, 3], &[]));
    let x = local(1, ty(INT, &[2]));
    let kind = ExprKind::Frame { dims: vec![Dim::from(2)], elems: vec![var(&x), vec(&[3, 4])] };
    let e = ExprKind::Let { local: x, value: vec(&[1, 2]), body: ex(kind, ty(INT, &[2, 2])) };
    assert_eq!(run(ex(e, ty(INT, &[2, 2]))).unwrap(), val(&[2, 2], &[1, 2, 3, 4]));
}

#[test]
fn cells_are_replicated_into_the_principal_frame() {
    // (+ [1 2] [[3 4 5] [6 7 8]])
    let e = plus((vec(&[1, 2]), vec![2]), (ints(&[2, 3], &[3, 4, 5, 6, 7, 8]), vec![2, 3]), &[2, 3]);
    assert_eq!(run(e).unwrap(), val(&[2, 3], &[4, 5, 6, 8, 9, 10]));
    let e = plus((int(10), vec![]), (vec(&[1, 2]), vec![2]), &[2]);
    assert_eq!(run(e).unwrap(), val(&[2], &[11, 12]));
    let e = plus((vec(&[1, 2]), vec![2]), (int(10), vec![]), &[2]);
    assert_eq!(run(e).unwrap(), val(&[2], &[11, 12]));
    // Of i8, which has no kernel.
    let narrow = |v: &[i8]| arr(BaseTy::I8, &[v.len()], v.iter().map(|n| Scalar::I8(*n)));
    let e = lift(
        prim("+"),
        &[(narrow(&[100, 1]), vec![2]), (lit(Scalar::I8(100)), vec![])],
        &[2],
        ty(AtomTy::Base(BaseTy::I8), &[2]),
    );
    assert_eq!(run(e).unwrap().data, remc_base::value::Data::I8(vec![-56, 101]));
}

#[test]
fn a_user_function_lifts_over_cells() {
    // ((λ ([v [int 2]] [k int]) (+ v k)) [[1 2] [3 4] [5 6]] [10 20 30])
    let (v, k) = (local(1, ty(INT, &[2])), local(2, ty(INT, &[])));
    let f = lam(&[&v, &k], plus((var(&v), vec![2]), (var(&k), vec![]), &[2]));
    let m = ints(&[3, 2], &[1, 2, 3, 4, 5, 6]);
    let e = lift(f, &[(m, vec![3]), (vec(&[10, 20, 30]), vec![3])], &[3], ty(INT, &[3, 2]));
    assert_eq!(run(e).unwrap(), val(&[3, 2], &[11, 12, 23, 24, 35, 36]));
}

#[test]
fn an_empty_frame_gives_an_empty_array_of_the_right_type() {
    let v = local(1, ty(INT, &[2]));
    let f = lam(&[&v], lit(Scalar::F64(1.0)));
    let e = lift(f, &[(ints(&[0, 2], &[]), vec![0])], &[0], ty(AtomTy::FLOAT, &[0]));
    assert_eq!(run(e).unwrap(), Value::of_scalars(BaseTy::F64, vec![0], []));
    let e = lift(
        prim("<"),
        &[(ints(&[0, 2], &[]), vec![0, 2]), (int(1), vec![])],
        &[0, 2],
        ty(AtomTy::BOOL, &[0, 2]),
    );
    assert_eq!(run(e).unwrap(), Value::of_scalars(BaseTy::Bool, vec![0, 2], []));
}

#[test]
fn an_array_of_functions_is_mimd() {
    let fs = ["+", "*", "-"].map(prim).to_vec();
    let fs = ex(ExprKind::Frame { dims: vec![Dim::from(3)], elems: fs }, fn_ty().lifted(&sh(&[3])));
    let e = lift(fs.clone(), &[(int(10), vec![]), (int(5), vec![])], &[3], ty(INT, &[3]));
    assert_eq!(run(e).unwrap(), val(&[3], &[15, 50, 5]));
    let m = ints(&[3, 2], &[1, 2, 3, 4, 5, 6]);
    let e = lift(fs, &[(m, vec![3, 2]), (int(2), vec![])], &[3, 2], ty(INT, &[3, 2]));
    assert_eq!(run(e).unwrap(), val(&[3, 2], &[3, 4, 6, 8, 3, 4]));
}

#[test]
fn functions_are_closures() {
    // (let ((k 5)) (λ (x) (+ x k))) applied after k's scope.
    let (k, x) = (local(1, ty(INT, &[])), local(2, ty(INT, &[])));
    let f = lam(&[&x], plus((var(&x), vec![]), (var(&k), vec![]), &[]));
    let t = f.ty.clone();
    let f = ex(ExprKind::Let { local: k, value: int(5), body: f }, t.clone());
    assert_eq!(run(app(f.clone(), &[int(2)], ty(INT, &[]))).unwrap(), val(&[], &[7]));
    assert_eq!(run(f).unwrap().data, remc_base::value::Data::Function(1));
}

#[test]
fn instances_of_polymorphic_definitions() {
    // (define (f{t | n} [x [t n]]) (array [0] t)), with n reified and a literal at t beside it.
    let (n, t) = (IVar::dim(1, "n"), TVar { id: 2, name: "t".into() });
    let at = AtomTy::Var(t.clone());
    let x = local(3, ArrTy::new(at.clone(), Shape::of_dims([Dim::rigid(n.clone())])));
    let parts = vec![
        ex(ExprKind::Frame { dims: vec![Dim::zero()], elems: vec![] }, ty(at.clone(), &[0])),
        ex(ExprKind::ReifyDim(Dim::rigid(n.clone())), ArrTy::base(BaseTy::U8)),
        ex(ExprKind::Lit(Lit::Int(7)), ArrTy::scalar(at.clone())),
        var(&x),
    ];
    let result = |t: AtomTy| {
        AtomTy::tuple(vec![
            (None, ty(t.clone(), &[0])),
            (None, ArrTy::base(BaseTy::U8)),
            (None, ArrTy::scalar(t.clone())),
            (None, ty(t, &[2])),
        ])
    };
    let body = lam(&[&x], ex(ExprKind::Tuple(parts), ArrTy::scalar(result(at))));
    let params = vec![TParam { var: t, shape: None, class: None }];
    let body = ex(ExprKind::TLam { params, body }, fn_ty());
    let body = ex(ExprKind::ILam { params: vec![n], body }, fn_ty());
    let mut p = Prog::default();
    let f = p.define(1, "f", body);
    let u16s = AtomTy::Base(BaseTy::U16);
    let arg = arr(BaseTy::U16, &[2], [1, 2].map(Scalar::U16));
    let e = app(
        tapp(iapp(f, &[dim(2)]), std::slice::from_ref(&u16s)),
        &[arg],
        ArrTy::scalar(result(u16s.clone())),
    );
    let v = p.run(e).unwrap();
    let Some(Atom::Tuple(parts)) = v.data.get(0) else { panic!("{v:?}") };
    assert_eq!(parts[0], Value::of_scalars(BaseTy::U16, vec![0], []));
    assert_eq!(parts[1], Value::scalar(Scalar::U8(2)));
    assert_eq!(parts[2], Value::scalar(Scalar::U16(7)));
    assert_eq!(parts[3].shape, vec![2]);
}

#[test]
fn index_arguments_may_be_a_prefix() {
    let (m, n) = (IVar::dim(1, "m"), IVar::dim(2, "n"));
    let d = Dim::rigid(m.clone()).scale(10).add(&Dim::rigid(n.clone()));
    let f = ex(ExprKind::ILam { params: vec![m, n], body: ex(ExprKind::ReifyDim(d), ty(INT, &[])) }, fn_ty());
    let mut e = iapp(iapp(f, &[dim(4)]), &[dim(2)]);
    e.ty = ty(INT, &[]);
    assert_eq!(run(e).unwrap(), val(&[], &[42]));
}

#[test]
fn branches_casts_and_shapes() {
    let pick = |c| {
        let zero = app(prim("quotient"), &[int(1), int(0)], ty(INT, &[]));
        ex(ExprKind::If { cond: lit(Scalar::Bool(c)), then: int(1), otherwise: zero }, ty(INT, &[]))
    };
    assert_eq!(run(pick(true)).unwrap(), val(&[], &[1]));
    assert!(run(pick(false)).is_err());
    let cast = ex(ExprKind::Cast(vec(&[300, -1])), ty(AtomTy::Base(BaseTy::U8), &[2]));
    assert_eq!(run(cast).unwrap().data, remc_base::value::Data::U8(vec![44, 255]));
    let s = ex(ExprKind::ReifyShape(sh(&[2, 3])), ty(INT, &[2]));
    assert_eq!(run(s).unwrap(), val(&[2], &[2, 3]));
    let a = ex(ExprKind::AsShape(vec(&[1, 2])), ty(INT, &[2]));
    assert_eq!(run(a).unwrap(), val(&[2], &[1, 2]));
}

#[test]
fn boxes_open_one_by_one() {
    let k = IVar::dim(5, "k");
    let x = local(3, ArrTy::new(INT, Shape::of_dims([Dim::rigid(k.clone())])));
    let body = ex(ExprKind::ReifyDim(Dim::rigid(k.clone())), ty(INT, &[]));
    let boxes = ex(
        ExprKind::Frame { dims: vec![Dim::from(3)], elems: vec![boxed(&[1, 2]), boxed(&[]), boxed(&[7])] },
        ty(sigma(90, INT), &[3]),
    );
    let open = |boxes: Expr, t: ArrTy| {
        ex(ExprKind::Unbox { boxes, indices: vec![k.clone()], local: x.clone(), body: body.clone() }, t)
    };
    assert_eq!(run(open(boxes, ty(INT, &[3]))).unwrap(), val(&[3], &[2, 0, 1]));
    assert_eq!(run(open(boxed(&[4, 4, 4]), ty(INT, &[]))).unwrap(), val(&[], &[3]));
    let none = ex(ExprKind::Frame { dims: vec![Dim::zero()], elems: vec![] }, ty(sigma(90, INT), &[0]));
    assert_eq!(run(open(none, ty(INT, &[0]))).unwrap(), val(&[0], &[]));
    let (indices, value) = box_of(&run(boxed(&[4, 5])).unwrap());
    assert_eq!((indices, value), (vec![IndexValue::Dim(2)], val(&[2], &[4, 5])));
}

#[test]
fn the_four_lifts() {
    let (k, s) = (IVar::dim(5, "k"), IVar::shape(6, "@s"));
    let i = IVar { natural: false, ..IVar::dim(7, "i") };
    let reify = |v: &IVar| ex(ExprKind::ReifyDim(Dim::rigid(v.clone())), ty(INT, &[]));
    let go = |kind, indices: &[&IVar], value, body: Expr| {
        let t = body.ty.clone();
        let indices = indices.iter().map(|v| (*v).clone()).collect();
        run(ex(ExprKind::Lift { kind, indices, value, body }, t))
    };
    assert_eq!(go(LiftKind::Natural, &[&k], int(3), reify(&k)).unwrap(), val(&[], &[3]));
    assert_eq!(go(LiftKind::Integer, &[&i], int(-3), reify(&i)).unwrap(), val(&[], &[-3]));
    let i2 = IVar { natural: false, ..IVar::dim(8, "j") };
    assert_eq!(go(LiftKind::Dims, &[&i, &i2], vec(&[4, 5]), reify(&i2)).unwrap(), val(&[], &[5]));
    let shape = ex(ExprKind::ReifyShape(Shape::rigid(s.clone())), ty(INT, &[2]));
    assert_eq!(go(LiftKind::Shape, &[&s], vec(&[4, 5]), shape.clone()).unwrap(), val(&[2], &[4, 5]));
    assert_eq!(go(LiftKind::Natural, &[&k], int(-3), reify(&k)).unwrap_err().code.0, "R0002");
    assert_eq!(go(LiftKind::Shape, &[&s], vec(&[4, -5]), shape).unwrap_err().code.0, "R0002");
}

#[test]
fn tuples_and_loops() {
    let pair = AtomTy::tuple(vec![(None, ty(INT, &[])), (None, ty(INT, &[2]))]);
    let t = ex(ExprKind::Tuple(vec![int(1), vec(&[2, 3])]), ArrTy::scalar(pair.clone()));
    let both =
        ex(ExprKind::Frame { dims: vec![Dim::from(2)], elems: vec![t.clone(), t] }, ty(pair.clone(), &[2]));
    let field = |tuple, t| ex(ExprKind::Field { tuple, position: 1 }, t);
    assert_eq!(run(field(both, ty(INT, &[2, 2]))).unwrap(), val(&[2, 2], &[2, 3, 2, 3]));
    let none = ex(ExprKind::Frame { dims: vec![Dim::zero()], elems: vec![] }, ty(pair, &[0]));
    assert_eq!(run(field(none, ty(INT, &[0, 2]))).unwrap(), val(&[0, 2], &[]));
    // (loop ((i 0) (s 0)) while (< i 5) do (values (+ i 1) (+ s i)))
    let (i, s) = (local(1, ty(INT, &[])), local(2, ty(INT, &[])));
    let cond = app(prim("<"), &[var(&i), int(5)], ty(AtomTy::BOOL, &[]));
    let next =
        vec![plus((var(&i), vec![]), (int(1), vec![]), &[]), plus((var(&s), vec![]), (var(&i), vec![]), &[])];
    let state = AtomTy::tuple(vec![(None, ty(INT, &[])), (None, ty(INT, &[]))]);
    let body = ex(ExprKind::Tuple(next), ArrTy::scalar(state.clone()));
    let e = ExprKind::Loop { locals: vec![(i, int(0)), (s, int(0))], cond, body };
    let e = field(ex(e, ArrTy::scalar(state)), ty(INT, &[]));
    assert_eq!(run(e).unwrap(), val(&[], &[10]));
}

fn entry() -> (Prog, Definition) {
    // (entry (main [xs [int n]] [ys [int (+ n 1) @s]]) n)
    let (n, s) = (IVar::dim(1, "n"), IVar::shape(2, "@s"));
    let dn = Dim::rigid(n.clone());
    let xs = ArrTy::new(INT, Shape::of_dims([dn.clone()]));
    let ys = ArrTy::new(INT, Shape::of_dims([dn.add(&Dim::from(1))]).concat(&Shape::rigid(s.clone())));
    let (x, y) = (local(1, xs.clone()), local(2, ys.clone()));
    let body = lam(&[&x, &y], var(&x));
    let body = ex(ExprKind::ILam { params: vec![n.clone(), s.clone()], body }, fn_ty());
    let signature = EntrySignature {
        indices: vec![n, s],
        params: vec![("xs".into(), xs.clone()), ("ys".into(), ys)],
        streams: Vec::new(),
        ret: xs,
    };
    let d = Definition { name: global(1, "main"), ty: fn_ty(), body, entry: Some(signature) };
    (Prog::default(), d)
}

#[test]
fn entries_solve_their_indices() {
    let (p, d) = entry();
    let sig = d.entry.as_ref().unwrap();
    let args = vec![val(&[2], &[5, 6]), val(&[3, 1], &[1, 2, 3])];
    let indices = solve_indices(sig, &args).unwrap();
    assert_eq!(indices, vec![IndexValue::Dim(2), IndexValue::Shape(vec![1])]);
    let v = Interp::new(&p, ModuleId(1)).call_entry(&d, &indices, args).unwrap();
    assert_eq!(v, val(&[2], &[5, 6]));
    let e = solve_indices(sig, &[val(&[2], &[5, 6]), val(&[2, 1], &[1, 2])]).unwrap_err();
    assert_eq!(e.param, Some("ys".into()));
    assert_eq!(e.found, "[int 2 1]");
    assert_eq!(e.reason, "its shape is [2 1], not [3 1]; n is 2, as in the input `xs`");
    let e = solve_indices(sig, &[val(&[], &[5]), val(&[2, 1], &[1, 2])]).unwrap_err();
    assert_eq!(e.reason, "it has 0 axes, not 1");
    let e = solve_indices(sig, &[Value::of_scalars(BaseTy::F64, vec![0], []), val(&[1], &[1])]).unwrap_err();
    assert_eq!(e.reason, "its elements are float, not int");
    let ys = ("ys".into(), ty(INT, &[]).lifted(&Shape::of_dims([Dim::rigid(sig.indices[0].clone())])));
    let same = EntrySignature { params: vec![sig.params[0].clone(), ys], ..sig.clone() };
    let same = EntrySignature { indices: vec![sig.indices[0].clone()], ..same };
    let e = solve_indices(&same, &[val(&[2], &[5, 6]), val(&[1], &[1])]).unwrap_err();
    assert_eq!(e.reason, "its shape is [1], not [2]; n is 2, as in the input `xs`");
    assert!(solve_indices(sig, &[]).unwrap_err().param.is_none());
}

/// `[xs [(Σ (n) [int n m]) k]]`: only what is in the boxes says what m is.
#[test]
fn a_dim_is_solved_from_what_is_in_boxes() {
    let (n, m, k) = (IVar::dim(1, "n"), IVar::dim(2, "m"), IVar::dim(3, "k"));
    let body = ArrTy::new(INT, Shape::of_dims([Dim::rigid(n.clone()), Dim::rigid(m.clone())]));
    let sigma = AtomTy::sigma(vec![n], body);
    let xs = ArrTy::new(sigma.clone(), Shape::of_dims([Dim::rigid(k.clone())]));
    let sig = EntrySignature {
        indices: vec![m, k],
        params: vec![("xs".into(), xs)],
        streams: Vec::new(),
        ret: ty(INT, &[]),
    };
    let boxes = |all: &[(i64, [usize; 2])]| {
        let one = |(n, shape): &(i64, [usize; 2])| {
            let value = val(shape, &vec![0; shape.iter().product()]);
            Arc::new(BoxValue { indices: vec![IndexValue::Dim(*n)], value })
        };
        let data = Data::Box(all.iter().map(one).collect());
        vec![Value { atom: sigma.clone(), shape: vec![all.len()], data }]
    };
    let solved = solve_indices(&sig, &boxes(&[(2, [2, 3]), (0, [0, 3])])).unwrap();
    assert_eq!(solved, [IndexValue::Dim(3), IndexValue::Dim(2)]);
    let e = solve_indices(&sig, &boxes(&[(2, [2, 3]), (1, [1, 4])])).unwrap_err();
    assert_eq!(e.reason, "box 1: its shape is [1 4], not [1 3]");
    let e = solve_indices(&sig, &boxes(&[(2, [1, 3])])).unwrap_err();
    assert_eq!(e.reason, "box 0: its shape is [1 3], not [2 3]");
    let e = solve_indices(&sig, &boxes(&[])).unwrap_err();
    assert_eq!(e.reason, "no argument decides the index m");
}

#[test]
fn a_dim_is_solved_from_a_sum() {
    let (n, t) = (IVar::dim(1, "n"), ty(INT, &[]));
    let xs = ArrTy::new(INT, Shape::of_dims([Dim::rigid(n.clone()).scale(2).add(&Dim::from(1))]));
    let sig =
        EntrySignature { indices: vec![n], params: vec![("xs".into(), xs)], streams: Vec::new(), ret: t };
    assert_eq!(solve_indices(&sig, &[val(&[5], &[0; 5])]).unwrap(), vec![IndexValue::Dim(2)]);
    let e = solve_indices(&sig, &[val(&[4], &[0; 4])]).unwrap_err();
    assert_eq!(e.reason, "axis 0: no n makes (+ (* 2 n) 1) equal to 4");
}

#[test]
fn an_entry_without_parameters() {
    for body in [int(3), lam(&[], int(3))] {
        let entry =
            EntrySignature { indices: vec![], params: vec![], streams: Vec::new(), ret: ty(INT, &[]) };
        let d = Definition { name: global(1, "m"), ty: ty(INT, &[]), body, entry: Some(entry) };
        let p = Prog::default();
        assert_eq!(Interp::new(&p, ModuleId(1)).call_entry(&d, &[], vec![]).unwrap(), val(&[], &[3]));
    }
}

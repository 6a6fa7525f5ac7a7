//! Each program of the bench gives the right result at small sizes, in the reference interpreter: what is
//! measured computes what its row says. Neither C nor NumPy is needed for that.

use remc_base::{Atom, BaseTy, Scalar, Value};
use remc_bench::cases::{Case, Dtype, Input, cases};
use remc_bench::places;
use remc_bench::suites::{ROWS, UNSEEN};
use remc_driver::Session;
use remc_interp::{Interp, solve_indices};
use std::thread;

/// Sizes that are empty, one, odd and even.
const SIZES: [usize; 5] = [0, 1, 2, 7, 16];

/// Calls the entry of a program; the interpreter walks trees, for which a thread of a test is too small.
fn run(program: &str, inputs: &[(&str, Value)]) -> Value {
    thread::scope(|scope| {
        let work = || call(program, inputs);
        let started = thread::Builder::new().stack_size(256 << 20).spawn_scoped(scope, work);
        started.expect("a thread").join().expect("the program runs")
    })
}

fn call(program: &str, inputs: &[(&str, Value)]) -> Value {
    let mut session = Session::default();
    let file =
        session.load(&places::program(program)).unwrap_or_else(|e| panic!("{program}: {}", e.reason()));
    let said = session.diagnostics(file);
    assert!(said.is_empty(), "{program}: {said:?}");
    let entry = *session
        .entries(file)
        .iter()
        .find(|d| d.name(&session.db).as_str() == "main")
        .unwrap_or_else(|| panic!("{program} has no entry `main`"));
    let linked = session.link(file, &[entry]);
    let definition = linked.get(&entry.global(&session.db)).expect("it was checked");
    let signature = definition.entry.as_ref().expect("it is an entry");
    let arguments: Vec<Value> = signature
        .params
        .iter()
        .map(|(name, _)| match inputs.iter().find(|(n, _)| *n == name.as_str()) {
            Some((_, value)) => value.clone(),
            None => panic!("{program} takes `{name}`, which the row does not give"),
        })
        .collect();
    assert_eq!(arguments.len(), inputs.len(), "{program} does not take all inputs");
    let indices = solve_indices(signature, &arguments).expect("the inputs fit");
    let interp = Interp::new(&linked, session.first_user_module());
    interp.call_entry(definition, &indices, arguments).expect("it stops for no reason")
}

/// Numbers that depend on their place alone, in [-1, 1), with few bits so that small sums of them are exact.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + seed * 11) % 64) as f64 / 32.0 - 1.0).collect()
}

fn f32s(shape: &[usize], xs: &[f64]) -> Value {
    Value::of_scalars(BaseTy::F32, shape.to_vec(), xs.iter().map(|&x| Scalar::F32(x as f32)))
}

fn f64s(shape: &[usize], xs: &[f64]) -> Value {
    Value::of_scalars(BaseTy::F64, shape.to_vec(), xs.iter().map(|&x| Scalar::F64(x)))
}

fn ints(shape: &[usize], xs: &[i64]) -> Value {
    Value::of_scalars(BaseTy::I64, shape.to_vec(), xs.iter().map(|&x| Scalar::I64(x)))
}

fn int(x: i64) -> Value {
    Value::scalar(Scalar::I64(x))
}

fn floats_of(value: &Value) -> Vec<f64> {
    let number = |atom: Atom| match atom {
        Atom::Scalar(Scalar::F32(x)) => f64::from(x),
        Atom::Scalar(Scalar::F64(x)) => x,
        other => panic!("no float: {other:?}"),
    };
    value.atoms().map(number).collect()
}

fn assert_close(got: &Value, shape: &[usize], want: &[f64], tolerance: f64) {
    assert_eq!(got.shape, shape);
    let got = floats_of(got);
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance, "at {i}: {g} where {w} is right");
    }
}

#[test]
fn sum_and_dot() {
    for n in SIZES {
        let (xs, ys) = (numbers(n, 1), numbers(n, 2));
        let total: f64 = xs.iter().sum();
        assert_close(&run("sum", &[("xs", f32s(&[n], &xs))]), &[], &[total], 0.0);
        let dot: f64 = xs.iter().zip(&ys).map(|(x, y)| x * y).sum();
        let inputs = [("xs", f32s(&[n], &xs)), ("ys", f32s(&[n], &ys))];
        assert_close(&run("dot", &inputs), &[], &[dot], 1e-6);
    }
}

#[test]
fn mean_and_variance() {
    for n in [1, 2, 7, 16] {
        let xs = numbers(n, 1);
        let mean = xs.iter().sum::<f64>() / n as f64;
        let variance = xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert_close(&run("mean-variance", &[("xs", f32s(&[n], &xs))]), &[2], &[mean, variance], 1e-6);
    }
}

#[test]
fn sums_of_rows_and_columns_and_transpose() {
    for (rows, columns) in [(0, 3), (3, 0), (1, 5), (5, 1), (3, 4)] {
        let m = numbers(rows * columns, 3);
        let at = |i: usize, j: usize| m[i * columns + j];
        let input = [("m", f32s(&[rows, columns], &m))];
        let by_row: Vec<f64> = (0..rows).map(|i| (0..columns).map(|j| at(i, j)).sum()).collect();
        assert_close(&run("row-sums", &input), &[rows], &by_row, 0.0);
        let by_column: Vec<f64> = (0..columns).map(|j| (0..rows).map(|i| at(i, j)).sum()).collect();
        assert_close(&run("column-sums", &input), &[columns], &by_column, 0.0);
        let across: Vec<f64> =
            (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| at(i, j)).collect();
        assert_close(&run("transpose", &input), &[columns, rows], &across, 0.0);
    }
}

#[test]
fn sums_of_segments_and_products_of_sparse_rows() {
    for lengths in [vec![], vec![0], vec![3, 0, 1, 70, 0]] {
        let total = lengths.iter().sum::<i64>() as usize;
        let (xs, x) = (numbers(total, 8), numbers(9, 9));
        let columns: Vec<i64> = (0..total as i64).map(|i| i * 5 % 9).collect();
        let by_row = |item: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mut at = 0..;
            lengths.iter().map(|n| at.by_ref().take(*n as usize).map(item).sum()).collect()
        };
        let lengths_given = ("lengths", ints(&[lengths.len()], &lengths));
        let sums = run("segment-sums", &[("xs", f32s(&[total], &xs)), lengths_given.clone()]);
        assert_close(&sums, &[lengths.len()], &by_row(&|i| xs[i]), 0.0);
        let product = run(
            "sparse-product",
            &[
                lengths_given,
                ("columns", ints(&[total], &columns)),
                ("weights", f32s(&[total], &xs)),
                ("x", f32s(&[9], &x)),
            ],
        );
        assert_close(&product, &[lengths.len()], &by_row(&|i| xs[i] * x[columns[i] as usize]), 1e-5);
    }
}

#[test]
fn matrix_product() {
    for (m, n, k) in [(0, 2, 3), (2, 0, 3), (1, 1, 1), (3, 4, 5)] {
        let (a, b) = (numbers(m * n, 4), numbers(n * k, 5));
        let mut want = vec![0.0; m * k];
        for i in 0..m {
            for j in 0..k {
                want[i * k + j] = (0..n).map(|l| a[i * n + l] * b[l * k + j]).sum();
            }
        }
        let inputs = [("a", f32s(&[m, n], &a)), ("b", f32s(&[n, k], &b))];
        assert_close(&run("matmul", &inputs), &[m, k], &want, 1e-6);
    }
}

#[test]
fn prefix_sums() {
    for n in SIZES {
        let xs = numbers(n, 1);
        let sums = |xs: &[f64]| -> Vec<f64> {
            xs.iter()
                .scan(0.0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .collect()
        };
        assert_close(&run("iscan", &[("xs", f32s(&[n], &xs))]), &[n], &sums(&xs), 0.0);
        let whole: Vec<i64> = (0..n as i64).map(|i| i * i - 20).collect();
        let want: Vec<i64> = whole
            .iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect();
        assert_eq!(run("iscan-int", &[("xs", ints(&[n], &whole))]), ints(&[n], &want));
    }
}

#[test]
fn exclusive_or_of_multiples() {
    for n in [0, 1, 10, 1000] {
        let want = (0..n).fold(0, |x, i| x ^ (3 * i));
        assert_eq!(run("iota-xor", &[("n", int(n))]), int(want));
    }
}

#[test]
fn n_body() {
    for n in [0, 1, 5] {
        let (p, masses) = (numbers(3 * n, 6), numbers(n, 7));
        let mut want = vec![0.0; 3 * n];
        for i in 0..n {
            for j in 0..n {
                let d: Vec<f64> = (0..3).map(|c| p[3 * j + c] - p[3 * i + c]).collect();
                let r2 = d.iter().map(|x| x * x).sum::<f64>() + 1e-3;
                for c in 0..3 {
                    want[3 * i + c] += masses[j] / (r2 * r2.sqrt()) * d[c];
                }
            }
        }
        let single = [("positions", f32s(&[n, 3], &p)), ("masses", f32s(&[n], &masses))];
        assert_close(&run("n-body", &single), &[n, 3], &want, 1e-4);
        let double = [("positions", f64s(&[n, 3], &p)), ("masses", f64s(&[n], &masses))];
        assert_close(&run("n-body-f64", &double), &[n, 3], &want, 1e-11);
    }
}

#[test]
fn digits() {
    // Two known images, three unknown ones, of which the last has the wrong label.
    let inputs = [
        ("train-images", f32s(&[2, 2], &[0.0, 0.0, 8.0, 8.0])),
        ("train-labels", ints(&[2], &[3, 5])),
        ("test-images", f32s(&[3, 2], &[1.0, 0.0, 7.0, 9.0, 8.0, 8.0])),
        ("test-labels", ints(&[3], &[3, 5, 3])),
    ];
    assert_close(&run("digits", &inputs), &[], &[2.0 / 3.0], 1e-12);
}

/// What is in an array, which may be in a box.
fn numbers_of(value: &Value) -> Vec<f64> {
    let numbers = |atom: Atom| match atom {
        Atom::Scalar(Scalar::F32(x)) => vec![f64::from(x)],
        Atom::Scalar(Scalar::F64(x)) => vec![x],
        Atom::Scalar(Scalar::I64(x)) => vec![x as f64],
        Atom::Scalar(Scalar::U8(x)) => vec![f64::from(x)],
        Atom::Box(contents) => numbers_of(&contents.value),
        other => panic!("no number: {other:?}"),
    };
    value.atoms().flat_map(numbers).collect()
}

/// The programs of `--unseen` and `--rows`, at the sizes of `--small`.
#[test]
fn programs_of_suites() {
    for subject in [UNSEEN, ROWS].iter().flat_map(|suite| suite.subjects) {
        let data = subject.data(true);
        let inputs = data.inputs.iter().map(|(name, array, numbers)| {
            let (base, of): (BaseTy, fn(f64) -> Scalar) = match array.dtype {
                Dtype::F32 => (BaseTy::F32, |x| Scalar::F32(x as f32)),
                Dtype::F64 => (BaseTy::F64, Scalar::F64),
                Dtype::I64 => (BaseTy::I64, |x| Scalar::I64(x as i64)),
                Dtype::U8 => (BaseTy::U8, |x| Scalar::U8(x as u8)),
            };
            (*name, Value::of_scalars(base, array.shape.clone(), numbers.iter().map(|x| of(*x))))
        });
        let result = run(subject.program, &inputs.collect::<Vec<_>>());
        assert_eq!(data.check(numbers_of(&result)), Ok(()), "{}", subject.key);
    }
}

/// A row's inputs, at the sizes that its program would take them in, bear the names and types of its entry.
#[test]
fn rows_name_what_their_programs_take() {
    for case in cases(true) {
        let types = parameters(&case);
        for input in &case.inputs {
            let (name, ty) = match input {
                Input::Scalar { name, .. } => (*name, "int".to_owned()),
                Input::Array { name, array, .. } => {
                    let atom = match array.dtype {
                        Dtype::F32 => "f32",
                        Dtype::F64 => "float",
                        Dtype::I64 => "int",
                        Dtype::U8 => "u8",
                    };
                    (*name, atom.to_owned())
                }
            };
            let found = types.iter().find(|(n, _)| n == name);
            let Some((_, found)) = found else { panic!("{}: no parameter `{name}`", case.key) };
            assert!(found.contains(&ty), "{}: `{name}` is of type {found}", case.key);
        }
        assert_eq!(types.len(), case.inputs.len(), "{}", case.key);
    }
}

fn parameters(case: &Case) -> Vec<(String, String)> {
    let mut session = Session::default();
    let file = session.load(&places::program(case.program)).expect("the program is there");
    let entry = session.entries(file)[0];
    let linked = session.link(file, &[entry]);
    let definition = linked.get(&entry.global(&session.db)).expect("it was checked");
    let signature = definition.entry.as_ref().expect("it is an entry");
    signature.params.iter().map(|(name, ty)| (name.to_string(), ty.to_string())).collect()
}

/// Solves a x₋₁ + b x + c x₊₁ = y for rows of a, b, c and y.
fn tridiagonal(rows: &[[f64; 4]]) -> Vec<f64> {
    let mut down: Vec<(f64, f64)> = Vec::new();
    for [a, b, c, y] in rows {
        let (above, value) = down.last().copied().unwrap_or((0.0, 0.0));
        let pivot = b - a * above;
        down.push((c / pivot, (y - a * value) / pivot));
    }
    let mut xs = vec![0.0; rows.len()];
    let mut below = 0.0;
    for (x, (c, y)) in xs.iter_mut().zip(down).rev() {
        *x = y - c * below;
        below = *x;
    }
    xs
}

/// The weights of three neighbours in the second derivative.
fn curvature(xs: &[f64], i: usize) -> [f64; 3] {
    if i == 0 || i + 1 == xs.len() {
        return [0.0; 3];
    }
    let (l, r) = (xs[i] - xs[i - 1], xs[i + 1] - xs[i]);
    [2.0 / (l * (l + r)), -2.0 / (l * r), 2.0 / (r * (l + r))]
}

/// A sum over three neighbours.
fn derived(w: [f64; 3], i: usize, v: impl Fn(usize) -> f64) -> f64 {
    let inside = |w: f64, i: Option<usize>| if w == 0.0 { 0.0 } else { w * v(i.unwrap_or(0)) };
    inside(w[0], i.checked_sub(1)) + inside(w[1], Some(i)) + inside(w[2], Some(i + 1))
}

/// The price of a call, by elimination and loops in double precision.
fn local_volatility(strike: f64, spot: f64, xs: &[f64], ys: &[f64], times: &[f64]) -> f64 {
    let (nx, ny) = (xs.len(), ys.len());
    let mut v: Vec<Vec<f64>> = xs.iter().map(|x| vec![(x - strike).max(0.0); ny]).collect();
    for g in (0..times.len() - 1).rev() {
        let back = 1.0 / (times[g + 1] - times[g]);
        let wx = |i: usize, j: usize| {
            let variance = (2.0 * (0.6 * xs[i].ln() + ys[j] - 0.5 * 0.16 * times[g])).exp();
            curvature(xs, i).map(|w| 0.5 * variance * w)
        };
        let wy = |j: usize| curvature(ys, j).map(|w| 0.5 * 0.16 * w);
        let dy = |v: &[Vec<f64>], i: usize, j: usize| derived(wy(j), j, |j| v[i][j]);
        let mut u = vec![vec![0.0; ny]; nx];
        for j in 0..ny {
            let row = |i: usize| {
                let dx = derived(wx(i, j), i, |i| v[i][j]);
                let [a, b, c] = wx(i, j).map(|w| -0.5 * w);
                [a, back + b, c, back * v[i][j] + 0.5 * dx + dy(&v, i, j)]
            };
            let solved = tridiagonal(&(0..nx).map(row).collect::<Vec<_>>());
            solved.into_iter().enumerate().for_each(|(i, x)| u[i][j] = x);
        }
        let next = |i: usize| {
            let row = |j: usize| {
                let [a, b, c] = wy(j).map(|w| -0.5 * w);
                [a, back + b, c, back * u[i][j] - 0.5 * dy(&v, i, j)]
            };
            tridiagonal(&(0..ny).map(row).collect::<Vec<_>>())
        };
        v = (0..nx).map(next).collect();
    }
    let near = |i: &usize| (xs[*i] - spot).abs();
    let x = (0..nx).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap();
    v[x][ny / 2]
}

#[test]
fn prices_in_a_model_of_local_volatility() {
    for [n, x, y, steps] in [[1, 1, 1, 1], [2, 5, 4, 3], [3, 16, 12, 6], [2, 9, 10, 0]] {
        let mut given = remc_bench::versions::subjects::local_volatility(n, x, y, steps);
        // In reach of the price, so that each call is worth something.
        given[0].1 = (0..n).map(|i| 0.01 * (i as f64 + 0.5)).collect();
        let get = |name: &str| given.iter().find(|(k, _)| *k == name).map(|(_, v)| v.as_slice()).unwrap();
        let (xs, ys, times) = (get("xs"), get("ys"), get("times"));
        let want: Vec<f64> =
            get("strikes").iter().map(|k| local_volatility(*k, 0.03, xs, ys, times)).collect();
        assert!(want.iter().all(|p| *p > 1e-3), "{want:?}");
        let vectors = given.iter().map(|(name, v)| (*name, f32s(&[v.len()], v)));
        let spot = ("spot", Value::scalar(Scalar::F32(0.03)));
        let inputs: Vec<(&str, Value)> = vectors.chain([spot]).collect();
        assert_close(&run("local-volatility", &inputs), &[n], &want, 1e-4);
    }
}

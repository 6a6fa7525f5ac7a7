//! Texts of Futhark written by hand, right and wrong ones, and what is to be said of them. What the wrong ones do is
//! refused by Futhark too; the rule that each breaks stands above it.

use remc_base::Scalar;
use remc_futhark_check::check::check;
use remc_futhark_check::eval::run;
use remc_futhark_check::value::{Fault, Value};
use std::rc::Rc;

fn ints(all: &[i64]) -> Value {
    let data: Vec<Value> = all.iter().map(|n| Value::int(*n)).collect();
    Value::Array { shape: vec![all.len()], data: Rc::new(data) }
}

/// A value as Futhark writes it, without the types of numbers.
fn shown(v: &Value) -> String {
    match v {
        Value::Scalar(Scalar::Bool(b)) => b.to_string(),
        Value::Scalar(s) => s.as_integer().map_or_else(|| format!("{:?}", s.as_float()), |n| n.to_string()),
        Value::Tuple(parts) => {
            format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        Value::Array { shape, data } => {
            format!("{shape:?}{:?}", data.iter().map(shown).collect::<Vec<_>>()).replace('"', "")
        }
        Value::Function(_) => "a function".to_owned(),
    }
}

#[track_caller]
fn gives(text: &str, args: Vec<Value>, value: &str) {
    let checked = check(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    match run(&checked, "main", args) {
        Ok(v) => assert_eq!(shown(&v), value, "{text}"),
        Err(e) => panic!("{e:?}\n{text}"),
    }
}

#[track_caller]
fn refuses(text: &str, because: &str) {
    match check(text) {
        Ok(_) => panic!("this is accepted:\n{text}"),
        Err(e) => assert!(e.message.contains(because), "{e}\n{text}"),
    }
}

#[track_caller]
fn faults(text: &str, args: Vec<Value>, wanted: fn(&Fault) -> bool) {
    let checked = check(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    match run(&checked, "main", args) {
        Err(e) if wanted(&e) => {}
        other => panic!("{other:?}\n{text}"),
    }
}

// ---- right ones ----

/// A loop that writes over an array which its body makes leaves its own state alone.
#[test]
fn an_array_made_in_a_loop() {
    gives(
        "entry main (n: i64) : ([]i64, i64) =\n  let a = iota n\n  let b = loop b = a for i < 2i64 do\n    \
         let (_, s) = loop (k, s) = (i, replicate n 0) for j < n do (k, s with [j] = b[j] + 1)\n    in s\n  in (b, a[1])",
        vec![Value::int(3)],
        "([3][2, 3, 4], 1)",
    );
}

#[test]
fn a_dot_product() {
    gives(
        "entry main [n] (xs: [n]i64) (ys: [n]i64) : i64 = reduce (+) 0 (map2 (*) xs ys)",
        vec![ints(&[1, 2, 3]), ints(&[4, 5, 6])],
        "32",
    );
}

#[test]
fn a_matrix_product() {
    let text = "entry main (a: [2][2]i64) : [2][2]i64 =
  map (\\row -> map (\\col -> reduce (+) 0 (map2 (*) row col)) (transpose a)) a";
    let a = Value::Array { shape: vec![2, 2], data: Rc::new((1..5).map(Value::int).collect()) };
    gives(text, vec![a], "[2, 2][7, 10, 15, 22]");
}

#[test]
fn a_filter_names_its_length() {
    let text = "entry main [n] (xs: [n]i64) : i64 =
  let [k] (ys: [k]i64) = filter (\\x -> x > 2) xs
  let zs = map2 (+) ys (iota k)
  in reduce (+) 0 zs";
    gives(text, vec![ints(&[1, 2, 3, 4])], "8");
}

#[test]
fn a_length_that_is_said() {
    let text = "entry main [n] (xs: [n]i64) : [n]i64 =\n  filter (\\x -> x >= 0) xs :> [n]i64";
    gives(text, vec![ints(&[1, 2])], "[2][1, 2]");
    faults(text, vec![ints(&[1, -2])], |f| matches!(f, Fault::Stop(_)));
}

#[test]
fn an_array_of_its_own_is_written_over() {
    let text = "entry main (n: i64) : [n]i64 =
  loop a = replicate n 1 for i < n - 2 do a with [i + 2] = a[i] + a[i + 1]";
    gives(text, vec![Value::int(6)], "[6][1, 1, 2, 3, 5, 8]");
}

#[test]
fn a_copy_is_written_over() {
    let text = "entry main [n] (xs: [n]i64) : ([n]i64, [n]i64) =
  let ys = copy xs with [0] = 9
  in (xs, ys)";
    gives(text, vec![ints(&[1, 2])], "([2][1, 2], [2][9, 2])");
}

/// One branch writes over what the other one gives.
#[test]
fn an_array_that_a_branch_writes_over() {
    let text = "entry main (n: i64) : i64 =
  let a = iota n
  let b = if n > 2 then a with [2] = 9 else a
  in reduce (+) 0 b";
    gives(text, vec![Value::int(3)], "10");
    gives(text, vec![Value::int(2)], "1");
    let again = format!("{text} + a[0]");
    refuses(&again, "`a` is used after `a` was written over");
}

#[test]
fn numbers_get_their_types() {
    gives("entry main (x: u8) : f64 = 2 * f64.u8 (x + 255)", vec![Value::Scalar(Scalar::U8(2))], "Some(2.0)");
    gives("entry main : i32 = 7 / (-2)", vec![], "-4");
    gives("entry main : i64 = 2 + 3 * 4 - 1 << 1", vec![], "26");
    gives("entry main (n: i64) : i64 = loop k = n for i < 3 do k + i", vec![Value::int(1)], "4");
    gives("entry main : bool = 1 < 2 && !(3 == 4) || false", vec![], "true");
}

#[test]
fn application_binds_tighter_than_operators() {
    gives("entry main (n: i64) : i64 = i64.max n 3 * 2 + length (iota n)", vec![Value::int(4)], "12");
}

#[test]
fn a_function_of_a_type() {
    let text = "def twice 'a (f: a -> a) (x: a) : a = f (f x)
def pick [n] 'a (xs: [n]a) (k: i64) : a = xs[k]
entry main [n] (xs: [n]i64) : i64 = twice (\\x -> x * 10) (pick xs 1)";
    gives(text, vec![ints(&[1, 2])], "200");
}

#[test]
fn a_size_of_a_value() {
    let text = "def squares (n: i64) : [n]i64 = map (\\i -> i * i) (iota n)
entry main [m] (xs: [m]i64) : [m]i64 = map2 (+) xs (squares m)";
    gives(text, vec![ints(&[1, 1, 1])], "[3][1, 2, 5]");
}

#[test]
fn a_loop_that_grows() {
    let text = "entry main (n: i64) : []i64 =
  loop xs = replicate 0 0i64 for i < n do xs ++ [i, i]";
    gives(text, vec![Value::int(2)], "[4][0, 0, 1, 1]");
}

#[test]
fn sizes_in_loops() {
    // A size that the body asks to be another's stays what it is.
    let stays = "entry main [n] (xs: [n]i64) : [n]i64 = loop ys = xs for i < 3 do map2 (+) ys xs";
    gives(stays, vec![ints(&[1, 2])], "[2][4, 8]");
    let differs = "entry main [n] (xs: [n]i64) : []i64 = loop ys = xs for i < 3 do map2 (+) ys xs ++ xs";
    refuses(differs, "a size of a loop's state");
    let known = "entry main [n] (xs: [n]i64) : [n]i64 = loop ys = xs for i < 3 do ys ++ xs";
    refuses(known, "[n]");
    // Two that are one size inside are so at the start.
    let both = "entry main [n] [m] (xs: [n]i64) (ys: [m]i64) : i64 =
  let (as, _) = loop (as, bs) = (xs, ys) for i < 3 do let cs = map2 (+) as bs in (cs ++ cs, cs ++ cs)
  in as[0]";
    refuses(both, "a size of a loop's state");
}

#[test]
fn shapes_are_taken_apart_and_put_together() {
    let text = "entry main [n] [m] (xs: [n][m]i64) : [m][n]i64 =
  transpose (unflatten (flatten xs :> [n * m]i64))";
    let a = Value::Array { shape: vec![1, 3], data: Rc::new((1..4).map(Value::int).collect()) };
    gives(text, vec![a], "[3, 1][1, 2, 3]");
}

#[test]
fn histograms_and_scatters() {
    let text = "entry main [n] (places: [n]i64) : ([3]i64, [3]i64) =
  ( reduce_by_index (replicate 3 0) (+) 0 places (replicate n 1)
  , scatter (replicate 3 7) places (replicate n 1))";
    gives(text, vec![ints(&[0, 2, 2, -1, 5])], "([3][1, 0, 2], [3][1, 7, 1])");
}

#[test]
fn an_assertion() {
    let text = "entry main (n: i64) : i64 = let m = assert (n > 0) (10 / n) in m";
    gives(text, vec![Value::int(3)], "3");
    faults(text, vec![Value::int(0)], |f| matches!(f, Fault::Stop(_)));
}

// ---- wrong ones ----

#[test]
fn what_futhark_leaves_open_is_an_error() {
    let writes = "entry main (xs: [2]i64) : [1]i64 = scatter (replicate 1 0) (replicate 2 0i64) xs";
    faults(writes, vec![ints(&[1, 2])], |f| matches!(f, Fault::Undefined(_)));
    gives(writes, vec![ints(&[2, 2])], "[1][2]");
    faults("entry main (n: i64) : i64 = 1 << n", vec![Value::int(64)], |f| matches!(f, Fault::Undefined(_)));
    faults("entry main (n: i64) : i64 = 1 / n", vec![Value::int(0)], |f| matches!(f, Fault::Stop(_)));
    faults("entry main (x: f64) : i8 = i8.f64 x", vec![Value::Scalar(Scalar::F64(1e9))], |f| {
        matches!(f, Fault::Undefined(_))
    });
}

/// Every name is bound before it is used.
#[test]
fn unknown_names() {
    refuses("entry main (x: i64) : i64 = y", "there is no `y`");
    refuses("entry main (x: i64) : i64 = f x\ndef f (x: i64) : i64 = x", "there is no `f`");
    refuses("entry main (x: i64) : i64 = (let y = x in y) + y", "there is no `y`");
    refuses("entry main (x: f64) : f64 = f64.cosine x", "there is no `f64.cosine`");
    refuses("entry main (x: int) : i64 = 1", "there is no type `int`");
}

/// Both sides of an operator are of one type; numbers are never converted.
#[test]
fn mixed_numbers() {
    refuses("entry main (x: i64) (y: i32) : i64 = x + y", "is of type i32, not i64");
    refuses("entry main (x: f64) : f64 = x * 2i64", "is of type i64, not f64");
    refuses("entry main (x: i64) : i64 = x + 1.5", "");
    refuses("entry main (n: i64) : i64 = loop k = n for i < 10i32 do k + i", "is of type i32, not i64");
    refuses("entry main (x: bool) : bool = x < true", "`<` of bool");
}

/// A comparison gives a `bool`, which is not compared again.
#[test]
fn chains_of_comparisons() {
    refuses("entry main (x: i64) : bool = 0 <= x <= 10", "`<=` of bool");
}

/// Arrays that are mapped together have lengths that are written alike.
#[test]
fn different_lengths() {
    refuses("entry main [n] [m] (xs: [n]i64) (ys: [m]i64) : [n]i64 = map2 (+) xs ys", "[m]i64");
    refuses("entry main [n] (xs: [n]i64) : [n]i64 = filter (\\x -> x > 0) xs", "");
    refuses("entry main [n] (xs: [n]i64) : [n]i64 = xs[0:n]", "");
    refuses("entry main [n] (xs: [n]i64) (ys: [1 + n]i64) : [n + 1]i64 = ys", "(1 + n)");
    refuses("entry main [n] [m] (xs: [n]i64) (ys: [m]i64) : [n + m]i64 = ys ++ xs", "(m + n)");
}

/// An array of arrays of different lengths is none.
#[test]
fn irregular_arrays() {
    refuses("entry main [n] (ns: [n]i64) : i64 = length (map (\\n -> iota n) ns)", "known only inside");
    refuses(
        "entry main [n] (xs: [n][n]i64) : i64 = length (map (\\r -> filter (\\x -> x > 0) r) xs)",
        "inside",
    );
}

/// The lengths of two branches are no length.
#[test]
fn branches_of_different_lengths() {
    refuses("entry main [n] [m] (c: bool) (xs: [n]i64) (ys: [m]i64) : [n]i64 = if c then xs else ys", "");
}

/// The parameters of a function of a type are of that type.
#[test]
fn wrong_arguments() {
    refuses("entry main [n] (xs: [n]i64) : i64 = reduce (+) xs", "argument 2");
    refuses("entry main [n] (xs: [n]i64) : i64 = reduce 0 (+) xs", "");
    refuses("entry main (x: i64) : i64 = x x", "");
    refuses("entry main [n] (xs: [n]i64) : i64 = xs[0, 1]", "an index too many");
    refuses("entry main [n] (xs: [n]i64) (x: f64) : i64 = xs[x]", "an index is of type f64");
}

/// `reduce` wants a neutral element, and an operator that gives what it takes.
#[test]
fn wrong_operators() {
    refuses("entry main [n] (xs: [n]i64) : bool = reduce (<) true xs", "");
    refuses("entry main [n] (xs: [n]f64) : f64 = reduce (&) 0 xs", "");
}

/// What is consumed is one's own, and is not used again.
#[test]
fn consuming() {
    refuses("entry main [n] (xs: [n]i64) : [n]i64 = xs with [0] = 1", "not one's own");
    refuses("entry main [n] (xs: [n]i64) : [n]i64 = scatter xs (iota n) (iota n)", "not one's own");
    refuses(
        "entry main (n: i64) : i64 = let a = iota n let b = a with [0] = 1 in a[0] + b[0]",
        "`a` is used after `a` was written over",
    );
    refuses(
        "entry main (n: i64) : i64 = let a = iota n let v = a[0:n] let b = a with [0] = 1 in v[0] + b[0]",
        "used after",
    );
    refuses(
        "entry main (n: i64) : [n]i64 = let a = iota n in map (\\i -> (a with [0] = i)[0]) (iota n)",
        "in a function or loop inside",
    );
}

/// An assertion inside of an operator is evaluated for neutral elements too, and the optimiser may lose it.
#[test]
fn asserting_operators() {
    let asserts = "an assertion inside of the operator";
    for f in ["reduce", "scan"] {
        let text = format!(
            "entry main [n] (xs: [n]i64) : i64 =
  length [{f} (\\acc x -> assert (x != 0) (acc * x)) 1 xs]"
        );
        refuses(&text, asserts);
    }
    refuses(
        "def checked (acc: i64) (x: i64) : i64 = assert (x != 0) (acc * x)
entry main [n] (xs: [n]i64) : i64 = reduce checked 1 xs",
        asserts,
    );
    // A function whose parameter is part of an operator.
    let helper = "def both 'a (op: a -> a -> a) ((f, x): (bool, a)) ((g, y): (bool, a)) : (bool, a) =
  if f && g then (true, op x y) else (f || g, if f then x else y)
def from [n] 'a (op: a -> a -> a) (start: a) (xs: [n]a) : a =
  let (_, total) = reduce (both op) (false, start) (map (\\x -> (true, x)) xs)
  in total
";
    let bad = "entry main [n] (xs: [n]i64) : i64 = from (\\a b -> assert (b > 0) (a + b)) 0 xs";
    refuses(&format!("{helper}{bad}"), asserts);
    // A flag beside the value.
    let good = "entry main [n] (xs: [n]i64) : i64 =
  let (fine, total) =
    from (\\(f, a) (g, b) -> if f && g && b > 0 then (true, a + b) else (false, a))
         (true, 0)
         (map (\\x -> (true, x)) xs)
  in assert fine total";
    let good = format!("{helper}{good}");
    gives(&good, vec![ints(&[1, 2, 3])], "6");
    faults(&good, vec![ints(&[1, 0, 3])], |f| matches!(f, Fault::Stop(_)));
}

/// What is the same for all elements is taken out of a function, though there are none.
#[test]
fn sizes_inside_of_functions() {
    let negative = "a size that may be negative";
    let row = |size: &str| {
        format!(
            "entry main [n] (xs: [n]i64) (k: i64) : [n]i64 =
  let k_size = i64.max 0 k
  in map (\\x -> reduce (+) x (iota {size})) xs"
        )
    };
    refuses(&row("k"), negative);
    refuses(&row("(k - 1)"), negative);
    gives(&row("k_size"), vec![ints(&[1, 2]), Value::int(3)], "[2][4, 5]");
    gives(&row("(k_size + n)"), vec![ints(&[1, 2]), Value::int(-1)], "[2][2, 3]");
    gives(&row("(i64.max 0 (k - 1))"), vec![ints(&[]), Value::int(-3)], "[0][]");
}

#[test]
fn what_is_evaluated_for_no_elements() {
    let stopped = |f: &Fault| matches!(f, Fault::Undefined(_));
    let text = |body: &str| {
        format!("entry main [n] [m] (xs: [n]i64) (ys: [m]i64) (k: i64) : [n]i64 =\n  map (\\x -> {body}) xs")
    };
    let none = || vec![ints(&[]), ints(&[7]), Value::int(-1)];
    faults(&text("assert (k >= 0) (x + k)"), none(), stopped);
    gives(&text("assert (n == 0 || k >= 0) (x + k)"), none(), "[0][]");
    faults(&text("x + ys[k]"), none(), stopped);
    gives(&text("x + (if n == 0 then 0 else ys[k])"), none(), "[0][]");
    // A part that is the same for all is taken out as a whole.
    faults(&text("x + reduce (+) 0 (map (\\y -> y + ys[k]) ys)"), none(), stopped);
    // What depends on the element stays where it is.
    gives(&text("x + ys[x]"), none(), "[0][]");
    gives(&text("if x > 0 then ys[k] else x"), none(), "[0][]");
}

/// An empty array does not say what it is of.
#[test]
fn empty_literals() {
    refuses("entry main : []i64 = []", "an empty array");
    gives("entry main : []i64 = replicate 0 0", vec![], "[0][]");
}

/// The grammar: arguments are atoms, brackets are an index only without a space, `in` ends a block.
#[test]
fn grammar() {
    refuses("entry main (x: i64) : i64 = i64.max x -1", "");
    refuses("entry main [n] (xs: [n]i64) : i64 = xs [0]", "");
    refuses("entry main (x: i64) : i64 = let y = x y", "");
    refuses("entry main (x: i64) : i64 = if x > 0 then 1", "`else` was expected");
    refuses("entry main (x: i64) : i64 = (x", "");
    refuses("entry main (x: i64) : i64 = 3i65", "the number 3i65");
    refuses("entry main (loop: i64) : i64 = 3", "a name was expected");
    // A `let` binds sizes, a loop does not.
    refuses("entry main (xs: []i64) : []i64 = loop [k] (ys: [k]i64) = xs for i < 3 do ys ++ ys", "");
}

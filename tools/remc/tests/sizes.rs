//! Compiled code serves every size: each entry below runs on arrays of many lengths, on both sides of
//! every width at which loops are cut (vectors, blocks), with 1, 2 and 5 threads. The value is that of the
//! interpreter, and for any number of threads the same to the last bit. Sums of floats may be added in
//! another order than the interpreter's, and so are compared with it up to rounding.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SIZES: [usize; 11] = [0, 1, 2, 3, 31, 32, 33, 1000, 1023, 1025, 100_003];

/// An array for a parameter: integers from -100 to 100, or eighths of them, by a generator of its own.
enum Array {
    Ints(fn(usize) -> Vec<usize>),
    Floats(fn(usize) -> Vec<usize>),
}
use Array::{Floats, Ints};

fn vector(n: usize) -> Vec<usize> {
    vec![n]
}

#[derive(Clone, Copy, PartialEq)]
enum Agreement {
    Exact,
    /// Up to rounding, with the interpreter; exactly, between numbers of threads.
    Close,
}
use Agreement::{Close, Exact};

/// Runs an entry at all sizes up to a largest one.
fn at_all_sizes(name: &str, entry: &str, inputs: &[(&str, Array)], largest: usize, agreement: Agreement) {
    let folder = Folder::new(name);
    let program = folder.0.join("entry.remora");
    std::fs::write(&program, entry).unwrap();
    for n in SIZES.into_iter().filter(|n| *n <= largest) {
        let mut arguments = vec![];
        for (k, (name, array)) in inputs.iter().enumerate() {
            let path = folder.0.join(format!("{name}.npy"));
            std::fs::write(&path, npy(array, n, k as u64)).unwrap();
            arguments.extend(["--input".to_owned(), format!("{name}={}", path.display())]);
        }
        let run = |more: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_remc"));
            command.arg("run").arg(&program).args(&arguments).args(more);
            command.env("REMC_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
            command.env("NO_COLOR", "1").stdin(Stdio::null());
            Said::of(command.output().unwrap())
        };
        let wanted = run(&["--device", "interp"]);
        assert!(matches!(wanted.code, Some(0 | 3)), "{name} of {n}: {}", wanted.err);
        let one = run(&["--device", "cpu", "--threads", "1"]);
        if let Some(difference) = one.differs(&wanted, agreement) {
            panic!("{name} of {n}, against the interpreter: {difference}");
        }
        for threads in ["2", "5"] {
            let more = run(&["--device", "cpu", "--threads", threads]);
            if let Some(difference) = more.differs(&one, Exact) {
                panic!("{name} of {n}, {threads} threads against one: {difference}");
            }
        }
    }
}

/// What a run gave.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(o: Output) -> Said {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: o.status.code(), out: text(&o.stdout), err: text(&o.stderr) }
    }

    fn differs(&self, wanted: &Said, agreement: Agreement) -> Option<String> {
        if self.code != wanted.code || self.err != wanted.err {
            return Some(format!("{:?} {} instead of {:?} {}", self.code, self.err, wanted.code, wanted.err));
        }
        let (found, wanted) = (words(&self.out), words(&wanted.out));
        if found.len() != wanted.len() {
            return Some(format!("{} words instead of {}", found.len(), wanted.len()));
        }
        let equal = |a: &str, b: &str| a == b || (agreement == Close && close(a, b));
        let at = found.iter().zip(&wanted).position(|(a, b)| !equal(a, b))?;
        Some(format!("word {at} is {} instead of {}", found[at], wanted[at]))
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split([' ', '[', ']', '(', ')', '\n']).filter(|w| !w.is_empty()).collect()
}

fn close(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        _ => false,
    }
}

/// An array as a file of NumPy's format, version 1.
fn npy(array: &Array, n: usize, seed: u64) -> Vec<u8> {
    let (kind, shape) = match array {
        Ints(shape) => ("<i8", shape(n)),
        Floats(shape) => ("<f8", shape(n)),
    };
    let dims: String = shape.iter().map(|d| format!("{d},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dims}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(n as u64);
    for _ in 0..shape.iter().product() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 33) as i64 % 201 - 100;
        match array {
            Ints(_) => bytes.extend(number.to_le_bytes()),
            // A tenth is no float, so that sums are rounded.
            Floats(_) => bytes.extend((number as f64 / 10.0).to_le_bytes()),
        }
    }
    bytes
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("remc-sizes-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `name: entry, inputs, agreement` and, where the interpreter is slow, the largest size.
macro_rules! entries {
    ($($name:ident: $entry:expr, [$(($input:expr, $array:expr)),*], $agreement:expr $(, up to $largest:expr)?;)*) => {
        $(#[test]
        fn $name() {
            #[allow(unused_mut, unused_assignments)]
            let mut largest = usize::MAX;
            $(largest = $largest;)?
            at_all_sizes(stringify!($name), $entry, &[$(($input, $array)),*], largest, $agreement);
        })*
    };
}

entries! {
    elementwise: "(entry (main [xs [float n]] [ys [float n]]) (+ (* 2.0 xs) (/ ys 3.0)))",
        [("xs", Floats(vector)), ("ys", Floats(vector))], Exact;
    small_types: "(entry (main [xs [int n]]) (values (* (cast u8 xs) (cast u8 xs)) (sqrt (cast f32 (abs xs)))))",
        [("xs", Ints(vector))], Exact;
    branches: "(define (f [x 0]) (if (> x 0) (quotient 1000 x) (- 0 x)))
               (entry (main [xs [int n]]) (f xs))",
        [("xs", Ints(vector))], Exact;
    sum: "(entry (main [xs [int n]]) (values (reduce/zero + 0 xs) (reduce/zero bit-xor 0 (* 3 xs))))",
        [("xs", Ints(vector))], Exact;
    dot: "(entry (main [xs [float n]] [ys [float n]]) (dot xs ys))",
        [("xs", Floats(vector)), ("ys", Floats(vector))], Close;
    largest: "(entry (main [xs [float n]]) (unbox (filter (> xs -1000.0) xs) (v m) (reduce max2 v)))",
        [("xs", Floats(vector))], Exact;
    mean: "(entry (main [xs [float n]]) (/ (sum xs) n))", [("xs", Floats(vector))], Close;
    any_all: "(entry (main [xs [int n]]) (values (any (= xs 100)) (all (> xs -100))))",
        [("xs", Ints(vector))], Exact;
    scans: "(entry (main [xs [int n]]) (values (iscan/zero + 0 xs) (scan/zero max2 -1000 xs) (open-scan/zero + 5 xs)))",
        [("xs", Ints(vector))], Exact;
    scan_of_floats: "(entry (main [xs [float n]]) (iscan/zero + 0.0 xs))", [("xs", Floats(vector))], Close;
    scan_of_rows: "(define (row [r 1]) (iscan/zero + 0 r)) (entry (main [m [int n k]]) (values (iscan/zero + 0 m) (row m)))",
        [("m", Ints(|n| vec![n, 5]))], Exact;
    tall_times_small: "(entry (main [a [float n k]] [b [float k m]]) (m*m a b))",
        [("a", Floats(|n| vec![n, 5])), ("b", Floats(|_| vec![5, 3]))], Close;
    long_contraction: "(entry (main [a [float m n]] [b [float n k]]) (m*m a b))",
        [("a", Floats(|n| vec![3, n])), ("b", Floats(|n| vec![n, 4]))], Close;
    square_product: "(entry (main [a [float n n]] [b [float n n]]) (m*m a b))",
        [("a", Floats(|n| vec![n, n])), ("b", Floats(|n| vec![n, n]))], Close, up to 33;
    transposed: "(entry (main [a [int n k]]) (transpose a))", [("a", Ints(|n| vec![n, 7]))], Exact;
    transposed_square: "(entry (main [a [int n n]]) (+ a (transpose a)))",
        [("a", Ints(|n| vec![n, n]))], Exact, up to 33;
    rows_and_columns: "(define (row [r 1]) (sum r)) (entry (main [m [float n k]]) (values (row m) (sum m)))",
        [("m", Floats(|n| vec![n, 9]))], Close;
    few_long_rows: "(define (row [r 1]) (sum r)) (entry (main [m [float k n]]) (values (row m) (sum m)))",
        [("m", Floats(|n| vec![3, n]))], Close;
    outer: "(entry (main [xs [int n]] [ys [int n]]) (sum (~(0 1)* xs ys)))",
        [("xs", Ints(vector)), ("ys", Ints(vector))], Exact, up to 1025;
    filtered: "(entry (main [xs [int n]]) (filter (< xs 50) xs))", [("xs", Ints(vector))], Exact;
    filtered_and_used: "(entry (main [xs [int n]]) (unbox (filter (< xs 50) xs) (v m) (values m (sum v) (reduce/zero max2 -1000 (reverse v)))))",
        [("xs", Ints(vector))], Exact;
    histograms: "(entry (main [xs [int n]]) (values (histogram 10 (% xs 10)) (histogram 1000 (+ xs 100))))",
        [("xs", Ints(vector))], Exact;
    sorted: "(entry (main [xs [int n]]) (values (sort xs) (grade xs)))", [("xs", Ints(vector))], Exact;
    sorted_rows: "(entry (main [m [float n k]]) (~(1)sort m))", [("m", Floats(|n| vec![n, 3]))], Exact, up to 1025;
    stencil: "(entry (main [xs [float n]]) (/ (+ (rotate xs [1]) (+ xs (rotate xs [-1]))) 3.0))",
        [("xs", Floats(vector))], Exact;
    rearranged: "(entry (main [xs [int n]]) (append (reverse xs) (append xs (rotate xs [3]))))",
        [("xs", Ints(vector))], Exact;
    gathered: "(entry (main [xs [int n]]) (index-item xs (- (- n 1) (iota [n]))))", [("xs", Ints(vector))], Exact;
    folded: "(entry (main [xs [int n]]) (fold (λ ([x 0] [acc 0]) (% (+ x (* 31 acc)) 65521)) 7 xs))",
        [("xs", Ints(vector))], Exact;
    folded_rows: "(define (digits [r 1]) (fold (λ ([x 0] [acc 0]) (% (+ x (* 31 acc)) 65521)) 7 r))
                  (entry (main [m [int n k]]) (digits m))",
        [("m", Ints(|n| vec![n, 6]))], Exact;
    iterated: "(entry (main [xs [int n]]) (iterate 4 (λ ([v [int n]]) (+ v (rotate v [1]))) xs))",
        [("xs", Ints(vector))], Exact;
    loops_within: "(define (steps [x 0]) (while (λ ([y int]) (> y 1)) (λ ([y int]) (quotient y 2)) (abs x)))
                   (entry (main [xs [int n]]) (steps xs))",
        [("xs", Ints(vector))], Exact;
    irregular: "(define (up-to [k 0]) (reduce/zero + 0 (iota [k]))) (entry (main [xs [int n]]) (up-to (% (abs xs) 17)))",
        [("xs", Ints(vector))], Exact;
    records: "(entry (main [xs [float n]] [ys [float n]])
                (define ps (record (x xs) (y ys)))
                (values ps (reduce/zero max2 0.0 (* (field ps x) (field ps y)))))",
        [("xs", Floats(vector)), ("ys", Floats(vector))], Exact;
}

//! The cpu device. Each entry below runs on arrays of many lengths, on both sides of every width at which
//! loops are cut (vectors, blocks), with 1, 2 and 5 threads. The value is that of the
//! interpreter, and for any number of threads the same to the last bit. Sums of floats may be added in
//! another order than the interpreter's, and so are compared with it up to rounding.

use crate::runs::*;

const SIZES: [usize; 11] = [0, 1, 2, 3, 31, 32, 33, 1000, 1023, 1025, 100_003];

/// Runs an entry at all sizes up to a largest one.
fn at_all_sizes(
    name: &'static str,
    entry: &str,
    inputs: &[(&str, Array)],
    largest: usize,
    agreement: Agreement,
) {
    let mut program = Program::new(name, entry, false);
    for n in sampled(name, &SIZES, 33).into_iter().filter(|n| *n <= largest) {
        program.of_size(inputs, n);
        let wanted = program.wanted(&["--device", "interp"], n);
        let one = program.run(&["--device", "cpu", "--threads", "1"], &[]);
        if let Some(difference) = one.differs(&wanted, agreement) {
            panic!("{name} of {n}, against the interpreter: {difference}");
        }
        for threads in ["2", "5"] {
            let more = program.run(&["--device", "cpu", "--threads", threads], &[]);
            if let Some(difference) = more.differs(&one, Exact) {
                panic!("{name} of {n}, {threads} threads against one: {difference}");
            }
        }
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
    first_few_of_each_order: "(define (few r) (take1 (sort r) 2))
                              (entry (main [m [int n k]]) (values (~(1)few (int->char (+ 200 m))) (~(1)few (> m 0)) (~(1)few m)))",
        [("m", Ints(|n| vec![n, 5]))], Exact, up to 1025;
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

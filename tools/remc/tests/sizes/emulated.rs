//! The emulated device: for each schedule of a GPU an entry, at sizes on both sides of a warp, a block of
//! threads, a tile, and for the cheap ones past a group of blocks of a scan; with the threads of a block in
//! either order. The value is that of the interpreter, or of the cpu device where that is slow, and in both
//! orders the same to the last bit. One library is compiled for all sizes.
//!
//! An entry whose input holds one bad element stops there, with the interpreter's message.
//!
//! Without a C++ compiler nothing is tested, and each test says so.

use crate::runs::*;

const SIZES: [usize; 14] = [0, 1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2049, (1 << 20) + 1];

/// The largest of them but one.
const LARGE: usize = 2049;
const HUGE: usize = SIZES[SIZES.len() - 1];
/// Where the interpreter is not asked any more.
const INTERPRETED: usize = LARGE;

fn at_all_sizes(
    name: &'static str,
    entry: &str,
    inputs: &[(&str, Array)],
    (largest, interpreted): (usize, usize),
    agreement: Agreement,
) {
    if let Err(none) = remc_emulate::Emulator::new(std::env::temp_dir()) {
        eprintln!("left out: {none}");
        return;
    }
    let mut program = Program::new(name, entry, true);
    for n in sampled(name, &SIZES, 257).into_iter().filter(|n| *n <= largest) {
        program.of_size(inputs, n);
        let oracle: &[&str] = if n <= interpreted { &["--device", "interp"] } else { &["--device", "cpu"] };
        let wanted = program.wanted(oracle, n);
        let bad = n > 0 && inputs.iter().any(|(_, a)| matches!(a, OneBad(_)));
        assert_eq!(wanted.code, Some(if bad { 3 } else { 0 }), "{name} of {n}");
        let run = |order| program.run(&["--device", "emulated"], &[("REMC_EMULATE_ORDER", order)]);
        let forward = run("forward");
        if let Some(difference) = forward.differs(&wanted, agreement) {
            panic!("{name} of {n}, against {}: {difference}", oracle[1]);
        }
        if let Some(difference) = run("reverse").differs(&forward, Exact) {
            panic!("{name} of {n}, in reverse order against forward: {difference}");
        }
    }
    assert_eq!(program.libraries(), 1, "{name}: libraries");
}

/// `name: entry, inputs, agreement`, the largest size and up to which one the interpreter is asked.
macro_rules! entries {
    ($($name:ident: $entry:expr, [$(($input:expr, $array:expr)),*], $agreement:expr, $largest:expr $(, interpreted to $interpreted:expr)?;)*) => {
        $(#[test]
        fn $name() {
            #[allow(unused_mut, unused_assignments)]
            let mut interpreted = INTERPRETED;
            $(interpreted = $interpreted;)?
            let sizes = ($largest, interpreted);
            at_all_sizes(concat!("emulated_", stringify!($name)), $entry, &[$(($input, $array)),*], sizes, $agreement);
        })*
    };
}

// ---- maps ----

entries! {
    map_of_a_vector: "(entry (main [xs [float n]] [ys [float n]]) (+ (* 2.0 xs) (/ ys 3.0)))",
        [("xs", Floats(vector)), ("ys", Floats(vector))], Exact, HUGE;
    map_of_a_matrix: "(entry (main [m [int n k]] [xs [int n]] [ys [int k]]) (+ (* 3 m) (~(0 1)+ xs ys)))",
        [("m", Ints(|n| vec![n, 7])), ("xs", Ints(vector)), ("ys", Ints(|_| vec![7]))], Exact, LARGE;
    map_of_a_wide_matrix: "(entry (main [m [int k n]]) (+ m (rotate m [1 1])))",
        [("m", Ints(|n| vec![3, n]))], Exact, LARGE;
    map_of_three_axes: "(entry (main [m [int a n b]]) (+ m (rotate m [1 0 1])))",
        [("m", Ints(|n| vec![3, n, 5]))], Exact, LARGE;
    map_with_a_loop: "(define (steps [x 0]) (while (λ ([y int]) (> y 1)) (λ ([y int]) (quotient y 2)) (abs x)))
                      (entry (main [xs [int n]]) (steps xs))",
        [("xs", Ints(vector))], Exact, LARGE;
    map_with_small_types: "(entry (main [xs [int n]]) (values (* (cast u8 xs) (cast u8 xs)) (sqrt (cast f32 (abs xs)))))",
        [("xs", Ints(vector))], Exact, LARGE;
    stencil: "(entry (main [xs [float n]]) (/ (+ (rotate xs [1]) (+ xs (rotate xs [-1]))) 3.0))",
        [("xs", Floats(vector))], Exact, LARGE;
    transposition: "(entry (main [a [int n k]]) (transpose a))",
        [("a", Ints(|n| vec![n, 37]))], Exact, LARGE;
    transposition_of_a_wide_matrix: "(entry (main [a [int k n]]) (transpose a))",
        [("a", Ints(|n| vec![33, n]))], Exact, LARGE;
    transposition_of_a_square: "(entry (main [a [int n n]]) (+ a (transpose a)))",
        [("a", Ints(|n| vec![n, n]))], Exact, 257;
    gathered: "(entry (main [xs [int n]]) (index-item xs (- (- n 1) (iota [n]))))",
        [("xs", Ints(vector))], Exact, HUGE;
}

// ---- reductions ----

entries! {
    sum: "(entry (main [xs [int n]]) (values (reduce/zero + 0 xs) (reduce/zero bit-xor 5 (* 3 xs))))",
        [("xs", Ints(vector))], Exact, HUGE;
    sum_of_floats: "(entry (main [xs [float n]]) (sum xs))", [("xs", Floats(vector))], Close, HUGE;
    largest: "(entry (main [xs [float n]]) (reduce/zero max2 -1000.0 xs))", [("xs", Floats(vector))], Exact, HUGE;
    any_all: "(entry (main [xs [int n]]) (values (any (= xs 100)) (all (> xs -100))))",
        [("xs", Ints(vector))], Exact, LARGE;
    dot_product: "(entry (main [xs [float n]] [ys [float n]]) (dot xs ys))",
        [("xs", Floats(vector)), ("ys", Floats(vector))], Close, LARGE;
    last_that_is_not_zero: "(entry (main [xs [int n]])
        (reduce/zero (λ ([a int] [b int]) (select (= b 0) a b)) 0 (% xs 3)))",
        [("xs", Ints(vector))], Exact, HUGE;
    first_of_two: "(entry (main [xs [int n]]) (reduce/zero (λ ([a int] [b int]) (select (= a -1) b a)) -1 xs))",
        [("xs", Ints(vector))], Exact, HUGE;
    product_of_matrices: "(define (times [a 2] [b 2]) (~(0 0 2)reduce/zero + 0 (~(1 2)* a b)))
        (entry (main [m [int n 2 2]]) (reduce/zero times [[1 0] [0 1]] m))",
        [("m", Steps(|n| vec![n, 2, 2]))], Exact, HUGE;
    product_of_matrices_without_a_start: "(define (times [a 2] [b 2]) (~(0 0 2)reduce/zero + 0 (~(1 2)* a b)))
        (entry (main [m [int n 2 2]]) (reduce times (append [[[2 1] [1 1]]] m)))",
        [("m", Steps(|n| vec![n, 2, 2]))], Exact, LARGE;
    composition_of_lines: "(define (after [p 1] [q 1])
          [(* (index-item p 0) (index-item q 0)) (+ (* (index-item q 0) (index-item p 1)) (index-item q 1))])
        (entry (main [m [int n 2]]) (define odd (~(1 1)+ [1 0] (~(1 1)* [2 1] m)))
        (values (reduce/zero after [1 0] odd) (iscan/zero after [1 0] odd)))",
        [("m", Ints(|n| vec![n, 2]))], Exact, LARGE;
}

// ---- reductions of segments ----

entries! {
    few_long_rows: "(define (row [r 1]) (sum r)) (entry (main [m [int k n]]) (row m))",
        [("m", Ints(|n| vec![3, n]))], Exact, HUGE;
    few_long_rows_in_order: "(define (row [r 1]) (reduce/zero (λ ([a int] [b int]) (select (= b 0) a b)) 0 r))
        (entry (main [m [int k n]]) (row (% m 3)))",
        [("m", Ints(|n| vec![3, n]))], Exact, LARGE;
    many_short_rows: "(define (row [r 1]) (sum r)) (entry (main [m [int n k]]) (row m))",
        [("m", Ints(|n| vec![n, 9]))], Exact, LARGE;
    many_short_rows_in_order: "(define (row [r 1]) (reduce/zero (λ ([a int] [b int]) (select (= b 0) a b)) 0 r))
        (entry (main [m [int n k]]) (row (% m 3)))",
        [("m", Ints(|n| vec![n, 9]))], Exact, LARGE;
    rows_of_a_square: "(define (row [r 1]) (sum r)) (entry (main [m [int n n]]) (row m))",
        [("m", Ints(|n| vec![n, n]))], Exact, 1025, interpreted to 33;
    many_columns: "(entry (main [m [int k n]]) (sum m))", [("m", Ints(|n| vec![5, n]))], Exact, LARGE;
    few_columns: "(entry (main [m [int n k]]) (sum m))", [("m", Ints(|n| vec![n, 5]))], Exact, LARGE;
    empty_rows: "(define (row [r 1]) (reduce/zero + 7 r)) (entry (main [m [int n k]]) (row m))",
        [("m", Ints(|n| vec![n, 0]))], Exact, LARGE;
    square_product: "(entry (main [a [float n n]] [b [float n n]]) (m*m a b))",
        [("a", Floats(|n| vec![n, n])), ("b", Floats(|n| vec![n, n]))], Close, 257, interpreted to 33;
    product_of_whole_numbers: "(entry (main [a [int n k]] [b [int k m]]) (m*m a b))",
        [("a", Ints(|n| vec![n, 33])), ("b", Ints(|_| vec![33, 65]))], Exact, LARGE, interpreted to 33;
    long_contraction: "(entry (main [a [int m n]] [b [int n k]]) (m*m a b))",
        [("a", Ints(|n| vec![40, n])), ("b", Ints(|n| vec![n, 35]))], Exact, LARGE, interpreted to 33;
    tall_times_small: "(entry (main [a [int n k]] [b [int k m]]) (m*m a b))",
        [("a", Ints(|n| vec![n, 5])), ("b", Ints(|_| vec![5, 3]))], Exact, LARGE;
}

// ---- scans ----

entries! {
    inclusive_scan: "(entry (main [xs [int n]]) (iscan/zero + 0 xs))", [("xs", Ints(vector))], Exact, HUGE;
    inclusive_scan_without_a_start: "(entry (main [xs [int n]]) (iscan max2 (append [-1000] xs)))",
        [("xs", Ints(vector))], Exact, LARGE;
    exclusive_scan: "(entry (main [xs [int n]]) (open-scan/zero + 5 xs))", [("xs", Ints(vector))], Exact, HUGE;
    full_scan: "(entry (main [xs [int n]]) (scan/zero + 5 xs))", [("xs", Ints(vector))], Exact, LARGE;
    scan_of_floats: "(entry (main [xs [float n]]) (iscan/zero + 0.0 xs))", [("xs", Floats(vector))], Close, LARGE;
    scan_of_last: "(entry (main [xs [int n]])
        (iscan/zero (λ ([a int] [b int]) (select (= b 0) a b)) 0 (% xs 3)))",
        [("xs", Ints(vector))], Exact, HUGE;
    scan_of_matrices: "(define (times [a 2] [b 2]) (~(0 0 2)reduce/zero + 0 (~(1 2)* a b)))
        (entry (main [m [int n 2 2]]) (iscan/zero times [[1 0] [0 1]] m))",
        [("m", Steps(|n| vec![n, 2, 2]))], Exact, HUGE;
    full_scan_of_matrices: "(define (times [a 2] [b 2]) (~(0 0 2)reduce/zero + 0 (~(1 2)* a b)))
        (entry (main [m [int n 2 2]]) (scan/zero times [[1 1] [0 1]] m))",
        [("m", Steps(|n| vec![n, 2, 2]))], Exact, LARGE;
    scan_of_matrices_without_a_start: "(define (times [a 2] [b 2]) (~(0 0 2)reduce/zero + 0 (~(1 2)* a b)))
        (entry (main [m [int n 2 2]]) (iscan times (append [[[2 1] [1 1]]] m)))",
        [("m", Steps(|n| vec![n, 2, 2]))], Exact, LARGE;
    scans_of_few_long_rows: "(define (row [r 1]) (iscan/zero + 0 r)) (entry (main [m [int k n]]) (row m))",
        [("m", Ints(|n| vec![3, n]))], Exact, LARGE;
    scans_of_many_short_rows: "(define (row [r 1]) (iscan/zero + 0 r)) (entry (main [m [int n k]]) (row m))",
        [("m", Ints(|n| vec![n, 5]))], Exact, LARGE;
    scans_of_rows_in_order: "(define (row [r 1]) (scan/zero (λ ([a int] [b int]) (select (= b 0) a b)) 0 r))
        (entry (main [m [int k n]]) (row (% m 3)))",
        [("m", Ints(|n| vec![3, n]))], Exact, LARGE;
    scan_of_columns: "(entry (main [m [int n k]]) (iscan/zero + 0 m))",
        [("m", Ints(|n| vec![n, 5]))], Exact, LARGE;
}

// ---- the rest ----

entries! {
    filtered: "(entry (main [xs [int n]]) (filter (< xs 50) xs))", [("xs", Ints(vector))], Exact, HUGE;
    filtered_and_used: "(entry (main [xs [int n]])
        (unbox (filter (< xs 50) xs) (v m) (values m (sum v) (reduce/zero max2 -1000 (reverse v)))))",
        [("xs", Ints(vector))], Exact, LARGE;
    filters_of_the_same_points: "(entry (main [xs [int n]])
        (values (filter (< xs 50) xs) (filter (> xs 20) (* 2 xs)) (filter (= 0 (% xs 3)) (iota [(length xs)]))))",
        [("xs", Ints(vector))], Exact, LARGE;
    filtered_rows: "(entry (main [m [int n k]]) (filter (< (~(1)sum m) 50) m))",
        [("m", Ints(|n| vec![n, 3]))], Exact, LARGE;
    scattered: "(entry (main [at [int n]] [xs [int n]]) (scatter/into xs at (* 2 xs)))",
        [("at", Descending(vector)), ("xs", Ints(vector))], Exact, HUGE;
    histograms: "(entry (main [xs [int n]]) (values (histogram 10 (% xs 10)) (histogram 1000 (+ xs 100))))",
        [("xs", Ints(vector))], Exact, LARGE;
    histogram_of_a_few: "(entry (main [xs [int n]]) (histogram 10 (% xs 10)))", [("xs", Ints(vector))], Exact, HUGE;
    histogram_of_many: "(entry (main [xs [int n]]) (histogram 100000 (* 77 (% (abs xs) 1000))))",
        [("xs", Ints(vector))], Exact, LARGE;
    greatest_of_each: "(entry (main [xs [int n]] [ys [int n]])
        (values (scatter/combine max2 (* 0 (iota [50])) (% (abs xs) 50) ys) (scatter/combine bit-xor (iota [50]) (% (abs xs) 50) ys)))",
        [("xs", Ints(vector)), ("ys", Ints(vector))], Exact, HUGE;
    rows_of_numbers_added: "(entry (main [xs [int n]] [m [int n 3]])
        (scatter/combine ~(1 1)+ (* 0 (~(0 1)+ (iota [50]) [0 0 0])) (% (abs xs) 50) m))",
        [("xs", Ints(vector)), ("m", Ints(|n| vec![n, 3]))], Exact, LARGE;
    sums_of_each: "(entry (main [xs [int n]] [ys [float n]]) (scatter/combine + (* 0.5 (iota [10])) (% (abs xs) 10) ys))",
        [("xs", Ints(vector)), ("ys", Floats(vector))], Close, HUGE;
    sums_of_rows: "(entry (main [xs [int n]] [m [float n 3]])
        (scatter/combine ~(1 1)+ (* 0.5 (~(0 1)+ (iota [10]) [0 1 2])) (% (abs xs) 10) m))",
        [("xs", Ints(vector)), ("m", Floats(|n| vec![n, 3]))], Close, LARGE;
    sums_of_many: "(entry (main [xs [int n]] [ys [float n]])
        (scatter/combine + (* 0.5 (iota [3000])) (* 3 (% (abs xs) 1000)) ys))",
        [("xs", Ints(vector)), ("ys", Floats(vector))], Close, LARGE;
    combined_in_order: "(entry (main [xs [int n]] [ys [int n]])
        (scatter/combine (λ ([a 0] [b 0]) (select (= 0 (% b 3)) a b)) (iota [70]) (% (abs xs) 70) ys))",
        [("xs", Ints(vector)), ("ys", Ints(vector))], Exact, HUGE;
    the_last_stays: "(entry (main [xs [int n]] [ys [int n]]) (scatter/into (iota [70]) (% (abs xs) 70) ys))",
        [("xs", Ints(vector)), ("ys", Ints(vector))], Exact, HUGE;
    the_last_row_stays: "(entry (main [xs [int n]] [m [int n 3]])
        (scatter/into (~(0 1)+ (iota [70]) [0 1 2]) (% (abs xs) 70) m))",
        [("xs", Ints(vector)), ("m", Ints(|n| vec![n, 3]))], Exact, LARGE;
    sorted: "(entry (main [xs [int n]]) (values (sort xs) (grade xs)))", [("xs", Ints(vector))], Exact, HUGE;
    sorted_floats: "(entry (main [xs [float n]]) (values (sort (sqrt xs)) (grade (% (cast int xs) 7))))",
        [("xs", Floats(vector))], Exact, LARGE;
    sorted_by_rows: "(entry (main [m [int n k]]) (values (sort (% m 3)) (grade (% m 2))))",
        [("m", Ints(|n| vec![n, 4]))], Exact, LARGE;
    sorted_rows: "(entry (main [m [float n k]]) (~(1)sort m))", [("m", Floats(|n| vec![n, 3]))], Exact, 257;
    iterated: "(entry (main [xs [int n]]) (iterate 4 (λ ([v [int n]]) (+ v (rotate v [1]))) xs))",
        [("xs", Ints(vector))], Exact, LARGE;
    long_rows_among_short_ones: "(entry (main [xs [int n]])
        (let ((lengths (select (= 0 (% xs 4)) (+ 1100 (abs xs)) (abs xs))))
          (unbox (iota1 lengths) (r k)
            (+ (sum (* r r)) (reduce/zero (λ ([a int] [b int]) (select (= 0 (% b 3)) a b)) 0 r)))))",
        [("xs", Ints(vector))], Exact, LARGE, interpreted to 257;
    rows_of_groups: "(entry (main [xs [int n]])
        (let ((lengths (select (= 0 (% xs 5)) (+ 1000 (abs xs))
                         (select (= 1 (% xs 5)) (+ 20 (abs xs)) (% (abs xs) 7)))))
          (concat (unbox (iota1 lengths) (r k)
            (let ((s (iscan/zero + 0 (% (* r r) 13)))) (- (* 3 s) (reduce/zero max2 0 s)))))))",
        [("xs", Ints(vector))], Exact, LARGE, interpreted to 257;
    rows_of_groups_in_rounds: "(entry (main [xs [int n]])
        (unbox (iota1 (select (= 0 (% xs 5)) (+ 1000 (abs xs)) (% (abs xs) 43))) (r k)
          (sum (iterate 3 (λ ([v 1]) (+ v (* 2 (reverse v)))) r))))",
        [("xs", Ints(vector))], Exact, 257, interpreted to 33;
    rows_of_groups_of_floats: "(entry (main [xs [float n]])
        (let ((rows (iota1 (cast int (* 20.0 (abs xs))))))
          (values
            (concat (unbox rows (r k) (let ((e (exp (/ (cast float r) -50.0)))) (/ e (reduce/zero + 0.0 e)))))
            (concat (unbox rows (r k) (scan/zero + 0.0 (sqrt (cast float r))))))))",
        [("xs", Floats(vector))], Close, 257, interpreted to 257;
    groups_of_a_matrix: "(define (centred [row 1]) (let ((s (iscan + row))) (- (* 3 s) (max (reverse s)))))
                         (entry (main [m [int n k]]) (centred m))",
        [("m", Ints(|n| vec![n, 40]))], Exact, LARGE, interpreted to 257;
    groups_of_a_wide_matrix: "(define (scaled [row 1])
                                (let* ((e (exp (/ row -50.0))) (s (reduce/zero + 0.0 e))) (/ e (+ s (reduce/zero max2 0.0 e)))))
                              (entry (main [m [float n k]]) (scaled m))",
        [("m", Floats(|n| vec![259, n]))], Close, LARGE, interpreted to 257;
    irregular: "(define (up-to [k 0]) (reduce/zero + 0 (iota [k])))
                (entry (main [xs [int n]]) (up-to (% (abs xs) 17)))",
        [("xs", Ints(vector))], Exact, LARGE;
}

// ---- a check fails in the middle ----

entries! {
    a_map_stops: "(entry (main [xs [int n]]) (index-item [3 1 4 1 5 9 2 6 5 3] xs))",
        [("xs", OneBad(vector))], Exact, HUGE, interpreted to HUGE;
    a_map_of_a_matrix_stops: "(entry (main [m [int n k]]) (index-item [3 1 4 1 5 9 2 6 5 3] m))",
        [("m", OneBad(|n| vec![n, 7]))], Exact, LARGE;
    a_reduction_stops: "(entry (main [xs [int n]]) (sum (index-item [3 1 4 1 5 9 2 6 5 3] xs)))",
        [("xs", OneBad(vector))], Exact, HUGE;
    a_reduction_in_order_stops: "(entry (main [xs [int n]])
        (reduce/zero (λ ([a int] [b int]) (select (= b 0) a b)) 0 (index-item [3 1 4 1 5 9 2 6 5 3] xs)))",
        [("xs", OneBad(vector))], Exact, LARGE;
    an_operator_stops: "(entry (main [xs [int n]])
        (reduce/zero (λ ([a int] [b int]) (index-item [0 1 2 3 4 5 6 7 8 9] (max2 a b))) 0 xs))",
        [("xs", OneBad(vector))], Exact, LARGE;
    a_reduction_of_rows_stops: "(define (row [r 1]) (sum (index-item [3 1 4 1 5 9 2 6 5 3] r)))
        (entry (main [m [int k n]]) (row m))",
        [("m", OneBad(|n| vec![3, n]))], Exact, LARGE;
    a_reduction_of_short_rows_stops: "(define (row [r 1]) (sum (index-item [3 1 4 1 5 9 2 6 5 3] r)))
        (entry (main [m [int n k]]) (row m))",
        [("m", OneBad(|n| vec![n, 9]))], Exact, LARGE;
    a_scan_stops: "(entry (main [xs [int n]]) (iscan/zero + 0 (index-item [3 1 4 1 5 9 2 6 5 3] xs)))",
        [("xs", OneBad(vector))], Exact, HUGE;
    the_operator_of_a_scan_stops: "(entry (main [xs [int n]])
        (iscan/zero (λ ([a int] [b int]) (index-item [0 1 2 3 4 5 6 7 8 9] (max2 a b))) 0 xs))",
        [("xs", OneBad(vector))], Exact, LARGE;
    scans_of_rows_stop: "(define (row [r 1]) (scan/zero + 0 (index-item [3 1 4 1 5 9 2 6 5 3] r)))
        (entry (main [m [int k n]]) (row m))",
        [("m", OneBad(|n| vec![3, n]))], Exact, LARGE;
    a_filter_stops: "(entry (main [xs [int n]]) (filter (< (index-item [3 1 4 1 5 9 2 6 5 3] xs) 5) xs))",
        [("xs", OneBad(vector))], Exact, LARGE;
    a_scatter_stops: "(entry (main [at [int n]]) (scatter/into [0 0 0 0 0 0 0 0 0 0] at (* 0 at)))",
        [("at", OneBad(vector))], Exact, LARGE;
    a_sort_stops: "(entry (main [xs [int n]]) (sort (index-item [3 1 4 1 5 9 2 6 5 3] xs)))",
        [("xs", OneBad(vector))], Exact, LARGE;
    a_transposition_stops: "(entry (main [m [int n k]]) (transpose (index-item [3 1 4 1 5 9 2 6 5 3] m)))",
        [("m", OneBad(|n| vec![n, 37]))], Exact, LARGE;
    a_product_stops: "(entry (main [a [int n k]] [b [int k m]]) (m*m (index-item [3 1 4 1 5 9 2 6 5 3] a) b))",
        [("a", OneBad(|n| vec![n, 33])), ("b", Ints(|_| vec![33, 65]))], Exact, 1025, interpreted to 33;
}

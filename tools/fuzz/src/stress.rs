//! Texts that are hard for one stage or another: deep, long, or small with a large meaning. They are
//! run first, whatever the seed.

/// A name and the text.
pub fn texts() -> Vec<(&'static str, String)> {
    let nest = |open: &str, inner: &str, close: &str, n: usize| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    vec![
        ("empty", String::new()),
        ("a megabyte of [", "[".repeat(1 << 20)),
        ("a megabyte of ]", "]".repeat(1 << 20)),
        ("many ()", "()".repeat(1 << 15)),
        ("a megabyte of #;", "#;".repeat(1 << 19)),
        ("a megabyte of #|", "#|".repeat(1 << 19)),
        ("many quotes", "\"".repeat(1 << 13)),
        ("a megabyte in one name", "x".repeat(1 << 20)),
        ("a megabyte in one number", "9".repeat(1 << 20)),
        ("a long fraction", format!("0.{}1", "0".repeat(1 << 16))),
        ("deep brackets", nest("[", "1", "]", 150)),
        ("deep lambdas", nest("(λ (x) ", "x", ")", 150)),
        ("deep applications", nest("(add1 ", "1", ")", 150)),
        ("deep lets", nest("(let ((x 1)) ", "x", ")", 150)),
        ("deep conditionals", nest("(if #t 1 ", "1", ")", 150)),
        ("deep unbox", nest("(unbox (iota1 3) (v n) ", "v", ")", 60)),
        ("deep types", format!("(define (f [x {}]) x)", nest("(→ (int) ", "int", ")", 150))),
        ("a wide vector", format!("[{}]", "1 ".repeat(20_000))),
        ("a wide application", format!("(+ {})", "1 ".repeat(20_000))),
        ("a long sum", format!("{}0{}", "(+ 1 ".repeat(200), ")".repeat(200))),
        ("many definitions", (0..1000).map(|i| format!("(define x{i} {i})\n")).collect()),
        (
            "a chain of definitions",
            (1..120)
                .fold("(define x0 1)\n".to_owned(), |t, i| t + &format!("(define x{i} (+ x{} 1))\n", i - 1))
                + "x119",
        ),
        // Types whose size doubles with each binding.
        (
            "doubling tuples",
            (0..40).fold(String::new(), |t, i| t + &format!("(let ((x{} (values x{i} x{i}))) ", i + 1))
                + "1"
                + &")".repeat(40),
        ),
        (
            "doubling tuples, bound",
            "(let ((x0 1)) ".to_owned()
                + &(0..24)
                    .fold(String::new(), |t, i| t + &format!("(let ((x{} (values x{i} x{i}))) ", i + 1))
                + "1"
                + &")".repeat(25),
        ),
        (
            "doubling functions",
            (0..24).fold("(define (f0 x) (values x x))\n".to_owned(), |t, i| {
                t + &format!("(define (f{} x) (f{i} (f{i} x)))\n", i + 1)
            }),
        ),
        (
            "doubling definitions of types",
            (0..40).fold("(define-type T0 int)\n".to_owned(), |t, i| {
                t + &format!("(define-type T{} (Tuple T{i} T{i}))\n", i + 1)
            }) + "(define (f [x T40]) x)",
        ),
        // Products of sums: the normal form has exponentially many terms.
        ("a product of sums", format!("(define (f [x [int (* {})]]) x)", "(+ a b c d e g) ".repeat(40))),
        (
            "a product of large numbers",
            format!("(define (f [x [int (* {})]]) x)", "999999999999 ".repeat(30)),
        ),
        ("a power by squaring", {
            let doubling =
                (0..40).fold(String::new(), |t, i| t + &format!("(let ((n{} (* n{i} n{i}))) ", i + 1));
            format!("(define (f [xs 1]) (let ((n0 (length xs))) {doubling}(iota [n40]){}))", ")".repeat(40))
        }),
        (
            "append doubling",
            "(define (f [x0 1]) ".to_owned()
                + &(0..60)
                    .fold(String::new(), |t, i| t + &format!("(let ((x{} (append x{i} x{i}))) ", i + 1))
                + "x60"
                + &")".repeat(61),
        ),
        ("a large constant shape", "(iota [1000000 1000000 1000000 1000000])".to_owned()),
        ("the largest dims", "(: (iota [9223372036854775807]) [int 9223372036854775807])".to_owned()),
        ("dims past 64 bits", "(define (f [x [int 18446744073709551616]]) x)".to_owned()),
        ("a large rank", "(define (f [x 4294967295]) x)".to_owned()),
        ("a rather large rank", "(define (f [x 100000]) x) (f 1)".to_owned()),
        ("a large rerank", "(~(100000 0)+ 1 2)".to_owned()),
        ("a large projection", "(proj 18446744073709551615 (values 1 2))".to_owned()),
        ("a large array", "(array [99999999 99999999] int)".to_owned()),
        ("a large empty array", "(array [0 18446744073709551615] int)".to_owned()),
        ("self application", "(λ (x) (x x))".to_owned()),
        ("the fixed point", "(λ (f) ((λ (x) (f (x x))) (λ (x) (f (x x)))))".to_owned()),
        ("omega", "((λ (x) (x x)) (λ (x) (x x)))".to_owned()),
        ("its own shape", "(define (f x) (append x (f x)))".to_owned()),
        ("two shape variables", "(define (f [x [t @a @b]] [y [t @b @a]]) (= x y))".to_owned()),
        ("many shape variables", "(define (f [x [t @a @b @c @d @e]]) x) (f [[[[1 2] [3 4]]]])".to_owned()),
        ("equations of words", "(define (f [x [t 1 @a 2]] [y [t @a 1 2]]) (= x y))".to_owned()),
        ("words that grow", "(define (f [x [t @a 1]] [y [t 1 @a]]) (= x y))".to_owned()),
        ("a circle of imports", "(import \"fuzz.remora\")".to_owned()),
        ("many unknown names", (0..300).map(|i| format!("(unknown{i} reduc{i})\n")).collect()),
        ("many wrong lines", "(+ [1 2] [1 2 3])\n".repeat(300)),
        ("a long line", format!("(+ 1 {} [1 2] [1 2 3])", " ".repeat(1 << 16))),
        ("only a byte order mark", "\u{feff}".to_owned()),
        ("line ends", "(+ 1\r\n2)\r3\u{2028}4\u{85}5".to_owned()),
    ]
}

//! Large files of small definitions, such as people write.
//!
//! A file is made from templates. Each defines one thing, of a kind that later templates can use, in terms of
//! earlier definitions of the kinds that its holes ask for:
//!
//! ```text
//! (define (@ [xs 1])                    (define (total17 [xs 1])
//!   (let ((ys (<map> xs)))         →      (let ((ys (smooth9 xs)))
//!     (<fold> (* <k> ys))))                 (moment12 (* 0.75 ys))))
//! ```
//!
//! `@` is the new name, `<kind>` the name of an earlier definition, `<k>` a literal. Nearly all parameters have no
//! types, so that each definition is inferred and generalised, and its users instantiate what was found. The file
//! depends on the number of definitions alone; a longer one begins with the shorter.

/// What can be done with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A function of a number.
    Map,
    /// A function of two numbers.
    Pair,
    /// From a vector to a number.
    Fold,
    /// From a vector to one of its length.
    Whole,
    /// From a matrix to a matrix.
    Grid,
    /// A vector of floats.
    Data,
    /// From a vector and a run-time integer to a number.
    Sized,
    /// Takes a function and a vector, gives a number.
    Over,
    /// From two numbers to a record of `x` and `y`.
    Point,
    /// Used by nothing.
    End,
}

/// The kinds as holes name them.
const HOLES: [(&str, Kind); 9] = [
    ("<map>", Kind::Map),
    ("<pair>", Kind::Pair),
    ("<fold>", Kind::Fold),
    ("<whole>", Kind::Whole),
    ("<grid>", Kind::Grid),
    ("<data>", Kind::Data),
    ("<sized>", Kind::Sized),
    ("<over>", Kind::Over),
    ("<point>", Kind::Point),
];

/// A stem of names, what the name is, and its definition.
type Template = (&'static str, Kind, &'static str);

/// What holes ask for at first.
const FIRST: [Template; 9] = [
    ("damp", Kind::Map, "(define (@ x)\n  (* 0.5 (+ x 1.)))"),
    ("mix", Kind::Pair, "(define (@ x y)\n  (+ x (* 0.5 y)))"),
    ("total", Kind::Fold, "(define (@ [xs 1])\n  (reduce/zero + 0. xs))"),
    ("back", Kind::Whole, "(define (@ [xs 1])\n  (reverse xs))"),
    ("turn", Kind::Grid, "(define (@ [m 2])\n  (+ m 1.))"),
    ("data", Kind::Data, "(define @\n  [0.5 1.5 2.5 4.])"),
    ("nth", Kind::Sized, "(define (@ [xs 1] [k 0])\n  (index-item xs (% k (length xs))))"),
    ("over", Kind::Over, "(define (@ f [xs 1])\n  (reduce/zero + 0. (f xs)))"),
    ("point", Kind::Point, "(define (@ a b)\n  (record (x a) (y (* 2. b))))"),
];

const TEMPLATES: [Template; 45] = [
    // Scalars: conditions, local functions, loops.
    ("damp", Kind::Map, "(define (@ x)\n  (let ((y (* <k> x)))\n    (+ y (<map> x))))"),
    ("bend", Kind::Map, "(define (@ x)\n  (<pair> x (<map> (* <k> x))))"),
    (
        "choose",
        Kind::Map,
        "(define (@ x)\n  (cond ((< x <k>) (<map> x))\n        ((> x 10.) 10.)\n        (else (<pair> x 2.))))",
    ),
    (
        "near",
        Kind::Map,
        "(define (@ x)\n  (let (((step y) (- y (<map> y))))\n    (if (< x <k>) (step x) (step (step x)))))",
    ),
    (
        "power",
        Kind::Map,
        "(define (@ x)\n  (let-values (((y n)\n                (loop ((y x) (n 0)) while (< n 5) do\n                  \
         (values (<map> y) (+ n 1)))))\n    y))",
    ),
    (
        "mix",
        Kind::Pair,
        "(define (@ x y)\n  (let ((d (- x y)))\n    (select (< d <k>) (<map> x) (* d (<map> y)))))",
    ),
    (
        "blend",
        Kind::Pair,
        "(define (@ x y)\n  (define low (min2 x y))\n  (define high (max2 x y))\n  (<pair> low high))",
    ),
    // Vectors to numbers: reductions, folds with functions, boxes that open, records that are taken apart.
    ("sum", Kind::Fold, "(define (@ [xs 1])\n  (reduce/zero + 0. (<map> xs)))"),
    ("moment", Kind::Fold, "(define (@ [xs 1])\n  (let ((ys (<whole> xs)))\n    (<fold> (* ys ys))))"),
    (
        "folded",
        Kind::Fold,
        "(define (@ [xs 1])\n  (fold (λ ([x 0] [acc 0]) (<pair> x (* <k> acc)))\n        0.\n        xs))",
    ),
    (
        "kept",
        Kind::Fold,
        "(define (@ [xs 1])\n  (unbox (filter (> xs <k>) xs) (ys n)\n    (<fold> (<whole> ys))))",
    ),
    (
        "opened",
        Kind::Fold,
        "(define (@ [xs 1])\n  (let ((ys (filter (< xs <k>) xs)))\n    (- (<fold> ys) (<fold> (<map> ys)))))",
    ),
    (
        "spread",
        Kind::Fold,
        "(define (@ [xs 1])\n  (let-values (((low high)\n                (values (<fold> xs) (<fold> (* <k> xs)))))\n    \
         (<pair> high low)))",
    ),
    (
        "length",
        Kind::Fold,
        "(define (@ [xs 1])\n  (let ((p (<point> (<fold> xs) <k>)))\n    (+ (field p x) (<map> (field p y)))))",
    ),
    ("mean", Kind::Fold, "(define (@ [xs 1])\n  (/ (<fold> xs)\n     (+ 1. (length xs))))"),
    ("passed", Kind::Fold, "(define (@ [xs 1])\n  (<over> <map> (<whole> xs)))"),
    ("passing", Kind::Fold, "(define (@ [xs 1])\n  (<over> (λ (ys) (<whole> (<map> ys)))\n    xs))"),
    ("cells", Kind::Fold, "(define (@ [xs 1])\n  (<fold> (~(1)<fold> (~(0 1)<pair> xs xs))))"),
    ("many", Kind::Fold, "(define (@ [xs 1])\n  (<fold> ([<map> <map> <map>] (<fold> xs))))"),
    (
        "upto",
        Kind::Fold,
        "(define (@ [xs 1])\n  (let* ((ones (+ 1. (int->float (iota [(length xs)]))))\n         (ys (* ones xs)))\n    \
         (<fold> (<whole> ys))))",
    ),
    // Vectors to vectors: reranks, scans, windows, branches.
    (
        "smooth",
        Kind::Whole,
        "(define (@ [xs 1])\n  (let* ((back (reverse xs))\n         (step (* <k> (- xs back))))\n    (+ (<whole> xs) step)))",
    ),
    ("centred", Kind::Whole, "(define (@ [xs 1])\n  (- (<map> xs) (<fold> xs)))"),
    (
        "runs",
        Kind::Whole,
        "(define (@ [xs 1])\n  (iscan/zero (λ (x y) (+ x (* <k> y)))\n              0.\n              (<whole> xs)))",
    ),
    ("turned", Kind::Whole, "(define (@ [xs 1])\n  (<pair> xs\n    (rotate (<whole> xs) [1])))"),
    ("each", Kind::Whole, "(define (@ [xs 1])\n  (~(1)<fold> (~(0 1)<pair> xs (<whole> xs))))"),
    (
        "moving",
        Kind::Whole,
        "(define (@ [xs 1])\n  (let ((ws (window (append [0. 0.] (append xs [0.])) 3)))\n    (drop-right1 (~(1)<fold> ws) 1)))",
    ),
    (
        "either",
        Kind::Whole,
        "(define (@ [xs 1])\n  (if (> (<fold> xs) <k>)\n      (<whole> xs)\n      (<map> xs)))",
    ),
    (
        "flags",
        Kind::Whole,
        "(define (@ [xs 1])\n  (let ((high (and (> xs <k>) (not (= xs 3.)))))\n    (select high xs (<map> xs))))",
    ),
    ("typed", Kind::Whole, "(define (@ [xs [float n]]) : [float n]\n  (+ (<whole> xs) (rotate xs [1])))"),
    // Matrices.
    ("rows", Kind::Grid, "(define (@ [m 2])\n  (transpose (<whole> (transpose (<grid> m)))))"),
    (
        "scaled",
        Kind::Grid,
        "(define (@ [m 2])\n  (let ((weights (~(1)<fold> m)))\n    (<pair> (<grid> m) weights)))",
    ),
    ("lifted", Kind::Grid, "(define (@ [m 2])\n  (<whole> (<map> (<grid> m))))"),
    // Values.
    ("data", Kind::Data, "(define @\n  (<whole> <data>))"),
    ("made", Kind::Data, "(define @\n  (<map> (int->float (iota [6]))))"),
    (
        "joined",
        Kind::Data,
        "(define @\n  (let* ((xs (<whole> <data>))\n         (low (take1 xs 2)))\n    (append low [<k> 1.])))",
    ),
    (
        "columns",
        Kind::Data,
        "(define @\n  (let ((m (<grid> (~(0 1)<pair> [1. 2.] (take1 <data> 4)))))\n    (reduce + m)))",
    ),
    // Run-time sizes, functions as arguments, records.
    ("nth", Kind::Sized, "(define (@ [xs 1] [k 0])\n  (index-item (<whole> xs) (% k (length xs))))"),
    (
        "first",
        Kind::Sized,
        "(define (@ [xs 1] [k 0])\n  (let ((ks (int->float (iota [k]))))\n    (+ (<fold> xs) (<fold> (<map> ks)))))",
    ),
    ("over", Kind::Over, "(define (@ f [xs 1])\n  (let ((ys (f (<whole> xs))))\n    (<fold> (<map> ys))))"),
    ("twice", Kind::Over, "(define (@ f [xs 1])\n  (<pair> (<fold> (f xs))\n          (<fold> (f (f xs)))))"),
    ("point", Kind::Point, "(define (@ a b)\n  (record (x (<map> a)) (y (<pair> a b))))"),
    (
        "moved",
        Kind::Point,
        "(define (@ a b)\n  (let ((p (<point> a b)))\n    (with p (x (<map> (field p y))))))",
    ),
    // What nothing uses.
    (
        "ragged",
        Kind::End,
        "(define @\n  (unbox (boxes (n) [float n] [2] ((2) [1. <k>]) ((1) [5.])) (row n)\n    (<fold> (<whole> row))))",
    ),
    ("shown", Kind::End, "(+ (<fold> <data>)\n   (<sized> <data> 3))"),
    (
        "main",
        Kind::End,
        "(entry (@ [m [float rows columns]] [k int])\n  (let ((sums (~(1)<fold> (<grid> m))))\n    (<sized> sums k)))",
    ),
];

/// A definition that a hole may name is one of so many latest of its kind: programs call what is near.
const NEAR: usize = 12;

/// A file of so many definitions.
pub fn file(definitions: usize) -> String {
    forms(definitions).concat()
}

/// The definitions of a file, one after another; the text of each ends a line.
pub fn forms(definitions: usize) -> Vec<String> {
    let mut numbers = Numbers(0);
    let mut names: Vec<(Kind, String)> = vec![];
    let mut out = Vec::with_capacity(definitions);
    for i in 0..definitions {
        let &(stem, kind, template) = match FIRST.get(i) {
            Some(first) => first,
            None => &TEMPLATES[numbers.below(TEMPLATES.len())],
        };
        let name = format!("{stem}{i}");
        let mut form = fill(template, &name, &names, &mut numbers);
        // A blank line now and then, as between the parts of a program.
        form.push_str(if numbers.below(4) == 0 { "\n\n" } else { "\n" });
        out.push(form);
        names.push((kind, name));
    }
    out
}

/// The definition with a number in it changed, which leaves its type as it is; `None` if it has none.
pub fn edited(form: &str) -> Option<String> {
    let quarter = form.find(".25").or_else(|| form.find(".75"))?;
    let (before, after) = form.split_at(quarter);
    let (old, rest) = after.split_at(3);
    let new = if old == ".25" { ".75" } else { ".25" };
    Some([before, new, rest].concat())
}

/// The template with its holes filled.
fn fill(template: &str, name: &str, names: &[(Kind, String)], numbers: &mut Numbers) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['@', '<']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix('@') {
            out.push_str(name);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("<k>") {
            // Quarters: exact, and never an integer.
            out.push_str(&format!("{:?}", (2 * numbers.below(8) + 1) as f64 / 4.0));
            rest = after;
        } else if let Some((hole, kind)) = HOLES.iter().find(|(hole, _)| rest.starts_with(hole)) {
            let near: Vec<&str> =
                names.iter().rev().filter(|(k, _)| k == kind).take(NEAR).map(|(_, n)| n.as_str()).collect();
            out.push_str(near[numbers.below(near.len())]);
            rest = &rest[hole.len()..];
        } else {
            // A comparison.
            out.push('<');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

/// Small numbers in a fixed order: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_file_begins_with_the_shorter() {
        assert!(file(300).starts_with(&file(100)));
    }

    #[test]
    fn every_template_is_used() {
        let all = file(2000);
        // An expression has no name.
        for (stem, ..) in FIRST.iter().chain(&TEMPLATES).filter(|t| t.2.contains('@')) {
            let named = |before: char| all.contains(&format!("{before}{stem}"));
            assert!(named('(') || named(' '), "{stem}");
        }
        assert!(!all.contains(['@', '\t']) && HOLES.iter().all(|(hole, _)| !all.contains(hole)));
    }

    #[test]
    fn an_edit_changes_one_number() {
        assert_eq!(edited("(f 1.5 2.25)").as_deref(), Some("(f 1.5 2.75)"));
        assert_eq!(edited("(f 1.5)"), None);
    }
}

//! Unknown names: near misses, and what other languages call what this one does otherwise.

use super::*;

/// What other languages call it, and what to write here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    // Definitions.
    (
        &["def", "defun", "defn", "fun", "function", "val", "const"],
        "a definition is (define x e) or (define (f x y) e)",
    ),
    (&["\\", "lam"], "a function is written (λ (x) e), or (fn (x) e)"),
    // Going over arrays.
    (
        &["map", "mapcar", "vector-map", "for-each", "foreach", "vmap", "each"],
        "functions meet every item by themselves: (f xs); for rows, rerank: (~(1)f m)",
    ),
    (
        &["for", "do"],
        "functions meet every item by themselves: (f xs); for steps, (loop ((x e) …) while c do next)",
    ),
    (
        &["foldl", "fold-left", "foldl'", "accumulate", "inject"],
        "(fold (λ (x acc) …) init xs): the element comes first",
    ),
    (&["foldr"], "(fold-right (λ (x acc) …) init xs): the element comes first"),
    (
        &["scan", "scanl", "scanl1"],
        "(iscan + xs) has a result for each item; (scan/zero + 0 xs) begins with the zero",
    ),
    (&["cumulative-sum", "cumulative_sum", "prefix-sum"], "running sums are (cumsum xs), or (iscan + xs)"),
    (&["cumulative-product"], "running products are (cumprod xs), or (iscan * xs)"),
    (&["cummax", "running-max"], "running maxima are (iscan max2 xs)"),
    (&["cummin", "running-min"], "running minima are (iscan min2 xs)"),
    (
        &["sapply", "lapply", "vapply", "map2", "zipwith", "eachrow"],
        "functions meet every item by themselves: (f xs ys); for rows, rerank: (~(1)f m)",
    ),
    (&["mapreduce", "transduce"], "a reduction of what a function gives is (reduce + (f xs))"),
    (&["prod"], "the product is (product xs)"),
    (&["+/"], "the sum is (reduce + xs), or (sum xs)"),
    (&["*/", "×/"], "the product is (reduce * xs), or (product xs)"),
    (&["zip"], "(values x y) of single items, lifted: ((λ ([x 0] [y 0]) (values x y)) xs ys)"),
    (&["enumerate"], "the positions are (iota [(length xs)])"),
    (&["apply"], "a function of two over an array is (reduce f xs)"),
    // Making arrays.
    (
        &["range", "arange", "i.", "⍳", "seq", "seq-len", "seq_len", "indices", "eachindex"],
        "the numbers 0 … n-1 are (iota [n])",
    ),
    (&["linspace"], "n numbers from a in steps of d are (+ a (* d (int->float (iota [n]))))"),
    (&["list", "vector", "vec", "make-vector"], "an array is written in brackets: [1 2 3]"),
    (&["quote", "'"], "there is no quoting: an array is written in brackets, [1 2 3]"),
    (&["zeros"], "(replicate{| [2 3] []} 0) is a 2 × 3 array of zeros"),
    (
        &["ones", "full", "fill"],
        "(replicate{| [2 3] []} 1.0) is a 2 × 3 array of ones; beside another array (replicate 1.0) has its shape",
    ),
    (
        &["repeat", "rep"],
        "(replicate{| [3] []} x) is three copies of x; (replicate counts xs) repeats each item",
    ),
    (&["eye"], "the unit matrix is (identity n)"),
    // Parts.
    (
        &[
            "nth",
            "ref",
            "array-ref",
            "vector-ref",
            "list-ref",
            "string-ref",
            "elt",
            "aref",
            "get",
            "at",
            "item",
        ],
        "(index-item xs i) takes an item, (index m [i j]) one of a matrix",
    ),
    (&["car", "first", "hd"], "the first item is (head xs)"),
    (&["cdr", "rest", "tl"], "all but the first item are (tail xs)"),
    (&["init"], "all but the last item are (butlast xs)"),
    (&["second", "cadr"], "the second item is (index-item xs 1)"),
    (
        &["slice", "subseq", "substring", "subvec"],
        "a part is (subarray xs [start] [size]), or take1 and drop1",
    ),
    (
        &["cons", "push", "append!", "conj", "snoc"],
        "(append [x] xs) puts x before xs, (append xs [x]) after them",
    ),
    (
        &["concatenate", "++", "cat", "vstack", "vcat", "rbind", "string-append", "strcat"],
        "(append a b) joins two arrays along the first axis",
    ),
    (&["hstack", "hcat", "column-stack", "cbind"], "(~(1 1)append a b) joins two matrices side by side"),
    (&["flip", "reversed", "rev", "|."], "the other way round is (reverse xs)"),
    (
        &["squeeze", "expand-dims"],
        "(reshape [n m] xs) gives another shape; [xs] adds an axis, (head xs) takes one away",
    ),
    // What arrays are.
    (&["nrow"], "the number of rows is (length m)"),
    (&["ncol"], "the number of columns is (length (head m)), or (index-item (shape m) 1)"),
    (
        &["len", "nchar", "string-length", "vector-length", "count", "tally"],
        "the number of items is (length xs)",
    ),
    (&["ndim"], "the number of axes is (rank xs)"),
    (&["null?", "empty?", "isempty"], "whether there are no items is (= (length xs) 0)"),
    (&["equal?", "eq?", "eqv?", "array-equal", "≡"], "whether all items agree is (all (= a b))"),
    // Text.
    (&["string=?", "streq", "strcmp"], "whether two texts of any length are the same is (text=? a b)"),
    (
        &["str", "string", "to-string", "tostring", "show", "itoa", "repr", "⍕"],
        "a number as text is (number->string x)",
    ),
    (
        &["format", "sprintf", "fixed", "number->fixed"],
        "a float with two digits behind the point is (number->string/digits x 2); (pad-left s 8 #\\space) fills up",
    ),
    (
        &["atoi", "parse-int", "parseint", "as.integer", "parse"],
        "(string->int s) has whether s is a whole number, and which",
    ),
    (
        &["atof", "parse-float", "parsefloat", "as.numeric", "genfromtxt"],
        "(string->number s) has whether s is a number, and which float",
    ),
    (&["strip", "trimws"], "a text without the space around it is (trim s)"),
    (&["lstrip"], "a text without the space before it is (trim-left s)"),
    (&["rstrip", "chomp"], "a text without the space behind it is (trim-right s)"),
    (
        &["strsplit", "string-split", "tokenize", "split-string"],
        "(words s) has what is between spaces, (split-by s #\\,) what is between commas",
    ),
    (&["splitlines", "unlines"], "(lines s) has the lines of a text, (join ls \"\\n\") puts them together"),
    (&["unwords", "intercalate", "string-join", "str-join", "paste"], "(join ws \" \") puts texts together"),
    (
        &["upper", "toupper", "char-upcase", "string-upcase", "upcase", "to-upper"],
        "capital letters are (uppercase s)",
    ),
    (
        &["lower", "tolower", "char-downcase", "string-downcase", "downcase", "to-lower"],
        "small letters are (lowercase s)",
    ),
    (&["isdigit", "char-numeric?", "numeric?"], "whether a character is a digit is (digit? c)"),
    (&["isalpha", "char-alphabetic?", "alphabetic?"], "whether a character is a letter is (letter? c)"),
    (&["isspace", "char-whitespace?", "space?"], "whether a character is a space is (whitespace? c)"),
    (&["startswith", "string-prefix?", "prefix?"], "whether s begins with p is (starts-with? s p)"),
    (&["endswith", "string-suffix?", "suffix?"], "whether s ends with p is (ends-with? s p)"),
    (&["contains", "string-contains", "grepl", "includes"], "whether s contains p is (contains? s p)"),
    (&["strpos", "string-index", "⍷"], "(find s p) has all places where p is in s"),
    (&["replace", "gsub", "string-replace", "substitute"], "(replace-all s from to) replaces each from"),
    (&["zfill", "rjust", "lpad"], "(pad-left s width #\\0) fills up on the left"),
    (&["ljust", "rpad"], "(pad-right s width #\\space) fills up on the right"),
    // Choice.
    (
        &["ifelse", "if-else", "choose"],
        "(select flags yes no) chooses for each element; (filter flags xs) keeps items",
    ),
    (
        &["nonzero", "findall", "flatnonzero", "argwhere", "which", "⍸", "I."],
        "the positions of the true flags are (where flags)",
    ),
    (
        &["findfirst", "index-of", "indexof", "⍳⍨"],
        "the first place of x is (argmax (bool->int (= xs x))), if there is one",
    ),
    (&["compress", "keep", "remove-if-not"], "(filter flags xs) keeps the items whose flag is true"),
    (&["isin", "in1d", "member", "member?", "elem", "∊", "e."], "whether x is among xs is (any (= x xs))"),
    (
        &["argsort", "sort-by", "sortperm", "order", "⍋", "/:"],
        "(grade xs) is the order that sorts; (index-item ys (grade xs)) sorts by xs",
    ),
    (&["sorted"], "(sort xs) is in order, (sort > xs) from the greatest on"),
    (&["⍒", "\\:"], "(grade > xs) is the order that sorts from the greatest on"),
    (
        &["counter", "frequencies", "value-counts", "tabulate", "table"],
        "(run-lengths (sort xs)) has the different items and how often each occurs; (bincount xs) counts numbers from 0",
    ),
    (
        &["hist", "reduce-by-index", "reduce_by_index", "accumarray"],
        "(histogram k xs) counts numbers below k; (scatter/combine + dest at xs) adds at places",
    ),
    (
        &["rle", "inverse-rle"],
        "(run-lengths xs) has the items and lengths of runs; (replicate lengths items) is the way back",
    ),
    (
        &["groupby", "group-with", "tapply", "⌸"],
        "(group-by keys xs) has the different keys and the items of each in a box",
    ),
    (&["distinct", "nub", "dedup", "~.", "unique-items"], "the different items are (unique xs)"),
    (&["union1d", "union"], "the items of both are (unique (append a b))"),
    (
        &["bisect", "bisect-left", "lower-bound", "digitize", "searchsortedfirst"],
        "(searchsorted xs v) is where v goes in the sorted xs",
    ),
    (
        &["bisect-right", "upper-bound", "searchsortedlast"],
        "(searchsorted/right xs v) is where v goes in the sorted xs, after its equals",
    ),
    (
        &["topk", "top-k", "nlargest", "argpartition"],
        "the k greatest are (take1 (sort > xs) k), their places (take1 (grade > xs) k)",
    ),
    (&["nsmallest"], "the k least are (take1 (sort xs) k)"),
    (&["case", "match", "switch"], "(cond (c e) … (else e)) chooses one of several"),
    (&["when", "unless"], "(if c e e) has both branches, since it has a value in either case"),
    (&["else", "elif"], "`else` ends a cond: (cond (c e) … (else e))"),
    // Numbers and truth.
    (&["mod", "modulo", "remainder", "rem"], "the remainder is (% a b)"),
    (&["even?", "even", "iseven"], "whether n is even is (= (% n 2) 0)"),
    (&["odd?", "odd", "isodd"], "whether n is odd is (= (% n 2) 1)"),
    (&["div", "//", "idiv", "floor-divide"], "integer division is (quotient a b)"),
    (&["pow", "power", "^"], "a power is (expt base exponent)"),
    (&["==", "eq"], "whether two are equal is (= a b)"),
    (&["/=", "<>", "≠", "neq"], "whether two differ is (!= a b)"),
    (&["≤"], "at most is (<= a b)"),
    (&["≥"], "at least is (>= a b)"),
    (&["&&", "&", "∧"], "both is (and a b); it lifts"),
    (&["∨"], "either is (or a b); it lifts"),
    (&["!", "¬"], "the opposite is (not a)"),
    (&["inc", "1+"], "one more is (add1 x)"),
    (&["dec", "1-"], "one less is (sub1 x)"),
    (&["neg", "minus", "−"], "the negative is (negate x)"),
    (&["ln"], "the natural logarithm is (log x)"),
    (&["ceil"], "rounding up is (ceiling x)"),
    (&["sqr"], "x times x is (square x)"),
    (&["avg", "average"], "the average is (mean xs)"),
    (&["stdev", "stddev", "sd"], "(std xs) divides by the number of items, (std/1 xs) by one less"),
    (&["variance"], "(var xs) divides by the number of items, (var/1 xs) by one less"),
    (&["percentile", "percentiles"], "(quantile xs 0.9) is the 90th percentile"),
    (
        &["cov", "cor", "corr", "corrcoef"],
        "(mean (* (- x (mean x)) (- y (mean y)))) is the covariance; divide it by (* (std x) (std y)) for the correlation",
    ),
    (&["nansum", "nanmean"], "(filter (not (isnan xs)) xs) keeps the numbers: sum or average those"),
    (&["nan?", "nan-p", "isNaN", "is.nan", "is-nan"], "whether x is no number is (isnan x)"),
    (&["isfinite", "is.finite", "finite?"], "whether x is finite is (not (or (isnan x) (isinf x)))"),
    (
        &["rand", "random", "uniform", "runif", "rnd"],
        "(random/uniform key [n]) has n numbers from 0 to below 1, the same for the same key",
    ),
    (
        &["randn", "rnorm", "normal", "gauss"],
        "(random/normal key [n]) has n numbers of mean 0 and variance 1, the same for the same key",
    ),
    (
        &["randint", "random-integer", "integers"],
        "(random/ints key [n] low high) has n integers from low to below high",
    ),
    (&["absolute", "fabs", "magnitude"], "the size of a number is (abs x)"),
    (&["exp2"], "a power of two is (expt 2.0 x)"),
    (
        &["cbrt"],
        "the cube root of a float that is not negative is (expt x (/ 1 3)); an int is cast first: (cast float x)",
    ),
    (&["deg2rad", "radians"], "an angle in radians is (* x (/ pi 180))"),
    (&["rad2deg", "degrees"], "an angle in degrees is (* x (/ 180 pi))"),
    (&["maximum"], "of two numbers (max2 a b), of an array (max xs)"),
    (&["minimum"], "of two numbers (min2 a b), of an array (min xs)"),
    (&["clamp"], "between two bounds is (clip x low high)"),
    (
        &["matmul", "@", "mm", "m*v", "mv"],
        "a product of matrices is (m*m a b); a matrix times a vector, (dot a v)",
    ),
    (&["inner", "vdot", "inner-product"], "the inner product is (dot x y)"),
    (&["inv", "matrix-inverse", "⌹"], "the inverse of a matrix is (inverse m); (solve a b) solves equations"),
    (
        &["lstsq", "least-squares", "polyfit", "lm", "ols"],
        "the x for which (dot a x) is nearest to b is (solve (m*m (transpose a) a) (dot (transpose a) b))",
    ),
    (&["norm", "l2norm"], "the length of a vector is (sqrt (sum (square v)))"),
    (
        &["diag", "diagonal"],
        "the diagonal of m is ((λ ([row 1] [i 0]) (index-item row i)) m (iota [n])); (* d (identity n)) has d as its own",
    ),
    (&["meshgrid", "⍳2"], "(cartesian xs ys) has all pairs; (outer f xs ys) applies a function to each"),
    (&["roll", "circshift", "⌽"], "turned round by k places is (rotate xs [(- 0 k)])"),
    (
        &["swapaxes", "moveaxis", "permute", "permutedims"],
        "(transpose/axes xs [1 0 2]) has the axes in that order",
    ),
    (&["gradient"], "differences of neighbours are (diff xs)"),
    (&["exact->inexact", "toFloat", "to-float"], "(int->float n) makes a float of an int"),
    (&["astype", "int", "float"], "(cast float x) converts to a type, (cast int x) to another"),
    // Steps and names.
    (&["begin", "progn"], "a body holds definitions and ends with its value: (define x e) … e"),
    (
        &["set!", "setq", ":=", "<-"],
        "names do not change: define a new one, or use (loop ((x e) …) while c do next)",
    ),
    (&["letrec"], "a definition may call itself, in a body too: (define (f x) … (f …) …)"),
    (&["define-values"], "several values are named by (let-values (((a b) e)) …)"),
    (&["let*-values"], "one let-values in another: (let-values (((a b) e)) (let-values (((c d) f)) …))"),
    (&["return"], "a function gives the value of its last expression: write that alone"),
    (
        &["display", "print", "println", "printf", "echo"],
        "a program prints the value of its last expression: write that alone",
    ),
    (
        &["nil", "null", "None"],
        "there is no null: use an empty array, (array [0] int), or a flag beside the value",
    ),
];

/// A definition with so many errors gets no more suggestions: what a program is told ends there.
const MOST_SEARCHES: usize = 100;

/// What the name is here, if other languages have it.
pub fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(names, _)| names.contains(&name)).map(|(_, help)| *help)
}

impl Checker<'_> {
    pub(in crate::infer) fn unknown_name<T>(&mut self, name: &Name, node: NodeId) -> Check<T> {
        // Of several near misses, one that begins alike; every short name is near to some other. Of what is not shown
        // there is no need to look for any.
        let short = name.as_str().chars().count() < 3;
        let global = self.env.names();
        let mut candidates: Vec<&Name> = Vec::new();
        if !short && self.diagnostics.len() < MOST_SEARCHES {
            let all = self.scope.iter().rev().map(|((_, n), _)| n).chain(global.iter());
            candidates.extend(all.filter(|n| near(n.as_str(), name.as_str())));
        }
        let first = name.as_str().chars().next();
        let near_one = candidates
            .iter()
            .find(|n| n.as_str().chars().next() == first)
            .or(candidates.first())
            .map(|n| (*n).clone());
        let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no `{name}`"))
            .primary(Loc::Node(node), "unknown name");
        let typed_first = self.scope.iter().find_map(|((_, n), b)| {
            let base = BaseTy::ALL.iter().any(|b| b.name() == n.as_str());
            (base && matches!(b, Binding::Local(_))).then_some(n)
        });
        self.fail(match (elsewhere(name.as_str()), near_one) {
            (Some(help), _) => d.help(help),
            _ if name.as_str().starts_with('\'') => {
                d.help("a text stands between double quotes, \"abc\", and a character is written #\\a")
            }
            _ if name.as_str().starts_with('~') => {
                d.help("a rerank is written ~(1)f, with its ranks in parentheses")
            }
            _ if typed_first.is_some() => d.help(format!(
                "in a parameter, the name comes first: [{name} {}]",
                typed_first.map_or("int", |n| n.as_str())
            )),
            (None, Some(n)) => {
                let fix = Fix::replace(format!("write `{n}`"), Loc::Node(node), n.as_str());
                d.help(format!("did you mean `{n}`?")).fix(fix)
            }
            (None, None) => d.help("define it, or check the spelling"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ELSEWHERE;

    #[test]
    fn no_name_has_two_helps() {
        let mut names: Vec<_> = ELSEWHERE.iter().flat_map(|(names, _)| *names).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

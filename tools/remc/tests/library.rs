//! The prelude's documentation is its test: each example in a comment of `prelude/*.remora` gives the
//! value that stands behind its arrow, and each name has sentences, examples and a group.

#[path = "support/examples.rs"]
mod examples;

use examples::run;
use remc::doc;
use remc_driver::{Database, Session};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_example_has_its_value() {
    let mut session = Session::new(Database::default());
    let entries = doc::prelude(&session);
    let all = entries.iter().flat_map(|e| &e.examples);
    let programs: Vec<String> = all.map(|e| format!("{}\n; ⇒ {}", e.source, e.value)).collect();
    assert!(programs.len() > 250, "{} examples", programs.len());
    let mut wrong = vec![];
    for program in &programs {
        let forms = run(&mut session, Path::new("."), program);
        assert_eq!(forms.len(), 1, "an example is one expression: {program}");
        wrong.extend(forms.iter().filter_map(examples::Form::mistake));
    }
    let count = programs.len();
    assert!(wrong.is_empty(), "{} of {count} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A claim that is wrong is noticed: the test above can fail.
#[test]
fn wrong_claims_are_noticed() {
    let mut session = Session::new(Database::default());
    let wrong =
        ["(+ 1 2) ; ⇒ 4", "(+ 1 #t) ; ⇒ 2", "(+ 1 #t)", "(+ 1 2) ; ⇒ error E0402", "(define x 1) ; ⇒ 1"];
    let wrong = wrong.into_iter().chain([
        "(index [1] [5]) ; ⇒ error R0002",
        "(index [1] [5])",
        "(define x (+ 1 #t))",
    ]);
    for program in wrong {
        let forms = run(&mut session, Path::new("."), program);
        assert!(forms.iter().any(|f| f.mistake().is_some()), "{program} is accepted: {forms:?}");
    }
    let right = [
        "(+ 1 2) ; ⇒ 3",
        "(+ 1 #t) ; ⇒ error E0401",
        "(define x 1) x\n; ⇒ 1",
        "(index [1] [5]) ; ⇒ error R0001",
    ];
    for program in right {
        let forms = run(&mut session, Path::new("."), program);
        assert!(forms.iter().all(|f| f.mistake().is_none()), "{program} is refused: {forms:?}");
    }
}

/// Sentences, at least one example and a group of the index, for each name of the prelude.
#[test]
fn every_name_is_documented() {
    let session = Session::new(Database::default());
    let entries = doc::prelude(&session);
    let defined: usize = session.prelude().iter().map(|f| session.defs(*f).len()).sum();
    assert_eq!(entries.len(), defined, "each definition is documented");
    let mut missing = vec![];
    for e in &entries {
        let sentence = e.paragraphs.first().is_some_and(|p| p.ends_with('.'));
        let group = doc::GROUPS.contains(&e.heading.group.as_str());
        if !sentence || e.examples.is_empty() || !group {
            missing.push((&e.name, sentence, e.examples.len(), &e.heading));
        }
    }
    assert!(missing.is_empty(), "name, whether there is a sentence, examples, heading: {missing:#?}");
    for group in doc::GROUPS {
        assert!(!doc::grouped(&entries, group).is_empty(), "`{group}` is empty");
    }
}

/// The names that programs may rely on, by group: what is not here may be added, what is stays.
const PROMISED: [(&str, &str); 15] = [
    (
        "arithmetic",
        "+ - * / quotient % ** expt min2 max2 negate abs add1 sub1 square square-root sqrt exp log log2 sin cos tan \
         asin acos atan atan2 arcsin arccos arctan sinh cosh tanh floor ceiling round truncate sign gcd +. -. *. /. \
         erf isnan isinf clip hypot log10 log1p expm1",
    ),
    (
        "logic and bits",
        "= != < <= > >= zero? positive? negative? and or not xor bit-and bit-or bit-xor bit-not shl shr popcount \
         char=? char<? <. <=. >. >=.",
    ),
    ("conversion", "int->float float->int int->bool bool->int char->int int->char"),
    (
        "shape",
        "length shape rank size ravel reshape flatten transpose transpose/axes reverse rotate append append* itemize \
         with-shape indices-of indices-of/1 indices-of/2 indices-of/3 indices-of/4 indices-of/5 indices-of/6 \
         indices-of/7 indices-of/8 indices-of/9 iota iota0 iota1 iota2 iota3 iota4 iota5 iota6 iota7 iota8 iota9 \
         iota/w replicate window stack pad kron cartesian combinations collect streamed produce",
    ),
    (
        "parts",
        "head tail last butlast take drop take-right drop-right take1 drop1 drop-right1 index index-item index2d \
         subarray subarray/wrap subarray/fill subvector scatter scatter/into scatter/combine gather tile",
    ),
    ("reduction", "reduce reduce/zero reduce-init reduce/1 sum product any all min max argmin argmax mean"),
    (
        "scan",
        "iscan iscan/zero iscan-init scan/zero scan-init open-scan/zero open-scan-init iscan/right iscan/zero/right \
         iscan-init/right scan/zero/right scan-init/right open-scan/zero/right open-scan-init/right \
         cumsum cumprod diff",
    ),
    ("serial", "fold fold/1 fold-right trace trace-right iterate while recursion-depth"),
    (
        "choice and order",
        "select filter partition replicate/counts grade sort unique histogram searchsorted searchsorted/right where \
         count-if bincount run-lengths group-by",
    ),
    ("segments", "segments concat split"),
    ("linear algebra", "dot v*m m*m outer identity solve det inverse convolve correlate"),
    ("statistics", "median quantile var var/1 std std/1"),
    ("random", "random/bits random/uniform random/normal random/ints"),
    (
        "text",
        "whitespace? digit? letter? uppercase lowercase trim trim-left trim-right split-by words lines join pad-left \
         pad-right text=? starts-with? ends-with? find contains? replace-all number->string number->string/digits \
         string->int string->number",
    ),
    ("constants", "pi e"),
];

#[test]
fn promised_names_are_in_their_groups() {
    let session = Session::new(Database::default());
    let entries = doc::prelude(&session);
    let mut missing = vec![];
    for (group, names) in PROMISED {
        for name in names.split_whitespace() {
            if !entries.iter().any(|e| e.name == name && e.heading.group == group) {
                missing.push((group, name));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// A section for each form that the reader knows, under each of its spellings, with its grammar and with
/// examples; and no section of anything else.
#[test]
fn every_form_has_a_section() {
    use remc_syntax::forms::{FORMS, SPELLINGS, TYPE_HEADS};
    let mut forms: BTreeSet<&str> = FORMS.iter().map(|f| f.keyword).collect();
    forms.extend(TYPE_HEADS);
    forms.extend(SPELLINGS.iter().map(|(spelling, _)| spelling));
    forms.extend(remc_base::BaseTy::ALL.iter().map(|b| b.name()));
    forms.extend(["i64", "f64"]);
    // What is no keyword, as its section calls it.
    let others = ["x", "42", "1.5", "#t", "#\\a", "\"text\"", "[e …]", "(f e …)", "f{τ … | i …}", "~(r …)f"];
    forms.extend(others);
    forms.extend(["[τ i …]", "++", ";", "#|", "#;"]);
    let named: BTreeSet<&str> = doc::forms::names().collect();
    let without: Vec<_> = forms.difference(&named).collect();
    let unknown: Vec<_> = named.difference(&forms).collect();
    assert!(
        without.is_empty() && unknown.is_empty(),
        "without a section: {without:?}; sections of: {unknown:?}"
    );
    assert_eq!(doc::forms::names().count(), named.len(), "a form has two sections");
    for (names, section) in doc::forms::sections() {
        assert!(section.contains("```remora\n") && section.contains("; ⇒ "), "no example of {names:?}");
        let keyword = names.iter().any(|n| FORMS.iter().any(|f| f.keyword == *n) || TYPE_HEADS.contains(n));
        assert!(!keyword || section.contains("```text\n"), "no grammar of {names:?}");
    }
    for word in doc::forms::in_words() {
        assert!(doc::forms::section(word).is_some(), "{word} leads nowhere");
    }
}

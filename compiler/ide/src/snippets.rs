//! The forms of the language with places to fill in.

use remc_syntax::forms::Place;

/// A form as it is begun: the keyword, where it may stand, and the text behind an open parenthesis, without the closing
/// one.
pub const SNIPPETS: &[(&str, Place, &str)] = &[
    ("define", Place::Definition, "define (${1:name} ${2:x})\n  ${0}"),
    ("entry", Place::TopLevel, "entry (${1:main} [${2:xs} [${3:float} ${4:n}]])\n  ${0}"),
    ("define-type", Place::TopLevel, "define-type ${1:Name} ${0:[float 3]}"),
    ("import", Place::TopLevel, "import \"${0}\""),
    ("λ", Place::Expression, "λ (${1:x}) ${0}"),
    ("let", Place::Expression, "let ((${1:x} ${2:value}))\n  ${0}"),
    ("let*", Place::Expression, "let* ((${1:x} ${2:value}))\n  ${0}"),
    ("let-values", Place::Expression, "let-values (((${1:a} ${2:b}) ${3:pair}))\n  ${0}"),
    ("if", Place::Expression, "if ${1:condition} ${2:then} ${0:otherwise}"),
    ("cond", Place::Expression, "cond (${1:condition} ${2:value})\n      (else ${0})"),
    ("loop", Place::Expression, "loop ((${1:x} ${2:first}))\n  while ${3:condition}\n  do ${0}"),
    ("box", Place::Expression, "box ${0}"),
    ("boxes", Place::Expression, "boxes (${1:n}) [${2:int} ${1:n}] [${3:2}] ((${4:3}) ${0})"),
    ("unbox", Place::Expression, "unbox ${1:boxes} (${2:xs} ${3:n})\n  ${0}"),
    ("lift", Place::Expression, "lift [${1:n} ${2:count}]\n  ${0}"),
    ("lift-int", Place::Expression, "lift-int [${1:n} ${2:count}]\n  ${0}"),
    ("values", Place::Expression, "values ${1:a} ${0:b}"),
    ("proj", Place::Expression, "proj ${1:0} ${0:pair}"),
    ("record", Place::Expression, "record (${1:field} ${0:value})"),
    ("field", Place::Expression, "field ${1:record} ${0:label}"),
    ("with", Place::Expression, "with ${1:record} (${2:field} ${0:value})"),
    ("array", Place::Expression, "array [${1:2 3}] ${0}"),
    ("frame", Place::Expression, "frame [${1:2}] ${0}"),
    (":", Place::Expression, ": ${1:value} ${0:float}"),
    ("cast", Place::Expression, "cast ${1:float} ${0:value}"),
    ("as-shape", Place::Expression, "as-shape [${1:n}] ${0:value}"),
    ("reify-dimension", Place::Expression, "reify-dimension ${0:n}"),
    ("reify-shape", Place::Expression, "reify-shape ${0:@s}"),
    ("t-app", Place::Expression, "t-app ${1:f} ${0:float}"),
    ("i-app", Place::Expression, "i-app ${1:f} ${0:3}"),
];

//! The error codes of the reader. Each has its page, `testsuite/diagnostics/<code>.md`.

use remc_base::Code;

/// Too many errors in one file; the rest is not shown.
pub const TOO_MANY: Code = Code("E0100");
/// A closing bracket that nothing opened.
pub const UNEXPECTED_CLOSER: Code = Code("E0101");
/// An opening bracket that nothing closes.
pub const UNCLOSED: Code = Code("E0102");
/// A bracket closed by one of another kind.
pub const MISMATCHED: Code = Code("E0103");
/// Brackets nested more deeply than the reader follows.
pub const TOO_DEEP: Code = Code("E0104");
/// A character, or a `#` form, that means nothing here.
pub const BAD_CHARACTER: Code = Code("E0105");
/// A wrong escape in a string, or a wrong character literal.
pub const BAD_ESCAPE: Code = Code("E0106");
/// A string without its closing quote.
pub const UNTERMINATED_STRING: Code = Code("E0107");
/// A block comment without its `|#`.
pub const UNTERMINATED_COMMENT: Code = Code("E0108");
/// A number that is spelled wrongly.
pub const BAD_NUMBER: Code = Code("E0109");
/// A number outside the range of its type.
pub const NUMBER_RANGE: Code = Code("E0110");
/// Braces without the bar between types and indices, or with two.
pub const BRACES_BAR: Code = Code("E0111");
/// Braces or a bar in the wrong place.
pub const BRACES_PLACE: Code = Code("E0112");
/// `[]`, which has no element type.
pub const EMPTY_BRACKET: Code = Code("E0113");
/// A form whose parts are not what its grammar says.
pub const MALFORMED: Code = Code("E0114");
/// A keyword, or a type form, used as a value.
pub const KEYWORD_AS_VALUE: Code = Code("E0115");
/// A keyword bound as a name.
pub const KEYWORD_BOUND: Code = Code("E0116");
/// A definition where an expression is wanted.
pub const MISPLACED_DEFINITION: Code = Code("E0117");
/// A function without parameters.
pub const NO_PARAMETERS: Code = Code("E0118");
/// An `array` or `frame` whose dims do not say how many elements it has.
pub const ARRAY_COUNT: Code = Code("E0119");
/// An expression in a body whose value would be lost.
pub const LOST_VALUE: Code = Code("E0120");
/// `~(…)` or `#;` with nothing after it.
pub const NOTHING_AFTER: Code = Code("E0121");
/// `()`
pub const EMPTY_FORM: Code = Code("E0122");
/// What is written where a type is wanted is none.
pub const BAD_TYPE: Code = Code("E0123");
/// What is written where an index is wanted is none.
pub const BAD_INDEX: Code = Code("E0124");
/// `cond` without its `else`.
pub const COND_ELSE: Code = Code("E0125");
/// `primitive` outside the prelude.
pub const PRIMITIVE: Code = Code("E0126");
/// One name bound twice by one form.
pub const BOUND_TWICE: Code = Code("E0127");
/// What is written where a rank is wanted is none.
pub const BAD_RANK: Code = Code("E0129");
/// A body that ends with a definition.
pub const NO_RESULT: Code = Code("E0130");

/// Every code, in order.
pub const ALL: [Code; 30] = [
    TOO_MANY,
    UNEXPECTED_CLOSER,
    UNCLOSED,
    MISMATCHED,
    TOO_DEEP,
    BAD_CHARACTER,
    BAD_ESCAPE,
    UNTERMINATED_STRING,
    UNTERMINATED_COMMENT,
    BAD_NUMBER,
    NUMBER_RANGE,
    BRACES_BAR,
    BRACES_PLACE,
    EMPTY_BRACKET,
    MALFORMED,
    KEYWORD_AS_VALUE,
    KEYWORD_BOUND,
    MISPLACED_DEFINITION,
    NO_PARAMETERS,
    ARRAY_COUNT,
    LOST_VALUE,
    NOTHING_AFTER,
    EMPTY_FORM,
    BAD_TYPE,
    BAD_INDEX,
    COND_ELSE,
    PRIMITIVE,
    BOUND_TWICE,
    BAD_RANK,
    NO_RESULT,
];

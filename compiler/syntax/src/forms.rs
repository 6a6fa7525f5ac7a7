//! The forms of the language: keyword and grammar, as messages show them.
//!
//! A keyword is one in head position alone; it can be neither a value nor bound.

/// Where a form may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Expression,
    /// The top level of a file alone.
    TopLevel,
    /// The top level and the start of a body.
    Definition,
    Type,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    pub keyword: &'static str,
    pub grammar: &'static str,
    pub place: Place,
}

macro_rules! forms {
    ($($keyword:literal $place:ident $grammar:literal)*) => {
        /// Every form, the types' too.
        pub const FORMS: &[Form] =
            &[$(Form { keyword: $keyword, grammar: $grammar, place: Place::$place }),*];
    };
}

forms! {
    "define" Definition "(define x e)`, `(define x : τ e)` or `(define (f p …) e …)"
    "define-type" TopLevel "(define-type T τ)"
    "import" TopLevel "(import \"file.remora\")"
    "entry" TopLevel "(entry (name p …) : τ e …)"
    "primitive" TopLevel "(primitive (name{t … | i …} p …) : τ)"
    "array" Expression "(array [d …] e …)` or `(array [d …] type)"
    "frame" Expression "(frame [d …] e …)` or `(frame [d …] type)"
    "t-app" Expression "(t-app e τ …)"
    "i-app" Expression "(i-app e i …)"
    "λ" Expression "(λ (p …) e)` or `(λ (p …) : τ e)"
    "Tλ" Expression "(Tλ (t …) e)"
    "Iλ" Expression "(Iλ (i …) e)"
    "let" Expression "(let ((x e) …) e)"
    "let*" Expression "(let* ((x e) …) e)"
    "let-values" Expression "(let-values (((x …) e) …) e)"
    ":" Expression "(: e τ)"
    "if" Expression "(if condition then else)"
    "cond" Expression "(cond (condition e) … (else e))"
    "box" Expression "(box ((i index) …) τ e)` or `(box e)"
    "boxes" Expression "(boxes (i …) τ [d …] ((index …) e) …)"
    "unbox" Expression "(unbox e (x i …) … body)"
    "lift" Expression "(lift [d e] body)"
    "lift-int" Expression "(lift-int [d e] body)"
    "values" Expression "(values e …)"
    "proj" Expression "(proj position e)"
    "record" Expression "(record (label e) …)"
    "field" Expression "(field e label)"
    "with" Expression "(with e (label e) …)"
    "reify-dimension" Expression "(reify-dimension d)"
    "reify-shape" Expression "(reify-shape s)"
    "as-shape" Expression "(as-shape [i …] e)"
    "cast" Expression "(cast τ e)"
    "loop" Expression "(loop ((x e) …) while condition do e)"
    "→" Type "(→ (τ …) τ)"
    "∀" Type "(∀ (t …) τ)"
    "Π" Type "(Π (i …) τ)"
    "Σ" Type "(Σ (i …) τ)"
}

/// The form of a keyword.
pub fn form(keyword: &str) -> Option<&'static Form> {
    FORMS.iter().find(|f| f.keyword == keyword)
}

/// Spellings of keywords without Greek letters.
pub const SPELLINGS: [(&str, &str); 8] = [
    ("fn", "λ"),
    ("lambda", "λ"),
    ("t-fn", "Tλ"),
    ("i-fn", "Iλ"),
    ("->", "→"),
    ("Forall", "∀"),
    ("Pi", "Π"),
    ("Sigma", "Σ"),
];

/// What a type in parentheses begins with.
pub const TYPE_HEADS: [&str; 11] =
    ["→", "∀", "Π", "Σ", "A", "Arr", "Tuple", "Record", "Quot", "Val", "Stream"];

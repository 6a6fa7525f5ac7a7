use super::*;
use crate::text::print;

fn vector(ty: BaseTy) -> ArrTy {
    ArrTy::new(AtomTy::Base(ty), Shape::of_dims([Dim::rigid(IVar::dim(0, "n"))]))
}

fn ragged() -> AtomTy {
    let n = IVar::dim(0, "n");
    AtomTy::sigma(vec![n.clone()], ArrTy::new(AtomTy::INT, Shape::of_dims([Dim::rigid(n)])))
}

fn shown(text: &str, wanted: &ArrTy) -> String {
    match read(text, wanted) {
        Ok(v) => print(&v),
        Err(LiteralError::Mismatch(m)) => format!("found {m}"),
        Err(LiteralError::NotALiteral(m)) => format!("no literal: {m}"),
        Err(LiteralError::Syntax(_)) => "syntax".into(),
    }
}

#[test]
fn numbers_take_the_wanted_type() {
    assert_eq!(shown("[1 2 3]", &vector(BaseTy::F32)), "[1.0 2.0 3.0]");
    assert_eq!(shown("[1 2 300]", &vector(BaseTy::U8)), "found 300, which u8 cannot hold (0 to 255)");
    assert_eq!(shown("[1.5]", &vector(BaseTy::I64)), "found the float 1.5, which is not of type int");
    assert_eq!(shown("[1e300]", &vector(BaseTy::F32)), "found 1e300, which is past the largest f32");
    assert_eq!(shown("[inf nan -inf]", &vector(BaseTy::F32)), "[inf nan -inf]");
    assert_eq!(shown("[#t #f]", &vector(BaseTy::Bool)), "[#t #f]");
    assert_eq!(shown("\"hey\"", &vector(BaseTy::Char)), "\"hey\"");
    assert_eq!(shown("(array [0] int)", &vector(BaseTy::I64)), "(array [0] int)");
    assert_eq!(shown("(array [0] bool)", &vector(BaseTy::I64)), "found an array of bool instead of int");
}

#[test]
fn shapes_are_checked() {
    let v = vector(BaseTy::I64);
    assert_eq!(shown("5", &v), "found a scalar, of rank 0 instead of rank 1");
    assert_eq!(shown("[[1]]", &v), "found an array of shape [1 1], of rank 2 instead of rank 1");
    assert_eq!(shown("[[1 2] [3]]", &v), "found siblings of shapes [2] and [1]");
    let three = ArrTy::new(AtomTy::INT, Shape::of_sizes(&[3]));
    assert_eq!(
        shown("[1 2]", &three),
        "found an array of shape [2], whose axis 0 has 2 elements instead of 3"
    );
}

/// `[]` has the type that is wanted, and the sizes, if these are known.
#[test]
fn empty_brackets_take_the_wanted_type() {
    assert_eq!(shown(" [] ", &vector(BaseTy::I64)), "(array [0] int)");
    assert_eq!(shown("[ ]", &vector(BaseTy::F32)), "(array [0] f32)");
    assert_eq!(shown("[]", &vector(BaseTy::Char)), "\"\"");
    let n = || Dim::rigid(IVar::dim(0, "n"));
    let rows = ArrTy::new(AtomTy::INT, Shape::of_dims([n(), n()]));
    assert_eq!(shown("[[] []]", &rows), "(array [2 0] int)");
    assert_eq!(
        shown("[]", &rows),
        "found `[]`, which does not say the size of axis 1; `(array [0 3] int)` does"
    );
    let of_three = ArrTy::new(AtomTy::INT, Shape::of_dims([n(), Dim::constant(3)]));
    assert_eq!(shown("[]", &of_three), "(array [0 3] int)");
    assert_eq!(shown("[[] 1", &rows), "syntax");
    let three = ArrTy::new(AtomTy::INT, Shape::of_sizes(&[3]));
    assert_eq!(shown("[]", &three), "found an array of shape [0], whose axis 0 has 0 elements instead of 3");
    assert_eq!(shown("5", &ArrTy::scalar(AtomTy::INT)), "5");
    assert_eq!(
        shown("[]", &ArrTy::scalar(AtomTy::INT)),
        "found an array of shape [0], of rank 1 instead of rank 0"
    );
    let none = "(box ((n 0)) [int n] (array [0] int))";
    assert_eq!(shown("(box [])", &ArrTy::scalar(ragged())), none);
    assert_eq!(shown("[]", &ArrTy::scalar(ragged())), none);
    let (m, two) = (IVar::dim(0, "n"), ArrTy::new(ragged(), Shape::of_sizes(&[2, 0])));
    let of_three = Shape::of_dims([Dim::rigid(m.clone()), Dim::constant(3)]);
    let pairs = AtomTy::sigma(vec![m], ArrTy::new(AtomTy::INT, of_three));
    assert_eq!(shown("[]", &ArrTy::scalar(pairs)), "(box ((n 0)) [int n 3] (array [0 3] int))");
    assert_eq!(shown("[[] []]", &two), "(array [2 0] (Σ (n) [int n]))");
}

#[test]
fn boxes_read_back() {
    let one = ArrTy::scalar(ragged());
    assert_eq!(shown("(box ((n 2)) [int n] [1 2])", &one), "(box ((n 2)) [int n] [1 2])");
    assert_eq!(shown("(box [1 2])", &one), "(box ((n 2)) [int n] [1 2])");
    assert_eq!(
        shown("(box ((n 3)) [int n] [1 2])", &one),
        "found a box whose witnesses say [3] and whose value has shape [2]"
    );
    let many = ArrTy::new(ragged(), Shape::of_dims([Dim::rigid(IVar::dim(1, "k"))]));
    let text = "(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))";
    assert_eq!(shown(text, &many), text);
}

/// What could be in a box is one, where boxes are wanted.
#[test]
fn rows_of_lengths_of_their_own_are_boxes() {
    let k = || Shape::of_dims([Dim::rigid(IVar::dim(1, "k"))]);
    let many = ArrTy::new(ragged(), k());
    let want = "(boxes (n) [int n] [3] ((2) [1 2]) ((0) (array [0] int)) ((1) [3]))";
    assert_eq!(shown("[[1 2] [] [3]]", &many), want);
    assert_eq!(shown("[(box [1 2]) [] [3]]", &many), want);
    assert_eq!(shown("[]", &many), "(array [0] (Σ (n) [int n]))");
    assert_eq!(shown("[[1] [2.5]]", &many), "found the float 2.5, which is not of type int");
    assert_eq!(shown("[1 2]", &many), "found a scalar, of rank 0 instead of rank 1");
    assert_eq!(shown("[1 2]", &ArrTy::scalar(ragged())), "(box ((n 2)) [int n] [1 2])");
    let n = IVar::dim(0, "n");
    let words = AtomTy::sigma(vec![n.clone()], ArrTy::new(AtomTy::CHAR, Shape::of_dims([Dim::rigid(n)])));
    let want = "(boxes (n) [char n] [2] ((2) \"to\") ((0) \"\"))";
    assert_eq!(shown("[\"to\" \"\"]", &ArrTy::new(words.clone(), k())), want);
    // Boxes of boxes.
    let m = IVar::dim(2, "m");
    let lines = AtomTy::sigma(vec![m.clone()], ArrTy::new(words, Shape::of_dims([Dim::rigid(m)])));
    let read = shown("[[\"to\" \"be\"] [\"or\"]]", &ArrTy::new(lines, k()));
    assert!(read.starts_with("(boxes (n) [(Σ (m) [char m]) n] [2] ((2) (boxes"), "{read}");
}

#[test]
fn what_is_no_literal() {
    let v = ArrTy::scalar(AtomTy::INT);
    assert_eq!(shown("(+ 1 2)", &v), "no literal: an application");
    assert_eq!(shown("x", &v), "no literal: the name `x`");
    assert_eq!(shown("", &v), "no literal: an empty text");
    assert_eq!(shown("1 2", &v), "no literal: more than one expression");
    assert_eq!(shown("[1", &v), "syntax");
    assert!(is_literal("[1 2]") && !is_literal("data.csv") && !is_literal("(f 1)"));
}

#[test]
fn characters_read_back() {
    for c in (0..0x3000).filter_map(char::from_u32).chain(['\u{e000}', '\u{fffd}', '\u{10ffff}', '😀']) {
        let v = Value::scalar(Scalar::Char(c));
        let text = print(&v);
        assert_eq!(read(&text, &ArrTy::base(BaseTy::Char)), Ok(v), "{text}");
        let s = Value::of_scalars(BaseTy::Char, vec![2], [Scalar::Char(c), Scalar::Char('a')]);
        let text = print(&s);
        assert_eq!(read(&text, &vector(BaseTy::Char)), Ok(s), "{text}");
    }
}

use super::*;
use crate::ops::{self, OpError};
use crate::scalar::Scalar;
use crate::sexp::read;

/// A trap, its text, the operands of a report, and the report's code and message.
type Example = (Trap, &'static str, Vec<Vec<i64>>, &'static str, &'static str);

/// One of every variant.
fn all() -> Vec<Example> {
    let why = || Arc::from("`take` needs more items than there are");
    let u64_max = Scalar::U64(u64::MAX).to_bits64();
    vec![
        (
            Trap::Index { axes: 1.into(), rank: 2.into() },
            "(index 1 2)",
            vec![vec![-1], vec![2, 3]],
            "R0001",
            "the index [-1] is out of range for the shape [2 3]",
        ),
        (
            Trap::Negative { what: "(- n 1)".into() },
            "(negative \"(- n 1)\")",
            vec![vec![-1]],
            "R0002",
            "the dimension (- n 1) is negative: -1",
        ),
        (
            Trap::NegativeIn { rank: 2.into() },
            "(negative-in 2)",
            vec![vec![3, -2], vec![-2]],
            "R0002",
            "the dimension in [3 -2] is negative: -2",
        ),
        (
            Trap::NegativeCount,
            "(negative-count)",
            vec![vec![-2], vec![1]],
            "R0002",
            "replicate: the count -2 at index 1 is negative",
        ),
        (
            Trap::NegativeLength,
            "(negative-length)",
            vec![vec![-2], vec![1]],
            "R0002",
            "split: the length -2 at index 1 is negative",
        ),
        (
            Trap::Division { op: ScalarOp::Modulo, ty: BaseTy::U64 },
            "(division \"%\" u64)",
            vec![vec![u64_max], vec![0]],
            "R0003",
            "integer division by zero: (% 18446744073709551615 0)",
        ),
        (
            Trap::Exponent { base: BaseTy::I8, exponent: BaseTy::F32 },
            "(exponent i8 f32)",
            vec![vec![-2], vec![Scalar::F32(-1.5).to_bits64()]],
            "R0004",
            "negative exponent of an integer: (expt -2 -1.5)",
        ),
        (
            Trap::IntToChar,
            "(int-to-char)",
            vec![vec![0xd800]],
            "R0010",
            "no char has the code point 55296: (int->char 55296)",
        ),
        (
            Trap::CastToChar { from: BaseTy::F64 },
            "(cast-to-char float)",
            vec![vec![Scalar::F64(-1.5).to_bits64()]],
            "R0010",
            "no char has the code point -1: (cast -1.5)",
        ),
        (
            Trap::TooSmall { why: why(), dim: "(- n 3)".into() },
            "(too-small \"`take` needs more items than there are\" \"(- n 3)\")",
            vec![vec![-1]],
            "R0005",
            "`take` needs more items than there are: (- n 3) is -1",
        ),
        (
            Trap::Unequal { why: why(), left: "λ".into(), right: "4".into() },
            "(unequal \"`take` needs more items than there are\" \"\\x3bb;\" \"4\")",
            vec![vec![5], vec![4]],
            "R0006",
            "`take` needs more items than there are: λ is 5, 4",
        ),
        (
            Trap::Empty { prim: "iscan".into() },
            "(empty \"iscan\")",
            vec![],
            "R0005",
            "iscan of an empty dimension",
        ),
        (
            Trap::Reshape { from: 1.into(), to: 2.into() },
            "(reshape 1 2)",
            vec![vec![3], vec![3], vec![2, 2], vec![4]],
            "R0007",
            "reshape of shape [3] (3 elements) to [2 2] (4 elements)",
        ),
        (
            Trap::WithShape { rank: 1.into() },
            "(with-shape 1)",
            vec![vec![3]],
            "R0007",
            "with-shape: no elements to fill the shape [3] with",
        ),
        (
            Trap::Subvector,
            "(subvector)",
            vec![vec![2], vec![-1], vec![3]],
            "R0008",
            "2 items from -1 on reach past the 3 items there are",
        ),
        (
            Trap::Subarray { axes: 1.into(), rank: 2.into() },
            "(subarray 1 2)",
            vec![vec![2], vec![2], vec![3, 4]],
            "R0008",
            "a part of shape [2] at [2] reaches past the array, whose shape is [3 4]",
        ),
        (
            Trap::Wrap { rank: 2.into() },
            "(wrap 2)",
            vec![vec![0, 4]],
            "R0008",
            "subarray/wrap of an array of shape [0 4], which has no elements",
        ),
        (
            Trap::Split,
            "(split)",
            vec![vec![3], vec![4]],
            "R0009",
            "split: the lengths add up to 3, but there are 4 items",
        ),
        (
            Trap::Scatter { prim: "scatter/into".into() },
            "(scatter \"scatter/into\")",
            vec![vec![5], vec![2]],
            "R0011",
            "scatter/into: the index 5 is past the end of 2 places",
        ),
        (
            Trap::TooLarge { rank: 1, by: "interpreter".into(), most: 9 },
            "(too-large 1 \"interpreter\" 9)",
            vec![vec![10]],
            "R0012",
            "an array of shape [10] is too large",
        ),
        (
            Trap::Overflow { dim: "(* n n)".into() },
            "(overflow \"(* n n)\")",
            vec![],
            "R0012",
            "the size (* n n) does not fit in 64 bits",
        ),
        (Trap::Append, "(append)", vec![], "R0012", "append: too many items"),
        (
            Trap::AsShape { have: 2.into(), want: 1.into() },
            "(as-shape 2 1)",
            vec![vec![2, 2], vec![4]],
            "R0013",
            "as-shape: the value has shape [2 2], not [4]",
        ),
        (
            Trap::Range { ty: BaseTy::U8 },
            "(range u8)",
            vec![vec![300]],
            "R0014",
            "300 does not fit in u8, which holds 0 to 255",
        ),
        (
            Trap::Literal { n: 1 << 64, ty: BaseTy::I8 },
            "(literal \"18446744073709551616\" i8)",
            vec![],
            "R0014",
            "18446744073709551616 does not fit in i8, which holds -128 to 127",
        ),
        (
            Trap::NoZero { ty: "(→ (int) int)".into() },
            "(no-zero \"(\\x2192; (int) int)\")",
            vec![],
            "R0015",
            "scatter leaves places untouched, and (→ (int) int) has no zero",
        ),
        (
            Trap::Deep,
            "(deep)",
            vec![vec![1000]],
            "R0017",
            "this recursion waits for more than 1000 calls of itself",
        ),
    ]
}

fn parse(text: &str) -> Result<Trap, usize> {
    Trap::parse(&read(text).unwrap()[0]).map_err(|e| e.offset)
}

#[test]
fn messages_codes_and_texts() {
    for (trap, text, operands, code, message) in all() {
        assert_eq!(trap.print(), text);
        assert_eq!(parse(text), Ok(trap.clone()), "{text}");
        let operands: Vec<&[i64]> = operands.iter().map(Vec::as_slice).collect();
        assert_eq!(trap.recorded().to_vec(), operands.iter().map(|o| o.len()).collect::<Vec<_>>(), "{text}");
        let values = trap.pack(&operands);
        assert_eq!(values.len(), trap.values());
        assert_eq!(values.to_vec(), operands.concat());
        let stop = trap.report(&values);
        assert_eq!((stop.code.0, stop.message.as_str()), (code, message));
    }
}

/// Fails to compile when a variant is added, and to pass when it is not in [`all`].
#[test]
fn every_variant_is_tested() {
    let mut seen = std::collections::HashSet::new();
    for (trap, ..) in all() {
        match trap {
            Trap::Index { .. }
            | Trap::Negative { .. }
            | Trap::NegativeIn { .. }
            | Trap::NegativeCount
            | Trap::NegativeLength
            | Trap::Division { .. }
            | Trap::Exponent { .. }
            | Trap::IntToChar
            | Trap::CastToChar { .. }
            | Trap::TooSmall { .. }
            | Trap::Unequal { .. }
            | Trap::Empty { .. }
            | Trap::Reshape { .. }
            | Trap::WithShape { .. }
            | Trap::Subvector
            | Trap::Subarray { .. }
            | Trap::Wrap { .. }
            | Trap::Split
            | Trap::Scatter { .. }
            | Trap::TooLarge { .. }
            | Trap::Overflow { .. }
            | Trap::Append
            | Trap::AsShape { .. }
            | Trap::Range { .. }
            | Trap::Literal { .. }
            | Trap::NoZero { .. }
            | Trap::Deep => seen.insert(std::mem::discriminant(&trap)),
        };
    }
    assert_eq!(seen.len(), 27);
}

#[test]
fn long_vectors_are_shortened_and_fit() {
    let r = usize::MAX;
    for trap in [
        Trap::Index { axes: r.into(), rank: r.into() },
        Trap::NegativeIn { rank: r.into() },
        Trap::Reshape { from: r.into(), to: r.into() },
        Trap::AsShape { have: r.into(), want: r.into() },
        Trap::Subarray { axes: r.into(), rank: r.into() },
        Trap::WithShape { rank: r.into() },
    ] {
        assert!(trap.values() <= MOST_VALUES, "{trap:?}");
        assert!(trap.report(&[]).message.contains("0 …]"), "{trap:?}");
        assert_eq!(parse(&trap.print()), Ok(trap));
    }
    let trap = Trap::Reshape { from: 8.into(), to: 1.into() };
    let values = trap.pack(&[&[1, 2, 3, 4, 5, 6, 7, 8], &[40320], &[5], &[5]]);
    let message = "reshape of shape [1 2 3 4 5 6 …] (40320 elements) to [5] (5 elements)";
    assert_eq!(trap.report(&values).message, message);
    let trap = Trap::WithShape { rank: 12.into() };
    assert!(trap.report(&[1; 12]).message.contains("[1 1 1 1 1 1 1 1 1 1 1 1]"));
}

#[test]
fn vectors_of_unknown_length_fit() {
    let n = Len::Unknown;
    for trap in [
        Trap::Index { axes: n, rank: n },
        Trap::NegativeIn { rank: n },
        Trap::Reshape { from: n, to: n },
        Trap::AsShape { have: n, want: n },
        Trap::Subarray { axes: n, rank: n },
        Trap::WithShape { rank: n },
        Trap::Wrap { rank: n },
    ] {
        assert!(trap.values() <= MOST_VALUES, "{trap:?}");
        assert!(trap.report(&[]).message.contains("[]"), "{trap:?}");
        assert_eq!(parse(&trap.print()), Ok(trap));
    }
    // What is said is what a known length says.
    for (from, to) in [(vec![], vec![5]), (vec![2, 3], vec![]), (vec![1, 2, 3, 4, 5, 6], vec![1; 7])] {
        let known = Trap::Reshape { from: from.len().into(), to: to.len().into() };
        let unknown = Trap::Reshape { from: n, to: n };
        let counted = |v: &[i64]| [&[v.len() as i64], v].concat();
        let values = unknown.pack(&[&counted(&from), &[7], &counted(&to), &[8]]);
        assert_eq!(unknown.report(&values), known.report(&known.pack(&[&from, &[7], &to, &[8]])));
    }
}

#[test]
fn help_says_what_to_write() {
    for (trap, ..) in all() {
        let n = trap.report(&[]).help.len();
        let with = matches!(
            trap,
            Trap::Index { .. }
                | Trap::Division { .. }
                | Trap::Exponent { .. }
                | Trap::Empty { .. }
                | Trap::Reshape { .. }
                | Trap::Subarray { .. }
                | Trap::Scatter { .. }
                | Trap::TooLarge { .. }
                | Trap::AsShape { .. }
        );
        assert_eq!(n, usize::from(with), "{trap:?}");
    }
}

#[test]
fn wrong_texts_are_refused() {
    for (text, offset) in [
        ("index", 0),
        ("()", 0),
        ("(indexes 1)", 0),
        ("(index 1)", 0),
        ("(index 1 2 3)", 11),
        ("(index -1 2)", 7),
        ("(division \"%%\" int)", 10),
        ("(division \"%\" \"int\")", 14),
        ("(empty reduce)", 7),
        ("(index ? ??)", 9),
    ] {
        assert_eq!(parse(text), Err(offset), "{text}");
    }
}

/// Whatever makes an operator or a cast fail, the table has a trap for its types.
#[test]
fn every_failing_operator_has_a_trap() {
    let samples = |ty: BaseTy| -> Vec<Scalar> {
        let numbers = [-2.0, -1.0, -0.5, 0.0, 1.0, 55296.0].into_iter();
        match ty {
            BaseTy::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
            BaseTy::Char => vec![Scalar::Char('x')],
            _ if ty.is_float() => numbers.filter_map(|x| Scalar::from_float(ty, x)).collect(),
            _ => numbers.filter_map(|x| Scalar::from_integer(ty, x as i128)).collect(),
        }
    };
    let check = |trap: Option<Trap>, result: Result<Scalar, OpError>, operands: &[Scalar]| {
        let values: Vec<i64> = operands.iter().map(|x| x.to_bits64()).collect();
        match result {
            Ok(_) => {}
            Err(OpError::WrongOperands) => panic!("{trap:?} {operands:?}"),
            Err(e) => {
                let stop = trap.unwrap_or_else(|| panic!("{operands:?}: {e:?}")).report(&values);
                let code = match e {
                    OpError::DivisionByZero => codes::DIVISION,
                    OpError::NegativeExponent => codes::EXPONENT,
                    _ => codes::CHAR,
                };
                assert_eq!(stop.code, code);
                if let OpError::NotAChar(n) = e {
                    assert!(stop.message.starts_with(&format!("no char has the code point {n}: ")));
                }
            }
        }
    };
    for info in ops::TABLE {
        for a in BaseTy::ALL {
            if info.op.result_ty(&[a]).is_some() {
                let trap = Trap::of_operator(info.op, &[a]);
                assert!(trap.is_none() || info.can_fail);
                for x in samples(a) {
                    check(trap.clone(), ops::apply(info.op, &[x]), &[x]);
                }
            }
            for b in BaseTy::ALL {
                if info.op.result_ty(&[a, b]).is_none() {
                    continue;
                }
                let trap = Trap::of_operator(info.op, &[a, b]);
                assert!(trap.is_none() || info.can_fail);
                for x in samples(a) {
                    for y in samples(b) {
                        check(trap.clone(), ops::apply(info.op, &[x, y]), &[x, y]);
                    }
                }
            }
        }
    }
    for from in BaseTy::ALL {
        for to in BaseTy::ALL {
            for x in samples(from) {
                check(Trap::of_cast(from, to), ops::cast(x, to), &[x]);
            }
        }
    }
}

#[test]
fn scalars_travel_as_bits() {
    use Scalar::*;
    let f16 = |x: f32| F16(half::f16::from_f32(x));
    for x in [
        Bool(true),
        Char('\u{10ffff}'),
        I8(-1),
        I16(i16::MIN),
        I32(-3),
        I64(i64::MIN),
        U8(255),
        U16(u16::MAX),
        U32(u32::MAX),
        U64(u64::MAX),
        f16(-0.5),
        F32(-0.0),
        F64(f64::MIN),
    ] {
        assert_eq!(Scalar::from_bits64(x.ty(), x.to_bits64()), Some(x));
    }
    assert_eq!(I8(-1).to_bits64(), -1);
    assert_eq!(U8(255).to_bits64(), 255);
    assert_eq!(F32(-1.0).to_bits64(), 0xbf80_0000);
    assert_eq!(Scalar::from_bits64(BaseTy::Char, 0xd800), None);
}

//! What is written reads back; what is damaged is refused, in words, whatever byte is damaged.

use super::*;
use crate::text::{self, Style};
use proptest::prelude::*;
use remc_base::value::{BoxValue, IndexValue};
use remc_base::{Dim, IVar, Name, Scalar};
use std::sync::Arc;

fn wanted(ty: BaseTy, rank: usize) -> ArrTy {
    let dims = (0..rank).map(|i| Dim::rigid(IVar::dim(i as u32, "n")));
    ArrTy::new(AtomTy::Base(ty), Shape::of_dims(dims))
}

fn place(name: &str) -> Place {
    match name.split_once(':') {
        None => Place { path: name.into(), selector: None },
        Some((path, selector)) => Place { path: path.into(), selector: Some(selector.into()) },
    }
}

/// Reads bytes as the file of that name for a parameter `xs`.
fn read_bytes(name: &str, bytes: &[u8], ty: &ArrTy) -> Result<Value, DataError> {
    let (meter, budget) = (Meter::default(), Budget::new(1 << 30));
    read_source(&mut Source::of_bytes(bytes.to_vec(), &meter, &budget), &place(name), "xs", ty)
}

fn bytes_of(value: &Value, format: Format) -> Vec<u8> {
    assert_eq!(output::refusal(value, format), None);
    let mut out = vec![];
    output::write(value, format, Style::default(), &mut out).unwrap();
    out
}

/// What is found to be wrong.
fn says(name: &str, bytes: &[u8], ty: &ArrTy) -> String {
    match read_bytes(name, bytes, ty) {
        Ok(v) => format!("read: {} of shape {:?}", text::print(&v), v.shape),
        Err(DataError::Unreadable(why)) => why,
        Err(DataError::Selector(why) | DataError::Raw(why)) => why,
        Err(DataError::Table { what, help }) => {
            let told = |h: &Help| match h {
                Help::Option { option, .. } => format!("; :{option}"),
                Help::Say(text) => format!("; {text}"),
            };
            what + &help.iter().map(told).collect::<String>()
        }
        Err(DataError::TooMuch(e)) => e.to_string(),
        Err(DataError::Mismatch { found, help }) => match help {
            Some(help) => format!("found {found}; {help}"),
            None => format!("found {found}"),
        },
        Err(DataError::Choose { kind, there, asked }) => format!("{asked:?} of the {kind}s {there:?}"),
        Err(e) => format!("{e:?}"),
    }
}

fn numbers(ty: BaseTy, shape: &[usize], of: impl IntoIterator<Item = i128>) -> Value {
    Value::of_scalars(ty, shape.to_vec(), of.into_iter().map(|n| Scalar::from_integer(ty, n).unwrap()))
}

fn scalars(ty: BaseTy, bits: &[u64]) -> Vec<Scalar> {
    let of = |b: &u64| match ty {
        BaseTy::Bool => Scalar::Bool(b & 1 == 1),
        BaseTy::Char => Scalar::Char(char::from_u32((*b % 0x11_0000) as u32).unwrap_or('λ')),
        _ => {
            let shift = 64 - ty.bits();
            let extended =
                if ty.is_signed() { ((*b << shift) as i64) >> shift } else { (b << shift >> shift) as i64 };
            Scalar::from_bits64(ty, extended).unwrap()
        }
    };
    bits.iter().map(of).collect()
}

fn arrays() -> impl Strategy<Value = Value> {
    let types = prop::sample::select(BaseTy::ALL.to_vec());
    let shapes = prop::collection::vec(0usize..4, 0..4);
    (types, shapes, prop::collection::vec(any::<u64>(), 64)).prop_map(|(ty, shape, bits)| {
        let n: usize = shape.iter().product();
        Value::of_scalars(ty, shape, scalars(ty, &bits[..n]))
    })
}

/// Equal, NaN to itself; its bits may change where it was text.
fn same(a: &Value, b: &Value) -> bool {
    a.atom == b.atom && a.shape == b.shape && text::print(a) == text::print(b)
}

proptest! {
    #[test]
    fn binary_files_read_back(value in arrays()) {
        let AtomTy::Base(ty) = value.atom else { return Ok(()) };
        let want = wanted(ty, value.rank());
        let dims: Vec<String> = value.shape.iter().map(usize::to_string).collect();
        let raw = format!("xs.bin:{}[{}]", ty.name(), dims.join(","));
        let files = [
            (Format::Npy, "xs.npy"), (Format::Npz, "xs.npz"), (Format::Npz, "xs.npz:arr_0"), (Format::Npz, "xs.npz:arr_0.npy"),
            (Format::Futhark, "xs.fut.bin"), (Format::Futhark, "xs.in:0"), (Format::Raw, raw.as_str()),
            // What its first bytes say goes before what its name says.
            (Format::Npy, "xs.csv"), (Format::Npz, "xs.dat"), (Format::Futhark, "xs"),
        ];
        for (format, name) in files {
            if ty == BaseTy::Char {
                prop_assert_eq!(output::refusal(&value, format), Some("char".to_owned()));
                continue;
            }
            let bytes = bytes_of(&value, format);
            let back = read_bytes(name, &bytes, &want);
            // To the bit.
            prop_assert_eq!(back.as_ref().map(|v| bytes_of(v, format)), Ok(bytes), "{}", name);
        }
    }

    #[test]
    fn texts_read_back(value in arrays()) {
        let AtomTy::Base(ty) = value.atom else { return Ok(()) };
        let want = wanted(ty, value.rank());
        let back = read_bytes("xs.rd", &bytes_of(&value, Format::Remora), &want).unwrap();
        prop_assert!(same(&back, &value), "{}", text::print(&value));
        for (format, name) in [(Format::Csv, "xs.csv"), (Format::Tsv, "xs.tsv")] {
            if ty == BaseTy::Char || value.rank() > 2 {
                prop_assert!(output::refusal(&value, format).is_some());
                continue;
            }
            let bytes = bytes_of(&value, format);
            let back = read_bytes(name, &bytes, &want);
            if value.data.is_empty() {
                // A table without fields has no shape.
                prop_assert!(bytes.iter().all(|b| *b == b'\n'));
            } else {
                prop_assert!(back.as_ref().is_ok_and(|v| same(v, &value)), "{back:?} of {}", text::print(&value));
            }
        }
    }

    #[test]
    fn json_reads_back(value in arrays()) {
        let bytes = bytes_of(&value, Format::Json);
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert!(agrees(&json, &value, &mut 0, &value.shape));
    }

    #[test]
    fn rounded_floats_are_near(x in any::<f64>(), digits in 0usize..12) {
        prop_assume!(x.is_finite());
        let mut out = String::new();
        text::scalar(Scalar::F64(x), Some(digits), &mut out).unwrap();
        let back: f64 = out.parse().unwrap();
        let scale = if out.contains('e') { 10f64.powf(x.abs().log10().floor() + 1.0) } else { 1.0 };
        prop_assert!((back - x).abs() <= scale * (0.500001 * 10f64.powi(-(digits as i32)) + 4e-16 * scale.max(x.abs()) + 1e-15), "{x:?} as {out}");
        let mantissa = out.split('e').next().unwrap();
        let after = mantissa.split_once('.').map_or(0, |(_, d)| d.len());
        prop_assert!(after <= digits.max(1), "{x:?} as {out}");
        prop_assert!(out.contains(['.', 'e']), "{x:?} as {out}");
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(start in 0usize..6, mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let starts: [&[u8]; 6] = [b"", b"b\x02\x01 i32", npy::MAGIC, zip::MAGICS[0], zip::MAGICS[1], b"1,2\n"];
        bytes.splice(..0, starts[start].iter().copied());
        for name in ["xs.npy", "xs.npz", "xs.csv", "xs.in", "xs.rd", "xs.bin:f32[_]", "xs:text", "xs"] {
            for ty in [BaseTy::F32, BaseTy::Bool, BaseTy::Char] {
                let _ = read_bytes(name, &bytes, &wanted(ty, 1));
            }
        }
    }
}

/// Whether JSON says what a value of base type is.
fn agrees(json: &serde_json::Value, value: &Value, at: &mut usize, shape: &[usize]) -> bool {
    use serde_json::Value as Json;
    match (json, shape) {
        (Json::Array(items), [n, rest @ ..]) => {
            items.len() == *n && items.iter().all(|i| agrees(i, value, at, rest))
        }
        (Json::String(s), [n]) if value.data.base() == Some(BaseTy::Char) => {
            let chars: Vec<char> = s.chars().collect();
            *at += n;
            chars.len() == *n
                && (*at - n..*at)
                    .zip(chars)
                    .all(|(i, c)| value.data.get(i) == Some(remc_base::Atom::Scalar(Scalar::Char(c))))
        }
        (json, []) => {
            let Some(remc_base::Atom::Scalar(s)) = value.data.get(*at) else { return false };
            *at += 1;
            match (json, s) {
                (Json::Bool(b), Scalar::Bool(x)) => *b == x,
                (Json::String(t), Scalar::Char(c)) => *t == c.to_string(),
                (Json::String(t), s) => s.as_float().is_some_and(|x| {
                    !x.is_finite() && t.parse::<f64>().is_ok_and(|y| y.to_string() == x.to_string())
                }),
                (Json::Number(n), s) => match s.as_integer() {
                    Some(i) => n.to_string() == i.to_string(),
                    None => {
                        Scalar::from_float(s.ty(), n.as_f64().unwrap()).map(|t| t.to_bits64())
                            == Some(s.to_bits64())
                    }
                },
                _ => false,
            }
        }
        _ => false,
    }
}

/// A small file of every kind, with the name that it is read under.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let v = numbers(BaseTy::I32, &[2, 2], [1, -2, 300, 4]);
    let deflated = include_bytes!("../../../testsuite/data/numpy/two-compressed.npz").to_vec();
    vec![
        ("xs.npy", bytes_of(&v, Format::Npy)),
        ("xs.npz", bytes_of(&v, Format::Npz)),
        ("xs.npz:ys", deflated),
        ("xs.in", bytes_of(&v, Format::Futhark)),
        ("xs.csv", b"a,b\n1,\"-2\"\n300,4\n".to_vec()),
        ("xs.rd", bytes_of(&v, Format::Remora)),
        ("xs.raw:i32[2,2]", bytes_of(&v, Format::Raw)),
    ]
}

#[test]
fn every_damaged_byte_ends_in_words_or_a_value() {
    for (name, good) in samples() {
        let ty = wanted(BaseTy::I32, 2);
        assert!(read_bytes(name, &good, &ty).is_ok(), "{name}: {}", says(name, &good, &ty));
        let binary = !name.starts_with("xs.csv") && !name.starts_with("xs.rd");
        for n in 0..good.len() {
            let cut = read_bytes(name, &good[..n], &ty);
            assert!(cut.is_err() || !binary, "{name}: {n} bytes are read as {cut:?}");
            let mut longer = good.clone();
            longer.insert(n, b'7');
            let _ = read_bytes(name, &longer, &ty);
            for with in
                [0, 1, 2, 9, b' ', b'"', b'\n', b'-', b'e', 0x7f, 0x80, 0xff, good[n] ^ 1, good[n] ^ 0x80]
            {
                let mut bytes = good.clone();
                bytes[n] = with;
                let found = says(name, &bytes, &ty);
                assert!(!found.is_empty() && found.len() < 1000, "{name}, byte {n} = {with}: {found}");
            }
        }
    }
}

#[test]
fn a_damaged_byte_of_an_archive_is_found() {
    let (name, good) = samples().swap_remove(2);
    let ty = wanted(BaseTy::I32, 2);
    let value = read_bytes(name, &good, &ty).unwrap();
    let mut unnoticed = 0;
    for n in 0..good.len() {
        let mut bytes = good.clone();
        bytes[n] ^= 0x10;
        match read_bytes(name, &bytes, &ty) {
            // Times, versions and the other member.
            Ok(same) if same == value => unnoticed += 1,
            Ok(other) => panic!("byte {n} makes it {}", text::print(&other)),
            Err(_) => {}
        }
    }
    assert!(unnoticed < good.len() * 2 / 3, "{unnoticed} of {}", good.len());
}

/// What NumPy wrote: `testsuite/data/numpy/make.py`.
#[test]
fn files_of_numpy() {
    macro_rules! file {
        ($name:literal) => {
            (include_bytes!(concat!("../../../testsuite/data/numpy/", $name)).as_slice(), $name)
        };
    }
    let check = |(bytes, name): (&[u8], &str), selector: &str, ty, rank, expected: &str| {
        assert_eq!(says(&format!("{name}{selector}"), bytes, &wanted(ty, rank)), expected);
    };
    let table = "read: [[0.0 0.5 1.0] [1.5 2.0 2.5]] of shape [2, 3]";
    check(file!("fortran.npy"), "", BaseTy::F32, 2, table);
    check(file!("big-endian.npy"), "", BaseTy::F32, 2, table);
    check(file!("bool.npy"), "", BaseTy::Bool, 1, "read: [#t #f #t] of shape [3]");
    check(file!("empty.npy"), "", BaseTy::F64, 2, "read: (array [0 3] float) of shape [0, 3]");
    check(file!("scalar.npy"), "", BaseTy::I64, 0, "read: 7 of shape []");
    check(
        file!("scalar.npy"),
        "",
        BaseTy::F64,
        0,
        "found a scalar of type int64; convert it in NumPy: `xs.astype(np.float64)`",
    );
    check(
        file!("complex.npy"),
        "",
        BaseTy::F64,
        1,
        "found an array of dtype <c16, which no type of Remora is; bool, int8 to int64, uint8 to uint64, float16, float32 and float64 have types here",
    );
    for two in [file!("two.npz"), file!("two-compressed.npz")] {
        check(two, ":ys", BaseTy::I32, 2, "read: [[1 2] [3 4]] of shape [2, 2]");
        check(two, "", BaseTy::F64, 1, "read: [0.5 1.5] of shape [2]");
        check(two, ":zs", BaseTy::F64, 1, "Some(\"zs\") of the arrays [\"xs\", \"ys\"]");
        check(
            two,
            ":ys",
            BaseTy::F32,
            2,
            "found int32 of shape [2 2]; convert it in NumPy: `ys.astype(np.float32)`",
        );
    }
    check(file!("one.npz"), "", BaseTy::Bool, 1, "read: [#t #f] of shape [2]");
}

#[test]
fn tables() {
    let f = |text: &str, rank| says("xs.csv", text.as_bytes(), &wanted(BaseTy::F64, rank));
    assert_eq!(f("1,2\n3,4\n", 2), "read: [[1.0 2.0] [3.0 4.0]] of shape [2, 2]");
    // Without its last line end, with another kind of them, with spaces, empty lines, quotes and a byte order mark.
    assert_eq!(f("\u{feff}1 , \"2\"\r\n\r\n 3,4e0", 2), "read: [[1.0 2.0] [3.0 4.0]] of shape [2, 2]");
    assert_eq!(f("x,\"the y, in m\"\n1,2\n", 2), "read: [[1.0 2.0]] of shape [1, 2]");
    assert_eq!(f("1,2,inf,-INF,nan\n", 1), "read: [1.0 2.0 inf -inf nan] of shape [5]");
    assert_eq!(f("2.5", 0), "read: 2.5 of shape []");
    assert_eq!(f("", 1), "read: (array [0] float) of shape [0]");
    assert_eq!(f("x,y\n", 2), "read: (array [0 2] float) of shape [0, 2]");
    assert_eq!(f("1,2\n3,4\n", 1), "found a table of 2 lines and 2 columns");
    assert_eq!(f("1\n", 3), "found a table of 1 line and 1 column");
    assert_eq!(f("1,2\n3\n", 2), "line 2: 1 field, where the first line has 2");
    assert_eq!(f("x\n\n\n1\n\n2,5\n", 2), "line 6: 2 fields, where the first line has 1; :skip=1");
    assert!(f("1,2\r\n\r\n3,x\r\n", 2).starts_with("line 3, column 2: `x` is not of type float; "));
    assert_eq!(
        f("1,2\n3,\n", 2),
        "line 2, column 2: the field is empty, and each has to hold a value of type float; :na="
    );
    // Names beside numbers are no header.
    assert_eq!(
        f("name,2020\n1,2\n", 2),
        "line 1, column 1: `name` is not of type float, and the line is no header: `2020` names no column; :header; \
         :noheader"
    );
    assert!(f("1,1e999\n", 2).starts_with("line 1, column 2: `1e999` is past the largest float"));
    assert_eq!(
        f("1,\x1b[31m\n", 2),
        "line 1, column 2: `\\u{1b}[31m` is not of type float; :header; :noheader"
    );
    let of = |ty, text: &str| says("xs.csv", text.as_bytes(), &wanted(ty, 1));
    assert_eq!(of(BaseTy::U8, "255,0\n"), "read: [255 0] of shape [2]");
    assert_eq!(of(BaseTy::U8, "3\n256\n"), "line 2, column 1: `256` does not fit u8, which holds 0 to 255");
    assert_eq!(of(BaseTy::I64, "3\n1.0\n"), "line 2, column 1: `1.0` is not of type int");
    assert_eq!(of(BaseTy::Bool, "true,False,#t,0\n"), "read: [#t #f #t #f] of shape [4]");
    assert_eq!(
        of(BaseTy::Bool, "true\n2\n"),
        "line 2, column 1: `2` is not of type bool: write true or false"
    );
    assert_eq!(of(BaseTy::F16, "1\n65520\n"), "line 2, column 1: `65520` is past the largest f16");
    let three = ArrTy::new(AtomTy::INT, Shape::of_sizes(&[3]));
    assert_eq!(
        says("xs.csv", b"1\n2\n", &three),
        "found a table of 2 lines and 1 column: an array of shape [2], whose axis 0 has 2 elements instead of 3"
    );
    assert_eq!(says("xs.tsv", b"1\t2\n", &wanted(BaseTy::I8, 1)), "read: [1 2] of shape [2]");
}

/// No first line is left out because it cannot be read.
#[test]
fn first_lines_of_tables() {
    let f = |text: &str| says("xs.csv", text.as_bytes(), &wanted(BaseTy::F64, 2));
    for (text, found) in [
        ("5 6 7\n", "`5 6 7` is not of type float; :sep=space"),
        ("5 6 7\n1 2 3\n", "`5 6 7` is not of type float; :sep=space"),
        ("1;2\n3;4\n", "`1;2` is not of type float; :sep=;"),
        ("1,5;2\n", "line 1, column 2: `5;2` is not of type float; :header; :noheader"),
        ("1|2\n", "`1|2` is not of type float; :sep=|"),
        ("a;b\n1;2\n", "`1;2` is not of type float; :sep=;"),
        ("12:30\n13:30\n", "`12:30` is not of type float; :header; :noheader"),
        ("0x10\n", "`0x10` is not of type float; :header; :noheader"),
        ("5 %\n6 %\n", "`5 %` is not of type float; :header; :noheader"),
        ("NA\n1\n", "`NA` is not of type float; :na=NA"),
        ("\"1,234\"\n", "`1,234` is not of type float; :sep=;:decimal=,"),
        ("2020-01-01\n", "`2020-01-01` is not of type float; :header; :noheader"),
        ("Jan 5\n1\n", "`Jan 5` is not of type float; :header; :noheader"),
        ("# x,y\n1,2\n", "`# x` is not of type float; :comment=#"),
        (
            "<!DOCTYPE html>\n<p>\n",
            "`<!DOCTYPE html>` is not of type float; it is a page of the web, or XML, and no table",
        ),
        (
            ",low,high\n0,1,2\n",
            "line 1, column 1: the field is empty, and each has to hold a value of type float; :na=",
        ),
        ("hello\n", "line 1: `hello` is not of type float, and nothing follows; :header; :noheader"),
        (
            "low,high,\n1,2,3\n",
            "line 1, column 1: `low` is not of type float, and the line is no header: `` names no column",
        ),
        ("Title of it\nlow,high\n1,2\n", "line 2: 2 fields, where the first line has 1; :skip=1"),
        ("x,y\n1,2,3\n", "line 2: 3 fields, where the first line has 2"),
    ] {
        assert!(f(text).contains(found), "{text:?}: {}", f(text));
    }
    for (text, value) in [
        ("nan,1\n", "[[nan 1.0]]"),
        ("inf\n", "[[inf]]"),
        ("low,high\n1,2\n", "[[1.0 2.0]]"),
        ("\"low\",\"high, in m\"\n1,2\n", "[[1.0 2.0]]"),
        ("jan,feb,may\n1,2,3\n", "[[1.0 2.0 3.0]]"),
    ] {
        assert!(f(text).starts_with(&format!("read: {value} of")), "{text:?}: {}", f(text));
    }
    let b = |text: &str| says("xs.csv", text.as_bytes(), &wanted(BaseTy::Bool, 1));
    assert_eq!(b("true\nfalse\n"), "read: [#t #f] of shape [2]");
    assert_eq!(b("ok\nfalse\n"), "read: [#f] of shape [1]");
}

#[test]
fn what_is_said_of_tables() {
    let f = |name: &str, text: &str, rank| says(name, text.as_bytes(), &wanted(BaseTy::F64, rank));
    let table = "read: [[1.0 2.0] [3.0 4.0]] of shape [2, 2]";
    assert_eq!(f("t.csv:sep=;", "a;b\n1;2\n3;4\n", 2), table);
    assert_eq!(f("t.csv:sep=space", "1.0e+00  2.0e+00\n 3 4\n", 2), table);
    assert_eq!(f("t.dat:csv:sep=space:comment=#", "# a b\n1 2 # so\n3 4\n", 2), table);
    assert_eq!(f("t.dat:sep=space", "1 2\n3\t4\n", 2), table);
    assert_eq!(f("t.csv:sep=;:decimal=,", "1,0;2\n3;4,0\n", 2), table);
    assert_eq!(f("t.tsv:header", "1st\t2nd\n1\t2\n3\t4\n", 2), table);
    assert_eq!(f("t.csv:skip=2", "A title,\n\n1,2\n3,4\n", 2), table);
    assert_eq!(f("t.csv:header", "5,6\n1,2\n3,4\n", 2), table);
    assert!(f("t.csv:noheader", "a,b\n1,2\n", 2).starts_with("line 1, column 1: `a` is not of type float"));
    assert_eq!(f("t.csv:na=NA:na=", "NA,\n1,2\n", 2), "read: [[nan nan] [1.0 2.0]] of shape [2, 2]");
    assert_eq!(f("t.csv:columns=b,a", "a,x,b\n2,u,1\n4,v,3\n", 2), table);
    assert_eq!(f("t.csv:columns=2-3:header", ",low,high\n0,1,2\n1,3,4\n", 2), table);
    assert_eq!(f("t.csv:columns=2", "5,1\n6,2\n", 1), "read: [1.0 2.0] of shape [2]");
    assert_eq!(f("t.csv:columns=3", "5,1\n", 1), "there is no column 3: its lines have 2 fields");
    assert_eq!(f("t.csv:columns=c", "a,b\n5,1\n", 1), "no column is called `c`; the columns are `a`, `b`");
    assert_eq!(
        f("t.csv:columns=c", "5,1\n", 1),
        "no column is called `c`, as no line names the columns; :header"
    );
    assert_eq!(f("t.csv:heder", "1\n", 1), "`:heder` is neither a format nor a type with a shape");
    assert_eq!(f("t.csv:header:heder", "1\n", 1), "`:heder` is no option of a table");
    assert_eq!(f("t.rd:header", "1\n", 1), "`:header` is of tables, csv and tsv");
    let int = |name: &str, text: &str| says(name, text.as_bytes(), &wanted(BaseTy::I64, 1));
    assert_eq!(
        int("t.csv:na=NA", "1\nNA\n"),
        "line 2, column 1: `NA` stands for a missing number, and int has no value for that, as floats have nan; a missing \
         number is nan in a table of floats; int has no value for it"
    );
}

/// The type of an entry's parameter `x`.
fn type_of(text: &str) -> ArrTy {
    let k = || IVar::dim(9, "k");
    let chars = ArrTy::new(AtomTy::CHAR, Shape::of_dims([Dim::rigid(k())]));
    let texts = ArrTy::scalar(AtomTy::sigma(vec![k()], chars.clone()));
    let n = |ty: ArrTy| {
        let dims = [Dim::rigid(IVar::dim(0, "n"))].into_iter().map(remc_base::ShapeItem::Dim);
        ArrTy::new(ty.atom.clone(), Shape(dims.chain(ty.shape.items().iter().cloned()).collect()))
    };
    let record = |fields: [(Option<&str>, ArrTy); 2]| {
        ArrTy::scalar(AtomTy::tuple(fields.into_iter().map(|(l, ty)| (l.map(Name::new), ty)).collect()))
    };
    let float = || ArrTy::scalar(AtomTy::Base(BaseTy::F64));
    let int = || ArrTy::scalar(AtomTy::INT);
    match text {
        "boxed records" => n(record([(Some("name"), texts), (Some("low-temp"), float())])),
        "records" => n(record([(Some("name"), chars), (Some("low-temp"), float())])),
        "record" => record([(Some("a"), int()), (Some("b"), float())]),
        "tuples" => n(record([(None, int()), (None, float())])),
        "columns" => record([(Some("name"), n(texts)), (Some("low-temp"), n(float()))]),
        "texts" => n(texts),
        "equal texts" => n(chars),
        _ => n(record([(Some("a"), n(float())), (Some("b"), float())])),
    }
}

#[test]
fn records_of_tables() {
    let days = "low temp,name\n-2.5,\"Bo, jr\"\n3,A\n";
    let exactly = [
        (
            "boxed records",
            "t.csv",
            days,
            "read: [(record (name (box ((n 6)) [char n] \"Bo, jr\")) (low-temp -2.5)) (record (name (box ((n 1)) [char n] \
         \"A\")) (low-temp 3.0))] of shape [2]",
        ),
        (
            "columns",
            "t.csv",
            days,
            "read: (record (name (boxes (n) [char n] [2] ((6) \"Bo, jr\") ((1) \"A\"))) (low-temp [-2.5 3.0])) of shape []",
        ),
        (
            "records",
            "t.csv",
            "name,x,low_temp\nab,0,1\ncd,0,2\n",
            "read: [(record (name \"ab\") (low-temp 1.0)) (record (name \"cd\") (low-temp 2.0))] of shape [2]",
        ),
        ("record", "t.csv", "b,a\n1.5,7\n", "read: (record (a 7) (b 1.5)) of shape []"),
        ("record", "t.csv", "b,a\n1.5,7\n2,8\n", "found a table of 2 lines and 2 columns"),
        (
            "record",
            "t.csv",
            "7,1.5\n",
            "line 1: no column is called `a`; the columns are `7`, `1.5`; :noheader",
        ),
        ("record", "t.csv:noheader", "7,1.5\n", "read: (record (a 7) (b 1.5)) of shape []"),
        ("record", "t.csv:noheader", "7,1.5,2\n", "its lines have 3 fields, and 2 are wanted; :columns=1,2"),
        ("record", "t.csv:noheader:columns=3,1", "7.5,1.5,2\n", "read: (record (a 2) (b 7.5)) of shape []"),
        (
            "record",
            "t.csv",
            "a;b\n7;1.5\n",
            "line 1: no column is called `a`; the first line is `a;b`; :sep=;",
        ),
        ("tuples", "t.csv", "x,y\n1,2.5\n3,4\n", "read: [(values 1 2.5) (values 3 4.0)] of shape [2]"),
        ("tuples", "t.csv", "1,2.5\n3,4\n", "read: [(values 1 2.5) (values 3 4.0)] of shape [2]"),
        // A name and a text look alike.
        (
            "texts",
            "t.csv",
            "Bo\nAnn\n",
            "line 1, column 1: `Bo` is a text, or the name of a column; :header; :noheader",
        ),
        (
            "texts",
            "t.csv:noheader",
            "Bo\nAnn\n",
            "read: (boxes (n) [char n] [2] ((2) \"Bo\") ((3) \"Ann\")) of shape [2]",
        ),
        ("equal texts", "t.csv:header", "Bo\nAnn\nTom\n", "read: [\"Ann\" \"Tom\"] of shape [2, 3]"),
    ];
    let at_first = [
        (
            "records",
            "t.csv",
            days,
            "line 3, column 2: `A` has 1 characters, and the text of the first line 6",
        ),
        ("tuples", "t.csv", "x,y\n1,2.5\n3,b\n", "line 3, column 2: `b` is not of type float"),
        ("neither", "t.csv", "a,b\n", "found a table, which holds numbers, booleans and texts; "),
    ];
    let said = |ty: &str, name: &str, text: &str| says(name, text.as_bytes(), &type_of(ty));
    for (ty, name, text, what) in exactly {
        assert_eq!(said(ty, name, text), what, "{ty} of {name}");
    }
    for (ty, name, text, what) in at_first {
        assert!(said(ty, name, text).starts_with(what), "{ty} of {name}");
    }
}

/// What is larger than the budget is refused before it is made, and what fits takes no more than the array.
#[test]
fn memory_of_reading() {
    let (rows, limit) = (100_000usize, 900_000u64);
    let numbers = Value::of_scalars(BaseTy::F64, vec![rows], (0..rows).map(|n| Scalar::F64(n as f64)));
    let square = Value { shape: vec![rows / 100, 100], ..numbers.clone() };
    let text: String = (0..rows).map(|n| format!("{n}\n")).collect();
    let mut fortran = bytes_of(&square, Format::Npy);
    let at = fortran.windows(5).position(|w| w == b"False").unwrap();
    fortran[at..at + 5].copy_from_slice(b"True ");
    let files = [
        ("t.npy", 1, bytes_of(&numbers, Format::Npy)),
        ("t.npy", 2, fortran),
        ("t.npz", 1, bytes_of(&numbers, Format::Npz)),
        ("t.in", 1, bytes_of(&numbers, Format::Futhark)),
        ("t.raw:f64[_]", 1, bytes_of(&numbers, Format::Raw)),
        ("t.csv", 1, text.clone().into_bytes()),
        ("t.csv", 2, text.replace('\n', ",").trim_end_matches(',').into()),
    ];
    for (name, rank, bytes) in files {
        let meter = Meter::default();
        for (limit, fits) in [(limit, true), (800_000 * 9 / 10, false)] {
            let budget = Budget::new(limit);
            let mut source = Source::of_bytes(bytes.clone(), &meter, &budget);
            let read = read_source(&mut source, &place(name), "xs", &wanted(BaseTy::F64, rank));
            match read {
                Ok(v) => assert!(fits && v.data.len() == rows, "{name}"),
                Err(DataError::TooMuch(_)) => assert!(!fits, "{name}"),
                Err(e) => panic!("{name}: {e:?}"),
            }
            assert!(
                budget.left() <= limit - if fits { 800_000 } else { 0 },
                "{name}: what is kept is counted"
            );
            assert!(fits || budget.left() == limit, "{name}: what is not kept is not");
        }
    }
    // Text in four bytes a character.
    let budget = Budget::new(450_000);
    let meter = Meter::default();
    let read = |n: usize| {
        let mut source = Source::of_bytes("λ".repeat(n).into(), &meter, &budget);
        read_source(&mut source, &place("t:text"), "xs", &wanted(BaseTy::Char, 1)).map(|v| v.data.len())
    };
    assert!(matches!(read(120_000), Err(DataError::TooMuch(_))));
    assert_eq!(read(100_000), Ok(100_000));
}

#[test]
fn values_of_futhark() {
    let header = b"b\x02\x02 f32\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
    let file = [&header[..], &1.5f32.to_le_bytes(), &(-2f32).to_le_bytes()].concat();
    let f = |bytes: &[u8], name| says(name, bytes, &wanted(BaseTy::F32, 2));
    assert_eq!(f(&file, "xs.data"), "read: [[1.5 -2.0]] of shape [1, 2]");
    assert_eq!(bytes_of(&read_bytes("xs", &file, &wanted(BaseTy::F32, 2)).unwrap(), Format::Futhark), file);
    let two = [&file[..], b"\n ", b"b\x02\x00booltttt"].concat();
    assert_eq!(
        f(&two[..file.len() + 2 + 7], "xs.data"),
        "it is truncated: the shape needs 1 bytes of data and there are 0"
    );
    let two = [&file[..], b"\n ", b"b\x02\x00bool\x01\n"].concat();
    assert_eq!(f(&two, "xs.data"), "None of the values [\"0\", \"1\"]");
    assert_eq!(f(&two, "xs.data:0"), "read: [[1.5 -2.0]] of shape [1, 2]");
    assert_eq!(says("xs.data:1", &two, &wanted(BaseTy::Bool, 0)), "read: #t of shape []");
    assert_eq!(f(&two, "xs.data:2"), "Some(\"2\") of the values [\"0\", \"1\"]");
    assert_eq!(
        f(&[b"b\x02\x00bool\x07".as_slice()].concat(), "xs"),
        "an element of its bool array is the byte 7, which is neither 0 nor 1"
    );
    assert_eq!(f(b"b\x02\x01 i31", "xs"), "its type ` i31` is none of Futhark's");
    assert_eq!(
        f(b"b\x02\x01 i32\xff\xff\xff\xff\xff\xff\xff\xff", "xs"),
        "its header is damaged: a size of -1"
    );
    assert_eq!(
        f(&[file.as_slice(), b"x"].concat(), "xs"),
        "a value does not begin with `b`, but with the byte 120"
    );
    assert_eq!(
        f(&[file.as_slice(), b"b\x03\0bool\0"].concat(), "xs"),
        "a value is of version 3 of Futhark's format; version 2 is read"
    );
    assert!(f(b"[1f32]", "xs.in").starts_with("it is not in Futhark's binary format"));
    assert!(says("xs", &file, &wanted(BaseTy::I32, 2)).starts_with("found f32 of shape [1 2]; "));
}

#[test]
fn what_a_file_is() {
    let ty = wanted(BaseTy::F32, 1);
    let f = |name, bytes: &[u8]| says(name, bytes, &ty);
    assert_eq!(f("xs.dat", b"1\n2\n"), "UnknownFormat");
    assert_eq!(f("xs", b""), "UnknownFormat");
    assert_eq!(f("xs.dat:csv", b"1\n2\n"), "read: [1.0 2.0] of shape [2]");
    assert_eq!(f("xs.dat:rd", b"[1 2] ; a comment\n"), "read: [1.0 2.0] of shape [2]");
    assert_eq!(f("xs.csv:rd", b"[1 2]"), "read: [1.0 2.0] of shape [2]");
    assert_eq!(f("xs.raw", b"1234"), "nothing says what its bytes are");
    assert_eq!(f("xs.raw:f32", b"1234"), "`f32` has no shape: write `f32[]` for a single number");
    assert_eq!(f("xs.raw:f33[1]", b"1234"), "`f33` is no type of numbers");
    assert_eq!(f("xs.csv:xs", b"1\n"), "`:xs` is neither a format nor a type with a shape");
    // Raw bytes may begin as a file of Futhark's does.
    assert_eq!(says("xs.raw:i16[2]", b"b\x02\x01\0", &wanted(BaseTy::I16, 1)), "read: [610 1] of shape [2]");
    assert_eq!(
        says("xs.raw:f32[1]", b"1234", &wanted(BaseTy::F64, 1)),
        "found f32 of shape [1]; if these bytes are of the wanted type, say so after the file's name instead of `f32[1]`"
    );
    assert!(f("xs.npz", b"1").starts_with("it is not an .npz file"));
    assert!(f("xs.npz:xs", b"1").starts_with("it is not an .npz file"));
    assert!(f("xs.npy", b"1").starts_with("it is not an .npy file"));
    assert!(f("xs.json", b"[1").starts_with("it is no JSON: EOF while parsing"));
    let one = bytes_of(&numbers(BaseTy::F32, &[1], [1]), Format::Npy);
    assert_eq!(f("xs.npy:0", &one), "an .npy file holds one value, and `:0` names none of it");
    let text = |name, bytes: &[u8]| says(name, bytes, &wanted(BaseTy::Char, 1));
    assert_eq!(text("xs.txt:text", "λ \"\n".as_bytes()), "read: \"λ \\\"\\n\" of shape [4]");
    assert_eq!(text("xs.txt:text", b"a\nb\xff"), "it is not UTF-8 (line 2)");
    assert!(f("xs.txt:text", b"12").starts_with("found char of shape [2]"));
    // Not read: too deep for any person's file.
    assert!(matches!(read_bytes("xs.rd", &[b'['; 100_000], &ty), Err(DataError::Literal(..))));
    assert!(matches!(read_bytes("xs.rd", b"(+ 1 2)", &ty), Err(DataError::Literal(..))));
    assert_eq!(f("xs.rd", b"[[1]]"), "found an array of shape [1 1], of rank 2 instead of rank 1");
}

#[test]
fn archives() {
    let ty = wanted(BaseTy::I64, 1);
    let fields = |labels: [Option<&str>; 2]| {
        AtomTy::tuple(labels.iter().map(|l| (l.map(Name::new), ArrTy::scalar(AtomTy::INT))).collect())
    };
    let tuple = |x, y| {
        remc_base::Atom::Tuple(Arc::from([numbers(BaseTy::I64, &[], [x]), numbers(BaseTy::I64, &[], [y])]))
    };
    let record =
        Value::of_atoms(fields([Some("x"), Some("y")]), vec![2], vec![tuple(1, 2), tuple(3, 4)]).unwrap();
    let bytes = bytes_of(&record, Format::Npz);
    assert_eq!(says("xs.npz:x", &bytes, &ty), "read: [1 3] of shape [2]");
    assert_eq!(says("xs.npz:y.npy", &bytes, &ty), "read: [2 4] of shape [2]");
    assert_eq!(says("xs.npz", &bytes, &ty), "None of the arrays [\"x\", \"y\"]");
    let pair = Value::of_atoms(fields([None, None]), vec![], vec![tuple(1, 2)]).unwrap();
    assert_eq!(
        says("xs.npz:arr_1", &bytes_of(&pair, Format::Npz), &wanted(BaseTy::I64, 0)),
        "read: 2 of shape []"
    );
    let mut empty = vec![];
    npz::write(&[], &mut empty).unwrap();
    assert_eq!(says("xs.npz", &empty, &ty), "None of the arrays []");
    let text = Value::of_scalars(BaseTy::Char, vec![1], [Scalar::Char('a')]);
    assert_eq!(output::refusal(&text, Format::Npz), Some("char".into()));
}

/// A member whose archive claims 2⁵⁰ bytes of it does not get the memory for them.
/// A box of what has these sizes.
fn boxed(value: Value) -> Value {
    let indices = value.shape.iter().map(|n| IndexValue::Dim(*n as i64)).collect();
    let params: Vec<IVar> = (0..value.shape.len()).map(|k| IVar::dim(k as u32, "n")).collect();
    let shape = Shape::of_dims(params.iter().cloned().map(Dim::rigid));
    let atom = AtomTy::sigma(params, ArrTy::new(value.atom.clone(), shape));
    Value { atom, shape: vec![], data: Data::Box(vec![Arc::new(BoxValue { indices, value })]) }
}

#[test]
fn a_single_box_is_the_array_in_it() {
    let inside = numbers(BaseTy::I32, &[2, 3], 0..6);
    for format in [Format::Npy, Format::Npz, Format::Csv, Format::Tsv, Format::Futhark, Format::Raw] {
        let plain = bytes_of(&inside, format);
        assert_eq!(bytes_of(&boxed(inside.clone()), format), plain, "{format:?}");
        assert_eq!(bytes_of(&boxed(boxed(inside.clone())), format), plain, "{format:?}");
    }
    assert!(text::print(&boxed(inside.clone())).starts_with("(box "));
    let several = Value { shape: vec![1], ..boxed(inside) };
    assert!(output::refusal(&several, Format::Npy).is_some());
}

#[test]
fn claims_are_not_believed() {
    let v = numbers(BaseTy::U8, &[4], [1, 2, 3, 4]);
    let npy = bytes_of(&v, Format::Npy);
    let claims = |text: &str| {
        let mut lie = String::from_utf8_lossy(&npy[10..128]).replace("(4,)", text);
        lie.truncate(118);
        [&npy[..10], lie.as_bytes(), &npy[128..]].concat()
    };
    let ty = wanted(BaseTy::U8, 1);
    assert_eq!(
        says("xs.npy", &claims("(1125899906842624,)"), &ty),
        "it is truncated: the shape needs 1125899906842624 bytes of data and there are 4"
    );
    let mut archive = vec![];
    let lie = claims("(1125899906842624,)");
    let content: Box<zip::Writes<'_>> = Box::new(|w: &mut dyn std::io::Write| w.write_all(&lie));
    zip::write(&[("xs.npy".into(), content)], &mut archive).unwrap();
    assert!(says("xs.npz", &archive, &ty).starts_with("its array `xs`: it is truncated"));
    // Where the archive agrees with the lie, its data ends too early.
    let size = (lie.len() as u32).to_le_bytes();
    let huge = u32::MAX.to_le_bytes();
    let mut at = 0;
    while let Some(found) = archive[at..].windows(4).position(|w| w == size) {
        archive[at + found..at + found + 4].copy_from_slice(&huge);
        at += found + 4;
    }
    assert!(!says("xs.npz", &archive, &ty).starts_with("read"), "{}", says("xs.npz", &archive, &ty));
    assert_eq!(
        says("xs", b"b\x02\x01 i64\0\0\0\0\0\0\0\x01", &wanted(BaseTy::I64, 1)),
        "it is truncated: the shape needs 576460752303423488 bytes of data and there are 0"
    );
}

#[test]
fn names_of_files() {
    assert_eq!(Place::missing("data.npz"), Some("data.npz"));
    assert_eq!(Place::missing("data.npz:xs"), Some("data.npz"));
    assert_eq!(Place::missing("my:data.npz:xs"), Some("my:data.npz"));
    assert_eq!(Place::missing("samples:f32[3]"), Some("samples"));
    assert_eq!(Place::missing("folder/data"), Some("folder/data"));
    assert_eq!(Place::missing("xs"), None);
    assert_eq!(Place::missing("(/ 1 2)"), None);
    let folder = std::env::temp_dir().join(format!("remc-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("a:b.csv").display().to_string();
    std::fs::write(&file, "1\n").unwrap();
    assert_eq!(Place::of(&file), Some(Place { path: file.clone().into(), selector: None }));
    let selected = Place { path: file.clone().into(), selector: Some("x:y".into()) };
    assert_eq!(Place::of(&format!("{file}:x:y")), Some(selected));
    assert_eq!(Place::of(&format!("{file}x")), None);
    let meter = Meter::default();
    let here = Place { path: folder.clone(), selector: None };
    assert_eq!(
        read(&here, "xs", &wanted(BaseTy::F32, 1), &meter, &Budget::of(None)),
        Err(DataError::Unreadable("it is a folder".into()))
    );
    std::fs::remove_dir_all(&folder).unwrap();
    for (name, format) in [
        ("a.npy", Some(Format::Npy)),
        ("A.NPZ", Some(Format::Npz)),
        ("x.fut.bin", Some(Format::Futhark)),
        ("x.bin", Some(Format::Raw)),
        ("x.in", Some(Format::Futhark)),
        ("x.rd", Some(Format::Remora)),
        ("x.txt", Some(Format::Text)),
        ("npy", None),
    ] {
        assert_eq!(Format::of_name(Path::new(name)), format, "{name}");
    }
}

//! What is written reads back, what others write is read, and what is damaged ends in words.

use super::super::source::Meter;
use super::super::stream::{self, Opened};
use super::super::{DataError, Format, Place, output, read_source};
use super::*;
use crate::budget::Budget;
use crate::stream::Piece;
use crate::text::{self, Style};
use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use proptest::prelude::*;
use remc_base::value::{BoxValue, Data};
use remc_base::{AtomTy, BaseTy, Dim, IVar, IndexValue, Name, Scalar, Shape, TupleTy};
use std::sync::Arc;

fn array(atom: AtomTy, rank: usize) -> ArrTy {
    let dims = (0..rank).map(|i| Dim::rigid(IVar::dim(i as u32, "n")));
    ArrTy::new(atom, Shape::of_dims(dims))
}

fn numbers(ty: BaseTy, rank: usize) -> ArrTy {
    array(AtomTy::Base(ty), rank)
}

/// Boxes of any number of items of this shape.
fn boxes(atom: AtomTy, item: &[i64]) -> AtomTy {
    let hidden = IVar::dim(90, "k");
    let dims = std::iter::once(Dim::rigid(hidden.clone())).chain(item.iter().map(|n| Dim::from(*n)));
    AtomTy::sigma(vec![hidden], ArrTy::new(atom, Shape::of_dims(dims)))
}

fn texts() -> AtomTy {
    boxes(AtomTy::CHAR, &[])
}

fn record(fields: Vec<(&str, ArrTy)>) -> AtomTy {
    let fields = fields.into_iter().map(|(l, ty)| (Some(Name::from(l)), ty)).collect();
    AtomTy::Tuple(Arc::new(TupleTy { fields }))
}

fn read_bytes(name: &str, bytes: &[u8], ty: &ArrTy, limit: u64) -> Result<Value, DataError> {
    let (meter, budget) = (Meter::default(), Budget::new(limit));
    let (path, selector) = name.split_once(':').map_or((name, None), |(p, s)| (p, Some(s.to_owned())));
    let place = Place { path: path.into(), selector };
    read_source(&mut Source::of_bytes(bytes.to_vec(), &meter, &budget), &place, "xs", ty)
}

/// The value, or what is wrong and what helps.
fn says(name: &str, bytes: &[u8], ty: &ArrTy) -> String {
    match read_bytes(name, bytes, ty, 1 << 30) {
        Ok(v) => text::print(&v),
        Err(DataError::Choose { there, asked, .. }) => format!("{asked:?} of {there:?}"),
        Err(DataError::Mismatch { found, help }) => {
            found + &help.map(|h| format!("; {h}")).unwrap_or_default()
        }
        Err(e) => e.to_string(),
    }
}

fn bytes_of(value: &Value, format: Format) -> Vec<u8> {
    assert_eq!(output::refusal(value, format), None);
    let mut out = vec![];
    output::write(value, format, Style::default(), &mut out).unwrap();
    out
}

fn file(batches: &[RecordBatch]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FileWriter::try_new(&mut out, &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    drop(writer);
    out
}

fn a_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new(&mut out, &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    drop(writer);
    out
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn floats(all: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(all.to_vec()))
}

/// Some value of a type in this shape, from numbers that come out of a seed.
fn some(atom: &AtomTy, shape: &[usize], seed: &mut u64) -> Value {
    let count: usize = shape.iter().product();
    let mut next = |n: u64| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % n
    };
    let data = match atom {
        AtomTy::Base(ty) => {
            let mut data = Data::of_base(*ty, count);
            for _ in 0..count {
                let n = next(1 << 30);
                let scalar = match ty {
                    BaseTy::Bool => Scalar::Bool(n % 2 == 0),
                    BaseTy::Char => Scalar::Char(['a', 'ß', '€', '\u{1f600}'][n as usize % 4]),
                    ty => Scalar::from_integer(*ty, i128::from(n % 100)).unwrap(),
                };
                assert!(data.push(remc_base::Atom::Scalar(scalar)));
            }
            data
        }
        AtomTy::Sigma(sigma) => {
            let mut all = Vec::new();
            for _ in 0..count {
                let n = next(4) as usize;
                let mut shape = super::cells::known(&sigma.body.shape).unwrap();
                shape[0] = n;
                let mut seed = next(1 << 30);
                let value = some(&sigma.body.atom, &shape, &mut seed);
                all.push(Arc::new(BoxValue { indices: vec![IndexValue::Dim(n as i64)], value }));
            }
            Data::Box(all)
        }
        AtomTy::Tuple(ty) => {
            let mut all = Vec::new();
            for _ in 0..count {
                let mut seed = next(1 << 30);
                let part = |(_, ty): &(_, ArrTy)| {
                    some(&ty.atom, &super::cells::known(&ty.shape).unwrap(), &mut seed)
                };
                all.push(ty.fields.iter().map(part).collect());
            }
            Data::Tuple(all)
        }
        _ => Data::Function(0),
    };
    Value { atom: atom.clone(), shape: shape.to_vec(), data }
}

fn atoms() -> impl Strategy<Value = AtomTy> {
    let base = prop::sample::select(BaseTy::ALL.to_vec()).prop_map(AtomTy::Base);
    base.prop_recursive(3, 12, 4, |inner| {
        let of = (inner.clone(), prop::collection::vec(0i64..3, 0..2));
        let field = (inner, prop::collection::vec(1i64..3, 0..2))
            .prop_map(|(atom, dims)| ArrTy::new(atom, Shape::of_dims(dims.into_iter().map(Dim::from))));
        let labelled = prop::collection::vec(field.clone(), 1..4)
            .prop_map(|all| record(["low", "a name", "z"].into_iter().zip(all).collect()));
        let tuple = prop::collection::vec(field, 1..3).prop_map(|all| {
            AtomTy::Tuple(Arc::new(TupleTy { fields: all.into_iter().map(|ty| (None, ty)).collect() }))
        });
        prop_oneof![of.prop_map(|(atom, item)| boxes(atom, &item)), labelled, tuple]
    })
}

/// Whether characters along a second axis would be told by nothing.
fn loses_its_shape(atom: &AtomTy, shape: &[usize]) -> bool {
    *atom == AtomTy::CHAR && shape.len() > 1 && shape.contains(&0)
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        atom in atoms(),
        shape in prop::collection::vec(0usize..4, 0..4),
        mut seed in any::<u64>(),
    ) {
        prop_assume!(!loses_its_shape(&atom, &shape));
        // A box alone is written as what is in it, and a record alone is a table of its own.
        prop_assume!(!shape.is_empty() || matches!(atom, AtomTy::Base(_)));
        let value = some(&atom, &shape, &mut seed);
        let want = array(atom, shape.len());
        for format in [Format::Arrow, Format::ArrowStream] {
            let bytes = bytes_of(&value, format);
            for name in ["xs.arrow", "xs", "xs.csv", "xs:arrow"] {
                let back = read_bytes(name, &bytes, &want, 1 << 30);
                prop_assert_eq!(back.as_ref(), Ok(&value), "{} as {:?}", text::print(&value), format);
            }
        }
    }

    #[test]
    fn records_and_boxes_alone_read_back(seed in any::<u64>(), n in 0usize..4) {
        let mut seed = seed;
        let base = || AtomTy::Base(BaseTy::F32);
        let fixed = |atom, n: usize| ArrTy::new(atom, Shape::of_dims([Dim::from(n as i64)]));
        let types = [
            record(vec![("x", ArrTy::scalar(base())), ("name", fixed(AtomTy::CHAR, n))]),
            record(vec![("x", fixed(base(), n)), ("names", fixed(texts(), n)), ("chars", fixed(AtomTy::CHAR, n))]),
            boxes(base(), &[]),
            texts(),
            boxes(texts(), &[]),
        ];
        for atom in types {
            let value = some(&atom, &[], &mut seed);
            let bytes = bytes_of(&value, Format::Arrow);
            prop_assert_eq!(read_bytes("xs.arrow", &bytes, &ArrTy::scalar(atom), 1 << 30), Ok(value));
        }
    }

    #[test]
    fn numbers_that_lie_do_no_harm(
        file in 0usize..5,
        column in 0usize..6,
        lies in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(LIES.to_vec())), 1..4),
    ) {
        let mut bytes = [TOWNS, STREAM, ZSTD, POLARS, AWKWARD][file].to_vec();
        for (at, lie) in lies {
            let at = at.index(bytes.len()) & !3;
            bytes[at..].iter_mut().zip(lie.to_le_bytes()).for_each(|(b, n)| *b = n);
        }
        let (column, ty) = [
            ("low", numbers(BaseTy::F64, 1)),
            ("pair", numbers(BaseTy::I64, 2)),
            ("kind", array(texts(), 1)),
            ("view", array(texts(), 1)),
            ("nested", array(boxes(boxes(AtomTy::Base(BaseTy::I64), &[]), &[]), 1)),
            ("lows", array(boxes(AtomTy::Base(BaseTy::F64), &[]), 1)),
        ][column].clone();
        let _ = read_bytes(&format!("xs:{column}"), &bytes, &ty, 1 << 24);
    }

    #[test]
    fn what_begins_well_and_goes_on_badly_does_no_harm(at in 0usize..700, with in prop::collection::vec(any::<u8>(), 1..40)) {
        for (mut bytes, ty) in samples() {
            let at = at % bytes.len();
            let end = bytes.len().min(at + with.len());
            bytes.splice(at..end, with.iter().copied());
            let _ = read_bytes("xs.arrow", &bytes, &ty, 1 << 24);
        }
    }
}

/// Numbers that messages lie with; some are those of other types.
const LIES: [u64; 12] = [0, 1, 2, 7, 14, 16, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX];

/// Tables of several kinds, small.
fn samples() -> Vec<(Vec<u8>, ArrTy)> {
    let mut seed = 7;
    let row = record(vec![("x", ArrTy::scalar(AtomTy::Base(BaseTy::F64))), ("t", ArrTy::scalar(texts()))]);
    let pairs = some(&AtomTy::Base(BaseTy::I16), &[3, 2], &mut seed);
    let lists = some(&boxes(boxes(AtomTy::Base(BaseTy::U8), &[]), &[]), &[2], &mut seed);
    let rows = some(&row, &[2], &mut seed);
    vec![
        (bytes_of(&pairs, Format::Arrow), numbers(BaseTy::I16, 2)),
        (bytes_of(&lists, Format::ArrowStream), array(lists.atom.clone(), 1)),
        (bytes_of(&rows, Format::Arrow), array(row, 1)),
        (
            file(&[batch(vec![("x", floats(&[1.0]))]), batch(vec![("x", floats(&[2.0, 3.0]))])]),
            numbers(BaseTy::F64, 1),
        ),
    ]
}

#[test]
fn every_damaged_byte_ends_in_words_or_a_value() {
    for (good, ty) in samples() {
        let value = read_bytes("xs.arrow", &good, &ty, 1 << 24).unwrap();
        for n in 0..good.len() {
            let cut = read_bytes("xs.arrow", &good[..n], &ty, 1 << 24);
            assert!(cut.is_err(), "{n} bytes of {} are read as {cut:?}", good.len());
            for with in [0, 1, 9, 0x7f, 0x80, 0xff, good[n] ^ 1, good[n] ^ 0x80] {
                let mut bytes = good.clone();
                bytes[n] = with;
                let found = says("xs.arrow", &bytes, &ty);
                assert!(!found.is_empty() && found.len() < 1000, "byte {n} = {with}: {found}");
            }
        }
        let longer = [good.as_slice(), b"7"].concat();
        assert!(read_bytes("xs.arrow", &longer, &ty, 1 << 24).is_err());
        assert_eq!(read_bytes("xs.arrow", &good, &ty, 1 << 24), Ok(value));
    }
}

#[test]
fn damaged_files_of_others_end_in_words() {
    for (good, columns) in [
        (TOWNS, &["town", "kind", "view"][..]),
        (STREAM, &["town", "kind", "view"]),
        (ZSTD, &["town", "kind", "view"]),
        (POLARS, &["kind"]),
    ] {
        for column in columns {
            let (name, ty) = (format!("xs:{column}"), array(texts(), 1));
            assert!(read_bytes(&name, good, &ty, 1 << 26).is_ok());
            for n in 0..good.len() {
                let cut = read_bytes(&name, &good[..n], &ty, 1 << 26);
                assert!(cut.is_err(), "{n} bytes of {} are read as {cut:?}", good.len());
                let mut bytes = good.to_vec();
                bytes[n] ^= if n % 2 == 0 { 0x80 } else { 0x03 };
                let _ = read_bytes(&name, &bytes, &ty, 1 << 26);
            }
        }
    }
}

/// What pyarrow wrote: `testsuite/data/arrow/make.py`.
const TOWNS: &[u8] = include_bytes!("../../../../testsuite/data/arrow/towns.feather");
const ZSTD: &[u8] = include_bytes!("../../../../testsuite/data/arrow/zstd.arrow");
/// … Polars, and awkward-array.
const POLARS: &[u8] = include_bytes!("../../../../testsuite/data/arrow/polars.arrow");
const AWKWARD: &[u8] = include_bytes!("../../../../testsuite/data/arrow/awkward.feather");
const STREAM: &[u8] = include_bytes!("../../../../testsuite/data/arrow/towns.arrows");

#[test]
fn files_of_pyarrow() {
    let float = || AtomTy::Base(BaseTy::F64);
    let int = || AtomTy::Base(BaseTy::I64);
    let scalar = ArrTy::scalar;
    for bytes in [TOWNS, STREAM] {
        let check = |column: &str, ty: ArrTy, expected: &str| {
            assert_eq!(says(&format!("towns:{column}"), bytes, &ty), expected, "{column}");
        };
        check("low", numbers(BaseTy::F64, 1), "[-2.5 9.0 0.25]");
        check("LOW", numbers(BaseTy::F64, 1), "[-2.5 9.0 0.25]");
        check("count", numbers(BaseTy::I32, 1), "[1 2 3]");
        check("open", numbers(BaseTy::Bool, 1), "[#t #f #t]");
        check("pair", numbers(BaseTy::I64, 2), "[[1 2] [3 4] [5 6]]");
        check("day", numbers(BaseTy::I32, 1), "[2 2 2]");
        check("time", numbers(BaseTy::I64, 1), "[7 8 9]");
        let lengths = |column: &str, ty: AtomTy| {
            let value = read_bytes(&format!("towns:{column}"), bytes, &array(ty, 1), 1 << 30).unwrap();
            let Data::Box(boxes) = value.data else { panic!("no boxes") };
            boxes.iter().map(|b| text::print(&b.value)).collect::<Vec<_>>()
        };
        assert_eq!(lengths("town", texts()), ["\"Oslo\"", "\"Rome\"", "\"Zürich\""]);
        assert_eq!(lengths("kind", texts()), ["\"a\"", "\"bc\"", "\"a\""]);
        assert_eq!(lengths("view", texts())[1], "\"a text of more than twelve bytes\"");
        assert_eq!(lengths("lows", boxes(AtomTy::Base(BaseTy::F32), &[]))[2], "[3.0]");
        assert_eq!(lengths("pair", boxes(int(), &[]))[1], "[3 4]");
        assert_eq!(lengths("nested", boxes(boxes(int(), &[]), &[])).len(), 3);
        let place = record(vec![("y", scalar(float())), ("x", scalar(int()))]);
        check(
            "place",
            array(place.clone(), 1),
            "[(record (y 2.0) (x 1)) (record (y 4.0) (x 3)) (record (y 6.0) (x 5))]",
        );
        let rows = record(vec![("count", scalar(AtomTy::Base(BaseTy::I32))), ("Low", scalar(float()))]);
        assert_eq!(
            says("towns", bytes, &array(rows, 1)),
            "[(record (count 1) (Low -2.5)) (record (count 2) (Low 9.0)) (record (count 3) (Low 0.25))]"
        );
        let columns = record(vec![("low", numbers(BaseTy::F64, 1)), ("pair", numbers(BaseTy::I64, 2))]);
        assert_eq!(
            says("towns", bytes, &scalar(columns)),
            "(record (low [-2.5 9.0 0.25]) (pair [[1 2] [3 4] [5 6]]))"
        );
        check(
            "gap",
            numbers(BaseTy::F64, 1),
            "null in row 1 of its column `gap` (the first is row 0); no value is none: leave such rows out, or fill them before, with `fill_null(float(\"nan\"))` in pyarrow or Polars",
        );
        check(
            "price",
            numbers(BaseTy::F64, 1),
            "decimal128(10, 2), which no type of Remora is, in its column `price`; numbers, booleans, dates, times, strings, lists, structs and dictionaries have types here",
        );
        check(
            "count",
            numbers(BaseTy::F64, 1),
            "int32 in its column `count`; convert it before: `.astype(\"float64\")` in pandas, `.cast(\"float64\")` in pyarrow",
        );
        check(
            "town",
            numbers(BaseTy::Char, 2),
            "6 elements in row 2 of its column `town`, and 4 before it; lists and texts of their own lengths are boxes: (Σ (k) [float k]), (Σ (k) [char k])",
        );
        check(
            "lows",
            numbers(BaseTy::F32, 2),
            "0 elements in row 1 of its column `lows`, and 2 before it; lists and texts of their own lengths are boxes: (Σ (k) [float k]), (Σ (k) [char k])",
        );
        check(
            "town",
            numbers(BaseTy::Char, 1),
            "more than one row of `town`, where one is wanted; texts of several rows are boxes of characters: (Σ (k) [char k])",
        );
        check("low", numbers(BaseTy::F64, 2), "an array of shape [3], of rank 1 instead of rank 2");
        check(
            "high",
            numbers(BaseTy::F64, 1),
            "Some(\"high\") of [\"low\", \"count\", \"open\", \"town\", \"kind\", \"lows\", \"pair\", \"place\", \"nested\", \"day\", \"time\", \"view\", \"gap\", \"price\"]",
        );
        let other = record(vec![("high", scalar(float()))]);
        assert!(says("towns", bytes, &array(other, 1)).starts_with("None of"));
    }
    let matrix = include_bytes!("../../../../testsuite/data/arrow/matrix.arrow");
    assert_eq!(says("m.arrow", matrix, &numbers(BaseTy::F32, 2)), "[[1.0 2.0] [3.0 4.0]]");
    assert_eq!(says("m.arrow:y", matrix, &numbers(BaseTy::F32, 1)), "[2.0 4.0]");
    assert_eq!(says("m.arrow", matrix, &numbers(BaseTy::F32, 1)), "None of [\"x\", \"y\"]");
    let other = array(record(vec![("high", scalar(float()))]), 1);
    assert_eq!(says("m.arrow", matrix, &other), "a table without a column `high`; its columns are `x`, `y`");
    for (zstd, column) in [(ZSTD, "kind"), (ZSTD, "town"), (ZSTD, "view")] {
        let of = |bytes| read_bytes(&format!("m:{column}"), bytes, &array(texts(), 1), 1 << 30);
        assert!(of(zstd).is_ok());
        assert_eq!(of(zstd), of(TOWNS));
    }
    let lists = read_bytes("a.feather", AWKWARD, &array(boxes(float(), &[]), 1), 1 << 30).unwrap();
    let Data::Box(all) = lists.data else { panic!("no boxes") };
    assert_eq!(all.iter().map(|b| b.value.shape[0]).collect::<Vec<_>>(), [2, 0, 1]);
    assert_eq!(says("p.arrow:low", POLARS, &numbers(BaseTy::F64, 1)), "[-2.5 9.0]");
    let kinds = read_bytes("p.arrow:kind", POLARS, &array(texts(), 1), 1 << 30).unwrap();
    let Data::Box(all) = kinds.data else { panic!("no boxes") };
    assert_eq!(all.iter().map(|b| text::print(&b.value)).collect::<Vec<_>>(), ["\"a\"", "\"bc\""]);
}

#[test]
fn nulls_say_where_they_are() {
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value([Some(1), Some(2)]);
    lists.append_value([] as [Option<i64>; 0]);
    lists.append_value([Some(3), None]);
    let lists: ArrayRef = Arc::new(lists.finish());
    let mut names = StringBuilder::new();
    names.append_value("a");
    names.append_null();
    names.append_value("b");
    let whole = batch(vec![("lists", lists), ("names", Arc::new(names.finish()))]);
    let bytes = file(&[whole.slice(0, 1), whole.slice(1, 2)]);
    let int = AtomTy::Base(BaseTy::I64);
    let found = says("xs.arrow:lists", &bytes, &array(boxes(int, &[]), 1));
    assert!(
        found.starts_with("null in row 2 of its column `lists` (the first is row 0); no value is none"),
        "{found}"
    );
    let found = says("xs.arrow:names", &bytes, &array(texts(), 1));
    assert!(found.starts_with("null in row 1 of its column `names`"), "{found}");
    let row = record(vec![("names", ArrTy::scalar(texts()))]);
    let found = says("xs.arrow", &bytes, &array(row, 1));
    assert!(found.starts_with("null in row 1 of its column `names`"), "{found}");
    // What is not wanted may have any.
    let other = batch(vec![
        ("n", Arc::new(Int64Array::from(vec![None, Some(1)])) as ArrayRef),
        ("x", floats(&[1.0, 2.0])),
    ]);
    assert_eq!(says("xs.arrow:x", &file(&[other]), &numbers(BaseTy::F64, 1)), "[1.0 2.0]");
}

#[test]
fn values_that_are_no_tables_are_refused() {
    let float = |n: usize| ArrTy::new(AtomTy::Base(BaseTy::F64), Shape::of_dims([Dim::from(n as i64)]));
    let mut seed = 3;
    let uneven = some(&record(vec![("a", float(2)), ("b", float(3))]), &[], &mut seed);
    let said = output::refusal(&uneven, Format::Arrow);
    assert_eq!(
        said.as_deref(),
        Some("a record of arrays of several lengths: the columns of a table have one")
    );
    let function = Value { atom: AtomTy::Base(BaseTy::F64), shape: vec![1], data: Data::Function(1) };
    assert!(output::refusal(&function, Format::Arrow).is_some());
}

#[test]
fn sizes_that_lie_take_no_memory() {
    let bytes = file(&[batch(vec![("x", floats(&vec![0.5; 10_000]))])]);
    let ty = numbers(BaseTy::F64, 1);
    assert!(matches!(read_bytes("xs.arrow", &bytes, &ty, 100_000), Err(DataError::TooMuch(_))));
    assert!(read_bytes("xs.arrow", &bytes, &ty, 300_000).is_ok());
    // A pipe says how much will come, and ends before.
    let (meter, budget) = (Meter::default(), Budget::new(1 << 30));
    let piped = |n: usize| {
        let mut source = Source::begun(Vec::new(), &bytes[..n], &meter, &budget);
        read_source(
            &mut source,
            &Place { path: "/dev/stdin".into(), selector: Some("arrow".into()) },
            "xs",
            &ty,
        )
    };
    assert!(piped(bytes.len()).is_ok());
    for n in 0..bytes.len() / 50 {
        assert!(piped(n * 50).is_err());
    }
    // What is kept is what the array takes, and the room of the rest went back.
    let (meter, budget) = (Meter::default(), Budget::new(1 << 30));
    let mut source = Source::of_bytes(bytes.clone(), &meter, &budget);
    read(&mut source, None, "xs", &ty).unwrap();
    assert!((1 << 30) - budget.left() < 90_000, "{}", (1 << 30) - budget.left());
}

/// The items of a stream, piece by piece, gone through twice.
fn pieces(bytes: &[u8], selector: Option<&str>, ty: &ArrTy, most: usize) -> Result<Vec<Vec<f64>>, String> {
    let folder = tempfile::tempdir().unwrap();
    let place = Place { path: folder.path().join("xs.arrow"), selector: selector.map(str::to_owned) };
    std::fs::write(&place.path, bytes).unwrap();
    let (meter, budget) = (Meter::default(), Budget::new(1 << 20));
    let opened = stream::open(&place, "xs", ty, &meter, &budget).map_err(|e| e.to_string())?;
    let Opened::Items(mut items, none) = opened else { return Err("no stream".into()) };
    assert_eq!(none.shape[0], 0);
    let mut all = Vec::new();
    for again in [false, true] {
        all.clear();
        loop {
            let piece = items.read(most, Piece::default())?;
            assert!(piece.count <= most);
            if piece.count == 0 {
                break;
            }
            let words = piece.arrays[0].as_chunks::<8>().0.iter();
            all.push(words.map(|b| f64::from_le_bytes(*b)).collect());
        }
        if !again {
            items.rewind()?;
        }
    }
    Ok(all)
}

#[test]
fn streams_are_read_a_batch_at_a_time() {
    let column = |from: usize, n: usize| floats(&(from..from + n).map(|k| k as f64).collect::<Vec<_>>());
    let part = |from, n| batch(vec![("x", column(from, n)), ("y", column(from, n))]);
    let several = [part(0, 3), part(3, 0), part(3, 2)];
    let float = numbers(BaseTy::F64, 1);
    for bytes in [file(&several), a_stream(&several)] {
        assert_eq!(pieces(&bytes, Some("x"), &float, 2), Ok(vec![vec![0.0, 1.0], vec![2.0], vec![3.0, 4.0]]));
        assert_eq!(pieces(&bytes, Some("x"), &float, 100), Ok(vec![vec![0.0, 1.0, 2.0], vec![3.0, 4.0]]));
        let rows = record(vec![("y", ArrTy::scalar(AtomTy::Base(BaseTy::F64)))]);
        assert_eq!(pieces(&bytes, None, &array(rows, 1), 100).map(|p| p.len()), Ok(2));
        let matrix = pieces(&bytes, None, &numbers(BaseTy::F64, 2), 100).unwrap();
        assert_eq!(matrix[1], [3.0, 3.0, 4.0, 4.0]);
        assert_eq!(
            pieces(&bytes[..bytes.len() / 3], Some("x"), &float, 2).map_err(|e| e.contains("truncated")),
            Err(true)
        );
    }
    // Many times the budget in all.
    let large: Vec<RecordBatch> = (0..100).map(|k| batch(vec![("x", column(k * 10_000, 10_000))])).collect();
    let all = pieces(&a_stream(&large), None, &float, 1 << 20).unwrap();
    assert_eq!((all.len(), all.concat().len()), (100, 1_000_000));
    // Texts are how long they are, where they begin, and their characters.
    let names: ArrayRef = Arc::new(StringArray::from(vec!["one", "", "three"]));
    let lengths = pieces(&file(&[batch(vec![("t", names)])]), None, &array(texts(), 1), 100).unwrap();
    assert_eq!(lengths[0].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [3, 0, 5]);
    let gap: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), None]));
    let said = pieces(&file(&[batch(vec![("x", gap)])]), None, &float, 2).unwrap_err();
    assert!(said.contains("null in row 2 of its column `x`"), "{said}");
}

use super::*;
use proptest::prelude::*;
use remc_base::{Atom, Scalar};

/// A file with the given header text and data.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([version, 0]);
    let n = header.len() as u32;
    out.extend(&n.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

fn ints(v: &Value) -> Vec<i128> {
    v.atoms()
        .map(|a| match a {
            Atom::Scalar(s) => s.as_integer().unwrap(),
            _ => panic!("a scalar"),
        })
        .collect()
}

fn bytes_of(v: &Value) -> Vec<u8> {
    let mut out = vec![];
    write(v, &mut out).unwrap();
    out
}

#[test]
fn versions_orders_and_ends() {
    let c = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
    let data: Vec<u8> = (0..6i16).flat_map(|i| i.to_le_bytes()).collect();
    for version in [1, 2, 3] {
        let v = read(&file(version, c, &data)).unwrap();
        assert_eq!((v.shape.clone(), ints(&v)), (vec![2, 3], vec![0, 1, 2, 3, 4, 5]));
    }
    let f = read(&file(1, &c.replace("False", "True"), &data)).unwrap();
    assert_eq!(ints(&f), [0, 2, 4, 1, 3, 5]);
    let big: Vec<u8> = (0..6i16).flat_map(|i| i.to_be_bytes()).collect();
    assert_eq!(ints(&read(&file(1, &c.replace('<', ">"), &big)).unwrap()), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn fortran_order_of_three_axes() {
    // Element (i, j, k) of shape [2 3 4] is 100 i + 10 j + k.
    let mut data = vec![];
    for k in 0..4u8 {
        for j in 0..3u8 {
            for i in 0..2u8 {
                data.push(100 * i + 10 * j + k);
            }
        }
    }
    let v = read(&file(1, "{'descr':'|u1','fortran_order':True,'shape':(2,3,4)}", &data)).unwrap();
    let expected: Vec<i128> =
        (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| 100 * i + 10 * j + k))).collect();
    assert_eq!(ints(&v), expected);
}

#[test]
fn scalars_and_empty_arrays() {
    let s = read(&file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &1.5f64.to_le_bytes()));
    assert_eq!(s.unwrap(), Value::scalar(Scalar::F64(1.5)));
    let e = read(&file(1, "{'descr': '?', 'fortran_order': True, 'shape': (0, 3), }", &[])).unwrap();
    assert_eq!((e.shape, e.data.len()), (vec![0, 3], 0));
}

#[test]
fn damage_is_reported() {
    let c = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
    assert_eq!(read(b"PK\x03\x04"), Err(NpyError::NotNpy));
    assert_eq!(read(b""), Err(NpyError::NotNpy));
    assert_eq!(read(&file(9, c, &[])), Err(NpyError::Version(9, 0)));
    assert_eq!(read(&file(1, c, &[0; 11])), Err(NpyError::Truncated { expected: 12, found: 11 }));
    assert_eq!(read(&file(1, c, &[0; 13])), Err(NpyError::TrailingBytes { expected: 12, found: 13 }));
    assert_eq!(read(&file(1, &c.replace("<i4", "<c8"), &[0; 24])), Err(NpyError::Dtype("<c8".into())));
    assert_eq!(read(&file(1, &c.replace("<i4", "|b1"), &[0, 1, 7])), Err(NpyError::NotBool(7)));
    for broken in [
        "",
        "{",
        "{'descr': '<i4'}",
        "{'descr': '<i4', 'fortran_order': 1, 'shape': (3,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)} x",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296,4294967296,4294967296)}",
    ] {
        assert!(matches!(read(&file(1, broken, &[0; 12])), Err(NpyError::Header(_))), "{broken}");
    }
    let structured = "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,)}";
    assert!(matches!(read(&file(1, structured, &[0; 12])), Err(NpyError::Dtype(_))));
    // Every prefix of a good file.
    let good = file(1, c, &[0; 12]);
    for n in 0..good.len() {
        assert!(read(&good[..n]).is_err());
    }
}

#[test]
fn written_as_numpy_writes() {
    let v = Value::of_scalars(BaseTy::I64, vec![2], [Scalar::I64(1), Scalar::I64(-1)]);
    let bytes = bytes_of(&v);
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(bytes.len(), 128 + 16);
    assert!(bytes[10..].starts_with(b"{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }  "));
    assert_eq!(bytes[127], b'\n');
}

fn scalars(ty: BaseTy, bits: &[u64]) -> Vec<Scalar> {
    let canonical = |b: u64| if ty == BaseTy::Bool { b & 1 } else { b };
    let width = ty.bits() as usize / 8;
    bits.iter()
        .map(|b| {
            let mut le = [0; 8];
            le[..width].copy_from_slice(&canonical(*b).to_le_bytes()[..width]);
            Scalar::from_bits64(ty, i64::from_le_bytes(le)).unwrap()
        })
        .collect()
}

proptest! {
    #[test]
    fn written_arrays_read_back(
        ty in prop::sample::select(BaseTy::ALL.into_iter().filter(|t| *t != BaseTy::Char).collect::<Vec<_>>()),
        shape in prop::collection::vec(0usize..4, 0..4),
        seed in prop::collection::vec(any::<u64>(), 64),
    ) {
        let n: usize = shape.iter().product();
        let v = Value::of_scalars(ty, shape, scalars(ty, &seed[..n]));
        // Compared as bytes: NaN is not equal to itself.
        let bytes = bytes_of(&v);
        prop_assert_eq!(bytes_of(&read(&bytes).unwrap()), bytes);
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..200), magic in any::<bool>()) {
        if magic {
            bytes.splice(..0, *b"\x93NUMPY\x01\x00");
        }
        let _ = read(&bytes);
    }
}

//! Values as text that reads back: what `remc run` prints.
//!
//! ```text
//! [[1 2 3] [4 5 6]]   #t   1e-7   "text"   ["hey" "sup"]   (array [0 3] int)   (values 1 [2 3])
//! (box ((n 3)) [int n] [1 2 3])   (boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))   #<function>
//! ```
//!
//! Numbers are printed without their type; a float prints as the shortest decimal that reads back as
//! itself, with a point or an exponent.

use half::f16;
use remc_base::value::Data;
use remc_base::{Atom, AtomTy, BaseTy, BoxValue, IndexValue, Scalar, SigmaTy, Value};
use std::fmt::{self, Write};

/// The text of a value.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_value(value, &mut out);
    out
}

pub fn write_value(value: &Value, out: &mut dyn Write) -> fmt::Result {
    match &value.atom {
        // No brackets can say the type or the axes behind an axis of size 0.
        atom if !value.shape.is_empty() && value.data.is_empty() => match (atom, value.shape.as_slice()) {
            (AtomTy::Base(BaseTy::Char), [0]) => out.write_str("\"\""),
            _ => {
                out.write_str("(array [")?;
                separated(out, &value.shape, |out, n| write!(out, "{n}"))?;
                write!(out, "] {atom})")
            }
        },
        AtomTy::Sigma(sigma) if !value.shape.is_empty() => boxes(sigma, value, out),
        _ => nested(&value.atom, &value.shape, &value.data, 0, out),
    }
}

/// The array of the atoms from `at` on as nested brackets; a vector of characters as a string.
fn nested(ty: &AtomTy, shape: &[usize], atoms: &Data, at: usize, out: &mut dyn Write) -> fmt::Result {
    match (shape, atoms) {
        ([], _) => atoms.get(at).map_or(Ok(()), |a| atom(ty, &a, out)),
        ([n], Data::Char(chars)) => string(chars.iter().skip(at).take(*n), out),
        ([n, rest @ ..], _) => {
            let size: usize = rest.iter().product();
            out.write_char('[')?;
            for i in 0..*n {
                if i > 0 {
                    out.write_char(' ')?;
                }
                nested(ty, rest, atoms, at + i * size, out)?;
            }
            out.write_char(']')
        }
    }
}

fn separated<T>(
    out: &mut dyn Write,
    items: &[T],
    mut each: impl FnMut(&mut dyn Write, &T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.write_char(' ')?;
        }
        each(out, item)?;
    }
    Ok(())
}

fn atom(ty: &AtomTy, atom: &Atom, out: &mut dyn Write) -> fmt::Result {
    match (atom, ty) {
        (Atom::Scalar(s), _) => scalar(*s, out),
        (Atom::Box(b), AtomTy::Sigma(sigma)) => {
            let sigma = &sigma.named_for_values(&mut 0);
            out.write_str("(box (")?;
            let bound: Vec<_> = sigma.params.iter().zip(&b.indices).collect();
            separated(out, &bound, |out, (param, i)| {
                write!(out, "({param} ")?;
                index(i, out)?;
                out.write_char(')')
            })?;
            write!(out, ") {} ", sigma.body)?;
            write_value(&b.value, out)?;
            out.write_char(')')
        }
        (Atom::Tuple(fields), AtomTy::Tuple(ty)) => {
            let record = !ty.fields.is_empty() && ty.fields.iter().all(|(label, _)| label.is_some());
            out.write_str(if record { "(record" } else { "(values" })?;
            for ((label, _), field) in ty.fields.iter().zip(fields.iter()) {
                out.write_char(' ')?;
                match label.as_ref().filter(|_| record) {
                    Some(label) => {
                        write!(out, "({label} ")?;
                        write_value(field, out)?;
                        out.write_char(')')?;
                    }
                    None => write_value(field, out)?,
                }
            }
            out.write_char(')')
        }
        _ => out.write_str("#<function>"),
    }
}

fn index(i: &IndexValue, out: &mut dyn Write) -> fmt::Result {
    match i {
        IndexValue::Dim(n) => write!(out, "{n}"),
        IndexValue::Shape(dims) => {
            out.write_char('[')?;
            separated(out, dims, |out, n| write!(out, "{n}"))?;
            out.write_char(']')
        }
    }
}

/// `(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))`
fn boxes(sigma: &SigmaTy, value: &Value, out: &mut dyn Write) -> fmt::Result {
    let sigma = &sigma.named_for_values(&mut 0);
    out.write_str("(boxes (")?;
    separated(out, &sigma.params, |out, p| write!(out, "{p}"))?;
    write!(out, ") {} [", sigma.body)?;
    separated(out, &value.shape, |out, n| write!(out, "{n}"))?;
    out.write_char(']')?;
    if let Data::Box(rows) = &value.data {
        for row in rows {
            let BoxValue { indices, value } = &**row;
            out.write_str(" ((")?;
            separated(out, indices, |out, i| index(i, out))?;
            out.write_str(") ")?;
            write_value(value, out)?;
            out.write_char(')')?;
        }
    }
    out.write_char(')')
}

pub fn scalar(s: Scalar, out: &mut dyn Write) -> fmt::Result {
    match s {
        Scalar::Bool(b) => out.write_str(if b { "#t" } else { "#f" }),
        Scalar::Char(c) => character(c, out),
        Scalar::F16(x) => float(f16_as_decimal(x), out),
        // Debug prints a finite float shortest, with a point or an exponent.
        Scalar::F32(x) if x.is_finite() => write!(out, "{x:?}"),
        Scalar::F32(x) => float(x as f64, out),
        Scalar::F64(x) => float(x, out),
        s => match s.as_integer() {
            Some(n) => write!(out, "{n}"),
            None => Ok(()),
        },
    }
}

fn float(x: f64, out: &mut dyn Write) -> fmt::Result {
    if x.is_nan() {
        out.write_str("nan")
    } else if x.is_infinite() {
        out.write_str(if x > 0.0 { "inf" } else { "-inf" })
    } else {
        write!(out, "{x:?}")
    }
}

/// The `f64` that prints as the shortest decimal that reads back as `x`.
fn f16_as_decimal(x: f16) -> f64 {
    let exact = x.to_f64();
    // Five significant digits tell all 16-bit floats apart.
    (0..5)
        .filter_map(|digits| format!("{exact:.digits$e}").parse::<f64>().ok())
        .find(|short| f16::from_f64(*short) == x)
        .unwrap_or(exact)
}

/// `#\a`, `#\space`, `#\newline`, `#\x7f`
fn character(c: char, out: &mut dyn Write) -> fmt::Result {
    match c {
        ' ' => out.write_str("#\\space"),
        '\n' => out.write_str("#\\newline"),
        '\t' => out.write_str("#\\tab"),
        c if prints(c) => write!(out, "#\\{c}"),
        c => write!(out, "#\\x{:x}", c as u32),
    }
}

fn string<'a>(chars: impl Iterator<Item = &'a char>, out: &mut dyn Write) -> fmt::Result {
    out.write_char('"')?;
    for c in chars {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\t' => out.write_str("\\t")?,
            '\r' => out.write_str("\\r")?,
            ' ' => out.write_char(' ')?,
            c if prints(*c) => out.write_char(*c)?,
            c => write!(out, "\\x{:x};", *c as u32)?,
        }
    }
    out.write_char('"')
}

/// Whether a character shows as itself on any terminal.
fn prints(c: char) -> bool {
    !c.is_control()
        && !c.is_whitespace()
        && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use remc_base::{ArrTy, Dim, IVar, Name, Shape};
    use std::sync::Arc;

    fn ints(shape: &[usize], of: impl IntoIterator<Item = i64>) -> Value {
        Value::of_scalars(BaseTy::I64, shape.to_vec(), of.into_iter().map(Scalar::I64))
    }

    fn chars(shape: &[usize], text: &str) -> Value {
        Value::of_scalars(BaseTy::Char, shape.to_vec(), text.chars().map(Scalar::Char))
    }

    fn ragged() -> AtomTy {
        let n = IVar::dim(0, "n");
        AtomTy::sigma(vec![n.clone()], ArrTy::new(AtomTy::INT, Shape::of_dims([Dim::rigid(n)])))
    }

    fn boxed(of: &[i64]) -> Atom {
        Atom::Box(Arc::new(BoxValue {
            indices: vec![IndexValue::Dim(of.len() as i64)],
            value: ints(&[of.len()], of.iter().copied()),
        }))
    }

    #[test]
    fn arrays() {
        assert_eq!(print(&ints(&[2, 3], 1..7)), "[[1 2 3] [4 5 6]]");
        assert_eq!(print(&ints(&[], [-5])), "-5");
        assert_eq!(print(&ints(&[0, 3], [])), "(array [0 3] int)");
        assert_eq!(print(&ints(&[1, 1, 1], [7])), "[[[7]]]");
    }

    #[test]
    fn text_and_characters() {
        assert_eq!(print(&chars(&[4], "text")), "\"text\"");
        assert_eq!(print(&chars(&[2, 3], "heysup")), "[\"hey\" \"sup\"]");
        assert_eq!(print(&chars(&[4], "a\"\\\n")), r#""a\"\\\n""#);
        assert_eq!(print(&chars(&[2], "\u{7f}λ")), r#""\x7f;λ""#);
        assert_eq!(print(&chars(&[0], "")), "\"\"");
        assert_eq!(print(&chars(&[], " ")), "#\\space");
        assert_eq!(print(&chars(&[], "λ")), "#\\λ");
        assert_eq!(print(&chars(&[], "\u{1}")), "#\\x1");
    }

    #[test]
    fn floats() {
        let f = |x| print(&Value::scalar(Scalar::F64(x)));
        assert_eq!(f(500.5), "500.5");
        assert_eq!(f(2.0), "2.0");
        assert_eq!(f(1e-7), "1e-7");
        assert_eq!(f(-0.0), "-0.0");
        assert_eq!(f(6.02e23), "6.02e23");
        assert_eq!(
            (f(f64::INFINITY), f(f64::NEG_INFINITY), f(f64::NAN)),
            ("inf".into(), "-inf".into(), "nan".into())
        );
        assert_eq!(print(&Value::scalar(Scalar::F32(0.1))), "0.1");
        assert_eq!(print(&Value::scalar(Scalar::F16(f16::from_f64(0.1)))), "0.1");
        assert_eq!(print(&Value::scalar(Scalar::F16(f16::from_f64(65504.0)))), "65500.0");
    }

    #[test]
    fn half_floats_read_back() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            if x.is_finite() {
                let text = print(&Value::scalar(Scalar::F16(x)));
                assert_eq!(f16::from_f64(text.parse().unwrap()).to_bits(), bits, "{text}");
            }
        }
    }

    #[test]
    fn boxes_and_tuples() {
        let of = |ty, shape, atoms: Vec<Atom>| Value::of_atoms(ty, shape, atoms).unwrap();
        let one = of(ragged(), vec![], vec![boxed(&[1, 2, 3])]);
        assert_eq!(print(&one), "(box ((n 3)) [int n] [1 2 3])");
        let two = of(ragged(), vec![2], vec![boxed(&[5]), boxed(&[6, 7])]);
        assert_eq!(print(&two), "(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))");
        let none = of(ragged(), vec![], vec![boxed(&[])]);
        assert_eq!(print(&none), "(box ((n 0)) [int n] (array [0] int))");
        let fields = |labels: [Option<&str>; 2]| {
            AtomTy::tuple(labels.iter().map(|l| (l.map(Name::new), ArrTy::scalar(AtomTy::INT))).collect())
        };
        let tuple = |x, y| Atom::Tuple(Arc::from([ints(&[], [x]), ints(&[2], [y, y])]));
        let v = of(fields([None, None]), vec![2], vec![tuple(1, 2), tuple(3, 4)]);
        assert_eq!(print(&v), "[(values 1 [2 2]) (values 3 [4 4])]");
        let r = of(fields([Some("x"), Some("y")]), vec![], vec![tuple(1, 2)]);
        assert_eq!(print(&r), "(record (x 1) (y [2 2]))");
        let f = Value {
            atom: AtomTy::func(vec![], ArrTy::scalar(AtomTy::INT)),
            shape: vec![2],
            data: Data::Function(2),
        };
        assert_eq!(print(&f), "[#<function> #<function>]");
    }
}

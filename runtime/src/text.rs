//! Values as text that reads back: what `remc run` prints.
//!
//! ```text
//! [[1 2 3] [4 5 6]]   #t   1e-7   "text"   ["hey" "sup"]   (array [0 3] int)   (values 1 [2 3])
//! (box ((n 3)) [int n] [1 2 3])   (boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))   #<function>
//! ```
//!
//! Numbers are printed without their type; a float prints as the shortest decimal that reads back as
//! itself, with a point or an exponent. A [`Style`] can ask for fewer digits or elements, for people; an
//! ellipsis then stands for what is left out, which no reader takes for a value.

use half::f16;
use remc_base::value::Data;
use remc_base::{Atom, AtomTy, BaseTy, BoxValue, IndexValue, Scalar, SigmaTy, Value};
use std::fmt::{self, Write};

/// How a value is printed; by default with all that it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Style {
    /// At most so many digits after a float's point.
    pub precision: Option<usize>,
    /// At most so many scalars.
    pub max_elements: Option<usize>,
}

const ELLIPSIS: char = '…';

/// The text of a value.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_value(value, Style::default(), &mut out);
    out
}

pub fn write_value(value: &Value, style: Style, out: &mut dyn Write) -> fmt::Result {
    let left = style.max_elements.unwrap_or(usize::MAX);
    Printer { out, precision: style.precision, left }.value(value)
}

struct Printer<'a> {
    out: &'a mut dyn Write,
    precision: Option<usize>,
    /// How many more elements are printed.
    left: usize,
}

impl Printer<'_> {
    fn value(&mut self, value: &Value) -> fmt::Result {
        match &value.atom {
            // No brackets can say the type or the axes behind an axis of size 0.
            atom if !value.shape.is_empty() && value.data.is_empty() => {
                match (atom, value.shape.as_slice()) {
                    (AtomTy::Base(BaseTy::Char), [0]) => self.out.write_str("\"\""),
                    _ => {
                        self.out.write_str("(array [")?;
                        self.separated(&value.shape, |p, n| write!(p.out, "{n}"))?;
                        match atom {
                            AtomTy::Sigma(sigma) => {
                                let named = sigma.named_for_values(&mut 0);
                                write!(self.out, "] {})", AtomTy::sigma(named.params, named.body))
                            }
                            _ => write!(self.out, "] {atom})"),
                        }
                    }
                }
            }
            AtomTy::Sigma(sigma) if !value.shape.is_empty() => self.boxes(sigma, value),
            _ => self.nested(&value.atom, &value.shape, &value.data, 0),
        }
    }

    /// The array of the atoms from `at` on as nested brackets; a vector of characters as a string.
    fn nested(&mut self, ty: &AtomTy, shape: &[usize], atoms: &Data, at: usize) -> fmt::Result {
        match (shape, atoms) {
            ([], _) => atoms.get(at).map_or(Ok(()), |a| self.atom(ty, &a)),
            ([n], Data::Char(chars)) => {
                let shown = (*n).min(self.left);
                self.left -= shown;
                string(chars.iter().skip(at).take(shown), self.out)?;
                // Outside of the quotes: it is no part of the text.
                if shown < *n { self.out.write_char(ELLIPSIS) } else { Ok(()) }
            }
            ([n, rest @ ..], _) => {
                let size: usize = rest.iter().product();
                self.out.write_char('[')?;
                for i in 0..*n {
                    if i > 0 {
                        self.out.write_char(' ')?;
                    }
                    if self.left == 0 {
                        self.out.write_char(ELLIPSIS)?;
                        break;
                    }
                    self.nested(ty, rest, atoms, at + i * size)?;
                }
                self.out.write_char(']')
            }
        }
    }

    fn separated<T>(
        &mut self,
        items: &[T],
        mut each: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.out.write_char(' ')?;
            }
            each(self, item)?;
        }
        Ok(())
    }

    /// A part of a box or tuple, or an ellipsis for it.
    fn part(&mut self, value: &Value) -> fmt::Result {
        if self.left == 0 { self.out.write_char(ELLIPSIS) } else { self.value(value) }
    }

    /// A box or tuple whose parts have no elements counts as one.
    fn counted(&mut self, print: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        let before = self.left;
        print(self)?;
        if self.left == before {
            self.left = self.left.saturating_sub(1);
        }
        Ok(())
    }

    fn atom(&mut self, ty: &AtomTy, atom: &Atom) -> fmt::Result {
        self.counted(|p| match (atom, ty) {
            (Atom::Scalar(s), _) => scalar(*s, p.precision, p.out),
            (Atom::Box(b), AtomTy::Sigma(sigma)) => {
                let sigma = &sigma.named_for_values(&mut 0);
                p.out.write_str("(box (")?;
                let bound: Vec<_> = sigma.params.iter().zip(&b.indices).collect();
                p.separated(&bound, |p, (param, i)| {
                    write!(p.out, "({param} ")?;
                    p.index(i)?;
                    p.out.write_char(')')
                })?;
                write!(p.out, ") {} ", sigma.body)?;
                p.part(&b.value)?;
                p.out.write_char(')')
            }
            (Atom::Tuple(fields), AtomTy::Tuple(ty)) => {
                let record = !ty.fields.is_empty() && ty.fields.iter().all(|(label, _)| label.is_some());
                p.out.write_str(if record { "(record" } else { "(values" })?;
                for ((label, _), field) in ty.fields.iter().zip(fields.iter()) {
                    p.out.write_char(' ')?;
                    match label.as_ref().filter(|_| record) {
                        Some(label) => {
                            write!(p.out, "({label} ")?;
                            p.part(field)?;
                            p.out.write_char(')')?;
                        }
                        None => p.part(field)?,
                    }
                }
                p.out.write_char(')')
            }
            _ => p.out.write_str("#<function>"),
        })
    }

    fn index(&mut self, i: &IndexValue) -> fmt::Result {
        match i {
            IndexValue::Dim(n) => write!(self.out, "{n}"),
            IndexValue::Shape(dims) => {
                self.out.write_char('[')?;
                self.separated(dims, |p, n| write!(p.out, "{n}"))?;
                self.out.write_char(']')
            }
        }
    }

    /// `(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))`
    fn boxes(&mut self, sigma: &SigmaTy, value: &Value) -> fmt::Result {
        let sigma = &sigma.named_for_values(&mut 0);
        self.out.write_str("(boxes (")?;
        self.separated(&sigma.params, |p, i| write!(p.out, "{i}"))?;
        write!(self.out, ") {} [", sigma.body)?;
        self.separated(&value.shape, |p, n| write!(p.out, "{n}"))?;
        self.out.write_char(']')?;
        if let Data::Box(rows) = &value.data {
            for row in rows {
                self.out.write_char(' ')?;
                if self.left == 0 {
                    self.out.write_char(ELLIPSIS)?;
                    break;
                }
                let BoxValue { indices, value } = &**row;
                self.counted(|p| {
                    p.out.write_str("((")?;
                    p.separated(indices, |p, i| p.index(i))?;
                    p.out.write_str(") ")?;
                    p.value(value)?;
                    p.out.write_char(')')
                })?;
            }
        }
        self.out.write_char(')')
    }
}

/// A scalar; a float with at most so many digits after its point.
pub fn scalar(s: Scalar, precision: Option<usize>, out: &mut dyn Write) -> fmt::Result {
    // The shortest text that reads back, and the exact value, of which fewer digits are taken.
    let (shortest, exact) = match s {
        Scalar::Bool(b) => return out.write_str(if b { "#t" } else { "#f" }),
        Scalar::Char(c) => return character(c, out),
        Scalar::F16(x) if x.is_finite() => (f16_as_decimal(x), x.to_f64()),
        // An f32's digits are fewer than those of the same number as an f64.
        Scalar::F32(x) if x.is_finite() && precision.is_none() => return write!(out, "{x:?}"),
        Scalar::F32(x) if x.is_finite() => (format!("{x:?}").parse().unwrap_or(x.into()), x.into()),
        Scalar::F64(x) => (x, x),
        s => match (s.as_integer(), s.as_float()) {
            (Some(n), _) => return write!(out, "{n}"),
            (None, Some(x)) => (x, x),
            (None, None) => return Ok(()),
        },
    };
    if exact.is_nan() {
        out.write_str("nan")
    } else if exact.is_infinite() {
        out.write_str(if exact > 0.0 { "inf" } else { "-inf" })
    } else {
        // Debug prints a finite float shortest, with a point or an exponent.
        match precision {
            None => write!(out, "{shortest:?}"),
            Some(digits) => out.write_str(&rounded(&format!("{shortest:?}"), exact, digits)),
        }
    }
}

/// A float with at most so many digits after its point, as NumPy's `precision` means it: zeros at the end are
/// left out, and what is very small or large keeps its size in an exponent.
fn rounded(shortest: &str, exact: f64, digits: usize) -> String {
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, ""));
    if mantissa.split_once('.').map_or(0, |(_, after)| after.len()) <= digits.max(1)
        && (digits > 0 || mantissa.ends_with(".0") || !mantissa.contains('.'))
    {
        return shortest.to_owned();
    }
    let size = exact.abs();
    let text = match exponent.is_empty() && (1e-4..1e16).contains(&size) {
        true => format!("{exact:.digits$}"),
        false => format!("{exact:.digits$e}"),
    };
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (text.as_str(), String::new()),
    };
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    // A point or an exponent says that it is a float.
    let point = if exponent.is_empty() && !mantissa.contains('.') { ".0" } else { "" };
    format!("{mantissa}{point}{exponent}")
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
    fn fewer_digits() {
        let f = |x, digits| {
            let mut out = String::new();
            scalar(Scalar::F64(x), Some(digits), &mut out).unwrap();
            out
        };
        assert_eq!(f(1.0 / 3.0, 3), "0.333");
        assert_eq!(f(0.5, 3), "0.5");
        assert_eq!(f(2.0, 3), "2.0");
        assert_eq!(f(1999.99951, 3), "2000.0");
        assert_eq!(f(3.7, 0), "4.0");
        assert_eq!(f(3.0, 0), "3.0");
        assert_eq!(f(100.25, 0), "100.0");
        assert_eq!(f(-0.0004, 2), "-0.0");
        // What is very small or large keeps its size.
        assert_eq!(f(0.000012345, 2), "1.23e-5");
        assert_eq!(f(1.23456e-7, 3), "1.235e-7");
        assert_eq!(f(1.75e-7, 0), "2e-7");
        assert_eq!(f(1e-7, 0), "1e-7");
        assert_eq!(f(-6.02214e23, 2), "-6.02e23");
        assert_eq!((f(f64::INFINITY, 1), f(f64::NAN, 1)), ("inf".into(), "nan".into()));
        let single = |x, digits| {
            let mut out = String::new();
            scalar(x, Some(digits), &mut out).unwrap();
            out
        };
        // The digits of the f64 that is nearest to an f32 are no digits of the f32.
        assert_eq!(single(Scalar::F32(0.1), 12), "0.1");
        assert_eq!(single(Scalar::F32(1.0 / 3.0), 4), "0.3333");
        assert_eq!(single(Scalar::F16(f16::from_f64(0.1)), 12), "0.1");
        assert_eq!(single(Scalar::I64(5), 2), "5");
    }

    #[test]
    fn fewer_elements() {
        let p = |v: &Value, most| {
            let mut out = String::new();
            write_value(v, Style { max_elements: Some(most), ..Style::default() }, &mut out).unwrap();
            out
        };
        assert_eq!(p(&ints(&[4], 1..5), 4), "[1 2 3 4]");
        assert_eq!(p(&ints(&[4], 1..5), 3), "[1 2 3 …]");
        assert_eq!(p(&ints(&[3, 3], 1..10), 4), "[[1 2 3] [4 …] …]");
        assert_eq!(p(&ints(&[3, 3], 1..10), 6), "[[1 2 3] [4 5 6] …]");
        assert_eq!(p(&ints(&[], [7]), 1), "7");
        assert_eq!(p(&chars(&[2, 3], "heysup"), 4), "[\"hey\" \"s\"…]");
        assert_eq!(p(&chars(&[2, 3], "heysup"), 3), "[\"hey\" …]");
        assert_eq!(p(&ints(&[0, 3], []), 1), "(array [0 3] int)");
        let two = Value::of_atoms(ragged(), vec![3], vec![boxed(&[]), boxed(&[6, 7]), boxed(&[8])]).unwrap();
        assert_eq!(p(&two, 2), "(boxes (n) [int n] [3] ((0) (array [0] int)) ((2) [6 …]) …)");
        let ty = AtomTy::tuple(vec![(None, ArrTy::scalar(AtomTy::INT)); 2]);
        let pair = Atom::Tuple(Arc::from([ints(&[], [1]), ints(&[], [2])]));
        let v = Value::of_atoms(ty, vec![2], vec![pair.clone(), pair]).unwrap();
        assert_eq!(p(&v, 3), "[(values 1 2) (values 1 …)]");
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

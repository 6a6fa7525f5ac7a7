//! The functions of texts and of numbers as text, beside those of Rust's library, on random texts and numbers; and plain
//! text as a format of files.

mod support;

use serde_json::Value;
use std::fmt::Write;
use support::{Folder, fails, gives, remc, text};

/// Each entry takes many cases at once.
const PROGRAM: &str = r"
(define-type Text (Σ (n) [char n]))
(entry (characters [cs [char n]])
  (values (uppercase cs) (lowercase cs) (whitespace? cs) (digit? cs) (letter? cs)))
(entry (integers [xs [int n]] [ys [u64 m]] [zs [i8 k]])
  (values (number->string xs) (number->string ys) (number->string zs)))
(entry (shortest [xs [float n]] [ys [f32 n]]) (values (number->string xs) (number->string ys)))
(entry (rounded [xs [float n]] [ds [int n]]) (number->string/digits xs ds))
(entry (read [ts [Text k]]) (unbox ts (t n) (values (string->int t) (string->number t))))
(entry (trimmed [ts [Text k]])
  (values (unbox ts (t n) (trim t)) (unbox ts (t n) (trim-left t)) (unbox ts (t n) (trim-right t))))
(entry (parts [ts [Text k]])
  (values (unbox ts (t n) (words t)) (unbox ts (t n) (lines t)) (unbox ts (t n) (split-by t #\,))))
(entry (joined [ts [Text k]] [us [Text k]])
  ((λ ([t Text] [u Text]) (join (split-by t #\,) u)) ts us))
(entry (padded [ts [Text k]] [ns [int k]])
  ((λ ([t Text] [n int]) (values (pad-left t n #\.) (pad-right t n #\.))) ts ns))
(entry (compared [ts [Text k]] [us [Text k]])
  ((λ ([t Text] [u Text])
     (values (text=? t u) (starts-with? t u) (ends-with? t u) (contains? t u) (lex< t u)))
   ts us))
(entry (found [ts [Text k]] [us [Text k]]) ((λ ([t Text] [u Text]) (find t u)) ts us))
(entry (replaced [ts [Text k]] [us [Text k]] [vs [Text k]])
  ((λ ([t Text] [u Text] [v Text]) (replace-all t u v)) ts us vs))
";

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 11) as usize % n
    }

    fn of(&mut self, alphabet: &str, most: usize) -> String {
        let all: Vec<char> = alphabet.chars().collect();
        (0..self.below(most + 1)).map(|_| all[self.below(all.len())]).collect()
    }

    fn float(&mut self) -> f64 {
        let small = self.below(2_000_000) as f64 - 1_000_000.0;
        match self.below(7) {
            0 => f64::from_bits(self.bits()),
            1 => small / (1u64 << self.below(21)) as f64,
            2 => small / 1000.0,
            3 => small * 2f64.powi(self.below(600) as i32 - 300),
            4 => (self.bits() as f64) * 4.0,
            5 => f64::from_bits(1 << self.below(53)),
            _ => [0.0, -0.0, f64::INFINITY, f64::NAN, 5e-324, f64::MAX, 0.5, 1.5, 2.5, 1e22, 1e23, 9.5, 99.5]
                [self.below(13)],
        }
    }
}

/// A literal of a text, also of one without characters.
fn literal(t: &str) -> String {
    if t.is_empty() {
        return "(box ((n 0)) [char n] (array [0] char))".into();
    }
    let inside = t.chars().fold(String::new(), |mut out, c| {
        let _ = write!(out, "\\u{{{:x}}}", c as u32);
        out
    });
    format!("(box \"{inside}\")")
}

fn texts(all: &[String]) -> String {
    bracket(all.iter().map(|t| literal(t)))
}

fn bracket(all: impl IntoIterator<Item = impl ToString>) -> String {
    let all: Vec<String> = all.into_iter().map(|x| x.to_string()).collect();
    format!("[{}]", all.join(" "))
}

fn number(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}

/// JSON without what it says of boxes.
fn bare(v: Value) -> Value {
    match v {
        Value::Object(mut fields) if fields.contains_key("value") => bare(fields["value"].take()),
        Value::Array(all) => Value::Array(all.into_iter().map(bare).collect()),
        other => other,
    }
}

/// What an entry gives of inputs in files, on each device.
fn run(entry: &str, inputs: &[(&str, String)], check: &dyn Fn(&Value)) {
    let folder = Folder::new(entry);
    let program = folder.file("p.remora", PROGRAM);
    let given: Vec<String> = inputs
        .iter()
        .map(|(name, value)| format!("{name}={}", folder.file(&format!("{name}.rd"), value)))
        .collect();
    for device in ["interp", "cpu"] {
        let mut args = vec!["run", &program, "--entry", entry, "--device", device, "--format", "json"];
        given.iter().for_each(|g| args.extend(["--input", g]));
        let o = remc(&args);
        assert_eq!(o.status.code(), Some(0), "{entry} {device}: {}", text(&o.stderr));
        check(&bare(serde_json::from_slice(&o.stdout).unwrap()));
    }
}

fn strings(v: &Value) -> Vec<String> {
    v.as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect()
}

fn lists(v: &Value) -> Vec<Vec<String>> {
    v.as_array().unwrap().iter().map(strings).collect()
}

fn same<T: PartialEq + std::fmt::Debug, C: std::fmt::Debug>(cases: &[C], found: &[T], wanted: &[T]) {
    assert_eq!(found.len(), wanted.len());
    for ((case, f), w) in cases.iter().zip(found).zip(wanted) {
        assert_eq!(f, w, "{case:?}");
    }
}

#[test]
fn characters() {
    let all: Vec<char> = (1..0x530)
        .chain(0x1670..0x1690)
        .chain(0x1ff0..0x2070)
        .chain([0x3000, 0x10ffff])
        .filter_map(char::from_u32)
        .collect();
    let known = |c: char| matches!(c as u32, 0..0x180 | 0x386..=0x3ce | 0x400..=0x45f);
    let one = |mut of: Box<dyn Iterator<Item = char>>, c: char| match (of.next(), of.next()) {
        (Some(x), None) if known(c) => x,
        _ => c,
    };
    let upper: String = all.iter().map(|c| one(Box::new(c.to_uppercase()), *c)).collect();
    let lower: String = all.iter().map(|c| one(Box::new(c.to_lowercase()), *c)).collect();
    let letter = |c: char| c.is_alphabetic() && matches!(c as u32, 0..=0x2c1 | 0x370..=0x52f);
    let input: String = bracket(all.iter().map(|c| format!("#\\x{:x}", *c as u32)));
    run("characters", &[("cs", input)], &|v| {
        assert_eq!((v[0].as_str().unwrap(), v[1].as_str().unwrap()), (&upper[..], &lower[..]));
        for (k, c) in all.iter().enumerate() {
            let wanted = [c.is_whitespace(), c.is_ascii_digit(), letter(*c)];
            assert_eq!([2, 3, 4].map(|f| v[f][k].as_bool().unwrap()), wanted, "{c:?}");
        }
    });
}

#[test]
fn numbers_as_text() {
    let mut r = Random(7);
    let mut ints: Vec<i64> = (0..150).map(|_| r.bits() as i64 >> r.below(64)).collect();
    ints.extend([0, -1, 9, 10, -10, i64::MIN, i64::MAX]);
    let unsigned: Vec<u64> = [0, u64::MAX, 10_000_000_000_000_000_000].into();
    let bytes: Vec<i8> = (-128..=127).collect();
    let inputs = [("xs", bracket(&ints)), ("ys", bracket(&unsigned)), ("zs", bracket(&bytes))];
    run("integers", &inputs, &|v| {
        same(&ints, &strings(&v[0]), &ints.iter().map(i64::to_string).collect::<Vec<_>>());
        same(&unsigned, &strings(&v[1]), &unsigned.iter().map(u64::to_string).collect::<Vec<_>>());
        same(&bytes, &strings(&v[2]), &bytes.iter().map(i8::to_string).collect::<Vec<_>>());
    });
    // As few digits as are read back as the same number; of how it is written nothing is said here.
    let floats: Vec<f64> = (0..300).map(|_| r.float()).collect();
    let halves: Vec<f32> = floats.iter().map(|x| *x as f32).collect();
    let inputs = [
        ("xs", bracket(floats.iter().map(|x| number(*x)))),
        ("ys", bracket(halves.iter().map(|x| number(f64::from(*x))))),
    ];
    let digits = |t: &str| {
        let mantissa = t.split('e').next().unwrap_or_default();
        mantissa.chars().filter(char::is_ascii_digit).collect::<String>().trim_matches('0').to_owned()
    };
    run("shortest", &inputs, &|v| {
        for (x, t) in floats.iter().zip(strings(&v[0])) {
            assert!(
                t.parse::<f64>().is_ok_and(|y| y.to_bits() == x.to_bits() || x.is_nan() && y.is_nan()),
                "{x:?} {t}"
            );
            assert!(!x.is_finite() || digits(&t).len() == digits(&format!("{x:e}")).len(), "{x:?} {t}");
        }
        for (x, t) in halves.iter().zip(strings(&v[1])) {
            assert!(
                t.parse::<f32>().is_ok_and(|y| y.to_bits() == x.to_bits() || x.is_nan() && y.is_nan()),
                "{x:?} {t}"
            );
            assert!(!x.is_finite() || digits(&t).len() == digits(&format!("{x:e}")).len(), "{x:?} {t}");
        }
    });
    let mut most = [4, 19, 40].into_iter().cycle();
    let places: Vec<usize> = floats.iter().map(|_| r.below(most.next().unwrap_or(4))).collect();
    let wanted = floats
        .iter()
        .zip(&places)
        .map(|(x, d)| format!("{x:.d$}").replace("NaN", "nan").replace("-nan", "nan"));
    let wanted: Vec<String> = wanted.collect();
    let inputs = [("xs", bracket(floats.iter().map(|x| number(*x)))), ("ds", bracket(&places))];
    run("rounded", &inputs, &|v| same(&floats, &strings(v), &wanted));
}

#[test]
fn numbers_from_text() {
    let mut r = Random(11);
    let mut all: Vec<String> = Vec::new();
    for _ in 0..200 {
        let x = r.float();
        let digits = r.below(25);
        all.push(match r.below(6) {
            0 => format!("{x:?}"),
            1 => format!(" {x:.digits$e}\n"),
            2 => r.of(" +-.eE0123", 8),
            3 => format!("{}{}", ["", "-", "+"][r.below(3)], r.of("0123456789", 22)),
            4 => {
                format!("{}.{}e{}", r.of("0123456789", 25), r.of("0123456789", 25), r.below(660) as i32 - 340)
            }
            // In the middle between two floats, or just beside it.
            _ => {
                let m = (1u64 << 53) + (r.bits() >> 12);
                format!("{}{}", m | 1, ["", ".0", ".00000000000000000000000001", "e0"][r.below(4)])
            }
        });
    }
    let more =
        ["", "inf", "-Infinity", "NaN", "1_0", "0x10", "1 2", ".", "5.", ".5", "1e", "9223372036854775808"];
    all.extend(more.iter().map(|t| (*t).to_owned()));
    all.extend(
        ["2.4703282292062327208e-324", "2.4703282292062328e-324", "1.7976931348623159e308"]
            .map(str::to_owned),
    );
    all.push(format!("0.{}1e401", "0".repeat(400)));
    let read = |t: &String| {
        let t = t.trim();
        let whole: Result<i64, _> = t.parse();
        let float = t.parse::<f64>().ok();
        (whole.ok(), float)
    };
    run("read", &[("ts", texts(&all))], &|v| {
        for (t, found) in all.iter().zip(v.as_array().unwrap()) {
            let (whole, float) = read(t);
            let value = |v: &Value| v[1].as_f64().or_else(|| v[1].as_str().and_then(|s| s.parse().ok()));
            assert_eq!(found[0][0].as_bool(), Some(whole.is_some()), "{t:?}");
            assert_eq!(found[0][1].as_i64(), Some(whole.unwrap_or(0)), "{t:?}");
            assert_eq!(found[1][0].as_bool(), Some(float.is_some()), "{t:?}");
            let (have, want) = (value(&found[1]).unwrap(), float.unwrap_or(0.0));
            assert!(have == want || have.is_nan() && want.is_nan(), "{t:?}: {have:?}, not {want:?}");
        }
    });
}

#[test]
fn parts_of_texts() {
    let mut r = Random(13);
    let mut all: Vec<String> = (0..150).map(|_| r.of(" ab,\n\t\u{2003}", 12)).collect();
    all.extend(["", " ", ",", "\n", "a\r\n", "\r", "\r\r\n", ",,", "a"].map(str::to_owned));
    let owned = |of: &dyn Fn(&str) -> &str| all.iter().map(|t| of(t).to_owned()).collect::<Vec<_>>();
    run("trimmed", &[("ts", texts(&all))], &|v| {
        same(&all, &strings(&v[0]), &owned(&str::trim));
        same(&all, &strings(&v[1]), &owned(&str::trim_start));
        same(&all, &strings(&v[2]), &owned(&str::trim_end));
    });
    let each = |of: &dyn Fn(&str) -> Vec<&str>| {
        all.iter().map(|t| of(t).into_iter().map(str::to_owned).collect()).collect::<Vec<Vec<String>>>()
    };
    run("parts", &[("ts", texts(&all))], &|v| {
        same(&all, &lists(&v[0]), &each(&|t| t.split_whitespace().collect()));
        same(&all, &lists(&v[1]), &each(&|t| t.lines().collect()));
        same(&all, &lists(&v[2]), &each(&|t| t.split(',').collect()));
    });
    let between: Vec<String> = all.iter().map(|_| r.of("-+é", 3)).collect();
    let wanted: Vec<String> = all.iter().zip(&between).map(|(t, u)| t.replace(',', u)).collect();
    run("joined", &[("ts", texts(&all)), ("us", texts(&between))], &|v| same(&all, &strings(v), &wanted));
    let widths: Vec<i64> = all.iter().map(|_| r.below(18) as i64 - 2).collect();
    run("padded", &[("ts", texts(&all)), ("ns", bracket(&widths))], &|v| {
        for (k, (t, n)) in all.iter().zip(&widths).enumerate() {
            let fill = ".".repeat(usize::try_from(n - t.chars().count() as i64).unwrap_or(0));
            let found = [0, 1].map(|side| {
                v[k][side]["value"].as_str().or_else(|| v[k][side].as_str()).unwrap_or_default().to_owned()
            });
            assert_eq!(found, [format!("{fill}{t}"), format!("{t}{fill}")], "{t:?} {n}");
        }
    });
}

#[test]
fn texts_in_texts() {
    let mut r = Random(17);
    let mut all: Vec<[String; 3]> = (0..200)
        .map(|_| {
            let (long, short) = ([2, 6, 12][r.below(3)], [1, 2, 4][r.below(3)]);
            [r.of("ab", long), r.of("ab", short), r.of("xyz", 3)]
        })
        .collect();
    all.push(["a".repeat(51), "aa".into(), "b".into()]);
    all.push(["ab".repeat(30), "aba".into(), String::new()]);
    let [ts, us, vs] = [0, 1, 2].map(|k| all.iter().map(|c| c[k].clone()).collect::<Vec<String>>());
    let inputs = [("ts", texts(&ts)), ("us", texts(&us)), ("vs", texts(&vs))];
    run("compared", &inputs[..2], &|v| {
        for ([t, u, _], found) in all.iter().zip(v.as_array().unwrap()) {
            let wanted = [t == u, t.starts_with(u), t.ends_with(u), t.contains(u), t < u];
            assert_eq!([0, 1, 2, 3, 4].map(|k| found[k].as_bool().unwrap()), wanted, "{t:?} {u:?}");
        }
    });
    run("found", &inputs[..2], &|v| {
        for ([t, u, _], found) in all.iter().zip(v.as_array().unwrap()) {
            let wanted: Vec<u64> =
                (0..=t.len()).filter(|k| t[*k..].starts_with(u)).map(|k| k as u64).collect();
            let found: Vec<u64> = found.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            assert_eq!(found, wanted, "{t:?} {u:?}");
        }
    });
    let wanted: Vec<String> = all.iter().map(|[t, u, v]| t.replace(u, v)).collect();
    run("replaced", &inputs, &|v| same(&all, &strings(v), &wanted));
}

#[test]
fn plain_text_is_written_as_it_is() {
    let folder = Folder::new("plain");
    let written = |expression: &str, name: &str| {
        let to = folder.path(name);
        let o = remc(&["run", "-e", expression, "-o", &to]);
        assert_eq!(o.status.code(), Some(0), "{expression}: {}", text(&o.stderr));
        std::fs::read(to).unwrap()
    };
    for (expression, wanted) in [
        ("\"to be\"", "to be\n"),
        ("\"to be\\n\"", "to be\n"),
        ("(lines \"to\\n\\nbe\")", "to\n\nbe\n"),
        ("[\"ab\" \"cd\"]", "ab\ncd\n"),
        ("(array [0] char)", ""),
        ("[1.5 2.0]", "1.5\n2.0\n"),
        ("[[1 2] [3 4]]", "1 2\n3 4\n"),
        ("(values 3 \"x\" #t)", "3\nx\ntrue\n"),
        ("(filter [#t #f] [1 2])", "1\n"),
        ("(array [2 0] int)", "\n\n"),
    ] {
        assert_eq!(text(&written(expression, "out.txt")), wanted, "{expression}");
        let printed = remc(&["run", "-e", expression, "--format", "text"]);
        assert_eq!(text(&printed.stdout), wanted, "{expression}");
    }
    fails(&["run", "-e", "[[[1]]]", "--format", "text"], 2, "an array of 3 axes");
    fails(&["run", "-e", "[sin]", "--format", "text"], 2, "cannot hold");
    // What was read is written again, also as it comes.
    let source = folder.file("in.txt", "ä\nb\n\nc");
    for ty in ["[char n]", "(Stream char)", "[(Σ (n) [char n]) k]", "(Stream (Σ (n) [char n]))"] {
        let (program, to) = (format!("(entry (main [t {ty}]) t)"), folder.path("copy.txt"));
        let o =
            remc(&["run", "-e", &program, "--entry", "main", "--input", &format!("t={source}"), "-o", &to]);
        assert_eq!(o.status.code(), Some(0), "{ty}: {}", text(&o.stderr));
        assert_eq!(std::fs::read_to_string(to).unwrap(), "ä\nb\n\nc\n", "{ty}");
    }
    // Compressed by its name.
    let packed = written("(iota [1000])", "numbers.npy.gz");
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < 4000, "{} bytes", packed.len());
    let back = format!("xs={}", folder.path("numbers.npy.gz"));
    gives(
        &["run", "-e", "(entry (main [xs [int n]]) (sum xs))", "--entry", "main", "--input", &back],
        "499500",
    );
}

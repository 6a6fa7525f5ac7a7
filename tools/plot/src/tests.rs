//! Values and what is drawn of them.

use crate::axis::{Axis, said};
use crate::figure::{BarsOf, What, figure};
use crate::histogram::histogram;
use crate::scene::Shape;
use crate::{Colours, Figure, Format, Kind, Screen, draw, thin};
use remc_base::{
    ArrTy, Atom, AtomTy, BaseTy, BoxValue, Dim, IVar, IndexValue, Name, Scalar, Shape as Sizes, Value,
};
use std::sync::Arc;

fn floats(shape: &[usize], of: impl IntoIterator<Item = f64>) -> Value {
    Value::of_scalars(BaseTy::F64, shape.to_vec(), of.into_iter().map(Scalar::F64))
}

fn ints(shape: &[usize], of: impl IntoIterator<Item = i64>) -> Value {
    Value::of_scalars(BaseTy::I64, shape.to_vec(), of.into_iter().map(Scalar::I64))
}

fn chars(shape: &[usize], text: &str) -> Value {
    Value::of_scalars(BaseTy::Char, shape.to_vec(), text.chars().map(Scalar::Char))
}

fn tuple(fields: Vec<(Option<&str>, Value)>) -> Value {
    let of = |v: &Value| ArrTy::new(v.atom.clone(), Sizes::of_sizes(&v.shape));
    let ty = fields.iter().map(|(l, v)| (l.map(Name::new), of(v))).collect();
    let parts: Vec<Value> = fields.into_iter().map(|(_, v)| v).collect();
    Value::of_atoms(AtomTy::tuple(ty), vec![], [Atom::Tuple(Arc::from(parts))]).unwrap()
}

fn ragged(rows: &[&[f64]]) -> Value {
    let n = IVar::dim(0, "n");
    let body = ArrTy::new(AtomTy::Base(BaseTy::F64), Sizes::of_dims([Dim::rigid(n.clone())]));
    let one = |row: &&[f64]| {
        let value = floats(&[row.len()], row.iter().copied());
        Atom::Box(Arc::new(BoxValue { indices: vec![IndexValue::Dim(row.len() as i64)], value }))
    };
    Value::of_atoms(AtomTy::sigma(vec![n], body), vec![rows.len()], rows.iter().map(one)).unwrap()
}

fn drawn(value: &Value, kind: Option<Kind>) -> Figure {
    let figure = figure(value, kind, "title").unwrap();
    // What is drawn can be written, and read.
    let svg = String::from_utf8(figure.file(Format::Svg).unwrap()).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.replace("infinite", "").contains("inf"), "{svg}");
    assert!(figure.file(Format::Png).unwrap().starts_with(b"\x89PNG"));
    for colours in [Colours::None, Colours::Some, Colours::All] {
        for (width, height) in [(80, 20), (1, 1), (1000, 1000)] {
            let text = figure.terminal(Screen { width, height, colours });
            assert_eq!(text.contains('\x1b'), colours != Colours::None && text.contains('\x1b'), "{text}");
        }
    }
    figure
}

#[track_caller]
fn refused(value: &Value, kind: Option<Kind>, why: &str) {
    let said = figure(value, kind, "").unwrap_err();
    assert!(said.contains(why), "{said}");
}

fn shown(value: &Value, colours: Colours) -> String {
    figure(value, None, "").unwrap().terminal(Screen { width: 40, height: 10, colours })
}

#[test]
fn vectors_are_lines_and_bars() {
    let What::Plane(plane) = drawn(&floats(&[100], (0..100).map(|i| f64::from(i).sin())), None).what else {
        panic!()
    };
    assert!(plane.lines[0].joined && plane.lines[0].x.is_none());
    for few in [floats(&[3], [1.5, -2.0, 0.0]), ints(&[50], 0..50), ints(&[2], [0, 0])] {
        assert!(matches!(drawn(&few, None).what, What::Bars(_)));
    }
    // Neither few nor counts.
    assert!(matches!(drawn(&ints(&[50], -1..49), None).what, What::Plane(_)));
    assert!(matches!(drawn(&floats(&[1], [3.0]), None).what, What::Plane(_)), "one point");
    assert!(matches!(drawn(&floats(&[500], [7.0; 500]), None).what, What::Plane(_)), "a constant");
    for kind in [Kind::Line, Kind::Bars, Kind::Scatter, Kind::Heat, Kind::Histogram] {
        drawn(&floats(&[5], [1.0, 2.0, 3.0, f64::NAN, 2.0]), Some(kind));
        drawn(&ints(&[1], [i64::MIN]), Some(kind));
    }
    drawn(&floats(&[3], [f64::MAX, f64::MIN, 5e-324]), Some(Kind::Line));
    drawn(&floats(&[3], [f64::MAX, f64::MIN, 5e-324]), Some(Kind::Histogram));
    drawn(&floats(&[2], [5e-324, 0.0]), Some(Kind::Line));
}

#[test]
fn pairs_are_points() {
    let pair =
        |x: Vec<f64>, y: Vec<f64>| tuple(vec![(None, floats(&[x.len()], x)), (None, floats(&[y.len()], y))]);
    let joined = |value: &Value, kind| match drawn(value, kind).what {
        What::Plane(plane) => (plane.lines.len(), plane.lines[0].x.is_some(), plane.lines[0].joined),
        other => panic!("{other:?}"),
    };
    let graph = pair(vec![0.0, 1.0, 4.0], vec![1.0, 0.0, 2.0]);
    let cloud = pair(vec![0.0, 4.0, 1.0], vec![1.0, 0.0, 2.0]);
    assert_eq!(joined(&graph, None), (1, true, true));
    assert_eq!(joined(&cloud, None), (1, true, false));
    assert_eq!(joined(&graph, Some(Kind::Scatter)), (1, true, false));
    assert_eq!(joined(&graph, Some(Kind::Line)), (2, false, true), "two vectors, a line each");
    assert_eq!(joined(&pair(vec![0.0, 1.0], vec![1.0, 0.0, 2.0]), None), (2, false, true));
    refused(&pair(vec![0.0, 1.0], vec![1.0]), Some(Kind::Scatter), "these are 2 and 1");
    assert_eq!(joined(&floats(&[4, 2], (0..8).map(f64::from)), None), (1, true, true));
    // An array of pairs.
    let scalar = |x| floats(&[], [x]);
    let ty = AtomTy::tuple(vec![(Some(Name::new("a")), ArrTy::scalar(AtomTy::Base(BaseTy::F64))); 2]);
    let one = |x: f64| Atom::Tuple(Arc::from([scalar(x), scalar(-x)]));
    assert_eq!(
        joined(&Value::of_atoms(ty, vec![3], [3.0, 1.0, 2.0].map(one)).unwrap(), None),
        (1, true, false)
    );
}

#[test]
fn several_vectors_are_lines() {
    let v = |k: f64| floats(&[3], [k, k + 1.0, k - 1.0]);
    let of = |value: &Value| match drawn(value, None).what {
        What::Plane(plane) => {
            (plane.across, plane.lines.iter().map(|l| l.name.clone().unwrap_or_default()).collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    };
    let three = tuple(vec![(Some("a"), v(1.0)), (Some("b"), v(2.0)), (Some("c"), v(3.0))]);
    assert_eq!(of(&three), (None, vec!["a".into(), "b".into(), "c".into()]));
    let over = tuple(vec![(Some("t"), v(1.0)), (Some("b"), v(2.0)), (Some("c"), v(3.0))]);
    assert_eq!(of(&over), (Some("t".into()), vec!["b".into(), "c".into()]));
    let rows = ragged(&[&[1.0, 2.0], &[], &[3.0, f64::NAN, 5.0]]);
    assert_eq!(of(&rows).1, ["row 0", "row 1", "row 2"]);
    let many: Vec<Vec<f64>> = (0..40).map(|k| vec![f64::from(k), f64::from(k * 2)]).collect();
    let many: Vec<&[f64]> = many.iter().map(Vec::as_slice).collect();
    drawn(&ragged(&many), None);
    refused(&ragged(&[&[], &[]]), None, "empty");
    refused(
        &tuple(vec![(Some("a"), v(1.0)), (Some("b"), floats(&[], [1.0]))]),
        None,
        "its part `b` is no vector",
    );
}

#[test]
fn names_and_numbers_are_bars_with_names() {
    let named = tuple(vec![(None, chars(&[2, 3], "ab cde")), (Some("age"), floats(&[2], [1.5, -2.0]))]);
    let What::Bars(bars) = drawn(&named, None).what else { panic!() };
    assert_eq!(bars.of, BarsOf::Names(vec!["ab".into(), "cde".into()]));
    assert_eq!(bars.up.as_deref(), Some("age"));
}

#[test]
fn matrices_are_heat_maps_and_images() {
    let what = |value: &Value, kind| match drawn(value, kind).what {
        What::Heat(heat) => format!("heat {}×{}", heat.rows, heat.columns),
        What::Image(image) => format!("image {}×{} {:?}", image.rows, image.columns, image.pixels[1]),
        What::Plane(plane) => format!("{} lines", plane.lines.len()),
        What::Bars(_) => "bars".into(),
    };
    assert_eq!(what(&ints(&[2, 3], 0..6), None), "heat 2×3");
    assert_eq!(what(&ints(&[16, 16], 0..256), None), "image 16×16 [1, 1, 1]");
    assert_eq!(what(&ints(&[16, 16], 1..257), None), "heat 16×16", "256 is no grey level");
    assert_eq!(what(&floats(&[16, 16], (0..256).map(f64::from)), None), "heat 16×16");
    assert_eq!(what(&floats(&[1, 2], [0.0, 0.5]), Some(Kind::Image)), "image 1×2 [128, 128, 128]");
    assert_eq!(what(&ints(&[2, 3], 0..6), Some(Kind::Line)), "2 lines");
    assert_eq!(what(&floats(&[1, 2, 3], [0.0, 0.0, 0.0, 1.0, 0.5, 0.2]), None), "image 1×2 [255, 128, 51]");
    assert_eq!(what(&ints(&[1, 2, 4], [9, 9, 9, 255, 0, 0, 0, 0]), None), "image 1×2 [255, 255, 255]");
    assert_eq!(what(&floats(&[2, 2], [f64::NAN, 1.0, -1.0, 2.0]), None), "heat 2×2");
    assert_eq!(what(&floats(&[1, 3000], (0..3000).map(f64::from)), None), "heat 1×3000");
    let flags = Value::of_scalars(BaseTy::Bool, vec![2, 2], [true, false, false, true].map(Scalar::Bool));
    assert_eq!(what(&flags, None), "heat 2×2");
    refused(&ints(&[1, 2], [0, 300]), Some(Kind::Image), "from 0 to 300");
}

#[test]
fn what_has_no_picture_is_said() {
    refused(&ints(&[], [3]), None, "one number");
    refused(&chars(&[2], "ab"), None, "text");
    refused(&ints(&[0], []), None, "it is empty, of shape [0]");
    refused(&ints(&[2, 0], []), None, "of shape [2 0]");
    refused(&ints(&[2, 2, 2, 2], 0..16), None, "an array of 4 axes, [2 2 2 2]");
    refused(&floats(&[20], [f64::NAN; 20]), None, "none of its 20 numbers is finite");
    refused(&floats(&[1], [f64::INFINITY]), None, "its only number is not finite");
    let functions = Value {
        atom: AtomTy::func(vec![], ArrTy::scalar(AtomTy::INT)),
        shape: vec![2],
        data: remc_base::value::Data::Function(2),
    };
    refused(&functions, None, "functions");
}

#[test]
fn gaps_are_said() {
    let figure = drawn(&floats(&[20], (0..20).map(|i| if i % 5 == 0 { f64::NAN } else { 1.0 })), None);
    assert_eq!(figure.notes, ["4 of 20 are gaps: nan or infinite"]);
    let lines = draw::draw(&figure).shapes.into_iter().filter(|s| match s {
        Shape::Line { points, width, .. } => *width == 1.8 && points.len() == 4,
        _ => false,
    });
    assert_eq!(lines.count(), 4, "a line between gaps");
}

#[test]
fn a_million_points_are_thinned_with_their_extremes() {
    let mut all: Vec<f64> = (0..1_000_000).map(|i| (f64::from(i) / 1e5).sin()).collect();
    all[123_456] = 40.0;
    let scene = draw::draw(&drawn(&floats(&[1_000_000], all), None));
    let longest = scene.shapes.iter().filter_map(|s| match s {
        Shape::Line { points, width, .. } if *width == 1.8 => Some(points),
        _ => None,
    });
    let points = longest.max_by_key(|p| p.len()).unwrap();
    assert!(points.len() < 6_000, "{}", points.len());
    // The one number that is far away is there, at the top.
    let top = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    assert_eq!(points.iter().filter(|p| p.1 < top + 100.0).count(), 1);
    let cloud: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i % 10), f64::from(i % 7))).collect();
    assert_eq!(thin::dots(&cloud, 1.0).len(), 70);
    let line: Vec<(f64, f64)> = [5.0, 1.0, 9.0, 3.0, 4.0, 4.0].iter().map(|y| (0.2, *y)).collect();
    let kept: Vec<f64> = thin::line(&line, 1.0).iter().map(|p| p.1).collect();
    assert_eq!(kept, [5.0, 1.0, 9.0, 4.0], "first, least, greatest and last, in their order");
}

#[test]
fn ticks_are_round() {
    let labels = |low: f64, high: f64, most, whole| -> Vec<String> {
        Axis::new([low, high], (0.0, 1.0)).labels(most, whole).into_iter().map(|(_, l)| l).collect()
    };
    assert_eq!(labels(0.0, 10.0, 5, false), ["0", "2", "4", "6", "8", "10"]);
    assert_eq!(labels(-1.0, 1.0, 4, false), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    assert_eq!(labels(0.0, 3.0, 8, true), ["0", "1", "2", "3"]);
    assert_eq!(labels(0.0, 3e6, 3, false), ["0", "1e6", "2e6", "3e6"]);
    assert_eq!(labels(1.0, 1.0004, 4, false), ["1.0000", "1.0001", "1.0002", "1.0003", "1.0004"]);
    assert_eq!(labels(0.0, 2e-9, 2, false), ["0", "1e−9", "2e−9"]);
    for (low, high) in [(f64::MIN, f64::MAX), (0.0, 5e-324), (1e300, 1.0001e300), (-1e-300, 1e300)] {
        assert!(Axis::new([low, high], (0.0, 1.0)).labels(6, false).len() <= 9);
        assert!(Axis::new([low, high], (0.0, 1.0)).at(high) == 1.0);
    }
    assert_eq!(
        [0.0, -3.0, 1.5, 1234.5678, 1e9, 1.0 / 3.0].map(said),
        ["0", "−3", "1.5", "1235", "1e9", "0.3333"]
    );
}

#[test]
fn histograms_count() {
    let (edges, counts) = histogram(&[1.0, 1.0, 2.0, 5.0, f64::NAN], true);
    assert_eq!((edges, counts), (vec![0.5, 1.5, 2.5, 3.5, 4.5, 5.5], vec![2.0, 1.0, 0.0, 0.0, 1.0]));
    for numbers in
        [vec![3.0; 9], vec![f64::MIN, f64::MAX], vec![0.0, 1e-320], (0..1000).map(f64::from).collect()]
    {
        for whole in [false, true] {
            let (edges, counts) = histogram(&numbers, whole);
            assert_eq!(counts.iter().sum::<f64>(), numbers.len() as f64);
            assert_eq!(edges.len(), counts.len() + 1);
        }
    }
}

#[test]
fn text_in_a_picture_is_text() {
    let figure = figure(&ints(&[3], [1, 2, 3]), None, "(< a \"b\" & \u{1b}[2J c)").unwrap();
    let svg = String::from_utf8(figure.file(Format::Svg).unwrap()).unwrap();
    assert!(svg.contains("<title>(&lt; a &quot;b&quot; &amp; \\u{1b}[2J c)</title>"), "{svg}");
    assert!(!figure.terminal(Screen { width: 80, height: 20, colours: Colours::None }).contains('\u{1b}'));
}

#[test]
fn bars_in_a_terminal() {
    let text = shown(&floats(&[3], [1.0, 2.0, 0.5]), Colours::None);
    let bar = |n: usize| "█".repeat(n);
    assert_eq!(text, format!("0 ┃{} 1\n1 ┃{} 2\n2 ┃{} 0.5\n", bar(16), bar(32), bar(8)));
    let text = shown(&floats(&[2], [1.0, -2.0]), Colours::None);
    assert_eq!(text, format!("0 {}┃{} 1\n1 {}┃ −2\n", " ".repeat(16), bar(8), bar(16)));
    assert!(shown(&ints(&[2], [1, 2]), Colours::All).contains("\x1b[38;2;0;114;178m█"));
    assert!(shown(&ints(&[2], [1, 2]), Colours::Some).contains("\x1b[38;5;25m█"));
}

#[test]
fn a_line_in_a_terminal() {
    let text = shown(&floats(&[100], (0..100).map(f64::from)), Colours::None);
    let lines: Vec<&str> = text.lines().collect();
    // From the lower left to the upper right.
    assert_eq!(lines.len(), 8, "{text}");
    assert_eq!(lines[0].trim_end(), "100 ┤                              ⣀⡠⠤⠖⠊");
    assert_eq!(lines[5], "  0 ┤⡠⠴⠒⠊⠉");
    assert_eq!(lines[7], "     0               50");
}

#[test]
fn cells_in_a_terminal() {
    assert_eq!(shown(&ints(&[2, 2], [0, 9, 4, 5]), Colours::None), "  @@\n==++\n0 [ .:-=+*#%@] 9\n");
    let colour = shown(&ints(&[2, 2], [0, 9, 4, 5]), Colours::All);
    assert!(colour.contains("\x1b[38;2;68;1;84m\x1b[48;2;68;1;84m▀\x1b[0m"), "{colour}");
    let letters = ragged(&[&[0.0, 1.0], &[1.0, 0.0]]);
    assert!(shown(&letters, Colours::None).starts_with("* row 0  + row 1\n"));
}

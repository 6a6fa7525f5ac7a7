//! The charts of a report, as SVG: colours and fonts are the page's.
//!
//! | chart | across | up |
//! | --- | --- | --- |
//! | [`gains`] | time | a data set a line: with the defaults, and as tuned |
//! | [`versions`] | the size that is compared with a threshold | the time of both versions of each data set |
//! | [`values`] | the value of a number | the time of each data set in terms of its fastest |

use super::axis::{Axis, FAR, of_ratio, of_size, of_time};
use crate::measured::{Last, Measured, Number, On, Tried};
use crate::search::NEAR;
use crate::words;
use maud::{Markup, html};
use std::cell::Cell;

/// Everything is drawn in these units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
/// How high a chart of values is: of these there may be many, and most say that nothing changes.
const LOW: f64 = 250.0;
/// How wide a letter is, about, in a wide font.
const LETTER: f64 = 7.2;
/// How far apart lines of text are.
const LINE: f64 = 14.0;
/// How many data sets a chart of values names.
const NAMED: usize = 11;

/// Numbers the charts of a page, so that each can be referred to.
#[derive(Default)]
pub struct Ids(Cell<usize>);

impl Ids {
    fn next(&self) -> String {
        self.0.set(self.0.get() + 1);
        format!("chart-{}", self.0.get())
    }
}

/// With the defaults and as tuned: a line for each data set. Nothing if nothing was compared.
pub fn gains(m: &Measured, ids: &Ids) -> Option<Markup> {
    let rows: Vec<(&str, &Last)> =
        m.data.iter().filter_map(|d| Some((d.name.as_str(), d.last.as_ref()?))).collect();
    let times = rows.iter().flat_map(|(_, l)| [l.defaults.as_ref().ok(), l.tuned.as_ref().ok()]);
    let times: Vec<f64> = times.flatten().copied().collect();
    if times.is_empty() {
        return None;
    }
    let (row, top) = (26.0, 12.0);
    let names = rows.iter().map(|(name, _)| width(name)).fold(40.0, f64::max).min(200.0);
    let (left, right, bottom) = (names + 14.0, WIDTH - 96.0, top + row * rows.len() as f64);
    let axis = Axis::new(times, true, (left, right));
    let desc = "A line for each data set: a ring at its time with the defaults, a dot at its time as tuned, and by how much \
                it is faster.";
    let marks = html! {
        @for x in axis.ticks(false) {
            line class="grid" x1=(px(axis.at(x))) x2=(px(axis.at(x))) y1=(px(top)) y2=(px(bottom)) {}
            text class="soft" x=(px(axis.at(x))) y=(px(bottom + 18.0)) text-anchor="middle" { (of_time(x)) }
        }
        line class="frame" x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
        text class="soft" x=(px((left + right) / 2.0)) y=(px(bottom + 36.0)) text-anchor="middle" {
            "time of a run" @if axis.is_log { " (logarithmic)" }
        }
        @for (k, (name, last)) in rows.iter().enumerate() {
            @let y = top + row * (k as f64 + 0.5);
            @let at = |t: &crate::measured::Time| t.as_ref().ok().map(|s| axis.at(*s));
            text x=(px(left - 10.0)) y=(px(y + 4.0)) text-anchor="end" { (cut(name, 200.0)) }
            @if let (Some(a), Some(b)) = (at(&last.defaults), at(&last.tuned)) {
                line class="link" x1=(px(a)) x2=(px(b)) y1=(px(y)) y2=(px(y)) {}
            }
            @if let Some(x) = at(&last.defaults) {
                (mark(0, x, y, "open k5", &format!("{name}, with the defaults: {}", said(&last.defaults))))
            }
            @if let Some(x) = at(&last.tuned) {
                (mark(0, x, y, "full k0", &format!("{name}, as tuned: {}", said(&last.tuned))))
            }
            text x=(px(WIDTH - 2.0)) y=(px(y + 4.0)) text-anchor="end" { (gain(last)) }
        }
    };
    let keys = html! {
        span { (key(html! { (mark(0, 11.0, 6.0, "open k5", "")) })) "with the defaults" }
        span { (key(html! { (mark(0, 11.0, 6.0, "full k0", "")) })) "as tuned" }
    };
    Some(figure(ids, "Time over data sets", desc, bottom + 44.0, marks, keys))
}

/// Both versions of each data set that compares one size with a threshold, at that size.
pub fn versions(n: &Number, m: &Measured, ids: &Ids) -> Option<Markup> {
    let on: Vec<(&On, f64)> =
        n.on.iter().filter(|o| o.count == 1).filter_map(|o| Some((o, *o.sizes.first()? as f64))).collect();
    let times: Vec<f64> = on.iter().flat_map(|(o, _)| &o.tried).filter_map(|t| t.time.clone().ok()).collect();
    if times.is_empty() {
        return None;
    }
    let frame = Frame { left: 76.0, right: WIDTH - 16.0, top: 40.0, bottom: HEIGHT - 48.0 };
    let marked = [n.default as f64, n.chosen as f64];
    let x = Axis::new(on.iter().map(|(_, size)| *size).chain(marked), false, (frame.left, frame.right));
    let y = Axis::new(times, true, (frame.bottom, frame.top));
    let taken = |o: &On, t: &Tried| o.under(n.chosen).is_some_and(|now| now.at == t.at);
    let reaches = |t: &Tried, size: f64| t.at as f64 <= size;
    let place = |t: &Tried| t.time.as_ref().map_or(frame.top + 5.0, |s| y.at(*s));
    let mut taken_up: Vec<Rect> = Vec::new();
    for (o, size) in &on {
        taken_up.extend(o.tried.iter().map(|t| Rect::around(x.at(*size), place(t), 6.0, 6.0)));
    }
    // A name may cross these where there is no other place.
    let height = frame.bottom - frame.top;
    let crossed = marked.map(|line| Rect { x: x.at(line) - 2.0, y: frame.top, width: 4.0, height });
    let mut labels = Vec::new();
    for (o, size) in &on {
        // By how much the slower version is slower: of pairs far apart in time that is hard to see.
        let apart = o.tried.iter().map(|t| t.times).filter(|t| t.is_finite()).fold(1.0, f64::max);
        let apart = if apart > NEAR { format!(" {}", of_ratio(apart)) } else { String::new() };
        let name = cut(m.label(o), 130.0) + &apart;
        let ys = || o.tried.iter().map(place);
        let (high, low) = (ys().fold(f64::INFINITY, f64::min), ys().fold(0.0, f64::max));
        let place = |taken: &[Rect]| free(&name, x.at(*size), (high, low), &frame, taken);
        if let Some(at) = place(&[&taken_up[..], &crossed].concat()).or_else(|| place(&taken_up)) {
            taken_up.push(at);
            labels.push((at, name));
        }
    }
    let desc = format!(
        "Across: the size that each data set compares with {}. Up: how long a run takes where the size reaches the number, \
         and where it does not. {}",
        n.name,
        lines_said(n)
    );
    let marks = html! {
        (grid(&frame, &x, &y, "size", of_time, "time of a run"))
        (numbers(n, &frame, &x))
        @for (o, size) in &on {
            @if let [a, b] = o.tried.as_slice() {
                line class="link" x1=(px(x.at(*size))) x2=(px(x.at(*size))) y1=(px(place(a))) y2=(px(place(b))) {}
            }
        }
        @for (o, size) in &on {
            @for t in &o.tried {
                @let (shape, colour) = if reaches(t, *size) { (0, "k0") } else { (1, "k1") };
                @let filled = if taken(o, t) { "full" } else { "open" };
                @let which = if reaches(t, *size) { "reaches" } else { "does not reach" };
                @let title = format!("{}: size {size} {which} the number: {}", m.label(o), said(&t.time));
                @match &t.time {
                    Ok(_) => (mark(shape, x.at(*size), place(t), &format!("{filled} {colour}"), &title)),
                    Err(_) => (cross(x.at(*size), place(t), colour, &title)),
                }
            }
        }
        @for (at, name) in &labels {
            text class="halo" x=(px(at.x)) y=(px(at.y + at.height - 3.0)) { (name) }
        }
    };
    let failed = on.iter().any(|(o, _)| o.tried.iter().any(|t| t.time.is_err()));
    let keys = html! {
        span { (key(html! { (mark(0, 11.0, 6.0, "full k0", "")) })) "the size reaches the number" }
        span { (key(html! { (mark(1, 11.0, 6.0, "full k1", "")) })) "it does not" }
        span { (key(html! { (mark(0, 5.0, 6.0, "open k0", "")) (mark(1, 17.0, 6.0, "open k1", "")) })) "open: not what is taken" }
        @if failed { span { (key(cross(11.0, 6.0, "k5", ""))) "no result" } }
        (number_keys(n))
    };
    Some(figure(ids, &format!("{}: versions over sizes", n.name), &desc, HEIGHT, marks, keys))
}

/// The time of each data set over the values of a number: of a field of a schedule, or where many sizes are compared.
pub fn values(n: &Number, m: &Measured, ids: &Ids) -> Option<Markup> {
    let on: Vec<&On> = n.on.iter().filter(|o| o.count != 1).collect();
    let tried = || on.iter().flat_map(|o| &o.tried).filter(|t| t.times.is_finite());
    tried().next()?;
    let names = on.iter().map(|o| width(m.label(o))).fold(0.0, f64::max).min(150.0);
    let frame = Frame { left: 76.0, right: WIDTH - 20.0 - names, top: 40.0, bottom: LOW - 48.0 };
    let marked = [n.default as f64, n.chosen as f64];
    let x = Axis::new(tried().map(|t| t.at as f64).chain(marked), false, (frame.left, frame.right));
    let y = Axis::new(tried().map(|t| t.times), true, (frame.bottom, frame.top));
    let points = |o: &On| -> Vec<(f64, f64)> {
        o.tried.iter().filter(|t| t.times.is_finite()).map(|t| (x.at(t.at as f64), y.at(t.times))).collect()
    };
    // Names beside the ends of lines, as near as they can be without covering each other.
    let mut ends: Vec<(f64, usize)> =
        on.iter().enumerate().filter_map(|(k, o)| Some((points(o).last()?.1, k))).collect();
    ends.truncate(NAMED);
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = frame.top - LINE;
    for (at, _) in &mut ends {
        *at = at.max(below + LINE);
        below = *at;
    }
    let mut above = frame.bottom + LINE;
    for (at, _) in ends.iter_mut().rev() {
        *at = at.min(above - LINE);
        above = *at;
    }
    let desc = format!(
        "Across: the values of {} that were tried. Up: how long each data set takes, in terms of its fastest. {}",
        n.name,
        lines_said(n)
    );
    let colour = |k: usize| format!("k{}", k % 6);
    let marks = html! {
        (grid(&frame, &x, &y, "value", of_ratio, "time / the fastest"))
        (numbers(n, &frame, &x))
        @for (k, o) in on.iter().enumerate() {
            @let line: Vec<String> = points(o).iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
            polyline class={ "curve " (colour(k)) } points=(line.join(" ")) {}
        }
        @for (k, o) in on.iter().enumerate() {
            @for t in &o.tried {
                @let title = format!("{}, {} at {}: {}", m.label(o), words::sizes(o), t.at, said(&t.time));
                @if t.times.is_finite() {
                    (mark(k % 4, x.at(t.at as f64), y.at(t.times), &format!("full {}", colour(k)), &title))
                } @else {
                    (cross(x.at(t.at as f64), frame.top + 5.0, &colour(k), &title))
                }
            }
        }
        @for (at, k) in &ends {
            @if let Some((end, was)) = points(on[*k]).last() {
                line class={ "curve " (colour(*k)) } x1=(px(*end + 6.0)) y1=(px(*was)) x2=(px(frame.right + 8.0)) y2=(px(*at)) opacity="0.5" {}
            }
            text x=(px(frame.right + 12.0)) y=(px(at + 4.0)) { (cut(m.label(on[*k]), 150.0)) }
        }
    };
    let failed = on.iter().any(|o| o.tried.iter().any(|t| !t.times.is_finite()));
    let keys = html! {
        (number_keys(n))
        @if failed { span { (key(cross(11.0, 6.0, "k5", ""))) "no result" } }
        @if on.len() > NAMED { span { "the table names all " (on.len()) " data sets" } }
    };
    Some(figure(ids, &format!("{}: time over its values", n.name), &desc, LOW, marks, keys))
}

/// Where a chart's marks are.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

fn grid(f: &Frame, x: &Axis, y: &Axis, across: &str, of: fn(f64) -> String, up: &str) -> Markup {
    let middle = (f.top + f.bottom) / 2.0;
    html! {
        @for v in y.ticks(false) {
            line class="grid" x1=(px(f.left)) x2=(px(f.right)) y1=(px(y.at(v))) y2=(px(y.at(v))) {}
            text class="soft" x=(px(f.left - 8.0)) y=(px(y.at(v) + 4.0)) text-anchor="end" { (of(v)) }
        }
        @for v in x.ticks(true) {
            line class="grid" x1=(px(x.at(v))) x2=(px(x.at(v))) y1=(px(f.top)) y2=(px(f.bottom)) {}
            text class="soft" x=(px(x.at(v))) y=(px(f.bottom + 17.0)) text-anchor="middle" { (of_size(v)) }
        }
        path class="frame" d=(format!("M{} {}V{}H{}", px(f.left), px(f.top), px(f.bottom), px(f.right))) {}
        text class="soft" x=(px((f.left + f.right) / 2.0)) y=(px(f.bottom + 36.0)) text-anchor="middle" {
            (across) @if x.is_log { " (logarithmic)" }
        }
        text class="soft" x="12" y=(px(middle)) text-anchor="middle" transform=(format!("rotate(-90 12 {})", px(middle))) {
            (up) @if y.is_log { " (logarithmic)" }
        }
    }
}

/// The default and the chosen value of a number, as lines across the chart.
fn numbers(n: &Number, f: &Frame, x: &Axis) -> Markup {
    let one = |value: i64, class: &str, said: &str, row: f64| {
        let at = x.at(value as f64);
        let text = match words::number_of(&n.name, value) {
            word if value as f64 >= FAR => format!("{said} {word} →"),
            word if value == 0 && n.is_threshold() => format!("← {said} {word}"),
            word => format!("{said} {word}"),
        };
        let half = width(&text) / 2.0;
        let middle = at.clamp(f.left - 40.0 + half, (WIDTH - 2.0 - half).max(half));
        html! {
            line class=(class) x1=(px(at)) x2=(px(at)) y1=(px(f.top - 4.0)) y2=(px(f.bottom)) {}
            text class="halo" x=(px(middle)) y=(px(row)) text-anchor="middle" { (text) }
        }
    };
    // One above the other, so that they never touch.
    html! {
        @if n.chosen != n.default { (one(n.default, "default", "default", f.top - 24.0)) }
        (one(n.chosen, "chosen", if n.chosen == n.default { "stays" } else { "tuned" }, f.top - 9.0))
    }
}

fn number_keys(n: &Number) -> Markup {
    let line = |class: &str| key(html! { line class=(class) x1="0" x2="22" y1="6" y2="6" {} });
    html! {
        @if n.chosen != n.default {
            span { (line("default")) "its default" }
            span { (line("chosen")) "its value as tuned" }
        } @else {
            span { (line("chosen")) "its default, which stays" }
        }
    }
}

fn lines_said(n: &Number) -> String {
    match n.chosen == n.default {
        true => format!("The number stays {}.", words::number_of(&n.name, n.default)),
        false => format!(
            "The number is {} by default, and {} as tuned.",
            words::number_of(&n.name, n.default),
            words::number_of(&n.name, n.chosen)
        ),
    }
}

fn figure(ids: &Ids, title: &str, desc: &str, height: f64, marks: Markup, keys: Markup) -> Markup {
    let id = ids.next();
    html! {
        figure {
            svg.chart viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-labelledby={ (id) "-title " (id) "-desc" } {
                title id={ (id) "-title" } { (title) }
                desc id={ (id) "-desc" } { (desc) }
                (marks)
            }
            figcaption { (keys) }
        }
    }
}

/// A sign before a word below a chart.
fn key(sign: Markup) -> Markup {
    html! { svg.key viewBox="0 0 22 12" aria-hidden="true" { (sign) } }
}

/// A circle, square, triangle or diamond.
fn mark(shape: usize, x: f64, y: f64, class: &str, title: &str) -> Markup {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    let path = match shape {
        0 => format!("M{}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", at(-4.5, 0.0)),
        1 => format!("M{}h8v8h-8z", at(-4.0, -4.0)),
        2 => format!("M{}l5 9h-10z", at(0.0, -5.5)),
        _ => format!("M{}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", at(0.0, -5.5)),
    };
    html! { path class={ "mark " (class) } d=(path) { @if !title.is_empty() { title { (title) } } } }
}

fn cross(x: f64, y: f64, colour: &str, title: &str) -> Markup {
    let path = format!("M{} {}l8 8m0 -8l-8 8", px(x - 4.0), px(y - 4.0));
    html! { path class={ "mark " (colour) } d=(path) { @if !title.is_empty() { title { (title) } } } }
}

/// A place that is taken.
#[derive(Clone, Copy)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rect {
    fn around(x: f64, y: f64, across: f64, up: f64) -> Rect {
        Rect { x: x - across, y: y - up, width: 2.0 * across, height: 2.0 * up }
    }

    fn meets(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// A place for a name near marks at `x`, from `high` to `low`, that covers nothing; `None` if there is none.
fn free(name: &str, x: f64, (high, low): (f64, f64), f: &Frame, taken: &[Rect]) -> Option<Rect> {
    let (width, height) = (width(name), LINE);
    let rect = |x, y| Rect { x, y, width, height };
    let places = [
        rect(x - width / 2.0, high - 8.0 - height),
        rect(x - width / 2.0, low + 8.0),
        rect(x + 9.0, high - height / 2.0),
        rect(x - 9.0 - width, high - height / 2.0),
        rect(x + 9.0, low - height / 2.0),
        rect(x - 9.0 - width, low - height / 2.0),
        rect(x + 9.0, (low + high - height) / 2.0),
        rect(x - 9.0 - width, (low + high - height) / 2.0),
    ];
    let inside = |r: &Rect| {
        r.x >= f.left + 2.0 && r.x + r.width <= f.right && r.y >= f.top && r.y + r.height <= f.bottom
    };
    places.into_iter().find(|r| inside(r) && !taken.iter().any(|t| t.meets(r)))
}

/// By how much a data set is faster.
pub fn gain(last: &Last) -> String {
    match (&last.defaults, &last.tuned, &last.ratio) {
        (Ok(_), Ok(_), Some(r)) => format!("{:.2}×", 1.0 / r.median.max(1e-12)),
        (Err(_), Ok(_), _) => "only as tuned".into(),
        _ => "no result".into(),
    }
}

fn said(time: &crate::measured::Time) -> String {
    match time {
        Ok(seconds) => words::time(*seconds),
        Err(why) => format!("no result, {why}"),
    }
}

/// How wide a text is, about.
fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A text that is no wider than that.
fn cut(text: &str, most: f64) -> String {
    let most = (most / LETTER) as usize;
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A length, with a digit behind the point at most.
fn px(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

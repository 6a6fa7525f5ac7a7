//! One page about a tuning: what was gained, on which data, and for each number what was measured.
//!
//! It is HTML that needs nothing else, no script either: charts are SVG, with a title and a description for who cannot see
//! them, and what they show is in tables as well. Colours follow the reader's choice of light or dark, and paper is light.
//! It is made from the measurements alone, so that the same ones give the same page.

mod axis;
mod chart;

use crate::explain::{meaning, why};
use crate::file::Tuned;
use crate::measured::{Data, Last, Measured, Number, On};
use crate::search::NEAR;
use crate::words::{at, number_of, sizes, time};
use chart::Ids;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use remc_base::visible;
use remc_flat::flatten::Threshold;

/// The page about what was tuned of a program. What nothing stands behind is left out.
pub fn page(program: &str, all: &[Tuned]) -> String {
    let ids = Ids::default();
    let measured: Vec<(&Tuned, Measured)> =
        all.iter().filter_map(|t| Some((t, shown(t.measured.as_ref()?)))).collect();
    let title = format!("{}: tuning", visible(program));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                main {
                    h1 { (visible(program)) ", tuned" }
                    p.soft { "What " code { "remc autotune" } " has measured, and what it has chosen by it." }
                    @if measured.is_empty() { p { "Nothing was measured." } }
                    @for (t, m) in &measured { (entry(t, m, &ids)) }
                }
            }
        }
    };
    page.into_string()
}

/// With names that do nothing to a page or a terminal.
fn shown(m: &Measured) -> Measured {
    let data = m.data.iter().map(|d| Data { name: visible(&d.name).into_owned(), ..d.clone() });
    let numbers = m.numbers.iter().map(|n| Number { name: visible(&n.name).into_owned(), ..n.clone() });
    Measured { data: data.collect(), numbers: numbers.collect(), ..m.clone() }
}

fn entry(t: &Tuned, m: &Measured, ids: &Ids) -> Markup {
    let (changed, stay): (Vec<&Number>, Vec<&Number>) = m.numbers.iter().partition(|n| n.chosen != n.default);
    html! {
        section {
            h2 { code { (visible(&t.entry)) } " on the " (t.device) " device" }
            p { (in_short(m)) }
            dl {
                dt { "machine" } dd { (visible(&m.on())) }
                dt { "date" } dd { (m.date) }
                dt { "code" } dd { code { (t.code) } }
                dt { "data sets" } dd { (m.data.len()) }
                dt { "numbers" } dd { (changed.len()) " changed, " (stay.len()) " looked at and left as they are" }
            }
            @if m.given_up {
                p { "What was found was slower on a data set in the last run than the defaults, so that these stay." }
            }
            @if m.cut_short { p { "The search ended before everything was looked at." } }
            @if let Some(chart) = chart::gains(m, ids) {
                h3 { "What was gained" }
                (chart)
                (gains(m))
            }
            @for n in changed.into_iter().chain(stay) { (number(n, m, ids)) }
        }
    }
}

/// The first sentence: what came of it.
fn in_short(m: &Measured) -> String {
    let faster = |d: &Data| {
        let r = d.last.as_ref()?.ratio?;
        (r.median < 1.0 / NEAR && r.high < 1.0).then_some(1.0 / r.median)
    };
    let gains: Vec<(&str, f64)> = m.data.iter().filter_map(|d| Some((d.name.as_str(), faster(d)?))).collect();
    let best = gains.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match (best, m.data.iter().any(|d| d.last.is_some())) {
        (_, false) => "The search ended before anything was compared with the defaults.".into(),
        (None, true) => "Every data set runs as fast with the defaults.".into(),
        (Some((name, gain)), true) => {
            let (count, all) = (gains.len(), m.data.len());
            let runs = if count == 1 { "runs" } else { "run" };
            let most = if count == 1 { "" } else { "at most " };
            format!(
                "{count} of {all} data sets {runs} faster than with the defaults, {most}{gain:.2}× ({name})."
            )
        }
    }
}

fn gains(m: &Measured) -> Markup {
    let cell = |t: &crate::measured::Time| match t {
        Ok(seconds) => html! { td.n { (time(*seconds)) } },
        Err(why) => html! { td { "no result: " (visible(why)) } },
    };
    let interval = |last: &Last| {
        let faster = |x: f64| format!("{:.2}×", 1.0 / x.max(1e-12));
        last.ratio.map_or(String::new(), |r| format!("{} to {}", faster(r.high), faster(r.low)))
    };
    html! {
        div.wide { table {
            caption { "Times are medians; both ran in turn, so that the gain is by round." }
            thead { tr {
                th scope="col" { "data set" }
                th.n scope="col" { "defaults" } th.n scope="col" { "tuned" }
                th.n scope="col" { "gain" } th.n scope="col" { "with 95 %" }
            } }
            tbody {
                @for d in &m.data { @if let Some(last) = &d.last {
                    tr {
                        th scope="row" { (d.name) }
                        (cell(&last.defaults)) (cell(&last.tuned))
                        td.n { (chart::gain(last)) } td.n { (interval(last)) }
                    }
                } }
            }
        } }
    }
}

fn number(n: &Number, m: &Measured, ids: &Ids) -> Markup {
    let became = match n.chosen == n.default {
        true => format!("stays {}", number_of(&n.name, n.default)),
        false => format!("{} → {}", number_of(&n.name, n.default), number_of(&n.name, n.chosen)),
    };
    html! {
        h3 { code { (n.name) } " " span.became { (became) } }
        @if let Some(kind) = Threshold::of_name(&n.name) { p { (meaning(kind)) } }
        @if let Some(about) = crate::explain::field(&n.name) { p { (about) } }
        @if let Some(chart) = chart::versions(n, m, ids) { (chart) }
        @if let Some(chart) = chart::values(n, m, ids) { (chart) }
        p { (why(n, m)) }
        @if !n.on.is_empty() { (table(n, m)) }
    }
}

/// Everything that was measured of a number.
fn table(n: &Number, m: &Measured) -> Markup {
    let has_sizes = n.on.iter().any(|o| !o.sizes.is_empty());
    let marks = |o: &On, value: i64| {
        let under = |value| o.under(value).map(|t| t.at);
        match (under(n.chosen) == Some(value), under(n.default) == Some(value)) {
            (true, true) => "as tuned, as by default",
            (true, false) => "as tuned",
            (false, true) => "as by default",
            (false, false) => "",
        }
    };
    html! {
        div.wide { table {
            caption { "What was measured of " code { (n.name) } }
            thead { tr {
                th scope="col" { "data set" }
                @if has_sizes { th scope="col" { "compared with it" } }
                th.n scope="col" { "value" } th.n scope="col" { "time" } th.n scope="col" { "by the fastest" }
                th scope="col" { "which" }
            } }
            @for o in &n.on { tbody {
                @for (k, t) in o.tried.iter().enumerate() {
                    tr {
                        @if k == 0 {
                            th scope="rowgroup" rowspan=(o.tried.len()) { (m.label(o)) }
                            @if has_sizes { td rowspan=(o.tried.len()) { (sizes(o)) } }
                        }
                        td.n { (at(o, t)) }
                        @match &t.time {
                            Ok(seconds) => { td.n { (time(*seconds)) } td.n { (format!("{:.2}×", t.times)) } }
                            Err(why) => td colspan="2" { "no result: " (visible(why)) },
                        }
                        td.which { (marks(o, t.at)) }
                    }
                }
            } }
        } }
    }
}

//! The page about a tuning, from measurements that stand in a file: compared with `report/example.html`, which
//! `UPDATE_EXPECT=1` writes anew. Look at it in a browser then, light, dark and printed.

use std::path::Path;

fn page() -> String {
    let all = remc_tune::file::read(include_str!("report/example.tuning")).unwrap();
    remc_tune::report::page("rows.remora", &all)
}

#[test]
fn the_page_is_what_it_was() {
    let (page, path) = (page(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/example.html"));
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    let differs = page.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    assert!(page == wanted, "the page is another one: UPDATE_EXPECT=1 writes it, from {differs:?}");
}

/// Nothing is fetched or run, and each chart says what it shows.
#[test]
fn the_page_is_whole() {
    let page = page();
    for foreign in ["<script", "http:", "https:", "url(", "@import", "src=", "<link"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("<b>") && page.contains("&lt;b&gt;&amp;amp;"), "a name is no markup");
    let count = |part: &str| page.matches(part).count();
    let charts = count("class=\"chart\"");
    assert_eq!(charts, 5, "what was gained; two of versions; a loop's; a schedule's");
    assert_eq!((count("<title id="), count("<desc id=")), (charts, charts));
    // An element of SVG that is left open would hold all that follows.
    for element in ["line", "path", "text", "polyline", "svg", "figure", "table", "tbody", "section"] {
        assert_eq!(
            count(&format!("<{element} ")) + count(&format!("<{element}>")),
            count(&format!("</{element}>")),
            "{element}"
        );
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a place is none");
}

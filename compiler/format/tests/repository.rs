//! What is in the repository is formatted: the prelude, the programs of the test suite, the examples, and the programs of
//! pages. `UPDATE_EXPECT=1` formats it, as `remc fmt` does.

mod support;

use remc_format::{format, format_markdown, same_program};
use std::path::Path;
use support::{of_repository, on_large_stack};

#[test]
fn programs_are_formatted() {
    on_large_stack(|| {
        let all = of_repository("remora");
        let (mut wrong, mut others) = (vec![], vec![]);
        for path in &all {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            match format(&text) {
                Ok(new) if new == text => {}
                Ok(new) => {
                    assert!(same_program(&text, &new), "{}", path.display());
                    update(path, &new, &mut others);
                }
                Err(_) => wrong.push(path),
            }
        }
        // What is no program cannot be formatted: a few texts that the reader has to reject.
        assert!(wrong.iter().all(|p| p.parent().is_some_and(|f| f.ends_with("reject"))), "{wrong:?}");
        assert!(wrong.len() * 10 < all.len(), "{wrong:?}");
        assert!(others.is_empty(), "not formatted, see `remc fmt --diff`: {others:#?}");
    });
}

#[test]
fn programs_of_pages_are_formatted() {
    on_large_stack(|| {
        let all = of_repository("md");
        let mut others = vec![];
        for path in &all {
            let text = std::fs::read_to_string(path).unwrap();
            let new = format_markdown(&text).text;
            if new != text {
                update(path, &new, &mut others);
            }
        }
        assert!(others.is_empty(), "not formatted, see `remc fmt --diff`: {others:#?}");
    });
}

fn update(path: &Path, new: &str, others: &mut Vec<String>) {
    match std::env::var_os("UPDATE_EXPECT") {
        Some(_) => std::fs::write(path, new).unwrap(),
        None => others.push(path.display().to_string()),
    }
}

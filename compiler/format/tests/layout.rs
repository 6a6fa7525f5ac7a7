//! Layouts: what is made of the texts in `layout/`. `UPDATE_EXPECT=1` writes what they give now: read it.

use std::path::Path;

#[test]
fn texts_are_laid_out_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|p| p.extension().is_some_and(|e| e == "before"));
    names.sort();
    assert!(names.len() >= 7);
    for path in names {
        let before = std::fs::read_to_string(&path).unwrap();
        // Forms with mistakes stay, as they do in an editor.
        let after = remc_format::apply(&before, &remc_format::format_forms(&before));
        let expected = path.with_extension("after");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &after).unwrap();
        }
        assert_eq!(after, std::fs::read_to_string(&expected).unwrap_or_default(), "{}", path.display());
        let again = remc_format::apply(&after, &remc_format::format_forms(&after));
        assert_eq!(after, again, "{} is not stable", path.display());
    }
}

//! The texts that mutation starts from: the suite's programs and the prelude.

use crate::tokens::{self, Token};
use remc_driver::Session;
use std::path::{Path, PathBuf};

#[derive(Default, Debug)]
pub struct Corpus {
    /// Each program cut into tokens.
    pub programs: Vec<Vec<Token>>,
    /// Every atom that occurs in them, once.
    pub words: Vec<String>,
}

/// The root of the repository this was built in.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Corpus {
    /// The programs below `testsuite/` of `root`, and the prelude that the compiler holds.
    pub fn load(root: &Path) -> Corpus {
        let mut texts = vec![];
        for folder in ["programs", "reject"] {
            let mut paths: Vec<PathBuf> = std::fs::read_dir(root.join("testsuite").join(folder))
                .into_iter()
                .flatten()
                .filter_map(|f| Some(f.ok()?.path()))
                .filter(|p| p.extension().is_some_and(|e| e == "remora"))
                .collect();
            // The order decides what a seed gives, so it is not the file system's.
            paths.sort();
            texts.extend(paths.iter().filter_map(|p| std::fs::read_to_string(p).ok()));
        }
        let session = Session::default();
        texts.extend(session.prelude().iter().map(|f| f.text(&session.db).to_owned()));
        Corpus::of_texts(&texts)
    }

    pub fn of_texts(texts: &[String]) -> Corpus {
        let programs: Vec<Vec<Token>> = texts.iter().map(|t| tokens::split(t)).collect();
        let mut words: Vec<String> = programs
            .iter()
            .flatten()
            .filter(|t| !t.text.starts_with(';'))
            .map(|t| t.text.clone())
            .chain(EXTRA_WORDS.iter().map(|w| (*w).to_owned()))
            .collect();
        words.sort();
        words.dedup();
        Corpus { programs, words }
    }
}

/// What programs seldom hold: edges of numbers, names and syntax.
const EXTRA_WORDS: &[&str] = &[
    "-1",
    "0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105728",
    "0xffffffffffffffff",
    "1e400",
    "-nan",
    "1_",
    "1__0",
    "1i8",
    "256u8",
    "1.5i32",
    "#\\x110000",
    "#\\xd800",
    "#\\",
    "#",
    "#|",
    "|#",
    "#;",
    "\"",
    "\"\\x41;\"",
    "\"\\",
    "~",
    "~(",
    "~[",
    "|",
    "@",
    "@s",
    "@@",
    ":",
    "é",
    "e\u{301}",
    "\u{202e}",
    "\u{0}",
    "\u{feff}",
    "λ",
    "∀",
    "Π",
    "Σ",
    "→",
    "all",
    "else",
    "num",
    "Quot",
    "Val",
    "Tuple",
    "Record",
    "primitive",
    "entry",
    "define-type",
    "import",
    "loop",
    "while",
    "do",
    "lift-int",
    "let-values",
    "values",
    "proj",
    "with",
    "field",
    "record",
    "as-shape",
    "reify-shape",
    "rank",
    "size",
    "-",
    "++",
    "shape",
];

//! Programs with ragged or row-wise work, and some over whole arrays, against C that is written to win.
//!
//! A suite has a folder of programs, `NAME.remora`, with a C kernel beside each, `NAME.c` (`unseen/rows.h` and
//! `rows/pieces.h` balance ragged rows over threads), a list of what they run on, and limits.
//!
//! Rows have the lengths of [`crate::ragged::rows`], but no row is empty: power law (Zipf's with exponent 1.5),
//! equal, or one giant beside 2^20 tiny ones. Programs over whole arrays have one data set each.
//!
//! | module | holds |
//! | --- | --- |
//! | [`unseen`] | programs that no pass of the compiler was written for |
//! | [`rows`] | what memory, or arithmetic, is to limit, and the lengths of rows are not |
//! | [`subjects`] | what a line of a suite is, and how its data is made |
//! | [`reference`] | what is right: plain loops in double precision |
//! | [`whole`] | the same of programs over whole arrays |
//! | [`measure`] | checks both sides, takes times and says what came out |

pub mod measure;
pub mod reference;
pub mod rows;
pub mod subjects;
pub mod unseen;
pub mod whole;

use crate::cases::named;
use subjects::Subject;

/// A list of programs, and what is wanted of them.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// Where its programs and kernels are, and in the cache its data.
    pub folder: &'static str,
    pub subjects: &'static [Subject],
    pub limits: Limits,
}

/// What is wanted of C's time by that of remc.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Of every line.
    pub least: f64,
    /// Of the line in the middle, if that is more.
    pub median: Option<f64>,
}

/// What `--unseen` measures.
pub const UNSEEN: Suite =
    Suite { folder: "unseen", subjects: unseen::ALL, limits: Limits { least: 0.5, median: Some(0.8) } };

/// What `--rows` measures.
pub const ROWS: Suite =
    Suite { folder: "rows", subjects: rows::ALL, limits: Limits { least: 0.9, median: None } };

impl Suite {
    /// The list, or those that `only` names.
    ///
    /// # Errors
    /// A name that nothing has.
    pub fn chosen(&self, only: &[String]) -> Result<Vec<Subject>, String> {
        named(self.subjects.to_vec(), |s| s.key, only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places;

    #[test]
    fn programs_have_their_files() {
        for (suite, count) in [(UNSEEN, 32), (ROWS, 14)] {
            let mut programs: Vec<&str> = suite.subjects.iter().map(|s| s.program).collect();
            programs.dedup();
            assert_eq!(programs.len(), count);
            for s in suite.subjects {
                let name = s.key.split('/').next().unwrap();
                assert_eq!(s.program, format!("{}/{name}", suite.folder));
                let files = [places::program(s.program), places::kernel(s.program)];
                assert!(files.iter().all(|file| file.is_file()), "{}", s.key);
            }
        }
    }

    #[test]
    fn names_choose() {
        assert_eq!(UNSEEN.chosen(&["softmax".into()]).unwrap().len(), 3);
        assert!(UNSEEN.chosen(&["sum".into()]).unwrap_err().contains("softmax/zipf, "));
        assert_eq!(ROWS.chosen(&["ragged-sums".into()]).unwrap().len(), 3);
    }
}

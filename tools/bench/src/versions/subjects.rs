//! The programs that have versions, what pins each version, and data of several sizes.

use crate::cases::{Array, Dtype};
use crate::data;
use std::io;
use std::path::{Path, PathBuf};

/// A program and how to measure it.
pub struct Subject {
    /// The name of its file.
    pub program: &'static str,
    pub versions: &'static [Version],
    pub sets: &'static [Set],
}

/// One version of all, by the thresholds that leave nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    pub name: &'static str,
    pub thresholds: &'static [&'static str],
}

/// Sizes of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set {
    pub name: &'static str,
    /// What the subject's `files` make of them depends on the program.
    pub sizes: &'static [usize],
}

/// Tridiagonal systems inside steps of time inside strikes, for strikes, x, y and steps as in the data sets that
/// incremental flattening was first measured on.
const LOCAL_VOLATILITY: Subject = Subject {
    program: "local-volatility",
    versions: &[
        Version { name: "a strike in one thread", thresholds: &["par.loop=always", "par.outer=always"] },
        Version { name: "a row in one thread", thresholds: &["par.loop=never", "par.outer=always"] },
        Version { name: "all in parallel", thresholds: &["par.loop=never", "par.outer=never"] },
    ],
    sets: &[
        Set { name: "small", sizes: &[16, 32, 256, 256] },
        Set { name: "medium", sizes: &[128, 256, 32, 64] },
        Set { name: "large", sizes: &[256, 256, 256, 64] },
    ],
};

/// The sums of the rows of a matrix of 2^24 elements.
const ROW_SUMS: Subject = Subject {
    program: "row-sums",
    versions: &[
        Version { name: "a row in one thread", thresholds: &["par.outer=always"] },
        Version { name: "rows in parts", thresholds: &["par.outer=never"] },
    ],
    sets: &[
        Set { name: "few long rows", sizes: &[4, 1 << 22] },
        Set { name: "square", sizes: &[1 << 12, 1 << 12] },
        Set { name: "many short rows", sizes: &[1 << 20, 16] },
    ],
};

/// The list, or those that `only` names; `small` has sizes that take no time, whose figures say nothing.
///
/// # Errors
/// A name that no program has.
pub fn chosen(small: bool, only: &[String]) -> Result<Vec<Subject>, String> {
    let all = [LOCAL_VOLATILITY, ROW_SUMS];
    if let Some(name) = only.iter().find(|name| all.iter().all(|s| s.program != name.as_str())) {
        let names: Vec<&str> = all.iter().map(|s| s.program).collect();
        return Err(format!("no program `{name}` with versions; there are {}", names.join(", ")));
    }
    let all = all.into_iter().filter(|s| only.is_empty() || only.iter().any(|name| name == s.program));
    Ok(all.map(|s| if small { s.of_small_size() } else { s }).collect())
}

impl Subject {
    fn of_small_size(mut self) -> Subject {
        self.sets = match self.program {
            "local-volatility" => {
                &[Set { name: "small", sizes: &[3, 8, 6, 4] }, Set { name: "large", sizes: &[20, 6, 8, 4] }]
            }
            _ => &[Set { name: "few rows", sizes: &[3, 50] }, Set { name: "many rows", sizes: &[600, 5] }],
        };
        self
    }

    /// The inputs of a data set as `--input` wants them; files are kept in the folder `cache`.
    pub fn inputs(&self, set: &Set, cache: &Path) -> io::Result<Vec<String>> {
        let array = |name: &str, path: PathBuf| format!("{name}={}", path.display());
        match (self.program, set.sizes) {
            ("local-volatility", &[strikes, x, y, steps]) => {
                let vectors = local_volatility(strikes, x, y, steps);
                let mut given = vec![format!("spot={SPOT}")];
                for (name, xs) in vectors {
                    given.push(array(name, vector_file(name, set, &xs, cache)?));
                }
                Ok(given)
            }
            (_, sizes) => {
                let file = data::random_file(&Array::new(Dtype::F32, sizes), SEED, &cache.join("data"))?;
                Ok(vec![array("m", file)])
            }
        }
    }
}

const SEED: u64 = 6;
/// The price of the share.
const SPOT: f64 = 0.03;
const YEARS: f64 = 5.0;
/// The standard deviations, in a year, of the share's price as a part of it, and of the second factor.
const OF_PRICE: f64 = 0.2;
const OF_FACTOR: f64 = 0.4;

/// Grids that reach some standard deviations to both sides, and strikes anywhere up to twice the price.
pub fn local_volatility(strikes: usize, x: usize, y: usize, steps: usize) -> Vec<(&'static str, Vec<f64>)> {
    let axis = |width: f64, n: usize, below: f64, middle: f64| -> Vec<f64> {
        let step = width / n.max(1) as f64;
        (0..n).map(|i| (i as f64 - (below / step).floor()) * step + middle).collect()
    };
    let (width_x, width_y) = (20.0 * OF_PRICE * SPOT * YEARS.sqrt(), 10.0 * OF_FACTOR * YEARS.sqrt());
    let random = |i| (data::splitmix(SEED, i) >> 11) as f64 / (1u64 << 53) as f64;
    vec![
        ("strikes", (0..strikes as u64).map(|i| 2.0 * SPOT * random(i)).collect()),
        ("xs", axis(width_x, x, SPOT * 0.999, SPOT)),
        ("ys", axis(width_y, y, width_y * 0.5, OF_PRICE.ln())),
        ("times", (0..=steps).map(|i| YEARS * i as f64 / steps.max(1) as f64).collect()),
    ]
}

fn vector_file(name: &str, set: &Set, xs: &[f64], cache: &Path) -> io::Result<PathBuf> {
    let sizes: Vec<String> = set.sizes.iter().map(usize::to_string).collect();
    let folder = cache.join("data");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("local-volatility-{}-{name}.npy", sizes.join("x")));
    let bytes: Vec<u8> = xs.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
    data::write(&path, &Array::new(Dtype::F32, &[xs.len()]), &bytes)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remc_driver::compile::Threshold;

    #[test]
    fn versions_are_pinned_by_thresholds_that_there_are() {
        for s in chosen(false, &[]).unwrap() {
            assert!(s.versions.len() > 1, "{}", s.program);
            for pinned in s.versions.iter().flat_map(|v| v.thresholds) {
                let (name, value) = pinned.split_once('=').unwrap();
                assert!(Threshold::ALL.iter().any(|t| t.name() == name), "{pinned}");
                assert!(["always", "never"].contains(&value), "{pinned}");
            }
        }
    }

    #[test]
    fn subjects_are_chosen_by_name() {
        let one = chosen(true, &["row-sums".into()]).unwrap();
        assert_eq!(one.iter().map(|s| s.program).collect::<Vec<_>>(), ["row-sums"]);
        assert_eq!(one[0].sets[0].sizes, [3, 50]);
        assert!(chosen(false, &["dot".into()]).err().unwrap().contains("local-volatility, row-sums"));
    }

    #[test]
    fn grids_are_sorted_and_positive_where_logarithms_are_taken() {
        for sizes in [[16, 32, 256, 256], [128, 256, 32, 64], [3, 8, 6, 4]] {
            let [n, x, y, steps] = sizes;
            let all = local_volatility(n, x, y, steps);
            assert_eq!(all.iter().map(|(_, v)| v.len()).collect::<Vec<_>>(), [n, x, y, steps + 1]);
            for (name, v) in &all[1..] {
                assert!(v.windows(2).all(|w| w[0] < w[1]), "{name} {v:?}");
            }
            assert!(all[1].1[0] > 0.0 && all[0].1.iter().all(|k| (0.0..0.06).contains(k)), "{all:?}");
        }
    }
}

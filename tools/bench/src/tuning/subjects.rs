//! The programs that are tuned, and their data.

use crate::cases::{Array, Dtype};
use crate::data;
use crate::places;
use crate::ragged::rows::{Float, Rows, Side, Sizes};
use crate::versions::subjects::local_volatility;
use std::io;
use std::path::{Path, PathBuf};

/// A program and its data sets.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name of its file.
    pub program: &'static str,
    pub seen: &'static [Set],
    /// Data that it is not tuned on.
    pub unseen: &'static [Set],
}

/// Data of some sizes, which mean what the program's `write` makes of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Set {
    pub name: &'static str,
    pub sizes: &'static [usize],
}

const fn set(name: &'static str, sizes: &'static [usize]) -> Set {
    Set { name, sizes }
}

const ALL: [Subject; 8] = [
    Subject {
        program: "matmul",
        seen: &[
            set("16×16384×16", &[16, 16384, 16]),
            set("128×256×128", &[128, 256, 128]),
            set("1024×4×1024", &[1024, 4, 1024]),
            set("2×1048576×2", &[2, 1 << 20, 2]),
        ],
        unseen: &[set("32×4096×32", &[32, 4096, 32]), set("512×16×512", &[512, 16, 512])],
    },
    Subject {
        program: "reductions",
        seen: &[
            set("4×1048576", &[4, 1 << 20]),
            set("2048×2048", &[2048, 2048]),
            set("262144×16", &[1 << 18, 16]),
            set("100×4000", &[100, 4000]),
        ],
        unseen: &[set("64×65536", &[64, 1 << 16]), set("65536×64", &[1 << 16, 64])],
    },
    Subject {
        program: "batched",
        seen: &[
            set("65536 of 4×4", &[1 << 16, 4]),
            set("4096 of 16×16", &[4096, 16]),
            set("64 of 64×64", &[64, 64]),
            set("4 of 256×256", &[4, 256]),
        ],
        unseen: &[set("16384 of 8×8", &[1 << 14, 8]), set("16 of 128×128", &[16, 128])],
    },
    Subject {
        program: "local-volatility",
        seen: &[
            set("4 strikes, 128×128, 8 steps", &[4, 128, 128, 8]),
            set("16 strikes, 32×256, 8 steps", &[16, 32, 256, 8]),
            set("256 strikes, 16×16, 16 steps", &[256, 16, 16, 16]),
        ],
        unseen: &[
            set("64 strikes, 64×64, 8 steps", &[64, 64, 64, 8]),
            set("8 strikes, 100×100, 8 steps", &[8, 100, 100, 8]),
        ],
    },
    Subject {
        program: "lu",
        seen: &[set("32×32", &[32]), set("100×100", &[100]), set("300×300", &[300])],
        unseen: &[set("64×64", &[64]), set("200×200", &[200])],
    },
    Subject {
        program: "needleman-wunsch",
        seen: &[
            set("100 and 100", &[100, 100]),
            set("1000 and 1000", &[1000, 1000]),
            set("50 and 100000", &[50, 100_000]),
        ],
        unseen: &[set("400 and 400", &[400, 400]), set("3000 and 200", &[3000, 200])],
    },
    Subject {
        program: "ragged-sums",
        seen: &[set("equal", &[0, 14, 20]), set("Zipf", &[1, 14, 20]), set("giant", &[2, 14, 20])],
        unseen: &[set("equal, long", &[0, 8, 20]), set("Zipf, short", &[1, 17, 20])],
    },
    Subject {
        program: "sparse-product",
        seen: &[set("equal", &[0, 14, 20]), set("Zipf", &[1, 14, 20]), set("giant", &[2, 14, 20])],
        unseen: &[set("equal, long", &[0, 8, 20]), set("Zipf, short", &[1, 17, 20])],
    },
];

/// The list, or those that `only` names.
///
/// # Errors
/// A name that no program has.
pub fn chosen(only: &[String]) -> Result<Vec<Subject>, String> {
    if let Some(name) = only.iter().find(|name| ALL.iter().all(|s| s.program != name.as_str())) {
        let names: Vec<&str> = ALL.iter().map(|s| s.program).collect();
        return Err(format!("no program `{name}` to tune; there are {}", names.join(", ")));
    }
    Ok(ALL.into_iter().filter(|s| only.is_empty() || only.iter().any(|name| name == s.program)).collect())
}

impl Subject {
    /// Where its text is.
    pub fn path(&self) -> PathBuf {
        match self.program {
            "local-volatility" => places::program(self.program),
            name => places::sources().join("tuning").join(format!("{name}.remora")),
        }
    }

    /// Writes a data set into a folder, a file for each parameter; what `--input` is to be given. `small` has sizes that
    /// take no time, whose figures say nothing.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, set: &Set, small: bool, folder: &Path) -> io::Result<Vec<String>> {
        std::fs::create_dir_all(folder)?;
        let size = |n: &usize| if small { (*n).min(12) } else { *n };
        let sizes: Vec<usize> = set.sizes.iter().map(size).collect();
        match (self.program, sizes.as_slice()) {
            ("ragged-sums" | "sparse-product", &[kind, rows, elements]) => {
                let kind = [Rows::Equal, Rows::Zipf, Rows::Giant][kind];
                let side = match self.program {
                    "ragged-sums" => Side::Segments(kind, Float::F32),
                    _ => Side::Product(kind),
                };
                side.data(Sizes { rows: 1 << rows, elements: 1 << elements }).write(folder)
            }
            ("local-volatility", &[strikes, x, y, steps]) => {
                let mut inputs = vec![array(folder, "spot", Dtype::F32, &[], |_| 0.03)?];
                for (name, xs) in local_volatility(strikes, x.max(6), y.max(6), steps) {
                    inputs.push(array(folder, name, Dtype::F32, &[xs.len()], |i| xs[i as usize])?);
                }
                Ok(inputs)
            }
            ("matmul", &[m, n, k]) => Ok(vec![
                array(folder, "a", Dtype::F32, &[m, n], random(1))?,
                array(folder, "b", Dtype::F32, &[n, k], random(2))?,
            ]),
            ("batched", &[n, k]) => Ok(vec![
                array(folder, "a", Dtype::F32, &[n, k, k], random(1))?,
                array(folder, "b", Dtype::F32, &[n, k, k], random(2))?,
            ]),
            ("lu", &[n]) => Ok(vec![array(folder, "a", Dtype::F64, &[n, n], random(1))?]),
            ("needleman-wunsch", &[n, m]) => {
                let letters = |seed| move |i| (random(seed)(i) * 2.0 + 2.0).floor();
                let texts = [("a", n, letters(1)), ("b", m, letters(2))];
                texts.into_iter().map(|(name, n, of)| array(folder, name, Dtype::I64, &[n], of)).collect()
            }
            (_, sizes) => Ok(vec![array(folder, "m", Dtype::F32, sizes, random(1))?]),
        }
    }
}

/// Numbers from -1 up to 1.
fn random(seed: u64) -> impl Fn(u64) -> f64 {
    move |i| (data::splitmix(seed, i) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn array(
    folder: &Path,
    name: &str,
    dtype: Dtype,
    shape: &[usize],
    of: impl Fn(u64) -> f64,
) -> io::Result<String> {
    let array = Array::new(dtype, shape);
    let bytes = data::atoms(dtype, (0..array.len() as u64).map(of));
    let path = folder.join(format!("{name}.npy"));
    data::write(&path, &array, &bytes)?;
    Ok(format!("{name}={}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_there_and_has_its_data() {
        let folder = std::env::temp_dir().join(format!("remc-bench-tuning-{}", std::process::id()));
        for s in chosen(&[]).unwrap() {
            let text = std::fs::read_to_string(s.path()).unwrap();
            assert!((3..=5).contains(&s.seen.len()) && !s.unseen.is_empty());
            for set in s.seen.iter().chain(s.unseen) {
                let inputs = s.write(set, true, &folder).unwrap();
                for input in inputs {
                    let (name, path) = input.split_once('=').unwrap();
                    assert!(text.contains(&format!("[{name} ")), "{}: {name}", s.program);
                    assert!(Path::new(path).is_file());
                }
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(chosen(&["dot".into()]).unwrap_err().contains("matmul, reductions"));
    }
}

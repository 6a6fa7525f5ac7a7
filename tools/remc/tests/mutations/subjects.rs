//! The programs that are mutated, one for each schedule whose threads work together.

use crate::kernels::{Kernels, Tuning, compile};
use remc_driver::Session;
use remc_flat::flatten::Thresholds;
use remc_kernel::schedule::Field;

pub struct Subject {
    pub name: &'static str,
    text: &'static str,
    /// The inputs and their shapes.
    inputs: &'static [(&'static str, &'static [usize])],
    /// Whether there are so few blocks that each has several rounds.
    in_rounds: bool,
}

const TIMES: &str = "(define (times [a 2] [b 2]) (~(0 0 2)reduce/zero + 0 (~(1 2)* a b)))
(define (steps [x 0]) [[x 1] [1 0]])";

/// Sizes are such that the last tile of each axis is not full, and that there are several. The operator
/// of the scan and of the ordered reduction is the product of matrices, where order and number count; they have
/// inverses, so that a product of many still tells of all of them. That of `checked` stops at what is no item.
pub const SUBJECTS: [Subject; 13] = [
    Subject {
        name: "scan",
        text: "(entry (main [m [int n]]) (iscan/zero times [[1 0] [0 1]] (steps m)))",
        inputs: &[("m", &[4500])],
        in_rounds: false,
    },
    Subject {
        name: "groups",
        text: "(entry (main [xs [int n]]) (iscan/zero + 0 xs))",
        inputs: &[("xs", &[530_001])],
        in_rounds: false,
    },
    Subject {
        name: "checked",
        text: "(entry (main [xs [int n]])
                 (iscan/zero (λ ([a int] [b int]) (+ (max2 a b) (% b b))) 1 (+ 51 xs)))",
        inputs: &[("xs", &[5001])],
        in_rounds: false,
    },
    Subject {
        name: "sum",
        text: "(entry (main [xs [int n]]) (reduce/zero + 0 xs))",
        inputs: &[("xs", &[5001])],
        in_rounds: false,
    },
    Subject {
        name: "product",
        text: "(entry (main [m [int n]]) (reduce/zero times [[1 0] [0 1]] (steps m)))",
        inputs: &[("m", &[4196])],
        in_rounds: false,
    },
    Subject {
        name: "map",
        text: "(entry (main [m [int n k]]) (+ m (rotate m [1 1])))",
        inputs: &[("m", &[83, 37])],
        in_rounds: false,
    },
    Subject {
        name: "transposition",
        text: "(entry (main [a [int n k]]) (transpose a))",
        inputs: &[("a", &[70, 45])],
        in_rounds: false,
    },
    Subject {
        name: "contraction",
        text: "(entry (main [a [int n k]] [b [int k m]]) (m*m a b))",
        inputs: &[("a", &[70, 41]), ("b", &[41, 75])],
        in_rounds: false,
    },
    Subject {
        name: "filter",
        text: "(entry (main [xs [int n]])
                 (unbox (filter (> xs 7) xs) (v m) (scatter/into (* 0 xs) (iota [(length v)]) v)))",
        inputs: &[("xs", &[9001])],
        in_rounds: true,
    },
    Subject {
        name: "sort",
        text: "(entry (main [xs [int n]]) (grade xs))",
        inputs: &[("xs", &[5003])],
        in_rounds: false,
    },
    Subject {
        name: "histogram",
        text: "(entry (main [xs [int n]]) (histogram 300 (+ 100 xs)))",
        inputs: &[("xs", &[9001])],
        in_rounds: false,
    },
    Subject {
        name: "last",
        text: "(entry (main [xs [int n]] [ys [int n]]) (scatter/into (iota [103]) (+ 51 xs) ys))",
        inputs: &[("xs", &[1001]), ("ys", &[1001])],
        in_rounds: false,
    },
    Subject {
        name: "rows",
        text: "(entry (main [xs [int n]])
                 (unbox (iota1 (select (= 3 (iota [n])) 1030 (+ 60 (% xs 9)))) (r k)
                   (let ((s (iscan + (% (* r r) 13))))
                     (reduce/zero + 0 (* (reverse s) (+ s (% r 7)))))))",
        inputs: &[("xs", &[6])],
        in_rounds: false,
    },
];

pub fn subject(name: &str) -> &'static Subject {
    SUBJECTS.iter().find(|s| s.name == name).expect("a subject")
}

impl Subject {
    /// Its kernels and inputs; these are files in a folder, numbers from -50 to 50.
    pub fn kernels(&self, session: &mut Session, folder: &std::path::Path) -> Result<Kernels, String> {
        let mut inputs = Vec::new();
        let mut state = 1u64;
        for (name, shape) in self.inputs {
            let path = folder.join(format!("{}-{name}.npy", self.name));
            let scalars = (0..shape.iter().product()).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                remc_base::Scalar::I64((state >> 33) as i64 % 101 - 50)
            });
            let value = remc_base::Value::of_scalars(
                remc_base::BaseTy::I64,
                shape.to_vec(),
                scalars.collect::<Vec<_>>(),
            );
            let mut bytes = Vec::new();
            remc_runtime::npy::write(&value, &mut bytes).map_err(|e| e.to_string())?;
            // Children read the same numbers.
            if std::fs::read(&path).ok().as_ref() != Some(&bytes) {
                std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
            }
            inputs.push(((*name).to_owned(), path.display().to_string()));
        }
        // Small products are contractions, too.
        let mut tuning =
            Tuning { thresholds: Thresholds { par_outer: 64, ..Thresholds::GPU }, ..Tuning::gpu() };
        if self.in_rounds {
            tuning.target.schedule.set(Field::Reducing, 2);
        }
        compile(session, &format!("{TIMES}\n{}", self.text), Some("main"), &inputs, tuning)
    }
}

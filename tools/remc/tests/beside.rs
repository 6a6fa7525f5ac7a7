//! Short rows that run side by side in lanes give what each gives alone, to the bit, and stop with the same message.

mod support;

use std::fmt::Write;
use support::{Folder, remc, text};

const PROGRAM: &str = r"
(define-type Row (Σ (m) [float m]))
(define (smooth [row [float m]])
  (if (< m 2) row (/ (+ row (append [(head{ | (- m 1) []} row)] (butlast{ | (- m 1) []} row))) 3)))
(entry (sums [rows [Row k]])
  (unbox rows (r m) (values (sum r) (sum (* r r)) (product (+ r 0.5)) (sum (sin r)))))
(entry (kept [rows [Row k]])
  (unbox rows (r m) (box (let ((powers (exp (- r (reduce/zero max2 0.0 r))))) (/ powers (sum powers))))))
(entry (scans [rows [Row k]])
  (unbox rows (r m) (box (- (iscan/zero + 0.0 (* r r)) (iscan/zero max2 -9.0 r)))))
(entry (branches [rows [Row k]])
  (unbox rows (r m)
    (box (if (> (sum r) 0.0) (+ r (if (> m 2) (sum (* 2.0 r)) -1.0)) (iscan/zero + 0.0 (- 0.0 r))))))
(entry (smoothed [rows [Row k]]) (unbox rows (r m) (box (iterate 5 smooth r))))
(entry (order [rows [Row k]])
  (unbox rows (r m) (values (box (sort r)) (box (take1 (sort > r) (min2 3 m))) (box (grade r)))))
(entry (remainders [rows [Row k]])
  (unbox rows (r m) (values (box (% 7.0 (+ 9.0 r))) (box (if (> m 2) (quotient r (sum (+ 9.0 r))) r)))))
(entry (filters [rows [Row k]])
  (unbox rows (r m) (values (sum (filter (> r 0.0) r)) (box (filter (< r 0.0) (* r r))))))
(entry (pairs [rows [Row k]])
  (unbox rows (r m) (sum (ravel (bool->int (< (abs (outer - r r)) 0.5))))))
(entry (nested [rows [Row k]])
  (unbox rows (r m) (box (unbox (iota1 (iota [m])) (ks j) (sum (int->float ks))))))
(entry (longer [rows [Row k]])
  (unbox rows (r m)
    (box (unbox (iota1 (* 10 (iota [m]))) (ks j)
      (let ((s (iscan/zero + 0.0 (sin (int->float ks))))) (+ (sum (* s s)) (sum (sin (int->float ks)))))))))
(entry (counted [rows [Row k]])
  (unbox rows (r m) (box (histogram [4] (% (float->int (floor (abs r))) 4)))))
(entry (divided [rows [Row k]] [by [int k]])
  ((λ ([r Row] [d int]) (unbox r (xs m) (box (quotient (float->int (floor (* 100.0 xs))) (- (iota [m]) d)))))
   rows by))
";

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % n
    }
}

/// As many rows of these sizes.
fn rows(random: &mut Random, sizes: &[u64]) -> String {
    let mut out = format!("(boxes (m) [float m] [{}]", sizes.len());
    for n in sizes {
        write!(out, " (({n}) ").unwrap();
        match n {
            0 => out.push_str("(array [0] float)"),
            _ => {
                let xs = (0..*n).map(|_| match random.below(12) {
                    0 => "-0.0".to_owned(),
                    1 => "0.0".to_owned(),
                    _ => format!("{:?}", random.below(4001) as f64 / 700.0 - 3.0),
                });
                write!(out, "[{}]", xs.collect::<Vec<_>>().join(" ")).unwrap();
            }
        }
        out.push(')');
    }
    out.push(')');
    out
}

#[test]
fn rows_give_what_they_give_alone() {
    let folder = Folder::new("beside");
    let program = folder.file("rows.remora", PROGRAM);
    let mut random = Random(20_261_129);
    let mixed: Vec<u64> = (0..203).map(|_| random.below(9)).collect();
    let tiny: Vec<u64> = (0..131).map(|i| if i == 77 { 300 } else { random.below(4) }).collect();
    let short: Vec<u64> = (0..64).map(|_| 1 + random.below(7)).collect();
    for (k, sizes) in [mixed, tiny, short].into_iter().enumerate() {
        let input = folder.file(&format!("rows{k}.rd"), rows(&mut random, &sizes));
        let by = folder.file(&format!("by{k}.rd"), format!("[{}]", "-1 ".repeat(sizes.len())));
        let entries = [
            "sums",
            "kept",
            "scans",
            "branches",
            "smoothed",
            "order",
            "filters",
            "pairs",
            "nested",
            "longer",
            "counted",
            "remainders",
            "divided",
        ];
        for entry in entries {
            let run = |setting: &str| {
                let (rows, by) = (format!("rows={input}"), format!("by={by}"));
                let mut args = vec!["run", &program, "--device", "cpu", "--threads", "1", "--entry", entry];
                args.extend(["--threshold", setting, "--input", &rows]);
                if entry == "divided" {
                    args.extend(["--input", &by]);
                }
                let o = remc(&args);
                assert_eq!(o.status.code(), Some(0), "{entry}: {}", text(&o.stderr));
                text(&o.stdout)
            };
            let (together, alone) = (run("rows.beside=1024"), run("rows.beside=0"));
            assert!(together == alone, "{entry}, data {k}:\n{together}\n{alone}");
        }
    }
}

/// The first row that cannot be computed is the one that is told of.
#[test]
fn the_first_row_that_fails_is_told() {
    let folder = Folder::new("beside-fails");
    let program = folder.file("rows.remora", PROGRAM);
    let mut random = Random(7);
    let input = folder.file("rows.rd", rows(&mut random, &[3; 24]));
    // Row 13 divides by nothing at its first item, rows 11 and 12 at their last.
    let by: Vec<String> = (0..24).map(|i| if i == 13 { "0" } else { "2" }.to_owned()).collect();
    let by = folder.file("by.rd", format!("[{}]", ["9 ".repeat(11), by[11..].join(" ")].concat()));
    let (rows, by) = (format!("rows={input}"), format!("by={by}"));
    let run = |setting: &str| {
        let o = remc(&[
            "run",
            &program,
            "--device",
            "cpu",
            "--threads",
            "1",
            "--entry",
            "divided",
            "--threshold",
            setting,
            "--input",
            &rows,
            "--input",
            &by,
        ]);
        assert_eq!(o.status.code(), Some(3));
        text(&o.stderr)
    };
    assert_eq!(run("rows.beside=1024"), run("rows.beside=0"));
}

//! Devices, timings, and every stage of the pipeline from the command line: dumps that read back, passes
//! that are left out, and what `remc compile` writes.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::{Folder, fails, gives, remc, text};

/// A program, and how it is run.
struct Program {
    name: &'static str,
    source: &'static str,
    inputs: &'static [&'static str],
}

const DOT: Program = Program {
    name: "dot",
    source: "(entry (main [xs [float n]] [ys [float n]]) (sum (* xs ys)))",
    inputs: &["xs=[1. 2. 3.]", "ys=[4. 5. 6.]"],
};

/// One for each way in which programs differ by the time they are kernels.
const PROGRAMS: [Program; 9] = [
    DOT,
    Program { name: "map", source: "(* 2 [[1 2] [3 4]])", inputs: &[] },
    Program {
        name: "scan",
        source: "(entry (main [xs [int n]]) (values (iscan/zero + 0 xs) (sort xs)))",
        inputs: &["xs=[3 1 2]"],
    },
    Program {
        name: "product",
        source: "(entry (main [a [int n k]] [b [int k m]]) (transpose (m*m a b)))",
        inputs: &["a=[[1 2] [3 4]]", "b=[[5 6 7] [8 9 10]]"],
    },
    Program {
        name: "box",
        source: "(entry (main [xs [int n]]) (filter (< xs 3) xs))",
        inputs: &["xs=[3 1 2]"],
    },
    Program { name: "histogram", source: "(histogram 4 [0 1 1 3 3 3])", inputs: &[] },
    Program {
        name: "loop",
        source: "(define (steps [x 0]) (while (λ ([y int]) (> y 1)) (λ ([y int]) (quotient y 2)) x))
                 (values (steps [9 2 70]) (fold (λ ([x 0] [a 0]) (+ x (* 10 a))) 0 [1 2 3]))",
        inputs: &[],
    },
    Program {
        name: "records",
        source: "(define ps (record (x [0. 3.]) (y [0. 4.])))
                 (values ps (sqrt (+ (square (field ps x)) (square (field ps y)))) \"text\")",
        inputs: &[],
    },
    Program {
        name: "ragged",
        source: "(define (up-to [k 0]) (reduce/zero + 0 (iota [k]))) (entry (main [ks [int n]]) (up-to ks))",
        inputs: &["ks=[3 0 5]"],
    },
];

impl Program {
    fn arguments(&self) -> Vec<String> {
        let inputs = self.inputs.iter().flat_map(|i| ["--input".to_owned(), (*i).to_owned()]);
        ["-e".to_owned(), self.source.to_owned()].into_iter().chain(inputs).collect()
    }

    fn run(&self, more: &[&str]) -> String {
        let arguments = self.arguments();
        let all: Vec<&str> = ["run"]
            .into_iter()
            .chain(arguments.iter().map(String::as_str))
            .chain(more.iter().copied())
            .collect();
        let o = remc(&all);
        assert!(o.status.success(), "{}, {more:?}: {}", self.name, text(&o.stderr));
        text(&o.stdout)
    }
}

/// The files of a folder by name, which is the order of the passes.
fn dumps(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    all.sort();
    all
}

fn ending(path: &Path) -> String {
    path.extension().unwrap().to_str().unwrap().to_owned()
}

/// Numbered without a gap, in order of the languages, and each read back as itself.
fn all_read_back(name: &str, folder: &str) {
    let mut languages: Vec<String> = vec![];
    for (k, path) in dumps(folder).iter().enumerate() {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(file.starts_with(&format!("{:02}-", k + 2)), "{name}: {file}");
        let language = ending(path);
        let back = remc(&["opt", "--from", &language, path.to_str().unwrap()]);
        assert!(back.status.success(), "{name}, {file}: {}", text(&back.stderr));
        assert!(
            text(&back.stdout) == std::fs::read_to_string(path).unwrap(),
            "{name}, {file}: it reads back as another text"
        );
        languages.push(language);
    }
    languages.dedup();
    assert_eq!(languages, ["typed", "explicit", "mono", "flat", "kernel"], "{name}");
}

#[test]
fn every_dump_reads_back_as_itself() {
    for p in &PROGRAMS {
        let folder = Folder::new(&format!("dumps-{}", p.name));
        let dump = folder.path("made/on/the/way");
        p.run(&["--device", "cpu", "--dump-dir", &dump]);
        all_read_back(p.name, &dump);
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["digits", "blur", "sobel", "covariance", "n-body", "needleman-wunsch", "sparse"] {
        let folder = Folder::new(&format!("dumps-{name}"));
        let file = examples.join(format!("{name}.remora")).display().to_string();
        let o = remc(&[
            "compile",
            &file,
            "--emit",
            "kernel",
            "--dump-dir",
            &folder.path("d"),
            "-o",
            &folder.path("k"),
        ]);
        assert!(o.status.success(), "{name}: {}", text(&o.stderr));
        all_read_back(name, &folder.path("d"));
        // What is written is what the last pass made.
        let last = dumps(&folder.path("d")).pop().unwrap();
        assert_eq!(std::fs::read(last).unwrap(), std::fs::read(folder.path("k")).unwrap());
    }
}

/// Leaving out ever more of the optimiser does not change the value.
#[test]
fn a_pass_more_or_less_gives_the_same_value() {
    for p in &PROGRAMS {
        let folder = Folder::new(&format!("stop-{}", p.name));
        let wanted = p.run(&["--device", "interp"]);
        p.run(&["--device", "cpu", "--dump-dir", &folder.path("all")]);
        let last = dumps(&folder.path("all")).len() + 1;
        let mut counts = BTreeSet::new();
        for n in 0..=last {
            let n = n.to_string();
            let dump = folder.path(&n);
            assert_eq!(
                p.run(&["--device", "cpu", "--stop-after-pass", &n, "--dump-dir", &dump]),
                wanted,
                "{} {n}",
                p.name
            );
            counts.insert(dumps(&dump).len());
        }
        assert!(counts.len() > 5, "{}: passes are left out one by one: {counts:?}", p.name);
    }
}

#[test]
fn devices() {
    for p in &PROGRAMS {
        let wanted = p.run(&["--device", "interp"]);
        for threads in ["1", "2", "5"] {
            assert_eq!(
                p.run(&["--device", "cpu", "--threads", threads, "--repeat", "3"]),
                wanted,
                "{}",
                p.name
            );
        }
        assert_eq!(p.run(&[]), wanted, "{}", p.name);
    }
    fails(&["run", "-e", "1", "--device", "gpu"], 2, "interp");
    fails(&["run", "-e", "1", "--threads", "0"], 2, "1..=1024");
    fails(&["run", "-e", "1", "--threads", "many"], 2, "many");
    fails(&["run", "-e", "1", "--repeat", "0"], 2, "--repeat");
    fails(&["run", "-e", "1", "--device", "interp", "--threads", "2"], 2, "U0014");
    fails(&["run", "-e", "1", "--device", "emulated", "--memory-limit", "2G"], 2, "U0014");
    gives(&["run", "-e", "1", "--device", "interp", "--memory-limit", "2G"], "1");
    fails(&["run", "-e", "1", "--memory-limit", "lots"], 2, "512M");
    let large =
        ["run", "-e", "(entry (main [n int]) (sort (iota [n])))", "--entry", "main", "--input", "n=100000"];
    let limited = |limit: &'static str| [&large[..], &["--memory-limit", limit]].concat();
    fails(&limited("100K"), 3, "R0012");
    assert_eq!(remc(&limited("100M")).status.code(), Some(0));
    fails(&["run", "-e", "1", "--device", "interp", "--repeat", "2"], 2, "U0014");
}

/// Rows that are long enough to be reduced by all threads of the cpu device, among others.
#[test]
fn long_rows() {
    let source = "(entry (main [lengths [int k]])
        (define rows (split (iota [532153]) lengths))
        (values (unbox rows (v n) (reduce/zero + 0 v))
                (unbox rows (v n) ((λ ([d 0]) (reduce/zero max2 0 (* d v))) [1 10]))))";
    let lengths = [3i64, 270000, 0, 5, 1, 262144];
    let ends = lengths.iter().scan(0, |end, n| {
        *end += n;
        Some(*end)
    });
    let rows: Vec<(i64, i64)> = lengths.iter().copied().zip(ends).collect();
    let sums = rows.iter().map(|(n, end)| (n * (2 * end - n - 1) / 2).to_string());
    let greatest = rows.iter().map(|(n, end)| if *n > 0 { end - 1 } else { 0 });
    let greatest = greatest.map(|m| format!("[{m} {}]", 10 * m));
    let join = |all: Vec<String>| all.join(" ");
    let wanted = format!("(values [{}] [{}])", join(sums.collect()), join(greatest.collect()));
    let input = format!("lengths=[{}]", join(lengths.iter().map(i64::to_string).collect()));
    gives(&["run", "-e", source, "--entry", "main", "--device", "cpu", "--input", &input], &wanted);
}

/// Sizes that add up or multiply to little in 64 bits, since they are far past 63: no device has room for such rows.
#[test]
fn rows_past_63_bits() {
    let rows = |source: &str, inputs: &[&str], shape: &str| {
        for device in ["interp", "cpu"] {
            let mut args = vec!["run", "-e", source, "--entry", "main", "--device", device];
            inputs.iter().for_each(|i| args.extend(["--input", *i]));
            fails(&args, 3, &format!("[R0012] Error: an array of shape [{shape}"));
        }
    };
    let wraps = "ns=[4611686018427387905 4611686018427387904 4611686018427387904 4611686018427387904]";
    let copies = "(entry (main [xs [int n]] [ns [int n]]) (replicate/counts ns xs))";
    rows(copies, &["xs=[7 8 9 10]", wraps], "4611686018427387905");
    rows("(entry (main [ns [int n]]) (concat (reverse (iota1 ns))))", &[wraps], "4611686018427387905");
    let squares = "(entry (main [ns [int n]])
        (concat (reverse ((λ ([k 0]) (unbox (iota [k k]) (m a b) (box (ravel m)))) ns))))";
    rows(squares, &["ns=[4294967296 1]"], "4294967296 4294967296");
    rows(
        "(entry (main [xs [int n]] [ns [int k]]) (segments (split xs ns)))",
        &["xs=[7]", wraps],
        "4611686018427387905",
    );
    // Four parts of an append, whose sum wraps round to 0: nobody writes them to the room for none.
    let parts = "(entry (main [k int])
        (unbox (iota [k]) (v w) (append (* 2 v) (append (+ 1 v) (append (* 3 v) (* 5 v))))))";
    for device in ["interp", "cpu"] {
        let k = "k=4611686018427387904";
        fails(&["run", "-e", parts, "--entry", "main", "--input", k, "--device", device], 3, "[R0012]");
    }
    // Rows without elements, of which there are as many as if there were some.
    let empty = "(entry (main [ns [int n]])
        (length (concat (reverse (~(0)(λ ([k 0]) (replicate{int | [k 0] []} 3)) ns)))))";
    for device in ["interp", "cpu"] {
        fails(&["run", "-e", empty, "--entry", "main", "--input", wraps, "--device", device], 3, "[R0012]");
    }
}

/// What an append has one after the other is made there: one array, and no copy but of what is given.
#[test]
fn appends_in_place() {
    let counts = |params: &str, body: &str| {
        let source = format!("(entry (main {params}) {body})");
        let o = remc(&["compile", "-e", &source, "--emit", "kernel"]);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        ["(alloc ", "\"copy\""].map(|what| text(&o.stdout).matches(what).count())
    };
    let two = "[xs [int n]] [ys [int m]]";
    assert_eq!(counts(two, "(append (* 2 xs) (+ 1 ys))"), [1, 0]);
    assert_eq!(
        counts(two, "(append (reverse xs) (append (* 2 ys) (append (* 3 xs) (rotate ys [1]))))"),
        [1, 0]
    );
    assert_eq!(counts(two, "(append xs ys)"), [1, 2]);
    assert_eq!(counts(two, "(append xs (append (* 2 ys) ys))"), [1, 2]);
    assert_eq!(counts("[xs [int n 3]] [ys [int m 3]]", "(append (* 2 xs) (+ 1 ys))"), [1, 0]);
    // Rows may be of nothing, and then so many that their sum is checked: before either part is made.
    assert_eq!(counts("[xs [int n k]] [ys [int m k]]", "(append (* 2 xs) (+ 1 ys))"), [1, 0]);
    // The sum reads one of them once more.
    assert_eq!(
        counts(two, "(let ((zs (sort xs))) (values (reduce/zero + 0 (* zs zs)) (append zs (+ 1 ys))))")[1],
        1
    );
    // It is known too late how large the first is.
    assert_eq!(counts(two, "(append (filter (> xs 2) xs) (filter (> ys 2) ys))")[1], 1);
}

/// The loops of the kernels of an entry, from the first that runs in so many lanes on.
fn loops_from(lanes: &str, params: &str, body: &str) -> String {
    let source = format!("(entry (main {params}) {body})");
    let o = remc(&["compile", "-e", &source, "--emit", "kernel"]);
    assert!(o.status.success(), "{body}: {}", text(&o.stderr));
    let text = text(&o.stdout);
    let around = text.find(&format!("(for (lanes {lanes})")).unwrap_or_else(|| panic!("{body}: {text}"));
    text[around..].to_owned()
}

/// A sum of what columns add up to runs in lanes of columns: one column after the other, it would read all of the
/// array's memory for each.
#[test]
fn sums_of_columns_sums_in_lanes() {
    for what in ["(sum m)", "(square (sum (abs m)))"] {
        let loops = loops_from("128", "[m [f32 n k]]", &format!("(sum {what})"));
        assert!(loops.contains("(for seq"), "{what}: {loops}");
    }
}

/// What a thread makes of a row for itself, and where the row's results go, is computed in lanes.
#[test]
fn maps_of_a_thread_in_lanes() {
    let softmax = "(let ((rows (λ ([v 1]) (let ((e (exp v))) (/ e (sum e)))))) (rows m))";
    let loops = loops_from("16", "[m [f32 n k]]", softmax);
    assert!(loops.contains("(op exp ") && loops.contains("(op / "), "{loops}");
    // And so is each state of a loop.
    let steps = "(let ((run (λ ([m 2]) (max (max (iterate k (λ ([x 2]) (* 2. (iscan + x))) m)))))) (run m))";
    let loops = loops_from("8", "[k int] [m [float n a b]]", steps);
    assert!(loops.contains("(op * "), "{loops}");
}

/// A scatter writes where its destination is, unless that is read later. What the values read of it is read first.
#[test]
fn scatters_in_place() {
    let copies = |body: &str| {
        let source = format!("(entry (main [xs [int n]] [at [int m]]) (let ((ys (iscan + xs))) {body}))");
        let o = remc(&["compile", "-e", &source, "--emit", "kernel"]);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        text(&o.stdout).matches("\"copy\"").count()
    };
    assert_eq!(copies("(scatter/into ys at (* 2 at))"), 0);
    assert_eq!(copies("(values ys (scatter/into ys at (* 2 at)))"), 1);
    assert_eq!(copies("(scatter/into ys at (gather ys at))"), 0);
    assert_eq!(copies("(values (scatter/into ys at (gather ys at)) (sum ys))"), 1);
    // In a loop: in branches, laid out otherwise, and where what was there is read once more.
    let rounds = |state: &str| {
        copies(&format!("(proj 1 (loop ((i 0) (t ys)) while (< i n) do (values (+ i 1) {state})))"))
    };
    assert_eq!(rounds("(if (> (index-item xs i) 4) (scatter/into t [i] [0]) t)"), 0);
    assert_eq!(rounds("(if (> (index-item t i) 4) (scatter/into t [i] [0]) (scatter/into t [0] [i]))"), 0);
    assert_eq!(rounds("(ravel (scatter/into (reshape [n 1] t) [i] [[0]]))"), 0);
    assert!(rounds("(* t (if (> (index-item xs i) 4) (scatter/into t [i] [0]) t))") > 0);
}

/// What is not compiled is refused where the cpu device was asked for, and says so where it was not.
#[test]
fn what_is_not_compiled() {
    let grows = "((iterate (reduce + (iota1 4)) (λ ([f (→ (int) int)]) (λ ([x int]) (+ 1 (f x)))) square) 3)";
    fails(&["run", "-e", grows, "--device", "cpu"], 2, "[L0007] Error: not compiled yet");
    fails(&["compile", "-e", grows, "--emit", "kernel"], 2, "[L0007] Error: not compiled yet");
    fails(&["compile", "-e", grows, "--emit", "futhark"], 2, "[L0007] Error: not compiled yet");
    assert_eq!(text(&remc(&["run", "-e", grows, "--memory-limit", "1G"]).stdout), "15\n");
    gives(&["run", "-e", grows, "--device", "interp"], "15");
    let o = remc(&["run", "-e", grows]);
    assert_eq!((o.status.code(), text(&o.stdout).as_str()), (Some(0), "15\n"));
    assert!(text(&o.stderr).contains("[L0007] Warning: not compiled yet, so the interpreter runs it"));
}

#[test]
fn timings() {
    let arguments = DOT.arguments();
    let run = |more: &[&str]| {
        let all: Vec<&str> = ["run"]
            .into_iter()
            .chain(arguments.iter().map(String::as_str))
            .chain(more.iter().copied())
            .collect();
        let o = remc(&all);
        assert_eq!((o.status.code(), text(&o.stdout).as_str()), (Some(0), "32.0\n"), "{}", text(&o.stderr));
        text(&o.stderr)
    };
    let said = run(&["--device", "cpu", "--timings"]);
    for stage in ["parse", "check", "build", "fuse", "flatten", "lower", "codegen", "run", "verify", "memory"]
    {
        assert!(said.lines().any(|l| l.trim_start().starts_with(stage)), "no {stage} in\n{said}");
    }
    assert!(run(&["--device", "interp", "--timings=text"]).contains("interp"));
    for (device, repeat, runs) in [("cpu", "1", 1), ("cpu", "4", 4), ("interp", "1", 1)] {
        let said = run(&["--device", device, "--timings=json", "--repeat", repeat]);
        let v: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert!(v["compile"].as_f64().unwrap() > 0.0, "{said}");
        assert_eq!(v["runs"].as_array().unwrap().len(), runs, "{said}");
        assert!(v["runs"].as_array().unwrap().iter().all(|r| r.as_f64().unwrap() >= 0.0), "{said}");
        let stages: f64 = v["stages"].as_object().unwrap().values().map(|t| t.as_f64().unwrap()).sum();
        assert!((stages - v["compile"].as_f64().unwrap()).abs() < 1e-6, "{said}");
        assert_eq!(v["peak_bytes"].is_u64(), device == "cpu", "{said}");
    }
    fails(&["run", "-e", "1", "--timings=xml"], 2, "json");
}

#[test]
fn everything_that_compile_writes() {
    let folder = Folder::new("emit");
    let emit = |what: &str, more: &[&str]| {
        let mut all = vec!["compile", "-e", DOT.source, "--emit", what];
        all.extend(more);
        let o = remc(&all);
        assert!(o.status.success(), "{what}: {}", text(&o.stderr));
        o.stdout
    };
    for what in ["typed", "explicit", "mono", "flat", "kernel"] {
        let file = folder.file(&format!("p.{what}"), emit(what, &[]));
        let back = remc(&["opt", "--from", what, &file]);
        assert_eq!(text(&back.stdout), std::fs::read_to_string(&file).unwrap(), "{}", text(&back.stderr));
        // To a file, the same.
        let again = folder.path("again");
        assert_eq!(emit(what, &["-o", &again]), b"");
        assert_eq!(std::fs::read(again).unwrap(), std::fs::read(&file).unwrap());
    }
    assert!(text(&emit("llvm", &[])).contains("define i32 @remc_entry("));
    assert!(text(&emit("asm", &[])).contains("remc_entry:"));
    assert!(text(&emit("futhark", &[])).contains("\nentry "));
    assert!(text(&emit("header", &[])).contains("remc_entry"));
    let object = emit("object", &[]);
    assert_eq!(&object[..4], b"\x7fELF");
    assert!(String::from_utf8_lossy(&object).contains("remc_entry"));
    // Without optimisation, `mono` is what its first pass makes.
    let unoptimised = emit("mono", &["--stop-after-pass", "0"]);
    assert_ne!(unoptimised, emit("mono", &[]));
}

/// The passes by name, one after the other, give what the pipeline gives.
#[test]
fn passes_from_typed_to_kernels() {
    let folder = Folder::new("passes");
    for p in &PROGRAMS {
        let dump = folder.path(p.name);
        p.run(&["--device", "cpu", "--dump-dir", &dump]);
        let all = dumps(&dump);
        let mut arguments = vec!["opt".to_owned(), "--from".to_owned(), "typed".to_owned()];
        for path in &all[1..] {
            let name = path.file_stem().unwrap().to_str().unwrap().split_once('-').unwrap().1;
            arguments.extend(["--pass".to_owned(), name.to_owned()]);
        }
        arguments.push(all[0].display().to_string());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let o = remc(&arguments);
        assert!(o.status.success(), "{}: {}", p.name, text(&o.stderr));
        assert_eq!(text(&o.stdout), std::fs::read_to_string(all.last().unwrap()).unwrap(), "{}", p.name);
    }
}

#[test]
fn wrong_uses() {
    let folder = Folder::new("wrong-uses");
    let mono = folder.file("p.mono", remc(&["compile", "-e", "(+ 1 2)", "--emit", "mono"]).stdout);
    fails(&["compile", "-e", "1", "--emit", "wasm"], 2, "possible values");
    fails(&["compile", "-e", "1", "--emit", "object", "-o", &folder.path("no/such/o")], 2, "U0010");
    fails(&["compile", "-e", "1", "--emit", "mono", "--ranks", "2"], 2, "U0013");
    let any_rank = "(entry (main [xs [int @s]]) (* 2 xs))";
    fails(&["compile", "-e", any_rank, "--emit", "mono"], 2, "U0013");
    let o = remc(&["compile", "-e", any_rank, "--emit", "mono", "--ranks", "2"]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let two = "(entry (f [x int]) x) (entry (g [x int]) x)";
    fails(&["compile", "-e", two, "--emit", "kernel"], 2, "U0004");
    fails(&["compile", "-e", two, "--emit", "kernel", "--entry", "h"], 2, "U0003");
    fails(&["compile", "-e", "(+ 1", "--emit", "kernel"], 1, "E0102");
    fails(&["opt", &mono], 2, "--from");
    fails(&["opt", "--from", "mono"], 2, "required");
    fails(&["opt", "--from", "flat", &mono], 2, "U0012");
    fails(&["opt", "--from", "llvm", &mono], 2, "no pass reads");
    fails(&["opt", "--from", "mono", "--pass", "lower", &mono], 2, "no pass `lower` reads mono");
    fails(&["opt", "--from", "mono", "--pass", "nonsense", &mono], 2, "no pass `nonsense` reads mono");
    fails(&["opt", "--from", "mono", "--pass", "flatten", "--pass", "fuse", &mono], 2, "reads flat");
    fails(&["opt", "--from", "mono", "/no/such/file"], 2, "U0001");
    for (language, broken) in
        [("explicit", "(explicit 1 ("), ("mono", "(mono 1)"), ("flat", ""), ("kernel", "(kernel 2)")]
    {
        let file = folder.file("broken", broken);
        fails(&["opt", "--from", language, &file], 2, "U0012");
    }
    let not_a_folder = folder.file("file", "");
    fails(&["run", "-e", "1", "--dump-dir", &not_a_folder], 2, "U0010");
    fails(&["run", "-e", "1", "--stop-after-pass", "fuse"], 2, "fuse");
}

/// A reduction whose items make arrays of their own makes as many side by side as there are lanes, whatever it reduces with;
/// the items are in lanes also where they take branches of their own.
#[test]
fn items_of_a_reduction_are_made_side_by_side() {
    let item = "(λ ([x int])
        (let ([table ((λ ([j int]) (if (< j (% x 16)) (index-item xs j) (* x j))) (iota [16]))])
          (fold (λ ([j int] [a int]) (+ (* 3 a) (index table [(% j 16)]))) x (iota [40]))))";
    for op in ["sum", "reduce/zero max2 0", "reduce/zero bit-xor 0"] {
        let entry = format!("(entry (main [xs [int n]]) ({op} ({item} xs)))");
        let kernel = remc(&["compile", "-e", &entry, "--entry", "main", "--emit", "kernel"]);
        let kernel = text(&kernel.stdout);
        assert!(kernel.contains("\"reduce\"") && kernel.contains("%strip"), "{op}: {kernel}");
        let input =
            format!("xs=[{}]", (0..100).map(|i| (i * 37 % 101).to_string()).collect::<Vec<_>>().join(" "));
        let run = |device: &str| {
            let o = remc(&["run", "-e", &entry, "--entry", "main", "--input", &input, "--device", device]);
            (o.status.code(), text(&o.stdout))
        };
        assert_eq!(run("cpu"), run("interp"), "{op}");
        assert_eq!(run("cpu").0, Some(0), "{op}");
    }
}

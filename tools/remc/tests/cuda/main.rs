//! `remc compile --emit cuda` as its users have it: stand-alone programs and libraries, run by the emulator, and
//! built by nvcc. Without a C++ compiler, nvcc or NumPy what needs them is left out, and says so.

mod entries;
mod files;
#[path = "../support/mod.rs"]
mod support;
mod thresholds;

use remc_emulate::{Emulator, Options, Order};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use support::{Folder, remc, text};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn emulator() -> Option<&'static Emulator> {
    static EMULATOR: OnceLock<Option<Emulator>> = OnceLock::new();
    let found = EMULATOR.get_or_init(|| Emulator::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).ok());
    if found.is_none() {
        eprintln!("left out: there is no C++ compiler");
    }
    found.as_ref()
}

/// Prints a program's CUDA to `NAME.cu`, as `remc` does it in the root of the repository.
fn print(folder: &Folder, program: &str, name: &str, entry: &[String]) {
    let o = Command::new(env!("CARGO_BIN_EXE_remc"))
        .current_dir(root())
        .args(["compile", program, "--emit", "cuda", "-o", &folder.path(&format!("{name}.cu"))])
        .args(entry)
        .output()
        .unwrap();
    assert!(o.status.success(), "{program}: {}", text(&o.stderr));
    assert_eq!(text(&o.stderr), "");
}

/// What the comments at the top of a program say of its arguments.
fn arguments(program: &str) -> Vec<String> {
    let source = std::fs::read(root().join(program)).unwrap();
    let source = String::from_utf8_lossy(&source);
    let lines = source.lines().take_while(|l| l.starts_with(';')).map(|l| l.trim_start_matches([';', ' ']));
    lines
        .flat_map(|l| {
            let of = |name: &str| {
                l.strip_prefix(&format!("{name}:")).map(|v| [format!("--{name}"), v.trim().to_owned()])
            };
            of("entry").or_else(|| of("input")).into_iter().flatten()
        })
        .collect()
}

fn interpreted(program: &str, arguments: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_remc"))
        .current_dir(root())
        .args(["run", "--diagnostics", "short", "--device", "interp", program])
        .args(arguments)
        .output()
        .unwrap()
}

/// The stand-alone program says what the interpreter says, in both orders of fibers.
fn alike(program: &str, arguments: &[String], options: Options, same: fn(&str, &str) -> bool) {
    let Some(emulator) = emulator() else { return };
    let stem = Path::new(program).file_stem().unwrap().to_str().unwrap();
    let folder = Folder::new(&format!("cuda-{stem}-{}", options.sanitize));
    let entry: Vec<String> = arguments.windows(2).filter(|w| w[0] == "--entry").flatten().cloned().collect();
    print(&folder, program, "program", &entry);
    let (source, path) = (folder.0.join("program.cu"), folder.0.join("program"));
    emulator.compile(&source, &path, options).unwrap_or_else(|e| panic!("{program}: {e}"));
    let wanted = interpreted(program, arguments);
    for order in [Order::Forward, Order::Reverse] {
        let mut command = emulator.command(&path, order);
        let o = command.current_dir(root()).args(arguments).env("REMC_EMULATE_LEAKS", "1").output().unwrap();
        assert_eq!(o.status.code(), wanted.status.code(), "{program}, {order}: {}", text(&o.stderr));
        assert_eq!(text(&o.stderr), text(&wanted.stderr), "{program}, {order}");
        let (found, wanted) = (text(&o.stdout), text(&wanted.stdout));
        assert!(same(&found, &wanted), "{program}, {order}:\n{found}\ninstead of\n{wanted}");
    }
}

fn equal(a: &str, b: &str) -> bool {
    a == b
}

/// The same but for the last digits of floats, whose sums are grouped in another way.
fn close(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let apart = text.replace(['(', '['], "[ ").replace([')', ']'], " ]");
        apart.split_whitespace().map(str::to_owned).collect()
    };
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(1e-3);
    let (a, b) = (words(a), words(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            a == b || matches!((a.parse(), b.parse()), (Ok(x), Ok(y)) if a.contains('.') && near(x, y))
        })
}

fn programs(names: &[&str]) {
    for name in names {
        let program = format!("testsuite/programs/{name}.remora");
        alike(&program, &arguments(&program), Options::default(), equal);
    }
}

#[test]
fn entries_print_their_values() {
    programs(&["entry-camera", "entry-empty", "entry-gives-its-input", "entry-matrix", "entry-statistics"]);
}

#[test]
fn values_of_every_kind_print() {
    let all = ["append-boxes", "box-inferred", "casts", "chars", "empty-of-several-types", "empty-shapes"];
    programs(&all);
    programs(&["floats-special", "half-and-single", "numerals", "strings", "let-values", "explicit-box"]);
}

#[test]
fn arrays_of_boxes_print() {
    programs(&["boxes-print", "boxes-print-nested", "box-function-lifted", "ragged-reverse"]);
    programs(&["explicit-ragged-rows", "ragged-filter", "split-concat-segments", "take-runtime-counts"]);
}

#[test]
fn programs_print_their_values() {
    programs(&["argmin-argmax", "caesar", "grade-sort", "histogram", "life", "mean", "primes", "iscan-rows"]);
}

#[test]
fn the_sanitizers_find_nothing() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    for name in [
        "programs/entry-matrix",
        "programs/half-and-single",
        "programs/boxes-input-nested",
        "programs/ranks-nested",
        "reject/fails-index",
        "reject/ranks-index-outside",
    ] {
        let program = format!("testsuite/{name}.remora");
        let options = Options { sanitize: true, ..Options::default() };
        alike(&program, &arguments(&program), options, equal);
    }
}

#[test]
fn examples_print_their_values() {
    let given = |inputs: &[&str]| -> Vec<String> {
        let inputs = inputs.iter().flat_map(|i| ["--input".to_owned(), (*i).to_owned()]);
        ["--entry".to_owned(), "main".to_owned()].into_iter().chain(inputs).collect()
    };
    let camera = given(&["image=examples/data/camera.npy"]);
    alike("examples/blur.remora", &camera, Options::default(), equal);
    alike("examples/sobel.remora", &camera, Options::default(), equal);
    let iris = given(&["table=examples/data/iris.npy"]);
    alike("examples/covariance.remora", &iris, Options::default(), close);
    let planets = given(&[
        "positions=examples/data/planets-positions-2000.npy",
        "velocities=examples/data/planets-velocities-2000.npy",
        "masses=examples/data/planets-masses.npy",
        "softening=1e-6",
        "step=0.25",
        "steps=4",
    ]);
    alike("examples/n-body.remora", &planets, Options::default(), close);
    let digits = given(&[
        "train-images=examples/data/digits-train-images.npy",
        "train-labels=examples/data/digits-train-labels.npy",
        "test-images=examples/data/digits-test-images.npy",
        "test-labels=examples/data/digits-test-labels.npy",
    ]);
    alike("examples/digits.remora", &digits, Options { optimise: 2, ..Options::default() }, equal);
}

/// One program for each kind of check, and each of them where kernels run it; one of [`CHECKS`] in a plain run.
#[test]
fn failed_checks_are_told() {
    let mut seen = std::collections::BTreeSet::new();
    let mut programs = Vec::new();
    let folder = root().join("testsuite/reject");
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    all.sort();
    for path in all.iter().filter(|p| p.extension().is_some_and(|e| e == "remora")) {
        let source = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if !source.contains("; exit: 3") || stem == "fails-split" {
            continue;
        }
        let message = std::fs::read_to_string(path.with_extension("err")).unwrap();
        // The code, and the message up to its first value.
        let kind: String =
            message.chars().take_while(|c| !c.is_ascii_digit() || message.starts_with("[R")).collect();
        let kind: String =
            kind.chars().skip(1).take(5).collect::<String>() + kind.get(14..34).unwrap_or_default();
        if seen.insert((kind, stem.starts_with("parallel"))) {
            programs.push(format!("testsuite/reject/{stem}.remora"));
        }
    }
    assert!(programs.len() > 20, "{programs:?}");
    programs.retain(|p| remc_sample::takes(CHECKS, p));
    assert!(!programs.is_empty());
    for program in programs {
        alike(&program, &arguments(&program), Options::default(), equal);
    }
}

/// One check of so many is tried in a plain run.
const CHECKS: u64 = 3;

/// A stand-alone program, emulated.
struct Program {
    folder: Folder,
    path: PathBuf,
}

impl Program {
    fn new(name: &str, source: &str) -> Option<Program> {
        Program::printed(name, source, &[])
    }

    /// One that is printed with these arguments.
    fn printed(name: &str, source: &str, arguments: &[String]) -> Option<Program> {
        let emulator = emulator()?;
        let folder = Folder::new(&format!("cuda-program-{name}"));
        let source = folder.file("program.remora", source);
        print(&folder, &source, "program", arguments);
        let path = folder.0.join("program");
        emulator.compile(&folder.0.join("program.cu"), &path, Options::default()).unwrap();
        Some(Program { folder, path })
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(&self.path).args(arguments).output().unwrap()
    }

    fn gives(&self, arguments: &[&str], value: &str) {
        let o = self.run(arguments);
        assert_eq!(text(&o.stderr), "", "{arguments:?}");
        assert_eq!(text(&o.stdout), value, "{arguments:?}");
    }

    fn refuses(&self, arguments: &[&str], says: &str) {
        let o = self.run(arguments);
        let message = text(&o.stderr);
        assert_eq!((o.status.code(), text(&o.stdout).as_str()), (Some(2), ""), "{arguments:?}: {message}");
        assert!(message.contains(says), "{arguments:?} says {message}");
    }
}

/// Literals of every type come out as they went in, and as `remc` reads them.
#[test]
fn literals_are_read() {
    let source =
        "(entry (main [b [bool n]] [c [char m]] [i i8] [u [u64 2]] [h [f16 k]] [s f32] [d [float j l]])
        (values b c i u h s d))";
    let Some(program) = Program::new("literals", source) else { return };
    let given = [
        "b=[#t false #true]",
        r#"c="a\n\x3bb;λ\"\u{7f}""#,
        "i=-128",
        "u=[0xffff_ffff_ffff_ffff 0b101]",
        "h=[0.1 65504 1e-8 -2]",
        "s=16777217",
        "d=[[1 -0.0 inf] [nan 1e-5 123456789012345678] #;[1 2 3] #| no |#] ; end",
    ];
    let arguments: Vec<&str> = given.iter().flat_map(|g| ["--input", g]).collect();
    let file = program.folder.path("program.remora");
    let wanted = remc(&[&["run", "--device", "interp", &file], &arguments[..]].concat());
    assert!(wanted.status.success(), "{}", text(&wanted.stderr));
    program.gives(&arguments, &text(&wanted.stdout));
    let replaced = |with: &'static str| {
        let name = with.split('=').next().unwrap_or_default();
        let all = given.iter().map(|g| if g.split('=').next() == Some(name) { with } else { g });
        all.flat_map(|g| ["--input", g]).collect::<Vec<&str>>()
    };
    // Empty brackets are what the input wants.
    for with in ["h=[]", "b=[ ]", "d=[[] []]"] {
        let arguments = replaced(with);
        let wanted = remc(&[&["run", "--device", "interp", &file], &arguments[..]].concat());
        assert!(wanted.status.success(), "{with}: {}", text(&wanted.stderr));
        program.gives(&arguments, &text(&wanted.stdout));
    }
    for (with, says) in [
        ("b=[#t 1]", "a number of another type"),
        ("c=[1 2]", "a number of another type"),
        ("c=\"a", "a string does not end"),
        ("i=128", "a number that the type cannot hold"),
        ("i=1.5", "a float"),
        ("i=1.2.3", "it is neither a number"),
        ("u=[1 2 3]", "an array of shape [3]"),
        ("h=[70000]", "past the largest"),
        ("s=(+ 1 2)", "it is an application"),
        ("d=[[1 2] [3]]", "different shapes"),
        ("d=[1 2", "a bracket is not closed"),
        ("d=[]", "empty brackets have no type"),
        ("d=(array [2 0] int)", "an array of another type"),
        ("d=1 2", "something follows it"),
    ] {
        program.refuses(&replaced(with), says);
    }
    let deep = format!("d={}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let mut arguments = arguments;
    let last = arguments.len() - 1;
    arguments[last] = &deep;
    program.refuses(&arguments, "nested too deeply");
}

#[test]
fn tuples_are_read() {
    let source = "(entry (main [p [(Tuple int [f32 2]) n]] [r (Record (x bool) (y [(Tuple int int) 2]))]) (values p r))";
    let Some(program) = Program::new("tuples", source) else { return };
    for (p, r) in [
        ("p=[(values 1 [2 3]) (values 4 [5 6])]", "r=(record (y [(values 1 2) (values 5 6)]) (x #f))"),
        ("p=(array [0] (Tuple int [f32 2]))", "r=(record (x #t) (y [(values 1 2) (values 3 4)]))"),
    ] {
        let arguments = ["--input", p, "--input", r];
        let file = program.folder.path("program.remora");
        let wanted = remc(&[&["run", "--device", "interp", &file], &arguments[..]].concat());
        assert!(wanted.status.success(), "{}", text(&wanted.stderr));
        program.gives(&arguments, &text(&wanted.stdout));
    }
    let one = ["--input", "r=(record (x #t) (y [(values 1 2) (values 3 4)]))", "--input"];
    for (p, says) in [
        ("p=[(values 1 [2 3]) (values 4 [5])]", "different shapes"),
        ("p=[(values 1)]", "without one of the fields"),
        ("p=[(values 1 [2 3 4])]", "an array of shape [1 3]"),
        ("p=[1 2]", "no tuple"),
    ] {
        program.refuses(&[&one[..], &[p]].concat(), says);
    }
}

/// Boxes come out as they went in, and as `remc` reads them.
#[test]
fn boxes_are_read() {
    programs(&["boxes-input-sums", "boxes-input-softmax", "boxes-input-spmv", "boxes-input-nested"]);
    programs(&["boxes-input-sizes"]);
    programs(&[
        "ranks-boxes",
        "ranks-empty",
        "ranks-iota",
        "ranks-known-axes",
        "ranks-nested",
        "ranks-loops",
    ]);
    let source =
        "(entry (main [b [(Σ (n) [int n m]) k]] [t (Σ (i j) [(Tuple char [f32 j]) i])]) (values m b t))";
    let Some(program) = Program::new("boxes", source) else { return };
    let table = "t=(box ((i 2) (j 1)) [(Tuple char [f32 j]) i] [(values #\\a [1]) (values #\\b [2])])";
    for (b, t) in [
        ("b=(boxes (x) [int x 2] [2] ((1) [[1 2]]) ((0) (array [0 2] int)))", table),
        (
            "b=[(box [[1 2 3]]) (box [[4 5 6] [7 8 9]])]",
            "t=(box ((i 0) (j 3)) [(Tuple char [f32 j]) i] (array [0] (Tuple char [f32 3])))",
        ),
        ("b=(array [1] (box ((n 1)) [int n 1] [[5]]))", table),
    ] {
        let arguments = ["--input", b, "--input", t];
        let file = program.folder.path("program.remora");
        let wanted = remc(&[&["run", "--device", "interp", &file], &arguments[..]].concat());
        assert!(wanted.status.success(), "{}", text(&wanted.stderr));
        program.gives(&arguments, &text(&wanted.stdout));
    }
    for (b, says) in [
        ("b=[[[1 2]]]", "no box"),
        ("b=(boxes (n) [int n 2] [2] ((1) [[1 2]]))", "the number of boxes is not the product of the dims"),
        ("b=(boxes (n) [int n 2] [1] ((1 2) [[1 2]]))", "a box with more witnesses"),
        ("b=(boxes (n) [int n 2] [1] (() [[1 2]]))", "a box with fewer witnesses"),
        ("b=(boxes (n) [int n 2] [1] ((2) [[1 2]]))", "n is 2, and was given an axis of length 1"),
        (
            "b=(boxes (n) [int n 2] [2] ((1) [[1 2]]) ((1) [[1]]))",
            "m is 2, and was given an axis of length 1",
        ),
        ("b=(boxes (n) [int n] [1] ((1) [1]))", "1 axes instead of 2"),
        ("b=(boxes (n) [int n 2])", "an array of boxes is written as"),
        ("b=[(box ((n 1)) [[1 2]])]", "a box is written as"),
        ("b=[(box ((n)) [int n 2] [[1 2]])]", "a dim is no number"),
        ("b=(box ((n 1)) [int n 2] [[1 2]])", "an array of shape []"),
        ("b=(array [0] (Σ (n) [int n m]))", "no input decides the size"),
    ] {
        program.refuses(&["--input", b, "--input", table], says);
    }
}

/// Shapes that boxes hide, of any number of axes: as they are written, or as the contents say.
#[test]
fn hidden_shapes_are_read() {
    let source = "(entry (main [b [(Σ (@s) [int @s m]) k]] [t (Σ (n @t) [(Tuple char [f32 n]) 2 @t])])
        (values b t (unbox b (v @s) (rank v)) (unbox t (v n @t) (values n (rank v) (size v)))))";
    let Some(program) = Program::new("shapes", source) else { return };
    let tuples = "t=(box ((n 1) (@t [])) [(Tuple char [f32 n]) 2 @t] [(values #\\a [1]) (values #\\b [2])])";
    for (b, t) in [
        ("b=[(box ((@s [])) [int @s 2] [1 2]) (box ((@s [2 1])) [int @s 2] [[[3 4]] [[5 6]]])]", tuples),
        ("b=[(box [1 2]) (box [[3 4] [5 6]]) (box (array [0 3 2] int))]", tuples),
        (
            "b=(boxes (@x) [int @x 2] [3] (([2]) [[1 2] [3 4]]) (([]) [5 6]) (([0]) (array [0 2] int)))",
            "t=(box ((n 0) (@t [1 0])) [(Tuple char [f32 n]) 2 @t] (array [2 1 0] (Tuple char [f32 0])))",
        ),
    ] {
        let arguments = ["--input", b, "--input", t];
        let file = program.folder.path("program.remora");
        let wanted = remc(&[&["run", "--device", "interp", &file], &arguments[..]].concat());
        assert!(wanted.status.success(), "{}", text(&wanted.stderr));
        program.gives(&arguments, &text(&wanted.stdout));
    }
    for (b, says) in [
        ("b=[(box ((@s 2)) [int @s 2] [[1 2]])]", "has no dims"),
        ("b=[(box ((@s [2])) [int @s 2] [[1 2]])]", "an axis of its shape is 2"),
        ("b=[(box ((@s [1 1])) [int @s 2] [[1 2]])]", "2 axes instead of 3"),
        ("b=[(box ((@s [])) [int @s 2] [[1 2]])]", "2 axes instead of 1"),
        ("b=[(box 1)]", "0 axes instead of 1"),
        ("b=[(box [1 2]) (box [1])]", "m is 2, and was given an axis of length 1"),
    ] {
        program.refuses(&["--input", b, "--input", tuples], says);
    }
}

/// Sizes that are the length of no axis are solved from those that are.
#[test]
fn sizes_are_solved() {
    let source = "(entry (main [ys [int (+ n 1)]] [zs [int (* n m)]] [v [int m]] [ws [int (+ n m)]])
        (values n m ys zs ws v))";
    let Some(program) = Program::new("solved", source) else { return };
    let given = |ys: &'static str, zs: &'static str, ws: &'static str| {
        ["--input", ys, "--input", zs, "--input", "v=[1 2]", "--input", ws]
    };
    program.gives(
        &given("ys=[1 2 3]", "zs=[1 2 3 4]", "ws=[1 2 3 4]"),
        "(values 2 2 [1 2 3] [1 2 3 4] [1 2 3 4] [1 2])\n",
    );
    program.refuses(&given("ys=(array [0] int)", "zs=[1]", "ws=[1]"), "no n makes (+ n 1) equal to 0");
    program.refuses(&given("ys=[1]", "zs=[1]", "ws=[1 2]"), "(* n m) is 0");
    program.refuses(&given("ys=[1 2]", "zs=[1 2]", "ws=[1]"), "(+ n m) is 3");
}

/// What an `.npy` file says in its header, with these bytes behind it.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

#[test]
fn files_are_read_and_written() {
    let Some(program) = Program::new("files", "(entry (main [m [i16 n k]]) (+ 1 m))") else { return };
    let folder = &program.folder;
    let numbers: Vec<u8> = (1..=6i16).flat_map(i16::to_le_bytes).collect();
    let swapped: Vec<u8> = (1..=6i16).flat_map(i16::to_be_bytes).collect();
    let c = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n";
    for (name, header, data, value) in [
        ("c.npy", c, &numbers, "[[2 3 4] [5 6 7]]\n"),
        (
            "f.npy",
            "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}",
            &numbers,
            "[[2 4 6] [3 5 7]]\n",
        ),
        (
            "b.npy",
            "{'descr': '>i2', 'fortran_order': False, 'shape': (3L, 2L)}",
            &swapped,
            "[[2 3] [4 5] [6 7]]\n",
        ),
    ] {
        let input = format!("m={}", folder.file(name, npy(header, data)));
        program.gives(&["--input", &input], value);
    }
    let good = format!("m={}", folder.path("c.npy"));
    let to = folder.file("out.npy", "old");
    program.gives(&["--input", &good, "--output", &to], "");
    let (ours, theirs) = (folder.path("out.npy"), folder.path("theirs.npy"));
    let file = folder.path("program.remora");
    let o = remc(&["run", "--device", "interp", &file, "--input", &good, "--output", &theirs]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    assert_eq!(std::fs::read(ours).unwrap(), std::fs::read(theirs).unwrap());
    program.gives(&["--input", &good, "-o", &folder.path("out.txt")], "");
    assert_eq!(std::fs::read_to_string(folder.path("out.txt")).unwrap(), "[[2 3 4] [5 6 7]]\n");
    program.gives(&["--input", &good, "--output=/dev/stdout"], "[[2 3 4] [5 6 7]]\n");
    for (name, bytes, says) in [
        ("short.npy", npy(c, &numbers[..11]), "it is truncated"),
        ("long.npy", npy(c, &[&numbers[..], &[0]].concat()), "more data than its shape needs"),
        (
            "float.npy",
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", &numbers),
            "a file of f32",
        ),
        (
            "huge.npy",
            npy(
                "{'descr': '<i2', 'fortran_order': False, 'shape': (9999999999999, 9999999999999)}",
                &numbers,
            ),
            "too large",
        ),
        (
            "fields.npy",
            npy("{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (3,)}", &numbers),
            "no Remora type",
        ),
        (
            "rank.npy",
            npy("{'descr': '<i2', 'fortran_order': False, 'shape': (6,)}", &numbers),
            "an array of shape [6]",
        ),
        ("nothing.npy", Vec::new(), "not an .npy file"),
        ("header.npy", npy("{'descr': '<i2', 'shape'", &[]), "header is damaged"),
    ] {
        let input = format!("m={}", folder.file(name, bytes));
        program.refuses(&["--input", &input], says);
    }
    program.refuses(&["--input", "m=absent.npy"], "No such file");
    program.refuses(&[], "needs the input `m`, of type [i16 n k]");
    program.refuses(&["--input", &good, "--input", &good], "given twice");
    program.refuses(&["--input", "k=3"], "no parameter `k`");
    program.refuses(&["--entry", "other", "--input", &good], "this program's is `main`");
    program.refuses(&["--inputs"], "unknown argument");
    program.refuses(&["--input", &good, "--output", "/nowhere/at/all.npy"], "cannot write");
    let manifest = text(&program.run(&["--manifest"]).stdout);
    assert_eq!(manifest, std::fs::read_to_string(folder.path("program.json")).unwrap());
    let read: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(read["entries"][0]["inputs"][0]["dims"][1], "k");
    assert_eq!(read["remc"], env!("CARGO_PKG_VERSION"));
}

/// An array past the device's memory stops the program, and is told.
#[test]
fn memory_runs_out() {
    let Some(program) = Program::new(
        "memory",
        "(entry (main [n int]) (reduce/zero + 0 (ravel (outer + (iota [n]) (iota [n])))))",
    ) else {
        return;
    };
    let o = Command::new(&program.path)
        .args(["--input", "n=100000000000"])
        .env("REMC_EMULATE_MEMORY", "1000000")
        .output()
        .unwrap();
    let message = text(&o.stderr);
    assert!(matches!(o.status.code(), Some(2 | 3)), "{:?}: {message}", o.status);
    assert!(!message.is_empty());
}

const CLIENTS: [(&str, &str); 4] =
    [("dot", "dot-product"), ("columns", "columns"), ("nearest", "nearest"), ("quotients", "quotients")];

/// The libraries of the clients, as `NAME.so`, with headers and manifests.
fn libraries(label: &str) -> Option<Folder> {
    let emulator = emulator()?;
    let folder = Folder::new(label);
    for (name, entry) in CLIENTS {
        print(
            &folder,
            &format!("testsuite/cuda/{name}.remora"),
            name,
            &["--entry".to_owned(), entry.to_owned()],
        );
        let (source, library) = (folder.0.join(format!("{name}.cu")), folder.0.join(format!("{name}.so")));
        let options = Options { library: true, ..Options::default() };
        emulator.compile(&source, &library, options).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    Some(folder)
}

#[test]
fn a_c_program_uses_the_libraries() {
    let Some(folder) = libraries("cuda-client-c") else { return };
    let client = root().join("testsuite/cuda/client.c");
    let program = folder.path("client");
    let built = Command::new("gcc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", &program, "-I"])
        .arg(&folder.0)
        .arg(client)
        .args(CLIENTS.map(|(name, _)| folder.path(&format!("{name}.so"))))
        .arg("-lm")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    let o = Command::new(program).env("REMC_EMULATE_LEAKS", "1").output().unwrap();
    assert!(o.status.success(), "{:?}\n{}{}", o.status, text(&o.stdout), text(&o.stderr));
    assert_eq!(
        text(&o.stdout),
        "dot: 2.85e+06\n\
         dot of nothing: 0\n\
         means: 2 30 (rank 1, type 1)\n\
         variances: 0.666667 466.667 (rank 1, type 1)\n\
         nearest: 2, at 0.25\n\
         quotients: 3, testsuite/cuda/quotients.remora:3:3: error[R0003]: integer division by zero: (quotient 8 0)\n\
         no array: 1; the first context: \"\"\n\
         3 -3 2\n\
         2, the size `n` is negative\n\
         2, the array `ys` is null\n\
         2, there is no place for the result `result`: it is null\n\
         3, error[R0012]: an array of shape [9223372036854775807] is too large\n\
         2\n\
         manifest: 1\n"
    );
}

/// A Python with NumPy: the one that is named, as `tools/setup test` does it, or else the system's.
fn python() -> Option<PathBuf> {
    let has_numpy = |python: &Path| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success())
    };
    if let Some(named) = std::env::var_os("REMC_TEST_PYTHON").filter(|v| !v.is_empty()) {
        let named = PathBuf::from(named);
        assert!(has_numpy(&named), "{}, which REMC_TEST_PYTHON names, has no NumPy", named.display());
        return Some(named);
    }
    let found = Some(PathBuf::from("python3")).filter(|p| has_numpy(p));
    if found.is_none() {
        eprintln!("left out: there is no Python with NumPy; `tools/setup test` gets one");
    }
    found
}

#[test]
fn a_python_program_uses_the_libraries() {
    let Some(python) = python() else { return };
    let Some(folder) = libraries("cuda-client-python") else { return };
    let o =
        Command::new(python).arg(root().join("testsuite/cuda/client.py")).arg(&folder.0).output().unwrap();
    assert!(o.status.success(), "{:?}\n{}{}", o.status, text(&o.stdout), text(&o.stderr));
    assert!(
        text(&o.stdout).contains("integer division by zero: (quotient 2 0)\nas NumPy says\n"),
        "{}",
        text(&o.stdout)
    );
}

/// nvcc, where there is one; with `REMC_CUDA_HOME`, as `tools/setup test` sets it, there must be.
fn nvcc() -> Option<PathBuf> {
    if std::env::var_os("REMC_NO_CUDA").is_some_and(|v| v == "1") {
        eprintln!("left out, as REMC_NO_CUDA is 1");
        return None;
    }
    if let Some(home) = std::env::var_os("REMC_CUDA_HOME").filter(|v| !v.is_empty()) {
        let nvcc = PathBuf::from(home).join("bin/nvcc");
        assert!(nvcc.is_file(), "there is no {}", nvcc.display());
        return Some(nvcc);
    }
    let program = std::env::current_exe().unwrap();
    let found = program.ancestors().map(|f| f.join("cuda/toolkit/bin/nvcc")).find(|p| p.is_file());
    if found.is_none() {
        eprintln!("left out: there is no nvcc; `tools/setup cuda` gets one");
    }
    found
}

/// nvcc builds programs and libraries without a warning. There may be no GPU to run them on: then they say so.
#[test]
fn nvcc_builds_programs_and_libraries() {
    let Some(nvcc) = nvcc() else { return };
    let toolkit = nvcc.parent().and_then(Path::parent).unwrap().to_owned();
    let folder = Folder::new("cuda-nvcc");
    for program in ["testsuite/programs/half-and-single.remora", "testsuite/cuda/columns.remora"] {
        let name = Path::new(program).file_stem().unwrap().to_str().unwrap();
        print(&folder, program, name, &[]);
        let source = folder.path(&format!("{name}.cu"));
        let (program, library) = (folder.path(name), folder.path(&format!("lib{name}.so")));
        for more in
            [vec!["-o", &program], vec!["-DREMC_LIBRARY", "-shared", "-Xcompiler", "-fPIC", "-o", &library]]
        {
            let o = Command::new(&nvcc)
                .args(["-std=c++17", "-arch=sm_90", "-Xcompiler", "-Wall", &source, "-L"])
                .arg(toolkit.join("lib"))
                .args(&more)
                .output()
                .unwrap();
            let said = text(&o.stdout) + &text(&o.stderr);
            assert!(o.status.success() && said.is_empty(), "{name}: {said}");
        }
    }
    let o = Command::new(folder.path("half-and-single")).env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
    assert_eq!((o.status.code(), text(&o.stdout).as_str()), (Some(2), ""));
    let message = text(&o.stderr);
    assert!(message.starts_with("error[U0014]: there is no GPU to run on: "), "{message}");
}

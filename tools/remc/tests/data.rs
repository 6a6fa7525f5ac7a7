//! Data files in and out of programs, by the command line: every format, on every device, right and damaged.
//!
//! What the formats mean to the byte is tested in `runtime/src/data/`; here it is that each device gets the same
//! values, that a wrong file ends in one message, and that outputs are whole or absent.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Folder, fails, gives, remc, text, with_input};

const DEVICES: &[&str] =
    if cfg!(feature = "llvm") { &["interp", "cpu", "emulated"] } else { &["interp", "emulated"] };

const TABLE: &str = "(array [2 3] 0.5f32 1.5f32 -2f32 3f32 4f32 1e10f32)";

fn numpy(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/data/numpy");
    folder.join(name).to_str().unwrap().to_owned()
}

/// The table in a file of every format that is written, with what is said after its name.
fn tables(folder: &Folder) -> Vec<String> {
    let all = [
        ("t.npy", ""),
        ("t.npz", ""),
        ("t.npz", ":arr_0"),
        ("t.csv", ""),
        ("t.tsv", ""),
        ("t.rd", ""),
        ("t.fut.bin", ""),
        ("t.data", ":0"),
        ("t.in", ""),
        ("t.raw", ":f32[2,3]"),
        ("t.bin", ":f32[_,3]"),
    ];
    let named = |(name, selector): &(&str, &str)| {
        let path = folder.path(name);
        let o = remc(&["run", "-e", TABLE, "--output", &path]);
        assert_eq!(
            (o.status.code(), text(&o.stdout), text(&o.stderr)),
            (Some(0), String::new(), String::new())
        );
        format!("xs={path}{selector}")
    };
    all.iter().map(named).collect()
}

#[test]
fn every_format_on_every_device() {
    let folder = Folder::new("formats");
    let program = folder.file("p.remora", "(entry (twice [xs [f32 n m]]) (* 2 xs))");
    for input in tables(&folder) {
        for device in DEVICES {
            gives(
                &["run", &program, "--device", device, "--input", &input],
                "[[1.0 3.0 -4.0] [6.0 8.0 20000000000.0]]",
            );
        }
    }
    let camera = format!("xs={}", numpy("fortran.npy"));
    for device in DEVICES {
        gives(&["run", &program, "--device", device, "--input", &camera], "[[0.0 1.0 2.0] [3.0 4.0 5.0]]");
    }
    assert!(std::fs::read_dir(&folder.0).unwrap().all(|f| !text_name(&f.unwrap().path()).contains(".tmp")));
}

fn text_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Boxes, tuples and characters are what only literals hold.
#[test]
fn literals_in_files() {
    let rows = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testsuite/data/rows.rd");
    let sums = "(entry (sums [rows [(Σ (d) [int d]) n]]) (unbox rows (row d) (reduce/zero + 0 row)))";
    let interp = ["--device", "interp"];
    gives(&[&["run", "-e", sums, "--input", &format!("rows={rows}")], &interp[..]].concat(), "[3 0 12]");
    let folder = Folder::new("literals");
    let text = folder.file("words.txt", "so λ\n");
    let count = "(entry (spaces [text [char n]]) (reduce/zero + 0 (select (= text #\\space) 1 0)))";
    gives(&["run", "-e", count, "--input", &format!("text={text}:text")], "1");
    let record = folder.file("r.rd", "(record (x 1) (y \"a\"))");
    let field = "(entry (y [r (Record (x float) (y [char 1]))]) (field r y))";
    gives(&[&["run", "-e", field, "--input", &format!("r={record}")], &interp[..]].concat(), "\"a\"");
}

#[test]
fn files_of_several_arrays() {
    let two = numpy("two-compressed.npz");
    let run = |param: &str, ty: &str, input: &str| {
        let program = format!("(entry (main [{param} {ty}]) {param})");
        let input = format!("{param}={input}");
        (program, input)
    };
    let (program, input) = run("ys", "[i32 n m]", &two);
    gives(&["run", "-e", &program, "--input", &input], "[[1 2] [3 4]]");
    let (program, input) = run("a", "[float n]", &format!("{two}:xs"));
    gives(&["run", "-e", &program, "--input", &input], "[0.5 1.5]");
    let (program, input) = run("a", "[float n]", &two);
    fails(&["run", "-e", &program, "--input", &input], 2, "it holds the arrays `xs`, `ys`");
    let (program, input) = run("a", "[float n]", &format!("{two}:zs"));
    fails(&["run", "-e", &program, "--input", &input], 2, "U0015");
    let (program, input) = run("a", "[f32 n]", &format!("{two}:xs"));
    fails(
        &["run", "-e", &program, "--input", &input],
        2,
        "the input `a` wants [f32 n] and was given float64 of shape [2]",
    );
}

/// One parameter of each shape and type that NumPy's files have something special about.
#[test]
fn files_of_numpy() {
    for (file, ty, value) in [
        ("big-endian.npy", "[f32 n m]", "[[0.0 0.5 1.0] [1.5 2.0 2.5]]"),
        ("bool.npy", "[bool n]", "[#t #f #t]"),
        ("empty.npy", "[float n m]", "(array [0 3] float)"),
        ("scalar.npy", "int", "7"),
        ("one.npz", "[bool n]", "[#t #f]"),
    ] {
        let program = format!("(entry (main [x {ty}]) x)");
        let input = format!("x={}", numpy(file));
        for device in DEVICES {
            gives(&["run", "-e", &program, "--device", device, "--input", &input], value);
        }
    }
}

#[test]
fn pipes_are_read() {
    let program = "(entry (main [xs [int n]]) xs)";
    let o = with_input(&["run", "-e", program, "--input", "xs=/dev/stdin:csv"], b"xs\n1\n2\n");
    assert_eq!(text(&o.stdout), "[1 2]\n", "{}", text(&o.stderr));
    let npy = remc(&["run", "-e", "[7 8]", "--format", "npy"]).stdout;
    for input in ["xs=/dev/stdin", "xs=-"] {
        let o = with_input(&["run", "-e", program, "--input", input], &npy);
        assert_eq!(text(&o.stdout), "[7 8]\n", "{}", text(&o.stderr));
    }
    let o =
        with_input(&["run", "-e", program, "--input", "xs=-:rd", "-o", "-", "--format", "json"], b"[5 6]");
    assert_eq!(text(&o.stdout), "[5,6]\n", "{}", text(&o.stderr));
    // The program itself, which no command can write back.
    let o = with_input(&["run", "/dev/stdin"], b"(+ 1 2)");
    assert_eq!(text(&o.stdout), "3\n", "{}", text(&o.stderr));
    let o = with_input(&["fmt", "/dev/stdin"], b"(+ 1 2)");
    assert!(text(&o.stderr).contains("no ordinary file") && o.status.code() == Some(2), "{o:?}");
}

#[test]
fn rows_of_their_own_lengths_are_boxes() {
    let program = "(entry (main [rows [(Σ (n) [int n]) k]]) (unbox rows (r n) (sum r)))";
    for device in DEVICES {
        gives(&["run", "-e", program, "--device", device, "--input", "rows=[[1 2] [] [3]]"], "[3 0 3]");
    }
}

/// Each ends with exit code 2 and one message, which names the parameter and says this.
#[test]
fn wrong_files() {
    let folder = Folder::new("wrong");
    let bytes = |name: &str| std::fs::read(numpy(name)).unwrap();
    let (npy, npz) = (bytes("fortran.npy"), bytes("two.npz"));
    let mut broken = npz.clone();
    // In the data of the first array.
    broken[190] ^= 1;
    let cases: &[(&str, &str, &[u8], &str)] = &[
        ("a.npy", "", &npy[..130], "it is truncated: the shape needs 24 bytes of data and there are 2"),
        ("b.npy", "", b"PK", "it is not an .npy file"),
        ("c.npz", "", &npz[..300], "it is truncated or damaged"),
        ("d.npz", ":xs", &broken, "its checksum is wrong"),
        ("e.npz", "", &npy, "was given float32 of shape [2 3]"),
        ("f.csv", "", b"1,2\n3\n", "line 2: 1 field, where the first line has 2"),
        ("g.csv", "", b"1\nx\n", "line 2, column 1: `x` is not of type float"),
        ("h.csv", "", b"1,2\n3,4\n", "a table of 2 lines and 2 columns"),
        ("i.rd", "", b"[1 2", "this `[` is never closed"),
        ("j.rd", "", b"(+ 1 2)", "found an application"),
        ("k.rd", "", b"[[1]]", "rank 2 instead of rank 1"),
        ("l.rd", "", b"[1 \xff]", "it is not UTF-8 (line 1)"),
        ("m.in", "", b"[1f64]", "it is not in Futhark's binary format"),
        ("n.data", "", b"b\x02\x01 f64\x02\0\0\0\0\0\0\0abc", "needs 16 bytes of data and there are 3"),
        ("o.data", "", b"b\x02\x00 i32\x02\0\0\0", "was given a scalar of type i32"),
        ("p.raw", "", b"12345678", "nothing says what its bytes are"),
        ("q.raw", ":float[2]", b"12345678", "it has 8 bytes, and float[2] takes 16 (2 × 8)"),
        ("r.raw", ":float[_]", b"1234567", "it has 7 bytes, which is no multiple of the 8"),
        ("s.raw", ":f32[2]", b"12345678", "was given f32 of shape [2]"),
        ("t.dat", "", b"12345678", "of no known format"),
        ("u.csv", ":xs", b"1\n", "`:xs` is neither a format nor a type with a shape"),
        ("v.json", "", b"[1", "it is no JSON: EOF while parsing a list"),
        ("w.npy", ":x", &npy, "an .npy file holds one value"),
    ];
    for (name, selector, bytes, says) in cases {
        let input = format!("table={}{selector}", folder.file(name, bytes));
        let o = remc(&["run", "-e", "(entry (main [table [float n]]) table)", "--input", &input]);
        let message = text(&o.stderr);
        assert_eq!(o.status.code(), Some(2), "{name}: {message}");
        assert_eq!(text(&o.stdout), "", "{name}");
        assert!(message.contains(says) && message.contains("`table`"), "{name} says\n{message}");
        assert_eq!(message.matches("] Error: ").count(), 1, "{name} says\n{message}");
    }
    fails(&["run", "-e", "(entry (main [x int]) x)", "--input", "x=~/x.npy"], 2, "write `$HOME/x.npy`");
    let o = remc(&["run", "-e", "(entry (main [x int]) x)", "--input", &format!("x={}", folder.path(""))]);
    assert!(text(&o.stderr).contains("it is a folder"), "{}", text(&o.stderr));
}

#[test]
fn outputs_of_every_format() {
    let folder = Folder::new("outputs");
    let written = |value: &str, name: &str, more: &[&str]| {
        let path = folder.path(name);
        let o = remc(&[&["run", "-e", value, "--output", &path], more].concat());
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        std::fs::read(path).unwrap()
    };
    assert_eq!(written("[[1 2] [3 4]]", "a.csv", &[]), b"1,2\n3,4\n");
    assert_eq!(written("[1.5 inf]", "a.tsv", &[]), b"1.5\ninf\n");
    assert_eq!(written("[#t #f]", "b.csv", &[]), b"true\nfalse\n");
    assert_eq!(written("(values 1 [2 3])", "a.json", &[]), b"[1,[2,3]]\n");
    assert_eq!(written("[1i16 256i16]", "a.raw", &[]), [1, 0, 0, 1]);
    assert_eq!(written("7i16", "a.fut.bin", &[]), b"b\x02\x00 i16\x07\0");
    assert_eq!(written("[1 2]", "a.txt", &[]), b"1\n2\n");
    assert_eq!(written("[1 2]", "a.out", &[]), b"[1 2]\n");
    // What is asked for goes before what the name says; all elements are written.
    assert_eq!(written("[1 2]", "c.txt", &["--format", "csv"]), b"1\n2\n");
    assert_eq!(written("[1 2 3]", "d.rd", &["--max-elements", "1"]), b"[1 2 3]\n");
    assert_eq!(written("[1 2 3]", "d.csv", &["--max-elements", "1"]), b"1\n2\n3\n");
    assert_eq!(written("(/ 1 3)", "e.csv", &["--precision", "2"]), b"0.33\n");
    // On standard output the same bytes.
    for (format, name) in [
        ("npy", "f.npy"),
        ("npz", "f.npz"),
        ("arrow", "f.arrows"),
        ("futhark", "f.in"),
        ("raw", "f.raw"),
        ("json", "f.json"),
    ] {
        let o = remc(&["run", "-e", TABLE, "--format", format]);
        assert_eq!(o.stdout, written(TABLE, name, &[]), "{format}");
    }
}

#[test]
fn outputs_that_cannot_be() {
    let folder = Folder::new("refused");
    for (value, name, says) in [
        ("\"abc\"", "a.npy", "the format npy cannot hold char"),
        ("(split [#\\a] [1])", "a.npz", "the format npz cannot hold"),
        (
            "(record (a [1]) (b [1 2]))",
            "a.arrow",
            "the format arrow cannot hold a record of arrays of several lengths",
        ),
        ("(values 1 2)", "a.csv", "the format csv cannot hold"),
        ("(array [1 1 1] 1)", "a.csv", "an array of 3 axes"),
        ("\"abc\"", "a.data", "the format futhark cannot hold char"),
        ("(values 1 2)", "a.raw", "the format raw cannot hold"),
    ] {
        let path = folder.path(name);
        fails(&["run", "-e", value, "--output", &path], 2, "U0010");
        fails(&["run", "-e", value, "--output", &path], 2, says);
    }
    // What contradicts itself is said before the program runs.
    let stops = "(index [1 2 3] [7])";
    fails(&["run", "-e", stops, "--format", "npy", "--precision", "3"], 2, "U0018");
    fails(&["run", "-e", stops, "--format", "json", "--max-elements", "3"], 2, "U0018");
    fails(&["run", "-e", stops, "--max-elements", "0"], 2, "--max-elements");
    fails(&["run", "-e", stops, "--precision=-1"], 2, "--precision");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn how_values_are_printed() {
    let f =
        |value: &str, more: &[&str], expected: &str| gives(&[&["run", "-e", value], more].concat(), expected);
    f("[[1 2] [3 4]]", &["--format", "remora"], "[[1 2] [3 4]]");
    f("[[1 2] [3 4]]", &["--format", "json"], "[[1,2],[3,4]]");
    f("[[1 2] [3 4]]", &["--format", "csv"], "1,2\n3,4");
    f("[1 2]", &["--format", "csv"], "1\n2");
    f("[1.0 inf (- inf inf)]", &["--format", "json"], "[1.0,\"inf\",\"nan\"]");
    f(
        "(record (name \"a\\\"b\") (ok #t) (c #\\λ))",
        &["--format", "json"],
        r#"{"name":"a\"b","ok":true,"c":"λ"}"#,
    );
    f("(filter [#t #f] [1 2])", &["--format", "json"], r#"{"indices":{"n":1},"value":[1]}"#);
    f("[\"hey\" \"sup\"]", &["--format", "json"], r#"["hey","sup"]"#);
    f("(array [0 3] int)", &["--format", "json"], "[]");
    f("[(/ 1 3) 2.0 1e-9]", &["--precision", "3"], "[0.333 2.0 1e-9]");
    f("(/ 1 3)", &["--precision", "3", "--format", "json"], "0.333");
    f("(iota [3 3])", &["--max-elements", "4"], "[[0 1 2] [3 …] …]");
    f("(iota [3 3])", &["--max-elements", "9"], "[[0 1 2] [3 4 5] [6 7 8]]");
}

/// Where nobody watches, nothing is shown, however long it takes.
#[test]
fn progress_is_for_terminals() {
    let folder = Folder::new("progress");
    let program = folder.file(
        "long.remora",
        "(entry (main [n int]) (loop ((i 0) (s 0)) while (< i n) do (values (+ i 1) (bit-xor s (* i i)))))",
    );
    let steps = |n: u64| format!("n={n}");
    let run = |n: u64| {
        let start = std::time::Instant::now();
        let o = remc(&["run", &program, "--device", "interp", "--input", &steps(n)]);
        assert_eq!((o.status.code(), text(&o.stderr)), (Some(0), String::new()));
        start.elapsed()
    };
    // As many steps as take a second here and now; four times as many take more than one on a machine
    // that was busy meanwhile.
    let mut n = 1000;
    while run(n).as_millis() < 1000 {
        n *= 2;
    }
    // A terminal, by util-linux's `script`; it shows the value and the line.
    let remc = env!("CARGO_BIN_EXE_remc");
    let on_terminal = |command: &str, kind: &str| {
        let o = Command::new("script").args(["-qec", command, "/dev/null"]).env("TERM", kind).output();
        o.map(|o| text(&o.stdout)).ok()
    };
    let command = format!("{remc} run {program} --device interp --input {}", steps(4 * n));
    let Some(shown) = on_terminal(&command, "xterm") else {
        eprintln!("left out: there is no `script` that makes a terminal");
        return;
    };
    assert!(shown.contains("running on the interpreter: 1 s"), "{shown:?}");
    let (before, value) = shown.rsplit_once("\r\x1b[K").unwrap();
    assert!(before.contains("running") && value.starts_with("(values"), "{shown:?}");
    // A slow pipe, whose size nobody knows; and a terminal that cannot clear a line.
    let slow = format!("(echo 7; sleep 2) | {remc} run {program} --device interp --input n=/dev/stdin:csv");
    let shown = on_terminal(&slow, "xterm").unwrap();
    assert!(shown.contains("reading `/dev/stdin` for `n`: 2 bytes"), "{shown:?}");
    assert!(shown.contains("\r\x1b[K(values 7"), "{shown:?}");
    let shown = on_terminal(&slow, "dumb").unwrap();
    assert!(shown.starts_with("(values 7"), "{shown:?}");
}

#[test]
fn completions() {
    let folder = Folder::new("completions");
    let script = |shell: &str| {
        let o = remc(&["completions", shell]);
        assert_eq!((o.status.code(), text(&o.stderr)), (Some(0), String::new()));
        assert!(text(&o.stdout).contains("max-elements"), "{shell}");
        folder.file(shell, &o.stdout)
    };
    for shell in ["bash", "zsh", "fish"] {
        let path = script(shell);
        match Command::new(shell).args(["-n", &path]).output() {
            Ok(o) => assert!(o.status.success(), "{shell}: {}", text(&o.stderr)),
            Err(_) => eprintln!("left out: there is no {shell}"),
        }
    }
    // What bash offers after `remc run --form` and after `remc run --format `.
    let offers = |words: &str, last: usize| {
        let program = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={last}; _remc remc \"${{COMP_WORDS[{last}]}}\" \
             \"${{COMP_WORDS[{}]}}\"; echo ${{COMPREPLY[@]}}",
            folder.path("bash"),
            last - 1
        );
        text(&Command::new("bash").args(["-c", &program]).output().unwrap().stdout)
    };
    assert_eq!(offers("remc run --form", 2), "--format\n");
    assert_eq!(
        offers("remc run --format ''", 3),
        "remora json npy npz arrow csv tsv futhark raw text table\n"
    );
    fails(&["completions", "tcsh"], 2, "bash, zsh, fish");
}

#[test]
fn manual_pages() {
    let folder = Folder::new("man");
    let o = remc(&["man"]);
    assert!(text(&o.stdout).contains(".TH remc 1"), "{}", text(&o.stdout));
    let run = text(&remc(&["man", "run"]).stdout);
    assert!(run.contains(".TH remc-run 1") && run.contains("\\-\\-max\\-elements"), "{run}");
    let all = folder.path("man1");
    assert_eq!(remc(&["man", "--output", &all]).status.code(), Some(0));
    let mut names: Vec<String> =
        std::fs::read_dir(&all).unwrap().map(|f| text_name(&f.unwrap().path())).collect();
    names.sort();
    assert!(
        names.contains(&"remc.1".to_owned()) && names.contains(&"remc-completions.1".to_owned()),
        "{names:?}"
    );
    assert_eq!(std::fs::read(PathBuf::from(&all).join("remc-run.1")).unwrap(), run.as_bytes());
    fails(&["man", "nothing"], 2, "completions");
    // groff's own complaints, where there is a `man`.
    if let Ok(o) = Command::new("man").args(["--warnings=all", "-l", &format!("{all}/remc-run.1")]).output() {
        assert!(o.status.success(), "{}", text(&o.stderr));
    }
}

/// A Python with NumPy, as `tools/setup test` names it.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("REMC_TEST_PYTHON").filter(|v| !v.is_empty()).map(PathBuf::from);
    let python = named.clone().unwrap_or("python3".into());
    let has = Command::new(&python).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    assert!(has || named.is_none(), "{}, which REMC_TEST_PYTHON names, has no NumPy", python.display());
    if !has {
        eprintln!("left out: there is no Python with NumPy; `tools/setup test` gets one");
    }
    has.then_some(python)
}

#[test]
fn numpy_reads_what_is_written() {
    let Some(python) = python() else { return };
    let folder = Folder::new("to-numpy");
    for (value, name) in [
        (TABLE, "a.npy"),
        ("(record (x 1.5) (flags [#t #f]))", "b.npz"),
        ("(values (array [0 3] int) 7u8)", "c.npz"),
        ("[[1 2] [3 4]]", "d.csv"),
    ] {
        assert!(remc(&["run", "-e", value, "-o", &folder.path(name)]).status.success());
    }
    let program = "
import numpy as np
a = np.load('a.npy')
assert a.dtype == np.float32 and a.tolist() == [[0.5, 1.5, -2.0], [3.0, 4.0, 1e10]], a
b = np.load('b.npz')
assert sorted(b) == ['flags', 'x'] and b['x'] == 1.5 and b['flags'].tolist() == [True, False]
c = np.load('c.npz')
assert c['arr_0'].shape == (0, 3) and c['arr_0'].dtype == np.int64 and c['arr_1'] == 7
assert np.loadtxt('d.csv', delimiter=',').tolist() == [[1, 2], [3, 4]]
for kind in '?bhilBHILefd':
    x = (np.arange(24).reshape(2, 3, 4) % 5).astype(kind)
    np.savez('all.npz', x=x)
    np.savez_compressed('all-' + np.dtype(kind).name + '.npz', c=x, f=np.asfortranarray(x), b=x.astype(x.dtype.newbyteorder('>')))
";
    let o = Command::new(python).args(["-c", program]).current_dir(&folder.0).output().unwrap();
    assert!(o.status.success(), "{}", text(&o.stderr));
    for (name, ty) in [
        ("bool", "bool"),
        ("int8", "i8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("int64", "i64"),
        ("uint8", "u8"),
        ("uint16", "u16"),
        ("uint32", "u32"),
        ("uint64", "u64"),
        ("float16", "f16"),
        ("float32", "f32"),
        ("float64", "f64"),
    ] {
        let file = folder.path(&format!("all-{name}.npz"));
        let read = |member: &str| {
            let program = format!("(entry (main [x [{ty} 2 3 4]]) x)");
            let o = remc(&[
                "run",
                "-e",
                &program,
                "--device",
                "interp",
                "--input",
                &format!("x={file}:{member}"),
            ]);
            assert_eq!(o.status.code(), Some(0), "{name}: {}", text(&o.stderr));
            text(&o.stdout)
        };
        let value = read("c");
        assert!(value.starts_with(if ty == "bool" { "[[[#f #t" } else { "[[[0" }), "{value}");
        assert_eq!((read("f"), read("b")), (value.clone(), value), "{name}");
    }
}

/// Boxes in an archive: what was written is read, and what is no such pair of arrays is told.
#[test]
fn boxes_are_two_arrays() {
    let folder = Folder::new("boxes");
    let write = |value: &str, name: &str| {
        let path = folder.path(name);
        let o = remc(&["run", "-e", value, "-o", &path]);
        assert_eq!(o.status.code(), Some(0), "{value}: {}", text(&o.stderr));
        path
    };
    let read = |ty: &str, input: &str| {
        let entry = format!("(entry (main [rows {ty}]) rows)");
        let o = remc(&["run", "-e", &entry, "--entry", "main", "--input", &format!("rows={input}")]);
        (o.status.code(), text(&o.stdout).trim_end().to_owned(), text(&o.stderr))
    };
    for (ty, value) in [
        ("[(Σ (n) [int n]) k]", "(split [1 2 3] [2 0 1])"),
        ("[(Σ (n) [float n 2]) k]", "(split [[1.0 2.0] [3.0 4.0]] [0 2])"),
        ("[(Σ (n) [bool n]) k]", "(split [#t #f] [1 1 0])"),
        ("[(Σ (n) [(Σ (m) [i32 m]) n]) k]", "(split (split [1i32 2i32 3i32] [2 0 1]) [1 0 2])"),
    ] {
        let path = write(value, "rows.npz");
        let meant = text(&remc(&["run", "-e", value]).stdout);
        let (code, given, err) = read(ty, &path);
        assert_eq!((code, given.as_str()), (Some(0), meant.trim_end()), "{value}: {err}");
    }
    // Items of a size that the box around them hides are no array's, if they differ.
    let dependent = "(entry (main [x [(Σ (k) [(Σ (j) [int j k]) k]) n]]) x)";
    let input = "x=[[[[1]]] [[[1 2] [3 4]] [[5 6]]]]";
    let to = folder.path("dependent.npz");
    fails(&["run", "-e", dependent, "--entry", "main", "--input", input, "-o", &to], 2, "cannot hold");
    let rows = "[(Σ (n) [int n]) k]";
    let two = write("(record (a (split [1 2 3] [1 2])) (rows (split [4] [1])) (x 2.5))", "two.npz");
    assert_eq!(read(rows, &two).1, "(boxes (n) [int n] [1] ((1) [4]))");
    assert_eq!(read(rows, &format!("{two}:a")).1, "(boxes (n) [int n] [2] ((1) [1]) ((2) [2 3]))");
    for (value, wanted) in [
        ("(record (data [1 2 3]) (offsets [0 4 3]))", "has 4 at 1, and `data` has 3 items"),
        ("(record (data [1 2 3]) (offsets [0 2 1]))", "box 1 would end before it begins"),
        ("(record (data [1 2 3]) (offsets [-1 3]))", "has -1 at 0"),
        ("(record (data [1 2 3]) (offsets [0.0 3.0]))", "its array `offsets` has no integers"),
        ("(record (data [1 2 3]) (offsets [[0 3]]))", "its array `offsets` is no vector"),
        ("(record (data [1 2 3]) (offsets (array [0] int)))", "one number more than there are boxes"),
        ("(record (data [[1 2]]) (offsets [0 1]))", "`data` has 2 axes, and what is in a box has 1"),
        ("(record (data [1.0]) (offsets [0 1]))", "`data.astype(np.int64)`"),
        ("(record (offsets [0 1]))", "it has no array `data`, beside `offsets`"),
        ("(record (a [0 1]) (b 2))", "it holds `a`, `b`, and no boxes, which are two arrays"),
        ("(record (a (split [1] [1])) (b (split [1] [1])))", "--input rows="),
    ] {
        let (code, _, err) = read(rows, &write(value, "wrong.npz"));
        assert!(code == Some(2) && err.contains(wanted), "{value}: {err}");
    }
}

/// What is written as JSON is read from it, and so is what other programs write.
#[test]
fn json_is_read() {
    let folder = Folder::new("json");
    let read = |ty: &str, json: &str| {
        let path = folder.file("a.json", json);
        let entry = format!("(entry (main [x {ty}]) x)");
        let o = remc(&["run", "-e", &entry, "--entry", "main", "--input", &format!("x={path}")]);
        (o.status.code(), text(&o.stdout).trim_end().to_owned(), text(&o.stderr))
    };
    for (ty, json, meant) in [
        ("[int n]", "[1, -2,3]", "[1 -2 3]"),
        ("[float n m]", "[[1, 2.5], [\"nan\", \"-inf\"]]", "[[1.0 2.5] [nan -inf]]"),
        ("u64", "18446744073709551615", "18446744073709551615"),
        ("[bool n]", "[true, false]", "[#t #f]"),
        ("[char n]", "\"a\\\"\\u00e9\"", "\"a\\\"é\""),
        ("char", "\"x\"", "#\\x"),
        (
            "[(Σ (n) [int n]) k]",
            "[[1, 2], [], [3]]",
            "(boxes (n) [int n] [3] ((2) [1 2]) ((0) (array [0] int)) ((1) [3]))",
        ),
        ("[(Σ (n) [char n]) k]", "[\"one\", \"\"]", "(boxes (n) [char n] [2] ((3) \"one\") ((0) \"\"))"),
        (
            "[(Σ (n) [int n]) k]",
            "[{\"indices\": {\"n\": 2}, \"value\": [1, 2]}]",
            "(boxes (n) [int n] [1] ((2) [1 2]))",
        ),
        ("(Tuple int [float n])", "[1, [2, 3]]", "(values 1 [2.0 3.0])"),
        ("[int n 3]", "[]", "(array [0 3] int)"),
        (
            "[(Σ (k j) [int k j]) n]",
            "[{\"indices\": {\"k\": 0, \"j\": 2}, \"value\": []}]",
            "(boxes (n m) [int n m] [1] ((0 2) (array [0 2] int)))",
        ),
        (
            "[(Σ (@k) [int @k]) n]",
            "[{\"indices\": {\"@s\": [2]}, \"value\": [1, 2]}]",
            "(boxes (@s) [int @s] [1] (([2]) [1 2]))",
        ),
        (
            "(Σ (k) (Record (a [int k]) (b [int k])))",
            "{\"indices\": {\"n\": 2}, \"value\": {\"a\": [1, 2], \"b\": [3, 4]}}",
            "(box ((n 2)) (Record (a [int n]) (b [int n])) (record (a [1 2]) (b [3 4])))",
        ),
        (
            "[(Σ (k) [(Σ (m) [char m]) k]) n]",
            "[[\"x\"], []]",
            "(boxes (n) [(Σ (m) [char m]) n] [2] ((1) (boxes (n) [char n] [1] ((1) \"x\"))) ((0) (array [0] (Σ (n) [char n]))))",
        ),
        (
            "[(Record (town (Σ (k) [char k])) (low float)) n]",
            "[{\"Low\": -2.5, \"town\": \"Oslo\", \"more\": null}]",
            "[(record (town (box ((n 4)) [char n] \"Oslo\")) (low -2.5))]",
        ),
    ] {
        let (code, given, err) = read(ty, json);
        assert_eq!((code, given.as_str()), (Some(0), meant), "{ty} from {json}: {err}");
        // And from what remc writes of it.
        let path = folder.file("a.json", json);
        let again = folder.path("b.json");
        let entry = format!("(entry (main [x {ty}]) x)");
        for (from, to) in [(&path, &again), (&again, &path)] {
            let input = format!("x={from}");
            let o = remc(&["run", "-e", &entry, "--entry", "main", "--input", &input, "-o", to]);
            assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        }
        assert_eq!(read(ty, &std::fs::read_to_string(&path).unwrap()).1, meant);
    }
    for (ty, json, wanted) in [
        ("[int n]", "[1, 2", "it is no JSON: EOF while parsing a list at line 1"),
        ("[int n]", "[1, null]", "null at `[1]`"),
        ("[int n]", "[1, 2.5]", "2.5"),
        ("[u8 n]", "[256]", "256, which u8 cannot hold"),
        ("[int n m]", "[[1], [2, 3]]", "shape"),
        ("int", "{\"a\": 1}", "int is no record"),
        ("[(Record (a int)) n]", "[{\"a\": 1}, {\"b\": 2}]", "an object at `[1]`"),
        ("[(Record (a int)) n]", "[{\"b\": 2}]", "it has no `a`, only `b`"),
        ("[(Record (a [int 2])) n]", "[{\"a\": [1, null]}]", "null at `[0].a[1]`"),
        ("(Σ (n) [int n])", "{\"indices\": {\"n\": 3}, \"value\": [3, 4]}", "a box whose witnesses say [3]"),
        ("(Σ (n) [int n])", "{\"indices\": {\"q\": 2}, \"value\": [3, 4]}", "its `indices` do not say `n`"),
        ("(Tuple int int int)", "[1, 2]", "a tuple of 3 is a list of 3"),
    ] {
        let (code, _, err) = read(ty, json);
        assert!(code == Some(2) && err.contains(wanted), "{ty} from {json}: {err}");
    }
}

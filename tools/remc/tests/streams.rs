//! Streams of more items than one piece: what a run gives does not depend on where pieces end, and what is wrong on the way
//! is told.
#![cfg(feature = "llvm")]

mod support;

use support::{Folder, fails, gives, remc, text, with_input};

/// Items enough for many tiles, of sizes so different that each grouping of a sum rounds otherwise.
const ITEMS: usize = 30_011;

fn numbers(count: usize) -> Vec<u8> {
    let mut x = 0.37f64;
    let next = |_| {
        x = 3.99 * x * (1.0 - x);
        ((x - 0.4) * 10f64.powi((x * 1e4) as i32 % 12)).to_le_bytes()
    };
    (0..count).flat_map(next).collect()
}

/// What a run gives with each size of pieces, and with each number of threads: the same, to the bit.
#[track_caller]
fn the_same_in_any_pieces(name: &str, program: &str, inputs: &[(&str, &str, usize)]) -> String {
    let folder = Folder::new(name);
    let path = folder.file("p.remora", program);
    let mut args = vec!["run".to_owned(), path, "--device".into(), "cpu".into()];
    for (input, form, count) in inputs {
        let data = folder.file(input, numbers(*count));
        args.extend(["--input".into(), format!("{input}={data}:{form}")]);
    }
    let ways: [&[&str]; 6] = [
        &["--chunk", "1000000"],
        &["--chunk", "1"],
        &["--chunk", "1000"],
        &["--chunk", "2500", "--threads", "1"],
        &[],
        &["--threads", "5"],
    ];
    let mut first: Option<String> = None;
    for way in ways {
        let all: Vec<&str> = args.iter().map(String::as_str).chain(way.iter().copied()).collect();
        let o = remc(&all);
        assert_eq!(o.status.code(), Some(0), "{way:?}: {}", text(&o.stderr));
        let given = text(&o.stdout);
        let first = first.get_or_insert_with(|| given.clone());
        assert!(*first == given, "{way:?} gives another value than {:?}", ways[0]);
    }
    first.unwrap_or_default()
}

#[test]
fn what_rounds_is_the_same_in_any_pieces() {
    let program = "
        (entry (main [xs (Stream float)])
          (values (sum xs) (sum (filter (> xs 0.5) xs)) (reduce * (+ 1.0 (* 1e-6 xs))) (fold + 0.5 xs)
                  (sum (square (- xs (mean xs))))))";
    the_same_in_any_pieces("numbers", program, &[("xs", "f64[_]", ITEMS)]);
    the_same_in_any_pieces("few", program, &[("xs", "f64[_]", 1025)]);
}

#[test]
fn rows_are_the_same_in_any_pieces() {
    let program = "
        (entry (main [m (Stream [float 3] n)] [xs (Stream float n)])
          (values (reduce + m) (sum (* xs m)) (reduce max2 m) (sum (diff xs)) (reduce + (* 2.0 (filter (> xs 0.1) xs)))))";
    the_same_in_any_pieces("rows", program, &[("m", "f64[_,3]", ITEMS * 3), ("xs", "f64[_]", ITEMS)]);
}

#[test]
fn prefixes_are_the_same_in_any_pieces() {
    let program = "(entry (main [xs (Stream float)]) (cumsum xs))";
    let given = the_same_in_any_pieces("prefixes", program, &[("xs", "f64[_]", ITEMS)]);
    assert!(given.split_whitespace().count() == ITEMS, "{}", given.len());
}

#[test]
fn streams_of_one_length_keep_step() {
    let folder = Folder::new("step");
    let program =
        folder.file("p.remora", "(entry (main [xs (Stream float n)] [ys (Stream float n)]) (dot xs ys))");
    let xs = format!("xs={}:f64[_]", folder.file("xs", numbers(ITEMS)));
    for other in [0, 1, ITEMS - 1, ITEMS + 1] {
        let ys = format!("ys={}:f64[_]", folder.file("ys", numbers(other)));
        for chunk in ["1", "1000", "1000000"] {
            let args = ["run", &program, "--input", &xs, "--input", &ys, "--device", "cpu", "--chunk", chunk];
            fails(&args, 3, "streams of one length");
        }
    }
}

#[test]
fn what_is_cut_off_is_told() {
    let folder = Folder::new("cut");
    let program = folder.file("p.remora", "(entry (main [xs (Stream float)]) (sum xs))");
    let all = numbers(ITEMS);
    let cut = &all[..all.len() - 3];
    let xs = format!("xs={}:f64[_]", folder.file("xs", cut));
    fails(&["run", &program, "--input", &xs, "--device", "cpu"], 2, "no multiple of the 8");
    // How long a pipe is turns out when it ends.
    for chunk in ["1", "1000", "1000000"] {
        let args = ["run", &program, "--input", "xs=-:f64[_]", "--device", "cpu", "--chunk", chunk];
        let o = with_input(&args, cut);
        assert_eq!(o.status.code(), Some(3), "{}", text(&o.stderr));
        assert!(text(&o.stderr).contains(&format!("within item {}", ITEMS - 1)), "{}", text(&o.stderr));
    }
}

/// A version that is chosen by how many tiles a piece has would combine a tile otherwise in large pieces than in small ones.
#[test]
fn how_a_tile_is_combined_is_no_matter_of_versions() {
    let folder = Folder::new("tile");
    let text_of = |ty: &str| {
        let program = folder.file("p.remora", format!("(entry (main [xs ({ty})]) (sum (square xs)))"));
        let o = remc(&["compile", &program, "--emit", "flat"]);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        text(&o.stdout)
    };
    let (floats, ints) = (text_of("Stream float"), text_of("Stream int"));
    assert!(floats.contains("(reduce (") && floats.contains("(alone ("), "{floats}");
    assert!(!floats.contains("(branch"), "{floats}");
    // What is exact may be.
    assert!(ints.contains("(seg-red") && !ints.contains("(alone ("), "{ints}");
}

/// That a program gives on the processor, in pieces of any size, what the interpreter gives.
#[track_caller]
fn agrees(cases: &[(&str, &[&str])]) {
    for (main, inputs) in cases {
        let entry = format!("(entry (main {main})");
        let mut args = vec!["run", "--expression", &entry, "--entry", "main"];
        inputs.iter().for_each(|i| args.extend(["--input", i]));
        let run = |more: &[&str]| {
            let all: Vec<&str> = args.iter().chain(more).copied().collect();
            let o = remc(&all);
            assert_eq!(o.status.code(), Some(0), "{main} {more:?}: {}", text(&o.stderr));
            text(&o.stdout)
        };
        let meant = run(&["--device", "interp"]);
        for chunk in ["1", "2", "1000"] {
            assert_eq!(
                run(&["--device", "cpu", "--chunk", chunk]),
                meant,
                "{main} {inputs:?}, pieces of {chunk}"
            );
        }
    }
}

/// That a program gives on the processor what the interpreter gives, or is refused as what needs all of a stream.
#[track_caller]
fn right_or_refused(main: &str, inputs: &[&str]) {
    let entry = format!("(entry (main {main})");
    let mut args = vec!["run", "--expression", &entry, "--entry", "main", "--chunk", "2"];
    inputs.iter().for_each(|i| args.extend(["--input", i]));
    let on = |device: &str| remc(&args.iter().copied().chain(["--device", device]).collect::<Vec<_>>());
    let (meant, given) = (on("interp"), on("cpu"));
    assert_eq!(meant.status.code(), Some(0), "{main}: {}", text(&meant.stderr));
    match given.status.code() {
        Some(0) => assert_eq!(text(&given.stdout), text(&meant.stdout), "{main}"),
        code => assert!(
            code == Some(2) && text(&given.stderr).contains("E0506"),
            "{main}: {}",
            text(&given.stderr)
        ),
    }
}

#[test]
fn prefixes_of_full_scans() {
    let xs: &[&str] = &["xs=[3 1 2]"];
    agrees(&[
        ("[xs (Stream int)]) (scan/zero + 0 xs)", xs),
        ("[xs (Stream float)]) (scan/zero max2 -inf xs)", &["xs=[]"]),
        ("[xs (Stream int)]) (trace (λ (x a) (+ x (* 10 a))) 0 xs)", xs),
        ("[xs (Stream int)]) (scan/zero + 0 (diff xs))", xs),
        ("[xs (Stream int)]) (scan/zero + 0 (filter (> xs 1) xs))", xs),
        ("[xs (Stream int)]) (scan/zero/right + 0 (collect xs))", xs),
        ("[xs (Stream int)]) (collect (scan/zero + 0 xs))", xs),
        ("[xs (Stream int)]) (values (scan/zero + 0 xs) (sum xs) (length (scan/zero + 0 xs)))", xs),
    ]);
}

#[test]
fn a_look_ahead_in_rows_of_a_named_size() {
    let m: &[&str] = &["m=[[1 2] [3 4] [5 6]]"];
    agrees(&[
        ("[m (Stream [int k])]) (tail (cumsum m))", m),
        ("[m (Stream [int k])]) (diff (cumsum m))", m),
        ("[m (Stream [int k])]) (window (cumsum m) 2)", m),
        ("[m (Stream [int a b])]) (tail (cumsum m))", &["m=[[[1 2] [3 4]] [[5 6] [7 8]] [[1 1] [1 2]]]"]),
        ("[xs (Stream int)]) (argmax (diff xs))", &["xs=[0 1 2 9 10]"]),
        ("[rs (Stream (Σ (n) [int n]))]) (argmax (concat rs))", &["rs=[[1] [5 2] [] [7 9] [0]]"]),
    ]);
}

#[test]
fn boxes_from_piece_to_piece() {
    let rs: &[&str] = &["rs=[[] [1] [2 3] [4 5 6] []]"];
    let pairs = "rs=[(values 0.1 (box [1])) (values 0.7 (box [1 2])) (values 0.9 (box [3]))]";
    agrees(&[
        ("[rs (Stream (Σ (n) [int n]))]) (filter (> (unbox rs (r n) n) 0) rs)", rs),
        ("[rs (Stream (Σ (n) [int n]))]) (partition (> (unbox rs (r n) n) 0) rs)", rs),
        (
            "[rs (Stream (Σ (n) [int n]) k)] [b (Stream bool k)]) (filter b rs)",
            &[rs[0], "b=[#f #t #f #t #t]"],
        ),
        ("[rs (Stream (Tuple float (Σ (n) [int n])))]) (filter (> (proj 0 rs) 0.5) rs)", &[pairs]),
        (
            "[rs (Stream (Σ (n) [int n]))]) (values rs (sum (concat rs)) (unbox rs (r n) (box (reverse r))))",
            rs,
        ),
        ("[rs (Stream (Σ (n) [int n]))]) (+ 1 (concat (unbox rs (r n) (box (+ r n)))))", rs),
        ("[xs (Stream int)]) (fold (λ (x b) (box (append b [x]))) (box [0]) xs)", &["xs=[1 2 3]"]),
    ]);
}

#[test]
fn items_at_known_places() {
    let xs: &[&str] = &["xs=[3 1 2 5 9]", "i=3"];
    let m: &[&str] = &["m=[[1 2] [3 4] [5 7]]"];
    agrees(&[
        ("[xs (Stream int)] [i int]) (values (head xs) (last xs) (index-item xs 1) (index-item xs i))", xs),
        (
            "[xs (Stream int)] [i int]) (values (- xs (head xs)) (last (filter (< xs 4) xs)) (last (cumsum xs)))",
            xs,
        ),
        ("[xs (Stream int)] [i int]) (values (sum (* xs (index-item xs (- i 1)))) (last (diff xs)))", xs),
        ("[m (Stream [int k])]) (values (head m) (last m) (~(1 1)- m (head m)))", m),
        ("[m (Stream [int k])]) (values (cumsum m) (sum m) (last (cumsum m)))", m),
        ("[m (Stream [int k])]) (values (sum (cumsum m)) (take1 m 2) (~(1)sum (take1 m 2)))", m),
        (
            "[xs (Stream int)] [i int]) (values (take1 xs 2) (sum (take1 xs i)) (take1 (filter (> xs 1) xs) 2))",
            xs,
        ),
        ("[xs (Stream int)] [i int]) (values (take1 (drop1 xs 1) 2) (append (take1 (cumsum xs) 3) xs))", xs),
        ("[rs (Stream (Σ (n) [int n]))]) (concat rs)", &["rs=[[1] [2 3] []]"]),
    ]);
    let folder = Folder::new("beyond");
    let program = folder.file("p.remora", "(entry (main [xs (Stream int)]) (- xs (index-item xs 5)))");
    for chunk in ["1", "1000"] {
        let args = ["run", &program, "--input", "xs=[1 2 3 4 5]", "--device", "cpu", "--chunk", chunk];
        fails(&args, 3, "the index [5] is out of range for the shape [5]");
    }
}

#[test]
fn one_after_the_other() {
    let two: &[&str] = &["xs=[3 1 2]", "ys=[5 6 7 8]"];
    let ints = |body: &str| format!("[xs (Stream int)] [ys (Stream int)]) {body}");
    let floats = |body: &str| format!("[xs (Stream float)] [ys (Stream float)]) {body}");
    let rows = |body: &str| format!("[m (Stream [int k])] [w (Stream [int k])]) {body}");
    let (m, none): (&[&str], &[&str]) = (&["m=[[1 2] [3 4]]", "w=[[5 6] [7 8] [9 10]]"], &["xs=[]", "ys=[]"]);
    let cases = [
        (ints("(values (append xs ys) (append [9 8] xs) (append xs [9 8]) (append xs xs))"), two),
        (ints("(append (append xs [1]) (append ys (append xs [2 3])))"), two),
        (
            ints(
                "(let ([a (append xs ys)]) (values (sum a) (length a) (cumsum a) (filter (> a 2) a) (- a (sum a))))",
            ),
            two,
        ),
        (
            ints("(let ([a (append xs ys)]) (values (scan/zero + 0 a) (fold (λ (x s) (+ x (* 3 s))) 1 a)))"),
            two,
        ),
        (
            ints(
                "(let ([a (append xs ys)]) (values (reduce max2 a) (scatter/combine + (: (replicate 0) [int 10]) a a)))",
            ),
            two,
        ),
        (ints("(append (filter (> xs 1) xs) (append (diff ys) [(sum xs)]))"), two),
        (ints("(sort (collect (append ys xs)))"), two),
        (ints("(values (scan/zero + 0 (append xs [1])) (+ (append xs ys) (append xs (* 10 ys))))"), two),
        (ints("(scan/zero + 0 (append [8 9] (append xs [5])))"), two),
        (ints("(values (append [(sum ys)] xs) (append [(sum ys)] (append xs [(length ys)])))"), two),
        (
            ints(
                "(let ([a (append (filter (> xs 1) xs) (filter (> ys 5) ys))]) (values (cumsum a) (- a (sum a)) (filter (> a 2) a)))",
            ),
            two,
        ),
        (ints("(fold (λ (x s) (+ x (* 3 s))) 1 (append (filter (> xs 1) xs) ys))"), two),
        (floats("(append xs (append [1.5] ys))"), none),
        (floats("(values (sum (append xs ys)) (reduce min2 (append xs ys)))"), two),
        (
            rows(
                "(values (append m w) (sum (append m w)) (reduce max2 (append m w)) (~(1)sum (append m m)))",
            ),
            m,
        ),
        (
            "[xs (Stream int)] [ys (Stream int n)]) \
             (unbox (filter (> xs 1) xs) (f k) (sum (* (append f ys) iota{ | [(+ k n)]})))"
                .to_owned(),
            two,
        ),
        // The item before each one.
        (
            ints(
                "(values (diff (append [0] xs)) (dot xs (butlast (append [0] xs))) (butlast (append [7] xs)))",
            ),
            two,
        ),
    ];
    let cases: Vec<(&str, &[&str])> = cases.iter().map(|(main, inputs)| (main.as_str(), *inputs)).collect();
    agrees(&cases);
    // What takes them as one array, or along both axes, or beside itself, is refused or right.
    let zero = "(: (replicate 0) [int 9])";
    let wholes = [
        ints("(+ (append xs ys) (append ys xs))"),
        ints("(+ (append xs [1 2 3 4]) (append [1 2 3 4] xs))"),
        ints("(scatter/combine + (append [0] xs) xs xs)"),
        ints("(let ([a (append xs ys)]) (+ a (butlast (append a [0]))))"),
        ints("(let ([a (append xs ys)]) (~(0 1)+ a (iota [7])))"),
        ints(&format!("(fold (λ (x s) (+ s x)) {zero} (append xs ys))")),
        ints("(index-item xs (iota [2]))"),
        ints("(ravel (scan/zero + 0 xs))"),
        ints("(* 2 (scan/zero + 0 xs))"),
        ints("(collect (outer + [1 2] xs))"),
    ];
    for main in &wholes {
        right_or_refused(main, two);
    }
    let folder = Folder::new("across");
    let program = folder.file("p.remora", format!("(entry (main {})", ints("(diff (append xs ys))")));
    let args = ["run", &program, "--input", two[0], "--input", two[1], "--device", "cpu"];
    fails(&args, 2, "what is behind it as a single one");
}

#[test]
fn elements_of_all_items() {
    let m: &[&str] = &["m=[[1 2] [3 4] [5 7]]"];
    agrees(&[
        ("[m (Stream [int 2])]) (values (ravel m) (sum (ravel m)) (length (ravel m)) (last (ravel m)))", m),
        (
            "[m (Stream [int k])]) (values (cumsum (ravel m)) (filter (> (ravel m) 2) (ravel m)) (ravel (diff m)))",
            m,
        ),
        ("[m (Stream [int k])]) (append (ravel m) [9])", m),
        ("[m (Stream [int a b])]) (ravel m)", &["m=[[[1 2] [3 4]] [[5 6] [7 8]]]"]),
        ("[m (Stream [int k])]) (ravel m)", &["m=[[] []]"]),
    ]);
}

#[test]
fn sizes_within_items() {
    agrees(&[
        (
            "[ts (Stream (Record (x [int n]) (k int)))]) (values n (field ts x))",
            &["ts=[(record (x [1 2]) (k 1)) (record (x [3 4]) (k 2))]"],
        ),
        (
            "[rs (Stream (Σ (n) [int n k]))]) (values k (unbox rs (r n) (sum (sum r))))",
            &["rs=[(box [[1 2]]) (box [[3 4] [5 6]])]"],
        ),
    ]);
    let folder = Folder::new("uneven");
    let program =
        folder.file("p.remora", "(entry (main [ts (Stream (Record (x [int n]) (k int)))]) (field ts x))");
    let ts = "ts=[(record (x [1 2]) (k 1)) (record (x [3]) (k 2))]";
    fails(&["run", &program, "--input", ts, "--device", "cpu"], 2, "the input `ts` wants");
}

#[test]
fn rounds_that_go_along_a_stream_each() {
    let m: &[&str] = &["m=[[1 2] [3 4] [5 6]]", "v=[0.5 1]"];
    agrees(&[
        ("[m (Stream [float k] n)] [v [float k]]) (iterate 3 (λ (v) (sum (* m (~(1 1)dot m v)))) v)", m),
        (
            "[m (Stream [float k] n)] [v [float k]]) (iterate 3 (λ (v) (/ (sum (* m (~(1 1)dot m v))) n)) v)",
            m,
        ),
    ]);
}

#[test]
fn floats_are_scattered_in_one_order() {
    let program = "
        (entry (main [xs (Stream float)])
          (let ([at (cast int (* 7.0 (- 1.0 (/ 1.0 (+ 1.0 (abs xs))))))])
            (scatter/combine + (: (replicate 0.0) [float 8]) at xs)))";
    the_same_in_any_pieces("scattered", program, &[("xs", "f64[_]", ITEMS)]);
}

#[test]
fn streams_of_one_length_are_all_gone_through() {
    let folder = Folder::new("idle");
    let mains = ["(sum xs)", "42", "(sum (* ys (sum xs)))", "(if (> (sum xs) 3) (sum ys) 1)", "(length xs)"];
    for main in mains {
        let entry = format!("(entry (main [xs (Stream int n)] [ys (Stream int n)]) {main})");
        let program = folder.file("p.remora", entry);
        for ys in ["ys=[1 2]", "ys=[1 2 3 4]"] {
            for chunk in ["1", "1000"] {
                let args = [
                    "run",
                    &program,
                    "--input",
                    "xs=[1 2 3]",
                    "--input",
                    ys,
                    "--device",
                    "cpu",
                    "--chunk",
                    chunk,
                ];
                fails(&args, 3, "the number of items of `xs` is 3");
            }
        }
    }
}

#[test]
fn tables_are_read_as_any_other() {
    let folder = Folder::new("tables");
    let lines: String = (0..2_500).map(|k| format!("{k:>30},{}\n", k % 7)).collect();
    let file = |name: &str, text: &str, options: &str| format!("xs={}{options}", folder.file(name, text));
    let plain = file("plain.csv", &lines, "");
    let headed = file("headed.csv", &format!("\n\n# x\na,b\n{lines}"), ":comment=#");
    let titled = file("titled.csv", &format!("title\nmore\na,b\n{lines}"), ":skip=2");
    let late = file("late.csv", &format!("{}1\n2\n", "\n".repeat(300_000)), "");
    let quoted = file(
        "quoted.csv",
        &format!("name\n\"c,d\ne\"\n\n\"x \"\"y\"\"\"\n{}", format!("{}\n", "z".repeat(40)).repeat(2_000)),
        ":header",
    );
    let ends = file("ends.csv", "\u{feff}v\r\n1\r\n2\r3\r\n", "");
    let row = file("row.csv", "1,2,3\n", "");
    let none = file("none.csv", "a,b\n", "");
    let rows = "[xs (Stream [float k])]) (values (length xs) (sum xs))";
    let numbers = "[xs (Stream float)]) (values (length xs) (sum xs))";
    let twice = "[xs (Stream (Record (b int) (a int)))]) \
                 (values (length xs) (max (abs (- (field xs a) (quotient (sum (field xs a)) (length xs))))) (sum (field xs a)))";
    agrees(&[
        (rows, &[&plain]),
        ("[xs (Stream (Record (b int) (a int)))]) (values (length xs) (sum (field xs a)))", &[&none]),
        (twice, &[&headed]),
        (twice, &[&titled]),
        (numbers, &[&late]),
        (numbers, &[&ends]),
        (numbers, &[&row]),
        (
            "[xs (Stream (Σ (k) [char k]))]) (values (length xs) (filter (> (unbox xs (t k) k) 2) xs))",
            &[&quoted],
        ),
    ]);
}

#[test]
fn lines_of_texts_and_files_of_folders() {
    let folder = Folder::new("sources");
    let words = format!("xs={}:text", folder.file("words.txt", "one\r\ntwö\n\nfour"));
    let many =
        format!("xs={}:text", folder.file("many.txt", format!("{}\n", "word ".repeat(9)).repeat(2_000)));
    let lengths = "[xs (Stream (Σ (k) [char k]))]) (values (length xs) (reduce + (unbox xs (t k) k)))";
    std::fs::create_dir_all(folder.path("days/within")).unwrap();
    for (name, lines) in [("b.csv", "3,4\n"), ("a.csv", "1,2\n5,6\n"), ("c.csv", ""), (".hidden", "x")] {
        folder.file(&format!("days/{name}"), lines);
    }
    let days = format!("xs={}", folder.path("days"));
    agrees(&[
        ("[xs (Stream (Σ (k) [char k]))]) xs", &[&words]),
        ("[xs [(Σ (k) [char k]) n]]) (values n xs)", &[&words]),
        (lengths, &[&many]),
        (
            "[xs (Stream [int k])]) (values xs (sum xs) (- xs (reduce max2 (~(1)(λ (r) (reduce max2 r)) xs))))",
            &[&days],
        ),
    ]);
    gives(
        &["run", "-e", "(entry (main [xs (Stream [int k])]) xs)", "--entry", "main", "--input", &days],
        "[[1 2] [5 6] [3 4]]",
    );
    folder.file("days/d.csv", "1,2,3\n");
    let program = folder.file("p.remora", "(entry (main [xs (Stream [int k])]) (sum xs))");
    fails(
        &["run", &program, "--input", &days, "--device", "cpu"],
        3,
        "d.csv` has items of another shape than",
    );
    let none = format!("xs={}", folder.path("days/within"));
    fails(&["run", &program, "--input", &none, "--device", "cpu"], 2, "a folder without files");
}

#[test]
fn what_comes_through_a_pipe() {
    let run = |main: &str, form: &str, bytes: &[u8]| {
        let entry = format!("(entry (main [xs (Stream {main})");
        let input = format!("xs=-{form}");
        let o = with_input(
            &["run", "--expression", &entry, "--entry", "main", "--input", &input, "--device", "cpu"],
            bytes,
        );
        (o.status.code(), text(&o.stdout), text(&o.stderr))
    };
    let value = |main: &str, form: &str, bytes: &[u8]| {
        let (code, out, err) = run(main, form, bytes);
        assert_eq!(code, Some(0), "{err}");
        out.trim_end().to_owned()
    };
    assert_eq!(value("float)]) (sum xs)", ":csv", b"1\n2"), "3.0");
    assert_eq!(value("char)]) xs", ":text", "\u{feff}ab".as_bytes()), "\"ab\"");
    // An array in the other order of its axes is no stream of rows, and yet an input.
    let header = "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3), }";
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(format!("{header:<117}\n").bytes());
    npy.extend([1i64, 4, 2, 5, 3, 6].iter().flat_map(|n| n.to_le_bytes()));
    assert_eq!(value("[int k])]) (+ 0 xs)", "", &npy), "[[1 2 3] [4 5 6]]");
    let four: Vec<u8> = [1i64, 2, 3, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(value("int)]) (sum xs)", ":i64[4]", &four), "10");
    let (code, _, said) = run("int)]) (sum xs)", ":i64[3]", &four);
    assert!(code == Some(3) && said.contains("says 3 items, and there are more"), "{said}");
    // A pipe is read once.
    let two = "(entry (main [xs (Stream int)] [ys (Stream int)]) (+ (sum xs) (sum ys)))";
    let args =
        ["run", "--expression", two, "--entry", "main", "--input", "xs=-:i64[_]", "--input", "ys=-:i64[_]"];
    let o = with_input(&args, &four);
    let said = text(&o.stderr);
    assert!(
        o.status.code() == Some(2) && said.contains("the input `ys` is the same pipe as the input `xs`"),
        "{said}"
    );
}

#[test]
fn what_goes_wrong_on_the_way() {
    let folder = Folder::new("faults");
    let program = folder.file("p.remora", "(entry (main [xs (Stream int)]) (quotient 100 xs))");
    let run = |more: &[&str]| {
        let args = ["run", &program, "--device", "cpu", "--chunk", "2"];
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        let o = remc(&all);
        (o.status.code(), text(&o.stdout), text(&o.stderr))
    };
    // What came before the stop has been written, and a file is not there.
    let (code, out, err) = run(&["--input", "xs=[1 2 4 5 0 7]", "--format", "csv"]);
    assert_eq!((code, out.as_str()), (Some(3), "100\n50\n25\n20\n"), "{err}");
    let to = folder.path("out.npy");
    let (code, _, err) = run(&["--input", "xs=[1 2 4 5 0 7]", "-o", &to]);
    assert!(code == Some(3) && !std::path::Path::new(&to).exists(), "{err}");
    let (code, _, err) = run(&["--input", "xs=[1 2 4 5]", "-o", "/dev/full", "--format", "csv"]);
    assert!(code == Some(2) && err.contains("cannot write `/dev/full`"), "{err}");
    let none = folder.file("n.remora", "(entry (main [xs (Stream [int k])]) (+ 1 xs))");
    let o = remc(&["run", &none, "--device", "cpu", "--chunk", "2", "--input", "xs=[[] [] []]"]);
    assert_eq!(text(&o.stdout), "(array [3 0] int)\n");
}

/// A stream of squares.
const SQUARES: &str = "(produce n (λ ([i int]) (* i i)))";

#[test]
fn streams_that_a_program_makes() {
    let with = |body: &str| format!("[n int]) {}", body.replace("SQUARES", SQUARES));
    let named = |body: &str| with(&format!("(unbox SQUARES (xs k) {body})"));
    let mut programs: Vec<String> = [
        "SQUARES",
        "(sum SQUARES)",
        "(values (sum SQUARES) (length SQUARES))",
        "(sum (produce 6 (λ ([i int]) (* n i))))",
        "(produce n (λ ([i int]) [i (* 2 i) n]))",
        "(reduce + (produce n (λ ([i int]) [i (* 2 i) n])))",
        "(produce n (λ ([i int]) (values i (* 2 i))))",
        "(produce n (λ ([i int]) (iota1 (% i 3))))",
        "(produce n (λ ([i int]) (sum (produce 3 (λ ([j int]) (* i j))))))",
        "(mean (produce n (λ ([i int]) (cast float i))))",
        // Sizes of streams that are those of others, their values, and made of them.
        "(sum (produce (sum SQUARES) square))",
        "(sum (produce (length SQUARES) square))",
        "(unbox SQUARES (xs k) (unbox (produce 3 square) (ys j) (values (sum xs) (iscan + ys))))",
        // In rounds and branches.
        "(iterate 3 (λ ([s int]) (% (sum (produce s square)) 100)) n)",
        "(if (> n 3) (sum SQUARES) 0)",
    ]
    .map(with)
    .into();
    programs.extend(
        [
            "(sum (filter (> xs 5) xs))",
            "(values (sum xs) (sort (collect xs)))",
            "(values (tail xs) (butlast xs))",
            "(diff xs)",
            "(scan/zero + 0 xs)",
            "(append xs [1 2 3])",
            "(append xs xs)",
            "(histogram 3 (% xs 3))",
            "(fold (λ ([x int] [a int]) (+ x (* 3 a))) 1 xs)",
            "(values (head xs) (last xs) (argmax xs))",
            "(sum (square (- xs (reduce max2 xs))))",
        ]
        .map(named),
    );
    let n: &[&str] = &["n=7"];
    let all: Vec<(&str, &[&str])> = programs.iter().map(|p| (p.as_str(), n)).collect();
    agrees(&all);
    agrees(&[
        (&with("SQUARES"), &["n=0"]),
        (&with("(sum SQUARES)"), &["n=0"]),
        ("[n int] [ts (Stream int)]) (values (sum ts) (sum (produce n square)))", &["n=4", "ts=[1 2 3]"]),
        ("[ts (Stream int)]) (sum (produce (length ts) square))", &["ts=[1 2 3]"]),
        ("[ts (Stream int)]) (sum (produce (sum ts) square))", &["ts=[1 2 3]"]),
        (
            "[ys [float k]]) (unbox (produce k (λ ([i int]) (index-item ys i))) (xs j) (sum (square (- xs (mean xs)))))",
            &["ys=[1.0 2.0 3.0]"],
        ),
        (
            "[ys [float k]]) (sum (produce k (λ ([i int]) (* (cast float i) (index-item ys i)))))",
            &["ys=[1.0 2.0 3.0]"],
        ),
    ]);
    right_or_refused(&with("(sort SQUARES)"), n);
    // Two of one length keep step, also where one of them may stop.
    let two = "(let ([a (produce n square)] [b (produce n (λ ([i int]) (quotient 100 (- 50 i))))])
                 (+ a (as-shape [(length a)] b)))";
    agrees(&[(&with(two), n)]);
    // Items of any size: pieces have fewer where those are larger.
    let rows = "(entry (main [n int]) (sum (concat (produce n (λ ([i int]) (iota1 (* 10 i)))))))";
    let o = remc(&[
        "run",
        "-e",
        rows,
        "--entry",
        "main",
        "--device",
        "cpu",
        "--input",
        "n=2000",
        "--memory-limit",
        "8M",
    ]);
    assert_eq!(text(&o.stdout), "133223355000\n", "{}", text(&o.stderr));
    fails(&["run", "-e", "(sum (produce -3 square))", "--device", "cpu"], 3, "is negative: -3");
}

/// A program of `n`, a million, with memory for all of its arrays, and with much less: the same value, or there is no room.
#[test]
fn what_fits_no_memory_goes_in_pieces() {
    let run = |body: &str, more: &[&str]| {
        let entry = format!("(entry (main [n int]) (unbox (iota1 n) (xs k) {body}))");
        let args =
            ["run", "--expression", &entry, "--entry", "main", "--device", "cpu", "--input", "n=1000000"];
        let o = remc(&args.iter().chain(more).copied().collect::<Vec<_>>());
        (o.status.code(), text(&o.stdout), text(&o.stderr))
    };
    let little = ["--memory-limit", "2M"];
    for body in [
        "(sum (square (iscan + xs)))",
        "(values (sum (iscan + xs)) (reduce max2 (iscan + xs)))",
        "(let ([s (iscan + (% xs 7))]) (values (sum s) (last s) (index-item s 5)))",
        "(unbox (filter (= 3 (% (iscan + xs) 5)) xs) (ys j) (sum ys))",
        "(let ([s (iscan max2 (% (* xs 7919) 10007))]) (sum (- (tail s) (butlast s))))",
        "(histogram 5 (% (iscan + xs) 5))",
        "(fold (λ ([x int] [a int]) (% (+ x (* 3 a)) 1009)) 1 (iscan + xs))",
        "(sum (iscan + (window (% xs 10) 3)))",
        "(lift [m n] (sum (square (iscan + (% (iota [(+ m 1)]) 3)))))",
        "(let ([s (iscan + xs)]) (sum (% s (+ 1 (reduce max2 (% s 10))))))",
        "(iterate 3 (λ ([s int]) (sum (% (iscan + xs) (+ s 7)))) 1)",
        "(if (> n 10) (sum (iscan + xs)) 3)",
        "(unbox (iota1 (quotient n 2)) (ys j) (values (sum (iscan + xs)) (sum (iscan max2 ys))))",
    ] {
        let (code, meant, err) = run(body, &[]);
        assert_eq!(code, Some(0), "{body}: {err}");
        let (code, given, err) = run(body, &little);
        assert_eq!((code, given), (Some(0), meant), "{body}: {err}");
    }
    // What goes piece by piece already is run once.
    let twice = "(append (produce 3 square) (sort (collect (produce n square))))";
    let (code, given, _) = run(twice, &["--memory-limit", "2M", "--format", "csv"]);
    assert_eq!((code, given.as_str()), (Some(3), "0\n1\n4\n"));
    // What needs all of it is told as ever.
    let (code, _, err) = run("(sum (reverse (iscan + xs)))", &little);
    assert!(code == Some(3) && err.contains("an array of shape [1000000] is too large"), "{err}");
    // What is written as it comes needs no memory for itself.
    let folder = Folder::new("strips");
    let to = folder.path("out.npy");
    let (code, _, err) = run("(iscan + xs)", &["--memory-limit", "2M", "-o", &to]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(std::fs::metadata(&to).map(|m| m.len()).ok(), Some(8_000_128));
}

/// What `--measure-cost` counts: work, depth, and space with one processor and with any number of them; the same of pieces of
/// `chunk` items, or 0 where there are none.
fn counted(expression: &str, chunk: u64) -> ([u64; 4], [u64; 3]) {
    let chunk = chunk.to_string();
    let o = remc(&["run", "--expression", expression, "--measure-cost=json", "--chunk", &chunk]);
    assert_eq!(o.status.code(), Some(0), "{expression}: {}", text(&o.stderr));
    let told: serde_json::Value = serde_json::from_str(&text(&o.stderr)).unwrap();
    let number = |of: &serde_json::Value, key: &str| of[key].as_u64().unwrap_or_default();
    let pieces = &told["pieces"];
    (
        ["work", "depth", "space_one", "space_all"].map(|key| number(&told, key)),
        ["work", "depth", "space"].map(|key| number(pieces, key)),
    )
}

/// The tables of Madsen's thesis for the sum of the squares of l numbers in blocks of B: work grows as l, steps as l/B, and
/// space as min(B, l), to a factor that is the same in all of them.
#[test]
fn the_cost_of_a_sum_of_squares_grows_as_it_should() {
    for l in [10, 100, 1000] {
        let program = format!("(sum (square (produce {l} (λ ([i int]) i))))");
        for b in [1, 10, 100, 1000] {
            let ([work, depth, one, all], [pieces_work, steps, space]) = counted(&program, b);
            let case =
                format!("{l} in pieces of {b}: {work} {depth} {one} {all} {pieces_work} {steps} {space}");
            let within = |n: u64, of: u64, least: u64, most: u64| (least * of..=most * of).contains(&n);
            assert!(within(work, l, 2, 3) && depth == 1, "{case}");
            assert!((3..10).contains(&one) && within(all, l, 3, 6), "{case}");
            // Of each piece some work is to count it.
            let pieces = l.div_ceil(b);
            assert!(within(pieces_work, l + 5 * pieces, 1, 4), "{case}");
            assert!(within(steps, pieces + 1, 2, 4), "{case}");
            assert!(within(space, b.min(l) + 1, 3, 7), "{case}");
        }
    }
    // An array in memory is there for one processor, too; what is read while it is made is not.
    let (whole, _) = counted("(sum (reverse (sort (produce 100 square))))", 10);
    assert!(whole[2] >= 100, "{whole:?}");
    // Steps one after the other.
    let ([work, depth, ..], _) = counted(
        "(sum (produce 4 (λ ([i int]) (fold (λ ([x int] [a int]) (quotient (+ a x) 2)) i (iota [50])))))",
        1,
    );
    assert!(work >= 400 && (50..60).contains(&depth), "{work} {depth}");
}

#[test]
fn cost_is_counted_in_the_interpreter() {
    let o = remc(&["run", "--expression", "(+ 1 2)", "--measure-cost", "--device", "cpu"]);
    assert_eq!(o.status.code(), Some(2), "{}", text(&o.stderr));
    // A program that stops has no cost.
    let o = remc(&["run", "--expression", "(quotient 1 (sum [0]))", "--measure-cost"]);
    assert_eq!(o.status.code(), Some(3), "{}", text(&o.stderr));
    assert!(!text(&o.stderr).contains("work"), "{}", text(&o.stderr));
    // What cannot be streamed is measured as a whole; several values each by itself.
    let o = remc(&["run", "--expression", "(sort [3 1 2]) (sum [1 2])", "--measure-cost"]);
    assert_eq!((o.status.code(), text(&o.stdout)), (Some(0), "[1 2 3]\n3\n".to_owned()));
    assert_eq!(text(&o.stderr).matches("work").count(), 2);
    // Streams are read.
    let entry = "(entry (main [xs (Stream (Σ (n) [int n]))]) (unbox xs (x n) (sum x)))";
    let o = remc(&[
        "run",
        "--expression",
        entry,
        "--entry",
        "main",
        "--input",
        "xs=[[1 2] [] [3 4 5]]",
        "--measure-cost",
        "--chunk",
        "1",
    ]);
    assert_eq!((o.status.code(), text(&o.stdout)), (Some(0), "[3 0 12]\n".to_owned()));
    assert!(text(&o.stderr).contains("entry `main`: its cost") && text(&o.stderr).contains("--chunk 1: "));
}

//! Streams of more items than one piece: what a run gives does not depend on where pieces end, and what is wrong on the way
//! is told.
#![cfg(feature = "llvm")]

mod support;

use support::{Folder, fails, remc, text, with_input};

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

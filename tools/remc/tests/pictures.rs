//! `--plot` and `--format table`.

mod support;

use support::{Folder, fails, gives, remc, text};

#[test]
fn a_picture_instead_of_the_value() {
    let folder = Folder::new("plot");
    let (svg, png) = (folder.path("a.svg"), folder.path("a.png"));
    let program = "(define x (/ (iota [50]) 10.0)) 1 (values x (sin x))";
    for device in ["cpu", "interp"] {
        for path in [&svg, &png] {
            let o = remc(&["run", "--device", device, "-e", program, "--plot", path]);
            assert_eq!(
                (o.status.code(), text(&o.stdout), text(&o.stderr)),
                (Some(0), String::new(), String::new())
            );
        }
        let drawn = std::fs::read_to_string(&svg).unwrap();
        assert!(drawn.contains("<title>(values x (sin x))</title>"), "{drawn}");
        assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n"));
    }
    // The value as well, where that is asked for.
    gives(&["run", "-e", "[1 2]", "--plot", &svg, "--format", "json"], "[1,2]");
    let out = folder.path("a.json");
    assert!(remc(&["run", "-e", "[3 4]", "--plot", &svg, "--output", &out]).status.success());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "[3,4]\n");
    // An entry's name is the title.
    let file = folder.file("e.remora", "(entry (waves [n int]) (sin (iota [n])))");
    assert!(remc(&["run", &file, "--input", "n=30", "--plot", &svg]).status.success());
    assert!(std::fs::read_to_string(&svg).unwrap().contains("<title>waves</title>"));
}

#[test]
fn kinds_of_pictures() {
    let folder = Folder::new("plot-kinds");
    let path = folder.path("a.svg");
    for (kind, said) in [
        ("line", "a line, 5 numbers"),
        ("bars", "5 bars"),
        ("scatter", "points, 5 numbers"),
        ("heat", "a heat map of 1 rows and 5 columns"),
        ("histogram", "5 bars"),
    ] {
        let o = remc(&["run", "-e", "[1 2 3 4 5]", "--plot", &path, "--plot-as", kind]);
        assert_eq!(o.status.code(), Some(0), "{kind}: {}", text(&o.stderr));
        let drawn = std::fs::read_to_string(&path).unwrap();
        assert!(drawn.contains(&format!("<desc>{said}</desc>")), "{kind}: {drawn}");
    }
    fails(&["run", "-e", "[1]", "--plot-as", "line"], 2, "--plot <FILE>");
}

#[test]
fn what_cannot_be_drawn_leaves_no_file() {
    let folder = Folder::new("plot-none");
    let path = folder.path("a.svg");
    let refused = |program: &str, says: &str| fails(&["run", "-e", program, "--plot", &path], 2, says);
    refused("5", "one number");
    refused("\"text\"", "it is text");
    refused("(array [0 3] int)", "it is empty, of shape [0 3]");
    refused("(reshape [2 2 2 2] (iota [16]))", "an array of 4 axes");
    refused("[nan nan]", "none of its 2 numbers is finite");
    assert!(!std::path::Path::new(&path).exists());
    // One that is there stays as it is.
    let path = folder.file("old.svg", "old");
    fails(&["run", "-e", "5", "--plot", &path], 2, "U0025");
    fails(&["run", "-e", "(index [1] [7])", "--plot", &path], 3, "R0001");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    fails(&["run", "-e", "[1]", "--plot", &folder.path("a.pdf")], 2, "an .svg or a .png");
    fails(&["run", "-e", "[1]", "--plot", &folder.path("none/a.svg")], 2, "its folder does not exist");
    let program = folder.file("p.svg", "[1 2]");
    fails(&["run", &program, "--plot", &program], 2, "it is the program");
}

#[test]
fn tables() {
    let table = |program: &str, more: &[&str], lines: &str| {
        for device in ["cpu", "interp"] {
            let args = [&["run", "--device", device, "-e", program, "--format", "table"], more].concat();
            gives(&args, lines);
        }
    };
    table("[[1.5 -20] [300 0.25]]", &[], "       0       1\n0    1.5  -20.0\n1  300.0    0.25");
    table("(iota [5])", &["--rows", "3"], "0  0\n1  1\n⋮\n4  4\n… [5] of int");
    table(
        "(record (name [(box \"al\") (box \"eve\")]) (age [7 40]))",
        &[],
        "   name  age\n0  al      7\n1  eve    40",
    );
    // Every value at the top, with an empty line between them.
    table("1 [2 3]", &[], "1\n\n0  2\n1  3");
    table("(/ 1.0 3.0)", &[], "0.333333");
    table("(/ 1.0 3.0)", &["--precision", "2"], "0.33");
    fails(&["run", "-e", "[1]", "--rows", "3"], 2, "--rows is of tables, and the format is remora");
    fails(&["run", "-e", "[1]", "--format", "table", "--max-elements", "3"], 2, "a table is cut by --rows");
    // A file has all of it.
    let folder = Folder::new("table");
    let path = folder.path("t.txt");
    assert!(remc(&["run", "-e", "(iota [500])", "--format", "table", "--output", &path]).status.success());
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 500);
}

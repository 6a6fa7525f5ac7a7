//! `remc fmt`: files, folders, pages, standard input, and what is said of each that cannot be formatted.

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use support::{Folder, fails, remc, text, with_input};

const UGLY: &str = "(define   (f x)\n(+ x\n1))\n(f  2) ; ⇒ 3\n";
const NEAT: &str = "(define (f x)\n  (+ x\n     1))\n(f 2)  ; ⇒ 3\n";

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn files_are_formatted_in_place() {
    let folder = Folder::new("fmt");
    let (ugly, neat) = (folder.file("ugly.remora", UGLY), folder.file("neat.remora", NEAT));
    fs::set_permissions(&ugly, fs::Permissions::from_mode(0o640)).unwrap();
    let inode = fs::metadata(&neat).unwrap().ino();
    let o = remc(&["fmt", &ugly, &neat]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    assert_eq!((text(&o.stdout), text(&o.stderr)), (String::new(), format!("formatted {ugly}\n")));
    assert_eq!((read(&ugly), read(&neat)), (NEAT.into(), NEAT.into()));
    assert_eq!(fs::metadata(&ugly).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(fs::metadata(&neat).unwrap().ino(), inode, "what does not change is not written");
    let o = remc(&["fmt", &ugly, &neat]);
    assert_eq!((o.status.code(), text(&o.stderr)), (Some(0), String::new()));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn a_check_writes_nothing_and_says_what_would_change() {
    let folder = Folder::new("fmt-check");
    let (ugly, neat) = (folder.file("ugly.remora", UGLY), folder.file("neat.remora", NEAT));
    let o = remc(&["fmt", "--check", &neat]);
    assert_eq!((o.status.code(), text(&o.stdout), text(&o.stderr)), (Some(0), "".into(), "".into()));
    let o = remc(&["fmt", "--check", &ugly, &neat]);
    assert_eq!(o.status.code(), Some(1));
    let said = text(&o.stdout);
    assert!(said.starts_with(&format!("--- {ugly}\n+++ {ugly}, formatted\n@@ ")), "{said}");
    assert!(said.contains("\n-(define   (f x)\n") && said.contains("\n+     1))\n"), "{said}");
    assert_eq!(text(&o.stderr), "1 of 2 files is not formatted; `remc fmt` formats them\n");
    assert_eq!(read(&ugly), UGLY);
    // A long one is cut; --diff shows all, and is no failure.
    let long = folder.file("long.remora", "(f  x)\n".repeat(100));
    let o = remc(&["fmt", "--check", &long]);
    assert_eq!(text(&o.stdout).lines().count(), 2 + 30 + 1, "{}", text(&o.stdout));
    assert!(text(&o.stdout).ends_with("lines more; `remc fmt --diff` shows all\n"));
    let o = remc(&["fmt", "--diff", &long]);
    assert_eq!((o.status.code(), text(&o.stdout).lines().count()), (Some(0), 2 + 1 + 200));
    assert_eq!(read(&long), "(f  x)\n".repeat(100));
}

#[test]
fn standard_input_goes_to_standard_output() {
    for args in [&["fmt", "--stdin"][..], &["fmt", "-"]] {
        let o = with_input(args, UGLY.as_bytes());
        assert_eq!((o.status.code(), text(&o.stdout), text(&o.stderr)), (Some(0), NEAT.into(), "".into()));
    }
    let o = with_input(&["fmt", "--stdin", "--check"], UGLY.as_bytes());
    assert_eq!(o.status.code(), Some(1));
    assert_eq!(with_input(&["fmt", "--stdin", "--check"], NEAT.as_bytes()).status.code(), Some(0));
    let o = with_input(&["fmt", "--stdin"], b"(f (x)");
    assert_eq!((o.status.code(), text(&o.stdout)), (Some(1), "".into()));
    assert!(
        text(&o.stderr).contains("E0102") && text(&o.stderr).contains("<stdin>:1:1"),
        "{}",
        text(&o.stderr)
    );
    let o = with_input(&["fmt", "--stdin"], b"(f \xff)");
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("UTF-8"), "{}", text(&o.stderr));
    assert_eq!(with_input(&["fmt", "--stdin"], b"").stdout, b"");
}

#[test]
fn a_folder_means_the_programs_in_it() {
    let folder = Folder::new("fmt-folder");
    for inner in ["a/b", ".hidden", "empty"] {
        fs::create_dir_all(folder.0.join(inner)).unwrap();
    }
    let names = ["x.remora", "a/y.remora", "a/b/z.remora"];
    let files: Vec<String> = names.iter().map(|n| folder.file(n, UGLY)).collect();
    let others = [folder.file("notes.txt", UGLY), folder.file(".hidden/h.remora", UGLY)];
    // A link to a folder above would never end; one to a file is that file's matter.
    symlink("..", folder.path("a/up")).unwrap();
    symlink("../notes.txt", folder.path("a/link.remora")).unwrap();
    let root = folder.0.to_str().unwrap();
    let o = remc(&["fmt", root, &files[1], root]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let said: Vec<String> = text(&o.stderr).lines().map(str::to_owned).collect();
    let mut expected: Vec<String> = files.iter().map(|f| format!("formatted {f}")).collect();
    expected.sort();
    let mut sorted = said.clone();
    sorted.sort();
    assert_eq!(sorted, expected, "each once");
    assert!(files.iter().all(|f| read(f) == NEAT) && others.iter().all(|f| read(f) == UGLY));
    fails(&["fmt", &folder.path("empty")], 2, "there is no program in the folder");
    // A link that is named is followed, and stays.
    let o = remc(&["fmt", &folder.path("a/link.remora")]);
    assert!(o.status.success() && Path::new(&folder.path("a/link.remora")).is_symlink());
    assert_eq!(read(&others[0]), NEAT);
}

#[test]
fn what_cannot_be_formatted_is_left_and_keeps_nothing_else_from_it() {
    let folder = Folder::new("fmt-wrong");
    let wrong = "(define (f x)\n  (+ x [1 2))\n";
    let bad = folder.file("bad.remora", wrong);
    let ugly = folder.file("ugly.remora", UGLY);
    let latin = folder.path("latin.remora");
    fs::write(&latin, b"; caf\xe9\n(f x)\n").unwrap();
    let none = folder.path("none.remora");
    let o = remc(&["fmt", &bad, &latin, &none, &ugly]);
    let said = text(&o.stderr);
    assert_eq!(o.status.code(), Some(2), "{said}");
    assert!(said.contains("E0102") && said.contains("bad.remora:2:"), "{said}");
    assert!(said.contains("latin.remora") && said.contains("UTF-8"), "{said}");
    assert!(said.contains("none.remora") && said.contains("there is no such file"), "{said}");
    assert_eq!((read(&bad), read(&ugly)), (wrong.into(), NEAT.into()));
    assert_eq!(remc(&["fmt", &bad]).status.code(), Some(1));
    fails(&["fmt", "/dev/null"], 2, "no ordinary file");
    // Root may write to any file.
    if fs::metadata(&folder.0).unwrap().uid() != 0 {
        let fixed = folder.file("fixed.remora", UGLY);
        fs::set_permissions(&fixed, fs::Permissions::from_mode(0o444)).unwrap();
        fails(&["fmt", &fixed], 2, "not permitted");
        assert_eq!(read(&fixed), UGLY);
    }
}

#[test]
fn pages_have_their_programs_formatted() {
    let folder = Folder::new("fmt-page");
    let page = "# A page\n\nText  with   spaces.\n\n```remora\n(f  x)\n```\n\n- a list\n\n  ```remora more\n  (define y\n  1)\n\n  (g \
                y)\n  ```\n\n> ~~~remora main.remora\n> (h\n>   z)\n> ~~~\n\n```text\n(f  x)\n```\n\n```remora\n(f  (x)\n```\n";
    let neat = page.replacen("(f  x)", "(f x)", 1).replace("  (define y\n  1)", "  (define y\n    1)");
    let file = folder.file("page.md", page);
    let o = remc(&["fmt", &file]);
    assert!(o.status.success());
    assert_eq!(read(&file), neat);
    let line = page.lines().position(|l| l == "(f  (x)").unwrap() + 1;
    assert!(text(&o.stderr).contains(&format!("page.md:{line}: left as it is: ")), "{}", text(&o.stderr));
    assert_eq!(remc(&["fmt", "--check", &file]).status.code(), Some(0));
}

#[test]
fn line_ends_and_marks_stay() {
    let folder = Folder::new("fmt-ends");
    let file = folder.file("x.remora", "\u{feff}(f  x)\r\n(g\r\ny \"a\r\nb\")\t\r\n\r\n\r\n\r\n; end");
    assert!(remc(&["fmt", &file]).status.success());
    assert_eq!(read(&file), "\u{feff}(f x)\r\n(g\r\n  y \"a\r\nb\")\r\n\r\n; end\r\n");
    let empty = folder.file("empty.remora", "\n\n \t\n");
    assert!(remc(&["fmt", &empty]).status.success());
    assert_eq!(read(&empty), "");
}

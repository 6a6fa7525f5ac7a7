//! The grammar against the compiler's reader, on every program that the repository has: what the reader accepts is parsed
//! without errors, into the same tokens and the same definitions.

use remc_base::ModuleId;
use remc_syntax::ast::ItemKind;
use remc_syntax::token::{TokenKind, TriviaKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tree_sitter::{Node, Parser, Tree};

/// What programs seldom have.
const EDGES: &[&str] = &[
    "#! /usr/bin/env remc\n(+ 1 2)",
    "\u{feff}(+ 1 2)",
    "(let ([x 1] [y 2.]) (+ x y))",
    "(let ((x [int 2] [1 2]) (y 1 [1 2]) (z all [1 2]) (w : [int 1] [1])) (let* ((v [x y])) v))",
    "(let ((all [1 2]) (x all) (y all x)) (loop ((z all)) while (f z) do (g all)))",
    "(let ((A [1 2]) (x (A 1)) (y [A x])) (Tuple x (Record y)))",
    "(let ((v (Tuple int (Record (x float) (if int))) (values 1 (record (x 1.5) (if 2))))) v)",
    "(box ((n 3)) [int n] [1 2 3]) (box ((n 2) (@s [2 3])) [int n @s] ((f n) (g n))) (box (f n))",
    "(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7])) (boxes [n @s] [int n @s] [k] ([1 [2]] x))",
    "(array [0 3] int) (array [0] (Σ (n) [int n])) (array [n] (-> (int) int)) (frame [2] x y) (frame [0] [int 3])",
    "~[0 1]f (~(0 all)~(1)f{int bool | 3 [2 @s] (+ d-1 1)} x) [~(1)f g] f{|} f{ | 3 }{int|}",
    "#;~(1)f{int | 3} 1 #; #; (a #\\) \")\" #| ) |# ; )\n b) c 2 [#;3 4] #;#t \"#| no |# ; no\" #|#|#||#|#|#",
    "#\\( #\\; #\\  #\\space #\\x3bb #\\λ #\\\" [#\\a] (f #\\)) ~ ~x ~~ a~(b c) (a~ b) a#b - + -x +1 -1 1+ 1- 2d .5 5. ...",
    "0x1f 0XAB 0b101 0o17 0x1fi64 1_000 -0x10 +5 1e5 1E-5 1.5e+3f32 1f32 7u8 -7i16 .5e1 inf -inf +inf nan true false #true",
    "1x 2d-conv i8 e5 infinity nano truex inf2 true? -true +nan .x 1/ --1",
    "\"a\\\"b\\\\ \\x3bb; \\u{3bb} \\\n   next ; #| \" \"\" \"(\" (f \"a\"\"b\")",
    "(f\u{a0}x\u{3000}y\u{2003}z\u{85}w) (λ (x) x) (lambda ([x int]) : int x) (fn ([x 1] [y all]) y) (t-fn (t) x) (i-fn (n) x)",
    "(Tλ ((t num) @t (u Atom)) x) (Iλ [n @s (m Dim) (@r Shape)] x) (: x (Forall ((t num)) (Pi (n) (Sigma (k) (Arr t (shape n k))))))",
    "(define-type T [int 2]) (define x : T [1 2]) (define (f{t (u num) | n @s} [x [t n @s]]) : [t n @s] (define y x) y)",
    "(entry (main [xs [(Σ (n) [f32 n]) k]] [k int]) : int (define [g x] x) (let (((h a) : int a) ([i{t|} b] b)) k)) (entry (none) 1)",
    "(let-values (((x y) e) ([[z 1]] f)) (proj 0 (values x))) (unbox e (x n @s) (define y 1) y) (lift [d e] d) (lift-int (d e) d)",
    "(cond ((< x 1) (define y 2) y) [else 3]) (loop ((i 0) [j 1]) while (< i 3) do (values (+ i 1) j)) (while p f x) (else x)",
    "(with (record (a 1)) (x 1)) (field r define) (field (with r (λ 1)) x) (cast f32 x) (cast [int 2] y) (as-shape [(length xs) @s] y)",
    "(reify-dimension (+ n 1)) (reify-shape (++ @s [2])) (t-app (i-app f n [2 3] (shape 2)) int [bool 2] @t (Quot t) (Val [n]))",
    "(primitive (p{t | d (= d 2)} [x [t d]]) : [t d]) (import \"a.remora\")",
];

/// A program, and where it is from.
struct Program {
    name: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut todo = vec![root().join(folder)];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder of the repository");
            todo.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every program: the files of the prelude, the tests, the examples and the benchmarks, and the blocks of pages.
fn programs() -> Vec<Program> {
    let mut found: Vec<_> =
        EDGES.iter().map(|text| Program { name: (*text).to_owned(), text: (*text).to_owned() }).collect();
    for folder in ["prelude", "testsuite", "examples", "tools"] {
        for path in files(folder, "remora") {
            let text = std::fs::read_to_string(&path).expect("a text");
            found.push(Program { name: path.display().to_string(), text });
        }
    }
    for folder in ["book", "testsuite"] {
        for path in files(folder, "md") {
            let text = std::fs::read_to_string(&path).expect("a text");
            // Every second part is inside of a fence.
            for (i, part) in text.split("\n```").enumerate().skip(1).step_by(2) {
                if let Some(("remora", content)) = part
                    .split_once('\n')
                    .map(|(info, rest)| (info.split(' ').next().unwrap_or_default(), rest))
                {
                    found.push(Program {
                        name: format!("{}, block {i}", path.display()),
                        text: format!("{content}\n"),
                    });
                }
            }
        }
    }
    assert!(found.len() > 1000, "{} programs", found.len());
    found
}

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_remora::LANGUAGE.into()).expect("an ABI that this version reads");
    parser
}

fn parse(parser: &mut Parser, text: &str) -> Tree {
    parser.parse(text, None).expect("a tree, as nothing stops the parser")
}

/// All nodes, parents before their children.
fn nodes(tree: &Tree) -> Vec<Node<'_>> {
    let mut found = vec![tree.root_node()];
    let mut at = 0;
    while at < found.len() {
        let node = found[at];
        found.extend((0..node.child_count()).filter_map(|i| node.child(i)));
        at += 1;
    }
    found
}

/// Where nodes are wrong or missing, for a message.
fn errors(tree: &Tree, text: &str) -> Vec<String> {
    let wrong = nodes(tree).into_iter().filter(|n| n.is_error() || n.is_missing());
    wrong
        .map(|n| {
            let line = text.lines().nth(n.start_position().row).unwrap_or_default();
            format!("{}: {} in {line:?}", n.start_position().row + 1, n.kind())
        })
        .collect()
}

#[test]
fn what_the_reader_accepts_has_no_errors() {
    let mut parser = parser();
    let (mut wrong, mut accepted) = (vec![], 0);
    for Program { name, text } in programs() {
        let parsed = remc_syntax::parse(ModuleId(0), &text, true);
        if !parsed.diagnostics.is_empty() {
            continue;
        }
        accepted += 1;
        let tree = parse(&mut parser, &text);
        if tree.root_node().has_error() {
            wrong.push(format!("{name}: {:?}", errors(&tree, &text)));
        }
    }
    assert!(wrong.is_empty(), "{} of {accepted}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(accepted > 1000, "{accepted} programs");
}

#[test]
fn edges_are_accepted() {
    for text in EDGES {
        let said = remc_syntax::parse(ModuleId(0), text, true).diagnostics;
        assert!(said.is_empty(), "{text}: {said:#?}");
    }
}

#[test]
fn a_bracket_that_is_missing_is_an_error() {
    let mut parser = parser();
    for text in
        ["(define (f x) (+ x 1)", "(let ((x 1) x)", "[1 2", "(f{int 3} x)", "\"abc", "(if c)", "(define)"]
    {
        assert!(parse(&mut parser, text).root_node().has_error(), "{text}");
    }
}

/// What a token is, in both grammars.
fn kind_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "integer" => "integer",
        "float" => "float",
        "boolean" => "boolean",
        "character" => "character",
        "string" => "string",
        "comment" | "shebang" => "line comment",
        "block_comment" => "block comment",
        "symbol" | "type_identifier" | "index_identifier" | "label" => "name",
        _ => return None,
    })
}

#[test]
fn tokens_are_those_of_the_reader() {
    let mut parser = parser();
    let mut compared = 0;
    for Program { name, text } in programs() {
        // What is wrong to the reader may be a name here, such as `300u8`.
        if !remc_syntax::parse(ModuleId(0), &text, true).diagnostics.is_empty() {
            continue;
        }
        let tree = parse(&mut parser, &text);
        let all = nodes(&tree);
        // What is in the comment of a datum is not told apart.
        let hidden: Vec<Range<usize>> =
            all.iter().filter(|n| n.kind() == "datum_comment").map(Node::byte_range).collect();
        let mut found: Vec<_> = all
            .iter()
            .filter_map(|n| {
                // A keyword has its own spelling for a kind, and is a leaf between brackets and names.
                let keyword = n.child_count() == 0 && !n.is_named() && n.kind().starts_with(is_letter);
                Some((n.byte_range(), if keyword { "name" } else { kind_of(n.kind())? }))
            })
            .collect();
        found.sort_by_key(|(range, _)| range.start);
        let tokens = remc_syntax::tokens(&text);
        let mut wanted: Vec<(Range<usize>, &str)> = tokens
            .tokens
            .iter()
            .filter_map(|t| {
                let kind = match t.kind {
                    TokenKind::Int { .. } => "integer",
                    TokenKind::Float { .. } => "float",
                    TokenKind::Bool(_) => "boolean",
                    TokenKind::Char(_) => "character",
                    TokenKind::Str(_) => "string",
                    TokenKind::Name(_) => "name",
                    _ => return None,
                };
                Some((t.start as usize..t.end as usize, kind))
            })
            .collect();
        wanted.extend(tokens.trivia.iter().filter_map(|t| {
            let kind = match t.kind {
                TriviaKind::Space => return None,
                TriviaKind::LineComment => "line comment",
                TriviaKind::BlockComment => "block comment",
            };
            Some((t.start as usize..t.end as usize, kind))
        }));
        // A comment within the comment of a datum is part of it; that of the datum is no token of the reader.
        wanted.retain(|(r, _)| !hidden.iter().any(|h| h.start < r.start && r.end <= h.end));
        wanted.sort_by_key(|(range, _)| range.start);
        compared += wanted.len();
        let show = |list: &[(Range<usize>, &str)]| -> Vec<String> {
            list.iter().map(|(r, kind)| format!("{kind} {:?} at {}", &text[r.clone()], r.start)).collect()
        };
        let (found, wanted) = (show(&found), show(&wanted));
        let first = found.iter().zip(&wanted).find(|(a, b)| a != b);
        assert!(found == wanted, "{name}: found and wanted first differ: {first:?}");
    }
    assert!(compared > 40_000, "{compared} tokens");
}

/// What begins a keyword, and no bracket or mark.
fn is_letter(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '→' | '∀' | ':' | '-' | '=')
}

#[test]
fn definitions_are_those_of_the_reader() {
    let mut parser = parser();
    let mut compared = 0;
    for Program { name, text } in programs() {
        let parsed = remc_syntax::parse(ModuleId(0), &text, true);
        if !parsed.diagnostics.is_empty() {
            continue;
        }
        let wanted: Vec<String> = parsed
            .items
            .iter()
            .filter_map(|item| {
                Some(match &item.item.kind {
                    ItemKind::Define { name, .. } => format!("define {}", name.name),
                    ItemKind::Entry { name, .. } => format!("entry {}", name.name),
                    ItemKind::Primitive { name, .. } => format!("primitive {}", name.name),
                    ItemKind::DefineType { name, .. } => format!("define-type {}", name.name),
                    ItemKind::Import { path } => format!("import {path:?}"),
                    _ => return None,
                })
            })
            .collect();
        let tree = parse(&mut parser, &text);
        let top = tree.root_node();
        let found: Vec<String> = (0..top.child_count())
            .filter_map(|i| {
                let node = top.child(i)?;
                let (keyword, named) = match node.kind() {
                    "definition" => ("define", node),
                    "function_definition" => ("define", node.named_child(0)?),
                    "entry" => ("entry", node.named_child(0)?),
                    "primitive" => ("primitive", node.named_child(0)?),
                    "type_definition" => ("define-type", node),
                    "import" => {
                        return Some(format!(
                            "import {}",
                            &text[node.child_by_field_name("path")?.byte_range()]
                        ));
                    }
                    _ => return None,
                };
                Some(format!("{keyword} {}", &text[named.child_by_field_name("name")?.byte_range()]))
            })
            .collect();
        compared += wanted.len();
        assert_eq!(found, wanted, "{name}");
    }
    assert!(compared > 1200, "{compared} definitions");
}

/// Half of a text is what an editor has most of the time: each prefix is parsed, and again after the next letter as an
/// edit, with the tree of the whole text at the end.
#[test]
fn what_is_typed_letter_by_letter_ends_as_the_whole() {
    let text = std::fs::read_to_string(root().join("examples/lu.remora")).expect("a text");
    let text = format!("#| a #| b |# |# \"x\\n#|\" #; (a \"b\" 1) {text}");
    let mut parser = parser();
    let mut tree = parse(&mut parser, "");
    for end in (1..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let start = text[..end].char_indices().next_back().map_or(0, |(i, _)| i);
        tree.edit(&tree_sitter::InputEdit {
            start_byte: start,
            old_end_byte: start,
            new_end_byte: end,
            start_position: position(&text, start),
            old_end_position: position(&text, start),
            new_end_position: position(&text, end),
        });
        tree = parser.parse(&text[..end], Some(&tree)).expect("a tree");
    }
    assert!(!tree.root_node().has_error());
    assert_eq!(tree.root_node().to_sexp(), parse(&mut parser, &text).root_node().to_sexp());
}

/// Any text has a tree that covers it, and an edit of a text gives the tree of the whole.
#[test]
fn any_text_has_a_tree() {
    let pieces: Vec<&str> = EDGES
        .iter()
        .flat_map(|text| text.split_inclusive([' ', '(', ')', '[', '"', '#', '|', ';']))
        .collect();
    let mut state = 1u64;
    let mut random = |below: usize| {
        // Knuth's linear congruential generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut parser = parser();
    for _ in 0..400 {
        let mut text: String = (0..random(60)).map(|_| pieces[random(pieces.len())]).collect();
        let mut tree = parse(&mut parser, &text);
        let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let (a, b) = (places[random(places.len())], places[random(places.len())]);
        let (start, end) = (a.min(b), a.max(b));
        let new = pieces[random(pieces.len())];
        let before = text.clone();
        text.replace_range(start..end, new);
        tree.edit(&tree_sitter::InputEdit {
            start_byte: start,
            old_end_byte: end,
            new_end_byte: start + new.len(),
            start_position: position(&before, start),
            old_end_position: position(&before, end),
            new_end_position: position(&text, start + new.len()),
        });
        let edited = parser.parse(&text, Some(&tree)).expect("a tree");
        let whole = parse(&mut parser, &text);
        assert!(whole.root_node().end_byte() <= text.len(), "{text:?}");
        if !whole.root_node().has_error() {
            assert_eq!(edited.root_node().to_sexp(), whole.root_node().to_sexp(), "{before:?} to {text:?}");
        }
    }
}

fn position(text: &str, at: usize) -> tree_sitter::Point {
    let before = &text[..at];
    let row = before.matches('\n').count();
    tree_sitter::Point { row, column: at - before.rfind('\n').map_or(0, |i| i + 1) }
}

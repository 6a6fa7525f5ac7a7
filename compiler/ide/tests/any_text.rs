//! Any text is answered: programs of the suite with pieces cut out, doubled and put in, asked everything at any place.

use remc_driver::Session;
use remc_ide::Ide;
use std::path::Path;

/// Pieces that break things.
const PIECES: [&str; 16] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    ";",
    "#|",
    "|#",
    "~(",
    "λ",
    "\u{1f600}",
    "\n",
    ": ",
    "(define (f [x ",
];

/// Numbers that are the same each time (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn change(text: &mut String, draw: &mut Draw) {
    let from = boundary(text, draw.below(text.len() + 1));
    let to = boundary(text, (from + draw.below(30)).min(text.len()));
    match draw.below(3) {
        0 => text.replace_range(from..to, ""),
        1 => text.insert_str(from, PIECES[draw.below(PIECES.len())]),
        _ => {
            let piece = text[from..to].to_owned();
            let at = boundary(text, draw.below(text.len() + 1));
            text.insert_str(at, &piece);
        }
    }
}

/// Asks everything at a place.
fn ask(ide: &Ide<'_>, file: remc_driver::SourceFile, text: &str, at: u32) {
    let _ = ide.hover(file, at);
    let _ = (ide.definition(file, at), ide.references(file, at, true), ide.highlights(file, at));
    let _ = (ide.can_rename(file, at), ide.rename(file, at, "other"));
    for c in ide.completions(file, at).iter().take(3) {
        assert!(c.edit.span.start <= c.edit.span.end && c.edit.span.end as usize <= text.len());
        assert!(
            text.is_char_boundary(c.edit.span.start as usize)
                && text.is_char_boundary(c.edit.span.end as usize)
        );
    }
    let _ = (ide.signature(file, at), ide.selection(file, at), ide.actions(file, at..at));
}

fn ask_everything(ide: &Ide<'_>, file: remc_driver::SourceFile, text: &str, draw: &mut Draw) {
    for _ in 0..4 {
        ask(ide, file, text, boundary(text, draw.below(text.len() + 1)) as u32);
    }
    let whole = 0..text.len() as u32;
    let mut last = 0;
    for t in ide.tokens(file, None) {
        assert!(t.span.start >= last && t.span.start < t.span.end, "tokens that overlap");
        last = t.span.end;
        assert!(!text[t.span.start as usize..t.span.end as usize].contains('\n'));
    }
    let _ = (ide.hints(file, whole.clone()), ide.actions(file, whole), ide.symbols(file), ide.folds(file));
    let _ = (ide.lenses(file), ide.workspace_symbols("a"), ide.diagnostics(file));
}

#[test]
fn any_text_is_answered() {
    let work = || {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/programs");
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "remora"));
        paths.sort();
        let mut draw = Draw(32);
        for path in paths.iter().step_by(12) {
            let original = std::fs::read_to_string(path).unwrap();
            if original.len() > 1500 {
                continue;
            }
            let mut session = Session::default();
            let file = session.load_text("t.remora", Path::new(""), original.clone());
            for _ in 0..3 {
                let mut text = original.clone();
                for _ in 0..1 + draw.below(4) {
                    change(&mut text, &mut draw);
                }
                session.set_text(file, text.clone());
                ask_everything(&Ide::new(&session), file, &text, &mut draw);
            }
        }
    };
    std::thread::Builder::new().stack_size(1 << 28).spawn(work).unwrap().join().unwrap();
}

#[test]
fn deep_and_odd_texts_are_answered() {
    let work = || {
        let deep = "(".repeat(5000);
        let nested = format!("{}1{}", "(+ 1 ".repeat(400), ")".repeat(400));
        for text in
            ["", " ", "\u{feff}", ";", "\"", "#|", "(", ")", "(define", "(define (", "λ", &deep, &nested]
        {
            let mut session = Session::default();
            let file = session.load_text("t.remora", Path::new(""), text.to_owned());
            ask_everything(&Ide::new(&session), file, text, &mut Draw(7));
        }
    };
    std::thread::Builder::new().stack_size(1 << 28).spawn(work).unwrap().join().unwrap();
}

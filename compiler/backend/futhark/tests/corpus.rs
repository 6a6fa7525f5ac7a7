//! Every form of Mono, as its own tests write it by hand, and the programs that tests of passes begin and end with:
//! each is printed, and keeps the rules of Futhark. What it gives is compared for the programs of `testsuite/`,
//! where remc's tests run them.

#[path = "../../../mono/tests/text/corpus.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod corpus;

use remc_futhark_check::check::check;
use remc_mono::ir::Program;
use remc_mono::parse::parse_program;
use std::path::{Path, PathBuf};

fn printed(p: &Program) -> Result<String, String> {
    let text = remc_futhark::print(p, &|_| Some("`main`, line 1".into()), "0").map_err(|e| e.to_string())?;
    check(&text).map(|_| text.clone()).map_err(|e| format!("{e} of\n{text}"))
}

#[test]
fn every_form_is_printed() {
    let (mut wrong, mut right) = (Vec::new(), 0);
    for body in corpus::bodies() {
        let p = corpus::parse(&body);
        // What breaks a rule of Mono on purpose is nothing to print.
        if remc_mono::verify::verify(&p).is_err() {
            continue;
        }
        match printed(&p) {
            Ok(_) => right += 1,
            Err(e) => wrong.push(format!("{body}\n{e}")),
        }
    }
    assert!(right >= 40, "{right} programs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn texts(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts(&path, all);
        } else if path.extension().is_some_and(|e| e == "mono") {
            all.push(path);
        }
    }
}

#[test]
fn programs_are_printed_before_and_after_each_pass() {
    let mut all = Vec::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testsuite/passes/mono"), &mut all);
    assert!(all.len() > 20, "{all:?}");
    let mut wrong = Vec::new();
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        let p = parse_program(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        // Pieces of streams are no matter of Futhark's, and refused by their name.
        let expected = if p.channels.is_empty() { None } else { Some(remc_futhark::STREAMS.to_string()) };
        let found = printed(&p).err();
        if found != expected {
            wrong.push(format!("{}: {}", path.display(), found.unwrap_or_else(|| "is printed".into())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

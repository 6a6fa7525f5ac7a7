//! Goldens of single passes: `testsuite/passes/mono/PASS/NAME.in.mono` is a program, `NAME.out.mono` what
//! the pass makes of it. The folder `optimise` runs the whole list until nothing changes.
//!
//! Both programs are verified. `UPDATE_EXPECT=1` writes what the passes give.

use remc_mono::ir::Program;
use remc_mono::opt;
use remc_mono::parse::parse_program;
use remc_mono::print::print_program;
use remc_mono::verify::verify;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[test]
fn passes_give_what_is_expected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/passes/mono");
    let bless = env::var_os("UPDATE_EXPECT").is_some();
    let mut failures = Vec::new();
    let mut tests = 0;
    for folder in sorted(&root) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let run = match name.as_str() {
            "optimise" => opt::optimise,
            _ => opt::pass(&name).unwrap_or_else(|| panic!("no pass is called {name}")).run,
        };
        for input in sorted(&folder) {
            let Some(stem) = input.to_str().unwrap().strip_suffix(".in.mono") else { continue };
            tests += 1;
            let output = PathBuf::from(format!("{stem}.out.mono"));
            match one(&input, run) {
                Err(e) => failures.push(format!("{stem}: {e}")),
                Ok(text) if bless => fs::write(&output, text).unwrap(),
                Ok(text) => {
                    if fs::read_to_string(&output).ok().as_ref() != Some(&text) {
                        failures.push(format!("{stem}: the pass gives\n{text}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(tests > 0);
}

fn one(input: &Path, run: fn(&mut Program)) -> Result<String, String> {
    let text = fs::read_to_string(input).unwrap();
    let before = parse_program(&text).map_err(|e| format!("the program does not parse: {e}"))?;
    verify(&before).map_err(|e| format!("the program is ill-formed: {e}"))?;
    let mut after = before.clone();
    run(&mut after);
    let printed = print_program(&after);
    verify(&after).map_err(|e| format!("what the pass gives is ill-formed: {e}\n{printed}"))?;
    assert_eq!(parse_program(&printed).as_ref(), Ok(&after), "{}", input.display());
    Ok(printed)
}

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

//! Goldens of single passes: `testsuite/passes/mono/PASS/NAME.in.mono` is a program, `NAME.out.mono` what
//! the pass makes of it. The folder `optimise` runs the whole list until nothing changes, `stream` and `strips` make loops over
//! pieces.
//!
//! Both programs are verified, and run with small arguments: they give the same, or stop alike. `UPDATE_EXPECT=1` writes what the passes give.

use remc_base::{BaseTy, Scalar};
use remc_mono::eval::{self, Array, Fault};
use remc_mono::ir::{Atom, Program, Var};
use remc_mono::opt;
use remc_mono::parse::parse_program;
use remc_mono::print::print_program;
use remc_mono::stream;
use remc_mono::verify::verify;
use std::path::{Path, PathBuf};
use std::rc::Rc;
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
            "stream" => streamed,
            "strips" => in_strips,
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

fn streamed(p: &mut Program) {
    stream::stream(p).unwrap();
}

fn in_strips(p: &mut Program) {
    *p = stream::strips(p).unwrap();
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
    for seed in 0..24 {
        let params = arguments(&before, seed);
        match (eval::run(&before, &params), eval::run(&after, &params)) {
            // An index of the arguments that no check guards.
            (Err(Fault::Bug(_)), _) => {}
            (Ok(x), Ok(y)) if equal(&x, &y) => {}
            (Err(x), Err(y)) if x == y => {}
            (x, y) => return Err(format!("given {params:?}\nbefore {x:?}\nafter {y:?}\n{printed}")),
        }
    }
    Ok(printed)
}

/// Small arguments: scalars from -1 on, so that many are indices and sizes.
fn arguments(p: &Program, seed: u64) -> Vec<Array> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |n: u64| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n) as i64
    };
    let sizes: Vec<Var> =
        p.params.iter().flat_map(|v| p.ty(*v).dims.iter().filter_map(|d| d.as_var())).collect();
    let mut known: Vec<(Var, i64)> = Vec::new();
    let mut all = Vec::new();
    for v in &p.params {
        let ty = p.ty(*v);
        let dims: Vec<usize> = ty
            .dims
            .iter()
            .map(|d| match d {
                Atom::Var(d) => known.iter().find(|k| k.0 == *d).unwrap().1 as usize,
                d => d.as_int().unwrap() as usize,
            })
            .collect();
        let least = if sizes.contains(v) { 0 } else { -1 };
        let data: Vec<Scalar> = (0..dims.iter().product())
            .map(|_| match (random(5) + least, ty.base) {
                (n, BaseTy::Bool) => Scalar::Bool(n > 1),
                (n, BaseTy::Char) => Scalar::Char(char::from(b'b'.wrapping_add_signed(n as i8))),
                (n, base) => Scalar::from_integer(base, n.into()).unwrap(),
            })
            .collect();
        if let [Scalar::I64(n)] = data[..] {
            known.push((*v, n));
        }
        all.push(Array { base: ty.base, dims, data: Rc::new(data) });
    }
    all
}

/// To the bit.
fn equal(x: &[Array], y: &[Array]) -> bool {
    let same = |a: &Array, b: &Array| {
        let bits = |a: &Array| a.data.iter().map(|s| s.to_bits64()).collect::<Vec<_>>();
        a.base == b.base && a.dims == b.dims && bits(a) == bits(b)
    };
    x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b))
}

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

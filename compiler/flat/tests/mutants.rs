//! Texts that are almost programs: reading, verifying and printing them never panics, and what verifies
//! reads back.

use remc_flat::parse::parse_program;
use remc_flat::print::print_program;
use remc_flat::verify::verify;
use std::fs;
use std::path::Path;

#[test]
fn mutants_of_the_goldens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/passes/flat/flatten");
    let mut seed = 1u64;
    let mut next = move |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let (mut read, mut sound) = (0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "flat") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let text = text.split_once('\n').unwrap().1.replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = text.split_whitespace().collect();
        for _ in 0..1500 {
            let mut mutant = words.clone();
            for _ in 0..=next(2) {
                let (at, from) = (next(mutant.len()), next(mutant.len()));
                match next(3) {
                    0 => mutant[at] = mutant[from],
                    1 => mutant.swap(at, from),
                    _ => drop(mutant.remove(at)),
                }
            }
            let Ok(p) = parse_program(&mutant.join(" ")) else { continue };
            read += 1;
            let verified = verify(&p).is_ok();
            sound += usize::from(verified);
            let again = parse_program(&print_program(&p));
            assert!(!verified || again.as_ref() == Ok(&p), "{}", print_program(&p));
        }
    }
    assert!(read > 1000 && sound > 10, "{read} are read, {sound} are sound");
}

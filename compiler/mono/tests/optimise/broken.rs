//! Passes that go wrong are found in the sample of a plain run: where a pass has changed a program of it, one thing of
//! what it wrote becomes another one (an operator, a number, which variable is read; a check is gone), and the passes
//! go on. Of each pass some of these mutants give another value, or stop otherwise, than the interpreter says.

use crate::build_support::*;
use crate::each;
use remc_mono::ir::Program;
use remc_mono::opt::PASSES;
use remc_mono::parse::parse_program;
use remc_mono::print::print_program;
use remc_mono::verify::verify;
use std::collections::BTreeSet;

/// So many mutants of each pass are to be found.
const FOUND: usize = 3;
/// The mutants of one pass in one program that are tried.
const TRIED: usize = 12;
/// Why there is no mutant of a number.
const NO_MORE: &str = "no more";
/// What is no program was never to be run.
const ILL_FORMED: &str = "ill-formed";

#[test]
fn passes_that_go_wrong_are_found_by_the_sample() {
    on_a_large_stack(|| {
        let mut sessions = Sessions::new();
        let (cases, changed) = crate::plain_run(&mut sessions);
        let mut missed = Vec::new();
        for (pass, of) in PASSES.iter().enumerate() {
            let (mut found, mut tried) = (0, 0);
            let takers = cases.iter().zip(&changed).filter(|(_, passes)| passes.contains(&pass));
            for (case, _) in takers {
                if found >= FOUND {
                    break;
                }
                let (f, t) = mutants(&mut sessions, case, pass);
                (found, tried) = (found + f, tried + t);
            }
            println!("{}: {found} of {tried} mutants are found", of.info.name);
            if found < FOUND {
                missed.push(format!("{}: {found} of {tried}", of.info.name));
            }
        }
        assert!(missed.is_empty(), "of these passes too few mutants are found in the sample: {missed:?}");
    });
}

/// How many mutants of a pass in a program are found, and how many there are.
fn mutants(sessions: &mut Sessions, case: &Case, pass: usize) -> (usize, usize) {
    let (mut found, mut tried) = (0, 0);
    for nth in 0..TRIED {
        let broken = |p: &mut Program| {
            let mut done = false;
            each(p, &mut |k, before, p| {
                let after = print_program(p);
                if k != pass || done || before == after {
                    return Ok(());
                }
                done = true;
                *p = mutant(&before, &after, nth)?;
                Ok(())
            })
        };
        match sessions.run_after(case, &broken) {
            Ok(Ran { built: Ok(Outcome::Broken(why)), .. }) if why == NO_MORE => break,
            Ok(Ran { built: Ok(Outcome::Broken(why)), .. }) if why == ILL_FORMED => {}
            Ok(Ran { expected, built: Ok(given), .. }) => {
                tried += 1;
                found += usize::from(given != expected);
            }
            _ => {}
        }
    }
    (found, tried)
}

/// The `nth` change of what is in `after` and not in `before`; of anything where a pass has only taken away.
fn mutant(before: &str, after: &str, nth: usize) -> Result<Program, String> {
    let old: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let lines: Vec<&str> = after.lines().collect();
    let body = lines.iter().position(|l| l.trim_start().starts_with("(body")).unwrap_or_default() + 1;
    let end = lines.iter().position(|l| l.trim_start().starts_with("(unbound")).unwrap_or(lines.len());
    let new = |at: &usize| !old.contains(lines[*at].trim());
    let mut places: Vec<usize> = (body..end).filter(new).collect();
    if places.is_empty() {
        places = (body..end).collect();
    }
    let changes = places.iter().flat_map(|at| changed(lines[*at]).into_iter().map(move |line| (*at, line)));
    let (at, line) = changes.into_iter().nth(nth).ok_or(NO_MORE)?;
    let text: String =
        lines.iter().enumerate().map(|(k, l)| if k == at { &line } else { *l }.to_owned() + "\n").collect();
    let program = parse_program(&text).map_err(|_| ILL_FORMED)?;
    verify(&program).map_err(|_| ILL_FORMED)?;
    Ok(program)
}

/// A line with one thing wrong.
fn changed(line: &str) -> Vec<String> {
    const OPERATORS: [(&str, &str); 8] = [
        ("(op + ", "(op - "),
        ("(op - ", "(op + "),
        ("(op * ", "(op + "),
        ("(op < ", "(op <= "),
        ("(op <= ", "(op < "),
        ("(op max2 ", "(op min2 "),
        ("(op min2 ", "(op max2 "),
        ("(op select %", "(op select #t %"),
    ];
    let mut all = Vec::new();
    // A check that is a line is dropped.
    let whole = line.matches('(').count() == line.matches(')').count();
    if line.trim_start().starts_with("(check ") && whole {
        all.push(String::new());
    }
    all.extend(OPERATORS.iter().filter(|(a, _)| line.contains(a)).map(|(a, b)| line.replacen(a, b, 1)));
    // Behind what is bound: numbers, and variables in the place of their neighbours.
    let from = line.find("))").map_or(0, |at| at + 2);
    let words: Vec<(usize, &str)> = line[from..]
        .split([' ', '(', ')'])
        .filter(|w| !w.is_empty())
        .map(|w| (w.as_ptr() as usize - line.as_ptr() as usize, w))
        .collect();
    let replaced =
        |(at, old): (usize, &str), new: &str| format!("{}{new}{}", &line[..at], &line[at + old.len()..]);
    for (k, (at, word)) in words.iter().enumerate() {
        if let Ok(n) = word.parse::<i64>() {
            all.push(replaced((*at, word), &(n + 1).to_string()));
        }
        if let Some((_, next)) = words.get(k + 1)
            && word.starts_with('%')
            && next.starts_with('%')
            && word != next
        {
            all.push(replaced((*at, word), next));
        }
    }
    all
}

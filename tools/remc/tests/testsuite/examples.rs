//! `examples/`: each program is run by the command in its header, on every device, so that what a reader would
//! type is what is tested. `testsuite/examples/NAME.out` has its value, unless that is an image.

use crate::compiled::{Way, not_compiled, refused};
use crate::{Directives, differs, root, stdout, stem, updating};
use libtest_mimic::{Failed, Trial};
use std::path::PathBuf;

/// Inputs that are others than in the header, as the interpreter is slow: ten days.
const SHORTER: [(&str, &str, &str); 2] = [("n-body", "step", "0.25"), ("n-body", "steps", "40")];

/// The floats of these may differ in their last digits from device to device: sums in another grouping, and
/// functions into the reals. All others give the same bits.
const NEARLY: [&str; 6] =
    ["black-scholes", "covariance", "k-means", "local-volatility", "n-body", "pagerank"];

/// A program and the arguments of its run.
#[derive(Clone)]
pub struct Example {
    pub path: PathBuf,
    pub directives: Directives,
}

impl Example {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn expected(&self) -> PathBuf {
        root().join(format!("testsuite/examples/{}.out", self.name()))
    }
}

/// All examples, by name.
pub fn all() -> Vec<Example> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root().join("examples"))
        .into_iter()
        .flatten()
        .filter_map(|f| Some(f.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "remora"))
        .collect();
    found.sort();
    let of = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut directives = command(&text);
        for (_, parameter, value) in SHORTER.iter().filter(|(name, ..)| *name == stem(&path)) {
            let start = format!("{parameter}=");
            for a in directives.arguments.iter_mut().filter(|a| a.starts_with(&start)) {
                *a = format!("{start}{value}");
            }
        }
        Example { path, directives }
    };
    found.into_iter().map(of).collect()
}

/// The arguments of the `remc run examples/…` in a program's header, but for where the value goes.
fn command(text: &str) -> Directives {
    let header = text.lines().take_while(|l| l.starts_with(';')).map(|l| l.trim_start_matches(';').trim());
    let mut line = String::new();
    for part in header.skip_while(|l| !l.starts_with("remc run examples/")) {
        match part.strip_suffix('\\') {
            Some(more) => line.push_str(more),
            None => {
                line.push_str(part);
                break;
            }
        }
    }
    let mut arguments = Vec::new();
    let mut words = words(&line).into_iter().skip(3);
    while let (Some(option), Some(value)) = (words.next(), words.next()) {
        if option != "--output" {
            arguments.extend([option, value]);
        }
    }
    Directives { arguments, exit: None }
}

/// The words of a command as a shell splits it, with quotes and without anything else.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A test for each example, on one device, if that is there.
pub fn trials(device: &'static str, ways: &'static [Way], is_there: fn() -> bool) -> Vec<Trial> {
    let list = not_compiled();
    let of = |e: Example| {
        let code = list.get(&format!("examples/{}", e.name())).cloned();
        Trial::test(format!("{device}_examples::{}", e.name()), move || match &code {
            _ if !is_there() => Ok(()),
            None => agrees(&e, ways),
            Some(code) => refused(&e.path, &e.directives, &e.expected(), code, &ways[0]),
        })
    };
    all().into_iter().map(of).collect()
}

/// The interpreter's value is what is expected, and any device's is the interpreter's; from one device it is the
/// same one in any way.
fn agrees(e: &Example, ways: &[Way]) -> Result<(), Failed> {
    let nearly = NEARLY.contains(&e.name().as_str());
    let equal = |a: &str, b: &str| if nearly { close(a, b) } else { a == b };
    let interp = Way { device: "interp", arguments: &[], environment: &[] };
    let interpreted = run(e, &interp)?;
    let file = e.expected();
    if file.exists() {
        let expected = std::fs::read_to_string(&file)?;
        if !equal(&expected, &interpreted) {
            if updating() {
                std::fs::write(&file, &interpreted)?;
            } else {
                return Err(differs("the interpreter's value", &expected, &interpreted));
            }
        }
    }
    let mut first = None;
    for way in ways {
        let found = run(e, way)?;
        if !equal(&interpreted, &found) {
            return Err(differs(&format!("the value {way}"), &interpreted, &found));
        }
        if *first.get_or_insert_with(|| found.clone()) != found {
            return Err(format!("{way} the value is another one than on the same device before").into());
        }
    }
    Ok(())
}

fn run(e: &Example, way: &Way) -> Result<String, Failed> {
    let o = way.run(&e.path, &e.directives, &[])?;
    way.exits(&o, 0)?;
    Ok(stdout(&o))
}

/// Whether two printed values are the same but for the last few of the digits of their floats.
fn close(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let apart = text.replace(['(', '['], "[ ").replace([')', ']'], " ]");
        apart.split_whitespace().map(str::to_owned).collect()
    };
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(1e-3);
    let (a, b) = (words(a), words(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            a == b || matches!((a.parse(), b.parse()), (Ok(x), Ok(y)) if a.contains('.') && near(x, y))
        })
}

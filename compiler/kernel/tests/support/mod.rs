//! What several tests of hand-written programs need.

use remc_flat::parse::parse_program;
use remc_kernel::lower::{Target, lower_with};
use remc_kernel::print::print_program;
use remc_kernel::{race, verify};

/// What a program of Flat, whose variables may have any numbers, becomes for a device: right, and without a race.
pub fn lowered(text: &str, target: Target) -> String {
    let text = renumbered(text);
    let p = parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = lower_with(&p, target).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    verify::verify(&kernel).unwrap_or_else(|e| panic!("{e}"));
    race::check(&kernel).unwrap_or_else(|e| panic!("{e}"));
    print_program(&kernel)
}

/// The text with the numbers of variables in the order in which they come.
fn renumbered(text: &str) -> String {
    let (mut out, mut known) = (String::new(), Vec::new());
    for (k, part) in text.split('%').enumerate() {
        let end = part.find([' ', ')']).unwrap_or(part.len());
        match part[..end].split_once('.') {
            Some((name, id)) if k > 0 => {
                let n = known.iter().position(|x| *x == id).unwrap_or(known.len());
                if n == known.len() {
                    known.push(id);
                }
                out += &format!("%{name}.{n}{}", &part[end..]);
            }
            _ if k > 0 => out += &format!("%{part}"),
            _ => out += part,
        }
    }
    out
}

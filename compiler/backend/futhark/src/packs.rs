//! Several values as one: Futhark unzips at most five arrays at once, so more are tuples of tuples.

use crate::tree::Tree;

/// Several values as one: at most five beside each other, as many as Futhark unzips at once.
pub fn pack(mut parts: Vec<Tree>) -> Tree {
    match parts.len() {
        0 => Tree::name("true"),
        1..=5 => Tree::tuple(parts),
        _ => {
            let rest = parts.split_off(4);
            parts.push(pack(rest));
            Tree::Tuple(parts)
        }
    }
}

/// The pattern or type of what [`pack`] makes.
pub fn pack_names(names: &[String]) -> String {
    match names.len() {
        0 => "_".to_owned(),
        1 => names[0].clone(),
        2..=5 => flat_names(names),
        _ => format!("({}, {})", names[..4].join(", "), pack_names(&names[4..])),
    }
}

/// Names of at most five values.
pub fn flat_names(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        _ => format!("({})", names.join(", ")),
    }
}

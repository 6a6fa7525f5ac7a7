//! What several tests of hand-written programs need.

/// The text with the numbers of variables in the order in which they come.
pub fn renumbered(text: &str) -> String {
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

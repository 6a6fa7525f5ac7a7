//! Names of programs as other languages spell them.

/// What a language of letters, digits and underscores can spell of a name: `train-images` is `train_images`, and
/// a name of nothing that it has is `v`. `prime` is put for a `'` that is not the first character.
pub fn identifier(name: &str, prime: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => out.push(c),
            '\'' if !out.is_empty() => out.push_str(prime),
            _ if out.ends_with('_') || out.is_empty() => {}
            _ => out.push('_'),
        }
    }
    let out = out.trim_end_matches('_');
    match out.chars().next() {
        None => "v".to_owned(),
        Some('0'..='9') => format!("v{out}"),
        Some(_) => out.to_owned(),
    }
}

/// The first of `base`, `base_2`, `base_3`, … that is free.
pub fn unused(base: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut name = base.to_owned();
    let mut k = 2;
    while taken(&name) {
        name = format!("{base}_{k}");
        k += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelt() {
        for (name, spelt) in [
            ("train-images", "train_images"),
            ("x'", "x_prime"),
            ("λ", "v"),
            ("3d", "v3d"),
            ("zero?", "zero"),
            ("-->", "v"),
            ("scores.starts", "scores_starts"),
        ] {
            assert_eq!(identifier(name, "_prime"), spelt);
        }
        assert_eq!(identifier("x'", "'"), "x'");
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        assert_eq!(unused("x", |n| ["x", "x_2"].contains(&n)), "x_3");
    }
}

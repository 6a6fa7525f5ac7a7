//! Which of many tests that are alike a plain run takes.
//!
//! `tools/setup test` takes one of so many, `tools/setup test --all` all of them: it sets [`ALL`]. Which ones are taken
//! depends on their names alone, so it is the same for everybody, and whoever adds, changes or drops a test changes the
//! sample of no other. What must not be left to chance (each schedule, each code path) is no matter for a hash: see
//! `tools/remc/tests/testsuite/paths.rs`.

/// The variable that asks for everything, by the value 1.
pub const ALL: &str = "REMC_TEST_ALL";

/// Whether nothing is left out.
pub fn everything() -> bool {
    std::env::var_os(ALL).is_some_and(|v| v == "1")
}

/// Whether one of `part` takes the test of this name.
pub fn takes(part: u64, name: &str) -> bool {
    everything() || in_plain_run(part, name)
}

/// Whether it is in the sample of a plain run, be this one or not.
pub fn in_plain_run(part: u64, name: &str) -> bool {
    rank(name).is_multiple_of(part)
}

/// A number that only the name decides, as if by lot.
pub fn rank(name: &str) -> u64 {
    // FNV-1a, and then the end of SplitMix64: names that differ in their last letter fall anywhere.
    let mut hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody's sample moves.
    #[test]
    fn a_name_decides() {
        let fifth: Vec<String> =
            (0..40).map(|i| format!("program-{i}")).filter(|n| rank(n).is_multiple_of(5)).collect();
        assert_eq!(
            fifth,
            ["program-4", "program-7", "program-16", "program-21", "program-29", "program-35", "program-39"]
        );
    }

    #[test]
    fn parts_are_about_equal() {
        for part in [2, 3, 5, 8] {
            let taken =
                (0..10_000).filter(|i| rank(&format!("emulated::{i}")).is_multiple_of(part)).count() as u64;
            assert!((taken * part).abs_diff(10_000) < 1000, "{taken} of one in {part}");
        }
    }
}

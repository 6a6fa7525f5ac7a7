//! A failing text made smaller while it keeps failing in the same way.

use crate::tokens::{groups, join, split};
use std::time::{Duration, Instant};

/// Removes expressions, then replaces them by what they hold, largest first, as long as `fails` holds
/// and time is left.
pub fn minimise(text: &str, time: Duration, mut fails: impl FnMut(&str) -> bool) -> String {
    let end = Instant::now() + time;
    let mut best = split(text);
    if !fails(&join(&best)) {
        // White space matters, or the failure does not repeat.
        return text.to_owned();
    }
    loop {
        let mut parts = groups(&best);
        parts.sort_by_key(|g| std::cmp::Reverse(g.len()));
        let mut smaller = None;
        'search: for part in parts {
            let mut candidates = vec![vec![]];
            if part.len() > 1 {
                let inner = part.start + 1..part.end - 1;
                candidates.push(best[inner.clone()].to_vec());
                candidates.extend(
                    groups(&best[inner.clone()])
                        .into_iter()
                        .rev()
                        .take(12)
                        .map(|g| best[inner.start + g.start..inner.start + g.end].to_vec()),
                );
            }
            for replacement in candidates {
                if Instant::now() > end {
                    return join(&best);
                }
                let mut next = best.clone();
                next.splice(part.clone(), replacement);
                if next.len() < best.len() && fails(&join(&next)) {
                    smaller = Some(next);
                    break 'search;
                }
            }
        }
        match smaller {
            Some(next) => best = next,
            None => return join(&best),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_fails() {
        let small = minimise("(a (b [c bad] d) e) (f g)", Duration::from_secs(5), |t| t.contains("bad"));
        assert_eq!(small, "bad");
        let small = minimise("(a (b [c bad] d) e)", Duration::from_secs(5), |t| t.contains("[c bad"));
        assert_eq!(small, "[c bad]");
        assert_eq!(minimise("(a b)", Duration::from_secs(5), |_| false), "(a b)");
    }
}

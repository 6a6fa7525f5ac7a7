//! What a contender can do, and how they are measured together.
//!
//! For each row every contender prepares itself, computes once and has its result checked; only then is
//! anything timed. The timed calls are interleaved, one of each contender a round, so that a slow spell of the
//! machine meets all of them. What is reported is the median.

use crate::cases::Case;
use crate::data::Given;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// A result to be checked.
pub enum Outcome {
    /// An `.npy` file.
    File(PathBuf),
    /// The checker has it already.
    Own,
}

pub trait Contender {
    /// The name in the table.
    fn name(&self) -> &'static str;

    /// Loads the inputs and compiles the program; the time that compiling took, where that is part of the
    /// story. An error is the reason why this contender has no figure in this row.
    fn prepare(&mut self, case: &Case, inputs: &[(&'static str, Given)]) -> Result<Option<Duration>, String>;

    /// One call of the kernel, timed.
    fn call(&mut self) -> Result<Duration, String>;

    /// What the last call gave.
    fn result(&mut self) -> Result<Outcome, String>;

    /// Gives back the memory of the row.
    fn release(&mut self);

    /// One timed call with warm caches and awake threads: the first of two, unless it is so long that this
    /// makes no difference.
    fn sample(&mut self) -> Result<Duration, String> {
        let first = self.call()?;
        if first > Duration::from_millis(100) { Ok(first) } else { self.call() }
    }
}

/// Some libraries let their threads spin for a while after a call, at the cost of whoever runs next.
const PAUSE: Duration = Duration::from_millis(40);

/// The times of each contender that is still in, one of each round, and the reason of each that fails on the way.
pub fn times(contenders: &mut [&mut dyn Contender], rounds: u16) -> Vec<Result<Vec<Duration>, String>> {
    let mut times: Vec<Result<Vec<Duration>, String>> = contenders.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let Ok(so_far) = times else { continue };
            sleep(PAUSE);
            match contender.sample() {
                Ok(time) => so_far.push(time),
                Err(why) => *times = Err(why),
            }
        }
    }
    times
}

/// The median time of each contender that is still in, and the reason of each that fails on the way.
pub fn measure(contenders: &mut [&mut dyn Contender], rounds: u16) -> Vec<Result<Duration, String>> {
    times(contenders, rounds)
        .into_iter()
        .map(|t| t.and_then(|mut t| median(&mut t).ok_or_else(|| "nothing was timed".into())))
        .collect()
}

/// The middle one, the lower of two in the middle.
pub fn median(times: &mut [Duration]) -> Option<Duration> {
    times.sort();
    times.get(times.len().checked_sub(1)? / 2).copied()
}

/// The ratios of two contenders' times within each round, the least first.
pub fn ratios(of: &[Duration], to: &[Duration]) -> Vec<f64> {
    let pairs = of.iter().zip(to).filter(|(_, b)| !b.is_zero());
    let mut all: Vec<f64> = pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let of = |ms: &[u64]| median(&mut ms.iter().map(|&m| Duration::from_millis(m)).collect::<Vec<_>>());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some(Duration::from_millis(7)));
        assert_eq!(of(&[9, 1, 5]), Some(Duration::from_millis(5)));
        assert_eq!(of(&[9, 1, 5, 2]), Some(Duration::from_millis(2)));
    }

    /// Gives 10 ms, and stops after so many calls.
    struct Fake(u32);

    impl Contender for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }
        fn prepare(&mut self, _: &Case, _: &[(&'static str, Given)]) -> Result<Option<Duration>, String> {
            Ok(None)
        }
        fn call(&mut self) -> Result<Duration, String> {
            self.0 = self.0.checked_sub(1).ok_or("tired")?;
            Ok(Duration::from_millis(10))
        }
        fn result(&mut self) -> Result<Outcome, String> {
            Ok(Outcome::Own)
        }
        fn release(&mut self) {}
    }

    #[test]
    fn one_that_fails_does_not_stop_the_others() {
        let (mut good, mut bad) = (Fake(100), Fake(3));
        let times = measure(&mut [&mut good, &mut bad], 3);
        assert_eq!(times, [Ok(Duration::from_millis(10)), Err("tired".to_string())]);
    }
}
